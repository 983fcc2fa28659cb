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
MEMORY = 112 << 20  # bytes; a weight alone is 144 MiB
WEIGHTS = int(os.environ.get('ONNXSURG_WEIGHTS', 2))  # 70 of them are 10 GiB


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

    def peak(self, weights, *args):
        """Bytes that were written, and the memory in KiB that the program needed, for sparse weights of
        ROWS x COLUMNS floats."""
        with open(common.TOOL, 'rb') as f:
            if b'__asan_init' in f.read():
                self.skipTest('a sanitized program reserves more address space than the limit')
        size = 4 * ROWS * COLUMNS
        with open('w.bin', 'wb') as f:
            f.truncate(weights * size)
        w = common.w
        tensors = [w.tensor('w%d' % i, w.FLOAT, [ROWS, COLUMNS], None, w.external('w.bin', i * size, size))
                   for i in range(weights)]
        nodes = [w.node('MatMul', ['x', 'w%d' % i], ['y%d' % i]) for i in range(weights)]
        graph = w.graph(nodes, tensors, [w.value('x', dims=(1, ROWS))],
                        [w.value('y%d' % i, dims=(1, COLUMNS)) for i in range(weights)])
        self.write('in.onnx', w.model(graph, opsets=(('', 21),), ir=10))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
        child = subprocess.Popen([common.TOOL, 'quantize', *args, '--quiet', '--no-fsync', 'in.onnx',
                                  'out.onnx'], preexec_fn=limit)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return sum(os.path.getsize(f) for f in os.listdir('.') if f.startswith('out')), used.ru_maxrss

    def test_memory_does_not_grow_with_weights(self):
        written, most = self.peak(WEIGHTS, '--weights', 'int8')
        self.assertLess(most, MEMORY // 1024)
        # Weights that are equal are stored once.
        self.assertGreater(written, ROWS * COLUMNS)
        self.assertLess(written, WEIGHTS * (ROWS * COLUMNS + 16384))

    def test_memory_does_not_grow_with_weights_in_blocks(self):
        written, most = self.peak(WEIGHTS, '--weights', 'int4', '--block', '32')
        self.assertLess(most, MEMORY // 1024)
        one = ROWS * COLUMNS // 2 + ROWS * COLUMNS // 32 * 4
        self.assertGreater(written, one)
        self.assertLess(written, WEIGHTS * (one + 16384))


if __name__ == '__main__':
    common.main()
