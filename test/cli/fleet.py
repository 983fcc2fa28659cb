#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several models: folders, --jobs, JSON lines, totals, and models that fail. fleet.py PROGRAM"""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import common
from common import Case


class Fleet(Case):
    def setUp(self):
        super().setUp()
        os.makedirs('m/sub/deep')
        for i in range(5):
            shutil.copy('in.onnx', 'm/%d.onnx' % i)
        shutil.copy('in.onnx', 'm/sub/deep/x.onnx')
        self.write('m/notes.txt', b'no model')
        self.write('m/sub/cut.onnx', self.read('in.onnx')[:-5])
        os.symlink('../0.onnx', 'm/sub/link.onnx')
        os.symlink('..', 'm/sub/up')
        self.names = ['m/%d.onnx' % i for i in range(5)]
        self.names += ['m/sub/cut.onnx', 'm/sub/deep/x.onnx', 'm/sub/link.onnx']

    def lines(self, *args):
        r = self.run_tool(*args)
        return r, [json.loads(line) for line in r.stdout.splitlines()]

    def test_check(self):
        for jobs in ([], ['--jobs', '3'], ['--jobs', '0']):
            r = self.run_tool('check', *jobs, 'm')
            self.assertEqual(r.returncode, 1)
            self.assertEqual(r.stderr.decode().splitlines()[-1],
                             '8 models: 7 ok, 1 invalid; 2 other files skipped')
            r = self.run_tool('check', '--quiet', *jobs, 'm/1.onnx', 'm/2.onnx')
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b'', b''))

    def test_lines_in_order(self):
        for command in (['check'], ['info'], ['check', '--target', 'onnxruntime-1.20'],
                        ['--dry-run'], ['repair', '--dry-run']):
            for jobs in ('1', '4'):
                r, got = self.lines(*command, '--json', '--jobs', jobs, '--out-dir', 'm/none', 'm') \
                    if command[0] in ('--dry-run', 'repair') else \
                    self.lines(*command, '--json', '--jobs', jobs, 'm')
                self.assertEqual([g['file'] for g in got], self.names, r.stderr)
                self.assertEqual([g['exit'] == 0 for g in got],
                                 [n != 'm/sub/cut.onnx' for n in self.names], command)
                self.assertEqual(r.returncode, 1)

    def test_line_of_a_failure(self):
        r, got = self.lines('info', '--json', 'm/0.onnx', 'missing.onnx')
        self.assertEqual(r.returncode, 3)
        self.assertEqual((got[0]['exit'], got[0]['nodes']), (0, 3))
        self.assertEqual(got[1]['exit'], 3)
        self.assertIn('No such file', got[1]['error'])

    def test_jobs_with_one_model(self):
        for command in (['check'], ['info'], ['--dry-run'], ['repair', '--dry-run', '--out-dir', '.']):
            r, got = self.lines(*command, '--json', '--jobs', '1', 'in.onnx')
            self.assertEqual((len(got), got[0]['exit']), (1, 0), command)

    def test_standard_input_is_a_model_too(self):
        data = self.read('in.onnx')
        r = self.run_tool('check', '--jobs', '2', 'm/0.onnx', '-', stdin=None, input=data)
        self.assertEqual((r.returncode, r.stderr), (0, b'2 models: 2 ok\n'))

    def test_sarif_is_one_document(self):
        r = self.run_tool('check', '--sarif', '--jobs', '2', 'm')
        run, = json.loads(r.stdout)['runs']
        self.assertEqual(run['invocations'][0]['exitCode'], 1)
        at = {x['locations'][0]['physicalLocation']['artifactLocation']['uri'] for x in run['results']}
        self.assertIn('m/sub/cut.onnx', at)

    def test_table(self):
        r = self.run_tool('info', '--table', '--jobs', '2', 'm')
        rows = r.stdout.decode().splitlines()
        self.assertEqual(len(rows), 8)
        self.assertTrue(rows[6].startswith('sub/deep/x.onnx'), rows)

    def test_mirrored_tree(self):
        self.ok('in.onnx', 'want.onnx')
        want = self.read('want.onnx')
        os.mkdir('out')
        for args in (['m', 'out'], ['m', '-o', 'out'], ['--out-dir', 'out', '--jobs', '3', 'm']):
            shutil.rmtree('out')
            os.mkdir('out')
            r = self.run_tool(*args)
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertIn(b'8 models: 7 changed, 1 '
                          b'invalid or not done; 2 other files skipped\n', r.stderr)
            made = sorted(os.path.join(d, f) for d, _, files in os.walk('out') for f in files)
            self.assertEqual(made, ['out/' + n[2:] for n in self.names if 'cut' not in n])
            for name in made:
                self.assertEqual(self.read(name), want)
        r = self.run_tool('out', 'out')
        self.assertEqual(r.returncode, 2)
        r = self.run_tool('-i', 'out')
        self.assertEqual((r.returncode, r.stderr), (0, b'7 models: 7 unchanged\n'))

    def test_results_below_the_models_are_not_models(self):
        os.remove('m/sub/cut.onnx')
        os.mkdir('m/out')
        for _ in range(2):
            r = self.run_tool('--out-dir', 'm/out', 'm')
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(b'7 models: 7 changed', r.stderr)

    def test_repair(self):
        os.remove('m/sub/cut.onnx')
        os.mkdir('out')
        r = self.run_tool('repair', '--target', 'onnxruntime-1.20', '--jobs', '2', 'm', 'out')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b'7 models: 7 supported', r.stderr)
        self.assertTrue(os.path.exists('out/sub/deep/x.onnx'))
        r = self.run_tool('repair', '--out-dir', 'out', 'm/1.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_verify(self):
        os.remove('m/sub/cut.onnx')
        os.mkdir('out')
        self.run_tool('--quiet', 'm', 'out')
        r = self.run_tool('verify', '--runs', '1', '--jobs', '2', 'm', 'out')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b'7 models: 7 equal', r.stderr)
        self.write('out/3.onnx', self.read('out/3.onnx')[:50])  # not different: it cannot be read
        r = self.run_tool('verify', '--runs', '1', 'm', 'out')
        self.assertIn(b'7 models: 6 equal, 1 different or not compared', r.stderr)
        os.remove('out/3.onnx')
        shutil.copy('in.onnx', 'out/9.onnx')
        r = self.run_tool('verify', '--runs', '1', 'm', 'out')
        self.assertEqual(r.returncode, 3)
        self.assertIn(b'm/3.onnx: error: no counterpart out/3.onnx\n', r.stderr)
        self.assertIn(b'out/9.onnx: error: no counterpart m/9.onnx\n', r.stderr)

    def test_usage(self):
        os.mkdir('empty')
        os.mkdir('out')
        self.bad(2, r'--jobs expects 0 to 256', 'check', '--jobs', 'x', 'm')
        self.bad(2, r'--log and --map describe one model', '-i', '--log', 'l', 'm')
        self.bad(2, r'one file: out/1.onnx', '--out-dir', 'out', 'm', 'm/1.onnx')
        self.bad(2, r'folder of models needs', '-o', 'x.onnx', 'm')
        r = self.run_tool('check', 'empty')
        self.assertEqual(r.returncode, 3)
        self.assertIn(b'empty: error: no file *.onnx', r.stderr)

    def test_limits_are_of_a_model(self):
        r, got = self.lines('check', '--json', '--max-memory', '8KiB', '--jobs', '1', 'm/0.onnx', 'm/1.onnx')
        self.assertEqual([g['exit'] for g in got], [4, 4])
        self.assertIn(b'2 models: 2 failed', r.stderr)
        os.mkfifo('m/pipe')
        r = self.run_tool('check', '--timeout', '1', '--jobs', '2', 'm/pipe', 'm/0.onnx')
        self.assertEqual(r.returncode, 4, r.stderr)
        self.assertIn(b'2 models: 1 ok, 1 failed', r.stderr)

    def test_killed_process_ends_one_model(self):
        os.mkfifo('m/pipe')
        p = subprocess.Popen([common.TOOL, 'check', '--summary', 'm/pipe', 'm/0.onnx', 'm/1.onnx'],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child = self.child_of(p, 'm/pipe')
        os.kill(child, signal.SIGKILL)
        err = p.communicate(timeout=30)[1]
        self.assertEqual(p.returncode, 4)
        self.assertIn(b'm/pipe: error: the process for this model was killed', err)
        self.assertIn(b'3 models: 2 ok, 1 failed', err)

    def test_interruption_ends_all(self):
        os.mkfifo('m/pipe')
        p = subprocess.Popen([common.TOOL, 'check', 'm/pipe', 'm/0.onnx', 'm/1.onnx'],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child = self.child_of(p, 'm/pipe')
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=30)[1]
        self.assertEqual(p.returncode, 4)
        self.assertIn(b'3 not processed', err)
        self.assertFalse(os.path.exists('/proc/%d' % child))

    def child_of(self, p, name):
        """The process of the first model, which waits for a writer of the pipe."""
        if not os.path.exists('/proc/self/task/%d/children' % os.getpid()):
            self.skipTest('the system does not list children')
        last, since = None, time.time()
        for _ in range(2000):
            with open('/proc/%d/task/%d/children' % (p.pid, p.pid)) as f:
                now = f.read().split()
            if now[-1:] != [last]:
                last, since = (now or [None])[-1], time.time()
            elif last and time.time() - since > 0.3:
                return int(last)
            time.sleep(0.005)
        self.fail('no child')


if __name__ == '__main__':
    common.main()
