/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models: values, constants, graphs, outputs. */
#include "gen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen_core.h"

/* --- chance: splitmix64 --- */

static uint64_t next(gen *g) {
  uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint32_t gen_below(gen *g, uint32_t n) {
  return (uint32_t)((next(g) >> 32) * n >> 32);
}

bool gen_chance(gen *g, uint32_t percent) {
  return gen_below(g, 100) < percent;
}

/* --- values --- */

static bool remember(gen *g, const gen_value *v) {
  gen_scope *s = g->scope;
  if (s->count == s->capacity) {
    size_t cap = s->capacity ? 2 * s->capacity : 64;
    gen_value *p = realloc(s->values, cap * sizeof *p);
    if (!p) return g->failed = true, false;
    s->values = p;
    s->capacity = cap;
  }
  s->values[s->count++] = *v;
  return true;
}

/* A later value is likelier than an earlier one, so that graphs grow deep as well as wide. */
static size_t place(gen *g, size_t count) {
  size_t a = gen_below(g, (uint32_t)count);
  size_t b = gen_below(g, (uint32_t)count);
  return a > b ? a : b;
}

bool gen_pick(gen *g, uint32_t dtypes, unsigned min_rank, unsigned max_rank, bool empty_too,
              gen_value *out) {
  for (int attempt = 0; attempt < 12; attempt++) {
    gen_scope *s = g->scope;
    while (s->outer && (!s->count || gen_chance(g, 40))) s = s->outer;
    if (!s->count) return false;
    const gen_value *v = &s->values[place(g, s->count)];
    if (!(dtypes & 1u << v->dtype) || v->rank < min_rank || v->rank > max_rank) continue;
    if (v->empty && !empty_too) continue;
    *out = *v;
    return true;
  }
  return false;
}

uint64_t gen_elements(const gen_value *v) {
  uint64_t n = 1;
  for (unsigned i = 0; i < v->rank; i++) n *= (uint64_t)v->dims[i].n;
  return n;
}

bool gen_static(const gen_value *v) {
  for (unsigned i = 0; i < v->rank; i++)
    if (v->dims[i].symbol) return false;
  return true;
}

static bool same_dim(gen_dim a, gen_dim b) {
  return a.n == b.n && a.symbol == b.symbol;
}

bool gen_same_shape(const gen_value *a, const gen_value *b) {
  if (a->rank != b->rank) return false;
  for (unsigned i = 0; i < a->rank; i++)
    if (!same_dim(a->dims[i], b->dims[i])) return false;
  return true;
}

bool gen_broadcast(gen_value *a, const gen_value *b) {
  gen_value r = a->rank >= b->rank ? *a : *b;
  const gen_value *s = a->rank >= b->rank ? b : a;
  for (unsigned i = 0; i < s->rank; i++) {
    gen_dim *d = &r.dims[r.rank - s->rank + i], e = s->dims[i];
    if (same_dim(*d, e) || (d->symbol == 1 && e.symbol == GEN_SYMBOL_ONE_OR_N)) continue;
    if ((!d->symbol && d->n == 1) || (e.symbol == 1 && d->symbol == GEN_SYMBOL_ONE_OR_N))
      *d = e;
    else if (e.symbol || e.n != 1)
      return false;
  }
  memcpy(a->dims, r.dims, sizeof a->dims);
  a->rank = r.rank;
  a->empty = gen_elements(a) == 0;
  return gen_elements(a) <= GEN_ELEMENTS;
}

void gen_remove_dim(gen_value *v, unsigned i) {
  memmove(&v->dims[i], &v->dims[i + 1], (v->rank - i - 1) * sizeof v->dims[0]);
  v->rank--;
}

void gen_insert_dim(gen_value *v, unsigned i, gen_dim d) {
  memmove(&v->dims[i + 1], &v->dims[i], (v->rank - i) * sizeof v->dims[0]);
  v->dims[i] = d;
  v->rank++;
}

gen_dim gen_size(int64_t n) {
  return (gen_dim){.n = n};
}

const surg_type *gen_type(gen *g, const gen_value *v) {
  static const char *const names[] = {NULL, "N", "M", "B"};
  surg_dim dims[GEN_RANK];
  for (unsigned i = 0; i < v->rank; i++) {
    unsigned s = v->dims[i].symbol;
    dims[i] =
        (surg_dim){.value = s ? -1 : v->dims[i].n, .param = s <= GEN_SYMBOLS ? names[s] : NULL};
  }
  const surg_type *t = surg_type_tensor(g->model, v->dtype, dims, v->rank);
  if (!t) g->failed = true;
  return t;
}

const surg_type *gen_weak_type(gen *g, const gen_value *v) {
  if (!g->options->wild || !gen_chance(g, 30)) return gen_type(g, v);
  const surg_type *t = surg_type_tensor_unranked(g->model, v->dtype);
  if (!t) g->failed = true;
  return t;
}

/* --- building --- */

surg_node *gen_node(gen *g, const char *op, size_t n_out) {
  surg_node *n = surg_graph_add_node(g->scope->graph, NULL, NULL, op, n_out);
  if (!n) g->failed = true;
  return n;
}

void gen_in_value(gen *g, surg_node *n, size_t i, surg_value *v) {
  if (!v || surg_node_set_input(n, i, v) != SURG_OK) g->failed = true;
}

void gen_in(gen *g, surg_node *n, size_t i, const gen_value *v) {
  gen_in_value(g, n, i, v->v);
  for (gen_scope *s = g->scope; s; s = s->outer)
    for (size_t k = s->count; k-- > 0;)
      if (s->values[k].v == v->v) {
        s->values[k].used = true;
        return;
      }
}

void gen_out(gen *g, surg_node *n, size_t i, const gen_value *like) {
  gen_value v = *like;
  v.v = surg_node_output(n, i);
  v.used = false;
  v.empty = gen_elements(&v) == 0;
  if (!v.v)
    g->failed = true;
  else
    (void)remember(g, &v);
}

void gen_keep(gen *g, const surg_value *v) {
  for (size_t k = g->scope->count; k-- > 0;)
    if (g->scope->values[k].v == v) g->scope->values[k].keep = true;
}

void gen_set_int(gen *g, surg_node *n, const char *name, int64_t v) {
  if (surg_node_set_int(n, name, v) != SURG_OK) g->failed = true;
}

void gen_set_float(gen *g, surg_node *n, const char *name, float v) {
  if (surg_node_set_float(n, name, v) != SURG_OK) g->failed = true;
}

void gen_set_ints(gen *g, surg_node *n, const char *name, const int64_t *v, size_t count) {
  if (surg_node_set_ints(n, name, v, count) != SURG_OK) g->failed = true;
}

/* --- constants --- */

size_t gen_element_size(int dtype) {
  switch (dtype) {
    case SURG_DOUBLE:
    case SURG_INT64:
      return 8;
    case SURG_FLOAT:
    case SURG_INT32:
      return 4;
    case SURG_FLOAT16:
      return 2;
    default:
      return 1;
  }
}

/* Writes a number that every element type holds exactly: small, in quarters. */
static void put_element(int dtype, uint8_t *at, double v) {
  float f = (float)v;
  int64_t i = (int64_t)v;
  if (dtype == SURG_DOUBLE) {
    memcpy(at, &v, 8);
  } else if (dtype == SURG_FLOAT) {
    memcpy(at, &f, 4);
  } else if (dtype == SURG_FLOAT16) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t e = bits >> 23 & 0xff;
    uint32_t h = e ? (bits >> 16 & 0x8000) | (e - 112) << 10 | (bits >> 13 & 0x3ff) : bits >> 16;
    at[0] = (uint8_t)h;
    at[1] = (uint8_t)(h >> 8);
  } else {
    for (size_t k = 0; k < gen_element_size(dtype); k++) at[k] = (uint8_t)((uint64_t)i >> 8 * k);
  }
}

void gen_put_extreme(gen *g, int dtype, uint8_t *at) {
  static const uint16_t half[] = {0x7c00, 0xfc00, 0x7e00, 0x8000, 0x0001, 0x7bff, 0x03ff, 0x6400};
  static const uint32_t single[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 0x00000001,
                                    0x7f7fffff, 0x4b000000, 0x4b400000, 0x7149f2ca, 0x0da24260,
                                    0xf149f2ca, 0x00800000, 0x4b800000, 0xcb400000};
  static const double wide[] = {
      INFINITY,           -INFINITY, -0.0,   5e-324, 1.7976931348623157e308,
      4503599627370496.0, 1e300,     1e-300, -1e300, 6755399441055744.0};
  static const int64_t ints[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,
                                 -1,        0,         255,       4294967296};
  const int64_t i = ints[gen_below(g, 8)];
  const double d = wide[gen_below(g, 10)];
  if (dtype == SURG_FLOAT16)
    memcpy(at, &half[gen_below(g, 8)], 2);
  else if (dtype == SURG_FLOAT)
    memcpy(at, &single[gen_below(g, 14)], 4);
  else if (dtype == SURG_DOUBLE)
    memcpy(at, &d, 8);
  else if (dtype == SURG_INT32)
    memcpy(at, &(int32_t){(int32_t)(i > INT32_MAX || i < INT32_MIN ? INT32_MIN : i)}, 4);
  else if (dtype == SURG_INT64)
    memcpy(at, &i, 8);
  else
    *at = dtype == SURG_BOOL ? (uint8_t)gen_below(g, 2) : (uint8_t)(gen_chance(g, 50) ? 255 : 0);
}

static double random_element(gen *g, int dtype, bool nonzero) {
  int v = (int)gen_below(g, 33) - 16;
  if (dtype == SURG_BOOL) return v > 0;
  if (dtype == SURG_UINT8) v = v < 0 ? -v : v;
  if (nonzero && v == 0) v = 1;
  bool is_float = dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16;
  return is_float ? v / 4.0 : v;
}

surg_value *gen_constant_value(gen *g, surg_tensor *t) {
  if (!t) return g->failed = true, NULL;
  if (gen_chance(g, 70)) return surg_graph_constant(g->scope->graph, NULL, NULL, t);
  /* Its reader may be the last node already. */
  surg_graph *graph = g->scope->graph;
  surg_node *n = surg_graph_add_node(graph, surg_graph_last_node(graph), NULL, "Constant", 1);
  if (!n || surg_node_set_tensor(n, "value", t) != SURG_OK) return g->failed = true, NULL;
  return surg_node_output(n, 0);
}

surg_value *gen_ints(gen *g, const int64_t *v, size_t count) {
  uint8_t bytes[8 * 16];
  int64_t dim = (int64_t)count;
  for (size_t k = 0; k < 8 * count; k++) bytes[k] = (uint8_t)((uint64_t)v[k / 8] >> 8 * (k % 8));
  return gen_constant_value(g, surg_tensor_new(g->model, SURG_INT64, &dim, 1, bytes, 8 * count));
}

surg_value *gen_scalar(gen *g, int dtype, double v) {
  uint8_t bytes[8];
  put_element(dtype, bytes, v);
  return gen_constant_value(
      g, surg_tensor_new(g->model, dtype, NULL, 0, bytes, gen_element_size(dtype)));
}

bool gen_constant(gen *g, int dtype, const gen_dim *dims, unsigned rank, bool nonzero,
                  gen_value *out) {
  gen_value v = {.dtype = dtype, .rank = rank};
  int64_t sizes[GEN_RANK];
  for (unsigned i = 0; i < rank; i++) {
    sizes[i] = dims[i].n;
    v.dims[i] = gen_size(dims[i].n);
  }
  size_t count = (size_t)gen_elements(&v), size = gen_element_size(dtype);
  uint8_t *bytes = malloc(count * size + 1);
  if (!bytes) return g->failed = true, false;
  for (size_t i = 0; i < count; i++) {
    put_element(dtype, bytes + i * size, random_element(g, dtype, nonzero));
    if (g->extreme && !nonzero && gen_chance(g, g->extreme))
      gen_put_extreme(g, dtype, bytes + i * size);
  }
  v.empty = count == 0;
  v.v = gen_constant_value(g, surg_tensor_new(g->model, dtype, sizes, rank, bytes, count * size));
  free(bytes);
  if (!v.v) return g->failed = true, false;
  v.used = true; /* not wanted as an output of its own */
  *out = v;
  return remember(g, &v);
}

/* --- operators --- */

static const gen_op *const tables[] = {gen_math, gen_shape, gen_nn,    gen_wild,
                                       gen_flow, gen_odd,   gen_quant, gen_rare, gen_layout};
#define TABLES (sizeof tables / sizeof *tables)
#define TABLES_TAME 3u

/* `empty` and `dims` have no operators of their own: sizes of 0, and sizes without a number. */
static const struct {
  const char *name;
  const gen_op *table;
} kinds[] = {{"quant", gen_quant}, {"rare", gen_rare}, {"layout", gen_layout}, {"flow", gen_flow},
             {"odd", gen_odd},
             {"wild", gen_wild},   {"empty", NULL},    {"dims", NULL}};
#define KINDS (sizeof kinds / sizeof *kinds)

static bool is_kind(const gen *g, const char *name) {
  return g->options->kind && strcmp(g->options->kind, name) == 0;
}

bool gen_kind(const char *name) {
  for (size_t i = 0; i < KINDS; i++)
    if (strcmp(kinds[i].name, name) == 0) return true;
  return false;
}

static const gen_op *choose_table(gen *g) {
  for (size_t i = 0; i < KINDS; i++)
    if (kinds[i].table && is_kind(g, kinds[i].name) && gen_chance(g, 50)) return kinds[i].table;
  return tables[gen_below(g, g->options->wild ? TABLES : TABLES_TAME)];
}

static size_t table_size(const gen_op *t) {
  size_t n = 0;
  while (t[n].name) n++;
  return n;
}

const char *gen_operator(size_t i) {
  for (size_t k = 0; k < TABLES_TAME; k++) {
    size_t n = table_size(tables[k]);
    if (i < n) return tables[k][i].name;
    i -= n;
  }
  return NULL;
}

bool gen_random_node(gen *g) {
  for (int attempt = 0; attempt < 60 && !g->failed; attempt++) {
    const gen_op *t = choose_table(g);
    const gen_op *op = &t[gen_below(g, (uint32_t)table_size(t))];
    if (g->opset < op->since || (op->until && g->opset > op->until)) continue;
    if (op->make(g, op)) return !g->failed;
  }
  return false;
}

/* --- models --- */

static const int64_t symbol_sizes[] = {0, 3, 2, 4, 2, 3};

static void random_input(gen *g, unsigned i) {
  static const int dtypes[] = {SURG_FLOAT,  SURG_FLOAT, SURG_FLOAT, SURG_FLOAT, SURG_INT64,
                               SURG_DOUBLE, SURG_INT32, SURG_BOOL,  SURG_UINT8, SURG_FLOAT16};
  gen_value v = {.dtype = i == 0 ? SURG_FLOAT : dtypes[gen_below(g, 10)]};
  if (g->options->float_only && 1u << v.dtype & GEN_FLOAT) v.dtype = SURG_FLOAT;
  v.rank = i == 0 ? 4 : gen_below(g, 5);
  for (unsigned d = 0; d < v.rank; d++) {
    v.dims[d] = gen_size(1 + gen_below(g, 4));
    if (!g->options->no_symbols && gen_chance(g, is_kind(g, "dims") ? 60 : 15)) {
      unsigned s = 1 + gen_below(g, g->options->wild ? GEN_SYMBOL_ONE_OR_N : GEN_SYMBOLS);
      v.dims[d] = (gen_dim){symbol_sizes[s], s};
    }
    if (g->small == 2 || (g->small && gen_chance(g, 60))) v.dims[d] = gen_size(1);
    if (g->small == 3 && gen_chance(g, is_kind(g, "empty") ? 25 : 10)) v.dims[d] = gen_size(0);
    if (!g->options->no_empty && i > 0 && gen_chance(g, 2)) v.dims[d] = gen_size(0);
  }
  v.empty = gen_elements(&v) == 0;
  surg_graph *graph = g->scope->graph;
  v.v = surg_graph_add_input(graph, surg_graph_fresh_name(graph, "in"), gen_type(g, &v));
  if (!v.v)
    g->failed = true;
  else
    (void)remember(g, &v);
}

/* Values that are not read become outputs, but for some that stay dead; and some that are read. */
static void outputs(gen *g) {
  gen_scope *s = g->scope;
  size_t made = 0;
  for (size_t i = 0; i < s->count && !g->failed; i++) {
    gen_value *v = &s->values[i];
    bool last = i + 1 == s->count && !made;
    const bool any = v->keep || (g->options->wild && gen_chance(g, 3));
    if (!any && !last && !(gen_chance(g, v->used ? 4 : 75) && !surg_value_is_initializer(v->v)))
      continue;
    if (!any && surg_value_is_input(v->v) && !last) continue;
    const surg_type *type = gen_weak_type(g, v);
    if (surg_graph_add_output(s->graph, v->v, type) != SURG_OK) g->failed = true;
    made++;
  }
}

void gen_report(gen *g) {
  for (size_t i = 0; g->options->seen && !g->failed && i < g->scope->count; i++)
    g->options->seen(g->options->user, &g->scope->values[i]);
}

static int64_t ir_of_opset(int64_t opset) {
  static const int64_t ir[] = {3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 10};
  return ir[opset - 7];
}

/* Initializers that are inputs too: below IR version 4 constants all the same, from it on what a
 * caller may replace. */
static void inputs_of_weights(gen *g) {
  if (!gen_chance(g, g->ir < 4 ? 80 : 10)) return;
  surg_graph *graph = g->scope->graph;
  for (surg_value *v = surg_graph_next_initializer(graph, NULL); v && !g->failed;
       v = surg_graph_next_initializer(graph, v))
    if (gen_chance(g, 50) && surg_value_make_input(v) != SURG_OK) g->failed = true;
}

surg_model *gen_model(surg_context *ctx, const gen_options *options) {
  gen_scope scope = {0};
  gen g = {.ctx = ctx, .options = options, .scope = &scope, .state = options->seed};
  g.next_symbol = GEN_SYMBOL_FIRST;
  if (options->wild) {
    g.small = gen_chance(&g, 50) ? 0 : 1 + (int)gen_below(&g, 3);
    if (is_kind(&g, "empty")) g.small = 3;
    if (is_kind(&g, "dims")) g.small = 0;
    g.extreme = gen_chance(&g, 50) ? 0 : 5 + gen_below(&g, 40);
  }
  g.opset = options->opset ? options->opset : 7 + gen_below(&g, 17);
  int64_t least = ir_of_opset(g.opset);
  g.ir = options->ir ? options->ir : least + gen_below(&g, (uint32_t)(11 - least));
  g.model = surg_model_new(ctx, g.ir, g.opset);
  if (!g.model) return NULL;
  scope.graph = surg_model_graph(g.model);
  unsigned n_in = 2 + gen_below(&g, 4);
  for (unsigned i = 0; i < n_in && !g.failed; i++) random_input(&g, i);
  size_t want = options->nodes ? options->nodes : 5 + gen_below(&g, options->wild ? 12 : 56);
  for (size_t i = 0; i < want && !g.failed; i++) (void)gen_random_node(&g);
  outputs(&g);
  if (options->wild) inputs_of_weights(&g);
  gen_report(&g);
  free(scope.values);
  if (!g.failed && surg_model_status(g.model) == SURG_OK) return g.model;
  surg_model_free(g.model);
  return NULL;
}
