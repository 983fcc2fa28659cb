/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements Resize and Upsample read, for engines that compute coordinates in a mode of their
 * own, and from the sizes of input and result whatever the scales are. */
#include <onnxsurg/ops.h>
#include <string.h>

#include "eval/image/resize.h"
#include "ir/ir.h"
#include "schema/schema.h"
#include "target/judge.h"

/* Splits "asymmetric/floor". False: it is no such word. */
static bool read_words(const char *text, surg__rz_words *out) {
  const size_t n = strcspn(text, "/");
  const char *rounding = text[n] ? text + n + 1 : "floor";
  out->coords = surg__rz_coordinates_of(text, n);
  out->rounding = surg__rz_rounding_of(rounding, strlen(rounding));
  return out->coords != SURG__RZ_COORDINATES && out->rounding != SURG__RZ_ROUNDINGS;
}

bool surg__judge_sample_words(const char *text) {
  surg__rz_words is = {0};
  return read_words(text, &is);
}

/* Whether the node is of a version whose attributes are `mode` and scales alone. */
static bool is_old(const surg__judge *j) {
  return surg_node_op(j->n) == SURG_OP_Upsample || (j->s && j->s->since < 11);
}

static surg__rz_words words_of(const surg__judge *j) {
  surg__rz_words is = surg__rz_read(j->n);
  if (is_old(j)) is.coords = SURG__RZ_ASYMMETRIC, is.rounding = SURG__RZ_FLOOR;
  return is;
}

/* The scale of an axis; 0: it is given by a size; -1: it is not known. */
static double scale_of(const surg__judge *j, size_t axis) {
  const surg_attr *a = surg_node_attr(j->n, "scales");
  const surg_value *v = surg__judge_formal(j, "scales", false);
  size_t n = 0;
  const float *list =
      a && surg_attr_get_kind(a) == SURG_ATTR_FLOATS ? surg_attr_floats(a, &n) : NULL;
  if (a) return list && axis < n ? (double)list[axis] : -1;
  const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
  float f = 0;
  if (!v || (c && !surg_tensor_count(c))) return 0;
  if (!c || axis >= surg_tensor_count(c) || surg_tensor_dtype(c) != SURG_FLOAT ||
      surg_tensor_read_numbers(c, axis, &f, 1) || !(f > 0))
    return -1;
  return (double)f;
}

/* Compares what an axis of open size reads: with the same formula the same, if the size of the
 * result is a multiple; other formulas shift with the input, except in mode align_corners. */
static surg__rz_equality compare_open(const surg__rz_words *is, const surg__rz_words *engine,
                                      double scale, int64_t out) {
  const bool same = is->coords == engine->coords &&
                    (is->mode != SURG__RZ_NEAREST || is->rounding == engine->rounding);
  const bool corners =
      is->coords == SURG__RZ_ALIGN_CORNERS || engine->coords == SURG__RZ_ALIGN_CORNERS;
  if (is->antialias && scale < 1) return SURG__RZ_UNCLEAR;
  if (scale == 0) return same ? SURG__RZ_EQUAL : SURG__RZ_UNCLEAR;
  if (scale < 1 || scale > 64 || scale != (double)(int64_t)scale || out >= 0)
    return SURG__RZ_UNCLEAR;
  if (same || corners) return same ? SURG__RZ_EQUAL : SURG__RZ_UNCLEAR;
  const int64_t in = 3, multiple = in * (int64_t)scale;
  const surg__rz_axis a = {
      .in = in, .out = multiple, .scale = scale, .length = (double)multiple, .end = 1};
  return surg__rz_compare(is, &a, engine, &a);
}

/* Compares what the standard and the engine read along an axis. */
static surg__rz_equality compare(const surg__judge *j, const surg__rz_words *is,
                                 const surg__rz_words *engine, size_t axis, int64_t in,
                                 int64_t out) {
  const double scale = scale_of(j, axis), ratio = in > 0 ? (double)out / (double)in : 0;
  if (scale < 0) return SURG__RZ_UNCLEAR;
  if (in < 0 || out < 0) return compare_open(is, engine, scale, out);
  if (in == 0 || out == 0) return SURG__RZ_EQUAL;
  const double by = scale > 0 ? scale : ratio;
  const surg__rz_axis a = {.in = in,
                           .out = out,
                           .scale = by,
                           .length = scale > 0 ? (double)in * scale : (double)out,
                           .end = 1,
                           .shrinks = is_old(j) && by < 1};
  const surg__rz_axis b = {.in = in, .out = out, .scale = ratio, .length = (double)out, .end = 1};
  return surg__rz_compare(is, &a, engine, &b);
}

bool surg__judge_samples(surg__judge *j) {
  const surg_type *x = surg__judge_shape(surg_node_input(j->n, 0));
  const surg_type *y = surg__judge_shape(surg_node_output(j->n, 0));
  surg__rz_words is = words_of(j), engine = {.mode = is.mode};
  if (!j->f->samples.n || is.mode == SURG__RZ_MODES || is.coords == SURG__RZ_COORDINATES ||
      is.rounding == SURG__RZ_ROUNDINGS || !read_words(j->f->samples.items[0], &engine))
    return true;
  const size_t rank = x ? surg_type_rank(x) : 0;
  bool unclear = !x || !y || surg_type_rank(y) != rank;
  for (size_t i = 0; !unclear && i < rank; i++) {
    const int64_t in = surg_type_dim(x, i)->value, out = surg_type_dim(y, i)->value;
    const bool stays = i + 2 < rank;
    const surg__rz_equality how = !stays ? compare(j, &is, &engine, i, in, out)
                                  : (in >= 0 && in == out) || scale_of(j, i) == 1 ? SURG__RZ_EQUAL
                                  : in >= 0 && out >= 0                           ? SURG__RZ_UNEQUAL
                                                        : SURG__RZ_UNCLEAR;
    unclear = how == SURG__RZ_UNCLEAR;
    if (how == SURG__RZ_UNEQUAL)
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                                 stays ? "it resizes axis %zu, not one of the last two"
                                       : "along axis %zu it reads other elements than %s does",
                                 i, j->f->samples.items[0]);
  }
  if (unclear)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL,
                       "whether it reads the elements that %s does is not known",
                       j->f->samples.items[0]);
  return true;
}
