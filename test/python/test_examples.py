# SPDX-License-Identifier: Apache-2.0
"""The tasks for which people use onnx-graphsurgeon, done with this package: its published examples
are about the same tasks."""

import onnxsurg
from onnxsurg import Constant, Graph, Node, Variable

from common import Case, main, numpy, small, with_numpy


def layer(op, **fixed):
    """A method for Graph.register: one node with one output."""
    def method(self, *inputs, **attrs):
        return self.layer(inputs, [op.lower()], op=op, attrs=dict(fixed, **attrs))[0]
    return method


class Examples(Case):
    def test_create_a_model(self):
        x = Variable('x', 'float', (1, 3, 'H', 'W'))
        y = Variable('y', 'float', (1, 3, 1, 1))
        graph = Graph([Node('GlobalLpPool', attrs={'p': 2}, inputs=[x], outputs=[y])], [x], [y],
                      opset=17)
        again = self.sound(graph.model)
        self.assertEqual(again.graph.nodes[0].attrs, {'p': 2})
        self.assertEqual(again.graph.inputs[0].shape, (1, 3, 'H', 'W'))

    @with_numpy
    def test_create_a_model_with_weights(self):
        x = Variable('x', numpy.float32, (1, 3, 8, 8))
        w = Constant('w', numpy.ones((5, 3, 3, 3), numpy.float32))
        y = Variable('y', numpy.float32, (1, 5, 6, 6))
        graph = Graph([Node('Conv', inputs=[x, w], outputs=[y])], [x], [y], opset=13)
        again = self.sound(graph.model)
        numpy.testing.assert_array_equal(again.graph.tensor('w').values, w.values)

    def test_isolate_a_subgraph(self):
        graph = small().graph
        tensors = graph.tensors()
        graph.inputs = [tensors['a'].to_variable('float', ('N', 3))]
        graph.outputs = [tensors['m'].to_variable('float', ('N', 3))]
        graph.cleanup()
        again = self.sound(graph.model).graph
        self.assertEqual(self.ops(again), ['Relu', 'Mul'])
        self.assertEqual([t.name for t in again.inputs], ['a'])
        self.assertEqual([t.name for t in again.outputs], ['m'])

    def test_modify_a_model(self):
        graph = small().graph
        # an attribute, an operator, a new input in the place of a weight, a new node between
        mul = graph.node('mul')
        graph.node('relu').op = 'LeakyRelu'
        graph.node('relu').attrs['alpha'] = 0.25
        scale = Variable('scale', 'float', (3,))
        graph.inputs.append(scale)
        mul.inputs[1] = scale
        between = Variable('between', 'float')
        graph.nodes.append(Node('Neg', inputs=[mul.outputs[0]], outputs=[between]))
        graph.node('id').inputs[0] = between
        graph.cleanup().toposort()
        again = self.sound(graph.model).graph
        self.assertEqual(self.ops(again), ['Add', 'LeakyRelu', 'Mul', 'Neg', 'Identity'])
        self.assertEqual([t.name for t in again.inputs], ['x', 'scale'])

    def test_fold_constants(self):
        x = Variable('x', 'float', (4,))
        y = Variable('y', 'float', (4,))
        a, b = Variable('a'), Variable('b')
        graph = Graph([Node('Add', inputs=[Constant('c', [1.0, 2.0, 3.0, 4.0]),
                                           Constant('d', [1.0])], outputs=[a]),
                       Node('Mul', inputs=[a, Constant('e', 2.0)], outputs=[b]),
                       Node('Add', inputs=[x, b], outputs=[y])], [x], [y], opset=17)
        graph.fold_constants().cleanup()
        self.assertEqual(self.ops(graph), ['Add'])
        self.assertEqual(graph.nodes[0].inputs[1].values.tolist(), [4.0, 6.0, 8.0, 10.0])
        self.sound(graph.model)

    def test_remove_a_node(self):
        graph = small().graph
        node = next(n for n in graph.nodes if n.op == 'Relu')
        before = node.i()
        before.outputs = node.outputs  # the node before computes the output instead
        node.outputs.clear()
        graph.cleanup()
        again = self.sound(graph.model).graph
        self.assertEqual(self.ops(again), ['Add', 'Mul', 'Identity'])
        self.assertEqual(again.node('mul').inputs[0].name, 'r')

    def test_registered_layers(self):
        names = {}
        for op in ('Add', 'Mul', 'Relu'):
            method = layer(op)
            method.__name__ = 'my_%s' % op.lower()
            names[op] = Graph.register()(method)
        x = Variable('x', 'float', ('N', 4))
        graph = Graph(inputs=[x], opset=17)
        y = x
        for _ in range(3):
            y = graph.my_relu(graph.my_add(graph.my_mul(y, [2.0]), [1.0]))
        y.dtype = 'float'
        graph.outputs = [y]
        self.assertEqual(self.ops(graph), ['Mul', 'Add', 'Relu'] * 3)
        self.sound(graph.model)

        def my_old(self):
            return self.opset
        Graph.register(opsets=[9, 10])(my_old)
        with self.assertRaises(AttributeError) as e:
            graph.my_old()
        self.assertIn('9, 10', str(e.exception))
        self.assertEqual(Graph(opset=10).my_old(), 10)
        with self.assertRaises(AttributeError):
            graph.my_unknown()
        with self.assertRaises(onnxsurg.UsageError):
            Graph.register()(Graph.layer)

    def test_replace_a_subgraph(self):
        x, y = Variable('x', 'float', (4,)), Variable('y', 'float', (4,))
        low, high = Constant('low', 0.0), Constant('high', 6.0)
        a, b = Variable('a', 'float'), Variable('b', 'float')
        graph = Graph([Node('Neg', inputs=[x], outputs=[a]),
                       Node('Min', inputs=[a, high], outputs=[b]),
                       Node('Max', inputs=[b, low], outputs=[y])], [x], [y], opset=17)

        def become(self, op, inputs, outputs, domain=None):
            for t in inputs:
                t.outputs.clear()
            for t in outputs:
                t.inputs.clear()
            return self.layer(inputs, outputs, op=op, domain=domain)
        Graph.register()(become)
        tensors = graph.tensors()
        graph.become('Clip', [tensors[n] for n in ('a', 'low', 'high')], [tensors['y']])
        graph.cleanup().toposort()
        self.assertEqual(self.ops(self.sound(graph.model).graph), ['Neg', 'Clip'])
        # by an operator of an engine
        graph.model.opsets['com.acme'] = 1
        tensors = graph.tensors()
        node = graph.layer([tensors['x']], [tensors['y']], op='Fused', domain='com.acme',
                           attrs={'low': 0.0})[0].producer
        graph.cleanup()
        again = onnxsurg.load(graph.model.bytes()).graph
        self.assertEqual([(n.domain, n.op, dict(n.attrs)) for n in again.nodes],
                         [('com.acme', 'Fused', {'low': 0.0})])
        self.assertEqual(node.outputs[0].name, 'y')

    def test_shape_operations(self):
        x = Variable('x', 'float', (None, 3, None, 5))
        graph = Graph(inputs=[x], opset=12)
        shape = graph.layer([x], ['shape'], op='Shape')[0]
        volume = graph.layer([shape], ['volume'], op='ReduceProd', attrs={'axes': [0]})[0]
        flat = graph.layer([x, volume], ['flat'], op='Reshape')[0]
        first = graph.layer([shape, [0, 1]], ['first'], op='Gather')[0]
        last = graph.layer([shape, [2, 3]], ['last'], op='Gather')[0]
        rest = graph.layer([last], ['rest'], op='ReduceProd', attrs={'axes': [0]})[0]
        wanted = graph.layer([first, rest], ['wanted'], op='Concat', attrs={'axis': 0})[0]
        partly = graph.layer([x, wanted], ['partly'], op='Reshape')[0]
        flat.dtype = partly.dtype = 'float'
        graph.outputs = [flat, partly]
        again = self.sound(graph.model).infer()
        self.assertEqual(len(again.graph.tensor('flat').inferred_type.shape), 1)
        self.assertEqual(again.graph.tensor('partly').inferred_type.shape[1], 3)

    def test_dynamic_batch(self):
        model = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17]>
            g (float[1, 3] x) => (float[1, 2] y) <float[3, 2] w> { y = MatMul (x, w) }'''
                               .replace('<float[3, 2] w>', '<float[3, 2] w = {1, 2, 3, 4, 5, 6}>'))
        for t in list(model.graph.inputs) + list(model.graph.outputs):
            t.shape = ('N',) + t.shape[1:]
        again = self.sound(model).infer()
        self.assertEqual(again.graph.outputs[0].inferred_type.shape, ('N', 2))

    def test_local_functions(self):
        x = Variable('x', 'float', ('N', 4))
        graph = Graph(inputs=[x], opset=18)
        functions = graph.model.add_functions('''
            <domain: "local", opset_import: ["" : 18]>
            Gated <slope, bias: float = 1.0> (a) => (b) {
              c = Constant <value_float: float = @bias> ()
              s = LeakyRelu <alpha: float = @slope> (a)
              p = Add (s, c)
              b = Mul (p, a)
            }''')
        self.assertEqual([f.name for f in functions], ['Gated'])
        y = x
        for i in range(4):
            y = graph.Gated([y], attrs={'slope': 0.1 * i, 'bias': 2.0})[0]
        y.dtype, y.shape = 'float', ('N', 4)
        graph.outputs = [y]
        again = self.sound(graph.model)
        self.assertEqual(self.ops(again.graph), ['Gated'] * 4)
        flat = onnxsurg.run_pipeline(again, 'inline,prune', check=1)
        self.assertEqual(flat.report.checked > 0, True)
        self.assertEqual(len(flat.functions), 0)

    @with_numpy
    def test_types_that_numpy_lacks(self):
        bits = (numpy.arange(4, dtype=numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
        graph = Graph(opset=21)
        y = graph.layer([Constant('c', bits, dtype='bfloat16')], ['y'], op='Cast',
                        attrs={'to': numpy.float32})[0]
        y.dtype, y.shape = numpy.float32, (4,)
        graph.outputs = [y]
        graph.fold_constants().cleanup()
        self.assertEqual(graph.tensor('y').values.tolist(), [0, 1, 2, 3])


if __name__ == '__main__':
    main()
