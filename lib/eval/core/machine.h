/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the interpreter. */
#ifndef SURG_MACHINE_H
#define SURG_MACHINE_H

#include "base/hash.h"
#include "eval/core/interpret.h"

/* The live values of one activation: the main graph or one call, with all subgraphs in it. A call
 * has a new frame, whose nodes may refer to attributes of the calling node. */
typedef struct surg__frame {
  struct surg__slot *values;
  const surg_node *caller; /* NULL: the main graph */
} surg__frame;

struct surg__machine {
  surg_context *ctx;
  surg_model *model;
  surg__session *session;
  surg__arena arena; /* memory of the whole run: plans, slots */
  struct surg__plan *plans;
  surg__frame *frame;
  unsigned depth;
};

/* --- interpret.c --- */
/* Records why the run stops (the first reason is kept) and returns s. */
surg_status surg__m_stop(surg__machine *m, surg_status s, const char *why);
/* Adds to the operations of the run; SURG_ELIMIT: over the limit. */
surg_status surg__m_spend(surg__machine *m, uint64_t work);
surg_status surg__m_turn(surg__machine *m); /* the same for one loop iteration */
/* The array of a value, read from its initializer if it has one; NULL: *s is set. The frame owns
 * it. */
const surg__array *surg__m_get(surg__machine *m, const surg_value *v, surg_status *s);
/* As surg__m_get, for a reader of streams: the array may be one. */
const surg__array *surg__m_peek(surg__machine *m, const surg_value *v, surg_status *s);
/* Moves the array into the frame; on failure it is dropped. */
surg_status surg__m_set(surg__machine *m, const surg_value *v, surg__array *a);
void surg__m_unset(surg__machine *m, const surg_value *v);
/* Borrows input i of a node; absent: dtype UNDEFINED. */
surg_status surg__m_input(surg__machine *m, const surg_node *n, size_t i, surg__array *out);
/* Sets output i, and moves the array into the frame; on failure it is dropped. */
surg_status surg__m_output(surg__machine *m, const surg_node *n, size_t i, surg__array *a);
/* Runs a subgraph in the current frame: borrows `inputs`; the caller drops `outputs`. */
surg_status surg__m_subgraph(surg__machine *m, surg_graph *g, const surg__array *inputs,
                             size_t n_in, surg__array *outputs, size_t n_out);
/* The declared or inferred type of an output of a subgraph, or NULL. */
const surg_type *surg__m_output_type(const surg_graph *g, size_t i);

/* --- control.c, scan.c: nodes that run subgraphs --- */
surg_status surg__m_if(surg__machine *m, surg_node *n);
surg_status surg__m_loop(surg__machine *m, surg_node *n);
surg_status surg__m_scan(surg__machine *m, surg_node *n);
surg_status surg__m_sequence_map(surg__machine *m, surg_node *n);
/* Stacks arrays of one type and shape along a new axis, in order or reversed. With no array, the
 * result has the element type and dimensions of `type` (may be NULL); unknown dimensions are 0. */
surg_status surg__m_stack(surg__machine *m, const surg__array *items, size_t count, int64_t axis,
                          bool reversed, const surg_type *type, surg__array *out);

/* --- plan.c: lifetimes of values --- */
/* The values of the node's graph that have no use after the node. */
surg_status surg__m_dying(surg__machine *m, const surg_node *n, const surg_value *const **out,
                          size_t *count);
void surg__m_free_plans(surg__machine *m);

#endif
