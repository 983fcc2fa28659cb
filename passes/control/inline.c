/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces calls of model functions, all or those named, by the nodes of the function, and
 * operators named in `spec` by the function body that the ONNX standard defines for them. Unused
 * functions and the imports of their domains are removed.
 *
 *   before: (x) => (y) { y = local.f <k = 2> (x) }     f <k> (a) => (b) { t = Abs (a)   b = ... }
 *   after:  (x) => (y) { t = Abs (x)   y = ... }
 *
 * Needs sorted. Keeps sorted. Exact, but for `spec`: an operator and its function body may round
 * differently. */
#include "inline.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "../cleanup/prune.h"
#include "../util/domains.h"
#include "../util/give.h"
#include "../util/nearest.h"

#define BODIES 64 /* most function bodies of the standard, each read once */

typedef struct inlining {
  surg_pass_ctx *p;
  surg_model *m;
  inline_filter wanted;
  void *user;
  struct {
    const surg_schema *of;
    int64_t opset;
    surg_model *model; /* NULL: the operator has no body */
  } bodies[BODIES];
  size_t n_bodies;
  const char **domains; /* domains of the functions whose calls were replaced */
  size_t n_domains, cap_domains;
  bool changed, stop;
  bool incomplete; /* also calls that lack what a node of the body requires */
} inlining;

/* ---- reading the options --------------------------------------------------------------------- */

/* Whether the options select f: without any name all functions, unless `spec` is given. */
static bool named(void *user, const surg_function *f) {
  const surg_pass_ctx *p = user;
  if (surg_pass_list_count(p, "op"))
    return domains_listed(p, "op", surg_function_domain(f), surg_function_name(f));
  return surg_pass_list_count(p, "spec") == 0;
}

static surg_pass_result check_names(surg_pass_ctx *p) {
  const surg_model *m = surg_pass_model(p);
  for (size_t i = 0; i < surg_pass_list_count(p, "op"); i++) {
    const char *spec = surg_pass_list_at(p, "op", i);
    bool found = false;
    nearest near = {.name = spec};
    for (size_t k = 0; k < surg_model_function_count(m) && !found; k++) {
      const surg_function *f = surg_model_function(m, k);
      nearest_offer_operator(&near, surg_function_domain(f), surg_function_name(f));
      found = domains_named(spec, surg_function_domain(f), surg_function_name(f));
    }
    if (found) continue;
    char text[INLINE_TEXT];
    snprintf(text, sizeof text, "option op: the model has no function '%.300s'%s", spec,
             nearest_hint(&near));
    return surg_pass_usage(p, text);
  }
  return SURG_PASS_UNCHANGED;
}

/* ---- opsets ---------------------------------------------------------------------------------- */

/* Converts the model to its own opset version if a function to inline uses another one. */
static surg_pass_result align(inlining *in) {
  surg_graph *main = surg_model_graph(in->m);
  char text[INLINE_TEXT];
  const char *domain;
  for (size_t i = 0; i < surg_model_function_count(in->m); i++) {
    surg_function *f = surg_model_function(in->m, i);
    if (!in->wanted(in->user, f) || !inline_differs(f, main, text, &domain)) continue;
    if (*domain && strcmp(domain, "ai.onnx") != 0) continue; /* reported at the call */
    if (surg_model_infer(in->m) != SURG_OK) return SURG_PASS_FAILED;
    return surg_pass_move_opset(in->p, surg_model_opset(in->m, ""));
  }
  return SURG_PASS_UNCHANGED;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* Whether v is produced by a node between prev (NULL: the start of the graph) and n. */
static bool made_between(const surg_node *prev, const surg_value *v, const surg_node *n) {
  const surg_node *by = surg_value_producer(v, NULL);
  if (!by || surg_node_graph(by) != surg_node_graph(n)) return false;
  return (!prev || surg_node_before(prev, by)) && surg_node_before(by, n);
}

/* Replaces output i of the call by `by`. `by` gets the declared type if it has none, and *rename
 * is set if it can get the name, once the call is erased. */
static surg_status give(inlining *in, surg_node *n, const surg_node *prev, size_t i, surg_value *by,
                        surg_value **rename) {
  assert(by && n != prev);
  surg_value *old = surg_node_output(n, i);
  const surg_type *type = surg_value_has_info(old) ? surg_value_declared_type(old) : NULL;
  const bool fresh = made_between(prev, by, n) && !surg_value_is_output(by);
  if (fresh && !surg_value_is_output(old)) *rename = by;
  if (fresh && type && !surg_value_declared_type(by) && !surg_value_is_output(old)) {
    const surg_status s = surg_value_set_declared_type(by, type);
    if (s != SURG_OK) return s;
  }
  return give_uses(in->p, n, old, by);
}

static const char *copy_of(surg_pass_ctx *p, const char *s) {
  const size_t n = strlen(s) + 1;
  char *copy = surg_pass_alloc(p, n);
  return copy ? memcpy(copy, s, n) : NULL;
}

typedef struct result {
  surg_value *by, *rename;
  const char *name;
} result;

static surg_pass_result give_all(inlining *in, surg_node *n, const surg_node *prev, result *r,
                                 size_t count) {
  for (size_t i = 0; i < count; i++) {
    surg_value *old = surg_node_output(n, i);
    assert(!r[i].rename && !r[i].name);
    if (!old || surg_value_use_count(old, 1) == 0) continue;
    if (!r[i].by)
      return surg_pass_fail(in->p, n,
                            "cannot be inlined: an output of the function is an input that "
                            "is absent in this call");
    r[i].name = copy_of(in->p, surg_value_name(old));
    const surg_status s = r[i].name ? give(in, n, prev, i, r[i].by, &r[i].rename) : SURG_ENOMEM;
    if (s == SURG_EUNSUPPORTED)
      return surg_pass_fail(
          in->p, n,
          "cannot be inlined: its output must keep its name, and no Identity can be "
          "added here");
    if (s != SURG_OK) return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}

/* Replaces the call by the nodes of the body; *next is the first of them, to continue with. */
static surg_pass_result replace(inlining *in, surg_node *n, surg_function *f, surg_node **next) {
  assert(f && next);
  surg_graph *g = surg_node_graph(n);
  const size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg_value **args = surg_pass_alloc(in->p, (n_in + 1) * sizeof *args);
  surg_value **outs = surg_pass_alloc(in->p, (n_out + 1) * sizeof *outs);
  result *r = surg_pass_alloc(in->p, (n_out + 1) * sizeof *r);
  if (!args || !outs || !r || inline_imports(f, g) != SURG_OK) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n_in; i++) args[i] = surg_node_input(n, i);
  surg_node *prev = surg_node_prev(n);
  if (surg_graph_splice(g, n, surg_function_graph(f), args, n_in, n, outs, n_out) != SURG_OK)
    return SURG_PASS_FAILED;
  for (size_t i = 0; i < n_out; i++) r[i].by = outs[i];
  if (give_all(in, n, prev, r, n_out) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  *next = prev ? surg_node_next(prev) : surg_graph_first_node(g);
  if (*next == n) *next = surg_node_next(n);
  if (surg_node_erase(n) != SURG_OK) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n_out; i++)
    if (r[i].rename && surg_value_can_rename(r[i].rename, r[i].name) &&
        surg_value_rename(r[i].rename, r[i].name) != SURG_OK)
      return SURG_PASS_FAILED;
  in->changed = true;
  return SURG_PASS_CHANGED;
}

/* ---- functions of the model ------------------------------------------------------------------ */

static bool remember_domain(inlining *in, const char *domain) {
  for (size_t i = 0; i < in->n_domains; i++)
    if (strcmp(in->domains[i], domain) == 0) return true;
  if (in->n_domains == in->cap_domains) {
    const size_t cap = in->cap_domains ? 2 * in->cap_domains : 8;
    const char **more = surg_pass_alloc(in->p, cap * sizeof *more);
    if (!more) return false;
    if (in->n_domains) memcpy(more, in->domains, in->n_domains * sizeof *more);
    in->domains = more;
    in->cap_domains = cap;
  }
  assert(in->n_domains < in->cap_domains);
  in->domains[in->n_domains] = copy_of(in->p, domain);
  return in->domains[in->n_domains++] != NULL;
}

static bool may(inlining *in, const surg_node *n) {
  if (surg_pass_keeps_node(in->p, n)) {
    surg_pass_note(in->p, n, "left: it is protected");
    return false;
  }
  if (!surg_pass_allow(in->p)) in->stop = true;
  return !in->stop;
}

/* The value of an attribute of the function in a call; NULL: none. */
static const surg_attr *given(const surg_node *n, const surg_function *f, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  for (size_t i = 0; !a && i < surg_function_attr_count(f); i++)
    if (strcmp(surg_function_attr_name(f, i), name) == 0) a = surg_function_attr_default(f, i);
  return a;
}

/* Whether an operator accepts an attribute of the function in place of a reference to it. */
static bool attribute_fits(const surg_schema *s, const char *name, const surg_attr *value) {
  size_t k = 0;
  while (k < surg_schema_attr_count(s) && strcmp(surg_schema_attr_name(s, k), name) != 0) k++;
  if (k == surg_schema_attr_count(s)) return true;
  return value ? surg_attr_ref(value) || surg_attr_get_kind(value) == surg_schema_attr_kind(s, k)
               : !surg_schema_attr_required(s, k);
}

/* A node of the body that does not accept an attribute as the call gives it, or NULL. */
static const surg_node *refuses_attribute(const surg_node *n, const surg_function *f) {
  const surg_graph *body = surg_function_graph(f);
  for (surg_graph *g = NULL; (g = surg_graph_next_inner(body, g));)
    for (surg_node *r = surg_graph_first_node(g); r; r = surg_node_next(r)) {
      const surg_schema *s = surg_node_schema(r);
      for (size_t k = 0; s && k < surg_node_attr_count(r); k++) {
        const surg_attr *a = surg_node_attr_at(r, k);
        const char *ref = surg_attr_ref(a);
        const surg_attr *value = ref ? given(n, f, ref) : NULL;
        if (ref && !attribute_fits(s, surg_attr_name(a), value)) return r;
        if (ref && !value && surg_node_op(r) == SURG_OP_Constant) return r; /* one is required */
      }
    }
  return NULL;
}

/* A node of the body that requires an input which the call leaves out, or NULL: without the
 * function the model would be invalid. */
static const surg_node *requires_absent(const surg_node *n, const surg_function *f) {
  const surg_graph *body = surg_function_graph(f);
  for (size_t i = 0; i < surg_graph_input_count(body); i++) {
    if (i < surg_node_input_count(n) && surg_node_input(n, i)) continue;
    const surg_use *u = surg_value_first_use(surg_graph_input(body, i));
    for (; u; u = surg_use_next(u)) {
      const surg_node *reader = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
      const surg_schema *s = reader ? surg_node_schema(reader) : NULL;
      if (s && surg_use_index(u) < surg_schema_min_inputs(s)) return reader;
    }
  }
  return NULL;
}

static surg_pass_result inline_call(inlining *in, surg_node *n, surg_node **next) {
  surg_function *f = surg_node_function(n);
  assert(f);
  char text[INLINE_TEXT];
  const char *domain;
  const surg_node *reader = in->incomplete ? NULL : requires_absent(n, f);
  const surg_node *other = in->incomplete || reader ? NULL : refuses_attribute(n, f);
  if (reader || other) {
    snprintf(text, sizeof text, "left: %s, and %.100s in the body requires it",
             reader ? "an input is absent" : "an attribute is absent or of another kind",
             surg_node_op_type(reader ? reader : other));
    surg_pass_note(in->p, n, text);
    return SURG_PASS_UNCHANGED;
  }
  if (!may(in, n)) return SURG_PASS_UNCHANGED;
  if (inline_differs(f, surg_node_graph(n), text, &domain)) return surg_pass_fail(in->p, n, text);
  if (!remember_domain(in, surg_function_domain(f))) return SURG_PASS_FAILED;
  surg_pass_count(in->p, "calls", 1);
  return replace(in, n, f, next);
}

/* ---- operators of the standard --------------------------------------------------------------- */

/* Finds the function body of an operator version for an opset; *f is NULL if there is none. The
 * body belongs to a model that `in` owns. */
static surg_status body_of(inlining *in, const surg_schema *s, int64_t opset, surg_function **f) {
  assert(s && f);
  size_t i = 0;
  *f = NULL;
  while (i < in->n_bodies && (in->bodies[i].of != s || in->bodies[i].opset != opset)) i++;
  if (i == BODIES) return SURG_OK;
  if (i == in->n_bodies) {
    assert(in->n_bodies < BODIES); /* i is smaller */
    surg_model *model;
    const surg_status got = surg_schema_body(surg_pass_context(in->p), s, opset, &model);
    if (got != SURG_OK && got != SURG_ENOTFOUND) return got;
    in->bodies[i].of = s;
    in->bodies[i].opset = opset;
    in->bodies[i].model = model;
    in->n_bodies++;
  }
  if (in->bodies[i].model) *f = surg_model_function(in->bodies[i].model, 0);
  return SURG_OK;
}

/* Whether a model function has the name of an operator in the body and would be called instead. */
static bool hidden(const inlining *in, surg_function *f) {
  const surg_model *body = surg_graph_model(surg_function_graph(f));
  if (surg_model_function_count(in->m) == 0) return false;
  for (surg_graph *g = surg_model_next_graph(body, NULL); g; g = surg_model_next_graph(body, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (surg_model_find_function(in->m, surg_node_domain(n), surg_node_op_type(n), ""))
        return true;
  return false;
}

static surg_pass_result inline_operator(inlining *in, surg_node *n, surg_node **next) {
  const surg_graph *g = surg_node_graph(n);
  surg_function *f;
  char text[INLINE_TEXT];
  const char *domain, *why = NULL;
  if (body_of(in, surg_node_schema(n), surg_graph_opset(g, ""), &f) != SURG_OK)
    return SURG_PASS_FAILED;
  if (!f)
    why = "unchanged: the standard has no function body for it that is valid for all types";
  else if (inline_differs(f, g, text, &domain))
    why = "left: its body is of another opset than the model";
  else if (hidden(in, f))
    why = "left: a function of the model hides an operator of its body";
  if (why) {
    surg_pass_left(in->p, n, why);
    return SURG_PASS_UNCHANGED;
  }
  if (!surg_pass_allows(in->p, SURG_APPROX))
    return surg_pass_fail(in->p, n,
                          "not inlined: the class of a body is approx; it needs --allow approx");
  if (!may(in, n)) return SURG_PASS_UNCHANGED;
  surg_pass_count(in->p, "operators", 1);
  surg_pass_used(in->p, SURG_APPROX);
  return replace(in, n, f, next);
}

/* ---- all ------------------------------------------------------------------------------------- */

static surg_pass_result inline_graph(inlining *in, surg_graph *g) {
  for (surg_node *n = surg_graph_first_node(g), *next; n && !in->stop; n = next) {
    surg_pass_result r = SURG_PASS_UNCHANGED;
    surg_function *f = surg_node_function(n);
    next = surg_node_next(n);
    if (f && in->wanted(in->user, f))
      r = inline_call(in, n, &next);
    else if (in->wanted == named && surg_node_schema(n) &&
             domains_listed(in->p, "spec", surg_node_domain(n), surg_node_op_type(n)))
      r = inline_operator(in, n, &next);
    if (r == SURG_PASS_FAILED) return r;
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result clean_up(inlining *in) {
  prune pr = {.p = in->p, .m = in->m};
  assert(!in->stop);
  if (in->n_domains) prune_functions(&pr);
  for (size_t i = 0; i < in->n_domains && !pr.stop; i++) {
    pr.domain = in->domains[i];
    prune_imports(&pr);
  }
  return pr.failed ? SURG_PASS_FAILED : SURG_PASS_UNCHANGED;
}

/* Inlines in every graph. The subgraphs of inlined bodies are appended to the list of graphs, so
 * they are visited too. */
static surg_pass_result inline_all(inlining *in) {
  for (surg_graph *g = surg_model_next_graph(in->m, NULL); g && !in->stop;
       g = surg_model_next_graph(in->m, g)) {
    const surg_function *f = surg_graph_function(g);
    if (f && in->wanted(in->user, f)) continue; /* it will be removed */
    if (inline_graph(in, g) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  }
  return in->stop ? SURG_PASS_UNCHANGED : clean_up(in);
}

surg_pass_result inline_functions(surg_pass_ctx *p, inline_filter want, void *user) {
  inlining in = {.p = p, .m = surg_pass_model(p), .wanted = want, .user = user};
  if (inline_all(&in) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  return in.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static surg_pass_result run_once(surg_pass_ctx *p) {
  inline_once once;
  if (surg_pass_list_count(p, "op") || surg_pass_list_count(p, "spec"))
    return surg_pass_usage(p, "option once: cannot be given with op or spec");
  if (surg_model_function_count(surg_pass_model(p)) == 0) return SURG_PASS_UNCHANGED;
  if (!inline_once_read(&once, p)) return SURG_PASS_FAILED;
  return inline_functions(p, inline_once_wants, &once);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  inlining in = {.p = p,
                 .m = surg_pass_model(p),
                 .wanted = named,
                 .user = p,
                 .incomplete = surg_pass_bool(p, "incomplete")};
  if (surg_pass_bool(p, "once")) return run_once(p);
  if (check_names(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (size_t i = 0; i < surg_pass_list_count(p, "spec"); i++)
    domains_found_anywhere(p, surg_pass_list_at(p, "spec", i));
  const surg_pass_result aligned = align(&in);
  if (aligned == SURG_PASS_FAILED) return aligned;
  const surg_pass_result r = inline_all(&in);
  for (size_t i = 0; i < in.n_bodies; i++) surg_model_free(in.bodies[i].model);
  if (r == SURG_PASS_FAILED) return r;
  return in.changed || aligned == SURG_PASS_CHANGED ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "op", NULL, "functions to inline: local.f+local.g (default: all)"),
    SURG_OPTION(BOOL, "once", "false", "only functions with one call or one node"),
    SURG_OPTION(BOOL, "incomplete", "false",
                "also calls that lack what the body requires"),
    SURG_OPTION(LIST, "spec", NULL, "operators to replace by their standard function"),
};

const surg_pass surg__pass_inline = {
    SURG_PASS_HEAD(MODEL, "inline", "replace calls of model functions by their bodies"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
