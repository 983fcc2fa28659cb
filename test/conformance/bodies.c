/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the function bodies of lib/schema/bodies.table on ONNX's backend test suite.
 *
 *   bodies [DIR...]
 *
 * Every case with a node whose operator has bodies is run with such nodes made calls of each body
 * as a model function, and must give what the suite expects. Exit 1 where it does not; 77 when
 * there is no data. */
#include "schema/bodies.h"

#include <stdio.h>
#include <stdlib.h>

#include "measure/measure.h"
#include "suite.h"

typedef struct report {
  surg_context *ctx;
  unsigned cases, right, wrong;
  unsigned by_body[128]; /* cases that were right, by index of the body */
} report;

/* Makes nodes of one operator calls of its body. */
static bool call_body(surg_model *m, const surg__body *b) {
  bool any = false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (surg_node_op(n) != b->op) continue;
      surg_node_set_op(n, SURG__BODY_DOMAIN, surg__op_name(b->op));
      any = true;
    }
  return any;
}

/* The model as text with the function behind it, read back. */
static surg_model *with_function(report *r, surg_model *m, const surg__body *body) {
  surg_model *out = NULL;
  char *text = NULL;
  size_t n = 0;
  surg__buf b;
  if (surg_model_ir_version(m) < 9) surg_model_set_ir_version(m, 10);
  surg_model_set_opset(m, SURG__BODY_DOMAIN, 1);
  if (surg_model_save_text(m, false, &text, &n) != SURG_OK) return NULL;
  surg__buf_init(&b, r->ctx);
  surg__buf_put(&b, text, n);
  surg__buf_printf(&b, "<domain: \"%s\", opset_import: [\"\" : %d]>\n%s", SURG__BODY_DOMAIN,
                   body->opset, body->text);
  if (!b.failed) surg_model_load_text(r->ctx, b.p, b.n, "body", &out);
  surg__buf_free(&b);
  surg_context_free_bytes(r->ctx, text);
  return out;
}

static void one_body(report *r, surg_model *m, const surg__body *b, const char *set) {
  char why[300] = "";
  r->cases++;
  surg_context_clear_error(r->ctx);
  surg_model *called = with_function(r, m, b);
  if (!called) snprintf(why, sizeof why, "%s", surg_context_error(r->ctx));
  if (called && suite_run(r->ctx, called, set, why, sizeof why) != SUITE_DIFFERS) {
    r->right++;
    r->by_body[b - surg__bodies]++;
  } else {
    r->wrong++;
    printf("WRONG %s, body of version %d opset %d: %s\n", set, b->since, b->opset, why);
  }
  surg_model_free(called);
}

/* Whether the operator's nodes mean the same in the version of the body as they stand. */
static bool fits(const surg_model *m, const surg__body *b) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const surg_schema *s = surg_node_op(n) == b->op ? surg_node_schema(n) : NULL;
      while (s && s->since != b->since) {
        const surg_schema *next = s->since < b->since ? s + 1 : s - 1;
        if (!surg__node_fits(n, s, next, NULL)) return false;
        s = next;
      }
    }
  return true;
}

/* Every body of the operators in it, also those of other versions: a case is a case. */
static void one_case(void *user, const char *path, const char *set) {
  report *r = user;
  for (size_t i = 0; i < surg__body_count; i++) {
    surg_model *m = NULL;
    const surg__body *b = &surg__bodies[i];
    if (surg_model_load(r->ctx, path, NULL, &m) == SURG_OK && surg_model_infer(m) == SURG_OK &&
        fits(m, b) && call_body(m, b))
      one_body(r, m, b, set);
    surg_model_free(m);
  }
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

int main(int argc, char **argv) {
  static report r;
  surg_config config = {.size = sizeof config, .diag = ignore, .max_memory = 4ull << 30};
  if (surg__body_count > SURG_COUNT(r.by_body)) return 1;
  r.ctx = surg_context_new(&config);
  if (!r.ctx) return 1;
  for (int i = 1; i < argc; i++) suite_walk(argv[i], one_case, &r);
  const char *dirs = getenv("ONNXSURG_BACKEND");
  if (argc == 1) suite_walk_list(dirs && *dirs ? dirs : SUITE_DEFAULT_DIR, one_case, &r);
  unsigned run = 0;
  for (size_t i = 0; i < surg__body_count; i++) {
    const surg__body *b = &surg__bodies[i];
    run += r.by_body[i] > 0;
    if (!r.by_body[i]) printf("no case for %s %d\n", surg__op_name(b->op), b->since);
  }
  printf("%u cases: %u right, %u wrong; %u of %zu bodies\n", r.cases, r.right, r.wrong, run,
         surg__body_count);
  surg_context_free(r.ctx);
  if (r.cases == 0) {
    printf("no test cases: give a folder, set ONNXSURG_BACKEND, or install libonnx-testdata\n");
    return 77;
  }
  return r.wrong > 0;
}
