/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on sequences and optionals. Items are shared by reference, not copied. */
#include "base/dtype.h"
#include "eval/core/kernels.h"
#include "eval/move/move.h"
#include "eval/core/value.h"

/* Sets output 0 to a reference to an array of an input. */
static surg__kstatus give(surg_kctx *k, const surg__array *a) {
  if (!k->running) return surg__k_cannot(k, "sequences are not constant");
  if (k->wanted[0]) k->out[0] = surg__array_ref(a);
  return SURG__K_OK;
}

/* Reads the position in input `in`, `fallback` if it is absent. Negative positions count from
 * `count`; the result must be in 0..last. */
static surg__kstatus position(surg_kctx *k, uint32_t in, int64_t count, int64_t fallback,
                              int64_t last, int64_t *out) {
  *out = fallback;
  if (surg__k_has(k, in)) {
    SURG__K_TRY(surg__int_input(k, in, out));
    if (*out < -count || *out > last) return surg__k_invalid(k, "a position is out of range");
    if (*out < 0) *out += count;
  }
  if (*out < 0 || *out > last) return surg__k_invalid(k, "the sequence is empty");
  return SURG__K_OK;
}

surg__kstatus surg__k_sequence_construct(surg_kctx *k) {
  surg__array *items;
  SURG__K_TRY(surg__k_work(k, k->n_in));
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_SEQUENCE, surg__content_of(&k->in[0]), k->n_in, &items));
  for (uint32_t i = 0; items && i < k->n_in; ++i) items[i] = surg__array_ref(&k->in[i]);
  return SURG__K_OK;
}

surg__kstatus surg__k_sequence_empty(surg_kctx *k) {
  surg__array *items;
  int64_t dtype = surg_node_int(k->node, "dtype", SURG_FLOAT);
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return surg__k_invalid(k, "there is no such type");
  return surg__k_list(k, 0, SURG__V_SEQUENCE, (surg__content){.kind = (int)dtype}, 0, &items);
}

surg__kstatus surg__k_sequence_at(surg_kctx *k) {
  int64_t at, n = (int64_t)k->in[0].count;
  SURG__K_TRY(position(k, 1, n, n - 1, n - 1, &at));
  return give(k, &surg__list_of(&k->in[0])->items[at]);
}

surg__kstatus surg__k_sequence_insert(surg_kctx *k) {
  const surg__array *from = surg__list_of(&k->in[0])->items;
  surg__content held = surg__list_of(&k->in[0])->elem, e = surg__content_of(&k->in[1]);
  int64_t at, n = (int64_t)k->in[0].count;
  surg__array *items;
  if (!surg__content_equal(held, e))
    return surg__k_invalid(k, "the sequence has another element type");
  SURG__K_TRY(position(k, 2, n, n, n, &at));
  SURG__K_TRY(surg__k_work(k, (uint64_t)n));
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_SEQUENCE, e, (uint64_t)n + 1, &items));
  if (!items) return SURG__K_OK;
  for (int64_t i = 0; i < at; ++i) items[i] = surg__array_ref(&from[i]);
  items[at] = surg__array_ref(&k->in[1]);
  for (int64_t i = at; i < n; ++i) items[i + 1] = surg__array_ref(&from[i]);
  return SURG__K_OK;
}

surg__kstatus surg__k_sequence_erase(surg_kctx *k) {
  const surg__list *l = surg__list_of(&k->in[0]);
  int64_t at, n = (int64_t)k->in[0].count;
  surg__array *items;
  SURG__K_TRY(position(k, 1, n, n - 1, n - 1, &at));
  SURG__K_TRY(surg__k_work(k, (uint64_t)n));
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_SEQUENCE, l->elem, (uint64_t)n - 1, &items));
  for (int64_t i = 0; items && i < n; ++i) {
    if (i != at) items[i < at ? i : i - 1] = surg__array_ref(&l->items[i]);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_sequence_length(surg_kctx *k) {
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, NULL, 0));
  if (k->out[0].data) *(int64_t *)k->out[0].data = (int64_t)k->in[0].count;
  return SURG__K_OK;
}

/* --- SplitToSequence --- */

/* The sizes of the parts: the list `split`; or all `split`, the last one possibly smaller; or
 * all 1 if `split` is absent. */
static surg__kstatus parts(surg_kctx *k, int64_t dim, const int64_t **sizes, uint64_t *count) {
  int64_t each = 1, sum = 0;
  const int64_t *given = surg__k_has(k, 1) ? surg__k_ints(k, 1, count) : NULL;
  if (surg__k_has(k, 1) && !given) return SURG__K_NOMEM;
  if (given && k->in[1].rank > 1) return surg__k_invalid(k, "split has more than one axis");
  if (given && k->in[1].rank == 1) {
    for (uint64_t i = 0; i < *count; ++i) {
      if (given[i] < 0 || !surg__add_i64(sum, given[i], &sum)) {
        return surg__k_invalid(k, "a size is out of range");
      }
    }
    if (sum != dim) return surg__k_invalid(k, "the sizes do not add up to the axis");
    *sizes = given;
    return SURG__K_OK;
  }
  if (given) each = given[0];
  if (each <= 0) return surg__k_invalid(k, "a size is out of range");
  *count = (uint64_t)(dim / each + (dim % each != 0));
  SURG__K_TRY(surg__k_work(k, *count));
  if (*count > k->max_bytes / sizeof(int64_t)) return SURG__K_BUDGET;
  int64_t *own = surg__k_scratch(k, (size_t)*count, sizeof *own);
  if (!own) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < *count; ++i, dim -= each) own[i] = dim < each ? dim : each;
  *sizes = own;
  return SURG__K_OK;
}

/* Copies the slice [start, start + size) of input 0 along `axis`. With `keep` false the axis is
 * removed. */
static surg__kstatus part(surg_kctx *k, uint32_t axis, int64_t start, int64_t size, bool keep,
                          surg__array *out) {
  const surg__array *in = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  memcpy(dims, in->dims, in->rank * sizeof *dims);
  dims[axis] = size;
  uint32_t rank = in->rank;
  for (uint32_t i = axis; !keep && i + 1 < in->rank; ++i) dims[i] = in->dims[i + 1];
  if (!keep) --rank;
  SURG__K_TRY(surg__k_item(k, in->dtype, dims, rank, out));
  if (out->count == 0) return SURG__K_OK;
  size_t outer = (size_t)surg__span_product(in->dims, 0, axis);
  size_t unit = (size_t)surg__span_product(in->dims, axis + 1, in->rank) * surg__element_size(in);
  size_t row = (size_t)in->dims[axis] * unit, run = (size_t)size * unit;
  const char *from = (const char *)in->data + (size_t)start * unit;
  for (size_t o = 0; o < outer; ++o) memcpy((char *)out->data + o * run, from + o * row, run);
  return SURG__K_OK;
}

surg__kstatus surg__k_split_to_sequence(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *in = &k->in[0];
  uint32_t axis;
  if (!surg__k_axis(surg_node_int(k->node, "axis", 0), in->rank, &axis)) {
    return surg__k_invalid(k, "the axis is out of range");
  }
  const int64_t *sizes = NULL;
  uint64_t count;
  surg__array *items;
  bool keep = surg__k_has(k, 1) || surg_node_int(k->node, "keepdims", 1) != 0;
  SURG__K_TRY(parts(k, in->dims[axis], &sizes, &count));
  SURG__K_TRY(surg__k_work(k, in->count));
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_SEQUENCE, surg__content_of(in), count, &items));
  int64_t at = 0;
  for (uint64_t i = 0; items && i < count; ++i) {
    SURG__K_TRY(part(k, axis, at, sizes[i], keep, &items[i]));
    at += sizes[i];
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_concat_from_sequence(surg_kctx *k) {
  const surg__list *l = surg__list_of(&k->in[0]);
  uint64_t n = k->in[0].count;
  bool fresh = surg_node_int(k->node, "new_axis", 0) != 0;
  int64_t axis = surg_node_int(k->node, "axis", 0);
  uint32_t at;
  if (n == 0) return surg__k_invalid(k, "the sequence is empty");
  uint32_t rank = l->items[0].rank + fresh;
  if (rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the result has too many dimensions");
  if (!surg__k_axis(axis, rank, &at)) return surg__k_invalid(k, "the axis is out of range");
  if (!fresh) return surg__concat(k, l->items, n, at);
  surg__array *views = surg__k_scratch(k, (size_t)n, sizeof *views);
  if (!views) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < n; ++i) {
    views[i] = l->items[i];
    if (views[i].rank + 1 != rank) return surg__k_invalid(k, "the inputs differ in rank or type");
    int64_t *dims = surg__k_scratch(k, rank, sizeof *dims);
    if (!dims) return SURG__K_NOMEM;
    for (uint32_t d = 0; d < rank; ++d) {
      dims[d] = d == at ? 1 : views[i].dims[d < at ? d : d - 1];
    }
    views[i].dims = dims;
    views[i].rank = rank;
  }
  return surg__concat(k, views, n, at);
}

/* --- optionals --- */

surg__kstatus surg__k_optional(surg_kctx *k) {
  surg__array *items;
  if (!surg__k_has(k, 0)) {
    const surg_type *t = surg_attr_type(surg_node_attr(k->node, "type"), 0);
    if (!t) return surg__k_invalid(k, "neither an element nor a type is given");
    return surg__k_list(k, 0, SURG__V_OPTIONAL, surg__content_of_type(t), 0, &items);
  }
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_OPTIONAL, surg__content_of(&k->in[0]), 1, &items));
  if (items) items[0] = surg__array_ref(&k->in[0]);
  return SURG__K_OK;
}

surg__kstatus surg__k_optional_has_element(surg_kctx *k) {
  bool has = surg__k_has(k, 0) && (k->in[0].dtype != SURG__V_OPTIONAL || k->in[0].count > 0);
  SURG__K_TRY(surg__k_out(k, 0, SURG_BOOL, NULL, 0));
  if (k->out[0].data) *(uint8_t *)k->out[0].data = has;
  return SURG__K_OK;
}

surg__kstatus surg__k_optional_get_element(surg_kctx *k) {
  const surg__array *in = &k->in[0];
  if (in->dtype != SURG__V_OPTIONAL) return surg__k_alias(k, 0, 0, in->dims, in->rank);
  if (in->count == 0) return surg__k_invalid(k, "the optional has no element");
  return give(k, &surg__list_of(in)->items[0]);
}
