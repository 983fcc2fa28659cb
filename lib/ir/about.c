/* SPDX-License-Identifier: Apache-2.0 */
/* Getting and setting doc_string, metadata_props, and the texts of a model. */
#include "ir/about.h"

#include "ir/edit.h"

/* An object with a doc_string and metadata_props. */
typedef struct subject {
  surg_model *m; /* NULL: no such object */
  surg__span body;
  const surg__about **about;
  surg_graph *graph; /* is marked dirty */
  surg_node *node;   /* is marked dirty, if not NULL */
  uint32_t doc, entries;
} subject;

static subject of_graph(const surg_graph *g) {
  surg_graph *w = (surg_graph *)(uintptr_t)g;
  if (!surg__graph_ok(g)) return (subject){0};
  if (w->kind == SURG_GRAPH_FUNCTION)
    return (subject){w->model, w->src.body,        &w->function->about,   w,
                     NULL,     SURG__FUNCTION_DOC, SURG__FUNCTION_ENTRIES};
  return (subject){w->model, w->src.body, &w->about, w, NULL, SURG__GRAPH_DOC, SURG__GRAPH_ENTRIES};
}

static subject of_node(const surg_node *n) {
  surg_node *w = (surg_node *)(uintptr_t)n;
  if (!surg__node_ok(n)) return (subject){0};
  return (subject){w->graph->model, w->src.body,       &w->about, w->graph, w,
                   SURG__NODE_DOC,  SURG__NODE_ENTRIES};
}

static subject of_function(const surg_function *f) {
  surg_function *w = (surg_function *)(uintptr_t)f;
  if (!f || f->erased || !surg__model_ok(f->model)) return (subject){0};
  return (subject){w->model,           w->src.body,           &w->about, w->body, NULL,
                   SURG__FUNCTION_DOC, SURG__FUNCTION_ENTRIES};
}

/* The declaration of a value: its input or value_info, else that of its output; or NULL. */
static surg__decl *decl_of(surg_value *v) {
  if ((v->input && v->graph->kind != SURG_GRAPH_FUNCTION) || v->in_value_info) return &v->decl;
  for (const surg_use *u = v->uses; u && u->kind == SURG_USE_OUTPUT; u = u->next)
    if (u->user.graph == v->graph && v->graph->kind != SURG_GRAPH_FUNCTION)
      return &v->graph->out[u->index]->decl;
  return NULL;
}

static subject of_value(const surg_value *v) {
  surg_value *w = (surg_value *)(uintptr_t)v;
  surg__decl *d = surg__value_ok(v) ? decl_of(w) : NULL;
  if (!d) return (subject){0};
  return (subject){w->graph->model, d->src.body,       &d->about, w->graph, NULL,
                   SURG__INFO_DOC,  SURG__INFO_ENTRIES};
}

/* What applies now: the source, replaced by what was set. */
static surg_status current(const subject *s, surg__about *out) {
  *out = (surg__about){0};
  const surg__about *set = *s->about;
  const bool whole = set && set->has_doc && set->has_entries;
  if (!whole && s->m->source && s->body.off) {
    const surg_status read = surg__about_read(s->m, s->body, s->doc, s->entries, out);
    if (read != SURG_OK) return read;
  }
  if (set && set->has_doc) out->doc = set->doc;
  if (set && set->has_entries) {
    out->n = set->n;
    out->keys = set->keys;
    out->values = set->values;
  }
  out->has_doc = set && set->has_doc;
  out->has_entries = set && set->has_entries;
  return SURG_OK;
}

static surg_status store(const subject *s, const surg__about *a) {
  surg__about *copy = surg__copy(s->m, a, 1, sizeof *a);
  if (!copy) return s->m->status;
  *s->about = copy;
  if (s->node)
    surg__touch_node(s->node);
  else
    surg__touch_graph(s->graph);
  if (s->graph->function) s->graph->function->dirty = true;
  surg__emit(s->m, SURG_EVENT_MODEL, s->graph, s->node, NULL, NULL, NULL);
  return SURG_OK;
}

/* --- the calls, for any object --- */

static const char *get_doc(subject s) {
  surg__about a;
  if (!s.m || current(&s, &a) != SURG_OK) return NULL;
  return a.doc ? a.doc : "";
}

static surg_status set_doc(subject s, surg_status ready, const char *text) {
  surg__about a;
  surg_status status = SURG_OK;
  if (ready != SURG_OK) return ready;
  if (!s.m) return SURG_EUNSUPPORTED;
  const char *label = text ? surg__intern_user(s.m, text, &status) : NULL;
  if (text && !label) return status;
  status = current(&s, &a);
  if (status != SURG_OK) return status;
  a.has_doc = true;
  a.doc = label;
  return store(&s, &a);
}

static const char *get_entry(subject s, const char *key, size_t at, size_t *count) {
  surg__about a;
  if (count) *count = 0;
  if (!s.m || current(&s, &a) != SURG_OK) return NULL;
  if (count) *count = a.n;
  if (!key) return at < a.n ? a.keys[at] : NULL;
  for (uint32_t i = 0; i < a.n; i++)
    if (strcmp(a.keys[i], key) == 0) return a.values[i];
  return NULL;
}

static size_t count_entries(subject s) {
  size_t n;
  get_entry(s, NULL, 0, &n);
  return n;
}

/* Copies the entries of `a` to lists with room for one more, without `key`. */
static bool copy_entries(surg_model *m, surg__about *a, const char *key) {
  const char **keys = surg__array(m, (size_t)a->n + 1, sizeof *keys);
  const char **values = keys ? surg__array(m, (size_t)a->n + 1, sizeof *values) : NULL;
  uint32_t n = 0;
  if (!values) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    if (strcmp(a->keys[i], key) == 0) continue;
    keys[n] = a->keys[i];
    values[n++] = a->values[i];
  }
  a->n = n;
  a->keys = keys;
  a->values = values;
  return true;
}

static surg_status set_entry(subject s, surg_status ready, const char *key, const char *value) {
  surg__about a;
  surg_status status = SURG_OK;
  if (ready != SURG_OK) return ready;
  if (!key) return SURG_EUSAGE;
  if (!s.m) return SURG_EUNSUPPORTED;
  const char *k = surg__intern_user(s.m, key, &status);
  const char *v = k && value ? surg__intern_user(s.m, value, &status) : NULL;
  if (!k || (value && !v)) return status;
  const char *now = get_entry(s, key, 0, NULL);
  if (value ? now && strcmp(now, value) == 0 : !now) return SURG_OK;
  status = current(&s, &a);
  if (status != SURG_OK) return status;
  if (!copy_entries(s.m, &a, key)) return s.m->status;
  a.has_entries = true;
  if (v) {
    ((const char **)(uintptr_t)a.keys)[a.n] = k;
    ((const char **)(uintptr_t)a.values)[a.n++] = v;
  }
  return store(&s, &a);
}

static surg_status function_ready(const surg_function *f) {
  if (!f) return SURG_EUSAGE;
  return f->erased ? SURG_EERASED : surg__model_ready(f->model);
}

/* The public calls of one kind of object. */
#define CALLS(kind, handle, ready)                                                        \
  const char *surg_##kind##_doc(const handle *x) {                                        \
    return get_doc(of_##kind(x));                                                         \
  }                                                                                       \
  surg_status surg_##kind##_set_doc(handle *x, const char *text) {                        \
    return set_doc(of_##kind(x), ready(x), text);                                         \
  }                                                                                       \
  size_t surg_##kind##_metadata_count(const handle *x) {                                  \
    return count_entries(of_##kind(x));                                                   \
  }                                                                                       \
  const char *surg_##kind##_metadata_key(const handle *x, size_t i) {                     \
    return get_entry(of_##kind(x), NULL, i, NULL);                                        \
  }                                                                                       \
  const char *surg_##kind##_metadata(const handle *x, const char *key) {                  \
    return key ? get_entry(of_##kind(x), key, 0, NULL) : NULL;                            \
  }                                                                                       \
  surg_status surg_##kind##_set_metadata(handle *x, const char *key, const char *value) { \
    return set_entry(of_##kind(x), ready(x), key, value);                                 \
  }

CALLS(graph, surg_graph, surg__graph_ready)
CALLS(node, surg_node, surg__node_ready)
CALLS(function, surg_function, function_ready)
CALLS(value, surg_value, surg__value_ready)

/* --- copies --- */

bool surg__about_copy(surg_model *to, const surg__about *a, const surg__about **out) {
  *out = NULL;
  if (!a) return true;
  surg__about *n = surg__copy(to, a, 1, sizeof *a);
  const char **keys = n ? surg__array(to, a->n, sizeof *keys) : NULL;
  const char **values = keys ? surg__array(to, a->n, sizeof *values) : NULL;
  if (!values) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    keys[i] = surg__intern(to, a->keys[i], strlen(a->keys[i]));
    values[i] = keys[i] ? surg__intern(to, a->values[i], strlen(a->values[i])) : NULL;
    if (!values[i]) return false;
  }
  n->keys = keys;
  n->values = values;
  if (a->doc) n->doc = surg__intern(to, a->doc, strlen(a->doc));
  *out = n;
  return !a->doc || n->doc;
}

/* --- texts of the model --- */

uint32_t surg__header_field(int field) {
  switch (field) {
    case SURG_MODEL_DOC:
      return SURG__MODEL_DOC;
    case SURG_MODEL_PRODUCER:
      return SURG__MODEL_PRODUCER;
    case SURG_MODEL_PRODUCER_VERSION:
      return SURG__MODEL_PRODUCER_VERSION;
    case SURG_MODEL_DOMAIN:
      return SURG__MODEL_DOMAIN;
    default:
      return 0;
  }
}

static void touch_header(surg_model *m) {
  m->epoch++;
  m->dirty = m->header_dirty = true;
  surg__emit(m, SURG_EVENT_MODEL, NULL, NULL, NULL, NULL, NULL);
}

const char *surg_model_text(const surg_model *m, surg_model_field field) {
  const uint32_t number = surg__header_field(field);
  if (!surg__model_ok(m) || !number) return NULL;
  const char *text = m->header.has_text[field]
                         ? m->header.texts[field]
                         : surg__about_header((surg_model *)(uintptr_t)m, number, NULL);
  return text ? text : "";
}

surg_status surg_model_set_text(surg_model *m, surg_model_field field, const char *text) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  if (!surg__header_field(field)) return SURG_EUSAGE;
  const char *label = text ? surg__intern_user(m, text, &s) : NULL;
  if (text && !label) return s;
  m->header.texts[field] = label;
  m->header.has_text[field] = true;
  touch_header(m);
  return SURG_OK;
}

int64_t surg_model_version(const surg_model *m) {
  int64_t version = 0;
  if (!surg__model_ok(m)) return 0;
  if (m->header.has_version) return m->header.version;
  surg__about_header((surg_model *)(uintptr_t)m, SURG__MODEL_VERSION, &version);
  return version;
}

surg_status surg_model_set_version(surg_model *m, int64_t version) {
  const surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  m->header.version = version;
  m->header.has_version = true;
  touch_header(m);
  return SURG_OK;
}

size_t surg_model_metadata_count(const surg_model *m) {
  return surg__model_ok(m) ? m->metadata.count : 0;
}

const char *surg_model_metadata_key(const surg_model *m, size_t i) {
  return surg__model_ok(m) && i < m->metadata.count ? m->metadata.items[i].key : NULL;
}
