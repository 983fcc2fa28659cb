/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic operations of one run of a node, from the inferred shapes of its inputs and
 * outputs. */
#include "base/counted.h"
#include "measure/measure.h"

#include "base/dtype.h"
#include "sym/expr.h"

/* The counters: `macs` are multiply-accumulate operations, `flops` are all arithmetic operations;
 * each multiply-accumulate counts as two flops. */
typedef struct cost {
  const surg_node *n;
  surg_model *m;
  surg__amount macs, flops;
} cost;

typedef enum basis {
  NO_RULE = 0,
  NOTHING,    /* only moves, creates or inspects elements */
  PER_RESULT, /* `factor` operations per element of output 0 */
  PER_INPUT,  /* per element of input 0 */
  SPECIAL
} basis;

typedef bool (*special)(cost *c);
typedef struct rule {
  basis basis;
  uint16_t factor;
  special fn;
} rule;

/* --- amounts; false: unknown, or an overflow --- */

static surg__amount plain(int64_t k) {
  return (surg__amount){k, NULL};
}

static const surg_expr *as_expr(surg_model *m, surg__amount a) {
  return a.expr ? a.expr : surg__expr_num(m, a.k);
}

static bool settle(const surg_expr *e, surg__amount *out) {
  int64_t k;
  if (!e) return false;
  *out = surg__expr_is_num(e, &k) ? plain(k) : (surg__amount){0, e};
  return true;
}

static bool times(surg_model *m, surg__amount a, surg__amount b, surg__amount *out) {
  if (a.expr || b.expr) return settle(surg__expr_mul(as_expr(m, a), as_expr(m, b)), out);
  *out = plain(0);
  return surg__mul_i64(a.k, b.k, &out->k);
}

bool surg__amount_add(surg_model *m, surg__amount a, surg__amount b, surg__amount *out) {
  if (a.expr || b.expr) return settle(surg__expr_add(as_expr(m, a), as_expr(m, b)), out);
  *out = plain(0);
  return surg__add_i64(a.k, b.k, &out->k);
}

static bool same(surg__amount a, surg__amount b) {
  return a.k == b.k && a.expr == b.expr;
}

/* --- shapes --- */

/* The declared type is used where none is proven: costs are no reason for an edit. */
static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (v && !(t && surg_type_has_rank(t))) t = surg_value_declared_type(v);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}
static const surg_type *input(const cost *c, size_t i) {
  return ranked(surg_node_input(c->n, i));
}

/* Dimension i of a type; negative i counts from the end. */
static bool dim(const surg_type *t, int i, surg__amount *out) {
  const int rank = t ? (int)surg_type_rank(t) : 0;
  const int at = i < 0 ? i + rank : i;
  if (at < 0 || at >= rank) return false;
  const surg_dim d = *surg_type_dim(t, (size_t)at);
  *out = (surg__amount){d.value >= 0 ? d.value : 0, d.value >= 0 ? NULL : d.expr};
  return d.value >= 0 || d.expr;
}

/* The product of the dimensions from `first` on. */
static bool product(const cost *c, const surg_type *t, size_t first, surg__amount *out) {
  surg__amount d;
  *out = plain(1);
  for (size_t i = first; t && i < surg_type_rank(t); i++)
    if (!dim(t, (int)i, &d) || !times(c->m, *out, d, out)) return false;
  return t != NULL;
}

static bool count_of(const cost *c, const surg_type *t, surg__amount *out) {
  return product(c, t, 0, out);
}

/* The element count of the first output that is present; all outputs depend on the same sizes. */
static bool result(const cost *c, surg__amount *out) {
  for (size_t i = 0; i < surg_node_output_count(c->n); i++)
    if (surg_node_output(c->n, i)) return count_of(c, ranked(surg_node_output(c->n, i)), out);
  return false;
}

/* --- sums --- */

static bool add_flops(cost *c, surg__amount n) {
  return surg__amount_add(c->m, c->flops, n, &c->flops);
}

/* Adds a * b multiply-accumulate operations. */
static bool add_macs(cost *c, surg__amount a, surg__amount b) {
  surg__amount n, twice;
  return times(c->m, a, b, &n) && times(c->m, n, plain(2), &twice) &&
         surg__amount_add(c->m, c->macs, n, &c->macs) && add_flops(c, twice);
}

static bool add_times(cost *c, surg__amount n, int64_t factor) {
  surg__amount all;
  return times(c->m, n, plain(factor), &all) && add_flops(c, all);
}

/* --- products --- */

/* Weight elements per result element: all but axis 0. */
static bool window(const cost *c, size_t weights, surg__amount *out) {
  const surg_type *w = input(c, weights);
  return w && surg_type_rank(w) >= 2 && product(c, w, 1, out);
}

static bool conv_of(cost *c, size_t weights, size_t bias) {
  surg__amount each, out;
  if (!window(c, weights, &each) || !result(c, &out) || !add_macs(c, out, each)) return false;
  return !surg_node_input(c->n, bias) || add_flops(c, out);
}
static bool conv(cost *c) {
  return conv_of(c, 1, 2);
}
static bool conv_integer(cost *c) {
  return conv_of(c, 1, SIZE_MAX);
}
static bool qlinear_conv(cost *c) {
  return conv_of(c, 3, 8);
}
static bool deform_conv(cost *c) {
  return conv_of(c, 1, 3);
}

static bool conv_transpose(cost *c) {
  surg__amount each, in, out;
  if (!window(c, 1, &each) || !count_of(c, input(c, 0), &in) || !add_macs(c, in, each))
    return false;
  return !surg_node_input(c->n, 2) || (result(c, &out) && add_flops(c, out));
}

static bool matmul(cost *c) {
  surg__amount k, out;
  return dim(input(c, 0), -1, &k) && result(c, &out) && add_macs(c, out, k);
}

/* QGemm, whose third input is a zero point. */
static bool gemm_plain(cost *c) {
  surg__amount k, out;
  const bool turned = surg_node_int(c->n, "transA", 0) != 0;
  return dim(input(c, 0), turned ? 0 : 1, &k) && result(c, &out) && add_macs(c, out, k);
}

static bool gemm(cost *c) {
  surg__amount out;
  if (!gemm_plain(c)) return false;
  return !surg_node_input(c->n, 2) || (result(c, &out) && add_flops(c, out));
}

/* FusedMatMul: attributes may transpose the last two axes of A. */
static bool fused_matmul(cost *c) {
  surg__amount k, out;
  const bool turned = surg_node_int(c->n, "transA", 0) != 0;
  return dim(input(c, 0), turned ? -2 : -1, &k) && result(c, &out) && add_macs(c, out, k);
}

/* X is [steps, batch, features] in either layout; each element of W and R is one product. */
static bool recurrent(cost *c) {
  surg__amount a, b, w, r, runs;
  return dim(input(c, 0), 0, &a) && dim(input(c, 0), 1, &b) && count_of(c, input(c, 1), &w) &&
         count_of(c, input(c, 2), &r) && times(c->m, a, b, &runs) && add_macs(c, runs, w) &&
         add_macs(c, runs, r);
}

/* Scores: one per head, query and key; softmax and scaling count as five operations. */
static bool add_scores(cost *c, surg__amount batch, surg__amount heads, surg__amount queries,
                       surg__amount keys) {
  surg__amount n;
  return times(c->m, batch, heads, &n) && times(c->m, n, queries, &n) && times(c->m, n, keys, &n) &&
         add_times(c, n, 5);
}

/* Each element of Q is multiplied with every key, each element of Y is a sum over all keys. Heads
 * are an axis of their own or part of the last one; the count is the same. */
static bool attention(cost *c) {
  surg__amount keys, past = plain(0), q, y, batch, heads, queries;
  const surg_type *qt = input(c, 0), *k = input(c, 1);
  if (!qt || !k || !dim(k, surg_type_rank(k) == 3 ? 1 : 2, &keys)) return false;
  if (surg_node_input(c->n, 4) && !dim(input(c, 4), 2, &past)) return false;
  if (!surg__amount_add(c->m, keys, past, &keys) || !count_of(c, qt, &q) || !result(c, &y) ||
      !add_macs(c, q, keys) || !add_macs(c, y, keys))
    return false;
  if (surg_type_rank(qt) == 4) {
    if (!dim(qt, 1, &heads) || !dim(qt, 2, &queries)) return false;
  } else {
    heads = plain(surg_node_int(c->n, "q_num_heads", 0));
    if (heads.k < 1 || !dim(qt, 1, &queries)) return false;
  }
  return dim(qt, 0, &batch) && add_scores(c, batch, heads, queries, keys);
}

/* com.microsoft: queries of [batch, queries, features] and `keys` keys; `q` is the number of
 * elements of the queries. */
static bool heads_attend(cost *c, const surg_type *x, surg__amount q, surg__amount keys) {
  surg__amount y, batch, queries;
  const int64_t heads = surg_node_int(c->n, "num_heads", 0);
  return heads > 0 && x && surg_type_rank(x) >= 3 && dim(x, 0, &batch) && dim(x, 1, &queries) &&
         result(c, &y) && add_macs(c, q, keys) && add_macs(c, y, keys) &&
         add_scores(c, batch, plain(heads), queries, keys);
}

/* First the projection of the input to queries, keys and values. */
static bool attention_of(cost *c, size_t past_at) {
  surg__amount batch, queries, keys, past = plain(0), w, y, rows;
  const surg_type *x = input(c, 0);
  if (!dim(x, 0, &batch) || !dim(x, 1, &queries) || !count_of(c, input(c, 1), &w) ||
      !times(c->m, batch, queries, &rows) || !add_macs(c, rows, w) || !result(c, &y))
    return false;
  if (surg_node_input(c->n, past_at) && !dim(input(c, past_at), 3, &past)) return false;
  return surg__amount_add(c->m, queries, past, &keys) && heads_attend(c, x, y, keys);
}
static bool ms_attention(cost *c) {
  return attention_of(c, 4);
}
static bool q_attention(cost *c) {
  return attention_of(c, 8);
}

static bool multi_head_attention(cost *c) {
  surg__amount q, keys, past = plain(0);
  const surg_type *x = input(c, 0), *k = input(c, 1);
  if (!x || surg_type_rank(x) != 3 || !k || !count_of(c, x, &q))
    return false; /* packed: unknown */
  if (!dim(k, surg_type_rank(k) == 3 ? 1 : 2, &keys)) return false;
  if (surg_node_input(c->n, 6) && !dim(input(c, 6), 2, &past)) return false;
  return surg__amount_add(c->m, keys, past, &keys) && heads_attend(c, x, q, keys);
}

/* The present-key output contains all keys. */
static bool group_query_attention(cost *c) {
  surg__amount keys, y;
  return dim(ranked(surg_node_output(c->n, 1)), 2, &keys) && result(c, &y) &&
         heads_attend(c, input(c, 0), y, keys);
}

static bool matmul_nbits(cost *c) {
  surg__amount out;
  const int64_t k = surg_node_int(c->n, "K", 0);
  return k > 0 && result(c, &out) && add_macs(c, out, plain(k));
}

/* One product per coefficient and row. */
static bool linear(cost *c) {
  size_t n = 0;
  surg__amount rows;
  const surg_attr *a = surg_node_attr(c->n, "coefficients");
  return a && surg_attr_floats(a, &n) && dim(input(c, 0), 0, &rows) &&
         add_macs(c, rows, plain((int64_t)n));
}

/* Sizes by label, -1 where a label does not occur; axes of "..." are counted from the last one. */
typedef struct labels {
  surg__amount size[256];
  surg__amount dots[SURG_LIMIT_RANK];
} labels;

/* False: two different fixed sizes. */
static bool merge_size(surg__amount *held, surg__amount size) {
  const bool is_one = !held->expr && held->k == 1;
  if (!held->expr && held->k < 0) {
    *held = size;
    return true;
  }
  if (is_one || (held->expr && !size.expr && size.k != 1)) *held = size;
  return held->expr || size.expr || size.k == 1 || held->k == size.k;
}

/* Reads the term of one operand, up to a comma, an arrow or the end. */
static bool einsum_term(labels *l, const char **at, const char *end, const surg_type *t) {
  const char *p = *at;
  size_t letters = 0, axis = 0;
  if (!t) return false;
  for (const char *q = p; q < end && *q != ',' && *q != '-'; q++) letters += *q != '.' && *q != ' ';
  const size_t rank = surg_type_rank(t);
  if (letters > rank || rank - letters > SURG_COUNT(l->dots)) return false;
  bool dotted = false;
  for (; p < end && *p != ',' && *p != '-'; p++) {
    surg__amount size;
    if (*p == ' ' || (*p == '.' && dotted)) continue;
    if (*p == '.') {
      dotted = true;
      for (size_t left = rank - letters; left; left--, axis++)
        if (!dim(t, (int)axis, &size) || !merge_size(&l->dots[left - 1], size)) return false;
      continue;
    }
    if (!dim(t, (int)axis++, &size) || !merge_size(&l->size[(unsigned char)*p], size)) return false;
  }
  *at = p;
  return axis == rank;
}

static bool multiply(const cost *c, const surg__amount *list, size_t n, surg__amount *all) {
  for (size_t i = 0; i < n; i++)
    if ((list[i].expr || list[i].k >= 0) && !times(c->m, *all, list[i], all)) return false;
  return true;
}

/* One product of all operands per combination of indices. */
static bool einsum(cost *c) {
  const surg_str equation = surg_node_string(c->n, "equation", "");
  labels l;
  for (size_t i = 0; i < SURG_COUNT(l.size); i++) l.size[i] = plain(-1);
  for (size_t i = 0; i < SURG_COUNT(l.dots); i++) l.dots[i] = plain(-1);
  const char *p = equation.p, *end = p ? p + equation.n : p;
  const size_t n = surg_node_input_count(c->n);
  for (size_t i = 0; i < n; i++) {
    if (!einsum_term(&l, &p, end, input(c, i))) return false;
    if (p < end && *p == ',') p++;
  }
  surg__amount all = plain(1);
  if (!multiply(c, l.size, SURG_COUNT(l.size), &all) ||
      !multiply(c, l.dots, SURG_COUNT(l.dots), &all))
    return false;
  return n < 2 ? add_flops(c, all) : add_macs(c, all, plain((int64_t)n - 1));
}

/* --- windows and images --- */

static bool pool(cost *c) {
  size_t n;
  surg__amount each = plain(1), out;
  const int64_t *kernel = surg_node_ints(c->n, "kernel_shape", &n);
  for (size_t i = 0; kernel && i < n; i++)
    if (kernel[i] < 0 || !times(c->m, each, plain(kernel[i]), &each)) return false;
  return kernel && result(c, &out) && times(c->m, out, each, &out) && add_flops(c, out);
}

static bool mode_is(const surg_node *n, const char *mode) {
  const surg_str s = surg_node_string(n, "mode", "");
  return s.n == strlen(mode) && memcmp(s.p, mode, s.n) == 0;
}

/* 2 or 4 neighbours along each resized axis. */
static bool resize(cost *c) {
  if (mode_is(c->n, "nearest")) return true;
  const int64_t near = mode_is(c->n, "cubic") ? 4 : 2;
  const surg_type *x = input(c, 0), *y = ranked(surg_node_output(c->n, 0));
  surg__amount each = plain(1), a, b, out;
  if (!x || !y || surg_type_rank(x) != surg_type_rank(y)) return false;
  for (size_t i = 0; i < surg_type_rank(x); i++) {
    if (!dim(x, (int)i, &a) || !dim(y, (int)i, &b)) return false;
    if (!same(a, b) && !times(c->m, each, plain(near), &each)) return false;
  }
  return result(c, &out) && add_macs(c, out, each);
}

static bool grid_sample(cost *c) {
  const surg_type *x = input(c, 0);
  surg__amount each = plain(1), out;
  if (!x || surg_type_rank(x) < 3 || !result(c, &out)) return false;
  if (mode_is(c->n, "nearest")) return true;
  const bool cubic = mode_is(c->n, "cubic") || mode_is(c->n, "bicubic");
  for (size_t i = 2; i < surg_type_rank(x); i++)
    if (!times(c->m, each, plain(cubic ? 4 : 2), &each)) return false;
  return add_macs(c, out, each);
}

/* n inputs: n - 1 operations per element. */
static bool variadic(cost *c) {
  surg__amount out;
  const size_t n = surg_node_input_count(c->n);
  return result(c, &out) && add_times(c, out, n > 1 ? (int64_t)n - 1 : 0);
}

static bool lrn(cost *c) {
  surg__amount out;
  const int64_t size = surg_node_int(c->n, "size", 0);
  return size > 0 && size < (1 << 30) && result(c, &out) && add_times(c, out, 2 * size + 3);
}

/* --- matrices and signals --- */

/* n^3 / 3 multiply-accumulate operations per matrix, as in Gaussian elimination. */
static bool det(cost *c) {
  const surg_type *x = input(c, 0);
  surg__amount n, cube, all;
  if (!dim(x, -1, &n) || !count_of(c, x, &all) || !times(c->m, n, n, &cube) ||
      !times(c->m, cube, n, &cube))
    return false;
  /* The number of matrices is the element count / (n * n); the cost is n / 3 per element. */
  if (cube.expr || all.expr)
    return times(c->m, all, n, &all) &&
           settle(surg__expr_div_num(as_expr(c->m, all), 3), &all) && add_macs(c, all, plain(1));
  return n.k == 0 || add_macs(c, plain(all.k / (n.k * n.k)), plain(cube.k / 3));
}

/* The single integer of a constant input, or `otherwise` where the input is absent. */
static bool constant_int(const cost *c, size_t i, int64_t otherwise, int64_t *out) {
  const surg_value *v = surg_node_input(c->n, i);
  *out = otherwise;
  return !v || surg__read_ints(surg_value_constant(v), out, 1) == 1;
}

/* 5 * n * log2(n), the usual estimate for a fast Fourier transform of n points. */
static bool add_transforms(cost *c, surg__amount count, int64_t n) {
  int64_t steps = 0, each;
  while (n > 0 && steps < 62 && (INT64_C(1) << steps) < n) steps++;
  return n > 0 && surg__mul_i64(n, 5 * steps, &each) && add_times(c, count, each);
}

static bool dft(cost *c) {
  const surg_schema *s = surg_node_schema(c->n);
  const surg_type *x = input(c, 0);
  int64_t axis = surg_node_int(c->n, "axis", 1), length;
  surg__amount d, count = plain(1);
  if (!x || (s->since >= 20 && !constant_int(c, 2, -2, &axis))) return false;
  const int64_t rank = (int64_t)surg_type_rank(x);
  if (axis < -rank || axis >= rank || !dim(x, (int)axis, &d)) return false;
  if (axis < 0) axis += rank;
  if (!constant_int(c, 1, d.expr ? -1 : d.k, &length) || length < 0) return false;
  for (int64_t i = 0; i + 1 < rank; i++) /* the last axis separates real and imaginary parts */
    if (i != axis && (!dim(x, (int)i, &d) || !times(c->m, count, d, &count))) return false;
  return length == 0 || add_transforms(c, count, length);
}

static bool stft(cost *c) {
  const surg_type *y = ranked(surg_node_output(c->n, 0)), *w = input(c, 2);
  surg__amount batch, frames, each, all;
  int64_t length;
  if (w) {
    if (!dim(w, 0, &each) || each.expr) return false;
    length = each.k;
  } else if (!constant_int(c, 3, -1, &length)) {
    return false;
  }
  if (length < 1 || !dim(y, 0, &batch) || !dim(y, 1, &frames) ||
      !times(c->m, batch, frames, &all) || !add_transforms(c, all, length))
    return false;
  return !w || add_times(c, all, length); /* each frame is multiplied by the window */
}

/* --- ai.onnx.ml models; an input of rank 1 is one row --- */

static bool rows_of(const cost *c, surg__amount *rows) {
  const surg_type *x = input(c, 0);
  *rows = plain(1);
  return x && (surg_type_rank(x) < 2 || dim(x, 0, rows));
}

/* Comparisons on the path through a balanced tree with that many leaves. */
static int64_t depth_of(uint64_t leaves) {
  int64_t depth = 0;
  while (depth < 63 && (UINT64_C(1) << depth) < leaves) depth++;
  return depth;
}

static const int64_t *ints_of(const cost *c, const char *name, size_t *n) {
  const surg_attr *a = surg_node_attr(c->n, name);
  *n = 0;
  return a ? surg_attr_ints(a, n) : NULL;
}

/* Per row and tree: the comparisons on a path, and adding the leaf. Nodes of a tree are adjacent,
 * and n leaves have n - 1 inner nodes. */
static bool trees(cost *c) {
  size_t n, tree = 0;
  surg__amount rows;
  int64_t each = 0;
  const int64_t *ids = ints_of(c, "nodes_treeids", &n);
  if (!ids || !rows_of(c, &rows)) return false;
  for (size_t i = 0; i < n; i++) {
    tree++;
    if (i + 1 < n && ids[i + 1] == ids[i]) continue;
    each += depth_of((tree + 1) / 2) + 1;
    tree = 0;
  }
  return add_times(c, rows, each);
}

/* The later operator lists the roots, and the leaves of all trees together. */
static bool tree_ensemble(cost *c) {
  size_t roots, leaves;
  surg__amount rows;
  ints_of(c, "tree_roots", &roots);
  ints_of(c, "leaf_targetids", &leaves);
  return roots && rows_of(c, &rows) &&
         add_times(c, rows, (int64_t)roots * (depth_of((leaves + roots - 1) / roots) + 1));
}

/* One product per support vector, or per coefficient where there are no support vectors. */
static bool support_vectors(cost *c) {
  size_t n = 0;
  surg__amount rows;
  const surg_attr *a = surg_node_attr(c->n, "support_vectors");
  if (a) surg_attr_floats(a, &n);
  if (!n && (a = surg_node_attr(c->n, "coefficients")) != NULL) surg_attr_floats(a, &n);
  return n && rows_of(c, &rows) && add_macs(c, rows, plain((int64_t)n));
}

/* --- the table (doc/info.md) --- */

static const rule rules[SURG_OP_COUNT] = {
#define SURG_TRAIT_COST(op, basis, factor, special) [SURG_OP_##op] = {basis, factor, special},
#include "schema/traits.gen.h"
#undef SURG_TRAIT_COST
};

static rule rule_of(const surg_schema *s) {
  const rule r = rules[s->op];
  if (r.basis != NO_RULE) return r;
  if (s->flags & (SURG__OP_DATA_MOVER | SURG__OP_CONTROL_FLOW)) return (rule){NOTHING, 0, NULL};
  if (s->flags & SURG__OP_ELEMENTWISE) return (rule){PER_RESULT, 1, NULL};
  /* Older versions that broadcast by an attribute have the rule of the newest version. */
  size_t n;
  const surg_schema *newest = surg__schema_versions(s->op, &n) + n - 1;
  if (newest->flags & SURG__OP_ELEMENTWISE) return (rule){PER_RESULT, 1, NULL};
  return r;
}

surg_status surg__node_cost(const surg_node *n, surg__amount *macs, surg__amount *flops) {
  *macs = *flops = plain(0);
  /* For a call the nodes of the body are counted instead. */
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return SURG_OK;
  const surg_schema *s = surg_node_schema(n);
  const rule r = s ? rule_of(s) : (rule){NO_RULE, 0, NULL};
  cost c = {.n = n, .m = surg_graph_model(surg_node_graph(n))};
  surg__amount count;
  bool known = true;
  switch (r.basis) {
    case NO_RULE:
      return SURG_EUNSUPPORTED;
    case NOTHING:
      break;
    case PER_RESULT:
      known = result(&c, &count) && add_times(&c, count, r.factor);
      break;
    case PER_INPUT:
      known = count_of(&c, input(&c, 0), &count) && add_times(&c, count, r.factor);
      break;
    case SPECIAL:
      known = r.fn(&c);
      break;
  }
  if (!known) return SURG_ENOTFOUND;
  *macs = c.macs;
  *flops = c.flops;
  return SURG_OK;
}

surg_status surg_node_cost(const surg_node *n, uint64_t *macs, uint64_t *flops) {
  surg__amount m, f;
  if (!n || !macs || !flops) return SURG_EUSAGE;
  const surg_status s = surg__node_cost(n, &m, &f);
  if (s != SURG_OK) return s;
  if (m.expr || f.expr) return SURG_ENOTFOUND;
  *macs = (uint64_t)m.k;
  *flops = (uint64_t)f.k;
  return SURG_OK;
}
