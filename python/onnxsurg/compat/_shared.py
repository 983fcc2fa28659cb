# SPDX-License-Identifier: Apache-2.0
"""What both shims need."""
import os
import warnings
from typing import Any, Dict, List, Sequence

from onnxsurg import Model


def unused(name: str, why: str) -> None:
    """Warns of an argument that has no effect here."""
    warnings.warn('onnxsurg: %s has no effect: %s' % (name, why), stacklevel=3)


def opened(model: Any, **options: Any) -> Model:
    """A Model that may be edited."""
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    return Model.load(model, **options)


def to_proto(model: Model) -> Any:
    """The model as an onnx.ModelProto that contains its weights, as the other packages return it.
    Weights above 2 GiB cannot be in it and stay in their files."""
    import onnx
    proto = model.proto()
    external = [t for t in proto.graph.initializer
                if t.data_location == onnx.TensorProto.EXTERNAL]
    size = sum(t.data.nbytes for t in model.graph.initializers if t.data is not None)
    if external and size < (1 << 31) - (1 << 20):
        folder = os.path.dirname(os.path.abspath(model.path))
        onnx.external_data_helper.load_external_data_for_model(proto, folder)
    return proto


def fix_shapes(model: Model, shapes: Dict[str, Sequence[int]]) -> str:
    """The step of a pipeline that gives inputs these shapes; dimensions that are not positive stay
    open."""
    inputs = {t.name: t for t in model.graph.inputs}
    steps: List[str] = []
    for name, shape in shapes.items():
        if name not in inputs:
            raise RuntimeError('the model has no input "%s"; it has: %s'
                               % (name, ', '.join(inputs)))
        tensor, dims = inputs[name], [int(d) for d in shape]
        present = tensor.shape
        if present is None:
            tensor.shape = [d if d > 0 else None for d in dims]
            continue
        if len(present) != len(dims):
            raise RuntimeError('input "%s" has %d dimensions, not %d' % (name, len(present),
                                                                        len(dims)))
        if any(isinstance(p, int) and d > 0 and p != d for p, d in zip(present, dims)):
            # Another number replaces one: what was inferred from it is not declared any more.
            tensor.shape = [d if d > 0 else p for p, d in zip(present, dims)]
            _forget_shapes(model)
            continue
        steps += ['freeze{%s=%d}' % (model.word('%s.%d' % (name, i)), d)
                  for i, (p, d) in enumerate(zip(present, dims)) if d > 0 and p != d]
    return ','.join(steps)


def _forget_shapes(model: Model) -> None:
    """Removes declared shapes of everything but inputs: they depend on the former ones."""
    from onnxsurg._types import Type
    for tensor in model.graph.tensors().values():
        if not tensor.is_input and not tensor.is_constant and tensor.type is not None and \
                tensor.type.kind == 'tensor' and tensor.type.shape is not None:
            declared = tensor.type
            tensor.type = Type('tensor', declared.elem_type,
                               tuple(None if isinstance(d, int) else d for d in declared.shape)) \
                if tensor.is_output else None


def single_input(model: Model) -> str:
    """The name of the input of a model that has one."""
    names = [t.name for t in model.graph.inputs if not t.is_initializer]
    if len(names) != 1:
        raise RuntimeError('the model has %d inputs: name them' % len(names))
    return names[0]
