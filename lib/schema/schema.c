/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the operator table. */
#include "schema/index.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* Normalizes "ai.onnx" and NULL to "", the default domain. */
static const char *canonical_domain(const char *domain) {
  return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

static uint32_t hash_name(const char *s) {
  uint32_t h = 2166136261u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h;
}

/* The versions of an operator, or NULL if it is unknown. */
static const surg__op_versions *find_op(const char *domain, const char *name) {
  for (uint32_t i = hash_name(name) % SURG__OP_SLOTS; surg__op_slots[i];
       i = (i + 1) % SURG__OP_SLOTS) {
    const surg__op_versions *v = &surg__op_index[surg__op_slots[i]];
    const surg_schema *s = &surg__schemas[v->first];
    if (!strcmp(s->name, name) && !strcmp(s->domain, domain)) return v;
  }
  return NULL;
}

const surg_schema *surg_schema_find(const char *domain, const char *op_type, int64_t opset) {
  /* The meaning in a future version is unknown. */
  if (!op_type || opset > surg_schema_newest(domain)) return NULL;
  const surg__op_versions *v = find_op(canonical_domain(domain), op_type);
  if (!v) return NULL;
  for (size_t i = v->count; i-- > 0;) {
    const surg_schema *s = &surg__schemas[v->first + i];
    if (s->since <= opset) return s;
  }
  return NULL;
}

const char *surg_schema_name(const surg_schema *s) {
  return s ? s->name : NULL;
}
const char *surg_schema_domain(const surg_schema *s) {
  return s ? s->domain : NULL;
}
int surg_schema_op(const surg_schema *s) {
  return s ? s->op : 0;
}
int surg_schema_since(const surg_schema *s) {
  return s ? s->since : 0;
}
bool surg_schema_deprecated(const surg_schema *s) {
  return s && (s->flags & SURG__OP_DEPRECATED);
}

bool surg_schema_has_body(const surg_schema *s) {
  return s && (s->flags & SURG__OP_HAS_BODY);
}

bool surg_schema_contrib(const surg_schema *s) {
  return s && (s->flags & SURG__OP_CONTRIB);
}

static size_t widen(uint32_t n) {
  return n == UINT32_MAX ? SIZE_MAX : n;
}
size_t surg_schema_min_inputs(const surg_schema *s) {
  return s ? s->min_in : 0;
}
size_t surg_schema_max_inputs(const surg_schema *s) {
  return s ? widen(s->max_in) : 0;
}
size_t surg_schema_min_outputs(const surg_schema *s) {
  return s ? s->min_out : 0;
}
size_t surg_schema_max_outputs(const surg_schema *s) {
  return s ? widen(s->max_out) : 0;
}

int64_t surg_schema_newest(const char *domain) {
  domain = canonical_domain(domain);
  for (size_t i = 0; i < surg__domain_count; i++)
    if (!strcmp(surg__domains[i].name, domain)) return surg__domains[i].newest;
  return 0;
}

const surg__attr_def *surg__schema_attr(const surg_schema *s, const char *name) {
  if (!s || !name) return NULL;
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return &s->attrs[i];
  return NULL;
}

const char *surg__op_name(int op) {
  if (op <= 0 || op >= SURG_OP_COUNT) return NULL;
  return surg__schemas[surg__op_index[op].first].name;
}

/* Name i of all operators; NULL: it is of another domain. */
static const char *name_of_domain(const void *domain, size_t i) {
  const surg_schema *s = &surg__schemas[surg__op_index[i + 1].first];
  return !strcmp(s->domain, domain) ? s->name : NULL;
}

const char *surg__schema_nearest(const char *domain, const char *word) {
  return surg__nearest(word, domain, SURG_OP_COUNT - 1, name_of_domain);
}

const surg__param *surg__schema_formal(const surg_schema *s, bool output, size_t i) {
  const surg__param *list = output ? s->outputs : s->inputs;
  const size_t n = output ? s->n_outputs : s->n_inputs;
  if (i < n) return &list[i];
  return n && list[n - 1].option == SURG__VARIADIC ? &list[n - 1] : NULL;
}

const surg__type_param *surg__schema_type_param(const surg_schema *s, const surg__param *p) {
  for (uint32_t i = 0; i < s->n_params; i++)
    if (!strcmp(s->params[i].name, p->type)) return &s->params[i];
  return NULL;
}

const surg_schema *surg__schema_versions(int op, size_t *count) {
  if (op <= 0 || op >= SURG_OP_COUNT) return NULL;
  *count = surg__op_index[op].count;
  return &surg__schemas[surg__op_index[op].first];
}

size_t surg_schema_attr_count(const surg_schema *s) {
  return s ? s->n_attrs : 0;
}

const char *surg_schema_attr_name(const surg_schema *s, size_t i) {
  return s && i < s->n_attrs ? s->attrs[i].name : NULL;
}

surg_attr_kind surg_schema_attr_kind(const surg_schema *s, size_t i) {
  return s && i < s->n_attrs ? s->attrs[i].kind : SURG_ATTR_UNDEFINED;
}

bool surg_schema_attr_required(const surg_schema *s, size_t i) {
  return s && i < s->n_attrs && s->attrs[i].required;
}

bool surg_schema_same_type(const surg_schema *s, size_t i, size_t j) {
  const surg__param *a = s ? surg__schema_formal(s, false, i) : NULL;
  const surg__param *b = s ? surg__schema_formal(s, false, j) : NULL;
  if (!a || !b || strcmp(a->type, b->type) != 0) return false;
  return a != b || a->homogeneous;
}

bool surg_schema_takes(const surg_schema *s, size_t i, int dtype) {
  const surg__param *a = s ? surg__schema_formal(s, false, i) : NULL;
  if (!a || dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return false;
  const surg__type_param *t = surg__schema_type_param(s, a);
  if (t) return t->tensor_mask >> dtype & 1;
  char literal[64];
  const int n = snprintf(literal, sizeof literal, "tensor(%s)", surg_dtype_name(dtype));
  return n > 0 && strcmp(a->type, literal) == 0;
}

bool surg__schema_withdrawn(const char *domain, const char *op_type) {
  static const char *const names[] = {
      "ATen",    "Affine",          "ConstantFill", "Crop",
      "GRUUnit", "DynamicSlice",    "ImageScaler",  "ParametricSoftplus",
      "Scale",   "GivenTensorFill", "ScaledTanh"};
  if (*domain && strcmp(domain, "ai.onnx") != 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(op_type, names[i]) == 0) return true;
  return false;
}
