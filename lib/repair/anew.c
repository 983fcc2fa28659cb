/* SPDX-License-Identifier: Apache-2.0 */
/* A second search, from another start. The main search keeps a replacement only if it leaves fewer
 * objections, or if few cures of its nodes follow: an operator that becomes twenty nodes, of which
 * six need a cure each, stays. Here all rejected operators are replaced, and the whole search
 * starts from the result. */
#include <string.h>

#include "pass/pass.h"
#include "repair/repair.h"

#define STARTS 2u        /* most searches */
#define ANEW_NODES 1000u /* most nodes of a model that is searched once more */

/* What a search has found, to return to. */
typedef struct state {
  surg_model *m;
  size_t pipeline, starts, refused;
  surg__consent used, wanted;
} state;

static state state_of(const surg__repair *r) {
  return (state){.m = surg_model_clone(r->m),
                 .pipeline = r->pipeline.n,
                 .starts = r->starts.count,
                 .refused = r->refused.n,
                 .used = r->used,
                 .wanted = r->wanted};
}

static void restore(surg__repair *r, state *s) {
  surg_model_free(r->m);
  surg__repair_put(r, s->m);
  r->pipeline.n = s->pipeline;
  r->starts.count = s->starts;
  r->refused.n = s->refused;
  r->used = s->used;
  r->wanted = s->wanted;
}

/* Replaces the operator everywhere, whatever objections the replacement leaves. */
static bool replace(surg__repair *r, const char *op) {
  surg__buf text;
  surg__repair_counts after;
  surg__consent needed;
  surg_model *copy = NULL;
  if (!surg__repair_replaces(r, op)) return false;
  surg__buf_init(&text, r->ctx);
  surg__buf_puts(&text, "replace{op=");
  surg__pipeline_quote(&text, op);
  surg__buf_puts(&text, "}");
  surg__buf_putc(&text, 0);
  if (!text.failed) copy = surg__repair_try(r, text.p, r->given, SIZE_MAX, &after, &needed);
  const bool done = copy && surg__repair_covers(r->given, needed);
  if (done)
    surg__repair_take(r, copy, text.p, needed);
  else if (copy)
    surg_model_free(copy);
  surg__buf_free(&text);
  return done;
}

/* Replaces all rejected operators. False: there are none, or one cannot be replaced, so that a
 * search would leave it, too. */
static bool replace_all(surg__repair *r) {
  surg__repair_ops ops;
  surg__repair_counts unused;
  bool all = false;
  surg__repair_ops_init(&ops, r->ctx);
  if (surg__repair_count(r->t, r->m, &unused, &ops) == SURG_OK && ops.names.n) {
    surg__buf_putc(&ops.names, 0);
    all = !ops.names.failed;
    for (char *word = ops.names.p, *end; all && *word; word = end) {
      end = word + strcspn(word, "+");
      const bool more = *end;
      *end = 0;
      end += more;
      all = replace(r, word);
    }
  }
  surg__repair_ops_free(&ops);
  return all;
}

surg_status surg__repair_anew(surg__repair *r, surg__repair_counts *after,
                              surg__repair_search_fn search) {
  if (!after->all || r->depth || surg_graph_node_count(surg_model_graph(r->m)) > ANEW_NODES)
    return SURG_OK;
  state before = state_of(r);
  surg__repair_counts now = *after;
  surg_status s = before.m ? SURG_OK : SURG_ENOMEM;
  for (unsigned i = 0; i < STARTS && s == SURG_OK && now.all >= after->all && replace_all(r); i++) {
    r->is_wider = false;
    memset(r->worked, 0, sizeof r->worked);
    s = surg__repair_count(r->t, r->m, &now, NULL);
    if (s == SURG_OK) s = search(r, &now);
  }
  if (s == SURG_OK && now.all < after->all) {
    surg_model_free(before.m);
    *after = now;
  } else if (before.m) {
    restore(r, &before);
  }
  return s;
}
