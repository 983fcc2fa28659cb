/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of bodies (subgraphs), and the rule of If. Bodies are inferred before the rule of their
 * node runs (walk.c). Symbols that are created inside a body have no meaning outside of it. */
#include "infer/rules.h"

surg_graph *surg__infer_body(const surg__infer *c, const char *attr) {
  const surg_attr *a = surg_node_attr(c->n, attr);
  return a ? surg_attr_graph(a, 0) : NULL;
}

surg__fact surg__infer_outside_fact(surg__infer *c, const surg_value *v, const surg_graph *body,
                                size_t slot, surg_dim dims[SURG_LIMIT_RANK]) {
  surg__fact f = surg__infer_value(c, v, slot);
  assert(f.rank <= SURG_LIMIT_RANK);
  if (f.kind == SURG_TYPE_TENSOR && f.ranked) {
    bool all = true;
    for (uint32_t i = 0; i < f.rank; i++) {
      dims[i] = surg__dim_outside(f.dims[i], body);
      all &= dims[i].expr == f.dims[i].expr;
    }
    if (!all) f.type = NULL;
    f.dims = dims;
  } else if (f.kind != SURG_TYPE_TENSOR && f.type) {
    f.type = surg__infer_outside(c, f.type, body);
    if (!f.type) f.kind = SURG_TYPE_UNKNOWN;
  }
  return f;
}

/* The fact of a tensor type. */
static surg__fact tensor_fact(const surg_type *t) {
  return (surg__fact){.kind = SURG_TYPE_TENSOR, .dtype = t->dtype, .ranked = t->has_rank,
                      .rank = t->has_rank ? t->rank : 0, .dims = t->dims};
}

/* Output k is one of two sequences, or of two optionals: states what their element types have in
 * common. */
static void put_wrapped(surg__infer *c, size_t k, surg_type_kind kind, const surg_type *a,
                        const surg_type *b) {
  surg_dim dims[SURG_LIMIT_RANK];
  surg__fact both;
  if (!a || !b || a->kind != b->kind) return;
  if (a->kind == SURG_TYPE_TENSOR) {
    const surg__fact x = tensor_fact(a), y = tensor_fact(b);
    if (surg__fact_join(&x, &y, dims, &both)) surg__infer_put_wrapped(c, k, kind, &both);
  } else if (a->kind == SURG_TYPE_SEQUENCE && a->elem && b->elem &&
             a->elem->kind == SURG_TYPE_TENSOR && b->elem->kind == SURG_TYPE_TENSOR &&
             a->elem->dtype == b->elem->dtype) {
    const surg_type *any = surg_type_tensor_unranked(c->m, a->elem->dtype);
    both = (surg__fact){.kind = SURG_TYPE_SEQUENCE,
                        .type = surg_type_wrap(c->m, SURG_TYPE_SEQUENCE, any)};
    if (both.type) surg__infer_put_wrapped(c, k, kind, &both);
  }
}

void surg__infer_put_from_body(surg__infer *c, size_t k, const surg_value *v,
                               const surg_graph *body) {
  surg_dim dims[SURG_LIMIT_RANK];
  const surg__fact f = surg__infer_outside_fact(c, v, body, 0, dims);
  if (f.kind == SURG_TYPE_TENSOR)
    surg__infer_put_like(c, k, f.dtype, &f);
  else if (f.kind != SURG_TYPE_UNKNOWN)
    surg__infer_put_type(c, k, f.type);
  surg__infer_put_elems_outside(c, k, v, NULL, body);
}

void surg__infer_put_join(surg__infer *c, size_t k, const surg__fact *a, const surg__fact *b) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (a->kind != b->kind || a->kind == SURG_TYPE_UNKNOWN) return;
  if (a->kind != SURG_TYPE_TENSOR) {
    if (surg__type_same(a->type, b->type))
      surg__infer_put_type(c, k, a->type);
    else if (a->kind == SURG_TYPE_SEQUENCE || a->kind == SURG_TYPE_OPTIONAL)
      put_wrapped(c, k, a->kind, a->type->elem, b->type->elem);
    return;
  }
  if (a->dtype != b->dtype) return;
  if (!a->ranked || !b->ranked || a->rank != b->rank) {
    surg__infer_put_unranked(c, k, a->dtype);
    return;
  }
  for (uint32_t i = 0; i < a->rank; i++) dims[i] = surg__dim_join(a->dims[i], b->dims[i]);
  surg__infer_put(c, k, a->dtype, dims, a->rank);
}

void surg__infer_if(surg__infer *c) {
  const surg_graph *a = surg__infer_body(c, "then_branch"), *b = surg__infer_body(c, "else_branch");
  const size_t n = surg_node_output_count(c->n);
  surg_dim da[SURG_LIMIT_RANK], db[SURG_LIMIT_RANK];
  if (!a || !b) return;
  if (surg_graph_output_count(a) < n || surg_graph_output_count(b) < n) {
    surg__infer_bad(c);
    return;
  }
  int64_t decided = c->assumed_as;
  if (surg__infer_int(c, 0, &decided) || (c->assumed && surg_node_input(c->n, 0) == c->assumed)) {
    const surg_graph *taken = decided ? a : b;
    for (size_t k = 0; k < n; k++)
      surg__infer_put_from_body(c, k, surg_graph_output(taken, k), taken);
    return;
  }
  for (size_t k = 0; k < n; k++) {
    const surg__fact x = surg__infer_outside_fact(c, surg_graph_output(a, k), a, 0, da);
    const surg__fact y = surg__infer_outside_fact(c, surg_graph_output(b, k), b, 1, db);
    surg__infer_put_join(c, k, &x, &y);
    surg__infer_put_elems_outside(c, k, surg_graph_output(a, k), surg_graph_output(b, k), a);
  }
}
