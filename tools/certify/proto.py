# SPDX-License-Identifier: Apache-2.0
"""Reads an ONNX file: the parts of its protobuf messages that decide what a model computes."""
import hashlib
import os
import struct

FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS = range(1, 11)
# Element types: bits of an element, and whether int32_data holds it.
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
        14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2,
        26: 2}
TEXT = 8


class Malformed(Exception):
    """The bytes are no ONNX model."""


def varint(b, at):
    value = shift = 0
    while True:
        if at >= len(b) or shift > 63:
            raise Malformed('a number does not end')
        byte = b[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2 ** 64 - 1), at
        shift += 7


def fields(b):
    """(number, wire type, value) of each field; bytes are views."""
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(b, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = b[at:at + size], at + size
        elif wire == 2:
            size, at = varint(b, at)
            value, at = b[at:at + size], at + size
        else:
            raise Malformed('wire type %d' % wire)
        if at > len(b):
            raise Malformed('a field is longer than its message')
        yield number, wire, value


def signed(n):
    return n - 2 ** 64 if n >= 2 ** 63 else n


def text(b):
    return bytes(b).decode('utf-8', 'surrogateescape')


def numbers(wire, value):
    """The varints of a repeated field, packed or not."""
    if wire == 0:
        return [signed(value)]
    out, at = [], 0
    while at < len(value):
        n, at = varint(value, at)
        out.append(signed(n))
    return out


class Tensor:
    """A tensor: element type, dimensions, and where its elements are."""

    def __init__(self, dtype, dims, raw=None, where=None, strings=None, sha=None):
        self.dtype, self.dims = dtype, tuple(dims)
        self.raw, self.where, self.strings, self._sha = raw, where, strings, sha
        self.sparse, self.named = False, None

    @property
    def count(self):
        n = 1
        for d in self.dims:
            n *= d
        return n

    @property
    def size(self):
        return (self.count * BITS.get(self.dtype, 0) + 7) // 8

    def bytes(self):
        """Elements as of raw_data; None if they cannot be read."""
        if self.raw is not None:
            return self.raw
        if self.where is None:
            return None
        path, offset, length = self.where
        try:
            with open(path, 'rb') as f:
                f.seek(offset)
                data = f.read(self.size if length is None else length)
        except OSError:
            return None
        return data if len(data) == self.size else None

    def sha256(self):
        if self._sha is None:
            h = hashlib.sha256()
            if self.strings is not None:
                for s in self.strings:
                    h.update(struct.pack('<Q', len(s)) + s)
            else:
                data = self.bytes()
                if data is None or self.sparse:
                    return None
                h.update(data)
            self._sha = h.hexdigest()
        return self._sha

    def same(self, other):
        """Equal bits; None: unknown, since elements are missing."""
        if (self.dtype, self.dims) != (other.dtype, other.dims):
            return False
        if self.where is not None and (self.where == other.where or (
                other.where is not None and self.named == other.named and
                self.bytes() is None and other.bytes() is None)):
            return True  # the same reference; that data is elsewhere is no difference
        if self.strings is not None and other.strings is not None:
            return self.strings == other.strings
        if self.raw is not None and other.raw is not None:
            return self.raw == other.raw
        a, b = self.sha256(), other.sha256()
        return None if a is None or b is None else a == b

    def canonical(self):
        j = {'dtype': self.dtype, 'dims': list(self.dims), 'sha256': self.sha256()}
        if self.strings is None and not self.sparse and self.size <= 512 and j['sha256']:
            j['hex'] = bytes(self.bytes()).hex()
        return j


def read_tensor(b, folder):
    dtype, dims, raw, strings = 0, [], None, []
    floats, ints, wide, doubles, unsigned, entries, external = b'', [], [], b'', [], {}, False
    for n, wire, v in fields(b):
        if n == 1:
            dims += numbers(wire, v)
        elif n == 2:
            dtype = v
        elif n == 4:
            floats += bytes(v)
        elif n == 5:
            ints += numbers(wire, v)
        elif n == 6:
            strings.append(bytes(v))
        elif n == 7:
            wide += numbers(wire, v)
        elif n == 9:
            raw = v
        elif n == 10:
            doubles += bytes(v)
        elif n == 11:
            unsigned += numbers(wire, v)
        elif n == 13:
            entry = {k: text(x) for k, _, x in fields(v)}
            entries[entry.get(1)] = entry.get(2, '')
        elif n == 14:
            external = v == 1
    t = Tensor(dtype, dims)
    if external:
        length = entries.get('length')
        t.named = sorted(entries.items())
        t.where = (os.path.realpath(os.path.join(folder, entries.get('location', ''))),
                   int(entries.get('offset', 0)), int(length) if length else None)
    elif dtype == TEXT:
        t.strings = strings
    elif raw is not None:
        t.raw = bytes(raw)
    elif floats or doubles:
        t.raw = floats or doubles
    elif ints:
        bits = BITS.get(dtype, 32)
        size = max(bits // 8, 1)  # below a byte a number holds a byte of elements
        t.raw = b''.join((i % 2 ** (8 * size)).to_bytes(size, 'little') for i in ints)[:t.size]
    else:
        size = BITS.get(dtype, 64) // 8
        t.raw = b''.join((i % 2 ** (8 * size)).to_bytes(size, 'little') for i in wide + unsigned)
    return t


class Type:
    """A tensor type, or the bytes of another one."""

    def __init__(self, b):
        self.dtype, self.dims, self.other = 0, None, None
        for n, _, v in fields(b):
            if n == 1:
                self.tensor(v)
            elif n != 6:
                self.other = bytes(v)

    def tensor(self, b):
        for n, _, v in fields(b):
            if n == 1:
                self.dtype = v
            elif n == 2:
                self.dims = []
                for k, _, d in fields(v):
                    if k == 1:
                        self.dims.append(self.dim(d))

    @staticmethod
    def dim(b):
        size = None
        for n, _, v in fields(b):
            if n == 1:
                size = signed(v)
            elif n == 2:
                size = text(v)
        return size

    def key(self):
        return self.dtype, self.dims, self.other


class Node:
    def __init__(self, b, folder):
        self.ins, self.outs, self.attrs = [], [], {}
        self.op = self.domain = self.overload = ''
        for n, _, v in fields(b):
            if n == 1:
                self.ins.append(text(v))
            elif n == 2:
                self.outs.append(text(v))
            elif n == 4:
                self.op = text(v)
            elif n == 5:
                name, value = read_attribute(v, folder)
                self.attrs[name] = value
            elif n == 7:
                self.domain = text(v)
            elif n == 8:
                self.overload = text(v)
        if self.domain == 'ai.onnx':
            self.domain = ''


def read_attribute(b, folder):
    """(name, [kind, value]) as in a certificate, but with tensors and graphs as objects."""
    name, kind, ref, many = '', 0, None, []
    one = {FLOAT: '00000000', INT: 0, STRING: ''}
    for n, wire, v in fields(b):
        if n == 1:
            name = text(v)
        elif n == 20:
            kind = v
        elif n == 21:
            ref = text(v)
        elif n == 2:
            one[FLOAT] = bytes(v)[::-1].hex()
        elif n == 3:
            one[INT] = signed(v)
        elif n == 4:
            one[STRING] = bytes(v).hex()
        elif n == 5:
            one[TENSOR] = read_tensor(v, folder)
        elif n == 6:
            one[GRAPH] = Graph(v, folder)
        elif n == 7:
            data = bytes(v)
            many += [data[i:i + 4][::-1].hex() for i in range(0, len(data), 4)]
        elif n == 8:
            many += numbers(wire, v)
        elif n == 9:
            many.append(bytes(v).hex())
        elif n == 10:
            many.append(read_tensor(v, folder))
        elif n == 11:
            many.append(Graph(v, folder))
    if ref:
        return name, ['ref', ref]
    if not kind:
        kind = next((k for k in (TENSOR, GRAPH) if k in one), FLOATS if many else INT)
    if FLOATS <= kind <= GRAPHS:
        return name, [kind, many]
    return name, [kind, one.get(kind)]


class Graph:
    def __init__(self, b, folder):
        self.nodes, self.inputs, self.outputs, self.inits = [], [], [], {}
        for n, _, v in fields(b):
            if n == 1:
                self.nodes.append(Node(v, folder))
            elif n == 5:
                self.add_tensor(v, folder)
            elif n in (11, 12):
                entry = {k: x for k, _, x in fields(v) if k in (1, 2)}
                pair = text(entry.get(1, b'')), Type(entry[2]) if 2 in entry else None
                (self.inputs if n == 11 else self.outputs).append(pair)
            elif n == 15:
                values = next((x for k, _, x in fields(v) if k == 1), b'')
                t = self.inits[self.add_tensor(values, folder)]
                t.raw, t.where, t.sparse = bytes(v), None, True

    def add_tensor(self, b, folder):
        name = next((text(v) for n, _, v in fields(b) if n == 8), '')
        self.inits[name] = read_tensor(b, folder)
        return name


class Function:
    def __init__(self, b, folder):
        self.name = self.domain = self.overload = ''
        self.inputs, self.outputs, self.nodes, self.inits = [], [], [], {}
        self.imports = {}
        for n, _, v in fields(b):
            if n in (1, 10, 13):
                setattr(self, {1: 'name', 10: 'domain', 13: 'overload'}[n], text(v))
            elif n == 4:
                self.inputs.append((text(v), None))
            elif n == 5:
                self.outputs.append((text(v), None))
            elif n == 7:
                self.nodes.append(Node(v, folder))
            elif n == 9:
                self.imports.update([read_import(v)])


def read_import(b):
    entry = {n: v for n, _, v in fields(b)}
    domain = text(entry.get(1, b''))
    return '' if domain == 'ai.onnx' else domain, signed(entry.get(2, 0))


class Model:
    """A model file. Raises Malformed and OSError."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            data = f.read()
        self.path, self.size = path, len(data)
        self.stated = {'sha256': hashlib.sha256(data).hexdigest(), 'bytes': len(data)}
        folder = os.path.dirname(os.path.abspath(path))
        self.ir, self.imports, self.functions, self.graph = 0, {}, [], None
        for n, _, v in fields(memoryview(data)):
            if n == 1:
                self.ir = v
            elif n == 7:
                self.graph = Graph(v, folder)
            elif n == 8:
                self.imports.update([read_import(v)])
            elif n == 25:
                self.functions.append(Function(v, folder))
        if self.graph is None:
            raise Malformed('no graph')

    def graphs(self):
        """Main, functions, then subgraphs breadth first: the numbers of a certificate."""
        out = [self.graph] + self.functions
        for g in out:
            for node in g.nodes:
                for kind, value in node.attrs.values():
                    if kind == GRAPH:
                        out.append(value)
                    elif kind == GRAPHS:
                        out += value
        return out
