/* SPDX-License-Identifier: Apache-2.0 */
/* Makes fixed dimensions of inputs symbolic: `input.0=N`; several inputs may share a symbol.
 * Inference propagates the symbols. A constant target of Reshape with the old size copies the
 * dimension (0) or computes it (-1) instead, if that is the only way in which the shapes fit. That
 * a target fits is proven with the expressions of the dimensions, for all sizes from 1 on, or else
 * tested at SAMPLES sizes, smaller and larger ones. That another target does not fit is shown by a
 * size at which it fails. A target of Expand gets a 1 where the dimension of its input varies.
 * Declared outputs and value_info are updated.
 *
 * The result is run at the old size and at others. For a batch (axis 0) it is verified that a
 * batch of two gives the results of its two halves. Failures are reported as not done, which
 * changes the exit code; so are constants that may contain the old size, unless verified this way.
 *
 *   before: (float[2,3,4] x) => (float[2,12] y) <int64[2] t = {2,12}> { y = Reshape (x, t) }
 *   after:  (float[N,3,4] x) => (float[N,12] y) <int64[2] t2 = {0,12}> { y = Reshape (x, t2) }
 *
 * Needs sorted. Keeps sorted. Exact where the dimension has its old size; changes the interface. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/numbers.h"
#include "../util/values.h"
#include "dynamic.h"

#define TEXT 1024
#define SAMPLES 20 /* sizes at which unproven shapes are tested; the first is the old size */
#define OTHER 1009 /* size of symbols that were there before: a large prime */
#define ROUNDS 64  /* most rounds of inference; each fixes what the previous one exposed */

/* ---- keys ------------------------------------------------------------------------------------ */

static surg_pass_result wrong(state *s, const key *k, const char *why) {
  char text[TEXT];
  snprintf(text, sizeof text, "'%.300s=%.100s': %.500s", k->name, k->symbol, why);
  return surg_pass_usage(s->p, text);
}

static surg_pass_result read_key(state *s, const surg_graph *g, size_t i, key *k) {
  assert(i < s->n);
  *k = (key){.name = surg_pass_pair_name(s->p, i), .symbol = surg_pass_pair_value(s->p, i, 0)};
  const char *dot = strrchr(k->name, '.');
  char *end = NULL, *stem = surg_pass_alloc(s->p, strlen(k->name) + 1);
  if (!stem) return SURG_PASS_FAILED;
  if (!k->symbol || !*k->symbol || surg_pass_pair_value(s->p, i, 1) ||
      (*k->symbol >= '0' && *k->symbol <= '9'))
    return wrong(s, k, "a symbol is a name; freeze sets a number");
  int64_t axis = dot ? strtoll(dot + 1, &end, 10) : 0;
  if (!dot || !dot[1] || *end)
    return wrong(s, k, "expected an input and its axis before `=` (x.0=N)");
  memcpy(stem, k->name, (size_t)(dot - k->name));
  surg_value *v = surg_graph_find_value(g, stem);
  nearest near = {.name = stem};
  if (!v || !surg_value_is_input(v)) {
    char text[TEXT];
    snprintf(text, sizeof text, "there is no such input%s", values_near_input(&near, g));
    return wrong(s, k, text);
  }
  if (surg_value_is_initializer(v)) return wrong(s, k, "the input has a default of its size");
  const surg_type *t = surg_value_declared_type(v);
  const int64_t rank = (int64_t)surg_type_rank(t);
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || axis < -rank || axis >= rank || rank > RANK)
    return wrong(s, k, "the input has no such axis");
  k->input = v;
  k->axis = (size_t)(axis < 0 ? axis + rank : axis);
  k->old = surg_type_dim(t, k->axis)->value;
  if (k->old < 0) return wrong(s, k, "the dim is dynamic already");
  for (size_t j = 0; j < i; j++)
    if (strcmp(s->keys[j].symbol, k->symbol) == 0 && s->keys[j].old != k->old)
      return wrong(s, k, "one symbol cannot have two sizes");
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result open_input(state *s, const key *k) {
  const surg_type *t = surg_value_declared_type(k->input);
  assert(k->input && k->old >= 0 && k->axis < RANK);
  surg_dim dims[RANK];
  for (size_t i = 0; i < surg_type_rank(t); i++) dims[i] = *surg_type_dim(t, i);
  dims[k->axis] = (surg_dim){.value = -1, .param = k->symbol};
  const surg_type *to = surg_type_tensor(s->m, surg_type_dtype(t), dims, surg_type_rank(t));
  if (!to || surg_value_set_declared_type(k->input, to)) return SURG_PASS_FAILED;
  surg_pass_count(s->p, "dims opened", 1);
  s->changed = true;
  return SURG_PASS_CHANGED;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The size of a symbol at a sample. Symbols use the steps in different orders, so that no two
 * keep a fixed difference; at sample 0 all have their old size. */
static int64_t size_at(int64_t old, size_t sample, size_t symbol) {
  static const int16_t steps[16] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 63, 64, 97, 128, 255};
  assert(old >= 0 && sample < SAMPLES);
  if (sample < 16) return old + steps[sample * (2 * symbol + 1) % 16];
  const int64_t less = old - steps[(sample - 15) * (symbol + 1) % 16];
  return less > 1 ? less : 1;
}

static bool size_of(void *user, const char *name, const surg_value *value, size_t axis,
                    int64_t *out) {
  const state *s = user;
  (void)value, (void)axis;
  *out = OTHER;
  for (size_t i = 0; name && i < s->n; i++)
    if (strcmp(s->keys[i].symbol, name) == 0) {
      *out = size_at(s->keys[i].old, s->sample, i);
      break;
    }
  return true;
}

static bool dim_at(state *s, surg_dim d, size_t sample, int64_t *out) {
  assert(sample < SAMPLES);
  s->sample = sample;
  return surg_dim_eval(&d, size_of, s, out) == SURG_OK;
}

static bool varies(state *s, surg_dim d) {
  int64_t a, b;
  if (d.value >= 0 || !dim_at(s, d, 0, &a)) return false;
  for (size_t k = 1; k < SAMPLES; k++)
    if (dim_at(s, d, k, &b) && a != b) return true;
  return false;
}

bool dynamic_type_varies(state *s, const surg_type *t) {
  for (size_t i = 0; i < surg_type_rank(t); i++)
    if (varies(s, *surg_type_dim(t, i))) return true;
  return false;
}

typedef enum fit { FITS_NOT, FITS_TRIED, FITS_PROVEN } fit;

/* The shape that a Reshape target gives at a sample, in `out`. FITS_NOT: it does not fit x
 * there; `*none` if x has no such size (at small sizes windows may not fit). */
static fit shape_at(state *s, const surg_type *x, const int64_t *target, size_t n, size_t sample,
                    int64_t out[RANK], bool *none) {
  int64_t total = 1, rest = 1, open = -1;
  *none = false;
  assert(n <= RANK && surg_type_rank(x) <= RANK);
  for (size_t i = 0; i < surg_type_rank(x); i++) {
    int64_t d;
    if (!dim_at(s, *surg_type_dim(x, i), sample, &d) || __builtin_mul_overflow(total, d, &total))
      return FITS_NOT;
    *none |= d <= 0;
  }
  if (*none) return FITS_NOT;
  for (size_t i = 0; i < n; i++) {
    out[i] = target[i];
    if (target[i] == 0 &&
        (i >= surg_type_rank(x) || !dim_at(s, *surg_type_dim(x, i), sample, &out[i])))
      return FITS_NOT;
    if (target[i] == -1) open = (int64_t)i;
    else if (__builtin_mul_overflow(rest, out[i], &rest))
      return FITS_NOT;
  }
  if (open < 0) return total == rest ? FITS_TRIED : FITS_NOT;
  if (rest <= 0 || total % rest) return FITS_NOT;
  out[open] = total / rest;
  return FITS_TRIED;
}

/* Whether the expressions of the dimensions prove that a target fits x at every size. */
static bool proven(const state *s, const surg_type *x, const int64_t *target, size_t n) {
  surg_dim dims[RANK], by[RANK], rest;
  size_t k = 0;
  assert(n <= RANK && surg_type_rank(x) <= RANK);
  bool open = false;
  for (size_t i = 0; i < surg_type_rank(x); i++) dims[i] = *surg_type_dim(x, i);
  for (size_t i = 0; i < n; i++) {
    open |= target[i] == -1;
    if (target[i] == 0) by[k++] = dims[i];
    else if (target[i] > 0)
      by[k++] = (surg_dim){.value = target[i]};
  }
  return surg_dims_divide(s->m, dims, surg_type_rank(x), by, k, &rest) && (open || rest.value == 1);
}

/* Whether a target fits x, and gives the shape `old` at the old size. */
static fit fits(state *s, const surg_type *x, const int64_t *target, size_t n, const int64_t *old) {
  int64_t out[RANK];
  bool none;
  if (!shape_at(s, x, target, n, 0, out, &none) || memcmp(out, old, n * sizeof *out) != 0)
    return FITS_NOT;
  if (proven(s, x, target, n)) return FITS_PROVEN;
  for (size_t k = 1; k < SAMPLES; k++)
    if (!shape_at(s, x, target, n, k, out, &none) && !none) return FITS_NOT;
  return FITS_TRIED;
}

/* Whether element i of the target, and all before it, equal the dimensions of x there, and
 * dimension i varies. */
static bool carried(state *s, const surg_type *x, const int64_t *old, size_t i) {
  for (size_t k = 0; k <= i; k++) {
    int64_t d;
    if (k >= surg_type_rank(x) || !dim_at(s, *surg_type_dim(x, k), 0, &d) || d != old[k])
      return false;
  }
  return varies(s, *surg_type_dim(x, i));
}

/* The index at which the trailing elements start that equal the trailing fixed dimensions of x. */
static size_t suffix(const surg_type *x, const int64_t *old, size_t n) {
  size_t rank = surg_type_rank(x);
  while (n > 0 && rank > 0 && surg_type_dim(x, rank - 1)->value == old[n - 1]) n--, rank--;
  return n;
}

/* Finds the only other target that fits: leading dimensions copied from x become 0; else one
 * element becomes -1, if only one can. Trailing fixed dimensions stay. FITS_NOT: there is none,
 * or the target fits already. */
static fit mend(state *s, const surg_type *x, int64_t *target, size_t n, const int64_t *old) {
  int64_t with_zeros[RANK];
  bool any = false, has_open = false;
  assert(n > 0 && n <= RANK);
  memcpy(with_zeros, target, n * sizeof *target);
  for (size_t i = 0; i < n; i++) {
    has_open |= target[i] == -1;
    if (target[i] <= 0 || !carried(s, x, old, i)) continue;
    with_zeros[i] = 0;
    any = true;
  }
  fit found = any ? fits(s, x, with_zeros, n, old) : FITS_NOT;
  if (found) {
    memcpy(target, with_zeros, n * sizeof *target);
    return found;
  }
  if (!any && fits(s, x, target, n, old)) return FITS_NOT;
  const size_t end = suffix(x, old, n);
  size_t at = n;
  for (size_t i = 0; i < end && !has_open; i++) {
    const int64_t was = with_zeros[i];
    if (was <= 0) continue;
    with_zeros[i] = -1;
    const fit one = fits(s, x, with_zeros, n, old);
    if (one && at != n) return FITS_NOT; /* ambiguous */
    if (one) {
      at = i;
      found = one;
    }
    with_zeros[i] = was;
  }
  if (!found) return FITS_NOT;
  assert(at < end); /* its index */
  with_zeros[at] = -1;
  memcpy(target, with_zeros, n * sizeof *target);
  return found;
}

/* ---- Reshape --------------------------------------------------------------------------------- */

static surg_pass_result set_target(state *s, surg_node *n, const int64_t *target, size_t count) {
  assert(count > 0 && count <= RANK);
  surg_value *old = surg_node_input(n, 1);
  surg_value *c = numbers_vector(n, surg_value_name(old), target, count);
  if (!c || surg_node_set_input(n, 1, c)) return SURG_PASS_FAILED;
  if (!surg_value_first_use(old) && !surg_value_producer(old, NULL) && !surg_value_is_input(old) &&
      !surg_value_is_pinned(old) && !surg_pass_keeps_value(s->p, old) &&
      surg_value_erase_initializer(old))
    return SURG_PASS_FAILED;
  s->changed = true;
  return SURG_PASS_CHANGED;
}

static surg_pass_result visit(state *s, surg_node *n) {
  const surg_value *x = surg_node_input(n, 0), *t = surg_node_input(n, 1);
  const surg_type *type = x ? surg_value_type(x) : NULL;
  const surg_tensor *c = t ? surg_value_constant(t) : NULL;
  int64_t target[RANK], old[RANK];
  if (!c || !type || !surg_type_has_rank(type) || surg_type_rank(type) > RANK ||
      surg_node_int(n, "allowzero", 0) != 0 || !dynamic_type_varies(s, type))
    return SURG_PASS_UNCHANGED;
  const int64_t count = numbers_of(c, target, RANK);
  bool none;
  if (count < 1 || !shape_at(s, type, target, (size_t)count, 0, old, &none))
    return SURG_PASS_UNCHANGED;
  int64_t before[RANK];
  memcpy(before, target, sizeof before);
  const fit found = mend(s, type, target, (size_t)count, old);
  if (!found || memcmp(before, target, (size_t)count * sizeof *target) == 0)
    return SURG_PASS_UNCHANGED;
  surg_pass_count(s->p, "targets opened", 1);
  if (found == FITS_TRIED) surg_pass_count(s->p, "targets that fit at every size tried", 1);
  surg_pass_note(s->p, n, found == FITS_PROVEN
                              ? "target made dynamic: proven to fit at every size"
                              : "target made dynamic: it fits at every size tried");
  return set_target(s, n, target, (size_t)count);
}

/* Sets elements of an Expand target to 1 where the dimension of the input varies, so it stays. */
static surg_pass_result visit_expand(state *s, surg_node *n) {
  const surg_value *x = surg_node_input(n, 0), *t = surg_node_input(n, 1);
  const surg_type *type = x ? surg_value_type(x) : NULL;
  const surg_tensor *c = t ? surg_value_constant(t) : NULL;
  int64_t target[RANK];
  if (!c || !type || !surg_type_has_rank(type) || surg_type_rank(type) > RANK)
    return SURG_PASS_UNCHANGED;
  const int64_t count = numbers_of(c, target, RANK);
  const int64_t rank = (int64_t)surg_type_rank(type);
  bool any = false;
  for (int64_t i = 0; i < count && count >= rank; i++) {
    const int64_t axis = i - (count - rank);
    int64_t old;
    if (axis < 0 || target[i] == 1 || !varies(s, *surg_type_dim(type, (size_t)axis)) ||
        !dim_at(s, *surg_type_dim(type, (size_t)axis), 0, &old) || old != target[i])
      continue;
    target[i] = 1;
    any = true;
  }
  if (!any) return SURG_PASS_UNCHANGED;
  surg_pass_count(s->p, "targets opened", 1);
  surg_pass_note(s->p, n, "target made dynamic: the dimension of the input is kept");
  return set_target(s, n, target, (size_t)count);
}

static surg_pass_result mend_all(state *s) {
  for (int round = 0; round < ROUNDS; round++) {
    surg_pass_result result = SURG_PASS_UNCHANGED;
    if (surg_model_infer(s->m)) return SURG_PASS_FAILED;
    for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g)) {
      if (surg_graph_function(g)) continue;
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
        const int op = surg_node_op(n);
        if ((op != SURG_OP_Reshape && op != SURG_OP_Expand) || surg_pass_keeps_node(s->p, n))
          continue;
        const surg_pass_result one = op == SURG_OP_Reshape ? visit(s, n) : visit_expand(s, n);
        if (one < result) result = one;
        if (one == SURG_PASS_FAILED) return one;
      }
    }
    if (result == SURG_PASS_UNCHANGED) return result;
  }
  return surg_model_infer(s->m) ? SURG_PASS_FAILED : SURG_PASS_UNCHANGED;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* The declaration of a dimension after the change: the proven symbol or expression; unknown if a
 * fixed size now varies without a name. */
static surg_dim opened(state *s, surg_dim declared, surg_dim proven) {
  if (declared.value < 0 || proven.value >= 0) return declared;
  if (proven.param) return (surg_dim){.value = -1, .param = proven.param};
  const char *text = proven.expr ? surg_dim_text(s->m, &proven) : NULL;
  return (surg_dim){.value = -1, .param = text && !strstr(text, "dim(\"") ? text : NULL};
}

static surg_pass_result declare(state *s, surg_value *v) {
  const surg_type *before = declared_type(v), *proven = surg_value_type(v);
  surg_dim dims[RANK];
  bool any = false;
  if (!before || surg_type_get_kind(before) != SURG_TYPE_TENSOR || !surg_type_has_rank(before) ||
      surg_type_rank(before) > RANK)
    return SURG_PASS_UNCHANGED;
  const bool known = proven && surg_type_has_rank(proven) &&
                     surg_type_rank(proven) == surg_type_rank(before);
  for (size_t i = 0; i < surg_type_rank(before); i++) {
    const surg_dim was = *surg_type_dim(before, i);
    dims[i] = known ? opened(s, was, *surg_type_dim(proven, i)) : was;
    any |= dims[i].value != was.value;
  }
  if (!any) return SURG_PASS_UNCHANGED;
  const surg_type *after =
      surg_type_tensor(s->m, surg_type_dtype(before), dims, surg_type_rank(before));
  if (!after || surg_value_set_declared_type(v, after)) return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static surg_pass_result declare_all(state *s) {
  const surg_graph *main = surg_model_graph(s->m);
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g)) {
    if (surg_graph_function(g)) continue;
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (!(g == main && surg_value_is_input(v)) && declare(s, v) == SURG_PASS_FAILED)
        return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}

/* ---- verification ---------------------------------------------------------------------------- */

typedef enum outcome { RUNS, FAILS, CANNOT_TELL } outcome;

static outcome run_at(state *s, const int64_t *sizes, char *why, size_t room) {
  const char *symbols[RANK];
  for (size_t i = 0; i < s->n && i < RANK; i++) symbols[i] = s->keys[i].symbol;
  const surg_status r =
      surg_model_runs_at(s->m, symbols, sizes, s->n < RANK ? s->n : RANK, why, room);
  return r == SURG_OK ? RUNS : r == SURG_EINVALID ? FAILS : CANNOT_TELL;
}

/* Runs the model with another size of key k. A batch must run at any size; for other axes one of
 * three sizes suffices, since windows and strides exclude some. */
static outcome try_key(state *s, size_t k, char *text, size_t room) {
  assert(k < s->n && s->n <= RANK); /* prove() gives up on more */
  const int64_t old = s->keys[k].old;
  const bool batch = s->keys[k].axis == 0;
  const int64_t others[] = {batch ? old + 1 : 2 * old, batch ? old + 2 : old + 32, old + 1};
  const size_t count = batch ? 2 : 3;
  outcome last = CANNOT_TELL;
  for (size_t i = 0; i < count; i++) {
    int64_t sizes[RANK];
    char why[400];
    for (size_t j = 0; j < s->n && j < RANK; j++)
      sizes[j] = strcmp(s->keys[j].symbol, s->keys[k].symbol) == 0 ? others[i] : s->keys[j].old;
    last = run_at(s, sizes, why, sizeof why);
    if (last == FAILS && (batch || i == 0))
      snprintf(text, room, "the result does not run at %.100s = %lld: %.300s", s->keys[k].symbol,
               (long long)others[i], why);
    if (batch ? last != RUNS : last != FAILS) return last;
  }
  return last;
}

/* Verifies that a batch of two gives the results of two batches, so that no constant fixes its
 * size. */
static outcome try_stack(state *s, size_t k, const int64_t *sizes, char *text, size_t room) {
  assert(k < s->n && s->n <= RANK);
  const char *symbols[RANK];
  char why[400];
  for (size_t i = 0; i < s->n; i++) symbols[i] = s->keys[i].symbol;
  const surg_status r = surg_model_stacks(s->m, symbols, sizes, s->n, k, why, sizeof why);
  if (r == SURG_EINVALID)
    snprintf(text, room, "at %.100s = %lld: %.300s", s->keys[k].symbol,
             2 * (long long)s->keys[k].old, why);
  return r == SURG_OK ? RUNS : r == SURG_EINVALID ? FAILS : CANNOT_TELL;
}

/* Whether the model is verified at other sizes: a batch by stacking. Running at another size of
 * another axis is no proof, except for old size 1, which broadcasts. Failures are reported. */
static bool prove(state *s) {
  int64_t sizes[RANK];
  char text[600];
  bool all = true;
  if (s->n > RANK) return false;
  for (size_t i = 0; i < s->n; i++) sizes[i] = s->keys[i].old;
  if (run_at(s, sizes, text, sizeof text) != RUNS) return false; /* generated inputs fail */
  for (size_t k = 0; k < s->n; k++) {
    outcome o = try_key(s, k, text, sizeof text);
    if (o == RUNS && s->keys[k].axis == 0) o = try_stack(s, k, sizes, text, sizeof text);
    if (o == FAILS) surg_pass_left(s->p, NULL, text);
    all = all && o == RUNS && (s->keys[k].axis == 0 || s->keys[k].old == 1);
  }
  return all;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  state s = {.p = p, .m = surg_pass_model(p), .n = surg_pass_pair_count(p)};
  surg_graph *g = surg_model_graph(s.m);
  if (!s.n) return surg_pass_usage(p, "needs dimensions of inputs, such as input.0=N");
  s.keys = surg_pass_alloc(p, s.n * sizeof *s.keys);
  if (!s.keys) return SURG_PASS_FAILED;
  for (size_t i = 0; i < s.n; i++)
    if (read_key(&s, g, i, &s.keys[i]) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < s.n; i++)
    if (open_input(&s, &s.keys[i]) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (mend_all(&s) == SURG_PASS_FAILED || declare_all(&s) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  const bool proven = prove(&s);
  if (proven) surg_pass_count(p, "computed at other sizes", 1);
  if (!dynamic_left(&s, proven)) return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(PAIRS, "axis", NULL, "input.AXIS=SYMBOL"),
};

const surg_pass surg__pass_dynamic = {
    SURG_PASS_HEAD(MODEL, "dynamic", "make fixed dimensions of inputs symbolic"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
