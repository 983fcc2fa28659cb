/* SPDX-License-Identifier: Apache-2.0 */
/* Wire functions shared by all parts of saving: visit the fields of a source message, copy or
 * replace them. */
#include "io/save/save.h"

surg_status surg__save_fail(surg__saver *s, surg_status status) {
  if (s->status == SURG_OK) s->status = status;
  return s->status;
}

surg__cursor surg__save_cursor(surg__saver *s, surg__span body) {
  return (surg__cursor){s->m->source, body.off, body.off + body.len};
}

bool surg__save_next(surg__saver *s, surg__cursor *c, surg__field *f) {
  if (s->status != SURG_OK || s->rope.failed) return false;
  int r = surg__wire_next(c, f);
  if (r < 0) surg__save_fail(s, (surg_status)r);
  return r > 0;
}

void surg__save_keep(surg__saver *s, const surg__cursor *c, const surg__field *f) {
  surg__rope_source(&s->rope, f->off, c->pos - f->off);
}

const char *surg__save_text(surg__saver *s, const surg__field *f) {
  surg__source *src = s->m->source;
  surg_status r = surg__source_need(src, f->body.off, f->body.len);
  if (r != SURG_OK) {
    surg__save_fail(s, r);
    return NULL;
  }
  return (const char *)src->base + f->body.off;
}

void surg__save_copy(surg__saver *s, uint32_t number, surg__src src) {
  uint8_t key[10], at[10];
  size_t n = surg__varint_put(key, (uint64_t)number << 3 | 2);
  assert(src.body.off > src.field_off);
  surg_status r = surg__source_read(s->m->source, src.field_off, at, n);
  if (r != SURG_OK) {
    surg__save_fail(s, r);
    return;
  }
  if (memcmp(at, key, n) == 0) {
    surg__rope_source(&s->rope, src.field_off, src.body.off + src.body.len - src.field_off);
  } else {
    surg__rope_tag(&s->rope, number, src.body.len);
    surg__rope_source(&s->rope, src.body.off, src.body.len);
  }
}

surg__open surg__save_begin(surg__saver *s, uint32_t number) {
  if (++s->depth > s->ctx->max_depth && s->status == SURG_OK)
    surg__save_fail(
        s, surg__error(s->ctx, SURG_ELIMIT, s->where,
                       "messages nested deeper than %u cannot be read back", s->ctx->max_depth));
  return surg__rope_begin(&s->rope, number);
}

void surg__save_end(surg__saver *s, surg__open open) {
  assert(s->depth > 0);
  s->depth--;
  surg__rope_end(&s->rope, open);
}

static bool field_reads(surg__saver *s, const surg__field *f, const char *text) {
  if (f->wire != 2 || f->body.len != strlen(text)) return false;
  const char *p = surg__save_text(s, f);
  return p && memcmp(p, text, (size_t)f->body.len) == 0;
}

void surg__save_retext(surg__saver *s, const surg__cursor *c, const surg__field *f,
                       const char *text) {
  if (field_reads(s, f, text))
    surg__save_keep(s, c, f);
  else
    surg__save_str(s, f->number, text);
}

void surg__save_str(surg__saver *s, uint32_t number, const char *text) {
  surg__rope_string(&s->rope, number, text, strlen(text));
}

bool surg__save_reads(surg__saver *s, surg__span body, uint32_t number, const char *text) {
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  bool same = *text == 0;
  while (surg__save_next(s, &c, &f))
    if (f.number == number) same = field_reads(s, &f, text);
  return same;
}
