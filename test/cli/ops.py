#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`onnxsurg ops`. ops.py PROGRAM (texts of single operators: test/golden/ops)"""
import json

import common
from common import Case


class Ops(Case):
    def names(self, *args):
        return [(o['domain'], o['name']) for o in json.loads(self.ok('ops', '--json', *args))['ops']]

    def test_all(self):
        names = self.names()
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names, sorted(names))
        self.assertGreater(len(names), 220)
        lines = self.ok('ops').decode().splitlines()
        self.assertEqual(len([x for x in lines if x.startswith('  ')]), len(names))

    def test_every_operator_explains_itself(self):
        for domain, name in self.names()[::7]:
            full = (domain or 'ai.onnx') + '.' + name
            text = self.ok('ops', full).decode()
            self.assertTrue(text.startswith(name + ' of ' + (domain or 'ai.onnx') + ', '), full)
            self.assertIn('\nversions\n', text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, full)
            j = json.loads(self.ok('ops', '--json', full))
            self.assertEqual((j['domain'], j['name'], j['schema']), (domain, name, 1))
            self.assertIn(j['since'], [v['since'] for v in j['versions']])
            for side in ('inputs', 'outputs'):
                for p in j[side]:
                    self.assertTrue(p['type'] in j['types'] or '(' in p['type'], full)

    def test_selecting(self):
        self.assertEqual(json.loads(self.ok('ops', '--json', 'normalizer'))['name'], 'Normalizer')
        self.assertIn(('', 'LayerNormalization'), self.names('ormaliz'))
        self.assertEqual({d for d, _ in self.names('ai.onnx.ml.e')}, {'ai.onnx.ml'})
        self.assertEqual(json.loads(self.ok('ops', '--json', 'gemm'))['name'], 'Gemm')
        self.assertEqual(json.loads(self.ok('ops', '--json', 'Gemm@10'))['since'], 9)
        self.assertEqual(json.loads(self.ok('ops', '--json', 'Gemm@28'))['since'], 13)

    def test_rules(self):
        rules = json.loads(self.ok('rules', '--json'))['rules']
        for op in ('Softmax', 'Conv', 'Squeeze', 'TopK'):
            names = [r['name'] for r in rules if (r['domain'], r['op_type']) == ('', op) and
                     r['group'] != 'simplify']
            self.assertEqual(json.loads(self.ok('ops', '--json', op))['rules'], names)
            text = self.ok('ops', op).decode()
            self.assertEqual('\nrules\n' in text, bool(names))
            for name in names:
                self.assertIn('\n  %s ' % name, text)
        self.assertIn('squeeze-axes-13', self.ok('ops', 'Squeeze').decode())

    def test_wrong(self):
        self.bad(2, r'no operator Cnov: did you mean Conv\?', 'ops', 'Cnov')
        self.bad(2, r'no operator zzzzzz .*onnxsurg ops', 'ops', 'zzzzzz')
        self.bad(2, r'an opset is a number: Conv@17', 'ops', 'Conv@x')
        self.bad(2, r'an opset is a number', 'ops', 'Conv@')
        for opset in ('0', '29', '99999999999', '18446744073709551615'):
            self.bad(2, r'Conv is not an operator of ai.onnx opset ' + opset, 'ops', 'Conv@' + opset)
        self.bad(2, r'no operator Con\b', 'ops', 'Con@17')
        self.bad(2, r'ops expects one name', 'ops', 'Conv', 'Relu')
        self.bad(2, r'--new-since expects an opset', 'ops', '--new-since', 'x', 'in.onnx')
        self.bad(2, r'--new-since expects one model', 'ops', '--new-since', '13')
        self.bad(4, r'needs more than 64 KiB of memory', 'ops', 'Conv', '--max-memory', '64KiB')
        self.bad(3, r'none.onnx', 'ops', '--new-since', '13', 'none.onnx')

    def test_new_since(self):
        self.assertEqual(self.ok('ops', '--new-since', '7', 'in.onnx'),
                         b'nothing needs more than opset 7\n')
        j = json.loads(self.ok('ops', '--json', '--new-since', '1', 'in.onnx'))
        self.assertEqual(j['nodes'], [])
        self.assertEqual(j['opset_floor'], 1)


if __name__ == '__main__':
    common.main()
