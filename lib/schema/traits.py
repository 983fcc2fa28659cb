#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes traits.gen.h of traits.table: rows for the tables of the parts of the library that read them.

    traits.py ops.table contrib.table traits.table traits.gen.h
"""
import sys

sys.dont_write_bytecode = True
import gen  # noqa: E402

AXES = {'unary', 'broadcast', 'concat', 'split', 'axis', 'reduce', 'arg', 'squeeze', 'unsqueeze',
        'slice', 'pad', 'tile', 'quantize'}
RANGE = {'fixed', 'copy', 'one', 'two', 'all', 'three', 'branches'}
RESULT = {'exact', 'ulp', 'step', 'scatter'}
NARROW = {'gain', 'wide', 'quantize', 'dequantize', 'bits', 'rare', 'word'}
LATE = {'operands', 'spatial', 'image', 'steps', 'labels', 'plain', 'part', 'pads', 'split',
        'axes', 'heads', 'tuples'}
WIDEN = {'inject', 'order', 'shift', 'wrap', 'whole', 'round', 'exact', 'filled', 'none'}


def word(value, words):
    if value not in words:
        raise ValueError('%r is none of %s' % (value, ', '.join(sorted(words))))
    return value.upper()


def infer(op, value):
    return '%s, %s' % (op, value)


def axes(op, value):
    kind, _, since = value.partition('@')
    return '%s, %s, %d' % (op, word(kind, AXES), int(since or 1))


def range_(op, value):
    return '%s, %s' % (op, word(value, RANGE))


def result(op, value):
    return '%s, %s' % (op, word(value, RESULT))


def widen(op, value):
    words = [word(w, WIDEN) for w in value.split('+')]
    return '%s, %s' % (op, '0' if words == ['NONE'] else ' | '.join(words))


def cost(op, value):
    number, _, basis = value.partition('/')
    if basis:
        return '%s, %s, %d, NULL' % (op, {'input': 'PER_INPUT', 'result': 'PER_RESULT'}[basis],
                                     int(number))
    return '%s, NOTHING, 0, NULL' % op if value == 'none' else '%s, SPECIAL, 0, %s' % (op, value)


def narrow(op, value):
    return '%s, %s' % (op, ' | '.join(word(w, NARROW) for w in value.split('+')))


def clamp(op, value):
    return '%s, %s' % (op, ' | '.join('1u << %d' % int(i) for i in value.split('+')))


def reads(op, value):
    """Masks of inputs before and since an opset."""
    masks, since = [0, 0], 1
    for part in value.split('+'):
        at, mark, opset = part.partition('@') if '@' in part else part.partition('<')
        if mark and since not in (1, int(opset)):
            raise ValueError('one opset only')
        since = int(opset or since)
        for side in {'': (0, 1), '@': (1,), '<': (0,)}[mark]:
            masks[side] |= 1 << int(at)
    return '%s, %d, 0x%xu, 0x%xu' % (op, since, *masks)


def late(op, value):
    return '%s, %s' % (op, word(value, LATE))


COLUMNS = {'infer': infer, 'axes': axes, 'range': range_, 'result': result, 'widen': widen,
           'cost': cost, 'narrow': narrow, 'clamp': clamp, 'reads': reads, 'late': late}


def read(path, operators):
    """The rows of each column."""
    rows, seen = {c: [] for c in COLUMNS}, []
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            words = line.split('#')[0].split()
            try:
                if not words:
                    continue
                op, fields = words[0], [w.split('=', 1) for w in words[1:]]
                if op not in operators:
                    raise ValueError('%s is no operator of the tables' % op)
                if op in seen:
                    raise ValueError('%s has two rows' % op)
                if [k for k, _ in fields] != [c for c in COLUMNS if c in dict(fields)]:
                    raise ValueError('columns are %s, in this order' % ', '.join(COLUMNS))
                seen.append(op)
                for column, value in fields:
                    rows[column].append(COLUMNS[column](op, value))
            except (ValueError, KeyError) as e:
                sys.exit('%s:%d: %s' % (path, number, e))
    missing = sorted(set(operators) - set(seen))
    if missing:
        sys.exit('%s: no row for %s' % (path, ', '.join(missing)))
    return rows


def main():
    table = gen.Table(sys.argv[1:-2])
    operators = [o['domain']['prefix'] + o['name'] for o in table.ops]
    rows = read(sys.argv[-2], operators)
    with open(sys.argv[-1], 'w', encoding='utf-8') as out:
        out.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
                  '/* Generated from lib/schema/traits.table. A file that needs a column defines its\n'
                  ' * macro and includes this. */\n')
        for column in COLUMNS:
            macro = 'SURG_TRAIT_' + column.upper()
            out.write('#ifdef %s\n' % macro)
            out.writelines('%s(%s)\n' % (macro, row) for row in rows[column])
            out.write('#endif\n')


if __name__ == '__main__':
    main()
