# SPDX-License-Identifier: Apache-2.0
"""same_bytes.py [--few] TOOL [OTHER...]: equal input and options give equal bytes.

TOOL runs twice: at addresses that the system draws, and in another folder with another environment. Then
each OTHER runs, such as a build with another compiler or without optimization (ONNXSURG_CAT names one
more). Models are those of shapes.py, those of the hostile corpus that load, and the examples; of each, the
output, the standard output and the messages are compared. A second run on the output must not change it.
--few: a sample of the models, and three commands."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "hostile")]
sys.dont_write_bytecode = True
import cases
import shapes

COMMANDS = [["--summary", "m.onnx", "out.onnx"], ["check", "--json", "m.onnx"],
            ["--opset", "21", "--allow", "lossy", "m.onnx", "out.onnx"],
            ["mend", "m.onnx", "out.onnx"], ["run", "--fill", "ones", "--max-bytes", "1000000", "--json", "m.onnx"]]


def models(few):
    loads = [(c[0], c[2]) for c in cases.CASES if c[3] is None and c[4] is None and len(c[2]) < 100000
             and not c[0].startswith("doubling")]  # 2^16 nodes from 17 functions: a minute
    yield from loads[::5 if few else 1]
    for f in shapes.SHAPES:
        yield f.__name__, f(60)
    examples = os.path.join(TOP, "examples", "models")
    for name in sorted(os.listdir(examples)):
        if name.endswith(".onnxtxt"):
            with open(os.path.join(examples, name), "rb") as f:
                yield name, f.read()


def outcome(tool, command, data, folder, name, **more):
    """What a command left and printed; times are not compared."""
    out = os.path.join(folder, "out.onnx")
    source = "m.onnxtxt" if name.endswith("txt") else "m.onnx"
    if os.path.exists(out):
        os.unlink(out)
    with open(os.path.join(folder, source), "wb") as f:
        f.write(data)
    done = subprocess.run([tool, *(source if w == "m.onnx" else w for w in command)], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, **more)
    written = None
    if os.path.exists(out):
        with open(out, "rb") as f:
            written = f.read()
    return done.returncode, done.stdout, done.stderr, written


def main():
    few = "--few" in sys.argv
    tools = [os.path.abspath(t) for t in sys.argv[1:] if t != "--few"]
    if os.environ.get("ONNXSURG_CAT"):
        tools.append(os.environ["ONNXSURG_CAT"])
    count = idle = 0
    bad = []
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(prefix="x" * 90) as two:
        for name, data in models(few):
            for command in COMMANDS[:3 if few else None]:
                first = outcome(tools[0], command, data, one, name)
                runs = [outcome(tools[0], command, data, two, name,
                                env={"PATH": "/usr/bin:/bin", "PADDING": "x" * 5000, "TZ": "Asia/Tokyo"})]
                runs += [outcome(t, command, data, one, name) for t in tools[1:]]
                for i, other in enumerate(runs):
                    count += 1
                    if other != first:
                        what = [w for w, a, b in zip(("exit code", "output", "messages", "file"),
                                                     first, other) if a != b]
                        bad.append(f"{name}: {' '.join(command)}: {', '.join(what)} differ"
                                   + (f" from {tools[i]}" if i else " in another folder"))
                if command is COMMANDS[0] and first[3] is not None:
                    again = outcome(tools[0], COMMANDS[0], first[3], one, "again")
                    idle += 1
                    if again[3] != first[3]:
                        bad.append(f"{name}: a second run changes the model")
    for line in bad[:30]:
        print("FAIL", line)
    print(f"{count} comparisons with {len(tools)} programs, {idle} second runs, {len(bad)} differ")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
