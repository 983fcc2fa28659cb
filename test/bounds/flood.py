# SPDX-License-Identifier: Apache-2.0
"""flood.py TOOL COLLIDE [--count N] [--bits N] [--few]: names that are chosen to collide cost nothing.

COLLIDE (collide.c) finds names that have one place in tables by each of some known hashes. They become
names of values, nodes, attributes, operators, dimensions, metadata, functions, inputs, initializers, and
of the operators of a target and of a file of descriptions. No command may need half as long again as for
other names of that length. That such names are harmful where a table is not protected is measured on one
of uthash as distributed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True
from onnx_wire import *
from scale import measure

HASHES = ["jenkins", "fnv32", "fnv64", "times33", "xxh3", "xxh64", "xxh32"]
SLACK, SECONDS = 1.5, 0.03
TWO = (("", 17), ("d", 1))
X, Y = value("x", FLOAT, ("N", 4)), value("y", FLOAT, ("N", 4))


def pair(name, text):
    return sub(1, name) + sub(2, text)


def nodes(names):
    """Values, nodes, operators, attributes, dimensions, metadata of the model and of a node."""
    all_nodes = [node(n, [names[i - 1] if i else "x"], [n], a_int(n, 1), domain="d") + sub(3, n)
                 for i, n in enumerate(names)]
    many = node("Op", [names[-1]], ["y"], *(a_int(n, 1) for n in names), domain="d")
    many += b"".join(sub(9, pair(n, "1")) for n in names)
    infos = [value(n, FLOAT, (n, 4)) for n in names]
    return model(graph(all_nodes + [many], [], [X], [Y], infos=infos),
                 *(sub(14, pair(n, "1")) for n in names), opsets=TWO)


def functions(names):
    """Functions and their own values."""
    fs = [function(n, [n], ["b"], [node("Exp", [n], ["b"])]) for n in names]
    calls = [node(n, [f"t{i - 1}" if i else "x"], [f"t{i}"], domain="d") for i, n in enumerate(names)]
    return model(graph(calls + [node("Identity", [f"t{len(names) - 1}"], ["y"])], [], [X], [Y]), *fs,
                 opsets=TWO)


def inputs(names):
    """Inputs, initializers in IR 3, outputs."""
    half = names[: len(names) // 2]
    weights = names[len(names) // 2:]
    adds = [node("Add", [a, w], [f"y{i}"]) for i, (a, w) in enumerate(zip(half, weights))]
    inits = [tensor(n, FLOAT, [1], floats(i)) for i, n in enumerate(weights)]
    return model(graph(adds, inits, [value(n, FLOAT, (n, 4)) for n in half]
                       + [value(n, FLOAT, (1,)) for n in weights],
                       [value(f"y{i}", FLOAT, (n, 4)) for i, n in enumerate(half)]), ir=3)


USUAL = [["--no-fsync", "m.onnx", "out.onnx"], ["check", "m.onnx"], ["info", "--json", "m.onnx"],
         ["mend", "--no-fsync", "m.onnx", "out.onnx"], ["cat", "m.onnx"],
         ["diff", "m.onnx", "m.onnx"]]
MODELS = [(nodes, USUAL + [["check", "--target", "t.target", "m.onnx"],
                           ["check", "--schema", "s.schema", "m.onnx"]]),
          (functions, USUAL + [["--no-fsync", "--pass", "inline", "m.onnx", "out.onnx"]]),
          (inputs, USUAL)]


def write(folder, names, make):
    with open(os.path.join(folder, "m.onnx"), "wb") as f:
        f.write(make(names))
    with open(os.path.join(folder, "t.target"), "w", encoding="utf-8") as f:
        json.dump({"schema": 1, "name": "npu", "source": "a manual", "opset": {"": [7, 17]},
                   "rest": "refused", "own": ["d." + n for n in names],
                   "ops": {"d." + n: {} for n in names}}, f)
    with open(os.path.join(folder, "s.schema"), "w", encoding="utf-8") as f:
        f.write("domain d\n" + "".join(f"op {n}\ntype T: float\ninput x: T\noutput y: T\n"
                                       for n in names))


def times(tool, folder, commands, runs):
    return [measure(tool, c, folder, runs) for c in commands]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("collide")
    p.add_argument("--count", type=int, default=3000)
    p.add_argument("--bits", type=int, default=13)
    p.add_argument("--table", action="store_true", help="print a line for each command")
    p.add_argument("--few", action="store_true", help="two of the hashes")
    a = p.parse_args()
    tool, size = os.path.abspath(a.tool), [str(a.count), str(a.bits)]

    def chosen(name):
        return subprocess.run([a.collide, name, *size], check=True, capture_output=True,
                              text=True).stdout.split()
    honest, poisoned = map(float, subprocess.run([a.collide, "--table", *size], check=True,
                                                 capture_output=True, text=True).stdout.split())
    bad, count, worst = [], 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for make, commands in MODELS:
            write(folder, chosen("any"), make)
            usual = times(tool, folder, commands, 3)
            for name in ("jenkins", "xxh3") if a.few else HASHES:
                write(folder, chosen(name), make)
                for c, (code, before, _, _), now in zip(commands, usual, times(tool, folder, commands, 1)):
                    limit = SLACK * before + SECONDS
                    if now[1] > limit:  # what else the machine does comes and goes
                        now = measure(tool, c, folder, 4)
                    count, worst = count + 1, max(worst, (now[1] - SECONDS / 2) / (before + SECONDS / 2))
                    what = f"{make.__name__}: {name}: {' '.join(c)}"
                    if a.table:
                        print(f"{what}: exit {now[0]}, {before:.3f} s, {now[1]:.3f} s")
                    if now[0] not in (0, 1) or now[0] != code:
                        bad.append(f"{what}: exit {now[0]}, with other names {code}: {now[3].strip()[:200]}")
                    if now[1] > limit:
                        bad.append(f"{what}: {before:.2f} s become {now[1]:.2f} s")
    for line in bad:
        print("FAIL", line)
    print(f"{count} commands on {a.count} names that collide in {a.bits} bits: {len(bad)} slower or "
          f"different, at most {worst:.2f} times as long; an unprotected table: "
          f"{poisoned / max(honest, 0.01):.0f} times")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
