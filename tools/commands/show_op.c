/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one operator as text or JSON. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* What an operator is printed with. */
typedef struct page {
  surg_context *ctx;
  const surg_schema *s;
  int op;
  cli_text b;
} page;

/* --- one version --- */

static void widen(size_t *width, const char *name) {
  const size_t n = strlen(name);
  if (n > *width) *width = n;
}

/* The width of the column of names. */
static int widest(const surg_schema *s) {
  size_t w = 4;
  surg_schema_param p = {.size = sizeof p};
  surg_schema_type t = {.size = sizeof t};
  for (int output = 0; output < 2; output++)
    for (size_t i = 0; surg_schema_param_at(s, output, i, &p) == SURG_OK; i++) widen(&w, p.name);
  for (size_t i = 0; i < surg_schema_attr_count(s); i++) widen(&w, surg_schema_attr_name(s, i));
  for (size_t i = 0; surg_schema_type_at(s, i, &t) == SURG_OK; i++) widen(&w, t.name);
  return (int)w;
}

static void put_type(page *x, const surg_schema_param *p) {
  char *text = NULL;
  if (p->is_type_param) {
    cli_text_puts(&x->b, p->type);
    return;
  }
  const surg_status s = surg_schema_types_text(x->ctx, x->s, p->type, &text, NULL);
  cli_text_take(&x->b, x->ctx, s, text);
}

static void put_params(page *x, bool output, int width) {
  cli_text *b = &x->b;
  surg_schema_param p = {.size = sizeof p};
  for (size_t i = 0; surg_schema_param_at(x->s, output, i, &p) == SURG_OK; i++) {
    if (!i) cli_text_puts(b, output ? "outputs\n" : "inputs\n");
    cli_text_printf(b, "  %-*s  ", width, p.name);
    const size_t start = b->n;
    put_type(x, &p);
    if (p.option != SURG_PARAM_SINGLE)
      while (!b->failed && b->n < start + 8) cli_text_putc(b, ' ');
    if (p.option == SURG_PARAM_OPTIONAL) cli_text_puts(b, "  optional");
    if (p.option == SURG_PARAM_VARIADIC) {
      cli_text_printf(b, "  %zu or more", p.at_least);
      if (!p.homogeneous) cli_text_puts(b, ", of any types");
    }
    cli_text_putc(b, '\n');
  }
}

/* Explains a word for several element types: `(floats: float, float16)`. */
static void put_group(cli_text *b, const char *name, uint32_t types) {
  cli_text one = {0};
  const char *comma = " ";
  cli_text_printf(&one, "(%s:", name);
  for (int d = 1; d < SURG_DTYPE_COUNT; d++) {
    if (!(types >> d & 1)) continue;
    cli_text_printf(&one, "%s%s", comma, surg_dtype_name(d));
    comma = ", ";
  }
  cli_text_putc(&one, ')');
  cli_text_puts(b, "  ");
  cli_text_wrap(b, cli_text_of(&one), 2, 4);
  cli_text_free(&one);
}

static void put_types(page *x, int width) {
  uint32_t used = 0, groups, types;
  const char *group;
  surg_schema_type t = {.size = sizeof t};
  for (size_t i = 0; surg_schema_type_at(x->s, i, &t) == SURG_OK; i++) {
    char *text = NULL;
    if (!i) cli_text_puts(&x->b, "types\n");
    const surg_status s = surg_schema_types_text(x->ctx, x->s, t.name, &text, &groups);
    cli_text_printf(&x->b, "  %-*s  ", width, t.name);
    cli_text_wrap(&x->b, s == SURG_OK ? text : "", (size_t)width + 4, (size_t)width + 4);
    surg_context_free_bytes(x->ctx, text);
    used |= groups;
  }
  for (size_t g = 0; (group = surg_schema_group(g, &types)); g++)
    if (used >> g & 1) put_group(&x->b, group, types);
}

static void put_attrs(page *x, int width) {
  cli_text *b = &x->b;
  for (size_t i = 0; i < surg_schema_attr_count(x->s); i++) {
    const char *name = surg_schema_attr_name(x->s, i);
    const char *kind = surg_attr_kind_name((int32_t)surg_schema_attr_kind(x->s, i));
    surg_schema_default d = {.size = sizeof d};
    const bool has_default = surg_schema_attr_default(x->s, i, &d) == SURG_OK;
    const bool required = surg_schema_attr_required(x->s, i);
    char *text = NULL;
    if (!i) cli_text_puts(b, "attributes\n");
    cli_text_printf(b, required || has_default ? "  %-*s  %-8s  " : "  %-*s  %s", width, name,
                    kind);
    if (required) cli_text_puts(b, "required");
    if (has_default) cli_text_puts(b, "= ");
    const surg_status s = surg_schema_default_text(x->ctx, x->s, i, &text);
    cli_text_take(b, x->ctx, s, text);
    cli_text_putc(b, '\n');
  }
}

static const struct {
  uint32_t flag;
  const char *name, *words;
} flags[] = {
    {SURG_SCHEMA_NONDETERMINISTIC, "nondeterministic", "two runs on equal inputs may differ"},
    {SURG_SCHEMA_TRAINING_MODE, "training_mode", "two runs may differ in training mode"},
    {SURG_SCHEMA_CONTROL_FLOW, "control_flow", "runs subgraphs"},
    {SURG_SCHEMA_DATA_MOVER, "data_mover", "moves elements, computes none"},
    {SURG_SCHEMA_ELEMENTWISE, "elementwise", "works element by element, inputs broadcast"},
    {SURG_SCHEMA_COMMUTATIVE, "commutative", "its two inputs may be swapped"},
    {SURG_SCHEMA_HAS_BODY, "function_body",
     "the specification gives a function body for each type"},
};

static void put_version(page *x) {
  const int width = widest(x->s);
  put_params(x, false, width);
  put_params(x, true, width);
  put_types(x, width);
  put_attrs(x, width);
  const char *title = "notes\n";
  for (size_t i = 0; i < CLI_COUNT(flags); i++) {
    if (!(surg_schema_flags(x->s) & flags[i].flag)) continue;
    if (flags[i].flag == SURG_SCHEMA_HAS_BODY && surg_schema_body_text(x->s, 0, NULL)) continue;
    cli_text_printf(&x->b, "%s  %s\n", title, flags[i].words);
    title = "";
  }
}

/* --- steps between versions --- */

/* Prints under which conditions a node can be converted in one direction without rewriting. */
static void put_direction(page *x, const surg_schema *to, bool down, const char *words,
                          int version) {
  char *where = NULL;
  bool possible = false;
  cli_text line = {0};
  const surg_status s = surg_schema_step(x->ctx, to, down, &possible, &where);
  if (s == SURG_ENOTFOUND) return;
  if (!possible)
    cli_text_printf(&line, "%s %d: needs rewriting", words, version);
  else if (where && *where)
    cli_text_printf(&line, "%s %d: unchanged where %s", words, version, where);
  if (line.n) {
    cli_text_puts(&x->b, "      ");
    cli_text_wrap(&x->b, cli_text_of(&line), 6, 8);
  }
  if (s != SURG_OK) cli_text_fail(&x->b);
  cli_text_free(&line);
  surg_context_free_bytes(x->ctx, where);
}

/* Prints lines, each wrapped. The first follows the version number on its line. */
static void put_lines(cli_text *b, char *lines, bool *first) {
  for (char *line = lines, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (!*first) cli_text_puts(b, "      ");
    cli_text_wrap(b, line, 6, 8);
    *first = false;
  }
}

/* The changes of a version with its note, a line each, for the caller to free. */
static char *changes_of(surg_context *ctx, const surg_schema *to) {
  cli_text t = {0};
  char *text = NULL;
  const surg_status s = surg_schema_changes(ctx, to, &text);
  cli_text_take(&t, ctx, s, text);
  const char *note = surg_schema_step_note(to);
  if (note) cli_text_printf(&t, "%s\n", note);
  return cli_text_give(&t);
}

static void put_step(page *x, const surg_schema *from, const surg_schema *to) {
  char *changes = changes_of(x->ctx, to);
  bool first = true;
  cli_text_printf(&x->b, "  %2d  ", surg_schema_since(to));
  put_lines(&x->b, changes, &first);
  free(changes);
  if (first) cli_text_puts(&x->b, "nothing but its description\n");
  if (surg_schema_deprecated(to)) return;
  put_direction(x, to, false, "on to", surg_schema_since(to));
  put_direction(x, to, true, "back to", surg_schema_since(from));
}

/* Prints function bodies line by line; lines wider than a terminal are not wrapped. */
static void put_bodies(page *x) {
  int64_t opset;
  const char *text;
  for (size_t i = 0; (text = surg_schema_body_text(x->s, i, &opset)); i++) {
    cli_text_printf(&x->b, "function body of opset %lld\n", (long long)opset);
    for (const char *line = text; *line;) {
      const size_t n = strcspn(line, "\n");
      cli_text_puts(&x->b, "  ");
      cli_text_put(&x->b, line, n);
      cli_text_putc(&x->b, '\n');
      line += n + (line[n] != 0);
    }
  }
}

/* Whether the rule replaces the operator by others. The rules of group "simplify" are excluded:
 * they only drop a node. */
static bool is_of(const surg_rule *r, const surg_schema *s) {
  return strcmp(surg_rule_group(r), "simplify") != 0 &&
         strcmp(surg_rule_op_type(r), surg_schema_name(s)) == 0 &&
         strcmp(surg_rule_domain(r), surg_schema_domain(s)) == 0;
}

/* Prints the rewrite rules that replace the operator. */
static void put_rules(page *x) {
  const char *title = "rules\n";
  for (size_t i = 0; i < surg_context_rule_count(x->ctx); i++) {
    const surg_rule *r = surg_context_rule(x->ctx, i);
    if (!is_of(r, x->s)) continue;
    cli_text_printf(&x->b, "%s  %-34s %-7s %s\n", title, surg_rule_name(r),
                    surg_exactness_name(surg_rule_exactness(r)), surg_rule_group(r));
    title = "";
  }
}

/* The version after `s`; NULL: it is the last one. */
static const surg_schema *next_of(const page *x) {
  const surg_schema *v;
  for (size_t i = 0; (v = surg_schema_version(x->op, i)); i++)
    if (v == x->s) return surg_schema_version(x->op, i + 1);
  return NULL;
}

static void print_op(page *x) {
  cli_text *b = &x->b;
  const surg_schema *next = next_of(x), *v, *from = surg_schema_version(x->op, 0);
  const char *domain = surg_schema_domain(x->s);
  const int since = surg_schema_since(x->s);
  cli_text_printf(b, "%s of %s, version %d (opset %d to ", surg_schema_name(x->s),
                  *domain ? domain : "ai.onnx", since, since);
  if (next)
    cli_text_printf(b, "%d)\n", surg_schema_since(next) - 1);
  else
    cli_text_printf(b, "%lld, the newest)\n", (long long)surg_schema_newest(domain));
  put_version(x);
  put_bodies(x);
  cli_text_puts(b, "versions\n");
  cli_text_printf(b, "  %2d  new\n", surg_schema_since(from));
  for (size_t i = 1; (v = surg_schema_version(x->op, i)); i++) {
    put_step(x, from, v);
    from = v;
  }
  put_rules(x);
  cli_text_print(b);
}

/* --- JSON --- */

static json_t *types_json(const char *const *types) {
  json_t *list = json_array();
  for (size_t i = 0; types[i]; i++) json_array_append_new(list, json_string(types[i]));
  return list;
}

static json_t *params_json(const surg_schema *s, bool output) {
  static const char *const options[] = {[SURG_PARAM_SINGLE] = "single",
                                        [SURG_PARAM_OPTIONAL] = "optional",
                                        [SURG_PARAM_VARIADIC] = "variadic"};
  _Static_assert(CLI_COUNT(options) == SURG_PARAM_VARIADIC + 1, "a word for each option");
  surg_schema_param p = {.size = sizeof p};
  json_t *all = json_array();
  for (size_t i = 0; surg_schema_param_at(s, output, i, &p) == SURG_OK; i++) {
    json_t *e = json_object();
    json_object_set_new(e, "name", json_string(p.name));
    json_object_set_new(e, "type", json_string(p.type));
    json_object_set_new(e, "option", json_string(options[p.option]));
    if (p.option == SURG_PARAM_VARIADIC)
      json_object_set_new(e, "homogeneous", json_boolean(p.homogeneous));
    json_array_append_new(all, e);
  }
  return all;
}

static json_t *default_json(const surg_schema_default *d) {
  if (d->kind == SURG_ATTR_INT) return json_integer((json_int_t)d->i);
  if (d->kind == SURG_ATTR_FLOAT) return json_real((double)d->f);
  if (d->kind == SURG_ATTR_STRING) return json_string(d->s);
  json_t *list = json_array();
  for (size_t i = 0; i < d->count; i++)
    json_array_append_new(list, d->kind == SURG_ATTR_INTS     ? json_integer((json_int_t)d->ints[i])
                                : d->kind == SURG_ATTR_FLOATS ? json_real((double)d->floats[i])
                                                              : json_string(d->strings[i]));
  return list;
}

static json_t *attrs_json(const surg_schema *s) {
  json_t *all = json_array();
  for (size_t i = 0; i < surg_schema_attr_count(s); i++) {
    surg_schema_default d = {.size = sizeof d};
    json_t *e = json_object();
    json_object_set_new(e, "name", json_string(surg_schema_attr_name(s, i)));
    json_object_set_new(e, "kind",
                        json_string(surg_attr_kind_name((int32_t)surg_schema_attr_kind(s, i))));
    json_object_set_new(e, "required", json_boolean(surg_schema_attr_required(s, i)));
    if (surg_schema_attr_default(s, i, &d) == SURG_OK)
      json_object_set_new(e, "default", default_json(&d));
    json_array_append_new(all, e);
  }
  return all;
}

/* Adds one direction of a step: "free", "no", or the conditions as words. */
static void add_side(surg_context *ctx, json_t *to, const char *key, const surg_schema *s,
                     bool down) {
  char *text = NULL;
  bool possible = false;
  if (surg_schema_step(ctx, s, down, &possible, &text) != SURG_OK) return;
  json_object_set_new(to, key, json_string(!possible ? "no" : *text ? text : "free"));
  surg_context_free_bytes(ctx, text);
}

static json_t *lines_json(char *lines) {
  json_t *list = json_array();
  for (char *line = lines, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    json_array_append_new(list, json_string(line));
  }
  return list;
}

static json_t *step_json(surg_context *ctx, const surg_schema *to, bool first) {
  json_t *e = json_object();
  char *text = NULL;
  json_object_set_new(e, "since", json_integer(surg_schema_since(to)));
  if (!first) {
    const char *note = surg_schema_step_note(to);
    json_object_set_new(e, "note", note ? json_string(note) : json_null());
    add_side(ctx, e, "up", to, false);
    add_side(ctx, e, "down", to, true);
    surg_schema_changes(ctx, to, &text);
  }
  json_object_set_new(e, "changes", lines_json(text));
  surg_context_free_bytes(ctx, text);
  return e;
}

/* The function bodies as JSON: [{"opset": 18, "text": "..."}]. */
static json_t *bodies_json(const surg_schema *s) {
  json_t *list = json_array();
  int64_t opset;
  const char *text;
  for (size_t i = 0; (text = surg_schema_body_text(s, i, &opset)); i++) {
    json_t *e = json_object();
    json_object_set_new(e, "opset", json_integer((json_int_t)opset));
    json_object_set_new(e, "text", json_string(text));
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

static void print_op_json(const page *x) {
  json_t *j = json_object(), *types = json_object(), *marks = json_array(), *steps = json_array();
  surg_schema_type t = {.size = sizeof t};
  const surg_schema *v, *s = x->s;
  for (size_t i = 0; surg_schema_type_at(s, i, &t) == SURG_OK; i++)
    json_object_set_new(types, t.name, types_json(t.types));
  for (size_t i = 0; i < CLI_COUNT(flags); i++)
    if (surg_schema_flags(s) & flags[i].flag)
      json_array_append_new(marks, json_string(flags[i].name));
  for (size_t i = 0; (v = surg_schema_version(x->op, i)); i++)
    json_array_append_new(steps, step_json(x->ctx, v, i == 0));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "domain", json_string(surg_schema_domain(s)));
  json_object_set_new(j, "name", json_string(surg_schema_name(s)));
  json_object_set_new(j, "since", json_integer(surg_schema_since(s)));
  json_object_set_new(j, "inputs", params_json(s, false));
  json_object_set_new(j, "outputs", params_json(s, true));
  json_object_set_new(j, "types", types);
  json_object_set_new(j, "attributes", attrs_json(s));
  json_object_set_new(j, "flags", marks);
  json_object_set_new(j, "bodies", bodies_json(s));
  json_object_set_new(j, "versions", steps);
  json_object_set_new(j, "rules", rules_json(x->ctx, s));
  cli_print_json(j);
}

int cli_show_op(surg_context *ctx, const surg_schema *s, bool json) {
  page x = {.ctx = ctx, .s = s, .op = surg_schema_op(s)};
  if (json)
    print_op_json(&x);
  else
    print_op(&x);
  return cli_out_of_memory(ctx) ? EXIT_LIMIT : EXIT_DONE;
}
