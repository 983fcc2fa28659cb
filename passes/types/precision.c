/* SPDX-License-Identifier: Apache-2.0 */
/* See precision.h. */
#include "precision.h"

#include "../util/domains.h"
#include "../util/select.h"

#define TYPE(d) (UINT64_C(1) << (d))

const prec_kind prec_to_float16 = {.from = TYPE(SURG_FLOAT),
                                   .to = SURG_FLOAT16,
                                   .narrows = true,
                                   .small = true,
                                   .top = 65504,
                                   .normal = 0x1p-14,
                                   .zero = 0x1p-25,
                                   .unit = 0x1p-11};
const prec_kind prec_to_bfloat16 = {.from = TYPE(SURG_FLOAT),
                                    .to = SURG_BFLOAT16,
                                    .narrows = true,
                                    .small = true,
                                    .top = 0x1.fep127,
                                    .normal = 0x1p-126,
                                    .zero = 0x1p-134,
                                    .unit = 0x1p-8};
const prec_kind prec_to_float = {.from = TYPE(SURG_FLOAT16) | TYPE(SURG_BFLOAT16),
                                 .to = SURG_FLOAT};
static const prec_kind from_double = {.from = TYPE(SURG_DOUBLE),
                                      .to = SURG_FLOAT,
                                      .narrows = true,
                                      .top = 0x1.fffffep127,
                                      .normal = 0x1p-126,
                                      .zero = 0x1p-150,
                                      .unit = 0x1p-24};

const prec_kind prec_to_int32 = {
    .from = TYPE(SURG_INT64), .to = SURG_INT32, .integers = true, .top = 2147483647};

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

static surg_pass_result convert(prec *c) {
  if (surg_model_infer_calls(c->m) || !find_chosen(c) || !prec_collect(c)) return SURG_PASS_FAILED;
  if (!c->n_values) return SURG_PASS_UNCHANGED;
  prec_pins(c);
  if (c->kind->narrows && !c->failed) prec_measure(c);
  prec_pin_measured(c);
  if (c->failed || !prec_cut(c)) return SURG_PASS_FAILED;
  const uint64_t epoch = surg_model_epoch(c->m);
  if (!surg_pass_allow(c->p)) return SURG_PASS_UNCHANGED;
  prec_measure_path(c);
  if (!prec_apply(c)) return SURG_PASS_FAILED;
  const bool changed = surg_model_epoch(c->m) != epoch;
  if (changed)
    surg_pass_used(c->p, class_of(c));
  else
    surg_pass_give_back(c->p);
  prec_report(c);
  return changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

surg_pass_result prec_run(surg_pass_ctx *p, const prec_kind *kind, uint64_t from) {
  prec c = {.p = p, .m = surg_pass_model(p), .kind = kind, .from = from ? from : kind->from};
  if (c.from == from_double.from) c.kind = &from_double;
  c.wide = least(c.from);
  c.io = surg_pass_bool(p, "io");
  c.aggressive = !c.kind->small || surg_pass_bool(p, "aggressive");
  c.saturate = !c.kind->integers && surg_pass_bool(p, "saturate");
  const char *name = surg_pass_string(p, "target");
  if (name && surg_target_open(surg_pass_context(p), name, &c.target) != SURG_OK)
    return SURG_PASS_FAILED;
  const surg_pass_result r = convert(&c);
  surg_target_free(c.target);
  return r;
}
