/* SPDX-License-Identifier: Apache-2.0 */
/* The values that an engine knows as constants when it imports a node: constants of the model, and
 * for engines that fold first, everything computed from constants alone. */
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "target/judge.h"

const surg_tensor *surg__judge_elements(const surg__judge *j, const surg_value *v) {
  const surg_tensor *t = surg_value_constant(v);
  return t || !j->t->defaults ? t : surg_value_initializer(v);
}

#define FOLD_NODES 512u                /* most nodes examined for one value */
#define FOLD_SLOTS (2u * FOLD_NODES)   /* a power of two */
#define FOLD_PENDING (4u * FOLD_NODES) /* most inputs to examine */

/* The nodes examined so far (an open-addressing hash set), and values whose producer is not
 * examined yet. */
typedef struct folding {
  const surg_node *seen[FOLD_SLOTS];
  const surg_value *pending[FOLD_PENDING];
  size_t n_seen, n_pending;
  bool shapes; /* all sizes count as constant, open ones, too */
} folding;

/* Adds a node; false: it was already added. */
static bool note_seen(folding *f, const surg_node *n) {
  size_t i = ((uintptr_t)n >> 4) % FOLD_SLOTS;
  while (f->seen[i] && f->seen[i] != n) i = (i + 1) % FOLD_SLOTS;
  if (f->seen[i]) return false;
  f->seen[i] = n;
  f->n_seen++;
  return true;
}

static bool of_fixed_shape(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_static(t, NULL);
}

/* Whether the outputs depend on the inputs alone: a deterministic operator with a schema and at
 * least one input, without subgraphs. */
static bool computes(const surg_node *n) {
  return surg_node_schema(n) && !surg_node_nondeterministic(n) && !surg_node_subgraph(n, 0) &&
         surg_node_input_count(n) > 0;
}

/* YES: the node is constant whatever its inputs are; NO: it is not foldable; UNSAID: its inputs
 * were added to the pending values. */
static surg__tri look_at(folding *f, const surg_node *n) {
  if (!computes(n)) return SURG__NO;
  const int op = surg_node_op(n);
  if ((op == SURG_OP_Shape || op == SURG_OP_Size) &&
      (f->shapes || of_fixed_shape(surg_node_input(n, 0))))
    return SURG__YES;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v) continue;
    if (f->n_pending == FOLD_PENDING) {
      f->n_seen = FOLD_NODES; /* stops the search: too many inputs */
      return SURG__UNSAID;
    }
    f->pending[f->n_pending++] = v;
  }
  return SURG__UNSAID;
}

static surg__tri folds(const surg__judge *j, folding *f) {
  while (f->n_pending) {
    const surg_value *v = f->pending[--f->n_pending];
    if (surg__judge_elements(j, v)) continue;
    const surg_node *n = surg_value_producer(v, NULL);
    if (!n) return SURG__NO;
    if (f->n_seen >= FOLD_NODES) return SURG__UNSAID;
    if (note_seen(f, n) && look_at(f, n) == SURG__NO) return SURG__NO;
  }
  return f->n_seen >= FOLD_NODES ? SURG__UNSAID : SURG__YES;
}

surg__tri surg__judge_constant(const surg__judge *j, const surg_value *v) {
  if (surg__judge_elements(j, v)) return SURG__YES;
  if (!j->t->folds && !(j->f && j->f->folds)) return SURG__NO;
  folding f = {.pending = {v}, .n_pending = 1};
  return folds(j, &f);
}

bool surg__judge_of_sizes(const surg__judge *j, const surg_value *v) {
  folding f = {.pending = {v}, .n_pending = 1, .shapes = true};
  return j->t->folds && folds(j, &f) == SURG__YES;
}
