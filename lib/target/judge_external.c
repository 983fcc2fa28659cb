/* SPDX-License-Identifier: Apache-2.0 */
/* Judges weights in data files beyond the question whether the engine reads such files: entries
 * that it does not know, constants that its shape inference reads before the files, and files that
 * are missing. */
#include <onnxsurg/ops.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

bool surg__listed(const surg__tlist *list, const char *word) {
  for (size_t i = 0; i < list->n; i++) {
    const char *item = list->items[i];
    const size_t n = strlen(item);
    if (n && item[n - 1] == '*' ? !strncmp(item, word, n - 1) : !strcmp(item, word)) return true;
  }
  return false;
}

const surg_value *surg__judge_odd_key(const surg__target *t, const surg_graph *g,
                                      const char **key) {
  if (!t->external_keys.n) return NULL;
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c || !surg_tensor_is_external(c) || !c->odd_key) continue;
    *key = c->odd_key;
    if (!surg__listed(&t->external_keys, *key)) return v;
  }
  return NULL;
}

/* Inputs whose elements ONNX's shape inference reads, one bit each: column `reads` of
 * traits.table. */
typedef struct reading {
  uint8_t since; /* the opset from which `after` applies */
  uint8_t before, after;
} reading;

static const reading readings[SURG_OP_COUNT] = {
#define SURG_TRAIT_READS(op, since, before, after) [SURG_OP_##op] = {since, before, after},
#include "schema/traits.gen.h"
#undef SURG_TRAIT_READS
};

static unsigned shape_inputs(const surg__target *t, const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  if (!s || s->op <= 0 || s->op >= SURG_OP_COUNT) return 0;
  if (surg__listed(&t->shapes_outside, surg_node_op_type(n))) return 0;
  const reading *r = &readings[s->op];
  return surg_schema_since(s) < r->since ? r->before : r->after;
}

static bool is_lost(const surg_tensor *c) {
  return c->view == SURG__VIEW_ABSENT && c->missing;
}

void surg__judge_shape_files(surg__judge *j) {
  const unsigned inputs = shape_inputs(j->t, j->n);
  for (size_t i = 0; i < surg_node_input_count(j->n) && inputs >> i; i++) {
    const surg_value *v = inputs >> i & 1 ? surg_node_input(j->n, i) : NULL;
    const surg_tensor *c = v ? surg_value_constant(v) : NULL;
    if (v && !c) c = surg_value_initializer(v);
    if (c && is_lost(c))
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v,
                         "%s gives a shape, and its elements are not available",
                         surg__judge_name(j, v));
    if (!c || !j->t->shapes_inside || !surg_tensor_is_external(c)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_EXTERNAL, v,
                       "%s, which gives a shape, is in a data file", surg__judge_name(j, v));
    return;
  }
}

/* --- elements that are not available --- */

/* Why elements are not available. */
typedef enum lack { MISSING, SHORT, STRIPPED, LACKS } lack;

/* The weights of one kind: those that make the engine reject the model, and those of which that is
 * unknown. */
typedef struct lost_weights {
  size_t certain, doubtful;
  const surg_value *first;
  bool several; /* data files */
} lost_weights;

/* The tensor of an initializer or a Constant node, also if its elements cannot be read. */
static const surg_tensor *weight_of(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  if (!n) return surg_value_initializer(v);
  if (surg_node_op(n) != SURG_OP_Constant) return NULL;
  return surg_attr_tensor(surg_node_attr(n, "value"), 0);
}

/* Whether an engine that rejects such data reads the weight: YES, NO, or UNSAID. Initializers of
 * subgraphs are read whether or not they are used, those of the model if a node or output uses
 * them. */
static surg__tri is_read(const surg_model *m, const surg_value *v) {
  if (surg_value_first_use(v)) return SURG__YES;
  if (surg_value_graph(v) == surg_model_graph(m)) return SURG__NO;
  return surg_value_producer(v, NULL) ? SURG__UNSAID : SURG__YES;
}

/* Whether two initializers have one name: engines differ in which they read. */
static bool has_twins(const surg_model *m) {
  for (size_t i = 0; i < m->defects.count; i++)
    if (strcmp(m->defects.items[i].code, "E136") == 0) return true;
  return false;
}

static bool lacks_file(const surg_model *m) {
  const surg__datafile *f = m->files;
  while (f && !f->absent) f = f->next;
  return f != NULL;
}

static surg__tri accepts(const surg__target *t, lack kind) {
  return kind == SHORT ? t->short_files : t->missing_files;
}

static void add_lost(const surg__target *t, const surg_model *m, const surg_value *v,
                     lost_weights *all) {
  const surg_tensor *c = weight_of(v);
  if (!c || !is_lost(c)) return;
  const lack kind = !c->location ? STRIPPED : c->cut ? SHORT : MISSING;
  const surg__tri read = is_read(m, v);
  lost_weights *l = &all[kind];
  if (accepts(t, kind) == SURG__YES || (read == SURG__NO && t->missing_files == SURG__NO)) return;
  const bool certain = accepts(t, kind) == SURG__NO && read == SURG__YES && !has_twins(m);
  if (!l->first) l->first = v;
  if (weight_of(l->first)->location != c->location) l->several = true;
  l->certain += certain;
  l->doubtful += !certain;
}

static void put_lost(const surg__target *t, lack kind, const lost_weights *l, surg__buf *text) {
  const size_t n = l->certain + l->doubtful;
  const char *location = weight_of(l->first)->location;
  if (kind == STRIPPED)
    surg__buf_puts(text, "weights are stripped (onnxsurg restore fills them in)");
  else
    surg__buf_printf(text, "data file%s %s%s %s %s", l->several ? "s" : "",
                     surg__q(t->ctx, location ? location : ""), l->several ? " and others" : "",
                     l->several ? "are" : "is", kind == SHORT ? "too short" : "missing");
  surg__buf_printf(text, ": the engine cannot read %zu weight%s, the first %s", n,
                   n == 1 ? "" : "s", surg__q(t->ctx, surg_value_name(l->first)));
  if (!l->certain) surg__buf_puts(text, "; whether it rejects the model for that is unknown");
  surg__buf_putc(text, 0);
}

void surg__judge_lost(const surg__target *t, const surg_model *m, surg__objection_fn fn,
                      void *user) {
  lost_weights all[LACKS] = {0};
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    const surg_function *f = surg_graph_function(g);
    if ((f && !f->called) || surg__judge_drops_graph(t, g)) continue;
    for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      add_lost(t, m, v, all);
  }
  if (!all[MISSING].first && has_twins(m) && lacks_file(m))
    fn(user, &(surg__objection){.verdict = SURG__UNKNOWN,
                                .cause = SURG__C_DATA,
                                .text = "a data file is missing; whether the engine reads it, of "
                                        "two weights of one name, is unknown",
                                .source = t->source});
  for (lack kind = MISSING; kind < LACKS; kind++) {
    surg__buf text;
    if (!all[kind].first) continue;
    surg__buf_init(&text, t->ctx);
    put_lost(t, kind, &all[kind], &text);
    fn(user, &(surg__objection){.verdict = all[kind].certain ? SURG__ILLEGAL : SURG__UNKNOWN,
                                .cause = SURG__C_DATA,
                                .value = all[kind].first,
                                .text = text.failed ? "" : text.p,
                                .source = t->source});
    surg__buf_free(&text);
  }
}
