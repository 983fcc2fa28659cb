/* SPDX-License-Identifier: Apache-2.0 */
/* The option `except` of passes that change the interface: names of inputs and outputs to leave. */
#ifndef SURG_PASSES_EXCEPT_H
#define SURG_PASSES_EXCEPT_H

#include <onnxsurg/onnxsurg.h>

#define EXCEPT_OPTION(help) SURG_OPTION(LIST, "except", NULL, help)

bool except_has(surg_pass_ctx *p, const surg_value *v);
/* Reports names that are no inputs of the graph, nor (with `outputs`) outputs of it. */
void except_check(surg_pass_ctx *p, const surg_graph *g, bool outputs);

#endif
