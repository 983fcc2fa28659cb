#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds words that doc/conventions.md rules out, and lines that are too long: style.py SOURCE.

README.md, the pages of doc/ and the public headers must have none. The words of other files - string literals
in C, rules, targets, messages, tables - are counted by group; style_left.txt is the number that each
group may have. --update lowers these numbers and never raises one; --list GROUP prints what is
found. Fenced blocks and words in backquotes are not read: they are code or output."""
import pathlib
import re
import sys

BANNED = re.compile(r'''\b(
    stands?|stood|standing | told|tells?|said|says?|heard | nobody|somebody|anybody|whoever |
    takes?|taken|took | holds?|held | not\ known\ of | bears?|borne | goes|comes | lies? |
    whole\ numbers? | truth\ values? | laid\ out | behind|in\ front\ of
)\b''', re.VERBOSE | re.IGNORECASE)
COLUMNS = 100
README_LINES = 150  # what a newcomer reads
GENERATED = ('substitutions.md', 'target-table.md', 'commands.md')
LEFT = pathlib.Path(__file__).with_name('style_left.txt')
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Keys of target files and of JSON output, names of parts of a cut and of a function of the rule
# language: interfaces, no text to read.
KEYS = re.compile(r'^(says|said|taken|behind|take|take\(.*\))$|\\"\w+\\":')
CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)'")


def prose(text):
    """Lines of Markdown with their numbers, without fenced blocks and without code."""
    fenced = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('```'):
            fenced = not fenced
        elif not fenced:
            # The second cell of a finding is the program's own text (lib/check/rules.def).
            text = re.sub(r'^(\| [EWN]\d+ \|)[^|]*', r'\1', line)
            yield number, re.sub(r'`[^`]*`|\]\([^)]*\)|^\s*<!--.*', '', text), line


def macros(text):
    """Lines of a manual page that are text."""
    for number, line in enumerate(text.split('\n'), 1):
        if not line.startswith('.'):
            yield number, line, line


def comments(text):
    """The comments of C, line by line, without names in backquotes and quoted examples."""
    for m in re.finditer(r'/\*.*?\*/', text, re.DOTALL):
        first = text.count('\n', 0, m.start()) + 1
        for i, line in enumerate(m.group(0).split('\n')):
            yield first + i, re.sub(r'`[^`]*`|"[^"]*"', '', line), line


def strings(text):
    """The string literals of C, line by line; comments and #include lines are left out."""
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group(0).count('\n'), text, flags=re.DOTALL)
    text = CHARACTER.sub("''", text)
    for number, line in enumerate(text.split('\n'), 1):
        if not line.lstrip().startswith('#include'):
            for m in STRING.finditer(line):
                yield number, KEYS.sub('', m.group(1)), line


def quoted(text):
    """The quoted texts of rules, targets, tables and messages; keys of JSON are left out."""
    for number, line in enumerate(text.split('\n'), 1):
        if not line.lstrip().startswith('#'):
            for m in STRING.finditer(line):
                if not re.match(r'\s*:', line[m.end():]):
                    yield number, m.group(1), line


def words(path, found):
    return ['%s:%d: "%s": %s' % (path, number, hit.group(0), line.strip()[:90])
            for number, text, line in found for hit in BANNED.finditer(text)]


def long_lines(path, text):
    return ['%s:%d: %d columns' % (path, number, len(line))
            for number, line in enumerate(text.split('\n'), 1) if len(line) > COLUMNS]


def strict(source):
    """What is wrong in the documentation and in the public headers."""
    out = []
    top = [source / 'README.md', source / 'CONTRIBUTING.md', source / 'SECURITY.md']
    pages = [p for p in top + sorted((source / 'doc').glob('*.md'))
             if p.name not in GENERATED]
    for path in pages:
        text, name = path.read_text(encoding='utf-8'), path.relative_to(source)
        out += words(name, prose(text))
        out += ['%s:%d: %d columns' % (name, n, len(line)) for n, _, line in prose(text)
                if len(line) > COLUMNS and not line.startswith('|')]
    lines = len((source / 'README.md').read_text(encoding='utf-8').splitlines())
    if lines > README_LINES:
        out.append('README.md: %d lines, at most %d are allowed' % (lines, README_LINES))
    path = source / 'doc/man/onnxsurg.1'
    out += words(path.relative_to(source), macros(path.read_text(encoding='utf-8')))
    for path in sorted((source / 'include').glob('**/*.*')):
        if path.suffix in ('.h', '.def'):
            text, name = path.read_text(encoding='utf-8'), path.relative_to(source)
            out += words(name, comments(text)) + long_lines(name, text)
    return out


def files(source, folders, suffixes):
    for folder in folders:
        for path in sorted((source / folder).glob('**/*')):
            if path.suffix in suffixes:
                yield path.relative_to(source), path.read_text(encoding='utf-8')


def groups(source):
    """Findings by group. The library and the program are one group: code moves between them."""
    code, data = ('.c', '.h', '.def'), ('.rules', '.target', '.messages', '.txt', '.table', '.schema')
    out = {}
    for name, folders in (('lib-tools', ('lib', 'tools')), ('passes', ('passes',))):
        out[name + ' words'] = [w for p, t in files(source, folders, code) for w in words(p, strings(t))]
        out[name + ' columns'] = [w for p, t in files(source, folders, code) for w in long_lines(p, t)]
    for suffix in data:
        found = [w for p, t in files(source, ('lib', 'passes'), (suffix,)) for w in words(p, quoted(t))]
        if found or suffix in ('.rules', '.target'):
            out[suffix[1:] + ' words'] = found
    return out


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    found, wrong = groups(source), strict(source)
    if '--list' in sys.argv:
        print('\n'.join(found.get(sys.argv[sys.argv.index('--list') + 1], [])))
        return 0
    left = {}
    if LEFT.exists():
        left = {name: int(n) for n, name in (line.split(None, 1) for line in
                                             LEFT.read_text().splitlines() if line[:1] != '#')}
    if '--update' in sys.argv:
        rows = ['%5d %s\n' % (min(len(v), left.get(k, len(v))), k) for k, v in sorted(found.items())]
        LEFT.write_text('# Findings of style.py that are left, by group. The numbers only shrink.\n' + ''.join(rows))
    for name, hits in sorted(found.items()):
        if '--update' not in sys.argv and len(hits) > left.get(name, 0):
            wrong.append('%s: %d findings, %d are allowed; list them with: test/docs/style.py . --list "%s"'
                         % (name, len(hits), left.get(name, 0), name))
    print('\n'.join(wrong))
    return len(wrong) > 0


if __name__ == '__main__':
    sys.exit(main())
