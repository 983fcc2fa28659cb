/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass static-cache: the values that it adds. Nodes are added at the front; the graph
 * is sorted at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "static_cache.h"

#define TEXT 400

static bool name_it(sc *x, surg_value *v, const char *stem) {
  const char *name = surg_graph_fresh_name(x->g, stem);
  return name && surg_value_rename(v, name) == SURG_OK;
}

surg_value *sc_make(sc *x, const char *op, const char *stem, surg_value *a, surg_value *b,
                    surg_value *c) {
  surg_value *const in[] = {a, b, c};
  surg_node *n = surg_graph_add_node(x->g, surg_graph_first_node(x->g), "", op, 1);
  for (size_t i = 0; n && i < 3; i++)
    if (in[i] && surg_node_set_input(n, i, in[i]) != SURG_OK) return NULL;
  surg_value *v = n ? surg_node_output(n, 0) : NULL;
  return v && name_it(x, v, stem) ? v : NULL;
}

static surg_value *constant(sc *x, const char *stem, const int64_t *v, size_t n, size_t rank) {
  const int64_t dim = (int64_t)n;
  surg_tensor *t = surg_tensor_new_numbers(x->m, SURG_INT64, &dim, rank, v, n);
  return t ? surg_graph_constant(x->g, surg_graph_first_node(x->g), stem, t) : NULL;
}

surg_value *sc_vector(sc *x, const char *stem, const int64_t *v, size_t n) {
  return constant(x, stem, v, n, 1);
}

surg_value *sc_cast(sc *x, surg_value *v, int dtype) {
  if (!v || dtype == SURG_INT64) return v;
  surg_value *out = sc_make(x, "Cast", "cache_cast", v, NULL, NULL);
  return out && surg_node_set_int(surg_value_producer(out, NULL), "to", dtype) == SURG_OK ? out
                                                                                          : NULL;
}

/* 0, 1, ... n-1 */
static surg_value *counting(sc *x, const char *stem, int64_t n) {
  int64_t *v = surg_pass_alloc(x->p, (size_t)(n + 1) * sizeof *v);
  for (int64_t i = 0; v && i < n; i++) v[i] = i;
  return v ? sc_vector(x, stem, v, (size_t)n) : NULL;
}

/* Values of the pass that need nothing but the length. */
static bool basics(sc *x) {
  const int64_t zero = 0;
  if (!x->slots) x->slots = counting(x, "cache_slots", x->length);
  if (!x->length_of) x->length_of = sc_vector(x, "cache_size", &x->length, 1);
  if (!x->zero) x->zero = sc_vector(x, "cache_zero", &zero, 1);
  return x->slots && x->length_of && x->zero;
}

surg_value *sc_shift(sc *x) {
  if (!basics(x)) return NULL;
  if (!x->shift) x->shift = sc_make(x, "Sub", "cache_shift", x->position, x->length_of, NULL);
  return x->shift;
}

/* ---- new rows ---- */

/* An input of the model that has the number of new rows as a dimension; otherwise the value that
 * the cache adds. */
static const surg_value *with_count(const sc *x, size_t *axis) {
  const size_t n = surg_graph_input_count(x->g);
  for (size_t i = 0; i < n; i++) {
    const surg_value *v = surg_graph_input(x->g, i);
    const surg_type *t = surg_value_is_initializer(v) ? NULL : surg_value_type(v);
    const size_t rank = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_rank(t) : 0;
    for (*axis = 0; *axis < rank; ++*axis)
      if (surg_dim_equal(surg_type_dim(t, *axis), &x->added)) return v;
  }
  for (size_t i = 0; i < x->n_caches; i++) {
    *axis = x->caches[i].added_axis;
    if (x->caches[i].kind != SC_PLACED) return x->caches[i].added;
  }
  return NULL;
}

/* The number of new rows: int64[1]. */
static surg_value *count_of(sc *x) {
  size_t axis = 0;
  if (x->count) return x->count;
  if (x->new_rows >= 0) return x->count = sc_vector(x, "cache_added", &x->new_rows, 1);
  const surg_value *v = with_count(x, &axis);
  const int64_t at = (int64_t)axis;
  surg_value *shape = v ? sc_make(x, "Shape", "cache_shape", (surg_value *)v, NULL, NULL) : NULL;
  surg_value *which = shape ? sc_vector(x, "cache_axis", &at, 1) : NULL;
  return x->count = which ? sc_make(x, "Gather", "cache_added", shape, which, NULL) : NULL;
}

/* 0, 1, ... for the new rows */
static surg_value *steps_of(sc *x) {
  const int64_t zero = 0, one = 1;
  if (x->steps) return x->steps;
  if (x->new_rows >= 0) return x->steps = counting(x, "cache_steps", x->new_rows);
  surg_value *count = count_of(x);
  surg_value *limit = count ? sc_make(x, "Squeeze", "cache_limit", count, NULL, NULL) : NULL;
  surg_value *a = constant(x, "cache_start", &zero, 1, 0),
             *b = constant(x, "cache_step", &one, 1, 0);
  return x->steps = limit && a && b ? sc_make(x, "Range", "cache_steps", a, limit, b) : NULL;
}

static surg_value *joined(sc *x, const char *stem, surg_value *a, surg_value *b) {
  surg_value *v = a && b ? sc_make(x, "Concat", stem, a, b, NULL) : NULL;
  return v && surg_node_set_int(surg_value_producer(v, NULL), "axis", 0) == SURG_OK ? v : NULL;
}

/* Whether a slot is filled, and how far it is behind the position. */
static bool make_before(sc *x) {
  if (!basics(x)) return false;
  if (!x->from) x->from = sc_make(x, "Sub", "cache_from", x->slots, x->position, NULL);
  if (!x->before && x->from) x->before = sc_make(x, "Less", "cache_filled", x->from, x->zero, NULL);
  return x->before != NULL;
}

surg_value *sc_index(sc *x) {
  if (x->index) return x->index;
  surg_value *count = count_of(x);
  if (!count || !make_before(x)) return NULL;
  if (x->window) return x->index = sc_make(x, "Add", "cache_index", x->slots, count, NULL);
  surg_value *later = sc_make(x, "Not", "cache_free", x->before, NULL, NULL);
  surg_value *near = sc_make(x, "Less", "cache_near", x->from, count, NULL);
  surg_value *here = later && near ? sc_make(x, "And", "cache_here", later, near, NULL) : NULL;
  surg_value *row = sc_make(x, "Add", "cache_row", x->from, x->length_of, NULL);
  return x->index = here && row ? sc_make(x, "Where", "cache_index", here, row, x->slots) : NULL;
}

/* In a window: the position of each row, negative if it contains nothing. */
static surg_value *window_places(sc *x) {
  surg_value *steps = steps_of(x), *shift = sc_shift(x);
  surg_value *after = steps ? sc_make(x, "Add", "cache_after", steps, x->length_of, NULL) : NULL;
  surg_value *all = joined(x, "cache_all", x->slots, after);
  return all && shift ? sc_make(x, "Add", "cache_ages", all, shift, NULL) : NULL;
}

surg_value *sc_valid(sc *x) {
  if (x->valid) return x->valid;
  surg_value *steps = steps_of(x);
  if (!steps || !make_before(x)) return NULL;
  surg_value *ages = x->window ? window_places(x) : steps;
  surg_value *low = ages ? sc_make(x, "Less", "cache_low", ages, x->zero, NULL) : NULL;
  surg_value *valid = low ? sc_make(x, "Not", "cache_valid", low, NULL, NULL) : NULL;
  return x->valid = x->window ? valid : joined(x, "cache_valid", x->before, valid);
}

surg_value *sc_places(sc *x) {
  if (x->places) return x->places;
  surg_value *steps = steps_of(x);
  if (!steps || !make_before(x)) return NULL;
  if (x->window) {
    surg_value *ages = window_places(x), *valid = sc_valid(x);
    x->places = ages && valid ? sc_make(x, "Where", "cache_places", valid, ages, x->zero) : NULL;
    return x->places;
  }
  surg_value *now = sc_make(x, "Add", "cache_now", steps, x->position, NULL);
  return x->places = joined(x, "cache_places", x->slots, now);
}

/* ---- masks ---- */

/* A number of a float type, as a scalar. */
static surg_value *number(sc *x, double v, int dtype) {
  surg_tensor *t = surg_tensor_new_numbers(x->m, SURG_DOUBLE, NULL, 0, &v, 1);
  if (t && dtype != SURG_DOUBLE) t = surg_tensor_cast(x->m, t, dtype);
  return t ? surg_graph_constant(x->g, surg_graph_first_node(x->g), "cache_number", t) : NULL;
}

/* The bools of sc_valid along `axis` of `rank` dimensions. */
static surg_value *valid_along(sc *x, size_t axis, size_t rank) {
  int64_t shape[SC_RANK];
  surg_value *valid = sc_valid(x);
  if (axis + 1 == rank) return valid;
  for (size_t i = axis; i < rank; i++) shape[i - axis] = i == axis ? -1 : 1;
  surg_value *to = valid ? sc_vector(x, "cache_mask_shape", shape, rank - axis) : NULL;
  return to ? sc_make(x, "Reshape", "cache_mask", valid, to, NULL) : NULL;
}

surg_value *sc_mask_scores(sc *x, surg_value *scores, size_t axis) {
  const surg_type *t = surg_value_type(scores);
  surg_value *valid = valid_along(x, axis, surg_type_rank(t));
  surg_value *low = valid ? number(x, -INFINITY, surg_type_dtype(t)) : NULL;
  return low ? sc_make(x, "Where", "cache_scores", valid, scores, low) : NULL;
}

/* The bools of sc_valid in the shape 1, 1, new rows, all rows. */
static surg_value *valid_square(sc *x) {
  const int64_t ones[] = {1, 1, -1, 1};
  surg_value *valid = sc_valid(x), *steps = steps_of(x);
  surg_value *to = valid && steps ? sc_vector(x, "cache_mask_shape", ones, 4) : NULL;
  surg_value *low = to ? sc_make(x, "Less", "cache_low", steps, x->zero, NULL) : NULL;
  surg_value *yes = low ? sc_make(x, "Not", "cache_yes", low, NULL, NULL) : NULL;
  surg_value *rows = yes ? sc_make(x, "Reshape", "cache_mask_rows", yes, to, NULL) : NULL;
  return rows ? sc_make(x, "And", "cache_mask", rows, valid, NULL) : NULL;
}

surg_value *sc_mask_operand(sc *x, const sc_cache *c, surg_value *mask, bool bias) {
  const surg_type *t = surg_value_type(mask ? mask : surg_node_input(c->at, 0));
  surg_value *valid = valid_square(x);
  if (!valid || !t) return NULL;
  if (!bias && !mask) return valid;
  const int dtype = surg_type_dtype(t);
  if (dtype == SURG_BOOL) return sc_make(x, "And", "cache_mask", valid, mask, NULL);
  surg_value *low = number(x, -INFINITY, dtype), *none = number(x, 0, dtype);
  return low && none ? sc_make(x, "Where", "cache_mask", valid, mask ? mask : none, low) : NULL;
}
