/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: the row of each box, and which links are drawn. */
#include "view/layout.h"

#define FAR_ROWS 16u         /* a link over more rows than this is far */
#define FAR_MANY 3u          /* far links of one net from which they are cut */
#define CROSSINGS 6u         /* crossings of links with rows, for each box ... */
#define CROSSINGS_MORE 4000u /* ... plus this many; the farthest links beyond that are cut */
#define ROUNDS 3             /* of moving boxes towards their neighbours */

/* Links by box: those of box i are items[first[i]] ... items[first[i + 1] - 1]. */
typedef struct lists {
  uint32_t *first, *items;
} lists;

typedef struct state {
  surg__lay *lay;
  lists out, in;
  uint32_t *sorted; /* boxes, each after its sources */
} state;

static bool list_links(surg__lay *lay, bool outgoing, lists *to) {
  to->first = surg__arena_array(lay->arena, lay->n + 2, sizeof *to->first);
  to->items = surg__arena_array(lay->arena, lay->m + 1, sizeof *to->items);
  if (!to->first || !to->items) return false;
  uint32_t *const at = to->first + 1; /* shifted by one: it becomes `first` while it is filled */
  for (size_t i = 0; i < lay->m; i++) at[(outgoing ? lay->links[i].from : lay->links[i].to) + 1]++;
  for (size_t i = 0; i < lay->n; i++) at[i + 1] += at[i];
  for (size_t i = 0; i < lay->m; i++)
    to->items[at[outgoing ? lay->links[i].from : lay->links[i].to]++] = (uint32_t)i;
  return true;
}

/* Cuts links that close a cycle, by a search in depth in the order of boxes, and sorts boxes. */
static bool sort(state *s) {
  surg__lay *lay = s->lay;
  enum { NEW = 0, OPEN, DONE };
  uint8_t *mark = surg__arena_array(lay->arena, lay->n + 1, sizeof *mark);
  uint32_t *stack = surg__arena_array(lay->arena, lay->n + 1, sizeof *stack);
  uint32_t *next = surg__arena_array(lay->arena, lay->n + 1, sizeof *next);
  s->sorted = surg__arena_array(lay->arena, lay->n + 1, sizeof *s->sorted);
  if (!mark || !stack || !next || !s->sorted) return false;
  size_t place = lay->n;
  for (size_t root = 0; root < lay->n; root++) {
    size_t depth = 0;
    if (mark[root] != NEW) continue;
    stack[depth++] = (uint32_t)root;
    mark[root] = OPEN;
    while (depth) {
      const uint32_t b = stack[depth - 1];
      if (s->out.first[b] + next[b] == s->out.first[b + 1]) {
        mark[b] = DONE;
        s->sorted[--place] = b;
        depth--;
        continue;
      }
      surg__lay_link *l = &lay->links[s->out.items[s->out.first[b] + next[b]++]];
      if (mark[l->to] == OPEN) l->cut = SURG__LAY_BACK;
      if (mark[l->to] != NEW) continue;
      mark[l->to] = OPEN;
      stack[depth++] = l->to;
    }
  }
  assert(place == 0);
  return true;
}

/* The rows between which box b can be: after its sources, before its targets. */
static void room(const state *s, uint32_t b, uint32_t *low, uint32_t *high, size_t *ins,
                 size_t *outs) {
  const surg__lay *lay = s->lay;
  *low = 0;
  *high = UINT32_MAX;
  *ins = *outs = 0;
  for (uint32_t i = s->in.first[b]; i < s->in.first[b + 1]; i++) {
    const surg__lay_link *l = &lay->links[s->in.items[i]];
    if (l->cut) continue;
    const uint32_t after = lay->boxes[l->from].layer + 1;
    if (after > *low) *low = after;
    ++*ins;
  }
  uint32_t last_net = UINT32_MAX;
  for (uint32_t i = s->out.first[b]; i < s->out.first[b + 1]; i++) {
    const surg__lay_link *l = &lay->links[s->out.items[i]];
    if (l->cut) continue;
    const uint32_t before = lay->boxes[l->to].layer - 1;
    if (before < *high) *high = before;
    *outs += l->net != last_net; /* links of one net share their way */
    last_net = l->net;
  }
}

/* Puts boxes as high as possible, then moves them down where that makes links shorter. */
static void assign(state *s) {
  surg__lay *lay = s->lay;
  uint32_t low, high;
  size_t ins, outs;
  for (size_t i = 0; i < lay->n; i++) lay->boxes[i].layer = 0;
  for (size_t i = 0; i < lay->n; i++) {
    const uint32_t b = s->sorted[i];
    for (uint32_t k = s->in.first[b]; k < s->in.first[b + 1]; k++) {
      const surg__lay_link *l = &lay->links[s->in.items[k]];
      const uint32_t after = lay->boxes[l->from].layer + 1;
      if (!l->cut && after > lay->boxes[b].layer) lay->boxes[b].layer = after;
    }
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = lay->n; i-- > 0;) {
      room(s, s->sorted[i], &low, &high, &ins, &outs);
      if (outs > ins && high != UINT32_MAX) lay->boxes[s->sorted[i]].layer = high;
    }
    for (size_t i = 0; i < lay->n; i++) {
      room(s, s->sorted[i], &low, &high, &ins, &outs);
      if (ins > outs) lay->boxes[s->sorted[i]].layer = low;
    }
  }
}

/* Takes out rows without boxes. */
static bool close_up(surg__lay *lay) {
  uint32_t *to = surg__arena_array(lay->arena, lay->n + 2, sizeof *to);
  uint32_t rows = 0;
  if (!to) return false;
  for (size_t i = 0; i < lay->n; i++) to[lay->boxes[i].layer] = 1;
  for (size_t l = 0; l <= lay->n; l++) {
    const bool used = to[l];
    to[l] = rows;
    rows += used;
  }
  for (size_t i = 0; i < lay->n; i++) lay->boxes[i].layer = to[lay->boxes[i].layer];
  lay->layers = rows;
  return true;
}

static uint32_t rows_between(const surg__lay *lay, const surg__lay_link *l) {
  return lay->boxes[l->to].layer - lay->boxes[l->from].layer - 1;
}

/* Cuts links of more than `most` rows. Returns how many crossings with rows are left. */
static bool cut_longer(surg__lay *lay, uint32_t most, uint32_t *reach, uint64_t *left) {
  memset(reach, 0, lay->n_nets * sizeof *reach);
  *left = 0;
  for (size_t i = 0; i < lay->m; i++) {
    surg__lay_link *l = &lay->links[i];
    if (l->cut) continue;
    const uint32_t rows = rows_between(lay, l);
    if (rows > most) {
      l->cut = SURG__LAY_FAR;
      continue;
    }
    if (rows <= reach[l->net]) continue;
    *left += rows - reach[l->net];
    reach[l->net] = rows;
  }
  return true;
}

static bool cut_far(surg__lay *lay) {
  uint32_t *count = surg__arena_array(lay->arena, lay->n_nets + 1, sizeof *count);
  uint64_t left = 0;
  const uint64_t room = (uint64_t)CROSSINGS * lay->n + CROSSINGS_MORE;
  if (!count) return false;
  for (size_t i = 0; i < lay->m; i++)
    if (!lay->links[i].cut && rows_between(lay, &lay->links[i]) > FAR_ROWS)
      count[lay->links[i].net]++;
  for (size_t i = 0; i < lay->m; i++) {
    surg__lay_link *l = &lay->links[i];
    if (!l->cut && count[l->net] >= FAR_MANY && rows_between(lay, l) > FAR_ROWS)
      l->cut = SURG__LAY_FAR;
  }
  for (uint32_t most = UINT32_MAX;; most = most > lay->layers ? (uint32_t)lay->layers : most / 2) {
    cut_longer(lay, most, count, &left);
    if (left <= room || !most) return true;
  }
}

bool surg__lay_layers(surg__lay *lay) {
  state s = {.lay = lay};
  for (size_t i = 0; i < lay->m; i++)
    lay->links[i].cut = lay->links[i].from == lay->links[i].to ? SURG__LAY_BACK : SURG__LAY_DRAWN;
  if (!list_links(lay, true, &s.out) || !list_links(lay, false, &s.in) || !sort(&s)) return false;
  assign(&s);
  return close_up(lay) && cut_far(lay);
}
