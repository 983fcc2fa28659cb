/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for passes after which a target supports a model. The public interface is
 * onnxsurg/repair.h. */
#ifndef SURG_REPAIR_INTERNAL_H
#define SURG_REPAIR_INTERNAL_H

#include <onnxsurg/repair.h>

#include "base/base.h"
#include "repair/memo.h"
#include "target/target.h"

/* What the user consents to: the worst exactness class of rewrites, and changes of inputs and
 * outputs. */
typedef struct surg__consent {
  surg_exactness most;
  bool interface;
} surg__consent;
#define SURG__NO_CONSENT ((surg__consent){SURG_ROUNDING, false})
#define SURG__ALL_CONSENT ((surg__consent){SURG_LOSSY, true})
/* Sizes that the user gives for dimensions of inputs that are not fixed. */
typedef struct surg__sizes {
  const surg_size *items;
  size_t n;
} surg__sizes;
/* Guesses for sizes. USUAL: 1 for the first axis, 224 for image heights and widths, else 16; LONG:
 * 512 in place of 16, as the lengths of signals are; SEEN: a length that another input has;
 * BATCH: a batch that another input has; ONES: always 1. In the order of preference. */
typedef enum surg__guess {
  SURG__GUESS_NONE = 0,
  SURG__GUESS_USUAL,
  SURG__GUESS_LONG,
  SURG__GUESS_SEEN,
  SURG__GUESS_BATCH,
  SURG__GUESS_ONES
} surg__guess;
/* Writes a pipeline "freeze{N=1,x.2=224}", NUL-terminated: dimensions of inputs that are not fixed
 * get the given size (`given` may be NULL), others a guess (NONE: they stay). Empty if there is no
 * such dimension. False: too many, or out of memory. */
bool surg__repair_freeze(const surg_model *m, const surg__sizes *given, surg__guess guess,
                         surg__buf *out);
/* The name of the first given size that matches no symbolic or unknown dimension of an input, or
 * NULL. */
const char *surg__repair_no_size(const surg_model *m, const surg__sizes *given);
/* The number of errors and shape contradictions that `check` finds, and of tensors that are padded
 * by reflection beyond their size; SIZE_MAX if it fails. */
size_t surg__repair_contradictions(surg_model *m);

/* Names of operators, each once. */
typedef struct surg__repair_ops {
  surg__buf names;  /* as "A+B" */
  surg__memo seen; /* their hashes */
} surg__repair_ops;
void surg__repair_ops_init(surg__repair_ops *ops, surg_context *ctx);
void surg__repair_ops_free(surg__repair_ops *ops);
/* Adds the operator of the node; beyond half a million different ones, which a memo does not note,
 * it is left out. */
void surg__repair_add_op(surg__repair_ops *ops, const surg_node *n);
bool surg__repair_has_op(const surg__repair_ops *ops, const char *name);

/* The numbers of objections of a target to a model. */
typedef struct surg__repair_counts {
  size_t count[SURG__C_SAYS + 1]; /* ILLEGAL objections by cause */
  uint32_t causes; /* bits 1 << cause: of these objections, and why their nodes fit no
                    * other fact: what a cure may be for */
  size_t all, unknown;
  size_t doubts;  /* of `unknown`: about nodes and sizes */
  size_t misread; /* of `all`: imported, and computed differently */
  size_t data;    /* elements of weights that are not available: no repair cures that, so neither
                   * `all` nor `unknown` counts it */
  size_t failing; /* nodes of which no run can succeed and that are not certain to be rejected; not
                   * part of `all` */
  size_t data_illegal; /* of `data`: certain to be rejected */
  surg__repair_ops *ops; /* rejected operators; NULL: not collected */
} surg__repair_counts;
/* Judges the model and counts the objections. Rejected operators are added to `ops` (or NULL). */
surg_status surg__repair_count(const surg__target *t, surg_model *m, surg__repair_counts *out,
                               surg__repair_ops *ops);
/* Whether an input has a default; whether an output is declared as a sequence of maps. */
bool surg__repair_has_defaults(const surg_model *m);
bool surg__repair_has_maps(const surg_model *m);
/* Whether a node of the main graph draws random numbers. O(nodes) */
bool surg__repair_draws(const surg_model *m);
/* Bits 1 << cause: why the node of the objection fits none of the facts about its version. */
uint32_t surg__repair_causes(const surg__objection *o);
/* Whether cures for this cause may help: of the causes why a node fits no fact, the reported one
 * may be one that nothing cures. */
bool surg__repair_may_be_for(uint32_t causes, surg__cause cause);

/* Writes the interface of a model as callers see it, one line each: names, types and sizes of
 * inputs, names and types of inputs with a default, names and element types of outputs. */
surg_status surg__repair_put_interface(surg_model *m, surg__buf *out);
/* Appends the inputs and outputs whose name or type differs, one NUL-terminated text each:
 * `input "x": float[N, 3] -> float[1, 3]`. O(inputs and outputs), if few are renamed */
surg_status surg__repair_put_changes(surg_model *before, surg_model *after, surg__buf *out);
/* Writes the pipeline that removes Casts of inputs and outputs and leaves them to the caller,
 * NUL-terminated. Inputs and outputs whose element type already differs from the original are
 * excluded: the caller cannot replace two Casts in sequence by one. False: out of memory. */
bool surg__repair_uncast(surg_model *m, const surg__buf *origin, surg__buf *out);
/* Writes the pipeline that makes boolean outputs of the model float and computes them as numbers.
 * False: there is none, or out of memory. */
bool surg__repair_numbers(surg_model *m, surg__buf *out);

#define SURG__REPAIR_TEXTS 64u /* most combinations of operator and types that get Casts */

typedef struct surg__repair_texts {
  char *items[SURG__REPAIR_TEXTS]; /* owned */
  size_t n;
} surg__repair_texts;

/* Lists the pipelines that compute rejected nodes in element types that the target supports. */
void surg__repair_wraps(const surg__target *t, surg_model *m, surg__repair_texts *texts);
/* Writes the pipeline that computes QLinear operators in float, without the quantization of their
 * results, NUL-terminated. False: there are none, or out of memory. */
bool surg__repair_unquantized(surg_model *m, surg__buf *out);

/* Runs a pipeline on a model with the given consents; *needed is the consent that its changes
 * require. On failure *m is freed and NULL; SURG_ENOMEM only if memory ran out. */
surg_status surg__repair_run(surg_context *ctx, surg_model **m, const char *text,
                             surg__consent given, bool verify_each, surg__consent *needed);
/* Reports the defects of a model that `mend` cannot cure within the consent. */
void surg__repair_report_defects(const surg_model *model, surg__consent given);
/* Whether consent `a` includes consent `b`. */
bool surg__repair_covers(surg__consent a, surg__consent b);

/* Rules of one group that start from one operator, in the order in which they are tried. */
typedef struct surg__rule_set {
  char op[256]; /* its name, with the domain */
  const surg_rule *items[32];
  size_t n;
} surg__rule_set;
typedef SURG_VEC(surg__rule_set) surg__rule_sets;

/* A search for a repair: its input, its state and its result. */
typedef struct surg__repair {
  surg_context *ctx; /* of the model; its diagnostics should be suppressed, as cures that fail
                      * report errors */
  const surg__target *t;
  surg__target lenient; /* storage of `t` in searches with other rules: misread nodes accepted, or
                         * without its host */
  surg_model *m;        /* owned; with the cures found so far */
  surg__consent given;
  bool verify_each;
  bool is_plain;             /* cures that need more consent are not looked for */
  bool is_strict;            /* now: only cures that add no unknown objections */
  unsigned depth;            /* nesting of look-ahead searches; 0: the main search */
  uint64_t worked[2];        /* nodes of models tried: by this search, by its look-ahead searches */
  uint64_t *work;            /* `worked` of the main search; NULL: this is the main search */
  surg__memo tried;          /* trials and their results, of the main search */
  surg__memo *memo;          /* `tried` of the main search; NULL: this is the main search */
  surg__rule_sets own_rules; /* rules by operator, of the main search */
  const surg__rule_sets *rules; /* `own_rules` of the main search; NULL: this is it */
  surg__memo own_replaced;      /* operators that `replace` has rules for, of the main search */
  surg__memo *replaced;         /* `own_replaced` of the main search; NULL: this is it */
  size_t failing;               /* `failing` of the model before the search */
  surg_model *spare;            /* a copy of `m` at this epoch that a trial left unchanged, owned;
                                 * or NULL */
  uint64_t spare_of;
  uint64_t print, print_of;     /* fingerprint of `m` at this epoch plus 1; 0: not known */
  bool is_wider;                /* look-ahead searches also change inputs and outputs */
  const surg__buf *origin;      /* the original interface of the model; NULL before the search */
  surg__buf first;              /* storage of `origin` in the main search */
  const surg__sizes *sizes;     /* sizes that the user gives, or NULL */
  surg__consent used;           /* consent required by the changes made */
  surg__consent wanted;         /* consent required by cures that were not applied */
  surg__buf pipeline;           /* the changes made; NUL-terminated after the search */
  surg__buf refused;            /* cures that would help with more consent; NUL-terminated after the
                                 * search */
  surg_model *original;         /* with is_minimal: the model before the cures, owned; else NULL */
  size_t first_step;            /* where the pipeline of the cures starts */
  SURG_VEC(size_t) starts;      /* where the cures start in the pipeline */
  surg__consent used_before;    /* consent required by the changes before the cures */
  bool is_minimal;              /* removes changes that are not needed */
  bool lacks;                   /* elements of some weights are not available */
  bool is_nearer;               /* for a target with a host: also reduces the number of nodes on the
                                 * host */
  /* For a supported model: nodes on its host now and before this reduction, and nodes in total. */
  size_t elsewhere, was, nodes;
  surg_status failure; /* memory ran out, so that the result is unknown */
} surg__repair;

#define SURG__UNQUANTIZE "unquantize,fold{dequantize,max-growth=inf},prune"
/* Whether QuantizeLinear or DequantizeLinear is rejected, and to leave quantization out cures more
 * than to replace these operators, which keeps the rounding (types.c). */
bool surg__repair_rounds(surg__repair *r);

/* --- rules.c --- */

/* Rules of the groups `forms` and `substitute` by operator: all sets of the first group, then all
 * of the second. */
const surg__rule_sets *surg__repair_rules(surg__repair *r);
void surg__rule_sets_free(surg_context *ctx, surg__rule_sets *sets);
/* Whether `replace` may have a rule for the operator: a trial of others would change nothing. */
bool surg__repair_replaces(surg__repair *r, const char *op);

/* --- opsets.c --- */

#define SURG__REPAIR_OLDEST 7 /* the oldest opset that is tried */

/* The opsets of ONNX's own domain that a target supports, or NULL. */
const surg__tspan *surg__repair_window(const surg__target *t);
/* Finds the opset conversion that leaves the fewest objections; of equal ones the nearest opset. */
bool surg__repair_best_opset(surg__repair *r, surg__consent given, const surg__repair_counts *now,
                             char *best, size_t size);

/* --- trial.c --- */

/* Gives a search another model; the caller frees the one it had. */
static inline void surg__repair_put(surg__repair *r, surg_model *m) {
  if (r->spare) surg_model_free(r->spare);
  r->spare = NULL;
  r->m = m;
  r->print_of = 0;
}
/* A number for a trial on the model as it is now; 0: the model has none. `what`: what is tried, if
 * not the pipeline alone. */
uint64_t surg__repair_trial(surg__repair *r, const char *text, const char *what,
                            surg__consent given);
/* The trials that were made before. */
surg__memo *surg__repair_memo(surg__repair *r);
/* Whether the look-ahead searches have spent what they may cost: as much as the main search, plus a
 * constant. */
bool surg__repair_spent(const surg__repair *r);
/* Runs a pipeline on a copy and counts the objections to the result. NULL: it fails, changes
 * nothing, is known to leave `below` objections or more, or the budget of look-ahead searches is
 * spent. Owned by the caller. */
surg_model *surg__repair_try(surg__repair *r, const char *text, surg__consent given, size_t below,
                             surg__repair_counts *after, surg__consent *needed);

/* The least consent that includes both. */
surg__consent surg__repair_both(surg__consent a, surg__consent b);
/* Makes the result of a trial, which the search owns from now on, its model, and adds the pipeline
 * to the changes made. */
void surg__repair_take(surg__repair *r, surg_model *m, const char *text, surg__consent needed);

/* Whether a pipeline changes the model, with all consents unless the search is plain, or may. */
bool surg__repair_fires(surg__repair *r, const char *text);

typedef surg_status (*surg__repair_search_fn)(surg__repair *r, surg__repair_counts *after);
/* After a search that left objections: replaces all rejected operators, and searches from there
 * (anew.c). */
surg_status surg__repair_anew(surg__repair *r, surg__repair_counts *after,
                              surg__repair_search_fn search);
/* For a target with a host, after the search: searches for passes that leave fewer nodes on the
 * host (host.c). */
surg_status surg__repair_nearer(surg__repair *r, surg__repair_counts *after,
                                surg__repair_search_fn search);

/* After a search that left nothing unsupported: removes changes that are not needed, and narrows
 * those of the interface (minimal.c). Does nothing without `original`. */
surg_status surg__repair_shorten(surg__repair *r, surg__repair_counts *after);

/* After a search: runs a pipeline with consent to approx, then searches for cures of what it makes
 * unsupported. *done: the result stays, as the target has no more objections to it; the pipeline of
 * `r` then has both. A status other than SURG_OK: the pipeline fails, as the context reports. */
surg_status surg__repair_then(surg__repair *r, const char *then, surg__repair_counts *after,
                              bool *done);

/* Initializes a search, which owns the model from now on. The passes must be registered in the
 * context. */
void surg__repair_init(surg__repair *r, surg_context *ctx, const surg__target *t, surg_model *m,
                       surg__consent given);
/* Runs the search: r->m is the repaired model, r->pipeline the changes, *before and *after the
 * objections. SURG_OK whether or not the target supports the result. */
surg_status surg__repair_find(surg__repair *r, surg__repair_counts *before,
                              surg__repair_counts *after);
void surg__repair_free(surg__repair *r);

#endif
