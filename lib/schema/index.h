/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of the generated operator tables; only for schemas.gen.c and schema.c. */
#ifndef SURG_SCHEMA_INDEX_H
#define SURG_SCHEMA_INDEX_H

#include "schema/schema.h"

/* The versions of one operator: a range of surg__schemas. Indexed by operator id. */
typedef struct surg__op_versions {
  uint16_t first, count;
} surg__op_versions;
typedef struct surg__domain_row {
  const char *name;
  int newest;
} surg__domain_row;

/* Open-addressing hash table over the FNV-1a hash of the operator's name: 0 is an empty slot, else
 * an operator id. Operators of two domains can have the same name. */
#define SURG__OP_SLOTS 1024u

extern const surg__op_versions surg__op_index[];
extern const uint16_t surg__op_slots[];
extern const surg__domain_row surg__domains[];
extern const size_t surg__domain_count;

#endif
