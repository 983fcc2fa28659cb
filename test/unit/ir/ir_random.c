/* SPDX-License-Identifier: Apache-2.0 */
/* Random edits: after each the invariants must hold, and now and then the model written and read
 * again must be wired as the one in memory, whatever names were taken, shadowed or moved. Editing
 * goes on with the model that was read, so that a missing dirty mark writes old bytes. */
#include "ir_common.h"

#include "ir/ir.h"

#define STEPS 400
#define MAX_VALUES 4096

static uint64_t seed;
static unsigned rnd(unsigned n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % n;
}

static surg_context *ctx;
static surg_model *m;

static surg_graph *any_graph(void) {
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) n++;
  size_t k = rnd((unsigned)n);
  surg_graph *g = surg_model_next_graph(m, NULL);
  while (k--) g = surg_model_next_graph(m, g);
  return g;
}

static surg_node *any_node(surg_graph *g) {
  if (!g->n_nodes) return NULL;
  surg_node *n = surg_graph_first_node(g);
  for (size_t k = rnd((unsigned)g->n_nodes); k; k--) n = surg_node_next(n);
  return n;
}

/* Whether v is there before the place `at` (NULL: the end) of graph g. */
static bool defined(const surg_value *v, surg_graph *g, surg_node *at) {
  for (; g; at = g->parent_node, g = surg_graph_parent(g)) {
    if (v->graph != g) continue;
    return !v->producer || !at || surg_node_before(v->producer, at);
  }
  return false;
}

/* A value that may be read there, of any scope. */
static surg_value *any_value(surg_graph *g, surg_node *at) {
  for (int tries = 0; tries < 20; tries++) {
    surg_graph *from = g;
    while (rnd(2) && surg_graph_parent(from)) from = surg_graph_parent(from);
    size_t n = 0;
    for (surg_value *v = NULL; (v = surg_graph_next_value(from, v));) n++;
    if (!n) continue;
    surg_value *v = surg_graph_next_value(from, NULL);
    for (size_t k = rnd((unsigned)n); k; k--) v = surg_graph_next_value(from, v);
    if (defined(v, g, at)) return v;
  }
  return surg_graph_input(m->graph, 0);
}

static unsigned depth(surg_graph *g) {
  unsigned d = 0;
  while ((g = surg_graph_parent(g))) d++;
  return d;
}

static bool inside(surg_graph *g, const surg_graph *outer) {
  for (; g; g = surg_graph_parent(g))
    if (g == outer) return true;
  return false;
}

/* Names a value of an inner graph like one outside, as files do, where no node inside reads that. */
static void add_shadow(surg_graph *g) {
  surg_graph *p = surg_graph_parent(g);
  if (!p) return;
  surg_value *v = any_value(p, NULL);
  if (surg_graph_find_value(g, v->name)) return;
  for (surg_graph *a = p; a; a = surg_graph_parent(a)) {
    surg_value *w = surg_graph_find_value(a, v->name);
    for (surg_use *u = surg_value_first_use(w); u; u = surg_use_next(u))
      if (inside(surg_use_graph(u), g)) return;
  }
  for (surg_graph *h = m->graph; h; h = h->next)
    if (h != g && inside(h, g) && surg_graph_find_value(h, v->name)) return;
  const char *none = surg__intern(m, "", 0);
  surg_node *n = surg__node_new(g, NULL, surg__intern(m, "t", 1), surg__intern(m, "Shadow", 6),
                                none, none);
  ck_assert(surg__node_link_output(n, 0, surg__value_new(g, v->name)));
  surg__touch_node(n);
}

static void replace_some(surg_graph *g) {
  surg_node *n = any_node(g);
  surg_value *old = n ? out0(n) : NULL;
  if (!old) return;
  surg_value *by = any_value(g, n);
  surg_replace how = surg_value_can_replace(old, by);
  surg_status s = surg_value_replace(old, by);
  if (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL)
    ck_ok(s);
  else
    ck_assert_int_eq(s, old == by ? SURG_OK : SURG_EUNSUPPORTED);
}

static void hoist_some(surg_graph *g) {
  surg_graph *p = surg_graph_parent(g);
  if (!p) return;
  surg_status s = surg_graph_hoist(g, g->parent_node);
  ck_assert(s == SURG_OK || s == SURG_EINVALID);
}

static void step(void) {
  static const char *const pool[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  surg_graph *g = any_graph();
  surg_node *n = any_node(g), *at = any_node(g);
  switch (rnd(14)) {
    case 0:
    case 1: n = surg_graph_add_node(g, at, "t", "Op", 1 + rnd(2)); /* fall through */
    case 2:
    case 3:
      if (n) ck_ok(surg_node_set_input(n, rnd(4), any_value(g, n)));
      break;
    case 4:
      if (n && depth(g) < 4) {
        char name[16];
        snprintf(name, sizeof name, "body%u", rnd(2));
        ck_assert_ptr_nonnull(surg_node_set_graph(n, name, "s"));
      }
      break;
    case 5: surg_value_rename(any_value(g, NULL), pool[rnd(8)]); break;
    case 6:
      if (n) surg_node_erase(n);
      break;
    case 7: ck_assert_ptr_nonnull(surg_graph_constant(g, at, pool[rnd(8)], i64(m, rnd(9)))); break;
    case 8: replace_some(g); break;
    case 9: add_shadow(g); break;
    case 10:
      if (g->n_out > 3)
        ck_ok(surg_graph_remove_output(g, rnd((unsigned)g->n_out)));
      else
        ck_ok(surg_graph_add_output(g, any_value(g, NULL), f32(m)));
      break;
    case 11:
      if (n) ck_ok(surg_node_move(n, at));
      ck_ok(surg_graph_toposort(g, NULL));
      break;
    case 12: hoist_some(g); break;
    case 13:
      if (n) surg_node_drop_output(n, rnd(2));
      break;
  }
  surg_context_clear_error(ctx);
}

/* --- wiring as text: values are numbered where they are defined --- */

typedef struct print {
  const surg_value *ids[MAX_VALUES];
  size_t n;
  char *text;
  size_t used, cap;
} print;

static void put(print *p, const char *what, size_t number) {
  if (p->cap - p->used < 64) p->text = realloc(p->text, p->cap = p->cap * 2 + 256);
  p->used += (size_t)snprintf(p->text + p->used, p->cap - p->used, "%s%zu ", what, number);
}

static void define(print *p, const surg_value *v) {
  ck_assert_uint_lt(p->n, MAX_VALUES);
  p->ids[p->n++] = v;
}

static size_t id_of(const print *p, const surg_value *v) {
  for (size_t i = 0; i < p->n; i++)
    if (p->ids[i] == v) return i + 1;
  return 0; /* absent, or something that is not defined yet */
}

static void print_graph(print *p, const surg_graph *g) {
  put(p, "\ngraph in", g->n_in);
  for (size_t i = 0; i < g->n_in; i++) define(p, g->in[i]);
  put(p, "init", g->n_inits);
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
    if (!surg_value_is_input(v)) define(p, v);
  for (const surg_node *n = g->first; n; n = n->next) {
    put(p, "\n", 0);
    size_t n_in = n->n_in, n_out = n->n_out;
    while (n_in && !surg_node_input(n, n_in - 1)) n_in--;
    while (n_out && !surg_node_output(n, n_out - 1)) n_out--;
    put(p, n->op_type, n_in);
    for (size_t i = 0; i < n_in; i++) put(p, "%", id_of(p, surg_node_input(n, i)));
    for (size_t k = 0; surg_node_subgraph(n, k); k++) print_graph(p, surg_node_subgraph(n, k));
    for (size_t i = 0; i < n_out; i++)
      if (surg_node_output(n, i)) define(p, surg_node_output(n, i));
  }
  for (size_t i = 0; i < g->n_out; i++) put(p, "->", id_of(p, surg_graph_output(g, i)));
}

static char *wiring(const surg_model *model) {
  static print p;
  p = (print){0};
  print_graph(&p, surg_model_graph(model));
  put(&p, "end", 0);
  return p.text;
}

static void check_round_trip(void) {
  void *bytes = NULL;
  size_t n = 0;
  surg_model *again = NULL;
  ck_assert_msg(surg_model_save_memory(m, &bytes, &n) == SURG_OK, "%s", surg_context_error(ctx));
  surg_status s = surg_model_load_memory(ctx, bytes, n, "again", NULL, &again);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
  char *a = wiring(m), *b = wiring(again);
  ck_assert_str_eq(a, b);
  ck_ok(surg_model_verify(again));
  surg_model *c = surg_model_clone(m);
  char *d = wiring(c);
  ck_assert_str_eq(a, d);
  ck_ok(surg_model_verify(c));
  free(a);
  free(b);
  free(d);
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(c);
  surg_model_free(m);
  m = again;
}

START_TEST(random_edits) {
  seed = (uint64_t)_i * 77 + 5;
  ctx = new_context();
  m = surg_model_new(ctx, 10, 17);
  ck_ok(surg_model_set_opset(m, "t", 1));
  surg_graph_add_input(m->graph, "x", f32(m));
  for (int i = 0; i < STEPS; i++) {
    step();
    ck_ok(surg_model_status(m));
    ck_assert_msg(surg_model_verify(m) == SURG_OK, "step %d: %s", i, surg_context_error(ctx));
    if (i % 50 == 49 || rnd(8) == 0) check_round_trip();
  }
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_random");
  TCase *t = tcase_create("random");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, random_edits, 0, 60);
  suite_add_tcase(s, t);
  return unit_run(s);
}
