/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass static-cache. */
#ifndef SURG_PASSES_STATIC_CACHE_H
#define SURG_PASSES_STATIC_CACHE_H

#include <onnxsurg/onnxsurg.h>

#define SC_RANK 8 /* largest rank of a value that is followed */

/* How the node `at` of a cache joins the rows of past runs with new ones. */
typedef enum sc_kind {
  SC_CONCAT, /* Concat (past, added) */
  SC_FUSED,  /* an attention operator with inputs and outputs of its own for them */
  SC_PLACED  /* an attention operator that writes into a buffer by itself */
} sc_kind;

/* A cache: an input of the model, rows that the run adds, and the output that is both. */
typedef struct sc_cache {
  sc_kind kind;
  surg_node *at;
  surg_value *past, *grown; /* input and output of the model */
  size_t axis;              /* of the rows */
  const surg_value *added;  /* a value with the number of new rows as a dimension ... */
  size_t added_axis;        /* ... of this axis */
} sc_cache;

#define SC_PARTS 16 /* most caches of a stack */
#define SC_READS 64 /* most nodes that read parts of one */

/* A value that is one of several in a stack, and the node that reads it from there. */
typedef struct sc_read {
  surg_value *v;
  surg_node *reader;
  size_t part;
} sc_read;

/* Caches that are stacked along the first axis of an input and of an output. */
typedef struct sc_stack {
  struct sc_stack *next;
  surg_value *past;
  surg_node *stack; /* the Concat of the output */
  char *name;       /* of the output */
  size_t parts;
  unsigned has; /* bit i: part i is read */
  sc_read reads[SC_READS];
  size_t n_reads;
  surg_node *splits[SC_READS];
  size_t n_splits;
  surg_value *grown[SC_PARTS], *input[SC_PARTS]; /* what part i grows to; its own input */
  size_t at[SC_PARTS];                           /* its output; at[0]: that of the stack */
} sc_stack;

/* A value with rows of a cache along one axis: past rows, then new ones. */
typedef struct sc_rows {
  const surg_value *v;
  size_t axis;
} sc_rows;

/* What replaces an input of a node, or the output `v` of it (`places`), that depends on the number
 * of past rows. */
typedef struct sc_fix {
  surg_node *n;
  size_t input;
  surg_value *v, *to;
  int dtype;
  bool scalar;
  int64_t *factors; /* of the number of past rows in each element; NULL: 1 */
  size_t n_factors;
  bool places;       /* by the positions of all rows */
  surg_value *table; /* or by these rows of it */
  int64_t axis;      /* of the table */
} sc_fix;

typedef struct sc {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  int64_t length; /* rows of a buffer */
  bool window;
  sc_stack *stacks;
  sc_cache *caches;
  size_t n_caches;
  const char *past_symbol;    /* the number of past rows, in inferred dimensions */
  surg_dim added, total;      /* new rows, all rows */
  int64_t new_rows;           /* -1: any number */
  const char **total_symbols; /* symbols of inputs that must be `total` */
  size_t n_totals, room_totals;
  sc_rows *rows; /* hash table by v, and the same in order of discovery */
  size_t rows_mask;
  sc_rows **queue;
  size_t n_rows;
  surg_node **softmaxes; /* over rows */
  size_t n_softmaxes;
  sc_fix *fixes;
  size_t n_fixes;
  /* Values that the pass adds, each when it is first needed. */
  surg_value *position, *slots, *length_of, *zero; /* input; 0 ... length-1; length; 0 */
  surg_value *count, *steps, *from; /* number of new rows; 0 ... count-1; slots - position */
  surg_value *shift, *before;       /* position - length; whether a slot is filled */
  surg_value *index, *valid, *places;
} sc;

/* Reports an input error at a node (may be NULL) or of the options; returns false. */
bool sc_refuse(sc *x, const surg_node *at, const char *text);

/* ---- static_cache_build.c: values that the pass adds ---- */

/* A node with up to three inputs at the front of the graph; its output is named after `stem`.
 * NULL: out of memory. */
surg_value *sc_make(sc *x, const char *op, const char *stem, surg_value *a, surg_value *b,
                    surg_value *c);
/* A constant vector of int64. */
surg_value *sc_vector(sc *x, const char *stem, const int64_t *v, size_t n);
/* v (int64) as another type. */
surg_value *sc_cast(sc *x, surg_value *v, int dtype);
/* The number of rows in use minus the length of buffers: int64[1]. */
surg_value *sc_shift(sc *x);
/* For each row of the next buffer, its row in past and new ones together: int64[length]. */
surg_value *sc_index(sc *x);
/* Whether a row of past and new ones together contains something: bool[total]. */
surg_value *sc_valid(sc *x);
/* The position of each of these rows in the whole sequence: int64[total]. */
surg_value *sc_places(sc *x);
/* Scores with -inf where the row of `axis` contains nothing. */
surg_value *sc_mask_scores(sc *x, surg_value *scores, size_t axis);
/* The mask of an attention operator with those rows excluded; `mask` may be NULL. `bias`: it is
 * added to scores and has all four dimensions. */
surg_value *sc_mask_operand(sc *x, const sc_cache *c, surg_value *mask, bool bias);

/* ---- static_cache_stack.c: stacked caches ---- */

/* Makes inputs and outputs of the parts of all stacks. False: out of memory. */
bool sc_unstack(sc *x);
/* Stacks them again. False: out of memory. */
bool sc_stack_again(sc *x);

/* ---- static_cache_rows.c: what reads the rows ---- */

/* Follows the rows of all caches. False after an error: something but a Softmax mixes them. */
bool sc_follow_rows(sc *x);
/* Notes that a dimension is the number of all rows, if it is a symbol. */
void sc_note_total(sc *x, const surg_dim *d);
/* Masks the scores of each Softmax over rows. False: out of memory. */
bool sc_mask_rows(sc *x);

/* ---- static_cache_sizes.c: numbers that depend on the number of past rows ---- */

/* Finds numbers that are positions. False after an error. */
bool sc_find_positions(sc *x);
/* Replaces them. False: out of memory. */
bool sc_replace_positions(sc *x);

#endif
