/* SPDX-License-Identifier: Apache-2.0 */
/* Types of operators that a plugin registered with a shape function. */
#include "base/taught.h"

#include "base/calling.h"
#include "infer/rules.h"
#include "ir/edit.h"

/* The type of input i as an object; NULL: unknown or absent. */
static const surg_type *type_of(surg__infer *c, size_t i) {
  if (!surg__infer_has(c, i)) return NULL;
  const surg__fact f = surg__infer_in(c, i);
  if (f.type) return f.type;
  if (f.kind != SURG_TYPE_TENSOR || f.dtype <= 0) return NULL;
  return f.ranked ? surg_type_tensor(c->m, f.dtype, f.dims, f.rank)
                  : surg_type_tensor_unranked(c->m, f.dtype);
}

/* States the type of output k. A name that inference does not know is no statement. */
static void put(surg__infer *c, size_t k, const surg_type *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  const int dtype = surg_type_dtype(t);
  if (t->model != c->m || dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  if (t->kind != SURG_TYPE_TENSOR || t->rank > SURG_LIMIT_RANK) return;
  if (!t->has_rank) {
    surg__infer_put_unranked(c, k, dtype);
    return;
  }
  for (uint32_t i = 0; i < t->rank; i++) {
    const surg_dim *d = &t->dims[i];
    dims[i] = d->value >= 0 || d->expr ? *d : surg__dim_unknown();
  }
  surg__infer_put(c, k, dtype, dims, t->rank);
}

bool surg__infer_taught(surg__infer *c, const surg_node *n) {
  const surg__taught_operator *o = surg__taught_find(c->m->ctx, n->domain, n->op_type);
  if (!o || !o->op.infer) return false;
  c->n = n;
  c->schema = NULL;
  c->bad = false;
  const surg_type **in = surg__array(c->m, (size_t)n->n_in + n->n_out + 1, sizeof *in);
  if (!in) {
    c->nomem = true;
    return true;
  }
  const surg_type **out = in + n->n_in;
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = type_of(c, i);
  const surg__calling before = surg__calling_begin(o->plugin, "operator", o->op.op_type);
  const surg_status s = o->op.infer(o->op.user, n, in, n->n_in, out, n->n_out);
  surg__calling_end(before);
  if (s == SURG_EINVALID) surg__infer_bad(c);
  for (uint32_t k = 0; s == SURG_OK && k < n->n_out; k++)
    if (out[k] && n->out[k]) put(c, k, out[k]);
  return true;
}
