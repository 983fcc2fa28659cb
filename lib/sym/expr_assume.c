/* SPDX-License-Identifier: Apache-2.0 */
/* Assumptions of the user about the symbols of a model: "N=4", "N=1..64", "H%32". */
#include "ir/edit.h"
#include "sym/expr.h"

/* Names of the symbols of the main graph's inputs. */
typedef SURG_VEC(const char *) names;

static bool collect(const surg_model *m, names *out) {
  for (size_t i = 0; i < m->graph->n_in; i++) {
    const surg_type *t = surg_value_declared_type(m->graph->in[i]);
    while (t && t->elem) t = t->elem;
    for (uint32_t k = 0; t && t->has_rank && k < t->rank; k++)
      if (t->dims[k].param && !surg__vec_push(m->ctx, out, t->dims[k].param)) return false;
  }
  return true;
}

static const char *name_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

static surg_status wrong(const surg_model *m, const char *text, const char *what) {
  return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "%s: %s", surg__q(m->ctx, text),
                     what);
}

/* Finds the symbol named by the first n bytes of text; *out is NULL after a reported error. */
static surg_status find_symbol(surg_model *m, const char *text, size_t n, const char **out) {
  names all = {0};
  surg_status s = SURG_OK;
  char *word = surg__alloc(m->ctx, n + 1);
  *out = NULL;
  if (!word || !collect(m, &all)) {
    s = surg__fail(m, surg__alloc_status(m->ctx));
  } else {
    memcpy(word, text, n);
    word[n] = 0;
    for (size_t i = 0; i < all.count && !*out; i++)
      if (!strcmp(all.items[i], word)) *out = surg__intern(m, word, n);
    const char *near = *out ? NULL : surg__nearest(word, all.items, all.count, name_at);
    if (!*out && near)
      s = surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m),
                      "no input has a symbol %s; did you mean %s?", surg__q(m->ctx, word),
                      surg__q(m->ctx, near));
    else if (!*out)
      s = m->status ? m->status
                    : surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m),
                                  "no input has a symbol %s", surg__q(m->ctx, word));
  }
  surg__vec_free(m->ctx, &all);
  surg__free(m->ctx, word);
  return s;
}

/* Parses an unsigned decimal number; *end points past it. */
static bool digits(const char *p, int64_t *out, const char **end) {
  int64_t v = 0;
  *end = p;
  for (; **end >= '0' && **end <= '9'; ++*end)
    if (!surg__mul_i64(v, 10, &v) || !surg__add_i64(v, **end - '0', &v)) return false;
  *out = v;
  return *end != p;
}

/* Parses a number, or two with ".." between them, as a range. */
static bool range(const char *text, int64_t *lo, int64_t *hi) {
  const char *p;
  if (!digits(text, lo, &p)) return false;
  *hi = *lo;
  if (!*p) return true;
  return p[0] == '.' && p[1] == '.' && digits(p + 2, hi, &p) && !*p && *lo <= *hi;
}

surg_status surg_model_assume_dim(surg_model *m, const char *text) {
  int64_t lo, hi, d;
  const char *name, *end, *at = NULL;
  const surg_status ready = surg__model_ready(m);
  if (ready != SURG_OK) return ready;
  if (!text) return SURG_EUSAGE;
  for (const char *p = text; *p; p++)
    if (*p == '=' || *p == '%') at = p;
  if (!at) return wrong(m, text, "expected NAME=NUMBER, NAME=LOW..HIGH or NAME%DIVISOR");
  const surg_status s = find_symbol(m, text, (size_t)(at - text), &name);
  if (s) return s;
  surg__expr_assumed(m, name, &lo, &hi, &d);
  if (*at == '=' ? !range(at + 1, &lo, &hi) : !digits(at + 1, &d, &end) || *end || d < 1)
    return wrong(m, text,
                 *at == '=' ? "expected a number, or LOW..HIGH with LOW <= HIGH"
                            : "expected a divisor above 0");
  if (hi > INT64_MAX - d) return wrong(m, text, "this is too large for a dimension");
  if (hi / d < surg__floor_div(lo + (d - 1), d))
    return wrong(m, text, "contradicts another assumption about the dimension");
  if (!surg__expr_assume(m, name, lo, hi, d)) return m->status ? m->status : SURG_ENOMEM;
  m->inferred_epoch = 0; /* earlier inference results do not use this assumption */
  return SURG_OK;
}
