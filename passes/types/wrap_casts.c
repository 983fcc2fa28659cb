/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts Casts around the nodes of one operator, so that they compute in an element type that the
 * engine supports: one of `types`, for one type parameter of the operator. Done only where the
 * result stays the same; the table is in lib/opset/widen.c and is shared with opset conversion.
 * int64 becomes int32 where value ranges prove that every element fits.
 *
 *   wrap-casts{op=Max,types=int32+float}
 *   before: (int8[2] x, int8[2] y) => (int8[2] z) { z = Max (x, y) }
 *   after:  (int8[2] x, int8[2] y) => (int8[2] z) { a = Cast <to = 6> (x)  b = Cast <to = 6> (y)
 *                                                   c = Max (a, b)  z = Cast <to = 3> (c) }
 *
 * Needs sorted, types. Keeps sorted. Exact, or ulp where the wider float rounds at the end. */
#include "../util/domains.h"

static bool types_of(surg_pass_ctx *p, uint64_t *out) {
  const size_t n = surg_pass_list_count(p, "types");
  *out = 0;
  for (size_t i = 0; i < n; i++) {
    const int dtype = surg_dtype_from_name(surg_pass_list_at(p, "types", i));
    if (dtype <= 0 || dtype >= 64) return false;
    *out |= UINT64_C(1) << dtype;
  }
  return n > 0;
}

static surg_pass_result visit(surg_pass_ctx *p, surg_node *n, uint64_t types) {
  surg_exactness used = SURG_EXACT;
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_pass_keeps_node(p, n) ||
      !domains_listed(p, "op", surg_node_domain(n), surg_node_op_type(n)) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  const surg_exactness most = surg_pass_allows(p, SURG_ULP) ? SURG_ULP : SURG_EXACT;
  const surg_status s = surg_node_wrap(n, surg_pass_string(p, "param"), types, most, &used);
  if (s == SURG_ENOTFOUND || s == SURG_EUNSUPPORTED) {
    surg_pass_give_back(p);
    if (s == SURG_ENOTFOUND)
      surg_pass_note(p, n, "not wrapped: it is of a supported type already");
    else
      surg_pass_left(p, n, "not wrapped: its result would change, or its types are unknown");
    return SURG_PASS_UNCHANGED;
  }
  if (s != SURG_OK) return SURG_PASS_FAILED;
  surg_pass_used(p, used);
  surg_pass_count(p, "nodes wrapped", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  uint64_t types;
  if (!surg_pass_list_count(p, "op") || !types_of(p, &types))
    return surg_pass_usage(p, "needs operators (op) and element types that they accept (types)");
  for (size_t i = 0; i < surg_pass_list_count(p, "op"); i++)
    domains_found(p, g, surg_pass_list_at(p, "op", i));
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    const surg_pass_result r = visit(p, n, types);
    if (r == SURG_PASS_FAILED) return r;
    if (r == SURG_PASS_CHANGED) result = r;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "op", NULL, "operators"),
    SURG_OPTION(LIST, "types", NULL, "element types the engine supports"),
    SURG_OPTION(STRING, "param", "0", "type parameter; 0: the one of the first input"),
};

const surg_pass surg__pass_wrap_casts = {
    SURG_PASS_HEAD(GRAPH, "wrap-casts", "compute an operator in another type, between Casts"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ULP,
    .run = run,
};
