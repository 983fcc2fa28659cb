/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed planes: pieces of some rows are turned in vectors of 16 bytes, in a buffer that holds
 * the columns one under the other, and written as lines. So both sides are touched in whole lines;
 * the source is read along few rows at a time, as processors read ahead, and what comes next is
 * asked for. */
#include "eval/move.h"

#include "eval/hot.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define LINE 64
#define GROUP 16 /* rows read side by side */
/* Bytes of a row that are read at a time. Bytes are put close together first (gather), which pays
 * for longer pieces. */
#define WIDE(size) ((size) == 1 ? 4 * LINE : (size) == 64 ? 2 * LINE : LINE)
/* Bytes of a column that are written at a time: as few as are fast, for the more rows are read side
 * by side; and where that does not matter: within the cache, of few columns, and of small elements
 * in rows that are not far from each other. */
#define HIGH(size) ((size) < 8 ? LINE : (size) == 8 ? 2 * LINE : 4 * LINE)
#define NEAR_ROWS (16 << 10) /* bytes */
#define ROOM(size) ((size) == 1 ? 2 * LINE : 8 * LINE)
/* From column to column in the buffer. Squares may reach beyond what a column has room for. */
#define PITCH(size) (ROOM(size) + 16)

typedef uint8_t v1 __attribute__((vector_size(16)));
typedef uint16_t v2 __attribute__((vector_size(16)));
typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint64_t v8 __attribute__((vector_size(16)));

/* Elements may be runs of smaller ones, and stand anywhere. */
typedef uint16_t e2 __attribute__((aligned(1), may_alias));
typedef uint32_t e4 __attribute__((aligned(1), may_alias));
typedef uint64_t e8 __attribute__((aligned(1), may_alias));
typedef uint8_t e1;

#define LOW1(a, b)                                                                              \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH1(a, b)                                                                             \
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
  SURG__INLINE void square##size(const uint8_t *from, int64_t step, uint8_t *to) {              \
    v##size r[N], t[N];                                                                         \
    _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i)                                      \
        memcpy(&r[i], from + i * step, 16);                                                     \
    _Pragma("GCC unroll 4") for (int s = 0; s < (STAGES); ++s) {                                \
      _Pragma("GCC unroll 8") for (int i = 0; i < (N) / 2; ++i) {                               \
        t[2 * i] = LOW##size(r[i], r[i + (N) / 2]);                                             \
        t[2 * i + 1] = HIGH##size(r[i], r[i + (N) / 2]);                                        \
      }                                                                                         \
      _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i) r[i] = t[i];                       \
    }                                                                                           \
    _Pragma("GCC unroll 16") for (int i = 0; i < (N); ++i)                                      \
        memcpy(to + i * PITCH(size), &r[i], 16);                                                \
  }
SQUARE(1, 16, 4)
SQUARE(2, 8, 3)
SQUARE(4, 4, 2)
SQUARE(8, 2, 1)

/* Elements of 16 bytes and more are squares of one. */
#define SINGLE(size)                                                                   \
  SURG__INLINE void square##size(const uint8_t *from, int64_t step, uint8_t *to) {              \
    (void)step;                                                                                 \
    for (int i = 0; i < (size); i += 16) memcpy(to + i, from + i, 16);                          \
  }
SINGLE(16)
SINGLE(32)
SINGLE(64)

SURG__INLINE void copy_line(uint8_t *to, const uint8_t *from) {
  for (int i = 0; i < LINE; i += 16) memcpy(to + i, from + i, 16);
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

/* The next n bytes of a column that is written past the cache. Only whole lines are: a line begun
 * is kept in `carry` until the next bytes of the column end it. n is a line or more but for the
 * last. */
SURG__INLINE void put_past(uint8_t *to, const uint8_t *from, int64_t n, uint8_t *carry, bool first,
                           bool last) {
  const int64_t begun = (int64_t)((uintptr_t)to % LINE);
  if (begun > 0) {
    const int64_t head = n < LINE - begun ? n : LINE - begun;
    if (!first && head == LINE - begun) {
      copy_line(carry + begun, from); /* there is room for it */
      stream(to - begun, carry);
    } else {
      if (!first) surg__copy_short(to - begun, carry, (size_t)begun);
      surg__copy_short(to, from, (size_t)head);
    }
    to += head;
    from += head;
    n -= head;
  }
  for (; n >= LINE; n -= LINE, to += LINE, from += LINE) stream(to, from);
  if (n == 0) return;
  if (last)
    surg__copy_short(to, from, (size_t)n);
  else
    copy_line(carry, from);
}

/* Rows up to where lines of dst begin; 0: they begin in different places, or nowhere. */
static int64_t up_to_line(const surg__plane *p, const uint8_t *dst, int64_t size) {
  const int64_t beyond = (int64_t)((uintptr_t)dst % LINE);
  if (beyond % size != 0) return 0;
  for (uint32_t d = 0; d < p->rank; ++d)
    if (p->to_steps[d] * size % LINE != 0) return 0;
  return (LINE - beyond) % LINE / size;
}

/* Where row i begins, in elements. */
SURG__INLINE int64_t row_at(const surg__plane *p, int64_t i) {
  return i / p->inner * p->outer_step + i % p->inner * p->step;
}

/* Columns that are gone through for all rows before the next ones. */
#define CHUNK 512

/* Columns side by side in the source, at most a line of them. */
typedef struct part {
  int64_t from, columns;
} part;

typedef struct chunk {
  int64_t columns, n_parts;
  int64_t end; /* of the plane: one beyond its last element */
  int64_t to[CHUNK];
  part parts[CHUNK + 1]; /* one more: the first of the next rows */
  _Alignas(LINE) uint8_t carry[CHUNK * 2 * LINE];
} chunk;

typedef struct place {
  int64_t at[SURG__WALK_RANK], from, to;
} place;

/* Steps to the next column; false after the last. */
SURG__INLINE bool next_column(const surg__plane *p, place *c) {
  for (uint32_t d = 0; d < p->rank; ++d) {
    c->from += p->steps[d];
    c->to += p->to_steps[d];
    if (++c->at[d] < p->columns[d]) return true;
    c->from -= p->steps[d] * p->columns[d];
    c->to -= p->to_steps[d] * p->columns[d];
    c->at[d] = 0;
  }
  return false;
}

/* The columns from *at on; false: they were the last. */
static bool take_columns(const surg__plane *p, place *at, int64_t n, chunk *c) {
  bool more = true;
  c->columns = c->n_parts = 0;
  while (more && c->columns < CHUNK) {
    part *r = &c->parts[c->n_parts++];
    r->from = at->from;
    r->columns = 0;
    do {
      int64_t m = p->columns[0] - at->at[0];
      m = m < n - r->columns ? m : n - r->columns;
      m = m < CHUNK - c->columns ? m : CHUNK - c->columns;
      for (int64_t i = 0; i < m; ++i) c->to[c->columns + i] = at->to + i * p->to_steps[0];
      c->columns += m;
      r->columns += m;
      at->at[0] += m - 1;
      at->from += m - 1;
      at->to += (m - 1) * p->to_steps[0];
      more = next_column(p, at);
    } while (more && r->columns < n && c->columns < CHUNK && at->from == r->from + r->columns);
  }
  return more;
}

/* One beyond the last element of a plane. */
static int64_t plane_end(const surg__plane *p) {
  int64_t end = 1 + (p->inner - 1) * p->step;
  if (p->outer_step > 0) end += (p->rows / p->inner - 1) * p->outer_step;
  for (uint32_t d = 0; d < p->rank; ++d)
    if (p->steps[d] > 0) end += (p->columns[d] - 1) * p->steps[d];
  return end;
}

/* `rows` rows of `bytes` each, put close together: rows that are powers of two apart drive each
 * other out of the cache. */
SURG__INLINE void gather(const uint8_t *from, int64_t step, int64_t rows, int64_t bytes,
                         uint8_t *to, int64_t pitch) {
  for (int64_t r = 0; r < rows; ++r, from += step, to += pitch) {
    int64_t b = 0;
    for (; b + LINE <= bytes; b += LINE) copy_line(to + b, from + b);
    if (b < bytes) surg__copy_short(to + b, from + b, (size_t)(bytes - b));
  }
}

/* Asks for `rows` rows of `bytes`. */
SURG__INLINE void ask_for(const uint8_t *from, int64_t step, int64_t rows, int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t b = 0; b < bytes; b += LINE) __builtin_prefetch(from + r * step + b);
}

/* `bytes` of a column, or of columns one behind the other, that are written through the cache. */
SURG__INLINE void put_near(uint8_t *to, const uint8_t *from, int64_t bytes) {
  if (bytes == LINE)
    copy_line(to, from);
  else
    surg__copy_short(to, from, (size_t)bytes);
}

#define TILE(size)                                                                              \
  /* `rows` x `columns`, each a multiple of what a square has, to columns of the buffer. */     \
  SURG__INLINE void tile##size(const uint8_t *from, int64_t step, int64_t rows,                 \
                               int64_t columns, uint8_t *tile) {                                \
    const int64_t n = (size) < 16 ? 16 / (size) : 1;                                            \
    for (int64_t x = 0; x < rows; x += n)                                                       \
      for (int64_t y = 0; y < columns; y += n)                                                  \
        square##size(from + x * step + y * (size), step, tile + y * PITCH(size) + x * (size));  \
  }                                                                                             \
  /* Rows i to i + h of the chunk's columns j to j + w. */                                      \
  SURG__INLINE void put##size(const surg__plane *p, chunk *c, int64_t j, int64_t w, int64_t i,  \
                              int64_t h, uint8_t *tile, uint8_t *dst) {                         \
    const int64_t bytes = h * (size);                                                           \
    for (int64_t y = 0, run = 1; y < w; y += run) {                                             \
      uint8_t *to = dst + (c->to[j + y] + i) * (size), *column = tile + y * PITCH(size);        \
      if (!p->past) {                                                                           \
        put_near(to, column, bytes);                                                            \
      } else if (h < p->rows || p->rows != p->to_steps[0]) {                                    \
        put_past(to, column, bytes, c->carry + (j + y) * 2 * LINE, i == 0, i + h == p->rows);   \
      } else {                                                                                  \
        for (run = 1; y + run < w && c->to[j + y + run] == c->to[j + y] + run * h; ++run)       \
          surg__copy_short(column + run * bytes, column + run * PITCH(size), (size_t)bytes);    \
        put_past(to, column, run * bytes, NULL, true, true);                                    \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  /* Rows i to i + h of part k, which begins with the chunk's column j. */                      \
  SURG__INLINE void part##size(const surg__plane *p, chunk *c, int64_t k, int64_t j, int64_t i, \
                               int64_t h, const uint8_t *src, uint8_t *dst) {                   \
    const int64_t n = (size) < 16 ? 16 / (size) : 1, step = p->step * (size);                   \
    const int64_t w = c->parts[k].columns, full = (w + n - 1) / n * n;                          \
    const int64_t ahead = p->next ? c->parts[k].from + p->next : c->parts[k + 1].from;          \
    _Alignas(LINE) uint8_t close[GROUP * WIDE(size)];                                           \
    _Alignas(LINE) uint8_t tile[WIDE(size) / (size)*PITCH(size) + LINE];                        \
    for (int64_t x = 0, m; x < h; x += m) {                                                     \
      const int64_t left = p->inner - (i + x) % p->inner, row = row_at(p, i + x);               \
      m = h - x < left ? h - x : left;                                                          \
      m = m < GROUP ? m : GROUP;                                                                \
      const uint8_t *from = src + (row + c->parts[k].from) * (size);                            \
      ask_for(src + (row + ahead) * (size), step, m, WIDE(size));                               \
      /* Squares may read on into what follows a row. */                                        \
      const bool on = row + (m - 1) * p->step + c->parts[k].from + full <= c->end;              \
      const bool direct = ((size) > 1 || w <= 16) && on && m % n == 0;                          \
      uint8_t *to = tile + x * (size);                                                          \
      if (!direct) gather(from, step, m, (on ? full : w) * (size), close, WIDE(size));          \
      if (direct && m == GROUP && w == WIDE(size) / (size))                                     \
        tile##size(from, step, GROUP, WIDE(size) / (size), to);                                 \
      else                                                                                      \
        tile##size(direct ? from : close, direct ? step : WIDE(size), m, w, to);                \
    }                                                                                           \
    put##size(p, c, j, w, i, h, tile, dst);                                                     \
  }                                                                                             \
  static void plane##size(const surg__plane *p, const uint8_t *src, uint8_t *dst) {             \
    const int64_t rows = p->rows, head = up_to_line(p, dst, size), most = ROOM(size) / (size);  \
    const bool near = (size) < 4 && p->step * (size) <= NEAR_ROWS;                              \
    const bool few = p->rank == 1 && p->columns[0] * (size) <= LINE;                            \
    const int64_t high = few || near || !p->past ? most : HIGH(size) / (size);                  \
    chunk c;                                                                                    \
    place at = {0};                                                                             \
    c.end = plane_end(p);                                                                       \
    for (bool more = true; more;) {                                                             \
      more = take_columns(p, &at, WIDE(size) / (size), &c);                                     \
      for (int64_t i = 0, h; i < rows; i += h) {                                                \
        h = i == 0 && head > 0 && high < rows ? head : high;                                    \
        if (h > rows - i) h = rows - i;                                                         \
        const int64_t below = i + h < rows ? row_at(p, i + h) - row_at(p, i) : 0;               \
        c.parts[c.n_parts].from = c.parts[0].from + below;                                      \
        for (int64_t k = 0, j = 0; k < c.n_parts; j += c.parts[k++].columns)                    \
          part##size(p, &c, k, j, i, h, src, dst);                                              \
      }                                                                                         \
    }                                                                                           \
  }
TILE(1)
TILE(2)
TILE(4)
TILE(8)
TILE(16)
TILE(32)
TILE(64)

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
    if (p->inner != p->rows || p->rank > 1 ||                                                   \
        !few##size(src, p->step * size, p->rows, p->columns[0], dst, p->to_steps[0] * size))    \
      plane##size(p, src, dst);                                                                 \
    break;

void surg__transpose_plane(const surg__plane *p, const void *src, void *dst, size_t size) {
  switch (size) {
    PLANE(1)
    PLANE(2)
    PLANE(4)
    PLANE(8)
    case 16:
      plane16(p, src, dst);
      break;
    case 32:
      plane32(p, src, dst);
      break;
    default:
      assert(size == 64);
      plane64(p, src, dst);
  }
}
