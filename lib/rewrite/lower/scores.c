/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/lower/scores.h"

#include <stdio.h>
#include <string.h>

#include "base/counted.h"

static bool is_word(surg_str s, const char *word) {
  return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

surg__post surg__post_of(const surg__builder *b) {
  static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC"};
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "post_transform");
  if (!a) return SURG__POST_NONE;
  if (surg_attr_get_kind(a) == SURG_ATTR_INT) {
    const int64_t i = surg_node_int(surg__b_matched(b), "post_transform", 0);
    return i >= 0 && i < SURG__POST_OTHER ? (surg__post)i : SURG__POST_OTHER;
  }
  for (int i = 0; i < (int)SURG_COUNT(words); i++)
    if (is_word(surg_attr_string(a), words[i])) return (surg__post)i;
  return SURG__POST_OTHER;
}

/* --- attributes --- */

const int64_t *surg__lower_ints(const surg__builder *b, const char *name, size_t *n) {
  const int64_t *p = surg_attr_ints(surg_node_attr(surg__b_matched(b), name), n);
  if (!p) *n = 0;
  return p;
}

const float *surg__lower_floats(const surg__builder *b, const char *name, size_t *n) {
  const float *p = surg_attr_floats(surg_node_attr(surg__b_matched(b), name), n);
  if (!p) *n = 0;
  return p;
}

/* The elements of a tensor of float or double. */
static const double *doubles_of(surg__builder *b, const surg_tensor *t, size_t *n) {
  const int dtype = surg_tensor_dtype(t);
  const uint64_t count = surg_tensor_count(t);
  if ((dtype != SURG_FLOAT && dtype != SURG_DOUBLE) || surg_tensor_is_sparse(t)) return NULL;
  double *out = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *out);
  float *narrow = dtype == SURG_FLOAT
                      ? surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *narrow)
                      : NULL;
  if (!out || (dtype == SURG_FLOAT && !narrow)) {
    b->status = SURG_ENOMEM;
    return NULL;
  }
  void *to = narrow ? (void *)narrow : (void *)out;
  if (count && surg_tensor_read_numbers(t, 0, to, (size_t)count) != SURG_OK) return NULL;
  for (uint64_t i = 0; narrow && i < count; i++) out[i] = (double)narrow[i];
  *n = (size_t)count;
  return out;
}

const double *surg__lower_doubles(surg__builder *b, const char *name, size_t *n) {
  char longer[64];
  const float *p = surg__lower_floats(b, name, n);
  if (p) {
    double *out = surg__arena_array(b->m->arena, *n + 1, sizeof *out);
    if (!out) b->status = SURG_ENOMEM;
    for (size_t i = 0; out && i < *n; i++) out[i] = (double)p[i];
    return out;
  }
  *n = 0;
  snprintf(longer, sizeof longer, "%s_as_tensor", name);
  const surg_attr *a = surg_node_attr(surg__b_matched(b), longer);
  if (!a) a = surg_node_attr(surg__b_matched(b), name);
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  return t ? doubles_of(b, t, n) : NULL;
}

/* --- labels --- */

surg__classes surg__classes_of(const surg__builder *b, const char *ints) {
  surg__classes c = {0};
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "classlabels_strings");
  c.strings = a ? surg_attr_strings(a, &c.n) : NULL;
  if (c.strings && c.n) return c;
  c.strings = NULL;
  c.ints = surg__lower_ints(b, ints, &c.n);
  return c;
}

val surg__classes_at(surg__builder *b, const surg__classes *c, val index) {
  const int64_t dims[1] = {(int64_t)c->n};
  size_t i = 0;
  while (c->ints && i < c->n && c->ints[i] == (int64_t)i) i++;
  if (c->ints && i == c->n) return index; /* each label is its index */
  if (c->ints) return gather(b, int64s(b, c->ints, dims, 1), index, 0);
  if (b->status) return NULL;
  surg_tensor *t = surg_tensor_new_strings(b->m->m, dims, 1, c->strings);
  const char *name = t ? surg__rname(b->m, "labels") : NULL;
  val v = name ? surg__rconstant(b->m, b->g, b->before, name, t) : NULL;
  return v ? gather(b, v, index, 0) : no_memory(b);
}

/* --- scores --- */

val surg__post_apply(surg__builder *b, surg__post post, val scores) {
  if (post == SURG__POST_LOGISTIC) return surg__b_unary(b, "Sigmoid", scores);
  if (post != SURG__POST_SOFTMAX) return scores;
  val y = surg__b_unary(b, "Softmax", scores);
  surg__b_set_int(b, y, "axis", 1);
  return y;
}

val surg__post_of_two(surg__builder *b, surg__post post, bool sum, int dtype, val score) {
  val both[2] = {surg__b_unary(b, "Neg", score), score};
  if (sum) both[0] = sub(b, number(b, dtype, 1), score);
  val y = concat(b, both, 2, 1);
  return !sum && post == SURG__POST_LOGISTIC ? surg__b_unary(b, "Sigmoid", y) : y;
}

val surg__post_above(surg__builder *b, int dtype, val score, double limit) {
  const int64_t vector = -1;
  val above = op2(b, "Greater", score, number(b, dtype, limit));
  return surg__bint_reshape(b, cast(b, above, SURG_INT64), &vector, 1);
}

val surg__post_largest(surg__builder *b, val scores) {
  val y = surg__b_unary(b, "ArgMax", scores);
  surg__b_set_int(b, y, "axis", 1);
  surg__b_set_int(b, y, "keepdims", 0);
  return y;
}

void surg__lower_result(surg__builder *b, const char *name, val v) {
  if (b->status || !v || !surg__b_get(b, name)) return;
  const bool made = surg_value_producer(v, NULL) && !surg_value_first_use(v);
  surg__b_result(b, name, made ? v : surg__b_unary(b, "Identity", v));
}
