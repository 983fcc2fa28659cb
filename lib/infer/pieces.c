/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that concatenate, split, slice, pad and repeat tensors. */
#include "infer/rules.h"

/* --- Concat --- */

typedef struct joined {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank, axis;
  bool ranked, all; /* some input has a rank; all inputs have */
  surg_dim sum;
} joined;

static bool join_input(surg__infer *c, joined *j, const surg__fact *f, int64_t axis) {
  if (!j->ranked) {
    j->rank = f->rank;
    if (!surg__infer_axis(c, axis, j->rank, &j->axis)) return false;
    memcpy(j->dims, f->dims, j->rank * sizeof *j->dims);
    j->sum = f->dims[j->axis];
    j->ranked = true;
    assert(j->axis < j->rank);
    return true;
  }
  if (f->rank != j->rank) return false;
  for (size_t i = 0; i < j->rank; i++)
    if (i != j->axis && !surg__dim_unify(j->dims[i], f->dims[i], &j->dims[i])) return false;
  j->sum = surg__dim_sum(j->sum, f->dims[j->axis]);
  return true;
}

/* Copies one input of a Concat: `blocks` blocks of `length` elements, each at offset `at` of a
 * block of `stride` elements in the result. */
static bool join_blocks(surg__infer *c, size_t i, const joined *j, size_t stride, size_t blocks,
                        size_t *at, surg__elem *out) {
  assert(*at <= stride && stride * blocks <= SURG__ELEMS);
  surg__elem buf[SURG__ELEMS];
  surg__fact f;
  uint32_t n = 0;
  if (!surg__infer_ranked(c, i, &f) || f.rank != j->rank) return false;
  const surg_dim count = surg__dim_product(f.dims + j->axis, f.rank - j->axis);
  const surg__elem *e = surg__infer_any_elems(c, i, buf, &n);
  if (count.value < 0 || (size_t)count.value > stride - *at) return false;
  const size_t length = (size_t)count.value;
  if (e && n != length * blocks) return false;
  for (size_t b = 0; b < blocks; b++)
    for (size_t k = 0; k < length; k++)
      out[b * stride + *at + k] = e ? e[b * length + k] : surg__elem_unknown();
  *at += length;
  return true;
}

static void join_elems(surg__infer *c, const joined *j, size_t inputs) {
  surg__elem out[SURG__ELEMS];
  const surg_dim all = surg__dim_product(j->dims, j->rank);
  const surg_dim outer = surg__dim_product(j->dims, j->axis);
  size_t at = 0;
  if (all.value < 0 || all.value > (int64_t)SURG__ELEMS || outer.value < 1) return;
  const size_t blocks = (size_t)outer.value, stride = (size_t)all.value / blocks;
  for (size_t i = 0; i < inputs; i++)
    if (!join_blocks(c, i, j, stride, blocks, &at, out)) return;
  if (at == stride) surg__infer_put_any_elems(c, 0, out, (uint32_t)all.value);
}

void surg__infer_concat(surg__infer *c) {
  const size_t inputs = surg_node_input_count(c->n);
  const int64_t axis = surg_node_int(c->n, "axis", 1);
  const int dtype = surg__infer_dtype(c, 0);
  joined j = {.all = true};
  for (size_t i = 0; i < inputs; i++) {
    surg__fact f;
    if (!surg__infer_ranked(c, i, &f)) {
      j.all = false;
    } else if (!join_input(c, &j, &f, axis)) {
      surg__infer_bad(c);
      return;
    }
  }
  if (!j.ranked) return;
  j.dims[j.axis] = j.all ? j.sum : surg__dim_unknown();
  surg__infer_put(c, 0, dtype, j.dims, j.rank);
  const bool number =
      dtype == SURG_INT64 || dtype == SURG_INT32 || dtype == SURG_FLOAT || dtype == SURG_DOUBLE;
  if (c->states && j.all && number) join_elems(c, &j, inputs);
}

/* --- Split --- */

/* Piece sizes when no sizes are given: equal pieces; from version 18 the last may be smaller. */
static bool piece(const surg__infer *c, surg_dim dim, size_t pieces, size_t i, surg_dim *size) {
  const int64_t n = (int64_t)pieces;
  int64_t before;
  if (c->since < 18) {
    *size = surg__dim_over(dim, n);
    return !surg__dim_known(dim) || dim.value % n == 0;
  }
  const surg_dim chunk = surg__dim_over_up(dim, n), most = surg__dim_times(chunk, n - 1);
  *size = chunk;
  if (!surg__dim_known(dim)) {
    if ((int64_t)i == n - 1)
      *size = surg__expr_dim(surg__expr_sub(dim.expr, surg__dim_as_expr(c, most)));
    return true;
  }
  if (!surg__mul_i64(chunk.value, n - 1, &before)) return false;
  /* The sizes are undefined when even the last piece would have a negative size. */
  if (dim.value < before)
    *size = surg__dim_unknown();
  else if ((int64_t)i == n - 1)
    *size = surg__dim(dim.value - before);
  return true;
}

/* How a Split divides: sizes that are given (known or not), or a number of equal pieces. */
typedef struct split_plan {
  bool given;
  surg__elem sizes[SURG__ELEMS]; /* of n_sizes pieces; unknown where n_sizes is 0 */
  size_t n_sizes, pieces;
} split_plan;

/* Reads the sizes, one per piece, from the attribute or the input. */
static bool given_sizes(surg__infer *c, split_plan *p) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  size_t count;
  if (surg__schema_attr(c->schema, "split") && surg_node_attr(c->n, "split")) {
    const int64_t *s = surg_node_ints(c->n, "split", &count);
    if (!s || count > SURG__ELEMS) return false;
    for (size_t i = 0; i < count; i++) p->sizes[i] = surg__elem_int(s[i]);
    p->n_sizes = count;
    return true;
  }
  const surg__elem *e = surg__infer_elems(c, 1, buf, &n);
  if (!e) return false;
  for (uint32_t i = 0; i < n; i++) p->sizes[i] = e[i];
  p->n_sizes = n;
  return true;
}

static bool sizes_fit(const split_plan *p, surg_dim whole) {
  int64_t sum = 0;
  for (size_t i = 0; i < p->n_sizes; i++) {
    if (!p->sizes[i].known) return true;
    if (p->sizes[i].value < 0 || !surg__add_i64(sum, p->sizes[i].value, &sum)) return false;
  }
  return !surg__dim_known(whole) || whole.value == sum;
}

/* Reads the node; false: it is invalid. */
static bool plan_split(surg__infer *c, surg_dim whole, split_plan *p) {
  const size_t outputs = surg_node_output_count(c->n);
  p->n_sizes = 0;
  p->given = surg__infer_has(c, 1) ||
             (surg__schema_attr(c->schema, "split") && surg_node_attr(c->n, "split"));
  p->pieces = outputs;
  if (p->given && given_sizes(c, p)) return p->n_sizes >= outputs && sizes_fit(p, whole);
  if (p->given || c->since < 18 || !surg_node_attr(c->n, "num_outputs")) return true;
  const int64_t wanted = surg_node_int(c->n, "num_outputs", 0);
  p->pieces = (size_t)wanted;
  return wanted >= (int64_t)outputs;
}

/* The size of piece k. False: the node is invalid. */
static bool split_size(const surg__infer *c, const split_plan *p, surg_dim whole, size_t k,
                       surg_dim *size) {
  assert(p->n_sizes == 0 || k < p->n_sizes);
  bool negative = false;
  *size = surg__dim_unknown();
  if (!p->given) return piece(c, whole, p->pieces, k, size);
  if (p->n_sizes) *size = surg__dim_of(p->sizes[k], &negative);
  return !negative;
}

void surg__infer_split(surg__infer *c) {
  surg__fact x;
  size_t axis;
  split_plan p;
  surg_dim dims[SURG_LIMIT_RANK];
  int64_t from[SURG_LIMIT_RANK], step[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), x.rank, &axis)) return;
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  const surg_dim whole = x.dims[axis];
  for (uint32_t i = 0; i < x.rank; i++) {
    from[i] = 0;
    step[i] = 1;
  }
  const size_t outputs = surg_node_output_count(c->n);
  if (!plan_split(c, whole, &p)) {
    surg__infer_bad(c);
    return;
  }
  for (size_t k = 0; k < outputs; k++) {
    if (!split_size(c, &p, whole, k, &dims[axis])) {
      surg__infer_bad(c);
      return;
    }
    const int64_t size = dims[axis].value;
    surg__infer_put(c, k, x.dtype, dims, x.rank);
    if (size < 0 || from[axis] < 0 || !surg__add_i64(from[axis], size, &from[axis])) {
      from[axis] = -1;
      continue;
    }
    from[axis] -= size;
    if (c->states) surg__infer_pick_elems(c, k, x.dims, dims, x.rank, from, step);
    from[axis] += size;
  }
}

/* --- Slice --- */

typedef struct cut {
  const surg__elem *start, *end, *axis, *step; /* NULL: unknown, or absent where allowed */
  bool axis_absent, step_absent;
  uint32_t n;
} cut;

/* Start and number of elements of a slice of one axis; false: step is 0. Any numbers are
 * accepted. */
static bool cut_known(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *from,
                      int64_t *count) {
  if (step == 0) return false;
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  /* With a negative step, a start before the first element is clamped to the first one. */
  if (start < 0) start = 0;
  start = start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  *from = start;
  int64_t span = step > 0 ? end - start : start - end;
  if (span <= 0) {
    *count = 0;
    return true;
  }
  const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  *count = (int64_t)(((uint64_t)span - 1) / stride + 1);
  assert(*count > 0 && *count <= span);
  return true;
}

/* The end of a slice as a nonnegative index, before clamping; NULL: unknown. */
static const surg_expr *cut_end(surg__infer *c, const surg_expr *dim, surg__elem e) {
  if (e.known) {
    if (e.value >= 0) return surg__expr_num(c->m, e.value);
    /* Far before the first element, also where the sum would overflow. */
    if (dim->hi < INT64_MAX && e.value < -dim->hi) return surg__expr_num(c->m, -1);
    return surg__expr_add_num(dim, e.value);
  }
  if (surg__expr_at_least_num(e.expr, 0)) return e.expr;
  return surg__expr_at_most_num(e.expr, -1) ? surg__expr_add(dim, e.expr) : NULL;
}

static const surg_expr *clamped(surg__infer *c, const surg_expr *e, int64_t low,
                                const surg_expr *high) {
  return surg__expr_min(surg__expr_max(e, surg__expr_num(c->m, low)), high);
}

/* The size of a slice with symbolic operands. */
static surg_dim cut_symbolic(surg__infer *c, surg_dim d, surg__elem start, surg__elem end,
                             int64_t step) {
  const surg_expr *dim = surg__dim_as_expr(c, d), *span;
  if (!dim || step == INT64_MIN) return surg__dim_unknown();
  const surg_expr *from = cut_end(c, dim, start), *to = cut_end(c, dim, end);
  const surg_expr *high = step > 0 ? dim : surg__expr_add_num(dim, -1);
  from = clamped(c, from, 0, high);
  to = clamped(c, to, step > 0 ? 0 : -1, high);
  if (step > 0)
    span = surg__expr_div_num(surg__expr_add_num(surg__expr_sub(to, from), step - 1), step);
  else
    span = surg__expr_div_num(surg__expr_add_num(surg__expr_sub(from, to), -step - 1), -step);
  return surg__expr_dim(surg__expr_max(span, surg__expr_num(c->m, 0)));
}

static bool slice_attrs(surg__infer *c, cut *q, surg__elem *start, surg__elem *end,
                        surg__elem *axis) {
  size_t ns = 0, ne = 0, na = 0;
  const int64_t *s = surg_node_ints(c->n, "starts", &ns), *e = surg_node_ints(c->n, "ends", &ne);
  const int64_t *a = surg_node_ints(c->n, "axes", &na);
  q->axis_absent = !surg_node_attr(c->n, "axes");
  q->step_absent = true;
  if (!s || !e || ns != ne || ns > SURG_LIMIT_RANK || (!q->axis_absent && na != ns)) return false;
  for (size_t i = 0; i < ns; i++) {
    start[i] = surg__elem_int(s[i]);
    end[i] = surg__elem_int(e[i]);
    if (!q->axis_absent) axis[i] = surg__elem_int(a[i]);
  }
  q->start = start;
  q->end = end;
  q->axis = q->axis_absent ? NULL : axis;
  q->n = (uint32_t)ns;
  return true;
}

/* Elements of input i, exactly n of them. */
static const surg__elem *elems_of(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                  uint32_t n) {
  uint32_t count;
  const surg__elem *e = surg__infer_elems(c, i, buf, &count);
  return e && count == n ? e : NULL;
}

typedef struct slice_bufs {
  surg__elem start[SURG__ELEMS], end[SURG__ELEMS], axis[SURG__ELEMS], step[SURG__ELEMS];
} slice_bufs;

/* The number of axes that are sliced: the common length of starts, ends, axes and steps. */
static bool slice_count(surg__infer *c, uint32_t *n) {
  for (size_t i = 1; i < 5; i++) {
    surg__fact f;
    if (surg__infer_ranked(c, i, &f) && f.rank == 1 && surg__dim_known(f.dims[0])) {
      *n = (uint32_t)f.dims[0].value;
      return f.dims[0].value <= SURG_LIMIT_RANK;
    }
  }
  return false;
}

static bool slice_inputs(surg__infer *c, cut *q, slice_bufs *b) {
  q->axis_absent = !surg__infer_has(c, 3);
  q->step_absent = !surg__infer_has(c, 4);
  if (!slice_count(c, &q->n)) return false;
  q->start = elems_of(c, 1, b->start, q->n);
  q->end = elems_of(c, 2, b->end, q->n);
  q->axis = q->axis_absent ? NULL : elems_of(c, 3, b->axis, q->n);
  q->step = q->step_absent ? NULL : elems_of(c, 4, b->step, q->n);
  return true;
}

/* Slices one axis; false: the node is invalid. *from and *step are set if the dimension is
 * known. */
static bool slice_axis(surg__infer *c, const cut *q, uint32_t i, surg_dim *dim, int64_t *from,
                       int64_t *step) {
  const surg__elem one = surg__elem_int(1), none = surg__elem_unknown();
  const surg__elem s = q->start ? q->start[i] : none, e = q->end ? q->end[i] : none;
  const surg__elem k = q->step_absent ? one : q->step ? q->step[i] : none;
  if (k.known && k.value == 0) return false;
  *step = k.value;
  /* A negative step with the largest integer as `end`: engines read it as "up to the end"; the
   * standard defines that only for forward slices. */
  const bool open = k.value < 0 && (!e.known || e.value == INT32_MAX || e.value == INT64_MAX);
  if (!k.known || open) {
    *dim = surg__dim_unknown();
  } else if (surg__dim_known(*dim) && s.known && e.known) {
    int64_t count;
    if (!cut_known(dim->value, s.value, e.value, k.value, from, &count)) return false;
    *dim = surg__dim(count);
    return true;
  } else {
    *dim = cut_symbolic(c, *dim, s, e, k.value);
  }
  *from = -1;
  return true;
}

void surg__infer_slice(surg__infer *c) {
  surg__fact x;
  slice_bufs b;
  cut q = {0};
  if (!surg__infer_ranked(c, 0, &x)) return;
  surg_dim whole[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  memcpy(whole, x.dims, x.rank * sizeof *dims);
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  const int dtype = x.dtype;
  const bool readable =
      c->since < 10 ? slice_attrs(c, &q, b.start, b.end, b.axis) : slice_inputs(c, &q, &b);
  if (!readable || (!q.axis_absent && !q.axis)) {
    for (uint32_t i = 0; i < x.rank; i++) dims[i] = surg__dim_unknown();
    surg__infer_put(c, 0, dtype, dims, x.rank);
    return;
  }
  int64_t from[SURG_LIMIT_RANK], step[SURG_LIMIT_RANK];
  uint64_t seen = 0;
  bool known = true;
  for (uint32_t i = 0; i < x.rank; i++) {
    from[i] = 0;
    step[i] = 1;
  }
  for (uint32_t i = 0; i < q.n; i++) {
    size_t axis;
    if (!q.axis_absent && !q.axis[i].known) {
      for (uint32_t k = 0; k < x.rank; k++) dims[k] = surg__dim_unknown();
      known = false;
      break;
    }
    if (!surg__infer_axis(c, q.axis_absent ? (int64_t)i : q.axis[i].value, x.rank, &axis)) return;
    if (seen >> axis & 1 || !slice_axis(c, &q, i, &dims[axis], &from[axis], &step[axis])) {
      surg__infer_bad(c);
      return;
    }
    seen |= UINT64_C(1) << axis;
    known = known && from[axis] >= 0;
  }
  surg__infer_put(c, 0, dtype, dims, x.rank);
  if (c->states && known) surg__infer_pick_elems(c, 0, whole, dims, x.rank, from, step);
}

/* --- Pad --- */

/* The padding sizes, 2 for each of *n axes; NULL: unknown. */
static const surg__elem *paddings(surg__infer *c, surg__elem buf[SURG__ELEMS], uint32_t *n) {
  if (c->since >= 11) return surg__infer_elems(c, 1, buf, n);
  size_t count = 0;
  const int64_t *p = surg_node_ints(c->n, c->since == 1 ? "paddings" : "pads", &count);
  if (!p || count > SURG__ELEMS) return NULL;
  for (size_t i = 0; i < count; i++) buf[i] = surg__elem_int(p[i]);
  *n = (uint32_t)count;
  return buf;
}

static bool pad_dim(surg__infer *c, surg_dim *d, surg__elem before, surg__elem after) {
  int64_t v;
  if (surg__dim_known(*d) && before.known && after.known) {
    const bool fits =
        surg__add_i64(d->value, before.value, &v) && surg__add_i64(v, after.value, &v);
    *d = fits ? surg__dim(v) : surg__dim_unknown();
    return !fits || v >= 0;
  }
  const surg_expr *pads = surg__expr_add(surg__elem_expr(c, before), surg__elem_expr(c, after));
  *d = surg__expr_dim(surg__expr_add(surg__dim_as_expr(c, *d), pads));
  return true;
}

void surg__infer_pad(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x)) return;
  surg_dim dims[SURG_LIMIT_RANK];
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  int64_t axes[SURG_LIMIT_RANK];
  surg__elem buf[SURG__ELEMS];
  uint32_t n, n_axes = x.rank;
  const int dtype = x.dtype;
  const bool some = c->since >= 18 && surg__infer_has(c, 3);
  const surg__elem *pads = paddings(c, buf, &n);
  bool known = pads != NULL;
  if (some && known) known = surg__infer_ints(c, 3, axes, SURG_LIMIT_RANK, &n_axes);
  if (!known) {
    for (uint32_t i = 0; i < x.rank; i++) dims[i] = surg__dim_unknown();
    surg__infer_put(c, 0, dtype, dims, x.rank);
    return;
  }
  bool fits = n == 2 * n_axes;
  for (uint32_t i = 0; i < n_axes && fits; i++) {
    size_t axis = i;
    if (some && !surg__infer_axis(c, axes[i], x.rank, &axis)) return;
    fits = pad_dim(c, &dims[axis], pads[i], pads[i + n_axes]);
  }
  if (fits)
    surg__infer_put(c, 0, dtype, dims, x.rank);
  else
    surg__infer_bad(c);
}

/* --- Expand, Tile --- */

static void fill_elems(surg__infer *c, const surg_dim *dims, size_t rank) {
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n;
  const surg_dim count = surg__dim_product(dims, rank);
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e || n != 1 || count.value < 0 || count.value > (int64_t)SURG__ELEMS) return;
  for (int64_t i = 0; i < count.value; i++) out[i] = e[0];
  surg__infer_put_elems(c, 0, out, (uint32_t)count.value);
}

void surg__infer_expand(surg__infer *c) {
  surg__fact x, shape;
  surg__elem buf[SURG__ELEMS];
  surg_dim dims[SURG_LIMIT_RANK], to[SURG_LIMIT_RANK];
  uint32_t n = 0;
  bool negative = false;
  if (!surg__infer_ranked(c, 0, &x)) return;
  size_t rank = x.rank;
  memcpy(dims, x.dims, rank * sizeof *dims);
  const int dtype = x.dtype;
  const surg__elem *e = surg__infer_elems(c, 1, buf, &n);
  if (!e) {
    if (!surg__infer_ranked(c, 1, &shape) || shape.rank != 1 || !surg__dim_known(shape.dims[0]) ||
        shape.dims[0].value > SURG_LIMIT_RANK)
      return;
    n = (uint32_t)shape.dims[0].value;
  }
  if (n > SURG_LIMIT_RANK) return;
  for (uint32_t i = 0; i < n; i++) to[i] = e ? surg__dim_of(e[i], &negative) : surg__dim_unknown();
  if (negative || !surg__dims_broadcast(dims, &rank, to, n)) {
    surg__infer_bad(c);
    return;
  }
  surg__infer_put(c, 0, dtype, dims, rank);
  if (c->states) fill_elems(c, dims, rank);
}

void surg__infer_tile(surg__infer *c) {
  surg__fact x;
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  if (!surg__infer_ranked(c, 0, &x)) return;
  surg_dim dims[SURG_LIMIT_RANK];
  const int dtype = x.dtype;
  const surg__elem *e = c->since >= 6 ? surg__infer_elems(c, 1, buf, &n) : NULL;
  if (e && n != x.rank) {
    surg__infer_bad(c);
    return;
  }
  for (uint32_t i = 0; i < x.rank; i++) {
    bool negative = false;
    const surg_dim times = e ? surg__dim_of(e[i], &negative) : surg__dim_unknown();
    if (negative) {
      surg__infer_bad(c);
      return;
    }
    const surg_dim both[2] = {x.dims[i], times};
    dims[i] = surg__dim_product(both, 2);
  }
  surg__infer_put(c, 0, dtype, dims, x.rank);
  if (c->states) fill_elems(c, dims, x.rank);
}
