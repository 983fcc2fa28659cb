/* SPDX-License-Identifier: Apache-2.0 */
/* Repair for a target with a host: once the host supports the model, searches for passes that leave
 * fewer nodes on the host. */
#include <string.h>

#include "repair/repair.h"

static void count_place(void *user, const surg__objection *o) {
  *(size_t *)user += o->verdict == SURG__ILLEGAL;
}

static surg_status places(const surg__target *t, surg_model *m, size_t *elsewhere, size_t *nodes) {
  *elsewhere = 0;
  return surg__target_elsewhere(t, m, count_place, elsewhere, nodes);
}

/* The target without its host, whose opsets, IR versions and function support it inherits if it
 * states none. */
static surg__target alone(const surg__target *t) {
  surg__target own = *t;
  own.host = NULL;
  own.between = false;
  own.folds = true; /* hosts fold constants before they partition the graph */
  if (!own.opsets.count) own.opsets = t->host->opsets;
  if (own.ir.low == INT64_MIN && own.ir.high == INT64_MAX) own.ir = t->host->ir;
  if (own.functions == SURG__UNSAID) own.functions = t->host->functions;
  return own;
}

surg_status surg__repair_nearer(surg__repair *r, surg__repair_counts *after,
                                surg__repair_search_fn search) {
  const surg__target *t = r->t;
  surg__repair_counts now = {0}, host = {0};
  size_t left, nodes;
  if (!t->host || after->all || r->depth) return SURG_OK;
  surg_status s = places(t, r->m, &r->elsewhere, &r->nodes);
  r->was = r->elsewhere;
  if (s || !r->elsewhere || !r->is_nearer) return s;
  surg_model *before = surg_model_clone(r->m);
  const size_t pipeline = r->pipeline.n, refused = r->refused.n;
  const surg__consent used = r->used, wanted = r->wanted;
  if (!before) return SURG_ENOMEM;
  r->lenient = alone(t);
  r->t = &r->lenient;
  surg__memo_free(r->ctx, &r->tried); /* another target may have been there */
  r->is_wider = false;
  memset(r->worked, 0, sizeof r->worked);
  s = surg__repair_count(r->t, r->m, &now, NULL);
  if (s == SURG_OK) s = search(r, &now);
  r->t = t;
  if (s == SURG_OK) s = surg__repair_count(t, r->m, &host, NULL);
  if (s == SURG_OK) s = places(t, r->m, &left, &nodes);
  r->refused.n = refused; /* cures of the target alone are not required */
  r->wanted = wanted;
  if (s == SURG_OK && !host.all && host.unknown <= after->unknown && left < r->elsewhere) {
    *after = host;
    r->elsewhere = left;
    r->nodes = nodes;
    surg_model_free(before);
    return s;
  }
  surg_model_free(r->m);
  surg__repair_put(r, before);
  r->pipeline.n = pipeline;
  r->used = used;
  return s;
}
