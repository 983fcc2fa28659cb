#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--dim and --input-shape in every command that writes or runs a model. sizes.py PROGRAM"""
import common
from common import Case

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
A = HEAD + 'a (float[N, 3, H, W] x) => (float[N, 3, H, W] h) { [relu] h = Relu (x) }\n'
B = HEAD + 'b (float[M, 3, P, Q] h) => (float[M, 3, P, Q] y) { [neg] y = Neg (h) }\n'
FIXED = 'float[1, 3, 8, 6] x'


class Sizes(Case):
    def setUp(self):
        super().setUp()
        self.write('a.onnxtxt', A.encode())
        self.write('b.onnxtxt', B.encode())

    def cat(self, name):
        return self.ok('cat', name).decode()

    def test_merge(self):
        self.ok('merge', '--input-shape', 'x:1,3,8,6', 'a.onnxtxt', 'b.onnxtxt', '-o', 'm.onnx')
        self.assertIn('(%s) => (float[1, 3, 8, 6] y)' % FIXED, self.cat('m.onnx'))
        self.ok('merge', '--dim', 'N=2', '--dim', 'x.3=4', 'a.onnxtxt', 'b.onnxtxt', '-o', 'n.onnx')
        self.assertIn('(float[2, 3, H, 4] x)', self.cat('n.onnx'))
        self.bad(2, 'found 3', 'merge', '--input-shape', 'x:1,3,8', 'a.onnxtxt', 'b.onnxtxt',
                 '-o', 'no.onnx')
        self.bad(2, 'expects NAME=N', 'merge', '--dim', 'N=1..4', 'a.onnxtxt', 'b.onnxtxt',
                 '-o', 'no.onnx')

    def test_reduce(self):
        self.ok('reduce', '--test', 'true', '--input-shape', 'x:1,3,8,6', 'a.onnxtxt', 'r.onnx')
        self.assertIn(FIXED, self.cat('r.onnx'))
        self.ok('reduce', '--test', 'true', '--dim', 'N=4', 'a.onnxtxt', 'r.onnx')
        self.assertIn('float[4, 3, H, W] x', self.cat('r.onnx'))
        self.bad(2, 'x', 'reduce', '--test', 'true', '--input-shape', 'z:1', 'a.onnxtxt', 'no.onnx')

    def test_isolate_run_verify(self):
        self.ok('isolate', '--node', 'relu', '--input-shape', 'x:1,3,8,6', 'a.onnxtxt', 'i.onnx')
        self.assertIn(FIXED, self.cat('i.onnx'))
        self.assertIn(b'h: float[1, 3, 2, 4]', self.ok('run', '--input-shape', 'x:1,3,2,4',
                                                       'a.onnxtxt'))
        self.assertIn(b'equal', self.ok('verify', '--input-shape', 'x:1,3,2,4', 'a.onnxtxt',
                                        'a.onnxtxt'))

    def test_repair(self):
        target = ('repair', '--target', 'opencv-4.6', '--quiet')
        self.ok(*target, '--input-shape', 'x:1,3,8,6', 'a.onnxtxt', 'r.onnx')
        self.assertIn(FIXED, self.cat('r.onnx'))
        self.ok(*target, '--input-shape', 'x:?,?,8,-1', 'a.onnxtxt', 'r.onnx')
        self.assertIn('float[N, 3, 8, W] x', self.cat('r.onnx'))
        self.ok('repair', '--until', 'true', '--quiet', '--input-shape', 'x:1,3,8,6', 'a.onnxtxt',
                'u.onnx')
        self.assertIn(FIXED, self.cat('u.onnx'))
        for shape, why in (('x:1,4,8,6', 'is 3, not 4'), ('z:1', 'no input z'),
                           ('x:1,3,8', '3 sizes, the input has rank 4'), ('x', 'NAME:SIZE'),
                           ('x:1,3,,6', 'NAME:SIZE'), ('x:1,3,8,6,', 'NAME:SIZE')):
            self.bad(2, why, *target, '--input-shape', shape, 'a.onnxtxt', 'no.onnx')
        self.bad(2, '--input-shape need', 'repair', '--input-shape', 'x:1,3,8,6', 'a.onnxtxt',
                 'no.onnx')


if __name__ == '__main__':
    common.main()
