/* SPDX-License-Identifier: Apache-2.0 */
/* Implementation of isolate.h. The run is observed: when it reaches the node, the values that
 * the node reads are kept and the model is built, since the node's attributes are known only
 * then; when the node is done, the run ends. */
#include "run/isolate.h"

#include <stdio.h>

#include "base/context.h"
#include "base/diag.h"
#include "ir/ir.h"

typedef struct isolate {
  surg_context *ctx;
  surg_node *node;
  surg__needs needs;
  surg__array *out; /* indexed by the node's outputs */
  uint64_t left;    /* remaining executions to skip */
  bool armed, done;
  surg_status broken; /* failure of building while the model runs */
  surg__isolated *x;
} isolate;

/* --- constants --- */

static surg_status read_constants(isolate *s) {
  for (size_t i = 0; i < s->needs.count; i++) {
    surg__need *x = &s->needs.items[i];
    if (!x->constant) continue;
    const surg_tensor *t = surg_value_constant(x->value);
    if (!t) t = surg_value_initializer(x->value);
    const surg_status status =
        t ? surg__array_read(s->ctx, t, &x->array) : SURG_EUNSUPPORTED;
    if (status == SURG_EUNSUPPORTED)
      return surg__node_error(s->node, SURG_EINVALID,
                              "constant %s has a form that is not read here",
                              surg__q(s->ctx, surg_value_name(x->value)));
    if (status != SURG_OK) return status;
  }
  return SURG_OK;
}

/* --- observing the run --- */

static surg_status reach(isolate *s, surg__machine *m) {
  surg_status status = SURG_OK;
  for (size_t i = 0; i < s->needs.count && status == SURG_OK; i++) {
    surg__array a;
    if (s->needs.items[i].constant) continue;
    status = surg__session_read(m, s->needs.items[i].value, &a);
    if (status == SURG_OK) s->needs.items[i].array = surg__array_ref(&a);
  }
  if (status != SURG_OK) return status;
  s->broken = surg__isolate_build(s->node, m, &s->needs, s->ctx, &s->x->model);
  s->armed = s->x->reached = s->broken == SURG_OK;
  return s->broken;
}

static surg_status before(void *user, surg_node *n, surg__machine *m) {
  isolate *s = user;
  if (s->done) return SURG_ENOTFOUND; /* stop: the results are complete */
  if (n != s->node || s->armed || s->left-- > 0) return SURG_OK;
  return reach(s, m);
}

static surg_status watch(void *user, const surg_node *n, size_t output, const surg__array *a) {
  isolate *s = user;
  if (n != s->node || !s->armed) return SURG_OK;
  surg__array_drop(&s->out[output]);
  s->out[output] = surg__array_ref(a);
  return SURG_OK;
}

static void after(void *user, const surg_node *n) {
  isolate *s = user;
  s->done |= n == s->node && s->armed;
}

/* Runs the model up to the node; the reason for not reaching it is stored in x->why. */
static surg_status run(isolate *s, surg_model *m, const surg__engine *e, surg__maker *maker,
                       const bool *given, surg__array *in) {
  const size_t n_out = surg_graph_output_count(surg_model_graph(m));
  surg__array *out = surg__calloc(s->ctx, n_out + 1, sizeof *out);
  surg__exec exec;
  if (!out) return surg__alloc_status(s->ctx);
  surg_status status = surg__exec_open(&exec, e, m);
  exec.watched = (surg__session){.before = before, .after = after, .watch = watch, .user = s};
  if (status == SURG_OK) status = surg__run_made(&exec, maker, given, in, out, NULL);
  for (size_t i = 0; i < n_out; i++) surg__array_drop(&out[i]);
  surg__free(s->ctx, out);
  if (s->done && exec.marks)
    surg__note(s->ctx, surg_model_path(m), "%s is computed by its replacement in ONNX operators",
               exec.marked);
  surg__exec_close(&exec);
  s->x->computed = s->done;
  if (s->done) return SURG_OK;
  if (s->broken != SURG_OK) return s->broken;
  if (status == SURG_ENOMEM) return status;
  snprintf(s->x->why, sizeof s->x->why, "%s",
           status == SURG_OK ? "the run does not reach the node" : exec.why);
  return SURG_OK;
}

/* --- results --- */

/* Sets the inputs: input i of the model is the i-th need that is not a constant. */
static surg_status take_inputs(isolate *s) {
  surg__isolated *x = s->x;
  x->n_in = surg_graph_input_count(surg_model_graph(x->model));
  x->in = surg__calloc(s->ctx, x->n_in + 1, sizeof *x->in);
  if (!x->in) return surg__alloc_status(s->ctx);
  for (size_t i = 0, k = 0; i < s->needs.count && k < x->n_in; i++)
    if (!s->needs.items[i].constant) x->in[k++] = surg__array_ref(&s->needs.items[i].array);
  return SURG_OK;
}

static surg_status take_outputs(isolate *s) {
  surg__isolated *x = s->x;
  surg_graph *g = surg_model_graph(x->model);
  const surg_node *n = surg_graph_first_node(g);
  surg_status status = surg_model_infer(x->model);
  x->out = surg__calloc(s->ctx, surg_node_output_count(n) + 1, sizeof *x->out);
  if (!x->out) return surg__alloc_status(s->ctx);
  for (size_t i = 0; i < surg_node_output_count(n) && status == SURG_OK; i++) {
    surg_value *v = surg_node_output(n, i);
    const bool have = x->computed && s->out[i].dtype;
    if (!v) continue;
    const surg_type *t = have ? surg__type_of_array(x->model, &s->out[i]) : surg_value_type(v);
    status = surg_graph_add_output(g, v, t);
    if (status == SURG_OK) x->out[x->n_out++] = surg__array_ref(&s->out[i]);
  }
  return status;
}

surg_status surg__isolate(surg_node *n, const surg__engine *e, surg__maker *maker, uint64_t turn,
                          const bool *given, surg__array *in, surg__isolated *out) {
  surg_model *m = surg_graph_model(surg_node_graph(n));
  isolate s = {.ctx = surg_model_context(m), .node = n, .left = turn, .x = out};
  *out = (surg__isolated){0};
  s.out = surg__calloc(s.ctx, surg_node_output_count(n) + 1, sizeof *s.out);
  surg_status status = s.out ? surg_model_infer(m) : surg__alloc_status(s.ctx);
  if (status == SURG_OK) status = surg__isolate_needs(n, &s.needs);
  if (status == SURG_OK) status = read_constants(&s);
  if (status == SURG_OK) status = run(&s, m, e, maker, given, in);
  if (status == SURG_OK && !out->model)
    status = surg__isolate_build(n, NULL, &s.needs, s.ctx, &out->model);
  if (status == SURG_OK) status = take_inputs(&s);
  if (status == SURG_OK) status = take_outputs(&s);
  for (size_t i = 0; i < s.needs.count; i++) surg__array_drop(&s.needs.items[i].array);
  for (size_t i = 0; s.out && i < surg_node_output_count(n); i++) surg__array_drop(&s.out[i]);
  surg__vec_free(s.ctx, &s.needs);
  surg__free(s.ctx, s.out);
  if (status != SURG_OK && !surg_context_error(s.ctx))
    (void)surg__error(s.ctx, status, surg_model_path(m), "%s", surg_status_name(status));
  return status;
}

void surg__isolated_free(surg_context *ctx, surg__isolated *x) {
  for (size_t i = 0; x->in && i < x->n_in; i++) surg__array_drop(&x->in[i]);
  for (size_t i = 0; x->out && i < x->n_out; i++) surg__array_drop(&x->out[i]);
  surg__free(ctx, x->in);
  surg__free(ctx, x->out);
  surg_model_free(x->model);
  *x = (surg__isolated){0};
}
