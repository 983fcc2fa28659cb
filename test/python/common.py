# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share."""
import os
import pathlib
import sys
import tempfile
import unittest

import onnxsurg

try:
    import numpy
except ImportError:
    numpy = None
try:
    import onnx
except ImportError:
    onnx = None

SOURCE = pathlib.Path(os.environ['ONNXSURG_SOURCE'])
PROGRAM = os.environ['ONNXSURG_PROGRAM']
MODELS = SOURCE / 'examples/models'
with_numpy = unittest.skipUnless(numpy, 'numpy is not installed')
with_onnx = unittest.skipUnless(numpy and onnx, 'onnx is not installed')

SMALL = '''<ir_version: 8, opset_import: ["" : 17]>
small (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1.0, 2.0, 3.0}> {
  [add] a = Add (x, w)
  [relu] r = Relu (a)
  [mul] m = Mul (r, w)
  [id] y = Identity (m)
}
'''


def small():
    return onnxsurg.parse(SMALL)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def ops(self, graph):
        return [n.op for n in graph.nodes]

    def sound(self, model):
        """The model is consistent, is written, and its checker finds no error."""
        model.verify_structure()
        data = model.bytes()
        report = onnxsurg.check(data)
        self.assertEqual(report.errors, 0, str(report))
        shaped = all(t.shape is not None for t in list(model.graph.inputs) +
                     list(model.graph.outputs))  # its checker requires them
        if onnx and numpy and shaped and model.opset <= onnx.defs.onnx_opset_version():
            onnx.checker.check_model(model.proto())
        return onnxsurg.load(data)


def main():
    for name, module in (('numpy', numpy), ('onnx', onnx)):
        if module is None:
            print('%s is not installed: tests that need it are skipped' % name, file=sys.stderr)
    unittest.main()
