/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that sort: TopK and Unique. Of equal elements the one with the lower index is first. */
#include "eval/move/move.h"

/* Cost of sorting n elements, for the budget. */
static uint64_t sort_work(uint64_t n) {
  return n * (n > 1 ? 64 - (uint64_t)__builtin_clzll(n) : 1);
}

/* --- TopK --- */

typedef struct lane {
  const uint64_t *keys; /* key of the lane's first element */
  uint64_t step;
  bool largest;
} lane;

static int lane_order(const void *user, uint64_t a, uint64_t b) {
  const lane *l = user;
  uint64_t x = l->keys[a * l->step], y = l->keys[b * l->step];
  int order = x < y ? -1 : x > y;
  return l->largest ? -order : order;
}

typedef struct top_k {
  uint32_t axis;
  int64_t k, dims[SURG_LIMIT_RANK];
  bool largest;
} top_k;

static surg__kstatus top_k_read(surg_kctx *k, top_k *t) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", -1), a->rank, 1, &t->axis));
  if (k->since >= 10)
    SURG__K_TRY(surg__int_input(k, 1, &t->k));
  else
    t->k = surg_node_int(k->node, "k", -1);
  if (t->k < 0 || t->k > a->dims[t->axis]) return surg__k_invalid(k, "k is out of range");
  t->largest = k->since < 11 || surg_node_int(k->node, "largest", 1) != 0;
  memcpy(t->dims, a->dims, a->rank * sizeof *t->dims);
  t->dims[t->axis] = t->k;
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, t->dims, a->rank));
  return surg__k_out(k, 1, SURG_INT64, t->dims, a->rank);
}

/* TopK. With sorted = 0 any order is permitted, so the result is always sorted. */
surg__kstatus surg__k_top_k(surg_kctx *k) {
  top_k t;
  uint64_t *keys;
  SURG__K_TRY(top_k_read(k, &t));
  const surg__array *a = &k->in[0];
  SURG__K_TRY(surg__k_work(k, sort_work(a->count)));
  SURG__K_TRY(surg__sort_keys(k, a, &keys));
  if (a->count == 0 || t.k == 0) return SURG__K_OK;
  uint64_t dim = (uint64_t)a->dims[t.axis],
           inner = surg__span_product(a->dims, t.axis + 1, a->rank);
  uint64_t outer = surg__span_product(a->dims, 0, t.axis);
  uint64_t *order = surg__k_scratch(k, dim, sizeof *order);
  uint64_t *spare = surg__k_scratch(k, dim, sizeof *spare);
  if (!order || !spare) return SURG__K_NOMEM;
  size_t size = surg__element_size(a);
  for (uint64_t o = 0; o < outer; o++) {
    for (uint64_t i = 0; i < inner; i++) {
      uint64_t base = o * dim * inner + i, to = o * (uint64_t)t.k * inner + i;
      lane l = {keys + base, inner, t.largest};
      for (uint64_t j = 0; j < dim; j++) order[j] = j;
      surg__sort_positions(order, spare, dim, lane_order, &l);
      for (uint64_t j = 0; j < (uint64_t)t.k; j++, to += inner) {
        if (k->n_out > 0 && k->out[0].data)
          memcpy((uint8_t *)k->out[0].data + to * size,
                 (const uint8_t *)a->data + (base + order[j] * inner) * size, size);
        if (k->n_out > 1 && k->out[1].data) ((int64_t *)k->out[1].data)[to] = (int64_t)order[j];
      }
    }
  }
  return SURG__K_OK;
}

/* --- Unique --- */

/* The items to compare: all elements (without an axis), or the slices along one axis. */
typedef struct slices {
  const surg__array *a;
  const uint64_t *keys; /* NULL: compare strings */
  uint64_t outer, n, inner;
  uint32_t axis;
  bool flat;
} slices;

static int string_order(surg_str a, surg_str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int order = n ? memcmp(a.p, b.p, n) : 0;
  if (order != 0) return order < 0 ? -1 : 1;
  return a.n < b.n ? -1 : a.n > b.n;
}

static int slice_order(const void *user, uint64_t a, uint64_t b) {
  const slices *s = user;
  for (uint64_t o = 0; o < s->outer; o++) {
    for (uint64_t i = 0; i < s->inner; i++) {
      uint64_t p = (o * s->n + a) * s->inner + i, q = (o * s->n + b) * s->inner + i;
      int order;
      if (s->keys) {
        order = s->keys[p] < s->keys[q] ? -1 : s->keys[p] > s->keys[q];
      } else {
        const surg_str *t = s->a->data;
        order = string_order(t[p], t[q]);
      }
      if (order != 0) return order;
    }
  }
  return 0;
}

static int number_order(const void *user, uint64_t a, uint64_t b) {
  const uint64_t *v = user;
  return v[a] < v[b] ? -1 : v[a] > v[b];
}

/* Groups of equal slices. */
typedef struct groups {
  uint64_t count;
  uint64_t *first, *size, *order; /* per group; order: output position -> group */
  uint64_t *of;                   /* slice -> group */
} groups;

static surg__kstatus make_groups(surg_kctx *k, const slices *s, bool sorted, groups *g) {
  uint64_t **all[] = {&g->first, &g->size, &g->order, &g->of};
  uint64_t *items = surg__k_scratch(k, s->n, sizeof *items);
  uint64_t *spare = surg__k_scratch(k, s->n, sizeof *spare);
  if (!items || !spare) return SURG__K_NOMEM;
  for (size_t i = 0; i < SURG_COUNT(all); i++) {
    *all[i] = surg__k_scratch(k, s->n, sizeof **all[i]);
    if (!*all[i]) return SURG__K_NOMEM;
  }
  for (uint64_t i = 0; i < s->n; i++) items[i] = i;
  surg__sort_positions(items, spare, s->n, slice_order, s);
  g->count = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    if (i == 0 || slice_order(s, items[i - 1], items[i]) != 0) {
      g->first[g->count] = items[i];
      g->order[g->count] = g->count;
      g->size[g->count++] = 0;
    }
    g->size[g->count - 1]++;
    g->of[items[i]] = g->count - 1;
  }
  if (!sorted) surg__sort_positions(g->order, spare, g->count, number_order, g->first);
  return SURG__K_OK;
}

static surg__kstatus unique_values(surg_kctx *k, const slices *s, const groups *g) {
  int64_t dims[SURG_LIMIT_RANK];
  uint32_t rank = s->flat ? 1 : s->a->rank;
  if (!s->flat) memcpy(dims, s->a->dims, rank * sizeof *dims);
  dims[s->flat ? 0 : s->axis] = (int64_t)g->count;
  SURG__K_TRY(surg__k_out(k, 0, s->a->dtype, dims, rank));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  size_t block = s->inner * surg__element_size(s->a);
  uint8_t *to = k->out[0].data;
  for (uint64_t o = 0; o < s->outer; o++) {
    for (uint64_t i = 0; i < g->count; i++, to += block) {
      uint64_t from = o * s->n + g->first[g->order[i]];
      memcpy(to, (const uint8_t *)s->a->data + from * block, block);
    }
  }
  return SURG__K_OK;
}

/* Writes the outputs indices, inverse_indices and counts: the first slice of each group, the
 * group of each slice, the size of each group. */
static surg__kstatus unique_indices(surg_kctx *k, const slices *s, const groups *g) {
  int64_t n_groups = (int64_t)g->count, n = (int64_t)s->n;
  uint64_t *rank = surg__k_scratch(k, g->count, sizeof *rank); /* group -> output position */
  if (!rank) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < g->count; i++) rank[g->order[i]] = i;
  for (uint32_t o = 1; o < k->n_out && o < 4; o++) {
    SURG__K_TRY(surg__k_out(k, o, SURG_INT64, o == 2 ? &n : &n_groups, 1));
    int64_t *out = k->out[o].data;
    for (uint64_t i = 0; out && i < k->out[o].count; i++) {
      uint64_t v = o == 1 ? g->first[g->order[i]] : o == 2 ? rank[g->of[i]] : g->size[g->order[i]];
      out[i] = (int64_t)v;
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_unique(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  slices s = {.a = a, .outer = 1, .n = a->count, .inner = 1};
  groups g = {0};
  uint64_t *keys, work;
  s.flat = !surg_node_attr(k->node, "axis");
  if (!s.flat) {
    SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 11, &s.axis));
    s.n = (uint64_t)a->dims[s.axis];
    s.outer = surg__span_product(a->dims, 0, s.axis);
    s.inner = surg__span_product(a->dims, s.axis + 1, a->rank);
    if (a->count == 0) return surg__k_cannot(k, "there are no elements to compare");
  }
  if (!surg__mul_u64(sort_work(s.n), s.outer * s.inner, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  if (a->dtype != SURG_STRING) {
    SURG__K_TRY(surg__sort_keys(k, a, &keys));
    s.keys = keys;
  }
  SURG__K_TRY(make_groups(k, &s, surg_node_int(k->node, "sorted", 1) != 0, &g));
  SURG__K_TRY(unique_values(k, &s, &g));
  return unique_indices(k, &s, &g);
}
