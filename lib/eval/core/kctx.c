/* SPDX-License-Identifier: Apache-2.0 */
/* Services for kernels: outputs within the budget, scratch memory, axes and broadcasting. */
#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/eval.h"
#include "eval/core/value.h"

#define MOST_UNPACKED 16 /* bytes of an element in memory: complex128, surg_str */

/* Bytes of an output in stored form, so that the limit agrees with sizes in the saved model;
 * strings count by their handles. */
static bool stored_bytes(int dtype, uint64_t count, uint64_t *out) {
  if (dtype == SURG_STRING) return surg__mul_u64(count, sizeof(surg_str), out);
  return surg__dtype_bytes(dtype, count, out);
}

static surg__kstatus describe(surg_kctx *k, uint32_t i, int dtype, const int64_t *dims,
                              uint32_t rank) {
  assert(i < k->n_out);
  if (rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the result has too many dimensions");
  uint64_t count, bytes;
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] < 0) return surg__k_invalid(k, "a dimension of the result is negative");
  }
  if (!surg__dims_product(dims, rank, &count)) return SURG__K_BUDGET;
  if (count > SIZE_MAX / MOST_UNPACKED) return SURG__K_BUDGET; /* on systems of 32 bits */
  if (!stored_bytes(dtype, count, &bytes)) return SURG__K_BUDGET;
  if (!surg__add_u64(k->bytes, bytes, &bytes) || bytes > k->max_bytes) return SURG__K_BUDGET;
  int64_t *copy = surg__k_scratch(k, rank, sizeof *copy);
  if (!copy) return SURG__K_NOMEM;
  if (rank > 0) memcpy(copy, dims, rank * sizeof *copy);
  k->bytes = bytes;
  k->out[i] = (surg__array){.dtype = dtype, .rank = rank, .dims = copy, .count = count};
  return SURG__K_OK;
}

static surg__kstatus owned(surg_status s) {
  return s == SURG_OK ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__k_out(surg_kctx *k, uint32_t i, int dtype, const int64_t *dims, uint32_t rank) {
  if (i >= k->n_out || !k->wanted[i]) return SURG__K_OK;
  SURG__K_TRY(describe(k, i, dtype, dims, rank));
  if (k->out[i].count > SIZE_MAX) return SURG__K_BUDGET;
  if (k->running) return owned(surg__array_make(k->ctx, dtype, dims, rank, &k->out[i]));
  k->out[i].data = surg__k_scratch(k, (size_t)k->out[i].count, surg__dtype_unpacked(dtype));
  return k->out[i].data ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__k_alias(surg_kctx *k, uint32_t i, uint32_t in, const int64_t *dims,
                            uint32_t rank) {
  assert(in < k->n_in);
  if (i >= k->n_out || !k->wanted[i]) return SURG__K_OK;
  if (k->running && surg__array_is_list(&k->in[in])) {
    k->out[i] = surg__array_ref(&k->in[in]);
    return SURG__K_OK;
  }
  SURG__K_TRY(describe(k, i, k->in[in].dtype, dims, rank));
  if (k->out[i].count != k->in[in].count) {
    return surg__k_invalid(k, "the new shape has another number of elements");
  }
  if (k->running) {
    return owned(surg__array_view(k->ctx, &k->in[in], dims, rank, &k->out[i]));
  }
  k->out[i].data = k->in[in].data;
  return SURG__K_OK;
}

surg__kstatus surg__k_work(surg_kctx *k, uint64_t operations) {
  uint64_t total;
  if (!surg__add_u64(k->work, operations, &total) || total > k->max_work) return SURG__K_BUDGET;
  k->work = total;
  return SURG__K_OK;
}

bool surg__k_stopped(surg_kctx *k) {
  if (k->stopped == SURG_OK)
    k->stopped = k->late ? k->late(k) : surg__overdue(k->ctx);
  return k->stopped != SURG_OK;
}

surg__kstatus surg__k_list(surg_kctx *k, uint32_t i, int kind, surg__content elem, uint64_t count,
                           surg__array **items) {
  *items = NULL;
  if (!k->running) return surg__k_cannot(k, "its result is not a tensor");
  if (!k->wanted[i]) return SURG__K_OK;
  uint64_t bytes;
  if (!surg__mul_u64(count, sizeof(surg__array), &bytes)) return SURG__K_BUDGET;
  if (!surg__add_u64(k->bytes, bytes, &bytes) || bytes > k->max_bytes) return SURG__K_BUDGET;
  k->bytes = bytes;
  if (surg__list_make(k->ctx, kind, elem, count, &k->out[i]) != SURG_OK) return SURG__K_NOMEM;
  *items = surg__list_of(&k->out[i])->items;
  return SURG__K_OK;
}

surg__kstatus surg__k_item(surg_kctx *k, int dtype, const int64_t *dims, uint32_t rank,
                           surg__array *out) {
  uint64_t count, bytes;
  if (rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the result has too many dimensions");
  if (!surg__dims_product(dims, rank, &count) || !stored_bytes(dtype, count, &bytes) ||
      !surg__add_u64(k->bytes, bytes, &bytes) || bytes > k->max_bytes) {
    return SURG__K_BUDGET;
  }
  k->bytes = bytes;
  return owned(surg__array_make(k->ctx, dtype, dims, rank, out));
}

surg__kstatus surg__k_work_product(surg_kctx *k, const uint64_t *counts, size_t n) {
  uint64_t work = 1;
  for (size_t i = 0; i < n; ++i) {
    if (counts[i] == 0) return SURG__K_OK;
  }
  for (size_t i = 0; i < n; ++i) {
    if (!surg__mul_u64(work, counts[i], &work)) return SURG__K_BUDGET;
  }
  return surg__k_work(k, work);
}

surg__kstatus surg__k_cannot(surg_kctx *k, const char *why) {
  k->why = why;
  return SURG__K_CANNOT;
}

surg__kstatus surg__k_own(surg_kctx *k) {
  return k->running ? SURG__K_OK : surg__k_cannot(k, "an operator of a runtime's own");
}

surg__kstatus surg__k_disputed(surg_kctx *k, const char *why) {
  if (!k->running) return surg__k_cannot(k, why);
  if (!k->open) k->open = why;
  return SURG__K_OK;
}

surg__kstatus surg__k_invalid(surg_kctx *k, const char *why) {
  k->why = why;
  return SURG__K_INVALID;
}

void *surg__k_scratch(surg_kctx *k, size_t count, size_t size) {
  size_t n;
  if (!surg__mul(count, size, &n)) {
    k->ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  return surg__arena_alloc(k->arena, n > 0 ? n : 1);
}

bool surg__k_axis(int64_t axis, uint32_t rank, uint32_t *out) {
  int64_t r = rank;
  if (axis < -r || axis >= r) return false;
  *out = (uint32_t)(axis < 0 ? axis + r : axis);
  return true;
}

int surg__k_word(const surg_kctx *k, const char *name, const char *fallback,
                 const char *const *words, int n) {
  return surg__node_word(k->node, name, fallback, words, n);
}

int surg__node_word(const surg_node *node, const char *name, const char *fallback,
                    const char *const *words, int n) {
  surg_str s = surg_node_string(node, name, fallback);
  for (int i = 0; i < n; ++i) {
    if (s.n == strlen(words[i]) && memcmp(s.p, words[i], s.n) == 0) return i;
  }
  return n;
}

const int64_t *surg__k_ints(surg_kctx *k, uint32_t in, uint64_t *count) {
  if (!surg__k_has(k, in)) return NULL;
  const surg__array *a = &k->in[in];
  *count = a->count;
  if (a->dtype == SURG_INT64) return a->data;
  if (a->dtype != SURG_INT32) return NULL;
  int64_t *out = surg__k_scratch(k, (size_t)a->count, sizeof *out);
  if (!out) return NULL;
  const int32_t *from = a->data;
  for (uint64_t i = 0; i < a->count; ++i) out[i] = from[i];
  return out;
}

bool surg__broadcast_dims(const surg__array *const *arrays, uint32_t n, int64_t *dims,
                          uint32_t *rank) {
  uint32_t r = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (arrays[i]->rank > r) r = arrays[i]->rank;
  }
  if (r > SURG_LIMIT_RANK) return false;
  for (uint32_t d = 0; d < r; ++d) dims[d] = 1;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t shift = r - arrays[i]->rank;
    for (uint32_t d = 0; d < arrays[i]->rank; ++d) {
      int64_t size = arrays[i]->dims[d], *at = &dims[shift + d];
      if (size == 1) continue;
      if (*at != 1 && *at != size) return false;
      *at = size;
    }
  }
  *rank = r;
  return true;
}

void surg__broadcast_strides(const surg__array *a, const int64_t *dims, uint32_t rank,
                             int64_t *strides) {
  assert(rank >= a->rank);
  (void)dims;
  uint32_t shift = rank - a->rank;
  for (uint32_t d = 0; d < shift; ++d) strides[d] = 0;
  int64_t step = 1;
  for (uint32_t d = a->rank; d-- > 0;) {
    strides[shift + d] = a->dims[d] == 1 ? 0 : step;
    /* With a zero dimension no element is read, and the product could overflow. */
    if (a->count > 0) step *= a->dims[d];
  }
}
