/* SPDX-License-Identifier: Apache-2.0 */
/* Writes patches. A patch is a line with the length of its header, the header (JSON), and the new
 * bytes of all files in order. */
#include <stdlib.h>

#include "base/json.h"
#include "base/os/os.h"
#include "diff/patch.h"

#define PIECE ((size_t)1 << 18)

typedef struct maker {
  surg_context *ctx;
  surg_model *a, *b;
  json_t *header, *files;
  SURG_VEC(surg__ops) ops; /* of each file of b with new content */
  SURG_VEC(surg__bytes) sources;
} maker;

static surg_status digest_json(surg_context *ctx, const surg__bytes *b, json_t *to) {
  char text[SURG__PATCH_DIGEST];
  const surg_status s = surg__patch_digest(ctx, b, text);
  if (s != SURG_OK) return s;
  json_object_set_new(to, "size", json_integer((json_int_t)b->size));
  json_object_set_new(to, "digest", json_string(text));
  return SURG_OK;
}

static json_t *ops_json(const surg__ops *ops) {
  json_t *list = json_array();
  for (size_t i = 0; i < ops->count; i++) {
    const surg__op *o = &ops->items[i];
    json_array_append_new(list, o->copy ? json_pack("[I, I, I]", (json_int_t)o->number,
                                                    (json_int_t)o->from, (json_int_t)o->n)
                                        : json_pack("[I]", (json_int_t)o->n));
  }
  return list;
}

/* The data file of the first model with that name, else the file that is the same on disk. */
static bool old_file(const maker *m, const surg__datafile *f, surg__bytes *out, bool *same) {
  const char *name;
  bool found = false;
  *same = false;
  for (size_t i = 0; surg__patch_file(m->a, i, out, &name); i++) {
    const surg__datafile *g = out->of;
    *same = g->dev == f->dev && g->ino == f->ino;
    found = strcmp(name, f->location) == 0;
    if (found) break;
  }
  return found;
}

/* Adds a file of the second model: its name (NULL: the model), and how it is made. */
static surg_status add_file(maker *m, const surg__bytes *new, const surg__bytes *old,
                            const char *name) {
  surg__ops ops = {0};
  json_t *j = json_object();
  const surg__bytes none = {.of = new->of, .read = new->read};
  surg_status s = surg__delta(m->ctx, old ? old : &none, new, &ops);
  if (name) surg__json_set(m->ctx, j, "name", name);
  if (s == SURG_OK) s = digest_json(m->ctx, new, j);
  json_object_set_new(j, "parts", ops_json(&ops));
  json_array_append_new(m->files, j);
  if (!surg__vec_push(m->ctx, &m->ops, ops)) {
    surg__vec_free(m->ctx, &ops);
    return s == SURG_OK ? surg__oom(m->ctx, NULL) : s;
  }
  if (!surg__vec_push(m->ctx, &m->sources, *new) && s == SURG_OK) s = surg__oom(m->ctx, NULL);
  return s;
}

static surg_status add_data(maker *m) {
  surg__bytes new;
  const char *name;
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && surg__patch_file(m->b, i, &new, &name); i++) {
    const surg__datafile *f = new.of;
    surg__bytes old;
    bool same;
    if (f->absent)
      return surg__error(m->ctx, SURG_EIO, surg_model_path(m->b),
                         "data file %s cannot be read: a patch needs it", surg__q(m->ctx, name));
    if (surg__os_base_name(name) != name)
      return surg__error(m->ctx, SURG_EUNSUPPORTED, surg_model_path(m->b),
                         "data file %s is in a folder of its own: not supported by patches",
                         surg__q(m->ctx, name));
    const bool has = old_file(m, f, &old, &same);
    if (has && same) {
      json_t *j = json_object();
      surg__json_set(m->ctx, j, "name", name);
      json_object_set_new(j, "size", json_integer((json_int_t)f->size));
      json_object_set_new(j, "kept", json_true());
      json_array_append_new(m->files, j);
      continue;
    }
    s = add_file(m, &new, has ? &old : NULL, name);
  }
  return s;
}

/* --- writing --- */

static surg_status failed(const maker *m, const char *path, int e) {
  return e ? surg__error(m->ctx, SURG_EIO, path, "cannot write: %s", strerror(e)) : SURG_OK;
}

static surg_status write_new(const maker *m, const char *path, int fd, const surg__bytes *from,
                             const surg__ops *ops) {
  uint8_t *p = surg__alloc(m->ctx, PIECE);
  surg_status s = p ? SURG_OK : surg__oom(m->ctx, NULL);
  for (size_t i = 0; s == SURG_OK && i < ops->count; i++) {
    const surg__op *o = &ops->items[i];
    for (uint64_t done = 0; !o->copy && s == SURG_OK && done < o->n; done += PIECE) {
      const size_t n = o->n - done < PIECE ? (size_t)(o->n - done) : PIECE;
      s = from->read(from->of, o->from + done, p, n);
      if (s == SURG_OK) s = failed(m, path, surg__os_write(fd, p, n));
    }
  }
  surg__free(m->ctx, p);
  return s;
}

static surg_status write_all(const maker *m, const char *path, int fd) {
  char *text = json_dumps(m->header, JSON_COMPACT);
  char line[64];
  if (!text) return surg__oom(m->ctx, path);
  const int n = snprintf(line, sizeof line, SURG__PATCH_MAGIC "%zu\n", strlen(text));
  surg_status s = failed(m, path, surg__os_write(fd, line, (size_t)n));
  if (s == SURG_OK) s = failed(m, path, surg__os_write(fd, text, strlen(text)));
  free(text);
  for (size_t i = 0; s == SURG_OK && i < m->ops.count; i++)
    s = write_new(m, path, fd, &m->sources.items[i], &m->ops.items[i]);
  return s;
}

static surg_status publish(const maker *m, const char *path) {
  char *dir = NULL, *base = NULL, *name = NULL;
  int fd = -1, e = surg__os_split(path, &dir, &base);
  if (!e) e = surg__os_temp_in(dir, &fd, &name);
  surg_status s = failed(m, path, e);
  if (s == SURG_OK) {
    s = write_all(m, path, fd);
    if (s == SURG_OK)
      s = failed(m, path, surg__os_publish(fd, name, path));
    else
      surg__os_discard(fd, name);
  }
  free(dir);
  free(base);
  return s;
}

surg_status surg_patch_make(surg_model *a, surg_model *b, const char *path) {
  surg__bytes old, new;
  if (!a || !b || !path || surg_model_context(a) != surg_model_context(b)) return SURG_EUSAGE;
  maker m = {.ctx = surg_model_context(a), .a = a, .b = b};
  json_t *from = json_object();
  m.header = json_object();
  m.files = json_array();
  json_object_set_new(m.header, "from", from);
  json_object_set_new(m.header, "files", m.files);
  surg_status s = surg__patch_source(a, &old);
  if (s == SURG_OK) s = surg__patch_source(b, &new);
  if (s == SURG_OK) s = digest_json(m.ctx, &old, from);
  if (s == SURG_OK) s = add_file(&m, &new, &old, NULL);
  if (s == SURG_OK) s = add_data(&m);
  if (s == SURG_OK) s = publish(&m, path);
  for (size_t i = 0; i < m.ops.count; i++) surg__vec_free(m.ctx, &m.ops.items[i]);
  surg__vec_free(m.ctx, &m.ops);
  surg__vec_free(m.ctx, &m.sources);
  json_decref(m.header);
  return s;
}
