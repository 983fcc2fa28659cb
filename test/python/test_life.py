# SPDX-License-Identifier: Apache-2.0
"""Lifetimes and threads: what was removed raises, what is referred to lives, and one model may be
used by several threads."""
import gc
import mmap
import threading
import time
import weakref

import onnxsurg
from onnxsurg import Model, Node, Variable

from common import MODELS, Case, main, numpy, small, with_numpy


def base_of(view):
    """What an array or memoryview finally refers to."""
    while True:
        inner = getattr(view, 'base', None) if not isinstance(view, memoryview) else view.obj
        if inner is None:
            return view
        view = inner


class Lifetimes(Case):
    def test_objects_keep_their_model(self):
        node = small().graph.nodes[1]
        gc.collect()
        self.assertEqual(node.o().op, 'Mul')
        tensor = small().graph.tensor('w')
        gc.collect()
        self.assertEqual(tensor.values.tolist(), [1, 2, 3])
        data = small().graph.tensor('w').data
        gc.collect()
        self.assertEqual(data.tolist(), [1, 2, 3])
        nodes = small().graph.nodes
        gc.collect()
        self.assertEqual(len(list(nodes)), 4)

    def test_models_are_freed(self):
        context = onnxsurg.Context()
        before = context.memory()[0]
        for _ in range(20):
            m = onnxsurg.load(small().bytes(), context=context)
            list(m.nodes())
            del m
        gc.collect()
        onnxsurg.load(small().bytes(), context=context)
        self.assertLess(context.memory()[0] - before, 1 << 16)
        gone = weakref.ref(context)
        del context
        gc.collect()
        self.assertIsNone(gone())

    def test_garbage_of_a_cycle(self):
        """Python ends the objects of a cycle in any order: the context first, as it is the oldest."""
        for use in (lambda m: m.graph.nodes[0], lambda m: onnxsurg.Session(m),
                    lambda m: onnxsurg.Target('onnxruntime-1.14', context=m.context),
                    lambda m: m.run('simplify'), lambda m: m.copy()):
            m = small()
            cycle = [m, use(m)]
            cycle.append(cycle)
            freed = weakref.ref(m.context)
            del m, cycle
            gc.collect()
            self.assertIsNone(freed())

    def test_contexts_are_freed(self):
        """All objects that count for a context are subtracted again, whatever became of them."""
        def works(context):
            m = onnxsurg.load(small().bytes(), context=context)
            node = m.graph.nodes[0]
            m.run('simplify')
            with self.assertRaises(onnxsurg.Error):
                m.run('no-such-pass')
            c = m.copy()
            c.run('prune')
            c.close()
            del node
            with onnxsurg.load(small().bytes(), context=context) as other:
                onnxsurg.run(other, {'x': [[1.0, 2.0, 3.0]]})
            onnxsurg.check(m)

        context = onnxsurg.Context()
        works(context)
        gc.collect()
        self.assertEqual(context._living, 0)

    @with_numpy
    def test_arrays_outlive_their_model(self):
        m = small()
        a = m.graph.tensor('w').values
        m.graph.tensor('w').values = [9.0, 9.0, 9.0]
        m.run('simplify')
        with self.assertRaises(Exception):
            m.run('no-such-pass')
        m.close()
        del m
        gc.collect()
        self.assertEqual(a.tolist(), [1, 2, 3])
        with self.assertRaises(ValueError):
            a[0] = 5

    @with_numpy
    def test_large_arrays_are_views(self):
        large = numpy.arange(1 << 18, dtype=numpy.float32)
        m = Model.new(opset=17)
        y = m.graph.layer([onnxsurg.Constant('w', large)], ['y'], op='Neg')[0]
        y.type = onnxsurg.Type('tensor', 1, (1 << 18,))
        m.graph.outputs = [y]
        before = m.context.memory()[0]
        first = m.graph.tensor('w').values
        again = m.graph.tensor('w').values
        self.assertEqual(first.__array_interface__['data'], again.__array_interface__['data'])
        self.assertEqual(m.context.memory()[0], before)
        node = m.graph.nodes[0]
        m.run('fold,prune')  # on a copy: the arrays still refer to this one
        with self.assertRaises(onnxsurg.Erased):
            node.op
        self.assertEqual(m.graph.tensor('y').values[5], -5)
        m.close()
        numpy.testing.assert_array_equal(first, large)

    @with_numpy
    def test_arrays_of_files(self):
        large = numpy.arange(1 << 18, dtype=numpy.float32)

        def write(path, values, data):
            n = Model.new(opset=17)
            n.graph.outputs = n.graph.layer([onnxsurg.Constant('w', values)], ['y'], op='Neg')
            n.save(path, external_data=data)
        path, data = self.folder / 'e.onnx', self.folder / 'e.bin'
        write(path, large, 'e.bin')
        fresh = onnxsurg.load(path).graph.tensor('w')
        numpy.testing.assert_array_equal(fresh.values, large)
        time.sleep(0.1)  # a file that was written just now might be changed without a trace
        m = onnxsurg.load(path)
        view, node = m.graph.tensor('w').values, m.graph.nodes[0]
        self.assertIsInstance(base_of(view), mmap.mmap)
        numpy.testing.assert_array_equal(view, large)
        with self.assertRaises(ValueError):
            view[0] = 1
        m.run('identity')
        self.assertEqual(node.op, 'Neg')  # the run needs no copy
        # A file that was replaced or changed since the load is not mapped.
        other = large.copy()
        other[1000] = 5
        changed = self.folder / 'f.bin'
        changed.write_bytes(other.tobytes())
        changed.rename(data)
        self.assertNotIsInstance(base_of(m.graph.tensor('w').data.data), mmap.mmap)
        numpy.testing.assert_array_equal(view, large)
        # A model in one file.
        write(self.folder / 'v.onnx', large, None)
        numpy.testing.assert_array_equal(
            onnxsurg.load(self.folder / 'v.onnx').graph.tensor('w').values, large)

    def test_removed_nodes_raise(self):
        m = small()
        relu, r = m.graph.node('relu'), m.graph.tensor('r')
        relu.bypass()
        for use in (lambda: relu.op, lambda: relu.inputs, lambda: list(relu.inputs),
                    lambda: relu.attrs['x'], lambda: relu.attrs.__setitem__('x', 1),
                    lambda: relu.erase(), lambda: relu.i(), lambda: relu.graph,
                    lambda: setattr(relu, 'name', 'n'), lambda: relu.move_before(None),
                    lambda: relu.where, lambda: relu.subgraphs(), lambda: r.name,
                    lambda: r.consumers, lambda: r.shape, lambda: r.values,
                    lambda: r.to_constant(1.0), lambda: r.detach(), lambda: r.graph,
                    lambda: m.graph.outputs.append(r),
                    lambda: m.graph.node('mul').inputs.append(r),
                    lambda: m.graph.layer([r], op='Abs')):
            with self.assertRaises(onnxsurg.Erased):
                use() if not hasattr(use(), '__iter__') else list(use())
        self.assertIn('removed', repr(relu))
        self.assertIn('removed', repr(r))
        self.assertNotIn(relu, m.graph.nodes)
        self.sound(m)

    def test_graphs_of_removed_nodes_raise(self):
        m = onnxsurg.load(MODELS / 'if_constant.onnxtxt')
        branch = next(m.graph.subgraphs())
        inner = branch.nodes[0]
        m.run('fold,prune')
        for use in (lambda: len(branch.nodes), lambda: branch.layer(['x'], op='Abs'),
                    lambda: branch.name):
            with self.assertRaises(onnxsurg.Erased):
                use()
        try:
            inner.op  # a pass may have moved it to the outer graph
        except onnxsurg.Erased:
            pass

    def test_removal_during_iteration(self):
        m = small()
        for node in m.graph.nodes:  # the current node may be removed
            if node.op in ('Relu', 'Identity'):
                node.bypass()
        self.assertEqual(self.ops(m.graph), ['Add', 'Mul'])
        m = small()
        with self.assertRaises(RuntimeError):
            for node in m.graph.nodes:
                m.graph.node('relu').bypass()

    def test_closed_models_raise(self):
        m = small()
        g, n = m.graph, m.graph.nodes[0]
        with m:
            pass
        for use in (lambda: m.bytes(), lambda: m.graph, lambda: g.nodes[0], lambda: n.op,
                    lambda: m.copy(), lambda: m.run('fold'), lambda: onnxsurg.simplify(m),
                    lambda: onnxsurg.check(m), lambda: m.merge(small()),
                    lambda: small().merge(m), lambda: list(m.nodes()), lambda: len(m.opsets)):
            with self.assertRaises(onnxsurg.Erased):
                use()
        m.close()
        self.assertIn('closed', repr(m) + repr(g))

    def test_one_object_for_one_handle(self):
        g = small().graph
        self.assertIs(g.nodes[0], g.nodes[0])
        self.assertIs(g.inputs[0], g.tensor('x'))
        self.assertIs(g.model, g.model)
        self.assertIs(g.model.graph, g)
        self.assertEqual(len({g.nodes[0], g.nodes[0], g.nodes[1]}), 2)
        self.assertNotEqual(g.nodes[0], small().graph.nodes[0])
        v = Variable('v')
        self.assertNotEqual(v, Variable('v'))
        g.nodes.append(Node('Abs', inputs=[g.inputs[0]], outputs=[v]))
        self.assertIs(g.tensor('v'), v)

    def test_the_graph_follows_a_replaced_model(self):
        m = small()
        g = m.graph
        with self.assertRaises(onnxsurg.Error):
            m.run('extract{from=q,to=r}')
        self.assertEqual(len(g.nodes), 4)
        g.cleanup()
        self.assertIs(m.graph, g)


class Threads(Case):
    def together(self, *functions):
        errors = []

        def guarded(f):
            try:
                f()
            except BaseException as e:
                errors.append(e)
        threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if errors:
            raise errors[0]

    def test_own_models(self):
        out = []

        def work():
            for _ in range(2):
                out.append(onnxsurg.simplify(MODELS / 'tiny_cnn.onnxtxt').bytes())
        self.together(*[work] * 4)
        self.assertEqual(len(out), 8)
        self.assertEqual(len(set(out)), 1)

    def test_one_model(self):
        m = onnxsurg.load(MODELS / 'tiny_cnn.onnxtxt')
        expected = m.bytes()

        def walk():
            for _ in range(8):
                for n in list(m.nodes()):
                    n.op, list(n.inputs), dict(n.attrs)

        def long():
            for _ in range(4):
                m.infer()
                self.assertEqual(m.bytes(), expected)
                m.copy().run('simplify')

        def collect():
            for _ in range(10):
                small()
                m.copy()
                gc.collect()
        self.together(walk, long, walk, collect)

    def test_edits_of_one_model(self):
        m = small()

        def edit(stem):
            def work():
                for i in range(40):
                    t = m.graph.layer(['a'], ['%s_%d' % (stem, i)], op='Abs')[0]
                    m.graph.layer([t], op='Neg')
            return work
        self.together(edit('p'), edit('q'), edit('r'))
        self.assertEqual(len(m.graph.nodes), 4 + 3 * 80)
        m.graph.cleanup()
        self.assertEqual(len(m.graph.nodes), 4)

    def test_other_threads_run_meanwhile(self):
        text = ['<ir_version: 8, opset_import: ["" : 17]>',
                'g (float[N] x0) => (float[N] x8000) {']
        text += ['x%d = Abs (x%d)' % (i + 1, i) for i in range(8000)] + ['}']
        m = onnxsurg.parse('\n'.join(text))
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                done.wait(0.001)

        def work():
            try:
                m.run('simplify,fuse')
            finally:
                done.set()
        self.together(tick, work)
        self.assertGreater(len(ticks), 3)


if __name__ == '__main__':
    main()
