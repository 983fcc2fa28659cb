/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, checked arithmetic, vectors, text and hashing: the foundation of all other folders. */
#ifndef SURG_BASE_H
#define SURG_BASE_H

#include <assert.h>
#include <onnxsurg/types.h>
#include <string.h>

#include "base/limits.h"

#if defined(__GNUC__)
#define SURG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SURG_PRINTF(f, a)
#endif

#define SURG_COUNT(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t surg__min_u64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* --- checked arithmetic: false on overflow, with *out unchanged --- */
static inline bool surg__mul(size_t a, size_t b, size_t *out) {
  size_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool surg__add(size_t a, size_t b, size_t *out) {
  size_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

/* The greatest common divisor of two numbers, of which at most `a` is negative; then it may be. */
static inline int64_t surg__gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static inline bool surg__mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool surg__add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool surg__mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool surg__add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool surg__sub_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}
/* The product of non-negative dims as an element count. A zero dim makes it 0, whatever the other
 * dims are. False: a dim is negative or the product exceeds int64. */
bool surg__dims_product(const int64_t *dims, size_t rank, uint64_t *out);

/* --- structs of callers: they start with a uint32_t `size` and may be of an older header --- */
/* Copies such a struct into one of `size` bytes; fields that the caller's version lacks are
 * zero. */
static inline void surg__struct_in(void *to, size_t size, const void *from) {
  uint32_t have;
  memset(to, 0, size);
  if (!from) return;
  memcpy(&have, from, sizeof have);
  memcpy(to, from, have < size ? have : size);
}
/* Copies `from` to the caller's struct, up to the caller's size; its `size` field is unchanged. */
static inline void surg__struct_out(void *to, const void *from, size_t size) {
  uint32_t have;
  if (!to) return;
  memcpy(&have, to, sizeof have);
  const size_t n = have < size ? have : size;
  if (n > sizeof have)
    memcpy((char *)to + sizeof have, (const char *)from + sizeof have, n - sizeof have);
}

/* --- counted heap: every byte of a context counts against its max_memory --- */
/* These return NULL on failure (out of memory, limit, or an injected fault); surg__alloc_status
 * then returns SURG_ENOMEM or SURG_ELIMIT for the last failure. */
void *surg__alloc(surg_context *ctx, size_t n);
void *surg__calloc(surg_context *ctx, size_t count, size_t size);
void *surg__realloc(surg_context *ctx, void *p, size_t n);
void surg__free(surg_context *ctx, void *p);
char *surg__strdup(surg_context *ctx, const char *s);
surg_status surg__alloc_status(const surg_context *ctx);
uint64_t surg__alloc_bytes(const surg_context *ctx); /* allocated now */
uint64_t surg__alloc_peak(const surg_context *ctx);
/* The heap of a context, not counted: allocates (block NULL), resizes, or frees (bytes 0). */
void *surg__heap(const surg_config *config, void *block, size_t bytes);

/* Whether the user wants the current call to end (surg_config.cancel); costs a call of his. */
bool surg__cancelled(surg_context *ctx);
/* Reports progress; whether the user wants the call to end. `phase` is a surg_phase. */
bool surg__tick(surg_context *ctx, int32_t phase, uint64_t done, uint64_t total);

/* --- arena: objects that are freed together. With -Dfault_injection=true each object is a separate
 * heap block: sanitizers detect every overrun, and every allocation can be made to fail. --- */
typedef struct surg__arena {
  surg_context *ctx;
  struct surg__chunk *head, *spare; /* spare: an empty chunk of a reset, or NULL */
  size_t next_size;
} surg__arena;
typedef struct surg__mark {
  struct surg__chunk *chunk;
  size_t used;
} surg__mark;
void surg__arena_init(surg__arena *a, surg_context *ctx);
void surg__arena_free(surg__arena *a);
void *surg__arena_alloc(surg__arena *a, size_t n);  /* 16-byte aligned, not cleared; or NULL */
void *surg__arena_zalloc(surg__arena *a, size_t n); /* cleared */
void *surg__arena_array(surg__arena *a, size_t count, size_t size); /* cleared, checked */
char *surg__arena_strn(surg__arena *a, const char *s, size_t n);    /* NUL-terminated copy */
surg__mark surg__arena_mark(const surg__arena *a);
void surg__arena_reset(surg__arena *a, surg__mark m); /* frees all objects allocated after m */

/* --- growable array of any type:
 *   SURG_VEC(int) v = {0};  if (!surg__vec_push(ctx, &v, 3)) ...;  surg__vec_free(ctx, &v); --- */
#define SURG_VEC(T) \
  struct {          \
    T *items;       \
    size_t count;   \
    size_t capacity; \
  }
bool surg__vec_grow(surg_context *ctx, void **items, size_t *capacity, size_t need, size_t size);
#define surg__vec_reserve(ctx, v, n)                                                             \
  ((n) <= (v)->capacity ||                                                                       \
   surg__vec_grow((ctx), (void **)&(v)->items, &(v)->capacity, (n), sizeof(*(v)->items)))
#define surg__vec_push(ctx, v, x) \
  (surg__vec_reserve((ctx), (v), (v)->count + 1) && ((v)->items[(v)->count++] = (x), true))
#define surg__vec_free(ctx, v)            \
  (surg__free((ctx), (v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

/* --- growable text; `failed` is permanent --- */
typedef struct surg__buf {
  surg_context *ctx;
  char *p;
  size_t n, capacity;
  bool failed;
} surg__buf;
void surg__buf_init(surg__buf *b, surg_context *ctx);
void surg__buf_free(surg__buf *b);
void surg__buf_put(surg__buf *b, const void *p, size_t n);
void surg__buf_puts(surg__buf *b, const char *s);
void surg__buf_putc(surg__buf *b, char c);
void surg__buf_printf(surg__buf *b, const char *fmt, ...) SURG_PRINTF(2, 3);
/* Appends s as printable text: `\n` `\t` `\\` `\"`, and `\xNN` for other unprintable bytes. Names
 * longer than `max` bytes (0: no limit) are cut with "...". All untrusted text is printed through
 * this. */
void surg__buf_escape(surg__buf *b, const char *s, size_t n, size_t max);
void surg__buf_json(surg__buf *b, const char *s, size_t n); /* a quoted JSON string */
/* Ends a text with NUL and transfers it to the caller of a public function, who frees it with
 * surg_context_free_bytes. On failure *text is NULL: SURG_ENOMEM or SURG_ELIMIT. */
surg_status surg__buf_give(surg__buf *b, char **text);

/* Keyed hash of bytes (XXH3 with the context's seed). */
uint64_t surg__hash(const surg_context *ctx, const void *p, size_t n);
bool surg__utf8_valid(const uint8_t *p, size_t n); /* also false for a NUL byte */

/* --- little-endian integers, as in the file format --- */
static inline uint32_t surg__le32(const void *p) {
  const uint8_t *b = p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t surg__le64(const void *p) {
  const uint8_t *b = p;
  return (uint64_t)surg__le32(b) | (uint64_t)surg__le32(b + 4) << 32;
}

/* --- nearest name, for "did you mean": the one with the fewest characters to change, otherwise the
 * shortest of which the word is a part; NULL when none is similar --- */
typedef const char *(*surg__name_at)(const void *list, size_t i);
const char *surg__nearest(const char *word, const void *list, size_t count, surg__name_at at);

#endif
