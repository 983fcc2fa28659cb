/* SPDX-License-Identifier: Apache-2.0 */
/* Moves Transposes behind the nodes that read them, or before those that make what they read,
 * where fewer of them are left then: two of one kind that meet become one, and one that meets its
 * inverse goes with it.
 *
 *   before: a = Transpose <[0, 2, 3, 1]> (x)   b = Relu (a)   c = Add (b, k)
 *           y = Transpose <[0, 3, 1, 2]> (c)
 *   after:  b = Relu (x)   y = Add (b, k')
 *
 * From a Transpose on, nodes are taken along as long as all that they read is of the same order,
 * or a constant that can be written so. Of all the places where this may end the one with the
 * fewest Transposes is taken, if that is fewer than there were. Where it is not, nodes before the
 * first one are tried as well, and values from outside may get a Transpose of their own, which
 * counts. What then stands behind another Transpose, or beside an equal one, is made one with it
 * by the rules of `simplify` and `cse`. Sums are not taken along then: runtimes recognize a
 * normalization by the axes of its sums. Never moved behind: nodes outside of ONNX, MatMul and
 * what else engines know by its Transposes.
 *
 * Needs sorted, types. Keeps sorted. Exact, but engines may add up in another order in reductions
 * and Softmax: rounding, and not done with `exact`. */
#include "transposes.h"
#include "../util/give.h"
#include "../util/values.h"

#define NODES 64         /* that are taken along */
#define WIDE_NODES 24    /* the same where values from outside may get a Transpose */
#define VALUES 256       /* of a region */
#define USES 64          /* of a value that are looked at; one that has more ends the region */
#define STEPS (1u << 20) /* nodes looked at in a graph */

typedef struct region_value {
  surg_value *v, *now; /* as it was, and in the other order */
  tr_order order;
  surg_node *seed; /* the Transpose that makes it; NULL: a node of the region, or: */
  bool lead;       /* it comes from outside as it is, and gets a Transpose */
  size_t index;    /* which node, and which output of it */
  size_t output;
} region_value;

typedef struct region {
  surg_pass_ctx *p;
  surg_graph *g;
  surg_node *nodes[NODES];
  tr_order orders[NODES]; /* of what the node reads */
  region_value values[VALUES];
  size_t n_nodes, n_values;
  bool exact;
  bool wide;    /* values from outside may get a Transpose, and nodes before may come along */
  size_t steps; /* of the graph */
} region;

static region_value *find(region *r, const surg_value *v) {
  for (size_t i = 0; i < r->n_values; i++)
    if (r->values[i].v == v) return &r->values[i];
  return NULL;
}

/* The order that a Transpose leaves to what it reads; false: it is no such node. */
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

/* --- what can be taken along --- */

static bool taken(const region *r, const surg_node *n) {
  for (size_t i = 0; i < r->n_nodes; i++)
    if (r->nodes[i] == n) return true;
  return false;
}

/* Whether a node taken along before reads the value as it was, as one element can be read. */
static bool read_as_is(const region *r, const region_value *in, const surg_use *u) {
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  return n && taken(r, n) && !(in && in->lead && tr_role_of(n, surg_use_index(u)) == TR_DATA);
}

/* Whether the node may be made anew: nobody holds on to it or to a name of what it gives. */
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

/* The Transpose becomes a seed, and so do those that do the same: only together they can go. */
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

/* Whether input i, which is not of the region, is or can be of that order; a Transpose that makes
 * it so joins the region. */
static bool joins(region *r, const surg_node *n, surg_value *v, const tr_order *order) {
  const bool exact = tr_no_broadcast(n);
  const surg_type *t = surg_value_type(v);
  tr_order other;
  if (surg_value_settled(v)) return tr_constant_moves(v, order, exact);
  surg_node *from = surg_value_producer(v, NULL);
  if (order_of(from, r->g, &other) && tr_same(&other, order))
    return put_seed(r, from, &other);
  if (!exact && tr_one_element(v) && surg_type_rank(t) <= order->n) return true;
  return r->wide && t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) &&
         surg_type_rank(t) == order->n &&
         put_value(r, &(region_value){.v = v, .order = *order, .lead = true});
}

/* The order of the first input of the region; false: there is none. */
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

/* What the node makes, in its place of the region; false: there is no more room. */
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

/* Takes the node along, which reads its data in that order, if that can be done. */
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

/* The same for the node that makes v, where its data have the axes of v. */
static bool absorb_before(region *r, const surg_value *v, const tr_order *order) {
  surg_node *n = surg_value_producer(v, NULL);
  const tr_order same = *order;
  tr_order out;
  return n && surg_node_graph(n) == r->g && !taken(r, n) && tr_movable(n) &&
         tr_output_order(n, &same, 0, &out) && tr_same(&out, &same) && take(r, n, &same);
}

/* --- what it is worth --- */

/* The readers of a value that stay: those that are Transposes of the graph, whether some of them
 * (equal ones: they count as one) go then, and others. */
typedef struct readers {
  bool others, transposes, undone;
} readers;

static readers read_by(const region *r, const region_value *v) {
  readers out = {0};
  size_t seen = 0;
  for (const surg_use *u = surg_value_first_use(v->v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    tr_order order;
    if (++seen > USES) return (readers){.others = true};
    if (n && taken(r, n)) continue;
    if (n && order_of(n, r->g, &order)) {
      out.transposes = true;
      /* It undoes the order when what it leaves to its input is the inverse. */
      const tr_order undone = tr_inverse(&order);
      out.undone |= tr_same(&undone, &v->order);
    } else {
      out.others = true;
    }
  }
  return out;
}

/* Whether a value is as it was in any order. */
static bool same_anyway(const region_value *v) {
  return tr_identity(&v->order) || tr_one_element(v->v);
}

/* Whether another Transpose does the same and stays: `cse` makes the two one, so neither is worth
 * anything alone. */
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

/* Whether seed i goes with all that are the same; the first of them counts for all. */
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

/* A value from outside that is a Transpose has one instead of it, if nobody else reads it. */
static int lead_cost(const region *r, const region_value *v, const readers *read) {
  surg_node *by = surg_value_producer(v->v, NULL);
  const tr_order perm = tr_inverse(&v->order);
  region_value made = *v;
  if (has_twin(r, v->v, &perm, NULL)) return 0;
  return order_of(by, r->g, &made.order) && goes(r, &made, by, read) ? 0 : 1;
}

/* How many Transposes fewer there are when the region as it is now moves before them. */
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

/* The best that was seen of a region. */
typedef struct cut {
  int worth;
  size_t nodes, values;
} cut;

static void look(const region *r, cut *best) {
  const int now = worth(r);
  if (now <= best->worth) return;
  *best = (cut){.worth = now, .nodes = r->n_nodes, .values = r->n_values};
}

/* Takes along what reads value i, and in a wide region what makes it; whether there was any. */
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

/* Where a region begins: behind a Transpose, or before it; wide where the first is no gain. */
typedef enum start { BEHIND, BEHIND_WIDE, BEFORE_WIDE } start;

static bool begin(region *r, surg_node *t, const tr_order *order, start from) {
  const tr_order perm = tr_inverse(order);
  r->n_nodes = r->n_values = 0;
  r->wide = from != BEHIND;
  if (from == BEFORE_WIDE) return absorb_before(r, surg_node_input(t, 0), &perm);
  return put_seed(r, t, order);
}

/* Grows the region from a Transpose, and cuts it where it is worth most. */
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
  for (size_t i = 0; i < r->n_values; i++) /* what makes it was taken later */
    if (!r->values[i].seed && r->values[i].index >= r->n_nodes) r->values[i].lead = true;
  return best.worth;
}

/* --- doing it --- */

static surg_node *add_transpose(region *r, surg_node *before, surg_value *v, const tr_order *perm,
                                size_t outputs) {
  int64_t ints[TR_RANK];
  for (size_t i = 0; i < perm->n; i++) ints[i] = (int64_t)perm->at[i];
  surg_node *t = surg_graph_add_node(r->g, before, "", "Transpose", outputs);
  if (!t || surg_node_set_ints(t, "perm", ints, perm->n) || surg_node_set_input(t, 0, v))
    return NULL;
  return t;
}

/* In front of a Transpose one does both. */
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
  if (!v || tr_role_of(n, i) == TR_OTHER || !surg_value_settled(v)) return v;
  return tr_constant(r->p, made, v, order);
}

/* Makes node k again, on what was before the Transposes. */
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

/* A Transpose that reads v and undoes the order, whose readers can have what is there now. */
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

/* Such Transposes go at once: left to the rules, another region would begin with them. */
static surg_status undo(region *r, region_value *v) {
  surg_node *n;
  for (int i = 0; i < USES && (n = undoing(r, v)) != NULL; i++) {
    const surg_pass_result given = give_result(r->p, n, v->now, "transposes undone");
    if (given == SURG_PASS_FAILED) return SURG_ENOMEM;
    if (given == SURG_PASS_UNCHANGED) break;
  }
  return SURG_OK;
}

/* Readers outside get the value as it was, by a Transpose where the order is another. */
static surg_status hand_out(region *r, region_value *v) {
  const surg_status undone = undo(r, v);
  const readers by = read_by(r, v);
  surg_node *n = r->nodes[v->index];
  if (undone) return undone;
  if (!by.others && !by.transposes) return SURG_OK;
  /* undo() may have given v->now the name of an output: then only an Identity can keep both names.
   */
  const surg_status same = same_anyway(v) ? give_uses(r->p, n, v->v, v->now) : SURG_EUNSUPPORTED;
  if (same != SURG_EUNSUPPORTED) return same;
  const tr_order perm = tr_inverse(&v->order);
  surg_node *t = add_transpose(r, n, v->now, &perm, 0);
  return t ? surg_node_take_output(t, 0, v->v) : SURG_ENOMEM;
}

/* The nodes as they stand in the graph: one that was taken later may stand before. */
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
    if (r->values[i].lead && (!t || surg_node_op(t) != SURG_OP_Transpose)) continue;
    if (t && !surg_value_first_use(r->values[i].v) && !surg_pass_keeps_node(r->p, t))
      s = surg_node_erase(t);
  }
  return s;
}

/* The last node before n and the region that stays. */
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

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  region *r = surg_pass_alloc(p, sizeof *r);
  if (!r) return SURG_PASS_FAILED;
  surg_pass_used(p, SURG_EXACT);
  if (!give_builtin(g, "Transpose") || !surg_graph_takes_constants(g) ||
      !surg_graph_has_op(g, SURG_OP_Transpose))
    return result;
  r->p = p;
  r->g = g;
  r->exact = surg_pass_bool(p, "exact") || !surg_pass_allows(p, SURG_ROUNDING);
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
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
    next = before ? surg_node_next(before) : surg_graph_first_node(g);
  }
  return result;
}

static const surg_option options[] = {
    {"exact", SURG_OPTION_BOOL, "false", "do not move past sums: rounding may differ"},
};

const surg_pass surg__pass_transposes = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "transposes",
    .help = "move Transposes past other nodes where fewer are left",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
