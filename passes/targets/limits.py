#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits that a later version of an engine still has: limits.py LATER.target T.target...

A document that lists the kernels of an engine seldom tells which attributes and forms they take.
Where a later version was asked, its limits hold for the earlier versions as well, as far as they
state nothing of their own: kernels gain forms from version to version, and seldom lose them. A row
of T without a source of its own gets the conditions of the rows of LATER for the same versions of
the operator; versions that LATER rejects are rejected. Element types stay as the document says.
Rows that came from here say so in `source`."""
import json
import pathlib
import re
import sys

PLAIN = {'versions', 'types', 'source'}
LIMITS = ('attrs', 'no_attrs', 'written', 'counts', 'given', 'rank', 'absent', 'each', 'odd', 'halves', 'values')
NEWEST = 99


def read(path):
    return json.loads(path.read_text())


def rows(value):
    return value if isinstance(value, list) else [value]


def resolved(path):
    """{operator: rows} with what is inherited."""
    target = read(path)
    ops = resolved(path.parent / (target['inherit'] + '.target')) if 'inherit' in target else {}
    for name, value in target['ops'].items():
        if value is None:
            ops.pop(name, None)
        else:
            ops[name] = rows(value)
    return ops


def spans(row):
    """The versions of a row, as pairs."""
    found = []
    for piece in row.get('versions', '1+').split(','):
        low, more, high = re.fullmatch(r'(\d+)(?:(\+)|-(\d+))?', piece).groups()
        found.append((int(low), NEWEST if more else int(high or low)))
    return found


def covers(row, version):
    return any(low <= version <= high for low, high in spans(row))


def written(versions):
    """[7, 8, 9] as "7-9"."""
    low, high = versions[0], versions[-1]
    return '%d+' % low if high == NEWEST else str(low) if low == high else '%d-%d' % (low, high)


def limits(later, version):
    """What the later version says of this version of the operator: a list of conditions, one for each
    row; None where that cannot be carried over, [] where it says nothing."""
    at = [row for row in later if covers(row, version)]
    if not at:
        return []
    if any(row.get('refused') for row in at):
        return [{'refused': True}] if all(row.get('refused') for row in at) else None
    if any(set(row) - PLAIN - set(LIMITS) for row in at):
        return None
    return [{key: row[key] for key in LIMITS if key in row} for row in at]


def split(row, later, source):
    """The row, as rows that have these limits."""
    made = []
    for low, high in spans(row):
        pieces = []
        for version in range(low, high + 1):
            found = limits(later, version)
            if pieces and found in ([], pieces[-1][1]):  # most numbers are no version of the operator
                pieces[-1][0].append(version)
            else:
                pieces.append(([version], found))
        for versions, found in pieces:
            for limit in found or [{}]:
                one = dict(row, versions=written(versions))
                one.update({key: limit[key] for key in limit if key not in row})
                made.append(dict(one, source=source) if set(limit) - set(row) else one)
    return made


def limit(path, later, name):
    target = read(path)
    source = 'a limit that %s still has' % name
    changed = 0
    for op, value in target['ops'].items():
        if value is None or op not in later:
            continue
        made = []
        for row in rows(value):
            own = 'versions' not in row or set(row) & {'source', 'refused', 'says'}
            new = [row] if own else split(row, later[op], source)
            made += new if any('source' in one for one in new) else [row]
        unique = [row for i, row in enumerate(made) if row not in made[:i]]
        if unique != rows(value):
            replace(path, op, unique if len(unique) > 1 else unique[0])
            changed += 1
    print('%s: %d operators' % (target['name'], changed))


def replace(path, op, value):
    """Writes the rows of one operator; the rest of the file stays as it is."""
    inner = json.dumps(value)
    if isinstance(value, list):
        inner = '[\n      ' + ',\n      '.join(json.dumps(row) for row in value) + ']'
    entry = re.compile(r'^    "%s": .*(?:\n {5,}.*)*' % re.escape(op), re.M)
    text = path.read_text()
    found = entry.search(text)
    end = ',' if found.group().endswith(',') else ''
    path.write_text('%s    "%s": %s%s%s' % (text[:found.start()], op, inner, end, text[found.end():]))


def main():
    later, *targets = map(pathlib.Path, sys.argv[1:])
    for path in targets:
        limit(path, resolved(later), read(later)['name'])


main()
