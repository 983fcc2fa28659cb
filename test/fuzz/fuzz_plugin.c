/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes are calls that the pass of a plugin makes, with their arguments: any function of
 * api.def (calls.py), with handles of the model, also erased ones, NULL, indices past the end, names
 * that are taken. Whatever a plugin calls in this way, the library is not damaged: the model verifies
 * or a line names the fault, and one that verifies is saved as a file that is well-formed. */
#include <onnxsurg/onnxsurg.h>

#include "fuzz.h"

#define KEPT 64u      /* handles of each kind */
#define FEW 8u        /* elements of arrays */
#define CALLS_MOST 96 /* of one input */
#define WORK 1000000u /* limits of evaluation, and of bytes */

/* A ring of handles of one kind. */
#define POOL(type)              \
  struct {                      \
    const surg_##type *at[KEPT]; \
    size_t n;                   \
  }

typedef struct plugin {
  const uint8_t *in, *end;
  surg_context *ctx;
  surg_registry *registry;
  surg_pass_ctx *pass;
  surg_model *m, *other;
  unsigned *polled; /* times that the call was asked whether to end; NULL: outside of calls */
  POOL(graph) graph;
  POOL(node) node;
  POOL(value) value;
  POOL(tensor) tensor;
  POOL(function) function;
  POOL(attr) attr;
  POOL(use) use;
  POOL(type) type;
  POOL(schema) schema;
  POOL(rule) rule;
  char text[FEW][24];
  const char *texts[FEW];
  unsigned turn;
  int64_t numbers[FEW];
  float reals[FEW];
  surg_str strings[FEW];
  surg_dim dims[FEW], dims_out[FEW];
  surg_value *values[FEW], *values_out[FEW];
  surg_tensor *tensors[FEW], *tensors_out[FEW];
  surg_finding finding;
  uint64_t scratch[64];
  uint8_t bytes[64];
} plugin;

static unsigned byte(plugin *f) {
  return f->in < f->end ? *f->in++ : 0;
}

static size_t few(plugin *f) {
  return byte(f) % (FEW + 1);
}

static size_t place(plugin *f) {
  const unsigned b = byte(f);
  return b == 255 ? SIZE_MAX : b % 12;
}

static int64_t number(plugin *f) {
  static const int64_t special[] = {INT64_MAX, INT64_MIN, INT32_MAX, -1, 1 << 20, INT64_MIN + 1};
  const unsigned b = byte(f);
  return b < 200 ? (int64_t)(b % 28) : special[b % 6];
}

static uint64_t limit(plugin *f) {
  const unsigned b = byte(f);
  return b < 128 ? b : WORK;
}

static int kind(plugin *f) {
  const unsigned b = byte(f);
  return b > 240 ? (int)b - 250 : (int)(b % 30);
}

static float real(plugin *f) {
  static const float special[] = {0, -0.0f, 1, -1.5f, 3e38f, 1e-40f};
  return special[byte(f) % 6];
}

/* A name that the model has, one that it may have, or one that is no good name. */
static const char *text(plugin *f) {
  static const char *const known[] = {"x",  "y",     "a",         "w",    "k",    "",     "alpha",
                                      "perm", "axis", "then_branch", "Relu", "Add",  "Conv", "d",
                                      "F",  "ai.onnx", "com.acme", "If",   "body", "N",    "g"};
  const unsigned b = byte(f), n = sizeof known / sizeof *known;
  if (b == 255) return NULL;
  if (b < 160) return known[b % n];
  char *made = f->text[f->turn++ % FEW];
  memset(made, 0, sizeof f->text[0]);
  for (unsigned i = 0; i < b % 5; i++) made[i] = (char)byte(f);
  return made;
}

#define HANDLE(kind)                                                           \
  static surg_##kind *a_##kind(plugin *f) {                                    \
    const unsigned b = byte(f);                                                \
    const size_t n = f->kind.n < KEPT ? f->kind.n : KEPT;                      \
    return b == 255 || !n ? NULL : (surg_##kind *)(uintptr_t)f->kind.at[b % n]; \
  }                                                                            \
  static void keep_##kind(plugin *f, const surg_##kind *p) {                   \
    if (p) f->kind.at[f->kind.n++ % KEPT] = p;                                 \
  }
HANDLE(graph)
HANDLE(node)
HANDLE(value)
HANDLE(tensor)
HANDLE(function)
HANDLE(attr)
HANDLE(use)
HANDLE(type)
HANDLE(schema)
HANDLE(rule)

/* ---- arrays of FEW elements -------------------------------------------------------------------- */

static const int64_t *numbers(plugin *f) {
  for (size_t i = 0; i < FEW; i++) f->numbers[i] = i < 3 ? number(f) : 1;
  return f->numbers;
}

static const float *reals(plugin *f) {
  for (size_t i = 0; i < FEW; i++) f->reals[i] = i < 3 ? real(f) : 1;
  return f->reals;
}

static const surg_str *strings(plugin *f) {
  for (size_t i = 0; i < FEW; i++) {
    const char *s = i < 3 ? text(f) : "s";
    f->strings[i] = (surg_str){s ? s : "", s ? strlen(s) : 0};
  }
  return f->strings;
}

static const char *const *texts(plugin *f) {
  for (size_t i = 0; i < FEW; i++) {
    const char *s = i < 3 ? text(f) : "s";
    f->texts[i] = s ? s : "none";
  }
  return f->texts;
}

static const surg_dim *dims(plugin *f) {
  for (size_t i = 0; i < FEW; i++) {
    const surg_type *t = i < 3 ? a_type(f) : NULL;
    const surg_dim *d = surg_type_dim(t, i ? 0 : place(f));
    f->dims[i] = d ? *d : (surg_dim){.value = i < 3 ? number(f) : 1};
  }
  return f->dims;
}

static surg_value *const *values(plugin *f) {
  for (size_t i = 0; i < FEW; i++) f->values[i] = i < 3 ? a_value(f) : NULL;
  return f->values;
}

static surg_tensor *const *tensors(plugin *f) {
  for (size_t i = 0; i < FEW; i++) f->tensors[i] = i < 3 ? a_tensor(f) : NULL;
  return f->tensors;
}

static surg_finding *finding(plugin *f) {
  f->finding = (surg_finding){.size = sizeof f->finding};
  return &f->finding;
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* No call of a pass is a fault of the library. */
static void judge(plugin *f, surg_status s) {
  (void)f;
  require(s <= SURG_OK && s >= SURG_ECANCELLED && s != SURG_EINTERNAL);
}

/* A tensor whose bytes fit its type, which numbers alone seldom do. */
static void make_tensor(plugin *f) {
  const int64_t at[] = {byte(f) % 4, byte(f) % 4, byte(f) % 3};
  const size_t rank = byte(f) % 4;
  size_t count = 1;
  for (size_t i = 0; i < rank; i++) count *= (size_t)at[i];
  const double data[3 * 3 * 2] = {1, -2, 0.5};
  if (count <= FEW && byte(f) & 1) {
    keep_tensor(f, surg_tensor_new_strings(f->m, at, rank, strings(f)));
    return;
  }
  keep_tensor(f, surg_tensor_new_numbers(f->m, byte(f) & 1 ? SURG_DOUBLE : SURG_INT64, at, rank, data,
                                         count));
}

static void call(plugin *f, unsigned which) {
  switch (which) {
#include "fuzz_calls.h"
    default:
      make_tensor(f);
  }
}

/* Handles to begin with: those of the model's graphs. */
static void collect(plugin *f) {
  for (surg_graph *g = surg_model_next_graph(f->m, NULL); g; g = surg_model_next_graph(f->m, g)) {
    keep_graph(f, g);
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      keep_node(f, n);
      for (size_t i = 0; i < surg_node_attr_count(n); i++) keep_attr(f, surg_node_attr_at(n, i));
      keep_schema(f, surg_node_schema(n));
    }
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
      keep_value(f, v);
      keep_type(f, surg_value_type(v));
      keep_tensor(f, surg_value_initializer(v));
      keep_use(f, surg_value_first_use(v));
    }
  }
  keep_function(f, surg_model_function(f->m, 0));
  keep_rule(f, surg_context_rule(f->ctx, 0));
}

/* Releases the model that a call made; keeps other results. */
static void after_call(plugin *f) {
  for (size_t i = 0; i < FEW; i++) {
    keep_value(f, f->values_out[i]);
    keep_tensor(f, f->tensors_out[i]);
    f->values_out[i] = NULL;
    f->tensors_out[i] = NULL;
  }
  if (f->other != f->m) surg_model_free(f->other);
  f->other = NULL;
}

/* A model that verifies is saved as a file that is well-formed. It may break rules of ONNX, which
 * only `check` looks at: the runner compares its errors before and after the pass. */
static void saved(surg_context *ctx, surg_model *m) {
  void *bytes = NULL;
  size_t n = 0;
  surg_model *again = NULL;
  const surg_load_options options = {
      .size = sizeof options, .no_external = true, .policy = SURG_LOAD_LENIENT};
  surg_context_clear_error(ctx);
  const surg_status s = surg_model_save_memory(m, &bytes, &n);
  if (s != SURG_OK) fprintf(stderr, "not saved: %d %s\n", s, surg_context_error(ctx));
  require(s == SURG_OK || fuzz_resource(s));
  if (s != SURG_OK) return;
  const surg_status loaded = surg_model_load_memory(ctx, bytes, n, "again", &options, &again);
  if (loaded != SURG_OK) fprintf(stderr, "%s\n", surg_context_error(ctx));
  require(loaded == SURG_OK || fuzz_resource(loaded));
  surg_model_free(again);
  surg_context_free_bytes(ctx, bytes);
}

static plugin state;

static surg_pass_result run(surg_pass_ctx *pass, surg_graph *graph) {
  plugin *f = &state;
  (void)graph;
  f->pass = pass;
  f->m = surg_pass_model(pass);
  f->ctx = surg_pass_context(pass);
  f->registry = surg_context_passes(f->ctx);
  const uint64_t before = surg_model_epoch(f->m);
  collect(f);
  for (int i = 0; i < CALLS_MOST && f->in < f->end; i++) {
    const unsigned low = byte(f), which = (low | byte(f) << 8) % (CALLS + 8);
    if (getenv("FUZZ_CALLS")) fprintf(stderr, "call %u\n", which); /* `case` of fuzz_calls.h */
    unsigned polls = 0;
    f->polled = &polls;
    call(f, which);
    f->polled = NULL;
    after_call(f);
  }
  const surg_status s = surg_model_status(f->m);
  const surg_status verified = surg_model_verify(f->m);
  require(s == SURG_OK ? verified != SURG_EINTERNAL : verified != SURG_OK);
  if (s == SURG_OK && verified == SURG_OK) saved(f->ctx, f->m);
  return surg_model_epoch(f->m) == before ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

/* Ends a call that computes for long: a run of the model with sizes that the bytes chose. */
static bool is_long(void *user) {
  enum { POLLS = 200 };
  plugin *f = user;
  return f->polled && ++*f->polled > POLLS;
}

static surg_context *context(void) {
  enum { RUNS = 64 };
  static surg_context *ctx;
  static unsigned runs;
  static const surg_pass pass = {.size = sizeof pass,
                                 .scope = SURG_SCOPE_MODEL,
                                 .name = "calls",
                                 .help = "makes calls",
                                 .exactness = SURG_LOSSY,
                                 .changes_interface = true,
                                 .edits = true,
                                 .needs = SURG_TAKES_DEFECTS,
                                 .run = run};
  if (runs++ % RUNS == 0) {
    surg_context_free(ctx);
    const surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1,
                                .cancel = is_long, .user = &state};
    ctx = surg_context_new(&config);
    require(surg_registry_add_pass(surg_context_passes(ctx), &pass) == SURG_OK);
  }
  surg_context_clear_error(ctx);
  return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_context *ctx = context();
  surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
  require(m != NULL);
  if (size && data[0] & 1) surg_model_infer(m);
  state = (plugin){.in = data + (size > 0), .end = data + size};
  surg_model_run(&m, "calls");
  surg_model_free(m);
  return 0;
}
