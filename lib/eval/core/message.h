/* SPDX-License-Identifier: Apache-2.0 */
/* Values from the messages they are stored in: TensorProto, SequenceProto, OptionalProto,
 * MapProto. */
#ifndef SURG_MESSAGE_H
#define SURG_MESSAGE_H

#include "eval/core/value.h"

/* The value in n bytes. `type` (NULL: a tensor) says which message it is, as nothing in it does;
 * what the message holds need not fit its dims. `name` stands before every report. The caller
 * drops *out. */
surg_status surg__value_from_message(surg_context *ctx, const char *name, const void *bytes,
                                     size_t n, const surg_type *type, surg__array *out);

#endif
