/* SPDX-License-Identifier: Apache-2.0 */
/* The generator's insides: what the makers of operators build on. */
#ifndef SURG_TEST_GEN_CORE_H
#define SURG_TEST_GEN_CORE_H

#include "gen.h"

#define GEN_ELEMENTS 4096 /* no value gets larger */

typedef struct gen_scope {
  struct gen_scope *outer;
  surg_graph *graph;
  gen_value *values;
  size_t count, capacity;
} gen_scope;

typedef struct gen {
  surg_context *ctx;
  surg_model *model;
  const gen_options *options;
  gen_scope *scope;
  uint64_t state;
  int64_t opset, ir;
  unsigned depth;       /* of subgraphs */
  bool failed;          /* an API call failed: the model is of no use */
  unsigned next_symbol; /* of sizes that depend on elements */
  unsigned extreme;     /* percent of constant elements that are extreme */
  int small;            /* dims: 1: most are 1, 2: all are, 3: some are 0 */
  unsigned functions;
} gen;

/* An operator: returns false when nothing here fits it, before it has built anything. */
typedef struct gen_op {
  const char *name;
  int since, until; /* opsets; until 0: no end */
  bool (*make)(gen *g, const struct gen_op *op);
  unsigned arg; /* for the maker */
} gen_op;

extern const gen_op gen_math[], gen_shape[], gen_nn[]; /* end with a NULL name */
extern const gen_op gen_wild[], gen_flow[], gen_odd[], gen_quant[],
    gen_rare[], gen_layout[]; /* for wild models */

/* --- chance --- */
uint32_t gen_below(gen *g, uint32_t n);
bool gen_chance(gen *g, uint32_t percent);

/* --- values --- */
#define GEN_FLOAT (1u << SURG_FLOAT | 1u << SURG_DOUBLE | 1u << SURG_FLOAT16)
#define GEN_INT (1u << SURG_INT32 | 1u << SURG_INT64)
#define GEN_BOOL (1u << SURG_BOOL)
#define GEN_ANY (GEN_FLOAT | GEN_INT | GEN_BOOL | 1u << SURG_UINT8)
/* A value of this graph or around it: element type in the set, rank in the range. Copied, for the
 * list may grow. */
bool gen_pick(gen *g, uint32_t dtypes, unsigned min_rank, unsigned max_rank, bool empty_too,
              gen_value *out);
uint64_t gen_elements(const gen_value *v);
bool gen_static(const gen_value *v);
bool gen_same_shape(const gen_value *a, const gen_value *b);
/* The broadcast of two shapes into *a; false when they do not fit at every size of the symbols. */
bool gen_broadcast(gen_value *a, const gen_value *b);
void gen_remove_dim(gen_value *v, unsigned i);
void gen_insert_dim(gen_value *v, unsigned i, gen_dim d);
gen_dim gen_size(int64_t n);
const surg_type *gen_type(gen *g, const gen_value *v);

/* --- building --- */
surg_node *gen_node(gen *g, const char *op, size_t n_out);
void gen_in(gen *g, surg_node *n, size_t i, const gen_value *v); /* marks it used */
void gen_in_value(gen *g, surg_node *n, size_t i, surg_value *v);
/* Output i is a value like *like. */
void gen_out(gen *g, surg_node *n, size_t i, const gen_value *like);
void gen_set_int(gen *g, surg_node *n, const char *name, int64_t v);
void gen_set_float(gen *g, surg_node *n, const char *name, float v);
void gen_set_ints(gen *g, surg_node *n, const char *name, const int64_t *v, size_t count);
/* Constants: an initializer or a Constant node. */
surg_value *gen_ints(gen *g, const int64_t *v, size_t count); /* int64, rank 1 */
surg_value *gen_scalar(gen *g, int dtype, double v);
/* Random elements: of integers, not 0 where `nonzero`, and small. */
bool gen_constant(gen *g, int dtype, const gen_dim *dims, unsigned rank, bool nonzero,
                  gen_value *out);
/* Bytes of one element that rewrites go wrong on: NaN, infinities, -0, denormals, the largest, ...
 */
void gen_put_extreme(gen *g, int dtype, uint8_t *at);
size_t gen_element_size(int dtype);
surg_value *gen_constant_value(gen *g, surg_tensor *t);
void gen_keep(gen *g, const surg_value *v); /* a value of this graph becomes an output */
/* --- in one call (gen_build.c) --- */
surg_node *gen_maker(const surg_value *v);
/* The first output of a node that reads `in`, of one, or of two values. */
surg_value *gen_apply(gen *g, const char *op, size_t n_in, surg_value *const *in);
surg_value *gen_one(gen *g, const char *op, surg_value *x);
surg_value *gen_two(gen *g, const char *op, surg_value *x, surg_value *y);
/* A value that is made already is one of the graph's; false where something failed. */
bool gen_done(gen *g, surg_value *y, const gen_value *like);
/* What is made next is made in a graph of a node; its inputs and outputs. */
void gen_enter(gen *g, gen_scope *scope, surg_graph *graph);
void gen_leave(gen *g);
void gen_give(gen *g, surg_value *y, const surg_type *type);
surg_value *gen_take(gen *g, const char *stem, const surg_type *type);

const surg_type *gen_weak_type(gen *g, const gen_value *v); /* of wild models: maybe without rank */
void gen_report(gen *g);      /* the values of this graph, once it is made */
bool gen_random_node(gen *g); /* tries operators until one fits */

#endif
