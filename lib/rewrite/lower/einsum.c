/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum as transposes, products and sums, equivalent to lib/eval/linear/einsum.c. Operands
 * are combined one by one. MatMul sums the axes that only the last two have; axes of one
 * operand are summed at the end, since summing before a multiplication by infinity changes
 * the result. If intermediate products would be too large, axes are summed as soon as no
 * later operand needs them. */
#include "rewrite/lower/native.h"

#define MOST_OPERANDS 8u
#define MOST_LABELS 7u /* per equation: intermediate tensors have one axis more */
#define FIRST_DOT 128  /* labels from here are axes of "...", counted from the end */

typedef struct term {
  int label[SURG__BT_RANK];
  uint32_t n;
  surg__built x; /* its axes correspond to the labels */
} term;

typedef struct einsum {
  surg__builder *b;
  term in[MOST_OPERANDS], out;
  uint32_t n;
  bool in_steps; /* sums are computed as early as possible */
} einsum;

/* --- the equation --- */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads the labels of a term; `dots` is the number of axes that "..." represents. */
static bool read_term(term *t, const char *p, size_t n, uint32_t dots) {
  bool seen = false;
  t->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (is_letter(p[i])) {
      if (t->n == SURG__BT_RANK) return false;
      t->label[t->n++] = p[i];
      continue;
    }
    if (seen || n - i < 3 || memcmp(p + i, "...", 3)) return false;
    seen = true;
    i += 2;
    for (uint32_t k = dots; k-- > 0;) {
      if (t->n == SURG__BT_RANK) return false;
      t->label[t->n++] = FIRST_DOT + (int)k;
    }
  }
  return true;
}

static uint32_t letters_of(const char *p, size_t n) {
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++) count += is_letter(p[i]);
  return count;
}

static bool has(const term *t, int label) {
  for (uint32_t i = 0; i < t->n; i++)
    if (t->label[i] == label) return true;
  return false;
}

static uint32_t axis_of(const term *t, int label) {
  uint32_t i = 0;
  while (i < t->n && t->label[i] != label) i++;
  return i;
}

static uint32_t times_seen(const einsum *e, int label) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n; i++)
    for (uint32_t k = 0; k < e->in[i].n; k++) n += e->in[i].label[k] == label;
  return n;
}

/* The implicit output, without "->": the axes of "...", then the letters
 * that occur once, sorted. */
static bool implicit_out(einsum *e, uint32_t dots) {
  e->out.n = 0;
  for (uint32_t k = dots; k-- > 0;) e->out.label[e->out.n++] = FIRST_DOT + (int)k;
  for (int c = 'A'; c <= 'z'; c++) {
    if (!is_letter((char)c) || times_seen(e, c) != 1) continue;
    if (e->out.n == SURG__BT_RANK) return false;
    e->out.label[e->out.n++] = c;
  }
  return true;
}

static bool read_equation(einsum *e, const char *p, size_t n) {
  size_t end = n, start = 0;
  uint32_t at = 0, dots = 0;
  for (size_t i = 0; i + 1 < n && end == n; i++)
    if (p[i] == '-' && p[i + 1] == '>') end = i;
  for (size_t i = 0; i <= end; i++) {
    if (i < end && p[i] != ',') continue;
    if (at == e->n) return false;
    const uint32_t rank = e->in[at].x.rank, letters = letters_of(p + start, i - start);
    const bool open = i - start > letters;
    if (rank < letters || (!open && rank != letters)) return false;
    if (!read_term(&e->in[at], p + start, i - start, rank - letters)) return false;
    if (rank - letters > dots) dots = rank - letters;
    if (e->in[at++].n != rank) return false;
    start = i + 1;
  }
  if (at != e->n || dots >= SURG__BT_RANK) return false;
  if (end == n) return implicit_out(e, dots);
  return read_term(&e->out, p + end + 2, n - end - 2, dots);
}

/* Whether the sizes of a letter may agree (1 broadcasts). For axes of "..." that are summed, they
 * must be known to be equal. */
static bool sizes_fit(const einsum *e, int label) {
  const surg__bdim *first = NULL;
  for (uint32_t i = 0; i < e->n; i++)
    for (uint32_t k = 0; k < e->in[i].n; k++) {
      if (e->in[i].label[k] != label) continue;
      const surg__bdim *d = &e->in[i].x.d[k];
      if (!first) first = d;
      if (surg__bdim_same(first, d)) continue;
      const bool differ = first->n >= 0 && d->n >= 0 && first->n != 1 && d->n != 1;
      if (label >= FIRST_DOT ? !has(&e->out, label) : differ) return false;
    }
  return first != NULL;
}

static bool labels_fit(const einsum *e) {
  int labels[MOST_LABELS];
  uint32_t n = 0;
  for (uint32_t i = 0; i <= e->n; i++) {
    const term *t = i < e->n ? &e->in[i] : &e->out;
    for (uint32_t k = 0; k < t->n; k++) {
      bool old = false, twice = false;
      for (uint32_t j = 0; j < n; j++) old = old || labels[j] == t->label[k];
      for (uint32_t j = 0; j < k; j++) twice = twice || t->label[j] == t->label[k];
      if (twice && (i == e->n || t->x.d[k].n < 0)) return false;
      if (old) continue;
      if (n == MOST_LABELS || !sizes_fit(e, t->label[k])) return false;
      labels[n++] = t->label[k];
    }
  }
  return true;
}

/* --- operands --- */

static void drop_label(term *t, uint32_t axis) {
  assert(axis < t->n);
  t->n--;
  memmove(&t->label[axis], &t->label[axis + 1], (t->n - axis) * sizeof *t->label);
}

/* Transposes a term to the order of the labels; it has all of them. */
static void order(const einsum *e, term *t, const int *labels, uint32_t n) {
  int64_t perm[SURG__BT_RANK];
  bool moves = false;
  for (uint32_t i = 0; i < n; i++) {
    perm[i] = axis_of(t, labels[i]);
    assert(perm[i] < (int64_t)t->n);
    if (perm[i] != (int64_t)i) moves = true;
  }
  if (!moves) return;
  t->x = surg__built_transpose(e->b, t->x, perm);
  memcpy(t->label, labels, n * sizeof *labels);
}

/* Merges two axes of one label into their diagonal: its elements are size + 1 apart in
 * the two axes as one. */
static void take_diagonal(const einsum *e, term *t, uint32_t first, uint32_t second) {
  surg__builder *b = e->b;
  assert(first < second && second < t->n);
  const int label = t->label[first];
  int64_t perm[SURG__BT_RANK] = {first, second};
  int rest[SURG__BT_RANK] = {label};
  surg__bdim d[SURG__BT_RANK];
  uint32_t n = 2, kept = 1;
  for (uint32_t i = 0; i < t->n; i++) {
    if (i == first || i == second) continue;
    perm[n++] = i;
    rest[kept++] = t->label[i];
  }
  const surg__bdim size = t->x.d[first];
  surg__built x = surg__built_transpose(b, t->x, perm);
  d[0] = surg__bdim_mul(b, size, size);
  for (uint32_t i = 1; i < kept; i++) d[i] = x.d[i + 1];
  x = surg__built_reshape(b, x, d, kept);
  t->x = surg__built_gather(
      b, x, surg__built_steps(b, size, surg__bdim_fixed(size.n + 1), SURG_INT64), 0);
  memcpy(t->label, rest, kept * sizeof *rest);
  t->n = kept;
}

static void take_diagonals(const einsum *e, term *t) {
  for (uint32_t i = 0; i < t->n; i++)
    for (uint32_t k = i + 1; k < t->n; k++) {
      if (t->label[i] != t->label[k]) continue;
      take_diagonal(e, t, i, k);
      i = k = 0; /* the labels changed: start again */
    }
}

static void sum_rest(const einsum *e, term *t) {
  for (uint32_t i = t->n; i-- > 0;) {
    if (has(&e->out, t->label[i])) continue;
    t->x = surg__built_reduce(e->b, "ReduceSum", t->x, i, false);
    drop_label(t, i);
  }
}

/* --- sizes --- */

/* The broadcast size of two axes of one label; one of them may be 1. */
static surg__bdim broadcast(surg__builder *b, const surg__bdim *x, const surg__bdim *y) {
  if (surg__bdim_same(x, y) || y->n == 1 || x->n > 1) return *x;
  if (x->n == 1 || y->n > 1) return *y;
  surg_value *vx = surg__bdim_vector(b, x, 1), *vy = surg__bdim_vector(b, y, 1);
  surg_value *one = surg__b_binary(b, "Equal", vx, surg__bint(b, 1));
  return surg__bdim_of(surg__bint_choose(b, one, vy, vx));
}

/* Expands the axes of a label to one size, where they may differ. MatMul does not broadcast the
 * axis it sums over. */
static void unify_label(einsum *e, int label) {
  surg__bdim all = {0};
  uint32_t seen = 0;
  bool same = true;
  for (uint32_t i = 0; i < e->n; i++) {
    if (!has(&e->in[i], label)) continue;
    const surg__bdim *d = &e->in[i].x.d[axis_of(&e->in[i], label)];
    same = same && (!seen || surg__bdim_same(&all, d));
    all = seen++ ? broadcast(e->b, &all, d) : *d;
  }
  for (uint32_t i = 0; i < e->n && !same; i++) {
    term *t = &e->in[i];
    const uint32_t axis = axis_of(t, label);
    surg__bdim d[SURG__BT_RANK];
    if (axis == t->n || surg__bdim_same(&t->x.d[axis], &all)) continue;
    memcpy(d, t->x.d, t->n * sizeof *d);
    d[axis] = all;
    t->x = surg__built_expand(e->b, t->x, d, t->n);
  }
}

static void unify(einsum *e) {
  for (uint32_t i = 0; i < e->n; i++)
    for (uint32_t k = 0; k < e->in[i].n; k++)
      if (e->in[i].label[k] < FIRST_DOT) unify_label(e, e->in[i].label[k]);
}

/* Whether sizes of a letter may differ; expanding them requires operators of opset 9. */
static bool uneven(const einsum *e) {
  for (uint32_t i = 0; i < e->n; i++)
    for (uint32_t k = 0; k < e->in[i].n; k++)
      for (uint32_t j = 0; j < i; j++) {
        const int label = e->in[i].label[k];
        if (label >= FIRST_DOT || !has(&e->in[j], label)) continue;
        if (!surg__bdim_same(&e->in[i].x.d[k], &e->in[j].x.d[axis_of(&e->in[j], label)]))
          return true;
      }
  return false;
}

/* --- products --- */

typedef struct groups {
  int batch[SURG__BT_RANK], left[SURG__BT_RANK], right[SURG__BT_RANK], sum[SURG__BT_RANK];
  uint32_t n_batch, n_left, n_right, n_sum;
} groups;

static bool needed(const einsum *e, int label, uint32_t next) {
  if (has(&e->out, label) || (next < e->n && !e->in_steps)) return true;
  for (uint32_t i = next; i < e->n; i++)
    if (has(&e->in[i], label)) return true;
  return false;
}

static groups group(const einsum *e, const term *a, const term *c, uint32_t next) {
  groups g = {0};
  for (uint32_t i = 0; i < a->n; i++) {
    const int label = a->label[i];
    if (!has(c, label))
      g.left[g.n_left++] = label;
    else if (needed(e, label, next))
      g.batch[g.n_batch++] = label;
    else
      g.sum[g.n_sum++] = label;
  }
  for (uint32_t i = 0; i < c->n; i++)
    if (!has(a, c->label[i])) g.right[g.n_right++] = c->label[i];
  return g;
}

static uint32_t joined(const int *a, uint32_t na, const int *c, uint32_t nc, const int *d,
                       uint32_t nd, int *out) {
  if (na) memcpy(out, a, na * sizeof *a);
  if (nc) memcpy(out + na, c, nc * sizeof *c);
  if (nd) memcpy(out + na + nc, d, nd * sizeof *d);
  return na + nc + nd;
}

static surg__bdim product(const einsum *e, const surg__bdim *d, uint32_t n) {
  surg__bdim all = surg__bdim_fixed(1);
  for (uint32_t i = 0; i < n; i++) all = surg__bdim_mul(e->b, all, d[i]);
  return all;
}

/* Reshapes to the first n0 axes, the next n1 axes as one, and the rest as one. */
static surg__built matrices(const einsum *e, const term *t, uint32_t n0, uint32_t n1) {
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0; i < n0; i++) d[i] = t->x.d[i];
  d[n0] = product(e, &t->x.d[n0], n1);
  d[n0 + 1] = product(e, &t->x.d[n0 + n1], t->n - n0 - n1);
  assert(n0 + n1 <= t->n && n0 + 2 <= SURG__BT_RANK); /* MOST_LABELS limits this */
  return surg__built_reshape(e->b, t->x, d, n0 + 2);
}

/* Whether the left axes stay apart, as dimensions over which MatMul broadcasts: merging sizes that
 * are unknown, and separating them again, requires more nodes. */
static bool apart(const term *a, const groups *g) {
  bool known = true;
  for (uint32_t i = 0; i < g->n_left; i++) known = known && a->x.d[g->n_batch + i].n >= 0;
  return g->n_batch == 0 && g->n_left > 1 && !known;
}

static term multiply(const einsum *e, term a, term c, uint32_t next) {
  surg__builder *b = e->b;
  const groups g = group(e, &a, &c, next);
  int labels[2 * SURG__BT_RANK];
  term y = {0};
  y.n = joined(g.batch, g.n_batch, g.left, g.n_left, g.right, g.n_right, y.label);
  assert(y.n <= MOST_LABELS);
  uint32_t n = joined(g.batch, g.n_batch, g.left, g.n_left, g.sum, g.n_sum, labels);
  order(e, &a, labels, n);
  n = g.n_sum ? joined(g.batch, g.n_batch, g.sum, g.n_sum, g.right, g.n_right, labels)
              : joined(g.batch, g.n_batch, g.right, g.n_right, NULL, 0, labels);
  order(e, &c, labels, n);
  if (!g.n_sum) {
    for (uint32_t i = 0; i < g.n_right; i++) a.x = surg__built_unsqueeze(b, a.x, a.x.rank);
    for (uint32_t i = 0; i < g.n_left; i++) c.x = surg__built_unsqueeze(b, c.x, g.n_batch);
    y.x = surg__built_binary(b, "Mul", a.x, c.x);
    return y;
  }
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0; i < g.n_left; i++) d[g.n_batch + i] = a.x.d[g.n_batch + i];
  for (uint32_t i = 0; i < g.n_right; i++)
    d[g.n_batch + g.n_left + i] = c.x.d[g.n_batch + g.n_sum + i];
  const surg__built left = apart(&a, &g) ? matrices(e, &a, g.n_left - 1, 1)
                                         : matrices(e, &a, g.n_batch, g.n_left);
  y.x = surg__built_matmul(b, left, matrices(e, &c, g.n_batch, g.n_sum));
  for (uint32_t i = 0; i < g.n_batch; i++) d[i] = y.x.d[i];
  y.x = surg__built_reshape(b, y.x, d, y.n);
  return y;
}

/* --- the whole operator --- */

static bool product_type(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16 || dtype == SURG_INT32 || dtype == SURG_INT64;
}

static bool read_einsum(einsum *e) {
  const surg_node *node = surg__b_matched(e->b);
  const surg_str said = surg_node_string(node, "equation", "");
  e->n = (uint32_t)surg_node_input_count(node);
  if (!surg__b_attrs_known(e->b) || e->n < 1 || e->n > MOST_OPERANDS) return false;
  for (uint32_t i = 0; i < e->n; i++)
    if (!surg__built_of(surg_node_input(node, i), &e->in[i].x) || !product_type(e->in[i].x.dtype) ||
        e->in[i].x.dtype != e->in[0].x.dtype)
      return false;
  char *text = surg__arena_array(e->b->m->arena, said.n + 1, 1);
  size_t n = 0;
  if (!text) return false;
  for (size_t i = 0; i < said.n; i++)
    if (said.p[i] != ' ') text[n++] = said.p[i];
  return read_equation(e, text, n) && labels_fit(e);
}

/* Whether the products computed before a sum have known sizes and are not too large. */
static bool products_fit(const einsum *e) {
  term all = {0};
  uint64_t count;
  for (uint32_t i = 0; e->n > 2 && i + 1 < e->n; i++)
    for (uint32_t k = 0; k < e->in[i].n; k++) {
      if (has(&all, e->in[i].label[k])) continue;
      assert(all.n < MOST_LABELS); /* checked by `labels_fit` */
      all.label[all.n] = e->in[i].label[k];
      all.x.d[all.n++] = e->in[i].x.d[k];
    }
  all.x.rank = all.n;
  return surg__built_count(&all.x, SURG_LIMIT_EMIT_PRODUCT, &count);
}

static surg_status make_einsum(surg__builder *b, bool in_steps) {
  einsum e = {.b = b, .in_steps = in_steps};
  if (!read_einsum(&e) || surg__b_bad(b, !in_steps && !products_fit(&e),
                                      "the product is too large, or a size is unknown"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, b->m->opset < 9 && uneven(&e), "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const int type = e.in[0].x.dtype;
  const bool half = type == SURG_FLOAT16 || type == SURG_BFLOAT16;
  for (uint32_t i = 0; i < e.n; i++) {
    e.in[i].x = surg__built_cast(b, e.in[i].x, half ? SURG_FLOAT : type);
    take_diagonals(&e, &e.in[i]);
  }
  unify(&e);
  term all = e.in[0];
  for (uint32_t i = 1; i < e.n; i++) all = multiply(&e, all, e.in[i], i + 1);
  sum_rest(&e, &all);
  order(&e, &all, e.out.label, e.out.n);
  surg__built_result(b, "y", surg__built_cast(b, all.x, type));
  return b->status;
}

static surg_status einsum_to_matmul(surg__builder *b) {
  return make_einsum(b, false);
}

static surg_status einsum_in_steps(surg__builder *b) {
  return make_einsum(b, true);
}

/* --- equations of one node --- */

static bool plain(const term *t) {
  for (uint32_t i = 0; i < t->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (t->label[i] == t->label[k]) return false;
  return true;
}

/* Einsum that permutes the axes of one operand. */
static surg_status einsum_moved(surg__builder *b) {
  einsum e = {.b = b};
  if (!read_einsum(&e) || surg__b_bad(b, e.n != 1, "expected one operand") ||
      surg__b_bad(b, !plain(&e.in[0]), "an operand repeats a letter") ||
      surg__b_bad(b, e.in[0].n != e.out.n, "the equation sums over an axis"))
    return SURG_EUNSUPPORTED;
  order(&e, &e.in[0], e.out.label, e.out.n);
  surg__built_result(b, "y", e.in[0].x);
  return b->status;
}

/* Einsum that sums axes of one operand and keeps the order of the others. */
static surg_status einsum_summed(surg__builder *b) {
  einsum e = {.b = b};
  int64_t axes[SURG__BT_RANK];
  uint32_t n = 0, kept = 0;
  if (!read_einsum(&e) || surg__b_bad(b, e.n != 1, "expected one operand") ||
      surg__b_bad(b, !plain(&e.in[0]), "an operand repeats a letter"))
    return SURG_EUNSUPPORTED;
  const term *t = &e.in[0];
  for (uint32_t i = 0; i < t->n; i++) {
    if (!has(&e.out, t->label[i]))
      axes[n++] = i;
    else if (surg__b_bad(b, e.out.label[kept++] != t->label[i], "the equation moves axes"))
      return SURG_EUNSUPPORTED;
  }
  if (surg__b_bad(b, n == 0, "the equation sums over no axis")) return SURG_EUNSUPPORTED;
  surg_value *v = surg__b_over(b, "ReduceSum", t->x.v, axes, n);
  surg__b_set_int(b, v, "keepdims", 0);
  surg__b_result(b, "y", v);
  return b->status;
}

static bool in_order(const term *t, const int *a, uint32_t na, const int *c, uint32_t nc,
                     const int *d, uint32_t nd) {
  int labels[3 * SURG__BT_RANK];
  return joined(a, na, c, nc, d, nd, labels) == t->n &&
         memcmp(labels, t->label, t->n * sizeof *labels) == 0;
}

static bool same_sizes(const term *a, const term *c, const int *labels, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!surg__bdim_same(&a->x.d[axis_of(a, labels[i])], &c->x.d[axis_of(c, labels[i])]))
      return false;
  return true;
}

/* Einsum of two operands whose axes are ordered as for MatMul, or are identical. */
static surg_status einsum_product(surg__builder *b) {
  einsum e = {.b = b};
  if (!read_einsum(&e) || surg__b_bad(b, e.n != 2, "expected two operands") ||
      surg__b_bad(b, !plain(&e.in[0]), "an operand repeats a letter") ||
      surg__b_bad(b, !plain(&e.in[1]), "an operand repeats a letter"))
    return SURG_EUNSUPPORTED;
  const term *a = &e.in[0], *c = &e.in[1];
  const groups g = group(&e, a, c, 2);
  if (surg__b_bad(b, !in_order(a, g.batch, g.n_batch, g.left, g.n_left, g.sum, g.n_sum),
                  "the axes of the first operand are not in the order of MatMul") ||
      surg__b_bad(b, !in_order(c, g.batch, g.n_batch, g.sum, g.n_sum, g.right, g.n_right),
                  "the axes of the second operand are not in the order of MatMul") ||
      surg__b_bad(b, !in_order(&e.out, g.batch, g.n_batch, g.left, g.n_left, g.right, g.n_right),
                  "the axes of the result are not in the order of MatMul") ||
      surg__b_bad(b, !same_sizes(a, c, g.batch, g.n_batch),
                  "the batch sizes are not proven to be equal") ||
      surg__b_bad(b, !same_sizes(a, c, g.sum, g.n_sum),
                  "the summed sizes are not proven to be equal"))
    return SURG_EUNSUPPORTED;
  if (g.n_left == 0 && g.n_right == 0 && g.n_sum == 0) {
    surg__built_result(b, "y", surg__built_binary(b, "Mul", a->x, c->x));
    return b->status;
  }
  if (surg__b_bad(b, g.n_sum != 1, "expected one summed axis") ||
      surg__b_bad(b, g.n_right != 1, "expected one axis of the second operand alone") ||
      surg__b_bad(b, g.n_left == 0, "the first operand has no axis of its own") ||
      surg__b_bad(b, g.n_batch > 0 && g.n_left > 1,
                  "the first operand has several axes of its own beside the batch"))
    return SURG_EUNSUPPORTED;
  surg__built_result(b, "y", surg__built_matmul(b, a->x, c->x));
  return b->status;
}

const surg__native surg__natives_einsum[] = {
    {"einsum_moved", einsum_moved, "Einsum as a Transpose"},
    {"einsum_summed", einsum_summed, "Einsum as a ReduceSum"},
    {"einsum_product", einsum_product, "Einsum as a MatMul or Mul"},
    {"einsum", einsum_to_matmul, "Einsum as transposes and products, sums last"},
    {"einsum_in_steps", einsum_in_steps, "Einsum as transposes, products and sums between them"},
    {NULL, NULL, NULL},
};
