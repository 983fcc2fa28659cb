#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pass of your own between built-in ones: gives every node a name with its operator and position,
for profilers that print nothing else.

    own_pass.py in.onnx out.onnx
"""
import sys

import onnxsurg
from onnxsurg import Option


@onnxsurg.register_pass('number-nodes', options=[Option('prefix', str, '', 'before each name')],
                        help='name nodes by operator and position')
def number_nodes(p):
    for i, node in enumerate(p.graph.nodes):
        name = '%s%s_%d' % (p['prefix'], node.op, i)
        if node.name != name and not p.keeps(node) and p.allow():
            node.name = name
            p.count('named')


if __name__ == '__main__':
    report = onnxsurg.run_pipeline(sys.argv[1], 'simplify,number-nodes{prefix=n_}',
                                   output=sys.argv[2]).report
    print(report.counts.get('named', 0), 'nodes named,', report.exactness)
