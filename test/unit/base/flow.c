/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum cuts of small random networks, compared with all cuts there are. */
#include <onnxsurg/flow.h>
#include <onnxsurg/onnxsurg.h>

#include "../unit.h"

#define VERTICES 9u
#define EDGES 24u

typedef struct network {
  uint32_t n, count;
  struct {
    uint32_t from, to;
    int64_t capacity, back;
  } edges[EDGES];
} network;

static network draw(void) {
  network x = {.n = (uint32_t)unit_between(2, VERTICES), .count = (uint32_t)unit_between(0, EDGES)};
  for (uint32_t i = 0; i < x.count; i++) {
    const bool endless = unit_between(0, 5) == 0;
    x.edges[i].from = (uint32_t)unit_between(0, x.n - 1);
    x.edges[i].to = (uint32_t)unit_between(0, x.n - 1);
    /* No path of endless edges: those lead to vertices of higher numbers than 1 only. */
    x.edges[i].capacity = endless && x.edges[i].from > 1 && x.edges[i].to > 1
                              ? SURG_FLOW_ENDLESS
                              : (int64_t)unit_between(0, 9);
    x.edges[i].back = unit_between(0, 2) ? 0 : (int64_t)unit_between(0, 9);
  }
  return x;
}

static bool is_cut(uint32_t sink, uint32_t from, uint32_t to) {
  return !(sink >> from & 1) && sink >> to & 1;
}

/* What a cut costs; bit v of `sink`: vertex v is on the side of the sink. SURG_FLOW_ENDLESS: it
 * has an endless edge. */
static int64_t cost(const network *x, uint32_t sink) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < x->count; i++) {
    const uint32_t from = x->edges[i].from, to = x->edges[i].to;
    if (is_cut(sink, from, to) && x->edges[i].capacity == SURG_FLOW_ENDLESS)
      return SURG_FLOW_ENDLESS;
    if (is_cut(sink, from, to)) sum += x->edges[i].capacity;
    if (is_cut(sink, to, from)) sum += x->edges[i].back;
  }
  return sum;
}

static int64_t least(const network *x) {
  int64_t best = SURG_FLOW_ENDLESS;
  for (uint32_t sink = 0; sink < 1u << x->n; sink++) {
    if (sink & 1 || !(sink & 2)) continue;
    const int64_t c = cost(x, sink);
    if (c < best) best = c;
  }
  return best;
}

START_TEST(cuts_are_minimal) {
  surg_context *ctx = surg_context_new(NULL);
  for (int round = 0; round < UNIT_ROUNDS(4000); round++) {
    const network x = draw();
    surg_flow *f = surg_flow_new(ctx, x.n);
    for (uint32_t i = 0; i < x.count; i++)
      ck_assert_int_eq(
          surg_flow_add(f, x.edges[i].from, x.edges[i].to, x.edges[i].capacity, x.edges[i].back),
          SURG_OK);
    ck_assert_uint_eq(surg_flow_edges(f), x.count);
    ck_assert_int_eq(surg_flow_run(f, 1000000), SURG_OK);
    uint32_t sink = 0;
    for (uint32_t v = 0; v < x.n; v++) sink |= (uint32_t)!surg_flow_with_source(f, v) << v;
    ck_assert_uint_eq(sink & 3, 2);
    ck_assert_int_eq(cost(&x, sink), least(&x));
    surg_flow_free(f);
  }
  surg_context_free(ctx);
}
END_TEST

/* Each vertex of a long chain sends one unit to the end of it: paths as long as the chain. */
START_TEST(steps_are_limited) {
  enum { N = 3000 };
  surg_context *ctx = surg_context_new(NULL);
  surg_flow *f = surg_flow_new(ctx, N + 2);
  for (uint32_t v = 2; v < N + 2; v++) {
    ck_assert_int_eq(surg_flow_add(f, 0, v, 1, 0), SURG_OK);
    ck_assert_int_eq(surg_flow_add(f, v, v < N + 1 ? v + 1 : 1, N, 0), SURG_OK);
  }
  ck_assert_int_eq(surg_flow_run(f, 1000), SURG_ELIMIT);
  ck_assert_int_eq(surg_flow_run(f, 1000000000), SURG_OK);
  surg_flow_free(f);
  surg_context_free(ctx);
}
END_TEST

START_TEST(endless_edges) {
  surg_context *ctx = surg_context_new(NULL);
  surg_flow *f = surg_flow_new(ctx, 4);
  ck_assert_int_eq(surg_flow_add(f, 0, 2, SURG_FLOW_ENDLESS, 0), SURG_OK);
  ck_assert_int_eq(surg_flow_add(f, 2, 3, 5, 0), SURG_OK);
  surg_flow_reach(f);
  ck_assert(surg_flow_with_source(f, 0) && surg_flow_with_source(f, 2));
  ck_assert(!surg_flow_with_source(f, 3) && !surg_flow_with_source(f, 1));
  ck_assert_int_eq(surg_flow_add(f, 2, 1, SURG_FLOW_ENDLESS, 0), SURG_OK);
  ck_assert_int_eq(surg_flow_run(f, 1000), SURG_EINVALID);
  ck_assert_int_eq(surg_flow_add(f, 2, 4, 1, 0), SURG_EUSAGE);
  ck_assert_int_eq(surg_flow_add(f, 2, 3, -1, 0), SURG_EUSAGE);
  ck_assert(!surg_flow_with_source(f, 4));
  surg_flow_free(f);
  surg_flow_free(NULL);
  ck_assert_ptr_null(surg_flow_new(ctx, 1));
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("flow");
  TCase *t = tcase_create("flow");
  tcase_add_test(t, cuts_are_minimal);
  tcase_add_test(t, steps_are_limited);
  tcase_add_test(t, endless_edges);
  suite_add_tcase(s, t);
  return unit_run(s);
}
