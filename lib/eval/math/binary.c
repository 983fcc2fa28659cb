/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic operators of two and of many inputs. Integers wrap; half and bfloat16 are computed in
 * float, which for + - * / gives the correctly rounded result of the narrow type. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"

typedef const char *(*inner_fn)(void *out, const void *a, int64_t sa, const void *b, int64_t sb,
                                int64_t n);

#define NAMED(op, type)                                                                           \
  static const char *op##_##type(void *out, const void *a, int64_t sa, const void *b, int64_t sb, \
                                 int64_t n)

#define SURG__PAIR(expr)                  \
  const T *p = a, *q = b;                 \
  T *o = out;                             \
  for (int64_t i = 0; i < n; ++i) {       \
    const T x = p[i * sa], y = q[i * sb]; \
    o[i] = (T)(expr);                     \
  }                                       \
  return NULL

#define T int8_t
#define U unsigned
#define SMALLEST INT8_MIN
#define WIDTH 8
#define UNSIGNED 0
#define FN(op) NAMED(op, int8)
#include "eval/math/binary.inc"
#define T int16_t
#define U unsigned
#define SMALLEST INT16_MIN
#define WIDTH 16
#define UNSIGNED 0
#define FN(op) NAMED(op, int16)
#include "eval/math/binary.inc"
#define T int32_t
#define U uint32_t
#define SMALLEST INT32_MIN
#define WIDTH 32
#define UNSIGNED 0
#define FN(op) NAMED(op, int32)
#include "eval/math/binary.inc"
#define T int64_t
#define U uint64_t
#define SMALLEST INT64_MIN
#define WIDTH 64
#define UNSIGNED 0
#define FN(op) NAMED(op, int64)
#include "eval/math/binary.inc"
#define T uint8_t
#define U unsigned
#define SMALLEST 0
#define WIDTH 8
#define UNSIGNED 1
#define FN(op) NAMED(op, uint8)
#include "eval/math/binary.inc"
#define T uint16_t
#define U unsigned
#define SMALLEST 0
#define WIDTH 16
#define UNSIGNED 1
#define FN(op) NAMED(op, uint16)
#include "eval/math/binary.inc"
#define T uint32_t
#define U uint32_t
#define SMALLEST 0
#define WIDTH 32
#define UNSIGNED 1
#define FN(op) NAMED(op, uint32)
#include "eval/math/binary.inc"
#define T uint64_t
#define U uint64_t
#define SMALLEST 0
#define WIDTH 64
#define UNSIGNED 1
#define FN(op) NAMED(op, uint64)
#include "eval/math/binary.inc"
#define T float
#define FMOD fmodf
#define FN(op) NAMED(op, float)
#include "eval/math/binary_real.inc"
#define T double
#define FMOD fmod
#define FN(op) NAMED(op, double)
#include "eval/math/binary_real.inc"

#define UNSIGNED_ROW(op)                                                               \
  [SURG_UINT8] = op##_uint8, [SURG_UINT16] = op##_uint16, [SURG_UINT32] = op##_uint32, \
  [SURG_UINT64] = op##_uint64
#define INT_ROW(op)                                                                                \
  UNSIGNED_ROW(op), [SURG_INT8] = op##_int8, [SURG_INT16] = op##_int16, [SURG_INT32] = op##_int32, \
                    [SURG_INT64] = op##_int64
#define ROW(op) INT_ROW(op), [SURG_FLOAT] = op##_float, [SURG_DOUBLE] = op##_double

enum { ADD, SUB, MUL, DIV, REM, MOD, MIN, MAX, AND, OR, XOR, SHL, SHR, PRELU, COUNT };
static const inner_fn table[COUNT][SURG_DTYPE_COUNT] = {
    [ADD] = {ROW(add)},          [SUB] = {ROW(sub)},     [MUL] = {ROW(mul)},
    [DIV] = {ROW(div)},          [REM] = {ROW(rem)},     [MOD] = {INT_ROW(mod)},
    [MIN] = {ROW(min)},          [MAX] = {ROW(max)},     [AND] = {INT_ROW(and)},
    [OR] = {INT_ROW(or)},        [XOR] = {INT_ROW(xor)}, [SHL] = {UNSIGNED_ROW(shl)},
    [SHR] = {UNSIGNED_ROW(shr)}, [PRELU] = {ROW(prelu)},
};

/* The type of the loops: float for the two 16-bit floats. */
static int compute_type(int dtype) {
  return dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16 ? SURG_FLOAT : dtype;
}

/* The elements in the compute type: unchanged, or a widened copy. NULL: out of memory. */
static const void *widened(surg_kctx *k, const surg__array *a) {
  if (compute_type(a->dtype) == a->dtype) return a->data;
  float *out = surg__k_scratch(k, (size_t)a->count, sizeof *out);
  if (!out) return NULL;
  for (uint64_t i = 0; i < a->count; ++i) out[i] = (float)surg__real_at(a, i);
  return out;
}

/* Memory for the result in the compute type: the output itself if it has that type. */
static void *room(surg_kctx *k) {
  const surg__array *o = &k->out[0];
  if (compute_type(o->dtype) == o->dtype) return o->data;
  return surg__k_scratch(k, (size_t)o->count, sizeof(float));
}

static void narrow(surg_kctx *k, const void *result) {
  const surg__array *o = &k->out[0];
  if (result == o->data) return;
  for (uint64_t i = 0; i < o->count; ++i)
    surg__real_put(o, i, (double)((const float *)result)[i]);
}

/* Runs an inner function for each inner run of a loop over out, a, b. */
static surg__kstatus walk(surg_kctx *k, surg__loop *l, inner_fn fn, size_t size, void *out,
                          const void *a, const void *b) {
  int64_t unit = (int64_t)size;
  for (; !l->done; surg__loop_next(l)) {
    const char *why = fn((char *)out + l->at[0] * unit, (const char *)a + l->at[1] * unit,
                         l->step[1], (const char *)b + l->at[2] * unit, l->step[2], l->inner);
    if (why) return surg__k_cannot(k, why);
  }
  return SURG__K_OK;
}

#define PIECE SURG__PIECE

/* Reads n elements (at most one piece) of a 16-bit type as floats; with step 0 only one. */
static void widen_piece(const surg__array *a, int64_t at, int64_t step, int64_t n, float *to) {
  double v[PIECE];
  if (step == 0) n = 1;
  surg__load_run(a->dtype, a->data, (uint64_t)at, (uint64_t)step, (uint64_t)n, v);
  for (int64_t i = 0; i < n; ++i) to[i] = (float)v[i];
}

/* As `walk`, for 16-bit floats, in pieces: each result is rounded to the element type. */
static surg__kstatus walk_halves(surg_kctx *k, surg__loop *l, inner_fn fn) {
  const surg__array *o = &k->out[0];
  float x[PIECE], y[PIECE], r[PIECE];
  double wide[PIECE];
  for (; !l->done; surg__loop_next(l)) {
    for (int64_t i = 0; i < l->inner; i += PIECE) {
      const int64_t n = l->inner - i < PIECE ? l->inner - i : PIECE;
      widen_piece(&k->in[0], l->at[1] + i * l->step[1], l->step[1], n, x);
      widen_piece(&k->in[1], l->at[2] + i * l->step[2], l->step[2], n, y);
      const char *why = fn(r, x, l->step[1] != 0, y, l->step[2] != 0, n);
      if (why) return surg__k_cannot(k, why);
      for (int64_t e = 0; e < n; ++e) wide[e] = (double)r[e];
      surg__store_reals(o->dtype, o->data, (uint64_t)(l->at[0] + i), (uint64_t)n, wide);
    }
  }
  return SURG__K_OK;
}

static surg__kstatus apply(surg_kctx *k, surg__loop *l, int which) {
  int dtype = k->in[0].dtype;
  inner_fn fn = table[which][compute_type(dtype)];
  if (!fn) return surg__k_cannot(k, "no arithmetic for this type");
  if (compute_type(dtype) != dtype) return walk_halves(k, l, fn);
  return walk(k, l, fn, surg__dtype_unpacked(dtype), k->out[0].data, k->in[0].data, k->in[1].data);
}

static bool text_is(surg_str s, const char *word) {
  return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static int which_op(surg_kctx *k) {
  switch (k->op) {
    case SURG_OP_Add:
      return ADD;
    case SURG_OP_Sub:
      return SUB;
    case SURG_OP_Mul:
      return MUL;
    case SURG_OP_Div:
      return DIV;
    case SURG_OP_Mod:
      return surg_node_int(k->node, "fmod", 0) != 0 ? REM : MOD;
    case SURG_OP_Min:
      return MIN;
    case SURG_OP_Max:
      return MAX;
    case SURG_OP_BitwiseAnd:
      return AND;
    case SURG_OP_BitwiseOr:
      return OR;
    case SURG_OP_BitwiseXor:
      return XOR;
    default:
      break;
  }
  assert(k->op == SURG_OP_BitShift);
  surg_str direction = surg_node_string(k->node, "direction", "");
  if (text_is(direction, "LEFT")) return SHL;
  return text_is(direction, "RIGHT") ? SHR : COUNT;
}

surg__kstatus surg__k_binary(surg_kctx *k) {
  int which = which_op(k);
  if (which == COUNT) return surg__k_invalid(k, "direction is neither LEFT nor RIGHT");
  if (which == MOD && surg__is_real(k->in[0].dtype)) {
    return surg__k_invalid(k, "Mod of floats needs fmod=1");
  }
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, k->in[0].dtype, &l));
  return apply(k, &l, which);
}

/* PRelu. Before version 7 the slope is per channel; from then on it broadcasts to x. */
surg__kstatus surg__k_prelu(surg_kctx *k) {
  const surg__array *x = &k->in[0], *slope = &k->in[1];
  if (!k->wanted[0]) return SURG__K_OK;
  int64_t so[SURG_LIMIT_RANK], ss[SURG_LIMIT_RANK];
  int64_t axis = (int64_t)x->rank - (int64_t)slope->rank;
  if (k->since < 7 && slope->rank == 1 && x->rank > 1) axis = 1;
  if (!surg__aligned_strides(x, slope, axis, ss)) {
    return surg__k_invalid(k, "the slope does not broadcast to the input");
  }
  if (slope->rank > x->rank) return surg__k_invalid(k, "the slope has more axes than the input");
  surg__dense_strides(x->dims, x->rank, so);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  surg__loop l;
  surg__loop_init(&l, x->dims, x->rank, 3, (const int64_t *const[]){so, so, ss});
  return apply(k, &l, PRELU);
}

/* --- many inputs --- */

/* Makes output 0 with the common shape of all inputs. Before version 8 the shapes must be equal. */
static surg__kstatus common_out(surg_kctx *k, int64_t *dims, uint32_t *rank) {
  const surg__array **all = surg__k_scratch(k, k->n_in, sizeof *all);
  if (!all) return SURG__K_NOMEM;
  for (uint32_t i = 0; i < k->n_in; ++i) all[i] = &k->in[i];
  if (!surg__broadcast_dims(all, k->n_in, dims, rank)) {
    return surg__k_invalid(k, "the shapes do not broadcast");
  }
  for (uint32_t i = 0; k->since < 8 && i < k->n_in; ++i) {
    bool same = k->in[i].rank == *rank;
    for (uint32_t d = 0; same && d < *rank; ++d) same = k->in[i].dims[d] == dims[d];
    if (!same) return surg__k_invalid(k, "the shapes differ");
  }
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, dims, *rank));
  uint64_t work;
  if (!surg__mul_u64(k->out[0].count, k->n_in, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

/* Starts a loop over the result (as output and as first operand) and input i. */
static void many_loop(surg_kctx *k, surg__loop *l, uint32_t i, const int64_t *dims, uint32_t rank) {
  int64_t so[SURG_LIMIT_RANK], si[SURG_LIMIT_RANK];
  surg__dense_strides(dims, rank, so);
  surg__broadcast_strides(&k->in[i], dims, rank, si);
  surg__loop_init(l, dims, rank, 3, (const int64_t *const[]){so, so, si});
}

/* Adds two inputs in their own type: equal to a sum in double that is rounded once. */
static surg__kstatus of_two(surg_kctx *k, int which, const int64_t *dims, uint32_t rank) {
  int64_t so[SURG_LIMIT_RANK], sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK];
  surg__loop l;
  surg__dense_strides(dims, rank, so);
  surg__broadcast_strides(&k->in[0], dims, rank, sa);
  surg__broadcast_strides(&k->in[1], dims, rank, sb);
  surg__loop_init(&l, dims, rank, 3, (const int64_t *const[]){so, sa, sb});
  return apply(k, &l, which);
}

/* Min and Max: folds the inputs from the first one on; x op x is x, so the first step is a copy. */
surg__kstatus surg__k_variadic(surg_kctx *k) {
  int64_t dims[SURG_LIMIT_RANK];
  uint32_t rank;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(common_out(k, dims, &rank));
  int type = compute_type(k->in[0].dtype);
  inner_fn fn = table[which_op(k)][type];
  if (!fn) return surg__k_cannot(k, "no arithmetic for this type");
  if (k->n_in == 2) return of_two(k, which_op(k), dims, rank);
  size_t size = surg__dtype_unpacked(type);
  void *acc = room(k);
  if (!acc) return SURG__K_NOMEM;
  for (uint32_t i = 0; i < k->n_in; ++i) {
    surg__mark mark = surg__arena_mark(k->arena);
    const void *in = widened(k, &k->in[i]);
    if (!in) return SURG__K_NOMEM;
    surg__loop l;
    many_loop(k, &l, i, dims, rank);
    if (i == 0) {
      for (; !l.done; surg__loop_next(&l)) {
        const char *from = (const char *)in + l.at[2] * (int64_t)size;
        fn((char *)acc + l.at[0] * (int64_t)size, from, l.step[2], from, l.step[2], l.inner);
      }
    } else {
      SURG__K_TRY(walk(k, &l, fn, size, acc, acc, in));
    }
    surg__arena_reset(k->arena, mark);
  }
  narrow(k, acc);
  return SURG__K_OK;
}

/* Sum and Mean: summed in double in the order of the inputs, rounded once. */
surg__kstatus surg__k_sum(surg_kctx *k) {
  int64_t dims[SURG_LIMIT_RANK];
  uint32_t rank;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(common_out(k, dims, &rank));
  if (k->n_in == 2 && k->op == SURG_OP_Sum) return of_two(k, ADD, dims, rank);
  const surg__array *o = &k->out[0];
  double *acc = surg__k_scratch(k, (size_t)o->count, sizeof *acc);
  if (!acc) return SURG__K_NOMEM;
  for (uint32_t i = 0; i < k->n_in; ++i) {
    const surg__array *in = &k->in[i];
    surg__loop l;
    many_loop(k, &l, i, dims, rank);
    for (; !l.done; surg__loop_next(&l)) {
      for (int64_t j = 0; j < l.inner; ++j) {
        double v = surg__load_f64(in->dtype, in->data, (uint64_t)(l.at[2] + j * l.step[2]));
        double *to = &acc[l.at[0] + j];
        *to = i == 0 ? v : *to + v;
      }
    }
  }
  double by = k->op == SURG_OP_Mean ? (double)k->n_in : 1.0;
  for (uint64_t i = 0; i < o->count; ++i) surg__store_f64(o->dtype, o->data, i, acc[i] / by);
  return SURG__K_OK;
}
