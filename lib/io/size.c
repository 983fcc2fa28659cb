/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of parts of a model in a file: the number of bytes that saving would write for them, tag
 * and length included, counted on a temporary rope. So the format is implemented only once. */
#include "io/save/save.h"

static surg__saver begin(surg_model *m) {
  surg__saver s = {.m = m, .ctx = m->ctx, .where = surg_model_path(m)};
  surg__rope_init(&s.rope, m->ctx, m->source);
  return s;
}

/* Releases the ropes and returns the number of bytes; `failed` on a failure, which also makes
 * the model fail. */
static uint64_t end(surg__saver *s, uint64_t failed) {
  if (s->status == SURG_OK && s->rope.failed) surg__save_fail(s, surg__oom(s->ctx, s->where));
  uint64_t total = s->rope.total;
  surg__rope_free(&s->rope);
  if (s->status == SURG_OK) return total;
  surg__fail(s->m, s->status);
  return failed;
}

uint64_t surg_node_bytes(const surg_node *n) {
  if (!n || n->erased || n->graph->model->status != SURG_OK) return 0;
  surg__saver s = begin(n->graph->model);
  surg__save_node(&s, GRAPH_NODE, n);
  return end(&s, 0);
}

uint64_t surg_value_bytes(const surg_value *v) {
  if (!v || v->erased || v->graph->model->status != SURG_OK) return 0;
  if (!v->initializer && !v->input && !v->in_value_info) return 0;
  surg__saver s = begin(v->graph->model);
  if (v->initializer) surg__save_initializer(&s, v);
  if (v->input && v->graph->kind == SURG_GRAPH_FUNCTION)
    surg__save_str(&s, FUNCTION_INPUT, v->name);
  else if (v->input)
    surg__save_decl(&s, GRAPH_INPUT, &v->decl, v->name);
  if (v->in_value_info) surg__save_decl(&s, GRAPH_VALUE_INFO, &v->decl, v->name);
  return end(&s, 0);
}

static void put_constant_node(surg__saver *s, const char *name, const surg_tensor *t) {
  surg__open node = surg__save_begin(s, GRAPH_NODE);
  surg__save_str(s, NODE_OUTPUT, name);
  surg__save_str(s, NODE_OP_TYPE, "Constant");
  surg__open attr = surg__save_begin(s, NODE_ATTRIBUTE);
  surg__save_str(s, ATTR_NAME, "value");
  surg__save_tensor(s, ATTR_T, t, (surg__span){0, 0}, NULL);
  surg__rope_varint(&s->rope, ATTR_TYPE, SURG_ATTR_TENSOR);
  surg__save_end(s, attr);
  surg__save_end(s, node);
}

uint64_t surg__constant_bytes(const surg_graph *g, const char *name, const surg_tensor *t) {
  surg__saver s = begin(g->model);
  if (surg__takes_initializers(g))
    surg__save_tensor(&s, GRAPH_INITIALIZER, t, (surg__span){0, 0}, name);
  else
    put_constant_node(&s, name, t);
  return end(&s, UINT64_MAX);
}

uint64_t surg_graph_constant_bytes(const surg_graph *g, const char *name,
                                   const surg_tensor *tensor) {
  if (!g || !tensor || g->erased || g->model->status != SURG_OK) return 0;
  return surg__constant_bytes(g, name ? name : "", tensor);
}
