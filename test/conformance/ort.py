# SPDX-License-Identifier: Apache-2.0
"""Drives ort_pairs.cjs, and survives the crashes of the runtime under it."""
import json
import os
import select
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120


def package():
    """The folder that holds onnxruntime-node, or None."""
    top = os.environ.get("ONNXSURG_ENGINES", os.path.expanduser("~/.cache/onnxsurg/engines"))
    folder = os.path.join(top, "ort-1.30.0")
    there = os.path.isdir(os.path.join(folder, "node_modules", "onnxruntime-node"))
    return folder if there and shutil.which("node") else None


class Comparer:
    """compare(a, b) -> (verdict, why); verdicts as ort_pairs.cjs, and crash, timeout."""

    def __init__(self):
        self.child = None

    def _start(self):
        self.child = subprocess.Popen(
            ["node", os.path.join(HERE, "ort_pairs.cjs"), package()], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.rest = b""

    def _line(self):
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [], SECONDS)
            if not ready:
                return "timeout"
            data = os.read(self.child.stdout.fileno(), 65536)
            if not data:
                return "crash"
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def compare(self, a, b):
        if not self.child:
            self._start()
        self.child.stdin.write(("%s\t%s\n" % (a, b)).encode())
        self.child.stdin.flush()
        while True:  # the runtime may print lines of its own
            line = self._line()
            if isinstance(line, str):
                self.close()
                return line, ""
            if line.startswith(b"{"):
                answer = json.loads(line)
                return answer["verdict"], answer.get("why", "")

    def close(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child = None
