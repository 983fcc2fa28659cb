/* SPDX-License-Identifier: Apache-2.0 */
/* ModelProto and FunctionProto: versions, imports, metadata, then each graph. */
#include "io/load/load.h"

/* --- imports and metadata --- */

static bool same_domain(const char *a, const char *b) {
  if (!*a) a = "ai.onnx";
  if (!*b) b = "ai.onnx";
  return strcmp(a, b) == 0;
}

/* The function that owns a list of imports; NULL: the model. */
static surg_function *function_of(const surg_model *m, const surg__imports *list) {
  for (size_t i = m->functions.count; i-- > 0;)
    if (&m->functions.items[i]->imports == list) return m->functions.items[i];
  return NULL;
}

static bool push_import(surg__loader *L, surg__imports *list, const surg__field *f,
                        const char *domain, int64_t version) {
  if (version < 1 || version > INT32_MAX) {
    L->no_import = true; /* a lenient load leaves it out too: the version is not a valid opset */
    if (!surg__load_bad(L, f->off, "E121", "opset version %lld of domain %s is out of range",
                        (long long)version, surg__q(L->ctx, domain)))
      return false;
    const char *nothing = (int32_t)(uint32_t)version <= 0 ? domain : NULL;
    surg__load_about(L, &(surg__defect){.function = function_of(L->m, list), .domain = nothing});
    return true;
  }
  for (size_t i = 0; i < list->count; i++) {
    surg__import *other = &list->items[i];
    if (!same_domain(other->domain, domain)) continue;
    if (other->last) other->last = version;
    if (other->version == version && L->policy == SURG_LOAD_CHECK)
      surg__load_warn(L, f->off, "W222", "domain %s is imported twice", surg__q(L->ctx, domain));
    if (other->version == version) return true; /* a repetition */
    if (!surg__load_bad(L, f->off, "E138", "domain %s is imported at versions %lld and %lld",
                        surg__q(L->ctx, domain), (long long)other->version, (long long)version))
      return false;
    /* The newer opset defines each operator of the older one or has removed it, so the model was
     * probably written for the newer. */
    if (L->lenient) {
      if (version > other->version) other->version = version;
      other->last = version;
      other->dirty = true; /* so that this entry is rewritten instead of kept as a repetition */
    }
    surg__load_about(L, &(surg__defect){.reading = SURG_READING_GUESS});
    if (L->lenient && list == &L->m->imports) L->m->dirty = L->m->header_dirty = true;
    return true;
  }
  if (L->policy == SURG_LOAD_CHECK && strcmp(domain, "ai.onnx") == 0)
    surg__load_warn(L, f->off, "W223", "the default domain is imported by its long name");
  if (list->count >= SURG_LIMIT_IMPORTS)
    return surg__load_stop(L, surg__error(L->ctx, SURG_ELIMIT, L->src->name,
                                          "has more than %u opset imports", SURG_LIMIT_IMPORTS));
  int64_t newest = surg_schema_newest(domain);
  if (newest && version > newest)
    surg__load_warn(L, f->off, "W217",
                    "opset %lld of domain %s is newer than the newest known, %lld",
                    (long long)version, surg__q(L->ctx, domain), (long long)newest);
  surg__import import = {.domain = domain, .version = version, .src = surg__load_src(f)};
  return surg__vec_push(L->ctx, list, import) || surg__load_oom(L);
}

static bool read_import(surg__loader *L, surg__imports *list, const surg__field *f) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__OperatorSetIdProto *p =
      surg__load_leaf(L, &onnx__operator_set_id_proto__descriptor, f->body, 0);
  const char *domain = p ? surg__load_intern(L, p->domain) : NULL;
  bool ok = domain && push_import(L, list, f, domain, p->has_version ? p->version : 0);
  surg__arena_reset(&L->scratch, mark);
  return ok;
}

static bool read_metadata(surg__loader *L, const surg__field *f) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__StringStringEntryProto *p =
      surg__load_leaf(L, &onnx__string_string_entry_proto__descriptor, f->body, 0);
  surg__metadata entry = {.src = surg__load_src(f)};
  bool ok = p && (entry.key = surg__load_intern(L, p->key)) &&
            (entry.value = surg__load_intern(L, p->value));
  if (ok) ok = surg__vec_push(L->ctx, &L->m->metadata, entry) || surg__load_oom(L);
  surg__arena_reset(&L->scratch, mark);
  return ok;
}

/* --- graphs --- */

/* Reads graph g and all graphs that reading appends to the model: its subgraphs, level by level. */
static bool read_graphs(surg__loader *L, surg_graph *g) {
  for (; g; g = g->next)
    if (!surg__load_define(L, g) || !surg__load_link(L, g)) return false;
  return true;
}

typedef struct function_head {
  const char *name, *domain, *overload;
  bool has_domain;
} function_head;

static bool read_function_head(surg__loader *L, const surg__field *f, function_head *h) {
  const char *empty = surg__load_intern(L, "");
  *h = (function_head){empty, empty, empty, false};
  surg__cursor c = surg__load_cursor(L, f->body);
  surg__field x;
  while (surg__load_next(L, &c, &x)) {
    const char **slot = x.number == 1    ? &h->name
                        : x.number == 10 ? &h->domain
                        : x.number == 13 ? &h->overload
                                         : NULL;
    if (slot && !(*slot = surg__load_name(L, &x))) return false;
    if (x.number == 10) h->has_domain = true;
  }
  return L->status == SURG_OK;
}

/* Reads the names of attributes, defaults and imports. Names without a default are first in the
 * list. */
static bool read_function_header(surg__loader *L, surg_function *fn) {
  surg__cursor c = surg__load_cursor(L, fn->src.body);
  surg__field f;
  bool ok = true;
  while (ok && surg__load_next(L, &c, &f)) {
    if (f.number == 6) {
      const char *name = surg__load_name(L, &f);
      ok = name && (surg__vec_push(L->ctx, &fn->attrs, name) || surg__load_oom(L));
    } else if (f.number == 11) {
      ok = surg__load_attr(L, &f, NULL, fn);
    } else if (f.number == 9) {
      ok = read_import(L, &fn->imports, &f);
    }
  }
  for (size_t i = 0; i < fn->imports.count; i++) fn->imports_dirty |= fn->imports.items[i].dirty;
  if (fn->imports_dirty) surg__touch_graph(fn->body);
  for (size_t i = 0; ok && i < fn->defaults.count; i++)
    ok = surg__vec_push(L->ctx, &fn->attrs, fn->defaults.items[i]->name) || surg__load_oom(L);
  return ok && L->status == SURG_OK;
}

/* Chooses a unique name for the second of two functions with the same name. */
static bool other_name(surg__loader *L, function_head *h) {
  h->name = surg_graph_fresh_name(L->m->graph, h->name);
  return h->name || surg__load_oom(L);
}

static bool read_function(surg__loader *L, const surg__field *f) {
  function_head h;
  if (L->m->functions.count >= SURG_LIMIT_FUNCTIONS)
    return surg__load_stop(L, surg__error(L->ctx, SURG_ELIMIT, L->src->name,
                                          "has more than %u functions", SURG_LIMIT_FUNCTIONS));
  if (!read_function_head(L, f, &h)) return false;
  if (!*h.name) {
    if (!surg__load_bad(L, f->off, "E129", "a function without a name")) return false;
    if (!L->lenient) return true;
  }
  if (!h.has_domain && !surg__load_unclean(L, f->off, "E124", "a function without a domain"))
    return false;
  const bool twin = surg_model_find_function(L->m, h.domain, h.name, h.overload) != NULL;
  const char *given = h.name;
  if (twin) {
    if (!surg__load_bad(L, f->off, "E124", "an earlier function has this name"))
      return false;
    if (!L->lenient) return true;
    if (!other_name(L, &h)) return false;
  }
  surg_function *fn = surg__function_new(L->m, h.domain, h.name, h.overload);
  if (!fn) return surg__load_oom(L);
  fn->src = fn->body->src = surg__load_src(f);
  if (twin) surg__touch_graph(fn->body);
  fn->dirty = twin;
  fn->given = twin ? given : NULL;
  if (twin || !*h.name)
    surg__load_about(L, &(surg__defect){.function = fn, .graph = fn->body});
  return read_function_header(L, fn) && read_graphs(L, fn->body);
}

/* --- the model --- */

static bool check_version(surg__loader *L) {
  surg_model *m = L->m;
  if (m->has_ir_version && m->ir_version > 0) {
    L->ctx->code = "W218";
    if (m->ir_version > ONNX__VERSION__IR_VERSION)
      surg__warn(L->ctx, L->src->name, "IR version %lld is newer than the newest known, %d",
                 (long long)m->ir_version, ONNX__VERSION__IR_VERSION);
    L->ctx->code = NULL;
    return true;
  }
  if (!m->has_ir_version) return surg__load_bad_model(L, "E141", "has no IR version");
  return surg__load_bad_model(L, "E122", "IR version %lld does not exist",
                              (long long)m->ir_version);
}

/* Reads versions, imports and metadata; *graph: the field of the graph, off == end of file if
 * absent. */
static bool read_header(surg__loader *L, surg__field *graph) {
  surg__cursor c = surg__load_cursor(L, (surg__span){0, L->src->size});
  surg__field f;
  bool ok = true, found = false;
  while (ok && surg__load_next(L, &c, &f)) {
    switch (f.number) {
      case 1:
        L->m->ir_version = (int64_t)f.value;
        L->m->has_ir_version = true;
        break;
      case 7:
        *graph = f;
        found = true;
        break;
      case 8:
        ok = read_import(L, &L->m->imports, &f);
        break;
      case 14:
        ok = read_metadata(L, &f);
        break;
      default:
        break;
    }
  }
  if (!ok || L->status != SURG_OK || !check_version(L)) return false;
  if (found) return true;
  return surg__load_stop(
      L, surg__error(L->ctx, SURG_EINVALID, L->src->name, "not an ONNX model: it has no graph"));
}

bool surg__load_model(surg__loader *L) {
  surg__field graph;
  if (!read_header(L, &graph)) return false;
  surg_graph *main = surg__graph_new(L->m, SURG_GRAPH_MAIN, NULL, NULL);
  if (!main) return surg__load_oom(L);
  main->src = surg__load_src(&graph);
  if (!read_graphs(L, main)) return false;
  surg__cursor c = surg__load_cursor(L, (surg__span){0, L->src->size});
  surg__field f;
  L->node = NULL;
  while (surg__load_next(L, &c, &f))
    if (f.number == 25 && !read_function(L, &f)) return false;
  return L->status == SURG_OK && surg__load_training(L);
}
