/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the model, its functions with it, to another opset of the default domain. Nodes that mean
 * the same there stay as they are; the others are rewritten by rules (passes/rules/opset.rules,
 * substitute.rules). Where one cannot be, nothing is done and every such node is told.
 *
 *   before: <opset 13> (x) => (y) <int64[1] a = {1}> { y = Squeeze (x, a) }
 *   after:  <opset 12> (x) => (y) { y = Squeeze <axes = [1]> (x) }
 *
 * Down, the IR version comes down with it, to what came with that opset or what the model needs.
 * Rules that are approximate are used where nothing better is there and allow=approx is given.
 *
 * Needs sorted, types. Keeps sorted. As exact as the rules it used. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "allow.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const char *domain = surg_pass_string(p, "domain");
  const int64_t to = surg_pass_int(p, "to"), newest = surg_schema_newest(domain);
  surg_model *m = surg_pass_model(p);
  char text[200];
  if (allow_check(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (newest < 1) return surg_pass_usage(p, "option domain: no operators of it are known");
  if (to < 1 || to > newest) {
    snprintf(text, sizeof text, "option to: an opset from 1 to %d", (int)newest);
    return surg_pass_usage(p, text);
  }
  if (surg_model_opset(m, domain) > newest) {
    snprintf(text, sizeof text, "the model is of opset %d; the newest known is %d",
             (int)surg_model_opset(m, domain), (int)newest);
    return surg_pass_fail(p, NULL, text);
  }
  return *domain ? surg_move_domain(p, domain, to) : surg_move_opset(p, to);
}

static const surg_option options[] = {
    {"to", SURG_OPTION_INT, "0", "the opset to move to"},
    {"domain", SURG_OPTION_STRING, "", "whose; '' is the default domain"},
    ALLOW_OPTION,
};

const surg_pass surg__pass_opset = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "opset",
    .help = "move the model to another opset",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ULP,
    .run = run,
};
