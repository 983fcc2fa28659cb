/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of SURG_LOAD_CHECK on versions, imports, metadata, function headers and the interface:
 * the specification requires them, but a model can be read without them. */
#include <stdlib.h>

#include "base/dtype.h"
#include "io/load/load.h"
#include "schema/schema.h"

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const char *const *)a;
  const uintptr_t y = (uintptr_t) * (const char *const *)b;
  return x < y ? -1 : x > y;
}

/* A name that occurs twice in a list of interned names; NULL: none, or loading has ended. Sorts
 * the list. */
static const char *repeated(const char **names, size_t n) {
  if (n) qsort(names, n, sizeof *names, by_address);
  for (size_t i = 1; i < n; i++)
    if (names[i] == names[i - 1]) return names[i];
  return NULL;
}

static bool check_metadata(surg__loader *L) {
  const size_t n = L->m->metadata.count;
  surg__mark mark = surg__arena_mark(&L->scratch);
  const char **keys = surg__arena_array(&L->scratch, n + 1, sizeof *keys);
  if (!keys) return surg__load_oom(L);
  for (size_t i = 0; i < n; i++) keys[i] = L->m->metadata.items[i].key;
  const char *twice = repeated(keys, n);
  surg__arena_reset(&L->scratch, mark);
  if (!twice) return true;
  const surg__metadata *last = L->m->metadata.items + n;
  do last--;
  while (last->key != twice);
  return surg__load_unclean(L, last->src.field_off, "E134", "key %s is repeated in the metadata",
                            surg__q(L->ctx, twice));
}

static bool check_imports(surg__loader *L) {
  const surg_model *m = L->m;
  const surg__imports *list = &m->imports;
  if (m->ir_version < 1) return true;
  if (m->ir_version < 3)
    return !list->count ||
           surg__load_unclean(L, list->items[0].src.field_off, "E140",
                              "IR version %lld has no opset imports", (long long)m->ir_version);
  /* If there are nodes, each is reported for its missing domain instead. */
  return list->count || m->graph->first ||
         surg__load_unclean(L, m->graph->src.field_off, "E121", "the model imports no opset");
}

static bool check_function(surg__loader *L, const surg_function *f) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  const char **names = surg__arena_array(&L->scratch, f->attrs.count + 1, sizeof *names);
  if (!names) return surg__load_oom(L);
  if (f->attrs.count) memcpy(names, f->attrs.items, f->attrs.count * sizeof *names);
  const char *twice = repeated(names, f->attrs.count);
  surg__arena_reset(&L->scratch, mark);
  return !twice ||
         surg__load_unclean(L, f->src.field_off, "E124", "the function has attribute %s twice",
                            surg__q(L->ctx, twice));
}

bool surg__load_check_header(surg__loader *L) {
  if (!L->all) return true;
  if (!check_metadata(L) || !check_imports(L)) return false;
  for (size_t i = 0; i < L->m->functions.count; i++)
    if (!check_function(L, L->m->functions.items[i])) return false;
  return true;
}

/* --- rules on nodes of functions that depend on the function header --- */

bool surg__load_check_ref(surg__loader *L, const surg_node *n, const surg_attr *a) {
  const surg_function *f =
      a->ref && L->all && !L->probe ? surg_graph_function(n->graph) : NULL;
  if (!f) return true;
  if (L->names_of != f) { /* sorted once per function: its graphs are visited in sequence */
    L->names = surg__arena_array(&L->scratch, f->attrs.count + 1, sizeof *L->names);
    if (!L->names) return surg__load_oom(L);
    if (f->attrs.count) memcpy(L->names, f->attrs.items, f->attrs.count * sizeof *L->names);
    if (f->attrs.count) qsort(L->names, f->attrs.count, sizeof *L->names, by_address);
    L->names_of = f;
  }
  if (f->attrs.count && bsearch(&a->ref, L->names, f->attrs.count, sizeof *L->names, by_address))
    return true;
  const bool go_on = surg__load_unclean(L, a->src.field_off, "E117",
                                        "refers to attribute %s, which the function does not have",
                                        surg__q(L->ctx, a->ref));
  surg__load_about(
      L, &(surg__defect){.attr = (surg_attr *)(uintptr_t)a, .kind = SURG__DEFECT_UNSET});
  return go_on;
}

bool surg__load_check_opset(surg__loader *L, const surg_node *n) {
  if (!L->all || !surg_graph_function(n->graph)) return true;
  const int64_t here = surg_graph_opset(n->graph, n->domain);
  const int64_t model = surg_model_opset(L->m, n->domain);
  if (!model || model == here || model > surg_schema_newest(n->domain)) return true;
  const surg_schema *other = surg_schema_find(n->domain, n->op_type, model);
  if (other == n->schema) return true;
  return surg__load_unclean(L, n->src.field_off, "E133",
                            "%s has another version in opset %lld than in opset %lld, which the "
                            "model imports",
                            n->schema->name, (long long)here, (long long)model);
}

/* --- the interface --- */

/* The missing part of an interface type as text, or NULL. */
static const char *lacks(const surg_type *t) {
  if (!t) return "has no type";
  while (t->elem) t = t->elem;
  const bool tensor = t->kind == SURG_TYPE_TENSOR || t->kind == SURG_TYPE_SPARSE_TENSOR;
  if (t->kind == SURG_TYPE_OPAQUE) return NULL;
  if (!tensor) return "has no type"; /* or a wrapper without an element type */
  if (t->dtype == SURG_UNDEFINED) return NULL;
  return surg__dtype_name(t->dtype) ? NULL : "is of an element type that does not exist";
}

/* Reports a missing element type. For an output it is only a warning: runtimes infer it. */
static bool check_element(surg__loader *L, uint64_t off, const surg_type *t, bool input) {
  while (t->elem) t = t->elem;
  if (t->kind == SURG_TYPE_OPAQUE || t->dtype != SURG_UNDEFINED) return true;
  if (input) return surg__load_unclean(L, off, "E108", "has no element type");
  if (L->lenient) return true;
  surg__load_warn(L, off, "W207", "has no element type");
  return true;
}

bool surg__load_check_interface(surg__loader *L, uint64_t off, const surg_type *t, bool input) {
  if (!L->all) return true;
  const char *what = lacks(t);
  if (what) return surg__load_unclean(L, off, "E108", "%s", what);
  if (!check_element(L, off, t, input)) return false;
  const bool tensor = t->kind == SURG_TYPE_TENSOR || t->kind == SURG_TYPE_SPARSE_TENSOR;
  return !tensor || t->has_rank ||
         surg__load_unclean(L, off, "E130",
                            "is a tensor without a shape; inputs and outputs of a "
                            "model declare their rank");
}
