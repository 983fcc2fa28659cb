/* SPDX-License-Identifier: Apache-2.0 */
/* See line_diff.h. The algorithm is the greedy one of Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (1986); texts that differ in more than MOST lines are printed as one replacement. */
#include "line_diff.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000  /* edits that are searched: the trace has MOST^2 entries */
#define CONTEXT 2u /* lines around a change */

typedef struct text {
  const char **lines;
  size_t *bytes;
  size_t n;
} text;

typedef struct diff {
  text a, b;
  bool *gone, *new; /* of lines of a, of b */
} diff;

static bool split(const char *s, text *t) {
  size_t n = 1;
  for (const char *c = s; *c; c++) n += *c == '\n';
  t->lines = calloc(n + 1, sizeof *t->lines);
  t->bytes = calloc(n + 1, sizeof *t->bytes);
  if (!t->lines || !t->bytes) return false;
  while (*s) {
    const char *end = strchr(s, '\n');
    const size_t k = end ? (size_t)(end - s) : strlen(s);
    t->lines[t->n] = s;
    t->bytes[t->n++] = k;
    s += k + (end != NULL);
  }
  return true;
}

static bool same(const diff *d, size_t i, size_t k) {
  return d->a.bytes[i] == d->b.bytes[k] && memcmp(d->a.lines[i], d->b.lines[k], d->a.bytes[i]) == 0;
}

/* Marks what differs between line `lo` and the ends `na`, `nb`, from the trace of `edits` rounds:
 * row e has the furthest x on each diagonal after e edits. */
static void walk(diff *d, size_t lo, long na, long nb, int32_t *const *trace, long edits) {
  long x = na, y = nb;
  for (long e = edits; e > 0; e--) {
    const int32_t *v = trace[e - 1];
    const long k = x - y;
    const bool down = k == -e || (k != e && v[k - 1 + MOST + 1] < v[k + 1 + MOST + 1]);
    const long from = down ? k + 1 : k - 1;
    const long px = v[from + MOST + 1], py = px - from;
    if (down)
      d->new[lo + (size_t)py] = true;
    else
      d->gone[lo + (size_t)px] = true;
    x = px;
    y = py;
  }
}

/* Finds the shortest edit between the texts without their equal ends; false: out of memory. */
static bool search(diff *d, size_t lo, size_t tail) {
  const long na = (long)(d->a.n - lo - tail), nb = (long)(d->b.n - lo - tail);
  const size_t width = 2 * MOST + 3;
  int32_t **trace = calloc(MOST + 1, sizeof *trace);
  int32_t *v = calloc(width, sizeof *v);
  bool ok = trace && v, found = false;
  long e = 0;
  for (; ok && !found && e <= MOST; e++) {
    for (long k = -e; k <= e && !found; k += 2) {
      const bool down = k == -e || (k != e && v[k - 1 + MOST + 1] < v[k + 1 + MOST + 1]);
      long x = down ? v[k + 1 + MOST + 1] : v[k - 1 + MOST + 1] + 1, y = x - k;
      while (x < na && y < nb && x >= 0 && y >= 0 && same(d, lo + (size_t)x, lo + (size_t)y))
        x++, y++;
      v[k + MOST + 1] = (int32_t)x;
      found = x >= na && y >= nb;
    }
    if (found) break;
    trace[e] = malloc(width * sizeof *v);
    ok = trace[e] != NULL;
    if (ok) memcpy(trace[e], v, width * sizeof *v);
  }
  if (ok && found) walk(d, lo, na, nb, trace, e);
  for (size_t i = lo; ok && !found && i < d->a.n - tail; i++) d->gone[i] = true;
  for (size_t i = lo; ok && !found && i < d->b.n - tail; i++) d->new[i] = true;
  for (long i = 0; trace && i <= MOST; i++) free(trace[i]);
  free(trace);
  free(v);
  return ok;
}

static void print_lines(const diff *d) {
  size_t i = 0, k = 0, last = SIZE_MAX; /* `last`: the change printed last */
  while (i < d->a.n || k < d->b.n) {
    if (i < d->a.n && d->gone[i]) {
      printf("-%.*s\n", (int)d->a.bytes[i], d->a.lines[i]);
      last = i++;
    } else if (k < d->b.n && d->new[k]) {
      printf("+%.*s\n", (int)d->b.bytes[k], d->b.lines[k]);
      last = i;
      k++;
    } else {
      size_t ahead = 0; /* lines until the next change */
      while (i + ahead < d->a.n && k + ahead < d->b.n && ahead <= CONTEXT && !d->gone[i + ahead] &&
             !d->new[k + ahead])
        ahead++;
      const bool before = ahead <= CONTEXT && (i + ahead < d->a.n || k + ahead < d->b.n);
      const bool after = last != SIZE_MAX && i <= last + CONTEXT;
      if (before || after)
        printf(" %.*s\n", (int)d->a.bytes[i], d->a.lines[i]);
      else if (last != SIZE_MAX && i == last + CONTEXT + 1)
        puts("...");
      i++;
      k++;
    }
  }
}

bool line_diff_print(const char *before, const char *after) {
  diff d = {.gone = NULL};
  size_t lo = 0, tail = 0;
  bool ok = split(before, &d.a) && split(after, &d.b);
  d.gone = calloc(d.a.n + 1, sizeof *d.gone);
  d.new = calloc(d.b.n + 1, sizeof *d.new);
  ok = ok && d.gone && d.new;
  while (ok && lo < d.a.n && lo < d.b.n && same(&d, lo, lo)) lo++;
  while (ok && tail + lo < d.a.n && tail + lo < d.b.n &&
         same(&d, d.a.n - 1 - tail, d.b.n - 1 - tail))
    tail++;
  ok = ok && search(&d, lo, tail);
  if (ok) print_lines(&d);
  free(d.a.lines);
  free(d.a.bytes);
  free(d.b.lines);
  free(d.b.bytes);
  free(d.gone);
  free(d.new);
  return ok;
}
