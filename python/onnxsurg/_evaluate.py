# SPDX-License-Identifier: Apache-2.0
"""Running models, and comparing two by running both on the same inputs."""
import ctypes as C
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _c
from ._actions import LOADING, _part, as_model
from ._context import Context, Interrupts, counted, decode, encode
from ._lib import lib
from ._model import Model, into_context
from ._types import _NUMPY, _STORED, DType, elements, numpy

FILLS = ('random', 'zeros', 'ones', 'arange', 'adversarial')
OPTIMIZE = ('all', 'none', 'basic', 'extended')


class _Owned:
    """An object of a context, which is freed with this one."""

    def __init__(self, context: Context, pointer: int, free, *keep: Any):
        self.context, self.pointer, self.free, self.keep = context, pointer, free, keep
        if pointer:
            context.owns(pointer)

    def __del__(self):
        pointer, self.pointer = self.pointer, None
        if pointer:
            self.context.free(self.free, pointer)


# ---- values --------------------------------------------------------------------------------------

def _array(context: Context, value: Any, declared: Optional[int]) -> _Owned:
    """A value of the library from an array, a number or nested lists."""
    out = C.c_void_p()
    wanted = DType(declared) if declared else None
    if wanted in _STORED and _STORED[wanted][1] > 1:
        module = numpy()
        array = module.ascontiguousarray(value, _STORED[wanted][0])
        kind, shape, raw = wanted, list(array.shape), array.tobytes()  # a byte for each element
    else:
        same = hasattr(value, 'dtype') and wanted not in _STORED
        kind, shape, raw = elements(value, None if same else wanted)
    dims = (C.c_int64 * max(len(shape), 1))(*shape)
    if kind == DType.STRING:
        context.do(lib.surg_array_new_strings, context._pointer, dims, len(shape), counted(raw),
                   C.byref(out))
    else:
        context.do(lib.surg_array_new, context._pointer, int(kind), dims, len(shape), raw,
                   C.byref(out))
    return _Owned(context, out.value, lib.surg_array_free)


def _tensor(owned: _Owned) -> Any:
    """A tensor as a read-only array that refers to its memory; without numpy, a memoryview."""
    a, module = owned.pointer, numpy()
    dims = lib.surg_array_dims(a)
    shape = tuple(dims[i] for i in range(lib.surg_array_rank(a)))
    dtype, count = DType(lib.surg_array_dtype(a)), lib.surg_array_count(a)
    data = lib.surg_array_data(a)
    if dtype == DType.STRING:
        texts = C.cast(data, C.POINTER(_c.surg_str))
        strings = [C.string_at(texts[i].p, texts[i].n) if texts[i].n else b''
                   for i in range(count)]
        if module is None:
            return strings
        out = module.empty(count, object)
        out[:] = strings
        return out.reshape(shape)
    name, code, size = _NUMPY.get(dtype) or (_STORED[dtype][0], None, None)
    if size is None:
        size = 2 if name == 'uint16' else 1
        code = {'uint16': 'H', 'uint8': 'B', 'int8': 'b'}[name]
    memory: Any = (C.c_ubyte * (count * size)).from_address(data) if count else (C.c_ubyte * 0)()
    memory._owned = owned  # the memory lives as long as the array
    if module is not None:
        out = module.frombuffer(memory, name).reshape(shape)
        out.flags.writeable = False
        return out
    view = memoryview(memory).cast('B').toreadonly()
    return view.cast(code, shape) if code and count else view


def _value(owned: _Owned) -> Any:
    """A value for Python: an array, a list, a dict, None or what an optional contains."""
    context, kind = owned.context, _c.surg_type_kind(lib.surg_array_kind(owned.pointer))
    if kind == _c.surg_type_kind.TENSOR:
        return _tensor(owned)
    if kind == _c.surg_type_kind.UNKNOWN:
        return None
    items = []
    for i in range(lib.surg_array_count(owned.pointer)):
        out = C.c_void_p()
        context.do(lib.surg_array_item, owned.pointer, i, C.byref(out))
        items.append(_value(_Owned(context, out.value, lib.surg_array_free)))
    if kind == _c.surg_type_kind.OPTIONAL:
        return items[0] if items else None
    if kind == _c.surg_type_kind.MAP:
        keys, values = (x.tolist() if hasattr(x, 'tolist') else list(x) for x in items)
        return dict(zip(keys, values))
    return items


# ---- inputs and engines --------------------------------------------------------------------------

def _sizes(sizes: Optional[Dict[str, int]]) -> Tuple[Any, int, Any]:
    """(array of surg_size, length, what must live as long)."""
    table = (_c.surg_size * max(len(sizes or ()), 1))()
    keep = []
    for entry, (name, size) in zip(table, (sizes or {}).items()):
        keep.append(encode(name))
        entry.size, entry.name, entry.value = C.sizeof(_c.surg_size), keep[-1], int(size)
    return table, len(sizes or ()), keep


def _choice(name: str, value: str, choices: Sequence[str]) -> int:
    if value not in choices:
        raise ValueError('%s is one of %s, not %r' % (name, ', '.join(choices), value))
    return choices.index(value)


def _inputs(model: Model, given: Any, fill: str, seed: int, sizes: Any) -> _Owned:
    """The inputs of a run. given: a dict of name to array or path of a file, or the path of a
    folder or .npz file."""
    context = model.context
    table, n, keep = _sizes(sizes)
    options = _c.surg_inputs_options(size=C.sizeof(_c.surg_inputs_options),
                                     fill=_choice('fill', fill, FILLS), seed=seed, sizes=table,
                                     n_sizes=n)
    out = C.c_void_p()
    context.do(lib.surg_inputs_new, model._pointer(), C.byref(options), C.byref(out))
    inputs = _Owned(context, out.value, lib.surg_inputs_free, model._box)
    if given is None:
        return inputs
    if isinstance(given, (str, os.PathLike)):
        context.do(lib.surg_inputs_read_all, inputs.pointer, encode(os.fsencode(given)))
        return inputs
    if isinstance(given, (list, tuple)):
        given = {t.name: v for t, v in zip(model.graph.inputs, given) if v is not None}
    types = {t.name: int(t.type.elem_type or 0) if t.type and t.type.kind == 'tensor' else 0
             for t in model.graph.inputs}
    for name, value in given.items():
        if isinstance(value, (str, os.PathLike)) and types.get(name) != DType.STRING:
            context.do(lib.surg_inputs_read, inputs.pointer, encode(name),
                       encode(os.fsencode(value)))
        else:
            array = _array(context, value, types.get(name))
            context.do(lib.surg_inputs_set, inputs.pointer, encode(name), array.pointer)
    return inputs


def _engine(context: Context, engine: str, library: Any, optimize: str, threads: int,
            timeout: Optional[float], seed: int, **budgets: int) -> _Owned:
    o = _c.surg_engine_options(
        size=C.sizeof(_c.surg_engine_options),
        runtime=bool(_choice('engine', engine, ('builtin', 'ort'))),
        library=encode(os.fsencode(library)) if library is not None else None,
        optimize=_choice('optimize', optimize, OPTIMIZE), threads=threads,
        timeout_ms=0 if timeout is None else max(1, int(timeout * 1000)), seed=seed, **budgets)

    def stop(_user):
        return bool(context._pending)
    o.cancel = dict(_c.surg_engine_options._fields_)['cancel'](_guarded(context, stop))
    out = C.c_void_p()
    context.do(lib.surg_engine_new, context._pointer, C.byref(o), C.byref(out))
    return _Owned(context, out.value, lib.surg_engine_free, o)


def _guarded(context: Context, function):
    """A callback whose exceptions, also KeyboardInterrupt, end the call and are raised by it."""
    def call(*arguments):
        try:
            return function(*arguments)
        except BaseException as e:
            context._pending.append(e)
            return True
    return call


class Session:
    """A model that is prepared for repeated runs. The model is copied: later edits do not change
    it. engine: "builtin", or "ort" for ONNX Runtime where its library is found or given.
    all_values: also return what the nodes of the main graph compute. max_bytes, max_work,
    max_turns: budgets of the built-in evaluator (doc/run.md)."""

    def __init__(self, model: Any, *, engine: str = 'builtin', library: Any = None,
                 optimize: str = 'all', threads: int = 1, timeout: Optional[float] = None,
                 seed: int = 1, all_values: bool = False, max_bytes: int = 0, max_work: int = 0,
                 max_turns: int = 0, **loading: Any):
        copy = Model.load(model, **loading)
        context = copy.context
        if all_values:
            from ._context import Box
            from ._model import model_of
            out = C.c_void_p()
            context.do(lib.surg_model_all_outputs, copy._pointer(), C.byref(out))
            copy = model_of(Box(context, out.value))
        self.model: Model = copy
        self._seed = seed
        self._engine = _engine(context, engine, library, optimize, threads, timeout, seed,
                               max_bytes=max_bytes, max_work=max_work, max_turns=max_turns)
        out = C.c_void_p()
        context.do(lib.surg_session_new, self._engine.pointer, copy._pointer(), C.byref(out))
        self._session = _Owned(context, out.value, lib.surg_session_free, self._engine, copy._box)
        self.outputs: List[str] = [t.name for t in copy.graph.outputs]

    def run(self, inputs: Any = None, *, fill: str = 'random', seed: Optional[int] = None,
            sizes: Optional[Dict[str, int]] = None) -> Dict[str, Any]:
        """The outputs by name. inputs: a dict of names to arrays, numbers, lists or paths of files
        (.npy, .npz, .pb), a list in the order of the model, or the path of a folder or .npz file.
        Others keep their default or are made: fill is "random", "zeros", "ones", "arange" or
        "adversarial", sizes are those of symbols (2). Outputs are read-only arrays; lists for
        sequences, dicts for maps, None for an absent optional."""
        context = self.model.context
        with context._lock:
            made = _inputs(self.model, inputs, fill, self._seed if seed is None else seed, sizes)
            out = (C.c_void_p * max(len(self.outputs), 1))()
            session = self._session.pointer
            context._begin()
            with Interrupts(context):
                status = lib.surg_session_run(session, made.pointer, out, len(self.outputs))
            context._raise_pending()
            if status < 0:
                raise context.error(status, '%s: error: %s' % (
                    self.model.path, decode(lib.surg_session_why(session))))
            return {name: _value(_Owned(context, a, lib.surg_array_free))
                    for name, a in zip(self.outputs, out)}


def run(model: Any, inputs: Any = None, *, fill: str = 'random', seed: int = 1,
        sizes: Optional[Dict[str, int]] = None, **options: Any) -> Dict[str, Any]:
    """The outputs of a model, by name, computed by the built-in evaluator or ONNX Runtime. Inputs
    as for Session.run, options as for Session."""
    return Session(model, seed=seed, **options).run(inputs, fill=fill, sizes=sizes)


# ---- comparison ----------------------------------------------------------------------------------

class OutputReport(NamedTuple):
    """The comparison of one output; numbers are the worst of all runs. why: the first
    difference."""
    name: str
    differs: int
    comparable: bool
    compared: bool
    informative: bool
    max_abs: float
    max_rel: float
    max_ulp: int
    cosine: float
    why: str


class LayerReport(NamedTuple):
    """The first value, in the order of nodes, that both models have and that differs."""
    name: str
    where: Tuple[str, str]
    matched: int
    equal: int
    max_abs: float
    max_rel: float
    max_ulp: int
    why: str


class VerifyReport:
    """What a comparison found. same: at least one informative run was compared and all outputs
    agree. checked, skipped: runs; why: the reason of the first skipped run, or why the second model
    fails. Truth: same."""

    def __init__(self, pointer: int):
        s = _c.surg_compare_summary(size=C.sizeof(_c.surg_compare_summary))
        lib.surg_compare_get(pointer, C.byref(s))
        self.same: bool = s.same
        self.informative: bool = s.informative
        self.checked: int = s.checked
        self.skipped: int = s.skipped
        self.failure: str = decode(s.failure) or ''
        self.why: str = self.failure or decode(s.skip_why) or ''
        self.outputs: List[OutputReport] = [self._output(pointer, i) for i in range(s.outputs)]
        self.first: Optional[LayerReport] = self._layer(pointer)

    @staticmethod
    def _output(pointer, i):
        r = _c.surg_compare_result(size=C.sizeof(_c.surg_compare_result))
        r.worst.size = C.sizeof(_c.surg_distance)
        lib.surg_compare_output(pointer, i, C.byref(r))
        return OutputReport(decode(r.name), r.differs, r.comparable, r.compared, r.informative,
                            r.worst.max_abs, r.worst.max_rel, r.worst.max_ulp, r.worst.cosine,
                            decode(r.worst.why))

    @staticmethod
    def _layer(pointer):
        r = _c.surg_compare_layer(size=C.sizeof(_c.surg_compare_layer))
        r.distance.size = C.sizeof(_c.surg_distance)
        if lib.surg_compare_first(pointer, C.byref(r)) or not r.found:
            return None
        return LayerReport(decode(r.name), (decode(r.at[0]), decode(r.at[1])), r.matched, r.equal,
                           r.distance.max_abs, r.distance.max_rel, r.distance.max_ulp,
                           decode(r.distance.why))

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        lines = ['%s: %s' % (o.name, 'not comparable' if not o.comparable else
                             o.why if o.differs else 'equal' if o.compared else 'not compared')
                 for o in self.outputs]
        if self.why:
            lines.append(self.why)
        return '\n'.join(lines + ['%d runs compared, %d skipped' % (self.checked, self.skipped)])

    def __repr__(self) -> str:
        return '<VerifyReport: %s, %d runs>' % ('equal' if self.same else 'not equal', self.checked)


def verify(a: Any, b: Any, *, runs: int = 2, seed: int = 1, fill: Optional[str] = None,
           sizes: Optional[Dict[str, int]] = None, inputs: Any = None, rtol: float = 1e-3,
           atol: float = 1e-5, ulp: int = 0, layers: bool = False, ties: bool = False,
           log: Optional[str] = None, engine: str = 'builtin', library: Any = None,
           **loading: Any) -> VerifyReport:
    """Runs both models on the same inputs, random and adversarial unless fill names one kind, and
    compares their outputs. layers: look for the first value that differs. ties: indices may differ
    where they point at equal elements. log: the log of the run that made b from a."""
    a = as_model(a, **_part(dict(loading), LOADING))
    a._ready()
    context = a.context
    b = into_context(b, context, **{k: v for k, v in loading.items() if k != 'context'})
    b._ready()
    table, n, keep = _sizes(sizes)
    tolerance = _c.surg_tolerance(size=C.sizeof(_c.surg_tolerance), relative=rtol, absolute=atol,
                                  ulp=ulp)
    o = _c.surg_compare_options(
        size=C.sizeof(_c.surg_compare_options), tolerance=C.pointer(tolerance), runs=runs,
        seed=seed, sizes=table, n_sizes=n, layers=layers, ties=ties,
        log=encode(os.fspath(log)) if log is not None else None)
    if fill is not None:
        o.has_fill, o.fill = True, _choice('fill', fill, FILLS)
    with context._lock:
        given = None
        if inputs is not None:
            given = _inputs(a, inputs, fill or 'random', seed, sizes)
            o.given = given.pointer
        engines = None
        if engine != 'builtin' or library is not None:
            engines = _engine(context, engine, library, 'all', 1, None, seed)
            o.engines[0] = o.engines[1] = engines.pointer
        out = C.c_void_p()
        context.do(lib.surg_compare, a._pointer(), b._pointer(), C.byref(o), C.byref(out))
        try:
            return VerifyReport(out.value)
        finally:
            lib.surg_compare_free(out)
            del given, engines
