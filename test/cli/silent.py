#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was asked for by name is done or reported, and reports are whole. silent.py PROGRAM"""
import json
import os
import re
import subprocess

import common
from common import Case

HEAD = '<ir_version: 8, opset_import: ["" : 13]>\n'
TWO = HEAD + '''g (float[N, 3] x, float[N, 3] input) => (float[N, 3] y) {
  a = Add (x, input)
  y = Relu (a)
}
'''


class Silent(Case):
    def text(self, name, text):
        self.write(name, text.encode())
        return name

    def cat(self, name):
        return self.ok('cat', name).decode()

    # --- names that an option bears, too

    def test_attribute_named_like_an_option(self):
        two = self.text('two.onnxtxt', TWO)
        self.ok('insert', '--op', 'Cast', '--at', 'a', '--attribute', 'to=10', two, 'out.onnx')
        self.assertIn('Cast <to = 10> (a)', self.cat('out.onnx'))
        printed = self.ok('--print-pipeline', '--pass', 'insert{op=Cast,at=a,attribute.to=10}')
        self.assertEqual(printed, b'insert{op=Cast,at=a,attribute.to=10}\n')
        # Without a clash the prefix is part of the name.
        printed = self.ok('--print-pipeline', '--pass', 'bind{input.x=1}')
        self.assertEqual(printed, b'bind{input.x=1}\n')

    def test_input_named_like_the_option(self):
        self.text('k.onnxtxt', HEAD + 'g (float[3] x, float input) => (float[3] y) '
                  '{ y = Mul (x, input) }')
        self.ok('bind', '--input=2', 'k.onnxtxt', 'out.onnx')
        self.assertIn('input = raw {2.0}', self.cat('out.onnx'))
        self.ok('bind', '--input=input=3', 'k.onnxtxt', 'out.onnx')
        self.assertIn('input = raw {3.0}', self.cat('out.onnx'))

    # --- pipelines

    def test_form_runs_before_the_pipeline(self):
        two = self.text('two.onnxtxt', HEAD + '''g (float[N, 3] x) => (float[M] y)
            { s = Shape (x)   n = ReduceProd <keepdims = 1> (s)   y = Reshape (x, n) }''')
        self.ok('freeze', '--N=4', '--pass', 'simplify', two, 'out.onnx')
        self.assertNotIn('Shape', self.cat('out.onnx'))
        self.assertEqual(self.ok('freeze', '--N=4', '--pass', 'fold,prune', '--print-pipeline'),
                         b'freeze{N=4},fold,prune\n')
        self.write('p.txt', b'fold # all\n')
        self.assertEqual(self.ok('freeze', '--N=4', '--pass-file', 'p.txt', '--print-pipeline'),
                         b'freeze{N=4},fold\n')

    def test_skipped_passes_are_not_printed(self):
        printed = self.ok('--print-pipeline', '--skip-pass', 'fold', '--pass', 'fold,prune,fold')
        self.assertEqual(printed, b'prune\n')
        printed = self.ok('--print-pipeline', '--skip-pass', 'fold', '--pass', 'simplify').decode()
        self.assertNotRegex(printed, r'\bfold\b')
        printed = self.ok('--print-pipeline', '--skip-pass', 'fold', '--pass',
                          'prune,repeat(guard(fold))')
        self.assertEqual(printed, b'prune\n')
        self.bad(2, r'--skip-pass: error: unknown pass "fodl"; did you mean "fold"',
                 '--print-pipeline', '--skip-pass', 'fodl')

    def test_passes_explains_a_preset(self):
        text = self.ok('passes', 'simplify').decode()
        self.assertIn('repeat{max=8}(', text)
        found = json.loads(self.ok('passes', '--json', 'simplify'))
        self.assertEqual((found['passes'], list(found['presets'])), ([], ['simplify']))

    # --- reports

    def test_log_names_every_event(self):
        self.text('order.onnxtxt', HEAD + '''g (float[3] x) => (float[3] y) {
          y = Relu (a)
          a = acme.Foo (x)
        }'''.replace('acme.', ''))
        self.ok('--pass', 'toposort,map-op{from=Foo,to=Abs}', '--quiet', '--log', 'log.json',
                'order.onnxtxt', 'out.onnx')
        events = [json.loads(line) for line in self.read('log.json').splitlines()]
        names = {e['event'] for e in events}
        self.assertLessEqual({'move', 'set-op'}, names)
        self.assertEqual([e['op'] for e in events if e['event'] == 'set-op'], ['Abs'])

    def test_info_of_several_models_is_json_lines(self):
        two = self.text('two.onnxtxt', TWO)
        lines = self.ok('info', '--json', '--top', '1', two, 'in.onnx').decode().splitlines()
        found = [json.loads(line) for line in lines]
        self.assertEqual([f['file'] for f in found], [two, 'in.onnx'])
        self.assertEqual([f.pop('exit') for f in found], [0, 0])
        self.assertEqual(found[0], json.loads(self.ok('info', '--json', '--top', '1', two)))
        self.assertEqual(found[1], json.loads(self.ok('info', '--json', '--top', '1', 'in.onnx')))

    def test_merge_as_json(self):
        self.text('a.onnxtxt', HEAD + 'g (float[3] x) => (float[3] m) { m = Relu (x) }')
        self.text('b.onnxtxt', HEAD + 'h (float[3] m) => (float[3] y) { y = Neg (m) }')
        found = json.loads(self.ok('merge', '--json', 'a.onnxtxt', 'b.onnxtxt', '-o', 'out.onnx'))
        self.assertEqual(found, {'schema': 1, 'in': ['a.onnxtxt', 'b.onnxtxt'], 'out': 'out.onnx',
                                 'connected': [{'value': 'm', 'input': 'm'}], 'nodes': 2,
                                 'inputs': ['x'], 'outputs': ['y']})
        self.bad(2, r'used for the model and --json', 'merge', '--json', 'a.onnxtxt', 'b.onnxtxt',
                 '-o', '-')

    def test_isolate_as_json(self):
        two = self.text('two.onnxtxt', TWO)
        found = json.loads(self.ok('isolate', '--json', '--node', 'a', two, 'out.onnx'))
        self.assertEqual((found['op'], found['inputs'], found['outputs'], found['data'],
                          found['outputs_written']),
                         ('Add', ['x', 'input'], ['a'], 'test_data_set_0', True))

    def test_cat_as_json(self):
        two = self.text('two.onnxtxt', TWO)
        found = json.loads(self.ok('cat', '--json', two))
        self.assertEqual(found['text'], self.cat(two))

    def test_a_reader_that_leaves_early(self):
        nodes = ''.join('  a%d = Relu (%s)\n' % (i, 'a%d' % (i - 1) if i else 'x')
                        for i in range(9000))
        many = self.text('many.onnxtxt',
                         HEAD + 'g (float[N] x) => (float[N] y) {\n%s  y = Relu (a8999)\n}' % nodes)
        for command in ([], ['--json']):
            run = subprocess.Popen([common.TOOL, 'cat', *command, many], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
            run.stdout.read(10)
            run.stdout.close()
            self.assertEqual((run.stderr.read(), run.wait()), (b'', 3))
            run.stderr.close()

    def test_timeout_is_for_all_runs_together(self):
        two = self.text('two.onnxtxt', TWO)
        self.bad(4, r'out of time|exceeds its time limit', 'run', '--repeat', '1000000', '--timeout',
                 '1', two)

    # --- what was named

    def test_names_without_a_match(self):
        two = self.text('two.onnxtxt', TWO)
        for pipeline, what in (('replace{op=HardSwish}', "node of 'HardSwish'"),
                               ('map-op{from=acme.Foo,to=Abs}', "node of 'acme.Foo'"),
                               ('move-domain{from=acme,to=b}', "node of domain 'acme'"),
                               ('move-domain{from=ai.onnx,to=b,op=Foo}', "node of 'ai.onnx.Foo'"),
                               ('remove-op{op=acme.Relu}',
                                "node of 'acme.Relu'; there is ai.onnx.Relu"),
                               ('rewrite{rule=pads-by-gather}',
                                'place that rule "pads-by-gather" applies to'),
                               ('wrap-casts{op=Conv,types=float}', "node of 'Conv'")):
            self.bad(1, 'not done: pass ".*": the model has no ' + re.escape(what), '--pass',
                     pipeline, two, 'out.onnx')
            os.unlink('out.onnx')  # the rest was done, and is written
        # A pass that finds nothing to do is no error.
        self.ok('--pass', 'prune', two, 'out.onnx')
        r = self.run_tool('--json', '--pass', 'map-op{from=acme.Foo,to=Abs}', two, 'out.onnx')
        run = json.loads(r.stdout)['run']
        self.assertEqual((r.returncode, run['undone_count'], len(run['undone'])), (1, 1, 1))

    # --- summary

    def summary(self, *args):
        r = self.run_tool('--summary', *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stderr.decode()

    def test_summary_of_the_interface(self):
        two = self.text('two.onnxtxt', TWO)
        text = self.summary('--pass', 'outputs{add=a},rename{input.x=image}', two, 'out.onnx')
        self.assertIn('  outputs added: a\n', text)
        self.assertIn('  inputs renamed: x -> image\n', text)
        text = self.summary('--pass', 'outputs{drop=a},prune', 'out.onnx', 'o.onnx')
        self.assertIn('  outputs removed: a\n', text)
        self.assertIn('  prune changed nothing\n', text)
        found = json.loads(self.ok('--json', '--pass', 'outputs{drop=a}', 'out.onnx', 'o.onnx'))
        self.assertEqual(found['interface']['outputs'], {'removed': ['a'], 'added': [],
                                                         'renamed': []})

    def test_sizes_are_fixed_or_assumed(self):
        two = self.text('two.onnxtxt', TWO)
        text = self.summary('--dim', 'N=4', '--pass', 'prune', two, 'out.onnx')
        self.assertNotIn('assumed', text)
        self.assertIn('(float[4, 3] x, float[4, 3] input) => (float[4, 3] y)', self.cat('out.onnx'))
        text = self.summary('--dim', 'N=1..64', '--dim', 'N%4', '--range', 'x=0..1', '--trust',
                            'declared', two, 'out.onnx')
        for line in ('N=1..64', 'N%4', 'x=0..1', 'declared types of unknown operators'):
            self.assertIn('  assumed: %s\n' % line, text)
        self.assertIn('float[N, 3] x', self.cat('out.onnx'))
        found = json.loads(self.ok('--json', '--dim', 'N=1..64', '--range', 'x=0..1', two,
                                   'out.onnx'))
        self.assertEqual(found['assumed'], ['N=1..64', 'x=0..1'])
        # The form of a pass takes them, too, and they come first.
        self.assertEqual(self.ok('fold', '--dim', 'N=4', '--input-shape', 'x:4,3',
                                 '--print-pipeline'), b'freeze{N=4,x=4+3},fold\n')
        self.bad(2, r'--input-shape expects NAME:SIZE', '--input-shape', 'x:4,', two, 'out.onnx')

    # --- comparisons

    def verify(self, code, *args):
        r = self.run_tool('verify', *args)
        self.assertEqual((r.returncode, r.stderr), (code, b''), r.stdout)
        return r.stdout.decode()

    def test_outputs_that_say_nothing(self):
        # Below 5 both are 0 throughout; from another range they differ.
        a = self.text('a.onnxtxt', HEAD + """g (float[4] x) => (float[4] y)
            <float[1] k = {-5}> { a = Add (x, k)   y = Relu (a) }""")
        b = self.text('b.onnxtxt', HEAD + """g (float[4] x) => (float[4] y)
            <float[1] k = {-6}> { a = Add (x, k)   y = Relu (a) }""")
        self.assertIn('equal', self.verify(0, '--fill', 'random', a, a))
        self.assertRegex(self.verify(1, '--fill', 'random', a, b), 'element .* is')
        # NaN whatever is drawn.
        n = self.text('n.onnxtxt', HEAD + """g (float[4] x) => (float[4] y)
            <float[1] k = {nan}> { y = Add (x, k) }""")
        self.assertRegex(self.verify(1, n, n), '(?s)y: every element is NaN.*not checked: no output')
        self.bad(0, r'not checked: output "y" is NaN for all generated inputs', '--check', '--pass', 'prune', n,
                 'out.onnx')

    def test_random_nodes(self):
        a = self.text('a.onnxtxt', HEAD + """g (float[8] x) => (float[8] y, float[8] z)
            { r = RandomUniformLike (x)   y = Add (x, r)   z = Neg (x) }""")
        b = self.text('b.onnxtxt', self.read(a).decode().replace('r =', 's =').replace(', r)',
                                                                                       ', s)'))
        self.assertIn('y: equal', self.verify(0, a, a))
        text = self.verify(0, a, b)
        self.assertIn('y: not comparable: it depends on random numbers', text)
        self.assertIn('z: equal', text)
        self.ok('--check', '--pass', 'rename{value.r=s}', a, 'out.onnx')

    def test_captured_by_branch(self):
        """A branch whose output is a value outside depends on it, although no node of it reads it."""
        a = self.text('a.onnxtxt', HEAD + """g (bool c, float[2] x) => (float[2] y) {
            r = RandomUniform <shape = [2]> ()
            y = If (c) <then_branch = t () => (float[2] r) { },
                        else_branch = e () => (float[2] z) { z = Identity (x) }> }""")
        b = self.text('b.onnxtxt', self.read(a).decode().replace('r =', 'q =').replace(' r)', ' q)'))
        self.assertIn('y: not comparable: it depends on random numbers', self.verify(1, a, b))
        # -1 for every x that is drawn, and yet not a constant.
        a = self.text('a.onnxtxt', HEAD + """g (float[2] x) => (float[2] y)
            <float[2] k = {-1, -1}, float[2] s = {5000, 5000}, bool f = {0}> {
            m = Add (x, s)  n = Min (m, k)
            y = If (f) <then_branch = t () => (float[2] x) { }, else_branch = e () => (float[2] n) { }> }""")
        b = self.text('b.onnxtxt', HEAD + """g (float[2] x) => (float[2] y)
            <float[2] k = {-1, -1}> { y = Identity (k) }""")
        self.assertIn('not checked: no output', self.verify(1, '--fill', 'random', a, b))

    def test_custom_operators(self):
        head = '<ir_version: 8, opset_import: ["" : 13, "acme" : 1]>\n'
        a = self.text('a.onnxtxt', head + 'g (float[8] x) => (float[8] y) { y = Neg (x) }')
        b = self.text('b.onnxtxt', head + 'g (float[8] x) => (float[8] y) { y = acme.Neg (x) }')
        self.assertIn('not comparable: the second model', self.verify(1, a, b))
        self.assertIn('not checked', self.verify(1, b, a))
        self.bad(0, 'not checked: not comparable', '--check', '--pass', 'move-domain{from=ai.onnx,'
                 'to=acme}', a, 'out.onnx')


if __name__ == '__main__':
    common.main()
