/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts as public objects: finds the nodes that block a target, and writes the pipelines that
 * extract the parts. */
#include <onnxsurg/repair.h>

#include "base/base.h"
#include "base/hush.h"
#include "pass/pass.h"
#include "target/target.h"

struct surg_cut {
  surg_context *ctx;
  surg_model *m;
  const surg_target *t;
  surg__cut cut;
};

typedef struct blocking {
  surg_context *ctx;
  SURG_VEC(const surg_node *) nodes;
  bool failed;
} blocking;

static void blocks(void *user, const surg__objection *o) {
  blocking *b = user;
  if (o->verdict != SURG__ILLEGAL || !o->node) return;
  if (!surg__vec_push(b->ctx, &b->nodes, o->node)) b->failed = true;
}

surg_status surg_cut_find(const surg_target *target, surg_model *model, surg_cut **out) {
  if (!target || !model || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  blocking b = {.ctx = ctx};
  *out = NULL;
  surg_cut *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) return surg__alloc_status(ctx);
  c->ctx = ctx;
  c->m = model;
  c->t = target;
  surg_status s = surg__target_model(target, model, blocks, &b);
  if (s == SURG_OK && b.failed) s = surg__alloc_status(ctx);
  if (s == SURG_OK && !b.nodes.count) s = SURG_ENOTFOUND;
  if (s == SURG_OK) s = surg__target_cut(model, b.nodes.items, b.nodes.count, &c->cut);
  surg__vec_free(ctx, &b.nodes);
  if (s == SURG_OK)
    *out = c;
  else
    surg_cut_free(c);
  return s;
}

void surg_cut_free(surg_cut *c) {
  if (!c) return;
  surg__target_cut_free(&c->cut);
  surg__free(c->ctx, c);
}

size_t surg_cut_nodes(const surg_cut *c, surg_cut_part part) {
  return c && part >= SURG_CUT_BEFORE && part <= SURG_CUT_BEHIND ? c->cut.nodes[part] : 0;
}

/* The inputs or outputs of a part; NULL: the same as those of the model. */
static const surg__cut_values *end_of(const surg_cut *c, surg_cut_part part, bool outputs) {
  switch (part) {
    case SURG_CUT_BEFORE:
      return outputs ? &c->cut.pre_out : NULL;
    case SURG_CUT_CORE:
      return outputs ? &c->cut.core_out : &c->cut.core_in;
    case SURG_CUT_BEHIND:
      return outputs ? &c->cut.post_out : &c->cut.post_in;
  }
  return NULL;
}

const surg_value *surg_cut_value(const surg_cut *c, surg_cut_part part, bool outputs, size_t i) {
  const surg__cut_values *list = c ? end_of(c, part, outputs) : NULL;
  return list && i < list->count ? list->items[i] : NULL;
}

/* Appends `option=A+B`; nothing for an empty list. False: too many values. */
static bool put_values(surg__buf *b, const char *option, const surg__cut_values *list) {
  if (!list || !list->count) return true;
  if (list->count > SURG__CUT_ENDS) return false;
  surg__buf_printf(b, "%s%s=", b->p[b->n - 1] == '{' ? "" : ",", option);
  for (size_t i = 0; i < list->count; i++) {
    if (i) surg__buf_putc(b, '+');
    surg__pipeline_quote(b, surg_value_name(list->items[i]));
  }
  return true;
}

surg_status surg_cut_pipeline(const surg_cut *c, surg_cut_part part, char **text) {
  if (!c || !text) return SURG_EUSAGE;
  *text = NULL;
  const surg__cut_values *to = end_of(c, part, true);
  surg__buf b;
  surg__buf_init(&b, c->ctx);
  surg__buf_puts(&b, "extract{");
  const bool done = !b.failed && put_values(&b, "from", end_of(c, part, false)) && to &&
                    to->count && put_values(&b, "to", to);
  surg__buf_puts(&b, "}");
  surg__buf_putc(&b, 0);
  if (done && !b.failed) {
    *text = b.p;
    return SURG_OK;
  }
  const surg_status s = b.failed ? surg__alloc_status(c->ctx) : SURG_ENOTFOUND;
  surg__buf_free(&b);
  return s;
}

/* Extracts the middle part from a copy of the model and searches for a repair with all consent. */
static surg_status repair_core(const surg_cut *c, const char *extract, bool *supported) {
  const surg_repair_options all = {
      .size = sizeof all, .has_allow = true, .allow = SURG_LOSSY, .allow_interface = true};
  surg_repair_result result = {.size = sizeof result};
  surg_repair *found = NULL;
  surg_model *copy = surg_model_clone(c->m);
  surg_status s = copy ? surg_model_run(&copy, extract) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg_repair_find(copy, c->t, &all, &found);
  if (s == SURG_OK) s = surg_repair_get(found, &result);
  surg_repair_free(found);
  surg_model_free(copy);
  *supported = s == SURG_OK && !result.unsupported;
  return s;
}

surg_status surg_cut_supported(const surg_cut *c, bool *supported) {
  char *extract = NULL;
  if (!c || !supported) return SURG_EUSAGE;
  *supported = false;
  surg_status s = surg_cut_pipeline(c, SURG_CUT_CORE, &extract);
  if (s == SURG_ENOTFOUND) return SURG_OK; /* it cannot be extracted */
  if (s != SURG_OK) return s;
  const surg__hush h = surg__hush_begin(c->ctx);
  s = repair_core(c, extract, supported);
  surg__hush_end(c->ctx, h);
  surg_context_free_bytes(c->ctx, extract);
  return s == SURG_ENOMEM ? s : SURG_OK;
}
