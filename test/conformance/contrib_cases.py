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


KINDS = [base.attention, base.multi_head, base.group_query, base.around, group, multi, whole]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="write the models to this folder and stop")
    parser.add_argument("--only", help="models of this operator")
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(args.keep or folder, args.only)
        for kind in KINDS:
            kind(maker, random.Random(7))
        if args.keep:
            print("%d models" % maker.count)
            return 0
        run = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standard")
        return subprocess.run([sys.executable, run, *rest, folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
