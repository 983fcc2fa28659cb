/* SPDX-License-Identifier: Apache-2.0 */
/* Option values: parsing their text, and the functions with which passes read them. */
#include <stdio.h>

#include "pass/internal.h"

const char surg__opt_nomem[] = "out of memory";

bool surg__name_valid(const char *s) {
  if (!s || !(*s >= 'a' && *s <= 'z')) return false;
  for (; *s; s++)
    if (!(*s >= 'a' && *s <= 'z') && !(*s >= '0' && *s <= '9') && *s != '-') return false;
  return true;
}

static const char *parse_bool(const char *s, int64_t *out) {
  if (strcmp(s, "true") == 0 || strcmp(s, "on") == 0)
    *out = 1;
  else if (strcmp(s, "false") == 0 || strcmp(s, "off") == 0)
    *out = 0;
  else
    return "is not a boolean: expected true, false, on or off";
  return NULL;
}

static bool scale_of(const char *suffix, int64_t *scale) {
  static const struct {
    const char *suffix;
    int64_t scale;
  } scales[] = {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  for (size_t i = 0; i < SURG_COUNT(scales); i++) {
    if (strcmp(suffix, scales[i].suffix) != 0) continue;
    *scale = scales[i].scale;
    return true;
  }
  return false;
}

static const char *parse_int(const char *s, int64_t *out) {
  static const char bad[] =
      "is not a number: expected digits, optionally with KiB, MiB or GiB, or inf";
  if (strcmp(s, "inf") == 0) {
    *out = INT64_MAX;
    return NULL;
  }
  bool negative = *s == '-';
  int64_t v = 0, scale;
  s += negative;
  if (*s < '0' || *s > '9') return bad;
  for (; *s >= '0' && *s <= '9'; s++) /* accumulated as a negative number, which can represent
                                       * INT64_MIN */
    if (!surg__mul_i64(v, 10, &v) || !surg__sub_i64(v, *s - '0', &v)) return "is too large";
  if (!scale_of(s, &scale)) return bad;
  if (!surg__mul_i64(v, scale, &v)) return "is too large";
  if (!negative && !surg__sub_i64(0, v, &v)) return "is too large";
  *out = v;
  return NULL;
}

static const char *parse_list(surg__arena *arena, const surg__word *words, size_t n,
                              surg__optval *out) {
  out->list = surg__arena_array(arena, n, sizeof *out->list);
  if (!out->list) return surg__opt_nomem;
  for (size_t i = 0; i < n; i++) {
    out->list[i] = surg__arena_strn(arena, words[i].s, strlen(words[i].s));
    if (!out->list[i]) return surg__opt_nomem;
  }
  out->n = n;
  return NULL;
}

const char *surg__option_parse(surg__arena *arena, const surg_option *opt, const surg__word *words,
                               size_t n, surg__optval *out) {
  *out = (surg__optval){.given = true};
  if (opt->kind == SURG_OPTION_BOOL && n == 0) {
    out->text = "true";
    out->i = 1;
    return NULL;
  }
  if (n == 0) return "needs a value";
  if (opt->kind == SURG_OPTION_LIST) return parse_list(arena, words, n, out);
  assert(opt->kind != SURG_OPTION_PAIRS); /* parsed by surg__option_pair */
  if (n > 1) return "expects one value, not a list; quote a value that contains '+'";
  char *copy = surg__arena_strn(arena, words[0].s, strlen(words[0].s));
  if (!copy) return surg__opt_nomem;
  out->text = copy;
  switch (opt->kind) {
    case SURG_OPTION_BOOL:
      return parse_bool(copy, &out->i);
    case SURG_OPTION_INT:
      return parse_int(copy, &out->i);
    case SURG_OPTION_STRING:
      out->s = copy;
      return NULL;
    case SURG_OPTION_LIST:
    case SURG_OPTION_PAIRS:
      break;
  }
  assert(!"unreachable: registration checks the kind");
  return NULL;
}

const char *surg__option_pair(surg__arena *arena, const char *name, const surg__word *words,
                              size_t n, surg__optval *out) {
  if (n == 0) return "needs a value";
  if (out->n_pairs == SURG__PAIRS) return "is one too many";
  for (size_t i = 0; i < out->n_pairs; i++)
    if (strcmp(out->pairs[i].name, name) == 0) return "is given twice";
  if (!out->pairs) out->pairs = surg__arena_array(arena, SURG__PAIRS, sizeof *out->pairs);
  surg__optval list;
  if (!out->pairs || parse_list(arena, words, n, &list)) return surg__opt_nomem;
  char *copy = surg__arena_strn(arena, name, strlen(name));
  if (!copy) return surg__opt_nomem;
  out->pairs[out->n_pairs++] = (surg__named_words){copy, list.list, list.n};
  out->given = true;
  return NULL;
}

const char *surg__option_fallback(surg__arena *arena, const surg_option *opt, surg__optval *out) {
  const char *fault = NULL;
  *out = (surg__optval){0};
  if (!opt->fallback) return NULL;
  if (opt->kind != SURG_OPTION_LIST) {
    surg__word w = {opt->fallback, false};
    fault = surg__option_parse(arena, opt, &w, 1, out);
  } else if (*opt->fallback) {
    /* A list default is written a+b; its names contain no '+'. */
    size_t n = 1, i = 0;
    for (const char *s = opt->fallback; *s; s++) n += *s == '+';
    char *copy = surg__arena_strn(arena, opt->fallback, strlen(opt->fallback));
    surg__word *words = surg__arena_array(arena, n, sizeof *words);
    if (!copy || !words) return surg__opt_nomem;
    for (char *s = copy; s; i++) {
      char *plus = strchr(s, '+');
      words[i].s = s;
      if (plus) *plus++ = 0;
      s = plus;
    }
    fault = surg__option_parse(arena, opt, words, n, out);
  }
  out->given = false;
  return fault;
}

/* ---- options as passes read them ------------------------------------------------------------ */

/* The value of an option. A pass that reads an option it does not declare is faulty: the runner
 * reports it when the pass returns. */
static const surg__optval *option(const surg_pass_ctx *p, const char *name, int32_t kind) {
  if (!p || !name) return NULL;
  for (size_t i = 0; i < p->pass->option_count; i++)
    if (strcmp(p->pass->options[i].name, name) == 0 && p->pass->options[i].kind == kind)
      return &p->step->options[i];
  surg_pass_ctx *w = (surg_pass_ctx *)(uintptr_t)p;
  snprintf(w->undeclared, sizeof w->undeclared, "%s", *name ? name : "?");
  return NULL;
}

bool surg_pass_bool(const surg_pass_ctx *p, const char *name) {
  const surg__optval *v = option(p, name, SURG_OPTION_BOOL);
  return v && v->i;
}

int64_t surg_pass_int(const surg_pass_ctx *p, const char *name) {
  const surg__optval *v = option(p, name, SURG_OPTION_INT);
  /* The budget of the run replaces a default of 0; a default above it is in other units. */
  const uint64_t budget = v && !v->given && v->i == 0 ? p->run->options->max_growth : 0;
  if (budget && strcmp(name, "max-growth") == 0)
    return budget > INT64_MAX ? INT64_MAX : (int64_t)budget;
  return v ? v->i : 0;
}

const char *surg_pass_string(const surg_pass_ctx *p, const char *name) {
  const surg__optval *v = option(p, name, SURG_OPTION_STRING);
  return v ? v->s : NULL;
}

size_t surg_pass_list_count(const surg_pass_ctx *p, const char *name) {
  const surg__optval *v = option(p, name, SURG_OPTION_LIST);
  return v ? v->n : 0;
}

const char *surg_pass_list_at(const surg_pass_ctx *p, const char *name, size_t i) {
  const surg__optval *v = option(p, name, SURG_OPTION_LIST);
  return v && i < v->n ? v->list[i] : NULL;
}

static const surg__named_words *pair(const surg_pass_ctx *p, size_t i) {
  for (size_t k = 0; p && k < p->pass->option_count; k++) {
    const surg__optval *v = &p->step->options[k];
    if (p->pass->options[k].kind == SURG_OPTION_PAIRS)
      return i < v->n_pairs ? &v->pairs[i] : NULL;
  }
  return NULL;
}

size_t surg_pass_pair_count(const surg_pass_ctx *p) {
  for (size_t k = 0; p && k < p->pass->option_count; k++)
    if (p->pass->options[k].kind == SURG_OPTION_PAIRS) return p->step->options[k].n_pairs;
  return 0;
}

const char *surg_pass_pair_name(const surg_pass_ctx *p, size_t i) {
  const surg__named_words *x = pair(p, i);
  return x ? x->name : NULL;
}

const char *surg_pass_pair_value(const surg_pass_ctx *p, size_t i, size_t k) {
  const surg__named_words *x = pair(p, i);
  return x && k < x->n ? x->list[k] : NULL;
}
