#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds an operator and a version to copies of the tables, as doc/adding-an-operator.md describes, and
runs every generator on them. A generator must report each row that is missing.

    schema_add.py SCHEMA_FOLDER"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCHEMA = pathlib.Path(sys.argv.pop(1)).resolve()
GENERATORS = (('gen.py', 'ops.table', 'contrib.table', 'ops.h'),
              ('gen.py', 'ops.table', 'contrib.table', 'schemas.gen.c'),
              ('steps.py', 'steps.table', 'ops.table', 'steps.gen.c'),
              ('bodies.py', 'bodies.table', 'ops.table', 'bodies.gen.c'),
              ('traits.py', 'ops.table', 'contrib.table', 'traits.table', 'traits.gen.h'))


class Add(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.folder = pathlib.Path(temp.name)
        for name in [*SCHEMA.glob('*.py'), *SCHEMA.glob('*.table')]:
            shutil.copy(name, self.folder)
        ids = [int(x) for t in ('ops', 'contrib') for x in re.findall(
            r'^[A-Z]\w* (\d+)\b', (SCHEMA / (t + '.table')).read_text(), re.M)]
        self.next = max(ids) + 1

    def edit(self, table, old, new):
        path = self.folder / (table + '.table')
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def generate(self):
        out = ''
        for name, *args in GENERATORS:
            r = subprocess.run([sys.executable, '-B', name, *args], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            out += r.stdout.decode() if r.returncode else ''
        return out

    def add_operator(self, number):
        self.edit('ops', '\nSoftsign 177', '\nCbrt %d elementwise\n  28: X:T -> Y:T [T = float]\n'
                  '\nSoftsign 177' % number)

    def add_traits(self):
        self.edit('traits', '\nSoftsign ', '\nCbrt infer=same axes=unary result=ulp\nSoftsign ')

    def test_operator(self):
        self.add_operator(self.next)
        self.assertRegex(self.generate(), 'Cbrt')  # no row in traits.table
        self.add_traits()
        self.assertEqual(self.generate(), '')
        self.assertIn('SURG_OP_Cbrt = %d' % self.next, (self.folder / 'ops.h').read_text())

    def test_ids(self):
        self.add_operator(self.next + 1)
        self.add_traits()
        self.assertIn('the next free id is %d' % self.next, self.generate())
        self.edit('ops', 'Cbrt %d' % (self.next + 1), 'Cbrt 177')
        self.assertIn('two operators have id 177', self.generate())

    def test_version(self):
        self.edit('ops', '  22: [T = floatb] | body\n\nSpaceToDepth',
                  '  22: [T = floatb] | body\n  28: [T = float] | body\n\nSpaceToDepth')
        out = self.generate()  # no step, no body
        self.assertRegex(out, r'steps\.table.*Softsign')
        self.assertRegex(out, r'bodies\.table.*\(177, 28\)')
        self.edit('steps', 'Softsign free 22', 'Softsign free 22 28')
        self.edit('bodies', 'body Softsign 1 22', 'body Softsign 1 22 28')
        self.assertEqual(self.generate(), '')


if __name__ == '__main__':
    unittest.main()
