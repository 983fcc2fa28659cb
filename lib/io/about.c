/* SPDX-License-Identifier: Apache-2.0 */
/* Reads doc_string, metadata_props and the header of a model from the source, when they are asked
 * for; and writes them. */
#include "ir/about.h"

#include "io/save/save.h"

/* Interns the bytes of a field; NULL: out of memory, or they cannot be read. */
static const char *text_of(surg_model *m, surg__span at) {
  if (surg__source_need(m->source, at.off, at.len) != SURG_OK) return NULL;
  return surg__intern(m, (const char *)m->source->base + at.off, (size_t)at.len);
}

/* Reads a StringStringEntryProto. */
static bool read_entry(surg_model *m, surg__span body, const char **key, const char **value) {
  surg__cursor c = {m->source, body.off, body.off + body.len};
  surg__field f;
  int r;
  *key = *value = m->none ? m->none : surg__intern(m, "", 0);
  while ((r = surg__wire_next(&c, &f)) > 0) {
    if (f.number == ENTRY_KEY) *key = text_of(m, f.body);
    if (f.number == ENTRY_VALUE) *value = text_of(m, f.body);
  }
  return r == 0 && *key && *value;
}

/* The failure of the model, or SURG_EIO. */
static surg_status failed(const surg_model *m) {
  return m->status != SURG_OK ? m->status : SURG_EIO;
}

surg_status surg__about_read(surg_model *m, surg__span body, uint32_t doc, uint32_t entries,
                             surg__about *out) {
  surg__cursor c = {m->source, body.off, body.off + body.len};
  surg__field f;
  uint32_t n = 0, i = 0;
  int r;
  while ((r = surg__wire_next(&c, &f)) > 0) {
    if (f.number == doc && !(out->doc = text_of(m, f.body))) return failed(m);
    n += f.number == entries;
  }
  if (r < 0) return (surg_status)r;
  if (!n) return SURG_OK;
  const char **keys = surg__arena_array(&m->arena, n, sizeof *keys);
  const char **values = keys ? surg__arena_array(&m->arena, n, sizeof *values) : NULL;
  if (!values) return surg__fail(m, surg__alloc_status(m->ctx));
  c = (surg__cursor){m->source, body.off, body.off + body.len};
  while (i < n && surg__wire_next(&c, &f) > 0) {
    if (f.number != entries) continue;
    if (!read_entry(m, f.body, &keys[i], &values[i])) return failed(m);
    i++;
  }
  out->n = i;
  out->keys = keys;
  out->values = values;
  return SURG_OK;
}

const char *surg__about_header(surg_model *m, uint32_t number, int64_t *value) {
  const char *text = NULL;
  surg__field f;
  if (!m->source) return NULL;
  surg__cursor c = {m->source, 0, m->source->size};
  while (surg__wire_next(&c, &f) > 0) {
    if (f.number != number) continue;
    if (value)
      *value = (int64_t)f.value;
    else
      text = text_of(m, f.body);
  }
  return text;
}

void surg__save_about(surg__saver *s, const surg__about *a, uint32_t number, bool doc) {
  if (doc) {
    if (a->doc) surg__save_str(s, number, a->doc);
    return;
  }
  for (uint32_t i = 0; i < a->n; i++) surg__save_entry(s, number, a->keys[i], a->values[i]);
}
