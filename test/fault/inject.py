# SPDX-License-Identifier: Apache-2.0
"""Makes allocations or system calls fail, one run each: inject.py TOOL alloc|sys [COUNT [PLUGIN]]

Every allocation (or call) of every case fails once, and once with all that follow it; with COUNT,
an even sample of about that many runs is made. ONNXSURG_FAULTS overrides COUNT; 0 means all. "sites"
means one allocation for each chain of callers that no earlier case has: each place of the program
that can run out of memory, with what calls it; "sites:N" is an even sample of about N runs of these.
ONNXSURG_CASES is a regular expression for the names of the cases that are run.
A run that meets a fault must end with its exit code and a line that says why, leave the old output
as it was and nothing beside it; or, where the program can do without, do all it was asked to."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from common import build_cases, workplace

# alloc: out of memory is exit code 4. sys: 3; 4 where the call was one for memory.
CODES = {"alloc": {4}, "sys": {3, 4}}


def judge(case, kind, at, result, state):
    """None, or what is wrong."""
    code, errors = result.returncode, result.stderr.decode(errors="replace")
    if code == case.ok:
        return None if state == case.expected else "exit %d, but the output differs" % code
    # A pass in a process of its own whose pipe breaks looks like a plugin that ended it.
    excused = (code == 2 and "cannot load plugin: " in errors
               or code == 5 and case.name == "isolated plugin" and "of plugin" in errors)
    if code not in CODES[kind] and not excused:
        return f"exit {code}: {errors.strip()}"
    if "error: " not in errors and b'"E001"' not in result.stdout:
        return f"exit {code} without a word"
    if state == case.before:
        return None
    if kind == "sys" and done_but(case, at, errors, state):
        return None
    return f"exit {code}, and {sorted(state)} where {sorted(case.before)} was: {errors.strip()}"


def done_but(case, at, errors, state):
    """System calls only: the last steps come after the output is there, and a file cannot be taken
    away while every call fails."""
    if state == case.expected:
        return "folder cannot be synced" in errors or case.args[-1].endswith("txt")
    rest = {k: v for k, v in state.items() if k in case.before}
    more = {k: v for k, v in state.items() if k not in case.before}
    return (at.endswith(":p") and rest == case.before
            and all(case.expected.get(k) == v for k, v in more.items()))


def litter(case, kind, at):
    """None, or the temporary files that a run left. Nothing can be removed while every call fails;
    if the removal of one file fails, that file and its folder remain."""
    left = [name for _, _, names in os.walk(case.temporary) for name in names]
    folders = case.left()
    if not folders or kind == "sys" and (at.endswith(":p") or len(left) <= 1):
        return None
    return "left temporary files: %s" % " ".join(folders + left)


def new_sites(case, seen):
    """The first allocation of each chain of callers that is not in `seen`."""
    case.reset()
    path = os.path.join(case.root, "sites")
    case.run(SURG_FAULT_SITES=path)
    if not os.path.exists(path):
        print("the C library of this program cannot name callers")
        sys.exit(77)
    found = []
    with open(path, encoding="ascii") as f:
        for n, line in enumerate(f, 1):
            if line not in seen:
                seen.add(line)
                found.append(n)
    return found


def sites(cases):
    """The points of each case for its new sites."""
    seen = set()
    for case in cases:
        yield case, [f"{n}{how}" for n in new_sites(case, seen) for how in ("", ":p")]


def thin(jobs, count):
    """An even sample of all points; the step is odd, so that both kinds come. count 0: all."""
    step = max(1, sum(len(points) for _, points in jobs) // count) | 1 if count else 1
    kept, at = [], 0
    for case, points in jobs:
        kept.append((case, points[-at % step::step]))
        at += len(points)
    return kept


def sample(cases, totals, count):
    """The points of each case: a share for each, as those that read all rules would have nearly all
    of it; the step is odd, so that both kinds come."""
    for i, (case, total) in enumerate(zip(cases, totals)):
        step = max(1, 2 * total * len(cases) // count) | 1 if count else 1
        points = [f"{n}{how}" for n in range(1, total + 1) for how in ("", ":p")]
        yield case, points[i % step::step]


def work(case, kind, points):
    failures, absorbed = [], 0
    variable = "SURG_FAULT_ALLOC" if kind == "alloc" else "SURG_FAULT_SYS"
    for at in points:
        case.reset()
        try:
            result = case.run(**{variable: at})
        except subprocess.TimeoutExpired:
            failures.append(f"{case.name}: {variable}={at}: does not end")
            continue
        state = case.state()
        wrong = judge(case, kind, at, result, state) or litter(case, kind, at)
        absorbed += result.returncode == case.ok
        if wrong:
            failures.append(f"{case.name}: {variable}={at}: {wrong}")
    return failures, absorbed


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in CODES:
        sys.exit(__doc__)
    tool, kind = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = os.environ.get("ONNXSURG_FAULTS", sys.argv[3] if len(sys.argv) > 3 else "0")
    root = workplace()
    try:
        cases = build_cases(tool, root, os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None)
        wanted = re.compile(os.environ.get("ONNXSURG_CASES", ""))
        cases = [c for c in cases if wanted.search(c.name)]
        totals = [case.counts()[0 if kind == "sys" else 1] for case in cases]
        if count.startswith("sites"):
            jobs = thin(list(sites(cases)), int(count[6:] or 0))
        else:
            jobs = list(sample(cases, totals, int(count)))
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda j: work(j[0], kind, j[1]), jobs))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    failures = [f for r in results for f in r[0]]
    for line in failures[:40]:
        print("FAIL", line)
    print(f"{sum(len(j[1]) for j in jobs)} injections over {len(jobs)} cases, "
          f"{sum(r[1] for r in results)} done without, {len(failures)} failures")
    sys.exit(bool(failures))


main()
