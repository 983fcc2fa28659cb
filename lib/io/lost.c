/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on weights whose data files are missing or too short. */
#include <onnxsurg/info.h>

#include "io/io.h"

static void add(surg__lost *l, const surg_tensor *t, const char *name) {
  if (!t || t->view != SURG__VIEW_ABSENT || !t->lost) return;
  l->count++;
  if (!t->asked) return;
  if (l->asked < SURG_COUNT(l->names)) l->names[l->asked] = name;
  l->asked++;
}

static bool holds_tensors(const surg_attr *a) {
  return a->kind == SURG_ATTR_TENSOR || a->kind == SURG_ATTR_TENSORS;
}

static void add_node(surg__lost *l, const surg_node *n) {
  const char *name = *n->name || !n->n_out || !n->out[0] ? n->name : n->out[0]->name;
  for (uint32_t i = 0; i < n->n_attr; i++)
    for (uint32_t k = 0; holds_tensors(n->attrs[i]) && k < n->attrs[i]->count; k++)
      add(l, n->attrs[i]->u.tensors[k], name);
}

void surg__lost_weights(const surg_model *m, surg__lost *out) {
  *out = (surg__lost){0};
  if (m->status != SURG_OK) return;
  for (const surg_graph *g = m->graph; g; g = g->next) {
    for (const surg_value *v = g->first_init; v; v = v->init_next) add(out, v->tensor, v->name);
    for (const surg_node *n = g->first; n; n = n->next) add_node(out, n);
  }
}

static void put_names(surg__buf *b, const surg__lost *l) {
  const size_t shown = l->asked < SURG_COUNT(l->names) ? l->asked : SURG_COUNT(l->names);
  for (size_t i = 0; i < shown; i++) {
    surg__buf_puts(b, i ? ", \"" : "\"");
    surg__buf_escape(b, l->names[i], strlen(l->names[i]), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '"');
  }
  if (l->asked > shown) surg__buf_printf(b, " and %zu more", l->asked - shown);
  surg__buf_putc(b, 0);
}

void surg__lost_note(surg_model *m) {
  surg__lost l;
  surg__lost_weights(m, &l);
  if (!l.asked) return;
  surg__buf b;
  surg__buf_init(&b, m->ctx);
  put_names(&b, &l);
  surg__note(m->ctx, surg_model_path(m),
             "%zu weight%s not available; what needs the elements of %s was left undone", l.count,
             l.count == 1 ? " is" : "s are", b.failed ? "some" : b.p);
  surg__buf_free(&b);
}

static const surg_tensor *first_of(const surg_model *m, const char **name) {
  for (const surg_graph *g = m->graph; g; g = g->next) {
    for (const surg_value *v = g->first_init; v; v = v->init_next) {
      *name = v->name;
      if (v->tensor && v->tensor->lost) return v->tensor;
    }
    for (const surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; i < n->n_attr; i++)
        for (uint32_t k = 0; holds_tensors(n->attrs[i]) && k < n->attrs[i]->count; k++) {
          *name = n->name;
          if (n->attrs[i]->u.tensors[k]->lost) return n->attrs[i]->u.tensors[k];
        }
  }
  return NULL;
}

surg_status surg__lost_refuse(surg_model *m, const char *what) {
  surg__lost l;
  const char *name = "";
  surg__lost_weights(m, &l);
  if (!l.count || !first_of(m, &name)) return SURG_OK;
  return surg__error(m->ctx, SURG_EIO, surg_model_path(m),
                     "%zu weight%s not available (%s%s): %s needs %s", l.count,
                     l.count == 1 ? " is" : "s are", surg__q(m->ctx, name),
                     l.count == 1 ? "" : ", ...", what, l.count == 1 ? "it" : "them");
}

surg_status surg_model_require_weights(surg_model *model, const char *what) {
  return model && what ? surg__lost_refuse(model, what) : SURG_EUSAGE;
}

void surg_model_note_weights(surg_model *model) {
  if (model) surg__lost_note(model);
}

void surg_model_learn_weights(surg_model *to, const surg_model *from) {
  if (!to || !from || to->status != SURG_OK || from->status != SURG_OK) return;
  for (const surg_value *v = from->graph->first_init; v; v = v->init_next) {
    if (!v->tensor || !v->tensor->lost || !v->tensor->asked) continue;
    const surg_value *old = surg_graph_find_value(to->graph, v->name);
    if (old && old->tensor && old->tensor->lost) old->tensor->asked = true;
  }
}
