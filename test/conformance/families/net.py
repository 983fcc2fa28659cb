# SPDX-License-Identifier: Apache-2.0
"""Writes models as ONNX text: `n.Conv(x, w, strides=[2, 2])` appends a node and gives the name of its output.

An argument is the name of a value, None (absent), an int or float (a scalar constant), or a list of
them (a vector). Integers are int64, numbers with a point are float.

`blocks.Writer`, in the folder above, is older and smaller: attributes are text there. `structures.py` and
the tests of shared attention use it."""
import re
import struct

WIDTH, HEADS = 16, 2
FLOAT, UINT8, INT8, INT32, INT64, BOOL, HALF = 1, 2, 3, 6, 7, 9, 10


def tensor(kind, dims, values):
    """A tensor as ONNX text; `dims` of a scalar is ()."""
    shape = "[%s]" % ",".join(map(str, dims)) if dims else ""
    return "%s%s" % (kind, shape), "{%s}" % ", ".join(map(str, values))


class Net:
    """`opset`: of ai.onnx. `nodes`: constants are Constant nodes, as PyTorch's exporter writes them,
    instead of initializers."""

    def __init__(self, opset=17, nodes=False, first=0):
        self.opset, self.as_nodes = opset, nodes
        self.lines, self.inits, self.count, self.domains = [], [], first, set()

    def name(self, stem):
        self.count += 1
        return "%s_%d" % (stem, self.count)

    def __getattr__(self, op):
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *ins, **attrs: self.node(op, ins, attrs)

    def ms(self, op, *ins, **attrs):
        """An operator of ONNX Runtime's domain."""
        self.domains.add("com.microsoft")
        return self.node("com.microsoft." + op, ins, attrs)

    def ml(self, op, *ins, **attrs):
        self.domains.add("ai.onnx.ml")
        return self.node("ai.onnx.ml." + op, ins, attrs)

    def node(self, op, ins, attrs):
        outs = attrs.pop("outs", 1)
        names = [self.name(op.rpartition(".")[2].lower()) for _ in range(outs)]
        ins = [self.value(i) for i in ins]
        text = ", ".join("%s = %s" % (k, self.attribute(v)) for k, v in attrs.items())
        self.lines.append("%s = %s%s (%s)" % (", ".join(names), op, " <%s>" % text if text else "", ", ".join(ins)))
        return names[0] if outs == 1 else names

    @staticmethod
    def attribute(v):
        if isinstance(v, Body):
            return v.text
        if isinstance(v, str):
            return v if re.match(r"\w+(\[\d*\])? \{", v) else '"%s"' % v
        if isinstance(v, list):
            return "[%s]" % ", ".join(Net.attribute(i) for i in v)
        return repr(v)

    def value(self, v):
        if v is None:
            return ""
        if isinstance(v, str):
            return v
        if isinstance(v, list):
            return self.const("float" if isinstance(v[0], float) else "int64", [len(v)], v)
        return self.const("float" if isinstance(v, float) else "int64", (), [v])

    def const(self, kind, dims, values):
        name = self.name("c")
        declared, data = tensor(kind, dims, values)
        if self.as_nodes:
            self.lines.append("%s = Constant <value = %s %s> ()" % (name, declared, data))
        else:
            self.inits.append("%s %s = %s" % (declared, name, data))
        return name

    def weight(self, *dims, kind="float", scale=1.0, shift=0.0):
        """Small numbers of both signs; no two weights are equal."""
        size = 1
        for d in dims:
            size *= d
        name = self.name("w")
        at = 3 * self.count
        if kind in ("int8", "uint8"):
            low = 128 if kind == "uint8" else 0
            data = [low + (37 * i + at) % 101 - 50 for i in range(size)]
        else:
            data = ["%.4f" % (((7 * i + at) % 211 - 105) / 400 * scale + shift) for i in range(size)]
        if kind == "float16":  # in ONNX text, its bits
            data = struct.unpack("<%dH" % size, struct.pack("<%de" % size, *map(float, data)))
        self.inits.append("%s %s = %s" % (tensor(kind, dims, [])[0], name, tensor(kind, dims, data)[1]))
        return name

    def done(self, ins, *outs, ir=None):
        """`ins` are declarations, `outs` pairs of a value and its declared type."""
        made = []
        for value, kind in outs:
            out = self.Identity(value) if not any(re.match(r"[^=]*\b%s\b[^=]*=" % value, n) for n in self.lines) else value
            made.append("%s %s" % (kind, out))
        ir = ir or (4 if self.opset < 10 else 7 if self.opset < 15 else 8 if self.opset < 20 else 10)
        domains = "".join(', "%s" : %d' % (d, 3 if d == "ai.onnx.ml" else 1) for d in sorted(self.domains))
        return ('<ir_version: %d, opset_import: ["" : %d%s]>\nmodel (%s) => (%s) <%s> {\n  %s\n}\n'
                % (ir, self.opset, domains, ", ".join(ins), ", ".join(made), ", ".join(self.inits),
                   "\n  ".join(self.lines)))

    def body(self, name, ins, outs):
        """This net as the body of an If, Loop or Scan; its weights are `inits` of the graph around it."""
        return Body("%s (%s) => (%s) {\n  %s\n}" % (name, ", ".join(ins), ", ".join(outs), "\n  ".join(self.lines)))

    # --- parts of networks ---

    def conv(self, x, cin, cout, k=3, s=1, group=1, bias=True, d=1, pad=None):
        p = k // 2 * d if pad is None else pad
        return self.Conv(x, self.weight(cout, cin // group, k, k), *([self.weight(cout)] if bias else []),
                         dilations=[d, d], group=group, kernel_shape=[k, k], pads=[p] * 4, strides=[s, s])

    def conv1(self, x, cin, cout, k=3, s=1, p=1, group=1, d=1):
        return self.Conv(x, self.weight(cout, cin // group, k), self.weight(cout), dilations=[d], group=group,
                         kernel_shape=[k], pads=[p, p], strides=[s])

    def silu(self, x):
        return self.Mul(x, self.Sigmoid(x))

    def norm2d(self, x, c):
        return self.BatchNormalization(x, self.weight(c, shift=1.0), self.weight(c), self.weight(c),
                                       self.weight(c, scale=0.5, shift=1.5), epsilon=1e-5, momentum=0.9)

    def dense(self, x, a, b):
        return self.Add(self.MatMul(x, self.weight(a, b)), self.weight(b))

    def gemm(self, x, a, b):
        return self.Gemm(x, self.weight(b, a), self.weight(b), alpha=1.0, beta=1.0, transB=1)

    def reduce(self, op, x, axes, keep=1):
        """Axes as the opset has them."""
        since = 13 if op == "ReduceSum" else 18
        if self.opset >= since:
            return self.node(op, (x, axes), {"keepdims": keep})
        return self.node(op, (x,), {"axes": axes, "keepdims": keep})

    def unsqueeze(self, x, *axes):
        return self.Unsqueeze(x, list(axes)) if self.opset >= 13 else self.Unsqueeze(x, axes=list(axes))

    def squeeze(self, x, *axes):
        return self.Squeeze(x, list(axes)) if self.opset >= 13 else self.Squeeze(x, axes=list(axes))

    def split(self, x, sizes, axis):
        if self.opset >= 13:
            return self.Split(x, sizes, axis=axis, outs=len(sizes))
        return self.Split(x, axis=axis, split=sizes, outs=len(sizes))

    def slice(self, x, start, end, axis, step=1):
        return self.Slice(x, [start], [end], [axis], [step])

    def layer_norm(self, x, width=WIDTH):
        if self.opset >= 17:
            return self.LayerNormalization(x, self.weight(width, shift=1.0), self.weight(width), axis=-1, epsilon=1e-5)
        mean = self.reduce("ReduceMean", x, [-1])
        d = self.Sub(x, mean)
        v = self.reduce("ReduceMean", self.Pow(d, 2.0), [-1])
        return self.Add(self.Mul(self.Div(d, self.Sqrt(self.Add(v, 1e-5))), self.weight(width)), self.weight(width))

    def rms_norm(self, x, width=WIDTH):
        v = self.reduce("ReduceMean", self.Pow(x, 2.0), [-1])
        return self.Mul(self.weight(width, shift=1.0), self.Mul(x, self.Reciprocal(self.Sqrt(self.Add(v, 1e-6)))))

    def group_norm(self, x, c, groups):
        """As PyTorch's exporter writes it below opset 21."""
        y = self.InstanceNormalization(self.Reshape(x, [0, groups, -1]), self.const("float", [groups], [1.0] * groups),
                                       self.const("float", [groups], [0.0] * groups), epsilon=1e-5)
        y = self.Reshape(y, self.Shape(x))
        return self.Add(self.Mul(y, self.weight(c, 1, 1, shift=1.0)), self.weight(c, 1, 1))

    def gelu(self, x):
        return self.Mul(self.Mul(x, self.Add(self.Erf(self.Div(x, 1.4142135381698608)), 1.0)), 0.5)

    def feed_forward(self, x, width=WIDTH):
        return self.dense(self.gelu(self.dense(x, width, 2 * width)), 2 * width, width)

    def dim(self, x, i):
        return self.Gather(self.Shape(x), i, axis=0)

    def dims(self, *parts):
        """A shape of computed sizes and constants."""
        return self.Concat(*[[p] if isinstance(p, int) else self.unsqueeze(p, 0) for p in parts], axis=0)

    def heads(self, x, width=WIDTH, heads=HEADS, perm=(0, 2, 1, 3), dynamic=True):
        to = self.dims(self.dim(x, 0), self.dim(x, 1), heads, width // heads) if dynamic else [0, 0, heads, width // heads]
        return self.Transpose(self.Reshape(x, to), perm=list(perm))

    def unheads(self, x, width=WIDTH):
        return self.Reshape(self.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, width])

    def attend(self, q, k, v, mask=None, where=None, width=WIDTH):
        s = self.Div(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), 2.8284270763397217)
        if mask:
            s = self.Add(s, mask)
        if where:
            s = self.Where(where, s, -3.4028234663852886e+38)
        return self.unheads(self.MatMul(self.Softmax(s, axis=-1), v), width)

    def attention(self, x, over=None, mask=None, where=None, width=WIDTH, dynamic=True):
        """Attention of x over itself or other values, with its projections."""
        kv = over or x
        q, k, v = (self.heads(self.dense(z, width, width), width, dynamic=dynamic) for z in (x, kv, kv))
        return self.dense(self.attend(q, k, v, mask, where, width), width, width)


class Body:
    def __init__(self, text):
        self.text = text
