/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded weights that were decoded and did not stay: what was computed from them is written as it
 * is, which the user of an encrypted model must know. */
#include "io/io.h"

/* Counts the encoded tensors of a model whose elements were decoded. */
static size_t count_tensor(const surg_tensor *t) {
  return t && t->codec && t->blob;
}

static size_t count_graph(const surg_graph *g) {
  size_t n = 0;
  for (const surg_value *v = g->first_init; v; v = v->init_next) n += count_tensor(v->tensor);
  for (const surg_node *node = g->first; node; node = node->next)
    for (uint32_t i = 0; i < node->n_attr; i++) {
      const surg_attr *a = node->attrs[i];
      for (uint32_t k = 0; a->kind == SURG_ATTR_TENSOR && k < a->count; k++)
        n += count_tensor(a->u.tensors[k]);
    }
  return n;
}

void surg__decoded_warn(const surg_model *m) {
  size_t kept = 0;
  if (!m->decoded) return;
  for (const surg_graph *g = m->graph; g; g = g->next) kept += count_graph(g);
  if (kept >= m->decoded) return;
  const size_t n = m->decoded - kept;
  surg__warn(m->ctx, surg_model_path(m),
             "%zu %s decoded and changed: what was computed from %s is written without the format",
             n, n == 1 ? "tensor was" : "tensors were", n == 1 ? "it" : "them");
}
