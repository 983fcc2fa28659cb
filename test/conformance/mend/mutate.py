# SPDX-License-Identifier: Apache-2.0
"""What changes of `mutants` share: the table of changes, and the parts of a model they choose from."""
from tree import Message, graphs, make_value, nodes, tensor_shape

A_FLOAT, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS = range(1, 9)
DTYPES = list(range(1, 24))
COMMON = [1, 2, 3, 6, 7, 9, 10, 11, 16]
CHANGES = {}


def change(fn):
    CHANGES[fn.__name__.replace("_", "-")] = fn
    return fn


def node(op, inputs, outputs, attributes=(), domain=None):
    n = Message("Node", input=list(inputs), output=list(outputs), op_type=op, attribute=list(attributes))
    return n.put("domain", domain) if domain is not None else n


def plain(m):
    return [g for g in graphs(m) if g.kind == "Graph"]


def values(m):
    """Inputs, outputs and value_info of all graphs."""
    return [(g, f, v) for g in plain(m) for f in ("input", "output", "value_info") for v in g.all(f)]


def typed(m):
    return [x for x in values(m) if tensor_shape(x[2])[0]]


def retype(v, elem, dims):
    new = make_value(v.text("name"), elem, dims or [])
    if dims is None:
        new.one("type").one("tensor_type").drop("shape")
    v.put("type", new.one("type"))
