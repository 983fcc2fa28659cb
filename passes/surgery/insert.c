/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts nodes between a value and its consumers, all or those named: one of an operator, or nodes
 * given as text with their constants, insert{after=x,text="y = Div (x, 255.0)"}. The node reads the
 * value as its first input and the values of `with` as further inputs. If the value is an output of
 * the model, the result of the node gets its name.
 *
 *   before: (x) => (y) { a = Conv (x, w)   y = Add (a, b) }
 *   after:  (x) => (y) { a = Conv (x, w)   c = Clip (a)   y = Add (c, b) }     insert{op=Clip,at=a}
 *
 * Needs sorted. Keeps sorted. Lossy: the model computes something else; exact where it is an
 * Identity. */
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <string.h>

#include "../util/attrs.h"
#include "../util/declared.h"
#include "../util/domains.h"
#include "../util/fragment.h"
#include "../util/select.h"

#define TEXT 800

/* ---- the new node ---------------------------------------------------------------------------- */

/* A further input: a value that the graph of the new node sees. A name is looked up from there. */
static surg_value *find_with(surg_pass_ctx *p, const surg_graph *g, const char *name) {
  surg_value *v = surg_graph_lookup_value(g, name);
  char text[TEXT];
  if (v) return v;
  v = select_value(p, "with", name);
  for (const surg_graph *h = g; h && v; h = surg_graph_parent(h))
    if (surg_value_graph(v) == h) return v;
  snprintf(text, sizeof text, "with: '%.200s' is a value of another graph", name);
  if (v) surg_pass_usage(p, text);
  return NULL;
}

/* Makes the consumers named by `to` read the output of the new node. */
static surg_pass_result give_named(surg_pass_ctx *p, surg_node *n, surg_value *v, surg_node **to,
                                   size_t count) {
  for (size_t i = 0; i < count; i++) {
    char text[TEXT];
    bool reads = false;
    for (size_t k = 0; k < surg_node_input_count(to[i]); k++) {
      if (surg_node_input(to[i], k) != v) continue;
      if (surg_node_set_input(to[i], k, surg_node_output(n, 0)) != SURG_OK) return SURG_PASS_FAILED;
      reads = true;
    }
    if (reads) continue;
    snprintf(text, sizeof text, "to: node '%.200s' does not read the value", surg_node_name(to[i]));
    return surg_pass_usage(p, text);
  }
  return SURG_PASS_CHANGED;
}

/* Replaces all uses of v by the output of the new node, which must not read v yet. */
static surg_pass_result give_all(surg_pass_ctx *p, surg_node *n, surg_value *v) {
  surg_value *out = surg_node_output(n, 0);
  const surg_replace how = surg_value_can_replace(v, out);
  if (surg_value_is_pinned(v))
    return surg_pass_fail(p, NULL, "at: training refers to the value by name");
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL)
    return surg_pass_fail(p, NULL,
                          "at: the value is an input and an output of the model at once: "
                          "nothing fits in between");
  if (surg_value_use_count(v, 1) == 0) return surg_pass_usage(p, "at: nothing reads the value");
  return surg_value_replace(v, out) == SURG_OK ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static surg_pass_result add_inputs(surg_pass_ctx *p, surg_node *n, surg_value *v) {
  if (surg_node_set_input(n, 0, v) != SURG_OK) return SURG_PASS_FAILED;
  for (size_t i = 0; i < surg_pass_list_count(p, "with"); i++) {
    const char *name = surg_pass_list_at(p, "with", i);
    surg_value *more = *name ? find_with(p, surg_node_graph(n), name) : NULL;
    if (*name && (!more || surg_node_set_input(n, i + 1, more) != SURG_OK)) return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}

/* The node before which the new one is inserted: after the producers of the value and of all
 * values of `with`, or first in the graph. */
static surg_node *place(surg_pass_ctx *p, const surg_value *v) {
  surg_graph *g = surg_value_graph(v);
  surg_node *after = surg_value_producer(v, NULL);
  for (size_t i = 0; i < surg_pass_list_count(p, "with"); i++) {
    const surg_value *w = surg_graph_find_value(g, surg_pass_list_at(p, "with", i));
    surg_node *by = w ? surg_value_producer(w, NULL) : NULL;
    if (by && (!after || surg_node_before(after, by))) after = by;
  }
  return after ? surg_node_next(after) : surg_graph_first_node(g);
}

/* The value after which to insert: `at`, or its other name `after`. */
static surg_value *find_at(surg_pass_ctx *p) {
  const char *at = surg_pass_string(p, "at"), *after = surg_pass_string(p, "after");
  if (at && after) surg_pass_usage(p, "at and after are the same option");
  return at && after ? NULL : select_value(p, after ? "after" : "at", after ? after : at);
}

/* Checks that new names are free: an edit names what it makes. */
static bool names_free(surg_pass_ctx *p, const surg_fragment *f, const surg_graph *g) {
  const char *name;
  for (size_t i = 0; (name = surg_fragment_name(f, i)) != NULL; i++) {
    char text[TEXT];
    snprintf(text, sizeof text, "text: there is a value '%.200s' already", name);
    if (surg_graph_lookup_value(g, name)) return surg_pass_usage(p, text) != SURG_PASS_FAILED;
  }
  return true;
}

/* Sorts the graph: an input of the new node may be produced after a consumer, or depend on the new
 * node; the latter is a cycle, which toposort reports. Outputs that change their type declare the
 * new one. */
static bool finish(surg_pass_ctx *p, surg_graph *g, surg_value *made, const surg_type *before) {
  return fragment_sort(g) &&
         surg_model_infer(surg_pass_model(p)) == SURG_OK && declared_follow(p, made, before) &&
         declared_fit_outputs(p);
}

/* Inserts nodes given as text. All consumers, or those of `to`, then read the last value that they
 * define. A placeholder takes over the consumers first, as the new nodes read the value, too. */
static surg_pass_result insert_text(surg_pass_ctx *p, surg_value *v, surg_node **to, size_t n_to) {
  surg_graph *g = surg_value_graph(v);
  surg_fragment *f = fragment_read(p, g, "text", surg_pass_string(p, "text"));
  const surg_type *before_type = surg_value_type(v);
  surg_pass_result result = SURG_PASS_FAILED;
  const size_t names = f ? fragment_names(f) : 0;
  if (f && !names) surg_pass_usage(p, "text: it defines no value");
  if (names && names_free(p, f, g)) {
    surg_node *before = fragment_place(f, g, v);
    surg_node *n = surg_graph_add_node(g, before, "", "Identity", 1);
    result = !n ? SURG_PASS_FAILED : n_to ? give_named(p, n, v, to, n_to) : give_all(p, n, v);
    if (result != SURG_PASS_FAILED && surg_fragment_insert(f, n) != SURG_OK)
      result = SURG_PASS_FAILED;
    surg_value *made = surg_fragment_made(f, names - 1);
    if (result != SURG_PASS_FAILED &&
        (surg_value_replace(surg_node_output(n, 0), made) != SURG_OK ||
         surg_node_erase(n) != SURG_OK || !fragment_import(p, f, g, surg_pass_int(p, "version")) ||
         !finish(p, g, made, before_type)))
      result = SURG_PASS_FAILED;
  }
  surg_fragment_free(f);
  return result;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  char text[TEXT];
  const char *spec = surg_pass_string(p, "op"), *nodes = surg_pass_string(p, "text"), *op;
  const char *name = surg_pass_string(p, "name");
  if ((!surg_pass_string(p, "at") && !surg_pass_string(p, "after")) || !spec == !nodes)
    return surg_pass_usage(p, "needs at=, and op= or text=");
  const char *domain = nodes ? "" : domains_split(p, spec, &op);
  surg_value *v = domain ? find_at(p) : NULL;
  size_t n_to;
  surg_node **to = v ? select_node_list(p, "to", &n_to) : NULL; /* places: before the new node */
  if (!to) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (nodes) return insert_text(p, v, to, n_to);
  surg_graph *g = surg_value_graph(v);
  const surg_type *before = surg_value_type(v);
  if (domains_import(g, domain, surg_pass_int(p, "version")) != SURG_OK) return SURG_PASS_FAILED;
  surg_node *n = surg_graph_add_node(g, place(p, v), domain, op, 1);
  if (!n || (name && *name && surg_node_set_name(n, name) != SURG_OK)) return SURG_PASS_FAILED;
  if ((n_to ? give_named(p, n, v, to, n_to) : give_all(p, n, v)) == SURG_PASS_FAILED ||
      attrs_set(p, n) == SURG_PASS_FAILED || add_inputs(p, n, v) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  if (!domains_takes(n, text, sizeof text)) return surg_pass_fail(p, n, text);
  if (surg_node_op(n) == SURG_OP_Identity) surg_pass_used(p, SURG_EXACT);
  return finish(p, g, surg_node_output(n, 0), before) ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "op", NULL, "operator: Clip or com.acme.Foo"),
    SURG_OPTION(STRING, "text", NULL, "or nodes: 'y = Div (x, 255.0)'"),
    SURG_OPTION(STRING, "at", NULL, "value to read (an address)"),
    SURG_OPTION(STRING, "after", NULL, "the same as at"),
    SURG_OPTION(LIST, "to", NULL, "consumers that read the result (default: all)"),
    SURG_OPTION(LIST, "with", NULL, "further inputs, after the first"),
    SURG_OPTION(STRING, "name", NULL, "name of the new node"),
    SURG_OPTION(INT, "version", "1", "version of the domain if it is not imported"),
    SURG_OPTION(PAIRS, "attribute", NULL, "attribute of the new node: axis=1 or axes=0+1"),
};

const surg_pass surg__pass_insert =
    SURG_PASS_EDIT("insert", "insert nodes between a value and its consumers", options, run);
