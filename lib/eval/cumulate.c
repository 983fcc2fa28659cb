/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd. Floats are accumulated in double in index order and rounded as they are
 * stored; integers wrap. */
#include "eval/hot.h"
#include "eval/kernels.h"
#include "eval/number.h"
#include "eval/piece.h"

/* Runs at a time: each addition waits for the one before it in its own run alone. */
#define ROWS 4

typedef struct cumulation {
  const surg__array *x, *o;
  uint64_t length, step;
  bool real, product, exclusive, reverse;
} cumulation;

#define CUMULATE(suffix, type)                                                                  \
  /* In place; of each run up to n elements, from its last one on where `reverse`. */           \
  SURG__INLINE void rows_##suffix##_as(const cumulation *c, type *acc, type (*v)[SURG__PIECE],  \
                                       uint64_t n, unsigned rows, bool product) {               \
    for (uint64_t i = 0; i < n; ++i) {                                                          \
      const uint64_t at = c->reverse ? n - 1 - i : i;                                           \
      for (unsigned r = 0; r < rows; ++r) {                                                     \
        const type before = acc[r], after = product ? before * v[r][at] : before + v[r][at];    \
        v[r][at] = c->exclusive ? before : after;                                               \
        acc[r] = after;                                                                         \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void rows_##suffix(const cumulation *c, type *acc, type (*v)[SURG__PIECE], uint64_t n, \
                            unsigned rows) {                                                    \
    if (rows == ROWS && c->product)                                                             \
      rows_##suffix##_as(c, acc, v, n, ROWS, true);                                             \
    else if (rows == ROWS)                                                                      \
      rows_##suffix##_as(c, acc, v, n, ROWS, false);                                            \
    else                                                                                        \
      rows_##suffix##_as(c, acc, v, n, rows, c->product);                                       \
  }                                                                                             \
  SURG__HOT(columns_##suffix, (type *acc, type *v, uint64_t n, bool product, bool exclusive),   \
            (acc, v, n, product, exclusive)) {                                                  \
    for (uint64_t j = 0; j < n; ++j) {                                                          \
      const type before = acc[j], after = product ? before * v[j] : before + v[j];              \
      v[j] = exclusive ? before : after;                                                        \
      acc[j] = after;                                                                           \
    }                                                                                           \
  }
CUMULATE(real, double)
CUMULATE(whole, uint64_t)

static void load(const cumulation *c, uint64_t at, uint64_t n, surg__numbers *v) {
  if (c->real)
    surg__load_run(c->x->dtype, c->x->data, at, 1, n, v->real);
  else
    surg__load_whole(c->x->dtype, c->x->data, at, 1, n, v->whole);
}

static void store(const cumulation *c, uint64_t at, uint64_t n, const surg__numbers *v) {
  if (c->real)
    surg__store_run(c->o->dtype, c->o->data, at, n, v->real);
  else
    surg__store_whole(c->o->dtype, c->o->data, at, n, v->whole);
}

static void begin(const cumulation *c, uint64_t n, surg__numbers *acc) {
  for (uint64_t i = 0; i < n; ++i) {
    if (c->real)
      acc->real[i] = c->product;
    else
      acc->whole[i] = c->product;
  }
}

/* `rows` runs of elements next to each other, one after the other in memory. */
static void of_rows(const cumulation *c, uint64_t start, unsigned rows) {
  union {
    double real[ROWS][SURG__PIECE];
    uint64_t whole[ROWS][SURG__PIECE];
    surg__numbers row[ROWS];
  } v;
  surg__numbers acc;
  uint64_t n;
  begin(c, rows, &acc);
  for (uint64_t done = 0; done < c->length; done += n) {
    n = c->length - done < SURG__PIECE ? c->length - done : SURG__PIECE;
    const uint64_t at = start + (c->reverse ? c->length - done - n : done);
    for (unsigned r = 0; r < rows; ++r) load(c, at + r * c->length, n, &v.row[r]);
    if (c->real)
      rows_real(c, acc.real, v.real, n, rows);
    else
      rows_whole(c, acc.whole, v.whole, n, rows);
    for (unsigned r = 0; r < rows; ++r) store(c, at + r * c->length, n, &v.row[r]);
  }
}

/* `n` runs that start next to each other. */
static void of_columns(const cumulation *c, uint64_t start, uint64_t n) {
  surg__numbers acc, v;
  begin(c, n, &acc);
  for (uint64_t i = 0; i < c->length; ++i) {
    const uint64_t at = start + (c->reverse ? c->length - 1 - i : i) * c->step;
    load(c, at, n, &v);
    if (c->real)
      columns_real(acc.real, v.real, n, c->product, c->exclusive);
    else
      columns_whole(acc.whole, v.whole, n, c->product, c->exclusive);
    store(c, at, n, &v);
  }
}

surg__kstatus surg__k_cumulate(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  uint32_t axis;
  uint64_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  const int64_t *list = surg__k_ints(k, 1, &n);
  if (!list) return SURG__K_NOMEM;
  if (n != 1 || !surg__k_axis(list[0], x->rank, &axis)) {
    return surg__k_invalid(k, "axis is no single axis of the input");
  }
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (x->count == 0) return SURG__K_OK;
  cumulation c = {.x = x, .o = &k->out[0], .length = (uint64_t)x->dims[axis], .step = 1};
  c.real = surg__is_real(x->dtype);
  c.product = k->op == SURG_OP_CumProd;
  c.exclusive = surg_node_int(k->node, "exclusive", 0) != 0;
  c.reverse = surg_node_int(k->node, "reverse", 0) != 0;
  for (uint32_t d = axis + 1; d < x->rank; ++d) c.step *= (uint64_t)x->dims[d];
  const uint64_t outer = x->count / (c.length * c.step);
  for (uint64_t i = 0; c.step == 1 && i < outer; i += ROWS)
    of_rows(&c, i * c.length, outer - i < ROWS ? (unsigned)(outer - i) : ROWS);
  for (uint64_t i = 0; c.step > 1 && i < outer; ++i) {
    for (uint64_t j = 0; j < c.step; j += SURG__PIECE) {
      n = c.step - j < SURG__PIECE ? c.step - j : SURG__PIECE;
      of_columns(&c, i * c.length * c.step + j, n);
    }
  }
  return SURG__K_OK;
}
