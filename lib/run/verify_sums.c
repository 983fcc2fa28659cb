/* SPDX-License-Identifier: Apache-2.0 */
/* A NaN depends on the order of a sum if the node adds, and the NaN comes from infinities: it stays
 * where each NaN of the inputs is replaced by 0, and goes where each infinity is. The node is
 * computed twice more for that, if its inputs have a NaN at all. */
#include "run/verify_sums.h"

#include <math.h>

#include "eval/core/number.h"
#include "eval/core/piece.h"
#include "ir/ir.h"

/* Whether the result of the node is a sum, or computed by way of one. */
static bool adds(const surg_node *n) {
  const int op = surg_node_op(n);
  if (op == SURG_OP_Add || op == SURG_OP_Sub || op == SURG_OP_Sum) return true;
  if (surg_node_subgraph(n, 0) || surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return false;
  return surg_node_result_exactness(n, SURG_FLOAT) >= SURG_ROUNDING;
}

/* Floats of 8 bits and less have no kernels that add. */
static bool is_float(const surg__array *a) {
  return !surg__array_is_list(a) && surg__is_real(a->dtype);
}

/* Whether the array has a NaN (nans) or an infinity; *out (may be NULL): a copy with 0 in place of
 * each. */
static bool has(const surg__array *a, bool nans, surg__array *out) {
  double v[SURG__PIECE];
  bool any = false;
  for (uint64_t at = 0, n; is_float(a) && at < a->count; at += n) {
    n = a->count - at < SURG__PIECE ? a->count - at : SURG__PIECE;
    surg__load_run(a->dtype, a->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; i++) {
      const bool hit = nans ? isnan(v[i]) : isinf(v[i]);
      any |= hit;
      if (hit) v[i] = 0;
    }
    if (out) surg__store_reals(a->dtype, out->data, at, n, v);
  }
  return any;
}

static surg_status replaced(surg_context *ctx, const surg__array *a, bool nans, surg__array *out) {
  *out = surg__array_ref(a);
  if (!has(a, nans, NULL)) return SURG_OK;
  surg__array_drop(out);
  const surg_status s = surg__array_make(ctx, a->dtype, a->dims, a->rank, out);
  if (s == SURG_OK) has(a, nans, out);
  return s;
}

static void drop(surg__array *a, size_t n) {
  for (size_t i = 0; a && i < n; i++) surg__array_drop(&a[i]);
}

/* The outputs of the node with 0 in place of each NaN or infinity of its inputs; NULL: it has no
 * kernel, or there is no memory. */
static surg__array *compute(surg_context *ctx, surg_node *n, const surg__array *in, bool nans) {
  const size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg__array *other = surg__calloc(ctx, n_in + 1, sizeof *other);
  surg__array *out = surg__calloc(ctx, n_out + 1, sizeof *out);
  surg_status s = other && out ? SURG_OK : SURG_ENOMEM;
  for (size_t i = 0; i < n_in && s == SURG_OK; i++) s = replaced(ctx, &in[i], nans, &other[i]);
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  surg_kctx k = {.arena = &arena, .max_bytes = INT64_MAX, .max_work = INT64_MAX, .running = true};
  if (s == SURG_OK) s = surg__node_compute(n, &k, other, out);
  surg__arena_free(&arena);
  drop(other, n_in);
  surg__free(ctx, other);
  if (s == SURG_OK) return out;
  surg__free(ctx, out);
  return NULL;
}

void surg__sums_end(surg__sums *u) {
  const size_t n = u->node ? surg_node_output_count(u->node) : 0;
  drop(u->pure, n);
  drop(u->bounded, n);
  surg__free(u->ctx, u->pure);
  surg__free(u->ctx, u->bounded);
  u->pure = u->bounded = NULL;
  u->tainted = false;
  u->node = NULL;
}

surg_status surg__sums_begin(surg__sums *u, surg_node *n, surg__machine *m) {
  const size_t n_in = surg_node_input_count(n);
  surg_status s = SURG_OK;
  surg__sums_end(u);
  if (!adds(n)) return SURG_OK;
  u->node = n;
  surg__array *in = surg__calloc(u->ctx, n_in + 1, sizeof *in);
  if (!in) return SURG_ENOMEM;
  for (size_t i = 0; i < n_in && s == SURG_OK; i++) {
    if (!surg_node_input(n, i)) continue;
    s = surg__session_read(m, surg_node_input(n, i), &in[i]);
    if (s == SURG_OK) u->tainted |= has(&in[i], true, NULL);
  }
  if (s == SURG_OK && u->tainted) {
    u->pure = compute(u->ctx, n, in, true);
    u->bounded = compute(u->ctx, n, in, false);
  }
  surg__free(u->ctx, in); /* the arrays are borrowed */
  return s;
}

static bool is_nan(const surg__array *a, uint64_t e) {
  return is_float(a) && e < a->count && isnan(surg__number_at(a, e));
}

bool surg__sums_open(const surg__sums *u, const surg_node *n, size_t output, uint64_t e) {
  if (u->node != n) return false;
  if (!u->tainted) return true;
  return u->pure && u->bounded && is_nan(&u->pure[output], e) && !is_nan(&u->bounded[output], e);
}
