# SPDX-License-Identifier: Apache-2.0
"""Programs that judge a model: importers of engines, repairs that ask them, targets learned from
them; and single nodes as models, to show a defect of an engine."""
import ctypes as C
import os
import tempfile
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import _c, errors
from ._actions import LOADING, SAVING, Target, _part
from ._context import Box, Context, Interrupts, decode, encode
from ._evaluate import _engine, _inputs, _Owned, _sizes, _value
from ._lib import lib
from ._model import Model, model_of, to_exactness
from ._node import Node
from ._report import exactness_name


def _struct(kind: Any, **fields: Any) -> Any:
    return kind(size=C.sizeof(kind), **fields)


class Importer:
    """A command that accepts or rejects models. command: words without a shell, in which {} is the
    path of the model (without it the path is the last word); exit code 0 means that it accepts. Or
    "ort" or "opencv": those that `python3` has installed; "npm:PACKAGE@VERSION": an engine that npm
    distributes. A command with {...} gets several files
    and prints "FILE<TAB>ok" or "FILE<TAB>MESSAGE" for each. seconds, memory: limits of one run."""

    def __init__(self, command: str, *, seconds: int = 60, memory: int = 0,
                 context: Optional[Context] = None):
        self.context = context or Context()
        self.command = command
        pending = self.context._pending
        cancel = dict(_c.surg_command_options._fields_)['cancel']
        options = _struct(_c.surg_command_options, seconds=seconds, memory=memory,
                          cancel=cancel(lambda _user: bool(pending)))
        out = C.c_void_p()
        with self.context:
            self.context.do(lib.surg_importer_new, self.context._pointer, encode(command),
                            C.byref(options), C.byref(out))
            self._importer = _Owned(self.context, out.value, lib.surg_importer_free, options)

    @property
    def _pointer(self) -> int:
        return self._importer.pointer

    def ask(self, model: Any) -> Optional[str]:
        """None if it accepts the model (a path, bytes, an onnx.ModelProto or a Model); else its
        message, which may be empty."""
        accepted, message = C.c_bool(), C.c_char_p()
        with self.context, tempfile.TemporaryDirectory() as folder:
            with Interrupts(self.context):
                self.context.do(lib.surg_importer_ask_file, self._pointer, _file(model, folder),
                                C.byref(accepted), C.byref(message))
            return None if accepted.value else decode(message.value) or ''

    def accepts(self, model: Any) -> bool:
        """Whether it accepts the model."""
        return self.ask(model) is None

    def __repr__(self) -> str:
        return '<Importer %s>' % self.command


def _file(model: Any, folder: str, **loading: Any) -> Optional[bytes]:
    """The path of a model; one that is no file is written to the folder."""
    if isinstance(model, (str, os.PathLike)):
        return encode(os.fsencode(model))
    path = os.path.join(folder, 'model.onnx')
    (model if isinstance(model, Model) else Model.load(model, **loading)).save(path, fsync=False)
    return encode(path)


# ---- repair --------------------------------------------------------------------------------------

class UntilStep(NamedTuple):
    """One change that stays, and the message of the importer that it answers."""
    pipeline: str
    message: str
    exactness: str
    interface_changed: bool


class UntilReport(NamedTuple):
    """What a repair with an importer found. accepted: the importer accepts the model after `steps`.
    message: its last one; known: whether that is a known one (doc/messages.md). asked: models that
    it was asked about. refused: pipelines not tried for want of consent to `wanted`."""
    accepted: bool
    pipeline: str
    steps: Tuple[UntilStep, ...]
    message: str
    known: bool
    asked: int
    refused: Tuple[str, ...]
    wanted: str
    wanted_interface: bool


def repair_until(model: Any, importer: Any, *, target: Any = None, allow: Optional[str] = None,
                 interface: bool = False, sizes: Optional[Dict[str, int]] = None,
                 partial: bool = False, output: Any = None, **saving: Any) -> Model:
    """The model, changed so that an importer accepts it; its `report` is an UntilReport. importer:
    an Importer, or its command. A target adds cures of its objections. allow, interface, sizes as for
    repair. If the importer still rejects the result, NotSupported is raised with `model` and
    `report`, unless partial."""
    unknown = [name for name in saving if name not in SAVING]
    if unknown:
        raise TypeError('repair_until has no option "%s"' % unknown[0])
    if not isinstance(importer, Importer):
        importer = Importer(importer)
    context = importer.context
    table, n, keep = _sizes(sizes)
    consent = _struct(_c.surg_repair_options, allow_interface=interface, sizes=table, n_sizes=n)
    if allow is not None:
        consent.has_allow, consent.allow = True, to_exactness(allow)
    if target is not None and not (isinstance(target, Target) and target.context is context):
        target = Target(target.name if isinstance(target, Target) else target, context=context)
    o = _struct(_c.surg_until_options, consent=C.pointer(consent),
                target=target and target._pointer)
    with context, tempfile.TemporaryDirectory() as folder:
        context.prepare_passes()
        out = C.c_void_p()
        path = _file(model, folder)
        with Interrupts(context):
            context.do(lib.surg_until_find, importer._pointer, path, C.byref(o), C.byref(out))
        try:
            report = _until_report(context, out.value)
            new = model_of(context.own(lib.surg_model_clone, lib.surg_until_model(out)))
        finally:
            lib.surg_until_free(out)
    del keep
    new.report = report
    if not report.accepted and not partial:
        error = errors.NotSupported('%s: error: the importer still rejects the model: %s' % (
            new.path, report.message))
        error.model, error.report = new, report
        raise error
    if output is not None:
        new.save(output, **saving)
    return new


def _until_report(context: Context, found: int) -> UntilReport:
    r = _struct(_c.surg_until_result)
    context.do(lib.surg_until_get, found, C.byref(r))
    steps: List[UntilStep] = []
    for i in range(r.changes):
        s = _struct(_c.surg_until_step)
        context.do(lib.surg_until_change, found, i, C.byref(s))
        steps.append(UntilStep(decode(s.pipeline) or '', decode(s.message) or '',
                               exactness_name(s.used), s.used_interface))
    refused = tuple(decode(lib.surg_until_refused(found, i)) for i in range(r.refused))
    return UntilReport(r.accepted, decode(r.pipeline) or '', tuple(steps), decode(r.message) or '',
                       r.known, r.asked, refused, exactness_name(r.wanted), r.wanted_interface)


# ---- probe ---------------------------------------------------------------------------------------

class ProbeAnswer(NamedTuple):
    """One question to an importer, and its answer; see `onnxsurg probe --log`."""
    op: Optional[str]
    since: int
    question: str
    name: str
    value: str
    model: Optional[str]
    accepted: bool
    message: Optional[str]


class ProbeReport(NamedTuple):
    """What a probe found. text: the target, for a .target file. asked, accepted: models. left:
    questions that were not asked. known, right: answers that the inherited target forecast, and
    forecast correctly."""
    text: str
    asked: int
    accepted: int
    left: int
    known: int
    right: int


def probe(importer: Any, name: str, *, inherit: Any = None, ops: Optional[List[str]] = None,
          title: Optional[str] = None, timeout: Optional[float] = None,
          progress: Optional[Callable[[int, int], None]] = None,
          answer: Optional[Callable[[ProbeAnswer], None]] = None) -> ProbeReport:
    """Learns what an engine supports by asking its importer about models of one node. importer: an
    Importer, or its command. inherit: a target; what it states correctly is left out. ops: ask
    about these operators alone. progress gets the numbers of questions asked and of all."""
    if not isinstance(importer, Importer):
        importer = Importer(importer)
    context = importer.context
    if inherit is not None and not (isinstance(inherit, Target) and inherit.context is context):
        inherit = Target(inherit.name if isinstance(inherit, Target) else inherit, context=context)

    def tell(_user, asked, every):
        try:
            if progress is not None:
                progress(asked, every)
        except BaseException as error:
            context._pending.append(error)

    def note(_user, pointer):
        try:
            if answer is not None:
                a = pointer.contents
                answer(ProbeAnswer(decode(a.op), a.since, decode(a.question), decode(a.name) or '',
                                   decode(a.value) or '', decode(a.model), a.accepted,
                                   decode(a.message)))
        except BaseException as error:
            context._pending.append(error)
    kinds = dict(_c.surg_probe_options._fields_)
    o = _struct(_c.surg_probe_options, inherit=inherit and inherit._pointer,
                ops=encode('+'.join(ops)) if ops else None, title=encode(title),
                timeout_ms=0 if timeout is None else max(1, int(timeout * 1000)),
                progress=kinds['progress'](tell), answer=kinds['answer'](note))
    report = _struct(_c.surg_probe_report)
    text, n = C.c_char_p(), C.c_size_t()
    with context:
        with Interrupts(context):
            context.do(lib.surg_probe, importer._pointer, encode(name), C.byref(o), C.byref(text),
                       C.byref(n), C.byref(report))
        learned = context.take_text(C.cast(text, C.c_void_p).value)
    return ProbeReport(learned, report.asked, report.accepted, report.left, report.known,
                       report.right)


# ---- one node ------------------------------------------------------------------------------------

class Isolated(NamedTuple):
    """A node as a model. inputs, outputs: its values in the run, by name; outputs is empty where
    the node did not run, and `why` tells the reason."""
    model: Model
    inputs: Dict[str, Any]
    outputs: Dict[str, Any]
    why: str


def isolate(node: Any, inputs: Any = None, *, model: Any = None, turn: int = 0,
            fill: str = 'random', seed: int = 1, sizes: Optional[Dict[str, int]] = None,
            timeout: Optional[float] = None, **loading: Any) -> Isolated:
    """A node as a model of its own, with its subgraphs, constants and the functions that it calls,
    and with the values that it has when its model runs on `inputs` (as for run). node: a Node, or
    with model= its name, the name of one of its outputs, or its position. turn: the run of a node
    in a loop or function, from 0."""
    if isinstance(node, Node):
        if model is not None:
            raise TypeError('model belongs to a node that is given by name')
        whole = model_of(node._box)
    else:
        whole = model if isinstance(model, Model) else Model.load(
            model, **_part(loading, LOADING))
    if loading and isinstance(model, (Model, type(None))):
        raise TypeError('isolate has no option "%s"' % next(iter(loading)))
    context = whole.context
    with context:
        whole._ready()
        found = C.c_void_p()
        if isinstance(node, Node):
            found.value = node._pointer()
        else:
            context.do(lib.surg_node_select, whole._pointer(), encode(str(node)), C.byref(found))
        engine = _engine(context, 'builtin', None, 'all', 1, timeout, seed)
        given = _inputs(whole, inputs, fill, seed, sizes)
        out = C.c_void_p()
        with Interrupts(context):
            context.do(lib.surg_isolate, found, engine.pointer, given.pointer, turn, C.byref(out))
        try:
            return _isolated(context, out.value)
        finally:
            lib.surg_isolated_free(out)


def _isolated(context: Context, p: int) -> Isolated:
    s = _struct(_c.surg_isolated_summary)
    context.do(lib.surg_isolated_get, p, C.byref(s))
    part = model_of(context.own(lib.surg_model_clone, lib.surg_isolated_model(p)))
    values: List[Dict[str, Any]] = [{}, {}]
    names = ([t.name for t in part.graph.inputs], [t.name for t in part.graph.outputs])
    for outputs in (False, True):
        if not (s.computed if outputs else s.reached):
            continue
        for i, name in enumerate(names[outputs]):
            out = C.c_void_p()
            if lib.surg_isolated_value(p, outputs, i, C.byref(out)) == 0:
                values[outputs][name] = _value(_Owned(context, out.value, lib.surg_array_free))
    return Isolated(part, values[0], values[1], decode(s.why) or '')
