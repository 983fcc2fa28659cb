/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the names in a target exist; for read.c alone. */
#ifndef SURG_TARGET_NAMES_H
#define SURG_TARGET_NAMES_H

#include "target/target.h"

/* The canonical spelling of an operator: "Add" of "ai.onnx:Add" and "ai.onnx.Add",
 * "com.acme.Foo" of "com.acme:Foo". False: it is no name, or does not fit. */
bool surg__target_name(const char *key, char *out, size_t cap);

/* Whether the tables have the operator (`op` is its id then), or the target lists it as its own.
 * Else the reason is stored in `why`. */
bool surg__target_knows(const surg__target *t, const char *name, int *op, char *why, size_t cap);

#define SURG__N_INPUT 1u
#define SURG__N_OUTPUT 2u
#define SURG__N_ATTR 4u
#define SURG__N_TYPE 8u /* a type parameter */
/* Whether some version of the operator has a part of one of these kinds and this name. Places
 * ("0") and operators without a table (0) are not checked. */
bool surg__target_part(int op, unsigned kinds, const char *name);

#endif
