#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Equal weights of large models: beyond what memory holds. duplicates.py PROGRAM"""
import re

import common
from common import Case, w


class Duplicates(Case):
    def model(self, name, tensors, dims):
        names = [n for n, _ in tensors]
        nodes = [w.node('All', ['x', *names], ['y'], domain='odd.domain')]
        g = w.graph(nodes, [t for _, t in tensors], [w.value('x')], [w.value('y')])
        self.write(name, w.model(g, opsets=(('', 17), ('odd.domain', 1))))

    def inputs_after(self, *args):
        self.ok('--pass', 'dedup', *args)
        node = re.search(rb'((?:\n.(?:x|t\d))+)\x12\x01y', self.read(args[-1])[:4096])
        return [name[1:].decode() for name in node.group(1).split(b'\n')[1:]]

    def test_external(self):
        """In holes of a file: above 1 GiB and other behind the first piece, or at one place; smaller
        ones that are equal. Offsets are above 2^32."""
        size, small, far = (1 << 30) + 4096, 1 << 20, 5 << 30
        with open('w.data', 'wb') as f:
            f.truncate(far + size)
            f.seek(far + 100000)
            f.write(b'\1')

        def at(i, offset, bytes):
            name = 't%d' % i
            place = w.external('w.data', offset, bytes)
            return name, w.tensor(name, w.FLOAT, [bytes // 4], None, place)
        self.model('in.onnx', [at(0, 0, size), at(1, far, size), at(2, 0, size), at(3, far, size),
                               at(4, 4096, small), at(5, far + small, small)], [1])
        self.assertEqual(self.inputs_after('--max-memory', '64MiB', 'in.onnx', 'out.onnx'),
                         ['x', 't0', 't1', 't0', 't1', 't4', 't4'])

    def test_typed(self):
        """Typed lists, larger than the memory that may be taken."""
        n = 17 << 20
        zeros = bytes(4 * n)
        tensors = [('t%d' % i, w.tensor('t%d' % i, w.FLOAT, [n], None, w.sub(4, data)))
                   for i, data in enumerate([zeros, zeros, zeros[:-n] + b'\1' + zeros[1 - n:]])]
        self.model('in.onnx', tensors, [n])
        self.assertEqual(self.inputs_after('--max-memory', '64MiB', 'in.onnx', 'out.onnx'),
                         ['x', 't0', 't0', 't2'])


if __name__ == '__main__':
    common.main()
