# SPDX-License-Identifier: Apache-2.0
"""Checks a certificate: reads the three files, replays the steps, and counts what is proven."""
import collections
import functools
import hashlib
import json
import pathlib

from proto import Model
from rules import Catalogue
from state import Refused, State, refuse
from steps import Replay
from versions import Versions

RULES = pathlib.Path(__file__).resolve().parents[2] / 'passes' / 'rules'


STATUS = RULES.parents[1] / 'test' / 'proofs' / 'status.txt'
catalogue_of = functools.lru_cache()(Catalogue)
versions_of = functools.lru_cache()(Versions)


def lines_of(path):
    """(number, object) of each line, and the digest of all but the last."""
    data = pathlib.Path(path).read_bytes()
    lines = data.splitlines(keepends=True)
    refuse(len(lines) < 3, 'the certificate has no end')
    out = []
    for k, line in enumerate(lines):
        try:
            out.append((k + 1, json.loads(line)))
        except ValueError:
            raise Refused('line %d is no JSON' % (k + 1))
    return out, hashlib.sha256(b''.join(lines[:-1])).hexdigest()


def check(certificate, source, output, report, rules=None):
    """Raises Refused unless `output` is what the certificate makes of `source`."""
    report.line = 1
    lines, above = lines_of(certificate)
    head, last, order = lines[0][1], lines[-1][1], lines[-2][1]
    before, after = Model(source), Model(output)
    refuse(head.get('certificate') != 1, 'another version of certificates')
    refuse(head['input'] != before.stated, 'the input file is not the one that the certificate states')
    report.line = len(lines)
    refuse(last['above'] != above, 'the certificate was changed')
    refuse(last['output'] != after.stated, 'the output file is not the one that the certificate states')
    catalogue = catalogue_of(tuple(rules or sorted(RULES.glob('*.rules'))))
    versions = versions_of(RULES.parents[1] / 'lib/schema')
    replay = report.replay = Replay(State(before), catalogue, versions)
    count = 0
    for number, step in lines[1:-2]:
        report.line, count = number, count + ('step' in step)
        refuse(step.get('step', count) != count, 'a step is left out')
        if step.get('undone'):
            replay = report.replay = Replay(State(before), catalogue, versions)
        else:
            replay.step(step)
    report.line = len(lines) - 1
    replay.s.compare(after, order['order'])


class Report:
    line, replay = 0, None

    def verdict(self, *args, **more):
        """None: accepted; else why not."""
        try:
            check(*args, self, **more)
        except Refused as e:
            return str(e)
        except Exception as e:  # whatever a wrong file leads to: it is not accepted
            return 'malformed: %s: %s' % (type(e).__name__, e)
        return None

    def lines(self, detail):
        yes, no = self.replay.proven, self.replay.unproven
        lines = STATUS.read_text().splitlines() if STATUS.exists() else []
        proof, by = {l.split()[0]: l.split()[1] for l in lines}, collections.Counter()
        for (what, kind), n in yes.items():
            rule = what[5:] if what.startswith('rule ') else None
            by['%s/%s' % (kind, proof.get(rule, 'tested')) if rule else
               kind if kind == 'kept' else 'recomputed'] += n
        yield 'rewrites: %d, proven: %d (%s), not proven: %d' % (
            sum(yes.values()) + sum(no.values()), sum(yes.values()),
            ', '.join('%s %d' % x for x in sorted(by.items())) or 'none', sum(no.values()))
        for (what, why), n in sorted(no.items(), key=lambda x: -x[1]) if detail else ():
            yield '  not proven: %s: %s: %d' % (what, why, n)
