/* SPDX-License-Identifier: Apache-2.0 */
/* Function bodies that the ONNX specification defines for operators, from lib/schema/bodies.table.
 * Bodies that depend on types (Softmax, LayerNormalization, Attention, ...) are not included. */
#ifndef SURG_BODIES_H
#define SURG_BODIES_H

#include <onnxsurg/onnxsurg.h>

/* The domain of bodies as model functions: in ai.onnx they would shadow the operators. */
#define SURG__BODY_DOMAIN "onnx.body"

typedef struct surg__body {
  int op, since;    /* the operator version of the body */
  int opset;        /* ai.onnx opset of its nodes */
  const char *text; /* a function in ONNX text format, without header */
} surg__body;

/* Sorted by operator, version, opset. */
extern const surg__body surg__bodies[];
extern const size_t surg__body_count;
/* Finds the body of an operator version for a model of `opset`: the newest body whose nodes are not
 * newer than that, else the oldest one. NULL: the version has no body. */
const surg__body *surg__body_find(int op, int since, int64_t opset);
/* Parses the body as the only function of a new model. Inputs and outputs match those of the
 * operator by position, attributes by name. NULL: no memory. The caller frees the model. */
surg_model *surg__body_load(surg_context *ctx, const surg__body *body);

#endif
