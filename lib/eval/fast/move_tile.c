/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed planes: pieces of some rows are turned in vectors of 16 bytes, in a buffer that holds
 * the columns one under the other, and written as lines. So both sides are touched in whole lines;
 * the source is read along few rows at a time, as processors read ahead, and what comes next is
 * asked for. */
#include "eval/move/move.h"

#include "eval/fast/hot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE 64
#define GROUP 16 /* rows read side by side */
/* Bytes of a row that are read at a time. Small elements are put close together first (gather),
 * which pays for longer pieces. */
#define WIDE(size) ((size) <= 2 ? 4 * LINE : (size) == 64 ? 2 * LINE : LINE)
/* Bytes of a column of larger elements that are written at a time: as few as are fast, for the more
 * rows are read side by side; and where that does not matter: within the cache, of few columns. */
#define HIGH(size) ((size) < 8 ? LINE : (size) == 8 ? 2 * LINE : 4 * LINE)
#define ROOM (8 * LINE)
/* Lines of a column of small elements that are written at a time, at most: more than one where few
 * columns are side by side. */
#define LINES 2
/* From column to column in the buffer. Squares may reach beyond what a column has room for. */
#define PITCH(size) ((size) <= 2 ? (LINES + 1) * LINE : ROOM + 16)

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
#define SQUARE(size, N, STAGES)                                                                 \
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
#define SINGLE(size)                                                                            \
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

/* Rows up to where lines of dst begin; -1: they begin in different places, or nowhere. */
static int64_t up_to_line(const surg__plane *p, const uint8_t *dst, int64_t size) {
  const int64_t beyond = (int64_t)((uintptr_t)dst % LINE);
  if (beyond % size != 0) return -1;
  for (uint32_t d = 0; d < p->rank; ++d)
    if (p->to_steps[d] * size % LINE != 0) return -1;
  return (LINE - beyond) % LINE / size;
}

/* Where row i begins, in elements. */
SURG__INLINE int64_t row_at(const surg__plane *p, int64_t i) {
  return i / p->inner * p->outer_step + i % p->inner * p->step;
}

/* Columns that are gone through for all rows before the next ones: of small elements, of those in
 * lines that do not begin where columns do, of larger ones. */
#define COLUMNS 2048
#define CARRIED 1024
#define CHUNK 512
/* Parts of them. */
#define PARTS 512
/* Parts that are asked for ahead of the one that is turned. */
#define AHEAD 2

/* Columns side by side in the source, at most a line of them. */
typedef struct part {
  int64_t from, columns;
} part;

typedef struct __attribute__((may_alias)) chunk { /* in a surg__plane_room */
  int64_t columns, n_parts;
  int64_t end; /* of the plane: one beyond its last element */
  int64_t to[COLUMNS];
  part parts[PARTS + AHEAD]; /* the first ones of the next rows, too */
  _Alignas(LINE) uint8_t carry[CARRIED * LINE];
  /* Rows put close together, and what they are turned to: of each column what waits, and lines. */
  uint8_t close[4 * LINE * LINE], lines[(16 * (LINES + 1) + 1) * LINE];
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

/* Up to `most` columns from *at on, in parts of up to n; false: they were the last. */
static bool take_columns(const surg__plane *p, place *at, int64_t n, int64_t most, chunk *c) {
  bool more = true;
  c->columns = c->n_parts = 0;
  while (more && c->columns < most && c->n_parts < PARTS) {
    part *r = &c->parts[c->n_parts++];
    r->from = at->from;
    r->columns = 0;
    do {
      int64_t m = p->columns[0] - at->at[0];
      m = m < n - r->columns ? m : n - r->columns;
      m = m < most - c->columns ? m : most - c->columns;
      for (int64_t i = 0; i < m; ++i) c->to[c->columns + i] = at->to + i * p->to_steps[0];
      c->columns += m;
      r->columns += m;
      at->at[0] += m - 1;
      at->from += m - 1;
      at->to += (m - 1) * p->to_steps[0];
      more = next_column(p, at);
    } while (more && r->columns < n && c->columns < most && at->from == r->from + r->columns);
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

/* A row of `bytes`, put close to its neighbours: rows that are powers of two apart drive each other
 * out of the cache. */
SURG__INLINE void gather(const uint8_t *from, int64_t bytes, uint8_t *to) {
  int64_t b = 0;
  for (; b + LINE <= bytes; b += LINE) copy_line(to + b, from + b);
  if (b < bytes) surg__copy_short(to + b, from + b, (size_t)(bytes - b));
}

/* Asks for bytes of a row; `later`: so many bytes come before that the first cache, where rows that
 * are powers of two apart drive each other out, does not hold them until then. */
SURG__INLINE void ask_for(const uint8_t *from, int64_t bytes, bool later) {
  for (int64_t b = 0; b < bytes; b += LINE)
    if (later)
      __builtin_prefetch(from + b, 0, 2);
    else
      __builtin_prefetch(from + b, 0, 3);
}

/* `bytes` of a column, or of columns one behind the other, that are written through the cache. */
SURG__INLINE void put_near(uint8_t *to, const uint8_t *from, int64_t bytes) {
  if (bytes == LINE)
    copy_line(to, from);
  else
    surg__copy_short(to, from, (size_t)bytes);
}

/* --- elements of 1 and 2 bytes --- */

/* Rows that become one line of each of their columns, and rows of a square. */
#define BAND(size) (LINE / (size))
#define SIDE(size) (16 / (size))

/* How lines are written: through the cache; past it, where all columns begin with a line; past it,
 * where they begin anywhere and lines are made of two bands; or as runs of whole columns. */
enum { NEAR, EVEN, UNEVEN, RUNS };

typedef struct band {
  int64_t i, rows;         /* the first row, how many: whole lines but for the first or last ones */
  int64_t at[LINES * LINE]; /* where they begin */
  int64_t top;             /* the largest of them */
  bool first, last;
  bool square; /* each SIDE of its rows are p->step apart */
  bool shared; /* a line ends one column and begins the next one */
  int how;
} band;

/* As many as there is room for (`close`) where no part is wider than the first axis. */
static int64_t lines_at_once(const surg__plane *p, int64_t size) {
  const bool wide = p->rank > 1 && p->steps[1] == p->columns[0];
  if (wide || p->columns[0] * size > WIDE(size)) return 1;
  const int64_t n = WIDE(size) / ((p->columns[0] * size + 15) / 16 * 16);
  return n < LINES ? n : LINES;
}

/* Columns one behind the other. */
typedef struct column_run {
  uint8_t *to, *data;
  int64_t bytes;
} column_run;

/* Where the band's rows begin. */
static void band_rows(const surg__plane *p, band *b, int64_t side) {
  int64_t in = b->i % p->inner, at = row_at(p, b->i);
  b->first = b->i == 0;
  b->last = b->i + b->rows == p->rows;
  b->square = b->rows % side == 0 && ((in % side == 0 && p->inner % side == 0) ||
                                      in + b->rows <= p->inner);
  b->top = at;
  if (in + b->rows <= p->inner) {
    for (int64_t x = 0; x < b->rows; ++x) b->at[x] = at + x * p->step;
    b->top = b->at[b->rows - 1];
    return;
  }
  for (int64_t x = 0; x < b->rows; ++x) {
    b->at[x] = at;
    if (at > b->top) b->top = at;
    at += p->step;
    if (++in < p->inner) continue;
    in = 0;
    at += p->outer_step - p->inner * p->step;
  }
}

/* The next n bytes of a column that is written past the cache, in whole lines. Unless they are the
 * first ones, what is before them in a line is before `from`; unless they are the last ones, what
 * begins a line waits for the rest of it. */
SURG__INLINE void put_lines(uint8_t *to, const uint8_t *from, int64_t n, bool first, bool last) {
  const int64_t begun = (int64_t)((uintptr_t)to % LINE), head = n < LINE - begun ? n : LINE - begun;
  if (begun > 0 && first) {
    surg__copy_short(to, from, (size_t)head);
    to += head;
    from += head;
    n -= head;
  } else {
    to -= begun;
    from -= begun;
    n += begun;
  }
  for (; n >= LINE; n -= LINE, to += LINE, from += LINE) stream(to, from);
  if (last && n > 0) surg__copy_short(to, from, (size_t)n);
}

/* One more column. What is copied beyond its end is written over. */
SURG__INLINE void add_to_run(column_run *r, uint8_t *to, const uint8_t *line, int64_t bytes) {
  if (r->bytes > 0 && to != r->to + r->bytes) {
    put_lines(r->to, r->data, r->bytes, true, true);
    r->bytes = 0;
  }
  if (r->bytes == 0) r->to = to;
  for (int64_t i = 0; i < bytes; i += 16) memcpy(r->data + r->bytes + i, line + i, 16);
  r->bytes += bytes;
}

/* What is no whole line of column j, where all columns begin alike. What begins a column waits for
 * the end of the column before it, if they share a line. */
SURG__INLINE void put_ends(const surg__plane *p, chunk *c, const band *b, int64_t j, uint8_t *to,
                           uint8_t *line, int64_t bytes) {
  if (b->shared && b->first && j > 0 && c->to[j] == c->to[j - 1] + p->rows) {
    copy_line(c->carry + j * LINE, line);
    return;
  }
  for (; bytes >= LINE; bytes -= LINE, to += LINE, line += LINE) stream(to, line);
  if (bytes == 0) return;
  if (b->shared && b->last && j + 1 < c->columns && c->to[j + 1] == c->to[j] + p->rows) {
    copy_line(line + bytes, c->carry + (j + 1) * LINE); /* there is room for it */
    stream(to, line);
  } else {
    surg__copy_short(to, line, (size_t)bytes);
  }
}

#if defined(__x86_64__)
/* As squares do, four of them in the lanes of one vector. */
#define TURN_WIDEST(size, bits)                                                                 \
  SURG__WIDEST static void turn##size##_widest(const uint8_t *const *lanes, int64_t at,         \
                                               int64_t step, uint8_t *lines) {                  \
    __m512i r[SIDE(size)], t[SIDE(size)];                                                       \
    _Pragma("GCC unroll 16") for (int i = 0; i < SIDE(size); ++i, at += step) {                 \
      r[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(lanes[0] + at)));         \
      r[i] = _mm512_inserti32x4(r[i], _mm_loadu_si128((const __m128i *)(lanes[1] + at)), 1);    \
      r[i] = _mm512_inserti32x4(r[i], _mm_loadu_si128((const __m128i *)(lanes[2] + at)), 2);    \
      r[i] = _mm512_inserti32x4(r[i], _mm_loadu_si128((const __m128i *)(lanes[3] + at)), 3);    \
    }                                                                                           \
    _Pragma("GCC unroll 4") for (int s = 1; s < SIDE(size); s *= 2) {                           \
      _Pragma("GCC unroll 8") for (int i = 0; i < SIDE(size) / 2; ++i) {                        \
        t[2 * i] = _mm512_unpacklo_epi##bits(r[i], r[i + SIDE(size) / 2]);                      \
        t[2 * i + 1] = _mm512_unpackhi_epi##bits(r[i], r[i + SIDE(size) / 2]);                  \
      }                                                                                         \
      _Pragma("GCC unroll 16") for (int i = 0; i < SIDE(size); ++i) r[i] = t[i];                \
    }                                                                                           \
    _Pragma("GCC unroll 16") for (int i = 0; i < SIDE(size); ++i)                               \
        _mm512_storeu_si512(lines + i * PITCH(size), r[i]);                                     \
  }
#else
#define TURN_WIDEST(size, bits)                                                                 \
  static void turn##size##_widest(const uint8_t *const *lanes, int64_t at, int64_t step,        \
                                  uint8_t *lines) {                                             \
    (void)lanes, (void)at, (void)step, (void)lines;                                             \
  }
#endif

#define BANDS(size, bits)                                                                       \
  TURN_WIDEST(size, bits)                                                                       \
  /* Rows, SIDE of which begin `at` behind each of four `lanes`, to lines of SIDE columns. */    \
  SURG__INLINE void turn##size(const uint8_t *const *lanes, int64_t at, int64_t step,           \
                               int64_t rows, uint8_t *lines) {                                  \
    if (rows > SIDE(size) && surg__cpu_widest())                                                \
      turn##size##_widest(lanes, at, step, lines);                                              \
    else                                                                                        \
      for (int i = 0; i < 4 && i * SIDE(size) < rows; ++i)                                      \
        square##size(lanes[i] + at, step, lines + 16 * i);                                      \
  }                                                                                             \
  /* SIDE columns from the chunk's column j on. */                                              \
  SURG__INLINE void put##size(const surg__plane *p, chunk *c, const band *b, int64_t j,         \
                              int64_t columns, int64_t bytes, uint8_t *lines, uint8_t *dst,     \
                              column_run *r) {                                                  \
    for (int64_t q = 0; q < columns; ++q) {                                                     \
      uint8_t *to = dst + (c->to[j + q] + b->i) * (size);                                       \
      uint8_t *line = lines + q * PITCH(size) + LINE;                                           \
      if (b->how == EVEN && bytes % LINE == 0)                                                  \
        for (int64_t i = 0; i < bytes; i += LINE) stream(to + i, line + i);                     \
      else if (b->how == RUNS)                                                                  \
        add_to_run(r, to, line, bytes);                                                         \
      else if (b->how == NEAR)                                                                  \
        put_near(to, line, bytes);                                                              \
      else if (b->how == EVEN)                                                                  \
        put_ends(p, c, b, j + q, to, line, bytes);                                              \
      else                                                                                      \
        put_lines(to, line, bytes, b->first, b->last);                                          \
    }                                                                                           \
  }                                                                                             \
  /* The band's part k, which begins with the chunk's column j. */                              \
  SURG__INLINE void part##size(const surg__plane *p, chunk *c, const band *b, int64_t k,        \
                               int64_t j, int64_t rows, int64_t w, const uint8_t *src,          \
                               uint8_t *dst) {                                                  \
    const int64_t n = SIDE(size), asked = (rows * n + w - 1) / w, full = (w + n - 1) / n * n;   \
    const int64_t here = c->parts[k].from, high = (rows + BAND(size) - 1) / BAND(size);         \
    const int64_t ahead = p->next ? here + p->next : c->parts[k + AHEAD].from;                  \
    /* Squares may read on into what follows a row. */                                          \
    const bool on = b->top + here + full <= c->end;                                             \
    const bool direct = on && b->square && w < WIDE(size) / (size);                             \
    const int64_t step = direct ? p->step * (size) : full * (size);                             \
    const uint8_t *lanes[4 * LINES];                                                            \
    uint8_t *close = c->close, *lines = c->lines;                                               \
    /* Rows that are in one line are asked for once. */                                         \
    const int64_t skip = p->step * (size) < LINE ? LINE / (p->step * (size)) : 1;               \
    column_run r = {.data = c->carry};                                                          \
    for (int64_t i = 0; i < 4 * high; ++i)                                                      \
      lanes[i] = direct ? src + (b->at[i * n < rows ? i * n : 0] + here) * (size)               \
                        : close + i * n * step;                                                 \
    /* Views of dense arrays have no steps of 0, by which parts could be wider than rows. */      \
    assert(direct || rows * step <= (int64_t)sizeof c->close);                                  \
    if (!direct)                                                                                \
      for (int64_t x = 0; x < rows; ++x)                                                        \
        gather(src + (b->at[x] + here) * (size), (on ? full : w) * (size), close + x * step);   \
    for (int64_t y = 0, x = 0; y < w; y += n, j += n) {                                         \
      const int64_t m = w - y < n ? w - y : n;                                                  \
      for (int64_t q = 0; q < asked && x < rows; q += skip, x += skip)                          \
        ask_for(src + (b->at[x] + ahead) * (size), w * (size), true);                           \
      if (b->how == UNEVEN && !b->first)                                                        \
        for (int64_t q = 0; q < m; ++q)                                                         \
          copy_line(lines + q * PITCH(size), c->carry + (j + q) * LINE);                        \
      for (int64_t i = 0; i < high; ++i)                                                        \
        turn##size(lanes + 4 * i, y * (size), step, rows - i * BAND(size),                      \
                   lines + (1 + i) * LINE);                                                     \
      put##size(p, c, b, j, m, rows * (size), lines, dst, &r);                                     \
      if (b->how == UNEVEN && !b->last)                                                         \
        for (int64_t q = 0; q < m; ++q)                                                         \
          copy_line(c->carry + (j + q) * LINE, lines + q * PITCH(size) + high * LINE);          \
    }                                                                                           \
    if (r.bytes > 0) put_lines(r.to, r.data, r.bytes, true, true);                              \
  }                                                                                             \
  static void plane##size(const surg__plane *p, const uint8_t *src, uint8_t *dst, chunk *c) {   \
    const int64_t head = up_to_line(p, dst, size);                                              \
    const bool dense = p->rows == p->to_steps[0], few = p->rows <= BAND(size);                  \
    const int64_t most = lines_at_once(p, size) * BAND(size);                                   \
    band b;                                                                                     \
    b.how = !p->past ? NEAR : head == 0 ? EVEN : dense && few ? RUNS : head > 0 ? EVEN : UNEVEN; \
    b.shared = b.how == EVEN && head > 0 && dense;                                              \
    const int64_t columns = b.how == UNEVEN || b.shared ? CARRIED : COLUMNS;                    \
    place at = {0};                                                                             \
    c->end = plane_end(p);                                                                      \
    for (bool more = true; more;) {                                                             \
      more = take_columns(p, &at, WIDE(size) / (size), columns, c);                     \
      for (b.i = 0; b.i < p->rows; b.i += b.rows) {                                             \
        b.rows = b.how == EVEN && b.i == 0 && head > 0 ? head : most;                           \
        if (b.rows > p->rows - b.i) b.rows = p->rows - b.i;                                     \
        band_rows(p, &b, SIDE(size));                                                           \
        const int64_t below = b.last ? 0 : row_at(p, b.i + b.rows) - b.at[0];                   \
        for (int64_t k = 0; k < AHEAD; ++k)                                                     \
          c->parts[c->n_parts + k].from = c->parts[k % c->n_parts].from + below;                \
        for (int64_t k = 0, j = 0, w; k < c->n_parts; j += w, ++k) {                            \
          w = c->parts[k].columns;                                                              \
          if (b.rows == BAND(size) && w == WIDE(size) / (size))                                 \
            part##size(p, c, &b, k, j, BAND(size), WIDE(size) / (size), src, dst);              \
          else                                                                                  \
            part##size(p, c, &b, k, j, b.rows, w, src, dst);                                    \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }
BANDS(1, 8)
BANDS(2, 16)

/* --- larger elements --- */

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
      for (int64_t r = 0; r < m; ++r)                                                           \
        ask_for(src + (row + ahead) * (size) + r * step, WIDE(size), p->next != 0);             \
      /* Squares may read on into what follows a row. */                                        \
      const bool on = row + (m - 1) * p->step + c->parts[k].from + full <= c->end;              \
      const bool direct = on && m % n == 0;                                                     \
      uint8_t *to = tile + x * (size);                                                          \
      for (int64_t r = 0; !direct && r < m; ++r)                                                \
        gather(from + r * step, (on ? full : w) * (size), close + r * WIDE(size));              \
      if (direct && m == GROUP && w == WIDE(size) / (size))                                     \
        tile##size(from, step, GROUP, WIDE(size) / (size), to);                                 \
      else                                                                                      \
        tile##size(direct ? from : close, direct ? step : WIDE(size), m, w, to);                \
    }                                                                                           \
    put##size(p, c, j, w, i, h, tile, dst);                                                     \
  }                                                                                             \
  static void plane##size(const surg__plane *p, const uint8_t *src, uint8_t *dst, chunk *c) {   \
    const int64_t rows = p->rows, head = up_to_line(p, dst, size), most = ROOM / (size);        \
    const bool few = p->rank == 1 && p->columns[0] * (size) <= LINE;                            \
    const int64_t high = few || !p->past ? most : HIGH(size) / (size);                          \
    place at = {0};                                                                             \
    c->end = plane_end(p);                                                                      \
    for (bool more = true; more;) {                                                             \
      more = take_columns(p, &at, WIDE(size) / (size), CHUNK, c);                               \
      for (int64_t i = 0, h; i < rows; i += h) {                                                \
        h = i == 0 && head > 0 && high < rows ? head : high;                                    \
        if (h > rows - i) h = rows - i;                                                         \
        const int64_t below = i + h < rows ? row_at(p, i + h) - row_at(p, i) : 0;               \
        c->parts[c->n_parts].from = c->parts[0].from + below;                                   \
        for (int64_t k = 0, j = 0; k < c->n_parts; j += c->parts[k++].columns)                  \
          part##size(p, c, k, j, i, h, src, dst);                                               \
      }                                                                                         \
    }                                                                                           \
  }
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
      plane##size(p, src, dst, (chunk *)room);                                                  \
    break;

_Static_assert(sizeof(chunk) <= sizeof(surg__plane_room), "a chunk has no room");

void surg__transpose_plane(const surg__plane *p, const void *src, void *dst, size_t size,
                           surg__plane_room *room) {
  switch (size) {
    PLANE(1)
    PLANE(2)
    PLANE(4)
    PLANE(8)
    case 16:
      plane16(p, src, dst, (chunk *)room);
      break;
    case 32:
      plane32(p, src, dst, (chunk *)room);
      break;
    default:
      assert(size == 64);
      plane64(p, src, dst, (chunk *)room);
  }
}
