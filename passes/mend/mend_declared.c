/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs declared types that contradict what is known: an input with an initializer gets the
 * type of the initializer, any other value the inferred type. See mend.h. */
#include <onnxsurg/check.h>
#include <string.h>

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

/* Whether an input declared so is of its initializer's type; one without an element type is not. */
static bool agree(const surg_type *declared, const surg_type *own) {
  bool same = surg_type_get_kind(declared) == SURG_TYPE_TENSOR &&
              surg_type_dtype(declared) == surg_type_dtype(own);
  if (!same || !surg_type_has_rank(declared)) return same;
  same = surg_type_rank(declared) == surg_type_rank(own);
  for (size_t i = 0; same && i < surg_type_rank(own); i++) {
    const int64_t d = surg_type_dim(declared, i)->value;
    same = d < 0 || d == surg_type_dim(own, i)->value;
  }
  return same;
}

static bool set(mending *k, surg_value *v, const char *what, const surg_type *before,
                const surg_type *type) {
  char a[DECLARED_TEXT], b[DECLARED_TEXT];
  if (!mend_may(k, SURG_EXACT)) return true;
  declared_text(before, a);
  if (surg_value_set_declared_type(v, type) != SURG_OK) return false;
  mend_did(k, surg_value_producer(v, NULL), SURG_EXACT, "%s '%.100s' is declared as %s: now %s",
           what, surg_value_name(v), a, declared_text(declared_type(v), b));
  return true;
}

/* Declares the type of an input's initializer where the input declares none. */
static bool set_first(mending *k, surg_value *v, const surg_type *type) {
  char text[DECLARED_TEXT];
  if (!mend_may(k, SURG_EXACT)) return true;
  if (surg_value_set_declared_type(v, type) != SURG_OK) return false;
  mend_did(k, NULL, SURG_EXACT, "input '%.100s' has no type: now %s, that of its initializer",
           surg_value_name(v), declared_text(type, text));
  return true;
}

static bool graph_defaults(mending *k, surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    const surg_tensor *t = surg_value_initializer(v);
    const surg_type *declared = surg_value_declared_type(v);
    const surg_type *own = t ? type_of(k, t) : NULL;
    if (!own || (declared && agree(declared, own))) continue;
    const bool none = !declared || surg_type_get_kind(declared) == SURG_TYPE_UNKNOWN;
    if (!(none ? set_first(k, v, own) : set(k, v, "initializer", declared, own))) return false;
  }
  return true;
}

bool mend_defaults(mending *k) {
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    if (!graph_defaults(k, g)) return false;
  return surg_model_status(k->m) == SURG_OK;
}

/* Whether a type is a tensor without an element type, and the other has one. */
static bool lacks_element(const surg_type *t, const surg_type *proven) {
  return surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t) == SURG_UNDEFINED &&
         surg_type_get_kind(proven) == SURG_TYPE_TENSOR && surg_type_dtype(proven) > 0;
}

/* Repairs the claim `declared` (NULL: none) about the type of v, if it contradicts what is known or
 * lacks the element type. An input is of the type that it declares. */
static bool claim(mending *k, surg_value *v, const char *what, const surg_type *declared,
                  bool doubted) {
  bool contradicts = false;
  const surg_type *proven = surg_value_type(v);
  if (!declared || !proven) return true;
  const surg_type *refined = surg_type_refine(k->m, declared, proven, &contradicts);
  if (!refined || (!contradicts && !lacks_element(declared, proven)))
    return surg_model_status(k->m) == SURG_OK;
  if (surg_value_is_input(v)) return set(k, v, what, declared, surg_value_declared_type(v));
  if (!doubted) return set(k, v, what, declared, refined);
  mend_leaves(k, surg_value_producer(v, NULL),
              "the declared type of '%.100s' contradicts the inferred one, which depends on "
              "invalid nodes",
              surg_value_name(v));
  return true;
}

static bool value(mending *k, surg_value *v, bool doubted) {
  const surg_type *type = NULL;
  if (surg_value_erased(v)) return true;
  if (declared_at_output(v, &type) && !claim(k, v, "output", type, doubted)) return false;
  if (surg_value_is_input(v) || !surg_value_has_info(v)) return true;
  return claim(k, v, "value", surg_value_declared_type(v), doubted);
}

typedef struct heard {
  bool twice, believed; /* value_info contradicts itself; a node contradicts a declared shape */
} heard;

static void hear(void *user, const surg_check_finding *f) {
  heard *h = user;
  h->twice |= strcmp(f->code, "E208") == 0 || strcmp(f->code, "E209") == 0;
  h->believed |= strcmp(f->code, "W227") == 0;
}

/* Drops the descriptions in value_info that follow another one of the same value if one of them
 * contradicts the known type: the first one is correct by now. */
static bool repeated(mending *k) {
  /* A second description of a value that became an input of the first one's type is as good. */
  const surg_exactness class = k->declared_inputs ? SURG_APPROX : SURG_EXACT;
  if (!mend_allows(k, class))
    mend_leaves(k, NULL,
                "value_info has two types for a value, and a value became an input of the type "
                "there; with --allow approx the first one counts");
  if (!mend_may(k, class)) return true;
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    n += surg_graph_drop_strays(g);
  if (n)
    mend_did(k, NULL, class,
             "%zu description%s in value_info of values that are described elsewhere: removed", n,
             n == 1 ? "" : "s");
  return true;
}

/* Whether value_info states more of the shape than is inferred. */
static bool says_more(mending *k, const surg_value *v) {
  bool contradicts = false;
  const surg_type *said = surg_value_declared_type(v), *is = surg_value_type(v);
  if (surg_value_is_input(v) || !surg_value_has_info(v) || !surg_type_has_rank(said)) return false;
  if (!is || !surg_type_has_rank(is)) return true;
  const surg_type *refined = surg_type_refine(k->m, is, said, &contradicts);
  return contradicts || (refined && refined != is);
}

/* Drops descriptions that state more than is inferred: one of them contradicts a node. */
static bool believed(mending *k) {
  if (!mend_may(k, SURG_EXACT)) return true;
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      n += !surg_value_erased(v) && says_more(k, v) && surg_value_drop_info(v) == SURG_OK;
  if (n)
    mend_did(k, NULL, SURG_EXACT,
             "%zu description%s in value_info of shapes that cannot be inferred, of which one "
             "contradicts a node: removed",
             n, n == 1 ? "" : "s");
  return surg_model_status(k->m) == SURG_OK;
}

/* What only a check finds. It is a walk of the model: only after other repairs. */
static bool checked(mending *k) {
  heard h = {0};
  surg_check_counts counts = {.size = sizeof counts};
  if (k->changed) return true;
  if (surg_check(k->m, 1, hear, &h, &counts) != SURG_OK) return false;
  return (!h.twice || repeated(k)) && (!h.believed || believed(k));
}

bool mend_declared(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  const bool doubted = mend_doubts(k->m);
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (!value(k, v, doubted)) return false;
  return doubted || checked(k);
}
