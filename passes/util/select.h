/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and values that options name by address (onnxsurg/edit.h). */
#ifndef SURG_PASSES_SELECT_H
#define SURG_PASSES_SELECT_H

#include <onnxsurg/onnxsurg.h>

/* The only node or value of an address. NULL after an error that names `option`. */
surg_node *select_node(surg_pass_ctx *p, const char *option, const char *address);
surg_value *select_value(surg_pass_ctx *p, const char *option, const char *address);
/* All nodes or values of an address, in memory of the pass. NULL after an error that names
 * `option`. */
surg_node **select_nodes(surg_pass_ctx *p, const char *option, const char *address, size_t *count);
surg_value **select_values(surg_pass_ctx *p, const char *option, const char *address,
                           size_t *count);
/* All nodes or values of the addresses of a LIST option, one after the other. */
surg_node **select_node_list(surg_pass_ctx *p, const char *option, size_t *count);
surg_value **select_value_list(surg_pass_ctx *p, const char *option, size_t *count);
/* Whether v is a value of the main graph; if not, after an error that names `option`. */
bool select_in_main(surg_pass_ctx *p, const char *option, const surg_value *v);

#endif
