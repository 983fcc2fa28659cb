/* SPDX-License-Identifier: Apache-2.0 */
/* Data files beside the output: decides which are unchanged, copied along, or gathered into a
 * new one. A location is chosen by the author of the model, and a file of that name would be
 * created in the user's folder; so a location is reused only if it is clearly the name of a
 * weights file. */
#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "io/save/save.h"
#include "onnx.pb-c.h"

#define COMPARE_PART ((size_t)64 << 10)

char *surg__path_join(surg_context *ctx, const char *dir, const char *name) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_puts(&b, dir);
  if (b.n && b.p[b.n - 1] != '/') surg__buf_putc(&b, '/');
  surg__buf_puts(&b, name);
  surg__buf_putc(&b, 0);
  if (!b.failed) return b.p;
  surg__buf_free(&b);
  return NULL;
}

static surg_status write_error(surg_context *ctx, const char *where, int e) {
  if (e == ENOMEM) return surg__oom(ctx, where);
  return surg__error(ctx, SURG_EIO, where, "cannot write: %s", strerror(e));
}

/* --- which data files contain tensors of the model --- */

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (surg__datafile *const *)a;
  uintptr_t y = (uintptr_t) * (surg__datafile *const *)b;
  return x < y ? -1 : x > y;
}

bool surg__place_gathered(const surg__saver *s, const surg__datafile *f) {
  return s->gather.count &&
         bsearch(&f, s->gather.items, s->gather.count, sizeof *s->gather.items, by_address) != NULL;
}

static void sort_unique(surg__datafiles *list) {
  if (list->count < 2) return;
  qsort(list->items, list->count, sizeof *list->items, by_address);
  size_t kept = 1;
  for (size_t i = 1; i < list->count; i++)
    if (list->items[i] != list->items[i - 1]) list->items[kept++] = list->items[i];
  list->count = kept;
}

/* A data file, and the bytes of it that tensors of the model are. Ranges of several tensors count
 * several times. */
typedef struct file_use {
  const surg__datafile *file;
  uint64_t bytes;
} file_use;

#define WHOLE_FILE (UINT64_C(1) << 20) /* smaller data files are copied as they are */

/* The result of a walk over all tensors of a model. */
typedef struct survey {
  surg__saver *s;
  SURG_VEC(file_use) uses; /* by address of the file, each once, after survey_model */
  bool collect; /* the walk adds the tensors that move to the layout, and nothing else */
  bool opaque;  /* a message that is not decoded refers to external data */
  bool failed;
} survey;

/* Whether a message contains an external tensor, at any depth. The scan has bounded the nesting. */
static bool wire_external(surg__saver *s, const ProtobufCMessageDescriptor *d, surg__span body) {
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  bool found = false;
  while (!found && surg__save_next(s, &c, &f)) {
    if (d == &onnx__tensor_proto__descriptor) {
      found = f.number == TENSOR_LOCATION && f.value == 1;
      continue;
    }
    const ProtobufCFieldDescriptor *fd = protobuf_c_message_descriptor_get_field(d, f.number);
    if (fd && fd->type == PROTOBUF_C_TYPE_MESSAGE && f.wire == 2)
      found = wire_external(s, fd->descriptor, f.body);
  }
  return found;
}

/* Whether the tensor moves to a data file. */
static bool moves_out(const surg__saver *s, const surg_tensor *t, bool attribute) {
  const surg__placing *p = &s->placing;
  if (t->view == SURG__VIEW_EXTERNAL && t->file->loan != SURG__LOAN_IN)
    return surg__place_gathered(s, t->file) || (p->all && t->bytes >= p->threshold);
  if (!p->inline_too || (attribute && !p->attributes_too) || t->dtype == SURG_STRING) return false;
  return t->bytes >= p->threshold &&
         (t->view == SURG__VIEW_RAW || t->view == SURG__VIEW_TYPED || t->view == SURG__VIEW_OWNED ||
          t->view == SURG__VIEW_EXTERNAL);
}

static void add_bytes(file_use *u, uint64_t bytes) {
  if (!surg__add_u64(u->bytes, bytes, &u->bytes)) u->bytes = UINT64_MAX;
}

static void see_use(survey *v, const surg__datafile *f, uint64_t bytes) {
  file_use *last = v->uses.count ? &v->uses.items[v->uses.count - 1] : NULL;
  if (last && last->file == f)
    add_bytes(last, bytes);
  else if (!surg__vec_push(v->s->ctx, &v->uses, ((file_use){f, bytes})))
    v->failed = true;
}

static void see_tensor(survey *v, const surg_tensor *t, const char *name, bool attribute) {
  if (v->collect) {
    if (v->s->status == SURG_OK && moves_out(v->s, t, attribute))
      v->s->status = surg__layout_add(v->s->layout, t, name);
  } else if (t->view == SURG__VIEW_SPARSE) {
    if (wire_external(v->s, &onnx__sparse_tensor_proto__descriptor, t->msg)) v->opaque = true;
  } else if (t->view == SURG__VIEW_EXTERNAL && t->file->loan != SURG__LOAN_IN &&
             (!v->s->placing.embed || t->codec)) {
    see_use(v, t->file, t->data.len);
  }
}

static void see_attr(survey *v, const surg_attr *a, const char *name) {
  if (a->kind == SURG_ATTR_TENSOR || a->kind == SURG_ATTR_TENSORS ||
      a->kind == SURG_ATTR_SPARSE_TENSOR || a->kind == SURG_ATTR_SPARSE_TENSORS)
    for (uint32_t i = 0; i < a->count; i++) see_tensor(v, a->u.tensors[i], name, true);
}

static void see_graph(survey *v, const surg_graph *g) {
  for (const surg_value *x = g->first_init; x; x = x->init_next)
    see_tensor(v, x->tensor, x->name, false);
  for (const surg_node *n = g->first; n; n = n->next)
    for (uint32_t i = 0; i < n->n_attr; i++)
      see_attr(v, n->attrs[i], n->n_out && n->out[0] ? n->out[0]->name : n->name);
}

static void see_training(survey *v) {
  surg__saver *s = v->s;
  if (!s->m->source) return;
  surg__cursor c = {s->m->source, 0, s->m->source->size};
  surg__field f;
  while (surg__save_next(s, &c, &f))
    if (f.number == MODEL_TRAINING &&
        wire_external(s, &onnx__training_info_proto__descriptor, f.body))
      v->opaque = true;
}

static void see_all(survey *v) {
  surg_model *m = v->s->m;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g)) != NULL;) see_graph(v, g);
  for (size_t i = 0; i < m->functions.count; i++)
    for (size_t k = 0; k < m->functions.items[i]->defaults.count; k++)
      see_attr(v, m->functions.items[i]->defaults.items[k], "");
}

static int by_file(const void *a, const void *b) {
  return by_address(&((const file_use *)a)->file, &((const file_use *)b)->file);
}

/* Makes each file occur once. */
static void join_uses(survey *v) {
  if (v->uses.count < 2) return;
  file_use *p = v->uses.items;
  size_t kept = 1;
  qsort(p, v->uses.count, sizeof *p, by_file);
  for (size_t i = 1; i < v->uses.count; i++)
    if (p[i].file != p[kept - 1].file)
      p[kept++] = p[i];
    else
      add_bytes(&p[kept - 1], p[i].bytes);
  v->uses.count = kept;
}

static surg_status survey_model(survey *v) {
  surg_model *m = v->s->m;
  see_all(v);
  see_training(v);
  if (v->failed) return surg__oom(v->s->ctx, v->s->where);
  if (v->s->status != SURG_OK) return v->s->status;
  if (v->opaque) { /* the file is unknown, so all are needed */
    for (surg__datafile *f = m->files; f; f = f->next)
      if (!f->absent && !f->loan) see_use(v, f, f->size);
    if (v->failed) return surg__oom(v->s->ctx, v->s->where);
  }
  join_uses(v);
  return SURG_OK;
}

/* --- comparing files --- */

/* Where the holes that both files have at `off` end; `off` if there is none. */
static uint64_t both_holes(int a, int b, uint64_t off, uint64_t size) {
  const uint64_t x = surg__os_hole_end(a, off, size);
  const uint64_t y = x > off ? surg__os_hole_end(b, off, size) : off;
  return x < y ? x : y;
}

/* Compares two open files of `size` bytes. */
static int compare(int a, int b, uint64_t size, uint8_t *buffer, bool *same) {
  *same = true;
  for (uint64_t off = 0; *same && (off = both_holes(a, b, off, size)) < size; off += COMPARE_PART) {
    size_t n = size - off < COMPARE_PART ? (size_t)(size - off) : COMPARE_PART;
    int e = surg__os_pread(a, buffer, n, off);
    if (e == 0) e = surg__os_pread(b, buffer + COMPARE_PART, n, off);
    if (e != 0) return e;
    *same = memcmp(buffer, buffer + COMPARE_PART, n) == 0;
  }
  return 0;
}

/* Whether the regular file at `path` has the bytes of `fd`, and stays; an unreadable one does not,
 * nor one whose writer may still fail and remove it. */
static int same_bytes(surg_context *ctx, const char *path, int fd, uint64_t size, bool *same) {
  surg__stat st;
  int other;
  *same = false;
  int e = surg__os_lstat(path, &st);
  if (e != 0 || !st.regular || st.provisional || st.size != size)
    return e == ENOENT || e == ENOTDIR ? 0 : e;
  e = surg__os_open_read(-1, path, &other);
  if (e != 0) return e == EACCES || e == EPERM || e == ENOENT ? 0 : e;
  uint8_t *buffer = surg__alloc(ctx, COMPARE_PART * 2);
  e = buffer ? compare(fd, other, size, buffer, same) : ENOMEM;
  surg__free(ctx, buffer);
  surg__os_close(other);
  return e;
}

/* --- planning --- */

/* Whether a location is a plain file name with a typical extension of weights files. */
static bool weights_name(const char *p) {
  static const char *const endings[] = {".data",    ".bin",    ".onnx_data", ".safetensors",
                                        ".weights", ".weight", ".raw"};
  size_t n = strlen(p);
  if (n == 0 || *p == '.') return false;
  for (size_t i = 0; i < n; i++) {
    unsigned char ch = (unsigned char)p[i];
    bool word = (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
    if (!word && ch != '.' && ch != '_' && ch != '-') return false;
  }
  for (size_t i = 0; i < SURG_COUNT(endings); i++) {
    size_t k = strlen(endings[i]);
    if (n > k && strcmp(p + n - k, endings[i]) == 0) return true;
  }
  return false;
}

typedef enum fate { FATE_STAYS, FATE_COPIED, FATE_GATHERED } fate;

static bool same_file(const surg__stat *st, const surg__datafile *f) {
  return st->dev == f->dev && st->ino == f->ino;
}

/* `part`: most of the file is unused, so that it is neither copied nor compared. */
static int decide_at(surg__saver *s, const surg__datafile *f, const char *path, bool part,
                     fate *out) {
  surg__stat st;
  int e = surg__os_stat(path, &st);
  *out = FATE_STAYS;
  if (e == 0 && same_file(&st, f)) return 0;
  *out = FATE_GATHERED;
  if (part) return 0;
  /* The path is free; it is not even a dangling link. */
  if (e == ENOENT && weights_name(f->location)) {
    e = surg__os_lstat(path, &st);
    *out = FATE_COPIED;
    if (e == ENOENT) return 0;
  }
  if (e != 0 && e != ENOENT && e != ENOTDIR && e != ELOOP && e != EACCES) return e;
  bool same = false;
  int fd;
  e = surg__datafile_open(f, &fd);
  if (e != 0) return e;
  e = same_bytes(s->ctx, path, fd, f->size, &same);
  surg__datafile_close(f, fd);
  *out = same ? FATE_STAYS : FATE_GATHERED;
  return e;
}

static surg_status decide(surg__saver *s, const surg__datafile *f, const char *dir, bool part,
                          fate *out) {
  char *path = surg__path_join(s->ctx, dir, f->location);
  if (!path) return surg__oom(s->ctx, s->where);
  int e = decide_at(s, f, path, part, out);
  surg__free(s->ctx, path);
  return e ? write_error(s->ctx, s->where, e) : SURG_OK;
}

static surg_status refuse_target(surg__saver *s, const surg__datafile *f) {
  return surg__error(s->ctx, SURG_EUSAGE, s->where,
                     "is a data file (%s) of the model to be written",
                     surg__q(s->ctx, f->location));
}

/* Plans one file; `copies` is NULL where no file may be copied under its own name. */
static surg_status plan_file(surg__saver *s, const file_use *use, const char *dir,
                             const surg__stat *target, surg__datafiles *copies) {
  const surg__source *src = s->m->source;
  const surg__datafile *f = use->file;
  fate what = FATE_STAYS;
  if (f->loan == SURG__LOAN_OUT) {
    what = FATE_GATHERED;
  } else if (target && same_file(target, f)) {
    /* The elements are in the model file itself, which is about to be replaced. */
    if (!src || src->dev != f->dev || src->ino != f->ino) return refuse_target(s, f);
    what = s->m->dirty ? FATE_GATHERED : FATE_STAYS;
  } else {
    const bool part = f->size >= WHOLE_FILE && use->bytes < f->size / 2;
    surg_status r = decide(s, f, dir, part, &what);
    if (r != SURG_OK) return r;
  }
  if (what == FATE_STAYS) return SURG_OK;
  bool pushed = what == FATE_COPIED && copies ? surg__vec_push(s->ctx, copies, f)
                                              : surg__vec_push(s->ctx, &s->gather, f);
  return pushed ? SURG_OK : surg__oom(s->ctx, s->where);
}

surg_status surg__place_plan(surg__saver *s, const char *path, const char *dir,
                             surg__datafiles *copies) {
  if (!s->m->files) return SURG_OK;
  survey v = {.s = s};
  surg__stat st;
  int e = surg__os_stat(path, &st);
  surg_status r = e && e != ENOENT ? write_error(s->ctx, path, e) : survey_model(&v);
  for (size_t i = 0; r == SURG_OK && i < v.uses.count; i++)
    r = plan_file(s, &v.uses.items[i], dir, e ? NULL : &st, copies);
  const surg__datafile *moved = NULL;
  for (size_t i = 0; i < s->gather.count && !moved; i++)
    if (!s->gather.items[i]->loan) moved = s->gather.items[i];
  if (r == SURG_OK && v.opaque && moved)
    r = surg__error(s->ctx, SURG_EUSAGE, s->where,
                    "external data of sparse tensors or training_info (%s) cannot move: write "
                    "the model into the folder of its data",
                    surg__q(s->ctx, moved->location));
  sort_unique(&s->gather);
  surg__vec_free(s->ctx, &v.uses);
  return r;
}

surg_status surg__place_taken(surg__saver *s, const surg__datafile *f, const char *dir,
                              bool *moved) {
  fate what;
  const surg_status r = decide(s, f, dir, false, &what);
  if (r != SURG_OK || what == FATE_STAYS) return r;
  if (!surg__vec_push(s->ctx, &s->gather, f)) return surg__oom(s->ctx, s->where);
  sort_unique(&s->gather);
  *moved = s->placing.active = true;
  return SURG_OK;
}

surg_status surg__place_collect(surg__saver *s) {
  survey v = {.s = s, .collect = true};
  s->status = SURG_OK;
  see_all(&v);
  return s->status;
}

bool surg__place_stays(const surg_model *m, const char *dir) {
  bool all = true;
  for (const surg__datafile *f = m->files; all && f; f = f->next) {
    surg__stat st;
    char *path = surg__path_join(m->ctx, dir, f->location);
    all = path && surg__os_stat(path, &st) == 0 && same_file(&st, f);
    surg__free(m->ctx, path);
  }
  return all;
}

/* --- drafts: files without a final name --- */

void surg__draft_drop(surg__draft *d) {
  if (d->fd >= 0) surg__os_discard(d->fd, d->temp);
  d->fd = -1;
  d->temp = NULL;
}

surg_status surg__draft_write(surg__rope *rope, const char *dir, const char *where,
                              const char *like, bool no_fsync, surg__draft *out) {
  surg_context *ctx = rope->ctx;
  *out = (surg__draft){-1, NULL};
  int fd = -1;
  int e = surg__os_temp_in(dir, &fd, &out->temp);
  if (e) return write_error(ctx, where, e);
  out->fd = fd;
  if (like) e = surg__os_copy_mode(fd, like);
  surg_status r = e ? write_error(ctx, where, e) : SURG_OK;
  if (r == SURG_OK) r = surg__rope_write(rope, &(surg__sink){where, fd, true, NULL});
  if (r == SURG_OK && !no_fsync) {
    e = surg__os_fsync(fd);
    if (e) r = write_error(ctx, where, e);
  }
  if (r != SURG_OK) surg__draft_drop(out);
  return r;
}

surg_status surg__draft_publish(surg_context *ctx, surg__draft *d, const char *path,
                                const char *where) {
  int e = surg__os_publish(d->fd, d->temp, path);
  *d = (surg__draft){-1, NULL};
  return e ? write_error(ctx, where, e) : SURG_OK;
}

surg_status surg__draft_publish_new(surg_context *ctx, surg__draft *d, const char *path,
                                    const char *where, bool *taken) {
  const int e = surg__os_publish_new(d->fd, d->temp, path);
  *taken = e == EEXIST;
  if (*taken) return SURG_OK;
  *d = (surg__draft){-1, NULL};
  return e ? write_error(ctx, where, e) : SURG_OK;
}

#define NAME_TRIES 10000u

/* Returns `stem-3.ext` for name `stem.ext` and k = 3. */
static char *variant(surg_context *ctx, const char *name, unsigned k) {
  const char *dot = strrchr(name, '.');
  size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_put(&b, name, stem);
  if (k) surg__buf_printf(&b, "-%u", k);
  surg__buf_puts(&b, name + stem);
  surg__buf_putc(&b, 0);
  if (!b.failed) return b.p;
  surg__buf_free(&b);
  return NULL;
}

surg_status surg__draft_name(surg_context *ctx, const char *where, const char *dir,
                             const char *want, surg__draft *d, uint64_t size, char **name,
                             char **path) {
  for (unsigned k = 0; k < NAME_TRIES; k++) {
    surg__stat st;
    *name = variant(ctx, want, k);
    *path = *name ? surg__path_join(ctx, dir, *name) : NULL;
    if (!*path) {
      surg__free(ctx, *name);
      *name = NULL;
      return surg__oom(ctx, where);
    }
    int e = surg__os_lstat(*path, &st);
    if (e == ENOENT) return SURG_OK;
    bool same = false;
    if (e == 0) e = same_bytes(ctx, *path, d->fd, size, &same);
    if (same) {
      surg__draft_drop(d);
      return SURG_OK;
    }
    surg__free(ctx, *name);
    surg__free(ctx, *path);
    *name = *path = NULL;
    if (e != 0) return write_error(ctx, where, e);
  }
  return surg__error(ctx, SURG_EIO, where, "no free name for a data file like %s",
                     surg__q(ctx, want));
}
