/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the model and its functions to another opset of the default domain. Nodes with the same
 * meaning there stay; the others are rewritten by rules (passes/rules/opset.rules,
 * substitute.rules). If a node cannot be converted, nothing is changed and every such node is
 * reported.
 *
 *   before: <opset 13> (x) => (y) <int64[1] a = {1}> { y = Squeeze (x, a) }
 *   after:  <opset 12> (x) => (y) { y = Squeeze <axes = [1]> (x) }
 *
 * Reads of sequences are replaced by the values stored there (passes/control/sequence.c). Types in
 * a function are those common to all its calls; where a node needs more, the function is inlined
 * first, with a note.
 *
 * A conversion to a lower opset also lowers the IR version, to that of the opset's release or to
 * what the model needs. Approximate rules are used only if there is no better one and allow=approx
 * is given.
 *
 * Needs sorted, types. Keeps sorted. As exact as the rules it used. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../util/allow.h"
#include "../control/inline.h"
#include "../control/sequence.h"

typedef struct stuck {
  const surg_function **f; /* sorted by address */
  size_t n;
} stuck;

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const surg_function *const *)a;
  const uintptr_t y = (uintptr_t) * (const surg_function *const *)b;
  return (x > y) - (x < y);
}

static bool goes(void *user, const surg_function *f) {
  const stuck *s = user;
  return bsearch(&f, s->f, s->n, sizeof *s->f, by_address) != NULL;
}

static void note(surg_pass_ctx *p, const surg_function *f) {
  char text[300];
  snprintf(text, sizeof text,
           "function %.100s.%.100s is inlined: a node of it cannot be moved for all its calls"
           " alike",
           surg_function_domain(f), surg_function_name(f));
  surg_pass_note(p, NULL, text);
}

/* Lists functions that contain nodes which cannot be converted. Functions that cannot be inlined
 * are excluded: the conversion reports their nodes. */
static bool find_stuck(surg_pass_ctx *p, const char *domain, int64_t to, stuck *s) {
  surg_model *m = surg_pass_model(p);
  const size_t count = surg_model_function_count(m);
  bool *blocked = surg_pass_alloc(p, count + 1);
  char text[INLINE_TEXT];
  const char *other;
  s->n = 0;
  s->f = surg_pass_alloc(p, (count + 1) * sizeof *s->f);
  if (!blocked || !s->f || surg_pass_move_blocked(p, domain, to, blocked) != SURG_OK) return false;
  for (size_t i = 0; i < count; i++) {
    surg_function *f = surg_model_function(m, i);
    if (!blocked[i] || inline_differs(f, surg_model_graph(m), text, &other)) continue;
    s->f[s->n++] = f;
    note(p, f);
  }
  qsort(s->f, s->n, sizeof *s->f, by_address);
  return true;
}

/* Inlines such functions, since the types at a single call may suffice. Repeated, because their
 * callers may then contain such nodes. */
static surg_pass_result inline_stuck(surg_pass_ctx *p, const char *domain, int64_t to) {
  surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  size_t before;
  do {
    stuck s;
    before = surg_model_function_count(m);
    if (before == 0) break;
    if (!find_stuck(p, domain, to, &s)) return SURG_PASS_FAILED;
    const surg_pass_result r = s.n ? inline_functions(p, goes, &s) : SURG_PASS_UNCHANGED;
    if (r == SURG_PASS_FAILED) return r;
    if (r == SURG_PASS_CHANGED) result = r;
    if (surg_model_infer(m) != SURG_OK) return SURG_PASS_FAILED;
  } while (surg_model_function_count(m) < before);
  return result;
}

static bool of_sequences(int op) {
  switch (op) {
    case SURG_OP_SequenceAt:
    case SURG_OP_SequenceLength:
    case SURG_OP_ConcatFromSequence:
    case SURG_OP_OptionalHasElement:
    case SURG_OP_OptionalGetElement: return true;
    default: return false;
  }
}

/* Replaces reads of sequences that the target opset lacks by the stored values, if known. */
static surg_pass_result without_sequences(surg_pass_ctx *p, const char *domain, int64_t to) {
  surg_model *m = surg_pass_model(p);
  if (*domain) return SURG_PASS_UNCHANGED;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (!of_sequences(surg_node_op(n)) || surg_node_fits(n, to)) continue;
      const surg_pass_result r = sequence_read(p, true);
      if (r == SURG_PASS_CHANGED && surg_model_infer(m) != SURG_OK) return SURG_PASS_FAILED;
      return r;
    }
  return SURG_PASS_UNCHANGED;
}

/* Whether any node, in subgraphs and functions included, is of the domain. */
static bool has_nodes_of(surg_model *m, const char *domain) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!strcmp(surg_node_domain(n), domain)) return true;
  return false;
}

/* Adds the import to a model without one and without nodes of the domain, as exporters of
 * ai.onnx.ml wrote them: rules for other operators create such nodes. */
static surg_pass_result import(surg_pass_ctx *p, const char *domain, int64_t to) {
  surg_model *m = surg_pass_model(p);
  if (surg_model_function_count(m) || has_nodes_of(m, domain) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  if (surg_model_set_opset(m, domain, to) != SURG_OK) return SURG_PASS_FAILED;
  surg_pass_count(p, "imports", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const char *domain = surg_pass_string(p, "domain");
  const int64_t to = surg_pass_int(p, "to"), newest = surg_schema_newest(domain);
  surg_model *m = surg_pass_model(p);
  char text[200];
  if (allow_check(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  surg_pass_used(p, SURG_EXACT); /* so far; each applied rule reports its own class */
  if (newest < 1) return surg_pass_usage(p, "option domain: the domain is unknown");
  if (to < 1 || to > newest) {
    snprintf(text, sizeof text, "option to: expected an opset from 1 to %d, found %lld",
             (int)newest, (long long)to);
    return surg_pass_usage(p, text);
  }
  if (surg_model_opset(m, domain) > newest) {
    snprintf(text, sizeof text, "the model is of opset %d; the newest known is %d",
             (int)surg_model_opset(m, domain), (int)newest);
    return surg_pass_fail(p, NULL, text);
  }
  if (surg_model_opset(m, domain) < 1) return import(p, domain, to);
  surg_pass_result read = without_sequences(p, domain, to);
  if (read == SURG_PASS_FAILED) return read;
  const surg_pass_result inlined = inline_stuck(p, domain, to);
  if (inlined == SURG_PASS_FAILED) return inlined;
  if (inlined == SURG_PASS_CHANGED) { /* element types of sequences are known now */
    const surg_pass_result again = without_sequences(p, domain, to);
    if (again == SURG_PASS_FAILED) return again;
    if (again == SURG_PASS_CHANGED) read = again;
  }
  const surg_pass_result moved = surg_pass_move_domain(p, domain, to);
  return moved != SURG_PASS_UNCHANGED ? moved : inlined != SURG_PASS_UNCHANGED ? inlined : read;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "to", "0", "target opset version"),
    SURG_OPTION(STRING, "domain", "", "domain to convert; '' is the default domain"),
    ALLOW_OPTION,
};

const surg_pass surg__pass_opset = {
    SURG_PASS_HEAD(MODEL, "opset", "convert the model to another opset"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
