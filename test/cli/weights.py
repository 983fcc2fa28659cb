#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Factors, sums and normalizations beside weights that are larger than what a value on the way may
take: nothing of the arithmetic is left in the model. weights.py PROGRAM"""
import json

import common
from common import Case

C, M = 64, 40  # channels that come in and go out: no new bias is larger than what goes
NORM = 'BatchNormalization (%s, s@, b@, m@, v@)'
PAIRS = {  # name: (nodes, weights, other constants)
    'norm, conv': ('t@ = %s\ny@ = Conv <pads = [0, 0, 0, 0]> (t@, w@)' % (NORM % 'x'), 'conv', 'in'),
    'conv, norm': ('t@ = Conv (x, w@)\ny@ = ' + NORM % 't@', 'conv', 'out'),
    'norm, gemm': ('t@ = %s\ny@ = Gemm (t@, w@)' % (NORM % 'r'), 'matrix', 'in'),
    'norm, matmul': ('t@ = %s\ny@ = MatMul (t@, w@)' % (NORM % 'r'), 'matrix', 'in'),
    'gemm, norm': ('t@ = Gemm (r, w@)\ny@ = ' + NORM % 't@', 'matrix', 'out'),
    'groups, norm': ('t@ = ConvTranspose <group = 2> (x, w@)\ny@ = ' + NORM % 't@', 'groups', 'out'),
}
for op in ('Add', 'Sub', 'Mul', 'Div'):
    PAIRS[op + ', conv'] = ('t@ = %s (x, k@)\ny@ = Conv <pads = [0, 0, 0, 0]> (t@, w@)' % op, 'conv', 'in')
    PAIRS['conv, ' + op] = ('t@ = Conv (x, w@)\ny@ = %s (t@, k@)' % op, 'conv', 'out')
    PAIRS['groups, ' + op] = ('t@ = ConvTranspose <group = 2> (x, w@)\ny@ = %s (t@, k@)' % op, 'groups', 'out')
    PAIRS[op + ', gemm'] = ('t@ = %s (r, h@)\ny@ = Gemm (t@, w@)' % op, 'matrix', 'in')
    PAIRS['gemm, ' + op] = ('t@ = Gemm (r, w@)\ny@ = %s (t@, h@)' % op, 'matrix', 'out')
    PAIRS[op + ', matmul'] = ('t@ = %s (r, h@)\ny@ = MatMul (t@, w@)' % op, 'matrix', 'in')
    PAIRS['matmul, ' + op] = ('t@ = MatMul (r, w@)\ny@ = %s (t@, h@)' % op, 'matrix', 'out')
for op in ('Mul', 'Div'):
    PAIRS[op + ', groups'] = ('t@ = %s (x, k@)\ny@ = ConvTranspose <group = 2> (t@, w@)' % op, 'groups', 'in')
DIMS = {'conv': (M, C, 3, 3), 'groups': (C, M // 2, 5, 5), 'matrix': (C * 8, M * 10)}


def constant(name, dims, seed):
    n = 1
    for d in dims:
        n *= d
    data = ', '.join('%.2f' % (0.5 + (i * 7 + seed) % 101 / 60) for i in range(n))
    return 'float[%s] %s = {%s}' % (', '.join(map(str, dims)), name, data)


class Weights(Case):
    def test_all(self):
        nodes, inits = [], []
        for i, (text, kind, side) in enumerate(PAIRS.values()):
            k = str(i)
            width = (C, M)[side == 'out'] * (1 if kind != 'matrix' else 8 if side == 'in' else 10)
            nodes.append(text.replace('@', k))
            inits.append(constant('w' + k, DIMS[kind], i))
            inits += [constant(c + k, dims, i + 9) for c, dims in
                      (('s', (width,)), ('b', (width,)), ('m', (width,)), ('v', (width,)),
                       ('h', (width,)), ('k', (width, 1, 1))) if c + '@' in text]
        model = ('<ir_version: 8, opset_import: ["" : 15]>\ng (float[1, %d, 6, 6] x, float[2, %d] r) => (%s) <%s> {\n%s\n}\n'
                 % (C, C * 8, ', '.join('y%d' % i for i in range(len(nodes))), ', '.join(inits), '\n'.join(nodes)))
        self.write('in.onnxtxt', model.encode())
        report = json.loads(self.ok('--json', '--check', 'in.onnxtxt', 'out.onnx'))
        self.assertEqual(report['after']['nodes'], len(nodes), report['after']['ops'])


if __name__ == '__main__':
    common.main()
