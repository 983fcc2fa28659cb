/* SPDX-License-Identifier: Apache-2.0 */
/* See phases.h. */
#include "phases.h"

#include <math.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/precision.h>
#include <onnxsurg/schema.h>

#include "links.h"

#define MOST_ROUNDS 8     /* over all graphs, which pass values to each other */
#define UNKNOWN_AXIS 1024 /* the size of an image whose size is not known */
#define NEAR 16           /* values before an operand of a difference that are looked at */

/* --- remainders --- */

static bool rounds(const surg_node *n) {
  const int op = n ? surg_node_op(n) : -1;
  return op == SURG_OP_Floor || op == SURG_OP_Ceil || op == SURG_OP_Round;
}

/* Whether a remainder may be computed by way of n. */
static bool scales(const surg_node *n) {
  const int op = n ? surg_node_op(n) : -1;
  return rounds(n) || op == SURG_OP_Mul || op == SURG_OP_Div || op == SURG_OP_Neg ||
         op == SURG_OP_Cast || op == SURG_OP_Identity;
}

/* Lists v and the values from which it is computed by multiplications and the like, at most NEAR.
 */
static size_t list_near(const surg_value *v, const surg_value **near) {
  size_t n = 0;
  near[n++] = v;
  for (size_t k = 0; k < n; k++) {
    const surg_node *by = surg_value_producer(near[k], NULL);
    for (size_t i = 0; scales(by) && i < surg_node_input_count(by) && n < NEAR; i++)
      if (surg_node_input(by, i) && !surg_value_constant(surg_node_input(by, i)))
        near[n++] = surg_node_input(by, i);
  }
  return n;
}

/* Whether `part` is a multiple of a rounded number that is computed from `whole`, or from that from
 * which `whole` is computed. */
static bool is_rounded_of(const surg_value *part, const surg_value *whole) {
  const surg_value *near[NEAR], *below[NEAR], *above[NEAR];
  const size_t n = list_near(part, near);
  for (size_t k = 0; k < n; k++) {
    const surg_node *by = surg_value_producer(near[k], NULL);
    if (!rounds(by)) continue;
    const size_t n_below = list_near(surg_node_input(by, 0), below),
                 n_above = list_near(whole, above);
    for (size_t i = 0; i < n_below; i++)
      for (size_t j = 0; j < n_above; j++)
        if (below[i] == above[j]) return true;
  }
  return false;
}

/* Whether n subtracts from a number the multiple of another that is nearest, or below it. */
static bool is_remainder(const surg_node *n) {
  const int op = surg_node_op(n);
  const surg_value *a = surg_node_input(n, 0), *b = surg_node_input(n, 1);
  if ((op != SURG_OP_Sub && op != SURG_OP_Add) || !a || !b) return false;
  return is_rounded_of(b, a) || is_rounded_of(a, b);
}

static bool is_angle(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Sin || op == SURG_OP_Cos || op == SURG_OP_Tan;
}

bool phases_is_place(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_GridSample || op == SURG_OP_ms_GridSample || op == SURG_OP_RoiAlign ||
         op == SURG_OP_DeformConv;
}

/* Half the longest axis of the image, which a grid calls 1. */
static double half_axis(const surg_value *image) {
  const surg_type *t = image ? surg_value_type(image) : NULL;
  int64_t longest = 0, low, high;
  if (!t || !surg_type_has_rank(t) || surg_type_rank(t) < 3) return UNKNOWN_AXIS / 2.0;
  for (size_t i = 2; i < surg_type_rank(t); i++) {
    const bool known = surg_dim_range(surg_type_dim(t, i), &low, &high) && high < INT32_MAX;
    if (!known) high = UNKNOWN_AXIS;
    if (high > longest) longest = high;
  }
  return (double)longest / 2;
}

static double turns_of_place(const surg_node *n) {
  const int op = surg_node_op(n);
  if (op == SURG_OP_RoiAlign) return fabs((double)surg_node_float(n, "spatial_scale", 1));
  return op == SURG_OP_DeformConv ? 1 : half_axis(surg_node_input(n, 0));
}

double phases_turns(const surg_node *n, size_t i) {
  if (!surg_node_schema(n)) return 0;
  if (is_angle(n)) return i == 0;
  if (phases_is_place(n))
    return i == (surg_node_op(n) == SURG_OP_DeformConv ? 2 : 1) ? turns_of_place(n) : 0;
  return surg_node_op(n) == SURG_OP_Mod || is_remainder(n) ? HUGE_VAL : 0;
}

/* --- counts --- */

static int dtype_of(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) t = surg_value_declared_type(v);
  return surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

static bool is_float(const surg_value *v) {
  const int d = v ? dtype_of(v) : 0;
  return d == SURG_FLOAT || d == SURG_DOUBLE || d == SURG_FLOAT16 || d == SURG_BFLOAT16;
}

static bool is_product(const surg_node *n) {
  return surg_schema_narrow(surg_node_schema(n)) == SURG_NARROW_GAIN;
}

/* Whether large numbers among the inputs make large ones. */
static bool passes_on(const surg_node *n) {
  const uint32_t flags = surg_schema_flags(surg_node_schema(n));
  return (flags & (SURG_SCHEMA_ELEMENTWISE | SURG_SCHEMA_DATA_MOVER)) ||
         surg_node_op(n) == SURG_OP_CumSum || is_product(n);
}

static bool is_small(const surg_value *v, double small) {
  surg_range r;
  return surg_value_range(v, &r) == SURG_OK && fmax(fabs(r.low), fabs(r.high)) <= small;
}

/* Whether n makes floats of integers. */
static bool counts_from(const surg_node *n) {
  if (surg_node_op(n) == SURG_OP_Range) return true;
  const surg_value *x = surg_node_op(n) == SURG_OP_Cast ? surg_node_input(n, 0) : NULL;
  return x && !is_float(x) && dtype_of(x) != 0 && dtype_of(x) != SURG_BOOL;
}

static bool has_counted(const phases *f, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (surg_node_input(n, i) && table_has(&f->counted, surg_node_input(n, i))) return true;
  return false;
}

/* What is counted is listed in rounds: values pass between graphs. */
typedef struct counting {
  phases *f;
  double small;
  bool any; /* a value was added in this round */
} counting;

/* False: out of memory. */
static bool add_counted(counting *c, surg_value *y) {
  if (!y || !is_float(y) || is_small(y, c->small) || table_has(&c->f->counted, y)) return true;
  c->any = true;
  return table_put(&c->f->counted, y);
}

static bool pass_counted(void *user, surg_value *x, surg_value *y) {
  counting *c = user;
  return !table_has(&c->f->counted, x) || add_counted(c, y);
}

static bool count_node(counting *c, surg_node *n) {
  if (!surg_node_schema(n) || surg_node_subgraph(n, 0)) return links_visit(n, pass_counted, c);
  if (!counts_from(n) && !(passes_on(n) && has_counted(c->f, n))) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (!add_counted(c, surg_node_output(n, i))) return false;
  return true;
}

static bool find_counted(phases *f, surg_model *m, double small) {
  counting c = {f, small, true};
  for (int round = 0; c.any && round < MOST_ROUNDS; round++) {
    c.any = false;
    for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
        if (!count_node(&c, n)) return false;
  }
  return true;
}

/* --- products --- */

typedef struct walk {
  table met;
  surg_value **stack;
  size_t depth;
  links links;
} walk;

static bool push(walk *w, surg_value *v) {
  if (!v || !is_float(v) || surg_value_constant(v) || table_has(&w->met, v)) return true;
  w->stack[w->depth++] = v; /* at most once a value: the stack has room */
  return table_put(&w->met, v);
}

/* Follows what phases are computed from, through products only where these read counts. */
static bool find_products(phases *f, walk *w) {
  while (w->depth > 0) {
    surg_value *v = w->stack[--w->depth];
    size_t at = 0;
    for (surg_value *x; (x = links_next(&w->links, v, &at));)
      if (!push(w, x)) return false;
    surg_node *n = surg_value_producer(v, NULL);
    if (!n || !surg_node_schema(n) || surg_node_subgraph(n, 0)) continue;
    const bool product = is_product(n);
    if (product && !table_put(&f->all, n)) return false;
    if (product && has_counted(f, n) && !table_put(&f->products, n)) return false;
    for (size_t i = 0; i < surg_node_input_count(n); i++) {
      surg_value *x = surg_node_input(n, i);
      if (product && !(x && table_has(&f->counted, x))) continue;
      if (!push(w, x)) return false;
    }
  }
  return true;
}

bool phases_find(phases *f, surg_pass_ctx *p, surg_model *m, double small) {
  size_t values = 0, nodes = 0;
  walk w = {0};
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    nodes += surg_graph_node_count(g);
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) values++;
  }
  w.stack = surg_pass_alloc(p, (values + 1) * sizeof *w.stack);
  if (!w.stack || !table_make(&f->counted, p, values + 1) ||
      !table_make(&f->products, p, nodes + 1) || !table_make(&f->all, p, nodes + 1) ||
      !table_make(&w.met, p, values + 1) || !links_find(&w.links, p, m) ||
      !find_counted(f, m, small))
    return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n); i++)
        if (phases_turns(n, i) > 0 && !(push(&w, surg_node_input(n, i)) && find_products(f, &w)))
          return false;
  return true;
}
