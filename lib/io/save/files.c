/* SPDX-License-Identifier: Apache-2.0 */
/* Writes models to files, with data files beside them. At every moment a path names either the
 * complete old file or the complete new one: all output is written to unnamed files and synced, and
 * gets its name last; data files before the models that refer to them. */
#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "base/os/unfinished.h"
#include "io/save/save.h"

#define DEFAULT_THRESHOLD 1024u

/* One model of a call. */
typedef struct job {
  surg__saver s;
  const char *path;
  char *dir, *base;       /* allocated by surg__os_split */
  surg__datafiles copies; /* data files copied along under their own name */
  surg__draft draft;      /* the finished model */
} job;

typedef struct batch {
  surg_context *ctx;
  const surg_data_options *o;
  bool place; /* weights are stored where the options state */
  job *jobs;
  size_t n;
  surg__layout layout;
  char *name; /* of the new data file, allocated */

  bool grew; /* a model was too large for one file */
} batch;

/* --- plans --- */

static bool plain_name(const char *name) {
  return *name && surg__os_base_name(name) == name && !strchr(name, '\\') &&
         strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= SURG_LIMIT_LOCATION &&
         surg__utf8_valid((const uint8_t *)name, strlen(name));
}

static surg_status check_name(const batch *b, const job *j, const char *name) {
  if (plain_name(name) && strcmp(name, j->base) != 0) return SURG_OK;
  return surg__error(b->ctx, SURG_EUSAGE, j->path,
                     "%s is not a name of a data file beside the model",
                     surg__q(b->ctx, name));
}

static surg_status open_job(batch *b, job *j, surg_model *m, const char *path) {
  j->path = path;
  j->draft.fd = -1;
  surg__saver_init(&j->s, m, path);
  j->s.layout = &b->layout;
  if (surg__os_split(path, &j->dir, &j->base) != 0) return surg__oom(b->ctx, path);
  if (!*j->base) return surg__error(b->ctx, SURG_EUSAGE, path, "is not a name of a file");
  surg__stat st, first;
  if (j == b->jobs || b->o->embed) return SURG_OK;
  const int e = surg__os_stat(j->dir, &st), e0 = surg__os_stat(b->jobs->dir, &first);
  if (!e && !e0 && st.dev == first.dev && st.ino == first.ino) return SURG_OK;
  return surg__error(b->ctx, SURG_EUSAGE, path,
                     "models that share a data file must be written to one folder");
}

/* Whether the model's weights are where the options want them: large ones in one data file of this
 * folder, with the name and alignment that are wanted. The layout is not changed then. */
typedef struct adopting {
  const batch *b;
  const surg__datafile *file;
  bool differs;
} adopting;

static void adopt_tensor(adopting *a, const surg_tensor *t) {
  const surg_data_options *o = a->b->o;
  const uint64_t least = a->b->jobs->s.placing.threshold;
  if (a->differs || t->bytes < least || t->dtype == SURG_STRING) return;
  if (t->view == SURG__VIEW_EXTERNAL && !t->file->loan) {
    const surg__datafile *f = t->file;
    a->differs = (a->file && (a->file->dev != f->dev || a->file->ino != f->ino)) ||
                 (o->file && strcmp(f->location, o->file) != 0) ||
                 (o->align && t->data.off % o->align != 0);
    a->file = f;
  } else {
    a->differs = t->view == SURG__VIEW_RAW || t->view == SURG__VIEW_TYPED ||
                 t->view == SURG__VIEW_OWNED || t->view == SURG__VIEW_EXTERNAL;
  }
}

static void adopt_model(adopting *a, const surg_model *m) {
  for (const surg_graph *g = NULL; !a->differs && (g = surg_model_next_graph(m, g)) != NULL;) {
    for (const surg_value *x = g->first_init; x; x = x->init_next) adopt_tensor(a, x->tensor);
    for (const surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; i < n->n_attr; i++) {
        const surg_attr *at = n->attrs[i];
        const bool some = at->kind == SURG_ATTR_TENSOR || at->kind == SURG_ATTR_TENSORS;
        for (uint32_t k = 0; some && k < at->count; k++)
          if (a->b->o->attributes || at->u.tensors[k]->view == SURG__VIEW_EXTERNAL)
            adopt_tensor(a, at->u.tensors[k]);
      }
  }
}

static bool adopt(batch *b) {
  adopting a = {.b = b};
  surg__stat st;
  if (!b->place || b->o->embed || b->o->each || b->o->shard || b->o->keep) return false;
  for (size_t i = 0; i < b->n; i++) adopt_model(&a, b->jobs[i].s.m);
  if (a.differs || !a.file) return false;
  char *path = surg__path_join(b->ctx, b->jobs->dir, a.file->location);
  const bool here =
      path && surg__os_stat(path, &st) == 0 && st.dev == a.file->dev && st.ino == a.file->ino;
  surg__free(b->ctx, path);
  return here;
}

static surg_status plan_job(batch *b, job *j) {
  surg__placing *p = &j->s.placing;
  p->threshold = b->o->threshold ? b->o->threshold : DEFAULT_THRESHOLD;
  p->embed = b->place && b->o->embed;
  const bool out = b->place && !p->embed;
  surg_status r = surg__place_plan(&j->s, j->path, j->dir, out ? NULL : &j->copies);
  p->all = out && !b->o->keep;
  p->inline_too = out;
  p->attributes_too = out && b->o->attributes;
  p->active = out || p->embed || j->s.gather.count;
  return r;
}

static surg_status plan(batch *b) {
  const job *first = b->jobs;
  surg_status r = SURG_OK;
  for (size_t i = 0; r == SURG_OK && i < b->n && b->o->file; i++)
    r = check_name(b, &b->jobs[i], b->o->file);
  surg__buf name;
  surg__buf_init(&name, b->ctx);
  surg__buf_puts(&name, b->o->file ? b->o->file : first->base);
  if (!b->o->file) surg__buf_puts(&name, ".data");
  surg__buf_putc(&name, 0);
  b->name = name.p;
  if (r == SURG_OK && name.failed) r = surg__oom(b->ctx, first->path);
  for (size_t i = 0; r == SURG_OK && i < b->n; i++) r = plan_job(b, &b->jobs[i]);
  if (r == SURG_OK && adopt(b)) {
    b->place = false;
    b->layout.kept = 1;
    for (size_t i = 0; r == SURG_OK && i < b->n; i++) {
      surg__vec_free(b->ctx, &b->jobs[i].s.gather);
      r = plan_job(b, &b->jobs[i]);
    }
  }
  b->layout.rules = (surg__layout_rules){
      .name = b->name, .shard = b->o->shard, .align = b->o->align, .each = b->o->each};
  return r;
}

/* Notes that tensors with missing data files keep their references, also in another folder. */
static void note_lost(const batch *b, const job *j) {
  const surg_model *m = j->s.m;
  surg__stat x, y;
  surg__lost l;
  surg__lost_weights(m, &l);
  if (!l.count || !m->source || !m->source->dir) return;
  if (b->place)
    surg__note(m->ctx, j->path, "%zu weight%s not available: not moved to the %s", l.count,
               l.count == 1 ? " is" : "s are", b->o->embed ? "model file" : "data file");
  const bool same = surg__os_stat(j->dir, &x) == 0 && surg__os_stat(m->source->dir, &y) == 0 &&
                    x.dev == y.dev && x.ino == y.ino;
  if (same) return;
  if (l.count == 1)
    surg__note(m->ctx, j->path,
               "1 weight is not available; its data file is expected in the folder of this file");
  else
    surg__note(m->ctx, j->path,
               "%zu weights are not available; their data files are expected in the folder of "
               "this file",
               l.count);
}

/* --- writing --- */

static surg_status sync_folder(const batch *b) {
  if (b->o->no_fsync) return SURG_OK;
  int e = surg__os_fsync_dir(b->jobs->dir);
  /* A folder with write but no read permission cannot be synced; the file in it is synced. */
  if (e == 0 || e == EACCES || e == EPERM) return SURG_OK;
  return surg__error(b->ctx, SURG_EIO, b->jobs->path,
                     "written, but the folder cannot be synced: %s", strerror(e));
}

/* Copies a data file under its own name. *moved: another process took the name for other bytes, so
 * the tensors move to the new data file. */
static surg_status copy_data(batch *b, job *j, const surg__datafile *f, bool *moved) {
  surg__rope rope;
  surg__draft d;
  bool taken;
  char *path = surg__path_join(b->ctx, j->dir, f->location);
  if (!path) return surg__oom(b->ctx, j->path);
  surg__rope_init(&rope, b->ctx, NULL);
  surg__rope_file(&rope, f, 0, f->size);
  surg_status r = rope.failed ? surg__oom(b->ctx, j->path)
                              : surg__draft_write(&rope, j->dir, path, NULL, b->o->no_fsync, &d);
  surg__rope_free(&rope);
  if (r != SURG_OK) {
    surg__free(b->ctx, path);
    return r;
  }
  r = surg__layout_publish(&b->layout, &d, path, &taken);
  if (r != SURG_OK || !taken) return r;
  surg__draft_drop(&d);
  return surg__place_taken(&j->s, f, j->dir, moved);
}

/* Makes more weights move to data files; false: there are no more. */
static bool move_more(surg__saver *s) {
  surg__placing *p = &s->placing;
  if (p->embed || (p->inline_too && p->attributes_too)) return false;
  p->attributes_too = p->inline_too;
  p->active = p->inline_too = true;
  return true;
}

static surg_status build_once(batch *b) {
  surg_status r = SURG_OK;
  for (size_t i = 0; r == SURG_OK && i < b->n; i++)
    if (b->jobs[i].s.placing.active) r = surg__place_collect(&b->jobs[i].s);
  if (r == SURG_OK) r = surg__layout_finish(&b->layout);
  for (size_t i = 0; r == SURG_OK && i < b->n; i++) r = surg__save_build(&b->jobs[i].s);
  return r;
}

/* Builds the models; while one exceeds the size limit, moves more of its weights to data files and
 * builds them again. */
static surg_status build(batch *b) {
  for (bool again = true; again;) {
    surg_status r = build_once(b);
    again = false;
    for (size_t i = 0; r == SURG_OK && i < b->n; i++) {
      surg__saver *s = &b->jobs[i].s;
      if (s->rope.total <= SURG_LIMIT_OUTPUT_BYTES) continue;
      if (!move_more(s)) return surg__save_too_large(s);
      again = b->grew = true;
    }
    if (r != SURG_OK) return r;
  }
  if (b->grew)
    surg__note(b->ctx, b->jobs->path,
               "too large for one file: weights go to a data file beside it");
  return SURG_OK;
}

/* Writes the new data files; rebuilds the models if a name was not free. */
static surg_status write_data(batch *b) {
  bool renamed;
  surg_status r = surg__layout_write(&b->layout, b->jobs->dir, b->o->no_fsync, &renamed);
  if (r != SURG_OK || !renamed) return r;
  if (b->o->file && b->layout.files.count == 1)
    surg__note(b->ctx, b->jobs->path, "%s is there already: the weights go to %s",
               surg__q(b->ctx, b->o->file), surg__q(b->ctx, b->layout.files.items[0].location));
  else if (b->o->file)
    surg__note(b->ctx, b->jobs->path, "data files like %s are there already: others are used",
               surg__q(b->ctx, b->o->file));
  for (size_t i = 0; r == SURG_OK && i < b->n; i++) r = surg__save_build(&b->jobs[i].s);
  return r;
}

/* Scans the built model like a file being loaded, so that a fault of this library does not
 * replace a valid file by an unreadable one. `bytes` has room for the whole model. */
static surg_status prove(surg__saver *s, uint8_t *bytes) {
  surg_status r = surg__rope_write(&s->rope, &(surg__sink){s->where, -1, false, bytes, NULL});
  if (r != SURG_OK) return r;
  surg__source image = {.refs = 1,
                        .ctx = s->ctx,
                        .name = (char *)(uintptr_t)s->where,
                        .fd = -1,
                        .dirfd = -1,
                        .size = s->rope.total,
                        .base = bytes,
                        .resident = true};
  r = surg__scan_model(&image, s->ctx->max_depth, NULL);
  if (r != SURG_EINVALID) return r;
  return surg__error(s->ctx, SURG_EINTERNAL, s->where, "the message that was built is invalid");
}

/* Writes the model to a file without a name. Up to the size of files that are read into memory
 * at once, the output is scanned first; a larger one is mostly copied weights. */
static surg_status write_model(batch *b, job *j) {
  surg__saver *s = &j->s;
  bool copied = !surg__edited(s->m) && !s->placing.active;
  if (copied || s->rope.total > SURG_LIMIT_RESIDENT)
    return surg__draft_write(&s->rope, j->dir, s->where, j->path, b->o->no_fsync, &j->draft);
  size_t n = (size_t)s->rope.total;
  uint8_t *bytes = surg__alloc(s->ctx, n ? n : 1);
  if (!bytes) return surg__oom(s->ctx, s->where);
  surg_status r = prove(s, bytes);
  if (r == SURG_OK) {
    surg__rope_clear(&s->rope);
    surg__rope_borrow(&s->rope, bytes, n);
    r = s->rope.failed
            ? surg__oom(s->ctx, s->where)
            : surg__draft_write(&s->rope, j->dir, s->where, j->path, b->o->no_fsync, &j->draft);
  }
  surg__free(s->ctx, bytes);
  return r;
}

static surg_status write_all(batch *b) {
  surg_status r = build(b);
  bool moved = false;
  for (size_t i = 0; i < b->n; i++)
    for (size_t k = 0; r == SURG_OK && k < b->jobs[i].copies.count; k++)
      r = copy_data(b, &b->jobs[i], b->jobs[i].copies.items[k], &moved);
  if (r == SURG_OK && moved) r = build(b);
  if (r == SURG_OK) r = write_data(b);
  if (r == SURG_OK && b->layout.published) r = sync_folder(b);
  for (size_t i = 0; r == SURG_OK && i < b->n; i++) r = write_model(b, &b->jobs[i]);
  for (size_t i = 0; r == SURG_OK && i < b->n; i++) {
    job *j = &b->jobs[i];
    surg__os_hold_end();
    surg__layout_needed(&b->layout);
    r = surg__draft_publish(b->ctx, &j->draft, j->path, j->path);
    /* A model has its name now and needs its data files. */
    if (r == SURG_OK) surg__layout_keep(&b->layout);
    surg__os_release_end();
  }
  return r == SURG_OK ? sync_folder(b) : r;
}

static void report_on(const batch *b, surg_data_report *out) {
  const surg__layout *l = &b->layout;
  surg_data_report r = {.tensors = l->slots.count,
                        .equal = l->equal,
                        .equal_bytes = l->equal_bytes,
                        .files = l->files.count ? l->files.count : l->kept,
                        .unchanged = l->kept};
  for (size_t i = 0; i < l->slots.count; i++)
    if (l->slots.items[i].first == i) r.bytes += surg__layout_bytes(l->slots.items[i].t);
  surg__struct_out(out, &r, sizeof r);
}

static void close_job(batch *b, job *j) {
  surg__draft_drop(&j->draft);
  surg__vec_free(b->ctx, &j->copies);
  free(j->dir);
  free(j->base);
  surg__saver_free(&j->s);
}

surg_status surg__save_files(surg_model *const *models, const char *const *paths, size_t n,
                             const surg_data_options *o, bool place, bool keep_defects,
                             surg_data_report *report) {
  batch b = {.ctx = models[0]->ctx, .o = o, .place = place};
  b.jobs = surg__calloc(b.ctx, n, sizeof *b.jobs);
  if (!b.jobs) return surg__oom(b.ctx, paths[0]);
  surg__layout_init(&b.layout, b.ctx, paths[0]);
  surg_status r = SURG_OK;
  for (size_t i = 0; r == SURG_OK && i < n; i++) {
    r = open_job(&b, &b.jobs[i], models[i], paths[i]);
    b.n++;
  }
  if (r == SURG_OK) r = plan(&b);
  for (size_t i = 0; r == SURG_OK && i < n; i++) {
    note_lost(&b, &b.jobs[i]);
    if (b.jobs[i].s.placing.active && !keep_defects) r = surg__model_sound(models[i]);
  }
  if (r == SURG_OK) r = write_all(&b);
  if (r == SURG_OK) report_on(&b, report);
  surg__layout_free(&b.layout); /* removes data files that no model needs */
  for (size_t i = 0; i < b.n; i++) close_job(&b, &b.jobs[i]);
  surg__free(b.ctx, b.jobs);
  surg__free(b.ctx, b.name);
  return r;
}
