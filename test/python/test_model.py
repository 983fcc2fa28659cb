# SPDX-License-Identifier: Apache-2.0
"""Models: reading, writing, errors with their place."""

import onnxsurg
from onnxsurg import Model

from common import MODELS, SMALL, Case, main, numpy, small, with_numpy, with_onnx


class Reading(Case):
    def test_from_path_bytes_text_and_model(self):
        path = MODELS / 'tiny_cnn.onnxtxt'
        a = onnxsurg.load(path)
        b = onnxsurg.load(str(path))
        c = onnxsurg.load(a.bytes())
        d = onnxsurg.load(bytearray(a.bytes()))
        e = onnxsurg.load(c)
        f = Model(a.bytes())
        for m in (b, c, d, e, f):
            self.assertEqual(m.bytes(), a.bytes())
        self.assertIsNot(e, c)
        self.assertEqual(a.path, str(path))

    @with_onnx
    def test_from_and_to_proto(self):
        proto = small().proto()
        self.assertEqual([n.op_type for n in proto.graph.node], ['Add', 'Relu', 'Mul', 'Identity'])
        again = onnxsurg.load(proto)
        self.assertEqual(again.text(), small().text())  # fields are in another order

    def test_unedited_file_keeps_its_bytes(self):
        data = small().bytes() + b'\xca\x3e\x03abc'  # an unknown field at the end
        (self.folder / 'a.onnx').write_bytes(data)
        m = onnxsurg.load(self.folder / 'a.onnx')
        m.save(self.folder / 'b.onnx')
        self.assertEqual((self.folder / 'b.onnx').read_bytes(), data)
        self.assertEqual(m.bytes(), data)
        m.graph.node('relu').name = 'other'
        self.assertIn(b'\xca\x3e\x03abc', m.bytes())

    def test_odd_names_survive(self):
        name = 'a b/\u00e4\u4e2d"\\'
        m = small()
        m.graph.tensor('a').name = name
        self.assertEqual(onnxsurg.load(m.bytes()).graph.tensor(name).name, name)
        path = self.folder / 'd\u00e4.onnx'
        m.save(path)
        self.assertEqual(onnxsurg.load(path).bytes(), m.bytes())

    def test_external_data(self):
        m = small()
        m.save(self.folder / 'e.onnx', external_data='e.data', external_threshold=1)
        self.assertTrue((self.folder / 'e.data').exists())
        e = onnxsurg.load(self.folder / 'e.onnx')
        self.assertTrue(e.graph.tensor('w').data.is_external)
        self.assertEqual(bytes(e.graph.tensor('w').data.data),
                         bytes(m.graph.tensor('w').data.data))
        # from bytes, the folder is given
        f = onnxsurg.load((self.folder / 'e.onnx').read_bytes(), external_root=self.folder)
        self.assertEqual(f.graph.tensor('w').data.nbytes, 12)
        self.assertEqual(bytes(f.graph.tensor('w').data.data)[:4], b'\0\0\x80?')

    def test_what_a_model_says_of_itself(self):
        m = small()
        self.assertEqual((m.opset, m.ir_version, dict(m.opsets)), (17, 8, {'': 17}))
        m.opsets['com.acme'] = 3
        self.assertEqual(m.opsets['com.acme'], 3)
        del m.opsets['com.acme']
        self.assertNotIn('com.acme', m.opsets)
        m.metadata['author'] = 'me'
        self.assertEqual(onnxsurg.load(m.bytes()).metadata['author'], 'me')
        self.assertNotIn('other', m.metadata)
        self.assertEqual(dict(m.metadata), {'author': 'me'})
        m.producer, m.producer_version, m.doc = 'p', '1', 'text'
        m.graph.node('relu').doc = 'a node'
        m.graph.inputs[0].doc = 'an input'
        again = onnxsurg.load(m.bytes())
        self.assertEqual((again.producer, again.producer_version, again.doc), ('p', '1', 'text'))
        self.assertEqual((again.graph.node('relu').doc, again.graph.inputs[0].doc),
                         ('a node', 'an input'))
        with self.assertRaises(KeyError):
            m.metadata['other']
        del m.metadata['author']
        self.assertNotIn('author', m.metadata)
        before = m.epoch
        m.graph.name = 'renamed'
        self.assertGreater(m.epoch, before)
        self.assertEqual(m.graph.name, 'renamed')

    def test_merge(self):
        m = small()
        m.merge(small(), connect={'y': 'x'}, prefix='second_')
        self.assertEqual(len(m.graph.nodes), 8)
        self.assertEqual([t.name for t in m.graph.inputs], ['x'])
        self.sound(m)

    def test_copies_are_independent(self):
        m = small()
        c = m.copy()
        m.graph.node('relu').op = 'Abs'
        self.assertEqual(c.graph.node('relu').op, 'Relu')
        del m
        self.assertEqual(c.graph.tensor('w').data.nbytes, 12)
        self.sound(c)


class Failing(Case):
    def test_errors_have_status_file_place_and_text(self):
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            onnxsurg.load(onnxsurg.parse(SMALL).bytes().replace(b'\x0a\x01a', b'\x0a\x01q', 1),
                          name='bad.onnx')
        self.assertEqual(e.exception.status, onnxsurg.Status.EINVALID)
        self.assertEqual(e.exception.file, 'bad.onnx')
        self.assertTrue(e.exception.where.startswith('graph.node['), e.exception.line)
        self.assertIn(e.exception.text, e.exception.line)
        self.assertIn(e.exception.line, e.exception.messages)
        self.assertEqual(str(e.exception), e.exception.line)

    def test_files(self):
        with self.assertRaises(onnxsurg.FileError) as e:
            onnxsurg.load(self.folder / 'missing.onnx')
        self.assertIsInstance(e.exception, OSError)
        self.assertIn('missing.onnx', str(e.exception))
        with self.assertRaises(onnxsurg.FileError):
            small().save(self.folder / 'no' / 'a.onnx')
        with self.assertRaises(onnxsurg.InvalidModel):
            onnxsurg.load(b'\x00garbage')
        with self.assertRaises(onnxsurg.InvalidModel) as e:
            onnxsurg.parse('<ir_version: 8>\ng (float x => (float y) {}')
        self.assertIn('text', str(e.exception))

    def test_wrong_arguments(self):
        m = small()
        for wrong in (None, 3, 1.5, [], object()):
            with self.assertRaises((TypeError, ValueError)):
                Model.load(wrong)
        with self.assertRaises(ValueError):
            onnxsurg.load(m.bytes(), policy='generous')
        with self.assertRaises(TypeError):
            onnxsurg.load(m.bytes(), colour='red')
        with self.assertRaises(ValueError):
            m.save(self.folder / 'a\0b.onnx')
        with self.assertRaises(ValueError):
            m.graph.node('relu').name = 'a\0b'
        with self.assertRaises(TypeError):
            m.graph.node('relu').name = 3
        with self.assertRaises(onnxsurg.UsageError) as e:
            m.run('fold{colour=red}')
        self.assertIn('colour', str(e.exception))
        self.assertIsInstance(e.exception, ValueError)
        with self.assertRaises(TypeError):
            m.run('fold', keep='name')
        with self.assertRaises(ValueError):
            m.run('fold', allow='everything')
        with self.assertRaises(LookupError):
            m.find_node('nothing')
        self.assertEqual(self.ops(m.graph), ['Add', 'Relu', 'Mul', 'Identity'])

    def test_lenient_loads_have_findings(self):
        bad = small().bytes().replace(b'Relu', b'Rely')
        report = onnxsurg.check(bad)
        self.assertGreater(len(report), 0)
        m = onnxsurg.load(bad, policy='lenient')
        self.assertEqual(len(m.graph.nodes), 4)

    def test_memory_limit(self):
        context = onnxsurg.Context(max_memory=1 << 12)
        with self.assertRaises((onnxsurg.LimitError, onnxsurg.OutOfMemory)):
            onnxsurg.load(small().bytes() * 1, context=context).run('simplify')


class Types(Case):
    def test_shapes_and_types(self):
        m = onnxsurg.parse('''<ir_version: 10, opset_import: ["" : 21]>
            g (float[N, 3, 4] x, bfloat16[] u, seq(int64[2]) s, float v) => (float[N, 3, 4] y) {
              y = Identity (x)
            }''')
        x, u, s, v = m.graph.inputs
        self.assertEqual(x.shape, ('N', 3, 4))
        self.assertIsNone(u.shape)
        self.assertEqual(u.elem_type, onnxsurg.DType.BFLOAT16)
        self.assertEqual(v.shape, ())
        self.assertEqual(s.type.kind, 'sequence')
        self.assertEqual(s.type.elem.shape, (2,))
        x.shape = (None, 'M', 4)
        self.assertEqual(onnxsurg.load(m.bytes()).graph.inputs[0].shape, (None, 'M', 4))
        x.shape = None
        self.assertIsNone(x.shape)
        self.assertEqual(x.elem_type, onnxsurg.DType.FLOAT)
        s.type = onnxsurg.Type('optional', elem=onnxsurg.Type('tensor', 1, (2, None)))
        self.assertEqual(onnxsurg.load(m.bytes()).graph.inputs[2].type,
                         onnxsurg.Type('optional', 0, None,
                                       onnxsurg.Type('tensor', 1, (2, None), None)))

    def test_inference(self):
        m = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17]>
            g (float[N, 3] x) => (float[M, 6] y) { c = Concat <axis = 1> (x, x)  y = Abs (c) }''')
        self.assertIsNone(m.graph.tensor('c').type)
        m.infer()
        self.assertEqual(m.graph.tensor('c').inferred_type.shape, ('N', 6))
        self.assertEqual(m.graph.tensor('c').shape, ('N', 6))

    @with_numpy
    def test_types_of_numpy(self):
        m = small()
        self.assertEqual(m.graph.tensor('w').dtype, numpy.float32)
        self.assertEqual(m.graph.inputs[0].dtype, numpy.float32)
        m.graph.inputs[0].dtype = numpy.float16
        self.assertEqual(m.graph.inputs[0].elem_type, onnxsurg.DType.FLOAT16)

    @with_numpy
    def test_every_element_type_there_and_back(self):
        for d in onnxsurg.DType:
            if d in (onnxsurg.DType.UNDEFINED, onnxsurg.DType.STRING):
                continue
            kind = onnxsurg._types.from_dtype(d)
            if isinstance(kind, numpy.dtype):
                values = numpy.arange(6).astype(kind).reshape(2, 3)
            elif onnxsurg._types._STORED[d][1] == 1:
                values = numpy.arange(6).astype(onnxsurg._types._STORED[d][0]).reshape(2, 3)
            else:
                low = -2 if d in (onnxsurg.DType.INT4, onnxsurg.DType.INT2) else 0
                values = (numpy.arange(5) % 4 + low).astype(onnxsurg._types._STORED[d][0])
            m = Model.new(opset=21)
            c = m.graph.layer(op='Identity', inputs=[onnxsurg.Constant('c', values, dtype=d)])[0]
            m.graph.outputs = [c]
            back = onnxsurg.load(m.bytes()).graph.tensor('c')
            self.assertEqual(back.elem_type, d)
            self.assertEqual(back.shape, values.shape)
            numpy.testing.assert_array_equal(back.values, values)
            self.assertFalse(back.values.flags.writeable)

    def test_strings(self):
        m = Model.new(opset=17)
        t = m.graph.layer(op='Identity', inputs=[onnxsurg.Constant('s', ['a', 'b\u00e4', ''])])[0]
        m.graph.outputs = [t]
        self.assertEqual(onnxsurg.load(m.bytes()).graph.tensor('s').data.strings,
                         (b'a', 'b\u00e4'.encode(), b''))

    def test_without_numpy_lists_are_tensors(self):
        m = Model.new(opset=17)
        c = m.graph.layer(op='Identity', inputs=[onnxsurg.Constant('c', [[1, 2], [3, 4]])])[0]
        t = m.graph.tensor('c')
        self.assertEqual((t.elem_type, t.shape), (onnxsurg.DType.INT64, (2, 2)))
        self.assertEqual(t.data.data[:8].tobytes(), b'\1\0\0\0\0\0\0\0')
        self.assertEqual(t.values.tolist(), [[1, 2], [3, 4]])
        with self.assertRaises(ValueError):
            onnxsurg.Constant('d', [[1, 2], [3]])
        with self.assertRaises((ValueError, OverflowError)):
            onnxsurg.Constant('d', [300], dtype='uint8')
        with self.assertRaises(TypeError):
            onnxsurg.Constant('d', object())


if __name__ == '__main__':
    main()
