/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on a model and an engine. Both searches run on copies: first what is exact, then with
 * all consents. */
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "ir/ir.h" /* for surg__locate_node alone */
#include "pass/pass.h"

#define SHOWN 5u /* of what blocks */
#define ENDS 12u /* values at an end of a part that commands name */

static void hear_nothing(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

surg_context *quiet_context(const cli_common *common) {
  const surg_config config = {.size = sizeof config,
                              .diag = hear_nothing,
                              .max_memory = common->max_memory,
                              .max_depth = common->max_depth};
  surg_context *ctx = surg_context_new(&config);
  if (ctx && surg_context_passes(ctx) && cli_schemas(ctx, common) == EXIT_DONE) return ctx;
  quiet_tell(ctx, SURG_ENOMEM);
  surg_context_free(ctx);
  return NULL;
}

surg_status quiet_tell(surg_context *ctx, surg_status status) {
  const char *line = ctx ? surg_context_error(ctx) : NULL;
  if (line)
    fprintf(stderr, "%s\n", line);
  else if (status == SURG_ENOMEM)
    cli_no_memory();
  return status;
}

surg_status quiet_open_any(quiet_model *q, const cli_common *common, const char *path,
                           const void *bytes, size_t n) {
  *q = (quiet_model){.ctx = quiet_context(common)};
  if (!q->ctx) return SURG_ENOMEM;
  surg_load_options lenient = common->load;
  lenient.policy = SURG_LOAD_LENIENT; /* data files may be missing */
  surg_status s = bytes ? surg_load_memory(q->ctx, bytes, n, path, &lenient, &q->m)
                        : surg_load(q->ctx, path, &lenient, &q->m);
  return s == SURG_OK ? s : quiet_tell(q->ctx, s);
}

surg_status quiet_open(quiet_model *q, const cli_common *common, const char *path,
                       const void *bytes, size_t n) {
  surg_status s = quiet_open_any(q, common, path, bytes, n);
  if (s != SURG_OK) return s;
  s = surg__refuse_defects(q->m);
  return s == SURG_OK ? s : quiet_tell(q->ctx, s);
}

void quiet_close(quiet_model *q) {
  if (q->m) surg_model_free(q->m);
  surg_context_free(q->ctx);
  *q = (quiet_model){0};
}

/* --- finding --- */

/* A copy of the model, without what makes it invalid where `mend` can cure that with the consent;
 * *used: what the cures took. NULL: out of memory. */
static surg_model *mended(const surg_model *m, repair_consent given, repair_consent *used,
                          bool *changed) {
  surg_model *copy = surg_model_clone(m);
  *changed = false;
  if (!copy || !surg_model_finding_count(copy)) return copy;
  const uint64_t epoch = surg_model_epoch(copy);
  const surg_status s = repair_run(surg_model_context(m), &copy, "mend", given, false, used);
  if (s == SURG_OK) *changed = surg_model_epoch(copy) != epoch;
  return s == SURG_ENOMEM ? NULL : copy ? copy : surg_model_clone(m);
}

static surg_status search(verdict *v, const surg__target *t, const surg_model *m,
                          repair_consent given) {
  const bool none = !given.interface && given.most == REPAIR_NO_CONSENT.most;
  const repair_consent certain = {SURG_EXACT, false};
  repair_consent used = REPAIR_NO_CONSENT;
  repair_counts before;
  bool changed;
  surg_model *whole = surg_model_clone(m);
  if (!whole) return SURG_ENOMEM;
  surg_status s = repair_count(t, whole, &before, NULL);
  surg_model_free(whole);
  surg_model *copy = s == SURG_OK ? mended(m, none ? certain : given, &used, &changed) : NULL;
  if (!copy) return s ? s : SURG_ENOMEM;
  repair_free(&v->search);
  repair_init(&v->search, surg_model_context(m), t, copy, given);
  if (changed) {
    /* A declaration that is corrected is no change of the interface. */
    v->search.used = (repair_consent){used.most, used.interface && given.interface};
    surg__buf_puts(&v->search.pipeline, "mend");
  }
  s = repair_find(&v->search, &v->before, &v->after);
  v->before = before;
  return s;
}

/* What came of a search that left nothing unsupported. */
static verdict_kind cured(const verdict *v, verdict_kind kind) {
  return v->after.unknown ? VERDICT_UNCERTAIN : kind;
}

/* Of a repair that takes no consent: exact, ulp or rounding. */
static const char *repair_class(const verdict *v) {
  return surg__exactness_name(v->search.used.most);
}

static void spell(verdict *v) {
  char with[64];
  repair_spell_consent(with, sizeof with, v->needed);
  snprintf(v->with, sizeof v->with, "%s%s%s",
           v->kind == VERDICT_EXACT       ? repair_class(v)
           : v->kind == VERDICT_BLOCKED   ? "no"
           : v->kind == VERDICT_UNCERTAIN ? "unknown"
                                          : "",
           with[0] ? v->kind == VERDICT_UNCERTAIN ? ", with " : "with " : "", with);
}

surg_status verdict_find(verdict *v, const surg__target *t, const surg_model *m) {
  *v = (verdict){0};
  surg_status s = search(v, t, m, REPAIR_NO_CONSENT);
  v->kind = v->before.all       ? cured(v, VERDICT_EXACT)
            : v->before.unknown ? VERDICT_UNKNOWN
                                : VERDICT_IMPORTS;
  if (s == SURG_OK && v->after.all) {
    s = search(v, t, m, REPAIR_ALL_CONSENT);
    v->kind = v->after.all ? VERDICT_BLOCKED : cured(v, VERDICT_CONSENT);
    if (!v->after.all) v->needed = v->search.used;
  }
  spell(v);
  return s;
}

void verdict_free(verdict *v) { repair_free(&v->search); }

surg__verdict verdict_of(const verdict *v) {
  return surg__verdict_of(v->before.all, v->before.unknown);
}

const char *verdict_repair(const verdict *v) { return v->with; }

/* --- what blocks --- */

typedef struct blocking {
  const surg__target *t;
  surg_context *ctx;
  SURG_VEC(const surg_node *) nodes;
  json_t *list; /* or NULL: lines */
  size_t all;
} blocking;

static void blocks(void *user, const surg__objection *o) {
  blocking *b = user;
  if (o->verdict != SURG__ILLEGAL) return;
  const char *where = o->where ? o->where : o->node ? surg__locate_node(o->node) : "model";
  if (b->list)
    json_array_append_new(b->list, json_pack("{s:o,s:o}", "where", cli_text_json(where), "text",
                                             cli_text_json(o->text)));
  else if (b->all < SHOWN)
    printf("    %s: %s\n", where, o->text);
  b->all++;
  if (o->node && !surg__vec_push(b->ctx, &b->nodes, o->node)) b->nodes.count = 0;
}

/* --- the cut --- */

static bool put_values(surg__buf *b, const char *option, const surg__cut_values *list) {
  if (!list->count || list->count > ENDS) return !list->count;
  surg__buf_printf(b, "%s%s=", b->p[b->n - 1] == '{' ? "" : ",", option);
  for (size_t i = 0; i < list->count; i++) {
    if (i) surg__buf_putc(b, '+');
    surg__pipeline_quote(b, surg_value_name(list->items[i]));
  }
  return true;
}

/* "extract{from=a,to=b}"; false: too many ends, or nothing goes out. */
static bool put_extract(surg__buf *b, const surg__cut_values *from, const surg__cut_values *to) {
  b->n = 0;
  surg__buf_puts(b, "extract{");
  const bool done = !b->failed && put_values(b, "from", from) && to->count &&
                    put_values(b, "to", to);
  surg__buf_puts(b, "}");
  surg__buf_putc(b, 0);
  return done && !b->failed;
}

/* Whether the middle part is taken, after a repair of its own. */
static bool core_passes(const verdict *v, const surg__target *t, const char *extract) {
  surg__pipeline *p = NULL;
  surg_model *copy = surg_model_clone(v->search.m);
  surg_status s = copy ? surg__pipeline_parse(v->search.ctx, extract, "cut", &p) : SURG_ENOMEM;
  const surg__run_options options = {.has_allow = true, .allow = SURG_LOSSY};
  if (s == SURG_OK) s = surg__run(&copy, p, &options, NULL);
  surg__pipeline_free(p);
  bool taken = false;
  if (s == SURG_OK) {
    repair search;
    repair_counts before, after;
    repair_init(&search, v->search.ctx, t, copy, v->search.given);
    taken = repair_find(&search, &before, &after) == SURG_OK && !after.all;
    repair_free(&search);
  } else if (copy) {
    surg_model_free(copy);
  }
  surg_context_clear_error(v->search.ctx);
  return taken;
}

static const surg__cut_values nothing;

static void print_part(surg__buf *b, const char *name, const surg__cut_values *from,
                       const surg__cut_values *to) {
  if (put_extract(b, from, to)) printf("    onnxsurg --pass '%s' all.onnx %s.onnx\n", b->p, name);
}

static void print_cut(const verdict *v, const surg__target *t, const char *target, const char *in,
                      const surg__cut *cut) {
  surg__buf b;
  surg__buf_init(&b, v->search.ctx);
  const bool core = put_extract(&b, &cut->core_in, &cut->core_out);
  if (cut->nodes[1] && core) {
    char with[64];
    const bool taken = core_passes(v, t, b.p);
    repair_spell_consent(with, sizeof with, v->search.used);
    printf(
        "  cut: %zu of %zu nodes form a part of their own%s; %zu before, %zu after\n", cut->nodes[1],
        cut->nodes[0] + cut->nodes[1] + cut->nodes[2],
        taken ? " that is supported" : ", which has unsupported parts too",
        cut->nodes[0], cut->nodes[2]);
    printf("    onnxsurg repair --target %s %s%s--partial ", target, with, with[0] ? " " : "");
    cli_put(stdout, in);
    printf(" all.onnx\n");
    print_part(&b, "before", &nothing, &cut->pre_out);
    print_part(&b, "core", &cut->core_in, &cut->core_out);
    print_part(&b, "behind", &cut->post_in, &cut->post_out);
  } else {
    printf("  cut: no part worth cutting out\n");
  }
  surg__buf_free(&b);
}

static json_t *names_json(const surg__cut_values *list) {
  json_t *j = json_array();
  for (size_t i = 0; i < list->count; i++)
    json_array_append_new(j, cli_text_json(surg_value_name(list->items[i])));
  return j;
}

static json_t *cut_json(const surg__cut *c) {
  return json_pack("{s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "before", (json_int_t)c->nodes[0], "core",
                   (json_int_t)c->nodes[1], "behind", (json_int_t)c->nodes[2], "before_to",
                   names_json(&c->pre_out), "core_from", names_json(&c->core_in), "core_to",
                   names_json(&c->core_out), "behind_from", names_json(&c->post_in), "behind_to",
                   names_json(&c->post_out));
}

/* --- telling --- */

void verdict_print(const verdict *v, const surg__target *t, const char *target, const char *in) {
  static const char *const lines[] = {
      [VERDICT_IMPORTS] = "supported",
      [VERDICT_UNKNOWN] = "support unknown",
      [VERDICT_EXACT] = "unsupported; supported after a repair of class ",
      [VERDICT_CONSENT] = "unsupported; supported after a repair",
      [VERDICT_UNCERTAIN] = "unsupported; a repair cures this, then support is unknown",
      [VERDICT_BLOCKED] = "unsupported, and no repair is known"};
  char with[64];
  repair_spell_consent(with, sizeof with, v->needed);
  printf("  verdict: %s%s%s\n", lines[v->kind], v->kind == VERDICT_CONSENT ? " with " : "",
         v->kind == VERDICT_CONSENT ? with
         : v->kind == VERDICT_EXACT ? repair_class(v)
                                    : "");
  if (v->kind >= VERDICT_EXACT && v->kind < VERDICT_BLOCKED) {
    printf("    onnxsurg repair --target %s %s%s", target, with, with[0] ? " " : "");
    cli_put(stdout, in);
    printf(" OUT\n");
  }
  if (v->kind != VERDICT_BLOCKED) return;
  blocking b = {.t = t, .ctx = v->search.ctx};
  printf("  unsupported%s:\n", v->search.pipeline.n ? " after every cure that helps" : "");
  if (surg__target_model(t, v->search.m, blocks, &b) == SURG_OK && b.all > SHOWN)
    printf("    and %zu more\n", b.all - SHOWN);
  surg__cut cut = {0};
  if (b.nodes.count &&
      surg__target_cut(v->search.m, b.nodes.items, b.nodes.count, &cut) == SURG_OK)
    print_cut(v, t, target, in, &cut);
  surg__target_cut_free(&cut);
  surg__vec_free(b.ctx, &b.nodes);
}

json_t *verdict_json(const verdict *v, const surg__target *t) {
  static const char *const repairs[] = {
      [VERDICT_IMPORTS] = "none due",  [VERDICT_UNKNOWN] = "none due",
      [VERDICT_EXACT] = "exact",       [VERDICT_CONSENT] = "consent",
      [VERDICT_UNCERTAIN] = "unknown", [VERDICT_BLOCKED] = "none known"};
  char with[64];
  repair_spell_consent(with, sizeof with, v->needed);
  json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:o,s:I,s:I,s:I}", "name", t->name, "verdict",
                        surg__verdict_word(verdict_of(v)), "repair",
                        v->kind == VERDICT_EXACT ? repair_class(v) : repairs[v->kind],
                        "consent", with, "pipeline",
                        cli_text_json(v->search.pipeline.n ? v->search.pipeline.p : ""), "refused",
                        (json_int_t)v->before.all, "unknown", (json_int_t)v->before.unknown,
                        "remain", (json_int_t)v->after.all);
  if (v->kind != VERDICT_BLOCKED) return j;
  blocking b = {.t = t, .ctx = v->search.ctx, .list = json_array()};
  surg__cut cut = {0};
  surg__target_model(t, v->search.m, blocks, &b);
  json_object_set_new(j, "blocks", b.list);
  if (b.nodes.count &&
      surg__target_cut(v->search.m, b.nodes.items, b.nodes.count, &cut) == SURG_OK)
    json_object_set_new(j, "cut", cut_json(&cut));
  surg__target_cut_free(&cut);
  surg__vec_free(b.ctx, &b.nodes);
  return j;
}
