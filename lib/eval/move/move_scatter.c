/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter, ScatterElements and ScatterND. Updates are applied in index order. If an element is
 * updated twice without a reduction, the result is undefined, and the kernel fails. */
#include "eval/move/move.h"

#include "base/dtype.h"

typedef enum reduction {
  SCATTER_NONE,
  SCATTER_ADD,
  SCATTER_MUL,
  SCATTER_MAX,
  SCATTER_MIN
} reduction;

static surg__kstatus read_reduction(surg_kctx *k, reduction *out) {
  static const struct {
    const char *name;
    reduction kind;
    int since;
  } names[] = {{"none", SCATTER_NONE, 16},
               {"add", SCATTER_ADD, 16},
               {"mul", SCATTER_MUL, 16},
               {"max", SCATTER_MAX, 18},
               {"min", SCATTER_MIN, 18}};
  *out = SCATTER_NONE;
  if (k->since < 16) return SURG__K_OK;
  surg_str s = surg_node_string(k->node, "reduction", "none");
  for (size_t i = 0; i < SURG_COUNT(names); i++) {
    if (s.n == strlen(names[i].name) && memcmp(s.p, names[i].name, s.n) == 0 &&
        k->since >= names[i].since) {
      *out = names[i].kind;
      return SURG__K_OK;
    }
  }
  return surg__k_invalid(k, "the reduction is unknown");
}

/* The maximum or minimum of two floats. False where engines disagree: for NaN, and for zeros of
 * different sign. */
static bool float_extreme(double a, double b, bool max, double *out) {
  if (a != a || b != b || (a == 0 && b == 0 && __builtin_signbit(a) != __builtin_signbit(b)))
    return false;
  *out = (a < b) == max ? b : a;
  return true;
}

/* Combines two floats in float or double precision. The caller rounds to narrower types. */
static bool float_combine(reduction r, double a, double b, bool wide, double *out) {
  switch (r) {
    case SCATTER_ADD:
      *out = wide ? a + b : (double)((float)a + (float)b);
      return true;
    case SCATTER_MUL:
      *out = wide ? a * b : (double)((float)a * (float)b);
      return true;
    default:
      return float_extreme(a, b, r == SCATTER_MAX, out);
  }
}

/* Combines two integers. Sums and products wrap: their low bits do not depend on the width. */
static uint64_t int_combine(reduction r, uint64_t a, uint64_t b, bool is_signed) {
  bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  switch (r) {
    case SCATTER_ADD:
      return a + b;
    case SCATTER_MUL:
      return a * b;
    case SCATTER_MAX:
      return less ? b : a;
    default:
      return less ? a : b;
  }
}

#define COMBINE_INT(T, is_signed)                                                   \
  do {                                                                              \
    T x, y;                                                                         \
    memcpy(&x, to, sizeof x);                                                       \
    memcpy(&y, from, sizeof y);                                                     \
    x = (T)int_combine(r, (uint64_t)(int64_t)x, (uint64_t)(int64_t)y, (is_signed)); \
    memcpy(to, &x, sizeof x);                                                       \
    return true;                                                                    \
  } while (0)
#define COMBINE_FLOAT(T, load, store, wide)                                            \
  do {                                                                                 \
    T x, y;                                                                            \
    double d;                                                                          \
    memcpy(&x, to, sizeof x);                                                          \
    memcpy(&y, from, sizeof y);                                                        \
    if (!float_combine(r, (double)load(x), (double)load(y), (wide), &d)) return false; \
    x = store(d);                                                                      \
    memcpy(to, &x, sizeof x);                                                          \
    return true;                                                                       \
  } while (0)
#define TO_FLOAT(d) ((float)(d))

/* Combines one element into *to. False if engines disagree on the result. */
static bool combine(reduction r, int dtype, void *to, const void *from) {
  switch (dtype) {
    case SURG_INT8:
      COMBINE_INT(int8_t, true);
    case SURG_INT16:
      COMBINE_INT(int16_t, true);
    case SURG_INT32:
      COMBINE_INT(int32_t, true);
    case SURG_INT64:
      COMBINE_INT(int64_t, true);
    case SURG_UINT8:
      COMBINE_INT(uint8_t, false);
    case SURG_UINT16:
      COMBINE_INT(uint16_t, false);
    case SURG_UINT32:
      COMBINE_INT(uint32_t, false);
    case SURG_UINT64:
      COMBINE_INT(uint64_t, false);
    case SURG_FLOAT:
      COMBINE_FLOAT(float, , TO_FLOAT, false);
    case SURG_DOUBLE:
      COMBINE_FLOAT(double, , , true);
    case SURG_FLOAT16:
      COMBINE_FLOAT(uint16_t, surg__half_to_float, surg__double_to_half, false);
    case SURG_BFLOAT16:
      COMBINE_FLOAT(uint16_t, surg__bf16_to_float, surg__double_to_bf16, false);
    default:
      return false;
  }
}

/* A bit set: the output positions that were already updated. */
typedef struct written {
  uint8_t *bits;
} written;

static bool written_before(written *w, uint64_t at) {
  uint8_t bit = (uint8_t)(1u << (at & 7));
  bool old = (w->bits[at >> 3] & bit) != 0;
  w->bits[at >> 3] |= bit;
  return old;
}

/* Copies the data to the output and initializes the state of both kernels. The shapes must be
 * checked. */
static surg__kstatus scatter_begin(surg_kctx *k, uint64_t places, written *w, reduction *r) {
  const surg__array *a = &k->in[0];
  SURG__K_TRY(read_reduction(k, r));
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, a->dims, a->rank));
  SURG__K_TRY(surg__k_work(k, a->count));
  w->bits = surg__k_scratch(k, places / 8 + 1, 1);
  if (!w->bits) return SURG__K_NOMEM;
  memset(w->bits, 0, places / 8 + 1);
  if (k->out[0].data && a->count > 0)
    memcpy(k->out[0].data, a->data, a->count * surg__element_size(a));
  return SURG__K_OK;
}

/* Applies n consecutive update elements at output element `at`. `again`: the position was
 * updated before. Engines differ in rounding repeated sums of 16-bit floats (once, or at each
 * step), so these fail. */
static surg__kstatus scatter_apply(surg_kctx *k, reduction r, bool again, uint64_t at,
                                   const uint8_t *from, uint64_t n) {
  int dtype = k->in[0].dtype;
  size_t size = surg__element_size(&k->in[0]);
  uint8_t *to = (uint8_t *)k->out[0].data + at * size;
  bool rounds = dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
  if (again && r == SCATTER_NONE) return surg__k_cannot(k, "a place is written twice");
  if (again && rounds && (r == SCATTER_ADD || r == SCATTER_MUL))
    return surg__k_cannot(k, "the rounding of a repeated update is not defined");
  if (n == 0) return SURG__K_OK;
  if (r == SCATTER_NONE) {
    memcpy(to, from, n * size);
    return SURG__K_OK;
  }
  for (uint64_t i = 0; i < n; i++) {
    if (!combine(r, dtype, to + i * size, from + i * size))
      return surg__k_cannot(k, "the reduction is not defined for these elements");
  }
  return SURG__K_OK;
}

static surg__kstatus scatter_need(surg_kctx *k) {
  for (uint32_t i = 0; i < 3; i++) SURG__K_TRY(surg__need(k, i));
  if (k->in[2].dtype != k->in[0].dtype)
    return surg__k_invalid(k, "data and updates differ in type");
  return SURG__K_OK;
}

static surg__kstatus scatter_elements_check(surg_kctx *k, uint32_t *axis) {
  SURG__K_TRY(scatter_need(k));
  const surg__array *a = &k->in[0], *ix = &k->in[1], *u = &k->in[2];
  if (ix->dtype != SURG_INT32 && ix->dtype != SURG_INT64)
    return surg__k_invalid(k, "the indices are not int32 or int64");
  if (a->rank != ix->rank || u->rank != ix->rank)
    return surg__k_invalid(k, "data, indices and updates differ in rank");
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 9, axis));
  for (uint32_t i = 0; i < a->rank; i++) {
    if (ix->dims[i] != u->dims[i]) return surg__k_invalid(k, "indices and updates differ in shape");
    if (i != *axis && ix->dims[i] > a->dims[i])
      return surg__k_invalid(k, "the indices are larger than the data");
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_scatter_elements(surg_kctx *k) {
  uint32_t axis;
  reduction r;
  written w;
  SURG__K_TRY(scatter_elements_check(k, &axis));
  const surg__array *a = &k->in[0], *ix = &k->in[1], *u = &k->in[2];
  SURG__K_TRY(scatter_begin(k, a->count, &w, &r));
  SURG__K_TRY(surg__k_work(k, ix->count));
  if (!k->out[0].data || ix->count == 0) return SURG__K_OK;
  int64_t strides[SURG_LIMIT_RANK], dim = a->dims[axis];
  surg__row_strides(a->dims, a->rank, strides);
  int64_t along = strides[axis];
  strides[axis] = 0;
  size_t size = surg__element_size(a);
  surg__odometer o = {.rank = ix->rank, .dims = ix->dims, .steps = strides};
  for (uint64_t i = 0; i < ix->count; i++) {
    int64_t v;
    SURG__K_TRY(surg__index_at(k, ix, i, dim, &v));
    const uint64_t at = (uint64_t)(o.offset + v * along);
    SURG__K_TRY(
        scatter_apply(k, r, written_before(&w, at), at, (const uint8_t *)u->data + i * size, 1));
    surg__odometer_next(&o);
  }
  return SURG__K_OK;
}

/* Checks ScatterND: the shape of the updates is that of the index tuples, followed by that of
 * the data one tuple selects. */
static surg__kstatus scatter_nd_check(surg_kctx *k, uint32_t *depth) {
  SURG__K_TRY(scatter_need(k));
  const surg__array *a = &k->in[0], *ix = &k->in[1], *u = &k->in[2];
  if (ix->dtype != SURG_INT64) return surg__k_invalid(k, "the indices are not int64");
  if (a->rank < 1 || ix->rank < 1) return surg__k_invalid(k, "data or indices are scalars");
  int64_t last = ix->dims[ix->rank - 1];
  if (last < 1 || last > (int64_t)a->rank)
    return surg__k_invalid(k, "the last dimension of the indices is out of range");
  *depth = (uint32_t)last;
  uint32_t head = ix->rank - 1;
  if (u->rank != head + a->rank - *depth)
    return surg__k_invalid(k, "the updates have another rank");
  for (uint32_t i = 0; i < u->rank; i++) {
    if (u->dims[i] != (i < head ? ix->dims[i] : a->dims[i - head + *depth]))
      return surg__k_invalid(k, "the updates have another shape");
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_scatter_nd(surg_kctx *k) {
  uint32_t depth = 0;
  reduction r;
  written w;
  SURG__K_TRY(scatter_nd_check(k, &depth));
  const surg__array *a = &k->in[0], *ix = &k->in[1], *u = &k->in[2];
  uint64_t tuples = surg__span_product(ix->dims, 0, ix->rank - 1);
  uint64_t block = surg__span_product(a->dims, depth, a->rank);
  /* Updates of empty blocks write nothing. */
  uint64_t places = block ? surg__span_product(a->dims, 0, depth) : 0;
  SURG__K_TRY(scatter_begin(k, places, &w, &r));
  SURG__K_TRY(surg__k_work(k, ix->count));
  SURG__K_TRY(surg__k_work(k, u->count));
  if (!k->out[0].data || block == 0) return SURG__K_OK;
  const int64_t *p = ix->data;
  size_t size = surg__element_size(a);
  for (uint64_t t = 0; t < tuples; t++) {
    uint64_t place = 0;
    for (uint32_t j = 0; j < depth; j++) {
      int64_t v = *p++, dim = a->dims[j];
      if (v < -dim || v >= dim) return surg__k_invalid(k, "an index is out of range");
      place = place * (uint64_t)dim + (uint64_t)(v < 0 ? v + dim : v);
    }
    SURG__K_TRY(scatter_apply(k, r, written_before(&w, place), place * block,
                              (const uint8_t *)u->data + t * block * size, block));
  }
  return SURG__K_OK;
}
