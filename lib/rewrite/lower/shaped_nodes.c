/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of emissions in C whose results have known sizes. Axes become attributes or inputs, as the
 * opset of the emission requires. */
#include "rewrite/lower/native.h"

static bool newer(const surg__builder *b, int64_t opset) {
  return b->m->opset >= opset;
}

/* The size of a result about which nothing else is known: a dimension of the result itself. */
static surg__bdim own(surg_value *v, uint32_t axis) {
  return (surg__bdim){.n = -1, .of = v, .axis = axis, .dim = {.value = -1}};
}

/* Sizes of x and y broadcast, except for the last `skip` axes. */
static void broadcast(surg__built *to, const surg__built *x, const surg__built *y, uint32_t skip) {
  to->rank = x->rank > y->rank ? x->rank : y->rank;
  for (uint32_t i = skip; i < to->rank; i++) {
    const surg__bdim *a = i < x->rank ? &x->d[x->rank - 1 - i] : NULL;
    const surg__bdim *c = i < y->rank ? &y->d[y->rank - 1 - i] : NULL;
    const uint32_t at = to->rank - 1 - i;
    if (!a || (a->n == 1 && c))
      to->d[at] = *c;
    else if (!c || c->n == 1 || surg__bdim_same(a, c))
      to->d[at] = *a;
    else if (a->n > 1 || c->n > 1)
      to->d[at] = a->n > 1 ? *a : *c;
    else
      to->d[at] = own(to->v, at);
  }
}

bool surg__b_takes(const surg__builder *b, const char *op, size_t input, int dtype) {
  const surg_schema *s = surg_schema_find("", op, b->m->opset);
  const surg__param *p = s ? surg__schema_formal(s, false, input) : NULL;
  const surg__type_param *t = p ? surg__schema_type_param(s, p) : NULL;
  return t && dtype > 0 && dtype < SURG_DTYPE_COUNT && (t->tensor_mask >> dtype & 1);
}

/* The element type of a result: fixed by the operator, or that of x. */
static int result_dtype(const surg__builder *b, const char *op, const surg__built *x) {
  const surg_schema *s = surg_schema_find("", op, b->m->opset);
  const surg__param *y = s ? surg__schema_formal(s, true, 0) : NULL;
  const surg__type_param *t = y ? surg__schema_type_param(s, y) : NULL;
  const uint32_t may = t ? t->tensor_mask : 0;
  return may && !(may & (may - 1)) ? __builtin_ctz(may) : x->dtype;
}

surg__built surg__built_unary(surg__builder *b, const char *op, surg__built x) {
  x.v = surg__b_unary(b, op, x.v);
  x.dtype = result_dtype(b, op, &x);
  return x;
}

surg__built surg__built_binary(surg__builder *b, const char *op, surg__built x, surg__built y) {
  surg__built z = {.v = surg__b_binary(b, op, x.v, y.v), .dtype = result_dtype(b, op, &x)};
  broadcast(&z, &x, &y, 0);
  return z;
}

surg__built surg__built_number(surg__builder *b, const char *op, surg__built x, double y) {
  return surg__built_binary(b, op, x, surg__built_scalar(b, x.dtype, y));
}

surg__built surg__built_where(surg__builder *b, surg__built c, surg__built x, surg__built y) {
  surg_value *const in[3] = {c.v, x.v, y.v};
  surg__built z = {.v = surg__b_node(b, "Where", in, 3), .dtype = x.dtype}, t = z;
  broadcast(&t, &c, &x, 0);
  broadcast(&z, &t, &y, 0);
  return z;
}

surg__built surg__built_matmul(surg__builder *b, surg__built x, surg__built y) {
  surg__built z = {.v = surg__b_binary(b, "MatMul", x.v, y.v), .dtype = x.dtype};
  assert(b->status || (x.rank >= 2 && y.rank >= 2));
  broadcast(&z, &x, &y, 2);
  if (b->status) return z;
  z.d[z.rank - 2] = x.d[x.rank - 2];
  z.d[z.rank - 1] = y.d[y.rank - 1];
  return z;
}

surg__built surg__built_cast(surg__builder *b, surg__built x, int dtype) {
  if (x.dtype == dtype) return x;
  x.v = surg__b_unary(b, "Cast", x.v);
  surg__b_set_to(b, x.v, dtype);
  x.dtype = dtype;
  return x;
}

/* --- shapes --- */

/* Whether a 0 in the shape input of Reshape, which means "the dimension of x", may be used for this
 * size: it equals that dimension, or is 0 only where that dimension is. */
static bool zero_holds(const surg__built *x, const surg__bdim *d, uint32_t at) {
  if (surg__bdim_filled(d)) return true;
  if (at >= x->rank) return false;
  if (surg__bdim_same(d, &x->d[at])) return true;
  return d->n < 0 && d->of && d->of == x->d[at].of && d->axis == x->d[at].axis;
}

/* The elements of x in a tensor of the rank of `shape` that has a 0 wherever `shape` has one.
 * Reshape, which below opset 14 reads a 0 as "the dimension of x", then gives that shape. All
 * elements are along the first axis, and Expand (Tile below opset 8) by min(shape, 1) sets the
 * zeros; a 0 occurs in `shape` only where x is empty. */
static surg_value *zeros_in_place(surg__builder *b, surg_value *x, surg_value *shape,
                                  uint32_t rank) {
  int64_t column[SURG__BT_RANK] = {-1};
  assert(rank > 0);
  for (uint32_t i = 1; i < rank; i++) column[i] = 1;
  x = surg__b_binary(b, "Reshape", x, surg__b_ints(b, column, rank));
  surg_value *least = surg__b_cast(b, surg__b_cast(b, shape, SURG_BOOL), SURG_INT64);
  return surg__b_binary(b, newer(b, 8) ? "Expand" : "Tile", x, least);
}

surg__built surg__built_reshape(surg__builder *b, surg__built x, const surg__bdim *d,
                                uint32_t rank) {
  surg__built y = {.dtype = x.dtype, .rank = rank};
  surg__bdim spelled[SURG__BT_RANK] = {0};
  bool same = x.rank == rank, zeros = false;
  uint32_t open = 0, last_open = 0;
  for (uint32_t i = 0; i < rank; i++) {
    y.d[i] = spelled[i] = d[i];
    if (same && !surg__bdim_same(&d[i], &x.d[i])) same = false;
    if (!zero_holds(&x, &d[i], i)) zeros = true;
    if (surg__bdim_filled(&d[i])) continue;
    open++;
    last_open = i;
  }
  if (same) return x;
  /* The one size that may be 0 is inferred as -1; otherwise a 0 copies the dimension of x. */
  if (open == 1) {
    zeros = false;
    spelled[last_open] = (surg__bdim){.n = -1, .dim = {.value = -1}};
  }
  for (uint32_t i = 0; i < rank && open != 1 && !zeros; i++)
    if (d[i].n < 0 && i < x.rank && surg__bdim_same(&d[i], &x.d[i]))
      spelled[i] = surg__bdim_fixed(0);
  surg_value *shape = surg__bdim_vector(b, spelled, rank);
  if (zeros && !newer(b, 14)) x.v = zeros_in_place(b, x.v, shape, rank);
  y.v = surg__b_binary(b, "Reshape", x.v, shape);
  if (zeros && newer(b, 14)) surg__b_set_int(b, y.v, "allowzero", 1);
  return y;
}

surg__built surg__built_unsqueeze(surg__builder *b, surg__built x, uint32_t axis) {
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0, k = 0; i <= x.rank; i++) d[i] = i == axis ? surg__bdim_fixed(1) : x.d[k++];
  surg__built y = {.dtype = x.dtype, .rank = x.rank + 1};
  memcpy(y.d, d, y.rank * sizeof *d);
  const int64_t at = axis;
  y.v = surg__b_over(b, "Unsqueeze", x.v, &at, 1);
  return y;
}

surg__built surg__built_transpose(surg__builder *b, surg__built x, const int64_t *perm) {
  surg__built y = {.dtype = x.dtype, .rank = x.rank};
  bool moves = false;
  for (uint32_t i = 0; i < x.rank; i++) {
    y.d[i] = x.d[perm[i]];
    if (perm[i] != (int64_t)i) moves = true;
  }
  if (!moves) return x;
  y.v = surg__b_unary(b, "Transpose", x.v);
  surg__b_set_ints(b, y.v, "perm", perm, x.rank);
  return y;
}

surg__built surg__built_swap(surg__builder *b, surg__built x, uint32_t i, uint32_t j) {
  int64_t perm[SURG__BT_RANK];
  for (uint32_t k = 0; k < x.rank; k++) perm[k] = k == i ? j : k == j ? i : k;
  return surg__built_transpose(b, x, perm);
}

surg__built surg__built_concat(surg__builder *b, const surg__built *x, size_t n, uint32_t axis) {
  surg_value **in = surg__arena_array(b->m->arena, n + 1, sizeof *in);
  if (n == 1) return x[0];
  surg__built y = x[0];
  if (!in) {
    b->status = SURG_ENOMEM;
    return y;
  }
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    in[i] = x[i].v;
    if (sum >= 0 && (x[i].d[axis].n < 0 || !surg__add_i64(sum, x[i].d[axis].n, &sum))) sum = -1;
    for (uint32_t k = 0; k < y.rank; k++) /* the other sizes are equal */
      if (y.d[k].n < 0 && x[i].d[k].n >= 0) y.d[k] = x[i].d[k];
  }
  y.v = surg__b_node(b, "Concat", in, n);
  surg__b_set_int(b, y.v, "axis", axis);
  y.d[axis] = sum >= 0 ? surg__bdim_fixed(sum) : own(y.v, axis);
  return y;
}

static surg_value *slice(surg__builder *b, surg__built x, int64_t axis, surg__bdim lo,
                         surg__bdim hi) {
  if (newer(b, 10)) {
    surg_value *starts = surg__bdim_vector(b, &lo, 1), *ends = surg__bdim_vector(b, &hi, 1);
    surg_value *const in[4] = {x.v, starts, ends, surg__b_ints(b, &axis, 1)};
    return surg__b_node(b, "Slice", in, 4);
  }
  surg_value *v = surg__b_unary(b, "Slice", x.v);
  surg__b_set_ints(b, v, "starts", &lo.n, 1);
  surg__b_set_ints(b, v, "ends", &hi.n, 1);
  surg__b_set_ints(b, v, "axes", &axis, 1);
  return v;
}

/* Computed bounds require opset 10 or later. */
surg__built surg__built_slice(surg__builder *b, surg__built x, uint32_t axis, surg__bdim lo,
                              surg__bdim hi) {
  const int64_t whole = x.d[axis].n;
  surg__built y = x;
  if (lo.n == 0 && surg__bdim_same(&hi, &x.d[axis])) return x;
  assert(newer(b, 10) || (lo.n >= 0 && hi.n >= 0));
  y.v = slice(b, x, axis, lo, hi);
  y.d[axis] = own(y.v, axis);
  if (whole >= 0 && lo.n >= 0 && hi.n >= 0) {
    const int64_t end = hi.n < whole ? hi.n : whole;
    y.d[axis] = surg__bdim_fixed(end > lo.n ? end - lo.n : 0);
  }
  return y;
}

surg__built surg__built_slice_from(surg__builder *b, surg__built x, uint32_t axis, int64_t lo) {
  const int64_t whole = x.d[axis].n;
  surg__bdim start = {.n = lo, .dim = {.value = -1}};
  surg__built y = x;
  y.v = slice(b, x, axis, start, surg__bdim_fixed(INT64_MAX));
  y.d[axis] = own(y.v, axis);
  if (whole < 0) return y;
  const int64_t from = lo >= 0 ? lo : whole + lo > 0 ? whole + lo : 0;
  y.d[axis] = surg__bdim_fixed(from < whole ? whole - from : 0);
  return y;
}

surg__built surg__built_trim(surg__builder *b, surg__built x, uint32_t axis, int64_t front,
                             int64_t back) {
  const int64_t whole = x.d[axis].n;
  const surg__bdim end = {.n = back ? -back : INT64_MAX, .dim = {.value = -1}};
  surg__built y = x;
  assert(front >= 0 && back >= 0);
  if (!front && !back) return x;
  y.v = slice(b, x, axis, surg__bdim_fixed(front), end);
  y.d[axis] = whole >= 0 ? surg__bdim_fixed(whole > front + back ? whole - front - back : 0)
                         : own(y.v, axis);
  return y;
}

surg__built surg__built_gather(surg__builder *b, surg__built x, surg__built at, uint32_t axis) {
  surg__built y = {.v = surg__b_binary(b, "Gather", x.v, at.v), .dtype = x.dtype};
  surg__b_set_int(b, y.v, "axis", axis);
  y.rank = x.rank - 1 + at.rank;
  assert(y.rank <= SURG__BT_RANK);
  for (uint32_t i = 0; i < y.rank; i++)
    y.d[i] = i < axis ? x.d[i] : i < axis + at.rank ? at.d[i - axis] : x.d[i - at.rank + 1];
  return y;
}

surg__built surg__built_expand(surg__builder *b, surg__built x, const surg__bdim *d,
                               uint32_t rank) {
  surg__built y = {.dtype = x.dtype, .rank = rank};
  bool same = x.rank == rank;
  for (uint32_t i = 0; i < rank; i++) {
    y.d[i] = d[i];
    if (same && !surg__bdim_same(&d[i], &x.d[i])) same = false;
  }
  if (same) return x;
  y.v = surg__b_binary(b, "Expand", x.v, surg__bdim_vector(b, d, rank));
  return y;
}

/* --- over an axis --- */

surg__built surg__built_softmax(surg__builder *b, surg__built x) {
  x = surg__built_unary(b, "Softmax", x);
  surg__b_set_int(b, x.v, "axis", x.rank - 1);
  return x;
}

surg__built surg__built_reduce(surg__builder *b, const char *op, surg__built x, uint32_t axis,
                               bool keep) {
  const int64_t at = axis;
  surg__built y = x;
  y.v = surg__b_over(b, op, x.v, &at, 1);
  surg__b_set_int(b, y.v, "keepdims", keep);
  y.d[axis] = surg__bdim_fixed(1);
  if (keep) return y;
  y.rank--;
  for (uint32_t i = axis; i < y.rank; i++) y.d[i] = x.d[i + 1];
  return y;
}

/* --- results --- */

surg__built surg__built_result(surg__builder *b, const char *name, surg__built x) {
  surg_value *old = surg__b_get(b, name);
  if (b->status || !old) return x;
  surg_node *maker = surg_value_producer(x.v, NULL);
  bool made = false;
  for (size_t i = b->made ? b->made->count : 0; i-- > 0 && !made;)
    made = b->made->items[i] == maker;
  if (!made || surg_value_first_use(x.v)) x.v = surg__b_unary(b, "Identity", x.v);
  surg__b_result(b, name, x.v);
  x.v = old;
  return x;
}
