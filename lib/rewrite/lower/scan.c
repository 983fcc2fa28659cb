/* SPDX-License-Identifier: Apache-2.0 */
/* Scan and SequenceMap as other loops. The body of Scan is copied into each step. Before opset 9
 * there is no Scan of this form, so a Loop slices the inputs itself. Scan of opset 8 also iterates
 * over a batch: it becomes a loop over axis 0 of all operands around the inner loop. */
#include "rewrite/lower/terms.h"

#define MOST SURG__RULE_NODES /* states and scanned inputs, or outputs */

/* A loop under construction: its state and scanned values outside, and later
 * those inside the body. */
typedef struct turns {
  surg__builder *b;
  val in[MOST], out[MOST]; /* out: results of the body, then of the loop */
  int in_type[MOST], out_type[MOST];
  size_t states, scanned, outputs;
  int64_t axes[MOST], back[MOST];         /* of scanned inputs */
  int64_t out_axes[MOST], out_back[MOST]; /* of collected outputs */
  uint32_t out_rank[MOST];                /* rank inside the body, needed where the axis is not 0 */
  val first;
  surg__bscope outside;
} turns;

val surg__b_scalar_input(surg__builder *b, const char *word, int dtype) {
  const surg_type *type = surg_type_tensor(b->m->m, dtype, NULL, 0);
  const char *name = type && !b->status ? surg__rname(b->m, word) : NULL;
  val v = name ? surg_graph_add_input(b->g, name, type) : NULL;
  return v || b->status ? v : no_memory(b);
}

/* --- as a Scan --- */

/* Sets a list attribute, unless it is all zeros, which is the default. */
static void set_list(surg__builder *b, val v, const char *name, const int64_t *list, size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= list[i] != 0;
  if (any) surg__b_set_ints(b, v, name, list, n);
}

static void scan_begin(turns *t) {
  surg__builder *b = t->b;
  t->first = surg__b_node(b, "Scan", t->in, t->states + t->scanned);
  surg__b_set_int(b, t->first, "num_scan_inputs", (int64_t)t->scanned);
  set_list(b, t->first, "scan_input_axes", t->axes, t->scanned);
  set_list(b, t->first, "scan_input_directions", t->back, t->scanned);
  t->outside = surg__b_enter(b, t->first, "body");
  for (size_t i = 0; i < t->states + t->scanned; i++)
    t->in[i] = surg__b_body_input(b, i < t->states ? "state" : "slice", t->in_type[i]);
}

/* --- as a Loop --- */

/* The number of iterations, as a scalar. */
static val count_turns(turns *t) {
  val shape = surg__b_unary(t->b, "Shape", t->in[t->states]);
  return gather(t->b, shape, int64(t->b, t->axes[0]), 0);
}

/* Begins a Loop. Old versions require a loop-carried value: the number of iterations if
 * there are no states. */
static void loop_begin(turns *t) {
  surg__builder *b = t->b;
  val count = count_turns(t), in[MOST + 2] = {count, NULL}, outer[MOST];
  for (size_t i = 0; i < t->states; i++) in[i + 2] = t->in[i];
  if (!t->states) in[2] = count;
  memcpy(outer, t->in, sizeof outer);
  t->first = surg__b_node(b, "Loop", in, t->states + 2 + !t->states);
  t->outside = surg__b_enter(b, t->first, "body");
  val turn = surg__b_scalar_input(b, "turn", SURG_INT64);
  val on = surg__b_scalar_input(b, "on", SURG_BOOL);
  for (size_t i = 0; i < t->states; i++)
    t->in[i] = surg__b_body_input(b, "state", t->in_type[i]);
  val carried = t->states ? NULL : surg__b_scalar_input(b, "carried", SURG_INT64);
  surg__b_body_output(b, surg__b_unary(b, "Identity", on), SURG_BOOL);
  if (carried) surg__b_body_output(b, surg__b_unary(b, "Identity", carried), SURG_INT64);
  for (size_t i = 0; i < t->scanned; i++) {
    val at = t->back[i] ? sub(b, sub(b, count, int64(b, 1)), turn) : turn;
    t->in[t->states + i] = gather(b, outer[t->states + i], at, t->axes[i]);
  }
}

/* A Loop collects along axis 0: moves that axis to its final position. */
static val to_axis(turns *t, size_t i) {
  const int64_t rank = t->out_rank[i] + 1;
  int64_t perm[SURG_LIMIT_RANK];
  const int64_t axis = t->out_axes[i] < 0 ? t->out_axes[i] + rank : t->out_axes[i];
  if (axis == 0) return t->out[i];
  for (int64_t k = 0; k < rank; k++) perm[k] = k == axis ? 0 : k < axis ? k + 1 : k;
  return transpose(t->b, t->out[i], perm, (size_t)rank);
}

/* --- both --- */

static bool by_loop(const turns *t) {
  return t->b->m->opset < 9;
}

static void begin(turns *t) {
  if (by_loop(t))
    loop_begin(t);
  else
    scan_begin(t);
}

static void end(turns *t) {
  surg__builder *b = t->b;
  /* An output of the body must not be an input, nor occur twice. */
  for (size_t i = 0; i < t->outputs; i++)
    surg__b_body_output(b, surg__b_unary(b, "Identity", t->out[i]), t->out_type[i]);
  surg__b_leave(b, t->outside);
  const size_t before = by_loop(t) && !t->states;
  for (size_t i = 0; i < t->outputs; i++)
    t->out[i] = i + before ? surg__b_output(b, t->first, i + before) : t->first;
  if (!by_loop(t)) {
    set_list(b, t->first, "scan_output_axes", t->out_axes, t->outputs - t->states);
    set_list(b, t->first, "scan_output_directions", t->out_back, t->outputs - t->states);
    return;
  }
  for (size_t i = t->states; i < t->outputs; i++) {
    const size_t k = i - t->states;
    if (t->out_axes[k]) t->out[i] = to_axis(t, i);
  }
}

/* Copies the nodes of a body. */
static void put_body(surg__builder *b, surg_graph *body, val *in, size_t n_in, val *out,
                     size_t n_out) {
  if (b->status) return;
  b->status = surg_graph_splice(b->g, b->before, body, in, n_in, NULL, out, n_out);
}

/* Replaces the outputs of the matched node. */
static void give(surg__builder *b, val *out, size_t n) {
  surg_node *old = surg__b_matched(b);
  for (size_t i = 0; i < n && !b->status; i++) {
    surg_value *o = surg_node_output(old, i);
    size_t at;
    if (!o) continue;
    surg_node *by = surg_value_producer(out[i], &at);
    b->status = surg_node_take_output(by, at, o);
  }
}

/* --- Scan --- */

static bool read_list(const surg_node *n, const char *name, int64_t *out, size_t count) {
  size_t have;
  const int64_t *list = surg_node_ints(n, name, &have);
  if (list && have != count) return false;
  for (size_t i = 0; i < count; i++) out[i] = list ? list[i] : 0;
  return true;
}

/* `skip`: number of inputs before the states. */
static bool read_scan(surg__builder *b, turns *t, size_t skip, surg_graph **body) {
  surg_node *n = surg__b_matched(b);
  *t = (turns){.b = b};
  *body = surg_node_subgraph(n, 0);
  const size_t inputs = surg_node_input_count(n) - skip;
  const int64_t scanned = surg_node_int(n, "num_scan_inputs", 0);
  if (!surg__b_attrs_known(b) || !*body || scanned < 1 || (uint64_t)scanned > inputs ||
      inputs > MOST)
    return false;
  t->scanned = (size_t)scanned;
  t->states = inputs - t->scanned;
  t->outputs = surg_graph_output_count(*body);
  if (t->outputs > MOST || t->outputs < t->states || t->outputs == 0 ||
      surg_graph_input_count(*body) != inputs)
    return false;
  for (size_t i = 0; i < inputs; i++) {
    t->in[i] = surg_node_input(n, skip + i);
    t->in_type[i] = dtype_of(t->in[i]);
    if (!t->in_type[i]) return false;
  }
  for (size_t i = 0; i < t->outputs; i++) {
    const surg_type *type = surg_value_type(surg_graph_output(*body, i));
    if (!type) type = surg_graph_output_type(*body, i);
    if (!type || surg_type_get_kind(type) != SURG_TYPE_TENSOR) return false;
    t->out_type[i] = surg_type_dtype(type);
    t->out_rank[i] = surg_type_has_rank(type) ? (uint32_t)surg_type_rank(type) : SURG_LIMIT_RANK;
    if (!t->out_type[i]) return false;
  }
  return true;
}

/* Whether a Loop supports these attributes: it collects in forward direction only. */
static bool loop_can(const turns *t) {
  for (size_t i = 0; i < t->scanned; i++) {
    const surg_type *type = type_of(t->in[t->states + i]);
    if (t->axes[i] < 0 || (t->axes[i] && !(type && surg_type_has_rank(type)))) return false;
  }
  for (size_t k = 0; k < t->outputs - t->states; k++)
    if (t->out_back[k] || (t->out_axes[k] && t->out_rank[t->states + k] >= SURG_LIMIT_RANK))
      return false;
  return true;
}

static surg_status scan_to_loop(surg__builder *b) {
  turns t;
  surg_graph *body;
  const surg_node *n = surg__b_matched(b);
  if (!read_scan(b, &t, 0, &body) || !read_list(n, "scan_input_axes", t.axes, t.scanned) ||
      !read_list(n, "scan_input_directions", t.back, t.scanned) ||
      !read_list(n, "scan_output_axes", t.out_axes, t.outputs - t.states) ||
      !read_list(n, "scan_output_directions", t.out_back, t.outputs - t.states) || !loop_can(&t))
    return SURG_EUNSUPPORTED;
  begin(&t);
  put_body(b, body, t.in, t.states + t.scanned, t.out, t.outputs);
  end(&t);
  give(b, t.out, t.outputs);
  return b->status;
}

/* For each batch entry, a Scan along the next axis. */
static surg_status scan_of_batch(surg__builder *b) {
  turns inner, all;
  surg_graph *body;
  const surg_node *n = surg__b_matched(b);
  if (surg__b_bad(b, surg_node_input(n, 0), "sequence_lens is unsupported") ||
      !read_scan(b, &inner, 1, &body) || !read_list(n, "directions", inner.back, inner.scanned))
    return SURG_EUNSUPPORTED;
  all = inner;
  all.states = 0;
  all.scanned = inner.states + inner.scanned;
  memset(all.back, 0, sizeof all.back);
  begin(&all);
  memcpy(inner.in, all.in, sizeof inner.in);
  begin(&inner);
  put_body(b, body, inner.in, inner.states + inner.scanned, inner.out, inner.outputs);
  end(&inner);
  memcpy(all.out, inner.out, sizeof all.out);
  end(&all);
  give(b, all.out, all.outputs);
  return b->status;
}

/* --- SequenceMap --- */

static int elem_dtype(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_SEQUENCE) return 0;
  t = surg_type_elem(t);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

static val sequence_input(surg__builder *b, int dtype) {
  const surg_type *type = surg_type_tensor_unranked(b->m->m, dtype);
  type = type ? surg_type_wrap(b->m->m, SURG_TYPE_SEQUENCE, type) : NULL;
  const char *name = type ? surg__rname(b->m, "sequence") : NULL;
  val v = name && !b->status ? surg_graph_add_input(b->g, name, type) : NULL;
  return v ? v : no_memory(b);
}

static void sequence_output(surg__builder *b, val v, int dtype) {
  const surg_type *type = surg_type_tensor_unranked(b->m->m, dtype);
  type = type ? surg_type_wrap(b->m->m, SURG_TYPE_SEQUENCE, type) : NULL;
  if (b->status) return;
  b->status = type ? surg_graph_add_output(b->g, v, type) : SURG_ENOMEM;
}

/* Reads a SequenceMap. It must be known which inputs are sequences, and the element
 * type of each output. */
static bool read_map(surg__builder *b, turns *t, bool *sequence, surg_graph **body) {
  const surg_node *n = surg__b_matched(b);
  *t = (turns){.b = b};
  *body = surg_node_subgraph(n, 0);
  t->scanned = surg_node_input_count(n);
  t->outputs = surg_node_output_count(n);
  if (!surg__b_attrs_known(b) || !*body || t->scanned < 1 || t->scanned > MOST ||
      t->outputs > MOST || surg_graph_input_count(*body) != t->scanned ||
      surg_graph_output_count(*body) != t->outputs)
    return false;
  for (size_t i = 0; i < t->scanned; i++) {
    const surg_type *type = surg_node_input(n, i) ? surg_value_type(surg_node_input(n, i)) : NULL;
    t->in[i] = surg_node_input(n, i);
    if (!type) return false;
    sequence[i] = surg_type_get_kind(type) == SURG_TYPE_SEQUENCE;
  }
  for (size_t i = 0; i < t->outputs; i++) {
    t->out_type[i] = elem_dtype(surg_node_output(n, i));
    if (!t->out_type[i]) return false;
  }
  return sequence[0];
}

static surg_status map_to_loop(surg__builder *b) {
  turns t;
  surg_graph *body;
  bool sequence[MOST];
  if (!read_map(b, &t, sequence, &body)) return SURG_EUNSUPPORTED;
  /* Some runtimes fail for a Loop with sequences if its condition is absent. */
  val in[MOST + 2] = {surg__b_unary(b, "SequenceLength", t.in[0]), surg__b_scalar(b, SURG_BOOL, 1)};
  val so_far[MOST];
  for (size_t i = 0; i < t.outputs; i++) {
    in[i + 2] = surg__b_node(b, "SequenceEmpty", NULL, 0);
    surg__b_set_int(b, in[i + 2], "dtype", t.out_type[i]);
  }
  t.first = surg__b_node(b, "Loop", in, t.outputs + 2);
  t.outside = surg__b_enter(b, t.first, "body");
  val turn = surg__b_scalar_input(b, "turn", SURG_INT64);
  val on = surg__b_scalar_input(b, "on", SURG_BOOL);
  for (size_t i = 0; i < t.outputs; i++) so_far[i] = sequence_input(b, t.out_type[i]);
  for (size_t i = 0; i < t.scanned; i++)
    if (sequence[i]) t.in[i] = surg__b_binary(b, "SequenceAt", t.in[i], turn);
  put_body(b, body, t.in, t.scanned, t.out, t.outputs);
  surg__b_body_output(b, surg__b_unary(b, "Identity", on), SURG_BOOL);
  for (size_t i = 0; i < t.outputs; i++)
    sequence_output(b, surg__b_binary(b, "SequenceInsert", so_far[i], t.out[i]), t.out_type[i]);
  surg__b_leave(b, t.outside);
  for (size_t i = 0; i < t.outputs; i++) t.out[i] = i ? surg__b_output(b, t.first, i) : t.first;
  give(b, t.out, t.outputs);
  return b->status;
}

/* --- Loop --- */

/* Whether an input of a body is declared without axes, or not declared. */
static bool is_scalar(const surg_value *v) {
  const surg_type *t = v ? surg_value_declared_type(v) : NULL;
  return !t || !surg_type_has_rank(t) || surg_type_rank(t) == 0;
}

/* Reads a Loop: element types of what it carries and gives, and which of these are sequences. */
static bool read_loop(surg__builder *b, turns *t, bool *sequence, surg_graph **body) {
  surg_node *n = surg__b_matched(b);
  const size_t inputs = surg_node_input_count(n);
  *t = (turns){.b = b};
  *body = surg_node_subgraph(n, 0);
  if (!surg__b_attrs_known(b) || !*body || inputs < 2 || inputs > MOST) return false;
  t->states = inputs - 2;
  t->outputs = surg_graph_output_count(*body) - 1;
  if (surg_graph_input_count(*body) != inputs || t->outputs > MOST || t->outputs < t->states ||
      !is_scalar(surg_graph_input(*body, 0)) || !is_scalar(surg_graph_input(*body, 1)))
    return false;
  for (size_t i = 0; i < t->outputs; i++) {
    const surg_value *state = i < t->states ? surg_node_input(n, i + 2) : NULL;
    const surg_type *type = surg_value_type(surg_graph_output(*body, i + 1));
    sequence[i] = elem_dtype(state) != 0;
    t->out_type[i] = sequence[i] ? elem_dtype(state) : dtype_of(state);
    if (i >= t->states && type && surg_type_get_kind(type) == SURG_TYPE_TENSOR)
      t->out_type[i] = surg_type_dtype(type);
    if (surg__b_bad(b, !t->out_type[i], "an element type is unknown or unsupported")) return false;
  }
  return true;
}

/* ... = Loop (n, , ...), with a condition that is true at first. Runtimes obey that of the body
 * whether there was one or not. */
static surg_status loop_with_condition(surg__builder *b) {
  turns t;
  surg_graph *body;
  bool sequence[MOST];
  const surg_node *n = surg__b_matched(b);
  if (!read_loop(b, &t, sequence, &body)) return SURG_EUNSUPPORTED;
  val in[MOST] = {surg_node_input(n, 0), surg__b_scalar(b, SURG_BOOL, 1)}, out[MOST + 1];
  for (size_t i = 0; i < t.states; i++) in[i + 2] = surg_node_input(n, i + 2);
  t.first = surg__b_node(b, "Loop", in, t.states + 2);
  t.outside = surg__b_enter(b, t.first, "body");
  in[0] = surg__b_scalar_input(b, "turn", SURG_INT64);
  in[1] = surg__b_scalar_input(b, "on", SURG_BOOL);
  for (size_t i = 0; i < t.states; i++)
    in[i + 2] = sequence[i] ? sequence_input(b, t.out_type[i])
                            : surg__b_body_input(b, "state", t.out_type[i]);
  put_body(b, body, in, t.states + 2, out, t.outputs + 1);
  surg__b_body_output(b, surg__b_unary(b, "Identity", out[0]), SURG_BOOL);
  for (size_t i = 0; i < t.outputs && !b->status; i++)
    if (sequence[i])
      sequence_output(b, surg__b_unary(b, "Identity", out[i + 1]), t.out_type[i]);
    else
      surg__b_body_output(b, surg__b_unary(b, "Identity", out[i + 1]), t.out_type[i]);
  surg__b_leave(b, t.outside);
  for (size_t i = 0; i < t.outputs; i++) t.out[i] = i ? surg__b_output(b, t.first, i) : t.first;
  give(b, t.out, t.outputs);
  return b->status;
}

/* --- copies of sequences --- */

/* Before opset 14 Identity does not support sequences: inserts an element at
 * the end and erases it. */
static surg_status copy_sequence(surg__builder *b) {
  val x = surg__b_get(b, "x");
  const int dtype = elem_dtype(x);
  if (surg__b_bad(b, !dtype, "an element type is unknown or unsupported")) return SURG_EUNSUPPORTED;
  if (b->m->opset >= 14) {
    surg__b_result(b, "y", surg__b_unary(b, "Identity", x));
    return b->status;
  }
  const bool has_zero =
      surg__dtype_is_float(dtype) || surg__dtype_is_int(dtype) || dtype == SURG_BOOL;
  if (surg__b_bad(b, !has_zero, "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  val more = surg__b_binary(b, "SequenceInsert", x, number(b, dtype, 0));
  surg__b_result(b, "y", surg__b_unary(b, "SequenceErase", more));
  return b->status;
}

const surg__native surg__natives_scan[] = {
    {"scan_to_loop", scan_to_loop, "Scan as a Loop that picks the slices"},
    {"scan_of_batch", scan_of_batch, "the Scan of opset 8 as two loops, the outer over the batch"},
    {"map_to_loop", map_to_loop, "SequenceMap as a Loop over sequences"},
    {"loop_with_condition", loop_with_condition, "the Loop with a condition that is true at first"},
    {"copy_sequence", copy_sequence, "a sequence as it is"},
    {NULL, NULL, NULL},
};
