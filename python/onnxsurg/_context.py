# SPDX-License-Identifier: Apache-2.0
"""Contexts, and the ownership of models.

Every call goes through the lock of its context, since one thread at a time may use a context and
what belongs to it. A finalizer must not wait: what it frees is queued if the lock is in use."""
import ctypes as C
import os
import signal
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _c, errors
from ._lib import lib

# Passes registered with register_pass: (keeper of the ctypes objects, pointer). They live as long
# as the process, since contexts refer to them.
registered_passes: List[Any] = []

# Pointer of a context: the Context, for callbacks of the library.
contexts: Any = weakref.WeakValueDictionary()


def encode(text: Any) -> Optional[bytes]:
    """A text of Python for the library. Bytes that were not UTF-8 return as they were read."""
    if text is None:
        return None
    if isinstance(text, bytes):
        data = text
    elif isinstance(text, str):
        data = text.encode('utf-8', 'surrogateescape')
    else:
        raise TypeError('expected a string, found %s' % type(text).__name__)
    if b'\0' in data:
        raise ValueError('a string with a NUL character: %r' % text)
    return data


def counted(texts: Sequence[bytes]) -> Any:
    """An array of surg_str; it keeps the texts alive."""
    out = (_c.surg_str * max(len(texts), 1))()
    out._texts = [C.c_char_p(t) for t in texts]
    for entry, text, data in zip(out, out._texts, texts):
        entry.p, entry.n = C.cast(text, C.c_void_p).value, len(data)
    return out


def decode(data: Optional[bytes]) -> Any:
    """A text of the library for Python; None for NULL."""
    return None if data is None else data.decode('utf-8', 'surrogateescape')


def mistyped(function, error: C.ArgumentError) -> TypeError:
    """What is raised for an argument that a function of the library cannot get."""
    return TypeError('%s: %s' % (function.__name__, str(error).replace('TypeError: ', '')))


class Context:
    """Rules, schemas, limits and diagnostics that models share. A model that is loaded without one
    gets its own, so that threads can work on different models at the same time; one thread at a
    time works in a context, others wait."""

    def __init__(self, *, rules: Sequence[str] = (), schemas: Sequence[str] = (),
                 plugins: Sequence[Any] = (), max_memory: int = 0, max_depth: int = 0):
        self._pointer = None
        self._lock = threading.RLock()
        self._queue: List[Tuple[Callable, Any]] = []
        self._lines: List[str] = []
        self._pending: List[BaseException] = []
        self._known = 0
        self._living = 0  # objects that `free` will be called for
        self._ended = False
        self._interrupted = False  # an object may have been lost: the context is not freed
        self._rules: Dict[str, range] = {}  # text: numbers of its rules
        lines = self._lines  # not self: the callback must not keep the context alive

        @_c.surg_diag_fn
        def diagnose(_user, _severity, line):
            lines.append(decode(line))
        self._diagnose = diagnose
        config = _c.surg_config(size=C.sizeof(_c.surg_config), diag=diagnose,
                                max_memory=max_memory, max_depth=max_depth)
        self._pointer = lib.surg_context_new(C.byref(config))
        if not self._pointer:
            raise errors.OutOfMemory('onnxsurg: error: out of memory')
        contexts[self._pointer] = self
        for i, text in enumerate(schemas):
            data = encode(text)
            self.do(lib.surg_context_load_schemas, self._pointer, data, len(data),
                    b'schema %d' % (i + 1))
        for text in rules:
            self.load_rules(text)
        for path in plugins:
            self.load_plugin(path)

    def load_plugin(self, path: Any) -> None:
        """Loads a plugin (doc/plugin-abi.md); its passes can then be used in pipelines."""
        self.do(lib.surg_context_load_plugin, self._pointer, encode(os.fsencode(path)))

    def __del__(self):
        if self._pointer and not self._interrupted:
            self._drain()
            self._ended = True
            self._end()

    def _end(self):
        """Frees the context after the last of its objects. Where all of them are garbage of one
        cycle, Python calls __del__ of this object before it calls those of models."""
        if self._ended and not self._living and self._pointer:
            pointer, self._pointer = self._pointer, None
            lib.surg_context_free(pointer)

    @property
    def messages(self) -> List[str]:
        """The lines that the last call reported: notes, warnings, errors."""
        return list(self._lines)

    def memory(self) -> Tuple[int, int]:
        """Bytes in use, and their maximum so far."""
        peak = C.c_uint64()
        now = self.call(lib.surg_context_memory, self._pointer, C.byref(peak))
        return now, peak.value

    def load_rules(self, text: str, name: str = 'rules') -> List[str]:
        """Adds rewrite rules (doc/rules.md); returns their names. A text that was added before is
        not added again."""
        with self._lock:
            return [decode(lib.surg_rule_name(lib.surg_context_rule(self._pointer, i)))
                    for i in self.rule_range(text, name)]

    def rule_range(self, text: str, name: str = 'rules') -> range:
        """The numbers of the rules of a text, which is added if it is new."""
        with self._lock:
            if text in self._rules:
                return self._rules[text]
            data, before = encode(text), lib.surg_context_rule_count(self._pointer)
            self.do(lib.surg_context_load_rules, self._pointer, data, len(data), encode(name))
            after = lib.surg_context_rule_count(self._pointer)
            self._rules[text] = range(before, after)
            return self._rules[text]

    def rules(self) -> List[str]:
        """The names of all rules: the built-in ones, then loaded ones."""
        with self._lock:
            return [decode(lib.surg_rule_name(lib.surg_context_rule(self._pointer, i)))
                    for i in range(lib.surg_context_rule_count(self._pointer))]

    # ---- calls ----

    def _drain(self):
        while self._queue:
            function, pointer = self._queue.pop()
            function(pointer)
            self._living -= 1

    def call(self, function, *arguments):
        """A call without a status."""
        with self._lock:
            return function(*arguments)

    def do(self, function, *arguments) -> int:
        """A call with a status; a failure raises."""
        with self._lock:
            if self._queue:
                self._drain()
            self._begin()
            try:
                status = function(*arguments)
            except C.ArgumentError as e:
                raise mistyped(function, e) from None
            self._raise_pending()
            if status < 0:
                raise self.error(status)
            return status

    def make(self, function, *arguments):
        """A call that returns a pointer; NULL raises."""
        with self._lock:
            self._begin()
            try:
                pointer = function(*arguments)
            except C.ArgumentError as e:
                raise mistyped(function, e) from None
            self._raise_pending()
            if not pointer:
                raise self.error(lib.surg_context_error_status(self._pointer) or
                                 _c.surg_status.EUSAGE)
            return pointer

    def _begin(self):
        del self._lines[:]
        lib.surg_context_clear_error(self._pointer)

    def _raise_pending(self):
        if self._pending:
            first = self._pending[0]
            del self._pending[:]
            raise first

    def error(self, status: int, text: str = '') -> errors.Error:
        """The exception of a failed call: its first error line."""
        line = decode(lib.surg_context_error(self._pointer))
        if line is None:
            line = text or decode(lib.surg_status_name(status)) or 'failed'
        return errors.error_of(status, line, self._lines)

    def owns(self, pointer):
        """Counts an object, which `free` will be called for."""
        with self._lock:
            self._living += 1
        return pointer

    def disowns(self) -> None:
        """Counts an object no more: somebody else frees it."""
        with self._lock:
            self._living -= 1

    def free(self, function, pointer):
        """Frees an object of the context now, or when the context is used next."""
        if self._lock.acquire(blocking=False):
            try:
                function(pointer)
                self._living -= 1
                self._end()
            finally:
                self._lock.release()
        else:
            self._queue.append((function, pointer))

    def __enter__(self) -> 'Context':
        """While an object of the library is not owned yet: an exception that is none of the
        library, such as KeyboardInterrupt, may lose it."""
        self._lock.acquire()
        return self

    def __exit__(self, kind, _value, _trace):
        if kind is not None and not issubclass(kind, Exception):
            self._interrupted = True
        self._lock.release()

    def own(self, function, *arguments) -> 'Box':
        """The model that a function returns."""
        with self:
            return Box(self, self.make(function, *arguments))

    def take_text(self, pointer) -> str:
        """The text that a function gave, which is freed."""
        try:
            return decode(C.string_at(pointer))
        finally:
            lib.surg_context_free_bytes(self._pointer, pointer)

    def prepare_passes(self):
        """Registers the passes of register_pass that this context does not have yet."""
        with self._lock:
            if self._known == len(registered_passes):
                return
            registry = self.make(lib.surg_context_passes, self._pointer)
            for entry in registered_passes[self._known:]:
                self.do(lib.surg_registry_add_pass, registry, C.byref(entry.struct))
                self._known += 1


class Interrupts:
    """While a call runs that a callback can cancel: Ctrl-C waits, ends the call by the callback,
    and is raised then. An exception inside of the callback would be dropped by ctypes."""

    def __init__(self, context: Context):
        self._context, self._before = context, None

    def _note(self, _signal, _frame):
        self._context._pending.append(KeyboardInterrupt())

    def __enter__(self):
        if threading.current_thread() is threading.main_thread() and \
                signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)

    def __exit__(self, kind, _value, _trace):
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            if kind is None:
                self._context._raise_pending()
            del self._context._pending[:]


class Box:
    """A model of the library. Its wrappers and views keep it alive; it is freed with the last."""

    __slots__ = ('context', 'pointer', 'owned', 'views', 'loaded', 'unsorted', 'wrappers',
                 'detached', 'why', '__weakref__')

    def __init__(self, context: Context, pointer: int, owned: bool = True, loaded: int = 0):
        self.context, self.pointer, self.owned = context, None, owned
        self.views = weakref.WeakValueDictionary()  # memory of the model that arrays refer to
        self.loaded = loaded    # time of the load in ns: files older than that are unchanged
        self.unsorted = False   # an edit may have left a graph unsorted
        self.wrappers = weakref.WeakValueDictionary()  # pointer: the one wrapper
        self.detached = {}      # value without a producer: the node that represents it
        self.why = 'the model was closed'
        self.open(pointer)

    def __del__(self):
        if self.owned and self.pointer:
            self.context.free(lib.surg_model_free, self.pointer)
            self.pointer = None

    def open(self, pointer: int) -> None:
        """Begins the use of a pointer, which is the box's to free if that owns what is in it."""
        self.pointer = self.context.owns(pointer) if self.owned else pointer

    def close(self, why: str):
        """Ends the use of the pointer, which somebody else frees: wrappers raise from now on."""
        if self.owned and self.pointer:
            self.context.disowns()
        self.pointer, self.why = None, why

    def retire(self, why: str) -> None:
        """Ends the use of the pointer; the model lives on as long as arrays refer to its memory."""
        keeper = Box(self.context, self.pointer, self.owned)
        for memory in list(self.views.values()):
            memory._box = keeper
        self.close(why)

    def dead(self) -> errors.Error:
        return errors.Erased('onnxsurg: error: %s' % self.why)
