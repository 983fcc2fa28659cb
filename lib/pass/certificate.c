/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates: collects edits from the events of the model, and writes steps. */
#include <errno.h>
#include <onnxsurg/run.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "base/sha256.h"
#include "ir/ir.h" /* for surg_node.src alone */
#include "pass/certificate_internal.h"
#include "pass/internal.h"

#define FLUSH_BYTES 65536u
#define READ_BYTES (1u << 18)

/* ---- names ----------------------------------------------------------------------------------- */

static size_t slot_of(const surg__certificate *c, const void *handle) {
  uint64_t h = (uintptr_t)handle;
  h = (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
  size_t at = (size_t)(h >> 20) & (c->room - 1);
  while (c->table[at] && c->things.items[c->table[at] - 1].handle != handle)
    at = (at + 1) & (c->room - 1);
  return at;
}

static bool grow(surg__certificate *c) {
  const size_t room = c->room ? c->room * 2 : 1024;
  uint32_t *table = surg__calloc(c->ctx, room, sizeof *table);
  if (!table) return false;
  surg__free(c->ctx, c->table);
  c->table = table;
  c->room = room;
  for (size_t i = 0; i < c->things.count; i++)
    c->table[slot_of(c, c->things.items[i].handle)] = (uint32_t)i + 1;
  return true;
}

surg__cert_thing *surg__cert_thing_of(surg__certificate *c, const void *handle, char kind) {
  assert(handle && (kind == 'n' || kind == 'v' || kind == 'g'));
  if (c->things.count * 2 >= c->room && (c->things.count >= UINT32_MAX / 4 || !grow(c))) {
    c->failed = true;
    return NULL;
  }
  const size_t at = slot_of(c, handle);
  if (c->table[at]) return &c->things.items[c->table[at] - 1];
  uint32_t *made = &c->made[kind == 'n' ? 0 : kind == 'v' ? 1 : 2];
  if (!surg__vec_push(c->ctx, &c->things,
                      ((surg__cert_thing){.handle = handle, .kind = kind, .index = *made + 1}))) {
    c->failed = true;
    return NULL;
  }
  ++*made;
  c->table[at] = (uint32_t)c->things.count;
  return &c->things.items[c->things.count - 1];
}

void surg__cert_touch(surg__certificate *c, const void *handle, char kind) {
  surg__cert_thing *t = handle ? surg__cert_thing_of(c, handle, kind) : NULL;
  if (!t || t->touched) return;
  t->touched = true;
  if (!surg__vec_push(c->ctx, &c->touched, (uint32_t)(t - c->things.items))) c->failed = true;
}

static json_t *name_of(surg__certificate *c, const void *handle, char kind) {
  const surg__cert_thing *t = surg__cert_thing_of(c, handle, kind);
  if (!t) return NULL;
  surg__buf b;
  surg__buf_init(&b, c->ctx);
  if (!t->original)
    surg__buf_printf(&b, "%c%lu", kind, (unsigned long)t->index);
  else if (kind == 'g')
    surg__buf_printf(&b, "%lu", (unsigned long)t->graph);
  else if (kind == 'n')
    surg__buf_printf(&b, "%lu.%lu", (unsigned long)t->graph, (unsigned long)t->index);
  else
    surg__buf_printf(&b, "%lu/%s", (unsigned long)t->graph, t->name);
  surg__buf_putc(&b, 0);
  json_t *j = b.failed ? NULL : surg__json_text(c->ctx, b.p);
  surg__buf_free(&b);
  return j;
}

json_t *surg__certificate_node(surg__certificate *c, surg_node *n) {
  return n ? name_of(c, n, 'n') : json_null();
}

json_t *surg__certificate_value(surg__certificate *c, const surg_value *v) {
  return v ? name_of(c, v, 'v') : json_null();
}

json_t *surg__cert_graph(surg__certificate *c, surg_graph *g) {
  surg__cert_thing *t = surg__cert_thing_of(c, g, 'g');
  if (t && !t->original && !t->written) { /* a new graph: its content belongs to this step */
    t->written = true;
    surg__cert_touch(c, g, 'g');
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      surg__cert_touch(c, n, 'n');
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (surg_value_is_initializer(v)) surg__cert_touch(c, v, 'v');
  }
  return name_of(c, g, 'g');
}

/* ---- the original ---------------------------------------------------------------------------- */

typedef SURG_VEC(surg_graph *) graphs;

static bool push_subgraphs(surg__certificate *c, graphs *list, surg_node *n) {
  surg_graph *g;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    for (size_t k = 0; (g = surg_attr_graph(surg_node_attr_at(n, i), k)); k++)
      if (!surg__vec_push(c->ctx, list, g)) return false;
  return true;
}

/* Lists the graphs of the model: main, functions, then subgraphs breadth first. */
static bool list_graphs(surg__certificate *c, graphs *list) {
  bool ok = surg__vec_push(c->ctx, list, surg_model_graph(c->model));
  for (size_t i = 0; ok && i < surg_model_function_count(c->model); i++)
    ok = surg__vec_push(c->ctx, list, surg_function_graph(surg_model_function(c->model, i)));
  for (size_t i = 0; ok && i < list->count; i++)
    for (surg_node *n = surg_graph_first_node(list->items[i]); n && ok; n = surg_node_next(n))
      ok = push_subgraphs(c, list, n);
  return ok;
}

static void name_original(surg__certificate *c, const void *handle, char kind, size_t graph,
                          size_t index, const char *name) {
  surg__cert_thing *t = surg__cert_thing_of(c, handle, kind);
  if (!t) return;
  t->original = t->written = true;
  t->graph = (uint32_t)graph;
  t->index = (uint32_t)index;
  t->name = name;
}

static int by_place(const void *a, const void *b) {
  const surg_node *const *x = a, *const *y = b;
  return (*x)->src.field_off < (*y)->src.field_off ? -1 : (*x)->src.field_off > (*y)->src.field_off;
}

/* Names the nodes of a graph in the order of the file, which loading may have sorted. */
static void name_nodes(surg__certificate *c, surg_graph *g, size_t graph) {
  SURG_VEC(surg_node *) nodes = {0};
  bool sorted = true;
  for (surg_node *n = surg_graph_first_node(g); n && !c->failed; n = surg_node_next(n)) {
    if (nodes.count && by_place(&nodes.items[nodes.count - 1], &n) > 0) sorted = false;
    if (!surg__vec_push(c->ctx, &nodes, n)) c->failed = true;
  }
  if (!sorted) qsort(nodes.items, nodes.count, sizeof *nodes.items, by_place);
  for (size_t i = 0; i < nodes.count && !c->failed; i++)
    name_original(c, nodes.items[i], 'n', graph, i, NULL);
  surg__vec_free(c->ctx, &nodes);
}

/* Names everything in the model as of the original. */
static bool name_all(surg__certificate *c) {
  graphs list = {0};
  if (!list_graphs(c, &list)) c->failed = true;
  for (size_t i = 0; i < list.count && !c->failed; i++) {
    surg_graph *g = list.items[i];
    name_original(c, g, 'g', i, 0, NULL);
    name_nodes(c, g, i);
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      name_original(c, v, 'v', i, 0, surg_value_name(v));
  }
  surg__vec_free(c->ctx, &list);
  memset(c->made, 0, sizeof c->made);
  return !c->failed;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void flush(surg__certificate *c) {
  if (c->line.n && fwrite(c->line.p, 1, c->line.n, c->out) != c->line.n && !c->error)
    c->error = errno ? errno : EIO;
  c->line.n = 0;
}

static void put_line(surg__certificate *c, json_t *j) {
  surg__json_put(&c->line, j);
  surg__buf_putc(&c->line, '\n');
  if (c->line.n >= FLUSH_BYTES) flush(c);
}

static json_t *imports_of(surg__certificate *c) {
  json_t *j = json_object();
  for (size_t i = 0; i < surg_model_import_count(c->model); i++)
    json_object_set_new(j, surg_model_import_domain(c->model, i),
                        json_integer(surg_model_import_version(c->model, i)));
  return j;
}

/* The imports, if the reader does not know them. */
static json_t *new_imports(surg__certificate *c) {
  json_t *now = c->imports ? imports_of(c) : NULL;
  c->imports = false;
  if (!now || json_equal(now, c->stated)) {
    json_decref(now);
    return NULL;
  }
  json_decref(c->stated);
  c->stated = json_incref(now);
  return now;
}

/* States one thing that changed. The list of what changed may grow meanwhile. */
static void state(surg__certificate *c, const surg__cert_thing *t, json_t *erased, json_t *nodes,
                  json_t *constants, json_t *all) {
  surg_node *n = (surg_node *)(uintptr_t)t->handle;
  const surg_value *v = t->handle;
  surg_graph *g = (surg_graph *)(uintptr_t)t->handle;
  json_t *name = name_of(c, t->handle, t->kind), *content = NULL, *to = NULL;
  if (t->kind == 'n' && surg_node_erased(n)) {
    json_array_append(erased, name);
  } else if (t->kind == 'n') {
    content = surg__certificate_content(c, n);
    to = nodes;
  } else if (t->kind == 'g') {
    content = surg__cert_graph_content(c, g);
    to = all;
  } else if (!surg_value_erased(v) && surg_value_initializer(v)) {
    content = surg__certificate_tensor(c, surg_value_initializer(v));
    to = constants;
  }
  if (to && name) json_object_set_new(to, json_string_value(name), content);
  json_decref(name);
}

static void put_if(json_t *step, const char *key, json_t *part) {
  if (json_is_array(part) ? json_array_size(part) : json_object_size(part))
    json_object_set(step, key, part);
  json_decref(part);
}

static json_t *replaced_pairs(surg__certificate *c) {
  json_t *list = json_array();
  for (size_t i = 0; i < c->replaced.count; i++)
    json_array_append_new(list, json_pack("[o, o]", name_of(c, c->replaced.items[i].old, 'v'),
                                          name_of(c, c->replaced.items[i].by, 'v')));
  return list;
}

void surg__certificate_step(surg__certificate *c, json_t *label) {
  json_t *step = json_object(), *erased = json_array(), *nodes = json_object();
  json_t *constants = json_object(), *all = json_object(), *imports = c ? new_imports(c) : NULL;
  if (!c || (!c->touched.count && !c->replaced.count && !imports)) goto end;
  json_object_set_new(step, "step", json_integer((json_int_t)++c->steps));
  surg__json_set(c->ctx, step, "pass", c->pass);
  if (label) json_object_update(step, label);
  put_if(step, "replace", replaced_pairs(c));
  for (size_t i = 0; i < c->touched.count; i++) {
    const surg__cert_thing t = c->things.items[c->touched.items[i]];
    state(c, &t, erased, nodes, constants, all);
  }
  for (size_t i = 0; i < c->touched.count; i++)
    c->things.items[c->touched.items[i]].touched = false;
  if (json_object_size(nodes)) json_object_set_new(step, "after", surg__certificate_digest(nodes));
  json_object_set(step, "erase", erased);
  json_object_set(step, "nodes", nodes);
  json_object_set(step, "constants", constants);
  json_object_set(step, "graphs", all);
  if (imports) json_object_set(step, "imports", imports);
  put_line(c, json_incref(step));
  c->touched.count = c->replaced.count = 0;
end:
  json_decref(imports);
  json_decref(step);
  json_decref(erased);
  json_decref(nodes);
  json_decref(constants);
  json_decref(all);
  json_decref(label);
}

void surg__certificate_pass(surg__certificate *c, const char *pass) {
  if (!c) return;
  surg__certificate_step(c, NULL);
  c->pass = pass;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_event(void *user, const surg_event *e) {
  surg__certificate *c = user;
  switch (e->kind) {
    case SURG_EVENT_RENAME_NODE:
    case SURG_EVENT_RENAME_VALUE:
      return;
    case SURG_EVENT_REPLACE:
      if (!surg__vec_push(c->ctx, &c->replaced, ((surg__cert_replaced){e->value, e->other})))
        c->failed = true;
      return;
    case SURG_EVENT_INTERFACE:
      surg__cert_touch(c, e->graph, 'g');
      break;
    case SURG_EVENT_MODEL:
      c->imports = true;
      break;
    default:
      break;
  }
  surg__cert_touch(c, e->node, 'n');
  surg__cert_touch(c, e->value, 'v');
  surg__cert_touch(c, e->other, 'v');
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Computes the digest of a file; *bytes is its size. */
static surg_status file_digest(surg_context *ctx, const char *path, char out[SURG__SHA256_TEXT],
                               uint64_t *bytes) {
  surg__sha256 s;
  FILE *f = surg__os_fopen(path, "r");
  uint8_t *piece = f ? surg__alloc(ctx, READ_BYTES) : NULL;
  size_t n;
  if (!f) return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(errno));
  surg__sha256_init(&s);
  while (piece && (n = fread(piece, 1, READ_BYTES, f)) > 0) surg__sha256_add(&s, piece, n);
  const bool bad = ferror(f);
  fclose(f);
  surg__free(ctx, piece);
  if (!piece) return surg__oom(ctx, path);
  if (bad) return surg__error(ctx, SURG_EIO, path, "cannot read");
  *bytes = s.bytes;
  surg__sha256_text(&s, out);
  return SURG_OK;
}

static void release(surg__certificate *c) {
  if (c->out) fclose(c->out);
  json_decref(c->stated);
  surg__vec_free(c->ctx, &c->things);
  surg__vec_free(c->ctx, &c->touched);
  surg__vec_free(c->ctx, &c->replaced);
  surg__free(c->ctx, c->table);
  surg__buf_free(&c->line);
  surg__free(c->ctx, c);
}

static surg_status put_header(surg__certificate *c) {
  char digest[SURG__SHA256_TEXT];
  uint64_t bytes;
  const surg_status s = file_digest(c->ctx, surg_model_path(c->model), digest, &bytes);
  if (s) return s;
  put_line(c, json_pack("{s:i, s:s, s:o, s:{s:s, s:I}}", "certificate", 1, "onnxsurg",
                        surg_version(), "model", surg__json_text(c->ctx, surg_model_path(c->model)),
                        "input", "sha256", digest, "bytes", (json_int_t)bytes));
  return SURG_OK;
}

surg_status surg__certificate_open(surg_model *m, const char *path, surg__certificate **out) {
  surg_context *ctx = surg_model_context(m);
  *out = NULL;
  if (!path) return SURG_OK;
  surg__certificate *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) return surg__oom(ctx, NULL);
  *c = (surg__certificate){.ctx = ctx, .model = m, .path = path, .pass = "load"};
  surg__buf_init(&c->line, ctx);
  c->stated = imports_of(c);
  c->out = surg__os_fopen(path, "w");
  surg_status s = c->out ? put_header(c)
                         : surg__error(ctx, SURG_EIO, path, "cannot write: %s", strerror(errno));
  if (!s && !name_all(c)) s = surg__oom(ctx, path);
  if (!s) s = surg_model_listen(m, on_event, c);
  if (s)
    release(c);
  else
    *out = c;
  return s;
}

bool surg__certificate_restart(surg__certificate *c, surg_model *m) {
  if (!c) return true;
  surg_model_unlisten(c->model, on_event, c);
  c->model = m;
  c->things.count = c->touched.count = c->replaced.count = 0;
  c->imports = false;
  json_decref(c->stated);
  c->stated = imports_of(c);
  if (c->table) memset(c->table, 0, c->room * sizeof *c->table);
  put_line(c, json_pack("{s:b}", "undone", true));
  return name_all(c) && surg_model_listen(m, on_event, c) == SURG_OK;
}

/* The nodes of each graph of the result, in order. */
static void put_final(surg__certificate *c) {
  graphs list = {0};
  json_t *all = json_object();
  if (!list_graphs(c, &list)) c->failed = true;
  for (size_t i = 0; i < list.count && !c->failed; i++) {
    json_t *nodes = json_array(), *name = surg__cert_graph(c, list.items[i]);
    for (surg_node *n = surg_graph_first_node(list.items[i]); n; n = surg_node_next(n))
      json_array_append_new(nodes, name_of(c, n, 'n'));
    if (name)
      json_object_set_new(all, json_string_value(name), nodes);
    else
      json_decref(nodes);
    json_decref(name);
  }
  surg__vec_free(c->ctx, &list);
  put_line(c, json_pack("{s:o}", "order", all));
}

surg_status surg__certificate_close(surg__certificate *c, bool ok) {
  if (!c) return SURG_OK;
  surg_context *ctx = c->ctx;
  surg_model_unlisten(c->model, on_event, c);
  if (ok) surg__certificate_step(c, NULL);
  if (ok) put_final(c);
  flush(c);
  if (fclose(c->out) != 0 && !c->error) c->error = errno ? errno : EIO;
  c->out = NULL;
  surg_status s = SURG_OK;
  if (c->error) s = surg__error(ctx, SURG_EIO, c->path, "cannot write: %s", strerror(c->error));
  if (!s && (c->failed || c->line.failed)) s = surg__oom(ctx, c->path);
  release(c);
  return s;
}

surg__certificate *surg__certificate_of(const surg_pass_ctx *p) {
  return p->run->certificate;
}

surg_status surg_certificate_seal(surg_context *ctx, const char *certificate, const char *output) {
  char own[SURG__SHA256_TEXT], digest[SURG__SHA256_TEXT];
  uint64_t own_bytes, bytes;
  if (!ctx || !certificate || !output) return SURG_EUSAGE;
  surg_status s = file_digest(ctx, certificate, own, &own_bytes);
  if (!s) s = file_digest(ctx, output, digest, &bytes);
  if (s) return s;
  FILE *f = surg__os_fopen(certificate, "a");
  if (!f) return surg__error(ctx, SURG_EIO, certificate, "cannot write: %s", strerror(errno));
  const bool put = fprintf(f, "{\"output\":{\"sha256\":\"%s\",\"bytes\":%llu},\"above\":\"%s\"}\n",
                           digest, (unsigned long long)bytes, own) > 0;
  return fclose(f) == 0 && put ? SURG_OK : surg__error(ctx, SURG_EIO, certificate, "cannot write");
}
