/* SPDX-License-Identifier: Apache-2.0 */
/* `check --targets all|A,B IN`: for each engine, whether it supports a model unchanged and
 * whether it does after a repair; with --no-repair the verdict and its first reason. */
#include <stdlib.h>
#include <string.h>

#include "check_target.h"
#include "quiet.h"
#include "verdict.h"

typedef struct matrix {
  surg_context *ctx;
  surg_model *m;
  json_t *list; /* NULL: print text */
  const judging *how;
  bool repairs;
  size_t supported, unknown, repaired, all;
} matrix;

/* Whether a word selects a built-in target: "all", or the part of its name before a '-'
 * ("tensorrt"). */
static bool is_group(const char *word, const char *name) {
  const size_t n = strlen(word);
  return !strcmp(word, "all") || (!strncmp(name, word, n) && name[n] == '-');
}

static surg_status judge(matrix *x, const surg_target *t) {
  verdict v;
  const surg_status s = verdict_find(&v, t, x->m);
  if (!x->all && !x->list && v.result.data)
    printf("weights are not available; verdicts are for the model with its data\n");
  if (!x->all++ && !x->list) printf("%-46s %-12s %s\n", "target", "as it is", "after repair");
  x->supported += v.kind == SURG_ASSESS_SUPPORTED;
  x->unknown += v.kind == SURG_ASSESS_UNKNOWN;
  x->repaired += v.kind == SURG_ASSESS_REPAIR || v.kind == SURG_ASSESS_CONSENT;
  if (s == SURG_OK && x->list)
    json_array_append_new(x->list, verdict_json(&v, t));
  else if (s == SURG_OK)
    printf("%-46s %-12s %s\n", surg_target_name(t), surg_verdict_name(verdict_with_data(&v)),
           v.kind > SURG_ASSESS_UNKNOWN ? verdict_repair(&v) : "");
  verdict_free(&v);
  return s;
}

/* The first reason for a verdict other than supported. */
typedef struct reason {
  surg_verdict verdict;
  cli_text text;
} reason;

static void keep_reason(void *user, const surg_objection *o) {
  reason *r = user;
  if (o->data || o->verdict == SURG_SUPPORTED || (surg_verdict)o->verdict <= r->verdict) return;
  r->verdict = (surg_verdict)o->verdict;
  r->text.n = 0;
  cli_text_printf(&r->text, "%s: %s", o->where, o->text);
}

/* Prints a verdict alone. */
static void print_alone(matrix *x, const surg_target *t, const surg_judgement *sum, reason *r) {
  const surg_verdict v = (surg_verdict)sum->verdict_with_data;
  if (x->list) {
    json_t *j = json_pack("{s:s,s:s,s:I,s:I}", "name", surg_target_name(t), "verdict",
                          surg_verdict_name((surg_verdict)sum->verdict), "refused",
                          (json_int_t)sum->unsupported, "unknown", (json_int_t)sum->unknown);
    if (r->text.n) json_object_set_new(j, "reason", cli_text_json(cli_text_of(&r->text)));
    if (sum->data)
      json_object_set_new(j, "verdict_with_data", json_string(surg_verdict_name(v)));
    json_array_append_new(x->list, j);
  } else {
    printf("%-46s %-12s %s\n", surg_target_name(t), surg_verdict_name(v), cli_text_of(&r->text));
  }
}

/* Judges without a search for repairs. */
static surg_status judge_alone(matrix *x, const surg_target *t) {
  surg_judgement sum = {.size = sizeof sum};
  reason r = {.verdict = SURG_SUPPORTED};
  surg_status s = surg_target_judge(t, x->m, keep_reason, &r, &sum);
  if (s == SURG_OK && r.text.failed) s = SURG_ENOMEM;
  if (s == SURG_OK && !x->all++ && !x->list) {
    if (sum.data) printf("weights are not available; verdicts are for the model with its data\n");
    printf("%-46s %-12s %s\n", "target", "verdict", "first reason");
  }
  x->supported += sum.verdict_with_data == SURG_SUPPORTED;
  x->unknown += sum.verdict_with_data == SURG_SUPPORT_UNKNOWN;
  if (s == SURG_OK) print_alone(x, t, &sum, &r);
  cli_text_free(&r.text);
  return s;
}

static surg_status judge_named(matrix *x, const char *name) {
  surg_target *t = NULL;
  surg_status s = surg_target_open(x->ctx, name, &t);
  if (s == SURG_OK) s = judging_apply(x->how, t);
  if (s == SURG_OK) s = x->repairs ? judge(x, t) : judge_alone(x, t);
  surg_target_free(t);
  return s;
}

static surg_status find_named(const matrix *x, const char *name) {
  surg_target *t = NULL;
  const surg_status s = surg_target_open(x->ctx, name, &t);
  surg_target_free(t);
  return s;
}

/* Judges the targets that a word selects: a group of them, or else one, by any name that
 * --target accepts. With `look`, only whether there is such a target. */
static surg_status judge_word(matrix *x, const char *word, bool look) {
  surg_status s = SURG_OK;
  bool any = false;
  const char *name;
  for (size_t i = 0; s == SURG_OK && (name = surg_context_target(x->ctx, i)); i++) {
    if (!is_group(word, name)) continue;
    any = true;
    if (!look) s = judge_named(x, name);
  }
  return any ? s : look ? find_named(x, word) : judge_named(x, word);
}

static surg_status judge_all(matrix *x, const char *words, bool look) {
  surg_status s = SURG_OK;
  for (const char *p = words; s == SURG_OK && *p;) {
    const size_t n = strcspn(p, ",");
    char *word = n ? strndup(p, n) : NULL;
    if (n && !word) return SURG_ENOMEM;
    if (word) s = judge_word(x, word, look);
    free(word);
    p += n + (p[n] != 0);
  }
  return s;
}

int check_matrix(surg_context *ctx, const cli_common *common, const judging *how, const char *words,
                 bool repairs, const char *in) {
  quiet_model q;
  cli_common any = *common;
  any.load.policy = SURG_LOAD_LENIENT;
  int code = cli_exit_code(quiet_open_any(&q, &any, ctx, in, NULL, 0));
  matrix x = {.ctx = ctx,
              .m = q.m,
              .how = how,
              .repairs = repairs,
              .list = common->json ? json_array() : NULL};
  if (code == EXIT_DONE) {
    surg_status s = judge_all(&x, words, true); /* names are checked before models are judged */
    if (s == SURG_OK) s = judge_all(&x, words, false);
    code = cli_exit_code(s == SURG_OK ? s : quiet_tell(q.ctx, s));
  }
  if (code == EXIT_DONE && !x.all)
    code = cli_usage("--targets expects all, or names or groups of targets: ort-1.18,tensorrt");
  if (code == EXIT_DONE && !common->json && repairs)
    printf("%zu of %zu support it, %zu more after a repair; %zu unknown\n", x.supported, x.all,
           x.repaired, x.unknown);
  else if (code == EXIT_DONE && !common->json)
    printf("%zu of %zu support it; %zu unknown\n", x.supported, x.all, x.unknown);
  if (code == EXIT_DONE && common->json)
    cli_print_json(
        json_pack("{s:i,s:o,s:O}", "schema", 1, "file", cli_text_json(in), "targets", x.list));
  json_decref(x.list);
  quiet_close(&q);
  return code;
}
