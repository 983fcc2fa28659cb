/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for a pattern: the match side of a rewrite rule, without its conditions on what
 * surrounds a match, as nothing is replaced. */
#include <stdio.h>

#include "base/hush.h"
#include "edit/edit.h"
#include "rewrite/lang/rule.h"

typedef struct found {
  surg_node **nodes;   /* by statement of the pattern, without `let` */
  surg_value **values; /* by name */
  const char **texts;  /* by name */
} found;

struct surg_matches {
  surg_context *ctx;
  surg__rules rules; /* the arena of the pattern and of the matches */
  const surg_rule *pattern;
  size_t n_nodes;
  SURG_VEC(found) list;
};

/* ---- names of attributes --------------------------------------------------------------------- */

static void put_number(surg__buf *b, const surg__rnum *n, bool real) {
  if (!n->known)
    surg__buf_putc(b, '?');
  else if (real)
    surg__buf_printf(b, "%.9g", n->f);
  else
    surg__buf_printf(b, "%lld", (long long)n->i);
}

static void put_string(surg__buf *b, surg_str s) {
  surg__buf_putc(b, '"');
  surg__buf_escape(b, s.p ? s.p : "", s.n, SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(b, '"');
}

static void put_data(surg__buf *b, const surg__rvalue *v) {
  const bool real = v->kind == SURG__R_FLOAT || v->kind == SURG__R_FLOATS;
  switch (v->kind) {
    case SURG__R_INT:
    case SURG__R_FLOAT:
      put_number(b, &v->one, real);
      return;
    case SURG__R_BOOL:
      surg__buf_puts(b, v->one.i ? "true" : "false");
      return;
    case SURG__R_DTYPE:
      surg__buf_puts(b, surg_dtype_name((int)v->one.i) ? surg_dtype_name((int)v->one.i) : "?");
      return;
    case SURG__R_STRING:
      put_string(b, v->s);
      return;
    case SURG__R_INTS:
    case SURG__R_FLOATS:
    case SURG__R_STRINGS:
      break;
    default:
      surg__buf_puts(b, "...");
      return;
  }
  surg__buf_putc(b, '[');
  for (size_t i = 0; i < v->n; i++) {
    if (i) surg__buf_puts(b, ", ");
    if (v->kind == SURG__R_STRINGS)
      put_string(b, v->strings[i]);
    else
      put_number(b, &v->items[i], real);
  }
  surg__buf_putc(b, ']');
}

/* ---- one match ------------------------------------------------------------------------------- */

static bool keep_texts(surg_matches *ms, const surg__match *m, found *f) {
  const surg_rule *r = ms->pattern;
  for (uint16_t k = 0; k < r->n_vars; k++) {
    if (r->vars[k].value) continue;
    surg__buf b;
    surg__buf_init(&b, ms->ctx);
    put_data(&b, &m->data[k]);
    if (!b.failed) f->texts[k] = surg__arena_strn(&ms->rules.arena, b.p ? b.p : "", b.n);
    surg__buf_free(&b);
    if (!f->texts[k]) return false;
  }
  return true;
}

static bool keep_match(surg_matches *ms, const surg__match *m) {
  const surg_rule *r = ms->pattern;
  found f = {0};
  f.nodes = surg__arena_array(&ms->rules.arena, ms->n_nodes, sizeof *f.nodes);
  f.values = surg__arena_array(&ms->rules.arena, r->n_vars + 1u, sizeof *f.values);
  f.texts = surg__arena_array(&ms->rules.arena, r->n_vars + 1u, sizeof *f.texts);
  if (!f.nodes || !f.values || !f.texts) return false;
  size_t n = 0;
  for (uint16_t k = 0; k < r->match.n; k++)
    if (r->match.stmts[k].kind == SURG__S_NODE) f.nodes[n++] = m->nodes[k];
  assert(n == ms->n_nodes);
  for (uint16_t k = 0; k < r->n_vars; k++)
    if (r->vars[k].value) f.values[k] = m->values[k];
  return keep_texts(ms, m, &f) && surg__vec_push(ms->ctx, &ms->list, f);
}

static bool may_match(const surg_rule *r, const surg_node *n) {
  return strcmp(surg_node_op_type(n), r->op_type) == 0;
}

static surg_status match_all(surg_matches *ms, surg_model *model) {
  surg__match *m = surg__calloc(ms->ctx, 1, sizeof *m);
  surg__arena arena;
  bool ok = m != NULL;
  surg__arena_init(&arena, ms->ctx);
  if (ok) *m = (surg__match){.ctx = ms->ctx, .arena = &arena, .rule = ms->pattern};
  for (surg_graph *g = surg_model_next_graph(model, NULL); g && ok;
       g = surg_model_next_graph(model, g))
    for (surg_node *n = surg_graph_first_node(g); n && ok; n = surg_node_next(n)) {
      if (!may_match(ms->pattern, n)) continue;
      const surg__mark mark = surg__arena_mark(&arena);
      if (surg__match_at(m, n, surg_graph_opset(g, ""))) ok = keep_match(ms, m);
      surg__arena_reset(&arena, mark);
    }
  surg__arena_free(&arena);
  surg__free(ms->ctx, m);
  return ok ? SURG_OK : SURG_ENOMEM;
}

/* ---- public ---------------------------------------------------------------------------------- */

void surg__reason(const char *line, char *why, size_t room) {
  static const char word[] = "error: ";
  const char *at = line ? strstr(line, word) : NULL;
  if (at)
    snprintf(why, room, "%.*s%s", (int)(at - line), line, at + sizeof word - 1);
  else
    snprintf(why, room, "%s", line ? line : "out of memory");
}

/* Parses the pattern; an error becomes the reason. */
static surg_status parse(surg_matches *ms, const char *text, char *why, size_t room) {
  const surg__hush h = surg__hush_begin(ms->ctx);
  ms->pattern = surg__rule_query(&ms->rules, text, strlen(text), "pattern");
  const char *line = surg_context_error(ms->ctx);
  if (!ms->pattern && why && room) surg__reason(line, why, room);
  const surg_status s = ms->pattern ? SURG_OK : line ? SURG_EUSAGE : SURG_ENOMEM;
  surg__hush_end(ms->ctx, h);
  for (uint16_t k = 0; ms->pattern && k < ms->pattern->match.n; k++)
    ms->n_nodes += ms->pattern->match.stmts[k].kind == SURG__S_NODE;
  return s;
}

static const char *name_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

/* Nothing matches: whether an operator of the pattern that ONNX does not define is in no node, and
 * what is named nearly so, as the reason. */
static surg_status no_operator(surg_matches *ms, surg_model *m, char *why, size_t room) {
  SURG_VEC(const char *) names = {0};
  bool ok = true;
  for (uint16_t k = 0; k < ms->pattern->match.n && !why[0] && ok; k++) {
    const surg__rstmt *st = &ms->pattern->match.stmts[k];
    bool present = st->kind != SURG__S_NODE || st->op != SURG_OP_UNKNOWN;
    for (surg_graph *g = NULL; ok && !present && (g = surg_model_next_graph(m, g));)
      for (surg_node *n = surg_graph_first_node(g); n && ok && !present; n = surg_node_next(n)) {
        present = strcmp(surg_node_op_type(n), st->op_type) == 0;
        ok = surg__vec_push(ms->ctx, &names, surg_node_op_type(n));
      }
    const char *near =
        present ? NULL : surg__nearest(st->op_type, names.items, names.count, name_at);
    if (ok && !present)
      snprintf(why, room, "the model has no node of operator %s%s%s%s",
               surg__q(ms->ctx, st->op_type), near ? "; did you mean " : "",
               near ? surg__q(ms->ctx, near) : "", near ? "?" : "");
  }
  surg__vec_free(ms->ctx, &names);
  return ok ? SURG_OK : SURG_ENOMEM;
}

surg_status surg_find(surg_model *m, const char *pattern, surg_matches **out, char *why,
                      size_t why_room) {
  if (out) *out = NULL;
  if (!m || !pattern || !out) return SURG_EUSAGE;
  if (why && why_room) why[0] = 0;
  surg_context *ctx = surg_model_context(m);
  surg_matches *ms = surg__calloc(ctx, 1, sizeof *ms);
  if (!ms) return surg__oom(ctx, NULL);
  ms->ctx = ms->rules.ctx = ctx;
  surg__arena_init(&ms->rules.arena, ctx);
  surg_status s = parse(ms, pattern, why, why_room);
  if (s == SURG_OK && surg_model_infer(m) == SURG_ENOMEM) s = SURG_ENOMEM; /* a cycle: no types */
  if (s == SURG_OK) s = match_all(ms, m);
  if (s == SURG_OK && !ms->list.count && why && why_room) s = no_operator(ms, m, why, why_room);
  if (s == SURG_ENOMEM) s = surg__oom(ctx, NULL);
  if (s == SURG_OK)
    *out = ms;
  else
    surg_matches_free(ms);
  return s;
}

size_t surg_matches_count(const surg_matches *ms) {
  return ms ? ms->list.count : 0;
}

surg_node *surg_matches_node(const surg_matches *ms, size_t i, size_t k) {
  if (i >= surg_matches_count(ms) || k >= ms->n_nodes) return NULL;
  return ms->list.items[i].nodes[k];
}

const char *surg_matches_name(const surg_matches *ms, size_t k) {
  return ms && k < ms->pattern->n_vars ? ms->pattern->vars[k].name : NULL;
}

surg_value *surg_matches_value(const surg_matches *ms, size_t i, size_t k) {
  if (i >= surg_matches_count(ms) || k >= ms->pattern->n_vars) return NULL;
  return ms->list.items[i].values[k];
}

const char *surg_matches_text(const surg_matches *ms, size_t i, size_t k) {
  if (i >= surg_matches_count(ms) || k >= ms->pattern->n_vars) return NULL;
  return ms->list.items[i].texts[k];
}

void surg_matches_free(surg_matches *ms) {
  if (!ms) return;
  surg__vec_free(ms->ctx, &ms->list);
  surg__arena_free(&ms->rules.arena);
  surg__free(ms->ctx, ms);
}
