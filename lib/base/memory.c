/* SPDX-License-Identifier: Apache-2.0 */
/* The counted heap, arenas and growable arrays. */
#include <stdlib.h>

#include "base/charge.h"
#include "base/context.h"
#ifdef SURG_FAULT_INJECTION
#include "base/fault.h"
#endif
#include "base/os/os.h"

/* Each block has its size before it, so that freeing subtracts what was counted. */
typedef union header {
  size_t n;
  max_align_t align;
} header;

#define LARGE (8u << 20) /* bytes from which large pages are requested */

static bool fault(surg_context *ctx) {
#ifdef SURG_FAULT_INJECTION
  if (surg__fault_hit(SURG__FAULT_ALLOC)) {
    ctx->alloc_status = SURG_ENOMEM;
    return true;
  }
#else
  (void)ctx;
#endif
  return false;
}

bool surg__charge(surg_context *ctx, uint64_t more) {
  const uint64_t beside = ctx->config.beside ? ctx->config.beside->bytes : 0;
  uint64_t total, all;
  if (!surg__add_u64(ctx->bytes, more, &total) || !surg__add_u64(total, beside, &all) ||
      all > ctx->max_memory) {
    ctx->alloc_status = SURG_ELIMIT;
    return false;
  }
  ctx->bytes = total;
  if (total > ctx->peak) ctx->peak = total;
  return true;
}

void surg__uncharge(surg_context *ctx, uint64_t bytes) {
  assert(bytes <= ctx->bytes);
  ctx->bytes -= bytes;
}

void *surg__heap(const surg_config *config, void *block, size_t bytes) {
  if (config->allocate) return config->allocate(config->user, block, bytes);
  if (bytes) return realloc(block, bytes);
  free(block);
  return NULL;
}

/* calloc is faster than clearing where memory of the system is zero already. */
static void *fresh(surg_context *ctx, size_t total, bool clear) {
  if (!ctx->config.allocate) return clear ? calloc(1, total) : malloc(total);
  void *p = surg__heap(&ctx->config, NULL, total);
  if (p && clear) memset(p, 0, total);
  return p;
}

static void *allocate(surg_context *ctx, size_t n, bool clear) {
  assert(ctx);
  size_t total;
  if (!surg__add(n, sizeof(header), &total)) {
    ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  if (fault(ctx) || !surg__charge(ctx, total)) return NULL;
  header *h = fresh(ctx, total, clear);
  if (!h) {
    ctx->bytes -= total;
    ctx->alloc_status = SURG_ENOMEM;
    return NULL;
  }
  /* Only for memory that is not cleared: the caller writes it at once, while cleared memory may
   * stay untouched. Page faults on 256 MB of small pages cost more time than filling them. */
  if (!clear && total >= LARGE && !ctx->config.allocate) surg__os_large_pages(h, total);
  h->n = total;
  return h + 1;
}

void *surg__alloc(surg_context *ctx, size_t n) {
  return allocate(ctx, n, false);
}

void *surg__calloc(surg_context *ctx, size_t count, size_t size) {
  size_t n;
  if (!surg__mul(count, size, &n)) {
    ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  return allocate(ctx, n, true);
}

void *surg__realloc(surg_context *ctx, void *p, size_t n) {
  if (!p) return surg__alloc(ctx, n);
  header *h = (header *)p - 1;
  size_t old = h->n, total;
  if (!surg__add(n, sizeof(header), &total)) {
    ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  if (fault(ctx) || (total > old && !surg__charge(ctx, total - old))) return NULL;
  header *grown = surg__heap(&ctx->config, h, total);
  if (!grown) {
    if (total > old) ctx->bytes -= total - old;
    ctx->alloc_status = SURG_ENOMEM;
    return NULL;
  }
  if (total < old) ctx->bytes -= old - total;
  grown->n = total;
  return grown + 1;
}

void surg__free(surg_context *ctx, void *p) {
  if (!p) return;
  header *h = (header *)p - 1;
  assert(ctx && ctx->bytes >= h->n);
  ctx->bytes -= h->n;
  surg__heap(&ctx->config, h, 0);
}

char *surg__strdup(surg_context *ctx, const char *s) {
  size_t n = strlen(s) + 1;
  char *p = surg__alloc(ctx, n);
  if (p) memcpy(p, s, n);
  return p;
}

surg_status surg__alloc_status(const surg_context *ctx) {
  return ctx->alloc_status != SURG_OK ? ctx->alloc_status : SURG_ENOMEM;
}

uint64_t surg__alloc_bytes(const surg_context *ctx) {
  return ctx->bytes;
}

uint64_t surg__alloc_peak(const surg_context *ctx) {
  return ctx->peak;
}

/* --- arena --- */

#define FIRST_CHUNK 4096u
#define LARGEST_CHUNK (1u << 20)

struct surg__chunk {
  struct surg__chunk *prev;
  size_t used, size;
  max_align_t data[];
};

void surg__arena_init(surg__arena *a, surg_context *ctx) {
  *a = (surg__arena){.ctx = ctx, .next_size = FIRST_CHUNK};
}

void surg__arena_free(surg__arena *a) {
  surg__arena_reset(a, (surg__mark){0});
  surg__free(a->ctx, a->spare);
  a->spare = NULL;
  a->next_size = FIRST_CHUNK;
}

static struct surg__chunk *push_chunk(surg__arena *a, struct surg__chunk *c) {
  c->prev = a->head;
  c->used = 0;
  a->head = c;
  return c;
}

static struct surg__chunk *new_chunk(surg__arena *a, size_t need) {
  if (a->spare && a->spare->size >= need) {
    struct surg__chunk *kept = a->spare;
    a->spare = NULL;
    return push_chunk(a, kept);
  }
  size_t size = need;
#ifndef SURG_FAULT_INJECTION
  if (size < a->next_size) size = a->next_size;
  if (a->next_size < LARGEST_CHUNK) a->next_size *= 2;
#endif
  size_t total;
  if (!surg__add(size, sizeof(struct surg__chunk), &total)) {
    a->ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  struct surg__chunk *c = surg__alloc(a->ctx, total);
  if (!c) return NULL;
  c->size = size;
  return push_chunk(a, c);
}

void *surg__arena_alloc(surg__arena *a, size_t n) {
  size_t rounded;
  if (!surg__add(n ? n : 1, sizeof(max_align_t) - 1, &rounded)) {
    a->ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  rounded -= rounded % sizeof(max_align_t);
  struct surg__chunk *c = a->head;
#ifdef SURG_FAULT_INJECTION
  /* Exactly n bytes, so that sanitizers detect an overrun. */
  c = new_chunk(a, n ? n : 1);
  if (!c) return NULL;
  c->used = c->size;
  return c->data;
#else
  if (!c || c->size - c->used < rounded) c = new_chunk(a, rounded);
  if (!c) return NULL;
  void *p = (uint8_t *)c->data + c->used;
  c->used += rounded;
  return p;
#endif
}

void *surg__arena_zalloc(surg__arena *a, size_t n) {
  void *p = surg__arena_alloc(a, n);
  if (p) memset(p, 0, n);
  return p;
}

void *surg__arena_array(surg__arena *a, size_t count, size_t size) {
  size_t n;
  if (!surg__mul(count, size, &n)) {
    a->ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  return surg__arena_zalloc(a, n);
}

char *surg__arena_strn(surg__arena *a, const char *s, size_t n) {
  size_t total;
  if (!surg__add(n, 1, &total)) return NULL;
  char *p = surg__arena_alloc(a, total);
  if (!p) return NULL;
  if (n) memcpy(p, s, n);
  p[n] = 0;
  return p;
}

surg__mark surg__arena_mark(const surg__arena *a) {
  return (surg__mark){a->head, a->head ? a->head->used : 0};
}

/* Frees a chunk, but keeps the largest one that is not oversized: repeated resets to one mark would
 * otherwise allocate a chunk each time. */
static void give_up(surg__arena *a, struct surg__chunk *c) {
#ifndef SURG_FAULT_INJECTION
  if (c->size <= LARGEST_CHUNK && (!a->spare || a->spare->size < c->size)) {
    struct surg__chunk *smaller = a->spare;
    a->spare = c;
    c = smaller;
  }
#endif
  surg__free(a->ctx, c);
}

void surg__arena_reset(surg__arena *a, surg__mark m) {
  while (a->head != m.chunk) {
    struct surg__chunk *c = a->head;
    assert(c);
    a->head = c->prev;
    give_up(a, c);
  }
  if (a->head) a->head->used = m.used;
}

/* --- growable arrays --- */

bool surg__vec_grow(surg_context *ctx, void **items, size_t *capacity, size_t need, size_t size) {
  size_t want = *capacity < 8 ? 8 : *capacity;
  while (want < need) {
    if (!surg__mul(want, 2, &want)) {
      ctx->alloc_status = SURG_ELIMIT;
      return false;
    }
  }
  size_t bytes;
  if (!surg__mul(want, size, &bytes)) {
    ctx->alloc_status = SURG_ELIMIT;
    return false;
  }
  void *p = surg__realloc(ctx, *items, bytes);
  if (!p) return false;
  *items = p;
  *capacity = want;
  return true;
}
