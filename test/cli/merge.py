#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two models as one. merge.py PROGRAM"""
import os

import common
from common import Case

A = b'''<ir_version: 8, opset_import: ["" : 17]>
a (float[N,4] x) => (float[N,4] y, float[N,4] more) <float[4] w = {1,2,3,4}> {
  [n] t = Mul (x, w)
  y = Neg (t)
  more = Abs (t)
}
'''
B = b'''<ir_version: 9, opset_import: ["" : 17, "local" : 1], metadata_props: ["k" : "v"]>
b (float[N,4] u, float[4] bias, bool c) => (float[N,4] z, float[N,4] out)
   <float[4] w = {5,6,7,8}, float[4] bias = {0,0,0,1}> {
  [n] t = Mul (u, w)
  s = Add (t, bias)
  z = If (c) <
    then_branch = th () => (float[N,4] p) { i = Neg (s)  p = local.f <k = 2> (i) },
    else_branch = el () => (float[N,4] q) { q = Identity (s) }
  >
  out = local.f (u)
}
<domain: "local", opset_import: ["" : 17]>
f <k: int = 1> (a) => (b) { t = Abs (a)  b = Softmax <axis: int = @k> (t) }
'''


class Merge(Case):
    def setUp(self):
        super().setUp()
        self.write('a.onnxtxt', A)
        self.write('b.onnxtxt', B)

    def merge(self, *args, a='a.onnxtxt', b='b.onnxtxt'):
        self.ok('merge', a, b, '-o', 'o.onnxtxt', *args)
        return self.read('o.onnxtxt').decode()

    def test_names_in_custom_operators(self):
        """An operator that ONNX does not define may look for inputs of its graphs by name."""
        text = b'''<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[N] ids) => (float[N] y) {
  k = Neg (ids)
  y = com.acme.Search <body = b (float[N] ids) => (float[N] logits) { a = Add (ids, k)  logits = Mul (a, k) }> (k)
}
'''
        self.write('s.onnxtxt', text)
        self.write('t.onnxtxt', text)
        self.ok('merge', '--side-by-side', 's.onnxtxt', 't.onnxtxt', '-o', 'two.onnx')
        self.ok('merge', '--connect', 'y:ids', '--prefix', 'p/', 's.onnxtxt', 't.onnxtxt', '-o', 'chain.onnx')
        for name in ('two.onnx', 'chain.onnx'):
            self.ok('check', '--quiet', name)
            out = self.ok('cat', name).decode()
            self.assertEqual(out.count('b (float[N] ids) => (float[N] logits)'), 2, out)

    def test_connect(self):
        text = self.merge('--connect', 'y:u')
        self.assertIn('a (float[N, 4] x, float[4] bias, bool c) => '
                      '(float[N, 4] more, float[N, 4] z, float[N, 4] out)', text)
        self.assertIn('float[4] w = {1.0, 2.0, 3.0, 4.0}', text)
        self.assertRegex(text, r'float\[4\] w_\d+ = raw \{5.0, 6.0, 7.0, 8.0\}')
        self.assertRegex(text, r'\[n\] t_\d+ = Mul \(y, w_\d+\)')
        self.assertIn('float[4] bias = raw {0.0, 0.0, 0.0, 1.0}', text)
        self.assertIn('out = local.f (y)', text)
        self.assertIn('b = Softmax <axis: int = @k> (', text)
        self.assertIn('f <k = 1> (a) => (b)', text)
        self.assertIn('"k": "v"', text)
        self.assertIn('ir_version: 9', text)
        self.ok('check', 'o.onnxtxt')

    def test_one_function(self):
        text = self.merge('--connect', 'z:u', '--prefix', 'p', a='b.onnxtxt')
        self.assertEqual(text.count('f <k = 1> (a) => (b)'), 1)
        self.assertEqual(text.count('local.f ('), 2)
        self.ok('check', 'o.onnxtxt')

    def test_keep_outputs(self):
        self.assertIn('=> (float[N, 4] y, float[N, 4] more, float[N, 4] z',
                      self.merge('--connect', 'y:u', '--keep-outputs'))

    def test_prefix(self):
        text = self.merge('--connect', 'more:u', '--prefix', 'b/')
        self.assertIn('["b/n"] "b/t" = Mul (more, "b/w")', text)
        self.assertIn('bool "b/c"', text)
        self.assertIn('float[N, 4] "b/z"', text)
        self.assertIn('"b/i" = Neg ("b/s")', text)

    def test_inner_value_and_names(self):
        self.assertIn('out = local.f (t)', self.merge('--connect', 't:u'))
        self.write('c.onnxtxt', B.replace(b' u', b' y').replace(b'(u', b'(y'))
        self.assertIn('out = local.f (y)', self.merge(b='c.onnxtxt'))

    def test_colons(self):
        self.write('c.onnxtxt', A.replace(b' y', b' "y:0"'))
        self.write('d.onnxtxt', B.replace(b' u', b' "u:0"').replace(b'(u', b'("u:0"'))
        self.assertIn('out = local.f ("y:0")',
                      self.merge('--connect', 'y:0:u:0', a='c.onnxtxt', b='d.onnxtxt'))

    def test_straight_through(self):
        self.write('c.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'c (float[N,4] u) => (float[N,4] u, float[N,4] v) { v = Abs (u) }')
        text = self.merge('--connect', 'y:u', b='c.onnxtxt')
        self.assertIn('u = Identity (y)', text)
        self.assertIn('=> (float[N, 4] more, float[N, 4] u, float[N, 4] v)', text)

    def test_straight_through_without_identity(self):
        """Only an Identity could give the output, and it is no operator of ONNX."""
        head, body = '<ir_version: 8, opset_import: [%s]>\n', 'g (float[N] %s) => (float[N] %s) { %s }\n'
        own = '<domain: "", opset_import: ["" : 17]>\nIdentity (a) => (b) { b = Neg (a) }\n'
        for imports, more in (('"acme" : 1', ''), ('"acme" : 1, "" : 17', own)):
            for name, args in (('p.onnxtxt', ('x', 'y', 'y = acme.Foo (x)')),
                               ('q.onnxtxt', ('u', 'u', ''))):
                text = head % imports + body % args + (more if name == 'p.onnxtxt' else '')
                self.write(name, text.encode())
            self.bad(1, r'output "u" is an input that is connected: only an Identity', 'merge',
                     'p.onnxtxt', 'q.onnxtxt', '--connect', 'y:u', '-o', 'o.onnx')

    def test_external_data(self):
        big = b'<ir_version: 8, opset_import: ["" : 17]>\n' \
              b'c (float[400] u) => (float[400] v) <float[400] w = {' + \
              b','.join(b'%d' % i for i in range(400)) + b'}> { v = Add (u, w) }'
        self.write('c.onnxtxt', big)
        self.write('d.onnxtxt', big.replace(b' u', b' s').replace(b'(u', b'(s')
                   .replace(b' v', b' z'))
        os.mkdir('sub')
        for name in 'cd':
            self.ok('--pass', '', '--external-data', 'w.bin', name + '.onnxtxt',
                    'sub/%s.onnx' % name)
        self.ok('merge', 'sub/c.onnx', 'sub/d.onnx', '-o', 'o.onnx', '--connect', 'v:s',
                '--external-data', 'all.bin')
        self.assertEqual(os.path.getsize('all.bin'), 1600)  # equal weights are stored once
        self.ok('--pass', '', 'o.onnx', 'o.onnxtxt')
        self.assertEqual(self.read('o.onnxtxt').count(b'Add ('), 2)
        self.ok('run', 'o.onnx')

    def refused(self, code, pattern, *args, a='a.onnxtxt', b='b.onnxtxt'):
        self.bad(code, pattern, 'merge', a, b, '-o', 'o.onnx', *args)
        self.assertFalse(os.path.exists('o.onnx'))

    def test_refused(self):
        self.refused(2, r'no output of the first model has the name of an input')
        self.refused(2, r'a.onnxtxt: error: has no value "q" to connect', '--connect', 'q:u')
        self.refused(2, r'b.onnxtxt: error: has no input "t" to connect', '--connect', 'y:t')
        self.refused(2, r'input "u" is connected twice', '--connect', 'y:u', '--connect', 't:u')
        self.refused(2, r'--connect expects VALUE:INPUT', '--connect', 'y')
        self.refused(1, r'input "bias" expects .*, but "y" of .* is ', '--connect', 'y:bias')
        self.write('c.onnxtxt', B.replace(b'17', b'16'))
        self.refused(1, r'c.onnxtxt: error: is of opset 16 .*`onnxsurg --opset 17`', '--connect',
                     'y:u', b='c.onnxtxt')
        self.write('c.onnxtxt', B.replace(b' z', b' more'))
        self.refused(1, r'output "more": .*give a prefix', '--connect', 'y:u', b='c.onnxtxt')
        self.write('c.onnxtxt', B.replace(b'Abs (a)', b'Neg (a)'))
        self.refused(1, r'both models have another function "f"', '--connect', 'z:u', '--prefix',
                     'p', a='b.onnxtxt', b='c.onnxtxt')
        self.write('c.onnxtxt', b'<ir_version: 3, opset_import: ["" : 17]>\n'
                   b'c (float[N,4] u) => (float[N,4] v) { v = Abs (u) }')
        self.refused(1, r'is of IR version 3, .*`onnxsurg ir --to 8`', '--connect', 'y:u',
                     b='c.onnxtxt')
        self.refused(3, r'nope: error', b='nope')
        self.bad(1, r'a.onnxtxt: error: is not a manifest of parts', 'merge', 'a.onnxtxt', '-o', 'o.onnx')
        self.bad(2, r'merge expects two models', 'merge', '-o', 'o.onnx')
        self.bad(3, r'nope: error: cannot read: No such file', 'merge', 'nope', '-o', 'o.onnx')
        self.bad(3, r'\.: error: is not a file', 'merge', '.', '-o', 'o.onnx')
        self.bad(2, r'no output given', 'merge', 'a.onnxtxt', 'b.onnxtxt')


if __name__ == '__main__':
    common.main()
