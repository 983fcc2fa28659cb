/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the values of the types that are converted, the slots, and who makes and reads what. */
#include "precision.h"

#include <assert.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <string.h>

#define NESTING 8  /* most sequences and optionals around a tensor */
#define GROUPS 32  /* type parameters of an operator; the table of operators has fewer */
#define FORMALS 63 /* the last formal parameter that is looked for */

/* --- types --- */

int prec_dtype(const surg_type *t) {
  for (size_t i = 0; i < NESTING && surg_type_elem(t); i++) {
    const surg_type_kind kind = surg_type_get_kind(t);
    if (kind != SURG_TYPE_SEQUENCE && kind != SURG_TYPE_OPTIONAL) return 0;
    t = surg_type_elem(t);
  }
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

const surg_type *prec_type(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return t ? t : surg_value_declared_type(v);
}

const surg_type *prec_retyped(prec *c, const surg_type *t, int dtype) {
  surg_type_kind around[NESTING];
  size_t depth = 0;
  for (; surg_type_elem(t); t = surg_type_elem(t)) {
    if (depth == NESTING) return NULL;
    around[depth++] = surg_type_get_kind(t);
  }
  const surg_type *out;
  if (!surg_type_has_rank(t)) {
    out = surg_type_tensor_unranked(c->m, dtype);
  } else {
    const size_t rank = surg_type_rank(t);
    surg_dim *dims = surg_pass_alloc(c->p, (rank + 1) * sizeof *dims);
    for (size_t i = 0; dims && i < rank; i++) dims[i] = *surg_type_dim(t, i);
    out = dims ? surg_type_tensor(c->m, dtype, dims, rank) : NULL;
  }
  while (depth-- > 0 && out) out = surg_type_wrap(c->m, around[depth], out);
  return out;
}

/* Whether a value is of a type that is converted, or of the new one. */
static bool concerned(const prec *c, const surg_value *v) {
  const surg_tensor *t = surg_value_constant(v);
  const int d = t ? surg_tensor_dtype(t) : prec_dtype(prec_type(v));
  return d > 0 && d < 64 && (d == c->kind->to || (c->from >> d & 1));
}

/* --- the table of values --- */

static size_t place_of(const prec *c, const surg_value *v) {
  uint64_t h = (uint64_t)(uintptr_t)v * UINT64_C(0x9E3779B97F4A7C15);
  h ^= h >> 29;
  size_t i = (size_t)(h & c->mask);
  while (c->places[i] && c->values[c->places[i] - 1].v != v) i = (i + 1) & c->mask;
  return i;
}

prec_value *prec_find(const prec *c, const surg_value *v) {
  if (!v) return NULL;
  const uint32_t at = c->places[place_of(c, v)];
  return at ? &c->values[at - 1] : NULL;
}

static bool castable(const prec *c, const surg_graph *g) {
  const surg_schema *s = surg_schema_find("", "Cast", surg_graph_opset(g, ""));
  const surg_type *to = surg_type_tensor_unranked(c->m, c->kind->to);
  return s && surg_schema_since(s) >= 6 && surg_schema_accepts(s, true, 0, to, c->kind->to) &&
         !surg_model_find_function(c->m, "", "Cast", "");
}

static void add_value(prec *c, surg_value *v, bool casts) {
  assert(c->n_values < c->max_values);
  prec_value *x = &c->values[c->n_values++];
  const surg_tensor *t = surg_value_constant(v);
  *x = (prec_value){.v = v, .made = PREC_NONE, .reads = PREC_NONE};
  x->dtype = t ? surg_tensor_dtype(t) : prec_dtype(prec_type(v));
  x->movable = casts && surg_type_get_kind(prec_type(v)) == SURG_TYPE_TENSOR;
  c->places[place_of(c, v)] = c->n_values;
}

/* --- slots --- */

uint32_t prec_slot_new(prec *c, surg_node *n) {
  if (c->n_slots == c->max_slots) {
    c->failed = true;
    return 0;
  }
  c->slots[c->n_slots] = (prec_slot){.parent = c->n_slots, .n = n};
  return c->n_slots++;
}

uint32_t prec_root(prec *c, uint32_t slot) {
  assert(slot < c->n_slots);
  while (c->slots[slot].parent != slot) {
    c->slots[slot].parent = c->slots[c->slots[slot].parent].parent;
    slot = c->slots[slot].parent;
  }
  return slot;
}

void prec_join(prec *c, uint32_t a, uint32_t b) {
  a = prec_root(c, a);
  b = prec_root(c, b);
  if (a == b) return;
  prec_slot *x = &c->slots[a], *y = &c->slots[b];
  y->parent = a;
  if (y->why != PREC_FREE) prec_pin(c, a, (prec_why)y->why);
  x->holds = x->holds || y->holds;
  x->gains = x->gains || y->gains;
  x->weight += y->weight;
}

/* Whether values that are of the new type already have to leave it for this reason: the type is not
 * accepted, or a value of the old type that is beside them (a node of mixed types) does not fit. */
bool prec_impossible(prec_why why) {
  return why == PREC_SCHEMA || why == PREC_TARGET || why == PREC_LARGE || why == PREC_SMALL ||
         why == PREC_BOUND;
}

void prec_pin(prec *c, uint32_t slot, prec_why why) {
  prec_slot *s = &c->slots[prec_root(c, slot)];
  const bool decisive = why == PREC_SCHEMA || why == PREC_TARGET || s->holds;
  if (s->why == PREC_FREE ||
      (decisive && prec_impossible(why) && !prec_impossible((prec_why)s->why)))
    s->why = (uint8_t)why;
}

prec_why prec_pinned(prec *c, uint32_t slot) {
  const prec_slot *s = &c->slots[prec_root(c, slot)];
  const prec_why why = (prec_why)s->why;
  return s->holds && (s->io || !prec_impossible(why)) ? PREC_FREE : why;
}

static void notice(prec *c, const prec_value *x, uint32_t slot) {
  prec_slot *s = &c->slots[prec_root(c, slot)];
  if (x->dtype == c->kind->to) s->holds = true;
}

void prec_made(prec *c, const surg_value *v, uint32_t slot) {
  prec_value *x = prec_find(c, v);
  if (!x) return;
  assert(x->made == PREC_NONE); /* a value has one producer */
  x->made = slot;
  notice(c, x, slot);
}

void prec_reads(prec *c, const surg_value *v, uint32_t slot, surg_node *n, surg_graph *g,
                size_t i) {
  prec_value *x = prec_find(c, v);
  if (!x) return;
  assert(c->n_reads < c->max_reads);
  c->reads[c->n_reads] = (prec_read){.n = n, .g = g, .index = i, .slot = slot, .next = x->reads};
  x->reads = c->n_reads++;
  notice(c, x, slot);
}

void prec_check_formal(prec *c, uint32_t slot, const surg_node *n, bool output, size_t i,
                       const surg_type *t) {
  if (!surg_schema_accepts(surg_node_schema(n), output, i, t, c->kind->to)) {
    prec_pin(c, slot, PREC_SCHEMA);
    return;
  }
  if (!c->target) return;
  const uint64_t stated = surg_target_types(c->target, n, output, i);
  if (!(stated >> c->kind->to & 1))
    prec_pin(c, slot, PREC_TARGET);
  else if (!(stated >> prec_dtype(t) & 1))
    c->slots[prec_root(c, slot)].gains = true;
}

/* --- nodes --- */

typedef struct group {
  const char *param; /* type parameter */
  uint32_t slot;
  bool given; /* an input has it */
} group;

typedef struct groups {
  group of[GROUPS];
  size_t n;
} groups;

bool prec_formal(const surg_schema *s, bool output, size_t i, surg_schema_param *out) {
  size_t k = i < FORMALS ? i : FORMALS;
  out->size = sizeof *out;
  while (surg_schema_param_at(s, output, k, out) != SURG_OK)
    if (k-- == 0) return false;
  return k == i || out->option == SURG_PARAM_VARIADIC;
}

/* The group of an input or output, made if it is new; NULL: it shares its type with no other. */
static group *group_of(groups *all, const surg_schema_param *f) {
  if (!f->is_type_param || (f->option == SURG_PARAM_VARIADIC && !f->homogeneous)) return NULL;
  for (size_t k = 0; k < all->n; k++)
    if (strcmp(all->of[k].param, f->type) == 0) return &all->of[k];
  assert(all->n < GROUPS);
  all->of[all->n] = (group){.param = f->type, .slot = PREC_NONE};
  return &all->of[all->n++];
}

static uint32_t slot_at(prec *c, surg_node *n, groups *all, bool output, size_t i) {
  surg_schema_param f;
  group *g = prec_formal(surg_node_schema(n), output, i, &f) ? group_of(all, &f) : NULL;
  if (!g) return prec_slot_new(c, n);
  if (g->slot == PREC_NONE) g->slot = prec_slot_new(c, n);
  return g->slot;
}

/* An attribute of the schema that says the element type of an output. */
static const char *type_attr(const surg_schema *s, bool *tensor) {
  static const char *const said[] = {"to", "dtype", "output_dtype", "output_datatype"};
  *tensor = false;
  for (size_t i = 0; i < surg_schema_attr_count(s); i++) {
    const char *name = surg_schema_attr_name(s, i);
    const surg_attr_kind kind = surg_schema_attr_kind(s, i);
    for (size_t k = 0; k < sizeof said / sizeof *said; k++)
      if (kind == SURG_ATTR_INT && strcmp(name, said[k]) == 0) return name;
    if (kind == SURG_ATTR_TENSOR && strcmp(name, "value") == 0) *tensor = true;
  }
  return NULL;
}

/* Whether an attribute of the schema may say a type: `to`, `stash_type`. */
static bool says_type(const surg_schema *s) {
  bool tensor;
  if (type_attr(s, &tensor)) return true;
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (surg_schema_attr_kind(s, i) == SURG_ATTR_INT && strstr(surg_schema_attr_name(s, i), "type"))
      return true;
  return false;
}

/* The type of this output follows from no input: it is set by an attribute, or fixed. */
static void set_by_attr(prec *c, surg_node *n, const prec_value *made, uint32_t slot) {
  bool tensor;
  const char *name = type_attr(surg_node_schema(n), &tensor);
  const surg_attr *a = surg_node_attr(n, name ? name : "value");
  const bool other = !name && !a && surg_node_attr_count(n) > 0; /* a constant of another kind */
  if ((!name && !tensor) || other || surg_attr_ref(a)) {
    prec_pin(c, slot, PREC_FIXED);
    return;
  }
  prec_setter *s = surg_pass_alloc(c->p, sizeof *s);
  if (!s) {
    c->failed = true;
    return;
  }
  *s = (prec_setter){.n = n, .made = made, .attr = name, .slot = slot, .next = c->setters};
  c->setters = s;
}

static bool is_sequence(const surg_value *v) {
  const surg_type *t = prec_type(v);
  return t && surg_type_get_kind(t) != SURG_TYPE_TENSOR;
}

/* Values of the same type parameter that are of no type of the conversion. */
static void check_others(prec *c, surg_node *n, groups *all, bool output) {
  const size_t count = output ? surg_node_output_count(n) : surg_node_input_count(n);
  for (size_t i = 0; i < count; i++) {
    const surg_value *v = output ? surg_node_output(n, i) : surg_node_input(n, i);
    surg_schema_param f;
    if (!v || prec_find(c, v) || !prec_formal(surg_node_schema(n), output, i, &f)) continue;
    const group *g = group_of(all, &f);
    if (g && g->slot != PREC_NONE) prec_pin(c, g->slot, PREC_TYPES);
  }
}

static void note_cast(prec *c, surg_node *n, uint32_t in, uint32_t out) {
  prec_cast *x = surg_pass_alloc(c->p, sizeof *x);
  if (!x) {
    c->failed = true;
    return;
  }
  *x = (prec_cast){.n = n,
                   .from = prec_find(c, surg_node_input(n, 0)),
                   .made = prec_find(c, surg_node_output(n, 0)),
                   .in = in,
                   .out = out,
                   .next = c->casts};
  c->casts = x;
}

/* Inputs of one node that all are of one type and may all be of the other one decide together:
 * engines have no kernels of mixed types, although ONNX has parameters for them. For the same
 * reason others stay where the first input (slot `in`) cannot move, unless the target states that
 * they must not. */
static void join_inputs(prec *c, const surg_node *n, const groups *all, uint32_t in) {
  uint32_t first = PREC_NONE;
  const prec_slot *data = in != PREC_NONE ? &c->slots[prec_root(c, in)] : NULL;
  const bool fixed = data && !data->holds && (data->why == PREC_TARGET || data->why == PREC_SCHEMA);
  if (c->kind->integers || surg_node_op(n) == SURG_OP_CastLike) return; /* data and indices */
  for (size_t k = 0; k < all->n; k++) {
    const uint32_t slot = all->of[k].slot;
    if (slot == PREC_NONE) continue;
    const prec_slot *s = &c->slots[prec_root(c, slot)];
    if (s->holds || prec_impossible((prec_why)s->why)) continue;
    if (fixed && !s->gains) {
      prec_pin(c, slot, PREC_TYPES);
      continue;
    }
    if (first != PREC_NONE)
      prec_join(c, first, slot);
    else
      first = slot;
  }
}

/* Whether n makes values of the new type if its operands are of it: sizes, integers and comparisons
 * of values are worth no Cast. */
static bool makes_any(const prec *c, const surg_node *n) {
  if (!c->kind->small) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (prec_find(c, surg_node_output(n, i))) return true;
  return false;
}

/* What it is worth that a value of n is of the new type: nothing where n only moves elements that
 * are computed, so that it follows the nodes around it. Weights that it moves need less space. */
static uint32_t worth_of(const prec *c, const surg_node *n) {
  if (!c->kind->small || !(surg_schema_flags(surg_node_schema(n)) & SURG_SCHEMA_DATA_MOVER))
    return 1;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (prec_find(c, surg_node_input(n, i)) && surg_value_constant(surg_node_input(n, i))) return 1;
  return 0;
}

/* A node of an operator with a schema: a slot for each type parameter. */
static void add_operator(prec *c, surg_node *n) {
  groups all = {.n = 0};
  uint32_t first = PREC_NONE, in = PREC_NONE;
  bool sequences = false;
  const bool makes = makes_any(c, n);
  const uint32_t worth = worth_of(c, n);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (!prec_find(c, v)) continue;
    const uint32_t slot = slot_at(c, n, &all, false, i);
    prec_reads(c, v, slot, n, NULL, i);
    prec_check_formal(c, slot, n, false, i, prec_type(v));
    if (makes && !surg_value_constant(v)) c->slots[slot].weight += worth;
    sequences = sequences || is_sequence(v);
    if (first == PREC_NONE) first = slot;
    if (i == 0) in = slot;
  }
  const size_t inputs = all.n;
  join_inputs(c, n, &all, in);
  const bool fed = first != PREC_NONE;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (!prec_find(c, v)) continue;
    const uint32_t slot = slot_at(c, n, &all, true, i);
    prec_made(c, v, slot);
    prec_check_formal(c, slot, n, true, i, prec_type(v));
    c->slots[prec_root(c, slot)].weight += worth;
    sequences = sequences || is_sequence(v);
    if (first == PREC_NONE) first = slot;
    surg_schema_param f;
    const group *g = prec_formal(surg_node_schema(n), true, i, &f) ? group_of(&all, &f) : NULL;
    const bool given = (sequences && fed) || (g && (size_t)(g - all.of) < inputs);
    /* The element of an optional. A runtime's own operator may need the declared type. */
    const bool follows = fed && g && !says_type(surg_node_schema(n)) && !surg_node_domain(n)[0];
    if (!given && follows)
      prec_join(c, first, slot);
    else if (!given)
      set_by_attr(c, n, prec_find(c, v), slot);
    const int op = surg_node_op(n);
    if (in != PREC_NONE && (op == SURG_OP_Cast || op == SURG_OP_CastLike))
      note_cast(c, n, in, slot);
  }
  check_others(c, n, &all, false);
  check_others(c, n, &all, true);
  /* Tensors and sequences of one node have elements of one type. */
  for (size_t k = 0; sequences && k < all.n; k++)
    if (all.of[k].slot != PREC_NONE) prec_join(c, first, all.of[k].slot);
}

static void add_node(prec *c, surg_node *n) {
  if (surg_node_output_count(n) == 1 && surg_value_constant(surg_node_output(n, 0))) return;
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION)
    prec_call(c, n);
  else if (prec_control(c, n))
    return;
  else if (surg_node_schema(n))
    add_operator(c, n);
  else
    prec_opaque(c, n);
}

/* --- all of it --- */

static bool grown(uint32_t *total, size_t by) {
  if (by >= PREC_NONE - *total) return false;
  *total += (uint32_t)by;
  return true;
}

/* Upper limits of what is recorded: values, readings, slots. */
static bool measure(prec *c) {
  surg_graph *g = NULL;
  bool fits = true;
  while (fits && (g = surg_model_next_graph(c->m, g))) {
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (concerned(c, v)) fits = fits && grown(&c->max_values, 1);
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      fits = fits && grown(&c->max_reads, surg_node_input_count(n)) &&
             grown(&c->max_slots, surg_node_output_count(n));
    fits = fits && grown(&c->max_reads, surg_graph_output_count(g)) &&
           grown(&c->max_slots, surg_graph_input_count(g));
  }
  fits = fits && grown(&c->max_slots, c->max_reads) && grown(&c->max_slots, c->max_values) &&
         grown(&c->max_slots, 1);
  if (!fits) surg_pass_fail(c->p, NULL, "the model is too large");
  return fits;
}

static bool reserve(prec *c) {
  size_t places = 16;
  while (places / 2 <= c->max_values && places < SIZE_MAX / 8) places *= 2;
  c->mask = places - 1;
  c->places = surg_pass_alloc(c->p, places * sizeof *c->places);
  c->values = surg_pass_alloc(c->p, ((size_t)c->max_values + 1) * sizeof *c->values);
  c->reads = surg_pass_alloc(c->p, ((size_t)c->max_reads + 1) * sizeof *c->reads);
  c->slots = surg_pass_alloc(c->p, (size_t)c->max_slots * sizeof *c->slots);
  return c->places && c->values && c->reads && c->slots;
}

/* A constant that must stay as it is, and a value that nothing above makes. */
static void settle_made(prec *c, prec_value *x) {
  if (x->made != PREC_NONE) return;
  const surg_tensor *t = surg_value_constant(x->v);
  const bool kept = surg_pass_keeps_value(c->p, x->v) || surg_value_is_pinned(x->v);
  if (t && !surg_tensor_is_sparse(t) && surg_value_settled(x->v) && !kept) return;
  x->made = prec_slot_new(c, NULL);
  prec_pin(c, x->made, kept ? PREC_KEPT : t ? PREC_SPARSE : PREC_FIXED);
  notice(c, x, x->made);
}

bool prec_collect(prec *c) {
  if (!measure(c) || !reserve(c)) return false;
  surg_graph *g = NULL;
  while ((g = surg_model_next_graph(c->m, g))) {
    const bool casts = castable(c, g);
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (concerned(c, v)) add_value(c, v, casts);
  }
  if (!prec_functions(c)) return false;
  while ((g = surg_model_next_graph(c->m, g))) {
    prec_interface(c, g);
    for (surg_node *n = surg_graph_first_node(g); n && !c->failed; n = surg_node_next(n))
      add_node(c, n);
  }
  for (uint32_t i = 0; i < c->n_values && !c->failed; i++) settle_made(c, &c->values[i]);
  return !c->failed;
}
