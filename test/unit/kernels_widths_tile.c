/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed planes in every width (see widths.h), to where lines begin and to where they do not,
 * against copying one element after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "widths.h"

#include "eval/fast/move_tile.c"

#include "unit.h"

#define GUARD 128
#define PAGE (64 << 10) /* a multiple of any */

/* Bytes before a page that must not be read. */
static uint8_t *before_page(size_t bytes) {
  const size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  uint8_t *p = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED && mprotect(p + whole, PAGE, PROT_NONE) == 0);
  return p + whole - bytes;
}

typedef struct shape {
  int64_t dims[4], perm[4];
} shape;

/* What is written past the cache has 8 MiB. */
static const shape shapes[] = {
    {{1, 1, 131, 300}, {0, 1, 3, 2}},    /* in the cache */
    {{1, 1, 2005, 9}, {0, 1, 3, 2}},     /* in the cache, narrow */
    {{1, 1, 3001, 2801}, {0, 1, 3, 2}},  /* columns begin anywhere */
    {{1, 1, 4096, 2117}, {0, 1, 3, 2}},  /* columns share lines, or begin with them */
    {{4, 192, 90, 130}, {2, 0, 3, 1}},   /* the same, and not all follow each other */
    {{1, 128, 96, 700}, {0, 3, 2, 1}},   /* columns begin alike, and never follow each other */
    {{1, 20, 500, 900}, {0, 3, 1, 2}},   /* columns of many lines, in more chunks than one */
    {{1, 1, 300007, 29}, {0, 1, 3, 2}},  /* narrow */
    {{1, 1, 299008, 29}, {0, 1, 3, 2}},
    {{270, 32, 31, 32}, {1, 3, 0, 2}},   /* rows of rows, which are no multiple of a square's */
    {{270, 32, 32, 32}, {1, 3, 0, 2}},
    {{1, 700, 40, 300}, {0, 1, 3, 2}},   /* columns shorter than a line, one behind the other */
    {{1, 500, 64, 300}, {0, 1, 3, 2}},   /* as long */
    {{1, 700, 100, 130}, {0, 1, 3, 2}},  /* longer */
    {{100, 600, 32, 5}, {1, 3, 0, 2}},   /* more parts than a chunk has */
    {{1, 180000, 12, 4}, {0, 1, 3, 2}}}; /* small planes */

/* The view of a transposition; its elements to `to`, one after the other. */
static surg__walk view_of(const shape *s, const uint8_t *from, size_t size, uint8_t *to) {
  int64_t strides[4], n[4], step[4];
  surg__walk w = {0};
  surg__row_strides(s->dims, 4, strides);
  for (int i = 0; i < 4; i++) {
    n[i] = s->dims[s->perm[i]];
    step[i] = strides[s->perm[i]];
    surg__walk_axis(&w, n[i], step[i]);
  }
  for (int64_t a = 0; a < n[0]; a++)
    for (int64_t b = 0; b < n[1]; b++)
      for (int64_t c = 0; c < n[2]; c++) {
        const uint8_t *row = from + (size_t)(a * step[0] + b * step[1] + c * step[2]) * size;
        for (int64_t d = 0; d < n[3]; d++, to += size)
          memcpy(to, row + (size_t)(d * step[3]) * size, size);
      }
  return w;
}

START_TEST(planes) {
  static const size_t sizes[] = {1, 2}, offsets[] = {0, 16, 1, 62};
  const shape *s = &shapes[_i];
  const size_t count = (size_t)(s->dims[0] * s->dims[1] * s->dims[2] * s->dims[3]);
  uint8_t *end = before_page(2 * count) + 2 * count, *want = malloc(2 * count), *room = NULL;
  ck_assert(want && posix_memalign((void **)&room, 64, 2 * count + 2 * GUARD + 64) == 0);
  for (size_t i = 1; i <= 2 * count; i++) end[-(ptrdiff_t)i] = (uint8_t)unit_random();
  for (size_t z = 0; z < SURG_COUNT(sizes); z++) {
    const size_t size = sizes[z], bytes = count * size;
    const uint8_t *from = end - bytes;
    const surg__walk w = view_of(s, from, size, want);
    for (size_t o = 0; o < SURG_COUNT(offsets); o++) {
      for (variant = 0; variant < count_variants(); variant++) {
        uint8_t *to = room + GUARD + offsets[o];
        memset(room, 0xa5, 2 * count + 2 * GUARD + 64);
        surg__walk_copy(&w, from, size, to);
        ck_assert_msg(memcmp(to, want, bytes) == 0, "size %d, offset %d, width %d", (int)size,
                      (int)offsets[o], variant);
        for (size_t i = 1; i <= GUARD; i++)
          ck_assert_msg(to[-(ptrdiff_t)i] == 0xa5 && to[bytes + i - 1] == 0xa5,
                        "size %d, offset %d, width %d: written beside", (int)size, (int)offsets[o],
                        variant);
      }
    }
  }
  free(want);
  free(room);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_widths_tile");
  TCase *c = tcase_create("widths");
  tcase_set_timeout(c, 120);
  if (count_variants() < 3) printf("this machine has %d of 3 widths\n", count_variants());
  tcase_add_loop_test(c, planes, 0, (int)SURG_COUNT(shapes));
  suite_add_tcase(s, c);
  return unit_run(s);
}
