# SPDX-License-Identifier: Apache-2.0
"""Families of models of ONNX's own operators: each is a function that draws one with a generator of random numbers."""
from onnx import helper
from build import (BF16, BOOL, E4M3, E5M2, F, F16, F64, Graph, I4, I8, I32, I64, STR, U4, U8, model, opt, seq,
                   tensor)

IR_OF = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10,
         23: 11, 24: 11}


HIGHEST = [24]  # opset of the models


def versions(rng, low=7, high=24, **domains):
    """(opsets, IR version): that of the release of the opset, or another one."""
    opset = rng.randint(low, max(low, min(high, HIGHEST[0])))
    ir = IR_OF[opset] if rng.random() < 0.6 else rng.randint(max(3, IR_OF[opset] - 2), min(11, IR_OF[opset] + 3))
    return {"": opset, **{d.replace("_", "."): v for d, v in domains.items()}}, ir


def maybe(rng, name, chance=0.5):
    return name if rng.random() < chance else ""


def squeeze(g, opset, x, axes):
    return g.op("Squeeze", [x], axes=axes) if opset < 13 else g.op("Squeeze", [x, g.ints(*axes)])


def unsqueeze(g, opset, x, axes):
    return g.op("Unsqueeze", [x], axes=axes) if opset < 13 else g.op("Unsqueeze", [x, g.ints(*axes)])


def reduce(g, opset, op, x, axes, keepdims=1):
    first = 13 if op == "ReduceSum" else 18
    if opset < first:
        return g.op(op, [x], axes=axes, keepdims=keepdims)
    return g.op(op, [x, g.ints(*axes)], keepdims=keepdims)


def slice_of(g, opset, x, starts, ends, axes):
    if opset < 10:
        return g.op("Slice", [x], starts=starts, ends=ends, axes=axes)
    return g.op("Slice", [x, g.ints(*starts), g.ints(*ends), g.ints(*axes)])


def pad(g, opset, x, pads, mode="constant"):
    if opset < 11:
        return g.op("Pad", [x], pads=pads, mode=mode)
    return g.op("Pad", [x, g.ints(*pads)], mode=mode)


def clip(g, opset, x, low, high):
    if opset < 11:
        return g.op("Clip", [x], min=low, max=high)
    return g.op("Clip", [x, g.scalar(F, low), g.scalar(F, high)])


def recurrent(rng):
    """Embedding, one or two recurrent layers with lengths, attention over time or the last state, a head."""
    opsets, ir = versions(rng, 7, 22)
    o, g = opsets[""], Graph(rng)
    n, t, h = rng.choice(("N", 2)), rng.choice(("T", 5)), rng.choice((3, 4))
    ids = g.input(I64, [t, n])
    lengths = g.input(I32, [n]) if rng.random() < 0.6 else ""
    x = g.op("Gather", [g.weight(F, [20, 6]), ids])
    width = 6
    for _ in range(rng.choice((1, 2))):
        op, gates = rng.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
        both = rng.random() < 0.4
        d = 2 if both else 1
        attrs = {"hidden_size": h, "direction": "bidirectional" if both else rng.choice(("forward", "reverse", None))}
        if op == "GRU" and rng.random() < 0.5:
            attrs["linear_before_reset"] = 1
        if rng.random() < 0.3:
            attrs["clip"] = 3.0
        if rng.random() < 0.3:
            names = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Relu"]}[op]
            attrs["activations"] = names * d
        if op == "LSTM" and rng.random() < 0.3:
            attrs["input_forget"] = 1
        ins = [x, g.weight(F, [d, gates * h, width]), g.weight(F, [d, gates * h, h]),
               g.weight(F, [d, 2 * gates * h]) if rng.random() < 0.8 else "", lengths]
        if n == 2 and rng.random() < 0.5:
            ins.append(g.weight(F, [d, 2, h]))
            if op == "LSTM":
                ins.append(g.weight(F, [d, 2, h]))
                if rng.random() < 0.5:
                    ins.append(g.weight(F, [d, 3 * h]))
        y, last = g.op(op, ins, 2, **attrs)
        x = g.op("Transpose", [y], perm=[0, 2, 1, 3])
        x = g.op("Reshape", [x, g.ints(0, 0, d * h)])
        width = d * h
    if rng.random() < 0.5:
        scores = g.op("Softmax", [g.op("MatMul", [x, g.weight(F, [width, 1])])], axis=0 if o > 12 else 2)
        x = reduce(g, o, "ReduceSum", g.op("Mul", [x, scores]), [0], 0)
    else:
        x = g.op("Concat", [slice_of(g, o, last, [i], [i + 1], [0]) for i in range(d)], axis=2)
        x = squeeze(g, o, x, [0])
    y = g.op("Gemm", [x, g.weight(F, [3, width]), g.weight(F, [3])], transB=1)
    g.output(y, *((F, [n, 3]) if rng.random() < 0.5 else ()))
    if rng.random() < 0.4:
        g.output(last)
    return model(g, opsets, ir)


def convolution(rng):
    """A small classifier or segmentation net, with the spellings of its opset."""
    opsets, ir = versions(rng, 7, 22)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, [rng.choice(("N", 1)), 3, rng.choice((8, "H")), rng.choice((8, "W"))])
    for c in ((3, 4), (4, 4)):
        groups = rng.choice((1, c[0] if c[1] % c[0] == 0 else 1))
        kernel = rng.choice((1, 3))
        attrs = rng.choice(({"pads": [kernel // 2] * 4}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}))
        x = g.op("Conv", [x, g.weight(F, [c[1], c[0] // groups, kernel, kernel])] + (
            [g.weight(F, [c[1]])] if rng.random() < 0.6 else []), group=groups, kernel_shape=rng.choice(
                (None, [kernel] * 2)), **attrs)
        if rng.random() < 0.6:
            x = g.op("BatchNormalization", [x] + [g.weight(F, [c[1]], [1.0] * c[1]) for _ in range(4)],
                     epsilon=1e-3, momentum=rng.choice((None, 0.9)))
        act = rng.choice(("Relu", "LeakyRelu", "PRelu", "Clip", "HardSwish", "Elu", "Mish", "Gelu", "Swish", "HardSigmoid"))
        if act == "PRelu":
            x = g.op("PRelu", [x, g.weight(F, [c[1], 1, 1])])
        elif act == "Clip":
            x = clip(g, o, x, 0.0, 6.0)
        else:
            x = g.op({"HardSwish": o < 14, "Mish": o < 18, "Gelu": o < 20, "Swish": o < 24}.get(act) and "Relu" or act, [x])
    kind = rng.randrange(4)
    if kind == 0:
        x = g.op(rng.choice(("MaxPool", "AveragePool")), [x], kernel_shape=[2, 2], strides=[2, 2],
                 ceil_mode=rng.choice((None, 1)) if o > 9 else None)
        x = g.op("GlobalAveragePool", [x])
        x = g.op("Flatten", [x])
        x = g.op("Gemm", [x, g.weight(F, [4, 5]), g.weight(F, [5])])
        x = g.op("Softmax", [x], axis=1)
    elif kind == 1:
        if o < 9:
            x = g.op("Upsample", [x], scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
        elif o == 9:
            x = g.op("Upsample", [x, g.weight(F, [4], [1, 1, 2, 2])], mode="linear")
        elif o == 10:
            x = g.op("Resize", [x, g.weight(F, [4], [1, 1, 2, 2])], mode="linear")
        else:
            x = g.op("Resize", [x, "" if o > 12 else g.weight(F, [0], []), g.weight(F, [4], [1, 1, 2, 2])], mode=rng.choice((
                "nearest", "linear", "cubic")), coordinate_transformation_mode=rng.choice((
                    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")),
                nearest_mode=rng.choice((None, "floor")), antialias=1 if o > 17 and rng.random() < 0.2 else None)
        x = g.op("ArgMax", [x], axis=1)
    elif kind == 2:
        x = g.op("ConvTranspose", [x, g.weight(F, [4, 2, 3, 3])], strides=[2, 2], output_padding=[1, 1], pads=[1] * 4)
        x = pad(g, o, x, [0, 0, 1, 1, 0, 0, 1, 1], rng.choice(("constant", "reflect", "edge")))
    else:
        y, where = g.op("MaxPool", [x], 2, kernel_shape=[2, 2], strides=[2, 2])
        x = g.op("MaxUnpool", [y, where], kernel_shape=[2, 2], strides=[2, 2]) if o > 8 else y
        x = g.op("InstanceNormalization", [x, g.weight(F, [4]), g.weight(F, [4])])
    g.output(x)
    return model(g, opsets, ir)


def shapes(rng):
    """Shape arithmetic of exporters: heads split and merged, masks, positions, padded sequences."""
    opsets, ir = versions(rng, 9, 24)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, [rng.choice(("batch", "N", None)), rng.choice(("seq", None)), 8])
    size = g.op("Shape", [x])
    dim = [unsqueeze(g, o, g.op("Gather", [size, g.scalar(I64, i)], axis=0), [0]) for i in range(2)]
    heads = g.op("Reshape", [x, g.op("Concat", [dim[0], dim[1], g.ints(2), g.ints(4)], axis=0)])
    heads = g.op("Transpose", [heads], perm=[0, 2, 1, 3])
    n = squeeze(g, o, dim[1], [0])
    if o >= 11 and rng.random() < 0.7:
        steps = g.op("Range", [g.scalar(I64, 0), n, g.scalar(I64, 1)])
        mask = g.op("Less" if o < 12 else rng.choice(("Less", "GreaterOrEqual")), [
            unsqueeze(g, o, steps, [0]), unsqueeze(g, o, steps, [1])])
    else:
        mask = g.op("Cast", [g.op("ConstantOfShape", [g.op("Concat", dim[1:] * 2, axis=0)],
                                  value=tensor("", F, [1], [1.0]))], to=BOOL)
        if o > 13:
            mask = g.op("Trilu", [mask], upper=0)
    scores = g.op("MatMul", [heads, g.op("Transpose", [heads], perm=[0, 1, 3, 2])])
    scores = g.op("Where", [mask, scores, g.scalar(F, -1e9)])
    y = g.op("MatMul", [g.op("Softmax", [scores], axis=3), heads])
    y = g.op("Reshape", [g.op("Transpose", [y], perm=[0, 2, 1, 3]), g.op("Concat", [dim[0], dim[1], g.ints(-1)], axis=0)])
    kind = rng.randrange(5)
    if kind == 0:
        y = g.op("Expand", [unsqueeze(g, o, y, [1]), g.op("Concat", [dim[0], g.ints(3), dim[1], g.ints(8)], axis=0)])
    elif kind == 1:
        half = g.op("Div", [dim[1], g.ints(2)])
        y = g.op("Slice", [y, g.ints(0), half, g.ints(1)]) if o > 9 else y
    elif kind == 2:
        y = g.op("Tile", [y, g.op("Concat", [g.ints(1), g.ints(2), g.ints(1)], axis=0)])
    elif kind == 3 and o > 10:
        rows = g.op("NonZero", [g.op("Greater", [y, g.scalar(F, 0.0)])])
        y = g.op("GatherND", [y, g.op("Transpose", [rows], perm=[1, 0])])
        y = g.op("CumSum", [y, g.scalar(I64, 0)], exclusive=rng.choice((None, 1)))
    elif kind == 4 and o > 10:
        y = g.op("ScatterND", [y, g.weight(I64, [1, 1], [0]), g.op("Gather", [y, g.ints(0)], axis=0)],
                 reduction="add" if o > 15 and rng.random() < 0.5 else None)
    g.output(y)
    if rng.random() < 0.3:
        g.output(g.op("Size", [y]), I64, [])
    return model(g, opsets, ir)


def control(rng):
    """If in Loop in Scan, with values read from outside, at any opset that has them."""
    opsets, ir = versions(rng, 9, 23)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, [rng.choice(("T", 4)), 3])
    w = g.weight(F, [3])
    kind = rng.randrange(4)
    if kind in (0, 3):
        body = g.sub()
        i, c = body.input(I64, []), body.input(BOOL, [])
        s = body.input(F, [3] if rng.random() < 0.6 else None)
        odd = body.op("Cast", [body.op("Mod", [i, body.scalar(I64, 2)])], to=BOOL) if o > 9 else c
        yes, no = body.sub(), body.sub()
        yes.output(yes.op("Add", [s, w]), *((F, [3]) if rng.random() < 0.5 else (F, None)))
        no.output(no.op("Mul", [s, w]), *((F, [3]) if rng.random() < 0.5 else (F, None)))
        new = body.op("If", [odd], then_branch=yes, else_branch=no)
        body.output(body.op("Identity", [c]), BOOL, [])
        body.output(new, F, [3])
        if rng.random() < 0.6:
            body.output(body.op("Mul", [new, w]), F, [3])
        trip = g.input(I64, []) if rng.random() < 0.4 else g.scalar(I64, 3)
        start = g.op("ReduceMean", [x], axes=[0], keepdims=0) if o < 18 else g.op("ReduceMean", [x, g.ints(0)], keepdims=0)
        outs = g.op("Loop", [trip, rng.choice(("", g.scalar(BOOL, True))), start], len(body.outputs) - 1, body=body)
        outs = [outs] if isinstance(outs, str) else outs
        for y in outs:
            g.output(y, *((F, None) if rng.random() < 0.5 else ()))
    if kind in (1, 3):
        body = g.sub()
        s, e = body.input(F, [3]), body.input(F, [3])
        t = body.op("Add", [body.op("Mul", [s, w]), e])
        if rng.random() < 0.5:
            yes, no = body.sub(), body.sub()
            yes.output(yes.op("Relu", [t]), F, [3])
            no.output(no.op("Neg", [e]), F, [3])
            t = body.op("If", [body.op("Greater", [body.op("ReduceMax", [s], keepdims=0), body.scalar(F, 0.0)])],
                        then_branch=yes, else_branch=no)
        body.output(t, F, [3])
        body.output(body.op("Identity", [t]), F, [3])
        last, ys = g.op("Scan", [g.weight(F, [3]), x], 2, body=body, num_scan_inputs=1, scan_input_directions=rng.choice(
            (None, [1])), scan_output_axes=rng.choice((None, [1], [-1])))
        g.output(ys, F, None)
        g.output(last)
    if kind == 2:
        yes, no = g.sub(), g.sub()
        a = yes.op("Relu", [x])
        b = no.op("Mul", [x, w])
        inner, other = no.sub(), no.sub()
        inner.output(inner.op("Neg", [b]), F, None)
        other.output(other.op("Add", [b, x]), F, None)
        c = no.op("If", [g.op("Not", [g.input(BOOL, [], "flag")])], then_branch=inner, else_branch=other)
        yes.output(a, F, [None, 3] if rng.random() < 0.5 else None)
        no.output(c, F, None)
        g.output(g.op("If", ["flag"], then_branch=yes, else_branch=no), *rng.choice(((), (F, None), (F, ["K", 3]))))
    return model(g, opsets, ir)


def sequences(rng):
    """Sequences and optionals: made, taken apart, mapped, carried by loops, given by branches."""
    opsets, ir = versions(rng, 11, 22)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, [rng.choice(("N", 4)), 3])
    kind = rng.randrange(6)
    if kind == 0:
        s = g.op("SplitToSequence", [x] + ([g.ints(1, 3)] if rng.random() < 0.5 else []), axis=0, keepdims=rng.choice((None, 1)))
        s = g.op("SequenceInsert", [s, g.weight(F, [2, 3])] + ([g.scalar(I64, 0)] if rng.random() < 0.5 else []))
        if rng.random() < 0.5:
            s = g.op("SequenceErase", [s, g.scalar(I64, 0)])
        g.output(g.op("ConcatFromSequence", [s], axis=0, new_axis=0))
        g.output(g.op("SequenceLength", [s]), I64, [])
    elif kind == 1:
        body = g.sub()
        body.input(I64, [])
        c = body.input(BOOL, [])
        s = body.input_of(seq(F, None))
        body.output(body.op("Identity", [c]), BOOL, [])
        body.output_of(body.op("SequenceInsert", [s, x]), seq(F, None))
        start = g.op("SequenceEmpty", [], dtype=rng.choice((None, F)))
        s = g.op("Loop", [g.scalar(I64, 2), "", start], body=body)
        if rng.random() < 0.5:
            g.output(g.op("SequenceAt", [s, g.scalar(I64, -1)]))
        else:
            g.output_of(s, seq(F, None))
    elif kind == 2 and o > 14:
        g.output(g.op("OptionalGetElement", [g.op("Optional", [x])]), F, None)
        e = g.input_of(opt(helper.make_tensor_type_proto(F, [2])))
        g.output(g.op("OptionalHasElement", [e]), BOOL, [])
    elif kind == 3 and o > 15:
        yes, no = g.sub(), g.sub()
        yes.output_of(yes.op("SequenceConstruct", [x, x]), seq(F, None))
        no.output_of(no.op("SequenceEmpty", []), seq(F, None))
        s = g.op("If", [g.input(BOOL, [])], then_branch=yes, else_branch=no)
        g.output(g.op("SequenceLength", [s]))
    elif kind == 4 and o > 16:
        body = g.sub()
        e = body.input(F, ["n", 3])
        body.output(body.op("Add", [body.op("Relu", [e]), x]), F, None)
        s = g.input_of(seq(F, ["n", 3]))
        g.output_of(g.op("SequenceMap", [s], body=body), seq(F, None))
    else:
        s = g.op("SequenceConstruct", [x, g.op("Relu", [x]), g.weight(F, [1, 3])])
        y = g.op("SequenceAt", [s, g.input(I64, [])])
        g.output(y, *((F, None) if rng.random() < 0.5 else ()))
        t = g.input_of(seq(I64, None))
        g.output(g.op("SequenceAt", [t, g.scalar(I64, 0)]), I64, None)
    return model(g, opsets, ir)


def strings(rng):
    """Text: normalized, compared, split, looked up, cast."""
    opsets, ir = versions(rng, 10, 22, ai_onnx_ml=rng.choice((2, 3)))
    o, g = opsets[""], Graph(rng)
    x = g.input(STR, rng.choice(([1, 3], ["N"], [4])))
    rank = len(g.inputs[0].type.tensor_type.shape.dim)
    kind = rng.randrange(7)
    if kind == 0:
        y = g.op("StringNormalizer", [x], case_change_action=rng.choice(("LOWER", "UPPER", "NONE")),
                 is_case_sensitive=rng.choice((None, 0, 1)), stopwords=rng.choice((None, ["a", "Dog"])))
        g.output(y)
    elif kind == 1:
        y = g.op("TfIdfVectorizer", [x], mode=rng.choice(("TF", "IDF", "TFIDF")), min_gram_length=1, max_gram_length=2,
                 max_skip_count=rng.choice((0, 1)), ngram_counts=[0, 2], ngram_indexes=[0, 1, 2],
                 pool_strings=["a", "cat", "a", "cat"], weights=rng.choice((None, [1.0, 2.0, 3.0])))
        g.output(y)
    elif kind == 2 and o >= 13:
        y = g.op("Where", [g.op("Equal", [x, g.weight(STR, [1], ["cat"])] if o > 18 else [x, x]) if o > 18 else g.input(
            BOOL, [1]), x, g.weight(STR, [1], ["?"])])
        g.output(y, STR, None)
    elif kind == 3 and o >= 20:
        parts, count = g.op("StringSplit", [x], 2, delimiter=rng.choice((None, " ", ",")), maxsplit=rng.choice((None, 1)))
        g.output(g.op("StringConcat", [parts, g.weight(STR, [1], ["!"])]))
        g.output(count)
        g.output(g.op("RegexFullMatch", [x], pattern=rng.choice(("[a-z]+", "a.*", "\\d+"))))
    elif kind == 4:
        y = g.ml("LabelEncoder", [x], keys_strings=["a", "cat"], values_int64s=[1, 2], default_int64=rng.choice((None, -1)))
        y = g.op("Cast", [y], to=F)
        g.output(g.op("Cast", [y], to=STR), STR, None)
    elif kind == 5:
        y = g.ml("OneHotEncoder", [x], cats_strings=["a", "cat", "Dog"], zeros=rng.choice((None, 0, 1)))
        g.output(g.op("ReduceSum", [y] + ([g.ints(-1)] if o > 12 else []), axes=[rank] if o < 13 else None, keepdims=0))
    else:
        y = g.op("Gather", [g.op("Concat", [x, x], axis=0), g.ints(1, 0)], axis=0)
        g.output(g.op("Reshape", [y, g.ints(-1)]), STR, None)
        u = g.op("Cast", [g.op("Cast", [g.weight(STR, [2], ["1", "2.5"])], to=F)], to=I32)
        g.output(u)
    return model(g, opsets, ir)


def training(rng):
    """What training leaves behind: losses, dropout and normalization in training mode, optimizers."""
    opsets, ir = versions(rng, 7, 22)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, ["N", 4])
    y = g.op("MatMul", [x, g.weight(F, [4, 3])])
    if o < 12:
        y = g.op("Dropout", [y], ratio=0.3)
    else:
        y, mask = g.op("Dropout", [y, g.scalar(F, 0.3)] + ([g.scalar(BOOL, False)] if rng.random() < 0.5 else []), 2,
                       seed=rng.choice((None, 1)))
        if rng.random() < 0.5:
            g.output(mask)
    ws = [g.weight(F, [3]) for _ in range(4)]
    if o > 13 and rng.random() < 0.5:
        y, *_ = g.op("BatchNormalization", [y] + ws, 3, training_mode=1)
    else:
        y = g.op("BatchNormalization", [y] + ws, spatial=1 if o < 9 and rng.random() < 0.5 else None)
    kind = rng.randrange(4)
    label = g.input(I64, ["N"])
    if kind == 0 and o > 11:
        loss, logs = g.op("SoftmaxCrossEntropyLoss", [y, label] + ([g.weight(F, [3])] if rng.random() < 0.5 else []), 2,
                          reduction=rng.choice((None, "sum", "none", "mean")), ignore_index=rng.choice((None, -1)))
        g.output(loss)
        g.output(logs)
    elif kind == 1 and o > 11:
        g.output(g.op("NegativeLogLikelihoodLoss", [g.op("LogSoftmax", [y], axis=1), label], reduction=rng.choice((
            "sum", "mean", "none"))))
    elif kind == 2:
        picked = g.op("OneHot", [label, g.scalar(I64, 3), g.weight(F, [2], [0.0, 1.0])], axis=-1) if o > 8 else y
        g.output(reduce(g, o, "ReduceMean", g.op("Mul", [picked, y]), [1], 0))
    else:
        g.output(y)
    if ir > 6 and rng.random() < 0.3:
        m = model(g, opsets, ir)
        m.training_info.add().initialization_binding.add(key=ws[0], value=ws[0])
        return m
    return model(g, opsets, ir)


def blocks(rng):
    """Weights of 4 and 8 bits by block, floats of 8 bits, as quantizers write them."""
    opsets, ir = versions(rng, 19, 24)
    o, g = opsets[""], Graph(rng)
    ir = max(ir, 9 if o < 21 else 10)
    x = g.input(rng.choice((F, F, F16)), ["N", 8])
    dtype = g.inputs[0].type.tensor_type.elem_type
    kind = rng.choice((U4, I4, U8, I8, E4M3, E5M2)) if o > 20 else rng.choice((U8, I8, E4M3, E5M2))
    if o > 20 and rng.random() < 0.6:
        w = g.op("DequantizeLinear", [g.weight(kind, [8, 6]), g.weight(dtype, [2, 6])] + (
            [g.weight(kind, [2, 6])] if rng.random() < 0.5 and kind not in (E4M3, E5M2) else []), axis=0, block_size=4)
    else:
        w = g.op("DequantizeLinear", [g.weight(kind, [8, 6]), g.weight(dtype, [6])] + (
            [g.weight(kind, [6])] if rng.random() < 0.5 and kind not in (E4M3, E5M2) else []), axis=1)
    y = g.op("MatMul", [x, w])
    act = rng.choice((U8, I8, E4M3)) if o < 21 else rng.choice((U8, I8, 4, 5, E4M3, I4))
    q = g.op("QuantizeLinear", [y, g.weight(dtype, [], [0.5]), g.weight(act, [], [0])], axis=rng.choice((None, 1, -1)),
             saturate=rng.choice((None, 0, 1)) if act == E4M3 else None)
    y = g.op("DequantizeLinear", [q, g.weight(dtype, [], [0.5]), g.weight(act, [], [0])])
    if rng.random() < 0.3:
        y = g.op("Cast", [g.op("Cast", [y], to=rng.choice((E4M3, E5M2, 18, 20)), saturate=rng.choice((None, 0)))], to=dtype)
    if o > 20 and rng.random() < 0.3:
        q = g.op("Gather", [g.weight(kind, [8, 6]), g.ints(1, 2)])
        g.output(g.op("Cast", [q], to=F))
    g.output(y, *rng.choice(((), (dtype, ["N", 6]))))
    return model(g, opsets, ir)


def newest(rng):
    """A decoder layer in the operators of opset 23 and 24."""
    opsets, ir = versions(rng, 23, 24)
    o, g = opsets[""], Graph(rng)
    ir = max(ir, 10)
    t = rng.choice((F, F, F16, BF16))
    x = g.input(t, [rng.choice(("N", 2)), rng.choice(("S", 4)), 8])

    def w(*dims):
        return g.weight(t, list(dims))
    y = g.op("RMSNormalization", [x, w(8)], axis=-1, epsilon=1e-5, stash_type=rng.choice((None, 1)))
    q, k, v = (g.op("MatMul", [y, w(8, n)]) for n in (8, 4, 4))
    if rng.random() < 0.6:
        cos, sin = w(16, 2), w(16, 2)
        ids = g.input(I64, [rng.choice(("N", 2)), rng.choice(("S", 4))])
        q = g.op("RotaryEmbedding", [q, cos, sin, ids], num_heads=2, interleaved=rng.choice((None, 1)))
        k = g.op("RotaryEmbedding", [k, cos, sin, ids], num_heads=1)
    ins, n = [q, k, v], 1
    if rng.random() < 0.4:
        ins += ["", g.input(t, ["N", 1, "P", 4]), g.input(t, ["N", 1, "P", 4])]
        n = 3
    a = g.op("Attention", ins, n, q_num_heads=2, kv_num_heads=1, is_causal=rng.choice((None, 1)),
             softcap=rng.choice((None, 2.0)), scale=rng.choice((None, 0.5)))
    if n == 3:
        a, pk, pv = a
        g.output(pk)
        g.output(pv)
    x = g.op("Add", [x, g.op("MatMul", [a, w(8, 8)])])
    h = g.op("MatMul", [x, w(8, 12)])
    h = g.op("Swish", [h]) if o > 23 else g.op("Mul", [h, g.op("Sigmoid", [h])])
    g.output(g.op("Add", [x, g.op("MatMul", [h, w(12, 8)])]), t, rng.choice((None, ["N", "S", 8])))
    if o > 23 and rng.random() < 0.4:
        g.output(g.op("TensorScatter", [g.input(F, [2, 6, 4]), g.input(F, [2, 2, 4]), g.input(I64, [2])], axis=1,
                      mode=rng.choice((None, "circular"))))
    return model(g, opsets, ir)


def halves(rng):
    """A network in bfloat16 or float16, with Casts where exporters leave them."""
    opsets, ir = versions(rng, 13, 24)
    o, g = opsets[""], Graph(rng)
    t = rng.choice((BF16, BF16, F16, F64))
    x = g.input(rng.choice((t, F)), ["N", 6])
    y = g.op("Cast", [x], to=t)
    y = g.op("MatMul", [y, g.weight(t, [6, 6])])
    for _ in range(2):
        op = rng.choice(("Relu", "Sigmoid", "Tanh", "Softmax", "Add", "Mul", "Max", "Where", "Concat", "Pow", "Exp", "ReduceMean"))
        if op in ("Add", "Mul", "Max", "Pow"):
            y = g.op(op, [y, g.weight(t, [6])])
        elif op == "Where":
            y = g.op(op, [g.weight(BOOL, [6]), y, g.weight(t, [])])
        elif op == "Concat":
            y = slice_of(g, o, g.op(op, [y, y], axis=1), [0], [6], [1])
        elif op == "ReduceMean":
            y = g.op("Sub", [y, reduce(g, o, op, y, [1])])
        else:
            y = g.op(op, [y])
    if o > 16 and rng.random() < 0.4:
        y = g.op("LayerNormalization", [y, g.weight(t, [6]), g.weight(t, [6])])
    g.output(g.op("Cast", [y], to=F) if rng.random() < 0.6 else y)
    return model(g, opsets, ir)


def detection(rng):
    """Boxes: decoded, the best ones, suppressed, gathered, pooled."""
    opsets, ir = versions(rng, 10, 22)
    o, g = opsets[""], Graph(rng)
    boxes, scores = g.input(F, [1, rng.choice(("K", 6)), 4]), g.input(F, [1, 2, rng.choice(("K", 6))])
    kind = rng.randrange(4)
    if kind == 0:
        kept = g.op("NonMaxSuppression", [boxes, scores] + [
            g.weight(*a) if rng.random() < 0.8 else "" for a in ((I64, [1], [3]), (F, [1], [0.5]), (F, [1], [0.1]))][:rng.randint(0, 3)],
            center_point_box=rng.choice((None, 1)))
        which = slice_of(g, o, kept, [2], [3], [1])
        picked = g.op("Gather", [squeeze(g, o, boxes, [0]), squeeze(g, o, which, [1])], axis=0)
        g.output(picked, F, rng.choice((None, ["M", 4])))
        g.output(kept)
    elif kind == 1:
        best, at = g.op("TopK", [scores, g.ints(2)], 2, axis=-1, largest=1 if o > 10 and rng.random() < 0.5 else None)
        g.output(best)
        if o > 10:
            g.output(g.op("GatherElements", [scores, at], axis=2))
    elif kind == 2:
        f = g.input(F, [1, 2, 8, 8])
        g.output(g.op("RoiAlign", [f, squeeze(g, o, boxes, [0]), g.input(I64, ["K"])], output_height=2, output_width=2,
                      sampling_ratio=2, spatial_scale=0.5, mode=rng.choice((None, "avg", "max")),
                      coordinate_transformation_mode="output_half_pixel" if o > 15 else None))
        if o > 15:
            g.output(g.op("GridSample", [f, g.input(F, [1, 3, 3, 2])], mode={True: "bilinear", False: "linear"}[o < 20],
                          padding_mode=rng.choice((None, "border", "reflection")), align_corners=rng.choice((None, 1))))
    else:
        a = g.op("Split", [boxes] + ([g.ints(2, 2)] if o > 12 else []), 2, axis=2, split=[2, 2] if o < 13 else None)
        c = g.op("Concat", [g.op("Sub", [a[0], g.op("Mul", [a[1], g.scalar(F, 0.5)])]), a[1]], axis=-1)
        g.output(g.op("Max", [c, g.scalar(F, 0.0)]))
        if o > 10:
            u = g.op("Unique", [g.op("ArgMax", [scores], axis=1)], [True, False, True][:rng.choice((1, 3))], sorted=1)
            g.output(u if isinstance(u, str) else u[0])
    return model(g, opsets, ir)


def integers(rng):
    """Quantized networks in ONNX's own operators, and arithmetic of integers."""
    opsets, ir = versions(rng, 10, 22)
    o, g = opsets[""], Graph(rng)
    kind = rng.randrange(4)
    a, b = rng.choice(((U8, U8), (U8, I8), (I8, I8)))
    if kind == 0:
        x = g.input(F, [1, 2, 5, 5])
        s, z = g.scalar(F, 0.1), g.scalar(a, 3)
        q = g.op("QuantizeLinear", [x, s, z])
        q = g.op("QLinearConv", [q, s, z, g.weight(b, [4, 2, 3, 3]), g.weight(F, [4] if o > 9 else []), g.weight(b, [4], [0] * 4),
                                 s, z] + ([g.weight(I32, [4])] if rng.random() < 0.5 else []), pads=[1] * 4)
        g.output(g.op("DequantizeLinear", [q, s, z]), F, None)
    elif kind == 1 and o > 10:
        x = g.input(F, ["N", 6])
        q, s, z = g.op("DynamicQuantizeLinear", [x], 3)
        y = g.op("MatMulInteger", [q, g.weight(b, [6, 4]), z] + ([g.weight(b, [])] if rng.random() < 0.5 else []))
        g.output(g.op("Mul", [g.op("Cast", [y], to=F), g.op("Mul", [s, g.weight(F, [4])])]))
    elif kind == 2:
        x = g.input(a, ["N", 6])
        s, z = g.scalar(F, 0.1), g.scalar(a, 3)
        g.output(g.op("QLinearMatMul", [x, s, z, g.weight(b, [6, 4]), g.scalar(F, 0.2), g.scalar(b, 1), s, z]))
    else:
        t = rng.choice((I32, I64, U8, I8))
        x = g.input(t, [3, 4])
        y = g.op("Mod", [x, g.weight(t, [4], [2, 3, 2, 3])], fmod=rng.choice((None, 1)))
        if o > 17:
            y = g.op(rng.choice(("BitwiseAnd", "BitwiseXor", "BitwiseOr")), [y, g.weight(t, [4])])
        if o > 10 and t == U8:
            y = g.op("BitShift", [y, g.weight(t, [4])], direction=rng.choice(("LEFT", "RIGHT")))
        y = g.op("Cast", [y], to=I32)
        g.output(g.op("ReduceSum", [y] + ([g.ints(0)] if o > 12 else []), axes=[0] if o < 13 else None))
    return model(g, opsets, ir)


def signals(rng):
    """Spectra and windows, random numbers, sparse and other constants, rare operators."""
    opsets, ir = versions(rng, 17, 22)
    o, g = opsets[""], Graph(rng)
    kind = rng.randrange(7)
    if kind == 0:
        x = g.input(F, [1, 32])
        w = g.op(rng.choice(("HannWindow", "HammingWindow", "BlackmanWindow")), [g.scalar(I64, 8)], periodic=rng.choice((None, 0)))
        g.output(g.op("STFT", [x, g.scalar(I64, 4), w, g.scalar(I64, 8)], onesided=rng.choice((None, 1))))
    elif kind == 1:
        x = g.input(F, [1, 8, 1])
        ins = [x] + ([g.scalar(I64, 8)] if rng.random() < 0.5 else [])
        if o > 19:
            ins += ([""] if len(ins) == 1 else []) + [g.scalar(I64, 1)]
        g.output(g.op("DFT", ins, axis=1 if o < 20 else None, onesided=rng.choice((None, 1))))
        g.output(g.op("MelWeightMatrix", [g.scalar(I64, 4), g.scalar(I64, 16), g.scalar(I64, 8000), g.scalar(F, 10.0),
                                          g.scalar(F, 3000.0)]))
    elif kind == 2:
        x = g.input(F, ["N", 3])
        g.output(g.op("Add", [x, g.op(rng.choice(("RandomNormalLike", "RandomUniformLike")), [x], seed=1.0)]))
        g.output(g.op("Bernoulli", [g.op("Sigmoid", [x])], dtype=rng.choice((None, BOOL, F))))
        g.output(g.op("Multinomial", [x], sample_size=2, dtype=rng.choice((None, I64))))
    elif kind == 3:
        x = g.input(F, [2, 3, 3])
        g.output(g.op("Einsum", [x, x], equation=rng.choice(("bij,bjk->bik", "bij,bij->b", "...ij,...jk", "bii,bij->j"))))
        g.output(g.op("Det", [x]))
        g.output(g.op("LpNormalization", [x], axis=-1, p=rng.choice((1, 2))))
        g.output(g.op("Hardmax", [x], axis=1))
    elif kind == 4:
        x = g.input(F, ["N"])
        for key, value in (("value_float", 1.5), ("value_floats", [1.0, 2.0]), ("value_int", 3), ("value_ints", [1, 2])):
            c = g.op("Constant", [], **{key: value})
            g.output(c if rng.random() < 0.5 else g.op("Cast", [c], to=F))
        g.output(g.op("Mul", [x, g.op("Constant", [], value_float=2.0)]))
    elif kind == 5 and o > 17:
        x = g.input(F, [1, 8, 4])
        g.output(g.op("Col2Im", [x, g.ints(4, 4), g.ints(2, 2)], strides=[2, 2]))
        g.output(g.op("CenterCropPad", [x, g.ints(6, 6)], axes=rng.choice((None, [1, 2])) or [0, 1]))
        g.output(g.op("GroupNormalization", [x, *(g.weight(F, [2 if o < 21 else 8]) for _ in range(2))], num_groups=2))
    else:
        x = g.input(F, [2, 3, 4, 4])
        theta = g.input(F, [2, 2, 3])
        if o > 19:
            grid = g.op("AffineGrid", [theta, g.ints(2, 3, 4, 4)], align_corners=rng.choice((None, 1)))
            g.output(g.op("GridSample", [x, grid]))
        g.output(g.op("MeanVarianceNormalization", [x], axes=rng.choice((None, [0, 2, 3]))))
        g.output(g.op("LRN", [x], size=3))
        g.output(g.op("GlobalLpPool", [x], p=2))
    return model(g, opsets, ir)


FAMILIES = [recurrent, convolution, shapes, control, sequences, strings, training, blocks, newest, halves, detection,
            integers, signals]
