/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: a JSON object that lists parts in the order of their run, with their inputs and
 * outputs, which are connected by name.
 *
 *   {"onnxsurg_split": 1, "inputs": ["x"], "outputs": ["y"],
 *    "parts": [{"model": "a.onnx", "inputs": ["x"], "outputs": ["t"]}, ...],
 *    "values": [{"value": "t", "from": 0, "to": [1]}, ...]} */
#include <errno.h>
#include <onnxsurg/order.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/os/os.h"
#include "run/public.h"
#include "split/cost.h"

#define KEY "onnxsurg_split"
#define HEAD 4096u /* bytes that are searched for the key */

struct surg_manifest {
  surg_context *ctx;
  char *path;
  json_t *json; /* of doc */
  surg__json_doc doc;
  surg_model **parts;
  size_t n;
  surg__chain chain;
};

/* --- writing --- */

typedef size_t (*count_fn)(const surg_graph *g);
typedef surg_value *(*at_fn)(const surg_graph *g, size_t i);

static json_t *names_of(surg_context *ctx, const surg_graph *g, count_fn count, at_fn at) {
  json_t *list = json_array();
  for (size_t i = 0; i < count(g); i++)
    json_array_append_new(list, surg__json_text(ctx, surg_value_name(at(g, i))));
  return list;
}

static void put_interface(surg_context *ctx, json_t *o, const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  json_object_set_new(o, "inputs", names_of(ctx, g, surg_graph_input_count, surg_graph_input));
  json_object_set_new(o, "outputs", names_of(ctx, g, surg_graph_output_count, surg_graph_output));
}

static bool has_input(const surg_model *m, const char *name) {
  const surg_value *v = surg_graph_find_value(surg_model_graph(m), name);
  return v && surg_value_is_input(v);
}

/* The later parts that read an output of part k. */
static json_t *readers_of(surg_model *const *parts, size_t n, size_t k, const char *name) {
  json_t *to = json_array();
  for (size_t j = k + 1; j < n; j++)
    if (has_input(parts[j], name)) json_array_append_new(to, json_integer((json_int_t)j));
  return to;
}

static json_t *values_of(surg_context *ctx, surg_model *const *parts, size_t n) {
  json_t *list = json_array();
  for (size_t k = 0; k < n; k++) {
    const surg_graph *g = surg_model_graph(parts[k]);
    for (size_t i = 0; i < surg_graph_output_count(g); i++) {
      const char *name = surg_value_name(surg_graph_output(g, i));
      json_t *to = readers_of(parts, n, k, name), *o = json_object();
      if (!json_array_size(to)) {
        json_decref(to);
        json_decref(o);
        continue;
      }
      json_object_set_new(o, "value", surg__json_text(ctx, name));
      json_object_set_new(o, "from", json_integer((json_int_t)k));
      json_object_set_new(o, "to", to);
      json_array_append_new(list, o);
    }
  }
  return list;
}

surg_status surg_manifest_text(surg_model *whole, surg_model *const *parts,
                               const char *const *files, size_t n, char **text) {
  if (text) *text = NULL;
  if (!whole || !parts || !files || !text) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(whole);
  json_t *o = json_object(), *list = json_array();
  json_object_set_new(o, KEY, json_integer(1));
  put_interface(ctx, o, whole);
  for (size_t k = 0; k < n; k++) {
    json_t *part = json_object();
    json_object_set_new(part, "model", surg__json_text(ctx, files[k]));
    put_interface(ctx, part, parts[k]);
    json_array_append_new(list, part);
  }
  json_object_set_new(o, "parts", list);
  json_object_set_new(o, "values", values_of(ctx, parts, n));
  char *own = json_dumps(o, JSON_INDENT(1));
  json_decref(o);
  *text = own ? surg__strdup(ctx, own) : NULL;
  free(own);
  return *text ? SURG_OK : surg__oom(ctx, NULL);
}

/* --- reading --- */

/* Returns an error of the system, or 0. What is no file is no manifest: a pipe can be read once. */
static int look(const char *path, bool *is) {
  char head[HEAD + 1];
  size_t n = 0;
  surg__stat st;
  int fd, why = surg__os_stat(path, &st);
  *is = false;
  if (why || !st.regular) return why == ENOENT ? 0 : why;
  why = surg__os_open_read(-1, path, &fd);
  if (why) return why;
  why = surg__os_read(fd, head, HEAD, &n);
  surg__os_close(fd);
  if (why) return why;
  head[n] = 0;
  *is = head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"" KEY "\"");
  return 0;
}

bool surg_manifest_is(const char *path) {
  bool is;
  return path && look(path, &is) == 0 && is;
}

surg_status surg_manifest_detect(surg_context *ctx, const char *path, bool *is) {
  if (!ctx || !path || !is) return SURG_EUSAGE;
  const int why = look(path, is);
  if (!why) return SURG_OK;
  return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(why));
}

static surg_status invalid(const surg_manifest *x, const char *what) {
  return surg__error(x->ctx, SURG_EINVALID, x->path, "%s", what);
}

/* Whether a path stays below the folder of the manifest. */
static bool is_inside(const char *p) {
  if (!*p || *p == '/' || strchr(p, '\\') || strchr(p, ':')) return false;
  for (; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
    if (strncmp(p, "..", 2) == 0 && (!p[2] || p[2] == '/')) return false;
  return true;
}

/* Checks that a part has the inputs or outputs that are listed, in this order. */
static surg_status check_names(const surg_manifest *x, const json_t *list, const surg_model *m,
                               const char *kind, count_fn count, at_fn at) {
  const surg_graph *g = surg_model_graph(m);
  bool same = json_is_array(list) && json_array_size(list) == count(g);
  for (size_t i = 0; same && i < count(g); i++) {
    const char *name = json_string_value(json_array_get(list, i));
    same = name && strcmp(name, surg_value_name(at(g, i))) == 0;
  }
  if (same) return SURG_OK;
  return surg__error(x->ctx, SURG_EINVALID, surg_model_path(m),
                     "its %s are not those that the manifest lists; split the model again", kind);
}

static surg_status load_part(surg_manifest *x, size_t k, const surg_load_options *o) {
  const json_t *part = json_array_get(json_object_get(x->json, "parts"), k);
  const char *file = json_string_value(json_object_get(part, "model"));
  if (!file || !is_inside(file))
    return invalid(x, "\"model\" of a part is not a path inside the folder of the manifest");
  const char *base = surg__os_base_name(x->path);
  surg__buf b;
  surg__buf_init(&b, x->ctx);
  surg__buf_put(&b, x->path, (size_t)(base - x->path));
  surg__buf_puts(&b, file);
  surg__buf_putc(&b, 0);
  surg_status s =
      b.failed ? surg__alloc_status(x->ctx) : surg_model_load(x->ctx, b.p, o, &x->parts[k]);
  surg__buf_free(&b);
  if (s == SURG_OK)
    s = check_names(x, json_object_get(part, "inputs"), x->parts[k], "inputs",
                    surg_graph_input_count, surg_graph_input);
  if (s == SURG_OK)
    s = check_names(x, json_object_get(part, "outputs"), x->parts[k], "outputs",
                    surg_graph_output_count, surg_graph_output);
  return s;
}

static surg_status read_json(surg_manifest *x) {
  uint8_t *bytes = NULL;
  size_t n = 0;
  json_error_t e;
  const surg_status s = surg__file_read(x->ctx, x->path, &bytes, &n);
  if (s != SURG_OK) return s;
  const surg_status loaded =
      surg__json_read(x->ctx, x->path, (const char *)bytes, n, 0, &e, &x->doc);
  x->json = x->doc.value;
  const bool meant = n && strchr("{ \t\r\n", bytes[0]); /* no model begins with these */
  surg__free(x->ctx, bytes);
  if (loaded != SURG_OK) return loaded;
  if (!x->json && meant)
    return surg__error(x->ctx, SURG_EINVALID, x->path, "line %d: invalid JSON", e.line);
  const json_t *parts = json_object_get(x->json, "parts");
  if (json_integer_value(json_object_get(x->json, KEY)) != 1)
    return invalid(x, "is not a manifest of parts (\"" KEY "\": 1)");
  if (!json_is_array(parts) || !json_array_size(parts) ||
      json_array_size(parts) > SURG__SPLIT_PARTS)
    return invalid(x, "\"parts\" is not a list of parts");
  x->n = json_array_size(parts);
  x->parts = surg__calloc(x->ctx, x->n, sizeof *x->parts);
  if (!x->parts) x->n = 0;
  return x->parts ? SURG_OK : surg__alloc_status(x->ctx);
}

surg_status surg_manifest_load(surg_context *ctx, const char *path,
                               const surg_load_options *options, surg_manifest **out) {
  if (out) *out = NULL;
  if (!ctx || !path || !out) return SURG_EUSAGE;
  surg_manifest *x = surg__calloc(ctx, 1, sizeof *x);
  if (!x) return surg__oom(ctx, NULL);
  x->ctx = ctx;
  x->path = surg__strdup(ctx, path);
  surg_status s = x->path ? read_json(x) : surg__oom(ctx, NULL);
  for (size_t k = 0; s == SURG_OK && k < x->n; k++) s = load_part(x, k, options);
  if (s == SURG_OK)
    *out = x;
  else
    surg_manifest_free(x);
  if ((s == SURG_ENOMEM || s == SURG_ELIMIT) && !surg_context_error(ctx))
    return surg__oom(ctx, path);
  return s;
}

size_t surg_manifest_count(const surg_manifest *x) {
  return x ? x->n : 0;
}

surg_model *surg_manifest_part(const surg_manifest *x, size_t i) {
  return x && i < x->n ? x->parts[i] : NULL;
}

void surg_manifest_free(surg_manifest *x) {
  if (!x) return;
  for (size_t k = 0; k < x->n; k++) surg_model_free(x->parts[k]);
  surg__free(x->ctx, x->parts);
  surg__json_drop(x->ctx, &x->doc);
  surg__free(x->ctx, x->path);
  surg__free(x->ctx, x);
}

/* --- one model --- */

static bool is_listed(const json_t *list, const char *name) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *one = json_string_value(json_array_get(list, i));
    if (one && strcmp(one, name) == 0) return true;
  }
  return false;
}

/* Whether nothing, or only the element type, is known of a value. */
static bool has_no_rank(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  const int kind = surg_type_get_kind(t);
  return kind == SURG_TYPE_UNKNOWN || (kind == SURG_TYPE_TENSOR && !surg_type_has_rank(t));
}

/* Removes outputs of parts that are none of the whole. A type that only they declare is kept. */
static surg_status drop_outputs(const surg_manifest *x, surg_graph *g) {
  const json_t *list = json_object_get(x->json, "outputs");
  surg_status s = surg_model_infer(surg_graph_model(g));
  for (size_t i = surg_graph_output_count(g); s == SURG_OK && i-- > 0;) {
    surg_value *v = surg_graph_output(g, i);
    const surg_type *type = surg_graph_output_type(g, i);
    if (is_listed(list, surg_value_name(v))) continue;
    s = surg_graph_remove_output(g, i);
    if (s == SURG_OK && has_no_rank(v)) s = surg_value_set_declared_type(v, type);
  }
  if (s == SURG_OK && surg_graph_output_count(g) != json_array_size(list))
    s = invalid(x, "the parts do not have the outputs that it lists");
  return s;
}

/* Puts inputs or outputs in the order of the list; those that it lacks are last. */
static surg_status put_in_order(const surg_manifest *x, surg_graph *g, bool outputs) {
  const json_t *list = json_object_get(x->json, outputs ? "outputs" : "inputs");
  const size_t n = outputs ? surg_graph_output_count(g) : surg_graph_input_count(g);
  size_t *order = surg__calloc(x->ctx, n + 1, sizeof *order), k = 0;
  bool *taken = surg__calloc(x->ctx, n + 1, sizeof *taken);
  surg_status s = order && taken ? SURG_OK : surg__alloc_status(x->ctx);
  for (size_t i = 0; s == SURG_OK && i < json_array_size(list); i++) {
    const char *name = json_string_value(json_array_get(list, i));
    for (size_t j = 0; name && j < n; j++) {
      const surg_value *v = outputs ? surg_graph_output(g, j) : surg_graph_input(g, j);
      if (taken[j] || strcmp(surg_value_name(v), name) != 0) continue;
      taken[j] = true;
      order[k++] = j;
      break;
    }
  }
  for (size_t j = 0; s == SURG_OK && j < n; j++)
    if (!taken[j]) order[k++] = j;
  if (s == SURG_OK) s = surg_graph_reorder(g, outputs, order, n);
  surg__free(x->ctx, order);
  surg__free(x->ctx, taken);
  return s;
}

surg_status surg_manifest_merge(surg_manifest *x, surg_model **out) {
  if (out) *out = NULL;
  if (!x || !out) return SURG_EUSAGE;
  surg_model *m = surg_model_clone(x->parts[0]);
  surg_status s = m ? surg_model_infer(m) : surg__alloc_status(x->ctx);
  for (size_t k = 1; s == SURG_OK && k < x->n; k++) {
    surg_model *b = surg_model_clone(x->parts[k]);
    s = b ? surg__split_join(m, b) : surg__alloc_status(x->ctx);
    surg_model_free(b);
  }
  surg_graph *g = surg_model_graph(m);
  if (s == SURG_OK) s = drop_outputs(x, g);
  if (s == SURG_OK) s = put_in_order(x, g, true);
  if (s == SURG_OK) s = put_in_order(x, g, false);
  if (s == SURG_OK) s = surg_model_verify(m);
  if (s == SURG_OK)
    *out = m;
  else
    surg_model_free(m);
  return surg__oom_reported(x->ctx, s, NULL);
}

surg_status surg_engine_chain(surg_engine *e, surg_manifest *x, surg_model *whole) {
  if (!e || (x && (!whole || x->ctx != e->ctx))) return SURG_EUSAGE;
  e->e.chain = NULL;
  if (!x) return SURG_OK;
  x->chain = (surg__chain){whole, x->parts, x->n};
  e->e.chain = &x->chain;
  return SURG_OK;
}
