# SPDX-License-Identifier: Apache-2.0
"""streams.py TOOL [--few | --weights N --rows R] [--dir DIR] [--only A,B]: memory of commands that
change the types of weights does not grow with weights.

The weights are holes of external files, each larger than the memory that is permitted: 2 of 160 MiB
(--few), or 10 of 1 GiB. Each command runs in a process whose peak must stay below MEMORY, and whose address
space is limited as well. Weights that are moved, and come back, must have the same bytes."""
import argparse
import filecmp
import os
import resource
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True
from onnx_wire import *
from scale import measure

FLOAT16, MIB = 10, 1 << 20
COLUMNS = 1024
MEMORY, HALF_MEMORY = 128 * MIB, 64 * MIB
SPACE = 512 * MIB  # addresses, which the program may reserve and not use


def products(path, data, count, rows, dtype=FLOAT, size=4):
    each = rows * COLUMNS * size
    nodes = [node("MatMul", ["x", "w%d" % i], ["y%d" % i]) for i in range(count)]
    weights = [tensor("w%d" % i, dtype, [rows, COLUMNS], None, external(data, i * each, each))
               for i in range(count)]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, weights, [value("x", dtype, [1, rows])],
                            [value("y%d" % i, dtype, [1, COLUMNS]) for i in range(count)]),
                      opsets=(("", 21),), ir=10))


def integers(path, data, count, rows):
    each = rows * COLUMNS * 4
    nodes = [node("Gather", ["w%d" % i, "k"], ["y%d" % i]) for i in range(count)]
    weights = [tensor("w%d" % i, INT64, [rows // 2, COLUMNS], None, external(data, i * each, each))
               for i in range(count)]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, weights, [value("k", INT64, [1])],
                            [value("y%d" % i, INT64, [1, COLUMNS]) for i in range(count)]),
                      opsets=(("", 21),), ir=10))


def tied(path, data, each, rows):
    """An embedding that is the head, too, transposed."""
    nodes = [node("Gather", ["w", "k"], ["e"]), node("Tanh", ["e"], ["h"]),
             node("Transpose", ["w"], ["t"], attr("perm", 7, num(8, 1), num(8, 0))),
             node("MatMul", ["h", "t"], ["y"])]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, [tensor("w", FLOAT, [rows, COLUMNS], None, external(data, 0, each))],
                            [value("k", INT64, [1])], [value("y", FLOAT, [1, rows])]),
                      opsets=(("", 21),), ir=10))


# name: input, output, memory, the command between them
WAYS = {
    "to-float16": ("in.onnx", "half.onnx", HALF_MEMORY, ["to-float16"]),
    "to-float16 and its interface": ("in.onnx", "half.onnx", HALF_MEMORY, ["to-float16", "--io"]),
    "to-bfloat16": ("in.onnx", "out.onnx", MEMORY, ["to-bfloat16"]),
    "to-float": ("halves.onnx", "out.onnx", MEMORY, ["to-float"]),
    "to-int32": ("integers.onnx", "out.onnx", MEMORY, ["to-int32", "--io"]),
    "weights int8": ("in.onnx", "int8.onnx", MEMORY, ["quantize", "--weights", "int8"]),
    "unquantize": ("int8.onnx", "out.onnx", MEMORY, ["unquantize"]),
    "weights int4": ("in.onnx", "int4.onnx", MEMORY,
                     ["quantize", "--weights", "int4", "--block", "32", "--external-data",
                      "int4.data"]),
    "to MatMulNBits": ("int4.onnx", "bits.onnx", MEMORY,
                       ["matmul-bits", "--external-data", "bits.data"]),
    "from MatMulNBits": ("bits.onnx", "out.onnx", MEMORY,
                         ["replace", "--op", "com.microsoft.MatMulNBits", "--external-data",
                          "four.data"]),
    "dynamic int8": ("in.onnx", "out.onnx", MEMORY, ["quantize", "--dynamic"]),
    "static int8": ("in.onnx", "out.onnx", MEMORY, ["quantize", "--static"]),
    "tied static int8": ("tied.onnx", "out.onnx", MEMORY, ["quantize", "--static"]),
    "tied dynamic int8": ("tied.onnx", "out.onnx", MEMORY, ["quantize", "--dynamic"]),
    "run": ("in.onnx", None, MEMORY, ["run", "--fill", "random"]),
    "data": ("in.onnx", "moved.onnx", MEMORY, ["data", "--file", "moved.data"]),
    "shards": ("in.onnx", "shards.onnx", MEMORY, ["data", "--shard", "200MiB"]),
    "one file again": ("shards.onnx", "whole.onnx", MEMORY, ["data"]),
    "safetensors": ("in.onnx", None, MEMORY, ["weights", "--export", "w.safetensors"]),
    "back": ("in.onnx", "back.onnx", MEMORY,
             ["weights", "--import", "w.safetensors", "--external-data", "back.data"]),
}
# Files with the same bytes, and after which command.
SAME = {"data": ("w.data", "moved.data"), "one file again": ("w.data", "whole.onnx.data"),
        "back": ("w.data", "back.data")}


def clear(folder, later):
    """Deletes what no later command reads."""
    stems = ["w.", "k.", "h."] + [source.split(".")[0] for source, _, _, _ in later]
    for name in os.listdir(folder):
        if not any(name.startswith(stem) for stem in stems):
            os.unlink(os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--weights", type=int, default=10)
    parser.add_argument("--rows", type=int, default=256 << 10)
    parser.add_argument("--dir")
    parser.add_argument("--only")
    args = parser.parse_args()
    count, rows = (2, 40 << 10) if args.few else (args.weights, args.rows)
    tool, bad = os.path.abspath(args.tool), 0
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        total = count * rows * COLUMNS * 4
        for name in ("w.data", "k.data", "h.data"):
            with open(os.path.join(folder, name), "wb") as f:
                f.truncate(total)
                for i in range(count):  # equal weights would be stored once
                    f.seek(i * total // count)
                    f.write(bytes([i, 0, 0, 0]))
        products(folder + "/in.onnx", "w.data", count, rows)
        products(folder + "/halves.onnx", "h.data", count, rows, FLOAT16, 2)
        integers(folder + "/integers.onnx", "k.data", count, rows)
        tied(folder + "/tied.onnx", "w.data", rows * COLUMNS * 4, rows)
        print("%d weights of %d MiB" % (count, rows * COLUMNS * 4 // MIB))
        chosen = [n for n in WAYS if not args.only or n in args.only.split(",")]
        for at, name in enumerate(chosen):
            source, out, limit, command = WAYS[name]
            before = time.monotonic()
            code, _, peak, said = measure(
                tool, command + ["--quiet", "--no-fsync"][:2 if out or "--export" in command else 0]
                + [source] + [out] * bool(out), folder)
            peak <<= 10
            wrong = code != 0 or peak > limit
            same = SAME.get(name)
            if same and code == 0 and not os.path.exists(os.path.join(folder, same[1])):
                said, wrong = "no " + same[1], True
            elif same and code == 0:
                differs = not filecmp.cmp(*(os.path.join(folder, f) for f in same), shallow=False)
                said, wrong = "other bytes" * differs, wrong or differs
            bad += wrong
            print("%s%-30s %7.1f s, %6.1f of %d MiB%s" % (
                "FAIL " * wrong, name, time.monotonic() - before, peak / MIB, limit // MIB,
                ": exit %s: %s" % (code, said.strip()) if wrong else ""), flush=True)
            clear(folder, [WAYS[n] for n in chosen[at + 1:]])
    print("%d failures" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
