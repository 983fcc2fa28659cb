/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of control-flow nodes (Loop, Scan, If) and of their body graphs. */
#ifndef SURG_PASSES_BODIES_H
#define SURG_PASSES_BODIES_H

#include <onnxsurg/onnxsurg.h>

/* A Loop or Scan and the offsets of its states. Inputs of the body, in order: iteration number
 * and condition (Loop only), states, slices (Scan only). Outputs: condition (Loop only), states,
 * scan outputs. */
typedef struct bodies_loop {
  surg_node *n;
  surg_graph *body;
  bool scan;
  size_t first_in, first_out; /* index of the first state in the body's interface */
  size_t states;
  size_t slices; /* scan inputs, sliced by iteration (Scan only) */
} bodies_loop;

/* Fills in `l` from n. False: the body does not match the node, or the Scan has a batch axis
 * (before opset 9). */
bool bodies_loop_of(bodies_loop *l, surg_node *n);
/* The graph stored in an attribute; NULL: the attribute is absent, no graph, or a reference. */
surg_graph *bodies_graph(const surg_node *n, const char *attr);
/* The value before a chain of Identity nodes that ends in v; v itself if there is none. */
surg_value *bodies_origin(surg_value *v);
/* Whether output i has a use. */
bool bodies_read(const surg_node *n, size_t i);

#endif
