/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient of ai.onnx.preview.training: the derivatives of a value y of the enclosing graph with
 * respect to other values, at the points given by the inputs. The subgraph between them is
 * computed for these points (forward), then traversed in reverse (backward). Supports
 * elementwise operators. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/core/value.h"

/* A value of the subgraph between the points and y. */
typedef struct item {
  const surg_value *value;
  surg__array array;
  double *slope; /* derivative of y with respect to each element */
  bool own;      /* computed here: the tape owns the array */
} item;

typedef struct tape {
  surg_kctx *k;
  SURG_VEC(item) items;
  SURG_VEC(surg_node *) nodes; /* in topological order */
} tape;

/* Finds the item of a value; *out is NULL if there is none. Linear search, charged to the
 * budget. */
static surg__kstatus find(tape *t, const surg_value *v, item **out) {
  *out = NULL;
  SURG__K_TRY(surg__k_work(t->k, t->items.count + 1));
  for (size_t i = 0; i < t->items.count && !*out; ++i) {
    if (t->items.items[i].value == v) *out = &t->items.items[i];
  }
  return SURG__K_OK;
}

static surg__kstatus add_item(tape *t, const surg_value *v, const surg__array *a, bool own) {
  item it = {.value = v, .array = *a, .own = own};
  if (!surg__is_real(a->dtype))
    return surg__k_cannot(t->k, "a derivative of a value that is not float");
  it.slope = surg__k_scratch(t->k, (size_t)a->count, sizeof *it.slope);
  if (!it.slope) return SURG__K_NOMEM;
  SURG__K_TRY(surg__k_work(t->k, a->count));
  for (uint64_t i = 0; i < a->count; ++i) it.slope[i] = 0;
  return surg__vec_push(t->k->ctx, &t->items, it) ? SURG__K_OK : SURG__K_NOMEM;
}

/* --- forward --- */

static surg__kstatus add_constant(tape *t, const surg_value *v) {
  surg__array a;
  const surg_tensor *c = surg_value_constant((surg_value *)(uintptr_t)v);
  if (!c) return surg__k_invalid(t->k, "the target depends on a value that is not given");
  if (surg__array_from_tensor(t->k->ctx, t->k->arena, c, &a) != SURG_OK) return SURG__K_NOMEM;
  return add_item(t, v, &a, false);
}

static surg__kstatus compute(tape *t, surg_node *n) {
  surg_kctx *k = t->k, sub = *k;
  size_t n_in = surg_node_input_count(n);
  surg__array *in = surg__k_scratch(k, n_in, sizeof *in), out = {0};
  if (!in) return SURG__K_NOMEM;
  for (size_t i = 0; i < n_in; ++i) {
    item *it;
    SURG__K_TRY(find(t, surg_node_input(n, i), &it));
    if (!it) return surg__k_cannot(k, "an operator on the way has an input that is absent");
    in[i] = it->array;
  }
  sub.work = 0;
  sub.max_work = k->max_work - k->work;
  surg_status s = surg__node_compute(n, &sub, in, &out);
  if (s == SURG_ENOMEM) return SURG__K_NOMEM;
  if (s == SURG_ELIMIT) return SURG__K_BUDGET;
  if (s != SURG_OK) return surg__k_cannot(k, sub.why);
  surg__kstatus added = surg__k_work(k, sub.work);
  if (added == SURG__K_OK) added = add_item(t, surg_node_output(n, 0), &out, true);
  if (added != SURG__K_OK) surg__array_drop(&out);
  return added;
}

/* Computes `target` and all values that it depends on, inputs before users. Uses an explicit
 * stack instead of recursion. */
static surg__kstatus run_forward(tape *t, const surg_value *target) {
  SURG_VEC(const surg_value *) stack = {0};
  surg__kstatus s = surg__vec_push(t->k->ctx, &stack, target) ? SURG__K_OK : SURG__K_NOMEM;
  while (s == SURG__K_OK && stack.count > 0) {
    const surg_value *v = stack.items[stack.count - 1];
    surg_node *n = surg_value_producer(v, NULL);
    item *it;
    size_t open = stack.count;
    s = find(t, v, &it);
    if (s == SURG__K_OK && !it && !n) {
      s = add_constant(t, v);
    } else if (s == SURG__K_OK && !it) {
      for (size_t i = 0; s == SURG__K_OK && i < surg_node_input_count(n); ++i) {
        s = find(t, surg_node_input(n, i), &it);
        if (s != SURG__K_OK || it) continue;
        if (!surg__vec_push(t->k->ctx, &stack, surg_node_input(n, i))) s = SURG__K_NOMEM;
      }
      if (s != SURG__K_OK || stack.count > open) continue;
      if (surg_node_output_count(n) != 1) s = surg__k_cannot(t->k, "no derivative of an operator");
      if (s == SURG__K_OK) s = compute(t, n);
      if (s == SURG__K_OK && !surg__vec_push(t->k->ctx, &t->nodes, n)) s = SURG__K_NOMEM;
    }
    --stack.count;
  }
  surg__vec_free(t->k->ctx, &stack);
  return s;
}

/* --- backward --- */

/* The derivative of an operator with inputs a and b and result o with respect to input i. False:
 * not supported. */
static bool derivative(int op, size_t i, double a, double b, double o, double *out) {
  switch (op) {
    case SURG_OP_Identity:
    case SURG_OP_Add:
    case SURG_OP_Sum:
      *out = 1;
      return true;
    case SURG_OP_Sub:
      *out = i == 0 ? 1 : -1;
      return true;
    case SURG_OP_Mul:
      *out = i == 0 ? b : a;
      return true;
    case SURG_OP_Div:
      *out = i == 0 ? 1 / b : -a / (b * b);
      return true;
    case SURG_OP_Neg:
      *out = -1;
      return true;
    case SURG_OP_Abs:
      *out = a > 0 ? 1 : a < 0 ? -1 : 0;
      return true;
    case SURG_OP_Relu:
      *out = a > 0;
      return true;
    case SURG_OP_Exp:
      *out = o;
      return true;
    case SURG_OP_Log:
      *out = 1 / a;
      return true;
    case SURG_OP_Sqrt:
      *out = 0.5 / o;
      return true;
    case SURG_OP_Reciprocal:
      *out = -o * o;
      return true;
    case SURG_OP_Sin:
      *out = cos(a);
      return true;
    case SURG_OP_Cos:
      *out = -sin(a);
      return true;
    case SURG_OP_Tanh:
      *out = 1 - o * o;
      return true;
    case SURG_OP_Sigmoid:
      *out = o * (1 - o);
      return true;
    default:
      return false;
  }
}

/* Adds to the derivatives of input i of a node those that its output contributes (chain rule). */
static surg__kstatus walk_back(tape *t, surg_node *n, size_t i) {
  int64_t steps[3][SURG_LIMIT_RANK], dense[SURG_LIMIT_RANK];
  size_t n_in = surg_node_input_count(n);
  item *o, *in[3] = {NULL}; /* input i, and inputs 0 and 1 */
  double by;
  if (!derivative(surg_node_op(n), i, 1, 1, 1, &by)) {
    return surg__k_cannot(t->k, "no derivative of an operator on the way");
  }
  SURG__K_TRY(find(t, surg_node_output(n, 0), &o));
  const size_t which[3] = {i, 0, n_in > 1 ? 1 : 0};
  for (int j = 0; j < 3; ++j) {
    SURG__K_TRY(find(t, surg_node_input(n, which[j]), &in[j]));
    surg__broadcast_strides(&in[j]->array, o->array.dims, o->array.rank, steps[j]);
  }
  SURG__K_TRY(surg__k_work(t->k, o->array.count));
  surg__dense_strides(o->array.dims, o->array.rank, dense);
  surg__loop l;
  surg__loop_init(&l, o->array.dims, o->array.rank, 4,
                  (const int64_t *const[]){dense, steps[0], steps[1], steps[2]});
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t e = 0; e < l.inner; ++e) {
      uint64_t at[4];
      for (int j = 0; j < 4; ++j) at[j] = (uint64_t)(l.at[j] + e * l.step[j]);
      double a = surg__load_f64(in[1]->array.dtype, in[1]->array.data, at[2]);
      double b = surg__load_f64(in[2]->array.dtype, in[2]->array.data, at[3]);
      double r = surg__load_f64(o->array.dtype, o->array.data, at[0]);
      derivative(surg_node_op(n), i, a, b, r, &by);
      in[0]->slope[at[1]] += o->slope[at[0]] * by;
    }
  }
  return SURG__K_OK;
}

static surg__kstatus run_backward(tape *t, const surg_value *target) {
  item *y;
  SURG__K_TRY(find(t, target, &y));
  for (uint64_t i = 0; i < y->array.count; ++i) y->slope[i] = 1;
  for (size_t j = t->nodes.count; j-- > 0;) {
    surg_node *n = t->nodes.items[j];
    for (size_t i = 0; i < surg_node_input_count(n); ++i) SURG__K_TRY(walk_back(t, n, i));
  }
  return SURG__K_OK;
}

/* --- the operator --- */

static const surg_value *named(const surg_kctx *k, surg_str name) {
  char text[SURG_LIMIT_NAME_PRINT + 1];
  if (name.n >= sizeof text) return NULL;
  memcpy(text, name.p, name.n);
  text[name.n] = '\0';
  return surg_graph_find_value(surg_node_graph(k->node), text);
}

/* Binds the values that xs names, then those of zs, to the inputs. */
static surg__kstatus bind_points(tape *t, size_t *n_xs) {
  static const char *const lists[2] = {"xs", "zs"};
  surg_kctx *k = t->k;
  size_t at = 0;
  for (int l = 0; l < 2; ++l) {
    size_t n = 0;
    const surg_attr *attr = surg_node_attr(k->node, lists[l]);
    const surg_str *names = attr ? surg_attr_strings(attr, &n) : NULL;
    for (size_t i = 0; names && i < n; ++i, ++at) {
      const surg_value *v = named(k, names[i]);
      if (!v || !surg__k_has(k, (uint32_t)at)) {
        return surg__k_invalid(k, "xs or zs names a value that is not there, or has no input");
      }
      SURG__K_TRY(add_item(t, v, &k->in[at], false));
    }
    if (l == 0) *n_xs = at;
  }
  return SURG__K_OK;
}

static surg__kstatus differentiate(tape *t) {
  surg_kctx *k = t->k;
  size_t n_xs = 0;
  SURG__K_TRY(bind_points(t, &n_xs));
  const surg_value *y = named(k, surg_node_string(k->node, "y", ""));
  if (!y || n_xs != k->n_out) return surg__k_invalid(k, "y names no value, or outputs are not xs");
  SURG__K_TRY(run_forward(t, y));
  SURG__K_TRY(run_backward(t, y));
  for (uint32_t i = 0; i < k->n_out; ++i) {
    const item *x = &t->items.items[i];
    SURG__K_TRY(surg__k_out(k, i, x->array.dtype, x->array.dims, x->array.rank));
    for (uint64_t e = 0; k->wanted[i] && e < x->array.count; ++e) {
      surg__store_f64(x->array.dtype, k->out[i].data, e, x->slope[e]);
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_gradient(surg_kctx *k) {
  tape t = {.k = k};
  if (!k->running) return surg__k_cannot(k, "a gradient is computed in a run alone");
  surg__kstatus s = differentiate(&t);
  for (size_t i = 0; i < t.items.count; ++i) {
    if (t.items.items[i].own) surg__array_drop(&t.items.items[i].array);
  }
  surg__vec_free(k->ctx, &t.items);
  surg__vec_free(k->ctx, &t.nodes);
  return s;
}
