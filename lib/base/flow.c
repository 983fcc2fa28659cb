/* SPDX-License-Identifier: Apache-2.0 */
/* Dinitz' algorithm: while the sink is reached by edges with capacity left, vertices get the
 * distance from the source, and flow is pushed along edges that lead one further until none is
 * left. A path is held in an array, so that its length is no depth of recursion. */
#include <onnxsurg/flow.h>
#include <string.h>

#include "base/context.h"

typedef struct edge {
  uint32_t to;
  uint32_t next; /* of the same vertex, 0: none. Edge e ^ 1 is its reverse */
  int64_t left;  /* capacity that is not used */
} edge;

/* Edges 0 and 1 are not used. */
struct surg_flow {
  surg_context *ctx;
  SURG_VEC(edge) edges;
  uint32_t *first, *now, *queue, *path; /* by vertex, except `path` */
  uint32_t *level;                      /* 1 + distance from the source; 0: not reached */
  uint32_t n;
  uint64_t steps; /* edges looked at */
};

surg_flow *surg_flow_new(surg_context *ctx, uint32_t n) {
  if (!ctx || n < 2) return NULL;
  const edge unused = {0};
  surg_flow *f = surg__calloc(ctx, 1, sizeof *f);
  if (!f) return NULL;
  f->ctx = ctx;
  f->n = n;
  f->first = surg__calloc(ctx, (size_t)n * 5, sizeof *f->first);
  if (!f->first || !surg__vec_push(ctx, &f->edges, unused) ||
      !surg__vec_push(ctx, &f->edges, unused)) {
    surg_flow_free(f);
    return NULL;
  }
  f->now = f->first + n;
  f->queue = f->now + n;
  f->level = f->queue + n;
  f->path = f->level + n;
  return f;
}

void surg_flow_free(surg_flow *f) {
  if (!f) return;
  surg__free(f->ctx, f->first);
  surg__vec_free(f->ctx, &f->edges);
  surg__free(f->ctx, f);
}

surg_status surg_flow_add(surg_flow *f, uint32_t from, uint32_t to, int64_t capacity,
                          int64_t back) {
  if (!f || from >= f->n || to >= f->n || capacity < 0 || back < 0) return SURG_EUSAGE;
  if (f->edges.count > UINT32_MAX - 2) return SURG_ENOMEM;
  const uint32_t e = (uint32_t)f->edges.count;
  const edge ahead = {to, f->first[from], capacity};
  if (!surg__vec_push(f->ctx, &f->edges, ahead)) return SURG_ENOMEM;
  f->first[from] = e;
  const edge reverse = {from, f->first[to], back};
  if (!surg__vec_push(f->ctx, &f->edges, reverse)) return SURG_ENOMEM;
  f->first[to] = e + 1;
  return SURG_OK;
}

uint64_t surg_flow_edges(const surg_flow *f) {
  return f ? f->edges.count / 2 - 1 : 0;
}

/* Computes the levels. Returns whether the sink is reached. */
static bool find_levels(surg_flow *f, bool endless_only) {
  memset(f->level, 0, f->n * sizeof *f->level);
  uint32_t head = 0, tail = 0;
  f->queue[tail++] = 0;
  f->level[0] = 1;
  while (head < tail) {
    const uint32_t v = f->queue[head++];
    for (uint32_t e = f->first[v]; e; e = f->edges.items[e].next) {
      const edge *x = &f->edges.items[e];
      f->steps++;
      if (!x->left || f->level[x->to] || (endless_only && x->left != SURG_FLOW_ENDLESS)) continue;
      f->level[x->to] = f->level[v] + 1;
      f->queue[tail++] = x->to;
    }
  }
  return f->level[1] != 0;
}

/* Pushes what the path of n edges can carry. Returns the number of edges before the first one that
 * is full now; n: all are endless. */
static uint32_t push(surg_flow *f, uint32_t n) {
  int64_t most = SURG_FLOW_ENDLESS;
  uint32_t full = n;
  for (uint32_t i = n; i-- > 0;) {
    const int64_t left = f->edges.items[f->path[i]].left;
    if (left == SURG_FLOW_ENDLESS || left > most) continue;
    most = left;
    full = i;
  }
  for (uint32_t i = 0; i < n && full < n; i++) {
    edge *ahead = &f->edges.items[f->path[i]], *back = &f->edges.items[f->path[i] ^ 1];
    if (ahead->left != SURG_FLOW_ENDLESS) ahead->left -= most;
    if (back->left != SURG_FLOW_ENDLESS) back->left += most;
  }
  f->steps += n;
  return full;
}

/* Pushes flow along the levels until no path is left, or the steps are used up. False: a path of
 * endless edges. */
static bool push_all(surg_flow *f, uint64_t most) {
  uint32_t n = 0;
  memcpy(f->now, f->first, f->n * sizeof *f->now);
  while (f->steps < most) {
    const uint32_t v = n ? f->edges.items[f->path[n - 1]].to : 0;
    if (v == 1) {
      const uint32_t kept = push(f, n);
      if (kept == n) return false;
      n = kept;
      continue;
    }
    uint32_t e = f->now[v];
    for (; e; e = f->edges.items[e].next) {
      const edge *x = &f->edges.items[e];
      f->steps++;
      if (x->left && f->level[x->to] == f->level[v] + 1) break;
    }
    f->now[v] = e;
    if (e) {
      f->path[n++] = e;
    } else if (n) {
      const uint32_t last = f->edges.items[f->path[--n] ^ 1].to; /* where a dead end began */
      f->now[last] = f->edges.items[f->now[last]].next;
    } else {
      return true;
    }
  }
  return true;
}

surg_status surg_flow_run(surg_flow *f, uint64_t most) {
  if (!f) return SURG_EUSAGE;
  f->steps = 0;
  while (f->steps < most) {
    if (!find_levels(f, false)) return SURG_OK;
    if (!push_all(f, most)) return SURG_EINVALID;
  }
  return SURG_ELIMIT;
}

void surg_flow_reach(surg_flow *f) {
  if (f) (void)find_levels(f, true);
}

bool surg_flow_with_source(const surg_flow *f, uint32_t vertex) {
  return f && vertex < f->n && f->level[vertex] != 0;
}
