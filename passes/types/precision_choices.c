/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes an integer, and what is compared to choose other elements, or their number: a small
 * error of it makes another result. It stays, back to the next products of matrices, which stay,
 * too, unless the choice only leaves the model, such as the label of a classifier. */
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>

#include "../util/links.h"
#include "precision.h"

static bool is_integer(int d) {
  return d != 0 && d != SURG_FLOAT && d != SURG_DOUBLE && d != SURG_FLOAT16 && d != SURG_BFLOAT16 &&
         d != SURG_STRING && d != SURG_BOOL;
}

bool prec_makes_integers(const surg_node *n) {
  return surg_node_op(n) == SURG_OP_Cast &&
         is_integer(prec_dtype(prec_type(surg_node_output(n, 0))));
}

/* What a node does with the order of the elements of an operand, of which 16 bits make ties. */
typedef enum order {
  ORDER_NONE = 0,
  ORDER_COMPARES, /* two operands: booleans */
  ORDER_RANKS,    /* the places of the largest */
  ORDER_CHOOSES   /* it selects elements itself, or ranks distances, which are small differences */
} order;

static order order_of(const surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_Equal:
    case SURG_OP_Greater:
    case SURG_OP_GreaterOrEqual:
    case SURG_OP_Less:
    case SURG_OP_LessOrEqual:
      return ORDER_COMPARES;
    case SURG_OP_ArgMax:
      return ORDER_RANKS;
    case SURG_OP_TopK:
      return surg_node_int(n, "largest", 1) ? ORDER_RANKS : ORDER_CHOOSES;
    case SURG_OP_MaxPool:
      return surg_node_output(n, 1) ? ORDER_RANKS : ORDER_NONE;
    case SURG_OP_ArgMin:
    case SURG_OP_Hardmax:
    case SURG_OP_NonMaxSuppression:
    case SURG_OP_Unique:
      return ORDER_CHOOSES;
    default:
      return ORDER_NONE;
  }
}

/* --- orders that choose --- */

/* Nodes whose order decides what else is computed. */
typedef struct choices {
  prec *c;
  table met; /* values: integers and booleans that choose */
  table nodes;
  links links;
  surg_value **stack;
  size_t depth;
} choices;

static bool reads_numbers(const prec *c, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (prec_find(c, surg_node_input(n, i))) return true;
  return false;
}

/* Whether integers or booleans that n reads are indices, sizes or conditions. Where, which selects
 * elements that are both computed, and masks that are multiplied, change single elements alone. */
static bool chooses(const prec *c, const surg_node *n) {
  if (!surg_node_schema(n)) return false;
  if (surg_node_subgraph(n, 0)) return true;
  switch (surg_node_op(n)) {
    case SURG_OP_NonZero:
    case SURG_OP_Compress:
      return true;
    case SURG_OP_Where:
    case SURG_OP_Cast:
      return false;
    default:
      for (size_t i = 0; i < surg_node_output_count(n); i++)
        if (prec_find(c, surg_node_output(n, i))) return true;
      return false;
  }
}

static bool push(choices *x, surg_value *v) {
  const int d = v ? prec_dtype(prec_type(v)) : 0;
  if ((!is_integer(d) && d != SURG_BOOL) || table_has(&x->met, v)) return true;
  if (!table_put(&x->met, v)) return false;
  x->stack[x->depth++] = v; /* at most once a value: the stack has room */
  return true;
}

static bool push_inputs(choices *x, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (!push(x, surg_node_input(n, i))) return false;
  return true;
}

/* Follows integers and booleans back to the order that they are of. */
static bool follow(choices *x) {
  while (x->depth > 0) {
    surg_value *v = x->stack[--x->depth];
    size_t at = 0;
    for (surg_value *y; (y = links_next(&x->links, v, &at));)
      if (!push(x, y)) return false;
    surg_node *n = surg_value_producer(v, NULL);
    if (!n || !surg_node_schema(n) || surg_node_subgraph(n, 0)) continue;
    if (!reads_numbers(x->c, n)) {
      if (!push_inputs(x, n)) return false;
    } else if (order_of(n) != ORDER_NONE && !table_has(&x->nodes, n) && !table_put(&x->nodes, n)) {
      return false;
    }
  }
  return true;
}

/* False: out of memory. */
static bool find_choices(choices *x) {
  surg_pass_ctx *p = x->c->p;
  size_t values = 0, nodes = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(x->c->m, g));) {
    nodes += surg_graph_node_count(g);
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) values++;
  }
  x->stack = surg_pass_alloc(p, (values + 1) * sizeof *x->stack);
  if (!x->stack || !table_make(&x->met, p, values) || !table_make(&x->nodes, p, nodes) ||
      !links_find(&x->links, p, x->c->m))
    return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(x->c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (chooses(x->c, n) && (!push_inputs(x, n) || !follow(x))) return false;
  return true;
}

/* --- pins --- */

/* The ways back from what stays. */
typedef struct ways {
  prec *c;
  bool *met; /* by value */
  prec_value **stack;
  size_t depth;
} ways;

/* Pins y, and puts it on the stack, unless it is a product of matrices: `products` stay, too. */
static void pin_source(ways *w, prec_value *y, prec_why why, bool products) {
  prec *c = w->c;
  if (!y || y->made == PREC_NONE || w->met[y - c->values]) return;
  const surg_node *by = prec_producer(c, y);
  const bool product = by && surg_schema_narrow(surg_node_schema(by)) == SURG_NARROW_GAIN;
  const prec_slot *s = &c->slots[prec_root(c, y->made)];
  if (s->holds || s->io || (product && !products)) return;
  prec_pin(c, y->made, why);
  w->met[y - c->values] = true; /* at most once a value: the stack has room */
  if (!product) w->stack[w->depth++] = y;
}

/* Pins the readings of n. False: it is of the new type already. */
static bool pin_readings(prec *c, const surg_node *n, prec_why why) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const prec_value *x = prec_find(c, surg_node_input(n, i));
    for (uint32_t r = x ? x->reads : PREC_NONE; r != PREC_NONE; r = c->reads[r].next) {
      if (c->reads[r].n != n) continue;
      if (c->slots[prec_root(c, c->reads[r].slot)].holds) return false;
      prec_pin(c, c->reads[r].slot, why);
    }
  }
  return true;
}

/* Pins n, and what its operands are computed from. */
static void pin_back(ways *w, const surg_node *n, prec_why why, bool products) {
  if (!pin_readings(w->c, n, why)) return;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    pin_source(w, prec_find(w->c, surg_node_input(n, i)), why, products);
  while (w->depth > 0) {
    const prec_value *x = w->stack[--w->depth];
    prec_step at = {0};
    for (prec_value *y; (y = prec_next_source(w->c, x, &at));) pin_source(w, y, why, products);
  }
}

static void pin_node(ways *w, const choices *x, const surg_node *n) {
  const order kind = order_of(n);
  const bool used = kind == ORDER_CHOOSES || table_has(&x->nodes, n);
  if (prec_makes_integers(n)) pin_back(w, n, PREC_INTEGER, true);
  if (used || kind == ORDER_RANKS) pin_back(w, n, PREC_CHOICE, used);
}

bool prec_pin_choices(prec *c) {
  choices x = {.c = c};
  ways w = {.c = c};
  w.met = surg_pass_alloc(c->p, (size_t)c->n_values + 1);
  w.stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *w.stack);
  if (!w.met || !w.stack || !find_choices(&x)) return false;
  for (int labels = 0; labels < 2; labels++) /* a way that products end must not cut others off */
    for (surg_graph *g = NULL; (g = surg_model_next_graph(c->m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
        const bool last =
            surg_node_schema(n) && order_of(n) == ORDER_RANKS && !table_has(&x.nodes, n);
        if (surg_node_schema(n) && last == (labels > 0)) pin_node(&w, &x, n);
      }
  return true;
}
