#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is proven of each rule beyond the tests: proofs.py [--prove [--all] | --smt RULE].

Checks that status.txt is about the rules as they are. --prove writes it anew for rules that changed,
or all; without z3 and numpy such rules are `tested`. --smt prints what z3 is asked about a rule. The kinds of proof, the first that applies:

moves: pattern and emission only move elements, so what is so for distinct elements is so for all
    bits of all types. Shapes are drawn by test/rules.
bits: the rule is of class exact and works element by element on one or two inputs that it
    compares, selects, rounds to integers, or changes the sign of: all 65,536 values of float16, all
    pairs of int8, of uint8, and of float16 values that cover all orders of two numbers (NaN,
    infinities, both zeros among them) give equal bits. These operators treat wider types alike.
    Sums and products are covered for integers alone, and count only where the guard asks for them.
reals: each emission equals the pattern over the real numbers, element by element, where no divisor
    is 0 (z3).
tested: drawn models alone (test/rules)."""
import itertools
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/certify'))
from rules import Catalogue, Parser  # noqa: E402

STATUS = pathlib.Path(__file__).with_name('status.txt')
MOVES = set('''Reshape Flatten Squeeze Unsqueeze Transpose Identity Expand Tile Concat Split Slice
Gather GatherElements GatherND DepthToSpace SpaceToDepth Compress ReverseSequence'''.split())
# Operators that are functions of one element, without more known of them.
OPAQUE = set('''Exp Log Tanh Sigmoid Sqrt Erf Sin Cos Softplus Softsign Elu Selu Floor Ceil Round Sign
HardSigmoid HardSwish Gelu Mish'''.split())


class Unsupported(Exception):
    """The rule has something that this kind of proof does not cover."""


def catalogue():
    return Catalogue(sorted((ROOT / 'passes/rules').glob('*.rules')))


def parsed(name, rule):
    words = rule.text.split('{')[0].split()
    each = name[len(words[1]) + 1:] if len(words) > 2 and words[2] == 'for' else None
    return Parser(rule.text, each).rule()


def nodes(block):
    return [s for s in block.stmts if s.kind == 'node']


def moves(rule):
    if any(b.native for b in rule.emits) or not rule.emits:
        return False
    used = [s for b in [rule.match] + rule.emits for s in nodes(b)]
    numbers = any(a[0] == 'number' for s in used for a in s.ins)
    return not numbers and all(s.op in MOVES and not s.domain for s in used)


# --- reals: one element of each value, in SMT-LIB ---


class Smt:
    def __init__(self, rule, emit, absent):
        self.rule, self.emit, self.absent = rule, emit, absent
        self.sorts, self.facts, self.data = {}, [], set()

    def var(self, name, sort='Real'):
        if self.sorts.setdefault('v_' + name, sort) != sort:
            raise Unsupported('two types')
        return 'v_' + name

    def number(self, v):
        if isinstance(v, bool) or isinstance(v, str) or v != v or v in (1e999, -1e999):
            raise Unsupported('literal')
        text = format(abs(v), '.40f').rstrip('0')
        text = text + '0' if text.endswith('.') else text
        return '(- %s)' % text if v < 0 else text

    def expr(self, e):
        if e[0] == 'literal':
            return self.number(e[1])
        if e[0] == 'word' and e[1] in self.data:
            return self.var(e[1])
        if e[0] == 'call' and e[1] == 'scalar' and e[2][1] not in self.absent:
            return self.var(e[2][1])
        if e[0] == 'call' and e[1] in ('min', 'max'):
            return pick('<=' if e[1] == 'min' else '>=', *map(self.expr, e[2:]))
        if e[0] == 'call' and e[1] == 'float':
            return self.expr(e[2])
        if e[0] in '+-*':
            return '(%s %s %s)' % (e[0], self.expr(e[1]), self.expr(e[2]))
        if e[0] == 'negative':
            return '(- %s)' % self.expr(e[1])
        if e[0] == '/':
            below = self.expr(e[2])
            self.facts.append('(not (= %s 0.0))' % below)
            return '(/ %s %s)' % (self.expr(e[1]), below)
        raise Unsupported('expression %s' % e[0])

    def assume(self, e):
        """A conjunct that is understood; one that is not makes the theorem stronger."""
        if e is None:
            return
        if e[0] == 'and':
            self.assume(e[1])
            self.assume(e[2])
            return
        try:
            if e[0] in ('==', '<', '<=', '>', '>='):
                sign = '=' if e[0] == '==' else e[0]
                self.facts.append('(%s %s %s)' % (sign, self.expr(e[1]), self.expr(e[2])))
            elif e[0] == 'call' and e[1] == 'all' and e[2][1] not in self.absent:
                self.facts.append('(= %s %s)' % (self.var(e[2][1]), self.expr(e[3])))
        except Unsupported:
            pass

    def run(self, block, env, pattern):
        for s in block.stmts:
            if s.kind == 'forward':
                env[s.outs[0]] = env[s.name]
            elif s.kind == 'let':
                raise Unsupported('let')
            else:
                self.node(s, env, pattern)

    def node(self, s, env, pattern):
        if s.domain or s.more_in or s.more_out or len(s.outs) != 1:
            raise Unsupported(s.op)
        attrs = {}
        for name, expr, _, dtype in s.attrs:
            if pattern and expr[0] == 'bind':
                self.data.add(expr[1])
                attrs[name] = self.var(expr[1])
            else:
                attrs[name] = self.expr(expr)
        ins = []
        for a in s.ins:
            if a[0] == 'value':
                if a[1] in self.absent:
                    ins.append(None)
                else:
                    ins.append(env.setdefault(a[1], self.var(a[1]) if a[1] not in env else None))
            elif a[0] == 'absent':
                ins.append(None)
            else:
                ins.append(self.number(a[1]) if a[0] == 'number' else self.expr(a[1]))
        env[s.outs[0]] = self.apply(s, ins, attrs)

    def apply(self, s, ins, attrs):
        op = s.op
        if op in OPAQUE and len(ins) == 1 and not attrs:
            self.sorts['f_' + op] = 'fun'
            return '(f_%s %s)' % (op, ins[0])
        if op == 'Clip':
            low = ins[1] if len(ins) > 1 else attrs.pop('min', None)
            high = ins[2] if len(ins) > 2 else attrs.pop('max', None)
            y = ins[0] if low is None else pick('>=', ins[0], low)
            return y if high is None else pick('<=', y, high)
        if None in ins or attrs:
            raise Unsupported('attributes')
        if op in ('Add', 'Sub', 'Mul', 'Sum'):
            return '(%s %s)' % ({'Sub': '-', 'Mul': '*'}.get(op, '+'), ' '.join(ins)) \
                if len(ins) > 1 else ins[0]
        if op in ('Div', 'Reciprocal'):
            below = ins[-1]
            self.facts.append('(not (= %s 0.0))' % below)
            return '(/ %s %s)' % (ins[0] if op == 'Div' else '1.0', below)
        if op in ('Min', 'Max'):
            out = ins[0]
            for x in ins[1:]:
                out = pick('<=' if op == 'Min' else '>=', out, x)
            return out
        plain = {'Neg': '(- %s)', 'Identity': '%s', 'Relu': '(ite (>= {0} 0.0) {0} 0.0)',
                 'Abs': '(ite (>= {0} 0.0) {0} (- {0}))'}
        if op in plain and len(ins) == 1:
            return plain[op] % ins[0] if '%s' in plain[op] else plain[op].format(ins[0])
        raise Unsupported(op)

    def text(self):
        env = {}
        self.run(self.rule.match, env, True)
        self.assume(self.rule.match.guard)
        self.assume(self.emit.guard)
        outs = [o for s in nodes(self.rule.match) for o in s.outs]
        inputs = {k: v for k, v in env.items() if k not in outs}
        result = dict(inputs)
        # what the emission does not make again keeps its meaning
        again = {o for s in self.emit.stmts for o in s.outs}
        result.update((o, env[o]) for o in outs if o not in again)
        self.run(self.emit, result, False)
        differ = ['(not (= %s %s))' % (env[o], result[o]) for o in outs if o in again]
        lines = []
        for name, sort in sorted(self.sorts.items()):
            lines.append('(declare-fun %s (Real) Real)' % name if sort == 'fun'
                         else '(declare-const %s %s)' % (name, sort))
        lines += ['(assert %s)' % f for f in dict.fromkeys(self.facts)]
        lines += ['(assert (or %s))' % ' '.join(differ), '(check-sat)']
        return '\n'.join(lines) + '\n'


def pick(sign, a, b):
    return '(ite (%s %s %s) %s %s)' % (sign, a, b, a, b)


def conjuncts(e):
    if e is None:
        return []
    return conjuncts(e[1]) + conjuncts(e[2]) if e[0] == 'and' else [e]


def questions(rule):
    """What z3 must call unsatisfiable: for each emission, with and without optional inputs."""
    if not rule.emits or any(b.native for b in rule.emits):
        raise Unsupported('emission in C')
    optional = sorted({a[1] for s in nodes(rule.match) for a in s.ins if a[0] == 'value' and a[2]})
    for emit in rule.emits:
        known = conjuncts(rule.match.guard) + conjuncts(emit.guard)
        for some in itertools.product((False, True), repeat=len(optional)):
            absent = {n for n, gone in zip(optional, some) if gone}
            if any(c[0] == 'call' and c[1] in ('absent', 'present') and
                   (c[2][1] in absent) != (c[1] == 'absent') for c in known):
                continue
            yield Smt(rule, emit, absent).text()


def reals(rule):
    try:
        asked = list(questions(rule))
    except (Unsupported, KeyError):
        return False
    return bool(asked) and all(subprocess.run(
        ['z3', '-in', '-T:10'], input=q, capture_output=True, text=True).stdout.strip() == 'unsat'
        for q in asked)


# --- bits: all values of small types ---


def tables(np):
    def sign(x):
        return np.sign(x).astype(x.dtype)
    one = {'Relu': lambda x: np.where(x > 0, x, np.where(x != x, x, x.dtype.type(0))),
           'Abs': np.abs, 'Neg': lambda x: -x, 'Floor': np.floor, 'Ceil': np.ceil,
           'Round': np.rint, 'Sign': sign, 'Not': np.logical_not, 'Identity': lambda x: x,
           'BitwiseNot': np.invert}
    two = {'And': np.logical_and, 'Or': np.logical_or, 'Xor': np.logical_xor,
           'Equal': np.equal, 'Less': np.less, 'Greater': np.greater,
           'LessOrEqual': np.less_equal, 'GreaterOrEqual': np.greater_equal,
           'BitwiseAnd': np.bitwise_and, 'BitwiseOr': np.bitwise_or,
           'BitwiseXor': np.bitwise_xor, 'Add': np.add, 'Sub': np.subtract, 'Mul': np.multiply}
    return {**one, **two}


def evaluated(block, env, ops):
    for s in block.stmts:
        if s.kind == 'forward':
            env[s.outs[0]] = env[s.name]
        elif s.kind == 'let' or s.domain or s.op not in ops or s.attrs or len(s.outs) != 1 or \
                any(a[0] != 'value' for a in s.ins) or s.more_in or s.more_attrs:
            raise Unsupported(s.kind)
        else:
            env[s.outs[0]] = ops[s.op](*[env[a[1]] for a in s.ins])


def bits(rule):
    import numpy as np
    ops = tables(np)
    outs = {o for s in nodes(rule.match) for o in s.outs}
    free = list(dict.fromkeys(a[1] for s in nodes(rule.match) for a in s.ins
                              if a[0] == 'value' and a[1] not in outs))
    logic = all(s.op in ('And', 'Or', 'Xor', 'Not') for s in nodes(rule.match))
    if not 1 <= len(free) <= 2 or not rule.emits or any(b.native for b in rule.emits):
        return False
    arithmetic = any(s.op in ('Add', 'Sub', 'Mul') for b in [rule.match] + rule.emits
                     for s in nodes(b))
    if arithmetic and not any(c[:2] == ('call', 'is_int') for c in conjuncts(rule.match.guard)):
        return False
    kinds = [np.bool_] if logic else [np.int8, np.uint8] + [np.float16] * (not arithmetic)
    done = 0
    with np.errstate(all='ignore'):
        for kind in kinds:
            if kind is np.bool_:
                every = np.array([False, True])
            else:
                size = np.dtype(kind).itemsize
                every = np.arange(1 << 8 * size, dtype='u%d' % size).view(kind)
            if kind is np.float16 and len(free) == 2:
                every = np.array([np.nan, -np.inf, -2, -1, -6e-8, -0.0, 0.0, 6e-8, 1, 2, np.inf], kind)
            grid = np.meshgrid(*[every] * len(free), indexing='ij')
            for emit in rule.emits:
                try:
                    old = dict(zip(free, grid))
                    new = dict(old)
                    evaluated(rule.match, old, ops)
                    new.update((k, v) for k, v in old.items() if k in outs)
                    evaluated(emit, new, ops)
                except (Unsupported, KeyError, TypeError):
                    if kind is np.bool_ or 'Bitwise' not in str([s.op for s in nodes(emit)]):
                        return False
                    continue
                if any(old[o].tobytes() != new[o].tobytes() for o in outs):
                    return False
                done += 1
    return done > 0


# --- the list ---


def attempt(proof, rule):
    try:
        return proof(rule)
    except (ImportError, FileNotFoundError) as e:
        print('not proven, since it is missing: %s' % (getattr(e, 'filename', None) or e.name))
        return False


def prove(every):
    out, known = [], {}
    if STATUS.exists() and not every:
        known = {l.split()[0]: l.split() for l in STATUS.read_text().splitlines()}
    for name, rule in sorted(catalogue().rules.items()):
        r = parsed(name, rule)
        status = 'tested'
        if known.get(name, [0, 0, 0])[2] == rule.hash[:16]:
            out.append(' '.join(known[name]) + '\n')
            continue
        if moves(r):
            status = 'moves'
        elif rule.exactness == 'exact' and attempt(bits, r):
            status = 'bits'
        elif rule.exactness not in ('approx', 'lossy') and attempt(reals, r):
            status = 'reals'
        out.append('%s %s %s\n' % (name, status, rule.hash[:16]))
    STATUS.write_text(''.join(out))


def main():
    if '--smt' in sys.argv:
        name = sys.argv[sys.argv.index('--smt') + 1]
        print('\n'.join(questions(parsed(name, catalogue().rules[name]))))
        return 0
    if '--prove' in sys.argv:
        prove('--all' in sys.argv)
    known = {}
    for line in STATUS.read_text().splitlines():
        name, status, digest = line.split()
        known[name] = status, digest
    rules = catalogue().rules
    bad = ['%s: not listed' % n for n in rules if n not in known]
    bad += ['%s: there is no such rule' % n for n in known if n not in rules]
    for name, (status, digest) in known.items():
        if name in rules and rules[name].hash[:16] != digest:
            bad.append('%s: its text changed' % name)
        elif name in rules and (status == 'moves') != moves(parsed(name, rules[name])):
            bad.append('%s: is not `%s`' % (name, status))
    print('\n'.join(sorted(bad)[:20] + ['after a change of rules: test/proofs/proofs.py --prove']
                    if bad else ['%d rules' % len(known)]))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
