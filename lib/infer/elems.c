/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparison and movement of tracked integer elements: on numbers where all operands
 * are numbers, else on expressions. Expressions are sizes of tensors and do not wrap around. */
#include "infer/rules.h"

static bool is_int(int dtype) { return dtype == SURG_INT64 || dtype == SURG_INT32; }

static bool in_range(int dtype, int64_t v) {
  return dtype == SURG_INT64 || (v >= INT32_MIN && v <= INT32_MAX);
}

/* --- broadcasting --- */

/* The number of elements of a shape; false: unknown, or more than are tracked. */
static bool count_of(const surg_dim *dims, size_t rank, uint32_t *n) {
  const surg_dim count = surg__dim_product(dims, rank);
  *n = (uint32_t)count.value;
  assert(rank <= SURG_LIMIT_RANK);
  return count.value >= 0 && count.value <= (int64_t)SURG__ELEMS;
}

/* Sets at[i] to the index of the element of an input of shape `f` that element i of the broadcast
 * result reads. */
static bool spread(const surg__fact *f, const surg_dim *dims, size_t rank, uint32_t n,
                   uint32_t at[SURG__ELEMS]) {
  uint32_t stride[SURG_LIMIT_RANK], step = 1;
  if (!f->ranked || f->rank > rank) return false;
  for (size_t i = f->rank; i-- > 0;) {
    const surg_dim d = f->dims[i];
    if (!surg__dim_known(d) || !surg__dim_known(dims[rank - f->rank + i])) return false;
    if (d.value != 1 && d.value != dims[rank - f->rank + i].value) return false;
    stride[i] = d.value == 1 ? 0 : step;
    step *= (uint32_t)d.value; /* at most the number of result elements, or 0 */
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t rest = k, index = 0;
    for (size_t i = f->rank; i-- > 0;) {
      const uint32_t d = (uint32_t)dims[rank - f->rank + i].value;
      assert(d > 0 && stride[i] <= SURG__ELEMS); /* n > 0: no dim of the result is 0 */
      index += rest % d * stride[i];
      rest /= d;
    }
    at[k] = index;
  }
  return true;
}

/* Reads input i, broadcast to the shape dims: n elements. */
static bool read_spread(surg__infer *c, size_t i, const surg_dim *dims, size_t rank, uint32_t n,
                        surg__elem out[SURG__ELEMS]) {
  surg__elem buf[SURG__ELEMS];
  uint32_t count, at[SURG__ELEMS];
  const surg__fact f = surg__infer_in(c, i);
  const surg__elem *e = surg__infer_any_elems(c, i, buf, &count);
  if (!e || !spread(&f, dims, rank, n, at)) return false;
  for (uint32_t k = 0; k < n; k++) {
    if (at[k] >= count) return false;
    out[k] = e[at[k]];
  }
  return true;
}

/* --- arithmetic --- */

/* a op b of two numbers; a result that wraps or is undefined is unknown. */
static surg__elem compute_known(int op, int dtype, int64_t a, int64_t b) {
  assert(is_int(dtype) || dtype == SURG_BOOL);
  int64_t r = 0;
  bool ok = true;
  switch (op) {
    case SURG_OP_Add: ok = surg__add_i64(a, b, &r); break;
    case SURG_OP_Sub: ok = surg__sub_i64(a, b, &r); break;
    case SURG_OP_Mul: ok = surg__mul_i64(a, b, &r); break;
    case SURG_OP_Div:
    case SURG_OP_Mod:
      /* Runtimes round negative quotients differently. */
      ok = a >= 0 && b > 0;
      if (ok) r = op == SURG_OP_Div ? a / b : a % b;
      break;
    case SURG_OP_Min: r = a < b ? a : b; break;
    case SURG_OP_Max: r = a > b ? a : b; break;
    default: ok = false;
  }
  return ok && in_range(dtype, r) ? surg__elem_int(r) : surg__elem_unknown();
}

static const surg_expr *compute_expr(int op, const surg_expr *a, const surg_expr *b) {
  const bool divides = op == SURG_OP_Div || op == SURG_OP_Mod;
  const surg_expr *exact = op == SURG_OP_Div ? surg__expr_div_exact(a, b) : NULL;
  if (exact) return exact;
  if (divides && (!surg__expr_at_least_num(a, 0) || !surg__expr_at_least_num(b, 0))) return NULL;
  switch (op) {
    case SURG_OP_Add: return surg__expr_add(a, b);
    case SURG_OP_Sub: return surg__expr_sub(a, b);
    case SURG_OP_Mul: return surg__expr_mul(a, b);
    case SURG_OP_Div: return surg__expr_div(a, b);
    case SURG_OP_Mod: return surg__expr_mod(a, b);
    case SURG_OP_Min: return surg__expr_min(a, b);
    case SURG_OP_Max: return surg__expr_max(a, b);
    default: return NULL;
  }
}

static surg__elem compute(const surg__infer *c, int op, int dtype, surg__elem a, surg__elem b) {
  if (a.known && b.known) return compute_known(op, dtype, a.value, b.value);
  if (op == SURG_OP_Mul && ((a.known && !a.value) || (b.known && !b.value)))
    return surg__elem_int(0);
  return surg__elem_from(compute_expr(op, surg__elem_expr(c, a), surg__elem_expr(c, b)));
}

void surg__infer_arith_elems(surg__infer *c, const surg_dim *dims, size_t rank) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem sum[SURG__ELEMS], next[SURG__ELEMS];
  const size_t inputs = surg_node_input_count(c->n);
  uint32_t n;
  if (!is_int(x.dtype) || !count_of(dims, rank, &n)) return;
  if (!read_spread(c, 0, dims, rank, n, sum)) return;
  for (size_t i = 1; i < inputs; i++) {
    if (!read_spread(c, i, dims, rank, n, next)) return;
    for (uint32_t k = 0; k < n; k++) sum[k] = compute(c, c->op, x.dtype, sum[k], next[k]);
  }
  surg__infer_put_elems(c, 0, sum, n);
}

/* One element of Neg, Abs or Not. */
static surg__elem unary(const surg__infer *c, int dtype, surg__elem e) {
  if (c->op == SURG_OP_Not) return e.known ? surg__elem_int(!e.value) : surg__elem_unknown();
  if (c->op == SURG_OP_Abs) {
    if (e.known ? e.value >= 0 : surg__expr_at_least_num(e.expr, 0)) return e;
    if (!e.known && !surg__expr_at_most_num(e.expr, 0)) return surg__elem_unknown();
  }
  return compute(c, SURG_OP_Sub, dtype, surg__elem_int(0), e);
}

void surg__infer_unary_elems(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n;
  surg__infer_same(c);
  if (!c->states || (!is_int(x.dtype) && x.dtype != SURG_BOOL)) return;
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e) return;
  for (uint32_t i = 0; i < n; i++) out[i] = unary(c, x.dtype, e[i]);
  surg__infer_put_elems(c, 0, out, n);
}

/* --- comparison and logic: 1 true, 0 false, -1 unknown --- */

static int order_known(int op, surg__elem a, surg__elem b, bool real) {
  if (!a.known || !b.known) return -1;
  const double x = real ? surg__elem_as_real(a) : 0, y = real ? surg__elem_as_real(b) : 0;
  const int order = real ? (x > y) - (x < y) : (a.value > b.value) - (a.value < b.value);
  switch (op) {
    case SURG_OP_Equal: return order == 0;
    case SURG_OP_Less: return order < 0;
    case SURG_OP_LessOrEqual: return order <= 0;
    case SURG_OP_Greater: return order > 0;
    default: return order >= 0;
  }
}

/* Whether a >= b + more: 1 proven, 0 disproven, -1 unknown. */
static int at_least(const surg_expr *a, const surg_expr *b, int64_t more) {
  if (surg__expr_at_least(a, surg__expr_add_num(b, more))) return 1;
  return surg__expr_at_least(b, surg__expr_add_num(a, 1 - more)) ? 0 : -1;
}

static int order_exprs(int op, const surg_expr *a, const surg_expr *b) {
  if (!a || !b) return -1;
  switch (op) {
    case SURG_OP_Equal:
      if (a == b) return 1;
      return at_least(a, b, 1) == 1 || at_least(b, a, 1) == 1 ? 0 : -1;
    case SURG_OP_Less: return at_least(b, a, 1);
    case SURG_OP_LessOrEqual: return at_least(b, a, 0);
    case SURG_OP_Greater: return at_least(a, b, 1);
    default: return at_least(a, b, 0);
  }
}

static int truth(surg__elem e) { return e.known ? e.value != 0 : -1; }

static int decide(const surg__infer *c, surg__elem a, surg__elem b, int dtype) {
  const int x = truth(a), y = truth(b);
  switch (c->op) {
    case SURG_OP_And: return x == 0 || y == 0 ? 0 : x < 0 || y < 0 ? -1 : 1;
    case SURG_OP_Or: return x > 0 || y > 0 ? 1 : x < 0 || y < 0 ? -1 : 0;
    case SURG_OP_Xor: return x < 0 || y < 0 ? -1 : x != y;
    default: break;
  }
  const bool real = dtype == SURG_FLOAT || dtype == SURG_DOUBLE;
  if (real || (a.known && b.known)) return order_known(c->op, a, b, real);
  return order_exprs(c->op, surg__elem_expr(c, a), surg__elem_expr(c, b));
}

void surg__infer_compare_elems(surg__infer *c, const surg_dim *dims, size_t rank) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem a[SURG__ELEMS], b[SURG__ELEMS];
  uint32_t n;
  if (surg_node_input_count(c->n) != 2 || !count_of(dims, rank, &n)) return;
  if (!read_spread(c, 0, dims, rank, n, a) || !read_spread(c, 1, dims, rank, n, b)) return;
  for (uint32_t i = 0; i < n; i++) {
    const int v = decide(c, a[i], b[i], x.dtype);
    a[i] = v < 0 ? surg__elem_unknown() : surg__elem_int(v);
  }
  surg__infer_put_elems(c, 0, a, n);
}

void surg__infer_where_elems(surg__infer *c, const surg_dim *dims, size_t rank) {
  surg__elem k[SURG__ELEMS], a[SURG__ELEMS], b[SURG__ELEMS];
  uint32_t n;
  if (!count_of(dims, rank, &n) || !read_spread(c, 0, dims, rank, n, k)) return;
  if (!read_spread(c, 1, dims, rank, n, a) || !read_spread(c, 2, dims, rank, n, b)) return;
  for (uint32_t i = 0; i < n; i++) {
    const int v = truth(k[i]);
    const bool same = a[i].known == b[i].known && a[i].expr == b[i].expr &&
                      a[i].value == b[i].value;
    a[i] = v > 0 || same ? a[i] : v == 0 ? b[i] : surg__elem_unknown();
  }
  surg__infer_put_any_elems(c, 0, a, n);
}

/* --- reductions --- */

static int reduction(int op) {
  switch (op) {
    case SURG_OP_ReduceSum: return SURG_OP_Add;
    case SURG_OP_ReduceProd: return SURG_OP_Mul;
    case SURG_OP_ReduceMax: return SURG_OP_Max;
    case SURG_OP_ReduceMin: return SURG_OP_Min;
    default: return 0;
  }
}

void surg__infer_reduce_elems(surg__infer *c, const surg__fact *x, uint64_t set) {
  const int op = reduction(c->op);
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  bool some[SURG__ELEMS] = {false};
  surg_dim left[SURG_LIMIT_RANK];
  size_t rank = 0;
  uint32_t n, outs;
  if (!c->states || !op || !is_int(x->dtype)) return;
  for (uint32_t i = 0; i < x->rank; i++)
    if (!(set >> i & 1)) left[rank++] = x->dims[i];
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  uint32_t whole;
  if (!e || !count_of(x->dims, x->rank, &whole) || whole != n) return;
  if (!count_of(left, rank, &outs) || (n == 0 && op != SURG_OP_Add && op != SURG_OP_Mul)) return;
  for (uint32_t i = 0; i < outs; i++) out[i] = surg__elem_int(op == SURG_OP_Mul);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t rest = k, to = 0, step = 1;
    for (uint32_t i = x->rank; i-- > 0;) {
      const uint32_t d = (uint32_t)x->dims[i].value;
      assert(d > 0); /* the input has elements */
      if (!(set >> i & 1)) {
        to += rest % d * step;
        step *= d;
      }
      rest /= d;
    }
    assert(to < outs);
    out[to] = some[to] ? compute(c, op, x->dtype, out[to], e[k]) : e[k];
    some[to] = true;
  }
  surg__infer_put_elems(c, 0, out, outs);
}

void surg__infer_cum_sum(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n;
  surg__infer_same(c);
  if (!c->states || !x.ranked || x.rank != 1 || !is_int(x.dtype)) return;
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e) return;
  const bool back = surg_node_int(c->n, "reverse", 0) != 0;
  const bool before = surg_node_int(c->n, "exclusive", 0) != 0;
  surg__elem sum = surg__elem_int(0);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t at = back ? n - 1 - i : i;
    const surg__elem next = compute(c, SURG_OP_Add, x.dtype, sum, e[at]);
    out[at] = before ? sum : next;
    sum = next;
  }
  surg__infer_put_elems(c, 0, out, n);
}

/* --- movement --- */

void surg__infer_transpose_elems(surg__infer *c, const surg__fact *x, const int64_t *perm) {
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n, whole, stride[SURG_LIMIT_RANK], step = 1;
  const surg__elem *e = surg__infer_any_elems(c, 0, buf, &n);
  if (!e || !count_of(x->dims, x->rank, &whole) || whole != n) return;
  for (uint32_t i = x->rank; i-- > 0; step *= (uint32_t)x->dims[i].value) stride[i] = step;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t rest = k, from = 0;
    for (uint32_t i = x->rank; i-- > 0;) {
      const uint32_t axis = perm ? (uint32_t)perm[i] : x->rank - 1 - i;
      const uint32_t d = (uint32_t)x->dims[axis].value;
      from += rest % d * stride[axis];
      assert(d > 0 && axis < x->rank);
      rest /= d;
    }
    out[k] = e[from];
  }
  surg__infer_put_any_elems(c, 0, out, n);
}

void surg__infer_pick_elems(surg__infer *c, size_t k, const surg_dim *whole, const surg_dim *left,
                        size_t rank, const int64_t *from, const int64_t *step) {
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n, have, count;
  const surg__elem *e = surg__infer_any_elems(c, 0, buf, &n);
  if (!e || !count_of(whole, rank, &have) || have != n || !count_of(left, rank, &count)) return;
  for (uint32_t i = 0; i < count; i++) {
    int64_t at = 0, stride = 1;
    uint32_t rest = i;
    for (size_t a = rank; a-- > 0;) {
      const uint32_t d = (uint32_t)left[a].value;
      at += (from[a] + (int64_t)(rest % d) * step[a]) * stride;
      stride *= whole[a].value;
      rest /= d;
    }
    if (at < 0 || at >= (int64_t)n) return;
    out[i] = e[at];
  }
  surg__infer_put_any_elems(c, k, out, count);
}

/* Selects elements along `axis` by the indices of input 1. */
void surg__infer_gather_elems(surg__infer *c, const surg__fact *data, size_t axis) {
  surg__elem dbuf[SURG__ELEMS], ibuf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t nd, ni, outer, inner, have;
  const surg__elem *d = surg__infer_any_elems(c, 0, dbuf, &nd);
  const surg__elem *idx = d ? surg__infer_elems(c, 1, ibuf, &ni) : NULL;
  if (!idx || !count_of(data->dims, data->rank, &have) || have != nd) return;
  const int64_t length = data->dims[axis].value;
  assert(axis < data->rank);
  if (!count_of(data->dims, axis, &outer) ||
      !count_of(data->dims + axis + 1, data->rank - axis - 1, &inner))
    return;
  const uint64_t count = (uint64_t)outer * ni * inner;
  if (count > SURG__ELEMS) return;
  for (uint32_t i = 0; i < count; i++) {
    const surg__elem at = idx[i / inner % ni];
    const int64_t k = at.value < 0 ? at.value + length : at.value;
    const bool known = at.known && k >= 0 && k < length;
    out[i] = known ? d[((i / inner / ni) * length + k) * inner + i % inner] : surg__elem_unknown();
  }
  surg__infer_put_any_elems(c, 0, out, (uint32_t)count);
}

/* Writes single elements of a tensor of rank 1, at indices that are known. */
void surg__infer_scatter(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem buf[SURG__ELEMS], new[SURG__ELEMS], out[SURG__ELEMS];
  int64_t at[SURG__ELEMS];
  uint32_t n, updates, places;
  surg__fact f;
  surg__infer_same(c);
  const surg_str how = surg_node_string(c->n, "reduction", "none");
  if (!c->states || !x.ranked || x.rank != 1 || how.n != 4 || memcmp(how.p, "none", 4)) return;
  if (c->op == SURG_OP_ScatterND &&
      (!surg__infer_ranked(c, 1, &f) || f.rank < 1 || f.dims[f.rank - 1].value != 1))
    return;
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e || !surg__infer_ints(c, 1, at, SURG__ELEMS, &places)) return;
  memcpy(out, e, n * sizeof *e);
  const surg__elem *u = surg__infer_elems(c, 2, new, &updates);
  if (!u || updates != places) return;
  for (uint32_t i = 0; i < places; i++) {
    const int64_t to = at[i] < 0 ? at[i] + n : at[i];
    if (to < 0 || to >= (int64_t)n) return;
    out[to] = u[i];
  }
  surg__infer_put_elems(c, 0, out, n);
}
