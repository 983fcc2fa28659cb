/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two byte sequences as ranges to copy and new bytes. The old sequence is indexed
 * by the hash of each of its blocks; a rolling hash finds them at any place of the new one. A.
 * Tridgell, "Efficient Algorithms for Sorting and Synchronization", 1999, chapter 3. */
#include <stdlib.h>

#include "diff/patch.h"

#define LEAST_BLOCK 64u
#define MOST_BLOCK 65536u
#define BLOCKS (UINT64_C(1) << 19) /* entries of the index, at most twice as many */
#define WINDOW ((size_t)1 << 20)   /* bytes of the new sequence in memory */
#define PRIME UINT64_C(0x100000001B3)

typedef struct entry {
  uint64_t hash, at; /* at: offset + 1; 0: free */
} entry;

typedef struct matcher {
  surg_context *ctx;
  const surg__bytes *old, *new;
  size_t block;
  uint64_t power; /* PRIME to the power of block - 1 */
  entry *index;
  size_t slots;
  uint8_t *window; /* of the new sequence; first of the old one */
  uint64_t base;   /* offset of the window */
  size_t have;     /* bytes in it */
  surg__ops *out;
} matcher;

static uint64_t hash_block(const uint8_t *p, size_t n) {
  uint64_t h = 0;
  for (size_t i = 0; i < n; i++) h = h * PRIME + p[i] + 1;
  return h;
}

static size_t slot_of(const matcher *m, uint64_t hash) {
  size_t i = (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (m->slots - 1);
  while (m->index[i].at && m->index[i].hash != hash) i = (i + 1) & (m->slots - 1);
  return i;
}

static surg_status build_index(matcher *m) {
  const uint64_t size = m->old->size;
  m->block = LEAST_BLOCK;
  while (m->block < MOST_BLOCK && size / m->block > BLOCKS) m->block *= 2;
  m->slots = 64;
  while (m->slots < 2 * (size / m->block + 1) && m->slots < 4 * BLOCKS) m->slots *= 2;
  m->power = 1;
  for (size_t i = 1; i < m->block; i++) m->power *= PRIME;
  m->index = surg__calloc(m->ctx, m->slots, sizeof *m->index);
  m->window = surg__alloc(m->ctx, WINDOW);
  if (!m->index || !m->window) return surg__oom(m->ctx, NULL);
  size_t used = 0;
  for (uint64_t at = 0; at + m->block <= size && used < m->slots / 2; at += WINDOW) {
    const size_t n = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
    const surg_status s = m->old->read(m->old->of, at, m->window, n);
    if (s != SURG_OK) return s;
    for (size_t i = 0; i + m->block <= n && used < m->slots / 2; i += m->block) {
      const uint64_t h = hash_block(m->window + i, m->block);
      entry *e = &m->index[slot_of(m, h)];
      if (!e->at) used++;
      if (!e->at) *e = (entry){h, at + i + 1};
    }
  }
  return SURG_OK;
}

/* Moves the window so that it begins at `at`. */
static surg_status fill(matcher *m, uint64_t at) {
  const uint64_t rest = m->new->size - at;
  m->base = at;
  m->have = rest < WINDOW ? (size_t)rest : WINDOW;
  return m->have ? m->new->read(m->new->of, at, m->window, m->have) : SURG_OK;
}

/* Bytes from `from` of the old sequence and `at` of the new one that are the same, at most `most`.
 */
static surg_status common(matcher *m, uint64_t from, uint64_t at, uint64_t most, uint64_t *n) {
  uint8_t mine[4096], theirs[4096];
  for (*n = 0; *n < most;) {
    const size_t k = most - *n < sizeof mine ? (size_t)(most - *n) : sizeof mine;
    surg_status s = m->old->read(m->old->of, from + *n, mine, k);
    if (s == SURG_OK) s = m->new->read(m->new->of, at + *n, theirs, k);
    if (s != SURG_OK) return s;
    for (size_t i = 0; i < k; i++, ++*n)
      if (mine[i] != theirs[i]) return SURG_OK;
  }
  return SURG_OK;
}

static surg_status emit(matcher *m, bool copy, uint64_t from, uint64_t n) {
  const surg__op op = {copy, m->old->number, from, n};
  if (!n) return SURG_OK;
  return surg__vec_push(m->ctx, m->out, op) ? SURG_OK : surg__oom(m->ctx, NULL);
}

/* Longest match at `at`, whose block hash is h: *n bytes from *from; 0: none. */
static surg_status match(matcher *m, uint64_t h, uint64_t at, uint64_t *from, uint64_t *n) {
  const entry *e = &m->index[slot_of(m, h)];
  *n = 0;
  if (!e->at) return SURG_OK;
  *from = e->at - 1;
  const uint64_t a = m->old->size - *from, b = m->new->size - at;
  const surg_status s = common(m, *from, at, a < b ? a : b, n);
  if (*n < m->block) *n = 0;
  return s;
}

surg_status surg__delta(surg_context *ctx, const surg__bytes *old, const surg__bytes *new,
                        surg__ops *out) {
  matcher m = {.ctx = ctx, .old = old, .new = new, .out = out};
  uint64_t at = 0, literal = 0, h = 0; /* bytes from `literal` to `at` are new */
  bool hashed = false;
  surg_status s = build_index(&m);
  /* Models mostly differ after a common beginning. */
  uint64_t n = 0;
  if (s == SURG_OK) s = common(&m, 0, 0, old->size < new->size ? old->size : new->size, &n);
  if (s == SURG_OK && n >= m.block) {
    s = emit(&m, true, 0, n);
    at = literal = n;
  }
  if (s == SURG_OK) s = fill(&m, at);
  while (s == SURG_OK && at + m.block <= new->size) {
    if (at + m.block + 1 > m.base + m.have && m.base + m.have < new->size) s = fill(&m, at);
    if (s != SURG_OK) break;
    const uint8_t *p = m.window + (at - m.base);
    if (!hashed) h = hash_block(p, m.block);
    hashed = true;
    uint64_t from;
    s = match(&m, h, at, &from, &n);
    if (s == SURG_OK && n) {
      s = emit(&m, false, literal, at - literal);
      if (s == SURG_OK) s = emit(&m, true, from, n);
      at = literal = at + n;
      hashed = false;
      continue;
    }
    if (at + m.block < new->size) h = (h - (p[0] + 1) * m.power) * PRIME + p[m.block] + 1;
    at++;
  }
  if (s == SURG_OK) s = emit(&m, false, literal, new->size - literal);
  surg__free(ctx, m.index);
  surg__free(ctx, m.window);
  return s;
}
