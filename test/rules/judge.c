/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a case before and after a rule and compares by what the rule promises. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "eval/core/interpret.h"
#include "eval/core/number.h"
#include "rules.h"
#include "schema/schema.h"

#define MAX_BYTES (16u << 20)
#define MAX_WORK (1ull << 24)
#define SETS 3

/* --- the model as text --- */

static void print_type(surg__buf *b, const rule_case *c, const item *it) {
  const unsigned style = it->constant ? 0 : c->style;
  surg__buf_puts(b, surg_dtype_name(it->dtype));
  if (style == 3) {
    surg__buf_puts(b, "[]");
    return;
  }
  for (unsigned i = 0; i < it->rank; i++) {
    surg__buf_puts(b, i ? ", " : "[");
    if (style == 1 || style == 4)
      surg__buf_printf(b, "%s_%u", it->name, i);
    else if (style == 2)
      surg__buf_puts(b, "?");
    else
      surg__buf_printf(b, "%lld", (long long)it->dims[i]);
  }
  if (it->rank) surg__buf_putc(b, ']');
}

static void print_element(surg__buf *b, const item *it, uint64_t i) {
  switch (it->dtype) {
    case SURG_FLOAT:
      surg__buf_printf(b, "%.9g", (double)(float)it->reals[i]);
      break;
    case SURG_DOUBLE:
      surg__buf_printf(b, "%.17g", it->reals[i]);
      break;
    case SURG_FLOAT16:
      surg__buf_printf(b, "%u", surg__double_to_half(it->reals[i]));
      break;
    case SURG_BFLOAT16:
      surg__buf_printf(b, "%u", surg__double_to_bf16(it->reals[i]));
      break;
    case SURG_STRING:
      surg__buf_printf(b, "\"%c\"", (char)('a' + (it->ints[i] & 3)));
      break;
    case SURG_BOOL:
      surg__buf_printf(b, "%d", (int)(it->ints[i] & 1));
      break;
    default:
      surg__buf_printf(b, "%lld", (long long)it->ints[i]);
  }
}

static void print_names(surg__buf *b, const rule_case *c, const int *list, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    surg__buf_printf(b, i ? ", %s" : "%s", list[i] < 0 ? "" : c->items[list[i]].name);
}

static void print_domains(surg__buf *b, const rule_case *c) {
  surg__buf_printf(b, "<ir_version: 10, opset_import: [\"\" : %lld", (long long)c->from);
  for (unsigned i = 0; i < c->n_nodes; i++) {
    bool seen = !*c->nodes[i].domain;
    for (unsigned j = 0; j < i; j++) seen |= !strcmp(c->nodes[i].domain, c->nodes[j].domain);
    if (!seen) surg__buf_printf(b, ", \"%s\" : 1", c->nodes[i].domain);
  }
  surg__buf_puts(b, "]>\n");
}

static bool is_input(const item *it) {
  return it->set && !it->made && !it->constant;
}

static char *print_case(surg_context *ctx, surg__arena *arena, const rule_case *c) {
  surg__buf b;
  bool first = true;
  surg__buf_init(&b, ctx);
  print_domains(&b, c);
  surg__buf_puts(&b, "g (");
  for (unsigned i = 0; i < c->n_items; i++) {
    if (!is_input(&c->items[i])) continue;
    if (!first) surg__buf_puts(&b, ", ");
    print_type(&b, c, &c->items[i]);
    surg__buf_printf(&b, " %s", c->items[i].name);
    first = false;
  }
  surg__buf_puts(&b, ") => (");
  print_names(&b, c, c->outputs, c->n_outputs);
  surg__buf_puts(&b, ") <");
  first = true;
  for (unsigned i = 0; i < c->n_items; i++) {
    const item *it = &c->items[i];
    if (!it->constant) continue;
    surg__buf_puts(&b, first ? "" : ", ");
    print_type(&b, c, it);
    surg__buf_printf(&b, " %s = {", it->name);
    for (uint64_t k = 0; k < it->count; k++) {
      if (k) surg__buf_putc(&b, ',');
      print_element(&b, it, k);
    }
    surg__buf_puts(&b, "}");
    first = false;
  }
  surg__buf_puts(&b, "> {\n");
  for (unsigned i = 0; i < c->n_nodes; i++) {
    const case_node *n = &c->nodes[i];
    surg__buf_puts(&b, "  ");
    print_names(&b, c, n->out, n->n_out);
    surg__buf_printf(&b, " = %s%s%s", n->domain, *n->domain ? "." : "", n->op_type);
    if (n->attrs[0]) surg__buf_printf(&b, " <%s>", n->attrs);
    surg__buf_puts(&b, " (");
    print_names(&b, c, n->in, n->n_in);
    surg__buf_puts(&b, ")\n");
  }
  surg__buf_puts(&b, "}\n");
  char *text = b.failed ? NULL : surg__arena_strn(arena, b.p, b.n);
  surg__buf_free(&b);
  return text;
}

/* --- inputs --- */

/* Numbers so small that the type has few digits left for them. */
static bool is_tiny(int dtype, double x) {
  const double normal = dtype == SURG_DOUBLE    ? 0x1p-1022
                        : dtype == SURG_FLOAT16 ? 0x1p-14
                                                : 0x1p-126;
  return x != 0 && fabs(x) < normal;
}

/* Set 0 is tame; set 1 holds edges; set 2 NaN, infinities and what over- or underflows as well. */
static double draw_real(dice *d, unsigned set, char range, int dtype) {
  static const double edges[] = {0.0,  -0.0, 1.0,  -1.0,  0.5,  -0.5,  1.5,  2.5,   -2.5,  3.0,
                                 -3.0, 6.0,  1e-6, -1e-6, 10.0, -10.0, 88.0, -88.0, 1e-40, 100.0};
  static const double wild[] = {1e38,     -1e38, 1e30, -1e30, 65504.0,
                                -20000.0, 1e-45, 3e4,  1e300, -1e20};
  const double tame = (double)roll(d, 1u << 20) / (1 << 19) * 3 - 3;
  if (range == 'p') return fabs(tame) + 0.015625;
  if (range == 'u') return tame / (set ? 2 : 3);
  if (!set || chance(d, 40)) return tame;
  if (set == 1 || chance(d, 40)) {
    const double edge = edges[roll(d, SURG_COUNT(edges))];
    return set == 1 && is_tiny(dtype, edge) ? tame : edge;
  }
  unsigned k = roll(d, SURG_COUNT(wild) + 4);
  if (range == 'f') k %= SURG_COUNT(wild);
  if (range == 'n' && k >= SURG_COUNT(wild)) return k & 1 ? (double)INFINITY : -(double)INFINITY;
  if (k >= SURG_COUNT(wild))
    return k & 1 ? (double)NAN : k & 2 ? (double)INFINITY : -(double)INFINITY;
  if (dtype == SURG_FLOAT16 && fabs(wild[k]) > 65504) return copysign(60000, wild[k]);
  return wild[k];
}

static int64_t draw_int(dice *d, unsigned set, int dtype) {
  static const int64_t edges[] = {0,   1,   -1,  INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -128,
                                  127, 255, 256, 65535,     1ll << 24, 3,         7};
  if (dtype == SURG_BOOL) return (int64_t)roll(d, 2);
  if (set && chance(d, set == 1 ? 30 : 60)) return edges[roll(d, SURG_COUNT(edges))];
  return (int64_t)roll(d, 21) - 10;
}

/* Into what was said of the item; what lies outside goes to the nearer end. */
static double limited(const item *it, double x) {
  if (!it->said || (x >= it->low && x <= it->high)) return x;
  return x > it->high ? it->high : it->low;
}

/* What a limit, or a number of 64 bits that went through a double, is as one. */
static int64_t whole(double x) {
  if (x >= 0x1p63) return INT64_MAX;
  return x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

static void *elements(surg__arena *arena, const item *it, dice *d, unsigned set) {
  void *data = surg__arena_array(arena, (size_t)it->count + 1, surg__dtype_unpacked(it->dtype));
  if (!data) return NULL;
  for (uint64_t i = 0; i < it->count; i++) {
    if (surg__is_real(it->dtype)) {
      const double x = it->fixed ? it->reals[i] : draw_real(d, set, it->range, it->dtype);
      surg__store_f64(it->dtype, data, i, limited(it, x));
    } else if (it->dtype == SURG_STRING) {
      static const char *const words[] = {"", "a", "bc", "B", "a b"};
      const char *s = words[roll(d, SURG_COUNT(words))];
      ((surg_str *)data)[i] = (surg_str){s, strlen(s)};
    } else {
      int64_t v = it->fixed ? it->ints[i] : draw_int(d, set, it->dtype);
      if (it->said) v = whole(limited(it, (double)v));
      surg__store_int(it->dtype, data, i, (uint64_t)v);
    }
  }
  return data;
}

static bool make_inputs(surg__arena *arena, const rule_case *c, unsigned set, surg__array *in) {
  dice d = {c->seed * 31 + set};
  unsigned n = 0;
  for (unsigned i = 0; i < c->n_items; i++) {
    const item *it = &c->items[i];
    if (!is_input(it)) continue;
    if (it->dtype != SURG_STRING && it->dtype != SURG_BOOL && !surg__is_real(it->dtype) &&
        !surg__is_int(it->dtype))
      return false;
    in[n] = (surg__array){.dtype = it->dtype,
                          .rank = it->rank,
                          .dims = it->dims,
                          .count = it->count,
                          .data = elements(arena, it, &d, set)};
    if (!in[n++].data) return false;
  }
  return true;
}

/* --- comparing --- */

/* How many floats of the type, as they lie about a, b or `most`, lie between a and b. */
static double steps_between(int dtype, double a, double b, double most) {
  static const int digits[] = {
      [SURG_FLOAT] = 24, [SURG_FLOAT16] = 11, [SURG_BFLOAT16] = 8, [SURG_DOUBLE] = 53};
  static const int lowest[] = {
      [SURG_FLOAT] = -149, [SURG_FLOAT16] = -24, [SURG_BFLOAT16] = -133, [SURG_DOUBLE] = -1074};
  int e = 0;
  frexp(fmax(fmax(fabs(a), fabs(b)), most), &e);
  e -= digits[dtype];
  if (e < lowest[dtype]) e = lowest[dtype];
  return fabs(a - b) / ldexp(1, e);
}

typedef struct promise {
  surg_exactness e;
  double bound; /* n of ulp(n), k of rounding(k) */
  /* Of rounding: the sums of absolute terms before and after (terms.c), one for each element of the
   * result; NULL: there is no such form, and the largest element of the result, and 1, count. */
  const surg__array *terms[2];
  const double *error[2]; /* else the running errors (error.c), one for each element; NULL: none */
  double most;
  bool huge;
  bool wild; /* sums cancel, and what lies between over- or underflows */
} promise;

static promise promise_of(const surg_rule *r, const rule_case *c) {
  promise p = {.e = r->exactness, .bound = r->reason ? atof(r->reason) : 0};
  if (c->most_k && p.e == SURG_ROUNDING) p.bound = fmin(p.bound, c->most_k);
  return p;
}

/* Kernels round what is narrower than double once; in double each of their steps. */
static double steps_of(int dtype) {
  return dtype == SURG_DOUBLE ? 32 : 1;
}

/* Within k * eps * the sum of the absolute terms. Where that sum overflows nothing is promised. */
static bool rounds(const promise *p, int dtype, uint64_t i, double a, double b) {
  static const double eps[] = {[SURG_FLOAT] = 0x1p-23, [SURG_FLOAT16] = 0x1p-10,
                               [SURG_BFLOAT16] = 0x1p-7, [SURG_DOUBLE] = 0x1p-52};
  if (!p->terms[0] && (p->error[0] || p->error[1])) {
    const double r = fmax(p->error[0] ? p->error[0][i] : 0, p->error[1] ? p->error[1][i] : 0);
    return isinf(r) || fabs(a - b) <= r;
  }
  if (!p->terms[0]) {
    if (p->huge) return true; /* sums of what is huge overflow in another place */
    const bool near = steps_between(dtype, a, b, p->most) <= p->bound * steps_of(dtype);
    const double unit = dtype == SURG_FLOAT16 ? 1e-3 : dtype == SURG_BFLOAT16 ? 8e-3 : 1e-5;
    return near || (p->wild && fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b)) + unit);
  }
  const double s = fmax(surg__real_at(p->terms[0], i), surg__real_at(p->terms[1], i));
  if (!isfinite(surg__real_at(p->terms[0], i)) || !isfinite(surg__real_at(p->terms[1], i)))
    return true;
  return fabs(a - b) <= p->bound * steps_of(dtype) * eps[dtype] * s;
}

static bool reals_agree(const promise *p, int dtype, uint64_t i, double a, double b) {
  if (a == b) return p->e != SURG_EXACT || signbit(a) == signbit(b);
  if (isnan(a) && isnan(b)) return true;
  if (p->e == SURG_EXACT) return false;
  if (p->e == SURG_ROUNDING) return rounds(p, dtype, i, a, b);
  if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) return false;
  if (p->e == SURG_ULP) return steps_between(dtype, a, b, 0) <= p->bound * steps_of(dtype);
  const double unit = dtype == SURG_FLOAT16 ? 1e-3 : dtype == SURG_BFLOAT16 ? 8e-3 : 1e-5;
  return fabs(a - b) <= 4 * unit + 32 * unit * fabs(a);
}

static bool differs(promise *p, const surg__array *a, const surg__array *b, char *why) {
  if (a->dtype != b->dtype || a->rank != b->rank || a->count != b->count) {
    snprintf(why, 300, "another type or shape: %s of rank %u, was %s of rank %u",
             surg_dtype_name(b->dtype), b->rank, surg_dtype_name(a->dtype), a->rank);
    return true;
  }
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) {
      snprintf(why, 300, "dim %u is %lld, was %lld", i, (long long)b->dims[i],
               (long long)a->dims[i]);
      return true;
    }
  p->most = 1;
  for (uint64_t i = 0; i < a->count && p->e == SURG_ROUNDING && surg__is_real(a->dtype); i++)
    if (isfinite(surg__real_at(a, i))) p->most = fmax(p->most, fabs(surg__real_at(a, i)));
  for (uint64_t i = 0; i < a->count; i++) {
    if (a->dtype == SURG_STRING) {
      const surg_str s = ((const surg_str *)a->data)[i], t = ((const surg_str *)b->data)[i];
      if (s.n == t.n && !memcmp(s.p, t.p, s.n)) continue;
      snprintf(why, 300, "element %llu is another text", (unsigned long long)i);
      return true;
    }
    if (surg__is_real(a->dtype)) {
      const double x = surg__real_at(a, i), y = surg__real_at(b, i);
      if (reals_agree(p, a->dtype, i, x, y)) continue;
      snprintf(why, 300, "element %llu is %.9g, was %.9g (terms %.9g, %.9g)",
               (unsigned long long)i, y, x,
               p->terms[0]   ? surg__real_at(p->terms[0], i)
               : p->error[0] ? p->error[0][i]
                             : 0,
               p->terms[0]   ? surg__real_at(p->terms[1], i)
               : p->error[1] ? p->error[1][i]
                             : 0);
      return true;
    }
    const size_t unit = surg__dtype_unpacked(a->dtype);
    if (p->e == SURG_APPROX && surg__is_int(a->dtype)) {
      const int64_t apart =
          (int64_t)(surg__load_int(a->dtype, a->data, i) - surg__load_int(b->dtype, b->data, i));
      if (apart >= -1 && apart <= 1) continue;
    }
    if (!memcmp((const char *)a->data + i * unit, (const char *)b->data + i * unit, unit)) continue;
    snprintf(why, 300, "element %llu is %lld, was %lld", (unsigned long long)i,
             surg__is_int(b->dtype) ? (long long)surg__load_int(b->dtype, b->data, i) : 0,
             surg__is_int(a->dtype) ? (long long)surg__load_int(a->dtype, a->data, i) : 0);
    return true;
  }
  return false;
}

/* What is only close is judged by tame inputs alone. */
static unsigned sets_of(const promise *p) {
  return p->e <= SURG_ROUNDING ? SETS : 1;
}

static verdict run_both(surg_model *before, surg_model *after, surg__arena *arena,
                        rule_case *c, promise *p, char *why) {
  surg__array in[CASE_ITEMS], x[CASE_ARGS], y[CASE_ARGS], s[2][CASE_ARGS];
  surg_model *sums[2] = {NULL, NULL};
  bool any = false;
  const char *reason = NULL;
  if (p->e == SURG_ROUNDING) sums[0] = terms_of(before);
  if (sums[0]) sums[1] = terms_of(after);
  verdict v = CASE_PROVEN;
  for (unsigned set = 0; set < sets_of(p) && v != CASE_WRONG; set++) {
    memset(in, 0, sizeof in);
    p->wild = set > 0;
    p->huge = set > 1 || c->harsh; /* a constant may be the input */
    if (!make_inputs(arena, c, set, in)) break;
    if (surg__interpret(before, arena, in, x, MAX_BYTES, MAX_WORK, &reason, NULL)) {
      snprintf(why, 300, "the original: %s", reason ? reason : "?");
      continue;
    }
    any = true;
    const surg_status ran =
        surg__interpret(after, arena, in, y, MAX_BYTES, MAX_WORK, &reason, NULL);
    if (ran == SURG_ELIMIT) continue;
    if (ran) {
      snprintf(why, 300, "inputs %u: it does not run: %s", set,
               reason ? reason : surg_status_name(ran));
      v = CASE_WRONG;
      break;
    }
    bool bounded = sums[1] != NULL;
    for (unsigned k = 0; k < 2 && bounded; k++)
      bounded = !surg__interpret(sums[k], arena, in, s[k], MAX_BYTES, MAX_WORK, &reason, NULL);
    const double *error[2][CASE_ARGS] = {{0}};
    bool errors[2] = {false, false};
    if (p->e == SURG_ROUNDING && !bounded) {
      errors[0] = errors_of(before, arena, in, p->bound, error[0]);
      errors[1] = errors_of(after, arena, in, p->bound, error[1]);
    }
    c->bounded |= bounded || errors[0] || errors[1];
    for (unsigned i = 0; i < c->n_outputs && v != CASE_WRONG; i++) {
      char what[300];
      for (unsigned k = 0; k < 2; k++) {
        p->terms[k] = bounded ? &s[k][i] : NULL;
        p->error[k] = errors[k] ? error[k][i] : NULL;
      }
      if (!differs(p, &x[i], &y[i], what)) continue;
      snprintf(why, 300, "inputs %u, output %u: %.250s", set, i, what);
      v = CASE_WRONG;
    }
  }
  for (unsigned k = 0; k < 2; k++) surg_model_free(sums[k]);
  return v == CASE_WRONG || any ? v : CASE_IDLE;
}

/* --- the rule --- */

/* Operators that take these types in the version they now are of. */
static const char *misfit(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (*surg_node_domain(n)) continue;
    const surg_schema *s = surg_node_schema(n);
    if (!s) return surg_node_op_type(n);
    for (size_t i = 0; i < surg_node_attr_count(n); i++)
      if (!surg__schema_attr(s, surg_attr_name(surg_node_attr_at(n, i))))
        return surg_node_op_type(n);
    for (size_t i = 0; i < surg_node_input_count(n); i++) {
      const surg_value *v = surg_node_input(n, i);
      const surg_type *t = v ? surg_value_type(v) : NULL;
      const surg__param *f = surg__schema_formal(s, false, i);
      const surg__type_param *p = f ? surg__schema_type_param(s, f) : NULL;
      if (!f) return surg_node_op_type(n);
      if (!t || !p || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_dtype(t) > 31)
        continue;
      if (!(p->tensor_mask >> surg_type_dtype(t) & 1)) return surg_node_op_type(n);
    }
  }
  return NULL;
}

static surg_node *anchor_of(const surg_rule *r, surg_model *m) {
  surg_node *n = surg_graph_first_node(surg_model_graph(m));
  for (uint16_t k = 0; n && k < r->anchor; k++)
    if (r->match.stmts[k].kind == SURG__S_NODE) n = surg_node_next(n);
  return n;
}

static surg__match *match_of(surg_context *ctx, const surg_rule *r, surg_model *m,
                             const rule_case *c, surg__arena *arena) {
  surg__match *match = surg__arena_zalloc(arena, sizeof *match);
  if (!match) abort();
  match->ctx = ctx;
  match->arena = arena;
  match->rule = r;
  (void)surg__match_at(match, anchor_of(r, m), c->to);
  return match;
}

/* Most draws do not match: that is found out before the model is copied. */
static verdict matches(surg_context *ctx, const surg_rule *r, surg_model *m, rule_case *c,
                       surg__arena *arena, char *why) {
  const surg__match *match = match_of(ctx, r, m, c, arena);
  c->emitted = 0;
  if (match->emit) return CASE_PROVEN;
  snprintf(why, 300, "%s", match->why ? match->why : "?");
  return CASE_MISSED;
}

static verdict apply(surg_context *ctx, const surg_rule *r, surg_model *m, rule_case *c,
                     surg__arena *arena, char *why) {
  surg__match *match = match_of(ctx, r, m, c, arena);
  if (!match->emit) return CASE_MISSED;
  const surg_status s = surg__emit_any(match, NULL);
  if (s == SURG_EUNSUPPORTED) {
    snprintf(why, 300, "it cannot be made");
    return CASE_MISSED;
  }
  if (s) {
    snprintf(why, 300, "the emission fails: %s", surg_status_name(s));
    return CASE_WRONG;
  }
  c->emitted = (unsigned)(match->emit - r->emits) + 1;
  if (surg_model_set_opset(m, "", c->to) || surg_model_verify(m) || surg_model_infer(m)) {
    snprintf(why, 300, "the model is not whole: %s",
             surg_context_error(ctx) ? surg_context_error(ctx) : "");
    return CASE_WRONG;
  }
  const char *bad = misfit(m);
  if (bad) snprintf(why, 300, "%s of opset %d does not accept this", bad, (int)c->to);
  return bad ? CASE_WRONG : CASE_PROVEN;
}

/* What a case says of its dims and of elements is assumed. */
static surg_model *load(surg_context *ctx, const rule_case *c) {
  surg_model *m = NULL;
  char text[128];
  surg_context_clear_error(ctx);
  surg_status s = surg_model_load_text(ctx, c->text, strlen(c->text), "case", &m);
  for (unsigned i = 0; i < c->n_items && c->style == 4; i++)
    for (unsigned k = 0; k < c->items[i].rank && is_input(&c->items[i]) && !s; k++) {
      if (!c->items[i].dims[k]) continue;
      snprintf(text, sizeof text, "%s_%u=1..99", c->items[i].name, k);
      s = surg_model_assume_dim(m, text);
    }
  for (unsigned i = 0; i < c->n_items && !s; i++) {
    const item *it = &c->items[i];
    if (!it->said || !is_input(it)) continue;
    snprintf(text, sizeof text, "%s=%.17g..%.17g", it->name, it->low, it->high);
    s = surg_model_assume_range(m, text);
  }
  if (s || surg_model_infer(m)) {
    surg_model_free(m);
    return NULL;
  }
  return m;
}

/* --- all values --- */

/* How many bits all inputs are, elements packed; 0: more than can be counted. */
static unsigned input_bits(const rule_case *c) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < c->n_items; i++) {
    const item *it = &c->items[i];
    if (!is_input(it) || it->fixed) continue;
    if (it->dtype == SURG_STRING || it->said) return 0;
    bits += it->count * (it->dtype == SURG_BOOL ? 1 : 8 * surg__dtype_unpacked(it->dtype));
    if (bits > 32) return 0;
  }
  return (unsigned)bits;
}

/* Writes the bits of `n` into the inputs, one behind the other. */
static void put_bits(const rule_case *c, surg__array *in, uint64_t n) {
  for (unsigned i = 0, k = 0; i < c->n_items; i++) {
    const item *it = &c->items[i];
    if (!is_input(it)) continue;
    unsigned char *data = in[k++].data;
    const size_t unit = surg__dtype_unpacked(it->dtype);
    for (uint64_t e = 0; e < it->count && !it->fixed; e++) {
      const uint64_t value = it->dtype == SURG_BOOL ? n & 1 : n;
      memcpy(data + e * unit, &value, unit); /* the machine is little-endian, as the tensors are */
      n >>= it->dtype == SURG_BOOL ? 1 : 8 * unit;
    }
  }
}

static verdict run_all(surg_model *before, surg_model *after, surg__arena *arena,
                       const rule_case *c, unsigned bits, promise *p, char *why) {
  surg__array in[CASE_ITEMS], x[CASE_ARGS], y[CASE_ARGS];
  const char *reason = NULL;
  bool any = false;
  memset(in, 0, sizeof in);
  p->wild = p->huge = true;
  if (!make_inputs(arena, c, 0, in)) return CASE_IDLE;
  for (uint64_t n = 0; n < UINT64_C(1) << bits; n++) {
    const surg__mark mark = surg__arena_mark(arena);
    char what[300];
    put_bits(c, in, n);
    const bool runs = !surg__interpret(before, arena, in, x, MAX_BYTES, MAX_WORK, &reason, NULL);
    any |= runs;
    if (runs && surg__interpret(after, arena, in, y, MAX_BYTES, MAX_WORK, &reason, NULL)) {
      snprintf(why, 300, "inputs %#llx: it does not run: %s", (unsigned long long)n, reason);
      return CASE_WRONG;
    }
    for (unsigned i = 0; i < c->n_outputs && runs; i++) {
      if (!differs(p, &x[i], &y[i], what)) continue;
      snprintf(why, 300, "inputs %#llx, output %u: %.250s", (unsigned long long)n, i, what);
      return CASE_WRONG;
    }
    surg__arena_reset(arena, mark);
  }
  return any ? CASE_PROVEN : CASE_IDLE;
}

/* Applies the rule once more where all values are outputs of the graph: it must not match, or leave
 * them. CASE_WRONG: the emission fails. */
static verdict read_outside(surg_context *ctx, const surg_rule *r, const surg_model *before,
                            rule_case *c, surg__arena *arena, char *why) {
  const unsigned emitted = c->emitted;
  surg_model *m = surg_model_clone(before);
  if (!m) abort();
  surg_graph *g = surg_model_graph(m);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      surg_value *v = surg_node_output(n, i);
      if (v && !surg_value_is_output(v) && surg_graph_add_output(g, v, NULL)) abort();
    }
  if (surg_model_infer(m)) abort();
  char text[300];
  const verdict v = apply(ctx, r, m, c, arena, text);
  if (v == CASE_WRONG) snprintf(why, 300, "inner values are outputs: %.250s", text);
  c->emitted = emitted;
  surg_model_free(m);
  return v == CASE_WRONG ? v : CASE_PROVEN;
}

/* `bits`: all values of so many bits at most; 0: values that are drawn. */
static verdict judge(surg_context *ctx, const surg_rule *r, rule_case *c, unsigned bits,
                     char *why) {
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  why[0] = 0;
  if (!c->text) {
    const char *text = print_case(ctx, &arena, c);
    c->text = text ? strdup(text) : NULL;
  }
  surg_model *before = c->text ? load(ctx, c) : NULL, *after = NULL;
  verdict v = CASE_BROKEN;
  if (!before) {
    snprintf(why, 300, "%s", surg_context_error(ctx) ? surg_context_error(ctx) : "?");
  } else {
    if (surg_model_infer(before)) abort();
    const char *bad = misfit(before);
    if (bad)
      snprintf(why, 300, "%s of opset %d does not accept this", bad, (int)c->from);
    else
      v = matches(ctx, r, before, c, &arena, why);
  }
  if (v == CASE_PROVEN) {
    after = surg_model_clone(before);
    if (!after || surg_model_infer(after)) abort();
    v = apply(ctx, r, after, c, &arena, why);
  }
  promise p = promise_of(r, c);
  const unsigned all = input_bits(c);
  if (v == CASE_PROVEN && bits)
    v = all && all <= bits ? run_all(before, after, &arena, c, all, &p, why) : CASE_IDLE;
  else if (v == CASE_PROVEN)
    v = run_both(before, after, &arena, c, &p, why);
  if (v == CASE_PROVEN && c->n_nodes > 1) v = read_outside(ctx, r, before, c, &arena, why);
  surg_model_free(before);
  surg_model_free(after);
  surg__arena_free(&arena);
  return v;
}

verdict case_judge(surg_context *ctx, const surg_rule *r, rule_case *c, char *why) {
  return judge(ctx, r, c, 0, why);
}

verdict case_judge_all(surg_context *ctx, const surg_rule *r, rule_case *c, unsigned bits,
                       char *why) {
  return judge(ctx, r, c, bits, why);
}
