# SPDX-License-Identifier: Apache-2.0
"""Tensors: the values of a graph."""
import functools
from typing import Any, List, Optional, Sequence, Tuple

from . import _c, errors
from ._context import Box, encode
from ._data import Data, data_of, make_data
from ._handle import DETACHED, Handle, erased, pointer_of, rebind, wrap
from ._lib import lib
from ._types import (Dim, DType, Type, check_shape, elements, from_dtype, make_tensor_type,
                     make_type, read_type, to_dtype)


class _Consumers(list):
    """The consumers of a tensor. Removing one leaves its input absent."""

    def __init__(self, tensor, nodes):
        super().__init__(nodes)
        self._tensor = tensor

    def clear(self):
        for node in list(self):
            self.remove(node)

    def remove(self, node):
        super().remove(node)
        for i, t in enumerate(node.inputs):
            if t == self._tensor:
                node.inputs[i] = None


class _Producers(list):
    """The producer of a tensor, as a list of one node or none."""

    def __init__(self, tensor, nodes):
        super().__init__(nodes)
        self._tensor = tensor

    def clear(self):
        self._tensor.detach()
        super().clear()


class Tensor(Handle):
    """A value: an input, an initializer, or an output of a node. One that was made by Variable or
    Constant belongs to a graph as soon as a node or a list of inputs or outputs contains it."""

    __slots__ = ('_spec',)

    DYNAMIC = None

    def _pointer(self) -> int:
        box = self._box
        if box is None:
            raise errors.UsageError('onnxsurg: error: the tensor "%s" is not in a graph yet'
                                    % self._spec['name'])
        if box.pointer is None:
            raise box.dead()
        if lib.surg_value_erased(self._ptr):
            raise erased('tensor', lib.surg_value_name(self._ptr).decode('utf-8', 'replace'))
        return self._ptr

    @property
    def is_bound(self) -> bool:
        """Whether the tensor is in a graph."""
        return self._box is not None

    # ---- name and type ----

    @property
    def name(self) -> str:
        return self._spec['name'] if self._box is None else self._text(lib.surg_value_name)

    @name.setter
    def name(self, name: str) -> None:
        if self._box is None:
            self._spec['name'] = name
        elif name != self.name:
            self._do(lib.surg_value_rename, encode(name))

    @property
    def type(self) -> Optional[Type]:
        """The declared type, otherwise the inferred one; None if neither is known."""
        if self._box is None:
            return Type('tensor', self._spec['dtype'], self._spec['shape'])
        with self._box.context._lock:
            t = self._pointer()
            return read_type(self._box.pointer, lib.surg_value_declared_type(t) or
                             lib.surg_value_type(t))

    @type.setter
    def type(self, kind: Optional[Type]) -> None:
        pointer = None if kind is None else make_type(self._box, kind)
        self._do(lib.surg_value_set_declared_type, pointer)

    @property
    def inferred_type(self) -> Optional[Type]:
        """The type that `Model.infer` proved, or None."""
        with self._box.context._lock:
            return read_type(self._box.pointer, self._get(lib.surg_value_type))

    @property
    def elem_type(self) -> DType:
        """The element type, DType.UNDEFINED if it is unknown."""
        if self._box is None:
            return DType(self._spec['dtype'] or 0)
        data, kind = self._any_data(), None
        if data:
            return DType(lib.surg_tensor_dtype(data))
        kind = self.type
        return DType(kind.elem_type or 0) if kind else DType.UNDEFINED

    @property
    def dtype(self) -> Any:
        """A dtype of numpy; a DType if numpy lacks the type; None if it is unknown."""
        return from_dtype(self.elem_type)

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        kind = None if dtype is None else to_dtype(dtype)
        if self._box is None:
            self._spec['dtype'] = kind
        else:
            self._declare(kind, self.shape)

    @property
    def shape(self) -> Optional[Tuple[Dim, ...]]:
        """Numbers, names or expressions, and None for unknown dimensions; None if the rank is
        unknown."""
        if self._box is None:
            return self._spec['shape']
        data = self._any_data()
        if data:
            return data_of(self._box, data).shape
        kind = self.type
        return kind.shape if kind else None

    @shape.setter
    def shape(self, shape: Optional[Sequence[Dim]]) -> None:
        if self._box is None:
            self._spec['shape'] = check_shape(shape)
        else:
            self._declare(self.elem_type, check_shape(shape))

    def _declare(self, dtype, shape):
        with self._box.context._lock:
            value = self._pointer()
            data = lib.surg_value_initializer(value)
            if data:
                own = data_of(self._box, data)
                if (dtype or 0, shape) == (own.elem_type, own.shape):
                    return
                raise errors.UsageError('onnxsurg: error: the type of constant "%s" is that of its '
                                        'values' % self.name)
            kind = make_tensor_type(self._box, int(dtype), shape) if dtype else None
            self._box.context.do(lib.surg_value_set_declared_type, value, kind)

    @property
    def doc(self) -> str:
        """The doc_string of its declaration; '' if it is absent."""
        return self._text(lib.surg_value_doc)

    @doc.setter
    def doc(self, text: Optional[str]) -> None:
        self._do(lib.surg_value_set_doc, encode(text))

    # ---- place ----

    @property
    def graph(self) -> Any:
        from ._graph import Graph
        return wrap(self._box, Graph, self._get(lib.surg_value_graph))

    @property
    def is_input(self) -> bool:
        return self._get(lib.surg_value_is_input)

    @property
    def is_output(self) -> bool:
        return self._get(lib.surg_value_is_output)

    @property
    def is_initializer(self) -> bool:
        return self._get(lib.surg_value_is_initializer)

    @property
    def is_constant(self) -> bool:
        """Whether it has values: an initializer, or the output of a Constant node."""
        if self._box is None:
            return self._spec['values'] is not None
        return bool(self._any_data())

    def is_empty(self) -> bool:
        """Whether it is an absent input or output; never true of a tensor that exists."""
        return self._box is None and not self._spec['name'] and self._spec['values'] is None

    @property
    def producer(self) -> Any:
        """The node that computes it, or None."""
        from ._node import Node
        with self._box.context._lock:
            value = self._pointer()
            if value in self._box.detached:
                return None
            return wrap(self._box, Node, lib.surg_value_producer(value, None))

    @property
    def consumers(self) -> List[Any]:
        """The nodes that read it, in the order of their graph; nodes of subgraphs included."""
        from ._node import Node
        box = self._box
        with box.context._lock:
            found, use = {}, lib.surg_value_first_use(self._pointer())
            while use:
                if lib.surg_use_get_kind(use) == _c.surg_use_kind.NODE:
                    found[lib.surg_use_node(use)] = True
                use = lib.surg_use_next(use)
            nodes = list(found)
            if len(nodes) > 1:
                nodes.sort(key=functools.cmp_to_key(_compare_nodes))
            return [wrap(box, Node, n) for n in nodes]

    @property
    def inputs(self) -> List[Any]:
        """The producer as a list. `clear()` detaches the tensor from it."""
        producer = self.producer
        return _Producers(self, [producer] if producer is not None else [])

    @property
    def outputs(self) -> List[Any]:
        """The consumers as a list. `clear()` and `remove()` disconnect them."""
        return _Consumers(self, self.consumers)

    def i(self, tensor_idx: int = 0, producer_idx: int = 0) -> Any:
        """The tensor that is input tensor_idx of the producer."""
        return self.inputs[producer_idx].inputs[tensor_idx]

    def o(self, consumer_idx: int = 0, tensor_idx: int = 0) -> Any:
        """The tensor that is output tensor_idx of a consumer."""
        return self.outputs[consumer_idx].outputs[tensor_idx]

    # ---- values ----

    def _any_data(self) -> Optional[int]:
        with self._box.context._lock:
            value = self._pointer()
            return lib.surg_value_initializer(value) or lib.surg_value_constant(value)

    @property
    def data(self) -> Optional[Data]:
        """The constant's elements, which are not read by this; None if it has none."""
        return data_of(self._box, self._any_data())

    @property
    def values(self) -> Any:
        """The elements as a read-only array; None if the tensor is not constant."""
        if self._box is None:
            return self._spec['values']
        data = self.data
        return data.values if data is not None else None

    @values.setter
    def values(self, values: Any) -> None:
        self.to_constant(values)

    def to_constant(self, values: Any, dtype: Any = None) -> 'Tensor':
        """Makes the tensor a constant with these values: it loses its producer or its place among
        the inputs."""
        if self._box is None:
            kind, shape, _ = elements(values, dtype)
            self._spec.update(values=values, dtype=kind, shape=tuple(shape))
            return self
        box = self._box
        with box.context._lock:
            value = self._pointer()
            new = make_data(box, values, dtype)
            producer = lib.surg_value_producer(value, None)
            if producer:
                box.context.do(lib.surg_value_become_constant, value, new)
                box.unsorted = True
                self._follow_constant(value)
            else:
                box.context.do(lib.surg_value_set_initializer, value, new)
                graph = self.graph
                if lib.surg_value_is_input(value):
                    graph.inputs.remove(self)
        return self

    def _follow_constant(self, value):
        """After a producer was replaced by a constant: its value may be a new one."""
        if lib.surg_value_erased(value):
            name = lib.surg_value_name(value)
            graph = lib.surg_value_graph(value)
            rebind(self, self._box, lib.surg_graph_find_value(graph, name))

    def to_variable(self, dtype: Any = None, shape: Optional[Sequence[Dim]] = None) -> 'Tensor':
        """Makes a constant a tensor without a producer, of this type or of its own; its place is
        then among the inputs, or as the output of a node. The type of other tensors is set."""
        kind = to_dtype(dtype) if dtype is not None else self.elem_type
        dims = check_shape(shape) if shape is not None else self.shape
        if self._box is None:
            self._spec.update(values=None, dtype=kind, shape=dims)
            return self
        if self._any_data():
            self.detach()
        if kind:
            self._declare(kind, dims)
        return self

    # ---- edits ----

    def detach(self) -> 'Tensor':
        """Disconnects the tensor from its producer, its values or its place among the inputs. It
        keeps its name and consumers, and needs a new producer or place before the model is saved:
        a node with this tensor among its outputs, or the list of inputs."""
        box = self._box
        with box.context._lock:
            value = self._pointer()
            if value in box.detached:
                return self
            graph = lib.surg_value_graph(value)
            stand_in = box.context.make(
                lib.surg_graph_add_node, graph, lib.surg_graph_first_node(graph), DETACHED,
                b'Detached', 1)
            if lib.surg_value_producer(value, None):
                box.context.do(lib.surg_node_take_output, stand_in, 0, value)
            else:
                self._leave(value, stand_in)
            box.detached[self._ptr] = stand_in
        return self

    def _leave(self, value, stand_in):
        """Moves the consumers of an input or initializer to the output of a new node."""
        box, context = self._box, self._box.context
        new = lib.surg_node_output(stand_in, 0)
        name = lib.surg_value_name(value)
        kind = lib.surg_value_declared_type(value)
        move_uses(box, value, new)
        graph = lib.surg_value_graph(value)
        if lib.surg_value_is_initializer(value):
            context.do(lib.surg_value_erase_initializer, value)
        for i in range(lib.surg_graph_input_count(graph)):
            if lib.surg_graph_input(graph, i) == value:
                context.do(lib.surg_graph_remove_input, graph, i)
                break
        if lib.surg_value_name(new) != name:
            context.do(lib.surg_value_rename, new, name)
        if kind:
            context.do(lib.surg_value_set_declared_type, new, kind)
        rebind(self, box, new)

    def replace_by(self, other: 'Tensor') -> None:
        """Lets every consumer and output read another tensor instead."""
        box = self._box
        with box.context._lock:
            value, by = self._pointer(), pointer_of(other, Tensor)
            box.unsorted = True
            move_uses(box, value, by)

    def __repr__(self) -> str:
        if self._box is not None and (self._box.pointer is None or
                                      lib.surg_value_erased(self._ptr)):
            return '<Tensor, removed>'
        kind = self.elem_type.name.lower() if self.elem_type else '?'
        shape = self.shape
        dims = '' if shape is None else '[%s]' % ', '.join('?' if d is None else str(d)
                                                            for d in shape)
        return '<Tensor %s: %s%s%s>' % (self.name, kind, dims,
                                        ', constant' if self.is_constant else '')


def _compare_nodes(a, b):
    """Order of nodes: that of their graph; nodes of other graphs last."""
    if lib.surg_node_before(a, b):
        return -1
    return 1 if lib.surg_node_before(b, a) else 0


def move_uses(box: Box, old: int, by: int) -> None:
    """Replaces a value in every use. An output keeps its name where the library permits it."""
    if not lib.surg_value_first_use(old):
        return
    can = lib.surg_value_can_replace(old, by)
    if can in (_c.surg_replace.YES, _c.surg_replace.BY_LABEL):
        box.context.do(lib.surg_value_replace, old, by)
        return
    while True:  # node inputs first; each use that is set leaves the list
        use = lib.surg_value_first_use(old)
        while use and lib.surg_use_get_kind(use) != _c.surg_use_kind.NODE:
            use = lib.surg_use_next(use)
        if not use:
            break
        box.context.do(lib.surg_node_set_input, lib.surg_use_node(use), lib.surg_use_index(use), by)
    while True:
        use = lib.surg_value_first_use(old)
        while use and lib.surg_use_get_kind(use) != _c.surg_use_kind.OUTPUT:
            use = lib.surg_use_next(use)
        if not use:
            break
        box.context.do(lib.surg_graph_set_output, lib.surg_use_graph(use), lib.surg_use_index(use),
                       by)


def new_tensor(name: str, dtype: Any, shape: Any, values: Any) -> Tensor:
    out = Tensor.__new__(Tensor)
    out._box = out._ptr = None
    out._spec = {'name': name, 'dtype': None if dtype is None else to_dtype(dtype),
                 'shape': check_shape(shape), 'values': values}
    return out


class _Kind(type):
    """isinstance(t, Constant) depends on what the tensor is now."""

    def __instancecheck__(cls, tensor):
        return isinstance(tensor, Tensor) and tensor.is_constant == cls.constant


class Variable(metaclass=_Kind):
    """Variable(name, dtype, shape) is a new tensor without values: an input, or what a node
    computes."""
    constant = False

    def __new__(cls, name: str, dtype: Any = None, shape: Optional[Sequence[Dim]] = None) -> Tensor:
        return new_tensor(name, dtype, shape, None)

    @staticmethod
    def empty() -> None:
        """An absent input or output."""
        return None


class Constant(metaclass=_Kind):
    """Constant(name, values) is a new tensor with values: an array of numpy, a number, or nested
    lists (int64 or float32). dtype selects another element type."""
    constant = True

    def __new__(cls, name: str, values: Any, dtype: Any = None) -> Tensor:
        out = new_tensor(name, None, None, values)
        kind, shape, _ = elements(values, dtype) if not isinstance(values, Data) else \
            (values.elem_type, values.shape, None)
        out._spec.update(dtype=kind, shape=tuple(shape))
        return out
