/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one operator as text or JSON. */
#ifndef SURG_TOOLS_OPS_H
#define SURG_TOOLS_OPS_H

#include <onnxsurg/schema.h>

#include "cli.h"

/* Prints a version of an operator, and what changed in each version. */
int cli_show_op(surg_context *ctx, const surg_schema *s, bool json);

#endif
