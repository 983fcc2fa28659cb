/* SPDX-License-Identifier: Apache-2.0 */
/* Renames many objects at once: by prefix, suffix or expression. See rename.c. */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "../util/nearest.h"
#include "rename.h"

#define TEXT 400
#define GROUPS 10 /* \0 to \9 */

typedef struct naming {
  surg_pass_ctx *p;
  const char *prefix, *suffix, *by;
  regex_t re;
  bool match, of[RENAME_KINDS];
  rename_change *list;
  size_t n, room;
} naming;

static bool refuse(naming *x, const char *text) {
  surg_pass_usage(x->p, text);
  return false;
}

static bool read_kinds(naming *x) {
  static const char *const words[] = {[RENAME_INPUT] = "inputs",
                                      [RENAME_OUTPUT] = "outputs",
                                      [RENAME_VALUE] = "values",
                                      [RENAME_NODE] = "nodes"};
  _Static_assert(sizeof words / sizeof *words == RENAME_DIM, "dimensions are not renamed here");
  const size_t n = surg_pass_list_count(x->p, "of");
  if (n == 0) x->of[RENAME_VALUE] = x->of[RENAME_NODE] = true;
  for (size_t i = 0; i < n; i++) {
    const char *word = surg_pass_list_at(x->p, "of", i);
    char text[TEXT];
    size_t k = 0;
    while (k < sizeof words / sizeof *words && strcmp(words[k], word) != 0) k++;
    nearest near = {.name = word};
    nearest_offer_list(&near, words, sizeof words / sizeof *words);
    snprintf(text, sizeof text, "of: '%.100s' is none of inputs, outputs, values, nodes%s", word,
             nearest_hint(&near));
    if (k == sizeof words / sizeof *words) return refuse(x, text);
    x->of[k] = true;
  }
  return true;
}

/* Writes the name that the expression gives to `out` (NULL: only its length is returned). */
static size_t substitute(const naming *x, const char *name, const regmatch_t *m, char *out) {
  size_t n = 0;
#define PUT(p, k) (out ? (void)memcpy(out + n, (p), (k)) : (void)0, n += (k))
  PUT(name, (size_t)m[0].rm_so);
  for (const char *c = x->by; *c; c++) {
    const bool group = c[0] == '\\' && c[1] >= '0' && c[1] <= '9';
    if (!group) {
      if (c[0] == '\\' && c[1]) c++;
      PUT(c, 1);
      continue;
    }
    const regmatch_t *g = &m[*++c - '0'];
    if (g->rm_so >= 0) PUT(name + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
  }
  PUT(name + m[0].rm_eo, strlen(name + m[0].rm_eo));
#undef PUT
  return n;
}

/* The new name; `name` itself if it stays, NULL after an error. */
static const char *new_name(naming *x, const char *name) {
  regmatch_t m[GROUPS];
  const char *stem = name;
  if (x->match) {
    if (regexec(&x->re, name, GROUPS, m, 0) != 0) return name;
    if (x->by) {
      char *out = surg_pass_alloc(x->p, substitute(x, name, m, NULL) + 1);
      if (!out) return NULL;
      substitute(x, name, m, out);
      stem = out;
    }
  }
  const size_t a = strlen(x->prefix), b = strlen(stem), c = strlen(x->suffix);
  char *out = surg_pass_alloc(x->p, a + b + c + 1);
  if (!out) return NULL;
  memcpy(out, x->prefix, a);
  memcpy(out + a, stem, b);
  memcpy(out + a + b, x->suffix, c);
  if (*out) return strcmp(out, name) == 0 ? name : out;
  refuse(x, "by: a name would be empty");
  return NULL;
}

static bool add(naming *x, rename_what what, surg_value *v, surg_node *n) {
  const char *name = v ? surg_value_name(v) : surg_node_name(n);
  if (!x->of[what] || !*name) return true;
  const char *to = new_name(x, name);
  if (!to || to == name) return to != NULL;
  if (x->n == x->room) { /* the list grows by copies in memory of the pass */
    x->room = x->room ? 2 * x->room : 64;
    rename_change *more = surg_pass_alloc(x->p, x->room * sizeof *more);
    if (!more) return false;
    if (x->n) memcpy(more, x->list, x->n * sizeof *more);
    x->list = more;
  }
  char *from = surg_pass_alloc(x->p, strlen(name) + 1);
  if (!from) return false;
  strcpy(from, name);
  x->list[x->n++] = (rename_change){.what = what, .from = from, .to = to, .value = v, .node = n};
  return true;
}

static bool is_main_output(const surg_graph *main, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT && surg_use_graph(u) == main) return true;
  return false;
}

static bool add_all(naming *x) {
  const surg_model *m = surg_pass_model(x->p);
  const surg_graph *main = surg_model_graph(m);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
      if (surg_value_bound_by_name(v)) continue;
      const rename_what what = g == main && surg_value_is_input(v) && !surg_value_is_initializer(v)
                                   ? RENAME_INPUT
                               : g == main && is_main_output(main, v) ? RENAME_OUTPUT
                                                                      : RENAME_VALUE;
      if (!add(x, what, v, NULL)) return false;
    }
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!add(x, RENAME_NODE, NULL, n)) return false;
  }
  return true;
}

static bool read_match(naming *x, const char *match) {
  char why[128], text[TEXT];
  const int e = regcomp(&x->re, match, REG_EXTENDED);
  if (e == 0) return x->match = true;
  regerror(e, &x->re, why, sizeof why);
  snprintf(text, sizeof text, "match: '%.200s': %s", match, why);
  return refuse(x, text);
}

bool rename_all(surg_pass_ctx *p, rename_change **list, size_t *n) {
  const char *prefix = surg_pass_string(p, "prefix"), *suffix = surg_pass_string(p, "suffix");
  const char *match = surg_pass_string(p, "match");
  naming x = {.p = p,
              .prefix = prefix ? prefix : "",
              .suffix = suffix ? suffix : "",
              .by = surg_pass_string(p, "by")};
  *n = 0;
  if (!prefix && !suffix && !match && !x.by && !surg_pass_list_count(p, "of")) return true;
  if (x.by && !match) return refuse(&x, "by: needs match=");
  if (!prefix && !suffix && !x.by) return refuse(&x, "needs prefix=, suffix=, or match= and by=");
  if (match && !read_match(&x, match)) return false;
  const bool ok = read_kinds(&x) && add_all(&x);
  if (x.match) regfree(&x.re);
  *list = x.list;
  *n = x.n;
  return ok;
}
