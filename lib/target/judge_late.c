/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions that an engine may not notice before the node runs. Engines infer shapes as ONNX
 * does: from declared types and operators of the standard. The shape inference of this program also
 * follows loops, branches, calls and operators of engines, so it finds more. */
#include <stdio.h>
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "ir/ir.h"
#include "target/judge.h"

#define ENTRIES 64      /* most axes that are read */
#define MOST_NODES 500u /* nodes that are followed upstream; beyond them the answer is "late" */

typedef struct upstream {
  const surg_node *nodes[MOST_NODES];
  size_t n, done;
  bool hidden;
  bool inlined; /* the engine infers the nodes of functions in place of the calls */
} upstream;

static void follow(upstream *u, const surg_node *n) {
  for (size_t i = 0; i < u->n; i++)
    if (u->nodes[i] == n) return;
  if (u->n == MOST_NODES)
    u->hidden = true;
  else
    u->nodes[u->n++] = n;
}

/* Follows a value to its producer, unless its shape is declared. Where the declaration contradicts
 * what is inferred, engines know neither. */
static void follow_value(upstream *u, const surg_value *v) {
  const surg_type *t = v ? surg_value_declared_type(v) : NULL;
  const surg_type *is = v ? surg_value_type(v) : NULL;
  const bool said = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  if (said && is && v->producer && surg__check_types_differ(t, is)) u->hidden = true;
  if (!v || said) return;
  if (v->producer)
    follow(u, v->producer);
  else if (!surg_value_is_initializer(v) && !(u->inlined && surg_graph_function(v->graph)))
    u->hidden = true; /* an input of a subgraph or function: the node around it gives the type */
}

static void follow_inputs(upstream *u, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) follow_value(u, surg_node_input(n, i));
}

/* Whether ONNX's inference gives the outputs of the node shapes: not if they depend on elements
 * that other nodes compute, some of which it follows. */
static bool is_plain(const surg_node *n) {
  return n->schema && !surg__check_computed(n) && !surg_node_domain(n)[0] &&
         !surg_node_subgraph(n, 0) && surg_node_class(n) != SURG_OP_CLASS_FUNCTION;
}

bool surg__judge_listed(const surg__tlist *list, const surg_node *n) {
  char version[64];
  if (surg_node_domain(n)[0] || !n->schema) return false;
  snprintf(version, sizeof version, "%s-%d", n->op_type, n->schema->since);
  return surg__listed(list, n->op_type) || surg__listed(list, version);
}

/* Whether an entry of `axes`, an attribute or constant input 1, is no axis of input 0. */
static bool has_stray_axis(const surg_node *n) {
  int64_t list[ENTRIES];
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  const surg_attr *a = surg_node_attr(n, "axes");
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES)
                        : a && a->kind == SURG_ATTR_INTS && !a->ref ? (int64_t)a->count
                                                                    : 0;
  if (!x || surg_type_get_kind(x) != SURG_TYPE_TENSOR || !surg_type_has_rank(x)) return false;
  const int64_t rank = (int64_t)surg_type_rank(x);
  for (int64_t i = 0; i < count; i++) {
    const int64_t axis = c ? list[i] : a->u.ints[i];
    if (axis < -rank || axis >= rank) return true;
  }
  return false;
}

static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether scales or sizes are a scalar, of which only the number of elements is compared, if it is
 * constant, with the rank of input 0. */
static bool has_scalar_scale(const surg_node *n) {
  const surg_type *x = ranked(surg_node_input(n, 0));
  for (size_t i = 1; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = ranked(v);
    if (!t || surg_type_rank(t)) continue;
    if (surg_type_dtype(t) == SURG_FLOAT && !surg_value_constant(v)) return true;
    if (surg_value_constant(v) && (!x || surg_type_rank(x) == 1)) return true;
  }
  return false;
}

/* Whether the target states that the engine compares no sizes of two matrices here, or no axes. */
static bool is_unread(const surg__target *t, const surg_node *n) {
  bool listed = surg__judge_listed(&t->late, n);
  if (listed && surg_node_op(n) == SURG_OP_Squeeze) return has_stray_axis(n);
  if (listed && surg_node_op(n) == SURG_OP_Resize) return has_scalar_scale(n);
  for (size_t i = 0; listed && i < 2; i++) {
    const surg_type *x = ranked(surg_node_input(n, i));
    listed = x && surg_type_rank(x) == 2;
  }
  return listed;
}

bool surg__late(const surg__target *t, const surg_model *m, const char *code, const surg_node *n) {
  const bool believed = strcmp(code, "W227") == 0;
  if (strcmp(code, "E203") != 0 && strcmp(code, "W206") != 0 && !believed) return false;
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0) return false; /* the target states it */
  /* Kernels of other domains compare sizes when the model is loaded. */
  if (code[0] == 'W' && !believed)
    return !surg_node_domain(n)[0] || surg_node_op(n) == SURG_OP_ml_LinearRegressor;
  if (surg__check_late(n) || is_unread(t, n)) return true;
  upstream *u = surg__calloc(m->ctx, 1, sizeof *u);
  if (!u) return true;
  u->inlined = t->inlined;
  follow_inputs(u, n);
  while (u->done < u->n && !u->hidden) {
    const surg_node *up = u->nodes[u->done++];
    u->hidden = !is_plain(up);
    follow_inputs(u, up);
  }
  const bool hidden = u->hidden;
  surg__free(m->ctx, u);
  return hidden;
}
