/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts a new node between a value and its consumers, all or those named. The node reads the
 * value as its first input and the values of `with` as further inputs. If the value is an output of
 * the model, the result of the node gets its name.
 *
 *   before: (x) => (y) { a = Conv (x, w)   y = Add (a, b) }
 *   after:  (x) => (y) { a = Conv (x, w)   c = Clip (a)   y = Add (c, b) }     insert{op=Clip,at=a}
 *
 * Needs sorted. Keeps sorted. Lossy: the model computes something else; exact where it is an
 * Identity. */
#include <errno.h>
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/domains.h"
#include "../util/select.h"

#define TEXT 800
#define ITEMS 1000 /* most elements of a list attribute */

/* ---- attributes ------------------------------------------------------------------------------ */

static bool integer(const char *s, int64_t *out) {
  char *end;
  errno = 0;
  const long long v = strtoll(s, &end, 10);
  *out = v;
  return *s && !*end && !errno && *s != ' ';
}

static bool real(const char *s, float *out) {
  char *end;
  *out = strtof(s, &end);
  return *s && !*end && *s != ' ';
}

/* The attribute kind that the text suggests, for attributes without a schema. */
static surg_attr_kind look(surg_pass_ctx *p, size_t i, size_t n) {
  bool ints = true, reals = true;
  for (size_t k = 0; k < n; k++) {
    int64_t a;
    float b;
    ints = ints && integer(surg_pass_pair_value(p, i, k), &a);
    reals = reals && real(surg_pass_pair_value(p, i, k), &b);
  }
  if (ints) return n > 1 ? SURG_ATTR_INTS : SURG_ATTR_INT;
  if (reals) return n > 1 ? SURG_ATTR_FLOATS : SURG_ATTR_FLOAT;
  return n > 1 ? SURG_ATTR_STRINGS : SURG_ATTR_STRING;
}

static surg_attr_kind kind_of(surg_pass_ctx *p, const surg_node *n, size_t i, size_t count) {
  const surg_schema *s = surg_node_schema(n);
  const char *name = surg_pass_pair_name(p, i);
  for (size_t k = 0; s && k < surg_schema_attr_count(s); k++)
    if (strcmp(surg_schema_attr_name(s, k), name) == 0) return surg_schema_attr_kind(s, k);
  return look(p, i, count);
}

typedef struct list {
  int64_t ints[ITEMS];
  float floats[ITEMS];
  surg_str strings[ITEMS];
} list;

static bool read_list(surg_pass_ctx *p, size_t i, size_t n, surg_attr_kind kind, list *out) {
  for (size_t k = 0; k < n; k++) {
    const char *s = surg_pass_pair_value(p, i, k);
    out->strings[k] = (surg_str){s, strlen(s)};
    if ((kind == SURG_ATTR_INT || kind == SURG_ATTR_INTS) && !integer(s, &out->ints[k]))
      return false;
    if ((kind == SURG_ATTR_FLOAT || kind == SURG_ATTR_FLOATS) && !real(s, &out->floats[k]))
      return false;
  }
  return kind >= SURG_ATTR_FLOATS || n == 1;
}

static surg_status set_attr(surg_node *n, const char *name, surg_attr_kind kind, const list *l,
                            size_t count) {
  switch (kind) {
    case SURG_ATTR_INT:
      return surg_node_set_int(n, name, l->ints[0]);
    case SURG_ATTR_INTS:
      return surg_node_set_ints(n, name, l->ints, count);
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(n, name, l->floats[0]);
    case SURG_ATTR_FLOATS:
      return surg_node_set_floats(n, name, l->floats, count);
    case SURG_ATTR_STRING:
      return surg_node_set_string(n, name, l->strings[0].p);
    case SURG_ATTR_STRINGS:
      return surg_node_set_strings(n, name, l->strings, count);
    default:
      return SURG_EUNSUPPORTED;
  }
}

static surg_pass_result set_attrs(surg_pass_ctx *p, surg_node *n) {
  list *l = surg_pass_alloc(p, sizeof *l);
  for (size_t i = 0; i < surg_pass_pair_count(p); i++) {
    const char *name = surg_pass_pair_name(p, i);
    char text[TEXT];
    size_t count = 0;
    while (count < ITEMS && surg_pass_pair_value(p, i, count)) count++;
    if (!l) return SURG_PASS_FAILED;
    const surg_attr_kind kind = kind_of(p, n, i, count);
    snprintf(text, sizeof text, "attribute '%.200s' cannot be set to this", name);
    if (surg_pass_pair_value(p, i, count) || !read_list(p, i, count, kind, l))
      return surg_pass_usage(p, text);
    const surg_status s = set_attr(n, name, kind, l, count);
    if (s == SURG_EUNSUPPORTED) return surg_pass_usage(p, text);
    if (s != SURG_OK) return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}

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

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  char text[TEXT];
  const char *spec = surg_pass_string(p, "op"), *at = surg_pass_string(p, "at"), *op;
  const char *name = surg_pass_string(p, "name");
  if (!spec || !*spec || !at || !*at) return surg_pass_usage(p, "needs op= and at=");
  const char *domain = domains_split(p, spec, &op);
  surg_value *v = domain ? select_value(p, "at", at) : NULL;
  size_t n_to;
  surg_node **to = v ? select_node_list(p, "to", &n_to) : NULL; /* places: before the new node */
  if (!to) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  surg_graph *g = surg_value_graph(v);
  if (domains_import(g, domain, surg_pass_int(p, "version")) != SURG_OK) return SURG_PASS_FAILED;
  surg_node *n = surg_graph_add_node(g, place(p, v), domain, op, 1);
  if (!n || (name && *name && surg_node_set_name(n, name) != SURG_OK)) return SURG_PASS_FAILED;
  if ((n_to ? give_named(p, n, v, to, n_to) : give_all(p, n, v)) == SURG_PASS_FAILED ||
      set_attrs(p, n) == SURG_PASS_FAILED || add_inputs(p, n, v) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  if (!domains_takes(n, text, sizeof text)) return surg_pass_fail(p, n, text);
  if (surg_node_op(n) == SURG_OP_Identity) surg_pass_used(p, SURG_EXACT);
  /* An input of `with` may be produced after a consumer, or depend on the new node; the latter
   * is a cycle, which toposort reports. */
  return surg_graph_toposort(g, NULL) == SURG_OK ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "op", NULL, "operator: Clip or com.acme.Foo"),
    SURG_OPTION(STRING, "at", NULL, "value to read"),
    SURG_OPTION(LIST, "to", NULL, "consumers that read the result (default: all)"),
    SURG_OPTION(LIST, "with", NULL, "further inputs, after the first"),
    SURG_OPTION(STRING, "name", NULL, "name of the new node"),
    SURG_OPTION(INT, "version", "1", "version of the domain if it is not imported"),
    SURG_OPTION(PAIRS, "attribute", NULL, "attribute of the new node: axis=1 or axes=0+1"),
};

const surg_pass surg__pass_insert = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "insert",
    .help = "insert a node between a value and its consumers",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .run = run,
    .edits = true,
};
