/* SPDX-License-Identifier: Apache-2.0 */
/* Moves every case of ONNX's backend test suite to other opsets and runs what came out.
 *
 *   opset_matrix [--targets 7,9..24] [--refused FILE] [--exact-only] [--ort LIBRARY] [DIR...]
 *
 * A case counts where the interpreter gets it right as it is. For each target: right; wrong (other
 * outputs on the data of the suite or on adversarial inputs, where the original runs on them; an
 * operator that the target lacks; a finding of the checker); refused; and of those
 * refused how many cannot be done at all, because an input or output of the model is of a type that
 * the target does not have, or an operator has no older form. --refused writes a line for each
 * refusal: target, case, first reason; --exact-only uses no approximate rules; --ort runs what is
 * right in ONNX Runtime, too, where that takes and gets right the case as it is, and counts anew;
 * "not taken" then: the runtime has no kernel for the old form.
 *
 * Cases inside of a branch or of a function of the model, and those of which no size of an input is
 * known, are made by wrap_cases.py:
 *
 *   wrap_cases.py if OUT DIR...         opset_matrix OUT
 *   wrap_cases.py function OUT DIR...   opset_matrix OUT
 *   wrap_cases.py open OUT DIR...       opset_matrix OUT
 *
 * Exit 1 when anything is wrong; 77 when there is no data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"
#include "pass/pass.h"
#include "run/verify.h"
#include "../suite.h"

#define MOST_TARGETS 40
#define NEWEST_OF_ORT 26 /* the opset of ONNX Runtime 1.30 */
#define MOST_BYTES (1ull << 28) /* of a run on made-up inputs */
#define MOST_WORK (1ull << 30)
#define HUGE_BUT_TAME 1e4 /* adversarial numbers where last bits may differ */

enum { RIGHT, WRONG, REFUSED, IMPOSSIBLE, SAME, KINDS };

typedef struct matrix {
  surg_context *ctx;
  int targets[MOST_TARGETS];
  size_t n_targets;
  unsigned n[MOST_TARGETS][2][KINDS]; /* down, up */
  unsigned cases, unusable;
  bool unfit; /* the case runs on no input that is made up: asked once, not for each target */
  unsigned approximate; /* of those that are right */
  bool exact;           /* no approximate rules */
  FILE *refused;
  surg__engine ort;
  unsigned by_ort[MOST_TARGETS][2][KINDS]; /* REFUSED: not taken */
} matrix;

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

/* --- what cannot be done --- */

static int least_opset_of_dtype(int dtype) {
  switch (dtype) {
    case SURG_BFLOAT16: return 13;
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ: return 19;
    case SURG_INT4:
    case SURG_UINT4: return 21;
    case SURG_FLOAT4E2M1: return 23;
    case SURG_FLOAT8E8M0: return 24;
    case SURG_INT2:
    case SURG_UINT2: return 25;
    default: return 1;
  }
}

static int least_opset(const surg_type *t) {
  int least = 1;
  while (t) {
    int one = 1;
    switch (surg_type_get_kind(t)) {
      case SURG_TYPE_SEQUENCE: one = 11; break;
      case SURG_TYPE_OPTIONAL: one = 15; break;
      case SURG_TYPE_TENSOR: one = least_opset_of_dtype(surg_type_dtype(t)); break;
      default: break;
    }
    if (one > least) least = one;
    t = surg_type_elem(t);
  }
  return least;
}

/* Text and pictures: what these operators do no older one does in any form. Text was compared first
 * by Unique. */
static int least_opset_of_node(const surg_node *n) {
  static const struct {
    int op, opset;
  } first[] = {{SURG_OP_StringNormalizer, 10},
               {SURG_OP_StringConcat, 20},
               {SURG_OP_StringSplit, 20},
               {SURG_OP_RegexFullMatch, 20},
               {SURG_OP_ImageDecoder, 20}};
  for (size_t i = 0; i < sizeof first / sizeof *first; i++)
    if (surg_node_op(n) == first[i].op) return first[i].opset;
  const surg_type *t = surg_node_input(n, 0) ? surg_value_type(surg_node_input(n, 0)) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_dtype(t) != SURG_STRING)
    return 1;
  return surg_node_op(n) == SURG_OP_Equal || surg_node_op(n) == SURG_OP_Unique ? 11 : 1;
}

/* Sequences as long as a run makes them, of elements of any shapes, are made by Loops that carry
 * them alone, from 13 on. */
static int least_opset_of_loop(const surg_node *n) {
  if (surg_node_op(n) == SURG_OP_SequenceMap) return 13;
  if (surg_node_op(n) != SURG_OP_Loop) return 1;
  for (size_t i = 2; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = v ? surg_value_type(v) : NULL;
    if (t && surg_type_get_kind(t) == SURG_TYPE_SEQUENCE) return 13;
  }
  return 1;
}

static bool no_older_form(const surg_model *m, int target) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!*surg_node_domain(n) &&
          (least_opset_of_node(n) > target || least_opset_of_loop(n) > target))
        return true;
  return false;
}

static bool impossible(const surg_graph *g, int target) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (least_opset(surg_value_declared_type(surg_graph_input(g, i))) > target) return true;
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (least_opset(surg_graph_output_type(g, i)) > target) return true;
  return false;
}

/* --- one case --- */

/* Whether every node of the default domain has an operator of the target. */
static const char *missing(const surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!*surg_node_domain(n) && surg_node_class(n) != SURG_OP_CLASS_FUNCTION &&
          (!surg_node_schema(n) || surg_schema_deprecated(surg_node_schema(n))))
        return surg_node_op_type(n);
  return NULL;
}

static void found(void *user, const surg__finding *f) {
  char *why = user;
  if (f->severity == SURG_ERROR && !*why) snprintf(why, 200, "%s: %s", f->code, f->text);
}

/* Whether an output was seen to differ, or a run to fail. Outputs that are one number throughout
 * are not the same and not different: they say nothing. */
static bool differ(const surg__verify_report *r) {
  for (size_t i = 0; i < r->n_outputs; i++)
    if (r->outputs[i].differs) return true;
  return *r->failure;
}

/* NaN, infinities, signed zeros and the like, which the data of the suite does not hold. Where
 * results may differ in their last bits, what is large beside what is small makes all of a
 * difference of those: then only what is finite has to agree. */
static int adversarial(matrix *x, surg_model *before, surg_model *after, surg_exactness used,
                       char *why, size_t n) {
  const surg__tolerance finite = {.relative = 1e-3, .absolute = INFINITY};
  const surg__verify_options options = {.runs = 1, .seed = 1, .max_bytes = MOST_BYTES,
                                        .max_work = MOST_WORK, .tolerance = {1e-3, 1e-5},
                                        .adversarial = used > SURG_EXACT ? &finite : NULL,
                                        .huge = used > SURG_EXACT ? HUGE_BUT_TAME : 0};
  surg__verify_report r;
  int kind = RIGHT;
  if (x->unfit) return kind;
  const surg_status s = surg__verify(before, after, &options, &r);
  if (s == SURG_OK && r.checked > 0 && differ(&r)) {
    kind = WRONG;
    snprintf(why, n, "made-up inputs: %.250s", *r.failure ? r.failure : "an output differs");
  }
  x->unfit = s == SURG_OK && r.checked == 0 && !*r.failure;
  surg__verify_free(&r);
  return kind;
}

/* Rewrites that call themselves approximate need not stand made-up inputs. */
static int judge(matrix *x, surg_model *original, surg_model *m, surg_exactness used,
                 const char *set, char *why, size_t n) {
  const char *op = missing(m);
  if (op) {
    snprintf(why, n, "%s is not there", op);
    return WRONG;
  }
  char finding[200] = "";
  if (surg__check_model(m, true, 20, found, finding) || *finding) {
    snprintf(why, n, "check: %s", finding);
    return WRONG;
  }
  if (suite_run(x->ctx, m, set, why, n) == SUITE_DIFFERS) return WRONG;
  return used >= SURG_APPROX ? RIGHT : adversarial(x, original, m, used, why, n);
}

/* The pass on *m, and the worst exactness it used. */
static surg_status convert(matrix *x, surg_model **m, int target, surg_exactness *used) {
  char text[64];
  surg__pipeline *p = NULL;
  surg__run_report report = {.ctx = x->ctx};
  const surg__run_options options = {0};
  snprintf(text, sizeof text, "opset{to=%d,allow=%s}", target, x->exact ? "ulp" : "approx");
  surg_status s = surg_context_passes(x->ctx) ? SURG_OK : SURG_ENOMEM;
  if (s == SURG_OK) s = surg__pipeline_parse(x->ctx, text, "opset", &p);
  if (s == SURG_OK) s = surg__run(m, p, &options, &report);
  *used = report.worst;
  surg__run_report_free(&report);
  surg__pipeline_free(p);
  return s;
}

/* The same data in ONNX Runtime. */
static void judge_by_ort(matrix *x, surg_model *m, const char *set, size_t t, bool up) {
  char why[300] = "";
  bool taken;
  surg_context_clear_error(x->ctx);
  const suite_match match = suite_run_in(x->ctx, &x->ort, m, set, &taken, why, sizeof why);
  const int kind = match != SUITE_DIFFERS ? RIGHT : taken ? WRONG : REFUSED;
  x->by_ort[t][up][kind]++;
  if (kind == WRONG) printf("WRONG %d %s: %s\n", x->targets[t], set, why);
  if (kind == REFUSED && x->refused)
    fprintf(x->refused, "%d\t%s\tnot taken: %s\n", x->targets[t], set, why);
}

static void one_target(matrix *x, surg_model *original, const char *set, size_t t, bool ort) {
  const int target = x->targets[t];
  const int64_t opset = surg_model_opset(original, "");
  char why[300] = "";
  surg_exactness used = SURG_EXACT;
  if (opset == target) {
    x->n[t][0][SAME]++;
    return;
  }
  surg_model *m = surg_model_clone(original);
  surg_context_clear_error(x->ctx);
  int kind = REFUSED;
  if (m && convert(x, &m, target, &used) == SURG_OK) {
    kind = judge(x, original, m, used, set, why, sizeof why);
  } else {
    const char *error = surg_context_error(x->ctx);
    snprintf(why, sizeof why, "%s", error ? error : "?");
    if (impossible(surg_model_graph(original), target) || no_older_form(original, target))
      kind = IMPOSSIBLE;
  }
  if (ort && kind == RIGHT && target <= NEWEST_OF_ORT)
    judge_by_ort(x, m, set, t, opset < target);
  surg_model_free(m);
  if (kind == RIGHT && used >= SURG_APPROX) x->approximate++;
  x->n[t][opset < target][kind]++;
  if (kind == WRONG) printf("WRONG %d %s: %s\n", target, set, why);
  if (kind == REFUSED && x->refused) fprintf(x->refused, "%d\t%s\t%s\n", target, set, why);
}

static void one_case(void *user, const char *path, const char *set) {
  matrix *x = user;
  surg_model *m = NULL;
  char why[256];
  x->cases++;
  x->unfit = false;
  if (surg_model_load(x->ctx, path, NULL, &m) == SURG_OK && surg_model_opset(m, "") &&
      suite_run(x->ctx, m, set, why, sizeof why) != SUITE_DIFFERS) {
    bool taken;
    const bool ort = x->ort.ort && surg_model_infer(m) == SURG_OK &&
                     suite_run_in(x->ctx, &x->ort, m, set, &taken, why, sizeof why) !=
                         SUITE_DIFFERS;
    for (size_t t = 0; t < x->n_targets; t++) one_target(x, m, set, t, ort);
  } else {
    x->unusable++;
  }
  surg_model_free(m);
}

/* --- */

/* "7,9..24" */
static bool read_targets(matrix *x, const char *text) {
  while (*text) {
    char *end;
    long a = strtol(text, &end, 10), b = a;
    if (end == text) return false;
    if (strncmp(end, "..", 2) == 0) b = strtol(end + 2, &end, 10);
    for (; a <= b && x->n_targets < MOST_TARGETS; a++) x->targets[x->n_targets++] = (int)a;
    if (*end && *end != ',') return false;
    text = *end ? end + 1 : end;
  }
  return x->n_targets > 0;
}

static const char *const way[] = {"down", "up"};

static double share(unsigned a, unsigned b) {
  return b ? 100.0 * a / b : 100.0;
}

static unsigned print_ort(const matrix *x) {
  unsigned sum[2][KINDS] = {0};
  for (size_t t = 0; t < x->n_targets; t++)
    for (int up = 0; up < 2; up++)
      for (int k = 0; k < KINDS; k++) sum[up][k] += x->by_ort[t][up][k];
  for (int up = 0; up < 2; up++)
    printf("in ONNX Runtime, %s: %u right, %u wrong, %u not taken\n", way[up], sum[up][RIGHT],
           sum[up][WRONG], sum[up][REFUSED]);
  return sum[0][WRONG] + sum[1][WRONG];
}

static int print_report(const matrix *x) {
  unsigned wrong = 0;
  printf("%u cases, %u not run (no default domain, or not right as they are)\n", x->cases,
         x->unusable);
  for (int up = 0; up < 2; up++) {
    unsigned sum[KINDS] = {0};
    printf("%-6s %7s %7s %9s %12s %18s\n", way[up], "right", "wrong", "refused", "impossible",
           "right of possible");
    for (size_t t = 0; t < x->n_targets; t++) {
      const unsigned *n = x->n[t][up];
      for (int k = 0; k < KINDS; k++) sum[k] += n[k];
      printf("%6d %7u %7u %9u %12u %17.1f%%\n", x->targets[t], n[RIGHT], n[WRONG], n[REFUSED],
             n[IMPOSSIBLE], share(n[RIGHT], n[RIGHT] + n[WRONG] + n[REFUSED]));
    }
    printf("%6s %7u %7u %9u %12u %17.1f%%\n", "all", sum[RIGHT], sum[WRONG], sum[REFUSED],
           sum[IMPOSSIBLE], share(sum[RIGHT], sum[RIGHT] + sum[WRONG] + sum[REFUSED]));
    wrong += sum[WRONG];
  }
  printf("%u of the right ones by approximate rules\n", x->approximate);
  if (x->ort.ort) wrong += print_ort(x);
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  static matrix x;
  surg_config config = {.size = sizeof config, .diag = ignore, .max_memory = 8ull << 30};
  bool any = false;
  x.ctx = surg_context_new(&config);
  if (!x.ctx) return 1;
  const char *targets = "7,9..24";
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--targets") == 0 && i + 1 < argc) targets = argv[++i];
  if (!read_targets(&x, targets)) return 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--targets") == 0) {
      i++;
    } else if (strcmp(argv[i], "--exact-only") == 0) {
      x.exact = true;
    } else if (strcmp(argv[i], "--refused") == 0 && i + 1 < argc) {
      x.refused = fopen(argv[++i], "w");
    } else if (strcmp(argv[i], "--ort") == 0 && i + 1 < argc) {
      if (surg__ort_open(x.ctx, argv[++i], &x.ort.ort) != SURG_OK) return 77;
      x.ort.ort_options.threads = 1;
    } else {
      any = true;
      suite_walk(argv[i], one_case, &x);
    }
  }
  const char *dirs = getenv("ONNXSURG_BACKEND");
  if (!any) suite_walk_list(dirs && *dirs ? dirs : SUITE_DEFAULT_DIR, one_case, &x);
  if (x.cases == 0) printf("no test cases found: give a folder, or install libonnx-testdata\n");
  int result = x.cases == 0 ? 77 : print_report(&x);
  if (x.refused) fclose(x.refused);
  if (x.ort.ort) surg__ort_close(x.ort.ort);
  surg_context_free(x.ctx);
  return result;
}
