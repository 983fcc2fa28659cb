/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on maps: ZipMap, CastMap, DictVectorizer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/locale.h"
#include "eval/core/kernels.h"
#include "eval/ml/ml.h"
#include "eval/core/number.h"
#include "eval/text/strings.h"
#include "eval/core/value.h"

/* --- ZipMap --- */

/* Creates a map from the labels to the numbers of one row. */
static surg__kstatus zip(surg_kctx *k, const surg__labels *labels, const float *row,
                         surg__array *out) {
  int64_t n = (int64_t)labels->n;
  int key = labels->strings ? SURG_STRING : SURG_INT64;
  surg__content content = {.kind = SURG__V_MAP, .dtype = SURG_FLOAT, .key = key};
  if (surg__list_make(k->ctx, SURG__V_MAP, content, 2, out) != SURG_OK) return SURG__K_NOMEM;
  surg__array *items = surg__list_of(out)->items;
  SURG__K_TRY(surg__k_item(k, key, &n, 1, &items[0]));
  SURG__K_TRY(surg__k_item(k, SURG_FLOAT, &n, 1, &items[1]));
  if (labels->strings)
    memcpy(items[0].data, labels->strings, labels->n * sizeof(surg_str));
  else
    memcpy(items[0].data, labels->ints, labels->n * sizeof(int64_t));
  memcpy(items[1].data, row, labels->n * sizeof *row);
  return SURG__K_OK;
}

surg__kstatus surg__k_zip_map(surg_kctx *k) {
  surg__labels labels;
  uint64_t rows, columns;
  surg__array *items;
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(surg__ml_labels(k, "classlabels_int64s", &labels));
  if (labels.n != columns) return surg__k_invalid(k, "there is not one label for each column");
  surg__content content = {.kind = SURG__V_MAP, .dtype = SURG_FLOAT};
  content.key = labels.strings ? SURG_STRING : SURG_INT64;
  SURG__K_TRY(surg__k_work(k, k->in[0].count));
  SURG__K_TRY(surg__k_list(k, 0, SURG__V_SEQUENCE, content, rows, &items));
  for (uint64_t r = 0; items && r < rows; ++r) {
    SURG__K_TRY(zip(k, &labels, (const float *)k->in[0].data + r * columns, &items[r]));
  }
  return SURG__K_OK;
}

/* --- CastMap --- */

/* Parses all of a text as a float, with '.' as decimal point in any locale. */
static bool parse(surg_str s, float *out) {
  char text[64];
  if (s.n == 0 || s.n >= sizeof text) return false;
  memcpy(text, s.p, s.n);
  text[s.n] = '\0';
  surg__os_locale plain;
  if (!surg__os_locale_begin(&plain)) return false;
  char *end;
  *out = strtof(text, &end);
  surg__os_locale_end(&plain);
  return end == text + s.n && strlen(text) == s.n;
}

static surg__kstatus cast_one(surg_kctx *k, const surg__array *from, uint64_t i, surg__array *to,
                              uint64_t at) {
  float f = 0;
  char text[64], *copy;
  if (from->dtype == SURG_FLOAT)
    f = ((const float *)from->data)[i];
  else if (to->dtype == SURG_STRING) {
    ((surg_str *)to->data)[at] = ((const surg_str *)from->data)[i];
    return SURG__K_OK;
  } else if (!parse(((const surg_str *)from->data)[i], &f)) {
    return surg__k_invalid(k, "a string is not a number");
  }
  if (to->dtype == SURG_FLOAT) {
    ((float *)to->data)[at] = f;
    return SURG__K_OK;
  }
  if (to->dtype == SURG_INT64) {
    if (!(f >= -0x1p63f && f < 0x1p63f)) return surg__k_cannot(k, "a number out of range");
    ((int64_t *)to->data)[at] = (int64_t)f;
    return SURG__K_OK;
  }
  /* Six decimals. snprintf with %f would use the decimal point of the locale. */
  if (!(f > -1e12f && f < 1e12f)) return surg__k_cannot(k, "no agreed text for this number");
  long long millionths = (long long)((double)f * 1e6 + (f < 0 ? -0.5 : 0.5));
  unsigned long long m = (unsigned long long)(millionths < 0 ? -millionths : millionths);
  int n = snprintf(text, sizeof text, "%s%llu.%06llu", millionths < 0 ? "-" : "", m / 1000000,
                   m % 1000000);
  SURG__K_TRY(surg__k_text(k, (size_t)n, &copy));
  memcpy(copy, text, (size_t)n);
  ((surg_str *)to->data)[at] = (surg_str){copy, (size_t)n};
  return SURG__K_OK;
}

static void clear(const surg__array *a) {
  if (a->count > 0) memset(a->data, 0, (size_t)a->count * surg__dtype_unpacked(a->dtype));
}

/* CastMap. DENSE: the values in order of their keys; SPARSE: the key is the column of the value. */
surg__kstatus surg__k_cast_map(surg_kctx *k) {
  static const char *const types[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
  static const char *const forms[] = {"DENSE", "SPARSE"};
  static const int dtypes[] = {SURG_FLOAT, SURG_STRING, SURG_INT64};
  const surg__array *keys = &surg__list_of(&k->in[0])->items[0], *values = keys + 1;
  int type = surg__k_word(k, "cast_to", "TO_FLOAT", types, 3);
  int form = surg__k_word(k, "map_form", "DENSE", forms, 2);
  if (type == 3 || form == 2) return surg__k_invalid(k, "there is no such cast_to or map_form");
  int64_t dims[2] = {1, form ? surg_node_int(k->node, "max_map", 1) : (int64_t)keys->count};
  SURG__K_TRY(surg__k_out(k, 0, dtypes[type], dims, 2));
  if (!k->out[0].data) return SURG__K_OK;
  clear(&k->out[0]);
  const int64_t *key = keys->data;
  uint64_t work;
  if (!surg__mul_u64(keys->count, form ? 1 : keys->count, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  for (uint64_t i = 0; i < keys->count; ++i) {
    uint64_t at = 0;
    for (uint64_t j = 0; form == 0 && j < keys->count; ++j) at += key[j] < key[i];
    if (form == 1) {
      if (key[i] < 0 || key[i] >= dims[1]) return surg__k_invalid(k, "a key is out of range");
      at = (uint64_t)key[i];
    }
    SURG__K_TRY(cast_one(k, values, i, &k->out[0], at));
  }
  return SURG__K_OK;
}

/* --- DictVectorizer --- */

surg__kstatus surg__k_dict_vectorizer(surg_kctx *k) {
  const surg__array *keys = &surg__list_of(&k->in[0])->items[0], *values = keys + 1;
  size_t n_words, n_numbers;
  const surg_str *words = surg__ml_strings(k, "string_vocabulary", &n_words);
  const int64_t *numbers = surg__ml_ints(k, "int64_vocabulary", &n_numbers);
  bool text = keys->dtype == SURG_STRING;
  size_t n = text ? n_words : n_numbers, size = surg__dtype_unpacked(values->dtype);
  int64_t dims[2] = {1, (int64_t)n};
  uint64_t work;
  if (n == 0) return surg__k_invalid(k, "there is no vocabulary of this type");
  SURG__K_TRY(surg__k_out(k, 0, values->dtype, dims, 2));
  if (!k->out[0].data) return SURG__K_OK;
  clear(&k->out[0]);
  if (!surg__mul_u64(n, keys->count, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  for (size_t c = 0; c < n; ++c) {
    for (uint64_t i = 0; i < keys->count; ++i) {
      bool same = text ? surg__str_equal(((const surg_str *)keys->data)[i], words[c])
                       : ((const int64_t *)keys->data)[i] == numbers[c];
      if (!same) continue;
      memcpy((char *)k->out[0].data + c * size, (const char *)values->data + i * size, size);
    }
  }
  return SURG__K_OK;
}
