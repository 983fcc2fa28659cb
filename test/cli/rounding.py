#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rounding written as x + M - M stays: whatever M is written as, whatever is around it, the presets
give the bits of the original. M is 1.5 * 2^(digits - 1) of the type, or that times a scale."""
import struct
import sys

import common

M = {'float': 12582912.0, 'double': 6755399441055744.0, 'float16': 1536.0}
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def bits(kind, v):
    """Elements in text: halves are written as their bits."""
    return str(struct.unpack('<H', struct.pack('<e', v))[0]) if kind == 'float16' else repr(v)


def graph(kind, body, constants=None, shape='4, 3'):
    consts = ', '.join(f'{kind}{dims} {name} = {{{", ".join(bits(kind, v) for v in vs)}}}'
                       for name, (dims, vs) in (constants or {}).items())
    return f'{HEAD}g ({kind}[{shape}] x) => ({kind}[{shape}] y) <{consts}> {{\n{body}\n}}\n'


def idioms():
    """(name, model)"""
    for kind, m in M.items():
        k = {'m': ('', [m]), 'n': ('', [-m]), 'v': ('[3]', [m] * 3), 'w': ('[3]', [-m] * 3),
             's': ('', [0.25]), 'i': ('', [4.0]), 'half': ('', [m / 2])}
        steps = {
            'add-sub': 't = Add (x, m) y = Sub (t, m)',
            'add-add': 't = Add (x, m) y = Add (t, n)',
            'add-first': 't = Add (m, x) y = Add (n, t)',
            'sub-add': 't = Sub (x, m) y = Add (t, m)',
            'sub-sub': 't = Sub (x, m) y = Sub (t, n)',
            'from-constant': 't = Sub (m, x) y = Sub (m, t)',
            'negated': 'u = Neg (x) t = Add (u, m) y = Sub (m, t)',
            'vector': 't = Add (x, v) y = Sub (t, v)',
            'mixed': 't = Add (x, v) y = Sub (t, m)',
            'vector-add': 't = Add (x, v) y = Add (t, w)',
            'identity': 'c = Identity (m) t = Add (x, c) d = Identity (c) y = Sub (t, d)',
            'between': 't = Add (x, m) u = Identity (t) r = Reshape (u, to) b = Reshape (r, back) '
                       'y = Sub (b, m)',
            'turned': 't = Add (x, m) u = Transpose <perm = [1, 0]> (t) '
                      'v2 = Transpose <perm = [1, 0]> (u) y = Sub (v2, m)',
            'scaled': 'u = Mul (x, i) t = Add (u, m) r = Sub (t, m) y = Mul (r, s)',
            'divided': 'u = Div (x, s) t = Add (u, m) r = Sub (t, m) y = Mul (r, s)',
            'clipped': 't = Add (x, m) c = Clip (t) y = Sub (c, m)',
            'bounded': 't = Add (x, m) c = Relu (t) y = Sub (c, m)',
            'twice': 't = Add (x, m) u = Sub (t, m) t2 = Add (u, m) y = Sub (t2, m)',
            'in-halves': 't = Add (x, half) u = Add (t, half) y = Sub (u, m)',
            'more': 't = Add (x, m) u = Add (t, s) y = Sub (u, m)',
            'sum': 't = Sum (x, m) y = Sum (t, n)',
        }
        for name, body in steps.items():
            extra = k
            text = graph(kind, body, extra)
            if 'Reshape' in body:
                more = '<int64[2] to = {3, 4}, int64[2] back = {4, 3}, '
                text = text.replace('<' + kind + ' m', more + kind + ' m', 1)
            yield f'{kind} {name}', text
    f = M['float']
    one = {'m': ('', [f]), 'd': ('[4, 3]', [f] * 12), 's': ('', [0.125]),
           'b': ('[3]', [0.1, -0.2, 0.3]), 'wt': ('[3, 3]', [.3, .7, -.2, .5, .1, .9, -.4, .6, .8]),
           'mb': ('[3]', [f] * 3), 'nb': ('[3]', [-f] * 3), 'small': ('', [f / 8])}
    yield 'made by ConstantOfShape', graph(
        'float', 'sh = Shape (x) c = ConstantOfShape <value = float[1] {12582912}> (sh) '
        't = Add (x, c) y = Sub (t, c)')
    yield 'made by Cast', graph(
        'float', 'k = Constant <value = int32 {12582912}> () c = Cast <to = 1> (k) t = Add (x, c) '
        'y = Sub (t, c)')
    yield 'made by Mul', graph(
        'float', 'c = Mul (m, s) t = Add (x, c) y = Sub (t, c)', one)
    yield 'made by Expand', graph(
        'float', 'sh = Shape (x) c = Expand (m, sh) t = Add (x, c) y = Sub (t, c)', one)
    yield 'scaled by eight', graph('float', 't = Add (x, small) y = Sub (t, small)', one)
    yield 'after MatMul', graph('float', 'p = MatMul (x, wt) t = Add (p, m) y = Sub (t, m)', one)
    yield 'after MatMul, by column', graph(
        'float', 'p = MatMul (x, wt) t = Add (p, mb) y = Add (t, nb)', one)
    yield 'after Gemm', graph('float', 'p = Gemm (x, wt, b) t = Add (p, mb) y = Sub (t, mb)', one)
    yield 'after Gemm with a bias of its own', graph(
        'float', 'p = Gemm (x, wt, mb) y = Sub (p, mb)', one)
    yield 'before MatMul', graph('float', 't = Add (x, m) u = Sub (t, m) y = MatMul (u, wt)', one)
    yield 'in a loop', HEAD + '''g (float[4, 3] x) => (float[4, 3] y) <float m = {12582912}, int64 n = {3}> {
  y = Loop (n, "", x) <body = b (int64 i, bool on, float[4, 3] s) => (bool go, float[4, 3] r) {
    go = Identity (on)
    h = Constant <value = float {0.75}> ()
    u = Mul (s, h)
    t = Add (u, m)
    r = Sub (t, m)
  }>
}
'''
    yield 'in a branch', HEAD + '''g (float[4, 3] x, bool c) => (float[4, 3] y) <float m = {12582912}> {
  y = If (c) <then_branch = a () => (float[4, 3] r) { t = Add (x, m) r = Sub (t, m) },
              else_branch = b () => (float[4, 3] q) { u = Sub (x, m) q = Add (u, m) }>
}
'''
    conv = {'w': ('[2, 1, 1, 1]', [0.3, 0.7]), 'z': ('[2]', [0.1, 0.2]),
            'm': ('[2, 1, 1]', [f] * 2), 'mz': ('[2]', [f] * 2)}
    for name, body in {
            'after Conv': 'c = Conv (x, w) t = Add (c, m) y = Sub (t, m)',
            'after Conv with a bias': 'c = Conv (x, w, z) t = Add (c, m) y = Sub (t, m)',
            'after Conv with M as bias': 'c = Conv (x, w, mz) y = Sub (c, m)'}.items():
        text = graph('float', body, conv, '1, 1, 4, 4')
        yield name, text.replace('=> (float[1, 1,', '=> (float[1, 2,')
    yield 'in a function', '''<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[4, 3] x) => (float[4, 3] y) { y = f.R (x) }
<domain: "f", opset_import: ["" : 17]>
R (a) => (r) {
  m = Constant <value = float {12582912}> ()
  t = Add (a, m)
  r = Sub (t, m)
}
'''


class Rounding(common.Case):
    def test_idioms(self):
        for name, text in idioms():
            with self.subTest(name):
                self.write('m.onnxtxt', text.encode())
                self.ok('--pass', 'simplify,fuse', 'm.onnxtxt', 'out.onnxtxt')
                self.ok('verify', '--fill', 'random', '--rtol', '0', '--atol', '0', 'm.onnxtxt',
                        'out.onnxtxt')

    def test_that_it_can_fail(self):
        for body in ['t = Add (x, m) y = Sub (t, m)', 'y = Identity (x)']:
            text = graph('float', body, {'m': ('', [M['float']])})
            self.write(body[0] + '.onnxtxt', text.encode())
        r = self.run_tool('verify', '--fill', 'random', '--rtol', '0', '--atol', '0', 't.onnxtxt',
                          'y.onnxtxt')
        self.assertEqual(r.returncode, 1)


if __name__ == '__main__':
    sys.exit(common.main())
