/* SPDX-License-Identifier: Apache-2.0 */
/* How far rounding alone moves the outputs of a model. A rewrite of class ulp or rounding may
 * change the last bits of a value, and what follows may amplify them: Cos of 1e9, a difference
 * of nearly equal sums. Such a difference is no evidence against the rewrite, and equality
 * would be none for it. (Higham, Accuracy and Stability of Numerical Algorithms, section 1.6:
 * the condition of a problem is measured by perturbing its data.)
 *
 * An infinity among the terms of a sum leaves no bound (doc/rules.md). Where sums may have been
 * reordered, a NaN that a node makes of infinities that it adds (verify_sums.h) therefore moves to
 * an infinity. Infinities stay: masks are made of them.
 *
 * A zero has either sign: a sum that starts from zero turns minus zero into zero, one that starts
 * from its first element does not, and 1/x makes opposite infinities of the two. */
#include <math.h>

#include "eval/core/number.h"
#include "eval/core/piece.h"
#include "run/verify.h"
#include "run/verify_sums.h"

#define MOVED_BY 8.0     /* units in the last place: what such a rewrite may move a value by */
#define EXPLAINS 4.0     /* times the largest movement of a few runs: more runs would show more */
#define WHOLE_BELOW 1024 /* smaller integers are counts and indices, which rounding does not move */

typedef struct shaker {
  surg_context *ctx;
  uint64_t state;
  size_t run;
  bool reorders;
  surg__sums sums; /* the node that runs, if `reorders` */
} shaker;

static double last_bits(int dtype) {
  switch (dtype) {
    case SURG_DOUBLE: return MOVED_BY * 0x1p-52;
    case SURG_FLOAT: return MOVED_BY * 0x1p-23;
    case SURG_FLOAT16: return MOVED_BY * 0x1p-10;
    case SURG_BFLOAT16: return MOVED_BY * 0x1p-7;
    default: return 0;
  }
}

/* -1 to 1, by splitmix64. */
static double draw(shaker *s) {
  uint64_t r = s->state += 0x9e3779b97f4a7c15u;
  r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
  r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
  r ^= r >> 31;
  return (double)(int64_t)(r >> 11) / 4503599627370496.0 - 1.0;
}

/* A number or its negative: the first two runs have each sign everywhere. */
static double signed_of(shaker *s, double v) {
  const bool negative = s->run < 2 ? s->run == 1 : draw(s) < 0;
  return negative ? -v : v;
}

/* Replaces an array of floats by one that is moved. node: what computed it as this output, of
 * which large integers, zeros and NaN are moved, too; NULL: an input of the model. */
static surg_status move(shaker *s, surg__array *a, const surg_node *node, size_t output) {
  const double by = surg__array_is_list(a) ? 0 : last_bits(a->dtype);
  surg__array moved;
  double v[SURG__PIECE];
  if (by == 0) return SURG_OK;
  const surg_status status = surg__array_make(s->ctx, a->dtype, a->dims, a->rank, &moved);
  if (status != SURG_OK) return status;
  for (uint64_t at = 0, n; at < a->count; at += n) {
    n = a->count - at < SURG__PIECE ? a->count - at : SURG__PIECE;
    surg__load_run(a->dtype, a->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; i++)
      if (isnan(v[i]) && node && surg__sums_open(&s->sums, node, output, at + i))
        v[i] = signed_of(s, (double)INFINITY);
      else if (v[i] == 0 && node)
        v[i] = signed_of(s, 0.0);
      else if (v[i] != rint(v[i]) || (node && fabs(v[i]) > WHOLE_BELOW))
        v[i] *= 1 + by * draw(s);
    surg__store_reals(a->dtype, moved.data, at, n, v);
  }
  surg__array_drop(a);
  *a = moved;
  return SURG_OK;
}

static surg_status change(void *user, const surg_node *n, size_t output, surg__array *a) {
  return move(user, a, n, output);
}

static surg_status before(void *user, surg_node *n, surg__machine *m) {
  shaker *s = user;
  return surg__sums_begin(&s->sums, n, m);
}

static surg_status run_moved(shaker *s, surg__exec *r, const surg__array *in, surg__array *moved,
                             surg__array *out) {
  const size_t n = surg_graph_input_count(surg_model_graph(r->model));
  surg_status status = SURG_OK;
  for (size_t i = 0; i < n && status == SURG_OK; i++) {
    moved[i] = surg__array_ref(&in[i]);
    if (in[i].dtype != SURG_UNDEFINED) status = move(s, &moved[i], NULL, 0);
  }
  if (status == SURG_OK) status = surg__exec_run(r, moved, out);
  for (size_t i = 0; i < n; i++) surg__array_drop(&moved[i]);
  return status == SURG_ENOMEM ? status : SURG_OK;
}

surg_status surg__shake(surg_model *m, const surg__engine *e, const surg__array *in, bool reorders,
                        surg__array *const out[SURG__SHAKES]) {
  surg_context *ctx = surg_model_context(m);
  shaker s = {.ctx = ctx, .state = 1, .reorders = reorders, .sums.ctx = ctx};
  if (e->ort || e->chain) return SURG_OK; /* they let nothing be moved */
  surg__array *moved =
      surg__calloc(ctx, surg_graph_input_count(surg_model_graph(m)) + 1, sizeof *moved);
  surg__exec r = {0};
  surg_status status = moved ? surg__exec_open(&r, e, m) : SURG_ENOMEM;
  r.watched.change = change;
  if (reorders) r.watched.before = before;
  r.watched.user = &s;
  for (; s.run < SURG__SHAKES && status == SURG_OK; s.run++)
    status = run_moved(&s, &r, in, moved, out[s.run]);
  surg__sums_end(&s.sums);
  if (moved) surg__exec_close(&r);
  surg__free(ctx, moved);
  return status == SURG_ENOMEM ? status : SURG_OK;
}

static bool same(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

/* Whether element e may have become y by rounding, where it is x. */
static bool moves_to(double x, double y, bool real, surg__array *const out[SURG__SHAKES], size_t i,
                     uint64_t e, uint64_t count) {
  double low = x, high = x;
  for (size_t k = 0; k < SURG__SHAKES; k++) {
    if (out[k][i].count != count || out[k][i].dtype == SURG_UNDEFINED) continue;
    const double r = surg__number_at(&out[k][i], e);
    if (same(r, y) || (isfinite(y) && isfinite(r) && !isfinite(x))) return true;
    low = fmin(low, r);
    high = fmax(high, r);
  }
  if (!isfinite(x) || !isfinite(y)) return false;
  if (!real) return y >= low && y <= high;
  return fabs(y - x) <= EXPLAINS * fmax(high - x, x - low);
}

bool surg__shake_explains(const surg__array *got, const surg__array *want, size_t i,
                          surg__array *const out[SURG__SHAKES], const surg__tolerance *t) {
  const bool real = surg__is_real(want->dtype);
  if (surg__array_is_list(want) || got->dtype != want->dtype || got->count != want->count)
    return false;
  if (!real && !surg__is_int(want->dtype) && want->dtype != SURG_BOOL) return false;
  for (uint64_t e = 0; e < want->count; e++) {
    const double x = surg__number_at(want, e), y = surg__number_at(got, e);
    if (same(x, y)) continue;
    if (real && isfinite(x) && isfinite(y) && fabs(y - x) <= t->absolute + t->relative * fabs(x))
      continue;
    if (!moves_to(x, y, real, out, i, e, want->count)) return false;
  }
  return true;
}
