/* SPDX-License-Identifier: Apache-2.0 */
/* Two models held against each other by running them on equal inputs; or one, in two engines. */
#ifndef SURG_VERIFY_H
#define SURG_VERIFY_H

#include "run/run_engine.h"

/* The largest adversarial number for rewrites that are not exact: those promise nothing where what
 * they compute on the way leaves the range of its type, which larger ones lead to. */
#define SURG__VERIFY_TAME 10

typedef struct surg__verify_options {
  unsigned runs; /* seeds for each fill and size; 0: 1 */
  uint64_t seed, max_bytes, max_work, max_turns;
  surg__tolerance tolerance;
  const surg__tolerance *adversarial; /* on adversarial inputs; NULL: the same */
  double huge;    /* the largest finite adversarial number; 0: 1e30 */
  bool no_random; /* operators that draw without a seed of their own do not run */
  bool may_lose;  /* outputs of the first that the second lacks are not compared */
  bool mixed;     /* symbols are given different sizes, too */
  bool layers;    /* where outputs differ, the first value that does is looked for */
  bool ties;      /* indices that differ are no difference where they point at equal elements */
  const surg__fill *fill; /* `fills` kinds of inputs; 0 of them: random and adversarial */
  size_t fills;
  surg__dim_of dim_of; /* may be NULL: then symbolic dims have 2, and in other runs 3 elements */
  void *user;
  const surg__engine *engines[2]; /* NULL: the interpreter, within the budgets above */
  const surg__array *in;          /* inputs of the first model that were given; NULL: none */
  const bool *given;
  /* What a value of the first model is called in the second; NULL: the same. */
  const char *(*renamed)(const void *renames, const char *name);
  const void *renames;
} surg__verify_options;

typedef struct surg__verify_output {
  surg_value *value; /* of the first model */
  surg__distance worst; /* each number the worst of all runs; `why` of the first that differs */
  unsigned differs;     /* runs in which it does */
  unsigned tied;        /* runs in which all of it are indices of elements that tie */
  bool random;  /* it rests on draws that the other model does not share: not comparable */
  bool compared; /* in one run at least */
  bool depends; /* it depends on inputs */
  bool any;     /* it had an element that was looked at */
  bool number;  /* one that is not NaN: `first` */
  bool varied;  /* two of different value, over all runs */
  double first;
} surg__verify_output;

/* The first value, in the order of the first model, that both have and that differs. */
typedef struct surg__verify_layer {
  bool looked, found;
  unsigned matched, equal; /* values of one name; those that agree */
  char name[160], at[2][400];
  surg__distance distance;
} surg__verify_layer;

typedef struct surg__verify_report {
  surg_context *ctx;
  /* Runs; skipped: the first model itself does not run on the inputs, or outputs differ where it
   * computes what the standard leaves open. */
  unsigned checked, skipped;
  /* Checked at least once, no comparable output differs, and one of them at least is informative.
   */
  bool same;
  bool informative;          /* an output is */
  bool redrawn;              /* inputs were drawn from other ranges, too, to make outputs vary */
  bool open_dims;            /* the length of some dim was chosen here */
  surg__verify_output *outputs;
  size_t n_outputs;
  surg__verify_layer layer;
  char skip_why[200]; /* of the first run that was skipped */
  char failure[300];  /* the second model does not run where the first does, or lacks an output */
} surg__verify_report;

/* Whether comparing the output said something: it had two different numbers, or nothing that a
 * caller gives can change it. */
bool surg__verify_informs(const surg__verify_output *o);
/* Runs both on made-up inputs: random and adversarial, symbols at the first two sizes at which the
 * first model runs. Inputs and outputs are matched by name, else by place; an input of the first
 * that is a constant of the second has its value. SURG_OK whatever comes out; else memory ran out
 * or the models are in no order. */
surg_status surg__verify(surg_model *a, surg_model *b, const surg__verify_options *options,
                         surg__verify_report *report);
void surg__verify_free(surg__verify_report *report);

/* --- verify_facts.c: for verify.c --- */
/* Which outputs of each model rest on draws of random nodes that the other does not have: draws
 * follow the name of a node's first output. Graphs are in order. */
surg_status surg__verify_random(surg_model *const models[2], bool *const random[2]);
/* Which outputs depend on inputs, or on draws. */
bool surg__verify_depends(surg_model *m, bool *out);
/* Takes note of the elements of an output in one run. */
void surg__verify_seen(surg__verify_output *o, const surg__array *a);

/* --- run_layers.c, run_ties.c: for verify.c --- */
/* For each of `n` names their place among `m` others, or m. NULL: out of memory. O(n log m). */
size_t *surg__match_names(surg_context *ctx, size_t n, const char *(*name)(const void *, size_t),
                          const void *of, size_t m, const char *(*other)(const void *, size_t),
                          const void *among);
const char *surg__input_name(const void *g, size_t i);  /* of a surg_graph */
const char *surg__output_name(const void *g, size_t i);
/* Runs both with every value kept, on the inputs in[0] and in[1]. SURG_OK: *out says what was
 * found, or that it was not looked. */
surg_status surg__verify_layers(surg_model *const models[2], const surg__engine *const engines[2],
                                const surg__array *const in[2], const surg__tolerance *t,
                                const surg__verify_options *o, surg__verify_layer *out);
/* Whether output i of the model is indices (ArgMax, ArgMin, TopK, reshaped at most) and those in
 * `got` point, wherever they differ from `want`, at elements that are equal within the tolerance.
 */
surg_status surg__indices_tie(surg_model *m, const surg__engine *e, const surg__array *in, size_t i,
                              const surg__array *got, const surg__array *want,
                              const surg__tolerance *t, bool *out);

#endif
