/* SPDX-License-Identifier: Apache-2.0 */
/* What became of trials: a search, with its look-ahead searches, comes to the same model by many
 * ways, and must not try the same cures on it again. */
#ifndef SURG_REPAIR_MEMO_H
#define SURG_REPAIR_MEMO_H

#include "base/base.h"

typedef struct surg__memo_entry {
  uint64_t key;  /* 0: the slot is free */
  size_t result; /* objections that the trial left; SIZE_MAX: it failed or changed nothing */
} surg__memo_entry;

/* Trials and their results; {0} is an empty one. */
typedef struct surg__memo {
  surg__memo_entry *slots;
  size_t size, count;
} surg__memo;

/* The result that was noted last; false: none was. */
bool surg__memo_find(const surg__memo *m, uint64_t key, size_t *result);
/* Notes a result. A memo that is full, or has no memory, forgets it: the trial is made again. */
void surg__memo_note(surg_context *ctx, surg__memo *m, uint64_t key, size_t result);
void surg__memo_free(surg_context *ctx, surg__memo *m);

#endif
