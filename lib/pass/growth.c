/* SPDX-License-Identifier: Apache-2.0 */
/* What a run would win if the file might grow: found by running the pipeline again. */
#include <onnxsurg/run.h>

#include "base/diag.h"
#include "io/io.h"
#include "pass/internal.h"

bool surg__left_work(const surg__run_report *r) {
  if (r->grows) return true;
  for (size_t i = 0; i < r->passes.count; i++)
    for (size_t k = 0; k < r->passes.items[i].counters.count; k++)
      if (strstr(r->passes.items[i].counters.items[k].what, "max-growth")) return true;
  return false;
}

static void no_line(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

/* Runs the pipeline on a clone of `original` with this budget. Returns false if the run fails; else
 * the nodes and the bytes of the file of its result. */
static bool try_budget(const surg_pipeline *p, const surg_model *original,
                       const surg__run_options *like, uint64_t budget, uint64_t *nodes,
                       uint64_t *bytes) {
  surg_model *m = surg_model_clone(original);
  surg__run_options o = *like;
  o.max_growth = budget;
  o.print = NULL;
  o.progress = NULL;
  o.log_path = o.map_path = o.certificate_path = NULL;
  o.trial = NULL;
  o.dry_run = false;
  if (!m) return false;
  surg_status s = surg__run(&m, p, &o, NULL);
  if (!s) s = surg__saved_bytes(m, bytes);
  if (!s) *nodes = surg__node_count(m);
  surg_model_free(m);
  return s == SURG_OK;
}

/* Looks for the budget: all growth at once, and then no more than the file grew by. */
static void look(const surg_pipeline *p, const surg_model *original, surg_model *result,
                 const surg__run_options *o, surg_growth *out) {
  const uint64_t now = surg__node_count(result);
  uint64_t bytes, nodes, grown, again = 0, size;
  if (surg__saved_bytes(result, &bytes)) return;
  if (!try_budget(p, original, o, UINT64_MAX, &nodes, &grown) || nodes >= now) return;
  out->nodes = now - nodes;
  out->bytes = grown > bytes ? grown - bytes : 0;
  out->max_growth = UINT64_MAX;
  const uint64_t budget = (out->bytes / 1024 + 1) * 1024;
  if (try_budget(p, original, o, budget, &again, &size) && again == nodes) out->max_growth = budget;
}

surg_status surg_run_growth(const surg_pipeline *p, const surg_model *original, surg_model *result,
                            const surg_run_options *options, const surg_run_report *r,
                            surg_growth *out) {
  surg_growth found = {.size = sizeof found};
  surg_run_options all;
  if (!p || !original || !result || !r || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(result);
  surg__struct_in(&all, sizeof all, options);
  const surg__run_options o = surg__run_options_of(&all);
  if (surg__left_work(surg__run_report_of(r)) && !o.max_growth &&
      surg__node_count(original) <= SURG_LIMIT_GROWTH_NODES) {
    const surg_diag_fn diag = ctx->config.diag;
    ctx->config.diag = no_line;
    look(p, original, result, &o, &found);
    ctx->config.diag = diag;
    surg_context_clear_error(ctx);
  }
  surg__struct_out(out, &found, sizeof found);
  return SURG_OK;
}
