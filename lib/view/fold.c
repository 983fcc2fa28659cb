/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes of a scene: its nodes, or folders of their names where there are too many. */
#include <stdlib.h>

#include "ir/folder.h"
#include "view/view.h"

#define RANGES 50u /* ranges of nodes of a graph without folders */

/* A node of the scene, and the folder that it is in. */
typedef struct entry {
  const char *folder; /* not NUL-terminated; NULL: none */
  size_t length;
  uint32_t index; /* in the scene */
} entry;

/* The folder of a node below the first `depth` bytes of its path; *end: where it ends. */
static entry folder_of(const surg_node *n, uint32_t index, size_t depth) {
  const char *path = surg__node_path(n), *last = strrchr(path, '/');
  entry e = {.index = index};
  if (!last || strlen(path) < depth) return e;
  const char *p = path + depth;
  while (*p == '/') p++;
  const char *slash = strchr(p, '/');
  if (!slash || slash == p) return e;
  e.folder = p;
  e.length = (size_t)(slash - p);
  return e;
}

static int by_folder(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (!x->folder || !y->folder) {
    if (x->folder || y->folder) return x->folder ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
  }
  const size_t n = x->length < y->length ? x->length : y->length;
  const int c = memcmp(x->folder, y->folder, n);
  if (c) return c;
  if (x->length != y->length) return x->length < y->length ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static bool same_folder(const entry *a, const entry *b) {
  return a->folder && b->folder && a->length == b->length &&
         memcmp(a->folder, b->folder, a->length) == 0;
}

/* A box that will be made: a node alone, or the nodes first ... first + count - 1 of `entries`. */
typedef struct part {
  uint32_t first, count, index; /* index: of its first node, for the order of boxes */
} part;

static int by_index(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Splits the sorted entries into boxes. */
static size_t split(const entry *entries, size_t n, part *parts) {
  size_t count = 0;
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && same_folder(&entries[i], &entries[end])) end++;
    parts[count++] = (part){(uint32_t)i, (uint32_t)(end - i), entries[i].index};
    i = end;
  }
  qsort(parts, count, sizeof *parts, by_index);
  return count;
}

/* Ranges of nodes in the order of the graph. */
static size_t split_ranges(size_t n, part *parts) {
  const size_t each = (n + RANGES - 1) / RANGES;
  size_t count = 0;
  for (size_t i = 0; i < n; i += each)
    parts[count++] = (part){(uint32_t)i, (uint32_t)(n - i < each ? n - i : each), (uint32_t)i};
  return count;
}

static const char *part_name(surg__view *v, const entry *e, const part *p, bool ranges) {
  surg__buf b;
  surg__buf_init(&b, v->ctx);
  if (ranges)
    surg__buf_printf(&b, "nodes %u to %u", e[p->first].index, e[p->first + p->count - 1].index);
  else
    surg__buf_escape(&b, e[p->first].folder, e[p->first].length, 0);
  return surg__view_text(v, &b);
}

/* Makes the box of a folder or range with a scene of its own. */
static bool add_group(surg__view *v, surg__scene *s, const entry *e, const part *p, bool ranges,
                      surg__box *b) {
  surg_node **nodes = surg__view_array(v, p->count, sizeof(surg_node *));
  if (!nodes) return false;
  for (uint32_t i = 0; i < p->count; i++) nodes[i] = s->nodes[e[p->first + i].index];
  *b = (surg__box){
      .kind = SURG__BOX_GROUP, .mark = -1, .nodes = p->count, .name = part_name(v, e, p, ranges)};
  b->scene = v->o.form == SURG_VIEW_HTML ? surg__view_add(v, s->graph, nodes, p->count) : VIEW_NONE;
  if (b->scene != VIEW_NONE)
    v->scenes.items[b->scene]->depth =
        ranges ? s->depth
               : (size_t)(e[p->first].folder - surg__node_path(nodes[0])) + e[p->first].length;
  for (uint32_t i = 0; i < p->count; i++) {
    const int mark = surg__view_mark(v, nodes[i]);
    if (mark > b->mark) b->mark = mark;
    if (surg__view_change(v, nodes[i])) b->change = SURG_DIFF_MARK_CHANGED;
  }
  return v->status == SURG_OK;
}

static bool add_boxes(surg__view *v, surg__scene *s, const entry *e, const part *parts,
                      size_t n_parts, bool ranges) {
  s->boxes = surg__view_array(v, n_parts, sizeof *s->boxes);
  if (!s->boxes) return false;
  s->lay.n = n_parts;
  for (size_t i = 0; i < n_parts; i++) {
    const part *p = &parts[i];
    surg__box *b = &s->boxes[i];
    surg_node *n = s->nodes[e[p->first].index];
    if (p->count > 1) {
      if (!add_group(v, s, e, p, ranges, b)) return false;
    } else {
      *b = (surg__box){.kind = SURG__BOX_NODE,
                       .node = n,
                       .family = surg__family_of(n),
                       .mark = surg__view_mark(v, n),
                       .change = surg__view_change(v, n),
                       .scene = VIEW_NONE};
    }
    for (uint32_t k = 0; k < p->count; k++)
      v->boxes[surg__view_number(v, s->nodes[e[p->first + k].index])] = (uint32_t)i;
  }
  return true;
}

/* Lists the nodes that have boxes. */
static size_t list(const surg__scene *s, entry *entries, size_t depth) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_nodes; i++)
    if (!surg__view_hidden(s->nodes[i]))
      entries[n++] = depth == SIZE_MAX ? (entry){.index = (uint32_t)i}
                                       : folder_of(s->nodes[i], (uint32_t)i, depth);
  return n;
}

bool surg__view_boxes(surg__view *v, surg__scene *s) {
  entry *entries = surg__view_array(v, s->n_nodes, sizeof *entries);
  part *parts = surg__view_array(v, s->n_nodes, sizeof *parts);
  if (!entries || !parts) return false;
  size_t n = list(s, entries, SIZE_MAX);
  const bool large = n > VIEW_MOST_FLAT || n > s->room;
  size_t count = split(entries, n, parts);
  if (!large && !v->o.fold) return add_boxes(v, s, entries, parts, count, false);
  for (;;) { /* down to the first folder that does not contain all */
    n = list(s, entries, s->depth);
    qsort(entries, n, sizeof *entries, by_folder);
    count = split(entries, n, parts);
    if (count != 1 || n < 2 || !entries[0].folder) break;
    s->depth = (size_t)(entries[0].folder - surg__node_path(s->nodes[entries[0].index])) +
               entries[0].length;
  }
  s->folded = count < n;
  if (!large || (count <= VIEW_MOST_FOLDED && count < n))
    return add_boxes(v, s, entries, parts, count, false);
  n = list(s, entries, SIZE_MAX);
  s->folded = true;
  return add_boxes(v, s, entries, parts, split_ranges(n, parts), true);
}
