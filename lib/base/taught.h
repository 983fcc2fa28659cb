/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins taught a context, apart from passes, rules and schemas: operators, targets,
 * messages. */
#ifndef SURG_TAUGHT_H
#define SURG_TAUGHT_H

#include <onnxsurg/pass.h>

#include "base/base.h"

/* A text that was registered. */
typedef struct surg__taught_text {
  char *name, *text; /* NUL-terminated */
  size_t n;
} surg__taught_text;

/* A copy of a registered operator. `plugin` is for messages; NULL: the program registered it. */
typedef struct surg__taught_operator {
  surg_operator op;
  const char *plugin;
} surg__taught_operator;

/* A copy of a registered decoder. */
typedef struct surg__taught_decoder {
  surg_decoder decoder;
  const char *plugin;
} surg__taught_decoder;

struct surg__taught {
  SURG_VEC(surg__taught_decoder) decoders;
  SURG_VEC(surg__taught_operator) operators;
  SURG_VEC(surg__taught_text) targets, messages;
};

/* What the context was taught, created if needed; NULL: out of memory. */
struct surg__taught *surg__taught(surg_context *ctx);
/* The registered operator, or NULL. O(operators) */
const surg__taught_operator *surg__taught_find(const surg_context *ctx, const char *domain,
                                               const char *op_type);
/* The registered target, or NULL. */
const surg__taught_text *surg__taught_target(const surg_context *ctx, const char *name);
/* The registered decoder of a format (n bytes), or NULL. O(decoders) */
const surg__taught_decoder *surg__taught_decoder_of(const surg_context *ctx, const char *format,
                                                    size_t n);
/* Adds a copy of a text to a list. SURG_ENOMEM, SURG_ELIMIT: reported. */
surg_status surg__taught_target_add(surg_context *ctx, const char *name, const char *text,
                                    size_t n);
surg_status surg__taught_messages_add(surg_context *ctx, const char *name, const char *text,
                                      size_t n);
/* Shortens the lists to these counts. */
void surg__taught_cut(surg_context *ctx, size_t operators, size_t targets, size_t messages,
                      size_t decoders);
void surg__taught_free(surg_context *ctx);

#endif
