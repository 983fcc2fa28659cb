/* SPDX-License-Identifier: Apache-2.0 */
/* What a target states, for people and programs that embed the library (onnxsurg/target.h). */
#include <onnxsurg/target.h>
#include <stdio.h>

#include "base/diag.h"
#include "target/target.h"

size_t surg_target_span(int64_t low, int64_t high, char *out, size_t room) {
  int n = 0;
  if (low == INT64_MIN && high == INT64_MAX)
    n = snprintf(out, room, "not stated");
  else if (low == INT64_MIN)
    n = snprintf(out, room, "up to %lld", (long long)high);
  else if (high == INT64_MAX)
    n = snprintf(out, room, "from %lld", (long long)low);
  else
    n = snprintf(out, room, "%lld to %lld", (long long)low, (long long)high);
  return n < 0 ? 0 : (size_t)n;
}

static void put_span(surg__buf *b, int64_t low, int64_t high) {
  char text[64];
  surg_target_span(low, high, text, sizeof text);
  surg__buf_puts(b, text);
}

static void put_spans(surg__buf *b, const char *what, const surg__tspan *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    surg__buf_printf(b, "%s %s ", what, list[i].name);
    put_span(b, list[i].low, list[i].high);
    surg__buf_puts(b, "; ");
  }
}

static void put_conditions(surg__buf *b, const surg__tfact *f) {
  put_spans(b, "elements of constant", f->known, f->n_known);
  put_spans(b, "elements of", f->each, f->n_each);
  put_spans(b, "size of axis", f->dims, f->n_dims);
  for (size_t i = 0; i < f->iota.n; i++) surg__buf_printf(b, "%s 0, 1, 2, ...; ", f->iota.items[i]);
  for (size_t i = 0; i < f->halves.n; i++)
    surg__buf_printf(b, "equal halves of %s; ", f->halves.items[i]);
  for (size_t i = 0; i < f->odd.n; i++) surg__buf_printf(b, "odd %s; ", f->odd.items[i]);
  if (f->folds) surg__buf_puts(b, "what is computed from constants counts as constant; ");
  if (f->plain_equation) surg__buf_puts(b, "no ellipsis, no label twice in one operand; ");
  if (f->branch_ranks) surg__buf_puts(b, "outputs of the branches of one rank; ");
  if (f->branch_spread) surg__buf_puts(b, "outputs of the branches broadcast; ");
  if (f->distinct) surg__buf_puts(b, "outputs of the branches with names of their own; ");
  if (f->still) surg__buf_puts(b, "carried values of one shape, scan outputs of fixed size; ");
}

/* Versions and opsets that a fact is about, and whether the engine rejects them. */
static void put_scope(surg__buf *b, const surg__tfact *f) {
  const surg__op_facts one = {"", f, 1};
  if (f->refused) surg__buf_puts(b, "refused; ");
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

/* Element types, inputs and attributes. */
static void put_signature(surg__buf *b, const surg__tfact *f) {
  for (size_t i = 0; i < f->n_types; i++) {
    surg__buf_printf(b, "%s ",
                     !strcmp(f->types[i].name, "0")     ? "types"
                     : !strcmp(f->types[i].name, "out") ? "output"
                                                        : f->types[i].name);
    surg__target_put_types(b, f->types[i].mask);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->constants.n; i++)
    surg__buf_printf(b, "%s constant; ",
                     strcmp(f->constants.items[i], "*") ? f->constants.items[i] : "all inputs");
  for (size_t i = 0; i < f->absent.n; i++) surg__buf_printf(b, "no %s; ", f->absent.items[i]);
  for (size_t i = 0; i < f->no_attrs.n; i++) surg__buf_printf(b, "no %s; ", f->no_attrs.items[i]);
  for (size_t i = 0; i < f->written.n; i++)
    surg__buf_printf(b, "%s written; ", f->written.items[i]);
  for (size_t i = 0; i < f->unwritten.n; i++)
    surg__buf_printf(b, "%s left out; ", f->unwritten.items[i]);
  for (size_t i = 0; i < f->n_attrs; i++) {
    surg__buf_printf(b, "%s ", f->attrs[i].name);
    for (size_t k = 0; k < f->attrs[i].values.n; k++)
      surg__buf_printf(b, "%s%s", k ? ", " : "", f->attrs[i].values.items[k]);
    surg__buf_puts(b, "; ");
  }
}

/* Ranks, shapes, sizes and values. */
static void put_shapes(surg__buf *b, const surg__tfact *f) {
  for (size_t i = 0; i < f->n_ranks; i++) {
    surg__buf_printf(b, "rank of %s ",
                     strcmp(f->ranks[i].name, "0") ? f->ranks[i].name : "input 0");
    put_span(b, f->ranks[i].low, f->ranks[i].high);
    surg__buf_puts(b, "; ");
  }
  if (f->fed) surg__buf_puts(b, "not of constants alone; ");
  if (f->same) surg__buf_puts(b, "inputs of one shape; ");
  for (size_t i = 0; i < f->shaped.n; i++)
    surg__buf_printf(b, "%s of the shape of the result; ", f->shaped.items[i]);
  for (size_t i = 0; i < f->initializers.n; i++)
    surg__buf_printf(b, "%s not a Constant node; ", f->initializers.items[i]);
  for (size_t i = 0; i < f->not_before.n; i++)
    surg__buf_printf(b, "not read by one %s alone; ", f->not_before.items[i]);
  for (size_t i = 0; i < f->only_before.n; i++)
    surg__buf_printf(b, "read by %s alone; ", f->only_before.items[i]);
  for (size_t i = 0; i < f->not_after.n; i++)
    surg__buf_printf(b, "does not read a %s; ", f->not_after.items[i]);
  for (size_t i = 0; i < f->n_axes; i++) {
    surg__buf_printf(b, "axes %s ", f->axes[i].name);
    put_span(b, f->axes[i].low, f->axes[i].high);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->producers.n; i++)
    surg__buf_printf(b, "model of producer %s; ", f->producers.items[i]);
  for (size_t i = 0; i < f->not_producers.n; i++)
    surg__buf_printf(b, "model not of producer %s; ", f->not_producers.items[i]);
  for (size_t i = 0; i < f->stored.n; i++)
    surg__buf_printf(b, "%s not a vector computed from constants; ", f->stored.items[i]);
  for (size_t i = 0; i < f->layers.n; i++)
    surg__buf_printf(b, "a constant in %s is in no other place of that kind; ",
                     strcmp(f->layers.items[i], "*") ? f->layers.items[i] : "any input");
  for (size_t i = 0; i < f->nodes.n; i++)
    surg__buf_printf(b, "%s a Constant node; ", f->nodes.items[i]);
  for (size_t i = 0; i < f->unshared.n; i++)
    surg__buf_printf(b, "a constant in %s is in no element-wise node; ", f->unshared.items[i]);
  if (f->inner) surg__buf_puts(b, "fixed sizes of the axes summed over; ");
  if (f->agree) surg__buf_puts(b, "sizes that the importer knows of the last operand, too; ");
  if (f->settled) surg__buf_puts(b, "fixed sizes, unless only batch sizes of inputs are open; ");
  for (size_t i = 0; i < f->n_spreads; i++)
    surg__buf_printf(b, "%s %s; ", f->spreads[i].name, surg__target_spread(f->spreads[i].how));
  for (size_t i = 0; i < f->n_sizes; i++) {
    surg__buf_printf(b, "elements of %s ", f->sizes[i].name);
    put_span(b, f->sizes[i].low, f->sizes[i].high);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_values; i++) {
    surg__buf_printf(b, "%s ", f->values[i].name);
    put_span(b, f->values[i].low, f->values[i].high);
    surg__buf_puts(b, "; ");
  }
  if (f->fixed)
    surg__buf_puts(b, f->open_first ? "fixed sizes, but for the batch; " : "fixed sizes; ");
  if (f->batch) surg__buf_printf(b, "batch %lld; ", (long long)f->batch);
}

/* One fact as a phrase. */
static void put_fact(surg__buf *b, const surg__tfact *f) {
  put_scope(b, f);
  put_conditions(b, f);
  put_signature(b, f);
  put_shapes(b, f);
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
