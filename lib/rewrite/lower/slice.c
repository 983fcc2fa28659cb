/* SPDX-License-Identifier: Apache-2.0 */
/* Slice, Split, Pad and Range with bounds that the model computes, for versions that
 * require constants. Gather fetches the elements with computed indices, so any
 * element type is supported. */
#include "base/counted.h"
#include "rewrite/lower/terms.h"

#define MOST_INDICES 65536 /* in a constant */
#define MOST_OUTPUTS 1024  /* of a Split */

/* A list of integers bound to a name, with its elements if they are proven. */
typedef struct int_list {
  surg_value *v; /* NULL: absent */
  bool known;
  int64_t n; /* number of elements; -1: not known */
  int64_t at[SURG_LIMIT_RANK];
} int_list;

/* Reads a list. False: not a vector of int64 or int32 of known length. */
static bool read_numbers(const surg__builder *b, const char *name, int_list *out) {
  surg__built t;
  surg_elem e[SURG_LIMIT_RANK];
  *out = (int_list){.v = surg__b_get(b, name), .n = -1};
  if (!out->v) return true;
  if (!surg__built_of(out->v, &t) || t.rank != 1 || t.d[0].n < 0 || t.d[0].n > SURG_LIMIT_RANK ||
      (t.dtype != SURG_INT64 && t.dtype != SURG_INT32))
    return false;
  out->n = t.d[0].n;
  out->known = surg__known_elements(out->v, e, SURG_LIMIT_RANK) == out->n;
  for (int64_t i = 0; i < out->n && out->known; i++) {
    out->known = e[i].known;
    out->at[i] = e[i].value;
  }
  return true;
}

/* An integer: a known number, or a vector of one element computed by the model. */
typedef struct amount {
  bool known;
  int64_t n;
  surg_value *v;
} amount;

static amount known(int64_t n) {
  return (amount){.known = true, .n = n};
}

static surg_value *spelled(surg__builder *b, const amount *a) {
  return a->known ? surg__b_ints(b, &a->n, 1) : a->v;
}

static amount number_of(surg__builder *b, const int_list *x, int64_t i) {
  if (x->known) return known(x->at[i]);
  return (amount){.v = surg__bint_at(b, surg__bint_wide(b, x->v), i)};
}

/* --- Slice --- */

/* The elements start, start + step, ... before `end` of an axis. */
typedef struct range {
  amount start, end, step;
} range;

/* Clamps the bounds as the Slice operator does. */
static void clamp_range(int64_t dim, const range *r, int64_t *first, int64_t *n) {
  int64_t start = r->start.n, end = r->end.n, step = r->step.n;
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  start = start < 0 ? 0 : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  const int64_t span = step > 0 ? end - start : start - end;
  *first = start;
  *n = span <= 0 || dim == 0 ? 0 : (int64_t)(1 + ((uint64_t)span - 1) / stride);
}

static surg__built fixed_indices(surg__builder *b, int64_t first, int64_t n, int64_t step) {
  double *at = surg__arena_array(b->m->arena, (size_t)n + 1, sizeof *at);
  for (int64_t i = 0; at && i < n; i++) at[i] = (double)(first + i * step);
  if (!at) b->status = SURG_ENOMEM;
  return surg__built_numbers(b, SURG_INT64, &n, at ? 1 : 0, at);
}

/* The number of steps in a span: (span - 1) / step + 1, or 0. A step of 0 is invalid, but may be in
 * a branch that never runs: with `not_zero` false it is replaced by 1, since runtimes reject a
 * constant division by 0 when they load the model. */
static surg_value *steps_in(surg__builder *b, surg_value *span, surg_value *step, bool not_zero) {
  if (!not_zero) {
    surg_value *one = surg__bint(b, 1); /* first: compilers evaluate arguments in any order */
    surg_value *none = op2(b, "Equal", step, surg__bint(b, 0));
    step = surg__bint_choose(b, none, one, step);
  }
  surg_value *q = op2(b, "Div", op2(b, "Sub", span, surg__bint(b, 1)), step);
  surg_value *some = op2(b, "Less", surg__bint(b, 0), span);
  surg_value *steps = op2(b, "Add", q, surg__bint(b, 1));
  return surg__bint_choose(b, some, steps, surg__bint(b, 0));
}

/* 1, or -1 where x is negative. */
static surg_value *sign_of(surg__builder *b, surg_value *x) {
  surg_value *below = op2(b, "Less", x, surg__bint(b, 0));
  surg_value *minus = surg__bint(b, -1);
  return surg__bint_choose(b, below, minus, surg__bint(b, 1));
}

static surg__built computed_indices(surg__builder *b, const surg__bdim *dim, const range *r) {
  surg_value *d = surg__bdim_vector(b, dim, 1), *step = spelled(b, &r->step);
  surg_value *start = surg__bint_wrap(b, spelled(b, &r->start), d);
  surg_value *end = surg__bint_wrap(b, spelled(b, &r->end), d);
  surg_value *zero = surg__bint(b, 0), *span, *stride = step;
  if (r->step.known && r->step.n > 0) {
    start = surg__bint_least(b, surg__bint_most(b, start, zero), d);
    end = surg__bint_least(b, surg__bint_most(b, end, zero), d);
    span = op2(b, "Sub", end, start);
  } else {
    surg_value *sign = sign_of(b, step);
    /* With a negative step both bounds are one less: -1 to the last element. */
    surg_value *low = surg__bint_least(b, sign, zero), *high = op2(b, "Add", d, low);
    start = surg__bint_least(b, surg__bint_most(b, start, zero), high);
    end = surg__bint_least(b, surg__bint_most(b, end, low), high);
    span = op2(b, "Mul", op2(b, "Sub", end, start), sign);
    stride = op2(b, "Mul", step, sign);
  }
  surg_value *n = steps_in(b, span, stride, r->step.known && r->step.n != 0);
  if (!surg__bdim_filled(dim)) n = surg__bint_choose(b, op2(b, "Equal", d, zero), zero, n);
  surg__built at = surg__built_range(b, surg__bdim_of(n), SURG_INT64);
  if (!r->step.known || r->step.n != 1) at.v = op2(b, "Mul", at.v, step);
  at.v = op2(b, "Add", at.v, start);
  return at;
}

static surg__built sliced(surg__builder *b, surg__built x, uint32_t axis, const range *r) {
  const surg__bdim *d = &x.d[axis];
  if (d->n < 0 || !r->start.known || !r->end.known || !r->step.known)
    return surg__built_gather(b, x, computed_indices(b, d, r), axis);
  int64_t first, n;
  clamp_range(d->n, r, &first, &n);
  if (n == d->n && r->step.n > 0) return x;
  if (n <= MOST_INDICES)
    return surg__built_gather(b, x, fixed_indices(b, first, n, r->step.n), axis);
  return surg__built_gather(b, x, computed_indices(b, d, r), axis);
}

typedef struct slice {
  surg__built x;
  int_list starts, ends, axes, steps;
} slice;

/* Reads x if its rank is unknown: only axes that are known and not negative are supported. */
static bool read_unranked(const surg__builder *b, slice *s) {
  int64_t last = -1;
  surg_value *x = surg__b_get(b, "x");
  if (!s->axes.known || !surg__b_dtype(x)) return false;
  for (int64_t i = 0; i < s->axes.n; i++) {
    if (s->axes.at[i] < 0 || s->axes.at[i] >= (int64_t)SURG__BT_RANK) return false;
    if (s->axes.at[i] > last) last = s->axes.at[i];
  }
  s->x = (surg__built){.v = x, .dtype = surg__b_dtype(x), .rank = (uint32_t)(last + 1)};
  for (uint32_t i = 0; i < s->x.rank; i++)
    s->x.d[i] = (surg__bdim){.n = -1, .of = x, .axis = i, .dim = {.value = -1}};
  return true;
}

static bool read_slice(const surg__builder *b, slice *s) {
  if (!read_numbers(b, "b", &s->starts) || !read_numbers(b, "e", &s->ends) ||
      !read_numbers(b, "a", &s->axes) || !read_numbers(b, "s", &s->steps) || s->starts.n < 0 ||
      s->ends.n != s->starts.n || b->m->opset < 9)
    return false;
  if (!surg__built_get(b, "x", &s->x) && !read_unranked(b, s)) return false;
  const int64_t n = s->starts.n;
  if ((s->axes.v && s->axes.n != n) || (s->steps.v && s->steps.n != n) || n > (int64_t)s->x.rank)
    return false;
  for (int64_t i = 0; s->steps.known && i < n; i++)
    if (s->steps.at[i] == 0 || s->steps.at[i] == INT64_MIN) return false;
  /* Runtimes interpret this end as "up to the first element", ONNX does not; the
   * evaluator yields no elements. */
  for (int64_t i = 0; s->steps.known && s->ends.known && i < n; i++)
    if (s->steps.at[i] < 0 && (s->ends.at[i] == INT64_MAX || s->ends.at[i] == INT32_MAX))
      return false;
  for (int64_t i = 0; s->axes.known && i < n; i++) {
    if (s->axes.at[i] < 0) s->axes.at[i] += s->x.rank;
    if (s->axes.at[i] < 0 || s->axes.at[i] >= (int64_t)s->x.rank) return false;
  }
  return true;
}

/* For each axis its number in list x, or `other` if the axis is not listed: [rank]. */
static surg_value *spread(surg__builder *b, surg_value *hits, surg_value *named, const int_list *x,
                          surg_value *other) {
  const int64_t column[2] = {x->n, 1};
  surg_value *v = surg__bint_reshape(b, surg__bint_wide(b, x->v), column, 2);
  surg_value *sum = surg__bint_sum(b, op2(b, "Mul", hits, v), 0);
  return surg__bint_choose(b, named, sum, other);
}

/* Slices every axis, if the axes are computed, too: bounds and steps are computed per axis. */
static surg__built slice_anywhere(surg__builder *b, const slice *s) {
  const uint32_t rank = s->x.rank;
  surg_value *hits = surg__bint_hits(b, surg__bint_wide(b, s->axes.v), rank);
  surg_value *zero = surg__bint(b, 0);
  surg_value *named = op2(b, "Less", zero, surg__bint_sum(b, hits, 0));
  surg_value *starts = spread(b, hits, named, &s->starts, surg__bint(b, 0));
  surg_value *ends = spread(b, hits, named, &s->ends, surg__b_unary(b, "Shape", s->x.v));
  surg_value *steps = s->steps.v ? spread(b, hits, named, &s->steps, surg__bint(b, 1)) : NULL;
  surg__built y = s->x;
  for (uint32_t i = 0; i < rank; i++) {
    const amount from = {.v = surg__bint_at(b, starts, i)}, to = {.v = surg__bint_at(b, ends, i)};
    const amount step = steps ? (amount){.v = surg__bint_at(b, steps, i)} : known(1);
    const range r = {from, to, step};
    y = sliced(b, y, i, &r);
  }
  return y;
}

/* y = Slice (x, b, e, a, s) */
static surg_status slice_by_gather(surg__builder *b) {
  slice s;
  if (!read_slice(b, &s) ||
      surg__b_bad(b, s.axes.v && !s.axes.known && s.axes.n == 0, "an attribute is unknown"))
    return SURG_EUNSUPPORTED;
  surg__built y = s.x;
  if (s.axes.v && !s.axes.known) {
    y = slice_anywhere(b, &s);
  } else {
    for (int64_t i = 0; i < s.starts.n; i++) {
      const amount from = number_of(b, &s.starts, i), to = number_of(b, &s.ends, i);
      const amount step = s.steps.v ? number_of(b, &s.steps, i) : known(1);
      const range r = {from, to, step};
      y = sliced(b, y, s.axes.v ? (uint32_t)s.axes.at[i] : (uint32_t)i, &r);
    }
  }
  surg__built_result(b, "y", y);
  return b->status;
}

/* --- Split --- */

/* Makes v the replacement of an output of the matched node. */
static void take(surg__builder *b, surg_value *old, surg_value *v) {
  size_t index;
  if (b->status || !old) return;
  surg_node *n = surg_value_producer(v, &index);
  b->status = surg_node_take_output(n, index, old);
}

/* The elements lo .. hi - 1 of x along an axis. Negative axes require opset 11. */
static surg_value *part_of(surg__builder *b, surg_value *x, int64_t axis, surg_value *lo,
                           surg_value *hi) {
  surg_value *const in[4] = {x, lo, hi, surg__b_ints(b, &axis, 1)};
  return surg__b_node(b, "Slice", in, 4);
}

/* ... = Split <axis> (x, sizes), or with num_outputs: each output becomes a Slice. */
static surg_status split_to_slices(surg__builder *b) {
  surg_node *n = surg__b_matched(b);
  surg_value *x = surg_node_input(n, 0), *sizes = surg_node_input(n, 1);
  const int64_t outputs = (int64_t)surg_node_output_count(n);
  const int64_t axis = surg_node_int(n, "axis", 0), zero = 0;
  if (!surg__b_attrs_known(b) ||
      surg__b_bad(b, b->m->opset < 11, "the rewrite requires opset 11") ||
      surg__b_bad(b, outputs > MOST_OUTPUTS, "it has more parts than a rewrite may list") ||
      surg__b_bad(b, surg_node_int(n, "num_outputs", outputs) != outputs,
                  "num_outputs differs from the number of outputs"))
    return SURG_EUNSUPPORTED;
  surg_value **parts = surg__arena_array(b->m->arena, (size_t)outputs + 1, sizeof *parts);
  if (!parts) return SURG_ENOMEM;
  surg_value *from = surg__b_ints(b, &zero, 1), *part = NULL;
  if (!sizes) { /* equal parts; the last one may be smaller */
    const int64_t round_up = outputs - 1;
    surg_value *whole = surg__bint_at(b, surg__b_unary(b, "Shape", x), axis);
    surg_value *raised = op2(b, "Add", whole, surg__bint(b, round_up));
    part = op2(b, "Div", raised, surg__bint(b, outputs));
  }
  for (int64_t i = 0; i < outputs && !b->status; i++) {
    if (sizes) part = surg__bint_at(b, sizes, i);
    surg_value *to = i == 0 ? part : op2(b, "Add", from, part);
    parts[i] = part_of(b, x, axis, from, to);
    from = to;
  }
  for (int64_t i = 0; i < outputs && !b->status; i++)
    take(b, surg_node_output(n, (size_t)i), parts[i]);
  return b->status;
}

/* A part with constant bounds; before opset 10 they are attributes of Slice. */
static surg_value *part_between(surg__builder *b, surg_value *x, int64_t axis, int64_t lo,
                                int64_t hi) {
  if (b->m->opset >= 10) {
    surg_value *end = surg__b_ints(b, &hi, 1);
    return part_of(b, x, axis, surg__b_ints(b, &lo, 1), end);
  }
  surg_value *v = surg__b_unary(b, "Slice", x);
  surg_node *n = b->status ? NULL : surg_value_producer(v, NULL);
  if (n) b->status = surg_node_set_ints(n, "axes", &axis, 1);
  if (n && !b->status) b->status = surg_node_set_ints(n, "starts", &lo, 1);
  if (n && !b->status) b->status = surg_node_set_ints(n, "ends", &hi, 1);
  return v;
}

/* ... = Split <axis, split> (x) of opset 2 to 12: each output becomes a Slice
 * with constant bounds. */
static surg_status split_at_numbers(surg__builder *b) {
  surg_node *n = surg__b_matched(b);
  surg_value *x = surg_node_input(n, 0);
  const surg_type *t = surg_value_type(x);
  const size_t outputs = surg_node_output_count(n);
  size_t count = 0;
  const int64_t *sizes = surg_node_ints(n, "split", &count);
  int64_t axis = surg_node_int(n, "axis", 0), at = 0;
  if (!surg__b_attrs_known(b) || surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, surg_type_get_kind(t) != SURG_TYPE_TENSOR,
                  "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_has_rank(t), "the rank of an input is unknown") ||
      surg__b_bad(b, !outputs, "it has no outputs") ||
      surg__b_bad(b, outputs > MOST_OUTPUTS, "it has more parts than a rewrite may list"))
    return SURG_EUNSUPPORTED;
  const int64_t rank = (int64_t)surg_type_rank(t);
  if (axis < 0) axis += rank;
  const int64_t whole = axis >= 0 && axis < rank ? surg_type_dim(t, (size_t)axis)->value : -1;
  if (surg__b_bad(b, whole < 0, "x: the size of the axis is unknown") ||
      surg__b_bad(b, sizes ? count != outputs : whole % (int64_t)outputs != 0,
                  "the sizes of the parts do not fit"))
    return SURG_EUNSUPPORTED;
  int64_t sum = 0;
  for (size_t i = 0; sizes && i < count; i++)
    if (surg__b_bad(b, sizes[i] < 0, "the size of a part is negative") ||
        surg__b_bad(b, !surg__add_i64(sum, sizes[i], &sum), "the sizes of the parts overflow"))
      return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, sizes && sum != whole, "the sizes of the parts do not fit"))
    return SURG_EUNSUPPORTED; /* a Slice would not report this error */
  surg_value **parts = surg__arena_array(b->m->arena, outputs + 1, sizeof *parts);
  if (!parts) return SURG_ENOMEM;
  for (size_t i = 0; i < outputs && !b->status; i++) {
    const int64_t to = at + (sizes ? sizes[i] : whole / (int64_t)outputs);
    parts[i] = part_between(b, x, axis, at, to);
    at = to;
  }
  for (size_t i = 0; i < outputs && !b->status; i++) take(b, surg_node_output(n, i), parts[i]);
  return b->status;
}

/* ... = Split <...> (x), one part per output. From opset 18 on, num_outputs is required. */
static surg_status split_counted(surg__builder *b) {
  surg_node *n = surg__b_matched(b);
  const size_t outputs = surg_node_output_count(n);
  surg_value *y = surg__b_unary(b, "Split", surg_node_input(n, 0));
  if (b->status) return b->status;
  surg_node *made = surg_value_producer(y, NULL);
  surg__b_copy_attrs(b, y, n, NULL);
  surg__b_set_int(b, y, "num_outputs", (int64_t)outputs);
  for (size_t i = 0; i < outputs && !b->status; i++) {
    surg_value *old = surg_node_output(n, i);
    if (old) b->status = surg_node_take_output(made, i, old);
  }
  return b->status;
}

/* --- Slices that cover a value --- */

#define MOST_PIECES 64u /* readers of a value that are examined */

typedef struct piece {
  surg_node *n;
  int64_t axis, from, to;
} piece;

/* Reads the range of a Slice along one axis; false: not known, or the step is not 1. */
static bool read_piece(surg_node *n, const surg__built *x, piece *p) {
  int64_t k[4] = {0, 0, 0, 1};
  for (size_t i = 0; i < 4; i++) {
    surg_elem e[2];
    const surg_value *v = surg_node_input(n, i + 1);
    if (!v && i == 3) continue;
    if (!v || surg__known_elements(v, e, 2) != 1 || !e[0].known) return false;
    k[i] = e[0].value;
  }
  const int64_t axis = k[2] < 0 ? k[2] + x->rank : k[2];
  if (axis < 0 || axis >= (int64_t)x->rank || x->d[axis].n < 0 || k[3] != 1) return false;
  const range r = {known(k[0]), known(k[1]), known(1)};
  int64_t count;
  clamp_range(x->d[axis].n, &r, &p->from, &count);
  p->n = n;
  p->axis = axis;
  p->to = p->from + count;
  return surg_node_output_count(n) == 1 && surg_node_output(n, 0) && count > 0;
}

static bool is_slice(const surg_use *u, const surg_graph *g) {
  if (surg_use_get_kind(u) != SURG_USE_NODE || surg_use_graph(u) != g) return false;
  const surg_node *n = surg_use_node(u);
  return surg_node_op(n) == SURG_OP_Slice && surg_node_class(n) == SURG_OP_CLASS_BUILTIN;
}

/* Finds the Slices of x along the axis of the matched one, sorted by start. Returns 0 unless they
 * cover x exactly, without gaps and overlaps. */
static size_t find_pieces(const surg__builder *b, const surg__built *x, piece *all) {
  piece first;
  size_t n = 0, seen = 0;
  int64_t at = 0;
  if (!read_piece(surg__b_matched(b), x, &first)) return 0;
  for (const surg_use *u = surg_value_first_use(x->v); u; u = surg_use_next(u)) {
    piece p;
    if (++seen > MOST_PIECES) return 0;
    if (!is_slice(u, b->g) || surg_node_input(surg_use_node(u), 0) != x->v ||
        !read_piece(surg_use_node(u), x, &p) || p.axis != first.axis)
      continue;
    if (b->m->pass && surg_pass_keeps_node(b->m->pass, p.n)) return 0;
    size_t k = n++;
    for (; k > 0 && all[k - 1].from > p.from; k--) all[k] = all[k - 1];
    all[k] = p;
  }
  for (size_t i = 0; i < n; i++) {
    if (all[i].from != at) return 0;
    at = all[i].to;
  }
  return at == x->d[first.axis].n ? n : 0;
}

static bool among(const piece *all, size_t n, const surg_node *node) {
  for (size_t i = 0; i < n; i++)
    if (all[i].n == node) return true;
  return false;
}

static surg_value *split_into(surg__builder *b, surg__built x, const piece *all, size_t n) {
  int64_t sizes[MOST_PIECES];
  for (size_t i = 0; i < n; i++) sizes[i] = all[i].to - all[i].from;
  const bool input = b->m->opset >= 13;
  surg_value *y =
      input ? op2(b, "Split", x.v, surg__b_ints(b, sizes, n)) : surg__b_unary(b, "Split", x.v);
  surg__b_set_int(b, y, "axis", all[0].axis);
  if (!input) surg__b_set_ints(b, y, "split", sizes, n);
  return y;
}

/* p = Slice (x, ...), q = Slice (x, ...), and all other Slices of x */
static surg_status slices_to_split(surg__builder *b) {
  piece all[MOST_PIECES];
  surg__built x;
  if (!surg__built_get(b, "x", &x)) return SURG_EUNSUPPORTED;
  const size_t n = find_pieces(b, &x, all);
  if (surg__b_bad(b, n < 2, "expected two slices or more")) return SURG_EUNSUPPORTED;
  for (uint16_t i = 0; i < b->m->rule->match.n; i++)
    if (surg__b_bad(b, !among(all, n, b->m->nodes[i]), "the slices do not form a split"))
      return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < n; i++)
    if (surg_node_before(all[i].n, b->before)) b->before = all[i].n;
  surg_value *y = split_into(b, x, all, n);
  if (b->status) return b->status;
  surg_node *made = surg_value_producer(y, NULL);
  for (size_t i = 0; i < n && !b->status; i++) {
    b->status = surg_node_take_output(made, i, surg_node_output(all[i].n, 0));
    bool matched = false;
    for (uint16_t k = 0; k < b->m->rule->match.n; k++) matched |= b->m->nodes[k] == all[i].n;
    if (!b->status && !matched) b->status = surg_node_erase(all[i].n);
  }
  return b->status;
}

/* --- Pad --- */

typedef enum fill { FILL_CONSTANT, FILL_EDGE, FILL_REFLECT, FILL_WRAP } fill;

static bool read_fill(const surg__builder *b, fill *mode) {
  static const char *const names[] = {"constant", "edge", "reflect", "wrap"};
  const surg__rvalue m = surg__b_data(b, "m");
  if (m.kind != SURG__R_STRING) return false;
  for (int i = 0; i < 4; i++)
    if (m.s.n == strlen(names[i]) && !memcmp(m.s.p, names[i], m.s.n)) {
      *mode = (fill)i;
      return true;
    }
  return false;
}

/* The source index of position `at`; d: the size of the axis, and the index
 * of the padding value. */
static surg_value *source(surg__builder *b, fill mode, surg_value *at, surg_value *d) {
  if (mode == FILL_WRAP) return op2(b, "Mod", at, d); /* any number of periods */
  surg_value *zero = surg__bint(b, 0), *one = surg__bint(b, 1);
  surg_value *last = op2(b, "Sub", d, one);
  switch (mode) {
    case FILL_EDGE:
      return surg__bint_least(b, surg__bint_most(b, at, zero), last);
    case FILL_REFLECT: {
      surg_value *back = op2(b, "Sub", op2(b, "Add", last, last), at);
      surg_value *up = surg__bint_choose(b, op2(b, "Less", last, at), back, at);
      surg_value *before = op2(b, "Less", at, zero);
      return surg__bint_choose(b, before, op2(b, "Sub", zero, at), up);
    }
    default:
      break;
  }
  /* Positions outside, on either side, have the padding value, at index d. */
  surg_value *in = surg__bint_choose(b, op2(b, "Less", at, zero), d, at);
  return surg__bint_least(b, in, d);
}

/* Pads one axis. In mode constant, the padding value is appended to x and gathered from there. */
static surg__built padded(surg__builder *b, surg__built x, uint32_t axis, fill mode,
                          surg__built value, amount before, amount after) {
  const surg__bdim d = x.d[axis];
  surg_value *size = surg__bdim_vector(b, &d, 1), *lead = spelled(b, &before);
  surg_value *led = op2(b, "Add", size, lead);
  surg__bdim n = surg__bdim_of(op2(b, "Add", led, spelled(b, &after)));
  if (d.n >= 0 && before.known && after.known && d.n + before.n + after.n >= 0)
    n = surg__bdim_fixed(d.n + before.n + after.n);
  if (mode == FILL_CONSTANT) {
    surg__bdim sizes[SURG__BT_RANK];
    for (uint32_t i = 0; i < x.rank; i++) sizes[i] = i == axis ? surg__bdim_fixed(1) : x.d[i];
    const surg__built both[2] = {x, surg__built_expand(b, value, sizes, x.rank)};
    x = surg__built_concat(b, both, 2, axis);
  }
  surg__built at = surg__built_range(b, n, SURG_INT64);
  at.v = source(b, mode, op2(b, "Sub", at.v, lead), size);
  return surg__built_gather(b, x, at, axis);
}

/* Makes pads of the listed axes pads of all axes. False: they do not fit, or are not known. */
static bool on_axes(surg__builder *b, uint32_t rank, const int_list *axes, int_list *pads) {
  if (!axes) return true;
  int_list all = {.v = pads->v, .known = true, .n = 2 * (int64_t)rank};
  if (surg__b_bad(b, !axes->known || !pads->known, "pads and axes: expected constants") ||
      surg__b_bad(b, all.n > SURG_LIMIT_RANK, "the rank is above the limit") ||
      surg__b_bad(b, pads->n != 2 * axes->n, "pads: expected two numbers for each axis"))
    return false;
  for (int64_t k = 0; k < axes->n; k++) {
    const int64_t at = axes->at[k] < 0 ? axes->at[k] + rank : axes->at[k];
    if (surg__b_bad(b, at < 0 || at >= rank, "an axis is out of range")) return false;
    all.at[at] = pads->at[k];
    all.at[rank + at] = pads->at[axes->n + k];
  }
  *pads = all;
  return true;
}

/* y = Pad <mode = m> (x, p, v) */
static surg_status pad_with(surg__builder *b, const int_list *axes) {
  surg__built x, value = {0};
  int_list pads;
  fill mode;
  if (!surg__built_get(b, "x", &x) || !read_numbers(b, "p", &pads) || !read_fill(b, &mode) ||
      !on_axes(b, x.rank, axes, &pads) ||
      surg__b_bad(b, pads.n != 2 * (int64_t)x.rank, "pads: expected two numbers for each axis") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  for (int64_t i = 0; pads.known && i < pads.n; i++)
    if (surg__b_bad(b, pads.at[i] > INT32_MAX, "a pad is out of range") ||
        surg__b_bad(b, pads.at[i] < INT32_MIN, "a pad is out of range"))
      return SURG_EUNSUPPORTED;
  /* ONNX does not define whether the other side reflects elements cropped by a negative pad. */
  for (uint32_t i = 0; pads.known && mode >= FILL_REFLECT && i < x.rank; i++)
    if (surg__b_bad(b, pads.at[i] < 0, "negative pads are unsupported in this mode") ||
        surg__b_bad(b, pads.at[x.rank + i] < 0, "negative pads are unsupported in this mode"))
      return SURG_EUNSUPPORTED;
  if (surg__b_get(b, "v")) {
    if (!surg__built_get(b, "v", &value)) return SURG_EUNSUPPORTED;
    value = surg__built_reshape(b, value, NULL, 0);
  } else if (mode == FILL_CONSTANT) {
    if (surg__b_bad(b, x.dtype == SURG_STRING, "an element type is unknown or unsupported") ||
        surg__b_bad(b, surg__dtype_bits(x.dtype) < 8, "an element type is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
    value = surg__built_scalar(b, x.dtype, 0);
  }
  surg__built y = x;
  for (uint32_t i = 0; i < x.rank; i++) {
    if (pads.known && pads.at[i] == 0 && pads.at[x.rank + i] == 0) continue;
    const amount before = number_of(b, &pads, i);
    y = padded(b, y, i, mode, value, before, number_of(b, &pads, x.rank + i));
  }
  surg__built_result(b, "y", y);
  return b->status;
}

static surg_status pad_by_gather(surg__builder *b) {
  return pad_with(b, NULL);
}

static surg_status pad_axes_by_gather(surg__builder *b) {
  int_list axes;
  if (!read_numbers(b, "a", &axes)) return SURG_EUNSUPPORTED;
  return pad_with(b, &axes);
}

/* --- Range --- */

static surg_value *one_of(surg__builder *b, const char *name) {
  const int64_t one = 1;
  return surg__bint_reshape(b, surg__b_get(b, name), &one, 1);
}

/* The number of steps for floats; computed in double, as runtimes do. */
static surg_value *float_steps(surg__builder *b, surg_value *span, surg_value *step) {
  surg_value *whole = surg__b_cast(b, span, SURG_DOUBLE);
  surg_value *q = op2(b, "Div", whole, surg__b_cast(b, step, SURG_DOUBLE));
  surg_value *n = surg__b_cast(b, surg__b_unary(b, "Ceil", q), SURG_INT64);
  return surg__bint_most(b, n, surg__bint(b, 0));
}

/* y = Range (a, l, d) */
static surg_status range_by_counting(surg__builder *b) {
  surg__built from;
  surg_elem e[2];
  if (!surg__built_get(b, "a", &from)) return SURG_EUNSUPPORTED;
  if (b->m->opset < 9) return surg__b_decline(b, "the rewrite requires opset 9");
  const int t = from.dtype;
  const bool real = t == SURG_FLOAT || t == SURG_DOUBLE;
  if (surg__b_bad(b, !real && t != SURG_INT64 && t != SURG_INT32 && t != SURG_INT16,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  surg_value *start = one_of(b, "a"), *limit = one_of(b, "l"), *step = one_of(b, "d");
  if (!real && t != SURG_INT64) {
    start = surg__b_cast(b, start, SURG_INT64);
    limit = surg__b_cast(b, limit, SURG_INT64);
    step = surg__b_cast(b, step, SURG_INT64);
  }
  const bool from_zero = !real && surg__known_elements(surg__b_get(b, "a"), e, 1) == 1 &&
                         e[0].known && e[0].value == 0;
  const bool known = !real && surg__known_elements(surg__b_get(b, "d"), e, 1) == 1 && e[0].known;
  const int64_t by = known ? e[0].value : 0;
  surg_value *span = from_zero ? limit : op2(b, "Sub", limit, start), *n;
  if (real) {
    n = float_steps(b, span, step);
  } else if (by == 1) {
    n = surg__bint_most(b, span, surg__bint(b, 0));
  } else {
    surg_value *sign = sign_of(b, step);
    surg_value *length = op2(b, "Mul", span, sign);
    n = steps_in(b, length, op2(b, "Mul", step, sign), by != 0);
  }
  surg_value *y = surg__built_range(b, surg__bdim_of(n), real ? t : SURG_INT64).v;
  if (by != 1) y = op2(b, "Mul", y, step);
  if (!from_zero) y = op2(b, "Add", y, start);
  if (!real && t != SURG_INT64) y = surg__b_cast(b, y, t);
  surg__b_result(b, "y", y);
  return b->status;
}

/* --- Gather of known rows --- */

#define MOST_RUNS 64 /* slices that are concatenated */

/* Reads constant indices, normalized for an axis of size `dim`; NULL: not all are
 * known to be in range. */
static int64_t *known_rows(surg__builder *b, const surg__built *i, int64_t dim, uint64_t *n) {
  const surg_tensor *t = surg_value_constant(i->v);
  if (!t || !surg__built_count(i, MOST_INDICES, n) || *n == 0) return NULL;
  int64_t *at = surg__arena_array(b->m->arena, (size_t)*n, sizeof *at);
  if (!at || surg__read_ints(t, at, (size_t)*n) != (int64_t)*n) return NULL;
  for (uint64_t k = 0; k < *n; k++) {
    if (at[k] < 0 && dim >= 0) at[k] += dim;
    if (at[k] < 0 || (dim >= 0 && at[k] >= dim)) return NULL;
  }
  return at;
}

/* y = Gather <axis> (x, i): each run of consecutive indices becomes a Slice. */
static surg_status gather_runs(surg__builder *b) {
  surg__built x, i, y, parts[MOST_RUNS];
  uint64_t n = 0;
  uint32_t runs = 0;
  int64_t axis = surg_node_int(surg__b_matched(b), "axis", 0);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "y", &y) ||
      surg__b_bad(b, i.rank != 1 && !surg__built_static(&y), "y: sizes are unknown"))
    return SURG_EUNSUPPORTED;
  for (uint32_t d = 0; i.rank != 1 && d < y.rank; d++)
    if (surg__b_bad(b, y.d[d].n == 0, "y: a size is 0"))
      return SURG_EUNSUPPORTED; /* Reshape copies a dimension for 0 */
  if (axis < 0) axis += x.rank;
  if (surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis >= x.rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  const int64_t *at = known_rows(b, &i, x.d[axis].n, &n);
  if (surg__b_bad(b, !at, "the indices are unknown")) return SURG_EUNSUPPORTED;
  for (uint64_t k = 1; k <= n; k++) runs += k == n || at[k] != at[k - 1] + 1;
  if (surg__b_bad(b, runs > MOST_RUNS, "it has more parts than a rewrite may list"))
    return SURG_EUNSUPPORTED;
  runs = 0;
  for (uint64_t k = 0, from = 0; k < n; k++) {
    if (k + 1 < n && at[k + 1] == at[k] + 1) continue;
    parts[runs++] = surg__built_slice(b, x, (uint32_t)axis, surg__bdim_fixed(at[from]),
                                      surg__bdim_fixed(at[k] + 1));
    from = k + 1;
  }
  surg__built out = runs == 1 ? parts[0] : surg__built_concat(b, parts, runs, (uint32_t)axis);
  if (i.rank != 1) out = surg__built_reshape(b, out, y.d, y.rank);
  surg__built_result(b, "y", out);
  return b->status;
}

const surg__native surg__natives_slice[] = {
    {"gather_runs", gather_runs, "Gather of known rows by Slice and Concat"},
    {"slices_split", slices_to_split, "Slices that are all of a value as one Split"},
    {"slice_by_gather", slice_by_gather, "Slice with bounds that the model computes, by Gather"},
    {"split_to_slices", split_to_slices, "Split as a Slice for each part"},
    {"split_at_numbers", split_at_numbers, "Split as a Slice for each part, sizes known"},
    {"split_counted", split_counted, "Split with num_outputs"},
    {"pad_by_gather", pad_by_gather, "Pad by Gather, in every mode"},
    {"pad_axes_by_gather", pad_axes_by_gather, "the same, of the axes in a constant"},
    {"range_by_counting", range_by_counting, "Range from numbers that count from 0"},
    {NULL, NULL, NULL},
};
