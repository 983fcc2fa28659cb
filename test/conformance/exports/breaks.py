# SPDX-License-Identifier: Apache-2.0
"""One change of a model that may break it: of its nodes, attributes, weights, types, functions and imports, in any graph."""
from onnx import AttributeProto, helper

TYPES = (1, 2, 3, 6, 7, 8, 9, 10, 11, 16)


def graphs(model):
    """(every graph, the functions as well: all have nodes)"""
    found = [model.graph, *model.functions]
    for g in found:
        for n in g.node:
            for a in n.attribute:
                if a.type == AttributeProto.GRAPH:
                    found.append(a.g)
    return found


def nodes(model):
    return [(g, n) for g in graphs(model) for n in g.node]


def any_list(rng, model):
    """A list attribute, one element more, less, twice, or changed."""
    lists = [getattr(a, f) for _, n in nodes(model) for a in n.attribute for f in ("ints", "floats", "strings") if getattr(a, f)]
    if not lists:
        return False
    some = rng.choice(lists)
    at = rng.randrange(len(some))
    how = rng.randrange(5)
    if how == 0:
        del some[at]
    elif how == 1:
        some.append(some[at])
    elif how == 2:
        del some[:]
    elif how == 3:
        value = some[at]
        some[at] = value + rng.choice((1, -1, 7, 1 << 20)) if isinstance(value, (int, float)) else b"other"
    else:
        some[at] = some[rng.randrange(len(some))]
    return True


def attribute_gone(rng, model):
    owners = [n for _, n in nodes(model) if n.attribute]
    if not owners:
        return False
    n = rng.choice(owners)
    del n.attribute[rng.randrange(len(n.attribute))]
    return True


def attribute_more(rng, model):
    """An attribute of another node, or a made one."""
    all_nodes = [n for _, n in nodes(model)]
    known = [a for n in all_nodes for a in n.attribute if a.type != AttributeProto.GRAPH]
    n = rng.choice(all_nodes)
    a = rng.choice(known) if known and rng.random() < 0.7 else helper.make_attribute(rng.choice(("axis", "mode", "to")), rng.choice((1, "x", [1])))
    if any(b.name == a.name for b in n.attribute):
        return False
    n.attribute.append(a)
    return True


def attribute_value(rng, model):
    owners = [a for _, n in nodes(model) for a in n.attribute if a.type in (1, 2, 3)]
    if not owners:
        return False
    a = rng.choice(owners)
    if a.type == 2:
        a.i = rng.choice((-1, 0, 1, 2, 3, 5, 99, -7))
    elif a.type == 1:
        a.f = rng.choice((0.0, -1.0, 2.5, 1e30))
    else:
        a.s = rng.choice((b"", b"nope", a.s.lower(), a.s.upper()))
    return True


def input_change(rng, model):
    owners = [(g, n) for g, n in nodes(model) if n.input]
    g, n = rng.choice(owners)
    at = rng.randrange(len(n.input))
    names = [x for _, m in nodes(model) for x in list(m.input) + list(m.output) if x]
    how = rng.randrange(6)
    if how == 0:
        del n.input[at]
    elif how == 1:
        n.input[at] = ""
    elif how == 2:
        n.input[at] = rng.choice(names)
    elif how == 3:
        n.input.append(rng.choice(names))
    elif how == 4:
        other = rng.randrange(len(n.input))
        n.input[at], n.input[other] = n.input[other], n.input[at]
    else:
        n.input[at] = "missing"
    return True


def output_change(rng, model):
    g, n = rng.choice(nodes(model))
    if not n.output:
        return False
    how = rng.randrange(4)
    if how == 0:
        n.output.append("more")
    elif how == 1:
        n.output[rng.randrange(len(n.output))] = ""
    elif how == 2:
        n.output[0] = rng.choice([x for _, m in nodes(model) for x in list(m.input) + list(m.output) if x])
    else:
        del n.output[-1]
    return True


def weight_change(rng, model):
    tensors = [t for g in graphs(model) if hasattr(g, "initializer") for t in g.initializer]
    tensors += [a.t for _, n in nodes(model) for a in n.attribute if a.type == AttributeProto.TENSOR]
    if not tensors:
        return False
    t = rng.choice(tensors)
    how = rng.randrange(5)
    if how == 0:
        t.data_type = rng.choice(TYPES)
    elif how == 1:
        if not t.dims:
            t.dims.append(1)
        else:
            del t.dims[rng.randrange(len(t.dims))]
    elif how == 2 and t.dims:
        t.dims[rng.randrange(len(t.dims))] += rng.choice((1, -1))
    elif how == 3:
        t.dims.insert(0, 1)
    else:  # one row less, with its data
        if not t.dims or t.dims[0] < 2 or not t.raw_data or len(t.raw_data) % t.dims[0]:
            return False
        row = len(t.raw_data) // t.dims[0]
        t.dims[0] -= 1
        t.raw_data = t.raw_data[:row * t.dims[0]]
    return True


def type_change(rng, model):
    infos = [i for g in graphs(model) if hasattr(g, "input") and not isinstance(g.input, str) for i in
             list(getattr(g, "input", ())) + list(getattr(g, "output", ())) if not isinstance(i, str)]
    infos += [i for i in model.graph.value_info]
    infos = [i for i in infos if i.type.WhichOneof("value") == "tensor_type"]
    if not infos:
        return False
    t = rng.choice(infos).type
    how = rng.randrange(5)
    if how == 0:
        t.tensor_type.elem_type = rng.choice(TYPES)
    elif how == 1:
        t.tensor_type.shape.dim.add().dim_value = rng.choice((1, 2, 3))
    elif how == 2 and len(t.tensor_type.shape.dim):
        del t.tensor_type.shape.dim[0]
    elif how == 3 and len(t.tensor_type.shape.dim):
        d = rng.choice(t.tensor_type.shape.dim)
        d.dim_value = rng.choice((0, 1, 2, 5, 7))
    else:
        inner = t.tensor_type.SerializeToString()
        t.Clear()
        if rng.random() < 0.5:
            t.sequence_type.elem_type.tensor_type.ParseFromString(inner)
        else:
            t.optional_type.elem_type.tensor_type.ParseFromString(inner)
    return True


def imports(rng, model):
    one = rng.choice(list(model.opset_import) + [i for f in model.functions for i in f.opset_import])
    how = rng.randrange(4)
    if how == 0:
        one.version += rng.choice((-3, -2, -1, 1, 2, 3))
    elif how == 1:
        model.ir_version = max(1, model.ir_version + rng.choice((-2, -1, 1, 3)))
    elif how == 2:
        one.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "com.example"))
    else:
        del model.opset_import[rng.randrange(len(model.opset_import))]
    return True


def graph_change(rng, model):
    """A subgraph or function with an input or output more or less, or of another order; nodes out of order."""
    inner = [g for g in graphs(model)[1:]] or [model.graph]
    g = rng.choice(inner)
    how = rng.randrange(5)
    if how == 0 and len(g.output):
        del g.output[-1]
    elif how == 1 and len(g.input):
        del g.input[rng.randrange(len(g.input))]
    elif how == 2 and len(g.output):
        g.output.append(g.output[0])
    elif how == 3 and len(g.node) > 1:
        first, last = g.node[0].SerializeToString(), g.node[-1].SerializeToString()
        g.node[0].ParseFromString(last)
        g.node[-1].ParseFromString(first)
    elif how == 4 and len(g.node) > 1:
        del g.node[rng.randrange(len(g.node))]
    else:
        return False
    return True


def operator(rng, model):
    _, n = rng.choice(nodes(model))
    how = rng.randrange(3)
    if how == 0:
        n.op_type = rng.choice([m.op_type for _, m in nodes(model)] + ["Relu", "Add", "Nope"])
    elif how == 1:
        n.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.example"))
    else:
        _, other = rng.choice(nodes(model))
        n.op_type, other.op_type = other.op_type, n.op_type
        n.domain, other.domain = other.domain, n.domain
    return True


BREAKS = [any_list, any_list, attribute_gone, attribute_more, attribute_value, input_change, input_change, output_change,
          weight_change, type_change, imports, graph_change, operator]


def broken(rng, model):
    """(what was changed, the model), or None."""
    for _ in range(10):
        copy = type(model)()
        copy.CopyFrom(model)
        how = rng.choice(BREAKS)
        if how(rng, copy):
            return how.__name__, copy
    return None
