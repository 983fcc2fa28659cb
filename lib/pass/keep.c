/* SPDX-License-Identifier: Apache-2.0 */
/* Names, operators and weights that the user protects from passes: --keep NAME, /regex/ or op=TYPE,
 * and --keep-weights. */
#include <stdlib.h>

#include <onnxsurg/edit.h>
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "pass/internal.h"

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static surg_status add_pattern(surg__keep *k, const char *spec, size_t n) {
  surg_context *ctx = k->ctx;
  char *text = surg__alloc(ctx, n - 1);
  regex_t *re = surg__alloc(ctx, sizeof *re);
  if (!text || !re || !surg__vec_reserve(ctx, &k->patterns, k->patterns.count + 1)) {
    surg__free(ctx, text);
    surg__free(ctx, re);
    return surg__oom(ctx, "--keep");
  }
  memcpy(text, spec + 1, n - 2);
  text[n - 2] = 0;
  int e = regcomp(re, text, REG_EXTENDED | REG_NOSUB);
  surg__free(ctx, text);
  if (e == 0) {
    k->patterns.items[k->patterns.count++] = re;
    return SURG_OK;
  }
  char why[128];
  regerror(e, re, why, sizeof why);
  surg__free(ctx, re);
  return surg__error(ctx, SURG_EUSAGE, "--keep", "%s: %s", surg__q(ctx, spec), why);
}

surg_status surg__keep_init(surg__keep *k, surg_context *ctx, const char *const *specs, size_t n) {
  *k = (surg__keep){.ctx = ctx};
  for (size_t i = 0; i < n; i++) {
    size_t len = strlen(specs[i]);
    surg_status s = SURG_OK;
    if (len > 2 && specs[i][0] == '/' && specs[i][len - 1] == '/')
      s = add_pattern(k, specs[i], len);
    else if (strncmp(specs[i], "op=", 3) == 0)
      s = surg__vec_push(ctx, &k->ops, specs[i] + 3) ? SURG_OK : surg__oom(ctx, "--keep");
    else
      s = surg__vec_push(ctx, &k->names, specs[i]) ? SURG_OK : surg__oom(ctx, "--keep");
    if (s) {
      surg__keep_free(k);
      return s;
    }
  }
  if (k->names.count) qsort(k->names.items, k->names.count, sizeof *k->names.items, by_text);
  if (k->ops.count) qsort(k->ops.items, k->ops.count, sizeof *k->ops.items, by_text);
  return SURG_OK;
}

void surg__keep_free(surg__keep *k) {
  if (!k->ctx) return;
  for (size_t i = 0; i < k->patterns.count; i++) {
    regfree(k->patterns.items[i]);
    surg__free(k->ctx, k->patterns.items[i]);
  }
  surg__vec_free(k->ctx, &k->patterns);
  surg__vec_free(k->ctx, &k->names);
  surg__vec_free(k->ctx, &k->ops);
}

static bool name_exists(const surg_model *m, const char *name) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    if (surg_graph_find_node(g, name) || surg_graph_find_value(g, name)) return true;
  return false;
}

/* Marks the nodes of a place or pattern. */
static surg_status mark(const surg__keep *k, surg_model *m, const char *address) {
  char why[400];
  size_t n = 0;
  surg_status s = surg_select_nodes(m, address, NULL, 0, &n, why, sizeof why);
  surg_node **nodes = s == SURG_OK ? surg__calloc(k->ctx, n, sizeof *nodes) : NULL;
  if (s == SURG_OK && !nodes) return surg__oom(k->ctx, "--keep");
  if (s == SURG_OK) s = surg_select_nodes(m, address, nodes, n, &n, why, sizeof why);
  for (size_t i = 0; s == SURG_OK && i < n; i++) nodes[i]->kept = true;
  surg__free(k->ctx, nodes);
  if (s == SURG_ENOTFOUND) {
    surg__warn(k->ctx, "--keep", "%s", why);
    return SURG_OK;
  }
  return s == SURG_EUSAGE ? surg__error(k->ctx, s, "--keep", "%s", why) : s;
}

surg_status surg__keep_mark(surg__keep *k, surg_model *m) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < k->names.count && s == SURG_OK; i++)
    if (!name_exists(m, k->names.items[i])) s = mark(k, m, k->names.items[i]);
  return s;
}

void surg__keep_unmark(surg_model *m) {
  for (surg_graph *g = m ? m->graph : NULL; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) n->kept = false;
}

bool surg__keep_name(const surg__keep *k, const char *name) {
  if (!*name) return false;
  if (k->names.count &&
      bsearch(&name, k->names.items, k->names.count, sizeof *k->names.items, by_text))
    return true;
  for (size_t i = 0; i < k->patterns.count; i++)
    if (regexec(k->patterns.items[i], name, 0, NULL, 0) == 0) return true;
  return false;
}

/* Whether `op`, "Type" or "domain.Type", names the operator. The domain may contain dots. */
static bool op_is(const char *op, const char *domain, const char *type) {
  size_t d = strlen(domain);
  if (strcmp(op, type) == 0) return true;
  return d && strncmp(op, domain, d) == 0 && op[d] == '.' && strcmp(op + d + 1, type) == 0;
}

bool surg__keep_op(const surg__keep *k, const surg_node *n) {
  for (size_t i = 0; i < k->ops.count; i++)
    if (op_is(k->ops.items[i], surg_node_domain(n), surg_node_op_type(n))) return true;
  return false;
}

/* --- weights --- */

/* Whether all uses are scales or sizes of Resize or Upsample. Those are floats, too, but no
 * weights. */
static bool says_sizes(const surg_value *v) {
  if (!surg_value_use_count(v, 1)) return false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    const int op = n ? surg_node_op(n) : 0;
    if ((op != SURG_OP_Resize && op != SURG_OP_Upsample) || surg_use_index(u) == 0) return false;
  }
  return true;
}

static bool is_weight(const surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  const int dtype = t ? surg_tensor_dtype(t) : SURG_UNDEFINED;
  if (!t || surg_tensor_rank(t) == 0 || dtype == SURG_BOOL || dtype == SURG_STRING ||
      dtype == SURG_INT64 || dtype == SURG_INT32)
    return false;
  return !says_sizes(v);
}

void surg__pin_weights(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
         v = surg_graph_next_initializer(g, v))
      if (is_weight(v)) v->pinned |= SURG__PIN_WEIGHT;
}

void surg__unpin_weights(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
         v = surg_graph_next_initializer(g, v))
      v->pinned &= (uint8_t)~SURG__PIN_WEIGHT;
}
