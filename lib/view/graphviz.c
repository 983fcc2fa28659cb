/* SPDX-License-Identifier: Apache-2.0 */
/* Positions by the program `dot` of Graphviz, from its output for programs (-Tplain). */
#include <math.h>
#include <stdlib.h>

#include "base/child.h"
#include "base/os/os.h"
#include "view/view.h"

#define MEMORY (1ull << 30)
#define POINTS 72.0
#define MARGIN 24
#define OUTPUT_MOST (64u << 20)

/* Runs `dot` on the graph in file `path`; *text is its output, for the caller to free. */
static surg_status run(surg__view *v, const char *path, char **text) {
  surg__child child = {.seconds = VIEW_DOT_SECONDS, .memory = MEMORY};
  surg__stat st;
  int fd = -1;
  surg_status status = SURG_ENOTFOUND;
  *text = NULL;
  if (!surg__child_parse("dot -Tplain {}", &child)) return SURG_ENOTFOUND;
  if (surg__os_temp(&fd) == 0) {
    if (surg__child_run_on(&child, &path, 1, fd, false) == 0 && surg__os_stat_fd(fd, &st) == 0 &&
        st.size && st.size <= OUTPUT_MOST) {
      *text = malloc((size_t)st.size + 1);
      if (*text && surg__os_pread(fd, *text, (size_t)st.size, 0) == 0) {
        (*text)[st.size] = 0;
        status = SURG_OK;
      }
    }
    surg__os_close(fd);
  }
  surg__child_free(&child);
  (void)v;
  return status;
}

/* The next word of a line as a number; false: there is none. */
static bool number(char **at, double *out) {
  char *end;
  *out = strtod(*at, &end);
  if (end == *at || !isfinite(*out) || fabs(*out) > 1e6) return false;
  *at = end;
  return true;
}

static bool word(char **at, const char *want) {
  const size_t n = strlen(want);
  *at += strspn(*at, " ");
  if (strncmp(*at, want, n) != 0) return false;
  *at += n;
  return true;
}

/* A box number after the letter b. */
static bool box_number(char **at, size_t n, uint32_t *out) {
  if (!word(at, "b")) return false;
  const unsigned long i = strtoul(*at, at, 10);
  *out = (uint32_t)i;
  return i < n;
}

typedef struct reading {
  surg__view *v;
  surg__scene *s;
  double height;
  size_t boxes, links;
  size_t next; /* the link after the last one that was read */
} reading;

static int32_t to_x(double x) {
  return (int32_t)lround(x * POINTS) + MARGIN;
}

static int32_t to_y(const reading *r, double y) {
  return (int32_t)lround((r->height - y) * POINTS) + MARGIN;
}

static bool read_box(reading *r, char *at) {
  uint32_t i;
  double x, y;
  if (!box_number(&at, r->s->lay.n, &i) || !number(&at, &x) || !number(&at, &y)) return false;
  surg__lay_box *b = &r->s->lay.boxes[i];
  b->x = to_x(x);
  b->y = to_y(r, y) - (b->h + b->foot) / 2;
  r->boxes++;
  return true;
}

/* A way: a curve whose ends are moved onto the sides of the boxes. */
static bool read_link(reading *r, char *at) {
  surg__scene *s = r->s;
  uint32_t from, to;
  double n, x, y;
  if (!box_number(&at, s->lay.n, &from) || !box_number(&at, s->lay.n, &to) || !number(&at, &n) ||
      n < 4 || n > 1e5)
    return false;
  /* Links are printed by source, in the order in which they were given. */
  size_t i = 0;
  while (i < s->lay.m && (s->lay.links[i].from != from || s->lay.links[i].to != to ||
                          s->lay.links[i].cut || s->ways[i]))
    i++;
  if (i == s->lay.m) return false;
  const surg__lay_box *a = &s->lay.boxes[from], *b = &s->lay.boxes[to];
  surg__buf text;
  surg__buf_init(&text, r->v->ctx);
  const int32_t start = a->x + s->lay.links[i].from_at, end = b->x + s->lay.links[i].to_at;
  surg__buf_printf(&text, "M%d %d", start, a->y + a->h);
  for (size_t k = 0; k < (size_t)n; k++) {
    if (!number(&at, &x) || !number(&at, &y)) {
      surg__buf_free(&text);
      return false;
    }
    /* `dot` takes the labels under a box for a part of it. */
    if (k == 0) surg__buf_printf(&text, "V%d", to_y(r, y));
    if (k == 0 && abs(to_x(x) - start) > 1) surg__buf_printf(&text, "H%d", to_x(x));
    const bool last = k + 1 == (size_t)n; /* its rounded number may be beside the box */
    if (k)
      surg__buf_printf(&text, "%s%d %d", k % 3 == 1 ? "C" : " ", last ? end : to_x(x),
                       last ? b->y : to_y(r, y));
  }
  s->ways[i] = surg__view_text(r->v, &text);
  r->links++;
  return true;
}

static bool read_all(reading *r, char *text) {
  double scale, width;
  for (char *line = text, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = 0;
    char *at = line;
    if (word(&at, "graph ")) {
      if (!number(&at, &scale) || !number(&at, &width) || !number(&at, &r->height)) return false;
      r->s->lay.width = to_x(width) + MARGIN;
      r->s->lay.height = to_y(r, 0) + MARGIN;
    } else if (word(&at, "node ")) {
      if (!read_box(r, at)) return false;
    } else if (word(&at, "edge ")) {
      if (!read_link(r, at)) return false;
    }
  }
  for (size_t i = 0; i < r->s->lay.m; i++)
    if (!r->s->lay.links[i].cut && !r->s->ways[i]) return false;
  return r->boxes == r->s->lay.n;
}

/* Writes the graph to a file in a folder of its own. */
static bool write_graph(surg__view *v, const surg__scene *s, const char *path) {
  surg__buf b;
  surg__buf_init(&b, v->ctx);
  surg__view_put_dot(v, s, true, &b);
  FILE *f = b.failed ? NULL : surg__os_fopen(path, "w");
  bool ok = f && fwrite(b.p, 1, b.n, f) == b.n;
  if (f && fclose(f) != 0) ok = false;
  surg__buf_free(&b);
  return ok;
}

surg_status surg__view_graphviz(surg__view *v, surg__scene *s) {
  char folder[1024], path[1100], *text = NULL;
  surg_status status = SURG_ENOTFOUND;
  if (v->no_dot || surg__os_temp_folder("onnxsurg-view", folder, sizeof folder) != 0)
    return SURG_ENOTFOUND;
  snprintf(path, sizeof path, "%s/graph.dot", folder);
  s->ways = surg__view_array(v, s->lay.m, sizeof *s->ways);
  if (s->ways && write_graph(v, s, path)) status = run(v, path, &text);
  if (status == SURG_OK) {
    reading r = {.v = v, .s = s};
    if (!read_all(&r, text)) status = SURG_ENOTFOUND;
  }
  if (status != SURG_OK) {
    s->ways = NULL;
    v->no_dot = true; /* it is not asked again */
  }
  free(text);
  surg__os_unlink(path);
  surg__os_remove_folder(folder);
  return status;
}
