/* SPDX-License-Identifier: Apache-2.0 */
/* Puts QuantizeLinear and DequantizeLinear at values, and restores biases from integers. */
#include <math.h>
#include <string.h>

#include "quant_static.h"

#define BIAS_MOST ((size_t)1 << 22) /* elements of a bias */

/* --- constants --- */

static surg_value *number(quant_static_state *s, quant_value *x, const char *suffix, int dtype,
                          const void *one) {
  const char *stem = quant_stem(s->c, x->v, suffix);
  surg_tensor *t = stem ? surg_tensor_new_numbers(s->c->m, dtype, NULL, 0, one, 1) : NULL;
  surg_graph *g = surg_value_graph(x->v);
  return t ? surg_graph_constant(g, surg_graph_first_node(g), stem, t) : NULL;
}

/* The constants of the scale of a value, which others may have, too. */
static bool constants(quant_static_state *s, quant_value *x) {
  const float scale = (float)x->scale;
  const uint8_t zero = (uint8_t)x->zero;
  if (!x->scale_v) x->scale_v = number(s, x, "_scale", SURG_FLOAT, &scale);
  if (x->scale_v && !x->zero_v) x->zero_v = number(s, x, "_zero_point", s->activations, &zero);
  return x->zero_v != NULL;
}

/* --- values --- */

static bool feed(surg_node *n, surg_value *x, const quant_value *root) {
  return surg_node_set_input(n, 0, x) == SURG_OK &&
         surg_node_set_input(n, 1, root->scale_v) == SURG_OK &&
         surg_node_set_input(n, 2, root->zero_v) == SURG_OK;
}

/* The value is an input of the graph, or other readers have floats: x->restored is beside it. */
static bool beside(quant_static_state *s, quant_value *x, const quant_value *root) {
  surg_graph *g = surg_value_graph(x->v);
  /* In a function the scale is the result of a Constant, the zero point that of one before it. */
  const surg_node *scale = surg_value_producer(root->scale_v, NULL);
  surg_node *before =
      scale && !surg_value_producer(x->v, NULL) ? surg_node_next(scale) : quant_after(x->v);
  surg_node *q = quant_node(s->c, g, before, "QuantizeLinear", x->v, "_quantized");
  surg_node *d = q ? quant_node(s->c, g, before, "DequantizeLinear", x->v, "_dequantized") : NULL;
  if (!d || !feed(q, x->v, root) || !feed(d, surg_node_output(q, 0), root)) return false;
  x->restored = surg_node_output(d, 0);
  return true;
}

/* The value keeps its name and readers as the restored one; its producer gets a new output. */
static bool instead(quant_static_state *s, quant_value *x, const quant_value *root) {
  size_t index;
  surg_graph *g = surg_value_graph(x->v);
  surg_node *by = surg_value_producer(x->v, &index), *before = surg_node_next(by);
  surg_node *q = quant_node(s->c, g, before, "QuantizeLinear", x->v, "_quantized");
  surg_node *d = q ? quant_node(s->c, g, before, "DequantizeLinear", x->v, "_restored") : NULL;
  if (!d || surg_node_take_output(d, 0, x->v)) return false;
  surg_value *made = surg_node_add_output(by, index);
  const char *stem = made ? quant_stem(s->c, x->v, "_float") : NULL;
  const char *name = stem ? surg_graph_fresh_name(g, stem) : NULL;
  return name && surg_value_rename(made, name) == SURG_OK && feed(q, made, root) &&
         feed(d, surg_node_output(q, 0), root);
}

static bool place_value(quant_static_state *s, quant_value *x) {
  quant_value *root = x->like == QUANT_NONE ? x : &s->values[x->like];
  if (!quant_allow(s->c)) return true;
  if (!constants(s, root)) return false;
  x->done = true;
  s->c->values++;
  return s->operands || !surg_value_producer(x->v, NULL) ? beside(s, x, root) : instead(s, x, root);
}

static bool reread(quant_static_state *s, const quant_member *m) {
  for (size_t i = 0; i < surg_node_input_count(m->n); i++) {
    const quant_value *x =
        quant_is_operand(m, i) ? quant_value_of(s, surg_node_input(m->n, i)) : NULL;
    if (x && x->restored && surg_node_set_input(m->n, i, x->restored)) return false;
  }
  return true;
}

/* --- biases --- */

typedef struct bias {
  surg_value *v;
  surg_tensor *t;
  const quant_value *x; /* the operand */
  const quant_weight *w;
  size_t n;
  float *numbers, *scales;
  int32_t *q;
} bias;

/* The operand of a product, if it is restored from integers. */
static const quant_value *operand_of(quant_static_state *s, const quant_member *m) {
  const quant_value *v = quant_operand(s, m, 0);
  if (!v || !v->done) return NULL;
  return v->like == QUANT_NONE ? v : &s->values[v->like];
}

/* Whether the bias of a product can be stored in integers, with the scales of the products. */
static bool bias_of(quant_static_state *s, const quant_member *m, bias *b) {
  if (s->activations == SURG_FLOAT8E4M3FN || m->site == QUANT_NONE ||
      (m->kind != QUANT_CONV && m->kind != QUANT_GEMM))
    return false;
  b->x = operand_of(s, m);
  b->w = &s->c->weights[s->c->sites[m->site].weight];
  b->v = surg_node_input(m->n, 2);
  b->t = b->v ? surg_value_settled(b->v) : NULL;
  if (!b->x || !b->t || !b->w->symmetric || surg_tensor_rank(b->t) != 1 ||
      surg_tensor_dtype(b->t) != SURG_FLOAT || surg_tensor_is_sparse(b->t) ||
      surg_pass_keeps_value(s->c->p, b->v))
    return false;
  b->n = (size_t)surg_tensor_count(b->t);
  return b->n > 0 && b->n <= BIAS_MOST && (!b->w->each || surg_tensor_count(b->w->scales) == b->n);
}

/* False: a number is beyond 32 bits, or not finite. */
static bool round_bias(bias *b, size_t scales) {
  for (size_t i = 0; i < b->n; i++) {
    const float scale = b->scales[scales > 1 ? i : 0];
    const double q = nearbyint((double)b->numbers[i] / (double)scale);
    if (!(fabs(q) <= INT32_MAX)) return false;
    b->q[i] = (int32_t)q;
  }
  return true;
}

/* Reads the numbers. *fits: they can be rounded. False: out of memory. */
static bool fill_bias(quant_static_state *s, bias *b, size_t scales, bool *fits) {
  const size_t bytes = b->n * sizeof(float);
  b->numbers = surg_pass_alloc(s->c->p, bytes);
  b->q = surg_pass_alloc(s->c->p, bytes);
  b->scales = surg_pass_alloc(s->c->p, scales * sizeof(float));
  if (!b->numbers || !b->q || !b->scales) return false;
  *fits = surg_tensor_read_numbers(b->t, 0, b->numbers, b->n) == SURG_OK &&
          surg_tensor_read_numbers(b->w->scales, 0, b->scales, scales) == SURG_OK;
  for (size_t i = 0; i < scales; i++) {
    b->scales[i] *= (float)b->x->scale;
    *fits = *fits && b->scales[i] > 0;
  }
  *fits = *fits && round_bias(b, scales);
  return true;
}

static bool place_bias(quant_static_state *s, const quant_member *m) {
  bias b = {0};
  bool fits;
  if (!bias_of(s, m, &b)) return true;
  const size_t scales = (size_t)surg_tensor_count(b.w->scales), rank = b.w->each;
  const int64_t n = (int64_t)b.n;
  surg_graph *g = surg_node_graph(m->n);
  if (!fill_bias(s, &b, scales, &fits)) return false;
  if (!fits || !quant_allow(s->c)) return true;
  surg_tensor *q = surg_tensor_new_numbers(s->c->m, SURG_INT32, &n, 1, b.q, b.n);
  surg_tensor *t = surg_tensor_new_numbers(s->c->m, SURG_FLOAT, &n, rank, b.scales, scales);
  const char *qn = quant_stem(s->c, b.v, "_quantized"), *tn = quant_stem(s->c, b.v, "_scale");
  surg_value *qv = q && qn ? surg_graph_constant(g, m->n, qn, q) : NULL;
  surg_value *tv = t && tn ? surg_graph_constant(g, m->n, tn, t) : NULL;
  surg_node *d =
      qv && tv ? quant_node(s->c, g, m->n, "DequantizeLinear", b.v, "_dequantized") : NULL;
  if (!d || surg_node_set_input(d, 0, qv) || surg_node_set_input(d, 1, tv) ||
      (rank && surg_node_set_int(d, "axis", 0)) ||
      surg_node_set_input(m->n, 2, surg_node_output(d, 0)))
    return false;
  return quant_drop_constant(b.v);
}

bool quant_place(quant_static_state *s) {
  for (size_t i = 0; i < s->n_values; i++)
    if (s->values[i].marked && !place_value(s, &s->values[i])) return false;
  for (size_t i = 0; i < s->n_members; i++) {
    const quant_member *m = &s->members[i];
    if (m->why != QUANT_FREE || (s->operands && m->role != QUANT_PRODUCT)) continue;
    if (!reread(s, m)) return false;
    if (!s->operands && m->role == QUANT_PRODUCT && !place_bias(s, m)) return false;
  }
  return surg_model_status(s->c->m) == SURG_OK;
}
