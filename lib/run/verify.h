/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two models by running them on equal inputs; or one model in two engines. */
#ifndef SURG_VERIFY_H
#define SURG_VERIFY_H

#include "run/run_engine.h"

/* The largest adversarial number for rewrites that are not exact: these give no guarantee once
 * an intermediate result overflows its type, which larger inputs cause. */
#define SURG__VERIFY_TAME 10

typedef struct surg__verify_options {
  unsigned runs; /* seeds for each fill and size; 0: 1 */
  uint64_t seed, max_bytes, max_work, max_turns;
  surg__tolerance tolerance;
  const surg__tolerance *adversarial; /* on adversarial inputs; NULL: as `tolerance` */
  double huge;    /* the largest finite adversarial number; 0: 1e30 */
  bool no_random; /* random operators without a seed attribute are not computed */
  bool may_lose;  /* outputs of the first model that the second lacks are not compared */
  bool mixed;     /* also run with different sizes for different symbols */
  bool layers;    /* if outputs differ, look for the first value that differs */
  bool ties;      /* indices of equal elements count as equal */
  /* A difference that rounding alone can make counts as not comparable (verify_rounding.c). */
  bool rounds;
  /* With `rounds`: sums may have been reordered, so that a NaN may be an infinity instead. */
  bool reorders;
  const surg__fill *fill; /* `fills` kinds of inputs; if 0: random and adversarial */
  size_t fills;
  surg__dim_of dim_of; /* may be NULL: then symbolic dimensions have size 2, and 3 in other runs */
  void *user;
  const surg__engine *engines[2]; /* NULL: the interpreter, with the budgets above */
  bool (*cancel)(void *user);     /* of that interpreter; NULL: never true */
  void *cancel_user;
  const surg__array *in;          /* given inputs of the first model; NULL: none */
  const bool *given;
  /* The name in the second model of a value of the first; NULL: the names are equal. */
  const char *(*renamed)(const void *renames, const char *name);
  const void *renames;
} surg__verify_options;

typedef struct surg__verify_output {
  surg_value *value; /* of the first model */
  surg__distance worst; /* each field is the worst of all runs; `why` is that of the first
                         * difference */
  unsigned differs;     /* number of runs in which the output differs */
  unsigned tied;        /* number of runs in which all differences are indices of tied elements */
  unsigned amplified;   /* number of runs in which rounding alone moves the output as far as it
                         * differs: not compared there */
  bool random;  /* depends on random numbers that the other model does not share: not comparable */
  bool compared; /* in at least one run */
  bool depends; /* depends on inputs or random numbers */
  bool any;     /* at least one element was inspected */
  bool number;  /* at least one was not NaN; `first` is its value */
  bool varied;  /* two elements of different value, over all runs */
  double first;
} surg__verify_output;

/* The first value, in node order of the first model, that both models have and that differs. */
typedef struct surg__verify_layer {
  bool looked, found;
  unsigned matched, equal; /* number of values with matching names; number of those that agree */
  char name[160], at[2][400];
  surg__distance distance;
} surg__verify_layer;

typedef struct surg__verify_report {
  surg_context *ctx;
  /* Numbers of runs. skipped: the first model does not run on the inputs, or outputs differ
   * where the standard does not define a result. */
  unsigned checked, skipped;
  /* At least one run was compared, no comparable output differs, and at least one is
   * informative. */
  bool same;
  bool informative;          /* at least one output is informative */
  bool redrawn;              /* inputs were also drawn from other ranges, to make outputs vary */
  bool open_dims;            /* the size of a dimension was chosen here */
  surg__verify_output *outputs;
  size_t n_outputs;
  surg__verify_layer layer;
  const surg_value *computed; /* the first input of the second model that the first computes */
  char skip_why[200]; /* of the first skipped run */
  char failure[300];  /* the second model does not run where the first does, or lacks an output */
} surg__verify_report;

/* Whether comparing the output is evidence of equality: it had two different numbers, or it does
 * not depend on inputs. */
bool surg__verify_informs(const surg__verify_output *o);
/* Runs both models on made-up inputs: random and adversarial, symbols at the first two sizes at
 * which the first model runs. Inputs and outputs are matched by name, else by index; an input of
 * the first model that is a constant of the second has its value. Returns SURG_OK whatever the
 * result; else memory ran out or the models are not in topological order. */
surg_status surg__verify(surg_model *a, surg_model *b, const surg__verify_options *options,
                         surg__verify_report *report);
void surg__verify_free(surg__verify_report *report);

/* --- verify_facts.c: for verify.c --- */
/* Which outputs of each model depend on random nodes that the other model lacks: random numbers
 * are derived from the name of a node's first output. Graphs must be in topological order. */
surg_status surg__verify_random(surg_model *const models[2], bool *const random[2]);
/* Which outputs depend on inputs or on random numbers. */
bool surg__verify_depends(surg_model *m, bool *out);
/* Records the elements of an output in one run. */
void surg__verify_seen(surg__verify_output *o, const surg__array *a);

/* --- verify_rounding.c: for verify.c --- */
#define SURG__SHAKES 8
/* Runs the model again on the inputs, SURG__SHAKES times, with every float that it computes, and
 * inputs that are no integers, moved by a random part of their last bits. out[k]: the outputs of
 * run k, none if it failed; the caller drops them. `reorders`: a NaN that it computes becomes an
 * infinity. Only SURG_ENOMEM is a failure. */
surg_status surg__shake(surg_model *m, const surg__engine *e, const surg__array *in, bool reorders,
                        surg__array *const out[SURG__SHAKES]);
/* Whether output i differs in no element by more than rounding moves it in those runs: floats by
 * four times as much, integers by as much. */
bool surg__shake_explains(const surg__array *got, const surg__array *want, size_t i,
                          surg__array *const out[SURG__SHAKES], const surg__tolerance *t);

/* --- run_layers.c, run_ties.c: for verify.c --- */
/* For each of `n` names its index among `m` other names, or m. NULL: out of memory. O(n log m),
 * and O(m log m) for sorting. */
size_t *surg__match_names(surg_context *ctx, size_t n, const char *(*name)(const void *, size_t),
                          const void *of, size_t m, const char *(*other)(const void *, size_t),
                          const void *among);
const char *surg__input_name(const void *g, size_t i);  /* of a surg_graph */
const char *surg__output_name(const void *g, size_t i);
/* Runs both models on the inputs in[0] and in[1] with every value as an output, and finds the
 * first difference. SURG_OK: *out is the result; `looked` false: the values could not be
 * compared. */
surg_status surg__verify_layers(surg_model *const models[2], const surg__engine *const engines[2],
                                const surg__array *const in[2], const surg__tolerance *t,
                                const surg__verify_options *o, surg__verify_layer *out);
/* Whether output i of the model consists of indices (ArgMax, ArgMin, TopK, at most reshaped),
 * and each index in `got` that differs from `want` refers to an element equal within the
 * tolerance. */
surg_status surg__indices_tie(surg_model *m, const surg__engine *e, const surg__array *in, size_t i,
                              const surg__array *got, const surg__array *want,
                              const surg__tolerance *t, bool *out);

#endif
