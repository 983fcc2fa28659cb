#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions of element types: bounds from inputs that are given, the report as JSON, and memory
that does not grow with weights."""
import json
import os
import resource
import struct
import subprocess

import common

MATRIX = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {0.001, 0, 0, 0.002}> {
  a = MatMul (x, w)
  y = MatMul (a, v)
}
'''
WEIGHTS = 64 << 20  # elements
MEMORY = 192 << 20  # bytes; the weights alone are 256 MiB, and half of that afterwards


def npy(path, dims, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (tuple(dims),)
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
        f.write(struct.pack('<%df' % len(values), *values))


def row(report, value):
    """The row of a value in a report."""
    return next(r for r in report['tables']['values'] if r['value'] == value)


class Precision(common.Case):
    def notes(self, *args):
        report = json.loads(self.ok('to-float16', '--json', *args))
        return report['run']['passes'][0]

    def test_given_inputs_bound_values(self):
        self.write('m.onnxtxt', MATRIX.encode())
        os.mkdir('data')
        npy('data/input_0.npy', (2, 2), [1, 2, 3, 4])
        small = self.notes('--inputs', 'data', 'm.onnxtxt', 'out.onnx')
        self.assertEqual(row(small, 'a')['type'], 'float16')
        self.assertEqual((row(small, 'a')['bound'], row(small, 'a')['from']), (22, 'given'))
        self.assertGreater(row(small, 'y')['estimate'], 0)
        self.assertLess(row(small, 'y')['error'], 1e-3)
        self.assertIsNone(row(small, 'v')['error'])
        npy('data/input_0.npy', (2, 2), [1, 2, 3, 40000])
        large = self.notes('--inputs', 'data', 'm.onnxtxt', 'out.onnx')
        self.assertEqual(row(large, 'a')['type'], 'float')
        self.assertEqual(row(large, 'a')['why'], 'a measured value is near the end of the range')
        self.assertEqual(row(large, 'a')['bound'], 160006)
        self.assertLess(large['counters']['values converted'], small['counters']['values converted'])

    def test_sets_of_inputs_bound_together(self):
        self.write('m.onnxtxt', MATRIX.encode())
        for i, most in enumerate((4, 40000, 5)):
            os.makedirs('data/test_data_set_%d' % i)
            npy('data/test_data_set_%d/input_0.npy' % i, (2, 2), [1, 2, 3, most])
        report = self.notes('--inputs', 'data', '--tolerance', '0.01', 'm.onnxtxt', 'out.onnx')
        self.assertEqual(row(report, 'a')['bound'], 160006)
        self.assertIn('on 3 given inputs', ' '.join(report['notes']))

    def test_inputs_that_are_not_there(self):
        self.write('m.onnxtxt', MATRIX.encode())
        r = self.run_tool('to-float16', '--inputs', 'nowhere', 'm.onnxtxt', 'out.onnx')
        self.assertNotEqual(r.returncode, 0)
        self.assertIn(b'nowhere', r.stderr)
        self.assertFalse(os.path.exists('out.onnx'))

    def test_memory_does_not_grow_with_weights(self):
        with open(common.TOOL, 'rb') as f:
            if b'__asan_init' in f.read():
                self.skipTest('a sanitized program reserves more address space than the limit')
        with open('w.bin', 'wb') as f:
            f.truncate(4 * WEIGHTS)
        w = common.w
        n = WEIGHTS // 1024
        weight = w.tensor('w', w.FLOAT, [n, 1024], None, w.external('w.bin', 0, 4 * WEIGHTS))
        graph = w.graph([w.node('MatMul', ['x', 'w'], ['y'])], [weight], [w.value('x', dims=(1, n))],
                        [w.value('y', dims=(1, 1024))])
        self.write('in.onnx', w.model(graph))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        subprocess.run([common.TOOL, 'to-float16', '--quiet', '--no-fsync', 'in.onnx', 'out.onnx'],
                       check=True, timeout=120, preexec_fn=limit)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most if most > before else 0, MEMORY // 1024)
        size = sum(os.path.getsize(f) for f in os.listdir('.') if f.startswith('out'))
        self.assertGreater(size, 2 * WEIGHTS)
        self.assertLess(size, 2 * WEIGHTS + 8192)


if __name__ == '__main__':
    common.main()
