/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the order of the channels that an input of the model expects, such as RGB to BGR: the
 * weights of the Convs that read it are reordered, or a Gather is added where that is not possible.
 *
 *   before: (float[1,3,8,8] rgb) => (y) { y = Conv (rgb, w) }
 *   after:  (float[1,3,8,8] rgb) => (y) { y = Conv (rgb, w2) }   w2[:,i] = w[:,2-i]
 *
 * Channel order[i] of the new input is channel i of the old one. Reordered weights give the same
 * products in another order of summation.
 *
 * Needs sorted, types. Keeps sorted. Lossy: the model computes something else for the same input;
 * naming the pass is consent. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>

#include "channels.h"

#define MOST 1024 /* most channels */

typedef struct order {
  int64_t of[MOST];
  size_t n;
} order;

static bool read_order(surg_pass_ctx *p, order *o) {
  bool seen[MOST] = {false};
  o->n = surg_pass_list_count(p, "order");
  for (size_t i = 0; i < o->n; i++) {
    char *end;
    const char *word = surg_pass_list_at(p, "order", i);
    const long long k = strtoll(word, &end, 10);
    if (o->n > MOST || end == word || *end || k < 0 || k >= (long long)o->n || seen[k]) {
      surg_pass_usage(p, "order: expected the numbers of all channels, from 0 on: 2+1+0");
      return false;
    }
    seen[k] = true;
    o->of[i] = k;
  }
  return o->n > 0;
}

/* Weights [outputs, channels, ...] with their channels in the new order. */
static bool reorder(channels *c, surg_node *conv, const order *o) {
  size_t n;
  const double *old = channels_elements(c, conv, 1, &n);
  double *now = old ? surg_pass_alloc(c->p, n * sizeof *now) : NULL;
  if (!now) return false;
  const size_t rows = (size_t)surg_tensor_dims(surg_value_constant(surg_node_input(conv, 1)))[0];
  const size_t cell = n / rows / o->n; /* n > 0, so both are */
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < o->n; i++)
      for (size_t k = 0; k < cell; k++)
        now[(r * o->n + (size_t)o->of[i]) * cell + k] = old[(r * o->n + i) * cell + k];
  return channels_set(c, conv, 1, now, n);
}

static bool gather(channels *c, const order *o) {
  const int64_t dims[1] = {(int64_t)o->n};
  surg_node *before = surg_graph_first_node(c->g);
  surg_node *n = surg_graph_add_node(c->g, before, "", "Gather", 1);
  surg_tensor *t = surg_tensor_new_numbers(c->m, SURG_INT64, dims, 1, o->of, o->n);
  surg_value *index = n && t ? surg_graph_constant(c->g, n, "order", t) : NULL;
  return index && channels_reread(c, surg_node_output(n, 0), n, "swapped") &&
         surg_node_set_int(n, "axis", (int64_t)c->axis) == SURG_OK &&
         surg_node_set_input(n, 0, c->input) == SURG_OK &&
         surg_node_set_input(n, 1, index) == SURG_OK;
}

static surg_pass_result swap_one(channels *c, const order *o) {
  char line[CHANNELS_TEXT + 300];
  const bool folds = channels_find(c, true);
  size_t n;
  for (size_t i = 0; folds && !*c->why && i < c->n_convs; i++)
    channels_elements(c, c->convs[i], 1, &n);
  snprintf(line, sizeof line, "'%.150s' has %lld channels, order has %zu",
           surg_value_name(c->input), (long long)c->count, o->n);
  if (c->count >= 0 && c->count != (int64_t)o->n) return surg_pass_usage(c->p, line);
  snprintf(line, sizeof line, "'%.150s': the number of channels is unknown; `freeze` fixes it",
           surg_value_name(c->input));
  if (c->count < 0) return surg_pass_usage(c->p, line);
  snprintf(line, sizeof line, "'%.150s': not folded into weights: %.500s",
           surg_value_name(c->input), c->why);
  if (*c->why && surg_pass_bool(c->p, "fold")) return surg_pass_fail(c->p, NULL, line);
  if (!surg_pass_allow(c->p)) return SURG_PASS_UNCHANGED;
  if (*c->why) {
    surg_pass_note(c->p, NULL, line);
    return gather(c, o) ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
  }
  for (size_t i = 0; i < c->n_convs; i++)
    if (!reorder(c, c->convs[i], o)) return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  size_t n;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  order *o = surg_pass_alloc(p, sizeof *o);
  channels *all = o && read_order(p, o) ? channels_read(p, &n) : NULL;
  if (!all) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) {
    const surg_pass_result one = swap_one(&all[i], o);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_CHANGED) result = one;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "inputs", NULL, "inputs to change (default: the only one)"),
    SURG_OPTION(LIST, "order", "2+1+0", "old channel that is first, second ..."),
    SURG_OPTION(INT, "axis", "1", "axis of the channels"),
    SURG_OPTION(BOOL, "fold", NULL, "fail rather than add a Gather"),
};

const surg_pass surg__pass_swap_channels =
    SURG_PASS_EDIT("swap-channels", "change the order of channels of an input (RGB, BGR)",
                   options, run);
