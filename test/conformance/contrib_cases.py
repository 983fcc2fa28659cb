#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contrib_cases.py [--tool TOOL] [--opset N,N] [--only OP] [--keep DIR]: models of one operator of ONNX
Runtime's own each (those of contrib_attention.py and more: half floats, open sizes, all optional inputs
absent and present, odd sizes), made standard and run beside the original by `standard`.
"""
import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contrib_attention as base
from contrib_attention import FLOAT, INT32, INT64, UINT8, ints, real
from onnx_wire import key, num, sub

INT8, HALF, BOOL = 3, 10, 9
UINT16, INT16 = 4, 5


def text(name, value):
    return sub(5, sub(1, name), num(20, 3), sub(4, value))


def many(name, values):
    return sub(5, sub(1, name), num(20, 7), *(num(8, v) for v in values))


def typed(field, name, dims, dtype):
    shape = b"".join(sub(1, num(1, d) if isinstance(d, int) else sub(2, d)) for d in dims)
    return sub(field, sub(1, name), sub(2, sub(1, num(1, dtype), sub(2, shape))))


def constant(name, dims, values, dtype):
    code = {INT8: "b", UINT8: "B", INT32: "i", INT64: "q", FLOAT: "f", HALF: "e", BOOL: "?",
            UINT16: "H", INT16: "h"}[dtype]
    raw = struct.pack("<%d%s" % (len(values), code), *values)
    return sub(5, *(num(1, d) for d in dims), num(2, dtype), sub(8, name), sub(9, raw))


class Maker(base.Maker):
    """make(): inputs are None, dims, {"dtype": dims} or (dims, values, dtype)."""

    def __init__(self, folder, only):
        super().__init__(folder)
        self.only = only

    def make(self, op, inputs, outputs, attrs, second=FLOAT, opset=17, kinds=None, domain="com.microsoft"):
        if self.only and self.only != op:
            return
        kinds = kinds or [FLOAT] + [second] * (outputs - 1 if second != FLOAT else 0)
        kinds += [FLOAT] * (outputs - len(kinds))
        names, extra = [], []
        for i, given in enumerate(inputs):
            name = "i%d" % i if given is not None else ""
            names.append(name)
            if isinstance(given, tuple):
                extra.append(constant(name, given[0], given[1], given[2] if len(given) > 2 else INT32))
            elif given is not None:
                dtype, dims = next(iter(given.items())) if isinstance(given, dict) else (FLOAT, given)
                extra.append(typed(11, name, dims, dtype))
        wanted = [i for i in range(outputs) if kinds[i]]
        node = sub(1, *(sub(1, n) for n in names),
                   *(sub(2, "o%d" % i if kinds[i] else "") for i in range(outputs)),
                   sub(4, op), *attrs, sub(7, domain))
        outs = [sub(12, sub(1, "o%d" % i), sub(2, sub(1, num(1, kinds[i])))) for i in wanted]
        graph = sub(7, node, sub(2, "g"), *extra, *outs)
        model = num(1, 8) + graph + sub(8, num(2, opset)) + sub(8, sub(1, "com.microsoft"), num(2, 1))
        with open(os.path.join(self.folder, "%s_%03d.onnx" % (op, self.count)), "wb") as f:
            f.write(model)
        self.count += 1


def halves(given, heads=HALF):
    return [{HALF: d} if isinstance(d, list) else d for d in given]


def group(m, rnd):
    """Sequences of several lengths, buffers larger than needed, positions, half floats, open sizes."""
    n = [ints("num_heads", 4), ints("kv_num_heads", 2)]
    q, kv, table = [2, 3, 32], [2, 3, 16], [16, 4]
    for past, lengths, total in ((5, [7, 7], 8), (5, [4, 7], 8), (9, [3, 5], 6), (0, [2, 2], 3),
                                 (4, [2, 2], 3), (4, [1, 2], 3)):
        old = [2, 2, past, 8] if past else None
        head = [q, kv, kv, old, old, ([2], lengths), ([1], [total])]
        for more in ([], [ints("do_rotary", 1)], [ints("local_window_size", 3)]):
            tables = [table, table] if more and more[0] == ints("do_rotary", 1) else []
            m.make("GroupQueryAttention", head + tables, 3, n + more)
        m.make("GroupQueryAttention", halves(head), 3, n, kinds=[HALF] * 3)
    at = ([2, 3], [0, 1, 2, 5, 6, 7], INT64)
    head = [q, kv, kv, [2, 2, 5, 8], [2, 2, 5, 8], ([2], [7, 7]), ([1], [8])]
    m.make("GroupQueryAttention", head + [table, table, at], 3, n + [ints("do_rotary", 1)])
    m.make("GroupQueryAttention", head + [None] * 4 + [[4]], 1, n + [real("softcap", 3.0)])
    m.make("GroupQueryAttention", [["B", "S", 64], None, None, ["B", 2, "P", 8], ["B", 2, "P", 8],
                                   ([2], [3, 3]), ([], [4])], 3, n)
    m.make("GroupQueryAttention", [["B", 1, 32], ["B", 1, 16], ["B", 1, 16], ["B", 2, "P", 8],
                                   ["B", 2, "P", 8], ([2], [2, 2]), ([], [3])], 3, n)


def multi(m, rnd):
    n = [ints("num_heads", 2)]
    q, kv = [2, 3, 8], [2, 5, 8]
    for mask in (None, ([2], [3, 5]), ([4], [4, 5, 0, 1]), ([2, 5], [1, 0, 1, 1, 0, 1, 1, 1, 0, 1])):
        m.make("MultiHeadAttention", [q, kv, kv, [24], mask], 1, n)
        m.make("MultiHeadAttention", [q, kv, kv, [24], mask, [1, 2, 3, 5]], 4, n)
    for t in (4, 7):
        past = [2, 2, t - 3, 4]
        mask = ([2, t], [1] + [j % 2 for j in range(2 * t - 1)])
        m.make("MultiHeadAttention", [q, q, q, [24], mask, None, past, past], 3, n)
        m.make("MultiHeadAttention", [q, q, q, None, mask, [1, 1, 3, t], past, past], 4,
               n + [ints("unidirectional", 1)])
    m.make("MultiHeadAttention", [["B", "S", 8], ["B", "L", 8], ["B", "L", 8], [24], None,
                                  None, ["B", 2, "P", 4], ["B", 2, "P", 4]], 3, n)
    m.make("MultiHeadAttention", [["B", "S", 8], ["B", 2, "L", 4], ["B", 2, "L", 4], [24]], 1, n)
    m.make("MultiHeadAttention", [["B", "S", 8], ["B", "L", 8], ["B", "L", 8], None,
                                  {INT32: ["B", "L"]}], 1, n)
    m.make("MultiHeadAttention", [["B", "S", 2, 3, 4], None, None, [24]], 1, n)
    m.make("MultiHeadAttention", [["B", "S", 8], ["B", "L", 2, 2, 4], None, None, None,
                                  ["B", 1, "S", "L"]], 1, n)


def whole(m, rnd):
    n = [ints("num_heads", 2)]
    for past in (0, 1, 4):
        old = [2, 2, 2, past, 3] if past else None
        for causal in (0, 1):
            more = [ints("unidirectional", causal)]
            m.make("Attention", [[2, 3, 5], [5, 18], [18], None, old], 2, n + more)
            m.make("Attention", [[2, 3, 5], [5, 18], [18], None, old, [2, 2, 3, 3 + past]], 2, n + more)
            keys = ([2, 1, 9, 9], [rnd.randint(0, 1) if j % 9 else 1 for j in range(162)])
            m.make("Attention", [[2, 3, 5], [5, 18], [18], keys, old], 2, n + more)
    m.make("Attention", [["B", "S", 5], [5, 18], [18], None, [2, "B", 2, "P", 3]], 2, n)
    m.make("Attention", [["B", "S", 5], [5, 18], None, {INT32: ["B", "S"]}], 1, n)
    m.make("Attention", [["B", "S", 5], [5, 16], [16], {INT32: ["B"]}], 1,
           n + [many("qkv_hidden_sizes", [6, 6, 4])])
    for kind, wkind in ((UINT8, UINT8), (UINT8, INT8), (INT8, INT8)):
        w = ([5, 18], [rnd.randint(0, 100) for _ in range(90)], wkind)
        x, zero = {kind: [2, 3, 5]}, ([], [3], kind)
        for columns in (1, 18):
            shape = [] if columns == 1 else [columns]
            ws = (shape, [0.01 + j / 1000 for j in range(columns)], FLOAT)
            wz = (shape, [j % 5 for j in range(columns)], wkind)
            for mask in (None, ([2], [2, 3])):
                m.make("QAttention", [x, w, [18], ([], [0.02], FLOAT), ws, mask, zero, wz], 1, n)
            m.make("QAttention", [x, w, [18], ([], [0.02], FLOAT), ws, None, zero, None,
                                  [2, 2, 2, 4, 3]], 2, n + [ints("unidirectional", 1)])
        m.make("QAttention", [x, w, [18], ([1], [0.02], FLOAT), ([1], [0.01], FLOAT)], 1, n)


def quantized(m, rnd):
    """Operators of bytes: scales of one element and of columns, layouts, zero points absent."""
    def number(value, dtype=FLOAT, dims=()):
        return list(dims), [value] * max(1, len(dims)), dtype

    for kind in (UINT8, INT8):
        x, s, z, t, v = {kind: [2, 3, 4, 5]}, number(0.1), number(3, kind), number(0.05), number(7, kind)
        one = number(0.05, FLOAT, (1,))
        q = [kind]
        for op in ("QLinearAdd", "QLinearMul"):
            m.make(op, [x, s, z, {kind: [3, 1, 5]}, one, None, t, v], 1, [], kinds=q)
            m.make(op, [x, s, None, x, s, z, t, None], 1, [], kinds=q)
        m.make("QLinearWhere", [{BOOL: [2, 3, 1, 5]}, x, s, z, {kind: [4, 5]}, t, v, s, z], 1, [], kinds=q)
        for more in (None, v):
            m.make("QLinearSigmoid", [x, s, z, number(1 / 256), more], 1, [], kinds=q)
            m.make("QLinearLeakyRelu", [x, s, z, t, more], 1, [real("alpha", 0.2)], kinds=q)
            m.make("QLinearReduceMean", [x, s, z, t, more], 1, [many("axes", [1, -1]), ints("keepdims", 0)],
                   kinds=q)
        for last in (0, 1):
            where = [ints("channels_last", last)]
            m.make("QLinearGlobalAveragePool", [x, s, z, t, v], 1, where, kinds=q)
            m.make("QLinearAveragePool", [x, s, z, t, v], 1, where + [
                many("kernel_shape", [2, 2]), many("pads", [1, 0, 0, 1]), many("strides", [1, 2])], kinds=q)
            m.make("QLinearAveragePool", [x, s, z, t, v], 1, where + [
                many("kernel_shape", [2, 2]), many("pads", [1, 1, 1, 1]), ints("count_include_pad", 1)],
                kinds=q)
            w = ([3, 5 if last else 3, 2, 2], [rnd.randint(0, 60) for _ in range(3 * (5 if last else 3) * 4)],
                 kind)
            m.make("QLinearConv", [x, s, z, w, t, z, number(0.5), v], 1, where, kinds=q)
            m.make("NhwcMaxPool", [x], 1, [many("kernel_shape", [2, 2]), many("strides", [1, 2])], kinds=q)
        for opset in (11, 13):
            for axis in (1, -1):
                m.make("QLinearSoftmax", [x, s, z, number(1 / 256), number(-128 if kind == INT8 else 0, kind)],
                       1, [ints("axis", axis), ints("opset", opset)], kinds=q)
    for ka, kb in ((UINT8, UINT8), (UINT8, INT8), (INT8, INT8)):
        a, w = {ka: [3, 5]}, ([5, 4], [rnd.randint(0, 90) for _ in range(20)], kb)
        turned = ([4, 5], [rnd.randint(0, 90) for _ in range(20)], kb)
        steps, zeros = ([4], [0.01, 0.02, 0.03, 0.04], FLOAT), ([4], [1, 2, 3, 4], kb)
        bias = ([4], [5, -6, 7, 8], INT32)
        for bs, bz in ((number(0.02), number(3, kb)), (steps, zeros)):
            m.make("QGemm", [a, number(0.1), number(4, ka), w, bs, bz, bias], 1, [real("alpha", 0.5)])
            m.make("QGemm", [a, number(0.1), number(4, ka), turned, bs, bz, None, number(0.5),
                             number(9, ka)], 1, [ints("transB", 1)], kinds=[ka])
            m.make("MatMulIntegerToFloat", [{ka: [2, 3, 5]}, w, number(0.1), bs, number(4, ka), bz, [4]], 1, [])
            m.make("DynamicQuantizeMatMul", [[2, 3, 5], w, bs, bz, [4]], 1, [])
        m.make("MatMulIntegerToFloat", [a, w, number(0.1), number(0.2)], 1, [])
        m.make("DynamicQuantizeMatMul", [["N", 5], w, number(0.2)], 1, [])
    for kind in (UINT8, INT8, UINT16, INT16):
        x = {FLOAT: [2, 3, 4]}
        codes = ([2, 3, 4], [(17 * j) % 120 for j in range(24)], kind)
        many_s, many_z = ([3], [0.01, 0.1, 0.3], FLOAT), ([3], [0, 5, 9], kind)
        for s, z in ((number(0.01), number(7, kind)), (many_s, many_z)):
            m.make("QuantizeLinear", [x, s, z], 1, [], kinds=[kind])
            m.make("DequantizeLinear", [codes, s, z], 1, [])
            m.make("DequantizeLinear", [codes, s], 1, [ints("axis", -2)])
    m.make("DequantizeLinear", [([3], [-5, 0, 70000], INT32), number(0.01)], 1, [])
    m.make("QuantizeLinear", [{FLOAT: [2, 3, 4]}, number(0.01)], 1, [], kinds=[UINT8])


def packed(m, rnd):
    for bits in (2, 4, 8):
        k, n, block = 32, 6, 16
        raw = lambda count: [rnd.randrange(256) for _ in range(count)]
        w = ([n, 2, block * bits // 8], raw(n * 2 * block * bits // 8), UINT8)
        zero = ([n * -(-2 * bits // 8)], raw(n * -(-2 * bits // 8)), UINT8)
        # Of 8 bits the runtime computes in bytes, unless it is told to compute in float.
        attrs = [ints("K", k), ints("N", n), ints("bits", bits), ints("block_size", block),
                 ints("accuracy_level", 1)]
        for z in (None, zero):
            m.make("MatMulNBits", [["S", k], w, [n * 2], z, None, [n]], 1, attrs)
        m.make("MatMulNBits", [["S", k], w, [n * 2], zero, ([k], [rnd.randrange(2) for _ in range(k)])], 1,
               attrs)


def norms(m, rnd):
    for kind in (FLOAT, HALF):
        x, r, w = {kind: ["B", 3, 8]}, {kind: ["B", 3, 8]}, {kind: [8]}
        for beta in (None, w):
            for bias in (None, w):
                for s in (0, kind):
                    m.make("SkipLayerNormalization", [x, r, w, beta, bias], 4, [], kinds=[kind, 0, 0, s])
                m.make("SkipSimplifiedLayerNormalization", [x, r, w, bias], 4, [], kinds=[kind, 0, 0, kind])
        m.make("SkipLayerNormalization", [{kind: [2, 3, 8]}, {kind: [1, 3, 8]}, w], 1, [], kinds=[kind])
        m.make("SkipLayerNormalization", [{kind: [2, 3, 8]}, {kind: [3, 8]}, w], 1, [], kinds=[kind])
        for axis in (-1, 1):
            m.make("SimplifiedLayerNormalization", [{kind: [2, 3, 8]}, {kind: [8] if axis < 0 else [3, 8]}],
                   1, [ints("axis", axis)], kinds=[kind], domain="")


def small(m, rnd):
    x = [2, 3, 4]
    for u in (0, 1):
        m.make("Trilu", [x, ([], [1], INT64)], 1, [ints("upper", u)])
        m.make("Trilu", [x], 1, [ints("upper", u)])
    m.make("Unique", [([6], [2.0, 1.0, 2.0, 3.0, 1.0, 2.0], FLOAT)], 3, [], kinds=[FLOAT, INT64, INT64])
    m.make("ExpandDims", [x, ([], [-2])], 1, [])
    m.make("Pad", [x, ([6], [0, 1, 0, 0, 0, 2], INT64), [1]], 1, [])
    m.make("Pad", [x, ([1, 6], [0, 1, 0, 0, 1, 2], INT64)], 1, [text("mode", "reflect")])
    m.make("GatherND", [x, ([2, 2], [0, 1, 1, 2])], 1, [])
    m.make("Range", [([], [1.0], FLOAT), ([], [4.5], FLOAT)], 1, [])
    for metric in ("sqeuclidean", "euclidean"):
        m.make("CDist", [[3, 5], [4, 5]], 1, [text("metric", metric)])
    for act, params in (("Clip", (0.0, 6.0)), ("LeakyRelu", (0.3,)), ("HardSigmoid", (0.3, 0.4)), ("Relu", ()),
                        ("", ())):
        attrs = [text("activation", act)] if act else []
        if params:
            attrs.append(sub(5, sub(1, "activation_params"), num(20, 6),
                             *(key(7, 5) + struct.pack("<f", v) for v in params)))
        m.make("FusedConv", [[1, 2, 5, 5], [3, 2, 3, 3], [3], [1, 3, 3, 3]], 1, attrs)
    for act in ("Relu", "Tanh", "Sigmoid", "LeakyRelu"):
        for c in (None, [4]):
            m.make("FusedGemm", [[3, 5], [5, 4], c], 1, [text("activation", act)])
    for ta in (0, 1):
        for batch in (0, 1):
            a = {(0, 0): [2, 3, 5], (1, 0): [2, 5, 3], (0, 1): [3, 2, 5], (1, 1): [5, 2, 3]}[ta, batch]
            m.make("FusedMatMul", [a, [2, 5, 4]], 1, [ints("transA", ta), ints("transBatchA", batch),
                                                       real("alpha", 0.5)])
    m.make("FusedMatMul", [["B", 5, 3], ["B", 4, 5]], 1, [ints("transA", 1), ints("transB", 1)])
    m.make("TransposeMatMul", [[5, 3], [5, 4]], 1, [ints("transA", 1)])
    m.make("FastGelu", [x, [4]], 1, [])
    m.make("BiasGelu", [x, [4]], 1, [])
    m.make("QuickGelu", [x], 1, [])
    m.make("Gelu", [x], 1, [])


KINDS = [base.attention, base.multi_head, base.group_query, base.around, group, multi, whole,
         quantized, packed, norms, small]


def finish(maker, keep, rest, folder, script="standard"):
    """Says how many models were kept, or gives those in the folder to a script; the exit code."""
    if keep:
        print("%d models" % maker.count)
        return 0
    os.environ["PAIRS_STEP"] = "1"  # rules of QLinear operators are approx: the neighboring step
    run = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
    return subprocess.run([sys.executable, run, *rest, folder]).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="write the models to this folder and stop")
    parser.add_argument("--only", help="models of this operator")
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(args.keep or folder, args.only)
        for kind in KINDS:
            kind(maker, random.Random(7))
        return finish(maker, args.keep, rest, folder)


if __name__ == "__main__":
    sys.exit(main())
