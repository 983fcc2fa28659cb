/* SPDX-License-Identifier: Apache-2.0 */
/* If as one of its branches, if the condition is known, or as Where. For Where both branches run
 * and each output is selected from one of them, so no node of either may fail or have side effects
 * where its branch is not selected. */
#include "base/counted.h"
#include "base/taught.h"
#include "ir/ir.h"
#include "rewrite/lower/native.h"

#define MOST_NODES 64u /* per branch, since both branches always run */

typedef struct branches {
  surg__builder *b;
  surg_graph *side[2]; /* then_branch, else_branch */
  surg_value **from[2];
  size_t n;
} branches;

static const surg_type *tensor_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

static bool is_one(surg_dim d) {
  return d.value == 1;
}

/* Whether both dimensions are equal for all inputs of the model. */
static bool same_dim(surg_dim a, surg_dim b) {
  return a.value >= 0 || b.value >= 0 ? a.value == b.value : surg_dim_equal(&a, &b);
}

static bool same_type(const surg_value *x, const surg_value *y) {
  const surg_type *a = tensor_of(x), *b = tensor_of(y);
  if (!a || !b || surg_type_dtype(a) != surg_type_dtype(b) || !surg_type_dtype(a) ||
      surg_type_rank(a) != surg_type_rank(b))
    return false;
  for (size_t i = 0; i < surg_type_rank(a); i++)
    if (!same_dim(*surg_type_dim(a, i), *surg_type_dim(b, i))) return false;
  return true;
}

/* --- nodes that cannot fail --- */

/* Whether the inputs broadcast for all sizes: on each axis all sizes are equal or 1. */
static bool broadcasts(const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_type *a = tensor_of(surg_node_input(n, i));
    if (!a) return false;
    for (size_t k = 0; k < i; k++) {
      const surg_type *c = tensor_of(surg_node_input(n, k));
      const size_t ra = surg_type_rank(a), rc = surg_type_rank(c);
      for (size_t d = 0; d < ra && d < rc; d++) {
        const surg_dim x = *surg_type_dim(a, ra - 1 - d), y = *surg_type_dim(c, rc - 1 - d);
        if (!is_one(x) && !is_one(y) && !same_dim(x, y)) return false;
      }
    }
  }
  return true;
}

static bool all_static(const surg_node *n) {
  uint64_t count;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = tensor_of(v);
    if (v && (!t || !surg_type_static(t, &count))) return false;
  }
  const surg_type *t = tensor_of(surg_node_output(n, 0));
  return t && surg_type_static(t, &count);
}

/* Whether every input has a known element type other than string, and with
 * floats_alone a float type. */
static bool numeric(const surg_node *n, bool floats_alone) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const int dtype = surg__b_dtype(surg_node_input(n, i));
    if (!dtype || dtype == SURG_STRING) return false;
    if (floats_alone && !surg__dtype_is_float(dtype)) return false;
  }
  return true;
}

/* Whether a plugin states that its operator computes a result for all inputs of known types. */
static bool total(const surg_node *n) {
  if (surg_node_class(n) != SURG_OP_CLASS_CUSTOM) return false;
  const surg__taught_operator *o =
      surg__taught_find(surg_model_context(surg_graph_model(surg_node_graph(n))),
                        surg_node_domain(n), surg_node_op_type(n));
  if (!o || !(o->op.traits & SURG_TRAIT_TOTAL)) return false;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (surg_node_input(n, i) && !surg_value_type(surg_node_input(n, i))) return false;
  return true;
}

bool surg_node_cannot_fail(const surg_node *n) {
  if (n && total(n)) return true;
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  if (!s || surg_node_class(n) != SURG_OP_CLASS_BUILTIN || *surg_node_domain(n)) return false;
  switch (s->op) {
    case SURG_OP_Constant:
    case SURG_OP_Identity:
    case SURG_OP_Shape:
    case SURG_OP_Size:
      return true;
    case SURG_OP_Transpose:
    case SURG_OP_MatMul:
    case SURG_OP_Gemm:
      return all_static(n) && numeric(n, false);
    case SURG_OP_Cast:
      return numeric(n, false) && surg__b_dtype(surg_node_output(n, 0)) != SURG_STRING;
    case SURG_OP_Div: /* integer division by 0 */
    case SURG_OP_Mod:
    case SURG_OP_Pow: /* of integers: negative exponents */
      return s->since >= 7 && numeric(n, true) && broadcasts(n);
    case SURG_OP_BitShift: /* shifts not less than the width */
    case SURG_OP_PRelu:    /* broadcasts in one direction only */
    case SURG_OP_Expand:
      return false;
    default:
      return (s->flags & SURG__OP_ELEMENTWISE) && s->since >= 6 && numeric(n, false) &&
             broadcasts(n);
  }
}

static bool may_run_always(const branches *f, const surg_graph *g) {
  surg_pass_ctx *pass = f->b->m->pass;
  size_t count = 0;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (++count > MOST_NODES || !surg_node_cannot_fail(n)) return false;
    if (pass && surg_pass_keeps_node(pass, n)) return false;
    for (size_t i = 0; i < surg_node_attr_count(n); i++)
      if (surg_attr_ref(surg_node_attr_at(n, i))) return false;
  }
  return true;
}

/* --- If as Where --- */

static bool read_side(branches *f, int k, const char *attr) {
  const surg_node *n = surg__b_matched(f->b);
  const surg_attr *a = surg_node_attr(n, attr);
  surg_graph *g = a ? surg_attr_graph(a, 0) : NULL;
  f->n = surg_node_output_count(n);
  f->from[k] = surg__arena_array(f->b->m->arena, f->n + 1, sizeof *f->from[k]);
  if (!g || !f->from[k] || surg_graph_output_count(g) != f->n || surg_graph_input_count(g))
    return false;
  if (!surg__initializers_fit(g, f->b->g))
    return surg__b_lacks(f->b, attr, "its initializers cannot be moved out");
  f->side[k] = g;
  for (size_t i = 0; i < f->n; i++) f->from[k][i] = surg_graph_output(g, i);
  return may_run_always(f, g);
}

/* ... = If <then_branch, else_branch> (c) */
static surg_status if_to_where(surg__builder *b) {
  branches f = {.b = b};
  surg_node *n = surg__b_matched(b);
  surg_value *c = surg_node_input(n, 0);
  if (surg__b_bad(b, !c, "the condition is absent") || !read_side(&f, 0, "then_branch") ||
      !read_side(&f, 1, "else_branch"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < f.n; i++)
    if (surg__b_bad(b, !same_type(f.from[0][i], f.from[1][i]),
                    "the branches give types or shapes that differ or are unknown") ||
        surg__b_bad(b, !surg__b_takes(b, "Where", 1, surg__b_dtype(f.from[0][i])),
                    "an element type is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
  for (int k = 0; k < 2 && !b->status; k++) b->status = surg_graph_hoist(f.side[k], b->before);
  /* As a scalar, the condition broadcasts to a result of any rank. */
  c = surg__b_single(b, c);
  for (size_t i = 0; i < f.n && !b->status; i++) {
    surg_value *old = surg_node_output(n, i);
    surg_value *v = old ? surg__bint_choose(b, c, f.from[0][i], f.from[1][i]) : NULL;
    if (v) b->status = surg_node_take_output(surg_value_producer(v, NULL), 0, old);
  }
  return b->status;
}

/* --- If as one branch --- */

/* 0 or 1 if the condition is proven, else -1. */
static int taken(const surg_value *c) {
  surg_elem e;
  if (!c || surg__known_elements(c, &e, 1) != 1 || !e.known) return -1;
  return e.value != 0;
}

/* ... = If <then_branch, else_branch> (c) */
static surg_status if_to_branch(surg__builder *b) {
  surg_node *n = surg__b_matched(b);
  const int which = taken(surg_node_input(n, 0));
  const surg_attr *a =
      which < 0 ? NULL : surg_node_attr(n, which ? "then_branch" : "else_branch");
  surg_graph *g = a ? surg_attr_graph(a, 0) : NULL;
  const size_t count = surg_node_output_count(n);
  if (surg__b_bad(b, !g, "the condition is not a constant") ||
      surg__b_bad(b, surg_graph_output_count(g) != count,
                  "the branch has another number of outputs") ||
      surg__b_bad(b, surg_graph_input_count(g), "the branch has inputs") ||
      surg__b_bad(b, !surg__initializers_fit(g, b->g), "its initializers cannot be moved out"))
    return SURG_EUNSUPPORTED;
  surg_value **from = surg__arena_array(b->m->arena, count + 1, sizeof *from);
  if (!from) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++) {
    from[i] = surg_graph_output(g, i);
    /* Identity supports these types in all versions. The output type of the
     * branch may be unknown. */
    if (surg__b_bad(b, surg_node_output(n, i) && !surg__b_dtype(surg_node_output(n, i)),
                    "an element type is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
  }
  b->status = surg_graph_hoist(g, b->before);
  for (size_t i = 0; i < count && !b->status; i++) {
    surg_value *old = surg_node_output(n, i);
    surg_value *v = old ? surg__b_unary(b, "Identity", from[i]) : NULL;
    if (v) b->status = surg_node_take_output(surg_value_producer(v, NULL), 0, old);
  }
  return b->status;
}

const surg__native surg__natives_branch[] = {
    {"if_known", if_to_branch, "the branch of an If with a known condition"},
    {"if_where", if_to_where, "If as Where, where both branches may run"},
    {NULL, NULL, NULL},
};
