/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of kernel tests at the edges of what they may be: every axis of some length gets 0 or 1
 * elements, in all inputs alike, so that shapes go on fitting; tensors become scalars or one
 * element; and every version of the operator gets them. What comes out is held against what
 * inference proves. Meant to run under the sanitizers too. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/dtype.h"
#include "eval/core/value.h"
#include "kernel_rows.h"

#define MOST_DIMS 8
#define MOST_BYTES 8192
#define MOST_IN 16
#define MOST_OUT 8
#define NEWEST 28

static uint64_t state;

static unsigned below(unsigned n) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % n;
}

/* What happens to the inputs: axes of `from` elements have `to`; `scalars` says which inputs become
 * scalars; an element of a small list that is `from` becomes `to`, too, if `lists`. */
typedef struct edit {
  int64_t from, to;
  unsigned scalars;
  bool lists;
} edit;

typedef struct sample {
  surg_model *m;
  surg_node *n;
  surg_tensor *in[MOST_IN];
  size_t n_in;
} sample;

static edit any_edit(const sample *s) {
  int64_t lengths[MOST_IN * MOST_DIMS];
  unsigned n = 0;
  for (size_t i = 0; i < s->n_in; i++)
    for (size_t d = 0; s->in[i] && d < surg_tensor_rank(s->in[i]); d++)
      if (n < SURG_COUNT(lengths)) lengths[n++] = surg_tensor_dims(s->in[i])[d];
  edit e = {.from = n ? lengths[below(n)] : -1, .to = below(2), .lists = below(2) == 0};
  if (below(6) == 0) e.scalars = 1u << below((unsigned)s->n_in + 1);
  if (below(12) == 0) e.scalars = ~0u;
  return e;
}

/* t under the edit, its elements over and over. NULL: it stays. */
static surg_tensor *edited(const sample *s, size_t i, const edit *e) {
  static uint8_t from[MOST_BYTES], data[MOST_BYTES];
  const surg_tensor *t = s->in[i];
  int64_t dims[MOST_DIMS];
  size_t rank = surg_tensor_rank(t), had = (size_t)surg_tensor_bytes(t);
  const int dtype = surg_tensor_dtype(t);
  uint64_t count, bytes = 0;
  ck_assert_uint_le(rank, MOST_DIMS);
  if (dtype == SURG_STRING || had > MOST_BYTES) return NULL;
  for (size_t d = 0; d < rank; d++)
    dims[d] = surg_tensor_dims(t)[d] == e->from ? e->to : surg_tensor_dims(t)[d];
  if (e->scalars >> i & 1) rank = 0;
  if (!surg__dims_product(dims, (uint32_t)rank, &count) ||
      !surg__dtype_bytes(dtype, count, &bytes) || bytes > MOST_BYTES)
    return NULL;
  if (had > 0) ck_assert_int_eq(surg_tensor_read(t, 0, from, had), SURG_OK);
  for (size_t k = 0; k < bytes; k++) data[k] = had > 0 ? from[k % had] : 0;
  for (size_t k = 0; e->lists && dtype == SURG_INT64 && rank == 1 && k < count; k++) {
    int64_t v;
    memcpy(&v, data + k * sizeof v, sizeof v);
    if (v == e->from) memcpy(data + k * sizeof v, &e->to, sizeof v);
  }
  return surg_tensor_new(s->m, dtype, dims, rank, data, (size_t)bytes);
}

/* Makes input i one of the model's, its dims numbers or symbols. */
static void give(sample *s, size_t i, bool symbols) {
  char names[MOST_DIMS][24], name[16];
  surg_dim dims[MOST_DIMS];
  const surg_tensor *t = s->in[i];
  const size_t rank = surg_tensor_rank(t);
  for (size_t d = 0; d < rank; d++) {
    const int64_t length = surg_tensor_dims(t)[d];
    snprintf(names[d], sizeof names[d], "n%lld", (long long)length);
    dims[d] = (surg_dim){.value = symbols ? -1 : length, .param = symbols ? names[d] : NULL};
  }
  const surg_type *type = surg_type_tensor(s->m, surg_tensor_dtype(t), dims, rank);
  snprintf(name, sizeof name, "in%zu", i);
  surg_value *v = surg_graph_add_input(surg_model_graph(s->m), name, type);
  ck_assert_ptr_nonnull(v);
  ck_assert_int_eq(surg_node_set_input(s->n, i, v), SURG_OK);
}

static void prepare(sample *s, surg_context *ctx, const kernel_row *r) {
  const bool symbols = below(3) == 0;
  size_t n_out = 1;
  for (const char *p = r->outputs; *p; p++) n_out += *p == '|';
  s->n = kernel_row_build(ctx, r, n_out, &s->m);
  s->n_in = surg_node_input_count(s->n);
  ck_assert_uint_le(s->n_in, MOST_IN);
  for (size_t i = 0; i < s->n_in; i++) {
    surg_value *v = surg_node_input(s->n, i);
    s->in[i] = v ? surg_value_constant(v) : NULL;
  }
  const edit e = any_edit(s);
  for (size_t i = 0; i < s->n_in; i++) {
    surg_tensor *t = s->in[i] ? edited(s, i, &e) : NULL;
    if (t) {
      surg_value *v = surg_graph_constant(surg_model_graph(s->m), s->n, NULL, t);
      ck_assert_int_eq(surg_node_set_input(s->n, i, v), SURG_OK);
      s->in[i] = surg_value_constant(v);
    }
    if (s->in[i] && below(2)) give(s, i, symbols);
  }
}

static surg_status compute(surg_context *ctx, surg__arena *arena, const sample *s,
                           surg__array *made, const char **why) {
  surg__array in[MOST_IN] = {{0}};
  surg_kctx k = {.arena = arena, .max_bytes = 1 << 20, .max_work = 1 << 22, .running = true};
  for (size_t i = 0; i < s->n_in; i++)
    if (s->in[i])
      ck_assert_int_eq(surg__array_from_tensor(ctx, arena, s->in[i], &in[i]), SURG_OK);
  const surg_status status = surg__node_compute(s->n, &k, in, made);
  *why = k.why;
  return status;
}

static const char *shown(surg_context *ctx, const surg__array *a) {
  static char text[200];
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "%s[", surg_dtype_name(a->dtype));
  for (uint32_t d = 0; d < a->rank; d++) surg__buf_printf(&b, "%lld ", (long long)a->dims[d]);
  snprintf(text, sizeof text, "%s", b.p ? b.p : "");
  surg__buf_free(&b);
  return text;
}

/* What was computed against what was proven. */
static void hold(surg_context *ctx, const kernel_row *r, const sample *s, size_t i,
                 const surg__array *a) {
  const surg_value *v = surg_node_output(s->n, i);
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return;
  bool fits = !surg_type_dtype(t) || surg_type_dtype(t) == a->dtype;
  if (fits && surg_type_has_rank(t)) {
    fits = surg_type_rank(t) == a->rank;
    for (size_t d = 0; fits && d < a->rank; d++) {
      const surg_dim dim = *surg_type_dim(t, d);
      fits = dim.value < 0 || dim.value == a->dims[d];
      /* The symbol of an input bears its length in its name. */
      if (fits && dim.value < 0 && dim.param && dim.param[0] == 'n')
        fits = atoll(dim.param + 1) == a->dims[d];
    }
  }
  ck_assert_msg(fits, "%s-%d '%s' {%s}: output %zu is %s], which inference denies", r->op, r->opset,
                r->inputs, r->attrs, i, shown(ctx, a));
}

static void one(surg_context *ctx, const kernel_row *r) {
  sample s = {0};
  surg__array made[MOST_OUT] = {{0}};
  const char *why = NULL;
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  prepare(&s, ctx, r);
  const size_t n_out = surg_node_output_count(s.n);
  const surg_status status = compute(ctx, &arena, &s, made, &why);
  ck_assert_msg(status == SURG_OK || status == SURG_EUNSUPPORTED || status == SURG_ELIMIT ||
                    status == SURG_EINVALID,
                "%s-%d '%s': %s", r->op, r->opset, r->inputs, surg_status_name(status));
  ck_assert_msg(status == SURG_OK || (why && *why), "%s-%d '%s': no reason", r->op, r->opset,
                r->inputs);
  ck_assert_int_eq(surg_model_infer(s.m), SURG_OK);
  for (size_t i = 0; i < n_out; i++) {
    if (status == SURG_OK && surg_node_output(s.n, i)) hold(ctx, r, &s, i, &made[i]);
  }
  for (size_t i = 0; i < MOST_OUT; i++) surg__array_drop(&made[i]);
  surg__arena_free(&arena);
  surg_model_free(s.m);
}

void kernel_row_edges(surg_context *ctx, const kernel_row *r, unsigned rounds) {
  state = 0x853c49e6748fea9bull;
  for (const char *p = r->inputs; *p; p++) state = state * 31 + (unsigned char)*p;
  for (const char *p = r->op; *p; p++) state = state * 31 + (unsigned char)*p;
  for (unsigned i = 0; i < rounds; i++) {
    kernel_row other = *r;
    if (!strchr(r->op, ':') && below(3) == 0) other.opset = 1 + (int)below(NEWEST);
    one(ctx, &other);
  }
}
