/* SPDX-License-Identifier: Apache-2.0 */
/* Types. Immutable once made. */
#include <onnxsurg/names.h>

#include "base/dtype.h"
#include "base/limits.h"
#include "ir/edit.h"
#include "sym/expr.h"

surg_type *surg__type_new(surg_model *m, surg_type_kind kind) {
  if (m->status != SURG_OK) return NULL;
  surg_type *t = surg__zalloc(m, sizeof *t);
  if (!t) return NULL;
  t->kind = kind;
  t->model = m;
  return t;
}

const surg_type *surg_type_tensor(surg_model *m, int dtype, const surg_dim *dims, size_t rank) {
  if (!surg__model_ok(m) || (rank && !dims)) return NULL;
  if (dtype < 0 || dtype >= SURG_DTYPE_COUNT || rank > UINT32_MAX) {
    surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "no such tensor type");
    return NULL;
  }
  surg_type *t = surg__type_new(m, SURG_TYPE_TENSOR);
  surg_dim *copy = t ? surg__array(m, rank, sizeof *copy) : NULL;
  if (!copy) return NULL;
  for (size_t i = 0; i < rank; i++) {
    copy[i].value = -1;
    if (dims[i].param && dims[i].param[0]) {
      surg_status s;
      copy[i].param = surg__intern_user(m, dims[i].param, &s);
      if (!copy[i].param) return NULL;
    } else if (dims[i].value >= 0) {
      copy[i].value = dims[i].value;
    }
    const surg_expr *e = dims[i].expr;
    if (copy[i].value < 0 && e && surg__expr_model(e) == m) copy[i].expr = e;
  }
  t->dtype = dtype;
  t->has_rank = true;
  t->rank = (uint32_t)rank;
  t->dims = copy;
  return t;
}

const surg_type *surg_type_tensor_unranked(surg_model *m, int dtype) {
  if (!surg__model_ok(m)) return NULL;
  if (dtype < 0 || dtype >= SURG_DTYPE_COUNT) {
    surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "no such tensor type");
    return NULL;
  }
  surg_type *t = surg__type_new(m, SURG_TYPE_TENSOR);
  if (t) t->dtype = dtype;
  return t;
}

const surg_type *surg_type_sparse(surg_model *m, int dtype, const surg_dim *dims, size_t rank) {
  const surg_type *dense = surg_type_tensor(m, dtype, dims, rank);
  surg_type *t = dense ? surg__type_new(m, SURG_TYPE_SPARSE_TENSOR) : NULL;
  if (!t) return NULL;
  *t = *dense;
  t->kind = SURG_TYPE_SPARSE_TENSOR;
  return t;
}

const surg_type *surg_type_map(surg_model *m, int key, const surg_type *value) {
  if (!surg__model_ok(m) || !value || value->model != m) return NULL;
  if (!(surg__dtype_is_int(key) && surg__dtype_bits(key) >= 8) && key != SURG_STRING) {
    surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m),
                "keys of a map are integers of 8 to 64 bits, or strings");
    return NULL;
  }
  surg_type *t = surg__type_new(m, SURG_TYPE_MAP);
  if (!t) return NULL;
  t->dtype = key;
  t->elem = value;
  return t;
}

const surg_type *surg_type_wrap(surg_model *m, surg_type_kind kind, const surg_type *elem) {
  if (!surg__model_ok(m) || !elem || elem->model != m) return NULL;
  if (kind != SURG_TYPE_SEQUENCE && kind != SURG_TYPE_OPTIONAL) return NULL;
  surg_type *t = surg__type_new(m, kind);
  if (t) t->elem = elem;
  return t;
}

surg_type_kind surg_type_get_kind(const surg_type *t) {
  return t ? t->kind : SURG_TYPE_UNKNOWN;
}

int surg_type_dtype(const surg_type *t) {
  return t ? t->dtype : SURG_UNDEFINED;
}

bool surg_type_has_rank(const surg_type *t) {
  return t && t->has_rank;
}

size_t surg_type_rank(const surg_type *t) {
  return t && t->has_rank ? t->rank : 0;
}

const surg_dim *surg_type_dim(const surg_type *t, size_t i) {
  static const surg_dim unknown = {-1, NULL, NULL};
  return t && t->has_rank && i < t->rank ? &t->dims[i] : &unknown;
}

const surg_type *surg_type_elem(const surg_type *t) {
  return t ? t->elem : NULL;
}

bool surg_type_static(const surg_type *t, uint64_t *count) {
  if (!t || t->kind != SURG_TYPE_TENSOR || !t->has_rank) return false;
  uint64_t product = 1;
  bool zero = false;
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->dims[i].param || t->dims[i].value < 0) return false;
    zero |= t->dims[i].value == 0;
  }
  for (uint32_t i = 0; i < t->rank && !zero; i++)
    if (!surg__mul_u64(product, (uint64_t)t->dims[i].value, &product) || product > INT64_MAX)
      return false;
  if (count) *count = zero ? 0 : product;
  return true;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* Compares one level, without the element type. */
static bool same_level(const surg_type *a, const surg_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->has_rank != b->has_rank) return false;
  if (!same_text(a->opaque_domain, b->opaque_domain)) return false;
  if (!same_text(a->opaque_name, b->opaque_name)) return false;
  if (!a->has_rank) return true;
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    const surg_dim x = a->dims[i], y = b->dims[i];
    if (x.value != y.value || !same_text(x.param, y.param)) return false;
    /* A declared dim has no expression; its name is all there is to compare. */
    if (x.expr && y.expr && x.expr != y.expr) return false;
  }
  return true;
}

bool surg_type_equal(const surg_type *a, const surg_type *b) {
  while (a && b) {
    if (a == b) return true;
    if (!same_level(a, b)) return false;
    a = a->elem;
    b = b->elem;
  }
  return a == b;
}

/* --- renaming dims --- */

static size_t renamed(const surg_dim *d, const char *const *from, size_t n) {
  size_t i = 0;
  while (i < n && !(d->param && strcmp(d->param, from[i]) == 0)) i++;
  return i;
}

/* Renames the dims of one level of a type; returns `t` itself if no dim changes. */
static const surg_type *rename_level(surg_model *m, const surg_type *t, const char *const *from,
                                     const char *const *to, size_t n) {
  uint32_t i = 0;
  while (i < t->rank && t->dims && renamed(&t->dims[i], from, n) == n) i++;
  if (i == t->rank || !t->dims) return t;
  surg_type *c = surg__type_new(m, t->kind);
  surg_dim *dims = c ? surg__copy(m, t->dims, t->rank, sizeof *dims) : NULL;
  if (!dims) return NULL;
  *c = *t;
  c->dims = dims;
  for (; i < t->rank; i++) {
    const size_t k = renamed(&dims[i], from, n);
    surg_status s;
    if (k == n) continue;
    dims[i] = (surg_dim){.value = -1, .param = surg__intern_user(m, to[k], &s)};
    if (!dims[i].param) return NULL;
  }
  return c;
}

const surg_type *surg_type_rename_dims(surg_model *m, const surg_type *t, const char *const *from,
                                       const char *const *to, size_t n) {
  if (!surg__model_ok(m) || !t || t->model != m || (n && (!from || !to))) return NULL;
  const surg_type *levels[SURG_LIMIT_DEPTH];
  size_t depth = 0;
  while (t->elem && depth < SURG_LIMIT_DEPTH) {
    levels[depth++] = t;
    t = t->elem;
  }
  const surg_type *made = rename_level(m, t, from, to, n);
  while (made && depth-- > 0) {
    if (made == levels[depth]->elem) {
      made = levels[depth];
      continue;
    }
    surg_type *c = surg__type_new(m, levels[depth]->kind);
    if (!c) return NULL;
    *c = *levels[depth];
    c->elem = made;
    made = c;
  }
  return made;
}

/* --- as text --- */

#define TYPE_LEVELS 16 /* more nested types are cut */

void surg__put_type(surg__buf *b, const surg_type *t) {
  static const char *const words[] = {
      [SURG_TYPE_UNKNOWN] = "?",    [SURG_TYPE_TENSOR] = "",
      [SURG_TYPE_SEQUENCE] = "seq", [SURG_TYPE_SPARSE_TENSOR] = "sparse ",
      [SURG_TYPE_MAP] = "map",      [SURG_TYPE_OPTIONAL] = "optional",
      [SURG_TYPE_OPAQUE] = "opaque"};
  _Static_assert(SURG_COUNT(words) == SURG_TYPE_OPAQUE + 1, "a word for each kind of type");
  int closing = 0;
  for (; t && t->elem && closing < TYPE_LEVELS; t = t->elem, closing++) {
    surg__buf_printf(b, "%s(", words[t->kind]);
    const char *key = t->kind == SURG_TYPE_MAP ? surg__dtype_name(t->dtype) : NULL;
    if (key) surg__buf_printf(b, "%s, ", key);
  }
  const char *name = t ? surg__dtype_name(t->dtype) : NULL;
  surg__buf_printf(b, "%s%s", t && t->kind != SURG_TYPE_UNKNOWN ? words[t->kind] : "",
                   name ? name : "?");
  for (uint32_t i = 0; t && t->has_rank && i < t->rank; i++) {
    surg__buf_puts(b, i ? ", " : "[");
    if (i == 16) {
      surg__buf_puts(b, "...");
      break;
    }
    const bool number = t->dims[i].value >= 0;
    const char *dim = number ? NULL : surg_dim_text(t->model, &t->dims[i]);
    if (number)
      surg__buf_printf(b, "%lld", (long long)t->dims[i].value);
    else
      surg__buf_puts(b, dim ? dim : "?");
  }
  if (t && t->has_rank) surg__buf_puts(b, t->rank ? "]" : "[]");
  while (closing--) surg__buf_putc(b, ')');
}

surg_status surg_type_text(surg_context *ctx, const surg_type *type, char **text) {
  if (!ctx || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__put_type(&b, type);
  return surg__buf_give(&b, text);
}
