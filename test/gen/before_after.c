/* SPDX-License-Identifier: Apache-2.0 */
/* before_after [FIRST [COUNT]]: random models before and after random pipelines, run on adversarial
 * inputs: what a pass leaves must verify and compute the same. A model whose original does not run
 * on an input set proves nothing by it; those are counted with their reason. On a difference the
 * seed, the pipeline and the first differing output are printed.
 *
 * Results are compared bit for bit (any NaN equals any NaN) where the run used exact rewrites; a
 * fold that rounds is compared with the kernels it was folded with, so that those bits agree too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/dtype.h"
#include "eval/interpret.h"
#include "gen.h"
#include "pass/pass.h"
#include "run/run.h"

#define INPUT_SETS 3
#define MAX_BYTES (64u << 20)
#define MAX_WORK (1ull << 28)
#define REASONS 64

static const char *const pipelines[] = {
    "fold,prune", "fold{max-growth=inf},prune,identity", "prune,identity,prune", "identity,fold,prune",
    "toposort,names{all},prune", "repeat{max=4}(fold{max-growth=inf},identity,prune)",
    "fold{constants},prune", "ir{to=10},fold,prune"};

typedef struct reason {
  const char *why;
  size_t count;
} reason;

static reason reasons[REASONS];
static size_t n_reasons, checks, differences, unchecked;

static void not_checked(const char *why) {
  unchecked++;
  if (!why) why = "no reason given";
  for (size_t i = 0; i < n_reasons; i++) {
    if (strcmp(reasons[i].why, why) != 0) continue;
    reasons[i].count++;
    return;
  }
  if (n_reasons < REASONS) reasons[n_reasons++] = (reason){why, 1};
}

static uint64_t next_random(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Set 0 is tame; the others mix in the values that rewrites go wrong on. */
static double draw_real(uint64_t *state, unsigned set) {
  static const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, 6.0, 1e30, -1e30, 1e-40, 2.5};
  uint64_t r = next_random(state);
  if (set && r % 3 == 0) {
    size_t k = (r >> 8) % (SURG_COUNT(edges) + (set > 1 ? 3 : 0));
    if (k < SURG_COUNT(edges)) return edges[k];
    return k == SURG_COUNT(edges) ? __builtin_nan("") : k % 2 ? __builtin_inf() : -__builtin_inf();
  }
  return (double)(int64_t)(r >> 12) / 2251799813685248.0 * 2.0 - 2.0;
}

static void fill(surg__array *a, uint64_t *state, unsigned set) {
  for (uint64_t i = 0; i < a->count; i++) {
    double x = draw_real(state, set);
    int64_t n = (int64_t)(next_random(state) % 5) - (set ? 2 : 0);
    switch (a->dtype) {
      case SURG_FLOAT: ((float *)a->data)[i] = (float)x; break;
      case SURG_DOUBLE: ((double *)a->data)[i] = x; break;
      case SURG_FLOAT16: ((uint16_t *)a->data)[i] = surg__double_to_half(x); break;
      case SURG_BFLOAT16: ((uint16_t *)a->data)[i] = surg__double_to_bf16(x); break;
      case SURG_INT64: ((int64_t *)a->data)[i] = n; break;
      case SURG_INT32: ((int32_t *)a->data)[i] = (int32_t)n; break;
      case SURG_INT16: ((int16_t *)a->data)[i] = (int16_t)n; break;
      case SURG_INT8: ((int8_t *)a->data)[i] = (int8_t)n; break;
      case SURG_BOOL: ((uint8_t *)a->data)[i] = (uint8_t)(n & 1); break;
      case SURG_STRING: ((surg_str *)a->data)[i] = n & 1 ? (surg_str){"a", 1} : (surg_str){"bc", 2}; break;
      case SURG_UINT64: ((uint64_t *)a->data)[i] = (uint64_t)n & 7; break;
      case SURG_UINT32: ((uint32_t *)a->data)[i] = (uint32_t)n & 7; break;
      case SURG_UINT16: ((uint16_t *)a->data)[i] = (uint16_t)(n & 7); break;
      default: ((uint8_t *)a->data)[i] = (uint8_t)(n & 1); break;
    }
  }
}

/* Symbols take one size each: N, M, B of the generator, shifted by the input set. */
static int64_t size_of(const surg_dim *d, unsigned set) {
  static const int64_t sizes[] = {3, 2, 4};
  if (d->value >= 0) return d->value;
  const char *at = d->param ? strchr("NMB", d->param[0]) : NULL;
  return sizes[at ? at - "NMB" : 0] + (set == 2);
}

/* Random inputs of a model; defaults are left to the model half of the time. */
static bool make_inputs(surg_graph *g, surg__arena *arena, unsigned set, uint64_t seed, surg__array *in) {
  uint64_t state = seed * 31 + set;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    in[i] = (surg__array){.dtype = SURG_UNDEFINED};
    if (surg_value_is_initializer(v)) continue;
    if (!t || !surg_type_has_rank(t)) return false;
    uint32_t rank = (uint32_t)surg_type_rank(t);
    int64_t *dims = surg__arena_array(arena, rank + 1, sizeof *dims);
    if (!dims) return false;
    for (uint32_t k = 0; k < rank; k++) {
      surg_dim d = surg_type_dim(t, k);
      dims[k] = size_of(&d, set);
    }
    uint64_t count;
    if (!surg__dims_product(dims, rank, &count)) return false;
    int dtype = surg_type_dtype(t);
    void *data = surg__arena_array(arena, count + 1, surg__dtype_unpacked(dtype));
    if (!data) return false;
    in[i] = (surg__array){dtype, rank, dims, count, data};
    fill(&in[i], &state, set);
  }
  return true;
}

/* NULL: equal, bit for bit. */
static const char *difference(const surg__array *a, const surg__array *b) {
  static char why[200];
  const surg__tolerance exact = {.signs = true};
  surg__distance d;
  if (surg__value_compare(b, a, &exact, &d)) return NULL;
  snprintf(why, sizeof why, "%s", d.why);
  return why;
}

/* Inputs of `after` by name: a pass may have dropped or moved some, never added any. */
static bool match_inputs(surg_graph *before, const surg__array *in, surg_graph *after, surg__array *out) {
  for (size_t i = 0; i < surg_graph_input_count(after); i++) {
    const char *name = surg_value_name(surg_graph_input(after, i));
    size_t k = 0;
    while (k < surg_graph_input_count(before) &&
           strcmp(surg_value_name(surg_graph_input(before, k)), name) != 0)
      k++;
    if (k == surg_graph_input_count(before)) return false;
    out[i] = in[k];
  }
  return true;
}

static void differs(uint64_t seed, const char *pipeline, const char *what, const char *where) {
  differences++;
  printf("seed %llu, %s: %s%s%s\n", (unsigned long long)seed, pipeline, what, where ? " of " : "",
         where ? where : "");
}

/* One input set through both models. */
static void compare(surg_model *before, surg_model *after, uint64_t seed, const char *pipeline,
                    unsigned set, surg__arena *arena) {
  surg_graph *a = surg_model_graph(before), *b = surg_model_graph(after);
  size_t n_out = surg_graph_output_count(a);
  surg__array *in = surg__arena_array(arena, surg_graph_input_count(a) + 1, sizeof *in);
  surg__array *given = surg__arena_array(arena, surg_graph_input_count(b) + 1, sizeof *given);
  surg__array *x = surg__arena_array(arena, n_out + 1, sizeof *x);
  surg__array *y = surg__arena_array(arena, n_out + 1, sizeof *y);
  const char *why = NULL;
  if (!in || !given || !x || !y || !make_inputs(a, arena, set, seed, in)) {
    not_checked("inputs could not be made");
    return;
  }
  if (surg__interpret(before, arena, in, x, MAX_BYTES, MAX_WORK, &why, NULL) != SURG_OK) {
    not_checked(why);
    return;
  }
  checks++;
  if (surg_graph_output_count(b) != n_out || !match_inputs(a, in, b, given)) {
    differs(seed, pipeline, "another interface", NULL);
    return;
  }
  if (surg__interpret(after, arena, given, y, MAX_BYTES, MAX_WORK, &why, NULL) != SURG_OK) {
    differs(seed, pipeline, why ? why : "does not run", NULL);
    return;
  }
  for (size_t i = 0; i < n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(a, i));
    const char *what = difference(&x[i], &y[i]);
    if (strcmp(name, surg_value_name(surg_graph_output(b, i))) != 0) what = "another name";
    if (!what) continue;
    differs(seed, pipeline, what, name);
    return;
  }
}

static surg_status transform(surg_model **m, const char *text) {
  surg_context *ctx = surg_model_context(*m);
  surg_registry *r = surg__registry(ctx);
  surg__pipeline *p = NULL;
  surg_status s = r ? surg__register_builtins(r) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg__pipeline_parse(ctx, text, "test", &p);
  surg__run_options options = {.verify_each = true};
  if (s == SURG_OK) s = surg__run(m, p, &options, NULL);
  surg__pipeline_free(p);
  return s;
}

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  if (severity == SURG_ERROR) printf("%s\n", line);
}

static void one(uint64_t seed) {
  surg_config config = {.size = sizeof config, .diag = print_line, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  gen_options options = {.seed = seed};
  surg_model *before = ctx ? gen_model(ctx, &options) : NULL;
  surg_model *after = surg_model_clone(before);
  const char *pipeline = pipelines[seed % SURG_COUNT(pipelines)];
  /* Raising the IR version is refused where the file is newer already. */
  if (strncmp(pipeline, "ir", 2) == 0 && surg_model_ir_version(before) > 10) pipeline = pipelines[0];
  if (!before || !after) {
    differs(seed, pipeline, "no model was made", NULL);
  } else if (transform(&after, pipeline) != SURG_OK) {
    differs(seed, pipeline, "the pipeline fails", NULL);
    after = NULL;
  } else {
    for (unsigned set = 0; set < INPUT_SETS; set++) {
      surg__arena arena;
      surg__arena_init(&arena, ctx);
      compare(before, after, seed, pipeline, set, &arena);
      surg__arena_free(&arena);
    }
  }
  surg_model_free(after);
  surg_model_free(before);
  surg_context_free(ctx);
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
  const char *more = getenv("ONNXSURG_GRAPHS");
  if (more) count = strtoull(more, NULL, 10);
  for (uint64_t i = 0; i < count; i++) one(first + i);
  printf("%llu graphs: %zu runs compared, %zu differ, %zu not checked\n", (unsigned long long)count,
         checks, differences, unchecked);
  for (size_t i = 0; i < n_reasons; i++) printf("  not checked: %zu: %s\n", reasons[i].count, reasons[i].why);
  return differences || checks < count ? EXIT_FAILURE : EXIT_SUCCESS;
}
