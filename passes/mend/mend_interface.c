/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs inputs and outputs of the model, with consent: a value that is used but not defined
 * becomes an input of the type that its consumers expect; an output that no node produces is
 * removed. Inputs and outputs without an element type get one. See mend.h. */
#include "mend.h"

#define MOST_DIMS 64

/* The element type of another input that must have the type of input i; 0: unknown. */
static int type_beside(const surg_node *n, const surg_schema *s, size_t i) {
  for (size_t j = 0; j < surg_node_input_count(n); j++) {
    const surg_value *v = surg_node_input(n, j);
    const surg_type *t = v && j != i ? surg_value_type(v) : NULL;
    if (t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_schema_same_type(s, i, j))
      return surg_type_dtype(t);
  }
  return SURG_UNDEFINED;
}

/* The only element type that the operator supports for input i; 0: there are several. */
static int only_type(const surg_schema *s, size_t i) {
  int found = SURG_UNDEFINED;
  for (int d = SURG_FLOAT; d < SURG_DTYPE_COUNT; d++) {
    if (!surg_schema_takes(s, i, d)) continue;
    if (found) return SURG_UNDEFINED;
    found = d;
  }
  return found;
}

/* The element type that consumers expect: that of an input beside it, else the only one they
 * support; 0: unknown. */
static int expected(const surg_value *v) {
  int found = SURG_UNDEFINED;
  for (const surg_use *u = surg_value_first_use(v); u && !found; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    const surg_schema *s = n ? mend_schema(n) : NULL;
    if (!s) continue;
    found = type_beside(n, s, surg_use_index(u));
    if (!found) found = only_type(s, surg_use_index(u));
  }
  return found;
}

/* The type for an undefined value: its declared type, else the expected one, else float, the most
 * common one (*guessed). */
static const surg_type *wanted(mending *k, const surg_value *v, bool *guessed) {
  const surg_type *declared = surg_value_declared_type(v);
  *guessed = false;
  if (declared) return declared;
  const int found = expected(v);
  *guessed = !found;
  return surg_type_tensor_unranked(k->m, found ? found : SURG_FLOAT);
}

/* The tensor type `dtype` with the dimensions of `of`, which may be NULL. */
static const surg_type *shaped(surg_model *m, int dtype, const surg_type *of) {
  surg_dim dims[MOST_DIMS];
  const bool ranked = of && surg_type_get_kind(of) == SURG_TYPE_TENSOR && surg_type_has_rank(of);
  if (!ranked || surg_type_rank(of) > MOST_DIMS) return surg_type_tensor_unranked(m, dtype);
  for (size_t i = 0; i < surg_type_rank(of); i++) dims[i] = *surg_type_dim(of, i);
  return surg_type_tensor(m, dtype, dims, surg_type_rank(of));
}

static bool lacks_type(const surg_type *t) {
  return !t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN ||
         (surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t) == SURG_UNDEFINED);
}

/* Declares the element type of inputs that have none: the only one that consumers accept, else, as
 * a guess, float. */
static bool untyped_inputs(mending *k) {
  surg_graph *g = surg_model_graph(k->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    const surg_type *declared = surg_value_declared_type(v);
    if (!lacks_type(declared) || surg_value_is_initializer(v)) continue;
    const int found = expected(v);
    const surg_exactness e = found ? SURG_EXACT : SURG_APPROX;
    if (!mend_allows(k, e))
      mend_leaves(k, NULL, "input '%.100s' has no element type; --allow approx declares float",
                  surg_value_name(v));
    if (!mend_may(k, e)) continue;
    const int dtype = found ? found : SURG_FLOAT;
    const surg_type *type = shaped(k->m, dtype, declared);
    if (!type || surg_value_set_declared_type(v, type) != SURG_OK) return false;
    mend_did(k, NULL, e, "input '%.100s' has no element type: now %s", surg_value_name(v),
             surg_dtype_name(dtype));
  }
  return true;
}

/* Declares the inferred type of outputs that have none. */
static bool untyped_outputs(mending *k) {
  surg_graph *g = surg_model_graph(k->m);
  if (mend_doubts(k->m)) return true;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    surg_value *v = surg_graph_output(g, i);
    const surg_type *proven = surg_value_type(v);
    if (!lacks_type(surg_graph_output_type(g, i)) || lacks_type(proven)) continue;
    if (surg_value_is_input(v) || !mend_may(k, SURG_EXACT)) continue;
    if (surg_value_set_declared_type(v, proven) != SURG_OK) return false;
    mend_did(k, surg_value_producer(v, NULL), SURG_EXACT,
             "output '%.100s' has no type: now the inferred one", surg_value_name(v));
  }
  return true;
}

static bool is_read(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_NODE) return true;
  return false;
}

static bool outputs(mending *k) {
  surg_graph *g = surg_model_graph(k->m);
  for (size_t i = surg_graph_output_count(g); i-- > 0;) {
    const surg_value *v = surg_graph_output(g, i);
    if (!surg_value_is_undefined(v) || is_read(v)) continue;
    if (surg_graph_output_count(g) == 1) {
      mend_leaves(k, NULL, "no node computes the only output '%.100s'", surg_value_name(v));
    } else if (!k->interface) {
      mend_leaves(k, NULL,
                  "no node computes output '%.100s'; with the option interface it is removed",
                  surg_value_name(v));
    } else if (surg_pass_allow(k->p)) {
      mend_did(k, NULL, SURG_EXACT, "output '%.100s' is removed: no node computes it",
               surg_value_name(v));
      if (surg_graph_remove_output(g, i) != SURG_OK) return false;
    }
  }
  return true;
}

static bool inputs(mending *k) {
  surg_graph *g = surg_model_graph(k->m);
  for (surg_value *v = surg_graph_next_value(g, NULL), *next; v; v = next) {
    bool guessed;
    next = surg_graph_next_value(g, v);
    if (surg_value_erased(v) || !surg_value_is_undefined(v) || !is_read(v)) continue;
    if (!k->interface) {
      mend_leaves(
          k, NULL,
          "'%.100s' is read but not defined; with the option interface it becomes an input",
          surg_value_name(v));
      continue;
    }
    const surg_type *type = wanted(k, v, &guessed);
    if (guessed && !mend_allows(k, SURG_APPROX)) {
      mend_leaves(k, NULL,
                  "'%.100s' is read but not defined, and its element type is unknown; "
                  "with the option interface and --allow approx it becomes an input of float",
                  surg_value_name(v));
      continue;
    }
    if (!type || !mend_may(k, guessed ? SURG_APPROX : SURG_EXACT)) continue;
    if (surg_value_become_input(v, type) != SURG_OK) return false;
    k->declared_inputs = k->declared_inputs || !guessed;
    mend_did(k, NULL, guessed ? SURG_APPROX : SURG_EXACT,
             "'%.100s' was not defined: it is an input now", surg_value_name(v));
  }
  return true;
}

bool mend_interface(mending *k) {
  if (surg_model_finding_count(k->m) == 0) return true;
  return surg_model_infer(k->m) == SURG_OK && outputs(k) && inputs(k) && untyped_inputs(k) &&
         surg_model_infer(k->m) == SURG_OK && untyped_outputs(k);
}
