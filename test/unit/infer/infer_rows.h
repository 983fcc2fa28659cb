/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the test of inference: a graph as ONNX text, and the types its nodes must get. */
#ifndef SURG_TEST_INFER_ROWS_H
#define SURG_TEST_INFER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct infer_row {
  int opset;
  const char *inputs; /* "float[N,3] x" */
  const char *inits;  /* "int64[2] s = {1, 2}" or "" */
  const char *body;   /* the nodes */
  const char *types;  /* "y float[N,3]; z -": `?` a dim of its own,
                         expressions without spaces, `*` no rank, `-` nothing known */
} infer_row;

extern const infer_row infer_rows[];
extern const unsigned infer_row_count;
extern const infer_row infer_symbolic[]; /* infer_symbolic.c */
extern const unsigned infer_symbolic_count;
extern const infer_row infer_contrib[]; /* infer_contrib.c */
extern const unsigned infer_contrib_count;

/* The row as a model in ONNX text (infer_text.c); false: it is longer than `cap`. */
bool infer_row_text(const infer_row *r, char *text, size_t cap);

#endif
