# SPDX-License-Identifier: Apache-2.0
"""Speech and sound, as exporters write them."""
from net import FLOAT, INT64, Net


def whisper_encoder(opset=17):
    n = Net(opset, True)
    x = n.gelu(n.conv1(n.gelu(n.conv1("mel", 8, 16)), 16, 16, s=2))
    x = n.Add(n.Transpose(x, perm=[0, 2, 1]), n.weight(20, 16))
    x = n.Add(x, n.attention(n.layer_norm(x)))
    x = n.Add(x, n.feed_forward(n.layer_norm(x)))
    return n.done(["float[batch,8,40] mel"], (n.layer_norm(x), "float[batch,20,16]"))


def whisper_front():
    """Log-mel of a wave: Pad reflect, STFT, clamped logarithm to base ten."""
    n = Net(17, True)
    x = n.Pad(n.unsqueeze("wave", 1), [0, 0, 16, 0, 0, 16], mode="reflect")
    x = n.squeeze(x, 1)
    window = n.const("float", [32], ["%.5f" % (0.5 - 0.5 * c) for c in
                                     [1 - 2 * abs(i / 16 - 1) for i in range(32)]])
    s = n.STFT(n.unsqueeze(x, -1), 8, window, 32, onesided=1)
    power = n.reduce("ReduceSum", n.Mul(s, s), [-1], 0)
    power = n.slice(power, 0, -1, 1)
    mel = n.MatMul(n.weight(6, 17, shift=0.3), n.Transpose(power, perm=[0, 2, 1]))
    log = n.Div(n.Log(n.Max(mel, 1e-10)), 2.302585124969482)
    log = n.Max(log, n.Sub(n.reduce("ReduceMax", log, [0, 1, 2], 1), 8.0))
    return n.done(["float[batch,160] wave"], (n.Div(n.Add(log, 4.0), 4.0), "float[batch,6,frames]"))


def wav2vec2():
    """GroupNorm of the first layer, weight norm of the positions computed in the graph."""
    n = Net(14, True)
    x = n.conv1(n.unsqueeze("wave", 1), 1, 8, k=10, s=5, p=0)
    x = n.gelu(n.InstanceNormalization(x, n.weight(8), n.weight(8), epsilon=1e-5))
    x = n.dense(n.layer_norm(n.Transpose(n.gelu(n.conv1(x, 8, 8, s=2)), perm=[0, 2, 1]), 8), 8, 16)
    v, g = n.weight(16, 8, 4), n.weight(1, 1, 4, shift=1.0)
    w = n.Mul(n.Div(v, n.reduce("ReduceL2", v, [0, 1])), g)
    pos = n.Conv(n.Transpose(x, perm=[0, 2, 1]), w, n.weight(16), dilations=[1], group=2, kernel_shape=[4], pads=[2, 2], strides=[1])
    pos = n.gelu(n.Slice(pos, [0], [-1], [2], [1]))
    x = n.layer_norm(n.Add(x, n.Transpose(pos, perm=[0, 2, 1])))
    x = n.Add(x, n.attention(x))
    return n.done(["float[batch,samples] wave"], (n.dense(x, 16, 8), "float[batch,frames,8]"))


def conformer():
    """Relative positions by Pad, Reshape and Slice; gated depthwise convolution; mask."""
    n = Net(13, True)
    x = n.layer_norm("x")
    length = n.dim(x, 1)
    q, k, v = (n.heads(n.dense(x, 16, 16)) for _ in range(3))
    pos = n.heads(n.dense("positions", 16, 16))
    bd = n.MatMul(n.Add(q, n.weight(2, 1, 8)), n.Transpose(pos, perm=[0, 1, 3, 2]))
    b, t, p = n.dim(bd, 0), n.dim(bd, 2), n.dim(bd, 3)
    bd = n.Pad(bd, [0, 0, 0, 1, 0, 0, 0, 0], 0.0)
    bd = n.Reshape(bd, n.dims(b, 2, n.Add(p, 1), t))
    bd = n.Reshape(n.slice(bd, 1, 9223372036854775807, 2), n.dims(b, 2, t, p))
    bd = n.Slice(bd, [0], n.unsqueeze(length, 0), [3], [1])
    s = n.Div(n.Add(n.MatMul(q, n.Transpose(k, perm=[0, 1, 3, 2])), bd), 2.828)
    gone = n.unsqueeze(n.Not("mask"), 1)
    a = n.Where(gone, 0.0, n.Softmax(n.Where(gone, -1e4, s), axis=-1))
    x = n.Add(x, n.dense(n.unheads(n.MatMul(a, v)), 16, 16))
    y = n.conv1(n.Transpose(n.layer_norm(x), perm=[0, 2, 1]), 16, 32, k=1, p=0)
    left, right = n.split(y, [16, 16], 1)
    y = n.conv1(n.Mul(left, n.Sigmoid(right)), 16, 16, k=3, group=16)
    y = n.silu(n.BatchNormalization(y, n.weight(16, shift=1.0), n.weight(16), n.weight(16), n.weight(16, scale=0.5, shift=1.5)))
    return n.done(["float[batch,frames,16] x", "float[1,places,16] positions", "bool[batch,frames,frames] mask"],
                  (n.Add(x, n.Transpose(y, perm=[0, 2, 1])), "float[batch,frames,16]"))


def zipformer_step():
    """Streaming: caches cut and joined, lengths as int32, swoosh by LogAddExp."""
    n = Net(13, True)
    x = n.Concat("cache", "x", axis=1)
    keep = n.Slice(x, [-4], [9223372036854775807], [1], [1])
    y = n.conv1(n.Transpose(x, perm=[0, 2, 1]), 16, 16, k=5, p=0, group=16)
    y = n.Transpose(y, perm=[0, 2, 1])
    shifted = n.Sub(y, 1.0)
    swoosh = n.Sub(n.Sub(n.Log(n.Add(n.Exp(shifted), 1.0)), n.Mul(y, 0.08)), 0.313261687)
    many = n.Add("processed", n.Cast(n.unsqueeze(n.dim("x", 1), 0), to=INT64))
    half = n.Mul(n.Add(swoosh, n.dense("x", 16, 16)), n.Sub(1.0, n.Exp(n.Neg(n.weight(16)))))
    return n.done(["float[batch,8,16] x", "float[batch,4,16] cache", "int64[batch] processed"],
                  (n.dense(half, 16, 12), "float[batch,8,12]"), (keep, "float[batch,4,16]"), (many, "int64[batch]"))


def transducer():
    """Predictor with embedding, blank as zero, and joiner."""
    n = Net(12, True)
    x = n.Mul(n.Gather(n.weight(12, 8), "token"), n.unsqueeze(n.Cast(n.Not(n.Equal("token", 0)), to=FLOAT), 2))
    y, h, c = n.LSTM(n.Transpose(x, perm=[1, 0, 2]), n.weight(1, 32, 8), n.weight(1, 32, 8), n.weight(1, 64), None, "h", "c",
                     hidden_size=8, outs=3)
    y = n.Transpose(n.squeeze(y, 1), perm=[1, 0, 2])
    j = n.Tanh(n.Add(n.unsqueeze(n.dense("frame", 16, 8), 2), n.unsqueeze(y, 1)))
    return n.done(["int64[batch,1] token", "float[batch,1,16] frame", "float[1,batch,8] h", "float[1,batch,8] c"],
                  (n.LogSoftmax(n.dense(j, 8, 12), axis=-1) if n.opset >= 13 else n.Log(n.Softmax(n.dense(j, 8, 12), axis=3)), "float[batch,1,1,12]"),
                  (h, "float[1,batch,8]"), (c, "float[1,batch,8]"))


def vits():
    """Speech from text: durations by Ceil, paths by CumSum, noise, transposed convolutions."""
    n = Net(15, True)
    x = n.Mul(n.Gather(n.weight(20, 16), "text"), 4.0)
    long = n.dim("text", 1)
    mask = n.Cast(n.Less(n.unsqueeze(n.Range(0, long, 1), 0), n.unsqueeze("lengths", 1)), to=FLOAT)
    x = n.Add(x, n.attention(x, where=n.Not(n.Equal(n.unsqueeze(n.Mul(n.unsqueeze(mask, 1), n.unsqueeze(mask, 2)), 1), 0.0))))
    log = n.squeeze(n.dense(x, 16, 1), 2)
    span = n.Mul(n.Ceil(n.Mul(n.Exp(log), 2.0)), mask)
    total = n.Cast(n.Clip(n.reduce("ReduceSum", span, [1], 0), 1.0), to=INT64)
    ends = n.CumSum(span, 1)
    most = n.reduce("ReduceMax", total, [0], 0)
    frames = n.Cast(n.Range(0, most, 1), to=FLOAT)
    below = n.Cast(n.Less(n.unsqueeze(frames, 0, 1), n.unsqueeze(ends, 2)), to=FLOAT)
    path = n.Sub(below, n.slice(n.Pad(below, [0, 1, 0, 0, 0, 0], 0.0), 0, -1, 1))
    z = n.MatMul(n.Transpose(path, perm=[0, 2, 1]), x)
    z = n.Add(z, n.Mul(n.RandomNormalLike(z, seed=1.0), 0.0))
    y = n.LeakyRelu(n.ConvTranspose(n.Transpose(z, perm=[0, 2, 1]), n.weight(16, 8, 4), n.weight(8), kernel_shape=[4], pads=[1, 1],
                                    strides=[2]), alpha=0.1)
    return n.done(["int64[batch,length] text", "int64[batch] lengths"], (n.Tanh(n.conv1(y, 8, 1, k=7, p=3)), "float[batch,1,samples]"))


def denoiser():
    """DTLN: two LSTM, complex spectrum by sines, overlapping parts added by the caller."""
    n = Net(10)
    y, h, c = n.LSTM(n.Transpose("spectrum", perm=[1, 0, 2]), n.weight(1, 32, 17), n.weight(1, 32, 8), n.weight(1, 64), None,
                     n.slice("state", 0, 1, 0), n.slice("state", 1, 2, 0), hidden_size=8, outs=3)
    m = n.Sigmoid(n.dense(n.Transpose(n.Squeeze(y, axes=[1]), perm=[1, 0, 2]), 8, 17))
    return n.done(["float[1,1,17] spectrum", "float[2,1,8] state"], (n.Mul("spectrum", m), "float[1,1,17]"),
                  (n.Concat(h, c, axis=0), "float[2,1,8]"))


def vad_if():
    """Two rates, each with its own weights in a branch."""
    n = Net(16)
    outs = []

    def branch(name, first, stride):
        b = Net(16, True, first)
        x = b.Pad("wave", [0, 32, 0, 32], mode="reflect")
        w = b.const("float", [10, 1, 64], ["%.3f" % ((7 * i + first) % 31 / 31 - 0.5) for i in range(640)])
        x = b.Conv(b.unsqueeze(x, 1), w, kernel_shape=[64], strides=[stride])
        re, im = b.slice(x, 0, 5, 1), b.slice(x, 5, 10, 1)
        x = b.Sqrt(b.Add(b.Pow(re, 2.0), b.Pow(im, 2.0)))
        y = b.Sigmoid(b.reduce("ReduceMean", x, [1, 2], 0))
        n.inits += b.inits
        return b.body(name, [], ["float[batch] %s" % y])

    y = n.If(n.Equal("rate", 16000), then_branch=branch("fast", 1000, 32), else_branch=branch("slow", 2000, 16))
    return n.done(["float[batch,512] wave", "int64 rate"], (y, "float[batch]"))


def keyword():
    """TensorFlow: MFCC by MatMul, depthwise convolutions in NHWC, one big Softmax."""
    n = Net(13)
    x = n.MatMul(n.Log(n.Add(n.Abs("spectrum"), 1e-6)), n.weight(17, 10))
    x = n.Transpose(n.unsqueeze(x, 3), perm=[0, 3, 1, 2])
    x = n.Relu(n.Conv(x, n.weight(8, 1, 5, 3), n.weight(8), auto_pad="SAME_UPPER", strides=[2, 2], kernel_shape=[5, 3]))
    x = n.Relu(n.Conv(x, n.weight(8, 1, 3, 3), n.weight(8), auto_pad="SAME_UPPER", group=8, kernel_shape=[3, 3]))
    x = n.AveragePool(n.Relu(n.conv(x, 8, 8, k=1)), kernel_shape=[12, 5])
    x = n.Reshape(n.Transpose(x, perm=[0, 2, 3, 1]), [-1, 8])
    return n.done(["float[1,24,17] spectrum"], (n.Softmax(n.gemm(x, 8, 4), axis=-1), "float[1,4]"))


def vocoder():
    """HiFi-GAN, then the wave as int16."""
    n = Net(14, True)
    x = n.conv1("mel", 8, 16, k=7, p=3)
    for a, b in ((16, 8), (8, 4)):
        x = n.ConvTranspose(n.LeakyRelu(x, alpha=0.1), n.weight(a, b, 4), n.weight(b), kernel_shape=[4], pads=[1, 1], strides=[2])
        r = [n.Add(x, n.conv1(n.LeakyRelu(x, alpha=0.1), b, b, k=3, p=d, d=d)) for d in (1, 3)]
        x = n.Div(n.Add(*r), 2.0)
    y = n.Tanh(n.conv1(n.LeakyRelu(x, alpha=0.01), 4, 1, k=7, p=3))
    y = n.Cast(n.Clip(n.Mul(n.squeeze(y, 1), 32767.0), -32768.0, 32767.0), to=5)
    return n.done(["float[batch,8,frames] mel"], (y, "int16[batch,samples]"))


SPEECH = {
    "whisper-encoder": whisper_encoder, "whisper-front": whisper_front, "wav2vec2": wav2vec2, "conformer": conformer,
    "zipformer-step": zipformer_step, "transducer": transducer, "vits": vits, "denoiser-10": denoiser, "vad-if": vad_if,
    "keyword-tf": keyword, "vocoder": vocoder,
}
