/* SPDX-License-Identifier: Apache-2.0 */
/* Types of values that inference leaves open, because a node before them has inputs of mixed types:
 * that of the first input of the same type parameter, as ONNX's own inference has it. They are
 * declared while the pass runs and removed afterwards; the conversion makes the types agree, so
 * that they can be inferred. */
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <string.h>

#include "../util/bodies.h"
#include "precision.h"

#define ROUNDS 8 /* over all graphs: types of inner graphs depend on those around, and back */

typedef struct prec_assumed {
  surg_value *v;
  struct prec_assumed *next;
} prec_assumed;

/* Whether elements of the type are converted, or of the new type. */
static bool concerns(const prec *c, const surg_type *t) {
  const int d = t ? prec_dtype(t) : 0;
  return d > 0 && d < 64 && (d == c->kind->to || (c->from >> d & 1));
}

/* What a node makes of its first input. */
typedef enum made { SAME_KIND, SEQUENCE_OF, OPTIONAL_OF, ELEMENT_OF } made;

static made made_by(const surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_SequenceConstruct:
    case SURG_OP_SplitToSequence:
      return SEQUENCE_OF;
    case SURG_OP_Optional:
      return OPTIONAL_OF;
    case SURG_OP_SequenceAt:
    case SURG_OP_ConcatFromSequence:
    case SURG_OP_OptionalGetElement:
      return ELEMENT_OF;
    default:
      return SAME_KIND;
  }
}

/* The type of what n makes of values of the type t. */
static const surg_type *around(const prec *c, const surg_node *n, const surg_type *t) {
  const made how = made_by(n);
  const surg_type *elem = how == ELEMENT_OF ? surg_type_elem(t) : NULL;
  if (how == SEQUENCE_OF) return surg_type_wrap(c->m, SURG_TYPE_SEQUENCE, t);
  if (how == OPTIONAL_OF) return surg_type_wrap(c->m, SURG_TYPE_OPTIONAL, t);
  return elem ? elem : t; /* an optional of a tensor may be the tensor */
}

static bool assume(prec *c, const surg_node *n, surg_value *v, const surg_value *like) {
  const surg_tensor *k = surg_value_constant(like);
  const surg_type *t = prec_type(like);
  if (!v || prec_type(v) || surg_value_constant(v)) return true;
  if (k) t = surg_type_tensor_unranked(c->m, surg_tensor_dtype(k));
  if (!concerns(c, t)) return true;
  if (surg_type_get_kind(t) == SURG_TYPE_TENSOR)
    t = surg_type_tensor_unranked(c->m, surg_type_dtype(t));
  t = t ? around(c, n, t) : NULL;
  if (t && surg_type_get_kind(t) == SURG_TYPE_TENSOR)
    t = surg_type_tensor_unranked(c->m, surg_type_dtype(t));
  prec_assumed *a = surg_pass_alloc(c->p, sizeof *a);
  if (!a || !t || surg_value_set_declared_type(v, t)) return false;
  *a = (prec_assumed){.v = v, .next = c->assumed};
  c->assumed = a;
  return true;
}

/* The first input whose type parameter is that of output i, if it concerns the conversion. */
static const surg_value *first_of(const prec *c, const surg_node *n, size_t i) {
  const surg_schema *s = surg_node_schema(n);
  surg_schema_param out, in;
  if (!prec_formal(s, true, i, &out) || !out.is_type_param) return NULL;
  for (size_t k = 0; k < surg_node_input_count(n); k++) {
    const surg_value *v = surg_node_input(n, k);
    if (!v || !prec_formal(s, false, k, &in) || strcmp(in.type, out.type) != 0) continue;
    if (surg_value_constant(v) || concerns(c, prec_type(v))) return v;
  }
  const surg_value *first = surg_node_input(n, 0);
  return made_by(n) != SAME_KIND ? first : NULL;
}

/* What passes through control flow or a call to output i. */
static const surg_value *passed(surg_node *n, size_t i) {
  const int op = surg_node_op(n);
  surg_graph *g = surg_node_subgraph(n, 0);
  bodies_loop l;
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION)
    g = surg_function_graph(surg_node_function(n));
  else if (op == SURG_OP_Loop || op == SURG_OP_Scan)
    return g && bodies_loop_of(&l, n) ? surg_graph_output(g, l.first_out + i) : NULL;
  else if (op != SURG_OP_If)
    return NULL;
  return g && i < surg_graph_output_count(g) ? surg_graph_output(g, i) : NULL;
}

static bool assume_node(prec *c, surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (!v || prec_type(v)) continue;
    const bool plain = surg_node_class(n) != SURG_OP_CLASS_FUNCTION && surg_node_schema(n) &&
                       !surg_node_subgraph(n, 0);
    const surg_value *like = plain ? first_of(c, n, i) : passed(n, i);
    if (like && !assume(c, n, v, like)) return false;
  }
  return true;
}

bool prec_assume(prec *c) {
  const prec_assumed *before;
  size_t rounds = 0;
  do {
    surg_graph *g = NULL;
    before = c->assumed;
    while ((g = surg_model_next_graph(c->m, g)))
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
        if (!assume_node(c, n)) return false;
  } while (c->assumed != before && ++rounds < ROUNDS);
  return true;
}

bool prec_forget_assumed(prec *c) {
  for (const prec_assumed *a = c->assumed; a; a = a->next)
    if (surg_value_set_declared_type(a->v, NULL)) return false;
  return true;
}
