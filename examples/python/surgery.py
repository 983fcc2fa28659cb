#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces every x * sigmoid(x) by one operator of an engine, and proves the rest unchanged:

    surgery.py in.onnx out.onnx
"""
import sys

import onnxsurg


def fuse_swish(graph):
    """Replaces the pairs Sigmoid, Mul of one graph; returns how many."""
    count = 0
    for sigmoid in [n for n in graph.nodes if n.op == 'Sigmoid']:
        x, gate = sigmoid.inputs[0], sigmoid.outputs[0]
        if len(gate.consumers) != 1 or gate.is_output:
            continue
        mul = gate.o().producer
        if mul.op != 'Mul' or x not in mul.inputs:
            continue
        graph.layer([x], [mul.outputs[0]], op='Swish', domain='com.acme', name=mul.name)
        count += 1
    return count


def main():
    source, target = sys.argv[1:]
    model = onnxsurg.load(source)
    before = model.copy()
    count = sum(fuse_swish(graph) for graph in model.graphs())
    if count:
        model.opsets['com.acme'] = 1
        model.graph.cleanup()
    # The engine's operator, spelled out again, computes the same.
    rule = '''rule swish { match { y = com.acme.Swish (x) }
                           emit opset 7.. { s = Sigmoid (x)  y = Mul (x, s) } }'''
    spelled = model.copy()
    spelled.rewrite(rule)
    assert onnxsurg.verify(before, spelled, atol=0), 'results differ'
    model.save(target)
    print('%d replaced' % count)


if __name__ == '__main__':
    main()
