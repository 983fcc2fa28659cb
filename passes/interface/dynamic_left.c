/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what may still contain the old size of a dimension that was made symbolic: constants,
 * values computed only from constants, and attributes with sizes. See dynamic.c. */
#include <stdio.h>
#include <string.h>

#include "../util/numbers.h"
#include "../util/table.h"
#include "dynamic.h"

#define TEXT 160

typedef struct left {
  state *s;
  bool proven;
  table settled; /* values computed only from constants */
  table named;   /* those already reported, or computed from one */
} left;

static bool is_old(const state *s, int64_t v) {
  for (size_t k = 0; k < s->n; k++)
    if (v == s->keys[k].old) return true;
  return false;
}

/* Whether a dimension has an old size. 1 does not count, since it broadcasts. */
static bool is_old_dim(const state *s, int64_t v) {
  return v > 1 && is_old(s, v);
}

/* Whether a constant may depend on an old size: an element equals it or, unless it is a target
 * shape, a dimension does. */
static bool constant_holds(const state *s, const surg_tensor *t, bool target) {
  int64_t e[RANK];
  const int64_t count = numbers_of(t, e, RANK);
  for (int64_t i = 0; i < count; i++)
    if (is_old(s, e[i])) return true;
  for (size_t i = 0; !target && i < surg_tensor_rank(t); i++)
    if (is_old_dim(s, surg_tensor_dims(t)[i])) return true;
  return false;
}

/* The same for a value computed from constants. */
static bool computed_holds(const state *s, const surg_value *v, bool target) {
  surg_elem e[RANK];
  const surg_type *t = surg_value_type(v);
  const int64_t count = numbers_known(v, e, RANK);
  for (int64_t i = 0; i < count; i++)
    if (e[i].known && is_old(s, e[i].value)) return true;
  const bool ranked = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  for (size_t i = 0; ranked && !target && i < surg_type_rank(t); i++)
    if (is_old_dim(s, surg_type_dim(t, i)->value)) return true;
  return false;
}

/* Whether sizes matter to the node: an input varies, or it builds a shape from constants. */
static bool concerned(state *s, const surg_node *n) {
  const int op = surg_node_op(n);
  if (op == SURG_OP_Expand || op == SURG_OP_ConstantOfShape || op == SURG_OP_Concat) return true;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = v ? surg_value_type(v) : NULL;
    if (t && (!surg_type_has_rank(t) || dynamic_type_varies(s, t))) return true;
  }
  return false;
}

/* --- reporting --- */

/* Reports a suspect: as a note if the model was verified at other sizes, else as not done. */
static void tell(const left *l, const surg_node *n, const char *text) {
  surg_pass_count(l->s->p, "constants that may contain the old size", 1);
  if (l->proven)
    surg_pass_note(l->s->p, n, text);
  else
    surg_pass_left(l->s->p, n, text);
}

static bool tell_inputs(const left *l, const surg_node *n) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const bool target = i == 1 && surg_node_op(n) == SURG_OP_Reshape;
    const surg_tensor *t = v ? surg_value_constant(v) : NULL;
    const bool computed = v && !t && table_has(&l->settled, v) && !table_has(&l->named, v);
    char text[TEXT];
    if (t ? !constant_holds(l->s, t, target) : !computed || !computed_holds(l->s, v, target))
      continue;
    snprintf(text, sizeof text,
             t ? "the constant of input %zu may contain the old size"
               : "input %zu, computed from constants, may contain the old size",
             i);
    tell(l, n, text);
    any = true;
  }
  return any;
}

/* Reports attributes with sizes or positions. Others, such as windows, do not depend on sizes. */
static bool tell_attributes(const left *l, const surg_node *n) {
  static const char *const sizes[] = {"shape",        "ends",  "starts",
                                      "output_shape", "split", "repeats"};
  bool any = false;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t count = 0;
    const int64_t *items = surg_node_attr(n, sizes[i]) ? surg_node_ints(n, sizes[i], &count) : NULL;
    bool old = false;
    for (size_t k = 0; items && k < count; k++) old = old || is_old(l->s, items[k]);
    if (!old) continue;
    char text[TEXT];
    snprintf(text, sizeof text, "attribute '%s' may contain the old size", sizes[i]);
    tell(l, n, text);
    any = true;
  }
  return any;
}

/* --- values computed from constants --- */

static bool is_settled(const left *l, const surg_value *v) {
  return !v || surg_value_constant(v) || table_has(&l->settled, v);
}

/* Records the outputs of a node whose inputs are all constant; `named`: it was reported. */
static bool settle(left *l, const surg_node *n, bool named) {
  if (surg_node_subgraph(n, 0)) return true;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!is_settled(l, v)) return true;
    named = named || (v && table_has(&l->named, v));
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && (!table_put(&l->settled, v) || (named && !table_put(&l->named, v)))) return false;
  }
  return true;
}

static bool node(left *l, surg_node *n) {
  bool named = false;
  const bool source = surg_node_input_count(n) == 0;
  if (concerned(l->s, n)) named = tell_inputs(l, n);
  if (source || concerned(l->s, n)) named = tell_attributes(l, n) || named;
  return settle(l, n, named);
}

static void outputs(left *l, surg_graph *g) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    const surg_tensor *t = surg_value_constant(v);
    const bool computed = !t && table_has(&l->settled, v) && !table_has(&l->named, v);
    if (t ? constant_holds(l->s, t, false) : computed && computed_holds(l->s, v, false))
      tell(l, NULL, "an output is a constant that may contain the old size");
  }
}

static size_t count_values(const surg_model *m) {
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k))
      n += surg_node_output_count(k);
  return n;
}

bool dynamic_left(state *s, bool proven) {
  left l = {.s = s, .proven = proven};
  const size_t n = count_values(s->m) + 1;
  if (!table_make(&l.settled, s->p, n) || !table_make(&l.named, s->p, n)) return false;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g)) {
    for (surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k))
      if (!node(&l, k)) return false;
    outputs(&l, g);
  }
  return true;
}
