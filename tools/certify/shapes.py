# SPDX-License-Identifier: Apache-2.0
"""Facts about values: element types, dimensions as expressions over symbols, small integers.

A dimension is an integer or a Sum: a linear combination of products of symbols. A dimension that no
rule here determines is a symbol of its own, since it has one value in every run. A name always
stands for the same value, so a fact that was found stays true."""
from folds import Array, array_of, evaluate, new_dims, reader

SMALL = 64  # elements of a value that are followed
RANKED = 'Slice Transpose Unsqueeze Squeeze Split Resize Tile'.split()  # of input 0 the rank is needed
SAME = '''Relu LeakyRelu PRelu Sigmoid Tanh Elu Selu Celu HardSigmoid HardSwish Softplus Softsign Exp
Log Sqrt Reciprocal Abs Neg Sign Floor Ceil Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh
Atanh Softmax LogSoftmax Hardmax Clip Identity Dropout InstanceNormalization LRN
MeanVarianceNormalization ThresholdedRelu LpNormalization CumSum Gelu Mish Swish Shrink Trilu Not
BitwiseNot BatchNormalization LayerNormalization GroupNormalization RMSNormalization Pow
ReverseSequence ScatterND ScatterElements Scatter'''.split()
BROADCAST = 'Add Sub Mul Div Mod And Or Xor BitShift BitwiseAnd BitwiseOr BitwiseXor Min Max Mean Sum'.split()
COMPARE = 'Equal Less Greater LessOrEqual GreaterOrEqual'.split()
REDUCE = '''ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum
ReduceLogSumExp ReduceSumSquare'''.split()


class Sum:
    """A linear combination of products of symbols: {(symbol, ...): factor}."""

    def __init__(self, terms):
        self.terms = terms

    def __eq__(self, other):
        return isinstance(other, Sum) and self.terms == other.terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def __add__(self, other):
        return add(self, other)

    def __sub__(self, other):
        return add(self, other, -1)

    def __rsub__(self, other):
        return add(other, self, -1)

    def __mul__(self, other):
        return mul(self, other)

    __radd__, __rmul__ = __add__, __mul__

    def over(self, other):
        """Division of integers truncates; of sizes it rounds down."""
        if not isinstance(other, int) or other <= 0 or not is_dim(self):
            return None
        return floordiv(self, other)

    def never(self, other):
        """False: no run makes them equal."""
        return False if isinstance(other, int) and other < 0 and is_dim(self) else None

    def __repr__(self):
        return ' + '.join('%d*%s' % (f, '*'.join(map(str, s))) for s, f in sorted(
            self.terms.items(), key=str))


def terms_of(a):
    return a.terms if isinstance(a, Sum) else {(): a} if a else {}


def made(terms):
    terms = {s: f for s, f in terms.items() if f}
    if not terms:
        return 0
    if set(terms) == {()}:
        return terms[()]
    return Sum(terms)


def symbol(name):
    return Sum({(name,): 1})


def add(a, b, sign=1):
    if a is None or b is None:
        return None
    t = dict(terms_of(a))
    for s, f in terms_of(b).items():
        t[s] = t.get(s, 0) + sign * f
    return made(t)


def mul(a, b):
    if a is None or b is None:
        return None
    t = {}
    for s, f in terms_of(a).items():
        for r, g in terms_of(b).items():
            key = tuple(sorted(s + r, key=str))
            t[key] = t.get(key, 0) + f * g
    return made(t)


def floordiv(a, b):
    """a / b rounded down; an expression that equals itself where it is no sum."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1:
        return a
    if a == b:
        return 1
    if isinstance(b, int) and all(f % b == 0 for f in terms_of(a).values()):
        return made({s: f // b for s, f in terms_of(a).items()})
    exact = divided(a, b)
    return exact if exact is not None else symbol(('div', repr(a), repr(b)))


def divided(a, b):
    """a / b where b is one product that divides each term; None: it is not."""
    tb = terms_of(b)
    if len(tb) != 1:
        return None
    (s, f), = tb.items()
    out = {}
    for r, g in terms_of(a).items():
        rest = list(r)
        for x in s:
            if x not in rest:
                return None
            rest.remove(x)
        if g % f:
            return None
        out[tuple(rest)] = g // f
    return made(out)


def product(dims):
    n = 1
    for d in dims:
        n = mul(n, d)
    return n


class Fact:
    """dtype 0: unknown; dims None: rank unknown; elems: integers and Sums, None: unknown."""

    def __init__(self, dtype=0, dims=None, elems=None):
        self.dtype, self.dims, self.elems = dtype, dims, elems


class Facts:
    def __init__(self, state):
        self.s, self.known, self.tried = state, {}, {}

    def of(self, v):
        """The facts of a value; computed from its inputs first, without recursion."""
        if v is None:
            return Fact()
        stack = [v]
        while stack:
            at = stack[-1]
            if self.done(at):
                stack.pop()
                continue
            need = [i for i in self.inputs(at) if i is not None and not self.done(i) and
                    i not in stack[-2:-1]]
            if need and len(stack) < 100000 and (at, 'open') not in self.tried:
                self.tried[at, 'open'] = self.s.version
                stack += need
                continue
            self.tried.pop((at, 'open'), None)
            try:
                f = self.infer(at)
            except Exception:
                f = Fact()  # attributes or inputs that the operator does not have
            self.tried[at] = self.s.version, f
            if f.dtype and f.dims is not None:
                self.known[at] = f
            stack.pop()
        return self.known.get(v) or self.tried[v][1]

    def done(self, v):
        return v in self.known or (v in self.tried and self.tried[v][0] == self.s.version)

    def inputs(self, v):
        if v in self.s.const or v not in self.s.producer:
            return []
        return self.s.nodes[self.s.producer[v][0]].ins

    def get(self, v):
        if v is None:
            return Fact()
        if v in self.known:
            return self.known[v]
        return self.tried[v][1] if v in self.tried else Fact()

    # --- one value ---

    def infer(self, v):
        t = self.s.const.get(v)
        if t is not None and v not in self.s.overridable:
            return self.constant(t)
        if v in self.s.producer:
            nid, out = self.s.producer[v]
            node = self.s.nodes[nid]
            f = None
            if not node.domain and (node.domain, node.op, node.overload) not in self.s.functions:
                f = self.node(node, out, v)
            return f or Fact()
        declared = self.s.declared.get(v)
        if declared is None or declared.other is not None:
            return Fact()
        if v.startswith('0/') and declared.dims is not None:
            return Fact(declared.dtype, tuple(
                d if isinstance(d, int) and d >= 0 else symbol(d) if isinstance(d, str) and d
                else symbol((v, k)) for k, d in enumerate(declared.dims)))
        return Fact(declared.dtype if v.startswith('0/') else 0)

    def constant(self, t):
        f = Fact(t.dtype, tuple(t.dims))
        if t.dtype in (6, 7, 9) and t.count <= SMALL and t.strings is None:
            a = array_of(t)
            f.elems = list(a.items) if a else None
        return f

    def node(self, n, out, v):
        op = n.op
        ins = [self.get(i) for i in n.ins]
        x = ins[0] if ins else Fact()
        if op == 'Constant':
            t = self.s.is_const(v)
            return self.constant(t) if t is not None else None
        if op in RANKED and ins[0].dims is None:
            return Fact(ins[0].dtype)
        handler = getattr(self, 'op_' + op, None)
        if handler:
            f = handler(n, ins, out, v)
        elif op in PLAIN:
            f = PLAIN[op](ins)
        elif op in SAME:
            f = Fact(x.dtype, x.dims) if out == 0 else None
            if f and op == 'Pow' and len(ins) > 1:
                f.dims = self.broadcast([x, ins[1]], v)
        elif op == 'Where':
            f = Fact(ins[1].dtype, self.broadcast(ins, v))
        elif op in BROADCAST:
            f = Fact(x.dtype, self.broadcast(ins, v))
        elif op in COMPARE:
            f = Fact(9, self.broadcast(ins, v))
        elif op in REDUCE:
            f = Fact(x.dtype, self.reduced(n, ins, v))
        else:
            return None
        if f and f.elems is None and f.dims is not None:
            f.elems = self.elements(n, ins, f, out)
        return f

    def elements(self, n, ins, f, out):
        """Elements that follow from those of the inputs."""
        if f.dtype not in (6, 7, 9) or not all(isinstance(d, int) for d in f.dims) or \
                product(f.dims) > SMALL or any(i.elems is None for i, v in zip(ins, n.ins) if v):
            return None
        arrays = [Array(i.dtype, i.dims, i.elems) if v else None for i, v in zip(ins, n.ins)]
        got = evaluate(n.op, arrays, lambda name, default=None: self.attr(n, name, default),
                       len(n.outs))
        return got[out].items if got and out < len(got) and got[out].dims == f.dims else None

    def fresh(self, v, k):
        return symbol((v, k))

    def free(self, v, rank, start=0):
        return tuple(self.fresh(v, k) for k in range(start, rank))

    def axis(self, n, rank, default=0):
        a = self.attr(n, 'axis', default)
        return a + rank if a < 0 else a

    def broadcast(self, facts, v):
        facts = [f for f in facts if f is not None]
        if not facts or any(f.dims is None for f in facts):
            return None
        rank = max(len(f.dims) for f in facts)
        out = []
        for k in range(rank):
            dims = [f.dims[k - rank] for f in facts if len(f.dims) >= rank - k]
            dims = [d for d in dims if d != 1] or [1]
            fixed = [d for d in dims if isinstance(d, int)]
            if all(d == dims[0] for d in dims):
                out.append(dims[0])
            elif fixed and all(d == fixed[0] for d in fixed):
                out.append(fixed[0])
            else:
                out.append(self.fresh(v, k))
        return tuple(out)

    def attr(self, n, name, default=None):
        return reader(n)(name, default)

    def axes(self, n, ins, rank, at=1):
        """Axes of an attribute or an input; None: unknown; []: absent."""
        a = self.attr(n, 'axes')
        if a is None and len(n.ins) > at and n.ins[at] is not None:
            a = ins[at].elems
            if a is None or any(not isinstance(i, int) for i in a):
                return None
        if a is None:
            return None if 'axes' in n.attrs else []
        return [i + rank if i < 0 else i for i in a]

    def reduced(self, n, ins, v):
        dims = ins[0].dims
        if dims is None:
            return None
        axes = self.axes(n, ins, len(dims))
        keep = self.attr(n, 'keepdims', 1)
        if axes is None:
            return self.free(v, len(dims)) if keep == 1 else None
        if not axes:
            if self.attr(n, 'noop_with_empty_axes', 0):
                return dims
            axes = list(range(len(dims)))
        return tuple(1 if k in axes else d for k, d in enumerate(dims)
                     if keep or k not in axes)

    # --- operators ---

    def op_Cast(self, n, ins, out, v):
        to = self.attr(n, 'to')
        return Fact(to if isinstance(to, int) else 0, ins[0].dims)

    def op_Shape(self, n, ins, out, v):
        dims = ins[0].dims
        if dims is None:
            return Fact(7, (self.fresh(v, 0),))
        r = len(dims)
        start, end = self.attr(n, 'start', 0), self.attr(n, 'end', r)
        dims = dims[start if start >= 0 else max(0, start + r):end if end >= 0 else end + r]
        return Fact(7, (len(dims),), list(dims))

    def op_Gather(self, n, ins, out, v):
        x, i = ins[0], ins[1]
        if x.dims is None or i.dims is None:
            return Fact(x.dtype)
        axis = self.axis(n, len(x.dims))
        return Fact(x.dtype, x.dims[:axis] + i.dims + x.dims[axis + 1:])

    def op_Concat(self, n, ins, out, v):
        if any(f.dims is None for f in ins):
            return Fact(ins[0].dtype)
        axis = self.axis(n, len(ins[0].dims), 1)
        dims = list(ins[0].dims)
        for k in range(len(dims)):
            fixed = [f.dims[k] for f in ins if isinstance(f.dims[k], int)]
            dims[k] = fixed[0] if fixed and k != axis else dims[k]
        total = 0
        for f in ins:
            total = add(total, f.dims[axis])
        dims[axis] = total
        return Fact(ins[0].dtype, tuple(dims))

    def op_Slice(self, n, ins, out, v):
        x = ins[0]
        dims = list(x.dims)
        if len(ins) > 1:
            starts, ends = ins[1].elems, ins[2].elems
            axes = ins[3].elems if len(ins) > 3 and n.ins[3] else None
            steps = ins[4].elems if len(ins) > 4 and n.ins[4] else None
            if len(ins) > 3 and n.ins[3] and axes is None:
                return Fact(x.dtype, self.free(v, len(dims)))
            if len(ins) > 4 and n.ins[4] and steps is None:
                steps = [None] * (len(starts or dims))
        else:
            starts, ends = self.attr(n, 'starts'), self.attr(n, 'ends')
            axes, steps = self.attr(n, 'axes'), None
        count = ins[1].dims[0] if len(ins) > 1 and ins[1].dims else len(starts or ())
        if not isinstance(count, int):
            return Fact(x.dtype, self.free(v, len(dims)))
        starts, ends = starts or [None] * count, ends or [None] * count
        axes = axes if axes is not None else list(range(count))
        steps = steps or [1] * count
        if len(axes) != count or not all(isinstance(a, int) for a in axes):
            return Fact(x.dtype, self.free(v, len(dims)))
        for a, s, e, t in zip(axes, starts, ends, steps):
            a += len(dims) if a < 0 else 0
            dims[a] = sliced(dims[a], s, e, t)
            if dims[a] is None:
                dims[a] = self.fresh(v, a)
        return Fact(x.dtype, tuple(dims))

    def op_Reshape(self, n, ins, out, v):
        x = ins[0]
        target = ins[1].elems if len(ins) > 1 else self.attr(n, 'shape')
        if target is None:
            r = ins[1].dims[0] if len(ins) > 1 and ins[1].dims else None
            if isinstance(r, int):
                return Fact(x.dtype, self.free(v, r))
            return Fact(x.dtype)
        dims, zero = [], self.attr(n, 'allowzero', 0)
        for k, d in enumerate(target):
            if d == 0 and not zero:
                d = x.dims[k] if x.dims is not None and k < len(x.dims) else None
            elif isinstance(d, Sum) or d is None:
                # a computed target may be -1 or 0; as dimension of a Shape it is neither
                d = d if isinstance(d, Sum) and is_dim(d) else None
            dims.append(d)
        if dims.count(-1) == 1 and x.dims is not None:
            rest = product([d for d in dims if d != -1]) if None not in dims else None
            whole = product(x.dims)
            q = None
            if isinstance(rest, int) and isinstance(whole, int) and rest:
                q = whole // rest
            elif rest is not None:
                q = rest_of(whole, rest)
            dims[dims.index(-1)] = q
        dims = tuple(self.fresh(v, k) if d is None or d == -1 else d for k, d in enumerate(dims))
        return Fact(x.dtype, dims)

    def op_Transpose(self, n, ins, out, v):
        x = ins[0]
        perm = self.attr(n, 'perm', list(range(len(x.dims)))[::-1])
        if perm is None or sorted(perm) != list(range(len(x.dims))):
            return Fact(x.dtype)
        return Fact(x.dtype, tuple(x.dims[p] for p in perm))

    def op_Squeeze(self, n, ins, out, v):
        x, given = ins[0], len(n.ins) > 1 and n.ins[1] is not None
        if given and ins[1].elems is None or not (given or 'axes' in n.attrs or all(
                isinstance(d, int) for d in x.dims)):
            return Fact(x.dtype)
        return Fact(x.dtype, new_dims(n.op, [Array(f.dtype, f.dims, f.elems) for f in ins],
                                      reader(n), product))

    op_Unsqueeze = op_Squeeze

    def op_Flatten(self, n, ins, out, v):
        x = ins[0]
        if x.dims is None:
            return Fact(x.dtype, self.free(v, 2))
        a = self.axis(n, len(x.dims), 1)
        return Fact(x.dtype, (product(x.dims[:a]), product(x.dims[a:])))

    def op_Expand(self, n, ins, out, v):
        e = ins[1].elems
        if e is None or ins[0].dims is None:
            return Fact(ins[0].dtype)
        e = [d if not isinstance(d, Sum) or is_dim(d) else None for d in e]
        if None in e:
            return Fact(ins[0].dtype, self.free(v, max(len(e), len(ins[0].dims))))
        return Fact(ins[0].dtype, self.broadcast([ins[0], Fact(7, tuple(e))], v))

    def op_Tile(self, n, ins, out, v):
        x, r = ins[0], ins[1].elems
        if r is None or len(r) != len(x.dims):
            return Fact(x.dtype, self.free(v, len(x.dims)))
        return Fact(x.dtype, tuple(self.fresh(v, k) if i is None else mul(d, i)
                                   for k, (d, i) in enumerate(zip(x.dims, r))))

    def op_ConstantOfShape(self, n, ins, out, v):
        value = n.attrs.get('value')
        dtype = value[1].dtype if value and value[0] == 4 else 1
        e = ins[0].elems
        if e is None or any(d is None or (isinstance(d, Sum) and not is_dim(d)) for d in e):
            r = ins[0].dims[0] if ins[0].dims else None
            return Fact(dtype, self.free(v, r) if isinstance(r, int) else None)
        return Fact(dtype, tuple(e))

    def op_Range(self, n, ins, out, v):
        e = [f.elems[0] if f.elems else None for f in ins]
        if all(isinstance(i, int) for i in e) and e[2]:
            return Fact(ins[0].dtype, (len(range(*e)),))
        if e[0] == 0 and e[2] == 1 and isinstance(e[1], Sum) and is_dim(e[1]):
            return Fact(ins[0].dtype, (e[1],))
        return Fact(ins[0].dtype, (self.fresh(v, 0),))

    def op_Split(self, n, ins, out, v):
        x = ins[0]
        axis = self.axis(n, len(x.dims))
        sizes = self.attr(n, 'split')
        if sizes is None and len(n.ins) > 1 and n.ins[1]:
            sizes = ins[1].elems or [None] * len(n.outs)
        if sizes is None:
            d, parts = x.dims[axis], len(n.outs)
            if isinstance(d, int):
                part = -(-d // parts)
                sizes = [part] * (parts - 1) + [d - part * (parts - 1)]
            else:
                sizes = [None] * parts
        dims = list(x.dims)
        dims[axis] = sizes[out] if out < len(sizes) and sizes[out] is not None \
            else self.fresh(v, axis)
        return Fact(x.dtype, tuple(dims))

    def op_MatMul(self, n, ins, out, v):
        a, b = ins[0], ins[1]
        if a.dims is None or b.dims is None or not a.dims or not b.dims:
            return Fact(a.dtype)
        da = (1,) + a.dims if len(a.dims) == 1 else a.dims
        db = b.dims + (1,) if len(b.dims) == 1 else b.dims
        batch = self.broadcast([Fact(0, da[:-2]), Fact(0, db[:-2])], v)
        dims = batch + (() if len(a.dims) == 1 else da[-2:-1]) + \
            (() if len(b.dims) == 1 else db[-1:])
        return Fact(a.dtype, dims)

    def op_Gemm(self, n, ins, out, v):
        a, b = ins[0], ins[1]
        if a.dims is None or b.dims is None or len(a.dims) != 2 or len(b.dims) != 2:
            return Fact(a.dtype, self.free(v, 2))
        return Fact(a.dtype, (a.dims[1 if self.attr(n, 'transA', 0) else 0],
                              b.dims[0 if self.attr(n, 'transB', 0) else 1]))

    def window(self, n, x, kernel, v, channels, dtype):
        """Dimensions after a window: ONNX's formula with pads, or auto_pad."""
        count = len(kernel)
        strides = self.attr(n, 'strides', [1] * count)
        dilations = self.attr(n, 'dilations', [1] * count)
        pads = self.attr(n, 'pads', [0] * (2 * count))
        auto = self.attr(n, 'auto_pad', 'NOTSET')
        dims = [x.dims[0], channels]
        for k in range(count):
            d, size = x.dims[2 + k], dilations[k] * (kernel[k] - 1) + 1
            if auto in ('SAME_UPPER', 'SAME_LOWER'):
                out = floordiv(add(d, strides[k] - 1), strides[k])
            else:
                room = add(d, (pads[k] + pads[k + count] if auto != 'VALID' else 0) - size)
                if self.attr(n, 'ceil_mode', 0):
                    if not isinstance(room, int):
                        out = self.fresh(v, 2 + k)
                    else:
                        out = -(-room // strides[k]) + 1
                        if (out - 1) * strides[k] >= d + (pads[k] if auto != 'VALID' else 0):
                            out -= 1
                else:
                    out = add(floordiv(room, strides[k]), 1)
            dims.append(out)
        return Fact(dtype, tuple(dims))

    def op_Conv(self, n, ins, out, v):
        x, w = ins[0], ins[1]
        if x.dims is None or w.dims is None or len(x.dims) < 3:
            return Fact(x.dtype)
        kernel = self.attr(n, 'kernel_shape', list(w.dims[2:]))
        if not all(isinstance(k, int) for k in kernel) or len(kernel) != len(x.dims) - 2:
            return Fact(x.dtype, (x.dims[0], w.dims[0]) + self.free(v, len(x.dims), 2))
        return self.window(n, x, kernel, v, w.dims[0], x.dtype)

    def op_MaxPool(self, n, ins, out, v):
        x, kernel = ins[0], self.attr(n, 'kernel_shape')
        if x.dims is None or not kernel or len(kernel) != len(x.dims) - 2:
            return Fact(x.dtype if out == 0 else 7)
        return self.window(n, x, kernel, v, x.dims[1], x.dtype if out == 0 else 7)

    def op_GlobalAveragePool(self, n, ins, out, v):
        x = ins[0]
        return Fact(x.dtype, None if x.dims is None else x.dims[:2] + (1,) * (len(x.dims) - 2))

    op_GlobalMaxPool = op_GlobalAveragePool
    op_AveragePool = op_LpPool = op_MaxPool

    def op_ConvTranspose(self, n, ins, out, v):
        x, w = ins[0], ins[1]
        if x.dims is None or w.dims is None or self.attr(n, 'auto_pad', 'NOTSET') != 'NOTSET' or \
                'output_shape' in n.attrs:
            return Fact(x.dtype, None if x.dims is None or w.dims is None else
                        (x.dims[0], mul(w.dims[1], self.attr(n, 'group', 1))) +
                        self.free(v, len(x.dims), 2))
        count = len(x.dims) - 2
        kernel = self.attr(n, 'kernel_shape', list(w.dims[2:]))
        strides = self.attr(n, 'strides', [1] * count)
        dilations = self.attr(n, 'dilations', [1] * count)
        pads = self.attr(n, 'pads', [0] * (2 * count))
        more = self.attr(n, 'output_padding', [0] * count)
        dims = [x.dims[0], mul(w.dims[1], self.attr(n, 'group', 1))]
        for k in range(count):
            d = mul(strides[k], add(x.dims[2 + k], -1))
            dims.append(add(d, more[k] + (kernel[k] - 1) * dilations[k] + 1 - pads[k] -
                            pads[k + count]))
        return Fact(x.dtype, tuple(dims))

    def op_Pad(self, n, ins, out, v):
        x = ins[0]
        pads = self.attr(n, 'pads')
        if pads is None and len(ins) > 1:
            pads = ins[1].elems
        if x.dims is None:
            return Fact(x.dtype)
        if pads is None or len(ins) > 3 or len(pads) != 2 * len(x.dims):
            return Fact(x.dtype, self.free(v, len(x.dims)))
        r = len(x.dims)
        return Fact(x.dtype, tuple(add(add(d, pads[k]), pads[k + r])
                                   if pads[k] is not None and pads[k + r] is not None
                                   else self.fresh(v, k) for k, d in enumerate(x.dims)))

    def op_ArgMax(self, n, ins, out, v):
        dims = ins[0].dims
        if dims is None:
            return Fact(7)
        axis = self.axis(n, len(dims))
        keep = self.attr(n, 'keepdims', 1)
        return Fact(7, tuple(1 if k == axis else d for k, d in enumerate(dims)
                             if keep or k != axis))

    op_ArgMin = op_ArgMax

    def op_TopK(self, n, ins, out, v):
        x = ins[0]
        dtype = 7 if out else x.dtype
        if x.dims is None:
            return Fact(dtype)
        axis = self.attr(n, 'axis', -1)
        k = ins[1].elems[0] if len(ins) > 1 and ins[1].elems else self.attr(n, 'k')
        dims = list(x.dims)
        dims[axis] = k if k is not None else self.fresh(v, axis % len(dims))
        return Fact(dtype, tuple(dims))

    def op_Resize(self, n, ins, out, v):
        x = ins[0]
        sizes = ins[3].elems if len(ins) > 3 and n.ins[3] else None
        if sizes and len(sizes) == len(x.dims) and 'axes' not in n.attrs and \
                'keep_aspect_ratio_policy' not in n.attrs and \
                all(isinstance(i, int) or (isinstance(i, Sum) and is_dim(i)) for i in sizes):
            return Fact(x.dtype, tuple(sizes))
        at = 2 if len(ins) > 2 else 1
        t = self.s.is_const(n.ins[at]) if len(n.ins) > at and n.ins[at] else None
        a = array_of(t) if t is not None and t.dtype == 1 and t.count <= SMALL else None
        if a and len(a.items) == len(x.dims) and 'axes' not in n.attrs:
            dims = []
            for k, (d, s) in enumerate(zip(x.dims, a.items)):
                if s == int(s):
                    dims.append(mul(d, int(s)))
                else:
                    dims.append(int(d * s) if isinstance(d, int) else self.fresh(v, k))
            return Fact(x.dtype, tuple(dims))
        return Fact(x.dtype, self.free(v, len(x.dims)))

    op_Upsample = op_Resize

    def op_DepthToSpace(self, n, ins, out, v):
        x, b = ins[0], self.attr(n, 'blocksize')
        if x.dims is None or not b:
            return Fact(x.dtype)
        d = x.dims
        if n.op == 'SpaceToDepth':
            return Fact(x.dtype, (d[0], mul(d[1], b * b), floordiv(d[2], b), floordiv(d[3], b)))
        return Fact(x.dtype, (d[0], floordiv(d[1], b * b), mul(d[2], b), mul(d[3], b)))

    op_SpaceToDepth = op_DepthToSpace

    def op_GatherND(self, n, ins, out, v):
        x, i, b = ins[0], ins[1], self.attr(n, 'batch_dims', 0)
        if x.dims is None or i.dims is None or not isinstance(i.dims[-1], int):
            return Fact(x.dtype)
        return Fact(x.dtype, i.dims[:-1] + x.dims[b + i.dims[-1]:])

    def op_LSTM(self, n, ins, out, v):
        x, hidden = ins[0], self.attr(n, 'hidden_size')
        two = 2 if self.attr(n, 'direction', 'forward') == 'bidirectional' else 1
        if x.dims is None or not hidden or self.attr(n, 'layout', 0):
            return Fact(x.dtype)
        if out == 0:
            return Fact(x.dtype, (x.dims[0], two, x.dims[1], hidden))
        return Fact(x.dtype, (two, x.dims[1], hidden))

    op_GRU = op_LSTM
    op_RNN = op_LSTM



PLAIN = {
    'GatherElements': lambda ins: Fact(ins[0].dtype, ins[1].dims),
    'QuantizeLinear': lambda ins: Fact(ins[2].dtype if len(ins) > 2 else 0, ins[0].dims),
    'DequantizeLinear': lambda ins: Fact(ins[1].dtype, ins[0].dims),
    'IsNaN': lambda ins: Fact(9, ins[0].dims), 'IsInf': lambda ins: Fact(9, ins[0].dims),
    'CastLike': lambda ins: Fact(ins[1].dtype, ins[0].dims),
    'Size': lambda ins: Fact(7, (), None if ins[0].dims is None else [product(ins[0].dims)]),
}


def is_dim(d):
    """Whether an expression is a single symbol or a product with a factor above 0: the size of
    something, not a difference that may be below 0."""
    return len(d.terms) >= 1 and all(f > 0 for f in d.terms.values())


def rest_of(whole, rest):
    """whole / rest for the -1 of Reshape; None: unknown."""
    if whole is None or rest is None:
        return None
    if isinstance(rest, int):
        if rest > 0 and all(f % rest == 0 for f in terms_of(whole).values()):
            return made({s: f // rest for s, f in terms_of(whole).items()})
        return symbol(('div', repr(whole), repr(rest))) if rest > 0 else None
    return divided(whole, rest)


def slice_of(d, s, e, t):
    s, e = (i + d if i < 0 else i for i in (s, e))
    if t > 0:
        return slice(min(max(s, 0), d), min(max(e, 0), d), t)
    s, e = min(max(s, 0), d - 1), min(max(e, -1), d - 1)
    return slice(s, None if e < 0 else e, t)


def sliced(d, s, e, t):
    """The size of a slice; None: unknown."""
    if all(isinstance(i, int) for i in (d, s, e, t)) and t:
        return len(range(d)[slice_of(d, s, e, t)])
    if t == 1 and s == 0 and isinstance(e, int) and e >= 2 ** 31 - 1:
        return d
    if t == 1 and isinstance(s, int) and isinstance(e, int) and e >= 2 ** 31 - 1 and s < 0:
        return None
    if t == 1 and s == 0 and isinstance(d, Sum) and e == d:
        return d
    return None
