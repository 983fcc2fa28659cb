/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves Casts at the interface to the caller. An input whose only consumers cast it to one type,
 * directly or after operators that only move its elements, is declared with that type; an output
 * made by a Cast, directly or by operators that only move its elements, is declared with the type
 * before the Cast. The Casts stay as Casts to the same type, which rule nop-cast removes.
 *
 *   before: (uint8[2] x) => (int64[2] y) { a = Cast <to = 1> (x)  b = Sign (a)
 *                                          y = Cast <to = 7> (b) }
 *   after:  (float[2] x) => (float[2] y) { a = Cast <to = 1> (x)  b = Sign (a)
 *                                          y = Cast <to = 1> (b) }
 *
 * Applies to numbers and booleans of up to 64 bits that `except` does not name. Inputs with a
 * default value, and inputs and outputs whose type something else depends on, stay. Needs sorted,
 * types. Keeps sorted. Exact if the caller casts; changes the interface. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/precision.h>

#include "../util/except.h"

#define MOVED 64 /* most values that have the elements of one input */

typedef struct uncasting {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *graph; /* the main graph */
  bool changed;
} uncasting;

/* Element types that callers commonly support and cast as ONNX does. */
static bool is_plain(int dtype) {
  switch (dtype) {
    case SURG_BOOL:
    case SURG_INT8:
    case SURG_UINT8:
    case SURG_INT16:
    case SURG_UINT16:
    case SURG_INT32:
    case SURG_UINT32:
    case SURG_INT64:
    case SURG_UINT64:
    case SURG_FLOAT:
    case SURG_FLOAT16:
    case SURG_DOUBLE:
      return true;
    default:
      return false;
  }
}

static int dtype_of(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
}

/* The target type of an ONNX Cast; SURG_UNDEFINED: no Cast, protected, or not plain. */
static int cast_to(const uncasting *u, const surg_node *n) {
  const surg_attr *to = n && surg_node_op(n) == SURG_OP_Cast ? surg_node_attr(n, "to") : NULL;
  if (!to || surg_attr_ref(to) || surg_attr_get_kind(to) != SURG_ATTR_INT ||
      surg_pass_keeps_node(u->p, n))
    return SURG_UNDEFINED;
  const int64_t dtype = surg_attr_int(to);
  return dtype > 0 && dtype < 64 && is_plain((int)dtype) ? (int)dtype : SURG_UNDEFINED;
}

static const surg_type *with_dtype(const uncasting *u, const surg_type *t, int dtype) {
  assert(t && dtype != SURG_UNDEFINED);
  if (!surg_type_has_rank(t)) return surg_type_tensor_unranked(u->m, dtype);
  const size_t rank = surg_type_rank(t);
  surg_dim *dims = surg_pass_alloc(u->p, (rank + 1) * sizeof *dims);
  for (size_t i = 0; dims && i < rank; i++) dims[i] = *surg_type_dim(t, i);
  return dims ? surg_type_tensor(u->m, dtype, dims, rank) : NULL;
}

static bool is_free(const uncasting *u, const surg_value *v) {
  return !except_has(u->p, v) && !surg_pass_keeps_value(u->p, v);
}

static bool declare(uncasting *u, surg_value *v, const surg_type *t, int dtype,
                    const char *counter) {
  assert(is_plain(dtype));
  t = with_dtype(u, t, dtype);
  if (!t || surg_value_set_declared_type(v, t) != SURG_OK) return false;
  surg_pass_count(u->p, counter, 1);
  u->changed = true;
  return true;
}

/* Operators whose result has only elements of input 0. */
static const int movers[] = {SURG_OP_Reshape,      SURG_OP_Flatten,   SURG_OP_Transpose,
                             SURG_OP_Squeeze,      SURG_OP_Unsqueeze, SURG_OP_Slice,
                             SURG_OP_Gather,       SURG_OP_Expand,    SURG_OP_DepthToSpace,
                             SURG_OP_SpaceToDepth, SURG_OP_Tile,      SURG_OP_Identity};

/* The result of a node that only moves the elements of v and may do so with another element type;
 * NULL: another node, or its result is seen outside. */
static surg_value *moved_by(const uncasting *u, const surg_node *n, const surg_value *v) {
  bool moves = false;
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) moves |= surg_node_op(n) == movers[i];
  if (!moves || surg_node_input(n, 0) != v || surg_pass_keeps_node(u->p, n)) return NULL;
  for (size_t i = 1; i < surg_node_input_count(n); i++)
    if (surg_node_input(n, i) == v) return NULL;
  surg_value *y = surg_node_output_count(n) == 1 ? surg_node_output(n, 0) : NULL;
  return y && !surg_pass_keeps_value(u->p, y) ? y : NULL;
}

/* Values that have the elements of an input, which is the first. */
typedef struct moved {
  surg_value *items[MOVED];
  size_t n;
  int wanted; /* the one type to which they are cast; SURG_UNDEFINED: none, or several */
} moved;

/* Adds what reads one of the values; false: it needs the type that the input has. */
static bool follow(const uncasting *u, moved *m, surg_value *v) {
  for (surg_use *use = surg_value_first_use(v); use; use = surg_use_next(use)) {
    const surg_node *n = surg_use_get_kind(use) == SURG_USE_NODE ? surg_use_node(use) : NULL;
    const int to = cast_to(u, n);
    surg_value *y = n && !to ? moved_by(u, n, v) : NULL;
    if ((!to && !y) || (to && m->wanted && to != m->wanted)) return false;
    if (to) m->wanted = to;
    if (y && m->n == MOVED) return false;
    if (y) m->items[m->n++] = y;
  }
  return true;
}

/* Whether the nodes that make the values, from the given one on, accept another type. */
static bool accept(const moved *m, size_t from, int dtype) {
  for (size_t i = from; i < m->n; i++) {
    const surg_schema *s = surg_node_schema(surg_value_producer(m->items[i], NULL));
    if (!s || !surg_schema_accepts(s, false, 0, surg_value_type(m->items[i]), dtype)) return false;
  }
  return true;
}

static bool take_input(uncasting *u, surg_value *v) {
  const surg_type *t = surg_value_declared_type(v);
  const int have = dtype_of(t);
  moved m = {.items = {v}, .n = 1};
  if (surg_value_is_initializer(v) || !is_plain(have) || !is_free(u, v)) return true;
  for (size_t i = 0; i < m.n; i++)
    if (!follow(u, &m, m.items[i])) return true;
  if (!m.wanted || m.wanted == have || !accept(&m, 1, m.wanted) || !surg_pass_allow(u->p))
    return true;
  for (size_t i = 1; i < m.n; i++) {
    const surg_type *inner = surg_value_declared_type(m.items[i]);
    const surg_type *other = dtype_of(inner) ? with_dtype(u, inner, m.wanted) : NULL;
    if (dtype_of(inner) && (!other || surg_value_set_declared_type(m.items[i], other) != SURG_OK))
      return false;
  }
  return declare(u, v, t, m.wanted, "inputs");
}

/* The output of a Cast whose elements v has, moved by operators that do nothing else; none of the
 * values between is read elsewhere. Adds them to `m`, without the output of the Cast. NULL: there
 * is none. */
static surg_value *cast_before(const uncasting *u, surg_value *v, moved *m) {
  for (;;) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (cast_to(u, n)) return v;
    surg_value *x = n && surg_node_input_count(n) ? surg_node_input(n, 0) : NULL;
    if (!x || m->n == MOVED || moved_by(u, n, x) != v || surg_node_graph(n) != u->graph ||
        surg_value_use_count(x, 2) != 1 || surg_pass_keeps_value(u->p, x))
      return NULL;
    m->items[m->n++] = v;
    v = x;
  }
}

static bool take_output(uncasting *u, surg_graph *g, size_t i) {
  surg_value *v = surg_graph_output(g, i);
  const surg_type *t = surg_graph_output_type(g, i);
  moved m = {.n = 0};
  if (surg_value_use_count(v, 2) != 1 || !is_free(u, v)) return true;
  const surg_value *c = cast_before(u, v, &m);
  surg_node *n = c ? surg_value_producer(c, NULL) : NULL;
  const int have = cast_to(u, n);
  const surg_value *x = have ? surg_node_input(n, 0) : NULL;
  const int before = x ? dtype_of(surg_value_type(x)) : SURG_UNDEFINED;
  if (!have || dtype_of(t) != have || !is_plain(before) || before == have ||
      !accept(&m, 0, before) || !surg_pass_allow(u->p))
    return true;
  for (size_t k = 1; k <= m.n; k++) { /* the last value is the output of the Cast */
    surg_value *w = k < m.n ? m.items[k] : surg_node_output(n, 0);
    const surg_type *inner = surg_value_declared_type(w);
    const surg_type *other = dtype_of(inner) ? with_dtype(u, inner, before) : NULL;
    if (dtype_of(inner) && (!other || surg_value_set_declared_type(w, other) != SURG_OK))
      return false;
  }
  return surg_node_set_int(n, "to", before) == SURG_OK && declare(u, v, t, before, "outputs");
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  uncasting u = {.p = p, .m = surg_pass_model(p)};
  surg_graph *g = u.graph = surg_model_graph(u.m);
  except_check(p, g, true);
  /* Outputs first: their Casts may read an input directly. */
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (!take_output(&u, g, i)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (!take_input(&u, surg_graph_input(g, i))) return SURG_PASS_FAILED;
  return u.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    EXCEPT_OPTION("inputs and outputs to leave unchanged"),
};

const surg_pass surg__pass_drop_io_casts = {
    SURG_PASS_HEAD(MODEL, "drop-io-casts", "remove Casts at inputs and outputs"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
