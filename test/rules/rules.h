/* SPDX-License-Identifier: Apache-2.0 */
/* Proving rules by models that match them: a case is drawn from a rule's pattern (draw.c, with what
 * shapes.c knows of operators), judged by what it computes before and after the rule (judge.c), and
 * kept, so that rules changed on purpose (mutate.c) are judged by the same cases. */
#ifndef SURG_TEST_RULES_H
#define SURG_TEST_RULES_H

#include "eval/core/eval.h"
#include "rewrite/lang/rule.h"

#define CASE_RANK 6
#define CASE_ITEMS 48
#define CASE_NODES 12
#define CASE_ARGS 16
#define CASE_ELEMENTS 4096
#define LETTERS 26

typedef struct dice {
  uint64_t state;
  bool tiny; /* types of few bits, dimensions of 1: all there is can be run */
  unsigned harsh; /* how many cases in 100 have such constants */
} dice;
unsigned roll(dice *d, unsigned n); /* 0 to n - 1 */
bool chance(dice *d, unsigned percent);

/* A value of a case. */
typedef struct item {
  char name[32];
  int dtype; /* 0: not known */
  unsigned rank;
  int64_t dims[CASE_RANK];
  uint64_t count;
  bool set;      /* shape and type are drawn */
  bool made;     /* by a node of the case */
  bool constant; /* an initializer */
  bool fixed;    /* elements are `ints` or `reals`, in every run */
  int64_t *ints;
  double *reals;
  bool said;  /* what elements are between is assumed: */
  double low, high;
  char range; /* of elements: p positive, u about -1 to 1, f finite, n no NaN, 0: any */
} item;

typedef struct case_node {
  const char *domain, *op_type;
  char attrs[600];
  int in[CASE_ARGS]; /* place in items; -1: absent */
  int out[CASE_ARGS];
  unsigned n_in, n_out;
} case_node;

typedef struct rule_case {
  int64_t from, to; /* opset of the model, and of the emission */
  unsigned target;  /* the emission it was drawn for */
  unsigned emitted; /* the one that was made, + 1; 0: none */
  item *items;
  unsigned n_items;
  case_node *nodes;
  unsigned n_nodes;
  int outputs[CASE_ARGS];
  unsigned n_outputs;
  unsigned style; /* how shapes are declared: 0 as they are, 1 by symbols, 2 unknown, 3 no rank, 4
                     by symbols that are 1 or more where they are */
  uint64_t seed;
  bool harsh; /* constants are huge, tiny, or cancel */
  unsigned most_k; /* k of class rounding counts as this at most; 0: as it is */
  bool bounded; /* set when judged: a bound was searched, not the largest element alone */
  char *text; /* the model */
} rule_case;

typedef enum verdict {
  CASE_BROKEN, /* the model does not load, or its types contradict */
  CASE_MISSED, /* the rule does not match */
  CASE_IDLE,   /* the original computes nothing */
  CASE_PROVEN,
  CASE_WRONG
} verdict;

/* A case for an emission of the rule, or NULL where this draw came to nothing. */
rule_case *case_draw(surg_context *ctx, surg__arena *arena, const surg_rule *r, unsigned target,
                     dice *d);
/* Applies `r` to the case and compares. `why` holds 300 bytes. */
verdict case_judge(surg_context *ctx, const surg_rule *r, rule_case *c, char *why);
/* The same with all values of all inputs, where those are `bits` bits at most; else CASE_IDLE. */
verdict case_judge_all(surg_context *ctx, const surg_rule *r, rule_case *c, unsigned bits,
                       char *why);

/* The model of the sums of absolute terms (terms.c); NULL: an operator of it has none. */
surg_model *terms_of(const surg_model *m);
/* How far each element of each output may be off when every value on the way is off by k * eps of
 * its size (error.c): out[i] is an array in `arena`, NULL for an output that is no float. False:
 * there is no such bound. `in` has an entry for each graph input. */
bool errors_of(surg_model *m, surg__arena *arena, const surg__array *in, double k,
               const double **out);

/* --- what is known of operators (shapes.c) --- */
typedef struct shape_row {
  const char *op, *inputs, *attrs;
} shape_row;
/* The k-th row of an operator, NULL past the end: of those with its domain before the name, else of
 * those with the name alone. For a node of one rule: its name, and that of the node's first result.
 */
const shape_row *shape_row_of(const char *domain, const char *op_type, size_t k);
/* Words that a text attribute may be, separated by '|'; NULL: not known. */
const char *attr_words(const char *op_type, const char *name);

/* --- rules changed on purpose --- */
/* Changes `r` in one place drawn from `d`; `what` (100 bytes) says how. False: nothing to change.
 * mutant_swap undoes the change, and makes it again. */
typedef struct mutant {
  void *at;
  size_t size;
  unsigned char old[64];
  int old_op;
  surg__rstmt *stmt;
  char where[20];
  surg_rule *rule;               /* whose pattern has lost a guard, or a part of it */
  const surg__rexpr *early[SURG__RULE_VARS]; /* what was asked of its values before */
  unsigned emit; /* the emission it is in, or one of those it is before */
} mutant;
bool mutant_make(surg_context *ctx, surg_rule *r, dice *d, mutant *m, char *what);
void mutant_swap(mutant *m);

/* Why the change, as mutant_make says it, is no mistake (same.c); NULL: it is one. */
const char *same_anyway(const char *rule, const char *what);

/* --- kept cases (kept.c) --- */
/* Judges every case of the file; false: one is wrong, or cannot be read, and it was printed. */
bool kept_judge(surg_context *ctx, const char *path, unsigned *count);

/* --- golden cases (golden.c) --- */
/* Reads the models of the cases in a folder and in those below it. */
void golden_read(const char *folder);
/* What a rule matches in all of them, and makes there, as a number. */
uint64_t golden_done(surg_context *ctx, const surg_rule *r);
void golden_forget(void);

#endif
