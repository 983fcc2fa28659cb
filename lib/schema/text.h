/* SPDX-License-Identifier: Apache-2.0 */
/* Text for operator versions: type sets, defaults, and the changes between versions. */
#ifndef SURG_SCHEMA_TEXT_H
#define SURG_SCHEMA_TEXT_H

#include "base/base.h"
#include "schema/schema.h"
#include "schema/steps.h"

/* Element types that are printed as one word if a set contains all of them. */
typedef struct surg__type_group {
  const char *name;
  uint32_t mask; /* bit d: dtype d */
} surg__type_group;
extern const surg__type_group surg__type_groups[];
extern const size_t surg__type_group_count;

/* A set of types. The masks are element types of tensors, sequences, optionals and optional
 * sequences; other types are strings. */
#define SURG__TYPE_OTHERS 16u
typedef struct surg__type_set {
  uint32_t mask[4];
  const char *others[SURG__TYPE_OTHERS];
  size_t n_others;
} surg__type_set;

/* The set of types that a formal parameter accepts. */
void surg__type_set_of(const surg_schema *s, const surg__param *p, surg__type_set *out);
bool surg__type_set_within(const surg__type_set *a, const surg__type_set *b);
/* Prints `floats, int32, int64, sequences of floats`; adds the bits of printed groups to
 * *groups. */
void surg__put_type_set(surg__buf *b, const surg__type_set *t, uint32_t *groups);
/* Prints the shortest text that parses to the same float. */
void surg__put_float(surg__buf *b, float f);
/* Prints `-1`, `"NOTSET"`, `[1, 2]`; nothing if there is no default. */
void surg__put_default(surg__buf *b, const surg__attr_def *a);
/* Returns `int`, `floats`, ... */
const char *surg__attr_kind_name(surg_attr_kind kind);
/* Prints the conditions of a direction: `axis >= 0 and input 1 is a scalar`; nothing if there are
 * none. */
void surg__put_conditions(surg__buf *b, const surg__step_side *side);
void surg__put_condition(surg__buf *b, const surg__condition *c);
/* Prints the differences of two signatures, one line each with a newline; nothing if they are
 * equal. */
void surg__put_changes(surg__buf *b, const surg_schema *from, const surg_schema *to);

#endif
