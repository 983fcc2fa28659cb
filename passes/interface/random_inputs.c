/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the random numbers that a model draws inputs of the model, for engines without random
 * operators and for callers who need the same numbers again. Each input is named after the value
 * that it replaces; the distribution that the caller must draw is reported.
 *
 *   before: (float[N, 8] x) => (...) { e = RandomNormalLike (x)  y = Add (x, e) }
 *   after:  (float[N, 8] x, float[N, 8] e) => (...) { y = Add (x, e) }
 *
 * Nodes of branches, loops and functions stay, because they may draw several times, and so does a
 * node whose result is an output of the model or has an unknown type. Needs sorted, types. Keeps
 * sorted. Approximate: the numbers are others; changes the interface. */
#include "../util/typetext.h"
#include "../util/values.h"

#include <onnxsurg/ops.h>
#include <stdio.h>

typedef struct drawn {
  bool normal; /* else uniform */
  float a, b;  /* mean and scale, or low and high */
} drawn;

/* Whether the node draws its whole output, and from which distribution. */
static bool draws(const surg_node *n, drawn *d) {
  switch (surg_node_op(n)) {
    case SURG_OP_RandomNormal:
    case SURG_OP_RandomNormalLike:
      *d = (drawn){true, surg_node_float(n, "mean", 0), surg_node_float(n, "scale", 1)};
      return true;
    case SURG_OP_RandomUniform:
    case SURG_OP_RandomUniformLike:
      *d = (drawn){false, surg_node_float(n, "low", 0), surg_node_float(n, "high", 1)};
      return true;
    default: return false;
  }
}

static void note(surg_pass_ctx *p, const surg_node *n, const drawn *d) {
  char text[160];
  if (d->normal)
    snprintf(text, sizeof text, "is an input: normally distributed, mean %.9g, deviation %.9g",
             (double)d->a, (double)d->b);
  else
    snprintf(text, sizeof text, "is an input: uniformly distributed from %.9g to %.9g",
             (double)d->a, (double)d->b);
  surg_pass_note(p, n, text);
}

static surg_pass_result take(surg_pass_ctx *p, surg_graph *g, surg_node *n) {
  drawn d;
  surg_value *v = draws(n, &d) ? surg_node_output(n, 0) : NULL;
  if (!v || surg_value_is_output(v) || surg_pass_keeps_node(p, n) || surg_pass_keeps_value(p, v))
    return SURG_PASS_UNCHANGED;
  const surg_type *t = surg_value_type(v) ? typetext_plain(p, surg_value_type(v)) : NULL;
  if (!t || !surg_type_has_rank(t) || values_annotated(v) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  note(p, n, &d);
  surg_value *in = surg_graph_add_input(g, NULL, t);
  if (!in || surg_value_replace(v, in) != SURG_OK || surg_node_erase(n) != SURG_OK ||
      surg_value_rename(in, surg_value_name(v)) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "inputs", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    const surg_pass_result r = take(p, g, n);
    if (r == SURG_PASS_FAILED) return r;
    if (r == SURG_PASS_CHANGED) result = r;
  }
  return result;
}

const surg_pass surg__pass_random_inputs = {
    SURG_PASS_HEAD(MODEL, "random-inputs", "replace random operators by model inputs"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_APPROX,
    .changes_interface = true,
    .run = run,
};
