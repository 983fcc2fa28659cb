# SPDX-License-Identifier: Apache-2.0
"""outside.py TOOL [COUNT] [--files LIBRARY]: what other processes, users and disks do while the program works.

COUNT rounds each (ONNXSURG_ROUNDS overrides it): two processes write one output; the model is cut
while it is read; SIGINT, SIGTERM and SIGHUP come while it is written, with LIBRARY (other_files.c) also
on a slow disk and on one without unnamed files. Once: a full disk, a folder without
permission to write, standard streams whose reader has gone. The output is the old one or a whole new one,
nothing else is left, and a failed command prints one line and ends by itself."""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
sys.dont_write_bytecode = True
import kill

MIB = 1 << 20
OTHER_FILES = None  # the library of --files


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def start(tool, args, folder, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([tool, *args], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, **more)


def end(process):
    error = process.communicate(timeout=60)[1].decode(errors="replace")
    return process.returncode, error


def inputs(folder):
    for version in (1, 2):
        with open(os.path.join(folder, f"{version}.onnx"), "wb") as f:
            f.write(kill.model(version))


def left(folder, *known):
    names = set(os.listdir(folder)) - {"1.onnx", "2.onnx", "out.onnx", "w.data", *known}
    expect(not names, f"left behind: {sorted(names)}")


def expect_whole(folder):
    """One of the two models stands there, with its own weights."""
    try:
        expect(kill.read_version(folder) in (1, 2), "another version")
    except (ValueError, OSError) as e:
        raise Failed(f"no whole model: {e}")


def two_writers(tool, folder, count):
    """Two processes write one output, weights inside."""
    inputs(folder)
    for _ in range(count):
        pair = [start(tool, [f"{v}.onnx", "out.onnx"], folder) for v in (1, 2)]
        for process in pair:
            code, error = end(process)
            expect(code == 0, f"exit {code}: {error}")
        expect_whole(folder)
        left(folder)


def two_writers_of_data(tool, folder, count):
    """Two processes write one output and one data file."""
    inputs(folder)
    for _ in range(count):
        pair = [start(tool, ["--external-data", "w.data", f"{v}.onnx", "out.onnx"], folder)
                for v in (1, 2)]
        for process in pair:
            code, error = end(process)
            expect(code == 0, f"exit {code}: {error}")
        expect_whole(folder)
        left(folder, *[n for n in os.listdir(folder) if n.startswith("w")])  # a name not taken


LATER, LAST = "delay_enter=800000", "delay_enter=2000000"
WITH_DATA = ["--external-data", "w.data"]
# A folder that knows neither unnamed files nor hard links.
NO_LINKS = ["access:error=ENOENT", "faccessat,faccessat2:error=ENOENT", "link:error=EPERM"]


def traced(tool, folder, args, *injections):
    """Starts a writer some of whose system calls are delayed or fail."""
    calls = ",".join(i.split(":")[0] for i in injections)
    slow = ["strace", "-f", "-o", "/dev/null", "-e", "trace=" + calls]
    for injection in injections:
        slow += ["-e", "inject=" + injection]
    return subprocess.Popen([*slow, tool, *args], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def both_end(*processes):
    for process in processes:
        code, error = end(process)
        expect(code == 0, f"exit {code}: {error}")


def traceable(scene):
    """A scene that needs strace."""
    def run(tool, folder, count):
        if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode:
            return "; skipped: strace is missing, or may not trace"
        return scene(tool, folder, count)
    run.__name__ = scene.__name__
    return run


@traceable
def one_name(tool, folder, count):
    """The second writer chooses the name of its data file before the first takes that name, and takes
    it before the first model is there."""
    inputs(folder)
    second = traced(tool, folder, [*WITH_DATA, "2.onnx", "out.onnx"], f"linkat:{LATER}:when=1")
    time.sleep(0.4)
    first = traced(tool, folder, [*WITH_DATA, "1.onnx", "out.onnx"], f"linkat:{LAST}:when=2")
    both_end(first, second)
    expect_whole(folder)


@traceable
def one_copy(tool, folder, count):
    """Data files of one name are copied along from two folders. The second writer plans before the
    first takes the name, and writes its model before the first does."""
    inputs(folder)
    for version in (1, 2):
        os.mkdir(os.path.join(folder, f"from{version}"))
        subprocess.run([tool, *WITH_DATA, f"{version}.onnx", f"from{version}/in.onnx"], cwd=folder,
                       check=True)
    second = traced(tool, folder, ["from2/in.onnx", "out.onnx"], f"linkat:{LATER}:when=1")
    time.sleep(0.4)
    first = traced(tool, folder, ["from1/in.onnx", "out.onnx"], f"linkat:{LAST}:when=2")
    both_end(first, second)
    expect_whole(folder)


@traceable
def removed_data(tool, folder, count):
    """A writer fails after its data file has a name, and removes it. Another one, with equal weights,
    met that file before."""
    inputs(folder)
    failing = traced(tool, folder, [*WITH_DATA, "1.onnx", "out.onnx"],
                     f"linkat:error=EIO:{LAST}:when=2")
    until = time.monotonic() + 30
    while "w.data" not in os.listdir(folder) and time.monotonic() < until:
        time.sleep(0.01)
    both_end(start(tool, [*WITH_DATA, "1.onnx", "out.onnx"], folder))
    code, error = end(failing)
    expect(code == 3, f"exit {code}: {error}")
    expect_whole(folder)
    for _ in range(2):  # a run that succeeds confirms its data: the next one uses it
        both_end(start(tool, [*WITH_DATA, "1.onnx", "out.onnx"], folder))
    left(folder, "w-1.data")


@traceable
def no_hard_links(tool, folder, count):
    """As one_name, in a folder without unnamed files and hard links."""
    inputs(folder)
    second = traced(tool, folder, [*WITH_DATA, "2.onnx", "out.onnx"], *NO_LINKS,
                    f"rename:{LATER}:when=1")
    time.sleep(0.4)
    first = traced(tool, folder, [*WITH_DATA, "1.onnx", "out.onnx"], *NO_LINKS,
                   f"rename:{LAST}:when=2")
    both_end(first, second)
    expect_whole(folder)
    left(folder, "w-1.data")


def cut(tool, folder, count):
    """The model is cut while it is read; it is large enough to be mapped."""
    whole = kill.model(1) + kill.field(99, bytes(70 * MIB))
    random.seed(1)
    seen = {}
    for i in range(count):
        path = os.path.join(folder, "1.onnx")
        with open(path, "wb") as f:
            f.write(whole)
        with open(os.path.join(folder, "out.onnx"), "wb") as f:
            f.write(b"old")
        process = start(tool, ["1.onnx", "out.onnx"], folder)
        time.sleep(random.random() * 0.15)
        os.truncate(path, random.choice((0, 4096, MIB, 35 * MIB)))
        code, error = end(process)
        seen[code] = seen.get(code, 0) + 1
        expect(code in (0, 1, 3), f"exit {code}: {error}")
        expect(code == 0 or error.count("\n") == 1, f"not one line: {error}")
        with open(os.path.join(folder, "out.onnx"), "rb") as f:
            expect((f.read(3) == b"old") == (code != 0), f"exit {code}, and the output is another")
        left(folder)
    return f" (exit codes: {seen})"


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_by_signals(tool, folder, count, args, files):
    """How many of `count` signals met a running program. Nothing may be left, not for a moment later."""
    span, met = 0.05, 0
    environment = dict(os.environ, LD_PRELOAD=OTHER_FILES, OTHER_FILES=files) if files else None
    known = []
    for v in (2, 1):
        both_end(start(tool, [*args, f"{v}.onnx", "out.onnx"], folder))
        known += os.listdir(folder)
    for i in range(count):
        process = start(tool, [*args, f"{i % 2 + 1}.onnx", "out.onnx"], folder, env=environment)
        time.sleep(random.random() * span)
        process.send_signal(SIGNALS[i // 2 % 3])
        code, error = end(process)
        met += code < 0
        span *= 1.05 if code < 0 else 0.95
        expect(code == 0 or -code in SIGNALS, f"{files}: exit {code}: {error}")
        expect_whole(folder)
        left(folder, *known)
        if i % 16 == 0 and args:  # data files that are there already would not be written again
            for name in os.listdir(folder):
                if name.startswith("w"):
                    os.unlink(os.path.join(folder, name))
            os.unlink(os.path.join(folder, "out.onnx"))
            both_end(start(tool, [f"{i % 3 % 2 + 1}.onnx", "out.onnx"], folder))
    return met


def signals(tool, folder, count):
    """The user asks a writer to end."""
    inputs(folder)
    random.seed(2)
    said = []
    for files in ("", "named", "slow named", "nolinks") if OTHER_FILES else ("",):
        for args in ([], WITH_DATA):
            met = end_by_signals(tool, folder, count // 3 if files else count, args, files)
            said.append(f"{files}{' with data' * bool(args)}: {met}".strip(": "))
    more = "" if OTHER_FILES else "; other file systems: not tested without their library"
    return f" (met a running program: {', '.join(said)}{more})"


def kept_ignored(tool, folder, count):
    """A signal that was ignored before (nohup) stays ignored."""
    inputs(folder)
    process = start(tool, ["-", "out.onnx"], folder, preexec_fn=ignore_hangup, stdin=subprocess.PIPE)
    time.sleep(0.3)
    process.send_signal(signal.SIGHUP)
    with open(os.path.join(folder, "1.onnx"), "rb") as f:
        error = process.communicate(f.read(), timeout=60)[1]
    expect(process.returncode == 0, f"exit {process.returncode}: {error}")
    expect_whole(folder)


def ignore_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def out_of_time(tool, folder, count):
    """--timeout ends a writer whose file has a name from the start."""
    if not OTHER_FILES:
        return " (not tested without the library of other file systems)"
    inputs(folder)
    both_end(start(tool, ["1.onnx", "out.onnx"], folder))
    with open(os.path.join(folder, "2.onnx"), "wb") as f:
        f.write(kill.model(2, floats=1 << 26))
    environment = dict(os.environ, LD_PRELOAD=OTHER_FILES, OTHER_FILES="slow named")
    code, error = end(start(tool, ["--timeout", "1", "2.onnx", "out.onnx"], folder, env=environment))
    expect(code == 4 and error.count("\n") == 1, f"exit {code}: {error}")
    expect_whole(folder)
    left(folder)


def full_disk(tool, folder, count):
    """A file system of 1 MiB that is full."""
    inputs(folder)
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    script = ('mount -t tmpfs -o size=1m none disk || exit 77; echo old > disk/out.onnx; '
              '"$0" "$@" 2>error; code=$?; cat error; ls -A disk; cat disk/out.onnx; exit $code')
    for args in (["1.onnx", "disk/out.onnx"],
                 ["--external-data", "w.data", "1.onnx", "disk/out.onnx"]):
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, tool, *args], cwd=folder,
                              capture_output=True)
        text = done.stdout.decode()
        if done.returncode == 77 or b"unshare" in done.stderr:
            return " (not tested: no file system can be mounted)"
        expect(done.returncode == 3, f"exit {done.returncode}: {text}")
        lines = text.splitlines()
        expect(len(lines) == 3 and "error: " in lines[0] and lines[1:] == ["out.onnx", "old"], text)


def read_only(tool, folder, count):
    """A folder in which no file can be created; as another user where this one may do anything."""
    inputs(folder)
    os.chmod(folder, 0o755)
    target = os.path.join(folder, "locked")
    os.mkdir(target)
    with open(os.path.join(target, "out.onnx"), "wb") as f:
        f.write(b"old")
    os.chmod(target, 0o555)
    other = {"user": 65534, "group": 65534} if os.getuid() == 0 else {}
    try:
        code, error = end(start(tool, ["1.onnx", "locked/out.onnx"], folder, **other))
    except PermissionError:
        return " (not tested: no other user can run the program)"
    finally:
        os.chmod(target, 0o755)
    expect(code == 3 and error.count("\n") == 1, f"exit {code}: {error}")
    expect(os.listdir(target) == ["out.onnx"], "more files")


def closed_pipes(tool, folder, count):
    """Standard output or error whose reader has gone."""
    inputs(folder)
    for args in (["cat", "1.onnx"], ["1.onnx", "-"], ["info", "--json", "1.onnx"],
                 ["run", "--json", "1.onnx"], ["check", "--sarif", "1.onnx"]):
        r, w = os.pipe()
        os.close(r)
        process = subprocess.Popen([tool, *args], cwd=folder, stdin=subprocess.DEVNULL, stdout=w,
                                   stderr=subprocess.PIPE)
        os.close(w)
        code, error = end(process)
        expect(code == 3 and error.count("\n") <= 1, f"{args}: exit {code}: {error}")
    r, w = os.pipe()
    os.close(r)
    process = subprocess.run([tool, "missing.onnx", "out.onnx"], cwd=folder, stderr=w)
    os.close(w)
    expect(process.returncode == 3, f"standard error closed: exit {process.returncode}")


SCENES = [two_writers, two_writers_of_data, one_name, one_copy, removed_data, no_hard_links, cut,
          signals, kept_ignored, out_of_time, full_disk, read_only, closed_pipes]


def main():
    global OTHER_FILES
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("count", nargs="?", type=int, default=200)
    p.add_argument("--files", metavar="LIBRARY")
    p.add_argument("--only", metavar="SCENE")
    a = p.parse_args()
    tool, OTHER_FILES = os.path.abspath(a.tool), a.files and os.path.abspath(a.files)
    count = int(os.environ.get("ONNXSURG_ROUNDS", a.count))
    bad = 0
    for scene in SCENES:
        if a.only not in (None, scene.__name__):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                more = scene(tool, folder, count) or ""
                print(f"{scene.__name__}: as promised{more}")
            except Failed as e:
                bad += 1
                print(f"FAIL {scene.__name__}: {e}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
