/* SPDX-License-Identifier: Apache-2.0 */
/* Why slots must stay: ranges of values, constants, attributes, and what operators are
 * (lib/schema/traits.table). */
#include <assert.h>
#include <math.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <string.h>

#include "../util/domains.h"
#include "precision.h"

#define NO_LIMIT 3e38 /* what only floats near the largest one pass: no bound */

void prec_pin_value(prec *c, prec_value *x, prec_why why) {
  if (x->why == PREC_FREE) x->why = (uint8_t)why;
  if (x->made != PREC_NONE) prec_pin(c, x->made, why);
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    prec_pin(c, c->reads[r].slot, why);
}

bool prec_holds(const prec *c, const prec_value *x) {
  const surg_node *n = surg_value_producer(x->v, NULL);
  if (x->dtype == c->kind->to) return true;
  const prec_value *from =
      n && surg_node_op(n) == SURG_OP_Cast ? prec_find(c, surg_node_input(n, 0)) : NULL;
  return from && from->dtype == c->kind->to && !c->kind->integers;
}

/* --- constants --- */

/* Whether an element of this input matters alone, however small: a divisor. */
static bool divides(const surg_node *n, size_t i) {
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  const uint32_t flags = s ? surg_schema_flags(s) : 0;
  return (flags & SURG_SCHEMA_ELEMENTWISE) && !(flags & SURG_SCHEMA_COMMUTATIVE) && i == 1 &&
         surg_schema_max_inputs(s) == 2;
}

static prec_why extent_fault(const surg_float_limits *l, const surg_extent *e) {
  if (e->largest > l->top) return PREC_LARGE;
  return e->largest > 0 && e->largest < l->normal ? PREC_SMALL : PREC_FREE;
}

static prec_why constant_fault(const prec *c, const surg_extent *e) {
  return extent_fault(&c->limits, e);
}

static bool vanishes(const surg_float_limits *l, const surg_extent *e) {
  return e->least > 0 && e->least <= l->zero;
}

bool prec_loses(surg_model *m, const surg_node *n, size_t i, int to) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  surg_float_limits l = {.size = sizeof l};
  surg_extent e = {.size = sizeof e};
  if (t && surg_tensor_dtype(t) == SURG_INT32) t = surg_tensor_cast(m, t, SURG_INT64);
  if (!t || surg_dtype_limits(to, &l) || surg_tensor_extent(t, &e)) return false;
  return extent_fault(&l, &e) != PREC_FREE || (vanishes(&l, &e) && divides(n, i));
}

/* Whether a constant is a limit that no float passes, such as the maximum of Clip in models of
 * ReLU: as an infinity it limits no more and no less. */
static bool no_limit(const prec *c, const prec_value *x, const surg_extent *e) {
  if (!c->kind->small || e->largest < NO_LIMIT || surg_tensor_count(surg_value_constant(x->v)) != 1)
    return false;
  for (uint32_t i = x->reads; i != PREC_NONE; i = c->reads[i].next) {
    const prec_read *r = &c->reads[i];
    const int op = r->n ? surg_node_op(r->n) : -1;
    const bool above = op == SURG_OP_Min || (op == SURG_OP_Clip && r->index == 2);
    const bool below = op == SURG_OP_Max || (op == SURG_OP_Clip && r->index == 1);
    if (e->high > 0 ? !above : !below) return false;
  }
  return true;
}

static void pin_constant(prec *c, prec_value *x, const surg_tensor *t, prec_value **stack) {
  surg_extent e = {.size = sizeof e};
  if (surg_tensor_extent(t, &e) != SURG_OK) {
    x->absent = true;
    prec_pin_value(c, x, PREC_ABSENT);
    return;
  }
  x->bounded = !e.inf && !e.nan;
  x->bound = e.largest;
  const prec_why why = no_limit(c, x, &e) ? PREC_FREE : constant_fault(c, &e);
  if (c->saturate) {
    if (why == PREC_LARGE) prec_pin_results(c, x, stack);
    return;
  }
  if (why != PREC_FREE) prec_pin_value(c, x, why);
  if (why == PREC_LARGE) prec_pin_results(c, x, stack);
  if (why == PREC_SMALL && surg_tensor_count(t) == 1 && e.high > 0)
    prec_pin_epsilon(c, x, e.high, stack);
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    if (vanishes(&c->limits, &e) && divides(c->reads[r].n, c->reads[r].index))
      prec_pin(c, c->reads[r].slot, PREC_SMALL);
}

/* The default of an input moves with it. Its elements are no bound: a caller may give others. */
static void pin_default(prec *c, prec_value *x) {
  const surg_tensor *t = surg_value_constant(x->v) ? NULL : surg_value_initializer(x->v);
  surg_extent e = {.size = sizeof e};
  if (!t || c->saturate) return;
  if (surg_tensor_extent(t, &e) != SURG_OK) {
    prec_pin_value(c, x, PREC_ABSENT);
  } else if (c->kind->integers) {
    if (e.low < -c->limits.top - 1 || e.high > c->limits.top) prec_pin_value(c, x, PREC_UNPROVEN);
  } else if (constant_fault(c, &e) != PREC_FREE) {
    prec_pin_value(c, x, constant_fault(c, &e));
  }
}

/* --- ranges --- */

static void pin_bound(prec *c, prec_value *x, prec_value **stack) {
  surg_range r;
  if (x->clamped) return; /* what is proven is of the numbers before */
  if (surg_value_range(x->v, &r) != SURG_OK) return;
  const double bound = fmax(fabs(r.low), fabs(r.high));
  if (!(bound < (c->kind->small ? NO_LIMIT : HUGE_VAL))) return;
  x->bounded = !r.nan;
  x->bound = bound;
  if (bound > c->limits.top) prec_pin_value(c, x, PREC_BOUND);
  /* All of it is beyond the range, as a constant would be. */
  if (!c->saturate && (r.low > c->limits.top || r.high < -c->limits.top))
    prec_pin_results(c, x, stack);
  if (bound > 0 && bound < c->limits.normal) prec_pin_value(c, x, PREC_TINY);
}

/* Whether every axis of the data of a node is proven to be shorter than 2^31. */
static bool short_axes(const prec *c, const surg_node *n) {
  const surg_type *t = prec_type(surg_node_input(n, 0));
  if (!surg_type_has_rank(t)) return false;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    int64_t low, high;
    if (!surg_dim_range(surg_type_dim(t, i), &low, &high) || (double)high > c->limits.top)
      return false;
  }
  return true;
}

/* A constant beyond the range: readers that clamp it do not notice. */
static void pin_sentinel(prec *c, const prec_value *x) {
  for (uint32_t i = x->reads; i != PREC_NONE; i = c->reads[i].next) {
    const prec_read *r = &c->reads[i];
    if (!r->n || !surg_schema_clamps(surg_node_schema(r->n), r->index))
      prec_pin(c, r->slot, PREC_UNPROVEN);
    else if (!short_axes(c, r->n))
      c->unproven_axis = true;
  }
}

/* Integers move only if they are proven to fit. */
static void pin_integers(prec *c, prec_value *x) {
  const surg_tensor *t = x->made == PREC_NONE ? surg_value_constant(x->v) : NULL;
  surg_extent e = {.size = sizeof e};
  surg_range r = {0};
  if (t ? surg_tensor_extent(t, &e) != SURG_OK : surg_value_range(x->v, &r) != SURG_OK) {
    prec_pin_value(c, x, PREC_UNPROVEN);
    return;
  }
  x->bounded = true;
  x->bound = t ? e.largest : fmax(fabs(r.low), fabs(r.high));
  if (t && (e.low < -c->limits.top - 1 || e.high > c->limits.top)) pin_sentinel(c, x);
  if (!t && (r.low < -c->limits.top - 1 || r.high > c->limits.top))
    prec_pin_value(c, x, PREC_UNPROVEN);
}

/* Constants of any size that are converted unread, to a wider type: whether they are there. */
static void pin_absent(prec *c, prec_value *x, const surg_tensor *t) {
  uint64_t hash;
  x->absent = surg_tensor_is_external(t) && surg_tensor_hash(t, &hash) != SURG_OK;
  if (x->absent) prec_pin_value(c, x, PREC_ABSENT);
}

static void pin_value(prec *c, prec_value *x, prec_value **stack) {
  const surg_tensor *t = x->made == PREC_NONE ? surg_value_constant(x->v) : NULL;
  if (c->kind->integers || c->kind->narrows) pin_default(c, x);
  if (c->kind->integers)
    pin_integers(c, x);
  else if (t && c->kind->narrows)
    pin_constant(c, x, t, stack);
  else if (c->kind->narrows)
    pin_bound(c, x, stack);
  else if (t)
    pin_absent(c, x, t);
}

/* Constants first: what follows from clamped ones is known then. */
static void pin_values(prec *c) {
  prec_value **stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *stack);
  if (!stack) c->failed = true;
  for (int computed = 0; computed < 2 && stack; computed++)
    for (uint32_t i = 0; i < c->n_values; i++) {
      prec_value *x = &c->values[i];
      if ((x->made == PREC_NONE) == (computed == 0) && !prec_holds(c, x)) pin_value(c, x, stack);
    }
}

/* --- attributes --- */

static prec_why number_fault(const prec *c, double v) {
  const double size = fabs(v);
  if (!(size < HUGE_VAL) || size == 0) return PREC_FREE;
  if (size > c->limits.top) return PREC_ATTR_LARGE;
  return size <= c->limits.zero ? PREC_ATTR_SMALL : PREC_FREE;
}

static prec_why tensor_fault(const prec *c, const surg_tensor *t) {
  surg_extent e = {.size = sizeof e};
  if (surg_tensor_extent(t, &e) != SURG_OK) return PREC_FREE;
  const prec_why why = constant_fault(c, &e);
  return why == PREC_LARGE ? PREC_ATTR_LARGE : why == PREC_SMALL ? PREC_ATTR_SMALL : PREC_FREE;
}

/* Why the numbers of an attribute cannot be of the new type. */
static prec_why attr_fault(const prec *c, const surg_attr *a) {
  size_t count = 0;
  prec_why why = PREC_FREE;
  if (surg_attr_ref(a)) return PREC_FREE;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_FLOAT:
      return number_fault(c, (double)surg_attr_float(a));
    case SURG_ATTR_FLOATS: {
      const float *f = surg_attr_floats(a, &count);
      for (size_t i = 0; i < count && why == PREC_FREE; i++) why = number_fault(c, (double)f[i]);
      return why;
    }
    case SURG_ATTR_TENSOR:
      return tensor_fault(c, surg_attr_tensor(a, 0));
    default:
      return PREC_FREE;
  }
}

static prec_why attrs_fault(const prec *c, const surg_node *n) {
  prec_why why = PREC_FREE;
  for (size_t i = 0; i < surg_node_attr_count(n) && why == PREC_FREE; i++)
    why = attr_fault(c, surg_node_attr_at(n, i));
  return why;
}

/* Whether numbers of attributes of n only limit its results. */
static bool limits(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Clip || op == SURG_OP_LSTM || op == SURG_OP_GRU || op == SURG_OP_RNN;
}

/* Pins the results of a node with an attribute beyond the range, such as ConstantOfShape, and what
 * is computed from them, or marks them if the attribute is clamped. */
static void pin_attr_results(prec *c, const surg_node *n, prec_value **stack) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    prec_value *x = prec_find(c, surg_node_output(n, i));
    surg_range r;
    if (!x || x->why != PREC_FREE || prec_holds(c, x)) continue;
    if (surg_value_range(x->v, &r) == SURG_OK && r.low >= -c->limits.top && r.high <= c->limits.top)
      continue;
    x->clamped = c->saturate;
    if (!c->saturate) prec_pin_value(c, x, PREC_BOUND);
    prec_pin_results(c, x, stack);
  }
}

/* Likewise all such nodes, also those whose types the operator fixes. */
static void pin_far_attrs(prec *c) {
  prec_value **stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *stack);
  if (!stack) c->failed = true;
  for (uint32_t i = 0; i < c->n_slots && stack; i++) {
    const surg_node *n = c->slots[i].n;
    if (n && surg_node_schema(n) && !limits(n) && attrs_fault(c, n) == PREC_ATTR_LARGE)
      pin_attr_results(c, n, stack);
  }
}

/* --- operators --- */

/* Whether a value that is computed at run time is dequantized. */
static bool dequantized(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  return n && surg_schema_narrow(surg_node_schema(n)) == SURG_NARROW_DEQUANTIZE &&
         !surg_value_constant(surg_node_input(n, 0));
}

/* Weights that are stored in integers do not make their reader a quantized node. */
static bool in_quantized_region(const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (dequantized(surg_node_input(n, i))) return true;
  return false;
}

static bool chosen(const prec *c, const surg_node *n) {
  surg_pass_ctx *p = c->p;
  if (c->mixed) return false;
  const size_t nodes = surg_pass_list_count(p, "node");
  if (!surg_pass_list_count(p, "op") && !nodes) return true;
  if (nodes && table_has(&c->chosen, n)) return true;
  return domains_listed(p, "op", surg_node_domain(n), surg_node_op_type(n));
}

static prec_why user_why(const prec *c, const surg_node *n) {
  if (surg_pass_keeps_node(c->p, n)) return PREC_KEPT;
  return chosen(c, n) ? PREC_FREE : PREC_UNCHOSEN;
}

/* Whether several elements are combined in one element of the result. */
static bool accumulates(const surg_node *n) {
  const surg_str how = surg_node_string(n, "reduction", "none");
  return how.n != 4 || memcmp(how.p, "none", 4) != 0;
}

/* Whether a node squares a value for a sum: it is computed with that. */
static bool squares(const surg_node *n) {
  const surg_value *y = surg_node_output(n, 0);
  if (surg_node_op(n) != SURG_OP_Mul || surg_node_input(n, 0) != surg_node_input(n, 1))
    return false;
  for (const surg_use *u = surg_value_first_use(y); u; u = surg_use_next(u)) {
    const surg_node *by = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (by && surg_node_schema(by) && surg_schema_narrow(surg_node_schema(by)) == SURG_NARROW_WIDE)
      return true;
  }
  return false;
}

/* Whether only a target can tell that an engine computes n in the new type. */
static bool is_rare(const prec *c, const surg_node *n) {
  return c->kind->small && !c->target && !c->mixed &&
         (surg_schema_narrow(surg_node_schema(n)) == SURG_NARROW_RARE || accumulates(n));
}

/* Why a node stays by its nature. */
static prec_why node_why(const prec *c, const surg_node *n) {
  const surg_narrow kind = surg_schema_narrow(surg_node_schema(n));
  if (kind == SURG_NARROW_BITS) return PREC_BITS;
  if (surg_node_nondeterministic(n)) return PREC_RANDOM;
  if (c->kind->integers) {
    const bool passes = surg_node_subgraph(n, 0) || surg_schema_fits_word(surg_node_schema(n));
    return passes ? PREC_FREE : PREC_WIDTH;
  }
  if (!c->kind->narrows) return PREC_FREE;
  if (is_rare(c, n)) return PREC_RARE;
  if (!c->aggressive) {
    const bool weights = kind == SURG_NARROW_DEQUANTIZE && !dequantized(surg_node_output(n, 0));
    if (kind == SURG_NARROW_WIDE || kind == SURG_NARROW_RARE || accumulates(n) || squares(n))
      return PREC_SENSITIVE;
    if (kind == SURG_NARROW_QUANTIZE || (kind == SURG_NARROW_DEQUANTIZE && !weights))
      return PREC_QUANTIZED;
    if (in_quantized_region(n)) return PREC_QUANTIZED;
    if (prec_makes_integers(n)) return PREC_INTEGER;
  }
  return c->saturate ? PREC_FREE : attrs_fault(c, n);
}

/* Pins nodes of mixed types with a computed input of the old type: its range is not known. */
static void pin_mixed(prec *c) {
  for (uint32_t i = 0; i < c->n_values; i++) {
    const prec_value *x = &c->values[i];
    if (x->made == PREC_NONE || x->dtype == c->kind->to) continue;
    if (c->slots[prec_root(c, x->made)].holds) continue; /* its own node has mixed types */
    for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
      if (c->slots[prec_root(c, c->reads[r].slot)].holds) prec_pin(c, c->reads[r].slot, PREC_BOUND);
  }
}

void prec_pins(prec *c) {
  const bool later = surg_model_ir_version(c->m) < surg_dtype_ir_version(c->kind->to);
  if (!prec_flow(c)) {
    c->failed = true;
    return;
  }
  for (uint32_t i = 0; i < c->n_slots; i++) {
    const prec_slot *s = &c->slots[i];
    const prec_slot *root = &c->slots[prec_root(c, i)];
    if (later) prec_pin(c, i, PREC_IR);
    if (!s->n) continue;
    prec_why why = user_why(c, s->n);
    if (why == PREC_FREE && !root->holds) why = node_why(c, s->n);
    if (why != PREC_FREE) prec_pin(c, i, why);
  }
  if (c->kind->narrows && c->saturate) pin_far_attrs(c);
  pin_values(c);
  if (c->kind->narrows && !c->saturate) pin_far_attrs(c);
  if (c->mixed) pin_mixed(c);
  if (c->kind->narrows && !c->aggressive && !prec_pin_choices(c)) c->failed = true;
  if (c->kind->small && !c->aggressive && !prec_pin_states(c)) c->failed = true;
}
