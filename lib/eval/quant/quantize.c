/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear and DequantizeLinear, with one scale per tensor, per slice of an axis, or per
 * block. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"
#include "eval/core/stream.h"

/* Maps elements to scales. x has the shape [outer][length][inner], the scale [outer or
 * 1][groups][inner or 1]. */
typedef struct scaling {
  const surg__array *x, *scale, *zero; /* zero: NULL if absent */
  uint64_t length, inner;
  uint64_t groups, block; /* block: elements along the axis per scale */
  bool single, blocked;
} scaling;

static uint64_t scale_of(const scaling *s, uint64_t i) {
  if (s->single) return 0;
  uint64_t group = i / s->inner % s->length / s->block;
  if (!s->blocked) return group;
  return (i / (s->inner * s->length) * s->groups + group) * s->inner + i % s->inner;
}

static bool same_shape(const surg__array *a, const surg__array *b) {
  if (a->rank != b->rank) return false;
  return a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Whether the scale is valid for blocks: the shape of x, except for one entry per block on the
 * axis. */
static bool find_blocks(scaling *s, uint32_t axis, int64_t block) {
  if (block <= 0 || s->scale->rank != s->x->rank) return false;
  for (uint32_t d = 0; d < s->x->rank; ++d) {
    if (d != axis && s->scale->dims[d] != s->x->dims[d]) return false;
  }
  s->block = (uint64_t)block;
  s->groups = (uint64_t)s->scale->dims[axis];
  s->blocked = true;
  return s->groups == s->length / s->block + (s->length % s->block != 0);
}

static surg__kstatus find_scaling(surg_kctx *k, scaling *s) {
  *s = (scaling){.x = &k->in[0], .scale = &k->in[1], .length = 1, .inner = 1, .block = 1};
  if (surg__k_has(k, 2)) s->zero = &k->in[2];
  if (s->zero && !same_shape(s->zero, s->scale) && !(s->zero->count == 1 && s->scale->count == 1)) {
    return surg__k_invalid(k, "scale and zero point have different shapes");
  }
  int64_t block = k->since >= 21 ? surg_node_int(k->node, "block_size", 0) : 0;
  if (s->scale->count == 1 && s->scale->rank <= 1 && block == 0) {
    s->single = true;
    return SURG__K_OK;
  }
  uint32_t axis;
  int64_t wish = k->since >= 13 ? surg_node_int(k->node, "axis", 1) : -1;
  if (k->since < 13 || !surg__k_axis(wish, s->x->rank, &axis)) {
    return surg__k_invalid(k, "the scale is not a single value and there is no such axis");
  }
  s->length = (uint64_t)s->x->dims[axis];
  for (uint32_t d = axis + 1; d < s->x->rank; ++d) s->inner *= (uint64_t)s->x->dims[d];
  if (block != 0) {
    if (find_blocks(s, axis, block)) return SURG__K_OK;
    return surg__k_invalid(k, "the scale has no entry for each block");
  }
  s->groups = s->length;
  if (s->scale->rank == 1 && s->scale->count == s->length) return SURG__K_OK;
  return surg__k_invalid(k, "the scale has no entry for each slice of the axis");
}

/* Converts n <= SURG__PIECE elements that share a scale. Intermediate doubles represent all
 * their values exactly. False: an element has no result. */
typedef bool (*run_fn)(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                       float scale, int64_t zero);

static bool is_narrow_int(int dtype) {
  return surg__is_int(dtype) && surg__dtype_bits(dtype) <= 16;
}

/* Fast path: converts runs of elements that share a scale, for float and integers of up to 16
 * bits, as in most models. False: another case, or an element has no result; the caller then
 * converts element by element, which reports the reason. */
static bool by_runs(const scaling *s, const surg__array *o, run_fn run) {
  const int x = s->x->dtype, to = o->dtype;
  if (s->blocked || s->scale->dtype != SURG_FLOAT) return false;
  if (!(x == SURG_FLOAT && is_narrow_int(to)) && !(is_narrow_int(x) && surg__is_real(to)))
    return false;
  uint64_t length = s->single ? s->x->count : s->inner;
  for (uint64_t at = 0; at < s->x->count; at += length) {
    uint64_t i = scale_of(s, at);
    float scale = ((const float *)s->scale->data)[i];
    if (scale == 0 || isnan(scale)) return false;
    int64_t zero = s->zero ? (int64_t)surg__load_int(s->zero->dtype, s->zero->data, i) : 0;
    for (uint64_t done = 0; done < length; done += SURG__PIECE) {
      const uint64_t n = length - done < SURG__PIECE ? length - done : SURG__PIECE;
      if (!run(s->x, o, at + done, n, scale, zero)) return false;
    }
  }
  return true;
}

/* --- quantize --- */

/* Computes x / scale in float, rounded to the type of the attribute `precision`. Returns the
 * scale. */
static double quotient(const scaling *s, int precision, uint64_t i, uint64_t at, double *out) {
  double scale = surg__load_f64(s->scale->dtype, s->scale->data, at), x;
  if (surg__is_real(s->x->dtype)) {
    x = surg__load_f64(s->x->dtype, s->x->data, i);
  } else {
    x = (double)(float)(int64_t)surg__load_int(s->x->dtype, s->x->data, i);
  }
  float q = (float)x / (float)scale;
  *out = q;
  if (precision == SURG_FLOAT16) *out = surg__half_to_float(surg__float_to_half(q));
  if (precision == SURG_BFLOAT16) *out = surg__bf16_to_float(surg__float_to_bf16(q));
  return scale;
}

/* Quantizes element i. Returns NULL, or the reason why it has no result. `running`: NaN becomes
 * the smallest value of the type, as vector min and max instructions compute it. */
static const char *quantize_one(const scaling *s, const surg__array *o, int precision,
                                bool saturate, bool running, uint64_t i) {
  uint64_t at = scale_of(s, i);
  double q, scale = quotient(s, precision, i, at, &q);
  if ((scale == 0 || isnan(scale)) && !running) return "a scale is zero or NaN";
  if (surg__dtype_is_float(o->dtype)) {
    if (s->zero && surg__load_f64(s->zero->dtype, s->zero->data, at) != 0) {
      return "a zero point of a float type that is not zero";
    }
    if (o->dtype == SURG_FLOAT4E2M1 && isnan(q)) return "NaN has no float4e2m1";
    uint8_t *to = (uint8_t *)o->data + i;
    *to = o->dtype == SURG_FLOAT4E2M1 ? surg__float_to_fp4((float)q)
                                      : surg__float_to_fp8(o->dtype, (float)q, saturate);
    return NULL;
  }
  if (isnan(q) && !running) return "NaN has no integer";
  int64_t low = surg__int_min(o->dtype), high = (int64_t)surg__int_max(o->dtype);
  int64_t zero = s->zero ? (int64_t)surg__load_int(s->zero->dtype, s->zero->data, at) : 0;
  /* For types of at most 16 bits the sum is exact; larger quotients saturate. */
  double v = nearbyint(q) + (double)zero;
  int64_t r = !(v > (double)low) ? low : v >= (double)high ? high : (int64_t)v;
  surg__store_int(o->dtype, o->data, i, (uint64_t)r);
  return NULL;
}

static bool quantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                         float scale, int64_t zero) {
  const double low = (double)surg__int_min(out->dtype), high = (double)surg__int_max(out->dtype);
  surg__numbers v;
  uint64_t to[SURG__PIECE];
  surg__load_run(in->dtype, in->data, at, 1, n, v.real);
  bool nan = false;
  for (uint64_t i = 0; i < n; ++i) {
    const float q = (float)v.real[i] / scale;
    nan |= q != q;
    /* Clamp far outside the range of all types. Within, adding and subtracting 1.5 * 2^52 rounds
     * to an integer, ties to even. */
    double r = q < -0x1p20f ? -0x1p20 : q > 0x1p20f ? 0x1p20 : (double)q;
    r = r + 0x1.8p52 - 0x1.8p52 + (double)zero;
    r = r < low ? low : r;
    v.real[i] = r > high ? high : r;
  }
  if (nan) return false;
  for (uint64_t i = 0; i < n; ++i) to[i] = (uint64_t)(int64_t)v.real[i];
  surg__store_whole(out->dtype, out->data, at, n, to);
  return true;
}

static surg__kstatus target_type(surg_kctx *k, const scaling *s, int *out) {
  int64_t wish = k->since >= 21 ? surg_node_int(k->node, "output_dtype", 0) : 0;
  *out = s->zero ? s->zero->dtype : wish != 0 ? (int)wish : SURG_UINT8;
  if (wish < 0 || wish >= SURG_DTYPE_COUNT || (s->zero && wish != 0 && wish != *out)) {
    return surg__k_invalid(k, "output_dtype is not a type or not the one of the zero point");
  }
  bool small = surg__dtype_bits(*out) <= 16 && surg__is_int(*out);
  bool real = *out == SURG_FLOAT4E2M1 || (surg__dtype_is_float(*out) && !surg__is_real(*out));
  if (small || (real && *out != SURG_FLOAT8E8M0)) return SURG__K_OK;
  return surg__k_invalid(k, "not a type to quantize to");
}

surg__kstatus surg__k_quantize(surg_kctx *k) {
  scaling s;
  int to;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(find_scaling(k, &s));
  SURG__K_TRY(target_type(k, &s, &to));
  if (!surg__dtype_is_float(s.scale->dtype)) return surg__k_cannot(k, "an integer scale");
  if (s.x->dtype == SURG_DOUBLE) return surg__k_cannot(k, "quantizing double");
  int64_t precision = k->since >= 23 ? surg_node_int(k->node, "precision", 0) : 0;
  if (precision == 0) precision = s.scale->dtype;
  if (precision != SURG_FLOAT && precision != SURG_FLOAT16 && precision != SURG_BFLOAT16 &&
      precision != SURG_FLOAT8E8M0) {
    return surg__k_cannot(k, "this precision");
  }
  bool saturate = surg_node_int(k->node, "saturate", 1) != 0;
  SURG__K_TRY(surg__k_out(k, 0, to, s.x->dims, s.x->rank));
  SURG__K_TRY(surg__k_work(k, s.x->count));
  if (precision == SURG_FLOAT && by_runs(&s, &k->out[0], quantize_run)) return SURG__K_OK;
  for (uint64_t i = 0; i < s.x->count; ++i) {
    const char *why = quantize_one(&s, &k->out[0], (int)precision, saturate, k->running, i);
    if (why) return surg__k_cannot(k, why);
  }
  return SURG__K_OK;
}

/* --- dequantize --- */

/* Dequantizes element i, which is element x_at of x and o_at of o: (x - zero) * scale in float,
 * rounded again if the result type is narrower. */
static void dequantize_one(const scaling *s, uint64_t i, const void *x, uint64_t x_at, int to,
                           void *o, uint64_t o_at) {
  uint64_t at = scale_of(s, i);
  float scale = (float)surg__load_f64(s->scale->dtype, s->scale->data, at), v;
  if (surg__dtype_is_float(s->x->dtype)) {
    v = (float)surg__load_f64(s->x->dtype, x, x_at);
    if (s->zero) v -= (float)surg__load_f64(s->zero->dtype, s->zero->data, at);
  } else {
    /* Both have at most 32 bits: the difference does not overflow. */
    int64_t d = (int64_t)surg__load_int(s->x->dtype, x, x_at);
    if (s->zero) d -= (int64_t)surg__load_int(s->zero->dtype, s->zero->data, at);
    v = (float)d;
  }
  surg__store_f64(to, o, o_at, v * scale);
}

static bool dequantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                           float scale, int64_t zero) {
  surg__numbers v;
  surg__load_run(in->dtype, in->data, at, 1, n, v.real);
  for (uint64_t i = 0; i < n; ++i) v.real[i] = (float)(v.real[i] - (double)zero) * scale;
  surg__store_run(out->dtype, out->data, at, n, v.real);
  return true;
}

/* Dequantizes n elements of 8 bits; `step` 0: all have one scale and zero point. `zero` may be
 * NULL. Differences of such integers are exact in float. */
#define DEQUANTIZE_BYTES(type)                                                        \
  static void type##_dequantize(const void *in, const void *zero, const float *scale, \
                                size_t step, uint64_t n, float *restrict out) {       \
    const type *x = in, *z = zero;                                                    \
    if (!step) {                                                                      \
      const int32_t middle = z ? *z : 0;                                              \
      const float by = *scale;                                                        \
      for (uint64_t i = 0; i < n; ++i) out[i] = (float)(x[i] - middle) * by;          \
    } else if (z) {                                                                   \
      for (uint64_t i = 0; i < n; ++i) out[i] = (float)(x[i] - z[i]) * scale[i];      \
    } else {                                                                          \
      for (uint64_t i = 0; i < n; ++i) out[i] = (float)x[i] * scale[i];               \
    }                                                                                 \
  }

DEQUANTIZE_BYTES(int8_t)
DEQUANTIZE_BYTES(uint8_t)

/* The same of other narrow integers, by way of doubles; at most SURG__PIECE elements. */
static void dequantize_numbers(const scaling *s, const void *x, uint64_t at, uint64_t key,
                               size_t step, uint64_t n, float *out) {
  const float *scale = (const float *)s->scale->data + key;
  surg__numbers v, z;
  memset(&z, 0, sizeof z.real[0]);
  surg__load_run(s->x->dtype, x, at, 1, n, v.real);
  if (s->zero) surg__load_run(s->zero->dtype, s->zero->data, key, 1, step ? n : 1, z.real);
  if (step && !s->zero) memset(z.real, 0, (size_t)n * sizeof *z.real);
  for (uint64_t i = 0; i < n; ++i)
    out[i] = (float)(v.real[i] - z.real[i * step]) * scale[i * step];
}

/* Dequantizes n elements of `x` that follow element `at`, if they and their scales are adjacent, as
 * in by_runs: of a weight with one scale, or with one for each column. */
static bool dequantize_row(const scaling *s, uint64_t at, const void *x, uint64_t n, int to,
                           void *o) {
  const int dtype = s->x->dtype;
  if (!is_narrow_int(dtype) || s->scale->dtype != SURG_FLOAT || to != SURG_FLOAT) return false;
  if (s->blocked || (!s->single && s->inner != 1)) return false;
  const bool bytes = dtype == SURG_INT8 || dtype == SURG_UINT8;
  const size_t step = !s->single;
  for (uint64_t done = 0, m; done < n; done += m) {
    const uint64_t key = scale_of(s, at + done), left = s->single ? n - done : s->length - key;
    float *const out = (float *)o + done;
    m = surg__min_u64(left, n - done);
    if (!bytes) {
      m = surg__min_u64(m, SURG__PIECE);
      dequantize_numbers(s, x, done, key, step, m, out);
      continue;
    }
    const float *scale = (const float *)s->scale->data + key;
    const uint8_t *from = (const uint8_t *)x + done;
    const uint8_t *zero = s->zero ? (const uint8_t *)s->zero->data + key : NULL;
    if (dtype == SURG_INT8)
      int8_t_dequantize(from, zero, scale, step, m, out);
    else
      uint8_t_dequantize(from, zero, scale, step, m, out);
  }
  return true;
}

#define ROOM ((size_t)32 << 10) /* bytes that are read at once */

/* A stream of dequantized elements of a stream. */
static surg_status read_dequantized(const surg__stream *t, uint64_t at, uint64_t n, void *out) {
  const uint64_t *const own = t->numbers;
  const scaling s = {.x = &t->from[0],
                     .scale = &t->from[1],
                     .zero = t->from[2].dtype == SURG_UNDEFINED ? NULL : &t->from[2],
                     .length = own[0],
                     .inner = own[1],
                     .groups = own[2],
                     .block = own[3],
                     .single = own[4] & 1,
                     .blocked = own[4] & 2};
  const size_t size = surg__dtype_unpacked(s.x->dtype);
  const size_t to_size = surg__dtype_unpacked((int)own[5]);
  uint64_t x[ROOM / sizeof(uint64_t)]; /* of any type */
  for (uint64_t done = 0, m; done < n; done += m) {
    m = surg__min_u64(n - done, ROOM / size);
    const surg_status status = surg__stream_read(s.x, at + done, m, x);
    if (status != SURG_OK) return status;
    if (dequantize_row(&s, at + done, x, m, (int)own[5], (char *)out + (size_t)done * to_size))
      continue;
    for (uint64_t i = 0; i < m; ++i)
      dequantize_one(&s, at + done + i, x, i, (int)own[5], out, done + i);
  }
  return SURG_OK;
}

static surg__kstatus dequantize_stream(surg_kctx *k, const scaling *s, int to) {
  surg__stream *t;
  SURG__K_TRY(surg__k_stream(k, 0, to, &t));
  t->read = read_dequantized;
  t->from[0] = surg__array_ref(s->x);
  t->from[1] = surg__array_ref(s->scale);
  if (s->zero) t->from[2] = surg__array_ref(s->zero);
  const uint64_t own[] = {s->length, s->inner, s->groups, s->block,
                          (uint64_t)s->single | (uint64_t)s->blocked << 1, (uint64_t)to};
  memcpy(t->numbers, own, sizeof own);
  return SURG__K_OK;
}

surg__kstatus surg__k_dequantize(surg_kctx *k) {
  scaling s;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(find_scaling(k, &s));
  int64_t to = k->since >= 23 ? surg_node_int(k->node, "output_dtype", 0) : 0;
  if (to == 0) to = s.scale->dtype;
  if (to != SURG_FLOAT && to != SURG_FLOAT16 && to != SURG_BFLOAT16) {
    return surg__k_invalid(k, "not a type to dequantize to");
  }
  if (s.x->stream) return dequantize_stream(k, &s, (int)to);
  SURG__K_TRY(surg__k_out(k, 0, (int)to, s.x->dims, s.x->rank));
  SURG__K_TRY(surg__k_work(k, s.x->count));
  if (by_runs(&s, &k->out[0], dequantize_run)) return SURG__K_OK;
  for (uint64_t i = 0; i < s.x->count; ++i)
    dequantize_one(&s, i, s.x->data, i, (int)to, k->out[0].data, i);
  return SURG__K_OK;
}
