/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the interpreter share. */
#ifndef SURG_MACHINE_H
#define SURG_MACHINE_H

#include "base/hash.h"
#include "eval/core/interpret.h"

/* The values that are live in one activation: the main graph or a call, with all subgraphs in it.
 * A call starts a fresh one, whose nodes may refer to attributes of the calling node. */
typedef struct surg__frame {
  struct surg__slot *values;
  const surg_node *caller; /* NULL: the main graph */
} surg__frame;

struct surg__machine {
  surg_context *ctx;
  surg_model *model;
  surg__session *session;
  surg__arena arena; /* of the whole run: plans, slots */
  struct surg__plan *plans;
  surg__frame *frame;
  unsigned depth;
};

/* --- interpret.c --- */
/* Notes why the run stops (the first reason counts) and returns s. */
surg_status surg__m_stop(surg__machine *m, surg_status s, const char *why);
/* Spends work; SURG_ELIMIT when there is none left. */
surg_status surg__m_spend(surg__machine *m, uint64_t work);
surg_status surg__m_turn(surg__machine *m); /* the same of a turn of a loop */
/* The array of a value, read from its initializer where it has one, or NULL with *s set. It stays
 * the frame's. */
const surg__array *surg__m_get(surg__machine *m, const surg_value *v, surg_status *s);
/* Takes over the array: the frame, or on failure nobody, keeps it. */
surg_status surg__m_set(surg__machine *m, const surg_value *v, surg__array *a);
void surg__m_unset(surg__machine *m, const surg_value *v);
/* Borrows input i of a node; absent: dtype UNDEFINED. */
surg_status surg__m_input(surg__machine *m, const surg_node *n, size_t i, surg__array *out);
/* Sets output i, which takes the array over. */
surg_status surg__m_output(surg__machine *m, const surg_node *n, size_t i, surg__array *a);
/* Runs a subgraph in the frame: `inputs` are borrowed, `outputs` the caller's to drop. */
surg_status surg__m_subgraph(surg__machine *m, surg_graph *g, const surg__array *inputs,
                             size_t n_in, surg__array *outputs, size_t n_out);
/* What an output of a subgraph is declared or proven to be, or NULL. */
const surg_type *surg__m_output_type(const surg_graph *g, size_t i);

/* --- control.c, scan.c: nodes that run subgraphs --- */
surg_status surg__m_if(surg__machine *m, surg_node *n);
surg_status surg__m_loop(surg__machine *m, surg_node *n);
surg_status surg__m_scan(surg__machine *m, surg_node *n);
surg_status surg__m_sequence_map(surg__machine *m, surg_node *n);
/* Arrays of one type and shape along a new axis of `out`, in order or reversed. Without any,
 * `type` (may be NULL) is what one is declared to be; dims it leaves open are 0. */
surg_status surg__m_stack(surg__machine *m, const surg__array *items, size_t count, int64_t axis,
                          bool reversed, const surg_type *type, surg__array *out);

/* --- plan.c: when values die --- */
/* The values of the node's graph that nothing reads once it is done. */
surg_status surg__m_dying(surg__machine *m, const surg_node *n, const surg_value *const **out,
                          size_t *count);
void surg__m_free_plans(surg__machine *m);

#endif
