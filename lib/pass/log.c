/* SPDX-License-Identifier: Apache-2.0 */
/* --log and --map. Both subscribe to the events of the model: the log writes each event as one line
 * of JSON, the map collects them and writes at the end what became of each name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/os/os.h"
#include "pass/internal.h"

#define FLUSH_BYTES 65536u
#define MAX_SCOPES 128u

/* One event of a handle (node or value), in order of events; sorted by handle when the map is
 * written. */
typedef struct fate {
  const void *handle;
  size_t seq;
  const char *old_name; /* before a rename; in the arena */
  const void *to;       /* value that replaces it */
  const surg_graph *graph;
  bool node, created, erased;
} fate;

struct surg__log {
  surg_context *ctx;
  surg_model *model;
  const char *log_path, *map_path;
  FILE *out;
  FILE *map;
  surg__buf line;
  int error; /* errno of the first failed write */
  bool no_memory;
  const char *pass;
  surg__arena arena;
  SURG_VEC(fate) fates;
};

/* Names in the log, by surg_event_kind. */
static const char *const event_names[] = {
    [SURG_EVENT_CREATE_NODE] = "create-node",
    [SURG_EVENT_ERASE_NODE] = "erase-node",
    [SURG_EVENT_CREATE_VALUE] = "create-value",
    [SURG_EVENT_ERASE_VALUE] = "erase-value",
    [SURG_EVENT_RENAME_NODE] = "rename-node",
    [SURG_EVENT_RENAME_VALUE] = "rename-value",
    [SURG_EVENT_REPLACE] = "replace",
    [SURG_EVENT_SET_INPUT] = "set-input",
    [SURG_EVENT_SET_OUTPUT] = "set-output",
    [SURG_EVENT_SET_ATTR] = "set-attr",
    [SURG_EVENT_INTERFACE] = "interface",
    [SURG_EVENT_MODEL] = "model",
    [SURG_EVENT_MOVE] = "move",
    [SURG_EVENT_SET_OP] = "set-op",
};
_Static_assert(SURG_COUNT(event_names) == SURG_EVENT_SET_OP + 1, "an event has no name");

static void flush(surg__log *l) {
  if (l->out && l->line.n && fwrite(l->line.p, 1, l->line.n, l->out) != l->line.n && !l->error)
    l->error = errno ? errno : EIO;
  l->line.n = 0;
}

/* Writes one line and releases `event`. */
static void put_line(surg__log *l, json_t *event) {
  surg__json_put(&l->line, event);
  surg__buf_putc(&l->line, '\n');
  if (l->line.n >= FLUSH_BYTES) flush(l);
}

static json_t *new_event(const surg__log *l, const char *name) {
  json_t *j = json_object();
  surg__json_set(l->ctx, j, "event", name);
  if (l->pass) surg__json_set(l->ctx, j, "pass", l->pass);
  return j;
}

/* Sets the path of a graph: `main`, `main/If_5.then_branch`, `com.acme.F/Loop_1.body`. */
static void set_graph(const surg__log *l, json_t *j, const surg_graph *g) {
  const surg_graph *chain[MAX_SCOPES];
  size_t n = 0;
  surg__buf path;
  surg__buf_init(&path, l->ctx);
  for (; g && surg_graph_parent_node(g) && n < MAX_SCOPES; g = surg_graph_parent(g)) chain[n++] = g;
  const surg_function *f = g ? surg_graph_function(g) : NULL;
  if (f)
    surg__buf_printf(&path, "%s.%s", surg_function_domain(f), surg_function_name(f));
  else
    surg__buf_puts(&path, "main");
  while (n-- > 0)
    surg__buf_printf(&path, "/%s.%s", surg_node_name(surg_graph_parent_node(chain[n])),
                     surg_graph_parent_attr(chain[n]));
  surg__buf_putc(&path, 0);
  surg__json_set(l->ctx, j, "graph", path.failed ? NULL : path.p);
  surg__buf_free(&path);
}

static void log_event(surg__log *l, const surg_event *e) {
  json_t *j = new_event(l, event_names[e->kind]);
  if (l->ctx->rule) surg__json_set(l->ctx, j, "rule", l->ctx->rule);
  if (e->graph) set_graph(l, j, e->graph);
  if (e->node) {
    surg__json_set(l->ctx, j, "node", surg_node_name(e->node));
    surg__json_set(l->ctx, j, "op", surg_node_op_type(e->node));
  }
  if (e->value) surg__json_set(l->ctx, j, "value", surg_value_name(e->value));
  if (e->other) surg__json_set(l->ctx, j, "other", surg_value_name(e->other));
  if (e->old_name) surg__json_set(l->ctx, j, "old", e->old_name);
  put_line(l, j);
}

static void map_event(surg__log *l, const surg_event *e) {
  fate f = {.seq = l->fates.count, .graph = e->graph};
  switch (e->kind) {
    case SURG_EVENT_CREATE_NODE:
    case SURG_EVENT_ERASE_NODE:
    case SURG_EVENT_RENAME_NODE:
      f.handle = e->node, f.node = true;
      break;
    case SURG_EVENT_CREATE_VALUE:
    case SURG_EVENT_ERASE_VALUE:
    case SURG_EVENT_RENAME_VALUE:
      f.handle = e->value;
      break;
    case SURG_EVENT_REPLACE:
      f.handle = e->value, f.to = e->other;
      break;
    default:
      return;
  }
  f.created = e->kind == SURG_EVENT_CREATE_NODE || e->kind == SURG_EVENT_CREATE_VALUE;
  f.erased = e->kind == SURG_EVENT_ERASE_NODE || e->kind == SURG_EVENT_ERASE_VALUE;
  if (e->old_name) {
    f.old_name = surg__arena_strn(&l->arena, e->old_name, strlen(e->old_name));
    if (!f.old_name) l->no_memory = true;
  }
  if (!surg__vec_push(l->ctx, &l->fates, f)) l->no_memory = true;
}

static void on_event(void *user, const surg_event *e) {
  surg__log *l = user;
  if ((unsigned)e->kind >= SURG_COUNT(event_names)) return;
  if (l->out) log_event(l, e);
  if (l->map) map_event(l, e);
}

/* ---- the map ------------------------------------------------------------------------------- */

static int by_handle(const void *a, const void *b) {
  const fate *x = a, *y = b;
  if (x->handle != y->handle) return (uintptr_t)x->handle < (uintptr_t)y->handle ? -1 : 1;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_seq(const void *a, const void *b) {
  const fate *x = *(const fate *const *)a, *y = *(const fate *const *)b;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Merges the events of each handle into one: its first name, its last replacement, whether it is
 * erased. Leaves `fates` sorted by handle. */
static void merge(surg__log *l) {
  fate *all = l->fates.items;
  size_t n = 0;
  if (l->fates.count) qsort(all, l->fates.count, sizeof *all, by_handle);
  for (size_t i = 0; i < l->fates.count; i++) {
    if (n == 0 || all[n - 1].handle != all[i].handle) {
      all[n++] = all[i];
      continue;
    }
    fate *f = &all[n - 1];
    if (!f->old_name) f->old_name = all[i].old_name;
    if (all[i].to) f->to = all[i].to;
    f->erased |= all[i].erased;
  }
  l->fates.count = n;
}

static const fate *fate_of(const surg__log *l, const void *handle) {
  size_t lo = 0, hi = l->fates.count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (l->fates.items[mid].handle == handle) return &l->fates.items[mid];
    if ((uintptr_t)l->fates.items[mid].handle < (uintptr_t)handle)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NULL;
}

/* The current name of a node or value, following replacements of erased values; NULL: it is
 * erased. */
static const char *name_now(const surg__log *l, const fate *f) {
  if (f->node) return f->erased ? NULL : surg_node_name(f->handle);
  const void *handle = f->handle;
  for (size_t hops = 0; f && f->erased; f = fate_of(l, handle)) {
    if (!f->to || hops++ > l->fates.count) return NULL;
    handle = f->to;
  }
  return surg_value_name(handle);
}

static void put_fate(surg__log *l, surg__buf *b, const fate *f, bool *first) {
  const char *was = f->old_name ? f->old_name
                    : f->node   ? surg_node_name(f->handle)
                                : surg_value_name(f->handle);
  const char *now = name_now(l, f);
  if (f->created || !*was || (now && strcmp(was, now) == 0)) return;
  surg__buf_puts(b, *first ? "\n  " : ",\n  ");
  *first = false;
  json_t *j = json_object();
  surg__json_set(l->ctx, j, "old", was);
  surg__json_set(l->ctx, j, "new", now);
  set_graph(l, j, f->graph);
  surg__json_put(b, j);
}

static void write_map(surg__log *l) {
  surg__buf b;
  surg__buf_init(&b, l->ctx);
  merge(l);
  const fate **order = surg__calloc(l->ctx, l->fates.count ? l->fates.count : 1, sizeof *order);
  if (!order) {
    l->no_memory = true;
    return;
  }
  for (size_t i = 0; i < l->fates.count; i++) order[i] = &l->fates.items[i];
  if (l->fates.count) qsort(order, l->fates.count, sizeof *order, by_seq);
  surg__buf_puts(&b, "{\"schema\":1");
  for (int nodes = 0; nodes < 2; nodes++) {
    bool first = true;
    surg__buf_puts(&b, nodes ? ",\n \"nodes\":[" : ",\n \"values\":[");
    for (size_t i = 0; i < l->fates.count; i++)
      if (order[i]->node == (nodes == 1)) put_fate(l, &b, order[i], &first);
    surg__buf_putc(&b, ']');
  }
  surg__buf_puts(&b, "}\n");
  if (b.failed)
    l->no_memory = true;
  else if (fwrite(b.p, 1, b.n, l->map) != b.n && !l->error)
    l->error = errno ? errno : EIO;
  surg__buf_free(&b);
  surg__free(l->ctx, order);
}

int surg__log_flush(surg__log *l) {
  if (!l || !l->out) return 0;
  flush(l);
  if (fflush(l->out) != 0 && !l->error) l->error = errno ? errno : EIO;
  return l->error;
}

void surg__log_failed(surg__log *l, int error) {
  if (l && !l->error) l->error = error;
}

/* ---- open and close ------------------------------------------------------------------------ */

static surg_status open_file(surg_context *ctx, const char *path, FILE **out) {
  if (!path) return SURG_OK;
  *out = surg__os_fopen(path, "w");
  if (*out) return SURG_OK;
  return surg__error(ctx, SURG_EIO, path, "cannot write: %s", strerror(errno));
}

static void release(surg__log *l) {
  if (l->out) fclose(l->out);
  if (l->map) fclose(l->map);
  surg__vec_free(l->ctx, &l->fates);
  surg__arena_free(&l->arena);
  surg__buf_free(&l->line);
  surg__free(l->ctx, l);
}

surg_status surg__log_open(surg_model *m, const char *log_path, const char *map_path,
                           surg__log **out) {
  surg_context *ctx = surg_model_context(m);
  *out = NULL;
  if (!log_path && !map_path) return SURG_OK;
  surg__log *l = surg__calloc(ctx, 1, sizeof *l);
  if (!l) return surg__oom(ctx, NULL);
  *l = (surg__log){.ctx = ctx, .model = m, .log_path = log_path, .map_path = map_path};
  surg__arena_init(&l->arena, ctx);
  surg__buf_init(&l->line, ctx);
  surg_status s = open_file(ctx, log_path, &l->out);
  if (!s) s = open_file(ctx, map_path, &l->map);
  if (!s) s = surg_model_listen(m, on_event, l);
  if (s) {
    release(l);
    return s;
  }
  if (l->out) {
    json_t *j = new_event(l, "run");
    json_object_set_new(j, "schema", json_integer(1));
    surg__json_set(ctx, j, "onnxsurg", surg_version());
    surg__json_set(ctx, j, "model", surg_model_path(m));
    put_line(l, j);
  }
  *out = l;
  return SURG_OK;
}

void surg__log_pass(surg__log *l, const char *pass, uint64_t round) {
  if (!l) return;
  l->pass = pass;
  if (!l->out) return;
  json_t *j = new_event(l, "pass-begin");
  json_object_set_new(j, "run", json_integer((json_int_t)round));
  put_line(l, j);
}

void surg__log_pass_end(surg__log *l, const char *result, uint64_t ns) {
  if (!l) return;
  if (l->out) {
    json_t *j = new_event(l, "pass-end");
    surg__json_set(l->ctx, j, "result", result);
    json_object_set_new(j, "ns", json_integer((json_int_t)ns));
    put_line(l, j);
  }
  l->pass = NULL;
}

void surg__log_note(surg__log *l, const char *text) {
  if (!l || !l->out) return;
  json_t *j = new_event(l, "note");
  surg__json_set(l->ctx, j, "text", text);
  put_line(l, j);
}

static void close_file(surg__log *l, FILE **f) {
  if (*f && fclose(*f) != 0 && !l->error) l->error = errno ? errno : EIO;
  *f = NULL;
}

bool surg__log_restart(surg__log *l, surg_model *m) {
  if (!l) return true;
  if (surg_model_listen(m, on_event, l) != SURG_OK) return false;
  surg_model_unlisten(l->model, on_event, l);
  l->model = m;
  l->fates.count = 0;
  return true;
}

surg_status surg__log_close(surg__log *l, bool ok) {
  if (!l) return SURG_OK;
  surg_context *ctx = l->ctx;
  surg_status s = SURG_OK;
  surg_model_unlisten(l->model, on_event, l);
  flush(l);
  close_file(l, &l->out);
  if (l->error) s = surg__error(ctx, SURG_EIO, l->log_path, "cannot write: %s", strerror(l->error));
  l->error = 0;
  if (!s && ok && l->map && !l->no_memory) write_map(l);
  close_file(l, &l->map);
  if (!s && l->error)
    s = surg__error(ctx, SURG_EIO, l->map_path, "cannot write: %s", strerror(l->error));
  if (!s && (l->no_memory || l->line.failed)) s = surg__oom(ctx, NULL);
  release(l);
  return s;
}
