/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing, at most half full. */
#include "repair/memo.h"

#define FIRST 256u
#define MOST (1u << 20) /* slots */

static surg__memo_entry *slot_of(const surg__memo *m, uint64_t key) {
  size_t i = (size_t)key & (m->size - 1);
  while (m->slots[i].key && m->slots[i].key != key) i = (i + 1) & (m->size - 1);
  return &m->slots[i];
}

static bool grow(surg_context *ctx, surg__memo *m) {
  surg__memo more = {.size = m->size ? 2 * m->size : FIRST};
  if (more.size > MOST) return false;
  more.slots = surg__calloc(ctx, more.size, sizeof *more.slots);
  if (!more.slots) return false;
  for (size_t i = 0; i < m->size; i++)
    if (m->slots[i].key) *slot_of(&more, m->slots[i].key) = m->slots[i];
  more.count = m->count;
  surg__free(ctx, m->slots);
  *m = more;
  return true;
}

bool surg__memo_find(const surg__memo *m, uint64_t key, size_t *result) {
  if (!m->size || !key) return false;
  const surg__memo_entry *e = slot_of(m, key);
  *result = e->result;
  return e->key != 0;
}

void surg__memo_note(surg_context *ctx, surg__memo *m, uint64_t key, size_t result) {
  if (!key || (2 * m->count >= m->size && !grow(ctx, m))) return;
  surg__memo_entry *e = slot_of(m, key);
  m->count += e->key == 0;
  *e = (surg__memo_entry){key, result};
}

void surg__memo_free(surg_context *ctx, surg__memo *m) {
  surg__free(ctx, m->slots);
  *m = (surg__memo){0};
}
