/* SPDX-License-Identifier: Apache-2.0 */
/* before_after [FIRST [COUNT [wild]]]: random models before and after random pipelines, run on
 * random and adversarial inputs: what a pass leaves must verify and compute the same. A model whose
 * original does not run on an input set proves nothing by it; those are counted with their reason.
 * On a difference the seed, the pipeline and the first differing output are printed.
 *
 * Results are compared bit for bit (any NaN equals any NaN) where the run used exact rewrites; a
 * fold that rounds is compared with the kernels it was folded with, so that those bits agree too.
 *
 * Presets and moves between opsets run as --check does, which knows how exact they were. A model
 * that cannot move is counted as refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "gen.h"
#include "pass/pass.h"
#include "run/verify.h"

#define MAX_BYTES (64u << 20)
#define MAX_WORK (1ull << 28)
#define MAX_TURNS (1u << 16)
#define REASONS 64

static const char *const pipelines[] = {"fold,prune",
                                        "fold{max-growth=inf},prune,identity",
                                        "prune,identity,prune",
                                        "identity,fold,prune",
                                        "toposort,names{all},prune",
                                        "repeat{max=4}(fold{max-growth=inf},identity,prune)",
                                        "constants,fold,prune",
                                        "ir{to=10},fold,prune"};

/* One of them for each of every so many models. */
static const char *const proven[] = {
    "simplify",      "opset{to=7,allow=exact}",  "simplify-exact",   "opset{to=9,allow=exact}",
    "fuse",          "opset{to=11,allow=exact}", "shrink",           "opset{to=13,allow=exact}",
    "simplify,fuse", "opset{to=24,allow=exact}", "replace{op=Gemm}", "decompose{all,allow=exact}"};
#define PROVEN_EVERY 4

typedef struct reason {
  char why[200];
  size_t count;
} reason;

typedef struct tally {
  reason items[REASONS];
  size_t n;
} tally;

static tally reasons, refusals;
static size_t checks, differences, unchecked, moves, refused;

static void count(tally *t, const char *why, unsigned times) {
  for (size_t i = 0; i < t->n; i++) {
    if (strcmp(t->items[i].why, why) != 0) continue;
    t->items[i].count += times;
    return;
  }
  if (t->n == REASONS) return;
  snprintf(t->items[t->n].why, sizeof t->items[t->n].why, "%s", why);
  t->items[t->n++].count = times;
}

/* Runs that say nothing, with the reason of the first of them; where it is, is left out. */
static void not_checked(const char *why, unsigned runs) {
  const char *colon = strrchr(why, ':');
  unchecked += runs;
  if (runs) count(&reasons, colon ? colon + 2 : *why ? why : "no reason given", runs);
}

static void differs(uint64_t seed, const char *pipeline, const char *what, const char *where) {
  differences++;
  printf("seed %llu, %s: %s%s%s\n", (unsigned long long)seed, pipeline, what, where ? " of " : "",
         where ? where : "");
}

/* What a caller sees: as many outputs, of the same names in the same order. */
static bool same_interface(surg_graph *a, surg_graph *b) {
  const size_t n = surg_graph_output_count(a);
  if (surg_graph_output_count(b) != n) return false;
  for (size_t i = 0; i < n; i++)
    if (strcmp(surg__output_name(a, i), surg__output_name(b, i)) != 0) return false;
  return true;
}

/* On tame inputs and on what rewrites go wrong on, at two sizes of symbols and at mixed ones. */
static void compare(surg_model *before, surg_model *after, uint64_t seed, const char *pipeline) {
  const surg__verify_options options = {.seed = seed,
                                        .max_bytes = MAX_BYTES,
                                        .max_work = MAX_WORK,
                                        .tolerance = {.signs = true},
                                        .no_random = true,
                                        .mixed = true};
  surg__verify_report r;
  if (!same_interface(surg_model_graph(before), surg_model_graph(after))) {
    differs(seed, pipeline, "another interface", NULL);
    return;
  }
  const surg_status s = surg__verify(before, after, &options, &r);
  checks += r.checked;
  not_checked(r.skip_why, r.skipped);
  if (s != SURG_OK)
    differs(seed, pipeline, surg_status_name(s), NULL);
  else if (*r.failure)
    differs(seed, pipeline, r.failure, NULL);
  for (size_t i = 0; s == SURG_OK && i < r.n_outputs; i++)
    if (r.outputs[i].differs)
      differs(seed, pipeline, r.outputs[i].worst.why, surg_value_name(r.outputs[i].value));
  surg__verify_free(&r);
}

static surg_status transform(surg_model **m, const char *text) {
  surg__pipeline *p = NULL;
  surg_status s = surg__pipeline_parse(surg_model_context(*m), text, "test", &p);
  surg__run_options options = {.verify_each = true};
  if (s == SURG_OK) s = surg__run(m, p, &options, NULL);
  surg__pipeline_free(p);
  return s;
}

static void prove(surg_model **m, uint64_t seed, const char *text, const char *cannot) {
  surg__pipeline *p = NULL;
  surg_status s = surg__pipeline_parse(surg_model_context(*m), text, "test", &p);
  const surg__run_options options = {.verify_each = true};
  const surg__proof_options how = {
      .seeds = 2, .rtol = -1, .max_bytes = MAX_BYTES, .max_work = MAX_WORK, .max_turns = MAX_TURNS};
  surg__proof proof = {0};
  surg__run_report report = {0};
  if (s == SURG_OK) s = surg__run_proven(m, p, &options, &how, &report, &proof);
  surg__run_report_free(&report);
  surg__pipeline_free(p);
  moves++;
  checks += proof.checked;
  not_checked(proof.why, proof.skipped);
  if (s == SURG_OK) return;
  if (!*cannot) {
    differs(seed, text, surg_status_name(s), NULL);
    return;
  }
  refused++;
  count(&refusals, cannot, 1);
}

#define OPERATOR 60

/* What is said of a model that cannot move is no fault; user: the first operator that cannot. */
static void print_line(void *user, surg_severity severity, const char *line) {
  char *cannot = user;
  if (severity != SURG_ERROR) return;
  const char *op = strstr(line, " ("), *why = strstr(line, "not valid in opset");
  if (!*cannot && op && why && op < why)
    snprintf(cannot, OPERATOR, "%.*s", (int)strcspn(op + 2, ")"), op + 2);
  if (!*cannot) printf("%s\n", line);
}

static void one(uint64_t seed, bool wild) {
  char cannot[OPERATOR] = "";
  surg_config config = {.size = sizeof config, .diag = print_line, .diag_user = cannot, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  gen_options options = {.seed = seed, .wild = wild};
  const bool there = surg_context_passes(ctx) != NULL;
  surg_model *before = there ? gen_model(ctx, &options) : NULL;
  surg_model *after = surg_model_clone(before);
  const char *pipeline = pipelines[seed % SURG_COUNT(pipelines)];
  /* Raising the IR version is refused where the file is newer already. */
  if (strncmp(pipeline, "ir", 2) == 0 && surg_model_ir_version(before) > 10)
    pipeline = pipelines[0];
  if (!before || !after) {
    differs(seed, pipeline, "no model was made", NULL);
  } else if (transform(&after, pipeline) != SURG_OK) {
    differs(seed, pipeline, "the pipeline fails", NULL);
    after = NULL;
  } else {
    compare(before, after, seed, pipeline);
  }
  surg_model_free(after);
  after = before && seed % PROVEN_EVERY == 0 ? surg_model_clone(before) : NULL;
  if (after) prove(&after, seed, proven[seed / PROVEN_EVERY % SURG_COUNT(proven)], cannot);
  surg_model_free(after);
  surg_model_free(before);
  surg_context_free(ctx);
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t count_of = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
  const bool wild = argc > 3 && strcmp(argv[3], "wild") == 0;
  const char *more = getenv("ONNXSURG_GRAPHS");
  if (more) count_of = strtoull(more, NULL, 10);
  for (uint64_t i = 0; i < count_of; i++) one(first + i, wild);
  printf(
      "%llu graphs: %zu runs compared, %zu differ, %zu not checked; %zu of %zu presets and moves "
      "refused\n",
      (unsigned long long)count_of, checks, differences, unchecked, refused, moves);
  for (size_t i = 0; i < reasons.n; i++)
    printf("  not checked: %zu: %s\n", reasons.items[i].count, reasons.items[i].why);
  for (size_t i = 0; i < refusals.n; i++)
    printf("  refused: %zu: %s has no such form there\n", refusals.items[i].count,
           refusals.items[i].why);
  const bool most_refused = moves && refused * 2 > moves;
  return differences || checks < count_of || most_refused ? EXIT_FAILURE : EXIT_SUCCESS;
}
