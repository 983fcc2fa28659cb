/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the data files of a layout. A file that has these bytes already is not written. */
#include "base/os/os.h"
#include "base/os/unfinished.h"
#include "io/save/save.h"

/* The existing data file that has all tensors of file i at their places; NULL: there is none. */
static const surg__datafile *existing(const surg__layout *l, size_t i) {
  const surg__datafile *f = NULL;
  for (uint32_t k = i ? l->files.items[i - 1].last : 0; k < l->files.items[i].last; k++) {
    const surg__slot *s = &l->slots.items[k];
    if (s->first != k) continue;
    if (s->t->view != SURG__VIEW_EXTERNAL || s->t->file->loan || s->t->data.off != s->off)
      return NULL;
    if (f && f != s->t->file) return NULL;
    f = s->t->file;
  }
  return f && strcmp(f->location, l->files.items[i].location) == 0 ? f : NULL;
}

/* Whether file i is in the folder already. */
static surg_status is_there(const surg__layout *l, size_t i, const char *dir, bool *there) {
  const surg__datafile *f = existing(l, i);
  surg__stat st;
  *there = false;
  if (!f) return SURG_OK;
  char *path = surg__path_join(l->ctx, dir, f->location);
  if (!path) return surg__oom(l->ctx, l->where);
  *there = surg__os_stat(path, &st) == 0 && st.dev == f->dev && st.ino == f->ino;
  surg__free(l->ctx, path);
  return SURG_OK;
}

surg_status surg__layout_publish(surg__layout *l, surg__draft *d, char *path, bool *taken) {
  if (!surg__vec_reserve(l->ctx, &l->made, l->made.count + 1)) {
    surg__draft_drop(d);
    surg__free(l->ctx, path);
    return surg__oom(l->ctx, l->where);
  }
  /* A file without the mark may be in use by another model at once, and is not removed. */
  const bool marked = surg__os_provisional(d->fd) == 0;
  surg__os_hold_end();
  const surg_status r = surg__draft_publish_new(l->ctx, d, path, l->where, taken);
  if (r == SURG_OK && !*taken) l->published = true;
  if (r == SURG_OK && !*taken && marked) {
    l->made.items[l->made.count++] = path;
    surg__os_unfinished(path);
  } else {
    surg__free(l->ctx, path);
  }
  surg__os_release_end();
  return r;
}

/* Publishes the draft of a data file under a name that is free, or drops it where a file of equal
 * bytes is there. *taken: another process took the name meanwhile. */
static surg_status publish_as(surg__layout *l, const surg__part *p, const char *dir, surg__draft *d,
                              char **name, bool *taken) {
  char *path;
  *taken = false;
  surg_status r =
      surg__draft_name(l->ctx, l->where, dir, p->location, d, p->rope.total, name, &path);
  if (r != SURG_OK) {
    surg__draft_drop(d);
    return r;
  }
  if (d->fd >= 0) return surg__layout_publish(l, d, path, taken);
  surg__free(l->ctx, path);
  l->kept++;
  return SURG_OK;
}

/* Writes file i and chooses its name. */
static surg_status write_file(surg__layout *l, size_t i, const char *dir, bool no_fsync,
                              bool *renamed) {
  surg__part *p = &l->files.items[i];
  surg__draft d;
  char *name = NULL;
  bool taken = true;
  surg_status r = surg__draft_write(&p->rope, dir, l->where, NULL, no_fsync, &d);
  while (r == SURG_OK && taken) {
    surg__free(l->ctx, name);
    r = publish_as(l, p, dir, &d, &name, &taken);
  }
  if (!name) return r;
  if (strcmp(name, p->location) != 0) *renamed = true;
  surg__free(l->ctx, p->location);
  p->location = name;
  return r;
}

surg_status surg__layout_write(surg__layout *l, const char *dir, bool no_fsync, bool *renamed) {
  surg_status r = SURG_OK;
  *renamed = false;
  for (size_t i = 0; r == SURG_OK && i < l->files.count; i++) {
    bool there;
    r = is_there(l, i, dir, &there);
    if (r != SURG_OK) break;
    if (there)
      l->kept++;
    else
      r = write_file(l, i, dir, no_fsync, renamed);
  }
  return r;
}

void surg__layout_needed(const surg__layout *l) {
  for (size_t i = 0; i < l->made.count; i++) surg__os_finished(l->made.items[i]);
}

void surg__layout_keep(surg__layout *l) {
  while (l->made.count) {
    char *made = l->made.items[--l->made.count];
    surg__os_confirm(made); /* a file that keeps the mark is only not shared with other models */
    surg__free(l->ctx, made);
  }
}

void surg__layout_remove(surg__layout *l) {
  while (l->made.count) {
    char *made = l->made.items[--l->made.count];
    surg__os_unlink(made);
    surg__os_finished(made);
    surg__free(l->ctx, made);
  }
}
