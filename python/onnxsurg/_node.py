# SPDX-License-Identifier: Apache-2.0
"""Nodes, with their lists of inputs and outputs and their attributes."""
import ctypes as C
from collections.abc import MutableMapping, MutableSequence
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from . import _c, errors
from ._context import Box, counted, decode, encode
from ._data import Data, data_of, make_data
from ._handle import Handle, erased, pointer_of, rebind, wrap
from ._lib import lib
from ._tensor import Tensor
from ._types import make_type, numpy, read_type, to_dtype, Type

Kind = _c.surg_attr_kind


class AttributeRef(NamedTuple):
    """In a function: the value of an attribute is that of an attribute of the function."""
    name: str
    type: Any = None


class _List(MutableSequence):
    """A list of the model: every change is an edit, by `_assign`."""

    __slots__ = ('_owner',)

    def __init__(self, owner):
        self._owner = owner

    def _read(self) -> List[Any]:
        raise NotImplementedError

    def _assign(self, new: List[Any]) -> None:
        raise NotImplementedError

    def __len__(self):
        return len(self._read())

    def __getitem__(self, i):
        return self._read()[i]

    def __setitem__(self, i, value):
        new = self._read()
        new[i] = value
        self._assign(new)

    def __delitem__(self, i):
        new = self._read()
        del new[i]
        self._assign(new)

    def insert(self, i, value):
        new = self._read()
        new.insert(i, value)
        self._assign(new)

    def clear(self):
        self._assign([])

    def reverse(self):
        self._assign(self._read()[::-1])

    def extend(self, values):
        self._assign(self._read() + list(values))

    def __iter__(self):
        return iter(self._read())

    def __contains__(self, value):
        return value in self._read()

    def __eq__(self, other):
        return isinstance(other, (list, tuple, _List)) and self._read() == list(other)

    def __add__(self, other):
        return self._read() + list(other)

    def __repr__(self):
        return repr(self._read())


class _Inputs(_List):
    """Inputs of a node; None is an absent one."""

    __slots__ = ()

    def _read(self):
        node = self._owner
        with node._box.context._lock:
            n = node._pointer()
            return [wrap(node._box, Tensor, lib.surg_node_input(n, i))
                    for i in range(lib.surg_node_input_count(n))]

    def _assign(self, new):
        node = self._owner
        with node._box.context._lock:
            n = node._pointer()
            graph = node.graph
            values = [graph._value(t) for t in new]
            while values and not values[-1]:
                values.pop()
            for i, v in enumerate(values):
                if lib.surg_node_input(n, i) != v or i >= lib.surg_node_input_count(n):
                    node._box.context.do(lib.surg_node_set_input, n, i, v)
            if lib.surg_node_input_count(n) > len(values):
                node._box.context.do(lib.surg_node_trim_inputs, n, len(values))
            node._box.unsorted = True


class _Outputs(_List):
    """Outputs of a node; None is an absent one. A tensor that is put in here loses its former
    producer; one that is removed and still has consumers needs another (see Tensor.detach)."""

    __slots__ = ()

    def _read(self):
        node = self._owner
        with node._box.context._lock:
            n = node._pointer()
            return [wrap(node._box, Tensor, lib.surg_node_output(n, i))
                    for i in range(lib.surg_node_output_count(n))]

    def _assign(self, new):
        node = self._owner
        box = node._box
        with box.context._lock:
            new = list(new)
            while new and new[-1] is None:
                new.pop()
            n = node._pointer()
            for i, t in enumerate(self._read()):
                if t is not None and (i >= len(new) or new[i] != t):
                    if lib.surg_value_use_count(t._ptr, 1) or t in new:
                        t.detach()
            for i, t in enumerate(new):
                self._put(n, i, t)
            while lib.surg_node_output_count(n) > len(new):
                last = lib.surg_node_output_count(n) - 1
                box.context.do(lib.surg_node_drop_output, n, last)
            box.unsorted = True

    def _put(self, n, i, tensor):
        node, box = self._owner, self._owner._box
        present = lib.surg_node_output(n, i)
        if tensor is None:
            if present:
                box.context.do(lib.surg_node_drop_output, n, i)
        elif not isinstance(tensor, Tensor):
            raise TypeError('an output is a tensor or None, not %s' % type(tensor).__name__)
        elif tensor._box is None:
            if present:
                box.context.do(lib.surg_node_drop_output, n, i)
            bind_output(node.graph, tensor, box.context.make(lib.surg_node_add_output, n, i))
        else:
            node.graph._value(tensor)
            if tensor._ptr != present:
                if not lib.surg_value_producer(tensor._ptr, None):
                    tensor.detach()
                stand_in = box.detached.pop(tensor._ptr, None)
                box.context.do(lib.surg_node_take_output, n, i, tensor._ptr)
                if stand_in:
                    box.context.do(lib.surg_node_erase, stand_in)


def bind_output(graph, tensor, value):
    """Makes an unbound tensor the one of a new value."""
    box, spec = graph._box, tensor._spec
    if spec['values'] is not None:
        raise errors.UsageError('onnxsurg: error: constant "%s" cannot be the output of a node'
                                % spec['name'])
    if spec['name']:
        box.context.do(lib.surg_value_rename, value, encode(spec['name']))
    rebind(tensor, box, value)
    if spec['dtype']:
        tensor._declare(spec['dtype'], spec['shape'])


class Attributes(MutableMapping):
    """Attributes of a node, by name: int, float, str, bytes, lists of them, Data for a tensor,
    Graph, Type, AttributeRef. An array of numpy is set as a tensor, a DType or a type of numpy as
    its number. Defaults are not in it."""

    __slots__ = ('_node',)

    def __init__(self, node):
        self._node = node

    def __len__(self):
        return self._node._get(lib.surg_node_attr_count)

    def __iter__(self) -> Iterator[str]:
        with self._node._box.context._lock:
            n = self._node._pointer()
            return iter([decode(lib.surg_attr_name(lib.surg_node_attr_at(n, i)))
                         for i in range(lib.surg_node_attr_count(n))])

    def __contains__(self, name):
        return isinstance(name, str) and bool(self._node._get(lib.surg_node_attr, encode(name)))

    def __getitem__(self, name: str) -> Any:
        with self._node._box.context._lock:
            a = self._node._get(lib.surg_node_attr, encode(name))
            if not a:
                raise KeyError(name)
            return read_attribute(self._node._box, a)

    def __setitem__(self, name: str, value: Any) -> None:
        with self._node._box.context._lock:
            write_attribute(self._node, name, value)

    def __delitem__(self, name: str) -> None:
        with self._node._box.context._lock:
            if name not in self:
                raise KeyError(name)
            self._node._do(lib.surg_node_remove_attr, encode(name))

    def __repr__(self):
        return repr(dict(self))


def _text(s) -> Any:
    """A string attribute as str; as bytes if it is not UTF-8."""
    data = C.string_at(s.p, s.n) if s.n else b''
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError:
        return data


def read_attribute(box: Box, a: int) -> Any:
    """The value of an attribute of the library."""
    from ._graph import Graph
    kind, n = lib.surg_attr_get_kind(a), C.c_size_t()
    ref = lib.surg_attr_ref(a)
    if ref is not None:
        return AttributeRef(decode(ref), Kind(kind).name.lower())
    if kind == Kind.INT:
        return lib.surg_attr_int(a)
    if kind == Kind.FLOAT:
        return lib.surg_attr_float(a)
    if kind == Kind.STRING:
        return _text(lib.surg_attr_string(a))
    if kind in (Kind.INTS, Kind.FLOATS):
        read = lib.surg_attr_ints if kind == Kind.INTS else lib.surg_attr_floats
        values = read(a, C.byref(n))
        return values[:n.value] if n.value else []
    if kind == Kind.STRINGS:
        texts = lib.surg_attr_strings(a, C.byref(n))
        return [_text(texts[i]) for i in range(n.value)]
    if kind in (Kind.TENSOR, Kind.GRAPH, Kind.TYPE_PROTO):
        if kind == Kind.TYPE_PROTO:
            return read_type(box.pointer, lib.surg_attr_type(a, 0))
        return data_of(box, lib.surg_attr_tensor(a, 0)) if kind == Kind.TENSOR else \
            wrap(box, Graph, lib.surg_attr_graph(a, 0))
    read = {Kind.TENSORS: lambda i: data_of(box, lib.surg_attr_tensor(a, i)),
            Kind.GRAPHS: lambda i: wrap(box, Graph, lib.surg_attr_graph(a, i)),
            Kind.TYPE_PROTOS: lambda i: read_type(box.pointer, lib.surg_attr_type(a, i))}.get(kind)
    if read is None:
        raise errors.Unsupported('onnxsurg: error: attribute "%s" is a sparse tensor'
                                 % decode(lib.surg_attr_name(a)))
    out: List[Any] = []
    while True:
        item = read(len(out))
        if item is None:
            return out
        out.append(item)


def _schema_kind(n: int, name: bytes) -> int:
    """The kind that the schema of a node gives an attribute; 0 if unknown."""
    schema = lib.surg_node_schema(n)
    if schema:
        for i in range(lib.surg_schema_attr_count(schema)):
            if lib.surg_schema_attr_name(schema, i) == name:
                return lib.surg_schema_attr_kind(schema, i)
    return 0


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python; element types as numbers."""
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, (float, str, bytes)):
        return value
    module = numpy()
    if module is not None:
        if isinstance(value, module.generic):
            return _plain(value.item())
        if isinstance(value, module.dtype) or \
                (isinstance(value, type) and issubclass(value, (module.generic, bool, int, float))):
            return int(to_dtype(value))
    raise TypeError('%s is no value of an attribute' % type(value).__name__)


def write_attribute(node: 'Node', name: str, value: Any) -> None:
    """Sets an attribute of a node of a model."""
    from ._graph import Graph
    box, key, n = node._box, encode(name), node._pointer()
    do = box.context.do
    module = numpy()
    wanted = _schema_kind(n, key)
    if isinstance(value, AttributeRef):
        do(lib.surg_node_set_attr_ref, n, key, _ref_kind(value), encode(value.name))
    elif isinstance(value, Tensor):
        value = value.values if value._box is None else value.data
        do(lib.surg_node_set_tensor, n, key, make_data(box, value))
    elif isinstance(value, Data):
        do(lib.surg_node_set_tensor, n, key, make_data(box, value))
    elif isinstance(value, Type):
        do(lib.surg_node_set_type, n, key, make_type(box, value))
    elif isinstance(value, Graph):
        raise errors.UsageError('onnxsurg: error: a graph belongs to its node; fill the result of '
                                'node.add_graph("%s")' % name)
    elif module is not None and isinstance(value, module.ndarray) and \
            wanted not in (Kind.INTS, Kind.FLOATS, Kind.STRINGS):
        do(lib.surg_node_set_tensor, n, key, make_data(box, value))
    elif wanted == Kind.TENSOR:
        do(lib.surg_node_set_tensor, n, key, make_data(box, value))
    elif isinstance(value, (list, tuple)) or module is not None and \
            isinstance(value, module.ndarray):
        _write_list(n, do, key, [_plain(v) for v in list(value)], wanted)
    else:
        _write_scalar(n, do, key, _plain(value), wanted)


def _ref_kind(ref: 'AttributeRef') -> int:
    """The kind of attribute that a reference has: of its name ("float", "ints"), or of a type."""
    if isinstance(ref.type, str):
        try:
            return Kind[ref.type.upper()]
        except KeyError:
            raise ValueError('%r is no kind of attribute' % ref.type) from None
    known = {int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING, Tensor: Kind.TENSOR,
             List[int]: Kind.INTS, List[float]: Kind.FLOATS, List[str]: Kind.STRINGS}
    if ref.type not in known:
        raise ValueError('the reference to attribute "%s" needs a kind, such as "float"' % ref.name)
    return known[ref.type]


def _write_scalar(n, do, key, value, wanted):
    if isinstance(value, (str, bytes)):
        do(lib.surg_node_set_string, n, key, encode(value))
    elif isinstance(value, float) or wanted == Kind.FLOAT:
        do(lib.surg_node_set_float, n, key, float(value))
    else:
        if not -1 << 63 <= value < 1 << 63:
            raise ValueError('%d does not fit into 64 bits' % value)
        do(lib.surg_node_set_int, n, key, value)


def _write_list(n, do, key, values, wanted):
    if any(isinstance(v, (str, bytes)) for v in values) or wanted == Kind.STRINGS:
        if not all(isinstance(v, (str, bytes)) for v in values):
            raise TypeError('a list of strings and numbers is no value of an attribute')
        texts = [v if isinstance(v, bytes) else v.encode() for v in values]
        do(lib.surg_node_set_strings, n, key, counted(texts), len(values))
    elif any(isinstance(v, float) for v in values) or wanted == Kind.FLOATS:
        floats = (C.c_float * max(len(values), 1))(*values)
        do(lib.surg_node_set_floats, n, key, floats, len(values))
    else:
        if any(not -1 << 63 <= v < 1 << 63 for v in values):
            raise ValueError('an integer does not fit into 64 bits')
        do(lib.surg_node_set_ints, n, key, (C.c_int64 * max(len(values), 1))(*values), len(values))


class Node(Handle):
    """A node. Node(op, ...) is a new one, which belongs to a graph when it is put in
    graph.nodes."""

    __slots__ = ('_spec',)

    def __init__(self, op: str, name: Optional[str] = None, attrs: Optional[Dict[str, Any]] = None,
                 inputs: Optional[Sequence[Any]] = None, outputs: Optional[Sequence[Any]] = None,
                 domain: Optional[str] = None):
        self._box = self._ptr = None
        self._spec = {'op': op, 'name': name or '', 'attrs': dict(attrs or {}),
                      'inputs': list(inputs or ()), 'outputs': list(outputs or ()),
                      'domain': domain or ''}

    def _pointer(self) -> int:
        box = self._box
        if box is None:
            raise errors.UsageError('onnxsurg: error: the node (%s) is not in a graph yet'
                                    % self._spec['op'])
        if box.pointer is None:
            raise box.dead()
        if lib.surg_node_erased(self._ptr):
            raise erased('node', lib.surg_node_name(self._ptr).decode('utf-8', 'replace'))
        return self._ptr

    # ---- what it is ----

    @property
    def op(self) -> str:
        """The operator type."""
        return self._spec['op'] if self._box is None else self._text(lib.surg_node_op_type)

    @op.setter
    def op(self, op: str) -> None:
        if self._box is None:
            self._spec['op'] = op
        else:
            self._do(lib.surg_node_set_op, encode(self.domain), encode(op))

    @property
    def domain(self) -> str:
        return self._spec['domain'] if self._box is None else self._text(lib.surg_node_domain)

    @domain.setter
    def domain(self, domain: Optional[str]) -> None:
        if self._box is None:
            self._spec['domain'] = domain or ''
        else:
            self._do(lib.surg_node_set_op, encode(domain or ''), encode(self.op))

    @property
    def overload(self) -> str:
        return '' if self._box is None else self._text(lib.surg_node_overload)

    @property
    def name(self) -> str:
        return self._spec['name'] if self._box is None else self._text(lib.surg_node_name)

    @name.setter
    def name(self, name: str) -> None:
        if self._box is None:
            self._spec['name'] = name
        else:
            self._do(lib.surg_node_set_name, encode(name))

    @property
    def doc(self) -> str:
        """The doc_string; '' if it is absent."""
        return self._text(lib.surg_node_doc)

    @doc.setter
    def doc(self, text: Optional[str]) -> None:
        self._do(lib.surg_node_set_doc, encode(text))

    @property
    def where(self) -> str:
        """The place as messages print it: graph.node[3] "a" (Add). O(nodes before it)."""
        return self._text(lib.surg_node_where)

    @property
    def is_builtin(self) -> bool:
        """Whether it is an operator of the standard or of a known runtime."""
        return self._get(lib.surg_node_class) == _c.surg_op_class.BUILTIN

    @property
    def is_deterministic(self) -> bool:
        return not self._get(lib.surg_node_nondeterministic)

    @property
    def function(self) -> Any:
        """The function of the model that it calls, or None."""
        from ._model import Function
        return wrap(self._box, Function, self._get(lib.surg_node_function))

    @property
    def graph(self) -> Any:
        from ._graph import Graph
        return wrap(self._box, Graph, self._get(lib.surg_node_graph))

    def subgraphs(self) -> List[Any]:
        """The graphs of its attributes."""
        from ._graph import Graph
        out: List[Any] = []
        while True:
            graph = self._get(lib.surg_node_subgraph, len(out))
            if not graph:
                return out
            out.append(wrap(self._box, Graph, graph))

    # ---- connections ----

    @property
    def inputs(self) -> Any:
        return self._spec['inputs'] if self._box is None else _Inputs(self)

    @inputs.setter
    def inputs(self, values: Sequence[Any]) -> None:
        if self._box is None:
            self._spec['inputs'] = list(values)
        else:
            _Inputs(self)._assign(list(values))

    @property
    def outputs(self) -> Any:
        return self._spec['outputs'] if self._box is None else _Outputs(self)

    @outputs.setter
    def outputs(self, values: Sequence[Any]) -> None:
        if self._box is None:
            self._spec['outputs'] = list(values)
        else:
            _Outputs(self)._assign(list(values))

    def i(self, tensor_idx: int = 0, producer_idx: int = 0) -> 'Node':
        """The producer of input tensor_idx. IndexError if there is none."""
        tensor = self.inputs[tensor_idx]
        return (tensor.inputs if tensor is not None else [])[producer_idx]

    def o(self, consumer_idx: int = 0, tensor_idx: int = 0) -> 'Node':
        """Consumer number consumer_idx of output tensor_idx. IndexError if there is none."""
        tensor = self.outputs[tensor_idx]
        return (tensor.outputs if tensor is not None else [])[consumer_idx]

    # ---- attributes ----

    @property
    def attrs(self) -> Any:
        return self._spec['attrs'] if self._box is None else Attributes(self)

    @attrs.setter
    def attrs(self, values: Dict[str, Any]) -> None:
        if self._box is None:
            self._spec['attrs'] = dict(values)
            return
        mine, values = Attributes(self), dict(values)
        for name in list(mine):
            if name not in values:
                del mine[name]
        for name, value in values.items():
            mine[name] = value

    def add_graph(self, name: str, graph_name: str = '') -> Any:
        """Sets a graph attribute to a new empty graph, which is returned."""
        from ._graph import Graph
        pointer = self._make(lib.surg_node_set_graph, encode(name), encode(graph_name or name))
        return wrap(self._box, Graph, pointer)

    # ---- edits ----

    def erase(self) -> None:
        """Removes the node. Its outputs that have consumers then need another producer."""
        with self._box.context._lock:
            n = self._pointer()
            for tensor in _Outputs(self)._read():
                if tensor is not None and lib.surg_value_use_count(tensor._ptr, 1):
                    tensor.detach()
            self._box.context.do(lib.surg_node_erase, n)

    def bypass(self, tensor_idx: int = 0, output_idx: int = 0) -> None:
        """Removes the node; what reads its output reads its input instead."""
        source, old = self.inputs[tensor_idx], self.outputs[output_idx]
        if source is None:
            raise errors.UsageError('onnxsurg: error: input %d of the node is absent' % tensor_idx)
        with self._box.context._lock:
            old.replace_by(source)
            self.erase()

    def move_before(self, other: Optional['Node']) -> None:
        """Moves the node before another one of its graph; to the end for None."""
        self._box.unsorted = True
        self._do(lib.surg_node_move, pointer_of(other, Node) if other is not None else None)

    def __repr__(self) -> str:
        if self._box is not None and (self._box.pointer is None or lib.surg_node_erased(self._ptr)):
            return '<Node, removed>'
        names = [', '.join('' if t is None else t.name if isinstance(t, Tensor) else repr(t)
                           for t in part) for part in (self.inputs, self.outputs)]
        return '<Node %s%s (%s) -> %s>' % (self.op, ' "%s"' % self.name if self.name else '',
                                           names[0], names[1])
