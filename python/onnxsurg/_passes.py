# SPDX-License-Identifier: Apache-2.0
"""Passes in Python: registered under a name, they run in pipelines like the built-in ones."""
import ctypes as C
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _c
from ._context import Box, Context, contexts, decode, encode, registered_passes
from ._graph import Graph
from ._handle import pointer_of, wrap
from ._lib import lib
from ._model import Model, model_of, to_exactness
from ._node import Node
from ._report import exactness_name
from ._tensor import Tensor

_KINDS = {bool: _c.surg_option_kind.BOOL, int: _c.surg_option_kind.INT,
          str: _c.surg_option_kind.STRING, list: _c.surg_option_kind.LIST}
_FACTS = {'sorted': _c.SURG_FACT_SORTED, 'types': _c.SURG_FACT_TYPES,
          'defects': _c.SURG_TAKES_DEFECTS}


class Option:
    """An option of a pass: kind is bool, int, str or list; default is what it is if the user does
    not set it."""

    def __init__(self, name: str, kind: type = str, default: Any = None, help: str = ''):
        if kind not in _KINDS:
            raise TypeError('an option is a bool, int, str or list, not %r' % (kind,))
        self.name, self.kind, self.default, self.help = name, kind, default, help or name

    def fallback(self) -> Optional[bytes]:
        """The default as a user writes it in a pipeline."""
        if self.default is None:
            return None
        if self.kind is bool:
            return b'on' if self.default else b'off'
        if self.kind is list:
            return encode('+'.join(self.default))
        return encode(str(self.default))


class Pass:
    """What a pass gets: the model, the graph, the options, and the runner's services."""

    def __init__(self, pointer: int, model: Model, graph: Optional[Graph], options):
        self._pointer, self.model, self.graph = pointer, model, graph
        self._options: Dict[str, Option] = options
        self._failed = False

    def __getitem__(self, name: str) -> Any:
        """The value of an option."""
        kind = self._options[name].kind
        key, p = encode(name), self._pointer
        if kind is bool:
            return lib.surg_pass_bool(p, key)
        if kind is int:
            return lib.surg_pass_int(p, key)
        if kind is str:
            return decode(lib.surg_pass_string(p, key))
        return [decode(lib.surg_pass_list_at(p, key, i))
                for i in range(lib.surg_pass_list_count(p, key))]

    def allow(self) -> bool:
        """Before each rewrite: False if the limit of rewrites is reached."""
        return lib.surg_pass_allow(self._pointer)

    def allows(self, exactness: str) -> bool:
        """Whether a rewrite of that class is permitted."""
        return lib.surg_pass_allows(self._pointer, to_exactness(exactness))

    def used(self, exactness: str) -> None:
        """Reports the class of a rewrite."""
        lib.surg_pass_used(self._pointer, to_exactness(exactness))

    def keeps(self, item: Union[Node, Tensor]) -> bool:
        """Whether the user protects the node or tensor."""
        if isinstance(item, Node):
            return lib.surg_pass_keeps_node(self._pointer, item._pointer())
        return lib.surg_pass_keeps_value(self._pointer, pointer_of(item, Tensor))

    def note(self, text: str, node: Optional[Node] = None) -> None:
        """Adds a line to the notes of the report."""
        lib.surg_pass_note(self._pointer, pointer_of(node, Node) if node is not None else None,
                           encode(text))

    def count(self, what: str, by: int = 1) -> None:
        """Adds to a counter of the report."""
        lib.surg_pass_count(self._pointer, encode(what), by)

    def fail(self, text: str, node: Optional[Node] = None) -> None:
        """Fails the run because of the model: raises InvalidModel."""
        self._failed = True
        lib.surg_pass_fail(self._pointer, pointer_of(node, Node) if node is not None else None,
                           encode(text))
        raise _PassFailed()

    def usage(self, text: str) -> None:
        """Fails the run because of the options: raises UsageError."""
        self._failed = True
        lib.surg_pass_usage(self._pointer, encode(text))
        raise _PassFailed()


class PassInfo(NamedTuple):
    """A pass. options: (name, kind, default as text, help). plugin: where it comes from; None for
    a built-in one."""
    name: str
    help: str
    scope: str
    exactness: str
    changes_interface: bool
    options: Tuple[Tuple[str, str, Optional[str], str], ...]
    plugin: Optional[str]


class PresetInfo(NamedTuple):
    """A preset: a name for a pipeline."""
    name: str
    pipeline: str
    help: str


def _registry(context: Optional[Context]) -> Any:
    context = context or Context()
    context.prepare_passes()
    return context, context.make(lib.surg_context_passes, context._pointer)


def passes(context: Optional[Context] = None) -> List[PassInfo]:
    """The passes: built-in ones, those of Python, and those of plugins of the context."""
    context, registry = _registry(context)
    out = []
    for i in range(lib.surg_registry_pass_count(registry)):
        pointer = lib.surg_registry_pass(registry, i)
        p = pointer.contents
        options = tuple(
            (decode(o.name), _c.surg_option_kind(o.kind).name.lower(), decode(o.fallback),
             decode(o.help)) for o in (p.options[k] for k in range(p.option_count)))
        out.append(PassInfo(
            decode(p.name), decode(p.help), _c.surg_pass_scope(p.scope).name.lower(),
            exactness_name(p.exactness), p.changes_interface, options,
            decode(lib.surg_registry_plugin_of(registry, pointer))))
    return out


def presets(context: Optional[Context] = None) -> List[PresetInfo]:
    """The presets."""
    context, registry = _registry(context)
    out: List[PresetInfo] = []
    while True:
        p = _c.surg_preset(size=C.sizeof(_c.surg_preset))
        if lib.surg_registry_preset(registry, len(out), C.byref(p)):
            return out
        out.append(PresetInfo(decode(p.name), decode(p.pipeline), decode(p.help)))


class _PassFailed(Exception):
    """Ends a pass that failed by Pass.fail; the library has the line."""


class _Registered:
    """The struct of a pass, and what it refers to."""

    def __init__(self, name, function, options, scope, needs, exactness, interface, edits, help):
        self.name, self.function = name, function
        self.options = {o.name: o for o in options}
        self.texts = [encode(name), encode(help)]
        table = (_c.surg_option * max(len(options), 1))()
        for i, o in enumerate(options):
            self.texts += [encode(o.name), o.fallback(), encode(o.help)]
            table[i].size = C.sizeof(_c.surg_option)
            table[i].name, table[i].kind = self.texts[-3], _KINDS[o.kind]
            table[i].fallback, table[i].help = self.texts[-2], self.texts[-1]
        self.table = table
        self.callback = dict(_c.surg_pass._fields_)['run'](self.call)
        self.struct = _c.surg_pass(
            size=C.sizeof(_c.surg_pass), scope=scope, name=self.texts[0], help=self.texts[1],
            options=table, option_count=len(options), needs=needs, keeps=0, exactness=exactness,
            changes_interface=interface, run=self.callback, edits=edits)

    def call(self, pointer, graph):
        """Called by the library. No exception leaves it: the run raises it afterwards."""
        box = context = None
        try:
            model = lib.surg_pass_model(pointer)
            context = contexts[lib.surg_pass_context(pointer)]
            box = Box(context, model, owned=False)
            before = lib.surg_model_epoch(model)
            p = Pass(pointer, model_of(box), wrap(box, Graph, graph), self.options)
            self.function(p)
            p.model._ready()
            box.unsorted = False
            return _c.surg_pass_result.UNCHANGED if lib.surg_model_epoch(model) == before \
                else _c.surg_pass_result.CHANGED
        except _PassFailed:
            return _c.surg_pass_result.FAILED
        except BaseException as e:
            text = '%s: %s' % (type(e).__name__, e)
            lib.surg_pass_fail(pointer, None, encode(text.replace('\0', ' ')))
            if context is not None:
                context._pending.append(e)
            return _c.surg_pass_result.FAILED
        finally:
            if box is not None:
                box.close('the pass that read this has ended')


def register_pass(name: str, *, options: Sequence[Option] = (), scope: str = 'graph',
                  needs: Sequence[str] = (), exactness: str = 'exact', interface: bool = False,
                  edits: bool = False, help: str = '') -> Callable[[Callable], Callable]:
    """A decorator that registers a function as a pass. It gets a Pass and edits `p.graph`, once for
    every graph, or with scope="model" `p.model`. Whether it changed something is observed.

    needs: "sorted", "types" (inferred before), "defects" (also run on models with defects).
    exactness: the class of its changes. interface: it may change inputs and outputs. edits: its
    options spell out the change, so that naming the pass is consent."""
    if not re.fullmatch(r'[a-z][a-z0-9-]*', name):
        raise ValueError('the name of a pass is of lower-case letters, digits and "-": %r' % name)
    if scope not in ('graph', 'model'):
        raise ValueError('scope is "graph" or "model", not %r' % scope)
    if any(p.name == name for p in registered_passes):
        raise ValueError('a pass "%s" is registered already' % name)
    facts = 0
    for need in needs:
        if need not in _FACTS:
            raise ValueError('needs is of "sorted", "types" and "defects", not %r' % need)
        facts |= _FACTS[need]

    def decorate(function):
        text = help or (function.__doc__ or name).strip().split('\n')[0]
        registered_passes.append(_Registered(
            name, function, list(options), _c.surg_pass_scope[scope.upper()], facts,
            to_exactness(exactness), interface, edits, text))
        return function
    return decorate
