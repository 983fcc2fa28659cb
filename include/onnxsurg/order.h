/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the inputs and outputs of a graph. Since 0.2. */
#ifndef ONNXSURG_ORDER_H
#define ONNXSURG_ORDER_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts the inputs (`outputs` false) or the outputs of a graph in another order: the one at position
 * order[i] moves to position i. `order` has n entries, each position once. Nodes refer to inputs
 * and outputs of inner graphs and of functions by position; the caller adapts those nodes.
 * SURG_EUSAGE: `order` is no such list. SURG_ENOMEM. O(n) */
SURG_EXPORT surg_status surg_graph_reorder(surg_graph *g, bool outputs, const size_t *order,
                                           size_t n);

#ifdef __cplusplus
}
#endif
#endif
