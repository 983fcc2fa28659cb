# SPDX-License-Identifier: Apache-2.0
"""Models of size n, one function for each shape of graph that an algorithm can be slow on."""
from onnx_wire import *

X, Y = value("x", FLOAT, ("N", 4)), value("y", FLOAT, ("N", 4))
W = tensor("w", FLOAT, [4], floats(1, 2, 3, 4))


def plain(nodes, inits=(), more=b"", outs=(Y,), infos=(), ins=(X,), **how):
    return model(graph(nodes, inits, ins, outs, infos=infos), more, **how)


def end(last):
    return node("Identity", [last], ["y"])


def chain(n):
    """n operators that differ, one after the other."""
    ops = ["Relu", "Neg", "Abs", "Exp"]
    nodes = [node(ops[i * 7 % 4], [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")])


def backwards(n):
    """The chain in reversed order: every node is defined after its reader."""
    nodes = [node("Exp", [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(n)]
    return plain([end(f"t{n - 1}")] + nodes[::-1])


def star(n):
    """One value with n readers, all of them outputs."""
    nodes = [node("Add", ["x", f"w{i}"], [f"y{i}"]) for i in range(n)]
    inits = [tensor(f"w{i}", FLOAT, [1], floats(i)) for i in range(n)]
    return plain(nodes, inits, outs=[value(f"y{i}", FLOAT, ("N", 4)) for i in range(n)])


def fan_in(n):
    """One node with n inputs."""
    nodes = [node("Mul", ["x", f"w{i}"], [f"t{i}"]) for i in range(n)]
    inits = [tensor(f"w{i}", FLOAT, [1], floats(i)) for i in range(n)]
    return plain(nodes + [node("Sum", [f"t{i}" for i in range(n)], ["y"])], inits)


def same_input(n):
    """One node that reads one value n times."""
    return plain([node("Concat", ["x"] * n, ["y"], a_int("axis", 1))],
                 outs=[value("y", FLOAT, ("N", 4 * n))])


def grid(n):
    """Each node reads two of the row before; 2^n paths lead through the rows."""
    width, row, nodes = 16, ["x"] * 16, []
    for i in range(n // width):
        names = [f"g{i}_{k}" for k in range(width)]
        nodes += [node("Add", [row[k], row[(k + 1) % width]], [names[k]]) for k in range(width)]
        row = names
    return plain(nodes + [node("Sum", row, ["y"])])


def halves(n):
    """Diamonds in a row: a value is read twice by each node."""
    nodes = [node("Add", [f"t{i - 1}" if i else "x"] * 2, [f"t{i}"]) for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")])


def if_nodes(n):
    """The nodes of n Ifs on c that capture, one after the other."""
    nodes = []
    for i in range(n):
        last = f"t{i - 1}" if i else "x"
        arms = [a_graph(which, graph([node(op, [last], [f"{which[0]}{i}"])], [], [],
                                     [value(f"{which[0]}{i}", FLOAT, ("N", 4))], name=which))
                for which, op in (("then_branch", "Exp"), ("else_branch", "Neg"))]
        nodes.append(node("If", ["c"], [f"t{i}"], *arms))
    return nodes


def branches(n):
    """n Ifs that capture, one after the other."""
    return plain(if_nodes(n) + [end(f"t{n - 1}")], ins=(X, value("c", BOOL, ())))


def namesakes(n):
    """n Ifs whose arms have values of the same names."""
    nodes = []
    for i in range(n):
        arms = [a_graph(which, graph([node("Exp", ["x"], ["t"]), node("Neg", ["t"], ["r"])], [], [],
                                     [value("r", FLOAT, ("N", 4))], name=which))
                for which in ("then_branch", "else_branch")]
        nodes.append(node("If", ["c"], [f"t{i}"], *arms))
    return plain(nodes + [end(f"t{n - 1}")], ins=(X, value("c", BOOL, ())))


def loops(n):
    """n Loops, each with a body of three nodes."""
    nodes = []
    for i in range(n):
        body = graph([node("Identity", ["go"], ["on"]), node("Exp", ["s"], ["u"]),
                      node("Neg", ["u"], ["v"])], [],
                     [value("i", INT64, ()), value("go", BOOL, ()), value("s", FLOAT, ("N", 4))],
                     [value("on", BOOL, ()), value("v", FLOAT, ("N", 4))], name="b")
        nodes.append(node("Loop", ["m", "c", f"t{i - 1}" if i else "x"], [f"t{i}"],
                          a_graph("body", body)))
    inits = [tensor("m", INT64, [], longs(9))]
    return plain(nodes + [end(f"t{n - 1}")], inits, ins=(X, value("c", BOOL, ())))


def calls(n):
    """n calls of one function."""
    f = function("F", ["a"], ["b"], [node("Exp", ["a"], ["t"]), node("Neg", ["t"], ["b"])])
    nodes = [node("F", [f"t{i - 1}" if i else "x"], [f"t{i}"], domain="d") for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")], more=f, opsets=(("", 17), ("d", 1)))


def functions(n):
    """n functions; each calls a leaf and at most one that is one level deeper, of 50 levels."""
    fs = [function("leaf", ["a"], ["b"], [node("Exp", ["a"], ["b"])])]
    for i in range(n):
        deeper = f"F{i - 1}" if i % 50 else "leaf"
        fs.append(function(f"F{i}", ["a"], ["b"], [node("leaf", ["a"], ["t"], domain="d"),
                                                   node(deeper, ["t"], ["b"], domain="d")]))
    return plain([node(f"F{n - 1}", ["x"], ["y"], domain="d")], more=b"".join(fs),
                 opsets=(("", 17), ("d", 1)))


def same_names(n):
    """All nodes have one name, and names of values differ in the last character only."""
    stem = "a" * 100
    nodes = [node("Exp", [stem + str(i - 1) if i else "x"], [stem + str(i)]) + sub(3, stem)
             for i in range(n)]
    return plain(nodes + [end(stem + str(n - 1))])


def taken_names(n):
    """A node in the middle has to be renamed: the first n candidates are taken."""
    nodes = [node("Exp", ["x"], ["x_0" if not i else f"x_{i}"]) + sub(3, f"n_{i}") for i in range(n)]
    return plain(nodes + [node("Sum", [f"x_{i}" for i in range(n)], ["y"])])


def equal_nodes(n):
    """n nodes that compute the same."""
    nodes = [node("Exp", ["x"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [node("Sum", [f"t{i}" for i in range(n)], ["y"])])


def equal_weights(n):
    """n initializers with the same elements."""
    inits = [tensor(f"w{i}", FLOAT, [4], floats(1, 2, 3, 4)) for i in range(n)]
    nodes = [node("Add", [f"t{i - 1}" if i else "x", f"w{i}"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")], inits)


def constants(n):
    """n additions of constants that fold into one."""
    nodes = [node("Add", [f"t{i - 1}" if i else "w", "w"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [node("Add", ["x", f"t{n - 1}"], ["y"])], [W])


def moves(n):
    """Transposes that a rule removes or merges at every place."""
    turns = [(1, 0), (1, 0), (0, 1)]
    nodes = [node("Transpose", [f"t{i - 1}" if i else "x"], [f"t{i}"],
                  a_ints("perm", *turns[i % 3])) for i in range(n - n % 6)]
    return plain(nodes + [end(f"t{n - n % 6 - 1}")])


def rules(n):
    """x * 1 + 0, squeezed, unsqueezed and cast: rules of the default match at every node."""
    inits = [tensor("one", FLOAT, [], floats(1)), tensor("zero", FLOAT, [], floats(0)),
             tensor("axis", INT64, [1], longs(0))]
    steps = [lambda i: node("Mul", [i, "one"], []), lambda i: node("Add", [i, "zero"], []),
             lambda i: node("Unsqueeze", [i, "axis"], []), lambda i: node("Squeeze", [i, "axis"], []),
             lambda i: node("Neg", [i], []), lambda i: node("Neg", [i], [])]
    nodes = [steps[i % 6](f"t{i - 1}" if i else "x") + sub(2, f"t{i}") for i in range(n - n % 6)]
    return plain(nodes + [end(f"t{n - n % 6 - 1}")], inits)


def activations(n):
    """n times x * Sigmoid(x) with a product: patterns of several nodes that overlap."""
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes += [node("Sigmoid", [last], [f"s{i}"]), node("Mul", [last, f"s{i}"], [f"m{i}"]),
                  node("Add", [f"m{i}", "w"], [f"a{i}"])]
        last = f"a{i}"
    return plain(nodes + [end(last)], [W])


def sizes(n):
    """Arithmetic on dimensions: n times Shape, Gather, Mul, Concat, Reshape."""
    inits = [tensor("zero", INT64, [1], longs(0)), tensor("four", INT64, [1], longs(4)),
             tensor("all", INT64, [1], longs(-1))]
    nodes, last = [], "x"
    for i in range(n // 5):
        nodes += [node("Shape", [last], [f"s{i}"]), node("Gather", [f"s{i}", "zero"], [f"d{i}"]),
                  node("Concat", [f"d{i}", "four"], [f"c{i}"], a_int("axis", 0)),
                  node("Reshape", [last, f"c{i}"], [f"r{i}"]), node("Exp", [f"r{i}"], [f"t{i}"])]
        last = f"t{i}"
    return plain(nodes + [end(last)], inits)


def symbols(n):
    """n inputs with n symbolic dimensions, all concatenated."""
    ins = [value(f"x{i}", FLOAT, (f"N{i}", 4)) for i in range(n)]
    return plain([node("Concat", [f"x{i}" for i in range(n)], ["y"], a_int("axis", 0))], ins=ins,
                 outs=[value("y", FLOAT, (None, 4))])


def huge(n):
    """Dimensions of 2^31 - 1 and more, through n operators."""
    ins = [value("x", FLOAT, (2**31 - 1, 2**31 - 1))]
    nodes = [node("Concat", [f"t{i - 1}" if i else "x"] * 2, [f"t{i}"], a_int("axis", i % 2))
             for i in range(n)]
    return plain(nodes + [node("Exp", [f"t{n - 1}"], ["y"])], ins=ins,
                 outs=[value("y", FLOAT, (None, None))])


def sequence(n):
    """A sequence to which n elements are added, each read again."""
    nodes = [node("SequenceEmpty", [], ["s0"])]
    nodes += [node("SequenceInsert", [f"s{i}", "x"], [f"s{i + 1}"]) for i in range(n)]
    nodes += [node("ConcatFromSequence", [f"s{n}"], ["y"], a_int("axis", 0))]
    return plain(nodes)


def claims(n):
    """value_info for n values, twice as many as there are."""
    nodes = [node("Exp", [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(n // 2)]
    infos = [value(f"t{i}", FLOAT, ("N", 4)) for i in range(n)]
    return plain(nodes + [end(f"t{n // 2 - 1}")], infos=infos)


def unknown(n):
    """n operators of an unknown domain, with attributes."""
    nodes = [node("Op", [f"t{i - 1}" if i else "x"], [f"t{i}"], a_int("a", i), a_text("b", "c"),
                  domain="acme") for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")], opsets=(("", 17), ("acme", 1)))


def dead(n):
    """n nodes whose results are unused."""
    nodes = [node("Exp", [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [node("Neg", ["x"], ["y"])])


def slices(n):
    """n parts of one value, concatenated again."""
    inits = [tensor(f"c{i}", INT64, [1], longs(i)) for i in range(n + 1)]
    inits.append(tensor("axis", INT64, [1], longs(1)))
    nodes = [node("Slice", ["x", f"c{i}", f"c{i + 1}", "axis"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [node("Concat", [f"t{i}" for i in range(n)], ["y"], a_int("axis", 1))],
                 inits, ins=(value("x", FLOAT, ("N", n)),), outs=(value("y", FLOAT, ("N", n)),))


def attributes(n):
    """One node with n attributes, one with a list of n integers."""
    return plain([node("Op", ["x"], ["t"], *(a_int(f"a{i}", i) for i in range(n)), domain="acme"),
                  node("Op", ["t"], ["y"], a_ints("v", *range(n)), domain="acme")],
                 opsets=(("", 17), ("acme", 1)))


def bodies(n):
    """n functions with branches, each called once."""
    fs, nodes = [], []
    for i in range(n):
        arms = [a_graph(which, graph([node(op, ["a"], [which[0]])], [], [],
                                     [value(which[0], FLOAT, ("N", 4))], name=which))
                for which, op in (("then_branch", "Exp"), ("else_branch", "Neg"))]
        fs.append(function(f"F{i}", ["a", "c"], ["b"], [node("If", ["c"], ["b"], *arms)]))
        nodes.append(node(f"F{i}", [f"t{i - 1}" if i else "x", "c"], [f"t{i}"], domain="d"))
    return plain(nodes + [end(f"t{n - 1}")], more=b"".join(fs), ins=(X, value("c", BOOL, ())),
                 opsets=(("", 17), ("d", 1)))


def invariants(n):
    """A Loop with a chain of n nodes that do not depend on the iteration."""
    nodes = [node("Exp", [f"e{i - 1}" if i else "x"], [f"e{i}"]) for i in range(n)]
    body = graph([node("Identity", ["go"], ["on"])] + nodes + [node("Add", ["s", f"e{n - 1}"], ["v"])],
                 [], [value("i", INT64, ()), value("go", BOOL, ()), value("s", FLOAT, ("N", 4))],
                 [value("on", BOOL, ()), value("v", FLOAT, ("N", 4))], name="b")
    return plain([node("Loop", ["m", "c", "x"], ["y"], a_graph("body", body))],
                 ins=(X, value("c", BOOL, ()), value("m", INT64, ())))


def errors(n):
    """n nodes that `check` finds an error in, with different texts."""
    nodes = [node("Softmax", [f"t{i - 1}" if i else "x"], [f"t{i}"], a_int("axis", 2 + i))
             for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")])


def kinds(n):
    """n operators of an unknown domain, all different: none has a replacement."""
    nodes = [node(f"Op{i}", ["x"], [f"t{i}"], domain="acme") for i in range(n)]
    return plain(nodes + [node("Sum", [f"t{i}" for i in range(n)], ["y"])],
                 opsets=(("", 17), ("acme", 1)))


def replaced(n):
    """n operators that older engines lack and that have replacements."""
    ops = ["HardSwish", "Mish", "Celu", "ThresholdedRelu"]
    nodes = [node(ops[i % 4], [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(n)]
    return plain(nodes + [end(f"t{n - 1}")], opsets=(("", 18),))


def believed(n):
    """n custom operators whose results have declared shapes; every second reader contradicts one."""
    nodes, infos = [], []
    for i in range(n):
        nodes += [node("Op", ["x"], [f"u{i}"], domain="acme"), node("MatMul", [f"u{i}", "w"], [f"v{i}"])]
        infos.append(value(f"u{i}", FLOAT, (3, 4 + i % 2)))
    return plain(nodes + [node("Sum", [f"v{i}" for i in range(n)], ["y"])], [W], infos=infos,
                 opsets=(("", 17), ("acme", 1)))


def changed_branches(n):
    """n Ifs with branches that rules and folding change: each product by 1 and constant sum."""
    nodes = []
    for i in range(n):
        last, arms = f"t{i - 1}" if i else "x", []
        for which, op in (("then_branch", "Exp"), ("else_branch", "Neg")):
            k = which[0]
            body = [node("Mul", [last, "one"], [f"{k}m{i}"]), node("Add", ["one", "one"], [f"{k}c{i}"]),
                    node(op, [f"{k}m{i}"], [f"{k}e{i}"]), node("Add", [f"{k}e{i}", f"{k}c{i}"], [f"{k}{i}"])]
            arms.append(a_graph(which, graph(body, [], [], [value(f"{k}{i}", FLOAT, ("N", 4))], name=which)))
        nodes.append(node("If", ["c"], [f"t{i}"], *arms))
    return plain(nodes + [end(f"t{n - 1}")], [tensor("one", FLOAT, [], floats(1))],
                 ins=(X, value("c", BOOL, ())))


def known_branches(n):
    """n Ifs with a constant condition."""
    return plain(if_nodes(n) + [end(f"t{n - 1}")], [tensor("c", BOOL, [], b"\1")])


def failing_branches(n):
    """n Ifs with conditions of their own, of which one branch leads to an error: a Gemm
    accepts only the rank of the other."""
    nodes = []
    for i in range(n):
        last = f"t{i - 1}" if i else "x"
        arms = [a_graph("then_branch", graph([node("Unsqueeze", [last, "axis"], [f"h{i}"])], [], [],
                                             [value(f"h{i}", FLOAT, (None, None, None))], name="t")),
                a_graph("else_branch", graph([node("Identity", [last], [f"e{i}"])], [], [],
                                             [value(f"e{i}", FLOAT, (None, None))], name="e"))]
        nodes += [node("If", [f"c{i}"], [f"r{i}"], *arms), node("Gemm", [f"r{i}", "w"], [f"t{i}"])]
    return plain(nodes + [end(f"t{n - 1}")], [tensor("w", FLOAT, [4, 4], floats(*range(16))),
                                             tensor("axis", INT64, [1], longs(0))],
                 ins=(X, *(value(f"c{i}", BOOL, ()) for i in range(n))))


def changed_bodies(n):
    """n / 8 functions with nodes that rules and folding change, each called once in a Loop."""
    fs, nodes = [], []
    for i in range(n // 8):
        fs.append(function(f"F{i}", ["a"], ["b"], [
            node("Constant", [], ["k"], a_float("value_float", 1.0)), node("Mul", ["a", "k"], ["m"]),
            node("Add", ["k", "k"], ["s"]), node("Exp", ["m"], ["e"]), node("Add", ["e", "s"], ["b"])]))
        body = graph([node("Identity", ["go"], ["on"]), node(f"F{i}", ["s"], ["u"], domain="d"),
                      node("Mul", ["u", "one"], ["v"])], [],
                     [value("i", INT64, ()), value("go", BOOL, ()), value("s", FLOAT, ("N", 4))],
                     [value("on", BOOL, ()), value("v", FLOAT, ("N", 4))], name="b")
        nodes.append(node("Loop", ["m", "c", f"t{i - 1}" if i else "x"], [f"t{i}"], a_graph("body", body)))
    return plain(nodes + [end(f"t{n // 8 - 1}")], [tensor("one", FLOAT, [], floats(1))], more=b"".join(fs),
                 ins=(X, value("c", BOOL, ()), value("m", INT64, ())), opsets=(("", 17), ("d", 1)))


SHAPES = [chain, backwards, star, fan_in, same_input, grid, halves, branches, namesakes, loops, calls, functions,
          same_names, taken_names, equal_nodes, equal_weights, constants, moves, rules, activations,
          sizes, symbols, huge, sequence, claims, unknown, dead, slices, attributes,
          bodies, invariants, errors, kinds, replaced, believed, changed_branches, known_branches,
          failing_branches, changed_bodies]
