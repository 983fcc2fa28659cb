/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for addresses, in the order of their addition. */
#include "view/view.h"

static size_t place(const surg__view_map *m, const void *key) {
  const uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (size_t)(h >> 32) & (m->slots - 1);
  while (m->table[i] != VIEW_NONE && m->items.items[m->table[i]] != key)
    i = (i + 1) & (m->slots - 1);
  return i;
}

static bool grow(surg_context *ctx, surg__view_map *m) {
  const size_t slots = m->slots ? m->slots * 2 : 64;
  uint32_t *old = m->table, *table = surg__calloc(ctx, slots, sizeof *table);
  if (!table) return false;
  for (size_t i = 0; i < slots; i++) table[i] = VIEW_NONE;
  m->table = table;
  m->slots = slots;
  for (size_t i = 0; i < m->items.count; i++) table[place(m, m->items.items[i])] = (uint32_t)i;
  surg__free(ctx, old);
  return true;
}

uint32_t surg__view_map_find(const surg__view_map *m, const void *key) {
  return m->slots ? m->table[place(m, key)] : VIEW_NONE;
}

uint32_t surg__view_map_add(surg_context *ctx, surg__view_map *m, const void *key) {
  if (m->items.count * 2 >= m->slots && !grow(ctx, m)) return VIEW_NONE;
  const size_t at = place(m, key);
  if (m->table[at] != VIEW_NONE) return m->table[at];
  const uint32_t number = (uint32_t)m->items.count;
  if (!surg__vec_push(ctx, &m->items, key)) return VIEW_NONE;
  m->table[at] = number;
  return number;
}

void surg__view_map_free(surg_context *ctx, surg__view_map *m) {
  surg__vec_free(ctx, &m->items);
  surg__free(ctx, m->table);
  *m = (surg__view_map){0};
}
