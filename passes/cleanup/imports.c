/* SPDX-License-Identifier: Apache-2.0 */
/* Adds imports for domains that nodes use without an import, each with a note: some optimizers
 * write such models, and other tools reject them. The version is the oldest that has the operators
 * with their attributes, if known, else 1. ONNX's own domain is not added: the meaning of its
 * operators depends on the version.
 *
 *   before: <opset_import: ["" : 17]> g (x) => (y) { y = com.microsoft.Gelu (x) }
 *   after:  <opset_import: ["" : 17, "com.microsoft" : 1]> ...
 *
 * Needs nothing. Keeps sorted. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "../util/missing.h"

static surg_status import(surg_pass_ctx *p, const missing *m) {
  char text[256];
  snprintf(text, sizeof text, "domain '%.100s' is not imported: now in version %lld",
           surg_node_domain(m->node), (long long)m->version);
  surg_pass_note(p, m->node, text);
  surg_pass_count(p, "domains", 1);
  return missing_import(p, m);
}

/* With the import, the model would be invalid. */
static void tell_unfit(surg_pass_ctx *p, const missing *m) {
  char text[256];
  snprintf(text, sizeof text,
           "domain '%.100s' is not imported, and version %lld does not accept this node: left",
           surg_node_domain(m->node), (long long)m->version);
  surg_pass_note(p, m->unfit, text);
}

static void tell_left(surg_pass_ctx *p, size_t left) {
  char text[128];
  if (left == 0) return;
  snprintf(text, sizeof text, "domains left without an import: %zu, for there are %d imports", left,
           MISSING_DOMAINS);
  surg_context_report(surg_pass_context(p), SURG_WARNING, surg_model_path(surg_pass_model(p)),
                      text);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  missing *list = NULL;
  size_t left = 0;
  (void)unused;
  if (!missing_imports(p, &list)) return SURG_PASS_FAILED;
  for (const missing *m = list; m; m = m->next) {
    if (m->unfit) {
      tell_unfit(p, m);
      continue;
    }
    const bool has_room = missing_room(p, m);
    left += !has_room;
    if (!has_room || !surg_pass_allow(p)) continue;
    if (import(p, m) != SURG_OK) return SURG_PASS_FAILED;
    result = SURG_PASS_CHANGED;
  }
  tell_left(p, left);
  return result;
}

const surg_pass surg__pass_imports = {
    SURG_PASS_HEAD(MODEL, "imports", "add missing opset imports"),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
