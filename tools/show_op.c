/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one operator as text or JSON. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "pass/pass.h"
#include "schema/bodies.h"
#include "wrap_buf.h"

/* The text of a buffer as a string owned by b; "" when memory ran out. */
static const char *finished(surg__buf *b) {
  surg__buf_putc(b, 0);
  return b->failed || !b->p ? "" : b->p;
}

/* --- one version --- */

static int widest(const surg_schema *s) {
  size_t w = 4;
#define GROW(name) w = strlen(name) > w ? strlen(name) : w
  for (uint32_t i = 0; i < s->n_inputs; i++) GROW(s->inputs[i].name);
  for (uint32_t i = 0; i < s->n_outputs; i++) GROW(s->outputs[i].name);
  for (uint32_t i = 0; i < s->n_attrs; i++) GROW(s->attrs[i].name);
  for (uint32_t i = 0; i < s->n_params; i++) GROW(s->params[i].name);
#undef GROW
  return (int)w;
}

static void put_type(surg__buf *b, const surg_schema *s, const surg__param *p) {
  if (surg__schema_type_param(s, p)) {
    surg__buf_puts(b, p->type);
    return;
  }
  surg__type_set set;
  surg__type_set_of(s, p, &set);
  surg__put_type_set(b, &set, NULL);
}

static void put_params(surg__buf *b, const surg_schema *s, bool output, int width) {
  const surg__param *list = output ? s->outputs : s->inputs;
  const uint32_t n = output ? s->n_outputs : s->n_inputs;
  const uint32_t least = output ? s->min_out : s->min_in;
  if (!n) return;
  surg__buf_puts(b, output ? "outputs\n" : "inputs\n");
  for (uint32_t i = 0; i < n; i++) {
    const surg__param *p = &list[i];
    surg__buf_printf(b, "  %-*s  ", width, p->name);
    const size_t start = b->n;
    put_type(b, s, p);
    if (p->option != SURG__SINGLE)
      while (!b->failed && b->n < start + 8) surg__buf_putc(b, ' ');
    if (p->option == SURG__OPTIONAL) surg__buf_puts(b, "  optional");
    if (p->option == SURG__VARIADIC) {
      surg__buf_printf(b, "  %u or more", least > i ? least - i : 0);
      if (!p->homogeneous) surg__buf_puts(b, ", of any types");
    }
    surg__buf_putc(b, '\n');
  }
}

static void put_types(surg__buf *b, const surg_schema *s, int width) {
  uint32_t groups = 0;
  if (!s->n_params) return;
  surg__buf_puts(b, "types\n");
  for (uint32_t i = 0; i < s->n_params; i++) {
    const surg__param p = {.name = "", .type = s->params[i].name};
    surg__type_set set;
    surg__buf one;
    surg__buf_init(&one, b->ctx);
    surg__type_set_of(s, &p, &set);
    surg__put_type_set(&one, &set, &groups);
    surg__buf_printf(b, "  %-*s  ", width, p.type);
    cli_put_wrapped(b, finished(&one), (size_t)width + 4, (size_t)width + 4);
    surg__buf_free(&one);
  }
  for (size_t g = 0; g < surg__type_group_count; g++) {
    if (!(groups >> g & 1)) continue;
    surg__buf one;
    surg__buf_init(&one, b->ctx);
    surg__buf_printf(&one, "  (%s:", surg__type_groups[g].name);
    const char *comma = " ";
    for (int d = 1; d < SURG_DTYPE_COUNT; d++) {
      if (!(surg__type_groups[g].mask >> d & 1)) continue;
      surg__buf_printf(&one, "%s%s", comma, surg_dtype_name(d));
      comma = ", ";
    }
    surg__buf_putc(&one, ')');
    surg__buf_puts(b, "  ");
    cli_put_wrapped(b, finished(&one) + (one.failed ? 0 : 2), 2, 4);
    surg__buf_free(&one);
  }
}

static void put_attrs(surg__buf *b, const surg_schema *s, int width) {
  if (!s->n_attrs) return;
  surg__buf_puts(b, "attributes\n");
  for (uint32_t i = 0; i < s->n_attrs; i++) {
    const surg__attr_def *a = &s->attrs[i];
    if (a->required || a->has_default)
      surg__buf_printf(b, "  %-*s  %-8s  ", width, a->name, surg__attr_kind_name(a->kind));
    else
      surg__buf_printf(b, "  %-*s  %s", width, a->name, surg__attr_kind_name(a->kind));
    if (a->required) surg__buf_puts(b, "required");
    if (a->has_default) surg__buf_puts(b, "= ");
    surg__put_default(b, a);
    surg__buf_putc(b, '\n');
  }
}

static const struct {
  uint32_t flag;
  const char *name, *words;
} flags[] = {
    {SURG__OP_NONDETERMINISTIC, "nondeterministic", "two runs on equal inputs may differ"},
    {SURG__OP_TRAINING_MODE, "training_mode", "two runs may differ in training mode"},
    {SURG__OP_CONTROL_FLOW, "control_flow", "runs subgraphs"},
    {SURG__OP_DATA_MOVER, "data_mover", "moves elements, computes none"},
    {SURG__OP_ELEMENTWISE, "elementwise", "works element by element, inputs broadcast"},
    {SURG__OP_COMMUTATIVE, "commutative", "its two inputs may be swapped"},
    {SURG__OP_HAS_BODY, "function_body", "the specification gives a function body for each type"},
};

static void put_version(surg__buf *b, const surg_schema *s) {
  const int width = widest(s);
  put_params(b, s, false, width);
  put_params(b, s, true, width);
  put_types(b, s, width);
  put_attrs(b, s, width);
  const char *title = "notes\n";
  for (size_t i = 0; i < CLI_COUNT(flags); i++) {
    if (!(s->flags & flags[i].flag)) continue;
    if (flags[i].flag == SURG__OP_HAS_BODY && surg__body_find(s->op, s->since, 0)) continue;
    surg__buf_printf(b, "%s  %s\n", title, flags[i].words);
    title = "";
  }
}

/* --- steps between versions --- */

/* Prints under which conditions a node can be converted in one direction without rewriting. */
static void put_direction(surg__buf *b, const surg__step_side *side, const char *to, int version) {
  surg__buf words, line;
  surg__buf_init(&words, b->ctx);
  surg__buf_init(&line, b->ctx);
  surg__put_conditions(&words, side);
  const char *where = finished(&words);
  if (!side->possible)
    surg__buf_printf(&line, "%s %d: needs rewriting", to, version);
  else if (*where)
    surg__buf_printf(&line, "%s %d: unchanged where %s", to, version, where);
  if (line.n) {
    surg__buf_puts(b, "      ");
    cli_put_wrapped(b, finished(&line), 6, 8);
  }
  surg__buf_free(&line);
  surg__buf_free(&words);
}

/* Prints lines of surg__put_changes, each wrapped. The first follows the version number on its
 * line. */
static void put_lines(surg__buf *b, char *lines, bool *first) {
  for (char *line = lines, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (!*first) surg__buf_puts(b, "      ");
    cli_put_wrapped(b, line, 6, 8);
    *first = false;
  }
}

static void put_step(surg__buf *b, const surg_schema *from, const surg_schema *to) {
  const surg__opset_step *step = surg__step_find(to->op, to->since);
  surg__buf changes;
  surg__buf_init(&changes, b->ctx);
  surg__put_changes(&changes, from, to);
  if (step && step->note) surg__buf_printf(&changes, "%s\n", step->note);
  surg__buf_putc(&changes, 0);
  surg__buf_printf(b, "  %2d  ", to->since);
  bool first = true;
  if (!changes.failed) put_lines(b, changes.p, &first);
  if (first) surg__buf_puts(b, "nothing but its description\n");
  if (step && !surg_schema_deprecated(to)) {
    put_direction(b, &step->up, "on to", to->since);
    put_direction(b, &step->down, "back to", from->since);
  }
  surg__buf_free(&changes);
}

/* Prints function bodies line by line; lines wider than a terminal are not wrapped. */
static void put_bodies(surg__buf *b, const surg_schema *s) {
  for (size_t i = 0; i < surg__body_count; i++) {
    const surg__body *body = &surg__bodies[i];
    if (body->op != s->op || body->since != s->since) continue;
    surg__buf_printf(b, "function body of opset %d\n", body->opset);
    for (const char *line = body->text; *line;) {
      const size_t n = strcspn(line, "\n");
      surg__buf_puts(b, "  ");
      surg__buf_put(b, line, n);
      surg__buf_putc(b, '\n');
      line += n + (line[n] != 0);
    }
  }
}

/* Whether the rule replaces the operator by others. The rules of group "simplify" are excluded:
 * they only drop a node. */
static bool is_of(const surg_rule *r, const surg_schema *s) {
  return strcmp(surg_rule_group(r), "simplify") != 0 &&
         strcmp(surg_rule_op_type(r), s->name) == 0 && strcmp(surg_rule_domain(r), s->domain) == 0;
}

/* Prints the rewrite rules that replace the operator. */
static void put_rules(surg__buf *b, const surg_schema *s) {
  const char *title = "rules\n";
  for (size_t i = 0; i < surg_context_rule_count(b->ctx); i++) {
    const surg_rule *r = surg_context_rule(b->ctx, i);
    if (!is_of(r, s)) continue;
    surg__buf_printf(b, "%s  %-34s %-7s %s\n", title, surg_rule_name(r),
                     surg__exactness_name(surg_rule_exactness(r)), surg_rule_group(r));
    title = "";
  }
}

static void print_op(surg_context *ctx, const surg_schema *s) {
  size_t n;
  const surg_schema *v = surg__schema_versions(s->op, &n);
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "%s of %s, version %d", s->name, *s->domain ? s->domain : "ai.onnx",
                   s->since);
  const surg_schema *next = s + 1 < v + n ? s + 1 : NULL;
  if (next)
    surg__buf_printf(&b, " (opset %d to %d)\n", s->since, next->since - 1);
  else
    surg__buf_printf(&b, " (opset %d to %lld, the newest)\n", s->since,
                     (long long)surg_schema_newest(s->domain));
  put_version(&b, s);
  put_bodies(&b, s);
  surg__buf_puts(&b, "versions\n");
  surg__buf_printf(&b, "  %2d  new\n", v[0].since);
  for (size_t i = 1; i < n; i++) put_step(&b, &v[i - 1], &v[i]);
  put_rules(&b, s);
  if (b.p && !b.failed) fwrite(b.p, 1, b.n, stdout);
  surg__buf_free(&b);
}

/* --- JSON --- */

static json_t *buf_json(surg__buf *b) {
  json_t *j = json_string(finished(b));
  surg__buf_free(b);
  return j;
}

static json_t *types_json(const char *const *types) {
  json_t *list = json_array();
  for (size_t i = 0; types[i]; i++) json_array_append_new(list, json_string(types[i]));
  return list;
}

static json_t *params_json(const surg_schema *s, bool output) {
  static const char *const options[] = {
      [SURG__SINGLE] = "single", [SURG__OPTIONAL] = "optional", [SURG__VARIADIC] = "variadic"};
  _Static_assert(CLI_COUNT(options) == SURG__VARIADIC + 1, "a word for each option");
  const surg__param *list = output ? s->outputs : s->inputs;
  const uint32_t n = output ? s->n_outputs : s->n_inputs;
  json_t *all = json_array();
  for (uint32_t i = 0; i < n; i++) {
    json_t *e = json_object();
    json_object_set_new(e, "name", json_string(list[i].name));
    json_object_set_new(e, "type", json_string(list[i].type));
    json_object_set_new(e, "option", json_string(options[list[i].option]));
    if (list[i].option == SURG__VARIADIC)
      json_object_set_new(e, "homogeneous", json_boolean(list[i].homogeneous));
    json_array_append_new(all, e);
  }
  return all;
}

static json_t *default_json(const surg__attr_def *a) {
  if (a->kind == SURG_ATTR_INT) return json_integer((json_int_t)a->i);
  if (a->kind == SURG_ATTR_FLOAT) return json_real((double)a->f);
  if (a->kind == SURG_ATTR_STRING) return json_string(a->s);
  json_t *list = json_array();
  for (uint32_t i = 0; i < a->n; i++)
    json_array_append_new(list, a->kind == SURG_ATTR_INTS     ? json_integer((json_int_t)a->ints[i])
                                : a->kind == SURG_ATTR_FLOATS ? json_real((double)a->floats[i])
                                                              : json_string(a->strings[i]));
  return list;
}

static json_t *attrs_json(const surg_schema *s) {
  json_t *all = json_array();
  for (uint32_t i = 0; i < s->n_attrs; i++) {
    const surg__attr_def *a = &s->attrs[i];
    json_t *e = json_object();
    json_object_set_new(e, "name", json_string(a->name));
    json_object_set_new(e, "kind", json_string(surg__attr_kind_name(a->kind)));
    json_object_set_new(e, "required", json_boolean(a->required));
    if (a->has_default) json_object_set_new(e, "default", default_json(a));
    json_array_append_new(all, e);
  }
  return all;
}

/* One direction of a step as JSON: "free", "no", or the conditions as words. */
static json_t *side_json(surg_context *ctx, const surg__step_side *side) {
  if (!side->possible) return json_string("no");
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__put_conditions(&b, side);
  if (b.n == 0) surg__buf_puts(&b, "free");
  return buf_json(&b);
}

static json_t *step_json(surg_context *ctx, const surg_schema *from, const surg_schema *to) {
  json_t *e = json_object(), *changes = json_array();
  json_object_set_new(e, "since", json_integer(to->since));
  if (from) {
    const surg__opset_step *step = surg__step_find(to->op, to->since);
    surg__buf b;
    surg__buf_init(&b, ctx);
    surg__put_changes(&b, from, to);
    surg__buf_putc(&b, 0);
    for (char *line = b.failed ? NULL : b.p, *next; line && *line; line = next) {
      next = strchr(line, '\n');
      if (next) *next++ = 0;
      json_array_append_new(changes, json_string(line));
    }
    surg__buf_free(&b);
    json_object_set_new(e, "note", step && step->note ? json_string(step->note) : json_null());
    if (step) {
      json_object_set_new(e, "up", side_json(ctx, &step->up));
      json_object_set_new(e, "down", side_json(ctx, &step->down));
    }
  }
  json_object_set_new(e, "changes", changes);
  return e;
}

/* The function bodies as JSON: [{"opset": 18, "text": "..."}]. */
static json_t *bodies_json(const surg_schema *s) {
  json_t *list = json_array();
  for (size_t i = 0; i < surg__body_count; i++) {
    const surg__body *body = &surg__bodies[i];
    if (body->op != s->op || body->since != s->since) continue;
    json_t *e = json_object();
    json_object_set_new(e, "opset", json_integer(body->opset));
    json_object_set_new(e, "text", json_string(body->text));
    json_array_append_new(list, e);
  }
  return list;
}

static json_t *rules_json(surg_context *ctx, const surg_schema *s) {
  json_t *list = json_array();
  for (size_t i = 0; i < surg_context_rule_count(ctx); i++)
    if (is_of(surg_context_rule(ctx, i), s))
      json_array_append_new(list, json_string(surg_rule_name(surg_context_rule(ctx, i))));
  return list;
}

static void print_op_json(surg_context *ctx, const surg_schema *s) {
  json_t *j = json_object(), *types = json_object(), *marks = json_array(), *steps = json_array();
  size_t n;
  const surg_schema *v = surg__schema_versions(s->op, &n);
  for (uint32_t i = 0; i < s->n_params; i++)
    json_object_set_new(types, s->params[i].name, types_json(s->params[i].types));
  for (size_t i = 0; i < CLI_COUNT(flags); i++)
    if (s->flags & flags[i].flag) json_array_append_new(marks, json_string(flags[i].name));
  for (size_t i = 0; i < n; i++)
    json_array_append_new(steps, step_json(ctx, i ? &v[i - 1] : NULL, &v[i]));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "domain", json_string(s->domain));
  json_object_set_new(j, "name", json_string(s->name));
  json_object_set_new(j, "since", json_integer(s->since));
  json_object_set_new(j, "inputs", params_json(s, false));
  json_object_set_new(j, "outputs", params_json(s, true));
  json_object_set_new(j, "types", types);
  json_object_set_new(j, "attributes", attrs_json(s));
  json_object_set_new(j, "flags", marks);
  json_object_set_new(j, "bodies", bodies_json(s));
  json_object_set_new(j, "versions", steps);
  json_object_set_new(j, "rules", rules_json(ctx, s));
  cli_print_json(j);
}

int cli_show_op(surg_context *ctx, const surg_schema *s, bool json) {
  if (json)
    print_op_json(ctx, s);
  else
    print_op(ctx, s);
  return cli_out_of_memory(ctx) ? EXIT_LIMIT : EXIT_DONE;
}
