/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that select elements, for versions without them. Gather fetches each element with a
 * computed index from the flat tensor, or from two flat tensors concatenated. Elements are only
 * moved, so NaN and infinity do not spread, and strings work, too. */
#include "base/counted.h"
#include "rewrite/lower/terms.h"

#define MOST_INDICES 65536u /* in a constant */
#define MOST_PARTS 256      /* nodes per element of an axis */

static surg__built ints_of(surg__built x) {
  x.dtype = SURG_INT64;
  return x;
}

static surg__built wide(surg__builder *b, surg__built x) {
  return surg__built_cast(b, x, SURG_INT64);
}

/* --- positions --- */

/* The product of the sizes of axes from .. to - 1. */
static surg__bdim product(surg__builder *b, const surg__built *x, uint32_t from, uint32_t to) {
  assert(from <= to && to <= x->rank);
  surg__bdim p = surg__bdim_fixed(1);
  for (uint32_t i = from; i < to; i++) p = surg__bdim_mul(b, p, x->d[i]);
  return p;
}

/* Reshapes one number per element of `axis` so that it broadcasts to that rank. */
static surg__built along(surg__builder *b, surg__built v, uint32_t axis, uint32_t rank) {
  assert(b->status || (axis < rank && rank <= SURG__BT_RANK));
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0; i < rank; i++) d[i] = i == axis ? v.d[0] : surg__bdim_fixed(1);
  return surg__built_reshape(b, v, d, rank);
}

static surg__built times(surg__builder *b, surg__built x, surg__bdim n) {
  if (n.n == 1) return x;
  return surg__built_binary(b, "Mul", x, surg__bdim_scalar(b, n, SURG_INT64));
}

static surg__built plus(surg__builder *b, surg__built x, surg__built y) {
  return x.v ? surg__built_binary(b, "Add", x, y) : y;
}

/* The flat index of each element of x; its shape is that of x, or broadcasts to it. */
static surg__built places(surg__builder *b, const surg__built *x) {
  uint64_t count;
  int64_t dims[SURG__BT_RANK];
  if (surg__built_count(x, MOST_INDICES, &count)) {
    double *n = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *n);
    for (uint64_t i = 0; n && i < count; i++) n[i] = (double)i;
    if (!n) b->status = SURG_ENOMEM;
    for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->d[i].n;
    if (n) return surg__built_numbers(b, SURG_INT64, dims, x->rank, n);
  }
  surg__built at = {0};
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->d[i].n == 1) continue;
    const surg__built v = along(b, surg__built_range(b, x->d[i], SURG_INT64), i, x->rank);
    at = plus(b, at, times(b, v, product(b, x, i + 1, x->rank)));
  }
  return at.v ? at : surg__built_scalar(b, SURG_INT64, 0);
}

static surg__built flat(surg__builder *b, surg__built x) {
  const int64_t any = -1;
  uint64_t count;
  const bool known = surg__built_count(&x, INT64_MAX, &count);
  if (x.rank == 1) return x;
  surg__built y = {.dtype = x.dtype, .rank = 1};
  y.v = surg__bint_reshape(b, x.v, &any, 1);
  y.d[0] = known ? surg__bdim_fixed((int64_t)count)
                 : (surg__bdim){.n = -1, .of = y.v, .axis = 0, .dim = {.value = -1}};
  return y;
}

/* Normalizes indices that may be negative. */
static surg__built from_front(surg__builder *b, surg__built i, surg__bdim n) {
  i.v = surg__bint_wrap(b, i.v, surg__bdim_scalar(b, n, SURG_INT64).v);
  return i;
}

/* --- Where --- */

/* c * x + (1 - c) * z, for integers. */
static surg_value *mixed(surg__builder *b, int type) {
  const bool narrow = surg__dtype_bits(type) < 32;
  const int wider = narrow ? SURG_INT32 : type;
  surg_value *c = surg__b_get(b, "c"), *x = surg__b_get(b, "x"), *z = surg__b_get(b, "z");
  if (narrow) {
    x = surg__b_cast(b, x, wider);
    z = surg__b_cast(b, z, wider);
  }
  x = op2(b, "Mul", x, surg__b_cast(b, c, wider));
  z = op2(b, "Mul", z, surg__b_cast(b, surg__b_unary(b, "Not", c), wider));
  surg_value *y = op2(b, "Add", x, z);
  return narrow ? surg__b_cast(b, y, type) : y;
}

/* Fetches from the elements of x followed by those of z. */
static surg__built fetched(surg__builder *b, surg__built c, surg__built x, surg__built z) {
  const surg__built flat_x = flat(b, x), both[2] = {flat_x, flat(b, z)};
  surg__built px = places(b, &x), pz = places(b, &z);
  pz = surg__built_binary(b, "Add", pz, surg__bdim_scalar(b, both[0].d[0], SURG_INT64));
  const surg__built apart = surg__built_binary(b, "Sub", px, pz);
  const surg__built step = surg__built_binary(b, "Mul", surg__built_cast(b, c, SURG_INT64), apart);
  const surg__built all = surg__built_concat(b, both, 2, 0);
  return surg__built_gather(b, all, surg__built_binary(b, "Add", pz, step), 0);
}

/* y = Where (c, x, z) */
static surg_status where_by_index(surg__builder *b) {
  surg__built c, x, z;
  const int dtype = surg__b_dtype(surg__b_get(b, "x"));
  if (surg__b_bad(b, !dtype, "an element type is unknown or unsupported") ||
      surg__b_bad(b, surg__dtype_bits(dtype) < 8 && dtype != SURG_STRING,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  if (surg__dtype_is_int(dtype)) {
    surg__b_result(b, "y", mixed(b, dtype));
    return b->status;
  }
  if (!surg__built_get(b, "c", &c) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "z", &z))
    return SURG_EUNSUPPORTED;
  surg__built_result(b, "y", fetched(b, c, x, z));
  return b->status;
}

/* --- Shrink --- */

/* y = Shrink <bias, lambd> (x) */
static surg_status shrink_by_index(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const double bias = surg_node_float(n, "bias", 0), edge = surg_node_float(n, "lambd", 0.5f);
  surg__built x;
  if (!surg__built_get(b, "x", &x) || !surg__b_attrs_known(b) ||
      surg__b_bad(b, x.dtype != SURG_FLOAT && x.dtype != SURG_DOUBLE,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  const surg__built low = surg__built_number(b, "Less", x, -edge);
  const surg__built high = surg__built_number(b, "Greater", x, edge);
  const surg__built less = surg__built_number(b, "Sub", x, bias);
  const surg__built inner = fetched(b, high, less, surg__built_scalar(b, x.dtype, 0));
  surg__built_result(b, "y", fetched(b, low, surg__built_number(b, "Add", x, bias), inner));
  return b->status;
}

/* --- constants and copies of a computed shape --- */

/* y = ConstantOfShape (s) */
static surg_status constant_to_expand(surg__builder *b) {
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "value");
  surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  const int dtype = t ? surg_tensor_dtype(t) : SURG_FLOAT;
  uint8_t raw[8] = {0};
  const size_t size = surg__dtype_bits(dtype) / 8;
  if (!surg__b_attrs_known(b) || surg__b_bad(b, size == 0, "an element type is unsupported") ||
      surg__b_bad(b, size > sizeof raw, "an element type is unsupported"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, t && (surg_tensor_count(t) != 1 || surg_tensor_read(t, 0, raw, size)),
                  "value: expected one element that can be read"))
    return SURG_EUNSUPPORTED;
  surg_value *one = surg__b_tensor(b, dtype, NULL, 0, raw, size);
  surg__b_result(b, "y", op2(b, "Expand", one, surg__b_get(b, "s")));
  return b->status;
}

/* y = Expand (x, s): repeats axes of size 1 as required by the shape. */
static surg_status expand_to_tile(surg__builder *b) {
  surg__built x, s;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "s", &s) ||
      surg__b_bad(b, s.rank != 1, "s: expected rank 1") ||
      surg__b_bad(b, s.d[0].n < 0, "s: a size is unknown") ||
      surg__b_bad(b, s.d[0].n > SURG__BT_RANK, "s: a size is above the limit of a rewrite"))
    return SURG_EUNSUPPORTED;
  const uint32_t n = (uint32_t)s.d[0].n;
  int64_t ones[SURG__BT_RANK];
  for (uint32_t i = 0; i < SURG__BT_RANK; i++) ones[i] = i;
  if (x.rank == 0 && n == 0) {
    surg__b_result(b, "y", surg__b_unary(b, "Identity", x.v));
    return b->status;
  }
  surg_value *v = x.v, *sizes = s.v;
  if (x.rank < n) {
    v = surg__b_over(b, "Unsqueeze", v, ones, n - x.rank);
  }
  for (uint32_t i = 0; i < SURG__BT_RANK; i++) ones[i] = 1;
  if (x.rank > n) sizes = surg__bint_concat(b, surg__b_ints(b, ones, x.rank - n), sizes, 0);
  surg_value *shape = surg__b_unary(b, "Shape", v);
  surg_value *single = op2(b, "Equal", shape, surg__bint(b, 1));
  surg_value *grows = surg__b_cast(b, single, SURG_INT64);
  surg_value *more = op2(b, "Mul", grows, op2(b, "Sub", sizes, surg__bint(b, 1)));
  surg__b_result(b, "y", op2(b, "Tile", v, op2(b, "Add", more, surg__bint(b, 1))));
  return b->status;
}

/* z = NonZero of a vector of n ones */
static surg_status counting_nonzero(surg__builder *b) {
  surg__built n;
  const int64_t first = 0;
  if (!surg__built_get(b, "n", &n) || surg__b_bad(b, n.rank != 1, "n: expected rank 1") ||
      surg__b_bad(b, n.d[0].n != 1, "n: expected one element"))
    return SURG_EUNSUPPORTED;
  surg__b_result(b, "z", surg__b_over(b, "Unsqueeze", surg__b_counting(b, n.v), &first, 1));
  return b->status;
}

/* --- gathering --- */

static bool get_axis(const surg__builder *b, const char *name, uint32_t rank, uint32_t *axis) {
  const surg__rvalue v = surg__b_data(b, name);
  if (v.kind != SURG__R_INT || !v.one.known) return false;
  const int64_t a = v.one.i < 0 ? v.one.i + rank : v.one.i;
  *axis = (uint32_t)a;
  return a >= 0 && a < (int64_t)rank;
}

static bool is_index(const surg__built *i) {
  return i->dtype == SURG_INT64 || i->dtype == SURG_INT32;
}

/* Flat indices in x of the elements that GatherElements selects. */
static surg__built element_places(surg__builder *b, const surg__built *x, surg__built i,
                                  uint32_t axis) {
  const surg__built front = from_front(b, wide(b, i), x->d[axis]);
  surg__built at = times(b, front, product(b, x, axis + 1, x->rank));
  for (uint32_t k = 0; k < x->rank; k++) {
    if (k == axis || i.d[k].n == 1) continue;
    const surg__built v = along(b, surg__built_range(b, i.d[k], SURG_INT64), k, i.rank);
    at.v = op2(b, "Add", at.v, times(b, v, product(b, x, k + 1, x->rank)).v);
  }
  return at;
}

/* y = GatherElements <axis = a> (x, i) */
static surg_status gather_elements(surg__builder *b) {
  surg__built x, i;
  uint32_t axis;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      surg__b_bad(b, x.rank != i.rank, "x and i: expected equal ranks") ||
      surg__b_bad(b, !is_index(&i), "i: expected int32 or int64") ||
      !get_axis(b, "a", x.rank, &axis) ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const surg__built data = flat(b, x);
  surg__built_result(b, "y", surg__built_gather(b, data, element_places(b, &x, i, axis), 0));
  return b->status;
}

/* Row numbers of the index tuples. x is viewed as [rows, ...]; its first `batch` axes are batch
 * axes of the tuples, too. */
static surg__built row_places(surg__builder *b, const surg__built *x, surg__built i,
                              uint32_t batch) {
  const uint32_t length = (uint32_t)i.d[i.rank - 1].n, all = batch + length;
  assert(length > 0 && all <= x->rank); /* checked by `tuples_fit` */
  surg__built at = {0};
  i = wide(b, i);
  for (uint32_t k = 0; k < length; k++) {
    const surg__built one =
        surg__built_gather(b, i, surg__built_scalar(b, SURG_INT64, k), i.rank - 1);
    const surg__built front = from_front(b, one, x->d[batch + k]);
    at = plus(b, at, times(b, front, product(b, x, batch + k + 1, all)));
  }
  for (uint32_t k = 0; k < batch; k++) {
    const surg__built v = along(b, surg__built_range(b, x->d[k], SURG_INT64), k, at.rank);
    at.v = op2(b, "Add", at.v, times(b, v, product(b, x, k + 1, all)).v);
  }
  return at;
}

static bool tuples_fit(const surg__built *x, const surg__built *i, int64_t batch) {
  if (!is_index(i) || i->rank == 0 || batch < 0 || batch >= (int64_t)i->rank) return false;
  const int64_t length = i->d[i->rank - 1].n;
  return length >= 1 && batch + length <= (int64_t)x->rank &&
         i->rank - 1 + x->rank - (uint32_t)(batch + length) <= SURG__BT_RANK;
}

/* y = GatherND <batch_dims> (x, i) */
static surg_status gather_nd(surg__builder *b) {
  surg__built x, i;
  const int64_t batch = surg_node_int(surg__b_matched(b), "batch_dims", 0);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !tuples_fit(&x, &i, batch) || surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const uint32_t all = (uint32_t)(batch + i.d[i.rank - 1].n);
  surg__bdim d[SURG__BT_RANK] = {product(b, &x, 0, all)};
  for (uint32_t k = all; k < x.rank; k++) d[1 + k - all] = x.d[k];
  const surg__built rows = surg__built_reshape(b, x, d, 1 + x.rank - all);
  surg__built_result(b, "y", surg__built_gather(b, rows, row_places(b, &x, i, (uint32_t)batch), 0));
  return b->status;
}

/* --- OneHot --- */

/* y = OneHot <axis = a> (i, d, v): v[0] or v[1]. Negative indices are
 * supported from opset 11 on. */
static surg_status one_hot(surg__builder *b) {
  surg__built i, depth, values;
  const surg__rvalue a = surg__b_data(b, "a");
  const bool fold = surg_node_schema(surg__b_matched(b))->since >= 11;
  const int64_t one = 1;
  if (!surg__built_get(b, "i", &i) || !surg__built_get(b, "d", &depth) ||
      !surg__built_get(b, "v", &values) ||
      surg__b_bad(b, a.kind != SURG__R_INT, "an attribute is unknown") ||
      surg__b_bad(b, !a.one.known, "an attribute is unknown") ||
      surg__b_bad(b, i.rank >= SURG__BT_RANK, "i: the rank is above the limit") ||
      surg__b_bad(b, fold && b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const int64_t axis = a.one.i < 0 ? a.one.i + (int64_t)i.rank + 1 : a.one.i;
  if (surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis > (int64_t)i.rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  surg_value *n = surg__bint_reshape(b, wide(b, depth).v, &one, 1);
  surg__built at = wide(b, i);
  if (fold) at.v = surg__bint_wrap(b, at.v, surg__bint_reshape(b, n, NULL, 0)); /* scalar */
  at = surg__built_unsqueeze(b, at, (uint32_t)axis);
  surg__built count = surg__built_range(b, surg__bdim_of(n), SURG_INT64);
  int64_t dims[SURG__BT_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
  count.v = surg__bint_reshape(b, count.v, dims, i.rank + 1 - (size_t)axis);
  surg_value *hit = surg__b_cast(b, op2(b, "Equal", at.v, count.v), SURG_INT64);
  surg_value *y = op2(b, "Gather", values.v, hit);
  surg__b_set_int(b, y, "axis", 0);
  surg__b_result(b, "y", y);
  return b->status;
}

/* --- scattering --- */

static const char *reduction_of(const surg_node *n) {
  static const struct {
    const char *word, *op;
  } all[] = {{"add", "Add"}, {"mul", "Mul"}, {"max", "Max"}, {"min", "Min"}};
  const surg_str s = surg_node_string(n, "reduction", "none");
  for (size_t i = 0; i < SURG_COUNT(all); i++)
    if (s.n == 3 && !memcmp(s.p, all[i].word, 3)) return all[i].op;
  return NULL;
}

static surg__built part(surg__builder *b, surg__built x, uint32_t axis, int64_t at) {
  return surg__built_slice(b, x, axis, surg__bdim_fixed(at), surg__bdim_fixed(at + 1));
}

static surg__built node_on(surg__builder *b, const char *op, surg__built like,
                           surg_value *const *in, size_t n) {
  like.v = surg__b_node(b, op, in, n);
  return like;
}

/* The operands of a scattering with a reduction, and the operator that combines. */
typedef struct reduced {
  surg__built x, i, u;
  const char *op;
  uint32_t axis; /* of ScatterElements */
} reduced;

static bool read_reduced(surg__builder *b, reduced *r) {
  r->op = reduction_of(surg__b_matched(b));
  return !surg__b_bad(b, !r->op, "the reduction is unsupported") && surg__b_attrs_known(b) &&
         surg__built_get(b, "x", &r->x) && surg__built_get(b, "i", &r->i) &&
         surg__built_get(b, "u", &r->u) &&
         !surg__b_bad(b, b->m->opset < 11, "the rewrite requires opset 11");
}

static bool read_elements(surg__builder *b, reduced *r) {
  return read_reduced(b, r) &&
         !surg__b_bad(b, r->i.rank != r->x.rank, "i and x: expected equal ranks") &&
         !surg__b_bad(b, r->u.rank != r->x.rank, "u and x: expected equal ranks") &&
         get_axis(b, "a", r->x.rank, &r->axis);
}

/* *n: the number of tuples of a ScatterND. */
static bool read_tuples(surg__builder *b, reduced *r, surg__bdim *n) {
  if (!read_reduced(b, r) || !tuples_fit(&r->x, &r->i, 0)) return false;
  *n = product(b, &r->i, 0, r->i.rank - 1);
  return true;
}

/* Makes i a matrix of n tuples, and u a list of what they get. */
static void list_tuples(surg__builder *b, reduced *r, surg__bdim n) {
  const surg__bdim last = r->i.d[r->i.rank - 1];
  const uint32_t length = (uint32_t)last.n;
  surg__bdim d[SURG__BT_RANK] = {n, last};
  r->i = surg__built_reshape(b, r->i, d, 2);
  for (uint32_t k = length; k < r->x.rank; k++) d[1 + k - length] = r->x.d[k];
  r->u = surg__built_reshape(b, r->u, d, 1 + r->x.rank - length);
}

/* y = ScatterElements <axis = a, reduction> (x, i, u). Duplicate indices only occur along the axis,
 * so each slice of it is applied in one step, slice after slice. */
static surg_status scatter_reduced(surg__builder *b) {
  reduced r;
  if (!read_elements(b, &r) || surg__b_bad(b, r.i.d[r.axis].n < 1, "i: a size is unknown or 0") ||
      surg__b_bad(b, r.i.d[r.axis].n > MOST_PARTS, "i: a size is above the limit of a rewrite"))
    return SURG_EUNSUPPORTED;
  const surg__built i = r.i, u = r.u;
  const uint32_t axis = r.axis;
  const char *op = r.op;
  surg__built x = r.x;
  for (int64_t k = 0; k < i.d[axis].n; k++) {
    const surg__built at = part(b, i, axis, k), put = part(b, u, axis, k);
    surg_value *const get[2] = {x.v, at.v};
    const surg__built had = node_on(b, "GatherElements", put, get, 2);
    surg__b_set_int(b, had.v, "axis", axis);
    surg_value *const set[3] = {x.v, at.v, op2(b, op, had.v, put.v)};
    x = node_on(b, "ScatterElements", x, set, 3);
    surg__b_set_int(b, x.v, "axis", axis);
  }
  surg__built_result(b, "y", x);
  return b->status;
}

/* y = ScatterND <reduction> (x, i, u): one tuple after another. */
static surg_status scatter_nd_reduced(surg__builder *b) {
  reduced r;
  surg__bdim n;
  if (!read_tuples(b, &r, &n) || surg__b_bad(b, n.n < 1, "the number of indices is unknown or 0") ||
      surg__b_bad(b, n.n > MOST_PARTS, "it has more parts than a rewrite may list"))
    return SURG_EUNSUPPORTED;
  list_tuples(b, &r, n);
  const surg__built i = r.i, u = r.u;
  const char *op = r.op;
  surg__built x = r.x;
  for (int64_t k = 0; k < n.n; k++) {
    const surg__built at = part(b, i, 0, k), put = part(b, u, 0, k);
    surg_value *const get[2] = {x.v, at.v};
    const surg__built had = node_on(b, "GatherND", put, get, 2);
    surg_value *const set[3] = {x.v, at.v, op2(b, op, had.v, put.v)};
    x = node_on(b, "ScatterND", x, set, 3);
  }
  surg__built_result(b, "y", x);
  return b->status;
}

/* --- scattering in a loop, for any number of places --- */

/* A Loop that carries y, at first x, and counts the places along `axis` of i and u. */
typedef struct sweep {
  surg__builder *b;
  /* `at`, `put`, `so_far`: in the body, the place, what it gets, and y until then. */
  surg_value *loop, *at, *put, *so_far, *on;
  surg__bscope outside;
} sweep;

static void begin_sweep(sweep *p, surg__builder *b, const reduced *r, uint32_t axis) {
  p->b = b;
  surg_value *in[3] = {surg__bdim_scalar(b, r->i.d[axis], SURG_INT64).v};
  in[1] = surg__b_scalar(b, SURG_BOOL, 1);
  in[2] = r->x.v;
  p->loop = surg__b_node(b, "Loop", in, 3);
  p->outside = surg__b_enter(b, p->loop, "body");
  const surg__bdim one = surg__bdim_fixed(1);
  surg__built turn = {.v = surg__b_scalar_input(b, "turn", SURG_INT64), .dtype = SURG_INT64};
  p->on = surg__b_scalar_input(b, "on", SURG_BOOL);
  p->so_far = surg__b_body_input(b, "state", r->x.dtype);
  turn = surg__built_reshape(b, turn, &one, 1);
  p->at = surg__built_gather(b, r->i, turn, axis).v;
  p->put = surg__built_gather(b, r->u, turn, axis).v;
}

static void end_sweep(sweep *p, surg_value *y, int dtype) {
  surg__b_body_output(p->b, surg__b_unary(p->b, "Identity", p->on), SURG_BOOL);
  surg__b_body_output(p->b, y, dtype);
  surg__b_leave(p->b, p->outside);
  surg__b_result(p->b, "y", p->loop);
}

/* y = ScatterElements <axis = a, reduction> (x, i, u), as scatter_reduced. */
static surg_status scatter_in_turns(surg__builder *b) {
  reduced r;
  sweep p;
  if (!read_elements(b, &r)) return SURG_EUNSUPPORTED;
  begin_sweep(&p, b, &r, r.axis);
  surg_value *had = op2(b, "GatherElements", p.so_far, p.at);
  surg__b_set_int(b, had, "axis", r.axis);
  surg_value *const set[3] = {p.so_far, p.at, op2(b, r.op, had, p.put)};
  surg_value *y = surg__b_node(b, "ScatterElements", set, 3);
  surg__b_set_int(b, y, "axis", r.axis);
  end_sweep(&p, y, r.x.dtype);
  return b->status;
}

/* y = ScatterND <reduction> (x, i, u), as scatter_nd_reduced. */
static surg_status scatter_nd_in_turns(surg__builder *b) {
  reduced r;
  surg__bdim n;
  sweep p;
  if (!read_tuples(b, &r, &n)) return SURG_EUNSUPPORTED;
  list_tuples(b, &r, n);
  begin_sweep(&p, b, &r, 0);
  surg_value *had = op2(b, "GatherND", p.so_far, p.at);
  surg_value *const set[3] = {p.so_far, p.at, op2(b, r.op, had, p.put)};
  surg_value *y = surg__b_node(b, "ScatterND", set, 3);
  end_sweep(&p, y, r.x.dtype);
  return b->status;
}

/* y = ScatterND (x, i, u): scatters rows of a matrix. */
static surg_status scatter_nd_rows(surg__builder *b) {
  surg__built x, i, u;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "u", &u) || !tuples_fit(&x, &i, 0) ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const uint32_t length = (uint32_t)i.d[i.rank - 1].n;
  for (uint32_t k = 0; k < x.rank; k++) {
    if (x.d[k].n == 0) { /* there are no elements to write */
      surg__b_result(b, "y", surg__b_unary(b, "Identity", x.v));
      return b->status;
    }
    /* Reshape copies a dimension of the matrix for a 0. That is correct only where this dimension
     * is a factor of the copied one: for rows the first, for columns the second. */
    const bool held = k == 0 || (k == 1 && length == 1);
    if (surg__b_bad(b, !held && !surg__bdim_filled(&x.d[k]), "x: a size may be 0"))
      return SURG_EUNSUPPORTED;
  }
  const surg__bdim width = product(b, &x, length, x.rank), n = product(b, &i, 0, i.rank - 1);
  const surg__bdim whole[2] = {product(b, &x, 0, length), width}, rows[2] = {n, width};
  const surg__bdim column[2] = {n, surg__bdim_fixed(1)};
  const surg__built at = surg__built_reshape(b, row_places(b, &x, i, 0), column, 2);
  surg_value *data = surg__built_reshape(b, x, whole, 2).v,
             *to = surg__built_expand(b, at, rows, 2).v;
  surg_value *const in[3] = {data, to, surg__built_reshape(b, u, rows, 2).v};
  surg__built y = {.dtype = x.dtype, .rank = 2, .d = {whole[0], whole[1]}};
  y.v = surg__b_node(b, b->m->opset >= 11 ? "ScatterElements" : "Scatter", in, 3);
  surg__b_set_int(b, y.v, "axis", 0);
  surg__built_result(b, "y", surg__built_reshape(b, y, x.d, x.rank));
  return b->status;
}

/* y = ScatterElements (x, i, u), with indices that may be negative. */
static surg_status scatter_from_front(surg__builder *b) {
  surg__built x, i;
  uint32_t axis;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      surg__b_bad(b, i.rank != x.rank, "i and x: expected equal ranks") ||
      surg__b_bad(b, !is_index(&i), "i: expected int32 or int64") ||
      !get_axis(b, "a", x.rank, &axis) ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, b->m->opset > 10, "the rewrite is for opset 10 and older"))
    return SURG_EUNSUPPORTED;
  surg_value *const in[3] = {x.v, from_front(b, wide(b, i), x.d[axis]).v, surg__b_get(b, "u")};
  surg_value *y = surg__b_node(b, "Scatter", in, 3);
  surg__b_set_int(b, y, "axis", axis);
  surg__b_result(b, "y", y);
  return b->status;
}

/* y = Scatter <axis = a> (x, i, u). Computes the source of each element of the result: in x, or
 * after it in u; the last update wins. */
static surg_status scatter_by_places(surg__builder *b) {
  surg__built x, i, u;
  uint32_t axis;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "u", &u) ||
      surg__b_bad(b, i.rank != x.rank, "i and x: expected equal ranks") ||
      surg__b_bad(b, u.rank != x.rank, "u and x: expected equal ranks") ||
      surg__b_bad(b, !is_index(&i), "i: expected int32 or int64") ||
      !get_axis(b, "a", x.rank, &axis) || surg__b_bad(b, i.d[axis].n < 0, "i: a size is unknown") ||
      surg__b_bad(b, i.d[axis].n > MOST_PARTS, "i: a size is above the limit of a rewrite"))
    return SURG_EUNSUPPORTED;
  for (uint32_t k = 0; k < x.rank; k++)
    if (surg__b_bad(b, k != axis && !surg__bdim_same(&i.d[k], &x.d[k]),
                    "i and x: sizes beside the axis are not proven to be equal"))
      return SURG_EUNSUPPORTED;
  memcpy(u.d, i.d, sizeof u.d);
  const surg__built flat_x = flat(b, x), both[2] = {flat_x, flat(b, u)};
  const surg__built line = along(b, surg__built_range(b, x.d[axis], SURG_INT64), axis, x.rank);
  surg__built from = places(b, &x), other = places(b, &u);
  other = surg__built_binary(b, "Add", other, surg__bdim_scalar(b, both[0].d[0], SURG_INT64));
  i = wide(b, i);
  for (int64_t k = 0; k < i.d[axis].n; k++) {
    surg__built hit = surg__built_binary(b, "Equal", line, part(b, i, axis, k));
    hit = surg__built_cast(b, hit, SURG_INT64);
    const surg__built apart = surg__built_binary(b, "Sub", part(b, other, axis, k), from);
    from = surg__built_binary(b, "Add", from, surg__built_binary(b, "Mul", hit, apart));
  }
  surg__built_result(b, "y",
                     surg__built_gather(b, surg__built_concat(b, both, 2, 0), ints_of(from), 0));
  return b->status;
}

/* --- CumSum --- */

static surg__built summed(surg__builder *b, surg__built x, uint32_t axis, bool exclusive,
                          bool reverse) {
  const int64_t n = x.d[axis].n;
  assert(n >= 1 && n <= MOST_PARTS);
  surg__built parts[MOST_PARTS], sum = {0};
  for (int64_t k = 0; k < n && !b->status; k++) {
    const int64_t at = reverse ? n - 1 - k : k;
    if (exclusive && k == 0) {
      surg__bdim d[SURG__BT_RANK];
      memcpy(d, x.d, sizeof d);
      d[axis] = surg__bdim_fixed(1);
      sum = surg__built_expand(b, surg__built_scalar(b, x.dtype, 0), d, x.rank);
    } else {
      const surg__built one = part(b, x, axis, exclusive ? (reverse ? at + 1 : at - 1) : at);
      sum = k == (exclusive ? 1 : 0) ? one : surg__built_binary(b, "Add", sum, one);
    }
    parts[at] = sum;
  }
  return surg__built_concat(b, parts, (size_t)n, axis);
}

/* y = CumSum <exclusive, reverse> (x, a): one addition per element of the axis. If the model
 * computes the axis, the result is selected from one result per axis. */
static surg_status sums_along(surg__builder *b) {
  surg__built x, all[SURG__BT_RANK];
  surg_elem e;
  const surg_node *n = surg__b_matched(b);
  const bool exclusive = surg_node_int(n, "exclusive", 0), reverse = surg_node_int(n, "reverse", 0);
  surg_value *axis = surg__b_get(b, "a");
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank == 0, "x: expected rank 1 or more") ||
      surg__b_bad(b, x.rank >= SURG__BT_RANK, "x: the rank is above the limit") ||
      surg__b_bad(b, b->m->opset < 8, "the rewrite requires opset 8"))
    return SURG_EUNSUPPORTED;
  const bool known = surg__known_elements(axis, &e, 1) == 1 && e.known;
  const int64_t at = known && e.value < 0 ? e.value + x.rank : e.value;
  if (surg__b_bad(b, known && (at < 0 || at >= (int64_t)x.rank), "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, !known && b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  for (uint32_t k = 0; k < x.rank; k++)
    if (surg__b_bad(b, (!known || k == at) && (x.d[k].n < 1 || x.d[k].n > MOST_PARTS),
                    "it has more parts than a rewrite may list"))
      return SURG_EUNSUPPORTED;
  if (known || x.rank == 1) {
    surg__built_result(b, "y", summed(b, x, known ? (uint32_t)at : 0, exclusive, reverse));
    return b->status;
  }
  for (uint32_t k = 0; k < x.rank; k++)
    all[k] = surg__built_unsqueeze(b, summed(b, x, k, exclusive, reverse), 0);
  surg__built which = {.v = surg__bint_reshape(b, axis, NULL, 0), .dtype = SURG_INT64};
  which.v = surg__b_cast(b, which.v, SURG_INT64);
  which.v = surg__bint_wrap(b, which.v, surg__bint(b, x.rank));
  surg__built_result(b, "y",
                     surg__built_gather(b, surg__built_concat(b, all, x.rank, 0), which, 0));
  return b->status;
}

/* --- scattering to known positions --- */

/* For each element of x, the update written there; the last one if there are several. */
typedef struct written {
  surg__built x, u;
  int64_t *index;     /* elements of the indices tensor */
  double *from, *hit; /* per element of x: number of its update; 1 if it has one */
  uint64_t count, updates, indices;
} written;

static bool read_written(surg__builder *b, written *w, surg__built *i) {
  if (!surg__built_get(b, "x", &w->x) || !surg__built_get(b, "u", &w->u) ||
      !surg__built_get(b, "i", i) || !surg__built_count(&w->x, MOST_INDICES, &w->count) ||
      !surg__built_count(&w->u, MOST_INDICES, &w->updates) ||
      !surg__built_count(i, MOST_INDICES, &w->indices) || !surg__b_takes(b, "Where", 1, w->x.dtype))
    return false;
  const surg_tensor *t = surg_value_constant(i->v);
  surg__arena *arena = b->m->arena;
  w->index = surg__arena_array(arena, (size_t)w->indices + 1, sizeof *w->index);
  w->from = surg__arena_array(arena, (size_t)w->count + 1, sizeof *w->from);
  w->hit = surg__arena_array(arena, (size_t)w->count + 1, sizeof *w->hit);
  if (!t || !w->index || !w->from || !w->hit) return false;
  for (uint64_t k = 0; k < w->count; k++) w->from[k] = w->hit[k] = 0;
  return surg__read_ints(t, w->index, (size_t)w->indices) == (int64_t)w->indices;
}

/* Normalizes index k along an axis; false: out of range. */
static bool place_of(const written *w, uint64_t k, uint32_t axis, int64_t *out) {
  assert(k < w->indices && axis < w->x.rank);
  const int64_t n = w->x.d[axis].n, at = w->index[k] < 0 ? w->index[k] + n : w->index[k];
  *out = at;
  return at >= 0 && at < n;
}

static surg_status choose_written(surg__builder *b, const written *w) {
  int64_t dims[SURG__BT_RANK];
  if (w->updates == 0 || w->count == 0) {
    surg__b_result(b, "y", surg__b_unary(b, "Identity", w->x.v));
    return b->status;
  }
  for (uint32_t i = 0; i < w->x.rank; i++) dims[i] = w->x.d[i].n;
  const surg__built hit = surg__built_numbers(b, SURG_BOOL, dims, w->x.rank, w->hit);
  const surg__built from = surg__built_numbers(b, SURG_INT64, dims, w->x.rank, w->from);
  const surg__built news = surg__built_gather(b, flat(b, w->u), from, 0);
  surg__built_result(b, "y", surg__built_where(b, hit, news, w->x));
  return b->status;
}

/* y = ScatterElements <axis> (x, i, u) */
static surg_status scatter_to_where(surg__builder *b) {
  written w;
  surg__built i;
  if (!read_written(b, &w, &i) ||
      surg__b_bad(b, i.rank != w.x.rank, "i and x: expected equal ranks") ||
      surg__b_bad(b, w.updates != w.indices, "indices and updates differ in size"))
    return SURG_EUNSUPPORTED;
  int64_t axis = surg_node_int(surg__b_matched(b), "axis", 0);
  if (axis < 0) axis += w.x.rank;
  if (!surg__b_attrs_known(b) || surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis >= w.x.rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  for (uint64_t k = 0; k < w.indices; k++) {
    uint64_t rest = k, to = 0, step = 1;
    for (uint32_t d = w.x.rank; d-- > 0;) {
      int64_t at = (int64_t)(rest % (uint64_t)i.d[d].n);
      rest /= (uint64_t)i.d[d].n;
      if (surg__b_bad(b, d == axis ? !place_of(&w, k, d, &at) : at >= w.x.d[d].n,
                      "an index is out of range"))
        return SURG_EUNSUPPORTED;
      to += step * (uint64_t)at;
      step *= (uint64_t)w.x.d[d].n;
    }
    assert(to < w.count);
    w.from[to] = (double)k;
    w.hit[to] = 1;
  }
  return choose_written(b, &w);
}

/* y = ScatterND (x, i, u) */
static surg_status scatter_nd_to_where(surg__builder *b) {
  written w;
  surg__built i;
  if (!read_written(b, &w, &i) || !tuples_fit(&w.x, &i, 0)) return SURG_EUNSUPPORTED;
  const uint32_t length = (uint32_t)i.d[i.rank - 1].n;
  uint64_t width = 1, tuples = 1;
  for (uint32_t d = length; d < w.x.rank; d++) width *= (uint64_t)w.x.d[d].n;
  for (uint32_t d = 0; d + 1 < i.rank; d++) tuples *= (uint64_t)i.d[d].n;
  if (surg__b_bad(b, tuples * width != w.updates, "indices and updates differ in size"))
    return SURG_EUNSUPPORTED;
  for (uint64_t k = 0; k < tuples; k++) {
    uint64_t to = 0;
    for (uint32_t d = 0; d < length; d++) {
      int64_t at;
      if (surg__b_bad(b, !place_of(&w, k * length + d, d, &at), "an index is out of range"))
        return SURG_EUNSUPPORTED;
      to = to * (uint64_t)w.x.d[d].n + (uint64_t)at;
    }
    for (uint64_t e = 0; e < width; e++) {
      assert(to * width + e < w.count);
      w.from[to * width + e] = (double)(k * width + e);
      w.hit[to * width + e] = 1;
    }
  }
  return choose_written(b, &w);
}

const surg__native surg__natives_index[] = {
    {"scatter_where", scatter_to_where, "ScatterElements to known places as a choice"},
    {"scatter_nd_where", scatter_nd_to_where, "ScatterND to known places as a choice"},
    {"where_by_index", where_by_index, "Where by Gather, of integers by arithmetic"},
    {"shrink_by_index", shrink_by_index, "Shrink, the elements chosen by Gather"},
    {"constant_to_expand", constant_to_expand, "ConstantOfShape as Expand"},
    {"expand_to_tile", expand_to_tile, "Expand as Tile"},
    {"counting_nonzero", counting_nonzero, "numbers from 0 on by a Loop"},
    {"gather_elements", gather_elements, "GatherElements by Gather from the flat tensor"},
    {"gather_nd", gather_nd, "GatherND by Gather of rows"},
    {"one_hot", one_hot, "OneHot by Gather of its two values"},
    {"scatter_reduced", scatter_reduced, "ScatterElements with a reduction, place by place"},
    {"scatter_nd_reduced", scatter_nd_reduced, "ScatterND with a reduction, tuple by tuple"},
    {"scatter_in_turns", scatter_in_turns, "ScatterElements with a reduction, in a loop"},
    {"scatter_nd_in_turns", scatter_nd_in_turns, "ScatterND with a reduction, in a loop"},
    {"scatter_nd_rows", scatter_nd_rows, "ScatterND as ScatterElements of rows"},
    {"scatter_from_front", scatter_from_front, "ScatterElements as Scatter"},
    {"scatter_by_places", scatter_by_places, "Scatter by Gather"},
    {"sums_along", sums_along, "CumSum as additions"},
    {NULL, NULL, NULL},
};
