/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of rules: reading and stating facts about values and their tracked elements. */
#include "base/counted.h"
#include "infer/infer.h"
#include "io/io.h"

bool surg__infer_has(const surg__infer *c, size_t i) { return surg_node_input(c->n, i) != NULL; }

void surg__infer_bad(surg__infer *c) { c->bad = true; }

static surg__istate *state_of(const surg__infer *c, const surg_value *v) {
  return c->states ? v->scratch : NULL;
}

static surg__fact fact_of_tensor(surg__infer *c, size_t slot, const surg_tensor *t) {
  surg__fact f = {.kind = SURG_TYPE_TENSOR, .dtype = surg_tensor_dtype(t)};
  if (surg_tensor_rank(t) > SURG_LIMIT_RANK) return f;
  surg_dim *dims = c->in_dims[slot % SURG_COUNT(c->in_dims)];
  f.ranked = true;
  f.rank = (uint32_t)surg_tensor_rank(t);
  assert(f.rank <= SURG_COUNT(c->in_dims[0]));
  f.dims = dims;
  for (uint32_t k = 0; k < f.rank; k++) dims[k] = surg__dim(surg_tensor_dims(t)[k]);
  return f;
}

surg__fact surg__infer_in(surg__infer *c, size_t i) {
  return surg__infer_value(c, surg_node_input(c->n, i), i);
}

surg__fact surg__infer_value(surg__infer *c, const surg_value *v, size_t slot) {
  if (!v) return (surg__fact){0};
  const surg_tensor *t = surg_value_constant(v);
  if (t && !surg_tensor_is_sparse(t)) return fact_of_tensor(c, slot, t);
  const surg_type *type = c->states ? v->inferred : surg_value_type(v);
  if (!type) return (surg__fact){0};
  surg__fact f = {.kind = type->kind, .dtype = type->dtype, .type = type};
  if (type->kind == SURG_TYPE_TENSOR && type->has_rank && type->rank <= SURG_LIMIT_RANK) {
    f.ranked = true;
    f.rank = type->rank;
    f.dims = type->dims;
  }
  return f;
}

bool surg__infer_ranked(surg__infer *c, size_t i, surg__fact *f) {
  *f = surg__infer_in(c, i);
  return f->kind == SURG_TYPE_TENSOR && f->ranked;
}

/* --- elements --- */

static bool tracked(int dtype) {
  return dtype == SURG_INT64 || dtype == SURG_INT32 || dtype == SURG_BOOL;
}

static bool tracked_real(int dtype) { return dtype == SURG_FLOAT || dtype == SURG_DOUBLE; }

/* Reads a constant of floats as doubles. */
static bool read_reals(const surg_tensor *t, surg__elem buf[SURG__ELEMS], uint32_t *n) {
  double reals[SURG__REALS];
  if (surg_tensor_count(t) > SURG__REALS || !surg__tensor_reals(t, reals)) return false;
  *n = (uint32_t)surg_tensor_count(t);
  for (uint32_t i = 0; i < *n; i++) buf[i] = surg__elem_real(reals[i]);
  return true;
}

/* Reads the elements of a constant; false: they are not tracked, or training updates them. */
static bool read_constant(const surg_value *v, surg__elem buf[SURG__ELEMS], uint32_t *n,
                          bool *real) {
  const surg_tensor *t = surg_value_settled(v);
  int64_t ints[SURG__ELEMS];
  if (!t || surg_tensor_is_sparse(t) || t->view == SURG__VIEW_ABSENT) return false;
  *real = tracked_real(surg_tensor_dtype(t));
  if (*real) return read_reals(t, buf, n);
  if (!tracked(surg_tensor_dtype(t)) || surg_tensor_count(t) > SURG__ELEMS) return false;
  int64_t count = surg__read_ints(t, ints, SURG__ELEMS);
  if (count < 0) return false;
  assert(count <= (int64_t)SURG__ELEMS);
  for (int64_t i = 0; i < count; i++) buf[i] = surg__elem_int(ints[i]);
  *n = (uint32_t)count;
  return true;
}

static void keep_elems(surg__infer *c, surg__istate *s, const surg__elem *e, uint32_t n,
                       bool real) {
  s->has_elems = true;
  assert(n <= (real ? SURG__REALS : SURG__ELEMS)); /* the caller's arrays have these sizes */
  if (n > c->elems_left) return;
  surg__elems *p = surg__arena_alloc(&c->keep, surg__elems_size(n));
  if (!p) {
    c->nomem = true;
    return;
  }
  c->elems_left -= n;
  p->n = n;
  p->real = real;
  if (n) memcpy(p->e, e, n * sizeof *e);
  s->elems = p;
}

/* Elements of a value of a model whose inference is finished. */
static const surg__elem *settled(const surg_value *v, surg__elem buf[SURG__ELEMS], uint32_t *n,
                                 bool *real) {
  if (read_constant(v, buf, n, real)) return buf;
  const surg__elems *e = surg_value_type(v) ? v->elems : NULL;
  if (!e) return NULL;
  *n = e->n;
  *real = e->real;
  return e->e;
}

static const surg__elem *elems_of(surg__infer *c, const surg_value *v,
                                  surg__elem buf[SURG__ELEMS], uint32_t *n, bool *real) {
  if (!v) return NULL;
  surg__istate *s = state_of(c, v);
  if (!s) return settled(v, buf, n, real);
  if (!s->has_elems) {
    s->has_elems = true;
    if (read_constant(v, buf, n, real)) keep_elems(c, s, buf, *n, *real);
  }
  if (!s->elems) return NULL;
  assert(s->has_elems && s->elems->n <= SURG__ELEMS);
  *real = s->elems->real;
  *n = s->elems->n;
  return s->elems->e;
}

const surg__elem *surg__infer_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                uint32_t *n) {
  bool real = false;
  const surg__elem *e = elems_of(c, surg_node_input(c->n, i), buf, n, &real);
  return real ? NULL : e;
}

const surg__elem *surg__infer_any_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                    uint32_t *n) {
  bool real = false;
  return elems_of(c, surg_node_input(c->n, i), buf, n, &real);
}

surg_status surg_value_elements(const surg_value *v, surg_elem *out, size_t cap, size_t *count) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n = 0;
  bool real = false;
  if (count) *count = 0;
  if (!v || (cap && !out)) return SURG_EUSAGE;
  if (v->erased) return SURG_EERASED;
  if (v->graph->model->status != SURG_OK) return v->graph->model->status;
  const surg__elem *e = settled(v, buf, &n, &real);
  if (!e || real)
    return v->graph->model->status != SURG_OK ? v->graph->model->status : SURG_ENOTFOUND;
  if (count) *count = n;
  if (n > cap) return SURG_ELIMIT;
  if (n) memcpy(out, e, n * sizeof *e);
  return SURG_OK;
}

const surg__elem *surg__infer_value_elems(surg__infer *c, const surg_value *v,
                                      surg__elem buf[SURG__ELEMS], uint32_t *n) {
  bool real = false;
  const surg__elem *e = elems_of(c, v, buf, n, &real);
  return real ? NULL : e;
}

void surg__infer_set_elems(surg__infer *c, surg_value *v, const surg__elem *e, uint32_t n) {
  if (v && state_of(c, v)) keep_elems(c, state_of(c, v), e, n, false);
}

bool surg__infer_ints(surg__infer *c, size_t i, int64_t *out, uint32_t cap, uint32_t *n) {
  surg__elem buf[SURG__ELEMS];
  const surg__elem *e = surg__infer_elems(c, i, buf, n);
  if (!e || *n > cap) return false;
  for (uint32_t k = 0; k < *n; k++) {
    if (!e[k].known) return false;
    out[k] = e[k].value;
  }
  return true;
}

bool surg__infer_int(surg__infer *c, size_t i, int64_t *out) {
  uint32_t n;
  return surg__infer_ints(c, i, out, 1, &n) && n == 1;
}

bool surg__infer_floats(surg__infer *c, size_t i, float *out, uint32_t cap, uint32_t *n) {
  surg__elem buf[SURG__ELEMS];
  const surg__fact f = surg__infer_in(c, i);
  if (f.kind != SURG_TYPE_TENSOR || f.dtype != SURG_FLOAT) return false;
  const surg__elem *e = surg__infer_any_elems(c, i, buf, n);
  if (!e || *n > cap) return false;
  for (uint32_t k = 0; k < *n; k++) {
    if (!e[k].known) return false;
    out[k] = (float)surg__elem_as_real(e[k]);
  }
  return true;
}

int surg__infer_dtype(const surg__infer *c, size_t k) {
  const surg_schema *s = c->schema;
  assert(s); /* rules run only for nodes with a schema */
  if (!s->n_outputs) return 0;
  const surg__param *p = &s->outputs[k < s->n_outputs ? k : s->n_outputs - 1];
  if (p->option == SURG__VARIADIC && !p->homogeneous) return 0;
  for (uint32_t i = 0; i < s->n_params; i++) {
    if (strcmp(s->params[i].name, p->type)) continue;
    uint32_t mask = c->mask[i];
    return mask && !(mask & (mask - 1)) ? __builtin_ctz(mask) : 0;
  }
  size_t n = strlen(p->type);
  if (n < 9 || strncmp(p->type, "tensor(", 7)) return 0;
  return surg__dtype_from_name(p->type + 7, n - 8);
}

/* --- stating --- */

static bool same_dims(const surg_type *t, const surg_dim *dims, size_t rank) {
  if (!t->has_rank || t->rank != rank) return false;
  for (size_t i = 0; i < rank; i++)
    if (t->dims[i].value != dims[i].value || t->dims[i].expr != dims[i].expr) return false;
  return true;
}

/* The form in which a dimension is stored: a number, an expression, or a new symbol of its own. */
static surg_dim settle(surg__infer *c, surg_value *v, size_t axis, surg_dim d) {
  assert(axis < SURG_LIMIT_RANK);
  if (d.expr && d.value < 0) d = surg__expr_dim(d.expr);
  if (d.value >= 0) return surg__dim(d.value);
  return d.expr ? d : surg__expr_dim(surg__expr_anonymous(c->m, v, (uint32_t)axis));
}

/* The entry of c->shared for a type of settled dimensions. */
static const surg_type **shared_slot(surg__infer *c, int dtype, const surg_dim *dims, size_t rank) {
  uint64_t hash = (uint64_t)dtype << 8 | rank;
  for (size_t i = 0; i < rank; i++) {
    const uint64_t dim = dims[i].expr ? dims[i].expr->hash : (uint64_t)dims[i].value;
    hash = (hash ^ dim) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio: spreads adjacent sizes */
  }
  return &c->shared[hash >> 58];
}

/* A tensor type of settled dimensions (their names are interned). Most values of a model have one
 * of a few types; equal ones that are made one after another are one object. */
static const surg_type *tensor_type(surg__infer *c, int dtype, const surg_dim *dims, size_t rank) {
  assert(rank <= SURG_LIMIT_RANK);
  const surg_type **slot = shared_slot(c, dtype, dims, rank);
  if (*slot && (*slot)->dtype == dtype && same_dims(*slot, dims, rank)) return *slot;
  surg_type *t = surg__type_new(c->m, SURG_TYPE_TENSOR);
  surg_dim *copy = t ? surg__arena_alloc(&c->m->arena, rank ? rank * sizeof *copy : 1) : NULL;
  if (!copy) return NULL;
  if (rank) memcpy(copy, dims, rank * sizeof *copy);
  t->dtype = dtype;
  t->has_rank = true;
  t->rank = (uint32_t)rank;
  t->dims = copy;
  *slot = t;
  return t;
}

static void add_bytes(uint64_t *sum, uint64_t bytes) {
  if (!surg__add_u64(*sum, bytes, sum)) *sum = UINT64_MAX;
}

/* Adds the size in the file of an output that becomes a constant; its dimensions are in
 * dims_buf. */
static void measure_file(surg__infer *c, const surg_value *v, int dtype, size_t rank,
                         uint64_t bytes) {
  if (!c->as_file || surg_value_use_count(v, 1) == 0) return;
  const surg_tensor t = {.model = c->m,
                         .dtype = dtype,
                         .rank = (uint32_t)rank,
                         .dims = c->dims_buf,
                         .bytes = bytes,
                         .view = SURG__VIEW_OWNED};
  add_bytes(&c->in_file, surg__constant_bytes(v->graph, v->name, &t));
}

/* Adds the bytes of output v if its size is fixed. */
static void measure(surg__infer *c, const surg_value *v, int dtype, const surg_dim *dims,
                    size_t rank) {
  uint64_t count, bytes;
  bool empty = false;
  for (size_t i = 0; i < rank; i++) {
    if (!surg__dim_known(dims[i])) return;
    c->dims_buf[i] = dims[i].value;
    empty |= dims[i].value == 0;
  }
  if (!surg__dtype_bits(dtype)) return;
  c->measured++;
  if (empty)
    bytes = 0;
  else if (!surg__dims_product(c->dims_buf, rank, &count) ||
           !surg__dtype_bytes(dtype, count, &bytes))
    bytes = UINT64_MAX;
  add_bytes(&c->bytes, bytes);
  if (bytes == UINT64_MAX)
    c->in_file = bytes;
  else
    measure_file(c, v, dtype, rank, bytes);
}

/* The value that gets the type of output k; NULL: the output is absent or is only measured. */
static surg_value *target(surg__infer *c, size_t k) {
  surg_value *v = surg_node_output(c->n, k);
  if (!v || !c->states || c->bad || c->nomem) return NULL;
  assert(v->producer && v->scratch);
  return v;
}

static void publish(surg__infer *c, surg_value *v, const surg_type *type) {
  if (!type) c->nomem = true;
  assert(!type || type->model == c->m);
  v->inferred = type;
}

void surg__infer_set(surg__infer *c, surg_value *v, int dtype, const surg_dim *dims, size_t rank) {
  if (!v) return; /* the model has failed */
  assert(v->scratch && dtype > 0 && dtype < SURG_DTYPE_COUNT);
  const surg_type *old = state_of(c, v)->old;
  surg_dim own[SURG_LIMIT_RANK];
  assert(rank <= SURG_LIMIT_RANK);
  own[0] = surg__dim(0); /* a scalar has none */
  for (size_t i = 0; i < rank; i++) own[i] = settle(c, v, i, dims[i]);
  if (old && old->kind == SURG_TYPE_TENSOR && old->dtype == dtype && same_dims(old, own, rank))
    publish(c, v, old);
  else
    publish(c, v, tensor_type(c, dtype, own, rank));
}

void surg__infer_set_unranked(surg__infer *c, surg_value *v, int dtype) {
  if (!v) return;
  const surg_type *old = state_of(c, v)->old;
  if (old && old->kind == SURG_TYPE_TENSOR && old->dtype == dtype && !old->has_rank)
    publish(c, v, old);
  else
    publish(c, v, surg_type_tensor_unranked(c->m, dtype));
}

static bool is_dtype(int64_t dtype) { return dtype > 0 && dtype < SURG_DTYPE_COUNT; }

void surg__infer_put(surg__infer *c, size_t k, int dtype, const surg_dim *dims, size_t rank) {
  if (!is_dtype(dtype) || c->bad) return;
  if (rank > SURG_LIMIT_RANK) {
    surg__infer_put_unranked(c, k, dtype);
    return;
  }
  const surg_value *out = c->states ? NULL : surg_node_output(c->n, k);
  if (out) measure(c, out, dtype, dims, rank);
  surg_value *v = target(c, k);
  if (v) surg__infer_set(c, v, dtype, dims, rank);
}

void surg__infer_put_unranked(surg__infer *c, size_t k, int dtype) {
  surg_value *v = target(c, k);
  if (v && is_dtype(dtype)) surg__infer_set_unranked(c, v, dtype);
}

/* Whether every dimension of a ranked fact is a number or an expression. */
static bool complete(const surg__fact *f) {
  for (uint32_t i = 0; i < f->rank; i++)
    if (f->dims[i].value < 0 && !f->dims[i].expr) return false;
  return true;
}

void surg__infer_put_like(surg__infer *c, size_t k, int dtype, const surg__fact *f) {
  if (f->kind != SURG_TYPE_TENSOR) return;
  if (!f->ranked) {
    surg__infer_put_unranked(c, k, dtype);
  } else if (c->states && f->type && f->dtype == dtype && complete(f)) {
    surg_value *v = target(c, k);
    if (v) publish(c, v, f->type);
  } else {
    surg__infer_put(c, k, dtype, f->dims, f->rank);
  }
}

void surg__infer_put_type(surg__infer *c, size_t k, const surg_type *type) {
  surg_value *v = target(c, k);
  if (v && type) publish(c, v, type);
}

/* Whether `t` is the type that `f` describes. */
static bool says(const surg_type *t, const surg__fact *f) {
  if (f->type) return surg__type_same(t, f->type);
  if (!t || t->kind != SURG_TYPE_TENSOR || t->dtype != f->dtype) return false;
  return f->ranked ? same_dims(t, f->dims, f->rank) : !t->has_rank;
}

void surg__infer_set_wrapped(surg__infer *c, surg_value *v, surg_type_kind kind,
                         const surg__fact *elem) {
  const surg_type *t = elem->type;
  assert(kind == SURG_TYPE_SEQUENCE || kind == SURG_TYPE_OPTIONAL);
  if (!v || (!t && !is_dtype(elem->dtype))) return;
  const surg_type *old = state_of(c, v)->old;
  if (old && old->kind == kind && says(old->elem, elem)) {
    publish(c, v, old);
    return;
  }
  if (!t && elem->ranked) t = surg_type_tensor(c->m, elem->dtype, elem->dims, elem->rank);
  if (!t && !elem->ranked) t = surg_type_tensor_unranked(c->m, elem->dtype);
  publish(c, v, t ? surg_type_wrap(c->m, kind, t) : NULL);
}

void surg__infer_put_wrapped(surg__infer *c, size_t k, surg_type_kind kind,
                             const surg__fact *elem) {
  surg_value *v = target(c, k);
  if (v) surg__infer_set_wrapped(c, v, kind, elem);
}

bool surg__type_same(const surg_type *a, const surg_type *b) {
  if (!surg_type_equal(a, b)) return false;
  for (; a && b; a = a->elem, b = b->elem)
    for (uint32_t i = 0; a->has_rank && i < a->rank; i++)
      if (a->dims[i].expr != b->dims[i].expr) return false;
  return true;
}

const surg_type *surg__infer_outside(surg__infer *c, const surg_type *t, const surg_graph *body) {
  surg_type_kind kinds[SURG_LIMIT_DEPTH];
  surg_dim dims[SURG_LIMIT_RANK];
  size_t n = 0;
  bool same = true;
  const surg_type *inner = t;
  for (; inner && inner->kind != SURG_TYPE_TENSOR; inner = inner->elem) {
    const bool wrapper = inner->kind == SURG_TYPE_SEQUENCE || inner->kind == SURG_TYPE_OPTIONAL;
    if (!wrapper || n == SURG_COUNT(kinds)) return wrapper ? NULL : t; /* maps have no dims */
    kinds[n++] = inner->kind;
  }
  if (!inner || !inner->has_rank || inner->rank > SURG_LIMIT_RANK) return t;
  for (uint32_t i = 0; i < inner->rank; i++) {
    dims[i] = surg__dim_outside(inner->dims[i], body);
    same &= dims[i].expr == inner->dims[i].expr;
  }
  if (same) return t;
  const surg_type *out = surg_type_tensor(c->m, inner->dtype, dims, inner->rank);
  while (out && n > 0) out = surg_type_wrap(c->m, kinds[--n], out);
  assert(!out || n == 0);
  if (!out) c->nomem = true;
  return out;
}

bool surg__fact_join(const surg__fact *a, const surg__fact *b, surg_dim dims[SURG_LIMIT_RANK],
                     surg__fact *out) {
  if (a->kind != SURG_TYPE_TENSOR || b->kind != SURG_TYPE_TENSOR || a->dtype != b->dtype)
    return false;
  surg__fact both = {.kind = SURG_TYPE_TENSOR, .dtype = a->dtype};
  if (a->ranked && b->ranked && a->rank == b->rank) {
    both.ranked = true;
    both.rank = a->rank;
    for (uint32_t i = 0; i < a->rank; i++) dims[i] = surg__dim_join(a->dims[i], b->dims[i]);
    both.dims = dims;
  }
  *out = both;
  return true;
}

static void put_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n, bool real) {
  surg_value *v = target(c, k);
  if (!v || !e || n > (real ? SURG__REALS : SURG__ELEMS) || !v->inferred) return;
  surg__istate *s = state_of(c, v);
  assert(s); /* `target` returns NULL while a node is measured */
  if (s->has_elems) return;
  bool any = n == 0;
  for (uint32_t i = 0; i < n && !any; i++) any = e[i].known || e[i].expr;
  if (!any) return;
  keep_elems(c, s, e, n, real);
}

void surg__infer_put_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n) {
  surg_value *v = target(c, k);
  if (v && v->inferred && tracked(v->inferred->dtype)) put_elems(c, k, e, n, false);
}

void surg__infer_put_any_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n) {
  surg_value *v = target(c, k);
  if (!v || !v->inferred) return;
  const bool real = tracked_real(v->inferred->dtype);
  if (real || tracked(v->inferred->dtype)) put_elems(c, k, e, n, real);
}

void surg__infer_put_elems_outside(surg__infer *c, size_t k, const surg_value *v,
                               const surg_value *or, const surg_graph *body) {
  surg__elem a[SURG__ELEMS], b[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n, m = 0;
  bool real = false, also_real = false;
  const surg__elem *x = c->states ? elems_of(c, v, a, &n, &real) : NULL;
  const surg__elem *y = x && or ? elems_of(c, or, b, &m, &also_real) : NULL;
  if (!x || n > SURG__ELEMS || (or && (!y || m != n || real != also_real))) return;
  for (uint32_t i = 0; i < n; i++) {
    const bool same = !y || (x[i].known == y[i].known && x[i].value == y[i].value &&
                             x[i].expr == y[i].expr);
    const bool inside = x[i].expr && surg__expr_born_in(x[i].expr, body);
    out[i] = same && !inside ? x[i] : surg__elem_unknown();
  }
  surg__infer_put_any_elems(c, k, out, n);
}
