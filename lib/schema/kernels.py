#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes kernels.gen.c of the built-in targets of ONNX Runtime: for each version of an operator the
element types that its CPU kernels support.

    kernels.py ops.table TARGET... kernels.gen.c
"""
import json
import os
import re
import sys

from gen import TENSORS, Table

# Element types that are judged: the others are computed in another type, or by few operators.
JUDGED = ('float', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'double',
          'uint32', 'uint64')
NUMBER = {t: n for t, n in TENSORS.values()}
ALL = 0xffffffff
PARAMS = 8  # SURG__KERNEL_PARAMS


def newest(targets):
    """The last target that inherits from the others, and what it inherits from, oldest first."""
    parents = {t.get('inherit') for t in targets.values()}
    name, = (n for n in targets if n not in parents)
    chain = []
    while name:
        chain.append(targets[name])
        name = targets[name].get('inherit')
    return chain[::-1]


def covers(versions, since):
    for part in (versions or '1+').split(','):
        low, high = re.match(r'(\d+)(?:-(\d+)|(\+))?$', part).group(1, 2)
        last = 10 ** 6 if part.endswith('+') else int(high or low)
        if int(low) <= since <= last:
            return True
    return False


def mask(types):
    if types is None:
        return ALL
    judged = sum(1 << NUMBER[t] for t in JUDGED)
    return (ALL & ~judged) | sum(1 << NUMBER[t] for t in types if t in NUMBER)


def rows_of(facts, version):
    """What the rows for a version support, as masks by type parameter; None: no row for it."""
    rows = [f for f in (facts if isinstance(facts, list) else [facts])
            if covers(f.get('versions'), version['since'])]
    if not rows or len(version['params']) > PARAMS:
        return None
    return [[mask(f.get('types', {}).get(p)) for p in version['params']]
            for f in rows if not f.get('refused')]


def main():
    table, targets, facts = Table([sys.argv[1]]), {}, {}
    for path in sys.argv[2:-1]:
        with open(path, encoding='utf-8') as f:
            targets[os.path.basename(path)[:-len('.target')]] = json.load(f)
    for t in newest(targets):
        facts.update(t['ops'])
    out = []
    for o in sorted(table.ops, key=lambda o: o['id']):
        if o['domain']['name'] or o['name'] not in facts:
            continue
        for v in o['versions']:
            rows = rows_of(facts[o['name']], v)
            # Without parameters every row supports all types.
            if rows is None or any(all(m == ALL for m in r) for r in rows):
                continue
            for r in rows or [[0] * len(v['params'])]:
                out.append('{%d, %d, {%s}}' % (o['id'], v['since'],
                                               ', '.join('0x%08xu' % m for m in r) or '0'))
    with open(sys.argv[-1], 'w', encoding='utf-8') as f:
        f.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
                '/* Generated from the targets of ONNX Runtime. */\n#include "schema/kernels.h"\n\n'
                'const surg__kernel_row surg__kernel_rows[] = {\n  %s};\n'
                'const size_t surg__kernel_row_count = %d;\n' % (',\n  '.join(out), len(out)))


if __name__ == '__main__':
    main()
