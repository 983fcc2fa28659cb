/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs declared types that contradict what is known: an input with an initializer gets the
 * type of the initializer, any other value the inferred type. See mend.h. */
#include "../util/declared.h"
#include "mend.h"

#define MOST_DIMS 64

/* The type of a tensor; NULL: more than MOST_DIMS dimensions, or out of memory. */
static const surg_type *type_of(mending *k, const surg_tensor *t) {
  surg_dim dims[MOST_DIMS];
  if (surg_tensor_rank(t) > MOST_DIMS) return NULL;
  for (size_t i = 0; i < surg_tensor_rank(t); i++)
    dims[i] = (surg_dim){.value = surg_tensor_dims(t)[i]};
  return surg_type_tensor(k->m, surg_tensor_dtype(t), dims, surg_tensor_rank(t));
}

static bool agree(const surg_type *declared, const surg_type *own) {
  bool same = surg_type_get_kind(declared) == SURG_TYPE_TENSOR;
  const int dtype = surg_type_dtype(declared);
  same = same && (dtype == SURG_UNDEFINED || dtype == surg_type_dtype(own));
  if (!same || !surg_type_has_rank(declared)) return same;
  same = surg_type_rank(declared) == surg_type_rank(own);
  for (size_t i = 0; same && i < surg_type_rank(own); i++) {
    const int64_t d = surg_type_dim(declared, i).value;
    same = d < 0 || d == surg_type_dim(own, i).value;
  }
  return same;
}

static bool set(mending *k, surg_value *v, const char *what, const surg_type *type) {
  char a[DECLARED_TEXT], b[DECLARED_TEXT];
  const surg_type *before = declared_type(v);
  if (!mend_may(k, SURG_EXACT)) return true;
  declared_text(before, a);
  if (surg_value_set_declared_type(v, type) != SURG_OK) return false;
  mend_did(k, surg_value_producer(v, NULL), SURG_EXACT, "%s '%.100s' is declared as %s: now %s",
           what, surg_value_name(v), a, declared_text(declared_type(v), b));
  return true;
}

static bool graph_defaults(mending *k, surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    const surg_tensor *t = surg_value_initializer(v);
    const surg_type *declared = surg_value_declared_type(v);
    const surg_type *own = t && declared ? type_of(k, t) : NULL;
    if (own && !agree(declared, own) && !set(k, v, "initializer", own)) return false;
  }
  return true;
}

bool mend_defaults(mending *k) {
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    if (!graph_defaults(k, g)) return false;
  return surg_model_status(k->m) == SURG_OK;
}

static bool value(mending *k, surg_value *v, bool mixed) {
  bool contradicts = false;
  const surg_type *declared = declared_type(v), *proven = surg_value_type(v);
  if (surg_value_erased(v) || surg_value_is_input(v) || !declared || !proven) return true;
  const surg_type *refined = surg_type_refine(k->m, declared, proven, &contradicts);
  if (!contradicts || !refined) return surg_model_status(k->m) == SURG_OK;
  if (mixed) {
    mend_leaves(k, surg_value_producer(v, NULL),
                "the type that '%.100s' is declared as contradicts the inferred "
                "one, which rests on inputs of several types",
                surg_value_name(v));
    return true;
  }
  return set(k, v, surg_value_is_output(v) ? "output" : "value", refined);
}

bool mend_declared(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  const bool mixed = mend_mixes(k->m);
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (!value(k, v, mixed)) return false;
  return true;
}
