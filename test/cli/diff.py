#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differences, patches, bisection. diff.py PROGRAM"""
import json
import os
import pathlib
import random
import re
import sys

import common
from common import EXAMPLE, Case, w

EXAMPLES = sorted(EXAMPLE.parent.glob('*.onnxtxt'))
HAS = 'import sys; sys.exit(%r in open(sys.argv[1], "rb").read())'


def node(op, ins, outs, name):
    return w.node(op, ins, outs, w.sub(3, name))


def layers(n, edit=None):
    """x -> n times (MatMul, Add, Relu or Tanh) -> y; each weight is another one. `edit` gets the
    nodes and the weights."""
    nodes, weights, last = [], [], 'x'
    for i in range(n):
        nodes += [node('MatMul', [last, 'w%d' % i], ['m%d' % i], 'matmul%d' % i),
                  node('Add', ['m%d' % i, 'b%d' % i], ['a%d' % i], 'add%d' % i),
                  node('Relu' if i % 2 else 'Tanh', ['a%d' % i], ['r%d' % i], 'act%d' % i)]
        weights += [w.tensor('w%d' % i, w.FLOAT, [4, 4], w.floats(*(i + k / 16 for k in range(16)))),
                    w.tensor('b%d' % i, w.FLOAT, [4], w.floats(i, 1, 2, 3))]
        last = 'r%d' % i
    nodes.append(node('Identity', [last], ['y'], 'last'))
    if edit:
        edit(nodes, weights)
    return w.model(w.graph(nodes, weights, [w.value('x', dims=(4, 4))], [w.value('y', dims=(4, 4))]))


class Difference(Case):
    def diff(self, *args):
        r = self.run_tool('diff', '--json', *args)
        self.assertIn(r.returncode, (0, 1, 6), r.stderr)
        self.assertEqual(r.stderr, b'')
        return r.returncode, json.loads(r.stdout)

    def edits(self, a, b):
        """The edits that no other one implies."""
        code, found = self.diff(a, b)
        out = [i for i in found['items'] if i['level'] == 'edit' and 'cause' not in i]
        self.assertEqual(code, 1 if out else 0)
        return out

    def test_unread(self):
        """Many weights that are not read are one line, few are one each."""
        self.write('a.onnx', layers(3))
        self.write('b.onnx', layers(3, lambda nodes, weights: nodes.reverse() or nodes.reverse()))
        text = self.run_tool('diff', '--no-weights', 'a.onnx', 'b.onnx').stdout.decode()
        self.assertEqual(text.splitlines()[0], '? 6 weights of 240 B: not compared')
        self.assertEqual(text.count('?'), 1)
        text = self.run_tool('diff', '--no-weights', '--all', 'a.onnx', 'b.onnx').stdout.decode()
        self.assertEqual(text.count('? value'), 6)
        self.write('c.onnx', layers(2))
        text = self.run_tool('diff', '--no-weights', 'c.onnx', 'c.onnx').stdout.decode()
        self.assertEqual(text.count('? value'), 4)

    def test_names(self):
        """Other names are no difference, on every example."""
        for path in EXAMPLES:
            with self.subTest(path=path.name):
                self.ok('rename', '--prefix', 'q/', '--of', 'values+nodes+inputs+outputs', str(path),
                        'b.onnx')
                code, found = self.diff(str(path), 'b.onnx')
                self.assertEqual((code, found['counts']['edits']), (0, 0))
                self.assertGreater(found['counts']['names'], 0)
                self.assertEqual(found['counts']['paired_nodes'], found['counts']['nodes'][0])

    def test_planted(self):
        """One edit is found as one edit of its kind, in the right place, also under other names."""
        def other_op(nodes, weights):
            nodes[5] = node('Sigmoid', ['a1'], ['r1'], 'act1')

        def weight(nodes, weights):
            weights[4] = w.tensor('w2', w.FLOAT, [4, 4], w.floats(*[2.5] + [2 + k / 16 for k in range(1, 16)]))

        def insert(nodes, weights):
            nodes[7] = node('Add', ['new', 'b2'], ['a2'], 'add2')
            nodes.insert(7, node('Softsign', ['m2'], ['new'], 'new'))

        def delete(nodes, weights):
            nodes[9] = node('MatMul', ['a2', 'w3'], ['m3'], 'matmul3')
            del nodes[8]

        def rewire(nodes, weights):
            nodes[16] = node('Add', ['r2', 'b5'], ['a5'], 'add5')
        self.write('a.onnx', layers(8))
        for edit, kind, place in ((other_op, 'operator', '"act1"'), (weight, 'weight', '"w2"'),
                                  (insert, 'node', '"new"'), (delete, 'node', '"act2"'),
                                  (rewire, 'edge', '"add5"')):
            self.write('b.onnx', layers(8, edit))
            self.ok('rename', '--prefix', 'q/', '--of', 'values+nodes', 'b.onnx', 'c.onnx')
            for other in ('b.onnx', 'c.onnx'):
                with self.subTest(edit=edit.__name__, other=other):
                    found = self.edits('a.onnx', other)
                    self.assertEqual([i['kind'] for i in found], [kind], found)
                    where = ' '.join(x for x in found[0]['where'] if x)
                    self.assertIn(place, where.replace('"q/', '"'))

    def test_bypassed(self):
        """A layer that is not read any more is not taken for the one before it, from what both models
        have after it."""
        def model(last):
            weights = ', '.join('float[4,4] w%d = {%s}' % (i, ','.join(str(i + k) for k in range(16)))
                                for i in range(3))
            layer = '  [a%d] a%d = MatMul (%s, w%d)  [s%d] s%d = Sigmoid (a%d)  [m%d] m%d = Mul (a%d, s%d)  [p%d] p%d = Relu (m%d)\n'
            text = '<ir_version: 8, opset_import: ["" : 17]>\ng (float[4,4] x, float[4] h) => (float[4,4] y) <%s> {\n' % weights
            for i, reads in enumerate(('x', 'p0', last)):
                text += layer % ((i, i, reads) + (i,) * 11)
            return (text + '  [t] t = Neg (h)  [y] y = Add (p2, t)\n}').encode()
        self.write('a.onnxtxt', model('p1'))
        self.write('b.onnxtxt', model('p0'))
        self.ok('rename', '--prefix', 'q/', '--of', 'values+nodes', 'b.onnxtxt', 'c.onnx')
        for other in ('b.onnxtxt', 'c.onnx'):
            found = self.edits('a.onnxtxt', other)
            self.assertEqual([(i['kind'], i.get('what')) for i in found], [('edge', 'input 0')], found)
            self.assertIn('"a2"', found[0]['where'][0])

    def test_swapped(self):
        """Operands of an operator that does not mind are a remark, also of whole layers."""
        def swap(nodes, weights):
            nodes[4] = node('Add', ['b1', 'm1'], ['a1'], 'add1')
            nodes[7] = node('Add', ['b2', 'm2'], ['a2'], 'add2')
        self.write('a.onnx', layers(5))
        self.write('b.onnx', layers(5, swap))
        self.assertEqual(self.edits('a.onnx', 'b.onnx'), [])
        self.assertEqual(self.ok('diff', '--all', 'a.onnx', 'b.onnx').count(b'in the other order'), 2)

        def other(nodes, weights):
            nodes[3] = node('MatMul', ['w1', 'r0'], ['m1'], 'matmul1')
        self.write('b.onnx', layers(5, other))
        self.assertEqual(len(self.edits('a.onnx', 'b.onnx')), 2)

    def test_run(self):
        """The first value that differs, under other names; nothing where no run differs."""
        def other(nodes, weights):
            nodes[5] = node('Sigmoid', ['a1'], ['r1'], 'act1')
        self.write('a.onnx', layers(5))
        self.write('b.onnx', layers(5, other))
        self.ok('rename', '--prefix', 'q/', '--of', 'values+nodes', 'b.onnx', 'c.onnx')
        for path, name in (('b.onnx', 'r1'), ('c.onnx', 'q/r1')):
            r = self.run_tool('diff', '--run', '--json', 'a.onnx', path)
            self.assertEqual((r.returncode, r.stderr), (1, b''))
            run = json.loads(r.stdout)['run']
            self.assertEqual(run['first']['value'], ['r1', name])
            self.assertEqual((run['equal'], run['compared']), (5, 6))
            self.assertTrue(run['first']['same_inputs'])
            self.assertRegex(run['first']['at'][1], r'node\[5\].*Sigmoid')
        text = self.run_tool('diff', '--run', 'a.onnx', 'b.onnx').stdout
        self.assertIn(b'run: the first value that differs is "r1"', text)
        self.assertIn(b'the node computes something else', text)
        self.assertIn(b'run: all 16 values that both models have agree',
                      self.ok('diff', '--run', 'a.onnx', 'a.onnx'))
        self.bad(2, 'are for --run', 'diff', '--seed', '3', 'a.onnx', 'b.onnx')
        self.write('r.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'g () => (float[2] y) { y = RandomNormal <shape = [2]> () }')
        self.assertIn(b'not compared: a node draws random numbers',
                      self.ok('diff', '--run', 'r.onnxtxt', 'r.onnxtxt'))
        self.write('f.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>\n'
                   b'g (float[2] x) => (float[2] y) { y = acme.Foo (x) }')
        self.assertIn(b'not compared: the first does not run',
                      self.ok('diff', '--run', 'f.onnxtxt', 'f.onnxtxt'))

    def test_log(self):
        """The pass and the rule of a logged run that made each difference, also after renames."""
        self.write('a.onnxtxt', b'''<ir_version: 8, opset_import: ["" : 17]>
            g (float[2,4] x, bool k) => (float[2,4] y) {
              [n] a = Neg (x)  [m] b = Neg (a)  c = Add (b, b)  z = Identity (c)
              y = If (k) <then_branch = t () => (float[2,4] p) { u = Neg (z) w = Neg (u) p = Relu (w) },
                          else_branch = e () => (float[2,4] q) { q = Abs (z) }> }''')
        self.ok('--pass', 'rename{value.a=aa},rewrite{group=simplify},identity,prune', '--log', 'l.json',
                'a.onnxtxt', 'b.onnx')
        r = self.run_tool('diff', '--json', '--log', 'l.json', 'a.onnxtxt', 'b.onnx')
        found = [(i['text'][0], i.get('by')) for i in json.loads(r.stdout)['items']
                 if i['kind'] == 'node']
        self.assertEqual(dict(found), {
            '"x" -> "a"': 'rewrite: involution-Neg', '"a" -> "b"': 'rewrite: involution-Neg',
            '"c" -> "z"': 'identity', '"z" -> "u"': 'rewrite: involution-Neg',
            '"u" -> "w"': 'rewrite: involution-Neg'})
        text = self.run_tool('diff', '--log', 'l.json', 'a.onnxtxt', 'b.onnx').stdout
        self.assertIn(b'"c" -> "z" (by identity)', text)
        self.bad(1, r'^a\.onnxtxt: error: line 1 is not a line of a log', 'diff', '--log', 'a.onnxtxt',
                 'a.onnxtxt', 'b.onnx')
        self.bad(3, r'^none: error: cannot read', 'diff', '--log', 'none', 'a.onnxtxt', 'b.onnx')

    def test_unknown_fields(self):
        """Fields that ONNX does not define are compared with the object that has them."""
        extra = lambda n: w.sub(900, b'beyond %d' % n)

        def with_field(at, n):
            def edit(nodes, weights):
                nodes[at] = nodes[at] + extra(n)
            return layers(3, edit)
        self.write('a.onnx', layers(3))
        self.write('b.onnx', with_field(4, 1))
        found = self.edits('a.onnx', 'b.onnx')
        self.assertEqual([(i['kind'], i['change']) for i in found], [('extra', 'added')])
        self.assertIn('"add1"', found[0]['where'][0])
        self.assertEqual(self.edits('b.onnx', 'b.onnx'), [])
        self.ok('rename', '--prefix', 'q/', '--of', 'values+nodes', 'b.onnx', 'c.onnx')
        self.assertEqual(self.edits('b.onnx', 'c.onnx'), [])
        self.write('c.onnx', with_field(4, 2))  # other bytes
        self.assertEqual(len(self.edits('b.onnx', 'c.onnx')), 1)
        self.write('c.onnx', with_field(5, 1))  # another node
        self.assertEqual(len(self.edits('b.onnx', 'c.onnx')), 2)

        def weight(at):
            def edit(nodes, weights):
                weights[at] = weights[at] + extra(1)
            return layers(3, edit)
        self.write('a.onnx', weight(0))
        self.write('b.onnx', weight(2))
        self.assertEqual(self.edits('a.onnx', 'a.onnx'), [])
        code, found = self.diff('a.onnx', 'b.onnx')
        self.assertEqual((code, [i['level'] for i in found['items']]), (6, ['unknown']))
        self.write('b.onnx', layers(3) + extra(1))
        self.assertEqual(len(self.edits('a.onnx', 'b.onnx')), 1)
        self.assertIn(b'fields outside of nodes that ONNX does not define: 1: the first has number 900',
                      self.run_tool('diff', 'a.onnx', 'b.onnx').stdout)

    def test_order(self):
        """Nodes that were written in another order are the same model."""
        self.write('a.onnx', w.model(w.graph(
            [w.node(op, ['x'], [op]) for op in ('Relu', 'Tanh', 'Abs')] +
            [w.node('Sum', ['Relu', 'Tanh', 'Abs'], ['y'])], [], [w.value('x')], [w.value('y')])))
        self.write('b.onnx', w.model(w.graph(
            [w.node(op, ['x'], [op]) for op in ('Abs', 'Relu', 'Tanh')] +
            [w.node('Sum', ['Relu', 'Tanh', 'Abs'], ['y'])], [], [w.value('x')], [w.value('y')])))
        code, found = self.diff('a.onnx', 'b.onnx')
        self.assertEqual((code, [i['kind'] for i in found['items']]), (0, ['order']))

    def test_forms(self):
        self.write('a.onnx', layers(2))
        self.write('b.onnx', layers(2, lambda n, _: n.__setitem__(2, node('Abs', ['a0'], ['r0'], '<act0>'))))
        r = self.run_tool('diff', '--sarif', '--html', 'page.html', 'a.onnx', 'b.onnx')
        self.assertEqual(r.returncode, 1)
        results = json.loads(r.stdout)['runs'][0]['results']
        self.assertEqual([x['ruleId'] for x in results], ['diff/operator'])
        page = self.read('page.html').decode()
        self.assertIn('&lt;act0&gt;', page)
        self.assertNotIn('<act0>', page)
        self.assertNotRegex(page, r'https?://|src=')

    def test_data_files(self):
        """Weights at one place of one file are not read; others are, up to the limit."""
        self.write('a.onnx', layers(3))
        self.ok('data', '--threshold', '1', '--file', 'w.data', 'a.onnx', 'e.onnx')
        self.ok('set', '--node', 'add1', '--name', 'other', 'e.onnx', 'f.onnx')
        code, found = self.diff('e.onnx', 'f.onnx')
        self.assertEqual((code, found['counts']['read'], found['counts']['names']), (0, 0, 1))
        os.truncate('w.data', os.path.getsize('w.data'))
        code, found = self.diff('a.onnx', 'e.onnx')
        self.assertEqual(code, 0)
        self.assertGreater(found['counts']['read'], 0)
        code, found = self.diff('--no-weights', 'a.onnx', 'e.onnx')
        self.assertEqual((code, found['counts']['unknown']), (6, 6))
        self.ok('strip', '--threshold', '1', 'a.onnx', 's.onnx')
        code, found = self.diff('s.onnx', 's.onnx')
        self.assertEqual((code, found['counts']['unknown']), (0, 0))


class Patch(Case):
    def patched(self, a, b):
        """Makes b from a with a patch, in a folder of its own; the bytes of the patch."""
        self.run_tool('diff', '--quiet', '--patch', 'p', a, b)
        os.mkdir('out') if not os.path.isdir('out') else None
        self.ok('patch', a, 'p', 'out/' + b)
        self.assertEqual(self.read('out/' + b), self.read(b))
        return os.path.getsize('p')

    def test_examples(self):
        for path in EXAMPLES:
            with self.subTest(path=path.name):
                self.run_tool('--pass', '', str(path), 'a.onnx')
                self.run_tool('simplify', 'a.onnx', 'b.onnx')
                self.patched('a.onnx', 'b.onnx')
                self.patched('b.onnx', 'a.onnx')
                self.patched('a.onnx', 'a.onnx')

    def test_random(self):
        """Bytes moved, repeated, removed and added."""
        rng = random.Random(5)
        blob = rng.randbytes(60000)
        for k in range(12):
            cut = sorted(rng.sample(range(len(blob)), 4))
            other = rng.choice([
                blob[cut[1]:cut[2]] + blob[:cut[1]] + blob[cut[2]:], blob[:cut[0]] + blob[cut[1]:],
                blob + blob, blob[:cut[0]] + rng.randbytes(k * 100) + blob[cut[0]:], bytes(50000), b'', b'x'])
            for name, data in (('a.onnx', blob), ('b.onnx', other)):
                self.write(name, w.model(w.graph([w.node('Relu', ['x'], ['y'])], [
                    w.tensor('t', 2, [len(data)], data)], [w.value('x')],
                    [w.value('y')])))
            with self.subTest(k=k):
                self.patched('a.onnx', 'b.onnx')
        self.write('b.onnx', self.read('a.onnx').replace(b'Relu', b'Tanh'))
        self.assertLess(self.patched('a.onnx', 'b.onnx'), 600)

    def test_json(self):
        """The JSON of a difference with its patch inside makes the second model, byte for byte."""
        for count in (3, 4, 5):  # sizes of each rest of 3
            self.write('a.onnx', layers(2))
            self.write('b.onnx', layers(3) + w.sub(900, b'x' * count))
            self.write('d.json', self.run_tool('diff', '--json', '--patch', '-', 'a.onnx', 'b.onnx').stdout)
            self.ok('patch', 'a.onnx', 'd.json', 'c.onnx')
            self.assertEqual(self.read('c.onnx'), self.read('b.onnx'))
        whole = json.loads(self.read('d.json'))
        self.write('e.json', json.dumps(dict(whole, patch=whole['patch'][:-5])).encode())
        self.bad(1, r'^e\.json: error: its patch is damaged', 'patch', 'a.onnx', 'e.json', 'f.onnx')
        self.write('e.json', self.run_tool('diff', '--json', 'a.onnx', 'b.onnx').stdout)
        self.bad(1, r'^e\.json: error: contains no patch; make one with `onnxsurg diff --json --patch -',
                 'patch', 'a.onnx', 'e.json', 'f.onnx')
        self.write('e.json', b'{"patch": ')
        self.bad(1, r'^e\.json: error: is not JSON: line 1', 'patch', 'a.onnx', 'e.json', 'f.onnx')
        # Members before it, with such a name and with escapes; the patch needs no memory.
        many = {'items': [{'patch': 'x', 'text': 'a"\\\u00e9\n]}'}] * 300000, 'patch2': 'y'}
        self.write('e.json', json.dumps(dict(many, patch=whole['patch'].replace('/', '\\/'))
                                        ).replace('\\\\/', '\\/').encode())
        self.ok('patch', '--max-memory', '4MiB', 'a.onnx', 'e.json', 'g.onnx')
        self.assertEqual(self.read('g.onnx'), self.read('b.onnx'))
        self.assertEqual(self.run_tool('diff', '--quiet', '--patch', 'p', 'a.onnx', 'b.onnx').returncode, 1)
        for name in ('e.json', 'p'):  # from a pipe, of which the first byte decides
            done = self.run_tool('patch', 'a.onnx', '-', 'h.onnx', input=self.read(name))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.read('h.onnx'), self.read('b.onnx'))
        self.bad(2, '--patch - needs --json', 'diff', '--patch', '-', 'a.onnx', 'b.onnx')
        self.assertFalse(os.path.exists('f.onnx'))

    def test_refused(self):
        self.write('a.onnx', layers(2))
        self.write('b.onnx', layers(3))
        self.run_tool('diff', '--quiet', '--patch', 'p', 'a.onnx', 'b.onnx')
        self.bad(1, r'^b\.onnx: error: the patch is for another model: expected \d+ bytes with digest',
                 'patch', 'b.onnx', 'p', 'o.onnx')
        self.bad(1, r'^b\.onnx: error: is not a patch; make one with', 'patch', 'a.onnx', 'b.onnx', 'o.onnx')
        patch = self.read('p')
        self.write('p', patch[:-3])
        self.bad(1, r'^p: error: the patch is cut off$', 'patch', 'a.onnx', 'p', 'o.onnx')
        self.write('p', patch[:-3] + b'???')
        self.bad(1, r'^o\.onnx: error: the result has another digest', 'patch', 'a.onnx', 'p', 'o.onnx')
        header = re.sub(rb'"parts":\[', b'"name":"../q","parts":[', patch)
        length = str(int(patch.split()[2]) + 14).encode()
        self.write('p', re.sub(rb'^(onnxsurg-patch 1 )\d+', rb'\g<1>' + length, header))
        self.bad(1, r'outside of the folder', 'patch', 'a.onnx', 'p', 'o.onnx')
        self.assertFalse(os.path.exists('o.onnx'))

    def test_data_files(self):
        self.write('a.onnx', layers(3))
        self.write('b.onnx', layers(4))
        self.ok('data', '--threshold', '1', '--file', 'w.data', 'a.onnx', 'e.onnx')
        self.ok('data', '--threshold', '1', '--file', 'v.data', 'b.onnx', 'f.onnx')
        self.patched('e.onnx', 'f.onnx')
        self.assertEqual(self.read('out/v.data'), self.read('v.data'))
        self.ok('set', '--node', 'add1', '--name', 'other', 'e.onnx', 'g.onnx')
        self.assertLess(self.patched('e.onnx', 'g.onnx'), 800)
        self.assertEqual(self.read('out/w.data'), self.read('w.data'))
        self.ok('patch', 'e.onnx', 'p', 'h.onnx')  # beside e.onnx: w.data is there
        self.assertEqual(self.read('h.onnx'), self.read('g.onnx'))

    def test_data_file_exists(self):
        """A data file that the patch makes is there: with its bytes it stays, with others it is an error."""
        self.write('a.onnx', layers(3))
        self.write('b.onnx', layers(4))
        self.ok('data', '--threshold', '1', '--file', 'v.data', 'b.onnx', 'f.onnx')
        self.ok('data', '--threshold', '1', '--file', 'u.data', 'a.onnx', 'e.onnx')
        self.run_tool('diff', '--quiet', '--patch', 'p', 'e.onnx', 'f.onnx')
        data, model = self.read('v.data'), self.read('f.onnx')
        self.ok('patch', 'e.onnx', 'p', 'f.onnx')
        self.assertEqual((self.read('f.onnx'), self.read('v.data')), (model, data))
        for other in (data[:-1] + bytes([data[-1] ^ 1]), data + b'x', data[:-1]):
            self.write('v.data', other)
            self.bad(3, r'^\./v\.data: error: exists, and data files are not overwritten', 'patch', 'e.onnx', 'p', 'f.onnx')
            self.assertEqual(self.read('v.data'), other)


class Bisection(Case):
    def test_command(self):
        """The rewrite after which a node is gone."""
        test = "'%s' -c '%s'" % (sys.executable, "import sys; sys.exit(b\"debug_sum\" not in open(sys.argv[1], \"rb\").read())")
        r = self.run_tool('bisect', '--test', test, '--pass', 'fold,prune', '--before', 'b.onnx', '--after', 'a.onnx',
                          str(EXAMPLE))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout.decode(), r'^rewrite \d+ of \d+, of pass prune:\n- node\[\d+\] "debug_sum"')
        self.assertIn(b'debug_sum', self.read('b.onnx'))
        self.assertNotIn(b'debug_sum', self.read('a.onnx'))

    def test_rules(self):
        """A rule of the user that changes results."""
        self.write('lie.rules', b'rule lie exact { match { y = Relu (x) } emit opset 14.. { y = Tanh (x) } }')
        r = self.run_tool('bisect', '--rules', 'lie.rules', str(EXAMPLE))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout.decode(), r'^rewrite 1 of 1, of pass rewrite, rule lie:\n')
        self.assertIn(b'Tanh', r.stdout)

    def test_results(self):
        r = self.run_tool('bisect', '--json', '--pass', 'to-bfloat16', '--allow', 'lossy', '--rtol', '1e-5', '--atol',
                          '1e-7', str(EXAMPLE))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)['bisect']['pass'], 'to-bfloat16')
        r = self.run_tool('bisect', str(EXAMPLE))
        self.assertEqual((r.returncode, r.stdout), (1, b'the result of the whole pipeline passes the test\n'))

    def test_importer(self):
        """The rewrite after which an importer rejects the model, and its message is not needed."""
        self.write('imp.py', b'import sys\n'
                   b'if b"debug_sum" not in open(sys.argv[1], "rb").read():\n'
                   b'    sys.exit("no debug_sum")\n')
        args = ['--import', "'%s' imp.py {}" % sys.executable, '--pass', 'fold,prune', str(EXAMPLE)]
        r = self.run_tool('bisect', '--json', '--before', 'b.onnx', '--after', 'a.onnx', *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)['bisect']['pass'], 'prune')
        self.assertIn(b'debug_sum', self.read('b.onnx'))
        self.assertNotIn(b'debug_sum', self.read('a.onnx'))
        self.write('imp.py', b'import sys; sys.exit("never")\n')
        r = self.run_tool('bisect', *args)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'fails before the first rewrite', r.stderr)

    def test_fails_before(self):
        r = self.run_tool('bisect', '--test', 'false', str(EXAMPLE))
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'the test fails before the first rewrite, too', r.stderr)


if __name__ == '__main__':
    common.main()
