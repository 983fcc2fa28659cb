/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the initializers of a model to a file of another format. */
#include <errno.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/os/os.h"
#include "weights/weights.h"

/* Why the weight cannot be in the file; NULL: it can. */
static const char *obstacle(const surg__weight *w, surg__weights_format format) {
  if (!w->t || w->t->view == SURG__VIEW_SPARSE) return "is sparse";
  if (w->t->view == SURG__VIEW_ABSENT) return "is not available";
  const bool has =
      format == SURG__WEIGHTS_NPZ ? surg__npz_has(w->t->dtype) : surg__safetensors_has(w->t->dtype);
  return has ? NULL : "has an element type that the format lacks";
}

static surg_status refuse(const surg__weight *w, const char *path, const char *why) {
  surg_context *ctx = surg_model_context(surg_graph_model(surg_value_graph(w->value)));
  const char *type = w->t ? surg__dtype_name(w->t->dtype) : NULL;
  return surg__error(ctx, SURG_EUNSUPPORTED, path, "initializer %s (%s) %s; --skip leaves it out",
                     surg__q(ctx, w->name), type ? type : "sparse", why);
}

/* The weights that are written. */
static surg_status choose(const surg__weights *all, surg__weights_format format, const char *path,
                          bool skip, const surg__weight **out, surg_weights_report *r) {
  for (size_t i = 0; i < all->all.count; i++) {
    const surg__weight *w = &all->all.items[i];
    const char *why = obstacle(w, format);
    if (why && !skip) return refuse(w, path, why);
    if (why) {
      r->skipped++;
      continue;
    }
    out[r->tensors++] = w;
    r->bytes += w->t->bytes;
  }
  return SURG_OK;
}

/* Rejects a path that is the model or one of its data files, whose bytes are read from it. */
static surg_status check_path(const surg_model *m, const char *path) {
  surg__stat st;
  if (surg__os_stat(path, &st) != 0) return SURG_OK;
  if (!st.regular) return surg__error(m->ctx, SURG_EIO, path, "is not a regular file");
  bool own = m->source && m->source->path && m->source->dev == st.dev && m->source->ino == st.ino;
  for (const surg__datafile *f = m->files; f && !own; f = f->next)
    own = !f->absent && f->dev == st.dev && f->ino == st.ino;
  return own ? surg__error(m->ctx, SURG_EUSAGE, path, "is a file of the model") : SURG_OK;
}

static surg_status write(surg_model *m, const char *path, surg__weights_format format,
                         const surg__weight *const *w, size_t n, const surg_weights_options *o) {
  char *dir, *base;
  surg__draft d;
  if (surg__os_split(path, &dir, &base) != 0) return surg__oom(m->ctx, path);
  surg_status s = format == SURG__WEIGHTS_NPZ
                      ? surg__npz_write(m->ctx, w, n, dir, path, o->no_fsync, o->compress, &d)
                      : surg__safetensors_write(m->ctx, w, n, dir, path, o->no_fsync, &d);
  if (s == SURG_OK) s = surg__draft_publish(m->ctx, &d, path, path);
  if (s == SURG_OK && !o->no_fsync) surg__os_fsync_dir(dir);
  free(dir);
  free(base);
  return s;
}

surg_status surg_weights_export(surg_model *m, const char *path,
                                const surg_weights_options *options, surg_weights_report *report) {
  surg_weights_options o;
  surg_weights_report r = {0};
  surg__weights all;
  if (!m || !path) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  surg_status s = surg_model_status(m);
  if (s != SURG_OK) return s;
  const surg__weights_format format = surg__weights_format_of(m->ctx, path);
  if (format == SURG__WEIGHTS_NONE) return SURG_EUSAGE;
  s = check_path(m, path);
  if (s != SURG_OK) return s;
  s = surg__weights_list(m, &all);
  const surg__weight **chosen =
      s == SURG_OK ? surg__calloc(m->ctx, all.all.count + 1, sizeof *chosen) : NULL;
  if (s == SURG_OK && !chosen) s = surg__oom(m->ctx, path);
  if (s == SURG_OK) s = choose(&all, format, path, o.skip, chosen, &r);
  if (s == SURG_OK) s = write(m, path, format, chosen, (size_t)r.tensors, &o);
  surg__free(m->ctx, chosen);
  surg__weights_free(&all);
  if (s == SURG_OK) surg__struct_out(report, &r, sizeof r);
  return s;
}
