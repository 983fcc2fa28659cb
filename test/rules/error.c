/* SPDX-License-Identifier: Apache-2.0 */
/* The running error of a model: how far each of its results may be off when every value on the way,
 * inputs and constants too, is off by k * eps of its size. A rule of class rounding(k) is held
 * against it where there is no sum of absolute terms (terms.c): where a result passes through
 * quotients, roots, exponentials, or extremes. (Higham, Accuracy and Stability of Numerical
 * Algorithms, section 3.3.)
 *
 * A radius is propagated from node to node by evaluating the node itself:
 * - a function of single elements: at the ends of the intervals of its inputs, and halfway;
 * - what moves elements: on the radii;
 * - sums and products of matrices: on magnitudes and radii;
 * - others: each element of the inputs is moved by its radius, and the changes are added.
 * An infinite radius: nothing is promised (a divisor that may be 0, an overflow). */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "eval/core/number.h"
#include "eval/core/value.h"
#include "rules.h"
#include "schema/schema.h"

#define MAX_BYTES (16u << 20)
#define MAX_WORK (1ull << 24)
#define VALUES 256u
#define ARGS 24u
#define MOST_CORNERS 5u  /* inputs that are off, of a function of single elements */
#define MOST_MOVED 400u /* elements that are moved one by one */

typedef struct known {
  const surg_value *v;
  surg__array a;
  double *r; /* a radius for each element; 1 for a boolean that may be the other one; NULL: none */
} known;

typedef struct walk {
  surg_context *ctx;
  surg__arena *arena;
  known all[VALUES];
  unsigned n;
  double k;
} walk;

static const double eps_of[] = {[SURG_FLOAT] = 0x1p-23,   [SURG_FLOAT16] = 0x1p-10,
                                [SURG_BFLOAT16] = 0x1p-7, [SURG_DOUBLE] = 0x1p-52};
static const double least_of[] = {[SURG_FLOAT] = 0x1p-126,    [SURG_FLOAT16] = 0x1p-14,
                                  [SURG_BFLOAT16] = 0x1p-126, [SURG_DOUBLE] = 0x1p-1022};
static const double most_of[] = {[SURG_FLOAT] = 0x1.fffffep127,
                                 [SURG_FLOAT16] = 65504,
                                 [SURG_BFLOAT16] = 0x1.fep127,
                                 [SURG_DOUBLE] = 0x1.fffffffffffffp1023};

/* What a value of this size may be off by itself; kernels round doubles in each of their steps. */
static double own(const walk *w, int dtype, double x) {
  const double steps = dtype == SURG_DOUBLE ? 32 : 1;
  return w->k * steps * eps_of[dtype] * fmax(fabs(x), least_of[dtype]);
}

static known *find(walk *w, const surg_value *v) {
  for (unsigned i = w->n; i-- > 0;)
    if (w->all[i].v == v) return &w->all[i];
  return NULL;
}

static double *zeros(walk *w, uint64_t n) {
  double *r = surg__arena_array(w->arena, (size_t)n + 1, sizeof *r);
  for (uint64_t i = 0; r && i <= n; i++) r[i] = 0;
  return r;
}

static bool add(walk *w, const surg_value *v, const surg__array *a, double *r) {
  if (w->n == VALUES) return false;
  w->all[w->n++] = (known){v, *a, r};
  return true;
}

static bool add_leaf(walk *w, const surg_value *v, const surg__array *a) {
  double *r = surg__is_real(a->dtype) ? zeros(w, a->count) : NULL;
  if (surg__is_real(a->dtype) && !r) return false;
  for (uint64_t i = 0; r && i < a->count; i++) r[i] = own(w, a->dtype, surg__real_at(a, i));
  return add(w, v, a, r);
}

static bool compute(walk *w, surg_node *n, const surg__array *in, surg__array *out) {
  surg__arena arena;
  surg__arena_init(&arena, w->ctx);
  surg_kctx k = {.arena = &arena, .max_bytes = MAX_BYTES, .max_work = MAX_WORK, .running = true};
  memset(out, 0, ARGS * sizeof *out);
  bool ok = !surg__node_compute(n, &k, in, out);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg__array kept = {0};
    if (ok && out[i].dtype) ok = !surg__array_copy(w->arena, &out[i], &kept);
    surg__array_drop(&out[i]);
    out[i] = kept;
  }
  surg__arena_free(&arena);
  return ok;
}

/* --- a node that is being looked at --- */

typedef struct step {
  surg_node *n;
  uint32_t n_in, n_out;
  surg__array in[ARGS], out[ARGS];
  const double *r[ARGS]; /* of inputs */
  double *off[ARGS];     /* of outputs */
  bool wide;             /* it can be evaluated in double */
} step;

/* Booleans: inverts those that may have the other value; t = 0: finds which may. */
static bool truths(walk *w, const surg__array *a, const double *r, bool turn, bool which,
                   surg__array *out) {
  uint8_t *data = surg__arena_array(w->arena, (size_t)a->count + 1, 1);
  for (uint64_t e = 0; data && e < a->count; e++) {
    const bool x = surg__load_int(SURG_BOOL, a->data, e) != 0, open = r[e] > 0;
    data[e] = which ? open : x != (turn && open);
  }
  out->data = data;
  return data != NULL;
}

/* in[i] as doubles: t * element + q * radius, of magnitudes where asked for. */
static bool wide_input(walk *w, const step *s, uint32_t i, double t, double q, bool magnitude,
                       surg__array *out) {
  const surg__array *a = &s->in[i];
  *out = *a;
  if (!s->r[i]) return true;
  if (a->dtype == SURG_BOOL) return truths(w, a, s->r[i], q != 0, t == 0, out);
  const int dtype = s->wide ? SURG_DOUBLE : a->dtype;
  out->dtype = dtype;
  out->data = surg__arena_array(w->arena, (size_t)a->count + 1, surg__dtype_unpacked(dtype));
  if (!out->data) return false;
  for (uint64_t e = 0; e < a->count; e++) {
    const double x = surg__real_at(a, e);
    surg__real_put(out, e, t * (magnitude ? fabs(x) : x) + q * s->r[i][e]);
  }
  return true;
}

static double at(const surg__array *a, uint64_t i) {
  return surg__is_real(a->dtype) ? surg__real_at(a, i) : surg__number_at(a, i);
}

/* Whether an evaluation made the shapes of the first one. */
static bool alike(const step *s, const surg__array *out) {
  for (uint32_t i = 0; i < s->n_out; i++)
    if (s->out[i].dtype && out[i].count != s->out[i].count) return false;
  return true;
}

/* Adds how far `out` is from `from`, or raises to it. */
static void note(const step *s, const surg__array *from, const surg__array *out, double *const *off,
                 bool sum) {
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint64_t e = 0; s->off[i] && e < s->out[i].count; e++) {
      const double a = at(&from[i], e), b = at(&out[i], e);
      const double d = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
      const double far = isnan(d) ? (double)INFINITY : d;
      off[i][e] = sum ? off[i][e] + far : fmax(off[i][e], far);
    }
}

static bool spans_zero(const step *s, uint32_t i) {
  for (uint64_t e = 0; s->r[i] && e < s->in[i].count; e++)
    if (fabs(surg__real_at(&s->in[i], e)) <= s->r[i][e]) return true;
  return false;
}

/* Every element of a result may be anything. */
static void give_up(const step *s) {
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint64_t e = 0; s->off[i] && e < s->out[i].count; e++) s->off[i][e] = (double)INFINITY;
}

/* Inputs that are off take places of their intervals: of one or two inputs the ends, the middle,
 * and halfway; of three the ends and the middle; of more the ends. */
static bool by_corners(walk *w, const step *s) {
  static const double places[] = {-1, 1, 0, -0.5, 0.5};
  uint32_t moved[MOST_CORNERS], n = 0;
  for (uint32_t i = 0; i < s->n_in; i++)
    if (s->r[i]) {
      if (n == MOST_CORNERS) return false;
      moved[n++] = i;
    }
  const unsigned each = n < 3 ? 5 : n == 3 ? 3 : 2;
  surg__array in[ARGS], first[ARGS], out[ARGS];
  unsigned turns = 1;
  for (uint32_t i = 0; i < n; i++) turns *= each;
  memcpy(in, s->in, sizeof in);
  for (uint32_t i = 0; i < n; i++)
    if (!wide_input(w, s, moved[i], 1, 0, false, &in[moved[i]])) return false;
  if (!compute(w, s->n, in, first) || !alike(s, first)) return false;
  for (unsigned t = 0; t < turns; t++) {
    const surg__mark mark = surg__arena_mark(w->arena);
    for (uint32_t i = 0, q = t; i < n; i++, q /= each)
      if (!wide_input(w, s, moved[i], 1, places[q % each], false, &in[moved[i]])) return false;
    if (!compute(w, s->n, in, out) || !alike(s, out)) return false;
    note(s, first, out, s->off, false);
    surg__arena_reset(w->arena, mark);
  }
  const int op = surg_node_op(s->n);
  if ((op == SURG_OP_Div && spans_zero(s, 1)) || (op == SURG_OP_Reciprocal && spans_zero(s, 0)))
    give_up(s);
  return true;
}

/* The node on radii in the place of elements. */
static bool by_radii(walk *w, const step *s) {
  surg__array in[ARGS], out[ARGS];
  memcpy(in, s->in, sizeof in);
  for (uint32_t i = 0; i < s->n_in; i++)
    if (!wide_input(w, s, i, 0, 1, false, &in[i])) return false;
  if (!compute(w, s->n, in, out) || !alike(s, out)) return false;
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint64_t e = 0; s->off[i] && e < s->out[i].count; e++) s->off[i][e] = fabs(at(&out[i], e));
  return true;
}

/* a * b + c: |a| * rb, ra * (|b| + rb), rc. */
static bool by_products(walk *w, const step *s) {
  static const double parts[3][3][2] = {/* of elements, of radii; for a, b, c */
                                        {{1, 0}, {0, 1}, {0, 0}},
                                        {{0, 1}, {1, 1}, {0, 0}},
                                        {{0, 0}, {0, 0}, {0, 1}}};
  surg__array in[ARGS], out[ARGS];
  if (s->n_in > 3) return false;
  for (unsigned p = 0; p < (s->n_in == 3 && s->in[2].dtype ? 3u : 2u); p++) {
    memcpy(in, s->in, sizeof in);
    for (uint32_t i = 0; i < s->n_in; i++)
      if (!wide_input(w, s, i, parts[p][i][0], parts[p][i][1], true, &in[i])) return false;
    if (!compute(w, s->n, in, out) || !alike(s, out)) return false;
    for (uint32_t i = 0; i < s->n_out; i++)
      for (uint64_t e = 0; s->off[i] && e < s->out[i].count; e++)
        s->off[i][e] += fabs(at(&out[i], e));
  }
  return true;
}

/* Whether a sum of elements of an input may overflow on the way, which its kernel does not show. */
static bool may_overflow(const step *s) {
  for (uint32_t i = 0; i < s->n_in; i++)
    for (uint64_t e = 0; s->r[i] && e < s->in[i].count; e++) {
      const double x = fabs(surg__real_at(&s->in[i], e));
      if (x > most_of[s->in[i].dtype] / (4 + (double)s->in[i].count)) return true;
    }
  return false;
}

/* Each element of each input up and down by its radius, one at a time. */
static bool one_by_one(walk *w, const step *s) {
  surg__array in[ARGS], first[ARGS], out[ARGS];
  double *turn[ARGS] = {0};
  uint64_t count = 0;
  for (uint32_t i = 0; i < s->n_in; i++) {
    if (s->r[i] && s->in[i].dtype == SURG_BOOL) return false;
    for (uint64_t e = 0; s->r[i] && e < s->in[i].count; e++) count += s->r[i][e] > 0;
  }
  if (count > MOST_MOVED) return false;
  for (uint32_t i = 0; i < s->n_out; i++)
    if (s->off[i] && !(turn[i] = zeros(w, s->out[i].count))) return false;
  for (uint32_t i = 0; i < s->n_in; i++)
    if (!wide_input(w, s, i, 1, 0, false, &in[i])) return false;
  if (!compute(w, s->n, in, first) || !alike(s, first)) return false;
  if (may_overflow(s)) {
    give_up(s);
    return true;
  }
  for (uint32_t i = 0; i < s->n_in; i++)
    for (uint64_t e = 0; s->r[i] && e < s->in[i].count; e++) {
      const double x = surg__real_at(&in[i], e), r = s->r[i][e];
      if (r == 0) continue;
      for (uint32_t o = 0; o < s->n_out; o++)
        for (uint64_t k = 0; turn[o] && k < s->out[o].count; k++) turn[o][k] = 0;
      for (int side = -1; side <= 1; side += 2) {
        const surg__mark mark = surg__arena_mark(w->arena);
        surg__real_put(&in[i], e, x + side * r);
        const bool ok = compute(w, s->n, in, out) && alike(s, out);
        if (ok) note(s, first, out, turn, false);
        surg__arena_reset(w->arena, mark);
        if (!ok) return false;
      }
      surg__real_put(&in[i], e, x);
      for (uint32_t o = 0; o < s->n_out; o++)
        for (uint64_t k = 0; turn[o] && k < s->out[o].count; k++) s->off[o][k] += turn[o][k];
    }
  return true;
}

/* --- the way through a model --- */

static bool in_list(const uint16_t *list, size_t n, int op) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == op) return true;
  return false;
}
#define IN(list, op) in_list(list, SURG_COUNT(list), op)

/* They are monotone and linear in their first input, with factors that are not negative. */
static const uint16_t sums[] = {SURG_OP_AveragePool, SURG_OP_CumSum,     SURG_OP_GlobalAveragePool,
                                SURG_OP_GlobalMaxPool, SURG_OP_MaxPool,  SURG_OP_Pad,
                                SURG_OP_ReduceMax,   SURG_OP_ReduceMean, SURG_OP_ReduceSum,
                                SURG_OP_ScatterND,   SURG_OP_ScatterElements, SURG_OP_Sum,
                                SURG_OP_Mean};
static const uint16_t products[] = {SURG_OP_Conv, SURG_OP_ConvTranspose, SURG_OP_Gemm,
                                    SURG_OP_MatMul, SURG_OP_Einsum};
static const uint16_t of_shapes[] = {SURG_OP_Shape, SURG_OP_Size, SURG_OP_ConstantOfShape,
                                     SURG_OP_EyeLike};

/* Whether every float input may be a double: the operator accepts it and returns its type. */
static bool takes_doubles(const step *s) {
  const surg_schema *schema = surg_node_schema(s->n);
  if (!schema || surg_node_op(s->n) == SURG_OP_Cast) return false;
  for (uint32_t i = 0; i < s->n_in; i++) {
    const surg__param *f = surg__schema_formal(schema, false, i);
    const surg__type_param *p = f ? surg__schema_type_param(schema, f) : NULL;
    const bool doubles = p && (p->tensor_mask >> SURG_DOUBLE & 1);
    if (s->r[i] && s->in[i].dtype != SURG_BOOL && !doubles) return false;
  }
  return true;
}

static bool propagate(walk *w, step *s) {
  const int op = surg_node_op(s->n);
  const surg_schema *schema = surg_node_schema(s->n);
  bool any = false;
  for (uint32_t i = 0; i < s->n_in; i++) any |= s->r[i] != NULL;
  if (!any || IN(of_shapes, op)) return true;
  s->wide = takes_doubles(s);
  if (schema && schema->flags & SURG__OP_DATA_MOVER) return by_radii(w, s);
  if (IN(sums, op)) return by_radii(w, s);
  if (IN(products, op) && s->n_in <= 3) return by_products(w, s);
  const bool single = (schema && schema->flags & SURG__OP_ELEMENTWISE) ||
                      (op == SURG_OP_BatchNormalization && s->n_out == 1);
  if (single && by_corners(w, s)) return true;
  for (uint32_t i = 0; i < s->n_out; i++)
    for (uint64_t e = 0; s->off[i] && e < s->out[i].count; e++) s->off[i][e] = 0;
  return one_by_one(w, s);
}

/* The size that a result is off by itself: of a logarithm of a sum, that sum is a value on the way,
 * which is not shown; where it is off by eps of itself, its logarithm is off by eps. */
static double own_size(int op, double x) {
  const bool logs = op == SURG_OP_LogSoftmax || op == SURG_OP_ReduceLogSumExp ||
                    op == SURG_OP_SoftmaxCrossEntropyLoss;
  return logs ? fmax(fabs(x), 1) : x;
}

static bool numeric(int dtype) {
  return surg__is_real(dtype) || surg__is_int(dtype) || dtype == SURG_BOOL;
}

static bool run_node(walk *w, surg_node *n) {
  step s = {.n = n};
  s.n_in = (uint32_t)surg_node_input_count(n);
  s.n_out = (uint32_t)surg_node_output_count(n);
  if (s.n_in > ARGS || s.n_out > ARGS) return false;
  for (uint32_t i = 0; i < s.n_in; i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v) continue;
    known *k = find(w, v);
    surg__array a;
    const surg_tensor *t = k ? NULL : surg_value_constant(v);
    if (!k && (!t || surg__array_from_tensor(w->ctx, w->arena, t, &a) || !add_leaf(w, v, &a)))
      return false;
    k = find(w, v);
    if (surg__array_is_list(&k->a)) return false;
    s.in[i] = k->a;
    s.r[i] = k->r;
  }
  if (!compute(w, n, s.in, s.out)) return false;
  for (uint32_t i = 0; i < s.n_out; i++) {
    if (surg__array_is_list(&s.out[i])) return false;
    if (numeric(s.out[i].dtype) && !(s.off[i] = zeros(w, s.out[i].count))) return false;
  }
  if (!propagate(w, &s)) return false;
  for (uint32_t i = 0; i < s.n_out; i++) {
    const surg_value *v = surg_node_output(n, i);
    const int dtype = s.out[i].dtype;
    bool open = false;
    for (uint64_t e = 0; s.off[i] && e < s.out[i].count; e++) open |= s.off[i][e] > 0;
    if (!surg__is_real(dtype)) {
      if (open && dtype != SURG_BOOL) return false; /* rounding may give another integer */
      if (!open) s.off[i] = NULL;
    }
    for (uint64_t e = 0; surg__is_real(dtype) && e < s.out[i].count; e++) {
      const double x = at(&s.out[i], e);
      const double r = s.off[i][e] + own(w, dtype, own_size(surg_node_op(n), x));
      s.off[i][e] = isnan(x) || !(fabs(x) + r <= most_of[dtype]) ? (double)INFINITY : r;
    }
    if (v && dtype && !add(w, v, &s.out[i], s.off[i])) return false;
  }
  return true;
}

bool errors_of(surg_model *m, surg__arena *arena, const surg__array *in, double k,
               const double **out) {
  walk *w = surg__arena_zalloc(arena, sizeof *w);
  surg_graph *g = surg_model_graph(m);
  if (!w) return false;
  w->ctx = surg_model_context(m);
  w->arena = arena;
  w->k = k;
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (!in[i].dtype || !add_leaf(w, surg_graph_input(g, i), &in[i])) return false;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (!run_node(w, n)) return false;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    const surg_tensor *t = v && !find(w, v) ? surg_value_constant(v) : NULL;
    surg__array a;
    if (t && (surg__array_from_tensor(w->ctx, arena, t, &a) || !add_leaf(w, v, &a))) return false;
    const known *at_end = v ? find(w, v) : NULL;
    if (!at_end) return false;
    out[i] = at_end->r;
  }
  return true;
}
