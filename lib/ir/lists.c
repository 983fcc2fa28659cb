/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of lists that clean-up passes need: removing an output in the middle, dropping value_info
 * entries without a value, and turning initializers into inputs. */
#include "ir/edit.h"

surg_status surg_node_remove_output(surg_node *n, size_t i) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  if (i >= n->n_out) return SURG_EUSAGE;
  surg_value *v = n->out[i];
  assert(!v || (v->producer == n && v->output == i));
  if (v && (surg__value_has_hard_use(v) || v->pinned))
    return surg__node_error(n, SURG_EINVALID, "output %s is in use",
                            surg__q(n->graph->model->ctx, v->name));
  memmove(&n->out[i], &n->out[i + 1], (n->n_out - i - 1) * sizeof n->out[0]);
  n->n_out--;
  for (uint32_t k = (uint32_t)i; k < n->n_out; k++)
    if (n->out[k]) n->out[k]->output = k;
  n->io_dirty = true;
  surg__touch_node(n);
  if (v) surg__value_erase(v);
  surg__emit(n->graph->model, SURG_EVENT_SET_OUTPUT, n->graph, n, NULL, v, NULL);
  return SURG_OK;
}

size_t surg_graph_drop_strays(surg_graph *g) {
  size_t n = 0;
  if (surg__graph_ready(g) != SURG_OK) return 0;
  for (surg__stray *s = g->strays; s; s = s->next) {
    n += !s->dropped;
    s->dropped = true;
  }
  if (n) surg__touch_graph(g);
  return n;
}

surg_status surg_value_make_input(surg_value *v) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  surg_model *m = g->model;
  if (v->input) return SURG_OK;
  if (!v->initializer || !v->tensor || g->kind != SURG_GRAPH_MAIN)
    return surg__graph_error(g, SURG_EUSAGE, "value %s cannot become an input",
                             surg__q(m->ctx, v->name));
  const surg_tensor *t = v->tensor;
  assert(t->model == m && !v->producer);
  surg_dim *dims = t->rank ? surg__array(m, t->rank, sizeof *dims) : NULL;
  if (t->rank && !dims) return m->status;
  for (uint32_t i = 0; i < t->rank; i++) dims[i] = (surg_dim){t->dims[i], NULL};
  const surg_type *type = surg_type_tensor(m, t->dtype, dims, t->rank);
  if (!type || !surg__graph_push_input(g, v)) return m->status;
  v->decl = (surg__decl){.type = type, .dirty = true};
  v->in_value_info = false;
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}
