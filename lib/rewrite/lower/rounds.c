/* SPDX-License-Identifier: Apache-2.0 */
/* TopK of few elements in rounds: each round takes the largest element with ReduceMax and ArgMax,
 * and lowers it below all others for the next one. The position of an element is found by float
 * arithmetic: 1 less the distance of its index to the number of the column is 1 there, and 0 or
 * less elsewhere. */
#include "base/counted.h"
#include "rewrite/lower/terms.h"

#define MOST_ROUNDS 64     /* each adds 9 nodes */
#define MOST_COLUMNS 65536 /* indices are floats: exact below 2^24 */
#define LOWERED 3e38       /* what an element that was taken loses */

/* [.., n] from the index in [.., 1]: 1 in its column, else 0. */
static surg__built column_of(surg__builder *b, surg__built at, int64_t n) {
  const surg__bdim row[2] = {surg__bdim_fixed(1), surg__bdim_fixed(n)};
  surg__built w = surg__built_cast(b, at, SURG_FLOAT);
  w = surg__built_matmul(b, w, surg__built_fill(b, SURG_FLOAT, 1, row, 2));
  double *numbers = surg__arena_array(b->m->arena, (size_t)n, sizeof *numbers);
  if (!numbers) b->status = SURG_ENOMEM;
  for (int64_t i = 0; numbers && i < n; i++) numbers[i] = (double)i;
  if (b->status) return at;
  surg__built far =
      surg__built_binary(b, "Sub", w, surg__built_numbers(b, SURG_FLOAT, &n, 1, numbers));
  far = surg__built_unary(b, "Neg", surg__built_unary(b, "Abs", far));
  return surg__built_unary(b, "Relu", surg__built_number(b, "Add", far, 1));
}

/* The largest element of each row and its index, [.., 1]. */
static void take(surg__builder *b, surg__built x, surg__built *value, surg__built *index) {
  const uint32_t last = x.rank - 1;
  *value = surg__built_reduce(b, "ReduceMax", x, last, true);
  *index = surg__built_unary(b, "ArgMax", x);
  surg__b_set_int(b, index->v, "axis", last);
  surg__b_set_int(b, index->v, "keepdims", 1);
  index->dtype = SURG_INT64;
  index->d[last] = surg__bdim_fixed(1);
}

/* Appends the parts of all rounds; the axis is moved back to its place. */
static void put(surg__builder *b, const char *name, const surg__built *parts, size_t n,
                uint32_t axis, bool vector) {
  if (!surg__b_get(b, name)) return;
  const uint32_t last = parts[0].rank - 1;
  surg__built y = n > 1 ? surg__built_concat(b, parts, n, last) : parts[0];
  if (vector) {
    const surg__bdim d[1] = {surg__bdim_fixed((int64_t)n)};
    y = surg__built_reshape(b, y, d, 1);
  } else if (axis != last) {
    y = surg__built_swap(b, y, axis, last);
  }
  surg__built_result(b, name, y);
}

/* v, i = TopK <axis> (x, k) */
static surg_status top_by_rounds(surg__builder *b) {
  surg__built x;
  surg_elem k;
  const surg_node *n = surg__b_matched(b);
  surg_value *count = surg__b_get(b, "k");
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank == 0, "x: expected rank 1 or more") ||
      surg__b_bad(b, surg_node_int(n, "largest", 1) != 1, "expected the largest elements") ||
      surg__b_bad(b, surg__known_elements(count, &k, 1) != 1 || !k.known, "k is unknown") ||
      surg__b_bad(b, k.value < 1 || k.value > MOST_ROUNDS, "k is 0 or above the limit"))
    return SURG_EUNSUPPORTED;
  int64_t axis = surg_node_int(n, "axis", -1);
  if (axis < 0) axis += x.rank;
  if (surg__b_bad(b, axis < 0 || axis >= (int64_t)x.rank, "the axis is out of range") ||
      surg__b_bad(b, x.d[axis].n < k.value || x.d[axis].n > MOST_COLUMNS,
                  "x: a size is unknown, or above the limit"))
    return SURG_EUNSUPPORTED;
  const bool vector = x.rank == 1;
  const uint32_t at = (uint32_t)axis, last = vector ? 1 : x.rank - 1;
  const size_t rounds = (size_t)k.value;
  surg__built *values = surg__arena_array(b->m->arena, rounds, sizeof *values);
  surg__built *indices = surg__arena_array(b->m->arena, rounds, sizeof *indices);
  if (!values || !indices) return SURG_ENOMEM;
  if (vector)
    x = surg__built_unsqueeze(b, x, 0);
  else if (at != last)
    x = surg__built_swap(b, x, at, last);
  for (size_t r = 0; r < rounds && !b->status; r++) {
    take(b, x, &values[r], &indices[r]);
    if (r + 1 == rounds) break;
    const surg__built hit = column_of(b, indices[r], x.d[last].n);
    x = surg__built_binary(b, "Add", x, surg__built_number(b, "Mul", hit, -LOWERED));
  }
  if (b->status) return b->status;
  put(b, "i", indices, rounds, at, vector);
  put(b, "v", values, rounds, at, vector);
  return b->status;
}

const surg__native surg__natives_rounds[] = {
    {"top_by_rounds", top_by_rounds, "TopK by one ArgMax per element"},
    {NULL, NULL, NULL},
};
