/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels against the expected outputs of ONNX's backend test suite.
 *
 *   kernels [DIR...]
 *
 * Every folder below the DIRs (else those of ONNXSURG_BACKEND, separated by colons, else where
 * Debian's libonnx-testdata lies) that holds model.onnx and test_data_set_*: the inputs become
 * constants of the model, its nodes are evaluated in order, and the outputs are compared: floats
 * with the tolerance of the suite, everything else exactly. A node without a kernel is outside the
 * list; one its kernel refuses is counted with the reason. Exit 1 when an output differs or an
 * input is called wrong, 77 when there is no data. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/context.h"
#include "suite.h"

#define MAX_BYTES (1ull << 30)
#define MAX_WORK (1ull << 32)
#define MAX_REASONS 600

enum { PASS, FAIL, SKIP, OUTSIDE, KINDS };

typedef struct tally {
  char op[64];
  unsigned n[KINDS];
} tally;

typedef struct reason {
  char op[64], why[256];
  unsigned n;
} reason;

typedef struct report {
  surg_context *ctx;
  tally ops[512];
  size_t n_ops;
  reason reasons[MAX_REASONS];
  size_t n_reasons;
  unsigned cases;
} report;

/* One case: a model with one data set. */
typedef struct attempt {
  report *r;
  const char *name;
  surg_model *model;
  surg_graph *graph;
  surg_tensor **outputs; /* of the graph, NULL: not computed */
  size_t n_outputs;
  char op[64]; /* what the case is about: its only node, or the node that stopped it */
  char why[256];
} attempt;

/* `op` NULL: the case stays about what it is about. */
static int give_up(attempt *a, int kind, const char *op, const char *why) {
  if (op) snprintf(a->op, sizeof a->op, "%s", op);
  snprintf(a->why, sizeof a->why, "%s", why);
  return kind;
}

/* The tensor of a .pb file as a tensor of model m; NULL when there is none. */
static surg_tensor *load_tensor(surg_model *m, const char *path, const surg_type *declared) {
  surg__array a;
  if (suite_read(surg_model_context(m), path, declared, &a) != SURG_OK) return NULL;
  surg_tensor *t = surg__array_is_list(&a) ? NULL : surg__array_to_tensor(m, &a);
  surg__array_drop(&a);
  return t;
}

static bool same_tensor(attempt *a, const surg_tensor *got, const surg_tensor *want, char *why,
                        size_t n) {
  surg__arena arena;
  surg__array x, y;
  surg__arena_init(&arena, a->r->ctx);
  bool same = false;
  snprintf(why, n, "a tensor is not readable");
  if (surg__array_from_tensor(a->r->ctx, &arena, got, &x) == SURG_OK &&
      surg__array_from_tensor(a->r->ctx, &arena, want, &y) == SURG_OK) {
    same = suite_compare(&x, &y, why, n) != SUITE_DIFFERS;
  }
  surg__arena_free(&arena);
  return same;
}

/* --- one case --- */

/* Inputs of the data set become constants. Inputs that have none keep their initializer. */
static int feed(attempt *a, const char *set) {
  size_t n = surg_graph_input_count(a->graph);
  for (size_t i = 0; i < n; ++i) {
    surg_value *v = surg_graph_input(a->graph, i);
    const surg_type *type = surg_value_declared_type(v);
    if (type && surg_type_get_kind(type) != SURG_TYPE_TENSOR) {
      return give_up(a, OUTSIDE, NULL, "an input is no tensor");
    }
    char *path = suite_file(set, "input", i);
    struct stat st;
    bool there = stat(path, &st) == 0;
    surg_tensor *t = there ? load_tensor(a->model, path, type) : NULL;
    free(path);
    if (!there && surg_value_is_initializer(v)) continue;
    if (!there) return give_up(a, SKIP, NULL, "an input has no data");
    if (!t) return give_up(a, FAIL, NULL, "an input file is not readable");
    if (surg_value_set_initializer(v, t) != SURG_OK) {
      return give_up(a, FAIL, NULL, "an input takes no initializer");
    }
  }
  for (size_t i = n; i-- > 0;) {
    if (surg_graph_remove_input(a->graph, i) != SURG_OK) {
      return give_up(a, FAIL, NULL, "an input cannot be made constant");
    }
  }
  return PASS;
}

/* Gives a computed value to the nodes that read it, and to the outputs that are it. */
static bool publish(attempt *a, surg_node *n, surg_value *v, surg_tensor *t) {
  for (size_t i = 0; i < a->n_outputs; ++i) {
    if (surg_graph_output(a->graph, i) == v) a->outputs[i] = t;
  }
  surg_value *c = NULL; /* made only where a node reads it: not every model has a form for it */
  surg_use *next = NULL;
  for (surg_use *u = surg_value_first_use(v); u; u = next) {
    next = surg_use_next(u);
    if (surg_use_get_kind(u) != SURG_USE_NODE) continue;
    if (!c) c = surg_graph_constant(a->graph, n, NULL, t);
    if (!c) return false;
    if (surg_node_set_input(surg_use_node(u), surg_use_index(u), c) != SURG_OK) return false;
  }
  return true;
}

/* A node that never becomes a constant, but may be run: with a seed, or in training form. */
static surg_status run_random(attempt *a, surg_node *n, surg_tensor **out, const char **why) {
  size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg__array *in = calloc(n_in + 1, sizeof *in), *made = calloc(n_out + 1, sizeof *made);
  surg__arena arena;
  surg_kctx k = {.arena = &arena, .max_bytes = MAX_BYTES, .max_work = MAX_WORK, .running = true};
  surg_status s = SURG_OK;
  if (!in || !made) abort();
  surg__arena_init(&arena, a->r->ctx);
  for (size_t i = 0; i < n_in && s == SURG_OK; ++i) {
    surg_value *v = surg_node_input(n, i);
    if (v) s = surg__array_from_tensor(a->r->ctx, &arena, surg_value_constant(v), &in[i]);
  }
  if (s == SURG_OK) {
    s = surg__node_compute(n, &k, in, made);
    *why = k.why;
  }
  for (size_t i = 0; i < n_out && s == SURG_OK; ++i) {
    if (surg_node_output(n, i)) out[i] = surg__array_to_tensor(a->model, &made[i]);
  }
  for (size_t i = 0; i < n_out; ++i) surg__array_drop(&made[i]);
  surg__arena_free(&arena);
  free(in);
  free(made);
  return s;
}

static int evaluate_node(attempt *a, surg_node *n) {
  size_t n_out = surg_node_output_count(n);
  surg_tensor **out = calloc(n_out ? n_out : 1, sizeof *out);
  const char *why = NULL;
  if (!out) abort();
  surg_status s = surg_node_nondeterministic(n)
                      ? run_random(a, n, out, &why)
                      : surg_node_evaluate(n, MAX_BYTES, MAX_WORK, out, n_out, &why);
  int kind = PASS;
  if (s != SURG_OK) {
    const surg_schema *schema = surg_node_schema(n);
    bool known = schema && surg__kernel_find(surg_node_op(n), surg_schema_since(schema));
    kind = s == SURG_EUNSUPPORTED ? (known ? SKIP : OUTSIDE) : FAIL;
    give_up(a, kind, surg_node_op_type(n), why ? why : surg_status_name(s));
  }
  for (size_t i = 0; kind == PASS && i < n_out; ++i) {
    surg_value *v = surg_node_output(n, i);
    if (v && !publish(a, n, v, out[i])) kind = give_up(a, FAIL, NULL, "no constant");
  }
  free(out);
  return kind;
}

static int compare_outputs(attempt *a, const char *set) {
  for (size_t i = 0; i < a->n_outputs; ++i) {
    char why[200];
    surg_tensor *got = a->outputs[i];
    if (!got) got = surg_value_constant(surg_graph_output(a->graph, i));
    if (!got) return give_up(a, FAIL, NULL, "an output was not computed");
    char *path = suite_file(set, "output", i);
    surg_tensor *want = load_tensor(a->model, path, surg_graph_output_type(a->graph, i));
    free(path);
    if (!want) return give_up(a, SKIP, NULL, "an output file is no tensor");
    if (!same_tensor(a, got, want, why, sizeof why)) {
      snprintf(a->why, sizeof a->why, "output %zu: %s", i, why);
      return FAIL;
    }
  }
  return PASS;
}

static int run_case(attempt *a, const char *model, const char *set) {
  if (surg_model_load(a->r->ctx, model, NULL, &a->model) != SURG_OK) {
    const char *error = surg_context_error(a->r->ctx);
    return give_up(a, FAIL, "(load)", error ? error : "not loaded");
  }
  a->graph = surg_model_graph(a->model);
  bool single = surg_graph_node_count(a->graph) == 1;
  snprintf(a->op, sizeof a->op, "%s",
           single ? surg_node_op_type(surg_graph_first_node(a->graph)) : "(graphs)");
  a->n_outputs = surg_graph_output_count(a->graph);
  a->outputs = calloc(a->n_outputs ? a->n_outputs : 1, sizeof *a->outputs);
  if (!a->outputs) abort();
  int kind = feed(a, set);
  /* Constants made on the way stand before the node: they are not visited. */
  for (surg_node *n = surg_graph_first_node(a->graph); n && kind == PASS; n = surg_node_next(n)) {
    kind = evaluate_node(a, n);
  }
  if (kind == PASS) kind = compare_outputs(a, set);
  return kind;
}

static void count(report *r, int kind, const char *op, const char *why) {
  size_t i = 0;
  while (i < r->n_ops && strcmp(r->ops[i].op, op) != 0) ++i;
  if (i == r->n_ops && r->n_ops + 1 < SURG_COUNT(r->ops)) {
    snprintf(r->ops[r->n_ops++].op, sizeof r->ops[i].op, "%s", op);
  }
  ++r->ops[i].n[kind];
  ++r->cases;
  if (kind != SKIP) return;
  for (i = 0; i < r->n_reasons; ++i) {
    if (strcmp(r->reasons[i].op, op) == 0 && strcmp(r->reasons[i].why, why) == 0) break;
  }
  if (i == MAX_REASONS) return;
  if (i == r->n_reasons) {
    snprintf(r->reasons[i].op, sizeof r->reasons[i].op, "%s", op);
    snprintf(r->reasons[i].why, sizeof r->reasons[i].why, "%s", why);
    ++r->n_reasons;
  }
  ++r->reasons[i].n;
}

static void one_case(void *user, const char *model, const char *set) {
  report *r = user;
  attempt a = {.r = r, .name = set};
  surg_context_clear_error(r->ctx);
  int kind = run_case(&a, model, set);
  const char *apart = suite_apart(set);
  if (kind == FAIL && apart) kind = give_up(&a, SKIP, NULL, apart);
  count(r, kind, a.op, a.why);
  if (kind == FAIL) printf("FAIL %s: %s: %s\n", set, a.op, a.why);
  free(a.outputs);
  surg_model_free(a.model);
}

static int op_order(const void *a, const void *b) {
  return strcmp(((const tally *)a)->op, ((const tally *)b)->op);
}

static int print_report(report *r) {
  unsigned sum[KINDS] = {0};
  qsort(r->ops, r->n_ops, sizeof *r->ops, op_order);
  printf("%-28s %6s %6s %8s %8s\n", "operator", "pass", "fail", "refused", "outside");
  for (size_t i = 0; i < r->n_ops; ++i) {
    const tally *t = &r->ops[i];
    for (int k = 0; k < KINDS; ++k) sum[k] += t->n[k];
    printf("%-28s %6u %6u %8u %8u\n", t->op, t->n[PASS], t->n[FAIL], t->n[SKIP], t->n[OUTSIDE]);
  }
  for (size_t i = 0; i < r->n_reasons; ++i) {
    printf("refused %u: %s: %s\n", r->reasons[i].n, r->reasons[i].op, r->reasons[i].why);
  }
  printf("%u cases: %u pass, %u fail, %u refused, %u outside the list of kernels\n", r->cases,
         sum[PASS], sum[FAIL], sum[SKIP], sum[OUTSIDE]);
  return sum[FAIL] > 0 ? 1 : 0;
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

int main(int argc, char **argv) {
  static report r;
  surg_config config = {.size = sizeof config, .diag = ignore};
  r.ctx = surg_context_new(&config);
  if (!r.ctx) return 1;
  const char *dirs = getenv("ONNXSURG_BACKEND");
  for (int i = 1; i < argc; ++i) suite_walk(argv[i], one_case, &r);
  if (argc == 1) suite_walk_list(dirs && *dirs ? dirs : SUITE_DEFAULT_DIR, one_case, &r);
  if (r.cases == 0) {
    printf(
        "no test cases found: give a folder, set ONNXSURG_BACKEND, or install"
        " libonnx-testdata\n");
    surg_context_free(r.ctx);
    return 77;
  }
  int result = print_report(&r);
  surg_context_free(r.ctx);
  return result;
}
