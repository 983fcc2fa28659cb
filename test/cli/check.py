#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `check` finds: small models with one fault each, and how it is told. check.py PROGRAM"""
import collections
import json
import os
import pathlib
import re
import unittest

import common
from common import EXAMPLE, Case, w

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
GOOD = HEAD + 'g (float[2] x) => (float[2] y) { y = Relu (x) }\n'
CORPUS = pathlib.Path(__file__).resolve().parents[3] / 'shared/corpus/backend'

# code, what the line says besides, the model. Each model has this one finding.
ROWS = [
    ('E101', r'graph.node\[0\] \(Neg\): reads a value that a later node computes',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Neg (a) a = Relu (x) }'),
    ('E102', r'graph.node\[0\] \(Upsample\): Upsample is deprecated in opset 17',
     HEAD + 'g (float[1] x, float[1] s) => (float[N] y) { y = Upsample (x, s) }'),
    ('E103', r'\(Reul\): no such operator in opset 17',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Reul (x) }'),
    ('E104', r'the model does not import domain "acme"',
     HEAD + 'g (float[2] x) => (float[2] y) { a = acme.Foo (x) y = Relu (a) }'),
    ('E105', r'\(Relu\).attribute\[0\] "alpha": Relu has no such attribute',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Relu <alpha = 1.0> (x) }'),
    ('E107', r'\(Cast\): lacks the required attribute "to"',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Cast (x) }'),
    ('E110', r'\(Relu\).input\[0\] "z": not defined',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Relu (z) }'),
    ('E115', r'\(Relu\): has 2 inputs; Relu expects at most 1',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Relu (x, x) }'),
    ('E201', r'\(Not\): input 0 "x" is tensor\(float\); Not-1 accepts tensor\(bool\) as X',
     HEAD + 'g (float[2] x) => (bool[2] y) { y = Not (x) }'),
    ('E202', r'\(Add\): input 0 "x" is tensor\(float\) and input 1 "i" is tensor\(int64\)',
     HEAD + 'g (float[2] x, int64[2] i) => (float[2] y) { y = Add (x, i) }'),
    ('E203', r'\(MatMul\): MatMul-13 does not accept .*: \(float\[2, 3\], float\[2, 3\]\)',
     HEAD + 'g (float[2, 3] x) => (float[N, M] y) { y = MatMul (x, x) }'),
    ('E204', r'graph.output "y": is declared as int64\[2\]; graph.node\[0\] \(Relu\) makes it '
     r'float\[2\]',
     HEAD + 'g (float[2] x) => (int64[2] y) { y = Relu (x) }'),
    ('E204', r'graph.value_info "a": is declared as double\[2\]; .* makes it float\[2\]',
     HEAD + 'g (float[2] x) => (float[2] y) <double[2] a> { a = Relu (x) y = Neg (a) }'),
    ('W201', r'graph.output\[1\] "y": is an output twice',
     HEAD + 'g (float[2] x) => (float[2] y, float[2] y) { y = Relu (x) }'),
    ('W203', r'graph.value_info\[0\] "a": describes no value of this graph',
     HEAD + 'g (float[2] x) => (float[2] y) <float[2] a> { y = Relu (x) }'),
    ('E112', r'IR version 3 wants initializers among the inputs; 1 are not',
     '<ir_version: 3, opset_import: ["" : 9]>\n'
     'g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Add (x, c) }'),
    ('W211', r'graph.value_info "a": is declared as float\[3\]; graph.node\[0\] "first" \(Relu\) '
     r'makes it float\[2\]',
     HEAD + 'g (float[2] x) => (float[2] y) <float[3] a> { [first] a = Relu (x) y = Neg (a) }'),
    ('W212', r'graph.node\[1\] "n" \(Neg\): another node of this graph, graph.node\[0\] "n" '
     r'\(Relu\), has the same name',
     HEAD + 'g (float[2] x) => (float[2] y) { [n] a = Relu (x) [n] y = Neg (a) }'),
    ('W214', r'graph.input "x": is of type int4, which came with IR version 10; this is 8',
     '<ir_version: 8, opset_import: ["" : 21]>\n'
     'g (int4[2] x) => (int4[2] y) { y = Identity (x) }'),
    ('W215', r'model: has functions, which came with IR version 8; this is 7',
     '<ir_version: 7, opset_import: ["" : 17, "f" : 1]>\n'
     'g (float[2] x) => (float[2] y) { y = f.Twice (x) }\n'
     '<domain: "f", opset_import: ["" : 17]> Twice (a) => (b) { b = Add (a, a) }'),
    ('W216', r'graph: has no outputs', HEAD + 'g (float[2] x) => () { y = Relu (x) }'),
    ('W217', r'opset 9999 of domain "" is newer than the newest known',
     '<ir_version: 8, opset_import: ["" : 9999]>\n'
     'g (float[2] x) => (float[2] y) { y = Relu (x) }'),
    ('N302', r'graph.node\[1\] \(Neg\): no output of the model needs it',
     HEAD + 'g (float[2] x) => (float[2] y) { y = Relu (x) a = Neg (x) }'),
    ('N302', r'graph.node\[0\] \(If\).then_branch.node\[1\] \(Neg\): no output of the model needs',
     HEAD + 'g (bool c, float[2] x) => (float[2] y) { y = If (c) <'
     'then_branch = t () => (float[2] p) { p = Relu (x) q = Neg (x) },'
     'else_branch = e () => (float[2] r) { r = Abs (x) }> }'),
    ('W220', r'graph.node\[1\] \(acme.Foo\): domain "acme" is unknown, so its nodes are not checked \(2 nodes\)',
     '<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>\n'
     'g (float[2] x) => (float[2] y) { a = Relu (x) b = acme.Foo (a) y = acme.Bar (b) }'),
    ('N303', r'model: no node needs the import of domain "ai.onnx.ml"',
     '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'
     'g (float[2] x) => (float[2] y) { y = Relu (x) }'),
    ('N304', r'graph.initializer "c": nothing reads it \(8 bytes\)',
     HEAD + 'g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Relu (x) }'),
]
WORDS = {'E': 'error', 'W': 'warning', 'N': 'note'}


class Check(Case):
    def check(self, *args, **more):
        r = self.run_tool('check', *args, **more)
        self.assertEqual(r.stderr, b'')
        lines = r.stdout.decode().splitlines()
        self.mend = [line for line in lines if ': onnxsurg mend ' in line]
        return r.returncode, [line for line in lines if line not in self.mend]

    def text(self, text, name='m.onnxtxt'):
        pathlib.Path(name).write_text(text)
        return name

    def test_one_finding_each(self):
        for code, pattern, text in ROWS:
            with self.subTest(code=code, text=text):
                status, lines = self.check(self.text(text))
                self.assertEqual(len(lines), 1, lines)
                self.assertRegex(lines[0], r'^m\.onnxtxt: %s: .*%s.* \[%s\]$'
                                 % (WORDS[code[0]], pattern, code))
                self.assertEqual(status, 1 if code[0] == 'E' else 0)
                strict = self.check('--strict', 'm.onnxtxt')[0]
                self.assertEqual(strict, 0 if code[0] == 'N' else 1)
                quiet = self.check('--quiet', 'm.onnxtxt')
                self.assertEqual(quiet, (status, lines if code[0] == 'E' else []))

    def test_mend_does_what_is_said_of_it(self):
        said = 0
        for code, _, text in ROWS:
            self.check(self.text(text))
            for line in self.mend:
                said += 1
                args = line.split(': onnxsurg ')[1].split(' OUT ')[0].split()
                self.run_tool(*args, 'out.onnx')
                status, left = self.check('out.onnx')
                errors = [x for x in left if ': error: ' in x]
                with self.subTest(code=code, line=line):
                    if line.endswith('cures all errors'):
                        self.assertEqual(errors, [])
                    elif 'remain' in line:
                        self.assertEqual(len(errors), int(re.search(r'(\d+) errors? remain', line)[1]), left)
                    else:
                        self.assertNotIn(code, ''.join(left))
        self.assertGreater(said, 5)

    def test_codes_are_documented(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        doc = (source / 'doc/check.md').read_text()
        rules = re.findall(r'^SURG_RULE\((\w+), "([^"]*)"',
                           (source / 'lib/check/rules.def').read_text(), re.M)
        self.assertGreater(len(rules), 60)
        self.assertEqual(rules, sorted(rules, key=lambda r: ('EWN'.index(r[0][0]), r[0])))
        self.assertEqual(rules, re.findall(r'^\| ([EWN]\d+) \| ([^|]*[^| ]) \|', doc, re.M))
        used = set()
        for f in [*source.glob('lib/check/*.c'), *source.glob('lib/io/**/*.c'),
                  *source.glob('lib/target/public.c'), *source.glob('lib/diagnose/*.c'),
                  *source.glob('tools/[cf]*.c')]:
            used |= set(re.findall(r'"([EWN][0-9]{3})"', f.read_text()))
        self.assertEqual(used, {code for code, _ in rules})

    def test_every_rule_has_a_broken_model(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        rules = set(re.findall(r'^SURG_RULE\((\w+),', (source / 'lib/check/rules.def').read_text(),
                               re.M))
        cases, clean = collections.Counter(), 0
        folders = [source / 'test/golden/check', source / 'test/golden/target']
        for f in sorted(f for folder in folders for f in folder.rglob('*.txt')):
            told = re.findall(r'^in\.onnx.* \[([EWN]\d+)\]$|"code": ?"(E001)"', f.read_text(),
                              re.M)
            told = [a or b for a, b in told]
            named = re.match(r'[EWN]\d{3}', f.name)
            if named:
                self.assertEqual(set(told), {named[0]}, f.name)
            elif f.name.startswith('clean'):
                self.assertEqual(told, [], f.name)
                clean += 1
            cases.update(told)
        self.assertGreaterEqual(len(cases), 60)
        self.assertGreaterEqual(clean, 12)
        self.assertEqual(rules - set(cases), set(), 'rules that no golden case is for')

    def test_sarif(self):
        bad, good = self.text(ROWS[0][2], 'a bad.onnxtxt'), self.text(GOOD)
        many = self.text(HEAD + 'g (float[2] x) => (float[2] y) { y = Relu (x) a = Neg (x) '
                         'b = Abs (x) }', 'many.onnxtxt')
        r = self.run_tool('check', '--sarif', '--max-findings', '1', good, bad, 'missing', many)
        self.assertEqual((r.returncode, r.stderr), (3, b''))
        log = json.loads(r.stdout)
        self.assertEqual(log['version'], '2.1.0')
        self.assertRegex(log['$schema'], r'^https://.*sarif.*2\.1\.0')
        self.assertEqual(len(log['runs']), 1)
        run = log['runs'][0]
        driver = run['tool']['driver']
        self.assertEqual(driver['name'], 'onnxsurg')
        self.assertRegex(driver['version'], r'^\d+\.\d+')
        ids = [rule['id'] for rule in driver['rules']]
        self.assertEqual(len(ids), len(set(ids)))
        for rule in driver['rules']:
            self.assertTrue(rule['shortDescription']['text'] and rule['help']['text'], rule)
            self.assertEqual(rule['defaultConfiguration']['level'],
                             WORDS[rule['id'][0]])
        for result in run['results']:
            self.assertEqual(set(result), {'ruleId', 'ruleIndex', 'level', 'message', 'locations',
                                           'properties'})
            self.assertEqual(ids[result['ruleIndex']], result['ruleId'])
            self.assertIn(result['level'], ('error', 'warning', 'note'))
            self.assertIsInstance(result['message']['text'], str)
            self.assertEqual(len(result['locations']), 1)
            self.assertIn('uri', result['locations'][0]['physicalLocation']['artifactLocation'])
        told = [(x['ruleId'], x['locations'][0]['physicalLocation']['artifactLocation']['uri'])
                for x in run['results']]
        self.assertEqual(told, [('E101', 'a%20bad.onnxtxt'), ('E001', 'missing'),
                                ('N302', 'many.onnxtxt'), ('N399', 'many.onnxtxt')])
        first = run['results'][0]
        self.assertEqual(first['message']['text'],
                         'graph.node[0] (Neg): reads a value that a later node computes')
        self.assertEqual(first['locations'][0]['logicalLocations'],
                         [{'fullyQualifiedName': 'graph.node[0] (Neg)'}])
        self.assertEqual(first['properties'], {'hint': 'sort the nodes',
                                               'pass': 'toposort'})
        self.assertEqual(run['invocations'], [{'executionSuccessful': False, 'exitCode': 3}])
        empty = json.loads(self.run_tool('check', '--sarif', good).stdout)['runs'][0]
        self.assertEqual((empty['results'], empty['invocations']),
                         ([], [{'executionSuccessful': True, 'exitCode': 0}]))
        deep = json.loads(self.run_tool('check', '--sarif', os.path.abspath(bad)).stdout)
        self.assertRegex(deep['runs'][0]['results'][0]['locations'][0]['physicalLocation']
                         ['artifactLocation']['uri'], r'^file:///.*/a%20bad\.onnxtxt$')

    def test_passes_that_are_named_mend_it(self):
        # What the pass of a rule leaves is without the finding.
        source = pathlib.Path(__file__).resolve().parents[2]
        passes = dict(re.findall(r'SURG_RULE\((\w+), "[^"]*",\s*"[^"]*",\s*"([^"]*)"\)',
                                 (source / 'lib/check/rules.def').read_text()))
        # What helps against a target hangs on the target: `repair` is tested with them.
        passes = {c: p for c, p in passes.items() if not c.startswith('E4')}
        self.assertGreater(len(passes), 15)
        tried = set()
        for f in sorted((source / 'test/golden/check').rglob('[EWN]*.txt')):
            code = f.name[:4]
            text = f.read_text()
            if code not in passes or passes[code] in ('outputs', 'fold'):
                continue
            pipeline = passes[code].replace('to=N', 'to=13')
            given = re.search(r'^--- (input|wire)\n(.*?)(?=^---|\Z)', text, re.M | re.S)
            if given[1] == 'input':
                name = self.text(given[2])
            else:
                name = 'm.onnx'
                self.write(name, eval('(%s)' % given[2], dict(vars(w))))
            with self.subTest(case=f.name):
                self.ok('--pass', pipeline, '--quiet', name, 'mended.onnx')
                after = self.check('mended.onnx')[1]
                self.assertNotIn(code, [line[-5:-1] for line in after], after)
                tried.add(code)
        self.assertEqual(tried, {c for c in passes if passes[c] not in ('outputs', 'fold')})

    def test_max_findings(self):
        nodes = ''.join('a%d = Neg (x) ' % i for i in range(250))
        name = self.text(HEAD + 'g (float[2] x) => (float[2] y) { %s y = Relu (x) }' % nodes)
        lines = self.check('--max-findings', '200', name)[1]
        self.assertEqual(len(lines), 201)
        self.assertRegex(lines[200], r'note: 50 or more findings are not shown \[N399\]$')
        self.assertEqual(len(self.check('--max-findings', '251', name)[1]), 250)
        # Warnings of the loader and errors alike.
        undefined = '%s y = Relu (x)' % nodes.replace('(x)', '(z)')
        for body, code in [('y = Relu (x)', 'W203'), (undefined, 'E110')]:
            infos = ', '.join('float[2] a%d' % i for i in range(250))
            info = '<%s>' % infos if code == 'W203' else ''
            self.text(HEAD + 'g (float[2] x) => (float[2] y) %s { %s }' % (info, body))
            lines = self.check('--max-findings', '240', 'm.onnxtxt')[1]
            self.assertEqual([line[-5:-1] for line in lines[:240]], [code] * 240)
            self.assertEqual(len(lines), 241)
            lines = self.check('--max-findings', '1000', 'm.onnxtxt')[1]
            self.assertEqual([line[-5:-1] for line in lines], [code] * 250)
        for wrong in ['0', '-1', 'x', '5000000000']:
            self.bad(2, r'--max-findings expects a number', 'check', '--max-findings', wrong, name)

    def test_clean(self):
        self.assertEqual(self.check(self.text(GOOD)), (0, []))
        self.assertEqual(self.check('--strict', 'm.onnxtxt', 'm.onnxtxt'), (0, []))
        self.assertEqual(self.check('in.onnx'), (0, []))

    def test_what_is_known_is_not_guessed(self):
        # Symbols of other names, unknown dims, a value that nothing is known of.
        text = ('<ir_version: 8, opset_import: ["" : 17, "f" : 1]>\n'
                'g (float[N, 3] x, float[?] c) => (float[M, 3] y) <float[B, C] b> '
                '{ a = Relu (x) b = f.Foo (a) d = Add (b, c) y = Add (a, d) }\n'
                '<domain: "f", opset_import: ["" : 17]> Foo (p) => (q) { q = Neg (p) }')
        self.assertEqual(self.check(self.text(text)), (0, []))

    def test_negative_dim(self):
        self.write('m.onnx', w.model(w.graph([w.node('Relu', ['x'], ['y'])], [],
                                             [w.value('x', dims=(-1,))],
                                             [w.value('y', dims=('N',))], name='g')))
        status, lines = self.check('m.onnx')
        self.assertEqual(status, 0)
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r'^m.onnx: warning: graph.input "x": dimension 0 is declared '
                         r'as -1.* \[W213\]$')

    def external(self, *more):
        data = w.external('c.bin', None, None, *more)
        weight = w.tensor('c', w.FLOAT, [1], None, data)
        self.write('m.onnx', w.model(w.graph([w.node('Add', ['x', 'c'], ['y'])], [weight],
                                             [w.value('x')], [w.value('y')], name='g')))

    def test_external_data(self):
        self.external(('colour', 'red'))
        self.write('c.bin', bytes(4))
        status, lines = self.check('m.onnx')
        self.assertEqual((status, len(lines)), (0, 1))
        self.assertRegex(lines[0], r'^m.onnx: warning: graph.initializer\[0\] "c": .* \[W200\]$')
        os.remove('c.bin')
        self.external()
        status, lines = self.check('m.onnx')
        self.assertEqual((status, len(lines)), (3, 1))
        self.assertRegex(lines[0], r'"c": external data "c.bin": No such file.* \[E111\]$')

    def test_all_findings_of_a_file(self):
        text = HEAD + 'g (float[2] x) => (float[2] y) { a = Reul (x) y = Relu (b, c) }'
        status, lines = self.check(self.text(text))
        self.assertEqual(status, 1)
        self.assertEqual([line[-6:] for line in lines].count('[E110]'), 2, lines)
        self.assertIn('[E103]', [line[-6:] for line in lines])

    def test_many(self):
        nodes = ''.join('a%d = Neg (x) ' % i for i in range(250))
        self.text(HEAD + 'g (float[2] x) => (float[2] y) { %s y = Relu (x) }' % nodes)
        status, lines = self.check('m.onnxtxt')
        self.assertEqual((status, len(lines)), (0, 101))
        self.assertEqual(lines[100], 'm.onnxtxt: note: 150 or more findings are not shown [N399]')

    def test_worst_of_files(self):
        bad = self.text(ROWS[0][2], 'bad.onnxtxt')
        good = self.text(GOOD)
        status, lines = self.check(good, bad, good)
        self.assertEqual((status, len(lines)), (1, 1))
        r = self.run_tool('check', bad, 'missing', good)
        self.assertEqual((r.returncode, r.stdout.decode().splitlines()), (3, lines + self.mend))
        self.assertRegex(r.stderr.decode(), r'^missing: error: cannot open: No such file.*\n$')

    def test_files_that_are_no_models(self):
        self.write('lfs', b'version https://git-lfs.github.com/spec/v1\noid sha256:' + b'4' * 64)
        self.write('cut', self.read('in.onnx')[:-700])
        for name in ['lfs', 'cut']:
            status, lines = self.check(name)
            self.assertEqual((status, len(lines)), (1, 1))
            self.assertRegex(lines[0], r'^%s: error: .* \[E100\]$' % name)
        self.bad(2, r'check expects a model', 'check')

    def test_standard_input(self):
        bad = ROWS[0][2].encode()
        status, lines = self.check('-', stdin=None, input=bad)
        self.assertEqual((status, len(lines)), (1, 1))
        self.assertRegex(lines[0], r'\[E101\]$')
        self.assertEqual(self.check('-', stdin=None, input=self.read('in.onnx')), (0, []))

    def test_json(self):
        bad, good = self.text(ROWS[0][2], 'bad.onnxtxt'), self.text(GOOD)
        r = self.run_tool('check', '--json', good, bad, 'missing')
        self.assertEqual((r.returncode, r.stderr), (3, b''))
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual([(x['schema'], x['file'], x['exit']) for x in lines],
                         [(1, good, 0), (1, bad, 1), (1, 'missing', 3)])
        told = [x['files'][0] for x in lines]
        self.assertEqual([f['verdict'] for f in told], ['good', 'bad', 'unread'])
        self.assertEqual(told[0]['findings'], [])
        self.assertEqual(told[1]['findings'], [
            {'severity': 'error', 'code': 'E101', 'where': 'graph.node[0] (Neg)',
             'graph': 'graph', 'node': {'index': 0, 'name': None, 'op': 'Neg'},
             'text': 'reads a value that a later node computes', 'hint': 'sort the nodes',
             'pass': 'toposort'}])
        self.assertEqual(told[2]['findings'][0]['code'], 'E001')

    def test_a_file_named_like_a_finding(self):
        name = self.text(ROWS[0][2], 'error: x: \n.onnxtxt')
        status, lines = self.check(name)
        self.assertEqual(lines, [r'error: x: \n.onnxtxt: error: graph.node[0] (Neg): reads a value '
                                 'that a later node computes [E101]'])

    def test_out_of_memory(self):
        nodes = ''.join('a%d = Neg (x) ' % i for i in range(4000))
        name = self.text(HEAD + 'g (float[2] x) => (float[2] y) { %s y = Relu (x) }' % nodes)
        for kib in range(64, 4096, 64):
            r = self.run_tool('check', '--max-memory', '%dKiB' % kib, name)
            if r.returncode == 0:
                break
            self.assertEqual(r.returncode, 4)
            self.assertRegex(r.stderr.decode(), r'^m.onnxtxt: error: .*--max-memory\)\n$')
        self.assertGreater(kib, 256)
        self.assertEqual(r.returncode, 0)

    def test_a_place_with_quotes_and_colons(self):
        text = HEAD + 'g (float[2] x) => (float[2] y) { ["a: \\"b"] y = Relu <q = 1> (x) }'
        r = self.run_tool('check', '--json', self.text(text))
        finding = json.loads(r.stdout)['files'][0]['findings'][0]
        self.assertEqual(finding['where'],
                         'graph.node[0] "a: \\"b" (Relu).attribute[0] "q"')
        self.assertEqual(finding['text'], 'Relu has no such attribute')

    @unittest.skipUnless(CORPUS.is_dir(), 'no corpus')
    def test_no_fault_in_the_test_suite_of_onnx(self):
        models = sorted(str(p) for p in CORPUS.rglob('*.onnx'))
        self.assertGreater(len(models), 1000)
        for i in range(0, len(models), 500):
            r = self.run_tool('check', '--strict', '--quiet', *models[i:i + 500])
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b'', b''))

    def test_the_example(self):
        status, lines = self.check(str(EXAMPLE))
        self.assertEqual((status, [line[-6:] for line in lines]), (0, ['[N302]', '[N302]']))


if __name__ == '__main__':
    common.main()
