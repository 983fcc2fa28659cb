/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the names in a target exist. Used by what reads targets only. */
#ifndef SURG_TARGET_NAMES_H
#define SURG_TARGET_NAMES_H

#include "target/target.h"

/* Writes the canonical name of an operator: "Add" for "ai.onnx:Add" and "ai.onnx.Add",
 * "com.acme.Foo" for "com.acme:Foo". False: not a name, or longer than `cap`. */
bool surg__target_name(const char *key, char *out, size_t cap);

/* Whether the operator is known: in the schema tables (its id in *op, else 0), in the `own` list of
 * the target, or as a custom schema. If not, the reason is stored in `why`. */
bool surg__target_knows(const surg__target *t, const char *name, int *op, char *why, size_t cap);

#define SURG__N_INPUT 1u
#define SURG__N_OUTPUT 2u
#define SURG__N_ATTR 4u
#define SURG__N_TYPE 8u      /* a type parameter */
#define SURG__N_OPERATOR 16u /* an operator, with a form or without; alone only */
/* Whether some version of the operator has a part of one of these kinds and this name. Indexes
 * ("0"), "*", operators without a schema (op 0) and operators that runtimes add are accepted
 * unchecked. */
bool surg__target_part(int op, unsigned kinds, const char *name);

/* How entries of a list name what they are about. */
typedef enum surg__name_form {
  SURG__NAME_OP,        /* "Add", also with a version, "Squeeze-11" */
  SURG__NAME_ATTR,      /* "Cast.to" */
  SURG__NAME_OP_OR_ATTR /* "Cast", "Cast.to" */
} surg__name_form;
/* Whether the operator, or the attribute of it, exists. If not, the reason is stored in `why`. */
bool surg__target_names(const surg__target *t, const char *name, surg__name_form form, char *why,
                        size_t cap);

#endif
