/* SPDX-License-Identifier: Apache-2.0 */
/* Function bodies of the specification: lookup, and parsing on demand. */
#include "schema/bodies.h"

#include "base/base.h"

const surg__body *surg__body_find(int op, int since, int64_t opset) {
  const surg__body *found = NULL;
  for (size_t i = 0; i < surg__body_count; i++) {
    const surg__body *b = &surg__bodies[i];
    if (b->op == op && b->since == since && (!found || b->opset <= opset)) found = b;
  }
  return found;
}

surg_model *surg__body_load(surg_context *ctx, const surg__body *body) {
  surg_model *m = NULL;
  surg__buf b;
  if (!ctx || !body) return NULL;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b,
                   "<ir_version: 10, opset_import: [\"\" : %d]>\nbody () => () {}\n"
                   "<domain: \"" SURG__BODY_DOMAIN "\", opset_import: [\"\" : %d]>\n",
                   body->opset, body->opset);
  surg__buf_puts(&b, body->text);
  if (!b.failed) surg_model_load_text(ctx, b.p, b.n, "body", &m);
  surg__buf_free(&b);
  return m;
}

surg_status surg_schema_body(surg_context *ctx, const surg_schema *s, int64_t opset,
                             surg_model **out) {
  if (!ctx || !out) return SURG_EUSAGE;
  const surg__body *b = s ? surg__body_find(surg_schema_op(s), surg_schema_since(s), opset) : NULL;
  *out = b ? surg__body_load(ctx, b) : NULL;
  return *out ? SURG_OK : b ? SURG_ENOMEM : SURG_ENOTFOUND;
}
