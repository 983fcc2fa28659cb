/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels that move elements: parameters, strided copies, sorting. */
#include "eval/move/move.h"

#include <math.h>

#include "base/dtype.h"
#include "eval/core/number.h"

size_t surg__element_size(const surg__array *a) {
  return surg__dtype_unpacked(a->dtype);
}

surg__kstatus surg__need(surg_kctx *k, uint32_t in) {
  if (!surg__k_has(k, in)) return surg__k_invalid(k, "a required input is absent");
  if (k->in[in].rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the rank is too high");
  return SURG__K_OK;
}

surg__kstatus surg__need_axis(surg_kctx *k, int64_t axis, uint32_t rank, int negative_since,
                              uint32_t *out) {
  if (axis < 0 && k->since < negative_since)
    SURG__K_TRY(surg__k_disputed(k, "a negative axis has no meaning in this opset"));
  if (!surg__k_axis(axis, rank, out)) return surg__k_invalid(k, "an axis is out of range");
  return SURG__K_OK;
}

surg__kstatus surg__ints_input(surg_kctx *k, uint32_t in, const int64_t **out, uint64_t *count,
                               bool *given) {
  static const int64_t none[1] = {0};
  *out = none;
  *count = 0;
  *given = surg__k_has(k, in);
  if (!*given) return SURG__K_OK;
  const surg__array *a = &k->in[in];
  if (a->dtype != SURG_INT32 && a->dtype != SURG_INT64)
    return surg__k_invalid(k, "a parameter is not int32 or int64");
  if (a->rank > 1) return surg__k_invalid(k, "a parameter has more than one dimension");
  if (a->count == 0) return SURG__K_OK;
  const int64_t *p = surg__k_ints(k, in, count);
  if (!p) return SURG__K_NOMEM;
  *out = p;
  return SURG__K_OK;
}

surg__kstatus surg__shape_input(surg_kctx *k, const int64_t **shape, uint64_t *count) {
  bool given;
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__ints_input(k, 1, shape, count, &given));
  return given ? SURG__K_OK : surg__k_invalid(k, "a required input is absent");
}

surg__kstatus surg__ints_attr(surg_kctx *k, const char *name, const int64_t **out, uint64_t *count,
                              bool *given) {
  static const int64_t none[1] = {0};
  size_t n = 0;
  const int64_t *p = surg_node_ints(k->node, name, &n);
  *given = surg_node_attr(k->node, name) != NULL;
  *out = p ? p : none;
  *count = p ? n : 0;
  return SURG__K_OK;
}

/* Whether elements are floats with arithmetic, or integers of at least 8 bits. */
static bool has_numbers(int dtype) {
  return surg__is_real(dtype) || (surg__is_int(dtype) && surg__dtype_bits(dtype) >= 8);
}

bool surg__as_int(const surg__array *a, uint64_t i, int64_t *out) {
  if (!has_numbers(a->dtype)) return false;
  if (surg__is_real(a->dtype)) {
    const double d = surg__load_f64(a->dtype, a->data, i);
    if (!(d > -9e18 && d < 9e18) || d != trunc(d)) return false;
    *out = (int64_t)d;
    return true;
  }
  *out = (int64_t)surg__load_int(a->dtype, a->data, i);
  return a->dtype != SURG_UINT64 || *out >= 0;
}

surg__kstatus surg__index_at(surg_kctx *k, const surg__array *indices, uint64_t i, int64_t dim,
                             int64_t *out) {
  const int64_t v = (int64_t)surg__load_int(indices->dtype, indices->data, i);
  if (v < 0 && k->since < 11)
    return surg__k_cannot(k, "a negative index has no meaning in this opset");
  if (v < -dim || v >= dim) return surg__k_invalid(k, "an index is out of range");
  *out = v < 0 ? v + dim : v;
  return SURG__K_OK;
}

surg__kstatus surg__int_input(surg_kctx *k, uint32_t in, int64_t *out) {
  const int64_t *p;
  uint64_t n;
  bool given;
  SURG__K_TRY(surg__ints_input(k, in, &p, &n, &given));
  if (!given || n != 1) return surg__k_invalid(k, "a parameter is not a single number");
  *out = p[0];
  return SURG__K_OK;
}

void surg__row_strides(const int64_t *dims, uint32_t rank, int64_t *strides) {
  uint64_t step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = (int64_t)step;
    step *= (uint64_t)dims[i];
  }
}

uint64_t surg__span_product(const int64_t *dims, uint32_t from, uint32_t to) {
  uint64_t n;
  return surg__dims_product(dims + from, to - from, &n) ? n : 0;
}

/* Most bytes per copy; more than any element has. */
#define FILL_PIECE 16384

void surg__fill(void *dst, uint64_t count, const void *element, size_t size) {
  if (count == 0) return;
  uint8_t *p = dst;
  uint64_t total = count * size, done = size;
  memcpy(p, element, size);
  /* Copies the filled part, which doubles it, in pieces that fit the cache. */
  while (done < total) {
    uint64_t n = done < FILL_PIECE ? done : FILL_PIECE / size * size;
    if (n > total - done) n = total - done;
    memcpy(p + done, p, n);
    done += n;
  }
}

void surg__walk_axis(surg__walk *w, int64_t dim, int64_t stride) {
  if (dim == 1) return;
  if (w->rank > 0) {
    int64_t *d = &w->dims[w->rank - 1], *s = &w->strides[w->rank - 1];
    int64_t run;
    if (surg__mul_i64(stride, dim, &run) && run == *s) {
      *d *= dim;
      *s = stride;
      return;
    }
  }
  assert(w->rank < SURG__WALK_RANK);
  w->dims[w->rank] = dim;
  w->strides[w->rank++] = stride;
}

bool surg__walk_plain(const surg__walk *w) {
  return w->rank == 0 || (w->rank == 1 && w->strides[0] == 1);
}

/* Copies n elements that are `stride` elements apart to contiguous memory. */
static void copy_run(uint8_t *dst, const uint8_t *src, uint64_t n, int64_t stride, size_t size) {
  if (stride == 1) {
    memcpy(dst, src, n * size);
    return;
  }
  if (stride == 0) {
    surg__fill(dst, n, src, size);
    return;
  }
  int64_t step = stride * (int64_t)size, at = 0;
#define RUN(bytes) \
  for (uint64_t i = 0; i < n; i++, at += step, dst += (bytes)) memcpy(dst, src + at, (bytes))
  switch (size) {
    case 1:
      RUN(1);
      break;
    case 2:
      RUN(2);
      break;
    case 4:
      RUN(4);
      break;
    case 8:
      RUN(8);
      break;
    default:
      RUN(size);
      break;
  }
#undef RUN
}

#define TILE 32 /* rows and columns of a transposed tile; fits the cache */

/* Transposes a tile: writes each of the `columns` source columns as a row of dst. Strides in
 * bytes. */
static void turn_tile(uint8_t *dst, int64_t to_step, const uint8_t *src, int64_t step, int64_t rows,
                      int64_t columns, size_t size) {
#define TURN(bytes)                     \
  for (int64_t c = 0; c < columns; ++c) \
    for (int64_t r = 0; r < rows; ++r)  \
  memcpy(dst + c * to_step + r * (int64_t)(bytes), src + r * step + c * (int64_t)(bytes), (bytes))
  switch (size) {
    case 1:
      TURN(1);
      break;
    case 2:
      TURN(2);
      break;
    case 4:
      TURN(4);
      break;
    case 8:
      TURN(8);
      break;
    default:
      TURN(size);
      break;
  }
#undef TURN
}

/* Copies a view whose last axis is strided in the source and another axis of which is contiguous
 * there. Both axes are processed in tiles, so that every cache line is used completely. False:
 * the view has another form, and nothing is copied. */
static bool copy_turned(const surg__walk *w, const uint8_t *src, int64_t size, uint8_t *dst) {
  const uint32_t last = w->rank - 1;
  int64_t steps[SURG__WALK_RANK], at[SURG__WALK_RANK] = {0}, from = 0, to = 0;
  uint32_t dense = 0, i;
  while (dense < last && w->strides[dense] != 1) ++dense;
  if (dense == last || w->strides[last] <= 1) return false;
  const int64_t rows = w->dims[last], columns = w->dims[dense], step = w->strides[last] * size;
  surg__row_strides(w->dims, w->rank, steps);
  const int64_t to_step = steps[dense] * size;
  do {
    for (int64_t c = 0; c < columns; c += TILE)
      for (int64_t r = 0; r < rows; r += TILE)
        turn_tile(dst + to * size + c * to_step + r * size, to_step,
                  src + from * size + r * step + c * size, step, rows - r < TILE ? rows - r : TILE,
                  columns - c < TILE ? columns - c : TILE, (size_t)size);
    for (i = last; i > 0; --i) {
      const uint32_t a = i - 1;
      if (a == dense) continue;
      from += w->strides[a];
      to += steps[a];
      if (++at[a] < w->dims[a]) break;
      from -= w->strides[a] * w->dims[a];
      to -= steps[a] * w->dims[a];
      at[a] = 0;
    }
  } while (i > 0);
  return true;
}

/* Copies any view; the inner loop covers the last two axes. */
static void copy_runs(const surg__walk *w, const void *src, size_t size, void *dst) {
  const uint32_t last = w->rank - 1, above = last - 1;
  const int64_t n = w->dims[last], rows = w->dims[above], unit = (int64_t)size;
  int64_t at[SURG__WALK_RANK] = {0}, offset = 0;
  uint8_t *to = dst;
  for (;;) {
    const uint8_t *from = (const uint8_t *)src + offset * unit;
    if (w->strides[last] == 1) {
      const size_t bytes = (size_t)n * size;
      for (int64_t i = 0; i < rows; ++i)
        memcpy(to + (size_t)i * bytes, from + i * w->strides[above] * unit, bytes);
    } else {
      for (int64_t i = 0; i < rows; ++i)
        copy_run(to + (uint64_t)(i * n) * size, from + i * w->strides[above] * unit, (uint64_t)n,
                 w->strides[last], size);
    }
    to += (uint64_t)(rows * n) * size;
    uint32_t i = above;
    for (;;) {
      if (i == 0) return;
      i--;
      offset += w->strides[i];
      if (++at[i] < w->dims[i]) break;
      offset -= w->strides[i] * w->dims[i];
      at[i] = 0;
    }
  }
}

void surg__walk_copy(const surg__walk *w, const void *src, size_t size, void *dst) {
  if (w->rank < 2)
    copy_run(dst, src, w->rank ? (uint64_t)w->dims[0] : 1, w->rank ? w->strides[0] : 1, size);
  else if (!copy_turned(w, src, (int64_t)size, dst))
    copy_runs(w, src, size, dst);
}

bool surg__odometer_next(surg__odometer *o) {
  for (uint32_t i = o->rank; i-- > 0;) {
    o->offset += o->steps[i];
    if (++o->at[i] < o->dims[i]) return true;
    o->offset -= o->steps[i] * o->dims[i];
    o->at[i] = 0;
  }
  return false;
}

/* Converts a float to a sort key; false for NaN. All float types convert to double exactly and
 * in order. */
static bool float_key(double d, uint64_t *out) {
  if (d != d) return false;
  if (d == 0) d = 0;
  uint64_t b;
  memcpy(&b, &d, sizeof b);
  *out = b >> 63 ? ~b : b | UINT64_C(1) << 63;
  return true;
}

#define SIGN_BIT (UINT64_C(1) << 63)
static bool sort_key(int dtype, const void *data, uint64_t i, uint64_t *out) {
  if (surg__is_real(dtype)) return float_key(surg__load_f64(dtype, data, i), out);
  if (dtype != SURG_BOOL && !has_numbers(dtype)) return false;
  *out = surg__load_int(dtype, data, i) ^ (surg__dtype_is_signed_int(dtype) ? SIGN_BIT : 0);
  return true;
}

surg__kstatus surg__sort_keys(surg_kctx *k, const surg__array *a, uint64_t **out) {
  uint64_t *keys = surg__k_scratch(k, a->count ? a->count : 1, sizeof *keys);
  if (!keys) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < a->count; i++) {
    if (sort_key(a->dtype, a->data, i, &keys[i])) continue;
    if (!surg__dtype_is_float(a->dtype)) return surg__k_cannot(k, "the elements have no order");
    SURG__K_TRY(surg__k_disputed(k, "the order of NaN is not defined"));
    keys[i] = UINT64_MAX; /* above all numbers, as in the ONNX reference */
  }
  *out = keys;
  return SURG__K_OK;
}

void surg__sort_positions(uint64_t *items, uint64_t *spare, uint64_t n, surg__order cmp,
                          const void *user) {
  uint64_t *from = items, *to = spare;
  for (uint64_t width = 1; width < n; width *= 2) {
    for (uint64_t low = 0; low < n; low += 2 * width) {
      uint64_t mid = low + width < n ? low + width : n;
      uint64_t high = low + 2 * width < n ? low + 2 * width : n;
      uint64_t i = low, j = mid;
      for (uint64_t o = low; o < high; o++) {
        bool left = i < mid && (j >= high || cmp(user, from[i], from[j]) <= 0);
        to[o] = left ? from[i++] : from[j++];
      }
    }
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != items) memcpy(items, from, n * sizeof *items);
}
