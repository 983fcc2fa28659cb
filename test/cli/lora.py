#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Low-rank adapters: weights --lora. lora.py PROGRAM"""
import json
import struct

import common
from common import Case, w

IN, OUT, RANK = 4, 6, 2


def safetensors(tensors):
    """name: (dims, numbers), as float."""
    head, data = {}, b''
    for name, (dims, numbers) in tensors.items():
        raw = struct.pack('<%df' % len(numbers), *numbers)
        head[name] = {'dtype': 'F32', 'shape': dims, 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    return struct.pack('<Q', len(text)) + text + data


def numbers(n, seed):
    return [((i * 7 + seed * 5) % 11 - 5) / 4 for i in range(n)]


DOWN = {k: numbers(RANK * IN, k) for k in range(3)}   # [r, in]
UP = {k: numbers(OUT * RANK, k + 4) for k in range(3)}  # [out, r]
BASE = {k: numbers(IN * OUT, k + 9) for k in range(3)}  # [out, in]


def turned(m, rows, columns):
    return [m[i * columns + j] for j in range(columns) for i in range(rows)]


def merged(k, scale):
    """[out, in], exact: all numbers are small multiples of 1/16."""
    return [BASE[k][o * IN + i] + scale * sum(UP[k][o * RANK + r] * DOWN[k][r * IN + i]
                                              for r in range(RANK))
            for o in range(OUT) for i in range(IN)]


def model(weights, inputs=()):
    """Layer 0 as PyTorch exports it, with a nameless weight; layer 1 by Gemm with a named weight;
    layer 10 by a Transpose. Layers are apart, so that results show each weight."""
    nodes = [w.node('MatMul', ['x', 'onnx::MatMul_17'], ['a'], w.sub(3, '/model/layers.0/attn/q_proj/MatMul')),
             w.node('Gemm', ['x', 'model.layers.1.attn.q_proj.weight'], ['b'], w.a_int('transB', 1), w.sub(3, 'g')),
             w.node('Transpose', ['model.layers.10.attn.q_proj.weight'], ['t'], w.a_ints('perm', 1, 0)),
             w.node('MatMul', ['x', 't'], ['c'], w.sub(3, '/model/layers.10/attn/q_proj/MatMul_1')),
             w.node('MatMul', ['x', 'other'], ['d'], w.sub(3, '/model/layers.0/attn/k_proj/MatMul'))]
    inits = [w.tensor('onnx::MatMul_17', w.FLOAT, [IN, OUT], w.floats(*turned(weights[0], OUT, IN))),
             w.tensor('model.layers.1.attn.q_proj.weight', w.FLOAT, [OUT, IN], w.floats(*weights[1])),
             w.tensor('model.layers.10.attn.q_proj.weight', w.FLOAT, [OUT, IN], w.floats(*weights[2])),
             w.tensor('other', w.FLOAT, [IN, OUT], w.floats(*numbers(IN * OUT, 3)))]
    return w.model(w.graph(nodes, inits, [w.value('x', dims=(1, IN))],
                           [w.value(n, dims=(1, OUT)) for n in 'abcd']))


NAMES = ['base_model.model.model.layers.%d.self_attn.q_proj.lora_%s.weight',
         'base_model.model.model.layers.%d.self_attn.q_proj.lora_%s.default.weight']


def adapter(names=NAMES[0], halves='AB', **more):
    tensors = {}
    for k, layer in enumerate((0, 1, 10)):
        tensors[names % (layer, halves[0])] = ([RANK, IN], DOWN[k])
        tensors[names % (layer, halves[1])] = ([OUT, RANK], UP[k])
    tensors.update(more)
    return safetensors(tensors)


class Lora(Case):
    def setUp(self):
        super().setUp()
        self.write('m.onnx', model(BASE))
        self.write('want.onnx', model({k: merged(k, 2.0) for k in range(3)}))
        self.write('a.safetensors', adapter())

    def equal(self, got):
        self.ok('verify', got, 'want.onnx', '--rtol', '0', '--atol', '0')
        self.assertEqual(self.info(got)['initializers'], self.info('want.onnx')['initializers'])

    def test_merged(self):
        for names, halves, args in ((NAMES[0], 'AB', ('--alpha', '4')), (NAMES[1], 'AB', ('--scale', '2')),
                                    ('lora_te_layers_%d_attn_q_proj.lora_%s.weight', ('down', 'up'), ('--alpha', '4'))):
            self.write('a.safetensors', adapter(names, halves))
            self.ok('weights', '--lora', 'a.safetensors', *args, 'm.onnx', 'o.onnx')
            self.equal('o.onnx')
            self.assertEqual(self.run_tool('verify', 'm.onnx', 'o.onnx').returncode, 1)

    def test_removed(self):
        """The opposite scale gives the model back."""
        self.ok('weights', '--lora', 'a.safetensors', '--scale', '2', 'm.onnx', 'o.onnx')
        self.ok('weights', '--lora', 'a.safetensors', '--scale=-2', 'o.onnx', 'back.onnx')
        self.ok('verify', 'm.onnx', 'back.onnx', '--rtol', '0', '--atol', '0')

    def test_alpha_of_the_file(self):
        alpha = {'base_model.model.model.layers.%d.self_attn.q_proj.alpha' % n: ([], [4.0]) for n in (0, 1, 10)}
        self.write('a.safetensors', adapter(**alpha))
        self.ok('weights', '--lora', 'a.safetensors', 'm.onnx', 'o.onnx')
        self.equal('o.onnx')

    def test_lifted(self):
        self.ok('weights', '--lora', 'a.safetensors', '--alpha', '4', '--lift', 'm.onnx', 'o.onnx')
        inputs = self.info('o.onnx')['inputs']
        self.assertEqual([i['name'] for i in inputs],
                         ['x'] + [NAMES[0] % (n, h) for n in (0, 1, 10) for h in 'AB'])
        args = []
        for i in inputs[1:]:
            k = (0, 1, 10).index(int(i['name'].split('.')[4]))
            dims, data = ((RANK, IN), DOWN[k]) if 'lora_A' in i['name'] else ((OUT, RANK), UP[k])
            file = i['name'] + '.pb'
            self.write(file, w.tensor(None, w.FLOAT, list(dims), w.floats(*data)))
            args += ['--input', i['name'] + '=' + file]
        self.write('x.pb', w.tensor(None, w.FLOAT, [1, IN], w.floats(1, 2, -1, 3)))
        got = self.ok('run', 'o.onnx', '--input', 'x=x.pb', *args)
        self.assertEqual(got, self.ok('run', 'want.onnx', '--input', 'x=x.pb'))

    def test_convolution(self):
        conv = [w.node('Conv', ['x', 'conv1.weight'], ['y'])]
        def of(data):
            return w.model(w.graph(conv, [w.tensor('conv1.weight', w.FLOAT, [2, 2, 1, 2], w.floats(*data))],
                                   [w.value('x', dims=(1, 2, 3, 3))], [w.value('y', dims=(1, 2, 3, 2))]))
        base, down, up = numbers(8, 1), numbers(4, 2), [2.0, -1.0]
        self.write('m.onnx', of(base))
        self.write('want.onnx', of([base[o * 4 + i] + up[o] * down[i] for o in range(2) for i in range(4)]))
        self.write('a.safetensors', safetensors({'conv1.lora_down.weight': ([1, 2, 1, 2], down),
                                                 'conv1.lora_up.weight': ([2, 1, 1, 1], up)}))
        self.ok('weights', '--lora', 'a.safetensors', '--scale', '1', 'm.onnx', 'o.onnx')
        self.equal('o.onnx')

    def refused(self, code, pattern, tensors, *args):
        self.write('b.safetensors', safetensors(tensors))
        self.bad(code, pattern, 'weights', '--lora', 'b.safetensors', '--alpha', '4', *args, 'm.onnx', 'o.onnx')
        self.assertFalse(__import__('os').path.exists('o.onnx'))

    def test_refused(self):
        self.bad(2, 'does not state alpha', 'weights', '--lora', 'a.safetensors', 'm.onnx', 'o.onnx')
        half = {NAMES[0] % (0, 'A'): ([RANK, IN], DOWN[0])}
        both = {**half, NAMES[0] % (0, 'B'): ([OUT, RANK], UP[0])}
        self.refused(1, 'the other half of tensor', half)
        self.refused(1, 'is not part of an adapter', {**both, 'norm': ([1], [1.0])})
        self.refused(1, r'no weight and no node', {k.replace('.0.', '.7.'): v for k, v in both.items()})
        self.refused(1, 'fit its name alike', {'x.%d.proj.lora_A' % 0: ([RANK, IN], DOWN[0]),
                                               'x.%d.proj.lora_B' % 0: ([OUT, RANK], UP[0])})
        self.refused(1, r'their product \[4,4\] does not fit',
                     {**half, NAMES[0] % (0, 'B'): ([IN, RANK], UP[0][:IN * RANK])})
        self.refused(1, 'do not have one rank', {**half, NAMES[0] % (0, 'B'): ([RANK, OUT], UP[0])})
        self.bad(2, 'are for --lora', 'weights', '--import', 'a.safetensors', '--alpha', '4', 'm.onnx', 'o.onnx')


if __name__ == '__main__':
    common.main()
