# SPDX-License-Identifier: Apache-2.0
"""Kills the program at random moments while it writes: kill.py TOOL [COUNT] [--files LIBRARY]

Two versions of a model are written over each other, weights in a data file beside them or in the
model itself, to another place and in place; with LIBRARY (other_files.c) also onto a slow disk, one
without unnamed files, one without hard links, and one that is full. After every kill -9 the output must be the one version
or the other, whole, with the data that belongs to it. COUNT kills that met a running program are
asked for; ONNXSURG_KILLS overrides it. A temporary name may be left by a kill between link and
rename (doc/limits.md): where files need no name at first, at most one in LEFT_SHARE may do that."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from common import workplace

FLOATS = 1 << 19
ATTEMPTS = 20  # for each kill that is to meet a running program
LEFT_SHARE = 50


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, body):
    if isinstance(body, int):
        return varint(number << 3) + varint(body)
    body = body.encode() if isinstance(body, str) else body
    return varint(number << 3 | 2) + varint(len(body)) + body


def fields(message):
    """(number, value) of each field."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        value = number()
        if tag & 7 == 2:
            value, at = message[at:at + value], at + value
            if len(value) == 0 and at > len(message):
                raise ValueError("cut")
        found.append((tag >> 3, value))
    if at != len(message):
        raise ValueError("cut")
    return found


def one(message, number):
    return dict(fields(message)).get(number)


def weights(version, floats=FLOATS):
    return bytes([version]) * (4 * floats)


def model(version, floats=FLOATS):
    shape = field(1, field(1, 1) + field(2, field(1, field(1, floats))))
    tensor = field(1, floats) + field(2, 1) + field(8, "w") + field(9, weights(version, floats))
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "Add")
    graph = (field(1, node) + field(2, "g") + field(5, tensor)
             + field(11, field(1, "x") + field(2, shape))
             + field(12, field(1, "y") + field(2, shape)))
    return (field(1, 8) + field(2, "version %d" % version) + field(7, graph)
            + field(8, field(1, "") + field(2, 17)))


def read_version(folder):
    """The version of the model that stands there; raises when it is torn."""
    with open(os.path.join(folder, "out.onnx"), "rb") as f:
        message = f.read()
    version = int(one(message, 2).split()[1])
    tensor = one(one(message, 7), 5)
    data = one(tensor, 9)
    if data is None:
        entries = dict((one(e, 1).decode(), one(e, 2).decode())
                       for number, e in fields(tensor) if number == 13)
        with open(os.path.join(folder, entries["location"]), "rb") as f:
            f.seek(int(entries["offset"]))
            data = f.read(int(entries["length"]))
    if data != weights(version):
        raise ValueError("other data than its own")
    return version


def nameless_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return True
    except (AttributeError, OSError):
        return False


class Scene:
    """One way of writing."""

    def __init__(self, tool, root, name, args, in_place=False, files=None):
        """files: (library, words) of other_files.c, which the program then runs with."""
        self.name, self.in_place = name, in_place
        self.named = bool(files and ("named" in files[1] or "nolinks" in files[1]))
        self.full = bool(files and "full" in files[1])
        self.environment = dict(os.environ)
        self.folder = os.path.join(root, name)
        os.mkdir(self.folder)
        self.out = os.path.join(self.folder, "out.onnx")
        self.inputs = [os.path.join(root, "%d.onnx" % v) for v in (1, 2)]
        self.args = [tool, "--pass", "ir{to=9}" if in_place else "", *args]
        self.run(0).wait()
        if files:
            self.environment.update(LD_PRELOAD=files[0], OTHER_FILES=files[1])
        start = time.monotonic()
        for i in range(4):
            if self.run(i % 2).wait() != (3 if self.full else 0):
                sys.exit(name + ": the program ends in another way without being killed")
        self.span = (time.monotonic() - start) / 8  # half of what one takes: most are to be met
        self.torn, self.killed, self.left, self.attempts = [], 0, 0, 0

    def run(self, which):
        source = self.inputs[which]
        if self.in_place and os.path.exists(self.out):
            source = self.out
        return subprocess.Popen(self.args + [source, self.out], stdin=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=self.environment)

    def kill_once(self):
        i = self.attempts
        self.attempts += 1
        process = self.run(i % 2)
        time.sleep(random.random() * self.span * 1.5)
        process.send_signal(signal.SIGKILL)
        met = process.wait() == -signal.SIGKILL
        self.killed += met
        self.span *= 1.04 if met else 0.96  # what else the machine does changes all the time
        try:
            if read_version(self.folder) not in ((1,) if self.full else (1, 2)):
                self.torn.append("what version?")
        except (ValueError, OSError, KeyError, IndexError, AttributeError) as e:
            self.torn.append(f"{type(e).__name__}: {e}")
        for name in os.listdir(self.folder):  # named for a moment only: between link and rename
            if name.startswith(".onnxsurg-"):
                self.left += 1
                os.unlink(os.path.join(self.folder, name))
        if self.in_place and i % 20 == 0:  # a growing number of names would be no test
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            self.run(i // 20 % 2).wait()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("count", nargs="?", type=int, default=2000)
    p.add_argument("--files", metavar="LIBRARY")
    a = p.parse_args()
    tool = os.path.abspath(a.tool)
    count = int(os.environ.get("ONNXSURG_KILLS", a.count))
    random.seed(int(os.environ.get("ONNXSURG_SEED", "1")))
    root = workplace()
    try:
        nameless = nameless_files(root)
        for version in (1, 2):
            with open(os.path.join(root, "%d.onnx" % version), "wb") as f:
                f.write(model(version))
        outside = ["--external-data", "w.data"]
        scenes = [Scene(tool, root, "whole", [], False), Scene(tool, root, "data", outside, False),
                  Scene(tool, root, "whole-in-place", [], True),
                  Scene(tool, root, "data-in-place", outside, True)]
        if a.files:
            for words in ("slow", "named", "slow named", "nolinks", "full"):
                name = words.replace(" ", "-")
                scenes.append(Scene(tool, root, "data-" + name, outside, False, (a.files, words)))
        else:
            print("other file systems: not tested without their library")
        share = -(-count // len(scenes))
        for scene in scenes:
            while scene.killed < share and scene.attempts < share * ATTEMPTS:
                scene.kill_once()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for s in scenes:
        print(f"{s.name}: {s.killed} killed while running, in {s.attempts} attempts, {len(s.torn)} "
              f"torn, {s.left} temporary names left", *s.torn[:3])
    if any(s.killed < share for s in scenes):
        sys.exit("too few kills met a running program")
    left = sum(s.left for s in scenes)
    left -= sum(s.left for s in scenes if s.named)  # there, a file has a name from the start
    if nameless and left > 1 + sum(s.killed for s in scenes) // LEFT_SHARE:
        sys.exit("temporary names are left too often: that is no narrow window")
    sys.exit(any(s.torn for s in scenes))


if __name__ == "__main__":
    main()
