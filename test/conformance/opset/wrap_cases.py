#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes cases of ONNX's backend suite anew with all nodes in a branch of an If, or in a function of
the model, or with every size of the inputs open, for opset_matrix:

    wrap_cases.py if|function|open OUT DIR...      then: opset_matrix OUT

Cases that cannot be wrapped are left out and counted: a body of a function holds no initializers,
and one output may not be an input."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from onnx_wire import num, sub  # noqa: E402


def fields(data):
    """(number, wire type, value, bytes as they stand) of a message."""
    at = 0

    def read():
        nonlocal at
        out = shift = 0
        while True:
            b = data[at]
            at += 1
            out |= (b & 127) << shift
            shift += 7
            if b < 128:
                return out
    while at < len(data):
        start = at
        tag = read()
        kind = tag & 7
        if kind == 0:
            value = read()
        elif kind == 2:
            n = read()
            value = data[at:at + n]
            at += n
        else:
            size = 8 if kind == 1 else 4
            value = data[at:at + size]
            at += size
        yield tag >> 3, kind, value, data[start:at]


def name_of(value_info):
    return next((v.decode() for f, _, v, _ in fields(value_info) if f == 1), '')


def renamed(value_info, name):
    return sub(1, name) + b''.join(raw for f, _, _, raw in fields(value_info) if f != 1)


class Unfit(Exception):
    pass


class Model:
    def __init__(self, data):
        self.rest, self.imports, self.ir, graph = b'', b'', 0, b''
        for f, _, v, raw in fields(data):
            if f == 7:
                graph = v
            elif f == 8:
                self.imports += raw
                self.rest += raw
            elif f == 1:
                self.ir = v
            elif f != 25:
                self.rest += raw
            else:
                raise Unfit('has functions')
        self.nodes = b''.join(raw for f, _, _, raw in fields(graph) if f == 1)
        self.weights = [v for f, _, v, _ in fields(graph) if f == 5]
        self.sparse = any(f == 15 for f, _, _, _ in fields(graph))
        self.inputs = [v for f, _, v, _ in fields(graph) if f == 11]
        self.outputs = [v for f, _, v, _ in fields(graph) if f == 12]
        names = {name_of(v) for v in self.inputs}
        if self.sparse or any(name_of(v) in names for v in self.outputs) or not self.nodes:
            raise Unfit('an output that is an input')

    def message(self, body, ir, more=b''):
        return num(1, max(self.ir, ir)) + self.rest + sub(7, body) + more


def tensor_name(t):
    return next(v.decode() for f, _, v, _ in fields(t) if f == 8)


def in_branch(m):
    weights = b''.join(sub(5, w) for w in m.weights)
    outer = [renamed(v, 'outer_' + name_of(v)) for v in m.outputs]
    branch = m.nodes + sub(2, 'branch') + b''.join(sub(12, v) for v in m.outputs)
    attrs = b''.join(sub(5, sub(1, n), sub(6, branch), num(20, 5))
                     for n in ('then_branch', 'else_branch'))
    node = sub(1, 'wrap_yes') + b''.join(sub(2, name_of(v)) for v in outer) + sub(4, 'If') + attrs
    yes = num(2, 9) + sub(9, b'\x01') + sub(8, 'wrap_yes')
    body = sub(1, node) + sub(2, 'wrapped') + weights + sub(5, yes)
    body += b''.join(sub(11, v) for v in m.inputs) + b''.join(sub(12, v) for v in outer)
    return m.message(body, 4)


def in_function(m):
    if m.weights:
        raise Unfit('weights')
    names = [name_of(v) for v in m.inputs], [name_of(v) for v in m.outputs]
    node = b''.join(sub(1, n) for n in names[0]) + b''.join(sub(2, n) for n in names[1])
    node += sub(4, 'Wrapped') + sub(7, 'wrap')
    function = sub(1, 'Wrapped') + b''.join(sub(4, n) for n in names[0])
    function += b''.join(sub(5, n) for n in names[1])
    function += b''.join(sub(7, raw) for f, _, raw, _ in fields(m.nodes) if f == 1)
    function += b''.join(sub(9, v) for f, _, v, _ in fields(m.imports) if f == 8) + sub(10, 'wrap')
    body = sub(1, node) + sub(2, 'wrapped') + b''.join(sub(11, v) for v in m.inputs)
    body += b''.join(sub(12, v) for v in m.outputs)
    return m.message(body, 8, sub(8, sub(1, 'wrap'), num(2, 1)) + sub(25, function))


def opened(value_info, ranked):
    """Its type with a symbol for each size, or without a rank."""
    name, data = name_of(value_info), b''
    for field, _, kind, raw in fields(value_info):
        if field != 2 or not any(f == 1 for f, _, _, _ in fields(kind)):
            data += raw
            continue
        tensor = next(v for f, _, v, _ in fields(kind) if f == 1)
        new = b''.join(r for f, _, _, r in fields(tensor) if f == 1)
        shape = next((v for f, _, v, _ in fields(tensor) if f == 2), None)
        if ranked and shape is not None:
            count = sum(f == 1 for f, _, _, _ in fields(shape))
            new += sub(2, *(sub(1, sub(2, '%s_%d' % (name, i))) for i in range(count)))
        data += sub(2, sub(1, new))
    return data


def with_open_sizes(m):
    weights = b''.join(sub(5, w) for w in m.weights)
    body = m.nodes + sub(2, 'open') + weights
    body += b''.join(sub(11, opened(v, True)) for v in m.inputs)
    body += b''.join(sub(12, opened(v, False)) for v in m.outputs)
    return m.message(body, m.ir)


def wrap(kind, out, tops, every=1):
    """Writes every n-th case that can be wrapped; how many were, and how many were left out."""
    make, made, left, seen = KINDS[kind], 0, 0, 0
    for top in tops:
        for case in sorted(os.listdir(top)):
            path = os.path.join(top, case, 'model.onnx')
            if not os.path.exists(path):
                continue
            seen += 1
            if seen % every:
                continue
            try:
                with open(path, 'rb') as f:
                    data = make(Model(f.read()))
            except Unfit:
                left += 1
                continue
            to = os.path.join(out, case)
            os.makedirs(to, exist_ok=True)
            with open(os.path.join(to, 'model.onnx'), 'wb') as f:
                f.write(data)
            for item in os.listdir(os.path.join(top, case)):
                link = os.path.join(to, item)
                if item.startswith('test_data_set') and not os.path.lexists(link):
                    os.symlink(os.path.join(os.path.abspath(top), case, item), link)
            made += 1
    return made, left


KINDS = {'if': in_branch, 'function': in_function, 'open': with_open_sizes}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kind', choices=sorted(KINDS),
                        help='where the nodes go: both branches of an If, or a function that is '
                             'called; open: sizes of inputs are symbols, outputs have no rank')
    parser.add_argument('--every', type=int, default=1, metavar='N', help='each N-th case alone')
    parser.add_argument('out', help='folder to write to')
    parser.add_argument('dirs', nargs='+', metavar='DIR', help='folders of cases')
    args = parser.parse_args()
    print('%d cases wrapped, %d left out' % wrap(args.kind, args.out, args.dirs, args.every))


if __name__ == '__main__':
    main()
