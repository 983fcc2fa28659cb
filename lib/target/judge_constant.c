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

/* Whether a node is computed before the engine runs. In the order of certainty. */
typedef enum fold {
  FOLD_OPEN,   /* being examined */
  FOLD_NEVER,  /* it needs an input of the model, or cannot be computed */
  FOLD_SIZES,  /* it is computed from constants and sizes, open ones, too */
  FOLD_ALWAYS, /* from constants and fixed sizes */
  FOLD_UNKNOWN /* not examined yet */
} fold;
#define FOLD_BITS 2

typedef SURG_VEC(surg_node *) pending_nodes;

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

/* The states of nodes that were examined before an edit, or for engines that treat defaults of
 * inputs otherwise, are no more valid. */
static void begin(const surg__judge *j, surg_model *m) {
  if (m->folds.epoch == m->epoch + 1 && m->folds.inferred == m->inferred_epoch &&
      m->folds.defaults == j->t->defaults)
    return;
  m->folds.epoch = m->epoch + 1;
  m->folds.inferred = m->inferred_epoch;
  m->folds.defaults = j->t->defaults;
  if (++m->folds.generation > UINT32_MAX >> FOLD_BITS) m->folds.generation = 1;
}

static fold state_of(const surg_model *m, const surg_node *n) {
  return n->folds >> FOLD_BITS == m->folds.generation ? n->folds & ((1u << FOLD_BITS) - 1)
                                                      : FOLD_UNKNOWN;
}

static void set_state(const surg_model *m, surg_node *n, fold state) {
  n->folds = m->folds.generation << FOLD_BITS | state;
}

static fold of_value(const surg__judge *j, const surg_model *m, const surg_value *v) {
  if (surg__judge_elements(j, v)) return FOLD_ALWAYS;
  const surg_node *n = surg_value_producer(v, NULL);
  return n ? state_of(m, n) : FOLD_NEVER;
}

/* The least certain of the inputs; a node that is being examined depends on itself. */
static fold of_inputs(const surg__judge *j, const surg_model *m, const surg_node *n) {
  fold least = FOLD_ALWAYS;
  bool open = false;
  for (size_t i = 0; i < surg_node_input_count(n) && least != FOLD_NEVER; i++) {
    const surg_value *v = surg_node_input(n, i);
    const fold f = v ? of_value(j, m, v) : FOLD_ALWAYS;
    open |= f == FOLD_UNKNOWN;
    if (f < least) least = f == FOLD_OPEN ? FOLD_NEVER : f;
  }
  return open && least != FOLD_NEVER ? FOLD_UNKNOWN : least;
}

/* The state of a node; FOLD_UNKNOWN: that of its inputs must be known first. */
static fold look_at(const surg__judge *j, const surg_model *m, const surg_node *n) {
  const int op = surg_node_op(n);
  if (!computes(n)) return FOLD_NEVER;
  if (op != SURG_OP_Shape && op != SURG_OP_Size) return of_inputs(j, m, n);
  if (of_fixed_shape(surg_node_input(n, 0))) return FOLD_ALWAYS;
  const fold of = of_inputs(j, m, n);
  return of < FOLD_SIZES ? FOLD_SIZES : of;
}

/* Adds the nodes whose state must be known first. */
static bool push_inputs(const surg__judge *j, surg_model *m, const surg_node *n, pending_nodes *p) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || of_value(j, m, v) != FOLD_UNKNOWN) continue;
    if (!surg__vec_push(m->ctx, p, surg_value_producer(v, NULL))) return false;
  }
  return true;
}

/* Examines the producer of a value and all nodes before it that matter, once until the next edit.
 * FOLD_UNKNOWN: out of memory. */
static fold examine(const surg__judge *j, const surg_value *v) {
  surg_node *last = surg_value_producer(v, NULL);
  surg_model *m = last ? surg_graph_model(surg_node_graph(last)) : NULL;
  pending_nodes p = {0};
  if (!last) return FOLD_NEVER;
  begin(j, m);
  bool done = state_of(m, last) != FOLD_UNKNOWN || surg__vec_push(m->ctx, &p, last);
  while (p.count && done) {
    surg_node *n = p.items[p.count - 1];
    const fold was = state_of(m, n);
    const fold is = was == FOLD_UNKNOWN || was == FOLD_OPEN ? look_at(j, m, n) : was;
    if (is == FOLD_UNKNOWN && was == FOLD_UNKNOWN) {
      set_state(m, n, FOLD_OPEN);
      done = push_inputs(j, m, n, &p);
      continue;
    }
    if (is != was) set_state(m, n, is == FOLD_UNKNOWN ? FOLD_NEVER : is);
    p.count--;
  }
  surg__vec_free(m->ctx, &p);
  if (!done) m->folds.epoch = 0; /* some were left open */
  return done ? state_of(m, last) : FOLD_UNKNOWN;
}

surg__tri surg__judge_constant(const surg__judge *j, const surg_value *v) {
  if (surg__judge_elements(j, v)) return SURG__YES;
  if (!j->t->folds && !(j->f && j->f->folds)) return SURG__NO;
  const fold state = examine(j, v);
  return state == FOLD_UNKNOWN ? SURG__UNSAID : state == FOLD_ALWAYS ? SURG__YES : SURG__NO;
}

bool surg__judge_of_sizes(const surg__judge *j, const surg_value *v) {
  if (!j->t->folds) return false;
  if (surg__judge_elements(j, v)) return true;
  const fold state = examine(j, v);
  return state == FOLD_SIZES || state == FOLD_ALWAYS;
}
