/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, in every version. */
#include "eval/move/move.h"

#include "base/dtype.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

typedef struct pad_params {
  pad_mode mode;
  int64_t before[SURG_LIMIT_RANK], after[SURG_LIMIT_RANK];
  uint8_t value[16]; /* the fill element; as large as the largest type */
} pad_params;

static bool is(surg_str s, const char *word) {
  return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static surg__kstatus pad_read_mode(surg_kctx *k, pad_params *p) {
  surg_str mode = surg_node_string(k->node, "mode", "constant");
  if (is(mode, "constant"))
    p->mode = PAD_CONSTANT;
  else if (is(mode, "reflect"))
    p->mode = PAD_REFLECT;
  else if (is(mode, "edge"))
    p->mode = PAD_EDGE;
  else if (is(mode, "wrap") && k->since >= 19)
    p->mode = PAD_WRAP;
  else
    return surg__k_invalid(k, "the mode is unknown");
  return SURG__K_OK;
}

/* Reads the fill value of Pad-1 and Pad-2: a float attribute, converted to the type of the data. */
static surg__kstatus pad_value_attr(surg_kctx *k, pad_params *p) {
  float f = surg_node_float(k->node, "value", 0);
  double d = (double)f;
  uint16_t h = surg__float_to_half(f);
  switch (k->in[0].dtype) {
    case SURG_FLOAT:
      memcpy(p->value, &f, sizeof f);
      return SURG__K_OK;
    case SURG_DOUBLE:
      memcpy(p->value, &d, sizeof d);
      return SURG__K_OK;
    case SURG_FLOAT16:
      memcpy(p->value, &h, sizeof h);
      return SURG__K_OK;
    default:
      return surg__k_cannot(k, "the type has no fill value");
  }
}

static surg__kstatus pad_value(surg_kctx *k, pad_params *p) {
  _Static_assert(sizeof(surg_str) <= sizeof p->value, "a fill value contains any element");
  memset(p->value, 0, sizeof p->value);
  if (k->since < 11) return pad_value_attr(k, p);
  if (!surg__k_has(k, 2)) {
    surg_str none = {"", 0};
    if (k->in[0].dtype == SURG_STRING) memcpy(p->value, &none, sizeof none);
    return SURG__K_OK;
  }
  const surg__array *v = &k->in[2];
  if (v->count != 1 || v->dtype != k->in[0].dtype)
    return surg__k_invalid(k, "the fill value is not one element of the type of the data");
  memcpy(p->value, v->data, surg__element_size(v));
  return SURG__K_OK;
}

/* Distributes the pads to all axes. `pads` contains the begin of each axis of `axes`, then the
 * end of each. */
static surg__kstatus pad_spread(surg_kctx *k, pad_params *p, const int64_t *pads, uint64_t n,
                                const int64_t *axes, uint64_t n_axes, bool has_axes) {
  uint32_t rank = k->in[0].rank;
  bool seen[SURG_LIMIT_RANK] = {false};
  uint64_t half = has_axes ? n_axes : rank;
  if (half > rank || n != 2 * half)
    return surg__k_invalid(k, "there are not two pads for each axis");
  memset(p->before, 0, sizeof p->before);
  memset(p->after, 0, sizeof p->after);
  for (uint32_t i = 0; i < half; i++) {
    uint32_t axis;
    SURG__K_TRY(surg__need_axis(k, has_axes ? axes[i] : (int64_t)i, rank, 0, &axis));
    if (seen[axis]) return surg__k_invalid(k, "an axis is given twice");
    seen[axis] = true;
    p->before[axis] = pads[i];
    p->after[axis] = pads[half + i];
  }
  return SURG__K_OK;
}

static surg__kstatus pad_read(surg_kctx *k, pad_params *p) {
  const int64_t *pads, *axes = NULL;
  uint64_t n, n_axes = 0;
  bool given, has_axes = false;
  SURG__K_TRY(pad_read_mode(k, p));
  SURG__K_TRY(pad_value(k, p));
  if (k->since < 11) {
    SURG__K_TRY(surg__ints_attr(k, k->since < 2 ? "paddings" : "pads", &pads, &n, &given));
  } else {
    SURG__K_TRY(surg__ints_input(k, 1, &pads, &n, &given));
  }
  if (!given) return surg__k_invalid(k, "the pads are not given");
  if (k->since >= 18) SURG__K_TRY(surg__ints_input(k, 3, &axes, &n_axes, &has_axes));
  return pad_spread(k, p, pads, n, axes, n_axes, has_axes);
}

/* The size of an axis after padding. Fails for pads on which engines disagree. */
static surg__kstatus pad_axis(surg_kctx *k, const pad_params *p, uint32_t i, int64_t *out) {
  int64_t d = k->in[0].dims[i], before = p->before[i], after = p->after[i];
  if (!surg__add_i64(d, before, out) || !surg__add_i64(*out, after, out)) return SURG__K_BUDGET;
  if (*out < 0) return surg__k_invalid(k, "the pads remove more than there is");
  if (p->mode == PAD_CONSTANT) {
    if (before < -d || after < -d) return surg__k_cannot(k, "a negative pad exceeds its axis");
    return SURG__K_OK;
  }
  if (before < 0 || after < 0) return surg__k_cannot(k, "a negative pad in this mode");
  if (before == 0 && after == 0) return SURG__K_OK;
  int64_t most = p->mode == PAD_REFLECT ? d - 1 : p->mode == PAD_WRAP ? d : INT64_MAX;
  if (d == 0 || before > most || after > most)
    return surg__k_invalid(k, "the pads exceed the axis they are copied from");
  return SURG__K_OK;
}

/* The input index for output index o along an axis, or -1 for the fill value. */
static int64_t pad_source(pad_mode mode, int64_t dim, int64_t before, int64_t o) {
  int64_t i = o - before;
  if (i >= 0 && i < dim) return i;
  switch (mode) {
    case PAD_EDGE:
      return i < 0 ? 0 : dim - 1;
    case PAD_REFLECT:
      return i < 0 ? -i : 2 * (dim - 1) - i;
    case PAD_WRAP:
      return i < 0 ? i + dim : i - dim;
    default:
      return -1;
  }
}

/* Writes the output row by row. `rank` is the number of axes up to the last padded one; the axes
 * after it form blocks of `block` bytes. */
static void pad_copy(const surg__array *a, const pad_params *p, const int64_t *dims, uint32_t rank,
                     size_t block, uint8_t *to) {
  int64_t at[SURG_LIMIT_RANK] = {0}, strides[SURG_LIMIT_RANK];
  surg__row_strides(a->dims, rank, strides);
  size_t size = surg__element_size(a);
  int64_t n = dims[rank - 1], dim = a->dims[rank - 1];
  for (;;) {
    int64_t row = 0;
    for (uint32_t i = 0; i + 1 < rank && row >= 0; i++) {
      int64_t s = pad_source(p->mode, a->dims[i], p->before[i], at[i]);
      row = s < 0 ? -1 : row + s * strides[i];
    }
    if (row < 0) {
      surg__fill(to, (uint64_t)n * (block / size), p->value, size);
      to += (size_t)n * block;
    }
    for (int64_t o = 0; row >= 0 && o < n;) {
      int64_t s = pad_source(p->mode, dim, p->before[rank - 1], o), run = 1;
      /* Copy a contiguous part of the input row at once. */
      if (o >= p->before[rank - 1] && s >= 0) run = dim - s < n - o ? dim - s : n - o;
      if (o >= p->before[rank - 1] + dim) run = 1;
      if (s < 0)
        surg__fill(to, block / size, p->value, size);
      else
        memcpy(to, (const uint8_t *)a->data + (size_t)(row + s) * block, (size_t)run * block);
      o += run;
      to += (size_t)run * block;
    }
    uint32_t i = rank - 1;
    for (;;) {
      if (i == 0) return;
      i--;
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
}

surg__kstatus surg__k_pad(surg_kctx *k) {
  pad_params p;
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(pad_read(k, &p));
  const surg__array *a = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  uint32_t padded = 0; /* number of axes up to the last padded one */
  for (uint32_t i = 0; i < a->rank; i++) {
    SURG__K_TRY(pad_axis(k, &p, i, &dims[i]));
    if (p.before[i] != 0 || p.after[i] != 0) padded = i + 1;
  }
  if (padded == 0) return surg__k_alias(k, 0, 0, dims, a->rank);
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, a->rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  size_t block = surg__span_product(a->dims, padded, a->rank) * surg__element_size(a);
  pad_copy(a, &p, dims, padded, block, k->out[0].data);
  return SURG__K_OK;
}
