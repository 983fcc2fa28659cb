/* SPDX-License-Identifier: Apache-2.0 */
/* What measuring kernels takes: made-up arrays, single nodes, memcpy to hold them against.
 * Processor time of this thread. */
#ifndef SURG_BENCH_H
#define SURG_BENCH_H

#include "eval/core/value.h"

bool bench_start(void);
void bench_end(void);
double bench_now(void);
double bench_wall(void);
/* Memory as the library gets it; ends the program when there is none. */
void *bench_room(size_t n);
/* Small numbers of every type, none of them special, the same each time. The caller frees data. */
surg__array bench_filled(int dtype, const int64_t *dims, uint32_t rank);
surg_node *bench_node(const char *op, uint32_t n_in);
/* Seconds of one node, the best of up to so many rounds; negative when it is not computed, *why
 * says it. */
double bench_compute(surg_node *n, const surg__array *in, uint32_t n_in, int rounds,
                     const char **why);
/* Bytes a second of memcpy, the best of some rounds: into memory that is there, and into memory the
 * system has to hand out first, as kernels get theirs. */
void bench_copy(size_t bytes, int rounds, double *warm, double *fresh);

#endif
