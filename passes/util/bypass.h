/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a node and replaces its outputs by its inputs. Shared by remove-op and remove-node;
 * reads their option `map`. */
#ifndef SURG_PASSES_BYPASS_H
#define SURG_PASSES_BYPASS_H

#include <onnxsurg/onnxsurg.h>

#define BYPASS_MAP SURG_OPTION(LIST, "map", NULL, "which input replaces which output: 0:1 (out:in)")

/* FAILED, after a usage message, if an entry of the option `map` is not output:input. */
surg_pass_result bypass_check_map(surg_pass_ctx *p);
/* Removes n and replaces its used outputs by inputs. UNCHANGED: the user protects the node, or
 * the limit of rewrites is reached. FAILED: impossible (after a message with the reason) or out
 * of memory. Types must be inferred. */
surg_pass_result bypass_node(surg_pass_ctx *p, surg_node *n);
/* Removes the imports of a domain that no node uses any more. */
surg_pass_result bypass_drop_import(surg_pass_ctx *p, const char *domain);

#endif
