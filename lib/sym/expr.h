/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions over symbolic dims, in one normal form: a number plus products of atoms, each
 * with a coefficient. An atom is a symbol, floor(a/b), min(...) or max(...); a mod b is represented
 * as a - b*floor(a/b). Expressions are immutable and belong to a model. Equal expressions are one
 * object, so equality is pointer equality.
 *
 * NULL means "unknown": every operation accepts NULL and then returns NULL. It also returns NULL
 * when the result would overflow or exceed the limits, so that expressions stay small. Values are
 * integers: int32 and int64 computations of the model are assumed not to wrap around. floor(a/b)
 * exists only where the model divides, or where b > 0 is proven: in a run that does not fail, b is
 * then at least 1. */
#ifndef SURG_EXPR_H
#define SURG_EXPR_H

#include "ir/ir.h"

typedef enum surg__expr_kind {
  SURG__EXPR_NUM, /* k */
  SURG__EXPR_SYM,
  SURG__EXPR_DIV, /* floor(args[0] / args[1]) */
  SURG__EXPR_MIN, /* of n args; no arg is provably redundant */
  SURG__EXPR_MAX,
  SURG__EXPR_PROD, /* of n >= 2 atoms */
  SURG__EXPR_SUM   /* k + the sum of coeffs[i] * args[i], each an atom or a PROD */
} surg__expr_kind;

typedef enum surg__symbol {
  SURG__SYMBOL_INPUT,    /* named by an input of the model */
  SURG__SYMBOL_DECLARED, /* named by a declaration that is trusted */
  SURG__SYMBOL_ANONYMOUS /* dim `axis` of `value` */
} surg__symbol;

struct surg_expr {
  struct surg__exprs *set;
  const surg_expr *next; /* next in the same bucket */
  uint64_t hash;
  uint8_t kind, depth;
  uint16_t n;
  uint32_t size;  /* symbols and numbers */
  uint32_t id;    /* in order of creation */
  int64_t lo, hi; /* INT64_MIN, INT64_MAX: no bound */
  uint32_t noted; /* surg__expr_note_filled: round of the table in which e was noted; 0: never */
  int64_t k;
  const surg_expr *const *args;
  const int64_t *coeffs;
  /* Fields of SYM. A symbol with divisor d > 1 is the named dim divided by d. */
  surg__symbol symbol;
  uint32_t axis;
  const char *name; /* interned */
  const surg_value *value;
  int64_t divisor;
};

/* Known elements of a value: n of them, floats if `real`. If a float element has an expression, its
 * `value` is the divisor of that expression. */
typedef struct surg__elems {
  uint32_t n;
  bool real;
  surg_elem e[];
} surg__elems;
static inline size_t surg__elems_size(uint32_t n) {
  return sizeof(surg__elems) + n * sizeof(surg_elem);
}

/* The dim for e: a number, or e with the name if e is a named symbol. A negative number gives an
 * unknown dim. */
surg_dim surg__expr_dim(const surg_expr *e);

/* --- construction; m is the model that owns the result --- */
const surg_expr *surg__expr_num(surg_model *m, int64_t v);
/* The symbol of an interned name, INPUT or DECLARED, with its assumed range. With a divisor d
 * assumed, the result is d times a symbol. */
const surg_expr *surg__expr_named(surg_model *m, const char *name, surg__symbol symbol);
const surg_expr *surg__expr_anonymous(surg_model *m, const surg_value *v, uint32_t axis);
const surg_expr *surg__expr_add(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_sub(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_mul(const surg_expr *a, const surg_expr *b);
/* a + k, a * k */
const surg_expr *surg__expr_add_num(const surg_expr *a, int64_t k);
const surg_expr *surg__expr_scale(const surg_expr *a, int64_t k);
/* floor(a / b); b must be at least 1 wherever this is computed. */
const surg_expr *surg__expr_div(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_div_num(const surg_expr *a, int64_t k);
/* a / b if b divides a as a polynomial, for all values of the symbols (b not 0); else NULL. */
const surg_expr *surg__expr_div_exact(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_mod(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_min(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_max(const surg_expr *a, const surg_expr *b);

/* --- queries --- */
surg_model *surg__expr_model(const surg_expr *e);
bool surg__expr_is_num(const surg_expr *e, int64_t *v);
/* The name if e is exactly a named symbol of an input, else NULL. */
const char *surg__expr_name(const surg_expr *e);
/* True if proven for all values of the symbols within their ranges; false if disproven or
 * unknown. */
bool surg__expr_at_least(const surg_expr *a, const surg_expr *b);
bool surg__expr_at_least_num(const surg_expr *a, int64_t k);
bool surg__expr_at_most_num(const surg_expr *a, int64_t k);
/* Notes that e is at least 1 in every run that succeeds, and so is each factor of a product. The
 * notes are facts about the whole model as it is now, beside the ranges of the symbols: they change
 * no expression. surg__exprs_forget_filled deletes all of them. */
void surg__expr_note_filled(const surg_expr *e);
void surg__exprs_forget_filled(surg_model *m);
/* Whether e is at least 1 by the ranges of its symbols and by what was noted. */
bool surg__expr_filled(const surg_expr *e);
/* Whether e contains an anonymous symbol of a value in graph g or in a graph nested in g. */
bool surg__expr_born_in(const surg_expr *e, const surg_graph *g);
/* Prints e in the syntax of doc/shapes.md. */
void surg__expr_print(surg__buf *b, const surg_expr *e);
/* The same expression in a clone, while lib/ir/clone.c creates it. */
const surg_expr *surg__expr_copy(surg_model *to, const surg_expr *e);
bool surg__exprs_copy(surg_model *to, const surg_model *from); /* copies the assumptions */
/* Get and set the assumed range and divisor of a symbol; setting replaces earlier assumptions. */
void surg__expr_assumed(surg_model *m, const char *name, int64_t *lo, int64_t *hi,
                        int64_t *divisor);
bool surg__expr_assume(surg_model *m, const char *name, int64_t lo, int64_t hi, int64_t divisor);

/* --- shared by the files of lib/sym --- */
typedef struct surg__poly {
  bool bad; /* overflow, or too many terms */
  uint32_t n;
  int64_t k;
  int64_t coeffs[SURG_LIMIT_EXPR_TERMS];
  const surg_expr *args[SURG_LIMIT_EXPR_TERMS];
} surg__poly;
void surg__poly_of(surg__poly *p, const surg_expr *e);
void surg__poly_add(surg__poly *p, int64_t k, const surg_expr *e); /* p += k * e */
void surg__poly_term(surg__poly *p, int64_t k, const surg_expr *product);
const surg_expr *surg__poly_expr(struct surg__exprs *set, const surg__poly *p);
void surg__poly_range(const surg__poly *p, int64_t *lo, int64_t *hi);
/* The atoms of an atom or a product; *n is their number. */
const surg_expr *const *surg__expr_factors(const surg_expr *const *e, uint32_t *n);
const surg_expr *surg__expr_product(struct surg__exprs *set, const surg_expr **atoms, uint32_t n);
/* Returns the expression equal to *key, adding it if it is new, without simplification. */
const surg_expr *surg__expr_intern(struct surg__exprs *set, surg_expr *key);
int surg__expr_order(const surg_expr *a, const surg_expr *b);
int64_t surg__floor_div(int64_t a, int64_t b); /* b > 0 */

#endif
