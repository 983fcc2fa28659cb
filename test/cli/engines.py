#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--engine ort` from the side of a user. engines.py PROGRAM

Needs ONNX Runtime: ONNXSURG_ORT names its library, else that of onnxruntime-node is taken where
test/conformance finds it. Without it, only what is said without it is tested."""
import glob
import json
import os
import tempfile
import unittest

import common
from common import EXAMPLE, Case

TOP = os.environ.get('ONNXSURG_ENGINES', os.path.expanduser('~/.cache/onnxsurg/engines'))
FOUND = sorted(glob.glob(TOP + '/ort-*/node_modules/onnxruntime-node/bin/*/linux/x64/'
                         'libonnxruntime.so*'))
LIBRARY = os.environ.get('ONNXSURG_ORT') or (FOUND[-1] if FOUND else None)
HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'


class Absent(Case):
    def test_no_library(self):
        run = ('run', '--engine', 'ort', 'in.onnx', '--ort')
        self.bad(2, 'gone.so: error: No such file', *run, 'gone.so')
        self.write('text.so', b'no library')
        self.bad(2, 'text.so: error: cannot be loaded as a library', *run, 'text.so')
        self.bad(2, r'\.: error: is not a file', *run, '.')
        self.bad(2, '--engine expects builtin or ort', 'run', '--engine', 'tract', 'in.onnx')
        for path in glob.glob('/lib/*/libz.so.1') + glob.glob('/lib/*/libm.so.6'):
            self.bad(2, 'is not ONNX Runtime: it has no function OrtGetApiBase', *run, path)


@unittest.skipUnless(LIBRARY, 'ONNX Runtime is not there: see ONNXSURG_ORT')
class Ort(Case):
    def setUp(self):
        """What the runtime itself never frees is not ours to find."""
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, 'leaks')
        self.write(path, b'leak:libonnxruntime\n')
        os.environ['LSAN_OPTIONS'] = 'print_suppressions=0:suppressions=' + path

    def ort(self, *args):
        return self.ok('run', '--engine', 'ort', '--ort', LIBRARY, *args)

    def agree(self, model, *args):
        """Both engines print the same."""
        a, b = (json.loads(f(model, '--json', *args)) for f in
                (self.ort, lambda *x: self.ok('run', *x)))
        self.assertEqual((a['engine'], b['engine']), ('ort', 'builtin'))
        self.assertEqual(len(a['outputs']), len(b['outputs']))
        for x, y in zip(a['outputs'], b['outputs']):
            self.assertEqual((x['name'], x['type'], x.get('shape')),
                             (y['name'], y['type'], y.get('shape')))
            if x['type'] == 'float':
                for p, q in zip(x['elements'], y['elements']):
                    self.assertAlmostEqual(p, q, 4)
            else:
                self.assertEqual(x.get('elements', x.get('items')),
                                 y.get('elements', y.get('items')))
        return a

    def text(self, body):
        self.write('m.onnxtxt', (HEAD + body).encode())
        return 'm.onnxtxt'

    def test_example(self):
        self.agree(str(EXAMPLE))
        self.assertEqual(len(self.agree(str(EXAMPLE), '--all')['outputs']), 12)

    def test_parts(self):
        """The parts of a manifest run one after another, several times."""
        self.ok('split', str(EXAMPLE), '--parts', '3', '-o', 'p')
        self.agree('p.split.json')
        for engines in (('ort',), ('ort', 'builtin'), ('builtin', 'ort')):
            args = [a for e in engines for a in ('--engine', e)]
            self.assertIn(b' compared', self.ok('verify', str(EXAMPLE), 'p.split.json', '--ort',
                                                LIBRARY, *args))

    def test_element_types(self):
        for dtype in ('float', 'double', 'float16', 'int8', 'int16', 'int32', 'int64', 'uint8',
                      'uint16', 'uint32', 'uint64', 'bool', 'string', 'bfloat16'):
            m = self.text('g (%s[N, 3] x) => (%s[N, 3] y) { y = Identity (x) }' % (dtype, dtype))
            self.agree(m, '--dim', 'N=2')
            self.agree(m, '--dim', 'N=0')
        for dtype, other in (('int4', 'int8'), ('uint4', 'uint8'), ('float8e4m3fn', 'float')):
            for x, y in ((dtype, other), (other, dtype)):
                to = {'int4': 22, 'uint4': 21, 'float8e4m3fn': 17, 'int8': 3, 'uint8': 2,
                      'float': 1}[y]
                self.write('m.onnxtxt', ('<ir_version: 10, opset_import: ["" : 21]>\n'
                                         'g (%s[3] x) => (%s[3] y) { y = Cast <to = %d> (x) }'
                                         % (x, y, to)).encode())
                self.agree('m.onnxtxt')

    def test_lists(self):
        self.agree(self.text('g (float[2] x) => (s) { s = SequenceConstruct (x, x) }'))
        for keys in ('classlabels_strings = ["a", "b"]', 'classlabels_int64s = [5, 7]'):
            self.agree(self.text('g (float[2,2] x) => (seq(map(%s, float)) s) '
                                 '{ s = ai.onnx.ml.ZipMap <%s> (x) }'
                                 % ('string' if 'strings' in keys else 'int64', keys)))
        os.mkdir('d')
        self.ok('run', '--out', 'd', '--format', 'pb',
                self.text('g (float[2] x) => (s) { s = SequenceConstruct (x, x) }'))
        self.agree(self.text('g (seq(float[2]) s) => (y) { y = SequenceLength (s) }'),
                   '--input', 's=d/s.pb')

    def test_external_data(self):
        self.ok('--pass', '', '--external-data', 'w.data', 'in.onnx', 'out.onnx')
        os.mkdir('elsewhere')
        for name in ('out.onnx', 'w.data'):
            os.rename(name, 'elsewhere/' + name)
        self.agree('elsewhere/out.onnx')
        self.agree('elsewhere/out.onnx', '--all')  # an edited copy: weights go along

    def test_faults(self):
        with open(common.TOOL, 'rb') as f:
            if b'__asan_init' in f.read():
                self.skipTest("the sanitizer stumbles over the runtime's exceptions")
        run = ('run', '--engine', 'ort', '--ort', LIBRARY)
        m = self.text('g (float[2] x) => (float[2] y) { y = Foo (x) }')
        self.bad(1, 'ONNX Runtime: .*Foo', *run, m)
        m = self.text('g (float[N] x, float[M] z) => (y) { y = Add (x, z) }')
        self.bad(1, 'ONNX Runtime: .*Add.*see --input', *run, '--dim', 'N=4', m)
        self.bad(2, '--per-node works with the built-in', *run, '--per-node', str(EXAMPLE))

    def test_verify(self):
        args = ('verify', '--engine', 'builtin', '--engine', 'ort', '--ort', LIBRARY, str(EXAMPLE))
        self.assertRegex(self.ok(*args), rb'scores: equal\n8 runs compared, 0 skipped')
        r = self.run_tool(*args, '--ulp', '0', '--layers', '--json')
        self.assertEqual(r.returncode, 1)
        out = json.loads(r.stdout)
        self.assertEqual(out['layer']['value'], '"features"')
        self.assertEqual(out['layer']['at'], ['graph.node[0] "conv" (Conv)'] * 2)
        m = self.text('g (float[2] x) => (float[2] y) { y = Foo (x) }')
        self.bad(2, 'at most', *args, '--engine', 'ort')
        r = self.run_tool(*args[:-1], m)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, b'not checked: .*Foo')

    def test_times(self):
        out = self.ort('--repeat', '3', str(EXAMPLE)).decode()
        self.assertRegex(out, r'^3 runs by ort: median [\d.]+ ms, p90 [\d.]+ ms\n$')


if __name__ == '__main__':
    common.main()
