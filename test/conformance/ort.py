# SPDX-License-Identifier: Apache-2.0
"""Drives programs that answer a line with a line of JSON, and survives their crashes: ONNX Runtime
(engines/ort_pairs.cjs, engines/ort_shapes.cjs) above all."""
import json
import os
import select
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVERS = os.path.join(HERE, "engines")  # programs that drive an engine
SECONDS = 120


# What `importer --install` gets; OpenCV comes from the system.
ENGINES = ["ort-1.10.0", "ort-1.11.0", "ort-1.12.0", "ort-1.13.1", "ort-1.14.0", "ort-1.30.0",
           "onnxjs-0.1.8", "opencv-js-4.10.0"]


def engines():
    return os.environ.get("ONNXSURG_ENGINES", os.path.expanduser("~/.cache/onnxsurg/engines"))


# The package of npm that an engine is, by the name of the engine without its version.
PACKAGES = {"ort": "onnxruntime-node", "ort-web": "onnxruntime-web",
            "ort-webgl": "onnxruntime-web", "onnxjs": "onnxjs",
            "opencv-js": "@techstark/opencv-js", "tractjs": "tractjs"}


# The importers that are no import_js.cjs.
SCRIPTS = {"opencv-js": "import_opencv_js.cjs", "tractjs": "import_tractjs.cjs",
           "ort-webgl": "import_webgl.cjs"}


def package(engine="ort-1.30.0"):
    """The folder an engine of npm is installed in, or None."""
    folder = os.path.join(engines(), engine)
    name = PACKAGES.get(engine.rpartition("-")[0])
    if not name:
        return None
    there = os.path.isdir(os.path.join(folder, "node_modules", name))
    return folder if there and shutil.which("node") else None


def opencv():
    """A python that has cv2, or None."""
    for python in ("python3", "/usr/bin/python3"):
        if shutil.which(python) and not subprocess.run(
                [python, "-c", "import cv2"], stderr=subprocess.DEVNULL).returncode:
            return python
    return None


def onnx_python():
    """A python that has onnx (Debian: python3-onnx), or None. libonnx-testdata alone leaves a
    folder of that name that can be imported and holds nothing."""
    python = os.environ.get("ONNXSURG_ONNX_PYTHON", "/usr/bin/python3")
    there = os.path.exists(python) and subprocess.run(
        [python, "-c", "import onnx.checker"], capture_output=True).returncode == 0
    return python if there else None


def importer(engine):
    """The command that says of models whether an engine imports them (import_js.cjs), or None."""
    if engine.startswith("opencv") and not engine.startswith("opencv-js"):
        python = opencv()
        return [python, os.path.join(DRIVERS, "import_opencv.py")] if python else None
    script = SCRIPTS.get(engine.rpartition("-")[0], "import_js.cjs")
    folder = package(engine)
    return ["node", os.path.join(DRIVERS, script), folder] if folder else None


def known(name):
    """A list of the folder `known`: {end of path: cause}."""
    with open(os.path.join(HERE, "known", name + ".tsv"), encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return dict(lines)


def script(name, engine="ort-1.30.0"):
    """The command that runs a script of the folder `engines` in ONNX Runtime."""
    return ["node", os.path.join(DRIVERS, name), package(engine)]


def need_onnx():
    """Starts the program anew with the python that has onnx, if this one has not, and ends it as skipped
    where none has."""
    try:
        import onnx.checker  # noqa: F401
        return
    except ImportError:
        python = onnx_python()
    if python in (None, sys.executable):
        print("skipped: no python3-onnx")
        sys.exit(77)
    os.execv(python, [python] + sys.argv)


class Child:
    """ask(line) -> what the program answers, or "crash" or "timeout"; then it is started anew."""

    def __init__(self, command):
        self.command, self.child = command, None

    def _start(self):
        self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
        self.rest = b""

    def _line(self):
        pieces = [self.rest]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([self.child.stdout], [], [], SECONDS)
            if not ready:
                return "timeout"
            data = os.read(self.child.stdout.fileno(), 1 << 20)
            if not data:
                return "crash"
            pieces.append(data)
        line, self.rest = b"".join(pieces).split(b"\n", 1)
        return line

    def ask(self, line):
        if not self.child:
            self._start()
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            self.close()
            return "crash"
        while True:  # the runtime may print lines of its own
            answer = self._line()
            if isinstance(answer, str):
                self.close()
                return answer
            if answer.startswith(b"{"):
                return json.loads(answer)

    def close(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child = None


class Comparer(Child):
    """compare(a, b[, folder of inputs]) -> (verdict, why); verdicts as ort_pairs.cjs, and crash, timeout."""

    def __init__(self):
        super().__init__(script("ort_pairs.cjs"))

    def compare(self, a, b, folder=None):
        answer = self.ask("\t".join((a, b) + ((folder,) if folder else ())))
        return (answer, "") if isinstance(answer, str) else (answer["verdict"],
                                                             answer.get("why", ""))
