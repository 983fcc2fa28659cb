# SPDX-License-Identifier: Apache-2.0
"""Facts about models, messages of engines, and the smallest model with a behaviour."""
import ctypes as C
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _c
from ._actions import LOADING, _part, as_model
from ._context import Box, Context, decode, encode
from ._lib import lib
from ._model import Model, model_of
from ._types import DType


class Info(NamedTuple):
    """Facts about a model (doc/info.md). nodes, ops: of all graphs. weights: of each element type,
    (tensors, parameters, bytes). macs, flops: of one run, a number, an expression of symbols, or
    None if too large; uncounted: nodes whose cost is unknown. peak_bytes: values that exist at
    once at most, with 1 for every symbol. floors: of each domain, the oldest opset that the model
    fits. files: of external data, with their bytes; None for a file that cannot be read."""
    nodes: int
    subgraphs: int
    functions: int
    initializers: int
    parameters: int
    weight_bytes: int
    ops: Dict[str, int]
    weights: Dict[DType, Tuple[int, int, int]]
    macs: Union[int, str, None]
    flops: Union[int, str, None]
    uncounted: int
    peak_bytes: int
    ir_floor: int
    floors: Dict[str, int]
    files: Dict[str, Optional[int]]


def _struct(kind: Any) -> Any:
    return kind(size=C.sizeof(kind))


def info(model: Any, **loading: Any) -> Info:
    """Facts about a model; weights are not read."""
    model = as_model(model, **loading)
    context = model.context
    with context:
        model._ready()
        out = C.c_void_p()
        context.do(lib.surg_info_new, model._pointer(), C.byref(out))
        try:
            return _info(model, out.value)
        finally:
            lib.surg_info_free(out)


def _info(model: Model, p: int) -> Info:
    s, t = _struct(_c.surg_info_summary), _struct(_c.surg_stats_summary)
    stats = lib.surg_info_stats(p)
    lib.surg_info_get(p, C.byref(s))
    lib.surg_stats_get(stats, C.byref(t))
    ops, weights, floors, files = {}, {}, {}, {}
    for i in range(t.ops):
        o = _struct(_c.surg_stats_op_count)
        lib.surg_stats_op(stats, i, C.byref(o))
        name = decode(o.op)
        ops['%s.%s' % (decode(o.domain), name) if o.domain else name] = o.count
    for dtype in DType:
        w = _struct(_c.surg_info_weights)
        if lib.surg_info_weights_of(p, int(dtype), C.byref(w)) == 0:
            weights[dtype] = (w.tensors, w.parameters, w.bytes)
    for i in range(s.floors):
        f = _struct(_c.surg_info_floor_of)
        lib.surg_info_floor(p, i, C.byref(f))
        floors[decode(f.domain)] = f.opset
    for i in range(s.files):
        d = _struct(_c.surg_info_data)
        lib.surg_info_file(p, i, C.byref(d))
        files[decode(d.location)] = None if d.absent else d.bytes
    totals: List[Any] = []
    for flops in (False, True):
        dim = _c.surg_dim()
        if lib.surg_info_total(p, flops, C.byref(dim)):
            totals.append(None)
        else:
            totals.append(dim.value if dim.value >= 0 else
                          decode(lib.surg_dim_text(model._pointer(), C.byref(dim))))
    return Info(t.nodes, t.subgraphs, t.functions, t.initializers, t.parameters, t.weight_bytes,
                ops, weights, totals[0], totals[1], s.size_unknown + s.operator_unknown +
                s.calls_unknown, s.peak_bytes, s.ir_floor, floors, files)


class Explanation(NamedTuple):
    """What a message means. line, number: of the text. cause: one sentence. cure: a command or
    advice. passes: pipelines that cure it. where: places of the model that it is about, if a model
    was given."""
    id: str
    engine: Optional[str]
    versions: Optional[str]
    line: str
    number: int
    cause: Optional[str]
    cure: Optional[str]
    passes: Tuple[str, ...]
    allow: Optional[str]
    where: Tuple[str, ...]


def explain(text: str, model: Any = None, *, engine: Optional[str] = None,
            **loading: Any) -> List[Explanation]:
    """The known messages of importers, checkers and exporters in a text (doc/messages.md)."""
    found: List[Explanation] = []
    if model is not None:
        model = as_model(model, policy='lenient', **loading)
        model._ready()
    context = model.context if model is not None else Context()

    @_c.surg_explanation_fn
    def note(_user, pointer):
        try:
            e, places = pointer.contents, []

            @_c.surg_place_fn
            def place(_user, where, _text):
                places.append(decode(where))
            if model is not None:
                lib.surg_explanation_look(pointer, model._pointer(), place, None, None)
            found.append(Explanation(
                decode(e.id), decode(e.engine), decode(e.versions), decode(e.line), e.number,
                decode(e.cause), decode(e.cure),
                tuple(decode(e.passes[i]) for i in range(e.n_passes)), decode(e.allow),
                tuple(places)))
        except BaseException as error:
            context._pending.append(error)

    with context:
        out, data = C.c_void_p(), encode(text)
        context.do(lib.surg_messages_new, context._pointer, None, C.byref(out))
        try:
            context.do(lib.surg_explain, out, data, len(data), encode(engine), note, None, None)
        finally:
            lib.surg_messages_free(out)
    return found


def reduce(model: Any, test: Callable[[Model], Any], *, timeout: Optional[float] = None,
           progress: Optional[Callable[[int, int], None]] = None, **loading: Any) -> Model:
    """The smallest model found for which `test` is still true, by cutting nodes out. The test gets
    a Model that it may save, run and read, but not edit; an exception in it ends the search.
    progress gets the nodes of the smallest model so far and the number of tests."""
    new = Model.load(model, **_part(loading, LOADING))
    context, box = new.context, new._box
    new._ready()
    kinds = dict(_c.surg_reduce_options._fields_)

    def judge(_user, pointer):
        candidate = Box(context, pointer, owned=False)
        try:
            return bool(test(model_of(candidate)))
        except BaseException as error:
            context._pending.append(error)
            return False
        finally:
            candidate.close('the test that read this has ended')

    def tell(_user, nodes, tests):
        try:
            if progress is not None:
                progress(nodes, tests)
        except BaseException as error:
            context._pending.append(error)
    o = _c.surg_reduce_options(
        size=C.sizeof(_c.surg_reduce_options),
        timeout_ms=0 if timeout is None else max(1, int(timeout * 1000)),
        cancel=kinds['cancel'](lambda _user: bool(context._pending)),
        progress=kinds['progress'](tell))
    report = _struct(_c.surg_reduce_report)
    with context:
        handle = C.c_void_p(box.pointer)
        box.close('the model is in use by a search')
        try:
            context.do(lib.surg_reduce, C.byref(handle), _c.surg_reduce_test(judge), None,
                       C.byref(o), C.byref(report))
        finally:
            if handle.value:
                new._adopt(Box(context, handle.value), box)
    return new
