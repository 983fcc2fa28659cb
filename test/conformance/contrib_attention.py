#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contrib_attention.py [--tool TOOL]: the kinds of attention that ONNX Runtime has of its own beside the
runtime itself, by run_dev: models of one node each with masks of all shapes, pasts, biases, shared
heads, windows, odd sizes. Integer inputs (masks, lengths) are constants of the model.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_wire import key, num, sub

FLOAT, UINT8, INT32, INT64 = 1, 2, 6, 7


def ints(name, value):
    return sub(5, sub(1, name), num(20, 2), num(3, value))


def real(name, value):
    return sub(5, sub(1, name), num(20, 1), key(2, 5) + struct.pack("<f", value))


def constant(name, dims, values, dtype=INT32):
    code = {INT32: "i", INT64: "q", FLOAT: "f", UINT8: "B"}[dtype]
    raw = struct.pack("<%d%s" % (len(values), code), *values)
    return sub(5, *(num(1, d) for d in dims), num(2, dtype), sub(8, name), sub(9, raw))


def value(field, name, dims):
    shape = b"".join(sub(1, num(1, d)) for d in dims)
    return sub(field, sub(1, name), sub(2, sub(1, num(1, FLOAT), sub(2, shape))))


class Maker:
    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def make(self, op, inputs, outputs, attrs, second=FLOAT):
        """inputs: None, dims of a float input, or (dims, values[, type]) of a constant."""
        names, extra = [], []
        for i, given in enumerate(inputs):
            name = "i%d" % i if given is not None else ""
            names.append(name)
            if given is None:
                continue
            if isinstance(given, tuple):
                extra.append(constant(name, *given))
            else:
                extra.append(value(11, name, given))
        node = sub(1, *(sub(1, n) for n in names), *(sub(2, "o%d" % i) for i in range(outputs)),
                   sub(4, op), *attrs, sub(7, "com.microsoft"))
        outs = [sub(12, sub(1, "o%d" % i), sub(2, sub(1, num(1, second if i == 1 else FLOAT))))
                for i in range(outputs)]
        graph = sub(7, node, sub(2, "g"), *extra, *outs)
        model = num(1, 8) + graph + sub(8, num(2, 17)) + sub(8, sub(1, "com.microsoft"), num(2, 1))
        path = os.path.join(self.folder, "%s_%02d.onnx" % (op, self.count))
        self.count += 1
        with open(path, "wb") as f:
            f.write(model)


def masks(rnd, b, s, t):
    """All shapes of a mask, every query with something to look at."""
    yield None
    yield [b], [rnd.randint(1, t) for _ in range(b)]
    yield [2 * b], [t] * b + [rnd.randint(0, t - 1) for _ in range(b)]
    yield [b, t], [1 if j == 0 else rnd.randint(0, 1) for _ in range(b) for j in range(t)]
    yield [b, 1], [0] * b
    yield [1, 1], [1]
    yield [b, s, t], [1 if j == 0 else rnd.randint(0, 1) for _ in range(b * s) for j in range(t)]


def attention(m, rnd):
    for b, s, heads, size, past in ((1, 1, 1, 4, 0), (2, 5, 3, 7, 0), (2, 3, 2, 8, 4)):
        for mask in masks(rnd, b, s, s + past):
            for causal in (0, 1):
                width = heads * size
                inputs = [[b, s, 11], [11, 3 * width], [3 * width], mask]
                if past:
                    inputs.append([2, b, heads, past, size])
                m.make("Attention", inputs, 2 if past else 1,
                       [ints("num_heads", heads), ints("unidirectional", causal)])
    m.make("Attention", [[2, 5, 6], [6, 24], [24], None, None, [2, 2, 5, 5]], 1,
           [ints("num_heads", 2), real("scale", 0.3)])
    m.make("Attention", [[2, 5, 6], [6, 24], [24], None, None, [1, 1, 5, 5]], 1,
           [ints("num_heads", 2)])


def multi_head(m, rnd):
    for b, s, t, heads, size, v_size in ((1, 1, 1, 1, 4, 4), (2, 5, 5, 3, 7, 7), (2, 3, 6, 2, 8, 5)):
        q, k, v = [b, s, heads * size], [b, t, heads * size], [b, t, heads * v_size]
        bias = [heads * (2 * size + v_size)]
        n = [ints("num_heads", heads)]
        m.make("MultiHeadAttention", [q, k, v], 1, n)
        m.make("MultiHeadAttention", [q, k, v, bias], 1, n)
        m.make("MultiHeadAttention", [q, k, v, None, ([b, t], [1] + [j % 2 for j in range(b * t - 1)])
                                      if b == 1 else ([b], [t] * b)], 1, n)
        m.make("MultiHeadAttention", [q, k, v, bias, None, [b, heads, s, t]], 1, n)
        m.make("MultiHeadAttention", [q, k, v, None, None, [1, 1, s, t]], 1, n)
        made = [[b, heads, t, size], [b, heads, t, v_size]]
        m.make("MultiHeadAttention", [q, *made], 1, n)
        m.make("MultiHeadAttention", [q, *made, bias], 1, n)
        for scores in ([q, k, v, bias], [q, k, v, None, ([b], [max(1, t - 2)] * b)],
                       [q, k, v, None, None, [b, heads, s, t]]):
            m.make("MultiHeadAttention", scores, 4, n)
        if s == t:
            m.make("MultiHeadAttention", [q, k, v], 4, n + [ints("unidirectional", 1)])
        if s == t:
            m.make("MultiHeadAttention", [q, k, v], 1, n + [ints("unidirectional", 1)])
            past = [b, heads, 4, size]
            m.make("MultiHeadAttention", [q, k, v, None, None, None, past, past], 3, n)
            m.make("MultiHeadAttention", [q, k, v, bias, None, None, past, past], 3,
                   n + [ints("unidirectional", 1)])
    m.make("MultiHeadAttention", [[2, 5, 3, 3, 8]], 1, [ints("num_heads", 3)])
    m.make("MultiHeadAttention", [[2, 5, 24], [2, 6, 3, 2, 8]], 1, [ints("num_heads", 3)])


def group_query(m, rnd):
    for b, s, past, heads, kv, size in ((1, 4, 0, 2, 2, 8), (2, 4, 0, 4, 2, 16), (2, 1, 5, 4, 1, 8),
                                        (1, 3, 4, 6, 2, 8), (2, 7, 0, 3, 3, 16)):
        whole = past + s
        lengths = ([b], [whole - 1] * b)
        total = ([1], [whole])
        width, kv_width = heads * size, kv * size
        q, k = [b, s, width], [b, s, kv_width]
        old = [b, kv, past, size] if past else None
        table = [32, size // 2]
        n = [ints("num_heads", heads), ints("kv_num_heads", kv)]
        head = [q, k, k, old, old, lengths, total]
        packed = [[b, s, width + 2 * kv_width], None, None, old, old, lengths, total]
        m.make("GroupQueryAttention", head, 3, n)
        m.make("GroupQueryAttention", packed, 3, n)
        m.make("GroupQueryAttention", head + [table, table], 3, n + [ints("do_rotary", 1)])
        m.make("GroupQueryAttention", packed + [table, table], 3,
               n + [ints("do_rotary", 1), ints("rotary_interleaved", 1)])
        m.make("GroupQueryAttention", head, 3, n + [ints("local_window_size", 2)])
        m.make("GroupQueryAttention", head, 3, n + [real("softcap", 2.0), real("scale", 0.7)])
        m.make("GroupQueryAttention", head, 3, n + [ints("smooth_softmax", 1)])
        m.make("GroupQueryAttention", head + [None] * 3 + [[b, heads, s, whole]], 3, n)
        m.make("GroupQueryAttention", head + [None] * 4 + [[heads]], 3, n)


def around(m, rnd):
    """Embeddings: whole, in blocks of quantized numbers, rotated."""
    def ids(n, below, dtype=INT32):
        return [n[0], n[1]], [rnd.randrange(below) for _ in range(n[0] * n[1])], dtype

    tables = [[9, 6], [8, 6]]
    for b, s in ((1, 1), (2, 5)):
        word, segment, mask = ids((b, s), 9), ids((b, s), 2), ids((b, s), 2)
        m.make("EmbedLayerNormalization", [word, None, *tables, None, [6], [6]], 2, [], INT32)
        m.make("EmbedLayerNormalization", [word, segment, *tables, [2, 6], [6], [6], mask], 2,
               [real("epsilon", 1e-5)], INT32)
        m.make("EmbedLayerNormalization", [word, None, *tables, None, [6], [6], None,
                                           ids((b, s), 8)], 3, [], INT32)
    for bits, rows, width, block in ((4, 5, 64, 16), (8, 5, 64, 32), (4, 3, 48, 32)):
        held = width * bits // 8
        blocks = -(-width // block)
        data = ([rows, held], [rnd.randrange(256) for _ in range(rows * held)], UINT8)
        zeros = -(-blocks * bits // 8)
        attrs = [ints("bits", bits), ints("block_size", block), ints("gather_axis", 0),
                 ints("quantize_axis", 1)]
        for index in (([2, 2], [0, rows - 1, 1, 1], INT64), ([], [2], INT32)):
            m.make("GatherBlockQuantized", [data, index, [rows, blocks]], 1, attrs)
            m.make("GatherBlockQuantized", [data, index, [rows, blocks], (
                [rows, zeros], [rnd.randrange(256) for _ in range(rows * zeros)], UINT8)], 1, attrs)
    for interleaved in (0, 1):
        for x, heads, half in (([2, 5, 24], 0, 4), ([2, 3, 5, 8], 0, 4), ([2, 5, 24], 3, 4)):
            for where in (([1], [2], INT64), ids((2, 5), 9, INT64)):
                m.make("RotaryEmbedding", [x, where, [9, half], [9, half]], 1,
                       [ints("interleaved", interleaved), ints("num_heads", heads)])
        m.make("RotaryEmbedding", [[2, 5, 24], ([1], [2], INT64), [9, 2], [9, 2]], 1,
               [ints("interleaved", interleaved), ints("num_heads", 3),
                ints("rotary_embedding_dim", 4)])


def main():
    rnd = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(folder)
        for kind in (attention, multi_head, group_query, around):
            kind(maker, rnd)
        run = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_dev")
        return subprocess.run([sys.executable, run, *sys.argv[1:], folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
