#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where models come from and go to, and the standard streams. files.py PROGRAM"""
import json
import os
import pty
import shutil
import subprocess
import threading
import time
import unittest

import common
from common import EXAMPLE, Case, w


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.ok('in.onnx', 'want.onnx')
        self.want = self.read('want.onnx')
        os.remove('want.onnx')
        self.assertLess(len(self.want), len(self.read('in.onnx')))

    def test_says_nothing_in_a_pipe(self):
        self.assertEqual(self.ok('in.onnx', 'out.onnx'), b'')

    def test_missing_folder(self):
        self.bad(3, r'^no/such/out: error: .*mkdir -p no/such`', 'in.onnx', 'no/such/out')
        self.bad(3, r'is not a folder', '--out-dir', 'in.onnx', 'in.onnx')
        self.bad(3, r'mkdir -p no`', 'reduce', '--test', 'true', 'in.onnx', 'no/out')
        self.bad(3, r'^in.onnx/x: error: Not a directory \(--out-dir\)', '--out-dir', 'in.onnx/x', 'in.onnx')
        self.clean('in.onnx')

    def test_out_dir_is_made(self):
        self.ok('--dry-run', '--out-dir', 'no', 'in.onnx')
        self.clean('in.onnx')
        self.ok('--out-dir', 'some/new/folder', 'in.onnx')
        self.assertEqual(self.read('some/new/folder/in.onnx'), self.want)
        self.ok('data', '--embed', '--out-dir', 'more/', 'in.onnx')
        self.assertTrue(os.path.exists('more/in.onnx'))

    def test_folder(self):
        os.mkdir('d')
        self.bad(3, r'^d: error: is a folder', 'in.onnx', 'd')
        self.assertEqual(os.listdir('d'), [])

    @unittest.skipIf(os.geteuid() == 0, 'root writes everywhere')
    def test_read_only_folder(self):
        os.mkdir('d', 0o555)
        self.bad(3, r'^d/o: error: cannot write: Permission denied', 'in.onnx', 'd/o')

    def test_full_disk(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        self.bad(3, r'^/dev/full: error: cannot write: No space left', 'in.onnx', '/dev/full')
        with open('/dev/full', 'wb') as full:
            for args in (['in.onnx', '-'], ['cat', 'in.onnx'], ['info', 'in.onnx'], ['--help'],
                         ['info', '--json', 'in.onnx'], ['passes']):
                r = subprocess.run([common.TOOL, *args], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(r.returncode, 3, args)
                self.assertEqual(r.stderr.count(b'\n'), 1, args)
                self.assertIn(b'No space left', r.stderr)

    def test_same_file(self):
        self.ok('in.onnx', './in.onnx')
        self.assertEqual(self.read('in.onnx'), self.want)
        self.clean('in.onnx')

    def test_standard_streams(self):
        data = self.read('in.onnx')
        self.assertEqual(self.ok('-', '-', stdin=None, input=data), self.want)
        self.assertEqual(self.ok('in.onnx', '-o', '-'), self.want)
        self.assertEqual(self.ok('cat', '-', stdin=None, input=data), self.ok('cat', 'in.onnx'))
        text = EXAMPLE.read_bytes()  # begins with a comment
        self.assertTrue(text.startswith(b'#'))
        self.assertEqual(self.ok('cat', '-', stdin=None, input=text), self.ok('cat', str(EXAMPLE)))
        self.bad(1, r'^standard input: error: the file is empty', '-', 'out')

    def test_fifo(self):
        os.mkfifo('pipe')
        got = []
        reader = threading.Thread(target=lambda: got.append(self.read('pipe')))
        reader.start()
        self.ok('in.onnx', 'pipe')
        reader.join()
        self.assertEqual(got, [self.want])
        self.clean('in.onnx', 'pipe')

    def test_fifo_as_input(self):
        os.mkfifo('pipe')
        writer = threading.Thread(target=self.write, args=('pipe', self.read('in.onnx')))
        writer.start()
        self.ok('pipe', 'out')
        writer.join()
        self.assertEqual(self.read('out'), self.want)

    def test_in_place(self):
        for name in 'abc':
            self.write(name, self.read('in.onnx'))
        self.write('empty', b'')
        r = self.run_tool('-i', 'a', 'empty', 'b', 'missing', 'c')
        self.assertEqual(r.returncode, 3)
        self.assertEqual(r.stderr.count(b'\n'), 2)
        for name in 'abc':
            self.assertEqual(self.read(name), self.want)
        self.clean('a', 'b', 'c', 'empty', 'in.onnx')

    def test_out_dir(self):
        os.mkdir('d')
        os.mkdir('e')
        self.write('e/other.onnx', self.read('in.onnx'))
        self.ok('--out-dir', 'd', 'in.onnx', 'e/other.onnx')
        self.assertEqual(sorted(os.listdir('d')), ['in.onnx', 'other.onnx'])
        self.assertEqual(self.read('d/other.onnx'), self.want)
        shutil.copy('in.onnx', 'e/in.onnx')
        self.bad(2, r'two models .* one file: d/in.onnx', '--out-dir', 'd', 'in.onnx', 'e/in.onnx')

    def test_dry_run(self):
        os.mkdir('d')
        before = self.read('in.onnx')
        for args in (['in.onnx'], ['in.onnx', 'out'], ['-i', 'in.onnx'], ['in.onnx', '-o', 'out'],
                     ['--out-dir', 'd', 'in.onnx']):
            self.ok('--dry-run', *args)
        self.assertEqual(self.read('in.onnx'), before)
        self.assertEqual(os.listdir('d'), [])
        self.clean('d', 'in.onnx')
        told = json.loads(self.ok('--dry-run', '--json', 'in.onnx'))
        self.assertEqual((told['before']['nodes'], told['after']['nodes']), (3, 1))

    def test_nothing_half_written(self):
        self.write('out', b'old')
        self.bad(2, r'unknown pass', '--pass', 'nope', 'in.onnx', 'out')
        self.bad(4, r'needs more than \d+ KiB of memory \(--max-memory\)', '--max-memory', '8KiB',
                 'in.onnx', 'out')
        self.write('cut', self.read('in.onnx')[:-5])
        self.bad(1, r'^cut: error: ', 'cut', 'out')
        self.assertEqual(self.read('out'), b'old')

    def test_timeout(self):
        self.ok('--timeout', '60', 'in.onnx', 'out')
        self.assertEqual(self.read('out'), self.want)


class Streams(Case):
    def test_reader_that_leaves(self):
        for args in (['cat', 'big.onnx'], ['info', '--json', 'big.onnx']):
            nodes = [w.node('Op%d' % i, ['x'], ['v%d' % i], domain='c') for i in range(20000)]
            self.write('big.onnx', w.model(
                w.graph(nodes, [], [w.value('x')], [w.value('v0')]), opsets=(('', 17), ('c', 1))))
            p = subprocess.Popen([common.TOOL, *args], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            p.stdout.read(10)
            p.stdout.close()
            err = p.stderr.read()
            p.stderr.close()
            self.assertEqual(p.wait(30), 3, args)
            self.assertEqual(err, b'', args)

    def closed(self, fd, *args):
        return subprocess.run(['sh', '-c', 'exec "$@" %d>&-' % fd, 'sh', common.TOOL, *args],
                              capture_output=True, timeout=60)

    def test_closed_streams(self):
        for args in (['cat', 'in.onnx'], ['info', 'in.onnx'], ['--version'], ['in.onnx', '-']):
            r = self.closed(1, *args)
            self.assertEqual(r.returncode, 3, args)
            self.assertEqual(r.stderr.count(b'\n'), 1, args)
        # Nothing is printed, so nothing is missed; and no file gets the number of the stream.
        self.assertEqual(self.closed(1, 'in.onnx', 'a').returncode, 0)
        self.assertEqual(self.closed(2, 'in.onnx', 'b').returncode, 0)
        self.assertEqual(self.closed(2, 'missing', 'c').returncode, 3)
        self.assertEqual(self.closed(2, '--summary', 'in.onnx', 'd').returncode, 0)
        self.assertEqual(self.read('a'), self.read('b'))
        self.assertEqual(self.read('a'), self.read('d'))
        self.assertEqual(self.closed(0, '-', 'c').returncode, 3)
        self.clean('a', 'b', 'd', 'in.onnx')

    def feed_slowly(self):
        data = self.read('in.onnx')
        with open('pipe', 'wb') as pipe:
            time.sleep(1.3)
            pipe.write(data)

    def test_progress(self):
        os.mkfifo('pipe')
        for terminal in (True, False):
            writer = threading.Thread(target=self.feed_slowly)
            writer.start()
            if terminal:
                text = self.on_terminal('pipe', 'out')
                # A busy machine may show more lines than this one.
                self.assertRegex(text, r'\r\x1b\[Konnxsurg: loading, [1-9][0-9]* s\r\x1b\[K')
                self.assertIn('\r\x1b[Kpipe -> out\n', text)
            else:
                self.ok('pipe', 'out')
            writer.join()

    def on_terminal(self, *args):
        """What the program writes to standard error when that is a terminal."""
        master, slave = pty.openpty()
        p = subprocess.Popen([common.TOOL, *args], stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        out = p.stdout.read()
        p.stdout.close()
        text = b''
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:
            pass
        os.close(master)
        self.assertEqual(p.wait(30), 0)
        self.assertEqual(out, b'')
        return text.decode().replace('\r\n', '\n')

    def test_summary_on_a_terminal(self):
        text = self.on_terminal('in.onnx', 'out.onnx')
        self.assertIn('in.onnx -> out.onnx\n', text)
        self.assertRegex(text, r'(?m)^  nodes +3 +1  -2$')
        self.assertRegex(text, r'(?m)^    Identity +1 +0  -1$')
        self.assertIn('exactness: exact', text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertEqual(self.on_terminal('--quiet', 'in.onnx', 'out.onnx'), '')

    def test_summary_of_odd_names(self):
        op, domain = 'Op\x1b[31m\n\t"', 'com.\x07' + 'long' * 40
        nodes = [w.node(op, ['x'], ['a'], domain=domain), w.node('Neg', ['x'], ['y'])]
        nodes += [w.node('Op%d' % i, ['x'], ['b%d' % i], domain='c') for i in range(50)]
        self.write('odd', w.model(w.graph(nodes, [], [w.value('x')], [w.value('y')]),
                                  opsets=(('', 17), (domain, 1), ('c', 1))))
        text = self.on_terminal('odd', 'out')
        self.assertNotRegex(text.replace('\n', ''), '[\x00-\x1f]')
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertRegex(text, r'and \d+ more operators')
        self.assertLessEqual(text.count('\n'), 30)
        told = json.loads(self.ok('info', '--json', 'odd'))
        self.assertEqual(told['ops'][domain + '.' + op], 1)
        told = json.loads(self.ok('--json', 'odd', 'out'))
        self.assertEqual(told['before']['ops'][domain + '.' + op], 1)
        self.assertNotIn('\x1b', self.ok('info', 'odd').decode())

    def test_path_that_is_not_utf8(self):
        name = b'\xff".onnx'
        try:
            self.write(os.fsdecode(name), self.read('in.onnx'))
        except OSError:
            self.skipTest('the file system refuses the name')
        told = json.loads(self.ok('--json', name, 'out'))
        self.assertTrue(told['in'].endswith('.onnx'))
        told = json.loads(self.ok('info', '--json', name))
        self.assertEqual(told['nodes'], 3)


class External(Case):
    def test_inside(self):
        """Weights come out of their file, those of a branch too; a target asks for it."""
        numbers = ', '.join(map(str, range(300)))
        text = ('<ir_version: 8, opset_import: ["" : 13]> g (float[300] x, bool c) => (float[300] y) '
                '<float[300] w = {%s}> { z = Add (x, w) y = If (c) <then_branch = t () => (float[300] p) '
                '<float[300] v = {%s}> { p = Sub (z, v) }, else_branch = e () => (float[300] q) { q = Neg (z) }> }')
        self.write('m.onnxtxt', (text % (numbers, numbers)).encode())
        self.ok('--pass', '', '--external-data', 'w.bin', 'm.onnxtxt', 'ext.onnx')
        self.assertLess(os.path.getsize('ext.onnx'), 1000)
        os.mkdir('d')
        self.ok('--pass', 'constants{form=keep,inside}', '--check', 'ext.onnx', 'd/out.onnx')
        self.assertEqual(os.listdir('d'), ['out.onnx'])
        self.assertGreater(os.path.getsize('d/out.onnx'), 2400)
        self.assertEqual(self.ok('cat', 'd/out.onnx').count(b'0x000000000000803f00000040'), 2)
        target = '{"schema": 1, "name": "one", "source": "a test", "rest": "unknown", "external_data": false}'
        self.write('one.target', target.encode())
        r = self.run_tool('repair', '--target', './one.target', 'ext.onnx', 'd/repaired.onnx')
        self.assertIn(b"did: --pass 'constants{form=keep,inside}'", r.stderr)
        self.assertEqual(sorted(os.listdir('d')), ['out.onnx', 'repaired.onnx'])

    def test_round_trip(self):
        text = self.ok('cat', 'in.onnx')
        self.ok('--pass', '', '--external-data', 'w.bin', 'in.onnx', 'ext.onnx')
        self.assertEqual(os.path.getsize('w.bin'), 4096)
        self.assertLess(os.path.getsize('ext.onnx'), 1000)
        self.assertEqual(self.info('ext.onnx')['parameters'], 1024)
        os.mkdir('d')
        self.ok('--pass', '', 'ext.onnx', 'd/ext.onnx')
        self.assertEqual(sorted(os.listdir('d')), ['ext.onnx', 'w.bin'])
        self.assertEqual(self.read('d/w.bin'), self.read('w.bin'))
        # The names of models stand in no text, so texts compare.
        self.assertEqual(self.ok('cat', 'd/ext.onnx'), self.ok('cat', 'ext.onnx'))
        self.assertNotEqual(text, b'')

    def test_bad_names(self):
        for name in ('..', '.', 'out.onnx'):
            self.bad(2, r'not a name of a data file', '--external-data', name, 'in.onnx', 'out.onnx')
        self.clean('in.onnx')

    def test_missing_and_refused(self):
        self.ok('--pass', '', '--external-data', 'w.bin', 'in.onnx', 'ext.onnx')
        r = self.run_tool('--no-external', 'ext.onnx', 'out')
        self.assertEqual((r.returncode, r.stderr.count(b'\n')), (1, 1))
        os.mkdir('elsewhere')
        os.rename('w.bin', 'elsewhere/w.bin')
        r = self.run_tool('run', 'ext.onnx')
        self.assertIn(r.returncode, (1, 3))
        self.assertRegex(r.stderr.decode(), r'w\.bin')
        self.ok('--external-root', 'elsewhere', 'ext.onnx', 'out')

    def test_threshold(self):
        self.ok('--pass', '', '--external-data', 'w.bin', '--external-threshold', '1MiB',
                'in.onnx', 'out.onnx')
        self.assertFalse(os.path.exists('w.bin'))


if __name__ == '__main__':
    common.main()
