# SPDX-License-Identifier: Apache-2.0
"""Changes of `mutants` that make models of rare kinds: functions that call functions or hide operators, sparse
weights, sequences and optionals, strings, graphs without nodes, parts that nothing uses."""
import struct

from families import default_import, elements, pick
from mutants_scopes import functions, named, rename_in, tensors
from mutate import (A_FLOAT, A_GRAPH, A_INT, A_INTS, A_STRING, A_TENSOR, COMMON, DTYPES, change, node, plain, retype, typed,
                    values)
from tree import Message, graphs, make_value, nodes, tensor_shape

A_SPARSE, A_STRINGS = 11, 8


def insert_before(g, n, *new):
    all_nodes = g.all("node")
    at = next(i for i, x in enumerate(all_nodes) if x is n)
    g.put("node", *(all_nodes[:at] + list(new) + all_nodes[at:]))


def imports(m, domain, version=1):
    if domain not in [o.text("domain") for o in m.all("opset_import")]:
        m.add("opset_import", Message("Opset", domain=domain, version=version))


def own_opset(m):
    return [o.copy() for o in m.all("opset_import") if o.text("domain") in ("", "ai.onnx")]


# --- functions ---

@change
def function_of_calls(m, rng):
    """A call becomes the call of a function that calls its function."""
    n = pick(rng, [n for g in plain(m) for n in g.all("node")
                   if any(f.text("name") == n.text("op_type") and f.text("domain") == n.text("domain") for f in functions(m))])
    if not n:
        return None
    number = rng.randrange(9999)
    inner = n.copy()
    ins = ["a%d" % k if x else "" for k, x in enumerate(n.texts("input"))]
    outs = ["b%d" % k for k in range(len(n.all("output")))]
    inner.put("output", *outs)
    inner.put("input", *ins) if ins else None
    body = [inner]
    if rng.random() < 0.4 and outs:
        inner.put("output", *["c0"] + outs[1:])
        body.append(node("Identity", ["c0"], [outs[0]]))
    domain = rng.choice([n.text("domain"), "outer.domain"])
    f = Message("Function", name="Outer%d" % number, input=[x for x in ins if x], output=outs, node=body,
                opset_import=own_opset(m) + [Message("Opset", domain=n.text("domain"), version=1)][:rng.choice([0, 1, 1, 1])],
                domain=domain)
    m.put("function", *([f] + functions(m) if rng.random() < 0.5 else functions(m) + [f]))
    if rng.random() < 0.9:
        imports(m, domain)
    n.put("op_type", "Outer%d" % number).put("domain", domain)
    n.put("input", *[x for x in n.texts("input") if x]) if n.all("input") else None
    return n


@change
def function_hides(m, rng):
    """A function of the model has the name and domain of an operator that a node uses."""
    n = pick(rng, [n for n in m.one("graph").all("node") if n.all("input") and len(n.all("output")) == 1
                   and not any(a.one("g") for a in n.all("attribute"))])
    if not n:
        return None
    ins = ["p%d" % k for k in range(len(n.all("input")))]
    kind = rng.randrange(4)
    if kind == 0:
        body = [node("Identity", ins[:1], ["r"])]
    elif kind == 1:
        body = [node("Abs", ins[:1], ["s"]), node("Neg", ["s"], ["r"])]
    elif kind == 2:
        body = [node("Neg", ins[:1], ["s"]), n.copy().put("input", *ins).put("output", "q"), node("Identity", ["q"], ["r"])]
    else:
        body = [n.copy().put("input", *ins).put("output", "r")]
    m.add("function", Message("Function", name=n.text("op_type"), input=ins, output=["r"], node=body,
                              opset_import=own_opset(m), domain=rng.choice([n.text("domain"), n.text("domain"), "ai.onnx"])))
    if rng.random() < 0.5:
        m.put("ir_version", max(8, m.one("ir_version") or 8))
    return n


@change
def function_unused(m, rng):
    """A function that nothing calls, valid or not."""
    body = rng.choice([
        lambda: [node("Relu", ["x"], ["y"])],
        lambda: [node("NoSuchOperator", ["x"], ["y"])],
        lambda: [node("Custom", ["x"], ["y"], [], "no.such.domain")],
        lambda: [node("Relu", ["undefined"], ["y"])],
        lambda: [node("Relu", ["x"], ["z"])],
        lambda: [node("Spare", ["x"], ["y"], [], "spare")],
        lambda: [node("Softmax", ["x"], ["y"], [Message("Attribute", name="axis", ref="axis", type=A_INT)])],
        lambda: []])()
    m.add("function", Message("Function", name="Spare", input=["x"], output=["y"], node=body,
                              opset_import=own_opset(m)[:rng.choice([0, 1, 1])], domain="spare"))
    if rng.random() < 0.5:
        imports(m, "spare")
    if rng.random() < 0.5:
        m.put("ir_version", max(8, m.one("ir_version") or 8))
    return True


@change
def function_default(m, rng):
    """An attribute of a function gets a default."""
    f = pick(rng, [f for f in functions(m) if f.all("attribute")])
    if not f:
        return None
    names = f.texts("attribute")
    name = names.pop(rng.randrange(len(names)))
    if rng.random() < 0.8:
        f.put("attribute", *names) if names else f.drop("attribute")
    passed = [a for n in nodes(m) for a in n.all("attribute") if a.text("name") == name and not a.one("ref")]
    f.add("attribute_proto", passed[0].copy() if passed and rng.random() < 0.7 else
          Message("Attribute", name=name, i=1, type=A_INT))
    m.put("ir_version", max(rng.choice([8, 9]), m.one("ir_version") or 9))
    if rng.random() < 0.7:
        for n in nodes(m):
            if n.text("op_type") == f.text("name") and n.all("attribute"):
                kept = [a for a in n.all("attribute") if a.text("name") != name]
                n.put("attribute", *kept) if kept else n.drop("attribute")
    return f


@change
def function_overloaded(m, rng):
    """A function and its calls have an overload, or only one of them."""
    f = pick(rng, functions(m))
    if not f:
        return None
    calls = [n for n in nodes(m) if n.text("op_type") == f.text("name") and n.text("domain") == f.text("domain")]
    if rng.random() < 0.7:
        f.put("overload", "o")
    if rng.random() < 0.7:
        for n in calls:
            n.put("overload", "o")
    if rng.random() < 0.5:
        m.put("ir_version", max(10, m.one("ir_version") or 10))
    return f


@change
def function_body(m, rng):
    """A node of a function becomes an If, whose branches read its values."""
    f = pick(rng, [f for f in functions(m) if any(n.all("output") for n in f.all("node"))])
    if not f:
        return None
    n = pick(rng, [n for n in f.all("node") if n.all("output")])
    outs = n.texts("output")

    def branch(tag):
        b = Message("Graph", name=tag, node=[n.copy().put("output", *["%s_%s" % (o, tag) for o in outs])])
        for o in outs:
            b.add("output", Message("Value", name="%s_%s" % (o, tag)))
        return b
    c = Message("Tensor", data_type=9, raw_data=b"\x01")
    new = [node("Constant", [], ["cond"], [Message("Attribute", name="value", t=c, type=A_TENSOR)]),
           node("If", ["cond"], outs, [Message("Attribute", name="then_branch", g=branch("t"), type=A_GRAPH),
                                       Message("Attribute", name="else_branch", g=branch("e"), type=A_GRAPH)])]
    insert_before(f, n, *new)
    f.put("node", *[x for x in f.all("node") if x is not n])
    return f


@change
def function_info(m, rng):
    f = pick(rng, [f for f in functions(m) if f.all("node")])
    if f:
        name = rng.choice(f.texts("input") + f.texts("output") + ["nowhere"])
        f.add("value_info", make_value(name, rng.choice(COMMON), rng.choice([[], [1], ["k"], [3, 4]])))
    return f


# --- weights ---

@change
def weight_sparse(m, rng):
    """An initializer is stored as a sparse one."""
    g = pick(rng, [g for g in plain(m) if any(elements(t) for t in g.all("initializer"))])
    if not g:
        return None
    t = pick(rng, [t for t in g.all("initializer") if elements(t) and t.one("data_type") in (1, 7, 6, 11)])
    if not t:
        return None
    got, elem = elements(t), t.one("data_type")
    kept = [(i, v) for i, v in enumerate(got) if v != 0] or [(0, got[0])]
    layout = {1: "f", 7: "q", 6: "i", 11: "d"}[elem]
    stored = Message("Tensor", dims=[len(kept)], data_type=elem, name=t.text("name"),
                     raw_data=struct.pack("<%d%s" % (len(kept), layout), *[v for _, v in kept]))
    places = [i for i, _ in kept]
    if rng.random() < 0.2:
        places[-1] += rng.choice([1, 1000, -1])
    indices = Message("Tensor", dims=[len(kept)], data_type=7, raw_data=struct.pack("<%dq" % len(kept), *places))
    sparse = Message("Sparse", values=stored, indices=indices, dims=t.all("dims"))
    if rng.random() < 0.7:
        rest = [x for x in g.all("initializer") if x is not t]
        g.put("initializer", *rest) if rest else g.drop("initializer")
        g.add("sparse", sparse)
    else:
        rest = [x for x in g.all("initializer") if x is not t]
        g.put("initializer", *rest) if rest else g.drop("initializer")
        g.put("node", node("Constant", [], [t.text("name")], [
            Message("Attribute", name="sparse_value", sparse_tensor=sparse, type=A_SPARSE)]), *g.all("node"))
    return g


@change
def weight_field(m, rng):
    """Elements of an initializer are stored in another field, or in two."""
    t = pick(rng, [t for t in tensors(m) if elements(t)])
    if not t:
        return None
    got = [float(v) for v in elements(t)]
    ints = [int(v) for v in got if v == v and abs(v) < 2**31] or [0]
    if rng.random() < 0.7:
        t.drop("raw_data").drop("float_data").drop("int32_data").drop("int64_data")
    kind = rng.choice(["float_data", "int32_data", "int64_data"])
    t.put(kind, *(got if kind == "float_data" else ints))
    return t


@change
def weight_idle(m, rng):
    """An initializer that nothing reads, valid or not."""
    g = pick(rng, plain(m))
    g.add("initializer", rng.choice([
        lambda: Message("Tensor", dims=[2], data_type=1, name="idle_weight", raw_data=b"\0" * 8),
        lambda: Message("Tensor", dims=[2], data_type=1, name="idle_weight", raw_data=b"\0" * 7),
        lambda: Message("Tensor", dims=[2], data_type=99, name="idle_weight", raw_data=b"\0" * 8),
        lambda: Message("Tensor", dims=[2], data_type=0, name="idle_weight", raw_data=b"\0" * 8),
        lambda: Message("Tensor", dims=[-1], data_type=1, name="idle_weight"),
        lambda: Message("Tensor", dims=[2], data_type=1, raw_data=b"\0" * 8),
        lambda: Message("Tensor", dims=[2], data_type=8, name="idle_weight", string_data=[b"a", b"\xff"]),
        lambda: Message("Tensor", dims=[0], data_type=rng.choice(DTYPES), name="idle_weight"),
        lambda: Message("Tensor", dims=[2**40, 2**40], data_type=1, name="idle_weight")])())
    return g


@change
def weight_twice(m, rng):
    """Two initializers of one name, equal or not; in one graph or in a graph and a body."""
    g = pick(rng, [g for g in plain(m) if g.all("initializer")])
    if not g:
        return None
    t = rng.choice(g.all("initializer")).copy()
    if rng.random() < 0.5:
        t.put("dims", *(t.all("dims") + [1]))
    pick(rng, [g, pick(rng, plain(m))]).add("initializer", t)
    return g


@change
def inputs_of_weights(m, rng):
    """As below IR version 4: all weights are inputs; or IR version 3, and none is."""
    g = m.one("graph")
    m.put("ir_version", rng.choice([3, 3, 4, m.one("ir_version") or 4]))
    names = {t.text("name") for t in g.all("initializer")}
    kept = [v for v in g.all("input") if v.text("name") not in names]
    if rng.random() < 0.6:
        kept += [make_value(t.text("name"), t.one("data_type"), t.all("dims")) for t in g.all("initializer")
                 if rng.random() < 0.9]
    g.put("input", *kept) if kept else g.drop("input")
    return names


# --- types ---

@change
def through_sequence(m, rng):
    """An operand is put into a sequence, or an optional, and read from there again."""
    g = pick(rng, [g for g in graphs(m) if any(n.all("input") for n in g.all("node"))])
    n = pick(rng, [n for n in g.all("node") if n.all("input")]) if g else None
    if not n:
        return None
    got, number = n.texts("input"), rng.randrange(9999)
    k = rng.randrange(len(got))
    if not got[k]:
        return None
    x, s, y, i = got[k], "seq_%d" % number, "elem_%d" % number, "at_%d" % number
    zero = Message("Tensor", data_type=7, dims=rng.choice([[], [1]]), raw_data=struct.pack("<q", rng.choice([0, 0, 0, -1, 5])))
    at = node("Constant", [], [i], [Message("Attribute", name="value", t=zero, type=A_TENSOR)])
    kind = rng.randrange(5)
    new = {0: [node("SequenceConstruct", [x], [s]), at, node("SequenceAt", [s, i], [y])],
           1: [node("SequenceConstruct", [x, x], [s]), at, node("Identity", [s], [s + "_i"]),
               node("SequenceAt", [s + "_i", i], [y])],
           2: [node("Optional", [x], [s]), node("OptionalGetElement", [s], [y])],
           3: [node("SequenceEmpty", [], [s], [Message("Attribute", name="dtype", i=rng.choice(COMMON), type=A_INT)]),
               node("SequenceInsert", [s, x], [s + "_i"]), at, node("SequenceAt", [s + "_i", i], [y])],
           4: [node("SequenceConstruct", [x], [s]), node("ConcatFromSequence", [s], [y],
                                                        [Message("Attribute", name="axis", i=0, type=A_INT)])]}[kind]
    insert_before(g, n, *new)
    got[k] = y
    n.put("input", *got)
    return n


@change
def input_sequence(m, rng):
    """An input becomes a sequence or an optional, whose element the nodes read."""
    g = m.one("graph")
    v = pick(rng, [v for v in g.all("input") if tensor_shape(v)[0]])
    if not v or not g.all("node"):
        return None
    name, t = v.text("name"), v.one("type").copy()
    rename_in(g, name, name + "_elem")
    v.put("name", name)
    if rng.random() < 0.5:
        v.put("type", Message("Type", sequence_type=Message("Wrapped", elem_type=t)))
        zero = Message("Tensor", data_type=7, raw_data=b"\0" * 8)
        new = [node("Constant", [], ["zero_at"], [Message("Attribute", name="value", t=zero, type=A_TENSOR)]),
               node("SequenceAt", [name, "zero_at"], [name + "_elem"])]
    else:
        v.put("type", Message("Type", optional_type=Message("Wrapped", elem_type=t)))
        new = [node("OptionalGetElement", [name], [name + "_elem"])]
    g.put("node", *(new + g.all("node")))
    return v


@change
def through_strings(m, rng):
    """Strings on the way: a node of strings beside the others, or an operand that was one."""
    g = m.one("graph")
    s = Message("Tensor", dims=[2], data_type=8, name="text", string_data=rng.choice([[b"a", b"b"], [b"a"], [b"a", b"\xff\xfe"], []]))
    g.add("initializer", s)
    x = pick(rng, [v.text("name") for v in g.all("input")]) or "text"
    g.add("node", rng.choice([
        lambda: node("Identity", ["text"], ["text_out"]),
        lambda: node("StringNormalizer", ["text"], ["text_out"]),
        lambda: node("Cast", ["text"], ["text_out"], [Message("Attribute", name="to", i=1, type=A_INT)]),
        lambda: node("Cast", [x], ["text_out"], [Message("Attribute", name="to", i=8, type=A_INT)]),
        lambda: node("Concat", ["text", "text"], ["text_out"], [Message("Attribute", name="axis", i=0, type=A_INT)]),
        lambda: node("Equal", ["text", "text"], ["text_out"]),
        lambda: node("StringConcat", ["text", "text"], ["text_out"]),
        lambda: node("Where", [x, "text", "text"], ["text_out"]),
        lambda: node("Relu", ["text"], ["text_out"]),
        lambda: node("Constant", [], ["text_out"], [Message("Attribute", name="value_strings", strings=[b"a"], type=A_STRINGS)]),
        lambda: node("LabelEncoder", ["text"], ["text_out"], [
            Message("Attribute", name="keys_strings", strings=[b"a"], type=A_STRINGS),
            Message("Attribute", name="values_int64s", ints=[1], type=A_INTS)], "ai.onnx.ml")])())
    imports(m, "ai.onnx.ml", rng.choice([1, 2, 3, 4]))
    if rng.random() < 0.5:
        g.add("output", Message("Value", name="text_out"))
    return g


@change
def element_narrow(m, rng):
    """A Cast to a narrow type and back in front of an operand."""
    g = pick(rng, [g for g in graphs(m) if any(n.all("input") for n in g.all("node"))])
    n = pick(rng, [n for n in g.all("node") if n.all("input")]) if g else None
    if not n or not n.texts("input")[0]:
        return None
    number, to = rng.randrange(9999), rng.choice([17, 18, 19, 20, 21, 22, 23, 16, 10, 14, 15, 25])
    x = n.texts("input")[0]
    new = [node("Cast", [x], ["narrow_%d" % number], [Message("Attribute", name="to", i=to, type=A_INT)])]
    if rng.random() < 0.5:
        new.append(node(rng.choice(["Identity", "Reshape", "Transpose", "Relu", "Add", "MatMul", "Unsqueeze", "Shape"]),
                        ["narrow_%d" % number], ["mid_%d" % number]))
        if new[-1].text("op_type") in ("Add", "MatMul"):
            new[-1].put("input", *[new[0].texts("output")[0]] * 2)
    new.append(node("Cast", new[-1].texts("output"), ["wide_%d" % number], [Message("Attribute", name="to", i=1, type=A_INT)]))
    insert_before(g, n, *new)
    n.put("input", *(["wide_%d" % number] + n.texts("input")[1:]))
    return n


@change
def sizes_zero(m, rng):
    """A size of an input or weight is 0, everywhere where the same is declared."""
    x = pick(rng, [x for x in typed(m) if x[1] == "input" and tensor_shape(x[2])[1]])
    if not x:
        return None
    elem, dims = tensor_shape(x[2])
    dims = list(dims)
    old = dims[rng.randrange(len(dims))]
    for _, _, v in typed(m) if rng.random() < 0.6 else [x]:
        e, d = tensor_shape(v)
        if d and old in d:
            retype(v, e, [0 if k == old else k for k in d])
    return x


@change
def dims_odd(m, rng):
    """A dimension that is negative, empty, or very large; a symbol that is a number; two symbols that are one."""
    x = pick(rng, [x for x in typed(m) if tensor_shape(x[2])[1]])
    if not x:
        return None
    elem, dims = tensor_shape(x[2])
    dims = list(dims)
    old = dims[rng.randrange(len(dims))]
    new = rng.choice([-1, -5, 2**31, 2**62, "", "3", "-1", "?", "N", "N", 0])
    for _, _, v in typed(m) if rng.random() < 0.5 else [x]:
        e, d = tensor_shape(v)
        if d and old in d:
            retype(v, e, [new if k == old else k for k in d])
    return x


@change
def type_unset(m, rng):
    """A declaration with an element type of 0 or one that does not exist, or a type without content."""
    x = pick(rng, values(m))
    if not x:
        return None
    x[2].put("type", rng.choice([
        lambda: Message("Type"), lambda: Message("Type", tensor_type=Message("TensorType")),
        lambda: make_value("", 0, [1]).one("type"), lambda: make_value("", 99, [1]).one("type"),
        lambda: make_value("", rng.choice([24, 25, 26]), [1]).one("type"),
        lambda: Message("Type", sparse_type=Message("TensorType", elem_type=1)),
        lambda: Message("Type", sequence_type=Message("Wrapped"))])())
    return x


# --- names and places ---

@change
def unnamed(m, rng):
    for n in nodes(m):
        n.drop("name")
    if rng.random() < 0.3:
        m.one("graph").drop("name")
    return True


@change
def graph_empty(m, rng):
    """The graph loses its nodes, its inputs, or its outputs."""
    g = m.one("graph")
    kind = rng.randrange(6)
    if kind == 0:
        g.drop("node")
    elif kind == 1:
        g.drop("output")
    elif kind == 2:
        g.drop("node").drop("initializer").put("output", *[v.copy() for v in g.all("input")])
    elif kind == 3:
        g.drop("node").drop("output").drop("input").drop("initializer")
    elif kind == 4:
        g.drop("input")
    else:
        g.put("output", *(g.all("output") * 2))
    return True


@change
def import_odd(m, rng):
    """The default domain is imported by another name, not at all, too new, or a missing domain is not."""
    o = default_import(m)
    kind = rng.randrange(6)
    rest = [x for x in m.all("opset_import") if x is not o]
    if kind == 0:
        m.put("opset_import", *rest) if rest else m.drop("opset_import")
    elif kind == 1:
        o.put("version", rng.choice([26, 27, 28, 29, 99, 2**31, -1, 0]))
    elif kind == 2:
        o.put("domain", rng.choice(["ai.onnx", "", "onnx", "ai.onnx "]))
    elif kind == 3:
        o.drop("version")
    elif kind == 4:
        o.drop("domain")
        m.add("opset_import", Message("Opset", domain="ai.onnx", version=o.one("version") or 1))
    elif rest:
        m.put("opset_import", o)
    return True


@change
def branch_dead(m, rng):
    """An If of a constant condition, one of whose branches is of no use, or broken."""
    g = m.one("graph")
    n = pick(rng, [n for n in g.all("node") if n.all("input") and len(n.all("output")) == 1 and n.texts("input")[0]])
    if not n:
        return None
    number, x = rng.randrange(9999), n.texts("input")[0]
    out = "dead_%d" % number

    def branch(tag, *body):
        b = Message("Graph", name=tag, node=list(body))
        return b.add("output", Message("Value", name=body[-1].texts("output")[0]))
    good = branch("good", node("Identity", [x], ["good_%d" % number]))
    bad = branch("bad", *rng.choice([
        lambda: [node("Identity", ["undefined"], ["bad_%d" % number])],
        lambda: [node("NoSuchOperator", [x], ["bad_%d" % number])],
        lambda: [node("MatMul", [x, x], ["bad_%d" % number])],
        lambda: [node("Cast", [x], ["bad_%d" % number], [Message("Attribute", name="to", i=rng.choice(COMMON), type=A_INT)])],
        lambda: [node("Shape", [x], ["bad_%d" % number])],
        lambda: [node("Unsqueeze", [x], ["bad_%d" % number], [Message("Attribute", name="axes", ints=[0], type=A_INTS)])],
        lambda: [node("Reshape", [x, x], ["bad_%d" % number])],
        lambda: [node("SequenceConstruct", [x], ["bad_%d" % number])],
        lambda: [node("Identity", [x], ["bad_%d" % number]), node("Identity", [x], ["bad_%d" % number])]])())
    c = Message("Tensor", data_type=9, name="cond_%d" % number, raw_data=rng.choice([b"\x01", b"\x01", b"\0"]))
    g.add("initializer", c)
    new = node("If", ["cond_%d" % number], [out], [Message("Attribute", name="then_branch", g=good, type=A_GRAPH),
                                                   Message("Attribute", name="else_branch", g=bad, type=A_GRAPH)])
    insert_before(g, n, new)
    if rng.random() < 0.6:
        n.put("input", *([out] + n.texts("input")[1:]))
    return n


@change
def into_scan(m, rng):
    """A Scan beside the others, which copies slices of a value."""
    g = m.one("graph")
    x = pick(rng, [v for v in g.all("input") if (tensor_shape(v)[1] or []) and tensor_shape(v)[0]])
    if not x:
        return None
    elem, dims = tensor_shape(x)
    b = Message("Graph", name="scan", node=[node(rng.choice(["Identity", "Identity", "Neg", "Shape"]), ["slice"], ["scanned"])])
    declared = rng.randrange(4)
    b.add("input", make_value("slice", elem, dims[1:]) if declared == 0 else Message("Value", name="slice"))
    b.add("output", make_value("scanned", elem, dims[1:]) if declared < 2 else Message("Value", name="scanned"))
    attributes = [Message("Attribute", name="body", g=b, type=A_GRAPH),
                  Message("Attribute", name="num_scan_inputs", i=rng.choice([1, 1, 1, 0, 2]), type=A_INT)]
    if rng.random() < 0.4:
        attributes.append(Message("Attribute", name="scan_input_axes", ints=[rng.choice([0, -1, 1, 9])], type=A_INTS))
    if rng.random() < 0.2:
        attributes.append(Message("Attribute", name="directions", ints=[rng.choice([0, 1])], type=A_INTS))
    opset = default_import(m).one("version") or 1
    g.add("node", node("Scan", ([""] if opset < 9 else []) + [x.text("name")], ["scan_out"], attributes))
    if rng.random() < 0.7:
        g.add("output", rng.choice([Message("Value", name="scan_out"), make_value("scan_out", elem, dims)]))
    return x


@change
def training(m, rng):
    m.add("training", Message("Training", initialization=Message("Graph", name="t"), algorithm=Message(
        "Graph", name="a", node=[node("Relu", [rng.choice(named(m.one("graph")) or ["x"])], ["z"])])))
    return True


@change
def output_named(m, rng):
    """An output of the graph is renamed where it is declared, so that nothing computes it; or is listed twice."""
    g = m.one("graph")
    v = pick(rng, g.all("output"))
    if not v:
        return None
    if rng.random() < 0.5:
        g.add("output", v.copy())
    else:
        v.put("name", rng.choice([v.text("name") + "_", "", " "]))
    return v


@change
def attribute_twice(m, rng):
    n = pick(rng, [n for n in nodes(m) if n.all("attribute")])
    if not n:
        return None
    a = rng.choice(n.all("attribute")).copy()
    if a.one("i") is not None and rng.random() < 0.5:
        a.put("i", a.one("i") + 1)
    n.add("attribute", a)
    return n


@change
def attribute_graph(m, rng):
    """An attribute of a node that has none gets a graph, or one of If another kind."""
    n = pick(rng, nodes(m))
    if not n:
        return None
    n.add("attribute", rng.choice([
        lambda: Message("Attribute", name="body", g=Message("Graph", name="b"), type=A_GRAPH),
        lambda: Message("Attribute", name="alpha", f=1.0, i=1, type=A_FLOAT),
        lambda: Message("Attribute", name="", i=1, type=A_INT),
        lambda: Message("Attribute", name="axis", i=0),
        lambda: Message("Attribute", name="made_up", type=A_INTS),
        lambda: Message("Attribute", name="made_up", t=Message("Tensor", dims=[1], data_type=1), type=A_TENSOR),
        lambda: Message("Attribute", name="made_up", s=b"\xff\xfe", type=A_STRING)])())
    return n


@change
def microsoft(m, rng):
    """An operator of com.microsoft beside the others, in a form that some releases have."""
    g = m.one("graph")
    x = pick(rng, [v.text("name") for v in g.all("input")])
    if not x:
        return None
    op, ins, attributes = rng.choice([
        ("Gelu", [x], []), ("FusedMatMul", [x, x], [Message("Attribute", name="transB", i=1, type=A_INT)]),
        ("BiasGelu", [x, x], []), ("FastGelu", [x], []), ("QuickGelu", [x], []), ("Inverse", [x], []),
        ("FusedGemm", [x, x], [Message("Attribute", name="activation", s=b"Relu", type=A_STRING)]),
        ("SkipLayerNormalization", [x, x, x], []), ("Trilu", [x], []), ("Unique", [x], []), ("Pad", [x, x], []),
        ("IsAllFinite", [x], []), ("GridSample", [x, x], []), ("ExpandDims", [x, x], []), ("NoSuchOperator", [x], [])])
    g.add("node", node(op, ins, ["ms_out"], attributes, "com.microsoft"))
    if rng.random() < 0.9:
        imports(m, "com.microsoft")
    if rng.random() < 0.5:
        g.add("output", Message("Value", name="ms_out"))
    return g
