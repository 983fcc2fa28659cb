/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of which two of four elements are 0, as sparse products of engines want them
 * (onnxsurg/info.h). */
#include <onnxsurg/info.h>
#include <onnxsurg/ops.h>
#include <string.h>

#include "base/dtype.h"
#include "measure/measure.h"

#define FOUR 4u
#define PART 512u /* elements of each of the four rows that are read at once; whole bytes of all */

bool surg_node_summed_axis(const surg_node *n, size_t input, size_t rank, size_t *axis) {
  const bool left = input == 0;
  switch (surg_node_op(n)) {
    case SURG_OP_MatMul:
      if (input > 1 || rank < 2) return false;
      *axis = left ? rank - 1 : rank - 2;
      return true;
    case SURG_OP_Gemm:
      *axis = left == (surg_node_int(n, left ? "transA" : "transB", 0) == 0);
      return input < 2 && rank == 2;
    case SURG_OP_Conv:
      *axis = 1;
      return input == 1 && rank > 1;
    case SURG_OP_ConvTranspose:
      *axis = 0;
      return input == 1 && rank > 1;
    case SURG_OP_LSTM:
    case SURG_OP_GRU:
    case SURG_OP_RNN:
      *axis = 2;
      return (input == 1 || input == 2) && rank == 3;
    default:
      return false;
  }
}

/* Four rows of `width` elements, at distances of one row: element j of each are a group. */
typedef struct rows {
  const surg_tensor *t;
  uint64_t at;    /* of the first row */
  uint64_t width; /* of a row */
  surg_groups *out;
} rows;

static bool reads_zero(int dtype, const uint64_t *native, size_t i) {
  return surg__number_at(dtype, native, i) == 0;
}

/* Rows of one element: the groups follow each other. */
static surg_status count_row(const rows *r, uint64_t groups) {
  uint64_t native[PART * FOUR];
  const int dtype = surg_tensor_dtype(r->t);
  for (uint64_t g = 0; g < groups; g += PART / FOUR) {
    const size_t n = (size_t)(groups - g < PART / FOUR ? groups - g : PART / FOUR);
    const surg_status s = surg_tensor_read_numbers(r->t, r->at + g * FOUR, native, n * FOUR);
    if (s != SURG_OK) return s;
    for (size_t k = 0; k < n; k++) {
      unsigned zeros = 0;
      for (size_t j = 0; j < FOUR; j++) zeros += reads_zero(dtype, native, k * FOUR + j);
      r->out->fit += zeros >= 2;
    }
    r->out->read += n;
  }
  return SURG_OK;
}

static surg_status count_rows(const rows *r) {
  uint64_t native[PART];
  uint8_t zeros[PART];
  const int dtype = surg_tensor_dtype(r->t);
  for (uint64_t i = 0; i < r->width; i += PART) {
    const size_t n = (size_t)(r->width - i < PART ? r->width - i : PART);
    memset(zeros, 0, n);
    for (size_t j = 0; j < FOUR; j++) {
      const surg_status s = surg_tensor_read_numbers(r->t, r->at + j * r->width + i, native, n);
      if (s != SURG_OK) return s;
      for (size_t k = 0; k < n; k++) zeros[k] += reads_zero(dtype, native, k);
    }
    for (size_t k = 0; k < n; k++) r->out->fit += zeros[k] >= 2;
    r->out->read += n;
  }
  return SURG_OK;
}

/* Counts whole groups along the axis, those of at most about `most` elements. */
static surg_status count_all(const surg_tensor *t, uint64_t most, surg_groups *out) {
  const int64_t *d = surg_tensor_dims(t);
  uint64_t outer = 1, width = 1;
  const uint64_t length = (uint64_t)d[out->axis], groups = length / FOUR;
  for (size_t i = 0; i < surg_tensor_rank(t); i++) {
    if (i < out->axis) outer *= (uint64_t)d[i]; /* their product is the number of elements */
    if (i > out->axis) width *= (uint64_t)d[i];
  }
  const uint64_t steps = width == 1 ? outer : outer * groups;
  const uint64_t each = width == 1 ? groups * FOUR : width * FOUR;
  const uint64_t wanted = most && each ? most / each + 1 : steps;
  const uint64_t step = steps > wanted ? (steps + wanted - 1) / wanted : 1;
  surg_status s = SURG_OK;
  out->groups = outer * groups * width;
  for (uint64_t i = 0; i < steps && s == SURG_OK; i += step) {
    rows r = {.t = t, .width = width, .out = out};
    r.at = width == 1 ? i * length : (i / groups * length + i % groups * FOUR) * width;
    s = width == 1 ? count_row(&r, groups) : count_rows(&r);
  }
  return s;
}

/* The axis that the first product which reads v sums over. */
static bool axis_of(const surg_value *v, size_t rank, size_t *axis) {
  for (surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_NODE &&
        surg_node_summed_axis(surg_use_node(u), surg_use_index(u), rank, axis))
      return true;
  return false;
}

surg_status surg_value_groups(const surg_value *v, uint64_t most, surg_groups *out) {
  surg_groups all = {.size = sizeof all};
  if (!v || !out) return SURG_EUSAGE;
  const surg_tensor *t = surg_value_initializer(v);
  if (!t) t = surg_value_constant(v);
  if (!t || !axis_of(v, surg_tensor_rank(t), &all.axis)) return SURG_ENOTFOUND;
  if (!surg__is_measured(surg_tensor_dtype(t)) || surg_tensor_is_sparse(t))
    return SURG_EUNSUPPORTED;
  if (surg_tensor_dims(t)[all.axis] < (int64_t)FOUR || !surg_tensor_count(t))
    return SURG_ENOTFOUND;
  const surg_status s = count_all(t, most, &all);
  if (s == SURG_OK) surg__struct_out(out, &all, sizeof all);
  return s;
}
