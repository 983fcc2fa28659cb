/* SPDX-License-Identifier: Apache-2.0 */
/* Types and tensors: making, sizes, and typed lists in every encoding, whole and in parts. */
#include "base/counted.h"
#include "ir_common.h"

#include <math.h>
#include <onnxsurg/precision.h>

#include "base/dtype.h"
#include "io/io.h"

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

START_TEST(types) {
  surg_dim dims[4] = {{3, NULL}, {-7, NULL}, {5, "N"}, {0, ""}};
  const surg_type *t = surg_type_tensor(m, SURG_FLOAT, dims, 4);
  ck_assert_int_eq(surg_type_get_kind(t), SURG_TYPE_TENSOR);
  ck_assert_uint_eq(surg_type_rank(t), 4);
  ck_assert_int_eq(surg_type_dim(t, 1)->value, -1);
  ck_assert_ptr_null(surg_type_dim(t, 1)->param);
  ck_assert_int_eq(surg_type_dim(t, 2)->value, -1);
  ck_assert_str_eq(surg_type_dim(t, 2)->param, "N");
  ck_assert_int_eq(surg_type_dim(t, 3)->value, 0);
  ck_assert_int_eq(surg_type_dim(t, 9)->value, -1);
  ck_assert(!surg_type_static(t, NULL));
  uint64_t count;
  surg_dim big[3] = {{INT64_MAX, NULL}, {INT64_MAX, NULL}, {0, NULL}};
  ck_assert(surg_type_static(surg_type_tensor(m, 1, big, 3), &count));
  ck_assert_uint_eq(count, 0);
  ck_assert(!surg_type_static(surg_type_tensor(m, 1, big, 2), &count));
  ck_assert(surg_type_static(surg_type_tensor(m, 1, NULL, 0), &count));
  ck_assert_uint_eq(count, 1);
  const surg_type *u = surg_type_tensor_unranked(m, SURG_FLOAT);
  ck_assert(!surg_type_has_rank(u));
  ck_assert(!surg_type_static(u, NULL));
  ck_assert(!surg_type_equal(t, u));
  ck_assert(surg_type_equal(t, surg_type_tensor(m, SURG_FLOAT, dims, 4)));
  ck_assert(!surg_type_equal(t, surg_type_tensor(m, SURG_FLOAT, dims, 3)));
  const surg_type *s = surg_type_wrap(m, SURG_TYPE_SEQUENCE, t);
  ck_assert_ptr_eq(surg_type_elem(s), t);
  ck_assert(!surg_type_equal(s, surg_type_wrap(m, SURG_TYPE_OPTIONAL, t)));
  ck_assert(!surg_type_equal(s, surg_type_wrap(m, SURG_TYPE_SEQUENCE, u)));
  ck_assert(surg_type_equal(s, surg_type_wrap(m, SURG_TYPE_SEQUENCE, t)));
  ck_assert_ptr_null(surg_type_wrap(m, SURG_TYPE_MAP, t));
  ck_assert_ptr_null(surg_type_tensor(m, 999, NULL, 0));
  ck_assert(surg_type_equal(NULL, NULL));
  ck_assert(!surg_type_equal(t, NULL));
  /* Deeper than any stack. */
  const surg_type *a = t, *b = t;
  for (int i = 0; i < 300000; i++) {
    a = surg_type_wrap(m, SURG_TYPE_SEQUENCE, a);
    b = surg_type_wrap(m, SURG_TYPE_SEQUENCE, b);
  }
  ck_assert(surg_type_equal(a, b));
  ck_assert(!surg_type_equal(a, surg_type_elem(b)));
}
END_TEST

START_TEST(sizes) {
  uint8_t data[64] = {0};
  int64_t d3 = 3, zero[2] = {0, INT64_MAX}, bad = -1, huge[2] = {INT64_MAX, INT64_MAX};
  ck_assert_ptr_nonnull(surg_tensor_new(m, SURG_INT4, &d3, 1, data, 2));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_INT4, &d3, 1, data, 3));
  ck_assert_ptr_nonnull(surg_tensor_new(m, SURG_UINT2, &d3, 1, data, 1));
  ck_assert_ptr_nonnull(surg_tensor_new(m, SURG_COMPLEX128, &d3, 1, data, 48));
  ck_assert_ptr_nonnull(surg_tensor_new(m, SURG_FLOAT, zero, 2, NULL, 0));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_FLOAT, &bad, 1, data, 4));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_FLOAT, huge, 2, data, 4));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_FLOAT, &d3, 1, data, 8));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_STRING, &d3, 1, data, 3));
  ck_assert_ptr_null(surg_tensor_new(m, SURG_UNDEFINED, &d3, 1, data, 3));
  ck_assert_ptr_null(surg_tensor_new(m, 77, &d3, 1, data, 3));
  ck_assert_ptr_nonnull(surg_tensor_new_strings(m, zero, 2, NULL));
  ck_ok(surg_model_status(m));
}
END_TEST

/* Through pieces, each rounded once: to a double and on to float16 would round 1 + 2^-11 + 2^-40
 * wrong by way of float. */
START_TEST(cast_floats) {
  enum { MANY = 200000 };
  const int64_t dims[1] = {6}, many[1] = {MANY}, none[1] = {0};
  const double given[6] = {-0.0, INFINITY, 1 + 0x1p-11 + 0x1p-40, 1e300, 0x1p-24, NAN};
  const uint16_t want[5] = {0x8000, 0x7C00, 0x3C01, 0x7C00, 1};
  uint16_t half[6];
  surg_tensor *t = surg_tensor_new(m, SURG_DOUBLE, dims, 1, given, sizeof given);
  surg_tensor *h = surg_tensor_cast(m, t, SURG_FLOAT16);
  ck_assert_int_eq(surg_tensor_read(h, 0, half, sizeof half), SURG_OK);
  ck_assert_mem_eq(half, want, sizeof want);
  ck_assert((half[5] & 0x7C00) == 0x7C00 && (half[5] & 0x3FF));
  float *ramp = malloc(MANY * sizeof *ramp), *back = malloc(MANY * sizeof *back);
  for (int i = 0; i < MANY; i++) ramp[i] = (float)i * 0.25f;
  t = surg_tensor_new(m, SURG_FLOAT, many, 1, ramp, MANY * sizeof *ramp);
  t = surg_tensor_cast(m, surg_tensor_cast(m, t, SURG_DOUBLE), SURG_FLOAT);
  ck_assert_int_eq(surg_tensor_read(t, 0, back, MANY * sizeof *back), SURG_OK);
  ck_assert_mem_eq(ramp, back, MANY * sizeof *back);
  free(ramp);
  free(back);
  t = surg_tensor_cast(m, surg_tensor_new(m, SURG_FLOAT, none, 1, NULL, 0), SURG_BFLOAT16);
  ck_assert_uint_eq(surg_tensor_count(t), 0);
  ck_assert_int_eq(surg_model_status(m), SURG_OK);
  ck_assert_ptr_null(surg_tensor_cast(m, t, SURG_INT64));
}
END_TEST

/* Elements as C has them are what a file stores, from every place in a byte on. */
START_TEST(numbers_of_c) {
  const int64_t n = 5, none = 0;
  const float f[5] = {1, -2.5f, -0.0f, INFINITY, 0x1p-149f};
  const uint8_t stored[8] = {0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0};
  const int8_t nibbles[5] = {-1, -8, 7, 0, 3};
  uint8_t raw[20];
  float back[5];
  int8_t got[5];
  surg_tensor *t = surg_tensor_new_numbers(m, SURG_FLOAT, &n, 1, f, 5);
  ck_ok(surg_tensor_read(t, 0, raw, sizeof raw));
  ck_assert_mem_eq(raw, stored, sizeof stored);
  ck_ok(surg_tensor_read_numbers(t, 1, back, 4));
  ck_assert_mem_eq(back, f + 1, 4 * sizeof *f);
  t = surg_tensor_new_numbers(m, SURG_INT4, &n, 1, nibbles, 5);
  ck_ok(surg_tensor_read(t, 0, raw, 3));
  ck_assert(raw[0] == 0x8F && raw[1] == 0x07 && raw[2] == 0x03);
  for (uint64_t first = 0; first <= 5; first++)
    for (size_t count = 0; count <= 5 - first; count++) {
      memset(got, 99, sizeof got);
      ck_ok(surg_tensor_read_numbers(t, first, got, count));
      for (size_t i = 0; i < 5; i++) ck_assert_int_eq(got[i], i < count ? nibbles[first + i] : 99);
    }
  ck_assert_int_eq(surg_tensor_read_numbers(t, 3, got, 3), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_read_numbers(t, 6, got, 0), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_read_numbers(NULL, 0, got, 0), SURG_EUSAGE);
  /* 4 elements of 4 bits are as many bytes as 3. */
  const int64_t four = 4;
  ck_assert_ptr_null(surg_tensor_new_numbers(m, SURG_INT4, &four, 1, nibbles, 3));
  ck_assert_ptr_null(surg_tensor_new_numbers(m, SURG_FLOAT, &n, 1, NULL, 5));
  ck_assert_ptr_null(surg_tensor_new_numbers(m, SURG_FLOAT, NULL, 1, f, 5));
  ck_assert_ptr_null(surg_tensor_new_numbers(m, SURG_STRING, &n, 1, f, 5));
  t = surg_tensor_new_numbers(m, SURG_UINT4, &none, 1, NULL, 0);
  ck_assert_ptr_nonnull(t);
  ck_ok(surg_tensor_read_numbers(t, 0, NULL, 0));
  t = surg_tensor_new_strings(m, NULL, 0, &(surg_str){"a", 1});
  ck_assert_int_eq(surg_tensor_read_numbers(t, 0, raw, 1), SURG_EUNSUPPORTED);
}
END_TEST

/* More elements than fit the room on the stack, of two bits. */
START_TEST(many_numbers_of_c) {
  enum { MANY = 5003 };
  const int64_t n = MANY;
  uint8_t *in = malloc(MANY), *out = malloc(MANY);
  for (size_t i = 0; i < MANY; i++) in[i] = (uint8_t)(i * 7 % 4);
  const surg_tensor *t = surg_tensor_new_numbers(m, SURG_UINT2, &n, 1, in, MANY);
  for (size_t first = 0; first < 9; first++) {
    ck_ok(surg_tensor_read_numbers(t, first, out, MANY - first));
    ck_assert_mem_eq(out, in + first, MANY - first);
  }
  free(in);
  free(out);
}
END_TEST

START_TEST(read_ints) {
  int64_t got[9], n = 3, big = 5000;
  uint8_t nibbles[2] = {0x8F, 0x07}; /* -1, -8, 7 */
  surg_tensor *t = surg_tensor_new(m, SURG_INT4, &n, 1, nibbles, 2);
  ck_assert_int_eq(surg__read_ints(t, got, 9), 3);
  ck_assert(got[0] == -1 && got[1] == -8 && got[2] == 7);
  ck_assert_int_eq(surg__read_ints(t, got, 2), -1);
  t = surg_tensor_new(m, SURG_UINT4, &n, 1, nibbles, 2);
  ck_assert_int_eq(surg__read_ints(t, got, 9), 3);
  ck_assert(got[0] == 15 && got[1] == 8 && got[2] == 7);
  uint64_t above = (uint64_t)INT64_MAX + 1;
  t = surg_tensor_new(m, SURG_UINT64, NULL, 0, &above, 8);
  ck_assert_int_eq(surg__read_ints(t, got, 9), -1);
  float f = 1;
  ck_assert_int_eq(surg__read_ints(surg_tensor_new(m, SURG_FLOAT, NULL, 0, &f, 4), got, 9), -1);
  int64_t none = 0;
  ck_assert_int_eq(surg__read_ints(surg_tensor_new(m, SURG_INT8, &none, 1, NULL, 0), got, 9), 0);
  /* More than one buffer, with a type of two bits. */
  uint8_t *bits = malloc(1250);
  int64_t *out = malloc(5000 * sizeof *out);
  for (int i = 0; i < 1250; i++) bits[i] = 0xE4; /* 0 1 2 3 */
  t = surg_tensor_new(m, SURG_UINT2, &big, 1, bits, 1250);
  ck_assert_int_eq(surg__read_ints(t, out, 5000), 5000);
  for (int i = 0; i < 5000; i++) ck_assert_int_eq(out[i], i % 4);
  free(bits);
  free(out);
}
END_TEST

START_TEST(read_parts) {
  int64_t n = 10;
  uint8_t data[10], out[10];
  for (int i = 0; i < 10; i++) data[i] = (uint8_t)i;
  surg_tensor *t = surg_tensor_new(m, SURG_UINT8, &n, 1, data, 10);
  ck_ok(surg_tensor_read(t, 4, out, 3));
  ck_assert_int_eq(memcmp(out, data + 4, 3), 0);
  ck_ok(surg_tensor_read(t, 10, out, 0));
  ck_assert_int_eq(surg_tensor_read(t, 8, out, 3), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_read(t, 11, out, 0), SURG_EUSAGE);
  ck_assert_int_eq(surg_tensor_read(t, UINT64_MAX, out, 1), SURG_EUSAGE);
}
END_TEST

/* --- typed lists --- */

static uint8_t wire[1 << 20];
static size_t used;

static void byte(unsigned b) { wire[used++] = (uint8_t)b; }
static void varint(uint64_t v) { used += surg__varint_put(wire + used, v); }
static void raw(uint64_t v, unsigned n) {
  for (unsigned i = 0; i < n; i++) byte((unsigned)(v >> (8 * i)) & 0xFF);
}

/* A tensor whose message is what stands in `wire`. */
static surg_tensor *typed(int dtype, int64_t n) {
  surg__source_unref(m->source);
  m->source = NULL;
  ck_ok(surg__source_memory(ctx, wire, used, "t", &m->source));
  surg_tensor *t = surg__tensor_alloc(m, dtype, &n, 1);
  ck_assert_ptr_nonnull(t);
  t->view = SURG__VIEW_TYPED;
  t->msg = (surg__span){0, used};
  return t;
}

/* Element i of a list of a type, as an entry of the list and as bytes. */
static uint64_t sample(int i) {
  return (uint64_t)i * 0x9E3779B97F4A7C15u ^ (uint64_t)i << 3;
}

typedef struct row {
  int dtype;
  unsigned field, wire_type, entry, bytes_each; /* bytes of an entry in raw_data */
  unsigned per_entry;                            /* elements an entry holds */
} row;
static const row rows[] = {
    {SURG_FLOAT, 4, 5, 4, 4, 1},      {SURG_DOUBLE, 10, 1, 8, 8, 1},
    {SURG_INT32, 5, 0, 0, 4, 1},      {SURG_INT16, 5, 0, 0, 2, 1},
    {SURG_INT8, 5, 0, 0, 1, 1},       {SURG_UINT8, 5, 0, 0, 1, 1},
    {SURG_UINT16, 5, 0, 0, 2, 1},     {SURG_BOOL, 5, 0, 0, 1, 1},
    {SURG_FLOAT16, 5, 0, 0, 2, 1},    {SURG_BFLOAT16, 5, 0, 0, 2, 1},
    {SURG_FLOAT8E4M3FN, 5, 0, 0, 1, 1}, {SURG_INT4, 5, 0, 0, 1, 2},
    {SURG_UINT2, 5, 0, 0, 1, 4},      {SURG_INT64, 7, 0, 0, 8, 1},
    {SURG_UINT64, 11, 0, 0, 8, 1},    {SURG_UINT32, 11, 0, 0, 4, 1},
};

static void put_entry(const row *r, uint64_t v) {
  if (r->entry)
    raw(v, r->entry);
  else
    varint(v);
}

/* Half the list packed in one piece, a stranger in between, the rest one by one. */
START_TEST(typed_lists) {
  const row *r = &rows[_i];
  const int entries = 5000;
  uint64_t mask = r->bytes_each == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * r->bytes_each)) - 1;
  used = 0;
  byte(1 << 3);
  varint(5); /* dims */
  size_t at = used;
  for (int i = 0; i < entries / 2; i++) put_entry(r, sample(i) & mask);
  size_t body = used - at;
  static uint8_t copy[1 << 20];
  memcpy(copy, wire + at, body);
  used = at;
  byte(r->field << 3 | 2);
  varint(body);
  memcpy(wire + used, copy, body);
  used += body;
  byte(12 << 3 | 2); /* doc_string */
  varint(3);
  raw(0x414141, 3);
  varint(99 << 3), varint(7); /* an unknown field */
  for (int i = entries / 2; i < entries; i++) {
    byte(r->field << 3 | r->wire_type);
    put_entry(r, sample(i) & mask);
  }
  surg_tensor *t = typed(r->dtype, (int64_t)entries * r->per_entry);
  size_t bytes = (size_t)entries * r->bytes_each;
  ck_assert_uint_eq(surg_tensor_bytes(t), bytes);
  uint8_t *whole = malloc(bytes), *want = malloc(bytes);
  for (int i = 0; i < entries; i++)
    for (unsigned k = 0; k < r->bytes_each; k++)
      want[(size_t)i * r->bytes_each + k] = (uint8_t)(sample(i) >> (8 * k));
  ck_ok(surg_tensor_read(t, 0, whole, bytes));
  ck_assert_int_eq(memcmp(whole, want, bytes), 0);
  /* As it was read, and as bytes. */
  int64_t count = (int64_t)entries * r->per_entry;
  surg_tensor *made = surg_tensor_new(m, r->dtype, &count, 1, want, bytes);
  bool same = false;
  uint64_t one, other;
  ck_ok(surg_tensor_same(t, made, &same));
  ck_ok(surg_tensor_hash(t, &one));
  ck_ok(surg_tensor_hash(made, &other));
  ck_assert(same && one == other);
  memset(whole, 0, bytes);
  for (size_t o = 0; o < bytes; o += 777)
    ck_ok(surg_tensor_read(t, o, whole + o, bytes - o < 777 ? bytes - o : 777));
  ck_assert_int_eq(memcmp(whole, want, bytes), 0);
  free(whole);
  free(want);
}
END_TEST

/* Lists that are too short, too long or cut off: an error, never bytes that were not there. */
START_TEST(broken_lists) {
  int32_t out[4];
  used = 0;
  byte(5 << 3 | 2), varint(3), byte(1), byte(2), byte(3);
  ck_refused(ctx, surg_tensor_read(typed(SURG_INT32, 4), 0, out, 16), SURG_EINVALID, "cut off");
  ck_refused(ctx, surg_tensor_read(typed(SURG_INT32, 2), 0, out, 8), SURG_EINVALID, "cut off");
  ck_refused(ctx, surg_tensor_read(typed(SURG_INT32, 2), 0, out, 4), SURG_EINVALID, "cut off");
  ck_ok(surg_tensor_read(typed(SURG_INT32, 3), 0, out, 12));
  for (size_t n = 1; n < 5; n++) {
    used = n;
    ck_refused(ctx, surg_tensor_read(typed(SURG_INT32, 3), 0, out, 12), SURG_EINVALID, "cut off");
  }
  used = 0;
  byte(4 << 3 | 2), varint(6), raw(0, 6); /* one and a half floats */
  ck_refused(ctx, surg_tensor_read(typed(SURG_FLOAT, 1), 0, out, 4), SURG_EINVALID, "cut off");
  used = 0;
  byte(4 << 3 | 0), varint(6); /* wrong wire type */
  ck_refused(ctx, surg_tensor_read(typed(SURG_FLOAT, 1), 0, out, 4), SURG_EINVALID, "cut off");
  used = 0;
  byte(5 << 3 | 0);
  for (int i = 0; i < 11; i++) byte(0x80); /* a varint without end */
  ck_refused(ctx, surg_tensor_read(typed(SURG_INT32, 1), 0, out, 4), SURG_EINVALID, "cut off");
  ck_ok(surg_model_status(m));
}
END_TEST

START_TEST(extents) {
  const float f[] = {-3e38f, 1e-12f, 0, 2, NAN, -INFINITY};
  const int64_t n = 6, none = 0;
  surg_extent e = {.size = sizeof e};
  ck_ok(surg_tensor_extent(surg_tensor_new(m, SURG_FLOAT, &n, 1, f, sizeof f), &e));
  ck_assert(e.nan && e.inf);
  ck_assert_double_eq(e.least, (double)1e-12f);
  ck_assert_double_eq(e.largest, (double)3e38f);
  ck_assert_double_eq(e.low, (double)-3e38f);
  ck_assert_double_eq(e.high, 2);
  ck_ok(surg_tensor_extent(surg_tensor_new(m, SURG_FLOAT, &none, 1, NULL, 0), &e));
  ck_assert(!e.nan && !e.inf);
  ck_assert_double_eq(e.least, 0);
  ck_assert_double_eq(e.largest, 0);
  surg_tensor *t = surg_tensor_new(m, SURG_INT32, &none, 1, NULL, 0);
  ck_assert_int_eq(surg_tensor_extent(t, &e), SURG_EUNSUPPORTED);
}
END_TEST

START_TEST(narrowed) {
  const float f[] = {-3e38f, 1e-12f, 0, -1e-9f, INFINITY, 65519};
  const uint16_t halves[] = {0xfbff, 0x0400, 0, 0x8400, 0x7c00, 0x7bff};
  const int64_t n = 6, big[] = {INT64_MAX, INT64_MIN, -1, 7, 0, 1};
  const int32_t ints[] = {INT32_MAX, INT32_MIN, -1, 7, 0, 1};
  uint16_t got[6];
  int32_t whole[6];
  bool clamped = false;
  surg_tensor *t = surg_tensor_new(m, SURG_FLOAT, &n, 1, f, sizeof f);
  ck_ok(surg_tensor_read(surg_tensor_narrow(m, t, SURG_FLOAT16, &clamped), 0, got, sizeof got));
  ck_assert(clamped);
  ck_assert_mem_eq(got, halves, sizeof got);
  surg_tensor_narrow(m, surg_tensor_cast(m, t, SURG_DOUBLE), SURG_FLOAT, &clamped);
  ck_assert(!clamped);
  t = surg_tensor_cast(m, surg_tensor_new(m, SURG_INT64, &n, 1, big, sizeof big), SURG_INT32);
  ck_ok(surg_tensor_read(t, 0, whole, sizeof whole));
  ck_assert_mem_eq(whole, ints, sizeof whole);
}
END_TEST

/* Elements that do not fit into memory are converted as they are read: from any byte on, and after
 * the model that they come from is gone. */
START_TEST(cast_in_place) {
  enum { N = 100000 };
  static float f[N];
  static uint16_t want[N], got[N];
  const int64_t n = N;
  for (size_t i = 0; i < N; i++) {
    f[i] = (float)(i * 7919 % 65536) - 32768.5f;
    want[i] = surg__double_to_half((double)f[i]);
  }
  ck_assert_ptr_nonnull(surg__blob_new(m, SURG_LIMIT_OWNED_RESIDENT));
  const surg_tensor *t = surg_tensor_new(m, SURG_FLOAT, &n, 1, f, sizeof f);
  surg_tensor *h = surg_tensor_cast(m, t, SURG_FLOAT16);
  const surg_tensor *back = surg_tensor_cast(m, h, SURG_FLOAT); /* not from a tensor like this */
  ck_assert(t->blob->spill && h->blob->derive && back->blob->spill);
  surg_graph *g = surg_model_graph(m);
  surg_value *v = surg_graph_constant(g, NULL, "h", h);
  ck_ok(surg_graph_add_output(g, v, NULL));
  surg_model *other = surg_model_clone(m);
  surg_model_free(m);
  m = other;
  h = surg_value_initializer(surg_graph_output(surg_model_graph(m), 0));
  ck_ok(surg_tensor_read(h, 0, got, sizeof got));
  ck_assert_mem_eq(got, want, sizeof got);
  for (int round = 0; round < 100; round++) {
    const size_t from = unit_between(1, sizeof want), some = unit_between(0, sizeof want - from);
    uint8_t *at = (uint8_t *)got + 1;
    ck_ok(surg_tensor_read(h, from, at, some));
    ck_assert_mem_eq(at, (uint8_t *)want + from, some);
  }
}
END_TEST

START_TEST(typed_strings) {
  used = 0;
  byte(6 << 3 | 2), varint(3), raw(0x00620061, 3);
  byte(2 << 3), varint(8);
  byte(6 << 3 | 2), varint(0);
  surg_tensor *t = typed(SURG_STRING, 2);
  const surg_str *s = surg__strings(t);
  ck_assert_ptr_nonnull(s);
  ck_assert_uint_eq(s[0].n, 3);
  ck_assert_int_eq(memcmp(s[0].p, "a\0b", 3), 0);
  ck_assert_uint_eq(s[1].n, 0);
  ck_assert_ptr_eq(surg__strings(t), s);
  ck_assert_uint_eq(surg_tensor_bytes(t), 3);
  ck_assert_ptr_null(surg__strings(typed(SURG_STRING, 3)));
  ck_assert_ptr_null(surg__strings(typed(SURG_STRING, 1)));
  used -= 1;
  ck_assert_ptr_null(surg__strings(typed(SURG_STRING, 2)));
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_tensor");
  TCase *t = tcase_create("tensor");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, types);
  tcase_add_test(t, sizes);
  tcase_add_test(t, cast_floats);
  tcase_add_test(t, read_ints);
  tcase_add_test(t, numbers_of_c);
  tcase_add_test(t, many_numbers_of_c);
  tcase_add_test(t, read_parts);
  tcase_add_loop_test(t, typed_lists, 0, (int)(sizeof rows / sizeof rows[0]));
  tcase_add_test(t, broken_lists);
  tcase_add_test(t, extents);
  tcase_add_test(t, narrowed);
  tcase_add_test(t, cast_in_place);
  tcase_add_test(t, typed_strings);
  suite_add_tcase(s, t);
  return unit_run(s);
}
