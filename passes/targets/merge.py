#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts what `onnxsurg probe --inherit T` learned into the file of T: merge.py T.target PROBED.target.
Facts of documents stay where the importer said the same; the others are replaced, and say so."""
import json
import pathlib
import sys

SOURCE = 'asked of the importer: onnxsurg probe'


def canonical(name):
    """As targets are read: "ai.onnx:Add" and "ai.onnx.Add" are Add."""
    domain, _, op = name.replace(':', '.').rpartition('.')
    return op if domain in ('', 'ai.onnx') else domain + '.' + op


def rows(value):
    made = value if isinstance(value, list) else [value]
    return [dict(row, source=SOURCE) for row in made]


def text(value):
    if isinstance(value, list):
        return '[\n      ' + ',\n      '.join(json.dumps(row) for row in value) + ']'
    return json.dumps(value)


def main():
    path, probed = sys.argv[1:]
    base = json.loads(pathlib.Path(path).read_text())
    learned = json.loads(pathlib.Path(probed).read_text())
    for key in ('opset', 'ir', 'dynamic', 'unsorted', 'functions'):
        ours = dict(base.get(key, {}), **learned[key]) if key == 'opset' else learned[key]
        base[key] = ours
    ops = {canonical(name): value for name, value in base.pop('ops', {}).items()}
    for name, value in learned['ops'].items():
        if name == 'StringNormalizer':  # depends on the locales of the machine
            continue
        made = rows(value)
        ops[canonical(name)] = made if len(made) > 1 else made[0]
    base['ops'] = ops
    lines = ['  "%s": %s' % (key, json.dumps(value)) for key, value in base.items() if key != 'ops']
    inner = ['    "%s": %s' % (name, text(value)) for name, value in ops.items()]
    lines.append('  "ops": {\n' + ',\n'.join(inner) + '\n  }')
    pathlib.Path(path).write_text('{\n' + ',\n'.join(lines) + '\n}\n')


main()
