/* SPDX-License-Identifier: Apache-2.0 */
/* Two models held against each other by running them on equal inputs. */
#ifndef SURG_VERIFY_H
#define SURG_VERIFY_H

#include "run/run.h"

/* The largest adversarial number for rewrites that are not exact: those promise nothing where what
 * they compute on the way leaves the range of its type, which larger ones lead to. */
#define SURG__VERIFY_TAME 10

typedef struct surg__verify_options {
  unsigned runs; /* seeds for each fill and size; 0: 1 */
  uint64_t seed, max_bytes, max_work;
  surg__tolerance tolerance;
  const surg__tolerance *adversarial; /* on adversarial inputs; NULL: the same */
  double huge;    /* the largest finite adversarial number; 0: 1e30 */
  bool no_random; /* operators that draw without a seed of their own do not run */
  bool may_lose;  /* outputs of the first that the second lacks are not compared */
  surg__dim_of dim_of; /* may be NULL: then symbolic dims have 2, and in other runs 3 elements */
  void *user;
} surg__verify_options;

typedef struct surg__verify_output {
  surg_value *value; /* of the first model */
  surg__distance worst;
  unsigned differs; /* runs in which it does */
} surg__verify_output;

typedef struct surg__verify_report {
  surg_context *ctx;
  unsigned checked, skipped; /* runs; skipped: the first model itself does not run on the inputs */
  bool same;                 /* checked at least once, and no output differs */
  surg__verify_output *outputs;
  size_t n_outputs;
  char skip_why[200]; /* of the last run that was skipped */
  char failure[300];  /* the second model does not run where the first does, or lacks an output */
} surg__verify_report;

/* Runs both on made-up inputs: random and adversarial, symbols at the first two sizes at which the
 * first model runs. Inputs and outputs are matched by name, else by place; an input of the first
 * that is a constant of the second has its value. SURG_OK whatever comes out; else memory ran out or the models are
 * in no order. */
surg_status surg__verify(surg_model *a, surg_model *b, const surg__verify_options *options,
                         surg__verify_report *report);
void surg__verify_free(surg__verify_report *report);

#endif
