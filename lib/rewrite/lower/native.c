/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the emissions in C, for what the rule language cannot express. */
#include "io/text/codec.h"
#include "rewrite/lower/native.h"

/* y = Constant <...> () becomes an initializer. Old versions of Constant support few element types,
 * initializers support all. Where initializers are not allowed: a Cast of doubles. */
static surg_status constant_to_initializer(surg__builder *b) {
  surg_value *y = surg__b_get(b, "y");
  surg_tensor *t = surg_value_constant(y), *doubles[2];
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(
          b, !surg__rinitializers(b->m) && (b->m->opset >= 9 || !surg__rdoubles(b->m, t, doubles) ||
                                            (b->m->opset < 6 && doubles[1])), /* a sum of ints */
          "constants cannot be initializers here"))
    return SURG_EUNSUPPORTED;
  surg_value *v = surg__rconstant(b->m, b->m->g, b->m->last, surg_value_name(y), t);
  if (!v) return SURG_ENOMEM;
  const surg_replace how = surg_value_can_replace(y, v);
  if (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL) return surg_value_replace(y, v);
  surg__b_result(b, "y", surg__b_unary(b, "Identity", v));
  return b->status;
}

/* The node with a constant of its own for each that others read, too, or that it reads twice. */
static surg_status own_constants(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const size_t count = surg_node_input_count(n);
  surg_value **in = surg__arena_array(b->m->arena, count + 1, sizeof *in);
  size_t copies = 0;
  if (!in) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++) {
    in[i] = surg_node_input(n, i);
    copies += in[i] && surg_value_constant(in[i]) && surg_value_use_count(in[i], 2) > 1;
  }
  if (surg__b_bad(b, !copies, "no constant is read twice") ||
      surg__b_bad(b, !surg__rinitializers(b->m), "constants cannot be initializers here"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < count; i++) {
    surg_tensor *t = in[i] ? surg_value_constant(in[i]) : NULL;
    if (!t || surg_value_use_count(in[i], 2) < 2) continue;
    in[i] = surg__rconstant(b->m, b->m->g, b->m->last, surg_value_name(in[i]), t);
    if (!in[i]) return SURG_ENOMEM;
  }
  surg_value *y = surg__b_node(b, surg_node_op_type(n), in, count);
  surg__b_copy_attrs(b, y, n, NULL);
  surg__b_result(b, "y", y);
  return b->status;
}

/* Whether importers may make one layer of this node and the one that it reads. Weights take in only
 * factors and sums; activations after them are computed as they should be. */
static bool is_chained(const surg_node *n, bool weighted) {
  switch (surg_node_op(n)) {
    case SURG_OP_Identity: return false;
    case SURG_OP_Add:
    case SURG_OP_Sub:
    case SURG_OP_Mul:
    case SURG_OP_Div:
    case SURG_OP_PRelu: return true;
    default: return !weighted;
  }
}

/* The node, and an Identity between its first output and the readers. */
static surg_status apart(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const size_t count = surg_node_input_count(n);
  const surg_use *u = surg_value_first_use(surg_node_output(n, 0));
  surg_value **in = surg__arena_array(b->m->arena, count + 1, sizeof *in);
  const bool weighted = count > 1 && surg_value_constant(surg_node_input(n, 1));
  bool joined = false;
  if (!in) return SURG_ENOMEM;
  for (; u && !joined; u = surg_use_next(u))
    joined = surg_use_get_kind(u) == SURG_USE_NODE && is_chained(surg_use_node(u), weighted);
  if (surg__b_bad(b, !joined, "nothing reads it with which it could be one layer") ||
      surg__b_bad(b, surg_node_output_count(n) != 1, "it has several outputs"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < count; i++) in[i] = surg_node_input(n, i);
  surg_value *y = surg__b_node(b, surg_node_op_type(n), in, count);
  surg__b_copy_attrs(b, y, n, NULL);
  surg__b_result(b, "y", surg__b_unary(b, "Identity", y));
  return b->status;
}

static const surg__native natives[] = {
    {"apart", apart, "the node, and an Identity before what reads it"},
    {"own_constants", own_constants, "the same node, which alone reads its constants"},
    {"initializer", constant_to_initializer, "the constant y as an initializer"},
    {NULL, NULL, NULL},
};

/* One table per file of emissions. */
static const surg__native *const tables[] = {
    natives,
    surg__natives_sub,
    surg__natives_bits,
    surg__natives_quant,
    surg__natives_series,
    surg__natives_attention,
    surg__natives_linear,
    surg__natives_einsum,
    surg__natives_image,
    surg__natives_loss,
    surg__natives_sample,
    surg__natives_axes,
    surg__natives_transformer,
    surg__natives_index,
    surg__natives_order,
    surg__natives_pool,
    surg__natives_turned,
    surg__natives_hats,
    surg__natives_branch,
    surg__natives_packed,
    surg__natives_heads,
    surg__natives_fused,
    surg__natives_box,
    surg__natives_qlinear,
    surg__natives_blocks,
    surg__natives_norms,
    surg__natives_numbers,
    surg__natives_experts,
    surg__natives_decoder,
    surg__natives_inverse,
    surg__natives_heads_group,
    surg__natives_recurrent,
    surg__natives_resize,
    surg__natives_scan,
    surg__natives_signal,
    surg__natives_plain,
    surg__natives_slice,
    surg__natives_many,
    surg__natives_labels,
    surg__natives_rounds,
    surg__natives_trees,
    surg__natives_tabular,
};

const surg__native *surg__native_find(surg_str name) {
  for (size_t t = 0; t < SURG_COUNT(tables); t++)
    for (const surg__native *n = tables[t]; n->name; n++)
      if (surg__text_word(name.p, name.n, n->name)) return n;
  return NULL;
}
