/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that do not fit the type of what they meet: -1e9 beside half, a half beside integers.
 * A Cast would make them infinite, 0, or another number. See mend.h. */
#include <math.h>

#include "../types/precision.h"
#include "mend.h"

#define CAST_OPSET 6 /* the first opset in which Cast names its type by number */
#define PIECE 256    /* elements that are read at a time */

/* Whether all elements of a tensor of floats are integers. */
static bool is_whole(surg_model *m, const surg_tensor *t) {
  const bool wide = surg_tensor_dtype(t) == SURG_DOUBLE;
  if (!wide && surg_tensor_dtype(t) != SURG_FLOAT) t = surg_tensor_cast(m, t, SURG_FLOAT);
  const uint64_t count = t ? surg_tensor_count(t) : 0;
  union {
    double d[PIECE];
    float f[PIECE];
  } at;
  for (uint64_t i = 0; i < count; i += PIECE) {
    const size_t n = count - i < PIECE ? (size_t)(count - i) : PIECE;
    if (surg_tensor_read_numbers(t, i, &at, n) != SURG_OK) return false;
    for (size_t k = 0; k < n; k++) {
      const double v = wide ? at.d[k] : (double)at.f[k];
      if (floor(v) < v || ceil(v) > v || isnan(v)) return false;
    }
  }
  return t != NULL;
}

/* The largest element of an integer type; 0: another type. */
static double top_of(int dtype) {
  switch (dtype) {
    case SURG_BOOL:
      return 1;
    case SURG_INT8:
      return INT8_MAX;
    case SURG_UINT8:
      return UINT8_MAX;
    case SURG_INT16:
      return INT16_MAX;
    case SURG_INT32:
      return INT32_MAX;
    case SURG_INT64:
      return 9223372036854774784.0; /* the largest double below 2^63 */
    default:
      return 0;
  }
}

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

bool mend_fits(mending *k, const surg_node *n, size_t i, int to) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  surg_extent e = {.size = sizeof e};
  const double top = top_of(to);
  if (!t || surg_tensor_dtype(t) == to) return true;
  if (is_float(to)) return !prec_loses(k->m, n, i, to);
  if (top <= 0) return true;
  if (surg_tensor_dtype(t) == SURG_INT32) t = surg_tensor_cast(k->m, t, SURG_INT64);
  if (!t || surg_tensor_extent(t, &e) != SURG_OK) return true; /* elements are not known */
  const double low = to == SURG_BOOL || to == SURG_UINT8 ? 0 : -top - 1;
  if (e.nan || e.inf || e.high > top || e.low < low) return false;
  return !is_float(surg_tensor_dtype(t)) || is_whole(k->m, t);
}

bool mend_is_narrowed(int from, int to) {
  return from != to && is_float(from) && (to == SURG_FLOAT16 || to == SURG_BFLOAT16 ||
                                          (to == SURG_FLOAT && from == SURG_DOUBLE));
}

/* --- nodes that wait --- */

bool mend_wait(mending *k, surg_node *n, size_t i, int from, int to) {
  const surg_graph *g = surg_node_graph(n);
  if (from != SURG_FLOAT && from != SURG_DOUBLE) return true;
  if (!mend_allows(k, SURG_APPROX)) {
    mend_leaves(k, n,
                "input %zu is of %s and has elements that do not fit %s, the type of the other "
                "inputs; --allow approx computes the node in %s",
                i, surg_dtype_name(from), surg_dtype_name(to), surg_dtype_name(from));
    return true;
  }
  if (surg_graph_opset(g, "") < CAST_OPSET || surg_model_find_function(k->m, "", "Cast", ""))
    return true;
  mend_waiting *w = surg_pass_alloc(k->p, sizeof *w);
  if (!w) return false;
  *w = (mend_waiting){.n = n, .input = i, .from = from, .to = to, .next = k->waiting};
  k->waiting = w;
  return true;
}

/* Makes all nodes agree that wait for the pair of types; `agrees` says which do. */
static bool reconcile(mending *k, int from, int to, bool (*agrees)(mending *, surg_node *)) {
  const mend_waiting *first = k->waiting;
  while (first && (first->from != from || first->to != to)) first = first->next;
  if (!first || k->last || !mend_may(k, SURG_APPROX)) return true;
  if (!prec_reconcile(k->p, from, to)) return false;
  bool any = false;
  for (const mend_waiting *w = first; w; w = w->next) {
    if (w->from != from || w->to != to || !agrees(k, w->n)) continue;
    if (any) surg_pass_allow(k->p); /* counts each node; the limit may be passed by one step */
    any = true;
    mend_did(k, w->n, SURG_APPROX, "is computed in %s: input %zu does not fit %s",
             surg_dtype_name(from), w->input, surg_dtype_name(to));
  }
  if (!any) surg_pass_give_back(k->p);
  return true;
}

bool mend_agree(mending *k, bool (*agrees)(mending *, surg_node *)) {
  static const int pairs[][2] = {{SURG_FLOAT, SURG_FLOAT16},
                                 {SURG_FLOAT, SURG_BFLOAT16},
                                 {SURG_DOUBLE, SURG_FLOAT16},
                                 {SURG_DOUBLE, SURG_BFLOAT16},
                                 {SURG_DOUBLE, SURG_FLOAT}};
  bool ok = true;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs && ok; i++)
    ok = reconcile(k, pairs[i][0], pairs[i][1], agrees);
  for (const mend_waiting *w = k->waiting; w && ok; w = w->next)
    if (!agrees(k, w->n))
      mend_leaves(k, w->n, "input %zu is of %s and has elements that do not fit %s", w->input,
                  surg_dtype_name(w->from), surg_dtype_name(w->to));
  k->waiting = NULL;
  return ok;
}
