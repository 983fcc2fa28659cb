/* SPDX-License-Identifier: Apache-2.0 */
/* A set of pointers: open addressing with linear probing, at most half full. */
#include "base/ptrs.h"

#define FIRST 16u /* slots of the first table */

/* The slot of p, or the free one where it belongs. */
static size_t place(const surg__ptrs *s, const void *p) {
  const uint64_t mixed = (uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / phi */
  size_t i = (size_t)(mixed >> 20) & (s->size - 1);
  while (s->slots[i] && s->slots[i] != p) i = (i + 1) & (s->size - 1);
  return i;
}

bool surg__ptrs_has(const surg__ptrs *s, const void *p) {
  return s->count && s->slots[place(s, p)] == p;
}

static bool grow(surg_context *ctx, surg__ptrs *s) {
  surg__ptrs larger = {.size = s->size ? s->size * 2 : FIRST, .count = s->count};
  larger.slots = surg__calloc(ctx, larger.size, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (size_t i = 0; i < s->size; i++)
    if (s->slots[i]) larger.slots[place(&larger, s->slots[i])] = s->slots[i];
  surg__free(ctx, s->slots);
  *s = larger;
  return true;
}

bool surg__ptrs_add(surg_context *ctx, surg__ptrs *s, const void *p, bool *added) {
  const bool had = surg__ptrs_has(s, p);
  assert(p);
  if (added) *added = !had;
  if (had) return true;
  if (2 * (s->count + 1) > s->size && !grow(ctx, s)) return false;
  s->slots[place(s, p)] = p;
  s->count++;
  return true;
}

void surg__ptrs_free(surg_context *ctx, surg__ptrs *s) {
  surg__free(ctx, s->slots);
  *s = (surg__ptrs){0};
}
