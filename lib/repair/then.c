/* SPDX-License-Identifier: Apache-2.0 */
/* What the user wants besides a repair, such as a conversion of precision: a pipeline that runs
 * after it, and a second search that cures what the pipeline makes unsupported. */
#include "repair/repair.h"

#include "base/diag.h"
#include "pass/pass.h"

/* Runs the pipeline on a copy. Errors stay in the context, to be reported. */
static surg_status run_on(surg__repair *r, const char *text, surg_model **copy,
                          surg__consent *needed) {
  surg__pipeline *p = NULL;
  surg__buf before, after;
  surg__run_report report = {0};
  const surg__consent given = r->given;
  const surg_exactness most = given.most > SURG_APPROX ? given.most : SURG_APPROX;
  const surg__run_options options = {
      .verify_each = r->verify_each, .has_allow = true, .allow = most};
  surg__buf_init(&before, r->ctx);
  surg__buf_init(&after, r->ctx);
  surg_context_clear_error(r->ctx);
  surg_status s = surg__pipeline_parse(r->ctx, text, "repair", &p);
  if (s == SURG_OK) s = surg__repair_put_interface(*copy, &before);
  if (s == SURG_OK) s = surg__run(copy, p, &options, &report);
  if (s == SURG_OK) s = surg__repair_put_interface(*copy, &after);
  if (s == SURG_OK) {
    const bool same = before.n == after.n && (!after.n || !memcmp(before.p, after.p, after.n));
    *needed = (surg__consent){report.worst, report.interface || !same};
  }
  surg__run_report_free(&report);
  surg__buf_free(&before);
  surg__buf_free(&after);
  surg__pipeline_free(p);
  return s;
}

/* Puts a step of the pipeline; one of the repair itself keeps the consent of the repair, as the
 * whole pipeline has more. */
static void put(surg__buf *b, const char *text, size_t n, const surg__repair *limited) {
  const bool allow = limited && limited->given.most < SURG_APPROX;
  if (!n) return;
  if (b->n) surg__buf_putc(b, ',');
  if (allow) surg__buf_printf(b, "allow{%s}(", surg__exactness_name(limited->given.most));
  surg__buf_put(b, text, n);
  if (allow) surg__buf_putc(b, ')');
}

/* Takes over what the second search found, and its model. */
static surg_status adopt(surg__repair *r, surg__repair *second, const char *then,
                         surg__consent needed) {
  surg__buf all;
  surg__buf_init(&all, r->ctx);
  put(&all, r->pipeline.p, r->pipeline.n, r);
  put(&all, then, strlen(then), NULL);
  put(&all, second->pipeline.p, second->pipeline.n, r);
  surg__buf_putc(&all, 0);
  if (all.failed) {
    surg__buf_free(&all);
    return SURG_ENOMEM;
  }
  all.n--;
  surg__buf_free(&r->pipeline);
  r->pipeline = all;
  surg_model_free(r->m);
  surg__repair_put(r, second->m);
  second->m = NULL;
  const surg__consent more[] = {needed, second->used};
  for (size_t i = 0; i < SURG_COUNT(more); i++) {
    if (more[i].most > r->used.most) r->used.most = more[i].most;
    r->used.interface |= more[i].interface;
  }
  r->elsewhere = second->elsewhere;
  r->nodes = second->nodes;
  return SURG_OK;
}

surg_status surg__repair_then(surg__repair *r, const char *then, surg__repair_counts *after,
                              bool *done) {
  surg__consent needed = {SURG_EXACT, false};
  surg__repair_counts before, now;
  surg__repair second;
  *done = false;
  surg_model *copy = surg_model_clone(r->m);
  if (!copy) return SURG_ENOMEM;
  surg_status s = run_on(r, then, &copy, &needed);
  if (s != SURG_OK) {
    surg_model_free(copy);
    return s;
  }
  surg__repair_init(&second, r->ctx, r->t, copy, r->given);
  second.verify_each = r->verify_each;
  second.is_nearer = r->is_nearer;
  second.lacks = r->lacks;
  second.origin = r->origin;
  s = surg__repair_find(&second, &before, &now);
  if (s == SURG_OK && now.all <= after->all) {
    s = adopt(r, &second, then, needed);
    *after = now;
    *done = s == SURG_OK;
  }
  surg__repair_free(&second);
  return s;
}
