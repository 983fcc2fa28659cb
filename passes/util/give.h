/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a value by another one, with an Identity where a name can be kept no other way. */
#ifndef SURG_PASSES_GIVE_H
#define SURG_PASSES_GIVE_H

#include <onnxsurg/onnxsurg.h>

/* Whether a node with this name, added to g, is the ONNX operator (not a model function). */
bool give_builtin(const surg_graph *g, const char *op);
/* Whether an Identity of v is valid in g: the operator exists there and supports the type. If
 * the type of v is unknown, the declared type of `old`, which v replaces, is used. */
bool give_identity_stands(const surg_graph *g, const surg_value *v, const surg_value *old);
/* Replaces all uses of `old` by `by`, directly or through an Identity inserted before `before`.
 * `old` is an output of `before` or of a later node. SURG_EUNSUPPORTED: neither is possible. */
surg_status give_uses(surg_pass_ctx *p, surg_node *before, surg_value *old, surg_value *by);
/* Replaces the only output of n by `by`, erases n and counts it as `what`. UNCHANGED if a name
 * can only be kept by an Identity, an annotation refers to the output, the user protects a name
 * that would be lost, or the limit of rewrites is reached. */
surg_pass_result give_result(surg_pass_ctx *p, surg_node *n, surg_value *by, const char *what);
/* Lets all nodes that read `old`, but `except` (may be NULL), read `by`. Outputs of graphs keep
 * `old`. False: out of memory. */
bool give_readers(surg_pass_ctx *p, surg_value *old, surg_value *by, const surg_node *except);

#endif
