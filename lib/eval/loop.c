/* SPDX-License-Identifier: Apache-2.0 */
/* Walking several arrays of different strides over one shape. */
#include "eval/loop.h"

/* Whether axis d continues the merged axis that stands last, for every array. */
static bool continues(const surg__loop *l, int64_t dim, const int64_t *const *strides,
                      uint32_t d) {
  for (uint32_t a = 0; a < l->n; ++a) {
    int64_t joined;
    if (!surg__mul_i64(strides[a][d], dim, &joined)) return false;
    if (l->strides[a][l->rank - 1] != joined) return false;
  }
  return true;
}

void surg__loop_init(surg__loop *l, const int64_t *dims, uint32_t rank, uint32_t n,
                     const int64_t *const *strides) {
  assert(n <= SURG__LOOP_ARRAYS && rank <= SURG_LIMIT_RANK);
  *l = (surg__loop){.n = n, .inner = 1};
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] == 0) l->done = true;
    if (dims[d] == 1) continue;
    if (l->rank > 0 && !l->done && continues(l, dims[d], strides, d)) {
      l->dims[l->rank - 1] *= dims[d];
    } else {
      l->dims[l->rank++] = dims[d];
    }
    for (uint32_t a = 0; a < n; ++a) l->strides[a][l->rank - 1] = strides[a][d];
  }
  if (l->done || l->rank == 0) return;
  --l->rank;
  l->inner = l->dims[l->rank];
  for (uint32_t a = 0; a < n; ++a) l->step[a] = l->strides[a][l->rank];
}

void surg__loop_next(surg__loop *l) {
  for (uint32_t d = l->rank; d-- > 0;) {
    for (uint32_t a = 0; a < l->n; ++a) l->at[a] += l->strides[a][d];
    if (++l->index[d] < l->dims[d]) return;
    for (uint32_t a = 0; a < l->n; ++a) l->at[a] -= l->strides[a][d] * l->dims[d];
    l->index[d] = 0;
  }
  l->done = true;
}

void surg__loop_rewind(surg__loop *l) {
  memset(l->index, 0, sizeof l->index);
  memset(l->at, 0, sizeof l->at);
  l->done = false;
}

void surg__dense_strides(const int64_t *dims, uint32_t rank, int64_t *strides) {
  int64_t step = 1;
  bool empty = false;
  for (uint32_t d = 0; d < rank; ++d) empty = empty || dims[d] == 0;
  for (uint32_t d = rank; d-- > 0;) {
    strides[d] = step;
    if (!empty) step *= dims[d];
  }
}
