/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a model has the fault that a message reports: judged by the message's `means` as a
 * target, and by the findings of `check` that report the same fault. */
#include "base/context.h"
#include "base/limits.h"
#include "check/check.h"
#include "ir/ir.h" /* for surg__locate_node only */
#include "target/messages.h"

typedef struct looking {
  const surg__explained *e;
  const surg_node *node; /* the node that the message names; if it exists, only it counts */
  surg__seen_fn fn;
  void *user;
  size_t seen;
} looking;

static void by_target(void *user, const surg__objection *o) {
  looking *l = user;
  if (o->verdict != SURG__ILLEGAL || (l->node && o->node != l->node)) return;
  l->seen++;
  l->fn(l->user, o->node ? surg__locate_node(o->node) : "model", o->text);
}

static void by_check(void *user, const surg__finding *f) {
  looking *l = user;
  for (size_t i = 0; i < l->e->message->checks.n; i++) {
    if (strcmp(l->e->message->checks.items[i], f->code) != 0) continue;
    l->seen++;
    if (f->text) l->fn(l->user, f->where ? f->where : "model", f->text);
    return;
  }
}

surg_status surg__explained_seen(const surg__explained *e, surg_model *m, surg__seen_fn fn,
                                 void *user, size_t *seen) {
  looking l = {.e = e, .fn = fn, .user = user};
  surg_status s = SURG_OK;
  *seen = 0;
  if (e->node) l.node = surg_model_find_node(m, e->node, NULL);
  if (!e->means && !e->message->checks.n) return SURG_ENOTFOUND;
  if (e->means) {
    surg_context *ctx = surg_model_context(m);
    surg__target *t = surg__explained_target(ctx, e);
    const surg_status failed = ctx->alloc_status ? ctx->alloc_status : SURG_EINVALID;
    s = t ? surg__target_facts(t, m, by_target, &l) : failed;
    surg__target_free(t);
  }
  if (!s && e->message->checks.n)
    s = surg__check_model(m, true, SURG_LIMIT_FINDINGS, by_check, &l);
  *seen = l.seen;
  return s;
}
