# SPDX-License-Identifier: Apache-2.0
"""What the command line tests share: the program, a fresh folder for each test, small models."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import onnx_wire as w  # noqa: E402

TOOL = None
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / 'examples/models/tiny_cnn.onnxtxt'
COMMANDS = ['check', 'info', 'cat', 'ops', 'passes', 'reduce', 'diff', 'patch', 'bisect', 'rules', 'run', 'verify', 'merge',
            'isolate', 'repair', 'targets', 'probe', 'explain', 'doctor', 'profile', 'data',
            'nodes', 'view', 'find', 'edit', 'weights', 'strip', 'restore', 'split']


def model_bytes(op='Identity', domain='', name='n'):
    """x -> op -> a -> Neg -> y, with a weight of 4096 bytes that an Add reads."""
    nodes = [w.node(op, ['x'], ['a'], domain=domain), w.node('Neg', ['a'], ['b']),
             w.node('Add', ['b', 'big'], ['y'])]
    weight = w.tensor('big', w.FLOAT, [1024], w.floats(*range(1024)))
    opsets = (('', 17), (domain, 1)) if domain else (('', 17),)
    return w.model(w.graph(nodes, [weight], [w.value('x', dims=(1024,))],
                           [w.value('y', dims=(1024,))], name=name), opsets=opsets)


# The line about a result that is not exact.
CLASS = re.compile(rb'^.*: exactness: (ulp|rounding|approx|lossy)\n', re.M)


class Case(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory()
        self.addCleanup(self.temp.cleanup)
        self.old = os.getcwd()
        self.addCleanup(os.chdir, self.old)
        os.chdir(self.temp.name)
        self.write('in.onnx', model_bytes())

    def write(self, name, data):
        pathlib.Path(name).write_bytes(data)

    def read(self, name):
        return pathlib.Path(name).read_bytes()

    def run_tool(self, *args, **more):
        if 'input' not in more:
            more.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.run([TOOL, *args], capture_output=True, timeout=60, **more)

    def ok(self, *args, **more):
        """Exit code 0 and not a word on standard error, but for the class; what it printed."""
        r = self.run_tool(*args, **more)
        self.assertEqual((r.returncode, CLASS.sub(b'', r.stderr)), (0, b''), args)
        return r.stdout

    def bad(self, code, pattern, *args, **more):
        """That exit code, and one line on standard error that fits."""
        r = self.run_tool(*args, **more)
        line = CLASS.sub(b'', r.stderr).decode()
        self.assertEqual(r.returncode, code, line)
        self.assertEqual(line.count('\n'), 1, line)
        self.assertRegex(line, pattern)
        return r.stdout

    def clean(self, *names):
        """The folder holds just these."""
        self.assertEqual(sorted(os.listdir('.')), sorted(names))

    def info(self, path):
        import json
        return json.loads(self.ok('info', '--json', path))


def main():
    global TOOL
    TOOL = str(pathlib.Path(sys.argv.pop(1)).resolve())
    result = unittest.main(module='__main__', verbosity=1, exit=False).result
    for test, why in result.skipped:
        print('skipped: %s: %s' % (test, why))
    sys.exit(not result.wasSuccessful())
