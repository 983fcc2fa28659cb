# SPDX-License-Identifier: Apache-2.0
"""Broken models that no edit of a valid one makes: operators that ONNX tried and took back, forms of its
first versions. Each with a valid model that computes the same, as ONNX text: {name: (consent, broken, valid)}."""

HEAD = '<ir_version: %d, opset_import: ["" : %d]>\n'


def model(ir, opset, signature, weights, body):
    return HEAD % (ir, opset) + "g %s <%s> {\n%s\n}\n" % (signature, weights, body)


PAIRS = {
    "scaled-tanh": ("approx",
        model(4, 9, "(float[3] x) => (float[3] y)", "", "y = ScaledTanh <alpha = 1.5, beta = 0.5> (x)"),
        model(4, 9, "(float[3] x) => (float[3] y)", "float a = {1.5}, float b = {0.5}",
              "s = Mul (x, b)  t = Tanh (s)  y = Mul (t, a)")),
    "parametric-softplus": ("approx",
        model(4, 9, "(float[3] x) => (float[3] y)", "", "y = ParametricSoftplus <alpha = 2.0, beta = 0.5> (x)"),
        model(4, 9, "(float[3] x) => (float[3] y)", "float a = {2.0}, float b = {0.5}",
              "s = Mul (x, b)  t = Softplus (s)  y = Mul (t, a)")),
    "scale": ("approx",
        model(4, 9, "(float[3] x) => (float[3] y)", "", "y = Scale <scale = 2.5> (x)"),
        model(4, 9, "(float[3] x) => (float[3] y)", "float a = {2.5}", "y = Mul (x, a)")),
    "affine": ("approx",
        model(4, 9, "(float[3] x) => (float[3] y)", "", "y = Affine <alpha = 2.5, beta = -1.0> (x)"),
        model(4, 9, "(float[3] x) => (float[3] y)", "float a = {2.5}, float b = {-1.0}", "s = Mul (x, a)  y = Add (s, b)")),
    "image-scaler": ("approx",
        model(4, 9, "(float[1,2,3,3] x) => (float[1,2,3,3] y)", "", "y = ImageScaler <scale = 0.5, bias = [1.0, -2.0]> (x)"),
        model(4, 9, "(float[1,2,3,3] x) => (float[1,2,3,3] y)", "float a = {0.5}, float[1,2,1,1] b = {1.0, -2.0}",
              "s = Mul (x, a)  y = Add (s, b)")),
    "crop": ("approx",
        model(4, 9, "(float[1,1,6,8] x) => (float[1,1,3,4] y)", "", "y = Crop <border = [1, 2, 3, 1]> (x)"),
        model(4, 9, "(float[1,1,6,8] x) => (float[1,1,3,4] y)", "", "y = Slice <axes = [2, 3], starts = [2, 1], ends = [5, 5]> (x)")),
    "crop-scale": ("approx",
        model(4, 9, "(float[1,1,6,8] x) => (float[1,1,3,4] y)", "", "y = Crop <border = [1, 2, 0, 0], scale = [3, 4]> (x)"),
        model(4, 9, "(float[1,1,6,8] x) => (float[1,1,3,4] y)", "", "y = Slice <axes = [2, 3], starts = [2, 1], ends = [5, 5]> (x)")),
    "constant-fill": ("approx",
        model(4, 9, "(float[2,3] x) => (float[2,3] y)", "", "c = ConstantFill <shape = [2, 3], value = 1.5> ()  y = Add (x, c)"),
        model(4, 9, "(float[2,3] x) => (float[2,3] y)", "float[2,3] c = {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}", "y = Add (x, c)")),
    "given-tensor-fill": ("approx",
        model(4, 9, "(float[3] x) => (float[3] y)", "", "c = GivenTensorFill <shape = [3], values = [1.0, 2.0, 3.0]> ()  y = Add (x, c)"),
        model(4, 9, "(float[3] x) => (float[3] y)", "float[3] c = {1.0, 2.0, 3.0}", "y = Add (x, c)")),
    "consumed-inputs": ("exact",
        model(3, 8, "(float[1,2,2,2] x, float[2] s = {1.0, 2.0}, float[2] b = {0.5, 0.0}, float[2] m = {0.0, 0.1}, "
                    "float[2] v = {1.0, 2.0}) => (float[1,2,2,2] y)", "",
              "n = BatchNormalization <epsilon = 0.001, consumed_inputs = [0, 0, 0, 1, 1]> (x, s, b, m, v)  "
              "y = Relu <consumed_inputs = [0]> (n)"),
        model(3, 8, "(float[1,2,2,2] x, float[2] s = {1.0, 2.0}, float[2] b = {0.5, 0.0}, float[2] m = {0.0, 0.1}, "
                    "float[2] v = {1.0, 2.0}) => (float[1,2,2,2] y)", "",
              "n = BatchNormalization <epsilon = 0.001> (x, s, b, m, v)  y = Relu (n)")),
    "computed-k": ("exact",
        model(8, 13, "(float[4] x, int64[2] k2) => (float[K] v, int64[K] i)", "int64 zero = {0}",
              "k = Gather (k2, zero)  v, i = TopK (x, k)"),
        model(8, 13, "(float[4] x, int64[2] k2) => (float[K] v, int64[K] i)", "int64 zero = {0}, int64[1] one = {1}",
              "k = Gather (k2, zero)  k1 = Reshape (k, one)  v, i = TopK (x, k1)")),
    "computed-range": ("exact",
        model(8, 13, "(float[N] x) => (int64[N] y)", "int64 zero = {0}, int64 one = {1}",
              "s = Shape (x)  y = Range (zero, s, one)"),
        model(8, 13, "(float[N] x) => (int64[N] y)", "int64 zero = {0}, int64 one = {1}, int64[1] at = {0}",
              "s = Shape (x)  n = Squeeze (s, at)  y = Range (zero, n, one)")),
    "computed-concat": ("exact",
        model(8, 13, "(float[N, 4] x, float[M] z) => (float[A, B] y)", "int64 zero = {0}, int64[1] two = {2}, int64[1] minus = {-1}",
              "s = Shape (x)  n = Gather (s, zero)  t = Concat <axis = 0> (n, minus)  y = Reshape (z, t)"),
        model(8, 13, "(float[N, 4] x, float[M] z) => (float[A, B] y)", "int64[1] zero = {0}, int64[1] minus = {-1}",
              "s = Shape (x)  n = Gather (s, zero)  t = Concat <axis = 0> (n, minus)  y = Reshape (z, t)")),
    "domain-missing": ("exact",
        model(8, 17, "(float[3] x) => (float[3] y)", "", "y = com.microsoft.Gelu (x)"),
        HEAD.replace('" : %d]', '" : %d, "com.microsoft" : 1]') % (8, 17) +
        "g (float[3] x) => (float[3] y) { y = com.microsoft.Gelu (x) }"),
    "aten": ("approx",
        model(8, 14, "(float[3] x) => (float[3] y)", "", "y = ATen <operator = \"silu\"> (x)"),
        model(8, 14, "(float[3] x) => (float[3] y)", "", "s = Sigmoid (x)  y = Mul (x, s)")),
    "aten-domain": ("approx",
        model(8, 14, "(float[3,3] x) => (float[3,3] y)", "", "y = org.pytorch.aten.ATen <operator = \"tril\"> (x)"),
        model(8, 14, "(float[3,3] x) => (float[3,3] y)", "", "y = Trilu <upper = 0> (x)")),
}

# A required attribute that types and declared outputs leave one value: {operator: (signature, call, value)}.
SETTLED = {
    "Concat": ("(float[2,3] x, float[2,5] z) => (float[2,8] y)", "y = Concat %s (x, z)", "<axis = 1>"),
    "Cast": ("(float[N] x) => (int32[N] y)", "y = Cast %s (x)", "<to = 6>"),
    "SpaceToDepth": ("(float[1,4,6,6] x) => (float[1,16,3,3] y)", "y = SpaceToDepth %s (x)", "<blocksize = 2>"),
    "DepthToSpace": ("(float[1,4,6,6] x) => (float[1,1,12,12] y)", "y = DepthToSpace %s (x)", "<blocksize = 2>"),
    "MaxPool": ("(float[1,4,6,6] x) => (float[1,4,4,5] y)", "y = MaxPool %s (x)", "<kernel_shape = [3, 2]>"),
    "AveragePool": ("(float[1,2,7] x) => (float[1,2,3] y)", "y = AveragePool %s (x)", "<kernel_shape = [5]>"),
}
for op, (signature, call, value) in SETTLED.items():
    PAIRS["attribute-of-" + op] = ("approx", model(8, 13, signature, "", call % ""), model(8, 13, signature, "", call % value))
PAIRS["attribute-of-Unsqueeze"] = ("approx",
    model(8, 11, "(float[2,3] x) => (float[2,1,3] y)", "", "y = Unsqueeze (x)"),
    model(8, 11, "(float[2,3] x) => (float[2,1,3] y)", "", "y = Unsqueeze <axes = [1]> (x)"))
PAIRS["attribute-of-TopK"] = ("approx",
    model(4, 9, "(float[2,6] x) => (float[2,4] y, int64[2,4] i)", "", "y, i = TopK (x)"),
    model(4, 9, "(float[2,6] x) => (float[2,4] y, int64[2,4] i)", "", "y, i = TopK <k = 4> (x)"))
