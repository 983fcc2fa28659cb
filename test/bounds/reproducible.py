# SPDX-License-Identifier: Apache-2.0
"""reproducible.py BUILD [--every N | --full FOLDER]: a build does not depend on where and when it is made.

Every Nth source of the library and the program (60 without the option) is compiled twice with the command
of BUILD, with debug data: in its place, and from another path at another time of the clock that compilers
are given (SOURCE_DATE_EPOCH). The objects must be equal. --full makes two whole builds of the sources below
FOLDER and compares the program and the libraries."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = re.compile(r"tools/onnxsurg|lib\w+\.(so|a)[.\d]*|lib\w+\.dylib")


def compile_at(entry, old, new, out, time):
    """Compiles as the build does, with paths below `old` written as below `new`, a link to it."""
    args = shlex.split(entry["command"].replace(old, new))
    args[args.index("-o") + 1] = out
    if "-MF" in args:
        args[args.index("-MF") + 1] = out + ".d"
    if os.path.basename(args[0]) == "ccache":
        args = args[1:]
    if "-g" not in args:
        args.insert(1, "-g")
    map_to = "-ffile-prefix-map=%s=." % new
    if map_to not in args:  # a build without debug data has no need of it
        args.insert(1, map_to)
    folder = entry["directory"].replace(old, new)
    env = {**os.environ, "PWD": folder, "CCACHE_DISABLE": "1", "SOURCE_DATE_EPOCH": time}
    subprocess.run(args, cwd=folder, env=env, check=True)
    with open(out, "rb") as f:
        return f.read()


def objects(build, every):
    with open(os.path.join(build, "compile_commands.json")) as f:
        entries = [e for e in json.load(f) if re.search(r"(^|/)(lib|tools|passes)/", e["file"])]
    chosen = entries[every // 2::every]
    different = []
    with tempfile.TemporaryDirectory() as work:
        other = os.path.join(work, "another", "place")
        os.mkdir(os.path.dirname(other))
        os.symlink(TOP, other)
        for e in chosen:
            out = os.path.join(work, "object.o")
            if compile_at(e, TOP, TOP, out, "1000000000") != compile_at(e, TOP, other, out, "1700000000"):
                different.append(e["file"])
    for path in different:
        print("FAIL %s: its object depends on the folder or the time of the build" % path)
    print("%d of %d objects, %d equal" % (len(chosen), len(entries), len(chosen) - len(different)))
    return bool(different) or not chosen


def make(folder):
    os.makedirs(folder)
    files = subprocess.run(["git", "-C", TOP, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=files, check=True)
    env = {**os.environ, "CCACHE_DISABLE": "1"}
    for command in (["meson", "setup", "build", "-Dtests=false"], ["ninja", "-C", "build"]):
        subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
    found = {}
    for at, _, names in os.walk(os.path.join(folder, "build")):
        for path in (os.path.relpath(os.path.join(at, n), os.path.join(folder, "build")) for n in names):
            if RESULTS.fullmatch(path):
                with open(os.path.join(folder, "build", path), "rb") as f:
                    found[path] = f.read()
    return found


def whole(folder):
    places = [os.path.join(folder, "one"), os.path.join(folder, "another", "place")]
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
    a, b = (make(place) for place in places)
    for path in sorted(set(a) | set(b)):
        print("%s %s" % ("equal    " if a.get(path) == b.get(path) else "DIFFERENT", path))
    return a != b or "tools/onnxsurg" not in a


def main():
    args = sys.argv[1:]
    if len(args) not in (1, 3) or (len(args) == 3 and args[1] not in ("--every", "--full")):
        print(__doc__, file=sys.stderr)
        return 2
    if len(args) == 3 and args[1] == "--full":
        return whole(os.path.abspath(args[2]))
    return objects(args[0], int(args[2]) if len(args) == 3 else 60)


sys.exit(main())
