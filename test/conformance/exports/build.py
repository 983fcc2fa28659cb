# SPDX-License-Identifier: Apache-2.0
"""Builds models node by node, also what older releases of the onnx package have no fields for."""
import os
import sys

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from onnx_wire import varint

F, U8, I8, I16, I32, I64, STR, BOOL, F16, F64 = 1, 2, 3, 5, 6, 7, 8, 9, 10, 11
U32, U64, BF16, E4M3, E5M2, U4, I4 = 12, 13, 16, 17, 19, 21, 22
NUMPY = {F: np.float32, U8: np.uint8, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64, BOOL: np.bool_,
         F16: np.float16, F64: np.float64, U32: np.uint32, U64: np.uint64, 4: np.uint16}
BITS = {BF16: 16, E4M3: 8, 18: 8, E5M2: 8, 20: 8, U4: 4, I4: 4, 23: 4, 24: 8}


def put(message, field, data):
    """Adds a field that this release of the package does not know: bytes, or another message."""
    data = data if isinstance(data, bytes) else data.SerializeToString()
    message.MergeFromString(varint(field << 3 | 2) + varint(len(data)) + data)


def tensor(name, dtype, dims, values=None, rng=None):
    """A tensor of the values, or of random ones."""
    t = TensorProto(name=name, data_type=dtype, dims=dims)
    n = int(np.prod(dims)) if dims else 1
    if dtype == STR:
        t.string_data.extend(v.encode() for v in (values or [rng.choice(("a", "b", "cat", "Dog", "")) for _ in range(n)]))
    elif dtype in BITS:
        size = (n * BITS[dtype] + 7) // 8
        t.raw_data = bytes(rng.randrange(0x38) for _ in range(size)) if values is None else bytes(values)
    else:
        kind = NUMPY[dtype]
        if values is None:
            floats = np.dtype(kind).kind == "f"
            values = [rng.uniform(-1, 1) if floats else rng.randrange(2 if dtype == BOOL else 3) for _ in range(n)]
        t.raw_data = np.array(values, kind).reshape(-1).tobytes()
        if dtype in (F, I64) and rng and rng.random() < 0.2:
            t.ClearField("raw_data")
            (t.float_data if dtype == F else t.int64_data).extend(np.array(values, kind).reshape(-1).tolist())
    return t


class Ref(str):
    """The name of an attribute of a function, as the value of an attribute in its body."""

    def __new__(cls, name, kind):
        made = str.__new__(cls, name)
        made.kind = kind
        return made


def attribute(name, value):
    if isinstance(value, AttributeProto):
        return value
    if isinstance(value, Ref):
        return AttributeProto(name=name, type=value.kind, ref_attr_name=str(value))
    if isinstance(value, Graph):
        value = value.graph()
    if isinstance(value, list) and not value:  # the kind of an empty list is the caller's to say: integers
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def node(op, inputs, outputs, domain="", overload="", **attrs):
    n = helper.make_node(op, inputs, outputs, domain=domain)
    for name, value in attrs.items():
        if value is not None:
            n.attribute.append(attribute(name, value))
    if overload:
        put(n, 8, overload.encode())
    return n


class Graph:
    """A graph under construction. Names are unique in the model: `shared` counts for all graphs."""

    def __init__(self, rng, shared=None):
        self.rng, self.shared = rng, shared if shared is not None else [0]
        self.nodes, self.inputs, self.outputs, self.initializers, self.infos = [], [], [], [], []

    def name(self, stem):
        self.shared[0] += 1
        return "%s_%d" % (stem, self.shared[0])

    def sub(self):
        return Graph(self.rng, self.shared)

    def input(self, dtype, dims, name=None):
        name = name or self.name("in")
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def input_of(self, type_proto, name=None):
        name = name or self.name("in")
        self.inputs.append(helper.make_value_info(name, type_proto))
        return name

    def weight(self, dtype, dims, values=None):
        """An initializer, or a Constant node now and then."""
        name = self.name("w")
        t = tensor(name, dtype, dims, values, self.rng)
        if self.rng.random() < 0.2:
            self.nodes.append(node("Constant", [], [name], value=t))
        else:
            self.initializers.append(t)
        return name

    def ints(self, *values):
        return self.weight(I64, [len(values)], list(values))

    def scalar(self, dtype, value):
        return self.weight(dtype, [], [value])

    def op(self, op, inputs, n=1, domain="", overload="", **attrs):
        """The name of the result, or the names of n results (None: one without a name)."""
        outs = [self.name(op.lower()) if keep else "" for keep in ([True] * n if isinstance(n, int) else n)]
        self.nodes.append(node(op, inputs, outs, domain, overload, **attrs))
        if self.rng.random() < 0.5:
            self.nodes[-1].name = self.name("/" + op)
        return outs[0] if n == 1 else outs

    def ms(self, op, inputs, n=1, **attrs):
        return self.op(op, inputs, n, "com.microsoft", **attrs)

    def ml(self, op, inputs, n=1, **attrs):
        return self.op(op, inputs, n, "ai.onnx.ml", **attrs)

    def output(self, name, dtype=None, dims=None):
        """Declares an output; its type and shape are left out where they are not given."""
        for old in self.outputs:
            if old.name == name:
                return
        if dtype is None:
            info = helper.ValueInfoProto(name=name)
        else:
            info = helper.make_tensor_value_info(name, dtype, dims)
        self.outputs.append(info)

    def output_of(self, name, type_proto):
        self.outputs.append(helper.make_value_info(name, type_proto))

    def graph(self, name=None):
        return helper.make_graph(self.nodes, name or self.name("g"), self.inputs, self.outputs, self.initializers,
                                 value_info=self.infos)


def seq(dtype, dims=None):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(dtype, dims))


def opt(type_proto):
    return helper.make_optional_type_proto(type_proto)


class Function:
    """A function of a model: its body is the graph, its attributes are names and defaults."""

    def __init__(self, domain, name, opsets, overload=""):
        self.domain, self.name, self.opsets, self.overload = domain, name, opsets, overload

    def proto(self, graph, inputs, outputs, names=(), defaults=()):
        f = helper.make_function(self.domain, self.name, inputs, outputs, graph.nodes,
                                 [helper.make_opsetid(d, v) for d, v in self.opsets.items()], list(names))
        for a in defaults:
            put(f, 11, a)
        if self.overload:
            put(f, 13, self.overload.encode())
        return f


def model(graph, opsets, ir, functions=(), producer="exporter"):
    m = ModelProto(ir_version=ir, producer_name=producer)
    m.graph.CopyFrom(graph.graph("main"))
    for domain, version in opsets.items():
        m.opset_import.add(domain=domain, version=version)
    m.functions.extend(functions)
    if ir < 4:  # weights are inputs, too
        known = {i.name for i in m.graph.input}
        for t in m.graph.initializer:
            if t.name not in known:
                m.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
    return m
