# SPDX-License-Identifier: Apache-2.0
"""Quantised networks, tables and policies, as exporters and quantisers write them."""
from net import BOOL, FLOAT, INT64, Net

IMAGE = ["float[1,3,16,16] image"]


# --- quantised ---

def scalar(n, kind, value):
    return n.const(kind, (), [value])


def qdq(n, x, s=0.02, kind="int8", zero=0):
    z = scalar(n, kind, zero)
    return n.DequantizeLinear(n.QuantizeLinear(x, s, z), s, z)


def held(n, cout, *rest, per_channel=True, kind="int8"):
    """A weight stored in eight bits."""
    if not per_channel:
        return n.DequantizeLinear(n.weight(cout, *rest, kind=kind), 0.01, scalar(n, kind, 128 if kind == "uint8" else 0))
    return n.DequantizeLinear(n.weight(cout, *rest, kind=kind), n.weight(cout, scale=0.02, shift=0.01),
                              n.const(kind, [cout], [0] * cout), axis=0)


def qconv(n, x, cin, cout, s=1, **how):
    b = n.DequantizeLinear(n.const("int32", [cout], [7 * i - 9 for i in range(cout)]), 0.0002, scalar(n, "int32", 0))
    return n.Conv(x, held(n, cout, cin, 3, 3, **how), b, kernel_shape=[3, 3], pads=[1] * 4, strides=[s, s])


def qdq_resnet(opset=13, per_channel=True):
    """TensorRT's form: weights by channel, zero points 0."""
    n = Net(opset)
    x = qdq(n, n.Relu(qconv(n, qdq(n, "image"), 3, 8, 2, per_channel=per_channel)))
    y = qdq(n, n.Relu(qconv(n, x, 8, 8, per_channel=per_channel)))
    y = qdq(n, qconv(n, y, 8, 8, per_channel=per_channel), 0.03)
    x = qdq(n, n.Relu(n.Add(y, x)), 0.04)
    x = qdq(n, n.Flatten(n.GlobalAveragePool(x), axis=1))
    w = held(n, 5, 8, per_channel=per_channel)
    return n.done(IMAGE, (n.Gemm(x, w, n.weight(5), transB=1), "float[1,5]"))


def ort_uint8():
    """ONNX Runtime's quantiser: asymmetric activations, HardSwish by Clip, pooling, Concat, Resize in pairs."""
    n = Net(12)
    u = lambda v, s=0.02, z=117: qdq(n, v, s, "uint8", z)
    x = u(qconv(n, u("image"), 3, 8, 2, per_channel=False, kind="uint8"))
    x = u(n.Mul(x, u(n.Div(n.Clip(n.Add(x, 3.0), 0.0, 6.0), 6.0), 0.004, 0)))
    a = n.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    b = u(n.AveragePool(x, kernel_shape=[2, 2], strides=[2, 2]))
    x = u(n.Concat(a, b, axis=1))
    x = u(n.Resize(x, n.const("float", [0], []), [1.0, 1.0, 2.0, 2.0], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    return n.done(IMAGE, (n.Sigmoid(x), "float[1,16,8,8]"))


def operators():
    """QLinear operators of both domains."""
    n = Net(11)
    s, z = scalar(n, "float", 0.02), scalar(n, "uint8", 128)
    q = n.QuantizeLinear("image", s, z)
    w = n.weight(8, 3, 3, 3, kind="int8")
    b = n.const("int32", [8], [11 * i - 40 for i in range(8)])
    x = n.QLinearConv(q, s, z, w, scalar(n, "float", 0.01), scalar(n, "int8", 0), s, z, b, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    y = n.QLinearConv(x, s, z, n.weight(8, 8, 1, 1, kind="int8"), n.weight(8, scale=0.02, shift=0.01), n.const("int8", [8], [0] * 8), s, z,
                      kernel_shape=[1, 1])
    x = n.ms("QLinearAdd", x, s, z, y, s, z, scalar(n, "float", 0.03), z)
    x = n.ms("QLinearLeakyRelu", x, scalar(n, "float", 0.03), z, s, z, alpha=0.1)
    x = n.ms("QLinearGlobalAveragePool", x, s, z, s, z)
    x = n.Reshape(x, [1, 8])
    x = n.QLinearMatMul(x, s, z, n.weight(8, 5, kind="uint8"), scalar(n, "float", 0.01), z, scalar(n, "float", 0.01), z)
    return n.done(IMAGE, (n.DequantizeLinear(x, 0.01, z), "float[1,5]"))


def dynamic():
    n = Net(11)
    q, s, z = n.DynamicQuantizeLinear("image", outs=3)
    y = n.ConvInteger(q, n.weight(8, 3, 3, 3, kind="uint8"), z, scalar(n, "uint8", 128), pads=[1] * 4, kernel_shape=[3, 3])
    y = n.Add(n.Mul(n.Cast(y, to=FLOAT), n.Mul(s, 0.01)), n.weight(1, 8, 1, 1))
    return n.done(IMAGE, (n.Relu(y), "float[1,8,16,16]"))


def brevitas():
    """Clip between QuantizeLinear and DequantizeLinear for narrow widths."""
    n = Net(13, True)

    def narrow(x, s, low, high):
        q = n.QuantizeLinear(x, s, scalar(n, "int8", 0))
        return n.DequantizeLinear(n.Clip(q, scalar(n, "int8", low), scalar(n, "int8", high)), s, scalar(n, "int8", 0))

    x = n.Conv(narrow("image", 0.1, -8, 7), narrow(n.weight(8, 3, 3, 3), 0.03, -7, 7), n.weight(8), kernel_shape=[3, 3], pads=[1] * 4)
    x = narrow(n.Relu(x), 0.1, 0, 15)
    return n.done(IMAGE, (n.gemm(n.Reshape(n.reduce("ReduceMean", x, [2, 3]), [1, -1]), 8, 4), "float[1,4]"))


def blocks_int4():
    """Weights of four bits in blocks."""
    n = Net(21)
    w = n.name("w")
    bits = [(5 * i % 15 - 7) & 15 for i in range(256)]  # two elements in a byte
    n.inits.append("int4[32,8] %s = {%s}" % (w, ", ".join(str(a | b << 4) for a, b in zip(bits[::2], bits[1::2]))))
    y = n.MatMul("x", n.DequantizeLinear(w, n.weight(2, 8, scale=0.1, shift=0.05), None, axis=0, block_size=16))
    return n.done(["float[batch,32] x"], (n.Relu(y), "float[batch,8]"), ir=10)


def sixteen():
    """Activations of 16 bits in ONNX Runtime's domain."""
    n = Net(17)

    def pair(x):
        s, z = scalar(n, "float", 0.0002), scalar(n, "uint16", 32000)
        return n.ms("DequantizeLinear", n.ms("QuantizeLinear", x, s, z), s, z)

    x = pair(n.Relu(n.Conv(pair("image"), held(n, 8, 3, 3, 3, per_channel=False), kernel_shape=[3, 3], pads=[1] * 4)))
    return n.done(IMAGE, (n.Flatten(pair(n.GlobalAveragePool(x)), axis=1), "float[1,8]"))


def tflite():
    """uint8 in and out, Transpose around each part, requantised by hand."""
    n = Net(13)
    s, z = scalar(n, "float", 0.0078125), scalar(n, "uint8", 128)
    x = n.Transpose(n.DequantizeLinear("image", s, z), perm=[0, 3, 1, 2])
    x = n.Clip(n.Conv(x, held(n, 8, 3, 3, 3), n.weight(8), auto_pad="SAME_UPPER", strides=[2, 2]), 0.0, 6.0)
    x = qdq(n, x, 0.0235, "uint8", 0)
    x = n.Clip(n.Conv(x, held(n, 8, 1, 3, 3), n.weight(8), auto_pad="SAME_UPPER", group=8), 0.0, 6.0)
    x = qdq(n, n.reduce("ReduceMean", n.Transpose(x, perm=[0, 2, 3, 1]), [1, 2], 0), 0.02, "uint8", 0)
    y = n.Softmax(n.gemm(x, 8, 4), axis=-1)
    return n.done(["uint8[1,16,16,3] image"], (n.QuantizeLinear(y, 0.00390625, scalar(n, "uint8", 0)), "uint8[1,4]"))


def half_net():
    """Half inside, float at the interface."""
    n = Net(12)
    x = n.Cast("image", to=10)
    x = n.Relu(n.Conv(x, n.weight(8, 3, 3, 3, kind="float16"), n.weight(8, kind="float16"), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]))
    x = n.BatchNormalization(x, n.weight(8, kind="float16", shift=1.0), n.weight(8, kind="float16"), n.weight(8, kind="float16"),
                             n.weight(8, kind="float16", scale=0.5, shift=1.5))
    y = n.Gemm(n.Flatten(n.GlobalAveragePool(x)), n.weight(4, 8, kind="float16"), n.weight(4, kind="float16"), transB=1)
    return n.done(IMAGE, (n.Softmax(n.Cast(y, to=FLOAT), axis=1), "float[1,4]"))


def quant_attention():
    """A block of a vision transformer in pairs, Softmax and LayerNormalization in float."""
    n = Net(17)
    x = n.Transpose(n.Reshape(n.Conv(qdq(n, "image"), held(n, 16, 3, 4, 4), n.weight(16), kernel_shape=[4, 4], strides=[4, 4]), [1, 16, -1]), perm=[0, 2, 1])
    y = n.layer_norm(x)

    def dense(v, a, b):
        return n.Add(n.MatMul(qdq(n, v, 0.03), held(n, a, b, per_channel=False)), n.weight(b))

    q, k, v = (n.heads(dense(y, 16, 16), dynamic=False) for _ in range(3))
    p = n.Softmax(n.MatMul(qdq(n, n.Mul(q, 0.3535)), qdq(n, n.Transpose(k, perm=[0, 1, 3, 2]))), axis=-1)
    y = n.unheads(n.MatMul(qdq(n, p, 0.0078), qdq(n, v)))
    x = n.Add(x, dense(y, 16, 16))
    return n.done(IMAGE, (n.reduce("ReduceMean", n.Add(x, dense(n.gelu(dense(n.layer_norm(x), 16, 32)), 32, 16)), [1], 0), "float[1,16]"))


# --- tables ---

def trees(n, classes=False):
    """Three trees of depth two over four features."""
    ids, nodes, feats, modes, values, left, right = [], [], [], [], [], [], []
    tt, tn, ti, tw = [], [], [], []
    for t in range(3):
        for i in range(7):
            ids.append(t), nodes.append(i)
            inner = i < 3
            feats.append((t + i) % 4 if inner else 0)
            modes.append("BRANCH_LEQ" if inner else "LEAF")
            values.append(round(0.1 * ((t * 7 + i) % 5 - 2), 2) if inner else 0.0)
            left.append(2 * i + 1 if inner else 0), right.append(2 * i + 2 if inner else 0)
            if not inner:
                tt.append(t), tn.append(i), ti.append((t + i) % 3 if classes else 0), tw.append(round(0.05 * (i + t), 3))
    what = dict(nodes_treeids=ids, nodes_nodeids=nodes, nodes_featureids=feats, nodes_modes=modes, nodes_values=values,
                nodes_truenodeids=left, nodes_falsenodeids=right, nodes_missing_value_tracks_true=[0] * 21, nodes_hitrates=[1.0] * 21)
    if classes:
        return dict(what, class_treeids=tt, class_nodeids=tn, class_ids=ti, class_weights=tw, classlabels_int64s=[0, 1, 2])
    return dict(what, target_treeids=tt, target_nodeids=tn, target_ids=ti, target_weights=tw, n_targets=1)


TABLE = ["float[batch,4] x"]


def forest():
    n = Net(15)
    label, p = n.ml("TreeEnsembleClassifier", "x", outs=2, post_transform="NONE", **trees(n, True))
    maps = n.ml("ZipMap", p, classlabels_int64s=[0, 1, 2])
    return n.done(TABLE, (n.Cast(label, to=INT64), "int64[batch]"), (maps, "seq(map(int64, float))"))


def boosted():
    n = Net(12)
    y = n.ml("TreeEnsembleRegressor", "x", base_values=[0.5], post_transform="NONE", **trees(n))
    return n.done(TABLE, (y, "float[batch,1]"))


def logistic():
    n = Net(13)
    x = n.ml("Scaler", "x", offset=[0.1, 0.2, 0.3, 0.4], scale=[1.5, 0.5, 2.0, 1.0])
    label, p = n.ml("LinearClassifier", x, outs=2, classlabels_ints=[0, 1], coefficients=[0.1, -0.2, 0.3, -0.4, -0.1, 0.2, -0.3, 0.4],
                    intercepts=[0.1, -0.1], multi_class=1, post_transform="LOGISTIC")
    return n.done(TABLE, (label, "int64[batch]"), (n.ml("Normalizer", p, norm="L1"), "float[batch,2]"))


def pipeline():
    """Columns of numbers and of words, joined."""
    n = Net(14)
    num = n.ml("Scaler", n.ml("Imputer", "age", imputed_value_floats=[3.5], replaced_value_float=-1.0), offset=[0.2], scale=[0.5])
    cat = n.ml("OneHotEncoder", "city", cats_strings=["a", "b", "c"], zeros=1)
    cat = n.Reshape(cat, [-1, 3])
    x = n.Concat(num, cat, axis=1)
    label, p = n.ml("TreeEnsembleClassifier", x, outs=2, post_transform="NONE", **trees(n, True))
    return n.done(["float[batch,1] age", "string[batch,1] city"], (label, "int64[batch]"), (p, "float[batch,3]"))


def kmeans():
    """scikit-learn's converter: distances by one product, the least."""
    n = Net(13)
    centres = n.weight(3, 4)
    sq = n.ReduceSumSquare("x", axes=[1], keepdims=1)
    d = n.Add(sq, n.Gemm("x", centres, n.weight(3), alpha=-2.0, transB=1))
    return n.done(TABLE, (n.ArgMin(d, axis=1, keepdims=0), "int64[batch]"), (n.Sqrt(n.Relu(d)), "float[batch,3]"))


def svm():
    n = Net(13)
    y = n.ml("SVMRegressor", "x", kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0], n_supports=3, rho=[0.25],
             coefficients=[0.5, -0.75, 0.25], support_vectors=[round(0.1 * (i % 5) - 0.2, 2) for i in range(12)], post_transform="NONE")
    return n.done(TABLE, (y, "float[batch,1]"))


def neighbours():
    """Distances by Scan-free products, TopK, votes by one hot."""
    n = Net(13)
    known = n.weight(6, 4, scale=20.0)
    d = n.reduce("ReduceSum", n.Pow(n.Sub(n.unsqueeze("x", 1), n.unsqueeze(known, 0)), 2.0), [2], 0)
    _, i = n.TopK(d, [3], axis=1, largest=0, sorted=1, outs=2)
    labels = n.Gather(n.const("int64", [6], [2, 1, 1, 0, 0, 2]), i)
    votes = n.reduce("ReduceSum", n.OneHot(labels, n.const("int64", (), [3]), [0.0, 1.0]), [1], 0)
    return n.done(TABLE, (n.ArgMax(votes, axis=1, keepdims=0), "int64[batch]"))


def tensor_trees():
    """Hummingbird: comparisons and products instead of trees."""
    n = Net(11, True)
    a = n.Cast(n.Less(n.MatMul("x", n.weight(4, 9)), n.weight(9)), to=FLOAT)
    b = n.Cast(n.Equal(n.MatMul(a, n.const("float", [9, 12], ["%d.0" % ((3 * i) % 7 // 3 - 1) for i in range(108)])),
                       n.const("float", [12], ["%d.0" % (i % 3) for i in range(12)])), to=FLOAT)
    y = n.MatMul(b, n.weight(12, 3))
    return n.done(TABLE, (n.ArgMax(y, axis=1, keepdims=0), "int64[batch]"), (n.Softmax(y, axis=1), "float[batch,3]"))


def tree_gather():
    """Hummingbird: descent by Gather of computed places."""
    n = Net(12, True)
    place = n.ConstantOfShape(n.dims(n.dim("x", 0), 1), value="int64[1] {0}")
    feat = n.const("int64", [7], [0, 1, 2, 3, 0, 0, 0])
    limit, kids = n.weight(7), n.const("int64", [7], [1, 3, 5, 3, 4, 5, 6])
    for _ in range(2):
        f = n.Gather(feat, place, axis=0)
        right = n.Greater(n.GatherElements("x", f, axis=1), n.Gather(limit, place, axis=0))
        place = n.Add(n.Gather(kids, place, axis=0), n.Cast(right, to=INT64))
    return n.done(TABLE, (n.Gather(n.weight(7), n.Clip(place, n.const("int64", (), [0]), n.const("int64", (), [6])), axis=0), "float[batch,1]"))


def words():
    """Counts of words, their weights, a linear classifier."""
    n = Net(11)
    t = n.ml("LabelEncoder", "word", keys_strings=["x", "y"], values_int64s=[0, 1], default_int64=2)
    counts = n.TfIdfVectorizer(t, mode="TFIDF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
                               ngram_indexes=[0, 1, 2], pool_int64s=[0, 1, 2], weights=[1.0, 2.0, 0.5])
    return n.done(["string[batch,3] word"], (n.gemm(counts, 3, 2), "float[batch,2]"))


def tabnet():
    """Sparsemax by sorting: TopK, CumSum, Gather."""
    n = Net(13, True)
    z = n.gemm(n.BatchNormalization("x", n.weight(4, shift=1.0), n.weight(4), n.weight(4), n.weight(4, scale=0.5, shift=1.5)), 4, 6)
    s, _ = n.TopK(z, [6], axis=1, largest=1, sorted=1, outs=2)
    r = n.Reshape(n.Cast(n.Range(1, 7, 1), to=FLOAT), [1, 6])
    c = n.Sub(n.CumSum(s, n.const("int64", (), [1])), 1.0)
    many = n.reduce("ReduceSum", n.Cast(n.Greater(n.Mul(r, s), c), to=INT64), [1])
    tau = n.Div(n.GatherElements(c, n.Sub(many, 1), axis=1), n.Cast(many, to=FLOAT))
    y = n.Max(n.Sub(z, tau), 0.0)
    return n.done(TABLE, (y, "float[batch,6]"))


# --- policies ---

def ml_agents(opset=9):
    """Unity: version constants as outputs, noise, scaled and clipped actions."""
    n = Net(opset)
    x = n.silu(n.gemm("obs_0", 8, 16))
    mean = n.gemm(n.silu(n.gemm(x, 16, 16)), 16, 2)
    dev = n.Exp(n.weight(1, 2))
    act = n.Add(mean, n.Mul(n.Mul(n.RandomNormalLike(mean), 0.0), dev))
    act = n.Div(n.Clip(act, n.const("float", (), ["-3.0"]), n.const("float", (), ["3.0"])) if opset >= 11 else n.Clip(act, min=-3.0, max=3.0), 3.0)
    one = n.const("float", [1], ["3.0"])
    return n.done(["float[batch,8] obs_0"], (n.Identity(one), "float[1]"), (act, "float[batch,2]"))


def masked():
    """Discrete actions, forbidden ones far down, the likeliest and a drawn one."""
    n = Net(12, True)
    x = n.Relu(n.gemm(n.Relu(n.gemm("obs", 8, 16)), 16, 16))
    y = n.Mul(n.Softmax(n.gemm(x, 16, 5), axis=1), n.Add("allowed", 1e-7))
    y = n.Log(n.Add(n.Div(y, n.ReduceSum(y, axes=[1], keepdims=1)), 1e-7))
    return n.done(["float[batch,8] obs", "float[batch,5] allowed"], (y, "float[batch,5]"), (n.ArgMax(y, axis=1, keepdims=1), "int64[batch,1]"))


def baselines():
    """Observations normalised by running means, squashed and rescaled actions, and the value."""
    n = Net(14, True)
    x = n.Div(n.Sub("obs", n.weight(8)), n.Sqrt(n.Add(n.weight(8, scale=0.5, shift=1.5), 1e-8)))
    x = n.Clip(x, -10.0, 10.0)
    p = n.Tanh(n.gemm(n.Tanh(n.gemm(x, 8, 16)), 16, 16))
    v = n.Tanh(n.gemm(n.Tanh(n.gemm(x, 8, 16)), 16, 16))
    low, high = n.const("float", [2], [-2.0, -1.0]), n.const("float", [2], [2.0, 1.0])
    a = n.Add(low, n.Mul(n.Mul(n.Add(n.Tanh(n.gemm(p, 16, 2)), 1.0), 0.5), n.Sub(high, low)))
    return n.done(["float[batch,8] obs"], (a, "float[batch,2]"), (n.gemm(v, 16, 1), "float[batch,1]"))


def atari():
    """Frames as bytes, channels last."""
    n = Net(11, True)
    x = n.Div(n.Cast(n.Transpose("frames", perm=[0, 3, 1, 2]), to=FLOAT), 255.0)
    x = n.Relu(n.conv(x, 4, 8, k=8, s=4, pad=0))
    x = n.Relu(n.conv(x, 8, 8, k=4, s=2, pad=0))
    x = n.Relu(n.gemm(n.Flatten(x, axis=1), 8, 16))
    a, v = n.gemm(x, 16, 6), n.gemm(x, 16, 1)
    q = n.Add(v, n.Sub(a, n.reduce("ReduceMean", a, [1])))
    return n.done(["uint8[batch,24,24,4] frames"], (n.ArgMax(q, axis=1, keepdims=0), "int64[batch]"), (q, "float[batch,6]"))


def recurrent():
    """A policy with a state that is reset where an episode starts."""
    n = Net(15, True)
    keep = n.unsqueeze(n.unsqueeze(n.Sub(1.0, "start"), 1), 0)
    h, c = n.Mul("h", keep), n.Mul("c", keep)
    x = n.unsqueeze(n.Relu(n.gemm("obs", 8, 8)), 0)
    y, h, c = n.LSTM(x, n.weight(1, 32, 8), n.weight(1, 32, 8), n.weight(1, 64), None, h, c, hidden_size=8, outs=3)
    return n.done(["float[batch,8] obs", "float[batch] start", "float[1,batch,8] h", "float[1,batch,8] c"],
                  (n.gemm(n.squeeze(y, 0, 1), 8, 3), "float[batch,3]"), (h, "float[1,batch,8]"), (c, "float[1,batch,8]"))


def world():
    """A step of a world model: GRU by hand with LayerNorm, symlog, categories by ArgMax and OneHot."""
    n = Net(17, True)
    x = n.Mul(n.Sign("obs"), n.Log(n.Add(n.Abs("obs"), 1.0)))
    y = n.LayerNormalization(n.MatMul(n.Concat(n.dense(x, 8, 16), "h", axis=-1), n.weight(32, 48)), n.weight(48, shift=1.0), n.weight(48), axis=-1)
    r, c, u = n.split(y, [16, 16, 16], -1)
    u = n.Sigmoid(n.Sub(u, 1.0))
    h = n.Add(n.Mul(u, n.Tanh(n.Mul(n.Sigmoid(r), c))), n.Mul(n.Sub(1.0, u), "h"))
    logits = n.Reshape(n.dense(h, 16, 12), [-1, 3, 4])
    z = n.OneHot(n.ArgMax(logits, axis=-1, keepdims=0), n.const("int64", (), [4]), [0.0, 1.0], axis=-1)
    return n.done(["float[batch,8] obs", "float[batch,16] h"], (n.Reshape(z, [-1, 12]), "float[batch,12]"), (h, "float[batch,16]"))


def board():
    """Two heads over a board, forbidden moves at minus infinity."""
    n = Net(13, True)
    x = n.Relu(n.norm2d(n.conv("board", 4, 8, bias=False), 8))
    x = n.Relu(n.Add(n.norm2d(n.conv(n.Relu(n.norm2d(n.conv(x, 8, 8, bias=False), 8)), 8, 8, bias=False), 8), x))
    p = n.gemm(n.Flatten(n.Relu(n.conv(x, 8, 2, k=1))), 72, 37)
    p = n.Where(n.Cast("legal", to=BOOL), p, n.const("float", (), ["-inf"]))
    v = n.Tanh(n.gemm(n.Relu(n.gemm(n.Flatten(n.Relu(n.conv(x, 8, 1, k=1))), 36, 8)), 8, 1))
    return n.done(["float[batch,4,6,6] board", "uint8[batch,37] legal"], (n.LogSoftmax(p, axis=1), "float[batch,37]"), (v, "float[batch,1]"))


def ensemble():
    """Many small networks at once by products of three axes, the least of two critics."""
    n = Net(16, True)
    x = n.Expand(n.unsqueeze(n.Concat("obs", "act", axis=1), 0), n.dims(2, 1, 1))
    x = n.Relu(n.Add(n.MatMul(x, n.weight(2, 10, 16)), n.weight(2, 1, 16)))
    q = n.Add(n.MatMul(x, n.weight(2, 16, 1)), n.weight(2, 1, 1))
    return n.done(["float[batch,8] obs", "float[batch,2] act"], (n.reduce("ReduceMin", q, [0], 0), "float[batch,1]"),
                  (n.squeeze(n.slice(q, 0, 1, 0), 0), "float[batch,1]"))


def decision():
    """A decision transformer: three kinds of tokens laid in turn."""
    n = Net(14, True)
    toks = [n.unsqueeze(n.dense(v, w, 16), 2) for v, w in (("returns", 1), ("states", 4), ("actions", 2))]
    x = n.Concat(*toks, axis=2)
    long = n.dim("states", 1)
    x = n.layer_norm(n.Reshape(x, n.dims(n.dim("states", 0), n.Mul(long, 3), 16)))
    all_ = n.Mul(long, 3)
    low = n.Trilu(n.Expand(n.const("float", [1, 1], [1.0]), n.dims(all_, all_)), upper=0)
    x = n.Add(x, n.attention(x, where=n.unsqueeze(n.Greater(low, 0.5), 0, 1)))
    x = n.Reshape(x, n.dims(n.dim("states", 0), long, 3, 16))
    y = n.Tanh(n.dense(n.Gather(x, 1, axis=2), 16, 2))
    return n.done(["float[batch,steps,1] returns", "float[batch,steps,4] states", "float[batch,steps,2] actions"],
                  (n.Gather(y, -1, axis=1), "float[batch,2]"))


def film():
    """A diffusion policy: one-dimensional convolutions, scale and shift from the observation."""
    n = Net(18, True)
    x = n.Transpose("actions", perm=[0, 2, 1])
    h = n.conv1(x, 2, 8)
    r = n.Reshape(h, n.dims(n.dim(h, 0), 2, -1))
    r = n.InstanceNormalization(r, n.const("float", [2], [1.0] * 2), n.const("float", [2], [0.0] * 2), epsilon=1e-5)
    h = n.Add(n.Mul(n.Reshape(r, n.Shape(h)), n.weight(8, 1)), n.weight(8, 1))
    soft = n.Mul(h, n.Tanh(n.Softplus(h)))
    s, b = n.Split(n.unsqueeze(n.gemm("obs", 8, 16), -1), axis=1, num_outputs=2, outs=2)
    y = n.Add(n.Mul(soft, s), b)
    up = n.ConvTranspose(n.conv1(y, 8, 8, s=2), n.weight(8, 8, 4), n.weight(8), kernel_shape=[4], pads=[1, 1], strides=[2])
    return n.done(["float[batch,8,2] actions", "float[batch,8] obs"], (n.Transpose(n.conv1(up, 8, 2, k=1, p=0), perm=[0, 2, 1]), "float[batch,8,2]"))


QUANTISED = {
    "qdq-channels": qdq_resnet, "qdq-tensor-10": lambda: qdq_resnet(10, False), "ort-uint8": ort_uint8, "operators": operators,
    "dynamic": dynamic, "brevitas": brevitas, "blocks-int4": blocks_int4, "sixteen-bits": sixteen, "tflite": tflite, "half": half_net,
    "attention": quant_attention,
}
TABULAR = {
    "forest": forest, "boosted": boosted, "logistic": logistic, "pipeline": pipeline, "kmeans": kmeans, "svm": svm,
    "neighbours": neighbours, "tensor-trees": tensor_trees, "tree-gather": tree_gather, "words": words, "tabnet": tabnet,
}
POLICY = {
    "ml-agents-9": ml_agents, "ml-agents-15": lambda: ml_agents(15), "masked": masked, "baselines": baselines, "atari": atari,
    "recurrent": recurrent, "world-model": world, "board": board, "critics": ensemble, "decision": decision, "film": film,
}
