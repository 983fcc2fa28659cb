/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a node whose element types another version of its operator does not support in a type
 * that it does support, between Casts, where the result is the same. The signatures define the
 * supported types; lib/schema/traits.table defines which conversions keep the result of an
 * operator. */
#include "opset/widen.h"

#include "base/dtype.h"
#include "infer/infer.h"
#include "ir/ir.h" /* only for surg__types_hold */
#include "measure/measure.h"
#include "schema/text.h"

/* Conversions of the element type that leave the result unchanged; bits of a set. */
enum {
  INJECT = 1,  /* any injective map with 0 -> 0; also u64 to the i64 with the same bits */
  ORDER = 2,   /* a monotone map with 0 -> 0 */
  SHIFT = 4,   /* a monotone map: u64 minus 2^63 */
  WRAP = 8,    /* a wider integer; the result is truncated */
  WHOLE = 16,  /* a wider integer that contains all values of the narrow one */
  ROUND = 32,  /* a wider float; the result is rounded */
  EXACT = 64,  /* as ROUND, and exact: the wider type has 2 * digits + 2 digits */
  FILLED = 128, /* without elements the result depends on the type */
  LISTED = 256
};

/* Column `widen` of lib/schema/traits.table. */
static const uint16_t table[SURG_OP_COUNT] = {
#define SURG_TRAIT_WIDEN(op, maps) [SURG_OP_##op] = LISTED | (maps),
#include "schema/traits.gen.h"
#undef SURG_TRAIT_WIDEN
};

/* The conversions for an operator without a row, from the flags of its schema. */
static unsigned maps_of(const surg_schema *s) {
  if (s->op > 0 && s->op < SURG_OP_COUNT && table[s->op]) return table[s->op] & ~(unsigned)LISTED;
  if (s->flags & (SURG__OP_CONTROL_FLOW | SURG__OP_NONDETERMINISTIC)) return 0;
  return s->flags & SURG__OP_DATA_MOVER ? INJECT : ROUND;
}

/* --- types --- */

/* The types that may replace a type, best first; 0 ends the list. */
static const uint8_t *wider(int dtype) {
  static const uint8_t none[1], small[] = {SURG_INT32, SURG_INT64, SURG_FLOAT, SURG_DOUBLE, 0},
                                word[] = {SURG_INT64, SURG_DOUBLE, 0}, u64[] = {SURG_INT64, 0},
                                half[] = {SURG_FLOAT, SURG_DOUBLE, 0}, single[] = {SURG_DOUBLE, 0},
                                tiny[] = {SURG_INT8, SURG_INT32, SURG_UINT8, SURG_FLOAT, 0};
  switch (dtype) {
    case SURG_BOOL:
    case SURG_INT8:
    case SURG_UINT8:
    case SURG_INT16:
    case SURG_UINT16:
      return small;
    case SURG_UINT32:
    case SURG_INT32:
      return word;
    case SURG_UINT64:
      return u64;
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ:
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      return half;
    case SURG_FLOAT:
      return single;
    case SURG_INT4:
    case SURG_INT2:
      return tiny;
    case SURG_UINT4:
    case SURG_UINT2:
      return tiny + 1;
    default:
      return none;
  }
}

/* Whether the operator may compute `from` as `to`; *shift: after subtracting 2^63. */
static bool may(unsigned maps, int from, int to, bool *shift) {
  *shift = false;
  if (from == SURG_UINT64) {
    *shift = !(maps & (INJECT | WRAP)) && (maps & SHIFT);
    return (maps & (INJECT | WRAP)) || *shift;
  }
  if (maps & (INJECT | ORDER)) return true;
  if (from == SURG_BOOL) return false;
  if (surg__dtype_is_int(from)) return surg__dtype_is_int(to) && (maps & (WRAP | WHOLE));
  return (maps & ROUND) && !surg__dtype_is_int(to);
}

static bool cast_takes(int64_t opset, int a, int b) {
  const surg_schema *s = surg_schema_find("", "Cast", opset);
  if (!s || s->since < 6 || s->n_params < 2) return false;
  const uint32_t both = s->params[0].tensor_mask & s->params[1].tensor_mask;
  return (both >> a & 1) && (both >> b & 1);
}

/* --- the plan --- */

#define MOST_GROUPS 16u

/* A type parameter of the node's version, with all inputs and outputs of that element type. */
typedef struct group {
  int from, to;  /* element types; `to` 0: unchanged */
  uint32_t mask; /* types that the other version supports for all members */
  bool shift;
  bool given; /* an input has the type, so that a Cast can change it */
} group;

typedef struct plan {
  surg_context *ctx;
  surg_node *n;
  const surg_schema *from, *to;
  int64_t opset;
  unsigned maps;
  const char *param; /* the type parameter with restricted types, or NULL */
  uint32_t types;    /* ... and the types it may have */
  group groups[MOST_GROUPS];
  surg__made *made;
  surg_status status;
  bool supported; /* the other version, or `types`, already supports the node */
} plan;

static int dtype_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t && v) t = surg_value_declared_type(v);
  const int dtype = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
  return dtype > 0 && dtype < SURG_DTYPE_COUNT ? dtype : 0;
}

/* The group of an input or output; NULL: it has a literal type, or one of its own. */
static group *group_of(plan *p, bool output, size_t i) {
  const surg__param *formal = surg__schema_formal(p->from, output, i);
  const surg__type_param *t = formal ? surg__schema_type_param(p->from, formal) : NULL;
  const size_t k = t ? (size_t)(t - p->from->params) : MOST_GROUPS;
  if (k >= MOST_GROUPS || (formal->option == SURG__VARIADIC && !formal->homogeneous)) return NULL;
  return &p->groups[k];
}

static bool in_word(const surg_value *v) {
  surg_range r;
  return surg_value_range(v, &r) == SURG_OK && r.low >= INT32_MIN && r.high <= INT32_MAX;
}

/* Whether all values of a group fit 32 bits, and the result does not depend on the width. */
static bool fits_word(plan *p, const group *g) {
  if (!(p->maps & (INJECT | ORDER | WRAP | WHOLE)) || g->from != SURG_INT64) return false;
  for (size_t i = 0; i < surg_node_input_count(p->n); i++) {
    const surg_value *v = surg_node_input(p->n, i);
    if (v && group_of(p, false, i) == g && !in_word(v)) return false;
  }
  for (size_t i = 0; i < surg_node_output_count(p->n); i++) {
    const surg_value *v = surg_node_output(p->n, i);
    if (v && group_of(p, true, i) == g && !in_word(v)) return false;
  }
  return true;
}

static bool choose(plan *p, group *g) {
  if (p->param && (g->mask >> SURG_INT32 & 1) && cast_takes(p->opset, g->from, SURG_INT32) &&
      fits_word(p, g)) {
    g->to = SURG_INT32;
    return true;
  }
  for (const uint8_t *t = wider(g->from); *t; t++) {
    if (!(g->mask >> *t & 1) || !may(p->maps, g->from, *t, &g->shift)) continue;
    if (!cast_takes(p->opset, g->from, *t)) continue;
    g->to = *t;
    return true;
  }
  return false;
}

/* Whether the type restriction applies to this parameter: "T", or "0" for that of input 0. */
static bool is_told(const plan *p, const surg__param *formal) {
  const char *name = p->param;
  const surg__param *first = surg__schema_formal(p->to, false, 0);
  if (name && !strcmp(name, "0")) name = first ? first->type : NULL;
  return name && formal->type && !strcmp(formal->type, name);
}

static bool look(plan *p, bool output, size_t i) {
  const surg_value *v = output ? surg_node_output(p->n, i) : surg_node_input(p->n, i);
  const surg__param *formal = surg__schema_formal(p->to, output, i);
  if (!v) return true;
  group *g = group_of(p, output, i);
  const int dtype = dtype_of(v);
  surg__type_set set;
  if (!formal || !dtype) return false;
  surg__type_set_of(p->to, formal, &set);
  if (is_told(p, formal)) set.mask[0] &= p->types;
  if (!g) return set.mask[0] >> dtype & 1;
  g->mask = g->from ? g->mask & set.mask[0] : set.mask[0];
  g->given = g->given || !output;
  if (g->from && g->from != dtype) return false;
  g->from = dtype;
  return true;
}

/* Whether inputs and outputs that share a type parameter in the other version get the same type. */
static bool agree(plan *p, bool output, size_t i, int bound[MOST_GROUPS]) {
  const surg_value *v = output ? surg_node_output(p->n, i) : surg_node_input(p->n, i);
  const surg__param *formal = surg__schema_formal(p->to, output, i);
  const surg__type_param *t = v && formal ? surg__schema_type_param(p->to, formal) : NULL;
  const size_t k = t ? (size_t)(t - p->to->params) : MOST_GROUPS;
  if (k >= MOST_GROUPS || (formal->option == SURG__VARIADIC && !formal->homogeneous)) return true;
  const group *g = group_of(p, output, i);
  const int dtype = g && g->to ? g->to : dtype_of(v);
  if (bound[k] && bound[k] != dtype) return false;
  bound[k] = dtype;
  return true;
}

static bool plan_types(plan *p) {
  const size_t n_in = surg_node_input_count(p->n), n_out = surg_node_output_count(p->n);
  int bound[MOST_GROUPS] = {0};
  bool any = false;
  for (size_t i = 0; i < n_in; i++)
    if (!look(p, false, i)) return false;
  for (size_t i = 0; i < n_out; i++)
    if (!look(p, true, i)) return false;
  for (size_t k = 0; k < MOST_GROUPS; k++) {
    group *g = &p->groups[k];
    if (!g->from || (g->mask >> g->from & 1)) continue;
    if (!g->given || !choose(p, g)) return false;
    any = true;
  }
  for (size_t i = 0; i < n_in; i++)
    if (!agree(p, false, i, bound)) return false;
  for (size_t i = 0; i < n_out; i++)
    if (!agree(p, true, i, bound)) return false;
  p->supported = !any;
  return any;
}

static bool filled(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || !surg_type_has_rank(t)) return false;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    int64_t low, high;
    if (!surg_dim_range(surg_type_dim(t, i), &low, &high) || low < 1) return false;
  }
  return true;
}

/* --- building nodes --- */

static surg_node *add(plan *p, surg_node *before, const char *op_type, const char *stem) {
  surg_graph *g = surg_node_graph(p->n);
  surg__buf b;
  surg__buf_init(&b, p->ctx);
  surg__buf_printf(&b, "%s_%s", stem, op_type);
  surg_node *n = b.failed ? NULL : surg_graph_add_node(g, before, "", op_type, 1);
  const char *name = n ? surg_graph_fresh_name(g, b.p) : NULL;
  if (!name || surg_node_set_name(n, name) || !surg__vec_push(p->ctx, p->made, n)) n = NULL;
  surg__buf_free(&b);
  if (!n) p->status = SURG_ENOMEM;
  return n;
}

static surg_value *named(plan *p, surg_node *n, const char *stem) {
  const char *name = n ? surg_graph_fresh_name(surg_node_graph(n), stem) : NULL;
  if (!name || surg_value_rename(surg_node_output(n, 0), name)) {
    p->status = SURG_ENOMEM;
    return NULL;
  }
  return surg_node_output(n, 0);
}

static surg_node *cast(plan *p, surg_node *before, surg_value *x, int to, const char *stem) {
  surg_node *n = add(p, before, "Cast", stem);
  if (!n) return NULL;
  if (surg_node_set_int(n, "to", to) || surg_node_set_input(n, 0, x)) p->status = SURG_ENOMEM;
  return p->status ? NULL : n;
}

/* Adds the smallest int64 to x, which flips the highest bit. */
static surg_node *flip(plan *p, surg_node *before, surg_value *x, const char *stem) {
  const int64_t least = INT64_MIN;
  surg_graph *g = surg_node_graph(p->n);
  surg_tensor *t = surg_tensor_new_numbers(surg_graph_model(g), SURG_INT64, NULL, 0, &least, 1);
  const char *name = t ? surg_graph_fresh_name(g, "flip") : NULL;
  surg_value *c = name ? surg_graph_constant(g, before, name, t) : NULL;
  surg_node *n = c ? add(p, before, "Add", stem) : NULL;
  if (!n || surg_node_set_input(n, 0, x) || surg_node_set_input(n, 1, c)) {
    p->status = SURG_ENOMEM;
    return NULL;
  }
  return n;
}

static void widen_input(plan *p, size_t i, const group *g) {
  surg_value *x = surg_node_input(p->n, i);
  const char *stem = surg_value_name(x);
  surg_node *n = cast(p, p->n, x, g->to, stem);
  surg_value *v = n ? named(p, n, stem) : NULL;
  if (v && g->shift) {
    n = flip(p, p->n, v, stem);
    v = n ? named(p, n, stem) : NULL;
  }
  if (v && surg_node_set_input(p->n, i, v)) p->status = SURG_ENOMEM;
}

/* The node gets a new output; a Cast of it produces the old output. */
static void narrow_output(plan *p, size_t i, const group *g) {
  surg_value *y = surg_node_output(p->n, i);
  surg_node *after = surg_node_next(p->n);
  const char *stem = surg_value_name(y);
  surg_node *back = add(p, after, "Cast", stem);
  if (!back || surg_node_set_int(back, "to", g->from) || surg_node_take_output(back, 0, y)) {
    p->status = SURG_ENOMEM;
    return;
  }
  surg_value *v = surg_node_add_output(p->n, i);
  const char *name = v ? surg_graph_fresh_name(surg_node_graph(p->n), stem) : NULL;
  if (!name || surg_value_rename(v, name)) {
    p->status = SURG_ENOMEM;
    return;
  }
  if (g->shift) {
    surg_node *n = flip(p, back, v, stem);
    v = n ? named(p, n, stem) : NULL;
  }
  if (!v || surg_node_set_input(back, 0, v)) p->status = SURG_ENOMEM;
  surg__types_hold(back);
}

static void make(plan *p) {
  const size_t n_in = surg_node_input_count(p->n), n_out = surg_node_output_count(p->n);
  for (size_t i = 0; i < n_in && !p->status; i++) {
    const group *g = group_of(p, false, i);
    if (g && g->to && surg_node_input(p->n, i)) widen_input(p, i, g);
  }
  for (size_t i = 0; i < n_out && !p->status; i++) {
    const group *g = group_of(p, true, i);
    if (g && g->to && surg_node_output(p->n, i)) narrow_output(p, i, g);
  }
}

static surg_exactness exactness(const plan *p) {
  for (size_t k = 0; k < MOST_GROUPS; k++) {
    const group *g = &p->groups[k];
    const bool rounds = (p->maps & ROUND) && !(p->maps & EXACT);
    if (g->to && !surg__dtype_is_int(g->from) && !surg__dtype_is_int(g->to) && rounds)
      return SURG_ULP;
  }
  return SURG_EXACT;
}

static surg_status widen(plan *p, surg_exactness most, surg_exactness *used) {
  p->maps = maps_of(p->to);
  if (!p->maps || !surg__node_fits_in_form(p->n, p->from, p->to, NULL) || !plan_types(p))
    return SURG_EUNSUPPORTED;
  if ((p->maps & FILLED) && !filled(surg_node_input(p->n, 0))) return SURG_EUNSUPPORTED;
  p->made->count = 0;
  *used = exactness(p);
  if (*used > most) return SURG_EUNSUPPORTED;
  make(p);
  /* All existing values keep their types: other nodes of the step still read them. */
  surg__types_hold(p->n);
  return p->status;
}

surg_status surg__widen(surg_context *ctx, surg_node *n, const surg_schema *from,
                        const surg_schema *to, int64_t opset, surg_exactness most, surg__made *made,
                        surg_exactness *used) {
  plan p = {.ctx = ctx, .n = n, .from = from, .to = to, .opset = opset, .made = made};
  return widen(&p, most, used);
}

surg_status surg_node_wrap(surg_node *n, const char *param, uint64_t types, surg_exactness most,
                           surg_exactness *used) {
  const surg_graph *g = surg_node_graph(n);
  surg__made made = {0};
  plan p = {.ctx = surg_model_context(surg_graph_model(g)),
            .n = n,
            .from = surg_node_schema(n),
            .opset = surg_graph_opset(g, ""),
            .param = param,
            .types = (uint32_t)types,
            .made = &made};
  p.to = p.from;
  const surg_status s = p.from ? widen(&p, most, used) : SURG_EUNSUPPORTED;
  surg__vec_free(p.ctx, &made);
  return s == SURG_EUNSUPPORTED && p.supported ? SURG_ENOTFOUND : s;
}
