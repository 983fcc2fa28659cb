# SPDX-License-Identifier: Apache-2.0
"""The ways in which models are broken. A function named after its family edits a valid model into a
broken one and returns what it did, or None where the model has no place for it. The valid model is the
only reading of the result, unless CONSENT names what the reader has to agree to."""
import struct

from tree import Message, attribute, graphs, make_value, nodes, tensor_shape

FLOAT, UINT8, INT8, INT32, INT64, BOOL, DOUBLE = 1, 2, 3, 6, 7, 9, 11
A_FLOAT, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS = 1, 2, 3, 4, 5, 6, 7
STANDARD = ("", "ai.onnx")

FAMILIES, CONSENT = {}, {}


def family(consent=None):
    def enter(fn):
        name = fn.__name__.replace("_", "-")
        FAMILIES[name] = fn
        if consent:
            CONSENT[name] = consent
        return fn
    return enter


# --- what mutators look for ---

def default_import(m):
    return next(o for o in m.all("opset_import") if o.text("domain") in STANDARD)


def opset(m):
    return default_import(m).one("version")


def initializers(m):
    return [(g, t) for g in graphs(m) if g.kind == "Graph" for t in g.all("initializer")]


def names_read(g):
    """Every name that g or a graph inside it reads."""
    todo, found = [g], set()
    while todo:
        h = todo.pop()
        found |= {o.text("name") for o in h.all("output")} if h.kind == "Graph" else set(h.texts("output"))
        for n in h.all("node"):
            found |= set(n.texts("input"))
            todo += [a.one("g") for a in n.all("attribute") if a.one("g")]
    return found


def all_names(m):
    found = set()
    for g in graphs(m):
        found |= names_read(g)
        for n in g.all("node"):
            found |= set(n.texts("output"))
        if g.kind == "Graph":
            found |= {t.text("name") for t in g.all("initializer")} | {v.text("name") for v in g.all("input")}
    return found


def rename(g, old, new):
    """Renames a value everywhere in g and inside it."""
    todo = [g]
    while todo:
        h = todo.pop()
        for n in h.all("node"):
            for field in ("input", "output"):
                n.put(field, *[new if x == old else x for x in n.texts(field)]) if n.all(field) else None
            todo += [a.one("g") for a in n.all("attribute") if a.one("g")]
        for field in ("initializer", "value_info", "output", "input") if h.kind == "Graph" else ():
            for v in h.all(field):
                if v.text("name") == old:
                    v.put("name", new)


def pick(rng, items):
    items = list(items)
    return rng.choice(items) if items else None


def constant_of(m, name):
    """(initializer or the tensor of a Constant) of that name, or None."""
    for g in graphs(m):
        for t in g.all("initializer") if g.kind == "Graph" else ():
            if t.text("name") == name:
                return t
        for n in g.all("node"):
            if n.text("op_type") == "Constant" and name in n.texts("output"):
                a = attribute(n, "value")
                return a.one("t") if a else None
    return None


def uses_of(m, name):
    return sum(n.texts("input").count(name) for n in nodes(m)) + sum(
        v.text("name") == name for g in graphs(m) if g.kind == "Graph" for v in g.all("output"))


CODES = {FLOAT: "f", UINT8: "B", INT8: "b", INT32: "i", INT64: "q", BOOL: "B", DOUBLE: "d"}


def elements(t):
    """The elements of a dense tensor in the file, or None."""
    code, raw = CODES.get(t.one("data_type")), t.one("raw_data")
    if not code or t.all("external_data"):
        return None
    if raw is not None:
        return list(struct.unpack("<%d%s" % (len(raw) // struct.calcsize(code), code), raw))
    field = {FLOAT: "float_data", INT64: "int64_data"}.get(t.one("data_type"), "int32_data")
    return t.all(field) if t.one("data_type") != DOUBLE else None


def make_raw(t, values=None):
    """Stores the elements as raw_data."""
    values = elements(t) if values is None else values
    raw = struct.pack("<%d%s" % (len(values), CODES[t.one("data_type")]), *values)
    for field in ("float_data", "int32_data", "int64_data"):
        t.drop(field)
    return t.put("raw_data", raw)


# --- versions ---

@family()
def ir_missing(m, rng):
    m.drop("ir_version")
    return "no ir_version"


@family()
def ir_zero(m, rng):
    m.put("ir_version", rng.choice([0, -1]))
    return "ir_version 0"


@family()
def opset_missing(m, rng):
    keep = [o for o in m.all("opset_import") if o.text("domain") not in STANDARD]
    m.put("opset_import", *keep) if keep else m.drop("opset_import")
    return "no import of the default domain"


@family()
def opset_twice(m, rng):
    was = default_import(m)
    other = Message("Opset", domain="", version=max(1, was.one("version") - rng.choice([0, 1, 2])))
    m.put("opset_import", *rng.choice([[was, other], [other, was]]),
          *[o for o in m.all("opset_import") if o is not was])
    return "imports version %d, too" % other.one("version")


# The opset that one operator came with, and the last below in which all others of that model mean the same.
NEWER = {"LayerNormalization": 16, "HardSwish": 13, "Mish": 17}


@family()
def opset_old(m, rng):
    old = [NEWER[n.text("op_type")] for n in nodes(m) if n.text("op_type") in NEWER]
    if not old:
        return None
    default_import(m).put("version", min(old))
    return "opset %d is older than a node" % min(old)


@family()
def long_domain(m, rng):
    was = default_import(m)
    kind = rng.randrange(3)
    if kind == 0:
        m.add("opset_import", Message("Opset", domain="ai.onnx", version=was.one("version")))
    elif kind == 1:
        m.add("opset_import", Message("Opset", domain="ai.onnx", version=max(1, was.one("version") - 1)))
    todo = [n for n in nodes(m) if not n.text("domain")]
    for n in todo if kind == 2 else [pick(rng, todo)]:
        n.put("domain", "ai.onnx")
    return "ai.onnx beside the empty domain, %d" % kind


# --- order and names ---

@family()
def unsorted(m, rng):
    g = pick(rng, [g for g in graphs(m) if len(g.all("node")) > 1])
    if not g:
        return None
    order = g.all("node")
    g.put("node", *reversed(order)) if rng.random() < 0.5 else g.put("node", *rng.sample(order, len(order)))
    return "nodes in another order"


@family()
def node_names(m, rng):
    todo = nodes(m)
    for n in todo:
        n.put("name", "node")
    return "%d nodes of one name" % len(todo) if len(todo) > 1 else None


@family()
def value_twice(m, rng):
    """A later value takes the name of one that nothing after it reads."""
    places = []
    for g in graphs(m):
        order = g.all("node")
        if g.kind != "Graph":
            continue
        outs = {o.text("name") for o in g.all("output")}
        for i, a in enumerate(order):
            for old in [x for x in a.texts("output") if x and x not in outs]:
                readers = [k for k, n in enumerate(order) if old in set(n.texts("input")) | {
                    x for s in n.all("attribute") if s.one("g") for x in names_read(s.one("g"))}]
                for later in order[max(readers + [i]) + (0 if readers else 1):] if readers else ():
                    places += [(g, old, x) for x in later.texts("output")
                               if x and x != old and x in names_read(g) and x not in outs]
    found = pick(rng, places)
    if not found:
        return None
    g, old, new = found
    if any(v.text("name") in (old, new) for v in g.all("value_info")):
        g.put("value_info", *[v for v in g.all("value_info") if v.text("name") not in (old, new)])
    rename(g, new, old)
    return "%s is called %s, too" % (new, old)


@family()
def node_twice(m, rng):
    g = pick(rng, [g for g in graphs(m) if any(not any(a.one("g") for a in n.all("attribute")) for n in g.all("node"))])
    order = g.all("node")
    i = rng.choice([i for i, n in enumerate(order) if not any(a.one("g") for a in n.all("attribute"))])
    g.put("node", *order[:i + 1], order[i].copy(), *order[i + 1:])
    return "a node is there twice"


@family()
def initializer_twice(m, rng):
    found = pick(rng, initializers(m))
    if not found:
        return None
    found[0].add("initializer", found[1].copy())
    return "an initializer is there twice"


@family()
def hidden_name(m, rng):
    """A value of a branch takes the name of one around it."""
    places = []
    for g in graphs(m):
        for n in g.all("node"):
            for a in n.all("attribute"):
                inner = a.one("g")
                for k in inner.all("node") if inner else ():
                    outer = {x for before in g.all("node")[:g.all("node").index(n)] for x in before.texts("output")}
                    outer -= names_read(inner)
                    places += [(inner, x, y) for x in k.texts("output") for y in sorted(outer) if x and y]
    found = pick(rng, places)
    if not found:
        return None
    rename(*found)
    return "%s of a body is called %s" % found[1:]


@family()
def branch_inputs(m, rng):
    """A branch of If lists what it captures as its inputs."""
    done = 0
    for n in nodes(m):
        if n.text("op_type") != "If":
            continue
        for a in n.all("attribute"):
            g = a.one("g")
            own = {x for k in g.all("node") for x in k.texts("output")} | {t.text("name") for t in g.all("initializer")}
            captured = sorted({x for k in g.all("node") for x in k.texts("input")} - own)
            for x in captured:
                g.add("input", make_value(x, FLOAT, [2]) if done == 1 else Message("Value", name=x))
            done += bool(captured)
    return "branches with inputs" if done else None


@family()
def no_names(m, rng):
    if rng.random() < 0.5:
        m.one("graph").put("name", "")
    else:
        for g in graphs(m):
            g.put("name", "") if g.kind == "Graph" else None
    if rng.random() < 0.5:
        m.one("graph").add("value_info", make_value("", FLOAT, [1]))
    return "graphs without a name"


@family()
def unnamed_output(m, rng):
    """An output that the operator always gives, unread, without a name."""
    read = set().union(*[names_read(g) for g in graphs(m)])
    places = [(n, i) for n in nodes(m) for i, x in enumerate(n.texts("output"))
              if x and x not in read and i == 0 and n.text("op_type") in ("TopK", "Neg", "Split")]
    found = pick(rng, places)
    if not found:
        return None
    outs = found[0].texts("output")
    found[0].put("output", *[("" if i == found[1] else x) for i, x in enumerate(outs)])
    return "an output without a name"


@family()
def trailing_empty(m, rng):
    n = pick(rng, [n for n in nodes(m) if n.all("input") and not n.text("domain")])
    if not n:
        return None
    for _ in range(rng.randint(1, 2)):
        n.add("input", "")
    return "%s has empty inputs at its end" % n.text("op_type")


# --- attributes ---

@family()
def attribute_untyped(m, rng):
    todo = [a for n in nodes(m) for a in n.all("attribute") if not a.text("ref")]
    some = todo if rng.random() < 0.5 else rng.sample(todo, min(1, len(todo)))
    for a in some:
        a.drop("type")
    return "%d attributes without type" % len(some) if some else None


@family()
def attribute_kind(m, rng):
    places = []
    for n in nodes(m):
        for a in n.all("attribute"):
            kind = a.one("type")
            if kind == A_FLOAT and a.one("f") is not None and a.one("f") == int(a.one("f")):
                places.append((a, "int for a float", "f", A_INT, "i", [int(a.one("f"))]))
            if kind == A_INT and not a.text("ref"):
                places.append((a, "float for an int", "i", A_FLOAT, "f", [float(a.one("i") or 0)]))
                places.append((a, "ints for an int", "i", A_INTS, "ints", [a.one("i") or 0]))
            if kind == A_INTS and a.all("ints"):
                places.append((a, "floats for ints", "ints", A_FLOATS, "floats", [float(i) for i in a.all("ints")]))
            if kind == A_INTS and len(a.all("ints")) == 1:
                places.append((a, "int for ints", "ints", A_INT, "i", a.all("ints")))
    found = pick(rng, places)
    if not found:
        return None
    a, what, was, kind, field, values = found
    a.drop(was)
    for v in values:
        a.add(field, v)
    a.put("type", kind)
    return "%s: %s" % (a.text("name"), what)


@family()
def attribute_fields(m, rng):
    a = pick(rng, [a for n in nodes(m) for a in n.all("attribute") if a.one("type") in (A_FLOAT, A_INT, A_INTS, A_STRING)
                   and not a.text("ref")])
    if not a:
        return None
    other = pick(rng, [x for x in (("f", 0.5), ("i", 7), ("s", "no")) if not a.all(x[0])])
    a.add(*other)
    return "%s has a value of another kind, too" % a.text("name")


@family()
def constant_value(m, rng):
    places = []
    for n in nodes(m):
        a = attribute(n, "value")
        t = a and a.one("t")
        if n.text("op_type") != "ConstantOfShape" or not t:
            continue
        values = elements(t)
        places += [(a, "scalar"), (a, "number")] if values else []
    found = pick(rng, places)
    if not found:
        return None
    a, how = found
    t = a.one("t")
    if how == "scalar":
        t.drop("dims")
        return "the value of ConstantOfShape is a scalar"
    value = elements(t)[0]
    a.drop("t").put("type", A_FLOAT if t.one("data_type") == FLOAT else A_INT)
    a.add("f" if t.one("data_type") == FLOAT else "i", value)
    return "the value of ConstantOfShape is a number"


# --- tensors ---

@family()
def raw_long(m, rng):
    t = pick(rng, [t for _, t in initializers(m) if elements(t)])
    if not t:
        return None
    make_raw(t).put("raw_data", t.one("raw_data") + bytes(rng.choice([1, 4, 64])))
    return "raw_data of %s is too long" % t.text("name")


@family()
def raw_wide(m, rng):
    t = pick(rng, [t for _, t in initializers(m) if t.one("data_type") in (BOOL, INT8, UINT8) and elements(t)])
    if not t:
        return None
    values = elements(t)
    t.drop("int32_data").put("raw_data", struct.pack("<%d%s" % (len(values), rng.choice("iq")), *values))
    return "%s is stored wider" % t.text("name")


@family()
def typed_and_raw(m, rng):
    t = pick(rng, [t for _, t in initializers(m) if t.one("data_type") in (FLOAT, INT64) and elements(t)])
    if not t:
        return None
    values, field = elements(t), "float_data" if t.one("data_type") == FLOAT else "int64_data"
    make_raw(t)
    if len(values) > 1 and rng.random() < 0.5:
        values = values[:-1]
    for v in values:
        t.add(field, v)
    return "%s has raw_data and %s" % (t.text("name"), field)


@family()
def input_disagrees(m, rng):
    g = m.one("graph")
    inputs = {v.text("name"): v for v in g.all("input")}
    t = pick(rng, [t for t in g.all("initializer") if t.all("dims")])
    if not t:
        return None
    dims, elem = t.all("dims"), t.one("data_type")
    if rng.random() < 0.3:
        elem = DOUBLE if elem == FLOAT else FLOAT
    else:
        dims = rng.choice([[d + 1 for d in dims], dims + [1]])
    v = make_value(t.text("name"), elem, dims)
    if t.text("name") in inputs:
        inputs[t.text("name")].put("type", v.one("type"))
    else:
        g.add("input", v)
    return "the input of initializer %s is declared otherwise" % t.text("name")


# --- declared types ---

@family()
def declared_wrong(m, rng):
    g = m.one("graph")
    places = [v for v in g.all("value_info") + g.all("output") if tensor_shape(v)[1] is not None]
    names = {v.text("name") for v in places} | {v.text("name") for v in g.all("input")}
    made = [x for n in g.all("node") for x in n.texts("output") if x and x not in names]
    if made and rng.random() < 0.4:
        v = make_value(rng.choice(made), rng.choice([FLOAT, INT64, BOOL]), [7, 7, 7, 7, 7])
        g.add("value_info", v)
        return "value_info of %s is wrong" % v.text("name")
    v = pick(rng, places)
    if not v:
        return None
    elem, dims = tensor_shape(v)
    how = rng.randrange(3)
    if how == 0:
        dims = dims + [1]
    elif how == 1:
        dims = [d + 3 if isinstance(d, int) else d for d in dims] or [1]
    else:
        elem = INT64 if elem != INT64 else FLOAT
    v.put("type", make_value("", elem, dims).one("type"))
    return "%s is declared otherwise, %d" % (v.text("name"), how)


# --- scalars and tensors of one element ---

ONE = {"TopK": [1], "Unsqueeze": [1], "Squeeze": [1], "Slice": [1, 2, 3, 4], "Concat": [0, 1]}
SCALAR = {"Range": [0, 1, 2], "Clip": [1, 2], "Loop": [0, 1], "Pad": [2], "QuantizeLinear": [1, 2]}


@family()
def one_or_scalar(m, rng):
    places = []
    for n in nodes(m):
        ins = n.texts("input")
        for table, dims in ((ONE, []), (SCALAR, [1])):
            for i in table.get(n.text("op_type"), ()):
                t = constant_of(m, ins[i]) if i < len(ins) and ins[i] else None
                if t and t.all("dims") == ([1] if not dims else []):
                    places.append((n, i, t, dims))
    found = pick(rng, places)
    if not found:
        return None
    n, i, t, dims = found
    if uses_of(m, n.texts("input")[i]) > 1:
        t = t.copy()
        t.put("name", n.texts("input")[i] + "_other")
        n.put("input", *[t.text("name") if k == i else x for k, x in enumerate(n.texts("input"))])
        m.one("graph").add("initializer", t)
    t.put("dims", *dims) if dims else t.drop("dims")
    return "input %d of %s is %s" % (i, n.text("op_type"), "a scalar" if not dims else "no scalar")


# --- by consent ---

@family("approx")
def types_meet(m, rng):
    """A constant of another type than what it meets."""
    places = []
    for n in nodes(m):
        if n.text("op_type") not in ("Add", "Mul", "Sub", "Div", "Where", "Greater"):
            continue
        for x in n.texts("input"):
            t = constant_of(m, x)
            if t and t.one("data_type") == FLOAT and uses_of(m, x) == 1 and not t.all("external_data"):
                places.append((t, x))
    found = pick(rng, places)
    if not found:
        return None
    t = found[0]
    values = elements(t)
    if all(v == int(v) for v in values) and rng.random() < 0.5:
        t.put("data_type", INT64)
        make_raw(t, [int(v) for v in values])
    else:
        t.put("data_type", DOUBLE)
        make_raw(t, values)
    return "%s is of another type" % found[1]


@family("interface")
def output_nobody_makes(m, rng):
    m.one("graph").add("output", make_value("nobody_makes_this", FLOAT, [2]))
    return "an output that nothing makes"


@family("interface")
def input_nobody_defines(m, rng):
    g = m.one("graph")
    v = pick(rng, [v for v in g.all("input") if v.text("name") in names_read(g) and
                   v.text("name") not in {t.text("name") for t in g.all("initializer")}])
    g.put("input", *[x for x in g.all("input") if x is not v]) if len(g.all("input")) > 1 else g.drop("input")
    known = [n for n in g.all("node") if v.text("name") in n.texts("input") and n.text("op_type") in ("MatMul", "Conv")]
    if not known or rng.random() < 0.5:
        g.add("value_info", v)
    return "input %s is not declared" % v.text("name")


@family("approx")
def attribute_missing(m, rng):
    places = []
    for g in graphs(m):
        if g.kind != "Graph":
            continue
        types = {v.text("name"): tensor_shape(v)[0] for v in g.all("value_info") + g.all("output")}
        for n in g.all("node"):
            if n.text("op_type") == "Cast" and types.get(n.texts("output")[0]):
                places.append((n, "to"))
            if n.text("op_type") == "Concat" and attribute(n, "axis").one("i") in (0, None):
                places.append((n, "axis"))
    found = pick(rng, places)
    if not found:
        return None
    n, name = found
    keep = [a for a in n.all("attribute") if a.text("name") != name]
    n.put("attribute", *keep) if keep else n.drop("attribute")
    return "%s without %s" % (n.text("op_type"), name)


@family()
def domain_missing(m, rng):
    """The import of a domain whose operators or functions are used."""
    used = {n.text("domain") for n in nodes(m)}
    found = pick(rng, [o for o in m.all("opset_import") if o.text("domain") in used - {"", "ai.onnx"}])
    if not found:
        return None
    m.put("opset_import", *[o for o in m.all("opset_import") if o is not found])
    return "%s is not imported" % found.text("domain")


@family("approx")
def ranks_differ(m, rng):
    """A constant of Concat that lacks dimensions of one, or has one too many."""
    places = []
    for n in nodes(m):
        if n.text("op_type") not in ("Concat", "Gemm"):
            continue
        for i, x in enumerate(n.texts("input")[:2]):
            t = constant_of(m, x)
            if t and uses_of(m, x) == 1 and t.all("dims") and (n.text("op_type") != "Concat" or i == 1):
                places.append((t, x))
    found = pick(rng, places)
    if not found:
        return None
    t = found[0]
    t.put("dims", 1, *t.all("dims"))
    return "%s has a dimension of one too many" % found[1]


# --- descriptions and versions ---

@family()
def info_twice(m, rng):
    """value_info describes a value twice, and one of the two is wrong."""
    g = m.one("graph")
    of_info = [v for v in g.all("value_info") if tensor_shape(v)[1] is not None]
    v = pick(rng, of_info)
    if not v:
        return None
    elem, dims = tensor_shape(v)
    twice = make_value(v.text("name"), INT64 if elem != INT64 else FLOAT, dims)
    rest = [x for x in g.all("value_info") if x is not v]
    g.put("value_info", *(rest + rng.choice([[v, twice], [twice, v]])))
    return "%s is described twice" % v.text("name")


@family()
def output_info(m, rng):
    """value_info gives an output another type than the output itself."""
    g = m.one("graph")
    v = pick(rng, [v for v in g.all("output") if tensor_shape(v)[1] is not None])
    if not v:
        return None
    elem, dims = tensor_shape(v)
    g.add("value_info", make_value(v.text("name"), DOUBLE if elem != DOUBLE else FLOAT, dims))
    return "%s is described otherwise" % v.text("name")


@family()
def output_untyped(m, rng):
    v = pick(rng, m.one("graph").all("output"))
    v.drop("type")
    return "output %s has no type" % v.text("name")


@family()
def nameless_weight(m, rng):
    found = pick(rng, initializers(m))
    if not found:
        return None
    t = found[1].copy()
    t.put("name", "")
    found[0].add("initializer", t)
    return "an initializer without a name"


@family()
def idle_node(m, rng):
    g = pick(rng, graphs(m))
    order = g.all("node")
    at = rng.randint(0, len(order))
    g.put("node", *order[:at], Message("Node", op_type="Identity"), *order[at:])
    return "a node without inputs and outputs"


@family()
def ir_low(m, rng):
    """An IR version that requires weights among the inputs."""
    if m.one("ir_version") != 4 or not m.one("graph").all("initializer"):
        return None
    m.put("ir_version", 3)
    return "IR version 3"


@family()
def opset_new(m, rng):
    """The import is newer than a node, whose form or attributes it no longer has."""
    forms = {"Upsample": 10, "ReduceSum": 13, "Unsqueeze": 13, "Squeeze": 13, "Split": 13, "Clip": 11}
    now = opset(m)
    gone = [forms[n.text("op_type")] for n in nodes(m) if n.text("op_type") in forms and n.all("attribute") and
            now < forms[n.text("op_type")]]
    # Only where the nodes mean the same in all versions between.
    if not gone or {n.text("op_type") for n in nodes(m)} & {"Softmax", "BatchNormalization", "Dropout", "Flatten"}:
        return None
    default_import(m).put("version", max(gone))
    return "opset %d is imported as %d" % (now, max(gone))


@family("approx")
def attribute_made_up(m, rng):
    n = pick(rng, [n for n in nodes(m) if not n.text("domain") and n.text("op_type") != "LayerNormalization"])
    if not n:
        return None
    n.add("attribute", Message("Attribute", name="made_up", type=A_INT, i=1))
    return "%s has an attribute that no version has" % n.text("op_type")


@family("approx")
def attribute_two_values(m, rng):
    """An attribute with two values, of which runtimes read the last."""
    places = [(n, a) for n in nodes(m) for a in n.all("attribute") if a.one("type") == A_INT and not a.text("ref")]
    found = pick(rng, places)
    if not found:
        return None
    n, a = found
    other = a.copy()
    other.put("i", (a.one("i") or 0) + 1)
    n.put("attribute", other, *n.all("attribute"))
    return "%s of %s has two values" % (a.text("name"), n.text("op_type"))


@family("approx")
def function_unnamed(m, rng):
    """A call without the domain of its function."""
    calls = [n for n in m.one("graph").all("node") if n.text("domain") == "my"]
    n = pick(rng, calls)
    if not n:
        return None
    n.drop("domain")
    return "%s without its domain" % n.text("op_type")


@family()
def training_import(m, rng):
    m.add("opset_import", Message("Opset", domain=rng.choice(["ai.onnx.training", "ai.onnx.preview.training"]),
                                  version=1))
    return "imports operators of training"


# Defects that leave no single reading where they meet.
CLASH = [{"unsorted", "value-twice"}, {"unsorted", "node-twice"}, {"opset-missing", "opset-old"}, {"opset-missing", "opset-twice"},
         {"opset-missing", "long-domain"}, {"opset-old", "opset-twice"}, {"opset-old", "long-domain"}, {"ir-missing", "ir-zero"},
         {"opset-missing", "ir-missing"}, {"opset-missing", "ir-zero"}, {"node-twice", "value-twice"},
         {"opset-twice", "long-domain"}, {"input-nobody-defines", "types-meet"},
         {"input-nobody-defines", "attribute-missing"}, {"declared-wrong", "attribute-missing"},
         {"declared-wrong", "input-nobody-defines"}, {"raw-long", "typed-and-raw"}, {"raw-wide", "raw-long"},
         {"raw-long", "types-meet"}, {"typed-and-raw", "types-meet"}, {"ranks-differ", "one-or-scalar"},
         {"hidden-name", "value-twice"}, {"hidden-name", "unsorted"}, {"branch-inputs", "hidden-name"},
         {"initializer-twice", "raw-long"}, {"initializer-twice", "raw-wide"}, {"initializer-twice", "typed-and-raw"},
         {"initializer-twice", "one-or-scalar"}, {"initializer-twice", "types-meet"},
         {"initializer-twice", "ranks-differ"}, {"input-disagrees", "types-meet"}, {"input-disagrees", "one-or-scalar"},
         {"input-disagrees", "ranks-differ"}, {"unnamed-output", "trailing-empty"}, {"attribute-untyped", "attribute-fields"},
         {"opset-new", "opset-missing"}, {"opset-new", "opset-old"}, {"opset-new", "opset-twice"},
         {"opset-new", "long-domain"}, {"ir-low", "ir-missing"}, {"ir-low", "ir-zero"}, {"ir-low", "opset-missing"},
         {"output-untyped", "attribute-missing"}, {"output-untyped", "input-nobody-defines"},
         {"output-untyped", "declared-wrong"}, {"attribute-two-values", "attribute-kind"},
         {"attribute-two-values", "attribute-fields"}, {"attribute-two-values", "attribute-untyped"},
         {"nameless-weight", "input-disagrees"},
         {"info-twice", "input-nobody-defines"}, {"value-twice", "branch-inputs"},
         {"attribute-two-values", "attribute-missing"}, {"function-unnamed", "domain-missing"}]
