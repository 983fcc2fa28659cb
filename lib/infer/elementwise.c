/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that keep or broadcast shapes, and arithmetic on tracked elements. */
#include "infer/rules.h"

void surg__i_same(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  surg__i_put_like(c, 0, surg__i_dtype(c, 0), &x);
}

/* The broadcast shape of all inputs from `first`; false: not known. In versions with an attribute
 * `broadcast` it is the shape of the first input. */
static bool broadcast_shape(surg__infer *c, size_t first, surg_dim dims[SURG_LIMIT_RANK],
                            size_t *rank) {
  const bool to_first = surg__schema_attr(c->schema, "broadcast") != NULL;
  const size_t n = to_first ? first + 1 : surg_node_input_count(c->n);
  *rank = 0;
  for (size_t i = first; i < n; i++) {
    surg__fact f;
    if (!surg__i_ranked(c, i, &f)) return false;
    if (!surg__dims_broadcast(dims, rank, f.dims, f.rank)) {
      surg__i_bad(c);
      return false;
    }
  }
  return true;
}

void surg__i_broadcast(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  /* PRelu stretches its slope alone; the shape is the first input's. */
  if (c->op == SURG_OP_PRelu) {
    surg__i_same(c);
    return;
  }
  if (surg_node_input_count(c->n) == 1) {
    surg__i_same(c);
    return;
  }
  if (broadcast_shape(c, 0, dims, &rank)) surg__i_put(c, 0, surg__i_dtype(c, 0), dims, rank);
}

static bool in_range(int dtype, int64_t v) {
  return dtype == SURG_INT64 || (v >= INT32_MIN && v <= INT32_MAX);
}

/* a op b, where both are known; results that wrap or that are not defined stay unknown. */
static surg__elem compute_known(int op, int dtype, int64_t a, int64_t b) {
  int64_t r = 0;
  bool ok = true;
  switch (op) {
    case SURG_OP_Add: ok = surg__add_i64(a, b, &r); break;
    case SURG_OP_Sub: ok = surg__sub_i64(a, b, &r); break;
    case SURG_OP_Mul: ok = surg__mul_i64(a, b, &r); break;
    case SURG_OP_Div:
      /* Runtimes differ on which way negative quotients round. */
      ok = a >= 0 && b > 0;
      if (ok) r = a / b;
      break;
    case SURG_OP_Min: r = a < b ? a : b; break;
    case SURG_OP_Max: r = a > b ? a : b; break;
    default: ok = false;
  }
  return ok && in_range(dtype, r) ? surg__elem_int(r) : surg__elem_unknown();
}

/* The same where not both are known: whole numbers, which symbols of shapes do not wrap. */
static const surg_expr *compute_expr(int op, const surg_expr *a, const surg_expr *b) {
  switch (op) {
    case SURG_OP_Add: return surg__expr_add(a, b);
    case SURG_OP_Sub: return surg__expr_sub(a, b);
    case SURG_OP_Mul: return surg__expr_mul(a, b);
    case SURG_OP_Div: {
      const surg_expr *exact = surg__expr_div_exact(a, b);
      const bool positive = surg__expr_at_least_num(a, 0) && surg__expr_at_least_num(b, 0);
      return exact ? exact : positive ? surg__expr_div(a, b) : NULL;
    }
    case SURG_OP_Min: return surg__expr_min(a, b);
    case SURG_OP_Max: return surg__expr_max(a, b);
    default: return NULL;
  }
}

static surg__elem compute(const surg__infer *c, int dtype, surg__elem a, surg__elem b) {
  if (a.known && b.known) return compute_known(c->op, dtype, a.value, b.value);
  if (c->op == SURG_OP_Mul && ((a.known && !a.value) || (b.known && !b.value)))
    return surg__elem_int(0);
  return surg__elem_from(compute_expr(c->op, surg__elem_expr(c, a), surg__elem_expr(c, b)));
}

/* Tracks elements of two inputs of one shape, or where one has a single element. */
static void track(surg__infer *c, const surg_dim *dims, size_t rank) {
  const surg__fact x = surg__i_in(c, 0);
  const surg_dim count = surg__dim_product(dims, rank);
  surg__elem abuf[SURG__ELEMS], bbuf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t na, nb;
  if (surg_node_input_count(c->n) != 2 || (x.dtype != SURG_INT64 && x.dtype != SURG_INT32)) return;
  const surg__elem *a = surg__i_elems(c, 0, abuf, &na);
  const surg__elem *b = a ? surg__i_elems(c, 1, bbuf, &nb) : NULL;
  if (!a || !b || count.value < 0 || count.value > (int64_t)SURG__ELEMS) return;
  const uint32_t n = (uint32_t)count.value;
  if ((na != n && na != 1) || (nb != n && nb != 1)) return;
  for (uint32_t i = 0; i < n; i++)
    out[i] = compute(c, x.dtype, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
  surg__i_put_elems(c, 0, out, n);
}

void surg__i_arith(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!broadcast_shape(c, 0, dims, &rank)) return;
  surg__i_put(c, 0, surg__i_dtype(c, 0), dims, rank);
  if (!c->states) return;
  track(c, dims, rank);
  surg__i_real_arith(c, dims, rank);
}

void surg__i_identity(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  if (x.kind != SURG_TYPE_TENSOR) {
    surg__i_put_type(c, 0, x.type);
    return;
  }
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  surg__i_put_like(c, 0, x.dtype, &x);
  const surg__elem *e = surg__i_any_elems(c, 0, buf, &n);
  if (e) surg__i_put_any_elems(c, 0, e, n);
}

static bool is_real(int64_t dtype) { return dtype == SURG_FLOAT || dtype == SURG_DOUBLE; }

void surg__i_cast(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  int64_t to = 0;
  if (c->op == SURG_OP_CastLike) {
    const surg__fact like = surg__i_in(c, 1);
    if (like.kind == SURG_TYPE_TENSOR) to = like.dtype;
  } else if (c->since >= 6) {
    to = surg_node_int(c->n, "to", 0);
  }
  if (to <= 0 || to >= SURG_DTYPE_COUNT) return;
  surg__i_put_like(c, 0, (int)to, &x);
  const bool to_int = to == SURG_INT64 || to == SURG_INT32, to_real = is_real(to);
  const bool from_int = x.dtype == SURG_INT64 || x.dtype == SURG_INT32 || x.dtype == SURG_BOOL;
  if (!c->states) return;
  if ((is_real(x.dtype) && (to_int || to_real)) || (from_int && to_real)) {
    surg__i_real_cast(c, x.dtype, (int)to);
    return;
  }
  if (!to_int) return;
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = surg__i_elems(c, 0, buf, &n);
  if (!e) return;
  for (uint32_t i = 0; i < n; i++)
    out[i] = !e[i].known || in_range((int)to, e[i].value) ? e[i] : surg__elem_unknown();
  surg__i_put_elems(c, 0, out, n);
}

static void track_where(surg__infer *c, const surg_dim *dims, size_t rank) {
  surg__elem kbuf[SURG__ELEMS], abuf[SURG__ELEMS], bbuf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t nk, na, nb;
  const surg_dim count = surg__dim_product(dims, rank);
  if (count.value < 0 || count.value > (int64_t)SURG__ELEMS) return;
  const uint32_t n = (uint32_t)count.value;
  const surg__elem *k = surg__i_elems(c, 0, kbuf, &nk);
  const surg__elem *a = k ? surg__i_elems(c, 1, abuf, &na) : NULL;
  const surg__elem *b = a ? surg__i_elems(c, 2, bbuf, &nb) : NULL;
  if (!b || (nk != n && nk != 1) || (na != n && na != 1) || (nb != n && nb != 1)) return;
  for (uint32_t i = 0; i < n; i++) {
    const surg__elem cond = k[nk == 1 ? 0 : i];
    out[i] = !cond.known ? surg__elem_unknown()
             : cond.value ? a[na == 1 ? 0 : i]
                          : b[nb == 1 ? 0 : i];
  }
  surg__i_put_elems(c, 0, out, n);
}

void surg__i_where(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!broadcast_shape(c, 0, dims, &rank)) return;
  surg__i_put(c, 0, surg__i_dtype(c, 0), dims, rank);
  if (c->states) track_where(c, dims, rank);
}

void surg__i_quantize(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0), zero = surg__i_in(c, 2);
  int dtype = SURG_UINT8;
  const int64_t wanted = surg_node_int(c->n, "output_dtype", 0);
  if (surg__i_has(c, 2))
    dtype = zero.kind == SURG_TYPE_TENSOR ? zero.dtype : 0;
  else if (surg__schema_attr(c->schema, "output_dtype") && wanted)
    dtype = wanted > 0 && wanted < SURG_DTYPE_COUNT ? (int)wanted : 0;
  surg__i_put_like(c, 0, dtype, &x);
}

void surg__i_dynamic_quantize(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  surg__i_put_like(c, 0, SURG_UINT8, &x);
  surg__i_put(c, 1, SURG_FLOAT, NULL, 0);
  surg__i_put(c, 2, SURG_UINT8, NULL, 0);
}

void surg__i_dequantize(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0), scale = surg__i_in(c, 1);
  int64_t dtype = SURG_FLOAT;
  if (c->since >= 19) dtype = scale.kind == SURG_TYPE_TENSOR ? scale.dtype : 0;
  if (surg__schema_attr(c->schema, "output_dtype") && surg_node_int(c->n, "output_dtype", 0))
    dtype = surg_node_int(c->n, "output_dtype", 0);
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT) surg__i_put_like(c, 0, (int)dtype, &x);
}

void surg__i_random_like(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  int64_t dtype = x.dtype;
  if (surg_node_attr(c->n, "dtype")) dtype = surg_node_int(c->n, "dtype", 0);
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT) surg__i_put_like(c, 0, (int)dtype, &x);
}

void surg__i_dropout(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  surg__i_put_like(c, 0, x.dtype, &x);
  surg__i_put_like(c, 1, surg__i_dtype(c, 1), &x);
}

void surg__i_bool_scalar(surg__infer *c) {
  const int dtype = c->op == SURG_OP_SequenceLength ? SURG_INT64 : SURG_BOOL;
  surg__i_put(c, 0, dtype, NULL, 0);
}
