/* SPDX-License-Identifier: Apache-2.0 */
/* The public objects of runs, for the files that implement them. */
#ifndef SURG_RUN_PUBLIC_H
#define SURG_RUN_PUBLIC_H

#include <onnxsurg/evaluate.h>

#include "run/run_engine.h"

struct surg_array {
  surg_context *ctx;
  surg__array a; /* counts as one reference */
};

struct surg_engine {
  surg_context *ctx;
  surg__engine e;
  uint64_t seed; /* e.seed refers to it */
};

struct surg_inputs {
  surg_context *ctx;
  surg_model *m;
  surg__maker maker;
  surg__array *in; /* one for each input of the model */
  bool *given;
  size_t n;
  surg_size *sizes; /* with copied names */
  size_t n_sizes;
  bool made, complete; /* complete: a run succeeded, so nothing is made up any more */
};

/* A new handle of an array, which it references. */
surg_status surg__array_handle(surg_context *ctx, const surg__array *a, surg_array **out);
/* The built-in engine with the default budgets. */
surg__engine surg__engine_default(void);
/* The size of a symbol among n; false: it is not listed. */
bool surg__size_of(const surg_size *sizes, size_t n, const char *symbol, int64_t *out);
/* A surg__dim_of callback for inputs. */
bool surg__inputs_dim_of(void *inputs, const char *symbol, int64_t *out);
/* The internal tolerance for a public one; NULL: `fallback`. */
struct surg_tolerance;
surg__tolerance surg__tolerance_of(const struct surg_tolerance *t, surg__tolerance fallback);

#endif
