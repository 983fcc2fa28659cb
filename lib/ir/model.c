/* SPDX-License-Identifier: Apache-2.0 */
/* The model: creating and freeing it, header fields and imports. */
#include "ir/edit.h"

surg_model *surg_model_new(surg_context *ctx, int64_t ir_version, int64_t opset) {
  if (!ctx) return NULL;
  surg_model *m = surg__model_alloc(ctx);
  if (!m) return NULL;
  m->ir_version = ir_version;
  m->has_ir_version = true;
  m->dirty = m->header_dirty = true;
  surg_graph *g = surg__graph_new(m, SURG_GRAPH_MAIN, NULL, NULL);
  const char *name = g ? surg__intern(m, "main", 4) : NULL;
  if (!name || surg_model_set_opset(m, "", opset) != SURG_OK) {
    surg_model_free(m);
    return NULL;
  }
  g->name = name;
  g->dirty = true;
  m->epoch = 0;
  return m;
}

static void free_function_lists(surg_model *m) {
  SURG_HASH_LOCALS(m->ctx);
  HASH_CLEAR(hh, m->functions_by_key);
  for (size_t i = 0; i < m->functions.count; i++) {
    surg_function *f = m->functions.items[i];
    surg__vec_free(m->ctx, &f->imports);
    surg__vec_free(m->ctx, &f->attrs);
    surg__vec_free(m->ctx, &f->defaults);
  }
  surg__vec_free(m->ctx, &m->functions);
}

void surg__resolve_free(surg_model *m);

void surg_model_free(surg_model *m) {
  if (!m) return;
  surg_context *ctx = m->ctx;
  free_function_lists(m);
  surg__resolve_free(m);
  surg__free(ctx, m->names.slots);
  surg__free(ctx, m->values_by_name.slots);
  surg__free(ctx, m->nodes_by_name.slots);
  for (size_t i = 0; i < m->blobs.count; i++) surg__blob_unref(m->blobs.items[i]);
  surg__vec_free(ctx, &m->blobs);
  surg__spill_unref(m->spill);
  for (surg__datafile *f = m->files, *next; f; f = next) {
    next = f->next;
    surg__datafile_unref(f);
  }
  surg__source_unref(m->source);
  surg__vec_free(ctx, &m->defects);
  surg__vec_free(ctx, &m->listeners);
  surg__vec_free(ctx, &m->metadata);
  surg__vec_free(ctx, &m->imports);
  surg__arena_free(&m->elems);
  surg__arena_free(&m->arena);
  surg__free(ctx, m);
}

surg_context *surg_model_context(const surg_model *m) {
  return m ? m->ctx : NULL;
}

surg_status surg_model_status(const surg_model *m) {
  return m ? m->status : SURG_EUSAGE;
}

const char *surg_model_path(const surg_model *m) {
  return m && m->source && m->source->name ? m->source->name : "model";
}

surg_graph *surg_model_graph(const surg_model *m) {
  return surg__model_ok(m) ? m->graph : NULL;
}

surg_graph *surg_model_next_graph(const surg_model *m, const surg_graph *after) {
  if (!surg__model_ok(m)) return NULL;
  return after ? after->next : m->graph;
}

uint64_t surg_model_epoch(const surg_model *m) {
  return m ? m->epoch : 0;
}

/* Marks the header as dirty, after a change of the model's own fields. */
static void touch_header(surg_model *m) {
  m->epoch++;
  m->dirty = m->header_dirty = true;
  surg__emit(m, SURG_EVENT_MODEL, NULL, NULL, NULL, NULL, NULL);
}

int64_t surg_model_ir_version(const surg_model *m) {
  return m ? m->ir_version : 0;
}

/* Marks the attributes without a type field (IR version 1) as dirty, so that saving writes their
 * types. */
static void type_attributes(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; i < n->n_attr; i++) {
        if (!n->attrs[i]->untyped) continue;
        n->attrs[i]->untyped = false;
        n->attrs[i]->dirty = n->attrs_dirty = true;
        surg__touch_node(n);
      }
}

surg_status surg_model_set_ir_version(surg_model *m, int64_t version) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  if (version < 1)
    return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "ir_version %lld is not positive",
                       (long long)version);
  if (m->has_ir_version && m->ir_version == version) return SURG_OK;
  if (m->ir_version < 2 && version >= 2) type_attributes(m);
  /* Below version 3 the opset is implied, and from then on imported. */
  if ((m->ir_version < 3) != (version < 3)) {
    m->judged_gen = 0;
    surg__model_unresolve(m);
  }
  m->ir_version = version;
  m->has_ir_version = true;
  touch_header(m);
  return SURG_OK;
}

/* --- imports --- */

size_t surg_model_import_count(const surg_model *m) {
  return surg__model_ok(m) ? m->imports.count : 0;
}

const char *surg_model_import_domain(const surg_model *m, size_t i) {
  return m && i < m->imports.count ? m->imports.items[i].domain : NULL;
}

int64_t surg_model_import_version(const surg_model *m, size_t i) {
  return m && i < m->imports.count ? m->imports.items[i].version : 0;
}

static bool same_domain(const char *a, const char *b) {
  if (surg__default_domain(a)) return surg__default_domain(b);
  return strcmp(a, b) == 0;
}

/* Removes (version 0), sets or adds an entry; *changed: whether the list differs. */
static surg_status set_import(surg_model *m, surg__imports *imports, const char *domain,
                              int64_t version, bool *changed) {
  *changed = false;
  if (version < 0)
    return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "opset version %lld is negative",
                       (long long)version);
  size_t kept = 0, found = 0;
  for (size_t i = 0; i < imports->count; i++) {
    surg__import *e = &imports->items[i];
    if (same_domain(e->domain, domain)) {
      found++;
      if (version == 0) continue;
      *changed |= e->version != version;
      e->dirty |= e->version != version;
      e->version = version;
      e->last = 0; /* an edit leaves one import */
    }
    imports->items[kept++] = *e;
  }
  *changed |= kept != imports->count;
  imports->count = kept;
  if (found || version == 0) return SURG_OK;
  surg_status s;
  const char *name = surg__intern_user(m, domain, &s);
  if (!name) return s;
  surg__import e = {.domain = name, .version = version, .dirty = true};
  if (!surg__vec_push(m->ctx, imports, e)) {
    surg__failed(m);
    return m->status;
  }
  *changed = true;
  return SURG_OK;
}

surg_status surg_model_set_opset(surg_model *m, const char *domain, int64_t version) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  bool changed;
  s = set_import(m, &m->imports, domain ? domain : "", version, &changed);
  if (s != SURG_OK || !changed) return s;
  m->judged_gen = 0;
  surg__model_unresolve(m);
  touch_header(m);
  return SURG_OK;
}

int64_t surg_model_opset(const surg_model *m, const char *domain) {
  return surg__model_ok(m) ? surg__imports_find(m, &m->imports, domain ? domain : "") : 0;
}

/* --- metadata --- */

static surg__metadata *find_metadata(const surg_model *m, const char *key) {
  for (size_t i = 0; i < m->metadata.count; i++)
    if (strcmp(m->metadata.items[i].key, key) == 0) return &m->metadata.items[i];
  return NULL;
}

const char *surg_model_metadata(const surg_model *m, const char *key) {
  const surg__metadata *e = m && key ? find_metadata(m, key) : NULL;
  return e ? e->value : NULL;
}

static bool text_ok(const char *s) {
  return surg__utf8_valid((const uint8_t *)s, strlen(s));
}

surg_status surg_model_set_metadata(surg_model *m, const char *key, const char *value) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  if (!key || !text_ok(key) || (value && !text_ok(value)))
    return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "metadata must be UTF-8 text");
  surg__metadata *e = find_metadata(m, key);
  if (!value) {
    if (!e) return SURG_OK;
    size_t at = (size_t)(e - m->metadata.items);
    memmove(e, e + 1, (m->metadata.count - at - 1) * sizeof *e);
    m->metadata.count--;
    touch_header(m);
    return SURG_OK;
  }
  if (e && strcmp(e->value, value) == 0) return SURG_OK;
  surg_str copy, name = {NULL, 0};
  if (!surg__copy_str(m, (surg_str){value, strlen(value)}, &copy)) return m->status;
  if (!e && !surg__copy_str(m, (surg_str){key, strlen(key)}, &name)) return m->status;
  if (e) {
    e->value = copy.p;
    e->dirty = true;
  } else {
    surg__metadata fresh = {.key = name.p, .value = copy.p, .dirty = true};
    if (!surg__vec_push(m->ctx, &m->metadata, fresh)) {
      surg__failed(m);
      return m->status;
    }
  }
  touch_header(m);
  return SURG_OK;
}

/* --- functions --- */

size_t surg_model_function_count(const surg_model *m) {
  return surg__model_ok(m) ? m->functions.count : 0;
}

surg_function *surg_model_function(const surg_model *m, size_t i) {
  return surg__model_ok(m) && i < m->functions.count ? m->functions.items[i] : NULL;
}

surg_status surg_model_remove_function(surg_model *m, surg_function *f) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  if (!f || f->model != m) return SURG_EUSAGE;
  if (f->erased) return SURG_EERASED;
  SURG_HASH_LOCALS(m->ctx);
  size_t i = 0;
  for (; m->functions.items[i] != f; i++)
    assert(i + 1 < m->functions.count); /* a function that is not erased is listed */
  memmove(&m->functions.items[i], &m->functions.items[i + 1],
          (m->functions.count - i - 1) * sizeof f);
  m->functions.count--;
  if (f->hh.tbl) HASH_DELETE(hh, m->functions_by_key, f);
  f->hh.tbl = NULL;
  surg__chain_erase(m, surg__chain_graph(f->body));
  surg__vec_free(m->ctx, &f->imports);
  surg__vec_free(m->ctx, &f->attrs);
  surg__vec_free(m->ctx, &f->defaults);
  f->erased = true;
  surg__model_unresolve(m);
  touch_header(m);
  return SURG_OK;
}

const char *surg_function_name(const surg_function *f) {
  return f ? f->name : NULL;
}

const char *surg_function_domain(const surg_function *f) {
  return f ? f->domain : NULL;
}

const char *surg_function_overload(const surg_function *f) {
  return f ? f->overload : NULL;
}

surg_graph *surg_function_graph(const surg_function *f) {
  return f && !f->erased && f->model->status == SURG_OK ? f->body : NULL;
}

int64_t surg_function_opset(const surg_function *f, const char *domain) {
  if (!f || f->erased) return 0;
  return surg__imports_find(f->model, &f->imports, domain ? domain : "");
}

size_t surg_function_import_count(const surg_function *f) {
  return f ? f->imports.count : 0;
}

const char *surg_function_import_domain(const surg_function *f, size_t i) {
  return f && i < f->imports.count ? f->imports.items[i].domain : NULL;
}

int64_t surg_function_import_version(const surg_function *f, size_t i) {
  return f && i < f->imports.count ? f->imports.items[i].version : 0;
}

surg_status surg_function_set_opset(surg_function *f, const char *domain, int64_t version) {
  if (!f) return SURG_EUSAGE;
  surg_model *m = f->model;
  if (m->status != SURG_OK) return m->status;
  if (f->erased) return SURG_EERASED;
  bool changed;
  surg_status s = set_import(m, &f->imports, domain ? domain : "", version, &changed);
  if (s != SURG_OK || !changed) return s;
  f->imports_dirty = true;
  m->judged_gen = 0;
  surg__model_unresolve(m);
  surg__touch_graph(f->body);
  surg__emit(m, SURG_EVENT_MODEL, f->body, NULL, NULL, NULL, NULL);
  return SURG_OK;
}

size_t surg_function_attr_count(const surg_function *f) {
  return f ? f->attrs.count : 0;
}

const char *surg_function_attr_name(const surg_function *f, size_t i) {
  return f && i < f->attrs.count ? f->attrs.items[i] : NULL;
}

const surg_attr *surg_function_attr_default(const surg_function *f, size_t i) {
  if (!f || i >= f->attrs.count) return NULL;
  for (size_t k = 0; k < f->defaults.count; k++)
    if (strcmp(f->defaults.items[k]->name, f->attrs.items[i]) == 0) return f->defaults.items[k];
  return NULL;
}
