/* SPDX-License-Identifier: Apache-2.0 */
/* prove_rules [OPTION]...: proves the built-in rules by models drawn from them. Exit 1 where a rule
 * is wrong, or where too many have no case.
 *
 *   --group G, --class exact|ulp|rounding|approx|lossy, --rule NAME ...   these alone
 *   --seed N, --seeds N    the first seed, and how many one after the other
 *   --cases N              for each emission
 *   --patience N           after so many draws one case of an emission is enough
 *   --harsh PERCENT        of the cases have constants that are huge, tiny, or cancel (25)
 *   --bits N               cases whose inputs are N bits at most are run with all values
 *   --most-k K             rounding(k) counts as rounding(K) where k is larger
 *   --kept FILE            judges the cases of a file as well (kept.c)
 *   --mutants N            rules with a mistake put in are judged by the same cases, by some drawn
 * for the mistake, and by golden cases; the rate of those found out is printed, and must not fall
 * below the floor
 *   --golden DIR ...       where golden cases are
 *   -v                     why draws fail, which mistakes survive */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "rules.h"

#define DRAWS 800        /* for an emission, at most; with many --cases, 20 for each of them */
#define MOST_OTHERS 10 /* times as many cases: of emissions that come before the one drawn for */
#define KEPT_MISSES 12   /* cases that do not match, kept for mutants */
#define TINY_DRAWS 120 /* for an emission, to find as many cases that are run with all values: */
#define TINY_CASES 3
#define MUTANT_DRAWS 80 /* for a mistake that no case shows */
#define MOST_WITHOUT 12  /* rules that no case is found for: give shapes.c a row */
#define FLOOR_PERCENT 84 /* of mutants found out */

/* Rules that are not judged, each with the reason. */
static const struct {
  const char *rule, *why;
} excused[] = {
    {"cast-of-narrower",
     "integers of more than 24 bits differ, which takes consent (golden: replace/numbers)"},
    {"cast-of-compared-Less", "likewise"},
    {"cast-of-compared-Greater", "likewise"},
    {"cast-of-compared-LessOrEqual", "likewise"},
    {"cast-of-compared-GreaterOrEqual", "likewise"},
    {"cast-of-compared-Equal", "likewise"},
    {"cast-before-compared-Less", "likewise"},
    {"cast-before-compared-Greater", "likewise"},
    {"cast-of-equal", "likewise"},
    {"cast-of-sum-Add", "likewise"},
    {"cast-of-sum-Sub", "likewise"},
    {"cast-of-sum-Mul", "likewise"},
    {"cast-of-bound-Max", "likewise"},
    {"cast-of-bound-Min", "likewise"},
    {"cast-of-sums-CumSum", "likewise"},
    {"cast-of-reduced-ReduceMax", "likewise"},
    {"cast-of-reduced-ReduceMin", "likewise"},
    {"cast-of-reduced-17-ReduceMax", "likewise"},
    {"cast-of-reduced-17-ReduceMin", "likewise"},
    {"cast-of-total", "likewise"},
    {"cast-of-total-12", "likewise"},
    {"cast-of-sign-Neg", "likewise"},
    {"cast-of-sign-Abs", "likewise"},
    {"cast-of-sign-Sign", "likewise"},
    {"cast-of-quotient", "likewise"},
    {"cast-of-remainder", "likewise"},
    {"cast-by-open-table",
     "integers outside of the table fail, which takes consent (golden: replace/numbers-table)"},
    {"reduce-noop-abs-18-ReduceL1",
     "runtimes read noop_with_empty_axes of this operator in two ways"},
    {"reduce-noop-abs-18-ReduceL2",
     "runtimes read noop_with_empty_axes of this operator in two ways"},
    {"reduce-noop-square-18", "runtimes read noop_with_empty_axes of this operator in two ways"},
    {"reduce-noop-log-18", "runtimes read noop_with_empty_axes of this operator in two ways"},
    {"quantization-left-out", "it computes something else, which takes consent (golden: repair/*)"},
    {"dynamic-quantization-left-out", "likewise (golden: repair/unquantized)"},
    {"where-of-infinity", "-1e38 takes the place of -infinity (golden: repair/mask-of-infinity)"},
    {"where-or-infinity", "likewise"},
    {"qgemm-left-out", "nothing here runs it (golden: unquantize/contrib)"},
    {"qgemm-columns-left-out", "likewise"},
    {"turn-of-window", "such a chain is not drawn (golden: repair/windows)"},
    {"string-normalizer-locale", "lists of words are not drawn (golden: repair/string-normalizer)"},
    {"conv-integer-left-out", "likewise"},
    {"conv-integer-channels-left-out", "likewise"},
    {"matmul-integer-left-out", "likewise"},
    {"concat-own-constants",
     "a constant that two nodes read is not drawn (golden: target/opencv/opencv-constant-layers)"},
    {"matmul-own-constants", "likewise"},
    {"apart-MatMul", "the reader of the result is not drawn (golden: target/opencv/opencv-chains)"},
    {"apart-Conv", "likewise"},
    {"apart-ConvTranspose", "likewise"},
    {"apart-ReduceL2", "likewise"},
    {"apart-Pow", "likewise"},
    {"apart-Tanh", "likewise"},
    {"apart-Elu", "likewise"},
    {"apart-Exp", "likewise"},
    {"apart-Div", "likewise"},
    {"bias-own-constants-Add",
     "a constant that two nodes read is not drawn (golden: target/opencv/opencv-shared-bias)"},
    {"bias-own-constants-Gemm", "likewise"},
    {"ms-moe", "nothing here runs it; conformance/contrib_forms.py asks ONNX Runtime"},
    {"ms-qmoe", "the same"},
    {"ms-decoder-heads", "the same"},
    {"ms-decoder-heads-masked", "the same"},
    {"ms-qembed-layer-norm", "the same"},
    {"dequantized-lstm-to-dynamic", "nothing here runs the result (golden: rewrite/lstm-dynamic)"},
    {"dequantized-lstm-to-dynamic-one", "the same"},
    {"dropout-training-any-12", "it draws without a seed"},
    {"mmdeploy-deformable-attention",
     "nothing here runs it; replace/deformable-attention holds it"},
    {"mmcv-deformable-attention", "the same"},
    {"aten-adaptive-avg-pool2d", "nothing here runs it; replace/aten-pool holds it"},
    {"withdrawn-scaled-tanh", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-parametric-softplus",
     "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-scale", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-affine", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-image-scaler", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-crop", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-crop-to", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-constant-fill", "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-constant-fill-as-shape",
     "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"withdrawn-given-tensor-fill",
     "nothing here runs it; mend/withdrawn* and conformance hold it"},
    {"loop-with-condition", "models with loops are not drawn (golden: repair/loop-no-condition)"},
    {"if-known", "models with branches are not drawn; golden cases hold it (opset/if-known*)"},
    {"if-to-where", "models with branches are not drawn; golden cases hold it (replace/if-*)"},
    {"ml-tree-regressor", "cases of kept.txt hold it"},
    {"ml-tree-regressor-forms", "cases of kept.txt hold it"},
    {"ml-tree-ensemble", "cases of kept.txt hold it"},
    {"ml-tree-ensemble-forms", "cases of kept.txt hold it"},
    {"ml-tree-classifier", "cases of kept.txt hold it"},
    {"ml-svm-regressor", "cases of kept.txt hold it"},
    {"ml-imputer-of-nan", "cases of kept.txt hold it"},
    {"ml-feature-vectorizer", "cases of kept.txt hold it"},
    {"reshape-matmul-reshape", "cases of kept.txt hold it"},
    {"reshape-matmul-heads", "cases of kept.txt hold it"},
    {"reshape-gemm-reshape", "cases of kept.txt hold it"},
    {"reshape-gemm-reshape-turned", "cases of kept.txt hold it"},
    {"reshape-instance-norm-reshape", "cases of kept.txt hold it"},
    {"gemm-gemm", "cases of kept.txt hold it"},
    {"matmul-add-matmul", "cases of kept.txt hold it"},
    {"pad-max-pool-lowest", "cases of kept.txt hold it"},
    {"pad-window-axes-Conv", "cases of kept.txt hold it"},
    {"group-norm-of-instances", "cases of kept.txt hold it"},
    {"rotary-of-halves", "cases of kept.txt hold it"},
    {"space-to-depth-of-slices", "golden cases hold it (fuse/space-to-depth)"},
};

#define NAMED 40u /* rules named on the command line */

typedef struct options {
  uint64_t seed;
  unsigned seeds, cases, patience, mutants, bits, harsh, most_k, n_rules;
  int kind; /* the class of rules that are wanted; -1: all */
  const char *group, *rules[NAMED], *kept;
  bool verbose;
} options;

typedef struct tally {
  unsigned rules, unrun, without, excused, emissions, never, cases, wrong, mutants, killed,
      stillborn, golden, same, all_values, all_cases, loose;
} tally;

typedef struct kept {
  rule_case **items;
  size_t count, room;
} kept;

static void keep(kept *k, rule_case *c) {
  if (k->count == k->room) {
    k->room = k->room ? k->room * 2 : 64;
    k->items = realloc(k->items, k->room * sizeof *k->items);
    if (!k->items) abort();
  }
  k->items[k->count++] = c;
}

static void forget(kept *k) {
  for (size_t i = 0; i < k->count; i++) free(k->items[i]->text);
  k->count = 0;
}

static const char *excuse(const surg_rule *r) {
  for (size_t i = 0; i < SURG_COUNT(excused); i++)
    if (!strcmp(excused[i].rule, r->name)) return excused[i].why;
  return NULL;
}

static void told_wrong(const surg_rule *r, const rule_case *c, const char *why) {
  printf("WRONG %s (emission %u, opset %lld to %lld): %s\n%s", r->name, c->emitted,
         (long long)c->from, (long long)c->to, why, c->text);
  if (c->style == 0) return;
  printf("where");
  for (unsigned i = 0; i < c->n_items; i++) {
    const item *it = &c->items[i];
    if (it->made || it->constant) continue;
    printf(" %s [", it->name);
    for (unsigned k = 0; k < it->rank; k++) printf(k ? ", %lld" : "%lld", (long long)it->dims[k]);
    printf("]");
  }
  printf("\n");
}

/* Cases of one emission whose inputs are few bits, run with all values of them; how many, or -1. */
static int prove_all_values(surg_context *ctx, const options *o, const surg_rule *r, unsigned e,
                            surg__arena *arena) {
  dice d = {.state = o->seed * 1000003 + e, .tiny = true};
  for (const char *p = r->name; *p; p++) d.state = d.state * 131 + (unsigned char)*p;
  char why[300];
  int proven = 0;
  for (unsigned i = 0; i < TINY_DRAWS && proven < TINY_CASES; i++) {
    const surg__mark mark = surg__arena_mark(arena);
    rule_case *c = case_draw(ctx, arena, r, e, &d);
    const verdict v = c ? case_judge_all(ctx, r, c, o->bits, why) : CASE_BROKEN;
    proven += v == CASE_PROVEN;
    if (v == CASE_WRONG) told_wrong(r, c, why);
    if (c) free(c->text);
    surg__arena_reset(arena, mark);
    if (v == CASE_WRONG) return -1;
  }
  return proven;
}

/* Draws cases for one emission until enough matched it. Says how many it proved. */
static unsigned prove_emission(surg_context *ctx, const options *o, const surg_rule *r, unsigned e,
                               surg__arena *arena, kept *cases, tally *t, unsigned *proven) {
  dice d = {.state = o->seed * 1000003 + e, .harsh = o->harsh};
  for (const char *p = r->name; *p; p++) d.state = d.state * 131 + (unsigned char)*p;
  unsigned misses = 0, made = 0, some = 0, tight = 0, verdicts[5] = {0};
  char why[300], last[300] = "no model could be drawn";
  const unsigned draws = o->cases > DRAWS / 20 ? o->cases * 20 : DRAWS;
  for (unsigned i = 0; i < draws && proven[e] < o->cases; i++) {
    if ((i >= o->patience && proven[e]) || some >= MOST_OTHERS * o->cases) break;
    const surg__mark mark = surg__arena_mark(arena);
    rule_case *c = case_draw(ctx, arena, r, e, &d);
    if (c) c->most_k = o->most_k;
    verdict v = c ? case_judge(ctx, r, c, why) : CASE_BROKEN;
    verdicts[v]++;
    if (v == CASE_WRONG) {
      if (!t->wrong++ || o->verbose)
        told_wrong(r, c, why);
      else
        printf("WRONG %s: %s\n", r->name, why);
      free(c->text);
      return 1;
    }
    if (v == CASE_PROVEN) proven[c->emitted - 1]++, t->cases++, some++, tight += c->bounded;
    /* An operator of a runtime's own, which has no kernel here. */
    if (v == CASE_IDLE && c && c->emitted && *r->match.stmts[r->anchor].domain &&
        ++made >= o->cases) {
      free(c->text);
      break;
    }
    if (c && v != CASE_PROVEN) snprintf(last, sizeof last, "%s", why);
    if (c && o->verbose && v != CASE_PROVEN && !proven[e] && i < 40)
      printf("  %d %s\n%s", (int)v, why, c->text);
    if (c && (v == CASE_PROVEN || (v == CASE_MISSED && misses++ < KEPT_MISSES))) {
      keep(cases, c);
      continue;
    }
    if (c) free(c->text);
    surg__arena_reset(arena, mark);
  }
  if (o->verbose)
    printf("  %s emission %u: %u broken, %u missed, %u idle, %u proven\n", r->name, e + 1,
           verdicts[CASE_BROKEN], verdicts[CASE_MISSED], verdicts[CASE_IDLE],
           verdicts[CASE_PROVEN]);
  if (!proven[e] && made) {
    t->unrun++;
    proven[e] = UINT_MAX;
    return 0;
  }
  if (r->exactness == SURG_ROUNDING && some && !tight) {
    printf("by the largest element alone: %s, emission %u (line %u)\n", r->name, e + 1,
           r->emits[e].line);
    t->loose++;
  }
  if (!proven[e])
    printf("never made: %s, emission %u (line %u): %s\n", r->name, e + 1, r->emits[e].line, last);
  return 0;
}

static bool loads(surg_context *ctx, surg_rule *r) {
  surg__buf why;
  uint32_t line = 0;
  const uint16_t swaps = r->swaps;
  surg__buf_init(&why, ctx);
  for (uint16_t i = 0; i < r->n_vars; i++) r->vars[i].match_node = -1;
  r->swaps = 0;
  const bool ok = surg__rule_check(ctx, r, &why, &line);
  surg__buf_free(&why);
  if (!ok) r->swaps = swaps;
  return ok;
}

/* Cases drawn for this mistake: from the rule as it is with the mistake, and as it was. */
static bool found_by_drawing(surg_context *ctx, surg_rule *r, mutant *m,
                             uint64_t seed) {
  surg__arena arena;
  dice d = {seed};
  char why[300];
  bool found = false;
  surg__arena_init(&arena, ctx);
  for (unsigned i = 0; i < MUTANT_DRAWS && !found; i++) {
    const surg__mark mark = surg__arena_mark(&arena);
    if (i & 1) mutant_swap(m), (void)loads(ctx, r);
    rule_case *c = case_draw(ctx, &arena, r, m->emit, &d);
    if (i & 1) mutant_swap(m), (void)loads(ctx, r);
    found = c && case_judge(ctx, r, c, why) == CASE_WRONG;
    if (c) free(c->text);
    surg__arena_reset(&arena, mark);
  }
  surg__arena_free(&arena);
  return found;
}

/* `right`: what the rule does in golden cases without the mistake, 0 where that is to be found. */
static bool golden_finds(surg_context *ctx, surg_rule *r, mutant *m, uint64_t *right) {
  const uint64_t wrong = golden_done(ctx, r);
  if (!*right) {
    mutant_swap(m), (void)loads(ctx, r);
    *right = golden_done(ctx, r);
    mutant_swap(m), (void)loads(ctx, r);
  }
  return wrong != *right;
}

static void try_mutants(surg_context *ctx, const options *o, surg_rule *r, const kept *cases,
                        tally *t) {
  dice d = {o->seed + t->rules};
  char what[100], why[300];
  uint64_t right = 0; /* of golden cases, 0: not asked yet */
  for (unsigned i = 0; i < o->mutants; i++) {
    mutant m;
    if (!mutant_make(ctx, r, &d, &m, what)) return;
    t->mutants++;
    bool found = !loads(ctx, r);
    t->stillborn += found;
    unsigned fewer = 0;
    for (size_t k = 0; k < cases->count && !found; k++) {
      const unsigned was = cases->items[k]->emitted;
      const verdict v = case_judge(ctx, r, cases->items[k], why);
      found = v == CASE_WRONG;
      fewer += was && v == CASE_MISSED;
      cases->items[k]->emitted = was;
    }
    /* A rule that no longer fires is found out by what it leaves. */
    if (!found && fewer) found = true;
    if (!found) found = found_by_drawing(ctx, r, &m, o->seed + i);
    if (!found) found = golden_finds(ctx, r, &m, &right), t->golden += found;
    t->killed += found;
    const char *why_same = found ? NULL : same_anyway(r->name, what);
    if (why_same) t->mutants--, t->same++;
    if (!found && !why_same && o->verbose) printf("survives: %s, %s\n", r->name, what);
    mutant_swap(&m);
    (void)loads(ctx, r);
  }
}

static void prove(surg_context *ctx, const options *o, surg_rule *r, tally *t) {
  static kept cases;
  if (excuse(r)) {
    printf("not judged: %s: %s\n", r->name, excuse(r));
    t->excused++;
    return;
  }
  unsigned proven[64] = {0};
  bool wrong = false;
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  t->rules++;
  for (unsigned e = 0; e < r->n_emits && e < SURG_COUNT(proven) && !wrong; e++) {
    t->emissions++;
    wrong = prove_emission(ctx, o, r, e, &arena, &cases, t, proven);
    const int all = o->bits && !wrong ? prove_all_values(ctx, o, r, e, &arena) : 0;
    wrong = wrong || all < 0;
    t->wrong += all < 0;
    t->all_values += all > 0;
    t->all_cases += all > 0 ? (unsigned)all : 0;
  }
  unsigned never = 0, all = 0;
  for (unsigned e = 0; e < r->n_emits && e < SURG_COUNT(proven); e++)
    never += !proven[e], all |= proven[e];
  if (!wrong) t->never += never;
  if (!wrong && !all) {
    printf("NO CASE for %s\n", r->name);
    t->without++;
  }
  if (!wrong && all && o->mutants) try_mutants(ctx, o, r, &cases, t);
  forget(&cases);
  surg__arena_free(&arena);
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static bool wanted(const options *o, const surg_rule *r) {
  bool named = o->n_rules == 0;
  for (unsigned i = 0; i < o->n_rules; i++) named |= !strcmp(o->rules[i], r->name);
  return named && (!o->group || !strcmp(o->group, r->group)) &&
         (o->kind < 0 || (int)r->exactness == o->kind);
}

static int class_named(const char *name) {
  static const char *const names[] = {"exact", "ulp", "rounding", "approx", "lossy"};
  for (size_t i = 0; i < SURG_COUNT(names); i++)
    if (!strcmp(names[i], name)) return (int)i;
  return -1;
}

int main(int argc, char **argv) {
  options o = {.seed = 1, .seeds = 1, .cases = 12, .patience = UINT_MAX, .harsh = 25, .kind = -1};
  tally t = {0};
  for (int i = 1; i < argc; i++) {
    const char *next = i + 1 < argc ? argv[i + 1] : "";
    if (!strcmp(argv[i], "-v"))
      o.verbose = true;
    else if (!strcmp(argv[i], "--seed"))
      o.seed = strtoull(next, NULL, 10), i++;
    else if (!strcmp(argv[i], "--seeds"))
      o.seeds = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--cases"))
      o.cases = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--patience"))
      o.patience = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--mutants"))
      o.mutants = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--bits"))
      o.bits = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--harsh"))
      o.harsh = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--most-k"))
      o.most_k = (unsigned)atoi(next), i++;
    else if (!strcmp(argv[i], "--class"))
      o.kind = class_named(next), i++;
    else if (!strcmp(argv[i], "--group"))
      o.group = next, i++;
    else if (!strcmp(argv[i], "--kept"))
      o.kept = next, i++;
    else if (!strcmp(argv[i], "--golden"))
      golden_read(next), i++;
    else if (!strcmp(argv[i], "--rule") && o.n_rules < NAMED)
      o.rules[o.n_rules++] = next, i++;
    else
      return fprintf(stderr, "unknown option %s\n", argv[i]), 2;
  }
  surg_config config = {.size = sizeof config, .diag = ignore};
  surg_context *ctx = surg_context_new(&config);
  surg__rules *rules = ctx ? surg__rules_of(ctx) : NULL;
  if (!rules || surg__rules_read_all(rules) != SURG_OK)
    return fprintf(stderr, "%s\n", ctx ? surg_context_error(ctx) : "no memory"), 1;
  for (const uint64_t end = o.seed + o.seeds; o.seed < end; o.seed++)
    for (size_t i = 0; i < rules->list.count; i++)
      if (wanted(&o, rules->list.items[i])) prove(ctx, &o, rules->list.items[i], &t);
  if (!t.rules && !t.excused) return fprintf(stderr, "no such rule\n"), 2;
  printf(
      "%u rules, %u emissions: %u cases proven, %u wrong, %u emissions never made; %u rules "
      "without a case, "
      "%u not judged; %u emissions for operators of runtimes made, not run\n",
      t.rules, t.emissions, t.cases, t.wrong, t.never, t.without, t.excused, t.unrun);
  unsigned kept_cases = 0;
  if (o.kept && !kept_judge(ctx, o.kept, &kept_cases)) t.wrong++;
  if (o.kept) printf("%u kept cases\n", kept_cases);
  if (o.bits)
    printf("%u cases of %u emissions hold for all values of their inputs (%u bits at most)\n",
           t.all_cases, t.all_values, o.bits);
  if (t.mutants)
    printf("%u rules with a mistake: %u found out (%.1f %%), %u of them when read, %u by golden "
           "cases; %u more make no difference\n",
           t.mutants, t.killed, 100.0 * t.killed / t.mutants, t.stillborn, t.golden, t.same);
  golden_forget();
  surg_context_free(ctx);
  return t.wrong > 0 || t.without > MOST_WITHOUT ||
         (t.mutants > 50 && t.killed * 100 < t.mutants * FLOOR_PERCENT);
}
