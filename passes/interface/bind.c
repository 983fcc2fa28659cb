/* SPDX-License-Identifier: Apache-2.0 */
/* Makes inputs of the model constants: `input=VALUE`, VALUE a number, true or false, a list a+b+c,
 * or a file whose name ends in .npy (NumPy) or .pb (a TensorProto). One number fills the whole
 * declared shape of the input; a file must match its element type and shape.
 *
 *   before: (float[2] x, float k) => (float[2] y) { y = Mul (x, k) }             bind{k=0.5}
 *   after:  (float[2] x) => (float[2] y) <float k = {0.5}> { y = Mul (x, k) }
 *
 * Numbers support integers of 8 to 64 bits, bool, float and double, and shapes that are static or
 * have one axis, whose length the list gives; files support all types. Below IR version 4 an
 * initializer must be listed as an input: it stays listed, and is constant nevertheless. Needs
 * nothing. Keeps sorted. Exact; changes the interface. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/values.h"

#define TEXT 1024
#define MOST ((uint64_t)1 << 26) /* most bytes of a constant filled by one number */

typedef struct bound {
  const char *name;
  surg_value *v;
  int dtype;
  int64_t dims[64];
  size_t rank, given; /* count of the numbers given */
  uint64_t count;
  const char *file; /* path of the file, or NULL */
  surg_tensor *tensor;
} bound;

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t size_of(int dtype) {
  switch (dtype) {
    case SURG_BOOL:
    case SURG_INT8:
    case SURG_UINT8:
      return 1;
    case SURG_INT16:
    case SURG_UINT16:
      return 2;
    case SURG_FLOAT:
    case SURG_INT32:
    case SURG_UINT32:
      return 4;
    case SURG_DOUBLE:
    case SURG_INT64:
    case SURG_UINT64:
      return 8;
    default:
      return 0;
  }
}

static bool is_unsigned(int dtype) {
  return dtype == SURG_UINT8 || dtype == SURG_UINT16 || dtype == SURG_UINT32 ||
         dtype == SURG_UINT64;
}

/* Parses an integer to its bits; false: invalid, or out of range of the type. */
static bool whole(int dtype, const char *s, uint64_t *bits) {
  char *end;
  unsigned width = (unsigned)size_of(dtype) * 8;
  assert(width >= 8 && width <= 64); /* read_bound rejected the others */
  if (*s != '-' && (*s < '0' || *s > '9')) return false;
  errno = 0;
  if (is_unsigned(dtype)) {
    *bits = strtoull(s, &end, 10);
    return *s != '-' && end != s && !*end && errno == 0 && (width == 64 || !(*bits >> width));
  }
  long long v = strtoll(s, &end, 10);
  *bits = (uint64_t)v;
  if (end == s || *end || errno) return false;
  return width == 64 || (v >= -(1LL << (width - 1)) && v < 1LL << (width - 1));
}

/* Parses a float or double. A finite number must not overflow; a tiny one becomes 0 or
 * subnormal. */
static bool real(int dtype, const char *s, uint64_t *bits) {
  char *end;
  if (*s == ' ' || *s == '\t' || *s == '\n') return false;
  bool infinite = strchr(s, 'i') || strchr(s, 'I');
  if (dtype == SURG_DOUBLE) {
    double d = strtod(s, &end);
    memcpy(bits, &d, sizeof d);
    return end != s && !*end && (infinite || !isinf(d));
  }
  float f = strtof(s, &end);
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  *bits = b;
  return end != s && !*end && (infinite || !isinf(f));
}

static bool parse(int dtype, const char *s, uint64_t *bits) {
  if (dtype == SURG_FLOAT || dtype == SURG_DOUBLE) return real(dtype, s, bits);
  if (dtype != SURG_BOOL) return whole(dtype, s, bits);
  *bits = strcmp(s, "true") == 0 || strcmp(s, "1") == 0;
  return *bits || strcmp(s, "false") == 0 || strcmp(s, "0") == 0;
}

/* ---- declared types -------------------------------------------------------------------------- */

static surg_pass_result refuse(surg_pass_ctx *p, const bound *b, const char *what,
                               const char *detail) {
  char text[TEXT];
  snprintf(text, sizeof text, "'%.300s': %.500s%.200s", b->name, what, detail);
  return surg_pass_usage(p, text);
}

static surg_pass_result unknown(surg_pass_ctx *p, const surg_graph *g, const char *name) {
  char text[TEXT];
  nearest near = {.name = name};
  snprintf(text, sizeof text, "the model has no input '%.300s'%s", name,
           values_near_input(&near, g));
  return surg_pass_usage(p, text);
}

/* Reads the dimensions from the declared shape; an unknown length of a vector is that of the
 * list. */
static surg_pass_result read_shape(surg_pass_ctx *p, bound *b, const surg_type *t) {
  if (!surg_type_has_rank(t) || surg_type_rank(t) > sizeof b->dims / sizeof *b->dims)
    return refuse(p, b, "the shape of the input is unknown", "");
  b->rank = surg_type_rank(t);
  b->count = 1;
  for (size_t i = 0; i < b->rank; i++) {
    b->dims[i] = surg_type_dim(t, i)->value;
    if (b->dims[i] < 0 && b->rank == 1) b->dims[i] = (int64_t)b->given;
    if (b->dims[i] < 0)
      return refuse(p, b, "the shape of the input is not static", "; see the pass freeze");
    if (b->dims[i] && b->count > MOST / (uint64_t)b->dims[i])
      return refuse(p, b, "the input is too large to be bound", "");
    b->count *= (uint64_t)b->dims[i];
  }
  if (b->count * size_of(b->dtype) > MOST)
    return refuse(p, b, "the input is too large to be bound", "");
  return SURG_PASS_UNCHANGED;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_file(const char *value) {
  const size_t n = value ? strlen(value) : 0;
  return (n > 4 && !strcmp(value + n - 4, ".npy")) || (n > 3 && !strcmp(value + n - 3, ".pb"));
}

static surg_pass_result misfit(surg_pass_ctx *p, const bound *b, const char *what) {
  char text[TEXT];
  assert(b->file);
  snprintf(text, sizeof text, "%.300s: %.200s", b->file, what);
  return refuse(p, b, text, "");
}

/* Checks the shape of the file against that of the input; equal symbols must have equal sizes. */
static surg_pass_result match_shape(surg_pass_ctx *p, const bound *b, const surg_type *t) {
  char text[TEXT];
  assert(b->rank <= sizeof b->dims / sizeof *b->dims);
  if (!surg_type_has_rank(t)) return SURG_PASS_UNCHANGED;
  if (surg_type_rank(t) != b->rank) {
    snprintf(text, sizeof text, "it has rank %zu, the input %zu", b->rank, surg_type_rank(t));
    return misfit(p, b, text);
  }
  for (size_t i = 0; i < b->rank; i++) {
    const surg_dim d = *surg_type_dim(t, i);
    int64_t want = d.value;
    for (size_t k = 0; k < i && d.param && want < 0; k++) {
      const surg_dim before = *surg_type_dim(t, k);
      if (before.value < 0 && before.param && !strcmp(before.param, d.param)) want = b->dims[k];
    }
    if (want < 0 || want == b->dims[i]) continue;
    snprintf(text, sizeof text, "axis %zu is %lld, of the input %lld", i, (long long)b->dims[i],
             (long long)want);
    return misfit(p, b, text);
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result read_tensor(surg_pass_ctx *p, bound *b, const surg_type *t) {
  char text[TEXT];
  b->tensor = surg_tensor_load(surg_pass_model(p), b->file);
  if (!b->tensor) return SURG_PASS_FAILED;
  const int dtype = surg_tensor_dtype(b->tensor);
  b->rank = surg_tensor_rank(b->tensor);
  if (dtype != b->dtype) {
    snprintf(text, sizeof text, "it is %s, the input %s", surg_dtype_name(dtype),
             surg_dtype_name(b->dtype));
    return misfit(p, b, text);
  }
  if (b->rank > sizeof b->dims / sizeof *b->dims) return misfit(p, b, "it has too many axes");
  for (size_t i = 0; i < b->rank; i++) b->dims[i] = surg_tensor_dims(b->tensor)[i];
  return match_shape(p, b, t);
}

/* ---- reading the options --------------------------------------------------------------------- */

static surg_pass_result read_bound(surg_pass_ctx *p, const surg_graph *g, size_t i, bound *b) {
  char text[TEXT];
  *b = (bound){.name = surg_pass_pair_name(p, i)};
  b->v = surg_graph_find_value(g, b->name);
  if (!b->v || !surg_value_is_input(b->v)) return unknown(p, g, b->name);
  const surg_type *t = surg_value_declared_type(b->v);
  b->dtype = surg_type_dtype(t);
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR)
    return refuse(p, b, "only tensors can be bound", "");
  b->file = surg_pass_pair_value(p, i, 0);
  if (is_file(b->file) && !surg_pass_pair_value(p, i, 1)) return read_tensor(p, b, t);
  b->file = NULL;
  if (!size_of(b->dtype))
    return refuse(p, b, "cannot bind inputs of type ", surg_dtype_name(b->dtype));
  while (surg_pass_pair_value(p, i, b->given)) b->given++;
  if (read_shape(p, b, t) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  bool fits = b->given == 1 || (b->rank == 1 && b->given == b->count);
  if (fits) return SURG_PASS_UNCHANGED;
  snprintf(text, sizeof text, "found %zu numbers for %llu element%s of rank %zu", b->given,
           (unsigned long long)b->count, b->count == 1 ? "" : "s", b->rank);
  return refuse(p, b, text,
                "; expected one number for all elements, or, for rank 1, as many as elements");
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

static surg_tensor *tensor(surg_pass_ctx *p, size_t i, const bound *b) {
  size_t size = size_of(b->dtype), n = (size_t)b->count;
  assert(size > 0 && b->count * size <= MOST); /* read_shape limited it */
  uint8_t *bytes = surg_pass_alloc(p, n * size);
  uint64_t bits = 0;
  if (!bytes) return NULL;
  for (size_t k = 0; k < n || k == 0; k++) { /* parse one number even if n is 0 */
    const char *s = k < b->given ? surg_pass_pair_value(p, i, k) : NULL;
    if (s && !parse(b->dtype, s, &bits)) {
      char text[TEXT];
      snprintf(text, sizeof text, "'%.100s' is not a valid ", s);
      refuse(p, b, text, surg_dtype_name(b->dtype));
      return NULL;
    }
    for (size_t c = 0; c < size && k < n; c++) bytes[k * size + c] = (uint8_t)(bits >> 8 * c);
  }
  return surg_tensor_new(surg_pass_model(p), b->dtype, b->dims, b->rank, bytes, n * size);
}

/* Makes the tensor the constant for the input. Below IR version 4 the input stays listed, with
 * the type of the tensor. */
static bool settle(surg_pass_ctx *p, surg_graph *g, const bound *b, surg_tensor *t) {
  surg_model *m = surg_pass_model(p);
  assert(t && b->v && b->rank <= sizeof b->dims / sizeof *b->dims);
  if (surg_value_set_initializer(b->v, t)) return false;
  if (surg_model_ir_version(m) < 4) {
    surg_dim dims[64];
    for (size_t i = 0; i < b->rank; i++) dims[i] = (surg_dim){b->dims[i], NULL};
    const surg_type *type = surg_type_tensor(m, b->dtype, dims, b->rank);
    type = surg_type_refine(m, surg_value_declared_type(b->v), type, NULL);
    return type && surg_value_set_declared_type(b->v, type) == SURG_OK;
  }
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (surg_graph_input(g, i) == b->v) return surg_graph_remove_input(g, i) == SURG_OK;
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  surg_pass_result result = SURG_PASS_UNCHANGED;
  size_t n = surg_pass_pair_count(p);
  if (!n) return surg_pass_usage(p, "needs inputs and their values, such as flag=true");
  for (size_t i = 0; i < n; i++) {
    bound b;
    if (read_bound(p, g, i, &b) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    surg_tensor *t = b.file ? b.tensor : tensor(p, i, &b);
    if (!t) return SURG_PASS_FAILED;
    if (!surg_pass_allow(p)) return result;
    if (!settle(p, g, &b, t)) return SURG_PASS_FAILED;
    surg_pass_count(p, "inputs bound", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(PAIRS, "input", NULL, "a number, a list a+b, or a .npy or .pb file"),
};

const surg_pass surg__pass_bind = {
    SURG_PASS_HEAD(MODEL, "bind", "replace inputs by constants"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
