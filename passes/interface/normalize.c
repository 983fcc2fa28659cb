/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizes an input inside the model: the rest of the model reads (x - mean) / std. The weights
 * and biases of the Convs that read it compute that, or nodes are added where they cannot.
 *
 *   before: (float[1,3,8,8] x) => (y) { y = Conv (x, w, b) }
 *   after:  (float[1,3,8,8] x) => (y) { y = Conv (x, w2, b2) }
 *           w2[o,c] = w[o,c] / std[c]   b2[o] = b[o] - sum of w2[o,c] * mean[c]
 *
 * A Conv with pads reads 0 at the border, which is not what a normalized 0 is: with a mean other
 * than 0 its weights cannot compute it. Equal up to rounding.
 *
 * Needs sorted, types. Keeps sorted. Lossy: the model computes something else for the same input;
 * naming the pass is consent. */
#include <math.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channels.h"

#define HALF_MOST 65504 /* largest float16 */

typedef struct numbers {
  double *v;
  size_t n; /* one for all channels, or one for each */
} numbers;

typedef struct normal {
  numbers mean, std;
} normal;

static bool read_numbers(surg_pass_ctx *p, const char *option, double fallback, numbers *out) {
  char line[200];
  out->n = surg_pass_list_count(p, option);
  out->v = surg_pass_alloc(p, (out->n + 1) * sizeof *out->v);
  if (!out->v) return false;
  for (size_t i = 0; i < out->n; i++) {
    char *end;
    const char *word = surg_pass_list_at(p, option, i);
    out->v[i] = strtod(word, &end);
    const double size = fabs(out->v[i]);
    if (end != word && !*end && size <= 1e30 && (fallback == 0 || size >= 1e-30)) continue;
    snprintf(line, sizeof line, "%s: expected numbers such as 0.5 or 0.5+0.4+0.3%s", option,
             fallback == 0 ? "" : ", none of them 0");
    surg_pass_usage(p, line);
    return false;
  }
  if (out->n == 0) out->v[out->n++] = fallback;
  return true;
}

static double at(const numbers *x, size_t channel) {
  return x->v[x->n == 1 ? 0 : channel];
}

static bool is_zero(const numbers *x) {
  for (size_t i = 0; i < x->n; i++)
    if (x->v[i] != 0) return false;
  return true;
}

/* Whether a Conv reads elements outside of its input. */
static bool pads(const surg_node *conv) {
  size_t n = 0;
  const surg_str how = surg_node_string(conv, "auto_pad", "NOTSET");
  const int64_t *v = surg_node_ints(conv, "pads", &n);
  if (how.n == 5 && memcmp(how.p, "VALID", 5) == 0) return false;
  if (how.n != 6 || memcmp(how.p, "NOTSET", 6) != 0) return true;
  for (size_t i = 0; i < n; i++)
    if (v[i] != 0) return true;
  return false;
}

/* Whether the divided weights leave the range of float16. */
static bool overflows(const channels *c, const surg_node *conv, const double *w, size_t n,
                      const normal *x) {
  const surg_tensor *t = surg_value_constant(surg_node_input(conv, 1));
  const size_t count = (size_t)c->count, rows = (size_t)surg_tensor_dims(t)[0];
  const size_t cell = n / rows / count;
  if (surg_tensor_dtype(t) != SURG_FLOAT16) return false;
  for (size_t i = 0; i < n; i++)
    if (fabs(w[i] / at(&x->std, i / cell % count)) > HALF_MOST) return true;
  return false;
}

/* Whether weights and bias of each Conv can compute it; if not, c->why. */
static bool folds(channels *c, const normal *x) {
  size_t n;
  if (!channels_find(c, false)) return false;
  for (size_t i = 0; i < c->n_convs && !*c->why; i++) {
    const surg_node *conv = c->convs[i];
    const surg_value *bias = surg_node_input(conv, 2);
    const bool shifts = !is_zero(&x->mean);
    const double *w = channels_elements(c, conv, 1, &n);
    if (w && x->std.n > 1 && x->std.n != (size_t)c->count) return false;
    if (w && overflows(c, conv, w, n, x))
      snprintf(c->why, sizeof c->why, "Conv \"%.200s\" would have weights beyond float16",
               surg_node_name(conv));
    if (bias && surg_value_settled(bias) && shifts && !*c->why) channels_elements(c, conv, 2, &n);
    if (shifts && !*c->why && (pads(conv) || (bias && !surg_value_settled(bias))))
      snprintf(c->why, sizeof c->why, "Conv \"%.200s\" %s", surg_node_name(conv),
               pads(conv) ? "has pads, which are not normalized; exact only for a mean of 0"
                          : "has a bias that is computed");
  }
  return !*c->why;
}

static bool fold(channels *c, surg_node *conv, const normal *x) {
  size_t n, n_bias = 0;
  double *w = channels_elements(c, conv, 1, &n);
  if (!w) return false;
  const size_t rows = (size_t)surg_tensor_dims(surg_value_constant(surg_node_input(conv, 1)))[0];
  const size_t count = (size_t)c->count, cell = n / rows / count;
  double *b = surg_node_input(conv, 2) && !is_zero(&x->mean)
                  ? channels_elements(c, conv, 2, &n_bias)
                  : surg_pass_alloc(c->p, rows * sizeof *b);
  if (!b || (n_bias && n_bias != rows)) return false;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < count; i++)
      for (size_t k = 0; k < cell; k++) {
        double *v = &w[(r * count + i) * cell + k];
        *v /= at(&x->std, i);
        b[r] -= *v * at(&x->mean, i);
      }
  if (!is_zero(&x->mean) && !channels_set(c, conv, 2, b, rows)) return false;
  return channels_set(c, conv, 1, w, n);
}

/* A constant of the type of the input: a scalar, or channels along their axis. */
static surg_value *constant(channels *c, surg_node *before, const char *name, const numbers *x) {
  const size_t rank = surg_type_rank(c->type), after = rank - c->axis;
  int64_t *dims = surg_pass_alloc(c->p, (after + 1) * sizeof *dims);
  if (!dims) return NULL;
  for (size_t i = 0; i < after; i++) dims[i] = 1;
  dims[0] = (int64_t)x->n;
  surg_tensor *t =
      surg_tensor_new_numbers(c->m, SURG_DOUBLE, dims, x->n > 1 ? after : 0, x->v, x->n);
  const int dtype = surg_type_dtype(c->type);
  if (t && dtype != SURG_DOUBLE) t = surg_tensor_cast(c->m, t, dtype);
  return t ? surg_graph_constant(c->g, before, name, t) : NULL;
}

static bool insert(channels *c, const normal *x) {
  surg_node *before = surg_graph_first_node(c->g);
  surg_node *sub = surg_graph_add_node(c->g, before, "", "Sub", 1);
  surg_node *div = surg_graph_add_node(c->g, before, "", "Div", 1);
  if (!sub || !div || !channels_reread(c, surg_node_output(div, 0), sub, "normalized"))
    return false;
  surg_value *mean = constant(c, sub, "mean", &x->mean), *std = constant(c, sub, "std", &x->std);
  return mean && std && surg_node_set_input(sub, 0, c->input) == SURG_OK &&
         surg_node_set_input(sub, 1, mean) == SURG_OK &&
         surg_node_set_input(div, 0, surg_node_output(sub, 0)) == SURG_OK &&
         surg_node_set_input(div, 1, std) == SURG_OK;
}

static surg_pass_result normalize(channels *c, const normal *x) {
  char line[CHANNELS_TEXT + 300];
  const size_t n = x->mean.n > x->std.n ? x->mean.n : x->std.n;
  const char *name = surg_value_name(c->input);
  const int dtype = surg_type_dtype(c->type);
  snprintf(line, sizeof line, "'%.150s': expected a float input (io-type changes integers)", name);
  if (dtype != SURG_FLOAT && dtype != SURG_DOUBLE && dtype != SURG_FLOAT16 &&
      dtype != SURG_BFLOAT16)
    return surg_pass_usage(c->p, line);
  const bool into = folds(c, x);
  snprintf(line, sizeof line, "'%.150s': expected one number, or one for each of its channels",
           name);
  if (n > 1 && (c->count != (int64_t)n || (x->mean.n > 1 && x->mean.n != n) ||
                (x->std.n > 1 && x->std.n != n)))
    return surg_pass_usage(c->p, line);
  snprintf(line, sizeof line, "'%.150s': not folded into weights: %.500s", name, c->why);
  if (!into && surg_pass_bool(c->p, "fold")) return surg_pass_fail(c->p, NULL, line);
  if (!surg_pass_allow(c->p)) return SURG_PASS_UNCHANGED;
  if (!into) {
    surg_pass_note(c->p, NULL, line);
    return insert(c, x) ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
  }
  for (size_t i = 0; i < c->n_convs; i++)
    if (!fold(c, c->convs[i], x)) return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  size_t n;
  normal x;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!surg_pass_list_count(p, "mean") && !surg_pass_list_count(p, "std"))
    return surg_pass_usage(p, "needs mean= or std=");
  if (!read_numbers(p, "mean", 0, &x.mean) || !read_numbers(p, "std", 1, &x.std))
    return SURG_PASS_FAILED;
  if (surg_graph_opset(surg_model_graph(surg_pass_model(p)), "") < 7)
    return surg_pass_usage(p, "this requires opset 7, where Sub and Div broadcast");
  channels *all = channels_read(p, &n);
  if (!all) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) {
    const surg_pass_result one = normalize(&all[i], &x);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_CHANGED) result = one;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "inputs", NULL, "inputs to change (default: the only one)"),
    SURG_OPTION(LIST, "mean", NULL, "of all, or of each channel"),
    SURG_OPTION(LIST, "std", NULL, "divisor of all, or of each channel"),
    SURG_OPTION(INT, "axis", "1", "axis of the channels"),
    SURG_OPTION(BOOL, "fold", NULL, "fail rather than add nodes"),
};

const surg_pass surg__pass_normalize =
    SURG_PASS_EDIT("normalize", "subtract a mean from an input and divide it by std", options, run);
