#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs in graphs and chains of nodes, on a small stack. depth.py PROGRAM"""
import json
import resource

import common
from common import Case, w


def limit_stack():
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    small = 256 << 10
    if soft == resource.RLIM_INFINITY or soft > small:
        resource.setrlimit(resource.RLIMIT_STACK, (small, hard))


class Depth(Case):
    @classmethod
    def setUpClass(cls):
        limit_stack()

    def ifs(self, n):
        """n Ifs in each other; one branch of each is the next."""
        step = w.node('Neg', ['x'], ['o0'])
        for k in range(1, n + 1):
            then = w.graph([step], [], [], [w.value('o%d' % (k - 1))], name='then')
            other = w.graph([w.node('Abs', ['x'], ['e%d' % k])], [], [], [w.value('e%d' % k)],
                            name='else')
            step = w.node('If', ['c'], ['o%d' % k], w.a_graph('then_branch', then),
                          w.a_graph('else_branch', other))
        g = w.graph([step], [], [w.value('x'), w.value('c', w.BOOL, ())], [w.value('o%d' % n)])
        self.write('ifs.onnx', w.model(g))

    def nodes(self, *args):
        return json.loads(self.ok('--json', *args))['after']['nodes']

    def test_graphs(self):
        self.ifs(33)
        self.assertEqual(self.nodes('ifs.onnx', 'out.onnx'), 67)
        self.ifs(1000)
        self.bad(4, 'deeper than 110 levels', 'ifs.onnx', 'out.onnx')
        self.assertEqual(self.nodes('--max-depth', '4000', 'ifs.onnx', 'out.onnx'), 2001)
        self.ok('check', '--max-depth=4000', 'out.onnx')
        self.bad(2, '1 to 4000', '--max-depth', '4001', 'ifs.onnx', 'out.onnx')

    def chain(self, op, n, attrs, inits=(), more=()):
        def inputs(i):
            return ['t%d' % i] + ([more[i % len(more)]] if more else [])
        nodes = [w.node(op, inputs(i), ['t%d' % (i + 1)], *attrs(i)) for i in range(n)]
        nodes.append(w.node('Neg', ['t%d' % n], ['y']))
        self.write('chain.onnx', w.model(w.graph(
            nodes, inits, [w.value('t0', w.FLOAT, (2, 3, 4))],
            [w.value('y', w.FLOAT, (2, 3, 4))])))

    def test_chains(self):
        turns = ((1, 2, 0), (2, 0, 1), (1, 2, 0), (2, 0, 1))
        self.chain('Transpose', 10000, lambda i: (w.a_ints('perm', *turns[i % 4]),))
        self.assertEqual(self.nodes('chain.onnx', 'out.onnx'), 1)
        self.chain('Relu', 10000, lambda i: ())
        self.assertEqual(self.nodes('chain.onnx', 'out.onnx'), 2)
        shapes = ((6, 4), (24,), (2, 12), (2, 3, 4))
        inits = [w.tensor('s%d' % i, w.INT64, [len(s)], w.longs(*s)) for i, s in enumerate(shapes)]
        self.chain('Reshape', 10000, lambda i: (), inits, ['s0', 's1', 's2', 's3'])
        self.assertEqual(self.nodes('chain.onnx', 'out.onnx'), 1)

    def test_equal_initializers(self):
        count = 100000
        inits = [w.tensor('w%d' % i, w.FLOAT, [4], w.floats(1, 2, 3, 4)) for i in range(count)]
        g = w.graph([w.node('Sum', ['x'] + ['w%d' % i for i in range(count)], ['y'])], inits,
                    [w.value('x', w.FLOAT, (4,))], [w.value('y', w.FLOAT, (4,))])
        self.write('many.onnx', w.model(g))
        told = json.loads(self.ok('--json', 'many.onnx', 'out.onnx'))
        self.assertEqual(told['after']['initializers'], 1)


if __name__ == '__main__':
    common.main()
