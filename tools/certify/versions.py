# SPDX-License-Identifier: Apache-2.0
"""Versions of operators: the defaults of their attributes (lib/schema/ops.table), and whether a node
means the same in the version before or after (lib/schema/steps.table)."""
import re
import struct

from folds import attr_value
from state import same_attr

ATTRIBUTE = re.compile(r'(\w+):(\w+)(?:!|=("[^"]*"|\[[^\]]*\]|[^,\s]+))?')


def lines_of(path):
    """(whether it is about one version, line); what starts deeper continues the line before."""
    text = re.sub(r'\n {5,}', ' ', path.read_text(encoding='utf-8'))
    for line in text.splitlines():
        if line.strip() and not line.startswith('#'):
            yield line.startswith(' '), line.strip()


def default_of(kind, text):
    """A default as attr_value gives attributes; None: there is none."""
    if not text or kind not in ('int', 'float', 'string'):
        return [int(i) for i in re.findall(r'-?\d+', text)] if text and kind == 'ints' else None
    return text[1:-1] if kind == 'string' else int(text) if kind == 'int' else \
        struct.unpack('f', struct.pack('f', float(text)))[0]


class Versions:
    def __init__(self, folder):
        self.known, self.steps, shared, at, domain = {}, {}, {}, [], ''
        for inner, line in lines_of(folder / 'ops.table'):
            if inner:
                since, text = line.split(':', 1)
                attrs, gone = re.search(r'\{(.*)\}', text), 'deprecated' in text.rpartition('|')[2]
                at.append((int(since), None if gone else at[-1][1] if at and not attrs else {
                    a: default_of(k, d) for a, k, d in ATTRIBUTE.findall(attrs[1] if attrs else '')}))
            elif line.startswith('domain'):
                domain = line.split('"')[1]
            elif re.match(r'\w+ \d', line):
                at = self.known.setdefault((domain, line.split()[0]), [])
        for inner, line in lines_of(folder / 'steps.table'):
            head, _, where = line.partition('|')[0].partition(':' if inner else '=')
            words = re.findall(r'[\w-]+(?:\([^)]*\))?', where)
            if inner or line.startswith('rule'):
                way, out = 'both', []
                for w in words:
                    way = w if w in ('up', 'down', 'both') else way
                    out += shared.get(w) or ([(way, w)] if w != way else [])
                (at if inner else shared)[int(head) if inner else head.split()[1]] = out
            elif line.startswith('domain'):
                domain = line.split('"')[1]
            else:
                at = self.steps[domain, line.split()[0]] = {int(v): [] for v in line.split()[2:]}

    def at(self, n, opset):
        """(opset that the version is since, its attributes with their defaults)."""
        return max((v for v in self.known.get((n.domain, n.op), ()) if v[0] <= opset),
                   key=lambda v: v[0], default=(0, None))

    def default(self, n, name, opset):
        return (self.at(n, opset)[1] or {}).get(name)

    def same(self, old, new, a, b, replay):
        """Whether node `new` means at opset b what `old`, itself with other attributes, does at a;
        the next opset is b, or the one before."""
        (since, x), (to, y) = self.at(old, a), self.at(new, b)
        step = self.steps.get((new.domain, new.op), {}).get(max(since, to)) if since != to else []
        if x is None or y is None or step is None or any(k == 'ref' for k, _ in old.attrs.values()):
            return False
        step = [c for way, c in step if way in ('both', 'up' if b > a else 'down')]
        for name in {**x, **y, **old.attrs, **new.attrs}:
            p, q = old.attrs.get(name), new.attrs.get(name)
            left = (y if name in y else x).get(name)  # what it means to leave it out at b, and at a
            was = (x if name in x else y).get(name)
            if p is not None and q is not None:
                fine = same_attr(p, q)
            elif p is not None:
                fine = left is not None and attr_value(p) == left or 'drop(%s)' % name in step
            else:
                fine = was == left if q is None else was is not None and was == attr_value(q)
            if not fine:
                return False
        attrs = {**x, **{k: attr_value(v) for k, v in old.attrs.items()}}
        return all(self.holds(c, new, attrs, replay) for c in step)

    def holds(self, condition, n, attrs, replay):
        word, args = condition.rstrip(')').partition('(')[::2]
        name, _, value = args.partition(',')
        have = attrs.get(name)
        if word in ('is', 'isnt', 'drop'):
            return word == 'drop' or (str(have) == value) == (word == 'is')
        if word == 'least':
            have = [] if have is None else have if isinstance(have, list) else [have]
            return all(i >= int(value) for i in have)
        if word == 'last':
            dims = replay.facts.of(n.ins[0]).dims
            return dims is not None and have in (-1, len(dims) - 1)
        at = int(name) if name.isdigit() else None
        v = n.ins[at] if at is not None and at < len(n.ins) else None
        if word == 'unused':
            return at >= len(n.outs) or n.outs[at] is None or not replay.s.used(n.outs[at])
        if word in ('given', 'absent'):
            return (v is not None) == (word == 'given')
        if word == 'indices':
            t = replay.facts.of(v).elems if v is not None else []
            return t is not None and all(isinstance(i, int) and i >= 0 for i in t)
        dims = replay.facts.of(v).dims
        if word == 'same-shapes':
            shapes = [replay.facts.of(i).dims for i in n.ins]
            return None not in shapes and all(s == shapes[0] for s in shapes)
        return dims is not None and (
            word == 'scalar' and dims == () or word == 'rank' and len(dims) == int(value) or
            word == 'one' and dims in ((), (1,)))
