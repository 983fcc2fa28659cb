/* SPDX-License-Identifier: Apache-2.0 */
/* With consent, inserts a Cast where inputs that must have one element type differ, or where the
 * operator does not accept the type, and a Reshape where ranks differ by dimensions of 1. See
 * mend.h. */
#include "mend.h"

#define CAST_OPSET 6 /* the first opset in which Cast names its type by number */
#define RESHAPE_OPSET 5
#define MOST_DIMS 16
#define MOST_INPUTS 256 /* most inputs of a node whose types are compared pairwise */
#define NEAR 8 /* preceding inputs that one is compared with: those of one type are adjacent */

static int dtype_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
}

/* The position of an element type in the promotion order of frameworks; 0: none. */
static int width(int dtype) {
  static const uint8_t order[] = {SURG_BOOL,  SURG_UINT8,   SURG_INT8,     SURG_INT16, SURG_INT32,
                                  SURG_INT64, SURG_FLOAT16, SURG_BFLOAT16, SURG_FLOAT, SURG_DOUBLE};
  for (size_t i = 0; i < sizeof order; i++)
    if (order[i] == dtype) return (int)i + 1;
  return 0;
}

/* Whether constants among the inputs that must have the type of input i fit the type `to`. With
 * `narrow` of floats beside a narrower float: the first that does not is set. */
static bool all_fit(mending *k, const surg_node *n, const surg_schema *s, size_t i, int to,
                    size_t *narrow) {
  for (size_t j = 0; j < surg_node_input_count(n); j++) {
    if (j != i && !surg_schema_same_type(s, i, j)) continue;
    if (mend_fits(k, n, j, to)) continue;
    if (!narrow) return false;
    if (!mend_is_narrowed(dtype_of(surg_node_input(n, j)), to)) continue;
    *narrow = j;
    return false;
  }
  return true;
}

/* The type to compute in where constants do not fit `best`: the widest of all, or a wider float. */
static int wider(mending *k, const surg_node *n, const surg_schema *s, size_t i, int best) {
  int all = best;
  for (size_t j = 0; j < surg_node_input_count(n); j++) {
    const int d = dtype_of(surg_node_input(n, j));
    if ((j == i || surg_schema_same_type(s, i, j)) && width(d) > width(all)) all = d;
  }
  const int tried[] = {all, SURG_FLOAT, SURG_DOUBLE};
  for (size_t t = 0; t < sizeof tried / sizeof *tried; t++)
    if (width(tried[t]) >= width(all) && surg_schema_takes(s, i, tried[t]) &&
        all_fit(k, n, s, i, tried[t], NULL))
      return tried[t];
  return SURG_UNDEFINED;
}

/* The common type of the inputs that must have the type of input i: the widest of the computed
 * ones, else of all; a wider one where constants do not fit it, except floats beside a narrower
 * float: those are left to mend_narrow.c. 0: they agree, or do not promote. */
static int meeting(mending *k, const surg_node *n, const surg_schema *s, size_t i, size_t *narrow) {
  int best = SURG_UNDEFINED;
  bool differ = false, computed = false;
  for (size_t j = 0; j < surg_node_input_count(n); j++) {
    const surg_value *v = surg_node_input(n, j);
    const int d = dtype_of(v);
    if (!d || (j != i && !surg_schema_same_type(s, i, j))) continue;
    if (!width(d)) return SURG_UNDEFINED;
    const bool other = !surg_value_constant(v);
    differ = differ || d != dtype_of(surg_node_input(n, i));
    if (computed == other ? width(d) > width(best) : other) best = d;
    computed = computed || other;
  }
  if (!differ || !surg_schema_takes(s, i, best)) return SURG_UNDEFINED;
  *narrow = SIZE_MAX;
  if (!all_fit(k, n, s, i, best, narrow) || all_fit(k, n, s, i, best, NULL)) return best;
  return wider(k, n, s, i, best);
}

static bool cast(mending *k, surg_node *n, size_t i, int to, const char *why) {
  surg_value *v = surg_node_input(n, i);
  if (!mend_allows(k, SURG_APPROX)) {
    mend_leaves(k, n, "input %zu is of %s; --allow approx casts it to %s, %s", i,
                surg_dtype_name(dtype_of(v)), surg_dtype_name(to), why);
    return true;
  }
  if (surg_graph_opset(surg_node_graph(n), "") < CAST_OPSET || !mend_may(k, SURG_APPROX))
    return true;
  const char *from = surg_dtype_name(dtype_of(v));
  surg_node *made = mend_add(n, "Cast", &v, 1);
  if (!made || surg_node_set_int(made, "to", to) != SURG_OK) return false;
  if (surg_node_set_input(n, i, surg_node_output(made, 0)) != SURG_OK) return false;
  mend_did(k, n, SURG_APPROX, "input %zu is cast from %s to %s, %s", i, from, surg_dtype_name(to),
           why);
  return surg_model_infer(k->m) == SURG_OK;
}

static bool casts(mending *k, surg_node *n, const surg_schema *s) {
  if (surg_node_input_count(n) > MOST_INPUTS) return true;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const int now = dtype_of(surg_node_input(n, i));
    size_t narrow = SIZE_MAX;
    const int to = now ? meeting(k, n, s, i, &narrow) : SURG_UNDEFINED;
    if (to && narrow != SIZE_MAX)
      return mend_wait(k, n, narrow, dtype_of(surg_node_input(n, narrow)), to);
    if (to && to != now && !cast(k, n, i, to, "the type of the other inputs")) return false;
  }
  return true;
}

static bool agrees(mending *k, surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  size_t narrow;
  for (size_t i = 0; s && i < surg_node_input_count(n); i++)
    if (dtype_of(surg_node_input(n, i)) && meeting(k, n, s, i, &narrow)) return false;
  return true;
}

/* The type to cast a value of an unsupported type to: the only one that the operator accepts, else
 * float, to which frameworks promote integers; 0: unknown. */
static int accepted(const surg_schema *s, size_t i, int dtype) {
  int found = SURG_UNDEFINED, count = 0;
  for (int d = SURG_FLOAT; d < SURG_DTYPE_COUNT; d++)
    if (width(d) && surg_schema_takes(s, i, d)) {
      found = d;
      count++;
    }
  if (count == 1) return found;
  return width(dtype) && surg_schema_takes(s, i, SURG_FLOAT) ? SURG_FLOAT : SURG_UNDEFINED;
}

/* Casts inputs of types that the operator does not accept. */
static bool unaccepted(mending *k, surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const int now = dtype_of(surg_node_input(n, i));
    const int to = now && width(now) && !surg_schema_takes(s, i, now) ? accepted(s, i, now) : 0;
    if (to && !cast(k, n, i, to, "which the operator accepts")) return false;
  }
  return true;
}

/* Whether a node has an error that the loader reported and nothing cured. */
static bool has_faulty_node(surg_model *m) {
  for (size_t i = 0; i < surg_model_finding_count(m); i++) {
    surg_finding f = {.size = sizeof f};
    if (surg_model_finding(m, i, &f) && !f.cured && f.node && *f.code == 'E') return true;
  }
  return false;
}

bool mend_doubts(surg_model *m) {
  if (has_faulty_node(m)) return true;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n); i++) {
        const surg_schema *s = surg_node_schema(n);
        const int d = dtype_of(surg_node_input(n, i));
        for (size_t j = i > NEAR ? i - NEAR : 0; s && d && j < i; j++) {
          const int other = dtype_of(surg_node_input(n, j));
          if (other && other != d && surg_schema_same_type(s, i, j)) return true;
        }
      }
  return false;
}

/* --- ranks --- */

static const surg_type *fixed(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const bool good = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_static(t, NULL);
  return good && surg_type_rank(t) <= MOST_DIMS ? t : NULL;
}

/* The dimensions of t with leading ones added or removed to reach `rank`; false: others lead. */
static bool led(const surg_type *t, size_t rank, int64_t *dims) {
  const size_t have = surg_type_rank(t);
  for (size_t i = 0; i + rank < have; i++)
    if (surg_type_dim(t, i)->value != 1) return false;
  for (size_t i = 0; i < rank; i++) {
    const size_t from = i + have;
    dims[i] = from < rank ? 1 : surg_type_dim(t, from - rank)->value;
  }
  return true;
}

static bool reshape(mending *k, surg_node *n, size_t i, size_t rank) {
  surg_value *v = surg_node_input(n, i);
  const surg_type *t = fixed(v);
  int64_t dims[MOST_DIMS];
  if (!t || rank == 0 || rank > MOST_DIMS || surg_type_rank(t) == rank || !led(t, rank, dims))
    return true;
  if (!mend_allows(k, SURG_APPROX)) {
    mend_leaves(k, n,
                "input %zu has %zu dimensions, expected %zu; --allow approx reshapes it", i,
                surg_type_rank(t), rank);
    return true;
  }
  if (surg_graph_opset(surg_node_graph(n), "") < RESHAPE_OPSET ||
      !surg_graph_takes_constants(surg_node_graph(n)) || !mend_may(k, SURG_APPROX))
    return true;
  surg_value *in[2] = {v, mend_ints(n, dims, rank)};
  surg_node *made = in[1] ? mend_add(n, "Reshape", in, 2) : NULL;
  if (!made || surg_node_set_input(n, i, surg_node_output(made, 0)) != SURG_OK) return false;
  mend_did(k, n, SURG_APPROX,
           "input %zu is reshaped to %zu dimensions: only dimensions of size 1 change", i,
           rank);
  return surg_model_infer(k->m) == SURG_OK;
}

static size_t rank_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? surg_type_rank(t)
                                                                                 : SIZE_MAX;
}

/* Reshapes inputs of Concat to the rank of the first computed one, and those of Gemm to rank 2. */
static bool ranks(mending *k, surg_node *n) {
  size_t rank = SIZE_MAX;
  const bool gemm = surg_node_op(n) == SURG_OP_Gemm;
  if (!gemm && surg_node_op(n) != SURG_OP_Concat) return true;
  for (size_t i = 0; i < surg_node_input_count(n) && rank == SIZE_MAX && !gemm; i++)
    if (!surg_value_constant(surg_node_input(n, i))) rank = rank_of(surg_node_input(n, i));
  if (gemm) rank = 2;
  if (rank == SIZE_MAX) return true;
  for (size_t i = 0; i < surg_node_input_count(n) && (!gemm || i < 2); i++)
    if (!reshape(k, n, i, rank)) return false;
  return true;
}

bool mend_types(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const surg_schema *s = surg_node_schema(n);
      if (!s || surg_pass_keeps_node(k->p, n)) continue;
      if (!casts(k, n, s) || !unaccepted(k, n, s) || !ranks(k, n)) return false;
    }
  return mend_agree(k, agrees);
}
