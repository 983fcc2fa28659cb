/* SPDX-License-Identifier: Apache-2.0 */
/* The scenes of a view: the first graph, what it contains folded, and so on while there is room. */
#include <stdlib.h>

#include "base/diag.h"
#include "view/view.h"

/* ---- nodes and captures ------------------------------------------------------------------------
 */

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (surg_node *const *)a, y = (uintptr_t) * (surg_node *const *)b;
  return x < y ? -1 : x > y;
}

static bool number_nodes(surg__view *v) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(v->m, g));)
    v->n_nodes += surg_graph_node_count(g);
  v->nodes = surg__view_array(v, v->n_nodes, sizeof(surg_node *));
  v->boxes = surg__view_array(v, v->n_nodes, sizeof *v->boxes);
  if (!v->nodes || !v->boxes) return false;
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(v->m, g));)
    for (surg_node *x = surg_graph_first_node(g); x && n < v->n_nodes; x = surg_node_next(x))
      v->nodes[n++] = x;
  v->n_nodes = n;
  qsort(v->nodes, n, sizeof(surg_node *), by_address);
  for (size_t i = 0; i < n; i++) v->boxes[i] = VIEW_NONE;
  return true;
}

uint32_t surg__view_number(const surg__view *v, const surg_node *n) {
  surg_node *const *at = bsearch(&n, v->nodes, v->n_nodes, sizeof(surg_node *), by_address);
  return at ? (uint32_t)(at - v->nodes) : VIEW_NONE;
}

typedef SURG_VEC(surg__capture) captures;

static int by_node(const void *a, const void *b) {
  const surg__capture *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  const uintptr_t p = (uintptr_t)x->value, q = (uintptr_t)y->value;
  return p < q ? -1 : p > q;
}

/* Adds a value that graph g reads to the nodes around g, up to the graph of the value. */
static bool capture(surg__view *v, captures *list, const surg_graph *g, surg_value *value) {
  for (; value && g && surg_value_graph(value) != g; g = surg_graph_parent(g)) {
    const surg_node *around = surg_graph_parent_node(g);
    if (!around) return true;
    if (!surg__vec_push(v->ctx, list, ((surg__capture){surg__view_number(v, around), value})))
      return false;
  }
  return true;
}

static bool find_captures(surg__view *v) {
  captures list = {0};
  bool ok = true;
  for (surg_graph *g = NULL; ok && (g = surg_model_next_graph(v->m, g));) {
    if (surg_graph_get_kind(g) != SURG_GRAPH_SUBGRAPH) continue;
    for (surg_node *n = surg_graph_first_node(g); n && ok; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n) && ok; i++)
        ok = capture(v, &list, g, surg_node_input(n, i));
    for (size_t i = 0; i < surg_graph_output_count(g) && ok; i++)
      ok = capture(v, &list, g, surg_graph_output(g, i));
  }
  if (ok && list.count) qsort(list.items, list.count, sizeof *list.items, by_node);
  v->captures = ok ? surg__view_array(v, list.count, sizeof *v->captures) : NULL;
  for (size_t i = 0; v->captures && i < list.count; i++)
    if (!i || by_node(&list.items[i - 1], &list.items[i]) != 0)
      v->captures[v->n_captures++] = list.items[i];
  surg__vec_free(v->ctx, &list);
  if (!v->captures && v->status == SURG_OK) v->status = surg__alloc_status(v->ctx);
  return v->captures != NULL;
}

/* ---- scenes -----------------------------------------------------------------------------------
 */

uint32_t surg__view_add(surg__view *v, surg_graph *g, surg_node **nodes, size_t n) {
  if (!v->room || v->status != SURG_OK) return VIEW_NONE;
  surg__scene *s = surg__view_array(v, 1, sizeof *s);
  if (!s) return VIEW_NONE;
  *s = (surg__scene){.graph = g, .nodes = nodes, .n_nodes = n, .parent = VIEW_NONE};
  s->room = n < v->room ? n : v->room;
  if (s->room > VIEW_MOST_FLAT) s->room = VIEW_MOST_FLAT;
  if (!s->room) s->room = 1;
  v->room -= s->room;
  if (!surg__vec_push(v->ctx, &v->scenes, s)) {
    v->status = surg__alloc_status(v->ctx);
    return VIEW_NONE;
  }
  return (uint32_t)(v->scenes.count - 1);
}

/* Adds the scene of a whole graph. */
static uint32_t add_graph(surg__view *v, surg_graph *g) {
  const size_t n = surg_graph_node_count(g);
  if (!v->room) return VIEW_NONE;
  surg_node **list = surg__view_array(v, n, sizeof(surg_node *));
  size_t k = 0;
  if (!list) return VIEW_NONE;
  for (surg_node *x = surg_graph_first_node(g); x && k < n; x = surg_node_next(x)) list[k++] = x;
  const uint32_t id = surg__view_add(v, g, list, k);
  if (id != VIEW_NONE) v->scenes.items[id]->whole = true;
  return id;
}

/* The scene of a function, which is added at its first call. */
static uint32_t function_scene(surg__view *v, surg_function *f) {
  surg_graph *g = surg_function_graph(f);
  for (size_t i = 0; i < v->scenes.count; i++)
    if (v->scenes.items[i]->graph == g && v->scenes.items[i]->whole) return (uint32_t)i;
  return add_graph(v, g);
}

static void adopt(surg__view *v, uint32_t child, uint32_t parent, const surg_node *owner,
                  const char *title) {
  if (child == VIEW_NONE || v->scenes.items[child]->title) return;
  surg__scene *s = v->scenes.items[child];
  s->parent = parent;
  s->owner = owner;
  s->title = title;
}

static const char *plain(surg__view *v, const char *text) {
  surg__buf b;
  surg__buf_init(&b, v->ctx);
  surg__buf_escape(&b, text, strlen(text), 0);
  const char *copy = surg__view_text(v, &b);
  return copy ? copy : "";
}

/* Adds a line about a graph that a box contains, and its scene. */
static void add_inner(surg__view *v, uint32_t parent, surg__box *b, surg_graph *g, const char *what,
                      surg_function *f) {
  const uint32_t scene = f ? function_scene(v, f) : add_graph(v, g);
  const size_t n = surg_graph_node_count(g);
  surg__buf text;
  surg__buf_init(&text, v->ctx);
  surg__buf_puts(&text, scene == VIEW_NONE ? "▷ " : "▶ ");
  surg__buf_escape(&text, what, strlen(what), 24);
  surg__buf_printf(&text, ": %zu node%s", n, n == 1 ? "" : "s");
  b->lines[b->n_lines++] =
      (surg__line){.text = surg__view_text(v, &text), .scene = scene, .kind = SURG__LINE_INNER};
  adopt(v, scene, parent, b->node, plain(v, what));
}

#define INNER_MOST 64u /* subgraphs of one node that are listed */

static bool add_inners(surg__view *v, uint32_t parent, surg__box *b) {
  size_t n = 0;
  surg_function *f = surg_node_function(b->node);
  while (n < INNER_MOST && surg_node_subgraph(b->node, n)) n++;
  if (!n && !f) return true;
  b->lines = surg__view_array(v, n + 1, sizeof *b->lines);
  if (!b->lines) return false;
  for (size_t k = 0; k < n; k++) {
    surg_graph *g = surg_node_subgraph(b->node, k);
    add_inner(v, parent, b, g, surg_graph_parent_attr(g), NULL);
  }
  if (f) add_inner(v, parent, b, surg_function_graph(f), surg_function_name(f), f);
  return v->status == SURG_OK;
}

/* Whether Graphviz is asked: not for large graphs, and not where links leave a box at several
 * points, which it does not know. */
static bool suits_dot(const surg__view *v, const surg__scene *s) {
  if (v->o.layout != SURG_VIEW_LAYOUT_AUTO) return v->o.layout == SURG_VIEW_LAYOUT_DOT;
  for (size_t i = 0; i < s->lay.n; i++)
    if (s->boxes[i].n_labels > 1) return false;
  return s->lay.n <= VIEW_MOST_DOT;
}

static bool lay_out(surg__view *v, surg__scene *s) {
  s->lay.arena = &v->arena;
  if (v->o.form == SURG_VIEW_DOT) return surg__view_label(v, s); /* Graphviz cuts no links */
  if (!surg__lay_layers(&s->lay) || !surg__view_label(v, s)) return false;
  const surg_status status = suits_dot(v, s) ? surg__view_graphviz(v, s) : SURG_ENOTFOUND;
  if (status == SURG_OK) return true;
  if (v->status != SURG_OK) return false;
  if (v->o.layout == SURG_VIEW_LAYOUT_DOT) {
    v->status = surg__error(v->ctx, SURG_EUNSUPPORTED, surg_model_path(v->m),
                            "the program `dot` of Graphviz is missing, failed, or needs more than "
                            "%d s; --layout own needs none",
                            VIEW_DOT_SECONDS);
    return false;
  }
  return surg__lay_place(&s->lay);
}

/* Builds scene `id`; gives back room that it does not need. */
static bool build(surg__view *v, uint32_t id) {
  surg__scene *s = v->scenes.items[id];
  if (!surg__view_boxes(v, s)) return false;
  size_t used = 0;
  for (size_t i = 0; i < s->lay.n; i++)
    used += s->boxes[i].kind == SURG__BOX_NODE || s->boxes[i].kind == SURG__BOX_GROUP;
  if (used < s->room) v->room += s->room - used;
  for (size_t i = 0; i < s->lay.n && v->status == SURG_OK; i++) {
    surg__box *b = &s->boxes[i];
    if (b->kind == SURG__BOX_NODE && !add_inners(v, id, b)) return false;
    if (b->kind == SURG__BOX_GROUP) adopt(v, b->scene, id, NULL, b->name);
  }
  return v->status == SURG_OK && surg__view_links(v, s);
}

bool surg__view_scenes(surg__view *v) {
  v->room = v->o.most_nodes ? v->o.most_nodes : VIEW_MOST_NODES;
  if (!number_nodes(v) || !find_captures(v) || !surg__view_marks(v)) return false;
  surg_graph *g = v->o.graph ? v->o.graph : surg_model_graph(v->m);
  const uint32_t first = add_graph(v, g);
  if (first == VIEW_NONE) return false;
  const char *name = surg_graph_name(g);
  v->scenes.items[0]->title = *name ? plain(v, name) : "graph";
  const bool all = v->o.form == SURG_VIEW_HTML;
  for (uint32_t i = 0; i < v->scenes.count && (all || i == 0); i++)
    if (!build(v, i) || !lay_out(v, v->scenes.items[i])) {
      if (v->status == SURG_OK) v->status = surg__alloc_status(v->ctx);
      return false;
    }
  return v->status == SURG_OK;
}
