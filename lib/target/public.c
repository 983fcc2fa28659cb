/* SPDX-License-Identifier: Apache-2.0 */
/* Targets as public objects (onnxsurg/target.h). */
#include "target/public.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/file.h"
#include "base/os/os.h"
#include "base/taught.h"
#include "check/check.h"
#include "ir/ir.h"

/* --- finding and reading targets --- */

size_t surg_target_count(void) {
  return surg__target_count;
}

const char *surg_target_name_at(size_t i) {
  return i < surg__target_count ? surg__target_texts[i].name : NULL;
}

const char *surg_context_target(const surg_context *ctx, size_t i) {
  if (!ctx || i < surg__target_count) return ctx ? surg_target_name_at(i) : NULL;
  const struct surg__taught *t = ctx->taught;
  i -= surg__target_count;
  return t && i < t->targets.count ? t->targets.items[i].name : NULL;
}

/* The status after a failed read. An invalid or missing target is a usage error; the diagnostic is
 * already reported. */
static surg_status failure(const surg_context *ctx) {
  const surg_status s = ctx->alloc_status ? ctx->alloc_status : ctx->line_status;
  return s == SURG_EINVALID || s == SURG_OK ? SURG_EUSAGE : s;
}

surg_status surg_target_parse(surg_context *ctx, const char *text, size_t n, const char *name,
                              surg_target **out) {
  if (!ctx || !text || !name || !out) return SURG_EUSAGE;
  *out = surg__target_read(ctx, text, n, name);
  return *out ? SURG_OK : failure(ctx);
}

static bool is_file(const char *name) {
  static const char end[] = ".target";
  const size_t n = strlen(name);
  return surg__os_base_name(name) != name ||
         (n >= sizeof end && !strcmp(name + n - (sizeof end - 1), end));
}

surg_status surg_target_open(surg_context *ctx, const char *name, surg_target **out) {
  if (!ctx || !name || !out) return SURG_EUSAGE;
  *out = NULL;
  const surg__taught_text *own = surg__taught_target(ctx, name);
  if (own) return surg_target_parse(ctx, own->text, own->n, own->name, out);
  if (!is_file(name)) {
    *out = surg__target_find(ctx, name);
    return *out ? SURG_OK : failure(ctx);
  }
  char *text;
  size_t n;
  surg_status s = surg__read_text(ctx, name, SURG_LIMIT_TARGET_BYTES, &text, &n);
  if (s == SURG_OK) s = surg_target_parse(ctx, text, n, name, out);
  free(text);
  return s;
}

void surg_target_free(surg_target *t) {
  surg__target_free(t);
}

const char *surg_target_name(const surg_target *t) {
  return t ? t->name : NULL;
}

const char *surg_target_title(const surg_target *t) {
  return t ? t->title : NULL;
}

const char *surg_target_source(const surg_target *t) {
  return t ? t->source : NULL;
}

const char *surg_target_date(const surg_target *t) {
  return t ? t->date : NULL;
}

const char *surg_target_host(const surg_target *t) {
  return t && t->host ? t->host->name : NULL;
}

bool surg_target_opset(const surg_target *t, const char *domain, int64_t *low, int64_t *high) {
  bool stated = false;
  if (!t || !domain || !low || !high) return false;
  *low = INT64_MIN;
  *high = INT64_MAX;
  for (size_t i = 0; i < t->opsets.count; i++) {
    const surg__tspan *w = &t->opsets.items[i];
    if (strcmp(w->name, domain) != 0) continue;
    stated = true;
    if (w->low > *low) *low = w->low;
    if (w->high < *high) *high = w->high;
  }
  return stated;
}

bool surg_target_ir(const surg_target *t, int64_t *low, int64_t *high) {
  if (!t || !low || !high) return false;
  *low = t->ir.low;
  *high = t->ir.high;
  return *low != INT64_MIN || *high != INT64_MAX;
}

surg_status surg_target_register(surg_target *t, const char *operators) {
  const size_t n = operators ? strlen(operators) : 0;
  if (!t || !n || operators[0] == ':' || operators[n - 1] == ':') return SURG_EUSAGE;
  const char **all = surg__arena_array(&t->arena, t->n_registered + 1, sizeof *all);
  char *copy = all ? surg__arena_strn(&t->arena, operators, n) : NULL;
  if (!copy) return surg__oom(t->ctx, NULL);
  for (size_t i = 0; i < t->n_registered; i++) all[i] = t->registered[i];
  all[t->n_registered++] = copy;
  t->registered = all;
  return SURG_OK;
}

const char *surg_verdict_name(surg_verdict v) {
  return v >= SURG_SUPPORTED && v <= SURG_UNSUPPORTED ? surg__verdict_word(v) : NULL;
}

/* --- judging --- */

/* The code for the cause of an objection; NULL: it is a finding of `check`, which has its own
 * code. */
static const char *fact_of(const surg__objection *o) {
  static const char *const codes[] = {
      [SURG__C_NONE] = "E403",     [SURG__C_IR] = "E401",      [SURG__C_OPSET] = "E402",
      [SURG__C_OP] = "E403",       [SURG__C_VERSION] = "E404", [SURG__C_TYPE] = "E405",
      [SURG__C_CONSTANT] = "E406", [SURG__C_ATTR] = "E407",    [SURG__C_RANGE] = "E408",
      [SURG__C_PLACE] = "E409",    [SURG__C_DYNAMIC] = "E410", [SURG__C_FUNCTION] = "E411",
      [SURG__C_CUSTOM] = "E412",   [SURG__C_ORDER] = "E413",   [SURG__C_FED] = "E414",
      [SURG__C_EXTERNAL] = "E415", [SURG__C_DATA] = "E416",    [SURG__C_INVALID] = "E403",
      [SURG__C_SAYS] = "E403"};
  _Static_assert(SURG_COUNT(codes) == SURG__C_SAYS + 1, "a code for each cause");
  return o->code ? NULL : codes[o->cause];
}

/* ILLEGAL is an error, UNKNOWN a note. Errors of ONNX that the engine accepts are warnings. */
surg_severity surg__objection_severity(const char *code, surg__verdict v) {
  const surg_severity own = surg__check_severity(code);
  if (v == SURG__ILLEGAL) return SURG_ERROR;
  if (v == SURG__UNKNOWN) return SURG_NOTE;
  return own == SURG_ERROR ? SURG_WARNING : own;
}

surg_objection surg__objection_public(const surg__objection *o) {
  const char *fact = fact_of(o);
  const char *code = !fact ? o->code : o->verdict == SURG__UNKNOWN ? "N401" : fact;
  return (surg_objection){.size = sizeof(surg_objection),
                          .verdict = o->verdict,
                          .severity = surg__objection_severity(code, o->verdict),
                          .code = code,
                          .fact = fact,
                          .where = o->where  ? o->where
                                   : o->node ? surg__locate_node(o->node)
                                             : "model",
                          .text = o->text,
                          .source = o->source,
                          .pass = surg__check_rule(code)->pass,
                          .misread = o->misread,
                          .node = o->node,
                          .value = o->value,
                          .data = o->cause == SURG__C_DATA,
                          .fed = o->fed};
}

typedef struct telling {
  surg_objection_fn fn;
  void *user;
  surg_judgement sum;
  size_t against, unsure; /* objections that remain with the data */
} telling;

static void hear(void *user, const surg__objection *o) {
  telling *t = user;
  t->sum.unsupported += o->verdict == SURG__ILLEGAL;
  t->sum.unknown += o->verdict == SURG__UNKNOWN;
  t->sum.misread += o->misread;
  t->sum.data += o->cause == SURG__C_DATA;
  t->against += o->verdict == SURG__ILLEGAL && o->cause != SURG__C_DATA;
  t->unsure += o->verdict == SURG__UNKNOWN && o->cause != SURG__C_DATA;
  if (!t->fn) return;
  const surg_objection all = surg__objection_public(o);
  t->fn(t->user, &all);
}

surg_status surg_target_judge(const surg_target *t, surg_model *model, surg_objection_fn fn,
                              void *user, surg_judgement *out) {
  if (!t || !model) return SURG_EUSAGE;
  telling tell = {.fn = fn, .user = user};
  const surg_status s =
      surg__oom_reported(model->ctx, surg__target_model(t, model, hear, &tell), NULL);
  tell.sum.verdict = surg__verdict_of(tell.sum.unsupported, tell.sum.unknown);
  tell.sum.verdict_with_data = surg__verdict_of(tell.against, tell.unsure);
  if (s == SURG_OK) surg__struct_out(out, &tell.sum, sizeof tell.sum);
  return s;
}

surg_status surg_target_host_nodes(const surg_target *t, surg_model *model, surg_objection_fn fn,
                                   void *user, size_t *on_host, size_t *unknown, size_t *nodes) {
  if (!t || !model) return SURG_EUSAGE;
  if (!t->host) return SURG_EUNSUPPORTED;
  telling tell = {.fn = fn, .user = user};
  size_t all = 0;
  const surg_status s = surg__target_elsewhere(t, model, hear, &tell, &all);
  if (on_host) *on_host = tell.sum.unsupported;
  if (unknown) *unknown = tell.sum.unknown;
  if (nodes) *nodes = all;
  return s;
}

surg_status surg_target_finding(const surg_target *t, const char *code, int32_t *verdict,
                                int32_t *severity) {
  if (!t || !code || !verdict || !severity) return SURG_EUSAGE;
  const bool judged = surg__target_judges(code);
  const surg__verdict v = judged ? SURG__LEGAL : surg__target_finding(t, code);
  *verdict = (int32_t)v;
  *severity = (int32_t)surg__objection_severity(code, v);
  return judged ? SURG_ENOTFOUND : SURG_OK;
}
