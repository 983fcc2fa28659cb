/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. */
#include "numbers.h"

/* Size in bytes of an element in raw_data; 0: unsupported type. */
static size_t element_size(int dtype) {
  return dtype == SURG_INT64 ? 8 : dtype == SURG_INT32 ? 4 : dtype == SURG_BOOL ? 1 : 0;
}

surg_tensor *numbers_tensor(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                            const int64_t *v, size_t count) {
  uint8_t raw[NUMBERS * 8];
  const size_t size = element_size(dtype);
  if (size == 0 || count > NUMBERS) return NULL;
  for (size_t i = 0; i < count * size; i++)
    raw[i] = (uint8_t)((uint64_t)v[i / size] >> (8 * (i % size)));
  return surg_tensor_new(m, dtype, dims, rank, raw, count * size);
}

static surg_value *constant(surg_node *before, const char *name, int dtype, bool vector,
                            const int64_t *v, size_t count) {
  surg_graph *g = surg_node_graph(before);
  const int64_t dim = (int64_t)count;
  surg_tensor *t = numbers_tensor(surg_graph_model(g), dtype, &dim, vector, v, count);
  return t ? surg_graph_constant(g, before, name, t) : NULL;
}

surg_value *numbers_vector(surg_node *before, const char *name, const int64_t *v, size_t count) {
  return constant(before, name, SURG_INT64, true, v, count);
}

surg_value *numbers_scalar(surg_node *before, const char *name, int dtype, int64_t v) {
  return constant(before, name, dtype, false, &v, 1);
}

surg_status numbers_sizes(surg_node *split, const int64_t *sizes, size_t count) {
  if (surg_graph_opset(surg_node_graph(split), "") < 13)
    return surg_node_set_ints(split, "split", sizes, count);
  surg_value *c = numbers_vector(split, NULL, sizes, count);
  return c ? surg_node_set_input(split, 1, c) : SURG_ENOMEM;
}

/* A constant that a pass has just created has no inferred type yet, so its tensor is read. */
int64_t numbers_of(const surg_tensor *t, int64_t *out, size_t cap) {
  size_t n;
  return surg_tensor_read_ints(t, out, cap, &n) == SURG_OK ? (int64_t)n : -1;
}

int64_t numbers_known(const surg_value *v, surg_elem *out, size_t cap) {
  size_t n;
  return surg_value_elements(v, out, cap, &n) == SURG_OK ? (int64_t)n : -1;
}

bool numbers_one(const surg_value *v, int64_t *out) {
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  surg_elem e;
  if (t) return surg_tensor_count(t) == 1 && numbers_of(t, out, 1) == 1;
  if (!v || numbers_known(v, &e, 1) != 1 || !e.known) return false;
  *out = e.value;
  return true;
}
