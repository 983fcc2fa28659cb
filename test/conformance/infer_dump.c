/* SPDX-License-Identifier: Apache-2.0 */
/* What inference proves of the values of a model's main graph, for `infer`.
 *
 *   infer_dump     reads paths of models, a line each, from standard input
 *
 * Answers each with one line of JSON: {"inputs": [VALUE...], "values": [VALUE...]}, values being
 * outputs of nodes; or {"error": TEXT}. A VALUE is {"name", "op", "output", "kind", "dtype",
 * "dims"}, what is not known left out; a dim is a number, a text (an expression), or null. An input
 * is one that a caller must give. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

static void put_text(const char *s) {
  putchar('"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      printf("\\%c", *s);
    else if ((unsigned char)*s < 32)
      printf("\\u%04x", *s);
    else
      putchar(*s);
  }
  putchar('"');
}

static void put_dims(surg_model *m, const surg_type *t) {
  printf(", \"dims\": [");
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim d = *surg_type_dim(t, i);
    const char *text = surg_dim_text(m, &d);
    if (i) printf(", ");
    if (d.value >= 0)
      printf("%lld", (long long)d.value);
    else if (text && strcmp(text, "?") != 0)
      put_text(text);
    else
      printf("null");
  }
  printf("]");
}

static void put_value(surg_model *m, surg_value *v, bool *first) {
  const surg_type *t = surg_value_type(v);
  size_t index = 0;
  surg_node *n = surg_value_producer(v, &index);
  printf("%s{\"name\": ", *first ? "" : ", ");
  *first = false;
  put_text(surg_value_name(v));
  if (n) {
    printf(", \"op\": ");
    put_text(surg_node_op_type(n));
    printf(", \"output\": %zu", index);
  }
  if (t) printf(", \"kind\": %d", (int)surg_type_get_kind(t));
  if (surg_type_get_kind(t) == SURG_TYPE_TENSOR) {
    printf(", \"dtype\": \"%s\"", surg_dtype_name(surg_type_dtype(t)));
    if (surg_type_has_rank(t)) put_dims(m, t);
  }
  printf("}");
}

static void dump(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  bool first = true;
  printf("{\"inputs\": [");
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    if (!surg_value_is_initializer(v)) put_value(m, v, &first);
  }
  printf("], \"values\": [");
  first = true;
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));)
    if (surg_value_producer(v, NULL) && *surg_value_name(v)) put_value(m, v, &first);
  printf("]}\n");
}

int main(void) {
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    surg_context *ctx = surg_context_new(NULL);
    surg_model *m = NULL;
    path[strcspn(path, "\n")] = 0;
    if (surg_model_load(ctx, path, NULL, &m) == SURG_OK && surg_model_infer(m) == SURG_OK) {
      dump(m);
    } else {
      printf("{\"error\": ");
      put_text(surg_context_error(ctx));
      printf("}\n");
    }
    fflush(stdout);
    surg_model_free(m);
    surg_context_free(ctx);
  }
  return 0;
}
