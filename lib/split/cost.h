/* SPDX-License-Identifier: Apache-2.0 */
/* Positions for cuts: parts of equal size with few values between them. */
#ifndef SURG_SPLIT_COST_H
#define SURG_SPLIT_COST_H

#include "split/split.h"

#define SURG__SPLIT_PARTS 10000u /* most parts */

/* The number of a node of the main graph, while a plan is made. */
size_t surg__split_index(const surg_node *n);
/* Divides the nodes by `parts` or `max_bytes`; sets s->part and s->n_parts. */
surg_status surg__split_balance(surg_split *s, surg_node **nodes, const surg_split_options *o);

#endif
