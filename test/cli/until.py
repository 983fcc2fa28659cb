#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`onnxsurg repair --until`, with importers made up here. until.py PROGRAM"""
import json
import os
import signal
import subprocess
import time

import common
from common import Case

# An IR version above 8 and LogSoftmax are refused in words that ONNX Runtime has, Dropout in others.
IMPORTER = '''#!/bin/sh
ir=$(od -An -tu1 -j1 -N1 "$1" | tr -d ' ')
echo "$1" >> asked
if [ "$ir" -gt 8 ]; then
  echo "Load model from $1 failed: Unsupported model IR version: $ir, max supported IR version: 8" >&2
  exit 1
fi
if grep -q Dropout "$1"; then echo "who is that"; exit 1; fi
if grep -q Erf "$1"; then kill -SEGV $$; fi
exit 0
'''
HEAD = '<ir_version: %d, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 3] y) { %s }'
RELU, DROPOUT, ERF = 'y = Relu (x)', 't = Relu (x) y = Dropout (t)', 'y = Erf (x)'


class Until(Case):
    def setUp(self):
        super().setUp()
        self.write('importer', IMPORTER.encode())
        os.chmod('importer', 0o755)

    def repair(self, ir, nodes, *more, command='./importer {}'):
        self.write('m.onnxtxt', (HEAD % (ir, nodes)).encode())
        self.assertEqual(self.run_tool('--pass', '', 'm.onnxtxt', 'm.onnx').returncode, 0)
        return self.run_tool('repair', '--until', command, *more, 'm.onnx', 'out.onnx')

    def test_taken(self):
        r = self.repair(8, RELU)
        self.assertEqual((r.returncode, r.stderr), (0, b'm.onnx: the importer accepts the model as it is\n'))
        self.assertEqual(self.read('out.onnx'), self.read('m.onnx'))

    def test_known_message(self):
        r = self.repair(9, RELU, '--json')
        self.assertEqual(r.returncode, 0, r.stderr)
        told = json.loads(r.stdout)
        self.assertEqual((told['taken'], told['pipeline']), (True, 'ir{to=8}'))
        self.assertIn('Unsupported model IR version: 9', told['steps'][0]['message'])
        self.assertIn('Load model from FILE failed', told['steps'][0]['message'])
        self.assertEqual(told['asked'], 2)
        self.assertEqual(self.run_tool('repair', '--until', './importer', 'out.onnx', 'o.onnx').stderr,
                         b'out.onnx: the importer accepts the model as it is\n')

    def test_unknown_message(self):
        r = self.repair(9, DROPOUT)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr.decode(), r'(?s)accepts the model after 2 changes\n  ir\{to=8\}, for: .*IR version'
                         r'.*, for: who is that\n  did: --pass \'ir\{to=8\},')
        self.assertNotIn(b'Dropout', self.read('out.onnx'))

    INVALID = ('<ir_version: 9, opset_import: ["" : 13]> g (float[4] x) => (float[K] v, int64[K] i) '
               '<int64 k = {2}> { %s v, i = TopK (t, k) }')

    def invalid(self, nodes, *more):
        self.write('m.onnxtxt', (self.INVALID % nodes).encode())
        return self.run_tool('repair', '--until', './importer {}', *more, 'm.onnxtxt', 'out.onnx')

    def test_invalid_is_mended_first(self):
        self.write('importer', b'#!/bin/sh\ngrep -q onnxtxt <<< "$1" && echo "no protobuf" && exit 1\n' +
                   IMPORTER.replace('#!/bin/sh', '').encode())
        self.write('importer', self.read('importer').replace(b'/bin/sh', b'/bin/bash'))
        r = self.invalid('t = Elu <alpha: int = 1> (x)')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr.decode(), r'(?s)after 2 changes\n  mend, for: the model is invalid\n  ir\{to=8\}, '
                         r"for: .*did: --pass 'mend,ir\{to=8\}'")
        self.ok('check', 'out.onnx')

    def test_invalid_stays_so(self):
        self.write('importer', b'#!/bin/sh\nexit 1\n')
        r = self.invalid('t = Neg (gone)')
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertRegex(r.stderr.decode(), r'not mended: .*gone')
        self.assertFalse(os.path.exists('out.onnx'))
        r = self.invalid('t = Neg (gone)', '--allow', 'approx,interface')
        self.assertRegex(r.stderr.decode(), r'still rejects the model after [1-9]')

    def test_endless_output(self):
        """An importer that never stops talking is ended, and refuses."""
        r = self.repair(8, RELU, '--import-timeout', '50', command='yes {}')
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertIn(b'time was up', r.stderr)

    def test_interrupted(self):
        """What runs is ended, and nothing is left behind."""
        self.write('slow', b'#!/bin/sh\necho $$ > pid\nexec sleep 100\n')
        os.chmod('slow', 0o755)
        self.write('m.onnxtxt', (HEAD % (8, RELU)).encode())
        os.mkdir('temp')
        running = subprocess.Popen(
            [common.TOOL, 'repair', '--until', './slow {}', 'm.onnxtxt', 'out.onnx'],
            stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=os.path.abspath('temp')))
        for _ in range(500):
            if os.path.exists('pid') and self.read('pid').endswith(b'\n'):
                break
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
        self.assertNotEqual(running.returncode, 0)
        self.assertRaises(ProcessLookupError, os.kill, int(self.read('pid')), 0)
        self.assertEqual(os.listdir('temp'), [])

    def test_shortest(self):
        """What the last change made needless is left out: here only IR 3 is taken in the end."""
        self.write('importer', b'#!/bin/sh\nir=$(od -An -tu1 -j1 -N1 "$1" | tr -d " ")\n'
                   b'[ $ir -gt 8 ] && { echo "Unsupported model IR version: $ir, max supported IR version: 8";'
                   b' exit 1; }\n[ $ir -gt 7 ] && { echo "Unsupported model IR version: $ir, '
                   b'max supported IR version: 7"; exit 1; }\nexit 0\n')
        r = self.repair(9, RELU, '--json')
        told = json.loads(r.stdout)
        self.assertEqual((told['taken'], told['pipeline']), (True, 'ir{to=7}'))

    def test_refused(self):
        r = self.repair(8, ERF)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'the importer still rejects the model after', r.stderr)
        self.assertIn(b'its message: ended by signal 11\n  unknown message', r.stderr)
        self.assertFalse(os.path.exists('out.onnx'))
        self.assertEqual(self.repair(8, ERF, '--partial').returncode, 1)
        self.assertTrue(os.path.exists('out.onnx'))

    def test_sizes(self):
        text = '<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }'
        self.write('m.onnxtxt', text.encode())
        self.write('fixed', b'#!/bin/sh\ngrep -q N "$1" || exit 0\necho "sizes are open"\nexit 1\n')
        os.chmod('fixed', 0o755)
        call = ('repair', '--until', './fixed {}', 'm.onnxtxt', 'out.onnxtxt')
        self.assertEqual(self.run_tool(*call).returncode, 1)
        r = self.run_tool(*call, '--dim', 'N=5')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b"--pass 'freeze{N=5}'", r.stderr)
        self.assertIn(b'float[5, 3] x', self.read('out.onnxtxt'))
        self.bad(2, 'no input has a dynamic dimension M', *call, '--dim', 'M=5')

    def test_wrong(self):
        self.bad(2, 'need --target T or --until CMD', 'repair', '--check', 'in.onnx', 'out.onnx')
        self.bad(2, 'cannot run /nowhere', 'repair', '--until', '/nowhere', 'in.onnx', 'out.onnx')
        self.bad(2, 'a quote is not closed', 'repair', '--until', '"', 'in.onnx', 'out.onnx')
        self.write('bad.onnx', b'\x08')
        self.bad(1, 'bad.onnx', 'repair', '--until', 'true', 'bad.onnx', 'out.onnx')


common.main()
