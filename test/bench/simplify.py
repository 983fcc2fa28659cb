# SPDX-License-Identifier: Apache-2.0
"""simplify.py TOOL [--small] [MODEL...]: seconds of the processor and seconds of `simplify` on what is
worst for it: chains of a hundred thousand nodes of which nearly all go, blocks of which none goes,
300 MB of weights. With MODEL: of those instead; --small: of a hundredth, to see that
this runs. Prints and never judges."""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_wire import *

SMALL = "--small" in sys.argv
NODES = 1000 if SMALL else 100000


def whole(nodes, weights, dims):
    nodes.append(node("Identity", ["t%d" % (len(nodes) - 1)], ["y"]))
    return model(graph(nodes, weights, [value("x", 1, dims)], [value("y", 1, dims)]))


def chain(op, count, more=lambda i: [], attrs=lambda i: ()):
    """Each reads the one before."""
    return [node(op, ["t%d" % (i - 1) if i else "x", *more(i)], ["t%d" % i], *attrs(i))
            for i in range(count)]


def turns():
    perms = (0, 2, 1, 3), (0, 1, 3, 2), (1, 0, 2, 3), (0, 3, 2, 1)
    return whole(chain("Transpose", NODES, attrs=lambda i: (a_ints("perm", *perms[i % 4]),)), [],
                 [2, 2, 2, 2])


def factors():
    weights = [tensor("c%d" % i, 1, [], floats(v)) for i, v in enumerate((1.5, 1.0, 0.625))]
    return whole(chain("Mul", NODES, lambda i: ["c%d" % (i % 3)]), weights, [2])


def blocks(norm):
    """Convolutions, with a normalization and two Transposes, or with gates, which stay."""
    nodes = []
    if norm:
        kinds = (("Conv", 0, ["w"]), ("BatchNormalization", 0, ["s"] * 4), ("Relu", 0, []),
                 ("Transpose", 0, []), ("Transpose", 0, []))
        perms = {3: (0, 2, 3, 1), 4: (0, 3, 1, 2)}
    else:
        kinds = (("Conv", 0, ["w"]), ("Sigmoid", 0, []), ("Mul", 2, []), ("Add", 4, []),
                 ("Relu", 0, []))
        perms = {}
    for i in range(NODES):
        op, back, more = kinds[i % 5]
        attrs = (a_ints("perm", *perms[i % 5]),) if i % 5 in perms else ()
        skip = ["t%d" % (i - back) if i >= back else "x"] if back else []
        nodes.append(node(op, ["t%d" % (i - 1) if i else "x", *skip, *more], ["t%d" % i], *attrs))
    weights = [tensor("w", 1, [4, 4, 1, 1], floats(*[0.1] * 16)),
               tensor("s", 1, [4], floats(1, 2, 0.5, 3))]
    return whole(nodes, weights, [1, 4, 8, 8])


def mixer(layers=24, side=1024):
    """Products on both sides, each with its own weights: 300 MB."""
    noise = os.urandom(4 * side * side - 4)
    nodes, weights = [], []

    def then(op, *more, attrs=()):
        last = "t%d" % (len(nodes) - 1) if nodes else "x"
        nodes.append(node(op, [last, *more], ["t%d" % len(nodes)], *attrs))

    for i in range(layers):
        for k in range(3):
            weights.append(tensor("w%d_%d" % (i, k), 1, [side, side],
                                  (i * 3 + k).to_bytes(4, "little") + noise))
        turn = (a_ints("perm", 0, 2, 1),)
        then("Transpose", attrs=turn)
        then("MatMul", "w%d_0" % i)
        then("Erf")
        then("MatMul", "w%d_1" % i)
        then("Transpose", attrs=turn)
        then("MatMul", "w%d_2" % i)
    return whole(nodes, weights, [1, side, side])


def measure(tool, name, path):
    start = time.monotonic()
    child = subprocess.Popen([tool, "--no-fsync", "--dry-run", path], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit("%s: exit %d: %s" % (name, child.returncode, said.decode()[:500]))
    print("%-28s %6.3f s of the processor, %6.3f s" % (
        name, used.ru_utime + used.ru_stime, time.monotonic() - start), flush=True)


def main():
    tool, models = sys.argv[1], [a for a in sys.argv[2:] if a != "--small"]
    for path in models:
        measure(tool, os.path.basename(path), path)
    if models:
        return
    made = (("a chain of Relu", lambda: whole(chain("Relu", NODES), [], [2])),
            ("a chain of Transpose", turns), ("a chain of factors", factors),
            ("blocks that stay", lambda: blocks(False)),
            ("blocks with normalization", lambda: blocks(True)),
            ("a mixer, 3 MB of weights", lambda: mixer(24, 100)) if SMALL else
            ("a mixer, 300 MB of weights", mixer))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        for name, make in made:
            with open(path, "wb") as f:
                f.write(make())
            measure(tool, name, path)


main()
