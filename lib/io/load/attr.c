/* SPDX-License-Identifier: Apache-2.0 */
/* AttributeProto: exactly one value, of the declared kind. Strings remain in the source image;
 * graphs are only recorded here and read later, level by level. */
#include "io/load/load.h"

/* The field of AttributeProto for the value of each kind. */
static const uint8_t field_of[] = {
    [SURG_ATTR_FLOAT] = 2,          [SURG_ATTR_INT] = 3,
    [SURG_ATTR_STRING] = 4,         [SURG_ATTR_TENSOR] = 5,
    [SURG_ATTR_GRAPH] = 6,          [SURG_ATTR_FLOATS] = 7,
    [SURG_ATTR_INTS] = 8,           [SURG_ATTR_STRINGS] = 9,
    [SURG_ATTR_TENSORS] = 10,       [SURG_ATTR_GRAPHS] = 11,
    [SURG_ATTR_TYPE_PROTO] = 14,    [SURG_ATTR_TYPE_PROTOS] = 15,
    [SURG_ATTR_SPARSE_TENSOR] = 22, [SURG_ATTR_SPARSE_TENSORS] = 23,
};
_Static_assert(SURG_COUNT(field_of) == SURG_ATTR_TYPE_PROTOS + 1, "one field for each kind");
#define BIT(n) ((uint64_t)1 << (n))
#define SKIPPED (BIT(4) | BIT(5) | BIT(6) | BIT(9) | BIT(10) | BIT(11) | BIT(22) | BIT(23))
#define NEEDS_VALUE                                                              \
  (BIT(SURG_ATTR_TENSOR) | BIT(SURG_ATTR_GRAPH) | BIT(SURG_ATTR_SPARSE_TENSOR) | \
   BIT(SURG_ATTR_TYPE_PROTO))

typedef struct reader {
  surg__loader *L;
  const surg__field *f;
  const Onnx__AttributeProto *p;
  surg_node *node;
  surg_attr *a;
  uint64_t present; /* bit set of the value fields that are present */
  size_t skipped;   /* number of fields not decoded with the message; in a valid attribute, the
                     * elements of its value */
} reader;

static bool is_value(uint32_t number) {
  for (size_t k = 1; k < SURG_COUNT(field_of); k++)
    if (field_of[k] == number) return true;
  return false;
}

static bool find_values(reader *r) {
  surg__cursor c = surg__load_cursor(r->L, r->f->body);
  surg__field f;
  while (surg__load_next(r->L, &c, &f)) {
    if (f.number >= 64 || !is_value(f.number)) continue;
    bool list = f.number == 7 || f.number == 8;
    if (list && f.wire == SURG__WIRE_BYTES && f.body.len == 0) continue;
    r->present |= BIT(f.number);
    if (SKIPPED & BIT(f.number)) r->skipped++;
  }
  return r->L->status == SURG_OK;
}

static void *copy(reader *r, const void *items, size_t n, size_t size) {
  void *to = surg__arena_array(&r->L->m->arena, n + 1, size);
  if (!to)
    surg__load_oom(r->L);
  else if (n)
    memcpy(to, items, n * size);
  return to;
}

/* Strings up to a page are copied where the image may be dropped; a longer one fixes the image. */
static bool take_string(reader *r, const surg__field *f, surg_str *out) {
  surg__source *src = r->L->src;
  const size_t n = (size_t)f->body.len;
  surg_status s = surg__source_need(src, f->body.off, n);
  if (s != SURG_OK) return surg__load_stop(r->L, s);
  const char *p = (const char *)src->base + f->body.off;
  if (n > SURG__PAGE)
    src->fixed = true;
  else if (!src->resident && !(p = surg__arena_strn(&r->L->m->arena, p, n)))
    return surg__load_oom(r->L);
  *out = (surg_str){p, n};
  return true;
}

static bool take_graph(reader *r, const surg__field *f, surg_graph **out) {
  if (!r->node) {
    r->a->kind = SURG_ATTR_UNDEFINED;
    return surg__load_bad(r->L, f->off, "E117", "a default that is a graph is not supported");
  }
  surg_graph *g = surg__graph_new(r->L->m, SURG_GRAPH_SUBGRAPH, r->node, r->a);
  if (!g) return surg__load_oom(r->L);
  g->src = surg__load_src(f);
  *out = g;
  return true;
}

/* Reads element i of the value from a field that was not decoded with the message. */
static bool take_element(reader *r, const surg__field *f, void *items, size_t i) {
  switch (r->a->kind) {
    case SURG_ATTR_STRING:
    case SURG_ATTR_STRINGS:
      return take_string(r, f, (surg_str *)items + i);
    case SURG_ATTR_GRAPH:
    case SURG_ATTR_GRAPHS:
      return take_graph(r, f, (surg_graph **)items + i);
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS:
      ((surg_tensor **)items)[i] = surg__load_tensor(r->L, f, NULL);
      if (r->L->status == SURG_OK && r->node && ((surg_tensor **)items)[i] &&
          ((surg_tensor **)items)[i]->defective) {
        r->a->dirty = r->node->attrs_dirty = true;
        surg__touch_node(r->node);
      }
      return r->L->status == SURG_OK;
    default:
      ((surg_tensor **)items)[i] = surg__load_sparse(r->L, f, NULL);
      return r->L->status == SURG_OK;
  }
}

/* Reads values that remain in the file: strings, tensors, graphs. */
static bool take_skipped(reader *r) {
  surg_attr *a = r->a;
  bool strings = a->kind == SURG_ATTR_STRING || a->kind == SURG_ATTR_STRINGS;
  void *items = surg__arena_array(&r->L->m->arena, r->skipped + 1,
                                  strings ? sizeof(surg_str) : sizeof(void *));
  if (!items) return surg__load_oom(r->L);
  /* Set before the elements are read, so that graphs read later find the attribute complete. */
  if (a->kind == SURG_ATTR_STRING)
    a->u.s = (surg_str){"", 0};
  else if (strings)
    a->u.strings = items;
  else if (a->kind == SURG_ATTR_GRAPH || a->kind == SURG_ATTR_GRAPHS)
    a->u.graphs = items;
  else
    a->u.tensors = items;
  const size_t found = r->L->m->defects.count;
  surg__cursor c = surg__load_cursor(r->L, r->f->body);
  surg__field f;
  size_t n = 0;
  while (surg__load_next(r->L, &c, &f)) {
    if (f.number != field_of[a->kind]) continue;
    bool single = a->kind == SURG_ATTR_STRING; /* the last occurrence is the value */
    if (!take_element(r, &f, items, single ? 0 : n)) return false;
    if (single) a->u.s = *(surg_str *)items;
    n = single ? 1 : n + 1;
  }
  a->count = (uint32_t)n;
  surg__load_own(r->L, found, NULL, a);
  return r->L->status == SURG_OK;
}

static bool take_types(reader *r) {
  bool one = r->a->kind == SURG_ATTR_TYPE_PROTO;
  size_t n = one ? r->p->tp != NULL : r->p->n_type_protos;
  const surg_type **types = surg__arena_array(&r->L->m->arena, n + 1, sizeof *types);
  if (!types) return surg__load_oom(r->L);
  for (size_t i = 0; i < n; i++) {
    types[i] = surg__load_type(r->L, one ? r->p->tp : r->p->type_protos[i]);
    if (!types[i]) return false;
  }
  r->a->u.types = types;
  r->a->count = (uint32_t)n;
  return true;
}

static bool take_value(reader *r) {
  surg_attr *a = r->a;
  const Onnx__AttributeProto *p = r->p;
  a->count = 1;
  switch (a->kind) {
    case SURG_ATTR_INT:
      a->u.i = p->i;
      return true;
    case SURG_ATTR_FLOAT:
      a->u.f = p->f;
      return true;
    case SURG_ATTR_INTS:
      if (p->n_ints > UINT32_MAX) return surg__load_oom(r->L);
      a->count = (uint32_t)p->n_ints;
      return (a->u.ints = copy(r, p->ints, p->n_ints, sizeof(int64_t))) != NULL;
    case SURG_ATTR_FLOATS:
      if (p->n_floats > UINT32_MAX) return surg__load_oom(r->L);
      a->count = (uint32_t)p->n_floats;
      return (a->u.floats = copy(r, p->floats, p->n_floats, sizeof(float))) != NULL;
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS:
      return take_types(r);
    default:
      return take_skipped(r);
  }
}

/* The kind of an attribute without a type: that of its only value. IR version 1 had no types. */
static surg_attr_kind guess_kind(const reader *r) {
  for (size_t k = 1; k < SURG_COUNT(field_of); k++)
    if (r->present == BIT(field_of[k])) return (surg_attr_kind)k;
  return SURG_ATTR_UNDEFINED;
}

/* The kind that a lenient load assigns to an attribute with a value its type does not use: the
 * declared kind if a value of it is present, else that of the only value. */
static surg_attr_kind nearest_kind(const reader *r, surg_attr_kind said) {
  const bool known = said != SURG_ATTR_UNDEFINED && (size_t)said < SURG_COUNT(field_of);
  if (known && (r->present & BIT(field_of[said]))) return said;
  return guess_kind(r);
}

/* The kind of the attribute; UNDEFINED: a finding, or loading has ended. *repaired: the type was
 * missing. */
static surg_attr_kind kind_of(reader *r, bool *repaired) {
  const Onnx__AttributeProto *p = r->p;
  surg__loader *L = r->L;
  surg_attr_kind kind = p->has_type ? (surg_attr_kind)p->type : SURG_ATTR_UNDEFINED;
  if (kind == SURG_ATTR_UNDEFINED && (L->m->ir_version < 2 || L->policy == SURG_LOAD_REPAIR)) {
    kind = guess_kind(r);
    *repaired = kind != SURG_ATTR_UNDEFINED && L->m->ir_version >= 2;
    if (*repaired) surg__load_repaired(L, r->f->off, "type filled in");
  }
  if (kind == SURG_ATTR_UNDEFINED)
    surg__load_kind(L, SURG__DEFECT_UNTYPED, surg__load_bad(L, r->f->off, "E117", "has no type"));
  else if ((size_t)kind >= SURG_COUNT(field_of))
    surg__load_bad(L, r->f->off, "E117", "type %d does not exist", (int)kind);
  else if (r->present & ~BIT(field_of[kind]))
    surg__load_bad(L, r->f->off, "E117", "has a value in a field that its type does not use");
  else if (!p->ref_attr_name && !r->present && (BIT(kind) & NEEDS_VALUE))
    surg__load_bad(L, r->f->off, "E117", "has no value");
  else
    return kind;
  if (!L->lenient) return SURG_ATTR_UNDEFINED;
  kind = nearest_kind(r, kind);
  *repaired = kind != SURG_ATTR_UNDEFINED;
  if (*repaired) surg__load_about(L, &(surg__defect){.reading = SURG_READING_CERTAIN});
  return kind;
}

static surg_attr *new_attr(reader *r, surg_function *fn, const char *name, surg_attr_kind kind) {
  surg_attr *a;
  if (r->node) {
    a = surg__node_push_attr(r->node, name, kind);
  } else {
    a = surg__arena_zalloc(&r->L->m->arena, sizeof *a);
    if (a && !surg__vec_push(r->L->ctx, &fn->defaults, a)) a = NULL;
    if (a) {
      a->name = name;
      a->kind = kind;
    }
  }
  if (!a) surg__load_oom(r->L);
  return a;
}

static bool read_attr(reader *r, surg_function *fn) {
  surg__loader *L = r->L;
  if (!find_values(r)) return false;
  r->p = surg__load_leaf(L, &onnx__attribute_proto__descriptor, r->f->body, SKIPPED);
  if (!r->p) return false;
  bool repaired = false;
  surg_attr_kind kind = SURG_ATTR_UNDEFINED;
  if (!r->p->name || !*r->p->name)
    surg__load_bad(L, r->f->off, "E117", "has no name");
  else
    kind = kind_of(r, &repaired);
  if (kind == SURG_ATTR_UNDEFINED && !L->lenient) return L->status == SURG_OK;
  const char *name = surg__load_intern(L, r->p->name);
  if (L->status != SURG_OK || !name || !(r->a = new_attr(r, fn, name, kind))) return false;
  r->a->src = surg__load_src(r->f);
  r->a->untyped = !r->p->has_type || r->p->type == 0;
  r->a->fields = (uint32_t)r->present; /* numbers below 32 */
  r->a->stray = r->p->f;
  if (repaired && r->node) {
    r->a->dirty = r->node->attrs_dirty = true;
    surg__touch_node(r->node);
  }
  if (repaired || kind == SURG_ATTR_UNDEFINED) surg__load_about(L, &(surg__defect){.attr = r->a});
  if (kind == SURG_ATTR_UNDEFINED) return true;
  if (r->p->ref_attr_name && *r->p->ref_attr_name) {
    if (!r->node || !surg_graph_function(r->node->graph)) {
      if (!surg__load_bad(L, r->f->off, "E117", "refers to an attribute outside any function"))
        return false;
      if (!r->present && !r->a->untyped) r->a->lost = (uint8_t)r->a->kind;
      if (!r->present) r->a->kind = SURG_ATTR_UNDEFINED;
      surg__load_about(L, &(surg__defect){.attr = r->a, .kind = SURG__DEFECT_STRAY});
      return r->present && L->lenient ? take_value(r) : true;
    }
    r->a->ref = surg__load_intern(L, r->p->ref_attr_name);
    return r->a->ref != NULL;
  }
  return take_value(r);
}

bool surg__load_attr(surg__loader *L, const surg__field *f, surg_node *n, surg_function *fn) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  reader r = {.L = L, .f = f, .node = n};
  bool ok = read_attr(&r, fn);
  surg__arena_reset(&L->scratch, mark);
  return ok && L->status == SURG_OK;
}
