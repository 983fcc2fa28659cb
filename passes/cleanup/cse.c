/* SPDX-License-Identifier: Apache-2.0 */
/* Merges nodes of one graph that compute the same: equal operator, attributes (an absent one equals
 * its default) and inputs. The first node stays. Never merged: nodes whose result may differ
 * between runs, custom operators, nodes with subgraphs, and nodes where only an Identity could keep
 * the name of an output, or an annotation refers to an output.
 *
 *   before: (x) => (y) { a = Abs (x)   b = Abs (x)   y = Add (a, b) }
 *   after:  (x) => (y) { a = Abs (x)   y = Add (a, a) }
 *
 * Needs sorted: nodes are visited in order, so that outputs of merged nodes are replaced before
 * their consumers are compared. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "../util/same.h"
#include "../util/table.h"
#include "../util/values.h"

/* ---- equality -------------------------------------------------------------------------------- */

static uint32_t float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static int same_nodes(void *unused, const void *x, const void *y) {
  const surg_node *a = x, *b = y;
  assert(a && b); /* the table has no NULL entries */
  (void)unused;
  return surg_node_op(a) == surg_node_op(b) ? same_parts(a, b) : 0;
}

/* ---- a hash consistent with it --------------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, surg_str s) {
  for (size_t i = 0; i < s.n; i++) h = table_mix(h, (uint8_t)s.p[i]);
  return table_mix(h, s.n);
}

static bool hash_tensors(const surg_attr *a, uint64_t *h) {
  const surg_tensor *t;
  for (size_t i = 0; (t = surg_attr_tensor(a, i)); i++) {
    uint64_t one = 0;
    const surg_status s = surg_tensor_hash(t, &one);
    if (s != SURG_OK && s != SURG_EUNSUPPORTED) return false;
    if (s == SURG_OK) *h = table_mix(*h, one);
  }
  return true;
}

/* Hashes an attribute of the schema; an absent one hashes as its default. */
static bool hash_attr(const surg_node *n, const char *name, surg_attr_kind kind, uint64_t *h) {
  const surg_attr *a = surg_node_attr(n, name);
  size_t k;
  switch (kind) {
    case SURG_ATTR_INT: *h = table_mix(*h, (uint64_t)surg_node_int(n, name, 0)); break;
    case SURG_ATTR_FLOAT: *h = table_mix(*h, float_bits(surg_node_float(n, name, 0))); break;
    case SURG_ATTR_STRING: *h = hash_text(*h, surg_node_string(n, name, "")); break;
    case SURG_ATTR_INTS: {
      const int64_t *x = surg_node_ints(n, name, &k);
      for (size_t i = 0; i < k; i++) *h = table_mix(*h, (uint64_t)x[i]);
      *h = table_mix(*h, k);
      break;
    }
    case SURG_ATTR_FLOATS: {
      const float *x = surg_attr_floats(a, &k);
      for (size_t i = 0; a && i < k; i++) *h = table_mix(*h, float_bits(x[i]));
      break;
    }
    case SURG_ATTR_STRINGS: {
      const surg_str *x = surg_attr_strings(a, &k);
      for (size_t i = 0; a && i < k; i++) *h = hash_text(*h, x[i]);
      break;
    }
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS: return hash_tensors(a, h);
    default: break;
  }
  return true;
}

static bool hash_node(const surg_node *n, uint64_t *h) {
  const surg_schema *s = surg_node_schema(n);
  size_t inputs = surg_node_input_count(n);
  assert(s && h); /* plain() checked it */
  while (inputs && !surg_node_input(n, inputs - 1)) inputs--;
  *h = table_mix((uint64_t)surg_node_op(n), surg_node_output_count(n));
  for (size_t i = 0; i < inputs; i++) *h = table_mix(*h, (uintptr_t)surg_node_input(n, i));
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (!hash_attr(n, surg_schema_attr_name(s, i), surg_schema_attr_kind(s, i), h)) return false;
  return true;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool plain(const surg_node *n) {
  return surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_schema(n) &&
         !surg_node_subgraph(n, 0) && !surg_node_nondeterministic(n);
}

/* Whether output i of n can be replaced by output i of `first`. */
static bool can_go(surg_pass_ctx *p, const surg_node *n, const surg_node *first, size_t i) {
  const surg_value *v = surg_node_output(n, i), *by = surg_node_output(first, i);
  if (!v) return true;
  if (values_annotated(v) || surg_value_is_pinned(v) || surg_pass_keeps_value(p, v)) return false;
  if (!surg_value_use_count(v, 1)) return true;
  if (!by) return false;
  const surg_replace how = surg_value_can_replace(v, by);
  if (how == SURG_REPLACE_BY_LABEL) return !surg_pass_keeps_value(p, by);
  return how == SURG_REPLACE_YES;
}

/* Replaces n by `first`: CHANGED, UNCHANGED, or FAILED (out of memory). */
static surg_pass_result merge(surg_pass_ctx *p, surg_node *n, surg_node *first) {
  const size_t count = surg_node_output_count(n);
  assert(n != first && surg_node_op(n) == surg_node_op(first));
  assert(surg_node_graph(n) == surg_node_graph(first)); /* one table per graph */
  if (surg_pass_keeps_node(p, n)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count; i++)
    if (!can_go(p, n, first, i)) return SURG_PASS_UNCHANGED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count; i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && surg_value_use_count(v, 1) && surg_value_replace(v, surg_node_output(first, i)))
      return SURG_PASS_FAILED;
  }
  if (surg_node_erase(n)) return SURG_PASS_FAILED;
  surg_pass_count(p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  table seen;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (surg_graph_node_count(g) < 2) return result;
  if (!table_make(&seen, p, surg_graph_node_count(g))) return SURG_PASS_FAILED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    uint64_t hash;
    next = surg_node_next(n);
    if (!plain(n)) continue;
    surg_node *first = hash_node(n, &hash) ? table_meet(&seen, hash, n, same_nodes, NULL) : NULL;
    if (!first) return SURG_PASS_FAILED;
    if (first == n) continue;
    const surg_pass_result one = merge(p, n, first);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

const surg_pass surg__pass_cse = {
    SURG_PASS_HEAD(GRAPH, "cse", "merge nodes with equal operator, attributes and inputs"),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
