#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bodies.gen.c of bodies.table.

    bodies.py bodies.table ops.table bodies.gen.c
"""
import re
import sys

from gen import Table, c_string


def bodies(path):
    """(name, versions, opset, lines) of each body."""
    found, lines = [], None
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip('\n')
            m = re.match(r'body (\w+)((?: \d+)+) opset (\d+)$', line)
            if m:
                lines = []
                found.append((m[1], [int(v) for v in m[2].split()], int(m[3]), lines))
            elif not line:
                lines = None
            elif lines is not None:
                lines.append(line)
            elif line[0] != '#':
                sys.exit('%s:%d: stands in no body' % (path, number))
    return found


def main():
    table = Table([sys.argv[2]])
    ops = {o['name']: o for o in table.ops if not o['domain']['name']}
    texts, rows = [], []
    for k, (name, versions, opset, lines) in enumerate(bodies(sys.argv[1])):
        texts.append('static const char body%d[] =\n  %s;\n' % (
            k, '\n  '.join(c_string(line + '\n') for line in lines)))
        known = {v['since']: v['flags'] for v in ops[name]['versions']}
        for since in versions:
            if 'body' not in known.get(since, ()):
                sys.exit('%s: %s %d has no body' % (sys.argv[1], name, since))
            rows.append((ops[name]['id'], since, opset, k))
    missing = {(o['id'], v['since']) for o in table.ops for v in o['versions']
               if 'body' in v['flags']} - {r[:2] for r in rows}
    if missing:
        sys.exit('%s: no body for %s' % (sys.argv[1], sorted(missing)))
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        out.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
                  '/* Generated from lib/schema/bodies.table. */\n#include "schema/bodies.h"\n\n')
        out.write('\n'.join(texts))
        out.write('\nconst surg__body surg__bodies[] = {\n  %s};\n' % ',\n  '.join(
            '{%d, %d, %d, body%d}' % r for r in sorted(rows)))
        out.write('const size_t surg__body_count = %d;\n' % len(rows))


if __name__ == '__main__':
    main()
