#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on models that ONNX text cannot express: nodes with neither inputs nor outputs, weights in
data files, unnamed initializers, inputs without an element type. verdicts.py PROGRAM"""
import datetime
import json
import os
import struct

import common
import onnx_wire as w
from common import Case

X, Y = w.value('x', dims=(2, 3)), w.value('y', dims=(2, 3))
RELU = w.node('Relu', ['x'], ['y'])
ADD = w.node('Add', ['x', 'w'], ['y'])
SIX = w.floats(1, 2, 3, 4, 5, 6)
SHAPE = struct.pack('<2q', 3, 2)
SUPPORTED, UNSUPPORTED, UNKNOWN = 0, 1, 6


def model(nodes, weights=(), ins=(X,), outs=(Y,)):
    return w.model(w.graph(nodes, list(weights), list(ins), list(outs)), opsets=(('', 13),))


def filed(*keys):
    more = [(key, '1') for key in keys]
    return model([ADD], [w.tensor('w', w.FLOAT, [2, 3], None, w.external('w.bin', 0, 24, *more))])


def shape_filed(op, first='x'):
    s = w.tensor('s', w.INT64, [2], None, w.external('s.bin', 0, 16))
    return model([w.node(op, [first, 's'], ['y'])], [s], outs=[w.value('y', dims=(3, 2))])


def branches(*nodes):
    graph = w.graph(list(nodes), [], [], [w.value('z', dims=(1,))])
    return [w.a_graph('then_branch', graph), w.a_graph('else_branch', graph)]


CASES = [  # name, model, target, exit code, text
    ('bare node', model([RELU, w.node('Neg', [], [])]), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('bare node, unknown operator', model([RELU, w.node('Frob', [], [])]), 'onnxruntime-1.10', SUPPORTED,
     'supported'),
    ('bare If with nodes', model([RELU, w.node('If', [], [], *branches(w.node('Frob', ['q'], ['z'])))]),
     'onnxruntime-1.30', UNKNOWN, 'neither inputs nor outputs'),
    ('bare node alone', model([w.node('Neg', [], [])], ins=(), outs=()), 'onnxruntime-1.30', UNSUPPORTED,
     'no output'),
    ('constant alone', model([w.node('Constant', [], ['c'], w.a_tensor('value', w.tensor('', w.FLOAT, [2, 3], SIX)))],
                             ins=(), outs=()), 'onnxruntime-1.10', UNSUPPORTED, 'no output'),
    ('bare node and input', model([w.node('Neg', [], [])], outs=()), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('bare node, OpenCV', model([RELU, w.node('Frob', [], [])]), 'opencv-4.6', UNSUPPORTED, 'Frob'),
    ('data file', filed(), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('checksum', filed('checksum'), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('unknown key', filed('checksum', 'colour'), 'onnxruntime-1.30', UNSUPPORTED, 'the key "colour"'),
    ('basepath', filed('basepath'), 'onnxruntime-1.10', UNSUPPORTED, 'basepath'),
    ('prepacked, old', filed('prepacked_0'), 'onnxruntime-1.14', UNSUPPORTED, 'prepacked_0'),
    ('prepacked', filed('prepacked_0'), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('shape in a file', shape_filed('Reshape'), 'onnxruntime-1.30', UNSUPPORTED, 'gives a shape'),
    ('indices in a file', shape_filed('Gather'), 'onnxruntime-1.30', SUPPORTED, 'supported'),
    ('unnamed initializers', model([RELU], [w.tensor('', w.FLOAT, [2, 3], SIX)]), 'onnxruntime-1.14', SUPPORTED,
     'E129'),
    ('no element type', model([RELU], ins=[X, w.value('u', 0, dims=(1,))]), 'onnxruntime-1.30', UNSUPPORTED,
     'no element type'),
]


class Verdicts(Case):
    def files(self, data):
        self.write('m.onnx', data)
        self.write('w.bin', SIX)
        self.write('s.bin', SHAPE)

    def test_verdicts(self):
        for name, data, target, code, text in CASES:
            with self.subTest(name):
                self.files(data)
                r = self.run_tool('check', '--target', target, 'm.onnx')
                said = (r.stdout + r.stderr).decode()
                self.assertEqual(r.returncode, code, said)
                self.assertIn(text, said)

    def test_several(self):
        """Names, short names and groups of targets; none is left out in silence."""
        self.files(model([RELU]))
        r = self.run_tool('check', '--json', '--targets', 'ort-1.14,opencv-4.6,trt8.6', 'm.onnx')
        names = [t['name'] for t in json.loads(r.stdout)['targets']]
        self.assertEqual(names, ['onnxruntime-1.14', 'opencv-4.6', 'tensorrt-8.6'])
        r = self.run_tool('check', '--targets', 'onnxjs,opencv-4.6', 'm.onnx')
        self.assertRegex(r.stdout.decode(), r'onnxjs-0\.1\.8 +supported')
        r = self.run_tool('check', '--targets', 'ort-1.14,nonsense', 'm.onnx')
        self.assertEqual(r.returncode, 2)
        self.assertEqual(r.stdout, b'')
        self.assertIn(b'nonsense: error: there is no such target', r.stderr)
        for word, near in (('tensort', 'tensorrt-'), ('trtt-10', 'tensorrt-'), ('opennvino', 'openvino-')):
            r = self.run_tool('check', '--target', word, 'm.onnx')
            self.assertIn(f'did you mean {near}'.encode(), r.stderr)

    def test_age(self):
        """Facts are old after 183 days: the clock is given, and the day of the facts is no leap day."""
        self.write('t.target', b'{"name": "t", "date": "2024-02-28", "ops": {"Add": {}}}')
        for day, old in (('2024-08-29', False), ('2024-08-30', True)):
            seconds = int(datetime.datetime.fromisoformat(day + 'T00:00+00:00').timestamp())
            env = dict(os.environ, SOURCE_DATE_EPOCH=str(seconds))
            r = self.run_tool('targets', '--json', './t.target', env=env)
            self.assertEqual(json.loads(r.stdout)['old'], old, day)
            self.assertEqual(json.loads(r.stdout)['date'], '2024-02-28')

    def test_repairs(self):
        """The repair of both faults of data files puts the weights into the model."""
        for name in ('unknown key', 'shape in a file'):
            with self.subTest(name):
                self.files(next(c[1] for c in CASES if c[0] == name))
                r = self.run_tool('repair', '--target', 'onnxruntime-1.30', 'm.onnx', 'out.onnx')
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                self.assertNotIn(b'w.bin', self.read('out.onnx'))
                self.assertNotIn(b's.bin', self.read('out.onnx'))


if __name__ == '__main__':
    common.main()
