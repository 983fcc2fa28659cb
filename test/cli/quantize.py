#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantization: the report as JSON, and memory that does not grow with weights."""
import json
import os
import resource
import struct
import subprocess

import common

MATRIX = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }
'''
ROWS, COLUMNS = 36 << 10, 1024
MEMORY = 112 << 20  # bytes; the weights alone are 144 MiB


class Quantize(common.Case):
    def test_report(self):
        self.write('m.onnxtxt', MATRIX.encode())
        report = json.loads(self.ok('quantize', '--weights', 'int8', '--json', 'm.onnxtxt', 'o.onnx'))
        run = report['run']['passes'][0]
        self.assertEqual(run['counters']['weights quantized'], 1)
        self.assertIn("weight 'w': int8; a scale for each slice of axis 1; SQNR 49.9 dB; "
                      "14 bytes, before 16", run['notes'])

    def test_given_inputs_set_ranges(self):
        self.write('m.onnxtxt', MATRIX.encode())
        for k, values in enumerate([(1, 2, 3, 4), (5, -6, 7, 8)]):
            os.makedirs('data/test_data_set_%d' % k)
            head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
            head += ' ' * (-(len(head) + 11) % 64) + '\n'
            with open('data/test_data_set_%d/input_0.npy' % k, 'wb') as f:
                f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
                f.write(struct.pack('<4f', *values))
        report = json.loads(self.ok('quantize', '--static', '--inputs', 'data', '--json', 'm.onnxtxt',
                                    'o.onnx'))
        notes = report['run']['passes'][0]['notes']
        self.assertIn('ranges of 2 runs on given inputs', notes)
        self.assertTrue(any(n.startswith("value 'x': uint8; -6 to 8; scale 0.0549") for n in notes))

    def test_inputs_that_are_not_there(self):
        self.write('m.onnxtxt', MATRIX.encode())
        r = self.run_tool('quantize', '--static', '--inputs', 'nowhere', 'm.onnxtxt', 'o.onnx')
        self.assertNotEqual(r.returncode, 0)
        self.assertIn(b'nowhere', r.stderr)
        self.assertFalse(os.path.exists('o.onnx'))

    def test_memory_does_not_grow_with_weights(self):
        with open(common.TOOL, 'rb') as f:
            if b'__asan_init' in f.read():
                self.skipTest('a sanitized program reserves more address space than the limit')
        size = 4 * ROWS * COLUMNS
        with open('w.bin', 'wb') as f:
            f.truncate(size)
        w = common.w
        weight = w.tensor('w', w.FLOAT, [ROWS, COLUMNS], None, w.external('w.bin', 0, size))
        graph = w.graph([w.node('MatMul', ['x', 'w'], ['y'])], [weight],
                        [w.value('x', dims=(1, ROWS))], [w.value('y', dims=(1, COLUMNS))])
        self.write('in.onnx', w.model(graph))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        subprocess.run([common.TOOL, 'quantize', '--weights', 'int8', '--quiet', '--no-fsync',
                        'in.onnx', 'out.onnx'], check=True, timeout=120, preexec_fn=limit)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most if most > before else 0, MEMORY // 1024)
        written = sum(os.path.getsize(f) for f in os.listdir('.') if f.startswith('out'))
        self.assertGreater(written, size // 4)
        self.assertLess(written, size // 4 + 16384)


if __name__ == '__main__':
    common.main()
