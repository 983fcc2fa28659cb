#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of templates/, joined with others by merge. templates.py PROGRAM"""
import json
import pathlib

import common
from common import Case

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'templates'
MODEL = b'''<ir_version: 8, opset_import: ["" : 13]>
g (float[N,3,8,8] image) => (float[N,4] scores)
   <float[4,3,3,3] w = {%s}, float[4] bias = {1, 2, 3, 4}> {
  c = Conv <pads = [0, 0, 0, 0]> (image, w, bias)
  p = GlobalAveragePool (c)
  scores = Flatten (p)
}
''' % ', '.join('%.2f' % ((i * 7 % 11 - 5) / 8) for i in range(108)).encode()


class Templates(Case):
    def setUp(self):
        super().setUp()
        self.write('m.onnxtxt', MODEL)

    def test_each(self):
        names = sorted(p.stem for p in FOLDER.iterdir())
        self.assertGreater(len(names), 7)
        for name in names:
            path = str(FOLDER / (name + '.onnxtxt'))
            self.assertIn(name, ' '.join(names))
            self.ok('check', path)
            k = ['--pass', 'set{value=k,data=2}'] if name == 'top-k' else ['--pass', 'toposort']
            self.ok(*k, path, 'k.onnx')
            self.ok('run', 'k.onnx')
            for opset in ('11', '18'):
                self.ok('--opset', opset, '--pass', 'toposort', path, 'o.onnx')

    def test_before(self):
        for name, end in (('normalize', 'normalized'), ('swap-channels', 'swapped'),
                          ('image-bytes', 'image'), ('resize', 'resized')):
            path = str(FOLDER / (name + '.onnxtxt'))
            if name == 'resize':
                self.ok('set', '--value', 'size', '--data', '{8, 8}', path, 'r.onnx')
                path = 'r.onnx'
            self.ok('merge', path, 'm.onnxtxt', '--connect', end + ':image', '-o', 'o.onnx')
            self.ok('check', 'o.onnx')
            self.assertEqual(self.info('o.onnx')['outputs'][0]['name'], 'scores')

    def test_after(self):
        for name in ('softmax', 'argmax', 'top-k'):
            path = str(FOLDER / (name + '.onnxtxt'))
            if name == 'top-k':
                self.ok('set', '--value', 'k', '--data', '2', path, 'k.onnx')
                path = 'k.onnx'
            self.ok('merge', 'm.onnxtxt', path, '--connect', 'scores:x', '-o', 'o.onnx')
            self.ok('check', 'o.onnx')
            self.ok('run', 'o.onnx')

    def test_invalid(self):
        """Five of four scores: neither attach nor merge writes a model that cannot run."""
        path = str(FOLDER / 'top-k.onnxtxt')
        for command in (['attach', path, '--after', 'scores', 'm.onnxtxt', 'o.onnx'],
                        ['merge', 'm.onnxtxt', path, '--connect', 'scores:x', '-o', 'o.onnx']):
            self.bad(1, r'the joined model would be invalid: graph.node\[3\] \(TopK\)', *command)
            self.assertFalse(pathlib.Path('o.onnx').exists())

    def test_folded(self):
        """Mean and standard deviation move into the weights of the convolution, which has no pads."""
        path = str(FOLDER / 'normalize.onnxtxt')
        self.ok('merge', path, 'm.onnxtxt', '--connect', 'normalized:image', '-o', 'o.onnx')
        report = json.loads(self.ok('--json', '--check', 'o.onnx', 'f.onnx'))
        self.assertEqual(report['after']['nodes'], 3)
        self.ok('verify', 'o.onnx', 'f.onnx')

    def test_same_as_passes(self):
        """`normalize` and `swap-channels` compute what the templates compute, by the weights."""
        numbers = ['--mean', '0.485,0.456,0.406', '--std', '0.229,0.224,0.225']
        for name, end, options in (('normalize', 'normalized', numbers),
                                   ('swap-channels', 'swapped', [])):
            path = str(FOLDER / (name + '.onnxtxt'))
            self.ok('merge', path, 'm.onnxtxt', '--connect', end + ':image', '-o', 'o.onnx')
            self.ok('rename', '--input.x=image', 'o.onnx', 'p.onnx')
            self.ok(name, '--fold', *options, 'm.onnxtxt', 'f.onnx')
            self.assertEqual(self.info('f.onnx')['nodes'], self.info('p.onnx')['nodes'] -
                             (2 if options else 1))
            self.ok('verify', 'p.onnx', 'f.onnx')

    def test_attach(self):
        """Names of both models are the same; the template has another opset."""
        clash = MODEL.replace(b'image)', b'x)').replace(b'(image,', b'(x,').replace(b'image', b'x')
        clash = clash.replace(b'bias', b'mean').replace(b'(c)', b'(centered)').replace(
            b'c = Conv', b'centered = Conv').replace(b': 13]', b': 17]')
        self.write('clash.onnxtxt', clash)
        numbers = {'mean': '{0.5, 0.25, 0.125}', 'std': '{2, 4, 8}'}
        sets = sum((['--set', '%s=%s' % n] for n in numbers.items()), [])
        self.ok('attach', 'normalize', '--templates', str(FOLDER), '--before', 'x', *sets,
                'clash.onnxtxt', 'o.onnx')
        self.ok('check', 'o.onnx')
        head = self.ok('cat', 'o.onnx').split(b'>')[0]
        self.assertIn(b'opset_import: ["" : 17]', head)
        self.assertNotIn(b'producer', head)
        info = self.info('o.onnx')
        self.assertEqual([i['name'] for i in info['inputs']], ['x'])
        self.assertEqual([o['name'] for o in info['outputs']], ['scores'])
        self.ok('normalize', '--mean', '0.5,0.25,0.125', '--std', '2,4,8', '--fold',
                'clash.onnxtxt', 'n.onnx')
        self.ok('verify', 'o.onnx', 'n.onnx')

    def test_attach_after(self):
        self.ok('attach', str(FOLDER / 'softmax.onnxtxt'), '--after', 'scores', 'm.onnxtxt',
                'o.onnx')
        self.assertEqual([o['name'] for o in self.info('o.onnx')['outputs']], ['probabilities'])
        self.ok('attach', str(FOLDER / 'top-k.onnxtxt'), '--after', 'scores', '--keep-outputs',
                '--set', 'k=2', 'm.onnxtxt', 'k.onnx')
        self.assertEqual([o['name'] for o in self.info('k.onnx')['outputs']],
                         ['scores', 'top_scores', 'top_labels'])
        self.ok('attach', str(FOLDER / 'softmax.onnxtxt'), '--after', 'top_scores', 'k.onnx',
                'l.onnx')
        self.ok('run', 'l.onnx')

    def test_attach_two(self):
        """A template with two inputs."""
        self.write('d.onnxtxt', b'<ir_version: 8, opset_import: ["" : 17]>\n'
                   b'g (float[1,5,4] x, float[1,2,5] z) => (float[1,5,4] b, float[1,2,5] s) { b = Relu (x) s = Sigmoid (z) }\n')
        nms = ['attach', 'non-max-suppression', '--templates', str(FOLDER)]
        self.ok(*nms, '--after', 'b', '--use', 'boxes', '--after', 's', '--use', 'scores', 'd.onnxtxt', 'o.onnx')
        self.ok('run', 'o.onnx')
        self.assertIn(b'selected = NonMaxSuppression (b, s, most', self.ok('cat', 'o.onnx'))
        self.bad(2, 'a --use INPUT for each --after', *nms, '--after', 'b', '--after', 's', 'd.onnxtxt', 'p.onnx')
        self.bad(2, 'a --use INPUT for each', *nms, '--after', 'b', '--use', 'boxes', '--use', 'scores', 'd.onnxtxt', 'p.onnx')

    def test_list(self):
        text = self.ok('attach', '--list', '--templates', str(FOLDER)).decode()
        names = sorted(p.stem for p in FOLDER.glob('*.onnxtxt'))
        self.assertEqual([i.split(':')[0] for i in text.split('\n') if i and i[0] != ' '], names)
        self.assertIn('normalize: Before a model: (x - mean) / std', text)
        self.assertLessEqual(max(map(len, text.split('\n'))), 80)
        self.bad(3, 'cannot be read', 'attach', '--list', '--templates', 'nowhere')
        self.bad(2, 'needs --templates', 'attach', '--list', env={})
        path = pathlib.Path('empty')
        path.mkdir()
        self.assertEqual(self.ok('attach', '--list', '--templates', 'empty'), b'no templates\n')

    def test_attach_errors(self):
        path = str(FOLDER / 'top-k.onnxtxt')
        for options, text in (
                ([path, '--before', 'image'], 'name one of the outputs of the template'),
                ([path, '--before', 'image', '--use', 'k9'], 'the template has no such output'),
                ([path, '--before', 'scores'], 'not an input'),
                ([path, '--after', 'nothing'], 'the model has no value nothing'),
                ([path, '--after', 'score'], 'did you mean scores'),
                ([path], 'expects --before INPUT or --after VALUE'),
                (['top-q', '--after', 'scores', '--templates', str(FOLDER)], 'no template top-q in .*; did you mean top-k')):
            self.bad(2, text, 'attach', *options, 'm.onnxtxt', 'o.onnx')

    def test_parameters(self):
        path = str(FOLDER / 'normalize.onnxtxt')
        self.ok('set', '--value', 'mean', '--data', '{0, 0, 0}', path, 'a.onnx')
        self.ok('set', '--value', 'std', '--data', '{1, 1, 1}', 'a.onnx', 'b.onnx')
        self.ok('merge', 'b.onnx', 'm.onnxtxt', '--connect', 'normalized:image', '-o', 'o.onnx')
        self.ok('verify', 'm.onnxtxt', 'o.onnx')


if __name__ == '__main__':
    common.main()
