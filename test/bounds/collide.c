/* SPDX-License-Identifier: Apache-2.0 */
/* collide HASH COUNT BITS: COUNT names whose hashes have the same low BITS bits, one a line; what a
 * hostile file contains that wants all names in one place of a hash table. HASH 'any' prints names of
 * the same length without that property. collide --table COUNT BITS: milliseconds that a uthash table
 * as distributed needs for other names and for chosen ones. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <uthash.h>
#include <xxhash.h>

enum { LENGTH = 12 };

typedef struct entry {
  char name[LENGTH + 1];
  UT_hash_handle hh;
} entry;

static uint64_t any(const char *s) {
  (void)s;
  return 0;
}
static uint64_t jenkins(const char *s) {
  unsigned h;
  HASH_JEN(s, LENGTH, h);
  return h;
}
static uint64_t fnv32(const char *s) {
  uint32_t h = 2166136261u;
  for (int i = 0; i < LENGTH; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
  return h;
}
static uint64_t fnv64(const char *s) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < LENGTH; i++) h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
  return h;
}
static uint64_t times33(const char *s) {
  uint32_t h = 5381;
  for (int i = 0; i < LENGTH; i++) h = h * 33 + (unsigned char)s[i];
  return h;
}
static uint64_t xxh3(const char *s) {
  return XXH3_64bits(s, LENGTH);
}
static uint64_t xxh64(const char *s) {
  return XXH64(s, LENGTH, 0);
}
static uint64_t xxh32(const char *s) {
  return XXH32(s, LENGTH, 0);
}

static const struct {
  const char *name;
  uint64_t (*of)(const char *);
} hashes[] = {{"any", any},       {"jenkins", jenkins}, {"fnv32", fnv32}, {"fnv64", fnv64},
              {"times33", times33}, {"xxh3", xxh3},       {"xxh64", xxh64}, {"xxh32", xxh32}};

/* The next name, starting at number *at, whose low bits are 0. */
static void next(uint64_t (*hash)(const char *), uint64_t mask, uint64_t *at, char *name) {
  do {
    uint64_t n = (*at)++;
    /* Digits of a shuffled number, so that names do not differ in their ends alone. */
    n *= UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < LENGTH; i++) {
      name[i] = (char)('a' + (n >> 40) % 26);
      n = n * UINT64_C(6364136223846793005) + 1442695040888963407u;
    }
    name[LENGTH] = 0;
  } while (hash(name) & mask);
}

static double table(uint64_t (*hash)(const char *), int count, uint64_t mask) {
  entry *all = calloc((size_t)count, sizeof *all), *head = NULL;
  if (!all) exit(4);
  uint64_t at = 1;
  for (int i = 0; i < count; i++) next(hash, mask, &at, all[i].name);
  const clock_t start = clock();
  for (int i = 0; i < count; i++) {
    entry *e;
    HASH_FIND(hh, head, all[i].name, LENGTH, e);
    if (!e) HASH_ADD(hh, head, name, LENGTH, &all[i]);
  }
  const double ms = 1000.0 * (double)(clock() - start) / CLOCKS_PER_SEC;
  HASH_CLEAR(hh, head);
  free(all);
  return ms;
}

int main(int argc, char **argv) {
  const int count = argc == 4 ? atoi(argv[2]) : 0, bits = argc == 4 ? atoi(argv[3]) : 0;
  if (count < 1 || count > 10000000 || bits < 1 || bits > 30) {
    fputs("usage: collide HASH|--table COUNT BITS\n", stderr);
    return 2;
  }
  const uint64_t mask = (UINT64_C(1) << bits) - 1;
  if (!strcmp(argv[1], "--table")) {
    printf("%.3f %.3f\n", table(any, count, mask), table(jenkins, count, mask));
    return 0;
  }
  for (size_t k = 0; k < sizeof hashes / sizeof *hashes; k++) {
    if (strcmp(argv[1], hashes[k].name)) continue;
    uint64_t at = 1;
    for (int i = 0; i < count; i++) {
      char name[LENGTH + 1];
      next(hashes[k].of, mask, &at, name);
      puts(name);
    }
    return 0;
  }
  fputs("collide: unknown hash\n", stderr);
  return 2;
}
