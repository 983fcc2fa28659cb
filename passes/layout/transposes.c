/* SPDX-License-Identifier: Apache-2.0 */
/* Moves Transposes across other nodes where that leaves fewer of them: downstream past consumers,
 * or upstream past producers. Two that meet are merged; inverse ones cancel.
 *
 *   before: a = Transpose <[0, 2, 3, 1]> (x)   b = Relu (a)   c = Add (b, k)
 *           y = Transpose <[0, 3, 1, 2]> (c)
 *   after:  b = Relu (x)   y = Add (b, k')
 *
 * From a Transpose on, a region of nodes grows while all inputs of a node have the same axis order,
 * or are constants that can be permuted. Each stage is scored by the number of Transposes that
 * remain, and the best one is applied if it saves any. If none does, the search is repeated with
 * nodes before the Transpose, and with new Transposes on values that enter the region; these count
 * as a cost. Remaining pairs of adjacent or equal Transposes are merged by `simplify` and `cse`.
 * The repeated search excludes sums, because runtimes match a normalization by the axes of its
 * sums. Never moved across: operators outside of ONNX, MatMul, and other operators that engines
 * match together with their Transposes.
 *
 * Needs sorted, types. Keeps sorted. Exact, but engines may add in another order in reductions and
 * Softmax: rounding, and not done with `exact`. */
#include "transposes.h"
#include "../util/give.h"
#include "../util/values.h"

#define NODES 64         /* most nodes of a region */
#define WIDE_NODES 24    /* the same for a wide region */
#define VALUES 256       /* most values of a region */
#define USES 64          /* most uses of a value that are examined; more end the region */
#define STEPS (1u << 20) /* most nodes examined per graph */

typedef struct region_value {
  surg_value *v, *now; /* the original, and the one in the new axis order */
  tr_order order;
  surg_node *seed; /* the Transpose that produces it, or NULL */
  bool lead;       /* enters the region untransposed; needs a new Transpose */
  size_t index;    /* index of the producer in `nodes`, and of its output */
  size_t output;
} region_value;

typedef struct region {
  surg_pass_ctx *p;
  surg_graph *g;
  surg_node *nodes[NODES];
  tr_order orders[NODES]; /* axis orders of the data inputs of the nodes */
  region_value values[VALUES];
  size_t n_nodes, n_values;
  bool exact;
  bool wide;    /* values that enter may get a Transpose; producers may join */
  size_t steps; /* nodes examined so far in this graph */
} region;

static region_value *find(region *r, const surg_value *v) {
  for (size_t i = 0; i < r->n_values; i++)
    if (r->values[i].v == v) return &r->values[i];
  return NULL;
}

/* The axis order after removing the Transpose n (the inverse of `perm`); false: n is no valid
 * Transpose of graph g. */
static bool order_of(const surg_node *n, const surg_graph *g, tr_order *out) {
  if (!n || surg_node_graph(n) != g || surg_node_op(n) != SURG_OP_Transpose ||
      surg_attr_ref(surg_node_attr(n, "perm")) || !surg_node_input(n, 0))
    return false;
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  tr_order p = {.n = perm ? count : t && surg_type_has_rank(t) ? surg_type_rank(t) : 0};
  uint32_t seen = 0;
  if (p.n < 2 || p.n > TR_RANK) return false;
  for (size_t i = 0; i < p.n; i++) {
    p.at[i] = perm ? (size_t)perm[i] : p.n - 1 - i;
    if (perm && (perm[i] < 0 || perm[i] >= (int64_t)p.n)) return false;
    seen |= UINT32_C(1) << p.at[i];
  }
  *out = tr_inverse(&p);
  return seen == (UINT32_C(1) << p.n) - 1;
}

/* --- nodes that can join --- */

static bool taken(const region *r, const surg_node *n) {
  for (size_t i = 0; i < r->n_nodes; i++)
    if (r->nodes[i] == n) return true;
  return false;
}

/* Whether a node of the region uses the value in its original order (a scalar may be used so). */
static bool read_as_is(const region *r, const region_value *in, const surg_use *u) {
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  return n && taken(r, n) && !(in && in->lead && tr_role_of(n, surg_use_index(u)) == TR_DATA);
}

/* Whether the node can be replaced: neither it nor the name of an output is protected or
 * annotated. */
static bool free_to_go(region *r, const surg_node *n) {
  if (surg_pass_keeps_node(r->p, n) || surg_node_output_count(n) == 0) return false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (!v || surg_value_is_pinned(v) || values_annotated(v) || surg_pass_keeps_value(r->p, v))
      return false;
    const region_value *in = find(r, v);
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
      if (surg_use_get_kind(u) == SURG_USE_SOFT || read_as_is(r, in, u)) return false;
  }
  return true;
}

static bool put_value(region *r, const region_value *v) {
  if (r->n_values == VALUES) return false;
  r->values[r->n_values++] = *v;
  return true;
}

/* Adds a Transpose as a seed of the region, and all equal ones of the same input: they can only
 * be removed together. */
static bool put_seed(region *r, surg_node *seed, const tr_order *order) {
  size_t seen = 0;
  if (!put_value(r, &(region_value){.v = surg_node_output(seed, 0), .order = *order, .seed = seed}))
    return false;
  for (const surg_use *u = surg_value_first_use(surg_node_input(seed, 0)); u && ++seen <= USES;
       u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    tr_order other;
    if (n == seed || !order_of(n, r->g, &other) || !tr_same(&other, order)) continue;
    surg_value *v = surg_node_output(n, 0);
    if (v && !find(r, v) && !put_value(r, &(region_value){.v = v, .order = other, .seed = n}))
      return false;
  }
  return true;
}

/* Whether v, an input of n from outside the region, can have this axis order: a constant, the
 * output of an equal Transpose (which joins the region), a scalar, or in a wide region any value
 * of that rank. */
static bool joins(region *r, const surg_node *n, surg_value *v, const tr_order *order) {
  const bool exact = tr_no_broadcast(n);
  const surg_type *t = surg_value_type(v);
  tr_order other;
  if (surg_value_settled(tr_stem(v))) return tr_constant_moves(v, order, exact);
  surg_node *from = surg_value_producer(v, NULL);
  if (order_of(from, r->g, &other) && tr_same(&other, order))
    return put_seed(r, from, &other);
  if (!exact && tr_one_element(v) && surg_type_rank(t) <= order->n) return true;
  return r->wide && t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) &&
         surg_type_rank(t) == order->n &&
         put_value(r, &(region_value){.v = v, .order = *order, .lead = true});
}

/* The axis order of the first input of n that is in the region; false: there is none. */
static bool first_order(region *r, const surg_node *n, tr_order *out) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const region_value *in = find(r, surg_node_input(n, i));
    if (!in) continue;
    *out = in->order;
    return true;
  }
  return false;
}

static bool inputs_follow(region *r, const surg_node *n, const tr_order *order) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    const region_value *in = v ? find(r, v) : NULL;
    if (!v) continue;
    if (tr_role_of(n, i) == TR_OTHER) {
      if (in) return false;
    } else if (in ? !tr_same(&in->order, order) : !joins(r, n, v, order)) {
      return false;
    }
  }
  return true;
}

/* Adds the outputs of n to the region; false: no room, or an order that conflicts. */
static bool put_outputs(region *r, const surg_node *n, const tr_order *order) {
  tr_order out;
  for (size_t k = 0; k < surg_node_output_count(n); k++) {
    surg_value *v = surg_node_output(n, k);
    region_value *in = find(r, v);
    if (!tr_output_order(n, order, k, &out) || (in && !tr_same(&in->order, &out))) return false;
    if (!in && !put_value(r, &(region_value){
                                .v = v, .order = out, .index = r->n_nodes, .output = k}))
      return false;
  }
  return true;
}

/* Adds n to the region with that order of its data inputs; false, unchanged, if it cannot move. */
static bool take(region *r, surg_node *n, const tr_order *order) {
  const size_t values = r->n_values;
  if (r->n_nodes == NODES || ++r->steps > STEPS || !tr_movable(n) ||
      ((r->exact || r->wide) && tr_sums(n)) || !free_to_go(r, n))
    return false;
  if (!inputs_follow(r, n, order) || !put_outputs(r, n, order)) {
    r->n_values = values;
    return false;
  }
  for (size_t k = 0; k < surg_node_output_count(n); k++) {
    region_value *v = find(r, surg_node_output(n, k));
    v->lead = false;
    v->index = r->n_nodes;
    v->output = k;
  }
  r->orders[r->n_nodes] = *order;
  r->nodes[r->n_nodes++] = n;
  return true;
}

static bool absorb(region *r, surg_node *n) {
  tr_order order;
  return first_order(r, n, &order) && take(r, n, &order);
}

/* Adds the producer of v to the region if it preserves the axis order. */
static bool absorb_before(region *r, const surg_value *v, const tr_order *order) {
  surg_node *n = surg_value_producer(v, NULL);
  const tr_order same = *order;
  tr_order out;
  return n && surg_node_graph(n) == r->g && !taken(r, n) && tr_movable(n) &&
         tr_output_order(n, &same, 0, &out) && tr_same(&out, &same) && take(r, n, &same);
}

/* --- score --- */

/* The consumers of a value outside the region: Transposes of this graph, whether any of them is
 * removed (`undone`; equal ones count once), and other consumers. */
typedef struct readers {
  bool others, transposes, undone;
} readers;

/* Who reads what a Transpose computes: nodes of the region, which will read its input in the
 * original order, and others. */
static void read_through(const region *r, const surg_node *n, bool *inside, bool *outside) {
  const surg_value *v = surg_node_output(n, 0);
  size_t seen = 0;
  *inside = *outside = false;
  for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
    const bool in = surg_use_get_kind(u) == SURG_USE_NODE && taken(r, surg_use_node(u));
    *inside |= in;
    *outside |= !in;
    if (++seen > USES) *inside = *outside = true;
    if (*inside && *outside) return;
  }
}

static readers read_by(const region *r, const region_value *v) {
  readers out = {0};
  size_t seen = 0;
  for (const surg_use *u = surg_value_first_use(v->v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    tr_order order;
    if (++seen > USES) return (readers){.others = true};
    if (n && taken(r, n)) continue;
    if (n && order_of(n, r->g, &order)) {
      bool inside, outside;
      read_through(r, n, &inside, &outside);
      out.transposes = true;
      out.others |= inside;
      /* It cancels the order if its own order is the inverse. */
      const tr_order undone = tr_inverse(&order);
      out.undone |= outside && tr_same(&undone, &v->order);
    } else {
      out.others = true;
    }
  }
  return out;
}

/* Whether a permutation leaves the value unchanged (identity, or one element). */
static bool same_anyway(const region_value *v) {
  return tr_identity(&v->order) || tr_one_element(v->v);
}

/* Whether an equal Transpose of v remains outside the region: `cse` merges the two, so removing
 * one of them saves nothing. */
static bool has_twin(const region *r, const surg_value *v, const tr_order *order,
                     const surg_node *one) {
  size_t seen = 0;
  for (const surg_use *u = surg_value_first_use(v); u && ++seen <= USES; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    tr_order other;
    bool seed = n == one;
    for (size_t i = 0; i < r->n_values && !seed; i++) seed = r->values[i].seed == n;
    if (!seed && order_of(n, r->g, &other) && tr_same(&other, order)) return true;
  }
  return false;
}

static bool goes(const region *r, const region_value *v, surg_node *by, const readers *read) {
  return !read->others && !read->transposes && !surg_pass_keeps_node(r->p, by) &&
         !surg_value_is_pinned(v->v) && !surg_pass_keeps_value(r->p, v->v) &&
         !has_twin(r, surg_node_input(by, 0), &v->order, by);
}

/* Whether seed i and all equal seeds can be removed; true for the first of them only. */
static bool seed_goes(const region *r, size_t i) {
  const region_value *v = &r->values[i];
  for (size_t k = 0; k < r->n_values; k++) {
    const region_value *w = &r->values[k];
    if (!w->seed || surg_node_input(w->seed, 0) != surg_node_input(v->seed, 0) ||
        !tr_same(&w->order, &v->order))
      continue;
    const readers read = read_by(r, w);
    if (k < i || !goes(r, w, w->seed, &read)) return false;
  }
  return true;
}

/* Cost of a new Transpose on an entering value: 0 if an equal one exists, or if the value is a
 * Transpose without other consumers (the two are merged); else 1. */
static int lead_cost(const region *r, const region_value *v, const readers *read) {
  surg_node *by = surg_value_producer(v->v, NULL);
  const tr_order perm = tr_inverse(&v->order);
  region_value made = *v;
  if (has_twin(r, v->v, &perm, NULL)) return 0;
  return order_of(by, r->g, &made.order) && goes(r, &made, by, read) ? 0 : 1;
}

/* The number of Transposes saved by moving the current region. */
static int worth(const region *r) {
  int fewer = 0;
  for (size_t i = 0; i < r->n_values; i++) {
    const region_value *v = &r->values[i];
    const readers by = read_by(r, v);
    if (v->lead)
      fewer -= lead_cost(r, v, &by);
    else if (v->seed)
      fewer += seed_goes(r, i);
    else
      fewer += by.undone - (by.others && !same_anyway(v));
  }
  return fewer;
}

/* The best stage of a region so far. */
typedef struct cut {
  int worth;
  size_t nodes, values;
} cut;

static void look(const region *r, cut *best) {
  const int now = worth(r);
  if (now <= best->worth) return;
  *best = (cut){.worth = now, .nodes = r->n_nodes, .values = r->n_values};
}

/* Adds the consumers of value i and, in a wide region, its producer; returns whether any was
 * added. */
static bool grow_at(region *r, size_t i, cut *best) {
  bool more = false;
  size_t seen = 0;
  for (const surg_use *u = surg_value_first_use(r->values[i].v); u && ++seen <= USES;
       u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (!n || surg_node_graph(n) != r->g || taken(r, n) || !absorb(r, n)) continue;
    more = true;
    look(r, best);
  }
  if (!r->values[i].lead || !absorb_before(r, r->values[i].v, &r->values[i].order)) return more;
  look(r, best);
  return true;
}

/* How the search begins: after the Transpose, or with its producer; the wide forms are tried if
 * the plain one saves nothing. */
typedef enum start { BEHIND, BEHIND_WIDE, BEFORE_WIDE } start;

static bool begin(region *r, surg_node *t, const tr_order *order, start from) {
  const tr_order perm = tr_inverse(order);
  r->n_nodes = r->n_values = 0;
  r->wide = from != BEHIND;
  if (from == BEFORE_WIDE) return absorb_before(r, surg_node_input(t, 0), &perm);
  return put_seed(r, t, order);
}

/* Grows the region from a Transpose and cuts it back to the best stage; returns the saving. */
static int grow(region *r, surg_node *t, const tr_order *order, start from) {
  const size_t most = from == BEHIND ? NODES : WIDE_NODES;
  cut best = {0};
  if (!begin(r, t, order, from)) return 0;
  look(r, &best);
  for (bool more = true; more && r->n_nodes < most;) {
    more = false;
    for (size_t i = 0; i < r->n_values && r->n_nodes < most; i++) more |= grow_at(r, i, &best);
  }
  r->n_nodes = best.nodes;
  r->n_values = best.values;
  for (size_t i = 0; i < r->n_values; i++) /* its producer was cut off */
    if (!r->values[i].seed && r->values[i].index >= r->n_nodes) r->values[i].lead = true;
  return best.worth;
}

/* --- applying it --- */

static surg_node *add_transpose(region *r, surg_node *before, surg_value *v, const tr_order *perm,
                                size_t outputs) {
  int64_t ints[TR_RANK];
  for (size_t i = 0; i < perm->n; i++) ints[i] = (int64_t)perm->at[i];
  surg_node *t = surg_graph_add_node(r->g, before, "", "Transpose", outputs);
  if (!t || surg_node_set_ints(t, "perm", ints, perm->n) || surg_node_set_input(t, 0, v))
    return NULL;
  return t;
}

/* The permuted entering value. If it is a Transpose itself, one merged Transpose is made. */
static surg_value *lead_now(region *r, surg_node *before, const region_value *v) {
  surg_node *by = surg_value_producer(v->v, NULL);
  tr_order perm = v->order, other;
  if (!order_of(by, r->g, &other))
    return surg_node_output(add_transpose(r, before, v->v, &perm, 1), 0);
  other = tr_inverse(&other);
  for (size_t i = 0; i < perm.n; i++) perm.at[i] = other.at[v->order.at[i]];
  return surg_node_output(add_transpose(r, before, surg_node_input(by, 0), &perm, 1), 0);
}

static surg_value *input_now(region *r, surg_node *made, surg_node *n, size_t i,
                             const tr_order *order) {
  surg_value *v = surg_node_input(n, i);
  region_value *in = v ? find(r, v) : NULL;
  if (in && in->lead && !in->now) in->now = lead_now(r, made, in);
  if (in) return in->seed ? surg_node_input(in->seed, 0) : in->now;
  if (!v || tr_role_of(n, i) == TR_OTHER || !surg_value_settled(tr_stem(v))) return v;
  return tr_constant(r->p, made, v, order);
}

/* Creates the copy of node k that reads the inputs without Transposes. */
static surg_status make(region *r, size_t k) {
  surg_node *n = r->nodes[k];
  const size_t outputs = surg_node_output_count(n);
  surg_node *made =
      surg_graph_add_node(r->g, n, surg_node_domain(n), surg_node_op_type(n), outputs);
  surg_status s = made ? surg_node_set_name(made, surg_node_name(n)) : SURG_ENOMEM;
  for (size_t i = 0; i < surg_node_attr_count(n) && !s; i++)
    s = surg_node_copy_attr(made, surg_node_attr_at(n, i));
  for (size_t i = 0; i < surg_node_input_count(n) && !s; i++) {
    surg_value *v = input_now(r, made, n, i, &r->orders[k]);
    if (!v && surg_node_input(n, i)) return SURG_ENOMEM;
    if (v) s = surg_node_set_input(made, i, v);
  }
  if (!s) s = tr_rewrite(n, made, &r->orders[k]);
  for (size_t i = 0; i < r->n_values && !s; i++) {
    region_value *v = &r->values[i];
    if (v->seed || v->lead || v->index != k) continue;
    v->now = surg_node_output(made, v->output);
  }
  return s;
}

/* A Transpose outside the region that cancels the order of v, or NULL. */
static surg_node *undoing(const region *r, const region_value *v) {
  for (const surg_use *u = surg_value_first_use(v->v); u; u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    tr_order order;
    if (!n || taken(r, n) || !order_of(n, r->g, &order) || !surg_node_output(n, 0)) continue;
    const tr_order undone = tr_inverse(&order);
    if (tr_same(&undone, &v->order)) return n;
  }
  return NULL;
}

/* Removes cancelling Transposes at once: the search would start another region at them. */
static surg_status undo(region *r, region_value *v) {
  surg_node *n;
  for (int i = 0; i < USES && (n = undoing(r, v)) != NULL; i++) {
    const surg_pass_result given = give_result(r->p, n, v->now, "transposes undone");
    if (given == SURG_PASS_FAILED) return SURG_ENOMEM;
    if (given == SURG_PASS_UNCHANGED) break;
  }
  return SURG_OK;
}

/* Restores the original order of v for consumers outside the region, with a Transpose if needed. */
static surg_status hand_out(region *r, region_value *v) {
  const surg_status undone = undo(r, v);
  const readers by = read_by(r, v);
  surg_node *n = r->nodes[v->index];
  if (undone) return undone;
  if (!by.others && !by.transposes) return SURG_OK;
  /* undo() may have given v->now the name of an output; then an Identity keeps both names. */
  const surg_status same = same_anyway(v) ? give_uses(r->p, n, v->v, v->now) : SURG_EUNSUPPORTED;
  if (same != SURG_EUNSUPPORTED) return same;
  const tr_order perm = tr_inverse(&v->order);
  surg_node *t = add_transpose(r, n, v->now, &perm, 0);
  return t ? surg_node_take_output(t, 0, v->v) : SURG_ENOMEM;
}

/* The indices of the nodes in graph order: a node that joined later may be earlier in the graph. */
static void sort_nodes(const region *r, size_t *order) {
  for (size_t k = 0; k < r->n_nodes; k++) {
    size_t i = k;
    for (; i > 0 && surg_node_before(r->nodes[k], r->nodes[order[i - 1]]); i--)
      order[i] = order[i - 1];
    order[i] = k;
  }
}

static surg_status move(region *r) {
  size_t order[NODES];
  surg_status s = SURG_OK;
  sort_nodes(r, order);
  for (size_t k = 0; k < r->n_nodes && !s; k++) s = make(r, order[k]);
  for (size_t i = 0; i < r->n_values && !s; i++)
    if (!r->values[i].seed && !r->values[i].lead) s = hand_out(r, &r->values[i]);
  for (size_t k = 0; k < r->n_nodes; k++)
    if (!s && tr_sums(r->nodes[k])) surg_pass_used(r->p, SURG_ROUNDING);
  for (size_t k = r->n_nodes; k-- > 0 && !s;) s = surg_node_erase(r->nodes[order[k]]);
  for (size_t i = 0; i < r->n_values && !s; i++) {
    surg_node *t = r->values[i].seed;
    if (r->values[i].lead) t = surg_value_producer(r->values[i].v, NULL);
    if (!t || surg_node_erased(t)) continue; /* undo() removes a seed that cancels another order */
    if (r->values[i].lead && surg_node_op(t) != SURG_OP_Transpose) continue;
    if (!surg_value_first_use(r->values[i].v) && !surg_pass_keeps_node(r->p, t))
      s = surg_node_erase(t);
  }
  return s;
}

/* The last node before n and before the region that is not removed. */
static surg_node *stays_before(region *r, const surg_node *n) {
  for (size_t k = 0; k < r->n_nodes; k++)
    if (surg_node_before(r->nodes[k], n)) n = r->nodes[k];
  surg_node *before = surg_node_prev(n);
  for (bool goes = true; before && goes;) {
    goes = taken(r, before);
    for (size_t i = 0; i < r->n_values && !goes; i++) goes = r->values[i].seed == before;
    if (goes) before = surg_node_prev(before);
  }
  return before;
}

static size_t transposes(const surg_graph *g) {
  size_t count = 0;
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    count += surg_node_op(n) == SURG_OP_Transpose;
  return count;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  surg_pass_used(p, SURG_EXACT);
  if (!give_builtin(g, "Transpose") || !surg_graph_takes_constants(g) ||
      !surg_graph_has_op(g, SURG_OP_Transpose))
    return result;
  region *r = surg_pass_alloc(p, sizeof *r);
  if (!r) return SURG_PASS_FAILED;
  r->p = p;
  r->g = g;
  r->exact = surg_pass_bool(p, "exact") || !surg_pass_allows(p, SURG_ROUNDING);
  size_t moves = transposes(g); /* each leaves fewer, so there cannot be more */
  for (surg_node *n = surg_graph_first_node(g), *next; n && moves > 0; n = next) {
    tr_order order;
    next = surg_node_next(n);
    if (!order_of(n, g, &order) || !surg_node_output(n, 0)) continue;
    int fewer = grow(r, n, &order, BEHIND);
    if (fewer < 1) fewer = grow(r, n, &order, BEHIND_WIDE);
    if (fewer < 1) fewer = grow(r, n, &order, BEFORE_WIDE);
    if (fewer < 1 || !surg_pass_allow(p)) continue;
    surg_node *before = stays_before(r, n);
    if (move(r) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "transposes fewer", (uint64_t)fewer);
    result = SURG_PASS_CHANGED;
    moves--;
    next = before ? surg_node_next(before) : surg_graph_first_node(g);
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "exact", "false", "do not move past sums: rounding may differ"),
};

const surg_pass surg__pass_transposes = {
    SURG_PASS_HEAD(GRAPH, "transposes", "move Transposes past other nodes where fewer are left"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
