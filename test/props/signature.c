/* SPDX-License-Identifier: Apache-2.0 */
/* What a model computes as a number that names and the order of nodes do not change: a sum over its
 * nodes, each hashed with what it reads. Identity is seen through and only counted, since which of
 * two outputs keeps the name of a value may follow the order of nodes. */
#include "base/counted.h"
#include "props.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

#define NESTING 16

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n) {
  for (size_t i = 0; i < n; i++) h = mix(h, ((const uint8_t *)p)[i]);
  return mix(h, n);
}

static uint64_t mix_text(uint64_t h, const char *s) {
  return mix_bytes(h, s, strlen(s));
}

static uint64_t hash_tensor(const surg_tensor *t) {
  uint64_t h = mix(1, (uint64_t)surg_tensor_dtype(t)), bytes = surg_tensor_bytes(t);
  size_t rank = surg_tensor_rank(t);
  for (size_t i = 0; i < rank; i++) h = mix(h, (uint64_t)surg_tensor_dims(t)[i]);
  const surg_str *strings = surg__strings(t);
  for (uint64_t i = 0; strings && i < surg_tensor_count(t); i++)
    h = mix_bytes(h, strings[i].p, strings[i].n);
  uint8_t *p = strings ? NULL : malloc(bytes + 1);
  if (p && surg_tensor_read(t, 0, p, bytes) == SURG_OK) h = mix_bytes(h, p, bytes);
  free(p);
  return h;
}

static void set(surg_value *v, uint64_t h) {
  v->scratch = (void *)(uintptr_t)h;
}

static uint64_t get(const surg_value *v) {
  return v ? (uintptr_t)v->scratch : 7;
}

static uint64_t hash_graph(const surg_graph *g, unsigned depth);

static uint64_t hash_attr(const surg_attr *a, unsigned depth) {
  uint64_t h = mix_text(mix(2, surg_attr_get_kind(a)), surg_attr_name(a));
  float f = surg_attr_float(a);
  surg_str s = surg_attr_string(a);
  size_t n;
  const surg_graph *g;
  const surg_tensor *t;
  h = mix_bytes(mix(h, (uint64_t)surg_attr_int(a)), &f, sizeof f);
  if (s.p) h = mix_bytes(h, s.p, s.n);
  const int64_t *ints = surg_attr_ints(a, &n);
  for (size_t i = 0; ints && i < n; i++) h = mix(h, (uint64_t)ints[i]);
  const float *floats = surg_attr_floats(a, &n);
  if (floats) h = mix_bytes(h, floats, n * sizeof *floats);
  for (size_t i = 0; (t = surg_attr_tensor(a, i)); i++) h = mix(h, hash_tensor(t));
  for (size_t i = 0; (g = surg_attr_graph(a, i)); i++) h = mix(h, hash_graph(g, depth + 1));
  return h;
}

/* The node's own part of the sum; its outputs get their numbers. */
static uint64_t hash_node(const surg_node *n, unsigned depth) {
  uint64_t h = mix_text(mix_text(3, surg_node_op_type(n)), surg_node_domain(n));
  if (surg_node_op(n) == SURG_OP_Identity) {
    set(surg_node_output(n, 0), get(surg_node_input(n, 0)));
    return h;
  }
  const surg_value *first = surg_node_output(n, 0);
  if (surg_node_op(n) == SURG_OP_Constant && first && surg_value_constant(first)) {
    set(surg_node_output(n, 0), hash_tensor(surg_value_constant(first)));
    return 0;
  }
  for (size_t i = 0; i < surg_node_input_count(n); i++) h = mix(h, get(surg_node_input(n, i)));
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    h = mix(h, hash_attr(surg_node_attr_at(n, i), depth));
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    h = mix(h, v != NULL);
    if (v) set(v, mix(h, i));
  }
  return h;
}

static uint64_t hash_graph(const surg_graph *g, unsigned depth) {
  uint64_t sum = 0;
  if (depth > NESTING) return 0;
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
    set(v, surg_value_initializer(v) ? hash_tensor(surg_value_initializer(v)) : 5);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    set(v, mix(mix(4, depth), i));
  }
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    sum += hash_node(n, depth);
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    sum = mix(sum, get(surg_graph_output(g, i)));
  return sum;
}

uint64_t props_signature(const surg_model *m) {
  uint64_t h = hash_graph(surg_model_graph(m), 0);
  for (size_t i = 0; i < surg_model_function_count(m); i++)
    h = mix(h, hash_graph(surg_function_graph(surg_model_function(m, i)), 0));
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      v->scratch = NULL;
  return h;
}
