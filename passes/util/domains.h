/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of operators and domains that the user names, for passes that change operators. */
#ifndef SURG_PASSES_DOMAINS_H
#define SURG_PASSES_DOMAINS_H

#include <onnxsurg/onnxsurg.h>

/* Whether `domain` is ONNX's own ("" or "ai.onnx"). */
bool domains_default(const char *domain);
/* Whether ONNX defines its operators: the default domain or one below "ai.onnx". */
bool domains_onnx(const char *domain);
/* Whether `spec` ("Relu", "ai.onnx.Relu", "com.acme.FooOp") names an operator or function. */
bool domains_named(const char *spec, const char *domain, const char *name);
/* Whether an entry of the list option `option` names the operator. */
bool domains_listed(const surg_pass_ctx *p, const char *option, const char *domain,
                    const char *name);
/* Reports whether the graph g, or any graph, has a node of the operator that the user named. */
void domains_found(surg_pass_ctx *p, const surg_graph *g, const char *spec);
void domains_found_anywhere(surg_pass_ctx *p, const char *spec);
/* Splits "com.acme.Foo": returns the domain ("" for ONNX's own), *op is the operator. NULL: out
 * of memory. The domain is memory of the pass, *op points into `spec`. */
const char *domains_split(surg_pass_ctx *p, const char *spec, const char **op);
/* Whether the schema accepts the numbers of inputs and outputs of n. If not, the reason is written
 * to `text`. */
bool domains_counts_fit(const surg_node *n, const surg_schema *s, char *text, size_t size);
/* Whether the attributes of n match the schema: all known, of the right kind, required ones
 * present. If not, the reason is written to `text`. */
bool domains_attrs_fit(const surg_node *n, const surg_schema *s, char *text, size_t size);
/* Imports the domain in the scope of g (function or model) unless it is already imported. */
surg_status domains_import(surg_graph *g, const char *domain, int64_t version);
/* Whether n is a valid use of its operator or function: number of inputs and outputs,
 * attributes. If not, the reason is written to `text`. Unknown operators are accepted, unless the
 * name or the domain is like that of a function of the model and no other node has them. */
bool domains_takes(const surg_node *n, char *text, size_t size);

#endif
