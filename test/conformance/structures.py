# SPDX-License-Identifier: Apache-2.0
"""Standard structures as exporters write them, in ONNX text, with tiny weights: classifiers,
detectors, segmentation, transformers, audio, recurrent networks. structures.py DIR writes each as
DIR/NAME.onnxtxt."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import blocks

IMAGE = ["float[1,3,32,32] image"]


class Net(blocks.Writer):
    """Values are names; `conv` and the like add their weights."""

    def conv(self, x, cin, cout, k=3, s=1, group=1, pads=None, dilation=1, bias=True, attrs=True):
        p = k // 2 * dilation if pads is None else pads
        text = ("dilations = [%d, %d], group = %d, kernel_shape = [%d, %d], pads = [%d, %d, %d, %d], "
                "strides = [%d, %d]" % (dilation, dilation, group, k, k, p, p, p, p, s, s))
        ins = [x, self.weight(cout, cin // group, k, k)] + ([self.weight(cout)] if bias else [])
        return self.op("Conv", *ins, attrs=text if attrs else "")

    def conv1(self, x, cin, cout, k=3, s=1, pads=1):
        return self.op("Conv", x, self.weight(cout, cin, k), self.weight(cout),
                       attrs="kernel_shape = [%d], pads = [%d, %d], strides = [%d]" % (k, pads, pads, s))

    def relu(self, x):
        return self.op("Relu", x)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def batch_norm(self, x, c):
        pos = self.name("var")
        self.inits.append("float[%d] %s = {%s}" % (c, pos, ", ".join(["1.5"] * c)))
        return self.op("BatchNormalization", x, self.weight(c), self.weight(c), self.weight(c), pos,
                       attrs="epsilon = 1e-05, momentum = 0.9")

    def max_pool(self, x, k=2, s=2, p=0, dilations=False, ceil=False):
        text = "kernel_shape = [%d, %d], pads = [%d, %d, %d, %d], strides = [%d, %d]" % (
            k, k, p, p, p, p, s, s)
        if dilations:
            text += ", dilations = [1, 1], storage_order = 0"
        if ceil:
            text += ", ceil_mode = 1"
        return self.op("MaxPool", x, attrs=text)

    def head(self, x, c, classes=10):
        x = self.op("Flatten", self.op("GlobalAveragePool", x), attrs="axis = 1")
        return self.gemm(x, c, classes)

    def gemm(self, x, cin, cout):
        return self.op("Gemm", x, self.weight(cout, cin), self.weight(cout),
                       attrs="alpha = 1.0, beta = 1.0, transB = 1")

    def clip6(self, x):
        return self.op("Clip", x, self.number(0.0), self.number(6.0))

    def resize(self, x, scale, mode="nearest"):
        name = self.name("scales")
        self.inits.append("float[4] %s = {1.0, 1.0, %r, %r}" % (name, scale, scale))
        how = ("coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\""
               if mode == "nearest" else "coordinate_transformation_mode = \"half_pixel\"")
        return self.op("Resize", x, "", name, attrs="%s, mode = \"%s\"" % (how, mode))

    def up(self, x, cin, cout):
        return self.op("ConvTranspose", x, self.weight(cin, cout, 2, 2), self.weight(cout),
                       attrs="dilations = [1, 1], group = 1, kernel_shape = [2, 2], "
                             "pads = [0, 0, 0, 0], strides = [2, 2]")

    def squeeze_excite(self, x, c, gate):
        s = self.op("GlobalAveragePool", x)
        s = self.relu(self.conv(s, c, 4, k=1))
        return self.op("Mul", x, gate(self.conv(s, 4, c, k=1)))

    def slice(self, x, start, end, axis, step=1):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def layer(self, x, opset):
        """LayerNormalization, or its parts below opset 17."""
        if opset >= 17:
            return self.op("LayerNormalization", x, self.weight(blocks.WIDTH),
                           self.weight(blocks.WIDTH), attrs="axis = -1, epsilon = 1e-05")
        return self.layer_norm(x)

    def done(self, name, opset, ins, *outs):
        """`outs`: (value, declared dims, element type)."""
        made = []
        for value, dims, kind in outs:
            out = self.name("out")
            self.nodes = [re.sub(r"\b%s\b" % value, out, n) for n in self.nodes]
            made.append("%s[%s] %s" % (kind, dims, out))
        return self.text(name, opset, ins, made)


def classes(w, name, x, c, opset=13, batch="1"):
    return w.done(name, opset, ["float[%s,3,32,32] image" % batch], (w.head(x, c), batch + ",10", "float"))


# --- classifiers ---

def mnist():
    """Of the ONNX model zoo: opset 8, auto_pad, few attributes."""
    w = Net()
    x = w.op("Conv", "image", w.weight(4, 1, 5, 5), attrs='kernel_shape = [5, 5], auto_pad = "SAME_UPPER"')
    x = w.relu(w.op("Add", x, w.weight(4, 1, 1)))
    x = w.op("MaxPool", x, attrs='kernel_shape = [2, 2], strides = [2, 2], auto_pad = "NOTSET"')
    x = w.op("Reshape", x, w.ints(1, 784))
    x = w.op("Add", w.op("MatMul", x, w.weight(784, 10)), w.weight(1, 10))
    return w.done("mnist", 8, ["float[1,1,28,28] image"], (x, "1,10", "float"))


def alexnet():
    w = Net()
    x = w.max_pool(w.relu(w.conv("image", 3, 4, k=5, s=2)), k=3)
    x = w.op("AveragePool", x, attrs="kernel_shape = [2, 2], strides = [2, 2]")
    x = w.op("Flatten", x, attrs="axis = 1")
    x = w.relu(w.gemm(x, 36, 8))
    return w.done("alexnet", 13, IMAGE, (w.gemm(x, 8, 10), "1,10", "float"))


def vgg():
    w = Net()
    x = w.relu(w.conv(w.relu(w.conv("image", 3, 4)), 4, 4))
    return classes(w, "vgg", w.max_pool(x), 4)


def resnet(name="resnet18", opset=13, norm=False, batch="1", plain=False):
    w = Net()
    n = (lambda x: w.batch_norm(x, 4)) if norm else (lambda x: x)
    conv = lambda x, cin, **k: n(w.conv(x, cin, 4, attrs=not plain, pads=0 if plain else None, **k))
    x = w.max_pool(w.relu(conv("image", 3)), k=3, p=1)
    y = conv(w.relu(conv(x, 4, k=1 if plain else 3)), 4, k=1 if plain else 3)
    x = w.relu(w.op("Add", y, x))
    return classes(w, name, x, 4, opset, batch)


def densenet():
    w = Net()
    x = w.conv("image", 3, 4)
    y = w.conv(w.relu(w.batch_norm(x, 4)), 4, 4)
    x = w.relu(w.batch_norm(w.op("Concat", x, y, attrs="axis = 1"), 8))
    x = w.op("AveragePool", w.conv(x, 8, 4, k=1), attrs="kernel_shape = [2, 2], strides = [2, 2]")
    return classes(w, "densenet", x, 4)


def mobilenet_v2():
    w = Net()
    x = w.clip6(w.conv("image", 3, 8))
    y = w.conv(w.clip6(w.conv(x, 8, 8, group=8)), 8, 8, k=1)
    return classes(w, "mobilenet_v2", w.op("Add", x, y), 8)


def mobilenet_v3():
    w = Net()
    x = w.op("HardSwish", w.conv("image", 3, 8))
    x = w.squeeze_excite(x, 8, lambda s: w.op("HardSigmoid", s, attrs="alpha = 0.1666667, beta = 0.5"))
    return classes(w, "mobilenet_v3", x, 8, 14)


def efficientnet():
    w = Net()
    x = w.silu(w.conv("image", 3, 8))
    x = w.squeeze_excite(w.silu(w.conv(x, 8, 8, group=8)), 8, lambda s: w.op("Sigmoid", s))
    return classes(w, "efficientnet", x, 8)


def squeezenet():
    w = Net()
    x = w.max_pool(w.relu(w.conv("image", 3, 4)), ceil=True)
    x = w.op("Concat", w.relu(w.conv(x, 4, 4, k=1)), w.relu(w.conv(x, 4, 4)), attrs="axis = 1")
    return classes(w, "squeezenet", x, 8)


def shufflenet():
    w = Net()
    x = w.conv("image", 3, 8)
    a, b = w.op("Split", x, w.ints(4, 4), attrs="axis = 1", outs=2)
    x = w.op("Concat", a, w.relu(w.conv(b, 4, 4)), attrs="axis = 1")
    x = w.op("Reshape", x, w.ints(1, 2, 4, 32, 32))
    x = w.op("Reshape", w.op("Transpose", x, attrs="perm = [0, 2, 1, 3, 4]"), w.ints(1, 8, 32, 32))
    return classes(w, "shufflenet", x, 8)


def googlenet():
    w = Net()
    r = w.op("Unsqueeze", w.op("Gather", "image", w.ints(0, scalar=True), attrs="axis = 1"), w.ints(1))
    r = w.op("Add", w.op("Mul", r, w.number(0.458)), w.number(-0.03))
    x = w.relu(w.conv(r, 1, 4))
    p = w.max_pool(x, k=3, s=1, p=1)
    a = w.op("AveragePool", x, attrs="kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1], "
                                     "count_include_pad = 1")
    return classes(w, "googlenet", w.op("Concat", p, a, w.conv(x, 4, 4, k=1), attrs="axis = 1"), 12)


def convnext(name="convnext", opset=13):
    w = Net()
    x = w.conv("image", 3, 16)
    y = w.op("Transpose", w.conv(x, 16, 16, group=16), attrs="perm = [0, 2, 3, 1]")
    y = w.feed_forward(w.layer(y, opset))
    y = w.op("Mul", w.op("Transpose", y, attrs="perm = [0, 3, 1, 2]"), w.weight(16, 1, 1))
    return classes(w, name, w.op("Add", x, y), 16, opset)


def swin(name="swin", opset=13):
    """Windows of a shifted grid, a mask, a table of relative positions, all sizes fixed."""
    w = Net()
    x = w.op("Transpose", w.conv("image", 3, 16, k=4, s=4, pads=0), attrs="perm = [0, 2, 3, 1]")
    n = w.layer(x, opset)
    n = w.op("Concat", w.slice(n, 2, 9223372036854775807, 1), w.slice(n, 0, 2, 1), attrs="axis = 1")
    n = w.op("Reshape", n, w.ints(1, 2, 4, 2, 4, 16))
    n = w.op("Reshape", w.op("Transpose", n, attrs="perm = [0, 1, 3, 2, 4, 5]"), w.ints(4, 16, 16))
    q, k, v = (w.op("Transpose", w.op("Reshape", w.dense(n, 16, 16), w.ints(4, 16, 2, 8)),
                    attrs="perm = [0, 2, 1, 3]") for _ in "qkv")
    s = w.op("MatMul", w.op("Mul", q, w.number(0.35)), w.op("Transpose", k, attrs="perm = [0, 1, 3, 2]"))
    table = w.op("Reshape", w.op("Gather", w.weight(49, 2), w.ints(*range(16))), w.ints(4, 4, 2))
    bias = w.op("Unsqueeze", w.op("Transpose", w.op("Tile", table, w.ints(4, 4, 1)),
                                  attrs="perm = [2, 0, 1]"), w.ints(0))
    p = w.op("Softmax", w.op("Add", s, bias), attrs="axis = -1")
    y = w.op("Reshape", w.op("Transpose", w.op("MatMul", p, v), attrs="perm = [0, 2, 1, 3]"),
             w.ints(4, 16, 16))
    y = w.op("Reshape", w.dense(y, 16, 16), w.ints(1, 2, 2, 4, 4, 16))
    y = w.op("Reshape", w.op("Transpose", y, attrs="perm = [0, 1, 3, 2, 4, 5]"), w.ints(1, 8, 8, 16))
    x = w.op("Add", x, y)
    x = w.op("ReduceMean", w.op("Add", x, w.feed_forward(w.layer(x, opset))), attrs="axes = [1, 2], keepdims = 0")
    return w.done(name, opset, IMAGE, (w.gemm(x, 16, 10), "1,10", "float"))


# --- text ---

def bert_17():
    w = Net()
    m = w.op("Unsqueeze", w.op("Unsqueeze", "mask", w.ints(1)), w.ints(2))
    m = w.op("Mul", w.op("Sub", w.number(1.0), w.op("Cast", m, attrs="to = 1")), w.number(-10000.0))
    x = w.layer(w.op("Gather", w.weight(30, 16), "ids"), 17)
    x = w.layer(w.op("Add", w.attention(x, m), x), 17)
    x = w.layer(w.op("Add", w.feed_forward(x), x), 17)
    return w.done("bert_17", 17, ["int64[1,8] ids", "int64[1,8] mask"], (x, "1,8,16", "float"))


def gpt(name="gpt", opset=13, seq="seq", folded=False):
    """Positions and causal mask computed from the length; axes of Slice made by Unsqueeze."""
    w = Net()
    axis = lambda a: (w.ints(a) if folded else
                      w.op("Unsqueeze", w.ints(a, scalar=True), w.ints(0)))
    length = w.op("Gather", w.op("Shape", "ids"), w.ints(1, scalar=True), attrs="axis = 0")
    pos = w.op("Unsqueeze", w.op("Range", w.ints(0, scalar=True), length, w.ints(1, scalar=True)), w.ints(0))
    x = w.op("Add", w.op("Gather", w.weight(30, 16), "ids"), w.op("Gather", w.weight(16, 16), pos))
    ones = w.name("full")
    w.inits.append("bool[1,1,16,16] %s = {%s}" % (ones, ", ".join(
        "1" if j <= i else "0" for i in range(16) for j in range(16))))
    last = w.op("Unsqueeze", length, w.ints(0))
    mask = w.op("Slice", ones, w.ints(0), last, axis(2), w.ints(1))
    mask = w.op("Slice", mask, w.ints(0), last, axis(3), w.ints(1))
    n = w.layer(x, opset)
    q, k, v = (w.split_heads(w.dense(n, 16, 16), "[0, 2, 1, 3]") for _ in "qkv")
    s = w.op("Div", w.op("MatMul", q, w.op("Transpose", k, attrs="perm = [0, 1, 3, 2]")), w.number(2.828))
    p = w.op("Softmax", w.op("Where", mask, s, w.number(-10000.0)), attrs="axis = -1")
    x = w.op("Add", x, w.dense(w.join_heads(w.op("MatMul", p, v)), 16, 16))
    x = w.op("Add", x, w.feed_forward(w.layer(x, opset)))
    x = w.op("MatMul", w.layer(x, opset), w.weight(16, 30))
    return w.done(name, opset, ["int64[1,%s] ids" % seq], (x, "1,%s,30" % seq, "float"))


def lstm_text():
    w = Net()
    x = w.op("Transpose", w.op("Gather", w.weight(30, 8), "ids"), attrs="perm = [1, 0, 2]")
    shape = w.ints(1, 1, 8)
    zero = w.op("ConstantOfShape", shape, attrs="value = float[1] {0.0}")
    y, h, c = w.op("LSTM", x, w.weight(1, 32, 8), w.weight(1, 32, 8), w.weight(1, 64), "", zero, zero,
                   attrs="hidden_size = 8", outs=3)
    x = w.op("Squeeze", y, w.ints(1))
    x = w.op("Gather", x, w.ints(-1, scalar=True), attrs="axis = 0")
    return w.done("lstm_text", 13, ["int64[1,6] ids"], (w.gemm(x, 8, 4), "1,4", "float"))


def gru_both():
    w = Net()
    y, h = w.op("GRU", "x", w.weight(2, 24, 8), w.weight(2, 24, 8), w.weight(2, 48),
                attrs='direction = "bidirectional", hidden_size = 8, linear_before_reset = 1', outs=2)
    y = w.op("Reshape", w.op("Transpose", y, attrs="perm = [0, 2, 1, 3]"), w.ints(0, 0, -1))
    return w.done("gru_both", 13, ["float[6,1,8] x"], (y, "6,1,16", "float"))


def tabular():
    w = Net()
    x = w.gemm(w.relu(w.gemm("x", 8, 16)), 16, 3)
    return w.done("tabular", 13, ["float[batch,8] x"], (w.op("Softmax", x, attrs="axis = 1"), "batch,3", "float"))


# --- dense prediction ---

def unet(name="unet", transposed=True):
    w = Net()
    a = w.relu(w.conv("image", 3, 4))
    b = w.relu(w.conv(w.max_pool(a), 4, 8))
    u = w.up(b, 8, 4) if transposed else w.conv(w.resize(b, 2.0), 8, 4)
    x = w.conv(w.relu(w.conv(w.op("Concat", u, a, attrs="axis = 1"), 8, 4)), 4, 2, k=1)
    return w.done(name, 13, IMAGE, (x, "1,2,32,32", "float"))


def deeplab():
    """The size to resize to is read from the image."""
    w = Net()
    x = w.relu(w.conv("image", 3, 4, s=2))
    x = w.conv(w.op("Concat", w.conv(x, 4, 4, dilation=2), w.conv(x, 4, 4, k=1), attrs="axis = 1"), 8, 2, k=1)
    sizes = w.op("Concat", w.slice(w.op("Shape", x), 0, 2, 0), w.slice(w.op("Shape", "image"), 2, 4, 0),
                 attrs="axis = 0")
    x = w.op("Resize", x, "", "", sizes, attrs='coordinate_transformation_mode = "pytorch_half_pixel", '
                                               'mode = "linear"')
    m = w.op("ArgMax", x, attrs="axis = 1, keepdims = 0")
    return w.done("deeplab", 13, IMAGE, (x, "1,2,32,32", "float"), (m, "1,32,32", "int64"))


def super_resolution():
    w = Net()
    x = w.conv(w.relu(w.conv("y", 1, 4)), 4, 4)
    x = w.op("DepthToSpace", x, attrs='blocksize = 2, mode = "CRD"')
    return w.done("super_resolution", 13, ["float[1,1,16,16] y"], (x, "1,1,32,32", "float"))


def style():
    w = Net()
    x = w.op("Pad", "image", w.ints(0, 0, 2, 2, 0, 0, 2, 2), attrs='mode = "reflect"')
    x = w.op("InstanceNormalization", w.conv(x, 3, 4, pads=0), w.weight(4), w.weight(4))
    x = w.conv(w.resize(w.relu(x), 2.0), 4, 3)
    return w.done("style", 13, IMAGE, (w.op("Tanh", x), "1,3,68,68", "float"))


def generator():
    w = Net()
    x = w.op("Reshape", w.gemm("z", 8, 64), w.ints(-1, 4, 4, 4))
    x = w.op("LeakyRelu", w.batch_norm(w.up(x, 4, 4), 4), attrs="alpha = 0.2")
    x = w.op("PRelu", w.up(x, 4, 3), w.weight(3, 1, 1))
    return w.done("generator", 13, ["float[batch,8] z"], (w.op("Tanh", x), "batch,3,16,16", "float"))


def depth_old():
    """Opset 9: Upsample, Unsqueeze and Squeeze with attributes."""
    w = Net()
    x = w.conv("image", 3, 4, s=2)
    name = w.name("scales")
    w.inits.append("float[4] %s = {1.0, 1.0, 2.0, 2.0}" % name)
    x = w.op("Upsample", x, name, attrs='mode = "nearest"')
    x = w.op("Squeeze", w.op("Unsqueeze", w.conv(x, 4, 1), attrs="axes = [0]"), attrs="axes = [0]")
    return w.done("depth_old", 9, IMAGE, (w.op("Sigmoid", x), "1,1,32,32", "float"))


# --- detectors ---

def yolo(name="yolo", opset=13):
    w = Net()
    x = w.silu(w.conv("image", 3, 8, k=5, s=2))
    p = w.max_pool(x, k=5, s=1, p=2)
    x = w.silu(w.conv(w.op("Concat", x, p, w.max_pool(p, k=5, s=1, p=2), attrs="axis = 1"), 24, 8, k=1))
    y = w.op("Concat", w.resize(w.silu(w.conv(x, 8, 8, s=2)), 2.0), x, attrs="axis = 1")
    y = w.op("Reshape", w.conv(y, 16, 14, k=1), w.ints(1, 2, 7, 16, 16))
    y = w.op("Sigmoid", w.op("Transpose", y, attrs="perm = [0, 1, 3, 4, 2]"))
    xy, wh, rest = w.op("Split", y, w.ints(2, 2, 3), attrs="axis = 4", outs=3)
    xy = w.op("Mul", w.op("Add", w.op("Mul", xy, w.number(2.0)), w.weight(1, 2, 16, 16, 2)), w.number(2.0))
    wh = w.op("Mul", w.op("Pow", w.op("Mul", wh, w.number(2.0)), w.number(2.0)), w.weight(1, 2, 16, 16, 2))
    y = w.op("Reshape", w.op("Concat", xy, wh, rest, attrs="axis = 4"), w.ints(1, 512, 7))
    return w.done(name, opset, IMAGE, (y, "1,512,7", "float"))


def yolo_nms():
    w = Net()
    x = w.conv("image", 3, 6, k=1, s=4, pads=0)
    x = w.op("Transpose", w.op("Reshape", x, w.ints(1, 6, 64)), attrs="perm = [0, 2, 1]")
    boxes = w.slice(x, 0, 4, 2)
    scores = w.op("Transpose", w.slice(x, 4, 6, 2), attrs="perm = [0, 2, 1]")
    most = w.ints(10)
    name = w.name("limits")
    w.inits.append("float[1] %s_a = {0.5}, float[1] %s_b = {0.1}" % (name, name))
    kept = w.op("NonMaxSuppression", boxes, scores, most, name + "_a", name + "_b")
    return w.done("yolo_nms", 13, IMAGE, (boxes, "1,64,4", "float"), (kept, "n,3", "int64"))


def retina():
    w = Net()
    x = w.relu(w.conv("image", 3, 4, s=4))
    s = w.op("Reshape", w.op("Sigmoid", w.conv(x, 4, 2)), w.ints(1, -1))
    v, i = w.op("TopK", s, w.ints(20), attrs="axis = 1, largest = 1, sorted = 1", outs=2)
    flat = w.op("Reshape", w.op("Transpose", w.conv(x, 4, 8), attrs="perm = [0, 2, 3, 1]"), w.ints(-1, 4))
    boxes = w.op("Gather", flat, w.op("Squeeze", i, w.ints(0)), attrs="axis = 0")
    boxes = w.op("Exp", w.op("Clip", boxes, w.number(-4.0), w.number(4.0)))
    return w.done("retina", 13, IMAGE, (v, "1,20", "float"), (boxes, "20,4", "float"))


def faster_rcnn():
    w = Net()
    x = w.relu(w.conv("image", 3, 4, s=4))
    s = w.op("Reshape", w.op("Sigmoid", w.conv(x, 4, 1)), w.ints(-1))
    keep = w.op("Squeeze", w.op("Transpose", w.op("NonZero", w.op("Greater", s, w.number(0.5))),
                                attrs="perm = [1, 0]"), w.ints(1))
    boxes = w.op("Reshape", w.op("Transpose", w.conv(x, 4, 4), attrs="perm = [0, 2, 3, 1]"), w.ints(-1, 4))
    boxes = w.op("Gather", boxes, keep, attrs="axis = 0")
    n = w.op("Gather", w.op("Shape", boxes), w.ints(0), attrs="axis = 0")
    batch = w.op("ConstantOfShape", n, attrs="value = int64[1] {0}")
    r = w.op("RoiAlign", x, boxes, batch, attrs='mode = "avg", output_height = 2, output_width = 2, '
                                                'sampling_ratio = 2, spatial_scale = 0.25')
    y = w.gemm(w.op("Flatten", r, attrs="axis = 1"), 16, 3)
    return w.done("faster_rcnn", 13, IMAGE, (boxes, "n,4", "float"), (y, "n,3", "float"))


# --- audio, low precision ---

def wav2vec(name="wav2vec", opset=13):
    w = Net()
    x = w.conv1(w.op("Unsqueeze", "wave", w.ints(1)), 1, 16, k=10, s=5, pads=0)
    x = w.gelu(w.op("InstanceNormalization", x, w.weight(16), w.weight(16)))
    x = w.layer(w.op("Transpose", w.conv1(x, 16, 16), attrs="perm = [0, 2, 1]"), opset)
    x = w.op("Add", x, w.attention(x))
    return w.done(name, opset, ["float[1,400] wave"], (x, "1,79,16", "float"))


def vad(name="vad", opset=13):
    """Two sampling rates behind an If, state carried from call to call."""
    w = Net()

    def branch(tag, stride):
        v = Net()
        v.count = 1000 * (tag + 1)
        x = v.op("Unsqueeze", v.op("Pad", "wave", v.ints(0, 32, 0, 32), attrs='mode = "reflect"'), v.ints(1))
        x = v.op("Conv", x, v.weight(10, 1, 64), attrs="kernel_shape = [64], strides = [%d]" % stride)
        re, im = v.slice(x, 0, 5, 1), v.slice(x, 5, 10, 1)
        m = v.op("Sqrt", v.op("Add", v.op("Pow", re, v.number(2.0)), v.op("Pow", im, v.number(2.0))))
        f = v.relu(v.conv1(m, 5, 8))
        f = v.op("Transpose", f, attrs="perm = [2, 0, 1]")
        y, h, c = v.op("LSTM", f, v.weight(1, 32, 8), v.weight(1, 32, 8), v.weight(1, 64), "", "h0", "c0",
                       attrs="hidden_size = 8", outs=3)
        y = v.op("ReduceMean", v.op("Sigmoid", v.op("Squeeze", y, v.ints(1))), attrs="axes = [0], keepdims = 0")
        names = [v.op("Identity", z) for z in (y, h, c)]
        w.inits += v.inits
        return "b%d () => (%s) {\n%s\n}" % (tag, ", ".join(
            "float[%s] %s" % (d, z) for d, z in zip(("1,8", "1,1,8", "1,1,8"), names)),
            "\n".join("  " + n for n in v.nodes))

    is16 = w.op("Equal", "rate", w.ints(16000, scalar=True))
    outs = w.op("If", is16, attrs="then_branch = %s, else_branch = %s" % (branch(0, 32), branch(1, 16)), outs=3)
    return w.done(name, opset, ["float[1,512] wave", "int64 rate", "float[1,1,8] h0", "float[1,1,8] c0"],
                  (outs[0], "1,8", "float"), (outs[1], "1,1,8", "float"), (outs[2], "1,1,8", "float"))


def quantized(name="quantized", opset=13):
    w = Net()

    def fake(x):
        s, z = w.name("scale"), w.name("zero")
        w.inits.append("float %s = {0.05}, int8 %s = {0}" % (s, z))
        return w.op("DequantizeLinear", w.op("QuantizeLinear", x, s, z), s, z)

    x = w.relu(w.op("Conv", fake("image"), fake(w.weight(4, 3, 3, 3)), w.weight(4),
                    attrs="kernel_shape = [3, 3], pads = [1, 1, 1, 1]"))
    return classes(w, name, fake(x), 4, opset)


STRUCTURES = {
    "mnist": mnist, "alexnet": alexnet, "vgg": vgg, "resnet18": resnet,
    "resnet18_plain": lambda: resnet("resnet18_plain", plain=True),
    "resnet50_bn": lambda: resnet("resnet50_bn", 13, True, "batch"),
    "resnet18_9": lambda: resnet("resnet18_9", 9, True),
    "densenet": densenet, "mobilenet_v2": mobilenet_v2, "mobilenet_v3": mobilenet_v3,
    "efficientnet": efficientnet, "squeezenet": squeezenet, "shufflenet": shufflenet,
    "googlenet": googlenet, "convnext": convnext, "convnext_17": lambda: convnext("convnext_17", 17),
    "vit": blocks.vit, "swin": swin, "swin_17": lambda: swin("swin_17", 17), "bert": blocks.bert,
    "bert_17": bert_17, "gpt": gpt, "gpt_17": lambda: gpt("gpt_17", 17),
    "gpt_folded": lambda: gpt("gpt_folded", 13, "8", True), "llama": blocks.llama,
    "lstm_text": lstm_text, "gru_both": gru_both, "tabular": tabular, "unet": unet,
    "unet_resize": lambda: unet("unet_resize", False), "deeplab": deeplab,
    "super_resolution": super_resolution, "style": style, "generator": generator,
    "depth_old": depth_old, "yolo": yolo, "yolo_17": lambda: yolo("yolo_17", 17), "yolo_nms": yolo_nms,
    "retina": retina, "faster_rcnn": faster_rcnn, "wav2vec": wav2vec, "vad": vad,
    "vad_16": lambda: vad("vad_16", 16), "quantized": quantized,
}


def dated(text):
    """With the IR version that exporters wrote at the time of the opset."""
    opset = int(re.search(r'"" : (\d+)', text).group(1))
    ir = 4 if opset < 10 else 7 if opset < 15 else 8
    return text.replace("ir_version: 8", "ir_version: %d" % ir)


def write(folder):
    """The paths, in order."""
    paths = []
    for name, make in STRUCTURES.items():
        paths.append(os.path.join(folder, name + ".onnxtxt"))
        with open(paths[-1], "w") as f:
            f.write(dated(make()))
    return paths


if __name__ == "__main__":
    write(sys.argv[1])
