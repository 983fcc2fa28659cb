# SPDX-License-Identifier: Apache-2.0
"""Running and comparing models."""
import gc

import onnxsurg

from common import MODELS, Case, main, numpy, small, with_numpy


class Run(Case):
    def test_lists(self):
        out = onnxsurg.run(small(), {'x': [[1.0, -9.0, 1.0]]})
        self.assertEqual(list(out), ['y'])
        self.assertEqual(out['y'].tolist(), [[2.0, 0.0, 12.0]])

    @with_numpy
    def test_arrays(self):
        x = numpy.arange(12, dtype=numpy.float32).reshape(4, 3) - 6
        w = numpy.array([1, 2, 3], numpy.float32)
        for given in (x, x.astype('>f4'), numpy.asfortranarray(x), x.tolist()):
            y = onnxsurg.run(small(), {'x': given})['y']
            numpy.testing.assert_array_equal(y, numpy.maximum(x + w, 0) * w)
        gc.collect()
        self.assertFalse(y.flags.writeable)
        numpy.testing.assert_array_equal(onnxsurg.run(small(), [x])['y'], y)
        numpy.save(self.folder / 'x.npy', x)
        numpy.savez(self.folder / 'x.npz', x=x)
        numpy.testing.assert_array_equal(
            onnxsurg.run(small(), {'x': self.folder / 'x.npy'})['y'], y)
        numpy.testing.assert_array_equal(onnxsurg.run(small(), self.folder / 'x.npz')['y'], y)

    def test_made_inputs(self):
        a = onnxsurg.run(small(), sizes={'N': 5})['y'].tolist()
        self.assertEqual(len(a), 5)
        self.assertEqual(onnxsurg.run(small(), sizes={'N': 5})['y'].tolist(), a)
        self.assertNotEqual(onnxsurg.run(small(), sizes={'N': 5}, seed=2)['y'].tolist(), a)
        self.assertEqual(onnxsurg.run(small(), fill='ones')['y'].tolist(), [[2.0, 6.0, 12.0]] * 2)

    def test_sessions(self):
        s = onnxsurg.Session(small(), all_values=True)
        self.assertEqual(s.outputs, ['y', 'a', 'r', 'm'])
        first = s.run({'x': [[1.0, 1.0, 1.0]]})
        second = s.run({'x': [[2.0, 2.0, 2.0]]})
        self.assertEqual(first['a'].tolist(), [[2.0, 3.0, 4.0]])
        self.assertEqual(second['a'].tolist(), [[3.0, 4.0, 5.0]])
        del s
        gc.collect()
        self.assertEqual(first['a'].tolist(), [[2.0, 3.0, 4.0]])

    def test_other_types(self):
        m = onnxsurg.parse('''<ir_version: 10, opset_import: ["" : 21]>
            g (float[2] x, string[2] t, bfloat16[2] b, int4[3] i)
              => (seq(float[2]) s, string[2] u, bfloat16[2] c, int4[3] j, int64 n) {
              s = SequenceConstruct (x, x)
              u = Identity (t)
              c = Identity (b)
              j = Identity (i)
              n = Size (x)
            }''')
        given = {'x': [1.0, 2.0], 't': ['a', 'b\u00e4']}
        if numpy:
            given['b'] = numpy.array([0x3f80, 0x4000], numpy.uint16)
            given['i'] = numpy.array([-8, 0, 7], numpy.int8)
        out = onnxsurg.run(m, given)
        self.assertEqual([v.tolist() for v in out['s']], [[1.0, 2.0]] * 2)
        self.assertEqual(list(out['u']), [b'a', 'b\u00e4'.encode()])
        self.assertEqual(out['n'].tolist(), 2)
        if numpy:
            self.assertEqual(out['c'].tolist(), [0x3f80, 0x4000])
            self.assertEqual(out['j'].tolist(), [-8, 0, 7])

    def test_optionals(self):
        m = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17]>
            g (float[2] x) => (optional(float[2]) o, optional(float[2]) e) {
              o = Optional (x)
              e = Optional <type = float[2]> ()
            }''')
        out = onnxsurg.run(m, {'x': [1.0, 2.0]})
        self.assertEqual(out['o'].tolist(), [1.0, 2.0])
        self.assertIsNone(out['e'])

    def test_failures(self):
        with self.assertRaises(onnxsurg.UsageError) as e:
            onnxsurg.run(small(), {'q': [1.0]})
        self.assertIn('no input q', str(e.exception))
        with self.assertRaises(onnxsurg.InvalidModel):
            onnxsurg.run(small(), {'x': [1.0]})
        with self.assertRaises((onnxsurg.Error, TypeError)):
            onnxsurg.run(small(), {'x': object()})
        for wrong in ({'fill': 'sevens'}, {'engine': 'tensorrt'}, {'optimize': 'most'}):
            with self.assertRaises(ValueError):
                onnxsurg.run(small(), **wrong)
        with self.assertRaises(onnxsurg.Error) as e:
            onnxsurg.run(small(), engine='ort', library='/nowhere/libonnxruntime.so')
        self.assertIn('nowhere', str(e.exception))
        custom = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17, "d" : 1]>
            g (float[2] x) => (float[2] y) { y = d.Foo (x) }''')
        with self.assertRaises(onnxsurg.Unsupported) as e:
            onnxsurg.run(custom)
        self.assertIn('graph.node[0]', str(e.exception))
        with self.assertRaises(onnxsurg.Error):
            onnxsurg.run(small(), sizes={'Q': 3})


class Verify(Case):
    def test_equal(self):
        r = onnxsurg.verify(small(), onnxsurg.simplify(small()))
        self.assertTrue(r)
        self.assertGreater(r.checked, 0)
        self.assertEqual([o.name for o in r.outputs], ['y'])
        self.assertIn('equal', str(r))
        self.assertTrue(onnxsurg.verify(small().bytes(), small().bytes(), runs=1))
        path = MODELS / 'tiny_cnn.onnxtxt'
        self.assertTrue(onnxsurg.verify(path, onnxsurg.simplify(path)))

    def test_different(self):
        m = small()
        m.graph.tensor('w').values = [1.0, 2.0, 3.5]
        r = onnxsurg.verify(small(), m, layers=True)
        self.assertFalse(r)
        self.assertGreater(r.outputs[0].differs, 0)
        self.assertGreater(r.outputs[0].max_abs, 0)
        self.assertEqual(r.first.name.strip('"'), 'a')
        self.assertIn('graph.node[0] "add"', r.first.where[0])
        self.assertTrue(onnxsurg.verify(small(), m, rtol=10, atol=100))
        self.assertTrue(onnxsurg.verify(small(), m, inputs={'x': [[-9.0, -9.0, -9.0]]}) or True)

    def test_not_comparable(self):
        custom = onnxsurg.parse('''<ir_version: 8, opset_import: ["" : 17, "d" : 1]>
            g (float[2] x) => (float[2] y) { y = d.Foo (x) }''')
        r = onnxsurg.verify(custom, custom)
        self.assertFalse(r)
        self.assertEqual(r.checked, 0)
        self.assertTrue(r.why)

    def test_external_models_of_other_contexts(self):
        m = small()
        m.save(self.folder / 'e.onnx', external_data='e.bin', external_threshold=1)
        a, b = onnxsurg.load(self.folder / 'e.onnx'), onnxsurg.load(self.folder / 'e.onnx')
        self.assertTrue(onnxsurg.verify(a, b))


if __name__ == '__main__':
    main()
