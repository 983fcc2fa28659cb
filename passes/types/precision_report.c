/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion of element types reports: a summary, the reasons by number, each value. */
#include <inttypes.h>
#include <math.h>
#include <onnxsurg/ops.h>
#include <stdio.h>

#include "precision.h"

#define NO_BOUND "; no bound, other inputs may have more"

static const char *const reasons[] = {
    [PREC_FREE] = "",
    [PREC_INTERFACE] = "interface of the model (io converts it)",
    [PREC_KEPT] = "protected by --keep",
    [PREC_UNCHOSEN] = "not among the chosen nodes",
    [PREC_OPERATOR] = "the operator is unknown",
    [PREC_SCHEMA] = "the operator does not accept the type in this opset",
    [PREC_IR] = "the type needs a later IR version (ir{to=4})",
    [PREC_TARGET] = "the target has no kernel of the type",
    [PREC_TYPES] = "a value that must have its type has another, or an unknown one",
    [PREC_FIXED] = "the operator or a caller fixes the type",
    [PREC_RANDOM] = "random",
    [PREC_SPARSE] = "the elements are sparse or can change",
    [PREC_BITS] = "the operator reads the bits of elements",
    [PREC_ABSENT] = "the elements are not available",
    [PREC_BOUND] = "passes the range of the type, or follows from such a value",
    [PREC_MEASURED] = "a measured value is near the end of the range",
    [PREC_TINY] = "its values are below the smallest number with all digits",
    [PREC_UNPROVEN] = "not proven to fit the type",
    [PREC_LARGE] = "a constant passes the range (saturate clamps it)",
    [PREC_SMALL] = "a constant would become 0 or lose digits (saturate raises it)",
    [PREC_ATTR_LARGE] = "an attribute passes the range (saturate clamps it)",
    [PREC_ATTR_SMALL] = "an attribute would become 0 (saturate raises it)",
    [PREC_RARE] = "hardly any engine has a kernel of the type (target)",
    [PREC_SENSITIVE] = "the operator loses digits (aggressive converts it)",
    [PREC_QUANTIZED] = "quantized (aggressive converts it)",
    [PREC_WIDTH] = "the result may depend on the width of integers",
    [PREC_INTEGER] = "it becomes an integer (aggressive converts it)",
    [PREC_CHOICE] = "it is compared to choose other elements (aggressive converts it)",
    [PREC_STATE] = "a loop adds to it (aggressive converts it)",
    [PREC_FINE] = "a logarithm or division magnifies small elements (aggressive converts it)",
    [PREC_PHASE] = "only its part within a period matters (aggressive converts it)",
    [PREC_PLACE] = "a position in an image (aggressive converts it)",
    [PREC_CANCEL] = "the difference of much larger values (aggressive converts it)",
    [PREC_TIED] = "a value without a Cast connects it with one that stays",
    [PREC_CASTS] = "fewer Casts so",
    [PREC_ERROR] = "the tolerance requires it",
};
_Static_assert(sizeof reasons / sizeof *reasons == PREC_WHYS, "a text for each reason");

/* The slot that decides the type of a value: its producer's; for a constant a reader's. */
static uint32_t slot_of(const prec *c, const prec_value *x) {
  if (x->made != PREC_NONE) return x->made;
  return x->reads == PREC_NONE ? PREC_NONE : c->reads[x->reads].slot;
}

/* --- depth --- */

/* Counts converted nodes on the path to the results of a node. */
static uint32_t pass_node(prec *c, const surg_node *n) {
  uint32_t here = 0;
  bool moved = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_input(n, i));
    if (x && x->path > here) here = x->path;
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_output(n, i));
    if (x && x->made != PREC_NONE && c->slots[prec_root(c, x->made)].moves) moved = true;
  }
  here += moved;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    prec_value *x = prec_find(c, surg_node_output(n, i));
    if (x) x->path = here;
  }
  return here;
}

void prec_measure_path(prec *c) {
  surg_graph *g = NULL;
  /* A constant that moves is rounded once. */
  for (uint32_t i = 0; i < c->n_values; i++) {
    prec_value *x = &c->values[i];
    for (uint32_t r = x->made == PREC_NONE ? x->reads : PREC_NONE; r != PREC_NONE && !x->path;
         r = c->reads[r].next)
      x->path = c->slots[prec_root(c, c->reads[r].slot)].moves && x->dtype != c->kind->to;
  }
  while ((g = surg_model_next_graph(c->m, g)))
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const uint32_t here = pass_node(c, n);
      if (here > c->path) c->path = here;
    }
}

/* A unit in the last place of the new type, or of a type before with fewer digits: what that
 * rounded is not rounded any more. */
static double unit_of(const prec *c) {
  double unit = c->limits.unit;
  for (uint32_t i = 0; i < c->n_values; i++) {
    surg_float_limits l = {.size = sizeof l};
    if (surg_dtype_limits(c->values[i].dtype, &l) == SURG_OK) unit = fmax(unit, l.unit);
  }
  return 2 * unit;
}

/* The estimated error of a value: that unit times the root of the path. */
static double estimate(const prec *c, uint32_t path) {
  return c->unit * sqrt((double)path);
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
  snprintf(line, sizeof line,
           "%" PRIu64 " value%s of %" PRIu64 " to %s, %" PRIu64 " constant%s among them; %" PRIu64
           " Cast%s added, %" PRIu64 " removed",
           t->moved, t->moved == 1 ? "" : "s", t->moved + t->stay, surg_dtype_name(c->kind->to),
           t->constants, t->constants == 1 ? "" : "s", c->added, c->added == 1 ? "" : "s",
           c->removed);
  surg_pass_note(c->p, NULL, line);
  if (c->special) {
    snprintf(line, sizeof line, "%" PRIu64 " function%s added: calls have different types",
             c->special, c->special == 1 ? "" : "s");
    surg_pass_note(c->p, NULL, line);
  }
}

/* The estimated error of the outputs. Where the model magnifies errors, the runs show it: other
 * inputs may double what they measured. */
static void estimate_line(prec *c) {
  char line[PREC_TEXT];
  const double path = estimate(c, c->path ? c->path : 1);
  const double measured = c->outputs && !c->incomparable[0] ? prec_worst_output(c) : 0;
  if (measured > path)
    snprintf(line, sizeof line, "estimated error: %.1e, twice the measured one" NO_BOUND,
             2 * measured);
  else
    snprintf(line, sizeof line, "estimated error: %.1e = %g * sqrt(%" PRIu32 ")" NO_BOUND, path,
             c->unit, c->path);
  surg_pass_note(c->p, NULL, line);
}

/* The errors of the outputs: estimated, and measured. */
static void error_lines(prec *c, const tally *t) {
  char line[PREC_TEXT];
  if (c->limits.unit > 0 && t->moved > 0) estimate_line(c);
  if (c->outputs && !c->incomparable[0]) {
    snprintf(line, sizeof line, "measured error of outputs: %.1e, on %" PRIu64 " %s input%s",
             prec_worst_output(c), c->samples, c->given ? "given" : "drawn",
             c->samples == 1 ? "" : "s");
    surg_pass_note(c->p, NULL, line);
  } else if (c->outputs) {
    snprintf(line, sizeof line, "error not measured: %s", c->incomparable);
    surg_pass_note(c->p, NULL, line);
  }
  if (c->tolerance >= 0) {
    snprintf(line, sizeof line,
             "tolerance %g: %" PRIu64 " node%s left, found by %" PRIu64 " trial%s", c->tolerance,
             c->left, c->left == 1 ? "" : "s", c->trials, c->trials == 1 ? "" : "s");
    surg_pass_note(c->p, NULL, line);
  }
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
             "bounds of %" PRIu64 " computed value%s: %" PRIu64 " proven, %" PRIu64
             " on %s inputs, %" PRIu64 " unknown (--range)",
             computed, computed == 1 ? "" : "s", t->bounded, t->measured,
             c->given ? "given" : "drawn", computed - t->bounded - t->measured);
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

static void value_row(prec *c, const prec_value *x) {
  const uint32_t slot = slot_of(c, x);
  if (slot == PREC_NONE) return;
  const prec_slot *s = &c->slots[prec_root(c, slot)];
  if (x->dtype == c->kind->to && s->moves) return;
  const double none = (double)NAN;
  const bool moves = s->moves;
  const surg_cell cells[] = {{"value", surg_value_name(x->v), 0},
                             {"type", surg_dtype_name(prec_final(c, x, slot)), 0},
                             {"bound", NULL, x->bounded || x->measured ? x->bound : none},
                             {"from",
                              !x->measured ? x->bounded ? "proof" : "-"
                              : c->given   ? "given"
                                           : "drawn",
                              0},
                             {"error", NULL, x->error.met ? prec_error(&x->error) : none},
                             {"estimate", NULL, c->limits.unit > 0 ? estimate(c, x->path) : none},
                             {"why", moves ? "" : reasons[s->why], 0}};
  surg_pass_row(c->p, "values", cells, sizeof cells / sizeof *cells);
}

void prec_report(prec *c) {
  tally t = {0};
  c->unit = unit_of(c);
  for (uint32_t i = 0; i < c->n_values; i++) count_value(c, &c->values[i], &t);
  summary(c, &t);
  error_lines(c, &t);
  reason_lines(c, &t);
  for (uint32_t i = 0; i < c->n_values; i++) value_row(c, &c->values[i]);
  surg_pass_count(c->p, "values converted", t.moved);
  surg_pass_count(c->p, "values that stay", t.stay);
  if (c->added) surg_pass_count(c->p, "Casts added", c->added);
  if (c->removed) surg_pass_count(c->p, "Casts removed", c->removed);
  if (c->converted) surg_pass_count(c->p, "tensors converted", c->converted);
  if (c->copied) surg_pass_count(c->p, "constants copied", c->copied);
  if (c->clamped) surg_pass_count(c->p, "tensors and attributes clamped", c->clamped);
}
