# SPDX-License-Identifier: Apache-2.0
"""Pipelines, targets, passes in Python, and the command line."""
import os
import signal
import subprocess
import sys
import time

import onnxsurg
from onnxsurg import Option, register_pass

from common import MODELS, PROGRAM, SMALL, Case, main, small


@register_pass('test-rename-relu', options=[
    Option('to', str, 'Abs', 'the new operator'), Option('most', int, 10),
    Option('really', bool, True), Option('only', list)], needs=['sorted'], exactness='lossy',
    edits=True, help='rename every Relu')
def rename_relu(p):
    for node in p.graph.nodes:
        if node.op == 'Relu' and p['really'] and not p.keeps(node) and \
                (not p['only'] or node.name in p['only']) and p.allow():
            node.op = p['to']
            p.count('renamed')
            p.used('lossy')
            p.note('renamed', node)


@register_pass('test-stray', scope='model')
def stray(p):
    """Keeps a node, which must not be used after the pass."""
    assert p.graph is None
    kept.append(p.model.graph.nodes[0])


@register_pass('test-raises')
def raises(p):
    for node in p.graph.nodes:
        node.op = 'Neg'
    raise KeyError('my mistake')


@register_pass('test-fails')
def fails(p):
    p.fail('no node of mine', p.graph.nodes[1])


@register_pass('test-usage')
def usage(p):
    p.usage('this option is wrong')


@register_pass('test-dangling')
def dangling(p):
    p.graph.nodes[1].erase()


@register_pass('test-exact')
def exact(p):
    for node in p.graph.nodes:
        if node.op == 'Relu':
            node.op = 'Abs'
            p.used('lossy')


kept = []


class Runs(Case):
    def test_report(self):
        m = small()
        report = m.run('fold,prune,identity')
        self.assertTrue(report.changed)
        self.assertEqual(report.exactness, 'exact')
        self.assertEqual([p.name for p in report.passes], ['fold', 'prune', 'identity'])
        self.assertFalse(report.passes[0].changed)
        self.assertEqual(report.passes[2].rewrites, 1)
        self.assertIs(m.report, report)
        self.assertIn('identity', str(report))
        self.assertEqual(report.json()['exactness'] if 'exactness' in report.json() else 'exact',
                         'exact')
        self.assertFalse(m.run('identity').changed)

    def test_simplify_leaves_its_argument(self):
        m = small()
        s = onnxsurg.simplify(m, check=2)
        self.assertEqual(len(m.graph.nodes), 4)
        self.assertEqual(self.ops(s.graph), ['Add', 'Relu', 'Mul'])
        self.assertGreater(s.report.checked, 0)
        for form in (m.bytes(), MODELS / 'tiny_cnn.onnxtxt'):
            self.assertTrue(onnxsurg.simplify(form).report.changed)

    def test_output_is_that_of_the_program(self):
        for path in sorted(MODELS.glob('*.onnxtxt')):
            out = self.folder / 'program.onnx'
            subprocess.run([PROGRAM, '--quiet', str(path), str(out)], check=True)
            self.assertEqual(onnxsurg.simplify(path).bytes(), out.read_bytes(), path.name)
            onnxsurg.simplify(path, output=self.folder / 'python.onnx')
            self.assertEqual((self.folder / 'python.onnx').read_bytes(), out.read_bytes())

    def test_dims(self):
        m = small()
        self.assertEqual(onnxsurg.simplify(m, dims={'N': 4}).graph.inputs[0].shape, (4, 3))
        self.assertEqual(onnxsurg.simplify(m, dims={'N': (1, 64)}).graph.inputs[0].shape, ('N', 3))
        self.assertEqual(onnxsurg.simplify(m, dims=['N=1..64', 'N%2']).graph.inputs[0].shape,
                         ('N', 3))
        with self.assertRaises(onnxsurg.Error):
            onnxsurg.simplify(m, dims={'Q': 4})

    def test_consent_and_protection(self):
        m = onnxsurg.load(MODELS / 'hardswish.onnxtxt')
        with self.assertRaises(onnxsurg.Error):
            onnxsurg.run_pipeline(small(), 'test-exact')
        self.assertEqual(onnxsurg.run_pipeline(small(), 'test-exact', allow='lossy')
                         .report.exactness, 'lossy')
        self.assertEqual(self.ops(onnxsurg.simplify(small(), keep=['id']).graph)[-1], 'Identity')
        self.assertEqual(onnxsurg.simplify(m, allow='exact').report.exactness, 'exact')
        self.assertEqual(onnxsurg.simplify(small(), keep_weights=True).graph.tensor('w').name, 'w')

    def test_undone_requests(self):
        m = small()
        with self.assertRaises(onnxsurg.NotDone) as e:
            m.run('remove-op{op=com.acme.Foo},identity')
        self.assertIn('com.acme.Foo', str(e.exception))
        self.assertIs(e.exception.report, m.report)
        self.assertEqual(len(m.graph.nodes), 3)  # the rest was done
        m = small()
        self.assertEqual(len(m.run('remove-op{op=com.acme.Foo}', strict=False).undone), 1)

    def test_a_failure_leaves_the_model(self):
        m = small()
        before, node = m.bytes(), m.graph.nodes[0]
        with self.assertRaises(onnxsurg.UsageError):
            m.run('no-such-pass')
        self.assertEqual(node.op, 'Add')
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            m.run('identity,test-fails')
        self.assertEqual(e.exception.text, 'no node of mine')
        self.assertTrue(e.exception.where.startswith('graph.node[1]'))
        self.assertEqual(e.exception.report.failed, 'test-fails')
        self.assertEqual(m.bytes(), before)
        with self.assertRaises(onnxsurg.Erased):
            node.op
        self.assertEqual(self.ops(m.graph), ['Add', 'Relu', 'Mul', 'Identity'])

    def test_convert(self):
        m = onnxsurg.convert(small(), 9, ir_version=4)
        self.assertEqual((m.opset, m.ir_version), (9, 4))
        self.sound(m)
        with self.assertRaises(onnxsurg.Error) as e:
            onnxsurg.convert(onnxsurg.load(MODELS / 'layer_norm.onnxtxt'), 99)
        self.assertTrue(e.exception.line)

    def test_progress_and_its_exceptions(self):
        seen = []
        small().run('fold,prune', progress=seen.append)
        self.assertEqual(seen, ['fold', 'prune'])

        def stop(_name):
            raise RuntimeError('stop')
        m = small()
        with self.assertRaises(RuntimeError):
            m.run('fold,prune', progress=stop)
        self.sound(m)

    def test_cancel(self):
        m = small()
        before = m.bytes()
        with self.assertRaises(onnxsurg.Error):
            m.run('fold,prune,identity', cancel=lambda: True)
        self.assertEqual(m.bytes(), before)
        self.assertTrue(m.run('identity', cancel=lambda: False).changed)

        def fails():
            raise ZeroDivisionError('in cancel')
        with self.assertRaises(ZeroDivisionError):
            m.run('fold,prune,identity', cancel=fails)
        self.sound(m)

    def test_interrupt(self):
        import _thread
        import threading
        # A job in the background starts with SIGINT ignored, and Python then keeps it ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        text = ['<ir_version: 8, opset_import: ["" : 17]>',
                'g (float[N] x0) => (float[N] x20000) {']
        text += ['x%d = Abs (x%d)' % (i + 1, i) for i in range(20000)] + ['}']
        m = onnxsurg.parse('\n'.join(text))
        interrupted = 0
        for k in range(12):
            copy, inside = m.copy(), False
            timer = threading.Timer(0.001 + 0.008 * k, _thread.interrupt_main)
            try:
                timer.start()
                inside = True
                copy.run('simplify,fuse')
                inside = False
                timer.join(5)
                time.sleep(0.001)
            except KeyboardInterrupt:
                interrupted += inside
            try:
                self.assertGreater(len(copy.graph.nodes), 0)
            except onnxsurg.Erased:
                pass  # interrupted where only closing the model is safe
        self.assertGreater(interrupted, 0)
        self.sound(m)

    def test_listings(self):
        passes = {p.name: p for p in onnxsurg.passes()}
        self.assertIn('fold', passes)
        self.assertEqual(passes['test-rename-relu'].exactness, 'lossy')
        self.assertEqual(passes['test-rename-relu'].options[1], ('most', 'int', '10', 'most'))
        self.assertTrue(all(p.help for p in passes.values()))
        presets = {p.name: p for p in onnxsurg.presets()}
        self.assertIn('fold', presets['simplify'].pipeline)

    def test_rules_and_schemas(self):
        rule = 'rule r { match { y = Relu (x) } emit { y = Abs (x) } }'
        m = onnxsurg.run_pipeline(SMALL_BYTES, 'rewrite{rule=r}', rules=[rule])
        self.assertIn('Abs', self.ops(m.graph))
        m = onnxsurg.run_pipeline(small(), 'rewrite{rule=r}', rules=[rule])
        self.assertIn('Abs', self.ops(m.graph))
        with self.assertRaises(TypeError):
            onnxsurg.run_pipeline(SMALL_BYTES, '', rules=rule)

    def test_log_and_map(self):
        small().run('identity', log=self.folder / 'log', map=self.folder / 'map')
        self.assertTrue((self.folder / 'log').read_text().startswith('{'))
        self.assertTrue((self.folder / 'map').exists())


SMALL_BYTES = onnxsurg.parse(SMALL).bytes()


class Targets(Case):
    def test_names(self):
        names = onnxsurg.targets()
        self.assertIn('onnxruntime-1.14', names)
        t = onnxsurg.Target('onnxruntime-1.14')
        self.assertEqual(t.name, 'onnxruntime-1.14')
        self.assertTrue(t.title and t.source)
        with self.assertRaises(onnxsurg.UsageError) as e:
            onnxsurg.Target('onnxruntim-1.14')
        self.assertIn('onnxruntime', str(e.exception))

    def test_check(self):
        r = onnxsurg.check(small())
        self.assertTrue(r)
        self.assertIsNone(r.verdict)
        r = onnxsurg.check(small(), 'onnxruntime-1.4')
        self.assertFalse(r)
        self.assertEqual(r.verdict, 'unsupported')
        self.assertTrue(any(f.code == 'E402' for f in r), str(r))
        t = onnxsurg.Target('onnxruntime-1.4')
        self.assertEqual(onnxsurg.check(small(), t).verdict, 'unsupported')
        self.assertEqual(onnxsurg.check(SMALL_BYTES, t).verdict, 'unsupported')
        bad = SMALL_BYTES.replace(b'\x0a\x01a', b'\x0a\x01q', 1)
        r = onnxsurg.check(bad)
        self.assertFalse(r)
        self.assertGreater(r.errors, 0)
        self.assertTrue(all(f.where and f.text for f in r))

    def test_repair(self):
        m = onnxsurg.repair(small(), 'onnxruntime-1.4')
        self.assertEqual(m.report.verdict, 'supported')
        self.assertIn('opset', m.report.pipeline)
        self.assertTrue(onnxsurg.check(m, 'onnxruntime-1.4'))
        self.assertEqual(onnxsurg.run_pipeline(small(), m.report.pipeline).bytes(), m.bytes())
        custom = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
            g (float[2] x) => (float[2] y) { y = com.acme.Foo (x) }''')
        with self.assertRaises(onnxsurg.NotSupported) as e:
            onnxsurg.repair(custom, 'onnxruntime-1.14')
        self.assertIsNotNone(e.exception.model)
        self.assertNotEqual(e.exception.report.verdict, 'supported')
        self.assertEqual(onnxsurg.repair(custom, 'onnxruntime-1.14', partial=True).report.verdict,
                         e.exception.report.verdict)
        t = onnxsurg.repair(custom, 'onnxruntime-1.14', register=['com.acme'])
        self.assertEqual(t.report.verdict, 'supported')
        with self.assertRaises(TypeError):
            onnxsurg.repair(custom, 'onnxruntime-1.14', colour=1)

    def test_mend_without_target(self):
        bad = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17]>
            g (float[2] x) => (float[2] y) { y = Abs (x) }''')
        bad.opsets[''] = 0
        fixed = onnxsurg.repair(bad)
        self.assertEqual(onnxsurg.check(fixed).errors, 0)


class Facts(Case):
    def test_info(self):
        i = onnxsurg.info(small())
        self.assertEqual((i.nodes, i.parameters, i.weight_bytes), (4, 3, 12))
        self.assertEqual(i.ops, {'Add': 1, 'Relu': 1, 'Mul': 1, 'Identity': 1})
        self.assertEqual(i.weights, {onnxsurg.DType.FLOAT: (1, 3, 12)})
        self.assertIn('N', i.flops)
        self.assertEqual(i.floors, {'': 7})
        m = small()
        m.save(self.folder / 'e.onnx', external_data='e.bin', external_threshold=1)
        self.assertEqual(onnxsurg.info(self.folder / 'e.onnx').files, {'e.bin': 12})
        (self.folder / 'e.bin').unlink()
        self.assertEqual(onnxsurg.info(self.folder / 'e.onnx', policy='lenient').files,
                         {'e.bin': None})

    def test_explain(self):
        text = 'x\nUnsupported model IR version: 10, max supported IR version: 9\n'
        m = onnxsurg.Model.new(opset=17, ir_version=10)
        e, = onnxsurg.explain(text, m)
        self.assertEqual(e.number, 2)
        self.assertTrue(e.cause and e.cure)
        self.assertTrue(e.where)
        self.assertEqual(onnxsurg.explain('nothing is wrong'), [])

    def test_reduce(self):
        m = small()
        seen = []
        r = onnxsurg.reduce(m, lambda c: any(n.op == 'Relu' for n in c.graph.nodes),
                            progress=lambda nodes, tests: seen.append((nodes, tests)))
        self.assertEqual(self.ops(r.graph), ['Relu'])
        self.assertEqual(len(m.graph.nodes), 4)
        self.assertTrue(seen)
        self.sound(r)
        kept = []
        onnxsurg.reduce(m, lambda c: kept.append(c) or True)
        with self.assertRaises(onnxsurg.Erased):
            kept[0].graph
        with self.assertRaises(onnxsurg.InvalidModel):
            onnxsurg.reduce(m, lambda c: False)
        with self.assertRaises(ZeroDivisionError):
            onnxsurg.reduce(m, lambda c: 1 / 0)


class Passes(Case):
    def test_options_and_services(self):
        m = small()
        report = m.run('test-rename-relu')
        self.assertEqual(self.ops(m.graph), ['Add', 'Abs', 'Mul', 'Identity'])
        self.assertEqual(report.counts['renamed'], 1)
        self.assertEqual(report.exactness, 'lossy')
        self.assertIn('graph.node[1] "relu"', report.notes[0])
        m = small()
        m.run('test-rename-relu{to=Neg,most=3}')
        self.assertIn('Neg', self.ops(m.graph))
        for unchanged in ('really=off', 'only=other+more'):
            m = small()
            self.assertFalse(m.run('test-rename-relu{%s}' % unchanged).changed)
        self.assertFalse(small().run('test-rename-relu', keep=['relu']).changed)
        self.assertFalse(small().run('test-rename-relu', rewrite_limit=0).changed)
        with self.assertRaises(onnxsurg.UsageError):
            small().run('test-rename-relu{most=many}')
        with self.assertRaises(onnxsurg.Error):
            small().run('test-rename-relu', allow='exact')

    def test_in_a_pipeline(self):
        m = small()
        m.run('repeat{max=2}(test-rename-relu,identity)')
        self.assertEqual(self.ops(m.graph), ['Add', 'Abs', 'Mul'])
        self.sound(m)

    def test_handles_end_with_the_pass(self):
        m = small()
        m.run('test-stray')
        with self.assertRaises(onnxsurg.Erased):
            kept.pop().op

    def test_exceptions_pass_through(self):
        m = small()
        before = m.bytes()
        with self.assertRaises(KeyError) as e:
            m.run('identity,test-raises')
        self.assertIn('my mistake', str(e.exception))
        self.assertEqual(m.bytes(), before)
        with self.assertRaises(onnxsurg.UsageError) as e:
            m.run('test-usage')
        self.assertIn('this option is wrong', str(e.exception))
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            m.run('test-dangling')
        self.assertEqual(m.bytes(), before)

    def test_wrong_registrations(self):
        for name in ('Upper', '', 'a b', '9a'):
            with self.assertRaises(ValueError):
                register_pass(name)
        with self.assertRaises(ValueError):
            register_pass('test-fails')
        with self.assertRaises(ValueError):
            register_pass('test-other', scope='node')
        with self.assertRaises(ValueError):
            register_pass('test-other', needs=['luck'])
        with self.assertRaises(TypeError):
            Option('x', float)


class Program(Case):
    def run_module(self, *arguments):
        return subprocess.run([sys.executable, '-m', 'onnxsurg', *arguments], capture_output=True,
                              text=True, env=os.environ)

    def test_the_module_is_the_program(self):
        out = self.folder / 'o.onnx'
        r = self.run_module(str(MODELS / 'tiny_cnn.onnxtxt'), str(out))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(out.read_bytes(), onnxsurg.simplify(MODELS / 'tiny_cnn.onnxtxt').bytes())
        self.assertEqual(self.run_module('--nonsense').returncode, 2)
        self.assertIn('usage', self.run_module('--help').stdout)


if __name__ == '__main__':
    main()
