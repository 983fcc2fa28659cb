#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificates: those of runs are accepted, tampered ones are not. certify.py PROGRAM [--tampered N]"""
import copy
import hashlib
import json
import pathlib
import random
import struct
import subprocess
import sys

import common
from common import Case, w

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/certify'))
import check  # noqa: E402

TAMPERED = 54
if '--tampered' in sys.argv:
    at = sys.argv.index('--tampered')
    TAMPERED = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]


def pooled():
    """A convolution with a normalization, computed sizes, nodes without effect, equal nodes."""
    ints = lambda name, *v: w.tensor(name, w.INT64, [len(v)], struct.pack('<%dq' % len(v), *v))
    nodes = [
        w.node('Conv', ['x', 'k', 'b'], ['c']),
        w.node('BatchNormalization', ['c', 'scale', 'shift', 'mean', 'var'], ['n']),
        w.node('Relu', ['n'], ['r']), w.node('Relu', ['r'], ['q']),
        w.node('Shape', ['q'], ['s']), w.node('Gather', ['s', 'zero'], ['d']),
        w.node('Concat', ['d', 'rest'], ['t'], w.a_int('axis', 0)),
        w.node('Reshape', ['q', 't'], ['f']), w.node('Identity', ['f'], ['i']),
        w.node('Exp', ['i'], ['e']), w.node('Exp', ['i'], ['g']), w.node('Add', ['e', 'g'], ['u']),
        w.node('Cast', ['u'], ['v'], w.a_int('to', 1)),
        w.node('Neg', ['v'], ['m']), w.node('Neg', ['m'], ['y']), w.node('Tanh', ['m'], ['dead'])]
    f = lambda name, dims, *v: w.tensor(name, w.FLOAT, dims, w.floats(*v))
    weights = [f('k', [2, 3, 1, 1], 1, 2, 3, 4, 5, 6), f('b', [2], 0.5, -1), f('scale', [2], 2, 3),
               f('shift', [2], 1, 0), f('mean', [2], 0.25, 2), f('var', [2], 4, 1),
               ints('zero', 0), ints('rest', -1)]
    return w.model(w.graph(nodes, weights, [w.value('x', dims=('N', 3, 4, 4))],
                           [w.value('y', dims=('N', 32))]), opsets=(('', 17),))


def chained():
    """Constants that are too large to be stated, computed from one another in several steps."""
    n = 160
    big = lambda name, dims, first: w.tensor(name, w.FLOAT, dims,
                                             w.floats(*[first + k / 8 for k in range(n)]))
    ints = w.tensor('ints', w.INT64, [4], struct.pack('<4q', 1, n, 1, 1))
    nodes = [
        w.node('Constant', [], ['flat'], w.a_tensor('value', big('', [n], 2))),
        w.node('Constant', [], ['dims'], w.a_tensor('value', ints)),
        w.node('Reshape', ['flat', 'dims'], ['scale']), w.node('Conv', ['x', 'k', 'b'], ['c']),
        w.node('Mul', ['c', 'scale'], ['m']), w.node('Add', ['m', 'shift'], ['s']),
        w.node('Mul', ['s', 'more'], ['y'])]
    weights = [big('k', [n, 1, 1, 1], 1), big('b', [n], -4), big('shift', [1, n, 1, 1], 3),
               big('more', [1, n, 1, 1], 1)]
    return w.model(w.graph(nodes, weights, [w.value('x', dims=('N', 1, 4, 4))],
                           [w.value('y', dims=('N', n, 4, 4))]), opsets=(('', 17),))


def sizes():
    """A Where that replaces sizes of -1 by others, among computed sizes: there are none."""
    ints = lambda name, *v: w.tensor(name, w.INT64, [len(v)], struct.pack('<%dq' % len(v), *v))
    nodes = [
        w.node('Shape', ['x'], ['s']), w.node('Mul', ['s', 'one'], ['t']),
        w.node('Equal', ['t', 'minus'], ['e']), w.node('Where', ['e', 'two', 't'], ['u']),
        w.node('Expand', ['x', 'u'], ['z']), w.node('Neg', ['z'], ['y'])]
    weights = [ints('one', 1, 1), ints('minus', -1, -1), ints('two', 2, 2)]
    return w.model(w.graph(nodes, weights, [w.value('x', dims=('N', 'M'))],
                           [w.value('y', dims=('N', 'M'))]), opsets=(('', 17),))


def modern():
    """Axes, sizes and bounds as inputs, which older opsets have as attributes."""
    ints = lambda name, *v: w.tensor(name, w.INT64, [len(v)], struct.pack('<%dq' % len(v), *v))
    nodes = [
        w.node('ReduceMean', ['x', 'last'], ['m'], w.a_int('keepdims', 1)),
        w.node('Sub', ['x', 'm'], ['c']), w.node('Unsqueeze', ['c', 'last'], ['u']),
        w.node('Squeeze', ['u', 'last'], ['q']),
        w.node('Split', ['q'], ['a', 'b'], w.a_int('axis', 1), w.a_int('num_outputs', 2)),
        w.node('Concat', ['b', 'a'], ['d'], w.a_int('axis', 1)), w.node('Tanh', ['d'], ['y'])]
    return w.model(w.graph(nodes, [ints('last', -1)], [w.value('x', dims=(2, 8, 4))],
                           [w.value('y', dims=(2, 8, 4))]), opsets=(('', 18),))


class Certify(Case):
    def certify(self, data=None, *options):
        if data is not None:
            self.write('in.onnx', data)
        self.ok('--certificate', 'c.jsonl', *options, 'in.onnx', 'out.onnx')

    def verdict(self, certificate='c.jsonl', source='in.onnx', output='out.onnx'):
        """None: accepted, and everything is proven."""
        report = check.Report()
        why = report.verdict(certificate, source, output)
        if why is None and report.replay.unproven:
            return 'not proven: %s' % dict(report.replay.unproven)
        return why

    def test_runs(self):
        for data in pooled(), chained(), sizes(), common.model_bytes():
            for options in (), ('--exact-only',), ('--pass', 'fold,prune'), ('--pass', ''):
                with self.subTest(options):
                    self.certify(data, *options)
                    self.assertIsNone(self.verdict())

    def test_moves(self):
        """Opset moves: rules, and nodes that mean the same in the next version."""
        for data, opset in ((pooled(), '13'), (pooled(), '9'), (pooled(), '21'), (sizes(), '11')):
            with self.subTest(opset):
                self.certify(data, '--opset', opset)
                self.assertIsNone(self.verdict())
        self.certify(modern(), '--opset', '9')
        self.assertIsNone(self.verdict())
        lines = [json.loads(l) for l in self.read('c.jsonl').splitlines()]
        for j in steps(lines):  # a rule for another version than the one that follows
            if 'rule' in j:
                j['opset'] += 1
        self.seal(lines, self.read('out.onnx'))
        report = check.Report()
        why = report.verdict('t.jsonl', 'in.onnx', 'out.onnx')
        self.assertTrue(why or sum(report.replay.unproven.values()))

    def test_versions(self):
        """Which nodes mean the same one opset on, or before."""
        from state import Node
        from steps import Replay
        from versions import Versions
        self.write('in.onnx', pooled())
        versions = Versions(ROOT / 'lib/schema')
        replay = Replay(check.State(check.Model('in.onnx')), None, versions)
        node = lambda op, **attrs: Node('0', '', op, '', ['0/x', '0/x', '0/x'], ['0/y'], attrs)
        i = lambda v: [2, v]
        for old, new, a, b, fine in (
                (node('Relu'), node('Relu'), 12, 13, True),
                (node('Softmax'), node('Softmax'), 12, 13, False),
                (node('Softmax', axis=i(3)), node('Softmax', axis=i(3)), 12, 13, True),
                (node('Softmax', axis=i(2)), node('Softmax', axis=i(2)), 12, 13, False),
                (node('Softmax'), node('Softmax', axis=i(-1)), 13, 12, True),
                (node('Softmax'), node('Softmax', axis=i(1)), 13, 12, False),
                (node('Concat', axis=i(-1)), node('Concat', axis=i(-1)), 11, 10, False),
                (node('Concat', axis=i(1)), node('Concat', axis=i(1)), 11, 10, True),
                (node('Concat', axis=i(1)), node('Concat', axis=i(2)), 11, 10, False),
                (node('Concat', axis=['ref', 'a']), node('Concat', axis=['ref', 'a']), 10, 11, False),
                (node('Reshape', allowzero=i(0)), node('Reshape'), 14, 13, True),
                (node('Reshape', allowzero=i(1)), node('Reshape'), 14, 13, False),
                (node('Add', broadcast=i(1)), node('Add'), 6, 7, True),
                (node('Clip'), node('Clip'), 10, 11, False),
                (node('Upsample'), node('Upsample'), 9, 10, False),
                (node('Gelu'), node('Gelu'), 20, 19, False),
                (node('Add'), node('Add'), 7, 6, True)):
            with self.subTest(op=new.op, attrs=new.attrs, a=a, b=b):
                self.assertIs(versions.same(old, new, a, b, replay), fine)

    def test_missing(self):
        """Weights whose file is missing are stated without a digest."""
        far = lambda name: w.tensor(name, w.FLOAT, [4], None, w.external('none.bin', 0, 16))
        nodes = [w.node('LayerNormalization', ['x', 's', 'b'], ['y'])]
        self.write('in.onnx', w.model(w.graph(nodes, [far('s'), far('b')],
                                              [w.value('x', dims=(3, 4))],
                                              [w.value('y', dims=(3, 4))])))
        self.run_tool('--certificate', 'c.jsonl', '--opset', '11', 'in.onnx', 'out.onnx')
        self.assertIn(b'"sha256":null', self.read('c.jsonl').replace(b' ', b''))
        why = check.Report().verdict('c.jsonl', 'in.onnx', 'out.onnx')
        self.assertIsNone(why)

        for where in 'constants', 'output', 'both':
            with self.subTest(where):
                self.other_type(where)

    def other_type(self, where):
        """A weight without data of another element type is another weight."""
        lines = [json.loads(l) for l in self.read('c.jsonl').splitlines()]
        output, missing = self.read('out.onnx'), 0
        for t in (t for j in steps(lines) for t in j.get('constants', {}).values()):
            if t['sha256'] is None and where != 'output':
                t['dtype'], missing = 6, missing + 1  # int32
        entry = b'\x08\x04\x10\x01'  # dims: 4, data_type: float
        self.assertIn(entry, output)
        if where != 'constants':
            output, missing = output.replace(entry, b'\x08\x04\x10\x06'), 1
        self.assertTrue(missing)
        self.seal(lines, output)
        report = check.Report()
        self.assertIsNotNone(report.verdict('t.jsonl', 'in.onnx', 't.onnx'))

    def test_repair(self):
        """Repairs are accepted, and not if anything in them was changed."""
        models = [pooled(), chained(), sizes(), modern(), common.model_bytes()]
        for data in models:
            self.write('in.onnx', data)
            for target in 'onnxruntime-1.4', 'opencv-4.6':
                with self.subTest(model=models.index(data), target=target):
                    self.run_tool('repair', '--certificate', 'c.jsonl', '--target', target,
                                  '--partial', 'in.onnx', 'out.onnx')
                    report = check.Report()
                    self.assertIsNone(report.verdict('c.jsonl', 'in.onnx', 'out.onnx'))
                    left = sum(report.replay.unproven.values())
                    done = self.tamper(21, (flipped_output, flipped_input, cut_short,
                                            step_left_out, other_weight, other_node, other_order),
                                       left)
                    self.assertLessEqual({'flipped_output', 'flipped_input', 'cut_short'},
                                         set(done))
        self.run_tool('repair', '--certificate', 'c.jsonl', 'in.onnx', 'out.onnx')  # no target
        self.assertIsNone(self.verdict())
        for arguments in (['--dry-run', 'in.onnx'], ['--out-dir', '.', 'in.onnx'],
                          ['in.onnxtxt', 'out.onnx']):
            self.bad(2, '--certificate needs', 'repair', '--certificate', 'c', *arguments)

    def tamper(self, times, kinds, left):
        """Whatever is changed is refused, or proves less than all but `left` rewrites."""
        lines = [json.loads(l) for l in self.read('c.jsonl').splitlines()]
        good, source, done = self.read('out.onnx'), self.read('in.onnx'), {}
        dice = random.Random(7)
        for k in range(times):
            how = kinds[k % len(kinds)]
            try:
                files = how(dice, copy.deepcopy(lines), good, source)
            except (IndexError, ValueError):  # the certificate has nothing of the kind
                continue
            if files is None:
                continue
            told, output, changed = files
            if told == lines and output == good and changed == source:
                continue
            if how not in RAW:
                self.seal(told, output)
            else:  # the digests stay as they were
                self.write('t.jsonl', b''.join(json.dumps(j).encode() + b'\n' for j in told)
                           if told != lines else self.read('c.jsonl'))
                self.write('t.onnx', output)
            self.write('s.onnx', changed)
            report = check.Report()
            why = report.verdict('t.jsonl', 's.onnx', 't.onnx')
            with self.subTest(how=how.__name__, k=k):
                self.assertTrue(why or sum(report.replay.unproven.values()) > left, how.__name__)
            done[how.__name__] = done.get(how.__name__, 0) + 1
        return done

    def test_program(self):
        self.certify(pooled())
        r = subprocess.run([sys.executable, str(ROOT / 'tools/certify'), '--strict', 'c.jsonl',
                            'in.onnx', 'out.onnx'], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stderr), (0, ''), r.stdout)
        self.assertRegex(r.stdout, r'^rewrites: \d+, proven: \d+ \(.*\), not proven: 0\naccepted\n$')
        self.assertGreater(int(r.stdout.split()[1].rstrip(',')), 8)
        self.write('out.onnx', self.read('out.onnx') + b'\x10\x01')
        r = subprocess.run([sys.executable, str(ROOT / 'tools/certify'), 'c.jsonl', 'in.onnx',
                            'out.onnx'], capture_output=True, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, r'^c\.jsonl:\d+: rejected: the output file is not the one that the certificate states\n$')

    def test_usage(self):
        self.bad(2, 'needs one input file', '--certificate', 'c', '-i', 'in.onnx')
        self.bad(2, 'needs one input file', '--certificate', 'c', 'in.onnx', '-')
        self.bad(2, 'in.onnxtxt` is text: ', '--certificate', 'c', 'in.onnxtxt', 'out.onnx')
        self.bad(2, 'out.onnxtxt` is text: ', '--certificate', 'c', 'in.onnx', 'out.onnxtxt')

    def test_targets(self):
        """A constant target of Reshape in place of a computed one."""
        from shapes import symbol
        from steps import means
        n, m = symbol('n'), symbol('m')
        for was, now, dims, zero, fine in (
                ([n, -1, 4], [0, -1, 4], (n, 8), 0, True), ([n, -1, 4], [0, -1, 4], (m, 8), 0, False),
                ([n, -1, 4], [0, -1, 4], (n, 8), 1, False), ([n, 4], [-1, 4], (), 0, True),
                ([n, 0], [-1, 0], (n, m), 0, False), ([n, -1], [-1, -1], (m,), 0, False),
                ([n, m], [0, -1], (n, m), 0, False), ([n, m], [0, 0], (n, m), 0, True),
                ([n, 4], [0, 5], (n, 4), 0, False), ([4, n], [4, 0], (n,), 0, False)):
            self.assertEqual(means(was, now, dims, zero), fine, (was, now, dims))

    def test_size(self):
        """The checker stays small enough to be read: lines that are not blank."""
        lines = [l for p in (ROOT / 'tools/certify').glob('*.py')
                 for l in p.read_text(encoding='utf-8').splitlines() if l.strip()]
        self.assertLessEqual(len(lines), 3000)

    def seal(self, lines, output):
        """Writes a certificate whose digests fit what was tampered with."""
        body = b''.join(json.dumps(j, ensure_ascii=False).encode() + b'\n' for j in lines[:-1])
        lines[-1]['above'] = hashlib.sha256(body).hexdigest()
        lines[-1]['output'] = {'sha256': hashlib.sha256(output).hexdigest(), 'bytes': len(output)}
        self.write('t.jsonl', body + json.dumps(lines[-1]).encode() + b'\n')
        self.write('t.onnx', output)

    def test_sizes_of_files(self):
        """Another size of a file than the stated one is refused, also where its digest is right."""
        self.certify(pooled())
        lines = [json.loads(l) for l in self.read('c.jsonl').splitlines()]
        for which, line in (('input', 0), ('output', -1)):
            told = json.loads(json.dumps(lines))
            told[line][which]['bytes'] += 1
            body = b''.join(json.dumps(j).encode() + b'\n' for j in told[:-1])
            told[-1]['above'] = hashlib.sha256(body).hexdigest()
            self.write('t.jsonl', body + json.dumps(told[-1]).encode() + b'\n')
            self.assertIn(which + ' file', self.verdict('t.jsonl') or '')

    def test_tampered(self):
        self.certify(pooled())
        self.assertIsNone(self.verdict())
        done = self.tamper(TAMPERED, KINDS, 0)
        self.assertEqual(len(done), len(KINDS), done)
        if TAMPERED > 54:
            print('tampered, all refused:', sum(done.values()), done)


def flip(dice, data):
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1:]


# Each returns the lines, the output and the input; or None.

def flipped_output(dice, lines, good, source):
    return lines, flip(dice, good), source


def flipped_input(dice, lines, good, source):
    return lines, good, flip(dice, source)


def cut_short(dice, lines, good, source):
    return lines[:dice.randrange(1, len(lines))], good, source


RAW = (flipped_output, flipped_input, cut_short)


def steps(lines):
    return [j for j in lines if 'step' in j]


def step_left_out(dice, lines, good, source):
    lines.remove(dice.choice(steps(lines)))
    return lines, good, source


def other_weight(dice, lines, good, source):
    """A weight of the output, and nothing else."""
    tensors = [t for t in check.Model('out.onnx').graph.inits.values() if t.size]
    raw = dice.choice(tensors).raw
    at = good.index(raw)
    return lines, good[:at] + flip(dice, raw) + good[at + len(raw):], source


def other_operator(dice, lines, good, source):
    pairs = [(b'\x22\x03Exp', b'\x22\x03Abs'), (b'\x22\x04Relu', b'\x22\x04Tanh'),
             (b'\x22\x03Add', b'\x22\x03Mul')]
    old, new = dice.choice([p for p in pairs if p[0] in good])
    return lines, good.replace(old, new, 1), source


def other_wire(dice, lines, good, source):
    pairs = [(b'\x0a\x01e\x0a', b'\x0a\x01i\x0a'), (b'\x0a\x01q\x0a', b'\x0a\x01x\x0a'),
             (b'\x0a\x01x\x0a', b'\x0a\x01y\x0a')]
    some = [p for p in pairs if p[0] in good]
    if not some:
        return None
    old, new = dice.choice(some)
    return lines, good.replace(old, new, 1), source


def other_rule(dice, lines, good, source):
    step = dice.choice([j for j in steps(lines) if 'rule' in j])
    step['rule'] = dice.choice(['nop-cast', 'mul-one', 'no-such-rule', 'nop-Reshape'])
    return lines, good, source


def other_hash(dice, lines, good, source):
    step = dice.choice([j for j in steps(lines) if 'rule' in j])
    key = dice.choice(['hash', 'before'])
    step[key] = step[key][:-1] + ('0' if step[key][-1] != '0' else '1')
    return lines, good, source


def other_emission(dice, lines, good, source):
    step = dice.choice([j for j in steps(lines) if 'rule' in j])
    step['emit'] += dice.choice([1, 2, 7])
    return lines, good, source


def other_binding(dice, lines, good, source):
    step = dice.choice([j for j in steps(lines) if 'rule' in j and j['values']])
    name = dice.choice(sorted(step['values']))
    step['values'][name] = dice.choice(['0/x', '0/k', '0/nothing', None])
    return lines, good, source


def other_match(dice, lines, good, source):
    step = dice.choice([j for j in steps(lines) if 'rule' in j])
    at = dice.randrange(len(step['match']))
    step['match'][at] = dice.choice([n for n in ('0.0', '0.3', '0.9', '9.9')
                                     if n != step['match'][at]])
    return lines, good, source


def other_fact(dice, lines, good, source):
    facts = [f for j in steps(lines) for f in j.get('facts', {}).values() if 'dtype' in f]
    fact = dice.choice(facts)
    fact['dtype'] += dice.randrange(1, 5)
    return lines, good, source


def other_constant(dice, lines, good, source):
    some = [c for j in steps(lines) for c in j.get('constants', {}).values()]
    some += [f['constant'] for j in steps(lines) for f in j.get('facts', {}).values()
             if isinstance(f.get('constant'), dict)]
    one = dice.choice(some)
    if 'hex' in one and dice.random() < 0.5:
        data = flip(dice, bytes.fromhex(one['hex'])) if one['hex'] else b'\0'
        one['hex'], one['sha256'] = data.hex(), hashlib.sha256(data).hexdigest()
    else:
        one['sha256'] = hashlib.sha256(b'%d' % dice.randrange(1000)).hexdigest()
    return lines, good, source


def other_node(dice, lines, good, source):
    """A node that a step makes, with the digest that fits."""
    step = dice.choice([j for j in steps(lines) if j.get('nodes')])
    node = step['nodes'][dice.choice(sorted(step['nodes']))]
    if dice.random() < 0.5:
        node['op'] = dice.choice([o for o in ('Exp', 'Relu', 'Sin') if o != node['op']])
    elif node['in']:
        at = dice.randrange(len(node['in']))
        node['in'][at] = dice.choice([v for v in ('0/x', '0/k', '0/b') if v != node['in'][at]])
    text = json.dumps(step['nodes'], sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    step['after'] = hashlib.sha256(text.encode()).hexdigest()
    return lines, good, source


def other_replacement(dice, lines, good, source):
    pairs = [p for j in steps(lines) for p in j.get('replace', ())]
    if not pairs:
        return None
    pair = dice.choice(pairs)
    pair[1] = dice.choice([v for v in ('0/x', '0/k', '0/mean') if v != pair[1]])
    return lines, good, source


def other_order(dice, lines, good, source):
    nodes = lines[-2]['order']['0']
    a, b = dice.sample(range(len(nodes)), 2)
    nodes[a], nodes[b] = nodes[b], nodes[a]
    return lines, good, source


def without_rule(dice, lines, good, source):
    """The rewrite without its rule is not proven."""
    step = dice.choice([j for j in steps(lines) if 'rule' in j and
                        (j.get('rule', '').startswith('conv') or 'batch' in j['rule'])])
    for key in ('rule', 'hash', 'match', 'values', 'facts'):
        del step[key]
    return lines, good, source


KINDS = [flipped_output, flipped_input, cut_short, step_left_out, other_weight, other_operator,
         other_wire, other_rule, other_hash, other_emission, other_binding, other_match, other_fact,
         other_constant, other_node, other_replacement, other_order, without_rule]

if __name__ == '__main__':
    common.main()
