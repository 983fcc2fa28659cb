#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes onnxsurg/ops.h and schemas.gen.c of the tables.

    gen.py TABLE... ops.h          the operator ids
    gen.py TABLE... schemas.gen.c  the schemas
    gen.py TABLE... -              everything as JSON, for the tests of the tables
"""
import json
import re
import struct
import sys

TENSORS = {
    'f32': ('float', 1), 'u8': ('uint8', 2), 'i8': ('int8', 3), 'u16': ('uint16', 4),
    'i16': ('int16', 5), 'i32': ('int32', 6), 'i64': ('int64', 7), 'str': ('string', 8),
    'bool': ('bool', 9), 'f16': ('float16', 10), 'f64': ('double', 11), 'u32': ('uint32', 12),
    'u64': ('uint64', 13), 'c64': ('complex64', 14), 'c128': ('complex128', 15),
    'bf16': ('bfloat16', 16), 'f8e4m3fn': ('float8e4m3fn', 17),
    'f8e4m3fnuz': ('float8e4m3fnuz', 18), 'f8e5m2': ('float8e5m2', 19),
    'f8e5m2fnuz': ('float8e5m2fnuz', 20), 'u4': ('uint4', 21), 'i4': ('int4', 22),
    'f4e2m1': ('float4e2m1', 23), 'f8e8m0': ('float8e8m0', 24), 'u2': ('uint2', 25),
    'i2': ('int2', 26)}
KINDS = ['undefined', 'float', 'int', 'string', 'tensor', 'graph', 'floats', 'ints', 'strings',
         'tensors', 'graphs', 'sparse_tensor', 'sparse_tensors', 'type_proto', 'type_protos']
# Words of the table and the bits of schema.h; `experimental` has none.
FLAGS = {'commutative': 'COMMUTATIVE', 'elementwise': 'ELEMENTWISE', 'mover': 'DATA_MOVER',
         'control': 'CONTROL_FLOW', 'random': 'NONDETERMINISTIC', 'training': 'TRAINING_MODE',
         'deprecated': 'DEPRECATED', 'body': 'HAS_BODY', 'ctxbody': 'HAS_BODY',
         'experimental': None, 'contrib': 'CONTRIB'}
UNBOUNDED = 0xffffffff


class Table:
    def __init__(self, paths):
        self.sets, self.domains, self.ops = {}, [], []
        for path in paths:
            self.domain = self.op = None
            self.read(path)
        self.check_ids(paths)

    def check_ids(self, paths):
        """Ids are unique, and without gaps over all tables. One table alone may have gaps: a new
        operator gets the next free id, and another table may have those before it."""
        ids = sorted(o['id'] for o in self.ops)
        for a, b in zip(ids, ids[1:]):
            if a == b:
                sys.exit('%s: two operators have id %d' % (paths[-1], a))
        if len(paths) > 1 and ids != list(range(1, len(ids) + 1)):
            sys.exit('%s: operator ids are not 1..%d; the next free id is %d'
                     % (paths[-1], len(ids), next(i for i in range(1, len(ids) + 2) if i not in ids)))

    def read(self, path):
        for number, line in self.lines(path):
            try:
                self.take(line)
            except Exception as e:
                sys.exit('%s:%d: %s: %s' % (path, number, type(e).__name__, e))

    def lines(self, path):
        """Logical lines with their numbers: comments dropped, continuations joined."""
        held, start = None, 0
        with open(path, encoding='utf-8') as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip('\n')
                if held is not None and line.startswith('      '):
                    held += ' ' + line.strip()
                    continue
                if held is not None:
                    yield start, held
                held, start = (line, number) if line.strip() and line[0] != '#' else (None, 0)
        if held is not None:
            yield start, held

    def take(self, line):
        word = line.split()[0]
        if line[0] == ' ':
            self.take_version(line)
        elif word == 'set':
            name, members = re.match(r'set (\w+) *= (.*)$', line).groups()
            self.sets[name] = self.types(members)
        elif word == 'domain':
            m = re.match(r'domain "([\w.]*)"(?: as (\w+))? newest (\d+)(?: (contrib))?$', line)
            self.domain = {'name': m[1], 'prefix': m[2] + '_' if m[2] else '', 'newest': int(m[3])}
            self.flags = [m[4]] if m[4] else []
            if not any(d['name'] == m[1] for d in self.domains):
                self.domains.append(self.domain)
        else:
            name, number, *flags = line.split()
            assert all(f in FLAGS for f in flags), 'unknown flag'
            assert not any(o['name'] == name and o['domain']['name'] == self.domain['name']
                           for o in self.ops), 'operator stands twice'
            self.op = {'name': name, 'id': int(number), 'flags': flags + self.flags,
                       'domain': self.domain, 'versions': []}
            self.ops.append(self.op)

    def types(self, text):
        """The members of a set expression, as ONNX type strings."""
        out = []
        for word in (w.strip() for w in text.split(' + ')):
            wrap = re.match(r'(seq|optional)\((.*)\)$', word)
            pair = re.match(r'map\((\w+),(\w+)\)$', word)
            if word in self.sets:
                out += self.sets[word]
            elif word in TENSORS:
                out.append('tensor(%s)' % TENSORS[word][0])
            elif wrap:
                out += ['%s(%s)' % (wrap[1], t) for t in self.types(wrap[2])]
            elif pair:
                out.append('map(%s, %s)' % (TENSORS[pair[1]][0], TENSORS[pair[2]][0]))
            else:
                raise ValueError('unknown type ' + word)
        return list(dict.fromkeys(out))

    def take_version(self, line):
        m = re.match(r' +(\d+):(?: +([^{\[|]+?))?(?: +\{(.*?)\})?(?: +\[(.*?)\])?(?: +\|(.*))?$',
                     line)
        since, signature, attrs, types, flags = m.groups()
        before = self.op['versions'][-1] if self.op['versions'] else \
            {'since': 0, 'inputs': None, 'outputs': None, 'attrs': [], 'params': {}}
        assert int(since) > before['since'], 'versions do not rise'
        v = dict(before, since=int(since), flags=self.version_flags((flags or '').split()))
        if attrs is not None:
            v['attrs'] = [self.attr(a) for a in re.split(r', (?=\w+:)', attrs) if a]
        if types is not None:
            v['params'] = {}
            for p in (p for p in types.split(', ') if p):
                name, members = p.split(' = ')
                v['params'][name] = self.types(members)
        if signature is not None:
            v['inputs'], v['outputs'] = (self.params(s) for s in signature.split(' -> '))
            for p in v['inputs'] + v['outputs']:
                if p['type'] not in v['params']:
                    p['type'], = self.types(p['type'])
        self.op['versions'].append(v)

    def version_flags(self, words):
        flags = list(self.op['flags'])
        for w in words:
            if w[0] == '-':
                flags.remove(w[1:])
            else:
                assert w in FLAGS and w not in flags, 'unknown flag'
                flags.append(w)
        return flags

    def params(self, text):
        out = []
        for p in (p for p in text.split(', ') if p != '()'):
            name, mark, least, type_ = re.match(r'([\w.]+)(\?|\*\*?)?(\d+)?:(.+)$', p).groups()
            option = {None: 'single', '?': 'optional'}.get(mark, 'variadic')
            out.append({'name': name, 'option': option, 'type': type_,
                        'homogeneous': mark != '**', 'least': int(least or 1)})
        return out

    def attr(self, text):
        name, kind, required, default = re.match(r'(\w+):(\w+)(!)?(?:=(.*))?$', text).groups()
        assert kind in KINDS and not (required and default), 'bad attribute ' + text
        a = {'name': name, 'kind': kind, 'required': bool(required)}
        if default is not None:
            a['default'] = json.loads(default)
        return a


def arity(params):
    least = most = 0
    for i, p in enumerate(params):
        if p['option'] == 'variadic':
            return i + p['least'], UNBOUNDED
        most = i + 1
        if p['option'] == 'single':
            least = i + 1
    return least, most


def write_ops(table, out):
    out.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
              '/* Generated from the tables of lib/schema. Ids are part of the ABI: never changed,\n'
              ' * never used again. */\n#ifndef ONNXSURG_OPS_H\n#define ONNXSURG_OPS_H\n\n'
              'enum surg_op {\n  SURG_OP_UNKNOWN = 0')
    for o in sorted(table.ops, key=lambda o: o['id']):
        out.write(',\n  SURG_OP_%s%s = %d' % (o['domain']['prefix'], o['name'], o['id']))
    out.write('\n};\n\n/* One more than the greatest id of this version of the table. */\n'
              '#define SURG_OP_COUNT %d\n\n#endif\n' % (len(table.ops) + 1))


def c_string(s):
    return json.dumps(s)


def c_float(x):
    return repr(struct.unpack('<f', struct.pack('<f', x))[0]) if x == 0 else \
        next(t for t in ('%.*g' % (p, x) for p in range(1, 10)) if to_f32(t) == to_f32(x))


def to_f32(x):
    try:
        return struct.unpack('<f', struct.pack('<f', float(x)))[0]
    except OverflowError:
        return None


def c_float_literal(x):
    t = c_float(x)
    return t + ('f' if '.' in t or 'e' in t else '.0f')


class Pool:
    """Static arrays, each distinct one written once."""

    def __init__(self, out):
        self.out, self.names = out, {}

    def array(self, prefix, ctype, rows):
        if not rows:
            return 'NULL'
        text = ',\n  '.join(rows)
        key = (ctype, text)
        if key not in self.names:
            self.names[key] = '%s%d' % (prefix, len(self.names))
            self.out.write('static const %s %s[] = {\n  %s};\n' % (ctype, self.names[key], text))
        return self.names[key]


def attr_row(pool, a):
    row = ['.name = %s' % c_string(a['name']),
           '.kind = (surg_attr_kind)%d' % KINDS.index(a['kind'])]
    if a['required']:
        row.append('.required = true')
    if 'default' in a:
        d = a['default']
        row.append('.has_default = true')
        if a['kind'] == 'int':
            row.append('.i = %d' % d)
        elif a['kind'] == 'float':
            row.append('.f = ' + c_float_literal(d))
        elif a['kind'] == 'string':
            row.append('.s = ' + c_string(d))
        else:
            ctype, text = {'ints': ('int64_t', str), 'floats': ('float', c_float_literal),
                           'strings': ('char *const', c_string)}[a['kind']]
            name = pool.array('d', ctype, [text(x) for x in d])
            row += ['.%s = %s' % (a['kind'], name), '.n = %d' % len(d)]
    return '{%s}' % ', '.join(row)


def param_rows(params):
    return ['{%s, %s, %d, %s}' % (c_string(p['name']), c_string(p['type']),
                                  ['single', 'optional', 'variadic'].index(p['option']),
                                  'true' if p['homogeneous'] else 'false') for p in params]


def type_row(pool, name, types):
    number = {'tensor(%s)' % t: n for t, n in TENSORS.values()}
    order = sorted(types, key=lambda t: (number.get(t, 99), t))
    mask = sum(1 << number[t] for t in types if t in number)
    strings = pool.array('t', 'char *const', [c_string(t) for t in order] + ['NULL'])
    return '{%s, %s, 0x%08xu}' % (c_string(name), strings, mask)


def schema_row(pool, o, v):
    flags = ['SURG__OP_' + FLAGS[f] for f in v['flags'] if FLAGS[f]]
    for side, bit in (('inputs', 'VARIADIC_IN'), ('outputs', 'VARIADIC_OUT')):
        if any(p['option'] == 'variadic' for p in v[side]):
            flags.append('SURG__OP_' + bit)
    arities = ['UINT32_MAX' if n == UNBOUNDED else str(n)
               for n in arity(v['inputs']) + arity(v['outputs'])]
    return '{%s, %s, %d, %d, %s, %s, %s, %s, %d, %d, %s, %d, %s, %d}' % (
        c_string(o['domain']['name']), c_string(o['name']), o['id'], v['since'],
        ' | '.join(flags) or '0', ', '.join(arities),
        pool.array('p', 'surg__param', param_rows(v['inputs'])),
        pool.array('p', 'surg__param', param_rows(v['outputs'])),
        len(v['inputs']), len(v['outputs']),
        pool.array('a', 'surg__attr_def', [attr_row(pool, a) for a in v['attrs']]),
        len(v['attrs']),
        pool.array('c', 'surg__type_param',
                   [type_row(pool, n, t) for n, t in v['params'].items()]), len(v['params']))


def fnv1a(text):
    h = 2166136261
    for b in text.encode():
        h = (h ^ b) * 16777619 & 0xffffffff
    return h


def write_schemas(table, out):
    out.write('/* SPDX-License-Identifier: Apache-2.0 */\n'
              '/* Generated from the tables of lib/schema. */\n#include "schema/index.h"\n\n')
    pool, rows, first = Pool(out), [], []
    for o in table.ops:
        first.append((len(rows), len(o['versions'])))
        rows += [schema_row(pool, o, v) for v in o['versions']]
    out.write('\nconst surg_schema surg__schemas[] = {\n  %s};\n' % ',\n  '.join(rows))
    out.write('const size_t surg__schema_count = %d;\n' % len(rows))
    by_id = {o['id']: f for o, f in zip(table.ops, first)}
    out.write('\nconst surg__op_versions surg__op_index[SURG_OP_COUNT] = {\n  {0, 0},\n  %s};\n' %
              ',\n  '.join('{%d, %d}' % by_id[i] for i in sorted(by_id)))
    slots = [0] * 1024
    for o in table.ops:
        at = fnv1a(o['name']) % len(slots)
        while slots[at]:
            at = (at + 1) % len(slots)
        slots[at] = o['id']
    out.write('\nconst uint16_t surg__op_slots[SURG__OP_SLOTS] = {\n')
    for i in range(0, len(slots), 16):
        out.write('  %s,\n' % ', '.join(map(str, slots[i:i + 16])))
    out.write('};\n\nconst surg__domain_row surg__domains[] = {\n  %s};\n' % ',\n  '.join(
        '{%s, %d}' % (c_string(d['name']), d['newest']) for d in table.domains))
    out.write('const size_t surg__domain_count = %d;\n' % len(table.domains))


def main():
    table, target = Table(sys.argv[1:-1]), sys.argv[-1]
    if target == '-':
        json.dump({'domains': table.domains, 'ops': table.ops}, sys.stdout)
        return
    with open(target, 'w', encoding='utf-8') as out:
        (write_ops if target.endswith('ops.h') else write_schemas)(table, out)


if __name__ == '__main__':
    main()
