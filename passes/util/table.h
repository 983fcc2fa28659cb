/* SPDX-License-Identifier: Apache-2.0 */
/* A table of things by hash, for passes that look for equal ones. */
#ifndef SURG_PASSES_TABLE_H
#define SURG_PASSES_TABLE_H

#include <onnxsurg/onnxsurg.h>

#define TABLE_TRIES 64 /* unequal items of one hash: what a hash does not tell apart stays linear */

/* 1: equal, 0: not, -1: it failed. */
typedef int (*table_same)(void *user, const void *a, const void *b);

typedef struct table_slot {
  uint64_t hash;
  void *item; /* NULL: free */
} table_slot;

typedef struct table {
  table_slot *slots;
  size_t mask;
  uint64_t factor; /* odd */
  int shift;       /* of what is multiplied, to a place */
} table;

/* Room for n items; false: out of memory. */
bool table_make(table *t, surg_pass_ctx *p, size_t n);
/* The item equal to `item` that came first, or `item`, which is there from now on. NULL: it failed.
 * Gives up, as if there were none, behind TABLE_TRIES unequal items of one hash. */
void *table_meet(table *t, uint64_t hash, void *item, table_same same, void *user);
/* The same for sets of things that are only equal to themselves: whether it is there, and putting
 * it there; false: it failed. */
bool table_has(const table *t, const void *item);
bool table_put(table *t, void *item);
/* Stirs one more number into a hash. */
uint64_t table_mix(uint64_t hash, uint64_t with);

#endif
