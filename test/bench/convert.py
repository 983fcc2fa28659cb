# SPDX-License-Identifier: Apache-2.0
"""convert.py TOOL [--small | --gib N] [--sparse] [--dir DIR] [--only A,B]: time and memory of commands that
stream weights, beside `cp` of the same bytes.

Prints and never judges. The weights are external, 1 GiB each (--small: 1 MiB), N of them (1), random, or holes of a
file with --sparse: no speed then, but ten of them fit anywhere."""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from bench import settle, timed
from onnx_wire import *

ROUNDS = 3


def fill(path, total, sparse, integers):
    noise = os.urandom(1 << 20)
    if integers:
        noise = b"".join(noise[i:i + 2] + bytes(6) for i in range(0, 1 << 18, 2))
    else:  # exponents of numbers near 1, so that they fit every type
        noise = bytearray(noise)
        noise[3::4] = bytes(63 if b & 1 else 191 for b in noise[3::4])
        noise[2::4] = bytes(b & 127 for b in noise[2::4])
    with open(path, "wb") as f:
        f.truncate(total)
        for at in range(0, 0 if sparse else total, len(noise)):
            f.write(noise[:total - at])


def floats_model(path, data, count, each):
    rows = each // 4096
    nodes = [node("MatMul", ["x", "w%d" % i], ["y%d" % i]) for i in range(count)]
    weights = [tensor("w%d" % i, FLOAT, [rows, 1024], None, external(data, i * each, each))
               for i in range(count)]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, weights, [value("x", FLOAT, [1, rows])],
                            [value("y%d" % i, FLOAT, [1, 1024]) for i in range(count)]),
                      opsets=(("", 21),), ir=10))


def integers_model(path, data, count, each):
    nodes = [node("Gather", ["w%d" % i, "k"], ["y%d" % i]) for i in range(count)]
    weights = [tensor("w%d" % i, INT64, [each // 8192, 1024], None, external(data, i * each, each))
               for i in range(count)]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, weights, [value("k", INT64, [1])],
                            [value("y%d" % i, INT64, [1, 1024]) for i in range(count)]),
                      opsets=(("", 21),), ir=10))


def ways(folder):
    model, out = folder + "/in.onnx", folder + "/out/out.onnx"
    return {
        "to-float16": ["to-float16", model, out],
        "to-bfloat16": ["to-bfloat16", model, out],
        "to-int32": ["to-int32", "--io", folder + "/integers.onnx", out],
        "int8": ["quantize", "--weights", "int8", model, out],
        "int4, blocks": ["quantize", "--weights", "int4", "--block", "32", model, out],
        "dynamic": ["quantize", "--dynamic", model, out],
        "static": ["quantize", "--static", model, out],
        "data": ["data", model, out],
        "shards": ["data", "--shard", "2GiB", model, out],
        "safetensors": ["weights", "--export", folder + "/out/w.safetensors", model],
        "back": ["weights", "--import", folder + "/w.safetensors", "--external-data", "back.data", model, out],
    }


def clear(folder):
    for name in os.listdir(folder + "/out"):
        os.unlink(folder + "/out/" + name)


def copy(folder, data):
    clear(folder)
    settle()
    start = time.monotonic()
    subprocess.run(["cp", "--reflink=never", "--sparse=never", data, folder + "/out/copy"], check=True)
    return time.monotonic() - start


def measure(tool, folder, args, rounds):
    seconds, memory = [], 0
    for _ in range(rounds):
        clear(folder)
        settle()
        took, mb = timed(tool, *args, "--quiet", "--no-fsync")
        seconds.append(took)
        memory = max(memory, mb)
    return statistics.median(seconds), memory


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--gib", type=int, default=1)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--dir")
    parser.add_argument("--only")
    args = parser.parse_args()
    each = 1 << 20 if args.small else 1 << 30
    total, rounds = each * args.gib, 1 if args.sparse or args.small else ROUNDS
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        os.mkdir(folder + "/out")
        fill(folder + "/w.data", total, args.sparse, False)
        fill(folder + "/k.data", total, args.sparse, True)
        floats_model(folder + "/in.onnx", "w.data", args.gib, each)
        integers_model(folder + "/integers.onnx", "k.data", args.gib, each)
        cp = 0 if args.sparse else statistics.median(copy(folder, folder + "/w.data")
                                                     for _ in range(rounds))
        print("%d weights of %d MiB: %s" % (args.gib, each >> 20, "cp %.2f s" % cp if cp else "holes"))
        for name, command in ways(folder).items():
            if args.only and name not in args.only.split(","):
                continue
            if name == "back":
                clear(folder)
                subprocess.run([args.tool, "weights", "--export", folder + "/w.safetensors", folder + "/in.onnx"],
                               check=True, stdout=subprocess.DEVNULL)
            seconds, mb = measure(args.tool, folder, command, rounds)
            beside = "%5.2f x cp  " % (seconds / cp) if cp else ""
            print("  %-12s %7.2f s  %s%6.1f MB" % (name, seconds, beside, mb))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
