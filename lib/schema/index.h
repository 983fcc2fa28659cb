/* SPDX-License-Identifier: Apache-2.0 */
/* How the generated tables are found; between schemas.gen.c and schema.c alone. */
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

/* Open addressing over the FNV-1a hash of the operator's name; 0 is an empty slot, else an id.
 * Operators of two domains may bear one name. */
#define SURG__OP_SLOTS 1024u

extern const surg__op_versions surg__op_index[];
extern const uint16_t surg__op_slots[];
extern const surg__domain_row surg__domains[];
extern const size_t surg__domain_count;

#endif
