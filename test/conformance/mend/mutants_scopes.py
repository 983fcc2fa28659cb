# SPDX-License-Identifier: Apache-2.0
"""Changes of `mutants` that need more than one part of a model: names across scopes, bodies and functions, types of
sequences and optionals, stored elements, metadata."""
from families import elements, pick
from mutate import A_INT, COMMON, change, node, plain, retype, typed, values
from tree import Message, graphs, make_value, nodes, tensor_shape


def bodies(m):
    return [g for g in plain(m) if g is not m.one("graph")]


def named(g):
    """Names of the values that the graph defines."""
    return ([v.text("name") for v in g.all("input")] + [t.text("name") for t in g.all("initializer")] +
            [o for n in g.all("node") for o in n.texts("output") if o])


def functions(m):
    return m.all("function")


def rename_in(g, old, new):
    for n in g.all("node"):
        for field in ("input", "output"):
            if n.all(field):
                n.put(field, *[new if x == old else x for x in n.texts(field)])
    for field in ("input", "output", "value_info", "initializer"):
        for v in g.all(field):
            if v.text("name") == old:
                v.put("name", new)


# --- names across scopes ---

@change
def body_name_outside(m, rng):
    """A value of a body gets the name of one outside of it."""
    b = pick(rng, [g for g in bodies(m) if named(g)])
    outer = named(m.one("graph"))
    if not b or not outer:
        return None
    rename_in(b, rng.choice(named(b)), rng.choice(outer))
    return b


@change
def body_names_equal(m, rng):
    """A value of a body gets the name of one in another body."""
    b = pick(rng, [g for g in bodies(m) if named(g)])
    other = pick(rng, [g for g in bodies(m) if g is not b and named(g)])
    if not b or not other:
        return None
    rename_in(b, rng.choice(named(b)), rng.choice(named(other)))
    return b


@change
def body_output_outside(m, rng):
    """A body's output is a value from outside."""
    b = pick(rng, [g for g in bodies(m) if g.all("output")])
    outer = named(m.one("graph"))
    if not b or not outer:
        return None
    rng.choice(b.all("output")).put("name", rng.choice(outer))
    return b


@change
def body_unsorted(m, rng):
    b = pick(rng, [g for g in bodies(m) + functions(m) if len(g.all("node")) > 1])
    if b:
        b.put("node", *reversed(b.all("node")))
    return b


@change
def body_interface(m, rng):
    """A body has an input or output more or less."""
    b = pick(rng, bodies(m))
    if not b:
        return None
    field = rng.choice(["input", "output", "output"])
    kept = b.all(field)
    if kept and rng.random() < 0.5:
        kept.pop(rng.randrange(len(kept)))
    elif field == "input":
        kept.append(make_value("more_in", 1, [1]))
    elif named(b):
        kept.append(Message("Value", name=rng.choice(named(b))))
    b.put(field, *kept) if kept else b.drop(field)
    return b


@change
def input_twice(m, rng):
    g = pick(rng, [g for g in plain(m) if g.all("input")])
    if g:
        g.add("input", rng.choice(g.all("input")).copy())
    return g


@change
def input_unused(m, rng):
    m.one("graph").add("input", make_value("spare", rng.choice(COMMON), rng.choice([[], [1], ["k"], [0]])))
    return True


@change
def input_defined(m, rng):
    """The name of an input is that of a node's output, too."""
    g = pick(rng, [g for g in plain(m) if g.all("node")])
    name = pick(rng, [o for n in g.all("node") for o in n.texts("output") if o]) if g else None
    if name:
        g.add("input", make_value(name, 1, [1]))
    return name


@change
def info_stray(m, rng):
    g = pick(rng, plain(m))
    g.add("value_info", make_value("nowhere", rng.choice(COMMON), [rng.choice([0, 1, 5])]))
    return g


@change
def info_of_weight(m, rng):
    g = pick(rng, [g for g in plain(m) if g.all("initializer")])
    if not g:
        return None
    t = rng.choice(g.all("initializer"))
    dims = t.all("dims")
    g.add("value_info", make_value(t.text("name"), rng.choice([t.one("data_type"), 1, 7]), rng.choice([dims, dims + [1]])))
    return g


# --- functions ---

@change
def function_twice(m, rng):
    f = pick(rng, functions(m))
    if f:
        m.add("function", f.copy())
    return f


@change
def function_recursive(m, rng):
    f = pick(rng, [f for f in functions(m) if f.all("node")])
    if f:
        n = rng.choice(f.all("node"))
        n.put("op_type", f.text("name")).put("domain", f.text("domain"))
    return f


@change
def function_imports(m, rng):
    f = pick(rng, functions(m))
    if not f:
        return None
    kept = f.all("opset_import")
    kind = rng.randrange(3)
    if kind == 0 and kept:
        kept.pop(rng.randrange(len(kept)))
    elif kind == 1:
        kept.append(Message("Opset", domain="spare.domain", version=rng.choice([0, 1, 9])))
    elif kept:
        kept[0].put("version", rng.choice([1, 7, 13, 18, 99]))
    f.put("opset_import", *kept) if kept else f.drop("opset_import")
    return f


@change
def function_formals(m, rng):
    """A function has an input or output more or less, or one twice."""
    f = pick(rng, [f for f in functions(m) if f.all("input") and f.all("output")])
    if not f:
        return None
    field = rng.choice(["input", "output"])
    got = f.texts(field)
    kind = rng.randrange(3)
    if kind == 0:
        got.append("more")
    elif kind == 1:
        got.append(got[0])
    else:
        got.pop()
    f.put(field, *got) if got else f.drop(field)
    return f


@change
def function_absent(m, rng):
    """A node of a function leaves out inputs by empty names."""
    n = pick(rng, [n for f in functions(m) for n in f.all("node") if n.all("input")])
    if n:
        n.put("input", *n.texts("input"), *[""] * rng.choice([1, 2]))
    return n


# --- types ---

@change
def wrapped_type(m, rng):
    """A declared type becomes a sequence or an optional of it, or one of these its element type."""
    v = pick(rng, [v for _, _, v in values(m) if v.one("type")])
    if not v:
        return None
    t = v.one("type")
    for field in ("sequence_type", "optional_type"):
        if t.one(field):
            inner = t.one(field).one("elem_type")
            if inner:
                v.put("type", inner)
            return v
    v.put("type", Message("Type", **{rng.choice(["sequence_type", "optional_type"]): Message("Wrapped", elem_type=t.copy())}))
    return v


@change
def sequence_element(m, rng):
    """The element type of a sequence or an optional changes, or goes."""
    found = [t.one(f) for _, _, v in values(m) for t in [v.one("type")] if t
             for f in ("sequence_type", "optional_type") if t.one(f)]
    w = pick(rng, found)
    if not w:
        return None
    if rng.random() < 0.2:
        w.drop("elem_type")
    else:
        w.put("elem_type", make_value("", rng.choice(COMMON), rng.choice([[], [1], ["k"]])).one("type"))
    return w


@change
def body_types(m, rng):
    """Declarations of a body go, or get another element type."""
    b = pick(rng, bodies(m))
    if not b:
        return None
    for v in b.all("input") + b.all("output") + b.all("value_info"):
        elem, dims = tensor_shape(v)
        if rng.random() < 0.4:
            v.drop("type")
        elif elem and rng.random() < 0.4:
            retype(v, rng.choice([elem, rng.choice(COMMON)]), rng.choice([dims, None, [1]]))
    return b


# --- stored elements ---

def tensors(m):
    return [t for g in plain(m) for t in g.all("initializer")] + [
        a.one("t") for n in nodes(m) for a in n.all("attribute") if a.one("t")]


@change
def weight_count(m, rng):
    """dims say another number of elements than is stored."""
    t = pick(rng, tensors(m))
    if not t:
        return None
    dims = t.all("dims")
    if dims:
        dims[rng.randrange(len(dims))] += rng.choice([-1, 1, 1, 7])
    else:
        dims = [rng.choice([0, 1, 2])]
    t.put("dims", *dims)
    return t


@change
def weight_empty(m, rng):
    """The elements go; the dims stay or have a 0."""
    t = pick(rng, tensors(m))
    if not t:
        return None
    for field in ("raw_data", "float_data", "int32_data", "int64_data"):
        t.drop(field)
    if rng.random() < 0.6:
        t.put("dims", *([0] + t.all("dims")[1:]))
    return t


@change
def weight_external(m, rng):
    """The elements are said to be in a file that is not there."""
    t = pick(rng, tensors(m))
    if not t:
        return None
    t.put("data_location", 1)
    if rng.random() < 0.7:
        t.put("external_data", Message("Entry", key="location", value=rng.choice(["gone.bin", "", "../gone.bin"])))
    if rng.random() < 0.5:
        t.drop("raw_data")
    return t


@change
def weight_nan(m, rng):
    t = pick(rng, [t for t in tensors(m) if t.one("data_type") == 1 and elements(t)])
    if not t:
        return None
    for field in ("raw_data", "float_data"):
        if t.one(field) is not None:
            count = len(elements(t))
            t.drop("raw_data").drop("float_data")
            t.put("float_data", *[rng.choice([float("nan"), float("inf"), -0.0, 1e-42]) for _ in range(count)])
            break
    return t


# --- metadata ---

@change
def metadata(m, rng):
    kind = rng.randrange(6)
    g = m.one("graph")
    if kind == 0:
        for _ in range(2):
            m.add("metadata", Message("Entry", key="k", value="v"))
    elif kind == 1:
        m.put("version", rng.choice([-1, 2**40])).put("doc", "x" * 5000)
    elif kind == 2:
        g.drop("name")
    elif kind == 3:
        g.put("doc", "\u00e9\n\t").put("name", "a b/\u00e9")
    elif kind == 4:
        g.add("annotation", Message("Annotation", tensor=rng.choice(named(g) + ["nowhere"]),
                                    entry=Message("Entry", key="SCALE_TENSOR", value=rng.choice(named(g) + ["nowhere"]))))
    else:
        n = pick(rng, nodes(m))
        if n:
            n.add("metadata", Message("Entry", key="", value="v")).put("doc", "d")
    return True


@change
def overload(m, rng):
    n = pick(rng, nodes(m))
    if n:
        n.put("overload", rng.choice(["", "o"]))
    return n


@change
def idle_node(m, rng):
    """A node whose result nothing reads, of a known operator or not, valid or not."""
    g = pick(rng, [g for g in graphs(m) if named_any(g)])
    if not g:
        return None
    x = rng.choice(named_any(g))
    g.add("node", rng.choice([
        lambda: node("Relu", [x], ["idle_out"]),
        lambda: node("NoSuchOperator", [x], ["idle_out"]),
        lambda: node("Custom", [x], ["idle_out"], [], "no.such.domain"),
        lambda: node("MatMul", [x, x], ["idle_out"]),
        lambda: node("Cast", [x], ["idle_out"], [Message("Attribute", name="to", i=rng.choice(COMMON + [99]), type=A_INT)]),
        lambda: node("Constant", [], ["idle_out"])])())
    return g


def named_any(g):
    return named(g) if g.kind == "Graph" else g.texts("input")
