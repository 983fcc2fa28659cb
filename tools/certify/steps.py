# SPDX-License-Identifier: Apache-2.0
"""Replays the steps of a certificate. A step of a rule must be what the rule makes; of any other
step each edit is proven on its own, or counted as not proven."""
import collections
import hashlib

from folds import Array, array_of, evaluate, reader
from proto import GRAPH, GRAPHS
from rules import COMMUTATIVE, Application, Parser
from shapes import Facts
from state import (GraphState, Refused, canonical, constant_of, refuse, same_attrs, trimmed)

RANDOM = {'RandomNormal', 'RandomNormalLike', 'RandomUniform', 'RandomUniformLike', 'Multinomial',
          'Bernoulli', 'Dropout'}
DEEP = 40  # nodes that a comparison of two values follows


class Replay:
    def __init__(self, state, catalogue, versions):
        self.s, self.catalogue, self.facts = state, catalogue, Facts(state)
        self.versions = versions
        self.next = None  # the opset that rules emitted for
        self.moved = {}  # nodes that changed since the imports did, as they were; None: made since
        self.equal = {}  # a representative of values that were proven equal
        self.proven = collections.Counter()    # (what, status) of rewrites
        self.unproven = collections.Counter()  # (what, why)
        self.arrays, self.parsed = {}, {}

    # --- values that are equal ---

    def find(self, v):
        while v in self.equal:
            v = self.equal[v]
        return v

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        if a != b:
            self.equal[a] = b

    def same(self, a, b, old, depth=0):
        """Whether two values are proven equal. `old`: definitions before the step."""
        if a is None or b is None:
            return a is b
        a, b = self.find(a), self.find(b)
        if a == b:
            return True
        if depth > DEEP:
            return False
        s, t = self.s.is_const(a) or old.was_const.get(a), self.s.is_const(b) or old.was_const.get(b)
        if s is not None and t is not None:
            return s.same(t) is True
        x, y = old.define(a), old.define(b)
        for one, other in ((x, b), (y, a)):
            if one is not None and not one[0].domain and one[0].op == 'Identity':
                if self.same(one[0].ins[0], other, old, depth + 1):
                    return True
        if x is not None and y is not None and self.same_nodes(x, y, old, depth + 1):
            return True
        f, g = old.facts.get(a) or self.facts.of(a), old.facts.get(b) or self.facts.of(b)
        if f.elems is not None and g.elems is not None and None not in f.elems and \
                f.dtype == g.dtype and f.dims == g.dims and f.elems == g.elems:
            return True
        for const, v in ((s, b), (t, a)):
            if const is not None and self.computes(v, const, old):
                return True
        return self.branch(x, b, old, depth) or self.branch(y, a, old, depth)

    def same_nodes(self, x, y, old, depth):
        (a, i), (b, k) = x, y
        if a is b:
            return i == k
        if (a.op, a.domain, a.overload, i) != (b.op, b.domain, b.overload, k) or a.op in RANDOM:
            return False
        if any(kind in (GRAPH, GRAPHS) for kind, _ in a.attrs.values()):
            return False
        if not same_attrs(a.attrs, b.attrs) or (a.domain, a.op, a.overload) in self.s.functions:
            return False
        ins, others = trimmed(a.ins), trimmed(b.ins)
        if len(ins) != len(others):
            return False
        if all(self.same(p, q, old, depth) for p, q in zip(ins, others)):
            return True
        return a.op in COMMUTATIVE and not a.domain and len(ins) == 2 and \
            self.same(ins[0], others[1], old, depth) and self.same(ins[1], others[0], old, depth)

    def branch(self, x, v, old, depth):
        """An If with a constant condition is its branch."""
        if x is None or x[0].op != 'If' or x[0].domain:
            return False
        c = self.value(x[0].ins[0], old)
        g = x[0].attrs.get('then_branch' if c is not None and c.items[0] else 'else_branch')
        if c is None or g is None or g[1] not in self.s.graphs:
            return False
        outs = old.outs(g[1])
        return x[1] < len(outs) and self.same(outs[x[1]], v, old, depth + 1)

    def value(self, v, old, depth=0):
        """The elements of a constant value, computed where its nodes are known; or None."""
        v = self.find(v)
        if v in self.arrays:
            return self.arrays[v]
        t = self.s.is_const(v) or old.was_const.get(v)
        d = old.define(v) if t is None else None
        if d is not None and d[0].op == 'Constant' and not d[0].domain and len(d[0].attrs) == 1:
            t = constant_of(d[0])  # erased in this step
        out = array_of(t) if t is not None else None
        if t is None and d is not None and depth < DEEP:
            out = self.compute(d[0], d[1], old, depth)
        if out is not None and len(out.items) <= 4096:
            self.arrays[v] = out
        return out

    def compute(self, n, k, old, depth=0):
        if n.domain or ('', n.op, '') in self.s.functions:
            return None
        if n.op == 'Shape' and n.ins:
            f = self.facts.of(n.ins[0])
            if f.dims is not None and all(isinstance(d, int) for d in f.dims):
                out = evaluate('Shape', [Array(1, f.dims, [])], reader(n), 1)
                return out[0] if out else None
        ins = []
        for v in n.ins:
            a = self.value(v, old, depth + 1) if v is not None else None
            if v is not None and a is None:
                return None
            ins.append(a)
        out = evaluate(n.op, ins, reader(n), len(n.outs))
        return out[k] if out is not None and k < len(out) else None

    def computes(self, v, t, old):
        """Whether the value is the tensor."""
        if followed(old.facts.get(v) or self.facts.of(v), t):
            return True
        a = self.value(v, old)
        return a is not None and a.dtype == t.dtype and a.dims == t.dims and same_raw(a, t)

    # --- steps ---

    def step(self, step):
        self.s.imports_before = dict(self.s.imports)
        application = self.application(step) if 'rule' in step else None
        if application is not None:
            application.check()
        old = Before(self.s, step, None if application else self.facts)
        self.gone = list(old.definition)
        self.edit(step)
        if 'after' in step:
            told = {nid: self.s.nodes[nid].content() for nid in step['nodes']}
            if canonical(told) != step['after']:
                raise Refused('the digest of the nodes after the step differs')
        if application is not None:
            self.applied(application, step, old)
        else:
            self.edits(step, old)
        self.defined(step)

    def application(self, step):
        rule = self.catalogue.rules.get(step['rule'])
        refuse(rule is None, 'the catalogue has no rule %s' % step['rule'])
        refuse(rule.hash != step['hash'], 'rule %s has another text' % step['rule'])
        key = step['rule'], step.get('for')
        if step.get('for') and not step['rule'].endswith('-' + step['for']):
            raise Refused('rule %s is not for %s' % key)
        if key not in self.parsed:
            self.parsed[key] = Parser(rule.text, step.get('for')).rule()
            self.parsed[key].exactness = rule.exactness
        before = {nid: self.s.nodes[nid].content() for nid in step['match']
                  if nid is not None and nid in self.s.nodes}
        refuse(canonical(before) != step['before'], 'the digest of the matched nodes differs')
        gid = next((self.s.nodes[i].graph for i in step['match'] if i in self.s.nodes), '0')
        return Application(self.parsed[key], step, self.s, self.facts, self.versions,
                           self.s.opset(gid))

    def applied(self, application, step, old):
        application.before = old.nodes
        replaced = {a: b for a, b in step.get('replace', ())}
        self.nothing_else(application, step, replaced, old)
        application.emitted(replaced)
        if step['pass'] == 'opset':
            if any(self.moved.get(i, i) is None for i in step['match']):
                application.unknown.append('match of two opsets')
            self.moved.update((i, None) for i in step.get('nodes', ()) if i not in old.nodes)
            self.next = step['opset']
        elif step['opset'] != application.at:
            application.unknown.append('opset of the model differs')
        if application.unknown:
            self.unproven['rule ' + step['rule'], application.unknown[0]] += 1
        else:
            self.proven['rule ' + step['rule'], application.rule.exactness] += 1

    def nothing_else(self, application, step, replaced, old):
        """A rule changes results of its match, and nothing else."""
        made = {v for _, _, n in application.nodes for v in n.outs}
        fine = all(t.same(self.s.const[v]) for v, t in old.was_const.items())
        fine &= all(a in made or old.ends[a] for a in replaced)
        fine &= all(v in made for v in step.get('constants', {}) if v in old.definition)
        for gid, outs in old.graph_outs.items():
            outs = [replaced.get(v, v) for v in outs]
            ins = [v for v in old.graph_ins[gid] if v not in self.s.const]
            fine &= outs == self.s.graphs[gid].outs and \
                ins == [v for v in self.s.graphs[gid].ins if v not in self.s.const]
        fine &= all(self.s.imports.get(d, n) == n for d, n in self.s.imports_before.items())
        refuse(not fine, 'the step changes more than the rule states')

    def edit(self, step):
        """Applies the edits."""
        for a, b in step.get('replace', ()):
            self.s.replace(a, b)
        for nid in step.get('erase', ()):
            if nid in self.s.nodes:
                self.s.drop(nid)
        for nid in step.get('nodes', {}):
            if nid in self.s.nodes:
                self.s.drop(nid)
        for gid, j in step.get('graphs', {}).items():
            self.put_graph(gid, j)
        for nid, j in step.get('nodes', {}).items():
            self.s.put(nid, self.s.node(j))
        for v, j in step.get('constants', {}).items():
            t, mine = self.s.tensor(j), self.s.const.get(v)
            missing = t.sha256() is None and mine is not None
            alike = missing and (mine.dtype, mine.dims) == (t.dtype, t.dims)
            if mine is None or not (mine.same(t) or alike):
                self.s.const[v] = t  # else its elements are known
            self.s.version += 1
        if 'imports' in step:
            self.s.imports = {'' if d == 'ai.onnx' else d: n for d, n in step['imports'].items()}

    def put_graph(self, gid, j):
        if gid not in self.s.graphs:
            self.s.graphs[gid] = GraphState()
            if 'function' in j:
                self.s.graphs[gid].function = j['function']
                self.s.functions[tuple(j['function'])] = gid
        g = self.s.graphs[gid]
        if gid == '0' and g.ins != j['in']:
            kept = [v for v in g.ins if v not in self.s.const]
            if [v for v in j['in'] if v not in self.s.const] != kept:
                self.s.interface = True
        g.ins, g.outs = list(j['in']), list(j['out'])

    def defined(self, step):
        """Every value that is used must be defined, after each step."""
        inputs = None
        for nid in step.get('nodes', {}):
            for v in self.s.nodes[nid].ins:
                if v is not None and v not in self.s.producer and v not in self.s.const:
                    if inputs is None:
                        inputs = {i for g in self.s.graphs.values() for i in g.ins}
                    refuse(v not in inputs, 'node %s reads %s, which is not defined' % (nid, v))
        for v in self.gone:
            if v not in self.s.producer and v not in self.s.const and self.s.used(v):
                outs = [g.outs for g in self.s.live_graphs() if not g.function]
                if self.s.uses.get(v) or any(v in o for o in outs):
                    raise Refused('%s is used, and not defined any more' % v)

    def edits(self, step, old):
        name = 'pass %s' % step['pass']
        for a, b in step.get('replace', ()):
            if a in old.used:
                self.count(name, 'replaced %s' % op_of(old.define(a)), self.same(a, b, old))
            self.join(a, b)
        for nid, j in step.get('nodes', {}).items():
            if nid in old.nodes:
                self.changed(name, nid, old)
        made = [v for nid in step.get('nodes', {}) for v in self.s.nodes[nid].outs]
        for v in made:
            if v is not None and v in old.definition and v in old.used:
                was = old.definition[v]
                now = self.s.nodes[self.s.producer[v][0]]
                if was[0] is not now:
                    self.redefined(name, v, was, (now, self.s.producer[v][1]), old)
        for v in step.get('constants', {}):
            if v in old.definition and v in old.used or v in old.was_const:
                t = self.s.const[v]
                if v in old.was_const:
                    ok = old.was_const[v].same(t) is True
                else:
                    d = old.definition.get(v)
                    ok = d is not None and self.gives(d, t, old) or self.retargeted(
                        v, t, v, [self.s.nodes[i] for i in self.s.uses.get(v, ())] + [
                            None for g in self.s.live_graphs() if v in g.outs], old)
                self.count(name, 'computed ' + op_of(old.definition.get(v)), ok)
        for nid in step.get('erase', ()):
            if nid in old.nodes:
                self.proven[name, 'unused'] += 1
        for gid, outs in old.graph_outs.items():
            now = self.s.graphs[gid].outs
            if outs != now and len(outs) == len(now):
                for a, b in zip(outs, now):
                    if a != b:
                        self.count(name, 'output', self.same(a, b, old))
            elif outs != now:
                self.count(name, 'outputs', False)
        if 'imports' in step:
            self.imported(name)
        if gid_changed(step, old):
            self.count(name, 'interface', False)

    def imported(self, name):
        """The imports changed: every node that is not new must mean the same in the new version."""
        before, domains = self.s.imports_before, {d for d, _ in self.versions.known}
        for d, to in self.s.imports.items():
            way = 1 if before.get(d, to) < to else -1
            moves = range(before.get(d, to), to, way)
            if moves and (self.s.functions or d not in domains or self.next not in (None, to)):
                self.count(name, 'opset of %s' % (d or 'functions'), False)
            for at in moves:
                for nid, n in self.s.nodes.items():
                    old = self.moved.get(nid, n)
                    if n.domain == d and old is not None and \
                            self.versions.at(old, at)[0] != self.versions.at(n, at + way)[0]:
                        ok = self.versions.same(old, n, at, at + way, self)
                        self.count(name, 'kept' if ok else 'kept ' + n.op, ok)
                self.moved = {i: old for i, old in self.moved.items() if old is None}
        self.moved, self.next = {}, None

    def count(self, name, what, ok):
        (self.proven if ok else self.unproven)[name, what] += 1

    def changed(self, name, nid, old):
        """A node that stays, with other inputs or attributes."""
        a, b = old.nodes[nid], self.s.nodes[nid]
        if a.op != b.op or a.domain != b.domain:
            return self.count(name, 'operator', self.same_results(a, b, old))
        if not same_attrs(a.attrs, b.attrs):
            if name != 'pass opset':
                return self.count(name, 'attribute', False)
            self.moved.setdefault(nid, a)
        ins, now = trimmed(a.ins), trimmed(b.ins)
        if len(ins) != len(now):
            return self.count(name, 'inputs', False)
        for p, q in zip(ins, now):
            if p != q:
                ok = self.same(p, q, old) or self.retargeted(p, self.s.is_const(q), q, [b], old)
                self.count(name, 'input of %s: %s' % (b.op, op_of(old.define(p))), ok)
        if a.graph != b.graph:
            self.count(name, 'moved', True)

    def same_results(self, a, b, old):
        return a.outs == b.outs and all(
            self.same_def((a, k), b.ins[0], old) if b.op == 'Identity' and not b.domain
            else self.same_values((a, k), (b, k), old)
            for k, v in enumerate(a.outs) if v is not None)

    def redefined(self, name, v, was, now, old):
        ok = self.same_nodes(was, now, old, 0)
        if not ok and not now[0].domain and now[0].op == 'Identity':
            ok = self.same_def(was, now[0].ins[0], old)
        if not ok:
            ok = self.same_values(was, now, old)
        self.count(name, 'redefined %s as %s' % (was[0].op, now[0].op), ok)

    def same_def(self, was, v, old):
        """Whether what a node gave before is value v now."""
        d, t = old.define(v), self.s.is_const(v)
        if was[0].op == 'Identity' and not was[0].domain and self.same(was[0].ins[0], v, old):
            return True
        return d is not None and self.same_nodes(was, d, old, 0) or \
            t is not None and self.gives(was, t, old)

    def gives(self, d, t, old):
        """Whether an output of a node is the tensor."""
        f, a = old.facts.get(d[0].outs[d[1]]), self.compute(d[0], d[1], old)
        if f is not None and followed(f, t):
            return True
        ok = a is not None and (a.dtype, a.dims) == (t.dtype, t.dims) and same_raw(a, t)
        if ok and t.raw is None and t.where is None:
            t.raw = a.raw()  # the certificate states only a digest
        return ok

    def retargeted(self, v, t, now, readers, old):
        """Whether constant t, as value `now`, is for Reshapes the target that v was."""
        f, a = old.facts.get(v) or self.facts.of(v), array_of(t) if t else None
        return f.elems is not None and a is not None and (f.dtype, f.dims) == (a.dtype, a.dims) and all(
            n and n.op == 'Reshape' and not n.domain and n.ins[0] != now and means(
                f.elems, a.items, self.facts.of(n.ins[0]).dims or (), reader(n)('allowzero', 0))
            for n in readers)

    def same_values(self, was, now, old):
        if now[0].op == 'Constant' and not now[0].domain and len(now[0].attrs) == 1:
            t = constant_of(now[0])
            return t is not None and self.gives(was, t, old)
        x, y = self.compute(was[0], was[1], old), self.compute(now[0], now[1], old)
        return x is not None and y is not None and (x.dtype, x.dims) == (y.dtype, y.dims) and \
            x.raw() == y.raw()


def followed(f, t):
    """Whether the elements that shapes gave are those of the tensor."""
    a = array_of(t) if f.elems is not None and (f.dtype, f.dims) == (t.dtype, t.dims) else None
    return a is not None and list(a.items) == list(f.elems)


def means(was, now, dims, zero):
    """Whether a constant target means what a computed one did: a 0 copies the dimension that it
    was, and at most one -1 is what the others, all above 0, leave."""
    same = [w == t or (t == 0 and not zero and [w] == list(dims[k:k + 1]))
            for k, (w, t) in enumerate(zip(was, now))]
    return all(same) or (same.count(False) == 1 and now[same.index(False)] == -1 and
                         min([t for t, s in zip(now, same) if s], default=1) > 0)


def op_of(d):
    return d[0].op if d else 'value'


def same_raw(a, t):
    data = t.bytes()
    if data is not None:
        return a.raw() == bytes(data)
    return hashlib.sha256(a.raw()).hexdigest() == t.sha256()


def gid_changed(step, old):
    return any(gid in old.graph_ins and old.graph_ins[gid] != j['in']
               for gid, j in step.get('graphs', {}).items())


class Before:
    """What a step edits, as it was: definitions, uses, outputs of graphs, facts."""

    def __init__(self, s, step, facts):
        self.s = s
        touched = set(step.get('nodes', {})) | set(step.get('erase', ()))
        self.nodes = {nid: s.nodes[nid].copy() for nid in touched if nid in s.nodes}
        self.definition, self.used = {}, set()
        for n in self.nodes.values():
            for k, v in enumerate(n.outs):
                if v is not None:
                    self.definition[v] = n, k
                    if s.used(v):
                        self.used.add(v)
        self.used |= {a for a, _ in step.get('replace', ()) if s.used(a)}
        self.was_const = {v: s.const[v] for v in step.get('constants', {}) if v in s.const}
        graphs = {gid: s.graphs[gid] for gid in step.get('graphs', {}) if gid in s.graphs}
        self.graph_outs = {gid: list(g.outs) for gid, g in graphs.items()}
        self.graph_ins = {gid: list(g.ins) for gid, g in graphs.items()}
        pairs = {v for pair in step.get('replace', ()) for v in pair} | self.used
        self.facts = {v: facts.of(v) for v in pairs} if facts else {}
        self.ends = {a: not s.used(a) for a, _ in step.get('replace', ())}

    def define(self, v):
        """(node, output) that makes v: before the step, else after it."""
        if v in self.definition:
            return self.definition[v]
        at = self.s.producer.get(v)
        return (self.s.nodes[at[0]], at[1]) if at else None

    def outs(self, gid):
        return self.graph_outs.get(gid) or self.s.graphs[gid].outs
