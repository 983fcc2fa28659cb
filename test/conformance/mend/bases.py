# SPDX-License-Identifier: Apache-2.0
"""Valid models, small and varied, as ONNX text: what broken models are made of."""
import random


def numbers(seed, n, low=-1.0, high=1.0):
    draw = random.Random(seed)
    return ", ".join("%.3f" % draw.uniform(low, high) for _ in range(n))


CNN = """<ir_version: 8, opset_import: ["" : %d]>
cnn (float[N, 3, 8, 8] image) => (float[N, 5] scores, float[N, 4, 4, 4] pooled) <
  float[4, 3, 3, 3] w1 = {""" + numbers(1, 108) + """}, float[4] b1 = {""" + numbers(2, 4) + """},
  float[4] scale = {1.5, 0.5, 1.0, 2.0}, float[4] shift = {0.0, 0.1, -0.1, 0.3},
  float[4] mean = {0.1, 0.2, 0.3, 0.4}, float[4] var = {1.0, 2.0, 0.5, 1.5},
  float[64, 5] w2 = {""" + numbers(3, 320) + """}, float[5] b2 = {""" + numbers(4, 5) + """},
  float[N, 4, 8, 8] c, float[N, 4, 8, 8] r
> {
  [conv] c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 1> (image, w1, b1)
  [norm] n = BatchNormalization <epsilon = 0.001> (c, scale, shift, mean, var)
  [act] r = LeakyRelu <alpha = 1.0> (n)
  [pool] pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 0> (r)
  [flat] f = Flatten <axis = 1> (pooled)
  [fc] logits = Gemm <alpha = 1.0, transB = 0> (f, w2, b2)
  [soft] scores = Softmax <axis = 1> (logits)
}
"""

BASES = {
    "cnn13": CNN % 13,
    "cnn9": (CNN % 9).replace("ir_version: 8", "ir_version: 4").replace(", ceil_mode = 0", ""),
    "block": """<ir_version: 8, opset_import: ["" : 17]>
block (float[B, S, 8] x) => (float[B, S, 8] y) <
  float[8] g = {""" + numbers(5, 8) + """}, float[8] b = {""" + numbers(6, 8) + """},
  float[8, 16] up = {""" + numbers(7, 128) + """}, float[16, 8] down = {""" + numbers(8, 128) + """},
  float half = {0.5}, float one = {1.0}, float root = {1.4142135}
> {
  [norm] n = LayerNormalization <axis = -1, epsilon = 0.00001> (x, g, b)
  [up] h = MatMul (n, up)
  [d] d = Div (h, root)
  [e] e = Erf (d)
  [p] p = Add (e, one)
  [m] m = Mul (h, p)
  [s] s = Mul (m, half)
  [down] o = MatMul (s, down)
  [sum] y = Add (x, o)
}
""",
    "attention": """<ir_version: 7, opset_import: ["" : 13]>
attention (float[2, 4, 8] x) => (float[2, 4, 8] y, float[2, 2, 4, 4] p) <
  float[8, 8] wq = {""" + numbers(9, 64) + """}, float[8, 8] wk = {""" + numbers(10, 64) + """},
  float[8, 8] wv = {""" + numbers(11, 64) + """}, int64[4] heads = {0, 0, 2, 4},
  int64[3] merged = {0, 0, 8}, float scale = {0.5}, bool[1, 1, 4, 4] mask = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1},
  float low = {-10000.0}
> {
  q = MatMul (x, wq)
  q4 = Reshape (q, heads)
  qt = Transpose <perm = [0, 2, 1, 3]> (q4)
  k = MatMul (x, wk)
  k4 = Reshape (k, heads)
  kt = Transpose <perm = [0, 2, 3, 1]> (k4)
  v = MatMul (x, wv)
  v4 = Reshape (v, heads)
  vt = Transpose <perm = [0, 2, 1, 3]> (v4)
  s = MatMul (qt, kt)
  sc = Mul (s, scale)
  ms = Where (mask, sc, low)
  p = Softmax <axis = -1> (ms)
  o = MatMul (p, vt)
  ot = Transpose <perm = [0, 2, 1, 3]> (o)
  y = Reshape (ot, merged)
}
""",
    "branches": """<ir_version: 8, opset_import: ["" : 15]>
branches (float[2, 3] x, bool flag) => (float[2, 3] y, float[2, 3] z) <
  float half = {0.5}, float[3] row = {1.0, 2.0, 3.0}
> {
  a = Abs (x)
  y0 = If (flag) <
    then_branch = yes () => (float[2, 3] t2) { t1 = Mul (a, half)  t2 = Add (t1, row) },
    else_branch = no () => (float[2, 3] e2) <float[1] two = {2.0}> { e1 = Sub (x, row)  e2 = Mul (e1, two) }
  >
  y = Neg (y0)
  z = Elu <alpha = 2.0> (y0)
}
""",
    "loop": """<ir_version: 8, opset_import: ["" : 16]>
loop (float[2, 2] x, float[2, 2] w) => (float[2, 2] y, float[K, 2, 2] all) <int64 trips = {3}, bool go = {1}> {
  s0 = Relu (x)
  y, all = Loop (trips, go, s0) <body = body (int64 i, bool c, float[2, 2] s) => (bool c2, float[2, 2] s2, float[2, 2] o) <float tenth = {0.1}> {
    c2 = Identity (c)
    m = MatMul (s, w)
    s2 = Mul (m, tenth)
    o = Neg (s2)
  }>
}
""",
    "function": """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
calls (float[4] x) => (float[4] y) <float[4] k = {1.0, -1.0, 0.5, 2.0}> {
  h = my.act <slope = 0.5> (x)
  g = my.mix (h, k)
  y = my.act <slope = 2.0> (g)
}
<domain: "my", opset_import: ["" : 17]>
act <slope> (a) => (b) { l = LeakyRelu <alpha: float = @slope> (a)  b = Tanh (l) }
<domain: "my", opset_import: ["" : 17]>
mix (a, b) => (c) { s = Add (a, b)  d = Sub (a, b)  m = Mul (s, d)  c = Sigmoid (m) }
""",
    "shapes": """<ir_version: 8, opset_import: ["" : 14]>
shapes (float[N, 4] x, int64[3] ids) => (float[M, 4] y, float[3, 4] picked, int64[R] r, float[N, 4] filled) <
  int64 zero = {0}, int64 one = {1}, int64 five = {5}, int64[1] z1 = {0}, int64[1] four = {4}, int64[1] minus = {-1}
> {
  s = Shape (x)
  n = Gather <axis = 0> (s, zero)
  n1 = Unsqueeze (n, z1)
  t = Concat <axis = 0> (n1, four)
  filled = ConstantOfShape <value = float[1] {1.5}> (t)
  sum = Add (x, filled)
  y = Reshape (sum, t)
  idf = Cast <to = 1> (ids)
  col = Unsqueeze (idf, four_axis)
  four_axis = Identity (one_axis)
  one_axis = Constant <value = int64[1] {1}> ()
  wide = Tile (col, reps)
  reps = Concat <axis = 0> (one_axis, four)
  picked = Sin (wide)
  r = Range (zero, five, one)
}
""",
    "picks": """<ir_version: 8, opset_import: ["" : 13]>
picks (float[3, 6] x) => (float[3, 2] top, int64[3, 2] at, float[3, 3] cut, float[3] least, float[3, 6, 1] deep, float[3, 6] sums) <
  int64[1] k = {2}, int64[1] starts = {1}, int64[1] ends = {6}, int64[1] axes = {1}, int64[1] steps = {2},
  int64[1] last = {2}, int64 axis = {1}, float low = {-0.5}, float high = {0.5}
> {
  top, at = TopK <axis = 1, largest = 1, sorted = 1> (x, k)
  cut = Slice (x, starts, ends, axes, steps)
  least = ReduceMin <axes = [1], keepdims = 0> (x)
  c = Clip (x, low, high)
  deep = Unsqueeze (c, last)
  flat = Squeeze (deep, last)
  sums = CumSum (flat, axis)
}
""",
    "quant": """<ir_version: 8, opset_import: ["" : 13]>
quant (float[2, 4] x) => (float[2, 3] y, int32[2, 3] acc, int8[3] kept) <
  float s = {0.05}, uint8 z = {128}, int8[4, 3] w = {1, -2, 3, 4, -5, 6, 7, -8, 9, -10, 11, -12}, float ws = {0.1}, int8 wz = {0},
  float ys = {0.2}, uint8 yz = {100}, int8[3] extra = {-1, 0, 127}
> {
  q = QuantizeLinear (x, s, z)
  p = QLinearMatMul (q, s, z, w, ws, wz, ys, yz)
  y = DequantizeLinear (p, ys, yz)
  acc = MatMulInteger (q, w, z)
  kept = Identity (extra)
}
""",
    "bools": """<ir_version: 8, opset_import: ["" : 12]>
bools (float[4] x, bool[4] m) => (float[4] y, bool[4] n, int32[4] i) <
  bool[4] fixed = {1, 0, 1, 0}, float[4] other = {1.0, 2.0, 3.0, 4.0}, int32[4] ints = {7, -8, 9, -10}, float limit = {0.25}
> {
  o = And (m, fixed)
  n = Not (o)
  g = Greater (x, limit)
  both = Or (n, g)
  w = Where (both, x, other)
  y = Selu <alpha = 2.0, gamma = 1.0> (w)
  ci = Cast <to = 6> (x)
  i = Mul (ci, ints)
}
""",
    "old": """<ir_version: 3, opset_import: ["" : 8]>
old (float[1, 2, 4, 4] x, float[2, 2, 1, 1] w = {1.0, 0.5, -0.5, 2.0}, float[2] s = {1.0, 2.0}, float[2] b = {0.5, 0.0},
     float[2] m = {0.0, 0.1}, float[2] v = {1.0, 2.0}) => (float[1, 2, 4, 4] y, float[1, 32] f) {
  c = Conv <kernel_shape = [1, 1]> (x, w)
  n = BatchNormalization <epsilon = 0.001> (c, s, b, m, v)
  d = Dropout <ratio = 0.5> (n)
  h = HardSigmoid <alpha = 0.5, beta = 0.25> (d)
  y = ThresholdedRelu_ (h)
  f = Flatten <axis = 1> (y)
}
""".replace("ThresholdedRelu_ (h)", "Clip <max = 1.0, min = 0.0> (h)"),
    "reduce": """<ir_version: 6, opset_import: ["" : 11]>
reduce (float[2, 3, 4] x) => (float[2, 4] a, float[2, 1, 4] b, float[2, 1, 3, 4] c, float[3, 4] d, float[1, 3, 4] e) {
  a = ReduceSum <axes = [1], keepdims = 0> (x)
  b = ReduceMean <axes = [1], keepdims = 1> (x)
  c = Unsqueeze <axes = [1]> (x)
  p, q = Split <axis = 0, split = [1, 1]> (x)
  d = Squeeze <axes = [0]> (p)
  e = Pad <mode = "constant"> (q, none, fill)
  none = Constant <value = int64[6] {0, 0, 0, 0, 0, 0}> ()
  fill = Constant <value = float {0.0}> ()
}
""",
    "scan": """<ir_version: 8, opset_import: ["" : 13]>
scan (float[2] init, float[3, 2] xs) => (float[2] last, float[3, 2] outs) <float[2] bias = {0.5, -0.5}> {
  last, outs = Scan <num_scan_inputs = 1, body = step (float[2] s, float[2] x) => (float[2] s2, float[2] o) {
    a = Add (s, x)
    s2 = Tanh (a)
    o = Add (s2, bias)
  }> (init, xs)
}
""",
    "index": """<ir_version: 8, opset_import: ["" : 16]>
index (float[4, 3] x) => (float[2, 3] g, float[4, 3] s, float[4, 5] hot, float[4, 3] h) <
  int64[2] at = {2, 0}, int64[2, 1] where = {0, 3}, float[2, 3] new = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0},
  int64[4] classes = {0, 4, 2, 1}, int64 depth = {5}, float[2] off_on = {0.0, 1.0}
> {
  g = Gather <axis = 0> (x, at)
  s = ScatterND (x, where, new)
  hot = OneHot <axis = -1> (classes, depth, off_on)
  h = HardSwish (x)
}
""",
    "recurrent": """<ir_version: 8, opset_import: ["" : 14]>
recurrent (float[3, 2, 4] x) => (float[3, 1, 2, 2] y, float[1, 2, 2] h) <
  float[1, 8, 4] w = {""" + numbers(12, 32) + """}, float[1, 8, 2] r = {""" + numbers(13, 16) + """}, float[1, 16] b = {""" + numbers(14, 16) + """}
> {
  y, h, c = LSTM <hidden_size = 2, direction = "forward"> (x, w, r, b)
  unused = Neg (c)
}
""",
    "resize": """<ir_version: 8, opset_import: ["" : 13]>
resize (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y, float[1, 1, 6, 6] p) <
  float[4] scales = {1.0, 1.0, 2.0, 2.0}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, float fill = {0.5}
> {
  y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, "", scales)
  p = Pad <mode = "constant"> (y, pads, fill)
}
""",
    "deep": """<ir_version: 8, opset_import: ["" : 18]>
deep (float[2] x, bool a, bool b) => (float[2] y) <float[2] k = {0.5, 1.5}> {
  p = Exp (x)
  y = If (a) <
    then_branch = t () => (float[2] t9) {
      q = Add (p, k)
      t9 = If (b) <
        then_branch = tt () => (float[2] u2) { u1 = Mul (q, x)  u2 = Sub (u1, k) },
        else_branch = te () => (float[2] v2) { v1 = Div (p, k)  v2 = Mish (v1) }
      >
    },
    else_branch = e () => (float[2] e1) { e1 = Neg (p) }
  >
}
""",
}
