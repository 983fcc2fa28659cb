/* SPDX-License-Identifier: Apache-2.0 */
/* Writes leaf messages: types, value infos, imports, metadata, and references by name. */
#include "io/save/save.h"
#include "ir/about.h"

/* --- types --- */

enum {
  TYPE_TENSOR = 1,
  TYPE_SEQUENCE = 4,
  TYPE_MAP = 5,
  TYPE_DENOTATION = 6,
  TYPE_OPAQUE = 7,
  TYPE_SPARSE = 8,
  TYPE_OPTIONAL = 9,
  SHAPE_DIM = 1,
  DIM_VALUE = 1,
  DIM_PARAM = 2,
  DIM_DENOTATION = 3
};

/* Writes an int32 field; negative numbers are sign-extended, as the format requires. */
static void put_int(surg__saver *s, uint32_t number, int64_t v) {
  surg__rope_varint(&s->rope, number, (uint64_t)v);
}

static void put_dim(surg__saver *s, const surg_type *t, uint32_t i) {
  const surg_dim *d = &t->dims[i];
  surg__open open = surg__save_begin(s, SHAPE_DIM);
  if (d->param && *d->param)
    surg__save_str(s, DIM_PARAM, d->param);
  else if (d->value >= 0)
    put_int(s, DIM_VALUE, d->value);
  else if (t->raw_values && t->raw_values[i] < 0)
    put_int(s, DIM_VALUE, t->raw_values[i]);
  if (t->dim_denotations && t->dim_denotations[i])
    surg__save_str(s, DIM_DENOTATION, t->dim_denotations[i]);
  surg__save_end(s, open);
}

static void put_tensor_type(surg__saver *s, uint32_t number, const surg_type *t) {
  surg__open open = surg__save_begin(s, number);
  if (t->dtype != SURG_UNDEFINED) put_int(s, 1, t->dtype);
  if (t->has_rank) {
    surg__open shape = surg__save_begin(s, 2);
    for (uint32_t i = 0; i < t->rank; i++) put_dim(s, t, i);
    surg__save_end(s, shape);
  }
  surg__save_end(s, open);
}

static void put_opaque(surg__saver *s, const surg_type *t) {
  surg__open open = surg__save_begin(s, TYPE_OPAQUE);
  if (t->opaque_domain) surg__save_str(s, 1, t->opaque_domain);
  if (t->opaque_name) surg__save_str(s, 2, t->opaque_name);
  surg__save_end(s, open);
}

/* Writes a SEQUENCE, OPTIONAL or MAP. The depth check of surg__save_begin ends a chain that is
 * too long. */
static void put_wrapped(surg__saver *s, uint32_t number, const surg_type *t) {
  surg__open open = surg__save_begin(s, number);
  bool map = t->kind == SURG_TYPE_MAP;
  if (map) put_int(s, 1, t->dtype);
  if (t->elem && s->status == SURG_OK) surg__save_type(s, map ? 2 : 1, t->elem);
  surg__save_end(s, open);
}

void surg__save_type(surg__saver *s, uint32_t number, const surg_type *t) {
  surg__open open = surg__save_begin(s, number);
  bool late = t->kind == SURG_TYPE_OPAQUE || t->kind == SURG_TYPE_SPARSE_TENSOR ||
              t->kind == SURG_TYPE_OPTIONAL;
  if (late && t->denotation) surg__save_str(s, TYPE_DENOTATION, t->denotation);
  switch (t->kind) {
    case SURG_TYPE_TENSOR:
      put_tensor_type(s, TYPE_TENSOR, t);
      break;
    case SURG_TYPE_SPARSE_TENSOR:
      put_tensor_type(s, TYPE_SPARSE, t);
      break;
    case SURG_TYPE_SEQUENCE:
      put_wrapped(s, TYPE_SEQUENCE, t);
      break;
    case SURG_TYPE_MAP:
      put_wrapped(s, TYPE_MAP, t);
      break;
    case SURG_TYPE_OPTIONAL:
      put_wrapped(s, TYPE_OPTIONAL, t);
      break;
    case SURG_TYPE_OPAQUE:
      put_opaque(s, t);
      break;
    case SURG_TYPE_UNKNOWN:
      break;
  }
  if (!late && t->denotation) surg__save_str(s, TYPE_DENOTATION, t->denotation);
  surg__save_end(s, open);
}

/* --- value infos --- */

/* Whether a field of a value_info is written from `a`. */
static bool replaced(const surg__about *a, uint32_t number) {
  return a && ((a->has_doc && number == SURG__INFO_DOC) ||
               (a->has_entries && number == SURG__INFO_ENTRIES));
}

static void splice_decl(surg__saver *s, const surg__decl *d, const char *name) {
  surg__cursor c = surg__save_cursor(s, d->src.body);
  surg__field f;
  bool named = false, typed = !d->dirty;
  while (surg__save_next(s, &c, &f)) {
    if (f.number == INFO_NAME) {
      if (!named) surg__save_retext(s, &c, &f, name);
      named = true;
    } else if (f.number == INFO_TYPE && d->dirty) {
      if (!typed && d->type) surg__save_type(s, INFO_TYPE, d->type);
      typed = true;
    } else if (!replaced(d->about, f.number)) {
      surg__save_keep(s, &c, &f);
    }
  }
  if (!named) surg__save_str(s, INFO_NAME, name);
  if (!typed && d->type) surg__save_type(s, INFO_TYPE, d->type);
}

static void put_about(surg__saver *s, const surg__about *a) {
  if (a && a->has_doc) surg__save_about(s, a, SURG__INFO_DOC, true);
  if (a && a->has_entries) surg__save_about(s, a, SURG__INFO_ENTRIES, false);
}

void surg__save_decl(surg__saver *s, uint32_t number, const surg__decl *d, const char *name) {
  bool made = surg__save_made_here(d->src);
  if (!made && !d->dirty && !d->about && surg__save_reads(s, d->src.body, INFO_NAME, name)) {
    surg__save_copy(s, number, d->src);
    return;
  }
  surg__open open = surg__save_begin(s, number);
  if (made) {
    surg__save_str(s, INFO_NAME, name);
    if (d->type) surg__save_type(s, INFO_TYPE, d->type);
  } else {
    splice_decl(s, d, name);
  }
  put_about(s, d->about);
  surg__save_end(s, open);
}

/* --- imports, metadata --- */

void surg__save_import(surg__saver *s, uint32_t number, const surg__import *i) {
  if (!i->dirty && !surg__save_made_here(i->src)) {
    surg__save_copy(s, number, i->src);
    return;
  }
  surg__open open = surg__save_begin(s, number);
  bool domain = false, version = false;
  if (!surg__save_made_here(i->src)) {
    surg__cursor c = surg__save_cursor(s, i->src.body);
    surg__field f;
    while (surg__save_next(s, &c, &f)) {
      if (f.number == IMPORT_DOMAIN) {
        if (!domain) surg__save_retext(s, &c, &f, i->domain);
        domain = true;
      } else if (f.number == IMPORT_VERSION) {
        if (!version) put_int(s, IMPORT_VERSION, i->version);
        version = true;
      } else {
        surg__save_keep(s, &c, &f);
      }
    }
  } else {
    surg__save_str(s, IMPORT_DOMAIN, i->domain);
    domain = true;
  }
  if (!domain && *i->domain) surg__save_str(s, IMPORT_DOMAIN, i->domain);
  if (!version) put_int(s, IMPORT_VERSION, i->version);
  surg__save_end(s, open);
}

void surg__save_entry(surg__saver *s, uint32_t number, const char *key, const char *value) {
  surg__open open = surg__save_begin(s, number);
  surg__save_str(s, ENTRY_KEY, key);
  surg__save_str(s, ENTRY_VALUE, value);
  surg__save_end(s, open);
}

/* Writes a StringStringEntryProto from the source with another value. */
static void splice_entry(surg__saver *s, uint32_t number, surg__span body, const char *value) {
  surg__open open = surg__save_begin(s, number);
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  bool done = false;
  while (surg__save_next(s, &c, &f)) {
    if (f.number != ENTRY_VALUE)
      surg__save_keep(s, &c, &f);
    else if (!done)
      surg__save_retext(s, &c, &f, value);
    done = done || f.number == ENTRY_VALUE;
  }
  if (!done) surg__save_str(s, ENTRY_VALUE, value);
  surg__save_end(s, open);
}

void surg__save_metadata(surg__saver *s, const surg__metadata *e) {
  if (surg__save_made_here(e->src))
    surg__save_entry(s, MODEL_METADATA, e->key, e->value);
  else if (e->dirty)
    splice_entry(s, MODEL_METADATA, e->src.body, e->value);
  else
    surg__save_copy(s, MODEL_METADATA, e->src);
}

/* --- references by name --- */

/* The current name of the value that a field refers to; `list` are the references read from the
 * enclosing message. NULL: the name is unchanged. */
static const char *renamed(surg__saver *s, const surg__soft *list, const surg__field *f) {
  const char *p = surg__save_text(s, f);
  if (!p) return NULL;
  for (const surg__soft *r = list; r; r = r->next) {
    const surg_value *v = r->use.value;
    if (!v || v->erased || !r->written || strlen(r->written) != f->body.len) continue;
    if (memcmp(r->written, p, (size_t)f->body.len) == 0) return v->name;
  }
  return NULL;
}

static void put_reference(surg__saver *s, const surg__cursor *c, const surg__field *f,
                          const surg__soft *list) {
  const char *now = renamed(s, list, f);
  if (now)
    surg__save_retext(s, c, f, now);
  else
    surg__save_keep(s, c, f);
}

static void put_param(surg__saver *s, const surg__annotation *a, surg__span body) {
  surg__open open = surg__save_begin(s, ANNOTATION_PARAM);
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  while (surg__save_next(s, &c, &f)) {
    if (f.number == ENTRY_VALUE)
      put_reference(s, &c, &f, a->params);
    else
      surg__save_keep(s, &c, &f);
  }
  surg__save_end(s, open);
}

void surg__save_annotation(surg__saver *s, const surg__annotation *a) {
  assert(!surg__save_made_here(a->src));
  if (!a->dirty) {
    surg__save_copy(s, GRAPH_ANNOTATION, a->src);
    return;
  }
  surg__open open = surg__save_begin(s, GRAPH_ANNOTATION);
  surg__cursor c = surg__save_cursor(s, a->src.body);
  surg__field f;
  while (surg__save_next(s, &c, &f)) {
    if (f.number == ANNOTATION_TENSOR)
      put_reference(s, &c, &f, a->subject);
    else if (f.number == ANNOTATION_PARAM)
      put_param(s, a, f.body);
    else
      surg__save_keep(s, &c, &f);
  }
  surg__save_end(s, open);
}

static void put_sharding(surg__saver *s, const surg_node *n, surg__span body) {
  surg__open open = surg__save_begin(s, DEVICES_SHARDING);
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  while (surg__save_next(s, &c, &f)) {
    if (f.number == SHARDING_TENSOR)
      put_reference(s, &c, &f, n->softs);
    else
      surg__save_keep(s, &c, &f);
  }
  surg__save_end(s, open);
}

void surg__save_devices(surg__saver *s, const surg_node *n, const surg__field *f) {
  surg__open open = surg__save_begin(s, NODE_DEVICES);
  surg__cursor c = surg__save_cursor(s, f->body);
  surg__field g;
  while (surg__save_next(s, &c, &g)) {
    if (g.number == DEVICES_SHARDING)
      put_sharding(s, n, g.body);
    else
      surg__save_keep(s, &c, &g);
  }
  surg__save_end(s, open);
}
