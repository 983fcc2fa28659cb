/* SPDX-License-Identifier: Apache-2.0 */
/* Implementation of run_engine.h. */
#include "run/run_engine.h"

#include <stdio.h>

#include "base/diag.h"
#include "base/os/os.h"
#include "ir/ir.h"

const char *surg__engine_name(const surg__engine *e) {
  return e->ort ? "ort" : "builtin";
}

surg_status surg__exec_open(surg__exec *r, const surg__engine *e, surg_model *m) {
  *r = (surg__exec){.model = m, .engine = e};
  if (e->chain && e->chain->whole == m) return surg__chain_open(r);
  if (!e->ort) return SURG_OK;
  /* The types of optional outputs are needed later. */
  surg_status s = surg_model_infer(m);
  char why[SURG__ORT_WHY];
  *why = 0;
  if (s == SURG_OK) s = surg__ort_session(e->ort, m, &e->ort_options, &r->session, why);
  if (s != SURG_OK)
    snprintf(r->why, sizeof r->why, "ONNX Runtime: %s", *why ? why : surg_status_name(s));
  return s;
}

bool surg__exec_opened(const surg__exec *r) {
  const surg__chain *chain = r->engine ? r->engine->chain : NULL;
  if (chain && chain->whole == r->model) return r->links != NULL;
  return r->engine && (!r->engine->ort || r->session);
}

void surg__exec_close(surg__exec *r) {
  surg__chain_close(r);
  if (r->engine && r->engine->ort) surg__ort_session_free(r->engine->ort, r->session);
  r->session = NULL;
  surg__lowered_free(r->lowered);
  r->lowered = NULL;
}

static surg_status interpret(surg__exec *r, const surg__array *in, surg__array *out) {
  surg__session s = r->watched;
  s.max_bytes = r->engine->max_bytes;
  s.max_work = r->engine->max_work;
  s.max_turns = r->engine->max_turns;
  s.deadline = r->engine->deadline;
  s.cancel = r->engine->cancel;
  s.cancel_user = r->engine->cancel_user;
  s.seed = r->engine->seed;
  if (!r->lowered) r->lowered = surg__lowered_new(surg_model_context(r->model));
  if (!r->lowered) return SURG_ENOMEM;
  surg__lowered_begin(r->lowered);
  s.otherwise = surg__lowered_compute;
  s.other = r->lowered;
  r->runs++;
  const surg_status status = surg__session_run(&s, r->model, in, out);
  r->marks = surg__lowered_marks(r->lowered, &r->marked);
  r->open = s.open;
  r->foreign =
      status == SURG_EUNSUPPORTED && s.at && surg_node_class(s.at) != SURG_OP_CLASS_BUILTIN;
  if (status != SURG_OK)
    snprintf(r->why, sizeof r->why, "%s%s%s", s.at ? surg__locate_node(s.at) : "", s.at ? ": " : "",
             s.why ? s.why : surg_status_name(status));
  return status;
}

surg_status surg__exec_run(surg__exec *r, const surg__array *in, surg__array *out) {
  *r->why = 0;
  if (r->links) return surg__chain_run(r, in, out);
  if (r->engine->deadline && surg__os_now_ns() > r->engine->deadline) {
    snprintf(r->why, sizeof r->why, "out of time (--timeout)");
    return SURG_ELIMIT;
  }
  if (r->engine->cancel && r->engine->cancel(r->engine->cancel_user)) {
    snprintf(r->why, sizeof r->why, "cancelled");
    return SURG_ECANCELLED;
  }
  if (!r->engine->ort) return interpret(r, in, out);
  char why[SURG__ORT_WHY];
  *why = 0;
  const surg_status s = surg__ort_run(r->engine->ort, r->session, r->model, in, out, why);
  if (s != SURG_OK)
    snprintf(r->why, sizeof r->why, "ONNX Runtime: %s", *why ? why : surg_status_name(s));
  return s;
}

/* --- made-up inputs --- */

surg_status surg__run_drawn(surg__exec *r, surg__maker *maker, surg__make make, void *user,
                            surg__array *in, surg__array *out, bool *made) {
  static const int64_t below[] = {SURG__MADE_BELOW, 2, 1};
  const uint64_t seed = maker->state;
  const bool draws = maker->fill != SURG__FILL_ZEROS && maker->fill != SURG__FILL_ONES;
  for (size_t round = 0;; round++) {
    maker->state = seed;
    maker->below = below[round];
    *made = false;
    surg_status s = make(user, maker, in, made);
    if (s != SURG_OK) return s;
    s = surg__exec_run(r, in, out);
    if (s != SURG_EINVALID || !*made || !draws || round + 1 == SURG_COUNT(below)) return s;
  }
}

typedef struct making {
  surg__exec *runner;
  const bool *given;
} making;

static surg_status make_inputs(void *user, surg__maker *maker, surg__array *in, bool *made) {
  const making *m = user;
  surg__exec *r = m->runner;
  surg_context *ctx = surg_model_context(r->model);
  const surg_graph *g = surg_model_graph(r->model);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (m->given && m->given[i]) continue;
    surg__array_drop(&in[i]);
    if (surg_value_is_initializer(v)) continue;
    *made = true;
    const surg_status s = surg__input_make(ctx, maker, v, &in[i]);
    if (s == SURG_OK) continue;
    snprintf(r->why, sizeof r->why, "input %s %s", surg__q(ctx, surg_value_name(v)),
             surg__input_unmade(v, s));
    return s;
  }
  return SURG_OK;
}

surg_status surg__run_made(surg__exec *r, surg__maker *maker, const bool *given, surg__array *in,
                           surg__array *out, bool *made) {
  making m = {r, given};
  bool any;
  return surg__run_drawn(r, maker, make_inputs, &m, in, out, made ? made : &any);
}

/* --- all values as outputs --- */

/* Whether v is an output of g. OUTPUT uses are first in the list (those of its own graph at the
 * start), so the walk is short. */
static bool is_output_of(const surg_value *v, const surg_graph *g) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT && surg_use_graph(u) == g) return true;
  return false;
}

surg_model *surg__all_outputs(const surg_model *m) {
  surg_model *all = surg_model_clone(m);
  if (!all) return NULL;
  surg_graph *g = surg_model_graph(all);
  surg_status s = SURG_OK;
  for (surg_node *n = surg_graph_first_node(g); n && s == SURG_OK; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_output_count(n) && s == SURG_OK; i++) {
      surg_value *v = surg_node_output(n, i);
      if (v && !is_output_of(v, g)) s = surg_graph_add_output(g, v, NULL);
    }
  if (s == SURG_OK) return all;
  surg_model_free(all);
  return NULL;
}
