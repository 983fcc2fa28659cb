/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the smallest model for which a test is still true, by delta debugging on the nodes of the
 * main graph: a candidate is a clone from which a range of nodes is removed. A. Zeller, R.
 * Hildebrandt, "Simplifying and isolating failure-inducing input", 2002. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/reduce.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/hush.h"
#include "base/os/os.h"
#include "pass/pass.h"
#include "reduce/shrink.h"

#define OLDEST_OPSET 7 /* of candidates: engines that run older ones are rare */

typedef struct reduction {
  surg_model *best;
  surg__pipeline *prune;
  surg_reduce_test test;
  void *user;
  surg_reduce_options options;
  uint64_t deadline_ns; /* 0: none */
  size_t tests;
  bool stopped;
} reduction;

static bool late(reduction *r) {
  const surg_reduce_options *o = &r->options;
  if ((o->cancel && o->cancel(o->user)) || (r->deadline_ns && surg__os_now_ns() > r->deadline_ns))
    r->stopped = true;
  return r->stopped;
}

static size_t node_count(const surg_model *m) {
  return surg_graph_node_count(surg_model_graph(m));
}

/* Tests a candidate; if it is a valid model and the test is true, it becomes the best one. The
 * model is owned by the callee. */
static bool interesting(reduction *r, surg_model *m) {
  surg__run_options options = {0};
  if (late(r) || surg_model_status(m) != SURG_OK ||
      surg__run(&m, r->prune, &options, NULL) != SURG_OK) {
    surg_model_free(m);
    return false;
  }
  bool holds = surg_graph_output_count(surg_model_graph(m)) > 0;
  if (holds) {
    r->tests++;
    holds = r->test(r->user, m);
  }
  if (!holds) {
    surg_model_free(m);
    return false;
  }
  surg_model_free(r->best);
  r->best = m;
  return true;
}

static surg_node *node_at(surg_graph *g, size_t index) {
  surg_node *n = surg_graph_first_node(g);
  while (n && index--) n = surg_node_next(n);
  return n;
}

/* Removes `v` from the outputs of the graph. */
static void drop_outputs(surg_graph *g, const surg_value *v) {
  for (size_t i = surg_graph_output_count(g); i-- > 0;)
    if (surg_graph_output(g, i) == v) surg_graph_remove_output(g, i);
}

/* Replaces `v` by a new graph input for its consumers; false: its type is unknown. */
static bool make_input(surg_graph *g, surg_value *v) {
  const surg_type *type = surg_value_type(v);
  if (!type) type = surg_value_declared_type(v);
  if (!type) return false;
  const char *name = surg_graph_fresh_name(g, surg_value_name(v));
  surg_value *input = name ? surg_graph_add_input(g, name, type) : NULL;
  return input && surg_value_replace(v, input) == SURG_OK;
}

/* Makes inputs of a node outputs of the graph. With `made`: all that have a producer; else the
 * first one without. */
static void offer_inputs(surg_graph *g, const surg_node *n, bool made) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_is_initializer(v) || (surg_value_producer(v, NULL) != NULL) != made)
      continue;
    if (surg_value_graph(v) != g || surg_value_is_output(v)) continue;
    const surg_type *type = surg_value_type(v);
    if (!type) type = surg_value_declared_type(v);
    if (type) surg_graph_add_output(g, v, type);
    if (!made && surg_graph_output_count(g)) return;
  }
}

/* Erases a node; its consumers read new graph inputs instead. If no output is left, its inputs
 * become outputs. */
static bool cut_node(surg_graph *g, surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (!v) continue;
    drop_outputs(g, v);
    if (surg_value_use_count(v, 1) && !make_input(g, v)) return false;
  }
  if (!surg_graph_output_count(g)) offer_inputs(g, n, true);
  if (!surg_graph_output_count(g)) offer_inputs(g, n, false);
  return surg_node_erase(n) == SURG_OK;
}

/* Tests the model without nodes [from, from + count), which are removed from the last to the
 * first. */
static bool without_nodes(reduction *r, size_t from, size_t count) {
  surg_model *m = surg_model_clone(r->best);
  if (!m || surg_model_infer(m) != SURG_OK) {
    surg_model_free(m);
    return false;
  }
  surg_graph *g = surg_model_graph(m);
  surg_node *n = node_at(g, from + count - 1);
  while (n && count--) {
    surg_node *prev = surg_node_prev(n);
    if (!cut_node(g, n)) {
      surg_model_free(m);
      return false;
    }
    n = prev;
  }
  return interesting(r, m);
}

static bool without_output(reduction *r, size_t i) {
  surg_model *m = surg_model_clone(r->best);
  if (!m) return false;
  surg_graph_remove_output(surg_model_graph(m), i);
  return interesting(r, m);
}

static void progress(const reduction *r) {
  const surg_reduce_options *o = &r->options;
  if (o->progress) o->progress(o->user, node_count(r->best), r->tests);
}

static bool reduce_outputs(reduction *r) {
  bool any = false;
  for (size_t i = surg_graph_output_count(surg_model_graph(r->best)); i-- > 0;) {
    if (late(r) || surg_graph_output_count(surg_model_graph(r->best)) < 2) break;
    if (i < surg_graph_output_count(surg_model_graph(r->best))) any |= without_output(r, i);
    progress(r);
  }
  return any;
}

/* Removes ranges of nodes, from the last node to the first, of half the length in each round. */
static bool reduce_nodes(reduction *r) {
  bool any = false;
  for (size_t chunk = (node_count(r->best) + 1) / 2; chunk > 0 && !late(r); chunk /= 2) {
    for (size_t end = node_count(r->best); end > 0 && !late(r);) {
      size_t from = end > chunk ? end - chunk : 0;
      bool done = without_nodes(r, from, end - from);
      any |= done;
      /* After a success, pruning may have removed more nodes; nodes before `from` are still to be
       * tested. */
      end = from < node_count(r->best) ? from : node_count(r->best);
      progress(r);
    }
  }
  return any;
}

static bool keep(void *user, surg_model *candidate) {
  const bool kept = interesting(user, candidate);
  progress(user);
  return kept;
}

static bool is_late(void *user) {
  return late(user);
}

/* Whether the model still shows the behaviour in that opset, with no more nodes. */
static bool at_opset(reduction *r, int64_t version) {
  surg_context *ctx = surg_model_context(r->best);
  char text[40];
  snprintf(text, sizeof text, "opset{to=%lld}", (long long)version);
  surg__pipeline *convert = NULL;
  surg__run_options options = {0};
  surg_model *m = surg_model_clone(r->best);
  surg_status s = m ? surg__pipeline_parse(ctx, text, "reduce", &convert) : SURG_ENOMEM;
  if (s == SURG_OK) s = surg__run(&m, convert, &options, NULL);
  surg__pipeline_free(convert);
  if (s == SURG_OK && node_count(m) <= node_count(r->best)) return keep(r, m);
  surg_model_free(m);
  return false;
}

/* Converts to the oldest opset of ONNX that still shows the behaviour. */
static bool reduce_opset(reduction *r) {
  const int64_t now = surg_model_opset(r->best, "");
  for (int64_t version = OLDEST_OPSET; version < now && !late(r); version++)
    if (at_opset(r, version)) return true;
  return false;
}

static surg_status search(reduction *r, surg_reduce_report *report) {
  report->before = node_count(r->best);
  if (!r->test(r->user, r->best)) return SURG_EINVALID;
  bool converted = false;
  for (bool smaller = true; smaller && !late(r);) {
    smaller = reduce_outputs(r);
    if (reduce_nodes(r)) smaller = true;
    const surg__shrinking s = {&r->best, keep, is_late, r};
    if (r->options.shrink && !late(r) && surg__shrink(&s)) smaller = true;
    /* Last, and once: an older form may have other nodes that can be removed. */
    if (!smaller && !converted && r->options.shrink && !late(r))
      converted = smaller = reduce_opset(r);
  }
  report->after = node_count(r->best);
  report->tests = r->tests;
  report->stopped = r->stopped;
  return surg_model_status(r->best);
}

surg_status surg_reduce(surg_model **model, surg_reduce_test test, void *user,
                        const surg_reduce_options *options, surg_reduce_report *report) {
  if (!model || !*model || !test) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(*model);
  reduction r = {.best = *model, .test = test, .user = user};
  surg_reduce_report mine = {.size = sizeof mine};
  surg__struct_in(&r.options, sizeof r.options, options);
  uint64_t ns;
  if (r.options.timeout_ms && surg__mul_u64(r.options.timeout_ms, 1000000, &ns) &&
      !surg__add_u64(surg__os_now_ns(), ns, &r.deadline_ns))
    r.deadline_ns = 0; /* beyond the range of the clock */
  if (!surg_context_passes(ctx)) return surg__oom(ctx, surg_model_path(*model));
  const surg__hush hush = surg__hush_begin(ctx);
  surg_status s = surg__pipeline_parse(ctx, "prune{inputs}", "reduce", &r.prune);
  if (s == SURG_OK) s = search(&r, &mine);
  surg__pipeline_free(r.prune);
  *model = r.best;
  surg__struct_out(report, &mine, sizeof mine);
  if (s != SURG_OK && s != SURG_EINVALID) return surg__hush_fail(ctx, hush, s);
  surg__hush_end(ctx, hush);
  if (s == SURG_EINVALID)
    surg__error(ctx, s, surg_model_path(r.best), "the test is false of the whole model");
  return s;
}
