#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares lib/schema/ops.table with a dump of the operator schemas of the onnx package.

    schema_facts.py gen.py ops.table schemas.json

Exit code 77 (skipped) without the dump. The dump names each version once with the fields read
below."""
import json
import os
import struct
import subprocess
import sys

UNBOUNDED = 0xffffffff
# Where the table says, on purpose, something else than the flag of the onnx package, which says
# nondeterministic of whatever has an If in its function body, or that ran a subgraph.
CONTROL = {'If', 'Loop', 'Scan', 'SequenceMap', 'FlexAttention'}
DETERMINISTIC = {('AffineGrid', 20), ('Dropout', 7), ('Dropout', 10)}
RANDOM_WHEN_TRAINING = {'Dropout', 'BatchNormalization'}


def f32(x):
    return struct.pack('<f', x)


def attr_from_table(a):
    d = a.get('default')
    return (a['name'], a['kind'].upper(), a['required'], f32(d) if a['kind'] == 'float' and
            d is not None else json.dumps(d))


def attr_from_facts(a):
    d = a.get('default')
    return (a['name'], a['type'], a['required'], f32(d) if a['type'] == 'FLOAT' and
            d is not None else json.dumps(d))


def param_from_table(p):
    variadic = p['option'] == 'variadic'
    return (p['name'], p['option'], p['type'], p['homogeneous'] if variadic else True,
            p['least'] if variadic else 1)


def param_from_facts(p):
    return (p['name'], p['opt'], p['type'], p.get('homogeneous', True), p.get('min_arity', 1))


def determinism(facts, flags):
    """Whether the table's flags agree with the dump's determinism."""
    key = (facts['op'], facts['since'])
    if facts['op'] in CONTROL:
        return 'control' in flags and 'random' not in flags
    if facts['op'] in RANDOM_WHEN_TRAINING:
        return 'random' not in flags and ('training' in flags) == (facts['since'] not in (7, 9, 10))
    return ('random' in flags) == (facts['determinism'] == 'nondeterministic' and
                                   key not in DETERMINISTIC)


def compare(arity, facts, typesets, version):
    flags = version['flags']
    most = [UNBOUNDED if facts[k] is None else facts[k] for k in ('max_in', 'max_out')]
    yield 'attributes', [attr_from_facts(a) for a in facts['attrs']], \
        [attr_from_table(a) for a in version['attrs']]
    for side in ('inputs', 'outputs'):
        yield side, [param_from_facts(p) for p in facts[side]], \
            [param_from_table(p) for p in version[side]]
    yield 'least and most inputs', (facts['min_in'], most[0]), arity(version['inputs'])
    yield 'least and most outputs', (facts['min_out'], most[1]), arity(version['outputs'])
    yield 'types', {k: sorted(typesets[i]) for k, i in facts['constraints'].items()}, \
        {k: sorted(v) for k, v in version['params'].items()}
    yield 'deprecated', facts['deprecated'], 'deprecated' in flags
    yield 'body', (facts['has_function'], facts['has_ctx_function']), \
        ('body' in flags, 'ctxbody' in flags)
    yield 'support', facts['support'] == 'experimental', 'experimental' in flags
    yield 'determinism', True, determinism(facts, flags)


def main():
    gen, table_path, facts_path = sys.argv[1:4]
    if not os.path.exists(facts_path):
        print('%s is missing: nothing to compare with' % os.path.basename(facts_path))
        sys.exit(77)
    sys.path.insert(0, os.path.dirname(os.path.abspath(gen)))
    sys.dont_write_bytecode = True
    from gen import arity
    table = json.loads(subprocess.run([sys.executable, gen, table_path, '-'], check=True,
                                      stdout=subprocess.PIPE).stdout)
    with open(facts_path, encoding='utf-8') as f:
        facts = json.load(f)
    versions = {(o['domain']['name'], o['name'], v['since']): v for o in table['ops']
                for v in o['versions']}
    wrong = compared = 0
    newest = {d['name']: d['newest'] for d in table['domains']}
    if newest != facts['max_opset']:
        print('newest opsets differ:', facts['max_opset'], newest)
        wrong += 1
    for s in facts['schemas']:
        version = versions.pop((s['domain'], s['op'], s['since']), None)
        if version is None:
            print('missing: %s %s-%d' % (s['domain'], s['op'], s['since']))
            wrong += 1
            continue
        for what, expected, got in compare(arity, s, facts['typesets'], version):
            compared += 1
            if expected != got:
                print('%s-%d: %s: expected %s, got %s' % (s['op'], s['since'], what, expected, got))
                wrong += 1
    for key in versions:
        print('not in the dump: %s %s-%d' % key)
        wrong += 1
    print('%d versions, %d facts compared, %d differ' % (len(facts['schemas']), compared, wrong))
    sys.exit(1 if wrong or compared == 0 else 0)


if __name__ == '__main__':
    main()
