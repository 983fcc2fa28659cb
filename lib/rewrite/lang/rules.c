/* SPDX-License-Identifier: Apache-2.0 */
/* The list of rules of a context. */
#include <onnxsurg/context.h>

#include "pass/pass.h"
#include "rewrite/lang/rule.h"

static void rules_free(surg__rules *r) {
  surg__vec_free(r->ctx, &r->list);
  surg__vec_free(r->ctx, &r->declined);
  surg__arena_free(&r->arena);
  surg__free(r->ctx, r);
}

/* Removes rules of the user so that at most `keep` rules remain; returns their number. */
static size_t rules_cut(surg__rules *r, size_t keep) {
  if (keep < r->builtins) keep = r->builtins;
  if (r->list.count > keep) r->list.count = keep;
  return r->list.count;
}

surg__rules *surg__rules_of(surg_context *ctx) {
  surg__rules *r = ctx->rules;
  if (!r) {
    r = surg__calloc(ctx, 1, sizeof *r);
    if (!r) {
      surg__oom(ctx, NULL);
      return NULL;
    }
    r->ctx = ctx;
    surg__arena_init(&r->arena, ctx);
    ctx->rules = r;
    ctx->rules_free = rules_free;
    ctx->rules_cut = rules_cut;
  }
  if (!r->builtins && surg__register_builtin_rules(r)) {
    r->list.count = 0; /* the next query must not find a partial list */
    return NULL;
  }
  if (!r->builtins) r->builtins = r->list.count;
  return r;
}

surg_status surg__rules_list(surg__rules *r, const surg__rule_file *files,
                             const surg__rule_entry *entries, size_t n) {
  surg_rule *all = surg__arena_array(&r->arena, n, sizeof *all);
  if (!all || !surg__vec_reserve(r->ctx, &r->list, n))
    return surg__alloc_status(r->ctx);
  for (size_t i = 0; i < n; i++) {
    const surg__rule_entry *e = &entries[i];
    const surg__rule_file *file = &files[e->file];
    const int64_t newest = surg_schema_newest(e->domain);
    all[i] = (surg_rule){.name = e->name,
                         .group = e->group,
                         .file = file->name,
                         .line = e->line,
                         .exactness = (surg_exactness)e->exactness,
                         .reason = e->reason,
                         .domain = e->domain,
                         .op_type = e->op_type,
                         .op = surg_schema_op(surg_schema_find(e->domain, e->op_type, newest)),
                         .text = {file->text + e->at, e->bytes},
                         .source = file->text,
                         .owner = r,
                         .place = r->list.count};
    if (e->each_op) all[i].each_op = (surg_str){e->each_op, strlen(e->each_op)};
    r->list.items[r->list.count++] = &all[i];
  }
  return SURG_OK;
}

surg_status surg__rules_read_all(surg__rules *r) {
  bool ok = true;
  for (size_t i = 0; i < r->list.count && !r->ctx->alloc_status; i++)
    ok &= surg__rule_read(r->list.items[i]);
  if (r->ctx->alloc_status) return surg__oom(r->ctx, "rules");
  if (!ok) return SURG_EINVALID;
  /* A rule of the user may undo a built-in one: a run need not use both. */
  const size_t all = r->list.count;
  const surg_rule *a, *b;
  r->list.count = r->builtins;
  const bool cyclic = surg__rules_cyclic(r, 0, &a, &b);
  r->list.count = all;
  if (!cyclic) return r->ctx->alloc_status ? surg__oom(r->ctx, "rules") : SURG_OK;
  return surg__error(r->ctx, SURG_EINVALID, a->file, "rules %s and %s undo each other", a->name,
                     b->name);
}

surg_status surg_context_check_rules(surg_context *ctx) {
  surg__rules *r = ctx ? surg__rules_of(ctx) : NULL;
  if (!ctx) return SURG_EUSAGE;
  return r ? surg__rules_read_all(r) : surg__alloc_status(ctx);
}

surg_status surg_context_load_rules(surg_context *ctx, const char *text, size_t n,
                                    const char *name) {
  if (!ctx || !text) return SURG_EUSAGE;
  if (!name) name = "rules";
  if (n > SURG_LIMIT_RULES_BYTES)
    return surg__error(ctx, SURG_ELIMIT, name, "more than %u bytes of rules",
                       SURG_LIMIT_RULES_BYTES);
  if (!surg__utf8_valid((const uint8_t *)text, n))
    return surg__error(ctx, SURG_EINVALID, name, "not UTF-8, or contains a NUL byte");
  surg__rules *r = surg__rules_of(ctx);
  const surg_status s = r ? surg__rules_parse(r, text, n, name) : surg__alloc_status(ctx);
  return surg__oom_reported(ctx, s, name);
}

size_t surg_context_rule_count(surg_context *ctx) {
  const surg__rules *r = ctx ? surg__rules_of(ctx) : NULL;
  return r ? r->list.count : 0;
}

const surg_rule *surg_context_rule(surg_context *ctx, size_t i) {
  const surg__rules *r = ctx ? surg__rules_of(ctx) : NULL;
  return r && i < r->list.count ? r->list.items[i] : NULL;
}

const char *surg_rule_name(const surg_rule *r) { return r ? r->name : NULL; }
const char *surg_rule_group(const surg_rule *r) { return r ? r->group : NULL; }
const char *surg_rule_reason(const surg_rule *r) { return r ? r->reason : NULL; }
bool surg_pass_allows_rule(const surg_pass_ctx *p, const surg_rule *r) {
  if (!p || !r) return false;
  return surg_pass_allows(p, r->exactness) || (surg__rule_is_own(r) && !surg__pass_limited(p));
}

surg_exactness surg_rule_exactness(const surg_rule *r) { return r ? r->exactness : SURG_EXACT; }
surg_str surg_rule_text(const surg_rule *r) { return r ? r->text : (surg_str){NULL, 0}; }

const char *surg_rule_op_type(const surg_rule *r) {
  return r ? r->op_type : NULL;
}
const char *surg_rule_domain(const surg_rule *r) {
  return r ? r->domain : NULL;
}

bool surg_rule_makes(const surg_rule *r, const char *domain, const char *op_type) {
  if (!r || !domain || !op_type) return false;
  if (!surg__rule_read(r)) return !(r->owner->failed = true);
  for (uint16_t e = 0; e < r->n_emits; e++) {
    const surg__rblock *b = &r->emits[e];
    if (b->native && !strcmp(surg_rule_op_type(r), op_type) && !strcmp(surg_rule_domain(r), domain))
      return true;
    for (uint16_t k = 0; k < b->n; k++)
      if (b->stmts[k].kind == SURG__S_NODE && !strcmp(b->stmts[k].op_type, op_type) &&
          !strcmp(b->stmts[k].domain, domain))
        return true;
  }
  return false;
}
