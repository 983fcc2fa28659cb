#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of the help, every command line of doc/commands.md and every pass on models that are
invalid, that have operators of an unknown domain, and whose weights are missing: no crash, no output
made of what is invalid, no promise. broken.py PROGRAM"""
import glob
import json
import os
import pathlib
import re
import shlex

import common
import onnx_wire as w
from common import Case

COMMANDS = pathlib.Path(__file__).resolve().parents[2] / 'doc/commands.md'
FLOAT4 = w.floats(1, 2, 3, 4)
IO = dict(ins=[w.value('x', dims=(4,))], outs=[w.value('y', dims=(4,))])


def invalid():
    """Ten faults: a value defined twice, one not at all, attributes, tensors, a cycle, imports."""
    untyped = w.sub(5, w.sub(1, 'axis'), w.num(3, 0))
    nodes = [w.node('Neg', ['x'], ['a']), w.node('Abs', ['a'], ['a']), w.node('Add', ['a', 'gone'], ['b']),
             w.node('Softmax', ['b'], ['c'], untyped), w.node('Cast', ['c'], ['d']),
             w.node('Add', ['d', 'f'], ['e']), w.node('Neg', ['e'], ['f']),
             w.node('Add', ['e', 'short'], ['g']), w.node('Add', ['g', 'long'], ['h']),
             w.node('Mul', ['h', 'odd'], ['y'])]
    weights = [w.tensor('short', w.FLOAT, [4], FLOAT4[:8]), w.tensor('long', w.FLOAT, [4], FLOAT4 + FLOAT4),
               w.tensor('odd', 99, [4], FLOAT4), w.tensor('', w.FLOAT, [4], FLOAT4)]
    return w.model(w.graph(nodes, weights, IO['ins'], IO['outs'] + [w.value('z', dims=(4,))]),
                   opsets=(('', 13), ('', 17)))


def custom():
    nodes = [w.node('Foo', ['x', 'k'], ['a'], domain='com.acme'), w.node('Neg', ['a'], ['b']),
             w.node('Neg', ['b'], ['y'])]
    return w.model(w.graph(nodes, [w.tensor('k', w.FLOAT, [4], FLOAT4)], **IO),
                   opsets=(('', 17), ('com.acme', 1)))


def missing():
    """A weight whose file is not there, one of 3 GiB, one whose file is too short."""
    nodes = [w.node('Add', ['k', 'k'], ['kk']), w.node('Add', ['x', 'kk'], ['a']), w.node('Identity', ['a'], ['b']),
             w.node('MatMul', ['b', 'huge'], ['c']), w.node('Add', ['c', 'cut'], ['d']), w.node('Neg', ['d'], ['y'])]
    weights = [w.tensor('k', w.FLOAT, [4], None, w.external('gone.bin', 0, 16)),
               w.tensor('huge', w.FLOAT, [4, 3 << 26], None, w.external('gone.bin', 4096, 3 << 30)),
               w.tensor('cut', w.FLOAT, [1], None, w.external('cut.bin', 4096, 4))]
    return w.model(w.graph(nodes, weights, IO['ins'], [w.value('y', dims=(3 << 26,))]))


MODELS = {'invalid': invalid(), 'custom': custom(), 'missing': missing()}
# Arguments of each command that --help names; MODEL is the model, OUT a file to be written.
ARGUMENTS = {
    'check': ['MODEL'], 'repair': ['--target', 'onnxruntime-1.10', 'MODEL', 'OUT'], 'doctor': ['MODEL'],
    'explain': ['not implemented: Foo', 'MODEL'], 'info': ['--values', 'MODEL'], 'cat': ['MODEL'],
    'ops': ['--new-since', '9', 'MODEL'], 'passes': [], 'rules': [], 'run': ['MODEL'],
    'verify': ['MODEL', 'MODEL'], 'targets': ['onnxruntime-1.10'], 'probe': ['--help'],
    'profile': ['MODEL'], 'isolate': ['--node', 'y', 'MODEL', 'OUT'],
    'reduce': ['--test', 'false', 'MODEL', 'OUT'], 'merge': ['MODEL', 'MODEL', '-o', 'OUT'],
    'attach': ['MODEL', '--before', 'x', 'MODEL', 'OUT'], 'mend': ['MODEL', 'OUT'], 'data': ['MODEL', 'OUT'],
    'split': ['--parts', '2', '--overwrite', '-o', 'out', 'MODEL'],
    'nodes': ['MODEL'], 'view': ['--svg', 'MODEL', '-o', '-'], 'find': ['--count', '/./', 'MODEL'],
    'diff': ['MODEL', 'MODEL'], 'patch': ['MODEL', 'no.patch', 'OUT'], 'bisect': ['MODEL'], 'edit': ['steps.txt', 'MODEL', 'OUT'],
    'weights': ['--export', 'w.npz', 'MODEL'], 'strip': ['MODEL', 'OUT'],
    'restore': ['--draw', 'MODEL', 'OUT'],
}
PARTS = {'out-1.onnx', 'out-2.onnx', 'out.split.json'}  # of split
SHOW = {'cat', 'info', 'nodes', 'view', 'find', 'diff'}           # exit 0 whatever the model is
APART = {'passes', 'rules', 'targets', 'probe'}  # of no model
COMPUTE = {'run', 'verify', 'isolate', 'merge', 'attach'}
PROMISE = re.compile(r'takes it|already supported|(?<!un)\bsupported$|no problems|0 points|equal in|are equal')


class Broken(Case):
    def setUp(self):
        super().setUp()
        for name, data in MODELS.items():
            self.write(name + '.onnx', data)
        self.write('cut.bin', b'only this')
        self.write('steps.txt', b'set --doc text\n')
        self.write('bias.npy', b'')
        self.before = set(os.listdir('.'))

    def call(self, args):
        r = self.run_tool(*args)
        text = (r.stdout + r.stderr).decode()
        self.assertIn(r.returncode, (0, 1, 2, 3, 4, 6), (args, text))
        self.assertNotRegex(text, r'internal fault|Sanitizer|runtime error|misbehave|did not say why', args)
        return r, text

    def made(self):
        """Files that were written, which go."""
        new = set(os.listdir('.')) - self.before
        for name in new:
            os.unlink(name) if os.path.isfile(name) else None
        return new

    def test_json_failure(self):
        """--json answers with JSON also where a command fails before it has a result."""
        self.write('garbage.onnx', b'garbage')
        for command in self.commands():
            if command in APART or '--json' not in self.ok(command, '--help').decode():
                continue
            args = [{'MODEL': 'garbage.onnx', 'OUT': 'out.onnx'}.get(a, a) for a in ARGUMENTS[command]]
            for more in ([], ['--no-such-option']):
                with self.subTest(command=command, more=more):
                    r = self.run_tool(command, *more, '--json', *args)
                    answer = json.loads(r.stdout)
                    self.assertNotEqual(r.returncode, 0)
                    errors = [line for line in r.stderr.decode().splitlines() if 'error: ' in line]
                    if errors:
                        self.assertEqual(answer.get('error', errors[0]), errors[0])
                        self.assertEqual(answer.get('exit', r.returncode), r.returncode)
                    else:  # the answer is the result
                        self.assertIn(command, ('check', 'doctor', 'explain'))
        self.made()

    def commands(self):
        text = self.ok('--help').decode()
        named = set(re.findall(r'[a-z]+', ' '.join(re.findall(r'^ +onnxsurg ([a-z|]+)(?= |$)', text, re.M)))) - {'or'}
        self.assertEqual(named - set(ARGUMENTS), set(), 'ARGUMENTS lacks a command of --help')
        return sorted(named)

    def test_commands(self):
        for command in self.commands():
            for kind in MODELS:
                args = [command] + [{'MODEL': kind + '.onnx', 'OUT': 'out.onnx'}.get(a, a)
                                    for a in ARGUMENTS[command]]
                with self.subTest(command=command, model=kind):
                    r, text = self.call(args)
                    new = self.made()
                    if command in SHOW or command in APART:
                        self.assertEqual(r.returncode, 0, text)
                    elif kind == 'invalid' and command not in ('mend', 'repair'):
                        self.assertNotEqual(r.returncode, 0, text)
                        self.assertEqual(new, set(), text)
                        self.assertNotRegex(text, PROMISE)
                    elif kind == 'missing' and command in COMPUTE:
                        self.assertNotEqual(r.returncode, 0, text)
                        self.assertRegex(text, r'not available|external data')
                    if kind == 'missing':
                        self.assertLessEqual(new, {'out.onnx'} | PARTS, text)  # never a data file made of nothing

    def test_documented(self):
        lines = re.findall(r'^onnxsurg .*', COMMANDS.read_text(), re.M)
        self.assertGreater(len(lines), 20)
        names = ('model', 'in', 'a', 'b', 'before', 'after', 'big')
        for kind, data in MODELS.items():
            for line in lines:
                with self.subTest(line=line, model=kind):
                    for name in names:
                        self.write(name + '.onnx', data)
                    words = shlex.split(line, comments=True)[1:]
                    args = [a for x in words for a in (sorted(glob.glob(x)) or [x] if '*' in x else [x])]
                    r, text = self.call(args)
                    if kind == 'invalid' and 'out.onnx' in args and args[0] not in ('repair', 'mend'):
                        self.assertNotEqual(r.returncode, 0, text)
                        self.assertNotIn('out.onnx', self.made(), text)
                    self.made()
                    if kind == 'invalid' and '-i' in args:
                        self.assertEqual(self.read('invalid.onnx'), data)

    def test_unreadable(self):
        """An empty file, bytes of something else, a folder, nothing: an error that says so, and no output."""
        self.write('empty.onnx', b'')
        self.write('junk.onnx', b'\x89PNG\r\n' + bytes(range(256)))
        os.mkdir('folder.onnx')
        before = set(os.listdir('.'))
        for name, code in (('empty', 1), ('junk', 1), ('folder', 3), ('absent', 3)):
            for command in sorted(set(ARGUMENTS) - APART) + ['check --target onnxruntime-1.10']:
                args = command.split() + [{'MODEL': name + '.onnx', 'OUT': 'out.onnx'}.get(a, a)
                                          for a in ARGUMENTS[command.split()[0]]]
                with self.subTest(command=command, model=name):
                    r, text = self.call(args)
                    self.assertEqual(r.returncode, code, text)
                    self.assertNotEqual(text.strip(), '')
                    self.assertNotRegex(text, PROMISE)
                    self.assertEqual(set(os.listdir('.')), before)

    def test_pipes(self):
        """Standard input and output, where a command takes a model."""
        for args in (['check', '-'], ['info', '-'], ['cat', '-'], ['doctor', '-'], ['ops', '--new-since', '9', '-'],
                     ['mend', '-', '-'], ['--pass', 'fold', '-', '-'], ['profile', '-'], ['run', '-']):
            for kind in ('invalid', 'custom'):
                with self.subTest(args=args, model=kind):
                    r = self.run_tool(*args, stdin=None, input=MODELS[kind])
                    text = (r.stdout + r.stderr).decode(errors='replace')
                    self.assertIn(r.returncode, (0, 1, 2), text)
                    self.assertNotRegex(text, r'internal fault|did not say why')
                    self.assertNotEqual(text.strip(), '') if r.returncode else None

    def test_width(self):
        """Help fits 80 columns."""
        for args in ([], *[[c] for c in ARGUMENTS]):
            for line in self.ok(*args, '--help').decode().splitlines():
                self.assertLessEqual(len(line), 80, args)

    def test_passes(self):
        passes = json.loads(self.ok('passes', '--json'))['passes']
        for p in [x['name'] for x in passes]:
            for kind in MODELS:
                with self.subTest(name=p, model=kind):
                    r, text = self.call(['--pass', p, kind + '.onnx', 'out.onnx'])
                    out = 'out.onnx' in os.listdir('.')
                    self.assertEqual(out, r.returncode == 0, text)
                    if kind == 'invalid' and p != 'mend':
                        self.assertIn(r.returncode, (1, 2), text)
                    if kind == 'missing' and out:
                        files = {f['name'] for f in self.facts('out.onnx')['external_files']}
                        self.assertIn('cut.bin', files)
                    self.assertLessEqual(self.made(), {'out.onnx'}, text)

    def facts(self, path):
        r = self.run_tool('info', '--json', path)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def test_copies(self):
        """What nothing edits is copied, invalid or not."""
        for kind, data in MODELS.items():
            self.run_tool('--pass', '', kind + '.onnx', 'out.onnx')
            self.assertEqual(self.read('out.onnx'), data, kind)
            self.made()

    def test_info(self):
        self.assertEqual(self.facts('invalid.onnx')['custom_ops'], {})
        self.assertGreater(self.facts('invalid.onnx')['errors'], 8)
        self.assertNotIn('errors', self.facts('custom.onnx'))
        self.assertEqual(self.facts('missing.onnx')['absent']['tensors'], 3)

    def test_missing_weights(self):
        """What is not needed is done, what is needed is left and listed, references stay."""
        r, text = self.call(['missing.onnx', 'out.onnx'])
        self.assertEqual(r.returncode, 0, text)
        self.assertRegex(text, r'note: 3 weights are not available; what needs the elements of "k".* left undone')
        self.assertNotIn('Identity', self.facts('out.onnx')['ops'])
        self.assertEqual(self.made(), {'out.onnx'})
        r, text = self.call(['--opset', '11', 'missing.onnx', 'out.onnx'])
        self.assertEqual(r.returncode, 0, text)
        r, text = self.call(['--check', 'missing.onnx', 'no.onnx'])
        self.assertEqual((r.returncode, os.path.exists('no.onnx')), (3, False), text)
        self.assertRegex(text, r'error: 3 weights are not available .*--check needs them')
        self.made()
        os.mkdir('elsewhere')
        r, text = self.call(['missing.onnx', 'elsewhere/out.onnx'])
        self.assertEqual((r.returncode, os.listdir('elsewhere')), (0, ['out.onnx']), text)
        self.assertRegex(text, r'note: 3 weights are not available.* expected in the folder of this file')
        os.rename('cut.bin', 'elsewhere/cut.bin')
        files = self.facts('elsewhere/out.onnx')['external_files']
        self.assertEqual({f['name'] for f in files}, {'gone.bin', 'cut.bin'})

    def test_other_spelling(self):
        """A data file whose name differs in case, or is spelled with a backslash, is found."""
        os.mkdir('Weights')
        self.write('Weights/W.bin', FLOAT4)
        for name in ('weights\\w.BIN', 'Weights/w.bin'):
            data = w.model(w.graph([w.node('Add', ['x', 'k'], ['y'])],
                                   [w.tensor('k', w.FLOAT, [4], None, w.external(name, 0, 16))], **IO))
            self.write('in.onnx', data)
            r, text = self.call(['in.onnx', 'out.onnx'])
            self.assertEqual((r.returncode, self.read('out.onnx')), (0, data), text)
            self.assertIn('the file is named "Weights/W.bin"', text)
            self.assertEqual(self.facts('in.onnx')['absent']['tensors'], 0)
            r, text = self.call(['--pass', 'names', 'in.onnx', 'out.onnx'])
            self.assertEqual(r.returncode, 0, text)
            files = self.facts('out.onnx')['external_files']
            self.assertEqual([f['name'] for f in files], ['Weights/W.bin'], text)


if __name__ == '__main__':
    common.main()
