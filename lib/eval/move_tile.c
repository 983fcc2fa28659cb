/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed planes: tiles of a cache line by a cache line are turned in vectors of 16 bytes, in a
 * buffer that holds some of them one under the other, and written as runs of lines. So both sides
 * are touched in whole lines but for the ends of runs, and rows at strides of a power of two do not
 * drive each other out of the cache. What the next tile reads is asked for ahead. */
#include "eval/move.h"

#include "eval/hot.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define LINE 64
#define AHEAD 64 /* rows */
/* The room of a column in the buffer. */
#define PITCH(size) ((size) == 1 ? 4 * LINE : 8 * LINE)

typedef uint8_t v1 __attribute__((vector_size(16)));
typedef uint16_t v2 __attribute__((vector_size(16)));
typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint64_t v8 __attribute__((vector_size(16)));

/* Elements may be runs of smaller ones, and stand anywhere. */
typedef uint16_t e2 __attribute__((aligned(1), may_alias));
typedef uint32_t e4 __attribute__((aligned(1), may_alias));
typedef uint64_t e8 __attribute__((aligned(1), may_alias));
typedef uint8_t e1;
typedef struct e16 {
  uint64_t low, high;
} __attribute__((packed, may_alias)) e16;

#define LOW1(a, b)                                                                               \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH1(a, b)                                                                              \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW8(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH8(a, b) __builtin_shufflevector(a, b, 1, 3)

/* A square of N x N elements, 16 bytes a row: zipping the halves of the rows log2(N) times turns
 * it. */
#define SQUARE(size, N, STAGES)                                                        \
  SURG__INLINE void square##size(const uint8_t *from, int64_t step, uint8_t *to) {     \
    v##size r[N], t[N];                                                                \
    _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i)                             \
        memcpy(&r[i], from + i * step, 16);                                            \
    _Pragma("GCC unroll 4") for (int s = 0; s < (STAGES); ++s) {                       \
      _Pragma("GCC unroll 8") for (int i = 0; i < (N) / 2; ++i) {                      \
        t[2 * i] = LOW##size(r[i], r[i + (N) / 2]);                                    \
        t[2 * i + 1] = HIGH##size(r[i], r[i + (N) / 2]);                               \
      }                                                                                \
      _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i) r[i] = t[i];              \
    }                                                                                  \
    _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i)                             \
        memcpy(to + i * PITCH(size), &r[i], 16);                                       \
  }
SQUARE(1, 16, 4)
SQUARE(2, 8, 3)
SQUARE(4, 4, 2)
SQUARE(8, 2, 1)

/* Elements of 16 bytes are squares of one. */
SURG__INLINE void square16(const uint8_t *from, int64_t step, uint8_t *to) {
  (void)step;
  memcpy(to, from, 16);
}

/* A line to where a line begins, past the cache. */
SURG__INLINE void stream(uint8_t *to, const uint8_t *line) {
#if defined(__x86_64__)
  for (int i = 0; i < LINE; i += 16)
    _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(line + i)));
#else
  memcpy(to, line, LINE);
#endif
}

void surg__transpose_settle(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/* A run of bytes; `past`: its whole lines past the cache, without being read first. */
SURG__INLINE void put(uint8_t *to, const uint8_t *from, size_t n, bool past) {
  if (past) {
    const size_t beyond = (uintptr_t)to % LINE, head = beyond ? LINE - beyond : 0;
    if (head > 0 && head < n) {
      surg__copy_short(to, from, head);
      to += head;
      from += head;
      n -= head;
    }
    for (; n >= LINE && (uintptr_t)to % LINE == 0; n -= LINE, to += LINE, from += LINE)
      stream(to, from);
  }
  if (n > 0) surg__copy_short(to, from, n);
}

/* Rows up to where lines of dst begin; 0: they begin in different places, or nowhere. */
static int64_t up_to_line(const uint8_t *dst, int64_t to_step, int64_t size) {
  const int64_t beyond = (int64_t)((uintptr_t)dst % LINE);
  if (to_step % LINE != 0 || beyond % size != 0) return 0;
  return (LINE - beyond) % LINE / size;
}

/* Where row i begins, in elements. */
SURG__INLINE int64_t row_at(const surg__plane *p, int64_t i) {
  return i / p->inner * p->outer_step + i % p->inner * p->step;
}

/* Asks for what will be read after `part` rows from row i on at `from`, columns j to j + n: the
 * columns to their right, or the same number of rows a few tiles below. */
SURG__INLINE void fetch_ahead(const surg__plane *p, const uint8_t *from, int64_t i, int64_t j,
                              int64_t n, int64_t part, int64_t size) {
  const bool right = j + n < p->columns;
  const int64_t step = p->step * size, below = right ? 0 : AHEAD;
  const uint8_t *next = from + (right ? n * size : below * step);
  for (int64_t a = 0; a < part && i + a + below < p->inner; ++a)
    __builtin_prefetch(next + a * step);
}

/* `rows` x `columns` at `from`, each at most a line, to lines of the buffer. */
#define TILE(size)                                                                              \
  static void tile##size(const uint8_t *from, int64_t step, int64_t rows, int64_t columns,      \
                         uint8_t *tile) {                                                       \
    const int64_t n = 16 / (size), whole_rows = rows / n * n, whole = columns / n * n;          \
    for (int64_t x = 0; x < whole_rows; x += n)                                                 \
      for (int64_t y = 0; y < whole; y += n)                                                    \
        square##size(from + x * step + y * (size), step, tile + y * PITCH(size) + x * (size));  \
    for (int64_t y = 0; y < columns; ++y) {                                                     \
      e##size *to = (e##size *)(tile + y * PITCH(size));                                        \
      for (int64_t x = y < whole ? whole_rows : 0; x < rows; ++x)                               \
        to[x] = *(const e##size *)(from + x * step + y * (size));                               \
    }                                                                                           \
  }                                                                                             \
  static void plane##size(const surg__plane *p, const uint8_t *src, uint8_t *dst) {             \
    const int64_t n = LINE / (size), high = PITCH(size) / (size), unit = 16 / (size);           \
    const int64_t step = p->step * (size), to_step = p->to_step * (size), rows = p->rows;       \
    const int64_t columns = p->columns, head = up_to_line(dst, to_step, size);                  \
    const uint8_t *const end = src + row_at(p, rows - 1) * (size) + columns * (size);           \
    _Alignas(LINE) uint8_t tile[LINE / (size)*PITCH(size)];                                     \
    for (int64_t i = 0, h; i < rows; i += h) {                                                  \
      h = i == 0 && head > 0 ? head : high;                                                     \
      if (h > rows - i) h = rows - i;                                                           \
      for (int64_t j = 0; j < columns; j += n) {                                                \
        const int64_t w = columns - j < n ? columns - j : n, full = (w + unit - 1) / unit * unit; \
        for (int64_t x = 0, part; x < h; x += part) {                                           \
          const int64_t left = p->inner - (i + x) % p->inner;                                   \
          part = h - x < n ? h - x : n;                                                         \
          part = part < left ? part : left;                                                     \
          const uint8_t *from = src + (row_at(p, i + x) + j) * (size);                          \
          fetch_ahead(p, from, i + x, j, n, part, size);                                        \
          /* Squares may read on into what follows a row. */                                    \
          const int64_t read = end - from - (part - 1) * step < full * (size) ? w : full;       \
          if (part == n && read == n)                                                           \
            tile##size(from, step, n, n, tile + x * (size));                                    \
          else                                                                                  \
            tile##size(from, step, part, read, tile + x * (size));                              \
        }                                                                                       \
        for (int64_t y = 0; y < w; ++y)                                                         \
          put(dst + (j + y) * to_step + i * (size), tile + y * PITCH(size), (size_t)(h * (size)), \
              p->past);                                                                         \
      }                                                                                         \
    }                                                                                           \
  }
TILE(1)
TILE(2)
TILE(4)
TILE(8)
TILE(16)

/* Few rows that become dense, as channels do that move to the end: `rows` is a constant. */
#define WEAVE(size, few)                                                                        \
  SURG__HOT(weave##few##_##size, (const uint8_t *src, int64_t step, int64_t n, uint8_t *dst),   \
            (src, step, n, dst)) {                                                              \
    e##size *to = (e##size *)dst;                                                               \
    for (int64_t y = 0; y < n; ++y)                                                             \
      for (int x = 0; x < (few); ++x)                                                           \
        to[y * (few) + x] = ((const e##size *)(src + x * step))[y];                             \
  }                                                                                             \
  SURG__HOT(part##few##_##size, (const uint8_t *src, int64_t n, uint8_t *dst, int64_t step),    \
            (src, n, dst, step)) {                                                              \
    const e##size *from = (const e##size *)src;                                                 \
    for (int x = 0; x < (few); ++x)                                                             \
      for (int64_t y = 0; y < n; ++y) ((e##size *)(dst + x * step))[y] = from[y * (few) + x];   \
  }
#define WEAVES(size) WEAVE(size, 2) WEAVE(size, 3) WEAVE(size, 4)
WEAVES(1)
WEAVES(2)
WEAVES(4)
WEAVES(8)

/* Columns woven or parted at a time: what one piece reads is still in the cache for the next. */
#define PIECE 4096

#define FEW_OF(size, few)                                                                       \
  if (rows == (few) && to_step == (few) * (size)) {                                             \
    weave##few##_##size(src, step, columns, dst);                                               \
    return true;                                                                                \
  }                                                                                             \
  if (columns == (few) && step == (few) * (size)) {                                             \
    for (int64_t at = 0; at < rows; at += PIECE)                                                \
      part##few##_##size(src + at * step, rows - at < PIECE ? rows - at : PIECE,                \
                         dst + at * (size), to_step);                                           \
    return true;                                                                                \
  }
#define FEW(size)                                                                               \
  static bool few##size(const uint8_t *src, int64_t step, int64_t rows, int64_t columns,        \
                        uint8_t *dst, int64_t to_step) {                                        \
    FEW_OF(size, 2)                                                                             \
    FEW_OF(size, 3)                                                                             \
    FEW_OF(size, 4)                                                                             \
    return false;                                                                               \
  }
FEW(1)
FEW(2)
FEW(4)
FEW(8)

#define PLANE(size)                                                                             \
  case size:                                                                                    \
    if (p->inner != p->rows ||                                                                  \
        !few##size(src, p->step * size, p->rows, p->columns, dst, p->to_step * size))           \
      plane##size(p, src, dst);                                                                 \
    break;

void surg__transpose_plane(const surg__plane *p, const void *src, void *dst, size_t size) {
  switch (size) {
    PLANE(1)
    PLANE(2)
    PLANE(4)
    PLANE(8)
    default:
      assert(size == 16);
      plane16(p, src, dst);
  }
}
