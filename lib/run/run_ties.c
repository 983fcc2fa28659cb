/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises indices that differ between two runs because the elements they refer to are equal,
 * or nearly so: either of two equal maxima is a valid result. */
#include <onnxsurg/ops.h>

#include "base/dtype.h"
#include "eval/core/number.h"
#include "run/verify.h"

/* The node that produces the indices in v, found through nodes that preserve elements and their
 * order; NULL: none. */
static const surg_node *source_of(const surg_value *v) {
  for (;;) {
    size_t k = 0;
    const surg_node *n = surg_value_producer(v, &k);
    if (!n || surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return NULL;
    switch (surg_node_op(n)) {
      case SURG_OP_ArgMax:
      case SURG_OP_ArgMin:
        return n;
      case SURG_OP_TopK:
        return k == 1 ? n : NULL;
      case SURG_OP_Identity:
      case SURG_OP_Cast:
      case SURG_OP_Reshape:
      case SURG_OP_Squeeze:
      case SURG_OP_Unsqueeze:
      case SURG_OP_Flatten:
        v = surg_node_input(n, 0);
        break;
      default:
        return NULL;
    }
  }
}

/* Reads input 0 of the node by running a copy of the model with that value as its last output. */
static surg_status read_data(surg_model *m, const surg__engine *e, const surg__array *in,
                             const surg_node *n, surg__array *data) {
  surg_context *ctx = surg_model_context(m);
  surg_model *copy = surg_model_clone(m);
  surg_graph *g = surg_model_graph(copy);
  surg_value *v = copy ? surg_graph_find_value(g, surg_value_name(surg_node_input(n, 0))) : NULL;
  surg_status s = copy && v ? surg_graph_add_output(g, v, NULL) : SURG_ENOMEM;
  const size_t n_out = surg_graph_output_count(g);
  surg__array *out = s == SURG_OK ? surg__calloc(ctx, n_out, sizeof *out) : NULL;
  if (s == SURG_OK && !out) s = SURG_ENOMEM;
  surg__exec r = {0};
  if (s == SURG_OK) s = surg__exec_open(&r, e, copy);
  if (s == SURG_OK) s = surg__exec_run(&r, in, out);
  if (s == SURG_OK) *data = surg__array_ref(&out[n_out - 1]);
  surg__exec_close(&r);
  for (size_t i = 0; out && i < n_out; i++) surg__array_drop(&out[i]);
  surg__free(ctx, out);
  surg_model_free(copy);
  return s;
}

/* Compares elements `x` and `y` of `a` as one-element arrays, with the usual tolerance rules. */
static bool equal_elements(const surg__array *a, uint64_t x, uint64_t y, const surg__tolerance *t) {
  const size_t size = surg__dtype_unpacked(a->dtype);
  surg__array p = {.dtype = a->dtype, .count = 1, .data = (char *)a->data + x * size}, q = p;
  surg__distance d;
  q.data = (char *)a->data + y * size;
  return surg__value_compare(&p, &q, t, &d);
}

typedef struct lines {
  uint64_t length, inner, kept; /* kept: number of indices per line */
} lines;

static bool lines_of(const surg_node *n, const surg__array *data, uint64_t count, lines *l) {
  const bool top = surg_node_op(n) == SURG_OP_TopK;
  const int64_t rank = data->rank, at = surg_node_int(n, "axis", top ? -1 : 0);
  const int64_t axis = at < 0 ? at + rank : at;
  if (axis < 0 || axis >= rank || data->count == 0) return false;
  *l = (lines){.length = (uint64_t)data->dims[axis], .inner = 1};
  for (int64_t d = axis + 1; d < rank; d++) l->inner *= (uint64_t)data->dims[d];
  const uint64_t all = data->count / l->length; /* number of lines */
  if (count % all) return false;
  l->kept = count / all;
  return true;
}

/* The flat position in the data that element i of the indices refers to if its value is `index`;
 * false: out of range. */
static bool place_of(const lines *l, uint64_t i, uint64_t index, uint64_t *out) {
  if (index >= l->length) return false;
  *out = (i / (l->kept * l->inner) * l->length + index) * l->inner + i % l->inner;
  return true;
}

static bool all_tie(const surg_node *n, const surg__array *data, const surg__array *got,
                    const surg__array *want, const surg__tolerance *t) {
  lines l;
  if (got->dtype != want->dtype || got->count != want->count ||
      !lines_of(n, data, want->count, &l))
    return false;
  for (uint64_t i = 0; i < want->count; i++) {
    uint64_t x, y;
    const uint64_t a = surg__load_int(got->dtype, got->data, i);
    const uint64_t b = surg__load_int(want->dtype, want->data, i);
    if (a == b) continue;
    if (!place_of(&l, i, a, &x) || !place_of(&l, i, b, &y) || !equal_elements(data, x, y, t))
      return false;
  }
  return true;
}

surg_status surg__indices_tie(surg_model *m, const surg__engine *e, const surg__array *in, size_t i,
                              const surg__array *got, const surg__array *want,
                              const surg__tolerance *t, bool *out) {
  *out = false;
  if (!surg__is_int(got->dtype) || !surg__is_int(want->dtype)) return SURG_OK;
  const surg_node *n = source_of(surg_graph_output(surg_model_graph(m), i));
  if (!n || surg_node_graph(n) != surg_model_graph(m)) return SURG_OK;
  surg__array data = {0};
  const surg_status s = read_data(m, e, in, n, &data);
  if (s == SURG_OK && !surg__array_is_list(&data) && data.dtype != SURG_UNDEFINED)
    *out = all_tie(n, &data, got, want, t);
  surg__array_drop(&data);
  return s == SURG_ENOMEM ? s : SURG_OK;
}
