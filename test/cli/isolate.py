#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`isolate` from the side of a user. isolate.py PROGRAM"""
import os
import shutil

import common
from common import EXAMPLE, Case

HEAD = '<ir_version: 8, opset_import: ["" : 17%s]>\n'
NESTED = HEAD % '' + '''g (float[2] x, bool c) => (float[2] y) <float half = {0.5}, int64 three = {3}> {
  d = Add (x, x)
  [if] p = If (c) <then_branch = t () => (r) { [mul] r = Mul (d, half) },
                   else_branch = e () => (s) { [neg] s = Neg (d) }>
  [loop] y = Loop (three, c, p) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] n)
    { on = Identity (go) [step] n = Add (s, d) }>
}
'''
CALLS = HEAD % ', "local" : 1' + '''calls (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, 2, 3}> {
  [call] a = local.outer <k = 1> (x, w)
  y = Neg (a)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
outer <k> (a, b) => (c) { m = local.inner (a, b) [soft] c = Softmax <axis: int = @k> (m) }
<domain: "local", opset_import: ["" : 17]>
inner (a, b) => (c) { c = Mul (a, b) }
<domain: "local", opset_import: ["" : 17]>
idle (a) => (c) { c = Neg (a) }
'''

LISTS = HEAD % ', "local" : 1' + '''lists (seq(float[N]) s, optional(float[2]) o, float[2] x,
        bool c, int64 k) => (float[?] y, float[2] z, float[2] w, int64 n, seq(float[?]) q)
        <float half = {0.5}> {
  d = Add (x, x)
  [len] n = SequenceLength (s)
  [ins] q = SequenceInsert (s, d)
  [cat] y = ConcatFromSequence <axis = 0> (q)
  [get] z = OptionalGetElement (o)
  zero = Sub (k, k)
  [if] w = If (c) <
    then_branch = t () => (r) { [at] a = SequenceAt (s, zero) [call] r = local.f (a, d) },
    else_branch = e () => (r2) { [has] h = OptionalHasElement (o)
      [deep] r2 = If (h) <then_branch = t2 () => (r3) { [cap] r3 = Mul (d, half) },
                          else_branch = e2 () => (r4) { [not] r4 = Neg (d) }> }>
}
<domain: "local", opset_import: ["" : 17]>
f (a, b) => (c) {
  [fm] m = Mul (a, b) [fq] q = SequenceConstruct (m, a) zero = Constant <value_int = 0> ()
  [fs] c = SequenceAt (q, zero)
}
'''

class Isolate(Case):
    def setUp(self):
        super().setUp()
        self.write('lists.onnxtxt', LISTS.encode())
        self.write('nested.onnxtxt', NESTED.encode())
        self.write('calls.onnxtxt', CALLS.encode())

    def isolate(self, node, model, *more):
        """Isolates, runs what came out against its data, and gives its text."""
        shutil.rmtree('out', ignore_errors=True)
        os.mkdir('out')
        told = self.ok('isolate', '--node', node, *more, model, 'out/m.onnx').decode()
        self.assertIn('data in out/test_data_set_0', told)
        data = ('--inputs', 'out/test_data_set_0', '--expect', 'out/test_data_set_0')
        self.ok('run', '--rtol', '0', '--atol', '0', *data, 'out/m.onnx')
        self.ok('check', '--quiet', 'out/m.onnx')
        return self.ok('cat', 'out/m.onnx').decode()

    def test_plain(self):
        text = self.isolate('conv', str(EXAMPLE))
        self.assertIn('Conv', text)
        self.assertEqual(sorted(os.listdir('out/test_data_set_0')), ['input_0.pb', 'output_0.pb'])
        for name in ('0', 'graph.node[0]', 'graph.node[0] "conv" (Conv)', 'features'):
            self.assertEqual(self.isolate(name, str(EXAMPLE)), text)
        self.bad(3, 'is there already', 'isolate', '--node', 'conv', str(EXAMPLE), 'out/n.onnx')

    def test_given(self):
        os.mkdir('d')
        self.ok('run', '--fill', 'arange', '--out', 'd', '--format', 'pb', '--all', 'in.onnx')
        os.rename('d/a.pb', 'd/input_0.pb')
        self.isolate('b', 'in.onnx', '--inputs', 'd')
        with open('out/test_data_set_0/input_0.pb', 'rb') as a, open('d/input_0.pb', 'rb') as b:
            self.assertEqual(a.read(), b.read())

    def test_subgraphs(self):
        text = self.isolate('if', 'nested.onnxtxt')
        self.assertIn('float half', text)
        self.assertRegex(text, r'\(bool c, float\[2\] d\) => \(float\[2\] p\)')
        self.isolate('loop', 'nested.onnxtxt')
        self.isolate('mul', 'nested.onnxtxt', '--fill', 'ones')
        self.isolate('graph.node[1] "if" (If).then_branch.node[0]', 'nested.onnxtxt', '--fill',
                     'ones')
        turns = []
        for k in '012':
            self.isolate('step', 'nested.onnxtxt', '--fill', 'ones', '--turn', k)
            turns.append(self.ok('run', '--inputs', 'out/test_data_set_0', 'out/m.onnx'))
        self.assertEqual(turns, [b'n: float[2] {%d, %d}\n' % (n, n) for n in (3, 5, 7)])

    def test_functions(self):
        text = self.isolate('call', 'calls.onnxtxt')
        self.assertIn('outer', text)
        self.assertIn('inner', text)
        self.assertNotIn('idle', text)
        text = self.isolate('soft', 'calls.onnxtxt')
        self.assertRegex(text, r'Softmax <axis(: int)? = 1>')
        self.assertNotIn('outer', text)

    def test_lists(self):
        """Sequences and optionals as what a node reads and makes, in the main graph, captured by
        branches two deep, and in a function."""
        for node, inputs in (('len', r'seq\(float(\[\S*\])?\) s'), ('ins', r'seq\(.* s, float\[2\] d'),
                             ('cat', r'seq\(.* q'), ('get', r'optional\(.* o')):
            text = self.isolate(node, 'lists.onnxtxt')
            self.assertRegex(text, r'isolated \(%s\) =>' % inputs)
        # the whole If reads what its branches do, and brings the function along
        text = self.isolate('if', 'lists.onnxtxt', '--fill', 'ones')
        self.assertRegex(text, r'isolated \(bool c, seq\(.*\) s, int64 zero, float\[2\] d, optional\(.*\) o\)')
        self.assertIn('float half', text)
        self.assertIn('domain: "local"', text)
        for node, fill in (('at', 'ones'), ('call', 'ones'), ('has', 'zeros'), ('deep', 'zeros'),
                           ('cap', 'zeros'), ('fm', 'ones'), ('fq', 'ones'), ('fs', 'ones')):
            self.isolate(node, 'lists.onnxtxt', '--fill', fill)
        self.assertIn('half', self.isolate('cap', 'lists.onnxtxt', '--fill', 'zeros'))
        os.mkdir('far')
        self.bad(1, 'the type of "a" is unknown, and the run fails before the node',
                 'isolate', '--node', 'fm', '--fill', 'zeros', 'lists.onnxtxt', 'far/m.onnx')
        self.assertEqual(os.listdir('far'), [])

    def test_not_computed(self):
        self.write('c.onnxtxt', (HEAD % ', "c" : 1' + '''g (float[2] x) => (y) {
            a = Neg (x) [odd] b = c.Foo <k = 3> (a) [rest] y = Relu (b) }''').encode())
        os.mkdir('out')
        r = self.run_tool('isolate', '--node', 'odd', 'c.onnxtxt', 'out/m.onnx')
        self.assertEqual(r.returncode, 0)
        self.assertIn(b'its outputs are not written', r.stderr)
        self.assertEqual(os.listdir('out/test_data_set_0'), ['input_0.pb'])
        self.assertIn(b'c.Foo <k = 3> (a)', self.ok('cat', 'out/m.onnx').replace(b': int', b''))
        os.mkdir('far')
        self.bad(1, 'the type of "b" is unknown', 'isolate', '--node', 'rest', 'c.onnxtxt',
                 'far/m.onnx')
        r = self.run_tool('isolate', '--node', 'neg', '--fill', 'ones', 'nested.onnxtxt',
                          'far/m.onnx')  # the other branch is taken
        self.assertEqual(r.returncode, 0)
        self.assertIn(b'no data is written: the run does not reach the node', r.stderr)
        self.assertEqual(os.listdir('far'), ['m.onnx'])

    def test_usage(self):
        run = ('isolate', '--node')
        self.bad(2, 'no node "cnov"; did you mean "conv"', *run, 'cnov', str(EXAMPLE), 'o.onnx')
        for place in ('99', 'graph.node[99]', 'graph.node[0].body', 'function[7].node[0]', ''):
            self.bad(2, 'no node|no place|empty address', *run, place, 'nested.onnxtxt', 'o.onnx')
        self.write('two.onnxtxt', (HEAD % '' + '''g (float[2] x) => (y)
            { [n] a = Neg (x) [n] y = Neg (a) }''').encode())
        self.bad(2, r'2 nodes are named "n".*graph.node\[0\]', *run, 'n', 'two.onnxtxt',
                 'o.onnx')
        self.bad(2, 'expects a node and two files', 'isolate', 'two.onnxtxt', 'o.onnx')
        self.bad(2, 'built-in engine', *run, '0', '--engine', 'ort', 'two.onnxtxt', 'o.onnx')
        self.bad(3, 'its folder does not exist', *run, '0', 'two.onnxtxt', 'none/o.onnx')

    def test_nothing_is_left_of_a_failure(self):
        os.makedirs('out/folder')
        self.bad(3, '^out/folder: error: ', 'isolate', '--node', 'conv', str(EXAMPLE), 'out/folder')
        self.assertEqual(os.listdir('out'), ['folder'])
        self.bad(2, 'OUT must be a file', 'isolate', '--node', 'conv', str(EXAMPLE), '-')
        self.clean('calls.onnxtxt', 'in.onnx', 'lists.onnxtxt', 'nested.onnxtxt', 'out')

    def test_external_data(self):
        self.ok('--pass', '', '--external-data', 'w.data', 'in.onnx', 'ext.onnx')
        self.isolate('2', 'ext.onnx')


if __name__ == '__main__':
    common.main()
