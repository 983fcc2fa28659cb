# SPDX-License-Identifier: Apache-2.0
"""Evaluates nodes on constants: movements of data exactly for every type, arithmetic on integers and
booleans, and the float operations that IEEE 754 defines (sums, products, quotients, roots), rounded
once. What is left out is counted by the caller as not recomputed."""
import math
import struct

from proto import FLOAT, FLOATS, INT, INTS as INT_LIST, STRING, TENSOR

MOST = 1 << 21  # elements of a result
CODES = {1: 'f', 2: 'B', 3: 'b', 4: 'H', 5: 'h', 6: 'i', 7: 'q', 9: 'B', 10: 'e', 11: 'd',
         12: 'I', 13: 'Q'}
INTS = {2: (0, 8), 3: (1, 8), 4: (0, 16), 5: (1, 16), 6: (1, 32), 7: (1, 64), 12: (0, 32),
        13: (0, 64)}


class Array:
    def __init__(self, dtype, dims, items):
        self.dtype, self.dims, self.items = dtype, tuple(dims), items

    def raw(self):
        if self.dtype in CODES:
            return struct.pack('<%d%s' % (len(self.items), CODES[self.dtype]), *self.items)
        return b''.join(self.items)


def array_of(t):
    """The elements of a tensor as numbers; of types without numbers here, as bytes. None: they
    cannot be read."""
    if t is None or t.strings is not None or t.sparse or t.count > MOST:
        return None
    data = t.bytes()
    if data is None or len(data) != t.size:
        return None
    if t.dtype in CODES:
        return Array(t.dtype, t.dims, list(struct.unpack('<%d%s' % (t.count, CODES[t.dtype]),
                                                         data)))
    width = {16: 2, 14: 8, 15: 16, 17: 1, 18: 1, 19: 1, 20: 1}.get(t.dtype)
    if width is None:
        return None
    return Array(t.dtype, t.dims, [data[i:i + width] for i in range(0, len(data), width)])


def float_of(digits):
    return struct.unpack('>f', bytes.fromhex(digits))[0]


def attr_value(a):
    """An attribute as a value of expressions; None: it is only copied."""
    kind, v = a
    if kind in (INT, INT_LIST):
        return v
    if kind == FLOAT:
        return float_of(v)
    if kind == FLOATS:
        return [float_of(x) for x in v]
    if kind == STRING:
        return bytes.fromhex(v).decode('utf-8', 'replace')
    a = array_of(v) if kind == TENSOR else None
    return a.items if a is not None and len(a.items) <= 4096 else None


def reader(n):
    """A function that reads attributes of a node."""
    def attr(name, default=None):
        kind, value = n.attrs.get(name, (TENSOR, default))
        if kind == 'ref':
            raise ValueError(name)
        return value if kind == TENSOR else attr_value([kind, value])
    return attr


def size_of(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def strides_of(dims):
    return [size_of(dims[k + 1:]) for k in range(len(dims))]


def places(dims, strides, offset=0):
    """The place of each element of a view, in order."""
    out = [offset]
    for d, s in zip(dims, strides):
        out = [p + k * s for p in out for k in range(d)]
    return out


def broadcast(shapes):
    rank = max(len(s) for s in shapes)
    out = []
    for k in range(rank):
        dims = {s[k - rank] for s in shapes if len(s) >= rank - k} - {1}
        if len(dims) > 1:
            return None
        out.append(dims.pop() if dims else 1)
    return tuple(out)


def spread(a, dims):
    """The elements of a, broadcast to dims."""
    if a.dims == dims:
        return a.items
    if len(a.items) == 1:
        return a.items * size_of(dims)
    own = (1,) * (len(dims) - len(a.dims)) + a.dims
    strides = [0 if d == 1 else s for d, s in zip(own, strides_of(own))]
    return [a.items[p] for p in places(dims, strides)]


def rounded(dtype, x):
    """A double as the nearest number of a float type. Sums, products, quotients and roots of
    numbers of 24 bits are rounded correctly through a double, as it has more than 2 * 24 + 2."""
    try:
        return struct.unpack(CODES[dtype], struct.pack(CODES[dtype], x))[0]
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def wrapped(dtype, x):
    if not isinstance(x, int):
        return x  # a sum of sizes (shapes.py), or not known
    sign, bits = INTS[dtype]
    x &= (1 << bits) - 1
    return x - (1 << bits) if sign and x >> (bits - 1) else x


def divide(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


FLOAT_OPS = {'Add': lambda a, b: a + b, 'Sub': lambda a, b: a - b, 'Mul': lambda a, b: a * b,
             'Div': divide}


def int_div(a, b):
    if not isinstance(a, int) or not isinstance(b, int):
        return a.over(b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INT_OPS = {'Add': lambda a, b: a + b, 'Sub': lambda a, b: a - b, 'Mul': lambda a, b: a * b,
           'Div': int_div, 'Mod': lambda a, b: a % b, 'Max': max, 'Min': min}
COMPARE = {'Equal': lambda a, b: True if a == b else a.never(b) if hasattr(a, 'never') else
           b.never(a) if hasattr(b, 'never') else False, 'Less': lambda a, b: a < b,
           'Greater': lambda a, b: a > b, 'LessOrEqual': lambda a, b: a <= b,
           'GreaterOrEqual': lambda a, b: a >= b}
LOGIC = {'And': lambda a, b: a & b, 'Or': lambda a, b: a | b, 'Xor': lambda a, b: a ^ b}


def each(f, x, y):
    """f of each pair of elements; None where one is not known."""
    return [None if p is None or q is None else f(p, q) for p, q in zip(x, y)]


def arithmetic(op, a, b):
    dims = broadcast([a.dims, b.dims])
    if dims is None or size_of(dims) > MOST or a.dtype != b.dtype:
        return None
    x, y = spread(a, dims), spread(b, dims)
    if op in COMPARE and a.dtype in CODES:
        return Array(9, dims, [None if r is None else int(r) for r in each(COMPARE[op], x, y)])
    if op in LOGIC and a.dtype == 9:
        return Array(9, dims, each(LOGIC[op], x, y))
    if a.dtype in INTS and op in INT_OPS:
        if op in ('Div', 'Mod') and 0 in y:
            return None
        return Array(a.dtype, dims, [wrapped(a.dtype, r) for r in each(INT_OPS[op], x, y)])
    if a.dtype == 1 and op in FLOAT_OPS:
        f = FLOAT_OPS[op]
        items = [f(p, q) for p, q in zip(x, y)]
        if any(i != i for i in items):
            return None  # which NaN it is depends on the processor
        try:
            return Array(1, dims, list(struct.unpack('<%df' % len(items),
                                                     struct.pack('<%df' % len(items), *items))))
        except OverflowError:
            return Array(1, dims, [rounded(1, i) for i in items])
    if a.dtype == 11 and op in FLOAT_OPS:
        items = [FLOAT_OPS[op](p, q) for p, q in zip(x, y)]
        return None if any(i != i for i in items) else Array(11, dims, items)
    return None


def unary(op, a):
    items = a.items
    if a.dtype in (1, 11) and op in ('Sqrt', 'Reciprocal', 'Neg', 'Abs', 'Floor', 'Ceil'):
        if op == 'Sqrt':
            if any(i < 0 or i != i for i in items):
                return None
            return Array(a.dtype, a.dims, [rounded(a.dtype, math.sqrt(i)) if i < math.inf else i
                                           for i in items])
        if any(i != i for i in items):
            return None
        f = {'Reciprocal': lambda i: divide(1.0, i), 'Neg': lambda i: -i, 'Abs': abs,
             'Floor': lambda i: math.copysign(math.floor(i), i) if math.isfinite(i) else i,
             'Ceil': lambda i: math.copysign(math.ceil(i), i) if math.isfinite(i) else i}[op]
        return Array(a.dtype, a.dims, [rounded(a.dtype, f(i)) for i in items])
    if a.dtype in INTS and op in ('Neg', 'Abs'):
        return Array(a.dtype, a.dims, [wrapped(a.dtype, -i if op == 'Neg' else abs(i))
                                       for i in items])
    if op == 'Not' and a.dtype == 9:
        return Array(9, a.dims, [1 - i for i in items])
    return None


def cast(a, to):
    if a.dtype == to:
        return a
    if a.dtype not in CODES or to not in CODES:
        return None
    if a.dtype in INTS and to in INTS:
        return Array(to, a.dims, [wrapped(to, i) for i in a.items])
    if any(not isinstance(i, (int, float)) for i in a.items):
        return None
    if to == 9:
        return Array(9, a.dims, [int(i != 0) for i in a.items])
    if to in INTS:
        if any(i != i or i in (math.inf, -math.inf) for i in a.items):
            return None
        whole = [int(i) for i in a.items]
        if a.dtype in (1, 10, 11):
            sign, bits = INTS[to]
            low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if sign else (0, 1 << bits)
            if any(not low <= i < high for i in whole):
                return None
        return Array(to, a.dims, [wrapped(to, i) for i in whole])
    if any(i != i for i in a.items):
        return None
    if a.dtype in INTS and any(abs(i) > 1 << 53 for i in a.items):
        return None
    return Array(to, a.dims, [rounded(to, float(i)) for i in a.items])


# --- movements of data ---


def transpose(a, perm):
    dims = tuple(a.dims[p] for p in perm)
    s = strides_of(a.dims)
    return Array(a.dtype, dims, [a.items[p] for p in places(dims, [s[p] for p in perm])])


def gather(a, i, axis):
    axis += len(a.dims) if axis < 0 else 0
    d = a.dims[axis]
    if any(not -d <= k < d for k in i.items):
        return None
    outer, inner = size_of(a.dims[:axis]), size_of(a.dims[axis + 1:])
    items = []
    for o in range(outer):
        for k in i.items:
            at = (o * d + (k + d if k < 0 else k)) * inner
            items += a.items[at:at + inner]
    return Array(a.dtype, a.dims[:axis] + i.dims + a.dims[axis + 1:], items)


def concat(arrays, axis):
    axis += len(arrays[0].dims) if axis < 0 else 0
    outer = size_of(arrays[0].dims[:axis])
    parts = [size_of(a.dims[axis:]) for a in arrays]
    items = []
    for o in range(outer):
        for a, n in zip(arrays, parts):
            items += a.items[o * n:(o + 1) * n]
    dims = list(arrays[0].dims)
    dims[axis] = sum(a.dims[axis] for a in arrays)
    return Array(arrays[0].dtype, dims, items)


def cut(a, starts, ends, axes, steps):
    from shapes import slice_of
    dims, strides, offset = list(a.dims), strides_of(a.dims), 0
    for s, e, axis, t in zip(starts, ends, axes, steps):
        axis += len(dims) if axis < 0 else 0
        r = range(a.dims[axis])[slice_of(a.dims[axis], s, e, t)]
        offset += (r.start if len(r) else 0) * strides[axis]
        dims[axis], strides[axis] = len(r), strides[axis] * t
    return Array(a.dtype, dims, [a.items[p] for p in places(dims, strides, offset)])


def reduce_ints(op, a, axes, keep):
    axes = {x + len(a.dims) if x < 0 else x for x in axes} if axes is not None \
        else set(range(len(a.dims)))
    f = {'ReduceSum': sum, 'ReduceProd': math.prod, 'ReduceMax': max, 'ReduceMin': min}.get(op)
    if f is None or a.dtype not in INTS or not a.items:
        return None
    outer = [k for k in range(len(a.dims)) if k not in axes]
    order = transpose(a, outer + sorted(axes))
    n = size_of([a.dims[k] for k in axes])
    items = [wrapped(a.dtype, f(order.items[i:i + n])) for i in range(0, len(order.items), n)]
    dims = [1 if k in axes else d for k, d in enumerate(a.dims) if keep or k not in axes]
    return Array(a.dtype, dims, items)


def evaluate(op, ins, attr, outputs):
    """The results of a node on arrays (None: absent), or None: not recomputed here. attr(name,
    default) reads attributes."""
    try:
        out = compute(op, ins, attr, outputs)
    except (IndexError, KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return out if out is None or isinstance(out, list) else [out]


def ints(ins, at, attr, name):
    """Integers of an attribute, or of input `at`."""
    a = attr(name, None)
    if a is None and len(ins) > at and ins[at] is not None:
        a = ins[at].items
    return a


def compute(op, ins, attr, outputs):
    x = ins[0] if ins else None
    if op in ('Add', 'Sub', 'Mul', 'Div', 'Mod', 'And', 'Or', 'Xor') or op in COMPARE:
        return arithmetic(op, *ins) if not (op == 'Mod' and attr('fmod', 0)) else None
    if op in ('Max', 'Min') and x.dtype in INTS and len(ins) == 2:
        return arithmetic(op, *ins)
    if op in ('Sqrt', 'Reciprocal', 'Neg', 'Abs', 'Floor', 'Ceil', 'Not'):
        return unary(op, x)
    if op == 'Identity' or (op == 'Dropout' and len(ins) < 3 and outputs == 1):
        return x
    if op == 'Cast':
        return cast(x, attr('to', 0))
    if op == 'CastLike':
        return cast(x, ins[1].dtype)
    if op == 'Shape':
        r = len(x.dims)
        s, e = attr('start', 0), attr('end', r)
        dims = x.dims[max(0, s + r) if s < 0 else s:e + r if e < 0 else e]
        return Array(7, (len(dims),), list(dims))
    if op == 'Transpose':
        return transpose(x, attr('perm', None) or list(range(len(x.dims)))[::-1])
    if op == 'Gather':
        return gather(x, ins[1], attr('axis', 0))
    if op == 'Concat':
        return concat(ins, attr('axis', 1))
    return reshaped(op, ins, attr, outputs)


def reshaped(op, ins, attr, outputs):
    x = ins[0] if ins else None
    if op in ('Reshape', 'Flatten', 'Squeeze', 'Unsqueeze'):
        dims = new_dims(op, ins, attr)
        return Array(x.dtype, dims, x.items) if size_of(dims) == len(x.items) else None
    if op == 'Slice':
        starts, ends = ints(ins, 1, attr, 'starts'), ints(ins, 2, attr, 'ends')
        axes = ints(ins, 3, attr, 'axes') or list(range(len(starts)))
        steps = ints(ins, 4, lambda *_: None, '') or [1] * len(starts)
        return cut(x, starts, ends, axes, steps)
    if op == 'Expand':
        dims = broadcast([x.dims, tuple(ins[1].items)])
        return Array(x.dtype, dims, spread(x, dims)) if size_of(dims) <= MOST else None
    if op == 'Tile' and len(ins) == 2:
        for axis, n in enumerate(ins[1].items):
            x = concat([x] * n, axis) if n > 0 else None
        return x
    if op == 'ConstantOfShape':
        dims, value = tuple(x.items), attr('value', None)
        v = array_of(value) if value is not None else Array(1, (1,), [0.0])
        return Array(v.dtype, dims, v.items * size_of(dims)) if size_of(dims) <= MOST else None
    if op == 'Range' and x.dtype in INTS:
        r = range(x.items[0], ins[1].items[0], ins[2].items[0])
        return Array(x.dtype, (len(r),), list(r)) if len(r) <= MOST else None
    if op == 'Where':
        dims = broadcast([a.dims for a in ins])
        c, a, b = (spread(i, dims) for i in ins)
        return Array(ins[1].dtype, dims, [(p if p == q else None) if k is None else p if k else q
                                          for k, p, q in zip(c, a, b)])
    if op in ('ReduceSum', 'ReduceProd', 'ReduceMax', 'ReduceMin'):
        if attr('noop_with_empty_axes', 0):
            return None
        return reduce_ints(op, x, ints(ins, 1, attr, 'axes'), attr('keepdims', 1))
    if op == 'Split':
        axis = attr('axis', 0)
        axis += len(x.dims) if axis < 0 else 0
        sizes = ints(ins, 1, attr, 'split') or [-(-x.dims[axis] // outputs)] * outputs
        out, at = [], 0
        for n in sizes:
            out.append(cut(x, [at], [at + n], [axis], [1]))
            at += n
        return out if len(out) == outputs and at >= x.dims[axis] else None
    return None


def new_dims(op, ins, attr, size_of=size_of):
    x = ins[0]
    if op == 'Flatten':
        a = attr('axis', 1)
        a += len(x.dims) if a < 0 else 0
        return size_of(x.dims[:a]), size_of(x.dims[a:])
    if op == 'Reshape':
        target = list(ints(ins, 1, lambda *_: attr('shape', None), ''))
        if not attr('allowzero', 0):
            target = [x.dims[k] if d == 0 else d for k, d in enumerate(target)]
        if -1 in target:
            rest = size_of([d for d in target if d != -1])
            target[target.index(-1)] = len(x.items) // rest
        return tuple(target)
    axes = ints(ins, 1, attr, 'axes')
    if op == 'Squeeze':
        if axes is None:
            return tuple(d for d in x.dims if d != 1)
        axes = {a + len(x.dims) if a < 0 else a for a in axes}
        return tuple(d for k, d in enumerate(x.dims) if k not in axes)
    rank = len(x.dims) + len(axes)
    axes = {a + rank if a < 0 else a for a in axes}
    rest = iter(x.dims)
    return tuple(1 if k in axes else next(rest) for k in range(rank))
