#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is proven of each rule beyond the tests: proofs.py [--prove [--all] | --smt RULE].

Checks that status.txt is about the rules as they are. --prove writes it anew for rules that changed,
or all; without z3 and numpy such rules are `tested`. --smt prints what z3 is asked about a rule. The kinds of proof, the first that applies:

moves: pattern and emission only move elements, so what is so for distinct elements is so for all
    bits of all types. Shapes are drawn by test/rules. A Cast to the type of its input, and a Dropout
    that does not train, are copies. Likewise rules of class exact that apply the same operators, each
    element alone, to the same operands in the same order, whose elements they only move: which
    elements meet depends on shapes, not on elements.
bits: the rule is of class exact and works element by element on one or two inputs that it
    compares, selects, rounds to integers, or changes the sign of: all 65,536 values of float16, all
    pairs of int8, of uint8, and of float16 values that cover all orders of two numbers (NaN,
    infinities, both zeros among them) give equal bits. These operators treat wider types alike.
    Sums and products are covered for integers alone, and count only where the guard asks for them.
reals: each emission equals the pattern over the real numbers, element by element, where no divisor
    is 0 (z3). A convolution or matrix product is a sum of products; z3 gets one of TERMS products, in
    which any element of the data may be padding, and every weight and factor is its own unknown:
    what distributes over these distributes over more. Which elements meet, the shapes that
    test/rules draws show.
tested: drawn models alone (test/rules)."""
import functools
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


# Operators that move elements of input 0 alone; and those of each element alone, whose results show
# which elements met (comparisons do not).
CARRY = set('Reshape Flatten Squeeze Unsqueeze Transpose Identity Expand Tile Slice'.split())
ELEMENTS = OPAQUE | set('Add Sub Mul Div Pow PRelu Max Min Neg Abs Relu Reciprocal'.split())
# Operators that keep the order of elements; and sums of products of inputs 0 and 1.
ORDERED = set('Reshape Squeeze Unsqueeze Flatten Identity'.split())
LINEAR = set('Conv ConvTranspose MatMul Gemm'.split())
TERMS = 2


class Unsupported(Exception):
    """The rule has something that this kind of proof does not cover."""


def catalogue():
    return Catalogue(sorted((ROOT / 'passes/rules').glob('*.rules')))


def parsed(name, rule):
    words = rule.text.split('{')[0].split()
    each = name[len(words[1]) + 1:] if len(words) > 2 and words[2] == 'for' else None
    out = Parser(rule.text, each).rule()
    out.exactness = rule.exactness
    return out


def nodes(block):
    return [s for s in block.stmts if s.kind == 'node']


def moves(rule):
    return moves_alone(rule) or applies_alike(rule)


def terms(block, env):
    """Adds to env what each value is computed from, moves left out."""
    for s in block.stmts:
        if s.kind == 'forward':
            env[s.outs[0]] = env.setdefault(s.name, s.name)
        elif s.kind == 'node':
            plain = not s.domain and not s.more_in and not s.more_out and len(s.outs) == 1
            count = 1 if s.op in CARRY else len(s.ins) if s.op in ELEMENTS else 0
            used = s.ins[:count]
            if not plain or not used or any(a[0] != 'value' or a[2] for a in used):
                raise Unsupported(s.op)
            of = [env.setdefault(a[1], a[1]) for a in used]
            attrs = tuple(sorted((name, repr(e)) for name, e, _, _ in s.attrs
                                 if name not in ('axis', 'broadcast')))
            env[s.outs[0]] = of[0] if s.op in CARRY else (s.op, s.more_attrs, attrs, *of)


def applies_alike(rule):
    if rule.exactness not in ('exact', None) or not rule.emits or any(b.native for b in rule.emits):
        return False
    outs = {o for s in nodes(rule.match) for o in s.outs}
    before = {}
    try:
        terms(rule.match, before)
        for emit in rule.emits:
            after = {k: v for k, v in before.items() if k not in outs}
            again = {o for s in emit.stmts for o in s.outs}
            after.update((o, before[o]) for o in outs - again)
            terms(emit, after)
            if any(after[o] != before[o] for o in outs):
                return False
    except Unsupported:
        return False
    return any(isinstance(before[o], tuple) for o in outs)


def moves_alone(rule):
    if any(b.native for b in rule.emits) or not rule.emits:
        return False
    used = [s for b in [rule.match] + rule.emits for s in nodes(b)]
    numbers = any(a[0] == 'number' for s in used for a in s.ins)
    return not numbers and all(not s.domain and (s.op in MOVES or copies(rule.match, s))
                               for s in used)


def called(e, name):
    """The names that a call is about, or None."""
    plain = e[0] == 'call' and e[1] == name and all(a[0] == 'word' for a in e[2:3])
    return e[2][1] if plain and len(e) > 2 else None


def copies(match, s):
    """Whether a node of the pattern is a copy of its input, by what the guard states."""
    known = conjuncts(match.guard)
    if s not in match.stmts or not s.ins or s.ins[0][0] != 'value':
        return False
    x = s.ins[0][1]
    if s.op == 'Cast':
        to = [e[1] for name, e, _, _ in s.attrs if name == 'to' and e[0] == 'bind']
        return any(c[0] == '==' and c[1] == ('call', 'int', ('call', 'dtype', ('word', x))) and
                   c[2] == ('word', t) for c in known for t in to)
    if s.op == 'CastLike':
        like = s.ins[1][1] if len(s.ins) > 1 else None
        return any(c[0] == '==' and {called(e, 'dtype') for e in c[1:]} == {x, like} for c in known)
    if s.op != 'Dropout' or len(s.outs) != 1 or match.lo < 7:
        return False
    if match.hi < 12 or len(s.ins) < 3:
        return match.hi < 12 or not s.more_in
    train = s.ins[2][1]
    still = {('call', 'absent', ('word', train)), ('call', 'all', ('word', train), ('literal', 0))}
    return any(c in still or (c[0] == 'or' and set(c[1:]) <= still) for c in known)


# --- reals: one element of each value, in SMT-LIB ---


class Smt:
    def __init__(self, rule, emit, absent):
        self.rule, self.emit, self.absent = rule, emit, absent
        self.sorts, self.facts, self.data, self.linear = {}, [], set(), []
        self.rows = set()  # values of which several elements are in one sum of products
        for s in reversed(nodes(rule.match)):
            if s.op in LINEAR or self.rows & set(s.outs):
                count = 2 if s.op in LINEAR else 1 if s.op in ORDERED else len(s.ins)
                self.rows |= {a[1] for a in s.ins[:count] if a[0] == 'value'}

    def var(self, name, sort='Real'):
        if self.sorts.setdefault('v_' + name, sort) != sort:
            raise Unsupported('two types')
        return 'v_' + name

    def free(self, name):
        if name not in self.rows:
            return self.var(name)
        return tuple(self.var('%s_%d' % (name, k)) for k in range(TERMS))

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
        if e[0] == 'call' and e[1] == 'scalar' and e[2][1] not in self.absent | self.rows:
            return self.var(e[2][1])
        if e[0] == 'call' and e[1] in ('repeat', 'fill'):
            return self.expr(e[2])
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
            elif e[0] == 'call' and e[1] == 'all' and e[2][1] not in self.absent | self.rows:
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
        if s.op in ORDERED:
            first = s.ins[0][1]
            env[s.outs[0]] = env.setdefault(first, self.free(first) if first not in env else None)
            return
        if s.op in LINEAR:
            self.linear.append((pattern, meeting(s)))
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
                    ins.append(env.setdefault(a[1], self.free(a[1]) if a[1] not in env else None))
            elif a[0] == 'absent':
                ins.append(None)
            else:
                ins.append(self.number(a[1]) if a[0] == 'number' else self.expr(a[1]))
        if s.op in LINEAR:
            env[s.outs[0]] = self.products(s, ins, attrs)
        elif any(isinstance(i, tuple) for i in ins):
            env[s.outs[0]] = tuple(self.apply(s, [i[k] if isinstance(i, tuple) else i for i in ins],
                                              dict(attrs)) for k in range(TERMS))
        else:
            env[s.outs[0]] = self.apply(s, ins, attrs)

    def products(self, s, ins, attrs):
        x, w, more = (ins + [None] * 3)[:3]
        if not isinstance(x, tuple) or not isinstance(w, tuple) or isinstance(more, tuple):
            raise Unsupported('operands')
        if s.op in ('Conv', 'ConvTranspose'):
            inside = [self.var('inside_%d' % k, 'Bool') for k in range(TERMS)]
            x = ['(ite %s %s 0.0)' % pair for pair in zip(inside, x)]
        out = '(+ %s)' % ' '.join('(* %s %s)' % pair for pair in zip(x, w))
        if s.op == 'Gemm':
            alpha, beta = (attrs.get(a) or (self.var('attr_' + a) if s.more_attrs else '1.0')
                           for a in ('alpha', 'beta'))
            out, more = '(* %s %s)' % (alpha, out), more and '(* %s %s)' % (beta, more)
        return out if more is None else '(+ %s %s)' % (out, more)

    def apply(self, s, ins, attrs):
        op = s.op
        if op == 'BatchNormalization':
            c, scale, shift, mean, var = ins
            self.sorts['f_Sqrt'] = 'fun'
            root = '(f_Sqrt (+ %s %s))' % (var, attrs['epsilon'])
            self.facts.append('(not (= %s 0.0))' % root)
            return '(+ (* (/ (- %s %s) %s) %s) %s)' % (c, mean, root, scale, shift)
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
        if len({m for _, m in self.linear}) > 1 or \
                sorted(p for p, _ in self.linear) not in ([], [False, True]):
            raise Unsupported('sums of products that differ')
        differ = []
        for o in outs:
            both = [v if isinstance(v, tuple) else (v,) for v in (env[o], result[o])]
            if o in again and len(both[0]) != len(both[1]):
                raise Unsupported('operands')
            differ += ['(not (= %s %s))' % pair for pair in zip(*both) if o in again]
        lines = []
        for name, sort in sorted(self.sorts.items()):
            lines.append('(declare-fun %s (Real) Real)' % name if sort == 'fun'
                         else '(declare-const %s %s)' % (name, sort))
        lines += ['(assert %s)' % f for f in dict.fromkeys(self.facts)]
        lines += ['(assert (or %s))' % ' '.join(differ), '(check-sat)']
        return '\n'.join(lines) + '\n'


def pick(sign, a, b):
    return '(ite (%s %s %s) %s %s)' % (sign, a, b, a, b)


def meeting(s):
    """What decides which elements of the operands of a sum of products meet."""
    attrs = {'transA': ('literal', 0), 'transB': ('literal', 0)} if s.op in ('Gemm', 'MatMul') else {}
    for name, expr, _, _ in s.attrs:
        attrs[name] = ('word', expr[1]) if expr[0] == 'bind' else expr
    drop = ('alpha', 'beta') if s.op == 'Gemm' else ()
    op = 'MatMul' if s.op == 'Gemm' and not s.more_attrs else s.op
    return op, s.more_attrs, tuple(sorted((k, repr(v)) for k, v in attrs.items() if k not in drop))


def conjuncts(e):
    if e is None:
        return []
    return conjuncts(e[1]) + conjuncts(e[2]) if e[0] == 'and' else [e]


def questions(rule):
    """What z3 must call unsatisfiable: for each emission, with and without optional inputs."""
    if not rule.emits or any(b.native for b in rule.emits):
        raise Unsupported('emission in C')
    optional = sorted({a[1] for s in nodes(rule.match) for a in s.ins if a[0] == 'value' and a[2]})
    for k, emit in enumerate(rule.emits):
        known = conjuncts(rule.match.guard) + conjuncts(emit.guard)
        for some in itertools.product((False, True), repeat=len(optional)):
            absent = {n for n, gone in zip(optional, some) if gone}
            if any(stated(c, absent) is False for c in known) or \
                    any(taken(e, emit, absent) for e in rule.emits[:k]):
                continue
            yield Smt(rule, emit, absent).text()


def stated(c, absent):
    """Whether a conjunct is true, if it is about inputs that may be absent; else None."""
    if c[0] == 'call' and c[1] in ('absent', 'present'):
        return (c[2][1] in absent) == (c[1] == 'absent')
    return None


def taken(before, emit, absent):
    """Whether an emission above another is always taken first."""
    return before.lo <= emit.lo and before.hi >= emit.hi and \
        all(stated(c, absent) for c in conjuncts(before.guard))


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
        missing(getattr(e, 'filename', None) or e.name)
        return False


@functools.lru_cache()
def missing(name):
    print('not proven, since it is missing: %s' % name)


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
