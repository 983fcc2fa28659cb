# SPDX-License-Identifier: Apache-2.0
"""Blocks of transformers as exporters write them, in ONNX text: bert, vit, llama."""

HEADS, WIDTH = 2, 16
HEAD = WIDTH // HEADS


class Writer:
    def __init__(self):
        self.nodes, self.inits, self.count = [], [], 0

    def name(self, stem):
        self.count += 1
        return "%s_%d" % (stem, self.count)

    def op(self, op, *ins, attrs="", outs=1):
        names = [self.name(op.lower()) for _ in range(outs)]
        attrs = " <%s>" % attrs if attrs else ""
        self.nodes.append("  %s = %s%s (%s)" % (", ".join(names), op, attrs, ", ".join(ins)))
        return names[0] if outs == 1 else names

    def weight(self, *dims):
        """Numbers that are not all the same, small and of both signs. No two weights are equal, else
        what is computed from them would be merged."""
        n = 1
        for d in dims:
            n *= d
        name = self.name("w")
        data = ["%.3f" % (((7 * i + 3 * self.count) % 211 - 105) / 400) for i in range(n)]
        self.inits.append("float[%s] %s = {%s}" % (",".join(map(str, dims)), name, ", ".join(data)))
        return name

    def ints(self, *values, scalar=False):
        name = self.name("c")
        self.inits.append("int64%s %s = {%s}" % ("" if scalar else "[%d]" % len(values), name,
                                                 ", ".join(map(str, values))))
        return name

    def number(self, value):
        name = self.name("k")
        self.inits.append("float %s = {%r}" % (name, value))
        return name

    def text(self, name, opset, ins, outs):
        return ('<ir_version: 8, opset_import: ["" : %d]>\n%s (%s) => (%s) <%s> {\n%s\n}\n'
                % (opset, name, ", ".join(ins), ", ".join(outs), ", ".join(self.inits),
                   "\n".join(self.nodes)))

    # --- parts ---

    def dense(self, x, width_in, width_out):
        return self.op("Add", self.weight(width_out), self.op("MatMul", x,
                                                              self.weight(width_in, width_out)))

    def layer_norm(self, x):
        m = self.op("ReduceMean", x, attrs="axes = [-1]")
        d = self.op("Sub", x, m)
        v = self.op("ReduceMean", self.op("Pow", d, self.number(2.0)), attrs="axes = [-1]")
        s = self.op("Sqrt", self.op("Add", v, self.number(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", d, s), self.weight(WIDTH)),
                       self.weight(WIDTH))

    def rms_norm(self, x):
        q = self.op("ReduceMean", self.op("Pow", x, self.number(2.0)), attrs="axes = [-1]")
        s = self.op("Sqrt", self.op("Add", q, self.number(1e-6)))
        n = self.op("Mul", x, self.op("Div", self.number(1.0), s))
        return self.op("Mul", self.weight(WIDTH), n)

    def dim(self, x, i):
        d = self.op("Gather", self.op("Shape", x), self.ints(i, scalar=True), attrs="axis = 0")
        return self.op("Unsqueeze", d, self.ints(0))

    def split_heads(self, x, perm):
        to = self.op("Concat", self.dim(x, 0), self.dim(x, 1), self.ints(HEADS), self.ints(HEAD),
                     attrs="axis = 0")
        return self.op("Transpose", self.op("Reshape", x, to), attrs="perm = %s" % perm)

    def join_heads(self, x):
        t = self.op("Transpose", x, attrs="perm = [0, 2, 1, 3]")
        to = self.op("Concat", self.dim(t, 0), self.dim(t, 1), self.ints(WIDTH), attrs="axis = 0")
        return self.op("Reshape", t, to)

    def attention(self, x, mask=None, turn=None):
        q, k, v = (self.split_heads(self.dense(x, WIDTH, WIDTH), "[0, 2, 1, 3]") for _ in "qkv")
        if turn:
            q, k = turn(q), turn(k)
        kt = self.op("Transpose", k, attrs="perm = [0, 1, 3, 2]")
        s = self.op("Div", self.op("MatMul", q, kt), self.number(HEAD ** 0.5))
        if mask:
            s = self.op("Add", s, mask)
        p = self.op("Softmax", s, attrs="axis = -1")
        return self.dense(self.join_heads(self.op("MatMul", p, v)), WIDTH, WIDTH)

    def gelu(self, x):
        e = self.op("Erf", self.op("Div", x, self.number(1.4142135381698608)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.number(1.0))),
                       self.number(0.5))

    def feed_forward(self, x):
        return self.dense(self.gelu(self.dense(x, WIDTH, 2 * WIDTH)), 2 * WIDTH, WIDTH)


def bert(layers=2):
    w = Writer()
    m = w.op("Unsqueeze", w.op("Unsqueeze", "mask", w.ints(1)), w.ints(2))
    m = w.op("Mul", w.op("Sub", w.number(1.0), w.op("Cast", m, attrs="to = 1")), w.number(-10000.0))
    x = w.layer_norm(w.op("Gather", w.weight(30, WIDTH), "ids"))
    for _ in range(layers):
        x = w.layer_norm(w.op("Add", w.attention(x, m), x))
        x = w.layer_norm(w.op("Add", w.feed_forward(x), x))
    w.op("Identity", x)
    return w.text("bert", 14, ["int64[batch,seq] ids", "int64[batch,seq] mask"],
                  ["float[batch,seq,%d] identity_%d" % (WIDTH, w.count)])


def vit(layers=2):
    w = Writer()
    p = w.op("Conv", "image", w.weight(WIDTH, 3, 4, 4), w.weight(WIDTH),
             attrs="kernel_shape = [4, 4], strides = [4, 4]")
    to = w.op("Concat", w.dim(p, 0), w.dim(p, 1), w.ints(-1), attrs="axis = 0")
    x = w.op("Transpose", w.op("Reshape", p, to), attrs="perm = [0, 2, 1]")
    cls = w.op("Expand", w.weight(1, 1, WIDTH),
               w.op("Concat", w.dim("image", 0), w.ints(1), w.ints(WIDTH), attrs="axis = 0"))
    x = w.op("Add", w.op("Concat", cls, x, attrs="axis = 1"), w.weight(1, 5, WIDTH))
    for _ in range(layers):
        x = w.op("Add", x, w.attention(w.layer_norm(x)))
        x = w.op("Add", x, w.feed_forward(w.layer_norm(x)))
    w.op("Identity", w.layer_norm(x))
    return w.text("vit", 14, ["float[batch,3,8,8] image"],
                  ["float[batch,5,%d] identity_%d" % (WIDTH, w.count)])


def llama(layers=2):
    w = Writer()
    x = w.op("Gather", w.weight(30, WIDTH), "ids")
    f = w.op("Mul", w.op("Unsqueeze", w.op("Cast", "position", attrs="to = 1"), w.ints(2)),
             w.weight(1, 1, HEAD // 2))
    angles = w.op("Concat", f, f, attrs="axis = -1")
    cos = w.op("Unsqueeze", w.op("Cos", angles), w.ints(1))
    sin = w.op("Unsqueeze", w.op("Sin", angles), w.ints(1))

    def turn(v):
        a = w.op("Slice", v, w.ints(0), w.ints(HEAD // 2), w.ints(3), w.ints(1))
        b = w.op("Slice", v, w.ints(HEAD // 2), w.ints(9223372036854775807), w.ints(3), w.ints(1))
        turned = w.op("Concat", w.op("Neg", b), a, attrs="axis = -1")
        return w.op("Add", w.op("Mul", v, cos), w.op("Mul", turned, sin))

    for _ in range(layers):
        x = w.op("Add", x, w.attention(w.rms_norm(x), "causal", turn))
        n = w.rms_norm(x)
        gate = w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH))
        gate = w.op("Mul", gate, w.op("Sigmoid", gate))
        up = w.op("Mul", gate, w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH)))
        x = w.op("Add", x, w.op("MatMul", up, w.weight(2 * WIDTH, WIDTH)))
    w.op("Identity", w.rms_norm(x))
    return w.text("llama", 14, ["int64[batch,seq] ids", "int64[batch,seq] position",
                                "float[batch,1,seq,seq] causal"],
                  ["float[batch,seq,%d] identity_%d" % (WIDTH, w.count)])


BLOCKS = {"bert": bert, "vit": vit, "llama": llama}
