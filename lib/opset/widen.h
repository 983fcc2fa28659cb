/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of types that another version of their operator does not take. */
#ifndef SURG_WIDEN_H
#define SURG_WIDEN_H

#include "rewrite/lang/rule.h"

/* Puts Casts before and behind a node, so that the version `to` of its operator takes its types in
 * a model of `opset`. SURG_EUNSUPPORTED: nothing was changed, and nothing can be done that gives
 * the same, or nothing as exact as `most`; else the model failed. What was made is put into `made`,
 * how exact it is into *used. */
surg_status surg__widen(surg_context *ctx, surg_node *n, const surg_schema *from,
                        const surg_schema *to, int64_t opset, surg_exactness most, surg__made *made,
                        surg_exactness *used);

#endif
