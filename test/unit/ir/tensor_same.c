/* SPDX-License-Identifier: Apache-2.0 */
/* Whether tensors hold the same bits, however the file holds them, and the hash that goes with it.
 */
#include "ir_common.h"

#include "base/limits.h"
#include "ir/ir.h"

static surg_context *ctx;
static surg_model *m;

static void setup(void) {
  ctx = new_context();
  m = surg_model_new(ctx, 10, 17);
}
static void teardown(void) {
  surg_model_free(m);
  surg_context_free(ctx);
}

static surg_tensor *make(int dtype, int64_t n, const void *data, size_t bytes) {
  surg_tensor *t = surg_tensor_new(m, dtype, &n, 1, data, bytes);
  ck_assert_ptr_nonnull(t);
  return t;
}

static uint64_t hash_of(const surg_tensor *t) {
  uint64_t h;
  ck_ok(surg_tensor_hash(t, &h));
  return h;
}

/* Equal ones must hash alike. */
static bool same(const surg_tensor *a, const surg_tensor *b) {
  bool ab, ba;
  ck_ok(surg_tensor_same(a, b, &ab));
  ck_ok(surg_tensor_same(b, a, &ba));
  ck_assert_int_eq(ab, ba);
  if (ab) ck_assert_uint_eq(hash_of(a), hash_of(b));
  return ab;
}

START_TEST(bits) {
  const uint32_t quiet = 0x7FC00000, payload = 0x7FC00001, minus = 0x80000000, zero = 0;
  ck_assert(same(make(SURG_FLOAT, 1, &quiet, 4), make(SURG_FLOAT, 1, &quiet, 4)));
  ck_assert(!same(make(SURG_FLOAT, 1, &quiet, 4), make(SURG_FLOAT, 1, &payload, 4)));
  ck_assert(!same(make(SURG_FLOAT, 1, &minus, 4), make(SURG_FLOAT, 1, &zero, 4)));
  ck_assert(!same(make(SURG_FLOAT, 1, &zero, 4), make(SURG_INT32, 1, &zero, 4)));
  /* The same bits in another form. */
  const int64_t square[2] = {2, 2}, row[2] = {1, 4};
  const uint8_t b[4] = {1, 2, 3, 4};
  surg_tensor *s = surg_tensor_new(m, SURG_UINT8, square, 2, b, 4);
  ck_assert(!same(s, surg_tensor_new(m, SURG_UINT8, row, 2, b, 4)));
  ck_assert(!same(s, make(SURG_UINT8, 4, b, 4)));
  ck_assert(same(s, surg_tensor_new(m, SURG_UINT8, square, 2, b, 4)));
  /* Rank 0 and rank 1; nothing at all, in two forms. */
  ck_assert(!same(surg_tensor_new(m, SURG_UINT8, NULL, 0, b, 1), make(SURG_UINT8, 1, b, 1)));
  ck_assert(same(surg_tensor_new(m, SURG_UINT8, NULL, 0, b, 1),
                 surg_tensor_new(m, SURG_UINT8, NULL, 0, b, 1)));
  const int64_t none[2] = {0, 3}, other[2] = {3, 0};
  ck_assert(!same(surg_tensor_new(m, SURG_FLOAT, none, 2, NULL, 0),
                  surg_tensor_new(m, SURG_FLOAT, other, 2, NULL, 0)));
  ck_assert(same(make(SURG_FLOAT, 0, NULL, 0), make(SURG_FLOAT, 0, NULL, 0)));
  ck_assert(!same(make(SURG_FLOAT, 0, NULL, 0), make(SURG_DOUBLE, 0, NULL, 0)));
}
END_TEST

START_TEST(small_types) {
  const int types[] = {SURG_FLOAT8E4M3FN, SURG_FLOAT8E4M3FNUZ, SURG_FLOAT8E5M2, SURG_FLOAT8E5M2FNUZ,
                       SURG_UINT8, SURG_INT8};
  const uint8_t b[3] = {0x7F, 0x80, 0xFF};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
      ck_assert_int_eq(same(make(types[i], 3, b, 3), make(types[k], 3, b, 3)), i == k);
  /* Three elements in two bytes: three and four of them are not the same. */
  const uint8_t n[2] = {0x21, 0x03};
  ck_assert(same(make(SURG_INT4, 3, n, 2), make(SURG_INT4, 3, n, 2)));
  ck_assert(!same(make(SURG_INT4, 3, n, 2), make(SURG_INT4, 4, n, 2)));
  ck_assert(!same(make(SURG_INT4, 3, n, 2), make(SURG_UINT4, 3, n, 2)));
}
END_TEST

START_TEST(strings) {
  const surg_str a[2] = {{"", 0}, {"a", 1}}, b[2] = {{"a", 1}, {"", 0}},
                 c[2] = {{"a\0b", 3}, {"", 0}};
  const int64_t two = 2, none = 0;
  surg_tensor *t = surg_tensor_new_strings(m, &two, 1, a);
  ck_assert(same(t, surg_tensor_new_strings(m, &two, 1, a)));
  ck_assert(!same(t, surg_tensor_new_strings(m, &two, 1, b)));
  ck_assert_uint_ne(hash_of(t), hash_of(surg_tensor_new_strings(m, &two, 1, b)));
  ck_assert(!same(surg_tensor_new_strings(m, &two, 1, b), surg_tensor_new_strings(m, &two, 1, c)));
  ck_assert(
      same(surg_tensor_new_strings(m, &none, 1, NULL), surg_tensor_new_strings(m, &none, 1, NULL)));
  ck_assert(!same(surg_tensor_new_strings(m, &none, 1, NULL), make(SURG_FLOAT, 0, NULL, 0)));
}
END_TEST

/* Longer than the pieces a hash looks at: they differ between those alone. */
START_TEST(pieces) {
  enum { N = 16 * SURG_LIMIT_PIECE + 3 };
  uint8_t *p = calloc(1, N);
  surg_tensor *t = make(SURG_UINT8, N, p, N);
  ck_assert(same(t, make(SURG_UINT8, N, p, N)));
  const size_t seen[] = {0, N / 2, N - 1},
               unseen[] = {SURG_LIMIT_PIECE + 1, N - SURG_LIMIT_PIECE - 1};
  for (size_t i = 0; i < 3; i++) {
    p[seen[i]] = 1;
    surg_tensor *o = make(SURG_UINT8, N, p, N);
    ck_assert(!same(t, o));
    ck_assert_uint_ne(hash_of(t), hash_of(o));
    p[seen[i]] = 0;
  }
  for (size_t i = 0; i < 2; i++) {
    p[unseen[i]] = 1;
    ck_assert(!same(t, make(SURG_UINT8, N, p, N)));
    p[unseen[i]] = 0;
  }
  free(p);
}
END_TEST

START_TEST(refused) {
  uint64_t h;
  bool is = true;
  surg_tensor *t = make(SURG_FLOAT, 0, NULL, 0);
  ck_assert_int_eq(surg_tensor_hash(NULL, &h), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_hash(t, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_same(t, NULL, &is), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_same(t, t, NULL), SURG_EUSAGE);
  t->view = SURG__VIEW_SPARSE;
  ck_assert_int_eq(surg_tensor_same(t, t, &is), SURG_EUNSUPPORTED);
  ck_assert(!is);
  t->view = SURG__VIEW_ABSENT;
  ck_assert_int_eq(surg_tensor_hash(t, &h), SURG_EUNSUPPORTED);
}
END_TEST

int main(void) {
  Suite *s = suite_create("tensor_same");
  TCase *t = tcase_create("same");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, bits);
  tcase_add_test(t, small_types);
  tcase_add_test(t, strings);
  tcase_add_test(t, pieces);
  tcase_add_test(t, refused);
  suite_add_tcase(s, t);
  return unit_run(s);
}
