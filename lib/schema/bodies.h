/* SPDX-License-Identifier: Apache-2.0 */
/* What the specification says operators compute, as functions, from lib/schema/bodies.table. Bodies
 * that depend on types (Softmax, LayerNormalization, Attention, ...) are not among them. */
#ifndef SURG_BODIES_H
#define SURG_BODIES_H

#include <onnxsurg/onnxsurg.h>

/* The domain of bodies as model functions: in ai.onnx they would hide the operators. */
#define SURG__BODY_DOMAIN "onnx.body"

typedef struct surg__body {
  int op, since;    /* the version it belongs to */
  int opset;        /* of ai.onnx, that its nodes are of */
  const char *text; /* a function in ONNX text, without header */
} surg__body;

/* By operator, version, opset. */
extern const surg__body surg__bodies[];
extern const size_t surg__body_count;
/* The body of a version, for a model of `opset`: the newest whose nodes are not newer than that,
 * else the oldest there is. NULL: it has none. */
const surg__body *surg__body_find(int op, int since, int64_t opset);
/* The body as the one function of a new model: its inputs, outputs and attributes are those of the
 * operator, by place and name. NULL when memory ran out. Free the model. */
surg_model *surg__body_load(surg_context *ctx, const surg__body *body);

#endif
