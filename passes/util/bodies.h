/* SPDX-License-Identifier: Apache-2.0 */
/* How Loop, Scan and If stand to the graphs in them. */
#ifndef SURG_PASSES_BODIES_H
#define SURG_PASSES_BODIES_H

#include <onnxsurg/onnxsurg.h>

/* A Loop or Scan. Entries of the body's interface are in order: what says of the trip, states,
 * slices (Scan); what says of going on (Loop), states, what is collected. */
typedef struct bodies_loop {
  surg_node *n;
  surg_graph *body;
  bool scan;
  size_t first_in, first_out; /* of the states in the body's interface */
  size_t states;
  size_t slices; /* inputs of a Scan that are cut */
} bodies_loop;

/* Fills in what n is; false: its body does not fit, or has a batch (Scan before opset 9). */
bool bodies_loop_of(bodies_loop *l, surg_node *n);
/* The graph in an attribute; NULL: there is none, or it is a reference. */
surg_graph *bodies_graph(const surg_node *n, const char *attr);
/* What Identity nodes before v only pass on. */
surg_value *bodies_origin(surg_value *v);
/* Whether anything reads output i. */
bool bodies_read(const surg_node *n, size_t i);

#endif
