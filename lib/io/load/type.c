/* SPDX-License-Identifier: Apache-2.0 */
/* Converts TypeProto to surg_type. Types in a file are declarations and are not validated here:
 * an unknown element type keeps its number; a negative size reads as an unknown dimension and is
 * kept for writing. */
#include "io/load/load.h"

static bool fill_dim(surg__loader *L, const Onnx__TensorShapeProto__Dimension *p, surg_dim *dim,
                     int64_t *raw) {
  *dim = (surg_dim){.value = -1};
  if (p->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
    *raw = p->dim_value;
    if (p->dim_value >= 0) dim->value = p->dim_value;
  } else if (p->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
             p->dim_param && *p->dim_param) {
    dim->param = surg__load_intern(L, p->dim_param);
    return dim->param != NULL;
  }
  return true;
}

static bool fill_shape(surg__loader *L, const Onnx__TensorShapeProto *p, surg_type *t) {
  if (!p) return true;
  surg__arena *a = &L->m->arena;
  size_t n = p->n_dim;
  if (n > UINT32_MAX) return surg__load_oom(L);
  surg_dim *dims = surg__arena_array(a, n + 1, sizeof *dims);
  if (!dims) return surg__load_oom(L);
  bool negative = false, denoted = false;
  for (size_t i = 0; i < n; i++) {
    int64_t raw = 0;
    if (!fill_dim(L, p->dim[i], &dims[i], &raw)) return false;
    if (raw < 0) negative = true;
    if (p->dim[i]->denotation) denoted = true;
  }
  if (negative) {
    int64_t *raw = surg__arena_array(a, n, sizeof *raw);
    if (!raw) return surg__load_oom(L);
    for (size_t i = 0; i < n; i++)
      if (p->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        raw[i] = p->dim[i]->dim_value;
    t->raw_values = raw;
  }
  if (denoted) {
    const char **names = surg__arena_array(a, n, sizeof *names);
    if (!names) return surg__load_oom(L);
    for (size_t i = 0; i < n; i++)
      if (p->dim[i]->denotation && !(names[i] = surg__load_intern(L, p->dim[i]->denotation)))
        return false;
    t->dim_denotations = names;
  }
  t->has_rank = true;
  t->rank = (uint32_t)n;
  t->dims = dims;
  return true;
}

static surg_type_kind kind_of(const Onnx__TypeProto *p) {
  switch (p->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
      return SURG_TYPE_TENSOR;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
      return SURG_TYPE_SEQUENCE;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
      return SURG_TYPE_MAP;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
      return SURG_TYPE_OPTIONAL;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
      return SURG_TYPE_SPARSE_TENSOR;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
      return SURG_TYPE_OPAQUE;
    default:
      return SURG_TYPE_UNKNOWN;
  }
}

/* The element type of a sequence or optional, or the value type of a map; else NULL. */
static const Onnx__TypeProto *inner(const Onnx__TypeProto *p) {
  switch (kind_of(p)) {
    case SURG_TYPE_SEQUENCE:
      return p->sequence_type->elem_type;
    case SURG_TYPE_OPTIONAL:
      return p->optional_type->elem_type;
    case SURG_TYPE_MAP:
      return p->map_type->value_type;
    default:
      return NULL;
  }
}

/* Fills in everything except the element of a wrapping type. */
static bool fill_type(surg__loader *L, const Onnx__TypeProto *p, surg_type *t) {
  t->model = L->m;
  if (p->denotation && !(t->denotation = surg__load_intern(L, p->denotation))) return false;
  switch (t->kind) {
    case SURG_TYPE_TENSOR:
      t->dtype = p->tensor_type->elem_type;
      return fill_shape(L, p->tensor_type->shape, t);
    case SURG_TYPE_SPARSE_TENSOR:
      t->dtype = p->sparse_tensor_type->elem_type;
      return fill_shape(L, p->sparse_tensor_type->shape, t);
    case SURG_TYPE_MAP:
      t->dtype = p->map_type->key_type;
      return true;
    case SURG_TYPE_OPAQUE:
      if (p->opaque_type->domain &&
          !(t->opaque_domain = surg__load_intern(L, p->opaque_type->domain)))
        return false;
      return !p->opaque_type->name ||
             (t->opaque_name = surg__load_intern(L, p->opaque_type->name)) != NULL;
    default:
      return true;
  }
}

static bool has_empty_param(const Onnx__TensorShapeProto *p) {
  for (size_t i = 0; p && i < p->n_dim; i++)
    if (p->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        (!p->dim[i]->dim_param || !*p->dim[i]->dim_param))
      return true;
  return false;
}

void surg__load_check_dims(surg__loader *L, uint64_t off, const Onnx__TypeProto *p) {
  if (L->policy != SURG_LOAD_CHECK) return;
  while (p && inner(p)) p = inner(p);
  const Onnx__TensorShapeProto *shape = NULL;
  if (p && kind_of(p) == SURG_TYPE_TENSOR) shape = p->tensor_type->shape;
  if (p && kind_of(p) == SURG_TYPE_SPARSE_TENSOR) shape = p->sparse_tensor_type->shape;
  if (has_empty_param(shape))
    surg__load_warn(L, off, "W219", "has a dimension whose symbol is empty; it reads as unknown");
}

const surg_type *surg__load_type(surg__loader *L, const Onnx__TypeProto *p) {
  const surg_type *outermost = NULL;
  surg_type *outer = NULL;
  for (; p; p = inner(p)) {
    surg_type *t = surg__type_new(L->m, kind_of(p));
    if (!t) {
      surg__load_oom(L);
      return NULL;
    }
    if (!fill_type(L, p, t)) return NULL;
    if (outer)
      outer->elem = t;
    else
      outermost = t;
    outer = t;
  }
  return outermost;
}
