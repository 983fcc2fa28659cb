/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ONNX Runtime, creates sessions for models, and runs them. */
#include "run/ort.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/os/os.h"
#include "base/os/dl.h"
#include "ir/ir.h"

#define FATAL 4 /* log level of the runtime: its messages are also returned in a status */

/* --- the library --- */

static surg_status refuse(surg_context *ctx, const char *path, const char *why) {
  return surg__error(ctx, SURG_EUSAGE, path ? path : "onnxsurg", "%s%s", why,
                     path ? "" : ": name its library with --ort PATH");
}

/* The newest function table that both sides support. A library prints an error if it is asked
 * for an unknown table, so its version is read first. */
static const surg__ort_slot *negotiate(const surg__ort_base *base) {
  unsigned major = 0, minor = 0, version = SURG__ORT_NEWEST;
  const char *text = base->version();
  if (text && sscanf(text, "%u.%u", &major, &minor) == 2 && major == 1 && minor < version)
    version = minor;
  const surg__ort_slot *api = NULL;
  for (; !api && version >= SURG__ORT_OLDEST; version--) api = base->get_api(version);
  return api;
}

static surg_status find_library(surg_context *ctx, const char *path, void **out) {
  static const char *const names[] = {"libonnxruntime.so", "libonnxruntime.so.1",
                                       "libonnxruntime.dylib", "onnxruntime.dll"};
  surg__stat st;
  char text[SURG__ORT_WHY];
  if (!surg__os_dl_available())
    return surg__error(ctx, SURG_EUSAGE, path ? path : "onnxsurg",
                       "ONNX Runtime is not available: %s", surg__os_dl_error());
  if (!path) {
    for (size_t i = 0; i < SURG_COUNT(names) && !*out; i++)
      *out = surg__os_dl_open(names[i]);
    return *out ? SURG_OK : refuse(ctx, NULL, "ONNX Runtime is not found");
  }
  const int e = surg__os_stat(path, &st); /* dlopen would block on a FIFO */
  if (e || !st.regular) return refuse(ctx, path, e ? strerror(e) : "is not a file");
  /* Without a slash dlopen would search the system's library folders. */
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "%s%s", surg__os_base_name(path) != path ? "" : "./", path);
  if (!b.failed) *out = surg__os_dl_open(b.p);
  const bool failed = b.failed;
  surg__buf_free(&b);
  if (failed) return surg__oom(ctx, path);
  if (*out) return SURG_OK;
  const char *why = surg__os_dl_error();
  snprintf(text, sizeof text, "cannot be loaded as a library: %s", why ? why : "");
  return refuse(ctx, path, text);
}

surg_status surg__ort_open(surg_context *ctx, const char *path, surg__ort **out) {
  void *library = NULL;
  surg_status s = find_library(ctx, path, &library);
  if (s != SURG_OK) return s;
  const surg__ort_base *(*get_base)(void);
  void *symbol = surg__os_dl_symbol(library, "OrtGetApiBase");
  if (!symbol) return refuse(ctx, path, "is not ONNX Runtime: it has no function OrtGetApiBase");
  memcpy(&get_base, &symbol, sizeof get_base); /* ISO C has no cast from data to function
                                                * pointers */
  const surg__ort_base *base = get_base();
  const surg__ort_slot *api = base ? negotiate(base) : NULL;
  if (!api) return refuse(ctx, path, "is an ONNX Runtime of before 1.10");
  surg__ort *o = surg__calloc(ctx, 1, sizeof *o);
  if (!o) return surg__oom(ctx, path);
  *o = (surg__ort){.ctx = ctx, .api = api, .version = base->version()};
  char why[SURG__ORT_WHY];
  s = surg__ort_status(o, SURG__ORT(api, CreateEnv)(FATAL, "onnxsurg", &o->env), why);
  /* 1.30 records every session in a database in the user's cache folder. */
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(api, DisableTelemetryEvents)(o->env), why);
  if (s == SURG_OK)
    s = surg__ort_status(
        o, SURG__ORT(api, GetAllocatorWithDefaultOptions)(&o->allocator), why);
  if (s != SURG_OK) {
    surg__ort_close(o);
    return surg__error(ctx, s, path ? path : "onnxsurg", "ONNX Runtime does not start: %s", why);
  }
  *out = o;
  return SURG_OK;
}

void surg__ort_close(surg__ort *o) {
  if (!o) return;
  if (o->env) SURG__ORT(o->api, ReleaseEnv)(o->env);
  surg__free(o->ctx, o);
}

/* --- models --- */

/* Whether the file that the model was read from is unchanged and contains the model in ONNX's
 * binary format, so that the runtime can read it. */
static bool stands_in_file(const surg_model *m) {
  const surg__source *src = m->source;
  uint8_t head[16], was[sizeof head];
  const size_t n = src && src->size < sizeof head ? (size_t)src->size : sizeof head;
  int fd = -1;
  if (m->dirty || !src || !src->path || m->options.external_root) return false;
  if (surg__os_open_read(-1, src->path, &fd) != 0) return false;
  surg__stat st;
  const bool same = surg__os_stat_fd(fd, &st) == 0 && st.size == src->size &&
                    surg__os_pread(fd, head, n, 0) == 0 &&
                    surg__source_read(src, 0, was, n) == SURG_OK && memcmp(head, was, n) == 0;
  surg__os_close(fd);
  return same;
}

static void remove_folder(const char *dir) {
  char path[4096];
  surg__os_folder *d;
  surg__os_folder_open(dir, &d);
  for (const char *name; d && (name = surg__os_folder_next(d)) != NULL;)
    if (snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path) surg__os_unlink(path);
  surg__os_folder_close(d);
  surg__os_remove_folder(dir);
}

/* Creates a session for the file at `path`. */
static surg_status from_file(surg__ort *o, const char *path, const void *options, void **session,
                             char *why) {
  void *native;
  const int e = surg__os_native_path(path, &native);
  if (e) return surg__error(o->ctx, SURG_ENOMEM, path, "%s", strerror(e));
  const surg_status s =
      surg__ort_status(o, SURG__ORT(o->api, CreateSession)(o->env, native, options, session), why);
  free(native);
  return s;
}

/* Saves a model with data files that was edited to a temporary folder, and creates the session
 * from there. */
static surg_status through_folder(surg__ort *o, surg_model *m, const void *options,
                                  void **session, char *why) {
  char dir[2048], path[2100];
  const int e = surg__os_temp_folder("onnxsurg", dir, sizeof dir);
  if (e)
    return surg__error(o->ctx, SURG_EIO, "onnxsurg", "no temporary folder in $TMPDIR: %s",
                       strerror(e));
  snprintf(path, sizeof path, "%s/model.onnx", dir);
  const surg_save_options save = {
      .size = sizeof save, .external_data = "weights", .no_fsync = true};
  surg_status s = surg_model_save(m, path, &save);
  if (s == SURG_OK) s = from_file(o, path, options, session, why);
  remove_folder(dir);
  return s;
}

static surg_status create(surg__ort *o, surg_model *m, const void *options, void **session,
                          char *why) {
  void *bytes = NULL;
  size_t n = 0;
  if (m->files && stands_in_file(m))
    return from_file(o, m->source->path, options, session, why);
  if (m->files) return through_folder(o, m, options, session, why);
  surg_status s = surg_model_save_memory(m, &bytes, &n);
  if (s != SURG_OK) return s;
  s = surg__ort_status(
      o, SURG__ORT(o->api, CreateSessionFromArray)(o->env, bytes, n, options, session), why);
  surg_context_free_bytes(o->ctx, bytes);
  return s;
}

surg_status surg__ort_session(surg__ort *o, surg_model *m, const surg__ort_options *options,
                              void **session, char *why) {
  void *given = NULL;
  const int threads = options->threads ? (int)options->threads : 1;
  *why = 0;
  surg_status s = surg__ort_status(o, SURG__ORT(o->api, CreateSessionOptions)(&given), why);
  if (s != SURG_OK) return s;
  s = surg__ort_status(
      o, SURG__ORT(o->api, SetSessionGraphOptimizationLevel)(given, options->level), why);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, SetIntraOpNumThreads)(given, threads), why);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, SetInterOpNumThreads)(given, 1), why);
  if (s == SURG_OK) s = create(o, m, given, session, why);
  SURG__ORT(o->api, ReleaseSessionOptions)(given);
  return s;
}

void surg__ort_session_free(surg__ort *o, void *session) {
  if (session) SURG__ORT(o->api, ReleaseSession)(session);
}

/* --- runs --- */

typedef struct call {
  const char **names; /* of inputs, then of outputs */
  void **values;
  size_t n_in, n_out;
} call;

static surg_status give_inputs(surg__ort *o, const surg_graph *g, const surg__array *in, call *c,
                               char *why) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    if (in[i].dtype == SURG_UNDEFINED) continue;
    const surg_status s = surg__ort_give(o, &in[i], &c->values[c->n_in], why);
    if (s != SURG_OK) return s;
    c->names[c->n_in++] = surg_value_name(surg_graph_input(g, i));
  }
  return SURG_OK;
}

/* Wraps the result of an optional output: the runtime returns the element or nothing; here an
 * optional is a value itself. */
static surg_status as_declared(surg__ort *o, const surg_graph *g, size_t i, surg__array *a) {
  const surg_type *t = surg_graph_output_type(g, i);
  if (!t) t = surg_value_type(surg_graph_output(g, i));
  if (surg_type_get_kind(t) != SURG_TYPE_OPTIONAL) return SURG_OK;
  surg__array list;
  const bool some = a->dtype != SURG_UNDEFINED;
  const surg_status s =
      surg__list_make(o->ctx, SURG__V_OPTIONAL, surg__content_of_type(surg_type_elem(t)), some,
                      &list);
  if (s != SURG_OK) return s;
  if (some) surg__list_of(&list)->items[0] = *a;
  *a = list;
  return SURG_OK;
}

static surg_status take_outputs(surg__ort *o, const surg_graph *g, call *c, surg__array *out,
                                char *why) {
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < c->n_out; i++) {
    s = surg__ort_take(o, c->values[c->n_in + i], &out[i], why);
    if (s == SURG_OK) s = as_declared(o, g, i, &out[i]);
  }
  for (size_t i = 0; s != SURG_OK && i < c->n_out; i++) surg__array_drop(&out[i]);
  return s;
}

surg_status surg__ort_run(surg__ort *o, void *session, const surg_model *m, const surg__array *in,
                          surg__array *out, char *why) {
  const surg_graph *g = surg_model_graph(m);
  const size_t n = surg_graph_input_count(g) + surg_graph_output_count(g);
  call c = {.n_out = surg_graph_output_count(g)};
  *why = 0;
  memset(out, 0, c.n_out * sizeof *out);
  c.names = surg__calloc(o->ctx, n + 1, sizeof *c.names);
  c.values = surg__calloc(o->ctx, n + 1, sizeof *c.values);
  surg_status s = c.names && c.values ? SURG_OK : surg__alloc_status(o->ctx);
  if (s == SURG_OK) s = give_inputs(o, g, in, &c, why);
  for (size_t i = 0; s == SURG_OK && i < c.n_out; i++)
    c.names[c.n_in + i] = surg_value_name(surg_graph_output(g, i));
  if (s == SURG_OK)
    s = surg__ort_status(o,
                         SURG__ORT(o->api, Run)(session, NULL, c.names,
                                                (const void *const *)c.values, c.n_in,
                                                c.names + c.n_in, c.n_out, c.values + c.n_in),
                         why);
  if (s == SURG_OK) s = take_outputs(o, g, &c, out, why);
  for (size_t i = 0; c.values && i < n; i++)
    if (c.values[i]) SURG__ORT(o->api, ReleaseValue)(c.values[i]);
  surg__free(o->ctx, c.values);
  surg__free(o->ctx, c.names);
  return s;
}
