/* SPDX-License-Identifier: Apache-2.0 */
/* See diff_run.h. */
#include "diff_run.h"

#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

/* One of the models with all of its values as outputs. */
typedef struct side {
  surg_model *all;
  surg_engine *engine;
  surg_session *session;
  surg_inputs *in;
  surg_array **out;
  size_t n;
  size_t *by_name; /* numbers of the outputs, sorted by name */
} side;

typedef struct running {
  surg_context *ctx;
  surg_model *const *m;
  const surg_diff *d;
  const cli_run *how;
  diff_runs *r;
  side sides[2];
} running;

/* --- values by name --- */

static const char *name_at(const side *s, size_t i) {
  return surg_value_name(surg_graph_output(surg_model_graph(s->all), i));
}

typedef struct named {
  const char *name;
  size_t at;
} named;

static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static bool sort_names(side *s) {
  named *list = calloc(s->n + 1, sizeof *list);
  s->by_name = calloc(s->n + 1, sizeof *s->by_name);
  for (size_t i = 0; list && i < s->n; i++) list[i] = (named){name_at(s, i), i};
  if (list && s->n) qsort(list, s->n, sizeof *list, by_name);
  for (size_t i = 0; list && s->by_name && i < s->n; i++) s->by_name[i] = list[i].at;
  free(list);
  return list && s->by_name;
}

/* The result that a value of the model has; NULL: none. */
static const surg_array *result_of(const side *s, const surg_value *v) {
  size_t low = 0, high = v ? s->n : 0;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const int order = strcmp(name_at(s, s->by_name[mid]), surg_value_name(v));
    if (order == 0) return s->out[s->by_name[mid]];
    if (order < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return NULL;
}

/* The value of the second model that is the same as v: by structure, else by name. */
static const surg_value *partner(const running *x, const surg_value *v) {
  const surg_graph *g = surg_model_graph(x->m[1]);
  const surg_value *other = surg_diff_value(x->d, v);
  if (!other) other = surg_graph_find_value(g, surg_value_name(v));
  return other && surg_value_graph(other) == g ? other : NULL;
}

/* --- runs --- */

static int give_up(running *x, const char *why) {
  snprintf(x->r->reason, sizeof x->r->reason, "%s", why);
  x->r->why = x->r->reason;
  return EXIT_DONE;
}

static bool draws(const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const surg_op_class c = surg_node_class(n);
    const bool known = c == SURG_OP_CLASS_BUILTIN || c == SURG_OP_CLASS_FUNCTION;
    if (known && surg_node_nondeterministic(n)) return true;
  }
  return false;
}

static int prepare(running *x, size_t k, const cli_common *common) {
  side *s = &x->sides[k];
  surg_status status = surg_graph_toposort(surg_model_graph(x->m[k]), NULL);
  if (status == SURG_OK) status = surg_model_all_outputs(x->m[k], &s->all);
  if (status != SURG_OK) return cli_exit_code(status);
  int code = cli_engine_open(x->how, common, x->ctx, 0, &s->engine);
  if (code == EXIT_DONE) code = cli_exit_code(surg_session_new(s->engine, s->all, &s->session));
  s->n = surg_graph_output_count(surg_model_graph(s->all));
  s->out = calloc(s->n + 1, sizeof(surg_array *));
  if (code == EXIT_DONE && (!s->out || !sort_names(s))) code = cli_no_memory();
  return code;
}

/* The inputs of the second model: the values that the first one got. */
static int pass_inputs(running *x) {
  const surg_graph *g[2] = {surg_model_graph(x->m[0]), surg_model_graph(x->m[1])};
  const surg_inputs_options o = {.size = sizeof o,
                                 .fill = x->how->fill,
                                 .seed = x->how->seed,
                                 .sizes = x->how->dims.items,
                                 .n_sizes = x->how->dims.n};
  int code = cli_exit_code(surg_inputs_new(x->sides[1].all, &o, &x->sides[1].in));
  for (size_t i = 0; code == EXIT_DONE && i < surg_graph_input_count(g[0]); i++) {
    const surg_value *v = surg_graph_input(g[0], i), *to = partner(x, v);
    surg_array *a = NULL;
    if (!to || !surg_value_is_input(to)) continue;
    if (surg_inputs_get(x->sides[0].in, i, &a) != SURG_OK) continue; /* its default */
    code = cli_exit_code(surg_inputs_set(x->sides[1].in, surg_value_name(to), a));
    surg_array_free(a);
  }
  return code;
}

static int run_side(running *x, size_t k) {
  side *s = &x->sides[k];
  char text[280];
  int code = k == 0 ? cli_inputs_load(x->how, s->all, true, &s->in) : pass_inputs(x);
  if (code != EXIT_DONE) return code;
  const surg_status status = surg_session_run(s->session, s->in, s->out, s->n);
  if (status == SURG_OK) return EXIT_DONE;
  if (status == SURG_ENOMEM) return cli_no_memory();
  snprintf(text, sizeof text, "the %s does not run: %s", k ? "second" : "first",
           surg_session_why(s->session));
  return give_up(x, text);
}

/* --- the comparison --- */

static bool agree(const running *x, const surg_value *a, const surg_value *b, surg_distance *d) {
  const surg_array *p = result_of(&x->sides[0], a), *q = result_of(&x->sides[1], b);
  *d = (surg_distance){.size = sizeof *d};
  return p && q && surg_array_compare(q, p, &x->how->tolerance, d) == SURG_OK && d->same;
}

/* Whether the nodes read the same: results that agree, or what the models have in common. */
static bool same_inputs(const running *x, const surg_node *a, const surg_node *b) {
  surg_distance d;
  const size_t n = surg_node_input_count(a);
  if (!b || surg_node_input_count(b) != n) return false;
  for (size_t i = 0; i < n; i++) {
    const surg_value *v = surg_node_input(a, i), *w = surg_node_input(b, i);
    if (!v && !w) continue;
    if (!v || !w) return false;
    const bool computed = surg_value_producer(v, NULL) && surg_value_producer(w, NULL);
    const bool same = computed ? agree(x, v, w, &d)
                               : surg_diff_value(x->d, v) == w && !surg_diff_value_marks(x->d, v);
    if (!same) return false;
  }
  return true;
}

/* Compares one value; false: it is the first that differs. */
static bool check_value(running *x, const surg_node *n, const surg_value *v) {
  const surg_value *other = partner(x, v);
  const surg_array *a = result_of(&x->sides[0], v), *b = result_of(&x->sides[1], other);
  diff_runs *r = x->r;
  if (!a || !b || surg_array_kind(a) == SURG_TYPE_UNKNOWN) return true;
  r->compared++;
  if (agree(x, v, other, &r->distance)) return r->equal++, true;
  const surg_node *from = surg_value_producer(other, NULL);
  r->found = true;
  r->value[0] = v;
  r->value[1] = other;
  r->same_inputs = same_inputs(x, n, from);
  return false;
}

static void compare(running *x) {
  const surg_graph *g = surg_model_graph(x->m[0]);
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      const surg_value *v = surg_node_output(n, i);
      if (v && !check_value(x, n, v)) return;
    }
  if (!x->r->compared) give_up(x, "the models have no value in common");
}

int diff_run(surg_context *ctx, surg_model *const m[2], const surg_diff *d, const cli_run *how,
             const cli_common *common, diff_runs *out) {
  running x = {.ctx = ctx, .m = m, .d = d, .how = how, .r = out};
  int code = EXIT_DONE;
  *out = (diff_runs){.distance = {.size = sizeof out->distance}};
  if (draws(m[0]) || draws(m[1])) return give_up(&x, "a node draws random numbers");
  for (size_t k = 0; k < 2 && code == EXIT_DONE; k++) code = prepare(&x, k, common);
  for (size_t k = 0; k < 2 && code == EXIT_DONE && !out->why; k++) code = run_side(&x, k);
  if (code == EXIT_DONE && !out->why) compare(&x);
  for (size_t k = 0; k < 2; k++) {
    side *s = &x.sides[k];
    for (size_t i = 0; s->out && i < s->n; i++) surg_array_free(s->out[i]);
    free(s->out);
    free(s->by_name);
    surg_session_free(s->session);
    surg_engine_free(s->engine);
    surg_inputs_free(s->in);
    surg_model_free(s->all);
  }
  return code;
}

/* --- the report --- */

/* Where a value is computed. */
static const char *where(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  return n ? surg_node_where(n) : "no node computes it";
}

void diff_run_print(const diff_runs *r) {
  if (r->why) {
    printf("run: not compared: %s\n", r->why);
    return;
  }
  if (!r->found) {
    printf("run: all %zu values that both models have agree\n", r->compared);
    return;
  }
  printf("run: the first value that differs is \"");
  cli_put(stdout, surg_value_name(r->value[0]));
  printf("\": %s\n", r->distance.why);
  printf("  max abs %.3g, max rel %.3g; %llu of %llu elements\n", r->distance.max_abs,
         r->distance.max_rel, (unsigned long long)r->distance.differing,
         (unsigned long long)r->distance.elements);
  for (size_t k = 0; k < 2; k++)
    printf("  in the %s %s\n", k ? "second:" : "first: ", where(r->value[k]));
  printf("  %zu value%s before it agree%s%s\n", r->equal, r->equal == 1 ? "" : "s",
         r->equal == 1 ? "s" : "",
         r->same_inputs ? "; so do its inputs: the node computes something else" : "");
}

json_t *diff_run_json(const diff_runs *r) {
  json_t *j = json_object();
  json_object_set_new(j, "compared", json_integer((json_int_t)r->compared));
  json_object_set_new(j, "equal", json_integer((json_int_t)r->equal));
  if (r->why) json_object_set_new(j, "why", cli_text_json(r->why));
  if (r->found) {
    json_t *first = json_pack(
        "{s:[o, o], s:[o, o], s:b, s:f, s:f, s:o}", "value",
        cli_text_json(surg_value_name(r->value[0])), cli_text_json(surg_value_name(r->value[1])),
        "at", cli_text_json(where(r->value[0])), cli_text_json(where(r->value[1])), "same_inputs",
        (int)r->same_inputs, "max_abs", r->distance.max_abs, "max_rel", r->distance.max_rel, "why",
        cli_text_json(r->distance.why));
    json_object_set_new(j, "first", first);
  }
  return json_pack("{s:o}", "run", j);
}
