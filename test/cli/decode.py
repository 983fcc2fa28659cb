#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models with caches: static-cache against the model itself over several runs, in which
caches grow by 3, 1, 2 ... rows. decode.py PROGRAM"""
import array
import ast
import math
import pathlib
import random
import struct

import common
from common import Case

VOCAB, WIDTH, HEADS, SIZE, LAYERS, POSITIONS = 11, 8, 2, 4, 2, 24
STEPS = (3, 1, 2, 1, 1)


# ---- arrays as .npy --------------------------------------------------------------------------------

def npy(kind, dims, numbers):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        kind, ''.join('%d, ' % d for d in dims))
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    code = {'<f4': 'f', '<i8': 'q'}[kind]
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() +
            struct.pack('<%d%s' % (len(numbers), code), *numbers))


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    n = struct.unpack('<H', data[8:10])[0]
    head = ast.literal_eval(data[10:10 + n].decode())
    numbers = array.array({'<f4': 'f', '<i8': 'q'}[head['descr']])
    numbers.frombytes(data[10 + n:])
    return list(head['shape']), list(numbers)


def rows(dims, numbers, axis, picked):
    """The rows `picked` along an axis; None: a row of numbers that must not matter."""
    inner = math.prod(dims[axis + 1:])
    out = []
    for block in range(math.prod(dims[:axis])):
        at = block * dims[axis] * inner
        for r in picked:
            out += [7.5] * inner if r is None else numbers[at + r * inner:at + (r + 1) * inner]
    return dims[:axis] + [len(picked)] + dims[axis + 1:], out


# ---- models ----------------------------------------------------------------------------------------

class Model:
    """ONNX text of a decoder. The methods add nodes of one way to write a part of it."""

    def __init__(self, opset=17):
        self.opset = opset
        self.random = random.Random(3)
        self.inputs, self.outputs, self.weights, self.nodes = [], [], [], []
        self.inputs.append('int64[1, S] ids')
        self.weight('wte', VOCAB, WIDTH)
        self.const('i0', [0])
        self.const('i1', [1])
        self.const('i2', [2])
        self.weights.append('int64 c0 = {0}')
        self.weights.append('int64 c1 = {1}')
        self.weights.append('int64 c2 = {2}')
        self.weights.append('int64 cm1 = {-1}')
        self.weights.append('float low = {-3e38}')
        self.add('h0 = Gather (wte, ids)')
        self.hidden = 'h0'
        self.mask = None

    def add(self, text):
        self.nodes.append(text)

    def weight(self, name, *dims):
        numbers = ', '.join('%.3f' % self.random.uniform(-1, 1) for _ in range(math.prod(dims)))
        self.weights.append('float[%s] %s = {%s}' % (','.join(map(str, dims)), name, numbers))

    def const(self, name, numbers):
        self.weights.append('int64[%d] %s = {%s}' % (len(numbers), name, ', '.join(map(str, numbers))))

    def sizes(self):
        """Numbers of past, new and all rows, as scalars."""
        self.add('past_shape = Shape (past_0_key)')
        self.add('past = Gather (past_shape, c2)')
        self.add('ids_shape = Shape (ids)')
        self.add('new = Gather (ids_shape, c1)')
        self.add('all = Add (past, new)')

    def learned(self):
        self.weight('wpe', POSITIONS, WIDTH)
        self.add('at = Range (past, all, c1)')
        self.add('pe = Gather (wpe, at)')
        self.add('h1 = Add (h0, pe)')
        self.hidden = 'h1'

    def given_positions(self):
        self.inputs.append('int64[1, S] position_ids')
        self.weight('wpe', POSITIONS, WIDTH)
        self.add('pe = Gather (wpe, position_ids)')
        self.add('h1 = Add (h0, pe)')
        self.hidden = 'h1'

    def table_positions(self):
        """A slice of a table of angles, multiplied with queries and keys."""
        self.weight('cos', POSITIONS, SIZE)
        self.add('p1 = Unsqueeze (past, i0)  a1 = Unsqueeze (all, i0)')
        self.add('angle = Slice (cos, p1, a1, i0)')
        self.angle = 'angle'

    def prefix_positions(self):
        """The first rows of a table, then those of position_ids."""
        self.inputs.append('int64[1, S] position_ids')
        self.weight('cos', POSITIONS, SIZE)
        self.add('a1 = Unsqueeze (all, i0)')
        self.add('prefix = Slice (cos, i0, a1, i0)')
        self.add('angles = Gather (prefix, position_ids)')
        self.add('angle = Unsqueeze (angles, i1)')
        self.angle = 'angle'

    angle = None

    def causal(self):
        """Positions of keys against those of queries."""
        self.add('keys = Range (c0, all, c1)  queries = Range (past, all, c1)')
        self.add('row_q = Unsqueeze (queries, i1)')
        self.add('hidden_keys = Greater (keys, row_q)')
        self.mask = 'where'

    def table_mask(self):
        square = ', '.join('1' if j <= i else '0' for i in range(POSITIONS) for j in range(POSITIONS))
        self.weights.append('bool[%d,%d] tril = {%s}' % (POSITIONS, POSITIONS, square))
        self.add('mp1 = Unsqueeze (past, i0)  ma1 = Unsqueeze (all, i0)')
        self.add('t1 = Slice (tril, mp1, ma1, i0)')
        self.add('t2 = Slice (t1, i0, ma1, i1)')
        self.add('hidden_keys = Not (t2)')
        self.mask = 'where'

    def trilu(self):
        self.add('all1 = Unsqueeze (all, i0)  new1 = Unsqueeze (new, i0)')
        self.add('square = Concat <axis = 0> (new1, all1)')
        self.add('ones = ConstantOfShape <value = int64[1] {1}> (square)')
        self.add('diagonal = Add (past, c1)')
        self.add('up = Trilu <upper = 1> (ones, diagonal)')
        self.add('hidden_keys = Cast <to = 9> (up)')
        self.mask = 'where'

    def relative(self):
        """A bias by distance, as of T5."""
        self.causal()
        self.weight('distance', POSITIONS)
        self.add('far = Sub (row_q, keys)  near = Max (far, c0)  bias = Gather (distance, near)')
        self.bias = 'bias'

    bias = None

    def alibi(self):
        self.causal()
        self.weights.append('float[2,1,1] slope = {0.5, 0.25}')
        self.add('fk = Cast <to = 1> (keys)  bias = Mul (fk, slope)')
        self.bias = 'bias'

    def given_mask(self, symbol='total'):
        self.inputs.append('int64[1, %s] attention_mask' % symbol)
        self.causal()
        self.add('m1 = Unsqueeze (attention_mask, i1)  m2 = Equal (m1, c0)')
        self.add('hidden_both = Or (hidden_keys, m2)')
        self.hidden_keys = 'hidden_both'

    hidden_keys = 'hidden_keys'

    def counted_mask(self):
        """All rows are counted by the mask, and positions are its sums."""
        self.inputs.append('int64[1, total] attention_mask')
        self.weight('wpe', POSITIONS, WIDTH)
        self.add('sums = CumSum (attention_mask, c1)  ids_of_all = Sub (sums, c1)')
        self.add('clipped = Max (ids_of_all, c0)')
        self.add('p1 = Unsqueeze (past, i0)  end = Unsqueeze (all, i0)')
        self.add('at = Slice (clipped, p1, end, i1)')
        self.add('pe = Gather (wpe, at)  h1 = Add (h0, pe)')
        self.hidden = 'h1'
        self.add('mask_shape = Shape (attention_mask)  mask_all = Gather (mask_shape, c1)')
        self.add('keys = Range (c0, mask_all, c1)  queries = Range (past, all, c1)')
        self.add('row_q = Unsqueeze (queries, i1)  late = Greater (keys, row_q)')
        self.add('m1 = Unsqueeze (attention_mask, i1)  m2 = Equal (m1, c0)')
        self.add('hidden_keys = Or (late, m2)')
        self.mask = 'where'

    def layers(self, attention=None, shared=1):
        self.const('to_heads', [0, 0, HEADS, SIZE])
        self.const('to_rows', [0, 0, WIDTH])
        for i in range(LAYERS):
            for part in 'qkv':
                self.weight('w%s%d' % (part, i), WIDTH, WIDTH)
                self.add('%s%d = MatMul (%s, w%s%d)' % (part, i, self.hidden, part, i))
            for name in ('key', 'value'):
                self.inputs.append('float[1, %d, P, %d] past_%d_%s' % (HEADS, SIZE, i, name))
                self.outputs.append('float[1, %d, T, %d] present_%d_%s' % (HEADS, SIZE, i, name))
            (attention or self.plain)(i)
            self.add('o{0} = Add ({1}, x{0})'.format(i, self.hidden))
            self.hidden = 'o%d' % i
        self.weight('head', WIDTH, VOCAB)
        self.add('logits = MatMul (%s, head)' % self.hidden)
        self.outputs.insert(0, 'float[1, S, %d] logits' % VOCAB)
        return self

    def heads(self, i, parts='qkv'):
        for part in parts:
            self.add('r{0}{1} = Reshape ({0}{1}, to_heads)'.format(part, i))
            self.add('h{0}{1} = Transpose <perm = [0, 2, 1, 3]> (r{0}{1})'.format(part, i))
            if self.angle and part != 'v':
                self.add('h{0}{1}_turned = Mul (h{0}{1}, {2})'.format(part, i, self.angle))

    def plain(self, i):
        self.heads(i)
        turned = '_turned' if self.angle else ''
        self.add('present_%d_key = Concat <axis = 2> (past_%d_key, hk%d%s)' % (i, i, i, turned))
        self.add('present_%d_value = Concat <axis = -2> (past_%d_value, hv%d)' % (i, i, i))
        self.add('kt{0} = Transpose <perm = [0, 1, 3, 2]> (present_{0}_key)'.format(i))
        self.add('raw{0} = MatMul (hq{0}{1}, kt{0})'.format(i, turned))
        scores = 'raw%d' % i
        if self.bias:
            self.add('biased%d = Add (%s, %s)' % (i, scores, self.bias))
            scores = 'biased%d' % i
        if self.mask:
            self.add('masked%d = Where (%s, low, %s)' % (i, self.hidden_keys, scores))
            scores = 'masked%d' % i
        self.add('soft{0} = Softmax <axis = -1> ({1})'.format(i, scores))
        self.add('c{0}x = MatMul (soft{0}, present_{0}_value)'.format(i))
        self.join(i, 'c%dx' % i)

    def join(self, i, value):
        self.add('t{0}x = Transpose <perm = [0, 2, 1, 3]> ({1})'.format(i, value))
        self.add('x{0} = Reshape (t{0}x, to_rows)'.format(i))

    def safe_softmax(self, i):
        """Keys as rows of the scores; a Softmax that is 0 where all is masked, as of torch."""
        self.heads(i)
        self.add('present_{0}_key = Concat <axis = 2> (past_{0}_key, hk{0})'.format(i))
        self.add('present_{0}_value = Concat <axis = 2> (past_{0}_value, hv{0})'.format(i))
        self.add('qt{0} = Transpose <perm = [0, 1, 3, 2]> (hq{0})'.format(i))
        self.add('raw{0} = MatMul (present_{0}_key, qt{0})'.format(i))
        self.add('soft{0} = Softmax <axis = 2> (raw{0})'.format(i))
        self.add('nan{0} = IsNaN (soft{0})  zero{0} = Constant <value = float {{0}}> ()'.format(i))
        self.add('safe{0} = Where (nan{0}, zero{0}, soft{0})'.format(i))
        self.add('pt{0} = Transpose <perm = [0, 1, 3, 2]> (safe{0})'.format(i))
        self.add('c{0}x = MatMul (pt{0}, present_{0}_value)'.format(i))
        self.join(i, 'c%dx' % i)

    def repeated(self, i):
        """Keys and values are shared by two query heads each: 4 heads of size 2 here, 2 caches."""
        self.heads(i)
        for name, part in (('key', 'k'), ('value', 'v')):
            self.add('present_{0}_{1} = Concat <axis = 2> (past_{0}_{1}, h{2}{0})'.format(i, name, part))
            self.add('u{1}{0} = Unsqueeze (present_{0}_{2}, i2)'.format(i, part, name))
            self.add('us{1}{0} = Shape (present_{0}_{2})'.format(i, part, name))
            self.add('ua{1}{0} = Gather (us{1}{0}, i2)'.format(i, part))
            self.const('e%s%d_head' % (part, i), [1, HEADS, 2])
            self.const('e%s%d_tail' % (part, i), [SIZE])
            self.const('f%s%d_head' % (part, i), [1, 2 * HEADS])
            self.add('ex{1}{0} = Concat <axis = 0> (e{1}{0}_head, ua{1}{0}, e{1}{0}_tail)'.format(i, part))
            self.add('wide{1}{0} = Expand (u{1}{0}, ex{1}{0})'.format(i, part))
            self.add('fx{1}{0} = Concat <axis = 0> (f{1}{0}_head, ua{1}{0}, e{1}{0}_tail)'.format(i, part))
            self.add('all{1}{0} = Reshape (wide{1}{0}, fx{1}{0})'.format(i, part))
        self.add('two{0} = Concat <axis = 1> (hq{0}, hq{0})'.format(i))
        self.add('kt{0} = Transpose <perm = [0, 1, 3, 2]> (allk{0})'.format(i))
        self.add('raw{0} = MatMul (two{0}, kt{0})'.format(i))
        self.add('masked{0} = Where ({1}, low, raw{0})'.format(i, self.hidden_keys))
        self.add('soft{0} = Softmax <axis = -1> (masked{0})'.format(i))
        self.add('c{0}y = MatMul (soft{0}, allv{0})'.format(i))
        self.add('c{0}x, c{0}z = Split <axis = 1, num_outputs = 2> (c{0}y)'.format(i)
                 if self.opset >= 18 else 'c{0}x, c{0}z = Split <axis = 1> (c{0}y)'.format(i))
        self.join(i, 'c%dx' % i)

    def operator(self, i):
        """The operator of ONNX."""
        self.heads(i)
        self.add('c{0}x, present_{0}_key, present_{0}_value = Attention <is_causal = 1> '
                 '(hq{0}, hk{0}, hv{0}, , past_{0}_key, past_{0}_value)'.format(i))
        self.join(i, 'c%dx' % i)

    def multi_head(self, i):
        """The operator of ONNX Runtime."""
        self.heads(i, '')
        self.add('x{0}, present_{0}_key, present_{0}_value = com.microsoft.MultiHeadAttention '
                 '<num_heads = {1}, unidirectional = 1> (q{0}, k{0}, v{0}, , , , past_{0}_key, '
                 'past_{0}_value)'.format(i, HEADS))

    def text(self):
        return ('<ir_version: 8, opset_import: ["" : %d, "com.microsoft" : 1]>\n'
                'g (%s) => (%s) <\n  %s\n> {\n  %s\n}\n' % (
                    self.opset, ', '.join(self.inputs), ', '.join(self.outputs),
                    ',\n  '.join(self.weights), '\n  '.join(self.nodes)))


def model(*parts, opset=17, attention='plain'):
    m = Model(opset)
    m.sizes()
    for part in parts:
        getattr(m, part)()
    return m.layers(getattr(m, attention))


MODELS = {
    'learned': model('learned', 'causal'),
    'table': model('table_positions', 'table_mask'),
    'prefix': model('prefix_positions', 'causal'),
    'trilu': model('given_positions', 'trilu'),
    'relative': model('relative'),
    'alibi': model('alibi'),
    'mask': model('learned', 'given_mask'),
    'counted': model('counted_mask'),
    'safe': model('learned', attention='safe_softmax'),
    'repeated': model('learned', 'causal', attention='repeated'),
    'old': model('learned', 'causal', opset=13),
    'operator': model('learned', opset=24, attention='operator'),
    'multi': model('learned', attention='multi_head'),
}


# ---- runs ------------------------------------------------------------------------------------------

class Decode(Case):
    def once(self, path, inputs):
        """Runs a model on {name: (kind, dims, numbers)}; {name: (dims, numbers)}."""
        pathlib.Path('out').mkdir(exist_ok=True)
        args = ['run', path, '--out', 'out']
        for name, (kind, dims, numbers) in inputs.items():
            pathlib.Path(name + '.npy').write_bytes(npy(kind, dims, numbers))
            args += ['--input', '%s=%s.npy' % (name, name)]
        self.ok(*args)
        return {p.stem: read_npy(p) for p in pathlib.Path('out').glob('*.npy')}

    def near(self, a, b, what):
        self.assertEqual(a[0], b[0], what)
        for p, q in zip(a[1], b[1]):
            self.assertTrue(abs(p - q) <= 1e-5 + 1e-4 * abs(q), (what, p, q))

    def decode(self, name, text, length, options=(), steps=STEPS, window=False):
        """Runs both models over all steps; for a window, the other one sees what it sees."""
        has = lambda word: any(word in i for i in text.inputs)  # noqa: E731
        pathlib.Path('grow.onnxtxt').write_text(text.text())
        self.ok('static-cache', '--length', str(length), *options, 'grow.onnxtxt', 'fixed.onnx')
        self.ok('check', 'fixed.onnx')
        caches = ['past_%d_%s' % (i, k) for i in range(LAYERS) for k in ('key', 'value')]
        grown = {c: ([1, HEADS, 0, SIZE], []) for c in caches}
        fixed = {c: rows([1, HEADS, 0, SIZE], [], 2, [None] * length) for c in caches}
        done, pick = 0, random.Random(5)
        for step in steps:
            ids = [pick.randrange(VOCAB) for _ in range(step)]
            both = {'ids': ('<i8', [1, step], ids)}
            if has('position_ids'):
                both['position_ids'] = ('<i8', [1, step], list(range(done, done + step)))
            a, b = dict(both), dict(both)
            kept = min(done, length) if window else done
            if has('attention_mask'):
                filled = [1] * kept + [0] * (length - kept)
                a['attention_mask'] = ('<i8', [1, kept + step], [1] * (kept + step))
                b['attention_mask'] = ('<i8', [1, length + step],
                                       (filled[::-1] if window else filled) + [1] * step)
            for c in caches:
                a[c] = ('<f4', *rows(*grown[c], 2, range(grown[c][0][2] - kept, grown[c][0][2])))
                b[c] = ('<f4', *fixed[c])
            if has('past_length') or 'past_length' in self.read('fixed.onnx').decode('latin-1'):
                b['past_length'] = ('<i8', [1], [done])
            want, got = self.once('grow.onnxtxt', a), self.once('fixed.onnx', b)
            self.near(got['logits'], want['logits'], (name, 'logits', done))
            done += step
            for c in caches:
                out = c.replace('past', 'present')
                grown[c], fixed[c] = want[out], got[out]
                if window:
                    n = min(done, length)
                    n_grown = grown[c][0][2]
                    self.near(rows(*fixed[c], 2, range(length - n, length)),
                              rows(*grown[c], 2, range(n_grown - n, n_grown)), (name, out, done))
                else:
                    self.near(rows(*fixed[c], 2, range(done)), grown[c], (name, out, done))

    def test_fixed(self):
        for name, text in MODELS.items():
            with self.subTest(name):
                self.decode(name, text, 12)

    def test_full(self):
        """The last run fills the buffer."""
        self.decode('learned', MODELS['learned'], sum(STEPS))

    def test_window_before_it_is_full(self):
        for name, text in MODELS.items():
            if name in ('prefix', 'counted'):
                continue
            with self.subTest(name):
                self.decode(name, text, 12, ['--window'], window=True)

    def test_window_that_is_full(self):
        """Positions are given, so the model itself can be run on the rows of the window."""
        self.decode('window', MODELS['trilu'], 4, ['--window'], steps=(3, 1, 2, 1, 1, 3), window=True)


# ---- a prompt, then tokens -------------------------------------------------------------------------

PLAIN = b'''<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,S,2] x, float[1,1,P,2] past_k, float[1,1,P,2] past_v)
   => (float[1,1,S,2] y, float[1,1,T,2] present_k, float[1,1,T,2] present_v)
   <float[2,2] wq = {1,2,3,-4}, float[2,2] wk = {0.5,1,-1,0.25}, float[2,2] wv = {2,1,0,3}> {
  q = MatMul (x, wq)
  k = MatMul (x, wk)
  v = MatMul (x, wv)
  present_k = Concat <axis = 2> (past_k, k)
  present_v = Concat <axis = 2> (past_v, v)
  t = Transpose <perm = [0, 1, 3, 2]> (present_k)
  s = MatMul (q, t)
  w = Softmax <axis = -1> (s)
  y = MatMul (w, present_v)
}
'''
STACKED = b'''<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,S,2] x, float[2,1,1,P,2] past) => (float[1,1,S,2] y, float[2,1,1,T,2] present)
   <float[2,2] wq = {1,2,3,-4}, float[2,2] wk = {0.5,1,-1,0.25}, float[2,2] wv = {2,1,0,3}, int64[1] front = {0},
    int64 one = {1}> {
  q = MatMul (x, wq)
  k = MatMul (x, wk)
  v = MatMul (x, wv)
  parts_k, parts_v = Split <axis = 0> (past)
  old_k = Squeeze (parts_k, front)
  old_v = Squeeze (parts_v, front)
  new_k = Concat <axis = 2> (old_k, k)
  new_v = Concat <axis = 2> (old_v, v)
  t = Transpose <perm = [0, 1, 3, 2]> (new_k)
  s = MatMul (q, t)
  w = Softmax <axis = -1> (s)
  y = MatMul (w, new_v)
  ku = Unsqueeze (new_k, front)
  vu = Unsqueeze (new_v, front)
  present = Concat <axis = 0> (ku, vu)
}
'''


class Prompt(Case):
    """Models of fixed sizes for a prompt and for each token after it, with shared weights, as
    doc/language-models.md makes them, beside the decoder with caches of any length."""
    LENGTH, PROMPT = 8, 4

    def outputs(self, model, tokens, **given):
        given['x'] = ('<f4', (1, 1, len(tokens), 2), [v for t in tokens for v in t])
        args = []
        for name, value in given.items():
            self.write(name + '.npy', npy(*value))
            args += ['--input', '%s=%s.npy' % (name, name)]
        self.ok('run', '--out', 'out', *args, model)
        return {p.stem: read_npy(p) for p in pathlib.Path('out').iterdir()}

    def decode(self, text, caches, dims):
        """`caches` {input: output}, `dims` of one with no rows."""
        pathlib.Path('out').mkdir()
        pathlib.Path('shared').mkdir()
        self.write('decoder.onnxtxt', text)
        for name, new in (('prompt', self.PROMPT), ('step', 1)):
            self.ok('static-cache', '--length', str(self.LENGTH), '--new', str(new), 'decoder.onnxtxt',
                    name + '.onnx')
        self.ok('data', '--share', 'w.data', '--threshold', '1', '--out-dir', 'shared', 'prompt.onnx', 'step.onnx')
        tokens = [(0.5 * i - 1, 1 - 0.25 * i * i) for i in range(self.LENGTH)]
        axis, past, at = len(dims) - 2, {n: (dims, []) for n in caches}, 0
        buffers = {n: rows(*past[n], axis, [None] * self.LENGTH) for n in caches}
        while at < self.LENGTH:
            count, model = (1, 'step') if at else (self.PROMPT, 'prompt')
            want = self.outputs('decoder.onnxtxt', tokens[at:at + count],
                                **{n: ('<f4', *v) for n, v in past.items()})
            got = self.outputs('shared/%s.onnx' % model, tokens[at:at + count], past_length=('<i8', (1,), [at]),
                               **{n: ('<f4', *v) for n, v in buffers.items()})
            self.assertEqual(want['y'][0], got['y'][0])
            for a, b in zip(want['y'][1], got['y'][1]):
                self.assertAlmostEqual(a, b, places=5)
            at += count
            past = {i: want[o] for i, o in caches.items()}
            buffers = {i: got[o] for i, o in caches.items()}
            for n in caches:
                self.assertEqual(buffers[n][0][axis], self.LENGTH)
                self.assertEqual(rows(*buffers[n], axis, range(at)), past[n])

    def test_plain(self):
        self.decode(PLAIN, {'past_k': 'present_k', 'past_v': 'present_v'}, [1, 1, 0, 2])

    def test_stacked(self):
        self.decode(STACKED, {'past': 'present'}, [2, 1, 1, 0, 2])


if __name__ == '__main__':
    common.main()
