/* SPDX-License-Identifier: Apache-2.0 */
/* See channels.h. */
#include "channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/give.h"
#include "../util/select.h"

#define REACHED 256         /* most values between an input and its Convs */
#define ELEMENTS (1u << 26) /* most elements of weights that are changed */
#define WEIGHTS 1           /* input of Conv */

/* --- options --- */

static bool refuse(channels *c, const char *why) {
  char line[CHANNELS_TEXT + 200];
  snprintf(line, sizeof line, "'%.150s': %s", surg_value_name(c->input), why);
  surg_pass_usage(c->p, line);
  return false;
}

static bool read_input(channels *c, surg_value *v) {
  const int64_t axis = surg_pass_int(c->p, "axis");
  c->input = v;
  if (!surg_value_is_input(v) || surg_value_graph(v) != c->g)
    return refuse(c, "it is not an input");
  if (surg_value_is_initializer(v)) return refuse(c, "it has a default");
  if (surg_value_is_output(v)) return refuse(c, "it is an output as well");
  if (surg_pass_keeps_value(c->p, v)) return refuse(c, "it is protected (--keep)");
  c->type = declared_type(v);
  if (!c->type || surg_type_get_kind(c->type) != SURG_TYPE_TENSOR || !surg_type_has_rank(c->type))
    return refuse(c, "it is not a tensor of a known rank");
  const int64_t rank = (int64_t)surg_type_rank(c->type);
  if (axis < -rank || axis >= rank) return refuse(c, "it has no such axis");
  c->axis = (size_t)(axis < 0 ? axis + rank : axis);
  const surg_dim *d = surg_type_dim(c->type, c->axis);
  c->count = d->param || d->expr || d->value < 0 ? -1 : d->value;
  return true;
}

/* The only input of the main graph that a caller must give; NULL: there are none or several. */
static surg_value *only_input(const surg_graph *g) {
  surg_value *only = NULL;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    if (surg_value_is_initializer(v)) continue;
    if (only) return NULL;
    only = v;
  }
  return only;
}

channels *channels_read(surg_pass_ctx *p, size_t *n) {
  surg_model *m = surg_pass_model(p);
  surg_graph *g = surg_model_graph(m);
  surg_value *only = only_input(g), **in = select_value_list(p, "inputs", n);
  if (!in) return NULL;
  if (*n == 0 && !only) {
    surg_pass_usage(p, "the model has no input or several: name them with inputs=");
    return NULL;
  }
  channels *all = surg_pass_alloc(p, (*n + 1) * sizeof *all);
  if (*n == 0) *in = only;
  if (*n == 0) *n = 1;
  for (size_t i = 0; all && i < *n; i++) {
    all[i] = (channels){.p = p, .m = m, .g = g};
    if (!read_input(&all[i], in[i])) return NULL;
  }
  return all;
}

/* --- what reads the input --- */

typedef struct reached {
  surg_value *v;
  size_t axis;
} reached;

static bool cannot(channels *c, const surg_node *n, const char *why) {
  snprintf(c->why, sizeof c->why, "%.100s \"%.200s\" %s", surg_node_op_type(n), surg_node_name(n),
           why);
  return false;
}

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

static bool take_conv(channels *c, surg_node *n, size_t index, size_t axis) {
  const surg_value *v = surg_node_input(n, WEIGHTS);
  const surg_tensor *w = v ? surg_value_settled(v) : NULL;
  if (index != 0 || axis != 1) return cannot(c, n, "does not add up these channels");
  if (!w || surg_tensor_rank(w) < 3 || !is_float(surg_tensor_dtype(w)))
    return cannot(c, n, "has no constant float weights");
  const int64_t channels_of = surg_tensor_dims(w)[1];
  if (surg_node_int(n, "group", 1) != 1) return cannot(c, n, "has groups");
  if (c->count >= 0 && channels_of != c->count)
    return cannot(c, n, "expects another number of channels");
  c->count = channels_of;
  c->convs[c->n_convs++] = n;
  return true;
}

/* Whether the other inputs of an elementwise node are the same for all channels. */
static bool same_for_all(const surg_node *n, size_t index, size_t from_end) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_tensor *t = v && i != index ? surg_value_constant(v) : NULL;
    if (i == index || !v) continue;
    if (!t) return false;
    const size_t rank = surg_tensor_rank(t);
    if (rank >= from_end && surg_tensor_dims(t)[rank - from_end] != 1) return false;
  }
  return true;
}

/* Whether a node that is no Conv hands the channels on; *axis is then that of its output. */
static bool hands_on(channels *c, const surg_node *n, size_t index, size_t *axis,
                     bool elementwise) {
  const size_t rank = surg_type_rank(c->type);
  const int op = surg_node_op(n);
  size_t count = 0;
  if (surg_node_output_count(n) != 1 || surg_node_nondeterministic(n)) return false;
  if (op == SURG_OP_Identity) return true;
  if (op == SURG_OP_Transpose) {
    const int64_t *perm = surg_node_ints(n, "perm", &count);
    size_t to = perm ? 0 : rank - 1 - *axis;
    if (perm && count != rank) return false;
    while (perm && to < count && perm[to] != (int64_t)*axis) to++;
    *axis = to;
    return to < rank;
  }
  const surg_type *t = surg_value_type(surg_node_output(n, 0));
  if (!elementwise || !t || !surg_type_has_rank(t) || surg_type_rank(t) != rank) return false;
  const surg_axes_effect effect = surg_node_axes_effect(n);
  return (effect == SURG_AXES_UNARY && surg_node_input_count(n) == 1) ||
         ((effect == SURG_AXES_BROADCAST || effect == SURG_AXES_UNARY) &&
          same_for_all(n, index, rank - *axis));
}

static bool visit(channels *c, const reached *r, reached *list, size_t *n_list, bool elementwise) {
  for (const surg_use *u = surg_value_first_use(r->v); u; u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    size_t axis = r->axis;
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    if (!n) {
      snprintf(c->why, sizeof c->why, "'%.200s' is an output", surg_value_name(r->v));
      return false;
    }
    if (surg_use_graph(u) != c->g) return cannot(c, n, "is in a subgraph");
    if (surg_pass_keeps_node(c->p, n)) return cannot(c, n, "is protected (--keep)");
    if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN)
      return cannot(c, n, "is not an operator of ONNX");
    if (*n_list == REACHED || c->n_convs == REACHED) return cannot(c, n, "is one of too many");
    if (surg_node_op(n) == SURG_OP_Conv) {
      if (!take_conv(c, n, surg_use_index(u), axis)) return false;
    } else if (hands_on(c, n, surg_use_index(u), &axis, elementwise)) {
      list[(*n_list)++] = (reached){surg_node_output(n, 0), axis};
    } else {
      return cannot(c, n, "is not a convolution");
    }
  }
  return true;
}

bool channels_find(channels *c, bool elementwise) {
  reached *list = surg_pass_alloc(c->p, REACHED * sizeof *list);
  c->convs = surg_pass_alloc(c->p, REACHED * sizeof(surg_node *));
  if (!list || !c->convs) return false;
  size_t n = 1;
  list[0] = (reached){c->input, c->axis};
  for (size_t i = 0; i < n; i++)
    if (!visit(c, &list[i], list, &n, elementwise)) return false;
  if (c->n_convs == 0) snprintf(c->why, sizeof c->why, "no node reads it");
  return c->n_convs > 0;
}

/* --- weights --- */

double *channels_elements(channels *c, const surg_node *conv, size_t i, size_t *count) {
  const surg_tensor *t = surg_value_settled(surg_node_input(conv, i));
  unsigned char byte;
  *count = 0;
  if (t && surg_tensor_count(t) <= ELEMENTS && surg_tensor_count(t) > 0 &&
      surg_tensor_read(t, 0, &byte, 1) == SURG_OK && surg_tensor_dtype(t) != SURG_DOUBLE)
    t = surg_tensor_cast(c->m, t, SURG_DOUBLE);
  const size_t n = t && surg_tensor_count(t) <= ELEMENTS ? (size_t)surg_tensor_count(t) : 0;
  double *v = n ? surg_pass_alloc(c->p, n * sizeof *v) : NULL;
  if (!v || surg_tensor_dtype(t) != SURG_DOUBLE ||
      surg_tensor_read_numbers(t, 0, v, n) != SURG_OK) {
    cannot(c, conv, "has weights that are missing or too large");
    return NULL;
  }
  *count = n;
  return v;
}

/* Removes a constant that nothing reads any more. */
static bool drop(surg_value *v) {
  surg_node *by = surg_value_producer(v, NULL);
  if (surg_value_use_count(v, 1) || surg_value_is_input(v)) return false;
  return (by ? surg_node_erase(by) : surg_value_erase_initializer(v)) == SURG_OK;
}

bool channels_set(channels *c, surg_node *conv, size_t i, const double *v, size_t count) {
  surg_value *old = surg_node_input(conv, i);
  const surg_tensor *w = surg_value_constant(surg_node_input(conv, WEIGHTS));
  const surg_tensor *like = old ? surg_value_constant(old) : NULL;
  const int64_t one = (int64_t)count;
  const char *name = old ? surg_value_name(old) : "bias";
  char *kept = surg_pass_alloc(c->p, strlen(name) + 1);
  if (!kept) return false;
  strcpy(kept, name);
  surg_tensor *t = surg_tensor_new_numbers(c->m, SURG_DOUBLE, like ? surg_tensor_dims(like) : &one,
                                           like ? surg_tensor_rank(like) : 1, v, count);
  if (t && surg_tensor_dtype(w) != SURG_DOUBLE) t = surg_tensor_cast(c->m, t, surg_tensor_dtype(w));
  surg_value *made = t ? surg_graph_constant(c->g, conv, kept, t) : NULL;
  if (!made || surg_node_set_input(conv, i, made) != SURG_OK) return false;
  if (old && drop(old) && surg_value_can_rename(made, kept))
    return surg_value_rename(made, kept) == SURG_OK;
  return true;
}

bool channels_reread(channels *c, surg_value *by, const surg_node *except, const char *suffix) {
  char stem[CHANNELS_TEXT];
  snprintf(stem, sizeof stem, "%.300s_%s", surg_value_name(c->input), suffix);
  const char *name = surg_graph_fresh_name(c->g, stem);
  return name && surg_value_rename(by, name) == SURG_OK && give_readers(c->p, c->input, by, except);
}
