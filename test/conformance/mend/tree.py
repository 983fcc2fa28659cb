# SPDX-License-Identifier: Apache-2.0
"""ONNX messages as trees that can be edited into anything, valid or not: fields keep their order,
nothing is checked. Needs no protobuf library."""
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from onnx_wire import read_varint, varint  # noqa: E402

# Message -> field -> (number, message of its value or None).
FIELDS = {
    "Model": {"ir_version": (1, None), "producer": (2, None), "domain": (4, None), "version": (5, None),
              "doc": (6, None), "graph": (7, "Graph"),
              "opset_import": (8, "Opset"), "metadata": (14, "Entry"), "training": (20, "Training"),
              "function": (25, "Function")},
    "Training": {"initialization": (1, "Graph"), "algorithm": (2, "Graph")},
    "Graph": {"node": (1, "Node"), "name": (2, None), "initializer": (5, "Tensor"),
              "input": (11, "Value"), "output": (12, "Value"), "value_info": (13, "Value"),
              "doc": (10, None), "annotation": (14, "Annotation"), "sparse": (15, "Sparse"), "metadata": (16, "Entry")},
    "Sparse": {"values": (1, "Tensor"), "indices": (2, "Tensor"), "dims": (3, None)},
    "Annotation": {"tensor": (1, None), "entry": (2, "Entry")},
    "Node": {"input": (1, None), "output": (2, None), "name": (3, None), "op_type": (4, None),
             "attribute": (5, "Attribute"), "domain": (7, None), "doc": (6, None), "overload": (8, None), "metadata": (9, "Entry")},
    "Attribute": {"name": (1, None), "f": (2, None), "i": (3, None), "s": (4, None), "t": (5, "Tensor"),
                  "g": (6, "Graph"), "floats": (7, None), "ints": (8, None), "strings": (9, None),
                  "type": (20, None), "ref": (21, None), "sparse_tensor": (22, "Sparse")},
    "Tensor": {"dims": (1, None), "data_type": (2, None), "float_data": (4, None), "int32_data": (5, None),
               "string_data": (6, None), "int64_data": (7, None), "name": (8, None), "raw_data": (9, None),
               "external_data": (13, "Entry"), "data_location": (14, None)},
    "Opset": {"domain": (1, None), "version": (2, None)},
    "Entry": {"key": (1, None), "value": (2, None)},
    "Value": {"name": (1, None), "type": (2, "Type")},
    "Type": {"tensor_type": (1, "TensorType"), "sequence_type": (4, "Wrapped"), "optional_type": (9, "Wrapped"),
             "sparse_type": (8, "TensorType")},
    "Wrapped": {"elem_type": (1, "Type")},
    "TensorType": {"elem_type": (1, None), "shape": (2, "Shape")},
    "Shape": {"dim": (1, "Dim")},
    "Dim": {"value": (1, None), "param": (2, None)},
    "Function": {"name": (1, None), "input": (4, None), "output": (5, None), "attribute": (6, None), "node": (7, "Node"),
                 "opset_import": (9, "Opset"), "domain": (10, None), "attribute_proto": (11, "Attribute"),
                 "value_info": (12, "Value"), "overload": (13, None)},
}
ODD = "surrogateescape"
PACKED = {"dims": "i", "ints": "i", "floats": "f", "float_data": "f", "int32_data": "i", "int64_data": "i"}


def signed(value):
    return value - 2**64 if value >= 2**63 else value


def unpack(data, how):
    if how == "f":
        return list(struct.unpack("<%df" % (len(data) // 4), data))
    values, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        values.append(signed(value))
    return values


class Message:
    """`fields` is a list of [number, value]: int, float (4 bytes), bytes, or a Message; ("fixed64", bytes)
    for what is left alone. [None, bytes] is written as it is. Text may be other bytes than UTF-8."""

    def __init__(self, kind, **fields):
        self.kind, self.fields = kind, []
        for name, value in fields.items():
            for one in value if isinstance(value, list) else [value]:
                self.add(name, one)

    @staticmethod
    def parse(kind, data):
        m = Message(kind)
        known = {number: (name, child) for name, (number, child) in FIELDS[kind].items()}
        at = 0
        while at < len(data):
            key, at = read_varint(data, at)
            number, wire = key >> 3, key & 7
            name, child = known.get(number, ("", None))
            if wire == 0:
                value, at = read_varint(data, at)
                m.fields.append([number, signed(value)])
            elif wire == 5:
                m.fields.append([number, struct.unpack("<f", data[at:at + 4])[0]])
                at += 4
            elif wire == 1:
                m.fields.append([number, ("fixed64", data[at:at + 8])])
                at += 8
            else:
                n, at = read_varint(data, at)
                body = data[at:at + n]
                at += n
                if child:
                    m.fields.append([number, Message.parse(child, body)])
                elif name in PACKED:
                    m.fields += [[number, v] for v in unpack(body, PACKED[name])]
                else:
                    m.fields.append([number, body])
        return m

    def bytes(self):
        out = []
        for number, value in self.fields:
            if number is None:
                out.append(value)
                continue
            if isinstance(value, Message):
                value = value.bytes()
            if isinstance(value, int):
                out.append(varint(number << 3) + varint(value))
            elif isinstance(value, float):
                out.append(varint(number << 3 | 5) + struct.pack("<f", value))
            elif isinstance(value, tuple):
                out.append(varint(number << 3 | 1) + value[1])
            else:
                out.append(varint(number << 3 | 2) + varint(len(value)) + value)
        return b"".join(out)

    def copy(self):
        return Message.parse(self.kind, self.bytes())

    def _number(self, name):
        return FIELDS[self.kind][name][0]

    def all(self, name):
        number = self._number(name)
        return [v for n, v in self.fields if n == number]

    def one(self, name):
        found = self.all(name)
        return found[-1] if found else None

    def text(self, name):
        value = self.one(name)
        return value.decode(errors=ODD) if isinstance(value, bytes) else ""

    def texts(self, name):
        return [v.decode(errors=ODD) for v in self.all(name)]

    def drop(self, name):
        number = self._number(name)
        self.fields = [f for f in self.fields if f[0] != number]
        return self

    def add(self, name, value):
        self.fields.append([self._number(name), value.encode(errors=ODD) if isinstance(value, str) else value])
        return self

    def put(self, name, *values):
        """Replaces all values of a field, at the place of the first."""
        number = self._number(name)
        at = next((i for i, f in enumerate(self.fields) if f[0] == number), len(self.fields))
        self.fields = [f for f in self.fields[:at]] + [
            [number, v.encode(errors=ODD) if isinstance(v, str) else v] for v in values] + [
            f for f in self.fields[at:] if f[0] != number]
        return self


def graphs(m):
    """The graphs of a model, outer before inner, then the bodies of its functions and theirs."""
    todo = [m.one("graph")] + m.all("function")
    while todo:
        g = todo.pop(0)
        yield g
        for n in g.all("node"):
            todo += [a.one("g") for a in n.all("attribute") if a.one("g")]


def nodes(m):
    return [n for g in graphs(m) for n in g.all("node")]


def attribute(n, name):
    return next((a for a in n.all("attribute") if a.text("name") == name), None)


def tensor_shape(value):
    """(element type, dims or None) of a Value."""
    t = value.one("type") and value.one("type").one("tensor_type")
    if not t:
        return 0, None
    s = t.one("shape")
    return t.one("elem_type"), None if s is None else [
        d.one("value") if d.one("value") is not None else d.text("param") for d in s.all("dim")]


def make_value(name, elem, dims):
    shape = Message("Shape", dim=[Message("Dim", **({"param": d} if isinstance(d, str) else {"value": d}))
                                  for d in dims])
    return Message("Value", name=name,
                   type=Message("Type", tensor_type=Message("TensorType", elem_type=elem, shape=shape)))
