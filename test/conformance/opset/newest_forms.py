#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""newest_forms.py [--tool TOOL] [--opset N,N] [--only OP] [--count N] [--seed N] [--keep DIR]: operators of opsets 20 to
24, one a model, with optional inputs, outputs and attributes drawn at random, moved to older opsets: equal
outputs in ONNX Runtime. Draws that ONNX Runtime rejects are counted and say nothing. Exits 1 when an output
differs, a result is rejected or a model cannot be moved, 77 without ONNX Runtime.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import contrib_cases as cases
import ort
from contrib_attention import FLOAT, INT64, ints
from contrib_cases import BOOL, HALF, INT8, many
from contrib_forms import as_type, attrs_of, maybe, numbers, reals

FORMS = {}
DOUBLE = 11


def form(opset):
    def note(draw):
        FORMS[draw.__name__] = opset, draw
        return draw
    return note


def attention(m, r, opset):
    b, kv, s, t, size = r.choice([1, 2]), r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 3, 5]), r.choice([4, 8])
    heads, v_size, kind = kv * r.choice([1, 2]), r.choice([size, size, 6]), r.choice([FLOAT, FLOAT, HALF])
    past = r.choice([0, 0, 2])
    flat = r.random() < 0.4
    whole = t + past
    # Queries that are not as many as the new keys: what is causal then, versions of ONNX state differently.
    shows = r.random() < 0.2
    causal = [None, 0, 1] if (not past or s == t) and not shows else [None, 0]
    if flat:
        parts = [[b, s, heads * size], [b, t, kv * size], [b, t, kv * v_size]]
    else:
        parts = [[b, heads, s, size], [b, kv, t, size], [b, kv, t, v_size]]
    shape = r.choice([None, None, [s, whole], [1, s, whole], [b, 1, s, whole], [b, heads, s, whole]])
    if shape and len(shape) == 3:
        shape = [heads, s, whole]
    mask = None
    if shape:
        count = 1
        for d in shape:
            count *= d
        # What ONNX Runtime shows of a score that a boolean hides is no infinity.
        mask = {kind: shape} if shows else r.choice([{kind: shape}, (shape, [i % whole == 0 or r.random() < 0.6 for i in range(count)], BOOL)])
    old = [[b, kv, past, size], [b, kv, past, v_size]] if past else [None, None]
    inputs = as_type(kind, parts) + [mask] + as_type(kind, old)
    if opset == 24 and not past and r.random() < 0.3:
        inputs.append(([b], [r.randint(s, whole) for _ in range(b)], INT64))
    states = past or r.random() < 0.2
    kinds = [kind, kind if states else 0, kind if states else 0, kind if shows else 0]
    mode = r.choice([None, 0, 1, 2, 3]) if shows else None
    m.make("Attention", inputs, 4, attrs_of(
        r, q_num_heads=[heads if flat else None], kv_num_heads=[kv if flat else None], is_causal=causal,
        scale=[None, 0.4], softcap=[None, None, 2.0], softmax_precision=[None, 1], qk_matmul_output_mode=[mode]),
        kinds=kinds, domain="", opset=opset)


@form(23)
def Attention(m, r):
    attention(m, r, 23)


@form(24)
def AttentionOf24(m, r):
    attention(m, r, 24)


@form(23)
def RMSNormalization(m, r):
    kind, axis = r.choice([FLOAT, HALF]), r.choice([None, -1, 1, 0, -2])
    dims = [2, 3, 4]
    m.make("RMSNormalization", as_type(kind, [dims, dims[(-1 if axis is None else axis):]]), 1,
           attrs_of(r, axis=[axis], epsilon=[None, 0.1], stash_type=[None, 1]), kinds=[kind], domain="", opset=23)


@form(23)
def RotaryEmbedding(m, r):
    b, s, heads, size, kind = 2, r.choice([1, 4]), 3, 8, r.choice([FLOAT, HALF])
    part, flat, at = r.choice([0, 0, 4]), r.random() < 0.5, r.random() < 0.5
    half = (part or size) // 2
    table = [16, half] if at else [b, s, half]
    x = [b, s, heads * size] if flat else [b, heads, s, size]
    m.make("RotaryEmbedding", as_type(kind, [x, table, table]) + [numbers(r, [b, s], 0, 15, INT64) if at else None], 1,
           attrs_of(r, interleaved=[None, 0, 1], num_heads=[heads if flat else None], rotary_embedding_dim=[part or None]),
           kinds=[kind], domain="", opset=23)


@form(24)
def TensorScatter(m, r):
    kind, axis = r.choice([FLOAT, HALF, INT64]), r.choice([None, -2, 1, 2])
    dims = [2, 6, 5, 4] if axis != 1 else [2, 6, 4]
    place = (-2 if axis is None else axis) % len(dims)
    fresh = list(dims)
    fresh[place] = r.choice([1, 2])
    wraps = r.random() < 0.5
    most = dims[place] - (1 if wraps else fresh[place])
    m.make("TensorScatter", as_type(kind, [dims, fresh]) + [maybe(r, ([2], [r.randint(0, most) for _ in range(2)], INT64), 0.8)],
           1, attrs_of(r, axis=[axis], mode=["circular" if wraps else r.choice([None, "linear"])]), kinds=[kind], domain="",
           opset=24)


@form(24)
def Swish(m, r):
    kind = r.choice([FLOAT, HALF])
    m.make("Swish", [{kind: r.choice([[2, 3], ["N", 4], []])}], 1, attrs_of(r, alpha=[None, 1.0, 0.5]), kinds=[kind],
           domain="", opset=24)


@form(21)
def GroupNormalization(m, r):
    kind, groups = r.choice([FLOAT, HALF]), r.choice([1, 2, 4])
    x = r.choice([[2, 4, 5], ["N", 4, 3, 2], [1, 4, 2, 2, 2]])
    m.make("GroupNormalization", as_type(kind, [x, [4], [4]]), 1, [ints("num_groups", groups)] + attrs_of(
        r, epsilon=[None, 0.1], stash_type=[None, 1]), kinds=[kind], domain="", opset=21)


@form(20)
def Gelu(m, r):
    kind = r.choice([FLOAT, HALF, DOUBLE])
    m.make("Gelu", [{kind: r.choice([[2, 3], ["N", 4], []])}], 1, attrs_of(r, approximate=[None, "none", "tanh"]),
           kinds=[kind], domain="", opset=20)


@form(20)
def GridSample(m, r):
    x, g = r.choice([([2, 3, 4, 5], [2, 3, 2, 2]), ([1, 2, 3, 4, 5], [1, 2, 2, 2, 3]), (["N", 1, 3, 3], ["N", 2, 2, 2])])
    modes = [None, "linear", "nearest"] + (["cubic"] if len(x) == 4 else [])
    m.make("GridSample", [x, g], 1, attrs_of(r, mode=modes, padding_mode=[None, "zeros", "border", "reflection"],
                                             align_corners=[None, 0, 1]), domain="", opset=20)


@form(20)
def AffineGrid(m, r):
    size = r.choice([[2, 1, 3, 4], [1, 1, 2, 3, 4]])
    n = len(size) - 2
    m.make("AffineGrid", [[size[0], n, n + 1], ([len(size)], size, INT64)], 1, attrs_of(r, align_corners=[None, 0, 1]),
           domain="", opset=20)


@form(20)
def DFT(m, r):
    kind, inverse, one = r.choice([FLOAT, DOUBLE]), r.choice([None, 0, 1]), None
    last = 2 if inverse else r.choice([1, 2])
    if last == 1:
        one = r.choice([None, 1])
    length = maybe(r, ([], [r.choice([4, 6, 9])], INT64))
    axis = maybe(r, ([], [r.choice([1, -2, 0])], INT64))
    m.make("DFT", [{kind: r.choice([[2, 6, last], [3, 4, last]])}, length, axis], 1,
           attrs_of(r, inverse=[inverse], onesided=[one]), kinds=[kind], domain="", opset=20)


@form(21)
def DequantizeLinear(m, r):
    kind, block = r.choice([INT8, cases.UINT8, cases.UINT16]), r.choice([None, 2])
    axis = r.choice([1, -1, 2])
    shape = [2, 4, 6]
    place = axis % 3
    dims = [d // block if i == place else d for i, d in enumerate(shape)] if block else r.choice([[], [shape[place]]])
    scale = reals(r, dims, 0.01, 0.2)
    zero = maybe(r, numbers(r, dims, 0, 9, kind))
    m.make("DequantizeLinear", [{kind: shape}, scale, zero], 1, attrs_of(r, axis=[axis], block_size=[block]), domain="",
           opset=21)


@form(22)
def AveragePool(m, r):
    m.make("AveragePool", [[1, 2, r.choice([7, 8]), 6]], 1, [many("kernel_shape", r.choice([[2, 2], [3, 3]]))] + attrs_of(
        r, strides=[None, [2, 2], [2, 1]], pads=[None, [1, 1, 1, 1], [0, 1, 1, 0]], ceil_mode=[None, 1],
        dilations=[None, [2, 1]], count_include_pad=[None, 1]), domain="", opset=22)


@form(22)
def RoiAlign(m, r):
    rois = ([3, 4], [0.0, 0.0, 5.0, 5.0, 1.0, 2.0, 7.0, 6.5, 2.5, 0.5, 3.0, 6.0], FLOAT)
    m.make("RoiAlign", [[2, 2, 8, 8], rois, ([3], [0, 1, 1], INT64)], 1, attrs_of(
        r, mode=[None, "avg", "max"], output_height=[None, 2], output_width=[None, 3], sampling_ratio=[None, 2],
        spatial_scale=[None, 0.5], coordinate_transformation_mode=[None, "half_pixel", "output_half_pixel"]), domain="",
        opset=22)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="build/tools/onnxsurg")
    parser.add_argument("--opset", default="13,17,21")
    parser.add_argument("--keep", help="write the models to this folder and stop")
    parser.add_argument("--only", help="models of these operators, separated by commas")
    parser.add_argument("--count", type=int, default=12, help="models of each operator")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    only = args.only.split(",") if args.only else list(FORMS)
    if not ort.package():
        print("skipped: needs onnxruntime-node")
        return 77
    comparer, counts, bad = ort.Comparer(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        made = args.keep or folder
        maker = cases.Maker(made, None)
        since = {}
        for name, (opset, draw) in FORMS.items():
            for i in range(args.count if name in only else 0):
                draw(maker, random.Random("%s %d %d" % (name, args.seed, i)))
            for file in os.listdir(made):
                since.setdefault(file, opset)
        if args.keep:
            print("%d models" % maker.count)
            return 0
        out = os.path.join(folder, "out.onnx")
        for file in sorted(since, key=lambda f: f[-8:]):
            path = os.path.join(made, file)
            verdict, why = comparer.compare(path, path)
            if verdict != "equal":
                counts["not run by ONNX Runtime"] += 1
                continue
            for to in (int(n) for n in args.opset.split(",")):
                if to >= since[file]:
                    continue
                done = subprocess.run([args.tool, "--quiet", "--allow", "approx", "--no-fsync", "--pass",
                                       "opset{to=%d}" % to, path, out], capture_output=True)
                verdict, why = "not moved", done.stderr.decode(errors="replace").split("\n")[0]
                if done.returncode == 0:
                    verdict, why = comparer.compare(path, out)
                counts[verdict] += 1
                if verdict != "equal":
                    bad += 1
                    print("%s: opset %d: %s: %s" % (file, to, verdict, why[:300].replace(path, "")), flush=True)
    comparer.close()
    print(", ".join("%d %s" % (n, v) for v, n in sorted(counts.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
