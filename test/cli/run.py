#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`run` and `rules` from the side of a user. run.py PROGRAM"""
import io
import json
import os
import struct
import zipfile
import zlib

import common
from common import EXAMPLE, Case

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
TURN = HEAD + 'g (float[N,2] x) => (float[2,N] y) { y = Transpose <perm = [1, 0]> (x) }\n'


def npy(descr, shape, data, fortran=False, version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    if version == 1:
        return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data
    return b'\x93NUMPY\x02\x00' + struct.pack('<I', len(head)) + head.encode() + data


class Run(Case):
    def setUp(self):
        super().setUp()
        self.write('turn.onnxtxt', TURN.encode())

    def turned(self, data):
        self.write('x.npy', data)
        return self.ok('run', '--input', 'x=x.npy', 'turn.onnxtxt').decode()

    def test_pipe(self):
        """A pipe is read once: it is not asked first whether it lists parts of a model."""
        self.ok('--quiet', '--pass', '', 'turn.onnxtxt', 'turn.onnx')
        with open('turn.onnx', 'rb') as f:
            model = f.read()
        for name in ('-', '/dev/stdin'):
            out = self.ok('run', '--dim', 'N=1', '--fill', 'ones', name, input=model)
            self.assertEqual(out, b'y: float[2, 1] {1, 1}\n')

    def test_npy(self):
        values = [float(i) for i in range(6)]
        expected = 'y: float[2, 3] {0, 2, 4, 1, 3, 5}\n'
        self.assertEqual(self.turned(npy('<f4', '(3, 2)', struct.pack('<6f', *values))), expected)
        self.assertEqual(self.turned(npy('>f4', '(3, 2)', struct.pack('>6f', *values))), expected)
        self.assertEqual(self.turned(npy('<f4', '(3, 2)', struct.pack('<6f', *values), version=2)),
                         expected)
        columns = [values[i] for i in (0, 2, 4, 1, 3, 5)]
        self.assertEqual(
            self.turned(npy('<f4', '(3, 2)', struct.pack('<6f', *columns), fortran=True)), expected)

    def test_bad_npy(self):
        good = npy('<f4', '(3, 2)', bytes(24))
        for n in range(len(good)):
            self.write('x.npy', good[:n])
            r = self.run_tool('run', '--input', 'x=x.npy', 'turn.onnxtxt')
            self.assertIn(r.returncode, (1, 3), n)
        for data, why in ((npy('<f8', '(3, 2)', bytes(48)), 'is double; the model expects float'),
                          (npy('<f4', '(2, 3)', bytes(24)), 'another shape'),
                          (npy('<O4', '(3, 2)', bytes(24)), 'an element type'),
                          (npy('<f4', '(3, -2)', bytes(24)), 'not a valid .npy file'),
                          (npy('<f4', '(9999999999, 9999999999)', bytes(24)), 'not a valid .npy file')):
            self.write('x.npy', data)
            self.bad(1, why, 'run', '--input', 'x=x.npy', 'turn.onnxtxt')

    def test_bool_npy(self):
        self.write('bool.onnxtxt', (HEAD + 'g (bool[3] x) => (int64[3] y) '
                                    '{ y = Cast <to = 7> (x) }').encode())
        self.write('x.npy', npy('|b1', '(3,)', bytes([2, 0, 255])))
        self.assertEqual(self.ok('run', '--input', 'x=x.npy', 'bool.onnxtxt'),
                         b'y: int64[3] {1, 0, 1}\n')

    def test_made_up(self):
        out = self.ok('run', '--fill', 'arange', '--dim', 'N=3', 'turn.onnxtxt')
        self.assertEqual(out, b'y: float[2, 3] {0, 2, 4, 1, 3, 5}\n')
        a = self.ok('run', '--seed', '7', 'turn.onnxtxt')
        self.assertEqual(a, self.ok('run', '--seed', '7', 'turn.onnxtxt'))
        self.assertNotEqual(a, self.ok('run', '--seed', '8', 'turn.onnxtxt'))
        self.ok('run', '--fill', 'adversarial', 'turn.onnxtxt')
        self.ok('run', str(EXAMPLE))

    def test_folders(self):
        os.mkdir('out')
        self.ok('run', '--fill', 'arange', '--dim', 'N=3', '--out', 'out', 'turn.onnxtxt')
        os.rename('out/y.npy', 'out/input_0.npy')
        self.write('copy.onnxtxt', (HEAD + 'g (float[2,N] x) => (float[2,N] y) '
                                    '{ y = Identity (x) }').encode())
        self.ok('run', '--inputs', 'out', '--out', 'out', '--format', 'pb', 'copy.onnxtxt')
        os.rename('out/y.pb', 'out/output_0.pb')
        self.ok('run', '--inputs', 'out', '--expect', 'out', '--quiet', 'copy.onnxtxt')
        self.write('other.onnxtxt', (HEAD + 'g (float[2,N] x) => (float[2,N] y) '
                                     '{ y = Neg (x) }').encode())
        r = self.run_tool('run', '--inputs', 'out', '--expect', 'out', 'other.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, rb'y: differs: 5 of 6 elements, the first at 1: '
                         rb'element \[0, 1\] is -2, not 2; max abs 10, max rel 2, max ulp \d+\n')

    def test_usage(self):
        self.bad(2, 'no input z', 'run', '--input', 'z=x.npy', 'turn.onnxtxt')
        self.bad(3, 'cannot read', 'run', '--input', 'x=none.npy', 'turn.onnxtxt')
        self.bad(3, 'cannot open', 'run', 'none.onnx')
        self.bad(2, '--fill expects', 'run', '--fill', 'nothing', 'turn.onnxtxt')
        self.bad(2, 'run expects one model', 'run')
        self.bad(4, 'too large', 'run', '--dim', 'N=2000000000', 'turn.onnxtxt')

    def npz(self, compress, **arrays):
        data = io.BytesIO()
        with zipfile.ZipFile(data, 'w', compress) as z:
            for name, bytes_ in arrays.items():
                z.writestr(name + '.npy', bytes_)
        self.write('in.npz', data.getvalue())

    def test_npz(self):
        one = npy('<f4', '(3, 2)', struct.pack('<6f', *range(6)))
        other = npy('<f4', '(1, 2)', struct.pack('<2f', 7, 8))
        expected = b'y: float[2, 3] {0, 2, 4, 1, 3, 5}\n'
        for compress in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            for names in ({'x': one}, {'arr_0': one}):
                self.npz(compress, **names)
                self.assertEqual(self.ok('run', '--inputs', 'in.npz', 'turn.onnxtxt'), expected)
            self.npz(compress, other=one)
            self.assertEqual(self.ok('run', '--input', 'x=in.npz', 'turn.onnxtxt'), expected)
            self.npz(compress, a=other, x=one)
            self.assertEqual(self.ok('run', '--input', 'x=in.npz', 'turn.onnxtxt'), expected)
        self.bad(2, 'no input a', 'run', '--inputs', 'in.npz', 'turn.onnxtxt')
        self.npz(zipfile.ZIP_STORED, a=other, b=one)
        self.bad(1, 'no array named x', 'run', '--input', 'x=in.npz', 'turn.onnxtxt')
        self.npz(zipfile.ZIP_BZIP2, x=one)
        self.bad(1, 'a way that is not read', 'run', '--inputs', 'in.npz', 'turn.onnxtxt')

    def test_png(self):
        def chunk(kind, data):
            return (struct.pack('>I', len(data)) + kind + data +
                    struct.pack('>I', zlib.crc32(kind + data)))

        def png(rows):
            return (b'\x89PNG\r\n\x1a\n' +
                    chunk(b'IHDR', struct.pack('>IIBBBBB', 2, 2, 8, 2, 0, 0, 0)) +
                    chunk(b'IDAT', rows) + chunk(b'IEND', b''))

        self.write('png.onnxtxt', ('<ir_version: 10, opset_import: ["" : 20]>\n'
                                   'g (uint8[N] x) => (uint8[H, W, 3] y) '
                                   '{ y = ImageDecoder <pixel_format = "RGB"> (x) }').encode())
        rows = b'\0\1\2\3\4\5\6' + b'\1\7\10\11\1\1\1'  # the second row by filter Sub
        packed = zlib.compress(rows)
        for packed, good in ((packed, True), (zlib.compress(rows, 0), True), (packed[:-3], False),
                             (packed[:4] + b'\xff' + packed[5:], False),
                             (zlib.compress(rows + b'\0'), False), (zlib.compress(rows[:-1]), False)):
            file = png(packed)
            self.write('x.npy', npy('|u1', '(%d,)' % len(file), file))
            command = ('run', '--dim', 'N=%d' % len(file), '--input', 'x=x.npy', 'png.onnxtxt')
            if good:
                self.assertEqual(self.ok(*command), b'y: uint8[2, 2, 3] '
                                 b'{1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 9, 10}\n')
            else:
                self.bad(1, 'the compressed data of a PNG is corrupt', *command)

    def test_bad_npz(self):
        one = npy('<f4', '(3, 2)', struct.pack('<6f', *range(6)))
        for compress in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.npz(compress, x=one)
            good = bytearray(self.read('in.npz'))
            for n in range(0, len(good), 5):
                self.write('in.npz', good[:n])
                self.bad(1, 'in.npz: error: is not a valid .npz', 'run', '--inputs', 'in.npz',
                         'turn.onnxtxt')
            for n in range(0, len(good), 3):  # no crash, whatever it says
                self.write('in.npz', good[:n] + bytes([good[n] ^ 0xff]) + good[n + 1:])
                r = self.run_tool('run', '--inputs', 'in.npz', 'turn.onnxtxt')
                self.assertIn(r.returncode, (0, 1, 2), n)

    def test_values_of_all_kinds(self):
        """What is written as messages is read again: sequences, optionals, maps, text."""
        os.mkdir('d')
        head = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'
        kinds = (('seq', 'seq(float[N])', 's = SequenceConstruct (x, x)', 'SequenceLength'),
                 ('opt', 'optional(float[N])', 's = Optional (x)', 'OptionalHasElement'))
        for name, kind, make, use in kinds:
            self.write('make.onnxtxt', (head + 'g (float[N] x) => (%s s) { %s }'
                                        % (kind, make)).encode())
            self.ok('run', '--out', 'd', '--format', 'pb', 'make.onnxtxt')
            self.write('use.onnxtxt', (head + 'g (%s s) => (y) { y = %s (s) }'
                                       % (kind, use)).encode())
            self.assertRegex(self.ok('run', '--input', 's=d/s.pb', 'use.onnxtxt'),
                             rb'y: (int64 \{2\}|bool \{true\})')
            os.rename('d/s.pb', 'd/output_0.pb')
            self.ok('run', '--expect', 'd', 'make.onnxtxt')
        for keys in ('classlabels_strings = ["a", "b"]', 'classlabels_int64s = [5, -7]'):
            self.write('map.onnxtxt', (head + 'g (float[2,2] x) => (s) '
                                       '{ s = ai.onnx.ml.ZipMap <%s> (x) }' % keys).encode())
            r = self.run_tool('run', '--out', 'd', '--format', 'pb', 'map.onnxtxt')
            self.assertEqual((r.returncode, r.stderr), (0, b''))
            os.rename('d/s.pb', 'd/output_0.pb')
            self.assertIn(b's: as expected', self.ok('run', '--expect', 'd', 'map.onnxtxt'))

    def test_all_and_json(self):
        self.write('two.onnxtxt', (HEAD + 'g (float[2] x) => (float[2] y) '
                                   '{ t = Neg (x) y = Neg (t) }').encode())
        args = ('run', '--fill', 'arange', 'two.onnxtxt')
        self.assertEqual(self.ok(*args), b'y: float[2] {0, 1}\n')
        self.assertEqual(self.ok(*args, '--all'), b'y: float[2] {0, 1}\nt: float[2] {-0, -1}\n')
        out = json.loads(self.ok(*args, '--all', '--json'))
        self.assertEqual([o['name'] for o in out['outputs']], ['y', 't'])
        self.assertEqual(out['outputs'][1]['elements'], [0, -1])
        self.assertEqual((out['outputs'][0]['type'], out['outputs'][0]['shape']), ('float', [2]))
        self.assertEqual(out['engine'], 'builtin')

    def test_times(self):
        out = self.ok('run', '--repeat', '3', '--per-node', str(EXAMPLE)).decode()
        self.assertRegex(out, r'^3 runs by builtin: median [\d.]+ ms, p90 [\d.]+ ms\n')
        self.assertRegex(out, r'graph.node\[0\] "conv" \(Conv\)\n')
        self.assertEqual(out.count('\n'), 2 + self.info(str(EXAMPLE))['nodes'])
        out = json.loads(self.ok('run', '--repeat', '4', '--warmup', '0', '--json', str(EXAMPLE)))
        self.assertEqual(out['time']['runs'], 4)
        self.assertGreaterEqual(out['time']['p90_ms'], out['time']['median_ms'])
        self.bad(2, '--repeat expects', 'run', '--repeat', '0', str(EXAMPLE))

    def test_missing(self):
        self.write('add.onnxtxt', (HEAD + 'g (float[2] left, float[2] right) => (float[2] y) '
                                   '{ y = Add (left, right) }').encode())
        os.mkdir('in')
        self.write('in/input_0.npy', npy('<f4', '(2,)', bytes(8)))
        self.bad(1, 'input right: is missing: there is no input_1.pb in in', 'run', '--inputs',
                 'in', 'add.onnxtxt')
        self.ok('run', '--inputs', 'in', '--fill', 'ones', 'add.onnxtxt')
        self.ok('run', '--inputs', 'in', '--input', 'right=in/input_0.npy', 'add.onnxtxt')
        self.bad(2, 'no input lefd: did you mean left', 'run', '--input',
                 'lefd=in/input_0.npy', 'add.onnxtxt')
        self.write('in/input_1.pb', b'\x08')
        self.bad(1, 'in/input_1.pb', 'run', '--inputs', 'in', 'add.onnxtxt')
        self.write('in/input_1.npy', npy('<f4', '(3,)', bytes(12)))
        os.remove('in/input_1.pb')
        self.bad(1, 'dim 0 is 3, not 2', 'run', '--inputs', 'in', 'add.onnxtxt')
        self.bad(3, 'none: error: No such file', 'run', '--inputs', 'none', 'add.onnxtxt')

    def test_what_does_not_belong(self):
        """Dims, inputs and outputs of another model, and options without what they are for."""
        self.write('pair.onnxtxt', (HEAD + 'g (float[batch, 2] x, int64[M] i) => (float[batch, 2] y, '
                                    'int64[M] k) { y = Neg (x) k = Neg (i) }').encode())
        for command in (('run', 'pair.onnxtxt'), ('verify', 'pair.onnxtxt', 'pair.onnxtxt'),
                        ('isolate', '--node', 'y', 'pair.onnxtxt', 'o.onnx')):
            self.bad(2, 'pair.onnxtxt: error: no input of the model has a dim btch: did you mean '
                     'batch', *command, '--dim', 'btch=3')
        self.bad(2, '--dim expects NAME=N', 'run', 'pair.onnxtxt', '--dim', 'M=-1')
        os.mkdir('d')
        self.ok('run', 'pair.onnxtxt', '--out', 'd', '--format', 'pb')
        expect = ('run', 'pair.onnxtxt', '--quiet', '--expect')
        os.rename('d/y.pb', 'd/output_0.pb')
        self.bad(1, 'd: error: contains no output_1.pb for output k', *expect, 'd')
        os.rename('d/k.pb', 'd/output_1.pb')
        self.ok(*expect, 'd')
        self.write('d/output_2.npy', b'')
        self.bad(1, 'd: error: contains output_2.npy, but pair.onnxtxt has 2 outputs', *expect, 'd')
        self.write('d/input_2.pb', b'')
        self.bad(1, 'd: error: contains input_2.pb, but pair.onnxtxt has 2 inputs', 'run',
                 '--inputs', 'd', 'pair.onnxtxt')
        self.bad(3, 'none: error: No such file', *expect, 'none')
        self.bad(3, 'turn.onnxtxt: error: is not a folder', *expect, 'turn.onnxtxt')
        self.bad(3, 'error: is not a folder', 'run', 'pair.onnxtxt', '--inputs', 'turn.onnxtxt')
        self.ok('run', 'pair.onnxtxt', '--out', 'new/one')
        self.assertIn('y.npy', os.listdir('new/one'))
        x = ('--input', 'x=d/output_0.pb')
        self.bad(2, 'the same input twice', 'run', *x, *x, 'pair.onnxtxt')
        self.bad(2, '--input expects NAME=FILE', 'run', '--input', 'x', 'pair.onnxtxt')
        self.bad(2, '--format is for files', 'run', '--format', 'pb', 'pair.onnxtxt')
        self.bad(2, '--warmup needs --repeat', 'run', '--warmup', '2', 'pair.onnxtxt')

    def test_messages_that_lie(self):
        def tensor(*fields):
            return b''.join(fields)
        def number(field, value):
            return bytes([field << 3]) + (value % 2**64).to_bytes(1, 'big') if 0 <= value < 128 \
                else bytes([field << 3]) + b'\xff' * 9 + b'\x01'
        def data(field, value):
            return bytes([field << 3 | 2, len(value)]) + value
        good = tensor(number(1, 1), number(1, 2), number(2, 1), data(9, bytes(8)))
        for message, why in ((good, None),
                             (tensor(number(1, 3), number(1, 2), number(2, 1), data(9, bytes(8))),
                              'x.pb'),
                             (tensor(number(1, -1), number(1, 2), number(2, 1), data(9, bytes(8))),
                              'x.pb'),
                             (tensor(number(1, 1), number(1, 2), number(2, 99), data(9, bytes(8))),
                              'x.pb'),
                             (tensor(number(1, 1), number(1, 2), number(2, 1), number(14, 1),
                                     data(13, data(1, b'location') + data(2, b'w.bin'))), 'x.pb'),
                             (tensor(number(1, 1), number(1, 2), number(2, 1),
                                     data(8, b'x'), bytes([9 << 3 | 2, 100])), 'x.pb'),
                             (tensor(number(1, 1), number(2, 1), data(9, bytes(4))), 'rank 1'),
                             (tensor(number(1, 1), number(1, 2), number(2, 11),
                                     data(9, bytes(16))), 'is double')):
            self.write('x.pb', message)
            args = ('run', '--input', 'x=x.pb', 'turn.onnxtxt')
            if why:
                self.bad(1, why, *args)
            else:
                self.ok(*args)
        self.write('seq.onnxtxt', (HEAD + 'g (seq(float[N]) s) => (y) { y = SequenceLength (s) }')
                   .encode())
        self.write('x.pb', good)
        self.bad(1, 'a tensor by itself', 'run', '--input', 's=x.pb', 'seq.onnxtxt')
        self.write('x.npy', npy('<f4', '(2,)', bytes(8)))
        self.bad(1, 'the model expects another kind', 'run', '--input', 's=x.npy', 'seq.onnxtxt')

    def test_lists_are_made_up(self):
        self.write('list.onnxtxt', (HEAD + """g (seq(float[N]) s, optional(seq(int64[2])) o)
            => (int64 n, seq(int64[2]) e) { n = SequenceLength (s) e = OptionalGetElement (o) }""")
                   .encode())
        self.assertEqual(self.ok('run', '--fill', 'arange', 'list.onnxtxt'),
                         b'n: int64 {2}\ne: seq(int64[2] {0, 1}, int64[2] {0, 1})\n')
        self.assertIn(b'24 runs compared', self.ok('verify', 'list.onnxtxt', 'list.onnxtxt'))
        self.write('map.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'
                   b'g (map(int64, float) m) => (y) { y = ai.onnx.ml.CastMap (m) }')
        self.bad(1, 'input "m" is not a tensor, so it must be given', 'run', 'map.onnxtxt')

    def test_budgets(self):
        self.write('big.onnxtxt', (HEAD + 'g (int64[1] n) => (y) { y = ConstantOfShape (n) }')
                   .encode())
        self.write('n.npy', npy('<i8', '(1,)', struct.pack('<q', 1 << 42)))
        self.bad(4, r'graph.node\[0\] \(ConstantOfShape\)', 'run', '--input', 'n=n.npy',
                 'big.onnxtxt')
        self.write('loop.onnxtxt', (HEAD + """g (float[2] x) => (float[2] y) <bool c = {1}> {
            y = Loop ("", c, x) <body = b (int64 i, bool d, float[2] s) => (bool e, float[2] z)
              { e = Identity (d) z = Neg (s) }> }""").encode())
        for option, value, why in (('--max-turns', '1000', 'loops exceed their iteration limit'),
                                   ('--max-work', '5000', 'exceeds its work limit'),
                                   ('--timeout', '1', 'exceeds its time limit')):
            self.bad(4, 'Loop.*' + why, 'run', option, value, 'loop.onnxtxt')
        r = self.run_tool('verify', '--max-turns', '1000', 'loop.onnxtxt', 'loop.onnxtxt')
        self.assertEqual((r.returncode, r.stderr), (1, b''))
        self.assertRegex(r.stdout, rb'^not checked: .*\(Loop\): loops exceed their iteration limit')
        for n, code, why in ((1 << 40, 4, 'over the limit'), (-1, 1, 'a dimension is negative')):
            self.write('n.npy', npy('<i8', '(1,)', struct.pack('<q', n)))
            self.bad(code, r'graph.node\[0\] \(ConstantOfShape\): .*' + why, 'run', '--input',
                     'n=n.npy', 'big.onnxtxt')

    def test_faults(self):
        self.write('custom.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17, "c" : 1]>\n'
                   b'g (float[2] x) => (float[2] y) { y = c.Foo (x) }')
        self.bad(1, r'Foo', 'run', 'custom.onnxtxt')

    def test_same_file(self):
        """Two outputs whose names are one as that of a file."""
        self.write('m.onnxtxt', (HEAD + 'g (float[2] x) => (float[2] "a/b", float[2] "a_b") '
                                 '{ "a/b" = Neg (x) "a_b" = Exp (x) }').encode())
        os.mkdir('files')
        self.bad(1, r'outputs a/b and a_b would be the same file', 'run', '--out', 'files',
                 'm.onnxtxt')
        self.assertEqual(os.listdir('files'), [])


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.write('a.onnxtxt', TURN.encode())
        self.write('b.onnxtxt', TURN.replace('y = T', 't = T').replace(' }', ' y = Relu (t) }')
                   .encode())
        self.write('lie.rules', b'rule lie { match { y = Relu (x) } emit opset 6.. { y = Neg (x) } }')

    def test_verify(self):
        out = self.ok('verify', 'a.onnxtxt', 'a.onnxtxt').decode()
        self.assertRegex(out, r' differs +max abs +max rel +max ulp +cosine +output\n'
                         r' +- +0 +0 +0 +1.000000  y: equal\n8 runs compared, 0 skipped')
        self.assertEqual(self.ok('verify', '--quiet', 'a.onnxtxt', 'a.onnxtxt'), b'')
        r = self.run_tool('verify', '--runs', '3', 'a.onnxtxt', 'b.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, rb' 1[0-2] of 12 .*y: element \[\d, \d\] is 0, not -')
        self.ok(str(EXAMPLE), 'small.onnx')
        self.ok('verify', str(EXAMPLE), 'small.onnx')

    def test_numbers(self):
        """A last bit, a sign, and steps of the type."""
        def model(op, dtype='float'):
            return (HEAD + 'g (%s[N] x) => (%s[N] y) { %s }' % (dtype, dtype, op)).encode()
        self.write('one.onnxtxt', model('y = Identity (x)'))
        self.write('bit.onnxtxt', model('k = Constant <value = float {1.0000001}> () '
                                        'y = Mul (x, k)'))
        args = ('verify', 'one.onnxtxt', 'bit.onnxtxt')
        out = json.loads(self.ok(*args, '--json'))
        self.assertTrue(out['same'])
        y = out['outputs'][0]
        self.assertIn(y['max_ulp'], (1, 2))
        self.assertGreater(y['cosine'], 0.999999)
        self.assertLess(y['max_rel'], 1e-6)
        self.ok(*args, '--ulp', '2')
        self.assertEqual(self.run_tool(*args, '--ulp', '0').returncode, 1)
        self.assertEqual(self.run_tool(*args, '--rtol', '0', '--atol', '0').returncode, 1)
        self.ok(*args, '--rtol', '0', '--atol', '0', '--ulp', '2')
        self.write('half.onnxtxt', model('y = Identity (x)', 'float16'))
        self.write('halfbit.onnxtxt', model('k = Constant <value = float {1.0009765625}> () '
                                            'h = Cast <to = 10> (k) y = Mul (x, h)',
                                            'float16'))
        out = json.loads(self.run_tool('verify', 'half.onnxtxt', 'halfbit.onnxtxt', '--ulp', '0',
                                       '--json').stdout)
        self.assertIn(out['outputs'][0]['max_ulp'], (1, 2))
        self.assertRegex(out['outputs'][0]['first'], r'element \[\d\] is [\de.-]+, not')

    def test_other_shape(self):
        """Outputs of different shapes have no differences in numbers."""
        self.write('a.onnxtxt', (HEAD + 'g (float[2] x) => (float[2] y) { y = Neg (x) }').encode())
        self.write('b.onnxtxt', (HEAD + 'g (float[2] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }').encode())
        self.assertRegex(self.run_tool('verify', 'a.onnxtxt', 'b.onnxtxt').stdout,
                         rb'\d of \d +- +- +- +-  y: has rank 0, not 1\n')

    def test_layers(self):
        self.write('a.onnxtxt', (HEAD + """g (float[N] x) => (float[N] y, float[N] z)
            { p = Abs (x) q = Neg (p) r = Exp (q) y = Sin (r) z = Cos (x) }""").encode())
        self.write('b.onnxtxt', (HEAD + """g (float[N] x) => (float[N] y, float[N] z)
            { p = Abs (x) q = Identity (p) r = Exp (q) y = Sin (r) z = Cos (x) }""").encode())
        r = self.run_tool('verify', '--layers', 'a.onnxtxt', 'b.onnxtxt')
        self.assertEqual((r.returncode, r.stderr), (1, b''))
        text = r.stdout.decode()
        self.assertRegex(text, r'first difference: value "q": element \[0\] is ')
        self.assertIn('in the first:  graph.node[1] (Neg)\n', text)
        self.assertIn('in the second: graph.node[1] (Identity)\n', text)
        self.assertIn('5 values have the same name in both, 2 of them agree', text)
        # with other names inside, only a log tells which is which
        self.ok('--pass', 'names{all}', '--log', 'log', 'b.onnxtxt', 'c.onnx')
        r = self.run_tool('verify', '--layers', '--log', 'log', '--json', 'a.onnxtxt', 'c.onnx')
        layer = json.loads(r.stdout)['layer']
        self.assertEqual(layer['value'], '"q"')
        self.assertEqual(layer['matched'], 5)
        self.write('log', b'{"event"')
        self.bad(1, 'log:1: error: is not a line of a log', 'verify', '--log', 'log', 'a.onnxtxt',
                 'c.onnx')

    def test_mixed_sizes(self):
        """Equal at square sizes only."""
        self.write('p.onnxtxt', (HEAD + """g (float[N,M] x, int64[1] k) => (int64[1] y) <int64[1] i = {0}>
            { s = Shape (x) y = Gather (s, i) }""").encode())
        self.write('q.onnxtxt', (HEAD + """g (float[N,M] x, int64[1] k) => (int64[1] y) <int64[1] i = {1}>
            { s = Shape (x) y = Gather (s, i) }""").encode())
        r = self.run_tool('verify', 'p.onnxtxt', 'q.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, rb' 4 of 12 .* y: element \[0\] is 4, not 3')

    def test_one_size_large(self):
        """Pieces of sound are longer than any batch: no size will do for both."""
        text = (HEAD + """g (float[batch,samples] x) => (float[batch,n] y)
            <int64[4] pads = {0, 96, 0, 96}> { p = Pad <mode = "reflect"> (x, pads) y = %s (p) }""")
        self.write('p.onnxtxt', (text % 'Neg').encode())
        self.write('q.onnxtxt', (text % 'Abs').encode())
        out = self.ok('verify', 'p.onnxtxt', 'p.onnxtxt')
        self.assertRegex(out, rb'y: equal\n\d+ runs compared')
        r = self.run_tool('verify', 'p.onnxtxt', 'q.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'y: element [0', r.stdout)
        # Both have to be large: what was tried says why nothing was checked.
        self.write('r.onnxtxt', (text % 'Neg').replace('{0, 96, 0, 96}', '{600, 0, 600, 600}').encode())
        r = self.run_tool('verify', 'r.onnxtxt', 'r.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, rb'^not checked: .*the pads exceed the axis.*; sizes of symbolic dimensions were chosen: see --dim\n')

    def test_ties(self):
        head = '<ir_version: 8, opset_import: ["" : 17]>\n'
        text = """g (float[2,3] x) => (int64[2] y) { c = Clip (x, "", low)
            a = ArgMax <axis = 1, select_last_index = %d> (c)
            y = Squeeze (a, axes) }"""
        text = text.replace('=> (int64[2] y)', '=> (int64[2] y) <float low = {-5}, '
                            'int64[1] axes = {1}>')
        self.write('first.onnxtxt', (head + text % 0).encode())
        self.write('last.onnxtxt', (head + text % 1).encode())
        args = ('verify', '--fill', 'random', 'first.onnxtxt', 'last.onnxtxt')
        r = self.run_tool(*args)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'are indices of equal elements: see --ties', r.stdout)
        self.assertIn(b'indices of equal elements', self.ok(*args, '--ties'))
        text = text.replace('ArgMax', 'ArgMin').replace('-5', '5')
        self.write('min.onnxtxt', (head + text % 0).encode())
        self.write('max.onnxtxt', (head + text.replace('ArgMin', 'ArgMax') .replace(
            '"", low', '') % 0).encode())
        self.write('min.onnxtxt', (head + text.replace('"", low', '') % 0).encode())
        r = self.run_tool('verify', '--ties', '--fill', 'random', 'min.onnxtxt', 'max.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertNotIn(b'tie', r.stdout)

    def test_given(self):
        self.write('x.npy', npy('<f4', '(3, 2)', bytes(24)))
        self.write('neg.onnxtxt', TURN.replace('y = T', 't = T').replace(' }', ' y = Neg (t) }')
                   .encode())
        out = self.ok('verify', '--input', 'x=x.npy', 'a.onnxtxt', 'neg.onnxtxt')
        self.assertIn(b'1 run compared', out)
        self.bad(2, 'no input xx: did you mean x', 'verify', '--input', 'xx=x.npy', 'a.onnxtxt',
                 'a.onnxtxt')

    def test_other_interfaces(self):
        """Inputs and outputs that the other model does not have, or has of another type."""
        def model(name, text):
            self.write(name, (HEAD + text).encode())
            return name
        a = model('one', 'g (float[2] x) => (float[2] y) { y = Neg (x) }')
        two = model('two', 'g (float[2] x, float[2] w) => (float[2] y) { y = Mul (x, w) }')
        seq = model('seq', 'g (seq(float[2]) x) => (float[2] y) { y = ConcatFromSequence <axis = 0> (x) }')
        whole = model('int', 'g (int64[2] x) => (int64[2] y) { y = Neg (x) }')
        less = model('less', 'g (float[2] x) => (float[2] z, float[2] y) { y = Neg (x) z = Exp (x) }')
        short = model('short', 'g (float[1] x) => (float[1] y) { y = Neg (x) }')
        flat = model('flat', 'g (float[N,M] x) => (float[N,M] y) { y = Neg (x) }')
        for first, second, why in (
                (a, two, b'the second model: has an input "w" that the first does not have'),
                (a, seq, b'the second model: has an input "x" of another type than the first'),
                (seq, a, b'the second model: has an input "x" of another type than the first'),
                (a, whole, b'the second model: has an input "x" of another type than the first'),
                (a, short, b'the second model: has an input "x" of another shape than the first'),
                (a, flat, b'the second model: has an input "x" of another shape than the first'),
                (less, a, b'the second model: output "z" is missing')):
            r = self.run_tool('verify', first, second)
            self.assertEqual((r.returncode, r.stderr), (1, b''))
            self.assertTrue(r.stdout.startswith(why), (first, second, r.stdout))
            self.assertFalse(json.loads(self.run_tool('verify', '--json', first, second).stdout)['same'])

    def test_defaults(self):
        """A model that ignores an input is not equal to one that reads it, whatever its default."""
        def model(name, ends, op='Add (x, w)'):
            self.write(name, (HEAD + 'g (float[2] x, float[2] w%s) => (float[2] y) '
                              '<float[2] c = {2, 2}> { y = %s }' % (ends, op)).encode())
            return name
        required, given = model('r', ''), model('g', ' = {2, 2}')
        other, ignored = model('o', ' = {2, 3}'), model('i', ' = {2, 2}', 'Add (x, c)')
        for first, second, same in ((required, given, True), (given, required, True),
                                    (given, given, True), (given, other, False),
                                    (given, ignored, False), (required, ignored, False)):
            found = json.loads(self.run_tool('verify', '--json', first, second).stdout)
            self.assertEqual(found['same'], same, (first, second))
        # Where the model does not run with other values, only the default is compared.
        ratio = model('d', ' = {0, 0}, float p = {0.99}', 'Dropout (x, p)')
        self.assertIn(b'y: equal', self.ok('verify', ratio, ratio))
        # What the caller gives is all that is compared.
        self.write('x.npy', npy('<f4', '(2,)', bytes(8)))
        self.ok('verify', '--input', 'x=x.npy', given, ignored)
        self.bad(1, 'changes what is computed|differs', '--check', '--pass', 'set{value=w,data="{2, 3}"}',
                 given, 'out.onnx')

    def test_nothing_to_check(self):
        self.write('c.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17, "c" : 1]>\n'
                   b'g (float[2] x) => (float[2] y) { y = c.Foo (x) }')
        r = self.run_tool('verify', 'c.onnxtxt', 'c.onnxtxt')
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, rb'^not checked: .*Foo')
        self.bad(2, 'two models', 'verify', 'a.onnxtxt')
        self.bad(3, 'cannot open', 'verify', 'a.onnxtxt', 'none.onnx')

    def test_no_turn(self):
        """The original was never inferred, the result was: an empty stack is the same in both."""
        self.write('loop.onnxtxt', b'''<ir_version: 8, opset_import: ["" : 13]>
          g (float[2] x) => (float[?,?] s) <int64 n = {0}, bool c = {1}> {
            s = Loop (n, c) <body = b (int64 i, bool d) => (bool e, z) { e = Identity (d) z = Neg (x) }>
          }''')
        self.bad(0, 'not checked: output "s" has no elements', '--check', '--opset', '14',
                 'loop.onnxtxt', 'out.onnx')

    def test_check(self):
        self.ok('--check=2', str(EXAMPLE), 'small.onnx')
        self.ok('--check', '--opset', '11', 'a.onnxtxt', 'old.onnx')
        self.bad(1, 'pass "rewrite" changes what is computed .rewrite 1, rule [a-z-]+.: output "y" differs .*; nothing is '
                 'written', '--check', '--rules', 'lie.rules', 'b.onnxtxt', 'bad.onnx')
        self.assertFalse(os.path.exists('bad.onnx'))


class Rules(Case):
    def test_list(self):
        out = self.ok('rules').decode()
        self.assertRegex(out, r'(?m)^substitute$')
        self.assertRegex(out, r'(?m)^  hardswish-to-clip +ulp +HardSwish$')
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))
        self.assertIn(b'rule hardswish-to-clip', self.ok('rules', 'hardswish-to-clip'))
        self.bad(2, 'did you mean hardswish-to-clip', 'rules', 'hardswish-to-clp')

    def test_explain(self):
        r = self.run_tool('rules', 'hardswish-to-clip', '--explain', 'a', 'in.onnx')
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'the operator differs', r.stdout)


if __name__ == '__main__':
    common.main()
