/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the element types of inputs and outputs of the model, with a Cast between each of them
 * and the rest, and a scale and a mean for those that become integers.
 *
 *   before: (float[1,3,8,8] x) => (int64[1] y) { y = ArgMax (...x...) }
 *   after:  (uint8[1,3,8,8] x) => (int32[1] y) { x_float = Cast <to = 1> (x)  ...
 *             y_int64 = ArgMax (...)  y = Cast <to = 6> (y_int64) }        io-type{x=uint8,y=int32}
 *
 * An input becomes (x - mean) * scale, an output the integer nearest to y / scale + mean.
 *
 * Needs sorted, types. Keeps sorted. Exact where the new type has all values of the narrower side,
 * rounding with a scale, otherwise lossy: naming the pass is consent. Changes the interface. */
#include <math.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/precision.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/give.h"
#include "../util/nearest.h"

#define TEXT 400
#define OPSET_CAST 6   /* Cast with a number as type */
#define OPSET_ROUND 11 /* Round, and Clip with inputs */

typedef struct typing {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  int64_t opset;
  double *scale, *mean; /* one, or one for each channel; NULL: none */
  size_t n_scale, n_mean;
  surg_range *ranges; /* of outputs, by index, as they were: edits make ranges unknown */
  size_t changed;
} typing;

/* --- element types --- */

/* What an element type has: digits of integers that are exact, and signs. */
typedef struct range {
  int dtype;
  int digits; /* integers up to 2^digits are exact */
  bool is_signed, is_float;
} range;

static const range known[] = {{SURG_BOOL, 1, false, false},    {SURG_UINT8, 8, false, false},
                              {SURG_UINT16, 16, false, false}, {SURG_UINT32, 32, false, false},
                              {SURG_UINT64, 64, false, false}, {SURG_INT8, 7, true, false},
                              {SURG_INT16, 15, true, false},   {SURG_INT32, 31, true, false},
                              {SURG_INT64, 63, true, false},   {SURG_BFLOAT16, 8, true, true},
                              {SURG_FLOAT16, 11, true, true},  {SURG_FLOAT, 24, true, true},
                              {SURG_DOUBLE, 53, true, true}};

static const range *range_of(int dtype) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].dtype == dtype) return &known[i];
  return NULL;
}

/* Whether every value of `a` is one of `b`. */
static bool within(const range *a, const range *b) {
  if (a->dtype == b->dtype) return true;
  if (a->is_float && !b->is_float) return false;
  if (a->is_float)
    return b->dtype == SURG_DOUBLE || (b->dtype == SURG_FLOAT && a->dtype != SURG_DOUBLE);
  return a->digits <= b->digits && (b->is_signed || !a->is_signed);
}

static bool is_integer(const range *r) {
  return !r->is_float && r->dtype != SURG_BOOL;
}

/* --- refusing --- */

static bool refuse(typing *x, const surg_value *v, const char *why) {
  char line[TEXT];
  snprintf(line, sizeof line, "'%.200s': %s", surg_value_name(v), why);
  surg_pass_usage(x->p, line);
  return false;
}

/* --- nodes --- */

/* Names a value after v, with a suffix. */
static bool name_after(typing *x, surg_value *made, const surg_value *v, const char *suffix) {
  char stem[TEXT];
  snprintf(stem, sizeof stem, "%.300s_%s", surg_value_name(v), suffix);
  const char *name = surg_graph_fresh_name(x->g, stem);
  return name && surg_value_rename(made, name) == SURG_OK;
}

/* A node before `before` that reads a, and b if it is not NULL. NULL: out of memory. */
static surg_node *add(typing *x, surg_node *before, const char *op, surg_value *a, surg_value *b) {
  surg_node *n = surg_graph_add_node(x->g, before, "", op, 1);
  if (!n || surg_node_set_input(n, 0, a)) return NULL;
  return !b || surg_node_set_input(n, 1, b) == SURG_OK ? n : NULL;
}

/* A constant of type dtype: a scalar, or channels along axis 1 of `rank` dimensions. */
static surg_value *constant(typing *x, surg_node *before, const surg_value *v, const char *suffix,
                            const double *numbers, size_t n, size_t rank, int dtype) {
  char stem[TEXT];
  int64_t *dims = surg_pass_alloc(x->p, (rank + 1) * sizeof *dims);
  if (!dims) return NULL;
  for (size_t i = 0; i < rank; i++) dims[i] = 1;
  if (n > 1) dims[1] = (int64_t)n;
  snprintf(stem, sizeof stem, "%.300s_%s", surg_value_name(v), suffix);
  surg_tensor *t = surg_tensor_new_numbers(x->m, SURG_DOUBLE, dims, n > 1 ? rank : 0, numbers, n);
  if (t && dtype != SURG_DOUBLE) t = surg_tensor_cast(x->m, t, dtype);
  return t ? surg_graph_constant(x->g, before, stem, t) : NULL;
}

/* --- inputs --- */

static bool declare(typing *x, surg_value *v, int dtype) {
  const surg_type *t = declared_type(v), *made;
  if (!surg_type_has_rank(t)) {
    made = surg_type_tensor_unranked(x->m, dtype);
  } else {
    const size_t rank = surg_type_rank(t);
    surg_dim *dims = surg_pass_alloc(x->p, (rank + 1) * sizeof *dims);
    for (size_t i = 0; dims && i < rank; i++) dims[i] = *surg_type_dim(t, i);
    made = dims ? surg_type_tensor(x->m, dtype, dims, rank) : NULL;
  }
  return made && surg_value_set_declared_type(v, made) == SURG_OK;
}

/* The default of an input in the new type. Only numbers that the new type has are converted. */
static bool convert_default(typing *x, surg_value *v, const range *old, const range *to) {
  surg_tensor *t = surg_value_initializer(v);
  if (!t) return true;
  const bool words = old->dtype == SURG_INT64 && to->dtype == SURG_INT32;
  surg_extent e = {.size = sizeof e};
  if (!words || surg_tensor_extent(t, &e) != SURG_OK || e.low < INT32_MIN || e.high > INT32_MAX)
    return refuse(x, v, "its default cannot be converted (freeze-inputs makes it constant)");
  t = surg_tensor_cast(x->m, t, to->dtype);
  return t && surg_value_set_initializer(v, t) == SURG_OK;
}

static bool is_output(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT) return true;
  return false;
}

/* The value of the former type: Cast (v), with a mean and a scale. */
static surg_value *restored(typing *x, surg_value *v, const range *old, bool scaled,
                            surg_node **first) {
  surg_node *before = surg_graph_first_node(x->g), *n = add(x, before, "Cast", v, NULL);
  const size_t rank = surg_type_has_rank(declared_type(v)) ? surg_type_rank(declared_type(v)) : 0;
  *first = n;
  if (!n || surg_node_set_int(n, "to", old->dtype)) return NULL;
  for (int k = 0; k < 2 && scaled; k++) {
    const double *numbers = k ? x->scale : x->mean;
    if (!numbers) continue;
    surg_value *c = constant(x, before, v, k ? "scale" : "mean", numbers,
                             k ? x->n_scale : x->n_mean, rank, old->dtype);
    if (!c || !name_after(x, surg_node_output(n, 0), v, k ? "centered" : "number")) return NULL;
    n = add(x, before, k ? "Mul" : "Sub", surg_node_output(n, 0), c);
    if (!n) return NULL;
  }
  return name_after(x, surg_node_output(n, 0), v, surg_dtype_name(old->dtype))
             ? surg_node_output(n, 0)
             : NULL;
}

static bool change_input(typing *x, surg_value *v, const range *old, const range *to) {
  const bool scaled = (x->scale || x->mean) && old->is_float && is_integer(to);
  surg_node *first;
  if (is_output(v)) return refuse(x, v, "it is an output as well");
  if (!convert_default(x, v, old, to)) return false;
  surg_value *made = restored(x, v, old, scaled, &first);
  if (!made || !give_readers(x->p, v, made, first) || !declare(x, v, to->dtype)) return false;
  surg_pass_used(x->p, scaled                                       ? SURG_ROUNDING
                       : old->dtype == SURG_BOOL || within(to, old) ? SURG_EXACT
                                                                    : SURG_LOSSY);
  return true;
}

/* --- outputs --- */

/* The nearest integer within the range of the type. */
static surg_value *rounded(typing *x, surg_value *y, const surg_value *v, const range *old,
                           const range *to) {
  const double low = to->is_signed ? -(double)(1u << to->digits) : 0;
  const double high = (double)(1u << to->digits) - 1;
  surg_node *n = add(x, NULL, "Round", y, NULL);
  if (!n || !name_after(x, surg_node_output(n, 0), v, "rounded")) return NULL;
  surg_value *least = constant(x, n, v, "least", &low, 1, 0, old->dtype);
  surg_value *most = constant(x, n, v, "largest", &high, 1, 0, old->dtype);
  n = least && most ? add(x, NULL, "Clip", surg_node_output(n, 0), least) : NULL;
  if (!n || surg_node_set_input(n, 2, most)) return NULL;
  return name_after(x, surg_node_output(n, 0), v, "limited") ? surg_node_output(n, 0) : NULL;
}

/* Numbers become integers by the inverse of what an input becomes. */
static surg_value *scaled_back(typing *x, surg_value *y, const surg_value *v, const range *old) {
  const surg_type *t = declared_type(v);
  const size_t rank = surg_type_has_rank(t) ? surg_type_rank(t) : 0;
  for (int k = 0; k < 2; k++) {
    const double *numbers = k ? x->mean : x->scale;
    if (!numbers) continue;
    surg_node *n = add(x, NULL, k ? "Add" : "Div", y, NULL);
    surg_value *c = n ? constant(x, n, v, k ? "mean" : "scale", numbers, k ? x->n_mean : x->n_scale,
                                 rank, old->dtype)
                      : NULL;
    if (!c || surg_node_set_input(n, 1, c) ||
        !name_after(x, surg_node_output(n, 0), v, k ? "shifted" : "scaled"))
      return NULL;
    y = surg_node_output(n, 0);
  }
  return y;
}

/* Reads the ranges of outputs. */
static bool read_ranges(typing *x) {
  const size_t n = surg_graph_output_count(x->g);
  x->ranges = surg_pass_alloc(x->p, (n + 1) * sizeof *x->ranges);
  for (size_t i = 0; x->ranges && i < n; i++)
    if (surg_value_range(surg_graph_output(x->g, i), &x->ranges[i]) != SURG_OK)
      x->ranges[i] = (surg_range){.low = -HUGE_VAL, .high = HUGE_VAL};
  return x->ranges != NULL;
}

/* Whether the integers of an output are proven to fit. */
static bool proven(const typing *x, const surg_value *v, const range *old, const range *to) {
  size_t i = 0;
  if (old->is_float || to->is_float) return false;
  while (surg_graph_output(x->g, i) != v) i++; /* v is one */
  const surg_range *r = &x->ranges[i];
  const double top = to->digits >= 63 ? 0x1p62 : (double)(UINT64_C(1) << to->digits) - 1;
  return r->high <= top && r->low >= (to->is_signed ? -top - 1 : 0);
}

static surg_exactness class_of(const typing *x, const surg_value *v, const range *old,
                               const range *to) {
  return within(old, to) || proven(x, v, old, to) ? SURG_EXACT : SURG_LOSSY;
}

static bool change_output(typing *x, surg_value *v, const range *old, const range *to) {
  size_t index;
  surg_node *by = surg_value_producer(v, &index);
  const bool integers = old->is_float && is_integer(to) && to->digits <= 16;
  const surg_exactness used = class_of(x, v, old, to);
  if (!by) return refuse(x, v, "no node computes it");
  if (integers && (x->opset < OPSET_ROUND || !give_builtin(x->g, "Clip")))
    return refuse(x, v, "rounding to integers requires opset 11");
  surg_node *cast = surg_graph_add_node(x->g, NULL, "", "Cast", 1);
  if (!cast || surg_node_set_int(cast, "to", to->dtype) || surg_node_take_output(cast, 0, v))
    return false;
  surg_value *y = surg_node_add_output(by, index), *made = y;
  if (!y || !name_after(x, y, v, surg_dtype_name(old->dtype)) || !give_readers(x->p, v, y, cast))
    return false;
  if (integers) made = scaled_back(x, made, v, old);
  if (integers && made) made = rounded(x, made, v, old, to);
  if (!made || surg_node_set_input(cast, 0, made)) return false;
  if (integers && surg_node_move(cast, NULL) != SURG_OK) return false;
  if (!declare(x, v, to->dtype)) return false;
  surg_pass_used(x->p, used);
  return true;
}

/* --- options --- */

static bool read_numbers(typing *x, const char *option, double **out, size_t *n) {
  char line[TEXT];
  *n = surg_pass_list_count(x->p, option);
  *out = *n ? surg_pass_alloc(x->p, *n * sizeof **out) : NULL;
  if (*n && !*out) return false;
  for (size_t i = 0; i < *n; i++) {
    const char *word = surg_pass_list_at(x->p, option, i);
    char *end;
    (*out)[i] = strtod(word, &end);
    const double v = (*out)[i], size = v < 0 ? -v : v;
    if (end != word && !*end && size <= 1e30 && (strcmp(option, "mean") == 0 || size >= 1e-30))
      continue;
    snprintf(line, sizeof line, "%s: expected numbers such as 0.5 or 0.5+0.4+0.3", option);
    surg_pass_usage(x->p, line);
    return false;
  }
  return true;
}

/* Whether numbers for channels fit the value. */
static bool fits(const typing *x, const surg_value *v) {
  const size_t n = x->n_scale > x->n_mean ? x->n_scale : x->n_mean;
  const surg_type *t = declared_type(v);
  if (n <= 1) return true;
  if (!surg_type_has_rank(t) || surg_type_rank(t) < 2) return false;
  const surg_dim *d = surg_type_dim(t, 1);
  const int64_t channels = d->param || d->expr ? -1 : d->value;
  return (x->n_scale <= 1 || (int64_t)x->n_scale == channels) &&
         (x->n_mean <= 1 || (int64_t)x->n_mean == channels);
}

/* Changes an input or output of the main graph. */
static bool change(typing *x, surg_value *v, int dtype) {
  const surg_type *t = declared_type(v);
  const range *to = range_of(dtype);
  const range *old =
      t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? range_of(surg_type_dtype(t)) : NULL;
  if (!to) return refuse(x, v, "expected a float, integer or bool type");
  if (!old) return refuse(x, v, "only tensors of numbers and bools have another type");
  if (surg_pass_keeps_value(x->p, v)) return refuse(x, v, "it is protected (--keep)");
  if (surg_value_constant(v)) return refuse(x, v, "it is a constant");
  if (old == to || !surg_pass_allow(x->p)) return true;
  if (old->is_float && is_integer(to) && !fits(x, v))
    return refuse(x, v, "expected one number, or one for each channel (axis 1)");
  const bool ok =
      surg_value_is_input(v) ? change_input(x, v, old, to) : change_output(x, v, old, to);
  x->changed += ok;
  return ok;
}

/* Whether a word is an element type that inputs and outputs can get; if not, after an error. */
static bool is_allowed(const typing *x, const char *where, const char *type) {
  nearest near = {.name = type};
  char line[TEXT];
  if (type && range_of(surg_dtype_from_name(type))) return true;
  if (type) nearest_offer_types(&near);
  snprintf(line, sizeof line, "%.200s: expected a float, integer or bool type, found '%.100s'%s",
           where, type ? type : "", nearest_hint(&near));
  return surg_pass_usage(x->p, line) != SURG_PASS_FAILED;
}

static bool change_named(typing *x) {
  char line[TEXT];
  for (size_t i = 0; i < surg_pass_pair_count(x->p); i++) {
    const char *name = surg_pass_pair_name(x->p, i), *type = surg_pass_pair_value(x->p, i, 0);
    surg_value *v = surg_graph_find_value(x->g, name);
    if (!v || !(surg_value_is_input(v) || is_output(v))) {
      const char *near = v ? NULL : surg_pass_nearest_value(x->p, x->g, name);
      snprintf(line, sizeof line, "the model has no input or output '%.200s'%s%.100s%s", name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
      surg_pass_usage(x->p, line);
      return false;
    }
    if (surg_pass_pair_value(x->p, i, 1)) return refuse(x, v, "expected one type");
    if (!is_allowed(x, name, type) || !change(x, v, surg_dtype_from_name(type))) return false;
  }
  return true;
}

/* Changes all inputs and outputs of one type. */
static bool change_all(typing *x, const char *from, const char *to) {
  const int old = surg_dtype_from_name(from), dtype = surg_dtype_from_name(to);
  for (int k = 0; k < 2; k++) {
    const size_t n = k ? surg_graph_output_count(x->g) : surg_graph_input_count(x->g);
    for (size_t i = 0; i < n; i++) {
      surg_value *v = k ? surg_graph_output(x->g, i) : surg_graph_input(x->g, i);
      const surg_type *t = declared_type(v);
      const bool tensor = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR;
      if (!tensor || surg_type_dtype(t) != old || surg_value_constant(v) ||
          surg_pass_keeps_value(x->p, v))
        continue;
      if (!change(x, v, dtype)) return false;
    }
  }
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  typing x = {.p = p, .m = surg_pass_model(p), .g = surg_model_graph(surg_pass_model(p))};
  const char *from = surg_pass_string(p, "from"), *to = surg_pass_string(p, "to");
  x.opset = surg_graph_opset(x.g, "");
  if (!from != !to || (!from && !surg_pass_pair_count(p)))
    return surg_pass_usage(p, "expected NAME=TYPE, or from and to");
  if (from && (!is_allowed(&x, "from", from) || !is_allowed(&x, "to", to)))
    return SURG_PASS_FAILED;
  if (x.opset < OPSET_CAST || !give_builtin(x.g, "Cast"))
    return surg_pass_usage(p, "this requires opset 6");
  if (!read_ranges(&x) || !read_numbers(&x, "scale", &x.scale, &x.n_scale) ||
      !read_numbers(&x, "mean", &x.mean, &x.n_mean) || !change_named(&x) ||
      (from && !change_all(&x, from, to)))
    return SURG_PASS_FAILED;
  surg_pass_count(p, "inputs and outputs changed", x.changed);
  if (surg_model_status(x.m) != SURG_OK) return SURG_PASS_FAILED;
  return x.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "from", NULL, "all inputs and outputs of this element type"),
    SURG_OPTION(STRING, "to", NULL, "... get this one"),
    SURG_OPTION(LIST, "scale", NULL, "of integers, or of each channel"),
    SURG_OPTION(LIST, "mean", NULL, "subtracted from integers before the scale"),
    SURG_OPTION(PAIRS, "name", NULL, "NAME=TYPE: the new type of an input or output"),
};

const surg_pass surg__pass_io_type =
    SURG_PASS_EDIT("io-type", "change element types of inputs and outputs", options, run);
