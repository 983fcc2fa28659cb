# SPDX-License-Identifier: Apache-2.0
"""compare.py TOOL GEN [FIRST [COUNT]]: runs random models and what the default preset makes of them
in ONNX Runtime on equal inputs. A difference fails, unless a NaN is in it: runtimes treat NaN in
pools and local normalization as their kernels happen to. Exit code 77 without a runtime."""
import collections
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import ort  # noqa: E402


def one(tool, comparer, model, out):
    run = subprocess.run([tool, model, out], capture_output=True, text=True, check=False)
    if run.returncode:
        return "failed", run.stderr.strip()
    verdict, why = comparer.compare(model, out)
    if verdict == "differs" and "NaN" in why:
        verdict = "differs by NaN"
    return verdict, why


def main():
    tool, gen = sys.argv[1:3]
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    if not ort.package():
        return 77
    verdicts = collections.Counter()
    comparer = ort.Comparer()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "g")
        subprocess.check_call([gen, "--float", "--seed", str(first), "--count", str(count), prefix])
        for seed in range(first, first + count):
            model = "%s%d.onnx" % (prefix, seed)
            verdict, why = one(tool, comparer, model, os.path.join(folder, "out.onnx"))
            verdicts[verdict] += 1
            if verdict not in ("equal", "not-run", "refused-before"):
                print("seed %d: %s %s" % (seed, verdict, why))
    comparer.close()
    print(", ".join("%d %s" % (n, v) for v, n in verdicts.most_common()))
    bad = sum(verdicts[v] for v in ("failed", "differs", "refused-after"))
    return 1 if bad or verdicts["equal"] < count * 9 // 10 else 0


if __name__ == "__main__":
    sys.exit(main())
