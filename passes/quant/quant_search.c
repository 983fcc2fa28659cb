/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes static quantization leaves in floats so that outputs stay within a tolerance.
 *
 * Nodes are ordered by the error that each adds to that of its operands, in a trial of all of them.
 * Bisection then finds how many of the worst have to stay. The error need not fall with each, so
 * the number is sufficient, and not always the smallest. */
#include <math.h>
#include <stdlib.h>

#include "quant_static.h"

#define UNKNOWN (-1.0)
#define FAILED (-2.0)

typedef struct rank {
  size_t member;
  double added;
} rank;

static int by_error(const void *a, const void *b) {
  const rank *x = a, *y = b;
  if (x->added > y->added) return -1;
  if (x->added < y->added) return 1;
  return x->member < y->member ? -1 : x->member > y->member;
}

/* The error of a value, relative to its size. */
static double error_of(quant_static_state *s, const surg_value *v) {
  const quant_value *x = v ? quant_value_of(s, v) : NULL;
  if (!x || !(x->noise > 0)) return 0;
  return x->signal > 0 ? sqrt(x->noise / x->signal) : HUGE_VAL;
}

double quant_worst_output(quant_static_state *s) {
  double worst = 0;
  for (size_t i = 0; i < surg_graph_output_count(s->g); i++)
    worst = fmax(worst, error_of(s, surg_graph_output(s->g, i)));
  return worst;
}

/* The node of the main graph that contains n; NULL: n is in a function. */
static const surg_node *outermost(const surg_node *n) {
  const surg_node *in;
  while ((in = surg_graph_parent_node(surg_node_graph(n)))) n = in;
  return surg_graph_get_kind(surg_node_graph(n)) == SURG_GRAPH_MAIN ? n : NULL;
}

/* The error that a member adds. That of values in subgraphs is not known: the whole node is taken
 * for each of its members. Those of functions come last. */
static double added_by(quant_static_state *s, const quant_member *m) {
  const surg_node *n = outermost(m->n);
  double before = 0, after = 0;
  if (!n) return -HUGE_VAL;
  for (size_t k = 0; k < surg_node_input_count(n); k++) {
    const quant_value *x = n != m->n                ? quant_value_of(s, surg_node_input(n, k))
                           : quant_is_operand(m, k) ? quant_operand(s, m, k)
                                                    : NULL;
    if (x) before = fmax(before, error_of(s, x->v));
  }
  for (size_t k = 0; k < (n == m->n ? 1 : surg_node_output_count(n)); k++)
    after = fmax(after, error_of(s, surg_node_output(n, k)));
  return after - before;
}

/* Orders the members that a trial quantized; their number. */
static size_t order(quant_static_state *s, rank *ranks) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_members; i++) {
    const quant_member *m = &s->members[i];
    if (m->why != QUANT_FREE || (m->role != QUANT_PRODUCT && m->role != QUANT_MATH)) continue;
    ranks[n++] = (rank){i, added_by(s, m)};
  }
  qsort(ranks, n, sizeof *ranks, by_error);
  return n;
}

typedef struct search {
  quant_static_state *s; /* of the model itself: its options and `skip` */
  rank *ranks;
  size_t n;
  uint64_t trials;
} search;

/* The error of a copy of the model that is quantized without the first `left` members in order.
 * UNKNOWN: it does not run in the evaluator; FAILED: reported, or out of memory. The first trial
 * sets the order. */
static double trial(search *x, size_t left) {
  const quant *from = x->s->c;
  double worst = FAILED;
  quant c = {.p = from->p,
             .m = surg_model_clone(from->m),
             .target = from->target,
             .fixed = true,
             .trial = true,
             .asymmetric = from->asymmetric,
             .reduced = from->reduced,
             .whole = from->whole,
             .dtype = from->dtype,
             .block = from->block};
  quant_static_state s = *x->s;
  for (size_t i = 0; i < left; i++) x->s->skip[x->ranks[i].member] = true;
  for (size_t i = left; i < x->n; i++) x->s->skip[x->ranks[i].member] = false;
  s.c = &c;
  s.g = c.m ? surg_model_graph(c.m) : NULL;
  if (s.g && !surg_model_infer_calls(c.m) && quant_find_chosen(&c) && quant_collect(&c) &&
      quant_static_apply(&s) && quant_compare(&s))
    worst = s.unknown ? UNKNOWN : quant_worst_output(&s);
  if (worst >= 0 && !x->trials) x->n = order(&s, x->ranks);
  x->trials++;
  surg_model_free(c.m);
  return worst;
}

bool quant_search(quant_static_state *s) {
  search x = {.s = s};
  const size_t members = quant_node_count(s->c->m);
  s->skip = surg_pass_alloc(s->c->p, members + 1);
  x.ranks = surg_pass_alloc(s->c->p, (members + 1) * sizeof *x.ranks);
  if (!s->skip || !x.ranks) return false;
  double worst = trial(&x, 0);
  size_t low = 0, high = x.n; /* `low` are too few, `high` are enough */
  if (worst < UNKNOWN) return false;
  if (worst < 0) {
    surg_pass_fail(s->c->p, NULL, "the error of the quantized model cannot be measured");
    return false;
  }
  if (worst <= s->tolerance) high = 0;
  while (high > low + 1) {
    const size_t middle = low + (high - low) / 2;
    worst = trial(&x, middle);
    if (worst < UNKNOWN) return false;
    if (worst >= 0 && worst <= s->tolerance)
      high = middle;
    else
      low = middle;
  }
  for (size_t i = 0; i < x.n; i++) s->skip[x.ranks[i].member] = i < high;
  s->left = high;
  s->trials = x.trials;
  return true;
}
