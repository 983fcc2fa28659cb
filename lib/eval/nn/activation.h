/* SPDX-License-Identifier: Apache-2.0 */
/* The activation functions that the attributes of recurrent layers name. */
#ifndef SURG_ACTIVATION_H
#define SURG_ACTIVATION_H

#include "eval/core/number.h"

typedef enum surg__activation_kind {
  SURG__ACT_OPERATOR, /* the operator `op` with its alpha and beta */
  SURG__ACT_AFFINE,
  SURG__ACT_SCALED_TANH
} surg__activation_kind;

typedef struct surg__activation {
  surg__real_fn fn;
  double alpha, beta;
  surg__activation_kind kind;
  int op, takes;
  bool disputed; /* runtimes disagree on the default of an absent parameter */
} surg__activation;

/* Reads `activations` with activation_alpha and activation_beta, `n` functions in all. Without the
 * attribute each direction has the `per_direction` functions named in `fallback`. */
surg__kstatus surg__activations_of(const surg_node *node, const char *const *fallback,
                                   uint32_t per_direction, uint32_t n, surg__activation *out,
                                   const char **why);
/* The same for the current node of a kernel. */
surg__kstatus surg__k_activations(surg_kctx *k, const char *const *fallback, uint32_t per_direction,
                                  uint32_t n, surg__activation *out);

static inline double surg__activate(const surg__activation *a, double x) {
  return a->fn(x, a->alpha, a->beta);
}

#endif
