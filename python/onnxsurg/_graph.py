# SPDX-License-Identifier: Apache-2.0
"""Graphs: the main graph, graphs of attributes, and bodies of functions."""
import ctypes as C
from collections.abc import MutableSequence
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from . import _c, errors
from ._context import encode
from ._data import Data, make_data
from ._handle import DETACHED, Handle, rebind, wrap
from ._lib import lib
from ._node import Node, _List, _Outputs, bind_output
from ._tensor import Tensor, move_uses
from ._types import make_tensor_type, numpy


class _Inputs(_List):
    """Inputs of a graph. A tensor that is put in here loses its producer or values; one that is
    removed and still has consumers needs a producer (see Tensor.detach)."""

    __slots__ = ()

    def _read(self):
        graph = self._owner
        with graph._box.context._lock:
            g = graph._pointer()
            return [wrap(graph._box, Tensor, lib.surg_graph_input(g, i))
                    for i in range(lib.surg_graph_input_count(g))]

    def _assign(self, new):
        graph = self._owner
        with graph._box.context._lock:
            old, new = self._read(), list(new)
            _distinct(new, 'input')
            for t in old:
                if t not in new:
                    self._remove(t)
            for t in new:
                if t not in old:
                    self._append(t)
            _reorder(graph, False, [t._ptr for t in self._read()], [t._ptr for t in new])

    def _remove(self, tensor):
        graph = self._owner
        do, g = graph._box.context.do, graph._pointer()
        if lib.surg_value_use_count(tensor._ptr, 1) and \
                not lib.surg_value_is_initializer(tensor._ptr):
            tensor.detach()
            return
        for i in range(lib.surg_graph_input_count(g)):
            if lib.surg_graph_input(g, i) == tensor._ptr:
                do(lib.surg_graph_remove_input, g, i)

    def _append(self, tensor):
        graph, box = self._owner, self._owner._box
        if not isinstance(tensor, Tensor):
            raise TypeError('an input is a tensor, not %s' % type(tensor).__name__)
        g, make = graph._pointer(), box.context.make
        if tensor._box is None:
            spec = tensor._spec
            kind = make_tensor_type(box, int(spec['dtype']), spec['shape']) if spec['dtype'] \
                else None
            value = make(lib.surg_graph_add_input, g, encode(spec['name']), kind)
            values = spec['values']
            rebind(tensor, box, value)
            if values is not None:
                box.context.do(lib.surg_value_set_initializer, value,
                               make_data(box, values, spec['dtype']))
            return
        graph._value(tensor)
        old = tensor._ptr
        kind = lib.surg_value_declared_type(old) or lib.surg_value_type(old)
        data = tensor._any_data()
        if not kind and data:
            kind = make_tensor_type(box, lib.surg_tensor_dtype(data), tensor.shape)
        name = lib.surg_value_name(old)
        tensor.detach()
        old = tensor._ptr
        stand_in = box.detached.pop(old)
        value = make(lib.surg_graph_add_input, g, b'', kind)
        move_uses(box, old, value)
        box.context.do(lib.surg_node_erase, stand_in)
        if lib.surg_value_name(value) != name:
            box.context.do(lib.surg_value_rename, value, name)
        rebind(tensor, box, value)


class _GraphOutputs(_List):
    """Outputs of a graph."""

    __slots__ = ()

    def _read(self):
        graph = self._owner
        with graph._box.context._lock:
            g = graph._pointer()
            return [wrap(graph._box, Tensor, lib.surg_graph_output(g, i))
                    for i in range(lib.surg_graph_output_count(g))]

    def _assign(self, new):
        graph, box = self._owner, self._owner._box
        with box.context._lock:
            g, do = graph._pointer(), box.context.do
            new = list(new)
            values = [graph._value(t) for t in new]
            if not all(values):
                raise TypeError('an output is a tensor, not None')
            _distinct(new, 'output')
            old = self._read()
            types = {t._ptr: lib.surg_graph_output_type(g, i) for i, t in enumerate(old)}
            kept: List[Any] = []
            for i in reversed(range(len(old))):
                if old[i]._ptr not in values or old[i]._ptr in kept:
                    do(lib.surg_graph_remove_output, g, i)
                else:
                    kept.append(old[i]._ptr)
            for v in values:
                if v in kept:
                    continue
                kind = types.get(v) or lib.surg_value_declared_type(v) or lib.surg_value_type(v)
                do(lib.surg_graph_add_output, g, v, kind)
                if lib.surg_value_has_info(v) and lib.surg_value_graph(v) == g:
                    do(lib.surg_value_drop_info, v)  # the entry of the output has the type
            _reorder(graph, True, [t._ptr for t in self._read()], values)


def _reorder(graph, outputs, now, wanted):
    """Puts inputs or outputs into another order; both are lists of pointers."""
    if now == wanted:
        return
    place = {p: i for i, p in enumerate(now)}
    order = (C.c_size_t * len(wanted))(*[place[p] for p in wanted])
    graph._do(lib.surg_graph_reorder, outputs, order, len(wanted))


def _distinct(tensors, what):
    for i, t in enumerate(tensors):
        if t in tensors[:i]:
            raise errors.UsageError('onnxsurg: error: tensor "%s" is %s twice'
                                    % (getattr(t, 'name', t), what))


class Nodes(MutableSequence):
    """Nodes of a graph, in order. Iteration permits edits of the current node."""

    __slots__ = ('_graph',)

    def __init__(self, graph):
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        graph = self._graph
        box, lock = graph._box, graph._box.context._lock
        with lock:
            n = lib.surg_graph_first_node(graph._pointer())
        while n:
            with lock:
                graph._pointer()
                following = lib.surg_node_next(n)
                hidden = box.detached and lib.surg_node_domain(n) == DETACHED
                node = None if hidden else wrap(box, Node, n)
            if node is not None:
                yield node
            n = following
            if n and lib.surg_node_erased(n):
                raise RuntimeError('the node after the current one was removed during iteration; '
                                   'iterate over list(graph.nodes)')

    def __reversed__(self) -> Iterator[Node]:
        return reversed(list(self))

    def __len__(self):
        box = self._graph._box
        n = self._graph._get(lib.surg_graph_node_count)
        if box.detached:
            g = self._graph._ptr
            n -= sum(lib.surg_node_graph(d) == g and not lib.surg_node_erased(d)
                     for d in box.detached.values())
        return n

    def __getitem__(self, i):
        if isinstance(i, slice):
            return list(self)[i]
        n = len(self)
        if not -n <= i < n:
            raise IndexError('there are %d nodes' % n)
        i %= n
        for k, node in enumerate(self):
            if k == i:
                return node
        raise IndexError(i)

    def __setitem__(self, i, node):
        self.insert(i, node)
        self[i + 1 if i >= 0 else i].erase()

    def __delitem__(self, i):
        found = self[i]
        for node in found if isinstance(found, list) else [found]:
            node.erase()

    def __contains__(self, node):
        return isinstance(node, Node) and node._box is self._graph._box and \
            not lib.surg_node_erased(node._ptr) and node.graph == self._graph

    def insert(self, i, node):
        """Puts a new node before node i, or moves one of the graph there."""
        nodes = list(self)
        before = nodes[i] if -len(nodes) <= i < len(nodes) else None
        if node._box is None:
            self._graph._add(node, before)
        else:
            node.move_before(before)

    def append(self, node):
        if node._box is None:
            self._graph._add(node, None)
        else:
            self._graph._own(node)
            node.move_before(None)

    def extend(self, nodes):
        self._graph._add_all(list(nodes))

    def remove(self, node):
        if node not in self:
            raise ValueError('the node is not in the graph')
        node.erase()

    def clear(self):
        for node in list(self):
            node.erase()

    def __eq__(self, other):
        return isinstance(other, (list, tuple, Nodes)) and list(self) == list(other)

    def __repr__(self):
        return repr(list(self))


class Graph(Handle):
    """A graph. Graph(nodes, inputs, outputs, opset=N) is the main graph of a new model."""

    __slots__ = ()

    _registered: Dict[str, Dict[Optional[int], Callable]] = {}

    def __new__(cls, nodes: Sequence[Node] = (), inputs: Sequence[Tensor] = (),
                outputs: Sequence[Tensor] = (), name: Optional[str] = None,
                opset: Optional[int] = None, import_domains: Optional[Dict[str, int]] = None,
                ir_version: Optional[int] = None):
        from ._model import Model
        graph = Model.new(opset=opset, ir_version=ir_version).graph
        for domain, version in (import_domains or {}).items():
            graph.model.opsets[domain] = version
        if name is not None:
            graph.name = name
        graph.inputs = inputs
        graph.nodes.extend(nodes)
        graph.outputs = outputs
        return graph

    def _pointer(self) -> int:
        box = self._box
        if box.pointer is None:
            raise box.dead()
        parent = lib.surg_graph_parent_node(self._ptr)
        if parent and lib.surg_node_erased(parent):
            raise errors.Erased('onnxsurg: error: the node of the graph was removed from its model')
        return self._ptr

    # ---- what it is ----

    @property
    def model(self) -> Any:
        from ._model import model_of
        return model_of(self._box)

    @property
    def name(self) -> str:
        return self._text(lib.surg_graph_name)

    @name.setter
    def name(self, name: str) -> None:
        self._do(lib.surg_graph_set_name, encode(name))

    @property
    def kind(self) -> str:
        """"main", "subgraph" or "function"."""
        return _c.surg_graph_kind(self._get(lib.surg_graph_get_kind)).name.lower()

    @property
    def opset(self) -> int:
        """The version of the default domain that applies in the graph."""
        return self._get(lib.surg_graph_opset, b'')

    @opset.setter
    def opset(self, version: int) -> None:
        function = self.function
        (self.model if function is None else function).opsets[''] = version

    @property
    def function(self) -> Any:
        from ._model import Function
        return wrap(self._box, Function, self._get(lib.surg_graph_function))

    @property
    def functions(self) -> List[Any]:
        """The functions of the model."""
        return self.model.functions

    @property
    def parent(self) -> Optional['Graph']:
        """The graph of the node whose attribute this graph is, or None."""
        return wrap(self._box, Graph, self._get(lib.surg_graph_parent))

    @property
    def parent_node(self) -> Optional[Node]:
        return wrap(self._box, Node, self._get(lib.surg_graph_parent_node))

    # ---- content ----

    @property
    def nodes(self) -> Nodes:
        return Nodes(self)

    @nodes.setter
    def nodes(self, nodes: Sequence[Node]) -> None:
        nodes = list(nodes)
        for node in list(self.nodes):
            if node not in nodes:
                node.erase()
        self.nodes.extend(n for n in nodes if n._box is None)
        for node in nodes:
            node.move_before(None)

    @property
    def inputs(self) -> _Inputs:
        return _Inputs(self)

    @inputs.setter
    def inputs(self, tensors: Sequence[Tensor]) -> None:
        _Inputs(self)._assign(list(tensors))

    @property
    def outputs(self) -> _GraphOutputs:
        return _GraphOutputs(self)

    @outputs.setter
    def outputs(self, tensors: Sequence[Tensor]) -> None:
        _GraphOutputs(self)._assign(list(tensors))

    @property
    def initializers(self) -> List[Tensor]:
        """Tensors with an initializer, in the order of the file."""
        return self._values(lib.surg_graph_next_initializer)

    def tensors(self, check_duplicates: bool = False) -> Dict[str, Tensor]:
        """All tensors of the graph by name; those of subgraphs are not in it."""
        return {t.name: t for t in self._values(lib.surg_graph_next_value)}

    def _values(self, following) -> List[Tensor]:
        box = self._box
        with box.context._lock:
            g, out = self._pointer(), []
            v = following(g, None)
            while v:
                out.append(wrap(box, Tensor, v))
                v = following(g, v)
            return out

    def tensor(self, name: str) -> Tensor:
        """The tensor with this name here or in an outer graph. KeyError if there is none."""
        v = self._get(lib.surg_graph_lookup_value, encode(name))
        if not v:
            raise KeyError(name)
        return wrap(self._box, Tensor, v)

    def node(self, name: str) -> Node:
        """The first node with this name. KeyError if there is none."""
        n = self._get(lib.surg_graph_find_node, encode(name))
        if not n:
            raise KeyError(name)
        return wrap(self._box, Node, n)

    def subgraphs(self, recursive: bool = False) -> Iterator['Graph']:
        """The graphs of attributes of nodes."""
        for node in self.nodes:
            for graph in node.subgraphs():
                yield graph
                if recursive:
                    yield from graph.subgraphs(True)

    def unique_name(self, stem: str) -> str:
        """A name that no value of the model has."""
        return self._text(lib.surg_graph_fresh_name, encode(stem))

    # ---- building ----

    def _own(self, item):
        if item._box is not self._box:
            raise errors.UsageError('onnxsurg: error: the %s "%s" belongs to another model'
                                    % (type(item).__name__.lower(), item.name))

    def _value(self, item: Any) -> Optional[int]:
        """The value of something that may be an input: a tensor, the name of one, numbers."""
        if item is None:
            return None
        if isinstance(item, str):
            try:
                return self.tensor(item)._pointer()
            except KeyError:
                raise errors.UsageError('onnxsurg: error: there is no tensor "%s"' % item) from None
        if isinstance(item, Tensor):
            if item._box is None:
                return self._bind(item)
            self._own(item)
            return item._pointer()
        if isinstance(item, (bool, int, float, list, tuple, Data)) or \
                hasattr(item, '__array__') and numpy() is not None:
            data = make_data(self._box, item)
            return self._box.context.make(lib.surg_graph_constant, self._pointer(), None, None,
                                          data)
        raise TypeError('%s is not a tensor' % type(item).__name__)

    def _bind(self, tensor: Tensor) -> int:
        """Makes an unbound tensor one of this graph: a constant, or one without a producer."""
        box, spec, g = self._box, tensor._spec, self._pointer()
        if spec['values'] is None:
            stand_in = box.context.make(lib.surg_graph_add_node, g, lib.surg_graph_first_node(g),
                                        DETACHED, b'Detached', 1)
            value = lib.surg_node_output(stand_in, 0)
            try:
                bind_output(self, tensor, value)
            except errors.Error:
                box.context.do(lib.surg_node_erase, stand_in)
                raise
            box.detached[tensor._ptr] = stand_in
            return tensor._ptr
        name = encode(spec['name']) if spec['name'] else None
        if name and lib.surg_graph_lookup_value(g, name):
            raise errors.UsageError('onnxsurg: error: the name "%s" is in use' % spec['name'])
        data = make_data(box, spec['values'], spec['dtype'])
        rebind(tensor, box, box.context.make(lib.surg_graph_constant, g, None, name, data))
        return tensor._ptr

    def _add(self, node: Node, before: Optional[Node]) -> Node:
        """Makes an unbound node one of this graph."""
        box, spec = self._box, node._spec
        with box.context._lock:
            at = before._pointer() if before is not None else None
            inputs = [self._value(t) for t in spec['inputs']]
            n = box.context.make(lib.surg_graph_add_node, self._pointer(), at,
                                 encode(spec['domain']), encode(spec['op']), 0)
            rebind(node, box, n)
            box.unsorted = True
            try:
                if spec['name']:
                    node.name = spec['name']
                for i, v in enumerate(inputs):
                    box.context.do(lib.surg_node_set_input, n, i, v)
                _Outputs(node)._assign(spec['outputs'])
                for name, value in spec['attrs'].items():
                    node.attrs[name] = value
            except BaseException:
                node.erase()
                raise
            return node

    def _add_all(self, nodes: List[Node]) -> None:
        for node in nodes:
            self._add(node, None) if node._box is None else self._own(node)

    def layer(self, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), *, op: str,
              attrs: Optional[Dict[str, Any]] = None, name: Optional[str] = None,
              domain: Optional[str] = None, before: Optional[Node] = None) -> List[Tensor]:
        """Adds a node and returns its outputs. inputs: tensors, names of tensors, None for an
        absent one, or numbers, lists and arrays, which become constants. outputs: stems of new
        names, or tensors, which lose their former producer; by default one new tensor."""
        box = self._box
        with box.context._lock:
            made = []
            for item in outputs or ['%s_out' % op.lower()]:
                if isinstance(item, str):
                    item = Tensor.__new__(Tensor)
                    item._box = item._ptr = None
                    item._spec = {'name': '', 'dtype': None, 'shape': None, 'values': None}
                made.append(item)
            node = Node(op, name, attrs, inputs, made, domain)
            self._add(node, before)
            for stem, tensor in zip(outputs or ['%s_out' % op.lower()], made):
                if isinstance(stem, str):
                    taken = lib.surg_graph_lookup_value(self._pointer(), encode(stem))
                    tensor.name = self.unique_name(stem) if taken else stem
            return made

    @classmethod
    def register(cls, opsets: Optional[Sequence[int]] = None) -> Callable[[Callable], Callable]:
        """A decorator: makes a function a method of all graphs, or of those of these opsets."""
        def decorate(function):
            if hasattr(Graph, function.__name__):
                raise errors.UsageError('onnxsurg: error: Graph has a member "%s"'
                                        % function.__name__)
            table = cls._registered.setdefault(function.__name__, {})
            for opset in opsets if opsets is not None else [None]:
                table[opset] = function
            return function
        return decorate

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(name)
        table = Graph._registered.get(name)
        if table is not None:
            function = table.get(self.opset, table.get(None))
            if function is None:
                raise AttributeError('"%s" is registered for opsets %s, not for %d' % (
                    name, ', '.join(str(o) for o in table), self.opset))
            return lambda *arguments, **named: function(self, *arguments, **named)
        for f in self.functions:
            if f.name == name:
                return lambda *arguments, **named: self._call(f, *arguments, **named)
        raise AttributeError('a graph has no member "%s", and the model no such function' % name)

    def _call(self, function, inputs=(), outputs=(), **named):
        """A node that calls a function of the model."""
        count = len(function.graph.outputs)
        stems = ['%s_%s' % (function.name, t.name) for t in function.graph.outputs]
        domain = function.domain
        if domain and domain not in self.model.opsets:
            self.model.opsets[domain] = 1
        return self.layer(inputs, outputs or stems[:count], op=function.name, domain=domain,
                          **named)

    # ---- whole graphs ----

    def toposort(self) -> 'Graph':
        """Sorts the nodes; a cycle raises."""
        self._do(lib.surg_graph_toposort, None)
        return self

    def cleanup(self) -> 'Graph':
        """Removes unused nodes, weights and functions of the whole model."""
        self.model._clean()
        return self

    def fold_constants(self, max_growth: Optional[int] = None) -> 'Graph':
        """Computes what depends on constants only, in the whole model. The nodes that are unused
        then stay until cleanup(). max_growth: bytes that a result may be larger than what it
        replaces."""
        options = '' if max_growth is None else '{max-growth=%d}' % max_growth
        self.model.run('fold' + options)
        return self

    def matches(self, rule: str) -> List[Node]:
        """The nodes at which the pattern of a rewrite rule matches (doc/rules.md): each is the last
        node of the pattern. Nothing is changed."""
        return self.model._matches(rule, self)

    def __repr__(self) -> str:
        if self._box.pointer is None:
            return '<Graph, closed>'
        return '<Graph %s: %d nodes>' % (self.name, len(self.nodes))
