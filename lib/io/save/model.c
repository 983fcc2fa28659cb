/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the fields of the model around its graph. */
#include "io/save/save.h"
#include "ir/about.h"

static void put_imports(surg__saver *s) {
  for (size_t i = 0; i < s->m->imports.count; i++)
    surg__save_import(s, MODEL_IMPORT, &s->m->imports.items[i]);
}

static void put_metadata(surg__saver *s) {
  for (size_t i = 0; i < s->m->metadata.count; i++)
    surg__save_metadata(s, &s->m->metadata.items[i]);
}

static void put_functions(surg__saver *s) {
  for (size_t i = 0; i < s->m->functions.count; i++) {
    const surg_function *f = s->m->functions.items[i];
    if (!f->erased) surg__save_function(s, f);
  }
}

static void put_ir_version(surg__saver *s) {
  if (s->m->has_ir_version)
    surg__rope_varint(&s->rope, MODEL_IR_VERSION, (uint64_t)s->m->ir_version);
}

/* The field of the header that is `number` and was set, or NULL. */
static const bool *text_at(const surg_model *m, uint32_t number) {
  for (int field = 0; field <= SURG_MODEL_DOMAIN; field++)
    if (surg__header_field(field) == number && m->header.has_text[field])
      return &m->header.has_text[field];
  return NULL;
}

static void put_text(surg__saver *s, uint32_t number) {
  const bool *set = text_at(s->m, number);
  const char *text = set ? s->m->header.texts[set - s->m->header.has_text] : NULL;
  if (text) surg__save_str(s, number, text);
}

/* Whether the field is written from the IR; all others are copied verbatim. */
static bool ours(const surg_model *m, uint32_t number) {
  switch (number) {
    case MODEL_IR_VERSION:
    case MODEL_IMPORT:
    case MODEL_METADATA:
      return m->header_dirty;
    case MODEL_GRAPH:
    case MODEL_FUNCTION:
      return true;
    case SURG__MODEL_VERSION:
      return m->header.has_version;
    default:
      return text_at(m, number) != NULL;
  }
}

static void put_part(surg__saver *s, uint32_t number) {
  switch (number) {
    case MODEL_IR_VERSION:
      put_ir_version(s);
      return;
    case MODEL_IMPORT:
      put_imports(s);
      return;
    case MODEL_METADATA:
      put_metadata(s);
      return;
    case MODEL_GRAPH:
      if (s->m->graph) surg__save_graph(s, MODEL_GRAPH, s->m->graph);
      return;
    case MODEL_FUNCTION:
      put_functions(s);
      return;
    case SURG__MODEL_VERSION:
      surg__rope_varint(&s->rope, number, (uint64_t)s->m->header.version);
      return;
    default:
      put_text(s, number);
  }
}

/* The version of an import in the file; 0: none. */
static uint64_t version_read(surg__saver *s, const surg__field *import) {
  surg__cursor c = surg__save_cursor(s, import->body);
  surg__field f;
  uint64_t version = 0;
  while (surg__save_next(s, &c, &f))
    if (f.number == IMPORT_VERSION) version = f.value;
  return version;
}

/* Whether an import repeats another one. Reading merged the two, and the repetition is kept as
 * long as the other one is unchanged. */
static bool repeats_import(surg__saver *s, const surg__field *f) {
  const surg__imports *list = &s->m->imports;
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].src.field_off == f->off) return false;
  for (size_t i = 0; i < list->count; i++)
    if (!list->items[i].dirty && version_read(s, f) == (uint64_t)list->items[i].version &&
        surg__save_reads(s, f->body, IMPORT_DOMAIN, list->items[i].domain))
      return true;
  return false;
}

static void splice_model(surg__saver *s) {
  static const uint32_t order[] = {
      MODEL_IR_VERSION,   SURG__MODEL_PRODUCER, SURG__MODEL_PRODUCER_VERSION,
      SURG__MODEL_DOMAIN, SURG__MODEL_VERSION,  SURG__MODEL_DOC,
      MODEL_GRAPH,        MODEL_IMPORT,         MODEL_METADATA,
      MODEL_FUNCTION};
  uint32_t done = 0;
  if (s->m->source) {
    surg__cursor c = {s->m->source, 0, s->m->source->size};
    surg__field f;
    while (surg__save_next(s, &c, &f)) {
      if (!ours(s->m, f.number)) {
        surg__save_keep(s, &c, &f);
        continue;
      }
      if (!(done >> f.number & 1))
        put_part(s, f.number);
      else if (f.number == MODEL_IMPORT && repeats_import(s, &f))
        surg__save_keep(s, &c, &f);
      done |= 1u << f.number;
    }
  }
  bool whole = !s->m->source;
  for (size_t i = 0; i < SURG_COUNT(order); i++)
    if (((whole && order[i] != SURG__MODEL_VERSION) || ours(s->m, order[i])) &&
        !(done >> order[i] & 1))
      put_part(s, order[i]);
}

surg_status surg__save_build(surg__saver *s) {
  surg__rope_clear(&s->rope);
  s->depth = 0;
  s->status = SURG_OK;
  if (s->m->source && !surg__edited(s->m) && !s->placing.active)
    surg__rope_source(&s->rope, 0, s->m->source->size);
  else
    splice_model(s);
  if (s->status == SURG_OK && s->rope.failed)
    surg__save_fail(s, surg__oom(s->ctx, s->where));
  return s->status;
}
