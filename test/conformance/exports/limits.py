#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py [--seed N] [--each N] [--engine ort-1.30.0] DIR SOURCE...: writes to DIR what operators of com.microsoft may
not accept. Each node of such an operator in the models below the SOURCEs (at most N of an operator) becomes a model of
its own, if ENGINE imports that; then each of its inputs gets other ranks and sizes, as a constant and as an input of the
model, each attribute other values or none, and the node more outputs. `verdicts` (in the folder above) compares what
engines say of them with the verdicts: models of lib/check/forms_contrib.c."""
import argparse
import collections
import glob
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import ort

ort.need_onnx()
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, ValueInfoProto, helper
from build import tensor

LARGE = 300000  # bytes of a model that is not read


def sources(folders, each):
    """(node, {input: type or tensor}, opset)"""
    taken = collections.Counter()
    for path in (p for top in folders for p in sorted(glob.glob(top + "/**/*.onnx", recursive=True))):
        try:
            m = onnx.load(path, load_external_data=False) if os.path.getsize(path) < LARGE else None
        except Exception:  # broken models are among them
            continue
        if not m:
            continue
        known = {v.name: v for v in [*m.graph.value_info, *m.graph.input, *m.graph.output]}
        known.update({t.name: t for t in m.graph.initializer})
        for n in m.graph.node:
            if n.op_type == "Constant" and len(n.attribute) == 1 and n.attribute[0].name == "value":
                known[n.output[0]] = TensorProto.FromString(n.attribute[0].t.SerializeToString())
                known[n.output[0]].name = n.output[0]
        opset = next((o.version for o in m.opset_import if o.domain in ("", "ai.onnx")), 13)
        for n in m.graph.node:
            if n.domain == "com.microsoft" and taken[n.op_type] < each and all(x in known for x in n.input if x):
                taken[n.op_type] += 1
                yield n, {x: known[x] for x in n.input if x}, min(opset, 15)


def alone(n, inputs, opset):
    values = inputs.values()
    graph = helper.make_graph([n], "g", [v for v in values if isinstance(v, ValueInfoProto)],
                              [ValueInfoProto(name=o) for o in n.output if o],
                              [v for v in values if isinstance(v, TensorProto)])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    m.ir_version = 7
    return m


def shape_of(v):
    """(element type, sizes), or None."""
    if isinstance(v, TensorProto):
        return v.data_type, list(v.dims)
    if v.type.WhichOneof("value") != "tensor_type" or not v.type.tensor_type.HasField("shape"):
        return None
    t = v.type.tensor_type
    return t.elem_type, [d.dim_value or d.dim_param or None for d in t.shape.dim]


def other_shapes(dims):
    yield "less", dims[1:]
    yield "shorter", dims[:-1]
    yield "more", [1] + dims
    yield "longer", dims + [1]
    if dims:
        first, last = (d if isinstance(d, int) else 2 for d in (dims[0], dims[-1]))
        yield "last", dims[:-1] + [last + 1]
        yield "first", [first + 1] + dims[1:]
        yield "ones", [1] * len(dims)


def other_inputs(rng, n, inputs):
    """(what was changed, the inputs)"""
    for k, x in enumerate(n.input):
        found = shape_of(inputs[x]) if x else None
        for how, dims in other_shapes(found[1]) if found else ():
            if dims == found[1]:
                continue
            for constant in (True, False) if isinstance(inputs[x], TensorProto) else (False,):
                sizes = [d if isinstance(d, int) else 2 for d in dims]
                value = tensor(x, found[0], sizes, None, rng) if constant else helper.make_tensor_value_info(x, found[0], dims)
                yield "in%d_%s%s" % (k, how, "_w" if constant else ""), {**inputs, x: value}


def other_values(a):
    if a.type == AttributeProto.INT:
        return [0, -1, 2, 3, 7]
    if a.type == AttributeProto.FLOAT:
        return [0.0, -1.0, float("nan")]
    if a.type == AttributeProto.STRING:
        return ["", "nope", a.s.decode().upper(), a.s.decode().lower()]
    if a.type == AttributeProto.INTS:
        return [AttributeProto(name=a.name, type=a.type), list(a.ints) + [1], [0] * len(a.ints), [-1] * len(a.ints)]
    if a.type == AttributeProto.FLOATS:
        return [AttributeProto(name=a.name, type=a.type), list(a.floats) + [1.0]]
    return []


def other_nodes(n):
    """(what was changed, the node)"""
    for a in n.attribute:
        for k, value in enumerate([None] + other_values(a)):
            made = NodeProto.FromString(n.SerializeToString())
            del made.attribute[:]
            made.attribute.extend(b for b in n.attribute if b.name != a.name)
            if value is not None and value != []:
                made.attribute.append(value if isinstance(value, AttributeProto) else helper.make_attribute(a.name, value))
            yield "%s_%d" % (a.name, k), made
    for more in (1, 2, 3):
        made = NodeProto.FromString(n.SerializeToString())
        made.output.extend("more%d" % i for i in range(more))
        yield "outputs_%d" % more, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--engine", default="ort-1.30.0")
    parser.add_argument("folder")
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()
    command = ort.importer(args.engine)
    if not command:
        print("skipped: no %s" % args.engine)
        return 77
    os.makedirs(args.folder, exist_ok=True)
    engine, rng, count, bases = ort.Child(command), random.Random(args.seed), 0, 0

    def save(model, name):
        path = os.path.join(args.folder, name + ".onnx")
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        return path

    for n, inputs, opset in sources(args.sources, args.each):
        name = "%s_%d" % (n.op_type, bases)
        path = save(alone(n, inputs, opset), name)
        answer = engine.ask(path)
        if not (isinstance(answer, dict) and answer["accepts"]):
            os.unlink(path)
            continue
        bases += 1
        changed = [(how, alone(n, other, opset)) for how, other in other_inputs(rng, n, inputs)]
        changed += [(how, alone(other, inputs, opset)) for how, other in other_nodes(n)]
        for how, m in changed:
            save(m, name + "_" + how)
        count += len(changed)
    engine.close()
    print("%d nodes, %d changed ones" % (bases, count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
