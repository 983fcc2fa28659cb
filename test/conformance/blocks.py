# SPDX-License-Identifier: Apache-2.0
"""Blocks of transformers as exporters write them, in ONNX text: encoders, decoders, images, detectors
and quantized ones."""

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


def repeated(w, x, times):
    """Heads of keys and values, each as often as queries share it (repeat_kv)."""
    to = w.op("Concat", w.dim(x, 0), w.dim(x, 1), w.ints(times), w.dim(x, 2), w.dim(x, 3),
              attrs="axis = 0")
    many = w.op("Expand", w.op("Unsqueeze", x, w.ints(2)), to)
    flat = w.op("Concat", w.dim(x, 0), w.ints(HEADS), w.dim(x, 2), w.dim(x, 3), attrs="axis = 0")
    return w.op("Reshape", many, flat)


def grouped(w, x, turn, mask, biased):
    """Attention in which queries share keys; biased: as Qwen has it."""
    def dense(width):
        product = w.op("MatMul", x, w.weight(WIDTH, width))
        return w.op("Add", product, w.weight(width)) if biased else product

    def heads(v, count):
        to = w.op("Concat", w.dim(x, 0), w.dim(x, 1), w.ints(count), w.ints(HEAD), attrs="axis = 0")
        return w.op("Transpose", w.op("Reshape", v, to), attrs="perm = [0, 2, 1, 3]")

    q, k, v = heads(dense(WIDTH), HEADS), heads(dense(HEAD), 1), heads(dense(HEAD), 1)
    q, k = turn(q), turn(k)
    k, v = repeated(w, k, HEADS), repeated(w, v, HEADS)
    kt = w.op("Transpose", k, attrs="perm = [0, 1, 3, 2]")
    s = w.op("Mul", w.op("MatMul", q, kt), w.number(HEAD ** -0.5))
    p = w.op("Softmax", w.op("Add", s, mask), attrs="axis = -1")
    p = w.op("Cast", w.op("Cast", p, attrs="to = 1"), attrs="to = 1")
    return w.op("MatMul", w.join_heads(w.op("MatMul", p, v)), w.weight(WIDTH, WIDTH))


def turning(w):
    """RotaryEmbedding of halves, by the positions that are an input."""
    f = w.op("Mul", w.op("Unsqueeze", w.op("Cast", "position", attrs="to = 1"), w.ints(2)),
             w.weight(1, 1, HEAD // 2))
    angles = w.op("Concat", f, f, attrs="axis = -1")
    cos = w.op("Unsqueeze", w.op("Mul", w.op("Cos", angles), w.number(1.0)), w.ints(1))
    sin = w.op("Unsqueeze", w.op("Mul", w.op("Sin", angles), w.number(1.0)), w.ints(1))

    def turn(v):
        a = w.op("Slice", v, w.ints(0), w.ints(HEAD // 2), w.ints(3), w.ints(1))
        b = w.op("Slice", v, w.ints(HEAD // 2), w.ints(9223372036854775807), w.ints(3), w.ints(1))
        turned = w.op("Concat", w.op("Neg", b), a, attrs="axis = -1")
        return w.op("Add", w.op("Mul", v, cos), w.op("Mul", turned, sin))
    return turn


DECODER = (["int64[batch,seq] ids", "int64[batch,seq] position", "float[batch,1,seq,seq] causal"],)


def qwen(layers=2):
    w = Writer()
    x, turn = w.op("Gather", w.weight(30, WIDTH), "ids"), turning(w)
    for _ in range(layers):
        x = w.op("Add", x, grouped(w, w.rms_norm(x), turn, "causal", True))
        n = w.rms_norm(x)
        gate = w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH))
        gate = w.op("Mul", gate, w.op("Sigmoid", gate))
        up = w.op("Mul", gate, w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH)))
        x = w.op("Add", x, w.op("MatMul", up, w.weight(2 * WIDTH, WIDTH)))
    w.op("Identity", w.rms_norm(x))
    return w.text("qwen", 14, *DECODER, ["float[batch,seq,%d] identity_%d" % (WIDTH, w.count)])


def gemma(layers=2):
    """Norms with 1 + weight, Gelu by Tanh, an embedding that is scaled."""
    w = Writer()

    def norm(x):
        q = w.op("ReduceMean", w.op("Pow", x, w.number(2.0)), attrs="axes = [-1]")
        s = w.op("Sqrt", w.op("Add", q, w.number(1e-6)))
        n = w.op("Mul", x, w.op("Div", w.number(1.0), s))
        return w.op("Mul", n, w.op("Add", w.weight(WIDTH), w.number(1.0)))

    def gelu(x):
        c = w.op("Mul", w.op("Pow", x, w.number(3.0)), w.number(0.044715))
        t = w.op("Tanh", w.op("Mul", w.op("Add", x, c), w.number(0.7978845608028654)))
        return w.op("Mul", w.op("Mul", w.number(0.5), x), w.op("Add", t, w.number(1.0)))

    x = w.op("Mul", w.op("Gather", w.weight(30, WIDTH), "ids"), w.number(4.0))
    turn = turning(w)
    for _ in range(layers):
        x = w.op("Add", x, grouped(w, norm(x), turn, "causal", False))
        n = norm(x)
        up = w.op("Mul", gelu(w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH))),
                  w.op("MatMul", n, w.weight(WIDTH, 2 * WIDTH)))
        x = w.op("Add", x, w.op("MatMul", up, w.weight(2 * WIDTH, WIDTH)))
    w.op("Identity", norm(x))
    return w.text("gemma", 14, *DECODER, ["float[batch,seq,%d] identity_%d" % (WIDTH, w.count)])


def in_batch(w, q, k, v):
    """Attention with heads in the batch, queries scaled before (BART, Whisper, DETR)."""
    def heads(x, scaled):
        if scaled:
            x = w.op("Mul", x, w.number(HEAD ** -0.5))
        to = w.op("Concat", w.dim(x, 0), w.ints(-1), w.ints(HEADS), w.ints(HEAD), attrs="axis = 0")
        t = w.op("Transpose", w.op("Reshape", x, to), attrs="perm = [0, 2, 1, 3]")
        return w.op("Reshape", t, w.ints(-1, 5, HEAD))

    q = heads(w.dense(q, WIDTH, WIDTH), True)
    k = heads(w.op("MatMul", k, w.weight(WIDTH, WIDTH)), False)
    v = heads(w.dense(v, WIDTH, WIDTH), False)
    s = w.op("MatMul", q, w.op("Transpose", k, attrs="perm = [0, 2, 1]"))
    y = w.op("MatMul", w.op("Softmax", s, attrs="axis = -1"), v)
    y = w.op("Reshape", y, w.ints(-1, HEADS, 5, HEAD))
    y = w.op("Reshape", w.op("Transpose", y, attrs="perm = [0, 2, 1, 3]"), w.ints(-1, 5, WIDTH))
    return w.dense(y, WIDTH, WIDTH)


def whisper(layers=2):
    w = Writer()
    x = w.gelu(w.op("Conv", "audio", w.weight(WIDTH, 3, 3), w.weight(WIDTH),
                    attrs="kernel_shape = [3], pads = [1, 1]"))
    x = w.gelu(w.op("Conv", x, w.weight(WIDTH, WIDTH, 3), w.weight(WIDTH),
                    attrs="kernel_shape = [3], pads = [1, 1], strides = [2]"))
    x = w.op("Add", w.op("Transpose", x, attrs="perm = [0, 2, 1]"), w.weight(5, WIDTH))
    for _ in range(layers):
        n = w.layer_norm(x)
        x = w.op("Add", x, in_batch(w, n, n, n))
        x = w.op("Add", x, w.feed_forward(w.layer_norm(x)))
    w.op("Identity", w.layer_norm(x))
    return w.text("whisper", 14, ["float[batch,3,10] audio"],
                  ["float[batch,5,%d] identity_%d" % (WIDTH, w.count)])


def detr(layers=2):
    """Positions are added to queries and keys of each layer; cross attention after it."""
    w = Writer()
    x = "target"
    for _ in range(layers):
        q = w.op("Add", x, "place")
        x = w.layer_norm(w.op("Add", x, in_batch(w, q, q, x)))
        y = in_batch(w, w.op("Add", x, "place"), w.op("Add", "memory", "place"), "memory")
        x = w.layer_norm(w.op("Add", x, y))
        h = w.op("Relu", w.dense(x, WIDTH, 2 * WIDTH))
        x = w.layer_norm(w.op("Add", x, w.dense(h, 2 * WIDTH, WIDTH)))
    w.op("Identity", x)
    return w.text("detr", 14, ["float[batch,5,%d] %s" % (WIDTH, name)
                               for name in ("target", "place", "memory")],
                  ["float[batch,5,%d] identity_%d" % (WIDTH, w.count)])


def sam(layers=2):
    """Queries, keys and values of one product, which a Transpose and Gather take apart."""
    w = Writer()
    x = "image"
    for _ in range(layers):
        qkv = w.dense(w.layer_norm(x), WIDTH, 3 * WIDTH)
        qkv = w.op("Reshape", qkv, w.op("Concat", w.dim(qkv, 0), w.ints(9), w.ints(3),
                                        w.ints(HEADS), w.ints(HEAD), attrs="axis = 0"))
        qkv = w.op("Transpose", qkv, attrs="perm = [2, 0, 3, 1, 4]")
        q, k, v = (w.op("Gather", qkv, w.ints(i, scalar=True), attrs="axis = 0") for i in range(3))
        kt = w.op("Transpose", k, attrs="perm = [0, 1, 3, 2]")
        s = w.op("MatMul", w.op("Mul", q, w.number(HEAD ** -0.5)), kt)
        rows = w.op("MatMul", q, w.weight(HEAD, 9))
        p = w.op("Softmax", w.op("Add", s, rows), attrs="axis = -1")
        x = w.op("Add", x, w.dense(w.join_heads(w.op("MatMul", p, v)), WIDTH, WIDTH))
        x = w.op("Add", x, w.feed_forward(w.layer_norm(x)))
    w.op("Identity", x)
    return w.text("sam", 14, ["float[batch,9,%d] image" % WIDTH],
                  ["float[batch,9,%d] identity_%d" % (WIDTH, w.count)])


def yolo(layers=2):
    """Attention over positions of an image, between convolutions (C2PSA of YOLO 11)."""
    w = Writer()
    x = "image"
    for _ in range(layers):
        c = w.op("Conv", x, w.weight(2 * WIDTH, WIDTH, 1, 1), w.weight(2 * WIDTH))
        r = w.op("Reshape", c, w.op("Concat", w.dim(c, 0), w.ints(HEADS), w.ints(WIDTH), w.ints(16),
                                    attrs="axis = 0"))
        q, k, v = w.op("Split", r, w.ints(HEAD // 2, HEAD // 2, HEAD), attrs="axis = 2", outs=3)
        s = w.op("MatMul", w.op("Transpose", q, attrs="perm = [0, 1, 3, 2]"), k)
        p = w.op("Softmax", w.op("Mul", s, w.number((HEAD // 2) ** -0.5)), attrs="axis = -1")
        y = w.op("MatMul", v, w.op("Transpose", p, attrs="perm = [0, 1, 3, 2]"))
        to = w.op("Concat", w.dim(c, 0), w.ints(WIDTH), w.ints(4), w.ints(4), attrs="axis = 0")
        y = w.op("Reshape", y, to)
        place = w.op("Conv", w.op("Reshape", v, to), w.weight(WIDTH, 1, 3, 3), w.weight(WIDTH),
                     attrs="group = %d, pads = [1, 1, 1, 1]" % WIDTH)
        y = w.op("Conv", w.op("Add", y, place), w.weight(WIDTH, WIDTH, 1, 1), w.weight(WIDTH))
        x = w.op("Add", x, y)
        h = w.op("Conv", x, w.weight(2 * WIDTH, WIDTH, 1, 1), w.weight(2 * WIDTH))
        h = w.op("Mul", h, w.op("Sigmoid", h))
        x = w.op("Add", x, w.op("Conv", h, w.weight(WIDTH, 2 * WIDTH, 1, 1), w.weight(WIDTH)))
    w.op("Identity", x)
    return w.text("yolo", 14, ["float[batch,%d,4,4] image" % WIDTH],
                  ["float[batch,%d,4,4] identity_%d" % (WIDTH, w.count)])


def quantized(layers=2):
    """Products, sums and activations between DequantizeLinear and QuantizeLinear, as ONNX Runtime's
    quantizer writes them."""
    w = Writer()

    def pair(x, scale=0.02):
        s, z = w.number(scale), "zero"
        return w.op("DequantizeLinear", w.op("QuantizeLinear", x, s, z), s, z)

    def weight(*dims):
        data = [(7 * i + 3 * w.count) % 201 - 100 for i in range(dims[0] * dims[1])]
        name = w.name("q")
        w.inits.append("int8[%d, %d] %s = {%s}" % (*dims, name, ", ".join(map(str, data))))
        return w.op("DequantizeLinear", name, w.number(0.01), "none")

    w.inits += ["uint8 zero = {128}", "int8 none = {0}"]
    x = pair("x")
    for _ in range(layers):
        h = pair(w.op("MatMul", x, weight(WIDTH, WIDTH)))
        h = pair(w.op("Add", h, w.weight(WIDTH)))
        h = pair(w.op("Sigmoid", h), 0.004)
        t = w.op("Transpose", w.op("Reshape", h, w.ints(0, -1, HEADS, HEAD)),
                 attrs="perm = [0, 2, 1, 3]")
        t = w.op("Transpose", pair(t, 0.004), attrs="perm = [0, 2, 1, 3]")
        h = pair(w.op("Reshape", t, w.ints(0, -1, WIDTH)), 0.004)
        x = pair(w.op("Add", x, h))
    w.op("Identity", x)
    return w.text("quantized", 14, ["float[batch,seq,%d] x" % WIDTH],
                  ["float[batch,seq,%d] identity_%d" % (WIDTH, w.count)])


BLOCKS = {f.__name__: f for f in (bert, vit, llama, qwen, gemma, whisper, detr, sam, yolo, quantized)}
