/* SPDX-License-Identifier: Apache-2.0 */
/* Single nodes run on arrays of random numbers: what the tests of the fast loops have in common. */
#ifndef SURG_TEST_KERNEL_ARRAYS_H
#define SURG_TEST_KERNEL_ARRAYS_H

#include <math.h>
#include <stdlib.h>

#include "eval/core/number.h"
#include "eval/core/value.h"
#include "../unit.h"

static surg_context *ctx;
static surg__arena arena;
static surg_model *model;

static inline void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
  surg__arena_init(&arena, ctx);
  model = surg_model_new(ctx, 10, 17);
  ck_assert_ptr_nonnull(model);
}

static inline void teardown(void) {
  surg_model_free(model);
  surg__arena_free(&arena);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
  surg_context_free(ctx);
}

static inline void *room(size_t n) {
  void *p = surg__arena_alloc(&arena, n + 1);
  ck_assert_ptr_nonnull(p);
  return p;
}

/* Any bits: NaN, infinities and subnormal numbers among them, and many numbers of moderate size. */
static inline float any_float(void) {
  static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0.5f, 1.5f, 2.5f,
                                  127.5f, 65504, 65519.9f, 65520, 0x1p-24f, 0x1p-25f, 0x1p-149f,
                                  -128.5f, 2147483520, 2147483648.0f, 4294967040.0f};
  if (unit_random() % 8 == 0) return special[unit_between(0, SURG_COUNT(special) - 1)];
  uint32_t bits = (uint32_t)(unit_random() >> 20);
  float f;
  if (unit_random() % 2) return (float)((double)(int32_t)bits * 0x1p-20);
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline surg__array array(int dtype, const int64_t *dims, uint32_t rank, bool wild) {
  surg__array a = {.dtype = dtype, .rank = rank, .count = 1};
  int64_t *copy = room((rank + 1) * sizeof *copy);
  for (uint32_t d = 0; d < rank; d++) a.count *= (uint64_t)(copy[d] = dims[d]);
  a.dims = copy;
  size_t size = surg__dtype_unpacked(dtype);
  a.data = room((size_t)a.count * size);
  for (uint64_t i = 0; i < a.count; i++) {
    float f = wild ? any_float() : (float)((double)(int64_t)(unit_random() >> 24) * 0x1p-36 - 8);
    if (surg__is_real(dtype))
      surg__store_f64(dtype, a.data, i, f);
    else
      surg__store_int(dtype, a.data, i, unit_random());
  }
  return a;
}

static inline bool same(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline double number(const surg__array *a, uint64_t i) {
  return surg__load_f64(a->dtype, a->data, i);
}

/* The value as the type holds it. */
static inline double rounded(int dtype, double v) {
  uint64_t one = 0;
  surg__store_f64(dtype, &one, 0, v);
  return surg__load_f64(dtype, &one, 0);
}

static inline surg_node *node(const char *op, uint32_t n_in) {
  surg_graph *g = surg_model_graph(model);
  surg_node *n = surg_graph_add_node(g, NULL, "", op, 1);
  float zero = 0;
  surg_value *v = surg_graph_constant(g, n, NULL,
                                      surg_tensor_new(model, SURG_FLOAT, NULL, 0, &zero, 4));
  for (uint32_t i = 0; i < n_in; i++) ck_assert_int_eq(surg_node_set_input(n, i, v), SURG_OK);
  return n;
}

static inline surg_status compute(surg_node *n, const surg__array *in, surg__array *out) {
  surg_kctx k = {.arena = &arena, .max_bytes = UINT64_MAX, .max_work = UINT64_MAX, .running = true};
  return surg__node_compute(n, &k, in, out);
}

static inline void done(surg__array *out) {
  surg__array_drop(out);
  surg__arena_free(&arena);
  surg__arena_init(&arena, ctx);
}

#endif
