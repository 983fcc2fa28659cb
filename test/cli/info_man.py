#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page names every command and common option, and none that is not there.
info_man.py PROGRAM"""
import pathlib
import re
import shutil
import subprocess

import common
from common import Case

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'doc/man/onnxsurg.1'


def options(text):
    """Long options that stand at the front of a line of help."""
    found = set()
    for line in text.splitlines():
        if re.match(r' {2}-', line):
            found |= set(re.findall(r'--([a-z][a-z-]*)', line.split('   ')[0]))
    return found


class Man(Case):
    def sections(self):
        parts = re.split(r'^\.S[sh] (.*)$', PAGE.read_text(encoding='utf-8'), flags=re.M)
        return dict(zip(parts[1::2], parts[2::2]))

    def commands(self):
        # A list that ends with "..." names passes.
        text = self.ok('--help').decode()
        return '|'.join(re.findall(r'^ +onnxsurg ((?:\w+\|)+\w+)(?=\s)', text, re.M)).split('|')

    def test_program(self):
        named = set(re.findall(r'\bFl -([a-z][a-z-]*)', self.sections()['Options']))
        self.assertEqual(named - {'help'}, options(self.ok('--help').decode()) - {'help'})
        listed = re.search(r'^\.Cm (.* \| .*)$', PAGE.read_text(encoding='utf-8'), re.M).group(1)
        self.assertEqual(sorted(self.commands()), sorted(listed.split(' | ')))

    def test_commands(self):
        """Each has a paragraph, and no option there is one that it lacks."""
        sections = self.sections()
        for command in self.commands():
            with self.subTest(command):
                self.assertGreater(len(sections.get(command, '').split()), 20)
                text = self.ok(command, '--help').decode()
                known = set(re.findall(r'--([a-z][a-z-]*)', text))
                named = set(re.findall(r'\bFl -([a-z][a-z-]*)', sections[command]))
                self.assertEqual(named - known, set())

    def test_form(self):
        if not shutil.which('groff'):
            self.skipTest('groff is not here')
        r = subprocess.run(['groff', '-mdoc', '-Tutf8', '-ww', '-z', str(PAGE)],
                           capture_output=True, timeout=60)
        self.assertEqual((r.returncode, r.stderr.decode()), (0, ''))


if __name__ == '__main__':
    common.main()
