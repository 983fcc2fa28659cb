/* SPDX-License-Identifier: Apache-2.0 */
/* Variadic operators for versions that support fewer types or do not broadcast: two inputs at a
 * time, or each input expanded to the shape of the result. */
#include "rewrite/lower/terms.h"

/* The matched node if all its attributes are known and no input is absent; else NULL. */
static const surg_node *whole(const surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg_node_input_count(n)) return NULL;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (!surg_node_input(n, i)) return NULL;
  return n;
}

static val sum_of(surg__builder *b, const surg_node *n) {
  const size_t count = surg_node_input_count(n);
  val sum = surg_node_input(n, 0);
  for (size_t i = 1; i < count && !b->status; i++) sum = add(b, sum, surg_node_input(n, i));
  return count > 1 ? sum : surg__b_unary(b, "Identity", sum);
}

/* y = Sum (...) */
static surg_status sum_by_pairs(surg__builder *b) {
  const surg_node *n = whole(b);
  if (surg__b_bad(b, !n, "an input is absent")) return SURG_EUNSUPPORTED;
  surg__b_result(b, "y", sum_of(b, n));
  return b->status;
}

/* y = Mean (...) */
static surg_status mean_by_pairs(surg__builder *b) {
  const surg_node *n = whole(b);
  const int dtype = n ? dtype_of(surg_node_input(n, 0)) : 0;
  if (surg__b_bad(b, !dtype, "an element type is unknown or unsupported")) return SURG_EUNSUPPORTED;
  const val sum = sum_of(b, n);
  const val count = number(b, dtype, (double)surg_node_input_count(n));
  surg__b_result(b, "y", divide(b, sum, count));
  return b->status;
}

/* y = Max (...), y = Min (...), for integers */
static surg_status extremes_by_pairs(surg__builder *b) {
  const surg_node *n = whole(b);
  if (surg__b_bad(b, !n, "an input is absent")) return SURG_EUNSUPPORTED;
  const char *first = surg_node_op(n) == SURG_OP_Max ? "Greater" : "Less";
  const size_t count = surg_node_input_count(n);
  val best = surg_node_input(n, 0);
  for (size_t i = 1; i < count && !b->status; i++) {
    const val next = surg_node_input(n, i);
    const val stays = op2(b, first, best, next);
    best = where(b, stays, best, next);
  }
  surg__b_result(b, "y", count > 1 ? best : surg__b_unary(b, "Identity", best));
  return b->status;
}

/* Whether v has a static shape that broadcasts to `to`. */
static bool spreads(surg_value *v, const surg__built *to, surg__built *x) {
  if (!surg__built_of(v, x) || !surg__built_static(x) || x->rank > to->rank) return false;
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->d[i].n != 1 && x->d[i].n != to->d[to->rank - x->rank + i].n) return false;
  return true;
}

/* Expands x to the shape `to`: leading axes, then Tile. */
static val spread(surg__builder *b, const surg__built *x, const surg__built *to) {
  assert(x->rank <= to->rank);
  int64_t axes[SURG__BT_RANK], times[SURG__BT_RANK];
  const uint32_t more = to->rank - x->rank;
  bool same = !more;
  for (uint32_t i = 0; i < to->rank; i++) {
    axes[i] = i;
    assert(i < more || x->d[i - more].n > 0); /* the result is not empty */
    times[i] = to->d[i].n / (i < more ? 1 : x->d[i - more].n);
    same = same && times[i] == 1;
  }
  if (same) return x->v;
  const val v = more ? surg__b_over(b, "Unsqueeze", x->v, axes, more) : x->v;
  return op2(b, "Tile", v, surg__b_ints(b, times, to->rank));
}

/* y = OP (...), for operators whose old versions require inputs of one shape */
static surg_status inputs_spread(surg__builder *b) {
  const surg_node *n = whole(b);
  surg__built x, y;
  uint64_t elements;
  if (surg__b_bad(b, !n, "the node is gone") || !surg__built_of(surg_node_output(n, 0), &y) ||
      surg__b_bad(b, !surg__built_static(&y), "y: sizes are unknown") ||
      surg__b_bad(b, !surg__built_count(&y, UINT64_MAX, &elements),
                  "y: the number of elements is unknown or too large") ||
      surg__b_bad(b, !elements, "y: expected at least one element"))
    return SURG_EUNSUPPORTED;
  const size_t count = surg_node_input_count(n);
  val *in = surg__arena_array(b->m->arena, count, sizeof *in);
  if (!in) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++)
    if (surg__b_bad(b, !spreads(surg_node_input(n, i), &y, &x),
                    "an input is not known to broadcast to the result"))
      return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < count && spreads(surg_node_input(n, i), &y, &x); i++)
    in[i] = spread(b, &x, &y);
  surg__b_result(b, "y", surg__b_node(b, surg_node_op_type(n), in, count));
  return b->status;
}

const surg__native surg__natives_many[] = {
    {"sum_by_pairs", sum_by_pairs, "Sum as additions"},
    {"mean_by_pairs", mean_by_pairs, "Mean as additions and a quotient"},
    {"extremes_by_pairs", extremes_by_pairs, "Max and Min as comparisons and choices"},
    {"inputs_spread", inputs_spread, "each input repeated to the size of the result"},
    {NULL, NULL, NULL},
};
