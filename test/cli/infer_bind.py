#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pass `bind` with values from files. infer_bind.py PROGRAM"""
import struct

import common
import onnx_wire as w
from common import Case

HEAD = '<ir_version: %d, opset_import: ["" : 17]>\n'
MODEL = HEAD + 'g (float[2,N] x, %s k) => (%s y, float[2,N] z) { y = Identity (k) z = Neg (x) }\n'


def npy(descr, shape, data, order='False'):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data


class Bind(Case):
    def bind(self, of, value, ir=8):
        """The line of the constant in the result."""
        self.write('m.onnxtxt', (MODEL % (ir, of, of)).encode())
        self.ok('--pass', 'bind{k=%s}' % value, 'm.onnxtxt', 'out.onnxtxt')
        return [line for line in self.read('out.onnxtxt').decode().split('\n') if ' k = ' in line]

    def refused(self, of, value, why, code=2):
        self.write('m.onnxtxt', (MODEL % (8, of, of)).encode())
        self.bad(code, why, '--pass', 'bind{k=%s}' % value, 'm.onnxtxt', 'out.onnxtxt')

    def test_npy(self):
        self.write('v.npy', npy('<f4', '(2, 2)', struct.pack('<4f', 1, 2, 3, -0.0)))
        want = ['  float[2, 2] k = raw {1.0, 2.0, 3.0, -0.0}']
        for of in ('float[2,2]', 'float[A,2]', 'float[A,A]', 'float[A,B]', 'float[]'):
            self.assertEqual(self.bind(of, 'v.npy'), want, of)
        self.write('v.npy', npy('>f4', '(2, 2)', struct.pack('>4f', 1, 3, 2, -0.0), 'True'))
        self.assertEqual(self.bind('float[2,2]', 'v.npy'), want)
        self.write('v.npy', npy('<f2', '()', b'\x00\x3c'))
        self.assertEqual(self.bind('float16', 'v.npy'), ['  float16 k = 0x003c'])
        self.write('v.npy', npy('<i8', '(0, 3)', b''))
        self.assertEqual(self.bind('int64[M,3]', 'v.npy'), ['  int64[0, 3] k = raw {}'])

    def test_message(self):
        self.write('v.pb', w.tensor('any', w.FLOAT, [2], w.floats(1, 2)))
        self.assertEqual(self.bind('float[2]', 'v.pb'), ['  float[2] k = raw {1.0, 2.0}'])
        self.write('v.pb', b'\x08\x02\x10\x08\x32\x02ab\x32\x00')
        self.assertEqual(self.bind('string[2]', 'v.pb'), ['  string[2] k = {"ab", ""}'])

    def test_before_ir_4(self):
        """The input stays listed, of the shape of the file."""
        self.write('v.npy', npy('<f4', '(2,)', struct.pack('<2f', 1, 2)))
        self.bind('float[M]', 'v.npy', ir=3)
        self.assertIn('float[2] k', self.read('out.onnxtxt').decode())

    def test_refused(self):
        self.write('v.npy', npy('<f4', '(2, 3)', bytes(24)))
        self.refused('float[3,3]', 'v.npy', "'k': v.npy: axis 0 is 2, of the input 3")
        self.refused('float[A,A]', 'v.npy', "'k': v.npy: axis 1 is 3, of the input 2")
        self.refused('float[6]', 'v.npy', "'k': v.npy: it has rank 2, the input 1")
        self.refused('double[2,3]', 'v.npy', "'k': v.npy: it is float, the input double")
        self.refused('float[2,3]', 'none.npy', 'none.npy: error: cannot read', 3)
        self.write('v.npy', b'\x93NUMPY')
        self.refused('float[2,3]', 'v.npy', 'v.npy: error: is not a valid .npy file', 1)
        self.write('v.pb', b'\x08')
        self.refused('float[2,3]', 'v.pb', 'v.pb: error', 1)
        self.refused('float[2]', '1+v.npy', "'v.npy' is not a valid float")


if __name__ == '__main__':
    common.main()
