# SPDX-License-Identifier: Apache-2.0
"""simplify() with the signature of onnxsim 0.8. What is folded and fused is decided by onnxsurg, so
the names of that package's optimizer passes have no meaning here."""
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import onnxsurg
from onnxsurg import Model

from ._shared import fix_shapes, opened, single_input, to_proto, unused

ROUNDS = 50  # of a rewriter that never reports that nothing changed
FILLS = ('random', 'ones', 'zeros', 'arange')


def _named(model: Model, shapes: Any) -> Dict[str, Sequence[int]]:
    """Shapes by name; the key None is the only input."""
    shapes = dict(shapes or {})
    if None in shapes:
        shapes[single_input(model)] = shapes.pop(None)
    return shapes


def _rewritten(model: Model, rewriter: Callable, pipeline: str, options: Dict[str, Any]) -> Model:
    """Runs a function of protos and the pipeline in turns, until the function changes nothing."""
    for _ in range(ROUNDS):
        proto = to_proto(model)
        before = proto.SerializeToString(deterministic=True)
        result = rewriter(proto)
        if result is False:
            return model
        proto = proto if result is None else result
        if proto.SerializeToString(deterministic=True) == before:
            return model
        model = Model.load(proto)
        model.run(pipeline, **options)
    unused('custom_rewriter after %d rounds' % ROUNDS, 'it still changes the model')
    return model


def _attribute(a: Any) -> str:
    """An attribute of a FunctionProto in the language of rules."""
    if a.ref_attr_name:
        return '%s = %s' % (a.name, a.ref_attr_name)
    if a.type == a.INT:
        return '%s = %d' % (a.name, a.i)
    if a.type == a.FLOAT:
        return '%s = %r' % (a.name, float(a.f))
    if a.type == a.STRING:
        return '%s = "%s"' % (a.name, a.s.decode().replace('\\', '\\\\').replace('"', '\\"'))
    if a.type == a.INTS:
        return '%s = [%s]' % (a.name, ', '.join('%d' % v for v in a.ints))
    if a.type == a.FLOATS:
        return '%s = [%s]' % (a.name, ', '.join('%r' % float(v) for v in a.floats))
    raise ValueError('attribute "%s" of a rule is neither a number, a string nor a list' % a.name)


def _nodes(function: Any) -> str:
    out = []
    for node in function.node:
        op = '%s.%s' % (node.domain, node.op_type) if node.domain not in ('', 'ai.onnx') \
            else node.op_type
        attributes = ', '.join(_attribute(a) for a in node.attribute)
        out.append('  %s = %s %s(%s)' % (', '.join(node.output), op,
                                         '<%s> ' % attributes if attributes else '',
                                         ', '.join(node.input)))
    return '\n'.join(out)


def rules_of(pairs: Sequence[Tuple[Any, Any]]) -> str:
    """Pairs (pattern, replacement) of onnx.FunctionProto as rewrite rules (doc/rules.md)."""
    rules = []
    for i, (pattern, replacement) in enumerate(pairs):
        if list(pattern.output) != list(replacement.output) or \
                list(pattern.input) != list(replacement.input):
            raise ValueError('pattern and replacement %d need the same names of inputs and outputs'
                             % i)
        rules.append('rule function-%d lossy("a rule of the caller") {\n'
                     'match {\n%s\n}\nemit {\n%s\n}\n}' % (i, _nodes(pattern), _nodes(replacement)))
    return '\n'.join(rules)


def simplify(model: Any, check_n: int = 0, perform_optimization: bool = True,
             skip_fuse_bn: bool = False, overwrite_input_shapes: Any = None,
             test_input_shapes: Any = None, skipped_optimizers: Optional[List[str]] = None,
             skip_constant_folding: bool = False, skip_shape_inference: bool = False,
             input_data: Any = None, dynamic_input_shape: bool = False,
             custom_lib: Optional[str] = None, include_subgraph: bool = False,
             unused_output: Optional[Sequence[str]] = None, tensor_size_threshold: str = '1.5GB',
             mutable_initializer: bool = False, *, initializers_as_constants: bool = True,
             inline_functions: bool = False, import_custom_schemas: bool = True,
             input_shapes: Any = None, target_opset_version: Optional[int] = None,
             custom_rewriter: Optional[Callable] = None,
             function_rewrite_rules: Optional[Sequence[Tuple[Any, Any]]] = None,
             check_rtol: float = 1e-4, check_atol: float = 1e-5, input_fill: str = 'random',
             providers: Any = None, profile: Optional[str] = None,
             ort_profile: Optional[str] = None,
             merge_ort_profile: bool = False) -> Tuple[Any, bool]:
    """(simplified onnx.ModelProto, whether the comparison found the results equal).

    check_n: runs of inputs on which both models are compared; 0: True is returned without one.
    skip_shape_inference, include_subgraph, import_custom_schemas, tensor_size_threshold: without
    effect, since inference never trusts what it cannot prove, subgraphs are always simplified,
    unknown operators are kept, and results of folding are limited anyway."""
    if custom_rewriter is not None and function_rewrite_rules:
        raise ValueError('custom_rewriter and function_rewrite_rules cannot be given together')
    if input_fill not in FILLS:
        raise ValueError('input_fill is one of %s, not %r' % (', '.join(FILLS), input_fill))
    for name, value in (('custom_lib', custom_lib), ('providers', providers),
                        ('profile', profile), ('ort_profile', ort_profile),
                        ('merge_ort_profile', merge_ort_profile or None)):
        if value is not None:
            unused(name, 'no runtime is used')
    if input_shapes is not None:
        overwrite_input_shapes = test_input_shapes = input_shapes
    original = opened(model, freeze_inputs=not mutable_initializer)
    new = original.copy()
    steps = [fix_shapes(new, _named(new, overwrite_input_shapes))]
    if unused_output:
        names = [t.name for t in new.graph.outputs]
        for name in unused_output:
            if name not in names:
                raise RuntimeError('the model has no output "%s"' % name)
        steps.append('outputs{drop=%s}' % '+'.join(new.word(n) for n in unused_output))
    if target_opset_version is not None:
        steps.append('opset{to=%d}' % target_opset_version)
    if inline_functions:
        steps.append('inline')
    core = 'simplify' if perform_optimization else 'fold,prune'
    skip = ['fold'] if skip_constant_folding else []
    known = {p.name for p in onnxsurg.passes(new.context)} if skipped_optimizers else set()
    for name in skipped_optimizers or ():
        if name in known:
            skip.append(name)
        elif 'bn' in name.split('_'):
            skip_fuse_bn = True
        else:
            unused('skipped_optimizers=[%r]' % name, 'onnxsurg has no pass of that name')
    options: Dict[str, Any] = {
        'skip': skip, 'keep': ['op=BatchNormalization'] if skip_fuse_bn else [],
        'keep_weights': not initializers_as_constants, 'strict': False}
    pipeline = ','.join([s for s in steps if s] + [core])
    new.run(pipeline, **options)
    if function_rewrite_rules:
        names = new.context.load_rules(rules_of(function_rewrite_rules))
        new.run('rewrite{rule=%s},%s' % ('+'.join(names), core), **options)
    elif custom_rewriter is not None:
        new = _rewritten(new, custom_rewriter, core, options)
    equal = True
    if check_n:
        equal = bool(onnxsurg.verify(
            original, new, runs=check_n, fill=input_fill if input_data is None else None,
            inputs=input_data, rtol=check_rtol, atol=check_atol,
            sizes=_sizes(original, test_input_shapes, overwrite_input_shapes)))
    return to_proto(new), equal


def _sizes(model: Model, *shapes: Any) -> Dict[str, int]:
    """The sizes of symbols that shapes of inputs imply."""
    out: Dict[str, int] = {}
    for given in shapes:
        for name, shape in _named(model, given).items():
            for tensor in model.graph.inputs:
                if tensor.name == name and tensor.shape is not None:
                    out.update({d: int(n) for d, n in zip(tensor.shape, shape)
                                if isinstance(d, str) and int(n) > 0})
    return out
