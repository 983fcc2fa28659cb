# SPDX-License-Identifier: Apache-2.0
"""Models: reading, writing, running pipelines, and functions of models."""
import ctypes as C
import os
import time
from collections.abc import MutableMapping
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from . import _c, errors
from ._context import Box, Context, Interrupts, decode, encode
from ._graph import Graph
from ._handle import Handle, gone, rebind, wrap
from ._lib import lib
from ._node import Node, read_attribute
from ._report import Report
from ._tensor import Variable

IR_OF_OPSET = ((23, 11), (21, 10), (20, 9), (15, 8), (12, 7), (11, 6), (10, 5), (9, 4), (1, 3))
Field = _c.surg_model_field
NEWEST = 21  # opset of a new model, which current runtimes support

POLICIES = {'strict': 0, 'repair': 2, 'lenient': 3}


def model_of(box: Box) -> 'Model':
    """The one Model of a box."""
    found = box.wrappers.get('model')
    if found is None:
        found = object.__new__(Model)
        found._box = box
        found.report = None
        box.wrappers['model'] = found
    return found


class Versions(MutableMapping):
    """Opset imports of a model or function: domain to version. Version 0 or `del` removes one."""

    __slots__ = ('_owner', '_functions')

    def __init__(self, owner, functions):
        self._owner, self._functions = owner, functions

    def _all(self) -> Dict[str, int]:
        count, domain, version, _ = self._functions
        with self._owner._box.context._lock:
            return {self._owner._text(domain, i): self._owner._get(version, i)
                    for i in range(self._owner._get(count))}

    def __getitem__(self, domain):
        versions = self._all()
        if domain in ('', 'ai.onnx') and domain not in versions:
            domain = 'ai.onnx' if domain == '' else ''
        return versions[domain]

    def __setitem__(self, domain, version):
        self._owner._do(self._functions[3], encode(domain), int(version))

    def __delitem__(self, domain):
        if domain not in self:
            raise KeyError(domain)
        self[domain] = 0

    def __iter__(self):
        return iter(self._all())

    def __len__(self):
        return len(self._all())

    def __repr__(self):
        return repr(self._all())


class Function(Handle):
    """A function of a model."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self._text(lib.surg_function_name)

    @property
    def domain(self) -> str:
        return self._text(lib.surg_function_domain)

    @property
    def overload(self) -> str:
        return self._text(lib.surg_function_overload)

    @property
    def graph(self) -> Graph:
        """The body; its inputs and outputs are those of the function."""
        return wrap(self._box, Graph, self._get(lib.surg_function_graph))

    @property
    def nodes(self) -> Any:
        return self.graph.nodes

    @property
    def inputs(self) -> Any:
        return self.graph.inputs

    @property
    def outputs(self) -> Any:
        return self.graph.outputs

    @property
    def opsets(self) -> Versions:
        return Versions(self, (lib.surg_function_import_count, lib.surg_function_import_domain,
                               lib.surg_function_import_version, lib.surg_function_set_opset))

    @property
    def attrs(self) -> Dict[str, Any]:
        """The attributes that it declares, with their defaults; None if a call must set it."""
        out = {}
        with self._box.context._lock:
            f = self._pointer()
            for i in range(lib.surg_function_attr_count(f)):
                default = lib.surg_function_attr_default(f, i)
                out[decode(lib.surg_function_attr_name(f, i))] = \
                    read_attribute(self._box, default) if default else None
        return out

    @property
    def doc(self) -> str:
        """The doc_string; '' if it is absent."""
        return self._text(lib.surg_function_doc)

    @doc.setter
    def doc(self, text: Optional[str]) -> None:
        self._do(lib.surg_function_set_doc, encode(text))

    def remove(self) -> None:
        """Removes the function; its calls then have no definition."""
        self._box.context.do(lib.surg_model_remove_function, self._box.pointer, self._pointer())

    def __repr__(self) -> str:
        return '<Function %s.%s: %d nodes>' % (self.domain, self.name, len(self.nodes))


class Metadata(MutableMapping):
    """metadata_props, by key."""

    __slots__ = ('_model',)

    def __init__(self, model):
        self._model = model

    def __getitem__(self, key):
        value = self._model._text(lib.surg_model_metadata, encode(key))
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        self._model._do(lib.surg_model_set_metadata, encode(key), encode(value))

    def __delitem__(self, key):
        self[key]
        self._model._do(lib.surg_model_set_metadata, encode(key), None)

    def __iter__(self):
        return iter([self._model._text(lib.surg_model_metadata_key, i) for i in range(len(self))])

    def __len__(self):
        return self._model._get(lib.surg_model_metadata_count)

    def __contains__(self, key):
        return self._model._text(lib.surg_model_metadata, encode(key)) is not None


class Model:
    """A model of the library. See Model.load and Model.new."""

    __slots__ = ('_box', 'report', '__weakref__')
    _box: Box
    report: Any

    def __new__(cls, model: Any = None, **options: Any) -> 'Model':
        return cls.new(**options) if model is None else cls.load(model, **options)

    # ---- reading and writing ----

    @staticmethod
    def new(opset: Optional[int] = None, ir_version: Optional[int] = None,
            context: Optional[Context] = None) -> 'Model':
        """An empty model."""
        opset = NEWEST if opset is None else opset
        if ir_version is None:
            ir_version = next(ir for since, ir in IR_OF_OPSET if opset >= since or since == 1)
        context = context or Context()
        return model_of(context.own(lib.surg_model_new, context._pointer, ir_version, opset))

    @staticmethod
    def load(model: Any, *, policy: str = 'strict', external_root: Optional[str] = None,
             no_external: bool = False, freeze_inputs: bool = False, name: Optional[str] = None,
             context: Optional[Context] = None) -> 'Model':
        """Reads a model: a path, bytes, an onnx.ModelProto, or a Model, which is copied. Weights in
        data files are not read. policy "lenient" reads every well-formed file, with its defects as
        findings; "repair" cures what is unambiguous. external_root: the folder of data files;
        default: that of the file."""
        if isinstance(model, Model):
            return model.copy()
        if policy not in POLICIES:
            raise ValueError('policy is "strict", "lenient" or "repair", not %r' % policy)
        context = context or Context()
        options = _c.surg_load_options(
            size=C.sizeof(_c.surg_load_options), policy=POLICIES[policy],
            external_root=encode(os.fspath(external_root)) if external_root is not None else None,
            no_external=no_external, freeze_inputs=freeze_inputs)
        out, now = C.c_void_p(), time.time_ns()
        with context:
            if isinstance(model, (str, os.PathLike)):
                path = os.fsencode(model)
                context.do(lib.surg_model_load, context._pointer, encode(path), C.byref(options),
                           C.byref(out))
            else:
                data, keep = _bytes_of(model)
                context.do(lib.surg_model_load_memory, context._pointer, data, len(keep),
                           encode(name or 'model'), C.byref(options), C.byref(out))
            return model_of(Box(context, out.value, loaded=now))

    @staticmethod
    def parse(text: str, name: str = 'text', context: Optional[Context] = None) -> 'Model':
        """Reads a model from ONNX text (doc/text.md)."""
        context = context or Context()
        data, out = encode(text), C.c_void_p()
        with context:
            context.do(lib.surg_model_load_text, context._pointer, data, len(data), encode(name),
                       C.byref(out))
            return model_of(Box(context, out.value))

    def save(self, path: Any, *, external_data: Optional[str] = None,
             external_threshold: int = 0, fsync: bool = True, keep_defects: bool = False) -> None:
        """Writes the model. Parts that no edit changed keep their bytes, data files that the new
        place can use stay where they are. external_data: the name of a file for large weights."""
        options = _c.surg_save_options(
            size=C.sizeof(_c.surg_save_options), external_data=encode(external_data),
            external_threshold=external_threshold, no_fsync=not fsync, keep_defects=keep_defects)
        with self._box.context._lock:
            self._ready()
            self._do(lib.surg_model_save, encode(os.fsencode(path)), C.byref(options))

    def bytes(self) -> bytes:
        """The model as a file in memory."""
        with self._box.context:
            self._ready()
            out, n = C.c_void_p(), C.c_size_t()
            self._do(lib.surg_model_save_memory, C.byref(out), C.byref(n))
            try:
                return C.string_at(out.value, n.value) if n.value else b''
            finally:
                lib.surg_context_free_bytes(self._box.context._pointer, out)

    __bytes__ = bytes

    def proto(self) -> Any:
        """The model as an onnx.ModelProto. Weights in data files stay there."""
        import onnx
        out = onnx.ModelProto()
        out.ParseFromString(self.bytes())
        return out

    def text(self, strict: bool = False) -> str:
        """The model as ONNX text; strict: without the extensions of this project."""
        with self._box.context:
            self._ready()
            out, n = C.c_char_p(), C.c_size_t()
            self._do(lib.surg_model_save_text, strict, C.byref(out), C.byref(n))
            return self._box.context.take_text(C.cast(out, C.c_void_p).value)

    def copy(self) -> 'Model':
        """A copy that shares the weights."""
        with self._box.context._lock:
            self._ready(False)
            if self._box.detached:
                raise self._detached_error()
            box = self._box.context.own(lib.surg_model_clone, self._pointer())
            box.loaded = self._box.loaded
            return model_of(box)

    def close(self) -> None:
        """Frees the model now. Its nodes and tensors then raise; arrays of its weights keep their
        memory."""
        with self._box.context._lock:
            if self._box.pointer:
                self._box.retire('the model was closed')

    def __enter__(self) -> 'Model':
        return self

    def __exit__(self, *_):
        self.close()

    # ---- calls ----

    def _pointer(self) -> int:
        if self._box.pointer is None:
            raise self._box.dead()
        return self._box.pointer

    def _get(self, function, *arguments):
        with self._box.context._lock:
            return function(self._pointer(), *arguments)

    def _text(self, function, *arguments):
        return decode(self._get(function, *arguments))

    def _do(self, function, *arguments):
        with self._box.context._lock:
            return self._box.context.do(function, self._pointer(), *arguments)

    def _make(self, function, *arguments):
        with self._box.context._lock:
            return self._box.context.make(function, self._pointer(), *arguments)

    def _detached_error(self):
        value = next(iter(self._box.detached))
        name = lib.surg_value_name(value).decode('utf-8', 'replace')
        return errors.InvalidModel(
            'model: error: tensor "%s" has consumers and no producer; let a node compute it or '
            'make it an input' % name)

    def _ready(self, complete: bool = True):
        """Before the model is read as a whole: nodes in order, no tensor without a producer."""
        box = self._box
        m = self._pointer()
        if box.detached:
            gone(box)
            if complete and box.detached:
                raise self._detached_error()
        if box.unsorted:
            g = lib.surg_model_next_graph(m, None)
            while g:
                box.context.do(lib.surg_graph_toposort, g, None)
                g = lib.surg_model_next_graph(m, g)
            box.unsorted = False

    # ---- content ----

    @property
    def context(self) -> Context:
        return self._box.context

    @property
    def graph(self) -> Graph:
        """The main graph."""
        out = wrap(self._box, Graph, self._get(lib.surg_model_graph))
        self._box.wrappers['main'] = out
        return out

    def graphs(self) -> Iterator[Graph]:
        """All graphs: the main graph, bodies of functions, and graphs of attributes; outer ones
        first."""
        g = self._get(lib.surg_model_next_graph, None)
        while g:
            yield wrap(self._box, Graph, g)
            g = self._get(lib.surg_model_next_graph, g)

    def nodes(self) -> Iterator[Node]:
        """The nodes of all graphs."""
        for graph in self.graphs():
            yield from graph.nodes

    def find_node(self, text: str) -> Node:
        """The node of this name in any graph, or at the place that messages print
        (`graph.node[5]`). LookupError if there is none."""
        n = self._get(lib.surg_model_find_node, encode(text), None)
        if not n:
            raise errors.NotFound('%s: error: there is no node "%s"' % (self.path, text))
        return wrap(self._box, Node, n)

    @property
    def path(self) -> str:
        """The file it was loaded from; otherwise "model"."""
        return self._text(lib.surg_model_path)

    @property
    def ir_version(self) -> int:
        return self._get(lib.surg_model_ir_version)

    @ir_version.setter
    def ir_version(self, version: int) -> None:
        self._do(lib.surg_model_set_ir_version, int(version))

    @property
    def opset(self) -> int:
        """The version of the default domain. Setting it converts nothing; see convert."""
        return self._get(lib.surg_model_opset, b'')

    @opset.setter
    def opset(self, version: int) -> None:
        self.opsets[''] = version

    @property
    def opsets(self) -> Versions:
        """The imports: domain to version. Setting one converts nothing."""
        return Versions(self, (lib.surg_model_import_count, lib.surg_model_import_domain,
                               lib.surg_model_import_version, lib.surg_model_set_opset))

    @property
    def metadata(self) -> Metadata:
        return Metadata(self)

    def _field(self, field) -> str:
        return self._text(lib.surg_model_text, field)

    def _set_field(self, field, text: Optional[str]) -> None:
        self._do(lib.surg_model_set_text, field, encode(text))

    @property
    def doc(self) -> str:
        """The doc_string; '' if it is absent."""
        return self._field(Field.DOC)

    @doc.setter
    def doc(self, text: Optional[str]) -> None:
        self._set_field(Field.DOC, text)

    @property
    def producer(self) -> str:
        """producer_name."""
        return self._field(Field.PRODUCER)

    @producer.setter
    def producer(self, text: Optional[str]) -> None:
        self._set_field(Field.PRODUCER, text)

    @property
    def producer_version(self) -> str:
        return self._field(Field.PRODUCER_VERSION)

    @producer_version.setter
    def producer_version(self, text: Optional[str]) -> None:
        self._set_field(Field.PRODUCER_VERSION, text)

    @property
    def functions(self) -> List[Function]:
        with self._box.context._lock:
            return [wrap(self._box, Function, self._get(lib.surg_model_function, i))
                    for i in range(self._get(lib.surg_model_function_count))]

    def function(self, name: str, domain: Optional[str] = None) -> Function:
        """The function of this name. KeyError if there is none."""
        for f in self.functions:
            if f.name == name and domain in (None, f.domain):
                return f
        raise KeyError(name)

    def add_function(self, name: str, *, domain: str = 'local', overload: str = '',
                     inputs: Sequence[Any] = (), attrs: Optional[Dict[str, Any]] = None,
                     opsets: Optional[Dict[str, int]] = None) -> Function:
        """Adds a function with an empty body; add nodes and outputs to its `graph`. inputs:
        tensors or names. attrs: the attributes that it declares, with their defaults; None if a
        call must set one. opsets: its imports (default: those of the model). A node in the body
        refers to an attribute by AttributeRef."""
        box = self._box
        with box.context._lock:
            pointer = self._make(lib.surg_model_add_function, encode(domain), encode(name),
                                 encode(overload) or None)
            f = wrap(box, Function, pointer)
            for d, version in (opsets or self.opsets).items():
                f.opsets[d] = version
            if domain not in self.opsets:
                self.opsets[domain] = 1
            f.graph.inputs = [Variable(t) if isinstance(t, str) else t for t in inputs]
            self._declare_attributes(f, attrs or {})
            return f

    @staticmethod
    def _declare_attributes(f: Function, attrs: Dict[str, Any]) -> None:
        context, pointer = f._box.context, f._pointer()
        for name, default in attrs.items():
            if default is None:
                context.do(lib.surg_function_add_attr, pointer, encode(name))
        given = {k: v for k, v in attrs.items() if v is not None}
        if given:
            # Values of attributes are those of a node.
            node = Node('Defaults', attrs=given)
            f.graph.nodes.append(node)
            try:
                for name in given:
                    a = lib.surg_node_attr(node._pointer(), encode(name))
                    context.do(lib.surg_function_add_default, pointer, a)
            finally:
                node.erase()

    def add_functions(self, text: str) -> List[Function]:
        """Adds functions in ONNX text: `<domain: "d", opset_import: ["" : 17]> F (x) => (y) {...}`.
        """
        before = self._get(lib.surg_model_function_count)
        head = '<ir_version: %d, opset_import: [%s]>\nempty () => () {\n}\n' % (
            self.ir_version, ', '.join('"%s" : %d' % v for v in self.opsets.items()))
        other = Model.parse(head + text, 'functions', self._box.context)
        self.merge(other)
        return self.functions[before:]

    @property
    def epoch(self) -> int:
        """Number of edits since the load: equal numbers mean that nothing changed."""
        return self._get(lib.surg_model_epoch)

    # ---- whole models ----

    def infer(self) -> 'Model':
        """Infers types and shapes (Tensor.inferred_type)."""
        with self._box.context._lock:
            self._ready()
            self._do(lib.surg_model_infer)
        return self

    def verify_structure(self) -> None:
        """Raises if the graph is inconsistent. For tests of passes."""
        with self._box.context._lock:
            self._ready()
            self._do(lib.surg_model_verify)

    def merge(self, other: 'Model', *, connect: Optional[Dict[str, str]] = None,
              prefix: Optional[str] = None, keep_outputs: bool = False) -> None:
        """Adds another model: its nodes, weights, functions, unconnected inputs, and outputs.
        connect: names of values of this model to inputs of the other that they replace. prefix: of
        all names of the other one."""
        with self._box.context._lock:
            other = into_context(other, self._box.context).copy()  # it is left with the prefix
            self._ready()
            pairs = list((connect or {}).items())
            arrays = [(C.c_char_p * max(len(pairs), 1))(*[encode(p[k]) for p in pairs])
                      for k in (0, 1)]
            options = _c.surg_merge_options(size=C.sizeof(_c.surg_merge_options),
                                            prefix=encode(prefix), n=len(pairs),
                                            keep_outputs=keep_outputs)
            setattr(options, 'from', arrays[0])
            options.to = arrays[1]
            self._do(lib.surg_model_merge, other._pointer(), C.byref(options))
            self._box.unsorted = True

    def run(self, pipeline: str, *, allow: Optional[str] = None, keep: Sequence[str] = (),
            keep_weights: bool = False, dims: Sequence[str] = (), ranges: Sequence[str] = (),
            skip: Sequence[str] = (), check: int = 0, check_each: bool = False,
            check_rtol: Optional[float] = None, rewrite_limit: Optional[int] = None,
            timeout: Optional[float] = None, max_memory: int = 0, verify_each: bool = False,
            trust_declared: bool = False, log: Optional[str] = None, map: Optional[str] = None,
            progress: Optional[Callable[[str], None]] = None,
            cancel: Optional[Callable[[], Any]] = None, strict: bool = True,
            _backup: bool = True) -> Report:
        """Runs a pipeline, `fold,prune`, as --pass of the program does, and returns the report. If
        it fails, the exception is raised and the model is as before; nodes and tensors that were
        read from it are then removed.

        allow: the worst class of rewrites ("exact", "ulp", "rounding", "approx", "lossy"). keep:
        nodes and values to protect (NAME, /regex/ or op=TYPE). dims, ranges: assumptions
        ("N=1..64", "x=0..1"). check: seeds of inputs on which results are compared. progress:
        called with the name of each pass before it runs. cancel: asked often; True ends the run
        with Cancelled. strict: raise NotDone if a request by name was not done."""
        context = self._box.context
        with context._lock:
            self._ready()
            context.prepare_passes()
            options, alive = _run_options(
                context, allow=allow, keep=keep, keep_weights=keep_weights, dims=dims,
                ranges=ranges, skip=skip, check=check, check_each=check_each,
                check_rtol=check_rtol, rewrite_limit=rewrite_limit, timeout=timeout,
                max_memory=max_memory, verify_each=verify_each, trust_declared=trust_declared,
                log=log, map=map, progress=progress, cancel=cancel)
            with Interrupts(context):
                report = self._run(encode(pipeline), options, _backup)
            del alive
        self.report = report
        if strict and report.undone:
            error = errors.NotDone(report.undone[0], None, report.undone)
            error.report = report
            raise error
        return report

    def _run(self, pipeline: bytes, options, backup: bool) -> Report:
        box, context = self._box, self._box.context
        with context:
            lent, pointer = bool(box.views), box.pointer
            spare = context.own(lib.surg_model_clone, pointer) if backup or lent else None
            if spare:
                spare.loaded = box.loaded
            handle = C.c_void_p(spare.pointer if lent else pointer)
            result = None
            # While the library owns the model, nothing else refers to it: an interruption at any
            # place leaves a model that is closed, not one that is freed twice.
            running = spare if lent else box
            running.close('the model is in use by a run, or the run was interrupted')
            try:
                result = self._call_run(handle, pipeline, options)
            finally:
                self._settle(box, spare, lent, pointer, handle.value)
            self._box.unsorted = False
            return result

    def _call_run(self, handle, pipeline: bytes, options) -> Report:
        context, report, error = self._box.context, C.c_void_p(), None
        try:
            context.do(lib.surg_run, C.byref(handle), pipeline, C.byref(options), C.byref(report))
        except BaseException as e:
            error = e
        result = None
        if report.value:
            result = Report(context, report.value, context.messages)
            context.call(lib.surg_run_report_free, report)
        if error is not None:
            if isinstance(error, errors.Error):
                error.report = result
            raise error
        return result

    def _settle(self, box: Box, spare: Optional[Box], lent: bool, pointer: int,
                after: Optional[int]) -> None:
        """Gives the model its handle after a run: `after` is None if the run freed it."""
        if lent:  # the run used the copy; the old model stays with the arrays that refer to it
            if after:
                spare.open(after)
                self._adopt(spare)
                box.retire('the model was replaced by a copy, since arrays refer to its memory: '
                           'read nodes and tensors again')
            return
        if after == pointer:
            box.open(pointer)
            return
        box.close('the model was replaced by a run' if after else
                  'a run that failed removed this from its model')
        if after:
            self._adopt(Box(box.context, after, loaded=box.loaded), box)
        elif spare:
            self._adopt(spare, box)

    def _adopt(self, new: Box, old: Optional[Box] = None):
        """Makes the Model, and its main graph, those of another box."""
        old = old or self._box
        graph = old.wrappers.get('main')
        old.wrappers.pop('model', None)
        self._box = new
        new.wrappers['model'] = self
        if graph is not None:
            rebind(graph, new, lib.surg_model_graph(new.pointer))
            new.wrappers['main'] = graph

    def _clean(self):
        """Removes what is unused; tensors without a producer may have consumers that are."""
        box = self._box
        with box.context._lock:
            self._ready(False)
            options, _ = _run_options(box.context)
            self._run(b'prune', options, True)
            self._ready(False)

    def _matches(self, rule: str, graph: Graph) -> List[Node]:
        context = self._box.context
        with context._lock:
            self._ready()
            self._do(lib.surg_model_infer)
            found = []
            for i in context.rule_range(rule, 'pattern'):
                r = lib.surg_context_rule(context._pointer, i)
                op = lib.surg_rule_op_type(r)
                for node in graph.nodes:
                    if lib.surg_node_op_type(node._ptr) == op and \
                            lib.surg_rule_explain(r, node._ptr) is None:
                        found.append(node)
            return found

    def rewrite(self, rules: str, **options: Any) -> Report:
        """Applies rewrite rules (doc/rules.md) until none matches, and removes what is unused."""
        names = self._box.context.load_rules(rules)
        return self.run('rewrite{rule=%s},prune' % '+'.join(self.word(n) for n in names), **options)

    def word(self, text: str) -> str:
        """A name or path as a pipeline spells it, quoted where it must be."""
        out = C.c_char_p()
        with self._box.context._lock:
            self._box.context.do(lib.surg_pipeline_word, self._box.context._pointer, encode(text),
                                 C.byref(out))
            return self._box.context.take_text(C.cast(out, C.c_void_p).value)

    def __repr__(self) -> str:
        if self._box.pointer is None:
            return '<Model, closed>'
        return '<Model %s: %d nodes>' % (self.path, len(self.graph.nodes))


def into_context(model: Any, context: Context, **options: Any) -> 'Model':
    """The model, or a copy of it, in a context."""
    if not isinstance(model, Model):
        return Model.load(model, context=context, **options)
    if model.context is context:
        return model
    path, root = model.path, None
    if os.path.exists(path):
        root = os.path.dirname(os.path.abspath(path))  # of data files
    return Model.load(model.bytes(), context=context, name=path, external_root=root, **options)


def _bytes_of(model: Any) -> Tuple[Any, Any]:
    """(pointer, object with the bytes) of a model in memory."""
    if isinstance(model, bytes):
        return C.cast(C.c_char_p(model), C.c_void_p), model
    if isinstance(model, (bytearray, memoryview)):
        data = bytes(model)
        return C.cast(C.c_char_p(data), C.c_void_p), data
    if hasattr(model, 'SerializeToString'):
        data = model.SerializeToString()
        return C.cast(C.c_char_p(data), C.c_void_p), data
    raise TypeError('expected a path, bytes, an onnx.ModelProto or a Model, found %s'
                    % type(model).__name__)


def _strings(values: Sequence[str]):
    if isinstance(values, str):
        raise TypeError('expected a list of strings, found a string')
    return (C.c_char_p * max(len(values), 1))(*[encode(v) for v in values]), len(values)


def to_exactness(name: Any) -> int:
    out = C.c_int()
    if not lib.surg_exactness_from_name(encode(name), C.byref(out)):
        raise ValueError('allow is "exact", "ulp", "rounding", "approx" or "lossy", not %r' % name)
    return out.value


def _run_options(context: Context, *, allow=None, keep=(), keep_weights=False, dims=(), ranges=(),
                 skip=(), check=0, check_each=False, check_rtol=None, rewrite_limit=None,
                 timeout=None, max_memory=0, verify_each=False, trust_declared=False, log=None,
                 map=None, progress=None, cancel=None):
    """(options of the library, what must live as long)."""
    o = _c.surg_run_options(size=C.sizeof(_c.surg_run_options))
    if allow is not None:
        o.has_allow, o.allow = True, to_exactness(allow)
    if rewrite_limit is not None:
        o.has_rewrite_limit, o.rewrite_limit = True, rewrite_limit
    if check_rtol is not None:
        o.has_check_rtol, o.check_rtol = True, check_rtol
    o.keep, o.n_keep = _strings(keep)
    o.skip, o.n_skip = _strings(skip)
    o.dims, o.n_dims = _strings(dims)
    o.ranges, o.n_ranges = _strings(ranges)
    o.keep_weights, o.verify_each, o.trust_declared = keep_weights, verify_each, trust_declared
    o.check, o.check_each, o.max_memory = int(check), check_each, max_memory
    o.timeout_ms = 0 if timeout is None else max(1, int(timeout * 1000))
    o.log_path = encode(os.fspath(log)) if log is not None else None
    o.map_path = encode(os.fspath(map)) if map is not None else None
    kinds = dict(_c.surg_run_options._fields_)

    def stop(_user):
        # What waits to be raised ends the run: an exception of a callback, or an interrupt.
        try:
            return bool(context._pending or (cancel is not None and cancel()))
        except BaseException as e:
            context._pending.append(e)
            return True

    def call(_user, name):
        try:
            progress(decode(name))
        except BaseException as e:
            context._pending.append(e)
    o.cancel = kinds['cancel'](stop)
    if progress is not None:
        o.progress = kinds['progress'](call)
    return o, [o]
