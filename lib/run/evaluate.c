/* SPDX-License-Identifier: Apache-2.0 */
/* Engines and sessions as public objects (onnxsurg/evaluate.h). */
#include "base/context.h"
#include "base/diag.h"
#include "base/os/os.h"
#include "ir/ir.h"
#include "run/public.h"

/* Budgets of a run, where the caller sets none. */
#define RUN_BYTES (UINT64_C(1) << 32) /* bytes of the results of one node */
#define RUN_WORK (UINT64_C(1) << 42)  /* operations */
#define RUN_TURNS (UINT64_C(1) << 24) /* iterations of all loops */

/* --- engines --- */

surg__engine surg__engine_default(void) {
  return (surg__engine){.max_bytes = RUN_BYTES, .max_work = RUN_WORK, .max_turns = RUN_TURNS};
}

static void set_budgets(surg__engine *e, const surg_engine_options *o) {
  uint64_t ns = 0;
  *e = surg__engine_default();
  if (o->max_bytes) e->max_bytes = o->max_bytes;
  if (o->max_work) e->max_work = o->max_work;
  if (o->max_turns) e->max_turns = o->max_turns == UINT64_MAX ? 0 : o->max_turns;
  if (o->timeout_ms && surg__mul_u64(o->timeout_ms, 1000000, &ns) &&
      surg__add_u64(ns, surg__os_now_ns(), &ns))
    e->deadline = ns;
  e->cancel = o->cancel;
  e->cancel_user = o->user;
}

surg_status surg_engine_new(surg_context *ctx, const surg_engine_options *options,
                            surg_engine **out) {
  static const int levels[] = {[SURG_OPTIMIZE_ALL] = 99,
                               [SURG_OPTIMIZE_NONE] = 0,
                               [SURG_OPTIMIZE_BASIC] = 1,
                               [SURG_OPTIMIZE_EXTENDED] = 2};
  _Static_assert(SURG_COUNT(levels) == SURG_OPTIMIZE_EXTENDED + 1, "a level for each word");
  surg_engine_options o;
  if (out) *out = NULL;
  if (!ctx || !out) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  if (o.optimize < 0 || (size_t)o.optimize >= SURG_COUNT(levels)) return SURG_EUSAGE;
  surg_engine *e = surg__calloc(ctx, 1, sizeof *e);
  if (!e) return surg__oom(ctx, NULL);
  e->ctx = ctx;
  e->seed = o.seed;
  set_budgets(&e->e, &o);
  if (!o.no_random) e->e.seed = &e->seed;
  e->e.ort_options = (surg__ort_options){levels[o.optimize], o.threads ? o.threads : 1};
  const surg_status s = o.runtime ? surg__ort_open(ctx, o.library, &e->e.ort) : SURG_OK;
  if (s != SURG_OK) {
    surg__free(ctx, e);
    return s;
  }
  *out = e;
  return SURG_OK;
}

void surg_engine_free(surg_engine *e) {
  if (!e) return;
  surg__ort_close(e->e.ort);
  surg__free(e->ctx, e);
}

const char *surg_engine_name(const surg_engine *e) {
  return e ? surg__engine_name(&e->e) : NULL;
}

/* --- sessions --- */

struct surg_session {
  surg_context *ctx;
  surg__engine own; /* where the caller gives no engine */
  surg__exec exec;
  surg_node_time_fn report;
  surg_value_fn observe;
  void *user, *observer;
  bool told; /* that an operator is computed as what replaces it */
  uint64_t started; /* of the node of the main graph that runs now */
};

surg_status surg_session_new(const surg_engine *e, surg_model *model, surg_session **out) {
  if (out) *out = NULL;
  if (!model || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  if (e && e->ctx != ctx) return SURG_EUSAGE;
  if (surg_model_status(model) != SURG_OK) return surg_model_status(model);
  surg_session *x = surg__calloc(ctx, 1, sizeof *x);
  if (!x) return surg__oom(ctx, NULL);
  x->ctx = ctx;
  x->own = surg__engine_default();
  const surg_status s = surg__exec_open(&x->exec, e ? &e->e : &x->own, model);
  if (s == SURG_OK) {
    *out = x;
    return s;
  }
  if (!surg_context_error(ctx))
    surg__error(ctx, s, surg_model_path(model), "%s",
                *x->exec.why ? x->exec.why : surg_status_name(s));
  surg__exec_close(&x->exec);
  surg__free(ctx, x);
  return s;
}

void surg_session_free(surg_session *s) {
  if (!s) return;
  surg__exec_close(&s->exec);
  surg__free(s->ctx, s);
}

/* Says once that a result is that of a replacement. */
static void tell_lowered(surg_session *s) {
  if (s->told || !s->exec.marks) return;
  s->told = true;
  surg__note(s->ctx, surg_model_path(s->exec.model),
             "%s is computed by its replacement in ONNX operators", s->exec.marked);
}

static surg_status run(surg_session *s, surg_inputs *in, surg__array *out) {
  surg__maker maker = in->maker;
  if (in->complete) {
    const surg_status again = surg__exec_run(&s->exec, in->in, out);
    tell_lowered(s);
    return again;
  }
  in->made = false;
  const surg_status status = surg__run_made(&s->exec, &maker, in->given, in->in, out, &in->made);
  in->complete = status == SURG_OK;
  tell_lowered(s);
  return status;
}

/* Turns results into handles; drops them in any case. */
static surg_status give_all(surg_session *s, surg_status status, surg__array *results, size_t n,
                            surg_array **out) {
  for (size_t i = 0; i < n; i++) {
    if (status == SURG_OK) status = surg__array_handle(s->ctx, &results[i], &out[i]);
    surg__array_drop(&results[i]);
  }
  for (size_t i = 0; i < n && status != SURG_OK; i++) {
    surg_array_free(out[i]);
    out[i] = NULL;
  }
  return status;
}

surg_status surg_session_run(surg_session *s, surg_inputs *in, surg_array **out, size_t n_out) {
  if (!s || (!out && n_out)) return SURG_EUSAGE;
  surg_model *m = s->exec.model;
  const size_t n = surg_graph_output_count(surg_model_graph(m));
  for (size_t i = 0; i < n_out; i++) out[i] = NULL;
  if (n_out != n || (in && in->m != m)) return SURG_EUSAGE;
  surg_inputs *own = NULL;
  surg_status status = in ? SURG_OK : surg_inputs_new(m, NULL, &own);
  surg__array *results = surg__calloc(s->ctx, n + 1, sizeof *results);
  if (status == SURG_OK && !results) status = surg__alloc_status(s->ctx);
  if (status == SURG_OK) status = run(s, in ? in : own, results);
  if (results) status = give_all(s, status, results, n, out);
  surg__free(s->ctx, results);
  surg_inputs_free(own);
  return status;
}

const char *surg_session_why(const surg_session *s) {
  return s ? s->exec.why : NULL;
}

static surg_status before(void *user, surg_node *n, surg__machine *m) {
  surg_session *s = user;
  (void)m;
  if (surg_node_graph(n) == surg_model_graph(s->exec.model)) s->started = surg__os_now_ns();
  return SURG_OK;
}

static void after(void *user, const surg_node *n) {
  surg_session *s = user;
  if (surg_node_graph(n) == surg_model_graph(s->exec.model))
    s->report(s->user, n, surg__os_now_ns() - s->started);
}

/* Shows an array to the observer, as a handle that lasts for the call. */
static surg_status show(void *user, const surg_value *v, const surg__array *a) {
  surg_session *s = user;
  surg_array *handle = NULL;
  const surg_status status = surg__array_handle(s->ctx, a, &handle);
  if (status == SURG_OK) s->observe(s->observer, v, handle);
  surg_array_free(handle);
  return status;
}

static surg_status show_output(void *user, const surg_node *n, size_t output,
                               const surg__array *a) {
  return show(user, surg_node_output(n, output), a);
}

static void set_hooks(surg_session *s) {
  s->exec.watched = (surg__session){.user = s};
  if (s->report) {
    s->exec.watched.before = before;
    s->exec.watched.after = after;
  }
  if (s->observe) {
    s->exec.watched.watch = show_output;
    s->exec.watched.arrays_only = true; /* a large weight may not fit in memory */
    s->exec.watched.enter = show;
  }
}

void surg_session_watch(surg_session *s, surg_node_time_fn fn, void *user) {
  if (!s) return;
  s->report = fn;
  s->user = user;
  set_hooks(s);
}

void surg_session_observe(surg_session *s, surg_value_fn fn, void *user) {
  if (!s) return;
  s->observe = fn;
  s->observer = user;
  set_hooks(s);
}

uint64_t surg_session_runs(const surg_session *s) {
  return s ? s->exec.runs : 0;
}

surg_status surg_model_all_outputs(const surg_model *model, surg_model **out) {
  if (!model || !out) return SURG_EUSAGE;
  *out = surg__all_outputs(model);
  return *out ? SURG_OK : surg__oom(surg_model_context(model), surg_model_path(model));
}
