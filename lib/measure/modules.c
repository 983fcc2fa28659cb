/* SPDX-License-Identifier: Apache-2.0 */
/* Cost and weights by folder of names of nodes (onnxsurg/info.h). */
#include <onnxsurg/info.h>
#include <stdlib.h>

#include "base/diag.h"
#include "ir/folder.h"
#include "measure/measure.h"

#define MOST_DEPTH 64u

struct surg_modules {
  surg_context *ctx;
  surg__arena arena; /* of the names */
  SURG_VEC(surg_info_module) rows;
};

/* A node, and its folder down to the depth that is wanted. */
typedef struct entry {
  const char *path; /* not NUL-terminated */
  size_t length;
  const surg_node *node;
  uint64_t parameters;
  int64_t macs, flops;
} entry;

typedef struct state {
  surg_context *ctx;
  const surg_info *info;
  surg_model *m;
  entry *entries; /* sorted by address of the node, then by folder */
  size_t n;
  size_t depth;
} state;

/* The folder of a node, cut after `depth` components. */
static void set_folder(entry *e, size_t depth) {
  const char *path = surg__node_path(e->node), *last = strrchr(path, '/');
  while (*path == '/') path++;
  e->path = path;
  const char *end = path;
  for (size_t i = 0; last && i < depth && end < last; i++) {
    const char *slash = strchr(end + (end != path), '/');
    if (!slash || slash > last) break;
    end = slash;
  }
  e->length = (size_t)(end - path);
}

static int by_node(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const uintptr_t p = (uintptr_t)x->node, q = (uintptr_t)y->node;
  return p < q ? -1 : p > q;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Compares folders, runs of digits by their number: layer.2 comes before layer.10. A folder comes
 * before those in it. */
static int compare(const char *a, size_t n, const char *b, size_t k) {
  size_t i = 0, j = 0;
  while (i < n && j < k) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      while (i < n && a[i] == '0') i++;
      while (j < k && b[j] == '0') j++;
      size_t p = i, q = j;
      while (p < n && is_digit(a[p])) p++;
      while (q < k && is_digit(b[q])) q++;
      if (p - i != q - j) return p - i < q - j ? -1 : 1;
      const int c = memcmp(a + i, b + j, p - i);
      if (c) return c;
      i = p;
      j = q;
      continue;
    }
    if (a[i] != b[j]) {
      if (a[i] == '/' || b[j] == '/') return a[i] == '/' ? -1 : 1;
      return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
    }
    i++;
    j++;
  }
  if (n - i != k - j) return n - i < k - j ? -1 : 1;
  /* Equal but for zeros in front of numbers. */
  return n != k ? (n < k ? -1 : 1) : memcmp(a, b, n);
}

static int by_folder(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const int c = compare(x->path, x->length, y->path, y->length);
  return c ? c : by_node(a, b);
}

static entry *entry_of(const state *s, const surg_node *n) {
  const entry key = {.node = n};
  return s->n ? bsearch(&key, s->entries, s->n, sizeof key, by_node) : NULL;
}

static bool list(state *s) {
  size_t most = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->m, g));)
    most += surg_graph_node_count(g);
  s->entries = surg__calloc(s->ctx, most + 1, sizeof *s->entries);
  if (!s->entries) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n && s->n < most; n = surg_node_next(n)) {
      entry *e = &s->entries[s->n++];
      e->node = n;
      set_folder(e, s->depth);
    }
  qsort(s->entries, s->n, sizeof *s->entries, by_node);
  return true;
}

/* The first node of the graph of a constant that reads it, otherwise one of an inner graph. */
static const surg_node *first_reader(const surg_value *v) {
  const surg_node *first = NULL;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (!n) continue;
    const bool own = surg_node_graph(n) == surg_value_graph(v);
    const bool had = first && surg_node_graph(first) == surg_value_graph(v);
    if (!first || (own && !had) || (own && surg_node_before(n, first))) first = n;
  }
  return first;
}

/* Adds each constant to its first reader. */
static void add_parameters(state *s) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->m, g));)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      const surg_tensor *t = surg_value_constant(v);
      const surg_node *n = t ? first_reader(v) : NULL;
      entry *e = n ? entry_of(s, n) : NULL;
      if (e) e->parameters += surg_tensor_count(t);
    }
}

static void add_costs(state *s) {
  surg_info_node c = {.size = sizeof c};
  for (size_t i = 0; surg_info_cost(s->info, i, &c) == SURG_OK; i++) {
    entry *e = entry_of(s, c.node);
    if (!e) continue;
    e->macs = c.macs_at_1;
    e->flops = c.flops_at_1;
  }
}

/* Numbers below 0 mean that there is no size, so there is no sum. */
static int64_t sum(int64_t a, int64_t b) {
  int64_t r;
  if (a < 0 || b < 0) return -1;
  return surg__add_i64(a, b, &r) ? r : INT64_MAX;
}

static void add(surg_info_module *row, const entry *e) {
  row->nodes++;
  row->parameters += e->parameters;
  row->macs_at_1 = sum(row->macs_at_1, e->macs);
  row->flops_at_1 = sum(row->flops_at_1, e->flops);
}

/* The end of component d (from 1 on) of a folder. */
static size_t component_end(const entry *e, size_t d) {
  size_t at = 0;
  for (size_t i = 0; i < d; i++) {
    at += i > 0; /* the slash */
    while (at < e->length && e->path[at] != '/') at++;
  }
  return at;
}

static size_t components(const entry *e) {
  size_t n = e->length > 0;
  for (size_t i = 0; i < e->length; i++) n += e->path[i] == '/';
  return n;
}

/* How many components two folders share. */
static size_t shared(const entry *a, const entry *b) {
  size_t n = 0, most = components(a);
  if (components(b) < most) most = components(b);
  while (n < most) {
    const size_t end = component_end(a, n + 1);
    if (component_end(b, n + 1) != end || memcmp(a->path, b->path, end) != 0) break;
    n++;
  }
  return n;
}

/* Makes the rows of sorted entries: one for the model, and one for each folder when its first node
 * comes. */
static bool make_rows(state *s, surg_modules *out) {
  size_t *open = surg__calloc(s->ctx, s->depth + 2, sizeof *open); /* the row at each depth */
  bool ok = open != NULL;
  for (size_t i = 0; i <= s->n && ok; i++) {
    const entry none = {.path = ""}, *e = i ? &s->entries[i - 1] : &none;
    const size_t n = components(e), from = i > 1 ? shared(e, e - 1) + 1 : 1;
    for (size_t d = i ? from : 0; d <= n && ok; d++) {
      const char *name = surg__arena_strn(&out->arena, e->path, component_end(e, d));
      const surg_info_module row = {.size = sizeof row, .name = name, .depth = d};
      ok = name && surg__vec_push(s->ctx, &out->rows, row);
      open[d] = out->rows.count - 1;
    }
    for (size_t d = 0; d <= n && ok && i; d++) add(&out->rows.items[open[d]], e);
  }
  surg__free(s->ctx, open);
  return ok;
}

surg_status surg_modules_new(const surg_info *info, size_t depth, surg_modules **out) {
  if (out) *out = NULL;
  if (!info || !out || !depth || depth > MOST_DEPTH) return SURG_EUSAGE;
  surg_model *m = surg__info_model(info);
  surg_context *ctx = surg_model_context(m);
  state s = {.ctx = ctx, .info = info, .m = m, .depth = depth};
  surg_modules *made = surg__calloc(ctx, 1, sizeof *made);
  if (!made) return surg__oom(ctx, NULL);
  made->ctx = ctx;
  surg__arena_init(&made->arena, ctx);
  bool ok = list(&s);
  if (ok) {
    add_parameters(&s);
    add_costs(&s);
    qsort(s.entries, s.n, sizeof *s.entries, by_folder);
    ok = make_rows(&s, made);
  }
  surg__free(ctx, s.entries);
  if (!ok) {
    surg_modules_free(made);
    return surg__oom(ctx, NULL);
  }
  *out = made;
  return SURG_OK;
}

surg_status surg_modules_at(const surg_modules *ms, size_t i, surg_info_module *out) {
  if (!ms || !out) return SURG_EUSAGE;
  if (i >= ms->rows.count) return SURG_ENOTFOUND;
  surg__struct_out(out, &ms->rows.items[i], sizeof ms->rows.items[i]);
  return SURG_OK;
}

void surg_modules_free(surg_modules *ms) {
  if (!ms) return;
  surg__vec_free(ms->ctx, &ms->rows);
  surg__arena_free(&ms->arena);
  surg__free(ms->ctx, ms);
}
