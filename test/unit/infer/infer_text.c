/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the test of inference as a model. */
#include <stdio.h>

#include "infer_rows.h"

bool infer_row_text(const infer_row *r, char *text, size_t cap) {
  char first[64];
  if (sscanf(r->types, "%63s", first) != 1) return false;
  const int n = snprintf(text, cap,
                         "<ir_version: 8, opset_import: [\"\": %d, \"ai.onnx.ml\": 3, "
                         "\"com.microsoft\": 1]>\ng (%s) => (float %s)%s%s%s {\n%s\n}\n",
                         r->opset, r->inputs, first, *r->inits ? " <" : "", r->inits,
                         *r->inits ? ">" : "", r->body);
  return n > 0 && (size_t)n < cap;
}
