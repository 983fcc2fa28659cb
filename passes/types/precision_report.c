/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion of element types reports: a summary, the reasons by number, each value. */
#include <math.h>
#include <onnxsurg/ops.h>
#include <stdio.h>

#include "precision.h"

static const char *const reasons[] = {
    [PREC_FREE] = "",
    [PREC_INTERFACE] = "interface of the model (io converts it)",
    [PREC_KEPT] = "protected by --keep",
    [PREC_UNCHOSEN] = "not among the chosen nodes",
    [PREC_OPERATOR] = "the operator is unknown",
    [PREC_SCHEMA] = "the operator does not accept the type in this opset",
    [PREC_IR] = "the type needs a later IR version (ir{to=4})",
    [PREC_TARGET] = "the target has no kernel of the type",
    [PREC_TYPES] = "the type of another value that must agree is unknown or different",
    [PREC_FIXED] = "the operator or a caller fixes the type",
    [PREC_RANDOM] = "random",
    [PREC_SPARSE] = "the elements are sparse or can change",
    [PREC_BITS] = "the operator reads the bits of elements",
    [PREC_ABSENT] = "the elements are not available",
    [PREC_BOUND] = "a value passes the range of the type, or follows from one that does",
    [PREC_MEASURED] = "a measured value is near the end of the range",
    [PREC_UNPROVEN] = "not proven to fit the type",
    [PREC_LARGE] = "a constant passes the range of the type (saturate clamps it)",
    [PREC_SMALL] = "a constant would become 0 or lose digits (saturate raises it)",
    [PREC_ATTR_LARGE] = "an attribute passes the range of the type (saturate clamps it)",
    [PREC_ATTR_SMALL] = "an attribute would become 0 (saturate raises it)",
    [PREC_SENSITIVE] = "the operator loses digits in the type (aggressive converts it)",
    [PREC_QUANTIZED] = "quantized (aggressive converts it)",
    [PREC_WIDTH] = "the result may depend on the width of integers",
    [PREC_INTEGER] = "it becomes an integer (aggressive converts it)",
    [PREC_TIED] = "a value that cannot be cast here connects it with one that stays",
    [PREC_CASTS] = "fewer Casts so",
};
_Static_assert(sizeof reasons / sizeof *reasons == PREC_WHYS, "a text for each reason");

/* The slot that decides the type of a value: its producer's; for a constant a reader's. */
static uint32_t slot_of(const prec *c, const prec_value *x) {
  if (x->made != PREC_NONE) return x->made;
  return x->reads == PREC_NONE ? PREC_NONE : c->reads[x->reads].slot;
}

/* --- depth --- */

/* Counts converted nodes on the path to the results of a node. */
static uint32_t pass_node(prec *c, const surg_node *n, uint32_t *made) {
  uint32_t here = 0;
  bool moved = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_input(n, i));
    if (x && made[x - c->values] > here) here = made[x - c->values];
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_output(n, i));
    if (x && x->made != PREC_NONE && c->slots[prec_root(c, x->made)].moves) moved = true;
  }
  here += moved;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_output(n, i));
    if (x) made[x - c->values] = here;
  }
  return here;
}

void prec_measure_path(prec *c) {
  uint32_t *made = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *made);
  surg_graph *g = NULL;
  while (made && (g = surg_model_next_graph(c->m, g)))
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const uint32_t here = pass_node(c, n, made);
      if (here > c->path) c->path = here;
    }
}

/* --- lines --- */

typedef struct tally {
  uint64_t moved, stay, constants, bounded, measured;
  uint64_t by_why[PREC_WHYS];
} tally;

static void count_value(prec *c, const prec_value *x, tally *t) {
  const uint32_t slot = slot_of(c, x);
  if (slot == PREC_NONE || x->dtype == c->kind->to) return;
  const prec_slot *s = &c->slots[prec_root(c, slot)];
  if (!s->moves) {
    t->stay++;
    t->by_why[s->why]++;
    return;
  }
  t->moved++;
  if (x->made == PREC_NONE) t->constants++;
  if (x->made != PREC_NONE && x->bounded) t->bounded++;
  if (x->made != PREC_NONE && x->measured) t->measured++;
}

static void summary(prec *c, const tally *t) {
  char line[PREC_TEXT];
  const char *to = surg_dtype_name(c->kind->to);
  int n = snprintf(line, sizeof line,
                   "%llu value%s of %llu to %s, %llu constant%s among them; %llu Cast%s added, "
                   "%llu removed",
                   (unsigned long long)t->moved, t->moved == 1 ? "" : "s",
                   (unsigned long long)(t->moved + t->stay), to, (unsigned long long)t->constants,
                   t->constants == 1 ? "" : "s", (unsigned long long)c->added,
                   c->added == 1 ? "" : "s", (unsigned long long)c->removed);
  if (c->kind->unit > 0 && t->moved > 0 && n > 0 && (size_t)n < sizeof line) {
    snprintf(
        line + n, sizeof line - (size_t)n,
        "; relative error about %.1e (an estimate, no bound: %g * sqrt(%u), the nodes on a path)",
        c->kind->unit * sqrt((double)(c->path ? c->path : 1)), c->kind->unit, c->path);
  }
  surg_pass_note(c->p, NULL, line);
}

static void reason_lines(prec *c, const tally *t) {
  char line[PREC_TEXT];
  for (size_t w = PREC_FREE + 1; w < PREC_WHYS; w++) {
    if (!t->by_why[w]) continue;
    snprintf(line, sizeof line, "%llu value%s stay%s: %s", (unsigned long long)t->by_why[w],
             t->by_why[w] == 1 ? "" : "s", t->by_why[w] == 1 ? "s" : "", reasons[w]);
    surg_pass_note(c->p, NULL, line);
  }
  const uint64_t computed = t->moved - t->constants;
  if (c->kind->narrows && computed > t->bounded) {
    snprintf(line, sizeof line,
             "of %llu computed values %llu are proven to stay within %g, %llu are so on %s inputs, "
             "%llu are unknown; ranges of inputs (--range) prove more",
             (unsigned long long)computed, (unsigned long long)t->bounded, c->kind->top,
             (unsigned long long)t->measured, c->given ? "given" : "drawn",
             (unsigned long long)(computed - t->bounded - t->measured));
    surg_pass_note(c->p, NULL, line);
  }
  if (c->unmeasured[0]) {
    snprintf(line, sizeof line, "not measured: %s", c->unmeasured);
    surg_pass_note(c->p, NULL, line);
  }
  if (c->exhausted)
    surg_pass_note(c->p, NULL,
                   "the search for the fewest Casts was given up: its limit of work "
                   "is reached");
}

static void value_line(prec *c, const prec_value *x) {
  char line[PREC_TEXT], bound[64] = "unknown";
  const uint32_t slot = slot_of(c, x);
  if (slot == PREC_NONE) return;
  const prec_slot *s = &c->slots[prec_root(c, slot)];
  if (x->dtype == c->kind->to && s->moves) return;
  if (x->bounded || x->measured)
    snprintf(bound, sizeof bound, "%g%s", x->bound,
             !x->measured ? ""
             : c->given   ? " on given inputs"
                          : " on drawn inputs");
  const char *now = surg_dtype_name(prec_final(c, x, slot));
  if (s->moves)
    snprintf(line, sizeof line, "value '%.200s': %s; bound %s", surg_value_name(x->v), now, bound);
  else
    snprintf(line, sizeof line, "value '%.200s': %s: %s; bound %s", surg_value_name(x->v), now,
             reasons[s->why], bound);
  surg_pass_note(c->p, NULL, line);
}

void prec_report(prec *c) {
  tally t = {0};
  for (uint32_t i = 0; i < c->n_values; i++) count_value(c, &c->values[i], &t);
  summary(c, &t);
  reason_lines(c, &t);
  for (uint32_t i = 0; i < c->n_values; i++) value_line(c, &c->values[i]);
  surg_pass_count(c->p, "values converted", t.moved);
  surg_pass_count(c->p, "values that stay", t.stay);
  if (c->added) surg_pass_count(c->p, "Casts added", c->added);
  if (c->removed) surg_pass_count(c->p, "Casts removed", c->removed);
  if (c->converted) surg_pass_count(c->p, "tensors converted", c->converted);
  if (c->copied) surg_pass_count(c->p, "constants copied", c->copied);
  if (c->clamped) surg_pass_count(c->p, "tensors and attributes clamped", c->clamped);
}
