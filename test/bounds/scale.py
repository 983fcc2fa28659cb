# SPDX-License-Identifier: Apache-2.0
"""scale.py TOOL [--from N] [--factor F] [--few] [--table] [SHAPE...]: how time and memory grow with a model.

Each shape of shapes.py is built with N and F * N elements. Commands run on both, and the processor
time and the counted memory of the larger one are compared with F times those of the smaller: what
counts is the ratio, so that a busy machine makes no difference. A command may end with exit code 4
and the name of a limit instead. ONNXSURG_SCALE=100000 replaces N."""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True
import shapes

# Of what linear growth gives. n log n at these sizes is 1.3; caches add the rest. Quadratic: F.
SLACK, SECONDS = 3, 0.04
COMMANDS = [["--no-fsync", "m.onnx", "out.onnx"], ["check", "m.onnx"],
            ["mend", "--no-fsync", "m.onnx", "out.onnx"],
            ["rename", "--no-fsync", "--prefix", "q/", "--of", "values", "m.onnx", "out.onnx"],
            ["repair", "--no-fsync", "--target", "opencv-4.10", "m.onnx", "out.onnx"],
            ["--no-fsync", "--rules", "wrong.rules", "--check", "m.onnx", "out.onnx"],
            ["--no-fsync", "--opset", "21", "--allow", "lossy", "m.onnx", "out.onnx"],
            ["check", "--target", "onnxruntime-1.4", "m.onnx"], ["info", "--json", "m.onnx"],
            ["cat", "m.onnx"], ["set", "--no-fsync", "--version", "3", "m.onnx", "out.onnx"],
            ["--no-fsync", "--pass", "to-float16", "m.onnx", "out.onnx"],
            ["--pass-file", "words", "--print-pipeline"],
            ["--no-fsync", "--opset", "9", "--allow", "lossy", "m.onnx", "out.onnx"],
            ["--no-fsync", "--pass", "shapes,inline,cse,dedup", "m.onnx", "out.onnx"],
            ["check", "--targets", "onnxruntime-1.4,tensorrt-8.6", "m.onnx"],
            ["diff", "m.onnx", "out.onnx"], ["view", "-o", "out.html", "m.onnx"], ["nodes", "m.onnx"],
            ["find", "b = Exp (a)", "m.onnx"], ["edit", "--no-fsync", "steps", "m.onnx", "out.onnx"],
            ["merge", "--no-fsync", "--side-by-side", "m.onnx", "m.onnx", "-o", "out.onnx"]]


# --check fails, and finds the rule by bisection.
WRONG = """rule wrong-exp { match { y = Exp (x) } emit { y = Neg (x) } }
rule right-abs { match { y = Abs (x) } emit opset 13.. { p = Relu (x) n = Neg (x) q = Relu (n) y = Add (p, q) } }
"""


def names_limit(error):
    """Whether a message names the limit that was reached."""
    return any(word in error for word in ("--max-", "more than", "limit", "deeper", "exceeds", "too large"))


def measure(tool, command, folder, runs=1):
    """(exit code, seconds of the processor, peak KiB, message)."""
    best = None
    for _ in range(runs):
        # A small parent in between: the peak of a child counts what it was copied from.
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@"', "sh", sys.executable, "-S", "-c", PARENT, tool, *command],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
        code, seconds, peak, error = eval(done.stdout)
        if best is None or seconds < best[1]:
            best = (code, seconds, peak, error)
    return best


PARENT = """
import os, sys
r, w = os.pipe()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, w, 2)])
os.close(w)
said = b''
while True:
    part = os.read(r, 65536)
    if not part: break
    said = (said + part)[-400:]
_, status, u = os.wait4(pid, 0)
print((os.waitstatus_to_exitcode(status), u.ru_utime + u.ru_stime, u.ru_maxrss,
       said.decode(errors='replace')))
"""


def judge(small, large, factor):
    """None, or what is wrong."""
    for code, _, _, error in (small, large):
        if code not in (0, 1, 4, 6):
            return f"exit {code}: {error.strip()}"
        if code == 4 and not names_limit(error):
            return f"exit 4 names no limit: {error.strip()}"
    if large[0] == 4:
        return None
    if large[1] > factor * SLACK * small[1] + SECONDS * factor:
        return f"{small[1]:.2f} s become {large[1]:.2f} s"
    if large[2] > factor * SLACK * small[2]:
        return f"{small[2]} KiB become {large[2]} KiB"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("shapes", nargs="*")
    p.add_argument("--from", type=int, dest="n",
                   default=int(os.environ.get("ONNXSURG_SCALE", "700")))
    p.add_argument("--factor", type=int, default=6)
    p.add_argument("--few", action="store_true", help="the first 6 of the commands only")
    p.add_argument("--table", action="store_true", help="print a line for each command and shape")
    a = p.parse_intermixed_args()
    commands = COMMANDS[:6] if a.few else COMMANDS
    tool, bad, count = os.path.abspath(a.tool), 0, 0
    for shape in shapes.SHAPES:
        if a.shapes and shape.__name__ not in a.shapes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results = []
            for n in (a.n, a.n * a.factor):
                with open(os.path.join(folder, "m.onnx"), "wb") as f:
                    f.write(shape(n))
                with open(os.path.join(folder, "words"), "w") as f:
                    f.write("outputs{add=%s}" % "+".join(f'"a {i}"' for i in range(n)))
                with open(os.path.join(folder, "wrong.rules"), "w") as f:
                    f.write(WRONG)
                with open(os.path.join(folder, "steps"), "w") as f:
                    f.write("set --version 3\nrename --prefix q/ --of nodes\nsimplify\n")
                results.append([measure(tool, c, folder) for c in commands])
            large = results[1]
            for i, c in enumerate(commands):
                if judge(results[0][i], large[i], a.factor):  # what else the machine does comes and goes
                    large[i] = measure(tool, c, folder, 3)
        for command, small, large in zip(commands, *results):
            count += 1
            wrong = judge(small, large, a.factor)
            bad += wrong is not None
            name = " ".join(w for w in command if w not in ("m.onnx", "out.onnx", "--no-fsync"))
            name = name or "simplify"
            if wrong or a.table:
                print(f"{shape.__name__}: {name}: {small[1]:.2f} s, {small[2] // 1024} MiB -> "
                      f"{large[1]:.2f} s, {large[2] // 1024} MiB, exit {large[0]}"
                      + (f": FAIL: {wrong}" if wrong else ""), flush=True)
    print(f"{count} commands on {a.n} and {a.n * a.factor} elements: {count - bad} linear or limited, "
          f"{bad} not")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
