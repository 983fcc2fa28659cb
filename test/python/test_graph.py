# SPDX-License-Identifier: Apache-2.0
"""Walking and editing graphs."""

import onnxsurg
from onnxsurg import Constant, Graph, Node, Variable

from common import MODELS, Case, main, numpy, small, with_numpy


class Walking(Case):
    def test_nodes_and_neighbours(self):
        g = small().graph
        add, relu, mul, identity = g.nodes
        self.assertEqual([n.op for n in g.nodes], ['Add', 'Relu', 'Mul', 'Identity'])
        self.assertIs(relu.i(), add)
        self.assertIs(relu.o(), mul)
        self.assertIs(add.o().o().o(), identity)
        self.assertIs(g.node('relu'), relu)
        self.assertIs(g.nodes[1], relu)
        self.assertIs(g.nodes[-1], identity)
        self.assertEqual(g.nodes[1:3], [relu, mul])
        with self.assertRaises(IndexError):
            g.nodes[4]
        with self.assertRaises(IndexError):
            add.i()  # its input is one of the graph
        with self.assertRaises(IndexError):
            relu.i(5)
        with self.assertRaises(IndexError):
            identity.o()
        with self.assertRaises(KeyError):
            g.node('nothing')
        self.assertTrue(relu.is_builtin)
        self.assertIn('graph.node[1] "relu" (Relu)', relu.where)
        self.assertIs(g.model.find_node('graph.node[2]'), mul)

    def test_tensors(self):
        g = small().graph
        tensors = g.tensors()
        self.assertEqual(set(tensors), set('xyawrm'))
        w = tensors['w']
        self.assertEqual([n.op for n in w.outputs], ['Add', 'Mul'])
        self.assertEqual(w.inputs, [])
        self.assertTrue(w.is_constant and w.is_initializer and not w.is_input)
        self.assertTrue(isinstance(w, Constant) and not isinstance(w, Variable))
        self.assertTrue(isinstance(tensors['a'], Variable))
        self.assertIs(tensors['r'].i(), tensors['a'])
        self.assertIs(tensors['r'].o(), tensors['m'])
        self.assertEqual(tensors['a'].inputs[0].op, 'Add')
        self.assertTrue(tensors['y'].is_output and tensors['x'].is_input)
        self.assertEqual([t.name for t in g.initializers], ['w'])

    def test_inner_graphs(self):
        m = onnxsurg.load(MODELS / 'if_constant.onnxtxt')
        inner = list(m.graph.subgraphs())
        self.assertEqual({g.name for g in inner}, {'new_way', 'old_way'})
        self.assertEqual(len(list(m.nodes())), len(m.graph.nodes) + sum(len(g.nodes)
                                                                        for g in inner))
        branch = inner[0]
        self.assertEqual(branch.kind, 'subgraph')
        self.assertEqual(branch.parent, m.graph)
        self.assertEqual(branch.parent_node.op, 'If')
        self.assertEqual(m.graph.tensor('x').graph, m.graph)
        self.assertEqual(branch.tensor('x'), m.graph.tensor('x'))  # an outer one

    def test_functions(self):
        m = onnxsurg.parse('''<ir_version: 9, opset_import: ["" : 18, "d" : 1]>
            g (float[2] x) => (float[2] y) { y = d.F <alpha = 3.0> (x) }
            <domain: "d", opset_import: ["" : 18]>
            F <alpha, beta: int = 2> (a) => (b) { b = Elu <alpha: float = @alpha> (a) }''')
        f = m.function('F')
        self.assertEqual((f.domain, f.name, dict(f.opsets)), ('d', 'F', {'': 18}))
        self.assertEqual(f.attrs, {'alpha': None, 'beta': 2})
        self.assertEqual(f.nodes[0].attrs['alpha'], onnxsurg.AttributeRef('alpha', 'float'))
        self.assertEqual(m.graph.nodes[0].function, f)
        self.assertEqual(f.graph.kind, 'function')
        y = m.graph.F([m.graph.inputs[0]], attrs={'alpha': 1.0})[0]
        m.graph.outputs = [y]
        m.graph.cleanup()
        self.sound(m)


class Building(Case):
    def test_functions_from_nothing(self):
        x = Variable('x', 'float', ('N', 4))
        g = Graph(inputs=[x], opset=18)
        f = g.model.add_function('Gated', inputs=['a'], attrs={'slope': None, 'bias': 1.5})
        self.assertEqual(f.attrs, {'slope': None, 'bias': 1.5})
        body = f.graph
        c = body.layer(op='Constant',
                       attrs={'value_float': onnxsurg.AttributeRef('bias', float)})[0]
        s = body.layer([body.inputs[0]], op='LeakyRelu',
                       attrs={'alpha': onnxsurg.AttributeRef('slope', 'float')})[0]
        p = body.layer([s, c], op='Add')[0]
        body.outputs = body.layer([p, body.inputs[0]], ['b'], op='Mul')
        f.doc = 'a gate'
        y = x
        for k in range(3):
            y = g.Gated([y], attrs={'slope': 0.1 * k})[0]
        y.dtype, y.shape = 'float', ('N', 4)
        g.outputs = [y]
        again = self.sound(g.model)
        self.assertEqual(again.functions[0].doc, 'a gate')
        self.assertEqual(again.functions[0].nodes[1].attrs['alpha'].name, 'slope')
        flat = onnxsurg.run_pipeline(again, 'inline,prune', check=1)
        self.assertGreater(flat.report.checked, 0)
        with self.assertRaises(onnxsurg.Error):
            g.model.add_function('Gated')
        for wrong in (onnxsurg.AttributeRef('slope'), onnxsurg.AttributeRef('slope', 'number')):
            with self.assertRaises(ValueError):
                body.nodes[0].attrs['wrong'] = wrong

    def test_types_as_attributes(self):
        g = Graph(opset=17)
        kind = onnxsurg.Type('tensor', 1, (2, 'N'))
        e = g.layer(op='Optional', attrs={'type': kind})[0]
        self.assertEqual(onnxsurg.load(g.model.bytes()).graph.nodes[0].attrs['type'], kind)


class Editing(Case):
    def test_attributes(self):
        g = small().graph
        n = g.node('relu')
        values = {'i': 3, 'f': 1.5, 's': 'text', 'b': b'\xff\xfe', 'is': [1, 2], 'fs': [1.0, 2.5],
                  'ss': ['a', 'b'], 'empty': [], 'big': -(1 << 63)}
        for k, v in values.items():
            n.attrs[k] = v
        m = onnxsurg.load(g.model.bytes())
        self.assertEqual(dict(m.graph.node('relu').attrs), values)
        del n.attrs['i']
        self.assertNotIn('i', n.attrs)
        with self.assertRaises(KeyError):
            n.attrs['i']
        with self.assertRaises(KeyError):
            del n.attrs['i']
        n.attrs = {'x': 1}
        self.assertEqual(dict(n.attrs), {'x': 1})
        for wrong in (object(), {}, [1, 'a'], 1 << 63, None):
            with self.assertRaises((TypeError, ValueError)):
                n.attrs['wrong'] = wrong
        self.assertNotIn('wrong', n.attrs)

    def test_attributes_follow_the_schema(self):
        g = Graph(opset=17, inputs=[x := Variable('x', 'float', (2, 3))])
        y = g.layer([x], op='LeakyRelu', attrs={'alpha': 1})[0]
        z = g.layer([y], op='Cast', attrs={'to': onnxsurg.DType.FLOAT16})[0]
        t = g.layer(op='Constant', attrs={'value': [1, 2]})[0]
        g.outputs = [z, t]
        self.assertEqual(y.producer.attrs['alpha'], 1.0)
        self.assertIsInstance(y.producer.attrs['alpha'], float)
        self.assertEqual(z.producer.attrs['to'], 10)
        self.assertEqual(t.producer.attrs['value'].shape, (2,))
        self.assertEqual(t.values.tolist(), [1, 2])
        z.dtype, t.dtype, t.shape = 'float16', 'int64', (2,)
        self.sound(g.model)

    @with_numpy
    def test_attributes_of_numpy(self):
        g = small().graph
        n = g.node('relu')
        n.attrs['t'] = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
        n.attrs['to'] = numpy.float16
        n.attrs['n'] = numpy.int32(7)
        n.attrs['f'] = numpy.float32(0.5)
        n.attrs['l'] = [numpy.int64(1), 2]
        again = onnxsurg.load(g.model.bytes()).graph.node('relu').attrs
        numpy.testing.assert_array_equal(again['t'], numpy.arange(6).reshape(2, 3))
        self.assertEqual((again['to'], again['n'], again['f'], again['l']), (10, 7, 0.5, [1, 2]))

    def test_inputs(self):
        g = small().graph
        x, w = g.inputs[0], g.tensor('w')
        add, mul = g.node('add'), g.node('mul')
        mul.inputs[0] = x
        self.assertEqual(mul.inputs, [x, w])
        mul.inputs.append(None)
        self.assertEqual(len(mul.inputs), 2)  # absent ones at the end are not written
        add.inputs = [x, x]
        self.assertEqual(x.outputs, [add, mul])
        mul.inputs[1] = 2.0
        self.assertTrue(mul.inputs[1].is_constant)
        g.cleanup()
        self.assertEqual(self.ops(g), ['Mul', 'Identity'])
        self.sound(g.model)
        with self.assertRaises(onnxsurg.UsageError):
            mul.inputs[0] = 'nothing'
        with self.assertRaises(onnxsurg.UsageError):
            mul.inputs[0] = small().graph.inputs[0]  # of another model
        with self.assertRaises(TypeError):
            mul.inputs[0] = object()

    def test_insert_and_order(self):
        g = small().graph
        relu = g.node('relu')
        new = Node('Abs', name='abs', inputs=[g.tensor('a')], outputs=[Variable('b')])
        g.nodes.append(new)  # at the end: sorted when the model is read
        relu.inputs[0] = new.outputs[0]
        g.toposort()
        self.assertEqual(self.ops(g), ['Add', 'Abs', 'Relu', 'Mul', 'Identity'])
        g.nodes.insert(0, Node('Neg', inputs=[g.inputs[0]], outputs=[Variable('n')]))
        self.assertEqual(g.nodes[0].op, 'Neg')
        self.assertEqual(len(self.sound(g.model).graph.nodes), 6)

    def test_cycles_are_refused(self):
        g = small().graph
        g.node('add').inputs[0] = g.tensor('m')
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            g.model.bytes()
        self.assertIn('cycle', str(e.exception))

    def test_remove_and_detach(self):
        g = small().graph
        relu = g.node('relu')
        g.nodes.remove(relu)
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            g.model.bytes()
        self.assertIn('"r" has consumers and no producer', str(e.exception))
        self.assertEqual(self.ops(g), ['Add', 'Mul', 'Identity'])
        self.assertEqual(len(g.nodes), 3)
        self.assertEqual(g.tensor('r').inputs, [])
        g.layer([g.tensor('a')], [g.tensor('r')], op='Sigmoid')
        self.assertEqual(g.tensor('r').inputs[0].op, 'Sigmoid')
        self.assertEqual(self.ops(self.sound(g.model).graph),
                         ['Add', 'Sigmoid', 'Mul', 'Identity'])

    def test_bypass(self):
        g = small().graph
        g.node('relu').bypass()
        self.assertEqual(g.node('mul').inputs[0].name, 'a')
        g.node('id').bypass()  # its output is one of the graph, which keeps its name
        self.assertEqual([t.name for t in g.outputs], ['y'])
        self.assertEqual(self.ops(self.sound(g.model).graph), ['Add', 'Mul'])

    def test_names(self):
        g = small().graph
        g.tensor('y').name = 'result'
        self.assertEqual(g.outputs[0].name, 'result')
        with self.assertRaises(onnxsurg.InvalidModel):
            g.tensor('a').name = 'r'
        self.assertEqual(g.tensor('a').name, 'a')
        self.assertNotIn(g.unique_name('a'), g.tensors())

    def test_constants(self):
        g = small().graph
        w = g.tensor('w')
        w.values = [4.0, 5.0, 6.0]
        self.assertEqual(g.tensor('w').values.tolist(), [4.0, 5.0, 6.0])
        r = g.tensor('r').to_constant([1.0, 1.0, 1.0])
        self.assertTrue(g.tensor('r').is_constant)
        self.assertEqual(r.values.tolist(), [1, 1, 1])
        g.cleanup()
        self.assertEqual(self.ops(g), ['Mul', 'Identity'])
        self.sound(g.model)

    def test_inputs_become_constants_and_back(self):
        g = small().graph
        g.inputs[0].to_constant([[1.0, 2.0, 3.0]])
        self.assertEqual(len(g.inputs), 0)
        g.fold_constants().cleanup()
        self.assertEqual(len(g.inputs), 0)
        self.sound(g.model)
        g = small().graph
        w = g.tensor('w').to_variable()
        g.inputs.append(w)
        self.assertEqual([t.name for t in g.inputs], ['x', 'w'])
        self.assertEqual(g.inputs[1].shape, (3,))
        self.assertEqual([n.op for n in w.outputs], ['Add', 'Mul'])
        self.sound(g.model)

    def test_interface(self):
        g = small().graph
        a = g.tensor('a')
        g.outputs.append(a)
        a.dtype = 'float'
        self.assertEqual([t.name for t in g.outputs], ['y', 'a'])
        g.outputs = [a]
        g.cleanup()
        self.assertEqual(self.ops(g), ['Add'])
        self.assertEqual([t.name for t in self.sound(g.model).graph.outputs], ['a'])
        with self.assertRaises(onnxsurg.UsageError):
            g.outputs = [a, a]
        with self.assertRaises(TypeError):
            g.outputs = [None]
        with self.assertRaises(onnxsurg.UsageError):
            g.inputs = [g.inputs[0], g.inputs[0]]

    def test_subgraphs_are_built(self):
        c, x = Variable('c', bool, ()), Variable('x', 'float', (2,))
        g = Graph(opset=17, inputs=[c, x])
        node = Node('If', inputs=[c], outputs=[Variable('y', 'float', (2,))])
        g.nodes.append(node)
        for name, op in (('then_branch', 'Abs'), ('else_branch', 'Neg')):
            branch = node.add_graph(name)
            out = branch.layer([x], ['%s_out' % op], op=op)[0]
            out.dtype, out.shape = 'float', (2,)
            branch.outputs = [out]
        g.outputs = node.outputs
        self.assertEqual([n.op for n in x.outputs], ['Abs', 'Neg'])
        self.sound(g.model)
        with self.assertRaises(onnxsurg.UsageError):
            node.attrs['other'] = g

    def test_unbound_objects(self):
        v, c, n = Variable('v', 'float', ('N', 2)), Constant('c', 3), Node('Abs')
        self.assertEqual((v.shape, v.elem_type), (('N', 2), 1))
        self.assertEqual((c.shape, c.elem_type, c.values), ((), 7, 3))
        v.name, v.shape, v.dtype = 'u', [1], 'int8'
        self.assertEqual((v.name, v.shape, v.elem_type), ('u', (1,), 3))
        n.name, n.op, n.attrs['a'] = 'n', 'Neg', 1
        with self.assertRaises(onnxsurg.UsageError):
            v.producer if v._box else v._pointer()
        with self.assertRaises(onnxsurg.UsageError):
            n._pointer()
        g = Graph(opset=17)
        with self.assertRaises(onnxsurg.UsageError):
            g.layer([], [c], op='Abs')
        self.assertEqual(len(g.nodes), 0)

    def test_rules_find_and_rewrite(self):
        m = small()
        rule = 'rule abs-of-relu { match { y = Relu (x) } emit { y = Abs (x) } }'
        self.assertEqual([n.name for n in m.graph.matches(rule)], ['relu'])
        self.assertEqual(self.ops(m.graph), ['Add', 'Relu', 'Mul', 'Identity'])
        report = m.rewrite(rule)
        self.assertTrue(report.changed)
        self.assertIn('Abs', self.ops(m.graph))
        self.sound(m)
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            m.rewrite('rule broken { match { y = } }')
        self.assertIn('rules:1', str(e.exception))


if __name__ == '__main__':
    main()
