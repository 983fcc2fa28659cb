# SPDX-License-Identifier: Apache-2.0
"""large.py TOOL [--full] [--strict] [--dir DIR]: a large file is neither read nor copied through memory.

A file of 80 MiB (--full: 1 GiB) with 1, 256 and many tensors is loaded, and loaded, pruned and saved. The
peak of the process must stay below 32 MiB and 1 KiB a tensor: its record and that of its node. Then a chain, a star and a reversed
chain of many nodes (--full: a million) are loaded, pruned and saved. Times are printed; --strict, for an
idle machine, fails where one is above its goal."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "bench")]
sys.dont_write_bytecode = True
from bench import chain, star, weights
from scale import measure

MIB = 1 << 20


def best(command, rounds=5, fresh=None):
    """The least seconds of some runs: the rest is what else the machine does. None: a run fails."""
    times = []
    for _ in range(rounds):
        if fresh and os.path.exists(fresh):
            os.unlink(fresh)
        start = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
        times.append(time.monotonic() - start)
        if done.returncode:
            print(f"  exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[:300]}")
            return None
    return min(times)


class Report:
    def __init__(self, strict):
        self.strict, self.bad = strict, 0

    def line(self, what, seconds, goal):
        if seconds is None:
            self.bad += 1
            print(f"FAIL {what}")
            return
        missed = seconds > goal
        self.bad += missed and self.strict
        print(f"{what}: {seconds * 1000:.1f} ms, goal {goal * 1000:.1f} ms"
              + (" MISSED" if missed else ""), flush=True)

    def memory(self, what, peak, limit):
        self.bad += peak > limit
        print(f"{'FAIL ' if peak > limit else ''}{what}: {peak / MIB:.0f} MiB of {limit / MIB:.0f} MiB")


def one_file(tool, folder, total, count, report):
    path, out = os.path.join(folder, "big.onnx"), os.path.join(folder, "out.onnx")
    weights(path, count, total // count // 4 * 4)
    with open(path, "rb") as f:  # warm
        while f.read(64 * MIB):
            pass
    name = f"{total // MIB} MiB in {count} tensors"
    start = best([tool, "--version"])
    load = best([tool, "--dry-run", "--pass", "", path])
    report.line(f"{name}: load", load and max(load - start, 0), 0.020 + count * 1e-6)
    copy = best(["cp", "--reflink=never", path, out], fresh=out)
    save = best([tool, "--no-fsync", "--pass", "prune", path, out], fresh=out)
    report.line(f"{name}: prune and save, cp needs {copy * 1000:.0f} ms", save, 1.2 * copy)
    for what, command in (("load", ["--dry-run", "--pass", "", path]),
                          ("save", ["--no-fsync", "--pass", "prune", path, out])):
        report.memory(f"{name}: {what}", measure(tool, command, folder)[2] << 10, 32 * MIB + 1024 * count)
    for f in (path, out):
        if os.path.exists(f):
            os.unlink(f)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("--full", action="store_true")
    p.add_argument("--strict", action="store_true")
    p.add_argument("--dir")
    a = p.parse_args()
    tool, report = os.path.abspath(a.tool), Report(a.strict)
    with tempfile.TemporaryDirectory(dir=a.dir) as folder:
        for count in (1, 256, 65536) if a.full else (1, 256, 5120):
            one_file(tool, folder, (1 << 30) if a.full else 80 * MIB, count, report)
        n, path = 1000000 if a.full else 20000, os.path.join(folder, "n.onnx")
        for name, make in (("chain", chain), ("star", star), ("reversed chain", lambda n: chain(n, True))):
            with open(path, "wb") as f:
                f.write(make(n))
            seconds = best([tool, "--no-fsync", "--pass", "prune", path,
                            os.path.join(folder, "out.onnx")], rounds=2)
            report.line(f"{name} of {n} nodes: load, prune, save", seconds, 5 * n / 1000000 + 0.1)
    print(f"{report.bad} failures")
    return 1 if report.bad else 0


if __name__ == "__main__":
    sys.exit(main())
