#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where weights are stored: data files, shards, shared files, the model file. data.py PROGRAM"""
import json
import os
import pathlib
import resource

import common
from common import Case, w

INT4, FLOAT16 = 22, 10


def fields(data):
    at = 0
    while at < len(data):
        tag, at = w.read_varint(data, at)
        if tag & 7 == 2:
            n, at = w.read_varint(data, at)
            yield tag >> 3, data[at:at + n]
            at += n
        elif tag & 7 == 0:
            v, at = w.read_varint(data, at)
            yield tag >> 3, v
        else:
            n = 4 if tag & 7 == 5 else 8
            yield tag >> 3, data[at:at + n]
            at += n


def tensor_of(data, folder):
    """Name, element type, dims, elements, and (location, offset) or None."""
    name, dtype, dims, raw, entries, external, lists = '', 0, [], b'', {}, False, []
    for n, v in fields(data):
        if n == 1:
            dims.append(v)
        elif n == 2:
            dtype = v
        elif n == 8:
            name = v.decode()
        elif n == 9:
            raw = v
        elif n == 13:
            pair = dict(fields(v))
            entries[pair[1].decode()] = pair[2].decode()
        elif n == 14:
            external = v == 1
        elif n == 4:
            raw = v  # packed floats
        elif n == 6:
            lists.append(bytes(v))
    place = None
    if external:
        place = (entries['location'], int(entries.get('offset', 0)))
        path = pathlib.Path(folder, place[0])
        raw = None
        if path.exists():
            raw = path.read_bytes()[place[1]:place[1] + int(entries['length'])]
    return name, dtype, tuple(dims), tuple(lists) or raw, place


def tensors(path):
    """All tensors of a model file, in order."""
    folder = os.path.dirname(path) or '.'
    found = []

    def node(data):
        for n, v in fields(data):
            if n == 5:
                for m, x in fields(v):
                    if m == 5:
                        found.append(tensor_of(x, folder))
                    elif m == 6:
                        graph(x)

    def graph(data):
        for n, v in fields(data):
            if n == 5:
                found.append(tensor_of(v, folder))
            elif n == 1:
                node(v)

    for n, v in fields(pathlib.Path(path).read_bytes()):
        if n == 7:
            graph(v)
        elif n == 25:
            for m, x in fields(v):
                if m == 7:
                    node(x)
    return found


def same(a, b):
    return [t[:4] for t in tensors(a)] == [t[:4] for t in tensors(b)]


def ramp(n, start=0):
    return w.floats(*(start + i for i in range(n)))


def rich(ir=8):
    """Two equal weights, an overridable one, int4, strings, no elements, a sparse one, weights of
    the same name in two branches and a captured one, a constant in a function."""
    big = ramp(1024)
    branch = [w.graph([w.node('Add', ['big', 'inner'], ['z'])],
                      [w.tensor('inner', w.FLOAT, [1024], ramp(1024, k))], [],
                      [w.value('z', dims=(1024,))], name='b%d' % k) for k in (1, 2)]
    sparse = w.sub(15, w.sub(1, w.tensor('sp', w.FLOAT, [2], w.floats(1, 2))),
                   w.sub(2, w.tensor('', w.INT64, [2], w.longs(3, 4000))), w.num(3, 4096))
    nodes = [w.node('If', ['c'], ['i'], w.a_graph('then_branch', branch[0]),
                    w.a_graph('else_branch', branch[1])),
             w.node('Add', ['i', 'twin'], ['j']), w.node('Add', ['j', 'given'], ['k']),
             w.node('F', ['k'], ['y'], domain='d')]
    inits = [w.tensor('big', w.FLOAT, [1024], big), w.tensor('twin', w.FLOAT, [1024], big),
             w.tensor('given', w.FLOAT, [1024], ramp(1024, 7)),
             w.tensor('four', INT4, [4095], bytes(i % 251 for i in range(2048))),
             w.tensor('none', w.FLOAT, [0, 3], b''), w.tensor('small', w.FLOAT, [3], ramp(3)),
             w.tensor('text', w.STRING, [2], None, w.sub(6, 'a' * 4000), w.sub(6, 'b')),
             w.tensor('list', w.FLOAT, [1024], None, w.sub(4, ramp(1024, 9)))]
    ins = [w.value('c', w.BOOL, ()), w.value('given', dims=(1024,))]
    if ir < 4:
        ins += [w.value(n, dims=(1024,)) for n in ('big', 'twin', 'list')]
        inits = [inits[0], inits[1], inits[2], inits[7]]
        sparse = b''
        nodes[3] = w.node('Neg', ['k'], ['y'])
    function = w.function('F', ['a'], ['o'], [
        w.node('Constant', [], ['t'], w.a_tensor('value', w.tensor(None, w.FLOAT, [1024], big))),
        w.node('Add', ['a', 't'], ['o'])])
    g = w.graph(nodes, inits, ins, [w.value('y', dims=(1024,))], sparse)
    if ir < 4:
        return w.model(g, ir=ir, opsets=(('', 9),))
    return w.model(g, function, ir=ir, opsets=(('', 17), ('d', 1)))


class Data(Case):
    def test_out_and_in(self):
        for ir in (3, 8):
            self.write('a.onnx', rich(ir))
            self.ok('data', 'a.onnx', 'b.onnx')
            self.assertTrue(same('a.onnx', 'b.onnx'))
            places = {t[0]: t[4] for t in tensors('b.onnx')}
            self.assertEqual(places['big'], places['twin'])
            self.assertEqual({p[0] for p in places.values() if p}, {'b.onnx.data'})
            self.assertTrue(all(p[1] % 64 == 0 for p in places.values() if p))
            if ir > 3:
                kept = [n for n, p in places.items() if not p]
                self.assertEqual(kept, ['none', 'small', 'text', ''])
            else:
                self.assertEqual(sorted(places), ['big', 'given', 'inner', 'list', 'twin'])
            self.ok('data', '--embed', 'b.onnx', 'c.onnx')
            self.assertTrue(same('c.onnx', 'a.onnx'))
            self.assertTrue(all(not t[4] for t in tensors('c.onnx')))
            os.remove('b.onnx.data')
            self.ok('check', 'c.onnx')
            os.remove('b.onnx')

    def test_attributes(self):
        self.write('a.onnx', rich())
        self.ok('data', '--attributes', '--align', '64KiB', 'a.onnx', 'b.onnx')
        self.assertTrue(same('a.onnx', 'b.onnx'))
        places = [t[4] for t in tensors('b.onnx') if t[2] == (1024,)]
        self.assertTrue(all(places))
        self.assertTrue(all(p[1] % 65536 == 0 for p in places))
        # One copy of big, twin and the constant; the branches, given, four, list.
        report = json.loads(self.ok('data', '--json', '--attributes', 'a.onnx', 'c.onnx'))
        self.assertEqual((report['tensors'], report['equal'], report['equal_bytes']), (8, 2, 8192))

    def test_shards(self):
        self.write('a.onnx', rich())
        self.ok('data', '--shard', '8KiB', '--file', 'w.bin', 'a.onnx', 'b.onnx')
        self.assertTrue(same('a.onnx', 'b.onnx'))
        files = sorted(f for f in os.listdir('.') if f.startswith('w'))
        self.assertEqual(files, ['w-0000%d-of-00003.bin' % k for k in (1, 2, 3)])
        self.assertTrue(all(os.path.getsize(f) <= 8192 for f in files))
        self.ok('data', '--shard', '1KiB', 'a.onnx', 'c.onnx')  # every tensor is larger
        self.assertTrue(same('a.onnx', 'c.onnx'))
        before = {f: os.stat(f).st_ino for f in os.listdir('.')}
        report = json.loads(self.ok('data', '--json', '--shard', '8KiB', '--file', 'w.bin', '-i',
                                    'b.onnx'))
        self.assertEqual((report['files'], report['unchanged']), (3, 3))
        self.assertTrue(all(os.stat(f).st_ino == before[f] for f in files))

    def test_per_tensor(self):
        self.write('a.onnx', rich())
        self.ok('data', '--per-tensor', '--file', 'w.bin', 'a.onnx', 'b.onnx')
        self.assertTrue(same('a.onnx', 'b.onnx'))
        names = sorted(f for f in os.listdir('.') if f.startswith('w'))
        self.assertEqual(len(names), 6)
        self.assertIn('w.big.bin', names)
        self.assertIn('w.inner.bin', names)  # and one with a number
        # Names that differ in case only, or in characters that no file name should have.
        inits = [w.tensor(n, w.FLOAT, [512], ramp(512, k)) for k, n in
                 enumerate(('A', 'a', 'x/../y', 'x_.._y', '..', ''))]
        self.write('n.onnx', w.model(w.graph([], inits[:5], [], [])))
        self.ok('data', '--per-tensor', 'n.onnx', 'o.onnx')
        self.assertTrue(same('n.onnx', 'o.onnx'))
        self.assertEqual(len([f for f in os.listdir('.') if f.startswith('o.onnx.')]), 5)

    def test_share(self):
        os.mkdir('x')
        for k in (1, 2):
            own = w.tensor('own', w.FLOAT, [1024], ramp(1024, k))
            both = w.tensor('both%d' % k, w.FLOAT, [4096], ramp(4096))
            self.write('m%d.onnx' % k, w.model(w.graph([], [own, both], [], [])))
        report = json.loads(self.ok('data', '--json', '--share', 'w.data', '--out-dir', 'x',
                                    'm1.onnx', 'm2.onnx'))
        self.assertEqual((report['tensors'], report['equal'], report['files']), (4, 1, 1))
        self.assertEqual(os.path.getsize('x/w.data'), 4096 * 4 + 2 * 4096)
        self.assertTrue(same('m1.onnx', 'x/m1.onnx') and same('m2.onnx', 'x/m2.onnx'))
        # Again in place: nothing is written.
        inode = os.stat('x/w.data').st_ino
        report = json.loads(self.ok('data', '--json', '--share', 'w.data', '-i', 'x/m1.onnx',
                                    'x/m2.onnx'))
        self.assertEqual((report['files'], report['unchanged']), (1, 1))
        self.assertEqual(os.stat('x/w.data').st_ino, inode)
        self.assertEqual(sorted(os.listdir('x')), ['m1.onnx', 'm2.onnx', 'w.data'])
        self.bad(2, 'one folder', 'data', '--share', 'w.data', '-i', 'm1.onnx', 'x/m2.onnx')

    def test_unchanged_data(self):
        self.write('a.onnx', rich())
        self.ok('data', 'a.onnx', 'b.onnx')
        node = os.stat('b.onnx.data')
        self.ok('data', '-i', 'b.onnx')
        self.ok('data', '--keep', 'b.onnx', 'c.onnx')
        now = os.stat('b.onnx.data')
        self.assertEqual((node.st_ino, node.st_mtime_ns), (now.st_ino, now.st_mtime_ns))
        self.clean('a.onnx', 'b.onnx', 'b.onnx.data', 'c.onnx', 'in.onnx')
        self.assertTrue(same('a.onnx', 'c.onnx'))
        r = self.run_tool('data', '--align', '128KiB', '-i', 'b.onnx')  # no file is overwritten
        self.assertEqual(r.returncode, 0)
        self.assertIn('b.onnx-1.data', os.listdir('.'))
        self.assertTrue(same('a.onnx', 'b.onnx'))

    def test_missing(self):
        there = w.tensor('there', w.FLOAT, [1024], ramp(1024))
        gone = w.tensor('gone', w.FLOAT, [1024], None, w.external('gone.bin', 0, 4096))
        self.write('a.onnx', w.model(w.graph([], [there, gone], [], [])))
        for args, what in (((), 'data file'), (('--embed',), 'model file')):
            r = self.run_tool('data', *args, 'a.onnx', 'b.onnx')
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(b'1 weight is not available: not moved to the %s' % what.encode(), r.stderr)
            places = {t[0]: t[4] for t in tensors('b.onnx')}
            self.assertEqual(places['gone'], ('gone.bin', 0))
            self.assertEqual(places['there'] is None, bool(args))

    def test_usage(self):
        for args in (('a',), ('--embed', '--shard', '1KiB', 'in.onnx', 'o'), ('--align', '3', 'in.onnx', 'o'),
                     ('--shard', '0', 'in.onnx', 'o'), ('-', 'o'), ('in.onnx', 'in.onnx', 'o'),
                     ('--file', 'a/b', 'in.onnx', 'o.onnx'), ('--file', 'o.onnx', 'in.onnx', 'o.onnx'),
                     ('--shard', '1KiB', '--per-tensor', 'in.onnx', 'o')):
            r = self.run_tool('data', *args)
            self.assertEqual(r.returncode, 2, args)
        self.bad(2, 'has no place for weights', 'data', 'in.onnx', 'o.onnxtxt')
        self.clean('in.onnx')

    def test_part_of_a_file(self):
        """Into another folder only the weights that the model uses are copied, if these are less than
        half of the data file."""
        n = 1 << 16  # 2 MiB in all: a smaller file is copied as it is
        inits = [w.tensor('w%d' % k, w.FLOAT, [n], ramp(n, k)) for k in range(8)]
        nodes = [w.node('Add', ['t%d' % k, 'w%d' % k], ['t%d' % (k + 1)]) for k in range(8)]
        self.write('a.onnx', w.model(w.graph(nodes, inits, [w.value('t0', dims=(n,))],
                                             [w.value('t8', dims=(n,))])))
        self.ok('data', '--file', 'w.data', 'a.onnx', 'b.onnx')
        for name, to, files in (('few', 't6', ['few.onnx', 'few.onnx.data']), ('most', 't2', ['most.onnx', 'w.data'])):
            os.mkdir(name)
            self.ok('extract', '--from', to, 'b.onnx', '%s/%s.onnx' % (name, name))
            self.assertEqual(sorted(os.listdir(name)), files)
            expected = {t[0]: t[3] for t in tensors('a.onnx')}
            found = tensors('%s/%s.onnx' % (name, name))
            self.assertEqual(len(found), 8 - int(to[1]))
            self.assertTrue(all(t[3] == expected[t[0]] for t in found))
        self.assertEqual(os.stat('few/few.onnx.data').st_size, 8 * n)

    def test_sparse_file(self):
        """10 GB of weights that take no room on the disk: memory does not depend on them."""
        n = 5 << 28  # 5 GiB a tensor
        inits = [w.tensor('w%d' % k, w.FLOAT, [n], None, w.external('w.data', k * n * 4, n * 4))
                 for k in (0, 1)]
        self.write('a.onnx', w.model(w.graph([], inits, [], [])))
        with open('w.data', 'wb') as f:
            f.truncate(n * 8)
            f.seek(n * 4)
            f.write(b'other')
        os.mkdir('x')
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.ok('data', '--no-fsync', '--file', 'w.data', 'a.onnx', 'b.onnx')
        self.ok('data', '--no-fsync', '--keep', 'a.onnx', 'c.onnx')
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(max(before, after), 64 << 10)
        self.clean('a.onnx', 'b.onnx', 'c.onnx', 'in.onnx', 'w.data', 'x')
        self.ok('--no-fsync', '--pass', '', 'a.onnx', 'x/b.onnx')  # holes stay holes
        self.assertLess(os.stat('x/w.data').st_blocks << 9, 1 << 20)
        self.assertEqual(os.stat('x/w.data').st_size, n * 8)
        with open('x/w.data', 'rb') as f:
            f.seek(n * 4)
            self.assertEqual(f.read(6), b'other\0')
        self.ok('--no-fsync', '--pass', '', 'a.onnx', 'x/c.onnx')  # the same bytes: the file is shared
        self.assertEqual(sorted(os.listdir('x')), ['b.onnx', 'c.onnx', 'w.data'])
        for name in os.listdir('x'):
            os.unlink('x/' + name)
        self.bad(4, 'must be in data files', 'data', '--embed', 'a.onnx', 'x/b.onnx')
        self.assertEqual(os.listdir('x'), [])


if __name__ == '__main__':
    common.main()
