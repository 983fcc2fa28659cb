/* SPDX-License-Identifier: Apache-2.0 */
/* Saving. At every moment the path names either the complete old file or the complete new one:
 * all output is written to unnamed files and synced, and gets its name last; data files before
 * the model that refers to them. */
#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "io/save/save.h"

#define STDOUT 1
void surg__saver_init(surg__saver *s, surg_model *m, const char *where) {
  memset(s, 0, sizeof *s);
  s->m = m;
  s->ctx = m->ctx;
  s->where = where;
  surg__rope_init(&s->rope, m->ctx, m->source);
}

void surg__saver_free(surg__saver *s) {
  surg__rope_free(&s->rope);
  surg__vec_free(s->ctx, &s->gather);
}

surg_status surg__save_io_error(surg__saver *s, int e) {
  if (e == ENOMEM) return surg__oom(s->ctx, s->where);
  return surg__error(s->ctx, SURG_EIO, s->where, "cannot write: %s", strerror(e));
}

surg_status surg__save_too_large(surg__saver *s) {
  return surg__error(s->ctx, SURG_ELIMIT, s->where,
                     "%llu bytes exceed the limit of a model file (%llu)%s",
                     (unsigned long long)s->rope.total, (unsigned long long)SURG_LIMIT_OUTPUT_BYTES,
                     s->placing.embed    ? "; weights of this size must be in data files"
                     : s->placing.active ? ""
                                         : "; write to a file, so that weights can go beside it");
}

/* --- streams --- */

static bool has_data(const surg_model *m) {
  for (const surg__datafile *f = m->files; f; f = f->next)
    if (!f->loan) return true;
  return false;
}

static surg_status save_stream(surg__saver *s, int fd) {
  surg_status r = surg__save_build(s);
  if (r != SURG_OK) return r;
  if (s->rope.total > SURG_LIMIT_OUTPUT_BYTES) return surg__save_too_large(s);
  if (has_data(s->m))
    surg__note(s->ctx, s->where, "external data stays where it is, beside the model that was read");
  return surg__rope_write(&s->rope, &(surg__sink){s->where, fd, false, NULL});
}

static surg_status save_device(surg__saver *s, const char *path) {
  int fd;
  int e = surg__os_open_write(path, &fd);
  if (e) return surg__save_io_error(s, e);
  surg_status r = save_stream(s, fd);
  e = surg__os_close(fd);
  if (r == SURG_OK && e) r = surg__save_io_error(s, e);
  return r;
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), k = strlen(end);
  return n >= k && strcmp(s + n - k, end) == 0;
}

/* Writes ONNX text the same way, as one borrowed piece. */
static surg_status save_text_file(surg_model *m, const char *path, bool no_fsync) {
  char *text, *dir, *base;
  size_t n;
  surg_status r = surg_model_save_text(m, false, &text, &n);
  if (r != SURG_OK) return r;
  if (surg__os_split(path, &dir, &base) != 0) {
    surg_context_free_bytes(m->ctx, text);
    return surg__error(m->ctx, SURG_ENOMEM, path, "out of memory");
  }
  if (has_data(m) && !surg__place_stays(m, dir))
    surg__warn(m->ctx, path, "the text refers to data files that stay beside the model read");
  surg__rope rope;
  surg__draft d;
  surg__rope_init(&rope, m->ctx, NULL);
  surg__rope_borrow(&rope, text, n);
  r = rope.failed ? surg__oom(m->ctx, path)
                  : surg__draft_write(&rope, dir, path, path, no_fsync, &d);
  if (r == SURG_OK) r = surg__draft_publish(m->ctx, &d, path, path);
  if (r == SURG_OK && !no_fsync) surg__os_fsync_dir(dir);
  surg__rope_free(&rope);
  surg_context_free_bytes(m->ctx, text);
  free(dir);
  free(base);
  return r;
}

static surg_status save_to_stream(surg_model *m, const char *path, const surg_save_options *o) {
  surg__saver s;
  bool standard = strcmp(path, "-") == 0;
  if (o->external_data)
    return surg__error(m->ctx, SURG_EUSAGE, path, "a stream has no folder for external data");
  surg__saver_init(&s, m, standard ? "standard output" : path);
  surg_status r = standard ? save_stream(&s, STDOUT) : save_device(&s, path);
  surg__saver_free(&s);
  return r;
}

/* Rejects a path that is no file, for weights beside the model. */
static surg_status check_path(surg_model *m, const char *path) {
  surg__stat st;
  if (strcmp(path, "-") == 0 || ends_with(path, ".onnxtxt"))
    return surg__error(m->ctx, SURG_EUSAGE, path, "has no place for weights; write a .onnx file");
  const int e = surg__os_stat(path, &st);
  if (e == ENOENT) return SURG_OK;
  if (e) return surg__error(m->ctx, SURG_EIO, path, "cannot write: %s", strerror(e));
  return st.regular ? SURG_OK : surg__error(m->ctx, SURG_EIO, path, "is not a regular file");
}

static surg_status save_path(surg_model *model, const char *path,
                             const surg_save_options *options) {
  surg_status r = surg_model_status(model);
  if (r != SURG_OK) return r;
  surg_save_options o = {.size = sizeof o};
  if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
  if (surg__edited(model) && !o.keep_defects) r = surg__model_sound(model);
  if (r != SURG_OK) return r;
  if (strcmp(path, "-") == 0) return save_to_stream(model, path, &o);
  surg__stat st;
  int e = surg__os_stat(path, &st);
  if (e != 0 && e != ENOENT)
    return surg__error(model->ctx, SURG_EIO, path, "cannot write: %s", strerror(e));
  if (e == 0) {
    if (st.directory)
      return surg__error(model->ctx, SURG_EIO, path,
                         "is a folder (--out-dir writes into a folder)");
    if (st.block)
      return surg__error(model->ctx, SURG_EIO, path, "is a disk: nothing is written to it");
    if (!st.regular) return save_to_stream(model, path, &o);
  }
  if (ends_with(path, ".onnxtxt")) return save_text_file(model, path, o.no_fsync);
  const surg_data_options data = {.size = sizeof data,
                                  .file = o.external_data,
                                  .threshold = o.external_threshold,
                                  .no_fsync = o.no_fsync};
  return surg__save_files(&model, &path, 1, &data, o.external_data != NULL, o.keep_defects, NULL);
}

surg_status surg_model_save_data(surg_model *const *models, const char *const *paths, size_t n,
                                 const surg_data_options *options, surg_data_report *report) {
  surg_data_options o;
  if (!models || !paths || !n || !options) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  for (size_t i = 0; i < n; i++) {
    if (!models[i] || !paths[i] || models[i]->ctx != models[0]->ctx) return SURG_EUSAGE;
    surg_status r = surg_model_status(models[i]);
    if (r == SURG_OK && surg__edited(models[i])) r = surg__model_sound(models[i]);
    if (r == SURG_OK) r = check_path(models[i], paths[i]);
    if (r != SURG_OK) return r;
  }
  surg_context *ctx = models[0]->ctx;
  if (o.align & (o.align - 1))
    return surg__error(ctx, SURG_EUSAGE, paths[0], "the alignment is not a power of 2");
  if (n > 1 && !o.file && !o.embed)
    return surg__error(ctx, SURG_EUSAGE, paths[0], "several models need the name of a data file");
  surg_status s = surg__save_files(models, paths, n, &o, true, false, report);
  for (size_t i = 0; s == SURG_OK && i < n; i++) surg__decoded_warn(models[i]);
  return s;
}

surg_status surg_model_save(surg_model *model, const char *path, const surg_save_options *options) {
  if (!model || !path) return SURG_EUSAGE;
  const surg_status s = save_path(model, path, options);
  if (s == SURG_OK) surg__decoded_warn(model);
  return s;
}

/* Builds the bytes of a model that is written as one piece, below the limit of such a message.
 * The caller frees the saver in any case. */
static surg_status build_whole(surg__saver *s, surg_model *model) {
  surg__saver_init(s, model, surg_model_path(model));
  surg_status r = surg_model_status(model);
  if (r == SURG_OK && surg__edited(model)) r = surg__model_sound(model);
  if (r == SURG_OK) r = surg__save_build(s);
  if (r == SURG_OK && s->rope.total > SURG_LIMIT_OUTPUT_BYTES) r = surg__save_too_large(s);
  return r;
}

surg_status surg_model_save_memory(surg_model *model, void **bytes, size_t *n) {
  if (!model || !bytes || !n) return SURG_EUSAGE;
  *bytes = NULL;
  *n = 0;
  surg__saver s;
  surg_status r = build_whole(&s, model);
  uint8_t *p = NULL;
  if (r == SURG_OK) {
    p = surg__alloc(model->ctx, s.rope.total ? (size_t)s.rope.total : 1);
    if (!p) r = surg__oom(model->ctx, s.where);
  }
  if (r == SURG_OK) r = surg__rope_write(&s.rope, &(surg__sink){s.where, -1, false, p});
  if (r == SURG_OK) {
    *bytes = p;
    *n = (size_t)s.rope.total;
    surg__decoded_warn(model);
  } else {
    surg__free(model->ctx, p);
  }
  surg__saver_free(&s);
  return r;
}

surg_status surg_model_save_sink(surg_model *model, const surg_sink *sink) {
  surg_sink to;
  if (!model || !sink) return SURG_EUSAGE;
  surg__struct_in(&to, sizeof to, sink);
  if (!to.write) return SURG_EUSAGE;
  surg__saver s;
  surg_status r = build_whole(&s, model);
  if (r == SURG_OK)
    r = surg__rope_write(&s.rope, &(surg__sink){.path = s.where, .fd = -1, .callback = &to});
  if (r == SURG_OK) surg__decoded_warn(model);
  surg__saver_free(&s);
  return r;
}

static uint64_t external_bytes(const surg_model *m) {
  uint64_t sum = 0;
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
         v = surg_graph_next_initializer(g, v)) {
      const surg_tensor *t = surg_value_initializer(v);
      if (t && surg_tensor_is_external(t) && !surg__add_u64(sum, surg_tensor_bytes(t), &sum))
        return UINT64_MAX;
    }
  return sum;
}

surg_status surg__model_hand_over(surg_model *m, int fd) {
  surg__saver s;
  surg_status r = surg_model_status(m);
  if (r != SURG_OK) return r;
  surg__saver_init(&s, m, surg_model_path(m));
  r = surg__save_build(&s);
  if (r == SURG_OK)
    r = surg__rope_write(&s.rope, &(surg__sink){.path = s.where, .fd = fd, .plain_file = true});
  surg__saver_free(&s);
  return r;
}

surg_status surg__saved_bytes(surg_model *m, uint64_t *bytes) {
  surg__saver s;
  surg__saver_init(&s, m, surg_model_path(m));
  const surg_status r = surg__save_build(&s);
  if (!surg__add_u64(s.rope.total, external_bytes(m), bytes)) *bytes = UINT64_MAX;
  surg__saver_free(&s);
  return r;
}

void surg_context_free_bytes(surg_context *ctx, void *bytes) {
  if (ctx) surg__free(ctx, bytes);
}
