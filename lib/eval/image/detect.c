/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: of boxes that overlap, keeps the one with the best score. Computes in
 * float, the type of the boxes, and in the order of operations that runtimes use, so that
 * comparisons with a threshold give the same result. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/move/move.h"

typedef struct box {
  float low[2], high[2], area;
} box;

typedef struct nms {
  const float *boxes, *scores;
  uint64_t batches, classes, n, most; /* most: most boxes selected per class */
  float overlap, least;               /* least: -inf if score_threshold is absent */
  bool centred, bounded;
  box *list;       /* boxes of the current batch entry */
  uint64_t *order; /* candidates, best first */
  uint64_t *spare, *kept;
} nms;

static surg__kstatus threshold(surg_kctx *k, uint32_t in, float fallback, float *out) {
  *out = fallback;
  if (!surg__k_has(k, in)) return SURG__K_OK;
  if (k->in[in].count != 1) return surg__k_invalid(k, "a threshold is not a single number");
  *out = *(const float *)k->in[in].data;
  return isnan(*out) ? surg__k_invalid(k, "a threshold is not a number") : SURG__K_OK;
}

static surg__kstatus nms_parameters(surg_kctx *k, nms *s) {
  const surg__array *b = &k->in[0], *c = &k->in[1];
  if (b->rank != 3 || c->rank != 3 || b->dims[2] != 4 || b->dims[0] != c->dims[0] ||
      b->dims[1] != c->dims[2]) {
    return surg__k_invalid(k, "boxes and scores do not fit each other");
  }
  s->boxes = b->data;
  s->scores = c->data;
  s->batches = (uint64_t)b->dims[0];
  s->n = (uint64_t)b->dims[1];
  s->classes = (uint64_t)c->dims[1];
  s->centred = surg_node_int(k->node, "center_point_box", 0) != 0;
  int64_t most = 0;
  if (surg__k_has(k, 2)) SURG__K_TRY(surg__int_input(k, 2, &most));
  s->most = most < 0 ? 0 : (uint64_t)most < s->n ? (uint64_t)most : s->n;
  s->bounded = surg__k_has(k, 4);
  SURG__K_TRY(threshold(k, 3, 0, &s->overlap));
  SURG__K_TRY(threshold(k, 4, -INFINITY, &s->least));
  if (s->overlap < 0 || s->overlap > 1) return surg__k_invalid(k, "iou_threshold is not in 0..1");
  return SURG__K_OK;
}

/* The corners may be given in any order. */
static box read_box(const float *p, bool centred) {
  box b;
  for (int d = 0; d < 2; ++d) {
    float u = p[d], v = p[d + 2];
    if (centred) {
      float half = v / 2;
      v = u + half;
      u -= half;
    }
    b.low[d] = u < v ? u : v;
    b.high[d] = u < v ? v : u;
  }
  b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
  return b;
}

static bool overlaps(const box *a, const box *b, float limit) {
  float side[2];
  for (int d = 0; d < 2; ++d) {
    float low = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
    float high = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
    if (!(high > low)) return false;
    side[d] = high - low;
  }
  float common = side[0] * side[1];
  float whole = a->area + b->area - common;
  if (!(common > 0) || !(a->area > 0) || !(b->area > 0) || !(whole > 0)) return false;
  return common / whole > limit;
}

/* Sorts by decreasing score. The sort is stable, so boxes of equal score keep their order. */
static int by_score(const void *user, uint64_t a, uint64_t b) {
  const float *scores = user;
  return scores[a] > scores[b] ? -1 : scores[a] < scores[b];
}

/* Selects the boxes of one class: the first *count entries of s->kept. */
static surg__kstatus select_boxes(surg_kctx *k, nms *s, const float *scores, uint64_t *count) {
  uint64_t candidates = 0;
  *count = 0;
  for (uint64_t i = 0; i < s->n; ++i) {
    if (isnan(scores[i])) {
      SURG__K_TRY(surg__k_disputed(k, "the order of NaN is not defined"));
      continue; /* NaN is not above any threshold */
    }
    if (!s->bounded || scores[i] > s->least) s->order[candidates++] = i;
  }
  surg__sort_positions(s->order, s->spare, candidates, by_score, scores);
  for (uint64_t i = 0; i < candidates && *count < s->most; ++i) {
    bool hidden = false;
    SURG__K_TRY(surg__k_work(k, *count + 1));
    for (uint64_t j = 0; j < *count && !hidden; ++j) {
      hidden = overlaps(&s->list[s->order[i]], &s->list[s->kept[j]], s->overlap);
    }
    if (!hidden) s->kept[(*count)++] = s->order[i];
  }
  return SURG__K_OK;
}

static surg__kstatus nms_room(surg_kctx *k, nms *s) {
  uint64_t work;
  if (!surg__mul_u64(s->batches, s->classes, &work) || !surg__mul_u64(work, s->n, &work) ||
      !surg__mul_u64(work, 32, &work)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  s->list = surg__k_scratch(k, (size_t)s->n, sizeof *s->list);
  s->order = surg__k_scratch(k, (size_t)s->n, sizeof *s->order);
  s->spare = surg__k_scratch(k, (size_t)s->n, sizeof *s->spare);
  s->kept = surg__k_scratch(k, (size_t)s->n, sizeof *s->kept);
  return s->list && s->order && s->spare && s->kept ? SURG__K_OK : SURG__K_NOMEM;
}

/* Selects the boxes of all classes. `out` NULL: only count them. */
static surg__kstatus suppress(surg_kctx *k, nms *s, int64_t *out, uint64_t *total) {
  *total = 0;
  for (uint64_t b = 0; b < s->batches && s->most > 0; ++b) {
    for (uint64_t i = 0; i < s->n; ++i) {
      s->list[i] = read_box(s->boxes + (b * s->n + i) * 4, s->centred);
    }
    for (uint64_t c = 0; c < s->classes; ++c) {
      uint64_t count;
      SURG__K_TRY(select_boxes(k, s, s->scores + (b * s->classes + c) * s->n, &count));
      for (uint64_t i = 0; out && i < count; ++i) {
        int64_t *row = out + 3 * (*total + i);
        row[0] = (int64_t)b;
        row[1] = (int64_t)c;
        row[2] = (int64_t)s->kept[i];
      }
      *total += count;
    }
  }
  return SURG__K_OK;
}

/* Runs twice: the first run determines the size of the output, the second one writes it. */
surg__kstatus surg__k_nms(surg_kctx *k) {
  nms s;
  uint64_t total;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(nms_parameters(k, &s));
  SURG__K_TRY(nms_room(k, &s));
  SURG__K_TRY(suppress(k, &s, NULL, &total));
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, (const int64_t[]){(int64_t)total, 3}, 2));
  return suppress(k, &s, k->out[0].data, &total);
}
