/* SPDX-License-Identifier: Apache-2.0 */
/* wild [--seed N] [--count N] FOLDER: writes wild models, what pipelines make of them, and inputs,
 * and prints a line of JSON for each model:
 *   {"seed", "model": FILE, "after": [{"with": PIPELINE, "file": FILE, "class"} or {"with",
 * "why"}], "runs": [{NAME: {"type", "dims", "data": base64}}]} One seed, one line. Pipelines:
 * simplify, simplify-exact, and moves to three opsets. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "gen_core.h"
#include "pass/pass.h"

#define RUNS 4
#define MOVES 3
#define OPSET_FIRST 7
#define OPSET_LAST 21

static void quoted(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

static void base64(const uint8_t *b, size_t n) {
  static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  putchar('"');
  for (size_t i = 0; i < n; i += 3) {
    const uint32_t v = (uint32_t)b[i] << 16 | (i + 1 < n ? (uint32_t)b[i + 1] << 8 : 0) |
                       (i + 2 < n ? b[i + 2] : 0);
    putchar(set[v >> 18]);
    putchar(set[v >> 12 & 63]);
    putchar(i + 1 < n ? set[v >> 6 & 63] : '=');
    putchar(i + 2 < n ? set[v & 63] : '=');
  }
  putchar('"');
}

/* Sizes of symbols in each run: N, M, B, any, one or N. */
static const int64_t sizes[RUNS][GEN_SYMBOL_FIRST] = {
    {0, 3, 2, 4, 2, 3}, {0, 1, 1, 1, 1, 1}, {0, 3, 2, 1, 5, 1}, {0, 0, 2, 3, 1, 1}};

/* Input dims by name of the symbol: those without a name are told by the model's values. */
typedef struct inputs {
  gen_value items[16];
  size_t count;
} inputs;

static void keep_input(void *user, const gen_value *v) {
  inputs *in = user;
  if (v->v && surg_value_is_input(v->v) && !surg_graph_parent(surg_value_graph(v->v)) &&
      in->count < 16)
    in->items[in->count++] = *v;
}

static const char *type_name(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
      return "float32";
    case SURG_DOUBLE:
      return "float64";
    case SURG_FLOAT16:
      return "float16";
    case SURG_INT64:
      return "int64";
    case SURG_INT32:
      return "int32";
    case SURG_BOOL:
      return "bool";
    default:
      return "uint8";
  }
}

/* Runs 0 and 2 are tame: quarters that sums keep; 1 and 3 are not. */
static void element(gen *g, int dtype, unsigned run, uint8_t *at) {
  const int v = (int)gen_below(g, 25) - 12;
  const float f = (float)v / 4;
  const double d = v / 4.0;
  static const uint16_t half[] = {0x0000, 0x3c00, 0xbc00, 0x3800, 0xb800, 0x4000, 0xc000, 0x4200};
  if (run & 1 && gen_chance(g, 30))
    gen_put_extreme(g, dtype, at);
  else if (dtype == SURG_FLOAT)
    memcpy(at, &f, 4);
  else if (dtype == SURG_DOUBLE)
    memcpy(at, &d, 8);
  else if (dtype == SURG_FLOAT16)
    memcpy(at, &half[gen_below(g, 8)], 2);
  else if (dtype == SURG_INT64)
    memcpy(at, &(int64_t){v / 3}, 8);
  else if (dtype == SURG_INT32)
    memcpy(at, &(int32_t){v / 3}, 4);
  else
    *at = dtype == SURG_BOOL ? (uint8_t)gen_below(g, 2) : (uint8_t)(v + 12);
}

static void print_input(gen *g, const gen_value *v, unsigned run) {
  uint64_t count = 1;
  quoted(surg_value_name(v->v));
  printf(":{\"type\":\"%s\",\"dims\":[", type_name(v->dtype));
  for (unsigned i = 0; i < v->rank; i++) {
    const int64_t n = v->dims[i].symbol ? sizes[run][v->dims[i].symbol] : v->dims[i].n;
    printf("%s%lld", i ? "," : "", (long long)n);
    count *= (uint64_t)n;
  }
  const size_t size = gen_element_size(v->dtype);
  uint8_t *bytes = calloc((size_t)count + 1, size);
  if (!bytes) abort();
  for (uint64_t k = 0; k < count; k++) element(g, v->dtype, run, bytes + k * size);
  printf("],\"data\":");
  base64(bytes, (size_t)count * size);
  putchar('}');
  free(bytes);
}

static void print_runs(gen *g, const inputs *in) {
  printf(",\"runs\":[");
  for (unsigned r = 0; r < RUNS; r++) {
    printf("%s{", r ? "," : "");
    for (size_t i = 0; i < in->count; i++) {
      if (i) putchar(',');
      print_input(g, &in->items[i], r);
    }
    putchar('}');
  }
  putchar(']');
}

#define WHY 400

static void first_error(void *user, surg_severity severity, const char *line) {
  char *why = user;
  if (severity == SURG_ERROR && !*why) snprintf(why, WHY, "%s", line);
}

static bool save(surg_model *m, const char *path) {
  const surg_save_options options = {.size = sizeof options, .no_fsync = true};
  return surg_save(m, path, &options) == SURG_OK;
}

/* One pipeline on a copy of the model. */
static void after(surg_model *before, const char *text, const char *path, const char *name,
                  char *why) {
  surg_model *m = surg_model_clone(before);
  surg__pipeline *p = NULL;
  surg__run_report report = {0};
  const surg__run_options options = {.verify_each = true};
  *why = 0;
  surg_status s = m ? surg__pipeline_parse(surg_model_context(m), text, "wild", &p) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg__run(&m, p, &options, &report);
  printf("{\"with\":");
  quoted(text);
  if (s == SURG_OK && save(m, path)) {
    printf(",\"class\":\"%s\",\"file\":", surg__exactness_name(report.worst));
    quoted(name);
  } else {
    printf(",\"why\":");
    quoted(*why ? why : surg_status_name(s));
  }
  putchar('}');
  surg__run_report_free(&report);
  surg__pipeline_free(p);
  surg_model_free(m);
}

static bool one(uint64_t seed, const char *folder) {
  char why[WHY] = "", path[4096], name[64], text[64];
  surg_config config = {.size = sizeof config, .diag = first_error, .diag_user = why, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  inputs in = {.count = 0};
  gen_options options = {.seed = seed, .wild = true, .seen = keep_input, .user = &in};
  surg_registry *passes = ctx ? surg__registry(ctx) : NULL;
  const bool there = passes && surg__register_builtins(passes) == SURG_OK;
  surg_model *m = there ? gen_model(ctx, &options) : NULL;
  gen g = {.state = ~seed};
  snprintf(name, sizeof name, "w%llu.onnx", (unsigned long long)seed);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  bool ok = m && save(m, path);
  if (!ok) {
    printf("{\"seed\":%llu,\"why\":", (unsigned long long)seed);
    quoted(why);
  } else {
    printf("{\"seed\":%llu,\"model\":\"%s\",\"after\":[", (unsigned long long)seed, name);
    unsigned to = gen_below(&g, OPSET_LAST - OPSET_FIRST + 1);
    for (unsigned i = 0; i < 2 + MOVES; i++) {
      if (i < 2)
        snprintf(text, sizeof text, "%s", i ? "simplify-exact" : "simplify");
      else
        snprintf(text, sizeof text, "opset{to=%u}", OPSET_FIRST + to);
      to = (to + 1 + gen_below(&g, 7)) % (OPSET_LAST - OPSET_FIRST + 1);
      snprintf(name, sizeof name, "w%llu.%u.onnx", (unsigned long long)seed, i);
      snprintf(path, sizeof path, "%s/%s", folder, name);
      if (i) putchar(',');
      after(m, text, path, name, why);
    }
    putchar(']');
    print_runs(&g, &in);
  }
  printf("}\n");
  surg_model_free(m);
  surg_context_free(ctx);
  return ok;
}

int main(int argc, char **argv) {
  uint64_t first = 1, count = 1, failed = 0;
  const char *folder = NULL;
  for (int i = 1; i < argc; i++) {
    const bool more = i + 1 < argc;
    if (more && strcmp(argv[i], "--seed") == 0)
      first = strtoull(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--count") == 0)
      count = strtoull(argv[++i], NULL, 10);
    else
      folder = argv[i];
  }
  if (!folder) {
    fprintf(stderr, "usage: wild [--seed N] [--count N] FOLDER\n");
    return EXIT_FAILURE;
  }
  for (uint64_t i = 0; i < count; i++) failed += !one(first + i, folder);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
