/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations of importer messages as public objects (onnxsurg/explain.h). */
#include <onnxsurg/explain.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/taught.h"
#include "target/messages.h"

surg_status surg_messages_new(surg_context *ctx, const char *path, surg_messages **out) {
  if (!ctx || !out) return SURG_EUSAGE;
  char *text = NULL;
  size_t n = 0;
  *out = surg__messages_new(ctx);
  surg_status s = *out ? SURG_OK : surg__oom(ctx, NULL);
  if (s == SURG_OK && path) s = surg__read_text(ctx, path, SURG_LIMIT_TARGET_BYTES, &text, &n);
  if (s == SURG_OK && path) s = surg__messages_read(*out, text, n, path);
  const struct surg__taught *t = ctx->taught;
  for (size_t i = 0; s == SURG_OK && t && i < t->messages.count; i++) {
    const surg__taught_text *own = &t->messages.items[i];
    s = surg__messages_read(*out, own->text, own->n, own->name);
  }
  if (s == SURG_OK) s = surg__messages_read_builtin(*out);
  free(text);
  if (s != SURG_OK && *out) surg__messages_free(*out);
  if (s != SURG_OK) *out = NULL;
  return s;
}

void surg_messages_free(surg_messages *all) {
  if (all) surg__messages_free(all);
}

static surg_explanation public_of(const surg__explained *e) {
  const surg__message *m = e->message;
  return (surg_explanation){.size = sizeof(surg_explanation),
                            .id = m->id,
                            .engine = m->engine,
                            .versions = m->versions,
                            .when = m->when,
                            .line = e->line,
                            .number = e->number,
                            .op = e->op,
                            .node = e->node,
                            .value = e->value,
                            .cause = e->cause,
                            .cure = e->cure,
                            .passes = e->passes.items,
                            .n_passes = e->passes.n,
                            .checks = m->checks.items,
                            .n_checks = m->checks.n,
                            .allow = m->allow,
                            .target = m->target,
                            .general = m->general,
                            .entry = e};
}

surg_status surg_explain(const surg_messages *all, const char *text, size_t n, const char *engine,
                         surg_explanation_fn fn, void *user, size_t *count) {
  if (count) *count = 0;
  if (!all || !text) return SURG_EUSAGE;
  surg__explanations found = {0};
  const surg_status s = surg__messages_explain(all, text, n, engine, &found);
  for (size_t i = 0; s == SURG_OK && fn && i < found.items.count; i++) {
    const surg_explanation e = public_of(&found.items.items[i]);
    fn(user, &e);
  }
  if (s == SURG_OK && count) *count = found.items.count;
  surg__explanations_free(&found);
  return s;
}

static void ignore(void *user, const char *where, const char *text) {
  (void)user, (void)where, (void)text;
}

surg_status surg_explanation_look(const surg_explanation *e, surg_model *model, surg_place_fn fn,
                                  void *user, size_t *seen) {
  size_t mine = 0;
  if (seen) *seen = 0;
  if (!e || !e->entry || !model) return SURG_EUSAGE;
  const surg_status s = surg__explained_seen(e->entry, model, fn ? fn : ignore, user, &mine);
  if (seen) *seen = mine;
  return s;
}
