/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass static-cache: numbers that depend on the number of past rows. A model computes
 * them from shapes. Where they are sizes (of a Reshape, say), they stay: buffers have that many
 * rows. Where they are positions (of an embedding or a mask), the position of the run replaces
 * them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../util/numbers.h"
#include "static_cache.h"

#define TEXT 500
#define ELEMENTS 64 /* most elements of a value that are examined */
#define TRIALS 8    /* values of symbols at which an expression is evaluated */

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

static bool refuse_node(sc *x, const surg_node *n, const char *why) {
  char text[TEXT];
  snprintf(text, sizeof text, "%.100s: %.300s", surg_node_op_type(n), why);
  return sc_refuse(x, n, text);
}

/* ---- expressions ---- */

typedef struct trial {
  const sc *x;
  uint64_t seed;
  int64_t past;
} trial;

static bool symbol(void *user, const char *name, const surg_value *v, size_t axis, int64_t *out) {
  const trial *t = user;
  uint64_t h = t->seed ^ (uint64_t)(uintptr_t)v ^ axis;
  if (name && strcmp(name, t->x->past_symbol) == 0) return *out = t->past, true;
  for (size_t i = 0; name && i < t->x->n_totals; i++) {
    if (strcmp(name, t->x->total_symbols[i]) != 0) continue;
    trial inner = *t;
    sc plain = *t->x;
    plain.n_totals = 0;
    inner.x = &plain;
    if (surg_dim_eval(&t->x->added, symbol, &inner, out) != SURG_OK) return false;
    return *out += t->past, true;
  }
  for (const char *c = name; c && *c; c++) h = (h ^ (uint64_t)(unsigned char)*c) * 1099511628211u;
  h = (h ^ h >> 29) * 0x9e3779b97f4a7c15u;
  return *out = (int64_t)(1 + (h >> 40) % 61), true;
}

/* The factor of the number of past rows in a linear expression; -1: it is not linear, or the factor
 * is neither 0 nor 1. */
static int factor(const sc *x, const surg_elem *e) {
  static const int64_t past[] = {1, 2, 5, 64, 4097, 1 << 20};
  const surg_dim d = {.value = -1, .expr = e->expr};
  int found = -1;
  if (e->known || !e->expr) return 0;
  for (uint64_t seed = 1; seed <= TRIALS; seed++) {
    int64_t first = 0, v;
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
      trial t = {.x = x, .seed = seed * 7919, .past = past[i]};
      if (surg_dim_eval(&d, symbol, &t, &v) != SURG_OK) return -1;
      if (i == 0) first = v;
      if (i == 0) continue;
      const int now = v == first ? 0 : v - first == past[i] - past[0] ? 1 : -1;
      if (now < 0 || (found >= 0 && now != found)) return -1;
      found = now;
    }
  }
  return found;
}

/* What the elements of v are. */
typedef struct elements {
  int64_t n; /* -1: unknown */
  surg_elem e[ELEMENTS];
  int64_t factors[ELEMENTS];
  bool hot;   /* some depend on the number of past rows */
  bool known; /* something is known of all */
} elements;

static void read_elements(const sc *x, const surg_value *v, elements *out) {
  out->n = v ? numbers_known(v, out->e, ELEMENTS) : -1;
  out->hot = false;
  out->known = out->n >= 0;
  for (int64_t i = 0; i < out->n; i++) {
    out->factors[i] = factor(x, &out->e[i]);
    out->hot = out->hot || out->factors[i] != 0;
    out->known = out->known && (out->e[i].known || out->e[i].expr);
  }
}

/* ---- what is to be replaced ---- */

/* Plans to replace an input of n by what it is at the position of the run. False after an error. */
static bool use_position(sc *x, surg_node *n, size_t i, const elements *e) {
  surg_value *v = surg_node_input(n, i);
  const surg_type *t = surg_value_type(v);
  const int dtype = t ? surg_type_dtype(t) : 0;
  bool all = true;
  for (int64_t k = 0; k < e->n; k++) {
    if (e->factors[k] < 0) return refuse_node(x, n, "it computes with the number of past rows");
    all = all && e->factors[k] == 1;
  }
  if (dtype != SURG_INT64 && dtype != SURG_INT32)
    return refuse_node(x, n, "it decides by the number of past rows");
  if (!all && surg_type_rank(t) > 1)
    return refuse_node(x, n, "it reads the number of past rows in several dimensions");
  sc_fix *fix = &x->fixes[x->n_fixes++];
  *fix = (sc_fix){.n = n, .input = i, .v = v, .dtype = dtype, .scalar = surg_type_rank(t) == 0};
  if (all) return true;
  fix->factors = surg_pass_alloc(x->p, (size_t)e->n * sizeof *fix->factors);
  if (!fix->factors) return false;
  fix->n_factors = (size_t)e->n;
  memcpy(fix->factors, e->factors, fix->n_factors * sizeof *fix->factors);
  return true;
}

/* Plans to replace the output of n: by the positions of all rows, or by those rows of `table`. */
static bool use_places(sc *x, surg_node *n, surg_value *table, int64_t axis) {
  surg_value *v = surg_node_output(n, 0);
  char text[TEXT];
  snprintf(text, sizeof text, "'%.300s' is an output with a number for each row",
           surg_value_name(v));
  if (surg_value_is_output(v)) return sc_refuse(x, n, text);
  x->fixes[x->n_fixes++] =
      (sc_fix){.n = n,
               .v = v,
               .places = true,
               .table = table,
               .axis = axis,
               .dtype = table ? SURG_INT64 : surg_type_dtype(surg_value_type(v))};
  return true;
}

/* ---- operators ---- */

/* Whether the input is a size, or counts rows from either end, so that rows stay where they are. */
static bool is_size(const surg_node *n, size_t i) {
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return false;
  switch (surg_node_op(n)) {
    case SURG_OP_ConstantOfShape:
      return i == 0;
    case SURG_OP_Reshape:
    case SURG_OP_Expand:
    case SURG_OP_Tile:
    case SURG_OP_Split:
    case SURG_OP_Trilu:
    case SURG_OP_OneHot:
      return i == 1;
    case SURG_OP_Pad:
      return i == 1;
    case SURG_OP_Resize:
      return i == 3;
    default:
      return false;
  }
}

static bool is_number(const elements *e, int64_t number) {
  return e->n == 1 && e->e[0].known && e->e[0].value == number;
}

/* Whether the dimension is the number of all rows. */
static bool is_total(const sc *x, const surg_dim *d) {
  for (size_t i = 0; d->param && i < x->n_totals; i++)
    if (strcmp(d->param, x->total_symbols[i]) == 0) return true;
  return surg_dim_equal(d, &x->total);
}

/* Range (0, past + new): positions of all rows. Range (past, past + new): those of new ones. */
static bool range(sc *x, surg_node *n) {
  elements start, limit, step;
  surg_value *out = surg_node_output(n, 0);
  read_elements(x, surg_node_input(n, 0), &start);
  read_elements(x, surg_node_input(n, 1), &limit);
  read_elements(x, surg_node_input(n, 2), &step);
  if (!is_number(&step, 1)) return refuse_node(x, n, "its step is not 1");
  if (start.hot && limit.hot) return use_position(x, n, 0, &start) && use_position(x, n, 1, &limit);
  const surg_type *t = surg_value_type(out);
  const surg_elem now = limit.e[0];
  const surg_dim length = {.value = -1, .expr = now.expr};
  if (start.hot || !is_number(&start, 0) || limit.n != 1 || !t)
    return refuse_node(x, n, "its numbers are not positions of rows");
  const sc_cache *c = &x->caches[0];
  if (surg_dim_equal(&length, surg_type_dim(surg_value_type(c->past), c->axis)))
    return true; /* the positions of past rows */
  if (!is_total(x, &length) && !is_total(x, surg_type_dim(t, 0)))
    return refuse_node(x, n, "its numbers are not positions of rows");
  return use_places(x, n, NULL, 0);
}

/* A symbolic axis that is cut at the number of past or of all rows has one element for each row. */
static void note_cuts(sc *x, const surg_node *n) {
  elements ends[2], axes;
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  const int64_t rank = t && surg_type_has_rank(t) ? (int64_t)surg_type_rank(t) : 0;
  read_elements(x, surg_node_input(n, 3), &axes);
  for (size_t k = 0; k < 2; k++) {
    read_elements(x, surg_node_input(n, k + 1), &ends[k]);
    for (int64_t i = 0; i < axes.n && i < ends[k].n; i++) {
      const int64_t a = axes.e[i].value, axis = a < 0 ? a + rank : a;
      if (ends[k].factors[i] == 1 && axes.e[i].known && axis >= 0 && axis < rank)
        sc_note_total(x, surg_type_dim(t, (size_t)axis));
    }
  }
}

/* So has a symbolic axis beside all rows in an elementwise node. */
static void note_beside(sc *x, const surg_node *n) {
  const size_t count = surg_node_input_count(n);
  const surg_type *out = surg_value_type(surg_node_output(n, 0));
  const size_t rank = out && surg_type_has_rank(out) ? surg_type_rank(out) : 0;
  for (size_t back = 1; back <= rank; back++) {
    bool total = false;
    for (size_t pass = 0; pass < 2; pass++)
      for (size_t i = 0; i < count; i++) {
        const surg_type *t = surg_value_type(surg_node_input(n, i));
        if (!t || surg_type_rank(t) < back) continue;
        const surg_dim *d = surg_type_dim(t, surg_type_rank(t) - back);
        if (pass == 0) total = total || surg_dim_equal(d, &x->total);
        if (pass == 1 && total) sc_note_total(x, d);
      }
  }
}

/* What the axes of a Slice are that depend on the number of past rows: rows (1), which stay where
 * they are, or a table of a fixed number of positions (2); 0: something else, or both. */
static int sliced(const sc *x, const surg_node *n, const elements *starts, const elements *ends,
                  const elements *axes) {
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  const int64_t rank = t && surg_type_has_rank(t) ? (int64_t)surg_type_rank(t) : 0;
  int kind = 3;
  for (int64_t i = 0; i < axes->n && i < starts->n && i < ends->n; i++) {
    if (starts->factors[i] == 0 && ends->factors[i] == 0) continue;
    const int64_t a = axes->e[i].value, axis = a < 0 ? a + rank : a;
    if (!axes->e[i].known || axis < 0 || axis >= rank) return 0;
    const surg_dim *d = surg_type_dim(t, (size_t)axis);
    kind &= is_total(x, d) ? 1 : d->value >= 0 ? 2 : 0;
  }
  return kind;
}

/* The rows of a table: of new positions (past : past + new), or of all of them (0 : past + new). */
static bool slice(sc *x, surg_node *n) {
  elements starts, ends, axes;
  surg_value *table = surg_node_input(n, 0);
  read_elements(x, surg_node_input(n, 1), &starts);
  read_elements(x, surg_node_input(n, 2), &ends);
  read_elements(x, surg_node_input(n, 3), &axes);
  const int kind = sliced(x, n, &starts, &ends, &axes);
  if (kind == 1) return true;
  if (kind != 2) return refuse_node(x, n, "it is not known what its rows are");
  bool both = starts.n == ends.n;
  for (int64_t i = 0; both && i < starts.n; i++) both = starts.factors[i] == ends.factors[i];
  if (both) return use_position(x, n, 1, &starts) && use_position(x, n, 2, &ends);
  const surg_dim end = {.value = -1, .expr = ends.e[0].expr};
  if (!is_number(&starts, 0) || ends.n != 1 || !is_total(x, &end))
    return refuse_node(x, n, "the rows of the table are not positions");
  return use_places(x, n, table, axes.e[0].value);
}

/* Whether all outputs of n are small integers of which something is known: sizes to compute with.
 */
static bool computes_sizes(const sc *x, const surg_node *n) {
  elements e;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    read_elements(x, surg_node_output(n, i), &e);
    if (!e.known) return false;
  }
  return true;
}

static bool is_cache_node(const sc *x, const surg_node *n) {
  for (size_t i = 0; i < x->n_caches; i++)
    if (x->caches[i].at == n) return true;
  return false;
}

/* Operators whose result depends on where a row is. */
static bool check_order(sc *x, const surg_node *n) {
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  const size_t rank = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_rank(t) : 0;
  const bool gather = is(n, SURG_OP_Gather) && x->window;
  if (!gather && !is(n, SURG_OP_NonZero)) return true;
  const int64_t a = surg_node_int(n, "axis", 0), axis = a < 0 ? a + (int64_t)rank : a;
  for (size_t i = 0; i < rank; i++)
    if (surg_dim_equal(surg_type_dim(t, i), &x->total) && (!gather || axis == (int64_t)i))
      return refuse_node(x, n, "it depends on the order of the rows");
  return true;
}

static bool visit(sc *x, surg_node *n) {
  elements e;
  size_t hot = 0, first = 0;
  if (!check_order(x, n)) return false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    read_elements(x, surg_node_input(n, i), &e);
    if (e.hot && hot++ == 0) first = i;
  }
  if (!hot || computes_sizes(x, n)) return true;
  if (is(n, SURG_OP_Range)) return range(x, n);
  if (is(n, SURG_OP_Slice)) return slice(x, n);
  for (size_t i = first; i < surg_node_input_count(n); i++) {
    read_elements(x, surg_node_input(n, i), &e);
    if (!e.hot || is_size(n, i) || is_cache_node(x, n)) continue;
    if (!use_position(x, n, i, &e)) return false;
  }
  return true;
}

/* Subgraphs and functions do not read numbers that depend on the past rows. */
static bool check_captures(sc *x) {
  elements e;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(x->m, g)) != NULL;)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n); i++) {
        const surg_value *v = surg_node_input(n, i);
        const bool call = surg_node_class(n) == SURG_OP_CLASS_FUNCTION;
        if (!v || surg_value_graph(v) != x->g || (g == x->g && !call)) continue;
        read_elements(x, v, &e);
        if (e.hot) return refuse_node(x, n, "a subgraph or function reads the number of past rows");
      }
  return true;
}

bool sc_find_positions(sc *x) {
  if (!check_captures(x)) return false;
  size_t inputs = 0;
  for (surg_node *n = surg_graph_first_node(x->g); n; n = surg_node_next(n))
    inputs += surg_node_input_count(n);
  x->fixes = surg_pass_alloc(x->p, (inputs + 1) * sizeof *x->fixes);
  if (!x->fixes) return false;
  for (surg_node *n = surg_graph_first_node(x->g); n; n = surg_node_next(n))
    if (is(n, SURG_OP_Slice))
      note_cuts(x, n);
    else if (surg_node_axes_effect(n) == SURG_AXES_BROADCAST)
      note_beside(x, n);
  for (surg_node *n = surg_graph_first_node(x->g); n; n = surg_node_next(n))
    if (!visit(x, n)) return false;
  return true;
}

/* ---- replacing ---- */

/* An earlier replacement of the same value. */
static surg_value *found(const sc *x, const sc_fix *fix) {
  for (size_t i = 0; i < x->n_fixes && &x->fixes[i] != fix; i++)
    if (x->fixes[i].v == fix->v && !x->fixes[i].places) return x->fixes[i].to;
  return NULL;
}

/* The value with the position of the run instead of the number of past rows. */
static surg_value *at_position(sc *x, const sc_fix *fix) {
  surg_value *v = found(x, fix);
  if (v) return v;
  surg_value *shift = sc_cast(x, sc_shift(x), fix->dtype);
  if (fix->scalar && shift) shift = sc_make(x, "Squeeze", "cache_scalar", shift, NULL, NULL);
  if (fix->factors && shift) {
    surg_value *which = sc_vector(x, "cache_factors", fix->factors, fix->n_factors);
    which = sc_cast(x, which, fix->dtype);
    shift = which ? sc_make(x, "Mul", "cache_shifts", which, shift, NULL) : NULL;
  }
  return shift ? sc_make(x, "Add", "cache_at", fix->v, shift, NULL) : NULL;
}

static surg_value *at_places(sc *x, const sc_fix *fix) {
  surg_value *places = sc_cast(x, sc_places(x), fix->dtype);
  if (!places || !fix->table) return places;
  surg_value *rows = sc_make(x, "Gather", "cache_table", fix->table, places, NULL);
  surg_node *n = rows ? surg_value_producer(rows, NULL) : NULL;
  return n && surg_node_set_int(n, "axis", fix->axis) == SURG_OK ? rows : NULL;
}

/* Lets the readers of v read `by`. */
static bool give(surg_value *v, surg_value *by) {
  for (surg_use *u = surg_value_first_use(v), *next; u; u = next) {
    next = surg_use_next(u);
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (n && n != surg_value_producer(by, NULL) &&
        surg_node_set_input(n, surg_use_index(u), by) != SURG_OK)
      return false;
  }
  return true;
}

bool sc_replace_positions(sc *x) {
  for (size_t i = 0; i < x->n_fixes; i++) {
    sc_fix *fix = &x->fixes[i];
    fix->to = fix->places ? at_places(x, fix) : at_position(x, fix);
    if (!fix->to) return false;
    if (fix->places ? !give(fix->v, fix->to)
                    : surg_node_set_input(fix->n, fix->input, fix->to) != SURG_OK)
      return false;
  }
  return true;
}
