/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM. Each batch entry is processed separately over its whole sequence. The state
 * is kept in double between steps and rounded only when it is stored to an output. */
#include <math.h>

#include "eval/nn/activation.h"
#include "eval/linear/dot.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"

typedef struct layer layer;
typedef void (*step)(const layer *l);

struct layer {
  surg_kctx *k;
  step step;
  uint64_t gates, directions, steps, batch, inputs, hidden;
  bool batch_first, reverse, input_forget, reset_last;
  double clip;                               /* INFINITY: no clipping */
  const double *x, *w, *r, *b, *p, *h0, *c0; /* as double; b, p, h0, c0 may be NULL */
  const int64_t *lengths;                    /* steps per batch entry; NULL: all */
  surg__activation acts[2 * 3];
  /* For the current direction: */
  const double *wd, *rd, *bd, *pd;
  const surg__activation *f;
  /* The state h and c, the products W x and R h of all gates, and a buffer for GRU's reset
   * state. */
  double *h, *c, *from_x, *from_h, *spare;
};

/* --- one step --- */

static double activate(const layer *l, uint32_t i, double v) {
  if (v > l->clip) v = l->clip;
  if (v < -l->clip) v = -l->clip;
  return surg__activate(&l->f[i], v);
}

/* Element i of the bias of gate g: of R if `recurrence`, else of W. 0 if B is absent. */
static double bias(const layer *l, bool recurrence, uint64_t g, uint64_t i) {
  uint64_t gate = g + (recurrence ? l->gates : 0);
  return l->bd ? l->bd[gate * l->hidden + i] : 0;
}

/* The input of gate g for element i: W x + R h + both biases, without peepholes. */
static double sum_of(const layer *l, uint64_t g, uint64_t i) {
  uint64_t at = g * l->hidden + i;
  return l->from_x[at] + l->from_h[at] + bias(l, false, g, i) + bias(l, true, g, i);
}

static void rnn_step(const layer *l) {
  for (uint64_t i = 0; i < l->hidden; ++i) l->h[i] = activate(l, 0, sum_of(l, 0, i));
}

/* One step of GRU. Gate order: z, r, h. */
static void gru_step(const layer *l) {
  uint64_t n = l->hidden;
  if (!l->reset_last) {
    for (uint64_t i = 0; i < n; ++i) l->spare[i] = activate(l, 0, sum_of(l, 1, i)) * l->h[i];
    surg__rows_times(l->rd + 2 * n * n, n, n, n, l->spare, l->from_h + 2 * n);
  }
  for (uint64_t i = 0; i < n; ++i) {
    double z = activate(l, 0, sum_of(l, 0, i)), from_h = l->from_h[2 * n + i] + bias(l, true, 2, i);
    if (l->reset_last) from_h *= activate(l, 0, sum_of(l, 1, i));
    double fresh = activate(l, 1, l->from_x[2 * n + i] + bias(l, false, 2, i) + from_h);
    l->h[i] = (1 - z) * fresh + z * l->h[i];
  }
}

/* One step of LSTM. Gate order: i, o, f, c; of the peepholes: i, o, f. */
static void lstm_step(const layer *l) {
  uint64_t n = l->hidden;
  for (uint64_t i = 0; i < n; ++i) {
    double in = sum_of(l, 0, i), out = sum_of(l, 1, i), forget = sum_of(l, 2, i);
    if (l->pd) in += l->pd[i] * l->c[i];
    in = activate(l, 0, in);
    if (l->pd) forget += l->pd[2 * n + i] * l->c[i];
    forget = l->input_forget ? 1 - in : activate(l, 0, forget);
    l->c[i] = forget * l->c[i] + in * activate(l, 1, sum_of(l, 3, i));
    if (l->pd) out += l->pd[n + i] * l->c[i];
    l->h[i] = activate(l, 0, out) * activate(l, 2, l->c[i]);
  }
}

/* --- sequences --- */

static void put_row(const layer *l, uint32_t out, uint64_t row, const double *v) {
  if (out >= l->k->n_out || !l->k->wanted[out]) return;
  for (uint64_t i = 0; i < l->hidden; ++i) {
    surg__real_put(&l->k->out[out], row * l->hidden + i, v ? v[i] : 0);
  }
}

/* The row of the state of direction d and batch entry b, in states of either layout. */
static uint64_t state_row(const layer *l, uint64_t d, uint64_t b) {
  return l->batch_first ? b * l->directions + d : d * l->batch + b;
}

static void run_sequence(const layer *l, uint64_t d, uint64_t b) {
  uint64_t n = l->hidden, rows = l->gates * n;
  uint64_t length = l->lengths ? (uint64_t)l->lengths[b] : l->steps;
  uint64_t state = state_row(l, d, b);
  for (uint64_t i = 0; i < n; ++i) {
    l->h[i] = l->h0 ? l->h0[state * n + i] : 0;
    l->c[i] = l->c0 ? l->c0[state * n + i] : 0;
  }
  for (uint64_t s = 0; s < l->steps && !surg__k_stopped(l->k); ++s) {
    uint64_t t = l->reverse && s < length ? length - 1 - s : s;
    uint64_t from = l->batch_first ? b * l->steps + t : t * l->batch + b;
    uint64_t to =
        l->batch_first ? from * l->directions + d : (t * l->directions + d) * l->batch + b;
    if (s < length) {
      surg__rows_times(l->wd, rows, l->inputs, l->inputs, l->x + from * l->inputs, l->from_x);
      surg__rows_times(l->rd, rows, n, n, l->h, l->from_h);
      l->step(l);
    }
    put_row(l, 0, to, s < length ? l->h : NULL);
  }
  put_row(l, 1, state, length > 0 ? l->h : NULL);
  put_row(l, 2, state, length > 0 ? l->c : NULL);
}

static void run_layer(layer *l) {
  uint64_t n = l->hidden, rows = l->gates * n;
  uint32_t functions = l->k->op == SURG_OP_LSTM ? 3 : l->k->op == SURG_OP_GRU ? 2 : 1;
  bool backward = l->reverse;
  for (uint64_t d = 0; d < l->directions; ++d) {
    l->reverse = backward || d == 1;
    l->wd = l->w + d * rows * l->inputs;
    l->rd = l->r + d * rows * n;
    l->bd = l->b ? l->b + d * 2 * rows : NULL;
    l->pd = l->p ? l->p + d * 3 * n : NULL;
    l->f = l->acts + d * functions;
    for (uint64_t b = 0; b < l->batch; ++b) run_sequence(l, d, b);
  }
}

/* --- inputs and attributes --- */

/* Whether input i is absent or has exactly these dimensions. */
static bool sized(const surg_kctx *k, uint32_t i, uint32_t rank, const uint64_t *dims) {
  if (!surg__k_has(k, i)) return true;
  bool same = k->in[i].rank == rank;
  for (uint32_t d = 0; same && d < rank; ++d) same = (uint64_t)k->in[i].dims[d] == dims[d];
  return same;
}

static surg__kstatus read_shapes(layer *l) {
  surg_kctx *k = l->k;
  const surg__array *x = &k->in[0], *w = &k->in[1], *r = &k->in[2];
  if (x->rank != 3 || w->rank != 3 || r->rank != 3) {
    return surg__k_invalid(k, "X, W or R has another number of dimensions than three");
  }
  l->steps = (uint64_t)x->dims[l->batch_first];
  l->batch = (uint64_t)x->dims[!l->batch_first];
  l->inputs = (uint64_t)x->dims[2];
  l->hidden = (uint64_t)r->dims[2];
  uint64_t d = l->directions, n = l->hidden, rows = 0, biases = 0, b = l->batch;
  if (!surg__mul_u64(l->gates, n, &rows) || !surg__mul_u64(2, rows, &biases)) {
    return SURG__K_BUDGET;
  }
  uint64_t state[3] = {l->batch_first ? b : d, l->batch_first ? d : b, n};
  if (!sized(k, 1, 3, (uint64_t[]){d, rows, l->inputs}) ||
      !sized(k, 2, 3, (uint64_t[]){d, rows, n}) || !sized(k, 3, 2, (uint64_t[]){d, biases}) ||
      !sized(k, 4, 1, (uint64_t[]){b}) || !sized(k, 5, 3, state) || !sized(k, 6, 3, state) ||
      !sized(k, 7, 2, (uint64_t[]){d, 3 * n})) {
    return surg__k_invalid(k, "the sizes of the inputs do not fit together");
  }
  int64_t declared = surg_node_int(k->node, "hidden_size", (int64_t)n);
  return declared == (int64_t)n ? SURG__K_OK : surg__k_invalid(k, "hidden_size is not that of R");
}

static surg__kstatus read_attributes(layer *l) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  static const char *const rnn[] = {"tanh"}, *const gru[] = {"sigmoid", "tanh"};
  static const char *const lstm[] = {"sigmoid", "tanh", "tanh"};
  surg_kctx *k = l->k;
  int direction = 0; /* the default of GRU-1 is a misspelt word */
  if (surg_node_attr(k->node, "direction")) {
    direction = surg__k_word(k, "direction", "forward", directions, 3);
  }
  if (direction == 3) return surg__k_invalid(k, "an unknown direction");
  l->directions = direction == 2 ? 2 : 1;
  l->reverse = direction == 1;
  l->batch_first = surg_node_int(k->node, "layout", 0) != 0;
  l->reset_last = surg_node_int(k->node, "linear_before_reset", 0) != 0;
  l->input_forget = surg_node_int(k->node, "input_forget", 0) != 0;
  l->clip = INFINITY;
  if (surg_node_attr(k->node, "clip")) l->clip = surg_node_float(k->node, "clip", 0);
  if (!(l->clip >= 0)) return surg__k_cannot(k, "clip is below zero");
  if (k->op == SURG_OP_LSTM && isfinite(l->clip)) {
    SURG__K_TRY(surg__k_disputed(k, "whether clip bounds the cell state as h sees it"));
  }
  bool is_lstm = k->op == SURG_OP_LSTM, is_gru = k->op == SURG_OP_GRU;
  l->gates = is_lstm ? 4 : is_gru ? 3 : 1;
  l->step = is_lstm ? lstm_step : is_gru ? gru_step : rnn_step;
  uint32_t each = is_lstm ? 3 : is_gru ? 2 : 1;
  return surg__k_activations(k,
                             is_lstm  ? lstm
                             : is_gru ? gru
                                      : rnn,
                             each, each * (uint32_t)l->directions, l->acts);
}

/* Reads and checks the sequence lengths. For an empty sequence ONNX Runtime returns zero as the
 * final state, and not the initial state, so this case is disputed. */
static surg__kstatus read_lengths(layer *l) {
  surg_kctx *k = l->k;
  uint64_t count = 0;
  bool state = (k->n_out > 1 && k->wanted[1]) || (k->n_out > 2 && k->wanted[2]);
  if (l->steps == 0 && state) {
    SURG__K_TRY(surg__k_disputed(k, "the state after an empty sequence"));
  }
  if (!surg__k_has(k, 4)) return SURG__K_OK;
  l->lengths = surg__k_ints(k, 4, &count);
  if (!l->lengths) return SURG__K_NOMEM;
  for (uint64_t b = 0; b < count; ++b) {
    if (l->lengths[b] < 0 || (uint64_t)l->lengths[b] > l->steps) {
      return surg__k_invalid(k, "a sequence is longer than the input");
    }
    if (l->lengths[b] == 0 && state) {
      SURG__K_TRY(surg__k_disputed(k, "the state after an empty sequence"));
    }
  }
  return SURG__K_OK;
}

static surg__kstatus widen(layer *l, uint32_t i, const double **out) {
  if (!surg__k_has(l->k, i)) return SURG__K_OK;
  *out = surg__k_widen(l->k, &l->k->in[i]);
  return *out ? SURG__K_OK : SURG__K_NOMEM;
}

static surg__kstatus read_operands(layer *l) {
  SURG__K_TRY(widen(l, 0, &l->x));
  SURG__K_TRY(widen(l, 1, &l->w));
  SURG__K_TRY(widen(l, 2, &l->r));
  SURG__K_TRY(widen(l, 3, &l->b));
  SURG__K_TRY(widen(l, 5, &l->h0));
  SURG__K_TRY(widen(l, 6, &l->c0));
  SURG__K_TRY(widen(l, 7, &l->p));
  size_t n = (size_t)l->hidden, rows = (size_t)l->gates * n;
  l->h = surg__k_scratch(l->k, n, sizeof *l->h);
  l->c = surg__k_scratch(l->k, n, sizeof *l->c);
  l->spare = surg__k_scratch(l->k, n, sizeof *l->spare);
  l->from_x = surg__k_scratch(l->k, rows, sizeof *l->from_x);
  l->from_h = surg__k_scratch(l->k, rows, sizeof *l->from_h);
  return l->h && l->c && l->spare && l->from_x && l->from_h ? SURG__K_OK : SURG__K_NOMEM;
}

static surg__kstatus make_outputs(layer *l) {
  int64_t d = (int64_t)l->directions, s = (int64_t)l->steps, b = (int64_t)l->batch;
  int64_t n = (int64_t)l->hidden;
  int dtype = l->k->in[0].dtype;
  const int64_t *all = l->batch_first ? (int64_t[]){b, s, d, n} : (int64_t[]){s, d, b, n};
  const int64_t *last = l->batch_first ? (int64_t[]){b, d, n} : (int64_t[]){d, b, n};
  SURG__K_TRY(surg__k_out(l->k, 0, dtype, all, 4));
  SURG__K_TRY(surg__k_out(l->k, 1, dtype, last, 3));
  return surg__k_out(l->k, 2, dtype, last, 3);
}

surg__kstatus surg__k_recurrent(surg_kctx *k) {
  layer l = {.k = k};
  uint64_t width;
  SURG__K_TRY(read_attributes(&l));
  SURG__K_TRY(read_shapes(&l));
  SURG__K_TRY(read_lengths(&l));
  SURG__K_TRY(make_outputs(&l));
  if (!surg__add_u64(l.inputs, l.hidden, &width) || !surg__add_u64(width, 1, &width)) {
    return SURG__K_BUDGET;
  }
  uint64_t counts[] = {l.directions, l.batch, l.steps + 1, l.gates, l.hidden + 1, width};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  SURG__K_TRY(read_operands(&l));
  run_layer(&l);
  return SURG__K_OK;
}
