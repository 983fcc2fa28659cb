/* SPDX-License-Identifier: Apache-2.0 */
/* Integer attributes beyond 32 bits. Shape inference of ONNX cuts most of them to 32 bits, kernels
 * read all 64 or reject what they would lose. A model is judged as it is and with such attributes
 * cut; if these verdicts differ, its support is unknown. */
#include <stdio.h>
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "check/check.h"
#include "ir/ir.h"
#include "target/judge.h"

static bool exceeds(int64_t v) {
  return v < INT32_MIN || v > INT32_MAX;
}

static bool has_wide(const surg_attr *a) {
  if (surg_attr_ref(a)) return false;
  if (surg_attr_get_kind(a) == SURG_ATTR_INT) return exceeds(surg_attr_int(a));
  size_t count = 0;
  const int64_t *v = surg_attr_get_kind(a) == SURG_ATTR_INTS ? surg_attr_ints(a, &count) : NULL;
  for (size_t i = 0; v && i < count; i++)
    if (exceeds(v[i])) return true;
  return false;
}

/* Whether inference may cut the attribute: a number, or a list of axes. The value of a Constant is
 * data. */
static bool is_cut(const surg_node *n, const surg_attr *a) {
  if (surg_node_domain(n)[0] || surg__judge_is_constant(n) || !has_wide(a)) return false;
  return surg_attr_get_kind(a) == SURG_ATTR_INT || !strcmp(surg_attr_name(a), "axes");
}

void surg__judge_sizes(surg__judge *j) {
  static const char *const lists[] = {"pads", "strides", "dilations", "kernel_shape"};
  if (!j->t->onnx_inference || surg_node_domain(j->n)[0] || surg__check_computes_window(j->n))
    return;
  for (size_t i = 0; i < SURG_COUNT(lists); i++) {
    const surg_attr *a = surg_node_attr(j->n, lists[i]);
    if (!a || !has_wide(a)) continue;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL,
                       "attribute %s exceeds 32 bits; whether the engine computes such sizes is "
                       "unknown",
                       lists[i]);
    return;
  }
}

/* The next attribute after the i-th of n, in the order of the graphs; false: none. */
static bool next_cut(surg_model *m, surg_node **n, uint32_t *i) {
  const surg_graph *g = *n ? surg_node_graph(*n) : surg_model_next_graph(m, NULL);
  surg_node *k = *n ? *n : (surg_node *)(uintptr_t)surg_graph_first_node(g);
  uint32_t at = *n ? *i + 1 : 0;
  for (;;) {
    for (; k; k = (surg_node *)(uintptr_t)surg_node_next(k), at = 0)
      for (; at < k->n_attr; at++)
        if (is_cut(k, k->attrs[at])) {
          *n = k;
          *i = at;
          return true;
        }
    g = surg_model_next_graph(m, g);
    if (!g) return false;
    k = (surg_node *)(uintptr_t)surg_graph_first_node(g);
    at = 0;
  }
}

/* Cuts an attribute of a copy. */
static bool cut(surg_node *n, const surg_attr *a) {
  int64_t list[SURG_LIMIT_RANK];
  size_t count = 1;
  const bool one = surg_attr_get_kind(a) == SURG_ATTR_INT;
  const int64_t number = one ? surg_attr_int(a) : 0, *v = one ? &number : surg_attr_ints(a, &count);
  if (count > SURG_LIMIT_RANK) return false;
  for (size_t i = 0; i < count; i++) list[i] = (int32_t)(uint32_t)(uint64_t)v[i];
  const char *name = surg_attr_name(a);
  return one ? surg_node_set_int(n, name, list[0]) == SURG_OK
             : surg_node_set_ints(n, name, list, count) == SURG_OK;
}

/* Passes objections on, those that an attribute decides as unknown. */
typedef struct relay {
  surg__objection_fn fn;
  void *user;
  bool doubtful;
} relay;

static void pass_on(void *user, const surg__objection *o) {
  const relay *r = user;
  surg__objection own = *o;
  if (r->doubtful && o->verdict == SURG__ILLEGAL) own.verdict = SURG__UNKNOWN;
  r->fn(r->user, &own);
}

static surg_status judge_cut(const surg__target *t, surg_model *m, surg__judge_model_fn judge,
                             surg__judge_heard *h) {
  surg_model *copy = surg_model_clone(m);
  if (!copy) return surg__alloc_status(t->ctx);
  surg_node *n = NULL;
  uint32_t i = 0;
  bool possible = true;
  while (possible && next_cut(copy, &n, &i)) possible = cut(n, n->attrs[i]);
  surg_status s = copy->status;
  if (s == SURG_OK && possible) s = judge(t, copy, surg__judge_hear, h);
  if (!possible) *h = (surg__judge_heard){.worst = SURG__UNKNOWN, .text = "it cannot be cut"};
  surg_model_free(copy);
  return s;
}

surg_status surg__judge_wide(const surg__target *t, surg_model *m, surg__judge_model_fn judge,
                             surg__objection_fn fn, void *user) {
  surg_node *n = NULL;
  uint32_t i = 0;
  surg__judge_heard own = {.worst = SURG__LEGAL}, narrow = own;
  if (!t->onnx_inference || !next_cut(m, &n, &i)) return judge(t, m, fn, user);
  surg_status s = judge(t, m, surg__judge_hear, &own);
  if (s == SURG_OK) s = judge_cut(t, m, judge, &narrow);
  if (s != SURG_OK) return s;
  relay r = {fn, user, own.worst == SURG__ILLEGAL && narrow.worst != SURG__ILLEGAL};
  s = judge(t, m, pass_on, &r);
  if (s != SURG_OK || own.worst != SURG__LEGAL || narrow.worst == SURG__LEGAL) return s;
  char text[500];
  snprintf(text, sizeof text, "attribute %s exceeds 32 bits; cut to them: %s",
           surg__q(t->ctx, surg_attr_name(n->attrs[i])), narrow.text);
  fn(user, &(surg__objection){.verdict = SURG__UNKNOWN,
                              .cause = SURG__C_ATTR,
                              .node = n,
                              .text = text,
                              .source = t->source});
  return SURG_OK;
}
