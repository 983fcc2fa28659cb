/* SPDX-License-Identifier: Apache-2.0 */
/* See table.h. Open addressing, at most half full. The slot of an item depends on the address of
 * the table, so a malicious model cannot force collisions. */
#include "table.h"

#include <assert.h>

bool table_make(table *t, surg_pass_ctx *p, size_t n) {
  size_t size = 16;
  t->shift = 64 - 4;
  for (; size / 2 < n && size <= SIZE_MAX / 4 / sizeof *t->slots; size *= 2) t->shift--;
  if (size / 2 < n) return false;
  t->slots = surg_pass_alloc(p, size * sizeof *t->slots);
  t->mask = size - 1;
  assert((size & t->mask) == 0 && n <= size / 2); /* so a search ends at a free slot */
  t->factor = table_mix((uintptr_t)t, (uintptr_t)t->slots) | 1;
  return t->slots != NULL;
}

static size_t place_of(const table *t, uint64_t hash) {
  assert(t->shift > 0 && t->shift < 64 && t->mask >> (64 - t->shift) == 0);
  return (size_t)((hash * t->factor) >> t->shift);
}

void *table_meet(table *t, uint64_t hash, void *item, table_same same, void *user) {
  int tries = 0;
  assert(t->slots && item); /* NULL marks a free slot */
  size_t i = place_of(t, hash);
  for (; t->slots[i].item; i = (i + 1) & t->mask) {
    if (t->slots[i].hash != hash) continue;
    const int answer = same(user, t->slots[i].item, item);
    if (answer) return answer < 0 ? NULL : t->slots[i].item;
    if (++tries == TABLE_TRIES) return item;
  }
  t->slots[i] = (table_slot){hash, item};
  return item;
}

uint64_t table_mix(uint64_t hash, uint64_t with) {
  hash ^= with + UINT64_C(0x9E3779B97F4A7C15) + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
  return hash ^ (hash >> 32);
}

static int same_pointer(void *user, const void *a, const void *b) {
  (void)user;
  return a == b;
}

static uint64_t hash_pointer(const void *item) { return table_mix(0, (uint64_t)(uintptr_t)item); }

bool table_has(const table *t, const void *item) {
  if (!t->slots) return false;
  for (size_t i = place_of(t, hash_pointer(item)); t->slots[i].item; i = (i + 1) & t->mask)
    if (t->slots[i].item == item) return true;
  return false;
}

bool table_put(table *t, void *item) {
  return table_meet(t, hash_pointer(item), item, same_pointer, NULL) != NULL;
}
