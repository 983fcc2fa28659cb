/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder and CategoryMapper: look up elements in a table of keys and values. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/ml/ml.h"
#include "eval/move/move.h"
#include "eval/core/number.h"

typedef struct table {
  surg__array keys, values; /* of equal length */
  surg__array fallback;     /* default: one element of the type of the values */
  uint64_t *order;          /* indices of the keys, in stable sorted order */
} table;

static int order_of(double x, double y) {
  if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
  return x < y ? -1 : x > y;
}

/* Compares element i of a with element j of b, which have one type. NaN equals NaN. */
static int compare(const surg__array *a, uint64_t i, const surg__array *b, uint64_t j) {
  if (a->dtype == SURG_STRING) {
    surg_str x = ((const surg_str *)a->data)[i], y = ((const surg_str *)b->data)[j];
    size_t n = x.n < y.n ? x.n : y.n;
    int c = n > 0 ? memcmp(x.p, y.p, n) : 0;
    return c != 0 ? c : x.n < y.n ? -1 : x.n > y.n;
  }
  if (surg__is_real(a->dtype)) {
    return order_of(surg__load_f64(a->dtype, a->data, i), surg__load_f64(b->dtype, b->data, j));
  }
  int64_t x = (int64_t)surg__load_int(a->dtype, a->data, i);
  int64_t y = (int64_t)surg__load_int(b->dtype, b->data, j);
  return x < y ? -1 : x > y;
}

static int by_key(const void *user, uint64_t a, uint64_t b) {
  const surg__array *keys = user;
  return compare(keys, a, keys, b);
}

static surg__kstatus sort_keys(surg_kctx *k, table *t) {
  uint64_t n = t->keys.count, work;
  if (n != t->values.count) return surg__k_invalid(k, "there is not one value for each key");
  uint64_t *spare = surg__k_scratch(k, (size_t)n, sizeof *spare);
  t->order = surg__k_scratch(k, (size_t)n, sizeof *t->order);
  if (!spare || !t->order) return SURG__K_NOMEM;
  if (!surg__mul_u64(n, 64, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  for (uint64_t i = 0; i < n; ++i) t->order[i] = i;
  surg__sort_positions(t->order, spare, n, by_key, &t->keys);
  return SURG__K_OK;
}

/* The index of the first key equal to element i of x, or the number of keys. Binary search. */
static uint64_t look_up(const table *t, const surg__array *x, uint64_t i) {
  uint64_t low = 0, high = t->keys.count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (compare(&t->keys, t->order[middle], x, i) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == t->keys.count || compare(&t->keys, t->order[low], x, i) != 0) return t->keys.count;
  return t->order[low];
}

static surg__kstatus encode(surg_kctx *k, table *t) {
  const surg__array *x = &k->in[0];
  size_t size = surg__dtype_unpacked(t->values.dtype);
  SURG__K_TRY(sort_keys(k, t));
  SURG__K_TRY(surg__k_out(k, 0, t->values.dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  char *out = k->out[0].data;
  for (uint64_t i = 0; out && i < x->count; ++i, out += size) {
    uint64_t at = look_up(t, x, i);
    const surg__array *from = at < t->keys.count ? &t->values : &t->fallback;
    memcpy(out, (const char *)from->data + (at < t->keys.count ? at * size : 0), size);
  }
  return SURG__K_OK;
}

static surg__array list_of(int dtype, const void *data, size_t n) {
  return (surg__array){.dtype = dtype, .count = n, .data = (void *)(uintptr_t)data};
}

static surg__kstatus one_of(surg_kctx *k, int dtype, surg__array *out) {
  surg_str s = {0};
  void *p = surg__k_scratch(k, 1, sizeof s);
  if (!p) return SURG__K_NOMEM;
  *out = list_of(dtype, p, 1);
  if (dtype == SURG_STRING) {
    s = surg_node_string(k->node, "default_string", "_Unused");
    memcpy(p, &s, sizeof s);
  } else if (surg__is_real(dtype)) {
    surg__store_f64(dtype, p, 0, (double)surg_node_float(k->node, "default_float", -0.0f));
  } else {
    surg__store_int(dtype, p, 0, (uint64_t)surg_node_int(k->node, "default_int64", -1));
  }
  return SURG__K_OK;
}

/* --- LabelEncoder --- */

/* Reads keys or values from the one attribute keys_* (or values_*) that is present. */
static surg__kstatus read_side(surg_kctx *k, const char *const names[4], surg__array *out) {
  size_t n;
  const void *p;
  *out = (surg__array){.dtype = SURG_UNDEFINED};
  SURG__K_TRY(surg__ml_tensor(k, names[3], out));
  if (out->dtype != SURG_UNDEFINED) return SURG__K_OK;
  if ((p = surg__ml_strings(k, names[0], &n)))
    *out = list_of(SURG_STRING, p, n);
  else if ((p = surg__ml_ints(k, names[1], &n)))
    *out = list_of(SURG_INT64, p, n);
  else if ((p = surg__ml_floats(k, names[2], &n)))
    *out = list_of(SURG_FLOAT, p, n);
  else
    return surg__k_invalid(k, "keys or values are not given");
  return SURG__K_OK;
}

/* LabelEncoder-1: maps strings to their index, or indices to strings. */
static surg__kstatus positions(surg_kctx *k, table *t) {
  size_t n;
  const surg_str *words = surg__ml_strings(k, "classes_strings", &n);
  int64_t *numbers = surg__k_scratch(k, n, sizeof *numbers);
  if (!numbers) return SURG__K_NOMEM;
  for (size_t i = 0; i < n; ++i) numbers[i] = (int64_t)i;
  t->keys = list_of(SURG_STRING, words, n);
  t->values = list_of(SURG_INT64, numbers, n);
  return SURG__K_OK;
}

static void turn_around(table *t) {
  surg__array keys = t->keys;
  t->keys = t->values;
  t->values = keys;
}

surg__kstatus surg__k_label_encoder(surg_kctx *k) {
  static const char *const keys[] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"};
  static const char *const values[] = {"values_strings", "values_int64s", "values_floats",
                                       "values_tensor"};
  table t;
  if (k->since < 2) {
    SURG__K_TRY(positions(k, &t));
    if (k->in[0].dtype == SURG_INT64) turn_around(&t);
  } else {
    SURG__K_TRY(read_side(k, keys, &t.keys));
    SURG__K_TRY(read_side(k, values, &t.values));
  }
  if (t.keys.dtype != k->in[0].dtype) return surg__k_invalid(k, "the keys are of another type");
  SURG__K_TRY(surg__ml_tensor(k, "default_tensor", &t.fallback));
  if (t.fallback.dtype == SURG_UNDEFINED) SURG__K_TRY(one_of(k, t.values.dtype, &t.fallback));
  if (t.fallback.dtype != t.values.dtype || t.fallback.count != 1) {
    return surg__k_invalid(k, "the default is not a single value of the right type");
  }
  return encode(k, &t);
}

surg__kstatus surg__k_category_mapper(surg_kctx *k) {
  size_t n_words, n_numbers;
  const surg_str *words = surg__ml_strings(k, "cats_strings", &n_words);
  const int64_t *numbers = surg__ml_ints(k, "cats_int64s", &n_numbers);
  table t = {.keys = list_of(SURG_STRING, words, n_words),
             .values = list_of(SURG_INT64, numbers, n_numbers)};
  if (k->in[0].dtype == SURG_INT64) turn_around(&t);
  SURG__K_TRY(one_of(k, t.values.dtype, &t.fallback));
  return encode(k, &t);
}
