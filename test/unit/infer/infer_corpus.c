/* SPDX-License-Identifier: Apache-2.0 */
/* Inference against models whose authors declared types: whatever inference proves must not
 * contradict a declaration that is exact.
 *
 *   infer_corpus [-v] FILE|FOLDER...
 *
 * Prints a line for each contradiction (with -v for each type it missed, too) and a total; exit
 * code 1 with a contradiction, 77 (skipped) when no argument is there. */
#include <ftw.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct tally {
  unsigned models, unread, wrong;
  unsigned values, typed, ranked, symbolic, fixed, declared_fixed, found_fixed;
  bool verbose;
} tally;

static void print_type(const surg_type *t) {
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR) {
    printf("(kind %d)", surg_type_get_kind(t));
    return;
  }
  printf("%s", surg_dtype_name(surg_type_dtype(t)));
  if (!surg_type_has_rank(t)) return;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim d = *surg_type_dim(t, i);
    printf("%s", i ? "," : "[");
    if (d.param)
      printf("%s", d.param);
    else
      printf("%lld", (long long)d.value);
  }
  printf(surg_type_rank(t) ? "]" : "[]");
}

static bool contradict(const surg_type *a, const surg_type *b) {
  if (surg_type_get_kind(a) != surg_type_get_kind(b)) return true;
  if (surg_type_get_kind(a) != SURG_TYPE_TENSOR) return false;
  if (surg_type_dtype(a) != surg_type_dtype(b)) return true;
  if (!surg_type_has_rank(a) || !surg_type_has_rank(b)) return false;
  if (surg_type_rank(a) != surg_type_rank(b)) return true;
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const surg_dim x = *surg_type_dim(a, i), y = *surg_type_dim(b, i);
    if (x.value >= 0 && y.value >= 0 && x.value != y.value) return true;
  }
  return false;
}

/* Any number for a symbol of the inputs, none for one that a node made. */
static bool of_inputs(void *user, const char *name, const surg_value *v, size_t axis,
                      int64_t *out) {
  (void)user;
  (void)axis;
  *out = 720720; /* many numbers divide it */
  return name || !surg_value_producer(v, NULL);
}

/* Whether every dim is a number or follows from the inputs. */
static bool symbolic(const surg_type *t) {
  int64_t v;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return false;
  for (size_t i = 0; i < surg_type_rank(t); i++)
    if (surg_dim_eval(surg_type_dim(t, i), of_inputs, NULL, &v)) return false;
  return true;
}

/* A node whose inputs are all settled by the inputs of the model, and an output is not. */
static bool opens(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *in = surg_node_input(n, i);
    if (in && !surg_value_constant(in) && !symbolic(surg_value_type(in))) return false;
  }
  return !symbolic(surg_value_type(v));
}

static void count(tally *to, const surg_type *proven, const surg_type *declared) {
  to->values++;
  to->symbolic += symbolic(proven);
  to->typed += proven != NULL;
  to->ranked += proven && surg_type_has_rank(proven);
  to->fixed += proven && surg_type_static(proven, NULL);
  if (!declared || !surg_type_static(declared, NULL)) return;
  to->declared_fixed++;
  to->found_fixed += proven && surg_type_static(proven, NULL);
}

static void check_value(tally *to, const char *path, const surg_value *v,
                        const surg_type *declared) {
  const surg_type *proven = surg_value_type(v);
  surg_node *n = surg_value_producer(v, NULL);
  if (!n) return;
  count(to, proven, declared);
  const bool wrong = proven && declared && contradict(proven, declared);
  if (to->verbose && opens(v))
    printf("%s: opened: %s \"%s\"\n", path, surg_node_op_type(n), surg_value_name(v));
  const bool missed = to->verbose && declared && surg_type_static(declared, NULL) &&
                      !(proven && surg_type_static(proven, NULL));
  if (!wrong && !missed) return;
  to->wrong += wrong;
  printf("%s: %s: %s \"%s\": declared ", path, wrong ? "wrong" : "missed", surg_node_op_type(n),
         surg_value_name(v));
  print_type(declared);
  printf(", inferred ");
  if (proven)
    print_type(proven);
  else
    printf("nothing");
  printf("\n");
}

static void check_model(tally *to, const char *path) {
  surg_context *ctx = surg_context_new(NULL);
  surg_model *m = NULL;
  to->models++;
  if (surg_model_load(ctx, path, NULL, &m) != SURG_OK || surg_model_infer(m) != SURG_OK) {
    to->unread++;
    if (to->verbose) printf("%s: unread: %s\n", path, surg_context_error(ctx));
  } else {
    surg_graph *g = surg_model_graph(m);
    for (size_t i = 0; i < surg_graph_output_count(g); i++)
      check_value(to, path, surg_graph_output(g, i), surg_graph_output_type(g, i));
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));)
      if (!surg_value_is_output(v)) check_value(to, path, v, surg_value_declared_type(v));
  }
  surg_model_free(m);
  surg_context_free(ctx);
}

static tally t;

static int visit(const char *path, const struct stat *st, int type) {
  const size_t n = strlen(path);
  (void)st;
  if (type == FTW_F && n > 5 && !strcmp(path + n - 5, ".onnx")) check_model(&t, path);
  return 0;
}

int main(int argc, char **argv) {
  struct stat st;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-v"))
      t.verbose = true;
    else if (!stat(argv[i], &st))
      ftw(argv[i], visit, 16);
  }
  if (!t.models) {
    puts("no models: the first argument is no folder with a backend suite");
    return 77;
  }
  printf(
      "%u models, %u unread, %u values: %u typed, %u ranked, %u symbolic, %u static; of %u "
      "declared static %u\n",
      t.models, t.unread, t.values, t.typed, t.ranked, t.symbolic, t.fixed, t.declared_fixed,
      t.found_fixed);
  printf("%u contradictions\n", t.wrong);
  return t.wrong ? 1 : 0;
}
