/* SPDX-License-Identifier: Apache-2.0 */
/* See precision.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "precision.h"

#include "../util/domains.h"
#include "../util/select.h"

#define TYPE(d) (UINT64_C(1) << (d))

const prec_kind prec_to_float16 = {
    .from = TYPE(SURG_FLOAT), .to = SURG_FLOAT16, .narrows = true, .small = true};
const prec_kind prec_to_bfloat16 = {
    .from = TYPE(SURG_FLOAT), .to = SURG_BFLOAT16, .narrows = true, .small = true};
const prec_kind prec_to_float = {.from = TYPE(SURG_FLOAT16) | TYPE(SURG_BFLOAT16),
                                 .to = SURG_FLOAT};
static const prec_kind from_double = {.from = TYPE(SURG_DOUBLE), .to = SURG_FLOAT, .narrows = true};
const prec_kind prec_to_int32 = {.from = TYPE(SURG_INT64), .to = SURG_INT32, .integers = true};

/* The element type that values of the new type get where they have to leave it. */
static int least(uint64_t types) {
  int d = 0;
  while (!(types >> d & 1)) d++;
  return d;
}

static bool find_chosen(prec *c) {
  for (size_t i = 0; i < surg_pass_list_count(c->p, "op"); i++)
    domains_found_anywhere(c->p, surg_pass_list_at(c->p, "op", i));
  size_t n;
  surg_node **nodes = select_node_list(c->p, "node", &n);
  if (!nodes || !table_make(&c->chosen, c->p, n)) return false;
  for (size_t i = 0; i < n; i++)
    if (!table_has(&c->chosen, nodes[i]) && !table_put(&c->chosen, nodes[i])) return false;
  return true;
}

/* Integers that are proven to fit stay what they are. */
static surg_exactness class_of(const prec *c) {
  if (c->kind->integers) return c->unproven_axis ? SURG_APPROX : SURG_EXACT;
  return c->kind->to == SURG_FLOAT && c->kind->narrows ? SURG_LOSSY : SURG_APPROX;
}

/* Measures the error of the converted model. False: reported, or out of memory. */
static bool check(prec *c) {
  char line[PREC_TEXT];
  if (!c->samples || c->unmeasured[0]) return true; /* a search fails before */
  if (!prec_compare(c, c->m)) return false;
  if (c->tolerance < 0) return true;
  if (c->incomparable[0])
    snprintf(line, sizeof line, "the tolerance cannot be checked: %s", c->incomparable);
  else if (prec_worst_output(c) <= c->tolerance)
    return true;
  else
    snprintf(line, sizeof line,
             "the tolerance is not met: the error of an output is %.3g with %" PRIu64
             " node%s left as %s",
             prec_worst_output(c), c->left, c->left == 1 ? "" : "s",
             c->left == 1 ? "it is" : "they are");
  surg_pass_fail(c->p, NULL, line);
  return false;
}

/* Decides what is converted. False: the pass fails. */
static bool decide(prec *c) {
  prec_pins(c);
  if (c->kind->narrows && !c->failed) prec_measure(c);
  prec_pin_measured(c);
  return !c->failed && (c->tolerance < 0 || prec_search(c)) && prec_cut(c);
}

static surg_pass_result convert(prec *c) {
  uint64_t epoch = surg_model_epoch(c->m);
  if (surg_model_infer_calls(c->m) || !find_chosen(c)) return SURG_PASS_FAILED;
  if (!surg_pass_allow(c->p)) return SURG_PASS_UNCHANGED;
  if (!prec_specialize(c)) return SURG_PASS_FAILED;
  bool changed = surg_model_epoch(c->m) != epoch;
  if (!prec_assume(c) || !prec_collect(c)) return SURG_PASS_FAILED;
  epoch = surg_model_epoch(c->m);
  if (c->n_values) {
    if (!decide(c)) return SURG_PASS_FAILED;
    prec_measure_path(c);
    prec_report_damage(c);
    if (!prec_apply(c)) return SURG_PASS_FAILED;
  }
  changed = changed || surg_model_epoch(c->m) != epoch;
  if (!prec_forget_assumed(c)) return SURG_PASS_FAILED;
  if (changed)
    surg_pass_used(c->p, class_of(c));
  else
    surg_pass_give_back(c->p);
  if (!changed && c->assumed) surg_pass_used(c->p, SURG_EXACT);
  if (changed && !check(c)) return SURG_PASS_FAILED;
  if (c->n_values) prec_report(c);
  /* Declarations that were added and removed count as edits. */
  return changed || c->assumed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

/* Reads the option `tolerance`, of passes that have it. */
static bool read_tolerance(prec *c) {
  const char *text = c->kind->narrows ? surg_pass_string(c->p, "tolerance") : NULL;
  char *end = NULL;
  c->tolerance = -1;
  if (!text) return true;
  c->tolerance = strtod(text, &end);
  if (!*end && end != text && c->tolerance >= 0) return true;
  surg_pass_usage(c->p, "option tolerance: expected a number of at least 0, such as 0.01");
  return false;
}

surg_pass_result prec_run(surg_pass_ctx *p, const prec_kind *kind, uint64_t from) {
  prec c = {.p = p, .m = surg_pass_model(p), .kind = kind, .from = from ? from : kind->from};
  if (c.from == from_double.from) c.kind = &from_double;
  c.wide = least(c.from);
  c.limits.size = sizeof c.limits;
  surg_dtype_limits(c.kind->to, &c.limits);
  if (c.kind->integers) c.limits.top = INT32_MAX;
  c.io = surg_pass_bool(p, "io");
  c.aggressive = !c.kind->small || surg_pass_bool(p, "aggressive");
  c.saturate = !c.kind->integers && surg_pass_bool(p, "saturate");
  const char *name = surg_pass_string(p, "target");
  if (!read_tolerance(&c)) return SURG_PASS_FAILED;
  if (name && surg_target_open(surg_pass_context(p), name, &c.target) != SURG_OK)
    return SURG_PASS_FAILED;
  const surg_pass_result r = convert(&c);
  samples_close(&c.before);
  surg_model_free(c.original);
  surg_target_free(c.target);
  return r;
}

bool prec_reconcile(surg_pass_ctx *p, int from, int to) {
  const prec_kind kind = {
      .from = TYPE(from), .to = to, .narrows = true, .small = to != SURG_FLOAT};
  prec c = {.p = p,
            .m = surg_pass_model(p),
            .kind = &kind,
            .from = kind.from,
            .wide = from,
            .aggressive = true,
            .mixed = true};
  c.limits.size = sizeof c.limits;
  surg_dtype_limits(to, &c.limits);
  if (surg_model_infer_calls(c.m) || !prec_assume(&c) || !prec_collect(&c)) return false;
  if (c.n_values) prec_pins(&c);
  if (c.failed || (c.n_values && (!prec_cut(&c) || !prec_apply(&c)))) return false;
  return prec_forget_assumed(&c) && surg_model_infer(c.m) == SURG_OK;
}
