/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM as basic operators, equivalent to lib/eval/recurrent/recurrent.c. A small
 * known number of steps is unrolled; otherwise a Scan iterates over the steps. The products with
 * the input are computed for all steps at once. If sequences have different lengths, a mask
 * keeps the state after the end of a sequence, and for the reverse direction each sequence is
 * reversed on its own. */
#include <math.h>

#include "eval/nn/activation.h"
#include "rewrite/lower/native.h"

#define MOST_GATES 4u
#define MOST_FUNCTIONS 3u /* per direction */

typedef struct layer {
  surg__builder *b;
  surg_node *n;
  int op, type; /* type: of the computation */
  uint32_t gates, functions, directions;
  int64_t hidden;
  bool batch_first, backward, input_forget, reset_last;
  double clip; /* INFINITY: no clipping */
  surg__activation acts[2 * MOST_FUNCTIONS];
  surg__built x, w, r, bias, lengths, h0, c0, p; /* v NULL: absent */
} layer;

/* Operands that the steps of a direction read. */
typedef struct direction {
  const layer *l;
  const surg__activation *f;
  surg__built r,
      rh; /* recurrence weights, transposed; rh: last GRU gate */
  surg__built rb;    /* recurrence bias, where it cannot be added to the input bias */
  surg__built p[3];  /* peephole weights of the gates i, o, f */
  bool backward;
} direction;

typedef struct state {
  surg__built h, c; /* [batch, hidden] */
} state;

/* --- reading --- */

static bool is_word(surg_str s, const char *word) {
  return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

static bool read_direction(layer *l) {
  if (!surg_node_attr(l->n, "direction")) return true; /* the default is misspelt in GRU-1 */
  const surg_str s = surg_node_string(l->n, "direction", "forward");
  l->backward = is_word(s, "reverse");
  if (is_word(s, "bidirectional")) l->directions = 2;
  return l->backward || l->directions == 2 || is_word(s, "forward");
}

/* Reads the activation functions. Each must be an operator of the opset, with parameters that all
 * runtimes interpret alike. */
static bool read_functions(layer *l) {
  static const char *const words[] = {"sigmoid", "tanh", "tanh"}, *const rnn[] = {"tanh"};
  const char *why;
  const uint32_t n = l->functions * l->directions;
  if (surg__activations_of(l->n, l->op == SURG_OP_RNN ? rnn : words, l->functions, n, l->acts,
                           &why) != SURG__K_OK)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    const surg__activation *a = &l->acts[i];
    const char *op = a->kind == SURG__ACT_OPERATOR ? surg__op_name(a->op) : "Tanh";
    if (a->disputed || !surg_schema_find("", op, l->b->m->opset)) return false;
  }
  return true;
}

static bool read_attributes(layer *l) {
  surg__builder *b = l->b;
  l->op = surg_node_op(l->n);
  l->gates = l->op == SURG_OP_LSTM ? 4 : l->op == SURG_OP_GRU ? 3 : 1;
  l->functions = l->op == SURG_OP_LSTM ? 3 : l->op == SURG_OP_GRU ? 2 : 1;
  l->directions = 1;
  l->batch_first = surg_node_int(l->n, "layout", 0) != 0;
  l->reset_last = surg_node_int(l->n, "linear_before_reset", 0) != 0;
  l->input_forget = surg_node_int(l->n, "input_forget", 0) != 0;
  l->clip = surg_node_attr(l->n, "clip") ? surg_node_float(l->n, "clip", 0) : INFINITY;
  if (!surg__b_attrs_known(b) || !(l->clip >= 0) || !read_direction(l)) return false;
  /* Runtimes disagree on whether the cell state is clipped before h is computed. */
  if (l->op == SURG_OP_LSTM && isfinite(l->clip)) return false;
  return read_functions(l);
}

/* Reads an operand, which may be absent. False: it has another rank. */
static bool operand(const layer *l, const char *name, uint32_t rank, surg__built *out) {
  if (!surg__b_get(l->b, name)) return true;
  return surg__built_get(l->b, name, out) && out->rank == rank;
}

static bool sized(const surg__built *x, uint32_t axis, int64_t n) {
  return !x->v || x->d[axis].n < 0 || x->d[axis].n == n;
}

static bool read_operands(layer *l) {
  if (!operand(l, "x", 3, &l->x) || !operand(l, "w", 3, &l->w) || !operand(l, "r", 3, &l->r) ||
      !operand(l, "bias", 2, &l->bias) || !operand(l, "lengths", 1, &l->lengths) ||
      !operand(l, "h0", 3, &l->h0))
    return false;
  if (l->op == SURG_OP_LSTM && (!operand(l, "c0", 3, &l->c0) || !operand(l, "p", 2, &l->p)))
    return false;
  const int64_t n = l->r.d[2].n, d = l->directions;
  l->hidden = n;
  if (n < 1 || n > INT32_MAX || surg_node_int(l->n, "hidden_size", n) != n) return false;
  l->type = l->x.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  const int64_t rows = (int64_t)l->gates * n;
  return surg__dtype_is_float(l->x.dtype) && sized(&l->w, 0, d) && sized(&l->r, 0, d) &&
         sized(&l->w, 1, rows) && sized(&l->r, 1, rows) && sized(&l->bias, 1, 2 * rows) &&
         sized(&l->p, 1, 3 * n) && sized(&l->h0, 2, n) && sized(&l->c0, 2, n);
}

/* --- functions and gates --- */

static surg__built op2(const layer *l, const char *op, surg__built x, surg__built y) {
  return surg__built_binary(l->b, op, x, y);
}

static surg__built clipped(const layer *l, surg__built x) {
  surg__builder *b = l->b;
  if (!isfinite(l->clip)) return x;
  if (b->m->opset >= 11) {
    surg_value *low = surg__b_scalar(b, x.dtype, -l->clip);
    surg_value *const in[3] = {x.v, low, surg__b_scalar(b, x.dtype, l->clip)};
    x.v = surg__b_node(b, "Clip", in, 3);
    return x;
  }
  x.v = surg__b_unary(b, "Clip", x.v);
  surg__b_set_float(b, x.v, "min", (float)-l->clip);
  surg__b_set_float(b, x.v, "max", (float)l->clip);
  return x;
}

static surg__built activated(const direction *d, uint32_t which, surg__built x) {
  const layer *l = d->l;
  const surg__activation *f = &d->f[which];
  surg__builder *b = l->b;
  x = clipped(l, x);
  if (f->kind == SURG__ACT_AFFINE) {
    x = surg__built_number(b, "Mul", x, f->alpha);
    return surg__built_number(b, "Add", x, f->beta);
  }
  if (f->kind == SURG__ACT_SCALED_TANH) {
    x = surg__built_unary(b, "Tanh", surg__built_number(b, "Mul", x, f->beta));
    return surg__built_number(b, "Mul", x, f->alpha);
  }
  x = surg__built_unary(b, surg__op_name(f->op), x);
  if (f->takes > 0) surg__b_set_float(b, x.v, "alpha", (float)f->alpha);
  if (f->takes > 1) surg__b_set_float(b, x.v, "beta", (float)f->beta);
  return x;
}

/* Splits the last axis into equal parts. */
static void split(const layer *l, surg__built x, uint32_t n, surg__built *out) {
  surg__builder *b = l->b;
  out[0] = x;
  if (n == 1) return;
  x.d[x.rank - 1] = surg__bdim_fixed(l->hidden);
  surg_value *first = surg__b_unary(b, "Split", x.v);
  surg__b_set_int(b, first, "axis", (int64_t)x.rank - 1);
  if (b->m->opset >= 18) surg__b_set_int(b, first, "num_outputs", n);
  for (uint32_t i = 0; i < n; i++) {
    out[i] = x;
    out[i].v = i ? surg__b_output(b, first, i) : first;
  }
}

/* --- one step; `x` is the contribution of the input to the gates --- */

static state rnn_step(const direction *d, surg__built x, state s) {
  s.h = activated(d, 0, op2(d->l, "Add", x, surg__built_matmul(d->l->b, s.h, d->r)));
  return s;
}

/* GRU step; the gates are z, r, h. */
static state gru_step(const direction *d, surg__built x, state s) {
  const layer *l = d->l;
  surg__built xs[3], hs[3];
  surg__built from_h = surg__built_matmul(l->b, s.h, d->r);
  if (d->rb.v) from_h = op2(l, "Add", from_h, d->rb);
  split(l, x, 3, xs);
  split(l, from_h, l->reset_last ? 3 : 2, hs);
  const surg__built z = activated(d, 0, op2(l, "Add", xs[0], hs[0]));
  const surg__built r = activated(d, 0, op2(l, "Add", xs[1], hs[1]));
  const surg__built seen = l->reset_last ? op2(l, "Mul", r, hs[2])
                                      : surg__built_matmul(l->b, op2(l, "Mul", r, s.h), d->rh);
  const surg__built fresh = activated(d, 1, op2(l, "Add", xs[2], seen));
  const surg__built rest = op2(l, "Sub", surg__built_scalar(l->b, l->type, 1), z);
  const surg__built gained = op2(l, "Mul", rest, fresh);
  s.h = op2(l, "Add", gained, op2(l, "Mul", z, s.h));
  return s;
}

/* LSTM step; the gates are i, o, f, c. */
static state lstm_step(const direction *d, surg__built x, state s) {
  const layer *l = d->l;
  surg__built g[MOST_GATES];
  const bool peeps = d->p[0].v != NULL;
  split(l, op2(l, "Add", x, surg__built_matmul(l->b, s.h, d->r)), 4, g);
  if (peeps) g[0] = op2(l, "Add", g[0], op2(l, "Mul", d->p[0], s.c));
  const surg__built in = activated(d, 0, g[0]);
  surg__built forget;
  if (l->input_forget) {
    forget = op2(l, "Sub", surg__built_scalar(l->b, l->type, 1), in);
  } else {
    if (peeps) g[2] = op2(l, "Add", g[2], op2(l, "Mul", d->p[2], s.c));
    forget = activated(d, 0, g[2]);
  }
  const surg__built kept = op2(l, "Mul", forget, s.c);
  s.c = op2(l, "Add", kept, op2(l, "Mul", in, activated(d, 1, g[3])));
  if (peeps) g[1] = op2(l, "Add", g[1], op2(l, "Mul", d->p[1], s.c));
  const surg__built out = activated(d, 0, g[1]);
  s.h = op2(l, "Mul", out, activated(d, 2, s.c));
  return s;
}

static state next(const direction *d, surg__built x, state s) {
  switch (d->l->op) {
    case SURG_OP_LSTM:
      return lstm_step(d, x, s);
    case SURG_OP_GRU:
      return gru_step(d, x, s);
    default:
      return rnn_step(d, x, s);
  }
}

/* One step at position `at` of the sequences, with the mask for ended
 * sequences; *y is its output. */
static state walked(const direction *d, surg__built x, surg__built at, state s, surg__built *y) {
  const layer *l = d->l;
  const state t = next(d, x, s);
  *y = t.h;
  if (!l->lengths.v) return t;
  const surg__built goes_on = op2(l, "Less", at, l->lengths);
  *y = surg__built_where(l->b, goes_on, t.h, surg__built_scalar(l->b, l->type, 0));
  s.h = surg__built_where(l->b, goes_on, t.h, s.h);
  if (s.c.v) s.c = surg__built_where(l->b, goes_on, t.c, s.c);
  return s;
}

/* --- all steps of a direction --- */

static surg__built unrolled(const direction *d, surg__built x, state *s) {
  surg__builder *b = d->l->b;
  const int64_t steps = x.d[0].n;
  surg__built *out = surg__arena_array(b->m->arena, (size_t)steps + 1, sizeof *out);
  if (!out) {
    surg__b_no_memory(b);
    return x;
  }
  for (int64_t i = 0; i < steps; i++) {
    const int64_t t = d->backward && !d->l->lengths.v ? steps - 1 - i : i;
    const surg__built at = surg__built_scalar(b, SURG_INT64, (double)t);
    *s = walked(d, surg__built_gather(b, x, at, 0), at, *s, &out[t]);
    out[t] = surg__built_unsqueeze(b, out[t], 0);
  }
  return surg__built_concat(b, out, (size_t)steps, 0);
}

static surg__built scanned(const direction *d, surg__built x, state *s) {
  const layer *l = d->l;
  surg__builder *b = l->b;
  surg_value *in[4];
  size_t n = 0, states = s->c.v ? 2 : 1;
  in[n++] = s->h.v;
  if (s->c.v) in[n++] = s->c.v;
  in[n++] = x.v;
  if (l->lengths.v) in[n++] = surg__built_range(b, x.d[0], SURG_INT64).v;
  surg_value *scan = surg__b_node(b, "Scan", in, n);
  const int64_t back[1] = {1};
  surg__b_set_int(b, scan, "num_scan_inputs", (int64_t)(n - states));
  if (d->backward && !l->lengths.v) {
    surg__b_set_ints(b, scan, "scan_input_directions", back, 1);
    surg__b_set_ints(b, scan, "scan_output_directions", back, 1);
  }
  surg_value *last_c = states == 2 ? surg__b_output(b, scan, 1) : NULL;
  surg_value *all = surg__b_output(b, scan, states);
  const surg__bscope outside = surg__b_enter(b, scan, "body");
  state inner = *s;
  surg__built at = {.dtype = SURG_INT64}, step = x, y;
  inner.h.v = surg__b_body_input(b, "h", l->type);
  if (s->c.v) inner.c.v = surg__b_body_input(b, "c", l->type);
  step.v = surg__b_body_input(b, "x", l->type);
  memmove(&step.d[0], &step.d[1], 2 * sizeof step.d[0]);
  step.rank = 2;
  if (l->lengths.v) at.v = surg__b_body_input(b, "at", SURG_INT64);
  inner = walked(d, step, at, inner, &y);
  /* Two outputs must not be the same value. */
  if (y.v == inner.h.v) y = surg__built_unary(b, "Identity", y);
  surg__b_body_output(b, inner.h.v, l->type);
  if (s->c.v) surg__b_body_output(b, inner.c.v, l->type);
  surg__b_body_output(b, y.v, l->type);
  surg__b_leave(b, outside);
  s->h.v = scan;
  s->c.v = last_c;
  x.v = all;
  x.d[2] = surg__bdim_fixed(l->hidden);
  if (surg__bdim_filled(&x.d[0])) return x;
  /* If there may be no steps, the sizes of what Scan returns are not reliable: reshape it. */
  const surg__bdim shape[3] = {x.d[0], x.d[1], x.d[2]};
  for (uint32_t i = 0; i < 3; i++)
    x.d[i] = (surg__bdim){.n = -1, .of = all, .axis = i, .dim = {.value = -1}};
  return surg__built_reshape(b, x, shape, 3);
}

/* Reverses each sequence on its own: [steps, batch, ..]. */
static surg__built turned(const layer *l, surg__built x) {
  const int64_t one[1] = {-1};
  surg_value *lengths = surg__bint_reshape(l->b, l->lengths.v, one, 1);
  x.v = surg__b_binary(l->b, "ReverseSequence", x.v, lengths);
  surg__b_set_int(l->b, x.v, "time_axis", 0);
  surg__b_set_int(l->b, x.v, "batch_axis", 1);
  return x;
}

/* --- operands of a direction --- */

/* The part of operand x for direction i, in the type of the computation. */
static surg__built of_direction(const layer *l, surg__built x, uint32_t axis, uint32_t i) {
  const surg__built at = surg__built_scalar(l->b, SURG_INT64, i);
  return surg__built_cast(l->b, surg__built_gather(l->b, x, at, axis), l->type);
}

static surg__built columns(const layer *l, surg__built x, int64_t from, int64_t to) {
  return surg__built_slice(l->b, x, x.rank - 1, surg__bdim_fixed(from), surg__bdim_fixed(to));
}

static state first_state(const layer *l, uint32_t i, surg__bdim batch) {
  const surg__bdim d[2] = {batch, surg__bdim_fixed(l->hidden)};
  const uint32_t axis = l->batch_first ? 1 : 0;
  state s = {{0}, {0}};
  s.h = l->h0.v ? of_direction(l, l->h0, axis, i) : surg__built_fill(l->b, l->type, 0, d, 2);
  if (l->op != SURG_OP_LSTM) return s;
  s.c = l->c0.v ? of_direction(l, l->c0, axis, i) : surg__built_fill(l->b, l->type, 0, d, 2);
  return s;
}

/* The contribution of the input to the gates of all steps, [steps, batch, gates * hidden],
 * including the biases where possible. */
static surg__built read_weights(const layer *l, uint32_t i, surg__built x, direction *d) {
  static const int64_t turn[2] = {1, 0};
  surg__builder *b = l->b;
  const int64_t n = l->hidden, rows = (int64_t)l->gates * n;
  surg__built w = surg__built_transpose(b, of_direction(l, l->w, 0, i), turn);
  d->r = surg__built_transpose(b, of_direction(l, l->r, 0, i), turn);
  w.d[1] = d->r.d[1] = surg__bdim_fixed(rows);
  if (l->op == SURG_OP_GRU && !l->reset_last) {
    const surg__built all = d->r;
    d->r = columns(l, all, 0, 2 * n);
    d->rh = columns(l, all, 2 * n, rows);
  }
  x = surg__built_matmul(b, x, w);
  if (l->p.v) {
    const surg__built p = of_direction(l, l->p, 0, i);
    for (int k = 0; k < 3; k++) d->p[k] = columns(l, p, k * n, (k + 1) * n);
  }
  if (!l->bias.v) return x;
  surg__built both = of_direction(l, l->bias, 0, i);
  both.d[0] = surg__bdim_fixed(2 * rows);
  surg__built bias = columns(l, both, 0, rows);
  const surg__built rb = columns(l, both, rows, 2 * rows);
  if (l->op == SURG_OP_GRU && l->reset_last)
    d->rb = rb;
  else
    bias = op2(l, "Add", bias, rb);
  return op2(l, "Add", x, bias);
}

/* Replaces the final state of empty sequences by 0, which ignores the initial state. */
static surg__built unless_empty(const layer *l, surg__built x, surg__built first,
                                surg__bdim steps) {
  surg__builder *b = l->b;
  if (!first.v || (!l->lengths.v && surg__bdim_filled(&steps))) return x;
  const surg__built none = surg__built_scalar(b, SURG_INT64, 0);
  const surg__built length = l->lengths.v ? l->lengths : surg__bdim_scalar(b, steps, SURG_INT64);
  const surg__built some = op2(l, "Less", none, length);
  return surg__built_where(b, some, x, surg__built_scalar(b, l->type, 0));
}

/* Returns y as [steps, 1, batch, hidden]; *s: the states as [1, batch, hidden]. */
static surg__built run_direction(const layer *l, uint32_t i, surg__built x, bool few, state *s) {
  surg__builder *b = l->b;
  direction d = {.l = l, .f = &l->acts[i * l->functions], .backward = l->backward || i == 1};
  const bool turns = d.backward && l->lengths.v;
  if (turns) x = turned(l, x);
  *s = first_state(l, i, x.d[1]);
  x = read_weights(l, i, x, &d);
  surg__built y = few ? unrolled(&d, x, s) : scanned(&d, x, s);
  if (turns) y = turned(l, y);
  s->h = surg__built_unsqueeze(b, unless_empty(l, s->h, l->h0, x.d[0]), 0);
  if (s->c.v) s->c = surg__built_unsqueeze(b, unless_empty(l, s->c, l->c0, x.d[0]), 0);
  return surg__built_unsqueeze(b, y, 1);
}

/* Creates an output: concatenates the directions and, if required by `layout`, moves the batch axis
 * to the front. */
static void give(const layer *l, const char *name, const surg__built *parts, uint32_t axis) {
  static const int64_t whole[4] = {2, 0, 1, 3}, last[3] = {1, 0, 2};
  surg__builder *b = l->b;
  if (!surg__b_get(b, name)) return;
  surg__built y = surg__built_concat(b, parts, l->directions, axis);
  if (l->batch_first) y = surg__built_transpose(b, y, axis ? whole : last);
  surg__built_result(b, name, surg__built_cast(b, y, l->x.dtype));
}

/* y, h[, c] = Op <...> (x, w, r, bias, lengths, h0[, c0, p]) */
static surg_status recurrent_to_steps(surg__builder *b) {
  static const int64_t swap[3] = {1, 0, 2};
  layer l = {.b = b, .n = surg__b_matched(b)};
  surg__built y[2], h[2], c[2];
  if (!read_attributes(&l) || !read_operands(&l)) return SURG_EUNSUPPORTED;
  const int64_t steps = l.x.d[l.batch_first].n;
  const bool few = steps > 0 && steps * l.directions <= SURG_LIMIT_EMIT_STEPS;
  const bool turns = l.lengths.v && (l.backward || l.directions == 2);
  if (surg__b_bad(b, steps == 0, "there are no steps") ||
      surg__b_bad(b, b->m->opset < (turns ? 10 : 9), "the rewrite requires opset 9, in reverse 10"))
    return SURG_EUNSUPPORTED;
  surg__built x = l.batch_first ? surg__built_transpose(b, l.x, swap) : l.x;
  x = surg__built_cast(b, x, l.type);
  if (l.lengths.v)
    l.lengths = surg__built_unsqueeze(b, surg__built_cast(b, l.lengths, SURG_INT64), 1);
  for (uint32_t i = 0; i < l.directions; i++) {
    state s;
    y[i] = run_direction(&l, i, x, few, &s);
    h[i] = s.h;
    c[i] = s.c;
  }
  give(&l, "y", y, 1);
  give(&l, "h", h, 0);
  if (l.op == SURG_OP_LSTM) give(&l, "c", c, 0);
  return b->status;
}

const surg__native surg__natives_recurrent[] = {
    {"recurrent", recurrent_to_steps, "RNN, GRU and LSTM, their steps written out or as a Scan"},
    {NULL, NULL, NULL},
};
