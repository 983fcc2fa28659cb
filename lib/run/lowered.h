/* SPDX-License-Identifier: Apache-2.0 */
/* Computes nodes of operators without a kernel as what the rules replace them by: operators of the
 * standard. */
#ifndef SURG_RUN_LOWERED_H
#define SURG_RUN_LOWERED_H

#include "eval/core/interpret.h"

typedef struct surg__lowered surg__lowered;

/* What computes such nodes of models of the context; NULL: out of memory. */
surg__lowered *surg__lowered_new(surg_context *ctx);
void surg__lowered_free(surg__lowered *l);
/* For `otherwise` of a session; `user` is a surg__lowered. SURG_EUNSUPPORTED: no rule replaces the
 * node, or what replaces it is not computed either. */
surg_status surg__lowered_compute(void *user, surg_node *n, surg__machine *m, surg__session *limits,
                                  surg__array *out);
/* Forgets which operators were computed so, at the start of a run. */
void surg__lowered_begin(surg__lowered *l);
/* A sum over the nodes that were computed so since then, by their operators; 0: there are none.
 * *first (may be NULL): the operator of the first. */
uint64_t surg__lowered_marks(const surg__lowered *l, const char **first);

#endif
