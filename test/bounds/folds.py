# SPDX-License-Identifier: Apache-2.0
"""folds.py TOOL [--every N] FOLDER...: the limits of `fold` lose no fold of a real model.

Each model is folded with the default limits on size and work, and without them; --max-growth, which
is a choice of the user and no protection, stays as it is. The results must be the same bytes. Prints
how many models fold further with any growth, too."""
import argparse
import os
import subprocess
import sys
import tempfile

FREE = "max-bytes=inf,max-total=inf,max-work=1000000000000000"


def fold(tool, options, model, out):
    """The bytes of the result; None if the model is rejected or the time is up."""
    try:
        done = subprocess.run([tool, "--no-fsync", "--quiet", "--pass", f"fold{options}", model, out],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    with open(out, "rb") as f:
        data = f.read()
    os.unlink(out)
    return data


def models(folders):
    for top in folders:
        for folder, _, files in sorted(os.walk(top)):
            yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith(".onnx"))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("folders", nargs="+")
    a = p.parse_args()
    tool, count, changed, more, bad = os.path.abspath(a.tool), 0, 0, 0, []
    if not any(os.path.isdir(f) for f in a.folders):
        print("no models here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.onnx")
        for model in list(models(a.folders))[:: a.every]:
            usual = fold(tool, "", model, out)
            if usual is None:
                continue
            count += 1
            with open(model, "rb") as f:
                changed += f.read() != usual
            free = fold(tool, "{%s}" % FREE, model, out)
            if free is None:
                bad.append(f"{model}: not folded without limits")
            elif free != usual:
                bad.append(f"{model}: {len(usual)} bytes, without limits {len(free)}")
            grown = fold(tool, "{%s,max-growth=inf}" % FREE, model, out)
            more += grown is not None and grown != usual
    for line in bad:
        print("FAIL", line)
    print(f"{count} models, {changed} folded, {len(bad)} lose folds to limits; "
          f"{more} fold further where the file may grow")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
