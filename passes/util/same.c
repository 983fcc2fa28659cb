/* SPDX-License-Identifier: Apache-2.0 */
/* See same.h. */
#include "same.h"

#include <string.h>

static bool same_text(surg_str a, surg_str b) {
  return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static uint32_t float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static bool same_ints(const int64_t *a, size_t n, const int64_t *b, size_t k) {
  return n == k && (!n || memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_floats(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const float *x = surg_attr_floats(a, &n), *y = surg_attr_floats(b, &k);
  return n == k && (!n || memcmp(x, y, n * sizeof *x) == 0);
}

static bool same_strings(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const surg_str *x = surg_attr_strings(a, &n), *y = surg_attr_strings(b, &k);
  bool same = n == k;
  for (size_t i = 0; same && i < n; i++) same = same_text(x[i], y[i]);
  return same;
}

/* 1: equal, 0: different or unknown, -1: failure. */
static int same_tensors(const surg_attr *a, const surg_attr *b) {
  for (size_t i = 0;; i++) {
    const surg_tensor *x = surg_attr_tensor(a, i), *y = surg_attr_tensor(b, i);
    if (!x || !y) return x == y && i > 0;
    bool same;
    const surg_status s = surg_tensor_same(x, y, &same);
    if (s != SURG_OK && s != SURG_EUNSUPPORTED) return -1;
    if (s != SURG_OK || !same) return 0;
  }
}

static int same_types(const surg_attr *a, const surg_attr *b) {
  for (size_t i = 0;; i++) {
    const surg_type *x = surg_attr_type(a, i), *y = surg_attr_type(b, i);
    if (!x || !y) return x == y && i > 0;
    if (!surg_type_equal(x, y)) return 0;
  }
}

int same_attr(const surg_attr *a, const surg_attr *b) {
  const surg_attr_kind kind = surg_attr_get_kind(a);
  const char *ref = surg_attr_ref(a), *other = surg_attr_ref(b);
  if (kind != surg_attr_get_kind(b)) return 0;
  if (ref || other) return ref && other && strcmp(ref, other) == 0;
  switch (kind) {
    case SURG_ATTR_INT: return surg_attr_int(a) == surg_attr_int(b);
    case SURG_ATTR_FLOAT: return float_bits(surg_attr_float(a)) == float_bits(surg_attr_float(b));
    case SURG_ATTR_STRING: return same_text(surg_attr_string(a), surg_attr_string(b));
    case SURG_ATTR_FLOATS: return same_floats(a, b);
    case SURG_ATTR_STRINGS: return same_strings(a, b);
    case SURG_ATTR_INTS: {
      size_t n, k;
      const int64_t *x = surg_attr_ints(a, &n), *y = surg_attr_ints(b, &k);
      return same_ints(x, n, y, k);
    }
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS: return same_tensors(a, b);
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS: return same_types(a, b);
    default: return 0;
  }
}

/* Whether the default of an attribute that n lacks equals a. Each query passes a fallback that
 * differs from a, so a missing default never compares equal. */
static bool is_default(const surg_node *n, const surg_attr *a) {
  const char *name = surg_attr_name(a);
  if (surg_attr_ref(a)) return false;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT: return surg_node_int(n, name, ~surg_attr_int(a)) == surg_attr_int(a);
    case SURG_ATTR_FLOAT: {
      const uint32_t bits = float_bits(surg_attr_float(a));
      return float_bits(surg_node_float(n, name, bits ? 0.0F : 1.0F)) == bits;
    }
    case SURG_ATTR_STRING: {
      const surg_str s = surg_attr_string(a);
      return same_text(surg_node_string(n, name, s.n ? "" : "?"), s);
    }
    case SURG_ATTR_INTS: {
      size_t k, count;
      const int64_t *given = surg_attr_ints(a, &count), *known = surg_node_ints(n, name, &k);
      return known && same_ints(given, count, known, k);
    }
    default: return false;
  }
}

/* Compares each attribute of a with that of b, or with its default if b lacks it. */
static int attrs_of(const surg_node *a, const surg_node *b) {
  for (size_t i = 0; i < surg_node_attr_count(a); i++) {
    const surg_attr *x = surg_node_attr_at(a, i), *y = surg_node_attr(b, surg_attr_name(x));
    const int answer = y ? same_attr(x, y) : is_default(b, x);
    if (answer <= 0) return answer;
  }
  return 1;
}

static bool same_inputs(const surg_node *a, const surg_node *b) {
  const size_t n = surg_node_input_count(a), k = surg_node_input_count(b);
  for (size_t i = 0; i < n || i < k; i++)
    if (surg_node_input(a, i) != surg_node_input(b, i)) return false;
  return true;
}

int same_parts(const surg_node *a, const surg_node *b) {
  if (strcmp(surg_node_overload(a), surg_node_overload(b)) != 0) return 0;
  if (surg_node_output_count(a) != surg_node_output_count(b) || !same_inputs(a, b)) return 0;
  const int there = attrs_of(a, b);
  return there <= 0 ? there : attrs_of(b, a);
}
