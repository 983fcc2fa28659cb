/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a model for a version of an engine that has no target of its own, by the versions around
 * it. What both reject is rejected, what both support is supported; where they differ, the verdict
 * is unknown. Without a newer one, so is what the older one rejects: engines gain forms. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

/* An objection of one of the versions; its texts are in the arena of the list. */
typedef struct held {
  surg__objection o;
  size_t place; /* in the order of the judgement */
} held;

typedef struct objections {
  surg__arena arena;
  SURG_VEC(held) all;
  bool failed;
} objections;

static const char *kept_text(objections *l, const char *text) {
  if (!text) return NULL;
  const char *copy = surg__arena_strn(&l->arena, text, strlen(text));
  l->failed |= !copy;
  return copy;
}

static void keep(void *user, const surg__objection *o) {
  objections *l = user;
  held h = {.o = *o, .place = l->all.count};
  h.o.where = kept_text(l, o->where);
  h.o.text = kept_text(l, o->text);
  h.o.code = kept_text(l, o->code);
  if (l->failed || !surg__vec_push(l->arena.ctx, &l->all, h)) l->failed = true;
}

static int order_text(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "");
}

static int order_pointer(const void *a, const void *b) {
  return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* Orders objections by what they are about: a node and a finding about it, or the model, a place of
 * it, and the kind of fact. */
static int order(const surg__objection *a, const surg__objection *b) {
  int c = order_pointer(a->node, b->node);
  if (!c) c = order_text(a->code, b->code);
  if (c || a->node) return c;
  c = order_text(a->where, b->where);
  if (!c) c = order_pointer(a->value, b->value);
  return c ? c : ((int)a->cause - (int)b->cause);
}

static int by_subject(const void *a, const void *b) {
  const held *x = a, *y = b;
  const int c = order(&x->o, &y->o);
  return c ? c : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b) {
  const held *x = a, *y = b;
  return (x->place > y->place) - (x->place < y->place);
}

/* The worst objection of a list, sorted by subject, that is about the same as `o`; or NULL. */
static const surg__objection *same_in(const objections *l, const surg__objection *o) {
  size_t low = 0, high = l->all.count;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (order(&l->all.items[mid].o, o) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  const surg__objection *worst = NULL;
  for (; low < l->all.count && !order(&l->all.items[low].o, o); low++)
    if (!worst || l->all.items[low].o.verdict > worst->verdict) worst = &l->all.items[low].o;
  return worst;
}

/* Whether the objection follows from what the user states, or holds for every engine, rather than
 * from a limit that a version of the engine has. */
static bool is_lasting(const surg__target *t, const surg__objection *o) {
  if (o->cause == SURG__C_CUSTOM || o->cause == SURG__C_DATA) return true;
  if (o->cause != SURG__C_INVALID || !o->code) return false;
  for (size_t i = 0; i < t->accepts.count; i++)
    if (!strcmp(t->accepts.items[i].code, o->code)) return false;
  return true;
}

typedef struct merging {
  const surg__target *older, *newer; /* newer: NULL if none is known */
  surg__objection_fn fn;
  void *user;
} merging;

/* Reports as unknown what one version rejects, and the other, if any, does not. */
static void report_unknown(const merging *m, const surg__target *rejects, const surg__objection *o,
                           const surg__target *other) {
  char text[700];
  surg__objection unsure = *o;
  snprintf(text, sizeof text, "%s rejects it: %s; %s%s", rejects->name, o->text ? o->text : "",
           other ? other->name : "a newer version may accept it",
           other ? " does not reject it" : "");
  unsure.verdict = SURG__UNKNOWN;
  unsure.misread = unsure.fed = false;
  unsure.text = text;
  m->fn(m->user, &unsure);
}

static void merge_older(const merging *m, const surg__objection *o, const objections *newer) {
  const surg__objection *other = m->newer ? same_in(newer, o) : NULL;
  surg__objection both = *o;
  if (o->verdict != SURG__ILLEGAL || (!m->newer && is_lasting(m->older, o))) {
    m->fn(m->user, o);
  } else if (other && other->verdict == SURG__ILLEGAL) {
    both.fed |= other->fed || o->misread != other->misread;
    both.misread |= other->misread;
    m->fn(m->user, &both);
  } else {
    report_unknown(m, m->older, o, m->newer);
  }
}

static void merge_newer(const merging *m, const surg__objection *o, const objections *older) {
  const surg__objection *other = same_in(older, o);
  if (other && (other->verdict != SURG__LEGAL || o->verdict == SURG__LEGAL)) return;
  if (o->verdict == SURG__ILLEGAL)
    report_unknown(m, m->newer, o, m->older);
  else
    m->fn(m->user, o);
}

/* With `certain`: what either version objects to, so that what passes is supported by each. */
static void merge(const surg__target *t, const merging *m, objections *older, objections *newer) {
  held *a = older->all.items, *b = newer->all.items;
  if (newer->all.count) qsort(b, newer->all.count, sizeof *b, by_subject);
  for (size_t i = 0; i < older->all.count; i++) {
    if (t->certain)
      m->fn(m->user, &a[i].o);
    else
      merge_older(m, &a[i].o, newer);
  }
  if (older->all.count) qsort(a, older->all.count, sizeof *a, by_subject);
  if (newer->all.count) qsort(b, newer->all.count, sizeof *b, by_place);
  for (size_t i = 0; i < newer->all.count; i++) {
    const surg__objection *other = t->certain ? same_in(older, &b[i].o) : NULL;
    if (!t->certain)
      merge_newer(m, &b[i].o, older);
    else if (!other || other->verdict < b[i].o.verdict)
      m->fn(m->user, &b[i].o);
  }
}

/* The same as a target of its own, with what the caller set for the judgement. */
static surg__target as_known(const surg__target *known, const surg__target *t) {
  surg__target alone = *known;
  alone.between = false;
  alone.lenient = t->lenient;
  alone.registered = t->registered;
  alone.n_registered = t->n_registered;
  return alone;
}

surg_status surg__judge_between(const surg__target *t, surg_model *model, surg__objection_fn fn,
                                void *user) {
  objections older = {0}, newer = {0};
  surg__arena_init(&older.arena, t->ctx);
  surg__arena_init(&newer.arena, t->ctx);
  surg__target low = as_known(t, t), high = low;
  low.name = t->older;
  surg_status s = surg__target_model(&low, model, keep, &older);
  if (s == SURG_OK && t->newer) {
    high = as_known(t->newer, t);
    s = surg__target_model(&high, model, keep, &newer);
  }
  if (s == SURG_OK && (older.failed || newer.failed)) s = surg__alloc_status(t->ctx);
  const merging m = {&low, t->newer ? &high : NULL, fn, user};
  if (s == SURG_OK) merge(t, &m, &older, &newer);
  surg__vec_free(t->ctx, &older.all);
  surg__vec_free(t->ctx, &newer.all);
  surg__arena_free(&older.arena);
  surg__arena_free(&newer.arena);
  return s;
}
