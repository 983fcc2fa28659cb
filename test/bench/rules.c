/* SPDX-License-Identifier: Apache-2.0 */
/* rules [NODES]: the milliseconds of processor time that listing the built-in rules takes, that a
 * pass over a small model takes with the reading of those it asks, that reading all takes, that
 * asking every rule at every node of a model takes, and that a pass of the simplifying ones takes.
 * The model is a chain of what exporters write. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/context.h"
#include "rewrite/lang/rule.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return ((double)t.tv_sec + (double)t.tv_nsec * 1e-9) * 1e3;
}

static surg_model *chain(surg_context *ctx, unsigned nodes) {
  static const char *const links[] = {"MatMul (v%u, w)",    "Add (v%u, b)",
                                      "Mul (v%u, b)",       "Sigmoid (v%u)",
                                      "Reshape (v%u, s)",   "Softmax (v%u)",
                                      "Relu (v%u)",         "Transpose <perm = [1, 0]> (v%u)",
                                      "HardSwish (v%u)",    "LayerNormalization (v%u, b)",
                                      "Clip (v%u, lo, hi)", "Cast <to = 1> (v%u)"};
  surg__buf b;
  surg_model *m = NULL;
  surg__buf_init(&b, ctx);
  surg__buf_puts(
      &b,
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[4, 4] v0) => (float[4, 4] y) <\n"
      "float[4, 4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float[4] b = {1,2,3,4}, "
      "int64[2] s = {4, 4}, float lo = {0}, float hi = {6}> {\n");
  for (unsigned i = 0; i < nodes; i++) {
    surg__buf_printf(&b, "v%u = ", i + 1);
    surg__buf_printf(&b, links[i % SURG_COUNT(links)], i);
    surg__buf_putc(&b, '\n');
  }
  surg__buf_printf(&b, "y = Identity (v%u)\n}\n", nodes);
  if (b.failed || surg_model_load_text(ctx, b.p, b.n, "chain", &m) || surg_model_infer(m)) {
    fprintf(stderr, "%s\n", surg_context_error(ctx));
    exit(1);
  }
  surg__buf_free(&b);
  return m;
}

static unsigned ask_all(surg_context *ctx, const surg__rules *rules, surg_model *m) {
  surg__arena arena;
  unsigned hits = 0;
  surg__arena_init(&arena, ctx);
  surg__match *match = surg__arena_zalloc(&arena, sizeof *match);
  if (!match) exit(1);
  match->ctx = ctx;
  match->arena = &arena;
  for (surg_node *n = surg_graph_first_node(surg_model_graph(m)); n; n = surg_node_next(n))
    for (size_t i = 0; i < rules->list.count; i++) {
      const surg_rule *r = rules->list.items[i];
      if (r->op != surg_node_op(n)) continue;
      const surg__mark mark = surg__arena_mark(&arena);
      match->rule = r;
      hits += surg__match_at(match, n, 17);
      surg__arena_reset(&arena, mark);
    }
  surg__arena_free(&arena);
  return hits;
}

static double of_pass(surg_model **m) {
  const double at = now();
  if (surg_model_run(m, "rewrite{group=simplify}")) exit(1);
  return now() - at;
}

int main(int argc, char **argv) {
  const unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
  surg_config config = {.size = sizeof config};
  surg_context *ctx = surg_context_new(&config);
  if (!ctx) return 1;
  double at = now();
  surg__rules *rules = surg__rules_of(ctx);
  if (!rules) return 1;
  printf("%zu rules listed in %.2f ms\n", rules->list.count, now() - at);
  surg_model *m = chain(ctx, 12);
  printf("simplifying 12 nodes: %.2f ms", of_pass(&m));
  surg_model_free(m);
  size_t known = 0;
  for (size_t i = 0; i < rules->list.count; i++) known += rules->list.items[i]->read;
  at = now();
  if (surg__rules_read_all(rules) != SURG_OK) return 1;
  printf(", %zu rules read\nthe others read in %.2f ms\n", known, now() - at);
  m = chain(ctx, nodes);
  at = now();
  const unsigned hits = ask_all(ctx, rules, m);
  printf("every rule asked at %u nodes: %.2f ms, %u match\n", nodes, now() - at, hits);
  printf("simplifying rules as a pass: %.2f ms\n", of_pass(&m));
  surg_model_free(m);
  surg_context_free(ctx);
  return 0;
}
