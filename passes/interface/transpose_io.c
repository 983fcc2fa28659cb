/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the order of dimensions of inputs and outputs, such as NCHW to NHWC, with a Transpose
 * between each of them and the rest of the model, which `simplify` moves and merges.
 *
 *   before: (float[1,3,8,8] x) => (float[1,4,8,8] y) { y = Conv (x, w) }
 *   after:  (float[1,8,8,3] x) => (float[1,4,8,8] y) { t = Transpose <perm = [0, 3, 1, 2]> (x)
 *             y = Conv (t, w) }                              transpose-io{inputs=x,to=nhwc}
 *
 * Needs sorted, types. Keeps sorted. Exact; changes the interface. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/nearest.h"
#include "../util/select.h"

#define TEXT 600
#define RANK 16 /* largest rank of an input or output */

typedef struct moving {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
} moving;

static bool refuse(const moving *x, const char *text) {
  surg_pass_usage(x->p, text);
  return false;
}

/* Reads `to` and `perm`: dimension i of the new order is dimension perm[i] of the present one. */
static bool read_perm(const moving *x, size_t rank, int64_t *perm) {
  static const char *const orders[] = {"nhwc", "nchw"};
  const char *to = surg_pass_string(x->p, "to");
  const size_t n = surg_pass_list_count(x->p, "perm");
  bool taken[RANK] = {false};
  if (to && n) return refuse(x, "to and perm exclude each other");
  if (to && strcmp(to, orders[0]) != 0 && strcmp(to, orders[1]) != 0) {
    nearest near = {.name = to};
    char text[TEXT];
    nearest_offer_list(&near, orders, sizeof orders / sizeof *orders);
    snprintf(text, sizeof text, "to: expected nhwc or nchw, found '%.100s'%s", to,
             nearest_hint(&near));
    return refuse(x, text);
  }
  if (to && rank < 3) return refuse(x, "to: a value has fewer than 3 dimensions");
  if (!to && n != rank) return refuse(x, "perm: expected a number for each dimension: 0+2+3+1");
  for (size_t i = 0; i < rank; i++) {
    const size_t last = rank - 1;
    if (to && strcmp(to, "nhwc") == 0) {
      perm[i] = (int64_t)(i == 0 ? 0 : i == last ? 1 : i + 1);
    } else if (to) {
      perm[i] = (int64_t)(i == 0 ? 0 : i == 1 ? last : i - 1);
    } else {
      char *end;
      const char *word = surg_pass_list_at(x->p, "perm", i);
      perm[i] = strtoll(word, &end, 10);
      if (end == word || *end || perm[i] < 0 || perm[i] >= (int64_t)rank)
        return refuse(x, "perm: expected the numbers of the dimensions, from 0 on");
    }
    if (taken[perm[i]]) return refuse(x, "perm: a dimension is listed twice");
    taken[perm[i]] = true;
  }
  return true;
}

/* The type with its dimensions in the new order; NULL after an error. */
static const surg_type *permuted(const moving *x, const surg_type *t, const int64_t *perm) {
  surg_dim dims[RANK];
  const size_t rank = surg_type_rank(t);
  for (size_t i = 0; i < rank; i++) {
    dims[i] = *surg_type_dim(t, (size_t)perm[i]);
    dims[i].expr = NULL; /* a declared dimension is a number, a symbol or unknown */
  }
  return surg_type_tensor(x->m, surg_type_dtype(t), dims, rank);
}

/* The declared type, or the inferred one, if its rank is known. */
static const surg_type *ranked(const moving *x, const surg_value *v, const surg_type *declared) {
  const surg_type *t = declared && surg_type_has_rank(declared) ? declared : surg_value_type(v);
  char text[TEXT];
  snprintf(text, sizeof text, "'%.300s': expected a tensor of a known rank up to %d",
           surg_value_name(v),
           RANK);
  if (t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) &&
      surg_type_rank(t) <= RANK)
    return t;
  refuse(x, text);
  return NULL;
}

static surg_node *add_transpose(const moving *x, surg_node *before, const int64_t *perm,
                                size_t rank) {
  surg_node *n = surg_graph_add_node(x->g, before, "", "Transpose", 1);
  return n && surg_node_set_ints(n, "perm", perm, rank) == SURG_OK ? n : NULL;
}

static bool move_input(const moving *x, surg_value *v) {
  const surg_type *t = ranked(x, v, surg_value_declared_type(v));
  int64_t perm[RANK], back[RANK];
  char text[TEXT];
  snprintf(text, sizeof text,
           "inputs: '%.300s' is not an input, has a default, or is an output at once",
           surg_value_name(v));
  if (!surg_value_is_input(v) || surg_value_is_initializer(v) || surg_value_is_output(v))
    return refuse(x, text);
  const size_t rank = t ? surg_type_rank(t) : 0;
  if (!t || !read_perm(x, rank, perm)) return false;
  for (size_t i = 0; i < rank; i++) back[perm[i]] = (int64_t)i;
  const surg_type *now = permuted(x, t, perm);
  surg_node *n = now ? add_transpose(x, surg_graph_first_node(x->g), back, rank) : NULL;
  if (!n) return false;
  if (surg_value_use_count(v, 1) && surg_value_replace(v, surg_node_output(n, 0)) != SURG_OK)
    return false;
  return surg_node_set_input(n, 0, v) == SURG_OK && surg_value_set_declared_type(v, now) == SURG_OK;
}

static bool move_output(const moving *x, surg_value *v) {
  const size_t count = surg_graph_output_count(x->g);
  size_t at = 0;
  char text[TEXT];
  while (at < count && surg_graph_output(x->g, at) != v) at++;
  snprintf(text, sizeof text, "outputs: '%.300s' is not an output that a node computes",
           surg_value_name(v));
  if (at == count || !surg_value_producer(v, NULL)) return refuse(x, text);
  const surg_type *t = ranked(x, v, surg_graph_output_type(x->g, at));
  int64_t perm[RANK];
  const size_t rank = t ? surg_type_rank(t) : 0;
  if (!t || !read_perm(x, rank, perm)) return false;
  const surg_type *now = permuted(x, t, perm);
  surg_node *n = now ? add_transpose(x, NULL, perm, rank) : NULL;
  const size_t bytes = strlen(surg_value_name(v)) + 1;
  char *name = n ? surg_pass_alloc(x->p, bytes) : NULL;
  if (!name || surg_node_set_input(n, 0, v) != SURG_OK) return false;
  memcpy(name, surg_value_name(v), bytes);
  surg_value *out = surg_node_output(n, 0);
  for (size_t i = at; i < count; i++)
    if (surg_graph_output(x->g, i) == v && surg_graph_set_output(x->g, i, out) != SURG_OK)
      return false;
  const char *fresh = surg_graph_fresh_name(x->g, name);
  return fresh && surg_value_rename(v, fresh) == SURG_OK &&
         surg_value_rename(out, name) == SURG_OK &&
         surg_value_set_declared_type(out, now) == SURG_OK;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  moving x = {.p = p, .m = surg_pass_model(p)};
  size_t n_in, n_out;
  x.g = surg_model_graph(x.m);
  surg_value **in = select_value_list(p, "inputs", &n_in);
  surg_value **out = in ? select_value_list(p, "outputs", &n_out) : NULL;
  if (!out) return SURG_PASS_FAILED;
  if (n_in + n_out == 0) return surg_pass_usage(p, "needs inputs= or outputs=");
  if (!surg_pass_string(p, "to") && !surg_pass_list_count(p, "perm"))
    return surg_pass_usage(p, "needs to= or perm=");
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < n_in; i++)
    if (!move_input(&x, in[i])) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n_out; i++)
    if (!move_output(&x, out[i])) return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "inputs", NULL, "inputs to change (addresses)"),
    SURG_OPTION(LIST, "outputs", NULL, "outputs to change (addresses)"),
    SURG_OPTION(STRING, "to", NULL, "new order: nhwc (from nchw) or nchw (from nhwc)"),
    SURG_OPTION(LIST, "perm", NULL, "or the present dimensions in the new order: 0+2+3+1"),
};

const surg_pass surg__pass_transpose_io = {
    SURG_PASS_HEAD(MODEL, "transpose-io", "change the dimension order of inputs and outputs"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
