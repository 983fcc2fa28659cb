/* SPDX-License-Identifier: Apache-2.0 */
/* Makes inputs from their declared types, and prints values as text. */
#include <math.h>

#include "base/dtype.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"
#include "eval/core/value.h"
#include "ir/ir.h" /* for declared ranges of values only */
#include "run/run.h"

#define WHOLE_MOST 0x1p62 /* numbers in a range that integers are drawn from */

static uint64_t next_random(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* A random float from -1 to 1 or in the maker's range. */
static double random_real(surg__maker *m, uint64_t r) {
  const double unit = (double)(int64_t)(r >> 11) / 4503599627370496.0 - 1.0; /* -1 to 1 */
  return m->low < m->high ? m->low + (unit + 1) / 2 * (m->high - m->low) : unit;
}

/* As random_real; a third of the floats are edge cases that rewrites often mishandle. */
static double adversarial_real(surg__maker *m, uint64_t r) {
  static const double edges[] = {0.0, -0.0, 1.0,   -1.0,  0.5,      -0.5,      3.0,
                                 6.0, 1e30, -1e30, 1e-40, INFINITY, -INFINITY, (double)NAN};
  const double huge = m->huge > 0 ? m->huge : 1e30;
  if (r % 3 != 0) return random_real(m, r);
  const double v = edges[(r >> 8) % SURG_COUNT(edges)];
  return isfinite(v) && fabs(v) > huge ? copysign(huge, v) : v;
}

/* Makes the n floats from number `at` of a tensor on. */
static void make_reals(surg__maker *m, uint64_t at, uint64_t n, double *to) {
  switch (m->fill) {
    case SURG__FILL_ZEROS:
    case SURG__FILL_ONES:
      for (uint64_t i = 0; i < n; i++) to[i] = m->fill == SURG__FILL_ONES ? 1 : 0;
      return;
    case SURG__FILL_ARANGE:
      for (uint64_t i = 0; i < n; i++) to[i] = (double)(at + i);
      return;
    case SURG__FILL_ADVERSARIAL:
      for (uint64_t i = 0; i < n; i++) to[i] = adversarial_real(m, next_random(&m->state));
      return;
    default:
      for (uint64_t i = 0; i < n; i++) to[i] = random_real(m, next_random(&m->state));
  }
}

/* The least integer to draw, and how many follow. Integers of up to 16 bits are data, such as
 * images, sound and quantized values: all of their type are drawn. Longer ones are often
 * indices. */
static uint64_t span(const surg__maker *m, int dtype, uint64_t *low) {
  /* A smaller `below` is a retry: the model rejected larger numbers. */
  const bool first = m->below >= SURG__MADE_BELOW;
  const int64_t below = m->whole > 0 && first ? m->whole : m->below;
  const unsigned bits = surg__dtype_bits(dtype);
  *low = 0;
  if (first && !m->whole && m->low < m->high && m->high - m->low < WHOLE_MOST) {
    *low = (uint64_t)(int64_t)ceil(m->low);
    return (uint64_t)((int64_t)floor(m->high) - (int64_t)*low) + 1;
  }
  if (first && !m->whole && surg__dtype_is_int(dtype) && bits <= 16) {
    if (surg__dtype_is_signed_int(dtype)) *low = 0 - (UINT64_C(1) << (bits - 1));
    return UINT64_C(1) << bits;
  }
  return below > 0 ? (uint64_t)below : 1;
}

/* As make_reals, integers. */
static void make_whole(surg__maker *m, int dtype, uint64_t at, uint64_t n, uint64_t *to) {
  uint64_t low;
  const uint64_t size = span(m, dtype, &low);
  switch (m->fill) {
    case SURG__FILL_ZEROS:
    case SURG__FILL_ONES:
      for (uint64_t i = 0; i < n; i++) to[i] = m->fill == SURG__FILL_ONES;
      return;
    case SURG__FILL_ARANGE:
      for (uint64_t i = 0; i < n; i++) to[i] = at + i;
      return;
    default:
      for (uint64_t i = 0; i < n; i++) to[i] = low + next_random(&m->state) % size;
  }
}

/* Stores n floats from element `at` on. */
static void put_reals(int dtype, void *p, uint64_t at, uint64_t n, const double *v) {
  uint8_t *bytes = p;
  if (surg__is_real(dtype))
    surg__store_reals(dtype, p, at, n, v);
  else if (dtype == SURG_FLOAT4E2M1)
    for (uint64_t i = 0; i < n; i++) bytes[at + i] = surg__float_to_fp4((float)v[i]);
  else
    for (uint64_t i = 0; i < n; i++) bytes[at + i] = surg__float_to_fp8(dtype, (float)v[i], true);
}

/* Stores n integers from element `at` on, as elements of any other type. */
static void put_whole(int dtype, void *p, uint64_t at, uint64_t n, const uint64_t *v) {
  static const surg_str words[] = {{"a", 1}, {"bc", 2}, {"", 0}, {"Def", 3}};
  if (dtype == SURG_STRING)
    for (uint64_t i = 0; i < n; i++) ((surg_str *)p)[at + i] = words[v[i] % SURG_COUNT(words)];
  else if (dtype == SURG_BOOL)
    for (uint64_t i = 0; i < n; i++) ((uint8_t *)p)[at + i] = v[i] & 1;
  else
    surg__store_whole(dtype, p, at, n, v);
}

static void fill_array(surg__maker *m, surg__array *a) {
  const bool complex = a->dtype == SURG_COMPLEX64 || a->dtype == SURG_COMPLEX128;
  const int part = a->dtype == SURG_COMPLEX64    ? SURG_FLOAT
                   : a->dtype == SURG_COMPLEX128 ? SURG_DOUBLE
                                                 : a->dtype;
  const bool real = surg__dtype_is_float(part);
  const uint64_t count = complex ? 2 * a->count : a->count; /* the array is in memory */
  surg__numbers v;
  for (uint64_t at = 0, n; at < count; at += n) {
    n = count - at < SURG__PIECE ? count - at : SURG__PIECE;
    if (real) {
      make_reals(m, at, n, v.real);
      put_reals(part, a->data, at, n, v.real);
    } else {
      make_whole(m, part, at, n, v.whole);
      put_whole(part, a->data, at, n, v.whole);
    }
  }
}

static bool too_many(const int64_t *dims, size_t rank, uint64_t most) {
  uint64_t n = 1;
  for (size_t i = 0; i < rank; i++)
    if (!surg__mul_u64(n, (uint64_t)dims[i], &n)) n = UINT64_MAX;
  return n > most;
}

static surg_status make_tensor(surg_context *ctx, surg__maker *m, const surg_type *type,
                               surg__array *out) {
  int64_t dims[SURG_LIMIT_RANK];
  const size_t rank = surg_type_rank(type);
  if (!surg_type_has_rank(type) || rank > SURG_LIMIT_RANK || !surg_type_dtype(type))
    return SURG_EUNSUPPORTED;
  bool open = false;
  const bool also = surg_type_has_rank(m->also) && surg_type_rank(m->also) == rank;
  for (size_t i = 0; i < rank; i++) {
    surg_dim d = *surg_type_dim(type, i);
    if (d.value < 0 && also && surg_type_dim(m->also, i)->value >= 0)
      d = *surg_type_dim(m->also, i);
    dims[i] = d.value >= 0 ? d.value : m->size;
    if (d.value < 0 && d.param && m->dim_of) (void)m->dim_of(m->user, d.param, &dims[i]);
    open |= d.value < 0;
  }
  m->open |= open;
  if (open && m->most && too_many(dims, rank, m->most)) return SURG_ELIMIT;
  const surg_status s = surg__array_make(ctx, surg_type_dtype(type), dims, (uint32_t)rank, out);
  if (s == SURG_OK) fill_array(m, out);
  return s;
}

#define IN_SEQUENCE 2 /* elements of a sequence */

/* The recursion is bounded: types are nested no deeper than the messages they were read from. */
static surg_status make(surg_context *ctx, surg__maker *m, const surg_type *type,
                        surg__array *out) {
  const surg_type_kind kind = surg_type_get_kind(type);
  if (kind == SURG_TYPE_TENSOR) return make_tensor(ctx, m, type, out);
  if (kind != SURG_TYPE_SEQUENCE && kind != SURG_TYPE_OPTIONAL) return SURG_EUNSUPPORTED;
  const bool optional = kind == SURG_TYPE_OPTIONAL;
  const surg_type *elem = surg_type_elem(type);
  m->also = NULL;
  surg_status s = surg__list_make(ctx, optional ? SURG__V_OPTIONAL : SURG__V_SEQUENCE,
                                  surg__content_of_type(elem), optional ? 1 : IN_SEQUENCE, out);
  for (uint64_t i = 0; s == SURG_OK && i < out->count; i++) {
    s = make(ctx, m, elem, &surg__list_of(out)->items[i]);
    if (s != SURG_OK) surg__array_drop(out);
  }
  return s;
}

static void limit_reals(const surg__array *in, double low, double high) {
  double v[SURG__PIECE];
  for (uint64_t at = 0, n; at < in->count; at += n) {
    n = in->count - at < SURG__PIECE ? in->count - at : SURG__PIECE;
    surg__load_run(in->dtype, in->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; i++)
      if (!(v[i] >= low && v[i] <= high)) v[i] = v[i] > high ? high : low;
    surg__store_reals(in->dtype, in->data, at, n, v);
  }
}

static void limit_whole(const surg__array *in, double low, double high) {
  for (uint64_t i = 0; i < in->count; i++) {
    const double v = (double)(int64_t)surg__load_int(in->dtype, in->data, i);
    const double near = v < low ? ceil(low) : v > high ? floor(high) : v;
    if (near != v && fabs(near) < 0x1p63)
      surg__store_int(in->dtype, in->data, i, (uint64_t)(int64_t)near);
  }
}

void surg__input_limit(const surg_value *x, const surg__array *in) {
  if (!x || !x->said || !in->data) return;
  if (surg__is_real(in->dtype))
    limit_reals(in, x->said->low, x->said->high);
  else if (surg__is_int(in->dtype) || in->dtype == SURG_BOOL)
    limit_whole(in, x->said->low, x->said->high);
}

surg_status surg__input_make(surg_context *ctx, surg__maker *m, const surg_value *v,
                             surg__array *out) {
  const surg_range *said = v->said;
  const bool drawn = said && m->fill == SURG__FILL_RANDOM && !(m->low < m->high) &&
                     isfinite(said->low) && isfinite(said->high);
  surg__maker own = *m;
  if (drawn) {
    own.low = said->low;
    own.high = said->high;
  }
  const surg_status s = make(ctx, &own, surg_value_declared_type(v), out);
  m->state = own.state;
  m->open = own.open;
  if (s == SURG_OK) surg__input_limit(v, out);
  return s;
}

const char *surg__input_unmade(const surg_value *v, surg_status s) {
  const surg_type *type = surg_value_declared_type(v);
  if (s == SURG_ELIMIT || s == SURG_ENOMEM)
    return "is too large for generated values, so it must be given";
  while (surg_type_get_kind(type) == SURG_TYPE_SEQUENCE ||
         surg_type_get_kind(type) == SURG_TYPE_OPTIONAL)
    type = surg_type_elem(type);
  switch (surg_type_get_kind(type)) {
    case SURG_TYPE_UNKNOWN: return "has no declared type, so it must be given";
    case SURG_TYPE_TENSOR:
      if (!surg_type_dtype(type)) return "has no declared element type, so it must be given";
      if (!surg_type_has_rank(type)) return "has no declared shape, so it must be given";
      return "has a type that cannot be generated, so it must be given";
    default: return "is not a tensor, so it must be given";
  }
}

/* Moves floats by up to an eighth of each. */
static void move_reals(surg__maker *m, const surg__array *from, const surg__array *to) {
  double v[SURG__PIECE];
  for (uint64_t at = 0, n; at < from->count; at += n) {
    n = from->count - at < SURG__PIECE ? from->count - at : SURG__PIECE;
    surg__load_run(from->dtype, from->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; i++)
      v[i] *= 1 + (double)(int64_t)(next_random(&m->state) >> 11) * 0x1p-55 - 0x1p-3;
    surg__store_reals(to->dtype, to->data, at, n, v);
  }
}

surg_status surg__input_near(surg_context *ctx, surg__maker *m, const surg_tensor *t, bool vary,
                             surg__array *out) {
  surg__array given = {0};
  surg_status s = surg__array_read(ctx, t, &given);
  if (s != SURG_OK || !vary || !surg__is_real(given.dtype)) {
    *out = given;
    return s;
  }
  s = surg__array_make(ctx, given.dtype, given.dims, given.rank, out);
  if (s == SURG_OK) move_reals(m, &given, out);
  surg__array_drop(&given);
  return s;
}

/* --- text --- */

void surg__element_print(const surg__array *a, uint64_t i, surg__buf *b) {
  if (a->dtype == SURG_STRING) {
    const surg_str s = ((const surg_str *)a->data)[i];
    surg__buf_putc(b, '"');
    surg__buf_escape(b, s.p, s.n, SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '"');
  } else if (a->dtype == SURG_BOOL) {
    surg__buf_puts(b, ((const uint8_t *)a->data)[i] ? "true" : "false");
  } else if (a->dtype == SURG_COMPLEX64 || a->dtype == SURG_COMPLEX128) {
    const int part = a->dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE;
    surg__buf_printf(b, "%.9g%+.9gi", surg__load_f64(part, a->data, 2 * i),
                     surg__load_f64(part, a->data, 2 * i + 1));
  } else if (surg__dtype_is_float(a->dtype)) {
    surg__buf_printf(b, a->dtype == SURG_DOUBLE ? "%.17g" : "%.9g",
                     surg__load_f64(a->dtype, a->data, i));
  } else if (a->dtype == SURG_UINT64) {
    surg__buf_printf(b, "%llu", (unsigned long long)((const uint64_t *)a->data)[i]);
  } else {
    surg__buf_printf(b, "%lld", (long long)surg__load_int(a->dtype, a->data, i));
  }
}

static void put_tensor(const surg__array *a, uint64_t most, surg__buf *b) {
  surg__buf_puts(b, surg_dtype_name(a->dtype));
  for (uint32_t i = 0; i < a->rank; i++)
    surg__buf_printf(b, "%s%lld", i ? ", " : "[", (long long)a->dims[i]);
  surg__buf_puts(b, a->rank ? "] {" : " {");
  for (uint64_t i = 0; i < a->count && i < most; i++) {
    if (i) surg__buf_puts(b, ", ");
    surg__element_print(a, i, b);
  }
  if (a->count > most) surg__buf_puts(b, most ? ", ..." : "...");
  surg__buf_putc(b, '}');
}

#define NESTING 16 /* most levels of lists in text */

static void put_value(const surg__array *a, uint64_t most, surg__buf *b, unsigned depth) {
  static const char *const names[] = {"seq", "optional", "map"};
  if (a->dtype == SURG_UNDEFINED) {
    surg__buf_puts(b, "nothing");
    return;
  }
  if (!surg__array_is_list(a)) {
    put_tensor(a, most, b);
    return;
  }
  surg__buf_printf(b, "%s(", names[a->dtype - SURG__V_SEQUENCE]);
  for (uint64_t i = 0; i < a->count && i < most && depth < NESTING; i++) {
    if (i) surg__buf_puts(b, ", ");
    put_value(&surg__list_of(a)->items[i], most, b, depth + 1);
  }
  if (a->count > most || depth == NESTING) surg__buf_puts(b, "...");
  surg__buf_putc(b, ')');
}

void surg__value_print(const surg__array *a, uint64_t most, surg__buf *b) {
  put_value(a, most, b, 0);
}
