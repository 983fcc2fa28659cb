# SPDX-License-Identifier: Apache-2.0
"""limits.py TOOL [--strict] [--few]: --timeout and --max-memory are kept in every phase.

Time: commands that would take hours in a phase that does not look at a clock end with exit code 4 and
one line, at most a tenth later than asked (--strict; a second otherwise: the machine may be busy).
Memory: models of every shape and hostile ones run with smaller and smaller limits; the peak of the
process stays below the limit, a tenth of it, and what the program needs without a model."""
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "hostile")]
sys.dont_write_bytecode = True
import shapes
from onnx_wire import *
from scale import PARENT, names_limit

MIB = 1 << 20


def product(n):
    """MatMul of constants, n x n: one node, n^3 operations, little memory."""
    shape = tensor("s", INT64, [2], longs(n, n))
    one = a_tensor("value", tensor("v", FLOAT, [1], floats(1)))
    return model(graph([node("ConstantOfShape", ["s"], ["a"], one), node("MatMul", ["a", "a"], ["p"]),
                        node("ReduceSum", ["p"], ["q"]), node("Add", ["x", "q"], ["y"])], [shape],
                       [value("x", FLOAT, (1, 1))], [value("y", FLOAT, (1, 1))]))


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


# (phase, options, stdin and stdout that block). Each would need hours, or for ever. --check gives up a
# run of more than 2^36 operations, so its model needs a little less: some seconds for each of its runs.
PHASES = [
    ("load", ["fifo.onnx", "out.onnx"]),
    ("check", ["check", "fifo.onnx"]),
    ("data", ["weights", "--export", "w.npz", "fifo.onnx"]),
    ("kernel", ["run", "--fill", "ones", "product.onnx"]),
    ("verify", ["verify", "--runs", "1", "product.onnx", "product.onnx"]),
    ("fold", ["--pass", "fold{max-work=1000000000000000,max-bytes=inf,max-growth=inf,max-total=inf}", "product.onnx",
              "out.onnx"]),
    ("compare", ["--check=100", "checked.onnx", "out.onnx"]),
    ("print", ["cat", "chain.onnx"]),
    ("calibrate", ["quantize", "--static", "product.onnx", "out.onnx"]),
    ("quantize", ["quantize", "--weights", "int8", "large.onnxtxt", "out.onnx"]),
    ("convert", ["--pass", "to-float16", "large.onnxtxt", "out.onnx"]),
    ("edit", ["edit", "script", "chain.onnx", "out.onnx"]),
    ("repair", ["repair", "--target", "opencv-4.10", "errors.onnx", "out.onnx"]),
]

# One weight of 16 GiB, a file without blocks.
LARGE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 1073741824] x) => (float[1, 4] y)
<float[1073741824, 4] w = ["location": "large.bin", "offset": "0", "length": "17179869184"]>
{ y = MatMul (x, w) }"""


def time_one(tool, folder, phase, args, strict):
    start = time.monotonic()
    child = subprocess.Popen([tool, args[0], "--timeout", "1", *args[1:]] if args[0].isalpha() else
                             [tool, "--timeout", "1", *args], cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        error = child.stderr.read().decode()  # standard output is not read: a full pipe blocks
        code = child.wait(60)
    except subprocess.TimeoutExpired:
        child.kill()
        return f"{phase}: does not end"
    took = time.monotonic() - start
    child.stdout.close()
    child.stderr.close()
    said = "--timeout" in error or "time limit" in error  # the program, or a kernel that saw the clock
    if code != 4 or error.count("\n") != 1 or not said:
        return f"{phase}: exit {code}: {error.strip()}"
    if not 0.9 < took < (1.1 if strict else 3.0):
        return f"{phase}: ended after {took:.2f} s of 1 s"
    return None


def times(tool, strict):
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "fifo.onnx"))
        keep = os.open(os.path.join(folder, "fifo.onnx"), os.O_RDWR)  # a writer that writes nothing
        write(folder, "product.onnx", product(12000))
        write(folder, "checked.onnx", product(4000))
        write(folder, "chain.onnx", shapes.chain(20000))
        write(folder, "errors.onnx", shapes.errors(20000))
        write(folder, "script", "".join(f"insert --after t{i} --text 'q{i} = Neg (t{i})'\n"
                                        for i in range(2000)).encode())
        write(folder, "large.onnxtxt", LARGE.encode())
        with open(os.path.join(folder, "large.bin"), "wb") as f:
            f.truncate(1 << 34)
        write(folder, "out.onnx", b"old")
        with ThreadPoolExecutor(1 if strict else len(PHASES)) as pool:
            bad = list(filter(None, pool.map(lambda p: time_one(tool, folder, *p, strict), PHASES)))
        os.close(keep)
        with open(os.path.join(folder, "out.onnx"), "rb") as f:
            if f.read() != b"old":
                bad.append("the old output was touched")
        left = set(os.listdir(folder)) - {"fifo.onnx", "product.onnx", "checked.onnx", "chain.onnx",
                                          "out.onnx", "large.onnxtxt", "large.bin", "errors.onnx", "script"}
        if left:
            bad.append(f"left behind: {sorted(left)}")
    print(f"time: {len(PHASES)} phases, {len(bad)} not ended in time")
    return bad


def peak(tool, folder, args):
    """(exit code, peak bytes, message)."""
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@"', "sh", sys.executable, "-S", "-c", PARENT, tool,
                           *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    code, _, kib, error = eval(done.stdout)
    return code, kib << 10, error


def memory_one(tool, folder, name, args, least, limits):
    for limit in limits:
        code, used, error = peak(tool, folder, [*args[:-1], "--max-memory", str(limit), args[-1]])
        if code not in (0, 1, 4, 6) or (code == 4 and not names_limit(error)):
            return f"{name}: exit {code}: {error.strip()[:200]}"
        if used > limit * 1.1 + least:
            return f"{name}: {used / MIB:.0f} MiB of {limit // MIB} MiB (exit {code})"
    return None


def two_models(tool):
    """A command that reads its model twice: the limit holds for both together, and is what is named."""
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "m.onnx", shapes.chain(1))
        command = ["check", "--target", "opencv-4.10", "m.onnx"]
        least = peak(tool, folder, command)[1]
        write(folder, "m.onnx", shapes.star(20000))
        free = peak(tool, folder, command)[1] - least
        limit = int(free * 0.75)
        code, used, error = peak(tool, folder, [*command[:-1], "--max-memory", str(limit), "m.onnx"])
        if code != 4 or "--max-memory" not in error or used > limit * 1.1 + least:
            bad.append(f"two models: exit {code}, {used} bytes, limit {limit}: {error}")
        write(folder, "m.onnx", shapes.chain(40000))
        code, used, error = peak(tool, folder, ["find", "Relu", "--max-memory", "16MiB", "m.onnx"])
        if code != 4 or "more than 16 MiB of memory (--max-memory)" not in error:
            bad.append(f"find: exit {code}: {error}")
    print(f"two models: {len(bad)} beyond")
    return bad


def headers(tool):
    """JSON that others wrote: its values need 20 and more times as much memory as their text."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = b"[" + b"1," * 3000000 + b"1]"
        header = b'{"h":{"dtype":"F32","shape":' + numbers + b',"data_offsets":[0,4]}}'
        patch = b'{"from":' + numbers + b"}"
        write(folder, "m.onnx", shapes.chain(1))
        write(folder, "w.safetensors", len(header).to_bytes(8, "little") + header)
        write(folder, "m.patch", b"onnxsurg-patch 1 %d\n" % len(patch) + patch)
        write(folder, "m.json", b'{"onnxsurg_split":1,"parts":' + numbers + b"}")
        write(folder, "my.target", b'{"engine":"e","version":' + numbers + b"}")
        commands = [["weights", "--import", "w.safetensors", "m.onnx", "out.onnx"],
                    ["patch", "m.onnx", "m.patch", "out.onnx"], ["merge", "-o", "out.onnx", "m.json"],
                    ["check", "--target", "my.target", "m.onnx"]]
        least = peak(tool, folder, ["check", "--target", "opencv-4.10", "m.onnx"])[1] + 4 * MIB
        bad = []
        for c in commands:
            code, used, error = peak(tool, folder, [*c[:-1], "--max-memory", str(32 * MIB), c[-1]])
            if code != 4 or "--max-memory" not in error or used > 32 * MIB * 1.1 + least:
                bad.append(f"headers: {c[0]}: exit {code}, {used / MIB:.0f} MiB: {error.strip()[:200]}")
    print(f"headers: {len(commands)} commands, {len(bad)} beyond")
    return bad


def memory(tool, n, few):
    bad = []
    commands = [["-o", "out.onnx", "m.onnx"], ["check", "m.onnx"], ["run", "m.onnx"],
                ["info", "--json", "m.onnx"], ["cat", "m.onnx"],
                ["check", "--target", "opencv-4.10", "m.onnx"], ["mend", "-o", "out.onnx", "m.onnx"],
                ["repair", "--target", "onnxruntime-1.14", "m.onnx", "out.onnx"], ["view", "-o", "o.html", "m.onnx"],
                ["quantize", "--weights", "int8", "-o", "out.onnx", "m.onnx"], ["profile", "m.onnx"],
                ["find", "Relu", "m.onnx"], ["diff", "m.onnx", "m.onnx"], ["doctor", "m.onnx"]]
    if few:  # those that have two models in memory, or print what they count
        commands = commands[:5] + [c for c in commands[5:] if c[0] in ("check", "find", "view")]
    limits = [64 * MIB] if few else [16 * MIB, 64 * MIB, 256 * MIB]
    used = [shapes.branches, shapes.symbols, shapes.unknown] if few else shapes.SHAPES
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "m.onnx", shapes.chain(1))
        # The program, its libraries and tables of operators; files up to 64 MiB are read into memory.
        least = max(peak(tool, folder, c)[1] for c in commands) + 4 * MIB
        amplified = [("empty nodes", graph(()) + b"\x0a\x00" * 2000000),
                     ("empty attributes", graph((node("Op", ["x"], ["y"]) + b"\x2a\x00" * 2000000,))),
                     ("empty initializers", graph(()) + b"\x2a\x00" * 2000000),
                     ("dims", graph((), [num(1, 1) * 2000000 + num(2, 1) + sub(8, "w")]))]
        models = [(name, model(g)) for name, g in amplified]
        models += [(f.__name__, f(n)) for f in used]
        models += [("product", product(6000))]
        for name, data in models:
            write(folder, "m.onnx", data)
            for c in commands:
                if c[0] == "run" and name in ("huge", "product"):
                    c = ["run", "--max-work", "1000000", "m.onnx"]
                wrong = memory_one(tool, folder, f"{name}: {c[0]}", c, least + len(data), limits)
                if wrong:
                    bad.append(wrong)
    print(f"memory: {len(models)} models, {len(commands)} commands, limits of "
          f"{[x // MIB for x in limits]} MiB (and {least / MIB:.0f} MiB "
          f"of the program): {len(bad)} beyond")
    return bad


def main():
    strict = "--strict" in sys.argv
    tool = os.path.abspath(sys.argv[1])
    n = int(os.environ.get("ONNXSURG_SCALE", "2000"))
    bad = times(tool, strict) + two_models(tool) + headers(tool) + memory(tool, n, "--few" in sys.argv)
    for line in bad:
        print("FAIL", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
