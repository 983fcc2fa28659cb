/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and runs the rows of kernel tests. */
#include "kernel_rows.h"
#include "base/counted.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "eval/core/number.h"
#include "eval/core/value.h"

#define MAX_RANK 8
#define MAX_ELEMENTS 300
#define MAX_WORD 48
#define SHAKES 10
#define EDGES 20

surg_context *kernel_ctx;

static void setup(void) {
  kernel_ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(kernel_ctx);
}

static void teardown(void) {
  ck_assert_uint_eq(surg_context_memory(kernel_ctx, NULL), 0);
  surg_context_free(kernel_ctx);
}

TCase *kernel_case(void) {
  TCase *c = tcase_create("rows");
  tcase_add_checked_fixture(c, setup, teardown);
  return c;
}

static const char *skip(const char *p) {
  while (*p == ' ') p++;
  return p;
}

static void put_number(int dtype, const char *word, void *data, size_t i) {
  uint8_t *bytes = data;
  double v = strtod(word, NULL);
  if (dtype == SURG_FLOAT) {
    ((float *)data)[i] = strtof(word, NULL);
  } else if (surg__is_real(dtype)) {
    surg__store_f64(dtype, data, i, v);
  } else if (dtype == SURG_FLOAT4E2M1) {
    bytes[i] = surg__float_to_fp4((float)v);
  } else if (surg__dtype_is_float(dtype)) {
    bytes[i] = surg__float_to_fp8(dtype, (float)v, false);
  } else if (dtype == SURG_COMPLEX64) {
    ((float *)data)[2 * i] = (float)v;
    ((float *)data)[2 * i + 1] = 0;
  } else {
    uint64_t bits = *word == '-' ? (uint64_t)strtoll(word, NULL, 10) : strtoull(word, NULL, 10);
    surg__store_int(dtype, data, i, bits);
  }
}

/* `[2,3]`; moves *p behind it. */
static size_t read_ints(const char **p, int64_t *out) {
  const char *s = *p + 1;
  size_t n = 0;
  for (; *s != ']'; s += *s == ',') {
    char *end;
    ck_assert_uint_lt(n, MAX_RANK);
    out[n++] = strtoll(s, &end, 10);
    ck_assert_msg(end != s, "a list in '%s'", *p);
    s = end;
  }
  *p = s + 1;
  return n;
}

static int read_type(const char **p) {
  char type[16];
  size_t n = strcspn(*p, "[");
  ck_assert_msg(n < sizeof type, "element type in '%s'", *p);
  memcpy(type, *p, n);
  type[n] = 0;
  int dtype = surg__dtype_from_name(type, n);
  ck_assert_msg(dtype != 0, "element type in '%s'", *p);
  *p += n;
  return dtype;
}

/* The tensor that starts at *p, which moves behind it; NULL for `-`. */
static surg_tensor *read_tensor(surg_model *m, const char **p) {
  static char words[MAX_ELEMENTS][MAX_WORD];
  static _Alignas(16) uint8_t data[MAX_ELEMENTS * 16], packed[MAX_ELEMENTS * 16];
  const char *s = skip(*p);
  if (*s == '-') {
    *p = skip(s + 1);
    return NULL;
  }
  int dtype = read_type(&s);
  int64_t dims[MAX_RANK];
  size_t rank = read_ints(&s, dims), count = 1;
  for (size_t d = 0; d < rank; d++) count *= (size_t)dims[d];
  ck_assert_msg(*s == ':' && count <= MAX_ELEMENTS, "dims in '%s'", *p);
  surg_str *strings = (surg_str *)data;
  s = skip(s + 1);
  for (size_t i = 0; i < count; i++) {
    size_t w = strcspn(s, " |;");
    ck_assert_msg(w > 0 && w < MAX_WORD, "element %zu in '%s'", i, *p);
    memcpy(words[i], s, w);
    words[i][w] = 0;
    if (dtype != SURG_STRING)
      put_number(dtype, words[i], data, i);
    else
      strings[i] = (surg_str){words[i], strcmp(words[i], "\"\"") == 0 ? 0 : w};
    s = skip(s + w);
  }
  ck_assert_msg(*s == 0 || *s == '|' || *s == ';', "too many elements in '%s'", *p);
  *p = s;
  surg_tensor *t;
  if (dtype == SURG_STRING) {
    t = surg_tensor_new_strings(m, dims, rank, strings);
  } else {
    uint64_t bytes = 0;
    ck_assert(surg__dtype_bytes(dtype, count, &bytes));
    surg__pack(dtype, count, data, packed);
    t = surg_tensor_new(m, dtype, dims, rank, packed, (size_t)bytes);
  }
  ck_assert_ptr_nonnull(t);
  return t;
}

/* A word after `name=` that is neither list nor tensor. */
static surg_status set_word(surg_node *node, const char *name, const char *word) {
  if (strcspn(word, "0123456789") > 1) return surg_node_set_string(node, name, word);
  if (strchr(word, '.')) return surg_node_set_float(node, name, strtof(word, NULL));
  return surg_node_set_int(node, name, strtoll(word, NULL, 10));
}

/* A list of strings or of floats; moves *p behind it. False: its elements are integers. */
static bool set_list(surg_node *node, const char *name, const char **p) {
  static char words[MAX_RANK][MAX_WORD];
  surg_str strings[MAX_RANK];
  float floats[MAX_RANK];
  size_t length = strcspn(*p, "]"), n = 0;
  bool text = strcspn(*p, "abcdefghijklmnopqrstuvwxyz") < length;
  if (!text && strcspn(*p, ".") >= length) return false;
  for (const char *s = *p + 1; s < *p + length;) {
    size_t w = strcspn(s, ",]");
    ck_assert_msg(n < MAX_RANK && w < MAX_WORD, "a list in '%s'", *p);
    memcpy(words[n], s, w);
    words[n][w] = 0;
    strings[n] = (surg_str){words[n], w};
    floats[n] = strtof(words[n], NULL);
    n++;
    s += w + 1;
  }
  *p += length + 1;
  ck_assert_int_eq(text ? surg_node_set_strings(node, name, strings, n)
                        : surg_node_set_floats(node, name, floats, n),
                   SURG_OK);
  return true;
}

static void read_attrs(surg_model *m, surg_node *node, const char *s) {
  while (*(s = skip(s)) != 0) {
    char name[32], word[MAX_WORD];
    size_t n = strcspn(s, "=");
    ck_assert_uint_lt(n, sizeof name);
    memcpy(name, s, n);
    name[n] = 0;
    s += n + 1;
    surg_status status;
    if (*s == '[' && set_list(node, name, &s)) {
      status = SURG_OK;
    } else if (*s == '[') {
      int64_t list[MAX_RANK];
      size_t count = read_ints(&s, list);
      status = surg_node_set_ints(node, name, list, count);
    } else if (s[strcspn(s, ";[")] == '[') {
      status = surg_node_set_tensor(node, name, read_tensor(m, &s));
    } else {
      n = strcspn(s, ";");
      ck_assert_uint_lt(n, sizeof word);
      memcpy(word, s, n);
      word[n] = 0;
      s += n;
      status = set_word(node, name, word);
    }
    ck_assert_int_eq(status, SURG_OK);
    if (*s == ';') s++;
  }
}

/* --- comparing --- */

static bool same_element(int dtype, const void *a, const void *b, size_t i, bool about) {
  size_t size = surg__dtype_unpacked(dtype);
  if (!surg__dtype_is_float(dtype)) {
    return memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0;
  }
  double x = surg__load_f64(dtype, a, i), y = surg__load_f64(dtype, b, i);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (!about || x == y) return x == y && signbit(x) == signbit(y);
  return fabs(x - y) <= (size == 2 ? 1e-2 : 1e-6) * fabs(y);
}

static void same_tensor(const kernel_row *r, size_t i, const surg_tensor *got,
                        const surg_tensor *want, bool about) {
  static _Alignas(16) uint8_t a[MAX_ELEMENTS * 16], b[MAX_ELEMENTS * 16];
  static _Alignas(16) uint8_t packed[MAX_ELEMENTS * 16];
  ck_assert_msg(got != NULL, "%s-%d output %zu is missing", r->op, r->opset, i);
  int dtype = surg_tensor_dtype(want);
  size_t rank = surg_tensor_rank(want), count = (size_t)surg_tensor_count(want);
  ck_assert_msg(surg_tensor_dtype(got) == dtype, "%s-%d '%s': type %s", r->op, r->opset, r->inputs,
                surg__dtype_name(surg_tensor_dtype(got)));
  ck_assert_msg(surg_tensor_rank(got) == rank, "%s-%d '%s': rank", r->op, r->opset, r->inputs);
  for (size_t d = 0; d < rank; d++) {
    ck_assert_msg(surg_tensor_dims(got)[d] == surg_tensor_dims(want)[d], "%s-%d '%s': dim %zu",
                  r->op, r->opset, r->inputs, d);
  }
  if (dtype == SURG_STRING) {
    const surg_str *s = surg__strings(got), *t = surg__strings(want);
    for (size_t k = 0; k < count; k++) {
      ck_assert_msg(s[k].n == t[k].n && (s[k].n == 0 || memcmp(s[k].p, t[k].p, s[k].n) == 0),
                    "%s-%d '%s': string %zu is '%.*s'", r->op, r->opset, r->inputs, k, (int)s[k].n,
                    s[k].p);
    }
    return;
  }
  size_t bytes = (size_t)surg_tensor_bytes(want);
  ck_assert_uint_eq(surg_tensor_bytes(got), bytes);
  ck_assert_int_eq(surg_tensor_read(got, 0, packed, bytes), SURG_OK);
  surg__unpack(dtype, count, packed, a);
  ck_assert_int_eq(surg_tensor_read(want, 0, packed, bytes), SURG_OK);
  surg__unpack(dtype, count, packed, b);
  for (size_t k = 0; k < count; k++) {
    double v = surg__dtype_is_float(dtype) ? surg__load_f64(dtype, a, k)
                                           : (double)(int64_t)surg__load_int(dtype, a, k);
    ck_assert_msg(same_element(dtype, a, b, k, about), "%s-%d '%s' {%s}: output %zu[%zu] is %.9g",
                  r->op, r->opset, r->inputs, r->attrs, i, k, v);
  }
}

/* The refusal a row expects, or SURG_OK; a digit behind it is the number of outputs. */
static surg_status refusal(const char *s, size_t *n_out) {
  static const struct {
    const char *word;
    surg_status status;
  } words[] = {
      {"unsupported", SURG_EUNSUPPORTED}, {"invalid", SURG_EINVALID}, {"limit", SURG_ELIMIT}};
  for (size_t i = 0; i < SURG_COUNT(words); i++) {
    size_t n = strlen(words[i].word);
    if (strncmp(s, words[i].word, n) != 0) continue;
    *n_out = s[n] ? (size_t)(s[n] - '0') : 1;
    return words[i].status;
  }
  return SURG_OK;
}

static size_t entries(const char *s) {
  if (*s == 0) return 0;
  size_t n = 1;
  for (; *s; s++) n += *s == '|';
  return n;
}

/* `ai.onnx.ml:Scaler` is an operator of another domain, whose opset the row names. */
surg_node *kernel_row_build(surg_context *ctx, const kernel_row *r, size_t n_out,
                            surg_model **out) {
  surg_model *m = surg_model_new(ctx, 10, strchr(r->op, ':') ? 21 : r->opset);
  ck_assert_ptr_nonnull(m);
  *out = m;
  surg_graph *g = surg_model_graph(m);
  char domain[40] = "";
  const char *colon = strchr(r->op, ':');
  if (colon) {
    ck_assert_uint_lt((size_t)(colon - r->op), sizeof domain);
    memcpy(domain, r->op, (size_t)(colon - r->op));
    ck_assert_int_eq(surg_model_set_opset(m, domain, r->opset), SURG_OK);
  }
  surg_node *node = surg_graph_add_node(g, NULL, domain, colon ? colon + 1 : r->op, n_out);
  ck_assert_ptr_nonnull(node);
  const char *p = r->inputs;
  for (size_t i = 0, n = entries(r->inputs); i < n; i++) {
    surg_tensor *t = read_tensor(m, &p);
    surg_value *v = t ? surg_graph_constant(g, node, NULL, t) : NULL;
    ck_assert_int_eq(surg_node_set_input(node, i, v), SURG_OK);
    if (*p == '|') p++;
  }
  read_attrs(m, node, r->attrs);
  return node;
}

surg_status kernel_node_run(surg_context *ctx, surg_node *node, surg_tensor **out, size_t n_out,
                            const char **why) {
  surg__array in[16] = {{0}}, made[8] = {{0}};
  surg__arena arena;
  surg_kctx k = {.arena = &arena, .max_bytes = 1 << 20, .max_work = 1 << 20, .running = true};
  ck_assert_uint_le(surg_node_input_count(node), SURG_COUNT(in));
  ck_assert_uint_le(n_out, SURG_COUNT(made));
  surg__arena_init(&arena, ctx);
  for (size_t i = 0; i < surg_node_input_count(node); i++) {
    surg_value *v = surg_node_input(node, i);
    if (!v) continue;
    surg_tensor *t = surg_value_constant(v);
    ck_assert_int_eq(surg__array_from_tensor(ctx, &arena, t, &in[i]), SURG_OK);
  }
  surg_status s = surg__node_compute(node, &k, in, made);
  *why = k.why;
  for (size_t i = 0; i < n_out && s == SURG_OK; i++) {
    if (!surg_node_output(node, i) || surg__array_is_list(&made[i])) continue;
    out[i] = surg__array_to_tensor(surg_graph_model(surg_node_graph(node)), &made[i]);
  }
  for (size_t i = 0; i < SURG_COUNT(made); i++) surg__array_drop(&made[i]);
  surg__arena_free(&arena);
  return s;
}

void kernel_row_check(surg_context *ctx, const kernel_row *r) {
  surg_model *m;
  bool disputed = *r->outputs == '!', about = r->outputs[disputed] == '~';
  const char *p = r->outputs + disputed + about;
  size_t n_out = entries(p);
  surg_status expected = refusal(p, &n_out);
  surg_node *node = kernel_row_build(ctx, r, n_out, &m);
  surg_tensor *want[8] = {NULL}, *got[8] = {NULL};
  for (size_t i = 0; expected == SURG_OK && i < n_out; i++) {
    want[i] = read_tensor(m, &p);
    if (*p == '|') p++;
    if (!want[i]) ck_assert_int_eq(surg_node_drop_output(node, i), SURG_OK);
  }
  const char *why = NULL;
  if (disputed) {
    ck_assert_msg(surg_node_evaluate(node, 1 << 20, 1 << 20, got, n_out, &why) == SURG_EUNSUPPORTED,
                  "%s-%d '%s' {%s} is folded", r->op, r->opset, r->inputs, r->attrs);
  }
  surg_status s = disputed || surg_node_nondeterministic(node)
                      ? kernel_node_run(ctx, node, got, n_out, &why)
                      : surg_node_evaluate(node, 1 << 20, 1 << 20, got, n_out, &why);
  ck_assert_msg(s == expected, "%s-%d '%s' {%s}: %s (%s), not %s", r->op, r->opset, r->inputs,
                r->attrs, surg_status_name(s), why ? why : "", surg_status_name(expected));
  ck_assert_msg(s == SURG_OK || (why && *why), "%s-%d: no reason", r->op, r->opset);
  for (size_t i = 0; i < n_out; i++) {
    if (s == SURG_OK && want[i])
      same_tensor(r, i, got[i], want[i], about);
    else
      ck_assert_ptr_null(got[i]);
  }
  surg_model_free(m);
  const char *rounds = getenv("ONNXSURG_ROUNDS");
  kernel_row_shake(ctx, r, rounds ? (unsigned)atoi(rounds) : SHAKES);
  kernel_row_edges(ctx, r, rounds ? (unsigned)atoi(rounds) : EDGES);
  kernel_row_starve(ctx, r);
}
