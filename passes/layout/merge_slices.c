/* SPDX-License-Identifier: Apache-2.0 */
/* Merges operators that split and join along one axis: nested Concats become one, Split outputs
 * that are concatenated again become the Split's input, Slices (or Gathers of consecutive
 * indices) of one value that partition it become a Split.
 *
 *   before: a = Slice (x, 0, 3, axis 1)   b = Slice (x, 3, 8, axis 1)   y = Concat <1> (a, b)   ...
 *   after:  a, b = Split <1> (x, {3, 5})                                y = x
 *
 * Needs sorted, types. Keeps sorted. Exact. */
#include "../util/each.h"
#include "../util/give.h"
#include "../util/numbers.h"
#include "../util/values.h"

#include <assert.h>

#define PARTS 64    /* most parts of a value */
#define USES 256    /* most uses of a value that are examined */
#define INPUTS 4096 /* most inputs of a merged Concat */

static bool rank_of(const surg_value *v, int64_t *rank) {
  const surg_type *t = surg_value_type(v);
  if (!t || !surg_type_has_rank(t)) return false;
  *rank = (int64_t)surg_type_rank(t);
  return true;
}

/* Whether two nodes use the same axis of tensors of one rank; the rank of any of their values
 * decides when only one axis is negative. */
static bool same_axis(const surg_node *a, const surg_node *b) {
  if (surg_attr_ref(surg_node_attr(a, "axis")) || surg_attr_ref(surg_node_attr(b, "axis")))
    return false;
  const int64_t x = surg_node_int(a, "axis", 0), y = surg_node_int(b, "axis", 0);
  const surg_value *values[] = {surg_node_input(a, 0), surg_node_output(a, 0),
                                surg_node_input(b, 0), surg_node_output(b, 0)};
  int64_t rank;
  if ((x < 0) == (y < 0)) return x == y;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (values[i] && rank_of(values[i], &rank))
      return (x < 0 ? x + rank : x) == (y < 0 ? y + rank : y);
  return false;
}

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* Whether the only output of n has a single use and neither the node nor its name is protected. */
static bool goes_into_one(surg_pass_ctx *p, const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  return v && surg_node_output_count(n) == 1 && surg_value_use_count(v, 2) == 1 &&
         !surg_value_is_output(v) && !surg_value_is_pinned(v) && !values_annotated(v) &&
         !surg_pass_keeps_value(p, v) && !surg_pass_keeps_node(p, n);
}

/* --- Concat --- */

/* The Concat along the same axis that produces input i and has no other consumer, or NULL. */
static surg_node *inner_concat(surg_pass_ctx *p, const surg_node *n, size_t i) {
  surg_node *from = surg_value_producer(surg_node_input(n, i), NULL);
  if (!is(from, SURG_OP_Concat) || surg_node_graph(from) != surg_node_graph(n) ||
      !same_axis(from, n) || !goes_into_one(p, from))
    return NULL;
  return from;
}

/* Replaces the first input that is such a Concat by that Concat's inputs. */
static surg_pass_result flatten(surg_pass_ctx *p, surg_node *n) {
  surg_node *inner = NULL;
  size_t at = 0, count = surg_node_input_count(n);
  for (; at < count && !inner; at++) inner = inner_concat(p, n, at);
  const size_t more = inner ? surg_node_input_count(inner) : 0;
  if (!inner || more == 0 || count + more > INPUTS || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  at--;
  assert(at < count);
  surg_status s = SURG_OK;
  for (size_t i = count; i-- > at + 1 && !s;)
    s = surg_node_set_input(n, i + more - 1, surg_node_input(n, i));
  for (size_t i = 0; i < more && !s; i++)
    s = surg_node_set_input(n, at + i, surg_node_input(inner, i));
  if (!s) s = surg_node_erase(inner);
  if (s) return SURG_PASS_FAILED;
  surg_pass_count(p, "concats", 1);
  return SURG_PASS_CHANGED;
}

/* Whether input i of a Concat is known to have size 0 along its axis, and the rank of the
 * output. */
static bool is_empty(const surg_node *n, size_t i, int64_t rank) {
  int64_t own;
  const surg_value *v = surg_node_input(n, i);
  const int64_t axis = surg_node_int(n, "axis", 0), at = axis < 0 ? axis + rank : axis;
  if (!v || !rank_of(v, &own) || own != rank) return false;
  return at >= 0 && at < rank && surg_type_dim(surg_value_type(v), (size_t)at)->value == 0;
}

/* Removes inputs of size 0 along the axis; one input stays. */
static surg_pass_result drop_empty(surg_pass_ctx *p, surg_node *n) {
  const size_t count = surg_node_input_count(n);
  size_t kept = 0, empty = 0;
  surg_status s = SURG_OK;
  int64_t rank;
  if (!rank_of(surg_node_output(n, 0), &rank) || surg_attr_ref(surg_node_attr(n, "axis")))
    return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count; i++) empty += is_empty(n, i, rank);
  if (empty == count) empty--;
  assert(empty < count);
  if (empty == 0 || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count && !s; i++) {
    assert(kept <= i); /* never overwrites an unread input */
    if (i - kept < empty && is_empty(n, i, rank)) continue; /* keep one */
    s = surg_node_set_input(n, kept++, surg_node_input(n, i));
  }
  if (!s) s = surg_node_trim_inputs(n, kept);
  if (s) return SURG_PASS_FAILED;
  surg_pass_count(p, "empty", empty);
  return SURG_PASS_CHANGED;
}

/* The input of a Split, if n concatenates all of its outputs in order; else NULL. */
static surg_value *whole(const surg_node *n) {
  size_t index;
  const size_t count = surg_node_input_count(n);
  surg_node *from = surg_value_producer(surg_node_input(n, 0), NULL);
  if (!is(from, SURG_OP_Split) || surg_node_graph(from) != surg_node_graph(n) ||
      surg_node_output_count(from) != count || !same_axis(from, n))
    return NULL;
  for (size_t i = 0; i < count; i++) {
    const surg_value *v = surg_node_input(n, i);
    if (surg_value_producer(v, &index) != from || index != i) return NULL;
  }
  return surg_node_input(from, 0);
}

static surg_pass_result concat(surg_pass_ctx *p, surg_node *n) {
  surg_pass_result result = SURG_PASS_UNCHANGED, one;
  if (surg_node_input_count(n) == 0) return result;
  surg_value *v = whole(n);
  if (v) result = give_result(p, n, v, "wholes");
  if (result != SURG_PASS_UNCHANGED || surg_pass_keeps_node(p, n)) return result;
  result = drop_empty(p, n);
  if (result == SURG_PASS_FAILED) return result;
  while ((one = flatten(p, n)) == SURG_PASS_CHANGED) result = one;
  return one == SURG_PASS_FAILED ? one : result;
}

/* --- Slice, Gather --- */

typedef struct part {
  surg_node *node;
  int64_t from, to;
} part;

static int64_t bound(int64_t i, int64_t length) {
  assert(length > 0);
  if (i < 0) i = i < -length ? 0 : i + length;
  return i > length ? length : i;
}

/* The single element of an input or, before opset 10, of an attribute. */
static bool slice_number(const surg_node *n, const char *name, size_t input, int64_t *out) {
  size_t count;
  if (surg_graph_opset(surg_node_graph(n), "") >= 10)
    return surg_node_input(n, input) && numbers_one(surg_node_input(n, input), out);
  if (surg_attr_ref(surg_node_attr(n, name))) return false;
  const int64_t *v = surg_node_ints(n, name, &count);
  if (!v || count != 1) return false;
  *out = *v;
  return true;
}

static bool slice_part(const surg_node *n, const surg_type *t, int64_t *axis, part *out) {
  int64_t from, to, step = 1;
  if (!slice_number(n, "starts", 1, &from) || !slice_number(n, "ends", 2, &to) ||
      !slice_number(n, "axes", 3, axis) ||
      (surg_node_input(n, 4) && (!numbers_one(surg_node_input(n, 4), &step) || step != 1)))
    return false;
  const int64_t rank = (int64_t)surg_type_rank(t), at = *axis < 0 ? *axis + rank : *axis;
  const int64_t length = at < 0 || at >= rank ? 0 : surg_type_dim(t, (size_t)at)->value;
  if (length < 1) return false;
  out->from = bound(from, length);
  out->to = bound(to, length);
  return true;
}

/* Reads a Gather of consecutive indices (a vector, so the axis stays). Vectors are left alone:
 * they are usually shapes, and runtimes match their Gathers. */
static bool gather_part(const surg_node *n, const surg_type *t, int64_t *axis, part *out) {
  surg_elem at[NUMBERS];
  const surg_value *index = surg_node_input(n, 1);
  int64_t rank;
  if (surg_type_rank(t) < 2 || !index || !rank_of(index, &rank) || rank != 1 ||
      surg_attr_ref(surg_node_attr(n, "axis")))
    return false;
  const int64_t count = numbers_known(index, at, NUMBERS);
  for (int64_t i = 0; i < count; i++)
    if (!at[i].known || at[i].value < 0 || at[i].value != at[0].value + i) return false;
  if (count < 1) return false;
  *axis = surg_node_int(n, "axis", 0);
  *out = (part){.node = out->node, .from = at[0].value, .to = at[0].value + count};
  return true;
}

/* Reads n as a slice of its input along one axis; false: it is none, or is protected. */
static bool part_of(surg_pass_ctx *p, surg_node *n, const surg_type *t, size_t *axis, part *out) {
  const surg_value *y = surg_node_output(n, 0);
  const int64_t rank = (int64_t)surg_type_rank(t);
  int64_t at;
  *out = (part){.node = n};
  if (!is(n, SURG_OP_Slice) && !is(n, SURG_OP_Gather)) return false;
  if (surg_node_output_count(n) != 1 || surg_pass_keeps_node(p, n) || surg_pass_keeps_value(p, y) ||
      values_annotated(y) || surg_value_is_pinned(y))
    return false;
  if (is(n, SURG_OP_Slice) ? !slice_part(n, t, &at, out) : !gather_part(n, t, &at, out))
    return false;
  if (at < -rank || at >= rank) return false;
  *axis = (size_t)(at < 0 ? at + rank : at);
  return out->from < out->to && out->to <= surg_type_dim(t, *axis)->value;
}

/* Inserts a part, ordered by start; false: the list is full, or another part has the same start. */
static bool put(part *parts, size_t *count, const part *one) {
  size_t i = *count;
  if (i == PARTS) return false;
  assert(one->from < one->to && i < PARTS);
  for (; i > 0 && parts[i - 1].from > one->from; i--) parts[i] = parts[i - 1];
  parts[i] = *one;
  ++*count;
  return i == 0 || parts[i - 1].from != one->from;
}

/* Collects the parts of v along the axis of `first`, in order; false: they do not partition v. */
static bool shared_out(surg_pass_ctx *p, surg_node *first, surg_value *v, size_t *axis, part *parts,
                       size_t *count) {
  const surg_type *t = surg_value_type(v);
  part one;
  size_t seen = 0, along;
  *count = 0;
  if (!t || !surg_type_has_rank(t) || !part_of(p, first, t, axis, &one)) return false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (++seen > USES) return false;
    if (!n || surg_use_index(u) != 0 || surg_node_graph(n) != surg_node_graph(first) ||
        !part_of(p, n, t, &along, &one) || along != *axis)
      continue;
    if (!put(parts, count, &one)) return false;
  }
  int64_t end = 0;
  for (size_t i = 0; i < *count; i++) {
    if (parts[i].from != end) return false;
    end = parts[i].to;
  }
  return *count > 1 && end == surg_type_dim(t, *axis)->value;
}

/* Replaces the parts by a Split. Only done if n is the first of them in the graph: the Split is
 * inserted there. */
static surg_pass_result shares(surg_pass_ctx *p, surg_node *n) {
  part parts[PARTS];
  int64_t sizes[PARTS];
  size_t count, axis;
  surg_graph *g = surg_node_graph(n);
  surg_value *v = surg_node_input(n, 0);
  if (!v || surg_value_constant(v) || !shared_out(p, n, v, &axis, parts, &count))
    return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count; i++)
    if (surg_node_before(parts[i].node, n)) return SURG_PASS_UNCHANGED;
  if (!give_builtin(g, "Split") || !surg_graph_takes_constants(g) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  surg_node *split = surg_graph_add_node(g, n, "", "Split", 0);
  surg_status s = split ? surg_node_set_input(split, 0, v) : SURG_ENOMEM;
  if (!s) s = surg_node_set_int(split, "axis", (int64_t)axis);
  for (size_t i = 0; i < count; i++) sizes[i] = parts[i].to - parts[i].from;
  assert(count > 1 && count <= PARTS);
  if (!s) s = numbers_sizes(split, sizes, count);
  for (size_t i = 0; i < count && !s; i++) {
    s = surg_node_take_output(split, i, surg_node_output(parts[i].node, 0));
    if (!s) s = surg_node_erase(parts[i].node);
  }
  if (s) return SURG_PASS_FAILED;
  surg_pass_count(p, "parts", count);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  const int64_t opset = surg_graph_opset(g, "");
  const int ops[] = {SURG_OP_Concat, SURG_OP_Slice, SURG_OP_Gather};
  if (!each_has(g, ops, 3)) return result;
  for (surg_node *n = surg_graph_first_node(g), *next, *before; n; n = next) {
    surg_pass_result one = SURG_PASS_UNCHANGED;
    before = surg_node_prev(n);
    next = surg_node_next(n);
    if (is(n, SURG_OP_Concat) && opset >= 4) one = concat(p, n);
    if ((is(n, SURG_OP_Slice) || is(n, SURG_OP_Gather)) && opset >= 2) one = shares(p, n);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_UNCHANGED) continue;
    result = one;
    /* Nodes after n may be erased; continue after the node before n. */
    if (!before)
      next = surg_graph_first_node(g);
    else if (!surg_node_erased(before))
      next = surg_node_next(before);
  }
  return result;
}

const surg_pass surg__pass_merge_slices = {
    SURG_PASS_HEAD(GRAPH, "merge-slices", "merge Concat, Split, Slice and Gather along one axis"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
