#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--check`: what is proven of a run before it is written, and who is blamed. check_each.py PROGRAM"""
import json
import os

import common
from common import Case

HEAD = b'<ir_version: 8, opset_import: ["" : 17]>\n'
CHAIN = HEAD + b'''g (float[N,4] x) => (float[N,4] y) {
  d = Identity (x)  a = Abs (d)  b = Sin (a)  y = Neg (b)
}
'''
# Wrong rules, each in its own way.
RULES = b'''
rule drop-abs { match { y = Abs (x) } emit { y = Neg (x) } }
rule nothing ulp(2) {
  match { y = Sub (x, x) }
  emit opset 12.. {
    c = Clip (x, -1 : dtype(x), 1 : dtype(x))
    d = Clip (x, -1 : dtype(x), 1 : dtype(x))
    y = Sub (c, d)
  }
}
rule third { match { y = Div (x, 3) } emit opset 7.. { y = Mul (x, 0.3333333 : dtype(x)) } }
rule third-ulp ulp(2) {
  match { y = Div (x, 3) }
  emit opset 7.. { y = Mul (x, 0.33333334 : dtype(x)) }
}
rule third-bad ulp(2) {
  match { y = Div (x, 3) }
  emit opset 7.. { y = Mul (x, 0.3334 : dtype(x)) }
}
rule plus-zero { match { y = Add (x, 0) } emit { y = x } }
rule grows { match { y = Tanh (x) } emit { y = Concat <axis = 0> (x, x) } }
'''


class Check(Case):
    def setUp(self):
        super().setUp()
        self.write('w.rules', RULES)
        self.write('chain.onnxtxt', CHAIN)

    def rewrite(self, rule, text, *more):
        """Arguments of a run of one rule on a model."""
        self.write('m.onnxtxt', HEAD + text)
        return (*more, '--rules', 'w.rules', '--pass', 'rewrite{rule=%s}' % rule, 'm.onnxtxt',
                'out.onnxtxt')

    def refused(self, pattern, *args):
        self.bad(1, pattern, *args)
        self.assertFalse(os.path.exists('out.onnxtxt'))

    def test_blame(self):
        pipeline = 'identity,rewrite{rule=drop-abs},fold,prune'
        self.refused(r'^chain.onnxtxt: error: pass "rewrite" changes what is computed \(rewrite 2, rule drop-abs\): output "y" '
                     r"differs from what it was \(by up to [^)]*\); nothing is written \(`onnxsurg bisect` writes the models before and after it\)$",
                     '--check', '--rules', 'w.rules', '--pass', pipeline, 'chain.onnxtxt',
                     'out.onnxtxt')
        self.refused('pass "rewrite" changes', '--check=3', '--rules', 'w.rules', '--pass',
                     'repeat(%s)' % pipeline, 'chain.onnxtxt', 'out.onnxtxt')
        self.ok('--check', '--pass', 'identity,fold,prune', 'chain.onnxtxt', 'out.onnxtxt')

    def test_each(self):
        r = self.run_tool('--check=each', '--json', '--log', 'l', '--map', 'm', '--rules', 'w.rules',
                          '--pass', 'repeat(identity,rewrite{rule=drop-abs},prune)',
                          'chain.onnxtxt', 'out.onnxtxt')
        self.assertEqual(r.returncode, 0)
        lines = r.stderr.decode().splitlines()
        self.assertEqual(len(lines), 2, lines)  # one for each turn: the second finds no change
        for line in lines:
            self.assertRegex(line, r'^chain.onnxtxt: warning: pass "rewrite" is left out: output "y"')
        proof = json.loads(r.stdout)['check']
        self.assertEqual((proof['left_out'], proof['skipped']), (2, 0))
        out = self.read('out.onnxtxt')
        self.assertIn(b'a = Abs (x)', out)
        self.assertNotIn(b'Identity', out)
        log = [json.loads(line) for line in self.read('l').splitlines()]
        self.assertIn({'event': 'pass-end', 'pass': 'rewrite', 'result': 'left out', 'ns': 0}, log)
        self.assertFalse([e for e in log if e.get('op') == 'Neg'])
        self.assertIn('d', [v['old'] for v in json.loads(self.read('m'))['values']])

    def test_other_shape(self):
        self.refused('pass "rewrite" .*output "y" has another type or shape',
                     *self.rewrite('grows', b'g (float[2] x) => (float[?] y) { y = Tanh (x) }',
                                   '--check'))

    def test_adversarial(self):
        """Equal for all numbers but those that are none."""
        less = b'g (float[N] x) => (float[N] y) { y = Sub (x, x) }'
        self.refused('output "y" differs', *self.rewrite('nothing', less, '--check'))

    def test_signed_zero(self):
        plus = b'g (float[40] x) => (float[40] y) <float z = {0}> { y = Add (x, z) }'
        self.refused('output "y" differs', *self.rewrite('plus-zero', plus, '--check=20'))

    def test_exactness(self):
        div = b'g (float[9] x) => (float[9] y) <float t = {3}> { y = Div (x, t) }'
        self.refused('output "y" differs', *self.rewrite('third', div, '--check'))
        self.ok(*self.rewrite('third', div, '--check', '--check-rtol', '1e-5'))
        self.ok(*self.rewrite('third-ulp', div, '--check'))
        os.remove('out.onnxtxt')
        self.refused('output "y" differs', *self.rewrite('third-bad', div, '--check'))
        self.ok(*self.rewrite('third-bad', div, '--check-rtol=1e-2'))

    def test_amplified(self):
        """What rounding alone moves as far is no difference, and no evidence of equality."""
        body = b'g (float[9] x) => (float[9] y, float[9] z) <float t = {3}, float k = {%s}> {' \
               b' d = Div (x, t)  m = Mul (d, k)  y = Cos (m)  z = Neg (d) }'
        self.refused('output "y" differs', *self.rewrite('third-bad', body % b'30', '--check'))
        r = self.run_tool(*self.rewrite('third-ulp', body % b'3e9', '--check', '--summary'))
        self.assertIn(b'not compared: rounding alone moves output "y" as far as it differs',
                      r.stderr)
        self.assertEqual(r.returncode, 0)
        os.remove('out.onnxtxt')
        self.refused('output "z" differs', *self.rewrite('third-bad', body % b'3e9', '--check'))
        floor = b'g (float[9] x) => (int64[9] y) <float t = {3}, float k = {%s}> {' \
                b' d = Div (x, t)  m = Mul (d, k)  f = Floor (m)  y = Cast <to = 7> (f) }'
        self.refused('output "y" differs', *self.rewrite('third-bad', floor % b'1e5', '--check'))

    def test_interface(self):
        text = b'g (float[N,4] x, float k) => (float[N,4] y, float[N,4] z) {' \
               b' a = Abs (x)  b = Mul (a, k)  y = Neg (b)  z = Exp (b) }'
        self.write('m.onnxtxt', HEAD + text)
        for pipeline in ('bind{k=2},fold,prune', 'freeze{N=3},fold,prune', 'dynamic{x.1=W},prune',
                         'outputs{drop=z},prune', 'outputs{keep=z,add=a},bind{k=3},fold,prune', 'ir{to=9}'):
            for how in ('--check', '--check=each'):
                self.ok(how, '--pass', pipeline, 'm.onnxtxt', 'out.onnxtxt')
                os.remove('out.onnxtxt')
            self.refused('pass "rewrite" changes', '--check', '--rules', 'w.rules', '--pass',
                         'identity,%s,rewrite{rule=drop-abs},prune' % pipeline, 'm.onnxtxt',
                         'out.onnxtxt')
            self.refused('pass "rewrite" changes', '--check', '--rules', 'w.rules', '--pass',
                         'rewrite{rule=drop-abs},%s,prune' % pipeline, 'm.onnxtxt', 'out.onnxtxt')

    def test_bound_input_of_old_files(self):
        self.write('m.onnxtxt', b'<ir_version: 3, opset_import: ["" : 9]>\n'
                   b'g (float[2] x, float[1] k) => (float[2] y) { y = Mul (x, k) }')
        self.ok('--check', '--pass', 'bind{k=2},fold', 'm.onnxtxt', 'out.onnxtxt')

    def test_dims(self):
        """What the user says of a symbol holds of what is made up."""
        text = b'g (float[N,4] x) => (float[M,3,4] y) <int64[3] s = {-1, 3, 4}> {' \
               b' i = Identity (x)  y = Reshape (i, s) }'
        self.write('m.onnxtxt', HEAD + text)
        for dim in ('N=6', 'N%3', 'N=7..12'):
            r = self.run_tool('--check', '--json', '--dim', dim, 'm.onnxtxt', 'out.onnxtxt')
            self.assertEqual((r.returncode, r.stderr), (0, b''), dim)
            proof = json.loads(r.stdout)['check']
            self.assertEqual((proof['checked'], 'why' in proof), (4, dim == 'N=7..12'))

    def test_sizes(self):
        """A window larger than what is tried first."""
        text = b'g (float[1,3,H,W] x) => (float[?,?,?,?] y) {' \
               b' i = Identity (x)  y = MaxPool <kernel_shape = [20, 20]> (i) }'
        self.write('m.onnxtxt', HEAD + text)
        proof = json.loads(self.ok('--check', '--json', 'm.onnxtxt', 'out.onnxtxt'))['check']
        self.assertEqual(proof['checked'], 4)

    def test_not_checked(self):
        text = b'g (float[2] x) => (float[2] y) { i = Identity (x)  y = com.acme.Foo (i) }'
        self.write('m.onnxtxt', text.join([b'<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>'
                                           , b'']))
        for how in ('--check', '--check=each'):
            self.bad(0, r'^m.onnxtxt: warning: not checked: .*Foo', how, 'm.onnxtxt', 'out.onnxtxt')
            self.assertNotIn(b'Identity', self.read('out.onnxtxt'))

    def test_random(self):
        """A draw hangs on a name that a pass may change: no difference, and no proof."""
        self.write('m.onnxtxt', HEAD + b'g (float[2] x) => (float[2] y) {'
                   b' r = RandomUniformLike (x)  y = Identity (r) }')
        self.bad(0, 'not checked: output "y" depends on random numbers', '--check', 'm.onnxtxt', 'out.onnxtxt')
        self.assertNotIn(b'Identity', self.read('out.onnxtxt'))
        self.write('m.onnxtxt', HEAD + b'g (float[2] x) => (float[2] y) {'
                   b' r = RandomUniformLike <seed = 3.0> (x)  y = Identity (r) }')
        self.ok('--check', 'm.onnxtxt', 'out.onnxtxt')

    def test_unsorted(self):
        self.write('m.onnxtxt', HEAD + b'g (float[2] x) => (float[2] y) {'
                   b' y = Neg (b)  b = Identity (a)  a = Abs (x) }')
        r = self.run_tool('--check', 'm.onnxtxt', 'out.onnxtxt')
        self.assertEqual(r.returncode, 0)
        self.assertNotIn(b'checked', r.stderr)

    def test_wrong_options(self):
        for wrong in ('0', '1001', 'all', ''):
            self.bad(2, '--check expects', '--check=' + wrong, 'in.onnx', 'out.onnx')
        for wrong in ('x', '-1', ''):
            self.bad(2, '--check-rtol expects', '--check-rtol=' + wrong, 'in.onnx', 'out.onnx')


common.main()
