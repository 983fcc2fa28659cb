/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that tracing stored in constants: if a dimension of an input is open, but the target of
 * a Reshape or Resize fixes it, the model runs only with the size of the traced example. Reports
 * only what follows from the inferred types. */
#include "base/counted.h"
#include "check/check.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* Reads the constant integers of input i; returns their number, 0 if there are none or more than
 * SURG_LIMIT_RANK. */
static size_t constant_ints(const surg_node *n, size_t i, int64_t out[SURG_LIMIT_RANK]) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  if (!t || surg_tensor_rank(t) != 1) return 0;
  const int64_t count = surg__read_ints(t, out, SURG_LIMIT_RANK);
  return count > 0 ? (size_t)count : 0;
}

static const surg_type *tensor_type(const surg_node *n, size_t i) {
  const surg_type *t = surg_value_type(surg_node_input(n, i));
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank ? t : NULL;
}

static bool any_number(void *user, const char *name, const surg_value *value, size_t axis,
                       int64_t *out) {
  (void)user, (void)value, (void)axis;
  *out = 1;
  return name != NULL;
}

/* Whether a dimension is open through symbols of the file only, not through element values. */
static bool open_size(surg_dim d) {
  int64_t n;
  return d.value < 0 && (d.param || (d.expr && surg_dim_eval(&d, any_number, NULL, &n) == SURG_OK));
}

/* Reports dimension d; `size` is the only one that runs, 0: unknown, or none does. */
static void tell(surg__checker *c, const surg_node *n, surg_dim d, int64_t size) {
  const bool described = surg__check_has_text(c);
  const char *text = described ? surg_dim_text(c->m, &d) : "";
  const char *where = described ? surg__locate_node(n) : NULL;
  if (!text) text = "?";
  if (size > 0)
    surg__check_found(c, "N307", where,
                      "a constant fixes %s, which is dynamic in an input: %s runs only if it is "
                      "%lld",
                      text, n->op_type, (long long)size);
  else
    surg__check_found(c, "N307", where,
                      "a constant fixes the size %s, which depends on dynamic inputs", text);
}

typedef struct sizes {
  uint64_t known; /* product of the fixed dimensions */
  size_t open;
  surg_dim last; /* of the open ones */
} sizes;

/* Measures the dimensions; false: one is unknown, or the product of the fixed ones is 0 or
 * overflows. */
static bool measure(const surg_type *t, sizes *s) {
  *s = (sizes){.known = 1};
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->dims[i].value >= 0) {
      if (!surg__mul_u64(s->known, (uint64_t)t->dims[i].value, &s->known)) return false;
    } else if (open_size(t->dims[i])) {
      s->last = t->dims[i];
      s->open++;
    } else {
      return false;
    }
  }
  return s->known > 0;
}

/* Checks a Reshape to fixed sizes only, of a tensor with an open dimension. */
static void check_fixed(surg__checker *c, const surg_node *n, const surg_type *t, uint64_t want) {
  sizes s;
  if (!measure(t, &s) || !s.open) return;
  const bool exact = s.open == 1 && s.last.param && want % s.known == 0;
  const uint64_t size = exact ? want / s.known : 0;
  tell(c, n, s.last, size <= INT64_MAX ? (int64_t)size : 0);
}

/* Checks a Reshape to [1, -1, ...] where the batch dimension, the first and only open one, is
 * merged into another dimension. */
static void check_merged(surg__checker *c, const surg_node *n, const surg_type *t, uint64_t rest) {
  sizes s;
  if (!t->rank || !open_size(t->dims[0]) || !measure(t, &s) || s.open != 1) return;
  if (s.known > rest && s.known % rest == 0) tell(c, n, t->dims[0], 1);
}

static void check_reshape(surg__checker *c, const surg_node *n) {
  int64_t target[SURG_LIMIT_RANK];
  const size_t rank = constant_ints(n, 1, target);
  const surg_type *t = tensor_type(n, 0);
  uint64_t product = 1;
  size_t free = 0;
  if (!rank || !t) return;
  for (size_t i = 0; i < rank; i++) {
    if (target[i] == -1)
      free++;
    else if (target[i] <= 0 || !surg__mul_u64(product, (uint64_t)target[i], &product))
      return;
  }
  if (!free)
    check_fixed(c, n, t, product);
  else if (free == 1 && target[0] == 1 && rank > 1)
    check_merged(c, n, t, product);
}

/* Checks a Resize to sizes whose first one, of the batch dimension, is fixed while the input has
 * a symbol there. */
static void check_resize(surg__checker *c, const surg_node *n) {
  int64_t given[SURG_LIMIT_RANK];
  const surg_type *t = tensor_type(n, 0);
  if (surg_node_attr(n, "axes") || !t || t->rank < 3) return;
  const size_t rank = constant_ints(n, 3, given);
  if (rank == t->rank && open_size(t->dims[0])) tell(c, n, t->dims[0], given[0]);
}

void surg__check_baked(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      const surg_schema *s = surg_node_schema(n);
      if (s && s->op == SURG_OP_Reshape && s->since >= 5) check_reshape(c, n);
      if (s && s->op == SURG_OP_Resize && s->since >= 11) check_resize(c, n);
    }
}
