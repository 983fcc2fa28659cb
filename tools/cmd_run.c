/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg run MODEL`: computes a model on given or made-up inputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/diag.h"
#include "cli.h"
#include "eval/interpret.h"
#include "run/run.h"

#define SHOWN 16                      /* elements of an output that are printed */
#define ROUNDS 3                      /* made-up whole numbers: below 5, 2, 1 */

static const char help[] =
    "usage: onnxsurg run MODEL [options]\n"
    "Computes a model, without any runtime, and prints its outputs.\n"
    "\n"
    "  --input NAME=FILE   an input from .npy or a TensorProto (.pb); repeatable\n"
    "  --inputs DIR        input_0.pb (or .npy), input_1.pb ... in the order of the\n"
    "                      model's inputs\n"
    "  --fill WORD         what other inputs are filled with: random (the default),\n"
    "                      zeros, ones, arange, adversarial\n"
    "  --seed N            of random numbers (1); operators that draw use it, too\n"
    "  --dim NAME=N        how long a symbolic dim is (2)\n"
    "  --expect DIR        compare with output_0.pb ...; exit code 1 when\n"
    "                      one differs\n"
    "  --rtol X, --atol X  by how much floats may differ (1e-3, 1e-7)\n"
    "  --out DIR           write outputs as NAME.npy\n"
    "  --format npy|pb     ... or as TensorProto\n"
    "  --max-bytes N       of the results of one node (4GiB)\n";

typedef struct pair {
  const char *name, *text;
} pair;

typedef struct job {
  cli_common common;
  pair *inputs;
  size_t n_inputs;
  cli_dims dims;
  const char *inputs_dir, *expect, *out, *format;
  surg__fill fill;
  uint64_t seed, max_bytes;
  surg__tolerance tolerance;
  surg_context *ctx;
  surg_model *m;
  surg_graph *g;
  surg__array *in, *result;
  bool *given;
  bool made; /* some input was made up */
} job;

/* --- options --- */

/* "NAME=TEXT"; the last '=' of an input's name counts for none. */
static bool push(pair **list, size_t *n, char *arg) {
  char *eq = strchr(arg, '=');
  pair *grown = eq && eq != arg ? realloc(*list, (*n + 1) * sizeof *grown) : NULL;
  if (!grown) return false;
  *eq = 0;
  grown[(*n)++] = (pair){arg, eq + 1};
  *list = grown;
  return true;
}

static bool take_fill(const char *word, surg__fill *out) {
  static const char *const words[] = {"random", "zeros", "ones", "arange", "adversarial"};
  for (size_t i = 0; i < SURG_COUNT(words); i++) {
    if (strcmp(word, words[i]) != 0) continue;
    *out = (surg__fill)i;
    return true;
  }
  return false;
}

/* --- inputs --- */

static int fail(const job *j, const char *name, const char *why) {
  fprintf(stderr, "%s: error: input ", surg_model_path(j->m));
  cli_put(stderr, name);
  fprintf(stderr, ": %s\n", why);
  return EXIT_MODEL;
}

/* What was given must be what the model declares. */
static int check_input(const job *j, size_t i) {
  const surg_value *v = surg_graph_input(j->g, i);
  const surg_type *t = surg_value_declared_type(v);
  const surg__array *a = &j->in[i];
  char text[200];
  if (surg__array_is_list(a) || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return EXIT_DONE;
  if (surg_type_dtype(t) && a->dtype != surg_type_dtype(t)) {
    snprintf(text, sizeof text, "is %s, the model takes %s", surg_dtype_name(a->dtype),
             surg_dtype_name(surg_type_dtype(t)));
    return fail(j, surg_value_name(v), text);
  }
  bool fits = !surg_type_has_rank(t) || surg_type_rank(t) == a->rank;
  for (size_t k = 0; fits && surg_type_has_rank(t) && k < a->rank; k++) {
    const surg_dim d = surg_type_dim(t, k);
    fits = d.value < 0 || d.value == a->dims[k];
  }
  return fits ? EXIT_DONE : fail(j, surg_value_name(v), "has another shape than the model declares");
}

static int load_input(job *j, size_t i, const char *path) {
  const surg_value *v = surg_graph_input(j->g, i);
  const surg_status s = surg__value_load(j->ctx, path, surg_value_declared_type(v), &j->in[i]);
  if (s != SURG_OK) return cli_exit_code(s);
  j->given[i] = true;
  return check_input(j, i);
}

static int load_named(job *j) {
  for (size_t k = 0; k < j->n_inputs; k++) {
    const size_t n = surg_graph_input_count(j->g);
    size_t i = 0;
    while (i < n && strcmp(surg_value_name(surg_graph_input(j->g, i)), j->inputs[k].name) != 0) i++;
    if (i == n) {
      fprintf(stderr, "%s: error: the model has no input ", surg_model_path(j->m));
      cli_put(stderr, j->inputs[k].name);
      fprintf(stderr, " (try `onnxsurg info`)\n");
      return EXIT_USAGE;
    }
    surg__array_drop(&j->in[i]);
    const int code = load_input(j, i, j->inputs[k].text);
    if (code != EXIT_DONE) return code;
  }
  return EXIT_DONE;
}

/* DIR/stem_i.pb or .npy, into a heap string; NULL: neither is there. */
static char *numbered(const char *dir, const char *stem, size_t i) {
  static const char *const ends[] = {"pb", "npy"};
  const size_t n = strlen(dir) + 64;
  char *path = malloc(n);
  for (size_t k = 0; path && k < SURG_COUNT(ends); k++) {
    snprintf(path, n, "%s/%s_%zu.%s", dir, stem, i, ends[k]);
    if (access(path, F_OK) == 0) return path;
  }
  free(path);
  return NULL;
}

static int load_folder(job *j) {
  int code = EXIT_DONE;
  if (access(j->inputs_dir, F_OK) != 0) {
    cli_put(stderr, j->inputs_dir);
    fprintf(stderr, ": error: cannot read: %s\n", strerror(errno));
    return EXIT_IO;
  }
  for (size_t i = 0; i < surg_graph_input_count(j->g) && code == EXIT_DONE; i++) {
    char *path = numbered(j->inputs_dir, "input", i);
    if (!path) continue;
    code = load_input(j, i, path);
    free(path);
  }
  return code;
}

/* Inputs that nobody gave and that have no default. */
static int make_inputs(job *j, int64_t below) {
  surg__maker maker = {.fill = j->fill, .state = j->seed, .below = below, .size = 2,
                       .dim_of = cli_dim_of, .user = &j->dims};
  for (size_t i = 0; i < surg_graph_input_count(j->g); i++) {
    const surg_value *v = surg_graph_input(j->g, i);
    if (j->given[i] || surg_value_is_initializer(v)) continue;
    surg__array_drop(&j->in[i]);
    const surg_status s =
        surg__input_make(j->ctx, &maker, surg_value_declared_type(v), &j->in[i]);
    j->made = true;
    if (s == SURG_EUNSUPPORTED)
      return fail(j, surg_value_name(v), "cannot be made up: give it with --input");
    if (s != SURG_OK) {
      (void)fail(j, surg_value_name(v), "is too large to be made up");
      return EXIT_LIMIT;
    }
  }
  return EXIT_DONE;
}

/* --- the run --- */

static int explain(const job *j, const surg__session *s, surg_status status) {
  fprintf(stderr, "%s: error: ", surg_model_path(j->m));
  if (s->at) {
    fprintf(stderr, "node ");
    cli_put(stderr, *surg_node_name(s->at) ? surg_node_name(s->at)
                                           : surg_value_name(surg_node_output(s->at, 0)));
    fprintf(stderr, " (");
    cli_put(stderr, surg_node_op_type(s->at));
    fprintf(stderr, "): ");
  }
  fprintf(stderr, "%s%s\n", s->why ? s->why : surg_status_name(status),
          j->made && status == SURG_EINVALID ? "; inputs were made up: see --input and --dim" : "");
  return status == SURG_EUNSUPPORTED ? EXIT_MODEL : cli_exit_code(status);
}

static int compute(job *j) {
  static const int64_t below[ROUNDS] = {5, 2, 1};
  for (int round = 0;; round++) {
    int code = make_inputs(j, below[round]);
    if (code != EXIT_DONE) return code;
    surg__session s = {.max_bytes = j->max_bytes, .max_work = CLI_RUN_WORK, .seed = &j->seed};
    const surg_status status = surg__session_run(&s, j->m, j->in, j->result);
    if (status == SURG_OK) return EXIT_DONE;
    /* Made-up indices may lie outside: smaller ones may not. */
    const bool again = status == SURG_EINVALID && j->made && round + 1 < ROUNDS &&
                       j->fill != SURG__FILL_ZEROS && j->fill != SURG__FILL_ONES;
    if (!again) return explain(j, &s, status);
  }
}

/* --- outputs --- */

static void print_outputs(const job *j) {
  for (size_t i = 0; i < surg_graph_output_count(j->g); i++) {
    surg__buf b;
    surg__buf_init(&b, j->ctx);
    surg__value_print(&j->result[i], SHOWN, &b);
    cli_put(stdout, surg_value_name(surg_graph_output(j->g, i)));
    printf(": %s\n", b.failed || !b.p ? "" : b.p);
    surg__buf_free(&b);
  }
}

static int write_file(const char *path, const surg__buf *b) {
  FILE *f = fopen(path, "we");
  const bool ok = f && fwrite(b->p, 1, b->n, f) == b->n;
  const int why = errno;
  if ((f && fclose(f) != 0) || !ok) {
    cli_put(stderr, path);
    fprintf(stderr, ": error: cannot write: %s\n", strerror(why));
    return EXIT_IO;
  }
  return EXIT_DONE;
}

/* The name of an output as that of a file: what is no plain character becomes '_'. */
static char *output_path(const job *j, size_t i, bool pb) {
  const char *name = surg_value_name(surg_graph_output(j->g, i));
  const size_t n = strlen(j->out) + strlen(name) + 16;
  char *path = malloc(n);
  if (!path) return NULL;
  snprintf(path, n, "%s/%s.%s", j->out, name, pb ? "pb" : "npy");
  for (char *c = path + strlen(j->out) + 1; *c; c++)
    if (*c == '/' || (unsigned char)*c < 32) *c = '_';
  return path;
}

static int write_outputs(const job *j) {
  const bool pb = j->format && strcmp(j->format, "pb") == 0;
  int code = cli_check_folder(j->out);
  for (size_t i = 0; i < surg_graph_output_count(j->g) && code == EXIT_DONE; i++) {
    const char *name = surg_value_name(surg_graph_output(j->g, i));
    surg__buf b;
    surg__buf_init(&b, j->ctx);
    const surg_status s = pb ? surg__tensor_message(&j->result[i], name, &b)
                             : surg__npy_write(&j->result[i], &b);
    char *path = output_path(j, i, pb);
    if (s == SURG_EUNSUPPORTED) {
      fprintf(stderr, "onnxsurg: error: output ");
      cli_put(stderr, name);
      fprintf(stderr, pb ? " is no tensor\n" : " has a type that NumPy lacks: try --format pb\n");
      code = EXIT_MODEL;
    } else {
      code = s != SURG_OK || !path ? EXIT_LIMIT : write_file(path, &b);
    }
    free(path);
    surg__buf_free(&b);
  }
  return code;
}

static int compare_one(const job *j, size_t i, const char *path) {
  const char *name = surg_value_name(surg_graph_output(j->g, i));
  const surg_type *t = surg_graph_output_type(j->g, i);
  surg__array want = {0};
  surg__distance d;
  const surg_status s = surg__value_load(j->ctx, path, t, &want);
  if (s != SURG_OK) return cli_exit_code(s);
  const bool same = surg__value_compare(&j->result[i], &want, &j->tolerance, &d);
  if (!same || !j->common.quiet) {
    cli_put(stdout, name);
    if (d.other_shape)
      printf(": differs: another type or shape than expected\n");
    else if (!same)
      printf(": differs: %llu of %llu elements, the first at %llu; max abs %.3g, max rel %.3g\n",
             (unsigned long long)d.differing, (unsigned long long)d.elements,
             (unsigned long long)d.first, d.max_abs, d.max_rel);
    else
      printf(": as expected; max abs %.3g, max rel %.3g\n", d.max_abs, d.max_rel);
  }
  surg__array_drop(&want);
  return same ? EXIT_DONE : EXIT_MODEL;
}

static int compare_outputs(const job *j) {
  int code = EXIT_DONE;
  size_t seen = 0;
  for (size_t i = 0; i < surg_graph_output_count(j->g); i++) {
    char *path = numbered(j->expect, "output", i);
    if (!path) continue;
    seen++;
    const int one = compare_one(j, i, path);
    if (one > code) code = one;
    free(path);
  }
  if (seen) return code;
  cli_put(stderr, j->expect);
  fprintf(stderr, ": error: holds no output_0.pb\n");
  return EXIT_IO;
}

/* --- */

static int run(job *j, const char *path) {
  surg_status s = surg_load(j->ctx, path, &j->common.load, &j->m);
  if (s != SURG_OK) return cli_exit_code(s);
  j->g = surg_model_graph(j->m);
  const size_t n_in = surg_graph_input_count(j->g), n_out = surg_graph_output_count(j->g);
  j->in = calloc(n_in + 1, sizeof *j->in);
  j->result = calloc(n_out + 1, sizeof *j->result);
  j->given = calloc(n_in + 1, 1);
  int code = j->in && j->result && j->given ? EXIT_DONE : EXIT_LIMIT;
  if (code == EXIT_DONE && j->inputs_dir) code = load_folder(j);
  if (code == EXIT_DONE) code = load_named(j);
  if (code == EXIT_DONE) code = compute(j);
  if (code == EXIT_DONE && j->out) code = write_outputs(j);
  if (code == EXIT_DONE && j->expect) code = compare_outputs(j);
  if (code == EXIT_DONE && !j->out && !j->expect) print_outputs(j);
  for (size_t i = 0; j->in && i < n_in; i++) surg__array_drop(&j->in[i]);
  for (size_t i = 0; j->result && i < n_out; i++) surg__array_drop(&j->result[i]);
  free(j->in);
  free(j->result);
  free(j->given);
  surg_model_free(j->m);
  return code;
}

enum {
  OPT_INPUT = OPT_OWN,
  OPT_INPUTS,
  OPT_FILL,
  OPT_SEED,
  OPT_SIZE,
  OPT_EXPECT,
  OPT_RTOL,
  OPT_ATOL,
  OPT_OUT,
  OPT_FORMAT,
  OPT_MAX_BYTES
};

static int take(job *j, int o, char *arg) {
  switch (o) {
    case OPT_INPUT:
      return push(&j->inputs, &j->n_inputs, arg) ? EXIT_DONE : cli_usage("--input NAME=FILE");
    case OPT_SIZE:
      return cli_dims_take(&j->dims, arg) ? EXIT_DONE : cli_usage("--dim NAME=N");
    case OPT_INPUTS: j->inputs_dir = arg; return EXIT_DONE;
    case OPT_EXPECT: j->expect = arg; return EXIT_DONE;
    case OPT_OUT: j->out = arg; return EXIT_DONE;
    case OPT_FILL:
      if (take_fill(arg, &j->fill)) return EXIT_DONE;
      return cli_usage("--fill takes random, zeros, ones, arange or adversarial");
    case OPT_FORMAT:
      j->format = arg;
      if (strcmp(arg, "npy") == 0 || strcmp(arg, "pb") == 0) return EXIT_DONE;
      return cli_usage("--format takes npy or pb");
    case OPT_SEED:
      return cli_number(arg, &j->seed) ? EXIT_DONE : cli_usage("--seed takes a number");
    case OPT_MAX_BYTES:
      return cli_number(arg, &j->max_bytes) ? EXIT_DONE : cli_usage("--max-bytes takes a number");
    case OPT_RTOL:
      return cli_real(arg, &j->tolerance.relative) ? EXIT_DONE : cli_usage("--rtol takes a number");
    case OPT_ATOL:
      return cli_real(arg, &j->tolerance.absolute) ? EXIT_DONE : cli_usage("--atol takes a number");
    default: return cli_common_option(&j->common, o, arg);
  }
}

int cmd_run(int argc, char **argv) {
  static const struct option options[] = {{"input", required_argument, NULL, OPT_INPUT},
                                          {"inputs", required_argument, NULL, OPT_INPUTS},
                                          {"fill", required_argument, NULL, OPT_FILL},
                                          {"seed", required_argument, NULL, OPT_SEED},
                                          {"dim", required_argument, NULL, OPT_SIZE},
                                          {"expect", required_argument, NULL, OPT_EXPECT},
                                          {"rtol", required_argument, NULL, OPT_RTOL},
                                          {"atol", required_argument, NULL, OPT_ATOL},
                                          {"out", required_argument, NULL, OPT_OUT},
                                          {"format", required_argument, NULL, OPT_FORMAT},
                                          {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  job j = {.seed = 1, .max_bytes = CLI_RUN_BYTES, .tolerance = {1e-3, 1e-7}};
  cli_common_init(&j.common);
  int code = EXIT_DONE;
  bool helped = false;
  opterr = 0;
  for (int o; code == EXIT_DONE && (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    helped = o == OPT_HELP;
    if (helped) fputs(help, stdout);
    if (helped) break;
    code = o == '?' ? cli_bad_option(argv, options) : take(&j, o, optarg);
  }
  if (code == EXIT_DONE && !helped) {
    if (j.common.json) {
      code = cli_usage("run prints text; --out writes files");
    } else if (argc - optind != 1) {
      code = cli_usage("run takes one model: `onnxsurg run MODEL`");
    } else {
      if (!j.common.max_memory) j.common.max_memory = CLI_RUN_MEMORY;
      j.ctx = cli_context(&j.common);
      code = j.ctx ? run(&j, argv[optind]) : EXIT_LIMIT;
      surg_context_free(j.ctx);
    }
  }
  free(j.inputs);
  cli_dims_free(&j.dims);
  return cli_flush(code);
}
