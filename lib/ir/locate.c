/* SPDX-License-Identifier: Apache-2.0 */
/* Locations of objects, for messages: graph.node[5] "If_5" (If).then_branch.node[2]. */
#include <stdarg.h>
#include <stdio.h>

#include "ir/edit.h"

#define LEVELS 64 /* graphs that a location names, innermost first */

/* The cached location of `n` if the model is unchanged since then, or NULL. */
static struct surg__located *located(surg_model *m, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(m->located); i++)
    if (m->located[i].node == n && m->located[i].epoch == m->epoch) return &m->located[i];
  return NULL;
}

/* The number of nodes before n in its graph. Walks back to the nearest of the nodes located last:
 * locating all nodes in order takes linear time. */
static size_t index_of(const surg_node *n) {
  surg_model *m = n->graph->model;
  struct surg__located *last = NULL;
  size_t index = 0;
  for (const surg_node *p = n; p && !last; p = p->prev)
    if (!(last = located(m, p))) index++;
  if (last)
    index += last->index;
  else
    index--, last = &m->located[m->located_next++ % SURG_COUNT(m->located)];
  *last = (struct surg__located){n, index, m->epoch};
  return index;
}

static void put_index(surg__buf *b, const surg_node *n) {
  if (n->erased)
    surg__buf_puts(b, "node[erased]");
  else
    surg__buf_printf(b, "node[%zu]", index_of(n));
}

static void put_node(surg__buf *b, const surg_node *n) {
  put_index(b, n);
  if (n->name[0]) {
    surg__buf_puts(b, " \"");
    surg__buf_escape(b, n->name, strlen(n->name), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '"');
  }
  surg__buf_puts(b, " (");
  if (!surg__default_domain(n->domain)) {
    surg__buf_escape(b, n->domain, strlen(n->domain), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '.');
  }
  surg__buf_escape(b, n->op_type, strlen(n->op_type), SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(b, ')');
}

static void put_root(surg__buf *b, const surg_graph *g) {
  const surg_function *f = g->function;
  if (!f) {
    surg__buf_puts(b, g->kind == SURG_GRAPH_SUBGRAPH ? "subgraph" : "graph");
    return;
  }
  size_t index = 0;
  while (index < f->model->functions.count && f->model->functions.items[index] != f) index++;
  surg__buf_printf(b, "function[%zu] \"", index);
  if (f->domain[0]) {
    surg__buf_escape(b, f->domain, strlen(f->domain), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '.');
  }
  surg__buf_escape(b, f->name, strlen(f->name), SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(b, '"');
}

static void put_attr(surg__buf *b, const surg_graph *g) {
  const surg_attr *a = g->parent_attr;
  surg__buf_putc(b, '.');
  if (!a) {
    surg__buf_puts(b, "attribute");
    return;
  }
  surg__buf_escape(b, a->name, strlen(a->name), SURG_LIMIT_NAME_PRINT);
  if (a->kind != SURG_ATTR_GRAPHS) return;
  uint32_t i = 0;
  while (i < a->count && a->u.graphs[i] != g) i++;
  surg__buf_printf(b, "[%u]", i);
}

static void put_graph(surg__buf *b, const surg_graph *g) {
  const surg_graph *chain[LEVELS];
  size_t depth = 0;
  for (; g->parent_node && depth < LEVELS; g = g->parent_node->graph) chain[depth++] = g;
  if (g->parent_node)
    surg__buf_puts(b, "...");
  else
    put_root(b, g);
  while (depth) {
    const surg_graph *inner = chain[--depth];
    surg__buf_putc(b, '.');
    put_node(b, inner->parent_node);
    put_attr(b, inner);
  }
}

/* Copies the text to one of the rotating buffers of surg__q; returns the copy. */
static const char *keep(surg_context *ctx, surg__buf *b) {
  surg__buf_putc(b, 0);
  if (b->failed) {
    surg__buf_free(b);
    return "?";
  }
  unsigned slot = ctx->quote_next++ % SURG__QUOTES;
  surg__free(ctx, ctx->quotes[slot]);
  ctx->quotes[slot] = b->p;
  return b->p;
}

const char *surg__locate_graph(const surg_graph *g) {
  surg__buf b;
  surg__buf_init(&b, g->model->ctx);
  put_graph(&b, g);
  return keep(g->model->ctx, &b);
}

const char *surg__locate_node(const surg_node *n) {
  surg__buf b;
  surg__buf_init(&b, n->graph->model->ctx);
  put_graph(&b, n->graph);
  surg__buf_putc(&b, '.');
  put_node(&b, n);
  return keep(n->graph->model->ctx, &b);
}

static surg_status report(const surg_model *m, surg_status s, const char *where, const char *fmt,
                          va_list args) {
  char text[2048];
  vsnprintf(text, sizeof text, fmt, args);
  return surg__error(m->ctx, s, surg_model_path(m), "%s: %s", where, text);
}

surg_status surg__node_error(const surg_node *n, surg_status s, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *where = surg__locate_node(n);
  surg_status r = report(n->graph->model, s, where, fmt, args);
  va_end(args);
  return r;
}

surg_status surg__graph_error(const surg_graph *g, surg_status s, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *where = surg__locate_graph(g);
  surg_status r = report(g->model, s, where, fmt, args);
  va_end(args);
  return r;
}
