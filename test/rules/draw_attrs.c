/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of the nodes of a case: what the pattern or the row says, what a guard compares them
 * with, else what their name and kind allow. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

static void put(case_node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(case_node *n, const char *fmt, ...) {
  const size_t used = strlen(n->attrs);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(n->attrs + used, sizeof n->attrs - used, fmt, ap);
  va_end(ap);
}

static void put_ints(case_node *n, const char *name, const int64_t *list, uint64_t count) {
  put(n, count ? "%s%s = [" : "%s%s: ints = [", n->attrs[0] ? ", " : "", name);
  for (uint64_t i = 0; i < count; i++) put(n, i ? ", %lld" : "%lld", (long long)list[i]);
  put(n, "]");
}

static void put_name(case_node *n, const char *name) {
  put(n, "%s%s = ", n->attrs[0] ? ", " : "", name);
}

static void put_value(drawer *w, const char *name, const surg__rvalue *v, surg_attr_kind kind) {
  case_node *n = w->n;
  put_name(n, name);
  switch (v->kind) {
    case SURG__R_INT:
    case SURG__R_BOOL:
    case SURG__R_DTYPE:
      put(n, kind == SURG_ATTR_FLOAT ? "%lld.0" : "%lld", (long long)v->one.i);
      if (!strcmp(name, "axis")) w->axis = v->one.i;
      break;
    case SURG__R_FLOAT: {
      char text[40];
      snprintf(text, sizeof text, "%.9g", v->one.f);
      put(n, strpbrk(text, ".ein") ? "%s" : "%s.0", text);
      break;
    }
    case SURG__R_STRING:
      put(n, "\"%.*s\"", (int)v->s.n, v->s.p);
      break;
    case SURG__R_INTS:
      put(n, "[");
      for (size_t i = 0; i < v->n; i++) put(n, i ? ", %lld" : "%lld", (long long)v->items[i].i);
      put(n, "]");
      break;
    default:
      w->failed = true;
  }
}

/* What the row says of an attribute: the text behind `name=`, up to a space. */
static const char *row_attr(const shape_row *row, const char *name, size_t *n) {
  const size_t len = strlen(name);
  for (const char *p = row ? row->attrs : ""; *p;) {
    const char *end = p + strcspn(p, " ");
    if (!strncmp(p, name, len) && p[len] == '=') {
      *n = (size_t)(end - p) - len - 1;
      return p + len + 1;
    }
    p = *end ? end + 1 : end;
  }
  return NULL;
}

static void row_list(drawer *w, const char *name, const char *p) {
  const char *close = strchr(p, ']');
  item it = {.dtype = SURG_INT64, .rank = 1};
  char word[20];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(close + 1, " "), close + 1);
  p++;
  if (!*word) {
    put_name(w->n, name);
    put(w->n, "[");
    for (int i = 0; *p != ']'; i++) {
      put(w->n, i ? ", %lld" : "%lld", (long long)draw_product(w, &p));
      if (*p == ',') p++;
    }
    put(w->n, "]");
    return;
  }
  it.dims[0] = draw_product(w, &p);
  it.count = it.dims[0] < 0 ? 0 : (uint64_t)it.dims[0];
  draw_fill(w, &it, word);
  if (w->failed) return;
  if (strcmp(word, "grow")) {
    put_ints(w->n, name, it.ints, it.count);
    return;
  }
  put_name(w->n, name);
  put(w->n, "[");
  for (uint64_t i = 0; i < it.count; i++) put(w->n, i ? ", %.1f" : "%.1f", it.reals[i]);
  put(w->n, "]");
}

/* One of the words between '|'. */
static void pick_word(drawer *w, const char *p, size_t n, char *out, size_t room) {
  unsigned count = 1;
  for (size_t i = 0; i < n; i++) count += p[i] == '|';
  unsigned k = roll(w->d, count);
  const char *end = p + n;
  while (k--) p = memchr(p, '|', (size_t)(end - p)) + 1;
  const char *stop = memchr(p, '|', (size_t)(end - p));
  snprintf(out, room, "%.*s", (int)((stop ? stop : end) - p), p);
}

static void put_row_attr(drawer *w, const char *name, const char *p, size_t n) {
  char word[40];
  if (*p == '[') {
    row_list(w, name, p);
    return;
  }
  put_name(w->n, name);
  if (!strncmp(p, "'@D'", 4)) {
    put(w->n, "\"%s\"",
        draw_letter(w, 'D') == 2 ? "bidirectional"
        : chance(w->d, 50)       ? "forward"
                                 : "reverse");
  } else if (*p == '\'') {
    put(w->n, "\"%.*s\"", (int)n - 2, p + 1);
  } else if (isupper((unsigned char)*p)) {
    put(w->n, "%lld", (long long)draw_letter(w, *p));
  } else {
    pick_word(w, p, n, word, sizeof word);
    put(w->n, "%s", word);
  }
}

static bool any_int(drawer *w, const char *name) {
  const int64_t rank = draw_letter(w, 'R');
  if (!strcmp(name, "axis")) {
    const bool flatten = !strcmp(w->s->op_type, "Flatten") || !strcmp(w->s->op_type, "Unsqueeze");
    w->axis = (rank + flatten) ? draw_index(w, rank + flatten) : 0;
    w->failed = false;
    put_name(w->n, name);
    put(w->n, "%lld", (long long)w->axis);
    if (w->axis < 0) w->axis += rank;
    return true;
  }
  put_name(w->n, name);
  if (!strcmp(name, "to") || !strcmp(name, "dtype") || !strcmp(name, "output_dtype"))
    put(w->n, "%lld", (long long)PICK(w, 1, 1, 10, 11, 6, 7, 3, 2, 9, 16));
  else if (!strcmp(name, "stash_type") || !strcmp(name, "precision"))
    put(w->n, "%lld", (long long)PICK(w, 1, 1, 1, 11, 10));
  else
    put(w->n, "%lld", (long long)PICK(w, 0, 1, 0, 1, 0, 1, 2, 3, -1));
  return true;
}

/* Functions of a recurrent layer, as many as it has gates with one of their own in all directions;
 * with their parameters, which stand in lists of their own. */
static void recurrent_functions(drawer *w) {
  static const struct {
    const char *word, *alpha, *beta;
  } all[] = {{"Tanh", NULL, NULL},         {"Sigmoid", NULL, NULL},  {"softsign", NULL, NULL},
             {"HardSigmoid", "0.3", "0.4"}, {"Affine", "0.5", "0.25"}, {"LeakyRelu", "0.125", NULL},
             {"Elu", "0.5", NULL},          {"Softplus", NULL, NULL},  {"Relu", NULL, NULL},
             {"ScaledTanh", "0.75", "0.5"}, {"ThresholdedRelu", "0.5", NULL}};
  const unsigned bounded = 4; /* the first ones: a gate that grows overflows in few steps */
  const char *op = w->s->op_type;
  const int64_t each = !strcmp(op, "LSTM") ? 3 : !strcmp(op, "GRU") ? 2 : 1;
  const int64_t n = each * draw_letter(w, 'D');
  unsigned picks[6];
  for (int64_t i = 0; i < n && i < 6; i++)
    picks[i] = roll(w->d, each > 1 && i % each == 0 ? bounded : (unsigned)SURG_COUNT(all));
  for (int list = 0; list < 3; list++) {
    static const char *const names[] = {"activations", "activation_alpha", "activation_beta"};
    bool any = false;
    for (int64_t i = 0; i < n && i < 6; i++) {
      const char *word = list == 0   ? all[picks[i]].word
                         : list == 1 ? all[picks[i]].alpha
                                     : all[picks[i]].beta;
      if (!word) continue;
      if (!any) put_name(w->n, names[list]);
      put(w->n, list ? "%s%s" : "%s\"%s\"", any ? ", " : "[", word);
      any = true;
    }
    if (any) put(w->n, "]");
  }
}

/* An attribute by its name and kind alone; false: nothing is known of it. */
static bool any_attr(drawer *w, const surg__attr_def *d) {
  static const char *const floats[] = {"0.5", "1.0", "2.0", "0.01", "3.0", "-1.0", "0.0", "0.3"};
  const char *choices = attr_words(w->s->op_type, d->name);
  item it = {.dtype = SURG_INT64, .rank = 1};
  char word[40];
  switch (d->kind) {
    case SURG_ATTR_INT:
      return any_int(w, d->name);
    case SURG_ATTR_FLOAT:
      put_name(w->n, d->name);
      put(w->n, "%s", floats[roll(w->d, !strncmp(d->name, "eps", 3) ? 4 : SURG_COUNT(floats))]);
      return true;
    case SURG_ATTR_STRING:
      if (!choices) return false;
      put_name(w->n, d->name);
      pick_word(w, choices, strlen(choices), word, sizeof word);
      put(w->n, "\"%s\"", word);
      return true;
    case SURG_ATTR_INTS:
      it.count = !strcmp(d->name, "axes") && draw_letter(w, 'R')
                     ? 1 + roll(w->d, (unsigned)draw_letter(w, 'R'))
                     : roll(w->d, 4);
      draw_fill(w, &it, !strcmp(d->name, "axes") ? "axes" : "few");
      if (!w->failed) put_ints(w->n, d->name, it.ints, it.count);
      return true;
    case SURG_ATTR_STRINGS:
      if (strcmp(d->name, "activations")) return false;
      recurrent_functions(w);
      return true;
    case SURG_ATTR_FLOATS:
      if (!strncmp(d->name, "activation_", 11)) return true; /* with the functions */
      put_name(w->n, d->name);
      put(w->n, chance(w->d, 50) ? "[0.5, 2.0]" : "[-1.0]");
      return true;
    case SURG_ATTR_TENSOR:
      put_name(w->n, d->name);
      put(w->n, "%s", chance(w->d, 50) ? "float[1] {2.5}" : "int64[1] {3}");
      return true;
    default:
      return false;
  }
}

static bool single(const char *p, size_t n) {
  return *p != '[' && !memchr(p, '|', n);
}

/* The row's number for an attribute the model will not say: it must be the default. */
static bool row_default(drawer *w, const surg__attr_def *d, const char *p, size_t n) {
  if (*p == '[' || d->kind != SURG_ATTR_INT || !single(p, n) || !d->has_default) return true;
  return (isupper((unsigned char)*p) ? draw_letter(w, *p) : atoi(p)) == d->i;
}

static bool row_agrees(const surg__rvalue *v, const char *p, size_t n) {
  if (v->kind == SURG__R_INT && single(p, n) && !isupper((unsigned char)*p))
    return v->one.i == atoi(p);
  if (v->kind == SURG__R_STRING && *p == '\'' && p[1] != '@')
    return v->s.n == n - 2 && !memcmp(v->s.p, p + 1, n - 2);
  if (v->kind == SURG__R_STRING && *p == '\'') return false;
  return true;
}

static const surg__rattr *listed(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return &s->attrs[i];
  return NULL;
}

static void draw_attr(drawer *w, surg__match *m, const surg__attr_def *d) {
  const surg__rattr *a = listed(w->s, d->name);
  size_t n = 0;
  const char *row = row_attr(w->row, d->name, &n);
  if (a && a->expr) {
    const surg__rvalue v = surg__reval(m, a->expr);
    if (row && !row_agrees(&v, row, n)) w->failed = true;
    if (row && isupper((unsigned char)*row)) w->failed |= v.one.i != draw_letter(w, *row);
    put_value(w, d->name, &v, d->kind);
    return;
  }
  /* Now and then one that the pattern forbids: it must not match. */
  const bool open = w->s->more_attrs || a || chance(w->d, 4);
  if (!open) {
    if (row && !row_default(w, d, row, n)) w->failed = true;
    return;
  }
  const bool must = d->required || (a && !a->or_default) || (row && !row_default(w, d, row, n));
  if (!must && !chance(w->d, a ? 65 : row ? 60 : 20)) return;
  if (a && w->h->n_values[a->var] && chance(w->d, 60) && !(row && single(row, n))) {
    put_value(w, d->name, &w->h->values[a->var][roll(w->d, w->h->n_values[a->var])], d->kind);
    return;
  }
  if (row)
    put_row_attr(w, d->name, row, n);
  else if (!any_attr(w, d) && must)
    w->failed = true;
}

/* Attributes of unknown operators. */
static void custom_attrs(drawer *w, surg__match *m) {
  for (uint16_t i = 0; i < w->s->n_attrs; i++) {
    const surg__rattr *a = &w->s->attrs[i];
    const uint16_t v = a->var;
    size_t n = 0;
    const char *row = row_attr(w->row, a->name, &n);
    if (a->expr) {
      const surg__rvalue value = surg__reval(m, a->expr);
      put_value(w, a->name, &value, SURG_ATTR_UNDEFINED);
    } else if (row) {
      put_row_attr(w, a->name, row, n);
    } else if (w->h->n_values[v]) {
      put_value(w, a->name, &w->h->values[v][roll(w->d, w->h->n_values[v])], SURG_ATTR_UNDEFINED);
    } else {
      w->failed = true;
    }
  }
}

void draw_attrs(drawer *w, surg__match *m) {
  w->axis = 0;
  if (!w->schema) {
    custom_attrs(w, m);
    return;
  }
  const surg__attr_def *axis = surg__schema_attr(w->schema, "axis");
  if (axis && axis->has_default) w->axis = axis->i;
  for (uint32_t i = 0; i < w->schema->n_attrs && !w->failed; i++)
    draw_attr(w, m, &w->schema->attrs[i]);
  if (w->axis < 0) w->axis += draw_letter(w, 'R');
}
