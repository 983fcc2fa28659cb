/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs attributes: of another kind than the operator expects, if the value converts without
 * loss; the value of ConstantOfShape, if it is no tensor of one element; duplicates, and hints
 * of the first opsets; with consent, missing attributes with only one possible value. See
 * mend.h. */
#include <math.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/numbers.h"
#include "../util/same.h"
#include "mend.h"

#define ITEMS 1024 /* longest list that is converted; longer ones are weights */

/* The numbers of an attribute of any numeric kind. */
typedef struct numbers {
  double at[ITEMS];
  size_t n;
  bool list, whole; /* a list by its kind; all integers */
} numbers;

static bool put(numbers *x, double v) {
  if (x->n == ITEMS || fabs(v) > 9007199254740992.0 || isnan(v)) return false;
  x->whole = x->whole && v == floor(v);
  x->at[x->n++] = v;
  return true;
}

static bool of_tensor(numbers *x, const surg_tensor *t) {
  int64_t items[ITEMS];
  float one;
  x->list = surg_tensor_rank(t) > 0;
  if (surg_tensor_rank(t) > 1 || surg_tensor_count(t) > ITEMS) return false;
  const int64_t n = numbers_of(t, items, ITEMS);
  for (int64_t i = 0; i < n; i++)
    if (!put(x, (double)items[i])) return false;
  if (n >= 0 || surg_tensor_dtype(t) != SURG_FLOAT) return n >= 0;
  for (uint64_t i = 0; i < surg_tensor_count(t); i++)
    if (surg_tensor_read_numbers(t, i, &one, 1) != SURG_OK || !put(x, (double)one))
      return false;
  return true;
}

static bool read_numbers(const surg_attr *a, numbers *x) {
  size_t n = 0;
  const int64_t *ints = surg_attr_ints(a, &n);
  const surg_attr_kind kind = surg_attr_get_kind(a);
  x->n = 0;
  x->list = kind == SURG_ATTR_INTS || kind == SURG_ATTR_FLOATS;
  x->whole = true;
  switch (kind) {
    case SURG_ATTR_INT:
      return put(x, (double)surg_attr_int(a));
    case SURG_ATTR_FLOAT:
      return put(x, (double)surg_attr_float(a));
    case SURG_ATTR_TENSOR:
      return surg_attr_tensor(a, 0) && of_tensor(x, surg_attr_tensor(a, 0));
    case SURG_ATTR_INTS:
      for (size_t i = 0; i < n; i++)
        if (!put(x, (double)ints[i])) return false;
      return true;
    case SURG_ATTR_FLOATS: {
      const float *floats = surg_attr_floats(a, &n);
      for (size_t i = 0; i < n; i++)
        if (!put(x, (double)floats[i])) return false;
      return true;
    }
    default:
      return false;
  }
}

static bool fits_float(const numbers *x) {
  for (size_t i = 0; i < x->n; i++)
    if ((double)(float)x->at[i] != x->at[i]) return false;
  return true;
}

/* A tensor of the numbers: float if `floats`, else int64. */
static surg_tensor *as_tensor(surg_model *m, const numbers *x, bool floats, bool rank_one) {
  float f[ITEMS];
  int64_t i64[ITEMS];
  const int64_t dims[1] = {(int64_t)x->n};
  for (size_t i = 0; i < x->n; i++) {
    f[i] = (float)x->at[i];
    i64[i] = (int64_t)x->at[i];
  }
  const void *data = floats ? (const void *)f : i64;
  return surg_tensor_new_numbers(m, floats ? SURG_FLOAT : SURG_INT64, dims, rank_one ? 1 : 0, data,
                                 x->n);
}

/* Sets the attribute as one of `kind`; SURG_EUNSUPPORTED: the value would change. */
static surg_status convert(surg_node *n, const surg_schema *s, const surg_attr *a,
                           surg_attr_kind kind) {
  numbers x;
  int64_t ints[ITEMS];
  float floats[ITEMS];
  const surg_attr_kind from = surg_attr_get_kind(a);
  const char *name = surg_attr_name(a);
  if (!read_numbers(a, &x)) return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < x.n; i++) {
    ints[i] = (int64_t)x.at[i];
    floats[i] = (float)x.at[i];
  }
  switch (kind) {
    case SURG_ATTR_INT:
      return x.n == 1 && x.whole ? surg_node_set_int(n, name, ints[0]) : SURG_EUNSUPPORTED;
    case SURG_ATTR_INTS:
      return x.whole ? surg_node_set_ints(n, name, ints, x.n) : SURG_EUNSUPPORTED;
    case SURG_ATTR_FLOAT:
      return x.n == 1 && fits_float(&x) ? surg_node_set_float(n, name, floats[0])
                                        : SURG_EUNSUPPORTED;
    case SURG_ATTR_FLOATS:
      return fits_float(&x) ? surg_node_set_floats(n, name, floats, x.n) : SURG_EUNSUPPORTED;
    case SURG_ATTR_TENSOR: {
      const bool is_float = from == SURG_ATTR_FLOAT || from == SURG_ATTR_FLOATS;
      const bool rank_one = x.list || surg_schema_op(s) == SURG_OP_ConstantOfShape;
      surg_tensor *t = as_tensor(surg_graph_model(surg_node_graph(n)), &x, is_float, rank_one);
      return t ? surg_node_set_tensor(n, name, t)
               : surg_model_status(surg_graph_model(surg_node_graph(n)));
    }
    default:
      return SURG_EUNSUPPORTED;
  }
}

static bool kinds(mending *k, surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_schema_attr_count(s); i++) {
    const char *name = surg_schema_attr_name(s, i);
    const surg_attr *a = surg_node_attr(n, name);
    if (!a || surg_attr_ref(a) || surg_attr_get_kind(a) == surg_schema_attr_kind(s, i)) continue;
    if (surg_attr_get_kind(a) == SURG_ATTR_UNDEFINED || !mend_may(k, SURG_EXACT)) continue;
    const surg_status st = convert(n, s, a, surg_schema_attr_kind(s, i));
    if (st != SURG_OK && st != SURG_EUNSUPPORTED) return false;
    if (st == SURG_OK)
      mend_did(k, n, SURG_EXACT,
               "attribute '%.100s' is written as the kind that the operator expects", name);
    else
      surg_pass_give_back(k->p);
    if (st != SURG_OK)
      mend_leaves(k, n, "attribute '%.100s' is of another kind, and its value does not convert",
                  name);
  }
  return true;
}

/* Makes the value of ConstantOfShape a tensor of rank 1 with one element. */
static bool filling(mending *k, surg_node *n, const surg_schema *s) {
  const surg_attr *a = surg_node_attr(n, "value");
  surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  uint8_t data[16];
  const int64_t one[1] = {1};
  if (surg_schema_op(s) != SURG_OP_ConstantOfShape || !t || surg_tensor_count(t) != 1) return true;
  if (surg_tensor_rank(t) == 1 || surg_tensor_bytes(t) > sizeof data || surg_tensor_is_sparse(t))
    return true;
  const size_t bytes = (size_t)surg_tensor_bytes(t);
  const surg_status st = surg_tensor_read(t, 0, data, bytes);
  if (st != SURG_OK) return st != SURG_ENOMEM; /* its elements are missing or invalid */
  if (!mend_may(k, SURG_EXACT)) return true;
  surg_tensor *made = surg_tensor_new(k->m, surg_tensor_dtype(t), one, 1, data, bytes);
  if (!made || surg_node_set_tensor(n, "value", made) != SURG_OK) return false;
  mend_did(k, n, SURG_EXACT, "the value is now a tensor of rank 1 with one element");
  return true;
}

/* Removes duplicates of an attribute: the last one stays, as in ONNX Runtime. With another value
 * this is a guess. */
static bool repeated(mending *k, surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const char *name = surg_attr_name(a);
    const surg_attr *first = surg_node_attr(n, name);
    if (first == a || !*name) continue;
    const surg_exactness e = same_attr(first, a) == 1 ? SURG_EXACT : SURG_APPROX;
    if (!mend_allows(k, e))
      mend_leaves(k, n, "attribute '%.100s' has two values; --allow approx selects the last", name);
    if (!mend_may(k, e)) continue;
    mend_did(k, n, e, "attribute '%.100s' is set twice with %s", name,
             e == SURG_EXACT ? "the same value: one is removed"
                             : "different values: the last is kept");
    if (surg_node_remove_attr(n, name) != SURG_OK) return false;
    i = 0;
  }
  return true;
}

/* Whether some version of the operator has the attribute. */
static bool was_known(const surg_node *n, const char *name) {
  const char *domain = surg_node_domain(n);
  for (int64_t v = surg_schema_newest(domain); v >= 1; v--) {
    const surg_schema *s = surg_schema_find(domain, surg_node_op_type(n), v);
    for (size_t i = 0; s && i < surg_schema_attr_count(s); i++)
      if (strcmp(surg_schema_attr_name(s, i), name) == 0) return true;
  }
  return false;
}

static bool in_schema(const surg_schema *s, const char *name) {
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (strcmp(surg_schema_attr_name(s, i), name) == 0) return true;
  return false;
}

/* Removes attributes that no version of the operator has, with consent: the author may have meant
 * something by them. */
static bool unknown(mending *k, surg_node *n, const surg_schema *s) {
  for (size_t i = surg_node_attr_count(n); i-- > 0;) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const char *name = surg_attr_name(a);
    const surg_attr_kind kind = surg_attr_get_kind(a);
    if (!*name || in_schema(s, name) || kind == SURG_ATTR_GRAPH || kind == SURG_ATTR_GRAPHS)
      continue;
    if (strncmp(name, "__", 2) == 0 || surg_schema_op(s) == SURG_OP_LayerNormalization) continue;
    if (was_known(n, name)) {
      mend_leaves(k, n, "attribute '%.100s' is of another version of the operator", name);
      continue;
    }
    if (!mend_allows(k, SURG_APPROX))
      mend_leaves(k, n,
                  "no version of the operator has attribute '%.100s'; --allow approx "
                  "removes it",
                  name);
    if (!mend_may(k, SURG_APPROX)) continue;
    mend_did(k, n, SURG_APPROX,
             "attribute '%.100s', which no version of the operator has, is removed", name);
    if (surg_node_remove_attr(n, name) != SURG_OK) return false;
  }
  return true;
}

/* Removes `consumed_inputs`, a hint which buffers may be overwritten: no version since opset 6
 * has it, and it never changed results. */
static bool hints(mending *k, surg_node *n, const surg_schema *s) {
  static const char name[] = "consumed_inputs";
  if (!surg_node_attr(n, name) || surg_schema_op(s) == SURG_OP_UNKNOWN) return true;
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (strcmp(surg_schema_attr_name(s, i), name) == 0) return true;
  if (!mend_may(k, SURG_EXACT)) return true;
  if (surg_node_remove_attr(n, name) != SURG_OK) return false;
  mend_did(k, n, SURG_EXACT,
           "attribute 'consumed_inputs', a hint without effect on results, is removed");
  return true;
}

static bool absent(mending *k, surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_schema_attr_count(s); i++) {
    const char *name = surg_schema_attr_name(s, i);
    if (surg_schema_attr_required(s, i) && !surg_node_attr(n, name) &&
        !mend_required(k, n, name, surg_schema_attr_kind(s, i)))
      return false;
  }
  return true;
}

/* The kind with which the body of a function refers to an attribute; UNDEFINED: it does not. */
static surg_attr_kind kind_in(const surg_function *f, const char *name) {
  const surg_graph *body = surg_function_graph(f);
  for (surg_graph *g = NULL; (g = surg_graph_next_inner(body, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_attr_count(n); i++) {
        const surg_attr *a = surg_node_attr_at(n, i);
        if (surg_attr_ref(a) && strcmp(surg_attr_ref(a), name) == 0) return surg_attr_get_kind(a);
      }
  return SURG_ATTR_UNDEFINED;
}

static bool call(mending *k, surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const char *name = surg_attr_name(a);
    if (surg_attr_ref(a)) continue;
    const surg_attr_kind kind = kind_in(surg_node_function(n), name);
    if (kind == SURG_ATTR_UNDEFINED || kind == surg_attr_get_kind(a) || !mend_may(k, SURG_EXACT))
      continue;
    const surg_status st = convert(n, NULL, a, kind);
    if (st != SURG_OK && st != SURG_EUNSUPPORTED) return false;
    if (st == SURG_OK)
      mend_did(k, n, SURG_EXACT,
               "attribute '%.100s' is written as the kind that the function expects", name);
    else
      surg_pass_give_back(k->p);
  }
  return true;
}

static bool node(mending *k, surg_node *n) {
  if (surg_node_function(n)) return surg_pass_keeps_node(k->p, n) || call(k, n);
  const surg_schema *s = mend_schema(n);
  if (!s || surg_schema_contrib(s) || surg_pass_keeps_node(k->p, n)) return true;
  return repeated(k, n) && kinds(k, n, s) && filling(k, n, s) && hints(k, n, s) &&
         unknown(k, n, s) && absent(k, n, s);
}

bool mend_attributes(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!node(k, n)) return false;
  return true;
}
