/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as matrix products and a softmax, equivalent to lib/eval/nn/attention.c.
 *
 * The queries of all heads that share a key head become rows of one matrix: with G query heads per
 * key head, [B, K*G, L, D] is reshaped to [B, K, G*L, D], so keys and values need no copies. Masked
 * keys are masked by adding 0 or -inf before the softmax, or by Where; a row without visible keys
 * yields 0. */
#include <math.h>

#include "rewrite/lower/native.h"

typedef struct attention {
  surg__builder *b;
  surg_node *n;
  bool flat; /* of rank 3 */
  surg__built q, k, v, mask, past_k, past_v, valid;
  int64_t q_heads, kv_heads;
  surg__bdim batch, q_len, past, total, size, value_size;
  int dtype, out_type; /* type of the computation; type of the output */
  bool causal;
  int64_t left, right, stage;
  float softcap;
  surg__built visible; /* bool; v NULL: all keys are visible */
  bool dead_rows;      /* there may be rows without visible keys */
  bool trusts;         /* a mask leaves each query a key */
} attention;

enum { RAW, CAPPED, MASKED, PROBABILITIES, STAGES };

/* --- reading --- */

static bool float_type(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

/* Reads the number of heads of a tensor: the size of axis 1 for rank 4, the
 * attribute for rank 3. */
static bool read_heads(const attention *a, const surg__built *x, const char *attr, int64_t *heads) {
  const int64_t said = surg_node_int(a->n, attr, 0);
  *heads = a->flat ? said : x->d[1].n;
  if (*heads < 1 || (said && said != *heads)) return false;
  return !a->flat || (x->d[2].n >= 0 && x->d[2].n % *heads == 0);
}

static bool read_inputs(attention *a) {
  surg__builder *b = a->b;
  if (!surg__built_get(b, "q", &a->q) || !surg__built_get(b, "k", &a->k) ||
      !surg__built_get(b, "v", &a->v) || (a->q.rank != 3 && a->q.rank != 4) ||
      a->k.rank != a->q.rank || a->v.rank != a->q.rank || !float_type(a->q.dtype) ||
      !float_type(a->k.dtype) || !float_type(a->v.dtype))
    return false;
  if (surg__b_get(b, "mask") &&
      (!surg__built_get(b, "mask", &a->mask) || a->mask.rank < 1 || a->mask.rank > 4))
    return false;
  if (surg__b_get(b, "past_k") &&
      (!surg__built_get(b, "past_k", &a->past_k) || a->past_k.rank != 4))
    return false;
  if (surg__b_get(b, "past_v") &&
      (!surg__built_get(b, "past_v", &a->past_v) || a->past_v.rank != 4))
    return false;
  if (surg__b_get(b, "valid") && (!surg__built_get(b, "valid", &a->valid) || a->valid.rank != 1))
    return false;
  if (!a->past_k.v != !a->past_v.v || (a->valid.v && a->past_k.v)) return false;
  a->flat = a->q.rank == 3;
  int64_t heads;
  return read_heads(a, &a->q, "q_num_heads", &a->q_heads) &&
         read_heads(a, &a->k, "kv_num_heads", &a->kv_heads) &&
         read_heads(a, &a->v, "kv_num_heads", &heads) && heads == a->kv_heads &&
         a->q_heads % a->kv_heads == 0;
}

static bool read_attributes(attention *a) {
  a->causal = surg_node_int(a->n, "is_causal", 0) != 0;
  a->left = surg_node_int(a->n, "left_window_size", -1);
  a->right = surg_node_int(a->n, "right_window_size", -1);
  a->softcap = surg_node_float(a->n, "softcap", 0);
  a->stage = surg_node_int(a->n, "qk_matmul_output_mode", 0);
  const float scale = surg_node_float(a->n, "scale", 1);
  a->out_type = a->q.dtype;
  a->dtype = a->q.dtype == SURG_DOUBLE || a->k.dtype == SURG_DOUBLE || a->v.dtype == SURG_DOUBLE
                 ? SURG_DOUBLE
                 : SURG_FLOAT;
  return a->left >= -1 && a->right >= -1 && a->left < INT32_MAX && a->right < INT32_MAX &&
         a->softcap >= 0 && scale >= 0 && a->stage >= RAW && a->stage < STAGES;
}

static bool equal_sizes(const surg__bdim *x, const surg__bdim *y) {
  return x->n < 0 || y->n < 0 || x->n == y->n;
}

/* Collects the sizes. False: they are known to be inconsistent, so the node is left unchanged and
 * the runtime reports the error. */
static bool read_sizes(attention *a) {
  const uint32_t at = a->flat ? 1 : 2;
  a->batch = a->q.d[0];
  a->q_len = a->q.d[at];
  a->size = a->flat ? surg__bdim_fixed(a->q.d[2].n / a->q_heads) : a->q.d[3];
  a->value_size = a->flat ? surg__bdim_fixed(a->v.d[2].n / a->kv_heads) : a->v.d[3];
  const surg__bdim key_size = a->flat ? surg__bdim_fixed(a->k.d[2].n / a->kv_heads) : a->k.d[3];
  if (!equal_sizes(&a->size, &key_size) || !equal_sizes(&a->k.d[at], &a->v.d[at])) return false;
  a->past = a->past_k.v ? a->past_k.d[2] : surg__bdim_fixed(0);
  a->total = a->k.d[at]; /* the past is added later, when nodes may be created */
  /* Without keys there is nothing to compare. An unknown number of keys is assumed not to be 0. */
  if (a->total.n == 0 && a->past.n == 0) return false;
  if (a->size.n == 0 && !surg_node_attr(a->n, "scale")) return false;
  return a->past_k.v == NULL ||
         (equal_sizes(&a->past_k.d[3], &a->size) && equal_sizes(&a->past_v.d[3], &a->value_size));
}

/* Whether keys beyond the end of a shorter mask are masked, from version 24 on. */
static bool ends(const attention *a) {
  return surg_schema_since(surg_node_schema(a->n)) >= 24;
}

/* Whether the mask has a supported form. A mask of one key is rejected where it could be broadcast
 * as well as end there. */
static bool mask_fits(const attention *a) {
  if (!a->mask.v) return true;
  const surg__bdim *m = &a->mask.d[a->mask.rank - 1];
  if (a->mask.dtype != SURG_BOOL && !float_type(a->mask.dtype) &&
      !surg__dtype_is_int(a->mask.dtype))
    return false;
  if (m->n < 0 || a->total.n < 0 || a->past.n < 0)
    return (surg__bdim_same(m, &a->total) && a->past.n == 0) || m->n != 1 || !ends(a);
  const int64_t total = a->total.n + a->past.n;
  return m->n == total || (m->n < total && m->n > 1);
}

/* --- operands --- */

/* Reshapes [B, L, H*D] to [B, H, L, D]. */
static surg__built split_heads(const attention *a, surg__built x, int64_t heads) {
  if (!a->flat) return x;
  assert(heads > 0 && x.d[2].n % heads == 0); /* checked by `read_heads` */
  const surg__bdim d[4] = {x.d[0], x.d[1], surg__bdim_fixed(heads),
                           surg__bdim_fixed(x.d[2].n / heads)};
  return surg__built_swap(a->b, surg__built_reshape(a->b, x, d, 4), 1, 2);
}

static surg__built with_past(const attention *a, surg__built x, surg__built past, const char *out) {
  const surg__built both[2] = {past, x};
  if (past.v) x = surg__built_concat(a->b, both, 2, 2);
  x.d[2] = a->total;
  return surg__built_result(a->b, out, x);
}

/* group_rows makes the rows of the query heads that share a key head rows of one matrix;
 * ungroup_rows is the inverse. */
static surg__built group_rows(const attention *a, surg__built x, surg__bdim last) {
  assert(a->q_heads % a->kv_heads == 0);
  const surg__bdim group = surg__bdim_fixed(a->q_heads / a->kv_heads);
  if (group.n == 1) return x;
  const surg__bdim d[4] = {a->batch, surg__bdim_fixed(a->kv_heads),
                           surg__bdim_mul(a->b, group, a->q_len), last};
  return surg__built_reshape(a->b, x, d, 4);
}

static surg__built ungroup_rows(const attention *a, surg__built x, surg__bdim last) {
  const surg__bdim d[4] = {a->batch, surg__bdim_fixed(a->q_heads), a->q_len, last};
  return a->q_heads == a->kv_heads ? x : surg__built_reshape(a->b, x, d, 4);
}

/* The square root of the scale: queries and keys are both multiplied by it. */
static surg__built half_scale(const attention *a) {
  surg__builder *b = a->b;
  const bool said = surg_node_attr(a->n, "scale") != NULL;
  if (said || a->size.n > 0) {
    const double s = said ? (double)surg_node_float(a->n, "scale", 1) : 1 / sqrt((double)a->size.n);
    return surg__built_scalar(b, a->dtype, sqrt(s));
  }
  surg__built root = surg__built_unary(b, "Sqrt", surg__bdim_scalar(b, a->size, a->dtype));
  root = surg__built_binary(b, "Div", surg__built_scalar(b, a->dtype, 1), root);
  return surg__built_unary(b, "Sqrt", root);
}

static surg__built scores(attention *a, surg__built q, surg__built k) {
  surg__builder *b = a->b;
  const surg__built half = half_scale(a);
  q = surg__built_binary(b, "Mul", surg__built_cast(b, q, a->dtype), half);
  k = surg__built_binary(b, "Mul", surg__built_cast(b, k, a->dtype), half);
  q = group_rows(a, q, a->size);
  surg__built s = surg__built_matmul(b, q, surg__built_swap(b, k, 2, 3));
  return ungroup_rows(a, s, a->total);
}

/* --- masks --- */

static bool sees(const attention *a, int64_t at, int64_t j) {
  if (a->causal && j > at) return false;
  if (a->left >= 0 && j < at - a->left) return false;
  return a->right < 0 || j <= at + a->right;
}

/* Computes the causal mask and window as a constant. False: too large, or not
 * all sizes are known. */
static bool constant_sight(attention *a) {
  surg__builder *b = a->b;
  const surg__built square = {.rank = 2, .d = {a->q_len, a->total}};
  uint64_t count;
  if (a->valid.v || a->past.n < 0 || !surg__built_count(&square, SURG_LIMIT_EMIT_CONSTANT, &count))
    return false;
  const int64_t dims[2] = {a->q_len.n, a->total.n};
  assert(dims[0] >= 0 && dims[1] >= 0);
  double *numbers = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *numbers);
  if (!numbers) {
    b->status = SURG_ENOMEM;
    return true;
  }
  for (int64_t i = 0; i < dims[0]; i++) {
    bool any = false;
    for (int64_t j = 0; j < dims[1]; j++) {
      const bool one = sees(a, a->past.n + i, j);
      numbers[i * dims[1] + j] = one;
      any = any || one;
    }
    if (!any) a->dead_rows = true;
  }
  a->visible = surg__built_numbers(b, SURG_BOOL, dims, 2, numbers);
  return true;
}

static void see(attention *a, surg__built one) {
  a->visible = a->visible.v ? surg__built_binary(a->b, "And", a->visible, one) : one;
}

static void hide(attention *a, surg__built hidden) {
  see(a, surg__built_unary(a->b, "Not", hidden));
}

/* Computes the mask at run time. Positions are compared as int32 where that is wide enough, since
 * old versions of Less do not support int64. */
static void computed_sight(attention *a) {
  surg__builder *b = a->b;
  const bool few = a->total.n >= 0 && a->total.n < INT32_MAX / 4 && a->q_len.n >= 0 &&
                   a->q_len.n < INT32_MAX / 4 && a->left < INT32_MAX / 4 &&
                   a->right < INT32_MAX / 4;
  const int type = few ? SURG_INT32 : SURG_INT64;
  const surg__built key = surg__built_range(b, a->total, type);
  surg__built row = surg__built_range(b, a->q_len, type), valid = {0};
  row = surg__built_unsqueeze(b, row, 1);
  if (a->valid.v) {
    const surg__bdim d[4] = {a->valid.d[0], surg__bdim_fixed(1), surg__bdim_fixed(1),
                             surg__bdim_fixed(1)};
    valid = surg__built_reshape(b, surg__built_cast(b, a->valid, type), d, 4);
    see(a, surg__built_binary(b, "Less", key, valid));
  }
  if (!a->causal && a->left < 0 && a->right < 0) return;
  surg__built before =
      a->valid.v ? surg__built_binary(b, "Sub", valid, surg__bdim_scalar(b, a->q_len, type))
                 : surg__bdim_scalar(b, a->past, type);
  const surg__built at = surg__built_binary(b, "Add", row, before);
  if (a->causal) hide(a, surg__built_binary(b, "Greater", key, at));
  if (a->left >= 0)
    hide(a, surg__built_binary(b, "Less", key, surg__built_number(b, "Sub", at, (double)a->left)));
  if (a->right >= 0)
    hide(a,
         surg__built_binary(b, "Greater", key, surg__built_number(b, "Add", at, (double)a->right)));
}

static void find_sight(attention *a) {
  if (!a->causal && a->left < 0 && a->right < 0 && !a->valid.v) return;
  if (constant_sight(a)) return;
  a->dead_rows = true;
  computed_sight(a);
}

/* The mask, extended to all keys; the keys added are masked. */
static surg__built whole_mask(const attention *a) {
  surg__builder *b = a->b;
  surg__built mask = a->mask;
  assert(mask.rank >= 1 && mask.rank <= 4); /* `d` */
  const uint32_t last = mask.rank - 1;
  if (mask.dtype != SURG_BOOL) mask = surg__built_cast(b, mask, a->dtype);
  const surg__bdim length = mask.d[last];
  const bool known = length.n >= 0 && a->total.n >= 0;
  if (surg__bdim_same(&length, &a->total) || surg_dim_equal(&length.dim, &a->total.dim) ||
      (!known && !ends(a)))
    return mask;
  const double hidden = mask.dtype == SURG_BOOL ? 0 : -INFINITY;
  surg__bdim d[4];
  for (uint32_t i = 0; i < mask.rank; i++) d[i] = mask.d[i];
  d[last] = surg__bdim_sub(b, a->total, length);
  const surg__built both[2] = {mask, surg__built_fill(b, mask.dtype, hidden, d, mask.rank)};
  return surg__built_concat(b, both, 2, last);
}

/* The tensor to add to the scores; v NULL: none. Sets a->visible to the visible keys. */
static surg__built bias(attention *a) {
  surg__builder *b = a->b;
  surg__built mask = {0};
  find_sight(a);
  if (a->mask.v) {
    mask = whole_mask(a);
    a->dead_rows = !a->trusts;
  }
  if (mask.v && mask.dtype == SURG_BOOL) {
    see(a, mask);
    mask = (surg__built){0};
  }
  if (!a->visible.v && (!mask.v || a->trusts)) return mask;
  const surg__built hidden = surg__built_scalar(b, a->dtype, -INFINITY);
  if (!mask.v) return surg__built_where(b, a->visible, surg__built_scalar(b, a->dtype, 0), hidden);
  if (a->visible.v) mask = surg__built_where(b, a->visible, mask, hidden);
  if (a->trusts) return mask;
  /* Only -inf is less than the lowest finite number; a NaN masks nothing. */
  const double lowest = a->dtype == SURG_DOUBLE ? -0x1.fffffffffffffp+1023 : -0x1.fffffep+127;
  a->visible = surg__built_unary(b, "Not", surg__built_number(b, "Less", mask, lowest));
  return mask;
}

/* Replaces rows without visible keys by zeros. */
static surg__built without_dead(const attention *a, surg__built y) {
  surg__builder *b = a->b;
  if (!a->dead_rows) return y;
  surg__built any = surg__built_cast(b, a->visible, SURG_FLOAT);
  any = surg__built_cast(b, surg__built_reduce(b, "ReduceMax", any, any.rank - 1, true), SURG_BOOL);
  return surg__built_where(b, any, y, surg__built_scalar(b, a->dtype, 0));
}

/* --- the whole operator --- */

static surg__built shown(const attention *a, int64_t stage, surg__built s) {
  if (a->stage != stage || !surg__b_get(a->b, "qk")) return s;
  const surg__built out = surg__built_cast(a->b, s, a->out_type);
  const surg__built named = surg__built_result(a->b, "qk", out);
  return out.v == s.v ? named : s;
}

static surg__built softmax(const attention *a, surg__built s) {
  surg__builder *b = a->b;
  const bool wide = surg_node_int(a->n, "softmax_precision", SURG_FLOAT) == SURG_DOUBLE;
  s = surg__built_softmax(b, surg__built_cast(b, s, wide ? SURG_DOUBLE : a->dtype));
  return surg__built_cast(b, s, a->dtype);
}

static void finish(const attention *a, surg__built s, surg__built v) {
  surg__builder *b = a->b;
  assert(!a->flat || a->value_size.n >= 0);
  s = group_rows(a, s, a->total);
  surg__built y = surg__built_matmul(b, s, surg__built_cast(b, v, a->dtype));
  y = without_dead(a, ungroup_rows(a, y, a->value_size));
  if (a->flat) {
    const surg__bdim d[3] = {a->batch, a->q_len, surg__bdim_fixed(a->q_heads * a->value_size.n)};
    y = surg__built_reshape(b, surg__built_swap(b, y, 1, 2), d, 3);
  }
  surg__built_result(b, "y", surg__built_cast(b, y, a->out_type));
}

static surg_status products(surg__builder *b, bool trusts) {
  attention a = {.b = b, .n = surg__b_matched(b), .trusts = trusts};
  if (!surg__b_attrs_known(b) || !read_inputs(&a) || !read_attributes(&a) || !read_sizes(&a) ||
      !mask_fits(&a))
    return SURG_EUNSUPPORTED;
  a.total = surg__bdim_add(b, a.past, a.total);
  const surg__built k = with_past(&a, split_heads(&a, a.k, a.kv_heads), a.past_k, "pk");
  const surg__built v = with_past(&a, split_heads(&a, a.v, a.kv_heads), a.past_v, "pv");
  if (!surg__b_get(b, "y") && !surg__b_get(b, "qk")) return b->status;
  surg__built s = shown(&a, RAW, scores(&a, split_heads(&a, a.q, a.q_heads), k));
  if (a.softcap > 0) {
    s = surg__built_unary(b, "Tanh", surg__built_number(b, "Div", s, (double)a.softcap));
    s = surg__built_number(b, "Mul", s, (double)a.softcap);
  }
  s = shown(&a, CAPPED, s);
  const surg__built added = bias(&a);
  if (added.v) s = surg__built_binary(b, "Add", s, added);
  s = shown(&a, MASKED, s);
  s = shown(&a, PROBABILITIES, softmax(&a, s));
  if (surg__b_get(b, "y")) finish(&a, s, v);
  return b->status;
}

static surg_status attention_to_matmul(surg__builder *b) {
  return products(b, false);
}

static surg_status attention_of_seeing(surg__builder *b) {
  return products(b, true);
}

const surg__native surg__natives_attention[] = {
    {"attention", attention_to_matmul, "Attention as products, a softmax and masks"},
    {"attention_seeing", attention_of_seeing, "the same; each query has a key that is not masked"},
    {NULL, NULL, NULL},
};
