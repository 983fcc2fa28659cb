/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the activation functions that the attributes of recurrent layers name. */
#include "eval/nn/activation.h"

#include <math.h>

static double f_affine(double x, double a, double b) {
  return a * x + b;
}
static double f_scaled_tanh(double x, double a, double b) {
  return a * tanh(b * x);
}

/* The effect of an absent parameter: the default of the standard; a default that runtimes read
 * differently; or none, so that the function is undefined. */
typedef enum absence { DEFAULT, DISPUTED, OPEN } absence;

/* The functions. `op` 0: the function is `fn`. `takes`: how many of alpha and beta it uses. */
static const struct name {
  const char *word; /* in lower case: runtimes ignore case */
  int op;
  surg__real_fn fn;
  int takes;
  absence absent;
  float alpha, beta;
} names[] = {
    {"relu", SURG_OP_Relu, NULL, 0, DEFAULT, 0, 0},
    {"tanh", SURG_OP_Tanh, NULL, 0, DEFAULT, 0, 0},
    {"sigmoid", SURG_OP_Sigmoid, NULL, 0, DEFAULT, 0, 0},
    {"affine", 0, f_affine, 2, OPEN, 0, 0},
    {"leakyrelu", SURG_OP_LeakyRelu, NULL, 1, DEFAULT, 0.01f, 0},
    {"thresholdedrelu", SURG_OP_ThresholdedRelu, NULL, 1, DISPUTED, 1, 0},
    {"scaledtanh", 0, f_scaled_tanh, 2, OPEN, 0, 0},
    {"hardsigmoid", SURG_OP_HardSigmoid, NULL, 2, DEFAULT, 0.2f, 0.5f},
    {"elu", SURG_OP_Elu, NULL, 1, DEFAULT, 1, 0},
    {"softsign", SURG_OP_Softsign, NULL, 0, DEFAULT, 0, 0},
    {"softplus", SURG_OP_Softplus, NULL, 0, DEFAULT, 0, 0},
};

static const struct name *find(const char *p, size_t n) {
  for (size_t i = 0; i < SURG_COUNT(names); ++i) {
    size_t j = 0;
    if (strlen(names[i].word) != n) continue;
    while (j < n && (p[j] | 0x20) == names[i].word[j]) ++j;
    if (j == n) return &names[i];
  }
  return NULL;
}

/* A list of parameter values. Each function that has the parameter uses the next one. */
typedef struct supply {
  const float *items;
  size_t n, used;
} supply;

static supply read_supply(const surg_node *node, const char *name) {
  supply s = {0};
  const surg_attr *a = surg_node_attr(node, name);
  if (a) s.items = surg_attr_floats(a, &s.n);
  if (!s.items) s.n = 0;
  return s;
}

/* Reads the next value of a parameter; false: it is absent and the function has no default. */
static bool take(supply *s, bool wants, const struct name *f, double fallback, double *out,
                 bool *disputed) {
  *out = fallback;
  if (!wants) return true;
  if (s->used < s->n) {
    *out = s->items[s->used++];
    return true;
  }
  if (f->absent == DISPUTED) *disputed = true;
  return f->absent != OPEN;
}

static surg__kstatus refused(const char **why, const char *text, surg__kstatus s) {
  *why = text;
  return s;
}

surg__kstatus surg__activations_of(const surg_node *node, const char *const *fallback,
                                   uint32_t per_direction, uint32_t n, surg__activation *out,
                                   const char **why) {
  size_t given = 0;
  const surg_attr *attr = surg_node_attr(node, "activations");
  const surg_str *list = attr ? surg_attr_strings(attr, &given) : NULL;
  supply alpha = read_supply(node, "activation_alpha"), beta = read_supply(node, "activation_beta");
  if (given > 0 && given != n)
    return refused(why, "another number of activations", SURG__K_INVALID);
  for (uint32_t i = 0; i < n; ++i) {
    const char *word = fallback[i % per_direction];
    const struct name *f = given > 0 ? find(list[i].p, list[i].n) : find(word, strlen(word));
    if (!f) return refused(why, "an unknown activation function", SURG__K_CANNOT);
    out[i] = (surg__activation){.fn = f->op ? surg__real_function(f->op) : f->fn,
                                .kind = f->op                  ? SURG__ACT_OPERATOR
                                        : f->fn == f_affine ? SURG__ACT_AFFINE
                                                            : SURG__ACT_SCALED_TANH,
                                .op = f->op,
                                .takes = f->takes};
    if (!take(&alpha, f->takes > 0, f, f->alpha, &out[i].alpha, &out[i].disputed) ||
        !take(&beta, f->takes > 1, f, f->beta, &out[i].beta, &out[i].disputed))
      return refused(why, "an activation without its parameters", SURG__K_CANNOT);
  }
  /* Surplus values: the standard does not define which function uses which value. */
  if (alpha.used != alpha.n || beta.used != beta.n)
    return refused(why, "more activation parameters than the functions have", SURG__K_CANNOT);
  return SURG__K_OK;
}

surg__kstatus surg__k_activations(surg_kctx *k, const char *const *fallback, uint32_t per_direction,
                                  uint32_t n, surg__activation *out) {
  const char *why = NULL;
  const surg__kstatus s = surg__activations_of(k->node, fallback, per_direction, n, out, &why);
  if (s == SURG__K_INVALID) return surg__k_invalid(k, why);
  if (s != SURG__K_OK) return surg__k_cannot(k, why);
  for (uint32_t i = 0; i < n; ++i)
    if (out[i].disputed)
      SURG__K_TRY(surg__k_disputed(k, "ThresholdedRelu without its threshold"));
  return SURG__K_OK;
}
