/* SPDX-License-Identifier: Apache-2.0 */
/* Changes from one version of an operator to the next that its signatures show. */
#include <strings.h>

#include "schema/text.h"

static const surg__param *find_name(const surg__param *list, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(list[i].name, name) == 0) return &list[i];
  return NULL;
}

/* Whether the schema has an input with the attribute's name apart from case: `k` and `K`. */
static bool as_input(const surg_schema *s, const char *name) {
  for (uint32_t i = 0; i < s->n_inputs; i++)
    if (strcasecmp(s->inputs[i].name, name) == 0) return true;
  return false;
}
static bool as_attr(const surg_schema *s, const char *name) {
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (strcasecmp(s->attrs[i].name, name) == 0) return true;
  return false;
}

static void put_attr(surg__buf *b, const surg__attr_def *a) {
  surg__buf_printf(b, "%s: %s", a->name, surg__attr_kind_name(a->kind));
  if (a->required) surg__buf_puts(b, ", required");
  if (a->has_default) surg__buf_puts(b, " = ");
  surg__put_default(b, a);
}

static bool same_default(const surg__attr_def *a, const surg__attr_def *b) {
  if (a->has_default != b->has_default || a->kind != b->kind) return false;
  if (!a->has_default) return true;
  if (a->kind == SURG_ATTR_INT) return a->i == b->i;
  if (a->kind == SURG_ATTR_FLOAT) return memcmp(&a->f, &b->f, sizeof a->f) == 0;
  if (a->kind == SURG_ATTR_STRING) return strcmp(a->s, b->s) == 0;
  if (a->n != b->n) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    if (a->ints && a->ints[i] != b->ints[i]) return false;
    if (a->floats && memcmp(&a->floats[i], &b->floats[i], sizeof(float)) != 0) return false;
    if (a->strings && strcmp(a->strings[i], b->strings[i]) != 0) return false;
  }
  return true;
}

bool surg__attr_default_same(const surg__attr_def *a, const surg__attr_def *b) {
  return a && b && same_default(a, b);
}

static void put_default(surg__buf *b, const surg__attr_def *a) {
  if (a->has_default)
    surg__put_default(b, a);
  else
    surg__buf_puts(b, "none");
}

static void attr_changed(surg__buf *b, const surg__attr_def *old, const surg__attr_def *a) {
  if (old->kind != a->kind) {
    surg__buf_printf(b, "attribute %s is %s, was %s\n", a->name, surg__attr_kind_name(a->kind),
                     surg__attr_kind_name(old->kind));
  } else if (old->required != a->required) {
    surg__buf_printf(b, "attribute %s %s\n", a->name,
                     a->required ? "must be given" : "may be left out");
  } else if (!same_default(old, a)) {
    surg__buf_printf(b, "default of %s is ", a->name);
    put_default(b, a);
    surg__buf_puts(b, ", was ");
    put_default(b, old);
    surg__buf_putc(b, '\n');
  }
}

static void put_attrs(surg__buf *b, const surg_schema *from, const surg_schema *to) {
  for (uint32_t i = 0; i < to->n_attrs; i++) {
    const surg__attr_def *a = &to->attrs[i], *old = surg__schema_attr(from, a->name);
    if (old) {
      attr_changed(b, old, a);
    } else if (as_input(from, a->name) && !as_input(to, a->name)) {
      surg__buf_puts(b, "an attribute now, was an input: ");
      put_attr(b, a);
      surg__buf_putc(b, '\n');
    } else {
      surg__buf_puts(b, "new attribute ");
      put_attr(b, a);
      surg__buf_putc(b, '\n');
    }
  }
  for (uint32_t i = 0; i < from->n_attrs; i++) {
    const surg__attr_def *a = &from->attrs[i];
    if (surg__schema_attr(to, a->name)) continue;
    if (as_input(to, a->name) && !as_input(from, a->name)) {
      surg__buf_puts(b, "an input now, was an attribute: ");
      put_attr(b, a);
      surg__buf_putc(b, '\n');
    } else {
      surg__buf_printf(b, "attribute %s is gone\n", a->name);
    }
  }
}

static const char *option_words(const surg__param *p) {
  return p->option == SURG__OPTIONAL   ? "may be left out"
         : p->option == SURG__VARIADIC ? "may be repeated"
                                       : "must be given";
}

/* Prints changes of the inputs or outputs; a different name at one position is a renaming. */
static void put_params(surg__buf *b, const surg_schema *from, const surg_schema *to, bool output) {
  const char *what = output ? "output" : "input";
  const surg__param *olds = output ? from->outputs : from->inputs;
  const surg__param *news = output ? to->outputs : to->inputs;
  const uint32_t n_old = output ? from->n_outputs : from->n_inputs;
  const uint32_t n_new = output ? to->n_outputs : to->n_inputs;
  for (uint32_t i = 0; i < n_new; i++) {
    const surg__param *p = &news[i], *old = find_name(olds, n_old, p->name);
    const bool renamed = !old && i < n_old && !find_name(news, n_new, olds[i].name);
    if (renamed) {
      old = &olds[i];
      surg__buf_printf(b, "%s %u is called %s, was %s\n", what, i, p->name, old->name);
    }
    if (!old && (output || !as_attr(from, p->name) || as_attr(to, p->name)))
      surg__buf_printf(b, "new %s %s%s\n", what, p->name,
                       p->option == SURG__OPTIONAL ? ", which may be left out" : "");
    if (old && old->option != p->option)
      surg__buf_printf(b, "%s %s %s\n", what, p->name, option_words(p));
    if (old && !renamed && old - olds != p - news)
      surg__buf_printf(b, "%s %s is at %u, was at %u\n", what, p->name, i, (unsigned)(old - olds));
  }
  for (uint32_t i = 0; i < n_old; i++) {
    const bool renamed = i < n_new && !find_name(olds, n_old, news[i].name);
    if (find_name(news, n_new, olds[i].name) || renamed) continue;
    if (output || !as_attr(to, olds[i].name) || as_attr(from, olds[i].name))
      surg__buf_printf(b, "%s %s is gone\n", what, olds[i].name);
  }
  const uint32_t least_old = output ? from->min_out : from->min_in;
  const uint32_t least = output ? to->min_out : to->min_in;
  if (n_old && n_new && olds[n_old - 1].option == SURG__VARIADIC &&
      news[n_new - 1].option == SURG__VARIADIC && n_old == n_new && least != least_old)
    surg__buf_printf(b, "needs %u %ss or more, was %u\n", least, what, least_old);
}

/* --- types --- */

/* A parameter of both versions, and the types it gained and lost. */
typedef struct change {
  const char *name;
  surg__type_set more, less;
} change;

static void subtract(const surg__type_set *a, const surg__type_set *b, surg__type_set *out) {
  *out = (surg__type_set){0};
  for (size_t i = 0; i < SURG_COUNT(a->mask); i++) out->mask[i] = a->mask[i] & ~b->mask[i];
  for (size_t i = 0; i < a->n_others; i++) {
    const surg__type_set one = {.others = {a->others[i]}, .n_others = 1};
    if (!surg__type_set_within(&one, b)) out->others[out->n_others++] = a->others[i];
  }
}

static bool is_empty(const surg__type_set *t) {
  static const surg__type_set none = {0};
  return surg__type_set_within(t, &none);
}
static bool is_same(const surg__type_set *a, const surg__type_set *b) {
  return surg__type_set_within(a, b) && surg__type_set_within(b, a);
}

#define MOST_PARAMS 64u

static size_t collect(const surg_schema *from, const surg_schema *to, change out[MOST_PARAMS]) {
  size_t n = 0;
  for (int output = 0; output < 2; output++) {
    const surg__param *olds = output ? from->outputs : from->inputs;
    const surg__param *news = output ? to->outputs : to->inputs;
    const uint32_t n_old = output ? from->n_outputs : from->n_inputs;
    const uint32_t n_new = output ? to->n_outputs : to->n_inputs;
    for (uint32_t i = 0; i < n_new && n < MOST_PARAMS; i++) {
      const surg__param *old = find_name(olds, n_old, news[i].name);
      if (!old && i < n_old && !find_name(news, n_new, olds[i].name)) old = &olds[i];
      if (!old) continue;
      surg__type_set a, b;
      surg__type_set_of(from, old, &a);
      surg__type_set_of(to, &news[i], &b);
      out[n].name = news[i].name;
      subtract(&b, &a, &out[n].more);
      subtract(&a, &b, &out[n].less);
      n += !is_empty(&out[n].more) || !is_empty(&out[n].less);
    }
  }
  return n;
}

/* Prints `X, Y also of bfloat16`: parameters with the same change share a line. */
static void put_types(surg__buf *b, const surg_schema *from, const surg_schema *to) {
  change c[MOST_PARAMS];
  const size_t n = collect(from, to, c);
  bool reported[MOST_PARAMS] = {false};
  for (size_t i = 0; i < n; i++) {
    if (reported[i]) continue;
    for (size_t k = i; k < n; k++) {
      if (!is_same(&c[i].more, &c[k].more) || !is_same(&c[i].less, &c[k].less)) continue;
      /* An input and an output can have the same name. */
      bool again = false;
      for (size_t j = i; j < k; j++) again |= reported[j] && strcmp(c[j].name, c[k].name) == 0;
      reported[k] = true;
      if (!again) surg__buf_printf(b, "%s%s", k > i ? ", " : "", c[k].name);
    }
    if (!is_empty(&c[i].more)) {
      surg__buf_puts(b, " also of ");
      surg__put_type_set(b, &c[i].more, NULL);
    }
    if (!is_empty(&c[i].less)) {
      surg__buf_puts(b, is_empty(&c[i].more) ? " not of " : "; not of ");
      surg__put_type_set(b, &c[i].less, NULL);
    }
    surg__buf_putc(b, '\n');
  }
}

/* The first parameter with the type of `p`, inputs first; it can be `p` itself. */
static const surg__param *leader(const surg_schema *s, const surg__param *p) {
  if (!surg__schema_type_param(s, p)) return p;
  for (uint32_t i = 0; i < s->n_inputs; i++)
    if (strcmp(s->inputs[i].type, p->type) == 0) return &s->inputs[i];
  for (uint32_t i = 0; i < s->n_outputs; i++)
    if (strcmp(s->outputs[i].type, p->type) == 0) return &s->outputs[i];
  return p;
}

/* Prints parameters that share a type in `one` but can differ in `other`, followed by `words`. */
static void put_split(surg__buf *b, const surg_schema *one, const surg_schema *other,
                      const char *words) {
  for (int output = 0; output < 2; output++) {
    const surg__param *list = output ? one->outputs : one->inputs;
    const uint32_t n = output ? one->n_outputs : one->n_inputs;
    for (uint32_t i = 0; i < n; i++) {
      const surg__param *first = leader(one, &list[i]);
      const surg__param *p = output ? find_name(other->outputs, other->n_outputs, list[i].name)
                                    : find_name(other->inputs, other->n_inputs, list[i].name);
      const surg__param *q = find_name(other->inputs, other->n_inputs, first->name);
      if (first == &list[i] || !p || !q || strcmp(p->type, q->type) == 0) continue;
      surg__buf_printf(b, "%s %s of the type of %s\n", p->name, words, q->name);
    }
  }
}

void surg__put_changes(surg__buf *b, const surg_schema *from, const surg_schema *to) {
  const uint32_t gone = SURG__OP_DEPRECATED;
  if (to->flags & gone) {
    surg__buf_puts(b, "deprecated: there is no such operator from here on\n");
    return;
  }
  put_params(b, from, to, false);
  put_params(b, from, to, true);
  put_attrs(b, from, to);
  put_types(b, from, to);
  put_split(b, from, to, "need not be");
  put_split(b, to, from, "must be");
  if (to->flags & ~from->flags & SURG__OP_HAS_BODY) surg__buf_puts(b, "has a function body\n");
}
