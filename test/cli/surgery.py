#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What options of a run do, what it reports, and `reduce`. surgery.py PROGRAM"""
import json
import os
import pathlib
import shlex
import signal
import stat
import subprocess
import time

import common
from common import Case, EXAMPLE


PIPELINE = 'prune,fold,identity,prune'


class Runs(Case):
    def setUp(self):
        super().setUp()
        self.ok('--pass', '', str(EXAMPLE), 'cnn.onnx')

    def ops(self, path):
        return self.info(path)['ops']

    def test_pipelines(self):
        preset = self.ok('--print-pipeline').rstrip(b'\n')
        self.assertTrue(preset.startswith(b'imports,guard(prune,'), preset)
        self.assertEqual(self.ok('--print-pipeline', '--pass', preset.decode()), preset + b'\n')
        self.assertEqual(self.ok('--print-pipeline', '--pass', ' repeat{max=3}( simplify ) , ir '),
                         b'repeat{max=3}(' + preset + b'),ir\n')
        self.write('p.txt', b'# what engines like\r\nfold, # constants\n  prune\n\n')
        self.assertEqual(self.ok('--print-pipeline', '--pass-file', 'p.txt'), b'fold,prune\n')
        self.ok('--pass-file', 'p.txt', 'cnn.onnx', 'a.onnx')
        self.ok('--pass', 'fold,prune', 'cnn.onnx', 'b.onnx')
        self.assertEqual(self.read('a.onnx'), self.read('b.onnx'))

    def test_there_and_back(self):
        """What is set or renamed back is the same file, byte for byte."""
        self.write('m.onnx', common.model_bytes())
        before = self.read('m.onnx')
        there = ('rename --prefix zz/', 'set --node a --name new', 'set --node op=Neg --op Abs',
                 'set --value y --doc text', 'set --producer me', 'reorder --outputs y',
                 'swap --of y.input[0],y.input[1]')
        back = ('rename --match ^zz/ --by ""', 'set --node new --name ""', 'set --node op=Abs --op Neg',
                'set --value y --doc ""', 'set --producer ""', 'reorder --outputs y',
                'swap --of y.input[0],y.input[1]')
        for forth, again in zip(there, back):
            with self.subTest(edit=forth):
                self.ok(*shlex.split(forth), '--quiet', 'm.onnx', 'a.onnx')
                self.ok(*shlex.split(again), '--quiet', 'a.onnx', 'b.onnx')
                self.assertEqual(self.read('b.onnx'), before)

    def test_many_domains_without_import(self):
        nodes = ''.join('  y%d = d%d.Foo (x)\n' % (i, i) for i in range(1003))
        self.write('many.onnxtxt', ('<ir_version: 8, opset_import: ["" : 17]>\n'
                                    'g (float[2] x) => (float[2] y0) {\n%s}\n' % nodes).encode())
        self.bad(0, r'^many.onnxtxt: warning: domains left without an import: 4, for there are 1000',
                 '--pass', 'imports', 'many.onnxtxt', 'out.onnx')
        text = self.ok('cat', 'out.onnx').decode()
        self.assertIn('"d998" : 1', text)
        self.assertNotIn('"d999" : 1', text)

    def test_pass_file_faults(self):
        self.write('p.txt', b'# x\nfodl')
        self.bad(2, r'^p.txt: error: column \d+: unknown pass "fodl"', '--pass-file', 'p.txt',
                 'cnn.onnx', 'o')
        self.bad(3, r'^nope: error: cannot open: No such file', '--pass-file', 'nope', 'cnn.onnx',
                 'o')
        self.bad(3, r'^\.: error: Is a directory', '--pass-file', '.', 'cnn.onnx', 'o')
        self.write('p.txt', b'fold\0,prune')
        self.bad(3, r'^p.txt: error: is not the text of a pipeline', '--pass-file', 'p.txt', 'cnn.onnx', 'o')

    def test_record(self):
        self.ok('--record', '--pass', 'prune', 'cnn.onnx', 'out.onnx')
        text = self.ok('cat', 'out.onnx').decode()
        self.assertIn('"onnxsurg.pipeline": "prune"', text)
        self.assertRegex(text, r'"onnxsurg.version": "\d')
        self.ok('--pass', 'prune', 'cnn.onnx', 'plain.onnx')
        self.assertNotIn(b'onnxsurg.pipeline', self.read('plain.onnx'))

    def test_dims(self):
        self.write('n.onnxtxt', b'<ir_version: 8, opset_import: ["": 17]>\n'
                   b'g (float[N,H] x) => (float[?] y) <float[3] f> { a = Transpose(x)\n'
                   b'b = Relu(a)\n f = Foreign(b)\n y = Neg(f) }')
        def shapes(*options):
            self.ok(*options, '--pass', 'shapes', 'n.onnxtxt', 'out.onnxtxt')
            return self.read('out.onnxtxt').decode()
        self.assertIn('float[H, N] a', shapes())
        self.assertIn('float[8, 4] a', shapes('--dim', 'N=4', '--dim', 'H=8'))
        self.assertIn('float[H, N] a', shapes('--dim', 'N=1..8', '--dim', 'H%4'))
        self.assertNotIn('float[3] y', shapes('--trust', 'inferred'))
        self.assertIn('float[3] y', shapes('--trust', 'declared'))
        run = ('--pass', 'shapes', 'n.onnxtxt', 'out.onnxtxt')
        self.bad(2, r'--trust expects', '--trust', 'me', *run)
        self.bad(2, r"'NN' is neither a symbol of an input.*did you mean 'N'", '--dim', 'NN=3', *run)
        self.bad(2, r'"N": expected NAME=NUMBER', '--dim', 'N', *run)
        self.bad(2, r'above 0', '--dim', 'N%0', *run)
        self.bad(2, r'contradicts another assumption about the dimension', '--dim', 'N%8', '--dim', 'N=1..7', *run)

    def test_keep(self):
        self.ok('cnn.onnx', 'out.onnx')
        self.assertNotIn('Identity', self.ops('out.onnx'))
        for keep in ('dropout', 'op=Identity', '/^drop/'):
            self.ok('--keep', keep, 'cnn.onnx', 'out.onnx')
            self.assertEqual(self.ops('out.onnx').get('Identity'), 1, keep)
        r = self.run_tool('--keep', 'nobody', 'cnn.onnx', 'out.onnx')
        self.assertEqual(r.returncode, 0)
        self.assertRegex(r.stderr.decode(), r'warning: the model has no node "nobody"')
        self.bad(2, r'--keep: error: "/\(/"', '--keep', '/(/', 'cnn.onnx', 'out.onnx')
        self.assertEqual(self.ok('--quiet', '--keep', 'nobody', 'cnn.onnx', 'out.onnx'), b'')

    def test_skip(self):
        self.ok('--skip-pass', 'identity', 'cnn.onnx', 'out.onnx')
        self.assertEqual(self.ops('out.onnx').get('Identity'), 1)

    def test_rewrite_limit(self):
        counts = []
        for n in range(0, 12):
            self.ok('--rewrite-limit', str(n), 'cnn.onnx', 'out.onnx')
            counts.append(self.info('out.onnx')['nodes'])
        self.ok('cnn.onnx', 'all.onnx')
        self.assertEqual(counts[0], 12)
        self.assertEqual(counts[-1], self.info('all.onnx')['nodes'])
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertGreater(len(set(counts)), 3)
        told = json.loads(self.ok('--json', '--rewrite-limit', '1', 'cnn.onnx', 'out.onnx'))
        self.assertTrue(told['run']['limit_reached'])

    def test_log_and_map(self):
        self.ok('--log', 'log', '--map', 'map', '--pass', PIPELINE, 'cnn.onnx', 'out.onnx')
        lines = [json.loads(x) for x in self.read('log').splitlines()]
        self.assertEqual((lines[0]['event'], lines[0]['schema']), ('run', 1))
        begun = [x['pass'] for x in lines if x['event'] == 'pass-begin']
        self.assertEqual(begun, ['prune', 'fold', 'identity', 'prune'])
        moved = json.loads(self.read('map'))
        self.assertEqual(moved['schema'], 1)
        self.assertIn({'old': 'kept', 'new': 'pooled', 'graph': 'main'}, moved['values'])
        self.assertIn({'old': 'debug', 'new': None, 'graph': 'main'}, moved['nodes'])
        self.bad(3, r'^no/log: error: cannot write', '--log', 'no/log', 'cnn.onnx', 'none')
        self.assertFalse(os.path.exists('none'))

    def test_json(self):
        told = json.loads(self.ok('--json', '--pass', PIPELINE, 'cnn.onnx', 'out.onnx'))
        self.assertEqual(told['schema'], 1)
        self.assertEqual((told['in'], told['out']), ('cnn.onnx', 'out.onnx'))
        for side, path in (('before', 'cnn.onnx'), ('after', 'out.onnx')):
            self.assertEqual(told[side]['bytes'], os.path.getsize(path))
            for key in ('nodes', 'initializers', 'parameters', 'ops'):
                self.assertEqual(told[side][key], self.info(path)[key])
        self.assertEqual([p['name'] for p in told['run']['passes']], ['prune', 'fold', 'identity'])

    def test_info(self):
        told = self.info('cnn.onnx')
        self.assertEqual(told['schema'], 1)
        self.assertEqual((told['ir_version'], told['opset_imports']), (8, {'': 17}))
        self.assertEqual(told['inputs'],
                         [{'name': 'image', 'type': 'float[1, 1, 8, 8]', 'default': False}])
        self.assertEqual(told['outputs'], [{'name': 'scores', 'type': 'float[1, 4]'}])
        self.assertEqual((told['nodes'], sum(told['ops'].values())), (12, 12))
        self.assertEqual(told['ops']['MatMul'], 2)
        self.assertEqual((told['initializers'], told['parameters']), (7, 155))
        self.assertEqual(told['bytes'], os.path.getsize('cnn.onnx'))
        text = self.ok('info', 'cnn.onnx').decode()
        self.assertRegex(text, r'(?m)^format +IR 8, opset 17$')
        self.assertRegex(text, r'(?m)^inputs +image +float\[1, 1, 8, 8\]$')
        self.assertRegex(text, r'(?m)^nodes +12$')

    def test_info_of_several(self):
        text = self.ok('info', 'cnn.onnx', 'in.onnx').decode()
        self.assertTrue(text.startswith('cnn.onnx\nformat'))
        self.assertIn('\n\nin.onnx\nformat', text)
        r = self.run_tool('info', 'missing', 'in.onnx')
        self.assertEqual(r.returncode, 3)
        self.assertIn(b'in.onnx\nformat', r.stdout)

    def test_statistics(self):
        r = self.run_tool('--stats', '--time-passes', 'cnn.onnx', 'out.onnx')
        self.assertEqual(r.returncode, 0)
        for name in (b'fold', b'identity', b'prune'):
            self.assertIn(name, r.stderr)

    def test_print_after(self):
        out = self.ok('--print-after=identity', '--pass', PIPELINE, 'cnn.onnx', 'out.onnx').decode()
        self.assertTrue(out.startswith('// after identity\n'))
        self.assertNotIn('Identity', out)
        self.assertEqual(out.count('// after'), 1)

    def test_text(self):
        self.write('m.onnxtxt', self.ok('cat', 'cnn.onnx'))
        self.ok('--pass', '', 'm.onnxtxt', 'back.onnx')
        self.assertEqual(self.ok('cat', 'back.onnx'), self.ok('cat', 'cnn.onnx'))

    def test_wrong_options_for_the_model(self):
        self.bad(2, r'score.*scores', '--pass', 'outputs{keep=score}', 'cnn.onnx', 'out')
        self.assertFalse(os.path.exists('out'))


class Reduce(Runs):
    def script(self, text):
        self.write('t.sh', b'#!/bin/sh\n' + text.encode())
        os.chmod('t.sh', os.stat('t.sh').st_mode | stat.S_IXUSR)
        return './t.sh'

    def test_keeps_the_operator(self):
        self.write('wide.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'g (float[N,4,9] x, float[8] z) => (float[N,4,9] y, float[8] e) '
                   b'<float[4,9] w = {%s}> { a = Add (x, w) y = Relu (a) e = Exp (z) }'
                   % b','.join(b'1' for _ in range(36)))
        self.ok('reduce', '--shrink', '--test', 'grep -q Add', 'wide.onnxtxt', 'small.onnx')
        self.ok('check', 'small.onnx')
        text = self.ok('cat', 'small.onnx')
        self.assertRegex(text, rb'g \(float\[1, 1, 1\] x, float\[1, 1\] w_\d+\) =>')
        self.assertNotIn(b'{1.0', text)
        said = self.ok('reduce', '--test', 'grep -q MaxPool', 'cnn.onnx', 'out.onnx')
        self.assertEqual(said, b'')
        self.assertEqual(self.ops('out.onnx'), {'MaxPool': 1})

    def test_crash(self):
        """A signal that ends the test is what is kept; sizes stay where a result would be empty."""
        test = self.script('grep -q MaxPool "$1" && kill -SEGV $$\nexit 0\n')
        told = json.loads(self.ok('reduce', '--shrink', '--json', '--test', test, 'cnn.onnx', 'out.onnx'))
        self.assertEqual((told['after'], told['code']), (1, 128 + 11))
        self.ok('check', 'out.onnx')
        text = self.ok('cat', 'out.onnx')
        self.assertRegex(text, rb'\(float\[1, 1, 8, 8\] active_1\) => \(float\[1, 1, 4, 4\] pooled\)')
        self.assertIn(b'opset_import: ["" : 7]', text)

    def test_opset(self):
        """The oldest opset that still shows it; an operator that is newer stays."""
        self.write('m.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'g (float[2] x) => (float[2] y) { y = Softplus (x) }')
        test = self.script('"$TOOL" cat "$1" | grep -q \'"" : \\(7\\|8\\|9\\)\\]\' && exit 0\n'
                           '"$TOOL" cat "$1" | grep -q Softplus && exit 5\nexit 0\n')
        os.environ['TOOL'] = os.path.abspath(common.TOOL)
        self.ok('reduce', '--shrink', '--code', '5', '--test', test, 'm.onnxtxt', 'out.onnx')
        self.assertIn(b'opset_import: ["" : 10]', self.ok('cat', 'out.onnx'))
        self.write('n.onnxtxt', b'<ir_version: 8, opset_import: ["" : 20]>\n'
                   b'g (float[2] x) => (float[2] y) { y = Gelu (x) }')
        self.ok('reduce', '--shrink', '--test', 'grep -q Gelu', 'n.onnxtxt', 'out.onnx')
        self.assertIn(b'opset_import: ["" : 20]', self.ok('cat', 'out.onnx'))

    def test_keeps_the_exit_code(self):
        test = self.script('grep -q Gather "$1" && exit 7\nexit 1\n')
        told = json.loads(self.ok('reduce', '--json', '--test', test, 'cnn.onnx', 'out.onnx'))
        self.assertEqual(self.ops('out.onnx'), {'Gather': 1})
        self.assertEqual((told['before'], told['after'], told['code']), (12, 1, 7))
        self.ok('reduce', '--code', '7', '--test', test + ' {}', 'cnn.onnx', 'again.onnx')
        self.assertEqual(self.read('again.onnx'), self.read('out.onnx'))

    def test_a_signal_is_an_exit_code(self):
        test = self.script('grep -q Conv "$1" && kill -SEGV $$\nexit 0\n')
        told = json.loads(self.ok('reduce', '--json', '--test', test, 'cnn.onnx', 'out.onnx'))
        self.assertEqual(told['code'], 128 + 11)
        self.assertIn('Conv', self.ops('out.onnx'))

    def test_test_that_does_not_hold(self):
        self.bad(2, r'--test exits with 1 on the whole model, not 0', 'reduce', '--code', '0',
                 '--test', 'grep -q Nothing', 'cnn.onnx', 'out.onnx')
        # It holds for the model as it is and for nothing smaller.
        same = self.script('cmp -s "$1" first || { [ -e first ] && exit 1; cp "$1" first; }\n')
        self.ok('reduce', '--test', same, 'cnn.onnx', 'out.onnx')
        self.assertEqual(self.info('out.onnx')['nodes'], 12)

    def test_faults(self):
        self.bad(2, r'cannot run ./nobody: is it there', 'reduce', '--test', './nobody',
                 'cnn.onnx', 'out.onnx')
        self.bad(2, r'reduce needs --test', 'reduce', 'cnn.onnx', 'out.onnx')
        self.bad(2, r'quote is not closed', 'reduce', '--test', "grep 'x", 'cnn.onnx', 'out.onnx')
        self.bad(2, r'no command', 'reduce', '--test', '  ', 'cnn.onnx', 'out.onnx')
        self.bad(2, r'expects IN and OUT', 'reduce', '--test', 'true', 'cnn.onnx')
        self.bad(3, r'^missing: error: cannot open', 'reduce', '--test', 'true', 'missing', 'o')
        self.assertFalse(os.path.exists('out.onnx'))

    def test_time(self):
        slow = self.script('sleep 30\n')
        start = time.monotonic()
        self.bad(4, r'over 1 seconds .*--test-timeout', 'reduce', '--test', slow,
                 '--test-timeout', '1', 'cnn.onnx', 'out.onnx')
        self.assertLess(time.monotonic() - start, 20)
        self.assertFalse(os.path.exists('out.onnx'))

    def test_deadline(self):
        test = self.script('sleep 0.4\ngrep -q Gather "$1"\n')
        r = self.run_tool('reduce', '--timeout', '1', '--test', test, 'cnn.onnx', 'out.onnx')
        self.assertEqual(r.returncode, 0)
        self.assertRegex(r.stderr.decode(), r'note: stopped; OUT is the smallest')
        self.assertIn('Gather', self.ops('out.onnx'))

    def test_interrupt(self):
        test = self.script('echo >>ran\n[ $(wc -l <ran) -gt 2 ] && sleep 30\nexit 0\n')
        p = subprocess.Popen([common.TOOL, 'reduce', '--test', test, 'cnn.onnx', 'out.onnx'],
                             stderr=subprocess.PIPE)
        while not os.path.exists('ran') or self.read('ran').count(b'\n') < 3:
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        start = time.monotonic()
        err = p.stderr.read()
        p.stderr.close()
        self.assertEqual(p.wait(20), 0)
        self.assertLess(time.monotonic() - start, 15)
        self.assertIn(b'note: stopped', err)
        self.assertLess(self.info('out.onnx')['nodes'], 12)

    def test_leaves_no_files(self):
        os.mkdir('tmp')
        env = dict(os.environ, TMPDIR=os.path.abspath('tmp'))
        self.ok('reduce', '--test', 'grep -q MaxPool', 'cnn.onnx', 'out.onnx', env=env)
        self.assertEqual(os.listdir('tmp'), [])
        env['TMPDIR'] = '/no/such/folder'
        self.bad(3, r'no temporary folder', 'reduce', '--test', 'true', 'cnn.onnx', 'o', env=env)


# Reduce takes the set-up of Runs, not its tests.
for _name in [n for n in vars(Runs) if n.startswith('test_')]:
    setattr(Reduce, _name, None)


class Misspelled(Case):
    """An error names what was typed and the nearest name there is."""
    CASES = (
        ("--from: the model has no value \"featurs\"; did you mean \"features\"", 'extract', '--from', 'featurs'),
        ("unknown option --form: did you mean --from\\?.*\\(try `onnxsurg extract --help`", 'extract', '--form', 'x'),
        ("no node of operator \"Con\"; did you mean \"Conv\"", 'delete', '--node', 'op=Con'),
        ("'alpa'; did you mean 'alpha'", 'insert', '--at', 'features', '--op', 'LeakyRelu', '--alpa=1'),
        ("no operator Rel in opset 17; did you mean Relu", 'insert', '--at', 'features', '--op', 'Rel'),
        ("'producr' is no option; an attribute needs --node; did you mean 'producer'", 'set', '--producr=me'),
        ("'flot' is not a type.*; did you mean 'float'", 'set', '--value', 'scores', '--type', 'flot'),
        ("'inptu.image' is none.*; did you mean 'input'", 'rename', '--inptu.image=x'),
        ("'valeus' is none.*; did you mean 'values'", 'rename', '--prefix', 'x', '--of', 'valeus'),
        ("'ai.onx'; did you mean 'ai.onnx'", 'move-domain', '--from', 'ai.onx', '--to', 'x'),
        ("found 'nwhc'; did you mean 'nhwc'", 'transpose-io', '--inputs', 'image', '--to', 'nwhc'),
        ("image: .*found 'uint9'; did you mean 'uint8'", 'io-type', '--image=uint9'),
        ("--from: .*found 'flaot'; did you mean 'float'", 'io-type', '--from', 'flaot', '--to', 'int8'),
        ("^outline: error: --min-nodes: \"x\" is not a number", 'outline', '--min-nodes', 'x'),
        ("\"graph.node\\[99\\]\"; the main graph has 12 nodes", 'delete', '--node', 'graph.node[99]'),
        ("'active' is none.*; did you mean 'value.active'", 'rename', '--active=x'),
        ("no file active=x; options start with --", 'rename', 'active=x'),
        ("'image.0' is 1 already; dynamic gives it a symbol", 'freeze', '--image.0=4'),
        ("a symbol is a name; freeze sets a number", 'dynamic', '--image.0=4'),
        ("bais.npy: error: .*; did you mean bias.npy\\?$", 'set', '--value', 'bias', '--data', 'bais.npy'),
    )

    def test_words(self):
        self.write('bias.npy', b'')
        for pattern, command, *args in self.CASES:
            with self.subTest(args=args):
                pathlib.Path('o.onnx').unlink(missing_ok=True)
                r = self.run_tool(command, *args, str(EXAMPLE), 'o.onnx')
                self.assertIn(r.returncode, (1, 2, 3))
                self.assertRegex(r.stderr.decode().rstrip('\n'), pattern)
                if r.returncode != 1:  # "not done" writes the model as it was
                    self.assertFalse(os.path.exists('o.onnx'))

    def test_files(self):
        self.write('model.onnx', b'')
        self.bad(3, r'^modle.onnx: error: cannot open: .*; did you mean model.onnx\?$', 'info', 'modle.onnx')
        self.bad(3, r'directory$', 'info', 'other.txt')


if __name__ == '__main__':
    common.main()
