/* SPDX-License-Identifier: Apache-2.0 */
/* Cast and CastLike. Each element is converted by way of one of three wide forms, all without loss:
 * double for floats, 64-bit integers with their sign, text. A fold refuses what the standard leaves
 * undefined: NaN or an out-of-range float to an integer, text that runtimes spell differently. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/locale.h"
#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"

typedef enum round_mode { ROUND_UP, ROUND_DOWN, ROUND_NEAREST } round_mode;

typedef struct cast {
  surg_kctx *k;
  const surg__array *in;
  surg__array *out;
  bool saturate;
  round_mode mode; /* for FLOAT8E8M0 */
} cast;

#define TEXT_MAX 64 /* of a number */

/* Element functions return NULL, or the reason why the element has no result; this is one of
 * them. */
static const char no_memory[] = "out of memory";

/* --- to floats --- */

/* Stores a power of two equal or near to v, by the rounding mode. */
static const char *store_e8m0(const cast *c, uint64_t i, double v) {
  uint8_t *to = (uint8_t *)c->out->data + i;
  if (v < 0) return "a negative number has no float8e8m0";
  if (c->mode == ROUND_NEAREST || !isfinite(v)) {
    *to = surg__float_to_fp8(SURG_FLOAT8E8M0, (float)v, c->saturate);
    return NULL;
  }
  int e = -127; /* the smallest power; zero and smaller values are stored as it */
  bool more = false;
  if (v > 0x1p-127) {
    double m = frexp(v, &e); /* in [0.5, 1) */
    --e;
    more = m > 0.5;
  }
  if (more && c->mode == ROUND_UP) ++e;
  if (e > 127) {
    *to = c->saturate ? 0xfe : 0xff;
  } else {
    *to = (uint8_t)(e + 127);
  }
  return NULL;
}

static const char *store_real(const cast *c, uint64_t i, double v) {
  int to = c->out->dtype;
  switch (to) {
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ:
      ((uint8_t *)c->out->data)[i] = surg__float_to_fp8(to, (float)v, c->saturate);
      return NULL;
    case SURG_FLOAT8E8M0:
      return store_e8m0(c, i, v);
    case SURG_FLOAT4E2M1:
      /* A run stores minus zero, as the reference implementation does. */
      if (isnan(v) && !c->k->running) return "NaN has no float4e2m1";
      ((uint8_t *)c->out->data)[i] = isnan(v) ? 8 : surg__float_to_fp4((float)v);
      return NULL;
    default:
      surg__store_f64(to, c->out->data, i, v);
      return NULL;
  }
}

/* --- to integers --- */

/* Types of four and two bits keep the low bits of any integer: the reference implementation and
 * runtimes agree on that, but not on the rounding of fractions. */
static const char *real_to_small_int(const cast *c, uint64_t i, double v) {
  int to = c->out->dtype;
  if (v != trunc(v)) return "runtimes round a fraction to a small integer in different ways";
  if (fabs(v) > 9007199254740992.0) return "a float is out of the range of the integer type";
  unsigned bits = surg__dtype_bits(to), mask = (1u << bits) - 1;
  unsigned low = (unsigned)(uint64_t)(int64_t)v & mask;
  bool negative = surg__dtype_is_signed_int(to) && low >> (bits - 1);
  ((uint8_t *)c->out->data)[i] = (uint8_t)(negative ? low | ~mask : low);
  return NULL;
}

/* The result of common processors for a float that does not fit: converts to int64, or for narrow
 * types to int32, with the smallest integer for values out of its range; the caller truncates
 * it. */
static uint64_t misfit(int to, double v) {
  bool wide = surg__dtype_bits(to) > 32 || to == SURG_UINT32;
  if (fabs(v) < (wide ? 0x1p63 : 0x1p31)) return (uint64_t)(int64_t)v;
  return wide ? 1ull << 63 : UINT64_MAX << 31;
}

/* Truncates the fraction; the result is undefined if it does not fit the type. */
static const char *real_to_int(const cast *c, uint64_t i, double v) {
  int to = c->out->dtype;
  if (to == SURG_BOOL) {
    ((uint8_t *)c->out->data)[i] = v != 0;
    return NULL;
  }
  if (isnan(v) && !c->k->running) return "NaN has no integer";
  if (surg__dtype_bits(to) < 8 && !isnan(v)) return real_to_small_int(c, i, v);
  v = trunc(v);
  /* Both limits are powers of two, exact as doubles. */
  double high = ldexp(1, (int)surg__dtype_bits(to) - (surg__dtype_is_signed_int(to) ? 1 : 0));
  double low = surg__dtype_is_signed_int(to) ? -high : 0;
  if (!(v >= low && v < high)) {
    if (!c->k->running) return "a float is out of the range of the integer type";
    surg__store_int(to, c->out->data, i, misfit(to, v));
    return NULL;
  }
  uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
  surg__store_int(to, c->out->data, i, bits);
  return NULL;
}

static const char *int_to_real(const cast *c, uint64_t i, uint64_t v, bool negative) {
  uint64_t magnitude = negative ? 0 - v : v;
  if (c->out->dtype == SURG_DOUBLE) {
    ((double *)c->out->data)[i] = negative ? -(double)magnitude : (double)magnitude;
    return NULL;
  }
  double d = surg__odd_double(magnitude);
  return store_real(c, i, negative ? -d : d);
}

/* --- text --- */

static bool digits(const char **p) {
  const char *start = *p;
  while (**p >= '0' && **p <= '9') ++*p;
  return *p > start;
}

/* Whether all of the text is a plain or scientific decimal number. *whole: it is an integer without
 * fraction and exponent. */
static bool decimal(const char *p, bool *whole) {
  *whole = true;
  if (*p == '+' || *p == '-') ++p;
  bool any = digits(&p);
  if (*p == '.') {
    ++p;
    *whole = false;
    any = digits(&p) || any;
  }
  if (!any) return false;
  if (*p == 'e' || *p == 'E') {
    ++p;
    *whole = false;
    if (*p == '+' || *p == '-') ++p;
    if (!digits(&p)) return false;
  }
  return *p == '\0';
}

/* Reads "INF", "+inf", "-Inf", "NaN", in any letter case. */
static bool special(const char *p, double *out) {
  bool negative = *p == '-';
  bool sign = negative || *p == '+';
  if (sign) ++p;
  char low[4] = {0};
  size_t n = strlen(p);
  if (n != 3) return false;
  for (size_t i = 0; i < n; ++i) low[i] = (char)(p[i] | 0x20);
  if (strcmp(low, "inf") == 0) {
    *out = negative ? -INFINITY : INFINITY;
    return true;
  }
  if (sign || strcmp(low, "nan") != 0) return false;
  *out = NAN;
  return true;
}

static const char *text_to_real(const cast *c, uint64_t i, const char *text) {
  double v;
  bool whole;
  if (special(text, &v)) return store_real(c, i, v);
  if (!decimal(text, &whole)) return "a string is not a number";
  if (c->out->dtype == SURG_FLOAT) {
    ((float *)c->out->data)[i] = strtof(text, NULL);
    return NULL;
  }
  return store_real(c, i, strtod(text, NULL));
}

static const char *text_to_int(const cast *c, uint64_t i, const char *text) {
  static const char out_of_range[] = "a string is out of the range of the integer type";
  int to = c->out->dtype;
  bool whole;
  if (!decimal(text, &whole) || !whole) return "a string is not an integer";
  errno = 0;
  if (surg__dtype_is_signed_int(to)) {
    long long v = strtoll(text, NULL, 10);
    if (errno != 0 || v < surg__int_min(to) || v > (int64_t)surg__int_max(to)) return out_of_range;
    surg__store_int(to, c->out->data, i, (uint64_t)v);
    return NULL;
  }
  if (*text == '-') return out_of_range;
  unsigned long long v = strtoull(text, NULL, 10);
  if (errno != 0 || v > surg__int_max(to)) return out_of_range;
  surg__store_int(to, c->out->data, i, v);
  return NULL;
}

static const char *from_text(const cast *c, uint64_t i) {
  surg_str s = ((const surg_str *)c->in->data)[i];
  char text[TEXT_MAX];
  if (c->out->dtype == SURG_BOOL) return "a string is not a boolean";
  if (s.n >= sizeof text || (s.n > 0 && memchr(s.p, 0, s.n))) return "a string is not a number";
  if (s.n > 0) memcpy(text, s.p, s.n);
  text[s.n] = '\0';
  if (surg__dtype_is_float(c->out->dtype)) return text_to_real(c, i, text);
  return text_to_int(c, i, text);
}

static const char *put_text(const cast *c, uint64_t i, const char *text) {
  size_t n = strlen(text);
  char *copy = surg__arena_strn(c->k->arena, text, n);
  if (!copy) return no_memory;
  ((surg_str *)c->out->data)[i] = (surg_str){copy, n};
  return NULL;
}

/* Whether the text converts back to v in its own type. */
static bool reads_back(int dtype, const char *text, double v) {
  switch (dtype) {
    case SURG_DOUBLE:
      return strtod(text, NULL) == v;
    case SURG_FLOAT:
      return strtof(text, NULL) == (float)v;
    case SURG_FLOAT16:
      return surg__half_to_float(surg__double_to_half(strtod(text, NULL))) == v;
    default:
      return surg__bf16_to_float(surg__double_to_bf16(strtod(text, NULL))) == v;
  }
}

/* The shortest digits that convert back, without an exponent. Runtimes spell integers ("1" or
 * "1.0") and numbers far from 1 differently. */
static const char *real_to_text(const cast *c, uint64_t i, double v) {
  char text[TEXT_MAX];
  int dtype = c->in->dtype;
  if (isnan(v)) return put_text(c, i, "NaN");
  if (isinf(v)) return put_text(c, i, v < 0 ? "-INF" : "INF");
  if (!surg__is_real(dtype)) return "no agreed text for this float type";
  bool common = v != trunc(v) && fabs(v) >= 1e-4 && fabs(v) < 1e8;
  if (!common && !c->k->running) return "no agreed text for this number";
  for (int precision = 1; precision <= 17; ++precision) {
    snprintf(text, sizeof text, "%.*g", precision, v);
    bool plain = c->k->running || !strchr(text, 'e');
    if (plain && reads_back(dtype, text, v)) return put_text(c, i, text);
  }
  return "no agreed text for this number";
}

static const char *int_to_text(const cast *c, uint64_t i, uint64_t v, bool negative) {
  char text[TEXT_MAX];
  if (c->in->dtype == SURG_BOOL && !c->k->running) return "ONNX defines no text for a boolean";
  uint64_t magnitude = negative ? 0 - v : v;
  snprintf(text, sizeof text, "%s%llu", negative ? "-" : "", (unsigned long long)magnitude);
  return put_text(c, i, text);
}

/* --- the operator --- */

static const char *one(const cast *c, uint64_t i) {
  int from = c->in->dtype, to = c->out->dtype;
  if (from == SURG_STRING) return from_text(c, i);
  if (surg__dtype_is_float(from)) {
    double v = surg__load_f64(from, c->in->data, i);
    if (to == SURG_STRING) return real_to_text(c, i, v);
    return surg__dtype_is_float(to) ? store_real(c, i, v) : real_to_int(c, i, v);
  }
  uint64_t v = surg__load_int(from, c->in->data, i);
  bool negative = surg__dtype_is_signed_int(from) && (int64_t)v < 0;
  if (to == SURG_STRING) return int_to_text(c, i, v, negative);
  if (surg__dtype_is_float(to)) return int_to_real(c, i, v, negative);
  surg__store_int(to, c->out->data, i, v);
  return NULL;
}

static surg__kstatus convert_all(const cast *c) {
  for (uint64_t i = 0; i < c->in->count; ++i) {
    const char *why = one(c, i);
    if (why == no_memory) return SURG__K_NOMEM;
    if (why) return surg__k_cannot(c->k, why);
  }
  return SURG__K_OK;
}

/* Casts where every element has a result, in pieces: between floats, and from integers of up to 32
 * bits to floats, by way of doubles; between integers by way of 64 bits. False: another cast. */
static bool by_pieces(const surg__array *in, const surg__array *out) {
  const bool whole = surg__is_int(in->dtype) || in->dtype == SURG_BOOL;
  const bool to_whole = surg__is_int(out->dtype) || out->dtype == SURG_BOOL;
  const bool narrow = whole && surg__dtype_bits(in->dtype) <= 32;
  const bool reals = (surg__is_real(in->dtype) || narrow) && surg__is_real(out->dtype);
  surg__numbers v;
  if (!reals && !(whole && to_whole)) return false;
  for (uint64_t at = 0, n; at < in->count; at += n) {
    n = in->count - at < SURG__PIECE ? in->count - at : SURG__PIECE;
    if (reals) {
      surg__load_run(in->dtype, in->data, at, 1, n, v.real);
      surg__store_reals(out->dtype, out->data, at, n, v.real);
    } else {
      surg__load_whole(in->dtype, in->data, at, 1, n, v.whole);
      surg__store_whole(out->dtype, out->data, at, n, v.whole);
    }
  }
  return true;
}

/* Converts with a decimal point, independent of the caller's locale. */
static surg__kstatus convert_text(const cast *c) {
  surg__os_locale plain;
  if (!surg__os_locale_begin(&plain)) return SURG__K_NOMEM;
  surg__kstatus s = convert_all(c);
  surg__os_locale_end(&plain);
  return s;
}

static surg__kstatus convert(surg_kctx *k, int to, bool saturate, round_mode mode) {
  const surg__array *in = &k->in[0];
  if (!k->wanted[0]) return SURG__K_OK;
  if (in->dtype == to) return surg__k_alias(k, 0, 0, in->dims, in->rank);
  if (in->dtype == SURG_COMPLEX64 || in->dtype == SURG_COMPLEX128) {
    return surg__k_cannot(k, "complex numbers are not cast");
  }
  SURG__K_TRY(surg__k_out(k, 0, to, in->dims, in->rank));
  SURG__K_TRY(surg__k_work(k, in->count));
  if (by_pieces(in, &k->out[0])) return SURG__K_OK;
  cast c = {k, in, &k->out[0], saturate, mode};
  return in->dtype == SURG_STRING || to == SURG_STRING ? convert_text(&c) : convert_all(&c);
}

static bool text_is(surg_str s, const char *word) {
  return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static surg__kstatus with_attributes(surg_kctx *k, int to) {
  if (surg__dtype_unpacked(to) == 0 || to == SURG_COMPLEX64 || to == SURG_COMPLEX128) {
    return surg__k_invalid(k, "there is no such type to cast to");
  }
  surg_str s = surg_node_string(k->node, "round_mode", "up");
  round_mode mode = ROUND_UP;
  if (text_is(s, "down")) mode = ROUND_DOWN;
  if (text_is(s, "nearest")) mode = ROUND_NEAREST;
  return convert(k, to, surg_node_int(k->node, "saturate", 1) != 0, mode);
}

/* The attribute `to` of version 1: the type name in capitals. */
static int named_type(surg_str s) {
  char low[32];
  if (s.n >= sizeof low) return SURG_UNDEFINED;
  for (size_t i = 0; i < s.n; ++i) {
    low[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
  }
  return surg__dtype_from_name(low, s.n);
}

surg__kstatus surg__k_cast(surg_kctx *k) {
  if (k->since < 6) return with_attributes(k, named_type(surg_node_string(k->node, "to", "")));
  int64_t to = surg_node_int(k->node, "to", 0);
  if (to <= 0 || to >= SURG_DTYPE_COUNT) {
    return surg__k_invalid(k, "there is no such type to cast to");
  }
  return with_attributes(k, (int)to);
}

surg__kstatus surg__k_cast_like(surg_kctx *k) {
  return with_attributes(k, k->in[1].dtype);
}
