/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, logic, Where, IsNaN and IsInf. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* The order of two elements: -1, 0, 1, or 2 where one is NaN. */
static int order_f64(double x, double y) {
  if (isnan(x) || isnan(y)) return 2;
  return x < y ? -1 : x > y;
}

static int order_int(int dtype, uint64_t x, uint64_t y) {
  if (x == y) return 0;
  bool less = surg__dtype_is_signed_int(dtype) ? (int64_t)x < (int64_t)y : x < y;
  return less ? -1 : 1;
}

static int order_str(surg_str x, surg_str y) {
  size_t n = x.n < y.n ? x.n : y.n;
  int c = n > 0 ? memcmp(x.p, y.p, n) : 0;
  if (c != 0) return c < 0 ? -1 : 1;
  return x.n < y.n ? -1 : x.n > y.n;
}

static bool holds(int op, int order) {
  switch (op) {
    case SURG_OP_Equal:
      return order == 0;
    case SURG_OP_Less:
      return order == -1;
    case SURG_OP_Greater:
      return order == 1;
    case SURG_OP_LessOrEqual:
      return order == -1 || order == 0;
    default:
      assert(op == SURG_OP_GreaterOrEqual);
      return order == 1 || order == 0;
  }
}

/* And, Or and Xor are implemented as comparisons of bools. */
static bool logic(int op, bool x, bool y) {
  switch (op) {
    case SURG_OP_And:
      return x && y;
    case SURG_OP_Or:
      return x || y;
    case SURG_OP_Xor:
      return x != y;
    default:
      assert(op == SURG_OP_Equal);
      return x == y;
  }
}

static bool result(int op, int dtype, const void *a, uint64_t i, const void *b, uint64_t j) {
  if (dtype == SURG_BOOL) return logic(op, ((const uint8_t *)a)[i], ((const uint8_t *)b)[j]);
  if (dtype == SURG_STRING) {
    return holds(op, order_str(((const surg_str *)a)[i], ((const surg_str *)b)[j]));
  }
  if (surg__is_real(dtype)) {
    return holds(op, order_f64(surg__load_f64(dtype, a, i), surg__load_f64(dtype, b, j)));
  }
  return holds(op, order_int(dtype, surg__load_int(dtype, a, i), surg__load_int(dtype, b, j)));
}

surg__kstatus surg__k_compare(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, SURG_BOOL, &l));
  int op = k->op, dtype = k->in[0].dtype;
  const void *a = k->in[0].data, *b = k->in[1].data;
  uint8_t *out = k->out[0].data;
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t i = 0; i < l.inner; ++i) {
      out[l.at[0] + i] = result(op, dtype, a, (uint64_t)(l.at[1] + i * l.step[1]), b,
                                (uint64_t)(l.at[2] + i * l.step[2]));
    }
  }
  return SURG__K_OK;
}

/* Copies elements as bytes, of any type. */
surg__kstatus surg__k_where(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  const surg__array *in[3] = {&k->in[0], &k->in[1], &k->in[2]};
  int64_t dims[SURG_LIMIT_RANK], s[4][SURG_LIMIT_RANK];
  uint32_t rank;
  if (!surg__broadcast_dims(in, 3, dims, &rank)) {
    return surg__k_invalid(k, "the shapes do not broadcast");
  }
  SURG__K_TRY(surg__k_out(k, 0, in[1]->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  surg__dense_strides(dims, rank, s[0]);
  for (int i = 0; i < 3; ++i) surg__broadcast_strides(in[i], dims, rank, s[i + 1]);
  surg__loop l;
  surg__loop_init(&l, dims, rank, 4, (const int64_t *const[]){s[0], s[1], s[2], s[3]});
  size_t size = surg__dtype_unpacked(in[1]->dtype);
  const uint8_t *cond = in[0]->data;
  char *out = k->out[0].data;
  for (; !l.done; surg__loop_next(&l)) {
    char *to = out + (size_t)l.at[0] * size;
    const char *x = (const char *)in[1]->data + (size_t)l.at[2] * size;
    const char *y = (const char *)in[2]->data + (size_t)l.at[3] * size;
    for (int64_t i = 0; i < l.inner; ++i) {
      const bool first = cond[l.at[1] + i * l.step[1]];
      memcpy(to + (size_t)i * size, first ? x + i * l.step[2] * (int64_t)size
                                          : y + i * l.step[3] * (int64_t)size, size);
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_isnan(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_out(k, 0, SURG_BOOL, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  uint8_t *out = k->out[0].data;
  for (uint64_t i = 0; i < x->count; ++i) out[i] = isnan(surg__load_f64(x->dtype, x->data, i));
  return SURG__K_OK;
}

surg__kstatus surg__k_isinf(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  bool positive = surg_node_int(k->node, "detect_positive", 1) != 0;
  bool negative = surg_node_int(k->node, "detect_negative", 1) != 0;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_out(k, 0, SURG_BOOL, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  uint8_t *out = k->out[0].data;
  for (uint64_t i = 0; i < x->count; ++i) {
    double v = surg__load_f64(x->dtype, x->data, i);
    out[i] = isinf(v) && (v > 0 ? positive : negative);
  }
  return SURG__K_OK;
}
