/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions over symbolic dims, in one normal form: a number plus products of atoms, each
 * with a coefficient. An atom is a symbol, floor(a/b), min(...) or max(...); a mod b is written
 * a - b*floor(a/b). Expressions are immutable, belong to a model, and equal ones are one object, so
 * equality is equality of pointers. They stand in lib/ir because types hold them.
 *
 * NULL is "not known": every operation takes it and gives it, and gives it too where a result would
 * overflow or grow past the limits, so that nothing explodes. Values are whole numbers: what a
 * model computes in int32 or int64 is taken not to wrap around. floor(a/b) is only made where the
 * model divides, or with b > 0 proven: in a run that does not fail, b is then at least 1. */
#ifndef SURG_EXPR_H
#define SURG_EXPR_H

#include "ir/ir.h"

typedef enum surg__expr_kind {
  SURG__EXPR_NUM, /* k */
  SURG__EXPR_SYM,
  SURG__EXPR_DIV, /* floor(args[0] / args[1]) */
  SURG__EXPR_MIN, /* of n args, none of which another one decides */
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
  const surg_expr *next; /* of the same bucket */
  uint64_t hash;
  uint8_t kind, depth;
  uint16_t n;
  uint32_t size;  /* leaves */
  uint32_t id;    /* in order of creation */
  int64_t lo, hi; /* INT64_MIN, INT64_MAX: no bound */
  int64_t k;
  const surg_expr *const *args;
  const int64_t *coeffs;
  /* SYM. One with a divisor d > 1 stands for the d-th part of what its name says. */
  surg__symbol symbol;
  uint32_t axis;
  const char *name; /* interned */
  const surg_value *value;
  int64_t divisor;
};

/* What is known of the elements of a value: n of them, floats where `real`. Of a float with an
 * expression, `value` is what the expression is divided by. */
typedef struct surg__elems {
  uint32_t n;
  bool real;
  surg_elem e[];
} surg__elems;
static inline size_t surg__elems_size(uint32_t n) {
  return sizeof(surg__elems) + n * sizeof(surg_elem);
}

/* The dim that e says: a number, or e with the name of the symbol that it is. A number below 0 is
 * no dim: unknown. */
surg_dim surg__expr_dim(const surg_expr *e);

/* --- making; m is the model the result belongs to --- */
const surg_expr *surg__expr_num(surg_model *m, int64_t v);
/* The symbol of a name (interned), within what was assumed of it. INPUT or DECLARED. */
const surg_expr *surg__expr_named(surg_model *m, const char *name, surg__symbol symbol);
const surg_expr *surg__expr_anonymous(surg_model *m, const surg_value *v, uint32_t axis);
const surg_expr *surg__expr_add(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_sub(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_mul(const surg_expr *a, const surg_expr *b);
/* a + k, a * k */
const surg_expr *surg__expr_add_num(const surg_expr *a, int64_t k);
const surg_expr *surg__expr_scale(const surg_expr *a, int64_t k);
/* floor(a / b), for b that is at least 1 wherever this is computed. */
const surg_expr *surg__expr_div(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_div_num(const surg_expr *a, int64_t k);
/* a / b where b divides a as polynomials, whatever the symbols are (b not 0); else NULL. */
const surg_expr *surg__expr_div_exact(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_mod(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_min(const surg_expr *a, const surg_expr *b);
const surg_expr *surg__expr_max(const surg_expr *a, const surg_expr *b);

/* --- asking --- */
surg_model *surg__expr_model(const surg_expr *e);
bool surg__expr_is_num(const surg_expr *e, int64_t *v);
/* The name of an input's symbol that e is exactly, or NULL. */
const char *surg__expr_name(const surg_expr *e);
/* Proven for all values of the symbols within their ranges. False also where it is not known. */
bool surg__expr_at_least(const surg_expr *a, const surg_expr *b);
bool surg__expr_at_least_num(const surg_expr *a, int64_t k);
bool surg__expr_at_most_num(const surg_expr *a, int64_t k);
/* Whether an anonymous symbol in e was born in graph g or in one that stands in g. */
bool surg__expr_born_in(const surg_expr *e, const surg_graph *g);
/* Writes e; see doc/shapes.md. */
void surg__expr_print(surg__buf *b, const surg_expr *e);
/* The same expression of a clone, while lib/ir/clone.c makes it. */
const surg_expr *surg__expr_copy(surg_model *to, const surg_expr *e);
bool surg__exprs_copy(surg_model *to, const surg_model *from); /* what was assumed */
/* The range and divisor of a symbol; the last word holds. */
void surg__expr_assumed(surg_model *m, const char *name, int64_t *lo, int64_t *hi,
                        int64_t *divisor);
bool surg__expr_assume(surg_model *m, const char *name, int64_t lo, int64_t hi, int64_t divisor);

/* --- shared by the files of expressions --- */
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
/* The atoms of an atom or a product. */
const surg_expr *const *surg__expr_factors(const surg_expr *const *e, uint32_t *n);
const surg_expr *surg__expr_product(struct surg__exprs *set, const surg_expr **atoms, uint32_t n);
/* A node of `kind` with these args, as it is. */
const surg_expr *surg__expr_intern(struct surg__exprs *set, surg_expr *key);
int surg__expr_order(const surg_expr *a, const surg_expr *b);
int64_t surg__floor_div(int64_t a, int64_t b); /* b > 0 */

#endif
