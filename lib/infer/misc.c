/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of text operators, random operators, training operators and bit operators. */
#include "infer/rules.h"

void surg__infer_string_normalizer(surg__infer *c) {
  surg__fact x;
  size_t words = 0;
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank != 1 && x.rank != 2) {
    surg__infer_bad(c);
    return;
  }
  const surg_attr *stop = surg_node_attr(c->n, "stopwords");
  if (stop) (void)surg_attr_strings(stop, &words);
  surg_dim dims[2] = {x.dims[0], x.dims[x.rank - 1]};
  /* Stop words are removed; if no word is left the result is one empty string. */
  if (words || dims[x.rank - 1].value < 1) dims[x.rank - 1] = surg__dim_unknown();
  surg__infer_put(c, 0, SURG_STRING, dims, x.rank);
}

void surg__infer_string_split(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg_dim dims[SURG_LIMIT_RANK];
  surg__infer_put_like(c, 1, SURG_INT64, &x);
  if (x.kind != SURG_TYPE_TENSOR || !x.ranked || x.rank >= SURG_LIMIT_RANK) return;
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  dims[x.rank] = surg__dim_unknown();
  surg__infer_put(c, 0, SURG_STRING, dims, (size_t)x.rank + 1);
}

void surg__infer_tf_idf(surg__infer *c) {
  surg__fact x;
  surg_dim dims[2];
  size_t n = 0;
  int64_t most = -1;
  const int64_t *index = surg_node_ints(c->n, "ngram_indexes", &n);
  if (!surg__infer_ranked(c, 0, &x) || !index || !n) return;
  if (x.rank != 1 && x.rank != 2) {
    surg__infer_bad(c);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    if (index[i] < 0 || index[i] == INT64_MAX) return;
    if (index[i] > most) most = index[i];
  }
  dims[0] = x.dims[0];
  dims[x.rank - 1] = surg__dim(most + 1);
  surg__infer_put(c, 0, SURG_FLOAT, dims, x.rank);
}

void surg__infer_multinomial(surg__infer *c) {
  surg__fact x;
  const int64_t dtype = surg_node_int(c->n, "dtype", SURG_INT32);
  const int64_t draws = surg_node_int(c->n, "sample_size", 1);
  if ((dtype != SURG_INT32 && dtype != SURG_INT64) || draws < 0) return;
  surg_dim dims[2] = {surg__dim_unknown(), surg__dim(draws)};
  if (surg__infer_ranked(c, 0, &x)) {
    if (x.rank != 2) {
      surg__infer_bad(c);
      return;
    }
    dims[0] = x.dims[0];
  }
  surg__infer_put(c, 0, (int)dtype, dims, 2);
}

void surg__infer_bit_cast(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  const int64_t to = surg_node_int(c->n, "to", 0);
  if (x.kind != SURG_TYPE_TENSOR || to <= 0 || to >= SURG_DTYPE_COUNT) return;
  if (surg__dtype_bits((int)to) != surg__dtype_bits(x.dtype))
    surg__infer_bad(c);
  else
    surg__infer_put_like(c, 0, (int)to, &x);
}

/* Inputs: a rate, a step number, and groups of n tensors (values, gradients, states). Outputs: the
 * new values and the new states. */
void surg__infer_optimizer(surg__infer *c) {
  const size_t groups = c->op == SURG_OP_training_Adam ? 4 : 3;
  const size_t inputs = surg_node_input_count(c->n), outputs = surg_node_output_count(c->n);
  if (inputs < 2 || (inputs - 2) % groups) return;
  const size_t n = (inputs - 2) / groups;
  if (outputs > n * (groups - 1)) {
    surg__infer_bad(c);
    return;
  }
  for (size_t k = 0; k < outputs; k++) {
    const size_t group = k < n ? 0 : k / n + 1;
    const surg__fact x = surg__infer_in(c, 2 + group * n + k % n);
    surg__infer_put_like(c, k, x.dtype, &x);
  }
}

void surg__infer_gradient(surg__infer *c) {
  const size_t outputs = surg_node_output_count(c->n);
  for (size_t k = 0; k < outputs; k++) {
    const surg__fact x = surg__infer_in(c, k);
    if (x.kind == SURG_TYPE_TENSOR) surg__infer_put_like(c, k, x.dtype, &x);
  }
}
