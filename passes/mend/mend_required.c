/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs missing required attributes: each candidate value is set on a copy of the node in a
 * separate model, and types are inferred. If exactly one value matches the declared outputs, it
 * is set, with consent. See mend.h. */
#include <stdio.h>
#include <string.h>

#include "../util/declared.h"
#include "mend.h"

#define MOST_DIMS 16
#define MOST_BYTES 4096 /* of a constant copied for inference */
#define MOST_TRIED 4096 /* most values tried for one attribute */
#define ALL_TRIED 65536 /* most values tried in one run of the pass */
#define MOST_INT 64     /* integers tried besides the sizes of outputs */
#define IR_VERSION 8
#define GUESS 55440 /* replaces an unknown size; has many divisors */

/* A copy of the node in a separate model. */
typedef struct twin {
  surg_model *m;
  surg_node *node;
  bool guessed; /* unknown sizes of inputs are GUESS */
} twin;

typedef struct trial {
  mending *k;
  const surg_node *n; /* the node that lacks the attribute */
  const char *name;   /* name of the attribute */
  twin as_is, sized;
  size_t tried, fit;
  int64_t items[MOST_DIMS]; /* the last value that matched */
  size_t count;             /* SIZE_MAX: a single integer */
} trial;

/* --- the copy --- */

static const surg_type *copy_type(surg_model *m, const surg_type *t, bool guess) {
  const surg_type_kind kind = surg_type_get_kind(t);
  if (kind == SURG_TYPE_SEQUENCE || kind == SURG_TYPE_OPTIONAL) {
    const surg_type *elem = surg_type_elem(t);
    const bool tensor = elem && surg_type_get_kind(elem) == SURG_TYPE_TENSOR;
    const surg_type *inner = tensor ? copy_type(m, elem, guess) : NULL;
    return inner ? surg_type_wrap(m, kind, inner) : NULL;
  }
  if (kind != SURG_TYPE_TENSOR) return NULL;
  if (!surg_type_has_rank(t)) return surg_type_tensor_unranked(m, surg_type_dtype(t));
  surg_dim dims[MOST_DIMS];
  if (surg_type_rank(t) > MOST_DIMS) return NULL;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const int64_t d = surg_type_dim(t, i)->value;
    dims[i] = (surg_dim){.value = d < 0 && guess ? GUESS : d};
  }
  return surg_type_tensor(m, surg_type_dtype(t), dims, surg_type_rank(t));
}

/* The copy of an input: a small constant, else an input of the same type; NULL: impossible. */
static surg_value *copy_input(twin *t, const surg_value *v) {
  surg_graph *g = surg_model_graph(t->m);
  const surg_tensor *c = surg_value_constant(v);
  uint8_t bytes[MOST_BYTES];
  if (c && surg_tensor_dtype(c) != SURG_STRING && surg_tensor_bytes(c) <= sizeof bytes &&
      !surg_tensor_is_sparse(c)) {
    const size_t n = (size_t)surg_tensor_bytes(c);
    if (n && surg_tensor_read(c, 0, bytes, n) != SURG_OK) return NULL;
    surg_tensor *own = surg_tensor_new(t->m, surg_tensor_dtype(c), surg_tensor_dims(c),
                                       surg_tensor_rank(c), bytes, n);
    return own ? surg_graph_constant(g, NULL, NULL, own) : NULL;
  }
  const surg_type *type = surg_value_type(v);
  if (type) type = copy_type(t->m, type, t->guessed);
  const char *name = type ? surg_graph_fresh_name(g, "x") : NULL;
  return name ? surg_graph_add_input(g, name, type) : NULL;
}

static bool copy_attr(surg_node *to, const surg_attr *a) {
  size_t n = 0;
  const char *name = surg_attr_name(a);
  if (surg_attr_ref(a)) return false;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT:
      return surg_node_set_int(to, name, surg_attr_int(a)) == SURG_OK;
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(to, name, surg_attr_float(a)) == SURG_OK;
    case SURG_ATTR_INTS: {
      const int64_t *items = surg_attr_ints(a, &n);
      return surg_node_set_ints(to, name, items, n) == SURG_OK;
    }
    case SURG_ATTR_FLOATS: {
      const float *items = surg_attr_floats(a, &n);
      return surg_node_set_floats(to, name, items, n) == SURG_OK;
    }
    case SURG_ATTR_STRING: {
      char text[64];
      const surg_str s = surg_attr_string(a);
      if (s.n >= sizeof text || memchr(s.p, 0, s.n)) return false;
      memcpy(text, s.p, s.n);
      text[s.n] = 0;
      return surg_node_set_string(to, name, text) == SURG_OK;
    }
    default:
      return false;
  }
}

/* Copies the node. False: impossible, or out of memory (then the model's status is an error). */
static bool copy_node(twin *t, const surg_node *n) {
  t->node = surg_graph_add_node(surg_model_graph(t->m), NULL, surg_node_domain(n),
                                surg_node_op_type(n), surg_node_output_count(n));
  for (size_t i = 0; t->node && i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    surg_value *x = v ? copy_input(t, v) : NULL;
    if (v && (!x || surg_node_set_input(t->node, i, x) != SURG_OK)) return false;
  }
  for (size_t i = 0; t->node && i < surg_node_attr_count(n); i++)
    if (!copy_attr(t->node, surg_node_attr_at(n, i))) return false;
  return t->node != NULL;
}

/* Makes the copy and its model; SURG_EUNSUPPORTED: it cannot be copied. Free t->m in any case. */
static surg_status open_twin(twin *t, const trial *of, bool guessed) {
  const int64_t opset = surg_graph_opset(surg_node_graph(of->n), "");
  t->guessed = guessed;
  t->m = surg_model_new(surg_pass_context(of->k->p), IR_VERSION, opset);
  if (!t->m) return SURG_ENOMEM;
  if (copy_node(t, of->n)) return SURG_OK;
  return surg_model_status(t->m) == SURG_OK ? SURG_EUNSUPPORTED : surg_model_status(t->m);
}

/* --- trying values --- */

typedef enum fit { UNFIT, FIT, NO_TYPE } fit;

/* Whether the inferred type is compatible with the declared one; NO_TYPE: nothing was inferred. */
static fit fits(const surg_type *declared, const surg_type *got) {
  if (!declared || surg_type_get_kind(declared) != SURG_TYPE_TENSOR) return FIT;
  if (!got) return NO_TYPE;
  if (surg_type_get_kind(got) != SURG_TYPE_TENSOR) return UNFIT;
  const int dtype = surg_type_dtype(declared);
  if (dtype != SURG_UNDEFINED && dtype != surg_type_dtype(got)) return UNFIT;
  if (!surg_type_has_rank(got)) return NO_TYPE;
  if (!surg_type_has_rank(declared)) return FIT;
  if (surg_type_rank(declared) != surg_type_rank(got)) return UNFIT;
  for (size_t i = 0; i < surg_type_rank(got); i++) {
    const int64_t a = surg_type_dim(declared, i)->value, b = surg_type_dim(got, i)->value;
    if (a >= 0 && b >= 0 && a != b) return UNFIT;
  }
  return FIT;
}

/* Infers the outputs of the copy with a value and compares them; false: failure. */
static bool infer(const trial *t, const twin *with, const int64_t *items, size_t count, fit *out) {
  const surg_status s = count == SIZE_MAX ? surg_node_set_int(with->node, t->name, items[0])
                                          : surg_node_set_ints(with->node, t->name, items, count);
  if (s != SURG_OK || surg_model_infer(with->m) != SURG_OK) return false;
  *out = FIT;
  for (size_t i = 0; i < surg_node_output_count(t->n) && *out != UNFIT; i++) {
    const surg_value *v = surg_node_output(t->n, i);
    const surg_value *got = v ? surg_node_output(with->node, i) : NULL;
    const fit one = got ? fits(declared_type(v), surg_value_type(got)) : FIT;
    if (one != FIT) *out = one;
  }
  return true;
}

/* Counts the value if the outputs are compatible with their declarations. If no type is
 * inferred, the value counts if one is inferred with GUESS for unknown sizes. False: failure. */
static bool try_value(trial *t, const int64_t *items, size_t count) {
  fit how;
  t->tried++;
  if (!infer(t, &t->as_is, items, count, &how)) return false;
  if (how == NO_TYPE) {
    if (!infer(t, &t->sized, items, count, &how)) return false;
    how = how == NO_TYPE ? UNFIT : FIT;
  }
  if (how == UNFIT) return true;
  t->fit++;
  t->count = count;
  memcpy(t->items, items, (count == SIZE_MAX ? 1 : count) * sizeof *items);
  return true;
}

static const surg_type *ranked(const surg_type *t) {
  const bool tensor = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return tensor && surg_type_rank(t) <= MOST_DIMS ? t : NULL;
}

static const surg_type *input_type(const trial *t) {
  const surg_value *v = surg_node_input(t->n, 0);
  const surg_type *type = v ? surg_value_type(v) : NULL;
  if (type && surg_type_get_kind(type) == SURG_TYPE_SEQUENCE) type = surg_type_elem(type);
  return ranked(type);
}

static const surg_type *output_type(const trial *t) {
  const surg_value *v = surg_node_output(t->n, 0);
  return ranked(v ? declared_type(v) : NULL);
}

/* --- candidate values --- */

static bool try_axes_one(trial *t) {
  const surg_type *x = input_type(t);
  const int64_t more = surg_node_int(t->n, "new_axis", 0) != 0;
  for (int64_t i = 0; x && i < (int64_t)surg_type_rank(x) + more; i++)
    if (!try_value(t, &i, SIZE_MAX)) return false;
  return true;
}

static bool try_ints(trial *t) {
  const surg_type *y = output_type(t);
  for (int64_t i = 0; y && i <= MOST_INT; i++)
    if (!try_value(t, &i, SIZE_MAX)) return false;
  for (size_t i = 0; y && i < surg_type_rank(y); i++) {
    const int64_t d = surg_type_dim(y, i)->value;
    bool again = d <= MOST_INT;
    for (size_t j = 0; j < i; j++) again = again || surg_type_dim(y, j)->value == d;
    if (!again && !try_value(t, &d, SIZE_MAX)) return false;
  }
  return true;
}

/* Tries the last `count` dimensions of the output. */
static bool try_sizes(trial *t, size_t count) {
  const surg_type *y = output_type(t);
  int64_t dims[MOST_DIMS];
  if (!y || !surg_type_static(y, NULL) || surg_type_rank(y) < count) return true;
  for (size_t i = 0; i < count; i++)
    dims[i] = surg_type_dim(y, surg_type_rank(y) - count + i)->value;
  return try_value(t, dims, count);
}

/* Tries all sets of axes, as many as the output has more than the input. */
static bool try_axes(trial *t) {
  const surg_type *x = input_type(t), *y = output_type(t);
  if (!x || !y || surg_type_rank(y) <= surg_type_rank(x)) return true;
  const size_t rank = surg_type_rank(y), more = rank - surg_type_rank(x);
  for (unsigned mask = 0; mask < 1u << rank; mask++) {
    int64_t axes[MOST_DIMS];
    size_t n = 0;
    for (size_t i = 0; i < rank; i++)
      if (mask >> i & 1) axes[n++] = (int64_t)i;
    if (n == more && !try_value(t, axes, n)) return false;
    if (t->tried >= MOST_TRIED) t->fit = MOST_TRIED; /* stop: too many */
  }
  return true;
}

static int64_t sum_of(const surg_node *n, const char *name) {
  size_t count = 0;
  int64_t sum = 0;
  const int64_t *items = surg_node_ints(n, name, &count);
  for (size_t i = 0; items && i < count; i++)
    if (items[i] > 0 && items[i] <= MOST_TRIED && sum <= MOST_TRIED) sum += items[i];
  return sum;
}

/* Tries all windows that fit into the padded image. */
static bool try_windows(trial *t) {
  const surg_type *x = input_type(t);
  const size_t n = x && surg_type_rank(x) > 2 ? surg_type_rank(x) - 2 : 0;
  int64_t most[MOST_DIMS], window[MOST_DIMS], all = 1;
  for (size_t i = 0; i < n; i++) {
    const int64_t d = surg_type_dim(x, i + 2)->value;
    most[i] = d < 1 || d > MOST_TRIED ? 0 : d + sum_of(t->n, "pads");
    all = !most[i] || all * most[i] > MOST_TRIED ? 0 : all * most[i];
    if (!all) return true;
    window[i] = 1;
  }
  for (int64_t k = 0; n && k < all; k++) {
    if (!try_value(t, window, n)) return false;
    for (size_t i = n; i-- > 0;) {
      if (++window[i] <= most[i]) break;
      window[i] = 1;
    }
  }
  return true;
}

static bool try_all(trial *t, surg_attr_kind kind) {
  const surg_type *y = output_type(t);
  if (kind == SURG_ATTR_INT) return strcmp(t->name, "axis") == 0 ? try_axes_one(t) : try_ints(t);
  if (kind != SURG_ATTR_INTS) return true;
  if (strcmp(t->name, "shape") == 0) return try_sizes(t, y ? surg_type_rank(y) : 0);
  if (strcmp(t->name, "pooled_shape") == 0) return try_sizes(t, 2);
  if (strcmp(t->name, "axes") == 0) return try_axes(t);
  return strcmp(t->name, "kernel_shape") == 0 ? try_windows(t) : true;
}

/* --- setting the attribute --- */

static void spell(const trial *t, char *out, size_t size) {
  size_t n = 0;
  if (t->count == SIZE_MAX) {
    snprintf(out, size, "%lld", (long long)t->items[0]);
    return;
  }
  for (size_t i = 0; i < t->count && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? ", " : "[", (long long)t->items[i]);
  if (n < size) snprintf(out + n, size - n, "%s", t->count ? "]" : "[]");
}

static bool give(mending *k, surg_node *n, const trial *t) {
  char text[16 * MOST_DIMS + 16];
  spell(t, text, sizeof text);
  if (!mend_may(k, SURG_APPROX)) {
    mend_leaves(k, n, "attribute '%s' is missing; --allow approx sets it to %s", t->name, text);
    return true;
  }
  const surg_status s = t->count == SIZE_MAX ? surg_node_set_int(n, t->name, t->items[0])
                                             : surg_node_set_ints(n, t->name, t->items, t->count);
  if (s != SURG_OK) return false;
  mend_did(k, n, SURG_APPROX, "missing attribute '%s' is set to %s", t->name, text);
  return true;
}

bool mend_required(mending *k, surg_node *n, const char *name, surg_attr_kind kind) {
  trial t = {.k = k, .n = n, .name = name};
  surg_status s = SURG_EUNSUPPORTED;
  if (!k->guessing) return true; /* a value that is found is a guess */
  if (k->tried < ALL_TRIED && !*surg_node_domain(n) &&
      surg_graph_opset(surg_node_graph(n), "") > 0 && !surg_node_subgraph(n, 0)) {
    s = open_twin(&t.as_is, &t, false);
    if (s == SURG_OK) s = open_twin(&t.sized, &t, true);
    if (s == SURG_OK && !try_all(&t, kind)) s = SURG_ENOMEM;
  }
  bool done = s == SURG_OK || s == SURG_EUNSUPPORTED;
  k->tried += t.tried;
  if (done && t.fit == 1)
    done = give(k, n, &t);
  else if (done)
    mend_leaves(k, n, "attribute '%s' is missing, and %s", name,
                t.tried && !t.fit ? "no value gives what the outputs are declared as"
                                  : "several values are possible");
  if (t.as_is.m) surg_model_free(t.as_is.m);
  if (t.sized.m) surg_model_free(t.sized.m);
  return done;
}
