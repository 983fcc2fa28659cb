/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of external data in a format that a plugin decodes (surg_decoder). */
#include <stdio.h>

#include "base/calling.h"
#include "ir/tensor.h"

#define GUARD 64u /* bytes after the output of a decoder, to detect that it wrote past the end */
#define GUARD_BYTE 0xa5

/* Reports a fault of a decoder. The model fails, so that a result without the elements is not
 * mistaken for one with them. */
static surg_status fault(const surg_tensor *t, surg_status s, const char *what) {
  const surg__codec *c = t->codec;
  surg_context *ctx = t->model->ctx;
  surg__error(ctx, s, surg_model_path(t->model), "decoder %s of plugin %s: tensor %s: %s",
              surg__q(ctx, c->decoder.format), surg__q(ctx, c->plugin ? c->plugin : "(program)"),
              surg__q(ctx, c->name), what);
  return surg__fail(t->model, s);
}

static surg_status call(const surg_tensor *t, const void *bytes, void *out) {
  const surg__codec *c = t->codec;
  const surg_encoded e = {.size = sizeof e,
                          .dtype = t->dtype,
                          .name = c->name,
                          .dims = t->dims,
                          .rank = t->rank,
                          .keys = c->keys,
                          .values = c->values,
                          .n_keys = c->n,
                          .bytes = bytes,
                          .n = t->data.len,
                          .out = out,
                          .room = t->bytes};
  char what[120];
  uint64_t written = 0;
  const surg__calling outer = surg__calling_begin(c->plugin, "decoder", c->decoder.format);
  const surg_status s = c->decoder.decode(c->decoder.user, &e, &written);
  surg__calling_end(outer);
  for (size_t i = 0; i < GUARD; i++)
    if (((uint8_t *)out)[t->bytes + i] != GUARD_BYTE)
      return fault(t, SURG_EPLUGIN, "wrote past the end of its output");
  if (s != SURG_OK) {
    snprintf(what, sizeof what, "cannot be decoded (%s)", surg_status_name(s));
    return fault(t, s == SURG_ENOMEM || s == SURG_EPLUGIN ? s : SURG_EINVALID, what);
  }
  if (written == t->bytes) return SURG_OK;
  snprintf(what, sizeof what, "%llu bytes were decoded; type and dims need %llu",
           (unsigned long long)written, (unsigned long long)t->bytes);
  return fault(t, SURG_EPLUGIN, what);
}

static surg_status read_file(const surg_tensor *t, void *bytes) {
  const int e = surg__datafile_pread(t->file, bytes, (size_t)t->data.len, t->data.off);
  if (!e) return SURG_OK;
  surg_context *ctx = t->model->ctx;
  return surg__error(ctx, SURG_EIO, surg_model_path(t->model), "cannot read %s: %s",
                     surg__q(ctx, t->file->location), strerror(e));
}

surg_status surg__codec_to_blob(const surg_tensor *t, surg__blob *b) {
  surg_context *ctx = t->model->ctx;
  size_t n;
  if (t->data.len > SIZE_MAX - 1 || t->bytes > SIZE_MAX - GUARD || !surg__add(t->bytes, GUARD, &n))
    return surg__fail(t->model, SURG_ELIMIT);
  uint8_t *bytes = surg__alloc(ctx, (size_t)t->data.len + 1), *out = surg__alloc(ctx, n);
  surg_status s = bytes && out ? SURG_OK : surg__fail(t->model, surg__alloc_status(ctx));
  if (s == SURG_OK) {
    memset(out + t->bytes, GUARD_BYTE, GUARD);
    s = read_file(t, bytes);
  }
  if (s == SURG_OK) s = call(t, bytes, out);
  if (s == SURG_OK) s = surg__blob_write(b, 0, out, (size_t)t->bytes);
  surg__free(ctx, bytes);
  surg__free(ctx, out);
  if (s == SURG_OK) t->model->decoded++;
  return s;
}

/* Interned copies of n strings; false: out of memory. */
static bool copy_texts(surg_model *m, const surg_str *from, uint32_t n, const surg_str **out) {
  surg_str *to = surg__arena_array(&m->arena, n ? n : 1, sizeof *to);
  for (uint32_t i = 0; to && i < n; i++) {
    const char *p = surg__intern(m, from[i].p, from[i].n);
    if (!p) return false;
    to[i] = (surg_str){p, from[i].n};
  }
  *out = to;
  return to != NULL;
}

const surg__codec *surg__codec_copy(surg_model *m, const surg__codec *from) {
  surg__codec *c = surg__arena_alloc(&m->arena, sizeof *c);
  if (!c) return NULL;
  *c = *from;
  c->name = surg__intern(m, from->name, strlen(from->name));
  return c->name && copy_texts(m, from->keys, from->n, &c->keys) &&
                 copy_texts(m, from->values, from->n, &c->values)
             ? c
             : NULL;
}
