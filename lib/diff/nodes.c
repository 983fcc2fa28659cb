/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the nodes and values of two graphs that are a pair. */
#include "diff/diff.h"

#define VALUES_SHOWN 4u /* inputs and outputs of a node that a text lists */

typedef struct graphs {
  surg_diff *d;
  surg__dgraph *g[2];
} graphs;

static surg_diff_change only_in(int k) {
  return k ? SURG_DIFF_ADDED : SURG_DIFF_REMOVED;
}

static bool is_twin(const surg_diff *d, const surg__dvalue *a, const surg__dvalue *b) {
  return a && b && a->twin != SURG__NO_TWIN && &d->side[1].values.items[a->twin] == b;
}

/* --- what only one graph has --- */

static void put_values(surg__buf *b, const surg_node *n, bool outputs) {
  const uint32_t count = outputs ? n->n_out : n->n_in;
  for (uint32_t i = 0; i < count && i < VALUES_SHOWN; i++) {
    const surg_value *v = outputs ? n->out[i] : n->in[i].value;
    surg__buf_puts(b, i ? ", \"" : "\"");
    if (v) surg__buf_escape(b, v->name, strlen(v->name), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '"');
  }
  if (count > VALUES_SHOWN) surg__buf_puts(b, ", ...");
}

/* `"x", "w" -> "y"` */
static const char *connections(surg_diff *d, const surg_node *n) {
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  put_values(&b, n, false);
  surg__buf_puts(&b, n->n_in ? " -> " : "-> ");
  put_values(&b, n, true);
  const char *out = b.failed ? NULL : surg__arena_strn(&d->arena, b.p, b.n);
  surg__buf_free(&b);
  if (!out) surg__diff_fail(d);
  return out ? out : "";
}

static void list_nodes(const graphs *x, int k) {
  surg_diff *d = x->d;
  for (uint32_t i = x->g[k]->first; i < x->g[k]->first + x->g[k]->count; i++) {
    surg__dnode *n = &d->side[k].nodes.items[i];
    if (n->twin != SURG__NO_TWIN || n->constant) continue;
    surg_diff_item *item = surg__diff_item(d, SURG_DIFF_NODE, only_in(k), SURG_DIFF_EDIT);
    surg__diff_at_node(d, item, k, n);
    item->text[k] = connections(d, n->n);
    n->item = (uint32_t)(d->items.count - 1);
    n->marks |= SURG_DIFF_MARK_ALONE;
  }
}

/* The item of a node that only one model has, if only such nodes use the value; else none. */
static size_t cause_of(const surg__dside *s, const surg_value *v) {
  size_t cause = SURG_DIFF_NO_ITEM;
  for (const surg_use *u = v->uses; u; u = u->next) {
    const surg__dnode *n = u->kind == SURG_USE_NODE ? surg__dnode_of(s, u->user.node) : NULL;
    if (u->kind == SURG_USE_SOFT) continue;
    if (!n || n->item == SURG__NO_TWIN) return SURG_DIFF_NO_ITEM;
    if (cause == SURG_DIFF_NO_ITEM) cause = n->item;
  }
  return cause;
}

static void list_weights(const graphs *x, int k) {
  surg_diff *d = x->d;
  const surg__dside *s = &d->side[k];
  for (const surg_value *v = x->g[k]->g->first_value; v; v = v->next) {
    surg__dvalue *w = surg__dvalue_of(s, v);
    if (!w || !w->t || w->twin != SURG__NO_TWIN) continue;
    surg_diff_item *item = surg__diff_item(d, SURG_DIFF_WEIGHT, only_in(k), SURG_DIFF_EDIT);
    surg__diff_at_value(d, item, k, w);
    item->text[k] = surg__diff_tensor_text(d, w->t);
    item->cause = cause_of(s, v);
    w->item = (uint32_t)(d->items.count - 1);
    w->marks |= SURG_DIFF_MARK_ALONE;
  }
}

/* --- values --- */

static void compare_name(surg_diff *d, surg__dvalue *a, surg__dvalue *b) {
  if (strcmp(a->v->name, b->v->name) == 0) return;
  surg_diff_item *x = surg__diff_item(d, SURG_DIFF_VALUE_NAME, SURG_DIFF_CHANGED, SURG_DIFF_NAME);
  surg__diff_at_value(d, x, 0, a);
  surg__diff_at_value(d, x, 1, b);
  x->what = a->v->input && !a->t ? "input" : a->output != SURG__NO_TWIN ? "output" : "value";
  x->text[0] = surg__diff_quote(d, a->v->name, SURG_LIMIT_NAME_PRINT);
  x->text[1] = surg__diff_quote(d, b->v->name, SURG_LIMIT_NAME_PRINT);
  a->marks |= SURG_DIFF_MARK_NAMED;
  b->marks |= SURG_DIFF_MARK_NAMED;
}

/* Declared types of inner values repeat what inference finds. */
static void compare_declared(surg_diff *d, const surg__dvalue *a, const surg__dvalue *b) {
  if (!a->v->in_value_info && !b->v->in_value_info) return;
  const surg_type *s = a->v->in_value_info ? a->v->decl.type : NULL;
  const surg_type *t = b->v->in_value_info ? b->v->decl.type : NULL;
  if (s && t && surg_type_equal(s, t)) return;
  if (s && t && surg__diff_type_same(d, s, t)) return;
  surg_diff_item *x = surg__diff_item(d, SURG_DIFF_DECLARED, SURG_DIFF_CHANGED, SURG_DIFF_REMARK);
  surg__diff_at_value(d, x, 0, a);
  surg__diff_at_value(d, x, 1, b);
  x->text[0] = surg__diff_type_text(d, s);
  x->text[1] = surg__diff_type_text(d, t);
}

static const char *storage_of(const surg__dvalue *v) {
  return v->v->producer ? "Constant node" : v->v->input ? "initializer and input" : "initializer";
}

static void compare_weights(surg_diff *d, surg__dvalue *a, surg__dvalue *b) {
  surg__dweights w;
  if (!a->t || !b->t) return;
  surg__diff_weights(d, a->t, b->t, &w);
  if (!w.same) {
    surg_diff_item *x = surg__diff_item(d, SURG_DIFF_WEIGHT, SURG_DIFF_CHANGED,
                                        w.unknown ? SURG_DIFF_UNKNOWN : SURG_DIFF_EDIT);
    surg__diff_at_value(d, x, 0, a);
    surg__diff_at_value(d, x, 1, b);
    x->text[0] = w.text[0];
    x->text[1] = w.text[1];
    x->note = w.note;
    x->elements = w.elements;
    x->differing = w.differing;
    x->max_abs = w.max_abs;
    x->max_rel = w.max_rel;
    a->marks |= SURG_DIFF_MARK_CHANGED;
    b->marks |= SURG_DIFF_MARK_CHANGED;
  }
  if (strcmp(storage_of(a), storage_of(b)) == 0) return;
  surg_diff_item *x = surg__diff_item(d, SURG_DIFF_STORAGE, SURG_DIFF_CHANGED, SURG_DIFF_EDIT);
  surg__diff_at_value(d, x, 0, a);
  surg__diff_at_value(d, x, 1, b);
  x->text[0] = storage_of(a);
  x->text[1] = storage_of(b);
}

static void compare_values(const graphs *x) {
  surg_diff *d = x->d;
  for (const surg_value *v = x->g[0]->g->first_value; v; v = v->next) {
    surg__dvalue *a = surg__dvalue_of(&d->side[0], v);
    if (!a || a->twin == SURG__NO_TWIN) continue;
    surg__dvalue *b = &d->side[1].values.items[a->twin];
    compare_name(d, a, b);
    compare_declared(d, a, b);
    compare_weights(d, a, b);
    const surg__dgraph *const at[2] = {x->g[0], x->g[1]};
    surg__diff_about(d, SURG__ABOUT_VALUE, (const void *const[]){a->v, b->v}, NULL, at);
  }
}

/* --- nodes --- */

typedef struct nodes {
  surg_diff *d;
  surg__dnode *n[2];
} nodes;

static surg_diff_item *add(const nodes *x, surg_diff_kind kind, const char *what,
                           surg_diff_level level) {
  surg_diff_item *item = surg__diff_item(x->d, kind, SURG_DIFF_CHANGED, level);
  for (int k = 0; k < 2; k++) {
    surg__diff_at_node(x->d, item, k, x->n[k]);
    if (level == SURG_DIFF_EDIT) x->n[k]->marks |= SURG_DIFF_MARK_CHANGED;
  }
  item->what = what;
  return item;
}

static const char *operator_text(surg_diff *d, const surg_node *n) {
  return surg__diff_say(d, "%s%s%s%s%s", surg__diff_standard(n->domain) ? "" : n->domain,
                        surg__diff_standard(n->domain) ? "" : ".", n->op_type,
                        n->overload[0] ? ":" : "", n->overload);
}

static const char *operator_quoted(surg_diff *d, const surg_node *n) {
  surg__buf b;
  const char *text = operator_text(d, n), *out;
  surg__buf_init(&b, d->ctx);
  surg__buf_escape(&b, text, strlen(text), SURG_LIMIT_NAME_PRINT);
  out = b.failed ? NULL : surg__arena_strn(&d->arena, b.p ? b.p : "", b.n);
  surg__buf_free(&b);
  if (!out) surg__diff_fail(d);
  return out ? out : "";
}

static void compare_operator(const nodes *x) {
  const surg_node *a = x->n[0]->n, *b = x->n[1]->n;
  if (x->n[0]->op == x->n[1]->op && strcmp(a->op_type, b->op_type) == 0) return;
  /* A call of a function that has another name is the same call. */
  surg_diff_item *item = add(x, SURG_DIFF_OPERATOR, "operator",
                             x->n[0]->op == x->n[1]->op ? SURG_DIFF_NAME : SURG_DIFF_EDIT);
  item->text[0] = operator_quoted(x->d, a);
  item->text[1] = operator_quoted(x->d, b);
}

static void compare_attr(const nodes *x, const surg_attr *a, const surg_attr *b) {
  const int same = a && b ? surg__diff_attr_same(x->d, a, b) : 0;
  if (same == 1) return;
  const surg_attr *one = a ? a : b;
  const bool idle = (!a || surg__diff_attr_default(x->n[0]->n, a)) &&
                    (!b || surg__diff_attr_default(x->n[1]->n, b)) && x->n[0]->op == x->n[1]->op;
  surg_diff_item *item = add(x, SURG_DIFF_ATTRIBUTE, surg__diff_say(x->d, "%s", one->name),
                             same < 0 ? SURG_DIFF_UNKNOWN
                             : idle   ? SURG_DIFF_REMARK
                                      : SURG_DIFF_EDIT);
  item->what = surg__diff_quote(x->d, one->name, SURG_LIMIT_NAME_PRINT);
  item->change = a && b ? SURG_DIFF_CHANGED : a ? SURG_DIFF_REMOVED : SURG_DIFF_ADDED;
  if (a) item->text[0] = surg__diff_attr_text(x->d, a);
  if (b) item->text[1] = surg__diff_attr_text(x->d, b);
  if (idle) item->note = "equal to the default";
}

static void compare_attrs(const nodes *x) {
  const surg_node *a = x->n[0]->n, *b = x->n[1]->n;
  for (uint32_t i = 0; i < a->n_attr; i++)
    compare_attr(x, a->attrs[i], surg_node_attr(b, a->attrs[i]->name));
  for (uint32_t i = 0; i < b->n_attr; i++)
    if (!surg_node_attr(a, b->attrs[i]->name)) compare_attr(x, NULL, b->attrs[i]);
}

/* The item of what only one model has and that explains why a consumer reads another value. */
static size_t explain(const surg_diff *d, int k, const surg__dvalue *v) {
  if (!v) return SURG_DIFF_NO_ITEM;
  if (v->item != SURG__NO_TWIN) return v->item;
  const surg__dnode *n = surg__dnode_of(&d->side[k], v->v->producer);
  return n && n->item != SURG__NO_TWIN ? n->item : SURG_DIFF_NO_ITEM;
}

static void fill_edge(surg_diff *d, surg_diff_item *item, const surg__dvalue *a,
                      const surg__dvalue *b) {
  const surg__dvalue *const v[2] = {a, b};
  for (int k = 0; k < 2; k++) {
    item->text[k] = v[k] ? surg__diff_quote(d, v[k]->v->name, SURG_LIMIT_NAME_PRINT) : "absent";
    item->value[k] = v[k] ? v[k]->v : NULL;
  }
  item->cause = explain(d, 1, b);
  if (item->cause == SURG_DIFF_NO_ITEM) item->cause = explain(d, 0, a);
  if (a && b && a->t && b->t && surg__diff_alike(a, b)) item->note = "the elements are the same";
}

/* How many of the two inputs are pairs if those of m are read in the other order (`other`). */
static int pairs_of(const surg_diff *d, const surg_node *n, const surg_node *m, uint32_t other) {
  int pairs = 0;
  for (uint32_t i = 0; i < 2; i++)
    pairs += is_twin(d, surg__dvalue_of(&d->side[0], n->in[i].value),
                     surg__dvalue_of(&d->side[1], m->in[i ^ other].value));
  return pairs;
}

bool surg__diff_is_swapped(const surg_diff *d, const surg_node *n, const surg_node *m) {
  return surg__diff_swappable(n) && surg__diff_swappable(m) &&
         pairs_of(d, n, m, 1) > pairs_of(d, n, m, 0);
}

static void compare_inputs(const nodes *x) {
  surg_diff *d = x->d;
  const surg_node *n = x->n[0]->n, *m = x->n[1]->n;
  const uint32_t other = surg__diff_is_swapped(d, n, m);
  if (other) add(x, SURG_DIFF_EDGE, "inputs", SURG_DIFF_REMARK)->note = "in the other order";
  for (uint32_t i = 0; i < n->n_in || i < m->n_in; i++) {
    const surg_value *v = i < n->n_in ? n->in[i].value : NULL;
    const surg_value *w = (i ^ other) < m->n_in ? m->in[i ^ other].value : NULL;
    const surg__dvalue *a = surg__dvalue_of(&d->side[0], v), *b = surg__dvalue_of(&d->side[1], w);
    if ((!a && !b) || is_twin(d, a, b)) continue;
    fill_edge(d, add(x, SURG_DIFF_EDGE, surg__diff_say(d, "input %u", i), SURG_DIFF_EDIT), a, b);
  }
}

static void compare_outputs(const nodes *x) {
  const surg_node *n = x->n[0]->n, *m = x->n[1]->n;
  for (uint32_t i = 0; i < n->n_out || i < m->n_out; i++) {
    const surg_value *v = i < n->n_out ? n->out[i] : NULL, *w = i < m->n_out ? m->out[i] : NULL;
    if (!v == !w) continue;
    surg_diff_item *item =
        add(x, SURG_DIFF_RESULT, surg__diff_say(x->d, "output %u", i), SURG_DIFF_EDIT);
    item->change = only_in(v ? 0 : 1);
    item->text[0] = v ? surg__diff_quote(x->d, v->name, SURG_LIMIT_NAME_PRINT) : "absent";
    item->text[1] = w ? surg__diff_quote(x->d, w->name, SURG_LIMIT_NAME_PRINT) : "absent";
  }
}

static void compare_node(const nodes *x) {
  const surg_node *a = x->n[0]->n, *b = x->n[1]->n;
  compare_operator(x);
  compare_attrs(x);
  compare_inputs(x);
  compare_outputs(x);
  if (strcmp(a->name, b->name) != 0) {
    surg_diff_item *item = add(x, SURG_DIFF_NODE_NAME, "name", SURG_DIFF_NAME);
    item->text[0] = surg__diff_quote(x->d, a->name, SURG_LIMIT_NAME_PRINT);
    item->text[1] = surg__diff_quote(x->d, b->name, SURG_LIMIT_NAME_PRINT);
    for (int k = 0; k < 2; k++) x->n[k]->marks |= SURG_DIFF_MARK_NAMED;
  }
  const surg__dnode *const at[2] = {x->n[0], x->n[1]};
  surg__diff_about(x->d, SURG__ABOUT_NODE, (const void *const[]){a, b}, at, NULL);
}

/* --- graphs --- */

static void compare_order(const graphs *x) {
  surg_diff *d = x->d;
  uint32_t last = 0, moved = 0;
  bool any = false;
  for (uint32_t i = x->g[0]->first; i < x->g[0]->first + x->g[0]->count; i++) {
    const uint32_t twin = d->side[0].nodes.items[i].twin;
    if (twin == SURG__NO_TWIN) continue;
    if (any && twin < last)
      moved++;
    else
      last = twin;
    any = true;
  }
  if (!moved) return;
  surg_diff_item *item = surg__diff_item(d, SURG_DIFF_ORDER, SURG_DIFF_CHANGED, SURG_DIFF_REMARK);
  for (int k = 0; k < 2; k++)
    surg__diff_at_graph(d, item, k, (uint32_t)(x->g[k] - d->side[k].graphs.items));
  item->note =
      surg__diff_say(d, "%u node%s at another place in the order", moved, moved == 1 ? "" : "s");
}

/* Outputs of the graph that are other values. */
static void compare_results(const graphs *x) {
  surg_diff *d = x->d;
  const surg__dgraph *g = x->g[0], *h = x->g[1];
  for (size_t i = 0; i < g->g->n_out && g->out_twins; i++) {
    if (g->out_twins[i] == SURG__NO_TWIN) continue;
    const surg__dvalue *a = surg__dvalue_of(&d->side[0], g->g->out[i]->use.value);
    const surg__dvalue *b = surg__dvalue_of(&d->side[1], h->g->out[g->out_twins[i]]->use.value);
    if (is_twin(d, a, b)) continue;
    surg_diff_item *item = surg__diff_item(d, SURG_DIFF_EDGE, SURG_DIFF_CHANGED, SURG_DIFF_EDIT);
    for (int k = 0; k < 2; k++)
      surg__diff_at_graph(d, item, k, (uint32_t)(x->g[k] - d->side[k].graphs.items));
    item->what = surg__diff_say(d, "output %zu", i);
    fill_edge(d, item, a, b);
  }
}

void surg__diff_graph(surg_diff *d, uint32_t a, uint32_t b) {
  const graphs x = {d, {&d->side[0].graphs.items[a], &d->side[1].graphs.items[b]}};
  for (int k = 0; k < 2; k++) list_nodes(&x, k);
  for (int k = 0; k < 2; k++) list_weights(&x, k);
  for (uint32_t i = x.g[0]->first; i < x.g[0]->first + x.g[0]->count; i++) {
    surg__dnode *n = &d->side[0].nodes.items[i];
    if (n->twin == SURG__NO_TWIN) continue;
    const nodes pair = {d, {n, &d->side[1].nodes.items[n->twin]}};
    compare_node(&pair);
  }
  compare_results(&x);
  compare_values(&x);
  compare_order(&x);
  const surg__dgraph *const at[2] = {x.g[0], x.g[1]};
  if (x.g[0]->g->kind == SURG_GRAPH_FUNCTION) return;
  surg__diff_texts(d, "name", x.g[0]->g->name, x.g[1]->g->name, NULL, at);
  surg__diff_about(d, SURG__ABOUT_GRAPH, (const void *const[]){x.g[0]->g, x.g[1]->g}, NULL, at);
}
