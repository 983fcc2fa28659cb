/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel with inputs and attributes that no exporter writes: it must answer, the same twice, and
 * its outputs must have types the operator allows. Meant to run under the sanitizers too. */
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "eval/core/eval.h"
#include "kernel_rows.h"
#include "schema/schema.h"

#define ROUNDS 20
#define MAX_IN 6
#define MAX_RANK 4
#define MAX_COUNT 256

static surg_context *ctx;

static unsigned below(unsigned n) {
  return (unsigned)(unit_random() >> 20) % n;
}

/* Mostly small, now and then extreme. */
static int64_t any_int(void) {
  static const int64_t extremes[] = {INT64_MIN, INT64_MAX, INT32_MIN,    INT32_MAX,
                                     1ll << 31, 1ll << 40, -(1ll << 62), 65536};
  if (below(12) == 0) return extremes[below(SURG_COUNT(extremes))];
  return (int64_t)below(8) - 3;
}

/* Elements as stored: random bits, or small numbers that fit the type. */
static void fill(int dtype, uint8_t *data, size_t count, size_t bytes) {
  bool wild = below(4) == 0;
  for (size_t i = 0; i < bytes; i++) data[i] = (uint8_t)unit_random();
  if (wild || surg__dtype_bits(dtype) < 8) return;
  for (size_t i = 0; i < count; i++) {
    float f = (float)((int)below(9) - 4) / 2;
    double d = f;
    uint16_t h = surg__float_to_half(f), b = surg__float_to_bf16(f);
    int64_t n = (int64_t)below(6) - 2;
    if (dtype == SURG_FLOAT)
      memcpy(data + 4 * i, &f, 4);
    else if (dtype == SURG_DOUBLE)
      memcpy(data + 8 * i, &d, 8);
    else if (dtype == SURG_FLOAT16)
      memcpy(data + 2 * i, &h, 2);
    else if (dtype == SURG_BFLOAT16)
      memcpy(data + 2 * i, &b, 2);
    else if (dtype == SURG_BOOL)
      data[i] = (uint8_t)below(2);
    else if (surg__dtype_bits(dtype) <= 64) {
      size_t size = surg__dtype_unpacked(dtype);
      memcpy(data + size * i, &n, size);
    }
  }
}

static surg_tensor *any_tensor(surg_model *m, int dtype, const int64_t *dims, size_t rank) {
  static uint8_t data[MAX_COUNT * 16];
  static const char *const words[] = {"", "a", "1", "-2.5", "nan", "INF", "1e400", "x y"};
  surg_str strings[MAX_COUNT];
  size_t count = 1;
  for (size_t d = 0; d < rank; d++) count *= (size_t)dims[d];
  ck_assert_uint_le(count, MAX_COUNT);
  if (dtype == SURG_STRING) {
    for (size_t i = 0; i < count; i++) {
      const char *w = words[below(SURG_COUNT(words))];
      strings[i] = (surg_str){w, strlen(w)};
    }
    return surg_tensor_new_strings(m, dims, rank, strings);
  }
  uint64_t bytes = 0;
  ck_assert(surg__dtype_bytes(dtype, count, &bytes));
  fill(dtype, data, count, (size_t)bytes);
  return surg_tensor_new(m, dtype, dims, rank, data, (size_t)bytes);
}

static size_t any_dims(int64_t *dims) {
  size_t rank = below(MAX_RANK + 1);
  for (size_t d = 0; d < rank; d++) dims[d] = below(10) == 0 ? 0 : 1 + below(3);
  return rank;
}

/* A type the parameter may have; inputs of one type parameter get the same one. */
static int any_type(const surg_schema *s, const surg__param *p, int *bound) {
  for (uint32_t i = 0; i < s->n_params; i++) {
    if (strcmp(s->params[i].name, p->type) != 0) continue;
    uint32_t mask = s->params[i].tensor_mask;
    if (mask == 0) return SURG_UNDEFINED;
    while (bound[i] == SURG_UNDEFINED) {
      int d = 1 + (int)below(SURG_DTYPE_COUNT - 1);
      if (mask >> d & 1) bound[i] = d;
    }
    return bound[i];
  }
  const char *open = strchr(p->type, '('), *close = strchr(p->type, ')');
  return open && close ? surg__dtype_from_name(open + 1, (size_t)(close - open - 1)) : 0;
}

static void any_attr(surg_model *m, surg_node *n, const surg__attr_def *def) {
  static const char *const words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "LEFT",
                                      "RIGHT",  "constant",   "reflect",    "edge",  "wrap",
                                      "none",   "add",        "mul",        "max",   "tanh",
                                      "DCR",    "CRD",        "FLOAT",      "up",    "?"};
  int64_t ints[MAX_RANK * 2], dims[MAX_RANK];
  float floats[2] = {(float)any_int(), 0.5f};
  switch (def->kind) {
    case SURG_ATTR_INT: {
      int64_t v = strcmp(def->name, "to") == 0 ? (int64_t)below(28) : any_int();
      ck_assert_int_eq(surg_node_set_int(n, def->name, v), SURG_OK);
      break;
    }
    case SURG_ATTR_FLOAT:
      surg_node_set_float(n, def->name, floats[below(2)]);
      break;
    case SURG_ATTR_STRING:
      surg_node_set_string(n, def->name, words[below(SURG_COUNT(words))]);
      break;
    case SURG_ATTR_INTS: {
      size_t count = below(MAX_RANK * 2 + 1);
      for (size_t i = 0; i < count; i++) ints[i] = any_int();
      surg_node_set_ints(n, def->name, ints, count);
      break;
    }
    case SURG_ATTR_FLOATS:
      surg_node_set_floats(n, def->name, floats, 2);
      break;
    case SURG_ATTR_TENSOR: {
      size_t rank = any_dims(dims);
      surg_node_set_tensor(n, def->name, any_tensor(m, 1 + (int)below(13), dims, rank));
      break;
    }
    default:
      break;
  }
}

static surg_node *any_node(surg_model *m, const surg_schema *s) {
  int bound[16] = {0};
  int64_t first[MAX_RANK], dims[MAX_RANK];
  size_t first_rank = any_dims(first);
  uint32_t most_in = s->max_in < MAX_IN ? s->max_in : MAX_IN;
  if (most_in < s->min_in) most_in = s->min_in;
  uint32_t most_out = s->max_out < 3 ? s->max_out : 3;
  uint32_t n_out = s->min_out + below(most_out - s->min_out + 1);
  surg_node *n = surg_graph_add_node(surg_model_graph(m), NULL, s->domain, s->name, n_out);
  ck_assert_ptr_nonnull(n);
  ck_assert_uint_le(s->n_params, SURG_COUNT(bound));
  uint32_t n_in = s->min_in + below(most_in - s->min_in + 1);
  for (uint32_t i = 0; i < n_in; i++) {
    const surg__param *p = &s->inputs[i < s->n_inputs ? i : s->n_inputs - 1];
    int dtype = any_type(s, p, bound);
    if (dtype == SURG_UNDEFINED || (p->option == SURG__OPTIONAL && below(3) == 0)) continue;
    bool same = below(2) == 0;
    size_t rank = same ? first_rank : any_dims(dims);
    surg_tensor *t = any_tensor(m, dtype, same ? first : dims, rank);
    ck_assert_ptr_nonnull(t);
    surg_value *v = surg_graph_constant(surg_model_graph(m), n, NULL, t);
    ck_assert_int_eq(surg_node_set_input(n, i, v), SURG_OK);
  }
  for (uint32_t i = 0; i < s->n_attrs; i++) {
    if (s->attrs[i].required || below(3) == 0) any_attr(m, n, &s->attrs[i]);
  }
  return n;
}

static bool same_result(const surg_tensor *a, const surg_tensor *b) {
  if (surg_tensor_dtype(a) != surg_tensor_dtype(b) || surg_tensor_rank(a) != surg_tensor_rank(b) ||
      surg_tensor_bytes(a) != surg_tensor_bytes(b)) {
    return false;
  }
  if (surg_tensor_dtype(a) == SURG_STRING) return true;
  size_t n = (size_t)surg_tensor_bytes(a);
  uint8_t *x = malloc(n + 1), *y = malloc(n + 1);
  ck_assert(x && y);
  ck_assert_int_eq(surg_tensor_read(a, 0, x, n), SURG_OK);
  ck_assert_int_eq(surg_tensor_read(b, 0, y, n), SURG_OK);
  bool same = memcmp(x, y, n) == 0;
  free(x);
  free(y);
  return same;
}

/* Whether the operator may give output i this type. */
static bool type_fits(const surg_schema *s, size_t i, int dtype) {
  const surg__param *p = &s->outputs[i < s->n_outputs ? i : s->n_outputs - 1];
  for (uint32_t k = 0; k < s->n_params; k++) {
    if (strcmp(s->params[k].name, p->type) == 0) return s->params[k].tensor_mask >> dtype & 1;
  }
  char literal[32];
  snprintf(literal, sizeof literal, "tensor(%s)", surg__dtype_name(dtype));
  return strcmp(literal, p->type) == 0;
}

static surg_status evaluate(surg_node *n, surg_tensor **out, size_t n_out, const char **why) {
  if (surg_node_nondeterministic(n)) return kernel_node_run(ctx, n, out, n_out, why);
  return surg_node_evaluate(n, 1 << 16, 1 << 18, out, n_out, why);
}

/* One node, twice; whether it was computed. */
static bool try_one(const surg_schema *s) {
  bool own = s->domain[0] == '\0';
  surg_model *m = surg_model_new(ctx, 10, own ? s->since : 21);
  ck_assert_ptr_nonnull(m);
  if (!own) ck_assert_int_eq(surg_model_set_opset(m, s->domain, s->since), SURG_OK);
  surg_node *n = any_node(m, s);
  surg_tensor *a[4] = {NULL}, *b[4] = {NULL};
  const char *why = NULL;
  size_t n_out = surg_node_output_count(n);
  surg_status first = evaluate(n, a, n_out, &why);
  ck_assert_msg(first == SURG_OK || first == SURG_EUNSUPPORTED || first == SURG_ELIMIT ||
                    first == SURG_EINVALID,
                "%s-%d: %s", s->name, s->since, surg_status_name(first));
  ck_assert_int_eq(evaluate(n, b, n_out, &why), first);
  for (size_t i = 0; first == SURG_OK && i < n_out; i++) {
    if (!a[i]) continue;
    ck_assert_msg(same_result(a[i], b[i]), "%s-%d: differs from itself", s->name, s->since);
    bool fits = s->op == SURG_OP_Constant || type_fits(s, i, surg_tensor_dtype(a[i]));
    ck_assert_msg(fits, "%s-%d: output %zu is %s", s->name, s->since, i,
                  surg__dtype_name(surg_tensor_dtype(a[i])));
  }
  surg_model_free(m);
  return first == SURG_OK;
}

START_TEST(every_kernel) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
  const char *rounds = getenv("ONNXSURG_ROUNDS");
  unsigned n_rounds = rounds ? (unsigned)atoi(rounds) : ROUNDS, tried = 0, computed = 0;
  for (size_t i = 0; i < surg__schema_count; i++) {
    const surg_schema *s = &surg__schemas[i];
    if (!surg__kernel_find(s->op, s->since)) continue;
    *unit_state() = 0x9e3779b97f4a7c15ull + i;
    for (unsigned r = 0; r < n_rounds; r++, tried++) computed += try_one(s);
  }
  ck_assert_uint_gt(tried, 0);
  ck_assert_msg(computed * 5 > tried, "only %u of %u were computed", computed, tried);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_random");
  TCase *c = tcase_create("random");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, every_kernel);
  suite_add_tcase(s, c);
  return unit_run(s);
}
