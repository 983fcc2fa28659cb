# SPDX-License-Identifier: Apache-2.0
"""What the wrappers of nodes, tensors and graphs have in common."""
from ctypes import ArgumentError
from typing import Any, Optional

from . import errors
from ._context import Box, decode, mistyped
from ._lib import lib

DETACHED = b'onnxsurg.detached'  # domain of the nodes behind tensors that have no producer yet


class Handle:
    """A handle of the library. It keeps its model alive; equal handles are equal objects."""

    __slots__ = ('_box', '_ptr', '__weakref__')
    _box: Optional[Box]
    _ptr: Optional[int]

    def _pointer(self) -> int:
        """The handle, checked: one that was removed raises."""
        box = self._box
        if box.pointer is None:
            raise box.dead()
        return self._ptr

    def _get(self, function, *arguments) -> Any:
        box = self._box
        with box.context._lock:
            try:
                return function(self._pointer(), *arguments)
            except ArgumentError as e:
                raise mistyped(function, e) from None

    def _text(self, function, *arguments) -> Any:
        return decode(self._get(function, *arguments))

    def _do(self, function, *arguments) -> int:
        with self._box.context._lock:
            return self._box.context.do(function, self._pointer(), *arguments)

    def _make(self, function, *arguments) -> int:
        with self._box.context._lock:
            return self._box.context.make(function, self._pointer(), *arguments)

    def __eq__(self, other):
        return self is other or (isinstance(other, Handle) and self._ptr is not None and
                                 self._ptr == other._ptr and self._box is other._box)

    def __hash__(self):
        return hash(self._ptr) if self._ptr is not None else id(self)


def pointer_of(item: Any, kind) -> int:
    """The checked handle of an argument. The library cannot tell handles of different kinds apart."""
    if not isinstance(item, kind):
        raise TypeError('expected a %s, found %s' % (kind.__name__, type(item).__name__))
    return item._pointer()


def wrap(box: Box, kind, pointer: Optional[int]):
    """The one wrapper of a pointer; None for NULL."""
    if not pointer:
        return None
    found = box.wrappers.get(pointer)
    if found is not None:
        return found
    out = object.__new__(kind)
    out._box, out._ptr = box, pointer
    box.wrappers[pointer] = out
    return out


def rebind(wrapper, box: Box, pointer: int):
    """Makes a wrapper the one of another handle."""
    if wrapper._ptr is not None and wrapper._box is not None:
        wrapper._box.wrappers.pop(wrapper._ptr, None)
    wrapper._box, wrapper._ptr = box, pointer
    box.wrappers[pointer] = wrapper


def erased(kind: str, name: str) -> errors.Error:
    return errors.Erased('onnxsurg: error: the %s "%s" was removed from its model' % (kind, name))


def gone(box: Box) -> None:
    """Removes the nodes behind detached tensors that nothing uses."""
    for value, node in list(box.detached.items()):
        if lib.surg_value_erased(value) or lib.surg_node_erased(node):
            del box.detached[value]
        elif lib.surg_value_producer(value, None) != node:
            del box.detached[value]
            box.context.do(lib.surg_node_erase, node)
        elif not lib.surg_value_use_count(value, 1):
            del box.detached[value]
            box.context.do(lib.surg_node_erase, node)
