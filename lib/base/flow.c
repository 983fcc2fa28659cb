/* SPDX-License-Identifier: Apache-2.0 */
/* Dinitz' algorithm: while the sink is reached by edges with capacity left, vertices get the
 * distance from the source, and flow is pushed along edges that lead one further until none is
 * left. A path is held in an array, so that its length is no depth of recursion. */
#include "base/flow.h"

#include <string.h>

#include "base/context.h"

surg_status surg__flow_init(surg__flow *f, surg_context *ctx, uint32_t n) {
  *f = (surg__flow){.ctx = ctx, .n = n};
  const surg__flow_edge unused = {0};
  f->first = surg__calloc(ctx, (size_t)n * 5, sizeof *f->first);
  if (!f->first || !surg__vec_push(ctx, &f->edges, unused) ||
      !surg__vec_push(ctx, &f->edges, unused))
    return surg__alloc_status(ctx);
  f->now = f->first + n;
  f->queue = f->now + n;
  f->level = f->queue + n;
  f->path = f->level + n;
  return SURG_OK;
}

void surg__flow_free(surg__flow *f) {
  if (!f->ctx) return;
  surg__free(f->ctx, f->first);
  surg__vec_free(f->ctx, &f->edges);
  f->first = NULL;
}

bool surg__flow_edge_add(surg__flow *f, uint32_t from, uint32_t to, int64_t capacity) {
  if (f->edges.count > UINT32_MAX - 2) return false;
  const uint32_t e = (uint32_t)f->edges.count;
  const surg__flow_edge ahead = {to, f->first[from], capacity}, back = {from, f->first[to], 0};
  if (!surg__vec_push(f->ctx, &f->edges, ahead) || !surg__vec_push(f->ctx, &f->edges, back))
    return false;
  f->first[from] = e;
  f->first[to] = e + 1;
  return true;
}

/* Computes the levels. Returns whether the sink is reached. */
static bool find_levels(surg__flow *f) {
  memset(f->level, 0, f->n * sizeof *f->level);
  uint32_t head = 0, tail = 0;
  f->queue[tail++] = 0;
  f->level[0] = 1;
  while (head < tail) {
    const uint32_t v = f->queue[head++];
    for (uint32_t e = f->first[v]; e; e = f->edges.items[e].next) {
      const surg__flow_edge *edge = &f->edges.items[e];
      f->steps++;
      if (!edge->left || f->level[edge->to]) continue;
      f->level[edge->to] = f->level[v] + 1;
      f->queue[tail++] = edge->to;
    }
  }
  return f->level[1] != 0;
}

/* Pushes what the path of n edges can carry. Returns the number of edges before the first one that
 * is full now. */
static uint32_t push(surg__flow *f, uint32_t n) {
  int64_t most = SURG__FLOW_ENDLESS;
  uint32_t full = 0;
  for (uint32_t i = n; i-- > 0;) {
    const int64_t left = f->edges.items[f->path[i]].left;
    if (left <= most) {
      most = left;
      full = i;
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    surg__flow_edge *ahead = &f->edges.items[f->path[i]], *back = &f->edges.items[f->path[i] ^ 1];
    if (ahead->left != SURG__FLOW_ENDLESS) ahead->left -= most;
    if (back->left != SURG__FLOW_ENDLESS) back->left += most;
  }
  f->steps += n;
  return full;
}

/* Pushes flow along the levels until no path is left, or the steps are used up. */
static void push_all(surg__flow *f, uint64_t most) {
  uint32_t n = 0;
  memcpy(f->now, f->first, f->n * sizeof *f->now);
  while (f->steps < most) {
    const uint32_t v = n ? f->edges.items[f->path[n - 1]].to : 0;
    if (v == 1) {
      n = push(f, n);
      continue;
    }
    uint32_t e = f->now[v];
    for (; e; e = f->edges.items[e].next) {
      const surg__flow_edge *edge = &f->edges.items[e];
      f->steps++;
      if (edge->left && f->level[edge->to] == f->level[v] + 1) break;
    }
    f->now[v] = e;
    if (e) {
      f->path[n++] = e;
    } else if (n) {
      const uint32_t last = f->edges.items[f->path[--n] ^ 1].to; /* where a dead end began */
      f->now[last] = f->edges.items[f->now[last]].next;
    } else {
      return;
    }
  }
}

surg_status surg__flow_run(surg__flow *f, uint64_t most) {
  while (f->steps < most) {
    if (!find_levels(f)) return SURG_OK;
    push_all(f, most);
  }
  return SURG_ELIMIT;
}

bool surg__flow_with_source(const surg__flow *f, uint32_t vertex) {
  return f->level[vertex] != 0;
}
