# SPDX-License-Identifier: Apache-2.0
"""The graph that the steps of a certificate edit, and its comparison with the output file."""
import hashlib
import json
import struct

from proto import FLOAT, FLOATS, GRAPH, GRAPHS, TENSOR, TENSORS, Tensor


class Refused(Exception):
    """The certificate does not prove the output."""


def refuse(when, text):
    if when:
        raise Refused(text)


def canonical(j):
    """The text whose digest a certificate states."""
    text = json.dumps(j, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    return hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()


class Node:
    """A node: values by name, attributes as [kind, value] with tensors as objects, graphs by
    name."""

    def __init__(self, graph, domain, op, overload, ins, outs, attrs):
        self.graph, self.domain, self.op, self.overload = graph, domain, op, overload
        self.ins, self.outs, self.attrs = ins, outs, attrs

    def content(self):
        attrs = {}
        for name, (kind, value) in self.attrs.items():
            if kind == TENSOR and value is not None:
                value = value.canonical()
            elif kind == TENSORS:
                value = [t.canonical() for t in value]
            attrs[name] = [kind, value]
        j = {'graph': self.graph, 'domain': self.domain, 'op': self.op, 'in': self.ins,
             'out': self.outs, 'attrs': attrs}
        if self.overload:
            j['overload'] = self.overload
        return j

    def copy(self):
        return Node(self.graph, self.domain, self.op, self.overload, list(self.ins),
                    list(self.outs), dict(self.attrs))


def same_attr(a, b):
    """Equal attributes; graphs by name."""
    if a[0] != b[0]:
        return False
    if a[0] == TENSOR:
        return a[1] is b[1] or bool(a[1].same(b[1]))
    if a[0] == TENSORS:
        return len(a[1]) == len(b[1]) and all(x.same(y) for x, y in zip(a[1], b[1]))
    return a[1] == b[1]


def same_attrs(a, b):
    return a.keys() == b.keys() and all(same_attr(a[k], b[k]) for k in a)


class GraphState:
    def __init__(self, ins=(), outs=(), function=None):
        self.ins, self.outs, self.function = list(ins), list(outs), function
        self.parent = None  # (node, attribute) whose graph this is
        self.out_names = None


class State:
    """All graphs of a model, by the names of a certificate."""

    def __init__(self, model):
        self.model, self.imports = model, dict(model.imports)
        self.nodes, self.graphs, self.const = {}, {}, {}
        self.producer, self.uses, self.overridable = {}, {}, set()
        self.declared, self.interface, self.functions = {}, False, {}
        self.fn_imports = {}
        self.version = 0  # of the definitions: facts that were unknown may be known now
        self.load()

    # --- the original ---

    def load(self):
        every = self.model.graphs()
        number = {id(g): str(i) for i, g in enumerate(every)}
        scopes = {}
        parents = {id(self.model.graph): None}
        for g in every:
            for n in g.nodes:
                for kind, value in n.attrs.values():
                    for sub in [value] if kind == GRAPH else value if kind == GRAPHS else []:
                        parents[id(sub)] = g
        for i, g in enumerate(every):
            scopes[id(g)] = self.load_graph(g, str(i))
        for i, g in enumerate(every):
            chain, at = [], g
            while at is not None:
                chain.append(scopes[id(at)])
                at = parents.get(id(at))
            self.load_nodes(g, str(i), chain, number)

    def load_graph(self, g, gid):
        """Names what the graph defines; returns its scope."""
        scope = {}
        state = self.graphs[gid] = GraphState()
        if hasattr(g, 'imports'):
            state.function = [g.domain, g.name, g.overload]
            self.functions[tuple(state.function)] = gid
            self.fn_imports[gid] = g.imports
        names = [n for n, _ in g.inputs] + list(g.inits)
        names += [o for n in g.nodes for o in n.outs]
        for name in names:
            if name and name not in scope:
                scope[name] = '%s/%s' % (gid, name)
        for name, t in g.inputs:
            state.ins.append(scope[name])
            self.declared[scope[name]] = t
        for name, tensor in g.inits.items():
            v = scope[name]
            if v in self.declared and (gid != '0' or self.model.ir >= 4):
                self.overridable.add(v)
            self.const[v] = tensor
        return scope

    def load_nodes(self, g, gid, chain, number):
        def value(name):
            if not name:
                return None
            for scope in chain:
                if name in scope:
                    return scope[name]
            return '%s/%s' % (gid, name)  # undefined: a lenient model
        for k, n in enumerate(g.nodes):
            attrs = {}
            for name, (kind, v) in n.attrs.items():
                if kind == GRAPH:
                    v = number[id(v)]
                elif kind == GRAPHS:
                    v = [number[id(x)] for x in v]
                attrs[name] = [kind, v]
            outs = [chain[0][o] if o else None for o in n.outs]
            self.put('%s.%d' % (gid, k), Node(gid, n.domain, n.op, n.overload,
                                              [value(i) for i in n.ins], outs, attrs))
        state = self.graphs[gid]
        state.out_names = [n for n, _ in g.outputs]
        state.outs = [value(n) for n in state.out_names]

    # --- edits ---

    def put(self, nid, node):
        """Defines a node anew."""
        if nid in self.nodes:
            self.drop(nid)
        self.nodes[nid] = node
        for v in node.ins:
            if v is not None:
                self.uses.setdefault(v, set()).add(nid)
        for k, v in enumerate(node.outs):
            if v is not None:
                if self.producer.get(v, (nid,))[0] in self.nodes and \
                        self.producer.get(v, (nid,))[0] != nid:
                    raise Refused('%s has two producers' % v)
                self.producer[v] = nid, k
        for kind, value in node.attrs.values():
            for g in [value] if kind == GRAPH else value if kind == GRAPHS else []:
                if g in self.graphs:
                    self.graphs[g].parent = nid
        self.version += 1

    def drop(self, nid):
        node = self.nodes.pop(nid)
        for v in node.ins:
            if v is not None:
                self.uses.get(v, set()).discard(nid)
        for v in node.outs:
            if v is not None and self.producer.get(v, (None,))[0] == nid:
                del self.producer[v]

    def replace(self, old, new):
        for nid in list(self.uses.get(old, ())):
            node = self.nodes[nid]
            node.ins = [new if v == old else v for v in node.ins]
            self.uses.setdefault(new, set()).add(nid)
        self.uses.pop(old, None)
        for g in self.graphs.values():
            if old in g.outs:
                g.outs = [new if v == old else v for v in g.outs]
        self.version += 1

    def used(self, v):
        return bool(self.uses.get(v)) or any(v in g.outs for g in self.live_graphs())

    def live_graphs(self):
        for gid, g in self.graphs.items():
            if g.parent is None or g.parent in self.nodes:
                yield g

    def is_const(self, v):
        """The tensor of a value that no caller can override."""
        if v in self.const:
            return None if v in self.overridable else self.const[v]
        at = self.producer.get(v)
        node = self.nodes.get(at[0]) if at else None
        if node is None or node.op != 'Constant' or node.domain or len(node.attrs) != 1:
            return None
        return constant_of(node)

    def opset(self, gid):
        at = gid
        while at in self.graphs:
            g = self.graphs[at]
            if g.function:
                return self.fn_imports.get(at, self.imports).get('', 0)
            if g.parent is None or g.parent not in self.nodes:
                break
            at = self.nodes[g.parent].graph
        return self.imports.get('', 0)

    # --- reading a certificate ---

    def tensor(self, j):
        if j is None:
            return None
        raw = bytes.fromhex(j['hex']) if 'hex' in j else None
        t = Tensor(j['dtype'], j['dims'], raw=raw, sha=j['sha256'])
        if raw is not None:
            if hashlib.sha256(raw).hexdigest() != j['sha256'] or len(raw) != t.size:
                raise Refused('elements of a constant do not have the stated digest')
        return t

    def node(self, j):
        attrs = {}
        for name, (kind, value) in j['attrs'].items():
            if kind == TENSOR:
                value = self.tensor(value)
            elif kind == TENSORS:
                value = [self.tensor(t) for t in value]
            attrs[name] = [kind, value]
        return Node(j['graph'], j['domain'], j['op'], j.get('overload', ''), list(j['in']),
                    list(j['out']), attrs)

    # --- the output file ---

    def compare(self, out, order):
        """Refuses unless the output file is this graph. `order`: its nodes by graph."""
        if out.imports != self.imports:
            raise Refused('opset imports of the output are %s, not %s' % (out.imports,
                                                                          self.imports))
        self.compare_interface(out)
        held = {}
        for nid, n in self.nodes.items():
            held.setdefault(n.graph, set()).add(nid)
        todo = [(out.graph, '0', [])]
        for f in out.functions:
            gid = self.functions.get((f.domain, f.name, f.overload))
            refuse(gid is None, 'no step makes function %s' % f.name)
            todo.append((f, gid, []))
        for g, gid, outer in todo:
            nodes = order.get(gid)
            if nodes is None or len(nodes) != len(g.nodes) or set(nodes) != held.get(gid, set()):
                raise Refused('graph %s does not have the stated nodes' % gid)
            todo += self.compare_graph(g, gid, outer, nodes)

    def compare_interface(self, out):
        if self.interface:
            return
        a, b = self.model.graph, out.graph
        kept = [(n, t.key()) for n, t in a.inputs if t]
        if [x for x in kept if x[0] not in b.inits and x[0] not in a.inits] != \
                [(n, t.key()) for n, t in b.inputs if t and n not in b.inits and
                 n not in a.inits]:
            raise Refused('inputs of the output differ')
        if [n for n, _ in a.outputs] != [n for n, _ in b.outputs]:
            raise Refused('outputs of the output differ')
        for (n, t), (_, u) in zip(a.outputs, b.outputs):
            if t and u and (t.dtype, t.other) != (u.dtype, u.other):
                raise Refused('output %s has another type' % n)

    def compare_graph(self, g, gid, outer, nodes):
        state, todo = self.graphs[gid], []
        names = {}
        chain = [(names, g.inits)] + outer

        def bind(name, v, what):
            if not name or v is None:
                if bool(name) != (v is not None):
                    raise Refused('%s is %s in the output, not %s' % (what, name, v))
                return
            if names.setdefault(name, v) != v:
                raise Refused('%s is %s in the output, not %s' % (what, name, v))

        def check(name, v, what):
            if not name or v is None:
                return bind(name, v, what)
            for scope, inits in chain:
                if name not in scope and name in inits:
                    self.initializer(name, inits[name], v)
                    scope[name] = v
                if name in scope:
                    refuse(scope[name] != v, '%s reads %s, not %s' % (what, name, v))
                    return None
            raise Refused('%s reads %s, which is not defined' % (what, name))

        plain = [(n, t) for n, t in g.inputs if gid != '0' or n not in g.inits]
        ins = [v for v in state.ins if gid != '0' or v not in self.const]
        if len(plain) != len(ins):
            raise Refused('graph %s has %d inputs, not %d' % (gid, len(plain), len(ins)))
        for (name, _), v in zip(plain, ins):
            bind(name, v, 'an input')
            if gid == '0' and not self.interface and v != '0/' + name:
                raise Refused('input %s is another value' % name)
        for nid, n in zip(nodes, g.nodes):
            mine = self.nodes.get(nid)
            refuse(mine is None or mine.graph != gid, 'node %s is not in graph %s' % (nid, gid))
            refuse(len(mine.outs) != len(n.outs), 'node %s has other outputs' % nid)
            for name, v in zip(n.outs, mine.outs):
                bind(name, v, 'an output of node ' + nid)
        for nid, n in zip(nodes, g.nodes):
            mine = self.nodes[nid]
            if (mine.op, mine.domain, mine.overload) != (n.op, n.domain, n.overload):
                raise Refused('node %s is a %s, not a %s' % (nid, n.op, mine.op))
            a, b = trimmed(mine.ins), trimmed([x or None for x in n.ins])
            refuse(len(a) != len(b), 'node %s has other inputs' % nid)
            for name, v in zip(b, a):
                check(name, v, 'node ' + nid)
            refuse(mine.attrs.keys() != n.attrs.keys(), 'node %s has other attributes' % nid)
            for key, (kind, value) in n.attrs.items():
                own = mine.attrs[key]
                if kind in (GRAPH, GRAPHS) and own[0] == kind:
                    pairs = zip([value], [own[1]]) if kind == GRAPH else zip(value, own[1])
                    todo += [(sub, sid, chain) for sub, sid in pairs]
                elif not same_attr(own, [kind, value]):
                    raise Refused('attribute %s of node %s differs' % (key, nid))
        refuse(len(state.outs) != len(g.outputs), 'graph %s has other outputs' % gid)
        for (name, _), v in zip(g.outputs, state.outs):
            check(name, v, 'an output of graph ' + gid)
        return todo

    def initializer(self, name, t, v):
        """Refuses an initializer of the output that is another constant than v."""
        mine = self.const.get(v)
        same = None if mine is None else mine.same(t)
        refuse(mine is None or not same, 'initializer %s is not constant %s' % (name, v))


def trimmed(ins):
    return ins if not ins or ins[-1] is not None else trimmed(ins[:-1])


def constant_of(node):
    """The tensor of a Constant node; None for other forms."""
    (name, (kind, value)), = node.attrs.items()
    if name == 'value' and kind == TENSOR:
        return value
    if name == 'value_int':
        return Tensor(7, (), raw=struct.pack('<q', value))
    if name == 'value_ints':
        return Tensor(7, (len(value),), raw=struct.pack('<%dq' % len(value), *value))
    if name == 'value_float' and kind == FLOAT:
        return Tensor(1, (), raw=bytes.fromhex(value)[::-1])
    if name == 'value_floats' and kind == FLOATS:
        return Tensor(1, (len(value),), raw=b''.join(bytes.fromhex(x)[::-1] for x in value))
    return None
