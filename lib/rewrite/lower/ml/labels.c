/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder for runtimes that support lists only, and one element type per side: keys are
 * mapped to positions, positions to values. Duplicate keys keep their positions, so the same one
 * of them is effective. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "rewrite/lower/native.h"

/* One side of the table: a list of strings, int64 or float, converted from
 * the type in the model. */
typedef struct side {
  int dtype, kept; /* type in the model; type in the list */
  size_t n;
  const surg_str *strings;
  const int64_t *ints;
  const float *floats;
} side;

static int kept_as(int dtype) {
  switch (dtype) {
    case SURG_STRING:
    case SURG_FLOAT:
    case SURG_INT64:
      return dtype;
    case SURG_INT8:
    case SURG_INT16:
    case SURG_INT32:
    case SURG_UINT8:
    case SURG_UINT16:
    case SURG_UINT32:
      return SURG_INT64;
    default:
      return 0;
  }
}

static bool read_tensor(surg__builder *b, const surg_tensor *t, side *out) {
  const uint64_t n = surg_tensor_count(t);
  *out = (side){.dtype = surg_tensor_dtype(t), .kept = kept_as(surg_tensor_dtype(t)), .n = n};
  if (!out->kept || surg_tensor_is_sparse(t)) return false;
  if (out->kept == SURG_STRING) {
    out->strings = surg__strings(t);
    return n == 0 || out->strings;
  }
  void *all = surg__arena_array(b->m->arena, (size_t)n + 1, sizeof(int64_t));
  if (!all) b->status = SURG_ENOMEM;
  if (!all) return false;
  if (out->kept == SURG_INT64) {
    out->ints = all;
    return surg__read_ints(t, all, (size_t)n) == (int64_t)n;
  }
  out->floats = all;
  return surg_tensor_read_numbers(t, 0, all, (size_t)n) == SURG_OK;
}

/* Reads one side; `what` is keys or values. */
static bool read_side(surg__builder *b, const char *what, side *out) {
  const surg_node *n = surg__b_matched(b);
  char name[32];
  const surg_attr *a;
  snprintf(name, sizeof name, "%s_tensor", what);
  if ((a = surg_node_attr(n, name))) {
    const surg_tensor *t = surg_attr_tensor(a, 0);
    return t && read_tensor(b, t, out);
  }
  *out = (side){0};
  snprintf(name, sizeof name, "%s_strings", what);
  if ((a = surg_node_attr(n, name)) && (out->strings = surg_attr_strings(a, &out->n)))
    out->dtype = SURG_STRING;
  snprintf(name, sizeof name, "%s_int64s", what);
  if (!out->dtype && (a = surg_node_attr(n, name)) && (out->ints = surg_attr_ints(a, &out->n)))
    out->dtype = SURG_INT64;
  snprintf(name, sizeof name, "%s_floats", what);
  if (!out->dtype && (a = surg_node_attr(n, name)) && (out->floats = surg_attr_floats(a, &out->n)))
    out->dtype = SURG_FLOAT;
  out->kept = out->dtype;
  return out->dtype && out->n;
}

/* Runtimes treat NaN keys differently. */
static bool has_nan(const side *s) {
  for (size_t i = 0; i < s->n && s->kept == SURG_FLOAT; i++)
    if (isnan(s->floats[i])) return true;
  return false;
}

/* Reads the default value, as a side of one element. */
static bool read_default(surg__builder *b, const side *values, side *out) {
  const surg_node *n = surg__b_matched(b);
  const surg_attr *a = surg_node_attr(n, "default_tensor");
  if (a) {
    const surg_tensor *t = surg_attr_tensor(a, 0);
    return t && read_tensor(b, t, out) && out->n == 1 && out->dtype == values->dtype;
  }
  *out = (side){.dtype = values->dtype, .kept = values->kept, .n = 1};
  int64_t *i = surg__arena_array(b->m->arena, 1, sizeof *i);
  float *f = surg__arena_array(b->m->arena, 1, sizeof *f);
  surg_str *s = surg__arena_array(b->m->arena, 1, sizeof *s);
  if (!i || !f || !s) b->status = SURG_ENOMEM;
  if (b->status) return false;
  *i = surg_node_int(n, "default_int64", -1);
  *f = surg_node_float(n, "default_float", -0.0f);
  a = surg_node_attr(n, "default_string");
  *s = a ? surg_attr_string(a) : (surg_str){"_Unused", strlen("_Unused")};
  out->ints = i;
  out->floats = f;
  out->strings = s;
  return true;
}

/* 0, 1, ... as integers or as strings. */
static bool places(surg__builder *b, int dtype, size_t n, side *out) {
  assert(dtype == SURG_STRING || dtype == SURG_INT64);
  *out = (side){.dtype = dtype, .kept = dtype, .n = n};
  int64_t *ints = surg__arena_array(b->m->arena, n + 1, sizeof *ints);
  surg_str *words = surg__arena_array(b->m->arena, n + 1, sizeof *words);
  for (size_t i = 0; i < n && ints && words; i++) {
    char text[24];
    const int length = snprintf(text, sizeof text, "%zu", i);
    assert(length > 0 && (size_t)length < sizeof text);
    char *word = surg__arena_array(b->m->arena, (size_t)length + 1, 1);
    if (word) memcpy(word, text, (size_t)length + 1);
    if (!word) words = NULL;
    ints[i] = (int64_t)i;
    if (words) words[i] = (surg_str){word, (size_t)length};
  }
  if (!ints || !words) b->status = SURG_ENOMEM;
  out->ints = ints;
  out->strings = words;
  return !b->status;
}

static void set_side(surg__builder *b, surg_node *n, const char *what, const side *s) {
  char name[32];
  surg_status status = SURG_OK;
  if (b->status) return;
  if (s->kept == SURG_STRING) {
    snprintf(name, sizeof name, "%s_strings", what);
    status = surg_node_set_strings(n, name, s->strings, s->n);
  } else if (s->kept == SURG_INT64) {
    snprintf(name, sizeof name, "%s_int64s", what);
    status = surg_node_set_ints(n, name, s->ints, s->n);
  } else {
    snprintf(name, sizeof name, "%s_floats", what);
    assert(s->kept == SURG_FLOAT);
    status = surg_node_set_floats(n, name, s->floats, s->n);
  }
  if (status) b->status = status;
}

static surg_value *encoder(surg__builder *b, surg_value *x, const side *keys, const side *values) {
  surg_value *y = surg__b_unary(b, "LabelEncoder", x);
  surg_node *n = y ? surg_value_producer(y, NULL) : NULL;
  if (!n) return NULL;
  const surg_status s = surg_node_set_op(n, "ai.onnx.ml", "LabelEncoder");
  if (s) b->status = s;
  set_side(b, n, "keys", keys);
  set_side(b, n, "values", values);
  return y;
}

/* Sets the default attribute. A string attribute ends at its first zero byte. */
static void set_default(surg__builder *b, const surg_value *y, const side *s) {
  char *text;
  if (b->status) return;
  if (s->kept == SURG_INT64) {
    surg__b_set_int(b, y, "default_int64", s->ints[0]);
  } else if (s->kept == SURG_FLOAT) {
    surg__b_set_float(b, y, "default_float", s->floats[0]);
  } else if ((text = surg__arena_array(b->m->arena, s->strings[0].n + 1, 1))) {
    memcpy(text, s->strings[0].p, s->strings[0].n);
    text[s->strings[0].n] = 0;
    surg__b_set_string(b, y, "default_string", text);
  } else {
    b->status = SURG_ENOMEM;
  }
}

static bool has_zero(const side *s) {
  return s->kept == SURG_STRING && s->strings[0].n && memchr(s->strings[0].p, 0, s->strings[0].n);
}

/* y = LabelEncoder (x) */
static surg_status label_encoder(surg__builder *b) {
  side keys, values, other, middle;
  surg_value *v = surg__b_get(b, "x");
  if (!surg__b_attrs_known(b) || !v || !read_side(b, "keys", &keys) ||
      !read_side(b, "values", &values) || keys.n != values.n || keys.dtype != surg__b_dtype(v) ||
      has_nan(&keys) || !read_default(b, &values, &other) || has_zero(&other))
    return b->status ? b->status : SURG_EUNSUPPORTED;
  const bool lists = !surg_node_attr(surg__b_matched(b), "keys_tensor") &&
                     !surg_node_attr(surg__b_matched(b), "values_tensor") &&
                     !surg_node_attr(surg__b_matched(b), "default_tensor");
  const bool two = keys.kept == values.kept;
  if (surg__b_bad(b, lists && !two, "keys and values: expected two lists of equal length"))
    return SURG_EUNSUPPORTED; /* already supported */
  if (keys.kept != keys.dtype) v = surg__b_cast(b, v, keys.kept);
  if (two) {
    if (!places(b, keys.kept == SURG_STRING ? SURG_INT64 : SURG_STRING, keys.n, &middle))
      return b->status;
    v = encoder(b, v, &keys, &middle);
    v = encoder(b, v, &middle, &values);
  } else {
    v = encoder(b, v, &keys, &values);
  }
  set_default(b, v, &other);
  if (values.kept != values.dtype) v = surg__b_cast(b, v, values.dtype);
  surg__b_result(b, "y", v);
  return b->status;
}

const surg__native surg__natives_labels[] = {
    {"label_encoder", label_encoder, "a LabelEncoder of lists, from one element type to another"},
    {NULL, NULL, NULL}};
