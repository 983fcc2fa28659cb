#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integers that wrap, lose bits or leave their arrays: integers.py [--build DIR] [--logs DIR] [SUITE...]

Builds the program and its tests with clang's checks of integers (those of undefined behavior, and of
what is defined and may still be unintended), runs suites (default: unit, golden, cli) and prints each
place where something happened, unless it is `i-- > 0` at 0 or in wraps.txt, which has the reason of
each file. With --logs, reads reports of an earlier run. Takes half an hour: it is run by hand."""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CHECKS = "-fsanitize=integer,bounds,implicit-conversion"
REPORT = re.compile(r"^(\S+?):(\d+):(\d+): runtime error: (.*)", re.M)


def intended():
    """{file: reason}"""
    with open(os.path.join(HERE, "wraps.txt"), encoding="utf-8") as f:
        return dict(line.strip().split(": ", 1) for line in f if ": " in line and line[0] != "#")


def run(build, logs, suites):
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build, TOP, "-Doptimization=1", "-Ddebug=false", "-Db_lundef=false",
                        "-Db_pie=false", "-Dc_args=-gline-tables-only " + CHECKS, "-Dc_link_args=" + CHECKS],
                       env=dict(os.environ, CC="clang"), check=True)
    subprocess.run(["ninja", "-C", build], check=True)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--no-suite", "slow"]
    for s in suites:
        command += ["--suite", s]
    return subprocess.run(command, env=dict(os.environ, UBSAN_OPTIONS="log_path=" + os.path.join(logs, "r"))).returncode


def places(logs):
    """{(file, line, column): (message, count)}"""
    found = collections.OrderedDict()
    for name in sorted(os.listdir(logs)):
        with open(os.path.join(logs, name), encoding="utf-8", errors="replace") as f:
            for path, line, column, message in REPORT.findall(f.read()):
                path = re.sub(r"^(\.\./)+", "", path)
                key = path, int(line), int(column)
                found[key] = found.get(key, (message, 0))[0], found.get(key, (message, 0))[1] + 1
    return found


def source_of(path, line):
    try:
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            return f.read().splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("suites", nargs="*", default=["unit", "golden", "cli"])
    p.add_argument("--build", default=os.path.join(TOP, "build-integers"))
    p.add_argument("--logs")
    a = p.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not a.logs:
            failed = run(a.build, folder, a.suites)
        found = places(a.logs or folder)
    reasons, shown, counted = intended(), 0, collections.Counter()
    for (path, line, column), (message, count) in found.items():
        text = source_of(path, line)
        if os.path.isabs(path) or path.startswith("test/"):
            counted["headers of the system and tests"] += 1
        elif "--" in text and ("0 - 1 " in message or "implicit conversion" in message):
            counted["`i-- > 0` at 0"] += 1
        elif path in reasons:
            counted["intended (wraps.txt)"] += 1
        else:
            shown += 1
            print(f"{path}:{line}:{column}: {message} ({count} processes)\n    {text}")
    for what, n in counted.items():
        print(f"{n} places: {what}")
    print(f"{shown} places to look at")
    return 1 if shown or failed else 0


if __name__ == "__main__":
    sys.exit(main())
