# SPDX-License-Identifier: Apache-2.0
"""Encoders, decoders with a cache, and the networks of diffusion, as exporters and optimizers write them."""
from net import BOOL, FLOAT, INT32, INT64, Net

IDS = ["int64[batch,length] ids", "int64[batch,length] mask"]


# --- encoders ---

def additive(n, low=-3.4028234663852886e+38):
    return n.Mul(n.Sub(1.0, n.Cast(n.unsqueeze("mask", 1, 2), to=FLOAT)), low)


def bert(opset=14):
    n = Net(opset, True)
    kinds = n.Gather(n.weight(2, 16), "kinds")
    long = n.unsqueeze(n.dim("ids", 1), 0)
    places = n.Slice(n.const("int64", [1, 32], list(range(32))), [0], long, [1], [1])
    x = n.layer_norm(n.Add(n.Add(n.Gather(n.weight(30, 16), "ids"), kinds), n.Gather(n.weight(32, 16), places)))
    m = additive(n)
    x = n.layer_norm(n.Add(n.attention(x, mask=m), x))
    x = n.layer_norm(n.Add(n.feed_forward(x), x))
    pooled = n.Tanh(n.gemm(n.Gather(x, 0, axis=1), 16, 16))
    return n.done(IDS + ["int64[batch,length] kinds"], (x, "float[batch,length,16]"), (pooled, "float[batch,16]"))


def sdpa():
    """PyTorch 2: mask by Expand and Where, scale split into two square roots, guarded Softmax."""
    n = Net(18, True)
    x = n.layer_norm(n.Gather(n.weight(30, 16), "ids"))
    long = n.dims(n.dim("ids", 0), 1, n.dim("ids", 1), n.dim("ids", 1))
    keep = n.Expand(n.Cast(n.unsqueeze("mask", 1, 2), to=BOOL), long)
    m = n.Where(keep, 0.0, -3.4028234663852886e+38)
    q, k, v = (n.heads(n.dense(x, 16, 16)) for _ in range(3))
    scale = n.Sqrt(n.Div(1.0, n.Sqrt(n.Cast(n.dim(q, 3), to=FLOAT))))
    s = n.Add(n.MatMul(n.Mul(q, scale), n.Mul(n.Transpose(k, perm=[0, 1, 3, 2]), scale)), m)
    p = n.Softmax(s, axis=-1)
    p = n.Where(n.IsNaN(p), 0.0, p)
    x = n.Add(x, n.dense(n.unheads(n.MatMul(p, v)), 16, 16))
    return n.done(IDS, (n.layer_norm(n.Add(x, n.feed_forward(x))), "float[batch,length,16]"))


def roberta():
    n = Net(13, True)
    used = n.Cast(n.Not(n.Equal("ids", 1)), to=INT32)
    place = n.Add(n.Cast(n.Mul(n.Cast(n.CumSum(used, 1), to=INT32), used), to=INT64), 1)
    x = n.layer_norm(n.Add(n.Gather(n.weight(30, 16), "ids"), n.Gather(n.weight(40, 16), place)))
    x = n.layer_norm(n.Add(n.attention(x, mask=additive(n)), x))
    return n.done(IDS, (n.gemm(n.Gather(x, 0, axis=1), 16, 3), "float[batch,3]"))


def sentence():
    """The mean of the tokens that count, normalised."""
    n = Net(14, True)
    x = n.layer_norm(n.Gather(n.weight(30, 16), "ids"))
    x = n.layer_norm(n.Add(n.attention(x, mask=additive(n)), x))
    w = n.Cast(n.Expand(n.unsqueeze("mask", -1), n.Shape(x)), to=FLOAT)
    mean = n.Div(n.reduce("ReduceSum", n.Mul(x, w), [1], 0), n.Clip(n.reduce("ReduceSum", w, [1], 0), 1e-9))
    length = n.Clip(n.reduce("ReduceL2", mean, [1]), 1e-12)
    return n.done(IDS, (n.Div(mean, n.Expand(length, n.Shape(mean))), "float[batch,16]"))


def deberta():
    """Relative positions gathered along the last axis."""
    n = Net(15, True)
    x = n.layer_norm(n.Gather(n.weight(30, 16), "ids"))
    long = n.dim(x, 1)
    q, k, v = (n.heads(n.dense(x, 16, 16)) for _ in range(3))
    r = n.Range(0, long, 1)
    rel = n.Clip(n.Add(n.Sub(n.unsqueeze(r, 1), n.unsqueeze(r, 0)), 8), n.const("int64", (), [0]), n.const("int64", (), [15]))
    pos = n.heads(n.unsqueeze(n.dense(n.weight(16, 16), 16, 16), 0), dynamic=False)
    c2p = n.MatMul(q, n.Transpose(pos, perm=[0, 1, 3, 2]))
    where = n.Expand(n.unsqueeze(rel, 0, 1), n.dims(n.dim(q, 0), 2, long, long))
    s = n.Div(n.Add(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), n.GatherElements(c2p, where, axis=3)), 4.898979663848877)
    gone = n.Not(n.Cast(n.unsqueeze("mask", 1, 2), to=BOOL))
    p = n.Where(gone, 0.0, n.Softmax(n.Where(gone, -3.4028234663852886e+38, s), axis=-1))
    return n.done(IDS, (n.layer_norm(n.Add(x, n.unheads(n.MatMul(p, v)))), "float[batch,length,16]"))


def t5_encoder():
    """Buckets of distances by logarithm."""
    n = Net(13, True)
    x = n.Gather(n.weight(30, 16), "ids")
    r = n.Range(0, n.dim(x, 1), 1)
    far = n.Sub(n.unsqueeze(r, 0), n.unsqueeze(r, 1))
    right = n.Mul(n.Cast(n.Greater(far, 0), to=INT64), 8)
    far = n.Abs(far)
    log = n.Add(n.Cast(n.Mul(n.Div(n.Log(n.Div(n.Cast(far, to=FLOAT), 4.0)), 1.3862943649291992), 4.0), to=INT64), 4)
    log = n.Min(log, n.ConstantOfShape(n.Shape(log), value="int64[1] {7}"))
    bucket = n.Add(right, n.Where(n.Less(far, 4), far, log))
    bias = n.unsqueeze(n.Transpose(n.Gather(n.weight(16, 2), bucket), perm=[2, 0, 1]), 0)
    y = n.rms_norm(x)
    q, k, v = (n.heads(n.MatMul(y, n.weight(16, 16))) for _ in range(3))
    s = n.Add(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), n.Add(bias, additive(n)))
    x = n.Add(x, n.MatMul(n.unheads(n.MatMul(n.Softmax(s, axis=-1), v)), n.weight(16, 16)))
    return n.done(IDS, (n.rms_norm(x), "float[batch,length,16]"))


def ort_bert():
    """As ONNX Runtime's optimizer leaves it."""
    n = Net(14)
    cut = [n.Cast(v, to=INT32) for v in ("ids", "kinds", "mask")]
    x, index = n.ms("EmbedLayerNormalization", cut[0], cut[1], n.weight(30, 16), n.weight(32, 16), n.weight(2, 16),
                    n.weight(16, shift=1.0), n.weight(16), cut[2], epsilon=1e-12, outs=2)
    a = n.ms("Attention", x, n.weight(16, 48), n.weight(48), index, num_heads=2)
    x = n.ms("SkipLayerNormalization", n.MatMul(a, n.weight(16, 16)), x, n.weight(16, shift=1.0), n.weight(16), n.weight(16),
             epsilon=1e-12)
    y = n.MatMul(n.ms("BiasGelu", n.MatMul(x, n.weight(16, 32)), n.weight(32)), n.weight(32, 16))
    x = n.ms("SkipLayerNormalization", y, x, n.weight(16, shift=1.0), n.weight(16), n.weight(16), epsilon=1e-12)
    return n.done(IDS + ["int64[batch,length] kinds"], (x, "float[batch,length,16]"))


def dynamic_bert():
    """Weights of eight bits, activations quantised as they come."""
    n = Net(13)

    def dense(x, a, b):
        q, s, z = n.DynamicQuantizeLinear(x, outs=3)
        y = n.MatMulInteger(q, n.weight(a, b, kind="int8"), z, n.const("int8", (), [0]))
        return n.Add(n.Mul(n.Cast(y, to=FLOAT), n.Mul(s, 0.01)), n.weight(b))

    n.dense = dense
    x = n.layer_norm(n.Gather(n.weight(30, 16), "ids"))
    x = n.layer_norm(n.Add(n.attention(x, mask=additive(n)), x))
    return n.done(IDS, (n.layer_norm(n.Add(n.feed_forward(x), x)), "float[batch,length,16]"))


def tf_bert():
    """tf2onnx: Einsum-like reshapes to two axes, mask by broadcast, tanh Gelu, gathered first token."""
    n = Net(12)
    x = n.layer_norm(n.Gather(n.weight(30, 16), n.Cast("ids", to=INT64)))
    q, k, v = (n.Einsum(x, n.weight(16, 2, 8), equation="abc,cde->abde") for _ in range(3))
    s = n.Mul(n.Einsum(k, q, equation="aecd,abcd->acbe"), 0.3535)
    s = n.Add(s, additive(n, -10000.0))
    y = n.Einsum(n.Softmax(s, axis=3), v, equation="acbe,aecd->abcd")
    x = n.layer_norm(n.Add(x, n.Einsum(y, n.weight(2, 8, 16), equation="abcd,cde->abe")))
    u = n.Add(n.MatMul(x, n.weight(16, 32)), n.weight(32))
    u = n.Mul(u, n.Mul(n.Add(n.Tanh(n.Mul(n.Add(u, n.Mul(n.Pow(u, 3.0), 0.044714998453855515)), 0.7978845834732056)), 1.0), 0.5))
    x = n.layer_norm(n.Add(x, n.dense(u, 32, 16)))
    return n.done(["int32[batch,length] ids", "int32[batch,length] mask"], (n.squeeze(n.Slice(x, [0], [1], [1]), 1), "float[batch,16]"))


def clip_text():
    """The token of the largest number is the end: ArgMax, gathered by pairs."""
    n = Net(14, True)
    ids = n.Cast("ids", to=INT64)
    x = n.Add(n.Gather(n.weight(30, 16), ids), n.weight(7, 16))
    causal = n.const("float", [1, 1, 7, 7], ["0.0" if j <= i else "-3.4028234663852886e+38" for i in range(7) for j in range(7)])
    x = n.Add(x, n.attention(n.layer_norm(x), mask=causal))
    u = n.dense(n.layer_norm(x), 16, 32)
    x = n.Add(x, n.dense(n.Mul(u, n.Sigmoid(n.Mul(u, 1.7020000219345093))), 32, 16))
    x = n.layer_norm(x)
    flat = n.Reshape(x, [-1, 16])
    last = n.Add(n.ArgMax(ids, axis=-1, keepdims=0), n.Mul(n.Range(0, n.dim(x, 0), 1), 7))
    return n.done(["int32[batch,7] ids"], (x, "float[batch,7,16]"), (n.Gather(flat, last, axis=0), "float[batch,16]"))


# --- decoders ---

STEP = ["int64[batch,length] ids", "int64[batch,total] mask", "float[batch,1,past,8] past_k", "float[batch,1,past,8] past_v"]
CACHE = "float[batch,1,total,8]"


def rotate(n, x, cos, sin):
    a = n.Slice(x, [0], [4], [3], [1])
    b = n.Slice(x, [4], [9223372036854775807], [3], [1])
    return n.Add(n.Mul(x, cos), n.Mul(n.Concat(n.Neg(b), a, axis=-1), sin))


def llama_cache(opset=14):
    """Optimum: rotary tables from positions, cache joined, heads repeated by Expand."""
    n = Net(opset, True)
    x = n.Gather(n.weight(30, 16), "ids")
    long, past = n.dim("ids", 1), n.dim("past_k", 2)
    places = n.unsqueeze(n.Range(past, n.Add(past, long), 1), 0)
    f = n.MatMul(n.unsqueeze(n.Cast(places, to=FLOAT), 2), n.weight(1, 1, 4, shift=0.5))
    f = n.unsqueeze(n.Concat(f, f, axis=-1), 1)
    cos, sin = n.Cos(f), n.Sin(f)
    y = n.rms_norm(x)
    q = rotate(n, n.heads(n.MatMul(y, n.weight(16, 16))), cos, sin)
    k = rotate(n, n.heads(n.MatMul(y, n.weight(16, 8)), 8, 1), cos, sin)
    v = n.heads(n.MatMul(y, n.weight(16, 8)), 8, 1)
    k, v = n.Concat("past_k", k, axis=2), n.Concat("past_v", v, axis=2)
    total = n.dim(k, 2)
    wide = [n.Reshape(n.Expand(n.unsqueeze(z, 2), n.dims(n.dim(z, 0), 1, 2, total, 8)), n.dims(n.dim(z, 0), 2, total, 8)) for z in (k, v)]
    seen = n.LessOrEqual(n.unsqueeze(n.Range(0, total, 1), 0), n.Transpose(places, perm=[1, 0]))
    keep = n.And(n.unsqueeze(seen, 0, 1), n.Cast(n.unsqueeze("mask", 1, 2), to=BOOL))
    x = n.Add(x, n.MatMul(n.attend(q, wide[0], wide[1], where=keep), n.weight(16, 16)))
    y = n.rms_norm(x)
    x = n.Add(x, n.MatMul(n.Mul(n.silu(n.MatMul(y, n.weight(16, 32))), n.MatMul(y, n.weight(16, 32))), n.weight(32, 16)))
    return n.done(STEP, (n.MatMul(n.rms_norm(x), n.weight(16, 30)), "float[batch,length,30]"), (k, CACHE), (v, CACHE))


def genai():
    """ONNX Runtime GenAI: GroupQueryAttention with rotary inside, weights of four bits."""
    n = Net(14)
    x = n.Gather(n.weight(30, 32), "ids")

    def low(v, a, b):
        return n.ms("MatMulNBits", v, n.weight(b, a // 32, 16, kind="uint8"), n.weight(b * a // 32, scale=0.1, shift=0.02), K=a, N=b, bits=4, block_size=32)

    total = n.Cast(n.dim("mask", 1), to=INT32)
    seen = n.Cast(n.Sub(n.reduce("ReduceSum", "mask", [1], 0), 1), to=INT32)
    y = n.SimplifiedLayerNormalization(x, n.weight(32, shift=1.0), axis=-1, epsilon=1e-5)
    a, k, v = n.ms("GroupQueryAttention", low(y, 32, 32), low(y, 32, 16), low(y, 32, 16), "past_k", "past_v", seen, total,
                   n.weight(64, 8), n.weight(64, 8), num_heads=2, kv_num_heads=1, do_rotary=1, scale=0.25, outs=3)
    y, _, _, x = n.ms("SkipSimplifiedLayerNormalization", x, low(a, 32, 32), n.weight(32, shift=1.0), epsilon=1e-5, outs=4)
    y = n.Mul(n.silu(low(y, 32, 32)), low(y, 32, 32))
    y = n.ms("SkipSimplifiedLayerNormalization", x, low(y, 32, 32), n.weight(32, shift=1.0), epsilon=1e-5)
    return n.done(["int64[batch,length] ids", "int64[batch,total] mask", "float[batch,1,past,16] past_k", "float[batch,1,past,16] past_v"],
                  (low(y, 32, 30), "float[batch,length,30]"), (k, "float[batch,1,total,16]"), (v, "float[batch,1,total,16]"))


def gpt2_past():
    """One tensor of keys and values, Split of one product, causal mask cut from a constant."""
    n = Net(11, True)
    past_k, past_v = n.Gather("past", 0, axis=0), n.Gather("past", 1, axis=0)
    old, long = n.dim(past_k, 2), n.dim("ids", 1)
    place = n.Range(old, n.Add(old, long), 1)
    x = n.Add(n.Gather(n.weight(30, 16), "ids"), n.Gather(n.weight(32, 16), n.Unsqueeze(place, axes=[0])))
    y = n.layer_norm(x)
    wide = n.Reshape(n.Gemm(n.Reshape(y, [-1, 16]), n.weight(16, 48), n.weight(48)), n.dims(n.dim(y, 0), n.dim(y, 1), 48))
    q, k, v = n.split(wide, [16, 16, 16], 2)
    q, k, v = (n.heads(z) for z in (q, k, v))
    k, v = n.Concat(past_k, k, axis=2), n.Concat(past_v, v, axis=2)
    s = n.Div(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), n.Pow(n.Cast(n.dim(v, 3), to=FLOAT), 0.5))
    total = n.dim(s, 3)
    whole = n.const("uint8", [1, 1, 32, 32], ["1" if j <= i else "0" for i in range(32) for j in range(32)])
    bias = n.Slice(whole, n.Unsqueeze(n.Sub(total, n.dim(s, 2)), axes=[0]), n.Unsqueeze(total, axes=[0]), [2], [1])
    bias = n.Slice(bias, [0], n.Unsqueeze(total, axes=[0]), [3], [1])
    s = n.Where(n.Cast(bias, to=BOOL), s, -10000.0)
    x = n.Add(x, n.dense(n.unheads(n.MatMul(n.Softmax(s, axis=3), v)), 16, 16))
    present = n.Concat(n.Unsqueeze(k, axes=[0]), n.Unsqueeze(v, axes=[0]), axis=0)
    return n.done(["int64[batch,length] ids", "float[2,batch,2,past,8] past"],
                  (n.MatMul(n.layer_norm(x), n.weight(16, 30)), "float[batch,length,30]"), (present, "float[2,batch,2,total,8]"))


def merged():
    """One model for the first and later steps, behind an If; the branch without cache ignores it."""
    n = Net(14)
    x = n.Gather(n.weight(30, 16), "ids")
    k = n.heads(n.dense(x, 16, 16))
    wq, bq = n.weight(16, 16), n.weight(16)

    def branch(name, first, cached):
        b = Net(14, True, first)
        keys = b.Concat("past", k, axis=2) if cached else b.Identity(k)
        q = b.heads(b.Add(b.MatMul(x, wq), bq))
        y = b.unheads(b.MatMul(b.Softmax(b.MatMul(q, b.Transpose(keys, perm=[0, 1, 3, 2])), axis=-1), keys))
        n.inits += b.inits
        return b.body(name, [], ["float[batch,length,16] %s" % y, "float[batch,2,total,8] %s" % keys])

    y, keys = n.If("cached", then_branch=branch("later", 1000, True), else_branch=branch("first", 2000, False), outs=2)
    return n.done(["int64[batch,length] ids", "bool cached", "float[batch,2,past,8] past"],
                  (n.dense(y, 16, 30), "float[batch,length,30]"), (keys, "float[batch,2,total,8]"))


def gemma():
    """Soft caps, a window, weights of norms plus one, tied head."""
    n = Net(17, True)
    table = n.weight(30, 16)
    x = n.Mul(n.Gather(table, "ids"), 4.0)
    norm = lambda v: n.Mul(n.Div(v, n.Sqrt(n.Add(n.reduce("ReduceMean", n.Mul(v, v), [-1]), 1e-6))), n.Add(n.weight(16), 1.0))
    y = norm(x)
    q, k, v = (n.heads(n.MatMul(y, n.weight(16, 16))) for _ in range(3))
    s = n.Mul(n.Tanh(n.Div(n.Mul(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), 0.3535), 50.0)), 50.0)
    r = n.Range(0, n.dim(x, 1), 1)
    far = n.Sub(n.unsqueeze(r, 1), n.unsqueeze(r, 0))
    s = n.Where(n.And(n.GreaterOrEqual(far, 0), n.Less(far, 4)), s, -3.4028234663852886e+38)
    x = n.Add(x, norm(n.MatMul(n.unheads(n.MatMul(n.Softmax(s, axis=-1), v)), n.weight(16, 16))))
    u = n.MatMul(norm(x), n.weight(16, 32))
    tanh = n.Tanh(n.Mul(n.Add(u, n.Mul(n.Mul(n.Mul(u, u), u), 0.044715)), 0.7978846))
    x = n.Add(x, n.MatMul(n.Mul(n.Mul(u, n.Mul(n.Add(tanh, 1.0), 0.5)), n.MatMul(x, n.weight(16, 32))), n.weight(32, 16)))
    return n.done(["int64[batch,length] ids"], (n.MatMul(norm(x), n.Transpose(table, perm=[1, 0])), "float[batch,length,30]"))


def attention_23():
    """The operators of opset 23."""
    n = Net(23)
    y = n.RMSNormalization(n.Gather(n.weight(30, 16), "ids"), n.weight(16, shift=1.0), axis=-1, epsilon=1e-5)
    q, k, v = (n.MatMul(y, n.weight(16, w)) for w in (16, 8, 8))
    place = n.Sub(n.CumSum("mask", 1), 1)
    place = n.Slice(place, n.unsqueeze(n.Neg(n.dim("ids", 1)), 0), [9223372036854775807], [1], [1])
    q = n.RotaryEmbedding(q, n.weight(64, 4), n.weight(64, 4), place, num_heads=2)
    k = n.RotaryEmbedding(k, n.weight(64, 4), n.weight(64, 4), place, num_heads=1)
    y, k, v = n.Attention(q, k, v, None, "past_k", "past_v", is_causal=1, q_num_heads=2, kv_num_heads=1, outs=3)
    return n.done(STEP, (n.MatMul(y, n.weight(16, 30)), "float[batch,length,30]"), (k, CACHE), (v, CACHE))


def experts():
    """Two of four experts: TopK, one hot, each weighed; all computed."""
    n = Net(13, True)
    x = n.layer_norm(n.Gather(n.weight(30, 16), "ids"))
    flat = n.Reshape(x, [-1, 16])
    p = n.Softmax(n.MatMul(flat, n.weight(16, 4)), axis=-1)
    v, i = n.TopK(p, [2], axis=-1, largest=1, sorted=1, outs=2)
    v = n.Div(v, n.reduce("ReduceSum", v, [-1]))
    hot = n.Cast(n.Equal(n.unsqueeze(i, 2), n.const("int64", [1, 1, 4], [0, 1, 2, 3])), to=FLOAT)
    share = n.reduce("ReduceSum", n.Mul(hot, n.unsqueeze(v, 2)), [1], 0)
    h = n.silu(n.MatMul(n.unsqueeze(flat, 0), n.weight(4, 16, 8)))
    y = n.MatMul(h, n.weight(4, 8, 16))
    y = n.reduce("ReduceSum", n.Mul(y, n.unsqueeze(n.Transpose(share, perm=[1, 0]), 2)), [0], 0)
    y = n.Add(x, n.Reshape(y, n.Shape(x)))
    return n.done(["int64[batch,length] ids"], (n.MatMul(y, n.weight(16, 30)), "float[batch,length,30]"))


def mamba():
    """A state over time as a Scan."""
    n = Net(15)
    x = n.Gather(n.weight(30, 8), "ids")
    y = n.conv1(n.Transpose(x, perm=[0, 2, 1]), 8, 8, k=4, p=3, group=8)
    y = n.silu(n.Slice(y, [0], n.unsqueeze(n.dim(x, 1), 0), [2], [1]))
    y = n.Transpose(y, perm=[2, 0, 1])
    d = n.Softplus(n.dense(y, 8, 8))
    b = n.MatMul(y, n.weight(8, 4))
    state = n.ConstantOfShape(n.dims(n.dim("ids", 0), 8, 4), value="float[1] {0.0}")
    a = n.weight(8, 4)
    s = Net(15, True, 1000)
    decay = s.Exp(s.Neg(s.Mul(s.unsqueeze("d_in", 2), s.Abs(a))))
    new = s.Add(s.Mul(decay, "h_in"), s.Mul(s.unsqueeze(s.Mul("d_in", "y_in"), 2), s.unsqueeze("b_in", 1)))
    out = s.reduce("ReduceSum", new, [2], 0)
    n.inits += s.inits
    body = s.body("step", ["float[batch,8,4] h_in", "float[batch,8] y_in", "float[batch,8] d_in", "float[batch,4] b_in"],
                  ["float[batch,8,4] %s" % new, "float[batch,8] %s" % out])
    last, ys = n.Scan(state, y, d, b, body=body, num_scan_inputs=3, outs=2)
    return n.done(["int64[batch,length] ids"], (n.MatMul(n.Transpose(ys, perm=[1, 0, 2]), n.weight(8, 30)), "float[batch,length,30]"),
                  (last, "float[batch,8,4]"))


def greedy_loop():
    """The whole generation as a Loop."""
    n = Net(13)
    table, head = n.weight(20, 8), n.weight(8, 20)
    b = Net(13, True, 1000)
    h = b.Tanh(b.Add(b.Gather(table, "token"), b.MatMul("h_in", n.weight(8, 8))))
    new = b.ArgMax(b.MatMul(h, head), axis=1, keepdims=0)
    more = b.Not(b.Equal(b.reduce("ReduceMax", new, [0], 0), 19))
    seen = b.Identity(new)
    n.inits += b.inits
    body = b.body("step", ["int64 i", "bool go", "int64[batch] token", "float[batch,8] h_in"],
                  ["bool %s" % more, "int64[batch] %s" % new, "float[batch,8] %s" % h, "int64[batch] %s" % seen])
    _, h, all_ = n.Loop(n.const("int64", (), [6]), None, "first", "h", body=body, outs=3)
    return n.done(["int64[batch] first", "float[batch,8] h"], (n.Transpose(all_, perm=[1, 0]), "int64[batch,steps]"), (h, "float[batch,8]"))


# --- diffusion ---

def time_embedding(n, t, width=16):
    f = n.Exp(n.Div(n.Mul(n.Cast(n.Range(0, width // 2, 1), to=FLOAT), -9.210340371976184), float(width // 2)))
    a = n.Mul(n.unsqueeze(n.Cast(n.Expand(t, n.unsqueeze(n.dim("sample", 0), 0)), to=FLOAT), 1), n.unsqueeze(f, 0))
    a = n.Concat(n.Sin(a), n.Cos(a), axis=-1)
    a = n.Concat(n.slice(a, width // 2, 9223372036854775807, 1), n.slice(a, 0, width // 2, 1), axis=-1)
    return n.gemm(n.silu(n.gemm(a, width, width)), width, width)


LATENT = ["float[batch,4,height,width] sample", "int64[1] timestep", "float[batch,tokens,16] text"]


def unet(opset=14):
    n = Net(opset, True)
    t = time_embedding(n, "timestep")
    x = n.conv("sample", 4, 16)
    h = n.conv(n.silu(n.group_norm(x, 16, 4)), 16, 16)
    h = n.Add(h, n.unsqueeze(n.gemm(n.silu(t), 16, 16), 2, 3))
    x = n.Add(x, n.conv(n.silu(n.group_norm(h, 16, 4)), 16, 16))
    d = n.conv(x, 16, 16, s=2)
    rows, columns = n.dim(d, 2), n.dim(d, 3)
    s = n.Reshape(n.Transpose(n.group_norm(d, 16, 4), perm=[0, 2, 3, 1]), n.dims(n.dim(d, 0), n.Mul(rows, columns), 16))
    s = n.Add(s, n.attention(n.layer_norm(s)))
    s = n.Add(s, n.attention(n.layer_norm(s), over="text"))
    a, g = n.split(n.dense(n.layer_norm(s), 16, 64), [32, 32], -1)
    s = n.Add(s, n.dense(n.Mul(a, n.gelu(g)), 32, 16))
    s = n.Transpose(n.Reshape(s, n.dims(n.dim(d, 0), rows, columns, 16)), perm=[0, 3, 1, 2])
    u = n.Resize(n.Add(d, s), None, [1.0, 1.0, 2.0, 2.0], coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor") \
        if opset >= 13 else n.Resize(n.Add(d, s), n.const("float", [0], []), [1.0, 1.0, 2.0, 2.0], mode="nearest")
    y = n.conv(n.Concat(n.conv(u, 16, 16), x, axis=1), 32, 4)
    return n.done(LATENT, (y, "float[batch,4,height,width]"))


def ort_unet():
    """As ONNX Runtime's optimizer leaves it: channels last, fused norms and gates."""
    n = Net(14)
    x = n.Transpose(n.conv("sample", 4, 16), perm=[0, 2, 3, 1])
    h = n.ms("GroupNorm", x, n.weight(16, shift=1.0), n.weight(16), activation=1, channels_last=1, epsilon=1e-5, groups=4)
    h = n.ms("NhwcConv", h, n.weight(16, 3, 3, 16), n.weight(16), dilations=[1, 1], group=1, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
    s = n.Reshape(h, [0, -1, 16])
    v = n.ms("SkipLayerNormalization", s, s, n.weight(16, shift=1.0), n.weight(16), epsilon=1e-5)
    q, k = n.MatMul(v, n.weight(16, 16)), n.MatMul("text", n.weight(16, 16))
    a = n.ms("MultiHeadAttention", q, k, n.MatMul("text", n.weight(16, 16)), num_heads=2)
    v = n.ms("BiasSplitGelu", n.MatMul(a, n.weight(16, 64)), n.weight(64))
    s = n.ms("BiasAdd", n.MatMul(v, n.weight(32, 16)), n.weight(16), s)
    y = n.Transpose(n.Reshape(s, n.Shape(h)), perm=[0, 3, 1, 2])
    return n.done(["float[batch,4,8,8] sample", "float[batch,tokens,16] text"], (n.conv(y, 16, 4), "float[batch,4,8,8]"))


def vae_decoder():
    n = Net(17, True)
    x = n.conv(n.conv(n.Div("latent", 0.18215), 4, 4, k=1), 4, 16)
    b, c, h, w = (n.dim(x, i) for i in range(4))
    t = n.Transpose(n.Reshape(n.group_norm(x, 16, 4), n.dims(b, c, n.Mul(h, w))), perm=[0, 2, 1])
    q, k, v = (n.dense(t, 16, 16) for _ in range(3))
    a = n.MatMul(n.Softmax(n.Mul(n.MatMul(q, n.Transpose(k, perm=[0, 2, 1])), 0.25), axis=-1), v)
    x = n.Add(x, n.Reshape(n.Transpose(n.dense(a, 16, 16), perm=[0, 2, 1]), n.dims(b, c, h, w)))
    u = n.Resize(x, None, [1.0, 1.0, 2.0, 2.0], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    y = n.conv(n.silu(n.group_norm(n.conv(u, 16, 8), 8, 2)), 8, 3)
    return n.done(["float[batch,4,height,width] latent"], (n.Clip(n.Add(n.Div(y, 2.0), 0.5), 0.0, 1.0), "float[batch,3,h,w]"))


def vae_encoder():
    n = Net(15, True)
    x = n.Pad(n.conv("image", 3, 8), [0, 0, 0, 0, 0, 0, 1, 1], 0.0)
    x = n.conv(n.silu(n.group_norm(n.conv(x, 8, 8, s=2, pad=0), 8, 2)), 8, 8)
    mean, log = n.split(x, [4, 4], 1)
    dev = n.Exp(n.Mul(n.Clip(log, -30.0, 20.0), 0.5))
    return n.done(["float[1,3,16,16] image"], (mean, "float[1,4,8,8]"), (n.Add(mean, n.Mul(dev, n.Mul(n.RandomNormalLike(mean), 0.0))), "float[1,4,8,8]"))


def dit():
    """Patches, shift and scale from the time, six chunks."""
    n = Net(17, True)
    t = time_embedding(n, "timestep")
    x = n.Reshape(n.Transpose(n.Conv("sample", n.weight(16, 4, 2, 2), n.weight(16), kernel_shape=[2, 2], strides=[2, 2]), perm=[0, 2, 3, 1]), [0, 16, 16])
    x = n.Add(x, n.weight(1, 16, 16))
    parts = n.Split(n.unsqueeze(n.gemm(n.silu(t), 16, 96), 1), [16] * 6, axis=2, outs=6)
    plain = lambda v: n.LayerNormalization(v, n.const("float", [16], [1.0] * 16), n.const("float", [16], [0.0] * 16), axis=-1, epsilon=1e-6)
    x = n.Add(x, n.Mul(parts[2], n.attention(n.Add(n.Mul(plain(x), n.Add(parts[1], 1.0)), parts[0]))))
    u = n.dense(n.Add(n.Mul(plain(x), n.Add(parts[4], 1.0)), parts[3]), 16, 32)
    u = n.Mul(n.Mul(u, 0.5), n.Add(n.Tanh(n.Mul(n.Add(u, n.Mul(n.Pow(u, 3.0), 0.044715)), 0.7978846)), 1.0))
    x = n.Add(x, n.Mul(parts[5], n.dense(u, 32, 16)))
    y = n.Reshape(n.dense(x, 16, 16), [-1, 4, 4, 2, 2, 4])
    y = n.Reshape(n.Transpose(y, perm=[0, 5, 1, 3, 2, 4]), [-1, 4, 8, 8])
    return n.done(["float[batch,4,8,8] sample", "int64[1] timestep"], (y, "float[batch,4,8,8]"))


def controlnet():
    """Hints added, outputs scaled by an input, one of them a sequence's element."""
    n = Net(16, True)
    x = n.Add(n.conv("sample", 4, 8), n.silu(n.conv(n.silu(n.conv("hint", 3, 4, s=2)), 4, 8)))
    low = n.conv(n.silu(x), 8, 8, s=2)
    kept = n.SequenceConstruct(x, low)
    outs = [n.Mul(n.conv(n.SequenceAt(kept, i), 8, 8, k=1, pad=0), "scale") for i in (0, 1)]
    return n.done(["float[1,4,8,8] sample", "float[1,3,16,16] hint", "float scale"],
                  (outs[0], "float[1,8,8,8]"), (outs[1], "float[1,8,4,4]"))


def scheduler():
    """A step of the sampler in the graph: alphas gathered by the time, an If for the last step."""
    n = Net(16)
    alpha = n.weight(10, scale=0.5, shift=0.6)
    now = n.Gather(alpha, "timestep")
    guess = n.Div(n.Sub("sample", n.Mul(n.Sqrt(n.Sub(1.0, now)), "noise")), n.Sqrt(now))
    a, b = Net(16, True, 1000), Net(16, True, 2000)
    before = a.Gather(alpha, a.Sub("timestep", 1))
    ya = a.Add(a.Mul(a.Sqrt(before), guess), a.Mul(a.Sqrt(a.Sub(1.0, before)), "noise"))
    yb = b.Clip(guess, -1.0, 1.0)
    y = n.If(n.Greater("timestep", 0), then_branch=a.body("middle", [], ["float[1,4,8,8] %s" % ya]),
             else_branch=b.body("last", [], ["float[1,4,8,8] %s" % yb]))
    return n.done(["float[1,4,8,8] sample", "float[1,4,8,8] noise", "int64 timestep"], (y, "float[1,4,8,8]"))


def lora():
    """Low-rank parts beside the weights, shared by Transpose of a stored matrix."""
    n = Net(17, True)
    x = n.Reshape(n.Transpose("sample", perm=[0, 2, 3, 1]), [0, -1, 16])
    w = n.Add(n.weight(16, 16), n.Mul(n.MatMul(n.weight(16, 2), n.weight(2, 16)), 0.5))
    y = n.MatMul(x, n.Transpose(w, perm=[1, 0]))
    y = n.Add(y, n.Mul(n.MatMul(n.MatMul(x, n.weight(16, 4)), n.weight(4, 16)), "strength"))
    return n.done(["float[batch,16,4,4] sample", "float strength"], (n.Softmax(y, axis=-1), "float[batch,16,16]"))


ENCODER = {
    "bert": bert, "bert-12": lambda: bert(12), "sdpa": sdpa, "roberta": roberta, "sentence": sentence, "deberta": deberta,
    "t5-encoder": t5_encoder, "ort-optimized": ort_bert, "dynamic-int8": dynamic_bert, "tf-einsum": tf_bert, "clip-text": clip_text,
}
DECODER = {
    "llama-cache": llama_cache, "llama-cache-18": lambda: llama_cache(18), "genai-int4": genai, "gpt2-past": gpt2_past, "merged-if": merged,
    "gemma": gemma, "attention-23": attention_23, "experts": experts, "mamba-scan": mamba, "greedy-loop": greedy_loop,
}
DIFFUSION = {
    "unet": unet, "unet-18": lambda: unet(18), "ort-optimized": ort_unet, "vae-decoder": vae_decoder, "vae-encoder": vae_encoder,
    "dit": dit, "controlnet": controlnet, "scheduler": scheduler, "lora": lora, "unet-12": lambda: unet(12),
}
