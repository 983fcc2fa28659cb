# SPDX-License-Identifier: Apache-2.0
"""The functions with the signatures of onnxsim and OnnxSlim."""
import contextlib
import inspect
import io
import warnings

import onnxsurg
from onnxsurg.compat import onnxsim, onnxslim

from common import MODELS, Case, main, onnx, small, with_onnx

if onnx:
    from onnx import helper


def ops(proto):
    return [n.op_type for n in proto.graph.node]


@with_onnx
class Simplify(Case):
    def test_signature(self):
        parameters = inspect.signature(onnxsim.simplify).parameters
        self.assertEqual(list(parameters)[:16], [
            'model', 'check_n', 'perform_optimization', 'skip_fuse_bn', 'overwrite_input_shapes',
            'test_input_shapes', 'skipped_optimizers', 'skip_constant_folding',
            'skip_shape_inference', 'input_data', 'dynamic_input_shape', 'custom_lib',
            'include_subgraph', 'unused_output', 'tensor_size_threshold', 'mutable_initializer'])
        self.assertEqual(sum(p.kind == p.KEYWORD_ONLY for p in parameters.values()), 14)

    def test_as_it_is_called(self):
        proto = small().proto()
        before = proto.SerializeToString()
        new, ok = onnxsim.simplify(proto, check_n=3)
        self.assertTrue(ok)
        self.assertEqual(ops(new), ['Add', 'Relu', 'Mul'])
        self.assertEqual(proto.SerializeToString(), before)
        path = self.folder / 'a.onnx'
        onnx.save(proto, str(path))
        self.assertEqual(ops(onnxsim.simplify(str(path))[0]), ops(new))

    def test_shapes(self):
        proto = small().proto()
        for shapes in ({'x': [5, 3]}, {None: [5, 3]}):
            new, ok = onnxsim.simplify(proto, overwrite_input_shapes=shapes)
            self.assertEqual([d.dim_value for d in new.graph.input[0].type.tensor_type.shape.dim],
                             [5, 3])
        new, _ = onnxsim.simplify(new, input_shapes={'x': [7, 3]}, check_n=1)
        self.assertEqual([d.dim_value for d in new.graph.input[0].type.tensor_type.shape.dim],
                         [7, 3])
        self.assertEqual([d.dim_value for d in new.graph.output[0].type.tensor_type.shape.dim][:1],
                         [0])
        for wrong in ({'q': [1]}, {'x': [1]}):
            with self.assertRaises(RuntimeError):
                onnxsim.simplify(proto, overwrite_input_shapes=wrong)

    def test_options(self):
        proto = small().proto()
        self.assertEqual(len(ops(onnxsim.simplify(proto, perform_optimization=False)[0])), 4)
        self.assertEqual(onnxsim.simplify(proto, target_opset_version=14)[0]
                         .opset_import[0].version, 14)
        two = onnxsurg.load(proto)
        two.graph.outputs.append(two.graph.tensor('a'))
        two.graph.tensor('a').type = onnxsurg.Type('tensor', 1, ('N', 3))
        new, _ = onnxsim.simplify(two.proto(), unused_output=['y'])
        self.assertEqual(ops(new), ['Add'])
        with self.assertRaises(RuntimeError):
            onnxsim.simplify(proto, unused_output=['q'])
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always')
            onnxsim.simplify(proto, skipped_optimizers=['identity', 'eliminate_foo'],
                             providers=['CUDAExecutionProvider'])
        self.assertEqual(len(w), 2)
        with self.assertRaises(ValueError):
            onnxsim.simplify(proto, input_fill='seven')

    def test_rewriters(self):
        proto, calls = small().proto(), []

        def rewriter(model):
            calls.append(1)
            changed = False
            for node in model.graph.node:
                if node.op_type == 'Relu':
                    node.op_type, changed = 'Abs', True
            return None if changed else False
        new, _ = onnxsim.simplify(proto, custom_rewriter=rewriter)
        self.assertIn('Abs', ops(new))
        self.assertEqual(len(calls), 2)
        opset = [helper.make_opsetid('', 17)]
        pattern = helper.make_function('r', 'F', ['x'], ['y'],
                                       [helper.make_node('Relu', ['x'], ['y'])], opset)
        replacement = helper.make_function(
            'r', 'F', ['x'], ['y'], [helper.make_node('Neg', ['x'], ['t']),
                                     helper.make_node('Abs', ['t'], ['y'])], opset)
        new, _ = onnxsim.simplify(proto, function_rewrite_rules=[(pattern, replacement)])
        self.assertIn('Neg', ops(new))
        with self.assertRaises(ValueError):
            onnxsim.simplify(proto, custom_rewriter=rewriter,
                             function_rewrite_rules=[(pattern, replacement)])

    def test_external_data_is_returned_inside(self):
        m = small()
        path = self.folder / 'e.onnx'
        m.save(path, external_data='e.bin', external_threshold=1)
        new, _ = onnxsim.simplify(str(path))
        self.assertEqual(new.graph.initializer[0].data_location, onnx.TensorProto.DEFAULT)
        onnx.checker.check_model(new)


@with_onnx
class Slim(Case):
    def test_as_it_is_called(self):
        proto = small().proto()
        self.assertEqual(ops(onnxslim.slim(proto)), ['Add', 'Relu', 'Mul'])
        self.assertEqual(ops(onnxslim.slim(proto, model_check=True)), ['Add', 'Relu', 'Mul'])
        path = self.folder / 'a.onnx'
        onnx.save(proto, str(path))
        out = self.folder / 'b.onnx'
        self.assertIsNone(onnxslim.slim(str(path), str(out), save_as_external_data=True))
        self.assertEqual(ops(onnx.load(str(out))), ['Add', 'Relu', 'Mul'])

    def test_interface(self):
        proto = small().proto()
        new = onnxslim.slim(proto, input_shapes=['x:5,3'])
        self.assertEqual(new.graph.input[0].type.tensor_type.shape.dim[0].dim_value, 5)
        new = onnxslim.slim(proto, inputs=['a:fp32'], outputs=['m:fp32'])
        self.assertEqual(ops(new), ['Relu', 'Mul'])
        self.assertEqual(([i.name for i in new.graph.input], [o.name for o in new.graph.output]),
                         (['a'], ['m']))
        for wrong in ({'outputs': ['q']}, {'outputs': ['m:fp8']}, {'skip_optimizations': ['q']},
                      {'colour': 1}, {'dtype': 'fp16'}):
            with self.assertRaises(Exception):
                onnxslim.slim(proto, **wrong)

    def test_skips(self):
        proto = small().proto()
        self.assertEqual(len(ops(onnxslim.slim(
            proto, skip_optimizations=['dead_node_elimination', 'graph_fusion']))), 4)

    def test_table(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.assertIsNone(onnxslim.slim([small().proto(), str(MODELS / 'tiny_cnn.onnxtxt')]))
        self.assertIn('Relu', text.getvalue())
        self.assertIn('tiny_cnn.onnxtxt', text.getvalue())


if __name__ == '__main__':
    main()
