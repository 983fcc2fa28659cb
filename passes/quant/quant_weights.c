/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizes weights: their constants, and the DequantizeLinear that floats are read from. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "../util/give.h"
#include "quant.h"

#define OPSET_SINGLE 10 /* one scale for a tensor */
#define OPSET_SLICES 13
#define OPSET_HALF 19   /* scales of 16 bits, and float8 */
#define OPSET_BLOCKS 21 /* blocks, 4 and 16 bits */

surg_node *quant_after(const surg_value *v) {
  surg_node *by = surg_value_producer(v, NULL);
  return by ? surg_node_next(by) : surg_graph_first_node(surg_value_graph(v));
}

const char *quant_stem(quant *c, const surg_value *v, const char *suffix) {
  const char *name = surg_value_name(v);
  const size_t n = strlen(name) + strlen(suffix) + 1;
  char *stem = surg_pass_alloc(c->p, n);
  if (stem) snprintf(stem, n, "%s%s", name, suffix);
  return stem;
}

surg_node *quant_node(quant *c, surg_graph *g, surg_node *before, const char *op,
                      const surg_value *v, const char *suffix) {
  surg_node *n = surg_graph_add_node(g, before, "", op, 1);
  const char *stem = n ? quant_stem(c, v, suffix) : NULL;
  const char *name = stem ? surg_graph_fresh_name(g, stem) : NULL;
  if (!name || surg_value_rename(surg_node_output(n, 0), name)) return NULL;
  const size_t room = strlen(name) + strlen(op) + 2;
  char *text = surg_pass_alloc(c->p, room);
  if (!text) return NULL;
  snprintf(text, room, "%s_%s", name, op);
  name = surg_graph_fresh_name(g, text);
  return name && surg_node_set_name(n, name) == SURG_OK ? n : NULL;
}

/* --- constants --- */

/* The first opset of ONNX that restores such a weight. */
static int64_t opset_of(const quant_weight *w, int dtype) {
  if (w->block || dtype == SURG_INT4 || dtype == SURG_UINT4 || dtype == SURG_INT16 ||
      dtype == SURG_UINT16)
    return OPSET_BLOCKS;
  if (quant_dtype(w->v) != SURG_FLOAT || dtype == SURG_FLOAT8E4M3FN) return OPSET_HALF;
  return w->each ? OPSET_SLICES : OPSET_SINGLE;
}

/* Why DequantizeLinear cannot restore the weight in its graph, or FREE. One scale for the tensor is
 * used where the opset has no other. */
static quant_why version_why(quant_weight *w, int dtype) {
  const surg_graph *g = surg_value_graph(w->v);
  const int64_t opset = surg_graph_opset(g, "");
  if (!give_builtin(g, "DequantizeLinear")) return QUANT_OPSET;
  if (surg_model_ir_version(surg_graph_model(g)) < surg_dtype_ir_version(dtype)) return QUANT_IR;
  if (opset_of(w, dtype) == OPSET_SLICES && opset < OPSET_SLICES) {
    w->each = false;
    w->narrowed = true;
  }
  return opset >= opset_of(w, dtype) ? QUANT_FREE : QUANT_OPSET;
}

surg_value *quant_constant(quant *c, quant_weight *w, const char *suffix, surg_tensor *t) {
  const char *stem = t ? quant_stem(c, w->v, suffix) : NULL;
  surg_value *v = stem ? surg_graph_constant(surg_value_graph(w->v),
                                             quant_after(w->last ? w->last : w->v), stem, t)
                       : NULL;
  if (v) w->last = v;
  return v;
}

surg_value *quant_scale(quant *c, quant_weight *w) {
  if (!w->scale) w->scale = quant_constant(c, w, "_scale", w->scales);
  return w->scale;
}

surg_value *quant_zero(quant *c, quant_weight *w, bool *none) {
  /* In blocks, zero points of 0 would add to the size. */
  *none = w->block && w->symmetric && w->dtype != SURG_UINT8 && w->dtype != SURG_UINT4 &&
          w->dtype != SURG_UINT16;
  if (!w->zero && !*none) w->zero = quant_constant(c, w, "_zero_point", w->zeros);
  return w->zero;
}

bool quant_weight_make(quant *c, quant_weight *w, int dtype, bool asymmetric) {
  const surg_tensor *t = surg_value_constant(w->v);
  surg_tensor *q, *scale, *zero;
  if (w->q || w->why != QUANT_FREE) return true;
  surg_quantization how = {.size = sizeof how,
                           .dtype = dtype,
                           .symmetric = !asymmetric,
                           .reduced = c->reduced,
                           .each = w->each,
                           .axis = w->block ? w->sum : w->axis,
                           .block = w->each ? w->block : 0};
  assert(dtype > 0 && dtype < SURG_DTYPE_COUNT && (!w->block || w->each));
  const surg_status s = surg_tensor_quantize(c->m, t, &how, &q, &scale, &zero);
  if (s == SURG_EINVALID) w->why = QUANT_NAN;
  if (s == SURG_EUNSUPPORTED)
    w->why = quant_dtype(w->v) == SURG_DOUBLE ? QUANT_DTYPE : QUANT_ABSENT;
  if (s == SURG_EINVALID || s == SURG_EUNSUPPORTED) return true;
  if (s != SURG_OK) return false;
  w->dtype = dtype;
  w->symmetric = how.symmetric;
  w->scales = scale;
  w->zeros = zero;
  w->q = quant_constant(c, w, "_quantized", q);
  w->signal = how.signal;
  w->noise = how.noise;
  w->before = surg_tensor_bytes(t);
  return w->q != NULL;
}

/* --- DequantizeLinear --- */

static bool restore(quant *c, quant_weight *w) {
  bool none;
  surg_value *scale = quant_scale(c, w), *zero = quant_zero(c, w, &none);
  if (!scale || (!zero && !none)) return false;
  surg_node *n = quant_node(c, surg_value_graph(w->v), quant_after(w->last), "DequantizeLinear",
                            w->v, "_dequantized");
  if (!n || surg_node_set_input(n, 0, w->q) || surg_node_set_input(n, 1, scale) ||
      (zero && surg_node_set_input(n, 2, zero)))
    return false;
  if (w->each && surg_node_set_int(n, "axis", (int64_t)(w->block ? w->sum : w->axis))) return false;
  if (w->each && w->block && surg_node_set_int(n, "block_size", (int64_t)w->block)) return false;
  w->last = w->restored = surg_node_output(n, 0);
  return true;
}

/* --- targets --- */

/* As quant_target_types, from the target itself. */
static uint64_t stated_by(const quant *c, const quant_stated *s) {
  surg_model *m = surg_model_new(surg_pass_context(c->p), surg_model_ir_version(c->m), s->opset);
  const surg_node *n =
      m ? surg_graph_add_node(surg_model_graph(m), NULL, "", s->op, s->output ? s->index + 1 : 1)
        : NULL;
  const uint64_t types = n ? surg_target_types(c->target, n, s->output, s->index) : 0;
  surg_model_free(m);
  return types;
}

uint64_t quant_target_types(quant *c, const surg_graph *g, const char *op, bool output, size_t i) {
  const int64_t opset = surg_graph_opset(g, "");
  if (!c->target) return UINT64_MAX;
  for (uint32_t k = 0; k < c->n_stated; k++) {
    const quant_stated *s = &c->stated[k];
    if (strcmp(s->op, op) == 0 && s->opset == opset && s->output == output && s->index == i)
      return s->types;
  }
  quant_stated s = {.op = op, .opset = opset, .output = output, .index = i};
  s.types = stated_by(c, &s);
  if (c->n_stated < QUANT_STATED) c->stated[c->n_stated++] = s;
  return s.types;
}

static bool target_takes(quant *c, const quant_weight *w, int dtype) {
  const surg_graph *g = surg_value_graph(w->v);
  return (quant_target_types(c, g, "DequantizeLinear", false, 0) >> dtype & 1) &&
         (quant_target_types(c, g, "DequantizeLinear", true, 0) >> quant_dtype(w->v) & 1);
}

/* An input that a weight was before IR version 4. */
static bool drop_input(surg_value *v) {
  surg_graph *g = surg_value_graph(v);
  for (size_t i = surg_graph_input_count(g); i-- > 0;)
    if (surg_graph_input(g, i) == v) return surg_graph_remove_input(g, i) == SURG_OK;
  return true;
}

bool quant_drop_constant(surg_value *v) {
  if (!v || !surg_value_constant(v) || surg_value_use_count(v, 1) || surg_value_is_pinned(v))
    return true;
  surg_node *n = surg_value_producer(v, NULL);
  if (n) return surg_node_erase(n) == SURG_OK;
  if (surg_value_is_input(v) && !drop_input(v)) return false;
  return surg_value_erase_initializer(v) == SURG_OK;
}

/* The blocks of a weight: of the axis that is summed over, at most its length. */
static void choose_block(const quant *c, quant_weight *w) {
  const surg_tensor *t = surg_value_constant(w->v);
  if (!c->block || !w->each || w->sum >= surg_tensor_rank(t)) return;
  const uint64_t length = (uint64_t)surg_tensor_dims(t)[w->sum];
  w->block = c->block < length ? c->block : length;
  if (w->block < length || surg_tensor_rank(t) > 1) return;
  w->block = 0; /* one scale in a vector is one for the tensor to engines */
  w->each = false;
}

static bool wanted(const quant *c, const quant_weight *w,
                   bool (*want)(const quant *c, const quant_site *s)) {
  for (uint32_t i = w->sites; i != QUANT_NONE; i = c->sites[i].next)
    if (c->sites[i].why == QUANT_FREE && (!want || want(c, &c->sites[i]))) return true;
  return false;
}

static bool reread(quant *c, quant_weight *w, bool (*want)(const quant *c, const quant_site *s)) {
  for (uint32_t i = w->sites; i != QUANT_NONE; i = c->sites[i].next) {
    const quant_site *s = &c->sites[i];
    if (s->why != QUANT_FREE || (want && !want(c, s))) continue;
    if (surg_node_set_input(s->turn ? s->turn : s->n, s->turn ? 0 : s->input, w->restored))
      return false;
    c->nodes++;
  }
  return quant_drop_constant(w->v);
}

bool quant_restore_weights(quant *c, bool (*want)(const quant *c, const quant_site *s)) {
  const int dtype = c->dtype ? c->dtype : SURG_INT8;
  for (uint32_t i = 0; i < c->n_weights; i++) {
    quant_weight *w = &c->weights[i];
    if (w->why != QUANT_FREE || !wanted(c, w, want)) continue;
    const bool made = w->q != NULL;
    if (!made) choose_block(c, w);
    const int to = made ? w->dtype : dtype;
    w->why = (uint8_t)version_why(w, to);
    if (w->why == QUANT_FREE && !target_takes(c, w, to)) w->why = QUANT_TARGET;
    if (w->why == QUANT_FREE && !quant_allow(c)) w->why = QUANT_LIMIT;
    if (w->why != QUANT_FREE) continue;
    if (!quant_weight_make(c, w, to, c->asymmetric)) return false;
    if (!w->q) {
      quant_give_back(c);
      continue;
    }
    if (!restore(c, w)) return false;
    if (!reread(c, w, want)) return false;
  }
  return surg_model_status(c->m) == SURG_OK;
}
