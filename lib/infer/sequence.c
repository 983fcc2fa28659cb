/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of sequences and optionals. The element type of a sequence is what all of its elements have
 * in common, whatever their number. */
#include "infer/rules.h"

/* Whether a type that a file declares is one that inference may state. */
static bool sound(const surg_type *t) {
  if (!t) return false;
  return t->kind != SURG_TYPE_TENSOR || (t->dtype > 0 && t->dtype < SURG_DTYPE_COUNT);
}

/* The fact about the elements of a sequence or an optional; kind UNKNOWN when nothing is known. */
static surg__fact inside(const surg__fact *f) {
  const surg_type *t = f->type ? f->type->elem : NULL;
  if (!sound(t)) return (surg__fact){0};
  surg__fact e = {.kind = t->kind, .dtype = t->dtype, .type = t};
  if (t->kind == SURG_TYPE_TENSOR && t->has_rank && t->rank <= SURG_LIMIT_RANK) {
    e.ranked = true;
    e.rank = t->rank;
    e.dims = t->dims;
  }
  return e;
}

/* Output k has the type of `f`. */
static void put_fact(surg__infer *c, size_t k, const surg__fact *f) {
  if (f->kind == SURG_TYPE_TENSOR)
    surg__infer_put_like(c, k, f->dtype, f);
  else if (f->kind != SURG_TYPE_UNKNOWN)
    surg__infer_put_type(c, k, f->type);
}

static surg__fact sequence_of(surg__infer *c, size_t i) {
  const surg__fact f = surg__infer_in(c, i);
  return f.kind == SURG_TYPE_SEQUENCE ? f : (surg__fact){0};
}

void surg__infer_sequence_construct(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t inputs = surg_node_input_count(c->n);
  surg__fact all = {0};
  for (size_t i = 0; i < inputs; i++) {
    const surg__fact f = surg__infer_in(c, i);
    if (f.kind != SURG_TYPE_TENSOR) return;
    if (i == 0) {
      all = f;
      if (f.rank) memcpy(dims, f.dims, f.rank * sizeof *dims);
      all.dims = dims;
      if (inputs > 1) all.type = NULL;
    } else if (!surg__fact_join(&all, &f, dims, &all)) {
      return;
    }
  }
  if (inputs) surg__infer_put_wrapped(c, 0, SURG_TYPE_SEQUENCE, &all);
}

void surg__infer_sequence_empty(surg__infer *c) {
  const int64_t dtype = surg_node_int(c->n, "dtype", SURG_FLOAT);
  const surg__fact any = {.kind = SURG_TYPE_TENSOR, .dtype = (int)dtype};
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT)
    surg__infer_put_wrapped(c, 0, SURG_TYPE_SEQUENCE, &any);
}

void surg__infer_sequence_at(surg__infer *c) {
  const surg__fact s = sequence_of(c, 0), e = inside(&s);
  put_fact(c, 0, &e);
}

void surg__infer_sequence_erase(surg__infer *c) {
  const surg__fact s = sequence_of(c, 0);
  put_fact(c, 0, &s);
}

void surg__infer_sequence_insert(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  const surg__fact s = sequence_of(c, 0), e = inside(&s), x = surg__infer_in(c, 1);
  surg__fact both;
  if (surg__fact_join(&e, &x, dims, &both))
    surg__infer_put_wrapped(c, 0, SURG_TYPE_SEQUENCE, &both);
}

/* The length of the pieces along the axis, if all have the same length. */
static surg_dim piece(surg__infer *c, surg_dim whole) {
  surg__fact split;
  int64_t v[SURG__ELEMS];
  uint32_t n;
  if (!surg__infer_ranked(c, 1, &split) || !surg__infer_ints(c, 1, v, SURG__ELEMS, &n) || !n)
    return surg__dim_unknown();
  for (uint32_t i = 0; i < n; i++)
    if (v[i] < 0 || v[i] != v[0]) return surg__dim_unknown();
  /* A scalar is the length of every piece; the last may be shorter. */
  if (split.rank == 0 && (v[0] < 1 || !surg__dim_known(whole) || whole.value % v[0]))
    return surg__dim_unknown();
  return surg__dim(v[0]);
}

void surg__infer_split_to_sequence(surg__infer *c) {
  surg__fact x = surg__infer_in(c, 0);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t axis;
  if (x.kind != SURG_TYPE_TENSOR) return;
  surg__fact e = {.kind = SURG_TYPE_TENSOR, .dtype = x.dtype};
  if (x.ranked) {
    if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), x.rank, &axis)) return;
    const bool split = surg__infer_has(c, 1);
    const bool drop = !split && surg_node_int(c->n, "keepdims", 1) == 0;
    e.ranked = true;
    e.dims = dims;
    for (uint32_t i = 0; i < x.rank; i++)
      if (i != axis)
        dims[e.rank++] = x.dims[i];
      else if (!drop)
        dims[e.rank++] = split ? surg__dim_unknown() : surg__dim(1);
    if (split) dims[axis] = piece(c, x.dims[axis]);
  }
  assert(e.rank <= x.rank);
  surg__infer_put_wrapped(c, 0, SURG_TYPE_SEQUENCE, &e);
}

void surg__infer_concat_from_sequence(surg__infer *c) {
  const surg__fact s = sequence_of(c, 0), e = inside(&s);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t axis, from = 0;
  const bool stack = surg_node_int(c->n, "new_axis", 0) != 0;
  if (e.kind != SURG_TYPE_TENSOR) return;
  if (!e.ranked || e.rank + (size_t)stack > SURG_LIMIT_RANK) {
    surg__infer_put_unranked(c, 0, e.dtype);
    return;
  }
  const size_t rank = (size_t)e.rank + stack;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), rank, &axis)) return;
  for (size_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? surg__dim_unknown() : e.dims[from];
    from += i != axis || !stack;
  }
  assert(from == e.rank);
  surg__infer_put(c, 0, e.dtype, dims, rank);
}

/* The output type of the body is the element type of the output sequence. */
void surg__infer_sequence_map(surg__infer *c) {
  const surg_attr *a = surg_node_attr(c->n, "body");
  const surg_graph *body = a ? surg_attr_graph(a, 0) : NULL;
  const size_t outputs = surg_node_output_count(c->n);
  if (!body || surg_graph_output_count(body) < outputs) return;
  for (size_t k = 0; k < outputs; k++) {
    surg__fact f = surg__infer_value(c, surg_graph_output(body, k), 0);
    surg_dim dims[SURG_LIMIT_RANK];
    if (f.kind != SURG_TYPE_TENSOR) continue;
    for (uint32_t i = 0; i < f.rank; i++) dims[i] = surg__dim_outside(f.dims[i], body);
    f.dims = dims;
    f.type = NULL;
    surg__infer_put_wrapped(c, k, SURG_TYPE_SEQUENCE, &f);
  }
}

void surg__infer_seed_sequence_map(surg__infer *c, const surg_graph *body) {
  const size_t inputs = surg_node_input_count(c->n), n = surg_graph_input_count(body);
  for (size_t i = 0; i < inputs && i < n; i++) {
    surg__fact f = surg__infer_value(c, surg_node_input(c->n, i), 0);
    if (f.kind == SURG_TYPE_SEQUENCE) f = inside(&f);
    if (f.kind != SURG_TYPE_TENSOR) continue;
    if (f.ranked)
      surg__infer_set(c, surg_graph_input(body, i), f.dtype, f.dims, f.rank);
    else
      surg__infer_set_unranked(c, surg_graph_input(body, i), f.dtype);
  }
}

void surg__infer_optional(surg__infer *c) {
  if (surg__infer_has(c, 0)) {
    const surg__fact x = surg__infer_in(c, 0);
    if (x.kind != SURG_TYPE_UNKNOWN) surg__infer_put_wrapped(c, 0, SURG_TYPE_OPTIONAL, &x);
    return;
  }
  const surg_attr *a = surg_node_attr(c->n, "type");
  const surg_type *t = a ? surg_attr_type(a, 0) : NULL;
  if (!sound(t)) return;
  const surg__fact f = {.kind = t->kind, .dtype = t->dtype, .type = t};
  surg__infer_put_wrapped(c, 0, SURG_TYPE_OPTIONAL, &f);
}

void surg__infer_optional_get(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  const surg__fact e = x.kind == SURG_TYPE_OPTIONAL ? inside(&x) : x;
  put_fact(c, 0, &e);
}
