/* SPDX-License-Identifier: Apache-2.0 */
/* Compares declared types with inferred ones: value_info, graph outputs, inputs of bodies.
 * Another element type is an error; another shape is a warning, as runtimes use the actual
 * shape. */
#include "check/check.h"
#include "infer/infer.h"

#define LEVELS 16

typedef enum verdict { AGREE, OTHER_SHAPE, OTHER_TYPE } verdict;

static verdict compare(const surg_type *a, const surg_type *b) {
  for (int level = 0; a && b && level < LEVELS; level++) {
    if (a->kind == SURG_TYPE_UNKNOWN || b->kind == SURG_TYPE_UNKNOWN) return AGREE;
    if (a->kind != b->kind) return OTHER_TYPE;
    if (a->dtype && b->dtype && a->dtype != b->dtype) return OTHER_TYPE;
    if (!a->elem || !b->elem) break;
    a = a->elem;
    b = b->elem;
  }
  if (!a || !b || !a->has_rank || !b->has_rank) return AGREE;
  if (a->rank != b->rank) return OTHER_SHAPE;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i].value >= 0 && b->dims[i].value >= 0 && a->dims[i].value != b->dims[i].value)
      return OTHER_SHAPE;
  return AGREE;
}

bool surg__check_types_differ(const surg_type *a, const surg_type *b) {
  return compare(a, b) != AGREE;
}

/* The source of the inferred type, for a message. */
static const char *origin(surg__checker *c, const surg_value *v) {
  if (v->producer) return surg__locate_node(v->producer);
  if (v->initializer) return "the initializer";
  return v->graph == c->m->graph ? "the input" : "the node around";
}

/* Checks a declaration of a value with unknown inferred type: the schema of its operator may
 * exclude the element type. */
static void check_possible(surg__checker *c, const surg_value *v, const surg_type *claim,
                           const char *list) {
  const surg_node *n = v->producer;
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  if (!s || claim->kind != SURG_TYPE_TENSOR || n->scratch) return;
  const int dtype = claim->dtype;
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  const surg__param *p = surg__schema_formal(s, true, v->output);
  if (!p || surg__check_allowed(s, p, dtype)) return;
  if (!surg__check_has_text(c)) {
    surg__check_found(c, "E205", NULL, "more");
    return;
  }
  surg__buf b;
  surg__buf_init(&b, c->ctx);
  surg__check_put_allowed(&b, s, p);
  surg__buf_putc(&b, 0);
  surg__check_found(c, "E205", surg__locate_node(n),
                    "output %u %s is declared as tensor(%s) in %s where %s-%d gives %s as %s",
                    v->output, surg__q(c->ctx, v->name), surg__dtype_name(dtype), list, s->name,
                    s->since, b.failed ? "another type" : b.p, p->name);
  surg__buf_free(&b);
}

bool surg__check_is_typed_output(const surg_value *v) {
  for (size_t i = 0; v->graph && i < v->graph->n_out; i++) {
    const surg__output *o = v->graph->out[i];
    if (o->use.value == v && o->decl.type && o->decl.type->kind != SURG_TYPE_UNKNOWN) return true;
  }
  return false;
}

/* Whether the declaration in `list` is redundant: the value is declared in a list before
 * value_info, or it is an output that an input or an initializer declares. Outputs of functions
 * have no types. */
static bool is_repeated(const surg_value *v, const char *list) {
  if (!v->producer && !v->input && !v->initializer) return false;
  if (strcmp(list, "value_info") != 0) return !v->producer && strcmp(list, "output") == 0;
  if (!v->producer) return true;
  return surg__check_is_typed_output(v) ||
         (surg_value_is_output(v) && v->graph->kind == SURG_GRAPH_FUNCTION);
}

static void check_claim(surg__checker *c, const surg_graph *g, const surg_value *v,
                        const surg_type *claim, const char *list, bool again) {
  const surg_type *proven = surg_value_type(v);
  if (!claim || claim == proven) return;
  c->value = v;
  if (!proven || proven->kind == SURG_TYPE_UNKNOWN) {
    check_possible(c, v, claim, list);
    return;
  }
  const verdict r = compare(claim, proven);
  if (r == AGREE || (again && r != OTHER_TYPE)) return;
  const char *code = r != OTHER_TYPE        ? "W211"
                     : is_repeated(v, list) ? "E208"
                     : again                ? "E209"
                                            : "E204";
  /* An output that an earlier one declares, too: runtimes read the first declaration. */
  if (!strcmp(code, "E204") && !strcmp(list, "output") && v->scratch) code = "E208";
  if (!surg__check_has_text(c)) {
    surg__check_found(c, code, NULL, "more");
    return;
  }
  surg__buf said, is, where;
  surg__buf_init(&said, c->ctx);
  surg__buf_init(&is, c->ctx);
  surg__buf_init(&where, c->ctx);
  surg__put_type(&said, claim);
  surg__put_type(&is, proven);
  surg__buf_printf(&where, "%s.%s %s", surg__locate_graph(g), list, surg__q(c->ctx, v->name));
  surg__buf_putc(&said, 0);
  surg__buf_putc(&is, 0);
  surg__buf_putc(&where, 0);
  const bool lost = said.failed || is.failed || where.failed;
  surg__check_found(c, code, lost ? "?" : where.p, "is declared %sas %s; %s makes it %s",
                    again ? "a second time " : "", lost ? "?" : said.p, origin(c, v),
                    lost ? "?" : is.p);
  surg__buf_free(&said);
  surg__buf_free(&is);
  surg__buf_free(&where);
}

/* Value_info may describe a value several times: inference of ONNX and ONNX Runtime (1.10 to 1.30)
 * read the last entry, so that no release notices what is wrong with the others. */
static void check_value_info(surg__checker *c, surg_graph *g) {
  for (surg_value *v = g->first_value; v; v = v->next) v->scratch = NULL;
  for (surg__stray *s = g->strays; s; s = s->next) {
    surg_value *v = s->dropped || !s->type ? NULL : surg_graph_find_value(g, s->name);
    if (v) v->scratch = s;
  }
  for (surg_value *v = g->first_value; v; v = v->next) {
    if (v->scratch && !v->input) c->since = (surg__since){UINT8_MAX, UINT8_MAX};
    check_claim(c, g, v, v->decl.type, v->input ? "input" : "value_info", false);
    c->since = (surg__since){0};
  }
  for (const surg__stray *s = g->strays; s; s = s->next) {
    const surg_value *v = s->dropped ? NULL : surg_graph_find_value(g, s->name);
    if (!v) continue;
    if (v->scratch != s) c->since = (surg__since){UINT8_MAX, UINT8_MAX};
    check_claim(c, g, v, s->type, "value_info", true);
    c->since = (surg__since){0};
  }
  for (surg_value *v = g->first_value; v; v = v->next) v->scratch = NULL;
}

void surg__check_declared(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    c->graph = g;
    check_value_info(c, g);
    for (size_t i = 0; i < g->n_out; i++) g->out[i]->use.value->scratch = NULL;
    for (size_t i = 0; i < g->n_out; i++) {
      surg_value *v = g->out[i]->use.value;
      check_claim(c, g, v, g->out[i]->decl.type, "output", false);
      if (g->out[i]->decl.type) v->scratch = v;
    }
    for (size_t i = 0; i < g->n_out; i++) g->out[i]->use.value->scratch = NULL;
  }
  c->graph = NULL;
  c->value = NULL;
}
