/* SPDX-License-Identifier: Apache-2.0 */
/* Converts all values of one float type to float, including weights, constants, inputs and outputs.
 * Rounding changes: the result is more precise than in float16 and bfloat16, and loses digits of
 * double.
 *
 *   before: (float16[2] x) => (float16[2] y) <float16 w = {0.5}> { y = Mul (x, w) }
 *   after:  (float[2] x) => (float[2] y) <float w = {0.5}> { y = Mul (x, w) }
 *                                                     retype{from=float16}
 *
 * Always to float: every operator that supports one of the other types supports it. Rejects models
 * where operators without a schema, operators that read bits, or sparse tensors use the type. Needs
 * sorted, types. Keeps sorted. Approx from the narrower types, lossy from double; changes the
 * interface. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>

#include "../util/declared.h"

#define NESTING 8 /* most sequences and optionals around a tensor */

typedef struct retyping {
  surg_pass_ctx *p;
  surg_model *m;
  int from;
  bool changed;
} retyping;

/* ---- types ----------------------------------------------------------------------------------- */

static const surg_type *leaf_of(const surg_type *t) {
  while (t && surg_type_elem(t)) t = surg_type_elem(t);
  return t;
}

static bool is_from(const retyping *r, const surg_type *t) {
  t = leaf_of(t);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t) == r->from;
}

/* The type with float elements; NULL: out of memory, or nested too deeply. */
static const surg_type *retyped(retyping *r, const surg_type *t) {
  const surg_type *around[NESTING];
  size_t depth = 0;
  for (; surg_type_elem(t); t = surg_type_elem(t)) {
    const surg_type_kind kind = surg_type_get_kind(t);
    if (depth == NESTING || (kind != SURG_TYPE_SEQUENCE && kind != SURG_TYPE_OPTIONAL)) return NULL;
    around[depth++] = t;
  }
  const surg_type *out;
  if (!surg_type_has_rank(t)) {
    out = surg_type_tensor_unranked(r->m, SURG_FLOAT);
  } else {
    const size_t rank = surg_type_rank(t);
    surg_dim *dims = surg_pass_alloc(r->p, (rank + 1) * sizeof *dims);
    for (size_t i = 0; dims && i < rank; i++) dims[i] = *surg_type_dim(t, i);
    out = dims ? surg_type_tensor(r->m, SURG_FLOAT, dims, rank) : NULL;
  }
  while (depth-- > 0 && out)
    out = surg_type_wrap(r->m, surg_type_get_kind(around[depth]), out);
  return out;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool meets(const retyping *r, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && is_from(r, surg_value_type(v))) return true;
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && is_from(r, surg_value_type(v))) return true;
  }
  return false;
}

static surg_pass_result check_node(const retyping *r, const surg_node *n) {
  const surg_op_class kind = surg_node_class(n);
  if (kind == SURG_OP_CLASS_FUNCTION || !meets(r, n)) return SURG_PASS_UNCHANGED;
  if (surg_pass_keeps_node(r->p, n)) return surg_pass_fail(r->p, n, "it is protected");
  if (!surg_node_schema(n))
    return surg_pass_fail(r->p, n, "the types its operator accepts are unknown");
  if (surg_node_op(n) == SURG_OP_BitCast)
    return surg_pass_fail(r->p, n, "it looks at the bits of elements");
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    if (surg_attr_get_kind(a) == SURG_ATTR_TYPE_PROTO && is_from(r, surg_attr_type(a, 0)))
      return surg_pass_fail(r->p, n, "an attribute sets the type");
    if (surg_attr_get_kind(a) == SURG_ATTR_SPARSE_TENSOR)
      return surg_pass_fail(r->p, n, "an attribute is sparse");
  }
  return SURG_PASS_UNCHANGED;
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

static bool change_value(retyping *r, surg_value *v) {
  const surg_type *t = declared_type(v);
  surg_tensor *c = surg_value_initializer(v);
  if (c && surg_tensor_dtype(c) == r->from) {
    surg_tensor *made = surg_tensor_cast(r->m, c, SURG_FLOAT);
    if (!made || surg_value_set_initializer(v, made) != SURG_OK) return false;
    surg_pass_count(r->p, "weights", 1);
    r->changed = true;
  }
  if (!is_from(r, t)) return true;
  t = retyped(r, t);
  r->changed = true;
  return t && surg_value_set_declared_type(v, t) == SURG_OK;
}

static bool change_node(retyping *r, surg_node *n) {
  static const char *const said[] = {"to", "dtype", "output_dtype", "output_datatype"};
  for (size_t i = 0; i < sizeof said / sizeof *said && surg_node_schema(n); i++) {
    const surg_attr *a = surg_node_attr(n, said[i]);
    if (!a || surg_attr_get_kind(a) != SURG_ATTR_INT || surg_attr_ref(a) ||
        surg_attr_int(a) != r->from)
      continue;
    r->changed = true;
    if (surg_node_set_int(n, said[i], SURG_FLOAT) != SURG_OK) return false;
  }
  for (size_t i = 0; i < surg_node_attr_count(n) && surg_node_schema(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const surg_tensor *t =
        surg_attr_get_kind(a) == SURG_ATTR_TENSOR ? surg_attr_tensor(a, 0) : NULL;
    if (!t || surg_tensor_dtype(t) != r->from) continue;
    surg_tensor *made = surg_tensor_cast(r->m, t, SURG_FLOAT);
    r->changed = true;
    if (!made || surg_node_set_tensor(n, surg_attr_name(a), made) != SURG_OK) return false;
  }
  return true;
}

static bool change_graph(retyping *r, surg_graph *g) {
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
    if (!change_value(r, v)) return false;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (!change_node(r, n)) return false;
  return true;
}

static int dtype_option(surg_pass_ctx *p) {
  const char *text = surg_pass_string(p, "from");
  const int dtype = text ? surg_dtype_from_name(text) : SURG_UNDEFINED;
  const bool known = dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16 || dtype == SURG_DOUBLE;
  return known ? dtype : SURG_UNDEFINED;
}

static surg_pass_result check_graph(const retyping *r, surg_graph *g) {
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    /* An initializer without a tensor is sparse. */
    const bool sparse = surg_value_is_initializer(v) && !surg_value_initializer(v);
    if (sparse && is_from(r, surg_value_type(v)))
      return surg_pass_fail(r->p, NULL, "an initializer of that type is sparse");
  }
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (check_node(r, n) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  retyping r = {.p = p, .m = surg_pass_model(p)};
  r.from = dtype_option(p);
  if (!r.from) return surg_pass_usage(p, "option from: expected float16, bfloat16 or double");
  surg_graph *g = NULL;
  while ((g = surg_model_next_graph(r.m, g)))
    if (check_graph(&r, g) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  surg_pass_used(p, r.from == SURG_DOUBLE ? SURG_LOSSY : SURG_APPROX);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  while ((g = surg_model_next_graph(r.m, g)))
    if (!change_graph(&r, g)) return SURG_PASS_FAILED;
  if (surg_model_status(r.m)) return SURG_PASS_FAILED;
  return r.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "from", "float16", "present element type"),
};

const surg_pass surg__pass_retype = {
    SURG_PASS_HEAD(MODEL, "retype", "convert a float16, bfloat16 or double model to float"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .changes_interface = true,
    .run = run,
};
