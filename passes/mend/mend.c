/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs invalid models. A repair is certain if the file can have only one meaning; then it is
 * exact and needs no consent. A guess is `approx`. Inputs and outputs of the model are added and
 * removed only with the option `interface`. Each repair is noted with its class, and each remaining
 * defect with the reason.
 *
 *   before: <opset_import: ["" : 17]> g (x) => (v, i) <int64 k = {2}> { v, i = TopK (x, k) }
 *   after:  ... <int64[1] k1 = {2}> { v, i = TopK (x, k1) }
 *
 * Works on models with open findings. Needs nothing. Keeps nothing. Exact, or as the notes
 * state. */
#include "mend.h"

#include <onnxsurg/check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 32 /* a repair may make others possible; each guess is followed by a round */
#define TEXT 1024
#define SHOWN 20 /* most defects listed when some remain */

typedef struct part {
  const char *family;
  bool (*cure)(mending *k);
} part;

/* Order matters: operators depend on versions, names and the types of weights, types on everything
 * before. */
static const part parts[] = {
    {"findings", mend_findings},     {"versions", mend_versions},   {"declared", mend_defaults},
    {"attributes", mend_attributes}, {"bodies", mend_bodies},       {"opsets", mend_opsets},
    {"names", mend_names},           {"interface", mend_interface}, {"withdrawn", mend_withdrawn},
    {"elements", mend_elements},     {"types", mend_types},         {"declared", mend_declared},
};

bool mend_allows(const mending *k, surg_exactness e) {
  return e == SURG_EXACT || (k->guessing && surg_pass_allows(k->p, e));
}

bool mend_may(mending *k, surg_exactness e) {
  return mend_allows(k, e) && surg_pass_allow(k->p);
}

void mend_did(mending *k, const surg_node *at, surg_exactness e, const char *fmt, ...) {
  char what[TEXT], line[TEXT + 32];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  if (e != SURG_EXACT) k->guessed = true;
  /* All certain repairs precede the first guess, so what follows one was made possible by it. */
  if (k->guessed) e = SURG_APPROX;
  snprintf(line, sizeof line, "%s (%s)", what, e == SURG_EXACT ? "exact" : "approx");
  surg_pass_note(k->p, at, line);
  surg_pass_count(k->p, k->family, 1);
  if (e != SURG_EXACT) surg_pass_used(k->p, e);
  k->changed = true;
}

void mend_leaves(mending *k, const surg_node *at, const char *fmt, ...) {
  char what[TEXT], line[TEXT + 32];
  va_list args;
  if (!k->last) return;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  snprintf(line, sizeof line, "not mended: %s", what);
  if (k->open)
    surg_pass_fail(k->p, at, line);
  else
    surg_pass_note(k->p, at, line);
}

/* Reports the remaining defects (at most SHOWN), with which the model cannot be written. */
static surg_pass_result give_up(mending *k) {
  char line[TEXT];
  size_t shown = 0;
  for (size_t i = 0; i < surg_model_finding_count(k->m); i++) {
    surg_finding f = {.size = sizeof f};
    if (!surg_model_finding(k->m, i, &f)) return SURG_PASS_FAILED;
    if (f.cured || f.severity != SURG_ERROR || shown++ >= SHOWN) continue;
    snprintf(line, sizeof line, "%s: %s; %s", f.where, f.text, f.cure);
    for (char *c = line; *c; c++)
      if (*c == '"') *c = '\'';
    surg_context_report(surg_pass_context(k->p), SURG_ERROR, surg_model_path(k->m), line);
  }
  snprintf(line, sizeof line, "not mended: %zu defect%s", k->open, k->open == 1 ? "" : "s");
  return surg_pass_fail(k->p, NULL, line);
}

const surg_schema *mend_schema(const surg_node *n) {
  const char *domain = surg_node_domain(n);
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return NULL;
  const int64_t opset = surg_graph_opset(surg_node_graph(n), domain);
  return opset > 0 ? surg_schema_find(domain, surg_node_op_type(n), opset) : NULL;
}

surg_node *mend_add(surg_node *before, const char *op_type, surg_value *const *in, size_t n_in) {
  surg_node *n = surg_graph_add_node(surg_node_graph(before), before, NULL, op_type, 1);
  for (size_t i = 0; n && i < n_in; i++)
    if (surg_node_set_input(n, i, in[i]) != SURG_OK) return NULL;
  return n;
}

surg_value *mend_ints(surg_node *before, const int64_t *items, size_t count) {
  surg_graph *g = surg_node_graph(before);
  const bool scalar = count == SIZE_MAX;
  const int64_t dims[1] = {scalar ? 1 : (int64_t)count};
  const size_t n = scalar ? 1 : count;
  surg_tensor *t = surg_tensor_new_numbers(surg_graph_model(g), SURG_INT64, dims, scalar ? 0 : 1,
                                           items, n);
  return t ? surg_graph_constant(g, before, NULL, t) : NULL;
}

/* --- what remains --- */

/* Whether runtimes run such a model all the same, and no content of the file can cure it: weights
 * that are elsewhere, interfaces without a rank, functions with their own imports. */
static bool is_tolerated(const char *code) {
  static const char *const codes[] = {"E111", "E130", "E133"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (strcmp(code, codes[i]) == 0) return true;
  return false;
}

static void hear(void *user, const surg_check_finding *f) {
  char line[TEXT];
  mending *k = user;
  if (*f->code != 'E' || is_tolerated(f->code)) return;
  if (k->remain++ >= SHOWN || !f->text) return;
  snprintf(line, sizeof line, "%s%s%s [%s]", f->where ? f->where : "", f->where ? ": " : "",
           f->text, f->code);
  surg_pass_left(k->p, NULL, line);
}

/* Reports the errors that the checker finds in the result. */
static bool report_rest(mending *k) {
  surg_check_counts counts = {.size = sizeof counts};
  return surg_check(k->m, 0, hear, k, &counts) == SURG_OK;
}

static bool chosen(const surg_pass_ctx *p, const char *family) {
  const size_t n = surg_pass_list_count(p, "only");
  for (size_t i = 0; i < n; i++)
    if (strcmp(surg_pass_list_at(p, "only", i), family) == 0) return true;
  return n == 0;
}

static surg_pass_result check_words(surg_pass_ctx *p) {
  const size_t count = sizeof parts / sizeof *parts;
  for (size_t i = 0; i < surg_pass_list_count(p, "only"); i++) {
    size_t k = 0;
    while (k < count && strcmp(parts[k].family, surg_pass_list_at(p, "only", i)) != 0) k++;
    if (k == count)
      return surg_pass_usage(p,
                             "option only: expected findings, versions, attributes, bodies, "
                             "opsets, names, interface, withdrawn, elements, types or declared");
  }
  return SURG_PASS_UNCHANGED;
}

/* Runs the parts in order. A round of guesses ends after the first part that changed the model,
 * so that certain repairs are made again before the next guess. */
static bool round_of(mending *k, bool guessing) {
  k->changed = false;
  k->guessing = guessing;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !(guessing && k->changed); i++) {
    if (!chosen(k->p, parts[i].family)) continue;
    k->family = parts[i].family;
    if (!parts[i].cure(k) || surg_model_status(k->m) != SURG_OK) return false;
  }
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  mending k = {.p = p,
               .m = surg_pass_model(p),
               .opset = surg_pass_int(p, "newest"),
               .interface = surg_pass_bool(p, "interface")};
  surg_pass_result result = SURG_PASS_UNCHANGED;
  (void)unused;
  if (check_words(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (int i = 0; i < ROUNDS; i++) {
    if (!round_of(&k, false) || (!k.changed && !round_of(&k, true))) return SURG_PASS_FAILED;
    if (!k.changed) break;
    result = SURG_PASS_CHANGED;
  }
  k.last = true;
  k.open = surg_model_open_findings(k.m);
  if (!round_of(&k, true)) return SURG_PASS_FAILED;
  k.open = surg_model_open_findings(k.m);
  if (k.open) return give_up(&k);
  if (!surg_pass_list_count(p, "only") && !report_rest(&k)) return SURG_PASS_FAILED;
  return k.changed ? SURG_PASS_CHANGED : result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "only", NULL, "families of defects to repair (default: all)"),
    SURG_OPTION(INT, "newest", "0", "newest opset to import if none is imported"),
    SURG_OPTION(BOOL, "interface", "false", "may add and remove inputs and outputs"),
};

const surg_pass surg__pass_mend = {
    SURG_PASS_HEAD(MODEL, "mend", "repair defects of invalid models"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_TAKES_DEFECTS,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
