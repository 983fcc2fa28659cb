# SPDX-License-Identifier: Apache-2.0
"""Importers, repairs that ask them, probes, single nodes; type stubs."""
import ast
import importlib
import json
import pathlib
import pkgutil

import onnxsurg

from common import MODELS, Case, main, small, with_numpy

# An importer without LayerNormalization, which prints a message.
STRICT = 'sh -c "if grep -q LayerNormalization $0; then echo no LayerNormalization; exit 1; fi" {}'


class Importers(Case):
    def test_ask(self):
        importer = onnxsurg.Importer(STRICT)
        self.assertEqual(importer.ask(MODELS / 'layer_norm.onnxtxt'), 'no LayerNormalization')
        self.assertTrue(importer.accepts(small()))
        self.assertTrue(importer.accepts(small().bytes()))

    def test_a_command_that_does_not_exist(self):
        with self.assertRaisesRegex(onnxsurg.UsageError, 'cannot run /no/program'):
            onnxsurg.Importer('/no/program').ask(small())

    def test_time_limit(self):
        self.assertIn('time', onnxsurg.Importer('sleep 20', seconds=1).ask(small()))

    def test_repair_until(self):
        model = onnxsurg.load(MODELS / 'layer_norm.onnxtxt')
        out = self.folder / 'out.onnx'
        new = onnxsurg.repair_until(model, STRICT, target='onnxruntime-1.10', output=out)
        self.assertTrue(new.report.accepted)
        self.assertEqual(new.report.steps[0].message, 'no LayerNormalization')
        self.assertIn('opset', new.report.pipeline)
        self.assertNotIn('LayerNormalization', self.ops(self.sound(onnxsurg.load(out)).graph))
        self.assertIn('LayerNormalization', self.ops(model.graph))

    def test_repair_until_that_fails(self):
        with self.assertRaisesRegex(onnxsurg.NotSupported, 'still rejects') as caught:
            onnxsurg.repair_until(small(), 'false')
        self.assertFalse(caught.exception.report.accepted)
        self.assertEqual(self.ops(caught.exception.model.graph),
                         self.ops(onnxsurg.repair_until(small(), 'false', partial=True).graph))
        with self.assertRaises(TypeError):
            onnxsurg.repair_until(small(), 'true', outptu='x')

    def test_probe(self):
        seen, answers = [], []
        found = onnxsurg.probe('sh -c "! grep -q Neg $0" {}', 'mine', ops=['Abs', 'Neg'],
                               timeout=60, progress=lambda *p: seen.append(p),
                               answer=answers.append)
        target = json.loads(found.text)
        self.assertEqual(found.left, 0)
        self.assertEqual(found.asked, len(answers))
        self.assertEqual(found.accepted, sum(a.accepted for a in answers))
        self.assertTrue(0 < found.accepted < found.asked)
        self.assertTrue(any(a.op == 'Neg' and not a.accepted for a in answers))
        (self.folder / 'mine.target').write_text(found.text)
        self.assertIn('Abs', json.dumps(target))
        onnxsurg.Target(self.folder / 'mine.target')

    def test_an_exception_ends_a_probe(self):
        def stop(answer):
            raise ValueError('enough')
        with self.assertRaisesRegex(ValueError, 'enough'):
            onnxsurg.probe('true', 'mine', ops=['Abs'], answer=stop)


class Order(Case):
    TEXT = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3] a, float[N, 3] b) => (float[N, 3] c, float[N, 3] d) {
  c = Sub (a, b)
  d = Mul (c, b)
}
'''

    def names(self, tensors):
        return [t.name for t in tensors]

    def test_inputs(self):
        graph = onnxsurg.parse(self.TEXT).graph
        a, b = graph.inputs
        graph.inputs = [b, a]
        self.assertEqual(self.names(graph.inputs), ['b', 'a'])
        self.assertEqual(self.names(self.sound(graph.model).graph.inputs), ['b', 'a'])
        self.assertEqual(self.names(graph.nodes[0].inputs), ['a', 'b'])
        graph.inputs = [onnxsurg.Variable('x', 'float', ('N', 3)), a, b]
        self.assertEqual(self.names(graph.inputs), ['x', 'a', 'b'])
        graph.inputs.reverse()
        self.assertEqual(self.names(graph.inputs), ['b', 'a', 'x'])
        graph.inputs = [a, b]
        self.assertEqual(self.names(self.sound(graph.model).graph.inputs), ['a', 'b'])

    def test_outputs(self):
        graph = onnxsurg.parse(self.TEXT).graph
        graph.outputs.reverse()
        new = self.sound(graph.model)
        self.assertEqual(self.names(new.graph.outputs), ['d', 'c'])
        self.assertEqual(new.graph.outputs[0].shape, ('N', 3))
        d, c = graph.outputs
        graph.outputs = [c]
        self.assertEqual(self.names(graph.outputs), ['c'])
        graph.outputs = [d, c]
        self.assertEqual(self.names(self.sound(graph.model).graph.outputs), ['d', 'c'])

    @with_numpy
    def test_results_follow(self):
        model = onnxsurg.parse(self.TEXT)
        feed = {'a': [[3.0, 2.0, 1.0]], 'b': [[1.0, 1.0, 1.0]]}
        before = onnxsurg.run(model, feed)
        model.graph.inputs.reverse()
        model.graph.outputs.reverse()
        after = onnxsurg.run(model, feed)
        self.assertEqual(list(after), ['d', 'c'])
        for name in before:
            self.assertEqual(before[name].tolist(), after[name].tolist())


class Isolate(Case):
    @with_numpy
    def test_node(self):
        model = small()
        found = onnxsurg.isolate(model.graph.node('relu'), {'x': [[-9.0, 0.0, 2.0]]})
        self.assertEqual(self.ops(found.model.graph), ['Relu'])
        self.assertEqual(found.inputs['a'].tolist(), [[-8.0, 2.0, 5.0]])
        self.assertEqual(found.outputs['r'].tolist(), [[0.0, 2.0, 5.0]])
        again = onnxsurg.run(found.model, found.inputs)
        self.assertEqual(again['r'].tolist(), found.outputs['r'].tolist())
        self.assertEqual(found.why, '')

    def test_by_name(self):
        path = self.folder / 'm.onnx'
        small().save(path)
        self.assertEqual(self.ops(onnxsurg.isolate('mul', model=path).model.graph), ['Mul'])
        self.assertEqual(self.ops(onnxsurg.isolate('2', model=small()).model.graph), ['Mul'])
        with self.assertRaises(onnxsurg.UsageError):
            onnxsurg.isolate('nothing', model=path)


class Stubs(Case):
    def test_stubs_declare_every_public_name(self):
        root = pathlib.Path(onnxsurg.__file__).parent
        modules = ['onnxsurg'] + [m.name for m in pkgutil.walk_packages([str(root)], 'onnxsurg.')
                                  if not m.name.endswith(('.__main__', '._c'))]
        self.assertGreater(len(modules), 18)
        for name in modules:
            module = importlib.import_module(name)
            source = pathlib.Path(module.__file__)
            declared = self.declared(source.with_suffix('.pyi').read_text(encoding='utf-8'))
            wanted = {n for n, v in vars(module).items() if not n.startswith('_') and
                      getattr(v, '__module__', name) == name and not hasattr(v, '__path__')}
            if name == 'onnxsurg':
                wanted = set(module.__all__)
            wanted -= {n for n in wanted if type(vars(module)[n]).__name__ == 'module'}
            self.assertLessEqual(wanted, set(declared), name)
            for n in wanted:
                self.members(vars(module)[n], declared[n], '%s.%s' % (name, n))

    def declared(self, text):
        out = {}
        for s in ast.parse(text).body:
            if isinstance(s, (ast.ClassDef, ast.FunctionDef)):
                out[s.name] = s
            elif isinstance(s, ast.AnnAssign):
                out[s.target.id] = s
            elif isinstance(s, ast.Assign):
                out[s.targets[0].id] = s
            elif isinstance(s, (ast.Import, ast.ImportFrom)):
                out.update({a.asname or a.name: s for a in s.names})
        return out

    def members(self, value, stub, where):
        if not isinstance(value, type) or not isinstance(stub, ast.ClassDef):
            return
        found = {s.name for s in stub.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
        found |= {s.target.id for s in stub.body if isinstance(s, ast.AnnAssign)}
        found |= {s.targets[0].id for s in stub.body if isinstance(s, ast.Assign)}
        own = {n for n in vars(value) if not n.startswith('_')}
        own -= set(vars(value).get('__slots__', ()))  # of private classes
        if issubclass(value, tuple):
            own = {f for f in value._fields} | {n for n in own if callable(vars(value)[n])}
            own -= {'count', 'index'}
        self.assertLessEqual(own, found, where)


if __name__ == '__main__':
    main()
