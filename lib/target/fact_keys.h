/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a fact whose values are flags, lists of names and ranges by name: how each is read
 * and how it is printed. A new key of these kinds is a field of surg__tfact, a row here and the
 * code that judges it. */
#ifndef SURG_TARGET_FACT_KEYS_H
#define SURG_TARGET_FACT_KEYS_H

#include "target/target.h"

/* A key whose value is true or false. */
typedef struct surg__flag_key {
  const char *key;
  size_t at;          /* offset of the bool in surg__tfact */
  const char *phrase; /* for people; NULL: printed elsewhere */
} surg__flag_key;

/* A key whose value is a list of names. */
typedef struct surg__list_key {
  const char *key;
  unsigned kinds;     /* what the names are (SURG__N_...); 0: anything */
  size_t at;          /* offset of the surg__tlist */
  const char *before; /* the phrase is `before`, the name, `after` */
  const char *after;
  const char *all; /* the name "*" in words; NULL: it is a name like others */
} surg__list_key;

/* A key whose value is an object of ranges by name. */
typedef struct surg__spans_key {
  const char *key;
  unsigned kinds;     /* what the names are; 0: what judge_axes.c counts */
  size_t at, count;   /* offsets of the ranges and of their number */
  const char *before; /* the phrase is `before`, the name, the range */
} surg__spans_key;

extern const surg__flag_key surg__flag_keys[];
extern const surg__list_key surg__list_keys[];
extern const surg__spans_key surg__spans_keys[];
extern const size_t surg__flag_key_count, surg__list_key_count, surg__spans_key_count;

#endif
