/* SPDX-License-Identifier: Apache-2.0 */
/* wild --screen LIBRARY [--seed N] [--count N] [--kind K] [--alone]: judges wild models by ONNX
 * Runtime, loaded into this process, without optimization and with it. Prints a line for each:
 *   {"seed", "after": [{"with", "class", "verdict"} or {"with", "why", "verdict": "left"}],
 *    "ran": RUNS, "undefined": OUTPUTS} or {"seed", "before": WHY, "after": []}
 * with "look": true where a verdict is not certain: the model is then to be judged again by
 * ort_wild.cjs, whose verdicts these are. That is what is not equal, near or nan; ort_wild.cjs
 * knows what of that is no fault. A crash of the runtime ends the process: the seed that follows
 * the last line is to be judged by ort_wild.cjs, and the screen goes on after it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/dtype.h"
#include "run/ort.h"
#include "wild.h"

enum level { EQUAL, NEAR, NAN_THERE, OTHER };
enum { PLAIN, OPTIMIZED, LEVELS };

typedef struct named {
  const char *name; /* of the model's memory */
  surg__array a;
} named;

typedef struct set { /* inputs or outputs of one run */
  named items[WILD_SEEN];
  size_t count;
  bool ran;
} set;

typedef struct screen {
  surg__ort *ort;
  void *options[LEVELS];
  set feeds[WILD_RUNS], want[WILD_RUNS];
  bool optimized;       /* whether the original loads with optimization */
  bool also[WILD_RUNS]; /* runs in which it runs then */
  bool look;
} screen;

/* --- sets of arrays --- */

static const surg__array *find(const set *s, const char *name) {
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->items[i].name, name) == 0) return &s->items[i].a;
  return NULL;
}

static void drop(set *s) {
  for (size_t i = 0; i < s->count; i++) surg__array_drop(&s->items[i].a);
  s->count = 0;
  s->ran = false;
}

static void draw(surg_context *ctx, gen *g, const wild_seen *known, unsigned run, set *out) {
  out->count = 0;
  for (size_t i = 0; i < known->inputs; i++) {
    const gen_value *v = &known->input[i];
    int64_t dims[GEN_RANK];
    size_t n;
    uint8_t *bytes = wild_draw(g, v, run, dims, &n);
    named *to = &out->items[out->count++];
    to->name = surg_value_name(v->v);
    if (surg__array_make(ctx, v->dtype, dims, v->rank, &to->a) != SURG_OK) abort();
    if (n) memcpy(to->a.data, bytes, n);
    free(bytes);
  }
}

/* --- comparison: as distance() of ort_wild.cjs --- */

static double number(const surg__array *a, uint64_t i) {
  if (a->dtype == SURG_FLOAT) return ((const float *)a->data)[i];
  if (a->dtype == SURG_DOUBLE) return ((const double *)a->data)[i];
  return (double)surg__half_to_float(((const uint16_t *)a->data)[i]);
}

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16;
}

static double relative(int dtype) {
  return dtype == SURG_FLOAT16 ? 2e-2 : dtype == SURG_FLOAT ? 1e-3 : 1e-9;
}

static double small(int dtype) {
  return dtype == SURG_FLOAT16 ? 1e-3 : dtype == SURG_FLOAT ? 1e-6 : 1e-14;
}

static double largest(const surg__array *a) {
  double most = 0;
  for (uint64_t i = 0; i < a->count; i++) {
    const double v = fabs(number(a, i));
    if (v < INFINITY && v > most) most = v;
  }
  return most;
}

static enum level compare_floats(const surg__array *a, const surg__array *b) {
  const double most = largest(a);
  enum level worst = EQUAL;
  for (uint64_t i = 0; i < a->count && worst < OTHER; i++) {
    const double p = number(a, i), q = number(b, i);
    const double limit = small(a->dtype) + relative(a->dtype) * fabs(p) + 1e-5 * most;
    enum level l = OTHER;
    if (isnan(p) && isnan(q)) continue;
    if (p == q && signbit(p) == signbit(q)) continue;
    if (isnan(p) || isnan(q))
      l = NAN_THERE;
    else if (p == q || (isfinite(p - q) && fabs(p - q) <= limit))
      l = NEAR;
    if (l > worst) worst = l;
  }
  return worst;
}

static bool comparable(const surg__array *a) {
  return !surg__array_is_list(a) && a->dtype != SURG_UNDEFINED && a->dtype != SURG_STRING;
}

static enum level compare(const surg__array *a, const surg__array *b) {
  if (a->dtype != b->dtype || a->rank != b->rank || !comparable(a)) return OTHER;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return OTHER;
  if (is_float(a->dtype)) return compare_floats(a, b);
  const size_t n = (size_t)a->count * surg__dtype_unpacked(a->dtype);
  return n == 0 || memcmp(a->data, b->data, n) == 0 ? EQUAL : OTHER;
}

/* --- sessions --- */

typedef struct written {
  void *bytes;
  size_t n;
} written;

static void *session_of(const screen *s, const written *w, int level, char *why) {
  void *session = NULL;
  (void)surg__ort_status(s->ort,
                         SURG__ORT(s->ort->api, CreateSessionFromArray)(
                             s->ort->env, w->bytes, w->n, s->options[level], &session),
                         why);
  return session;
}

/* Runs a session of the model; false: it fails. */
static bool run(const screen *s, void *session, const surg_model *m, const set *feeds, set *out) {
  static surg__array in[WILD_SEEN], results[WILD_SEEN];
  const surg_graph *g = surg_model_graph(m);
  const size_t n = surg_graph_output_count(g);
  char why[SURG__ORT_WHY];
  out->count = 0;
  out->ran = false;
  if (surg_graph_input_count(g) > WILD_SEEN || n > WILD_SEEN) return false;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg__array *a = find(feeds, surg_value_name(surg_graph_input(g, i)));
    in[i] = a ? *a : (surg__array){.dtype = SURG_UNDEFINED};
  }
  if (surg__ort_run(s->ort, session, m, in, results, why) != SURG_OK) return false;
  for (size_t i = 0; i < n; i++)
    out->items[out->count++] = (named){surg_value_name(surg_graph_output(g, i)), results[i]};
  return out->ran = true;
}

/* What the original computes, without the outputs that optimization changes. Returns how many
 * runs succeed, -1 if it does not load. */
static int expect(screen *s, const surg_model *m, const written *w, unsigned *open, char *why) {
  void *plain = session_of(s, w, PLAIN, why);
  if (!plain) return -1;
  char unused[SURG__ORT_WHY];
  void *optimized = session_of(s, w, OPTIMIZED, unused);
  int ran = 0;
  s->optimized = optimized != NULL;
  for (unsigned r = 0; r < WILD_RUNS; r++) {
    static set other;
    s->also[r] = false;
    if (!run(s, plain, m, &s->feeds[r], &s->want[r])) continue;
    ran++;
    s->also[r] = optimized && run(s, optimized, m, &s->feeds[r], &other);
    for (size_t i = 0; i < s->want[r].count; i++) {
      named *o = &s->want[r].items[i];
      const surg__array *b = s->also[r] ? find(&other, o->name) : &o->a;
      if (comparable(&o->a) && b && compare(&o->a, b) < NAN_THERE) continue;
      *open += comparable(&o->a);
      surg__array_drop(&o->a); /* an absent array is not compared */
    }
    drop(&other);
  }
  surg__ort_session_free(s->ort, plain);
  surg__ort_session_free(s->ort, optimized);
  return ran;
}

/* The worst level over all runs and both sessions; *compared: whether the plain one ran. */
static enum level judge(screen *s, const surg_model *m, const written *w, bool *compared) {
  enum level worst = EQUAL;
  char why[SURG__ORT_WHY];
  *compared = false;
  for (int level = PLAIN; level <= (s->optimized ? OPTIMIZED : PLAIN) && worst < OTHER; level++) {
    void *session = session_of(s, w, level, why);
    if (!session) return OTHER;
    for (unsigned r = 0; r < WILD_RUNS && worst < OTHER; r++) {
      static set got;
      if (!s->want[r].ran || (level == OPTIMIZED && !s->also[r])) continue;
      if (!run(s, session, m, &s->feeds[r], &got)) {
        worst = OTHER;
        break;
      }
      *compared = true;
      for (size_t i = 0; i < s->want[r].count && worst < OTHER; i++) {
        const named *o = &s->want[r].items[i];
        const surg__array *b = find(&got, o->name);
        if (o->a.dtype == SURG_UNDEFINED) continue;
        const enum level l = b ? compare(&o->a, b) : OTHER;
        /* Optimization of the result may make other NaN and other bits than that of the original;
         * without it the verdict counts. */
        if (l > worst && (level == PLAIN || l == OTHER)) worst = l;
      }
      drop(&got);
    }
    surg__ort_session_free(s->ort, session);
  }
  return worst;
}

/* --- models --- */

typedef struct result {
  written w;
  bool exact, judged;
  enum level level;
} result;

static bool same_bytes(const written *a, const written *b) {
  return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

static const char *verdict(screen *s, const result *r, bool ran) {
  if (!ran) return "not-run";
  if (r->level == OTHER || (r->level == NEAR && r->exact)) s->look = true;
  static const char *const names[] = {"equal", "near", "nan", "look"};
  return r->level == NEAR && r->exact ? "look" : names[r->level];
}

/* One result, judged unless an earlier result has the same bytes. */
static void judge_result(screen *s, const surg_model *m, result *all, size_t i, bool ran) {
  result *r = &all[i];
  for (size_t k = 0; k < i && !r->judged; k++) {
    if (!all[k].judged || !same_bytes(&all[k].w, &r->w)) continue;
    r->level = all[k].level;
    r->judged = true;
  }
  bool compared = ran;
  if (!r->judged) r->level = judge(s, m, &r->w, &compared);
  r->judged = true;
  printf(",\"verdict\":\"%s\"}", verdict(s, r, ran && compared));
}

static void screen_pipelines(screen *s, surg_model *before, const written *w,
                             char text[WILD_PIPELINES][WILD_TEXT], unsigned n, int ran, char *why) {
  result all[WILD_PIPELINES + 1] = {{.w = *w, .judged = true, .level = EQUAL}};
  printf("\"after\":[");
  for (unsigned i = 0; i < n; i++) {
    result *r = &all[i + 1];
    if (i) putchar(',');
    fflush(stdout);
    surg_model *m = wild_apply(before, text[i], &r->exact, why);
    if (m && surg_model_save_memory(m, &r->w.bytes, &r->w.n) == SURG_OK) {
      judge_result(s, m, all, i + 1, ran > 0);
    } else {
      if (m) printf(",\"why\":\"not written\"");
      printf(",\"verdict\":\"left\"}");
    }
    surg_model_free(m);
  }
  putchar(']');
  for (unsigned i = 1; i <= n; i++)
    surg_context_free_bytes(surg_model_context(before), all[i].w.bytes);
}

static bool screen_model(screen *s, uint64_t seed, const char *kind, bool alone) {
  static wild_seen known;
  char why[WILD_WHY], text[WILD_PIPELINES][WILD_TEXT], refused[SURG__ORT_WHY];
  unsigned open = 0;
  gen g;
  written w = {NULL, 0};
  surg_model *m = wild_model(seed, kind, why, &known, &g);
  if (!m) return false;
  surg_context *ctx = surg_model_context(m);
  if (surg_model_save_memory(m, &w.bytes, &w.n) != SURG_OK) abort();
  const unsigned n = wild_pipelines(&g, m, alone, text);
  for (unsigned r = 0; r < WILD_RUNS; r++) draw(ctx, &g, &known, r, &s->feeds[r]);
  s->look = false;
  printf("{\"seed\":%llu,", (unsigned long long)seed);
  const int ran = expect(s, m, &w, &open, refused);
  if (ran < 0) {
    printf("\"before\":");
    wild_quoted(refused);
    printf(",\"after\":[]");
  } else {
    screen_pipelines(s, m, &w, text, n, ran, why);
    printf(",\"ran\":%d,\"undefined\":%u", ran, open);
  }
  printf("%s}\n", s->look ? ",\"look\":true" : "");
  fflush(stdout);
  for (unsigned r = 0; r < WILD_RUNS; r++) {
    drop(&s->feeds[r]);
    drop(&s->want[r]);
  }
  surg_context_free_bytes(ctx, w.bytes);
  wild_free(m);
  return true;
}

static surg_status options_of(surg__ort *o, int level, void **options) {
  surg_status s = surg__ort_status(o, SURG__ORT(o->api, CreateSessionOptions)(options), NULL);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, SetSessionGraphOptimizationLevel)(*options, level),
                         NULL);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, SetIntraOpNumThreads)(*options, 1), NULL);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, SetInterOpNumThreads)(*options, 1), NULL);
  return s;
}

int wild_screen(const char *library, uint64_t first, uint64_t count, const char *kind, bool alone) {
  static screen s;
  uint64_t failed = 0;
  surg_context *ctx = surg_context_new(NULL);
  if (!ctx || surg__ort_open(ctx, library, &s.ort) != SURG_OK ||
      options_of(s.ort, 0, &s.options[PLAIN]) != SURG_OK ||
      options_of(s.ort, 99, &s.options[OPTIMIZED]) != SURG_OK)
    return EXIT_FAILURE;
  for (uint64_t i = 0; i < count; i++) failed += !screen_model(&s, first + i, kind, alone);
  for (int level = PLAIN; level < LEVELS; level++)
    SURG__ORT(s.ort->api, ReleaseSessionOptions)(s.options[level]);
  surg__ort_close(s.ort);
  surg_context_free(ctx);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
