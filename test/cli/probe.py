#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`onnxsurg probe`, with importers made up here. probe.py PROGRAM"""
import json
import os
import stat
import sys

import common
from common import Case

# Takes opsets up to 13 and IR versions up to 7; no Gelu, no double, Conv with kernel_shape
# written out, Reshape to a constant shape, and dies of Softmax.
FAKE = '#!' + sys.executable + ''' -SIE
import os, signal, sys
def number(b, i):
    r = s = 0
    while True:
        r, s, i = r | (b[i] & 127) << s, s + 7, i + 1
        if b[i - 1] < 128: return r, i
def opset(b):
    i = 0
    while i < len(b):
        key, i = number(b, i)
        n, i = number(b, i)
        if key == 0x42 and b[i:i + n].startswith((b"\\x0a\\x00\\x10", b"\\x10")): return b[i + n - 1]
        i += n if key & 7 else 0
    return 99
def why(b):
    if b"Softmax" in b: os.kill(os.getpid(), signal.SIGKILL)
    if b[1] > 7: return "IR version %d" % b[1]
    if opset(b) > 13: return "opset too new"
    if b"Sigmoid" in b and b"\\x08\\x0b\\x12" in b: return "no double here"
    if b"Conv" in b and b"kernel_shape" not in b: return "kernel_shape not specified"
    if b"Reshape" in b and b"given" in b: return "shape must be constant"
    return "ok"
for f in sys.argv[1:]:
    print(f + "\\t" + why(open(f, "rb").read()), flush=True)
'''
# Relu of double and Softplus are imported, and computed differently.
BOTH = '''def both(f):
    b = open(f, "rb").read()
    told = os.path.exists(os.path.join(f + ".data", "output_0.pb"))
    if why(b) == "ok" and told and (b"Softplus" in b or b"Relu" in b and b"\\x08\\x0b\\x12" in b):
        return "differs: element 0 is 1, expected 2"
    return why(b)
'''
ONE = '''#!/bin/sh
grep -q Sigmoid "$1" && { echo "cannot read $1: no Sigmoid" >&2; exit 3; }
exit 0
'''


class Probe(Case):
    def script(self, name, text):
        self.write(name, text.encode())
        os.chmod(name, os.stat(name).st_mode | stat.S_IXUSR)
        return os.path.abspath(name)

    def probe(self, command, *more):
        r = self.run_tool('probe', '--import', command, '-o', 'my.target', *more)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(self.read('my.target')), r.stderr.decode()

    def test_many(self):
        t, said = self.probe(self.script('fake', FAKE) + ' {...}', '--ops',
                             'Relu+Sigmoid+Conv+Softmax+Reshape', '--title', 'Mine', '--log', 'log')
        self.assertRegex(said, r'\d+ models: \d+ accepted, \d+ rejected\n')
        self.assertEqual((t['name'], t['title'], t['opset'][''], t['ir'], t['rest']),
                         ('my', 'Mine', [1, 13], [1, 7], 'unknown'))
        ops = t['ops']
        self.assertEqual(sorted(ops), ['Conv', 'Relu', 'Reshape', 'Sigmoid', 'Softmax'])
        self.assertTrue(ops['Softmax']['refused'])
        self.assertIn('signal 9', ops['Softmax']['says'])
        self.assertEqual(ops['Relu'], {'versions': '1-13'})
        for row in ops['Sigmoid']:
            self.assertNotIn('double', row['types']['T'])
            self.assertIn('float', row['types']['T'])
        self.assertEqual(ops['Conv'], {'versions': '1-11', 'written': ['kernel_shape']})
        self.assertEqual(ops['Reshape'], [{'versions': '1'}, {'versions': '5-13', 'const': ['shape']}])
        log = self.read('log').decode()
        self.assertIn('no double here', log)
        self.assertIn('\tok\n', log)

    def test_target_is_read(self):
        self.probe(self.script('fake', FAKE) + ' {...}', '--ops', 'Sigmoid', '--quiet')
        self.write('s.onnxtxt', b'<ir_version: 7, opset_import: ["" : 13]> g (double[2] x) => '
                   b'(double[2] y) { y = Sigmoid (x) }')
        r = self.run_tool('check', '--target', './my.target', 's.onnxtxt')
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertIn(b'"x" is double', r.stdout)

    def test_one(self):
        t, _ = self.probe(self.script('one', ONE) + ' {}', '--ops', 'Sigmoid')
        self.assertEqual(t['ops']['Sigmoid'], {'versions': '1-13', 'refused': True,
                                               'says': 'cannot read FILE: no Sigmoid'})

    def test_inherit(self):
        t, said = self.probe('true', '--ops', 'Sigmoid+GridSample', '--inherit', 'onnxruntime-1.8')
        self.assertEqual(t['inherit'], 'onnxruntime-1.8')
        self.assertIn('onnxruntime-1.8 covers', said)
        self.assertNotIn('rest', t)
        self.assertIn('GridSample', t['ops'])

    def test_stopped(self):
        """What a stopped probe did not ask is unknown, not accepted and not refused."""
        whole, said = self.probe(self.script('fake', FAKE) + ' {...}', '--ops', 'Sigmoid+Conv')
        asked = int(said.split()[0])
        seen = set()
        for stop in (asked // 2, asked - 3):
            self.write('count', b'')
            text = FAKE.replace('    print(', """    with open(%r, "a") as c: c.write(".")
    if os.path.getsize(%r) == %d: os.kill(os.getppid(), signal.SIGINT)
    print(""" % (os.path.abspath('count'), os.path.abspath('count'), stop))
            r = self.run_tool('probe', '--import', self.script('stops', text) + ' {...}', '-o',
                              'part.target', '--ops', 'Sigmoid+Conv')
            if r.returncode == 4:
                self.assertIn(b'no target is written', r.stderr)
                continue
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(b'more were not asked', r.stderr)
            t = json.loads(self.read('part.target'))
            self.assertEqual(t['rest'], 'unknown')
            for op, rows in t['ops'].items():
                for row in rows if isinstance(rows, list) else [rows]:
                    if 'not ' in row.get('says', ''):
                        seen.add(row['says'])
                        continue
                    full = whole['ops'][op]
                    self.assertIn(row['versions'].split('-')[0],
                                  json.dumps(full), 'row %r of %s' % (row, op))
        self.assertIn('not all forms were probed', seen)

    def test_outputs(self):
        """Rows for what the importer computes, and rows for what it only imports."""
        text = FAKE.replace('print(f + "\\t" + why(open(f, "rb").read())', 'print(f + "\\t" + both(f)').replace(
            'for f in', BOTH + 'for f in')
        t, _ = self.probe(self.script('computes', text) + ' {...}', '--ops',
                          'Relu+Softplus+RandomNormal', '--outputs')
        self.assertEqual(t['ops']['RandomNormal'], {'versions': '1'})
        self.assertEqual(t['ops']['Softplus'], {'versions': '1', 'misread': True})
        rows = t['ops']['Relu']
        self.assertTrue(any(not r.get('misread') and 'double' not in r['types']['T'] for r in rows), rows)
        self.assertTrue(any(r.get('misread') and 'types' not in r for r in rows), rows)
        # Without --outputs nothing is computed.
        t, _ = self.probe(self.script('computes', text) + ' {...}', '--ops', 'Relu+Softplus')
        self.assertEqual(t['ops']['Relu'], {'versions': '1-13'})

    def test_forms(self):
        """Forms that the importer accepts and the first rows reject have rows of their own, which
        require what these forms have."""
        text = FAKE.replace('    return "ok"', """    if b"Resize" in b and (b"linear" in b) != (b"asymmetric" in b): return "not together"
    return "ok\"""").replace('if b[1] > 7', 'if b[1] > 17').replace('> 13:', '> 99:')
        t, _ = self.probe(self.script('forms', text) + ' {...}', '--ops', 'Resize', '--log', 'log')
        self.assertIn('not together', self.read('log').decode())
        rows = t['ops']['Resize']
        for row in rows:
            self.assertNotIn('linear', row['attrs']['mode'])
            self.assertNotIn('asymmetric', row['attrs'].get('coordinate_transformation_mode', []))
        of_18 = [row for row in rows if row['versions'] == '18-19']
        self.assertEqual(of_18[0]['no_attrs'], ['axes'])
        own = [row for row in of_18 if row['attrs'].get('axes') == ['2,3']]
        self.assertTrue(own and all(row['rank']['X'] == [4, 4] for row in own), rows)
        self.assertTrue(any(row.get('given') == ['sizes'] and row['rank']['sizes'] == [1, 1]
                            for row in own), rows)

    def test_wrong(self):
        self.bad(2, 'needs --import CMD and -o', 'probe')
        self.bad(2, 'a quote is not closed', 'probe', '--import', "a '", '-o', 'x.target')
        self.bad(2, 'cannot run /nowhere', 'probe', '--import', '/nowhere', '-o', 'x.target')
        self.bad(2, 'accepts no model, not even of one Relu: exit code 1', 'probe', '--import', 'false',
                 '-o', 'x.target')
        self.bad(2, 'printed no line', 'probe', '--import', 'true {...}', '-o', 'x.target')
        self.bad(2, 'there is no such target', 'probe', '--import', 'true', '--inherit', 'zzzz', '-o',
                 'x.target')
        self.bad(3, 'folder', 'probe', '--import', 'true', '-o', 'no/x.target')
        self.assertFalse(os.path.exists('x.target'))


common.main()
