/* SPDX-License-Identifier: Apache-2.0 */
/* See bypass.h.
 *
 * An input may replace an output when their known types agree in kind, element type, rank and fixed
 * dimensions. If several inputs qualify, the only one that is not constant is selected. If that is
 * not unique, the node is rejected with a message that names the candidates and the option `map`.
 * Constants qualify only if no other input does. */
#include "bypass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "declared.h"
#include "give.h"
#include "../cleanup/prune.h"

#define TEXT 1024
#define NO_INPUT SIZE_MAX

/* ---- the option map -------------------------------------------------------------------------- */

static bool number(const char **s, size_t *out) {
  char *end;
  if (**s < '0' || **s > '9') return false;
  const unsigned long long n = strtoull(*s, &end, 10);
  *out = n < NO_INPUT ? (size_t)n : NO_INPUT - 1;
  *s = end;
  return true;
}

static bool read_pair(const char *s, size_t *out, size_t *in) {
  return number(&s, out) && *s++ == ':' && number(&s, in) && !*s;
}

surg_pass_result bypass_check_map(surg_pass_ctx *p) {
  for (size_t i = 0; i < surg_pass_list_count(p, "map"); i++) {
    char text[TEXT];
    size_t out, in;
    const char *s = surg_pass_list_at(p, "map", i);
    if (read_pair(s, &out, &in)) continue;
    snprintf(text, sizeof text, "option map: expected output:input such as 0:1, found '%.100s'", s);
    return surg_pass_usage(p, text);
  }
  return SURG_PASS_UNCHANGED;
}

/* The input that the user chose for output `out`, or NO_INPUT. */
static size_t mapped(const surg_pass_ctx *p, size_t out) {
  for (size_t i = 0; i < surg_pass_list_count(p, "map"); i++) {
    size_t o, in;
    if (read_pair(surg_pass_list_at(p, "map", i), &o, &in) && o == out) return in;
  }
  return NO_INPUT;
}

/* ---- selecting the input --------------------------------------------------------------------- */

static const surg_type *type_of(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return surg_type_get_kind(t) == SURG_TYPE_UNKNOWN ? declared_type(v) : t;
}

static bool shapes_differ(const surg_type *a, const surg_type *b) {
  if (!surg_type_has_rank(a) || !surg_type_has_rank(b)) return false;
  if (surg_type_rank(a) != surg_type_rank(b)) return true;
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const surg_dim x = *surg_type_dim(a, i), y = *surg_type_dim(b, i);
    if (x.value >= 0 && y.value >= 0 && x.value != y.value) return true;
  }
  return false;
}

/* Whether the known parts of two types contradict each other. */
static bool types_differ(const surg_type *a, const surg_type *b) {
  for (; a && b; a = surg_type_elem(a), b = surg_type_elem(b)) {
    const surg_type_kind kind = surg_type_get_kind(a), other = surg_type_get_kind(b);
    if (kind == SURG_TYPE_UNKNOWN || other == SURG_TYPE_UNKNOWN) return false;
    if (kind != other) return true;
    const int x = surg_type_dtype(a), y = surg_type_dtype(b);
    if (x != SURG_UNDEFINED && y != SURG_UNDEFINED && x != y) return true;
    if (kind == SURG_TYPE_TENSOR && shapes_differ(a, b)) return true;
  }
  return false;
}

static bool fits(const surg_node *n, size_t out, size_t in) {
  const surg_value *v = surg_node_input(n, in);
  return v && !types_differ(type_of(v), type_of(surg_node_output(n, out)));
}

static bool is_weight(const surg_value *v) {
  return surg_value_is_initializer(v) || surg_value_constant(v);
}

/* The index of the input that replaces output `out` without `map`; NO_INPUT unless exactly one
 * of `*count` candidates qualifies. */
static size_t choose(const surg_node *n, size_t out, size_t *count) {
  size_t found = NO_INPUT, weights = 0, weight = NO_INPUT;
  *count = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    if (!fits(n, out, i)) continue;
    if (is_weight(surg_node_input(n, i))) {
      if (weights++ == 0) weight = i;
      continue;
    }
    if ((*count)++ == 0) found = i;
  }
  if (*count == 0) *count = weights, found = weight;
  return *count == 1 ? found : NO_INPUT;
}

/* Appends `0 'x' (float[N,3])`, cut at the size of the buffer. */
static void put_value(char *text, size_t size, size_t i, const surg_value *v) {
  char type[DECLARED_TEXT] = "type unknown";
  const surg_type *t = type_of(v);
  const size_t n = strlen(text);
  if (surg_type_get_kind(t) != SURG_TYPE_UNKNOWN) declared_text(t, type);
  if (n < size) snprintf(text + n, size - n, "%zu '%.60s' (%.80s)", i, surg_value_name(v), type);
}

/* Appends a hint that shows a valid value of `map`. */
static void put_hint(char *text, size_t size, const surg_node *n, size_t out) {
  size_t in = 0, len = strlen(text);
  while (in < surg_node_input_count(n) && !fits(n, out, in)) in++;
  if (len < size)
    snprintf(text + len, size - len, "; select one by map=%zu:%zu (output:input)", out, in);
}

static surg_pass_result refuse(surg_pass_ctx *p, const surg_node *n, size_t out, size_t count) {
  char text[2 * TEXT] = "";
  const char *comma = "";
  if (count == 0) {
    snprintf(text, sizeof text, "no input can replace output ");
    put_value(text, sizeof text, out, surg_node_output(n, out));
    size_t len = strlen(text);
    const bool any = surg_node_input_count(n) > 0;
    snprintf(text + len, sizeof text - len,
             any ? ": the types differ from input " : ": the node has no inputs");
  } else {
    snprintf(text, sizeof text, "which input replaces output ");
    put_value(text, sizeof text, out, surg_node_output(n, out));
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "? There are ");
  }
  for (size_t i = 0; i < surg_node_input_count(n) && strlen(text) < TEXT; i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || (count > 0 && !fits(n, out, i))) continue;
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s", comma);
    put_value(text, sizeof text, i, v);
    comma = ", ";
  }
  if (count > 0) put_hint(text, sizeof text, n, out);
  return surg_pass_fail(p, n, text);
}

static surg_pass_result refuse_mapped(surg_pass_ctx *p, const surg_node *n, size_t out, size_t in) {
  char text[TEXT] = "map: ";
  if (!surg_node_input(n, in)) {
    snprintf(text, sizeof text, "map: the node has no input %zu to replace output %zu", in, out);
    return surg_pass_fail(p, n, text);
  }
  put_value(text, sizeof text, in, surg_node_input(n, in));
  size_t len = strlen(text);
  snprintf(text + len, sizeof text - len, " cannot replace output ");
  put_value(text, sizeof text, out, surg_node_output(n, out));
  len = strlen(text);
  snprintf(text + len, sizeof text - len, ": the types differ");
  return surg_pass_fail(p, n, text);
}

static const char no_identity[] = "cannot be removed: only an Identity could keep the name of "
                                  "the output, and none is possible here";

/* Fills by[] with the replacement of each used output; NULL for the others. */
static surg_pass_result plan(surg_pass_ctx *p, surg_node *n, surg_value **by) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *old = surg_node_output(n, i);
    if (!old || surg_value_use_count(old, 1) == 0) continue;
    size_t in = mapped(p, i), count;
    if (in != NO_INPUT && !fits(n, i, in)) return refuse_mapped(p, n, i, in);
    if (in == NO_INPUT && (in = choose(n, i, &count)) == NO_INPUT) return refuse(p, n, i, count);
    by[i] = surg_node_input(n, in);
    const surg_replace how = surg_value_can_replace(old, by[i]);
    if (how == SURG_REPLACE_NO)
      return surg_pass_fail(p, n,
                            "cannot be removed: something outside the graph refers to its "
                            "output by name");
    const bool named = how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(p, by[i]);
    if ((named || how == SURG_REPLACE_NEEDS_IDENTITY) &&
        !give_identity_stands(surg_node_graph(n), by[i], old))
      return surg_pass_fail(p, n, no_identity);
  }
  return SURG_PASS_CHANGED;
}

/* Whether the user protects the node, or the name of an output that would be lost. */
static bool kept(surg_pass_ctx *p, const surg_node *n) {
  if (surg_pass_keeps_node(p, n)) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && !surg_value_is_output(v) && surg_pass_keeps_value(p, v)) return true;
  }
  return false;
}

surg_pass_result bypass_node(surg_pass_ctx *p, surg_node *n) {
  if (kept(p, n)) {
    surg_pass_note(p, n, "left: it is protected");
    return SURG_PASS_UNCHANGED;
  }
  const size_t count = surg_node_output_count(n);
  surg_value **by = surg_pass_alloc(p, (count + 1) * sizeof *by);
  if (!by || plan(p, n, by) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < count; i++) {
    const surg_status s = by[i] ? give_uses(p, n, surg_node_output(n, i), by[i]) : SURG_OK;
    /* If one input replaces two outputs, only the first can pass its name to that input. */
    if (s == SURG_EUNSUPPORTED) return surg_pass_fail(p, n, no_identity);
    if (s != SURG_OK) return SURG_PASS_FAILED;
  }
  if (surg_node_erase(n) != SURG_OK) return SURG_PASS_FAILED;
  surg_pass_count(p, "nodes removed", 1);
  return SURG_PASS_CHANGED;
}

surg_pass_result bypass_drop_import(surg_pass_ctx *p, const char *domain) {
  prune pr = {.p = p, .m = surg_pass_model(p), .domain = domain};
  prune_imports(&pr);
  if (pr.failed) return SURG_PASS_FAILED;
  return pr.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}
