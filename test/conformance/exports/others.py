# SPDX-License-Identifier: Apache-2.0
"""Families of models of ai.onnx.ml, of com.microsoft, and with functions."""
from onnx import AttributeProto, StringStringEntryProto, helper
from build import (BOOL, F, F16, F64, Function, Graph, I8, I32, I64, Ref, STR, U8, attribute, model, put, tensor)
from plain import clip, reduce, versions


def tree_lists(rng, targets, prefix, features=4):
    """The lists of a TreeEnsembleClassifier or -Regressor: trees of depth 1 or 2."""
    ids, trees, modes, feature, value, yes, no = [], [], [], [], [], [], []
    leaf_tree, leaf_node, leaf_id, leaf_weight = [], [], [], []
    for t in range(rng.choice((1, 2, 3))):
        inner = rng.choice((1, 3))
        for n in range(2 * inner + 1):
            branch = n < inner
            trees.append(t)
            ids.append(n)
            modes.append(rng.choice(("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_EQ")) if branch else "LEAF")
            feature.append(rng.randrange(features) if branch else 0)
            value.append(rng.uniform(-1, 1) if branch else 0.0)
            yes.append(2 * n + 1 if branch else 0)
            no.append(2 * n + 2 if branch else 0)
            if not branch:
                for k in range(targets if rng.random() < 0.7 else 1):
                    leaf_tree.append(t)
                    leaf_node.append(n)
                    leaf_id.append(k)
                    leaf_weight.append(rng.uniform(0, 1))
    return {"nodes_treeids": trees, "nodes_nodeids": ids, "nodes_modes": modes, "nodes_featureids": feature,
            "nodes_values": value, "nodes_truenodeids": yes, "nodes_falsenodeids": no,
            prefix + "_treeids": leaf_tree, prefix + "_nodeids": leaf_node, prefix + "_ids": leaf_id,
            prefix + "_weights": leaf_weight,
            "nodes_hitrates": [1.0] * len(ids) if rng.random() < 0.5 else None,
            "nodes_missing_value_tracks_true": [0] * len(ids) if rng.random() < 0.5 else None}


def pipeline(rng):
    """What skl2onnx and onnxmltools write: columns joined, imputed, scaled, a model, ZipMap."""
    opsets, ir = versions(rng, 7, 21, ai_onnx_ml=rng.choice((1, 1, 2, 3)))
    o, g = opsets[""], Graph(rng)
    t = rng.choice((F, F, F64, I64))
    n = rng.choice(("N", None, 1))
    if rng.random() < 0.4:
        x = g.ml("FeatureVectorizer", [g.input(F, [n, 1]), g.input(F, [n, 3])], inputdimensions=[1, 3])
        t = F
    elif rng.random() < 0.3:
        x = g.op("Concat", [g.input(t, [n, 1]) for _ in range(4)], axis=1)
    else:
        x = g.input(t, [n, 4])
    if rng.random() < 0.4 and t in (F, I64):
        x = g.ml("Imputer", [x], **({"imputed_value_floats": [0.5] * rng.choice((1, 4)), "replaced_value_float": float("nan")}
                                    if t == F else {"imputed_value_int64s": [1] * rng.choice((1, 4)), "replaced_value_int64": -1}))
    if rng.random() < 0.6:
        x, t = g.ml("Scaler", [x], offset=[0.5] * rng.choice((1, 4)), scale=[2.0] * rng.choice((1, 4))), F
    if rng.random() < 0.2 and t == F:
        x = g.ml("Normalizer", [x], norm=rng.choice(("MAX", "L1", "L2")))
    if rng.random() < 0.2 and t == F:
        x = g.ml("Binarizer", [x], threshold=0.2)
    kind = rng.randrange(7)
    strings = rng.random() < 0.4
    classes = {"classlabels_strings": ["no", "yes", "cat"]} if strings else {"classlabels_int64s": [0, 1, 2]}
    names = {"classlabels_strings": ["no", "yes", "cat"]} if strings else {"classlabels_ints": [0, 1, 2]}
    post = rng.choice((None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"))
    label = None
    if kind == 0:
        label, p = g.ml("TreeEnsembleClassifier", [x], 2, post_transform=post, **classes, **tree_lists(rng, 3, "class"))
    elif kind == 1:
        label, p = g.ml("LinearClassifier", [x], 2, coefficients=[0.1] * 12, intercepts=rng.choice((None, [0.1] * 3)),
                        multi_class=rng.choice((None, 1)), post_transform=post,
                        **names)
    elif kind == 2:
        y = g.ml("TreeEnsembleRegressor", [x], n_targets=2, aggregate_function=rng.choice((None, "SUM", "AVERAGE", "MIN", "MAX")),
                 base_values=rng.choice((None, [0.5, 0.1])), post_transform=post, **tree_lists(rng, 2, "target"))
        g.output(y, F, [n, 2]) if rng.random() < 0.5 else g.output(y)
    elif kind == 3:
        y = g.ml("LinearRegressor", [x], coefficients=[0.1] * 8, intercepts=[0.0, 1.0], targets=2)
        g.output(y)
    elif kind == 4:
        y = g.ml("SVMRegressor", [x], kernel_type=rng.choice(("LINEAR", "RBF", "POLY", "SIGMOID")), kernel_params=[0.1, 0.0, 3.0],
                 coefficients=[1.0, -1.0], support_vectors=[0.1] * 8, n_supports=2, rho=[0.2], one_class=rng.choice((None, 0, 1)))
        g.output(y)
    elif kind == 5:
        label, p = g.ml("SVMClassifier", [x], 2, kernel_type=rng.choice(("LINEAR", "RBF")), kernel_params=[0.1, 0.0, 3.0],
                        coefficients=[1.0] * 6, support_vectors=[0.1] * 12, vectors_per_class=[1, 1, 1], rho=[0.1] * 3,
                        prob_a=rng.choice((None, [0.1] * 3)), prob_b=[0.2] * 3, **names)
    else:
        y = g.ml("ArrayFeatureExtractor", [x, g.ints(0, 2)])
        g.output(g.op("Softmax", [g.op("Cast", [y], to=F)]))
    if label:
        if rng.random() < 0.5:
            g.output(label, STR if strings else I64, [n])
        else:
            g.output(g.op("Identity", [label]))
        choice = rng.randrange(3)
        if choice == 0:
            z = g.ml("ZipMap", [p], **classes)
            key, of = (STR if strings else I64), helper.make_tensor_type_proto(F, [])
            maps = helper.TypeProto()
            maps.sequence_type.elem_type.map_type.key_type = key
            maps.sequence_type.elem_type.map_type.value_type.CopyFrom(of)
            g.output_of(z, maps)
        elif choice == 1:
            g.output(g.ml("Normalizer", [p], norm="L1"))
        else:
            g.output(p, F, [n, 3])
    return model(g, opsets, ir)


def categories(rng):
    """Tables: categories of strings and integers, dictionaries, text to counts."""
    opsets, ir = versions(rng, 9, 21, ai_onnx_ml=rng.choice((1, 2, 3, 4)))
    ml, g = opsets["ai.onnx.ml"], Graph(rng)
    kind = rng.randrange(6)
    if kind == 0:
        x = g.input(STR, ["N", 1])
        y = g.ml("CategoryMapper", [x], cats_strings=["a", "b"], cats_int64s=[1, 2], default_int64=rng.choice((None, 0)))
        y = g.ml("CategoryMapper", [y], cats_strings=["a", "b"], cats_int64s=[1, 2], default_string=rng.choice((None, "?")))
        g.output(y)
    elif kind == 1:
        x = g.input(I64, ["N"])
        if ml == 1:
            y = g.ml("LabelEncoder", [x], classes_strings=["a", "b"], default_string="c")
        elif ml < 4 or rng.random() < 0.5:
            key, value = rng.choice((("values_floats", [0.5, 1.5]), ("values_strings", ["a", "b"]), ("values_int64s", [3, 4])))
            y = g.ml("LabelEncoder", [x], keys_int64s=[0, 1], **{key: value})
        else:
            y = g.ml("LabelEncoder", [x], keys_tensor=tensor("k", I64, [2], [0, 1]), values_tensor=tensor("v", I64, [2], [5, 6]),
                     default_tensor=tensor("d", I64, [1], [0]))
        g.output(y)
    elif kind == 2:
        t = helper.TypeProto()
        t.map_type.key_type = rng.choice((STR, I64))
        t.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(F, []))
        x = g.input_of(t)
        y = g.ml("DictVectorizer", [x], **({"string_vocabulary": ["a", "b"]} if t.map_type.key_type == STR
                                           else {"int64_vocabulary": [1, 2, 3]}))
        g.output(g.ml("Scaler", [y], offset=[0.0], scale=[2.0]))
    elif kind == 3:
        t = helper.TypeProto()
        t.map_type.key_type = I64
        t.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(F, []))
        g.output(g.ml("CastMap", [g.input_of(t)], cast_to=rng.choice((None, "TO_FLOAT", "TO_INT64")), map_form=rng.choice(
            (None, "DENSE"))))
    elif kind == 4:
        x = g.input(rng.choice((I64, F, I32)), ["N", 1])
        y = g.ml("OneHotEncoder", [x], cats_int64s=[0, 1, 2], zeros=rng.choice((None, 0)))
        g.output(g.op("Reshape", [y, g.ints(-1, 3)]))
    else:
        x = g.input(STR, [None])
        y = g.op("TfIdfVectorizer", [x], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
                 ngram_indexes=[0, 1], pool_strings=["a", "b"])
        y = g.op("Unsqueeze", [y, g.ints(0)], ) if opsets[""] > 12 else g.op("Unsqueeze", [y], axes=[0])
        label, p = g.ml("LinearClassifier", [y], 2, coefficients=[0.1] * 4, intercepts=[0.0, 0.0], classlabels_ints=[0, 1],
                        post_transform="SOFTMAX")
        g.output(label)
        g.output(p)
    return model(g, opsets, ir)


def ensemble(rng):
    """TreeEnsemble of ai.onnx.ml 5."""
    opsets, ir = versions(rng, 13, 22, ai_onnx_ml=5)
    g = Graph(rng)
    t = rng.choice((F, F64))
    x = g.input(t, ["N", 3])
    # Two trees, of two nodes and of one.
    w = rng
    y = g.ml("TreeEnsemble", [x], n_targets=2, aggregate_function=w.choice((None, 0, 1, 2, 3)), post_transform=w.choice((None, 0, 1)),
             tree_roots=[0, 1], nodes_modes=seeded(w, U8, [3], [0, w.randrange(6), 1]), nodes_featureids=[0, 1, 2],
             nodes_splits=seeded(w, t, [3]), nodes_truenodeids=[0, 2, 2], nodes_trueleafs=[1, 0, 1],
             nodes_falsenodeids=[1, 0, 3], nodes_falseleafs=[1, 1, 1], leaf_targetids=[0, 1, 0, 1],
             leaf_weights=seeded(w, t, [4]), nodes_hitrates=w.choice((None, seeded(w, t, [3]))),
             nodes_missing_value_tracks_true=w.choice((None, [0, 1, 0])))
    g.output(y, t, None)
    return model(g, opsets, ir)


def seeded(rng, dtype, dims, values=None):
    return tensor("t", dtype, dims, values, rng)


def transformer(rng):
    """A layer fused by the optimizer of ONNX Runtime, in floats or quantized."""
    opsets, ir = versions(rng, 11, 21, com_microsoft=1)
    o, g = opsets[""], Graph(rng)
    n, s = rng.choice(("N", 2)), rng.choice(("S", 4))
    t = rng.choice((F, F, F, F16))

    def w(*dims, dtype=None):
        return g.weight(dtype or t, list(dims))
    kind = rng.randrange(6)
    if kind == 0:
        ids, segments, mask = (g.input(I32, [n, s]) for _ in range(3))
        x, at = g.ms("EmbedLayerNormalization", [ids, rng.choice((segments, "")), w(9, 8), w(16, 8), w(2, 8), w(8), w(8), mask], 2,
                     epsilon=1e-5)
        if not g.nodes[-1].input[1]:
            g.nodes[-1].input[4] = ""
        x = g.ms("Attention", [x, w(8, 24), w(24), at], num_heads=2, unidirectional=rng.choice((None, 1)))
        x = g.ms("SkipLayerNormalization", [x, x, w(8), w(8), w(8)], epsilon=rng.choice((None, 1e-5)))
        g.output(x)
    elif kind == 1:
        x = g.input(F, [n, s, 8])
        b = rng.choice((U8, I8))
        y = g.ms("DynamicQuantizeMatMul", [x, w(8, 8, dtype=b), g.weight(F, [rng.choice((1, 8))]),
                                           "" if rng.random() < 0.5 else g.weight(b, [1])] + ([w(8, dtype=F)] if rng.random() < 0.5 else []))
        g.output(g.ms(rng.choice(("Gelu", "FastGelu", "QuickGelu")), [y]))
    elif kind == 2:
        x = g.input(U8, [n, s, 8])
        y = g.ms("QAttention", [x, w(8, 24, dtype=rng.choice((U8, I8))), w(24, dtype=F), g.scalar(F, 0.1), g.scalar(F, 0.1)] + (
            ["", g.scalar(U8, 3)] if rng.random() < 0.5 else []), num_heads=2)
        g.output(y)
        z = g.ms("QLinearAdd", [x, g.scalar(F, 0.1), g.scalar(U8, 1), x, g.scalar(F, 0.1), g.scalar(U8, 1), g.scalar(F, 0.2), g.scalar(U8, 2)])
        g.output(g.ms("DequantizeLinear", [z, g.scalar(F, 0.2), g.scalar(U8, 2)]))
    elif kind == 3:
        x = g.input(t, [n, s, 16])
        y = g.ms("MatMulNBits", [x, w(8, 1, 8, dtype=U8), g.weight(t, [8])] + ([g.weight(U8, [8])] if rng.random() < 0.5 else []),
                 K=16, N=8, bits=4, block_size=16, accuracy_level=rng.choice((None, 0, 1, 4)))
        y = g.op("SimplifiedLayerNormalization", [y, w(8)], axis=-1, epsilon=1e-5)
        g.output(y)
    elif kind == 4:
        x = g.input(t, [n, s, 8])
        y, *_, total = g.ms("SkipSimplifiedLayerNormalization", [x, g.input(t, [n, s, 8]), w(8)], [True, False, False, True])
        q = g.op("MatMul", [y, w(8, 16)])
        past = [g.input(t, [n, 1, rng.choice(("P", 6)), 4]) for _ in range(2)]
        lens, all_ = g.input(I32, [n]), g.input(I32, [1] if rng.random() < 0.6 else [])
        ins = [q, "", "", *past, lens, all_]
        if rng.random() < 0.5:
            ins += [w(16, 2), w(16, 2)]
        outs = g.ms("GroupQueryAttention", ins, 3, num_heads=2, kv_num_heads=1, do_rotary=1 if len(ins) > 7 else None,
                    local_window_size=rng.choice((None, 4)))
        for y in outs:
            g.output(y)
        g.output(total)
    else:
        x = g.input(t, [n, s, 8])
        q, k, v = (g.op("MatMul", [x, w(8, 8)]) for _ in range(3))
        y = g.ms("MultiHeadAttention", [q, k, v] + (["" if rng.random() < 0.5 else w(24), g.input(I32, [n])] if rng.random() < 0.5 else []),
                 num_heads=2, scale=rng.choice((None, 0.5)))
        y = g.ms("BiasGelu", [y, w(8)])
        y = g.ms("FusedMatMul", [y, w(8, 8)], alpha=rng.choice((None, 0.5)), transB=rng.choice((None, 1)))
        g.output(g.op("LayerNormalization", [y, w(8), w(8)], axis=-1))
    return model(g, opsets, ir)


def kernels(rng):
    """Convolutions that the optimizer fused or laid out, other operators of com.microsoft."""
    opsets, ir = versions(rng, 10, 20, com_microsoft=1)
    o, g = opsets[""], Graph(rng)
    kind = rng.randrange(7)
    if kind == 0:
        x = g.input(F, [1, 3, 8, 8])
        x = g.ms("FusedConv", [x, g.weight(F, [4, 3, 3, 3]), g.weight(F, [4])], activation=rng.choice(("Relu", "LeakyRelu", "Clip")),
                 activation_params=None, pads=[1] * 4)
        last = g.nodes[-1]
        kind_of = next(a.s for a in last.attribute if a.name == "activation")
        if kind_of == b"LeakyRelu":
            last.attribute.append(attribute("activation_params", [0.1]))
        if kind_of == b"Clip":
            last.attribute.append(attribute("activation_params", [0.0, 6.0]))
        g.output(g.op("GlobalAveragePool", [x]))
    elif kind == 1:
        x = g.input(F, ["N", 4])
        g.output(g.ms("FusedGemm", [x, g.weight(F, [4, 4]), g.weight(F, [4])], activation="Relu", transB=rng.choice((None, 1))))
    elif kind == 2:
        x = g.input(F, [1, 4, 6, 6])
        q = g.ms("QuantizeLinear", [x, g.scalar(F, 0.1), g.scalar(rng.choice((U8, I8)), 0)])
        z = g.nodes[-1].input[2]
        g.output(g.ms(rng.choice(("QLinearSigmoid", "QLinearLeakyRelu")), [q, g.scalar(F, 0.1), z, g.scalar(F, 0.1), z]))
        g.output(g.ms("QLinearGlobalAveragePool", [q, g.scalar(F, 0.1), z, g.scalar(F, 0.1), z], channels_last=rng.choice((None, 0))))
    elif kind == 3:
        x = g.input(F, ["N", 3])
        g.output(g.ms("BiasSoftmax", [x, g.weight(F, [1, 3])], axis=1, is_inner_broadcast=1) if rng.random() < 0.4 else g.ms("Inverse", [
            g.input(F, [3, 3])]))
        g.output(g.ms("ExpandDims", [x, g.scalar(I32, 1)]))
        g.output(g.ms("CDist", [x, x], metric=rng.choice(("euclidean", "sqeuclidean"))))
    elif kind == 4:
        x = g.input(F, [1, 3, 5])
        g.output(g.ms("Pad", [x, g.ints(0, 0, 1, 0, 0, 1), g.scalar(F, 0.0)], mode="constant"))
        g.output(g.ms("Trilu", [x, g.scalar(I64, 0)], upper=rng.choice((None, 0))))
        g.output(g.ms("Unique", [g.input(F, ["K"])], 3)[0])
    elif kind == 5:
        x = g.input(STR, ["N"])
        g.output(g.ms("Tokenizer", [x], mark=rng.choice((0, 1)), mincharnum=1, pad_value="#", separators=[" "]))
        g.output(g.ms("MurmurHash3", [x], seed=1, positive=rng.choice((None, 0))))
    else:
        x = g.input(F, [rng.choice(("N", 3)), 2])
        y = g.ms("GatherND", [x, g.weight(I64, [1, 1], [0])])
        g.output(y)
        g.output(g.ms("Range", [g.scalar(F, 0.0), g.scalar(F, 4.0)] + ([g.scalar(F, 1.0)] if rng.random() < 0.5 else [])))
        g.output(g.ms("CropAndResize", [g.input(F, [1, 3, 6, 6]), g.input(F, ["K", 4]), g.input(I32, ["K"]), g.weight(I32, [2], [2, 2])]))
    return model(g, opsets, ir)


def functions(rng):
    """Functions: attributes with and without defaults, functions that call functions, branches, overloads."""
    opsets, ir = versions(rng, 13, 22, local=1)
    o, g = opsets[""], Graph(rng)
    ir = max(ir, 8)
    x = g.input(F, [rng.choice(("N", 2)), 4])
    made = []
    imports = {"": o if rng.random() < 0.8 else max(13, o - 1), "local": 1}
    b = Graph(rng)
    y = b.op("LeakyRelu", ["X"], alpha=Ref("alpha", AttributeProto.FLOAT))
    if rng.random() < 0.5:
        y = b.op("Softmax", [y], axis=Ref("axis", AttributeProto.INT))
        names, extra = ["axis"], {"axis": 1}
    else:
        names, extra = [], {}
    b.nodes.append(helper.make_node("Add", [y, "W"], ["Y"]))
    default = [attribute("alpha", 0.2)] if ir > 8 and rng.random() < 0.7 else []
    if not default:
        names.append("alpha")
    made.append(Function("local", "Act", imports).proto(b, ["X", "W"], ["Y"], names, default))
    attrs = dict(extra)
    if not default or rng.random() < 0.5:
        attrs["alpha"] = 0.3
    kind = rng.randrange(5)
    if kind == 0:
        outer = Graph(rng)
        h = outer.op("Act", ["A", "B"], domain="local", **attrs)
        outer.nodes.append(helper.make_node("Act", [h, "B"], ["C"], domain="local", **attrs))
        made.append(Function("local", "Twice", imports).proto(outer, ["A", "B"], ["C"]))
        y = g.op("Twice", [x, g.weight(F, [4])], domain="local")
    elif kind == 1:
        outer = Graph(rng)
        yes, no = outer.sub(), outer.sub()
        yes.output(yes.op("Act", ["A", "B"], domain="local", **attrs), F, None)
        no.output(no.op("Neg", ["A"]), F, None)
        m = reduce(outer, o if imports[""] == o else imports[""], "ReduceMax", "A", [0, 1], 0)
        c = outer.op("Greater", [m, outer.op("Constant", [], value_float=0.0)])
        for t in outer.initializers:
            outer.nodes.insert(0, helper.make_node("Constant", [], [t.name], value=t))
        outer.nodes.append(helper.make_node("If", [c], ["C"], then_branch=yes.graph(), else_branch=no.graph()))
        made.append(Function("local", "Pick", imports).proto(outer, ["A", "B"], ["C"]))
        y = g.op("Pick", [x, g.weight(F, [4])], domain="local")
    elif kind == 2 and ir > 9:
        other = Graph(rng)
        other.nodes.append(helper.make_node("Relu", ["X"], ["Y"]))
        made.append(Function("local", "Act", imports, "one").proto(other, ["X"], ["Y"]))
        y = g.op("Act", [x, g.weight(F, [4])], domain="local", **attrs)
        y = g.op("Act", [y], domain="local", overload="one")
    elif kind == 3:
        body = g.sub()
        body.input(I64, [])
        c, s = body.input(BOOL, []), body.input(F, None)
        body.output(body.op("Identity", [c]), BOOL, [])
        body.output(body.op("Act", [s, g.weight(F, [4])], domain="local", **attrs), F, None)
        y = g.op("Loop", [g.scalar(I64, 2), "", x], body=body)
    else:
        y = g.op("Act", [x, g.weight(F, [4])], domain="local", **attrs)
    g.output(y, *((F, None) if rng.random() < 0.5 else ()))
    return model(g, opsets, ir, made)


def extras(rng):
    """What models carry beside their graph: value_info, metadata, documentation, sparse weights, quantization notes."""
    opsets, ir = versions(rng, 9, 22)
    o, g = opsets[""], Graph(rng)
    x = g.input(F, ["N", 4])
    w = g.weight(F, [4, 4])
    y = g.op("MatMul", [x, w])
    if o > 10 and rng.random() < 0.5:
        y = g.op("Round", [y])
    z = clip(g, o, y, 0.0, 6.0)
    g.infos.append(helper.make_tensor_value_info(y, F, rng.choice((["N", 4], ["M", 4], None))))
    g.output(z, F, rng.choice((["N", 4], [None, 4], ["Q", 4])))
    if rng.random() < 0.3:
        g.output(x)
    m = model(g, opsets, ir)
    m.doc_string, m.domain, m.model_version = "a model", "org.example", 3
    m.metadata_props.add(key="author", value="someone")
    m.graph.doc_string = "torch-jit-export"
    if rng.random() < 0.4:
        m.graph.quantization_annotation.add(tensor_name=y).quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=w)
    if rng.random() < 0.3 and o > 10:
        s = m.graph.sparse_initializer.add()
        s.values.CopyFrom(tensor("sparse", F, [2], [1.0, 2.0]))
        s.indices.CopyFrom(tensor("", I64, [2], [0, 5]))
        s.dims.extend([4, 4])
        m.graph.node.add(op_type="MatMul", input=[z, "sparse"], output=["end"])
        m.graph.output.add(name="end")
    if rng.random() < 0.3:
        put(m.graph.node[0], 9, StringStringEntryProto(key="namespace", value="x"))
    if rng.random() < 0.2:
        m.opset_import.add(domain="ai.onnx.training", version=1)
    if rng.random() < 0.2:
        m.opset_import.add(domain="com.example", version=7)
    return m


FAMILIES = [pipeline, pipeline, categories, ensemble, transformer, transformer, kernels, functions, functions, extras]
