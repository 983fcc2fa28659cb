/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of kernel tests with shapes, elements and attributes that nearly fit: what a kernel must
 * refuse, and what it must survive. Meant to run under the sanitizers too. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/dtype.h"
#include "kernel_rows.h"
#include "schema/schema.h"

#define MOST_DIMS 7
#define MOST_BYTES 4096

static uint64_t state;

static unsigned below(unsigned n) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % n;
}

static int64_t any_int(void) {
  static const int64_t list[] = {
      0, 1, -1, 2, 3, 7, INT64_MIN, INT64_MAX, INT32_MAX, 1ll << 31, 1ll << 40, -(1ll << 62)};
  return list[below(SURG_COUNT(list))];
}

static float any_float(void) {
  static const float list[] = {0, -0.0f, 1, -1, 0.5f, 1e30f, -1e30f, 1e-40f};
  uint32_t bits = (uint32_t)below(2) << 31 | 0x7f800000u | below(2); /* infinite, or NaN */
  float f;
  memcpy(&f, &bits, sizeof f);
  return below(3) == 0 ? f : list[below(SURG_COUNT(list))];
}

static size_t shake_dims(const surg_tensor *t, int64_t *dims) {
  size_t rank = surg_tensor_rank(t);
  ck_assert_uint_lt(rank, MOST_DIMS);
  if (rank > 0) memcpy(dims, surg_tensor_dims(t), rank * sizeof *dims);
  switch (below(6)) {
    case 0:
      dims[rank++] = below(3);
      break;
    case 1:
      if (rank > 0) rank--;
      break;
    case 2:
    case 3:
      if (rank > 0) dims[below((unsigned)rank)] = below(4);
      break;
    default:
      break;
  }
  return rank;
}

static void shake_elements(int dtype, uint8_t *data, size_t bytes) {
  unsigned size = surg__dtype_bits(dtype) / 8;
  if (size == 0 || bytes < size || below(2) == 0) return;
  uint8_t *at = data + below((unsigned)(bytes / size)) * size;
  float f = any_float();
  double d = f;
  int64_t n = any_int();
  if (dtype == SURG_FLOAT)
    memcpy(at, &f, sizeof f);
  else if (dtype == SURG_DOUBLE)
    memcpy(at, &d, sizeof d);
  else if (dtype != SURG_BOOL && size <= sizeof n)
    memcpy(at, &n, size);
}

/* A tensor like t with other dims, its elements over and over, one of them another. */
static surg_tensor *shaken(surg_model *m, const surg_tensor *t) {
  static uint8_t from[MOST_BYTES], data[MOST_BYTES];
  int64_t dims[MOST_DIMS];
  size_t rank = shake_dims(t, dims), had = (size_t)surg_tensor_bytes(t);
  int dtype = surg_tensor_dtype(t);
  uint64_t count, bytes = 0;
  if (dtype == SURG_STRING || !surg__dims_product(dims, (uint32_t)rank, &count) ||
      !surg__dtype_bytes(dtype, count, &bytes) || bytes > MOST_BYTES || had > MOST_BYTES) {
    return NULL;
  }
  if (had > 0) ck_assert_int_eq(surg_tensor_read(t, 0, from, had), SURG_OK);
  for (size_t i = 0; i < bytes; i++) data[i] = had > 0 ? from[i % had] : 0;
  shake_elements(dtype, data, (size_t)bytes);
  return surg_tensor_new(m, dtype, dims, rank, data, (size_t)bytes);
}

static void shake_attr(surg_node *n, const surg__attr_def *def) {
  int64_t ints[4];
  size_t count = below(5);
  switch (def->kind) {
    case SURG_ATTR_INT:
      surg_node_set_int(n, def->name, any_int());
      break;
    case SURG_ATTR_FLOAT:
      surg_node_set_float(n, def->name, any_float());
      break;
    case SURG_ATTR_INTS:
      for (size_t i = 0; i < count; i++) ints[i] = any_int();
      surg_node_set_ints(n, def->name, ints, count);
      break;
    default:
      break;
  }
}

static void shake(surg_model *m, surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  ck_assert_ptr_nonnull(s);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (!v || below(3) == 0) continue;
    surg_tensor *t = shaken(m, surg_value_constant(v));
    if (t) surg_node_set_input(n, i, surg_graph_constant(surg_model_graph(m), n, NULL, t));
  }
  if (s->n_attrs > 0 && below(2) == 0) shake_attr(n, &s->attrs[below(s->n_attrs)]);
}

static bool same(const surg_tensor *a, const surg_tensor *b) {
  size_t n = (size_t)surg_tensor_bytes(a);
  if (surg_tensor_dtype(a) == SURG_STRING || n == 0) return true;
  if (surg_tensor_bytes(b) != n) return false;
  uint8_t *x = malloc(2 * n);
  if (!x) abort();
  bool equal = surg_tensor_read(a, 0, x, n) == SURG_OK &&
               surg_tensor_read(b, 0, x + n, n) == SURG_OK && memcmp(x, x + n, n) == 0;
  free(x);
  return equal;
}

static bool answered(surg_status s) {
  return s == SURG_OK || s == SURG_EUNSUPPORTED || s == SURG_ELIMIT || s == SURG_EINVALID;
}

void kernel_row_shake(surg_context *ctx, const kernel_row *r, unsigned rounds) {
  state = 0x9e3779b97f4a7c15ull;
  for (const char *p = r->inputs; *p; p++) state = state * 31 + (unsigned char)*p;
  for (unsigned i = 0; i < rounds; i++) {
    surg_tensor *folded[8] = {NULL}, *run[8] = {NULL};
    const char *why = NULL;
    surg_model *m;
    surg_node *n = kernel_row_build(ctx, r, 1 + below(3), &m);
    shake(m, n);
    size_t n_out = surg_node_output_count(n);
    surg_status s = surg_node_evaluate(n, 1 << 16, 1 << 18, folded, n_out, &why);
    surg_status t = kernel_node_run(ctx, n, run, n_out, &why);
    ck_assert_msg(answered(s) && answered(t), "%s: %s, %s", r->op, surg_status_name(s),
                  surg_status_name(t));
    ck_assert_msg(s != SURG_OK || t == SURG_OK, "%s is folded, but not run: %s", r->op, why);
    for (size_t k = 0; s == SURG_OK && k < n_out; k++) {
      ck_assert_msg(!folded[k] || same(folded[k], run[k]), "%s: a run gives something else", r->op);
    }
    surg_model_free(m);
  }
}
