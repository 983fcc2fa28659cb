/* SPDX-License-Identifier: Apache-2.0 */
/* Block products against the plain loop, bit for bit: every variant of the inner loop, sizes around
 * the edges of tiles and blocks, and convolutions of all shapes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit.h"
#include "eval/core/number.h"
#include "eval/core/value.h"
#include "eval/linear/gemm.h"

static surg_context *ctx;
static surg__arena arena;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
  surg__arena_init(&arena, ctx);
}

static void teardown(void) {
  surg__arena_free(&arena);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
  surg_context_free(ctx);
}

static surg_kctx kernel_context(void) {
  return (surg_kctx){.ctx = ctx, .arena = &arena, .max_bytes = UINT64_MAX, .max_work = UINT64_MAX};
}

/* Numbers of very different size, so that an order of sums that is not the right one shows. */
static surg__array numbers(int dtype, const int64_t *dims, uint32_t rank) {
  surg__array a = {.dtype = dtype, .rank = rank, .dims = dims, .count = 1};
  for (uint32_t d = 0; d < rank; d++) a.count *= (uint64_t)dims[d];
  a.data = surg__arena_alloc(&arena, (size_t)a.count * surg__dtype_unpacked(dtype) + 1);
  ck_assert_ptr_nonnull(a.data);
  for (uint64_t i = 0; i < a.count; i++) {
    const double fraction = (double)(int64_t)(unit_random() >> 12) - 0x1p51;
    const double v = ldexp(fraction, (int)unit_between(0, 40) - 60);
    if (surg__is_real(dtype))
      surg__store_f64(dtype, a.data, i, dtype == SURG_FLOAT16 ? v / 0x1p20 : v);
    else
      surg__store_int(dtype, a.data, i, unit_random());
  }
  return a;
}

static double number(const surg__array *a, uint64_t i) {
  return surg__is_real(a->dtype) ? surg__load_f64(a->dtype, a->data, i)
                                 : (double)(int64_t)surg__load_int(a->dtype, a->data, i);
}

static bool same_bits(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* --- products --- */

typedef struct sums {
  double *to;
  uint64_t n;
} sums;

static void keep(void *user, uint64_t i, uint64_t column, uint64_t n, const double *from) {
  sums *s = user;
  memcpy(s->to + i * s->n + column, from, (size_t)n * sizeof *from);
}

static surg__gemm product_of(const surg__gemm_matrix *a, const surg__gemm_matrix *b, uint64_t m,
                             uint64_t n, uint64_t d, sums *to) {
  return (surg__gemm){.m = m,
                      .n = n,
                      .d = d,
                      .pack_a = surg__gemm_pack_matrix,
                      .pack_b = surg__gemm_pack_matrix,
                      .a = a,
                      .b = b,
                      .store = keep,
                      .to = to};
}

/* Both sides row by row, or column by column. */
static void one_product(int dtype, uint64_t m, uint64_t n, uint64_t d, bool ta, bool tb,
                        unsigned variant) {
  surg_kctx k = kernel_context();
  surg__array a = numbers(dtype, (const int64_t[]){(int64_t)(m * d)}, 1);
  surg__array b = numbers(dtype, (const int64_t[]){(int64_t)(n * d)}, 1);
  surg__gemm_matrix ma = {.dtype = dtype, .data = a.data, .line = ta ? 1 : d, .depth = ta ? m : 1};
  surg__gemm_matrix mb = {.dtype = dtype, .data = b.data, .line = tb ? d : 1, .depth = tb ? 1 : n};
  sums s = {surg__arena_alloc(&arena, (size_t)(m * n + 1) * sizeof(double)), n};
  surg__gemm g = product_of(&ma, &mb, m, n, d, &s);
  surg__gemm_room room;
  ck_assert_ptr_nonnull(s.to);
  const surg__gemm_kind kind = surg__gemm_kind_of(dtype, SURG_FLOAT);
  ck_assert_int_eq(surg__gemm_init(&k, &room, m, n, d, 1, kind), 0);
  ck_assert_uint_eq(k.work, m * n * (d > 0 ? d : 1));
  if (kind == SURG__GEMM_EXACT) room.kernel = surg__gemm_kernel_at(variant);
  surg__gemm_run(&g, &room);
  for (uint64_t i = 0; i < m; i++) {
    for (uint64_t j = 0; j < n; j++) {
      double sum = 0;
      for (uint64_t x = 0; x < d; x++) {
        sum += number(&a, i * ma.line + x * ma.depth) * number(&b, j * mb.line + x * mb.depth);
      }
      ck_assert_msg(same_bits(sum, s.to[i * n + j]), "%s %dx%dx%d: [%d,%d] %a not %a",
                    room.kernel->name, (int)m, (int)n, (int)d, (int)i, (int)j, s.to[i * n + j],
                    sum);
    }
  }
  surg__arena_free(&arena);
  surg__arena_init(&arena, ctx);
}

START_TEST(products) {
  static const int types[] = {SURG_FLOAT,    SURG_DOUBLE, SURG_FLOAT16,
                              SURG_BFLOAT16, SURG_INT8,   SURG_UINT8};
  static const uint64_t edges[][3] = {{0, 0, 0},    {1, 1, 0},    {1, 1, 1},     {8, 24, 7},
                                      {9, 25, 3},   {7, 23, 192}, {192, 192, 2}, {193, 193, 193},
                                      {1, 200, 5},  {200, 1, 5},  {200, 4, 385}, {5, 3, 1},
                                      {4, 98, 200}, {3, 50, 193}, {2, 193, 1}};
  for (unsigned variant = 0; surg__gemm_kernel_at(variant); variant++) {
    for (size_t i = 0; i < SURG_COUNT(edges); i++) {
      int dtype = types[i % SURG_COUNT(types)];
      one_product(dtype, edges[i][0], edges[i][1], edges[i][2], i % 2, i % 3 == 0, variant);
      one_product(SURG_FLOAT, edges[i][0], edges[i][1], edges[i][2], i % 3 == 0, i % 2, variant);
    }
    for (int round = 0; round < 40; round++) {
      one_product(types[unit_between(0, SURG_COUNT(types) - 1)], unit_between(1, 40),
                  unit_between(1, 60), unit_between(0, 70), unit_random() % 2, unit_random() % 2,
                  variant);
    }
  }
}
END_TEST

/* Zero points of 0 and 255 are those of the largest sums: 255 * 255 at every depth. */
static void largest(int zero_a, int zero_b, unsigned variant) {
  enum { M = 9, N = 35, D = 385 };
  static uint8_t a[M * D], b[N * D];
  static double out[M * N];
  memset(a, 255 - zero_a, sizeof a);
  memset(b, 255 - zero_b, sizeof b);
  const double za = zero_a, zb = zero_b;
  surg_kctx k = kernel_context();
  surg__gemm_matrix ma = {.dtype = SURG_UINT8, .data = a, .line = D, .depth = 1, .zero = &za};
  surg__gemm_matrix mb = {.dtype = SURG_UINT8, .data = b, .line = D, .depth = 1, .zero = &zb};
  sums s = {out, N};
  surg__gemm g = product_of(&ma, &mb, M, N, D, &s);
  surg__gemm_room room;
  ck_assert_int_eq(surg__gemm_init(&k, &room, M, N, D, 1, SURG__GEMM_EXACT), 0);
  room.kernel = surg__gemm_kernel_at(variant);
  surg__gemm_run(&g, &room);
  const double want = D * (255.0 - 2 * za) * (255.0 - 2 * zb);
  for (int i = 0; i < M * N; i++) ck_assert_double_eq(out[i], want);
  surg__arena_free(&arena);
  surg__arena_init(&arena, ctx);
}

START_TEST(bytes) {
  for (unsigned variant = 0; surg__gemm_kernel_at(variant); variant++)
    for (int z = 0; z < 4; z++) largest(z / 2 * 255, z % 2 * 255, variant);
}
END_TEST

/* Infinities and NaN go the same way in every variant. */
START_TEST(specials) {
  for (unsigned variant = 0; surg__gemm_kernel_at(variant); variant++) {
    surg_kctx k = kernel_context();
    float a[3] = {INFINITY, 1, -0.0f}, b[6] = {0, 1, 2, -INFINITY, 5, 6};
    surg__gemm_matrix ma = {.dtype = SURG_FLOAT, .data = a, .line = 3, .depth = 1};
    surg__gemm_matrix mb = {.dtype = SURG_FLOAT, .data = b, .line = 1, .depth = 2};
    double out[2];
    sums s = {out, 2};
    surg__gemm g = {.m = 1,
                    .n = 2,
                    .d = 3,
                    .pack_a = surg__gemm_pack_matrix,
                    .pack_b = surg__gemm_pack_matrix,
                    .a = &ma,
                    .b = &mb,
                    .store = keep,
                    .to = &s};
    surg__gemm_room room;
    ck_assert_int_eq(surg__gemm_init(&k, &room, 1, 2, 3, 1, SURG__GEMM_EXACT), 0);
    room.kernel = surg__gemm_kernel_at(variant);
    surg__gemm_run(&g, &room);
    ck_assert(isnan(out[0]) && isnan(out[1]));
    float stored[2];
    surg__store_run(SURG_FLOAT, stored, 0, 2, out);
    ck_assert(memcmp(&stored[0], &stored[1], sizeof *stored) == 0);
  }
}
END_TEST

START_TEST(over_budget) {
  surg_kctx k = kernel_context();
  surg__gemm_room room;
  k.max_work = 7;
  ck_assert_int_eq(surg__gemm_init(&k, &room, 2, 2, 2, 1, SURG__GEMM_EXACT), SURG__K_BUDGET);
  k.max_work = UINT64_MAX;
  ck_assert_int_eq(
      surg__gemm_init(&k, &room, UINT64_C(1) << 40, UINT64_C(1) << 40, 1, 1, SURG__GEMM_EXACT),
      SURG__K_BUDGET);
}
END_TEST

/* --- convolutions --- */

typedef struct shape {
  uint32_t n;
  int64_t batch, groups, in, out; /* channels of a group */
  int64_t size[3], kernel[3], stride[3], dilation[3], pads[6], result[3];
} shape;

static bool any_shape(shape *s) {
  *s = (shape){.n = (uint32_t)unit_between(1, 3), .batch = (int64_t)unit_between(1, 2)};
  s->groups = unit_random() % 3 == 0 ? (int64_t)unit_between(2, 4) : 1;
  s->in = (int64_t)unit_between(1, 5);
  s->out = (int64_t)unit_between(1, 11);
  if (s->groups > 1 && unit_random() % 2) { /* depthwise */
    s->in = 1;
    s->out = (int64_t)unit_between(1, 2);
  }
  bool plain = unit_random() % 4 == 0;
  for (uint32_t d = 0; d < s->n; d++) {
    s->size[d] = (int64_t)unit_between(1, s->n == 1 ? 60 : 9);
    s->kernel[d] = plain ? 1 : (int64_t)unit_between(1, 4);
    s->stride[d] = plain ? 1 : (int64_t)unit_between(1, 3);
    s->dilation[d] = (int64_t)unit_between(1, 3);
    s->pads[d] = plain ? 0 : (int64_t)unit_between(0, 4);
    s->pads[s->n + d] = plain ? 0 : (int64_t)unit_between(0, 4);
    int64_t room =
        s->size[d] + s->pads[d] + s->pads[s->n + d] - ((s->kernel[d] - 1) * s->dilation[d] + 1);
    if (room < 0) return false;
    s->result[d] = room / s->stride[d] + 1;
  }
  return true;
}

static int64_t volume(const int64_t *dims, uint32_t n) {
  int64_t v = 1;
  for (uint32_t d = 0; d < n; d++) v *= dims[d];
  return v;
}

/* Index i of a grid as coordinates. */
static void unravel(int64_t i, const int64_t *dims, uint32_t n, int64_t *out) {
  for (uint32_t d = n; d-- > 0; i /= dims[d]) out[d] = i % dims[d];
}

/* One output element as the operator defines it: padding is elements that are 0. */
static double expected(const shape *s, const surg__array *x, const surg__array *w, int64_t image,
                       int64_t channel, int64_t at) {
  int64_t o[3], t[3], taps = volume(s->kernel, s->n), plane = volume(s->size, s->n);
  int64_t first = (image * s->groups + channel / s->out) * s->in;
  double sum = 0;
  unravel(at, s->result, s->n, o);
  for (int64_t c = 0; c < s->in; c++) {
    for (int64_t i = 0; i < taps; i++) {
      bool inside = true;
      int64_t from = 0;
      unravel(i, s->kernel, s->n, t);
      for (uint32_t d = 0; d < s->n; d++) {
        int64_t p = o[d] * s->stride[d] - s->pads[d] + t[d] * s->dilation[d];
        inside = inside && p >= 0 && p < s->size[d];
        from = from * s->size[d] + p;
      }
      double v = inside ? number(x, (uint64_t)((first + c) * plane + from)) : 0;
      sum += v * number(w, (uint64_t)((channel * s->in + c) * taps + i));
    }
  }
  return sum;
}

static surg_node *conv_node(surg_model *m, const char *op, const shape *s) {
  surg_node *n = surg_graph_add_node(surg_model_graph(m), NULL, "", op, 1);
  float zero = 0;
  surg_value *v = surg_graph_constant(surg_model_graph(m), n, NULL,
                                      surg_tensor_new(m, SURG_FLOAT, NULL, 0, &zero, sizeof zero));
  for (uint32_t i = 0; i < 3; i++) ck_assert_int_eq(surg_node_set_input(n, i, v), SURG_OK);
  surg_node_set_int(n, "group", s->groups);
  surg_node_set_ints(n, "strides", s->stride, s->n);
  surg_node_set_ints(n, "dilations", s->dilation, s->n);
  surg_node_set_ints(n, "pads", s->pads, 2 * s->n);
  return n;
}

static void one_convolution(const shape *s, int dtype) {
  surg_model *m = surg_model_new(ctx, 10, 22);
  surg_node *n = conv_node(m, "Conv", s);
  int64_t dx[5] = {s->batch, s->groups * s->in}, dw[5] = {s->groups * s->out, s->in};
  memcpy(dx + 2, s->size, s->n * sizeof *dx);
  memcpy(dw + 2, s->kernel, s->n * sizeof *dw);
  surg__array in[3] = {numbers(dtype, dx, s->n + 2), numbers(dtype, dw, s->n + 2)};
  in[2] = numbers(dtype, dw, 1);
  surg__array out[1] = {{0}};
  surg_kctx k = kernel_context();
  k.running = true;
  surg_status status = surg__node_compute(n, &k, in, out);
  ck_assert_msg(status == SURG_OK, "%s", k.why ? k.why : surg_status_name(status));
  int64_t plane = volume(s->result, s->n), channels = s->groups * s->out;
  ck_assert_uint_eq(out[0].count, (uint64_t)(s->batch * channels * plane));
  uint64_t one[2] = {0, 0};
  for (int64_t i = 0; i < s->batch * channels * plane; i++) {
    int64_t channel = i / plane % channels;
    double v = expected(s, &in[0], &in[1], i / plane / channels, channel, i % plane);
    v += number(&in[2], (uint64_t)channel);
    surg__store_f64(dtype, one, 0, v);
    ck_assert_msg(same_bits(surg__load_f64(dtype, one, 0), number(&out[0], (uint64_t)i)),
                  "%d axes, element %d", (int)s->n, (int)i);
  }
  surg__array_drop(&out[0]);
  surg_model_free(m);
  surg__arena_free(&arena);
  surg__arena_init(&arena, ctx);
}

START_TEST(convolutions) {
  static const int types[] = {SURG_FLOAT, SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16};
  shape s;
  for (int round = 0; round < 200;) {
    if (!any_shape(&s)) continue;
    one_convolution(&s, types[round % 4]);
    round++;
  }
}
END_TEST

/* Small integers: every order of sums gives the same. */
static void make_whole(surg__array *a) {
  for (uint64_t i = 0; i < a->count; i++) {
    surg__store_f64(a->dtype, a->data, i, (double)unit_between(0, 16) - 8);
  }
}

/* The input of the shape plays the output of a convolution over `result`. */
static double expected_transposed(const shape *s, const surg__array *x, const surg__array *w,
                                  int64_t image, int64_t channel, int64_t at) {
  int64_t p[3], o[3], t[3], taps = volume(s->kernel, s->n), plane = volume(s->size, s->n);
  int64_t group = channel / s->out;
  double sum = 0;
  unravel(at, s->result, s->n, o);
  for (int64_t c = 0; c < s->in; c++) {
    for (int64_t i = 0; i < plane * taps; i++) {
      bool hit = true;
      unravel(i / taps, s->size, s->n, p);
      unravel(i % taps, s->kernel, s->n, t);
      for (uint32_t d = 0; d < s->n; d++) {
        hit = hit && p[d] * s->stride[d] - s->pads[d] + t[d] * s->dilation[d] == o[d];
      }
      if (!hit) continue;
      int64_t in = group * s->in + c;
      sum += number(x, (uint64_t)((image * s->groups * s->in + in) * plane + i / taps)) *
             number(w, (uint64_t)((in * s->out + channel % s->out) * taps + i % taps));
    }
  }
  return sum;
}

static void one_transposed(shape *s) {
  surg_model *m = surg_model_new(ctx, 10, 22);
  surg_node *n = conv_node(m, "ConvTranspose", s);
  int64_t dx[5] = {s->batch, s->groups * s->in}, dw[5] = {s->groups * s->in, s->out};
  memcpy(dx + 2, s->size, s->n * sizeof *dx);
  memcpy(dw + 2, s->kernel, s->n * sizeof *dw);
  surg__array in[3] = {numbers(SURG_FLOAT, dx, s->n + 2), numbers(SURG_FLOAT, dw, s->n + 2)};
  in[2] = numbers(SURG_FLOAT, (const int64_t[]){s->groups * s->out}, 1);
  for (int i = 0; i < 3; i++) make_whole(&in[i]);
  surg__array out[1] = {{0}};
  surg_kctx k = kernel_context();
  k.running = true;
  ck_assert_int_eq(surg__node_compute(n, &k, in, out), SURG_OK);
  int64_t plane = volume(s->result, s->n), channels = s->groups * s->out;
  ck_assert_uint_eq(out[0].count, (uint64_t)(s->batch * channels * plane));
  for (int64_t i = 0; i < s->batch * channels * plane; i++) {
    int64_t channel = i / plane % channels;
    double v = expected_transposed(s, &in[0], &in[1], i / plane / channels, channel, i % plane) +
               number(&in[2], (uint64_t)channel);
    ck_assert_msg(v == number(&out[0], (uint64_t)i), "%d axes, element %d: %g, not %g", (int)s->n,
                  (int)i, number(&out[0], (uint64_t)i), v);
  }
  surg__array_drop(&out[0]);
  surg_model_free(m);
  surg__arena_free(&arena);
  surg__arena_init(&arena, ctx);
}

START_TEST(transposed) {
  shape s;
  for (int round = 0; round < 100;) {
    if (!any_shape(&s)) continue;
    bool fits = true;
    for (uint32_t d = 0; d < s.n; d++) {
      if (s.size[d] > 12) s.size[d] = 12;
      s.result[d] = (s.size[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1 -
                    s.pads[d] - s.pads[s.n + d];
      fits = fits && s.result[d] > 0;
    }
    if (!fits || volume(s.result, s.n) > 250) continue;
    if (volume(s.size, s.n) * volume(s.kernel, s.n) > 1500) continue;
    one_transposed(&s);
    round++;
  }
}
END_TEST

#ifdef PLAIN_ALONE
START_TEST(plain_alone) {
  ck_assert_str_eq(surg__gemm_kernel_at(0)->name, "plain");
  ck_assert_ptr_null(surg__gemm_kernel_at(1));
}
END_TEST
#endif

int main(void) {
  Suite *s = suite_create("kernels_gemm");
  TCase *c = tcase_create("products");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, products);
  tcase_add_test(c, bytes);
  tcase_add_test(c, specials);
  tcase_add_test(c, over_budget);
  tcase_add_test(c, convolutions);
  tcase_add_test(c, transposed);
#ifdef PLAIN_ALONE
  tcase_add_test(c, plain_alone);
#endif
  suite_add_tcase(s, c);
  return unit_run(s);
}
