/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of the elements of a tensor (onnxsurg/info.h). */
#include <math.h>
#include <onnxsurg/info.h>

#include "base/dtype.h"
#include "measure/measure.h"

#define PIECE 4096u /* elements that are read at once; whole bytes of every type */

double surg__number_at(int dtype, const void *p, size_t i) {
  switch (dtype) {
    case SURG_FLOAT:
      return (double)((const float *)p)[i];
    case SURG_DOUBLE:
      return ((const double *)p)[i];
    case SURG_FLOAT16:
      return (double)surg__half_to_float(((const uint16_t *)p)[i]);
    case SURG_BFLOAT16:
      return (double)surg__bf16_to_float(((const uint16_t *)p)[i]);
    case SURG_INT64:
      return (double)((const int64_t *)p)[i];
    case SURG_UINT64:
      return (double)((const uint64_t *)p)[i];
    case SURG_INT32:
      return (double)((const int32_t *)p)[i];
    case SURG_UINT32:
      return (double)((const uint32_t *)p)[i];
    case SURG_INT16:
      return (double)((const int16_t *)p)[i];
    case SURG_UINT16:
      return (double)((const uint16_t *)p)[i];
    case SURG_INT8:
    case SURG_INT4:
    case SURG_INT2:
      return (double)((const int8_t *)p)[i];
    case SURG_FLOAT4E2M1:
      return (double)surg__fp4_to_float(((const uint8_t *)p)[i]);
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ:
    case SURG_FLOAT8E8M0:
      return (double)surg__fp8_to_float(dtype, ((const uint8_t *)p)[i]);
    default:
      return (double)((const uint8_t *)p)[i];
  }
}

bool surg__is_measured(int dtype) {
  return dtype == SURG_BOOL || surg__dtype_is_float(dtype) || surg__dtype_is_int(dtype) ||
         dtype == SURG_FLOAT8E8M0;
}

typedef struct walk {
  const surg_tensor *t;
  uint64_t step; /* pieces from one that is read to the next */
  surg_tensor_statistics *out;
  double sum, squares;
} walk;

static void first_look(walk *w, double x) {
  surg_tensor_statistics *s = w->out;
  s->read++;
  if (isnan(x)) {
    s->nans++;
  } else if (isinf(x)) {
    s->infinities++;
  } else {
    s->zeros += x == 0;
    if (!s->finite || x < s->low) s->low = x;
    if (!s->finite || x > s->high) s->high = x;
    s->finite++;
    w->sum += x;
  }
}

static void second_look(walk *w, double x) {
  surg_tensor_statistics *s = w->out;
  if (!isfinite(x)) return;
  /* Halves, since the difference of two finite numbers may not be one. */
  const double range = s->high / 2 - s->low / 2;
  const double part = range > 0 ? (x / 2 - s->low / 2) / range : 0;
  size_t bin = (size_t)(part * SURG_STATISTICS_BINS);
  if (bin >= SURG_STATISTICS_BINS) bin = SURG_STATISTICS_BINS - 1;
  s->bins[bin]++;
  w->squares += (x - s->mean) * (x - s->mean);
}

static surg_status each(walk *w, void (*look)(walk *w, double x)) {
  const int dtype = surg_tensor_dtype(w->t);
  uint64_t native[PIECE]; /* 8 bytes an element at most */
  const uint64_t count = surg_tensor_count(w->t);
  for (uint64_t i = 0; i < count; i += PIECE * w->step) {
    const size_t n = count - i < PIECE ? (size_t)(count - i) : PIECE;
    const surg_status s = surg_tensor_read_numbers(w->t, i, native, n);
    if (s != SURG_OK) return s;
    for (size_t k = 0; k < n; k++) look(w, surg__number_at(dtype, native, k));
  }
  return SURG_OK;
}

surg_status surg_tensor_measure(const surg_tensor *t, uint64_t most, surg_tensor_statistics *out) {
  surg_tensor_statistics all = {.size = sizeof all};
  if (!t || !out) return SURG_EUSAGE;
  if (!surg__is_measured(surg_tensor_dtype(t)) || surg_tensor_is_sparse(t))
    return SURG_EUNSUPPORTED;
  walk w = {.t = t, .step = 1, .out = &all};
  all.count = surg_tensor_count(t);
  const uint64_t pieces = all.count / PIECE, wanted = most / PIECE + 1;
  if (most && pieces > wanted) w.step = (pieces + wanted - 1) / wanted;
  surg_status s = each(&w, first_look);
  if (s == SURG_OK && all.finite) {
    all.mean = w.sum / (double)all.finite;
    s = each(&w, second_look);
    all.deviation = sqrt(w.squares / (double)all.finite);
  }
  if (s == SURG_OK) surg__struct_out(out, &all, sizeof all);
  return s;
}
