/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and domains that a user names, for the passes that change what a node is. */
#ifndef SURG_PASSES_DOMAINS_H
#define SURG_PASSES_DOMAINS_H

#include <onnxsurg/onnxsurg.h>

/* Whether it is ONNX's own. */
bool domains_default(const char *domain);
/* Whether `spec` ("Relu", "ai.onnx.Relu", "com.acme.FooOp") names an operator or function. */
bool domains_named(const char *spec, const char *domain, const char *name);
/* Whether an entry of a list option names it. */
bool domains_listed(const surg_pass_ctx *p, const char *option, const char *domain,
                    const char *name);
/* Reports whether g, or any graph, has a node of an operator that the user named. */
void domains_found(surg_pass_ctx *p, const surg_graph *g, const char *spec);
void domains_found_anywhere(surg_pass_ctx *p, const char *spec);
/* The domain of "com.acme.Foo" ("" for ONNX's own), *op the rest. NULL: no memory. */
const char *domains_split(surg_pass_ctx *p, const char *spec, const char **op);
/* Whether a node has the attributes that the operator takes: else why not, in `text`. */
bool domains_attrs_fit(const surg_node *n, const surg_schema *s, char *text, size_t size);
/* Imports the domain in the scope of g if it is not: the default domain cannot be. */
surg_status domains_import(surg_graph *g, const char *domain, int64_t version);
/* Whether a node has what its operator of ONNX, or the function it calls, takes: else why not, in
 * `text`. Of operators nobody knows nothing is asked. */
bool domains_takes(const surg_node *n, char *text, size_t size);

#endif
