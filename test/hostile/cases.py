# SPDX-License-Identifier: Apache-2.0
"""Malformed and borderline models, each with what it must get.

A case is add(id, what, bytes, expectation, side): the expectation is OK (loads, folds, prunes and
saves), or refuse(code, pattern): that exit code and one line on stderr that the pattern is found in.
`side` makes the files beside the model.
"""
import os
from onnx_wire import *

CASES = []
OK = None


def refuse(code, pattern):
    return code, pattern


def add(name, what, data, expect, side=None):
    CASES.append((name, what, data, expect, side))


X, Y = value("x", 1, [2]), value("y", 1, [2])
COPY = node("Identity", ["x"], ["y"])
W = tensor("w", 1, [2], floats(1, 2))


def make(nodes=(), inits=(), ins=(X,), outs=(Y,), extra=b"", in_graph=b"", **how):
    return model(graph(nodes, inits, ins, outs, in_graph), extra, **how)


def plus(name="w"):
    return node("Add", ["x", name], ["y"])


GOOD = make([plus()], [W])


def wire():
    add("valid", "a model that holds", GOOD, OK)
    add("empty", "no bytes at all", b"", refuse(1, "empty"))
    add("one-byte", "one byte of an endless varint", b"\xff", refuse(1, "byte 0"))
    add("text", "prose", b"hello world\n", refuse(1, "."))
    add("lfs", "a Git LFS pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        refuse(1, "LFS"))
    add("html", "a web page", b"<!DOCTYPE html><html></html>", refuse(1, "HTML|web page"))
    add("zip", "a zip archive", b"PK\x03\x04" + bytes(40), refuse(1, "(?i)zip"))
    add("gzip", "a gzip stream", b"\x1f\x8b\x08" + bytes(40), refuse(1, "(?i)gzip"))
    add("ort", "an ORT flatbuffer", b"\x18\0\0\0ORTM" + bytes(40), refuse(1, "ORT"))
    add("cut", "cut in the middle", GOOD[:len(GOOD) // 2], refuse(1, "byte"))
    add("tail", "garbage at the end", GOOD + b"\xde\xad", refuse(1, "byte"))
    add("long-length", "a length past the end", num(1, 8) + key(7, 2) + varint(1000) + b"abc",
        refuse(1, "byte 2"))
    add("varint-11", "a length of eleven bytes", num(1, 8) + key(7, 2) + b"\xff" * 10 + b"\x01",
        refuse(1, "byte"))
    add("tag-0", "field number 0", num(1, 8) + b"\x00\x01", refuse(1, "byte 2"))
    add("tag-0-long", "field number 0 in two bytes", GOOD + b"\x85\x00" + bytes(4),
        refuse(1, "byte"))
    add("group", "an unknown group", GOOD + key(1000, 3) + num(1, 5) + key(1000, 4),
        refuse(1, "group"))
    add("wire-type", "graph as a number", num(1, 8) + num(7, 1) + sub(8, num(2, 17)),
        refuse(1, "wire type|no graph"))
    add("wire-type-2", "ir_version as fixed32 beside a good one", GOOD + key(1, 5) + b"abcd",
        refuse(1, "wire type"))
    add("unknown-fields", "unknown fields everywhere",
        make([plus() + sub(1000, "n")], [W + num(1000, 7)], in_graph=sub(1000, "g"),
             extra=sub(1000, "m")), OK)
    add("graph-twice", "the graph in two parts",
        num(1, 8) + sub(7, graph([COPY], [], [X], [])) + sub(7, graph([], [], [], [Y]))
        + sub(8, num(2, 17)), refuse(1, "graph.*repeated|more than once"))
    add("ir-twice", "ir_version twice, the last counts", GOOD + num(1, 7), OK)
    add("merge-40k", "the graph in 40,000 parts",
        num(1, 8) + b"\x3a\x02\x0a\x00" * 40000 + sub(8, num(2, 17)), refuse(1, "."))
    add("empty-nodes", "two million empty nodes", make(in_graph=b"\x0a\x00" * 2000000),
        refuse("14", "op_type|memory"))
    nul = lambda n: tensor(n, 1, [2], floats(1, 2))
    add("nul", "names that differ after a NUL byte",
        make([node("Add", ["a\0b", "a\0c"], ["y"])], [nul("a\0b"), nul("a\0c")]),
        refuse(1, "NUL|UTF-8"))
    add("utf8", "a name that is no UTF-8",
        make([node("Add", ["x", b"w\xff\xfe"], ["y"])], [tensor(b"w\xff\xfe", 1, [2], floats(1, 2))]),
        refuse(1, "UTF-8"))
    add("no-graph", "no graph", num(1, 8) + sub(8, num(2, 17)), refuse(1, "graph"))
    add("unnamed-graph", "a graph without a name", model(graph([COPY], [], [X], [Y], name="")), OK)
    add("half-float", "float_data of five bytes",
        make([plus()], [tensor("w", 1, [2], None, sub(4, b"abcde"))]), refuse(1, "float_data"))
    add("escapes", "control characters in a name",
        make([plus("w\n\x1b[31m")], [tensor("w\n\x1b[31m", 1, [2], floats(1, 2))]), OK)
    add("escapes-error", "control characters in a name of an error", make([plus("w\n\x1b[31m")]),
        refuse(1, r'w\\n\\x1b'))
    add("long-name", "a name of a megabyte",
        make([plus("n" * 1000000)], [tensor("n" * 1000000, 1, [2], floats(1, 2))]), OK)


def depth():
    def bare(n):
        b = b""
        for _ in range(n):
            b = sub(1, sub(5, sub(6, b)))
        return b

    for n in (20, 30):
        add(f"bare-{n}", f"{n} graphs in nodes without operators",
            num(1, 8) + sub(7, bare(n)) + sub(8, num(2, 17)), refuse(1, "op_type"))
    for n in (40, 100, 1000, 5000):
        add(f"bare-{n}", f"{n} graphs in each other",
            num(1, 8) + sub(7, bare(n)) + sub(8, num(2, 17)), refuse("14", "deep|nest|depth"))

    def ifs(n):
        g = graph([node("Identity", ["x"], [f"o{n}"])], [], [], [value(f"o{n}")], name="d")
        for k in range(n - 1, -1, -1):
            other = graph([node("Identity", ["x"], [f"e{k}"])], [], [], [value(f"e{k}")], name="e")
            g = graph([node("If", ["c"], [f"o{k}"], a_graph("then_branch", g),
                            a_graph("else_branch", other))], [], [], [value(f"o{k}")], name="d")
        return g

    truth = tensor("c", BOOL, [], b"\x01")
    for n in (10, 32, 40, 200, 1000):
        other = graph([node("Identity", ["x"], ["ee"])], [], [], [value("ee")], name="e")
        top = graph([node("If", ["c"], ["y"], a_graph("then_branch", ifs(n)),
                          a_graph("else_branch", other))], [truth], [value("x")], [value("y")])
        add(f"ifs-{n}", f"{n} Ifs in each other", model(top),
            OK if n < 33 else refuse("14", "deep|nest|depth"))

    def sequences(n):
        t = tensor_type(1, [1])
        for _ in range(n):
            t = sub(4, sub(1, t))
        return sub(1, "x") + sub(2, t)

    for n in (40, 60, 1000, 5000):
        add(f"sequence-{n}", f"{n} sequences in each other", make([COPY], [], [sequences(n)]),
            OK if n < 47 else refuse("14", "deep|nest|depth"))


def structure():
    n = node
    add("cycle", "two nodes in a ring",
        make([n("Add", ["x", "b"], ["a"]), n("Relu", ["a"], ["b"]), n("Identity", ["b"], ["y"])]),
        refuse(1, "cycle"))
    add("self-loop", "a node reads itself", make([n("Add", ["x", "y"], ["y"])]), refuse(1, "cycle"))
    add("unsorted", "out of order", make([n("Relu", ["t"], ["y"]), n("Abs", ["x"], ["t"])]), OK)
    add("two-producers", "two nodes make one name",
        make([n("Relu", ["x"], ["y"]), n("Abs", ["x"], ["y"])]), refuse(1, r'node\[1\].*"y"'))
    add("twice-in-node", "one node makes a name twice",
        make([n("Split", ["x"], ["y", "y"], a_int("num_outputs", 2))], opsets=[("", 18)]),
        refuse(1, '"y"'))
    add("makes-input", "a node makes a graph input", make([n("Relu", ["x"], ["x"]), COPY]),
        refuse(1, '"x"'))
    add("makes-initializer", "a node makes an initializer",
        make([n("Relu", ["x"], ["w"]), n("Identity", ["w"], ["y"])], [W]), refuse(1, '"w"'))
    add("input-twice", "an input twice", make([COPY], ins=[X, X]), refuse(1, '"x"'))
    add("initializer-twice", "two initializers of one name",
        make([plus()], [W, tensor("w", 1, [2], floats(9, 9))]), refuse(1, '"w"'))
    add("output-twice", "an output twice", make([COPY], outs=[Y, Y]), OK)
    add("undefined-input", "a name that no node makes", make([plus("nope")]),
        refuse(1, r'graph\.node\[0\].*\.input\[1\] "nope": not defined'))
    add("undefined-output", "an output that no node makes", make([n("Relu", ["x"], ["z"])]),
        refuse(1, r'output\[0\] "y"'))
    add("output-initializer", "an output that is an initializer",
        make([n("Relu", ["x"], ["z"])], [tensor("y", 1, [2], floats(1, 2))]), OK)
    add("output-input", "an output that is an input", make([], outs=[X]), OK)
    add("absent-required", "a required input absent", make([n("Add", ["x", ""], ["y"])]),
        refuse(1, r"node\[0\].*input"))
    add("no-ends", "a node without inputs", make([n("Relu", [], []), COPY]), refuse(1, r"node\[0\]"))
    add("default-input", "an input with a default", make([plus()], [W], ins=[X, value("w", 1, [2])]),
        OK)
    add("default-shape", "an input and its default differ",
        make([plus()], [W], ins=[X, value("w", 1, [3])]), refuse(1, '"w"'))
    add("ir3", "IR 3 with an initializer that is no input", make([plus()], [W], ir=3), OK)
    add("no-op-type", "a node without an operator", make([n("", ["x"], ["y"])]),
        refuse(1, "op_type"))
    add("foreign", "a domain that is not imported",
        make([n("Foo", ["x"], ["y"], domain="com.acme")]), OK)
    add("unknown-op", "an operator ONNX does not have", make([n("Foo", ["x"], ["y"])]), OK)
    add("custom", "an operator of an imported domain",
        make([n("Foo", ["x"], ["y"], domain="com.acme")], opsets=[("", 17), ("com.acme", 1)]), OK)
    for v in (0, -1, 2**31, 2**63 - 1, -2**63):
        add(f"opset-{v}", f"opset {v}", make([COPY], opsets=[("", v)]), refuse(1, "opset"))
    add("opset-9999", "opset 9999", make([COPY], opsets=[("", 9999)]), OK)
    for v in (0, -1):
        add(f"ir-{v}", f"ir_version {v}", make([COPY], ir=v), refuse(1, "IR version"))
    for v in (99, 2**31, 2**63 - 1):
        add(f"ir-{v}", f"ir_version {v}", make([COPY], ir=v), OK)
    add("imports-differ", "two imports of a domain", make([COPY], opsets=[("", 17), ("", 9)]),
        refuse(1, "opset_import"))
    add("imports-alias", "both spellings of the default domain",
        make([COPY], opsets=[("", 17), ("ai.onnx", 9)]), refuse(1, "opset_import"))
    add("no-import", "no import", make([COPY], opsets=[]), refuse(1, "opset_import|import"))
    add("wrong-claim", "value_info that is wrong",
        model(graph([n("Relu", ["x"], ["t"]), n("Relu", ["t"], ["y"])], [], [X], [Y],
                    infos=[value("t", 7, [5])])), OK)
    add("stray-claim", "value_info of nothing, twice",
        model(graph([COPY], [], [X], [Y], infos=[value("q"), value("q", 7, [1])])), OK)
    add("same-node-names", "two nodes of one name",
        make([n("Relu", ["x"], ["t"]) + sub(3, "n"), n("Relu", ["t"], ["y"]) + sub(3, "n")]), OK)
    add("untyped-input", "an input without a type", make([COPY], ins=[sub(1, "x")]), OK)
    add("too-many", "three inputs for Relu", make([n("Relu", ["x", "x", "x"], ["y"])]),
        refuse(1, r"node\[0\].*input"))


def scopes():
    n = node
    truth = tensor("c", BOOL, [], b"\x01")

    def branch(name, out):
        return graph([n("Identity", ["x"], [out])], [], [], [value(out, 1, [2])], name=name)

    def cond(then, els=branch("e", "eo"), outs=("y",)):
        return n("If", ["c"], list(outs), a_graph("then_branch", then), a_graph("else_branch", els))

    def relu(i, o, *outs):
        return graph([n("Relu", [i], [o])], [], [], list(outs) or [value(o)], name="t")

    add("no-then", "an If without then_branch",
        make([n("If", ["c"], ["y"], a_graph("else_branch", branch("e", "eo")))], [truth]),
        refuse(1, "then_branch"))
    add("branch-count", "branches with one and two outputs",
        make([cond(relu("x", "o", value("o"), value("o")))], [truth]), refuse(1, "branch|output"))
    add("branch-undefined", "a branch reads what no node makes", make([cond(relu("zzz", "o"))], [truth]),
        refuse(1, 'then_branch.*"zzz": not defined'))
    add("branch-outer-output", "a branch returns an outer value",
        make([cond(graph([], [], [], [value("x", 1, [2])], name="t"))], [truth]), OK)
    add("branch-redefines", "a branch makes an outer name",
        make([n("Abs", ["x"], ["t"]), cond(graph([n("Neg", ["x"], ["t"])], [], [],
                                                 [value("t", 1, [2])], name="t"))], [truth]), OK)
    add("branch-shadows", "a branch initializer bears an outer name",
        make([cond(graph([n("Add", ["x", "w"], ["o"])], [tensor("w", 1, [2], floats(9, 9))], [],
                         [value("o", 1, [2])], name="t"),
                   graph([n("Add", ["x", "w"], ["o2"])], [], [], [value("o2", 1, [2])], name="e"))],
             [truth, tensor("w", 1, [2], floats(1, 1))]), OK)
    add("loop-arity", "a Loop body without inputs",
        make([n("Loop", ["n", "c"], ["y"], a_graph("body", graph(
            [n("Identity", ["c"], ["co"])], [], [], [value("co", 9, [])], name="b")))],
            [truth, tensor("n", 7, [], longs(3))]), refuse(1, "body"))
    add("own-output", "a branch reads the If's own output", make([cond(relu("y", "o"))], [truth]),
        refuse(1, "cycle"))
    add("capture-cycle", "a ring through a capture",
        make([cond(relu("y", "o"), outs=["a"]), n("Relu", ["a"], ["y"])], [truth]),
        refuse(1, "cycle"))


def functions():
    two = [("", 17), ("d", 1)]

    def call(f, i, o):
        return node(f, [i], [o], domain="d")

    def one(f, i="a", o="b"):
        return [call(f, i, o)]

    add("recursion", "a function that calls itself",
        make(one("F", "x", "y"), opsets=two, extra=function("F", ["a"], ["b"], one("F"))),
        refuse(1, "recurs|calls itself"))
    add("recursion-2", "two functions that call each other",
        make(one("F", "x", "y"), opsets=two,
             extra=function("F", ["a"], ["b"], one("G")) + function("G", ["a"], ["b"], one("F"))),
        refuse(1, "recurs|calls itself"))
    inner = lambda k: graph(one("F", "a", "o"), [], [], [value("o")], name=k)
    add("recursion-if", "a function that calls itself in an If",
        make(one("F", "x", "y"), opsets=two, extra=function("F", ["a"], ["b"], [
            node("Constant", [], ["cc"], a_tensor("value", tensor(None, 9, [], b"\1"))),
            node("If", ["cc"], ["b"], a_graph("then_branch", inner("t")),
                 a_graph("else_branch", inner("e")))])), refuse(1, "recurs|calls itself"))
    for k in (16, 40):
        fs = b"".join(function(f"F{i}", ["a"], ["b"],
                               [call(f"F{i+1}", "a", "t"), call(f"F{i+1}", "t", "b")])
                      for i in range(k))
        fs += function(f"F{k}", ["a"], ["b"], [node("Relu", ["a"], ["b"])])
        add(f"doubling-{k}", f"functions that stand for 2^{k} nodes",
            make(one("F0", "x", "y"), opsets=two, extra=fs),
            OK if k < 20 else refuse(4, "inlin|nodes"))
    relu = function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])])
    neg = function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
    add("function-twice", "two functions of one name", make(one("F", "x", "y"), opsets=two,
                                                            extra=relu + neg), refuse(1, "function"))
    add("function-shadows", "a function in place of Relu",
        make([node("Relu", ["x"], ["y"])], opsets=two,
             extra=function("Relu", ["a"], ["b"], [node("Neg", ["a"], ["b"])], "", [("", 17)])), OK)
    add("call-short", "a call with one input of two",
        make(one("F", "x", "y"), opsets=two,
             extra=function("F", ["a", "z"], ["b"], [node("Add", ["a", "z"], ["b"])])), OK)
    chain = b"".join(function(f"F{k}", ["a"], ["b"], one(f"F{k+1}")) for k in range(150))
    add("chain-150", "functions calling functions, 150 deep",
        make(one("F0", "x", "y"), opsets=two,
             extra=chain + function("F150", ["a"], ["b"], [node("Relu", ["a"], ["b"])])),
        refuse(4, "deep|depth"))
    add("training", "training_info beside the graph",
        make([COPY], extra=sub(20, sub(1, graph(name="init")), sub(2, graph(
            [node("Relu", ["q"], ["r"])], name="alg")))), OK)


def tensors():
    def t(body, op="Add", **how):
        return make([node(op, ["x", "w"], ["y"])], [body], **how)

    bad = refuse(1, r'initializer\[0\] "w"')

    def both(name, what, dims, raw, dtype=1, *more):
        add(name, what, t(tensor("w", dtype, dims, raw, *more)), bad)

    both("dims-overflow", "dims beyond int64", [2**32, 2**32], floats(1, 2))
    both("dims-wrap", "dims that wrap to a small number", [2**62, 4, 2], floats(1, 2))
    add("dims-zero", "no elements beside a huge dim", t(tensor("w", 1, [0, 2**63 - 1], b"")), OK)
    both("dim-negative", "a negative dim", [-2], floats(1, 2))
    both("dims-negative", "two negative dims", [-1, -2], floats(1, 2))
    both("raw-short", "too few bytes", [1000000], floats(1, 2))
    both("raw-odd", "seven bytes for two floats", [2], b"1234567")
    both("raw-long", "too many bytes", [2], floats(1, 2, 3, 4))
    both("dtype-99", "an unknown element type", [2], floats(1, 2), 99)
    both("dtype--1", "element type -1", [2], floats(1, 2), -1)
    both("dtype-0", "element type 0", [2], floats(1, 2), 0)
    both("raw-and-typed", "two payloads", [2], floats(1, 2), 1, sub(4, floats(5, 6)))
    both("string-raw", "strings in raw_data", [2], b"ab", STRING)
    both("wrong-list", "floats in int32_data", [2], None, 1, sub(5, b"\1\2"))
    both("list-short", "too few floats", [1000], None, 1, sub(4, floats(1, 2)))
    both("no-data", "4 TiB of nothing", [2**40], None)
    both("zero-with-data", "data for no elements", [0], floats(1, 2))
    both("segment", "a segment", [2], floats(1, 2), 1, sub(3, num(1, 0), num(2, 1)))
    add("rank-100000", "rank 100,000", t(tensor("w", 1, [1] * 100000, floats(1))), OK)

    def quantized(body, **how):
        scale = tensor("s", 1, [], floats(1))
        return make([node("DequantizeLinear", ["w", "s"], ["y"])], [body, scale], **how)

    int4 = dict(opsets=[("", 21)], ir=10)
    add("int4-short", "five nibbles in two bytes", quantized(tensor("w", 22, [5], b"\x12\x34"), **int4), bad)
    add("int4", "five nibbles in three bytes", quantized(tensor("w", 22, [5], b"\x12\x34\x05"), **int4), OK)
    add("int4-list", "five nibbles in five numbers",
        quantized(tensor("w", 22, [5], None, sub(5, b"\1\2\3\4\5")), **int4), bad)

    def cast(body, **how):
        return make([node("Cast", ["w"], ["y"], a_int("to", 1))], [body], **how)

    add("float8-short", "four float8 in two bytes",
        cast(tensor("w", 17, [4], b"\x12\x34"), opsets=[("", 19)], ir=9), bad)
    add("float4-short", "four float4 in one byte",
        cast(tensor("w", 23, [4], b"\x12"), opsets=[("", 23)], ir=11), bad)
    add("uint8-300", "300 as uint8", cast(tensor("w", UINT8, [2], None, sub(5, varint(300), varint(-1)))), bad)
    add("bool-7", "a bool of 7", cast(tensor("w", BOOL, [2], b"\7\0")), OK)
    add("unnamed", "an initializer without a name", make([COPY], [tensor(None, 1, [2], floats(1, 2))]),
        refuse(1, r"initializer\[0\]"))
    add("uint32-large", "2^40 as uint32", cast(tensor("w", UINT32, [1], None, sub(11, varint(2**40)))), bad)
    add("string-count", "one string of five", t(tensor("w", STRING, [5], None, sub(6, b"a")), "Equal"), bad)


def sparse():
    def s(values, indices, dims):
        parts = [sub(1, values)] + ([sub(2, indices)] if indices is not None else [])
        return model(graph([COPY], [], [X], [Y], sub(15, *parts, *[num(3, d) for d in dims])), ir=11)

    one, bad = tensor("w", 1, [1], floats(1)), refuse(1, "sparse_initializer")
    at = lambda *i: tensor("wi", 7, [len(i)], longs(*i))
    add("sparse-range", "an index out of range", s(one, at(10**9), [4]), bad)
    add("sparse-order", "indices out of order", s(tensor("w", 1, [2], floats(1, 2)), at(3, 1), [4]), bad)
    add("sparse-count", "two values, one index", s(tensor("w", 1, [2], floats(1, 2)), at(3), [4]), bad)
    add("sparse-dims", "dims beyond int64", s(one, at(3), [2**32, 2**32]), bad)
    add("sparse-bomb", "2^50 elements, one of them set", s(one, at(3), [2**25, 2**25]), OK)
    add("sparse-no-indices", "no indices", s(one, None, [4]), bad)
    add("sparse-negative", "a negative index", s(one, at(-1), [4]), bad)
    add("sparse-claims", "1,000 values claimed, one there",
        s(tensor("w", 1, [1000], floats(1)), tensor("wi", 7, [1000], longs(1)), [4]), bad)
    add("sparse-coo-0", "indices of width 0", s(one, tensor("wi", 7, [1, 0], b""), [4]), bad)


def attributes():
    n = node
    bad = lambda p: refuse(1, r"node\[0\].*" + p)
    add("perm-float", "perm as a float", make([n("Transpose", ["x"], ["y"], a_float("perm", 1))]), bad("perm"))
    add("no-to", "Cast without to", make([n("Cast", ["x"], ["y"])]), bad('"?to"?'))
    add("no-value", "Constant without a value", make([n("Constant", [], ["y"])]), bad("value"))
    add("two-values", "Constant with two values",
        make([n("Constant", [], ["y"], a_int("value_int", 1), a_float("value_float", 1))]), bad("value"))
    leaky = lambda *a: make([n("LeakyRelu", ["x"], ["y"], *a)])
    alpha = key(2, 5) + floats(1)
    add("kind-differs", "type says INT, the value is a float", leaky(attr("alpha", 2, alpha)), bad("alpha"))
    add("attr-twice", "an attribute twice", leaky(a_float("alpha", 1), a_float("alpha", 2)), bad("alpha"))
    add("no-kind", "an attribute without type", leaky(sub(5, sub(1, "alpha"), alpha)), bad("alpha"))
    add("ref-outside", "a reference outside a function",
        leaky(sub(5, sub(1, "alpha"), sub(21, "q"), num(20, 1))), bad("alpha"))
    add("no-tensor", "type TENSOR without one", make([n("Constant", [], ["y"], attr("value", 4))]), bad("value"))
    add("no-branch-graph", "type GRAPH without one",
        make([n("If", ["c"], ["y"], attr("then_branch", 5), attr("else_branch", 5))],
             [tensor("c", 9, [], b"\1")]), bad("then_branch"))
    add("kind-99", "attribute type 99", leaky(attr("alpha", 99, alpha)), bad("alpha"))
    # Values that only the operator's meaning forbids: never folded, never a crash.
    w12, i = tensor("w", 1, [1, 2], floats(1, 2)), lambda name, *v: tensor(name, 7, [len(v)], longs(*v))
    keep = lambda name, what, nodes, inits, **how: add(name, what, make(nodes, inits, **how), OK)
    keep("perm-range", "perm [5, -7]", [n("Transpose", ["w"], ["y"], a_ints("perm", 5, -7))], [w12])
    keep("axis-range", "Concat on axis 10^9", [n("Concat", ["w", "w"], ["y"], a_int("axis", 10**9))], [W])
    keep("axes-min", "Squeeze of axis -2^63", [n("Squeeze", ["w", "a"], ["y"])], [w12, i("a", -2**63)])
    slices = lambda s, e, st: [W, i("s", s), i("e", e), i("ax", 0), i("st", st)]
    cut = [n("Slice", ["w", "s", "e", "ax", "st"], ["y"])]
    keep("step-0", "Slice with step 0", cut, slices(0, 2, 0))
    keep("step-min", "Slice with step -2^63", cut, slices(1, -2**63, -2**63))
    keep("gather-range", "Gather of element 10^12", [n("Gather", ["w", "i"], ["y"])], [W, i("i", 10**12)])
    for name, dims in (("minus", (-1, -1)), ("huge", (2**32, 2**32)), ("zeros", (0, 0))):
        keep(f"reshape-{name}", f"Reshape to {dims}", [n("Reshape", ["w", "s"], ["y"])], [W, i("s", *dims)])
    to_float = n("Cast", ["q"], ["y"], a_int("to", 1))
    for name, op, a, b in (("zero", "Div", (5, -2**63), (0, -1)), ("min", "Div", (-2**63,), (-1,)),
                           ("mod", "Mod", (-2**63,), (-1,)), ("mod-zero", "Mod", (3,), (0,))):
        keep(f"divide-{name}", f"{op} of {a} by {b}", [n(op, ["w", "z"], ["q"]), to_float], [i("w", *a), i("z", *b)])
    keep("cast-nan", "NaN and 1e30 to int64", [n("Cast", ["w"], ["q"], a_int("to", 7)), to_float],
         [tensor("w", 1, [3], floats(float("nan"), 1e30, float("-inf")))])
    u64 = lambda name, v: tensor(name, UINT64, [1], longs(v))
    keep("shift-200", "a shift by 200",
         [n("BitShift", ["w", "z"], ["q"], a_text("direction", "LEFT")), to_float], [u64("w", 1), u64("z", 200)])
    add("split-negative", "Split into -5 and 7", make([n("Split", ["w", "s"], ["y", "z"])], [W, i("s", -5, 7)]), OK)
    add("group-0", "Conv with group 0 and stride 0",
        make([n("Conv", ["xx", "w"], ["y"], a_int("group", 0), a_ints("strides", 0))],
             [tensor("w", 1, [1, 1, 1], floats(1))], ins=[value("xx", 1, [1, 1, 4])]), OK)
    keep("axes-twice", "Unsqueeze of one axis twice", [n("Unsqueeze", ["w", "a"], ["y"])], [W, i("a", 0, 0)])
    keep("pad-negative", "Pad that leaves less than nothing", [n("Pad", ["w", "p"], ["y"])], [W, i("p", -5, -5)])


def bombs():
    n, i = node, lambda name, *v: tensor(name, 7, [len(v)], longs(*v))
    scalar = lambda name, v: tensor(name, 1, [], floats(v))

    def b(name, what, nodes, inits, rank=1, **how):
        outs = [value("y", 1, [f"n{k}" for k in range(rank)])]
        add(name, what, make(nodes, inits, ins=[], outs=outs, **how), OK)

    fill = [n("ConstantOfShape", ["s"], ["y"])]
    one = tensor("w", 1, [1], floats(1))
    b("fill-40", "4 TiB of zeros", fill, [i("s", 2**40)])
    b("fill-93", "2^93 zeros", fill, [i("s", 2**31, 2**31, 2**31)], 3)
    b("fill-sum", "8 GiB of zeros, summed", [n("ConstantOfShape", ["s"], ["t"]), n("ReduceSum", ["t"], ["y"])],
      [i("s", 2**31)])
    b("fill-27", "512 MiB of zeros", fill, [i("s", 2**27)])
    b("tile-12", "Tile 10^12 times", [n("Tile", ["w", "r"], ["y"])], [one, i("r", 10**12)])
    b("tile-27", "Tile 2^27 times", [n("Tile", ["w", "r"], ["y"])], [one, i("r", 2**27)])
    b("expand", "Expand to 10^12", [n("Expand", ["w", "r"], ["y"])], [one, i("r", 10**6, 10**6)], 2)
    span = [n("Range", ["a", "b", "c"], ["y"])]
    b("range-12", "Range of 10^12", span, [scalar("a", 0), scalar("b", 1e12), scalar("c", 1)])
    b("range-0", "Range with step 0", span, [scalar("a", 0), scalar("b", 1), scalar("c", 0)])
    b("range-nan", "Range with NaN", span, [scalar("a", 0), scalar("b", float("inf")), scalar("c", float("nan"))])
    for k in (27, 40):
        names = ["w"] + [f"t{j}" for j in range(k - 1)] + ["y"]
        b(f"concat-{k}", f"Concat doubling {k} times",
          [n("Concat", [names[j], names[j]], [names[j + 1]], a_int("axis", 0)) for j in range(k)], [one])
    b("pad-12", "Pad by 10^12", [n("Pad", ["w", "p"], ["y"])], [W, i("p", 10**12, 0)])
    b("onehot", "OneHot of depth 10^12", [n("OneHot", ["i", "d", "v"], ["y"])],
      [i("i", 0), tensor("d", 7, [], longs(10**12)), tensor("v", 1, [2], floats(0, 1))], 2)
    body = graph([n("Identity", ["ci"], ["co"]), n("Relu", ["a"], ["b"])], [],
                 [value("it", 7, []), value("ci", 9, []), value("a", 1, [1])],
                 [value("co", 9, []), value("b", 1, [1])], name="b")
    b("loop", "a Loop of 2^63-1 turns", [n("Loop", ["n", "c", "w"], ["y"], a_graph("body", body))],
      [tensor("c", 9, [], b"\1"), tensor("n", 7, [], longs(2**63 - 1)), one])
    b("resize", "Resize by a million each way", [n("Resize", ["w", "", "s"], ["y"])],
      [tensor("w", 1, [1, 1, 4, 4], floats(*range(16))), tensor("s", 1, [4], floats(1, 1, 1e6, 1e6))], 4)
    b("matmul", "an outer product of 40 GB",
      [n("ConstantOfShape", ["s1"], ["u"]), n("ConstantOfShape", ["s2"], ["v"]), n("MatMul", ["u", "v"], ["y"])],
      [i("s1", 100000, 1), i("s2", 1, 100000)], 2)
    b("fill-100", "a hundred times 64 MiB",
      [n("ConstantOfShape", ["s"], [f"t{k}"]) for k in range(100)] + [n("Sum", [f"t{k}" for k in range(100)], ["y"])],
      [i("s", 2**24)])
    names = ["w"] + [f"t{j}" for j in range(39)] + ["y"]
    add("strings", "StringConcat doubling 40 times",
        model(graph([n("StringConcat", [names[j]] * 2, [names[j + 1]]) for j in range(40)],
                    [tensor("w", STRING, [1], None, sub(6, b"a"))], [], [value("y", 8, [1])]),
              opsets=[("", 20)], ir=9), OK)
    b("einsum", "Einsum to 10^12", [n("ConstantOfShape", ["s"], ["u"]), n("Einsum", ["u", "u", "u"], ["y"],
                                                                         a_text("equation", "a,b,c->abc"))],
      [i("s", 10000)], 3)


def data_files():
    bytes64 = bytes(range(64))

    def put(name, data=bytes64):
        def side(d):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        return side

    def link(target, name):
        return lambda d: os.symlink(target, os.path.join(d, name))

    def e(name, what, ext, expect, side=None, dims=(2,)):
        add(f"data-{name}", what, make([plus()], [tensor("w", 1, dims, None, ext)]), expect, side)

    # outside.bin stands in the folder that holds all case folders.
    good, out = external("w.bin", 0, 8), refuse("13", '"w"|external')
    e("valid", "a data file", good, OK, put("w.bin"))
    e("parent", "../", external("../outside.bin", 0, 8), out)
    e("parent-2", "a/../../", external("a/../../outside.bin", 0, 8), out, lambda d: os.mkdir(d + "/a"))
    e("absolute", "an absolute path", external("/etc/passwd", 0, 8), out)
    e("link-out", "a symlink that leaves", good, out, link("../outside.bin", "w.bin"))
    e("link-in", "a symlink that stays", good, OK,
      lambda d: (put("real.bin")(d), link("real.bin", "w.bin")(d)))
    e("link-folder", "a folder that is a symlink out", external("s/outside.bin", 0, 8), out, link("..", "s"))
    e("hard-link", "a hard link", good, OK, lambda d: os.link(d + "/../outside.bin", d + "/w.bin"))
    # Data that are not there are never read; the model is worked on without them.
    e("missing", "no such file", good, OK)
    e("short", "a file shorter than its length", good, OK, put("w.bin", b"abc"))
    e("short-2", "a file shorter than the dims", external("w.bin"), OK, put("w.bin", b"abc"))
    e("past-end", "an offset past the end", external("w.bin", 1000, 8), OK, put("w.bin"))
    e("offset-negative", "offset -4", external("w.bin", -4, 8), out, put("w.bin"))
    e("length-negative", "length -1", external("w.bin", 0, -1), out, put("w.bin"))
    e("overflow", "offset + length beyond int64", external("w.bin", 2**63 - 4, 8), OK, put("w.bin"))
    e("offset-65", "an offset of 65 bits", external("w.bin", 2**64 + 8, 8), out, put("w.bin"))
    e("length-12", "a length that is not that of the dims", external("w.bin", 0, 12), out, put("w.bin"))
    for k, text in (("word", "abc"), ("hex", " 0x10"), ("tail", "8abc"), ("plus", "+8")):
        e(f"offset-{k}", f"offset {text!r}", external("w.bin", None, 8, ("offset", text)), out, put("w.bin"))
    e("folder", "a folder", good, out, lambda d: os.mkdir(d + "/w.bin"))
    e("fifo", "a FIFO", good, out, lambda d: os.mkfifo(d + "/w.bin"))
    e("device", "/dev/zero behind a symlink", good, out, link("/dev/zero", "w.bin"))
    e("no-location", "an empty location", external("", 0, 8), out)
    e("no-location-2", "no location", sub(13, sub(1, "offset"), sub(2, "0")) + num(14, 1), out)
    e("nul", "a NUL byte in the location", external("w.bin\0x", 0, 8), refuse(1, "NUL|UTF-8"), put("w.bin"))
    e("twice", "two locations", external("w.bin", 0, 8, ("location", "../outside.bin")), out, put("w.bin"))
    add("data-overlap", "two tensors that overlap",
        make([node("Add", ["x", "w"], ["t"]), node("Add", ["t", "v"], ["y"])],
             [tensor("w", 1, [2], None, external("w.bin", 0, 8)),
              tensor("v", 1, [2], None, external("w.bin", 4, 8))]), OK, put("w.bin"))
    e("self", "the model is its own data file", external("m.onnx", 0, 8), OK)
    e("dot", "location '.'", external(".", 0, 8), out)
    add("data-attribute", "a Constant that leaves the folder",
        make([node("Constant", [], ["w"], a_tensor("value", tensor("", 1, [2], None, external(
            "../outside.bin", 0, 8)))), plus()]), refuse("13", "external|value"))
    leak = sub(1, tensor("w", 1, [1], None, external("../outside.bin", 0, 4)))
    add("data-sparse", "sparse values that leave the folder",
        model(graph([COPY], [], [X], [Y], sub(15, leak, sub(2, tensor("i", 7, [1], longs(1))), num(3, 4))),
              ir=11), refuse("13", "external|sparse"))
    e("and-raw", "external and raw", external("w.bin", 0, 8) + sub(9, floats(1, 2)), out, put("w.bin"))
    e("petabyte", "a length of 1 PB", external("w.bin", 0, 2**50), out, put("w.bin"))
    e("petabyte-2", "dims of 1 PB", external("w.bin", 0), OK, put("w.bin"), (2**50,))
    e("place-7", "data_location 7", sub(13, sub(1, "location"), sub(2, "w.bin")) + num(14, 7), out, put("w.bin"))
    e("backslash", "a backslash", external("..\\outside.bin", 0, 8), out)
    e("unknown-key", "an unknown key", external("w.bin", 0, 8, ("__class__", "x")), OK, put("w.bin"))
    e("memory", "an address in memory", external("*/_ORT_MEM_ADDR_/*", 0x41414141, 8), refuse("13", "."))
    e("length-0", "length 0 as some exporters write it", external("w.bin", 0, 0), OK, put("w.bin"))
    add("data-strings", "strings in a data file",
        make([plus()], [tensor("w", STRING, [2], None, good)]), out, put("w.bin"))


# Bits of an element of each type, and the opset from which operators accept it.
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64,
        15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8}


def payloads():
    """Each element type with its bytes, one byte less and one more."""
    for dtype, bits in BITS.items():
        size = 8 * bits // 8
        for change, what in ((0, "its bytes"), (-1, "one byte less"), (1, "one byte more")):
            body = tensor("w", dtype, [8], bytes(size + change))
            g = graph([node("Identity", ["w"], ["y"])], [body], [], [value("y", dtype, [8])])
            add(f"payload-{dtype}{change:+d}", f"element type {dtype} with {what}",
                model(g, ir=12, opsets=[("", 24)]),
                OK if not change else refuse(1, r'initializer\[0\] "w"'))


# Operators with the number of inputs that they require and accept at opset 17.
ARITY = {"Abs": (1, 1), "Add": (2, 2), "And": (2, 2), "ArgMax": (1, 1), "AveragePool": (1, 1),
         "BatchNormalization": (5, 5), "Cast": (1, 1), "Clip": (1, 3), "Compress": (2, 2),
         "Conv": (2, 3), "ConvTranspose": (2, 3), "CumSum": (2, 2), "DequantizeLinear": (2, 3),
         "Expand": (2, 2), "Flatten": (1, 1), "Gather": (2, 2), "GatherElements": (2, 2),
         "GatherND": (2, 2), "Gemm": (2, 3), "GlobalAveragePool": (1, 1), "GRU": (3, 6),
         "LSTM": (3, 8), "LayerNormalization": (2, 3), "MatMul": (2, 2), "MaxPool": (1, 1),
         "NonMaxSuppression": (2, 5), "OneHot": (3, 3), "Pad": (2, 3), "QuantizeLinear": (2, 3),
         "Range": (3, 3), "ReduceSum": (1, 2), "Reshape": (2, 2), "Resize": (1, 4), "RNN": (3, 6),
         "RoiAlign": (3, 3), "ScatterElements": (3, 3), "ScatterND": (3, 3), "Shape": (1, 1),
         "Slice": (3, 5), "Softmax": (1, 1), "Split": (1, 2), "Squeeze": (1, 2), "Tile": (2, 2),
         "TopK": (2, 2), "Transpose": (1, 1), "Unsqueeze": (2, 2), "Where": (3, 3)}


def arities():
    """Each operator without inputs, with one less than it requires, and with one more than it accepts."""
    for op, (least, most) in ARITY.items():
        for n in sorted({0, least - 1, most + 1}):
            add(f"arity-{op}-{n}", f"{op} with {n} inputs", make([node(op, ["x"] * n, ["y"])]),
                refuse(1, r"node\[0\].*input"))


for group in (wire, depth, structure, scopes, functions, tensors, sparse, attributes, bombs, data_files,
              payloads, arities):
    group()
