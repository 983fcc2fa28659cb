#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights by name in .safetensors and .npz. exchange.py PROGRAM"""
import json
import os
import pathlib
import resource
import struct
import zipfile

import common
from common import Case, w
from data import rich, same, tensors

BFLOAT16, FLOAT16, DOUBLE, BOOL = 16, 10, 11, 9


def safetensors(path):
    """The tensors of a file by name: (dtype, shape, bytes)."""
    data = pathlib.Path(path).read_bytes()
    n, = struct.unpack('<Q', data[:8])
    head = json.loads(data[8:8 + n])
    end = 0
    for e in sorted(head.values(), key=lambda e: e['data_offsets']):  # without gaps
        assert e['data_offsets'][0] == end
        end = e['data_offsets'][1]
    assert end == len(data) - 8 - n and n % 8 == 0
    return {k: (e['dtype'], tuple(e['shape']), data[8 + n:][slice(*e['data_offsets'])])
            for k, e in head.items()}


def store(path, **entries):
    """Writes a .safetensors file of name=(dtype, shape, bytes)."""
    head, body = {}, b''
    for k, (dtype, shape, data) in entries.items():
        head[k] = {'dtype': dtype, 'shape': list(shape), 'data_offsets': [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    pathlib.Path(path).write_bytes(struct.pack('<Q', len(text)) + text + body)


def npy(descr, shape, data, fortran=False):
    head = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)).encode()
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head + data


def types():
    """A weight of each of these element types, one without elements, a scalar, odd names."""
    inits = [w.tensor('t%d' % k, k, [3], bytes(range(3 * size))) for k, size in
             ((1, 4), (2, 1), (3, 1), (4, 2), (5, 2), (6, 4), (7, 8), (FLOAT16, 2), (DOUBLE, 8),
              (12, 4), (13, 8), (14, 8))]
    inits += [w.tensor('b', BOOL, [2], b'\1\0'), w.tensor('none', 1, [0, 2], b''),
              w.tensor('scalar', 1, [], w.floats(5)), w.tensor('a/b "c" \\ \u00e9\n', 1, [1], w.floats(6))]
    return w.model(w.graph([], inits, [], []))


class Exchange(Case):
    def test_round_trip(self):
        self.write('t.onnx', types())
        for name in ('t.safetensors', 't.npz', 'u.npz'):
            self.ok('weights', '--export', name, *(['--compress'] if name == 'u.npz' else []), 't.onnx')
            # Weights of a model whose own are others.
            data = self.read('t.onnx')
            zeroed = bytearray(data)
            for t in tensors('t.onnx'):
                if t[3]:
                    at = data.index(t[3])
                    zeroed[at:at + len(t[3])] = b'\1' * len(t[3]) if t[1] == BOOL else bytes(len(t[3]))
            self.write('z.onnx', bytes(zeroed))
            self.assertFalse(same('z.onnx', 't.onnx'))
            self.ok('weights', '--import', name, 'z.onnx', 'o.onnx')
            self.assertEqual(self.read('o.onnx'), data, name)
            report = json.loads(self.ok('weights', '--json', '--import', name, 't.onnx', 'o.onnx'))
            self.assertEqual((report['tensors'], report['equal'], report['missing']), (0, 16, 0))
            self.assertEqual(self.read('o.onnx'), data)
            os.remove('o.onnx')
        self.assertEqual({k: v[2] for k, v in safetensors('t.safetensors').items()},
                         {t[0]: t[3] or b'' for t in tensors('t.onnx')})
        for name in ('t.npz', 'u.npz'):
            with zipfile.ZipFile(name) as z:
                self.assertIsNone(z.testzip())
                self.assertEqual(len(z.namelist()), 16)
        again = self.read('t.npz')
        self.write('e.onnx', w.model(w.graph([], [], [], [])))
        self.ok('weights', '--export', 'e.npz', 'e.onnx')
        self.assertEqual(self.read('e.npz'), b'PK\5\6' + bytes(18))  # as readers expect
        self.ok('weights', '--import', 'e.npz', 'e.onnx', 'o.onnx')
        self.ok('weights', '--export', 't.npz', 't.onnx')
        self.assertEqual(self.read('t.npz'), again)

    def test_inner_graphs(self):
        self.write('a.onnx', rich())
        for name in ('a.safetensors', 'a.npz'):
            self.bad(1, r'initializer "four" \(int4\) has an element type that the format lacks',
                     'weights', '--export', name, 'a.onnx')
            self.assertFalse(os.path.exists(name))
            r = self.run_tool('weights', '--skip', '--export', name, 'a.onnx')
            self.assertEqual(r.returncode, 0)
            self.assertIn(b'3 left out', r.stderr)  # int4, strings, sparse
            self.write('z.onnx', rich().replace(w.floats(*range(1, 1025)), bytes(4096)))
            r = self.run_tool('weights', '--import', name, 'z.onnx', 'o.onnx')
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(b'1 tensor, 4.0 KiB; 7 equal already; 3 of the model not in the file', r.stderr)
            self.assertEqual(self.read('o.onnx'), self.read('a.onnx'))
        self.assertEqual(sorted(safetensors('a.safetensors')),
                         ['big', 'given', 'inner', 'inner#2', 'list', 'none', 'small', 'twin'])
        self.write('old.onnx', rich(3))
        self.ok('weights', '--export', 'old.npz', 'old.onnx')
        self.ok('weights', '--import', 'old.npz', 'old.onnx', 'o.onnx')
        self.assertEqual(self.read('o.onnx'), self.read('old.onnx'))

    def test_link(self):
        many = [w.tensor('m%d' % k, k, [2048 // size], bytes(range(256)) * 8) for k, size in
                ((1, 4), (2, 1), (FLOAT16, 2), (BFLOAT16, 2), (DOUBLE, 8))]
        self.write('a.onnx', w.model(w.graph([], [*many, w.tensor('b', BOOL, [2048], b'\1\0' * 1024),
                                                  w.tensor('small', 1, [1], w.floats(1))], [], [])))
        self.ok('weights', '--export', 'w.safetensors', '--link', 'a.onnx', 'b.onnx')
        self.assertTrue(same('a.onnx', 'b.onnx'))
        self.assertEqual([t[4] and t[4][0] for t in tensors('b.onnx')], ['w.safetensors'] * 6 + [None])
        os.mkdir('x')
        self.ok('--pass', '', 'b.onnx', 'x/b.onnx')  # the file is copied along
        self.assertEqual(self.read('x/w.safetensors'), self.read('w.safetensors'))
        self.ok('data', '--embed', 'x/b.onnx', 'c.onnx')
        self.assertTrue(same('a.onnx', 'c.onnx'))
        self.ok('weights', '--import', 'w.safetensors', 'c.onnx', 'd.onnx')
        self.assertEqual(self.read('d.onnx'), self.read('c.onnx'))
        self.ok('cat', 'b.onnx')
        self.bad(1, 'bfloat16', 'weights', '--export', 'n.npz', 'a.onnx')
        self.run_tool('weights', '--export', 'n.npz', '--skip', 'a.onnx')
        self.bad(1, 'tensor "b": is compressed, bool', 'weights', '--import', 'n.npz', '--link',
                 'a.onnx', 'd.onnx')
        r = self.run_tool('weights', '--import', 'n.npz', 'b.onnx', 'e.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.read('e.onnx'), self.read('b.onnx'))

    def test_text(self):
        """A model as text has the imported elements in it."""
        self.write('h.onnx', w.model(w.graph([], [w.tensor('h', 1, [2], w.floats(1, 2))], [], [])))
        store('h.safetensors', h=('F32', (2,), w.floats(3, 4)))
        self.ok('weights', '--import', 'h.safetensors', 'h.onnx', 'o.onnxtxt')
        self.assertIn(b'h = raw {3.0, 4.0}', self.read('o.onnxtxt'))
        self.assertIn(b'\0\0\x80\x40', self.ok('weights', '--import', 'h.safetensors', 'h.onnx', '-'))

    def test_external(self):
        """Weights of data files stay in one; missing ones are replaced."""
        self.write('a.onnx', rich())
        self.ok('data', 'a.onnx', 'b.onnx')
        self.run_tool('weights', '--skip', '--export', 'w.safetensors', 'a.onnx')
        found = safetensors('w.safetensors')
        found['big'] = ('F32', (1024,), bytes(4096))
        store('v.safetensors', **found)
        r = self.run_tool('weights', '--import', 'v.safetensors', 'b.onnx', 'c.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        got = {t[0]: t for t in tensors('c.onnx')}
        self.assertEqual(got['big'][3], bytes(4096))
        self.assertEqual((got['big'][4][0], got['twin'][4][0]), ('c.onnx.data', 'b.onnx.data'))
        os.remove('b.onnx.data')
        r = self.run_tool('weights', '--import', 'w.safetensors', 'b.onnx', 'd.onnx')
        self.assertEqual(r.returncode, 0, r.stderr)
        got, want = ({t[0]: t[3] for t in tensors(p)} for p in ('d.onnx', 'a.onnx'))
        self.assertEqual({k: v for k, v in got.items() if v is not None},
                         {k: v for k, v in want.items() if k != 'four'})
        r = self.run_tool('weights', '--export', 'x.safetensors', 'b.onnx')
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'initializer "big" (float) is not available; --skip', r.stderr)

    def test_types(self):
        self.write('h.onnx', w.model(w.graph([], [w.tensor('h', 1, [2], w.floats(1, 2))], [], [])))
        half = struct.pack('<2e', 3, 4)
        store('h.safetensors', h=('F16', (2,), half))
        self.bad(1, r'tensor "h": expected float\[2\], found float16\[2\]', 'weights', '--import',
                 'h.safetensors', 'h.onnx', 'o.onnx')
        self.ok('weights', '--cast', '--import', 'h.safetensors', 'h.onnx', 'o.onnx')
        self.assertEqual(tensors('o.onnx')[0][3], w.floats(3, 4))
        store('s.safetensors', h=('F32', (1, 2), w.floats(3, 4)))
        self.bad(1, r'expected float\[2\], found float\[1,2\]', 'weights', '--cast', '--import',
                 's.safetensors', 'h.onnx', 'o.onnx')
        store('m.safetensors', h=('F32', (2,), w.floats(3, 4)), g=('F32', (1,), w.floats(1)))
        self.bad(1, r'the model has no initializer "g" \(1 of 2', 'weights', '--import',
                 'm.safetensors', 'h.onnx', 'o.onnx')
        self.write('f.npz', b'')
        # Column-major, big-endian, deflated.
        matrix = w.model(w.graph([], [w.tensor('m', 1, [2, 3], w.floats(*range(6)))], [], []))
        self.write('m.onnx', matrix.replace(w.floats(*range(6)), bytes(24)))
        columns = w.floats(0, 3, 1, 4, 2, 5)
        for k, text in enumerate((npy('<f4', '(2, 3)', columns, True),
                                  npy('>f4', '(2, 3)', struct.pack('>6f', *range(6))),
                                  npy('<f4', '(2, 3)', w.floats(*range(6))))):
            for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                with zipfile.ZipFile('m.npz', 'w', method) as z:
                    z.writestr('m.npy', text)
                self.ok('weights', '--import', 'm.npz', 'm.onnx', 'o.onnx')
                self.assertEqual(self.read('o.onnx'), matrix, (k, method))
        self.bad(2, r'expected a name ending in', 'weights', '--export', 'a.txt', 'm.onnx')

    def test_bad_files(self):
        self.write('h.onnx', w.model(w.graph([], [w.tensor('h', 1, [2], w.floats(1, 2))], [], [])))
        good = {'dtype': 'F32', 'shape': [2], 'data_offsets': [0, 8]}

        def head(text, body=bytes(8)):
            text = text if isinstance(text, bytes) else json.dumps(text).encode()
            return struct.pack('<Q', len(text)) + text + body
        for k, data in enumerate((b'', b'\xff' * 8, b'\xff' * 9, head(b'[]'), head(b'{"h":'), head({'h': []}),
                                  head({'h': {**good, 'data_offsets': [0, 9]}}),
                                  head({'h': {**good, 'data_offsets': [4, 0]}}),
                                  head({'h': {**good, 'data_offsets': [-1, 7]}}),
                                  head({'h': {**good, 'data_offsets': [0, 1 << 62]}}),
                                  head({'h': {**good, 'shape': [3]}}),
                                  head({'h': {**good, 'shape': [1 << 40, 1 << 40]}}),
                                  head({'h': {**good, 'shape': [2] * 100}}),
                                  head({'h': {**good, 'dtype': 'F99'}}),
                                  head(b'{"h":{},"h":{}}'))):
            self.write('b.safetensors', data)
            self.bad(1, 'b.safetensors: error', 'weights', '--import', 'b.safetensors', 'h.onnx', 'o')
        with zipfile.ZipFile('g.npz', 'w', zipfile.ZIP_DEFLATED) as z:
            z.writestr('h.npy', npy('<f4', '(2,)', w.floats(1, 3)))
        zipped = self.read('g.npz')
        for k in range(len(zipped)):  # no byte may be trusted
            self.write('b.npz', zipped[:k] + bytes([255 - zipped[k]]) + zipped[k + 1:])
            r = self.run_tool('weights', '--skip', '--quiet', '--import', 'b.npz', 'h.onnx', 'o')
            self.assertIn(r.returncode, (0, 1, 3, 4), (k, r.stderr))
        self.assertEqual(self.run_tool('weights', '--export', 'h.npz').returncode, 2)

    def test_memory_limit(self):
        """Running out of memory at any place ends in an error, with nothing written."""
        self.write('a.onnx', rich())
        self.run_tool('data', '--attributes', 'a.onnx', 'b.onnx')
        self.run_tool('weights', '--skip', '--export', 'w.safetensors', 'a.onnx')
        self.run_tool('weights', '--skip', '--compress', '--export', 'w.npz', 'a.onnx')
        self.run_tool('strip', 'a.onnx', 's.onnx')
        for args in (['data', '--shard', '8KiB', 'a.onnx', 'o.onnx'], ['data', '--embed', 'b.onnx', 'o.onnx'],
                     ['weights', '--skip', '--export', 'o.safetensors', 'a.onnx'],
                     ['weights', '--skip', '--compress', '--export', 'o.npz', 'a.onnx'],
                     ['weights', '--import', 'w.safetensors', '--link', 'a.onnx', 'o.onnx'],
                     ['weights', '--import', 'w.npz', 'a.onnx', 'o.onnx'], ['strip', 'a.onnx', 'o.onnx'],
                     ['restore', '--draw', 's.onnx', 'o.onnx']):
            before, codes = sorted(os.listdir('.')), set()
            for limit in [*range(50000, 84000, 1499), 8 << 20]:
                r = self.run_tool(args[0], '--max-memory', str(limit), *args[1:])
                self.assertIn(r.returncode, (0, 4), (args, limit, r.stderr))
                if r.returncode:
                    self.assertEqual(sorted(os.listdir('.')), before, (args, limit))
                else:
                    for name in set(os.listdir('.')) - set(before):
                        os.remove(name)
                codes.add(r.returncode)
            self.assertEqual(codes, {0, 4}, args)

    def test_sparse_file(self):
        """10 GB of weights: linked without reading them."""
        n = 5 << 28
        inits = [w.tensor('w%d' % k, 1, [n], None, w.external('w.data', k * n * 4, n * 4)) for k in (0, 1)]
        self.write('a.onnx', w.model(w.graph([], inits, [], [])))
        text = json.dumps({'w%d' % k: {'dtype': 'F32', 'shape': [n], 'data_offsets': [k * n * 4, (k + 1) * n * 4]}
                           for k in (0, 1)}).encode()
        with open('v.safetensors', 'wb') as f:
            f.write(struct.pack('<Q', len(text)) + text)
            f.truncate(8 + len(text) + n * 8)
        self.ok('weights', '--quiet', '--import', 'v.safetensors', '--link', 'a.onnx', 'b.onnx')
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 64 << 10)
        self.clean('a.onnx', 'b.onnx', 'in.onnx', 'v.safetensors')


if __name__ == '__main__':
    common.main()
