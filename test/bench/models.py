# SPDX-License-Identifier: Apache-2.0
"""models.py BENCH_MODEL [--only WORD] [MODEL...]: how long models take in the built-in interpreter
and in ONNX Runtime with one thread. Without MODEL: those of the backend suite's `light` folder, where
it is (--only: whose name holds WORD). Prints and never judges."""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
import ort


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def main():
    tool, models, word = sys.argv[1], sys.argv[2:], ""
    if models[:1] == ["--only"]:
        word, models = models[1], models[2:]
    if not models:
        top = os.path.join(HERE, "..", "..", "..", "shared", "corpus", "backend", "light")
        models = sorted(glob.glob(os.path.join(top, "*%s*.onnx" % word)))
    if not models:
        print("no models: name some")
        sys.exit(77)
    package = ort.package()
    if not package:
        print("(ONNX Runtime is not here: no comparison)")
    for model in models:
        ours = output(tool, model)
        name = os.path.basename(model)
        if ours is None:
            print("%s: not run" % name)
            continue
        line = "%s: %s" % (name, ours)
        theirs = package and output("node", os.path.join(HERE, "model_ort.cjs"), package, model)
        if theirs:
            line += "; ONNX Runtime %s ms: %.1f times its time" % (
                theirs, float(ours.split()[0]) / float(theirs))
        print(line, flush=True)


main()
