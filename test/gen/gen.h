/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models, typed and reproducible: one seed, one model. The shapes and element types
 * of all values are known to the generator, so that inference can be judged by them. What is
 * computed is always defined: indices are in range, divisors not zero, nothing that depends on
 * how a float becomes an integer. */
#ifndef SURG_TEST_GEN_H
#define SURG_TEST_GEN_H

#include <onnxsurg/onnxsurg.h>

#define GEN_RANK 6
#define GEN_SYMBOLS 3 /* N, M, B: sizes 3, 2 and 4 while a model is made */
/* Sizes that a wild model does not name: ANY is 2; ONE_OR_N is 1 or the size of N; those from FIRST
 * on depend on elements. */
#define GEN_SYMBOL_ANY 4
#define GEN_SYMBOL_ONE_OR_N 5
#define GEN_SYMBOL_FIRST 6

typedef struct gen_dim {
  int64_t n;
  unsigned symbol; /* 0: n is the size; else its size for this symbol */
} gen_dim;

typedef struct gen_value {
  surg_value *v;
  int dtype;
  unsigned rank;
  gen_dim dims[GEN_RANK];
  bool empty; /* has no elements */
  bool used;
  bool keep; /* becomes an output, read or not */
} gen_value;

typedef struct gen_options {
  uint64_t seed;
  size_t nodes;      /* of the main graph, about; 0: 5 to 60 */
  int64_t opset, ir; /* 0: chosen, 7..23 and 3..10 */
  bool no_symbols, no_empty, no_subgraphs;
  bool float_only; /* no double and float16, for which runtimes lack kernels */
  /* Also what is defined in some runs only, or for a part of the graph: branches and bodies that do
   * not run and would fail, extreme constants, sizes 1 and 0, views of one value as outputs, ... */
  bool wild;
  const char *kind; /* of a wild model: half of the nodes are of this kind; NULL: of all kinds */
  /* Called for every value once its graph is made; may be NULL. */
  void (*seen)(void *user, const gen_value *v);
  void *user;
} gen_options;

/* NULL when the model could not be made: memory, or an API call failed (see the context). */
surg_model *gen_model(surg_context *ctx, const gen_options *options);
/* Whether there is a kind of this name: quant, rare, flow, odd, wild, empty, dims. */
bool gen_kind(const char *name);
/* Operators the generator knows, for coverage; NULL past the end. */
const char *gen_operator(size_t i);

#endif
