/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts the part of the model that computes the values `to` (default: the outputs) from the
 * values `from`, which become inputs. Everything else is removed: nodes, initializers, inputs,
 * functions, imports. Other inputs that the part needs stay, with a warning. Types are inferred
 * where possible; an unknown type is given by an option named like the value.
 *
 *   before: (x) => (z) { a = Abs (x)   b = Neg (a)   y = Add (b, a)   z = Relu (y) }
 *   after:  (a) => (y) { b = Neg (a)   y = Add (b, a) }                     extract{from=a,to=y}
 *
 * Needs sorted, types. Keeps sorted. Exact; changes the interface. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../cleanup/prune.h"
#include "../util/declared.h"
#include "../util/select.h"
#include "../util/typetext.h"

#define TEXT 1200

/* A value that becomes an input or output of the model. */
typedef struct end {
  surg_value *value;
  const char *name; /* copied, pass memory */
  const surg_type *type;
} end;

typedef struct extraction {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  end *from, *to;
  size_t n_from, n_to;
} extraction;

/* ---- reading the options --------------------------------------------------------------------- */

/* The type that the user gives for a value, as text; NULL: none. */
static const char *said(const extraction *x, const char *name) {
  for (size_t i = 0; i < surg_pass_pair_count(x->p); i++)
    if (strcmp(surg_pass_pair_name(x->p, i), name) == 0) return surg_pass_pair_value(x->p, i, 0);
  return NULL;
}

/* Whether an input or output may have this type: of a tensor the rank must be known. */
static bool is_complete(const surg_type *t) {
  return t && (surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_has_rank(t));
}

/* The type of a new input or output; NULL after an error message. `option` names the option that
 * lists the value. */
static const surg_type *type_of(extraction *x, const surg_value *v, const char *option) {
  char text[TEXT];
  const char *name = surg_value_name(v), *written = said(x, name);
  const surg_type *t;
  if (written) {
    t = typetext_parse(x->p, written);
    if (t || surg_model_status(x->m) != SURG_OK) return t;
    snprintf(text, sizeof text, "'%.200s' is not a type of '%.300s', such as 'float[N,3]'", written,
             name);
    surg_pass_usage(x->p, text);
    return NULL;
  }
  t = surg_value_is_output(v) && declared_at_output(v, &t) ? typetext_plain(x->p, t) : NULL;
  if (!is_complete(t)) t = typetext_plain(x->p, surg_value_type(v));
  if (!is_complete(t)) t = typetext_plain(x->p, declared_type(v));
  if (is_complete(t) || surg_model_status(x->m) != SURG_OK) return t;
  snprintf(text, sizeof text,
           "%s: the type%s of '%.300s' is unknown and not declared in the model: give it, as in "
           "extract{...,%.300s='float[N,3]'}",
           option, t ? " is known, but the rank" : "", name, name);
  surg_pass_fail(x->p, surg_value_producer(v, NULL), text);
  return NULL;
}

static const char *copy_of(surg_pass_ctx *p, const char *s) {
  const size_t n = strlen(s) + 1;
  char *copy = surg_pass_alloc(p, n);
  return copy ? memcpy(copy, s, n) : NULL;
}

static surg_pass_result read_end(extraction *x, const char *option, surg_value *v, end *out,
                                 const end *before, size_t n) {
  const char *name = surg_value_name(v);
  out->value = v;
  if (!select_in_main(x->p, option, v)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) {
    if (before[i].value != out->value) continue;
    char text[TEXT];
    snprintf(text, sizeof text, "%s: '%.300s' is named twice", option, name);
    return surg_pass_usage(x->p, text);
  }
  out->name = copy_of(x->p, name);
  out->type = type_of(x, out->value, option);
  return out->name && out->type ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static surg_pass_result read_ends(extraction *x) {
  surg_value **from = select_value_list(x->p, "from", &x->n_from);
  surg_value **to = from ? select_value_list(x->p, "to", &x->n_to) : NULL;
  if (!to) return SURG_PASS_FAILED;
  const bool outputs = x->n_to == 0;
  if (outputs) x->n_to = surg_graph_output_count(x->g);
  if (outputs && x->n_from == 0) return surg_pass_usage(x->p, "needs from= or to=, or both");
  x->from = surg_pass_alloc(x->p, (x->n_from + 1) * sizeof *x->from);
  x->to = surg_pass_alloc(x->p, (x->n_to + 1) * sizeof *x->to);
  if (!x->from || !x->to) return SURG_PASS_FAILED;
  for (size_t i = 0; i < x->n_from; i++)
    if (read_end(x, "from", from[i], &x->from[i], x->from, i) == SURG_PASS_FAILED)
      return SURG_PASS_FAILED;
  for (size_t i = 0; i < x->n_to; i++)
    if (read_end(x, "to", outputs ? surg_graph_output(x->g, i) : to[i], &x->to[i], x->to,
                 outputs ? 0 : i) == SURG_PASS_FAILED)
      return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static surg_pass_result check_types(extraction *x) {
  for (size_t i = 0; i < surg_pass_pair_count(x->p); i++) {
    const char *name = surg_pass_pair_name(x->p, i);
    bool found = false;
    for (size_t k = 0; k < x->n_from && !found; k++) found = strcmp(x->from[k].name, name) == 0;
    for (size_t k = 0; k < x->n_to && !found; k++) found = strcmp(x->to[k].name, name) == 0;
    char text[TEXT];
    snprintf(text, sizeof text,
             "'%.300s' is neither an option nor a value of from= or to= whose type it could give",
             name);
    if (!found || surg_pass_pair_value(x->p, i, 1)) return surg_pass_usage(x->p, text);
  }
  return SURG_PASS_CHANGED;
}

/* Whether the outputs of the graph are already the requested ones, in order. */
static bool same_outputs(const extraction *x) {
  if (surg_graph_output_count(x->g) != x->n_to) return false;
  for (size_t i = 0; i < x->n_to; i++)
    if (surg_graph_output(x->g, i) != x->to[i].value) return false;
  return true;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static bool listed(const end *list, size_t n, const surg_value *v) {
  for (size_t i = 0; i < n; i++)
    if (list[i].value == v) return true;
  return false;
}

/* Whether the requested outputs are a subsequence of the present ones, so that their entries can
 * stay; else all outputs are listed again. */
static bool in_order(const extraction *x) {
  size_t k = 0;
  for (size_t i = 0; i < surg_graph_output_count(x->g) && k < x->n_to; i++)
    k += surg_graph_output(x->g, i) == x->to[k].value;
  return k == x->n_to;
}

/* Adds an output entry with its type; drops the value_info entry that only repeats it. */
static surg_status list_output(extraction *x, const end *e) {
  const bool idle = surg_value_has_info(e->value);
  const surg_status s = surg_graph_add_output(x->g, e->value, e->type);
  return s == SURG_OK && idle ? surg_value_drop_info(e->value) : s;
}

static surg_status set_outputs(extraction *x) {
  const bool keep = in_order(x);
  surg_status s = SURG_OK;
  if (same_outputs(x)) return s;
  for (size_t i = surg_graph_output_count(x->g); s == SURG_OK && i-- > 0;) {
    if (keep && listed(x->to, x->n_to, surg_graph_output(x->g, i))) continue;
    s = surg_graph_remove_output(x->g, i);
  }
  for (size_t i = 0; s == SURG_OK && !keep && i < x->n_to; i++) s = list_output(x, &x->to[i]);
  return s;
}

/* Moves output entries to the new input first, so that the outputs keep their name. */
static surg_status move_outputs(extraction *x, surg_value *old, surg_value *by) {
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < surg_graph_output_count(x->g); i++)
    if (surg_graph_output(x->g, i) == old) s = surg_graph_set_output(x->g, i, by);
  return s;
}

/* Makes the value an input. Its producer or initializer keeps the old value under a new name,
 * until it is pruned. */
static surg_status cut(extraction *x, end *e) {
  surg_value *old = e->value;
  if (surg_value_is_input(old))
    return surg_value_is_initializer(old) ? surg_value_erase_initializer(old) : SURG_OK;
  const char *fresh = surg_graph_fresh_name(x->g, e->name);
  surg_status s = fresh ? surg_value_rename(old, fresh) : SURG_ENOMEM;
  if (s != SURG_OK) return s;
  surg_value *input = surg_graph_add_input(x->g, e->name, e->type);
  if (!input) return SURG_ENOMEM;
  s = move_outputs(x, old, input);
  if (s == SURG_OK && surg_value_use_count(old, 1) > 0) s = surg_value_replace(old, input);
  e->value = input;
  return s;
}

/* ---- removing the rest ----------------------------------------------------------------------- */

static bool wanted(const prune *pr, const surg_value *v) {
  const extraction *x = pr->user;
  return listed(x->from, x->n_from, v);
}

static void tell(extraction *x, const char *what, const char *name) {
  char text[TEXT];
  snprintf(text, sizeof text, "pass extract: %s '%.300s'%s", what, name,
           strncmp(what, "input", 5) == 0 ? " stays: nodes of the part read it, too"
                                          : ": no node of the part reads it");
  surg_context_report(surg_pass_context(x->p), SURG_WARNING, surg_model_path(x->m), text);
}

static void tell_inputs(extraction *x) {
  for (size_t i = 0; x->n_from && i < surg_graph_input_count(x->g); i++) {
    const surg_value *v = surg_graph_input(x->g, i);
    const bool asked = listed(x->from, x->n_from, v);
    if (!asked && !surg_value_is_initializer(v)) tell(x, "input", surg_value_name(v));
    if (asked && surg_value_use_count(v, 1) == 0) tell(x, "from:", surg_value_name(v));
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  extraction x = {.p = p, .m = surg_pass_model(p), .g = surg_model_graph(surg_pass_model(p))};
  if (read_ends(&x) == SURG_PASS_FAILED || check_types(&x) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  const uint64_t epoch = surg_model_epoch(x.m);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (set_outputs(&x) != SURG_OK) return SURG_PASS_FAILED;
  for (size_t i = 0; i < x.n_from; i++)
    if (cut(&x, &x.from[i]) != SURG_OK) return SURG_PASS_FAILED;
  prune pr = {.p = p, .m = x.m, .plain = true, .wanted = wanted, .user = &x};
  prune_all(&pr, true);
  if (pr.failed) return SURG_PASS_FAILED;
  if (!pr.stop) tell_inputs(&x);
  return surg_model_epoch(x.m) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "from", NULL, "values that become the inputs (addresses)"),
    SURG_OPTION(LIST, "to", NULL, "values that become the outputs (addresses)"),
    SURG_OPTION(PAIRS, "type", NULL, "type of a value that has none: a=\"float[N,3]\""),
};

const surg_pass surg__pass_extract = {
    SURG_PASS_HEAD(MODEL, "extract", "extract the subgraph between values"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
