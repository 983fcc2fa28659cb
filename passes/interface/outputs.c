/* SPDX-License-Identifier: Apache-2.0 */
/* Changes which values are outputs of the model: `keep` only those named, `drop` those named, `add`
 * any value of the main graph. Nodes that compute a dropped output stay until `prune`.
 *
 *   before: (x) => (y, z) { t = Abs (x)   y = Relu (t)   z = Neg (t) }     outputs{drop=z,add=t}
 *   after:  (x) => (y, t) { t = Abs (x)   y = Relu (t)   z = Neg (t) }
 *
 * Needs nothing. Keeps sorted, types. Exact; changes the interface. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../util/values.h"

#define TEXT 1024

static bool listed(surg_pass_ctx *p, const char *option, const char *name) {
  for (size_t i = 0; i < surg_pass_list_count(p, option); i++)
    if (strcmp(surg_pass_list_at(p, option, i), name) == 0) return true;
  return false;
}

static bool is_output(const surg_graph *g, const char *name) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (strcmp(surg_value_name(surg_graph_output(g, i)), name) == 0) return true;
  return false;
}

/* Writes a hint for a name that is not an output (or value) of the main graph. */
static void hint(surg_pass_ctx *p, const surg_graph *main, const char *name, char *out) {
  if (surg_graph_find_value(main, name)) {
    snprintf(out, TEXT, "; it is a value, and add= would make it one");
    return;
  }
  values_hint(p, main, name, out, TEXT);
}

static surg_pass_result unknown(surg_pass_ctx *p, const surg_graph *g, const char *option,
                                const char *name, const char *what) {
  char text[2 * TEXT], more[TEXT];
  hint(p, g, name, more);
  snprintf(text, sizeof text, "%s: the model has no %s '%.300s'%s", option, what, name, more);
  return surg_pass_usage(p, text);
}

static surg_pass_result check(surg_pass_ctx *p, const surg_graph *g, const char *option) {
  for (size_t i = 0; i < surg_pass_list_count(p, option); i++) {
    const char *name = surg_pass_list_at(p, option, i);
    if (!is_output(g, name)) return unknown(p, g, option, name, "output");
  }
  return SURG_PASS_UNCHANGED;
}

static bool stays(surg_pass_ctx *p, const char *name) {
  if (surg_pass_list_count(p, "keep")) return listed(p, "keep", name) || listed(p, "add", name);
  return !listed(p, "drop", name);
}

/* Removes the outputs that are not kept, last first, so that indices stay valid. */
static surg_pass_result take_away(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = surg_graph_output_count(g); i-- > 0;) {
    if (stays(p, surg_value_name(surg_graph_output(g, i)))) continue;
    if (!surg_pass_allow(p)) break;
    if (surg_graph_remove_output(g, i)) return SURG_PASS_FAILED;
    surg_pass_count(p, "outputs removed", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static surg_pass_result no_type(surg_pass_ctx *p, const surg_value *v) {
  char text[TEXT];
  snprintf(text, sizeof text,
           "add: the type of '%.300s' is not known and the model does not declare it; an output "
           "needs one",
           surg_value_name(v));
  return surg_pass_fail(p, surg_value_producer(v, NULL), text);
}

static surg_pass_result add_one(surg_pass_ctx *p, surg_graph *g, const char *name) {
  surg_value *v = surg_graph_find_value(g, name);
  if (!v) return unknown(p, g, "add", name, "value");
  if (surg_value_is_output(v) && is_output(g, name)) return SURG_PASS_UNCHANGED;
  const surg_type *type = surg_value_type(v);
  if (!type || surg_type_get_kind(type) == SURG_TYPE_UNKNOWN) type = surg_value_declared_type(v);
  if (!type || surg_type_get_kind(type) == SURG_TYPE_UNKNOWN) return no_type(p, v);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_graph_add_output(g, v, type)) return SURG_PASS_FAILED;
  surg_pass_count(p, "outputs added", 1);
  return SURG_PASS_CHANGED;
}

/* Whether the model would still have an output. */
static bool some_left(surg_pass_ctx *p, const surg_graph *g) {
  if (surg_pass_list_count(p, "add")) return true;
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (stays(p, surg_value_name(surg_graph_output(g, i)))) return true;
  return surg_graph_output_count(g) == 0;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  size_t keep = surg_pass_list_count(p, "keep"), drop = surg_pass_list_count(p, "drop");
  size_t add = surg_pass_list_count(p, "add");
  if (keep && drop) return surg_pass_usage(p, "keep and drop exclude each other");
  if (!keep && !drop && !add) return surg_pass_usage(p, "needs keep=, drop= or add=");
  if (check(p, g, "keep") == SURG_PASS_FAILED || check(p, g, "drop") == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  if (!some_left(p, g)) return surg_pass_usage(p, "no output would be left");
  if (add && surg_model_infer(surg_pass_model(p))) return SURG_PASS_FAILED;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < add; i++) {
    surg_pass_result one = add_one(p, g, surg_pass_list_at(p, "add", i));
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  if (!keep && !drop) return result;
  surg_pass_result taken = take_away(p, g);
  return taken < result ? taken : result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "keep", NULL, "outputs to keep; all others are removed"),
    SURG_OPTION(LIST, "drop", NULL, "outputs to remove"),
    SURG_OPTION(LIST, "add", NULL, "values to make outputs"),
};

const surg_pass surg__pass_outputs = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "outputs",
    .help = "add and remove outputs of the model",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
