/* SPDX-License-Identifier: Apache-2.0 */
/* Writes graphs and function bodies. Each list that the IR owns is written as a whole at the
 * position of its first element; unchanged elements are copied verbatim, so that a run of
 * unchanged nodes is one range of the source. */
#include <stdlib.h>

#include "io/save/save.h"
#include "ir/about.h"

/* --- value_info: values in file order, then new ones --- */

typedef struct info {
  uint64_t place; /* offset in the source; UINT64_MAX: a new value */
  size_t order;   /* tie breaker that makes the sort stable */
  const surg__decl *decl;
  const char *name;
} info;
typedef SURG_VEC(info) infos;

static int by_place(const void *a, const void *b) {
  const info *x = a, *y = b;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_info(surg__saver *s, infos *list, surg__src src, const surg__decl *d,
                     const char *name) {
  uint64_t place = surg__save_made_here(src) ? UINT64_MAX : src.field_off;
  return surg__vec_push(s->ctx, list, ((info){place, list->count, d, name}));
}

static bool gather_infos(surg__saver *s, const surg_graph *g, infos *list) {
  for (const surg_value *v = g->first_value; v; v = v->next)
    if (v->in_value_info && !v->erased && !add_info(s, list, v->decl.src, &v->decl, v->name))
      return false;
  return true;
}

/* Writes the value_info entries without a value (strays) that are before offset `before` in the
 * source. */
static void put_strays(surg__saver *s, uint32_t number, const surg__stray **next, uint64_t before) {
  for (; *next && (*next)->src.field_off < before; *next = (*next)->next)
    if (!(*next)->dropped) surg__save_copy(s, number, (*next)->src);
}

static void put_infos(surg__saver *s, const surg_graph *g, uint32_t number) {
  infos list = {0};
  if (gather_infos(s, g, &list)) {
    bool sorted = true;
    for (size_t i = 1; i < list.count; i++)
      sorted = sorted && by_place(&list.items[i - 1], &list.items[i]) < 0;
    if (!sorted) qsort(list.items, list.count, sizeof *list.items, by_place);
    const surg__stray *stray = g->strays;
    for (size_t i = 0; i < list.count; i++) {
      put_strays(s, number, &stray, list.items[i].place);
      surg__save_decl(s, number, list.items[i].decl, list.items[i].name);
    }
    put_strays(s, number, &stray, UINT64_MAX);
  } else {
    s->rope.failed = true;
  }
  surg__vec_free(s->ctx, &list);
}

/* --- the other lists --- */

static void put_nodes(surg__saver *s, const surg_graph *g, uint32_t number) {
  for (const surg_node *n = g->first; n && s->status == SURG_OK; n = n->next)
    surg__save_node(s, number, n);
}

static void put_initializers(surg__saver *s, const surg_graph *g, bool sparse) {
  for (const surg_value *v = g->first_init; v; v = v->init_next)
    if ((v->tensor->view == SURG__VIEW_SPARSE) == sparse) surg__save_initializer(s, v);
}

static void put_interface(surg__saver *s, const surg_graph *g, bool outputs) {
  if (outputs)
    for (size_t i = 0; i < g->n_out; i++)
      surg__save_decl(s, GRAPH_OUTPUT, &g->out[i]->decl, g->out[i]->use.value->name);
  else
    for (size_t i = 0; i < g->n_in; i++)
      surg__save_decl(s, GRAPH_INPUT, &g->in[i]->decl, g->in[i]->name);
}

static void put_annotations(surg__saver *s, const surg_graph *g) {
  for (const surg__annotation *a = g->annotations; a; a = a->next)
    if (!a->dropped) surg__save_annotation(s, a);
}

/* --- splicing --- */

/* Writes list `number` if `write`; returns whether the IR owns a list of that number. */
typedef bool (*put_list)(surg__saver *s, const void *of, uint32_t number, bool write);

/* Writes a doc_string or metadata_props if it was set; returns whether it was. */
static bool put_about(surg__saver *s, const surg__about *a, uint32_t number, bool set, bool write) {
  const bool doc = number == SURG__GRAPH_DOC || number == SURG__FUNCTION_DOC;
  if (write && set) surg__save_about(s, a, number, doc);
  return set;
}

static bool put_graph_list(surg__saver *s, const void *of, uint32_t number, bool write) {
  const surg_graph *g = of;
  switch (number) {
    case GRAPH_NODE:
      if (write) put_nodes(s, g, number);
      return true;
    case GRAPH_INITIALIZER:
    case GRAPH_SPARSE:
      if (write) put_initializers(s, g, number == GRAPH_SPARSE);
      return true;
    case GRAPH_INPUT:
    case GRAPH_OUTPUT:
      if (write) put_interface(s, g, number == GRAPH_OUTPUT);
      return true;
    case GRAPH_VALUE_INFO:
      if (write) put_infos(s, g, number);
      return true;
    case GRAPH_ANNOTATION:
      if (write) put_annotations(s, g);
      return true;
    case GRAPH_NAME:
      if (write && g->name_dirty) surg__save_str(s, GRAPH_NAME, g->name);
      return g->name_dirty;
    case SURG__GRAPH_DOC:
      return put_about(s, g->about, number, g->about && g->about->has_doc, write);
    case SURG__GRAPH_ENTRIES:
      return put_about(s, g->about, number, g->about && g->about->has_entries, write);
    default:
      return false;
  }
}

static bool put_function_list(surg__saver *s, const void *of, uint32_t number, bool write) {
  const surg_function *f = of;
  const surg_graph *g = f->body;
  switch (number) {
    case FUNCTION_INPUT:
      for (size_t i = 0; write && i < g->n_in; i++) surg__save_str(s, number, g->in[i]->name);
      return true;
    case FUNCTION_OUTPUT:
      for (size_t i = 0; write && i < g->n_out; i++)
        surg__save_str(s, number, g->out[i]->use.value->name);
      return true;
    case FUNCTION_NODE:
      assert(!g->first_init); /* a function has no initializers: its constants are Constant nodes */
      if (write) put_nodes(s, g, number);
      return true;
    case FUNCTION_DEFAULT:
      for (size_t i = 0; write && i < f->defaults.count; i++)
        surg__save_attr(s, number, f->defaults.items[i]);
      return true;
    case FUNCTION_IMPORT:
      for (size_t i = 0; write && i < f->imports.count; i++)
        surg__save_import(s, number, &f->imports.items[i]);
      return true;
    case FUNCTION_VALUE_INFO:
      if (write) put_infos(s, g, number);
      return true;
    case FUNCTION_ATTRIBUTE:
      if (surg__save_made_here(f->src)) return false; /* put_function_head writes them */
      for (size_t i = 0; write && f->attrs_dirty && i + f->defaults.count < f->attrs.count; i++)
        surg__save_str(s, number, f->attrs.items[i]);
      return f->attrs_dirty;
    case SURG__FUNCTION_DOC:
      return put_about(s, f->about, number, f->about && f->about->has_doc, write);
    case SURG__FUNCTION_ENTRIES:
      return put_about(s, f->about, number, f->about && f->about->has_entries, write);
    default:
      return false;
  }
}

#define LAST_LIST 16u /* the largest field number of a list */

/* Moves past unchanged initializers of a list that was written. Their pages are not read again: in
 * a file of many tensors, each is a page of its own. `*v` is the next one in file order. */
static void pass_over(surg__cursor *c, uint32_t done, const surg_value **v) {
  for (; *v && (*v)->init_src.field_off <= c->pos; *v = (*v)->init_next) {
    const surg__src *src = &(*v)->init_src;
    const bool sparse = (*v)->tensor && (*v)->tensor->view == SURG__VIEW_SPARSE;
    const uint32_t number = sparse ? GRAPH_SPARSE : GRAPH_INITIALIZER;
    if (src->field_off != c->pos || surg__save_made_here(*src)) continue;
    if ((*v)->init_dirty || !(done >> number & 1)) return;
    c->pos = src->body.off + src->body.len;
  }
}

/* Writes the body of a graph or function: its lists, and all other fields verbatim. */
static void splice(surg__saver *s, surg__span body, const void *of, put_list put,
                   const surg_value *init) {
  uint32_t done = 0;
  if (body.off != 0) {
    surg__cursor c = surg__save_cursor(s, body);
    c.skim = true;
    surg__field f;
    while (pass_over(&c, done, &init), surg__save_next(s, &c, &f)) {
      bool ours = f.number <= LAST_LIST && put(s, of, f.number, false);
      if (!ours) surg__save_keep(s, &c, &f);
      if (ours && !(done >> f.number & 1)) put(s, of, f.number, true);
      if (ours) done |= 1u << f.number;
    }
  }
  for (uint32_t number = 1; number <= LAST_LIST && s->status == SURG_OK; number++)
    if (!(done >> number & 1)) put(s, of, number, true);
}

void surg__save_graph(surg__saver *s, uint32_t number, const surg_graph *g) {
  bool made = surg__save_made_here(g->src);
  if (!made && !g->dirty && !s->placing.active) {
    surg__save_copy(s, number, g->src);
    return;
  }
  surg__open open = surg__save_begin(s, number);
  if (made && !g->name_dirty && g->name && *g->name) surg__save_str(s, GRAPH_NAME, g->name);
  if (s->status == SURG_OK) splice(s, g->src.body, g, put_graph_list, g->first_init);
  surg__save_end(s, open);
}

static void put_function_head(surg__saver *s, const surg_function *f) {
  surg__save_str(s, FUNCTION_NAME, f->name);
  for (size_t i = 0; i + f->defaults.count < f->attrs.count; i++)
    surg__save_str(s, FUNCTION_ATTRIBUTE, f->attrs.items[i]);
  surg__save_str(s, FUNCTION_DOMAIN, f->domain);
  if (*f->overload) surg__save_str(s, FUNCTION_OVERLOAD, f->overload);
}

void surg__save_function(surg__saver *s, const surg_function *f) {
  bool made = surg__save_made_here(f->src);
  bool dirty = f->dirty || f->imports_dirty || f->body->dirty || s->placing.active;
  if (!made && !dirty) {
    surg__save_copy(s, MODEL_FUNCTION, f->src);
    return;
  }
  surg__open open = surg__save_begin(s, MODEL_FUNCTION);
  if (made) put_function_head(s, f);
  if (s->status == SURG_OK) splice(s, f->src.body, f, put_function_list, NULL);
  surg__save_end(s, open);
}
