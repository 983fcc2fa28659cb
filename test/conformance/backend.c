/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models against the expected outputs of ONNX's backend test suite.
 *
 *   backend [--least N] [DIR...]
 *
 * Every folder below the DIRs (else those of ONNXSURG_BACKEND, separated by colons, else where
 * Debian's libonnx-testdata lies) that holds model.onnx and test_data_set_*: the interpreter runs
 * the model on input_k.pb, and its outputs are compared with output_k.pb. Prints counts for each
 * part of the suite, and each case that fails with the reason. Cases whose expected result is
 * random or known to be wrong are counted apart, by name, in `apart` below.
 *
 * Exit 1 when a case fails that is not apart, or fewer than N pass; 77 when there is no data. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "suite.h"

#define MAX_BYTES (1ull << 31)
#define MAX_WORK (1ull << 36)
#define PARTS 16

enum { PASS, CLOSE, FAIL, APART, KINDS };

typedef struct part {
  char name[64];
  unsigned n[KINDS];
} part;

typedef struct report {
  surg_context *ctx;
  part parts[PARTS];
  size_t n_parts;
  unsigned cases;
} report;

static const struct {
  const char *name, *why;
} apart[] = {
    {"bernoulli", "numbers of one random generator"},
    {"FLOAT_to_BFLOAT16", "before onnx 1.13 the expected result was cut off, not rounded"},
};

static const char *apart_because(const char *set) {
  for (size_t i = 0; i < SURG_COUNT(apart); ++i) {
    if (strstr(set, apart[i].name)) return apart[i].why;
  }
  return NULL;
}

/* The folder around the folder of the model: node, simple, ... */
static part *part_of(report *r, const char *model) {
  char name[sizeof r->parts[0].name] = "";
  const char *end = strrchr(model, '/'), *start = NULL;
  for (int up = 0; end && up < 2; ++up) {
    const char *p = end;
    while (p > model && p[-1] != '/') --p;
    start = p;
    if (up == 0) end = p > model ? p - 1 : NULL;
  }
  if (start && end) snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
  size_t i = 0;
  while (i < r->n_parts && strcmp(r->parts[i].name, name) != 0) ++i;
  if (i == r->n_parts && r->n_parts + 1 < PARTS) {
    memcpy(r->parts[r->n_parts++].name, name, sizeof name);
  }
  return &r->parts[i];
}

static int give_up(char *why, size_t n, const char *text) {
  snprintf(why, n, "%s", text);
  return FAIL;
}

static const surg_type *output_type(const surg_graph *g, size_t i) {
  const surg_type *t = surg_graph_output_type(g, i);
  return t ? t : surg_value_declared_type(surg_graph_output(g, i));
}

static int read_inputs(report *r, const surg_graph *g, const char *set, surg__array *in, char *why,
                       size_t n) {
  for (size_t i = 0; i < surg_graph_input_count(g); ++i) {
    const surg_value *v = surg_graph_input(g, i);
    char *path = suite_file(set, "input", i);
    surg_status s = suite_read(r->ctx, path, surg_value_declared_type(v), &in[i]);
    free(path);
    if (s == SURG_OK || (s == SURG_ENOTFOUND && surg_value_is_initializer(v))) continue;
    return give_up(why, n, s == SURG_ENOTFOUND ? "an input has no data" : "an input is no value");
  }
  return PASS;
}

static int compare(report *r, const surg_graph *g, const char *set, const surg__array *out,
                   char *why, size_t n) {
  int kind = PASS;
  for (size_t i = 0; i < surg_graph_output_count(g); ++i) {
    surg__array want = {0};
    char text[200], *path = suite_file(set, "output", i);
    surg_status s = suite_read(r->ctx, path, output_type(g, i), &want);
    free(path);
    if (s != SURG_OK) return give_up(why, n, "an output file is no value");
    suite_match match = suite_compare(&out[i], &want, text, sizeof text);
    surg__array_drop(&want);
    if (match == SUITE_SAME) continue;
    snprintf(why, n, "output %zu: %s", i, text);
    if (match == SUITE_DIFFERS) return FAIL;
    kind = CLOSE;
  }
  return kind;
}

static int run(report *r, surg_model *m, const char *set, char *why, size_t n) {
  surg_graph *g = surg_model_graph(m);
  size_t n_in = surg_graph_input_count(g), n_out = surg_graph_output_count(g);
  surg__array *in = calloc(n_in + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
  surg__session session = {.max_bytes = MAX_BYTES, .max_work = MAX_WORK};
  if (!in || !out) abort();
  int kind = read_inputs(r, g, set, in, why, n);
  if (kind == PASS) {
    surg_status s = surg__session_run(&session, m, in, out);
    if (s == SURG_OK) {
      kind = compare(r, g, set, out, why, n);
    } else {
      kind = FAIL;
      snprintf(why, n, "%s: %s", session.at ? surg_node_op_type(session.at) : "the model",
               session.why ? session.why : surg_status_name(s));
    }
  }
  for (size_t i = 0; i < n_in; ++i) surg__array_drop(&in[i]);
  for (size_t i = 0; i < n_out; ++i) surg__array_drop(&out[i]);
  free(in);
  free(out);
  return kind;
}

static void one_case(void *user, const char *model, const char *set) {
  report *r = user;
  surg_model *m = NULL;
  char why[256] = "";
  int kind = FAIL;
  surg_context_clear_error(r->ctx);
  if (surg_load(r->ctx, model, NULL, &m) == SURG_OK) {
    kind = run(r, m, set, why, sizeof why);
  } else {
    const char *error = surg_context_error(r->ctx);
    snprintf(why, sizeof why, "not loaded: %s", error ? error : "");
  }
  surg_model_free(m);
  const char *because = apart_because(set);
  if (kind == FAIL && because) kind = APART;
  ++part_of(r, model)->n[kind];
  ++r->cases;
  if (kind == FAIL) printf("FAIL %s: %s\n", set, why);
  if (kind == APART) printf("apart %s: %s\n", set, because);
  if (kind == CLOSE) printf("close %s: %s\n", set, why);
}

static int print_report(const report *r, unsigned least) {
  unsigned sum[KINDS] = {0};
  printf("%-24s %6s %6s %6s %6s\n", "part", "pass", "close", "fail", "apart");
  for (size_t i = 0; i < r->n_parts; ++i) {
    const part *p = &r->parts[i];
    for (int k = 0; k < KINDS; ++k) sum[k] += p->n[k];
    printf("%-24s %6u %6u %6u %6u\n", p->name, p->n[PASS], p->n[CLOSE], p->n[FAIL], p->n[APART]);
  }
  printf("%u cases: %u pass, %u are close, %u fail, %u apart\n", r->cases, sum[PASS], sum[CLOSE],
         sum[FAIL], sum[APART]);
  return sum[FAIL] > 0 || sum[PASS] + sum[CLOSE] < least ? 1 : 0;
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

int main(int argc, char **argv) {
  static report r;
  surg_config config = {.size = sizeof config, .diag = ignore, .max_memory = 8ull << 30};
  unsigned least = 0;
  bool any = false;
  r.ctx = surg_context_new(&config);
  if (!r.ctx) return 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--least") == 0 && i + 1 < argc) {
      least = (unsigned)strtoul(argv[++i], NULL, 10);
    } else {
      any = true;
      suite_walk(argv[i], one_case, &r);
    }
  }
  const char *dirs = getenv("ONNXSURG_BACKEND");
  if (!any) suite_walk_list(dirs && *dirs ? dirs : SUITE_DEFAULT_DIR, one_case, &r);
  if (r.cases == 0) {
    printf("no test cases found: give a folder, set ONNXSURG_BACKEND, or install"
           " libonnx-testdata\n");
  }
  int result = r.cases == 0 ? 77 : print_report(&r, least);
  surg_context_free(r.ctx);
  return result;
}
