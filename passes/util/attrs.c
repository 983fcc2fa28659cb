/* SPDX-License-Identifier: Apache-2.0 */
/* See attrs.h. */
#include "attrs.h"

#include <errno.h>
#include <onnxsurg/edit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "typetext.h"

#define TEXT 800
#define ITEMS 1000 /* most elements of a list attribute */

static bool integer(const char *s, int64_t *out) {
  char *end;
  errno = 0;
  const long long v = strtoll(s, &end, 10);
  *out = v;
  return *s && !*end && !errno && *s != ' ';
}

static bool real(const char *s, float *out) {
  char *end;
  *out = strtof(s, &end);
  return *s && !*end && *s != ' ';
}

/* The attribute kind that the text suggests, for attributes without a schema. */
static surg_attr_kind look(surg_pass_ctx *p, size_t i, size_t n) {
  bool ints = true, reals = true;
  for (size_t k = 0; k < n; k++) {
    int64_t a;
    float b;
    ints = ints && integer(surg_pass_pair_value(p, i, k), &a);
    reals = reals && real(surg_pass_pair_value(p, i, k), &b);
  }
  if (ints) return n > 1 ? SURG_ATTR_INTS : SURG_ATTR_INT;
  if (reals) return n > 1 ? SURG_ATTR_FLOATS : SURG_ATTR_FLOAT;
  return n > 1 ? SURG_ATTR_STRINGS : SURG_ATTR_STRING;
}

static surg_attr_kind kind_of(surg_pass_ctx *p, const surg_node *n, size_t i, size_t count) {
  const surg_schema *s = surg_node_schema(n);
  const char *name = surg_pass_pair_name(p, i);
  for (size_t k = 0; s && k < surg_schema_attr_count(s); k++)
    if (strcmp(surg_schema_attr_name(s, k), name) == 0) return surg_schema_attr_kind(s, k);
  const surg_attr *present = surg_node_attr(n, name);
  if (present && surg_attr_get_kind(present) != SURG_ATTR_UNDEFINED)
    return surg_attr_get_kind(present);
  return look(p, i, count);
}

typedef struct list {
  int64_t ints[ITEMS];
  float floats[ITEMS];
  surg_str strings[ITEMS];
  surg_tensor *tensor;
  const surg_type *type;
} list;

static bool read_list(surg_pass_ctx *p, size_t i, size_t n, surg_attr_kind kind, list *out) {
  for (size_t k = 0; k < n; k++) {
    const char *s = surg_pass_pair_value(p, i, k);
    out->strings[k] = (surg_str){s, strlen(s)};
    if ((kind == SURG_ATTR_INT || kind == SURG_ATTR_INTS) && !integer(s, &out->ints[k]))
      return false;
    if ((kind == SURG_ATTR_FLOAT || kind == SURG_ATTR_FLOATS) && !real(s, &out->floats[k]))
      return false;
  }
  return kind == SURG_ATTR_FLOATS || kind == SURG_ATTR_INTS || kind == SURG_ATTR_STRINGS || n == 1;
}

/* A tensor from text; numbers alone get type and shape of the present one. */
static surg_tensor *read_tensor(surg_pass_ctx *p, const surg_node *n, const char *name,
                                const char *text) {
  const surg_tensor *old = surg_attr_tensor(surg_node_attr(n, name), 0);
  surg_tensor *out = NULL;
  (void)surg_tensor_from_text(surg_pass_model(p), text, old ? surg_tensor_dtype(old) : SURG_FLOAT,
                              old ? surg_tensor_dims(old) : NULL, old ? surg_tensor_rank(old) : 0,
                              &out, NULL, 0);
  return out;
}

static surg_status set_attr(surg_node *n, const char *name, surg_attr_kind kind, const list *l,
                            size_t count) {
  switch (kind) {
    case SURG_ATTR_INT:
      return surg_node_set_int(n, name, l->ints[0]);
    case SURG_ATTR_INTS:
      return surg_node_set_ints(n, name, l->ints, count);
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(n, name, l->floats[0]);
    case SURG_ATTR_FLOATS:
      return surg_node_set_floats(n, name, l->floats, count);
    case SURG_ATTR_STRING:
      return surg_node_set_string(n, name, l->strings[0].p);
    case SURG_ATTR_STRINGS:
      return surg_node_set_strings(n, name, l->strings, count);
    case SURG_ATTR_TENSOR:
      return l->tensor ? surg_node_set_tensor(n, name, l->tensor) : SURG_EUNSUPPORTED;
    case SURG_ATTR_TYPE_PROTO:
      return l->type ? surg_node_set_type(n, name, l->type) : SURG_EUNSUPPORTED;
    default:
      return SURG_EUNSUPPORTED;
  }
}

static const char *expected(surg_attr_kind kind) {
  switch (kind) {
    case SURG_ATTR_INT:
      return "; expected an integer";
    case SURG_ATTR_INTS:
      return "; expected integers: 1+2";
    case SURG_ATTR_FLOAT:
      return "; expected a number";
    case SURG_ATTR_FLOATS:
      return "; expected numbers: 0.5+1";
    case SURG_ATTR_STRING:
      return "; expected one text";
    case SURG_ATTR_TENSOR:
      return "; expected a tensor: float[2] {1, 2}";
    case SURG_ATTR_TYPE_PROTO:
      return "; expected a type: float[N,3]";
    default:
      return "; attributes of this kind cannot be set from text";
  }
}

surg_pass_result attrs_set(surg_pass_ctx *p, surg_node *n) {
  list *l = surg_pass_alloc(p, sizeof *l);
  for (size_t i = 0; i < surg_pass_pair_count(p); i++) {
    const char *name = surg_pass_pair_name(p, i);
    char text[TEXT];
    size_t count = 0;
    while (count < ITEMS && surg_pass_pair_value(p, i, count)) count++;
    if (!l) return SURG_PASS_FAILED;
    const surg_attr_kind kind = kind_of(p, n, i, count);
    *l = (list){.tensor = NULL};
    if (kind == SURG_ATTR_TENSOR && count == 1)
      l->tensor = read_tensor(p, n, name, surg_pass_pair_value(p, i, 0));
    if (kind == SURG_ATTR_TYPE_PROTO && count == 1)
      l->type = typetext_parse(p, surg_pass_pair_value(p, i, 0));
    snprintf(text, sizeof text, "attribute '%.200s' of %.100s: cannot be set to '%.200s'%s%s", name,
             surg_node_op_type(n), surg_pass_pair_value(p, i, 0), count > 1 ? " and more" : "",
             expected(kind));
    if (surg_pass_pair_value(p, i, count) || !read_list(p, i, count, kind, l))
      return surg_pass_usage(p, text);
    const surg_status s = set_attr(n, name, kind, l, count);
    if (s == SURG_EUNSUPPORTED) return surg_pass_usage(p, text);
    if (s != SURG_OK) return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}
