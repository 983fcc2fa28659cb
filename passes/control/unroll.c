/* SPDX-License-Identifier: Apache-2.0 */
/* Unrolls loops with a known trip count: Loop with a constant trip count and a condition that stays
 * true or ends it after one trip; Scan of fixed length. Each copy of the body reads the states of
 * the copy before; scan outputs become a Concat.
 *
 *   before: y = Loop <body = b (i, c, s) => (c, t) { t = Add (s, w) }> (2, "", x)
 *   after:  t = Add (x, w)   y = Add (t, w)
 *
 * A loop stays if unrolling adds more than `max-growth` nodes, if its body is random, or if an
 * output needs a name that no value can get. Initializers of a body that is copied are moved to
 * the main graph first.
 *
 * Needs sorted, types. Keeps sorted. Exact. */
#include "../util/bodies.h"
#include "../util/each.h"
#include "../util/give.h"
#include "../cleanup/hoist_initializers.h"
#include "../util/numbers.h"
#include "../util/values.h"

#include <assert.h>

#define TRIPS 4096  /* most trips of one loop */
#define NESTING 100 /* most levels of subgraphs */
#define TRIED 65536 /* most nodes evaluated to see whether one fails */

typedef struct loop {
  surg_pass_ctx *p;
  surg_graph *g;
  bodies_loop is;
  size_t collected; /* number of used scan outputs */
  int64_t trips;
  surg_value *yes;           /* the condition constant for the body; NULL: not made yet */
  surg_value **args, **outs; /* values of the inputs and outputs of the body in one trip */
  surg_value **parts;        /* slices of scan outputs: parts[output * trips + trip] */
} loop;

/* ---- trip count ------------------------------------------------------------------------------ */

/* The condition that the body returns: 1 always true, 0 always false, -1 unknown. */
static int goes_on(const surg_graph *body) {
  const surg_value *v = bodies_origin(surg_graph_output(body, 0));
  int64_t b;
  if (v && v == surg_graph_input(body, 1)) return 1; /* it was true, or no trip ran */
  return numbers_one(v, &b) ? b != 0 : -1;
}

/* The trip count of a Loop; -1: unknown. */
static int64_t loop_trips(const surg_node *n, const surg_graph *body) {
  const surg_value *count = surg_node_input(n, 0), *go = surg_node_input(n, 1);
  int64_t most = INT64_MAX, first = 1;
  const bool known = !count || numbers_one(count, &most);
  if (known && most <= 0) return 0;
  if (go && !numbers_one(go, &first)) return -1;
  if (!first) return 0;
  if (!known) return -1;
  const int on = goes_on(body);
  if (on == 0) return 1;
  return (on < 0 && most > 1) || most == INT64_MAX ? -1 : most;
}

static int64_t scan_trips(const surg_node *n, size_t states) {
  size_t count;
  assert(states < surg_node_input_count(n) || !surg_node_input_count(n));
  const int64_t *axes = surg_node_ints(n, "scan_input_axes", &count);
  int64_t trips = -1;
  for (size_t i = states; i < surg_node_input_count(n); i++) {
    const surg_type *t = surg_value_type(surg_node_input(n, i));
    const int64_t rank = surg_type_has_rank(t) ? (int64_t)surg_type_rank(t) : 0;
    int64_t axis = axes && i - states < count ? axes[i - states] : 0;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return -1;
    const int64_t d = surg_type_dim(t, (size_t)axis)->value;
    if (d < 0 || (trips >= 0 && d != trips)) return -1;
    trips = d;
  }
  return trips;
}

/* ---- whether to unroll ----------------------------------------------------------------------- */

/* The number of nodes of a graph and its subgraphs; UINT32_MAX or more if nested too deeply. */
static uint64_t nodes_of(const surg_graph *g, int depth) {
  assert(depth >= 0 && depth <= NESTING);
  uint64_t sum = surg_graph_node_count(g);
  if (depth == NESTING) return UINT32_MAX;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const surg_graph *inner;
    for (size_t k = 0; (inner = surg_node_subgraph(n, k)) != NULL; k++)
      sum += nodes_of(inner, depth + 1);
  }
  return sum;
}

/* 1 if a node only computes the condition, and is not needed after unrolling; else 0. */
static uint64_t idle_nodes(const surg_graph *body) {
  const surg_value *v = surg_graph_output(body, 0);
  const surg_node *by = v ? surg_value_producer(v, NULL) : NULL;
  return by && surg_node_output_count(by) == 1 && surg_value_use_count(v, 2) == 1 &&
         surg_node_graph(by) == body;
}

/* The number of Constant nodes per trip, where constants must be nodes; else 0. */
static uint64_t constants_of_trip(const loop *l) {
  if (surg_graph_get_kind(l->g) != SURG_GRAPH_FUNCTION &&
      surg_model_ir_version(surg_pass_model(l->p)) >= 4)
    return 0;
  uint64_t n = l->is.slices;
  if (surg_graph_opset(l->g, "") >= 13) n += l->collected;
  return l->is.scan ? n : n + surg_value_use_count(surg_graph_input(l->is.body, 0), 1);
}

static bool small_enough(const loop *l) {
  const int64_t most = surg_pass_int(l->p, "max-growth");
  const uint64_t body = nodes_of(l->is.body, 0), n = (uint64_t)l->trips;
  uint64_t each = body - (l->is.scan || !body ? 0 : idle_nodes(l->is.body));
  if (l->trips > TRIPS) return false;
  assert(l->trips >= 0);
  each += l->is.slices + l->collected + constants_of_trip(l);
  const uint64_t then = n * each + (n > 1 ? l->collected : 0);
  return then <= body + 1 || (most > 0 && then - body - 1 <= (uint64_t)most);
}

/* The element type of scan output i; UNDEFINED if Concat does not support it. */
static int collected_type(const loop *l, size_t i) {
  const surg_type *t = surg_value_type(surg_node_output(l->is.n, l->is.states + i));
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR)
    t = surg_value_type(surg_graph_output(l->is.body, l->is.first_out + l->is.states + i));
  const int dtype = surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
  if (dtype == SURG_BFLOAT16 && surg_graph_opset(l->g, "") < 13) return SURG_UNDEFINED;
  return dtype > SURG_BFLOAT16 ? SURG_UNDEFINED : dtype;
}

/* Whether g has a node with a subgraph. */
static bool nests(const surg_graph *g) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (surg_node_subgraph(n, 0)) return true;
  return false;
}

/* The iteration number as a tensor, of the rank that the body declares. */
static surg_tensor *trip_number(const loop *l, int64_t trip) {
  const surg_type *t = surg_value_declared_type(surg_graph_input(l->is.body, 0));
  const int64_t dim = 1;
  const bool vector = t && surg_type_has_rank(t) && surg_type_rank(t) == 1;
  return numbers_tensor(surg_pass_model(l->p), SURG_INT64, &dim, vector, &trip, 1);
}

/* Whether some node that may not run would fail once iteration numbers and states are constants:
 * a node in a branch, or any node of the body if the loop itself is in a subgraph. */
static bool trips_fail(const loop *l) {
  const size_t n_in = surg_graph_input_count(l->is.body),
               n_out = surg_graph_output_count(l->is.body);
  const bool optional = surg_graph_get_kind(l->g) != SURG_GRAPH_MAIN;
  if (!optional && !nests(l->is.body)) return false;
  if ((uint64_t)l->trips * nodes_of(l->is.body, 0) > TRIED) return true;
  surg_tensor **in = surg_pass_alloc(l->p, (n_in + 1) * sizeof *in);
  surg_tensor **out = surg_pass_alloc(l->p, (n_out + 1) * sizeof *out);
  if (!in || !out) return true;
  for (int64_t trip = 0; trip < l->trips; trip++) {
    for (size_t i = 0; i < l->is.states; i++) {
      const size_t at = l->is.first_in + i;
      in[at] = trip ? out[l->is.first_out + i] : surg_value_settled(surg_node_input(l->is.n, at));
    }
    if (!l->is.scan) in[0] = trip_number(l, trip);
    if (surg_graph_would_fail(l->is.body, in, optional, out)) return true;
  }
  return false;
}

/* Whether every output can be replaced, if needed by an Identity. */
static bool gives(const loop *l) {
  for (size_t i = 0; i < surg_node_output_count(l->is.n); i++) {
    const surg_value *old = surg_node_output(l->is.n, i);
    if (!old) continue;
    if (surg_value_is_pinned(old) || values_annotated(old)) return false;
    if (surg_pass_keeps_value(l->p, old) && !surg_value_is_output(old)) return false;
    const size_t at = l->is.first_out + i;
    if (surg_value_is_output(old) &&
        !give_identity_stands(l->g, surg_graph_output(l->is.body, at), old))
      return false;
    if (i < l->is.states || !bodies_read(l->is.n, i)) continue;
    if (!give_builtin(l->g, "Unsqueeze") || !give_builtin(l->g, "Concat") || l->trips == 0 ||
        collected_type(l, i - l->is.states) == SURG_UNDEFINED)
      return false;
  }
  return true;
}

static bool body_fits(surg_graph *body) {
  for (size_t i = 0; i < surg_graph_input_count(body); i++)
    if (!surg_graph_input(body, i) || surg_value_is_initializer(surg_graph_input(body, i)))
      return false;
  for (size_t i = 0; i < surg_graph_output_count(body); i++)
    if (!surg_graph_output(body, i)) return false;
  /* An initializer that is referred to by name cannot be copied. */
  for (surg_value *v = surg_graph_next_initializer(body, NULL); v;
       v = surg_graph_next_initializer(body, v))
    if (surg_value_is_pinned(v)) return false;
  return true;
}

/* Fills in l from n; false: not a loop that can be unrolled. */
static bool read_loop(loop *l, surg_node *n) {
  if (!bodies_loop_of(&l->is, n) || !body_fits(l->is.body)) return false;
  if (!values_takes_initializers(surg_node_graph(n), l->is.body)) return false;
  const size_t n_out = surg_node_output_count(n);
  if (n_out > surg_graph_output_count(l->is.body) - l->is.first_out) return false;
  for (size_t i = l->is.states; i < n_out; i++) l->collected += bodies_read(n, i);
  for (size_t i = l->is.first_in; i < surg_node_input_count(n); i++)
    if (!surg_node_input(n, i)) return false;
  l->trips = l->is.scan ? scan_trips(n, l->is.states) : loop_trips(n, l->is.body);
  return l->trips >= 0;
}

static const char *refusal(const loop *l) {
  if (surg_node_nondeterministic(l->is.n)) return "left: its body is random";
  if (!small_enough(l)) return "left: more nodes would come than max-growth allows";
  if (!surg_graph_takes_constants(l->g) || (l->is.scan && !give_builtin(l->g, "Gather")))
    return "unchanged: the constants it needs cannot be added to this graph";
  if (!gives(l)) return "left: what it gives cannot be another value";
  return trips_fail(l) ? "left: a node that need not run would fail on the number of a trip" : NULL;
}

/* ---- one trip -------------------------------------------------------------------------------- */

/* Makes a constant for input i of the body, of the rank that it declares, if the input is used.
 * False: out of memory. */
static bool counted(const loop *l, size_t i, int dtype, int64_t v, surg_value **out) {
  const surg_value *in = surg_graph_input(l->is.body, i);
  const surg_type *t = surg_value_declared_type(in);
  if (surg_value_use_count(in, 1) == 0) return true;
  const bool vector = surg_type_has_rank(t) && surg_type_rank(t) == 1;
  const int64_t dim = 1;
  surg_tensor *c = numbers_tensor(surg_pass_model(l->p), dtype, &dim, vector, &v, 1);
  *out = c ? surg_graph_constant(l->g, l->is.n, "trip", c) : NULL;
  return *out != NULL;
}

static int64_t of_list(const surg_node *n, const char *name, size_t i) {
  size_t count;
  const int64_t *list = surg_node_ints(n, name, &count);
  return list && i < count ? list[i] : 0;
}

/* Slice `trip` of scan input i, read by a Gather. */
static surg_value *cut(const loop *l, size_t i, int64_t trip) {
  assert(trip >= 0 && trip < l->trips && i < l->is.slices);
  const bool back = of_list(l->is.n, "scan_input_directions", i) == 1;
  surg_node *gather = surg_graph_add_node(l->g, l->is.n, "", "Gather", 1);
  const int64_t place = back ? l->trips - 1 - trip : trip;
  surg_value *at = gather ? numbers_scalar(gather, "trip", SURG_INT64, place) : NULL;
  if (!at ||
      surg_node_set_input(gather, 0, surg_node_input(l->is.n, l->is.states + i)) != SURG_OK ||
      surg_node_set_input(gather, 1, at) != SURG_OK ||
      surg_node_set_int(gather, "axis", of_list(l->is.n, "scan_input_axes", i)) != SURG_OK)
    return NULL;
  return surg_node_output(gather, 0);
}

static bool set_args(loop *l, int64_t trip) {
  assert(trip >= 0 && trip < l->trips);
  for (size_t i = 0; i < l->is.states; i++)
    l->args[l->is.first_in + i] = trip == 0 ? surg_node_input(l->is.n, l->is.first_in + i)
                                     : l->outs[l->is.first_out + i];
  for (size_t i = 0; i < l->is.slices; i++)
    if (!(l->args[l->is.states + i] = cut(l, i, trip))) return false;
  if (l->is.scan) return true;
  if (!l->yes && !counted(l, 1, SURG_BOOL, 1, &l->yes)) return false;
  l->args[1] = l->yes;
  return counted(l, 0, SURG_INT64, trip, &l->args[0]);
}

/* Gives the nodes between `prev` and the loop unique names. */
static bool name_copies(const loop *l, surg_node *prev) {
  surg_node *n = prev ? surg_node_next(prev) : surg_graph_first_node(l->g);
  for (; n != l->is.n; n = surg_node_next(n)) {
    if (!*surg_node_name(n)) continue;
    const char *fresh = surg_graph_fresh_name(l->g, surg_node_name(n));
    if (!fresh || surg_node_set_name(n, fresh) != SURG_OK) return false;
  }
  return true;
}

static bool copy_trip(loop *l) {
  surg_node *prev = surg_node_prev(l->is.n);
  return surg_graph_splice(l->g, l->is.n, l->is.body, l->args, surg_graph_input_count(l->is.body),
                           NULL, l->outs, surg_graph_output_count(l->is.body)) == SURG_OK &&
         name_copies(l, prev);
}

/* Moves the body itself to the outer graph for the last trip. */
static bool move_trip(loop *l) {
  const size_t n_in = surg_graph_input_count(l->is.body),
               n_out = surg_graph_output_count(l->is.body);
  assert(l->args && l->outs);
  for (size_t i = 0; i < n_out; i++) {
    l->outs[i] = surg_graph_output(l->is.body, i);
    for (size_t k = 0; k < n_in; k++)
      if (surg_graph_input(l->is.body, k) == surg_graph_output(l->is.body, i))
        l->outs[i] = l->args[k];
  }
  for (size_t i = n_out; i-- > 0;)
    if (surg_graph_remove_output(l->is.body, i) != SURG_OK) return false;
  for (size_t i = n_in; i-- > 0;) {
    surg_value *in = surg_graph_input(l->is.body, i);
    if (surg_value_use_count(in, 1) && surg_value_replace(in, l->args[i]) != SURG_OK) return false;
    if (surg_graph_remove_input(l->is.body, i) != SURG_OK) return false;
  }
  return surg_graph_hoist(l->is.body, l->is.n) == SURG_OK;
}

/* ---- scan outputs ---------------------------------------------------------------------------- */

static bool axis_input(const loop *l, surg_node *n, int64_t axis) {
  if (surg_graph_opset(l->g, "") < 13) return surg_node_set_ints(n, "axes", &axis, 1) == SURG_OK;
  surg_value *v = numbers_vector(n, "trip", &axis, 1);
  return v && surg_node_set_input(n, 1, v) == SURG_OK;
}

static surg_value *part(const loop *l, surg_value *v, int64_t axis) {
  surg_node *n = surg_graph_add_node(l->g, l->is.n, "", "Unsqueeze", 1);
  if (!n || surg_node_set_input(n, 0, v) != SURG_OK || !axis_input(l, n, axis)) return NULL;
  return surg_node_output(n, 0);
}

static int64_t out_axis(const loop *l, size_t i) {
  return l->is.scan ? of_list(l->is.n, "scan_output_axes", i) : 0;
}

static bool collect(loop *l, int64_t trip) {
  size_t k = 0;
  for (size_t i = 0; l->is.states + i < surg_node_output_count(l->is.n); i++) {
    if (!bodies_read(l->is.n, l->is.states + i)) continue;
    const bool back = l->is.scan && of_list(l->is.n, "scan_output_directions", i) == 1;
    surg_value *v = part(l, l->outs[l->is.first_out + l->is.states + i], out_axis(l, i));
    if (!v) return false;
    assert(k < l->collected && trip < l->trips); /* write_out allocated them */
    l->parts[(int64_t)k++ * l->trips + (back ? l->trips - 1 - trip : trip)] = v;
  }
  return true;
}

static surg_value *joined(const loop *l, size_t k, int64_t axis) {
  assert(k < l->collected && l->trips > 0);
  surg_value **parts = l->parts + (int64_t)k * l->trips;
  if (l->trips == 1) return parts[0];
  surg_node *n = surg_graph_add_node(l->g, l->is.n, "", "Concat", 1);
  if (!n || surg_node_set_int(n, "axis", axis) != SURG_OK) return NULL;
  for (int64_t i = 0; i < l->trips; i++)
    if (surg_node_set_input(n, (size_t)i, parts[i]) != SURG_OK) return NULL;
  return surg_node_output(n, 0);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool give_all(const loop *l) {
  size_t k = 0;
  for (size_t i = 0; i < surg_node_output_count(l->is.n); i++) {
    surg_value *by;
    if (!bodies_read(l->is.n, i)) continue;
    if (i >= l->is.states)
      by = joined(l, k++, out_axis(l, i - l->is.states));
    else
      by = l->trips == 0 ? surg_node_input(l->is.n, l->is.first_in + i)
                         : l->outs[l->is.first_out + i];
    if (!by || give_uses(l->p, l->is.n, surg_node_output(l->is.n, i), by) != SURG_OK) return false;
  }
  return true;
}

static bool write_out(loop *l) {
  assert(l->trips >= 0 && l->trips <= TRIPS); /* small_enough checked it */
  const size_t n_in = surg_graph_input_count(l->is.body),
               n_out = surg_graph_output_count(l->is.body);
  l->args = surg_pass_alloc(l->p, (n_in + 1) * sizeof *l->args);
  l->outs = surg_pass_alloc(l->p, (n_out + 1) * sizeof *l->outs);
  l->parts = surg_pass_alloc(l->p, ((size_t)l->trips * l->collected + 1) * sizeof *l->parts);
  if (!l->args || !l->outs || !l->parts) return false;
  if (l->trips > 1 && lift_initializers(l->p, l->is.body) == SURG_PASS_FAILED) return false;
  for (int64_t trip = 0; trip < l->trips; trip++)
    if (!set_args(l, trip) || !(trip < l->trips - 1 ? copy_trip(l) : move_trip(l)) ||
        !collect(l, trip))
      return false;
  return give_all(l) && surg_node_erase(l->is.n) == SURG_OK;
}

static surg_pass_result unroll_node(surg_pass_ctx *p, surg_node *n) {
  loop l = {.p = p, .g = surg_node_graph(n)};
  if ((surg_node_op(n) != SURG_OP_Loop && surg_node_op(n) != SURG_OP_Scan) || !read_loop(&l, n))
    return SURG_PASS_UNCHANGED;
  const char *why = surg_pass_keeps_node(p, n) ? "left: it is protected" : refusal(&l);
  if (why) surg_pass_note(p, n, why);
  if (why || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  surg_pass_count(p, "loops", 1);
  surg_pass_count(p, "trips", (uint64_t)l.trips);
  return write_out(&l) ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const int ops[] = {SURG_OP_Loop, SURG_OP_Scan};
  return each_has(g, ops, 2) ? each_node(p, g, unroll_node) : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "max-growth", "1000", "most nodes that one loop may add"),
};

const surg_pass surg__pass_unroll = {
    SURG_PASS_HEAD(GRAPH, "unroll", "unroll loops with a constant trip count"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
