# SPDX-License-Identifier: Apache-2.0
"""Random calls of the package: any method and property of models, graphs, nodes, tensors and their
lists, with arguments of any kind, also objects of other models and of what was removed. A call works
or raises an exception that names its fault; the process does not end, and the model that is left
verifies, or names its fault. More: ONNXSURG_CALLS=2000 ONNXSURG_SEED=7 test_calls.py"""
import os
import random

import onnxsurg

from common import SMALL, Case, main, numpy

ROUNDS = int(os.environ.get('ONNXSURG_CALLS', '40'))
SEED = int(os.environ.get('ONNXSURG_SEED', '1'))
STEPS = 60

DEEP = '''<ir_version: 10, opset_import: ["" : 17, "d" : 1]>
deep (float[N, 2] x, bool c) => (float[N, 2] y, float[N, 2] z) <float[2] w = {1, -2}, int64[2] k = {0, -1}> {
  a = Mul (x, w)
  f = Reshape (a, k)
  y = d.F (f)
  z = If (c) <then_branch = t () => (float[N, 2] p) { p = Abs (a) },
              else_branch = e () => (float[N, 2] q) { q = Neg (x) }>
}
<domain: "d", opset_import: ["" : 17]>
F <alpha> (a) => (b) { b = Elu <alpha : float = @alpha> (a) }
'''
# What writes files or runs for as long as a model says. `register` changes the class for all tests.
LEFT_OUT = {'save', 'proto', 'register', 'load', 'close'}
KNOWN = (onnxsurg.Error, TypeError, ValueError, LookupError, AttributeError, OverflowError,
         NotImplementedError, RuntimeError)


def start(dice):
    """Two models, and the objects of both."""
    models = [onnxsurg.parse(SMALL), onnxsurg.parse(DEEP)]
    objects = list(models)
    for m in models:
        objects += m.graphs()
        objects += m.nodes()
        objects += m.functions
        objects += [m.opsets, m.metadata]
        for g in m.graphs():
            objects += g.tensors().values()
            objects += [g.nodes, g.inputs, g.outputs]
        for n in m.nodes():
            objects += [n.inputs, n.outputs, n.attrs]
    dice.shuffle(objects)
    return models, objects


def argument(dice, objects):
    plain = [None, True, 0, 1, -1, 2, 3, 17, 1 << 31, 1 << 63, -(1 << 64), 0.5, float('nan'), float('inf'),
             '', 'x', 'y', 'w', 'a', 'N', 'Relu', 'Add', 'If', 'alpha', 'd', 'prune', 'simplify', 'opset{to=13}',
             'a\0b', 'é', '\udcff', 'a' * 5000, b'', b'\xff', [], [1, 2], ['x', 'y'], [0.5], (), {}, {'axis': 1},
             {'N': 4}, [None], object(), onnxsurg.DType.FLOAT, SMALL]
    if numpy:
        plain += [numpy.zeros((2, 0)), numpy.float32(2), numpy.arange(6).reshape(2, 3)[:, ::-1],
                  numpy.array(['a', 'b'], dtype=object), numpy.array(3 + 4j)]
    kind = dice.randrange(4)
    if kind < 2:
        return dice.choice(objects)
    if kind == 2:
        return dice.choice(plain)
    return [dice.choice(objects) for _ in range(dice.randrange(4))]


def keep(objects, result):
    if isinstance(result, (onnxsurg.Graph, onnxsurg.Node, onnxsurg.Tensor, onnxsurg.Function, onnxsurg.Model)):
        objects.append(result)
    elif isinstance(result, (list, tuple)):
        for one in result[:3]:
            keep(objects, one)


def names_of(thing):
    return [n for n in dir(type(thing)) if n not in LEFT_OUT and (not n.startswith('_') or n in (
        '__getitem__', '__setitem__', '__delitem__', '__len__', '__contains__', '__repr__', '__iter__',
        '__eq__', '__hash__'))]


def call(dice, objects):
    """One call; its text."""
    thing = dice.choice(objects)
    name = dice.choice(names_of(thing))
    member = getattr(type(thing), name, None)
    arguments = [argument(dice, objects) for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3)))]
    # Texts of what is called are made from types: printing an object is a call, too.
    text = '%s.%s(%s)' % (type(thing).__name__, name, ', '.join(type(a).__name__ for a in arguments))
    try:
        if isinstance(member, property):
            if dice.random() < 0.5 and arguments:
                setattr(thing, name, arguments[0])
            else:
                keep(objects, getattr(thing, name))
        elif callable(member):
            keep(objects, getattr(thing, name)(*arguments))
    except onnxsurg.InternalError as e:
        raise AssertionError('%s: %s' % (text, e)) from e
    except KNOWN as e:  # an ArgumentError of ctypes is none of these
        if isinstance(e, onnxsurg.Error) and not str(e):
            raise AssertionError('%s: %r' % (text, e)) from e
    return text


class Calls(Case):
    def test_random_calls(self):
        counted = 0
        for i in range(ROUNDS):
            seed = SEED * 1000000 + i
            dice = random.Random(seed)
            models, objects = start(dice)
            done = []
            try:
                for _ in range(STEPS):
                    done.append(call(dice, objects))
                    counted += 1
                for m in models:
                    try:
                        m.verify_structure()
                        m.bytes()
                    except onnxsurg.InternalError as e:
                        raise AssertionError(str(e)) from e
                    except onnxsurg.Error as e:
                        self.assertTrue(str(e))
            except Exception as e:
                raise AssertionError('seed %d, after %s: %r' % (seed, '; '.join(done[-4:]), e)) from e
        print('%d calls' % counted)


if __name__ == '__main__':
    main()
