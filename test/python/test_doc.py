# SPDX-License-Identifier: Apache-2.0
"""doc/python.md computes what it shows, and the examples run."""
import doctest
import inspect
import os
import re
import subprocess
import sys

import onnxsurg

from common import MODELS, SOURCE, Case, main


class Page(Case):
    def setUp(self):
        super().setUp()
        for path in MODELS.glob('*.onnxtxt'):
            onnxsurg.load(path).save(self.folder / (path.stem + '.onnx'))

    def test_examples_of_the_page(self):
        text = (SOURCE / 'doc/python.md').read_text()
        blocks = re.findall(r'^```pycon\n(.*?)^```', text, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 5)
        runner, before = doctest.DocTestRunner(), os.getcwd()
        test = doctest.DocTestParser().get_doctest('\n'.join(blocks), {}, 'python.md', None, 0)
        lines = []
        os.chdir(self.folder)
        try:
            runner.run(test, out=lines.append)
        finally:
            os.chdir(before)
        self.assertEqual(runner.failures, 0, ''.join(lines))
        self.assertGreater(runner.tries, 20)

    def test_names_of_the_page_exist(self):
        text = (SOURCE / 'doc/python.md').read_text()
        for name in re.findall(r'^\| `(\w+)\(', text, re.MULTILINE):
            self.assertTrue(hasattr(onnxsurg, name), name)

    def run_example(self, name, model):
        out = self.folder / 'o.onnx'
        r = subprocess.run([sys.executable, SOURCE / 'examples/python' / name, model, out],
                           capture_output=True, text=True, env=os.environ)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout, onnxsurg.load(out)

    def test_surgery(self):
        onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17]>
            g (float[N, 4] x) => (float[N, 4] y) {
              s = Sigmoid (x)  m = Mul (x, s)  t = Sigmoid (m)  y = Mul (t, m)
            }''').save(self.folder / 'swish.onnx')
        text, model = self.run_example('surgery.py', self.folder / 'swish.onnx')
        self.assertEqual(text, '2 replaced\n')
        self.assertEqual(self.ops(model.graph), ['Swish', 'Swish'])

    def test_own_pass(self):
        text, model = self.run_example('own_pass.py', self.folder / 'tiny_cnn.onnx')
        self.assertIn('nodes named, exact', text)
        self.assertTrue(all(n.name.startswith('n_') for n in model.graph.nodes))


class Package(Case):
    def test_everything_public_is_documented_and_typed(self):
        missing = []
        for name in onnxsurg.__all__:
            thing = getattr(onnxsurg, name)
            if inspect.isclass(thing):
                members = [(name, thing)] + [
                    ('%s.%s' % (name, k), v) for k, v in vars(thing).items()
                    if inspect.isfunction(v) and not k.startswith('_')]
            else:
                members = [(name, thing)] if callable(thing) else []
            for what, member in members:
                if not inspect.getdoc(member):
                    missing.append('%s has no text' % what)
                if inspect.isfunction(member):
                    hints = inspect.signature(member)
                    if hints.return_annotation is hints.empty and '.' not in what:
                        missing.append('%s has no type' % what)
        self.assertEqual(missing, [])

    def test_import_loads_neither_numpy_nor_onnx(self):
        code = 'import sys, onnxsurg; assert not {"numpy", "onnx"} & set(sys.modules)'
        r = subprocess.run([sys.executable, '-c', code], env=os.environ, capture_output=True)
        self.assertEqual(r.returncode, 0)


if __name__ == '__main__':
    main()
