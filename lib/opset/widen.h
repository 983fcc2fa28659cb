/* SPDX-License-Identifier: Apache-2.0 */
/* Casts around nodes whose element types another version of their operator does not support. */
#ifndef SURG_WIDEN_H
#define SURG_WIDEN_H

#include "rewrite/lang/rule.h"

/* Inserts Casts before and after a node, so that version `to` of its operator supports its types in
 * a model of `opset`. `made` receives the new nodes, *used the exactness of the conversion.
 * SURG_EUNSUPPORTED: nothing was changed, since no conversion keeps the result, or none is at least
 * as exact as `most`. On other errors the model has failed. */
surg_status surg__widen(surg_context *ctx, surg_node *n, const surg_schema *from,
                        const surg_schema *to, int64_t opset, surg_exactness most, surg__made *made,
                        surg_exactness *used);

#endif
