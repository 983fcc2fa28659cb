/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of messages and pipelines for programs that embed the library (onnxsurg/names.h). */
#include <onnxsurg/names.h>

#include "ir/ir.h"
#include "pass/pass.h"

const char *surg_node_where(const surg_node *n) {
  return n ? surg__locate_node(n) : NULL;
}

const char *surg_exactness_name(surg_exactness e) {
  return e >= SURG_EXACT && e <= SURG_LOSSY ? surg__exactness_name(e) : NULL;
}

bool surg_exactness_from_name(const char *name, surg_exactness *out) {
  return name && out && surg__exactness_from_name(name, out);
}

surg_status surg_pipeline_word(surg_context *ctx, const char *word, char **text) {
  if (!ctx || !word || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__pipeline_quote(&b, word);
  surg__buf_putc(&b, 0);
  *text = b.failed ? NULL : b.p;
  if (*text) return SURG_OK;
  surg__buf_free(&b);
  return SURG_ENOMEM;
}
