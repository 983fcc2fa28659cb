# SPDX-License-Identifier: Apache-2.0
"""Exceptions. Each has the status of the library, the whole line, and the place in the model."""
import re
from typing import List, Optional, Sequence

from . import _c

Status = _c.surg_status

_LINE = re.compile(r'(?P<file>.*?): (?P<kind>error|warning|note): (?P<rest>.*)', re.DOTALL)
_PASS = re.compile(r'pass "((?:[^"\\]|\\.)*)"[^:]*: ')
_WHERE = re.compile(r'((?:graph|function\[\d+\]|model)(?:\.\w+(?:\[\d+\])?|\[\d+\])*'
                    r'(?: "(?:[^"\\]|\\.)*")?(?: \([^()]*\))?'
                    r'(?:\.\w+(?:\[\d+\])?(?: "(?:[^"\\]|\\.)*")?)*): (.*)', re.DOTALL)


class Error(Exception):
    """A call of the library failed.

    status: the status of the library. line: the located line that it reported, as the program
    prints it. file, pass_name, where, text: its parts; '' for one that the line does not have.
    messages: all lines of the call, notes and warnings included."""

    status: Status = Status.EINTERNAL

    def __init__(self, line: str = '', status: Optional[Status] = None,
                 messages: Sequence[str] = ()):
        super().__init__(line)
        self.line = line
        if status is not None:
            self.status = status
        self.messages: List[str] = list(messages)
        m = _LINE.fullmatch(line)
        self.file = m.group('file') if m else ''
        rest = m.group('rest') if m else line
        named = _PASS.match(rest)
        self.pass_name = named.group(1) if named else ''
        rest = rest[named.end():] if named else rest
        place = _WHERE.fullmatch(rest)
        self.where = place.group(1) if place else ''
        self.text = place.group(2) if place else rest


class InvalidModel(Error):
    """The model is invalid, or a pass or the comparison rejects it."""
    status = Status.EINVALID


class UsageError(Error, ValueError):
    """An argument is wrong: a pipeline, an option, a name."""
    status = Status.EUSAGE


class FileError(Error, OSError):
    """A file or system error."""
    status = Status.EIO

    def __str__(self) -> str:
        return self.line


class LimitError(Error):
    """A limit was reached: memory, time, depth."""
    status = Status.ELIMIT


class OutOfMemory(Error, MemoryError):
    """Memory ran out."""
    status = Status.ENOMEM


class InternalError(Error):
    """A fault of the library; please report it."""
    status = Status.EINTERNAL


class PluginError(Error):
    """A pass of a plugin, or one in Python, misbehaved."""
    status = Status.EPLUGIN


class Erased(Error, ReferenceError):
    """The node, tensor, graph or model of this object does not exist any more."""
    status = Status.EERASED


class NotFound(Error, LookupError):
    """There is no such thing."""
    status = Status.ENOTFOUND


class Unsupported(Error):
    """The library cannot do this."""
    status = Status.EUNSUPPORTED


class NotDone(Error):
    """A pass did not do what was requested by name. The model has the other changes; `report` is
    the report of the run."""
    status = Status.ENOTFOUND
    report = None


class NotSupported(Error):
    """A repair did not reach a model that the target supports. `model` is the model as far as it
    was repaired, `report` what was found."""
    status = Status.EUNSUPPORTED
    model = None
    report = None


class Cancelled(Error):
    """A cancel callback returned True."""
    status = Status.ECANCELLED


_CLASSES = {c.status: c for c in (InvalidModel, UsageError, FileError, LimitError, OutOfMemory,
                                  InternalError, PluginError, Erased, NotFound, Unsupported,
                                  Cancelled)}


def error_of(status: int, line: str, messages: Sequence[str] = ()) -> Error:
    """The exception of a status."""
    try:
        status = Status(status)
    except ValueError:
        status = Status.EINTERNAL
    return _CLASSES.get(status, Error)(line, status, messages)
