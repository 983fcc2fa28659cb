/* SPDX-License-Identifier: Apache-2.0 */
/* `check --targets all|A,B IN`: for each engine, whether it supports a model unchanged and
 * whether it does after a repair. */
#include <stdlib.h>
#include <string.h>

#include "check_target.h"
#include "quiet.h"
#include "verdict.h"

typedef struct matrix {
  surg_context *ctx;
  const surg_model *m;
  json_t *list; /* NULL: print text */
  const judging *how;
  size_t supported, unknown, repaired, all;
} matrix;

/* Whether the list selects a target. An entry is "all", the target's name ("ort-1.10"), or the
 * part of its name before a '-' ("tensorrt"). */
static bool wanted(const char *words, const char *name) {
  for (const char *p = words; *p;) {
    const size_t n = strcspn(p, ",");
    if ((n == 3 && !strncmp(p, "all", 3)) || (n && !strncmp(p, name, n) && strchr("-", name[n])))
      return true;
    p += n + (p[n] != 0);
  }
  return false;
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

static surg_status judge_all(matrix *x, const char *words) {
  surg_status s = SURG_OK;
  const char *name;
  for (size_t i = 0; s == SURG_OK && (name = surg_context_target(x->ctx, i)); i++) {
    surg_target *t = NULL;
    if (!wanted(words, name)) continue;
    s = surg_target_open(x->ctx, name, &t);
    if (s == SURG_OK) s = judging_apply(x->how, t);
    if (s == SURG_OK) s = judge(x, t);
    surg_target_free(t);
  }
  return s;
}

int check_matrix(surg_context *ctx, const cli_common *common, const judging *how, const char *words,
                 const char *in) {
  quiet_model q;
  cli_common any = *common;
  any.load.policy = SURG_LOAD_LENIENT;
  int code = cli_exit_code(quiet_open_any(&q, &any, in, NULL, 0));
  matrix x = {.ctx = ctx, .m = q.m, .how = how, .list = common->json ? json_array() : NULL};
  if (code == EXIT_DONE) {
    const surg_status s = judge_all(&x, words);
    code = cli_exit_code(s == SURG_OK ? s : quiet_tell(q.ctx, s));
  }
  if (code == EXIT_DONE && !x.all)
    code =
        cli_usage("--targets expects all, or the first letters of targets: tensorrt,onnxruntime");
  if (code == EXIT_DONE && !common->json)
    printf("%zu of %zu support it, %zu more after a repair; %zu unknown\n", x.supported, x.all,
           x.repaired, x.unknown);
  if (code == EXIT_DONE && common->json)
    cli_print_json(
        json_pack("{s:i,s:o,s:O}", "schema", 1, "file", cli_text_json(in), "targets", x.list));
  json_decref(x.list);
  quiet_close(&q);
  return code;
}
