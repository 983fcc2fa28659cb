/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's checks after a pass: nodes are sorted if the pass promised that, the graph has no
 * cycle, the model is valid. A failure is reported in one line that names the pass. */
#include <stdio.h>

#include "pass/internal.h"

const char *surg__pass_title(surg__runner *r, const surg_pass *pass) {
  const char *origin = surg__pass_origin(r->registry, pass);
  surg__buf b;
  surg__buf_init(&b, r->ctx);
  surg__buf_printf(&b, "pass \"%s\"", pass->name);
  if (origin) {
    surg__buf_puts(&b, " of plugin \"");
    surg__buf_escape(&b, origin, strlen(origin), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(&b, '"');
  }
  if (b.failed) {
    surg__buf_free(&b);
    return "a pass";
  }
  unsigned slot = r->ctx->quote_next++ % SURG__QUOTES;
  surg__free(r->ctx, r->ctx->quotes[slot]);
  r->ctx->quotes[slot] = b.p;
  return b.p;
}

/* The node of graph `home` that contains a use in graph `g`: `n` itself, or the node whose subgraph
 * contains it. NULL: an output of `home`, or `g` is outside `home`. */
static const surg_node *anchor(const surg_node *n, const surg_graph *g, const surg_graph *home) {
  while (g && g != home) {
    n = surg_graph_parent_node(g);
    g = surg_graph_parent(g);
  }
  return g ? n : NULL;
}

static bool use_in_order(const surg_value *v, const surg_node *n, const surg_graph *g) {
  const surg_node *producer = v ? surg_value_producer(v, NULL) : NULL;
  if (!producer) return true;
  n = anchor(n, g, surg_value_graph(v));
  return !n || surg_node_before(producer, n); /* no anchor: an output of the graph itself */
}

static bool graph_in_order(const surg_graph *g) {
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_input_count(n); i++)
      if (!use_in_order(surg_node_input(n, i), n, g)) return false;
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (!use_in_order(surg_graph_output(g, i), NULL, g)) return false;
  return true;
}

surg_status surg__sort_all(surg__runner *r) {
  if (r->sorted) return SURG_OK;
  for (surg_graph *g = surg_model_next_graph(r->model, NULL); g;
       g = surg_model_next_graph(r->model, g)) {
    surg_status s = surg_graph_toposort(g, NULL);
    if (s) return s;
  }
  r->sorted = true;
  return SURG_OK;
}

/* Captures the first error line during a check. */
typedef struct catcher {
  surg_diag_fn diag;
  void *user;
  char line[2048];
  bool rules; /* the line is an error of `check` that the model did not have before */
} catcher;

static void catch_line(void *user, surg_severity severity, const char *line) {
  catcher *c = user;
  if (severity != SURG_ERROR) {
    if (c->diag) c->diag(c->user, severity, line);
  } else if (!c->line[0]) {
    const char *text = strstr(line, "error: ");
    snprintf(c->line, sizeof c->line, "%s", text ? text + 7 : line);
  }
}

static surg_status try_model(surg__runner *r, const surg_pass *pass) {
  if (pass->keeps & SURG_FACT_SORTED) {
    for (surg_graph *g = surg_model_next_graph(r->model, NULL); g;
         g = surg_model_next_graph(r->model, g))
      if (!graph_in_order(g))
        return surg__error(r->ctx, SURG_EINVALID, NULL,
                           "it promises to keep the nodes in order and did not");
  } else {
    surg_status s = surg__sort_all(r);
    if (s) return s;
  }
  return surg_model_verify(r->model);
}

/* A pass of a plugin, or one that the user requests as an edit, must not make the model invalid. */
static surg_status try_rules(surg__runner *r, const surg__errors *before, bool edit, catcher *c) {
  char line[1024];
  surg_status s = surg__errors_compare(r->model, before, edit, line, sizeof line);
  if (s != SURG_OK || !line[0]) return s;
  snprintf(c->line, sizeof c->line, "%s", line);
  c->rules = true;
  return SURG_EINVALID;
}

surg_status surg__check_after(surg__runner *r, const surg_pass *pass, const surg__errors *before) {
  surg_context *ctx = r->ctx;
  catcher c = {ctx->config.diag, ctx->config.diag_user, "", false};
  ctx->config.diag = catch_line;
  ctx->config.diag_user = &c;
  surg_context_clear_error(ctx);
  surg_status s = try_model(r, pass);
  if (s == SURG_OK && before) s = try_rules(r, before, pass->edits, &c);
  ctx->config.diag = c.diag;
  ctx->config.diag_user = c.user;
  if (!s) return SURG_OK;
  surg_context_clear_error(ctx);
  if (s == SURG_ENOMEM || s == SURG_ELIMIT) return surg__oom(ctx, surg_model_path(r->model));
  bool plugin = surg__pass_origin(r->registry, pass) != NULL;
  if (!plugin && s == SURG_EINVALID && c.rules)
    return surg__error(ctx, s, surg_model_path(r->model), "%s: the model would be invalid: %s",
                       surg__pass_title(r, pass), c.line);
  return surg__error(ctx, plugin ? SURG_EPLUGIN : SURG_EINTERNAL, surg_model_path(r->model),
                     "%s left the model broken: %s", surg__pass_title(r, pass),
                     c.line[0] ? c.line : surg_status_name(s));
}
