/* SPDX-License-Identifier: Apache-2.0 */
/* Giving what one value was to another one, by an Identity where only that keeps a name. */
#ifndef SURG_PASSES_GIVE_H
#define SURG_PASSES_GIVE_H

#include <onnxsurg/onnxsurg.h>

/* Whether a node made in g under this name would be the operator of ONNX. */
bool give_builtin(const surg_graph *g, const char *op);
/* Whether an Identity of v can stand in g: it is the operator of ONNX there, and takes the type.
 * `old`: what v stands for, whose declared type serves where nothing is known of v. */
bool give_identity_stands(const surg_graph *g, const surg_value *v, const surg_value *old);
/* Gives all uses of `old`, an output of `before` or of a node behind it, to `by`: directly, or
 * through an Identity in front of `before`. SURG_EUNSUPPORTED: neither can be. */
surg_status give_uses(surg_pass_ctx *p, surg_node *before, surg_value *old, surg_value *by);
/* Gives all uses of the first output of n, the only one, to `by`, erases n and counts it as `what`.
 * UNCHANGED where only an Identity could keep a name, an annotation speaks of the output, the user
 * protects something that would lose its name, or no more rewrites are allowed. */
surg_pass_result give_result(surg_pass_ctx *p, surg_node *n, surg_value *by, const char *what);

#endif
