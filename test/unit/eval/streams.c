/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that are read block by block give the same bits as weights that are read whole. */
#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/stream.h"
#include "interpret_rows.h"
#include "../unit.h"

typedef struct weight {
  const char *name, *type, *dims;
  unsigned count;
} weight;

typedef struct stream_row {
  const char *what, *outputs, *nodes;
  weight w[4];
} stream_row;

/* Blocks are 192 wide: sizes below, at and above, and none a multiple of a panel. */
static const stream_row rows[] = {
    {"a product", "float[N, M] y", "y = MatMul(x, w)",
     {{"x", "float", "3, 401", 1203}, {"w", "float", "401, 197", 401 * 197}}},
    {"several blocks of columns at once", "float[N, M] y", "y = MatMul(x, w)",
     {{"x", "float", "50, 195", 50 * 195}, {"w", "float", "195, 650", 195 * 650}}},
    {"more columns than are read at once", "float16[N, M] y", "y = MatMul(x, w)",
     {{"x", "float16", "2, 195", 390}, {"w", "float16", "195, 4100", 195 * 4100}}},
    {"long rows of turned weights", "float[N, M] y", "y = Gemm<transB = 1>(x, w)",
     {{"x", "float", "2, 4100", 8200}, {"w", "float", "20, 4100", 20 * 4100}}},
    {"the weight first", "float[N, M] y", "y = MatMul(w, x)",
     {{"x", "float", "197, 3", 591}, {"w", "float", "401, 197", 401 * 197}}},
    {"one column", "float[N, M] y", "y = MatMul(x, w)",
     {{"x", "float", "385, 193", 385 * 193}, {"w", "float", "193, 1", 193}}},
    {"a vector", "float[N] y", "y = MatMul(x, w)",
     {{"x", "float", "200", 200}, {"w", "float", "200, 5", 1000}}},
    {"batches", "float[A, B, N, M] y", "y = MatMul(x, w)",
     {{"x", "float", "2, 1, 2, 7", 28}, {"w", "float", "3, 7, 200", 4200}}},
    {"no rows", "float[N, M] y", "y = MatMul(x, w)",
     {{"x", "float", "0, 7", 0}, {"w", "float", "7, 3", 21}}},
    {"half floats", "float16[N, M] y", "y = MatMul(x, w)",
     {{"x", "float16", "2, 195", 390}, {"w", "float16", "195, 9", 195 * 9}}},
    {"double", "double[N, M] y", "y = MatMul(x, w)",
     {{"x", "double", "2, 195", 390}, {"w", "double", "195, 9", 195 * 9}}},
    {"wide integers, which are no stream", "int32[N, M] y", "y = MatMul(x, w)",
     {{"x", "int32", "2, 5", 10}, {"w", "int32", "5, 9", 45}}},
    {"products of integers", "int32[N, M] y", "y = MatMulInteger(x, w, p, q)",
     {{"x", "uint8", "2, 195", 390}, {"w", "int8", "195, 9", 195 * 9}, {"p", "uint8", "", 1},
      {"q", "int8", "9", 9}}},
    {"Gemm", "float[N, M] y", "y = Gemm<alpha = 0.5, beta = 2.0>(x, w, c)",
     {{"x", "float", "3, 210", 630}, {"w", "float", "210, 194", 210 * 194},
      {"c", "float", "194", 194}}},
    {"Gemm of turned weights", "float[N, M] y", "y = Gemm<transA = 1, transB = 1>(x, w)",
     {{"x", "float", "210, 3", 630}, {"w", "float", "194, 210", 210 * 194}}},
    {"rows", "float[A, B, N] y", "y = Gather(w, i)",
     {{"w", "float", "50, 9", 450}, {"i", "int64", "2, 2", 4}}},
    {"columns", "float[N, A, B] y", "y = Gather<axis = 1>(w, i)",
     {{"w", "float", "5, 90", 450}, {"i", "int64", "2, 2", 4}}},
    {"one scale", "float[N, M] y", "d = DequantizeLinear(w, s, z) y = MatMul(x, d)",
     {{"x", "float", "2, 195", 390}, {"w", "int8", "195, 9", 195 * 9}, {"s", "float", "", 1},
      {"z", "int8", "", 1}}},
    {"a scale a column", "float[N, M] y", "d = DequantizeLinear<axis = 1>(w, s) y = MatMul(x, d)",
     {{"x", "float", "2, 195", 390}, {"w", "int8", "195, 9", 195 * 9}, {"s", "float", "9", 9}}},
    {"scales and zero points of many columns", "float[N, M] y",
     "d = DequantizeLinear<axis = 1>(w, s, z) y = MatMul(x, d)",
     {{"x", "float", "2, 195", 390}, {"w", "uint8", "195, 700", 195 * 700},
      {"s", "float", "700", 700}, {"z", "uint8", "700", 700}}},
    {"a scale a row, and another reader", "float[N, M] y, float[N, M] d",
     "d = DequantizeLinear<axis = 0>(w, s) y = MatMul(x, d)",
     {{"x", "float", "2, 195", 390}, {"w", "uint8", "195, 9", 195 * 9}, {"s", "float", "195", 195}}},
    {"rows of what is dequantized", "float[N, M] y", "d = DequantizeLinear<axis = 0>(w, s) "
     "y = Gather(d, i)",
     {{"w", "int8", "50, 33", 1650}, {"s", "float", "50", 50}, {"i", "int64", "3", 3}}},
    {"one weight as data and indices", "int64[N] y", "y = Gather(i, i)",
     {{"i", "int64", "4", 4}}},
    {"a weight for two kinds of readers", "float[N, M] y, float[N, M] r",
     "y = MatMul(x, w) r = Relu(w)",
     {{"x", "float", "3, 40", 120}, {"w", "float", "40, 19", 760}}},
    {"turned", "float[N, M] y, float[N, M] t", "t = Transpose(w) y = MatMul(x, t)",
     {{"x", "float", "3, 401", 1203}, {"w", "float", "197, 401", 401 * 197}}},
    {"turned, the first operand", "float[N, M] y", "t = Transpose<perm = [1, 0]>(w) y = MatMul(t, x)",
     {{"x", "float", "197, 5", 985}, {"w", "float", "197, 401", 401 * 197}}},
    {"turned, one row and one column", "float[N, M] y, float[N, M] z",
     "t = Transpose(w) y = MatMul(x, t) u = Transpose(x) z = MatMul(u, x)",
     {{"x", "float", "1, 300", 300}, {"w", "float", "1, 300", 300}}},
    {"turned twice and by Gemm", "float[N, M] y, float[N, M] z",
     "t = Transpose(w) u = Transpose(t) y = Gemm<transB = 1>(x, t) z = MatMul(x, u)",
     {{"x", "float", "3, 197", 591}, {"w", "float", "197, 401", 401 * 197}}},
    {"rows of what is turned", "float[N, M] y", "t = Transpose(w) y = Gather(t, i)",
     {{"w", "float", "50, 9", 450}, {"i", "int64", "3", 3}}},
    {"dequantized and turned", "float[N, M] y",
     "d = DequantizeLinear<axis = 0>(w, s) t = Transpose(d) y = MatMul(x, t)",
     {{"x", "float", "2, 195", 390}, {"w", "int8", "9, 195", 195 * 9}, {"s", "float", "9", 9}}},
    {"other turns", "float[A, B, C] y", "y = Transpose<perm = [1, 0, 2]>(w)",
     {{"w", "float", "5, 3, 7", 105}}},
    {"no turn", "float[A, B] y", "y = Transpose<perm = [0, 1]>(w)", {{"w", "float", "5, 3", 15}}},
    {"in a body that captures it", "float[N, M] y",
     "n = Constant<value_int = 3>() c = Constant<value = bool {1}>() y = Loop(n, c, x) <body = b "
     "(int64 i, bool go, float[3, 40] u) => (bool go2, float[3, 40] v) { go2 = Identity(go) "
     "v = MatMul(u, w) }>",
     {{"x", "float", "3, 40", 120}, {"w", "float", "40, 40", 1600}}},
};

static void add(surg__buf *b, const weight *w, unsigned seed) {
  const bool integers = strstr(w->type, "int") != NULL, index = strcmp(w->name, "i") == 0;
  const bool half = strcmp(w->type, "float16") == 0; /* as bytes */
  surg__buf_printf(b, "%s%s%s%s %s = %s", w->type, *w->dims ? "[" : "", w->dims,
                   *w->dims ? "]" : "", w->name, half ? "0x" : "{");
  for (unsigned i = 0; i < w->count; ++i) {
    seed = seed * 1103515245u + 12345u;
    const unsigned r = seed >> 16;
    if (half)
      surg__buf_printf(b, "%02x%02x", r & 255, 0x38 + r / 256 % 8);
    else if (index)
      surg__buf_printf(b, "%s%u", i ? ", " : "", r % 4);
    else if (integers)
      surg__buf_printf(b, "%s%u", i ? ", " : "", r % 128);
    else
      surg__buf_printf(b, "%s%g", i ? ", " : "", (double)(int)(r % 4001 - 2000) / 64 + 0.01);
  }
  if (!half) surg__buf_puts(b, "}");
}

static surg_model *parse(surg_context *ctx, const stream_row *r) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "g () => (%s) <", r->outputs);
  for (unsigned i = 0; i < SURG_COUNT(r->w) && r->w[i].name; ++i) {
    if (i) surg__buf_puts(&b, ", ");
    add(&b, &r->w[i], i + 1);
  }
  surg__buf_printf(&b, "> { %s }", r->nodes);
  surg__buf_putc(&b, 0);
  surg_model *m = interpret_parse(ctx, b.p);
  surg__buf_free(&b);
  return m;
}

static void run(surg_model *m, uint64_t from, const char *what, surg__array out[2]) {
  surg__array none = {0};
  surg__session session = {.max_bytes = 1 << 24, .max_work = 1 << 30, .stream_from = from};
  ck_assert_msg(surg__session_run(&session, m, &none, out) == SURG_OK, "%s: %s", what,
                session.why ? session.why : "");
}

START_TEST(test_same_bits) {
  for (size_t i = 0; i < SURG_COUNT(rows); ++i) {
    surg_context *ctx = interpret_context();
    surg_model *m = parse(ctx, &rows[i]);
    surg__array whole[2] = {{0}}, pieces[2] = {{0}};
    run(m, UINT64_MAX, rows[i].what, whole);
    run(m, 1, rows[i].what, pieces);
    for (size_t k = 0; k < surg_graph_output_count(surg_model_graph(m)); ++k) {
      const surg__array *a = &whole[k], *b = &pieces[k];
      ck_assert(!b->stream);
      ck_assert_int_eq(a->dtype, b->dtype);
      ck_assert_uint_eq(a->count, b->count);
      ck_assert_msg(!a->count || !memcmp(a->data, b->data, a->count * surg__dtype_unpacked(a->dtype)),
                    "%s: other bits", rows[i].what);
    }
    for (size_t k = 0; k < 2; ++k) {
      surg__array_drop(&whole[k]);
      surg__array_drop(&pieces[k]);
    }
    surg_model_free(m);
    surg_context_free(ctx);
  }
}
END_TEST

/* Each limit of memory stops the run and keeps nothing, or is enough. */
START_TEST(test_starved_streams) {
  for (size_t i = 0; i < SURG_COUNT(rows); ++i) {
    surg_context *ctx = interpret_context();
    surg_model *m = parse(ctx, &rows[i]);
    surg__array none = {0}, out[2] = {{0}};
    run(m, 1, rows[i].what, out);
    for (size_t k = 0; k < 2; ++k) surg__array_drop(&out[k]);
    const uint64_t before = surg__alloc_bytes(ctx), all = ctx->max_memory;
    surg_status s = SURG_ENOMEM;
    for (uint64_t limit = 64; s != SURG_OK && limit < 1 << 24; limit += limit / 8) {
      surg__session session = {.max_bytes = 1 << 24, .max_work = 1 << 30, .stream_from = 1};
      ctx->max_memory = before + limit;
      s = surg__session_run(&session, m, &none, out);
      ctx->max_memory = all;
      for (size_t k = 0; k < 2; ++k) surg__array_drop(&out[k]);
      ck_assert_uint_eq(surg__alloc_bytes(ctx), before);
      ck_assert_msg(s == SURG_OK || s == SURG_ELIMIT || s == SURG_ENOMEM, "%s: %s", rows[i].what,
                    surg_status_name(s));
    }
    ck_assert_int_eq(s, SURG_OK);
    surg_model_free(m);
    surg_context_free(ctx);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("streams");
  TCase *c = tcase_create("all");
  tcase_add_test(c, test_same_bits);
  tcase_add_test(c, test_starved_streams);
  suite_add_tcase(s, c);
  return unit_run(s);
}
