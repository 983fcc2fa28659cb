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

const char *surg_graph_where(const surg_graph *g) {
  return g ? surg__locate_graph(g) : NULL;
}

surg_status surg_pipeline_word(surg_context *ctx, const char *word, char **text) {
  if (!ctx || !word || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__pipeline_quote(&b, word);
  return surg__buf_give(&b, text);
}

surg_status surg_pipeline_pair(surg_context *ctx, const surg_pass *pass, const char *option,
                               const char *name, char **text) {
  if (!ctx || !pass || !option || !name || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__pipeline_put_pair_name(&b, pass, option, name);
  return surg__buf_give(&b, text);
}
