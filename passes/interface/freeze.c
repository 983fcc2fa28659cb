/* SPDX-License-Identifier: Apache-2.0 */
/* Makes symbolic dimensions of inputs fixed: `N=1` all dimensions of the main graph with the symbol
 * N, `input.2=224` one axis of one input, `input=1+3+224+224` all axes (`?` leaves one unchanged).
 * Declared outputs and value_info are updated.
 *
 *   before: (float[N,3] x) => (float[N,3] y) { y = Relu (x) }        freeze{N=1}
 *   after:  (float[1,3] x) => (float[1,3] y) { y = Relu (x) }
 *
 * A symbol has priority over an axis spelled the same. Symbols in functions are separate. Needs
 * sorted. Keeps sorted. Exact; changes the interface. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/declared.h"

#define TEXT 1024
#define NESTING 8 /* most sequences and optionals around a tensor */

typedef struct key {
  const char *name;
  int64_t to;
  surg_value *input; /* NULL: the key is a symbol */
  size_t axis;
} key;

/* ---- types with fixed dimensions ------------------------------------------------------------- */

static bool hit(const key *k, surg_dim d, size_t axis) {
  return k->input ? k->axis == axis : d.param && strcmp(d.param, k->name) == 0;
}

static const surg_type *tensor_of(surg_pass_ctx *p, const surg_type *t, const key *k) {
  surg_model *m = surg_pass_model(p);
  bool any = false;
  size_t rank = surg_type_rank(t);
  for (size_t i = 0; i < rank && !any; i++) any = hit(k, *surg_type_dim(t, i), i);
  if (!any || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return t;
  surg_dim *dims = surg_pass_alloc(p, rank * sizeof *dims);
  if (!dims) return NULL;
  assert(k->to > 0); /* checked when the keys were read */
  for (size_t i = 0; i < rank; i++) {
    dims[i] = *surg_type_dim(t, i);
    if (hit(k, dims[i], i)) dims[i] = (surg_dim){k->to, NULL};
  }
  return surg_type_tensor(m, surg_type_dtype(t), dims, rank);
}

/* The type with the dimensions of the key fixed; t itself if there are none. */
static const surg_type *frozen(surg_pass_ctx *p, const surg_type *t, const key *k) {
  const surg_type *around[NESTING], *leaf = t;
  size_t depth = 0;
  for (; surg_type_elem(leaf); leaf = surg_type_elem(leaf)) {
    surg_type_kind kind = surg_type_get_kind(leaf);
    if (depth == NESTING || (kind != SURG_TYPE_SEQUENCE && kind != SURG_TYPE_OPTIONAL)) return t;
    around[depth++] = leaf;
  }
  const surg_type *out = tensor_of(p, leaf, k);
  assert(depth <= NESTING);
  if (out == leaf) return t;
  while (depth-- > 0 && out)
    out = surg_type_wrap(surg_pass_model(p), surg_type_get_kind(around[depth]), out);
  /* surg_type_refine keeps denotations. */
  return out ? surg_type_refine(surg_pass_model(p), t, out, NULL) : NULL;
}

static const surg_type *leaf_of(const surg_type *t) {
  while (surg_type_elem(t)) t = surg_type_elem(t);
  return t;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool has_symbol(const surg_type *t, const char *name) {
  t = leaf_of(t);
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    surg_dim d = *surg_type_dim(t, i);
    if (d.param && strcmp(d.param, name) == 0) return true;
  }
  return false;
}

static bool is_symbol(const surg_graph *g, const char *name) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (has_symbol(surg_value_declared_type(surg_graph_input(g, i)), name)) return true;
  return false;
}

/* The symbol of an input nearest to the name, else the nearest input, or NULL. */
static const char *nearest(surg_pass_ctx *p, const surg_graph *g, const char *name) {
  const char *best[2] = {NULL, NULL};
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_type *t = leaf_of(surg_value_declared_type(surg_graph_input(g, i)));
    for (size_t k = 0; k < surg_type_rank(t); k++) {
      best[1] = surg_type_dim(t, k)->param;
      if (!best[1]) continue;
      best[0] = best[0] ? surg_pass_nearest(name, best, 2) : surg_pass_nearest(name, best + 1, 1);
    }
  }
  if (best[0]) return best[0];
  const char *dot = strrchr(name, '.');
  size_t n = dot ? (size_t)(dot - name) : strlen(name);
  char *stem = surg_pass_alloc(p, n + 1);
  const char *near = stem ? surg_pass_nearest_value(p, g, memcpy(stem, name, n)) : NULL;
  return near && surg_value_is_input(surg_graph_find_value(g, near)) ? near : NULL;
}

static surg_pass_result unknown(surg_pass_ctx *p, const surg_graph *g, const char *name) {
  char text[TEXT];
  const char *near = nearest(p, g, name);
  int n = snprintf(text, sizeof text,
                   "'%.200s' is neither a symbol of an input nor INPUT.AXIS, such as x.0", name);
  if (near && n > 0)
    snprintf(text + n, sizeof text - (size_t)n, "; did you mean '%.200s'?", near);
  return surg_pass_usage(p, text);
}

static bool number(const char *s, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(s, &end, 10);
  return *s && !*end && errno == 0 && (*s == '-' || (*s >= '0' && *s <= '9'));
}

static surg_pass_result bad_axis(surg_pass_ctx *p, const key *k, const surg_type *t) {
  char text[TEXT], shown[DECLARED_TEXT];
  snprintf(text, sizeof text, "'%.300s': the input is %s and has no such axis", k->name,
           declared_text(t, shown));
  return surg_pass_usage(p, text);
}

/* Rejects a key for a dimension that is already fixed to another size. */
static surg_pass_result check_axis(surg_pass_ctx *p, const key *k) {
  surg_dim d = *surg_type_dim(surg_value_declared_type(k->input), k->axis);
  char text[TEXT];
  if (d.value < 0 || d.value == k->to) return SURG_PASS_UNCHANGED;
  snprintf(text, sizeof text,
           "'%.300s' is %lld already; dynamic gives it a symbol, which freeze can fix anew",
           k->name, (long long)d.value);
  return surg_pass_usage(p, text);
}

/* Resolves `input.axis`; the input is the part before the last dot. */
static surg_pass_result find_axis(surg_pass_ctx *p, const surg_graph *g, key *k) {
  const char *dot = strrchr(k->name, '.');
  int64_t axis;
  if (!dot || !number(dot + 1, &axis)) return unknown(p, g, k->name);
  char *stem = surg_pass_alloc(p, (size_t)(dot - k->name) + 1);
  if (!stem) return SURG_PASS_FAILED;
  memcpy(stem, k->name, (size_t)(dot - k->name));
  surg_value *v = surg_graph_find_value(g, stem);
  if (!v || !surg_value_is_input(v)) return unknown(p, g, k->name);
  const surg_type *t = surg_value_declared_type(v);
  int64_t rank = (int64_t)surg_type_rank(t);
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || axis < -rank || axis >= rank)
    return bad_axis(p, k, t);
  k->input = v;
  k->axis = (size_t)(axis < 0 ? axis + rank : axis);
  return check_axis(p, k);
}

/* The input whose whole shape pair i gives: it has several sizes, or its name is that of an
 * input and no symbol. NULL: the pair names a symbol or an axis. */
static surg_value *whole_input(surg_pass_ctx *p, const surg_graph *g, size_t i) {
  const char *name = surg_pass_pair_name(p, i);
  surg_value *v = surg_graph_find_value(g, name);
  if (!v || !surg_value_is_input(v)) return NULL;
  return surg_pass_pair_value(p, i, 1) || !is_symbol(g, name) ? v : NULL;
}

static size_t sizes_given(surg_pass_ctx *p, size_t i) {
  size_t n = 0;
  while (surg_pass_pair_value(p, i, n)) n++;
  return n;
}

/* Gives an input without a shape one of that rank with unknown dimensions. */
static surg_pass_result give_rank(surg_pass_ctx *p, surg_value *v, size_t rank) {
  surg_dim *dims = surg_pass_alloc(p, (rank + 1) * sizeof *dims);
  const surg_type *t = surg_value_declared_type(v);
  for (size_t k = 0; dims && k < rank; k++) dims[k] = (surg_dim){.value = -1};
  t = dims ? surg_type_tensor(surg_pass_model(p), surg_type_dtype(t), dims, rank) : NULL;
  return t && surg_value_set_declared_type(v, t) == SURG_OK ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

/* Reads the sizes of a whole shape as one key per axis; advances *n. */
static surg_pass_result read_shape(surg_pass_ctx *p, surg_value *v, size_t i, key *keys,
                                   size_t *n) {
  const char *name = surg_pass_pair_name(p, i);
  const size_t rank = sizes_given(p, i);
  const surg_type *t = surg_value_declared_type(v);
  char text[TEXT], shown[DECLARED_TEXT];
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (surg_type_get_kind(t) == SURG_TYPE_TENSOR && !surg_type_has_rank(t)) {
    if (!surg_pass_allow(p)) return result;
    result = give_rank(p, v, rank);
  }
  if (result == SURG_PASS_FAILED) return result;
  t = surg_value_declared_type(v);
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) != rank) {
    snprintf(text, sizeof text, "'%.300s': expected sizes for %s, found %zu", name,
             declared_text(t, shown), rank);
    return surg_pass_usage(p, text);
  }
  for (size_t axis = 0; axis < rank; axis++) {
    const char *size = surg_pass_pair_value(p, i, axis);
    key *k = &keys[*n];
    *k = (key){.name = name, .input = v, .axis = axis};
    if (strcmp(size, "?") == 0) continue;
    if (!number(size, &k->to) || k->to <= 0) {
      snprintf(text, sizeof text, "'%.300s': a size is an integer from 1 on, not '%.100s'", name,
               size);
      return surg_pass_usage(p, text);
    }
    if (check_axis(p, k) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    ++*n;
  }
  return result;
}

static surg_pass_result read_key(surg_pass_ctx *p, const surg_graph *g, size_t i, key *k) {
  char text[TEXT];
  const char *value = surg_pass_pair_value(p, i, 0);
  *k = (key){.name = surg_pass_pair_name(p, i)};
  if (surg_pass_pair_value(p, i, 1) || !number(value, &k->to) || k->to <= 0) {
    snprintf(text, sizeof text, "'%.300s' expects one integer from 1 on, not '%.100s'", k->name,
             value);
    return surg_pass_usage(p, text);
  }
  return is_symbol(g, k->name) ? SURG_PASS_UNCHANGED : find_axis(p, g, k);
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

/* Rejects a default value of an input whose shape differs from the new one. */
static surg_pass_result check_default(surg_pass_ctx *p, const surg_value *v, const surg_type *t) {
  const surg_tensor *d = surg_value_initializer(v);
  char text[TEXT];
  for (size_t i = 0; d && surg_type_has_rank(t) && i < surg_tensor_rank(d); i++) {
    surg_dim to = *surg_type_dim(t, i);
    int64_t is = surg_tensor_dims(d)[i];
    if (to.value < 0 || to.value == is) continue;
    snprintf(text, sizeof text, "the default of input '%.300s' has %lld on axis %zu, not %lld",
             surg_value_name(v), (long long)is, i, (long long)to.value);
    return surg_pass_fail(p, NULL, text);
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result freeze_input(surg_pass_ctx *p, surg_value *v, const key *k) {
  const surg_type *before = surg_value_declared_type(v), *after = frozen(p, before, k);
  if (before && !after) return SURG_PASS_FAILED;
  if (after == before) return SURG_PASS_UNCHANGED;
  if (check_default(p, v, after) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (surg_value_set_declared_type(v, after)) return SURG_PASS_FAILED;
  surg_pass_count(p, "inputs frozen", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result rename_dims(surg_pass_ctx *p, surg_value *v, const key *k) {
  const surg_type *before = declared_type(v), *after = before ? frozen(p, before, k) : NULL;
  if (before && !after) return SURG_PASS_FAILED;
  if (after == before) return SURG_PASS_UNCHANGED;
  return surg_value_set_declared_type(v, after) ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
}

/* Applies a key. A symbol has one size everywhere, except in functions. */
static surg_pass_result freeze_one(surg_pass_ctx *p, surg_graph *main, const key *k) {
  surg_model *m = surg_pass_model(p);
  const surg_type *t = k->input ? surg_value_declared_type(k->input) : NULL;
  if (k->input && check_axis(p, k) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (k->input && surg_type_dim(t, k->axis)->value == k->to) return SURG_PASS_UNCHANGED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (k->input) return freeze_input(p, k->input, k);
  for (size_t i = 0; i < surg_graph_input_count(main); i++)
    if (freeze_input(p, surg_graph_input(main, i), k) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    if (surg_graph_function(g)) continue;
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
      if (g == main && surg_value_is_input(v)) continue;
      if (rename_dims(p, v, k) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    }
  }
  return SURG_PASS_CHANGED;
}

static surg_pass_result refine_one(surg_pass_ctx *p, surg_value *v) {
  surg_model *m = surg_pass_model(p);
  const surg_type *before = declared_type(v), *proven = surg_value_type(v);
  bool contradicts;
  if (!before || !proven) return SURG_PASS_UNCHANGED;
  const surg_type *after = surg_type_refine(m, before, proven, &contradicts);
  if (surg_model_status(m)) return SURG_PASS_FAILED;
  if (after == before) return SURG_PASS_UNCHANGED;
  if (surg_value_set_declared_type(v, after)) return SURG_PASS_FAILED;
  if (contradicts) declared_note(p, v, "value", before, after);
  return SURG_PASS_CHANGED;
}

static surg_pass_result refine_all(surg_pass_ctx *p, const surg_graph *main) {
  surg_model *m = surg_pass_model(p);
  if (surg_model_infer(m)) return SURG_PASS_FAILED;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    if (surg_graph_function(g)) continue;
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
      if (g == main && surg_value_is_input(v)) continue;
      if (refine_one(p, v) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    }
  }
  return SURG_PASS_CHANGED;
}

/* Notes the inputs that still have dynamic dimensions. */
static void note_rest(surg_pass_ctx *p, const surg_graph *g) {
  char text[TEXT], shown[DECLARED_TEXT];
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_static(t, NULL)) continue;
    bool fixed = surg_type_has_rank(t); /* fixed, but with too many elements to count */
    for (size_t k = 0; k < surg_type_rank(t); k++) fixed = fixed && surg_type_dim(t, k)->value >= 0;
    if (fixed) continue;
    snprintf(text, sizeof text, "input '%.300s' stays dynamic: %s", surg_value_name(v),
             declared_text(t, shown));
    surg_pass_note(p, NULL, text);
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  const size_t pairs = surg_pass_pair_count(p);
  size_t n = 0, most = 0;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!pairs) return surg_pass_usage(p, "needs dimensions, such as N=1 or input.0=1");
  for (size_t i = 0; i < pairs; i++) most += sizes_given(p, i);
  key *keys = surg_pass_alloc(p, (most + 1) * sizeof *keys);
  if (!keys) return SURG_PASS_FAILED;
  for (size_t i = 0; i < pairs; i++) {
    surg_value *v = whole_input(p, g, i);
    const surg_pass_result read =
        v ? read_shape(p, v, i, keys, &n) : read_key(p, g, i, &keys[n++]);
    if (read == SURG_PASS_FAILED) return read;
    if (read < result) result = read;
  }
  for (size_t i = 0; i < n; i++) {
    surg_pass_result one = freeze_one(p, g, &keys[i]);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  if (result == SURG_PASS_CHANGED && refine_all(p, g) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  note_rest(p, g);
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(PAIRS, "symbol", NULL, "SYMBOL=N, input.AXIS=N, or input=1+3+8+8"),
};

const surg_pass surg__pass_freeze = {
    SURG_PASS_HEAD(MODEL, "freeze", "fix symbolic dimensions of inputs"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
