# SPDX-License-Identifier: Apache-2.0
"""Changes of `mutants` below the messages: fields, tags and text as no exporter writes them."""
from families import pick
from mutants_scopes import named, rename_in
from mutate import change, plain
from onnx_wire import varint
from tree import FIELDS, Message, graphs

SCALARS = {"Model": ("ir_version", "version"), "Opset": ("version",), "Tensor": ("data_type",), "TensorType": ("elem_type",),
           "Dim": ("value",), "Attribute": ("type", "i")}


def messages(m):
    yield m
    for _, value in m.fields:
        if isinstance(value, Message):
            yield from messages(value)


def some(m, rng):
    return rng.choice(list(messages(m)))


def insert(m, rng, data):
    m.fields.insert(rng.randrange(len(m.fields) + 1), [None, data])


def payload(wire, rng):
    if wire == 2:
        n = rng.randrange(4)
        return varint(n) + bytes(rng.randrange(256) for _ in range(n))
    return {0: varint(rng.choice([0, 1, 300, 2**40])), 1: b"\x01" * 8, 5: b"\x02" * 4}[wire]


def group(number, rng, depth):
    inside = b""
    for _ in range(rng.randrange(3)):
        wire = rng.choice([0, 1, 2, 5])
        inside += varint(rng.randrange(1, 40) << 3 | wire) + payload(wire, rng)
    if depth and rng.random() < 0.5:
        inside += group(rng.randrange(1, 40), rng, depth - 1)
    return varint(number << 3 | 3) + inside + varint(number << 3 | 4)


def known(m, rng, child):
    """(number, message of its value) of a field that messages of this kind may have."""
    return pick(rng, [(n, c) for n, c in FIELDS[m.kind].values() if bool(c) == child])


# --- forms that readers merge or ignore ---

@change
def split_message(m, rng):
    """The message of a field that is there once, in two fields."""
    places = []
    for at in messages(m):
        once = [i for i, (n, v) in enumerate(at.fields) if isinstance(v, Message) and len(v.fields) > 1 and
                sum(x == n for x, _ in at.fields) == 1]
        # A list of one element would become one of two.
        once = [i for i in once if (at.kind, at.fields[i][0]) in (
            ("Model", 7), ("Value", 2), ("Type", 1), ("Type", 4), ("Type", 9), ("TensorType", 2), ("Attribute", 5), ("Attribute", 6))]
        places += [(at, i) for i in once]
    place = pick(rng, places)
    if place:
        at, i = place
        number, whole = at.fields[i]
        cut = rng.randrange(1, len(whole.fields))
        rest = Message(whole.kind)
        rest.fields, whole.fields = whole.fields[cut:], whole.fields[:cut]
        at.fields.insert(rng.randrange(i + 1, len(at.fields) + 1), [number, rest])
    return place


@change
def spare_group(m, rng):
    at = some(m, rng)
    number = rng.choice([rng.randrange(1, 30), rng.randrange(1000, 2000), 2**29 - 1])
    insert(at, rng, group(number, rng, 3))
    return at


@change
def spare_field(m, rng):
    at, wire = some(m, rng), rng.choice([0, 1, 2, 5])
    number = rng.choice([rng.randrange(100, 130), rng.randrange(1000, 2000), 2**29 - 1])
    insert(at, rng, varint(number << 3 | wire) + payload(wire, rng))
    return at


@change
def wrong_wire(m, rng):
    """One more field of a known number, of another wire type than its own."""
    at = some(m, rng)
    number, _ = known(at, rng, True) or (None, None)
    wire = rng.choice([0, 1, 5])
    if number and rng.random() < 0.5:
        insert(at, rng, varint(number << 3 | wire) + payload(wire, rng))
        return at
    texts = [FIELDS[at.kind][n][0] for n in ("name", "op_type", "domain", "doc", "key", "value") if n in FIELDS[at.kind] and
             at.kind not in ("Dim",)]
    if not texts:
        return None
    insert(at, rng, varint(rng.choice(texts) << 3 | wire) + payload(wire, rng))
    return at


@change
def odd_name(m, rng):
    """A value gets a name that is not UTF-8, or has a NUL byte."""
    g = pick(rng, [g for g in plain(m) if named(g)])
    if not g:
        return None
    old = rng.choice(named(g))
    ends = [v.text("name") for f in ("input", "output") for v in g.all(f)]
    if old in ends and rng.random() < 0.7:
        return None
    new = old[:len(old) // 2] + rng.choice(["\0", "\udcff", "\udcc3(", "\udced\udca0\udc80", "\udcc0\udc80"]) + old[len(old) // 2:]
    for part in graphs(m):
        if part.kind == "Graph":
            rename_in(part, old, new)
    return old


@change
def odd_text(m, rng):
    places = [(at, f) for at in messages(m) for f in ("doc", "producer", "domain", "name", "op_type", "param", "key")
              if f in FIELDS[at.kind] and (f != "domain" or at.kind == "Model") and
              (f != "name" or at.kind in ("Node", "Graph")) and (f != "op_type" or rng.random() < 0.05)]
    place = pick(rng, places)
    if place:
        place[0].put(place[1], place[0].text(place[1]) + rng.choice(["\0x", "\udcfe", "\udce2\udc82"]))
    return place


# --- numbers ---

@change
def scalar_twice(m, rng):
    """A number that is there once, twice: the last one counts."""
    at = pick(rng, [x for x in messages(m) if any(x.one(f) is not None for f in SCALARS.get(x.kind, ()))])
    if at:
        field = rng.choice([f for f in SCALARS[at.kind] if at.one(f) is not None])
        at.fields.insert(0, [FIELDS[at.kind][field][0], rng.choice([0, 1, 7, -1])])
    return at


@change
def scalar_long(m, rng):
    """A number in more bytes than it needs, or with bits above those of its type."""
    at = pick(rng, [x for x in messages(m) if any(x.one(f) is not None for f in SCALARS.get(x.kind, ()))])
    if at:
        field = rng.choice([f for f in SCALARS[at.kind] if at.one(f) is not None])
        number, value = FIELDS[at.kind][field][0], at.one(field)
        short = varint(value)
        data = bytes(b | 128 for b in short) + b"\x80" * rng.randrange(10 - len(short)) + b"\0" if len(short) < 9 else short
        if field in ("data_type", "elem_type") and rng.random() < 0.4:
            data = varint(value + rng.choice([2**32, -2**32, 2**40]))
        at.drop(field)
        insert(at, rng, varint(number << 3) + data)
    return at


@change
def kind_unknown(m, rng):
    """An attribute of a kind that does not exist: readers of a closed enumeration ignore it."""
    a = pick(rng, [a for a in messages(m) if a.kind == "Attribute"])
    if a:
        a.put("type", rng.choice([15, 99, -1, 2**31]))
    return a


@change
def members(m, rng):
    """Two members of a type or dimension, of which the last counts."""
    at = pick(rng, [x for x in messages(m) if x.kind in ("Type", "Dim") and x.fields])
    if at and at.kind == "Dim":
        at.fields.insert(rng.randrange(len(at.fields) + 1), rng.choice([[1, 3], [2, b"N"]]))
    elif at:
        other = Message("Wrapped", elem_type=Message("Type", tensor_type=Message("TensorType", elem_type=1)))
        at.fields.insert(rng.randrange(len(at.fields) + 1), [rng.choice([4, 9]), other])
    return at


# --- damage ---

@change
def damaged(m, rng):
    at = some(m, rng) if rng.random() < 0.2 else m
    insert(at, rng, rng.choice([b"\0\1", varint(5 << 3 | 4), varint(900 << 3 | 3), varint(900 << 3 | 6), varint(900 << 3 | 7),
                                varint(900 << 3 | 2) + varint(10**6), varint(900 << 3) + b"\xff" * 10 + b"\1",
                                b"\x80" * 5 + b"\1", varint(900 << 3 | 5) + b"\0"]))
    return at
