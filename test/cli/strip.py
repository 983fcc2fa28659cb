#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights replaced by digests, and given back. strip.py PROGRAM"""
import json
import os
import struct

import common
from common import Case, w
from data import ramp, rich, same, tensors


def stripped(path):
    return [t[0] for t in tensors(path) if t[4] and t[4][0] == 'stripped']


class Strip(Case):
    def test_many_renamed_weights_of_one_shape(self):
        w = common.w
        names = ['w%d' % i for i in range(300)]
        weights = [w.tensor(n, w.FLOAT, [64], w.floats(*[float(i // 2)] * 64))
                   for i, n in enumerate(names)]
        nodes = [w.node('Add', ['y%d' % i if i else 'x', n], ['y%d' % (i + 1)])
                 for i, n in enumerate(names)]
        self.write('m.onnx', w.model(w.graph(nodes, weights, [w.value('x', dims=(64,))],
                                             [w.value('y300', dims=(64,))])))
        self.ok('strip', 'm.onnx', 'small.onnx')
        rename = ('rename', '--quiet', '--prefix', 'a_', '--of', 'values', '--match', '^w')
        self.ok(*rename, 'm.onnx', 'renamed.onnx')
        self.ok(*rename, 'small.onnx', 'other.onnx')
        self.ok('restore', '--from', 'm.onnx', 'other.onnx', 'again.onnx')
        self.assertEqual(self.read('again.onnx'), self.read('renamed.onnx'))

    def test_round_trip(self):
        for ir in (3, 8):
            self.write('a.onnx', rich(ir))
            report = json.loads(self.ok('strip', '--json', 'a.onnx', 's.onnx'))
            gone = stripped('s.onnx')
            self.assertEqual(report['tensors'], len(gone))
            self.assertIn('big', gone)
            self.assertEqual(gone.count('inner'), 2)  # in both branches
            self.assertEqual('four' in gone, ir > 3)
            self.assertEqual('' in gone, ir > 3)  # the constant of the function
            self.assertLess(os.path.getsize('s.onnx'), os.path.getsize('a.onnx') / 3)
            r = self.run_tool('restore', '--from', 'a.onnx', 's.onnx', 'b.onnx')
            self.assertEqual((r.returncode, r.stderr), (0, b''))
            self.assertTrue(same('a.onnx', 'b.onnx'))
            self.ok('verify', 'a.onnx', 'b.onnx')
            # Stripping again changes nothing.
            self.run_tool('strip', 's.onnx', 't.onnx')
            self.assertEqual(self.read('t.onnx'), self.read('s.onnx'))

    def test_edits(self):
        """A stripped model can be inspected, checked and edited; what needs elements is not done."""
        self.write('a.onnx', rich())
        self.ok('strip', 'a.onnx', 's.onnx')
        self.assertIn(b'missing     8 weights', self.ok('info', 's.onnx'))
        self.assertIn(b'"onnxsurg.digest": "', self.ok('cat', 's.onnx'))
        self.assertIn(b'weights are stripped: `onnxsurg restore`', self.run_tool('check', 's.onnx').stdout)
        self.ok('--pass', '', 's.onnx', 's.onnxtxt')
        self.run_tool('--pass', '', 's.onnxtxt', 't.onnx')
        self.assertEqual(sorted(stripped('t.onnx')), sorted(stripped('s.onnx')))
        r = self.run_tool('--pass', 'dedup,prune', 's.onnx', 'p.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        r = self.run_tool('restore', '--from', 'a.onnx', 'p.onnx', 'b.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.ok('verify', 'a.onnx', 'b.onnx')
        self.assertNotEqual(self.run_tool('run', 's.onnx').returncode, 0)
        # Under another name the digest finds it.
        self.write('n.onnx', rich().replace(b'twin', b'nwit').replace(b'big', b'gib'))
        r = self.run_tool('restore', '--from', 'n.onnx', 's.onnx', 'b.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(same('a.onnx', 'b.onnx'))

    def test_other_original(self):
        self.write('a.onnx', rich())
        self.ok('strip', 'a.onnx', 's.onnx')
        other = rich().replace(w.floats(*range(7, 1031)), w.floats(*range(8, 1032)))
        self.write('o.onnx', other)
        r = self.run_tool('restore', '--from', 'o.onnx', 's.onnx', 'b.onnx')
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'weight "given": the original has no tensor with its digest', r.stderr)
        self.assertFalse(os.path.exists('b.onnx'))
        r = self.run_tool('restore', '--summary', '--draw', '--from', 'o.onnx', 's.onnx', 'b.onnx')
        self.assertEqual(r.returncode, 0)
        self.assertIn(b'; 1 drawn', r.stderr)

    def test_draw(self):
        """Drawn elements are in the range of the original ones, and the same every time."""
        inits = [w.tensor('f', 1, [4096], w.floats(*((i % 101 - 50) / 50 for i in range(4096)))),
                 w.tensor('i', 7, [512], w.longs(*(i % 9 + 3 for i in range(512)))),
                 w.tensor('u', 2, [512], bytes(200 + i % 8 for i in range(512))),
                 w.tensor('h', 10, [512], struct.pack('<512e', *(i % 5 for i in range(512)))),
                 w.tensor('n', 1, [256], struct.pack('<256f', *[float('nan')] * 128, *[2.0] * 128)),
                 w.tensor('b', 9, [512], b'\0\1' * 256), w.tensor('q', 22, [1024], b'\x7f' * 512),
                 w.tensor('e', 17, [512], bytes(range(0x38, 0x40)) * 64),
                 w.tensor('c', 14, [64], w.floats(*range(128)))]
        self.write('a.onnx', w.model(w.graph([], inits, [], [])))
        report = json.loads(self.ok('strip', '--json', 'a.onnx', 's.onnx'))
        self.assertEqual((report['tensors'], stripped('s.onnx')), (9, list('fiuhnbqec')))
        self.run_tool('restore', '--draw', 's.onnx', 'b.onnx')
        self.run_tool('restore', '--draw', 's.onnx', 'c.onnx')
        self.run_tool('restore', '--draw', '--seed', '1', 's.onnx', 'd.onnx')
        self.assertEqual(self.read('b.onnx'), self.read('c.onnx'))
        self.assertNotEqual(self.read('b.onnx'), self.read('d.onnx'))
        got = {t[0]: t[3] for t in tensors('b.onnx')}
        f = struct.unpack('<4096f', got['f'])
        self.assertTrue(-1 <= min(f) < -.9 and .9 < max(f) <= 1 and abs(sum(f)) < 200)
        self.assertEqual(set(struct.unpack('<512q', got['i'])), set(range(3, 12)))
        self.assertEqual(set(got['u']), set(range(200, 208)))
        self.assertTrue(set(got['b']) == {0, 1} and set(struct.unpack('<256f', got['n'])) == {2.0})
        h = struct.unpack('<512e', got['h'])
        self.assertTrue(0 <= min(h) and max(h) <= 4)
        self.assertTrue(all(0x38 <= x < 0x40 for x in got['e']))
        self.assertTrue(all(x & 15 in (15, *range(8)) and x >> 4 in (15, *range(8)) for x in got['q']))
        self.assertEqual(self.run_tool('check', 'b.onnx').returncode, 0)
        # A fixed file: digests and drawn elements are the same on every system.
        self.write('k.onnx', w.model(w.graph([], [w.tensor('k', 1, [64], ramp(64))], [], [])))
        self.ok('strip', 'k.onnx', 's.onnx')
        self.assertIn(b'2f8c222726957cc37aa04f063757b005', self.read('s.onnx'))
        self.run_tool('restore', '--draw', 's.onnx', 'd.onnx')
        self.assertEqual(tensors('d.onnx')[0][3][:8].hex(), '24573a427eea0342')

    def test_hostile(self):
        """Entries of a stripped tensor are not trusted."""
        for entries in ([('onnxsurg.digest', 'x')], [('onnxsurg.digest', '')],
                        [('onnxsurg.digest', 'x' * 100), ('onnxsurg.low', '9'), ('onnxsurg.high', '1')],
                        [('onnxsurg.digest', 'x'), ('onnxsurg.low', '0x7ff8000000000000'),
                         ('onnxsurg.high', '0x7ff0000000000000')]):
            for dtype in (1, 7, 9, 22):
                t = w.tensor('t', dtype, [600], None, w.external('../../etc/passwd', 0, 2400, *entries))
                self.write('a.onnx', w.model(w.graph([], [t], [], [])))
                r = self.run_tool('restore', '--draw', 'a.onnx', 'b.onnx')
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(self.run_tool('check', 'b.onnx').returncode, 0)
                self.assertEqual(stripped('b.onnx'), [])

    def test_reproducers(self):
        """isolate and reduce write models of a few KiB."""
        self.ok('isolate', '--node', 'y', '--strip', 'in.onnx', 'i.onnx')
        self.assertEqual(stripped('i.onnx'), ['big'])
        self.ok('reduce', '--quiet', '--test', 'true', '--strip', 'in.onnx', 'r.onnx')
        self.run_tool('restore', '--from', 'in.onnx', 'i.onnx', 'j.onnx')
        self.ok('run', '--inputs', 'test_data_set_0', '--expect', 'test_data_set_0', 'j.onnx')

    def test_usage(self):
        self.bad(2, 'restore expects --from MODEL', 'restore', 'in.onnx', 'o')
        self.bad(2, 'strip expects IN and OUT', 'strip', 'in.onnx')


if __name__ == '__main__':
    common.main()
