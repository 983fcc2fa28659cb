/* SPDX-License-Identifier: Apache-2.0 */
/* Saving. At every moment the path names either the complete old file or the complete new one:
 * all output is written to unnamed files and synced, and gets its name last; data files before
 * the model that refers to them. */
#include <errno.h>
#include <stdlib.h>

#include "base/os.h"
#include "io/save.h"

#define STDOUT 1
#define DEFAULT_THRESHOLD 1024u

typedef SURG_VEC(char *) paths;

/* One call of surg_model_save with a path. */
typedef struct job {
  surg__saver s;
  const char *path;
  surg_save_options options;
  char *dir, *base;       /* allocated by surg__os_split */
  surg__datafiles copies; /* data files copied along under their own name */
  paths made;             /* files published so far, removed if a later step fails */
  char *location;         /* name of the new data file, allocated */
} job;

static void saver_init(surg__saver *s, surg_model *m, const char *where) {
  memset(s, 0, sizeof *s);
  s->m = m;
  s->ctx = m->ctx;
  s->where = where;
  surg__rope_init(&s->rope, m->ctx, m->source);
  surg__rope_init(&s->data, m->ctx, m->source);
}

static void saver_free(surg__saver *s) {
  surg__rope_free(&s->rope);
  surg__rope_free(&s->data);
  surg__vec_free(s->ctx, &s->gather);
}

static surg_status io_error(surg__saver *s, int e) {
  if (e == ENOMEM) return surg__oom(s->ctx, s->where);
  return surg__error(s->ctx, SURG_EIO, s->where, "cannot write: %s", strerror(e));
}

static surg_status too_large(surg__saver *s) {
  return surg__error(
      s->ctx, SURG_ELIMIT, s->where, "%llu bytes exceed the limit of a model file (%llu)%s",
      (unsigned long long)s->rope.total, (unsigned long long)SURG_LIMIT_OUTPUT_BYTES,
      s->placing.active ? "" : "; write to a file, so that weights can go beside it");
}

/* --- streams --- */

static surg_status save_stream(surg__saver *s, int fd) {
  surg_status r = surg__save_build(s);
  if (r != SURG_OK) return r;
  if (s->rope.total > SURG_LIMIT_OUTPUT_BYTES) return too_large(s);
  if (s->m->files)
    surg__note(s->ctx, s->where, "external data stays where it is, beside the model that was read");
  return surg__rope_write(&s->rope, &(surg__sink){s->where, fd, false, NULL});
}

static surg_status save_device(surg__saver *s, const char *path) {
  int fd;
  int e = surg__os_open_write(path, &fd);
  if (e) return io_error(s, e);
  surg_status r = save_stream(s, fd);
  e = surg__os_close(fd);
  if (r == SURG_OK && e) r = io_error(s, e);
  return r;
}

/* --- files --- */

static surg_status sync_folder(job *j) {
  if (j->options.no_fsync) return SURG_OK;
  int e = surg__os_fsync_dir(j->dir);
  /* A folder with write but no read permission cannot be synced; the file in it is synced. */
  if (e == 0 || e == EACCES || e == EPERM) return SURG_OK;
  return surg__error(j->s.ctx, SURG_EIO, j->s.where, "written, but the folder cannot be synced: %s",
                     strerror(e));
}

/* Publishes a data file and records it; becomes the owner of `path`. */
static surg_status publish_data(job *j, surg__draft *d, char *path) {
  surg_context *ctx = j->s.ctx;
  if (!surg__vec_reserve(ctx, &j->made, j->made.count + 1)) {
    surg__draft_drop(d);
    surg__free(ctx, path);
    return surg__oom(ctx, j->s.where);
  }
  surg_status r = surg__draft_publish(ctx, d, path, j->s.where);
  if (r == SURG_OK)
    j->made.items[j->made.count++] = path;
  else
    surg__free(ctx, path);
  return r;
}

static surg_status copy_data(job *j, const surg__datafile *f) {
  surg_context *ctx = j->s.ctx;
  surg__rope rope;
  surg__draft d;
  char *path = surg__path_join(ctx, j->dir, f->location);
  if (!path) return surg__oom(ctx, j->s.where);
  surg__rope_init(&rope, ctx, NULL);
  surg__rope_file(&rope, f, 0, f->size);
  surg_status r = rope.failed
                      ? surg__oom(ctx, j->s.where)
                      : surg__draft_write(&rope, j->dir, path, NULL, j->options.no_fsync, &d);
  surg__rope_free(&rope);
  if (r == SURG_OK) return publish_data(j, &d, path);
  surg__free(ctx, path);
  return r;
}

/* Writes the new data file and chooses its name; rebuilds the model if the name differs from the
 * one in the built model. */
static surg_status write_data(job *j) {
  surg__saver *s = &j->s;
  surg__draft d;
  char *name, *path;
  surg_status r = surg__draft_write(&s->data, j->dir, s->where, NULL, j->options.no_fsync, &d);
  if (r != SURG_OK) return r;
  r = surg__draft_name(s, j->dir, s->placing.location, &d, s->data.total, &name, &path);
  if (r != SURG_OK) {
    surg__draft_drop(&d);
    return r;
  }
  if (d.fd >= 0)
    r = publish_data(j, &d, path);
  else
    surg__free(s->ctx, path);
  bool other = strcmp(name, s->placing.location) != 0;
  surg__free(s->ctx, j->location);
  s->placing.location = j->location = name;
  if (r == SURG_OK && other) {
    if (j->options.external_data)
      surg__note(s->ctx, s->where, "%s is there already: the weights go to %s",
                 surg__q(s->ctx, j->options.external_data), surg__q(s->ctx, name));
    r = surg__save_build(s);
  }
  return r;
}

/* Builds the model; while it exceeds the size limit, moves weights to a data file and builds it
 * again. */
static surg_status build(job *j) {
  surg__saver *s = &j->s;
  surg_status r = surg__save_build(s);
  bool grew = false;
  while (r == SURG_OK && s->rope.total > SURG_LIMIT_OUTPUT_BYTES) {
    if (s->placing.inline_too && s->placing.attributes_too) return too_large(s);
    s->placing.attributes_too = s->placing.inline_too;
    s->placing.active = s->placing.inline_too = grew = true;
    r = surg__save_build(s);
  }
  if (r == SURG_OK && grew)
    surg__note(s->ctx, s->where, "too large for one file: weights go to a data file beside it");
  return r;
}

/* Scans the built model like a file being loaded, so that a fault of this library does not
 * replace a valid file by an unreadable one. `bytes` has room for the whole model. */
static surg_status prove(surg__saver *s, uint8_t *bytes) {
  surg_status r = surg__rope_write(&s->rope, &(surg__sink){s->where, -1, false, bytes});
  if (r != SURG_OK) return r;
  surg__source image = {.refs = 1,
                        .ctx = s->ctx,
                        .name = (char *)(uintptr_t)s->where,
                        .fd = -1,
                        .dirfd = -1,
                        .size = s->rope.total,
                        .base = bytes,
                        .resident = true};
  r = surg__scan_model(&image, s->ctx->max_depth);
  if (r != SURG_EINVALID) return r;
  return surg__error(s->ctx, SURG_EINTERNAL, s->where, "the message that was built is invalid");
}

/* Writes the model to a file without a name. Up to the size of files that are read into memory
 * at once, the output is scanned first; a larger one is mostly copied weights. */
static surg_status write_model(job *j, surg__draft *d) {
  surg__saver *s = &j->s;
  bool copied = !surg__edited(s->m) && !s->placing.active;
  if (copied || s->rope.total > SURG_LIMIT_RESIDENT)
    return surg__draft_write(&s->rope, j->dir, s->where, j->path, j->options.no_fsync, d);
  uint8_t *bytes = surg__alloc(s->ctx, s->rope.total ? (size_t)s->rope.total : 1);
  if (!bytes) return surg__oom(s->ctx, s->where);
  surg_status r = prove(s, bytes);
  if (r == SURG_OK) {
    size_t n = (size_t)s->rope.total;
    surg__rope_clear(&s->rope);
    surg__rope_borrow(&s->rope, bytes, n);
    r = s->rope.failed
            ? surg__oom(s->ctx, s->where)
            : surg__draft_write(&s->rope, j->dir, s->where, j->path, j->options.no_fsync, d);
  }
  surg__free(s->ctx, bytes);
  return r;
}

static surg_status write_all(job *j) {
  surg__saver *s = &j->s;
  surg__draft d;
  surg_status r = build(j);
  for (size_t i = 0; r == SURG_OK && i < j->copies.count; i++) r = copy_data(j, j->copies.items[i]);
  if (r == SURG_OK && s->data.total > 0) r = write_data(j);
  if (r == SURG_OK && j->made.count) r = sync_folder(j);
  if (r != SURG_OK) return r;
  r = write_model(j, &d);
  if (r == SURG_OK) r = surg__draft_publish(s->ctx, &d, j->path, s->where);
  if (r != SURG_OK) return r;
  /* The model has its name now and needs its data files. */
  while (j->made.count) surg__free(s->ctx, j->made.items[--j->made.count]);
  return sync_folder(j);
}

static bool plain_name(const char *name) {
  return *name && surg__os_base_name(name) == name && !strchr(name, '\\') &&
         strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= SURG_LIMIT_LOCATION;
}

static surg_status place(job *j) {
  surg__saver *s = &j->s;
  const char *asked = j->options.external_data;
  if (asked && (!plain_name(asked) || strcmp(asked, j->base) == 0 ||
                !surg__utf8_valid((const uint8_t *)asked, strlen(asked))))
    return surg__error(s->ctx, SURG_EUSAGE, s->where,
                       "%s is no name for a data file beside the model", surg__q(s->ctx, asked));
  surg__buf b;
  surg__buf_init(&b, s->ctx);
  surg__buf_puts(&b, asked ? asked : j->base);
  if (!asked) surg__buf_puts(&b, ".data");
  surg__buf_putc(&b, 0);
  if (b.failed) {
    surg__buf_free(&b);
    return surg__oom(s->ctx, s->where);
  }
  s->placing.location = j->location = b.p;
  s->placing.threshold =
      j->options.external_threshold ? j->options.external_threshold : DEFAULT_THRESHOLD;
  surg_status r = surg__place_plan(s, j->path, j->dir, asked ? NULL : &j->copies);
  s->placing.all = s->placing.inline_too = asked != NULL;
  s->placing.active = asked || s->gather.count;
  return r;
}

/* Notes that tensors with missing data files keep their references, also in another folder. */
static void note_lost(job *j) {
  const surg_model *m = j->s.m;
  surg__stat a, b;
  surg__lost l;
  surg__lost_weights(m, &l);
  if (!l.count || !m->source || !m->source->dir) return;
  if (j->options.external_data)
    surg__note(m->ctx, j->s.where, "%zu weight%s not available: not moved to the data file",
               l.count, l.count == 1 ? " is" : "s are");
  const bool same = surg__os_stat(j->dir, &a) == 0 && surg__os_stat(m->source->dir, &b) == 0 &&
                    a.dev == b.dev && a.ino == b.ino;
  if (same) return;
  if (l.count == 1)
    surg__note(m->ctx, j->s.where,
               "1 weight is not available; its data file is expected in the folder of this file");
  else
    surg__note(m->ctx, j->s.where,
               "%zu weights are not available; their data files are expected in the folder of "
               "this file", l.count);
}

static surg_status save_file(surg_model *m, const char *path, const surg_save_options *options) {
  job j = {.path = path, .options = *options};
  saver_init(&j.s, m, path);
  surg_status r = SURG_OK;
  if (surg__os_split(path, &j.dir, &j.base) != 0)
    r = surg__error(m->ctx, SURG_ENOMEM, path, "out of memory");
  else if (!*j.base)
    r = surg__error(m->ctx, SURG_EUSAGE, path, "is no name of a file");
  if (r == SURG_OK) r = place(&j);
  if (r == SURG_OK) note_lost(&j);
  if (r == SURG_OK && j.s.placing.active && !options->keep_defects) r = surg__model_sound(m);
  if (r == SURG_OK) r = write_all(&j);
  while (j.made.count) { /* the model was not published: remove its data files */
    char *made = j.made.items[--j.made.count];
    surg__os_unlink(made);
    surg__free(m->ctx, made);
  }
  surg__vec_free(m->ctx, &j.made);
  surg__vec_free(m->ctx, &j.copies);
  surg__free(m->ctx, j.location);
  free(j.dir);
  free(j.base);
  saver_free(&j.s);
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
  if (m->files && !surg__place_stays(m, dir))
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
  saver_init(&s, m, standard ? "standard output" : path);
  surg_status r = standard ? save_stream(&s, STDOUT) : save_device(&s, path);
  saver_free(&s);
  return r;
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
    if (st.directory) return surg__error(model->ctx, SURG_EIO, path, "is a folder");
    if (st.block)
      return surg__error(model->ctx, SURG_EIO, path, "is a disk: nothing is written to it");
    if (!st.regular) return save_to_stream(model, path, &o);
  }
  if (ends_with(path, ".onnxtxt")) return save_text_file(model, path, o.no_fsync);
  return save_file(model, path, &o);
}

surg_status surg_model_save(surg_model *model, const char *path, const surg_save_options *options) {
  if (!model || !path) return SURG_EUSAGE;
  const surg_status s = save_path(model, path, options);
  if (s == SURG_OK) surg__decoded_warn(model);
  return s;
}

surg_status surg_model_save_memory(surg_model *model, void **bytes, size_t *n) {
  if (!model || !bytes || !n) return SURG_EUSAGE;
  *bytes = NULL;
  *n = 0;
  surg_status r = surg_model_status(model);
  if (r == SURG_OK && surg__edited(model)) r = surg__model_sound(model);
  if (r != SURG_OK) return r;
  surg__saver s;
  saver_init(&s, model, surg_model_path(model));
  r = surg__save_build(&s);
  if (r == SURG_OK && s.rope.total > SURG_LIMIT_OUTPUT_BYTES) r = too_large(&s);
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
  saver_free(&s);
  return r;
}

surg_status surg_model_save_sink(surg_model *model, const surg_sink *sink) {
  surg_sink to;
  if (!model || !sink) return SURG_EUSAGE;
  surg__struct_in(&to, sizeof to, sink);
  if (!to.write) return SURG_EUSAGE;
  surg_status r = surg_model_status(model);
  if (r == SURG_OK && surg__edited(model)) r = surg__model_sound(model);
  if (r != SURG_OK) return r;
  surg__saver s;
  saver_init(&s, model, surg_model_path(model));
  r = surg__save_build(&s);
  if (r == SURG_OK && s.rope.total > SURG_LIMIT_OUTPUT_BYTES) r = too_large(&s);
  if (r == SURG_OK)
    r = surg__rope_write(&s.rope, &(surg__sink){.path = s.where, .fd = -1, .callback = &to});
  if (r == SURG_OK) surg__decoded_warn(model);
  saver_free(&s);
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
  saver_init(&s, m, surg_model_path(m));
  r = surg__save_build(&s);
  if (r == SURG_OK)
    r = surg__rope_write(&s.rope, &(surg__sink){.path = s.where, .fd = fd, .plain_file = true});
  saver_free(&s);
  return r;
}

surg_status surg__saved_bytes(surg_model *m, uint64_t *bytes) {
  surg__saver s;
  saver_init(&s, m, surg_model_path(m));
  const surg_status r = surg__save_build(&s);
  if (!surg__add_u64(s.rope.total, external_bytes(m), bytes)) *bytes = UINT64_MAX;
  saver_free(&s);
  return r;
}

void surg_context_free_bytes(surg_context *ctx, void *bytes) {
  if (ctx) surg__free(ctx, bytes);
}
