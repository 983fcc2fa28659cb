# SPDX-License-Identifier: Apache-2.0
"""What a run, a check, a repair or a comparison found."""
import ctypes as C
import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _c
from ._context import Context, decode
from ._lib import lib

Exactness = _c.surg_exactness
Verdict = _c.surg_verdict


def exactness_name(number: int) -> str:
    return decode(lib.surg_exactness_name(number))


class PassReport(NamedTuple):
    """What one pass did, over all its runs."""
    name: str
    changed: bool
    exactness: str
    runs: int
    rewrites: int
    seconds: float
    counts: Dict[str, int]
    notes: Tuple[str, ...]


class Report:
    """What a run of a pipeline did.

    changed: whether the model changed. exactness: the worst class of what was done: "exact", "ulp",
    "rounding", "approx" or "lossy" (doc/rules.md). rewrites, seconds: of the whole run. passes: a
    PassReport for each pass. counts, notes: of all passes together. undone: requests by name that
    were not done. checked, skipped: sets of inputs on which the models were compared and were not;
    unchecked: the reason. messages: notes and warnings."""

    def __init__(self, context: Context, pointer: int, messages: List[str]):
        s = _c.surg_run_summary(size=C.sizeof(_c.surg_run_summary))
        lib.surg_run_get(pointer, C.byref(s))
        self.changed: bool = s.changed
        self.interface_changed: bool = s.interface_changed
        self.limit_reached: bool = s.limit_reached
        self.exactness: str = exactness_name(s.used)
        self.rewrites: int = s.rewrites
        self.seconds: float = s.ns / 1e9
        self.failed: Optional[str] = decode(s.failed)
        self.checked: int = s.checked
        self.skipped: int = s.skipped
        self.unchecked: str = decode(s.unchecked) or ''
        self.messages: List[str] = list(messages)
        self.passes: List[PassReport] = [self._pass(pointer, i) for i in range(s.passes)]
        self.undone: List[str] = [self._line(context, lib.surg_run_undone, pointer, i)
                                  for i in range(s.undone)]
        self._text = self._line(context, lib.surg_run_print, pointer, False)
        self._json = self._line(context, lib.surg_run_print, pointer, True)

    @staticmethod
    def _line(context, function, *arguments):
        text = C.c_char_p()
        context.do(function, *arguments, C.byref(text))
        pointer = C.cast(text, C.c_void_p).value
        return context.take_text(pointer) if pointer else ''

    @staticmethod
    def _pass(pointer, i):
        p = _c.surg_run_pass_summary(size=C.sizeof(_c.surg_run_pass_summary))
        lib.surg_run_pass(pointer, i, C.byref(p))
        counts, n = {}, C.c_uint64()
        for k in range(p.counters):
            what = decode(lib.surg_run_counter(pointer, i, k, C.byref(n)))
            counts[what] = n.value
        notes = tuple(decode(lib.surg_run_note(pointer, i, k)) for k in range(p.notes))
        return PassReport(decode(p.name), p.changed, exactness_name(p.used), p.runs, p.rewrites,
                          p.ns / 1e9, counts, notes)

    @property
    def counts(self) -> Dict[str, int]:
        """The counters of all passes."""
        out: Dict[str, int] = {}
        for p in self.passes:
            for what, n in p.counts.items():
                out[what] = out.get(what, 0) + n
        return out

    @property
    def notes(self) -> List[str]:
        """The notes of all passes."""
        return [note for p in self.passes for note in p.notes]

    def json(self) -> Dict[str, Any]:
        """The report as the program prints it with --json."""
        return json.loads(self._json)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return '<Report: %s, %d rewrites, %s>' % ('changed' if self.changed else 'unchanged',
                                                  self.rewrites, self.exactness)


class Finding(NamedTuple):
    """One finding of a check. severity: "note", "warning" or "error". code: see doc/check.md.
    pass_: a pass that cures it, or None. verdict: with a target, "supported", "unknown" or
    "unsupported".
    """
    severity: str
    code: str
    where: str
    text: str
    hint: Optional[str] = None
    pass_: Optional[str] = None
    verdict: Optional[str] = None
    source: Optional[str] = None
    misread: bool = False

    def __str__(self) -> str:
        return '%s %s: %s: %s' % (self.severity, self.code, self.where, self.text)


class CheckReport:
    """What a check found. errors, warnings, notes: how many. verdict: with a target, "supported",
    "unknown" or "unsupported"; None without. verdict_with_data: the same with the data of weights
    that are not available here. Truth: no errors, and with a target: supported."""

    def __init__(self, findings: List[Finding], counts: Tuple[int, int, int],
                 verdict: Optional[str] = None, misread: int = 0,
                 verdict_with_data: Optional[str] = None):
        self.findings = findings
        self.errors, self.warnings, self.notes = counts
        self.verdict, self.misread = verdict, misread
        self.verdict_with_data = verdict_with_data or verdict

    @property
    def ok(self) -> bool:
        return self.errors == 0 and self.verdict in (None, 'supported')

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self):
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        lines = [str(f) for f in self.findings]
        if self.verdict:
            lines.append('verdict: %s' % self.verdict)
        return '\n'.join(lines)

    def __repr__(self) -> str:
        return '<CheckReport: %d errors, %d warnings%s>' % (
            self.errors, self.warnings, ', %s' % self.verdict if self.verdict else '')


class RepairReport(NamedTuple):
    """What a repair found. verdict: on the repaired model with the data of all its weights; data: how
    many objections end with data that is not available here. pipeline: what was done, as for
    Model.run. exactness: the worst class of it. refused: pipelines that would help with consent to
    `wanted` (and to a changed interface, if wanted_interface)."""
    verdict: str
    pipeline: str
    exactness: str
    interface_changed: bool
    mended: bool
    unsupported: int
    unknown: int
    misread: int
    unsupported_before: int
    unknown_before: int
    refused: str
    wanted: str
    wanted_interface: bool
    data: int = 0
