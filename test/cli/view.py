#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`onnxsurg view`. view.py PROGRAM (texts of small pictures: test/golden/view)

The layout is checked by its properties, on the examples, on graphs drawn at random, and on real
models where ONNXSURG_CORPUS names folders of them: boxes and labels do not overlap, texts are inside
their boxes, every link leaves the lower side of its source, ends at the upper side of its target, and
crosses no other box."""
import json
import os
import pathlib
import random
import re
import xml.etree.ElementTree as ET

import common
from common import Case

SVG = '{http://www.w3.org/2000/svg}'
COLUMN = {'t': 7.26}  # widths of letters; others 6.05
REAL_MOST = 60        # models of each folder of ONNXSURG_CORPUS


class Picture:
    """Boxes as (x, y, w, h), labels in the same form, links as (from, to, points, curves)."""

    def __init__(self, text):
        self.root = ET.fromstring(text)
        self.boxes, self.labels, self.links, self.texts = [], [], [], []
        for g in self.root.iter(SVG + 'g'):
            r = g.find(SVG + 'rect')
            self.boxes.append(tuple(float(r.get(k)) for k in ('x', 'y', 'width', 'height')))
            for t in g.iter(SVG + 'text'):
                x, y = float(t.get('x')), float(t.get('y'))
                # Of wide letters each counts as two.
                n = sum(2 if ord(c) >= 0x1000 else 1 for c in t.text or '')
                place = (x, y - 9, n * COLUMN.get(t.get('class'), 6.05), 11)
                (self.labels if t.get('class') == 'label' else self.texts).append((place, len(self.boxes) - 1))
        for p in self.root.iter(SVG + 'path'):
            if p.get('class') == 'link':
                self.links.append((int(p.get('data-from')), int(p.get('data-to')), self.way(p.get('d'))))

    @staticmethod
    def way(d):
        """The rectangles that contain the pieces of a way, and its ends."""
        pieces, x, y, start = [], None, None, None
        for kind, numbers in re.findall(r'([MVCL])([-\d. ]+)', d):
            n = [float(v) for v in numbers.split()]
            if kind == 'M':
                x, y = n
                start = (x, y)
                continue
            nx, ny = (x, n[0]) if kind == 'V' else (n[-2], n[-1])
            pieces.append((min(x, nx), min(y, ny), abs(nx - x), abs(ny - y)))
            x, y = nx, ny
        return start, (x, y), pieces


def overlap(a, b, by=0.0):
    return (a[0] + by < b[0] + b[2] and b[0] + by < a[0] + a[2] and
            a[1] + by < b[1] + b[3] and b[1] + by < a[1] + a[3])


def pairs(rectangles):
    """Pairs of rectangles that may overlap: a sweep by y."""
    order = sorted(range(len(rectangles)), key=lambda i: rectangles[i][1])
    live = []
    for i in order:
        live = [j for j in live if rectangles[j][1] + rectangles[j][3] > rectangles[i][1]]
        yield from ((j, i) for j in live)
        live.append(i)


def random_graph(seed, count):
    """ONNX text of a graph of `count` nodes with near and far links, Splits and constants."""
    rng = random.Random(seed)
    known, lines = ['x0', 'x1'], []
    for i in range(count):
        near = known[-6:] if rng.random() < 0.8 else known
        a, b = rng.choice(near), rng.choice(near)
        if rng.random() < 0.15:
            outs = ['s%d_%d' % (i, k) for k in range(rng.randint(2, 5))]
            lines.append('%s = com.acme.Parts (%s)' % (', '.join(outs), a))
            known += outs
        else:
            second = rng.choice([b, 'w'])
            lines.append('v%d = Add (%s, %s)' % (i, a, second))
            known.append('v%d' % i)
    return ('<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>\n'
            'g (float[4] x0, float[4] x1) => (float[4] %s) <float[4] w = {1, 2, 3, 4}> {\n%s\n}\n'
            % (known[-1], '\n'.join(lines)))


class View(Case):
    def check_picture(self, text, title):
        p = Picture(text)
        box = lambda i: p.boxes[i]
        for i, j in pairs(p.boxes):
            self.assertFalse(overlap(box(i), box(j)), '%s: boxes %d and %d' % (title, i, j))
        for (x, y, w, h), i in p.texts:
            b = box(i)
            self.assertTrue(b[0] <= x and x + w <= b[0] + b[2] + 0.5 and b[1] <= y and y + h <= b[1] + b[3] + 1,
                            '%s: text of box %d' % (title, i))
        places = [r for r, _ in p.labels]
        for i, j in pairs(places):
            self.assertFalse(overlap(places[i], places[j], 0.5), '%s: labels %s %s' % (title, places[i], places[j]))
        mixed = places + p.boxes
        for i, j in pairs(mixed):
            if (i < len(places)) != (j < len(places)):
                self.assertFalse(overlap(mixed[i], mixed[j], 0.5), '%s: label and box' % title)
        for source, target, (start, end, pieces) in p.links:
            a, b = box(source), box(target)
            self.assertTrue(a[0] < start[0] < a[0] + a[2] and start[1] == a[1] + a[3], '%s: link %d' % (title, source))
            self.assertTrue(b[0] < end[0] < b[0] + b[2] and end[1] == b[1], '%s: link to %d' % (title, target))
            for piece in pieces:
                for i, other in enumerate(p.boxes):
                    if other[1] < piece[1] + piece[3] and other[1] + other[3] > piece[1]:
                        self.assertFalse(overlap(piece, other), '%s: link %d-%d crosses %d' % (title, source, target, i))
        return p

    def svg(self, path, *options):
        r = self.run_tool('view', '--svg', '--layout', 'own', *options, str(path), '-o', '-')
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout.decode()

    def page(self, *args):
        """The data of a page."""
        r = self.run_tool('view', '--layout', 'own', *args, '-o', 'page.html')
        self.assertEqual(r.returncode, 0, r.stderr)
        text = self.read('page.html').decode()
        # Nothing is loaded from elsewhere.
        self.assertEqual(set(re.findall(r'https?://[^\s"\'<]+', text)), {'http://www.w3.org/2000/svg'})
        self.assertNotRegex(text, r'<(link|img|iframe)\b|<script[^>]*\bsrc=|@import|url\((?!#)')
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        self.whole = json.loads(data[1])
        return self.whole['models'][0]

    def test_examples(self):
        for path in sorted(common.EXAMPLE.parent.glob('*.onnxtxt')):
            p = self.check_picture(self.svg(path), path.name)
            self.assertGreater(len(p.boxes), 2)

    def test_random(self):
        for seed in range(12):
            pathlib.Path('r.onnxtxt').write_text(random_graph(seed, 5 + 25 * seed))
            p = self.check_picture(self.svg('r.onnxtxt'), 'seed %d' % seed)
            self.assertGreater(len(p.links), seed)

    def test_real(self):
        folders = [f for f in os.environ.get('ONNXSURG_CORPUS', '').split(':') if f]
        if not folders:
            self.skipTest('ONNXSURG_CORPUS names no folders of models')
        for folder in folders:
            models = sorted(pathlib.Path(folder).rglob('*.onnx'))
            for path in models[::max(1, len(models) // REAL_MOST)]:
                r = self.run_tool('view', '--svg', '--layout', 'own', str(path), '-o', '-')
                if r.returncode == 0:
                    self.check_picture(r.stdout.decode(), path.name)

    def test_page(self):
        m = self.page(str(common.EXAMPLE))
        info = json.loads(self.ok('info', '--json', str(common.EXAMPLE)))
        drawn = [b for s in m['scenes'] for b in s['b'] if b[0] == 0]
        self.assertEqual(len(drawn), len(m['nodes']))
        hidden = info['ops'].get('Constant', 0)
        self.assertEqual(len(m['nodes']) + hidden, info['nodes'])
        for s in m['scenes']:
            for a, b, _, way in s['l']:
                self.assertTrue(a < len(s['b']) and b < len(s['b']))
                self.assertTrue(way.startswith('M'))
        conv = next(n for n in m['nodes'] if n['o'] == 'Conv')
        self.assertEqual(m['schemas'][conv['s']]['i'], ['X', 'W', 'B'])
        bias = m['values'][conv['i'][2]]
        count, read, zeros, nans, infinities, low, high, mean, deviation, bins = bias['w']
        self.assertEqual((count, read, low, high, sum(bins)), (2, 2, -0.05, 0.05, 2))
        self.assertNotIn('w', self.page('--no-weights', str(common.EXAMPLE))['values'][conv['i'][2]])

    def test_nameless_size(self):
        """A size without a name is `?` in a label, and a place in the details."""
        self.write('n.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'g (float[N] x) => (int64[M,1] y) { i = NonZero (x) y = Transpose (i) }\n')
        m = self.page('n.onnxtxt')
        labels = [l[1] for b in m['scenes'][0]['b'] for l in b[9]]
        self.assertIn('int64[1,?]', labels)
        self.assertEqual(next(v['t'] for v in m['values'] if v['n'] == 'i'), 'int64[1,dim("i",1)]')

    def test_same_every_time(self):
        first = self.svg(common.EXAMPLE)
        self.assertEqual(first, self.svg(common.EXAMPLE))

    def test_hostile_names(self):
        name = '</script><b>&"\''
        node = common.w.node('Relu', ['x'], ['y'], common.w.sub(3, name))
        self.write('h.onnx', common.w.model(common.w.graph([node], [], [common.w.value('x', dims=(2,))],
                                                           [common.w.value('y', dims=(2,))], name=name)))
        m = self.page('h.onnx')
        self.assertEqual(m['nodes'][0]['n'], name)
        self.assertEqual(self.read('page.html').count(b'</script>'), 2)
        self.check_picture(self.svg('h.onnx'), 'hostile')

    def test_target(self):
        m = self.page('--target', 'tensorrt-8.6', 'in.onnx')
        self.assertEqual((m['target'], m['marks']), ('tensorrt-8.6', []))
        self.write('bad.onnx', common.model_bytes(op='Foo', domain='com.acme'))
        m = self.page('--target', 'tensorrt-8.6', 'bad.onnx')
        self.assertEqual(m['verdict'], 'unsupported')
        node = next(i for i, n in enumerate(m['nodes']) if n['o'] == 'Foo')
        self.assertIn(node, [mark[0] for mark in m['marks']])
        self.assertEqual([b[7] for b in m['scenes'][0]['b'] if b[0] == 0 and b[1] == node], [2])

    def test_against(self):
        self.ok('--pass', 'prune', str(common.EXAMPLE), 'b.onnx')
        a = self.page('--against', 'b.onnx', str(common.EXAMPLE))
        b, diff = self.whole['models'][1], self.whole['diff']
        self.assertFalse(diff['same'])
        alone = [n['o'] for n in a['nodes'] if 'pair' not in n]
        self.assertEqual(alone, ['MatMul', 'ReduceSum'])
        for i, n in enumerate(a['nodes']):
            if 'pair' in n:
                self.assertEqual((b['nodes'][n['pair']]['o'], b['nodes'][n['pair']]['pair']), (n['o'], i))
        marked = [a['nodes'][x[1]]['o'] for x in a['scenes'][0]['b'] if x[0] == 0 and x[10] & 1]
        self.assertEqual(marked, alone)
        self.assertEqual([x[2] for x in diff['items'] if x[1] == 1 and x[2] >= 0],
                         [i for i, n in enumerate(a['nodes']) if 'pair' not in n])
        self.page('--against', str(common.EXAMPLE), str(common.EXAMPLE))
        self.assertTrue(self.whole['diff']['same'])
        self.assertEqual(self.whole['diff']['items'], [])
        self.bad(2, r'--against expects a page', 'view', '--svg', '--against', 'b.onnx', 'in.onnx')
        self.bad(3, r'none.onnx', 'view', '--against', 'none.onnx', 'in.onnx')
        for kib in (40, 60, 80):
            self.bad(4, r'needs more than \d+ KiB', 'view', '--max-memory', '%dKiB' % kib, '--against', 'b.onnx',
                     str(common.EXAMPLE))

    def test_large(self):
        """A page of 20,000 nodes is bounded, by ranges or by folders."""
        lines = ['["/net/layer.%d/n%d"] v%d = Add (v%d, v%d)' % (i // 500, i, i + 1, i, max(0, i - 9)) for i in range(20000)]
        head = '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] v0) => (float[2] v20000) {\n'
        pathlib.Path('folders.onnxtxt').write_text(head + '\n'.join(lines) + '\n}\n')
        pathlib.Path('plain.onnxtxt').write_text(head + '\n'.join(re.sub(r'\[.*?\] ', '', l) for l in lines) + '\n}\n')
        for name, boxes in (('folders', 40), ('plain', 50)):
            m = self.page(name + '.onnxtxt')
            self.assertEqual(len([b for b in m['scenes'][0]['b'] if b[0] == 4]), boxes)
            self.assertLessEqual(len(m['nodes']), 10000)
            self.assertGreater(len(m['nodes']), 5000)
            self.assertLess(len(self.read('page.html')), 4 << 20)
            self.check_picture(self.svg(name + '.onnxtxt'), name)
        self.assertLessEqual(len(self.page('--limit', '100', 'plain.onnxtxt')['nodes']), 100)

    def test_size(self):
        """2,000 nodes: a page of less than 2 MB that shows them all."""
        pathlib.Path('r.onnxtxt').write_text(random_graph(7, 2000))
        m = self.page('r.onnxtxt')
        self.assertEqual(len(m['nodes']), 2000)
        self.assertEqual(len(m['scenes']), 1)
        self.assertLess(len(self.read('page.html')), 2000000)

    def test_wrong(self):
        self.bad(2, r'view expects one model', 'view')
        self.bad(2, r'--svg and --dot exclude each other', 'view', '--svg', '--dot', 'in.onnx')
        self.bad(2, r'--layout expects auto, own or dot', 'view', '--layout', 'x', 'in.onnx')
        self.bad(2, r'--limit expects', 'view', '--limit', '0', 'in.onnx')
        self.bad(3, r'none.onnx', 'view', 'none.onnx')
        self.assertEqual(self.ok('view', 'in.onnx'), b'in.html\n')
        self.assertEqual(self.ok('view', '--svg', 'in.onnx'), b'in.svg\n')
        self.bad(4, r'needs more than \d+ KiB', 'view', '--max-memory', '16KiB', 'in.onnx')


common.main()
