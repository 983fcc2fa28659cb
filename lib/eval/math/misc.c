/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout, BitCast, DynamicQuantizeLinear, window functions. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/random/random.h"

/* Dropout in training mode, since version 12; `mask` may be NULL. */
static surg__kstatus drop(surg_kctx *k, double ratio, uint8_t *mask) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  surg__random r;
  SURG__K_TRY(surg__random_init(k, &r));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  double scale = 1 / (1 - ratio);
  for (uint64_t i = 0; i < x->count; ++i) {
    bool keep = surg__random_next(&r) >= ratio;
    if (mask) mask[i] = keep;
    if (!k->wanted[0]) continue;
    double v = surg__load_f64(x->dtype, x->data, i);
    surg__store_f64(o->dtype, o->data, i, keep ? v * scale : 0);
  }
  return SURG__K_OK;
}

/* Reads whether elements are dropped, and the ratio. */
static surg__kstatus drop_ratio(surg_kctx *k, double *ratio) {
  *ratio = 0;
  if (k->since < 7 && surg_node_int(k->node, "is_test", 0) == 0) {
    return surg__k_cannot(k, "a training form without a seed");
  }
  if (!surg__k_has(k, 2)) return SURG__K_OK;
  if (k->in[2].count != 1) return surg__k_invalid(k, "training_mode is not a single boolean");
  if (!*(const uint8_t *)k->in[2].data) return SURG__K_OK;
  *ratio = 0.5;
  if (!surg__k_has(k, 1)) return SURG__K_OK;
  if (k->in[1].count != 1) return surg__k_invalid(k, "ratio is not a single number");
  *ratio = surg__load_f64(k->in[1].dtype, k->in[1].data, 0);
  return *ratio >= 0 && *ratio < 1 ? SURG__K_OK : surg__k_invalid(k, "ratio is not in 0..1");
}

/* Outside of training mode the output is the input. */
surg__kstatus surg__k_dropout(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  double ratio;
  SURG__K_TRY(drop_ratio(k, &ratio));
  bool mask = k->n_out > 1 && k->wanted[1];
  if (mask && k->since < 12) {
    if (!k->running) return surg__k_cannot(k, "the mask outside training");
    /* Before version 12 the mask is undefined; runtimes set it to zeros. */
    SURG__K_TRY(surg__k_out(k, 1, k->since < 10 ? x->dtype : SURG_BOOL, x->dims, x->rank));
    memset(k->out[1].data, 0, (size_t)x->count * surg__dtype_unpacked(k->out[1].dtype));
    return k->wanted[0] ? surg__k_alias(k, 0, 0, x->dims, x->rank) : SURG__K_OK;
  }
  if (mask) SURG__K_TRY(surg__k_out(k, 1, SURG_BOOL, x->dims, x->rank));
  if (ratio > 0 && !surg__is_real(x->dtype)) return surg__k_cannot(k, "dropping in this type");
  if (ratio > 0) return drop(k, ratio, mask ? k->out[1].data : NULL);
  if (k->wanted[0]) SURG__K_TRY(surg__k_alias(k, 0, 0, x->dims, x->rank));
  if (mask) memset(k->out[1].data, 1, (size_t)x->count);
  return SURG__K_OK;
}

/* BitCast: the same bits as another type of the same width. Sub-byte types are converted to their
 * stored form first, since arrays store them sign-extended. */
surg__kstatus surg__k_bit_cast(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  int64_t to = surg_node_int(k->node, "to", 0);
  uint64_t bytes;
  if (!k->wanted[0]) return SURG__K_OK;
  if (to <= 0 || to >= SURG_DTYPE_COUNT || surg__dtype_bits((int)to) == 0 ||
      surg__dtype_bits((int)to) != surg__dtype_bits(x->dtype)) {
    return surg__k_invalid(k, "the types have different widths");
  }
  SURG__K_TRY(surg__k_out(k, 0, (int)to, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (!surg__dtype_bytes(x->dtype, x->count, &bytes)) return SURG__K_BUDGET;
  void *packed = surg__k_scratch(k, (size_t)bytes, 1);
  if (!packed) return SURG__K_NOMEM;
  surg__pack(x->dtype, x->count, x->data, packed);
  surg__unpack((int)to, x->count, packed, o->data);
  for (uint64_t i = 0; to == SURG_BOOL && i < x->count; ++i) {
    if (((const uint8_t *)o->data)[i] > 1) return surg__k_cannot(k, "bits that are not a boolean");
  }
  return SURG__K_OK;
}

/* The scale: the range of x, extended to contain zero, divided by 255; all in float, as
 * specified. */
surg__kstatus surg__k_dynamic_quantize(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  const float *in = x->data;
  float low = 0, high = 0;
  for (uint32_t i = 0; i < k->n_out; ++i) {
    SURG__K_TRY(surg__k_out(k, i, i == 1 ? SURG_FLOAT : SURG_UINT8, i == 0 ? x->dims : NULL,
                            i == 0 ? x->rank : 0));
  }
  SURG__K_TRY(surg__k_work(k, x->count));
  for (uint64_t i = 0; i < x->count; ++i) {
    if (!isfinite(in[i])) return surg__k_cannot(k, "a range without end");
    if (in[i] < low) low = in[i];
    if (in[i] > high) high = in[i];
  }
  float scale = (high - low) / 255.0f;
  if (!isfinite(scale)) return surg__k_cannot(k, "a range without end");
  if (scale == 0) {
    SURG__K_TRY(surg__k_disputed(k, "a scale of zero"));
    if (high == low) scale = 1; /* all elements are zero, not only too small for a scale */
  }
  float zero = nearbyintf(fminf(fmaxf(-low / scale, 0), 255));
  for (uint64_t i = 0; k->wanted[0] && i < x->count; ++i) {
    float v = nearbyintf(in[i] / scale) + zero;
    ((uint8_t *)k->out[0].data)[i] = (uint8_t)fminf(fmaxf(v, 0), 255);
  }
  if (k->n_out > 1 && k->wanted[1]) *(float *)k->out[1].data = scale;
  if (k->n_out > 2 && k->wanted[2]) *(uint8_t *)k->out[2].data = (uint8_t)zero;
  return SURG__K_OK;
}

/* HannWindow, HammingWindow, BlackmanWindow: a0 - a1 cos(x) + a2 cos(2x). */
surg__kstatus surg__k_window_function(surg_kctx *k) {
  uint64_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  const int64_t *size = surg__k_ints(k, 0, &n);
  if (!size) return SURG__K_NOMEM;
  if (n != 1 || size[0] < 0) return surg__k_invalid(k, "size is not a single number of at least 0");
  int64_t type = surg_node_int(k->node, "output_datatype", SURG_FLOAT);
  if (!surg__is_real((int)type)) return surg__k_cannot(k, "a window of this type");
  bool periodic = surg_node_int(k->node, "periodic", 1) != 0;
  if (!periodic && size[0] == 1) return surg__k_cannot(k, "a symmetric window of one element");
  SURG__K_TRY(surg__k_out(k, 0, (int)type, size, 1));
  SURG__K_TRY(surg__k_work(k, (uint64_t)size[0]));
  double a0 = 0.5, a1 = 0.5, a2 = 0;
  if (k->op == SURG_OP_HammingWindow) {
    a0 = 25.0 / 46.0;
    a1 = 1 - a0;
  } else if (k->op == SURG_OP_BlackmanWindow) {
    a0 = 0.42;
    a2 = 0.08;
  }
  const surg__array *o = &k->out[0];
  double turn = 6.28318530717958647692 / (double)(periodic ? size[0] : size[0] - 1);
  for (int64_t i = 0; i < size[0]; ++i) {
    double x = turn * (double)i;
    surg__store_f64(o->dtype, o->data, (uint64_t)i, a0 - a1 * cos(x) + a2 * cos(2 * x));
  }
  return SURG__K_OK;
}
