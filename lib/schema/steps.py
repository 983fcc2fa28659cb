#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes steps.gen.c of steps.table.

    steps.py steps.table ops.table steps.gen.c
"""
import re
import sys

from gen import Pool, Table, c_string

# Conditions and what they take: the name of an attribute (a), a number (n), a value (v).
CONDITIONS = {'is': 'av', 'isnt': 'av', 'least': 'an', 'drop': 'a', 'last': 'a', 'given': 'n',
              'absent': 'n', 'unused': 'n', 'indices': 'n', 'scalar': 'n', 'one': 'n',
              'rank': 'nm', 'one-of': 'nm', 'inside': '', 'same-shapes': '',
              'same-branches': '', 'same-carried': ''}


def logical_lines(path):
    held = None
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip('\n')
            if held and line.startswith('      '):
                held = held[0], held[1] + ' ' + line.strip()
                continue
            if held:
                yield held
            held = (number, line) if line.strip() and line[0] != '#' else None
    if held:
        yield held


class Steps:
    def __init__(self, path, table):
        self.rules, self.found = {}, {}
        self.ops = {(o['domain']['name'], o['name']): o for o in table.ops}
        self.domain = self.op = None
        for number, line in logical_lines(path):
            try:
                self.take(line)
            except Exception as e:
                sys.exit('%s:%d: %s: %s' % (path, number, type(e).__name__, e))
        wanted = {(o['id'], v['since']) for o in table.ops for v in o['versions'][1:]}
        if wanted != set(self.found):
            by_id = {o['id']: o['name'] for o in table.ops}
            sys.exit('%s: steps missing or too many: %s' % (path, ', '.join(
                '%s %d' % (by_id[i], since) for i, since in wanted ^ set(self.found))))

    def take(self, line):
        words = line.split()
        if line[0] == ' ':
            since, text = re.match(r' +(\d+): (.*)$', line).groups()
            self.put(int(since), self.rules.get(text) or self.step(text))
        elif words[0] == 'rule':
            name, text = re.match(r'rule ([\w-]+) = (.*)$', line).groups()
            self.rules[name] = self.step(text)
        elif words[0] == 'domain':
            self.domain = words[1].strip('"')
        else:
            self.op = self.ops[self.domain, words[0]]
            assert words[1:2] in ([], ['free']), 'neither free nor nothing'
            for since in words[2:]:
                self.put(int(since), {'up': [], 'down': [], 'note': ''})

    def put(self, since, step):
        key = self.op['id'], since
        assert key not in self.found, 'step stands twice'
        self.check_attrs(since, step)
        self.found[key] = step

    def check_attrs(self, since, step):
        """An attribute that a condition names must be one of the version the node comes from."""
        versions = self.op['versions']
        at = [v['since'] for v in versions].index(since)
        for side, version in (('up', versions[at - 1]), ('down', versions[at])):
            names = {a['name'] for a in version['attrs']}
            for kind, attr, _, _ in step[side] or []:
                assert attr is None or attr in names, 'no attribute %s to go %s' % (attr, side)

    def step(self, text):
        where, _, note = (p.strip() for p in text.partition(' | '))
        out = {'up': [], 'down': [], 'note': note}
        for part in where.split(', '):
            side, _, conditions = part.partition(' ')
            found = None if conditions == 'no' else [self.condition(c) for c in conditions.split()]
            for s in ('up', 'down') if side == 'both' else (side,):
                assert out[s] == [], 'direction stands twice'
                out[s] = found
        return out

    def condition(self, text):
        kind, args = re.match(r'([\w-]+)(?:\((.*)\))?$', text).groups()
        form, args = CONDITIONS[kind], args.split(',') if args else []
        assert len(args) == len(form), 'wrong arguments'
        attr, n, value = None, [0, 0], None
        for f, a in zip(form, args):
            if f == 'a':
                attr = a
            elif f == 'v' and not a.isdigit():
                value = a
            else:
                n[f == 'm'] = int(a)
        return kind, attr, n, value


def condition_row(c):
    kind, attr, n, value = c
    return '{SURG__IF_%s, %s, %d, %d, %s}' % (
        kind.upper().replace('-', '_'), c_string(attr) if attr else 'NULL', n[0], n[1],
        c_string(value) if value else 'NULL')


def side_row(pool, side):
    if side is None:
        return '{false, NULL, 0}'
    return '{true, %s, %d}' % (
        pool.array('c', 'surg__condition', [condition_row(c) for c in side]), len(side))


def main():
    table = Table([sys.argv[2]])
    steps = Steps(sys.argv[1], table)
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        out.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
                  '/* Generated from lib/schema/steps.table. */\n#include "schema/steps.h"\n\n')
        pool, rows = Pool(out), []
        for (op, since), s in sorted(steps.found.items()):
            rows.append('{%d, %d, %s, %s, %s}' % (
                op, since, side_row(pool, s['up']), side_row(pool, s['down']),
                c_string(s['note']) if s['note'] else 'NULL'))
        out.write('\nconst surg__opset_step surg__steps[] = {\n  %s};\n' % ',\n  '.join(rows))
        out.write('const size_t surg__step_count = %d;\n' % len(rows))


if __name__ == '__main__':
    main()
