/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizes attributes equal to their default: `drop` removes them, `write` adds them. Some
 * engines reject the one form, some the other. kernel_shape, strides, dilations and pads of windows
 * have no constant default in the standard; they are written with the values they imply.
 *
 *   before: (x) => (y) { y = LeakyRelu <alpha = 0.01> (x) }
 *   after:  (x) => (y) { y = LeakyRelu (x) }                                         defaults{drop}
 *
 *   before: (x) => (y) <w> { y = Conv (x, w) }
 *   after:  (x) => (y) <w> { y = Conv <pads = [0, 0, 0, 0], strides = [1, 1], ...> (x, w) }
 *                                                              defaults{write=strides+pads}
 *
 * Needs types. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#define AXES 16 /* most axes of a window */

static bool listed(const surg_pass_ctx *p, const char *option, const char *name) {
  const size_t n = surg_pass_list_count(p, option);
  for (size_t i = 0; i < n; i++) {
    const char *word = surg_pass_list_at(p, option, i);
    if (strcmp(word, name) == 0 || strcmp(word, "all") == 0) return true;
  }
  return false;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Removes listed attributes equal to their default. Iterates over the schema, because the
 * indices of the node's attributes shift. */
static surg_pass_result drop(surg_pass_ctx *p, surg_node *n, const surg_schema *s) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t k = 0; k < surg_schema_attr_count(s); k++) {
    const char *name = surg_schema_attr_name(s, k);
    if (!listed(p, "drop", name) || !surg_node_says_default(n, name)) continue;
    if (!surg_pass_allow(p)) return result;
    if (surg_node_remove_attr(n, name) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "dropped", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const surg_type *tensor_type(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* The implied value of a window attribute; false: no such attribute, or the size is unknown. */
static bool window_ints(const surg_node *n, const char *name, int64_t *out, size_t *count) {
  /* kernel_shape is derived from the weights (input 1), the others from the image. */
  const bool kernel = strcmp(name, "kernel_shape") == 0;
  const size_t at = kernel ? 1 : 0;
  const surg_type *x = surg_node_input_count(n) > at ? tensor_type(surg_node_input(n, at)) : NULL;
  if (!x || surg_type_rank(x) < 3 || surg_type_rank(x) > AXES + 2) return false;
  const size_t axes = surg_type_rank(x) - 2;
  const bool pads = strcmp(name, "pads") == 0;
  *count = pads ? 2 * axes : axes;
  assert(*count <= 2 * AXES); /* the capacity of `out` */
  if (pads) {
    const surg_str s = surg_node_string(n, "auto_pad", "NOTSET");
    for (size_t i = 0; i < *count; i++) out[i] = 0;
    return s.n == 6 && memcmp(s.p, "NOTSET", 6) == 0;
  }
  if (strcmp(name, "strides") == 0 || strcmp(name, "dilations") == 0) {
    for (size_t i = 0; i < axes; i++) out[i] = 1;
    return true;
  }
  for (size_t i = 0; kernel && i < axes; i++) {
    if (surg_type_dim(x, i + 2)->value < 1) return false;
    out[i] = surg_type_dim(x, i + 2)->value;
  }
  return kernel;
}

static bool is_window(const surg_schema *s) {
  unsigned found = 0;
  for (size_t k = 0; k < surg_schema_attr_count(s); k++) {
    const char *name = surg_schema_attr_name(s, k);
    found += strcmp(name, "kernel_shape") == 0 || strcmp(name, "strides") == 0;
  }
  return found == 2;
}

static surg_pass_result spell(surg_pass_ctx *p, surg_node *n, const surg_schema *s) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  const bool window = is_window(s);
  for (size_t k = 0; k < surg_schema_attr_count(s); k++) {
    const char *name = surg_schema_attr_name(s, k);
    int64_t list[2 * AXES];
    size_t count = 0;
    if (surg_node_attr(n, name) || !listed(p, "write", name)) continue;
    const bool derived = window && surg_schema_attr_kind(s, k) == SURG_ATTR_INTS &&
                         window_ints(n, name, list, &count);
    if (!derived && !surg_schema_attr_has_default(s, k)) continue;
    assert(count <= 2 * AXES && (!derived || count > 0));
    if (!surg_pass_allow(p)) return result;
    if ((derived ? surg_node_set_ints(n, name, list, count) : surg_node_spell_default(n, name)) !=
        SURG_OK)
      return SURG_PASS_FAILED;
    surg_pass_count(p, "written", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static bool has_attribute(const surg_graph *g, const char *name) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const surg_schema *s = surg_node_schema(n);
    for (size_t k = 0; s && k < surg_schema_attr_count(s); k++)
      if (strcmp(surg_schema_attr_name(s, k), name) == 0) return true;
  }
  return false;
}

/* Reports whether operators of the graph have the attributes that the user named. */
static void find_names(surg_pass_ctx *p, const surg_graph *g, const char *option) {
  for (size_t i = 0; i < surg_pass_list_count(p, option); i++) {
    const char *name = surg_pass_list_at(p, option, i);
    char what[300];
    if (strcmp(name, "all") == 0) continue;
    snprintf(what, sizeof what, "operator with attribute '%.200s'", name);
    surg_pass_named(p, what, has_attribute(g, name));
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!surg_pass_list_count(p, "drop") && !surg_pass_list_count(p, "write"))
    return surg_pass_usage(p, "needs drop= or write=: names of attributes, or all");
  find_names(p, g, "drop");
  find_names(p, g, "write");
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const surg_schema *s = surg_node_schema(n);
    if (!s || surg_node_function(n) || surg_pass_keeps_node(p, n)) continue;
    const surg_pass_result dropped = drop(p, n, s);
    const surg_pass_result written = dropped == SURG_PASS_FAILED ? dropped : spell(p, n, s);
    if (written == SURG_PASS_FAILED) return written;
    if (dropped < result) result = dropped;
    if (written < result) result = written;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "drop", NULL, "attributes to remove if equal to a default"),
    SURG_OPTION(LIST, "write", NULL, "attributes to write if absent"),
};

const surg_pass surg__pass_defaults = {
    SURG_PASS_HEAD(GRAPH, "defaults", "remove or write attributes equal to their default"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
