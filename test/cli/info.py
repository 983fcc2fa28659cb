#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`onnxsurg info`. info.py PROGRAM (pages of small models: test/golden/info)"""
import json

import common
from common import Case


class Info(Case):
    def test_pages_fit_a_terminal(self):
        for args in ((), ('--top', '5'), ('--values',), ('--weights',), ('--by-module',), ('--table',)):
            for line in self.ok('info', *args, str(common.EXAMPLE)).decode().splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_external_files(self):
        self.ok('--external-data', 'weights.bin', '--external-threshold', '1', 'in.onnx', 'ext.onnx')
        j = self.info('ext.onnx')
        self.assertEqual([e['name'] for e in j['external_files']], ['weights.bin'])
        self.assertGreaterEqual(j['external_files'][0]['bytes'], 4096)
        self.assertIn('external    weights.bin', self.ok('info', 'ext.onnx').decode())
        self.assertEqual(self.info('in.onnx')['external_files'], [])
        self.assertEqual(j['weights'], {'float': {'tensors': 1, 'parameters': 1024, 'bytes': 4096}})

    def test_keys(self):
        j = self.info('in.onnx')
        self.assertEqual(set(j), {
            'schema', 'file', 'bytes', 'ir_version', 'opset_imports', 'floor', 'inputs', 'outputs',
            'nodes', 'subgraphs', 'functions', 'ops', 'control_flow', 'custom_ops', 'initializers',
            'parameters', 'weight_bytes', 'weights', 'macs', 'flops', 'uncounted', 'peak',
            'external_files', 'absent', 'graphs', 'values'})
        text = (common.EXAMPLE.parents[2] / 'doc/info.md').read_text(encoding='utf-8')
        for key in j:
            if key != 'schema':
                self.assertIn('`%s`' % key, text)
        self.assertEqual((j['flops'], j['macs']), (2048, 0))
        self.assertEqual(j['peak']['bytes'], 2 * 4096)
        self.assertEqual({v['name'] for v in j['values']}, {'x', 'big', 'a', 'b', 'y'})
        self.assertEqual(len(json.loads(self.ok('info', '--json', '--top', '1', 'in.onnx'))['top']), 1)

    def test_sums(self):
        j = json.loads(self.ok('info', '--json', '--top', '100', str(common.EXAMPLE)))
        self.assertEqual(sum(n['flops'] for n in j['top']), j['flops'])
        self.assertEqual(sum(n['macs'] for n in j['top']), j['macs'])
        self.assertEqual([n['flops'] for n in j['top']],
                         sorted((n['flops'] for n in j['top']), reverse=True))
        self.assertEqual(sum(w['bytes'] for w in j['weights'].values()), j['weight_bytes'])
        self.assertEqual(sum(g['nodes'] for g in j['graphs']), j['nodes'])
        self.assertEqual(sum(j['ops'].values()), j['nodes'])

    def test_tables(self):
        j = json.loads(self.ok('info', '--json', '--weights', '--by-module', 'in.onnx'))
        self.assertEqual([m['name'] for m in j['modules']], [''])
        self.assertEqual((j['modules'][0]['flops'], j['modules'][0]['parameters']), (j['flops'], 1024))
        big = j['tensors'][0]
        self.assertEqual((big['name'], big['low'], big['high'], big['mean']), ('big', 0, 1023, 511.5))
        self.assertEqual((big['read'], big['zeros'], sum(big['histogram'])), (1024, 1, 1024))
        self.assertLess(max(big['histogram']) - min(big['histogram']), 3)
        self.bad(2, r'--by-module expects', 'info', '--by-module=0', 'in.onnx')
        self.bad(2, r'--table prints', 'info', '--table', '--weights', 'in.onnx')
        self.bad(2, r'--markdown prints', 'info', '--markdown', '--nodes', 'in.onnx')

    def test_wrong(self):
        self.bad(2, r'info expects a model', 'info')
        self.bad(2, r'--top expects', 'info', '--top', '0', 'in.onnx')
        self.bad(2, r'--top expects', 'info', '--top', 'x', 'in.onnx')
        self.bad(2, r'in.onnx: error: ', 'info', '--dim', 'N=2', 'in.onnx')
        self.bad(2, r'in.onnx: error: ', 'info', '--dim', 'nonsense', 'in.onnx')
        self.bad(2, r'--dim may be given 64 times', 'info', *['--dim', 'N=1'] * 65, 'in.onnx')
        for kib in (2, 4, 8):
            self.bad(4, r'needs more than \d+ KiB', 'info', '--max-memory', '%dKiB' % kib, 'in.onnx')
        self.bad(3, r'none.onnx', 'info', 'none.onnx')
        self.assertEqual(self.bad(3, r'none.onnx', 'info', 'none.onnx', 'in.onnx').count(b'format'),
                         1)

    def test_floor_is_what_the_pass_reaches(self):
        j = self.info(str(common.EXAMPLE))
        self.ok('--pass', 'ir{to=%d}' % j['floor']['ir_version'], str(common.EXAMPLE), 'old.onnx')
        self.assertEqual(self.info('old.onnx')['ir_version'], j['floor']['ir_version'])


if __name__ == '__main__':
    common.main()
