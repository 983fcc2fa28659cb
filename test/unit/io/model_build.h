/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small models from wire bytes, for tests of reading. Each function adds one thing to the
 * message it is given; `part` messages are freed by those that take them. */
#ifndef SURG_TEST_MODEL_BUILD_H
#define SURG_TEST_MODEL_BUILD_H

#include "wire_build.h"

/* Names separated by blanks, `-` for an absent one. */
static inline void mb_names(wire *w, unsigned number, const char *names) {
  while (*names) {
    size_t n = strcspn(names, " ");
    bool absent = n == 1 && names[0] == '-';
    wire_bytes(w, number, names, absent ? 0 : n);
    names += n + strspn(names + n, " ");
  }
}

static inline wire mb_node(const char *op, const char *in, const char *out) {
  wire n = {0};
  mb_names(&n, 1, in);
  mb_names(&n, 2, out);
  wire_str(&n, 4, op);
  return n;
}

static inline wire mb_node_in(const char *domain, const char *op, const char *in, const char *out) {
  wire n = mb_node(op, in, out);
  wire_str(&n, 7, domain);
  return n;
}

static inline void mb_attr_int(wire *node, const char *name, int64_t v) {
  wire a = {0};
  wire_str(&a, 1, name);
  wire_int(&a, 3, (uint64_t)v);
  wire_int(&a, 20, 2);
  wire_message(node, 5, a);
}

static inline void mb_attr_graph(wire *node, const char *name, wire graph) {
  wire a = {0};
  wire_str(&a, 1, name);
  wire_message(&a, 6, graph);
  wire_int(&a, 20, 5);
  wire_message(node, 5, a);
}

static inline void mb_attr_tensor(wire *node, const char *name, wire tensor) {
  wire a = {0};
  wire_str(&a, 1, name);
  wire_message(&a, 5, tensor);
  wire_int(&a, 20, 4);
  wire_message(node, 5, a);
}

/* rank -1: no dims given and no name */
static inline wire mb_tensor(const char *name, int dtype, const int64_t *dims, size_t rank) {
  wire t = {0};
  for (size_t i = 0; i < rank; i++) wire_int(&t, 1, (uint64_t)dims[i]);
  wire_int(&t, 2, (uint64_t)(int64_t)dtype);
  if (name) wire_str(&t, 8, name);
  return t;
}

static inline wire mb_vector(const char *name, int dtype, int64_t n, const void *raw,
                             size_t bytes) {
  wire t = mb_tensor(name, dtype, &n, 1);
  wire_bytes(&t, 9, raw, bytes);
  return t;
}

/* A tensor value of rank 1. */
static inline wire mb_value(const char *name, int dtype, int64_t dim) {
  wire d = {0}, shape = {0}, tensor = {0}, type = {0}, v = {0};
  wire_int(&d, 1, (uint64_t)dim);
  wire_message(&shape, 1, d);
  wire_int(&tensor, 1, (uint64_t)dtype);
  wire_message(&tensor, 2, shape);
  wire_message(&type, 1, tensor);
  wire_str(&v, 1, name);
  wire_message(&v, 2, type);
  return v;
}

static inline void mb_import(wire *model, unsigned number, const char *domain, int64_t version) {
  wire o = {0};
  if (*domain) wire_str(&o, 1, domain);
  wire_int(&o, 2, (uint64_t)version);
  wire_message(model, number, o);
}

/* A model of IR 8, opset 17 around a graph. */
static inline wire mb_model(wire graph) {
  wire m = {0};
  wire_int(&m, 1, 8);
  wire_message(&m, 7, graph);
  mb_import(&m, 8, "", 17);
  return m;
}

#endif
