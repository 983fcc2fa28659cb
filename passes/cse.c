/* SPDX-License-Identifier: Apache-2.0 */
/* Of nodes of one graph that compute the same from the same, the first one stays: equal operator,
 * attributes (one that is not there is its default) and inputs. Never nodes whose result may differ
 * from run to run, operators that are not builtin, nodes with subgraphs. Where only an Identity
 * could keep the name of an output, or an annotation speaks of it, the node stays.
 *
 *   before: (x) => (y) { a = Abs (x)   b = Abs (x)   y = Add (a, b) }
 *   after:  (x) => (y) { a = Abs (x)   y = Add (a, a) }
 *
 * Needs sorted: nodes are visited in order, so that what an equal node gave has been replaced
 * before its readers are looked at. Keeps sorted. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "table.h"
#include "values.h"

/* ---- what is equal --------------------------------------------------------------------------- */

static bool same_text(surg_str a, surg_str b) {
  return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static uint32_t float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static bool same_ints(const int64_t *a, size_t n, const int64_t *b, size_t k) {
  return n == k && (!n || memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_floats(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const float *x = surg_attr_floats(a, &n), *y = surg_attr_floats(b, &k);
  return n == k && (!n || memcmp(x, y, n * sizeof *x) == 0);
}

static bool same_strings(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const surg_str *x = surg_attr_strings(a, &n), *y = surg_attr_strings(b, &k);
  bool same = n == k;
  for (size_t i = 0; same && i < n; i++) same = same_text(x[i], y[i]);
  return same;
}

/* 1: equal, 0: not (or nobody can tell), -1: it failed. */
static int same_tensors(const surg_attr *a, const surg_attr *b) {
  for (size_t i = 0;; i++) {
    const surg_tensor *x = surg_attr_tensor(a, i), *y = surg_attr_tensor(b, i);
    if (!x || !y) return x == y && i > 0;
    bool same;
    const surg_status s = surg_tensor_same(x, y, &same);
    if (s != SURG_OK && s != SURG_EUNSUPPORTED) return -1;
    if (s != SURG_OK || !same) return 0;
  }
}

static int same_types(const surg_attr *a, const surg_attr *b) {
  for (size_t i = 0;; i++) {
    const surg_type *x = surg_attr_type(a, i), *y = surg_attr_type(b, i);
    if (!x || !y) return x == y && i > 0;
    if (!surg_type_equal(x, y)) return 0;
  }
}

/* Two attributes that are both written. */
static int same_written(const surg_attr *a, const surg_attr *b) {
  const surg_attr_kind kind = surg_attr_get_kind(a);
  const char *ref = surg_attr_ref(a), *other = surg_attr_ref(b);
  if (kind != surg_attr_get_kind(b)) return 0;
  if (ref || other) return ref && other && strcmp(ref, other) == 0;
  switch (kind) {
    case SURG_ATTR_INT: return surg_attr_int(a) == surg_attr_int(b);
    case SURG_ATTR_FLOAT: return float_bits(surg_attr_float(a)) == float_bits(surg_attr_float(b));
    case SURG_ATTR_STRING: return same_text(surg_attr_string(a), surg_attr_string(b));
    case SURG_ATTR_FLOATS: return same_floats(a, b);
    case SURG_ATTR_STRINGS: return same_strings(a, b);
    case SURG_ATTR_INTS: {
      size_t n, k;
      const int64_t *x = surg_attr_ints(a, &n), *y = surg_attr_ints(b, &k);
      return same_ints(x, n, y, k);
    }
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS: return same_tensors(a, b);
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS: return same_types(a, b);
    default: return 0;
  }
}

/* Whether the node, which does not have the attribute, has it as a default. Each question is asked
 * with a fallback that is not the value. */
static bool is_default(const surg_node *n, const surg_attr *a) {
  const char *name = surg_attr_name(a);
  if (surg_attr_ref(a)) return false;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT: return surg_node_int(n, name, ~surg_attr_int(a)) == surg_attr_int(a);
    case SURG_ATTR_FLOAT: {
      const uint32_t bits = float_bits(surg_attr_float(a));
      return float_bits(surg_node_float(n, name, bits ? 0.0F : 1.0F)) == bits;
    }
    case SURG_ATTR_STRING: {
      const surg_str s = surg_attr_string(a);
      return same_text(surg_node_string(n, name, s.n ? "" : "?"), s);
    }
    case SURG_ATTR_INTS: {
      size_t k, count;
      const int64_t *given = surg_attr_ints(a, &count), *known = surg_node_ints(n, name, &k);
      return known && same_ints(given, count, known, k);
    }
    default: return false;
  }
}

/* Attributes of a, against those of b; where b has one, both are compared. */
static int same_attrs(const surg_node *a, const surg_node *b) {
  for (size_t i = 0; i < surg_node_attr_count(a); i++) {
    const surg_attr *x = surg_node_attr_at(a, i), *y = surg_node_attr(b, surg_attr_name(x));
    const int answer = y ? same_written(x, y) : is_default(b, x);
    if (answer <= 0) return answer;
  }
  return 1;
}

static bool same_inputs(const surg_node *a, const surg_node *b) {
  const size_t n = surg_node_input_count(a), k = surg_node_input_count(b);
  for (size_t i = 0; i < n || i < k; i++)
    if (surg_node_input(a, i) != surg_node_input(b, i)) return false;
  return true;
}

static int same_nodes(void *unused, const void *x, const void *y) {
  const surg_node *a = x, *b = y;
  (void)unused;
  if (surg_node_op(a) != surg_node_op(b)) return 0;
  if (strcmp(surg_node_overload(a), surg_node_overload(b)) != 0) return 0;
  if (surg_node_output_count(a) != surg_node_output_count(b) || !same_inputs(a, b)) return 0;
  const int there = same_attrs(a, b);
  return there <= 0 ? there : same_attrs(b, a);
}

/* ---- a hash that agrees with it -------------------------------------------------------------- */

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

/* One that the schema knows: its default counts as if it were written. */
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

/* Whether output i of `n` can be output i of `first`. */
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

/* CHANGED, UNCHANGED, or FAILED: out of memory. */
static surg_pass_result merge(surg_pass_ctx *p, surg_node *n, surg_node *first) {
  const size_t count = surg_node_output_count(n);
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
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "cse",
    .help = "merge nodes that compute the same from the same",
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
