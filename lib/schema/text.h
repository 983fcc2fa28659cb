/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of operators as words: sets of types, defaults, what changed from one to the next. */
#ifndef SURG_SCHEMA_TEXT_H
#define SURG_SCHEMA_TEXT_H

#include "base/base.h"
#include "schema/schema.h"
#include "schema/steps.h"

/* Element types that are told as one word where a set holds all of them. */
typedef struct surg__type_group {
  const char *name;
  uint32_t mask; /* bit d: dtype d */
} surg__type_group;
extern const surg__type_group surg__type_groups[];
extern const size_t surg__type_group_count;

/* A set of types: tensors, sequences, optionals and optional sequences of them as masks of element
 * types, whatever else by its string. */
#define SURG__TYPE_OTHERS 16u
typedef struct surg__type_set {
  uint32_t mask[4];
  const char *others[SURG__TYPE_OTHERS];
  size_t n_others;
} surg__type_set;

/* What a formal parameter takes. */
void surg__type_set_of(const surg_schema *s, const surg__param *p, surg__type_set *out);
bool surg__type_set_within(const surg__type_set *a, const surg__type_set *b);
/* `floats, int32, int64, sequences of floats`; bits of the groups that were named join *groups. */
void surg__put_type_set(surg__buf *b, const surg__type_set *t, uint32_t *groups);
/* The shortest text that reads back as the same float. */
void surg__put_float(surg__buf *b, float f);
/* `-1`, `"NOTSET"`, `[1, 2]`; nothing where there is none. */
void surg__put_default(surg__buf *b, const surg__attr_def *a);
/* `int`, `floats`, ... */
const char *surg__attr_kind_name(surg_attr_kind kind);
/* The conditions of a direction: `axis >= 0 and input 1 is a scalar`; "" where there are none. */
void surg__put_conditions(surg__buf *b, const surg__step_side *side);
void surg__put_condition(surg__buf *b, const surg__condition *c);
/* What signatures tell of a step: one line each, ended by a newline. Nothing when they are equal.
 */
void surg__put_changes(surg__buf *b, const surg_schema *from, const surg_schema *to);

#endif
