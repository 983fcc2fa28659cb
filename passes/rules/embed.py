#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of files of rules: embed.py OUT.c IN.rules...

Beside the texts stands what is known of each rule without reading it: its name, its group, its
exactness and the operator of the last node of its pattern. A rule is read when a model has such a
node; what is written here is held against it then."""
import pathlib
import re
import sys

TOKEN = re.compile(r'"(?:[^"\\\\]|\\\\.)*"|#[^\n]*|[\w.]+(?:-\w+)*|[=!<>]=|\S')
CLASSES = {'exact': 'SURG_EXACT', 'ulp': 'SURG_ULP', 'rounding': 'SURG_ROUNDING',
           'approx': 'SURG_APPROX', 'lossy': 'SURG_LOSSY'}


def blanked(text):
    """Without comments, which stay in the source; lines keep their numbers."""
    return ''.join(('' if l.strip().startswith('#') else l) + '\n' for l in text.splitlines())


def literal(text):
    """One C string literal a line."""
    return '\n'.join('    %s' % quoted(line + '\n') for line in text.splitlines()) or '    ""'


def quoted(text):
    if text is None:
        return 'NULL'
    return '"%s"' % text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')


class Reader:
    """Tokens of a file, with where they stand."""

    def __init__(self, path, text):
        self.path, self.text, self.at = path, text, 0
        self.tokens = [m for m in TOKEN.finditer(text) if not m[0].startswith('#')]

    def peek(self, ahead=0):
        k = self.at + ahead
        return self.tokens[k][0] if 0 <= k < len(self.tokens) else ''

    def take(self, want=None):
        word = self.peek()
        if not word or (want and word != want):
            where = self.tokens[min(self.at, len(self.tokens) - 1)].start()
            sys.exit('%s:%d: %s stands here, not %s'
                     % (self.path, self.line(where), want or 'a word', word or 'the end'))
        self.at += 1
        return word

    def line(self, place):
        return self.text.count('\n', 0, place) + 1

    def skip(self, opening, closing):
        """From one bracket to behind the one that closes it."""
        depth = 0
        while True:
            word = self.take()
            depth += (word in opening) - (word in closing)
            if depth == 0:
                return

    def anchor(self):
        """The operator of the last node of `{ y = Op <...> (...) ... }`."""
        op = None
        self.take('{')
        while self.peek() != '}':
            if self.peek() in ('(', '['):
                self.skip('([', ')]')
                continue
            named = self.take() == '=' and self.peek(-3) != 'let'
            if not named:
                continue
            op = self.take()
            if self.peek() == '<':
                self.skip('<([', '>)]')
            self.take('(')
            self.at -= 1
        self.take('}')
        return op

    def rule(self, group):
        start = self.tokens[self.at].start()
        self.take('rule')
        name, word, ops = self.take(), None, [None]
        if self.peek() == 'for':
            self.take()
            word, ops = self.take(), []
            self.take('in')
            self.take('(')
            while self.take() != ')':
                ops.append(self.peek(-1))
                if self.peek() == ',':
                    self.take()
        kind, reason = 'exact', None
        if self.peek() in CLASSES:
            kind = self.take()
            if self.peek() == '(':
                self.take()
                reason = self.take().strip('"')
                self.take(')')
        self.take('{')
        self.take('match')
        while self.peek() != '{':  # guards hold no braces outside of strings
            self.take()
        anchor = self.anchor()
        while self.peek() != '}':
            self.skip('{', '}') if self.peek() == '{' else self.take()
        self.take('}')
        end = self.tokens[self.at - 1].end()
        for op in ops:
            domain, _, last = anchor.rpartition('.')
            yield {'name': name if op is None else '%s-%s' % (name, op), 'group': group,
                   'reason': reason, 'domain': '' if domain == 'ai.onnx' else domain,
                   'op_type': op if last == word else last, 'each_op': op, 'kind': CLASSES[kind],
                   'line': self.line(start), 'at': len(self.text[:start].encode()),
                   'bytes': len(self.text[start:end].encode())}

    def rules(self):
        group = 'user'
        while self.peek():
            if self.peek() == 'group':
                self.take()
                group = self.take()
            else:
                yield from self.rule(group)


def entry(r, file):
    texts = ', '.join(quoted(r[k]) for k in ('name', 'group', 'reason', 'domain', 'op_type', 'each_op'))
    return '  {%s, %s, %d, %d, %d, %d},' % (texts, r['kind'], file, r['line'], r['at'], r['bytes'])


def main():
    out, *files = sys.argv[1:]
    texts, entries, seen = [], [], {}
    for i, file in enumerate(files):
        path = pathlib.Path(file)
        text = blanked(path.read_text())
        for r in Reader(path, text).rules():
            if r['name'] in seen:
                sys.exit('%s: there is a rule %s already, in %s' % (file, r['name'], seen[r['name']]))
            seen[r['name']] = file
            entries.append(entry(r, i))
        texts.append('  {"passes/rules/%s",\n%s},' % (path.name, literal(text)))
    pathlib.Path(out).write_text('''/* Made by embed.py. */
#include "rewrite/lang/rule.h"

static const surg__rule_file files[] = {
%s
};

static const surg__rule_entry rules[] = {
%s
};

surg_status surg__register_builtin_rules(surg__rules *r) {
  return surg__rules_list(r, files, rules, SURG_COUNT(rules));
}
''' % ('\n'.join(texts), '\n'.join(entries)))


main()
