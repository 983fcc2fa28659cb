# SPDX-License-Identifier: Apache-2.0
"""Functions on whole models: simplify, convert, repair, check. Each takes a path, bytes, an
onnx.ModelProto or a Model, and leaves it as it is."""
import ctypes as C
import os
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _c, errors
from ._context import Context, decode, encode
from ._lib import lib
from ._model import Model, into_context, model_of, to_exactness
from ._context import Box
from ._report import CheckReport, Finding, RepairReport, exactness_name

LOADING = ('external_root', 'no_external', 'freeze_inputs', 'name', 'context', 'policy')
SAVING = ('external_data', 'external_threshold', 'fsync')

Dims = Union[Dict[str, Any], Sequence[str], None]


def load(model: Any, **options: Any) -> Model:
    """Reads a model; see Model.load."""
    return Model.load(model, **options)


def save(model: Any, path: Any, **options: Any) -> None:
    """Writes a model; see Model.save."""
    as_model(model).save(path, **options)


def parse(text: str, **options: Any) -> Model:
    """Reads a model from ONNX text; see Model.parse."""
    return Model.parse(text, **options)


def as_model(model: Any, **options: Any) -> Model:
    """A Model itself; anything else, loaded."""
    return model if isinstance(model, Model) else Model.load(model, **options)


def _part(options: Dict[str, Any], names: Sequence[str]) -> Dict[str, Any]:
    return {k: options.pop(k) for k in list(options) if k in names}


def _dims(model: Model, dims: Dims) -> Any:
    """(pipeline that fixes dimensions, assumptions) of {"N": 4, "M": (1, 64), "H": "%32"}."""
    if dims is None:
        return [], []
    if not isinstance(dims, dict):
        if isinstance(dims, str):
            raise TypeError('dims is a dict or a list of strings, not a string')
        return [], list(dims)
    fixed, assumed = [], []
    for name, size in dims.items():
        if isinstance(size, str):
            assumed.append('%s%s' % (name, size if size.startswith(('%', '=')) else '=' + size))
        elif isinstance(size, (tuple, list)):
            assumed.append('%s=%d..%d' % (name, size[0], size[1]))
        else:
            fixed.append('%s=%d' % (model.word(name), int(size)))
    return ['freeze{%s}' % ','.join(fixed)] if fixed else [], assumed


def run_pipeline(model: Any, pipeline: str, *, output: Any = None, dims: Dims = None,
                 rules: Sequence[str] = (), schemas: Sequence[str] = (), **options: Any) -> Model:
    """Runs a pipeline on a copy of the model, and returns the copy; its `report` says what was
    done. output: a path to write it to. dims: {"N": 4} fixes a dimension of the inputs, {"N": (1,
    64)} and {"N": "%8"} assume. rules, schemas: texts for the context of a model that is loaded
    here. Other options: those of Model.load, Model.save and Model.run."""
    loading, saving = _part(options, LOADING), _part(options, SAVING)
    if isinstance(rules, str) or isinstance(schemas, str):
        raise TypeError('rules and schemas are lists of texts')
    if (rules or schemas) and 'context' not in loading and not isinstance(model, Model):
        loading['context'] = Context(rules=rules, schemas=schemas)
    elif rules:
        for text in rules:
            as_model(model).context.load_rules(text)
    new = Model.load(model, **loading)
    fixed, assumed = _dims(new, dims)
    new.run(','.join(fixed + ([pipeline] if pipeline else [])), dims=assumed, _backup=False,
            **options)
    if output is not None:
        new.save(output, **saving)
    return new


def simplify(model: Any, *, preset: str = 'simplify', opset: Optional[int] = None,
             **options: Any) -> Model:
    """The same function in fewer nodes. preset: "simplify", "simplify-exact", "fuse", "small" or
    "fewest" (doc/simplify.md). opset: convert to this opset afterwards. Options as for run_pipeline."""
    return run_pipeline(model, preset if opset is None else '%s,opset{to=%d}' % (preset, opset),
                        **options)


def convert(model: Any, opset: int, *, domain: str = '', ir_version: Optional[int] = None,
            **options: Any) -> Model:
    """The model at another opset. A model that cannot be converted completely raises InvalidModel
    with a line for each node in the way (`messages`). Options as for run_pipeline."""
    new = as_model(model, **_part(options, LOADING))
    step = 'opset{to=%d%s}' % (opset, ',domain=%s' % new.word(domain) if domain else '')
    if ir_version is not None:
        step += ',ir{to=%d}' % ir_version
    return run_pipeline(new, step, **options)


# ---- targets -------------------------------------------------------------------------------------

class Target:
    """What an engine supports. Target("tensorrt-8.6") is a built-in one, an alias or a path of a
    description. register: operators that the engine has beyond ("com.acme", "com.acme:Foo")."""

    def __init__(self, name: Any, *, register: Sequence[str] = (),
                 context: Optional[Context] = None):
        self.context = context or Context()
        self._pointer = None
        out = C.c_void_p()
        with self.context:
            self.context.do(lib.surg_target_open, self.context._pointer,
                            encode(os.fsencode(name)), C.byref(out))
            self._pointer = self.context.owns(out.value)
        if isinstance(register, str):
            register = [register]
        for operators in register:
            self.context.do(lib.surg_target_register, self._pointer, encode(operators))

    def __del__(self):
        pointer, self._pointer = getattr(self, '_pointer', None), None
        if pointer:
            self.context.free(lib.surg_target_free, pointer)

    @property
    def name(self) -> str:
        return decode(self.context.call(lib.surg_target_name, self._pointer))

    @property
    def title(self) -> Optional[str]:
        """The name of the engine for people."""
        return decode(self.context.call(lib.surg_target_title, self._pointer))

    @property
    def source(self) -> Optional[str]:
        """Where its facts come from."""
        return decode(self.context.call(lib.surg_target_source, self._pointer))

    @property
    def date(self) -> Optional[str]:
        """The day of its facts, as YYYY-MM-DD."""
        return decode(self.context.call(lib.surg_target_date, self._pointer))

    def __repr__(self) -> str:
        return '<Target %s>' % self.name


def targets() -> List[str]:
    """The names of the built-in targets."""
    return [decode(lib.surg_target_name_at(i)) for i in range(lib.surg_target_count())]


def _for_target(model: Any, target: Any, register: Sequence[str], loading: Dict[str, Any]) -> Any:
    """(model, target) in one context. A target that is given by name is opened in the model's."""
    if isinstance(target, Target):
        if isinstance(model, Model):
            model = into_context(model, target.context, policy='lenient')
        else:
            loading['context'] = target.context
    model = as_model(model, policy='lenient', **loading)
    model._ready()
    if target is not None and not isinstance(target, Target):
        target = Target(target, register=register, context=model.context)
    elif register:
        raise TypeError('register belongs to Target(...) if a Target is given')
    return model, target


def check(model: Any, target: Any = None, *, register: Sequence[str] = (), most: int = 100,
          **loading: Any) -> CheckReport:
    """What is wrong or doubtful in a model (doc/check.md); with a target also what it does not
    support, and the verdict. An invalid model is no exception: it has findings."""
    model, target = _for_target(model, target, register, loading)
    context, findings = model.context, []

    @_c.surg_check_fn
    def found(_user, f):
        f = f.contents
        if f.where is not None or f.text is not None:
            findings.append(Finding(_c.surg_severity(f.severity).name.lower(), decode(f.code),
                                    decode(f.where) or '', decode(f.text) or '', decode(f.hint),
                                    decode(getattr(f, 'pass'))))

    counts = _c.surg_check_counts(size=C.sizeof(_c.surg_check_counts))
    with context._lock:
        context.do(lib.surg_check, model._pointer(), most, found, None, C.byref(counts))
        numbers = (counts.errors, counts.warnings, counts.notes)
        if target is None:
            return CheckReport(findings, numbers)
        verdict = _judge(context, model, target, findings)
    return CheckReport(findings, numbers, *verdict)


def _judge(context: Context, model: Model, target: Target, findings: List[Finding]) -> Any:
    known = {(f.code, f.where) for f in findings}

    @_c.surg_objection_fn
    def object_to(_user, o):
        o = o.contents
        f = Finding(_c.surg_severity(o.severity).name.lower(), decode(o.code), decode(o.where),
                    decode(o.text), None, decode(getattr(o, 'pass')),
                    decode(lib.surg_verdict_name(o.verdict)), decode(o.source), o.misread)
        if (f.code, f.where) not in known or o.fact:
            findings.append(f)

    judgement = _c.surg_judgement(size=C.sizeof(_c.surg_judgement))
    context.do(lib.surg_target_judge, target._pointer, model._pointer(), object_to, None,
               C.byref(judgement))
    return (decode(lib.surg_verdict_name(judgement.verdict)), judgement.misread,
            decode(lib.surg_verdict_name(judgement.verdict_with_data)))


def repair(model: Any, target: Any = None, *, allow: Optional[str] = None,
           interface: bool = False, sizes: Optional[Dict[str, int]] = None,
           register: Sequence[str] = (), verify_each: bool = False, partial: bool = False,
           output: Any = None, **options: Any) -> Model:
    """The model, changed so that the target supports it; its `report` is a RepairReport. Without a
    target, defects are cured. allow: the worst class of rewrites (default "rounding"); interface:
    inputs and outputs may change. sizes: of open dimensions of inputs. If the target does not
    support the result, NotSupported is raised with `model` and `report`, unless partial."""
    loading, saving = _part(options, LOADING), _part(options, SAVING)
    if options:
        raise TypeError('repair has no option "%s"' % next(iter(options)))
    model, target = _for_target(model, target, register, loading)
    context = model.context
    o = _c.surg_repair_options(size=C.sizeof(_c.surg_repair_options), allow_interface=interface,
                               verify_each=verify_each)
    if allow is not None:
        o.has_allow, o.allow = True, to_exactness(allow)
    given = [(encode(name), int(size)) for name, size in (sizes or {}).items()]
    table = (_c.surg_size * max(len(given), 1))()
    for i, (name, size) in enumerate(given):
        table[i].size, table[i].name, table[i].value = C.sizeof(_c.surg_size), name, size
    o.sizes, o.n_sizes = table, len(given)
    with context:
        context.prepare_passes()
        out = C.c_void_p()
        context.do(lib.surg_repair_find, model._pointer(), target and target._pointer, C.byref(o),
                   C.byref(out))
        try:
            new, report = _repaired(context, out.value)
        finally:
            lib.surg_repair_free(out)
    new.report = report
    if target is not None and report.verdict != 'supported' and not partial:
        error = errors.NotSupported(
            '%s: error: %s by %s after the repair: %d objections, %d unknown%s' % (
                model.path, report.verdict, target.name, report.unsupported, report.unknown,
                '; with consent to %s: %s' % (
                    report.wanted + (' and a changed interface' if report.wanted_interface else ''),
                    report.refused) if report.refused else ''))
        error.model, error.report = new, report
        raise error
    if output is not None:
        new.save(output, **saving)
    return new


def _repaired(context: Context, found: int) -> Any:
    r = _c.surg_repair_result(size=C.sizeof(_c.surg_repair_result))
    context.do(lib.surg_repair_get, found, C.byref(r))
    report = RepairReport(
        decode(lib.surg_verdict_name(r.verdict)), decode(r.pipeline) or '', exactness_name(r.used),
        r.used_interface, r.mended, r.unsupported, r.unknown, r.misread, r.unsupported_before,
        r.unknown_before, decode(r.refused) or '', exactness_name(r.wanted), r.wanted_interface, r.data)
    return model_of(Box(context, lib.surg_repair_take(found))), report
