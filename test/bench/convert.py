# SPDX-License-Identifier: Apache-2.0
"""convert.py TOOL [--small | --gib N | --mib N] [--sparse] [--dir DIR] [--only A,B] [--rounds N]: time and memory of
commands that stream weights, beside `cp` of the same bytes.

Prints and never judges. The weights are external, 1 GiB each (--small: 1 MiB; --mib: N MiB), --gib of them (1), random,
or holes of a file with --sparse: no speed then, but ten of them fit anywhere. Before each run of a command `cp` is run,
so that both see the same load; the ratio is the median of the rounds. "cpu" is the same ratio of processor time, which
depends less on other programs."""
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
from onnx_wire import *

ROUNDS = 5


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
        "int4 blocks": ["quantize", "--weights", "int4", "--block", "32", model, out],
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


def spent(*command):
    """Seconds, processor seconds and peak megabytes."""
    with tempfile.NamedTemporaryFile("r") as told:
        subprocess.run(["/usr/bin/time", "-q", "-f", "%e %U %S %M", "-o", told.name, *command], check=True,
                       stdout=subprocess.DEVNULL)
        wall, user, system, peak = map(float, told.read().split())
        return wall, user + system, peak / 1024


def fresh(folder, *command):
    clear(folder)  # files that are deleted are not written to the disk later, while others run
    return spent(*command)


def measure(tool, folder, args, data, rounds):
    """Medians: seconds of the command and of cp, both ratios, and the peak of memory."""
    rows = []
    for _ in range(rounds):
        cp = fresh(folder, "cp", "--reflink=never", "--sparse=never", data, folder + "/out/copy") if data else (0, 0, 0)
        own = fresh(folder, tool, *args, "--quiet", "--no-fsync")
        rows.append((own[0], cp[0], own[0] / max(cp[0], 1e-2), own[1] / max(cp[1], 1e-2), own[2]))
    return [statistics.median(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--gib", type=int, default=1)
    parser.add_argument("--mib", type=int)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--dir")
    parser.add_argument("--only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    each = 1 << 20 if args.small else args.mib << 20 if args.mib else 1 << 30
    total, rounds = each * args.gib, 1 if args.sparse or args.small else args.rounds
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        os.mkdir(folder + "/out")
        fill(folder + "/w.data", total, args.sparse, False)
        fill(folder + "/k.data", total, args.sparse, True)
        floats_model(folder + "/in.onnx", "w.data", args.gib, each)
        integers_model(folder + "/integers.onnx", "k.data", args.gib, each)
        print("%d weights of %d MiB%s" % (args.gib, each >> 20, ": holes" if args.sparse else ""))
        for name, command in ways(folder).items():
            if args.only and name not in args.only.split(","):
                continue
            if name == "back":
                clear(folder)
                subprocess.run([args.tool, "weights", "--export", folder + "/w.safetensors", folder + "/in.onnx"],
                               check=True, stdout=subprocess.DEVNULL)
            data = folder + ("/k.data" if name == "to-int32" else "/w.data")
            seconds, cp, ratio, cpu, mb = measure(args.tool, folder, command, None if args.sparse else data, rounds)
            beside = "" if args.sparse else "cp %5.2f s, %5.2f x, cpu %5.2f x  " % (cp, ratio, cpu)
            print("  %-12s %7.2f s  %s%6.1f MB" % (name, seconds, beside, mb))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
