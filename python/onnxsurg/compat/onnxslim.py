# SPDX-License-Identifier: Apache-2.0
"""slim() with the signature of OnnxSlim 0.1.99."""
import os
from typing import Any, Dict, List, Sequence, Union

import onnxsurg
from onnxsurg import Model

from ._shared import fix_shapes, opened, to_proto, unused

# Its optimizations, and the passes that do the same.
PASSES = {'constant_folding': ['fold'], 'graph_fusion': ['rewrite'],
          'dead_node_elimination': ['identity'], 'subexpression_elimination': ['cse'],
          'weight_tying': ['dedup']}
TYPES = {'fp16': 'float16', 'fp32': 'float', 'int32': 'int32', 'int64': 'int64', 'bool': 'bool'}
KNOWN = ('output_model', 'model_check', 'input_shapes', 'inputs', 'outputs', 'no_shape_infer',
         'no_constant_folding', 'skip_optimizations', 'dtype', 'skip_fusion_patterns',
         'size_threshold', 'inspect', 'dump_to_disk', 'save_as_external_data',
         'model_check_inputs', 'verbose')


def _pairs(entries: Any) -> Dict[str, str]:
    """{"name": "text"} of ["name:text"]; "" where there is no text."""
    if isinstance(entries, str):
        entries = [entries]
    out = {}
    for entry in entries or ():
        name, colon, text = entry.rpartition(':')
        out[name if colon else entry] = text if colon else ''
    return out


def _shapes(entries: Any) -> Dict[str, List[int]]:
    return {name: [int(n) for n in text.split(',')] for name, text in _pairs(entries).items()}


def _typed(model: Model, entries: Any) -> List[Any]:
    """The tensors that inputs or outputs become, with their element types."""
    tensors, out = model.graph.tensors(), []
    for name, kind in _pairs(entries).items():
        if name not in tensors and ':' in name + ':' + kind and '%s:%s' % (name, kind) in tensors:
            name, kind = '%s:%s' % (name, kind), ''  # the colon belongs to the name
        if name not in tensors:
            raise Exception('the model has no tensor "%s"' % name)
        if kind and kind not in TYPES:
            raise Exception('tensor "%s": unsupported type "%s"' % (name, kind))
        tensor = tensors[name]
        if kind:
            tensor.dtype = TYPES[kind]
        elif not tensor.elem_type:
            tensor.dtype = 'float'
        out.append(tensor)
    return out


def _table(models: Sequence[Any]) -> None:
    """Prints the operators of models side by side."""
    loaded = [m if isinstance(m, Model) else opened(m, policy='lenient') for m in models]
    counts: List[Dict[str, int]] = []
    for m in loaded:
        count: Dict[str, int] = {}
        for node in m.nodes():
            count[node.op] = count.get(node.op, 0) + 1
        counts.append(count)
    ops = sorted({op for c in counts for op in c})
    print(' '.join(['%-28s' % 'model'] + ['%16s' % os.path.basename(m.path)[-16:] for m in loaded]))
    for op in ops:
        print(' '.join(['%-28s' % op] + ['%16d' % c.get(op, 0) for c in counts]))
    print(' '.join(['%-28s' % 'nodes'] + ['%16d' % sum(c.values()) for c in counts]))


def _check_data(model: Model, entries: Any) -> Any:
    """(inputs, sizes of symbols) of "name:1,3,8,8" or "name:file.npy"."""
    inputs: Dict[str, Any] = {}
    sizes: Dict[str, int] = {}
    for name, text in _pairs(entries).items():
        if os.path.exists(text):
            inputs[name] = text
            continue
        shape = model.graph.tensor(name).shape or ()
        sizes.update({d: int(n) for d, n in zip(shape, text.split(',')) if isinstance(d, str)})
    return inputs or None, sizes


def slim(model: Union[str, Any, List[Any]], *args: Any, **kwargs: Any) -> Any:
    """The slimmed onnx.ModelProto; None if it was written to output_model, or if model_check found
    a difference. A list of models is printed as a table.

    no_shape_infer, size_threshold, skip_fusion_patterns: without effect, since inference never
    trusts what it cannot prove, and results of folding are limited anyway."""
    for name in kwargs:
        if name not in KNOWN:
            raise TypeError('slim has no argument "%s"' % name)
    get = kwargs.get
    output = args[0] if args else get('output_model')
    if isinstance(model, list):
        _table(model)
        return None
    if get('inspect'):
        _table([model])
        return None
    if get('skip_fusion_patterns'):
        unused('skip_fusion_patterns', 'onnxsurg has no patterns of these names')
    if get('dtype') == 'fp16':
        raise onnxsurg.Unsupported('onnxsurg: error: conversion to fp16 is not supported')
    original = opened(model, freeze_inputs=True)
    new = original.copy()
    if get('inputs'):
        new.graph.inputs = _typed(new, get('inputs'))
    steps = [fix_shapes(new, _shapes(get('input_shapes')))]
    if get('outputs'):
        new.graph.outputs = _typed(new, get('outputs'))
    if get('inputs') or get('outputs'):
        new.graph.cleanup()
    before = new.copy()
    skip: List[str] = ['fold'] if get('no_constant_folding') else []
    for name in get('skip_optimizations') or ():
        if name not in PASSES:
            raise Exception('skip_optimizations has no "%s"; it has: %s'
                            % (name, ', '.join(PASSES)))
        skip += PASSES[name]
    steps.append('simplify')
    if get('dtype') == 'fp32':
        steps.append('retype{from=float16}')
    new.run(','.join(s for s in steps if s), skip=skip, strict=False)
    if get('model_check'):
        inputs, sizes = _check_data(before, get('model_check_inputs'))
        if not onnxsurg.verify(before, new, inputs=inputs, sizes=sizes):
            return None
    if output is None:
        return to_proto(new)
    data = os.path.basename(output) + '.data' if get('save_as_external_data') else None
    new.save(output, external_data=data)
    if get('verbose'):
        _table([original, new])
    return None
