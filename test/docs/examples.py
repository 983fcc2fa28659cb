#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the documentation: examples.py ONNXSURG SOURCE [--update] [PAGE...].

A `console` block of README.md or doc/*.md contains commands (lines that start with "$ ") and their
output. Each page has its own working folder with the models of examples/models, as .onnxtxt and as
.onnx. A block whose first line is ```KIND NAME is written to the file NAME first; for NAME.onnxtxt
there is NAME.onnx as well. A line "..." in an output matches any lines. --update writes the output
of the program into the pages: read the difference."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r'^```(\S*)(?: (\S+))?$')


class Page:
    """A page that is run in a folder of its own."""

    def __init__(self, path, tool, source, folder):
        self.path, self.tool, self.folder = path, tool, folder
        self.failures, self.commands = [], 0
        (folder / 'bin').mkdir()
        (folder / 'bin/onnxsurg').symlink_to(tool)
        self.work = folder / 'work'
        self.work.mkdir()
        for model in sorted((source / 'examples/models').glob('*.onnxtxt')):
            shutil.copy(model, self.work)
            self.convert(model.name)

    def run(self, command):
        r = subprocess.run(['sh', '-c', command], cwd=self.work, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                           env={'PATH': '%s:/usr/bin:/bin' % (self.folder / 'bin'), 'LC_ALL': 'C'})
        return [line.rstrip() for line in r.stdout.decode('utf-8', 'replace').splitlines()]

    def convert(self, name):
        """NAME.onnx from NAME.onnxtxt. An invalid model is only there as text."""
        self.run('onnxsurg --pass toposort %s %s' % (name, name[:-3]))

    def console(self, lines):
        """The block with the output that its commands have now."""
        made, i = [], 0
        while i < len(lines):
            if not lines[i].startswith('$ '):
                self.failures.append('output before the first command: ' + lines[i])
                return lines
            command, i = lines[i], i + 1
            expected = []
            while i < len(lines) and not lines[i].startswith('$ '):
                expected.append(lines[i])
                i += 1
            found = self.run(command[2:])
            self.commands += 1
            if matches([e.rstrip() for e in expected], found):
                made += [command] + expected
            else:
                self.failures.append('\n'.join([command, '-- expected'] + expected + ['-- found'] + found))
                made += [command] + found
        return made

    def text(self):
        """The page with the output that its commands have now."""
        out, block, kind, name = [], None, '', None
        for line in self.path.read_text(encoding='utf-8').split('\n'):
            fence = FENCE.match(line)
            if block is None:
                out.append(line)
                if fence:
                    block, kind, name = [], fence.group(1), fence.group(2)
            elif line == '```':
                if name:
                    (self.work / name).write_text('\n'.join(block) + '\n')
                    if name.endswith('.onnxtxt'):
                        self.convert(name)
                out += self.console(block) if kind == 'console' else block
                out.append(line)
                block = None
            else:
                block.append(line)
        return '\n'.join(out)


def matches(expected, found):
    """Whether the output is as expected, where "..." is any number of lines."""
    if '...' not in expected:
        return expected == found
    pattern = ''.join('(?:.*\n)*' if e == '...' else re.escape(e) + '\n' for e in expected)
    return re.fullmatch(pattern, ''.join(f + '\n' for f in found)) is not None


def main():
    args = [a for a in sys.argv[1:] if a != '--update']
    update = '--update' in sys.argv
    tool, source = pathlib.Path(args[0]).resolve(), pathlib.Path(args[1]).resolve()
    pages = [source / 'README.md', *sorted((source / 'doc').glob('*.md'))]
    if args[2:]:
        pages = [pathlib.Path(p).resolve() for p in args[2:]]
    failed = commands = 0
    for path in pages:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(path, tool, source, pathlib.Path(folder))
            text = page.text()
        commands += page.commands
        if update and text != path.read_text(encoding='utf-8'):
            path.write_text(text, encoding='utf-8')
            print('%s: updated' % path.name)
        elif page.failures:
            failed += 1
            print('\n'.join('%s: %s' % (path.name, f) for f in page.failures))
    print('%d commands in %d pages, %d pages differ' % (commands, len(pages), failed))
    if failed:
        print('after a change of output: test/docs/examples.py %s %s --update, then read the diff'
              % (args[0], args[1]))
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
