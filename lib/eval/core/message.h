/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from protobuf messages: TensorProto, SequenceProto, OptionalProto, MapProto. */
#ifndef SURG_MESSAGE_H
#define SURG_MESSAGE_H

#include "eval/core/value.h"

/* Reads the value in n bytes. `type` (NULL: a tensor) selects the kind of message, which the bytes
 * do not identify; dimensions in the message may differ from those of `type`. Diagnostics start
 * with `name`. The caller drops *out. */
surg_status surg__value_from_message(surg_context *ctx, const char *name, const void *bytes,
                                     size_t n, const surg_type *type, surg__array *out);

#endif
