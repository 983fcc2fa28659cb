/* SPDX-License-Identifier: Apache-2.0 */
/* props [FIRST [COUNT]]: what must hold of every pipeline on every model, on random ones:
 * - the same input gives the same bytes, whatever the seed of the hash tables;
 * - what a pipeline that goes to a fixed point has made, it leaves as it is, byte for byte;
 * - a sorted graph is not sorted again;
 * - folding by default and clearing up make no file larger;
 * - in whatever topological order the nodes stand, the same graph comes out. */
#include "props.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define ORDERS 10

static const char *const pipelines[] = {"repeat{max=8}(prune,fold,identity)",
                                        "prune",
                                        "identity",
                                        "toposort",
                                        "repeat{max=8}(prune,constants,fold,identity)",
                                        "fold{max-growth=inf},identity,prune",
                                        "guard(fold{max-growth=inf},constants{form=node})",
                                        "prune,names{all}",
                                        "names"};
#define PIPELINES (sizeof pipelines / sizeof *pipelines)

/* Each on every model. */
static const char *const shrinking[] = {"fold", "fold,prune", "simplify"};
#define SHRINKING (sizeof shrinking / sizeof *shrinking)

static unsigned failures, orders_tried, swaps_made;

static void fail(uint64_t seed, const char *pipeline, const char *what) {
  fprintf(stderr, "seed %llu, %s: %s\n", (unsigned long long)seed, pipeline, what);
  failures++;
}

static void show(void *user, surg_severity severity, const char *line) {
  (void)user;
  if (severity == SURG_ERROR) fprintf(stderr, "%s\n", line);
}

typedef struct saved {
  surg_context *ctx;
  void *p;
  size_t n;
} saved;

static bool save(surg_model *m, surg_context *ctx, saved *out) {
  *out = (saved){.ctx = ctx};
  return surg_model_save_memory(m, &out->p, &out->n) == SURG_OK;
}

static bool same(const saved *a, const saved *b) {
  return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static surg_model *made(surg_context *ctx, const saved *bytes) {
  surg_model *m = NULL;
  return surg_model_load_memory(ctx, bytes->p, bytes->n, "made", NULL, &m) == SURG_OK ? m : NULL;
}

/* The result of a pipeline on a file, as bytes. */
static bool through(surg_context *ctx, const saved *in, const char *pipeline, saved *out) {
  surg_model *m = made(ctx, in);
  *out = (saved){.ctx = ctx};
  bool ok = m && surg_model_run(&m, pipeline) == SURG_OK && surg_model_verify(m) == SURG_OK &&
            save(m, ctx, out);
  surg_model_free(m);
  return ok;
}

static void drop(saved *s) {
  if (s->ctx) surg_context_free_bytes(s->ctx, s->p);
  s->p = NULL;
}

/* --- other topological orders --- */

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Whether `later`, or a graph inside it, reads an output of `n`, which stands in the same graph. */
static bool reads(const surg_node *later, const surg_node *n) {
  const surg_graph *g = surg_node_graph(n);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
      const surg_graph *at = surg_use_graph(u);
      const surg_node *reader = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
      for (; at != g && at; at = surg_graph_parent(at)) reader = surg_graph_parent_node(at);
      if (reader == later) return true;
    }
  }
  return false;
}

/* Swaps neighbours at random: every topological order can come out. */
static void shuffle(surg_graph *g, uint64_t *state) {
  for (size_t rounds = 4; rounds-- > 0;) {
    for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
      surg_node *after = next = surg_node_next(n);
      if (!after || next_random(state) % 3 == 0 || reads(after, n)) continue;
      if (surg_node_move(after, n) != SURG_OK) return;
      swaps_made++;
      next = n; /* goes on with the one that moved back */
    }
  }
}

static void try_orders(surg_context *ctx, const saved *in, uint64_t seed, const char *pipeline,
                       uint64_t expected) {
  for (uint64_t order = 0; order < ORDERS; order++) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + order + 1;
    surg_model *m = made(ctx, in);
    bool moved = false;
    if (!m) {
      fail(seed, pipeline, "does not load");
      return;
    }
    for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
      shuffle(g, &state);
      if (surg_graph_toposort(g, &moved) != SURG_OK || moved)
        fail(seed, pipeline, "a sorted graph moves");
    }
    if (surg_model_run(&m, pipeline) != SURG_OK)
      fail(seed, pipeline, "fails in another order");
    else if (props_signature(m) != expected)
      fail(seed, pipeline, "another graph comes out in another order");
    orders_tried++;
    surg_model_free(m);
  }
}

/* --- one model --- */

static void properties(surg_context *ctx, surg_context *other, const saved *in, uint64_t seed,
                       const char *pipeline) {
  saved first, twin, again = {0};
  bool ran = through(ctx, in, pipeline, &first);
  ran = through(other, in, pipeline, &twin) && ran;
  ran = ran ? through(ctx, &first, pipeline, &again) : false;
  if (!ran) {
    fail(seed, pipeline, "does not run");
  } else {
    if (!same(&first, &twin)) fail(seed, pipeline, "other bytes with another hash seed");
    if (!same(&first, &again)) fail(seed, pipeline, "changes its own result");
    surg_model *m = made(ctx, &first);
    if (m) try_orders(ctx, in, seed, pipeline, props_signature(m));
    surg_model_free(m);
  }
  drop(&first);
  drop(&twin);
  drop(&again);
}

static void no_growth(surg_context *ctx, const saved *in, uint64_t seed) {
  for (size_t i = 0; i < SHRINKING; i++) {
    saved out;
    if (!through(ctx, in, shrinking[i], &out))
      fail(seed, shrinking[i], "does not run");
    else if (out.n > in->n)
      fail(seed, shrinking[i], "makes the file larger");
    drop(&out);
  }
}

static void one(uint64_t seed) {
  surg_config config = {.size = sizeof config, .diag = show, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  config.seed = seed + 2;
  surg_context *other = surg_context_new(&config);
  gen_options options = {.seed = seed};
  surg_model *m = ctx && other ? gen_model(ctx, &options) : NULL;
  const char *pipeline = pipelines[seed % PIPELINES];
  saved in = {0};
  if (!m || !save(m, ctx, &in)) {
    fail(seed, pipeline, "no model was made");
  } else {
    properties(ctx, other, &in, seed, pipeline);
    no_growth(ctx, &in, seed);
  }
  drop(&in);
  surg_model_free(m);
  surg_context_free(other);
  surg_context_free(ctx);
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 500;
  for (uint64_t i = 0; i < count; i++) one(first + i);
  printf("%llu models, %u other orders, %u swaps, %u failures\n", (unsigned long long)count,
         orders_tried, swaps_made, failures);
  return failures || swaps_made < count ? EXIT_FAILURE : EXIT_SUCCESS;
}
