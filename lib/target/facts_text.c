/* SPDX-License-Identifier: Apache-2.0 */
/* What a target states, for people and programs that embed the library (onnxsurg/target.h). */
#include <onnxsurg/target.h>
#include <stdio.h>

#include "base/diag.h"
#include "target/fact_keys.h"

size_t surg_target_span(int64_t low, int64_t high, char *out, size_t room) {
  int n = 0;
  if (low == INT64_MIN && high == INT64_MAX)
    n = snprintf(out, room, "not stated");
  else if (low == INT64_MIN)
    n = snprintf(out, room, "up to %lld", (long long)high);
  else if (high == INT64_MAX)
    n = snprintf(out, room, "from %lld", (long long)low);
  else if (low == high)
    n = snprintf(out, room, "%lld", (long long)low);
  else
    n = snprintf(out, room, "%lld to %lld", (long long)low, (long long)high);
  return n < 0 ? 0 : (size_t)n;
}

static void put_span(surg__buf *b, int64_t low, int64_t high) {
  char text[64];
  surg_target_span(low, high, text, sizeof text);
  surg__buf_puts(b, text);
}

/* Versions and opsets that a fact is about, and whether the engine rejects them. */
static void put_scope(surg__buf *b, const surg__tfact *f) {
  const surg__op_facts one = {"", f, 1};
  if (f->refused) surg__buf_puts(b, "unsupported; ");
  if (f->misread) surg__buf_puts(b, "imported, and computed otherwise: ");
  if (f->n_versions) {
    surg__buf_puts(b, "versions ");
    surg__target_put_versions(b, &one, true);
    surg__buf_puts(b, "; ");
  }
  if (f->n_opsets) {
    const surg__tfact opsets = {.versions = f->opsets, .n_versions = f->n_opsets};
    surg__buf_puts(b, "opset ");
    surg__target_put_versions(b, &(surg__op_facts){"", &opsets, 1}, true);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_not_types; i++) {
    surg__buf_printf(b, "%s not ", f->not_types[i].name);
    surg__target_put_types(b, f->not_types[i].mask);
    surg__buf_puts(b, "; ");
  }
}

/* Element types, values of attributes, sizes of axes, broadcasting. */
static void put_limits(surg__buf *b, const surg__tfact *f) {
  for (size_t i = 0; i < f->n_types; i++) {
    surg__buf_printf(b, "%s ",
                     !strcmp(f->types[i].name, "0")     ? "types"
                     : !strcmp(f->types[i].name, "out") ? "output"
                                                        : f->types[i].name);
    surg__target_put_types(b, f->types[i].mask);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_attrs; i++) {
    surg__buf_printf(b, "%s ", f->attrs[i].name);
    for (size_t k = 0; k < f->attrs[i].values.n; k++)
      surg__buf_printf(b, "%s%s", k ? ", " : "", f->attrs[i].values.items[k]);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_dims; i++) {
    surg__buf_printf(b, "size of axis %s ", f->dims[i].name);
    put_span(b, f->dims[i].low, f->dims[i].high);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_spreads; i++)
    surg__buf_printf(b, "%s %s; ", f->spreads[i].name, surg__target_spread(f->spreads[i].how));
  for (size_t i = 0; i < f->variable.n; i++)
    surg__buf_printf(b, "%s not constant; ",
                     strcmp(f->variable.items[i], "*") ? f->variable.items[i] : "all inputs");
}

/* What the keys of the tables say (fact_keys.c). */
static void put_tabled(surg__buf *b, const surg__tfact *f) {
  const char *fact = (const char *)f;
  for (size_t i = 0; i < surg__spans_key_count; i++) {
    const surg__spans_key *k = &surg__spans_keys[i];
    const surg__tspan *list = *(const surg__tspan *const *)(const void *)(fact + k->at);
    const size_t n = *(const size_t *)(const void *)(fact + k->count);
    for (size_t e = 0; e < n; e++) {
      surg__buf_printf(b, "%s%s ", k->before, strcmp(list[e].name, "0") ? list[e].name : "input 0");
      put_span(b, list[e].low, list[e].high);
      surg__buf_puts(b, "; ");
    }
  }
  for (size_t i = 0; i < surg__list_key_count; i++) {
    const surg__list_key *k = &surg__list_keys[i];
    const surg__tlist *list = (const surg__tlist *)(const void *)(fact + k->at);
    for (size_t e = 0; e < list->n; e++) {
      const char *name = k->all && !strcmp(list->items[e], "*") ? k->all : list->items[e];
      surg__buf_printf(b, "%s%s%s; ", k->before, name, k->after);
    }
  }
  for (size_t i = 0; i < surg__flag_key_count; i++)
    if (surg__flag_keys[i].phrase && *(const bool *)(fact + surg__flag_keys[i].at))
      surg__buf_printf(b, "%s; ", surg__flag_keys[i].phrase);
}

/* Keys with values of their own. */
static void put_others(surg__buf *b, const surg__tfact *f) {
  if (f->branch_ranks) surg__buf_puts(b, "outputs of the branches of one rank; ");
  if (f->branch_spread) surg__buf_puts(b, "outputs of the branches broadcast; ");
  if (f->same)
    surg__buf_puts(b, f->but_two ? "inputs of one shape, but for the last two axes; "
                                 : "inputs of one shape; ");
  if (f->fixed)
    surg__buf_puts(b, f->open_first ? "fixed sizes, but for the batch; " : "fixed sizes; ");
  if (f->batch) surg__buf_printf(b, "batch %lld; ", (long long)f->batch);
}

/* One fact as a phrase. */
static void put_fact(surg__buf *b, const surg__tfact *f) {
  put_scope(b, f);
  put_limits(b, f);
  put_tabled(b, f);
  put_others(b, f);
  if (f->says) surg__buf_printf(b, "%s; ", f->says);
  if (!b->n) surg__buf_puts(b, "without a limit; ");
  if (!b->failed) b->n -= 2; /* the last separator */
}

/* --- the public functions --- */

surg_status surg_target_get(const surg_target *t, surg_target_summary *out) {
  if (!t || !out) return SURG_EUSAGE;
  const surg_target_summary all = {.size = sizeof all,
                                   .dynamic = (int32_t)t->dynamic,
                                   .functions = (int32_t)t->functions,
                                   .custom = (int32_t)t->custom,
                                   .rest_unsupported = t->rest_refused,
                                   .saturates = t->saturates,
                                   .operators = t->ops.count,
                                   .domains = t->opsets.count,
                                   .notes = t->notes.n};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

const char *surg_target_domain(const surg_target *t, size_t i) {
  return t && i < t->opsets.count ? t->opsets.items[i].name : NULL;
}

const char *surg_target_note(const surg_target *t, size_t i) {
  return t && i < t->notes.n ? t->notes.items[i] : NULL;
}

surg_status surg_target_operator_at(const surg_target *t, size_t i, surg_target_operator *out) {
  if (!t || !out) return SURG_EUSAGE;
  if (i >= t->ops.count) return SURG_ENOTFOUND;
  const surg__op_facts *op = &t->ops.items[i];
  bool none = true;
  for (size_t k = 0; k < op->n; k++) none &= op->facts[k].refused;
  const surg_target_operator all = {
      .size = sizeof all, .name = op->name, .facts = op->n, .unsupported = none};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_target_find_operator(const surg_target *t, const char *name, size_t *out) {
  if (!t || !name || !out) return SURG_EUSAGE;
  const surg__op_facts *op = surg__target_op(t, "", name);
  if (!op) return SURG_ENOTFOUND;
  *out = (size_t)(op - t->ops.items);
  return SURG_OK;
}

surg_status surg_target_fact(const surg_target *t, size_t i, size_t k, char **text) {
  if (!t || !text) return SURG_EUSAGE;
  *text = NULL;
  if (i >= t->ops.count || k >= t->ops.items[i].n) return SURG_ENOTFOUND;
  surg__buf b;
  surg__buf_init(&b, t->ctx);
  put_fact(&b, &t->ops.items[i].facts[k]);
  return surg__buf_give(&b, text);
}

const char *surg_target_fact_source(const surg_target *t, size_t i, size_t k) {
  if (!t || i >= t->ops.count || k >= t->ops.items[i].n) return NULL;
  const char *own = t->ops.items[i].facts[k].source;
  return own ? own : t->source;
}
