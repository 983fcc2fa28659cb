/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves an address: a name, a place, op=TYPE, /regex/ or a pattern. Names come first, so that
 * every object with a name can be addressed, whatever its name looks like. */
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "edit/edit.h"

#define LISTED 4u /* objects that a reason lists */

surg_status surg__search_why(surg__search *s, surg_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (s->why && s->room) vsnprintf(s->why, s->room, fmt, args);
  va_end(args);
  return status;
}

void surg__search_free(surg__search *s) {
  surg__vec_free(s->ctx, &s->nodes);
  surg__vec_free(s->ctx, &s->values);
}

static surg_status no_memory(surg__search *s) {
  return surg__search_why(s, SURG_ENOMEM, "out of memory");
}

static surg_status add_node(surg__search *s, surg_node *n) {
  return surg__vec_push(s->ctx, &s->nodes, n) ? SURG_OK : no_memory(s);
}

static surg_status add_value(surg__search *s, surg_value *v) {
  return surg__vec_push(s->ctx, &s->values, v) ? SURG_OK : no_memory(s);
}

static surg_status add_outputs(surg__search *s, const surg_node *n) {
  surg_status status = SURG_OK;
  for (size_t i = 0; status == SURG_OK && i < surg_node_output_count(n); i++)
    if (surg_node_output(n, i)) status = add_value(s, surg_node_output(n, i));
  return status;
}

/* A node that was found: itself, or its outputs. */
static surg_status take_node(surg__search *s, surg_node *n) {
  if (!s->want_values) return add_node(s, n);
  const surg_status status = add_outputs(s, n);
  if (status != SURG_OK || s->values.count) return status;
  return surg__search_why(s, SURG_ENOTFOUND, "node %s has no outputs", surg__q(s->ctx, s->text));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The place of a value, as an address. */
static void put_place(surg__buf *b, const surg_value *v) {
  const surg_graph *g = surg_value_graph(v);
  size_t at;
  const surg_node *n = surg_value_producer(v, &at);
  if (n) {
    surg__buf_printf(b, "%s.output[%zu]", surg__locate_node(n), at);
    return;
  }
  const char *kind = surg_value_is_initializer(v) ? "initializer" : "input";
  surg__buf_printf(b, "an %s of %s", kind, surg__locate_graph(g));
}

/* Several nodes, or values, have the name. */
static surg_status ambiguous(surg__search *s, bool values, size_t count) {
  surg__buf b;
  surg__buf_init(&b, s->ctx);
  for (size_t i = 0; i < count && i < LISTED; i++) {
    if (i) surg__buf_puts(&b, ", ");
    if (values)
      put_place(&b, s->values.items[i]);
    else
      surg__buf_puts(&b, surg__locate_node(s->nodes.items[i]));
  }
  if (count > LISTED) surg__buf_puts(&b, ", ...");
  const surg_status status =
      surg__search_why(s, SURG_EUSAGE, "%zu %s are named %s (%s): select one by its place", count,
                       values ? "values" : "nodes", surg__q(s->ctx, s->text), b.failed ? "" : b.p);
  surg__buf_free(&b);
  return status;
}

/* Values of this exact name: the one of the main graph, else all others. */
static surg_status values_named(surg__search *s) {
  surg_value *v = surg_graph_find_value(surg_model_graph(s->m), s->text);
  if (v) return add_value(s, v);
  surg_status status = SURG_OK;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g && status == SURG_OK;
       g = surg_model_next_graph(s->m, g))
    if ((v = surg_graph_find_value(g, s->text)) != NULL) status = add_value(s, v);
  return status;
}

static surg_status nodes_named(surg__search *s) {
  surg_status status = SURG_OK;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (surg_node *n = surg_graph_find_node(g, s->text); n && status == SURG_OK;
         n = surg_node_next_named(n))
      status = add_node(s, n);
  return status;
}

/* The result of a name. SURG_ENOTFOUND, without a reason: nothing has it. */
static surg_status by_name(surg__search *s) {
  surg_status status = s->want_values ? values_named(s) : nodes_named(s);
  const size_t found = s->want_values ? s->values.count : s->nodes.count;
  if (status != SURG_OK || found == 1) return status;
  if (found > 1) return ambiguous(s, s->want_values, found);
  status = s->want_values ? nodes_named(s) : values_named(s);
  const size_t other = s->want_values ? s->nodes.count : s->values.count;
  if (status != SURG_OK) return status;
  if (other > 1) return ambiguous(s, !s->want_values, other);
  if (other == 0) return SURG_ENOTFOUND;
  if (s->want_values) return take_node(s, s->nodes.items[0]);
  surg_value *v = s->values.items[0];
  surg_node *n = surg_value_producer(v, NULL);
  if (n) return add_node(s, n);
  return surg__search_why(s, SURG_ENOTFOUND, "%s is an %s, which no node computes",
                          surg__q(s->ctx, s->text),
                          surg_value_is_input(v) ? "input" : "initializer");
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Splits `PREFIX[NUMBER]` at the end of the text; false: it does not end so. */
static bool split_index(const char *text, size_t n, size_t *prefix, size_t *index) {
  size_t at = n, value = 0, scale = 1;
  if (n < 3 || text[--at] != ']') return false;
  const size_t end = at;
  while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') {
    if (end - at >= 9) return false; /* no such place */
    value += scale * (size_t)(text[--at] - '0');
    scale *= 10;
  }
  if (at == end || at == 0 || text[at - 1] != '[') return false;
  *prefix = at - 1;
  *index = value;
  return true;
}

static bool ends_with(const char *text, size_t *n, const char *word) {
  const size_t k = strlen(word);
  if (*n <= k || strncmp(text + *n - k, word, k) != 0) return false;
  *n -= k;
  return true;
}

/* The subgraph `NODE.attribute` or `NODE.attribute[k]`. */
static surg_graph *subgraph_at(surg_model *m, char *text) {
  size_t n = strlen(text), k = 0, stem;
  if (split_index(text, n, &stem, &k)) text[n = stem] = 0;
  char *dot = strrchr(text, '.');
  if (!dot) return NULL;
  *dot = 0;
  size_t count;
  const surg_node *node = surg_model_find_node(m, text, &count);
  const surg_attr *a = count == 1 ? surg_node_attr(node, dot + 1) : NULL;
  return surg_attr_graph(a, k);
}

static surg_graph *graph_at(surg_model *m, char *text) {
  size_t prefix, index;
  if (strcmp(text, "graph") == 0) return surg_model_graph(m);
  if (split_index(text, strlen(text), &prefix, &index) && prefix == strlen("function") &&
      strncmp(text, "function", prefix) == 0)
    return surg_function_graph(surg_model_function(m, index));
  return subgraph_at(m, text);
}

/* The value at `OWNER.output[k]` or `OWNER.input[k]`, where the owner is a node or a graph. */
static surg_value *value_at(surg_model *m, const char *text, char *copy) {
  size_t n = strlen(text), prefix, k, count = 0;
  copy[0] = 0;
  if (!split_index(text, n, &prefix, &k)) return NULL;
  const bool output = ends_with(text, &prefix, ".output");
  if (!output && !ends_with(text, &prefix, ".input")) return NULL;
  memcpy(copy, text, prefix);
  copy[prefix] = 0;
  const surg_node *node = surg_model_find_node(m, copy, &count);
  if (count > 1) return NULL;
  if (node) return output ? surg_node_output(node, k) : surg_node_input(node, k);
  const surg_graph *g = graph_at(m, copy);
  return output ? surg_graph_output(g, k) : surg_graph_input(g, k);
}

/* Whether the text is spelled like a place. */
static bool like_place(const char *text) {
  return strncmp(text, "graph.", 6) == 0 || strncmp(text, "function[", 9) == 0;
}

/* SURG_EUSAGE if several nodes have the name before `.output[k]`. */
static surg_status owners(const surg__search *s, const char *name) {
  surg__search of = {.ctx = s->ctx, .m = s->m, .text = name, .why = s->why, .room = s->room};
  surg_status status = nodes_named(&of);
  if (status == SURG_OK && of.nodes.count > 1) status = ambiguous(&of, false, of.nodes.count);
  surg__search_free(&of);
  return status;
}

/* What there is at the first part of a place that does not exist: `; graph.node[3] has the
 * subgraphs then_branch, else_branch`. `text` is that part, `rest` what follows its dot. */
static void put_owner(surg__buf *b, const surg__search *s, char *text, const char *rest) {
  size_t count = 0, n = 0;
  const surg_node *node = surg_model_find_node(s->m, text, &count);
  const bool input = strncmp(rest, "input", 5) == 0, output = strncmp(rest, "output", 6) == 0;
  if (node && count == 1) {
    surg__buf_printf(b, "; %s has ", surg__locate_node(node));
    if (input || output) {
      n = input ? surg_node_input_count(node) : surg_node_output_count(node);
      surg__buf_printf(b, "%zu %s%s", n, input ? "input" : "output", n == 1 ? "" : "s");
      return;
    }
    const surg_graph *sub;
    for (size_t k = 0; (sub = surg_node_subgraph(node, k)) != NULL; k++)
      surg__buf_printf(b, "%s%s", k ? ", " : "the subgraphs ", surg_graph_parent_attr(sub));
    if (!surg_node_subgraph(node, 0)) surg__buf_puts(b, "inputs and outputs, such as .output[0]");
    return;
  }
  char *copy = surg__strdup(s->ctx, text);
  const surg_graph *g = copy ? graph_at(s->m, copy) : NULL;
  surg__free(s->ctx, copy);
  if (!g) return;
  n = input    ? surg_graph_input_count(g)
      : output ? surg_graph_output_count(g)
               : surg_graph_node_count(g);
  surg__buf_printf(b, "; %s has %zu %s%s",
                   g == surg_model_graph(s->m) ? "the main graph" : surg__locate_graph(g), n,
                   input    ? "input"
                   : output ? "output"
                            : "node",
                   n == 1 ? "" : "s");
}

/* No object is at the place: reports the longest part of it that exists. */
static surg_status no_place(surg__search *s) {
  surg__buf b;
  surg__buf_init(&b, s->ctx);
  char *text = surg__strdup(s->ctx, s->text), *dot;
  while (text && !b.n && (dot = strrchr(text, '.')) != NULL) {
    *dot = 0;
    put_owner(&b, s, text, dot + 1);
  }
  const bool place = b.n > 0 || like_place(s->text);
  const size_t functions = surg_model_function_count(s->m);
  if (!b.n && strncmp(s->text, "function[", 9) == 0)
    surg__buf_printf(&b, "; the model has %zu function%s", functions, functions == 1 ? "" : "s");
  surg__free(s->ctx, text);
  if (place)
    surg__search_why(s, SURG_ENOTFOUND, "the model has no place %s%s", surg__q(s->ctx, s->text),
                     b.n && !b.failed ? b.p : "");
  surg__buf_free(&b);
  return SURG_ENOTFOUND;
}

static surg_status by_place(surg__search *s) {
  size_t count;
  surg_node *n = surg_model_find_node(s->m, s->text, &count);
  if (n) return take_node(s, n);
  char *copy = surg__alloc(s->ctx, strlen(s->text) + 1);
  if (!copy) return no_memory(s);
  surg_value *v = value_at(s->m, s->text, copy);
  const surg_status status = v ? SURG_OK : owners(s, copy);
  surg__free(s->ctx, copy);
  if (status != SURG_OK) return status;
  if (v && s->want_values) return add_value(s, v);
  if (v && (n = surg_value_producer(v, NULL)) != NULL) return add_node(s, n);
  if (v)
    return surg__search_why(s, SURG_ENOTFOUND, "no node computes %s", surg__q(s->ctx, s->text));
  const bool indexed = s->text[strlen(s->text) - 1] == ']';
  return indexed || like_place(s->text) ? no_place(s) : SURG_ENOTFOUND;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Whether `op`, "Type" or "domain.Type", names the operator of n. */
static bool op_is(const char *op, const surg_node *n) {
  const char *type = surg_node_op_type(n), *domain = surg_node_domain(n);
  if (strcmp(op, type) == 0) return true;
  if (!*domain) domain = "ai.onnx";
  const size_t d = strlen(domain);
  return strncmp(op, domain, d) == 0 && op[d] == '.' && strcmp(op + d + 1, type) == 0;
}

static const char *name_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

typedef SURG_VEC(const char *) names;

/* The name most similar to `word` among those collected, or NULL. */
static const char *nearest(const names *list, const char *word) {
  return list->count ? surg__nearest(word, list->items, list->count, name_at) : NULL;
}

static surg_status no_operator(surg__search *s, const char *op) {
  names list = {0};
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!surg__vec_push(s->ctx, &list, surg_node_op_type(n))) break;
  const char *near = nearest(&list, op);
  surg__search_why(s, SURG_ENOTFOUND, "the model has no node of operator %s%s%s%s",
                   surg__q(s->ctx, op), near ? "; did you mean " : "",
                   near ? surg__q(s->ctx, near) : "", near ? "?" : "");
  surg__vec_free(s->ctx, &list);
  return SURG_ENOTFOUND;
}

static surg_status by_operator(surg__search *s) {
  const char *op = s->text + 3;
  surg_status status = SURG_OK;
  bool any = false;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (surg_node *n = surg_graph_first_node(g); n && status == SURG_OK; n = surg_node_next(n)) {
      if (!op_is(op, n)) continue;
      any = true;
      status = s->want_values ? add_outputs(s, n) : add_node(s, n);
    }
  return any ? status : no_operator(s, op);
}

/* ---- regular expressions --------------------------------------------------------------------- */

static bool fits(const regex_t *re, const char *name) {
  return *name && regexec(re, name, 0, NULL, 0) == 0;
}

static bool node_fits(const regex_t *re, const surg_node *n) {
  if (fits(re, surg_node_name(n))) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (surg_node_output(n, i) && fits(re, surg_value_name(surg_node_output(n, i)))) return true;
  return false;
}

static surg_status values_like(surg__search *s, const regex_t *re) {
  surg_status status = SURG_OK;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v && status == SURG_OK;
         v = surg_graph_next_value(g, v))
      if (fits(re, surg_value_name(v))) status = add_value(s, v);
  return status;
}

static surg_status nodes_like(surg__search *s, const regex_t *re) {
  surg_status status = SURG_OK;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (surg_node *n = surg_graph_first_node(g); n && status == SURG_OK; n = surg_node_next(n))
      if (node_fits(re, n)) status = s->want_values ? add_outputs(s, n) : add_node(s, n);
  return status;
}

static surg_status by_regex(surg__search *s, size_t n) {
  char *text = surg__alloc(s->ctx, n - 1);
  regex_t re;
  if (!text) return no_memory(s);
  memcpy(text, s->text + 1, n - 2);
  text[n - 2] = 0;
  const int e = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);
  surg__free(s->ctx, text);
  if (e != 0) {
    char why[128];
    regerror(e, &re, why, sizeof why);
    return surg__search_why(s, SURG_EUSAGE, "%s: %s", surg__q(s->ctx, s->text), why);
  }
  surg_status status = s->want_values ? values_like(s, &re) : SURG_OK;
  if (status == SURG_OK && !s->values.count) status = nodes_like(s, &re);
  regfree(&re);
  if (status != SURG_OK || s->nodes.count || s->values.count) return status;
  return surg__search_why(s, SURG_ENOTFOUND, "no name matches %s", surg__q(s->ctx, s->text));
}

/* ---- patterns -------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (surg_node *const *)a, y = (uintptr_t) * (surg_node *const *)b;
  return x < y ? -1 : x > y;
}

static bool listed(const surg__nodes *list, surg_node *n) {
  return list->count &&
         bsearch(&n, list->items, list->count, sizeof *list->items, by_address) != NULL;
}

static surg_status by_pattern(surg__search *s) {
  surg_matches *ms = NULL;
  surg__nodes found = {0};
  surg_status status = surg_find(s->m, s->text, &ms, s->why, s->room);
  const size_t count = surg_matches_count(ms);
  for (size_t i = 0; i < count && status == SURG_OK; i++) {
    surg_node *n, *last = NULL;
    for (size_t k = 0; (n = surg_matches_node(ms, i, k)) != NULL && status == SURG_OK; k++) {
      last = n;
      if (!s->want_values && !surg__vec_push(s->ctx, &found, n)) status = no_memory(s);
    }
    if (s->want_values && !surg__vec_push(s->ctx, &found, last)) status = no_memory(s);
  }
  surg_matches_free(ms);
  if (status == SURG_OK && !count && s->why && s->why[0]) status = SURG_ENOTFOUND;
  if (status == SURG_OK && !count)
    status = surg__search_why(s, SURG_ENOTFOUND, "nothing matches %s", surg__q(s->ctx, s->text));
  if (found.count) qsort(found.items, found.count, sizeof *found.items, by_address);
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g && status == SURG_OK;
       g = surg_model_next_graph(s->m, g))
    for (surg_node *n = surg_graph_first_node(g); n && status == SURG_OK; n = surg_node_next(n))
      if (listed(&found, n)) status = s->want_values ? add_outputs(s, n) : add_node(s, n);
  surg__vec_free(s->ctx, &found);
  return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Whether the model has a node of this operator. */
static bool has_operator(surg__search *s, const char *op) {
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (strcmp(surg_node_op_type(n), op) == 0) return true;
  return false;
}

static surg_status nothing(surg__search *s) {
  names list = {0};
  bool ok = true;
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g)) {
    for (surg_value *v = surg_graph_next_value(g, NULL); v && ok && s->want_values;
         v = surg_graph_next_value(g, v))
      if (*surg_value_name(v)) ok = surg__vec_push(s->ctx, &list, surg_value_name(v));
    for (surg_node *n = surg_graph_first_node(g); n && ok; n = surg_node_next(n))
      if (*surg_node_name(n)) ok = surg__vec_push(s->ctx, &list, surg_node_name(n));
  }
  const bool op = has_operator(s, s->text);
  const char *near = !ok ? NULL : op ? s->text : nearest(&list, s->text);
  surg__search_why(s, SURG_ENOTFOUND, "the model has no %s %s%s%s%s%s",
                   s->want_values ? "value" : "node", surg__q(s->ctx, s->text),
                   near ? "; did you mean " : "", op ? "op=" : "",
                   near ? surg__q(s->ctx, near) : "", near ? "?" : "");
  surg__vec_free(s->ctx, &list);
  return ok ? SURG_ENOTFOUND : no_memory(s);
}

surg_status surg__search_run(surg__search *s) {
  const size_t n = strlen(s->text);
  if (n == 0) return surg__search_why(s, SURG_EUSAGE, "an empty address");
  surg_status status = by_name(s);
  if (status != SURG_ENOTFOUND || (s->why && s->why[0])) return status;
  status = by_place(s);
  if (status != SURG_ENOTFOUND || (s->why && s->why[0])) return status;
  if (n > 2 && s->text[0] == '/' && s->text[n - 1] == '/') return by_regex(s, n);
  if (n > 3 && strncmp(s->text, "op=", 3) == 0) return by_operator(s);
  if (strchr(s->text, '(') || strstr(s->text, " = ")) return by_pattern(s);
  return nothing(s);
}
