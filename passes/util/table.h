/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table for passes that look for equal items. */
#ifndef SURG_PASSES_TABLE_H
#define SURG_PASSES_TABLE_H

#include <onnxsurg/onnxsurg.h>

#define TABLE_TRIES 64 /* most unequal items of one hash per search: keeps it linear */

/* 1: equal, 0: different, -1: failure. */
typedef int (*table_same)(void *user, const void *a, const void *b);

typedef struct table_slot {
  uint64_t hash;
  void *item; /* NULL: free */
} table_slot;

typedef struct table {
  table_slot *slots;
  size_t mask;
  uint64_t factor; /* odd multiplier, from the table's address */
  int shift;       /* of the product hash * factor, which gives the slot */
} table;

/* Makes a table for up to n items in memory of the pass; false: out of memory. */
bool table_make(table *t, surg_pass_ctx *p, size_t n);
/* Returns the first item equal to `item`, or inserts `item` and returns it. NULL: the comparison
 * failed. After TABLE_TRIES unequal items of the same hash, returns `item` without inserting it. */
void *table_meet(table *t, uint64_t hash, void *item, table_same same, void *user);
/* Sets of pointers, compared by identity: table_has tests membership, table_put inserts; false:
 * failure. */
bool table_has(const table *t, const void *item);
bool table_put(table *t, void *item);
/* Mixes one more number into a hash. */
uint64_t table_mix(uint64_t hash, uint64_t with);

#endif
