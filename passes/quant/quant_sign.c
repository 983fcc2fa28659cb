/* SPDX-License-Identifier: Apache-2.0 */
/* Changes quantized values between uint8 and int8: elements and zero points move by 128 together.
 *
 *   before: q = QuantizeLinear (x, s, 131)  y = DequantizeLinear (q, s, 131)      uint8
 *   after:  q = QuantizeLinear (x, s, 3)    y = DequantizeLinear (q, s, 3)        int8
 *
 * A *pair* is an input or output of a node and the input that is its zero point. Values that nodes
 * only move connect pairs, which then change together; constants are copied where other readers
 * keep them. What the interface of a graph has, or a node that is not listed reads, stays.
 *
 * Needs sorted, types. Keeps sorted. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/precision.h>
#include <stdio.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/table.h"
#include "quant.h"

#define NONE UINT32_MAX
#define TEXT 400
#define PAIRS 3 /* most of a node */

/* The pairs of operators that compute on quantized values. */
static const struct pairs {
  int op;
  struct {
    bool output;
    int8_t at, zero; /* the index of the value, and of the input that is its zero point */
  } of[PAIRS];
  int n;
} quantized[] = {
    {SURG_OP_QuantizeLinear, {{true, 0, 2}}, 1},
    {SURG_OP_DequantizeLinear, {{false, 0, 2}}, 1},
    {SURG_OP_MatMulInteger, {{false, 0, 2}, {false, 1, 3}}, 2},
    {SURG_OP_ConvInteger, {{false, 0, 2}, {false, 1, 3}}, 2},
    {SURG_OP_QLinearConv, {{false, 0, 2}, {false, 3, 5}, {true, 0, 7}}, 3},
    {SURG_OP_QLinearMatMul, {{false, 0, 2}, {false, 3, 5}, {true, 0, 7}}, 3},
};

/* Operators whose results have only elements of their operands. */
static const int movers[] = {
    SURG_OP_Reshape, SURG_OP_Flatten,      SURG_OP_Transpose,    SURG_OP_Squeeze, SURG_OP_Unsqueeze,
    SURG_OP_Slice,   SURG_OP_Split,        SURG_OP_Gather,       SURG_OP_Expand,  SURG_OP_Tile,
    SURG_OP_Concat,  SURG_OP_DepthToSpace, SURG_OP_SpaceToDepth, SURG_OP_MaxPool, SURG_OP_Identity,
};

typedef struct flip {
  surg_node *n;
  size_t index; /* of an input that is a constant; or of a zero point that is absent */
  uint32_t slot;
  bool absent;
} flip;

typedef struct known {
  surg_value *v;
  uint32_t slot;
} known;

typedef struct signs {
  surg_pass_ctx *p;
  surg_model *m;
  surg_target *target;
  int from, to;
  table values; /* of known */
  known *all;
  uint32_t *parent; /* union-find of slots */
  bool *stays;      /* by slot */
  uint32_t n_all, n_slots;
  flip *flips;
  size_t n_flips;
  bool failed;
} signs;

/* --- slots --- */

static uint32_t root(signs *s, uint32_t i) {
  while (s->parent[i] != i) i = s->parent[i] = s->parent[s->parent[i]];
  return i;
}

static void unite(signs *s, uint32_t a, uint32_t b) {
  a = root(s, a);
  b = root(s, b);
  s->parent[b] = a;
  s->stays[a] = s->stays[a] || s->stays[b];
}

static uint32_t slot_new(signs *s) {
  s->parent[s->n_slots] = s->n_slots;
  return s->n_slots++;
}

static void stay(signs *s, uint32_t slot) {
  s->stays[root(s, slot)] = true;
}

static int same_value(void *user, const void *a, const void *b) {
  (void)user;
  return ((const known *)a)->v == ((const known *)b)->v;
}

static int dtype_of(const surg_value *v) {
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  if (t) return surg_tensor_dtype(t);
  const surg_type *type = v ? surg_value_type(v) : NULL;
  if (v && !type) type = surg_value_declared_type(v);
  return type && surg_type_get_kind(type) == SURG_TYPE_TENSOR ? surg_type_dtype(type) : 0;
}

/* The slot of a computed value of the type; NONE: it is none. */
static uint32_t slot_of(signs *s, surg_value *v) {
  if (!v || surg_value_constant(v) || dtype_of(v) != s->from) return NONE;
  known *fresh = &s->all[s->n_all];
  fresh->v = v;
  known *k = table_meet(&s->values, table_mix(0, (uint64_t)(uintptr_t)v), fresh, same_value, NULL);
  if (!k) s->failed = true;
  if (k == fresh) {
    fresh->slot = slot_new(s);
    s->n_all++;
  }
  return k ? k->slot : NONE;
}

/* --- nodes --- */

static bool accepts(const signs *s, const surg_node *n, bool output, size_t i,
                    const surg_value *v) {
  const surg_type *like =
      surg_value_type(v) ? surg_value_type(v) : surg_type_tensor_unranked(s->m, s->from);
  if (!surg_schema_accepts(surg_node_schema(n), output, i, like, s->to)) return false;
  return !s->target || (surg_target_types(s->target, n, output, i) >> s->to & 1);
}

static const struct pairs *pairs_of(const surg_node *n) {
  for (size_t i = 0; i < sizeof quantized / sizeof *quantized; i++)
    if (quantized[i].op == surg_node_op(n)) return &quantized[i];
  return NULL;
}

static bool has_data(const surg_tensor *t) {
  uint8_t first;
  return surg_tensor_count(t) == 0 || surg_tensor_read(t, 0, &first, 1) == SURG_OK;
}

/* Whether a constant can change: not what a caller or training sets, nor without elements. */
static bool flippable(const signs *s, const surg_value *v) {
  const surg_tensor *t = surg_value_settled(v);
  return t && !surg_tensor_is_sparse(t) && !surg_pass_keeps_value(s->p, v) &&
         surg_tensor_dtype(t) == s->from && has_data(t);
}

/* An operand, a constant or not, belongs to the slot. */
static void meet_input(signs *s, surg_node *n, size_t i, uint32_t slot) {
  surg_value *v = surg_node_input(n, i);
  const uint32_t own = slot_of(s, v);
  if (!v || dtype_of(v) != s->from) {
    stay(s, slot);
    return;
  }
  if (!accepts(s, n, false, i, v)) stay(s, slot);
  if (own != NONE)
    unite(s, slot, own);
  else if (flippable(s, v))
    s->flips[s->n_flips++] = (flip){n, i, slot, false};
  else
    stay(s, slot);
}

/* The type of a pair that has no zero point is uint8 with 0 there; the attribute of later versions
 * is left alone. */
static void meet_absent(signs *s, surg_node *n, size_t i, uint32_t slot) {
  if (s->from == SURG_UINT8 && !surg_node_attr(n, "output_dtype"))
    s->flips[s->n_flips++] = (flip){n, i, slot, true};
  else
    stay(s, slot);
}

static void meet_pairs(signs *s, surg_node *n, const struct pairs *p) {
  for (int k = 0; k < p->n; k++) {
    const size_t at = (size_t)p->of[k].at, zero = (size_t)p->of[k].zero;
    surg_value *v = p->of[k].output ? surg_node_output(n, at) : surg_node_input(n, at);
    if (!v || dtype_of(v) != s->from) continue;
    const uint32_t slot = slot_new(s);
    if (surg_pass_keeps_node(s->p, n)) stay(s, slot);
    if (!p->of[k].output) {
      meet_input(s, n, at, slot);
    } else if (slot_of(s, v) != NONE) {
      unite(s, slot, slot_of(s, v));
      if (!accepts(s, n, true, at, v)) stay(s, slot);
    }
    if (surg_node_input(n, zero))
      meet_input(s, n, zero, slot);
    else
      meet_absent(s, n, zero, slot);
  }
}

static bool is_mover(const surg_node *n) {
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (movers[i] == surg_node_op(n)) return true;
  return false;
}

/* All values of the type that a node reads or makes are of one slot; of a node that is not
 * understood they stay. */
static void meet_node(signs *s, surg_node *n) {
  const struct pairs *p = surg_node_schema(n) ? pairs_of(n) : NULL;
  if (p) {
    meet_pairs(s, n, p);
    return;
  }
  const uint32_t slot = slot_new(s);
  if (!surg_node_schema(n) || !is_mover(n) || surg_pass_keeps_node(s->p, n)) stay(s, slot);
  if (surg_node_output_count(n) == 1 && surg_value_constant(surg_node_output(n, 0))) return;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (dtype_of(surg_node_input(n, i)) == s->from) meet_input(s, n, i, slot);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    const uint32_t own = slot_of(s, v);
    if (own == NONE) continue;
    unite(s, slot, own);
    if (!surg_node_schema(n) || !accepts(s, n, true, i, v)) stay(s, slot);
  }
}

static void meet_graph(signs *s, surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const uint32_t slot = slot_of(s, surg_graph_input(g, i));
    if (slot != NONE) stay(s, slot);
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const uint32_t slot = slot_of(s, surg_graph_output(g, i));
    if (slot != NONE) stay(s, slot);
  }
  for (surg_node *n = surg_graph_first_node(g); n && !s->failed; n = surg_node_next(n))
    meet_node(s, n);
}

static bool collect(signs *s) {
  size_t places = 0, nodes = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->m, g));) {
    places += surg_graph_input_count(g) + surg_graph_output_count(g);
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n), nodes++)
      places += surg_node_input_count(n) + surg_node_output_count(n) + PAIRS;
  }
  if (places + nodes >= NONE / 2) {
    surg_pass_fail(s->p, NULL, "the model is too large");
    return false;
  }
  const size_t slots = 2 * places + nodes + 1;
  s->all = surg_pass_alloc(s->p, (places + 1) * sizeof *s->all);
  s->flips = surg_pass_alloc(s->p, (places + 1) * sizeof *s->flips);
  s->parent = surg_pass_alloc(s->p, slots * sizeof *s->parent);
  s->stays = surg_pass_alloc(s->p, slots * sizeof *s->stays);
  if (!s->all || !s->flips || !s->parent || !s->stays || !table_make(&s->values, s->p, places))
    return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->m, g)) && !s->failed;) meet_graph(s, g);
  return !s->failed;
}

/* --- the rewrite --- */

static bool moves(signs *s, uint32_t slot) {
  return !s->stays[root(s, slot)];
}

/* A zero point for a node that has none: 0 of uint8, in the shape of the scale. */
static surg_value *zero_for(signs *s, const flip *f) {
  const surg_tensor *scale = surg_value_constant(surg_node_input(f->n, 1));
  const bool per_axis = scale && surg_tensor_count(scale) > 1;
  const size_t n = per_axis ? (size_t)surg_tensor_count(scale) : 1;
  char stem[TEXT];
  uint8_t *zeros = surg_pass_alloc(s->p, n);
  if (!zeros) return NULL;
  memset(zeros, 0x80, n); /* -128 */
  snprintf(stem, sizeof stem, "%.300s_zero_point", surg_value_name(surg_node_input(f->n, 0)));
  return surg_graph_constant(surg_node_graph(f->n), f->n, stem,
                             surg_tensor_new(s->m, s->to, per_axis ? surg_tensor_dims(scale) : NULL,
                                             per_axis ? surg_tensor_rank(scale) : 0, zeros, n));
}

/* Whether a node without a zero point can get one: that needs the shape of the scale. */
static bool can_have_zero(const flip *f) {
  const int op = surg_node_op(f->n);
  if (op == SURG_OP_MatMulInteger || op == SURG_OP_ConvInteger) return true;
  const surg_value *scale = surg_node_input(f->n, 1);
  const surg_type *t = scale ? surg_value_type(scale) : NULL;
  return scale && (surg_value_constant(scale) || (surg_type_has_rank(t) && surg_type_rank(t) == 0));
}

/* A constant that moves, for so many of its uses. */
typedef struct moved {
  surg_value *v, *made;
  size_t uses;
} moved;

static int same_moved(void *user, const void *a, const void *b) {
  (void)user;
  return ((const moved *)a)->v == ((const moved *)b)->v;
}

/* Declares the new type of a value that has a declaration. */
static bool declare(signs *s, surg_value *v) {
  const surg_type *t = declared_type(v), *made;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_dtype(t) != s->from) return true;
  if (!surg_type_has_rank(t)) {
    made = surg_type_tensor_unranked(s->m, s->to);
  } else {
    const size_t rank = surg_type_rank(t);
    surg_dim *dims = surg_pass_alloc(s->p, (rank + 1) * sizeof *dims);
    for (size_t i = 0; dims && i < rank; i++) dims[i] = *surg_type_dim(t, i);
    made = dims ? surg_type_tensor(s->m, s->to, dims, rank) : NULL;
  }
  return made && surg_value_set_declared_type(v, made) == SURG_OK;
}

/* The entry of a constant. NULL: out of memory. */
static moved *entry_of(signs *s, table *made, surg_value *v) {
  moved *item = surg_pass_alloc(s->p, sizeof *item);
  if (!item) return NULL;
  *item = (moved){.v = v};
  return table_meet(made, table_mix(0, (uint64_t)(uintptr_t)v), item, same_moved, NULL);
}

/* The constant in the other type: in place of v if all of its uses move, else a copy. */
static surg_value *flipped(signs *s, moved *c) {
  char stem[TEXT];
  if (c->made) return c->made;
  surg_tensor *t = surg_tensor_flip_sign(s->m, surg_value_constant(c->v));
  surg_node *by = surg_value_producer(c->v, NULL);
  surg_graph *g = surg_value_graph(c->v);
  if (!t) return NULL;
  if (!by && c->uses == surg_value_use_count(c->v, SIZE_MAX)) {
    if (surg_value_set_initializer(c->v, t) || !declare(s, c->v)) return NULL;
    return c->made = c->v;
  }
  snprintf(stem, sizeof stem, "%.300s_%s", surg_value_name(c->v), surg_dtype_name(s->to));
  surg_node *place = by ? surg_node_next(by) : surg_graph_first_node(g);
  return c->made = surg_graph_constant(g, place, stem, t);
}

static bool apply_flip(signs *s, table *made, const flip *f) {
  if (!moves(s, f->slot)) return true;
  if (f->absent) {
    surg_value *zero = zero_for(s, f);
    return zero && surg_node_set_input(f->n, f->index, zero) == SURG_OK;
  }
  surg_value *v = surg_node_input(f->n, f->index);
  moved *c = entry_of(s, made, v);
  surg_value *w = c ? flipped(s, c) : NULL;
  if (!w) return false;
  return w == v || (surg_node_set_input(f->n, f->index, w) == SURG_OK && quant_drop_constant(v));
}

/* Counts the uses of constants that move. */
static bool count_uses(signs *s, table *made) {
  for (size_t i = 0; i < s->n_flips; i++) {
    const flip *f = &s->flips[i];
    if (f->absent || !moves(s, f->slot)) continue;
    moved *c = entry_of(s, made, surg_node_input(f->n, f->index));
    if (!c) return false;
    c->uses++;
  }
  return true;
}

static bool apply(signs *s, uint64_t *values) {
  table made = {0};
  if (!table_make(&made, s->p, s->n_flips)) return false;
  for (size_t i = 0; i < s->n_flips; i++)
    if (s->flips[i].absent && !can_have_zero(&s->flips[i])) stay(s, s->flips[i].slot);
  for (uint32_t i = 0; i < s->n_all; i++) {
    if (!moves(s, s->all[i].slot)) continue;
    ++*values;
    if (!declare(s, s->all[i].v)) return false;
  }
  if (!count_uses(s, &made)) return false;
  for (size_t i = 0; i < s->n_flips; i++)
    if (!apply_flip(s, &made, &s->flips[i])) return false;
  return true;
}

static surg_pass_result change(signs *s) {
  const uint64_t epoch = surg_model_epoch(s->m);
  uint64_t values = 0;
  if (!collect(s)) return SURG_PASS_FAILED;
  if (!surg_pass_allow(s->p)) return SURG_PASS_UNCHANGED;
  if (!apply(s, &values) || surg_model_status(s->m) != SURG_OK) return SURG_PASS_FAILED;
  const bool changed = surg_model_epoch(s->m) != epoch;
  if (!changed) surg_pass_give_back(s->p);
  surg_pass_count(s->p, "values changed", values);
  surg_pass_count(s->p, "values that stay", s->n_all - values);
  return changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  signs s = {.p = p, .m = surg_pass_model(p)};
  const char *to = surg_pass_string(p, "to"), *name = surg_pass_string(p, "target");
  s.to = surg_dtype_from_name(to);
  if (s.to != SURG_INT8 && s.to != SURG_UINT8)
    return surg_pass_usage(p, "option to: expected int8 or uint8");
  s.from = s.to == SURG_INT8 ? SURG_UINT8 : SURG_INT8;
  if (name && surg_target_open(surg_pass_context(p), name, &s.target) != SURG_OK)
    return SURG_PASS_FAILED;
  const surg_pass_result r = change(&s);
  surg_target_free(s.target);
  return r;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "to", "int8", "int8 or uint8"),
    SURG_OPTION(STRING, "target", NULL, "use only types that the target states"),
};

const surg_pass surg__pass_quant_sign = {
    SURG_PASS_HEAD(MODEL, "quant-sign", "change quantized values between uint8 and int8"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .edits = true,
    .run = run,
};
