/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a model runs at other sizes of its open dimensions, on made-up inputs. */
#include <stdio.h>

#include "base/dtype.h"
#include "base/limits.h"
#include "run/run_engine.h"

#define TRY_WORK (UINT64_C(1) << 34)  /* operations per run: seconds */
#define TRY_BYTES (UINT64_C(1) << 30) /* bytes of the results of one node */
#define TRY_TURNS (UINT64_C(1) << 16) /* iterations of all loops per run */
#define OTHER_SIZE 2                  /* size of symbols that are not listed */

typedef struct sizes {
  const char *const *symbols;
  const int64_t *sizes;
  size_t n;
} sizes;

static bool size_of(void *user, const char *symbol, int64_t *out) {
  const sizes *s = user;
  for (size_t i = 0; i < s->n; i++) {
    if (strcmp(s->symbols[i], symbol) != 0) continue;
    *out = s->sizes[i];
    return true;
  }
  return false;
}

static void drop(surg_context *ctx, surg__array *a, size_t n) {
  for (size_t i = 0; a && i < n; i++) surg__array_drop(&a[i]);
  surg__free(ctx, a);
}

surg_status surg_model_runs_at(surg_model *m, const char *const *symbols, const int64_t *at,
                               size_t n, char *why, size_t room) {
  if (!m || (n && (!symbols || !at))) return SURG_EUSAGE;
  static const uint64_t seed = 1;
  surg_context *ctx = surg_model_context(m);
  const surg_graph *g = surg_model_graph(m);
  const size_t n_in = surg_graph_input_count(g), n_out = surg_graph_output_count(g);
  sizes s = {symbols, at, n};
  const surg__engine engine = {
      .max_bytes = TRY_BYTES, .max_work = TRY_WORK, .max_turns = TRY_TURNS, .seed = &seed};
  surg__maker maker = {.fill = SURG__FILL_RANDOM,
                       .state = seed,
                       .size = OTHER_SIZE,
                       .dim_of = size_of,
                       .user = &s,
                       .most = SURG_LIMIT_MADE_UP};
  surg__array *in = surg__calloc(ctx, n_in + 1, sizeof *in);
  surg__array *out = surg__calloc(ctx, n_out + 1, sizeof *out);
  surg__exec run = {.model = m};
  surg_status status = in && out ? surg__exec_open(&run, &engine, m) : SURG_ENOMEM;
  if (status == SURG_OK) status = surg__run_made(&run, &maker, NULL, in, out, NULL);
  if (why && room) snprintf(why, room, "%s", run.why);
  surg__exec_close(&run);
  drop(ctx, in, n_in);
  drop(ctx, out, n_out);
  return status;
}

/* --- a batch of two compared with two batches --- */

/* Finds the first axis of a type whose dimension is the symbol; false: there is none. */
static bool axis_of(const surg_type *t, const char *symbol, uint32_t *axis) {
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR) return false;
  for (uint32_t i = 0; i < surg_type_rank(t); i++) {
    const char *param = surg_type_dim(t, i)->param;
    if (!param || strcmp(param, symbol) != 0) continue;
    *axis = i;
    return true;
  }
  return false;
}

/* Copies half `which` of an array along an axis of even size. */
static surg_status half_of(surg_context *ctx, const surg__array *a, uint32_t axis, int which,
                           surg__array *out) {
  int64_t dims[SURG_LIMIT_RANK];
  const size_t size = surg__dtype_unpacked(a->dtype);
  if (surg__array_is_list(a) || a->dtype == SURG_STRING || !size || axis >= a->rank ||
      a->dims[axis] % 2)
    return SURG_EUNSUPPORTED;
  for (uint32_t i = 0; i < a->rank; i++) dims[i] = a->dims[i] / (i == axis ? 2 : 1);
  const surg_status s = surg__array_make(ctx, a->dtype, dims, a->rank, out);
  if (s != SURG_OK) return s;
  uint64_t rows = 1, width = size;
  for (uint32_t i = 0; i < axis; i++) rows *= (uint64_t)dims[i];
  for (uint32_t i = axis; i < a->rank; i++) width *= (uint64_t)dims[i];
  for (uint64_t r = 0; r < rows && width; r++)
    memcpy((char *)out->data + r * width,
           (const char *)a->data + (2 * r + (uint64_t)which) * width, width);
  return SURG_OK;
}

/* Finds the only axis along which `whole` is twice as long as `part`; false: the shapes differ
 * in another way. */
static bool doubled(const surg__array *whole, const surg__array *part, uint32_t *axis) {
  size_t n = 0;
  if (surg__array_is_list(whole) || surg__array_is_list(part) || whole->rank != part->rank)
    return false;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (whole->dims[i] == part->dims[i]) continue;
    if (whole->dims[i] != 2 * part->dims[i]) return false;
    *axis = i;
    n++;
  }
  return n == 1;
}

/* The arrays of three runs: of the double batch, and of its two halves. */
typedef struct stack {
  surg_context *ctx;
  surg_model *m;
  const char *symbol;
  surg__array *in[3], *out[3];
  size_t n_in, n_out;
} stack;

static surg_status split_inputs(stack *s) {
  const surg_graph *g = surg_model_graph(s->m);
  for (size_t i = 0; i < s->n_in; i++) {
    uint32_t axis;
    if (s->in[0][i].dtype == SURG_UNDEFINED) continue;
    const bool has = axis_of(surg_value_declared_type(surg_graph_input(g, i)), s->symbol, &axis);
    for (int k = 1; k < 3; k++) {
      if (!has) {
        s->in[k][i] = surg__array_ref(&s->in[0][i]);
        continue;
      }
      const surg_status r = half_of(s->ctx, &s->in[0][i], axis, k - 1, &s->in[k][i]);
      if (r != SURG_OK) return r;
    }
  }
  return SURG_OK;
}

/* Whether output i of the double batch is the concatenation of the outputs of its halves. */
static surg_status same_output(const stack *s, size_t i, char *why, size_t room) {
  static const surg__tolerance near = {.relative = 1e-3, .absolute = 1e-4, .scaled = true};
  const char *name = surg_value_name(surg_graph_output(surg_model_graph(s->m), i));
  uint32_t axis;
  if (!doubled(&s->out[0][i], &s->out[1][i], &axis)) {
    snprintf(why, room, "output '%.200s' does not grow with the batch", name);
    return SURG_EINVALID;
  }
  for (int k = 1; k < 3; k++) {
    surg__array half = {0};
    surg__distance d;
    const surg_status r = half_of(s->ctx, &s->out[0][i], axis, k - 1, &half);
    const bool same = r == SURG_OK && surg__value_compare(&half, &s->out[k][i], &near, &d);
    surg__array_drop(&half);
    if (r != SURG_OK) return r;
    if (same) continue;
    snprintf(why, room, "output '%.200s' of two batches at once is not that of one after the other",
             name);
    return SURG_EINVALID;
  }
  return SURG_OK;
}

static surg_status run_three(stack *s, const sizes *at, char *why, size_t room) {
  static const uint64_t seed = 1;
  const surg__engine engine = {
      .max_bytes = TRY_BYTES, .max_work = TRY_WORK, .max_turns = TRY_TURNS, .seed = &seed};
  surg__maker maker = {.fill = SURG__FILL_RANDOM,
                       .state = seed,
                       .size = OTHER_SIZE,
                       .dim_of = size_of,
                       .user = (void *)(uintptr_t)at,
                       .most = SURG_LIMIT_MADE_UP};
  surg__exec run = {.model = s->m};
  surg_status r = surg__exec_open(&run, &engine, s->m);
  if (r == SURG_OK) r = surg__run_made(&run, &maker, NULL, s->in[0], s->out[0], NULL);
  if (r == SURG_OK) r = split_inputs(s);
  for (int k = 1; k < 3 && r == SURG_OK; k++) r = surg__exec_run(&run, s->in[k], s->out[k]);
  if (r != SURG_OK && r != SURG_ENOMEM) r = SURG_EUNSUPPORTED;
  if (r != SURG_OK) snprintf(why, room, "%s", run.why);
  surg__exec_close(&run);
  return r;
}

surg_status surg_model_stacks(surg_model *m, const char *const *symbols, const int64_t *at,
                              size_t n, size_t batch, char *why, size_t room) {
  if (!m || !symbols || !at || batch >= n || !why || !room) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(m);
  const surg_graph *g = surg_model_graph(m);
  stack s = {.ctx = ctx, .m = m, .symbol = symbols[batch], .n_in = surg_graph_input_count(g),
             .n_out = surg_graph_output_count(g)};
  int64_t *twice = surg__calloc(ctx, n, sizeof *twice);
  surg_status r = twice ? SURG_OK : SURG_ENOMEM;
  *why = 0;
  for (int k = 0; k < 3; k++) {
    s.in[k] = surg__calloc(ctx, s.n_in + 1, sizeof(surg__array));
    s.out[k] = surg__calloc(ctx, s.n_out + 1, sizeof(surg__array));
    if (!s.in[k] || !s.out[k]) r = SURG_ENOMEM;
  }
  for (size_t i = 0; twice && i < n; i++) {
    twice[i] = at[i];
    if (strcmp(symbols[i], symbols[batch]) == 0 && !surg__mul_i64(at[i], 2, &twice[i]))
      r = SURG_EUSAGE;
  }
  const sizes doubled_sizes = {symbols, twice, n};
  if (r == SURG_OK) r = run_three(&s, &doubled_sizes, why, room);
  for (size_t i = 0; i < s.n_out && r == SURG_OK; i++) r = same_output(&s, i, why, room);
  for (int k = 0; k < 3; k++) {
    drop(ctx, s.in[k], s.n_in);
    drop(ctx, s.out[k], s.n_out);
  }
  surg__free(ctx, twice);
  return r;
}
