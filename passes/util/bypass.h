/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a node out: what it read goes on in place of what it gave. Shared by remove-op and
 * remove-node, whose option `map` it reads. */
#ifndef SURG_PASSES_BYPASS_H
#define SURG_PASSES_BYPASS_H

#include <onnxsurg/onnxsurg.h>

#define BYPASS_MAP \
  { "map", SURG_OPTION_LIST, NULL, "which input replaces which output: 0:1 (out:in)" }

/* FAILED, after a line, when the option `map` is no list of output:input. */
surg_pass_result bypass_check_map(surg_pass_ctx *p);
/* Takes the node out: CHANGED, UNCHANGED (the user protects it, or the limit is spent), or FAILED
 * after a line that says why it cannot be done. Types must be inferred. */
surg_pass_result bypass_node(surg_pass_ctx *p, surg_node *n);
/* Takes away the imports of a domain where nothing is of it any more. */
surg_pass_result bypass_drop_import(surg_pass_ctx *p, const char *domain);

#endif
