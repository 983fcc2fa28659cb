/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions that read an input of the model, for passes that change its channels: swap-channels
 * and normalize move their arithmetic into the weights of these. */
#ifndef SURG_PASSES_CHANNELS_H
#define SURG_PASSES_CHANNELS_H

#include <onnxsurg/onnxsurg.h>

#define CHANNELS_TEXT 600

/* An input of the model and the Convs that alone read it. */
typedef struct channels {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  surg_value *input;
  const surg_type *type; /* declared; the rank is known */
  size_t axis;           /* of the channels */
  int64_t count;         /* number of channels; -1: unknown */
  surg_node **convs;
  size_t n_convs;
  char why[CHANNELS_TEXT]; /* why some reader is no Conv that can be changed; empty: all can */
} channels;

/* Reads the option `inputs` (default: the only input), and `axis`. The result has *n entries in
 * memory of the pass; NULL after an error. */
channels *channels_read(surg_pass_ctx *p, size_t *n);
/* Finds the Convs of one group with constant float weights behind the input, through Transpose and
 * Identity, and through elementwise operators if `elementwise`. False: some reader is another
 * node; c->why names it. Sets the number of channels if only the weights show it. */
bool channels_find(channels *c, bool elementwise);
/* The elements of input i of a Conv, a constant, as doubles in memory of the pass. NULL: they are
 * missing or too many (c->why), or memory ran out. */
double *channels_elements(channels *c, const surg_node *conv, size_t i, size_t *count);
/* Replaces input i of a Conv by a constant of these elements, of the type of its weights. Other
 * readers of the old constant keep it. */
bool channels_set(channels *c, surg_node *conv, size_t i, const double *v, size_t count);
/* Lets all readers of the input but `except` read `by`, and names `by` after the input. */
bool channels_reread(channels *c, surg_value *by, const surg_node *except, const char *suffix);

#endif
