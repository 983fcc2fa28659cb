# SPDX-License-Identifier: Apache-2.0
"""bench.py TOOL [--full | --small] [--dir DIR] [--model FILE]: how long the main job takes, beside `cp`.

Prints and never judges. --full: a gigabyte, a million nodes, 28 GiB of sparse external data;
--small: a megabyte and a thousand nodes, to see that this runs.
--model: a real model to run `fold,prune` on, where its data files are.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_wire import *

ROUNDS = 5
# (bytes of the large file, of its external data, numbers of nodes)
SIZES = {"small": (1 << 20, 1 << 20, (100, 1000)), "usual": (64 << 20, 1 << 30, (10000, 100000)),
         "full": (1 << 30, 28 << 30, (100000, 1000000))}
# (bytes of sparse data, nodes)
SURGERY = {"small": (10**9, 500), "usual": (10**11, 5000), "full": (10**11, 5000)}


def timed(*command):
    """Seconds and peak megabytes of a command. Without time(1) the latter counts this process too,
    since a child starts as its copy."""
    if os.access("/usr/bin/time", os.X_OK):
        with tempfile.NamedTemporaryFile("r") as told:
            command = ["/usr/bin/time", "-q", "-f", "%e %M", "-o", told.name, *command]
            seconds, _ = spawned(*command)
            return seconds, float(told.read().split()[1]) / 1024
    return spawned(*command)


def spawned(*command):
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode and not (child.returncode == 1 and "diff" in command):
        sys.exit("%s: exit %d: %s" % (" ".join(command), child.returncode, text.decode()[:500]))
    return time.monotonic() - start, usage.ru_maxrss / 1024


def settle():
    os.sync()


def weights(path, count, each):
    """A model of `count` weights, each added to the next input: one file."""
    nodes = [node("Add", ["x" if i == 0 else f"t{i-1}", f"w{i}"], [f"t{i}"]) for i in range(count)]
    head = [sub(1, n) for n in nodes] + [sub(2, "g")]
    dims = [each // 4]
    prefix = b"".join([num(1, dims[0]), num(2, 1)])
    tensors = []
    for i in range(count):
        body = prefix + sub(8, f"w{i}") + key(9, 2) + varint(each)
        tensors.append(key(5, 2) + varint(len(body) + each) + body)
    # A dead node, so that prune has something to do.
    tail = sub(1, node("Relu", ["x"], ["dead"])) + sub(11, value("x", 1, dims)) + sub(
        12, value(f"t{count-1}", 1, dims))
    size = sum(map(len, head)) + sum(map(len, tensors)) + count * each + len(tail)
    noise = os.urandom(min(each, 1 << 20))
    with open(path, "wb") as f:
        f.write(num(1, 8) + sub(8, num(2, 17)) + key(7, 2) + varint(size))
        f.writelines(head)
        for t in tensors:
            f.write(t)
            for done in range(0, each, len(noise)):
                f.write(noise[:each - done])
        f.write(tail)


def outside(path, data, total, count):
    """The same with a sparse external data file."""
    each = total // count // 4096 * 4096
    with open(data, "wb") as f:
        f.truncate(total)
    nodes = [node("Add", ["x" if i == 0 else f"t{i-1}", f"w{i}"], [f"t{i}"]) for i in range(count)]
    nodes.append(node("Relu", ["x"], ["dead"]))
    inits = [tensor(f"w{i}", 1, [each // 4], None, external(os.path.basename(data), i * each, each))
             for i in range(count)]
    with open(path, "wb") as f:
        f.write(model(graph(nodes, inits, [value("x", 1, [each // 4])],
                            [value(f"t{count-1}", 1, [each // 4])])))


def chain(n, reverse=False):
    nodes = [node("Relu", ["x" if i == 0 else f"t{i-1}"], [f"t{i}"]) for i in range(n)]
    return model(graph(nodes[::-1] if reverse else nodes, [], [value("x")], [value(f"t{n-1}")]))


def star(n):
    nodes = [node("Relu", ["x"], [f"t{i}"]) for i in range(n - 1)]
    nodes.append(node("Sum", [f"t{i}" for i in range(n - 1)], ["y"]))
    return model(graph(nodes, [], [value("x")], [value("y")]))


def big_file(tool, folder, total):
    path, out = folder + "/big.onnx", folder + "/out.onnx"
    weights(path, 256, total // 256)
    settle()
    rows = {"cp": [], "cp+sync": [], "prune": [], "prune --no-fsync": [], "load": []}
    memory = 0
    for _ in range(ROUNDS):
        for name in rows:
            if os.path.exists(out):
                os.unlink(out)
            settle()
            start = time.monotonic()
            if name.startswith("cp"):
                subprocess.run(["cp", "--reflink=never", path, out], check=True)
                if name == "cp+sync":
                    subprocess.run(["sync", out], check=True)
                seconds = time.monotonic() - start
            elif name == "load":
                seconds, _ = timed(tool, "--dry-run", "--pass", "", path)
            else:
                extra = ["--no-fsync"] if name.endswith("fsync") else []
                seconds, mb = timed(tool, "--pass", "prune", *extra, path, out)
                memory = max(memory, mb)
            rows[name].append(seconds)
    m = {k: statistics.median(v) for k, v in rows.items()}
    print("file of %d MiB, 256 weights: cp %.2f s, cp+sync %.2f s" % (total >> 20, m["cp"], m["cp+sync"]))
    print("  prune            %.2f s  %.2f x cp+sync  %.0f MB" % (m["prune"], m["prune"] / m["cp+sync"], memory))
    print("  prune --no-fsync %.2f s  %.2f x cp" % (m["prune --no-fsync"], m["prune --no-fsync"] / m["cp"]))
    print("  load alone       %.1f ms" % (m["load"] * 1000))
    os.unlink(path)
    if os.path.exists(out):
        os.unlink(out)


def external_data(tool, folder, total):
    outside(folder + "/ext.onnx", folder + "/ext.data", total, 256)
    seconds, mb = timed(tool, "--pass", "prune", folder + "/ext.onnx", folder + "/ext_out.onnx")
    print("%d MiB of external data, same folder: prune %.1f ms, %.0f MB" % (total >> 20, seconds * 1000, mb))


def surgery(tool, folder, total, count):
    """Commands on a model of `count` nodes with sparse external data: what they may cost is the
    graph and the bytes that they change."""
    path, data, other = folder + "/large.onnx", folder + "/large.data", folder + "/other"
    outside(path, data, total, count - 1)
    os.mkdir(other)
    last, middle = "t%d" % (count - 2), "t%d" % (count // 2)
    rows = [("set --node", "set", "--node", middle, "--name", "middle", path, folder + "/set.onnx"),
            ("rename", "rename", "--prefix", "a/", path, folder + "/named.onnx"),
            ("extract", "extract", "--from", "t10", "--to", middle, path, folder + "/part.onnx"),
            ("split --parts 4", "split", "--parts", "4", path, "-o", folder + "/cut"),
            ("merge of the parts", "merge", folder + "/cut.split.json", "-o", folder + "/whole.onnx"),
            # Weights that are in one data file stay there; others would join them.
            ("data --share --keep", "data", "--keep", "--share", "more.data", "-i", path,
             folder + "/set.onnx"),
            ("set, other folder", "set", "--node", middle, "--name", "middle", path, other + "/set.onnx"),
            ("extract, other folder", "extract", "--from", "t10", "--to", "t20", path, other + "/part.onnx"),
            ("split, other folder", "split", "--parts", "4", path, "-o", other + "/cut"),
            ("data --share, other", "data", "--share", "common.data", "--out-dir", other, path, folder + "/set.onnx"),
            ("diff", "diff", path, folder + "/set.onnx"),
            ("diff, other names", "diff", "--quiet", path, folder + "/named.onnx"),
            ("diff, a part", "diff", "--quiet", path, folder + "/part.onnx")]
    print("%d nodes, %d GB of sparse data:" % (count, total // 10**9))
    for name, *command in rows:
        seconds, mb = timed(tool, *command)
        print("  %-22s %6.2f s %6.0f MB" % (name, seconds, mb))


def nodes(tool, folder, sizes):
    for name, make in (("chain", chain), ("star", star), ("reversed chain", lambda n: chain(n, True))):
        times = []
        for n in sizes:
            path = folder + "/n.onnx"
            with open(path, "wb") as f:
                f.write(make(n))
            best = min(timed(tool, "--pass", "fold,prune", path, folder + "/n_out.onnx") for _ in range(3))
            times.append(best)
        (a, _), (b, mb) = times
        print("%s: fold,prune of %d nodes %.2f s, %d nodes %.2f s (%.1f x), %.0f MB"
              % (name, sizes[0], a, sizes[1], b, b / a, mb))


def small(tool, folder):
    with open(folder + "/s.onnx", "wb") as f:
        f.write(chain(100))
    times = [timed(tool, "--no-fsync", folder + "/s.onnx", folder + "/s_out.onnx")[0] for _ in range(20)]
    nothing = [timed("/bin/true")[0] for _ in range(20)]
    print("100 nodes, start to exit: %.1f ms (/bin/true: %.1f ms)"
          % (statistics.median(times) * 1000, statistics.median(nothing) * 1000))


def real(tool, folder, path):
    out = os.path.join(os.path.dirname(os.path.abspath(path)), "onnxsurg-bench-out.onnx")
    got = [timed(tool, "--pass", "fold,prune", path, out) for _ in range(3)]
    print("%s: fold,prune %.2f s, %.0f MB" % (os.path.basename(path), statistics.median(t for t, _ in got),
                                               max(m for _, m in got)))
    os.unlink(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--full", action="store_const", dest="size", const="full", default="usual")
    parser.add_argument("--small", action="store_const", dest="size", const="small")
    parser.add_argument("--dir")
    parser.add_argument("--model")
    parser.add_argument("--surgery", action="store_true", help="only commands of editing, 100 GB")
    args = parser.parse_args()
    tool = os.path.abspath(args.tool)
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        if args.surgery:
            return surgery(tool, folder, *SURGERY[args.size])
        small(tool, folder)
        total, outside_total, counts = SIZES[args.size]
        nodes(tool, folder, counts)
        big_file(tool, folder, total)
        external_data(tool, folder, outside_total)
        surgery(tool, folder, *SURGERY[args.size])
        if args.model:
            real(tool, folder, args.model)


if __name__ == "__main__":
    main()
