#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command for each row of doc/coming-from.md: coming_from.py ONNXSURG SOURCE.

coming_from.txt has a case for each row, `== FIRST CELL`. Its lines:

    @ NAME               a model in ONNX text follows, up to a line "."; before the first case
    $ COMMAND            runs; the exit code must be 0 (`$1 COMMAND`: 1)
    + REGEX              found in what it printed, or in its model out.onnx
    - REGEX              not found there
    = MODEL              `verify MODEL out.onnx` finds no difference
    out REASON           instead of commands: nothing corresponds; the row has no command either

Every word after which a fragment of code in the row starts, and each of its --options, must be in a
command of the case, so that a row that changes needs a case that changes."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CODE = re.compile(r'`([^`]*)`')
OPTION = re.compile(r'(?<!\S)--[a-z][a-z-]*')


def rows(page):
    """The rows of all tables: first cell without backquotes, second cell."""
    for line in page.read_text(encoding='utf-8').splitlines():
        cells = [c.strip() for c in line.strip('|').split(' | ')] if line.startswith('| ') else []
        if len(cells) > 1 and cells[1] != 'here':
            yield cells[0].replace('`', ''), ' | '.join(cells[1:])


def cases(path):
    """The models, and the cases: {row: [(kind, text)]}."""
    models, found, lines = {}, {}, iter(path.read_text(encoding='utf-8').splitlines())
    for line in lines:
        if line.startswith('@ '):
            text = []
            for part in lines:
                if part == '.':
                    break
                text.append(part)
            models[line[2:]] = '\n'.join(text) + '\n'
        elif line.startswith('== '):
            if line[3:] in found:
                raise SystemExit('two cases of %s' % line[3:])
            steps = found[line[3:]] = []
        elif line.strip() and not line.startswith('#'):
            kind, _, text = line.partition(' ')
            steps.append((kind, text))
    return models, found


class Runner:
    def __init__(self, tool, source, folder, models):
        self.folder, self.path = folder / 'work', '%s:/usr/bin:/bin' % (folder / 'bin')
        self.folder.mkdir()
        (folder / 'bin').mkdir()
        (folder / 'bin/onnxsurg').symlink_to(tool)
        shutil.copytree(source / 'templates', self.folder / 'templates')
        for path in sorted((source / 'examples/models').glob('*.onnxtxt')):
            models.setdefault(path.stem, path.read_text(encoding='utf-8'))
        for name, text in models.items():
            (self.folder / 't.onnxtxt').write_text(text, encoding='utf-8')
            code, out = self.sh('onnxsurg --pass toposort t.onnxtxt %s.onnx' % name)
            if code:
                raise SystemExit('%s: %s' % (name, out))

    def sh(self, command):
        r = subprocess.run(['sh', '-c', command], cwd=self.folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                           env={'PATH': self.path, 'LC_ALL': 'C'})
        return r.returncode, r.stdout.decode('utf-8', 'replace')

    def case(self, steps):
        """What is wrong, as text."""
        wrong, text, out = [], '', self.folder / 'out.onnx'
        for kind, rest in steps:
            if kind.startswith('$'):
                out.unlink(missing_ok=True)
                code, text = self.sh(rest)
                if code != int(kind[1:] or 0):
                    wrong.append('%s: exit %d\n%s' % (rest, code, text))
                if out.exists():
                    text += self.sh('onnxsurg cat out.onnx')[1]
            elif kind in '+-':
                if bool(re.search(rest, text)) != (kind == '+'):
                    wrong.append('%s %s\n%s' % ('not found:' if kind == '+' else 'found:', rest, text))
            elif kind == '=':
                code, text = self.sh('onnxsurg verify %s out.onnx' % rest)
                if code:
                    wrong.append('verify %s out.onnx: exit %d\n%s' % (rest, code, text))
            elif kind != 'out':
                wrong.append('unknown line: %s %s' % (kind, rest))
        return wrong


def covered(cell, steps):
    """Words of the row that no command of its case has."""
    commands = ' '.join(text for kind, text in steps if kind.startswith('$'))
    words = set(re.findall(r'[\w./{}=-]+', commands))
    missing = []
    for code in CODE.findall(cell):
        options = OPTION.findall(code)
        first = re.match(r'[a-z][a-z-]*(?= |$)', code)
        wanted = options + ([first.group(0)] if first else [])
        missing += ['%s (of `%s`)' % (w, code) for w in wanted
                    if w not in words and not any(x.startswith((w + '=', w + '.')) for x in words)]
    return missing


def main():
    tool, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    models, found = cases(pathlib.Path(__file__).with_name('coming_from.txt'))
    table, failures, commands = dict(rows(source / 'doc/coming-from.md')), [], 0
    failures += ['no case for the row: ' + r for r in table if r not in found]
    failures += ['no row for the case: ' + r for r in found if r not in table]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tool, source, pathlib.Path(folder), models)
        for row, cell in table.items():
            steps = found.get(row, [])
            ran = [t for k, t in steps if k.startswith('$')]
            commands += len(ran)
            left_out = any(k == 'out' for k, _ in steps)
            if steps and bool(ran) == left_out:
                failures.append('%s: neither commands nor a reason, or both' % row)
            if ran and not any(k in '+-=' for k, _ in steps):
                failures.append('%s: no effect is checked' % row)
            if not left_out:
                failures += ['%s: not in its case: %s' % (row, w) for w in covered(cell, steps)]
            failures += ['%s: %s' % (row, w) for w in runner.case(steps)]
    print('\n'.join(failures))
    print('%d rows, %d commands, %d failures' % (len(table), commands, len(failures)))
    sys.exit(1 if failures or commands < 50 else 0)


main()
