/* SPDX-License-Identifier: Apache-2.0 */
/* wild [--seed N] [--count N] [--kind K] [--alone] FOLDER: writes wild models, what pipelines make
 * of them, and inputs, and prints a line of JSON for each model:
 *   {"seed", "model": FILE, "shapes": {OUTPUT: [[SIZE, or -1 if elements decide] of each run]},
 *    "after": [{"with": PIPELINE, "file": FILE, "class"} or {"with", "why"}],
 *    "runs": [{NAME: {"type", "dims", "data": base64}}]}
 * One seed, one line. Pipelines: simplify, simplify-exact, and moves to three opsets; with --alone,
 * single passes and presets that the seed chooses. --kind: half of the nodes are of one table of
 * operators (gen_kind). Shapes are those of the standard.
 *
 * wild --seed N --probe OUTPUT FOLDER: writes the model with more outputs: inputs of the operators
 * that OUTPUT is computed from and that give NaN an order of their own. Prints
 *   {"model": FILE, "probe": {VALUE: OPERATOR}}
 *
 * wild --seed N --nudge OUTPUT FOLDER: writes the model with every float that an operator reads on
 * the way to OUTPUT moved by a random part of its last bits, other ones in each run: how far
 * rounding alone can move OUTPUT. Prints {"model": FILE}
 *
 * wild --apply PIPELINE MODEL FILE: one pipeline on a file; prints {"with", "file", "class"} or
 * {"with", "why"}.
 *
 * wild --screen LIBRARY: judges models in this process (wild_screen.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "gen_core.h"
#include "pass/pass.h"
#include "wild.h"

#define MOVES 3
#define ALONE WILD_PIPELINES /* of a model with --alone */
#define OPSET_FIRST 7
#define OPSET_LAST 21

void wild_quoted(const char *text) {
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
static const int64_t sizes[WILD_RUNS][GEN_SYMBOL_FIRST] = {{0, 3, 2, 4, 2, 3},
                                                      {0, 1, 1, 1, 1, 1},
                                                      {0, 3, 2, 1, 5, 1},
                                                      {0, 0, 2, 3, 1, 1},
                                                      {0, 2, 0, 1, 0, 2}};

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

/* Runs 0, 2 and 4 are tame: quarters that sums keep; 1 and 3 are not. */
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

uint8_t *wild_draw(gen *g, const gen_value *v, unsigned run, int64_t dims[GEN_RANK], size_t *n) {
  const size_t size = gen_element_size(v->dtype);
  size_t count = 1;
  for (unsigned i = 0; i < v->rank; i++) {
    dims[i] = v->dims[i].symbol ? sizes[run][v->dims[i].symbol] : v->dims[i].n;
    count *= (size_t)dims[i];
  }
  uint8_t *bytes = calloc(count + 1, size);
  if (!bytes) abort();
  for (size_t k = 0; k < count; k++) element(g, v->dtype, run, bytes + k * size);
  *n = count * size;
  return bytes;
}

static void print_input(gen *g, const gen_value *v, unsigned run) {
  int64_t dims[GEN_RANK];
  size_t n;
  uint8_t *bytes = wild_draw(g, v, run, dims, &n);
  wild_quoted(surg_value_name(v->v));
  printf(":{\"type\":\"%s\",\"dims\":[", type_name(v->dtype));
  for (unsigned i = 0; i < v->rank; i++) printf("%s%lld", i ? "," : "", (long long)dims[i]);
  printf("],\"data\":");
  base64(bytes, n);
  putchar('}');
  free(bytes);
}

static void see(void *user, const gen_value *v) {
  wild_seen *s = user;
  if (!v->v || surg_graph_parent(surg_value_graph(v->v))) return;
  if (surg_value_is_input(v->v) && !surg_value_initializer(v->v) && s->inputs < WILD_INPUTS)
    s->input[s->inputs++] = *v;
  if (s->count < WILD_SEEN) s->items[s->count++] = *v;
}

static void print_shapes(const surg_model *m, const wild_seen *s) {
  const surg_graph *g = surg_model_graph(m);
  bool any = false;
  printf(",\"shapes\":{");
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    for (size_t k = 0; k < s->count; k++) {
      const gen_value *v = &s->items[k];
      if (v->v != surg_graph_output(g, i)) continue;
      if (any) putchar(',');
      any = true;
      wild_quoted(surg_value_name(v->v));
      for (unsigned r = 0; r < WILD_RUNS; r++) {
        printf(r ? ",[" : ":[[");
        for (unsigned d = 0; d < v->rank; d++) {
          const unsigned at = v->dims[d].symbol;
          const int64_t size = at >= GEN_SYMBOL_FIRST ? -1 : at ? sizes[r][at] : v->dims[d].n;
          printf("%s%lld", d ? "," : "", (long long)size);
        }
        putchar(']');
      }
      putchar(']');
      break;
    }
  putchar('}');
}

static void print_runs(gen *g, const wild_seen *in) {
  printf(",\"runs\":[");
  for (unsigned r = 0; r < WILD_RUNS; r++) {
    printf("%s{", r ? "," : "");
    for (size_t i = 0; i < in->inputs; i++) {
      if (i) putchar(',');
      print_input(g, &in->input[i], r);
    }
    putchar('}');
  }
  putchar(']');
}

static void first_error(void *user, surg_severity severity, const char *line) {
  char *why = user;
  if (severity == SURG_ERROR && !*why) snprintf(why, WILD_WHY, "%s", line);
}

/* Tensors of some models are beside them; small ones are not, which runtimes read at load. */
#define BESIDE_EVERY 29
#define BESIDE_BYTES 68

static bool save(surg_model *m, const char *path, bool beside) {
  surg_save_options options = {.size = sizeof options, .no_fsync = true};
  char data[64];
  const char *name = strrchr(path, '/');
  snprintf(data, sizeof data, "%.50s.data", name ? name + 1 : path);
  if (beside) {
    options.external_data = data;
    options.external_threshold = BESIDE_BYTES;
  }
  return surg_model_save(m, path, &options) == SURG_OK;
}

surg_model *wild_apply(surg_model *before, const char *text, bool *exact, char *why) {
  surg_model *m = surg_model_clone(before);
  surg__pipeline *p = NULL;
  surg__run_report report = {0};
  const surg__run_options options = {.verify_each = true};
  *why = 0;
  surg_status s = m ? surg__pipeline_parse(surg_model_context(m), text, "wild", &p) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg__run(&m, p, &options, &report);
  printf("{\"with\":");
  wild_quoted(text);
  if (s != SURG_OK) {
    printf(",\"why\":");
    wild_quoted(*why ? why : surg_status_name(s));
    surg_model_free(m);
    m = NULL;
  } else {
    printf(",\"class\":\"%s\"", surg__exactness_name(report.worst));
  }
  *exact = report.worst == SURG_EXACT;
  surg__run_report_free(&report);
  surg__pipeline_free(p);
  return m;
}

/* One pipeline on a copy of the model, to a file. */
static bool after(surg_model *before, const char *text, const char *path, const char *name,
                  char *why) {
  bool exact;
  surg_model *m = wild_apply(before, text, &exact, why);
  const bool ok = m && save(m, path, false);
  if (ok) {
    printf(",\"file\":");
    wild_quoted(name);
  } else if (m) {
    printf(",\"why\":\"not written\"");
  }
  putchar('}');
  surg_model_free(m);
  return ok;
}

/* What one call of the program is asked for. */
typedef struct asked {
  const char *folder, *output, *kind, *library;
  bool nudge, alone;
} asked;

unsigned wild_pipelines(gen *g, const surg_model *m, bool alone,
                        char text[WILD_PIPELINES][WILD_TEXT]) {
  unsigned to = gen_below(g, OPSET_LAST - OPSET_FIRST + 1), n = alone ? ALONE : 2 + MOVES;
  for (unsigned i = 0; i < n; i++) {
    if (alone)
      wild_alone(g, m, text[i]);
    else if (i < 2)
      snprintf(text[i], WILD_TEXT, "%s", i ? "simplify-exact" : "simplify");
    else
      snprintf(text[i], WILD_TEXT, "opset{to=%u}", OPSET_FIRST + to);
    to = (to + 1 + gen_below(g, 7)) % (OPSET_LAST - OPSET_FIRST + 1);
  }
  return n;
}

static void print_pipelines(gen *g, surg_model *m, uint64_t seed, const asked *q) {
  char text[WILD_PIPELINES][WILD_TEXT], why[WILD_WHY], path[4096], name[64];
  const unsigned n = wild_pipelines(g, m, q->alone, text);
  printf("\"after\":[");
  for (unsigned i = 0; i < n; i++) {
    snprintf(name, sizeof name, "w%llu.%u.onnx", (unsigned long long)seed, i);
    snprintf(path, sizeof path, "%s/%s", q->folder, name);
    if (i) putchar(',');
    (void)after(m, text[i], path, name, why);
  }
  putchar(']');
}

surg_model *wild_model(uint64_t seed, const char *kind, char *why, wild_seen *known, gen *drawn) {
  surg_config config = {.size = sizeof config, .diag = first_error, .diag_user = why, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  gen_options options = {.seed = seed, .wild = true, .kind = kind, .seen = see, .user = known};
  *why = 0;
  known->count = known->inputs = 0;
  *drawn = (gen){.state = ~seed};
  surg_model *m = surg_context_passes(ctx) ? gen_model(ctx, &options) : NULL;
  if (!m) {
    printf("{\"seed\":%llu,\"why\":", (unsigned long long)seed);
    wild_quoted(why);
    printf("}\n");
    surg_context_free(ctx);
  }
  return m;
}

void wild_free(surg_model *m) {
  surg_context *ctx = surg_model_context(m);
  surg_model_free(m);
  surg_context_free(ctx);
}

static bool one(uint64_t seed, const asked *q) {
  static wild_seen known;
  char why[WILD_WHY], path[4096], name[64];
  gen g;
  surg_model *m = wild_model(seed, q->kind, why, &known, &g);
  if (!m) return false;
  snprintf(name, sizeof name, "w%llu.onnx", (unsigned long long)seed);
  snprintf(path, sizeof path, "%s/%s", q->folder, name);
  if (q->output) wild_probe(m, q->output, q->nudge, name);
  const bool ok = save(m, path, !q->output && seed % BESIDE_EVERY == 0);
  if (!q->output && !ok) {
    printf("{\"seed\":%llu,\"why\":", (unsigned long long)seed);
    wild_quoted(why);
    printf("}\n");
  } else if (!q->output) {
    printf("{\"seed\":%llu,\"model\":\"%s\",", (unsigned long long)seed, name);
    print_pipelines(&g, m, seed, q);
    print_shapes(m, &known);
    print_runs(&g, &known);
    printf("}\n");
  }
  wild_free(m);
  return ok;
}

static int apply(const char *text, const char *from, const char *to) {
  char why[WILD_WHY] = "";
  surg_config config = {.size = sizeof config, .diag = first_error, .diag_user = why};
  surg_context *ctx = surg_context_new(&config);
  surg_model *m = NULL;
  bool ok = surg_context_passes(ctx) != NULL;
  ok = ok && surg_model_load(ctx, from, NULL, &m) == SURG_OK && after(m, text, to, to, why);
  if (!m) {
    printf("{\"why\":");
    wild_quoted(why);
    putchar('}');
  }
  putchar('\n');
  surg_model_free(m);
  surg_context_free(ctx);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  uint64_t first = 1, count = 1, failed = 0;
  asked q = {.folder = NULL};
  if (argc == 5 && strcmp(argv[1], "--apply") == 0) return apply(argv[2], argv[3], argv[4]);
  for (int i = 1; i < argc; i++) {
    const bool more = i + 1 < argc;
    if (more && strcmp(argv[i], "--seed") == 0) {
      first = strtoull(argv[++i], NULL, 10);
    } else if (more && strcmp(argv[i], "--count") == 0) {
      count = strtoull(argv[++i], NULL, 10);
    } else if (more && (strcmp(argv[i], "--probe") == 0 || strcmp(argv[i], "--nudge") == 0)) {
      q.nudge = argv[i][2] == 'n';
      q.output = argv[++i];
    } else if (more && strcmp(argv[i], "--screen") == 0) {
      q.library = argv[++i];
    } else if (more && strcmp(argv[i], "--kind") == 0) {
      q.kind = argv[++i];
    } else if (strcmp(argv[i], "--alone") == 0) {
      q.alone = true;
    } else {
      q.folder = argv[i];
    }
  }
  if (!(q.folder || q.library) || (q.kind && !gen_kind(q.kind))) {
    fprintf(stderr,
            "usage: wild [--seed N] [--count N] [--kind K] [--alone] FOLDER\n"
            "       wild --seed N [--kind K] --probe OUTPUT FOLDER\n"
            "       wild --seed N [--kind K] --nudge OUTPUT FOLDER\n"
            "       wild --apply PIPELINE MODEL FILE\n"
            "       wild --screen LIBRARY [--seed N] [--count N] [--kind K] [--alone]\n");
    return EXIT_FAILURE;
  }
  if (q.library) return wild_screen(q.library, first, count, q.kind, q.alone);
  for (uint64_t i = 0; i < count; i++) failed += !one(first + i, &q);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
