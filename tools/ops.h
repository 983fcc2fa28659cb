/* SPDX-License-Identifier: Apache-2.0 */
/* One operator for people and programs. */
#ifndef SURG_TOOLS_OPS_H
#define SURG_TOOLS_OPS_H

#include "cli.h"
#include "schema/text.h"

/* A version of an operator, and what changed from version to version. */
int cli_show_op(surg_context *ctx, const surg_schema *s, bool json);

#endif
