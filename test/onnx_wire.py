# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX messages byte by byte, so that they can be wrong in any way."""
import struct

FLOAT, UINT8, INT64, STRING, BOOL, UINT32, UINT64 = 1, 2, 7, 8, 9, 12, 13


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at):
    """The number at `at` and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def key(field, wire):
    return varint(field << 3 | wire)


def num(field, value):
    return key(field, 0) + varint(value)


def sub(field, *parts):
    body = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return key(field, 2) + varint(len(body)) + body


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def longs(*values):
    return struct.pack("<%dq" % len(values), *values)


# AttributeProto, as a field of a node
def attr(name, kind, *value):
    return sub(5, sub(1, name), *value, num(20, kind))


def a_int(name, v):
    return attr(name, 2, num(3, v))


def a_float(name, v):
    return attr(name, 1, key(2, 5), struct.pack("<f", v))


def a_text(name, v):
    return attr(name, 3, sub(4, v))


def a_ints(name, *v):
    return attr(name, 7, *(num(8, x) for x in v))


def a_tensor(name, t):
    return attr(name, 4, sub(5, t))


def a_graph(name, g):
    return attr(name, 5, sub(6, g))


def node(op, ins, outs, *attrs, domain=""):
    return b"".join(
        [sub(1, i) for i in ins] + [sub(2, o) for o in outs] + [sub(4, op), *attrs]
        + ([sub(7, domain)] if domain else []))


def tensor(name, dtype, dims, raw=None, *more):
    return b"".join([num(1, d) for d in dims] + [num(2, dtype)]
                    + ([sub(8, name)] if name is not None else [])
                    + ([sub(9, raw)] if raw is not None else []) + list(more))


def external(location, offset=None, length=None, *more):
    pairs = [("location", location)] if location is not None else []
    if offset is not None:
        pairs.append(("offset", str(offset)))
    if length is not None:
        pairs.append(("length", str(length)))
    return b"".join(sub(13, sub(1, k), sub(2, v)) for k, v in [*pairs, *more]) + num(14, 1)


def tensor_type(dtype, dims):
    shape = b"".join(sub(1, b"" if d is None else sub(2, d) if isinstance(d, str) else num(1, d))
                     for d in dims)
    return sub(1, num(1, dtype), sub(2, shape))


def value(name, dtype=FLOAT, dims=(1,)):
    return sub(1, name) + sub(2, tensor_type(dtype, dims))


def graph(nodes=(), inits=(), ins=(), outs=(), *more, name="g", infos=()):
    return b"".join([sub(1, n) for n in nodes] + ([sub(2, name)] if name is not None else [])
                    + [sub(5, t) for t in inits] + [sub(11, v) for v in ins]
                    + [sub(12, v) for v in outs] + [sub(13, v) for v in infos] + list(more))


def model(g, *more, ir=8, opsets=(("", 17),)):
    imports = [sub(8, *([sub(1, d)] if d else []), num(2, v)) for d, v in opsets]
    return b"".join([num(1, ir), sub(7, g), *imports, *more])


def function(name, ins, outs, nodes, domain="d", opsets=(("", 17), ("d", 1))):
    return sub(25, sub(1, name), *[sub(4, i) for i in ins], *[sub(5, o) for o in outs],
               *[sub(7, n) for n in nodes],
               *[sub(9, *([sub(1, d)] if d else []), num(2, v)) for d, v in opsets],
               sub(10, domain))
