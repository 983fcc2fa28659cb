# SPDX-License-Identifier: Apache-2.0
"""Another topological order of a model's nodes, on the bytes of the file: nothing else changes."""
import heapq
import pathlib
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import onnx_wire  # noqa: E402

GRAPH, NODE = 7, 1                     # of ModelProto, of GraphProto
INPUT, OUTPUT, ATTRIBUTE = 1, 2, 5     # of NodeProto
SUBGRAPH, SUBGRAPHS = 6, 11            # of AttributeProto


def fields(data):
    """(number, where the field begins, where its body begins, where it ends) of a message."""
    at = 0
    while at < len(data):
        start = at
        key, at = onnx_wire.read_varint(data, at)
        body = at
        if key & 7 == 0:
            _, at = onnx_wire.read_varint(data, at)
        elif key & 7 == 1:
            at += 8
        elif key & 7 == 5:
            at += 4
        else:
            size, body = onnx_wire.read_varint(data, at)
            at = body + size
        yield key >> 3, start, body, at


def bodies(data, number):
    return [data[body:end] for n, _, body, end in fields(data) if n == number]


def reads(node):
    """Names that a node reads, those that its subgraphs capture among them."""
    names = [bytes(name) for name in bodies(node, INPUT)]
    for attribute in bodies(node, ATTRIBUTE):
        for graph in bodies(attribute, SUBGRAPH) + bodies(attribute, SUBGRAPHS):
            for inner in bodies(graph, NODE):
                names += reads(inner)
    return names


def order(nodes, pick):
    """Indices of the nodes in an order in which each comes after what it reads."""
    maker = {bytes(out): i for i, n in enumerate(nodes) for out in bodies(n, OUTPUT) if len(out)}
    readers, waits = [[] for _ in nodes], [0] * len(nodes)
    for i, node in enumerate(nodes):
        for j in {maker[name] for name in reads(node) if maker.get(name, i) != i}:
            readers[j].append(i)
            waits[i] += 1
    ready = [(pick.random(), i) for i, n in enumerate(waits) if not n]
    heapq.heapify(ready)
    done = []
    while ready:
        _, i = heapq.heappop(ready)
        done.append(i)
        for j in readers[i]:
            waits[j] -= 1
            if not waits[j]:
                heapq.heappush(ready, (pick.random(), j))
    return done if len(done) == len(nodes) else list(range(len(nodes)))


def reordered(data, seed):
    """The model with the nodes of its main graph in another order, drawn by the seed."""
    data = memoryview(data)
    out = []
    for number, start, body, end in fields(data):
        if number != GRAPH:
            out.append(data[start:end])
            continue
        graph = data[body:end]
        parts = list(fields(graph))
        places = [i for i, part in enumerate(parts) if part[0] == NODE]
        nodes = [graph[parts[i][2]:parts[i][3]] for i in places]
        moved = [parts[places[k]] for k in order(nodes, random.Random(seed))]
        for i, part in zip(places, moved):
            parts[i] = part
        text = b"".join(bytes(graph[a:b]) for _, a, _, b in parts)
        out.append(onnx_wire.sub(GRAPH, text))
    return b"".join(bytes(part) for part in out)
