#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shells offer to complete a command line, and the man pages made from doc/.
completion.py PROGRAM"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import common
from common import COMMANDS, EXAMPLE, Case

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = SOURCE / 'tools/completion'


def candidates(*words):
    """The words offered after `onnxsurg WORDS...`, the last of which is being typed."""
    r = subprocess.run([FOLDER / 'candidates', *words], capture_output=True, text=True,
                       env=dict(os.environ, ONNXSURG=common.TOOL), timeout=60, check=True)
    return [line.split('\t')[0] for line in r.stdout.splitlines()]


class Candidates(Case):
    def test_first_word(self):
        found = candidates('')
        self.assertEqual([c for c in COMMANDS if c not in found], [])
        self.assertIn('fold', found)
        self.assertIn(':files', found)

    def test_options_are_those_of_the_help(self):
        for command in COMMANDS:
            text = self.ok(command, '--help').decode()
            for option in candidates(command, '-'):
                self.assertIn(option, text)
        self.assertIn('--max-growth', candidates('fold', '--'))
        self.assertIn('--external-data', candidates('fold', '--'))
        self.assertIn('--in-place', candidates('-'))

    def test_values_of_options(self):
        self.assertIn('onnxruntime-1.10', candidates('repair', '--target', ''))
        self.assertIn('simplify', candidates('--pass', ''))
        self.assertIn('fold,prune', candidates('--pass', 'fold,'))
        self.assertEqual(candidates('--allow', '')[:2], ['exact', 'ulp'])
        self.assertEqual(candidates('--out-dir', ''), [':folders'])
        self.assertEqual(candidates('check', '--assume-unknown', ''), ['yes', 'no'])
        self.assertEqual(candidates('repair', '--messages', ''), [':files'])

    def test_values_of_the_model(self):
        model = str(EXAMPLE)
        self.assertIn('pooled', candidates('extract', model, '--from', ''))
        self.assertIn('image,pooled', candidates('extract', model, '--to', 'image,'))
        # Without a model on the command line: the only one of the folder.
        self.assertIn('big', candidates('extract', '--from', ''))

    def test_lists_of_a_command(self):
        self.assertIn('fold', candidates('passes', ''))
        self.assertIn('opencv-4.6', candidates('targets', 'o'))
        self.assertIn('gelu-of-erf', candidates('rules', ''))

    def test_bash(self):
        if not shutil.which('bash'):
            self.skipTest('bash is missing')
        text = (FOLDER / 'onnxsurg.bash').read_text().replace('@CANDIDATES@',
                                                              str(FOLDER / 'candidates'))
        script = text + 'COMP_WORDS=(%s repair --target opencv-4.6); COMP_CWORD=3\n' \
            '_onnxsurg; printf "%%s\\n" "${COMPREPLY[@]}"\n' % common.TOOL
        r = subprocess.run(['bash', '-c', script], capture_output=True, text=True, timeout=60,
                           check=True)
        self.assertEqual(r.stdout.split(), ['opencv-4.6'])


class ManPages(unittest.TestCase):
    def test_pages_lose_nothing(self):
        """Every word of a page is in its man page; groff has no complaint where there is one."""
        for page, name in (('rules', 'onnxsurg-rules'), ('targets', 'onnxsurg-target')):
            source = SOURCE / 'doc' / (page + '.md')
            roff = subprocess.run([sys.executable, SOURCE / 'doc/man/from_markdown.py', source, name, '5',
                                   'summary'], capture_output=True, text=True, check=True).stdout
            plain = roff.replace('\\-', '-').replace('\\e', '\\').lower()
            text = ' '.join(line for line in source.read_text().splitlines()[1:]
                            if not line.startswith('```'))
            words = {word.strip('.,:;()*|`').lower() for word in text.split()}
            self.assertEqual([w for w in sorted(words) if w.isalnum() and w not in plain], [])
            if shutil.which('groff'):
                r = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z'], input=roff, text=True,
                                   capture_output=True)
                self.assertEqual(r.stderr, '')


if __name__ == '__main__':
    common.main()
