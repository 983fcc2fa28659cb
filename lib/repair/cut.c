/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts as public objects: finds the nodes that block a target, and writes the pipelines that
 * extract the parts.
 *
 * A node may block only because of the rest of the model: a Clip of opset 12, where the engine has
 * that of opset 6, if something else cannot leave opset 12. So a second search begins with the
 * nodes whose operator the target does not have at all, and repairs the middle part by itself; what
 * then remains is blocked, too. */
#include <onnxsurg/repair.h>

#include "base/base.h"
#include "base/hush.h"
#include "base/ptrs.h"
#include "pass/pass.h"
#include "target/target.h"

#define ROUNDS 4u  /* repairs of a middle part in one search */
#define STEPS 200u /* nodes followed from a node that a repair added */

struct surg_cut {
  surg_context *ctx;
  surg_model *m;
  const surg_target *t;
  surg__cut cut;
  bool repaired; /* the middle part is supported after a repair with the consent below */
  surg_exactness allow;
  bool allow_interface;
};

typedef struct blocking {
  surg_context *ctx;
  const surg_target *t;
  SURG_VEC(const surg_node *) nodes;
  surg__ptrs seen; /* the same, as a set */
  bool absent_only; /* only nodes whose operator the target does not have */
  bool failed;
} blocking;

/* Whether the target supports some form of the operator of a node. */
static bool has_operator(const surg_target *t, const surg_node *n) {
  const surg__op_facts *op = surg__target_op(t, surg_node_domain(n), surg_node_op_type(n));
  for (size_t i = 0; op && i < op->n; i++)
    if (!op->facts[i].refused && !op->facts[i].misread) return true;
  return false;
}

/* Adds a node; returns whether it is new. */
static bool add(blocking *b, const surg_node *n) {
  bool is_new;
  if (!surg__ptrs_add(b->ctx, &b->seen, n, &is_new) ||
      (is_new && !surg__vec_push(b->ctx, &b->nodes, n)))
    b->failed = true;
  return is_new && !b->failed;
}

static void finish(blocking *b) {
  surg__vec_free(b->ctx, &b->nodes);
  surg__ptrs_free(b->ctx, &b->seen);
}

static void blocks(void *user, const surg__objection *o) {
  blocking *b = user;
  if (o->verdict != SURG__ILLEGAL || !o->node) return;
  if (b->absent_only && has_operator(b->t, o->node)) return;
  (void)add(b, o->node);
}

static surg_status find_blocked(blocking *b, surg_model *m) {
  const surg_status s = surg__target_model(b->t, m, blocks, b);
  return s == SURG_OK && b->failed ? surg__alloc_status(b->ctx) : s;
}

static surg_cut *new_cut(const surg_target *target, surg_model *model) {
  surg_context *ctx = surg_model_context(model);
  surg_cut *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) return NULL;
  c->ctx = ctx;
  c->m = model;
  c->t = target;
  return c;
}

surg_status surg_cut_find(const surg_target *target, surg_model *model, surg_cut **out) {
  if (!target || !model || !out) return SURG_EUSAGE;
  blocking b = {.ctx = surg_model_context(model), .t = target};
  *out = NULL;
  surg_cut *c = new_cut(target, model);
  if (!c) return surg__alloc_status(b.ctx);
  surg_status s = find_blocked(&b, model);
  if (s == SURG_OK && !b.nodes.count) s = SURG_ENOTFOUND;
  if (s == SURG_OK) s = surg__target_cut(model, b.nodes.items, b.nodes.count, &c->cut);
  finish(&b);
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
static surg_status repair_core(const surg_cut *c, const char *extract, surg_repair **found) {
  const surg_repair_options all = {
      .size = sizeof all, .has_allow = true, .allow = SURG_LOSSY, .allow_interface = true};
  surg_model *copy = surg_model_clone(c->m);
  surg_status s = copy ? surg_model_run(&copy, extract) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg_repair_find(copy, c->t, &all, found);
  surg_model_free(copy);
  return s;
}

/* As repair_core, without what it reports. *found is NULL if the part cannot be extracted. */
static surg_status try_core(const surg_cut *c, surg_repair **found, surg_repair_result *result) {
  char *extract = NULL;
  *found = NULL;
  *result = (surg_repair_result){.size = sizeof *result};
  surg_status s = surg_cut_pipeline(c, SURG_CUT_CORE, &extract);
  if (s != SURG_OK) return s == SURG_ENOTFOUND ? SURG_OK : s;
  const surg__hush h = surg__hush_begin(c->ctx);
  s = repair_core(c, extract, found);
  surg__hush_end(c->ctx, h);
  surg_context_free_bytes(c->ctx, extract);
  if (s == SURG_OK) s = surg_repair_get(*found, result);
  return s == SURG_ENOMEM ? s : SURG_OK;
}

surg_status surg_cut_supported(const surg_cut *c, bool *supported) {
  if (!c || !supported) return SURG_EUSAGE;
  surg_repair *found;
  surg_repair_result result;
  const surg_status s = try_core(c, &found, &result);
  *supported = c->repaired || (found && !result.unsupported);
  surg_repair_free(found);
  return s;
}

/* --- with a repair of the middle part --- */

/* The node of the model that a node of a repaired part comes from: the producer of a value with the
 * name of one of its outputs, or of an output of a node after it. NULL: no such name within STEPS
 * nodes. */
static const surg_node *origin(const surg_cut *c, const surg_node *n) {
  for (unsigned step = 0; n && step < STEPS; step++) {
    const surg_node *next = NULL;
    for (size_t k = 0; k < surg_node_output_count(n); k++) {
      const surg_value *made = surg_node_output(n, k), *v = NULL;
      if (made) v = surg_graph_find_value(surg_model_graph(c->m), surg_value_name(made));
      if (v && surg_value_producer(v, NULL)) return surg_value_producer(v, NULL);
      for (const surg_use *u = made ? surg_value_first_use(made) : NULL; u && !next;
           u = surg_use_next(u))
        if (surg_use_get_kind(u) == SURG_USE_NODE) next = surg_use_node(u);
    }
    n = next;
  }
  return NULL;
}

/* Adds what still blocks the repaired part. Returns whether that is something new. */
static bool add_remaining(const surg_cut *c, surg_repair *found, blocking *to) {
  blocking rest = {.ctx = c->ctx, .t = c->t};
  bool added = false;
  if (find_blocked(&rest, surg_repair_model(found)) == SURG_OK)
    for (size_t i = 0; i < rest.nodes.count; i++) {
      const surg_node *n = origin(c, rest.nodes.items[i]);
      if (n && add(to, n)) added = true;
    }
  finish(&rest);
  return added;
}

/* Cuts until the repaired middle part is supported. SURG_ENOTFOUND: it is not, or not larger than
 * `least` nodes. */
static surg_status cut_repaired(surg_cut *c, blocking *b, size_t least) {
  surg_status s = b->nodes.count ? SURG_OK : SURG_ENOTFOUND;
  for (unsigned round = 0; round < ROUNDS && s == SURG_OK; round++) {
    surg_repair *found;
    surg_repair_result result;
    surg__target_cut_free(&c->cut);
    s = surg__target_cut(c->m, b->nodes.items, b->nodes.count, &c->cut);
    if (s == SURG_OK && c->cut.nodes[SURG_CUT_CORE] <= least) s = SURG_ENOTFOUND;
    if (s != SURG_OK) return s;
    s = try_core(c, &found, &result);
    if (s == SURG_OK && found && !result.unsupported && !result.unknown) {
      c->repaired = true;
      c->allow = (surg_exactness)result.used;
      c->allow_interface = result.used_interface;
    }
    const bool again = s == SURG_OK && !c->repaired && found && add_remaining(c, found, b);
    surg_repair_free(found);
    if (c->repaired) return SURG_OK;
    if (s == SURG_OK && !again) s = SURG_ENOTFOUND;
  }
  return s == SURG_OK ? SURG_ENOTFOUND : s;
}

surg_status surg_cut_find_repaired(const surg_target *target, surg_model *model, size_t least,
                                   surg_cut **out) {
  if (!target || !model || !out) return SURG_EUSAGE;
  blocking b = {.ctx = surg_model_context(model), .t = target, .absent_only = true};
  *out = NULL;
  surg_cut *c = new_cut(target, model);
  if (!c) return surg__alloc_status(b.ctx);
  surg_status s = find_blocked(&b, model);
  if (s == SURG_OK) s = cut_repaired(c, &b, least);
  finish(&b);
  if (s == SURG_OK)
    *out = c;
  else
    surg_cut_free(c);
  return s;
}

bool surg_cut_consent(const surg_cut *c, surg_exactness *allow, bool *with_interface) {
  if (!c || !c->repaired) return false;
  if (allow) *allow = c->allow;
  if (with_interface) *with_interface = c->allow_interface;
  return true;
}
