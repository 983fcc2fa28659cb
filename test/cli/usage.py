#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help, wrong usage, and files that are none. usage.py PROGRAM"""
import json
import os
import re
import unittest

import common
from common import COMMANDS, Case


class Usage(Case):
    def test_no_arguments(self):
        self.bad(2, r'^onnxsurg: error: no model given.*onnxsurg --help')

    def test_help(self):
        texts = set()
        for args in [[], *[[c] for c in COMMANDS]]:
            text = self.ok(*args, '--help').decode()
            self.assertTrue(text.startswith('usage: onnxsurg'), args)
            texts.add(text)
        self.assertEqual(len(texts), 1 + len(COMMANDS))
        self.assertEqual(self.ok('help'), self.ok('--help'))
        self.assertEqual(self.ok('help', 'info'), self.ok('info', '--help'))

    def test_help_fits_a_terminal(self):
        for args in [[], *[[c] for c in COMMANDS]]:
            for line in self.ok(*args, '--help').decode().splitlines():
                self.assertLessEqual(len(line), 80, line)
        listed = self.ok('passes').decode()
        names = re.findall(r'^  (\S+)', listed.split('presets')[0], re.M)
        self.assertGreater(len(names), 9)
        for text in [listed, *[self.ok('passes', name).decode() for name in names],
                     *[self.ok(name, '--help').decode() for name in names]]:
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_help_names_every_option_that_exists(self):
        # An unknown option is refused with 2; each of help's own must not be.
        options = sorted(set(re.findall(r'--[a-z-]+', self.ok('--help').decode())))
        self.assertGreater(len(options), 20)
        for option in options:
            err = self.run_tool(option).stderr
            self.assertNotIn(b'unknown option', err)

    def test_version(self):
        self.assertRegex(self.ok('--version').decode(), r'^onnxsurg \d+\.\d+\.\d+\n$')

    def test_unknown_option(self):
        self.bad(2, r'unknown option --pas: did you mean --pass\?', '--pas', 'x', 'in.onnx', 'o')
        self.bad(2, r'unknown option --zzzzzzzzz \(try', '--zzzzzzzzz', 'in.onnx', 'o')
        self.bad(2, r'unknown option --jsn: did you mean --json\?', 'info', '--jsn', 'in.onnx')
        self.bad(2, r'option --pass needs a value', 'in.onnx', 'o', '--pass')
        self.bad(2, r'option --dry-run has no value', '--dry-run=1', 'in.onnx', 'o')
        # Every command has the same options and says the same of bad ones.
        for command in COMMANDS:
            self.bad(2, r'unknown option --zzzzzzzzz \(try', command, '--zzzzzzzzz', 'in.onnx')
            self.bad(2, r'unknown option -q \(try', command, 'in.onnx', '-q')
            self.bad(2, r'option --max-depth needs a value', command, 'in.onnx', '--max-depth')
            self.bad(2, r'option --quiet has no value', command, '--quiet=1', 'in.onnx')
        # Letters that stand together.
        self.bad(2, r'unknown option -x \(try', '-xi', 'in.onnx')
        self.bad(2, r'unknown option -x \(try', '-ix', 'in.onnx')
        self.bad(2, r'option --output needs a value', 'in.onnx', '-o')
        self.clean('in.onnx')

    def test_short_help(self):
        for words in ([], ['check'], ['simplify'], ['remove-op']):
            with self.subTest(words):
                self.assertEqual(self.ok(*words, '-h'), self.ok(*words, '--help'))
                if words:
                    self.assertEqual(self.ok(*words, 'a', 'b', '-h'), self.ok(*words, '--help'))

    def test_each_command_names_its_own_help(self):
        for command in COMMANDS:
            r = self.run_tool(command, '--no-such-option')
            self.assertEqual(r.returncode, 2)
            self.assertIn(b'(try `onnxsurg %s --help`)' % command.encode(), r.stderr)

    def test_values_of_options(self):
        for option, value in [('--rewrite-limit', 'x'), ('--timeout', '0'), ('--timeout', '-1'),
                              ('--timeout', '18446744073709553'), ('--max-memory', '0'),
                              ('--max-memory', '1MB'),
                              ('--max-memory', '99999999999GiB'), ('--max-depth', '0'),
                              ('--max-depth', '4001'), ('--external-threshold', ''),
                              ('--external-data', 'a/b'), ('--external-data', '')]:
            self.bad(2, r'^onnxsurg: error: %s expects ' % option, option, value, 'in.onnx', 'o')

    def test_unknown_pass(self):
        self.bad(2, r'column 1: unknown pass "fodl"; did you mean "fold"', '--pass', 'fodl',
                 'in.onnx', 'o')
        self.bad(2, r'unknown pass "zzzzzzzz"; see `onnxsurg passes`', '--pass', 'zzzzzzzz',
                 'in.onnx', 'o')
        self.bad(2, r'column 6: unknown option .*"max-growt"; did you mean "max-growth"',
                 '--pass', 'fold{max-growt=1}', 'in.onnx', 'o')
        self.bad(2, r'unknown option --foo \(try `onnxsurg prune --help`\)', 'prune', '--foo', 'in.onnx', 'o')
        self.bad(2, r'no pass prun: did you mean prune\?', 'passes', 'prun')
        self.bad(2, r'no pass zzzzzzzz .*onnxsurg passes', 'passes', 'zzzzzzzz')
        self.bad(2, r'--skip-pass: error: .*did you mean "prune"', '--skip-pass', 'prun',
                 'in.onnx', 'o')
        self.clean('in.onnx')

    def test_misspelt_command(self):
        self.bad(2, r'no command and no file inf: did you mean `onnxsurg info`', 'inf', 'in.onnx')
        self.bad(2, r'no command and no file simplfy: did you mean `onnxsurg simplify`',
                 'simplfy', 'in.onnx', 'out.onnx')
        self.bad(2, r'no command and no file frobnicate \(try `onnxsurg --help`\)',
                 'frobnicate', 'in.onnx', 'out.onnx')
        self.bad(2, r'no command and no file frobnicate \(try `onnxsurg --help`\)', 'frobnicate')
        self.bad(2, r'did you mean `onnxsurg reduce`', 'redcue', 'in.onnx', 'o')
        self.assertEqual(self.ok('version'), self.ok('--version'))
        # A file of that name is a file.
        self.write('inf', self.read('in.onnx'))
        self.ok('inf', 'out.onnx')

    def test_file_named_like_a_command(self):
        self.write('info', self.read('in.onnx'))
        self.assertIn(b'opset 17', self.ok('info', 'info'))
        self.ok('./info', 'out.onnx')
        self.ok('--pass', 'prune', 'info', 'info')

    def test_how_many_files(self):
        self.bad(2, r'no output given: .*-i to change in.onnx', 'in.onnx')
        self.bad(2, r'several models need -i or --out-dir', 'a', 'b', 'c')
        self.bad(2, r'several models need -i or --out-dir', 'a', 'b', '-o', 'c')
        self.bad(2, r'exclude each other', '-i', '--out-dir', '.', 'in.onnx')
        self.bad(2, r'more than one output', '-o', 'a', '-o', 'b', 'in.onnx')
        self.bad(2, r'more than one output', '-i', '-o', 'b', 'in.onnx')
        self.bad(2, r'standard input cannot be written in place', '-i', '-')
        self.bad(2, r'standard input has no name', '--out-dir', '.', '-')
        self.bad(2, r'empty file name', '', 'o')
        self.bad(2, r'empty file name', 'in.onnx', '')
        self.bad(2, r'info expects a model', 'info')
        self.bad(2, r'cat expects one model', 'cat')
        self.bad(2, r'cat expects one model', 'cat', 'in.onnx', 'in.onnx')
        self.clean('in.onnx')

    def test_what_excludes_each_other(self):
        self.write('p', b'fold')
        for second in (['--pass', 'prune'], ['--pass-file', 'p']):
            self.bad(2, r'one pipeline at a time: join passes with a comma', '--pass', 'fold',
                     *second, 'in.onnx', 'o')
        for option in ('--json', '--print-after'):
            out = self.bad(2, r'standard output cannot be used for the model and %s' % option, option,
                           'in.onnx', '-')
            self.assertEqual(out, b'')

    def test_passes(self):
        text = self.ok('passes').decode()
        for name in ['fold', 'prune', 'identity', 'outputs', 'simplify']:
            self.assertRegex(text, r'(?m)^  %s ' % name)
        self.assertIn('max-growth=N', self.ok('passes', 'fold').decode())
        told = json.loads(self.ok('passes', '--json'))
        self.assertIn('group=simplify', told['presets']['simplify'])
        self.assertEqual({p['name'] for p in told['passes']},
                         set(re.findall(r'(?m)^  ([a-z]\S*) ', text)) - set(told['presets']))
        one = json.loads(self.ok('passes', '--json', 'fold'))['passes']
        self.assertEqual([p['name'] for p in one], ['fold'])
        self.assertIn('max-growth', [o['name'] for o in one[0]['options']])

    def test_input_that_is_none(self):
        os.mkdir('folder')
        self.write('empty', b'')
        self.write('lfs', b'version https://git-lfs.github.com/spec/v1\noid sha256:' + b'4' * 64
                   + b'\nsize 12345\n')
        self.write('html', b'<!DOCTYPE html><html><body>404</body></html>')
        self.write('cut', self.read('in.onnx')[:-700])
        for command in ([], ['cat'], ['info']):
            out = [] if command else ['out']
            self.bad(3, r'^missing: error: cannot open: No such file', *command, 'missing', *out)
            if command == ['cat']:  # the others search folders
                self.bad(3, r'^folder: error: .*directory', *command, 'folder', *out)
            self.bad(1, r'^empty: error: the file is empty', *command, 'empty', *out)
            self.bad(1, r'^lfs: error: .*LFS pointer.*git lfs pull', *command, 'lfs', *out)
            self.bad(1, r'^html: error: ', *command, 'html', *out)
            self.bad(1, r'^cut: error: ', *command, 'cut', *out)
        self.assertFalse(os.path.exists('out'))

    @unittest.skipIf(os.geteuid() == 0, 'root reads everything')
    def test_unreadable_input(self):
        os.chmod('in.onnx', 0)
        self.bad(3, r'^in.onnx: error: cannot open: Permission denied', 'in.onnx', 'out')

    def test_names_are_escaped(self):
        self.bad(3, r'^no\\x1b\[31m\\n: error: cannot open', 'no\x1b[31m\n', 'out')
        self.bad(2, r'unknown option --\\x1b', '--\x1bxxxxxxxxx')


if __name__ == '__main__':
    common.main()
