/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of functions: of one identity, else of equal bodies. */
#include "diff/diff.h"

static void pair(surg_diff *d, surg__dgraph *a, surg__dgraph *b) {
  a->twin = (uint32_t)(b - d->side[1].graphs.items);
  b->twin = (uint32_t)(a - d->side[0].graphs.items);
}

/* Pairs functions that nothing else is like, by the digest of their bodies. */
static void pair_renamed(surg_diff *d) {
  surg_model *const m[2] = {d->side[0].m, d->side[1].m};
  for (size_t i = 0; i < surg_model_function_count(m[0]); i++) {
    surg__dgraph *a = surg__dgraph_of(&d->side[0], surg_model_function(m[0], i)->body), *b = NULL;
    if (!a || a->twin != SURG__NO_TWIN) continue;
    for (size_t j = 0; j < surg_model_function_count(m[1]) && !b; j++) {
      surg__dgraph *x = surg__dgraph_of(&d->side[1], surg_model_function(m[1], j)->body);
      if (x && x->twin == SURG__NO_TWIN && x->digest[1] == a->digest[1] && x->g->n_in == a->g->n_in)
        b = x;
    }
    if (b) pair(d, a, b);
  }
}

void surg__diff_pair_functions(surg_diff *d) {
  surg_model *const m[2] = {d->side[0].m, d->side[1].m};
  bool any = false;
  for (size_t i = 0; i < surg_model_function_count(m[0]); i++) {
    surg_function *f = surg_model_function(m[0], i);
    surg_function *g = surg_model_find_function(m[1], f->domain, f->name, f->overload);
    surg__dgraph *a = surg__dgraph_of(&d->side[0], f->body);
    surg__dgraph *b = g ? surg__dgraph_of(&d->side[1], g->body) : NULL;
    if (a && b && b->twin == SURG__NO_TWIN)
      pair(d, a, b);
    else
      any = true;
  }
  if (any) pair_renamed(d);
}

/* --- comparison --- */

static const char *function_text(surg_diff *d, const surg_function *f) {
  const char *name = surg__diff_quote(d, f->name, SURG_LIMIT_NAME_PRINT);
  return f->domain[0] ? surg__diff_say(d, "%s of domain %s", name,
                                       surg__diff_quote(d, f->domain, SURG_LIMIT_NAME_PRINT))
                      : name;
}

static void alone(surg_diff *d, int k) {
  surg_model *m = d->side[k].m;
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    surg_function *f = surg_model_function(m, i);
    const surg__dgraph *g = surg__dgraph_of(&d->side[k], f->body);
    if (!g || g->twin != SURG__NO_TWIN) continue;
    surg_diff_item *x = surg__diff_item(d, SURG_DIFF_FUNCTION,
                                        k ? SURG_DIFF_ADDED : SURG_DIFF_REMOVED, SURG_DIFF_EDIT);
    surg__diff_at_graph(d, x, k, (uint32_t)(g - d->side[k].graphs.items));
    x->text[k] = function_text(d, f);
  }
}

static surg_diff_item *changed(surg_diff *d, uint32_t a, uint32_t b, const char *what,
                               surg_diff_level level) {
  surg_diff_item *x = surg__diff_item(d, SURG_DIFF_FUNCTION, SURG_DIFF_CHANGED, level);
  surg__diff_at_graph(d, x, 0, a);
  surg__diff_at_graph(d, x, 1, b);
  x->what = what;
  return x;
}

static void compare_opsets(surg_diff *d, const surg_function *f, const surg_function *g, uint32_t a,
                           uint32_t b, bool reverse) {
  const surg_function *from = reverse ? g : f;
  for (size_t i = 0; i < surg_function_import_count(from); i++) {
    const char *domain = surg_function_import_domain(from, i);
    const int64_t x = surg_function_opset(f, domain), y = surg_function_opset(g, domain);
    if (x == y || (reverse && x)) continue;
    const char *name = surg__diff_standard(domain) ? "ai.onnx" : domain;
    surg_diff_item *item = changed(
        d, a, b, surg__diff_say(d, "opset of %s", surg__diff_quote(d, name, SURG_LIMIT_NAME_PRINT)),
        SURG_DIFF_EDIT);
    if (x) item->text[0] = surg__diff_say(d, "%lld", (long long)x);
    if (y) item->text[1] = surg__diff_say(d, "%lld", (long long)y);
  }
}

/* The default of the attribute that a function declares; *found: it declares it. */
static const surg_attr *declared(const surg_function *f, const char *name, bool *found) {
  *found = false;
  for (size_t i = 0; i < surg_function_attr_count(f); i++) {
    if (strcmp(surg_function_attr_name(f, i), name) != 0) continue;
    *found = true;
    return surg_function_attr_default(f, i);
  }
  return NULL;
}

static const char *declared_text(surg_diff *d, bool found, const surg_attr *a) {
  return !found ? "not declared" : a ? surg__diff_attr_text(d, a) : "without a default";
}

static void compare_attrs(surg_diff *d, const surg_function *f, const surg_function *g, uint32_t a,
                          uint32_t b, bool reverse) {
  const surg_function *from = reverse ? g : f;
  for (size_t i = 0; i < surg_function_attr_count(from); i++) {
    const char *name = surg_function_attr_name(from, i);
    bool has[2];
    const surg_attr *x = declared(f, name, &has[0]), *y = declared(g, name, &has[1]);
    if (reverse && has[0]) continue;
    const int same = has[0] != has[1] || !x != !y ? 0 : x ? surg__diff_attr_same(d, x, y) : 1;
    if (same == 1) continue;
    surg_diff_item *item =
        changed(d, a, b,
                surg__diff_say(d, "attribute %s", surg__diff_quote(d, name, SURG_LIMIT_NAME_PRINT)),
                same < 0 ? SURG_DIFF_UNKNOWN : SURG_DIFF_EDIT);
    item->text[0] = declared_text(d, has[0], x);
    item->text[1] = declared_text(d, has[1], y);
  }
}

void surg__diff_functions(surg_diff *d) {
  alone(d, 0);
  alone(d, 1);
  surg_model *m = d->side[0].m;
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    const surg_function *f = surg_model_function(m, i);
    const uint32_t a = surg__diff_index(&d->side[0], f->body);
    const uint32_t b = a == SURG__NO_TWIN ? a : d->side[0].graphs.items[a].twin;
    if (b == SURG__NO_TWIN) continue;
    const surg_function *g = d->side[1].graphs.items[b].g->function;
    const char *const names[2] = {function_text(d, f), function_text(d, g)};
    if (strcmp(names[0], names[1]) != 0 || strcmp(f->overload, g->overload) != 0) {
      surg_diff_item *x = changed(d, a, b, "name", SURG_DIFF_NAME);
      x->text[0] = names[0];
      x->text[1] = names[1];
    }
    compare_opsets(d, f, g, a, b, false);
    compare_opsets(d, f, g, a, b, true);
    compare_attrs(d, f, g, a, b, false);
    compare_attrs(d, f, g, a, b, true);
    const surg__dgraph *const at[2] = {&d->side[0].graphs.items[a], &d->side[1].graphs.items[b]};
    surg__diff_about(d, SURG__ABOUT_FUNCTION, (const void *const[]){f, g}, NULL, at);
  }
}
