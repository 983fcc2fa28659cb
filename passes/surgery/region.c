/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces what lies between values: nodes given as text, or one node of an operator or function,
 * compute the values of `to` instead; nodes that only the old ones needed are removed.
 * The values keep their names and consumers.
 *
 *   before: (x) => (y) { a = Abs (x)   b = Sqrt (a)   y = Neg (b) }
 *   after:  (x) => (y) { b = acme.Root (x)   y = Neg (b) }     region{from=x,to=b,op=acme.Root}
 *
 * Needs sorted, types. Keeps sorted. Lossy: the model computes something else. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../cleanup/prune.h"
#include "../util/attrs.h"
#include "../util/declared.h"
#include "../util/domains.h"
#include "../util/fragment.h"
#include "../util/select.h"
#include "../util/table.h"

#define TEXT 900

typedef struct region {
  surg_pass_ctx *p;
  surg_graph *g;
  surg_value **from, **to;
  surg_value **by; /* by[i] replaces to[i] */
  const surg_type **was; /* inferred type of to[i] */
  table unused; /* before the edit */
  size_t n_from, n_to;
} region;

static bool listed(surg_value *const *list, size_t n, const surg_value *v) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == v) return true;
  return false;
}

static bool refuse(const region *r, const char *text) {
  surg_pass_usage(r->p, text);
  return false;
}

/* All values of `to` are computed by nodes of one graph. */
static bool find_graph(region *r) {
  char text[TEXT];
  for (size_t i = 0; i < r->n_to; i++) {
    const surg_value *v = r->to[i];
    snprintf(text, sizeof text, "to: no node computes '%.300s'", surg_value_name(v));
    if (!surg_value_producer(v, NULL)) return refuse(r, text);
    if (r->g && surg_value_graph(v) != r->g)
      return refuse(r, "to: the values are of several graphs");
    r->g = surg_value_graph(v);
    if (listed(r->to, i, v)) return refuse(r, "to: a value is named twice");
  }
  return true;
}

/* ---- nodes as text --------------------------------------------------------------------------- */

static bool is_settled(const surg_value *v) {
  return surg_value_is_initializer(v) || surg_value_constant(v);
}

/* With `from`, the text may read those values and constants only. */
static bool check_reads(const region *r, const surg_fragment *f) {
  const surg_value *v;
  char text[TEXT];
  for (size_t i = 0; (v = surg_fragment_read(f, i)) != NULL; i++) {
    snprintf(text, sizeof text, "text: it reads '%.300s', which from= does not list",
             surg_value_name(v));
    if (r->n_from && !is_settled(v) && !listed(r->from, r->n_from, v)) return refuse(r, text);
  }
  return true;
}

/* The value of the text that replaces to[i]: the one of its name, or the last one of all. */
static bool pair_names(region *r, const surg_fragment *f) {
  const size_t n = fragment_names(f);
  char text[TEXT];
  for (size_t i = 0; i < r->n_to; i++) {
    const char *name = surg_value_name(r->to[i]);
    for (size_t k = 0; k < n; k++)
      if (strcmp(surg_fragment_name(f, k), name) == 0) r->by[i] = surg_fragment_made(f, k);
    if (!r->by[i] && r->n_to == 1 && n) r->by[i] = surg_fragment_made(f, n - 1);
    snprintf(text, sizeof text, "text: it does not define '%.300s'", name);
    if (!r->by[i]) return refuse(r, text);
  }
  return true;
}

static bool add_text(region *r, const char *text) {
  surg_fragment *f = fragment_read(r->p, r->g, "text", text);
  bool ok = f && check_reads(r, f);
  ok = ok && surg_fragment_insert(f, fragment_place(f, r->g, NULL)) == SURG_OK &&
       fragment_import(r->p, f, r->g, surg_pass_int(r->p, "version")) && pair_names(r, f);
  surg_fragment_free(f);
  return ok;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* The node after the last producer of a value of `from`. */
static surg_node *place(const region *r) {
  surg_node *last = NULL;
  for (size_t i = 0; i < r->n_from; i++) {
    surg_node *n = surg_value_producer(r->from[i], NULL);
    if (n && surg_node_graph(n) == r->g && (!last || surg_node_before(last, n))) last = n;
  }
  return last ? surg_node_next(last) : surg_graph_first_node(r->g);
}

static bool add_node(region *r, const char *spec) {
  const char *op, *name = surg_pass_string(r->p, "name");
  const char *domain = domains_split(r->p, spec, &op);
  char text[TEXT];
  if (!domain || domains_import(r->g, domain, surg_pass_int(r->p, "version")) != SURG_OK)
    return false;
  surg_node *n = surg_graph_add_node(r->g, place(r), domain, op, r->n_to);
  if (!n || (name && *name && surg_node_set_name(n, name) != SURG_OK)) return false;
  for (size_t i = 0; i < r->n_from; i++)
    if (surg_node_set_input(n, i, r->from[i]) != SURG_OK) return false;
  for (size_t i = 0; i < r->n_to; i++) r->by[i] = surg_node_output(n, i);
  if (attrs_set(r->p, n) == SURG_PASS_FAILED) return false;
  if (domains_takes(n, text, sizeof text)) return true;
  surg_pass_fail(r->p, n, text);
  return false;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Gives the consumers and the name of each value of `to` to its replacement. */
static bool replace(region *r) {
  char text[TEXT];
  for (size_t i = 0; i < r->n_to; i++) {
    surg_value *old = r->to[i];
    const char *name = surg_value_name(old);
    const surg_replace how = surg_value_can_replace(old, r->by[i]);
    snprintf(text, sizeof text, "to: '%.300s' cannot be replaced%s", name,
             surg_value_is_pinned(old) ? ": training refers to it by name" : "");
    if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL) return refuse(r, text);
    if (surg_value_replace(old, r->by[i]) != SURG_OK) return false;
    if (how == SURG_REPLACE_BY_LABEL) continue;
    const char *fresh = surg_graph_fresh_name(r->g, name);
    char *kept = surg_pass_alloc(r->p, strlen(name) + 1);
    if (!fresh || !kept) return false;
    strcpy(kept, name);
    if (surg_value_rename(old, fresh) != SURG_OK || surg_value_rename(r->by[i], kept) != SURG_OK)
      return false;
  }
  return true;
}

/* Lists what nothing reads before the edit: it stays, as it is none of the region. */
static bool note_unused(region *r) {
  surg_model *m = surg_pass_model(r->p);
  size_t values = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g)) != NULL;)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;) values++;
  if (!table_make(&r->unused, r->p, values + 1)) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g)) != NULL;)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;)
      if (surg_value_use_count(v, 1) == 0 && !table_put(&r->unused, v)) return false;
  return true;
}

static bool unused_before(const prune *pr, const surg_value *v) {
  return table_has(&((const region *)pr->user)->unused, v);
}

/* Removes the old producers, and upstream of them what is unused now. */
static bool sweep(const region *r) {
  prune pr = {.p = r->p,
              .m = surg_pass_model(r->p),
              .plain = true,
              .deep = true,
              .wanted = unused_before,
              .user = r};
  prune_all(&pr, false);
  return !pr.failed;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  region r = {.p = p};
  const char *text = surg_pass_string(p, "text"), *op = surg_pass_string(p, "op");
  if (!surg_pass_list_count(p, "to")) return surg_pass_usage(p, "needs to=");
  if (!text == !op) return surg_pass_usage(p, "needs text= or op=");
  r.to = select_value_list(p, "to", &r.n_to);
  r.from = r.to ? select_value_list(p, "from", &r.n_from) : NULL;
  r.by = surg_pass_alloc(p, (r.n_to + 1) * sizeof *r.by);
  r.was = surg_pass_alloc(p, (r.n_to + 1) * sizeof *r.was);
  if (!r.from || !r.by || !r.was || !find_graph(&r)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < r.n_to; i++) r.was[i] = surg_value_type(r.to[i]);
  if (!note_unused(&r)) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (!(text ? add_text(&r, text) : add_node(&r, op)) || !replace(&r) || !sweep(&r))
    return SURG_PASS_FAILED;
  if (!fragment_sort(r.g) || surg_model_infer(surg_pass_model(p)) != SURG_OK)
    return SURG_PASS_FAILED;
  for (size_t i = 0; i < r.n_to; i++)
    if (!declared_follow(p, r.by[i], r.was[i])) return SURG_PASS_FAILED;
  return declared_fit_outputs(p) ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "from", NULL, "values that the new nodes read (addresses)"),
    SURG_OPTION(LIST, "to", NULL, "values that the new nodes compute (addresses)"),
    SURG_OPTION(STRING, "text", NULL, "nodes that define them: 'y = Relu (x)'"),
    SURG_OPTION(STRING, "op", NULL,
                "or one operator, from= to to="),
    SURG_OPTION(STRING, "name", NULL, "name of the node of op="),
    SURG_OPTION(INT, "version", "1", "version of the domain if it is not imported"),
    SURG_OPTION(PAIRS, "attribute", NULL, "attribute of the node of op=: axis=1 or axes=0+1"),
};

const surg_pass surg__pass_region =
    SURG_PASS_EDIT("region", "replace the nodes between values by others", options, run);
