/* SPDX-License-Identifier: Apache-2.0 */
/* If as the branch that is known to be taken, or as Where: then both branches run, and each element
 * of the result is taken from one of them, so no node of either may fail, or do anything but
 * compute, where its branch is not the one meant. */
#include "rewrite/lower/native.h"

#define MOST_NODES 64u /* of a branch, which then run always */

typedef struct branches {
  surg__builder *b;
  surg_graph *side[2]; /* then, else */
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

/* Whether both are one size whatever the model is given. */
static bool same_dim(surg_dim a, surg_dim b) {
  return a.value >= 0 || b.value >= 0 ? a.value == b.value : surg_dim_equal(a, b);
}

static bool same_type(const surg_value *x, const surg_value *y) {
  const surg_type *a = tensor_of(x), *b = tensor_of(y);
  if (!a || !b || surg_type_dtype(a) != surg_type_dtype(b) || !surg_type_dtype(a) ||
      surg_type_rank(a) != surg_type_rank(b))
    return false;
  for (size_t i = 0; i < surg_type_rank(a); i++)
    if (!same_dim(surg_type_dim(a, i), surg_type_dim(b, i))) return false;
  return true;
}

/* --- what cannot fail --- */

/* Inputs that broadcast whatever sizes the model is given: axis by axis one size, or 1. */
static bool broadcasts(const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_type *a = tensor_of(surg_node_input(n, i));
    if (!a) return false;
    for (size_t k = 0; k < i; k++) {
      const surg_type *c = tensor_of(surg_node_input(n, k));
      const size_t ra = surg_type_rank(a), rc = surg_type_rank(c);
      for (size_t d = 0; d < ra && d < rc; d++) {
        const surg_dim x = surg_type_dim(a, ra - 1 - d), y = surg_type_dim(c, rc - 1 - d);
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

/* Whether every input is one of floats, or of whole numbers where those cannot fail. */
static bool numeric(const surg_node *n, bool floats_alone) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const int dtype = surg__b_dtype(surg_node_input(n, i));
    if (!dtype || dtype == SURG_STRING) return false;
    if (floats_alone && !surg__dtype_is_float(dtype)) return false;
  }
  return true;
}

bool surg_node_cannot_fail(const surg_node *n) {
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
    case SURG_OP_Div: /* of whole numbers by 0 */
    case SURG_OP_Mod:
    case SURG_OP_Pow: /* of a negative number */
      return s->since >= 7 && numeric(n, true) && broadcasts(n);
    case SURG_OP_BitShift: /* beyond the width */
    case SURG_OP_PRelu:    /* broadcasts one way alone */
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

/* --- the two as one --- */

static bool read_side(branches *f, int k, const char *attr) {
  const surg_node *n = surg__b_matched(f->b);
  const surg_attr *a = surg_node_attr(n, attr);
  surg_graph *g = a ? surg_attr_graph(a, 0) : NULL;
  f->n = surg_node_output_count(n);
  f->from[k] = surg__arena_array(f->b->m->arena, f->n + 1, sizeof *f->from[k]);
  if (!g || !f->from[k] || surg_graph_output_count(g) != f->n || surg_graph_input_count(g))
    return false;
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
  /* One number, so that it goes with a result of any rank. */
  c = surg__b_single(b, c);
  for (size_t i = 0; i < f.n && !b->status; i++) {
    surg_value *old = surg_node_output(n, i);
    surg_value *v = old ? surg__bint_choose(b, c, f.from[0][i], f.from[1][i]) : NULL;
    if (v) b->status = surg_node_take_output(surg_value_producer(v, NULL), 0, old);
  }
  return b->status;
}

/* --- the one that is taken --- */

/* 0 or 1 where the condition is proven, -1 otherwise. */
static int taken(const surg_value *c) {
  surg_elem e;
  if (!c || surg_value_elements(c, &e, 1) != 1 || !e.known) return -1;
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
      surg__b_bad(b, surg_graph_input_count(g), "the branch has inputs"))
    return SURG_EUNSUPPORTED;
  surg_value **from = surg__arena_array(b->m->arena, count + 1, sizeof *from);
  if (!from) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++) {
    from[i] = surg_graph_output(g, i);
    /* Which Identity takes in all versions. The type of what the branch gives may not be known. */
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
