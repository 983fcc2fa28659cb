# SPDX-License-Identifier: Apache-2.0
"""The language of rewrite rules (doc/rules.md): reads rules, and checks that the edits of a step are
what a rule makes of its match."""
import hashlib
import math
import pathlib
import re
import struct

from folds import CODES, INTS as INT_TYPES, array_of, attr_value, cast
from proto import FLOAT, FLOATS, TENSOR, Tensor
from shapes import Fact, Sum, add, product, symbol
from state import Refused, refuse, same_attr

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|\.\.\.|\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+|0x[\w.+-]+'
                   r'|\d+|[A-Za-z_]\w*(?:-\w+)*|\?=|[=!<>]=|\.\.|\S')
CLASSES = ('exact', 'ulp', 'rounding', 'approx', 'lossy')
DTYPES = {'f32': 1, 'u8': 2, 'i8': 3, 'u16': 4, 'i16': 5, 'i32': 6, 'i64': 7, 'str': 8, 'bool': 9,
          'f16': 10, 'f64': 11, 'u32': 12, 'u64': 13, 'bf16': 16, 'float': 1, 'uint8': 2,
          'int8': 3, 'uint16': 4, 'int16': 5, 'int32': 6, 'int64': 7, 'string': 8, 'float16': 10,
          'double': 11, 'uint32': 12, 'uint64': 13, 'bfloat16': 16, 'i4': 22, 'u4': 21}
COMMUTATIVE = {'Add', 'Mul', 'And', 'Or', 'Xor', 'Equal', 'Min', 'Max', 'Sum', 'Mean',
               'BitwiseAnd', 'BitwiseOr', 'BitwiseXor'}


class DType(int):
    """An element type as a value of an expression."""


# --- reading ---


class Stmt:
    def __init__(self):
        self.kind, self.outs, self.more_out, self.op, self.domain = 'node', [], False, '', ''
        self.attrs, self.more_attrs, self.ins, self.more_in = [], False, [], False
        self.name, self.expr = None, None


class Block:
    def __init__(self):
        self.lo, self.hi, self.guard, self.stmts, self.native = 1, math.inf, None, [], None


class Rule:
    def __init__(self, name, group, exactness, text):
        self.name, self.group, self.exactness, self.text = name, group, exactness, text
        self.hash = hashlib.sha256(text.encode()).hexdigest()
        self.match, self.emits = None, []


class Catalogue:
    """Rules by name; read from files of rules."""

    def __init__(self, paths):
        self.rules = {}
        for path in paths:
            self.load(pathlib.Path(path))

    def load(self, path):
        text = ''.join(('' if l.strip().startswith('#') else l) + '\n'
                       for l in path.read_text(encoding='utf-8').splitlines())
        tokens = [m for m in TOKEN.finditer(text) if not m[0].startswith('#')]
        at, group = 0, 'user'
        while at < len(tokens):
            if tokens[at][0] == 'group':
                group, at = tokens[at + 1][0], at + 2
                continue
            start, depth = at, 0
            while True:
                depth += (tokens[at][0] == '{') - (tokens[at][0] == '}')
                at += 1
                if depth == 0 and tokens[at - 1][0] == '}':
                    break
            source = text[tokens[start].start():tokens[at - 1].end()]
            self.add(Rule(tokens[start + 1][0], group, None, source), tokens[start:at])

    def add(self, rule, tokens):
        words = [t[0] for t in tokens[2:tokens.index(next(t for t in tokens if t[0] == '{'))]]
        rule.exactness = next((w for w in words if w in CLASSES), 'exact')
        names = [rule.name]
        if words and words[0] == 'for':
            ops = [w for w in words[4:words.index(')')] if w != ',']
            names = ['%s-%s' % (rule.name, op) for op in ops]
        for name in names:
            self.rules[name] = rule


class Parser:
    def __init__(self, text, each=None):
        self.tokens = [m[0] for m in TOKEN.finditer(text) if not m[0].startswith('#')]
        self.at, self.each, self.word = 0, each, None

    def peek(self, ahead=0):
        k = self.at + ahead
        return self.tokens[k] if k < len(self.tokens) else ''

    def take(self, want=None):
        t = self.peek()
        refuse(want is not None and t != want, 'rule text: %s instead of %s' % (t, want))
        self.at += 1
        return t

    def got(self, t):
        if self.peek() == t:
            self.at += 1
            return True
        return False

    def rule(self):
        self.take('rule')
        r = Rule(self.take(), '', None, '')
        if self.got('for'):
            self.word = self.take()
            while self.take() != ')':
                pass
        while not self.got('{'):
            self.at += 1
        self.take('match')
        r.match = self.block(True)
        while self.got('emit'):
            r.emits.append(self.block(False))
        return r

    def block(self, pattern):
        b = Block()
        if self.got('opset'):
            b.lo = b.hi = int(self.take())
            if self.got('..'):
                b.hi = int(self.take()) if self.peek().isdigit() else math.inf
        if self.got('where'):
            b.guard = self.either()
        if self.got('by'):
            b.native = self.take()
            return b
        self.take('{')
        while not self.got('}'):
            b.stmts.append(self.stmt(pattern))
            self.got(';')
        return b

    def name(self):
        return self.take().strip('"')

    def stmt(self, pattern):
        s = Stmt()
        if self.got('let'):
            s.kind, s.name = 'let', self.take()
            self.take('=')
            s.expr = self.either()
            return s
        while self.peek() != '=':
            if self.got('...'):
                s.more_out = True
            elif self.peek() == ',':
                s.outs.append(None)
            else:
                s.outs.append(self.name())
                self.got('?')
            self.got(',')
        self.take('=')
        if self.peek(1) not in ('(', '<', '.') or self.peek(1) == '..':
            s.kind, s.name = 'forward', self.name()
            return s
        words = [self.take()]
        while self.got('.'):
            words.append(self.take())
        s.op, s.domain = words[-1], '.'.join(words[:-1])
        if s.op == self.word:
            s.op = self.each
        if s.domain == 'ai.onnx':
            s.domain = ''
        if self.got('<'):
            self.attrs(s, pattern)
        self.take('(')
        while not self.got(')'):
            self.input(s, pattern)
        return s

    def attrs(self, s, pattern):
        while not self.got('>'):
            if self.got('...'):
                s.more_attrs = True
            else:
                name = self.name()
                optional = self.got('?=')
                if not optional:
                    self.take('=')
                word = self.peek()
                bound = pattern and re.match(r'[A-Za-z_]', word) and word not in (
                    'true', 'false', 'inf', 'nan')
                expr = ('bind', self.take()) if bound else self.sum()
                dtype = None
                if not pattern and self.got(':'):
                    dtype = self.primary()
                s.attrs.append((name, expr, optional, dtype))
            self.got(',')

    def input(self, s, pattern):
        if self.got('...'):
            s.more_in = True
        elif self.peek() == ',':
            s.ins.append(('absent',))
        else:
            plain = re.match(r'[A-Za-z_"]', self.peek()) and (
                self.peek(1) in (',', ')') or (self.peek(1) == '?' and
                                               self.peek(2) in (',', ')')))
            if plain:
                name = self.name()
                s.ins.append(('value', name, self.got('?')))
            elif pattern:
                sign = -1 if self.got('-') else 1
                text = self.take()
                s.ins.append(('number', math.copysign(number(text), sign)))
            else:
                expr = self.either()
                self.take(':')
                s.ins.append(('constant', expr, self.primary()))
        if self.got(',') and self.peek() == ')':
            s.ins.append(('absent',))

    # --- expressions ---

    def chain(self, signs, part):
        e = part()
        while self.peek() and self.peek() in signs:
            e = (self.take(), e, part())
        return e

    def either(self):
        return self.chain(('or',), lambda: self.chain(('and',), self.negated))

    def negated(self):
        if self.got('not'):
            return 'not', self.comparison()
        return self.comparison()

    def comparison(self):
        e = self.sum()
        for sign in ('==', '!=', '<=', '>=', '<', '>', 'in'):
            if self.got(sign):
                return sign, e, self.sum()
        return e

    def sum(self):
        return self.chain('+-', lambda: self.chain('*/%', self.signed))

    def signed(self):
        if self.got('-'):
            e = self.indexed()
            if e[0] == 'literal' and not isinstance(e[1], str):
                return 'literal', -e[1]
            return 'negative', e
        return self.indexed()

    def indexed(self):
        e = self.primary()
        while self.got('['):
            e = ('index', e, self.either())
            self.take(']')
        return e

    def primary(self):
        t = self.take()
        if t == '(':
            e = self.either()
            self.take(')')
            return e
        if t == '[':
            return ('list',) + tuple(self.items(']'))
        if t[0] == '"':
            return 'literal', t[1:-1]
        if t[0].isdigit():
            return 'literal', number(t)
        if t in ('inf', 'nan'):
            return 'literal', float(t)
        if t in ('true', 'false'):
            return 'literal', t == 'true'
        if self.got('('):
            return ('call', t) + tuple(self.items(')'))
        return 'word', t

    def items(self, end):
        out = []
        while not self.got(end):
            out.append(self.either())
            self.got(',')
        return out


def number(t):
    if t.startswith('0x'):
        return float.fromhex(t) if 'p' in t else int(t, 16)
    return float(t) if '.' in t or 'e' in t or t in ('inf', 'nan') else int(t)


# --- expressions over a match; None: unknown ---


def same(a, b):
    if a is None or b is None:
        return None
    if isinstance(a, list) or isinstance(b, list):
        if not (isinstance(a, list) and isinstance(b, list)) or len(a) != len(b):
            return False
        each = [same(x, y) for x, y in zip(a, b)]
        return False if False in each else None if None in each else True
    if isinstance(a, Sum) or isinstance(b, Sum):
        return True if a == b else None
    if isinstance(a, str) != isinstance(b, str):
        return False
    return a == b


class Match:
    """What a pattern binds: values by name, attributes by name, and facts."""

    def __init__(self, state, facts, values, ranges):
        self.s, self.facts, self.values, self.ranges = state, facts, values, ranges
        self.data, self.attrs, self.claims = {}, {}, None
        self.opset = 0

    def fact(self, v):
        if self.claims is not None and v in self.claims:
            return self.claims[v]
        return self.facts.of(v)

    def eval(self, e):
        kind = e[0]
        if kind == 'literal':
            return e[1]
        if kind == 'word':
            if e[1] in self.data:
                return self.data[e[1]]
            return DType(DTYPES[e[1]]) if e[1] in DTYPES else None
        if kind in ('and', 'or'):
            a, stop = self.eval(e[1]), kind == 'or'
            if a is not None and bool(a) == stop:
                return stop
            b = self.eval(e[2])
            if b is not None and bool(b) == stop:
                return stop
            return None if a is None or b is None else not stop
        if kind == 'not':
            a = self.eval(e[1])
            return None if a is None else not a
        if kind == 'list':
            return [self.eval(x) for x in e[1:]]
        if kind == 'call':
            return self.call(e[1], e[2:])
        a = self.eval(e[1])
        if kind == 'negative':
            return arith('-', 0, a) if not isinstance(a, float) else -a
        if kind == 'in':
            each = [same(a, x) for x in self.eval(e[2]) or [None]]
            return True if True in each else None if None in each else False
        b = self.eval(e[2])
        if kind == 'index':
            if not isinstance(a, list) or not isinstance(b, int) or not -len(a) <= b < len(a):
                return None
            return a[b]
        if kind == '==':
            return same(a, b)
        if kind == '!=':
            r = same(a, b)
            return None if r is None else not r
        if kind in ('<', '<=', '>', '>='):
            return ordered(kind, a, b)
        return arith(kind, a, b)

    def call(self, name, args):
        try:
            if name == 'if':
                c = self.eval(args[0])
                return None if c is None else self.eval(args[1 if c else 2])
            if name in PLAIN:
                args = [self.eval(a) for a in args]
                return None if None in args else PLAIN[name](*args)
            return ABOUT[name](self, *args)
        except (TypeError, ValueError, IndexError, KeyError, OverflowError, ZeroDivisionError,
                AttributeError):
            return None

    # --- functions about values: the first argument is a name ---

    def of(self, e):
        return self.values.get(e[1])

    def elems(self, e):
        v = self.of(e)
        t = self.s.is_const(v) if v else None
        if t is not None:
            if t.dtype not in CODES or t.count > 4096 or t.strings is not None:
                return None
            a = array_of(t)
            return None if a is None else [int(i) if t.dtype in INT_TYPES or t.dtype == 9
                                           else float(i) for i in a.items]
        f = self.fact(v) if v else Fact()
        if f.elems is None or any(not isinstance(i, int) for i in f.elems):
            return None
        return list(f.elems)

    def dims(self, x):
        return self.fact(self.of(x)).dims

    def typed(self, x, kind):
        e = self.elems(x)
        return e if all(isinstance(i, kind) for i in e) else None

    def extent(self, x, which):
        t = self.s.is_const(self.of(x))
        a = array_of(t) if t is not None and t.dtype in (1, 10, 11) else None
        if a is None or not all(math.isfinite(i) for i in a.items):
            return None
        return float(which([abs(i) for i in a.items if i] or [0.0]))

    def in_order(self, x, p):
        d = self.dims(x)
        moved = [i for i in p if d[i] != 1]
        if moved == sorted(moved) and len(p) == len(d):
            return True
        return False if all(isinstance(i, int) for i in d) else None

    def range(self, x):
        e = self.elems(x)
        if e and not any(i != i for i in e):
            return {'low': min(e), 'high': max(e), 'nan': False}
        return None if self.claims is None else self.ranges.get(self.of(x))


def negative_sign(i):
    return math.copysign(1, i) < 0


# Functions about a value: m is the match, x its name. One that raises is unknown. `alone`,
# `together`, `activated` and `normalized` decide whether a rewrite pays, not whether it is right.
ABOUT = {
    'dtype': lambda m, x: DType(m.fact(m.of(x)).dtype) if m.fact(m.of(x)).dtype else None,
    'shape': lambda m, x: list(m.dims(x)), 'rank': lambda m, x: len(m.dims(x)),
    'dim': lambda m, x, i: m.dims(x)[m.eval(i)], 'size': lambda m, x: known(product(m.dims(x))),
    'static': lambda m, x: all(isinstance(i, int) for i in m.dims(x)) or None,
    'filled': lambda m, x: all(isinstance(i, int) and i > 0 for i in m.dims(x)) or None,
    'const': lambda m, x: m.of(x) is not None and m.s.is_const(m.of(x)) is not None,
    'absent': lambda m, x: m.of(x) is None, 'present': lambda m, x: m.of(x) is not None,
    'ints': lambda m, x: m.typed(x, int), 'floats': lambda m, x: m.typed(x, float),
    'scalar': lambda m, x: m.elems(x)[0] if len(m.elems(x)) == 1 else None,
    'all': lambda m, x, v: all(i == m.eval(v) for i in m.elems(x)),
    'finite': lambda m, x: all(math.isfinite(i) for i in m.typed(x, float)),
    'positive': lambda m, x: not any(map(negative_sign, m.elems(x))),
    'no_minus_zero': lambda m, x: not any(i == 0 and negative_sign(i) for i in m.elems(x)),
    'peak': lambda m, x: m.extent(x, max), 'tiniest': lambda m, x: m.extent(x, min),
    'alone': lambda m, x: True, 'together': lambda m, x: True, 'normalized': lambda m, x: False,
    'activated': lambda m, x: False,
    'uses': lambda m, x: len(m.s.uses.get(m.of(x), ())),
    'in_order': lambda m, x, p: m.in_order(x, m.eval(p)),
    'low': lambda m, x: float(m.range(x)['low']), 'high': lambda m, x: float(m.range(x)['high']),
    'numbers': lambda m, x: m.range(x)['nan'] is False or None,
    'opset': lambda m: m.opset,
}


def least(e):
    return min(e) if all(isinstance(i, (int, float)) for i in e) else None


def known(n):
    return n if isinstance(n, int) else None


def normal(a, r):
    out = [i + r if i < 0 else i for i in (a if isinstance(a, list) else [a])]
    if any(not 0 <= i < r for i in out):
        return None
    return out if isinstance(a, list) else out[0]


def part(e, i, j):
    i, j = i + len(e) if i < 0 else i, j + len(e) if j < 0 else j
    return e[i:j] if 0 <= i <= j <= len(e) else None


def put(e, indices, values):
    e = list(e)
    for i, x in zip(indices, values):
        e[i] = x
    return e


LARGEST = {1: 3.4028234663852886e38, 10: 65504.0, 11: 1.7976931348623157e308,
           16: 3.3895313892515355e38}
# Functions on numbers and lists. One that raises is unknown.
PLAIN = {
    'len': len, 'least': least, 'sum': lambda e: known(total(e)), 'sqrt': math.sqrt,
    'prod': lambda e: known(product(e)), 'concat': lambda *e: [x for i in e for x in i],
    'slice': part, 'range': lambda *e: list(range(*e)), 'repeat': lambda v, n: [v] * n,
    'reverse': lambda e: e[::-1], 'set': lambda e, i, v: put(e, [i], [v]),
    'sorted': lambda e: sorted(e) if all(isinstance(i, int) for i in e) else None,
    'normal': normal, 'place': lambda n, v, i, x: put([v] * n, i, x),
    'without': lambda e, drop: [x for k, x in enumerate(e) if k not in drop],
    'take': lambda e, i: [e[k] for k in i] if all(0 <= k < len(e) for k in i) else None,
    'inverse': lambda p: [p.index(i) for i in range(len(p))], 'float': float,
    'min': lambda a, b: pairwise(min, a, b), 'max': lambda a, b: pairwise(max, a, b),
    'int': int, 'is_float': lambda d: d in (1, 10, 11, 16), 'is_int': lambda d: d in INT_TYPES,
    'largest': LARGEST.get, 'unlimited': lambda: math.inf,
    'tensor': lambda e, dims: ('tensor', e, dims),
    'fill': lambda v, dims: ('tensor', [v] * product(dims), dims),
}


def total(e):
    n = 0
    for i in e:
        n = add(n, i)
    return n


def pairwise(f, a, b):
    """f of numbers, or of each pair of two lists; the language computes with known numbers."""
    if isinstance(a, list) or isinstance(b, list):
        n = len(a) if isinstance(a, list) else len(b)
        a, b = (x if isinstance(x, list) else [x] * n for x in (a, b))
        return [pairwise(f, x, y) for x, y in zip(a, b)] if len(a) == len(b) else None
    return None if any(x is None or isinstance(x, (str, Sum)) for x in (a, b)) else f(a, b)


def ordered(sign, a, b):
    if any(x is None or isinstance(x, (list, str, tuple)) for x in (a, b)):
        return None
    if isinstance(a, Sum) or isinstance(b, Sum):
        a, b = add(a, b, -1), 0
        if not isinstance(a, int):
            return None
    return {'<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b}[sign]


def arith(op, a, b):
    return pairwise(lambda x, y: computed(op, x, y), a, b)


def computed(op, a, b):
    try:
        real = isinstance(a, float) or isinstance(b, float)
        if op in '+-*':
            return a + b if op == '+' else a - b if op == '-' else a * b
        if op == '/':
            return (math.copysign(math.inf, a) * math.copysign(1, b) if b == 0 and a else
                    math.nan if b == 0 else a / b) if real else a // b if b else None
        return None if real or not b else a % b
    except OverflowError:
        return math.inf


# --- a step that applies a rule ---


class Application:
    """One application of a rule: `check` before the edits, `emitted` after them."""

    def __init__(self, rule, step, state, facts, versions, at):
        """at: the opset of the match; where the opset moves, the emission is for the next one."""
        self.rule, self.step, self.s, self.versions, self.at = rule, step, state, versions, at
        self.m = Match(state, facts, dict(step['values']), {
            r['value']: r for r in step.get('ranges', ())})
        self.m.opset = step['opset']
        self.unknown = []  # why the step is not proven
        self.nodes = []

    def claims(self):
        out = {}
        for v, f in self.step['facts'].items():
            own = self.m.facts.of(v)
            dims = f.get('dims')
            if f.get('dtype') and own.dtype and f['dtype'] != own.dtype:
                raise Refused('%s has another element type than stated' % v)
            if dims is not None and own.dims is not None:
                refuse(len(dims) != len(own.dims), '%s has another rank than stated' % v)
                for a, b in zip(dims, own.dims):
                    if isinstance(a, int) and isinstance(b, int) and a != b:
                        raise Refused('%s has other dimensions than stated' % v)
            t = f.get('constant')
            if t is not None:
                mine = self.s.is_const(v)
                if mine is None:
                    if own.elems is None and t != 'by reference':
                        raise Refused('%s is stated to be constant' % v)
                elif t != 'by reference' and t['sha256'] not in (None, mine.sha256()):
                    raise Refused('%s has other elements than stated' % v)
            out[v] = Fact(f.get('dtype', 0), None if dims is None else tuple(
                d if isinstance(d, int) else symbol((v, k)) if d is None
                else symbol('claim ' + d) for k, d in enumerate(dims)), own.elems)
        return out

    def check(self):
        pattern = self.rule.match
        names = self.step['match']
        stmts = pattern.stmts
        refuse(len(names) != len(stmts), 'the match does not have the nodes of the pattern')
        self.claimed = self.claims()
        for stmt, nid in zip(stmts, names):
            if stmt.kind == 'let':
                self.m.data[stmt.name] = self.m.eval(stmt.expr)
                continue
            node = self.s.nodes.get(nid)
            refuse(node is None, 'there is no node %s' % nid)
            self.nodes.append((stmt, nid, node.copy()))
            self.match_node(stmt, nid, node)
        refuse(not pattern.lo <= self.at <= pattern.hi, 'the pattern is not for opset %d' % self.at)
        self.guard(pattern.guard, 'the guard of the pattern')
        refuse(not 0 <= self.step['emit'] < len(self.rule.emits), 'there is no such emission')
        self.emit = self.rule.emits[self.step['emit']]
        if not self.emit.lo <= self.step['opset'] <= self.emit.hi:
            raise Refused('the emission is not for opset %d' % self.step['opset'])
        if self.emit.native:
            self.unknown.append('emission in C')
            return
        for stmt in self.emit.stmts:
            if stmt.kind == 'let':
                self.m.data[stmt.name] = self.eval(stmt.expr)
        self.guard(self.emit.guard, 'the guard of the emission')

    def eval(self, e):
        v = self.m.eval(e)
        if v is None or isinstance(v, list) and any(i is None or isinstance(i, Sum) for i in v):
            v = self.by_claims(e)
            self.unknown.append('value with a stated fact: %s' % spelled(e))
        return v

    def by_claims(self, e):
        self.m.claims = self.claimed
        v = self.m.eval(e)
        self.m.claims = None
        return v

    def guard(self, e, what):
        """Refuses a guard that is false; one that is unknown leaves the step unproven."""
        if e is None:
            return
        if e[0] == 'and':
            self.guard(e[1], what)
            self.guard(e[2], what)
            return
        v = self.m.eval(e)
        if v is None:
            v = self.by_claims(e)
            if v:
                self.unknown.append('guard with a stated fact: %s' % spelled(e))
            elif v is None:
                self.unknown.append('guard not evaluated: %s' % spelled(e))
        if v is not None and not v:
            raise Refused('%s is false: %s' % (what, spelled(e)))

    def match_node(self, s, nid, n):
        if (n.op, n.domain) != (s.op, s.domain):
            raise Refused('node %s is a %s, not a %s' % (nid, n.op, s.op))
        if not n.domain and ('', n.op, n.overload) in self.s.functions:
            raise Refused('%s is a function of the model' % n.op)
        listed = set()
        for name, expr, optional, _ in s.attrs:
            listed.add(name)
            self.match_attr(n, name, expr, optional)
        if not s.more_attrs:
            for name, a in n.attrs.items():
                if name not in listed:
                    self.default_only(n, name, a)
        self.match_values(s, nid, n)

    def default_only(self, n, name, a):
        default = self.default(n, name)
        if default is None:
            self.unknown.append('default of %s.%s' % (n.op, name))
        elif attr_value(a) != default:
            raise Refused('attribute %s is not its default' % name)

    def match_attr(self, n, name, expr, optional):
        a = n.attrs.get(name)
        if expr[0] == 'bind':
            if a is not None:
                self.m.data[expr[1]], self.m.attrs[expr[1]] = attr_value(a), (name, a)
            elif not optional:
                raise Refused('attribute %s is absent' % name)
            else:
                self.m.data[expr[1]] = self.default(n, name)
            return
        have = attr_value(a) if a is not None else self.default(n, name)
        equal = same(have, self.m.eval(expr))
        if equal is None:
            self.unknown.append('default of %s.%s' % (n.op, name))
        elif not equal:
            raise Refused('attribute %s has another value' % name)

    def default(self, n, name):
        return self.versions.default(n, name, self.at)

    def match_values(self, s, nid, n):
        for k, v in enumerate(n.outs):
            name = s.outs[k] if k < len(s.outs) else None
            if name and self.m.values.get(name) != v:
                raise Refused('output %d of %s is not %s' % (k, nid, name))
        ins = n.ins + [None] * (len(s.ins) - len(n.ins))
        if any(v is not None for v in ins[len(s.ins):]) and not s.more_in:
            raise Refused('node %s has more inputs' % nid)
        orders = [s.ins]
        if s.op in COMMUTATIVE and len(s.ins) == 2:
            orders.append(s.ins[::-1])
        if not any(all(self.is_input(n, a, v) for a, v in zip(o, ins)) for o in orders):
            raise Refused('inputs of %s are not those of the pattern' % nid)

    def is_input(self, n, a, v):
        if a[0] == 'absent':
            return v is None
        if a[0] == 'value':
            return (v is not None or a[2]) and self.m.values.get(a[1]) == v
        t = self.s.is_const(v) if v is not None else None
        e = attr_value([TENSOR, t]) if t is not None and t.count == 1 else None
        if not e:
            return False
        want = a[1]
        if t.dtype in (1, 10):
            want = struct.unpack(CODES[t.dtype], struct.pack(CODES[t.dtype], want))[0]
        return e[0] == want and math.copysign(1, e[0]) == math.copysign(1, want)

    # --- after the edits ---

    def emitted(self, replaced):
        """Checks that the graph is now what the emission states."""
        if self.emit.native:
            return
        self.defs, self.seen, self.visited = {}, {}, set()
        for stmt in self.emit.stmts:
            for k, name in enumerate(stmt.outs):
                if name:
                    self.defs[name] = stmt, k
        roots = [name for stmt, _, _ in self.nodes for name in stmt.outs if name]
        for name in roots:
            v = self.m.values.get(name)
            if v is None or name not in self.defs:
                continue
            at, hops = v, 0
            while at in replaced and hops <= len(replaced):
                at, hops = replaced[at], hops + 1
            if at == v and v not in self.s.producer and v not in self.s.const:
                refuse(self.s.used(v), '%s is not defined any more' % v)
                continue
            if at == v and not self.s.used(v):
                continue
            self.unify(name, at, v)
        self.untouched()

    def untouched(self):
        """Nodes of the step that existed before must be nodes of the match."""
        own = {nid for _, nid, _ in self.nodes}
        for nid in self.step.get('nodes', {}):
            if nid in self.before and nid not in own and nid not in self.visited:
                raise Refused('node %s changed, and is not of the match' % nid)

    def unify(self, name, v, root=None):
        """Whether value v is what the emission calls `name`."""
        todo = [(name, v, root)]
        while todo:
            name, v, root = todo.pop()
            if name not in self.defs:
                if self.m.values.get(name) != v:
                    raise Refused('%s should be %s' % (v, self.m.values.get(name)))
                continue
            stmt, k = self.defs[name]
            if stmt.kind == 'forward':
                at = self.s.producer.get(v)
                node = self.s.nodes[at[0]] if at else None
                source = self.m.values.get(stmt.name) if stmt.name not in self.defs else None
                if node is not None and v != source and node.op == 'Identity' and v == root \
                        and not node.domain:
                    self.visited.add(at[0])
                    todo.append((stmt.name, node.ins[0], None))
                else:
                    todo.append((stmt.name, v, None))
                continue
            at = self.s.producer.get(v)
            refuse(at is None, '%s is not made by a %s' % (v, stmt.op))
            nid, out = at
            refuse(out != k, '%s is another output of %s' % (v, nid))
            refuse(self.seen.setdefault(id(stmt), nid) != nid, '%s is made twice' % name)
            if nid in self.visited:
                continue
            self.visited.add(nid)
            todo += self.made_node(stmt, nid, self.s.nodes[nid])

    def made_node(self, stmt, nid, n):
        if (n.op, n.domain) != (stmt.op, stmt.domain):
            raise Refused('node %s is a %s, not a %s' % (nid, n.op, stmt.op))
        self.made_attrs(stmt, nid, n)
        ins, want, todo = list(n.ins), list(stmt.ins), []
        if stmt.more_in:
            source, old = self.more()
            want += [('exact', v) for v in old.ins[len(source.ins):]]
        ins += [None] * (len(want) - len(ins))
        if len(ins) > len(want) and any(v is not None for v in ins[len(want):]):
            raise Refused('node %s has more inputs' % nid)
        for a, v in zip(want, ins):
            if a[0] == 'absent' or (a[0] == 'value' and v is None and
                                    a[1] not in self.defs and not self.m.values.get(a[1])):
                refuse(v is not None, 'node %s has an input too many' % nid)
            elif a[0] == 'exact':
                refuse(v != a[1], 'node %s reads %s, not %s' % (nid, v, a[1]))
            elif a[0] == 'value':
                refuse(v is None, 'node %s lacks an input' % nid)
                todo.append((a[1], v, None))
            else:
                self.made_constant(nid, v, a)
        return todo

    def more(self):
        for stmt, _, node in self.nodes:
            if stmt.more_in or stmt.more_attrs or stmt.more_out:
                return stmt, node
        raise Refused('the pattern has no `...`')

    def made_constant(self, nid, v, a):
        t = self.s.is_const(v) if v is not None else None
        made = self.s.nodes.get(self.s.producer.get(v, ('',))[0])
        if made is not None and made.op == 'Cast' and not made.domain:  # integers of old opsets
            x = cast(array_of(self.s.is_const(made.ins[0])), attr_value(made.attrs['to']))
            t = Tensor(x.dtype, x.dims, raw=x.raw())
        want = self.eval(a[1])
        dtype = self.eval(a[2]) if a[2][0] == 'call' else DTYPES.get(a[2][1])
        refuse(t is None, 'node %s reads %s, which is no constant' % (nid, v))
        if want is None or dtype is None:
            self.unknown.append('value of a constant: %s' % spelled(a[1]))
            return
        if not same_tensor(t, want, dtype):
            raise Refused('constant %s of node %s has another value' % (v, nid))

    def made_attrs(self, stmt, nid, n):
        left = dict(n.attrs)
        for name, expr, _, dtype in stmt.attrs:
            a = left.pop(name, None)
            refuse(a is None, 'node %s lacks attribute %s' % (nid, name))
            if expr[0] == 'word' and expr[1] in self.m.attrs and dtype is None and \
                    self.m.attrs[expr[1]][0] == name:
                if not same_attr(a, self.m.attrs[expr[1]][1]):
                    raise Refused('attribute %s of node %s is not copied' % (name, nid))
                continue
            want = self.eval(expr)
            if want is None:
                self.unknown.append('value of attribute %s' % name)
            elif dtype is not None:
                t = self.eval(dtype) if dtype[0] == 'call' else DTYPES.get(dtype[1])
                if a[0] != TENSOR or not same_tensor(a[1], want, t):
                    raise Refused('attribute %s of node %s has another value' % (name, nid))
            elif same(attr_value(a), single(want, a)) is not True:
                raise Refused('attribute %s of node %s has another value' % (name, nid))
        if stmt.more_attrs:
            source, old = self.more()
            listed = {name for name, _, _, _ in source.attrs}
            for name, a in old.attrs.items():
                if name in listed or name in {x[0] for x in stmt.attrs}:
                    continue
                b = left.pop(name, None)
                if b is None or not same_attr(a, b):
                    raise Refused('attribute %s of node %s is not copied' % (name, nid))
        refuse(left, 'node %s has attribute %s too many' % (nid, ', '.join(left)))


def single(want, a):
    """Numbers of float attributes are of single precision."""
    if a[0] == FLOAT and isinstance(want, (int, float)):
        return struct.unpack('f', struct.pack('f', want))[0]
    if a[0] == FLOATS and isinstance(want, list):
        return [struct.unpack('f', struct.pack('f', w))[0] for w in want]
    return int(want) if isinstance(want, bool) else want


def same_tensor(t, want, dtype):
    if isinstance(want, tuple):
        _, items, dims = want
    else:
        items = want if isinstance(want, list) else [want]
        dims = [len(items)] if isinstance(want, list) else []
    a = array_of(t)
    if a is None or t.dtype != dtype or list(t.dims) != list(dims) or len(a.items) != len(items):
        return False
    if dtype in (1, 10, 11):
        items = [struct.unpack(CODES[dtype], struct.pack(CODES[dtype], i))[0] for i in items]
    return all(x == y and math.copysign(1, x) == math.copysign(1, y) or (x != x and y != y)
               for x, y in zip(a.items, items))


def spelled(e):
    if e[0] == 'literal':
        return '"%s"' % e[1] if isinstance(e[1], str) else '%g' % e[1]
    if e[0] == 'word':
        return e[1]
    if e[0] in ('call', 'list'):
        args = ', '.join(map(spelled, e[2 if e[0] == 'call' else 1:]))
        return '%s(%s)' % (e[1], args) if e[0] == 'call' else '[%s]' % args
    return ' '.join([spelled(x) for x in e[1:2]] + [e[0]] + [spelled(x) for x in e[2:]])
