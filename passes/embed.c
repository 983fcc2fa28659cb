/* SPDX-License-Identifier: Apache-2.0 */
/* Takes weights out of data files into the model, for engines that are given one file.
 *
 *   before: <float[2] w = ["location": "weights.bin"]> { y = Add (x, w) }
 *   after:  <float[2] w = {1, 2}> { y = Add (x, w) }
 *
 * Initializers and the values of Constant nodes, all graphs; fails where they are more than a file can
 * hold. Needs nothing. Keeps sorted, types. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>

#define MOST ((uint64_t)INT32_MAX) /* bytes of a message of protobuf */

typedef struct embedding {
  surg_pass_ctx *p;
  surg_model *m;
  uint64_t bytes;
  bool changed;
} embedding;

/* The same elements in memory; NULL after a line. */
static surg_tensor *embedded(embedding *e, const surg_tensor *t, const surg_node *at) {
  const uint64_t bytes = surg_tensor_bytes(t);
  if (bytes > MOST - e->bytes) {
    surg_pass_fail(e->p, at, "the weights are more than one file can hold");
    return NULL;
  }
  e->bytes += bytes;
  void *data = surg_pass_alloc(e->p, (size_t)bytes + 1);
  if (!data || surg_tensor_read(t, 0, data, (size_t)bytes) != SURG_OK) {
    surg_pass_fail(e->p, at, "a data file cannot be read");
    return NULL;
  }
  surg_pass_count(e->p, "weights embedded", 1);
  e->changed = true;
  return surg_tensor_new(e->m, surg_tensor_dtype(t), surg_tensor_dims(t), surg_tensor_rank(t), data,
                         (size_t)bytes);
}

static bool take_value(embedding *e, surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  if (!t || !surg_tensor_is_external(t) || !surg_pass_allow(e->p)) return true;
  surg_tensor *made = embedded(e, t, NULL);
  return made && surg_value_set_initializer(v, made) == SURG_OK;
}

static bool take_node(embedding *e, surg_node *n) {
  const surg_attr *a = surg_node_op(n) == SURG_OP_Constant ? surg_node_attr(n, "value") : NULL;
  const bool tensor = a && surg_attr_get_kind(a) == SURG_ATTR_TENSOR && !surg_attr_ref(a);
  const surg_tensor *t = tensor ? surg_attr_tensor(a, 0) : NULL;
  if (!t || !surg_tensor_is_external(t) || !surg_pass_allow(e->p)) return true;
  surg_tensor *made = embedded(e, t, n);
  return made && surg_node_set_tensor(n, "value", made) == SURG_OK;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  embedding e = {.p = p, .m = surg_pass_model(p)};
  for (surg_graph *g = NULL; (g = surg_model_next_graph(e.m, g));) {
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (!take_value(&e, v)) return SURG_PASS_FAILED;
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!take_node(&e, n)) return SURG_PASS_FAILED;
  }
  return e.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

const surg_pass surg__pass_embed = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "embed",
    .help = "take weights out of data files into the model",
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
