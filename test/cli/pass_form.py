#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Passes as commands: what pipeline the options stand for. pass_form.py PROGRAM"""
import common
from common import Case


class PassForm(Case):
    def pipeline(self, *args):
        return self.ok(*args, '--print-pipeline').decode().rstrip('\n')

    def test_pipeline(self):
        self.assertEqual(self.pipeline('prune'), 'prune')
        self.assertEqual(self.pipeline('prune', '--inputs'), 'prune{inputs=true}')
        self.assertEqual(self.pipeline('prune', '--inputs=false'), 'prune{inputs=false}')
        self.assertEqual(self.pipeline('simplify'), self.pipeline('--pass', 'simplify'))
        self.assertEqual(self.pipeline('opset', '--to', '12'), 'opset{to=12}')
        self.assertEqual(self.pipeline('fold', '--opset', '12'), 'fold,opset{to=12}')

    def test_lists(self):
        self.assertEqual(self.pipeline('outputs', '--drop', 'a,b'), 'outputs{drop=a+b}')
        self.assertEqual(self.pipeline('outputs', '--drop', 'a+b', '--drop', 'c'),
                         'outputs{drop=a+b+c}')
        self.assertEqual(self.pipeline('outputs', '--drop', '"a,b",c d'),
                         'outputs{drop="a,b"+"c d"}')
        self.assertEqual(self.pipeline('outputs', '--drop', "'a\"+',x{y"),
                         'outputs{drop="a\\"+"+"x{y"}')
        self.bad(2, r'--drop: each pair of quotes in', 'outputs', '--drop', '"a', 'in.onnx', 'o')
        self.bad(2, r'--drop: each pair of quotes in', 'outputs', '--drop', '"a"b', 'in.onnx', 'o')

    def test_pairs(self):
        self.assertEqual(self.pipeline('freeze', '--N=4', '--x.0=2'), 'freeze{N=4,x.0=2}')
        self.assertEqual(self.pipeline('freeze', '--my dim=4'), 'freeze{"my dim"=4}')
        # Names that options of the program start with are names all the same.
        self.assertEqual(self.pipeline('freeze', '--k=4', '--in=5', '--di=6'),
                         'freeze{k=4,in=5,di=6}')
        self.assertEqual(self.pipeline('insert', '--op', 'Clip', '--at', 'a', '--k=1', '--o=2'),
                         'insert{op=Clip,at=a,k=1,o=2}')
        # The value may be a word of its own, unless the name may be a misspelled option.
        self.assertEqual(self.pipeline('freeze', '--N', '4', '--x.0', '2'), 'freeze{N=4,x.0=2}')
        self.assertEqual(self.pipeline('insert', '--at', 'a', '--op', 'Clip', '--k', '-1', '--doc=x'),
                         'insert{op=Clip,at=a,k=-1,doc=x}')
        self.bad(2, r'unknown option --quite: did you mean --quiet\? If not, write --quite=VALUE',
                 'freeze', '--quite', 'in.onnx', 'o')
        self.bad(2, r'--N needs a value', 'freeze', 'in.onnx', 'o', '--N')

    def test_lists(self):
        self.assertEqual(self.pipeline('outputs', '--keep', 'y = Add (a, b),z'),
                         'outputs{keep="y = Add (a, b)"+z}')
        self.assertEqual(self.pipeline('extract', '--from', 'x', '--x=float[N,3]'),
                         'extract{from=x,x="float[N,3]"}')
        self.assertEqual(self.pipeline('outputs', '--keep', 'a(0,b'), 'outputs{keep="a(0"+b}')

    def test_own_options_first(self):
        self.assertEqual(self.pipeline('outputs', '--keep', 'y'), 'outputs{keep=y}')

    def test_faults(self):
        self.bad(2, r'--to is given twice', 'opset', '--to', '12', '--to', '13', 'in.onnx', 'o')
        self.bad(2, r'no command and no file remove-opp: did you mean `onnxsurg remove-op`\?', 'remove-opp', 'in.onnx')
        self.bad(2, r'no output given', 'prune', 'in.onnx')

    def test_help(self):
        for args in (['prune', '--help'], ['help', 'prune']):
            text = self.ok(*args).decode()
            self.assertIn('usage: onnxsurg prune', text)
            self.assertIn('--inputs', text)

    def test_runs(self):
        self.ok('prune', 'in.onnx', 'a.onnx')
        self.ok('--pass', 'prune', 'in.onnx', 'b.onnx')
        self.assertEqual(self.read('a.onnx'), self.read('b.onnx'))


if __name__ == '__main__':
    common.main()
