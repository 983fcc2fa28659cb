# SPDX-License-Identifier: Apache-2.0
"""run.py TOOL [--slow] [ID...]: every hostile model through `--pass fold,prune`, and `check`.

Checks exit code, one located line, no output file and an old one untouched on refusal, time and
memory; of `check` that it refuses what does not load, with lines that have a code. --slow: a sanitizer build, where time and memory are not those of the program.
"""
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True
import cases

SECONDS, MEGABYTES = 1.0, 256
# Where in the file or model an error is; what is no model at all has no place.
PLACE = re.compile(r"byte \d+|field \d+|ir_version|graph|function|opset_import|IR version")
NO_MODEL = {"empty", "text", "lfs", "html", "zip", "gzip", "ort"}


SURGERY, CHECK = ["--pass", "fold,prune", "m.onnx", "out.onnx"], ["check", "m.onnx"]


def run(tool, command, folder, slow):
    out = os.path.join(folder, "out.onnx")
    with open(out, "wb") as f:
        f.write(b"old")
    start = time.monotonic()
    pid_out = os.path.join(folder, "stderr")
    with open(pid_out, "wb") as err:
        child = subprocess.Popen([tool, *command], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=err if command is CHECK else subprocess.DEVNULL,
                                 stderr=err)
        timer = time.monotonic() + (60 if slow else 20)
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > timer:
                child.kill()
                os.wait4(child.pid, 0)
                return None, "", 99, 0, b""
            time.sleep(0.002)
    child.returncode = status
    with open(pid_out, errors="replace") as f:
        text = f.read()
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    with open(out, "rb") as f:
        after = f.read()
    return code, text, time.monotonic() - start, usage.ru_maxrss / 1024, after


def judge(name, expect, code, text, seconds, megabytes, after, slow):
    if code is None:
        return "timed out"
    lines = [l for l in text.split("\n") if l]
    errors = [l for l in lines if ": error: " in l]
    if not slow and seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if not slow and megabytes > MEGABYTES:
        return f"took {megabytes:.0f} MB"
    if expect is None:
        if code != 0:
            return f"exit {code}: {text.strip()[:300]}"
        return "no output" if after == b"old" or not after else None
    codes, pattern = expect
    if code not in [int(c) for c in str(codes)]:
        return f"exit {code}, not {codes}: {text.strip()[:300]}"
    if len(errors) != 1 or len(lines) > 1 + sum("warning" in l or "note" in l for l in lines):
        return f"{len(errors)} error lines: {text.strip()[:300]}"
    if not re.search(pattern, errors[0]):
        return f"line lacks /{pattern}/: {errors[0][:300]}"
    if name not in NO_MODEL and not PLACE.search(errors[0]):
        return f"line names no place: {errors[0][:300]}"
    return None if after == b"old" else "the old output was touched"


def judge_check(expect, code, text, seconds, megabytes, after, slow):
    if code is None:
        return "check timed out"
    if not slow and (seconds > SECONDS or megabytes > MEGABYTES):
        return f"check took {seconds:.1f} s, {megabytes:.0f} MB"
    if code not in (0, 1, 3, 4):
        return f"check: exit {code}: {text.strip()[:300]}"
    if expect and code == 0 and "fold" not in expect[1]:
        return f"check finds no error: {text.strip()[:300]}"
    for line in text.splitlines():
        hint = re.search(r": onnxsurg mend .* OUT (cures|makes) ", line)
        if not re.search(r" \[[EWN]\d{3}\]$", line) and ": error: " not in line and not hint:
            return f"check: a line without a code: {line[:300]}"
    return None


def main():
    slow = "--slow" in sys.argv
    args = [a for a in sys.argv[1:] if a != "--slow"]
    tool, only = os.path.abspath(args[0]), set(args[1:])
    bad = count = 0
    with tempfile.TemporaryDirectory() as top:
        with open(top + "/outside.bin", "wb") as f:
            f.write(bytes(range(64)))
        for name, what, data, expect, side in cases.CASES:
            if only and name not in only:
                continue
            folder = os.path.join(top, name)
            os.mkdir(folder)
            with open(folder + "/m.onnx", "wb") as f:
                f.write(data)
            if side:
                side(folder)
            count += 1
            reason = (judge(name, expect, *run(tool, SURGERY, folder, slow), slow)
                      or judge_check(expect, *run(tool, CHECK, folder, slow), slow))
            if reason:
                bad += 1
                print(f"{name} ({what}): {reason}")
    print(f"{count} hostile models: {count - bad} as expected, {bad} not")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
