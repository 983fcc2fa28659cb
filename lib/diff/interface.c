/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of two graphs: pairs, and what differs. */
#include <onnxsurg/names.h>

#include "diff/diff.h"

#define SYMBOLS 4096u /* symbols that may be renamed; further ones are compared by name */

/* --- types --- */

static bool same_symbol(surg_diff *d, const char *a, const char *b) {
  for (size_t i = 0; i < d->symbols.count; i++) {
    const surg__dsymbol *s = &d->symbols.items[i];
    if (strcmp(s->a, a) == 0 || strcmp(s->b, b) == 0)
      return strcmp(s->a, a) == 0 && strcmp(s->b, b) == 0;
  }
  if (d->symbols.count == SYMBOLS) return strcmp(a, b) == 0;
  const surg__dsymbol s = {a, b};
  if (!surg__vec_push(d->ctx, &d->symbols, s)) surg__diff_fail(d);
  return true;
}

static bool same_dim(surg_diff *d, const surg_dim *a, const surg_dim *b) {
  if (a->value >= 0 || b->value >= 0) return a->value == b->value;
  if (!a->param || !b->param) return a->param == b->param;
  return same_symbol(d, a->param, b->param);
}

static bool same_word(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_level(surg_diff *d, const surg_type *a, const surg_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->has_rank != b->has_rank ||
      a->rank != b->rank)
    return false;
  if (!same_word(a->denotation, b->denotation) || !same_word(a->opaque_domain, b->opaque_domain) ||
      !same_word(a->opaque_name, b->opaque_name))
    return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    const char *x = a->dim_denotations ? a->dim_denotations[i] : NULL;
    const char *y = b->dim_denotations ? b->dim_denotations[i] : NULL;
    if (!same_dim(d, &a->dims[i], &b->dims[i]) || !same_word(x, y)) return false;
  }
  return true;
}

bool surg__diff_type_same(surg_diff *d, const surg_type *a, const surg_type *b) {
  const size_t symbols = d->symbols.count;
  while (a && b && same_level(d, a, b)) {
    a = a->elem;
    b = b->elem;
  }
  if (a || b) d->symbols.count = symbols;
  return !a && !b;
}

void surg__diff_symbols(surg_diff *d) {
  for (size_t i = 0; i < d->symbols.count; i++) {
    const surg__dsymbol *s = &d->symbols.items[i];
    if (strcmp(s->a, s->b) == 0) continue;
    surg_diff_item *x =
        surg__diff_item(d, SURG_DIFF_SYMBOL_NAME, SURG_DIFF_CHANGED, SURG_DIFF_NAME);
    x->text[0] = surg__diff_quote(d, s->a, SURG_LIMIT_NAME_PRINT);
    x->text[1] = surg__diff_quote(d, s->b, SURG_LIMIT_NAME_PRINT);
  }
}

/* Whether two inputs or outputs may be one under another name. */
static bool like_type(const surg_type *a, const surg_type *b) {
  if (!a || !b) return a == b;
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank;
}

/* --- pairs --- */

/* A list of inputs or outputs. */
typedef struct list {
  surg__dside *s;
  const surg__dgraph *g;
  bool outputs;
  uint32_t *twins; /* of the outputs */
} list;

static size_t length(const list *l) {
  return l->outputs ? l->g->g->n_out : l->g->g->n_in;
}

static surg__dvalue *value_at(const list *l, size_t i) {
  return surg__dvalue_of(l->s, l->outputs ? l->g->g->out[i]->use.value : l->g->g->in[i]);
}

static const char *name_at(const list *l, size_t i) {
  return l->outputs ? l->g->g->out[i]->name : l->g->g->in[i]->name;
}

static const surg_type *type_at(const list *l, size_t i) {
  return l->outputs ? l->g->g->out[i]->decl.type : l->g->g->in[i]->decl.type;
}

/* Whether entry i has no pair yet, and is no constant that is listed as an input. */
static bool is_open(const list *l, size_t i) {
  if (l->outputs) return l->twins[i] == SURG__NO_TWIN;
  const surg__dvalue *v = value_at(l, i);
  return v && !v->t && v->twin == SURG__NO_TWIN;
}

static void pair(surg_diff *d, const list l[2], size_t i, size_t j) {
  if (l[0].outputs) {
    l[0].twins[i] = (uint32_t)j;
    l[1].twins[j] = (uint32_t)i;
  } else {
    surg__diff_pair_values(d, value_at(&l[0], i), value_at(&l[1], j));
  }
}

/* The entry of the second list with the name of entry i of the first, or SIZE_MAX. */
static size_t named(const list l[2], size_t i) {
  const surg_value *w = surg_graph_find_value(l[1].g->g, name_at(&l[0], i));
  const surg__dvalue *v = surg__dvalue_of(l[1].s, w);
  if (!v) return SIZE_MAX;
  if (l[1].outputs) return v->output == SURG__NO_TWIN ? SIZE_MAX : v->output;
  for (size_t j = 0; w->input && j < length(&l[1]); j++)
    if (l[1].g->g->in[j] == w) return j;
  return SIZE_MAX;
}

static size_t count_open(const list *l) {
  size_t n = 0;
  for (size_t i = 0; i < length(l); i++) n += is_open(l, i);
  return n;
}

/* Pairs what is open in order; with `typed`, where types fit. */
static void pair_rest(surg_diff *d, const list l[2], bool typed) {
  size_t j = 0;
  for (size_t i = 0; i < length(&l[0]); i++) {
    if (!is_open(&l[0], i)) continue;
    size_t k = j;
    while (k < length(&l[1]) &&
           !(is_open(&l[1], k) && (!typed || like_type(type_at(&l[0], i), type_at(&l[1], k)))))
      k++;
    if (k == length(&l[1])) continue;
    pair(d, l, i, k);
    j = k + 1;
  }
}

static void pair_lists(surg_diff *d, const list l[2]) {
  /* Calls of a function and attributes with graphs connect by place. */
  const bool by_place = l[0].g->g->kind != SURG_GRAPH_MAIN && length(&l[0]) == length(&l[1]);
  for (size_t i = 0; !by_place && i < length(&l[0]); i++) {
    const size_t j = is_open(&l[0], i) ? named(l, i) : SIZE_MAX;
    if (j != SIZE_MAX && is_open(&l[1], j)) pair(d, l, i, j);
  }
  if (!by_place) pair_rest(d, l, true);
  if (by_place || count_open(&l[0]) == count_open(&l[1])) pair_rest(d, l, false);
}

/* Pairs values without a definition, which a lenient load permits, by name. */
static void pair_undefined(surg_diff *d, const list l[2]) {
  for (const surg_value *v = l[0].g->g->first_value; v; v = v->next) {
    const surg_value *w = v->undefined ? surg_graph_find_value(l[1].g->g, v->name) : NULL;
    if (w && w->undefined)
      surg__diff_pair_values(d, surg__dvalue_of(l[0].s, v), surg__dvalue_of(l[1].s, w));
  }
}

void surg__diff_pair_interface(surg_diff *d, uint32_t a, uint32_t b) {
  list l[2] = {{.s = &d->side[0], .g = &d->side[0].graphs.items[a]},
               {.s = &d->side[1], .g = &d->side[1].graphs.items[b]}};
  pair_lists(d, l);
  pair_undefined(d, l);
  for (int k = 0; k < 2; k++) {
    surg__dgraph *g = &d->side[k].graphs.items[k ? b : a];
    l[k].outputs = true;
    l[k].twins = g->out_twins = surg__arena_array(&d->arena, g->g->n_out + 1, sizeof *l[k].twins);
    for (size_t i = 0; g->out_twins && i < g->g->n_out; i++) g->out_twins[i] = SURG__NO_TWIN;
  }
  if (l[0].twins && l[1].twins)
    pair_lists(d, l);
  else
    surg__diff_fail(d);
}

/* --- comparison --- */

static surg_diff_item *item_of(surg_diff *d, const list *l, size_t i, int k, surg_diff_change c) {
  const surg_diff_kind kind = l->outputs ? SURG_DIFF_OUTPUT : SURG_DIFF_INPUT;
  surg_diff_item *x = surg__diff_item(d, kind, c, SURG_DIFF_EDIT);
  x->where[k] =
      surg__diff_say(d, "%s.%s[%zu] %s", surg_graph_where(l->g->g), l->outputs ? "output" : "input",
                     i, surg__diff_quote(d, name_at(l, i), SURG_LIMIT_NAME_PRINT));
  const surg__dvalue *v = value_at(l, i);
  x->value[k] = v ? v->v : NULL;
  return x;
}

static surg_diff_item *changed(surg_diff *d, const list l[2], size_t i, size_t j,
                               const char *what) {
  surg_diff_item *x = item_of(d, &l[0], i, 0, SURG_DIFF_CHANGED);
  x->what = what;
  x->where[1] = surg__diff_say(d, "%s.%s[%zu] %s", surg_graph_where(l[1].g->g),
                               l[1].outputs ? "output" : "input", j,
                               surg__diff_quote(d, name_at(&l[1], j), SURG_LIMIT_NAME_PRINT));
  const surg__dvalue *v = value_at(&l[1], j);
  x->value[1] = v ? v->v : NULL;
  return x;
}

static bool is_paired(const list *l, size_t i) {
  const surg__dvalue *v = value_at(l, i);
  return l->outputs ? l->twins[i] != SURG__NO_TWIN : v && !v->t && v->twin != SURG__NO_TWIN;
}

/* The index in the second list of the pair of entry i, or SIZE_MAX. */
static size_t twin_of(const list l[2], size_t i) {
  if (l[0].outputs) return l[0].twins[i] == SURG__NO_TWIN ? SIZE_MAX : l[0].twins[i];
  const surg__dvalue *v = value_at(&l[0], i);
  if (!v || v->t || v->twin == SURG__NO_TWIN) return SIZE_MAX;
  const surg_value *w = l[1].s->values.items[v->twin].v;
  for (size_t j = 0; j < length(&l[1]); j++) /* most often at the same place */
    if (l[1].g->g->in[(i + j) % length(&l[1])] == w) return (i + j) % length(&l[1]);
  return SIZE_MAX;
}

static void compare_default(surg_diff *d, const list l[2], size_t i, size_t j) {
  const surg_value *v = l[0].g->g->in[i], *w = l[1].g->g->in[j];
  const surg_tensor *s = v->initializer ? v->tensor : NULL, *t = w->initializer ? w->tensor : NULL;
  surg__dweights r = {.same = !s && !t};
  if (s && t) surg__diff_weights(d, s, t, &r);
  if (r.same) return;
  surg_diff_item *x = changed(d, l, i, j, "default");
  if (r.unknown) x->level = SURG_DIFF_UNKNOWN;
  x->text[0] = s ? surg__diff_tensor_text(d, s) : "none";
  x->text[1] = t ? surg__diff_tensor_text(d, t) : "none";
  if (r.note) x->note = r.note;
}

/* Compares the places of paired entries among each other. */
static void compare_places(surg_diff *d, const list l[2]) {
  size_t last = 0;
  bool any = false;
  for (size_t i = 0; i < length(&l[0]); i++) {
    const size_t j = twin_of(l, i);
    if (j == SIZE_MAX) continue;
    if (any && j < last) {
      surg_diff_item *x = changed(d, l, i, j, "place");
      x->text[0] = surg__diff_say(d, "%zu", i);
      x->text[1] = surg__diff_say(d, "%zu", j);
    } else {
      last = j;
    }
    any = true;
  }
}

static void compare_lists(surg_diff *d, const list l[2]) {
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < length(&l[k]); i++) {
      const surg__dvalue *v = value_at(&l[k], i);
      if (is_paired(&l[k], i) || (!l[k].outputs && v && v->t)) continue;
      surg_diff_item *x = item_of(d, &l[k], i, k, k ? SURG_DIFF_ADDED : SURG_DIFF_REMOVED);
      x->text[k] = surg__diff_type_text(d, type_at(&l[k], i));
    }
  for (size_t i = 0; i < length(&l[0]); i++) {
    const size_t j = twin_of(l, i);
    if (j == SIZE_MAX) continue;
    if (!surg__diff_type_same(d, type_at(&l[0], i), type_at(&l[1], j))) {
      surg_diff_item *x = changed(d, l, i, j, "type");
      x->text[0] = surg__diff_type_text(d, type_at(&l[0], i));
      x->text[1] = surg__diff_type_text(d, type_at(&l[1], j));
      /* Declarations of a body repeat what the graph around it defines. */
      if (l[0].g->g->kind != SURG_GRAPH_MAIN) x->level = SURG_DIFF_REMARK;
    }
    if (!l[0].outputs) compare_default(d, l, i, j);
  }
  compare_places(d, l);
}

void surg__diff_interface(surg_diff *d, uint32_t a, uint32_t b) {
  list l[2] = {{.s = &d->side[0], .g = &d->side[0].graphs.items[a]},
               {.s = &d->side[1], .g = &d->side[1].graphs.items[b]}};
  compare_lists(d, l);
  for (int k = 0; k < 2; k++) {
    l[k].outputs = true;
    l[k].twins = l[k].g->out_twins;
  }
  if (l[0].twins && l[1].twins) compare_lists(d, l);
}
