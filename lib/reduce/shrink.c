/* SPDX-License-Identifier: Apache-2.0 */
/* See shrink.h. */
#include <onnxsurg/check.h>
#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "reduce/shrink.h"

#define RANK 16        /* largest rank of an input whose sizes are made smaller */
#define SMALL_BYTES 64 /* a weight below that stays: it is no longer than an input */

/* --- weights --- */

static bool is_large(const surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  return t && !surg_value_is_input(v) && surg_tensor_bytes(t) >= SMALL_BYTES;
}

/* Weight i of those that are large; NULL: there are fewer. */
static surg_value *weight_at(const surg_model *m, size_t i) {
  const surg_graph *g = surg_model_graph(m);
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v)) != NULL;)
    if (is_large(v) && i-- == 0) return v;
  return NULL;
}

/* Consumers of a weight read a new input of its type instead. */
static bool make_input(surg_graph *g, surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (!t) t = surg_value_declared_type(v);
  const char *name = surg_graph_fresh_name(g, surg_value_name(v));
  surg_value *in = t && name ? surg_graph_add_input(g, name, t) : NULL;
  if (!in || surg_value_is_output(v)) return false;
  return !surg_value_use_count(v, 1) || surg_value_replace(v, in) == SURG_OK;
}

static bool without_weights(const surg__shrinking *s, size_t from, size_t count) {
  surg_model *m = surg_model_clone(*s->best);
  bool ok = m && surg_model_infer(m) == SURG_OK;
  for (size_t i = 0; ok && i < count; i++) {
    surg_value *v = weight_at(m, from + i);
    ok = v && make_input(surg_model_graph(m), v);
  }
  if (ok) return s->keep(s->user, m);
  surg_model_free(m);
  return false;
}

static size_t count_weights(const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  size_t n = 0;
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v)) != NULL;) n += is_large(v);
  return n;
}

static bool shrink_weights(const surg__shrinking *s) {
  bool any = false;
  for (size_t chunk = (count_weights(*s->best) + 1) / 2; chunk && !s->late(s->user); chunk /= 2)
    for (size_t end = count_weights(*s->best); end && !s->late(s->user);) {
      const size_t from = end > chunk ? end - chunk : 0;
      any |= without_weights(s, from, end - from);
      const size_t left = count_weights(*s->best);
      end = from < left ? from : left;
    }
  return any;
}

/* --- sizes --- */

/* The type with a dimension, or all of one symbol, of size 1. */
static const surg_type *smaller(surg_model *m, const surg_type *t, size_t axis,
                                const char *symbol) {
  surg_dim dims[RANK];
  const size_t rank = surg_type_rank(t);
  for (size_t i = 0; i < rank; i++) {
    dims[i] = *surg_type_dim(t, i);
    const bool same = symbol && dims[i].param && strcmp(dims[i].param, symbol) == 0;
    if (same || (!symbol && i == axis)) dims[i] = (surg_dim){.value = 1};
    dims[i].expr = NULL;
  }
  return surg_type_tensor(m, surg_type_dtype(t), dims, rank);
}

static bool is_shaped(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) &&
         surg_type_rank(t) <= RANK;
}

/* Declared types that contradict the inferred ones follow them. */
static bool follow(surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;) {
    const surg_type *t = surg_value_declared_type(v);
    bool contradicts = false;
    if (!t || !surg_value_producer(v, NULL)) continue;
    const surg_type *now = surg_type_refine(m, t, surg_value_type(v), &contradicts);
    if (contradicts && surg_value_set_declared_type(v, now) != SURG_OK) return false;
  }
  return true;
}

/* Whether a size that was inferred is unknown or 0 now, so that the declared one would be false, or
 * nothing would be computed. */
static bool loses_sizes(const surg_model *was, const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;) {
    const surg_value *old = surg_graph_find_value(surg_model_graph(was), surg_value_name(v));
    const surg_type *t = surg_value_type(v), *u = old ? surg_value_type(old) : NULL;
    if (!surg_value_producer(v, NULL) || !is_shaped(u)) continue;
    if (!is_shaped(t) || surg_type_rank(t) != surg_type_rank(u)) return true;
    for (size_t i = 0; i < surg_type_rank(t); i++)
      if (surg_type_dim(u, i)->value > 0 && surg_type_dim(t, i)->value <= 0) return true;
  }
  return false;
}

static void count_error(void *user, const surg_check_finding *f) {
  *(bool *)user = *(bool *)user || f->severity == SURG_ERROR;
}

/* Makes a dimension of an input 1; the model must stay valid. */
static bool with_one(const surg__shrinking *s, size_t input, size_t axis) {
  surg_model *m = surg_model_clone(*s->best);
  surg_graph *g = m ? surg_model_graph(m) : NULL;
  const surg_value *in = g ? surg_graph_input(g, input) : NULL;
  const surg_type *type = in ? surg_value_declared_type(in) : NULL;
  const char *symbol = type ? surg_type_dim(type, axis)->param : NULL;
  bool ok = type != NULL, invalid = false;
  for (size_t i = 0; ok && i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (!is_shaped(t) || surg_value_is_initializer(v) || (!symbol && i != input)) continue;
    const surg_type *now = smaller(m, t, axis, symbol);
    ok = now && surg_value_set_declared_type(v, now) == SURG_OK;
  }
  ok = ok && surg_model_infer(*s->best) == SURG_OK && surg_model_infer(m) == SURG_OK &&
       !loses_sizes(*s->best, m) && follow(m) &&
       surg_check(m, 0, count_error, &invalid, NULL) == SURG_OK && !invalid;
  if (ok) return s->keep(s->user, m);
  surg_model_free(m);
  return false;
}

static bool shrink_sizes(const surg__shrinking *s) {
  bool any = false;
  for (size_t i = 0; !s->late(s->user) && i < surg_graph_input_count(surg_model_graph(*s->best));
       i++) {
    const surg_type *t = surg_value_declared_type(surg_graph_input(surg_model_graph(*s->best), i));
    const size_t rank = is_shaped(t) ? surg_type_rank(t) : 0;
    for (size_t axis = 0; axis < rank && !s->late(s->user); axis++) {
      const surg_value *v = surg_graph_input(surg_model_graph(*s->best), i);
      const surg_type *now = v ? surg_value_declared_type(v) : NULL;
      if (!is_shaped(now) || surg_type_rank(now) <= axis) break;
      const surg_dim *d = surg_type_dim(now, axis);
      if (d->param || d->value > 1) any |= with_one(s, i, axis);
    }
  }
  return any;
}

bool surg__shrink(const surg__shrinking *s) {
  const bool weights = shrink_weights(s);
  return shrink_sizes(s) || weights;
}
