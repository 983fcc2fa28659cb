/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that tracing wrote into constants: where an input leaves a size open, and the target of a
 * Reshape or Resize fixes it, the model runs with the example's size alone. Only what follows from
 * the inferred types is told. */
#include "check/check.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* The constant integers of input i; 0: none, or more than a rank. */
static size_t constant_ints(const surg_node *n, size_t i, int64_t out[SURG_LIMIT_RANK]) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  if (!t || surg_tensor_rank(t) != 1) return 0;
  const int64_t count = surg_tensor_read_ints(t, out, SURG_LIMIT_RANK);
  return count > 0 ? (size_t)count : 0;
}

static const surg_type *tensor_type(const surg_node *n, size_t i) {
  const surg_type *t = surg_value_type(surg_node_input(n, i));
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank ? t : NULL;
}

static void tell(surg__checker *c, const surg_node *n, const char *symbol, int64_t size) {
  const bool told = surg__check_told(c);
  const char *q = told ? surg__q(c->ctx, symbol) : "";
  const char *where = told ? surg__locate_node(n) : NULL;
  if (size > 0)
    surg__check_found(c, "N307", where,
                      "a constant fixes %s, which an input leaves open: %s runs "
                      "with %lld alone",
                      q, n->op_type, (long long)size);
  else
    surg__check_found(c, "N307", where, "a constant fixes a size that %s leaves open", q);
}

/* A Reshape to numbers alone of a tensor whose size depends on exactly one symbol. */
static void check_reshape(surg__checker *c, const surg_node *n) {
  int64_t target[SURG_LIMIT_RANK];
  const size_t rank = constant_ints(n, 1, target);
  const surg_type *t = tensor_type(n, 0);
  uint64_t want = 1, have = 1;
  const char *symbol = NULL;
  size_t open = 0;
  if (!rank || !t) return;
  for (size_t i = 0; i < rank; i++)
    if (target[i] <= 0 || !surg__mul_u64(want, (uint64_t)target[i], &want)) return;
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->dims[i].value >= 0) {
      if (!surg__mul_u64(have, (uint64_t)t->dims[i].value, &have)) return;
    } else if (t->dims[i].param) {
      symbol = t->dims[i].param;
      open++;
    } else {
      return; /* not known, which may be anything */
    }
  }
  if (!open || !have) return;
  const bool exact = open == 1 && want % have == 0 && want / have <= INT64_MAX;
  tell(c, n, symbol, exact ? (int64_t)(want / have) : 0);
}

/* A Resize to sizes whose first, that of the batch, is a number where the input has a symbol. */
static void check_resize(surg__checker *c, const surg_node *n) {
  int64_t sizes[SURG_LIMIT_RANK];
  const surg_type *t = tensor_type(n, 0);
  if (surg_node_attr(n, "axes") || !t || t->rank < 3) return;
  const size_t rank = constant_ints(n, 3, sizes);
  if (rank == t->rank && t->dims[0].param) tell(c, n, t->dims[0].param, sizes[0]);
}

void surg__check_baked(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      const surg_schema *s = surg_node_schema(n);
      if (s && s->op == SURG_OP_Reshape && s->since >= 5) check_reshape(c, n);
      if (s && s->op == SURG_OP_Resize && s->since >= 11) check_resize(c, n);
    }
}
