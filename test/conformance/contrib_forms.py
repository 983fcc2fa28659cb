#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contrib_forms.py [--tool TOOL] [--opset N,N] [--only OP] [--count N] [--seed N] [--keep DIR]: operators of ONNX
Runtime's own, one a model, with optional inputs, optional outputs and attributes drawn at random: absent
and present in every mixture, half floats, odd sizes. Each that ONNX Runtime runs is made standard and run
beside the original by `standard`. Draws that ONNX Runtime rejects are counted by it and say nothing.
--run: they are computed by `onnxsurg run` instead, and compared with ONNX Runtime (run_dev).
"""
import argparse
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contrib_cases as cases
from contrib_attention import FLOAT, INT32, INT64, UINT8, ints, real
from contrib_cases import BOOL, HALF, INT8, INT16, UINT16, many, text

FORMS = {}


def form(draw):
    """A function (m, r) that makes one model of the operator it is named after."""
    FORMS[draw.__name__] = draw
    return draw


def maybe(r, value, share=0.5):
    return value if r.random() < share else None


def attrs_of(r, **given):
    """Attributes, each with its values: one of them is drawn, None leaves the attribute out."""
    made = []
    for name, values in given.items():
        v = r.choice(values)
        if v is None:
            continue
        made.append(text(name, v) if isinstance(v, str) else many(name, v) if isinstance(v, list) else
                    real(name, v) if isinstance(v, float) else ints(name, v))
    return made


def numbers(r, dims, low, high, dtype):
    size = 1
    for d in dims:
        size *= d
    return list(dims), [r.randint(low, high) for _ in range(size)], dtype


def reals(r, dims, low=-1.0, high=1.0, dtype=FLOAT):
    size = 1
    for d in dims:
        size *= d
    return list(dims), [r.uniform(low, high) for _ in range(size)], dtype


def as_type(kind, inputs):
    """Dims as inputs of a type; what already has one stays."""
    return [{kind: i} if isinstance(i, list) else i for i in inputs]


def mask_of(r, b, s, t):
    rows = r.choice([None, None, "lengths", "ends", "keys", "query"])
    if rows == "lengths":
        return [b], [r.randint(1, t) for _ in range(b)]
    if rows == "ends":
        return [2 * b], [t] * b + [r.randint(0, t - 1) for _ in range(b)]
    if rows == "keys":
        return [b, t], [1 if j % t == 0 else r.randint(0, 1) for j in range(b * t)]
    if rows == "query":
        return [b, s, t], [1 if j % t == 0 else r.randint(0, 1) for j in range(b * s * t)]
    return None


@form
def Attention(m, r):
    b, s, d, heads, size, past = r.choice([1, 2]), r.choice([1, 3]), 5, r.choice([1, 2]), 4, r.choice([0, 0, 2])
    qkv = maybe(r, [heads * size, heads * size, heads * 3], 0.3) if not past else None
    width = sum(qkv) if qkv else 3 * heads * size
    bias = r.choice([None, [b, heads, s, s + past], [1, heads, s, s + past], [b, 1, s, s + past], [1, 1, s, s + past]])
    m.make("Attention", [[b, s, d], [d, width], maybe(r, [width], 0.8), mask_of(r, b, s, s + past),
                         [2, b, heads, past, size] if past else None, None if past else bias],
           2 if past else 1 if qkv else r.choice([1, 2]),
           [ints("num_heads", heads)] + attrs_of(r, unidirectional=[None, 0, 1], scale=[None, 0.4],
                                                 mask_filter_value=[None, None, -50.0], qkv_hidden_sizes=[qkv]))


@form
def MultiHeadAttention(m, r):
    b, s, heads, size = r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 2]), 4
    kind = r.choice(["plain", "plain", "packed", "cross"])
    t, past, v_size = (s if kind == "packed" else r.choice([s, 4])), 0, size
    if kind == "plain":
        past, v_size = r.choice([0, 0, 3]), r.choice([size, size, 3])
        if past:
            t, v_size = s, size
        parts = [[b, s, heads * size], [b, t, heads * size], [b, t, heads * v_size]]
    elif kind == "packed":
        parts = [[b, s, heads, 3, size], None, None]
    else:
        parts = [[b, s, heads * size], [b, heads, t, size], [b, heads, t, size]]
    whole = t + past
    mask = mask_of(r, b, s, whole)
    if isinstance(mask, tuple) and mask[0] == [2 * b]:
        mask = None
    old = [b, heads, past, size] if past else None
    outputs = 4 if r.random() < 0.2 else 3 if past else 1
    m.make("MultiHeadAttention", parts + [
        maybe(r, [heads * (2 * size + v_size)]), mask,
        r.choice([None, None, [b, heads, s, whole], [1, heads, s, whole], [b, 1, s, whole], [1, 1, s, whole]]),
        old, old], outputs, [ints("num_heads", heads)] + attrs_of(
            r, unidirectional=[None, 0, 1], scale=[None, 0.4], mask_filter_value=[None, None, -50.0]))


@form
def DecoderMaskedMultiHeadAttention(m, r):
    b, heads, size, room, past = r.choice([1, 2]), r.choice([1, 2]), 4, 6, r.choice([1, 3])
    cross = r.random() < 0.3
    width = heads * size
    if cross:
        t = 5
        inputs = [[b, 1, width], [b, heads, t, size], [b, heads, t, size], maybe(r, numbers(r, [b, t], 1, 1, INT32)),
                  maybe(r, [1, heads, 1, t], 0.3), None, None, None, None, None, maybe(r, [3 * width], 0.3)]
        m.make("DecoderMaskedMultiHeadAttention", inputs, 1, [ints("num_heads", heads), ints("past_present_share_buffer", 1)]
               + attrs_of(r, scale=[None, 0.4]))
        return
    old = [b, heads, room, size]
    mask = ([b, past + 1], [1 if j % (past + 1) == 0 else r.randint(0, 1) for j in range(b * (past + 1))])
    inputs = [[b, 1, width]] * 3 + [maybe(r, mask), maybe(r, [r.choice([1, b]), heads, 1, past + 1], 0.3), old, old,
                                    ([1], [past]), maybe(r, ([1], [1]), 0.3), None, maybe(r, [3 * width])]
    m.make("DecoderMaskedMultiHeadAttention", inputs, 3, [ints("num_heads", heads), ints("past_present_share_buffer", 1)]
           + attrs_of(r, scale=[None, 0.4], mask_filter_value=[None, -50.0]))


@form
def GroupQueryAttention(m, r):
    b, kv, size = r.choice([1, 2]), r.choice([1, 2]), r.choice([8, 16])
    heads = kv * r.choice([1, 2, 3])
    past = r.choice([0, 0, 5])
    s = r.choice([1, 3]) if not past or b == 1 else 1
    room, total = (past or s), past + s
    kind = r.choice([FLOAT, FLOAT, HALF])
    width, kv_width = heads * size, kv * size
    packed = r.random() < 0.4
    parts = [[b, s, width + 2 * kv_width], None, None] if packed else [[b, s, width], [b, s, kv_width], [b, s, kv_width]]
    lengths = [total - 1] * b
    window = r.choice([None, None, 2])
    old = [b, kv, past, size] if past else None
    inputs = parts + [old, old, ([b], lengths), (r.choice([[1], []]), [total])]
    rotary = r.random() < 0.5
    half = size // 2 if r.random() < 0.7 else size // 4
    tables = [[16, half], [16, half]] if rotary else [None, None]
    places = maybe(r, numbers(r, [b, s], 0, 15, INT64), 0.3) if rotary else None
    bias = r.choice([None, None, [b, heads, s, total], [1, 1, s, total], [1, heads, s, total]])
    inputs += tables + [places, bias, maybe(r, [heads], 0.2)]
    if past and kind == FLOAT and size == 16:  # quantized caches
        bits, each = r.choice([(8, False), (8, True), (4, False), (4, True)])
        shape = [b, kv, past, size * bits // 8]
        inputs[3:5] = [numbers(r, shape, *((-128, 127, INT8) if bits == 8 else (0, 255, UINT8))) for _ in range(2)]
        inputs += [reals(r, [1, kv, 1, size] if each else [1], 0.01, 0.2 if bits == 4 else 0.02) for _ in range(2)]
        how = "PER_CHANNEL" if each else "PER_TENSOR"
        m.make("GroupQueryAttention", as_type(kind, inputs), 3, [ints("num_heads", heads), ints("kv_num_heads", kv)] + attrs_of(
            r, k_quant_type=[how], v_quant_type=[how], kv_cache_bit_width=[bits], do_rotary=[int(rotary)],
            local_window_size=[window]), kinds=[kind] + [INT8 if bits == 8 else UINT8] * 2)
        return
    m.make("GroupQueryAttention", as_type(kind, inputs), 3 if past or r.random() < 0.6 else 1,
           [ints("num_heads", heads), ints("kv_num_heads", kv)] + attrs_of(
               r, do_rotary=[int(rotary)], rotary_interleaved=[None, 1] if rotary else [None], scale=[None, 0.4],
               softcap=[None, None, 2.0], local_window_size=[window], smooth_softmax=[None, None, 1]),
           kinds=[kind] * 3)


@form
def LinearAttention(m, r):
    b, t, kv, dk, dv = r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 2]), 4, r.choice([3, 4])
    heads = kv * r.choice([1, 2])
    rule = r.choice(["linear", "gated", "delta", "gated_delta", None])
    gated, delta = rule in ("gated", "gated_delta", None), rule in ("delta", "gated_delta", None)
    decay = r.choice([[b, t, kv], [b, t, kv * dk]]) if gated else None
    beta = r.choice([[b, t, kv], [b, t, 1]]) if delta else None
    m.make("LinearAttention", [[b, t, heads * dk], [b, t, kv * dk], [b, t, kv * dv], maybe(r, [b, kv, dk, dv], 0.7),
                               decay, beta], 2, [ints("q_num_heads", heads), ints("kv_num_heads", kv)] + attrs_of(
        r, update_rule=[rule], scale=[None, 0.5], chunk_size=[None, 2]))


@form
def CausalConvWithState(m, r):
    b, c, s, k = r.choice([1, 2]), 3, r.choice([1, 5]), r.choice([1, 4])
    m.make("CausalConvWithState", [[b, c, s], [c, 1, k], maybe(r, [c]), maybe(r, [b, c, k - 1])], 2,
           attrs_of(r, activation=[None, "none", "silu", "swish"], ndim=[None, 1]))


@form
def RotaryEmbedding(m, r):
    b, s, heads, size, kind = 2, r.choice([1, 4]), 3, 8, r.choice([FLOAT, HALF])
    part = r.choice([0, 0, 4])
    x = r.choice([[b, s, heads * size], [b, heads, s, size]])
    half = (part or size) // 2
    where = r.choice([([1], [2], INT64), numbers(r, [b, s], 0, 8, INT64), {INT64: [b, s]}])
    m.make("RotaryEmbedding", as_type(kind, [x, where, [16, half], [16, half]]), 1,
           attrs_of(r, interleaved=[None, 0, 1], num_heads=[heads] if part or len(x) == 3 else [None, 0],
                    rotary_embedding_dim=[part or None], scale=[None, 1.0], is_packed_batching=[None, 0]), kinds=[kind])


@form
def SkipLayerNormalization(m, r):
    kind, d = r.choice([FLOAT, HALF]), 8
    x = r.choice([[2, 3, d], [5, d], ["B", 3, d]])
    skip = r.choice([x, x, [3, d], [1, 3, d]]) if len(x) == 3 else x
    wanted = [kind] + [r.choice([0, FLOAT]), r.choice([0, FLOAT]), r.choice([0, kind])]
    m.make("SkipLayerNormalization", as_type(kind, [x, skip, [d], maybe(r, [d]), maybe(r, [d])]), 4,
           attrs_of(r, epsilon=[None, 1e-5, 0.1]), kinds=wanted)


@form
def SkipSimplifiedLayerNormalization(m, r):
    kind, d = r.choice([FLOAT, HALF]), 8
    x = r.choice([[2, 3, d], [5, d], ["B", 3, d]])
    skip = r.choice([x, x, [3, d], [1, 3, d]]) if len(x) == 3 else x
    m.make("SkipSimplifiedLayerNormalization", as_type(kind, [x, skip, [d], maybe(r, [d])]), 4,
           attrs_of(r, epsilon=[None, 1e-5, 0.1]), kinds=[kind, r.choice([0, FLOAT]), r.choice([0, FLOAT]), r.choice([0, kind])])


@form
def SimplifiedLayerNormalization(m, r):
    kind = r.choice([FLOAT, HALF, 11])
    axis = r.choice([None, -1, 1, 2])
    m.make("SimplifiedLayerNormalization", [{kind: [2, 3, 4]}, {kind: [3, 4] if axis == 1 else [4]}], r.choice([1, 2]),
           attrs_of(r, axis=[axis], epsilon=[None, 0.1], stash_type=[None, 1]), kinds=[kind, 11 if kind == 11 else FLOAT], domain="")


@form
def EmbedLayerNormalization(m, r):
    b, s, d = r.choice([1, 2]), r.choice([1, 4]), 6
    segments = r.random() < 0.5
    inputs = [numbers(r, [b, s], 0, 8, INT32), numbers(r, [b, s], 0, 1, INT32) if segments else None, [9, d], [8, d],
              [2, d] if segments else None, [d], [d], maybe(r, numbers(r, [b, s], 0, 1, INT32)),
              maybe(r, numbers(r, r.choice([[b, s], [1, s]]), 0, 7, INT32), 0.3)]
    m.make("EmbedLayerNormalization", inputs, 3, attrs_of(r, epsilon=[None, 1e-5], mask_index_type=[None, None, 1]),
           kinds=[FLOAT, INT32, r.choice([0, FLOAT])])


@form
def QEmbedLayerNormalization(m, r):
    b, s, d, kind = 2, r.choice([1, 4]), 6, r.choice([UINT8, INT8])
    segments = r.random() < 0.5

    def table(dims):
        return numbers(r, dims, 0, 100, kind)

    def scale():
        return [], [r.uniform(0.01, 0.05)], FLOAT

    def zero():
        return [], [r.randint(0, 20)], kind

    inputs = [numbers(r, [b, s], 0, 8, INT32), numbers(r, [b, s], 0, 1, INT32) if segments else None, table([9, d]),
              table([8, d]), table([2, d]) if segments else None, table([d]), table([d]),
              maybe(r, numbers(r, [b, s], 0, 1, INT32)), scale(), scale(), scale() if segments else None, scale(), scale(),
              zero(), zero(), zero() if segments else None, zero(), zero()]
    m.make("QEmbedLayerNormalization", inputs, 2, attrs_of(r, epsilon=[None, 1e-5]), kinds=[FLOAT, INT32])


@form
def MatMulNBits(m, r):
    bits, block = r.choice([2, 4, 4, 8]), r.choice([16, 32])
    k, n, kind = r.choice([32, 48, 40]), r.choice([1, 6]), r.choice([FLOAT, FLOAT, HALF])
    blocks = -(-k // block)
    w = numbers(r, [n, blocks, block * bits // 8], 0, 255, UINT8)
    per_row = -(-blocks * bits // 8)
    zero = r.choice([None, numbers(r, r.choice([[n * per_row], [n, per_row]]), 0, 255, UINT8), [n * blocks], [n, blocks]])
    groups = maybe(r, numbers(r, [blocks * block], 0, blocks - 1, INT32),
                   0.4 if bits > 2 and (k % block == 0 or zero is None or isinstance(zero, list)) else 0)
    m.make("MatMulNBits", as_type(kind, [r.choice([["S", k], [2, 3, k]]), w, r.choice([[n * blocks], [n, blocks]]), zero,
                                         groups, maybe(r, [n])]), 1,
           [ints("K", k), ints("N", n), ints("block_size", block)] + attrs_of(
               r, bits=[bits] if bits != 4 else [None, 4], accuracy_level=[None, 1]), kinds=[kind])


@form
def MatMulBnb4(m, r):
    k, n, block = r.choice([16, 32]), r.choice([4, 6]), 16
    w = numbers(r, [(k * n + 1) // 2], 0, 255, UINT8)
    m.make("MatMulBnb4", [r.choice([["S", k], [2, 3, k]]), w, [-(-k * n // block)]], 1,
           [ints("K", k), ints("N", n), ints("block_size", block)] + attrs_of(r, quant_type=[0, 1], transB=[None, 1]))


@form
def GatherBlockQuantized(m, r):
    bits, block, rows, width = r.choice([4, 4, 8]), r.choice([16, 32]), 5, r.choice([32, 48, 64])
    kind = r.choice([FLOAT, HALF])
    held, blocks = width * bits // 8, -(-width // block)
    data = numbers(r, [rows, held], 0, 255, UINT8)
    index = r.choice([([2, 2], [0, rows - 1, 1, 1], INT64), ([], [2], INT32), ([3], [-1, 0, 2], INT64)])
    zeros = maybe(r, numbers(r, [rows, -(-blocks * bits // 8)], 0, 255, UINT8))
    m.make("GatherBlockQuantized", [data, index, {kind: [rows, blocks]}, zeros], 1,
           [ints("block_size", block), ints("quantize_axis", r.choice([1, -1]))] + attrs_of(
               r, bits=[bits] if bits != 4 else [None, 4], gather_axis=[None, 0]), kinds=[kind])


@form
def MoE(m, r):
    rows, hidden, inter, experts = r.choice([[3, 8], [2, 3, 8]]), 8, 6, 4
    act = r.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    fused = r.choice([1, 2]) if act == "swiglu" else None
    wide = inter * 2 if act == "swiglu" else inter
    inputs = [rows, [rows[0] * (rows[1] if len(rows) == 3 else 1), experts], [experts, wide, hidden],
              maybe(r, [experts, wide]), [experts, hidden, inter], maybe(r, [experts, hidden]),
              None, None]
    m.make("MoE", inputs, 1, [text("activation_type", act)] + attrs_of(
        r, k=[None, 1, 2], normalize_routing_weights=[None, 0, 1], swiglu_fusion=[fused],
        activation_alpha=[None, 1.7] if act == "swiglu" else [None],
        activation_beta=[None, 1.0] if act == "swiglu" else [None],
        swiglu_limit=[None, 0.5] if act == "swiglu" else [None]))


@form
def QMoE(m, r):
    bits = r.choice([4, 8])
    hidden, inter, experts, rows = 32, 32, 4, 3
    act = r.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    wide = inter * 2 if act == "swiglu" else inter
    block = r.choice([None, 16])
    pack = 8 // bits

    def weight(out, width):
        return numbers(r, [experts, out, width // pack], 0, 255, UINT8)

    def scales(out, width):
        return [experts, out] + ([width // block] if block else [])

    def zeros(out, width):
        return numbers(r, [experts, out, width // block // pack], 0, 255, UINT8) if block else numbers(
            r, [experts, out // pack], 0, 255, UINT8)

    held = r.random() < 0.4
    inputs = [[rows, hidden], [rows, experts], weight(wide, hidden), scales(wide, hidden), maybe(r, [experts, wide]),
              weight(hidden, inter), scales(hidden, inter), maybe(r, [experts, hidden]), None, None, None,
              zeros(wide, hidden) if held else None, zeros(hidden, inter) if held else None]
    m.make("QMoE", inputs, 1, [text("activation_type", act), ints("expert_weight_bits", bits)] + attrs_of(
        r, k=[1, 2], normalize_routing_weights=[None, 1], block_size=[block], swiglu_fusion=[1 if act == "swiglu" else None]))


@form
def QAttention(m, r):
    heads, size, b, s, d = 2, 3, r.choice([1, 2]), r.choice([1, 4]), 5
    width, kind, wkind, past = 3 * heads * size, UINT8, r.choice([UINT8, INT8]), r.choice([0, 0, 2])
    shape = r.choice([[], [1], [width]])
    n = width if shape == [width] else 1
    m.make("QAttention", [{kind: [b, s, d]}, numbers(r, [d, width], 0, 100, wkind), [width], (r.choice([[], [1]]), [0.02], FLOAT),
                          (shape, [0.01 + j / 1000 for j in range(n)], FLOAT), mask_of(r, b, s, s + past),
                          maybe(r, ([], [3], kind)), maybe(r, (shape, [j % 5 for j in range(n)], wkind)),
                          [2, b, heads, past, size] if past else None], 2 if past else r.choice([1, 2]),
           [ints("num_heads", heads)] + attrs_of(r, unidirectional=[None, 0, 1], scale=[None, 0.4],
                                                 mask_filter_value=[None, None, -50.0]))


def quant(r, kind, optional=True):
    """A scale and a zero point, the latter perhaps absent."""
    shape = []
    zero = (shape, [r.randint(0, 9)], kind)
    return [(shape, [r.uniform(0.02, 0.2)], FLOAT), maybe(r, zero, 0.9) if optional else zero]


def pair(op):
    def draw(m, r):
        kind = r.choice([UINT8, INT8])
        a, b = r.choice([([2, 3, 4], [2, 3, 4]), ([2, 3, 4], [3, 1]), ([1], [2, 4]), (["N", 4], [4]), ([], [2, 3])])
        m.make(op, [{kind: a}, *quant(r, kind), {kind: b}, *quant(r, kind), *quant(r, kind)], 1, [], kinds=[kind])
    draw.__name__ = op
    return form(draw)


for name in ("QLinearAdd", "QLinearMul"):
    pair(name)


@form
def QLinearWhere(m, r):
    kind = r.choice([UINT8, INT8])
    c, a, b = r.choice([([2, 3, 4], [2, 3, 4], [2, 3, 4]), ([3, 1], [2, 1, 4], [4]), ([1], [2, 3], [3])])
    m.make("QLinearWhere", [{BOOL: c}, {kind: a}, *quant(r, kind, False), {kind: b}, *quant(r, kind, False),
                            *quant(r, kind, False)], 1, [], kinds=[kind])


@form
def QLinearConcat(m, r):
    kind, count = r.choice([UINT8, INT8]), r.choice([1, 2, 3])
    parts = [[2, r.choice([1, 3]), 4] for _ in range(count)]
    inputs = quant(r, kind, False)
    for p in parts:
        inputs += [{kind: p}, *quant(r, kind, False)]
    m.make("QLinearConcat", inputs, 1, [ints("axis", r.choice([1, -2]))], kinds=[kind])


def single(op, attrs, fixed_zero=False):
    def draw(m, r):
        kind = r.choice([UINT8, INT8])
        m.make(op, [{kind: [2, 3, 4, 5]}, *quant(r, kind, not fixed_zero), *quant(r, kind, not fixed_zero)], 1,
               attrs(r), kinds=[kind])
    draw.__name__ = op
    return form(draw)


single("QLinearSigmoid", lambda r: [])
single("QLinearLeakyRelu", lambda r: attrs_of(r, alpha=[None, 0.3]))
single("QLinearReduceMean", lambda r: attrs_of(r, axes=[[1], [-1, 1]], keepdims=[0, 1]))
single("QLinearGlobalAveragePool", lambda r: attrs_of(r, channels_last=[None, 0, 1]), True)
single("QLinearAveragePool", lambda r: attrs_of(
    r, channels_last=[None, 0, 1], kernel_shape=[[2, 2], [3, 2]], strides=[None, [1, 2], [2, 2]],
    pads=[None, [1, 0, 0, 1], [1, 1, 1, 1]], count_include_pad=[None, 0, 1], ceil_mode=[None, 0, 1]))
single("QLinearAveragePool", lambda r: attrs_of(
    r, kernel_shape=[[2, 2]], strides=[None, [2, 2]], auto_pad=["SAME_UPPER", "SAME_LOWER", "VALID"],
    count_include_pad=[None, 1]))


@form
def QLinearSoftmax(m, r):
    kind = r.choice([UINT8, INT8])
    m.make("QLinearSoftmax", [{kind: [2, 3, 4]}, *quant(r, kind), ([], [1 / 256], FLOAT),
                              ([], [-128 if kind == INT8 else 0], kind)], 1,
           attrs_of(r, axis=[None, 0, 1, -1], opset=[11, 13]), kinds=[kind])


@form
def QLinearConv(m, r):
    kind, wkind, last = r.choice([UINT8, INT8]), INT8, r.choice([None, 0, 1])
    if kind == UINT8:
        wkind = r.choice([UINT8, INT8])
    group, nd = r.choice([1, 2]), r.choice([1, 2, 2])
    x = [2, 4] + [6, 5][:nd] if not last else [2] + [6, 5][:nd] + [4]
    w = numbers(r, [2, 4 // group] + [2, 3][:nd], 0, 60, wkind)
    scale = r.choice([([], [0.05], FLOAT), ([2], [0.05, 0.02], FLOAT)])
    zero = (scale[0], [0 if wkind == INT8 else 7] * len(scale[1]), wkind)
    m.make("QLinearConv", [{kind: x}, *quant(r, kind, False), w, scale, zero, *quant(r, kind, False),
                           maybe(r, ([2], [5, -9], INT32))], 1,
           attrs_of(r, channels_last=[last], group=[group], strides=[None, [2, 1][:nd]], dilations=[None, [1, 1][:nd]],
                    pads=[None, [1, 0][:nd] + [0, 1][:nd]], auto_pad=[None, None, "NOTSET"]), kinds=[kind])


@form
def QGemm(m, r):
    ka, kb = r.choice([(UINT8, UINT8), (UINT8, INT8), (INT8, INT8)])
    ta, tb = r.choice([0, 0, 1]), r.choice([0, 1])
    a, w = ([5, 3] if ta else [3, 5]), numbers(r, [4, 5] if tb else [5, 4], 0, 90, kb)
    columns = r.choice([1, 4])
    bs = ([columns] if columns > 1 else [], [0.01 * (j + 1) for j in range(columns)], FLOAT)
    bz = (bs[0], [j for j in range(columns)], kb)
    kind, tail = r.choice([(FLOAT, []), (ka, quant(r, ka))])
    bias = maybe(r, numbers(r, r.choice([[4], [1, 4], [3, 4], [3, 1], []]), -50, 50, INT32))
    m.make("QGemm", [{ka: a}, *quant(r, ka, False), w, bs, bz, bias] + tail, 1,
           attrs_of(r, alpha=[None, 0.5], transA=[ta], transB=[tb]), kinds=[kind])


@form
def MatMulIntegerToFloat(m, r):
    ka, kb = r.choice([(UINT8, UINT8), (UINT8, INT8), (INT8, INT8), (INT8, UINT8)])
    a = r.choice([[3, 5], [2, 3, 5], ["N", 5], [5]])
    w = numbers(r, r.choice([[5, 4], [2, 5, 4]]) if len(a) == 3 else [5, 4], 0, 90, kb)
    columns = r.choice([1, 4]) if len(w[0]) == 2 else 1
    bs = ([columns] if columns > 1 else [], [0.01 * (j + 1) for j in range(columns)], FLOAT)
    m.make("MatMulIntegerToFloat", [{ka: a}, w, ([], [0.1], FLOAT), bs, maybe(r, ([], [4], ka)),
                                    maybe(r, (bs[0], [j for j in range(columns)], kb)), maybe(r, [4])], 1, [])


@form
def DynamicQuantizeMatMul(m, r):
    kb = r.choice([UINT8, INT8])
    columns = r.choice([1, 4])
    bs = (r.choice([[], [1]]) if columns == 1 else [4], [0.01 * (j + 1) for j in range(columns)], FLOAT)
    most = 63 if kb == INT8 else 90  # sums of two products of larger ones saturate on some processors
    m.make("DynamicQuantizeMatMul", [r.choice([[3, 5], [2, 3, 5], ["N", 5]]), numbers(r, [5, 4], 0, most, kb), bs,
                                     maybe(r, (bs[0], [j for j in range(columns)], kb)), maybe(r, [4])], 1, [])


@form
def MatMulInteger16(m, r):
    m.make("MatMulInteger16", [{INT16: r.choice([[3, 5], [2, 3, 5]])}, {INT16: [5, 4]}], 1, [], kinds=[INT32])


@form
def QuantizeLinear(m, r):
    kind = r.choice([UINT8, INT8, UINT16, INT16])
    axis = r.choice([None, 0, 1, -1])
    size = [2, 3, 4][1 if axis is None else axis]
    dims = r.choice([[], [size]])
    n = size if dims else 1
    x = {FLOAT: [2, 3, 4]}
    m.make("QuantizeLinear", [x, (dims, [0.01 * (j + 1) for j in range(n)], FLOAT), (dims, [j for j in range(n)], kind)], 1,
           attrs_of(r, axis=[axis]), kinds=[kind])


@form
def DequantizeLinear(m, r):
    kind = r.choice([UINT8, INT8, UINT16, INT16])
    axis = r.choice([None, 0, 1, -1])
    size = [2, 3, 4][1 if axis is None else axis]
    dims = r.choice([[], [size]])
    n = size if dims else 1
    m.make("DequantizeLinear", [numbers(r, [2, 3, 4], 0, 100, kind), (dims, [0.01 * (j + 1) for j in range(n)], FLOAT),
                                maybe(r, (dims, [j for j in range(n)], kind))], 1, attrs_of(r, axis=[axis]))


@form
def FusedConv(m, r):
    nd, group = r.choice([1, 2, 2]), r.choice([1, 2])
    act, params = r.choice([("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.7]),
                            ("HardSigmoid", [0.3, 0.4]), (None, None)])
    x, w = [1, 4] + [7, 6][:nd], [2, 4 // group] + [3, 2][:nd]
    attrs = attrs_of(r, activation=[act], group=[group], strides=[None, [2, 1][:nd]], pads=[None, [1, 0][:nd] + [0, 1][:nd]],
                     auto_pad=[None], dilations=[None, [1, 2][:nd]])
    if params:
        attrs.append(cases.sub(5, cases.sub(1, "activation_params"), cases.num(20, 6), *(
            cases.key(7, 5) + cases.struct.pack("<f", v) for v in params)))
    m.make("FusedConv", [x, w, maybe(r, [2])], 1, attrs)


@form
def FusedMatMul(m, r):
    ta, tb, ba, bb = (r.choice([0, 0, 1]) for _ in range(4))
    rank = r.choice([2, 3, 4])
    lead = [2, 3][:rank - 2]

    def dims(rows, columns, t, batch):
        matrix = [columns, rows] if t else [rows, columns]
        full = [matrix[0]] + lead + [matrix[1]] if batch else lead + matrix
        return full

    m.make(r.choice(["FusedMatMul", "FusedMatMul", "TransposeMatMul"]) if not (ba or bb) else "FusedMatMul",
           [dims(4, 5, ta, ba), dims(5, 3, tb, bb)], 1,
           attrs_of(r, transA=[ta or None], transB=[tb or None], transBatchA=[ba or None], transBatchB=[bb or None],
                    alpha=[None, 0.5]))


@form
def FusedGemm(m, r):
    ta, tb = r.choice([0, 1]), r.choice([0, 1])
    act = r.choice([("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": [0.3, None]}),
                    ("HardSigmoid", {"activation_alpha": [0.3], "activation_beta": [0.4]}), ("Softplus", {}), ("Softsign", {}),
                    ("Elu", {"activation_alpha": [0.5]}), ("ThresholdedRelu", {"activation_alpha": [0.1]})])
    m.make("FusedGemm", [[5, 3] if ta else [3, 5], [4, 5] if tb else [5, 4], r.choice([None, [4], [3, 4], [3, 1], []])], 1,
           [text("activation", act[0])] + attrs_of(r, transA=[ta or None], transB=[tb or None], alpha=[None, 0.5],
                                                    beta=[None, 0.25], **act[1]))


@form
def ConvTransposeWithDynamicPads(m, r):
    nd = r.choice([1, 2])
    group = r.choice([1, 2])
    pads = maybe(r, numbers(r, [2 * nd], 0, 1, INT64), 0.8)
    m.make("ConvTransposeWithDynamicPads", [[1, 4] + [5, 4][:nd], [4, 2] + [3, 3][:nd], pads, maybe(r, [2 * group])], 1,
           attrs_of(r, strides=[None, [2, 2][:nd]], group=[group], kernel_shape=[None, [3, 3][:nd]],
                    output_padding=[None], dilations=[None]))


@form
def GridSample(m, r):
    m.make("GridSample", [[2, 3, 4, 5], [2, 3, 2, 2]], 1, attrs_of(
        r, align_corners=[None, 0, 1], mode=[None, "bilinear", "nearest", "bicubic"], padding_mode=[None, "zeros", "border", "reflection"]))


@form
def NhwcMaxPool(m, r):
    kind = r.choice([UINT8, INT8])
    m.make("NhwcMaxPool", [{kind: [2, 6, 5, 3]}], 1, attrs_of(
        r, kernel_shape=[[2, 2], [3, 2]], strides=[None, [2, 2]], pads=[None, [1, 1, 1, 1]], ceil_mode=[None, 1],
        dilations=[None, [1, 2]], auto_pad=[None]), kinds=[kind])


@form
def Inverse(m, r):
    n, kind = r.choice([1, 2, 3, 5, 8]), r.choice([FLOAT, 11])
    x = {kind: r.choice([[n, n], ["B", n, n], [2, 3, n, n]])}
    m.make("Inverse", [x], 1, [], kinds=[kind])


@form
def CDist(m, r):
    kind = r.choice([FLOAT, 11])
    m.make("CDist", [{kind: r.choice([[3, 5], ["N", 5], [1, 5]])}, {kind: [4, 5]}], 1,
           attrs_of(r, metric=[None, "sqeuclidean", "euclidean"]), kinds=[kind])


@form
def UnfoldTensor(m, r):
    kind = r.choice([FLOAT, INT64])
    dim = r.choice([None, 0, 1, -1])
    m.make("UnfoldTensor", [{kind: [4, 6]}], 1, attrs_of(r, dim=[dim], size=[2, 3], step=[None, 1, 2]), kinds=[kind])


@form
def SampleOp(m, r):
    m.make("SampleOp", [[2, 3]], 1, [])


def gelus(op, bias, attrs):
    def draw(m, r):
        x = r.choice([[2, 3, 4], ["N", 4], [4]])
        m.make(op, [x] + ([[4]] if bias == 2 or bias and r.random() < 0.5 else []), 1, attrs(r))
    draw.__name__ = op
    return form(draw)


gelus("Gelu", 0, lambda r: [])
gelus("FastGelu", 1, lambda r: [])
gelus("BiasGelu", 2, lambda r: [])
gelus("QuickGelu", 0, lambda r: attrs_of(r, alpha=[None, 1.0, 0.5]))


@form
def Trilu(m, r):
    kind = r.choice([FLOAT, INT64, 11])
    m.make("Trilu", [{kind: r.choice([[3, 4], [2, 3, 3], [4, 0]])}, maybe(r, (r.choice([[], [1]]), [r.choice([-1, 0, 2])], INT64))], 1,
           attrs_of(r, upper=[None, 0, 1]), kinds=[kind])


@form
def Pad(m, r):
    shape = r.choice([[4], [1, 4]])
    m.make("Pad", [[3, 4], (shape, [r.choice([0, 1, -1]), 1, 0, 2], INT64), maybe(r, r.choice([([], [2.0], FLOAT), ([1], [2.0], FLOAT)]))],
           1, attrs_of(r, mode=[None, "constant", "reflect", "edge"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="write the models to this folder and stop")
    parser.add_argument("--only", help="models of these operators, separated by commas")
    parser.add_argument("--count", type=int, default=12, help="models of each operator")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--run", action="store_true")
    args, rest = parser.parse_known_args()
    only = args.only.split(",") if args.only else list(FORMS)
    with tempfile.TemporaryDirectory() as folder:
        maker = cases.Maker(args.keep or folder, None)
        for name, draw in FORMS.items():
            for i in range(args.count if name in only else 0):
                draw(maker, random.Random("%s %d %d" % (name, args.seed, i)))
        return cases.finish(maker, args.keep, rest, folder, "run_dev" if args.run else "standard")


if __name__ == "__main__":
    sys.exit(main())
