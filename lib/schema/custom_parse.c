/* SPDX-License-Identifier: Apache-2.0 */
/* Parser for schema files:
 *
 *   file   = { line }                      '#' starts a comment
 *   line   = "domain" name | "op" name | "type" name ":" dtype { dtype }
 *          | ("input" | "output") name ["?" | "*"] ":" type [shape]
 *          | "attr" name ["?"] ":" kind ["=" default]
 *   shape  = "[" [dim {"," dim}] "]" | "like" input
 *   dim    = "?" | sum
 *   sum    = product {("+" | "-") product}
 *   product= atom {("*" | "/" | "%") atom}
 *   atom   = number | name | name "[" number "]" | "(" sum ")"
 *          | ("min" | "max" | "ceil") "(" sum "," sum ")"          ceil (a, b): a / b rounded up */
#include <stdarg.h>
#include <stdio.h>

#include "base/diag.h"
#include "schema/custom.h"

typedef struct reader {
  struct surg__customs *c;
  const char *name;
  const char *p, *line_start, *end;
  unsigned line, depth;
  const char *domain;
  surg__custom *op; /* the operator of the current lines, or NULL */
  SURG_VEC(surg__custom_param) inputs, outputs;
  SURG_VEC(surg__custom_attr) attrs;
  SURG_VEC(surg__custom_type) types;
  SURG_VEC(surg__custom_step) steps; /* of the current dim */
  surg_status status;
} reader;

static bool bad(reader *r, const char *fmt, ...) SURG_PRINTF(2, 3);
static bool bad(reader *r, const char *fmt, ...) {
  char text[400], where[32];
  va_list args;
  if (r->status != SURG_OK) return false;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  snprintf(where, sizeof where, "%u:%zu", r->line, (size_t)(r->p - r->line_start) + 1);
  r->status = surg__error(r->c->ctx, SURG_EINVALID, r->name, "%s: %s", where, text);
  return false;
}

static bool oom(reader *r) {
  if (r->status == SURG_OK) r->status = surg__oom(r->c->ctx, r->name);
  return false;
}

/* --- words --- */

static bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static void skip(reader *r) {
  while (r->p < r->end && blank(*r->p)) r->p++;
}

/* The next character on the line after blanks; 0 at the end of the line. */
static char peek(reader *r) {
  skip(r);
  return r->p == r->end || *r->p == '\n' || *r->p == '#' ? 0 : *r->p;
}

static bool take(reader *r, char c) {
  if (peek(r) != c) return false;
  r->p++;
  return true;
}

static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Reads a name; with `dots` it may contain dots, colons and dashes (domains, operators). NULL after
 * a reported error. */
static const char *word(reader *r, bool dots, const char *what) {
  skip(r);
  const char *start = r->p;
  while (r->p < r->end &&
         (word_char(*r->p) || (dots && (*r->p == '.' || *r->p == ':' || *r->p == '-'))))
    r->p++;
  if (r->p == start) {
    bad(r, "expected %s", what);
    return NULL;
  }
  const char *copy = surg__arena_strn(&r->c->arena, start, (size_t)(r->p - start));
  if (!copy) oom(r);
  return copy;
}

static bool number(reader *r, int64_t *out) {
  skip(r);
  uint64_t v = 0;
  const char *start = r->p;
  for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
    if (!surg__mul_u64(v, 10, &v) || !surg__add_u64(v, (uint64_t)(*r->p - '0'), &v) ||
        v > INT64_MAX)
      return bad(r, "the number is too large");
  *out = (int64_t)v;
  return r->p > start || bad(r, "expected a number");
}

static bool expect(reader *r, char c) {
  return take(r, c) || bad(r, "expected '%c'", c);
}

/* --- expressions over dims --- */

static bool sum(reader *r);

static bool push(reader *r, surg__custom_code code, int64_t n, const char *name) {
  if (r->steps.count == SURG_LIMIT_SCHEMA_STEPS) return bad(r, "the expression is too long");
  return surg__vec_push(r->c->ctx, &r->steps, ((surg__custom_step){code, n, name})) || oom(r);
}

/* Parses the arguments of `min (a, b)`, `max` or `ceil`, after the name. */
static bool call(reader *r, const char *name) {
  if (!sum(r) || !expect(r, ',') || !sum(r) || !expect(r, ')')) return false;
  if (strcmp(name, "min") == 0) return push(r, SURG__C_MIN, 0, NULL);
  if (strcmp(name, "max") == 0) return push(r, SURG__C_MAX, 0, NULL);
  return push(r, SURG__C_DIV, 1, NULL);
}

static bool atom(reader *r) {
  int64_t n;
  if (++r->depth > SURG_LIMIT_SCHEMA_DEPTH) return bad(r, "parentheses nest too deep");
  const char c = peek(r);
  bool ok;
  if (c == '(') {
    r->p++;
    ok = sum(r) && expect(r, ')');
  } else if (c >= '0' && c <= '9') {
    ok = number(r, &n) && push(r, SURG__C_NUM, n, NULL);
  } else {
    const char *name = word(r, false, "a dim");
    if (!name) return false;
    const bool function =
        strcmp(name, "min") == 0 || strcmp(name, "max") == 0 || strcmp(name, "ceil") == 0;
    if (function && take(r, '('))
      ok = call(r, name);
    else if (take(r, '['))
      ok = number(r, &n) && expect(r, ']') && push(r, SURG__C_ITEM, n, name);
    else
      ok = push(r, SURG__C_NAME, 0, name);
  }
  r->depth--;
  return ok;
}

static bool product(reader *r) {
  if (!atom(r)) return false;
  for (;;) {
    const char c = peek(r);
    if (c != '*' && c != '/' && c != '%') return true;
    r->p++;
    if (!atom(r) || !push(r,
                          c == '*'   ? SURG__C_MUL
                          : c == '/' ? SURG__C_DIV
                                     : SURG__C_MOD,
                          0, NULL))
      return false;
  }
}

static bool sum(reader *r) {
  if (!product(r)) return false;
  for (;;) {
    const char c = peek(r);
    if (c != '+' && c != '-') return true;
    r->p++;
    if (!product(r) || !push(r, c == '+' ? SURG__C_ADD : SURG__C_SUB, 0, NULL)) return false;
  }
}

static bool dim(reader *r, surg__custom_dim *out) {
  *out = (surg__custom_dim){0};
  if (take(r, '?')) return true;
  r->steps.count = 0;
  if (!sum(r)) return false;
  surg__custom_step *steps = surg__arena_array(&r->c->arena, r->steps.count, sizeof *steps);
  if (!steps) return oom(r);
  memcpy(steps, r->steps.items, r->steps.count * sizeof *steps);
  *out = (surg__custom_dim){steps, (uint32_t)r->steps.count};
  return true;
}

static bool shape(reader *r, surg__custom_param *p) {
  surg__custom_dim dims[SURG_LIMIT_RANK];
  p->shape = SURG__SHAPE_DIMS;
  if (take(r, ']')) return true;
  do {
    if (p->rank == SURG_LIMIT_RANK) return bad(r, "too many dims");
    if (!dim(r, &dims[p->rank++])) return false;
  } while (take(r, ','));
  if (!expect(r, ']')) return false;
  surg__custom_dim *copy = surg__arena_array(&r->c->arena, p->rank, sizeof *copy);
  if (!copy) return oom(r);
  memcpy(copy, dims, p->rank * sizeof *copy);
  p->dims = copy;
  return true;
}

/* --- lines --- */

static bool like(reader *r, surg__custom_param *p) {
  const char *kind = word(r, false, "'[' or 'like'");
  if (!kind) return false;
  if (strcmp(kind, "like") != 0) return bad(r, "expected '[' or 'like'");
  const char *name = word(r, false, "the name of an input");
  if (!name) return false;
  for (p->like = 0; p->like < r->inputs.count; p->like++)
    if (strcmp(r->inputs.items[p->like].name, name) == 0) break;
  p->shape = SURG__SHAPE_LIKE;
  return p->like < r->inputs.count || bad(r, "there is no input '%.80s' above", name);
}

static bool known_type(const reader *r, const char *type) {
  if (strcmp(type, "any") == 0 || surg_dtype_from_name(type)) return true;
  for (size_t i = 0; i < r->types.count; i++)
    if (strcmp(r->types.items[i].name, type) == 0) return true;
  return false;
}

static bool param(reader *r, bool output) {
  surg__custom_param p = {.name = word(r, false, "a name")};
  if (!p.name) return false;
  p.optional = take(r, '?');
  p.variadic = !p.optional && take(r, '*');
  if (!expect(r, ':') || !(p.type = word(r, false, "a type"))) return false;
  if (!known_type(r, p.type))
    return bad(r, "'%.80s' is neither an element type, a type named above, nor any", p.type);
  if (take(r, '[') ? !shape(r, &p) : peek(r) && !like(r, &p)) return false;
  const size_t count = output ? r->outputs.count : r->inputs.count;
  const surg__custom_param *last = !count   ? NULL
                                   : output ? &r->outputs.items[count - 1]
                                            : &r->inputs.items[count - 1];
  if (last && last->variadic)
    return bad(r, "nothing can follow '%.80s', which repeats", last->name);
  if (count == SURG_LIMIT_SCHEMA_PARAMS) return bad(r, "too many of these");
  return (output ? surg__vec_push(r->c->ctx, &r->outputs, p)
                 : surg__vec_push(r->c->ctx, &r->inputs, p)) ||
         oom(r);
}

static bool type(reader *r) {
  surg__custom_type t = {.name = word(r, false, "a name")};
  if (!t.name || !expect(r, ':')) return false;
  while (peek(r)) {
    const char *name = word(r, false, "an element type");
    const int dtype = name ? surg_dtype_from_name(name) : 0;
    if (!name) return false;
    if (!dtype) return bad(r, "'%.80s' is not an element type", name);
    t.mask |= UINT32_C(1) << dtype;
  }
  if (!t.mask) return bad(r, "expected an element type");
  if (r->types.count == SURG_LIMIT_SCHEMA_PARAMS) return bad(r, "too many of these");
  return surg__vec_push(r->c->ctx, &r->types, t) || oom(r);
}

static bool attr_kind(reader *r, surg_attr_kind *out) {
  static const struct {
    const char *name;
    surg_attr_kind kind;
  } kinds[] = {
      {"int", SURG_ATTR_INT},       {"float", SURG_ATTR_FLOAT},     {"string", SURG_ATTR_STRING},
      {"tensor", SURG_ATTR_TENSOR}, {"graph", SURG_ATTR_GRAPH},     {"ints", SURG_ATTR_INTS},
      {"floats", SURG_ATTR_FLOATS}, {"strings", SURG_ATTR_STRINGS}, {"any", SURG_ATTR_UNDEFINED}};
  const char *name = word(r, false, "a kind of attribute");
  for (size_t i = 0; name && i < SURG_COUNT(kinds); i++) {
    if (strcmp(kinds[i].name, name) != 0) continue;
    *out = kinds[i].kind;
    return true;
  }
  return name ? bad(r, "'%.80s' is not a kind of attribute", name) : false;
}

static bool integer(reader *r, surg__custom_attr *a) {
  const bool minus = take(r, '-');
  int64_t n;
  if (a->n == SURG_LIMIT_SCHEMA_INTS) return bad(r, "too many numbers");
  if (!number(r, &n)) return false;
  a->ints[a->n++] = minus ? -n : n;
  return true;
}

/* Parses a default. INT and INTS values are stored, since shapes use them; of other kinds only the
 * presence of a default is recorded. */
static bool fallback(reader *r, surg__custom_attr *a) {
  if (a->kind == SURG_ATTR_INT) return integer(r, a);
  if (a->kind != SURG_ATTR_INTS) {
    if (!peek(r)) return bad(r, "expected a default");
    while (peek(r)) r->p++;
    return true;
  }
  if (!expect(r, '[')) return false;
  if (take(r, ']')) return true;
  do {
    if (!integer(r, a)) return false;
  } while (take(r, ','));
  return expect(r, ']');
}

static bool attr(reader *r) {
  surg__custom_attr a = {.name = word(r, false, "a name")};
  if (!a.name) return false;
  a.required = !take(r, '?');
  if (!expect(r, ':') || !attr_kind(r, &a.kind)) return false;
  if (take(r, '=')) {
    a.required = false;
    if (!fallback(r, &a)) return false;
  }
  if (r->attrs.count == SURG_LIMIT_SCHEMA_PARAMS) return bad(r, "too many of these");
  return surg__vec_push(r->c->ctx, &r->attrs, a) || oom(r);
}

/* Moves the parsed lists into the operator. */
static bool finish(reader *r) {
  surg__custom *s = r->op;
  if (!s) return true;
#define KEEP(from, field, n_field)                                                         \
  do {                                                                                     \
    void *copy = surg__arena_array(&r->c->arena, r->from.count, sizeof *r->from.items);    \
    if (!copy) return oom(r);                                                              \
    if (r->from.count) memcpy(copy, r->from.items, r->from.count * sizeof *r->from.items); \
    s->field = copy;                                                                       \
    s->n_field = (uint32_t)r->from.count;                                                  \
    r->from.count = 0;                                                                     \
  } while (0)
  KEEP(inputs, inputs, n_inputs);
  KEEP(outputs, outputs, n_outputs);
  KEEP(attrs, attrs, n_attrs);
  KEEP(types, types, n_types);
#undef KEEP
  r->op = NULL;
  return surg__vec_push(r->c->ctx, &r->c->list, s) || oom(r);
}

static bool op(reader *r) {
  if (!r->domain) return bad(r, "a line 'domain NAME' should come first");
  const char *name = word(r, true, "the name of an operator");
  if (!name || !finish(r)) return false;
  if (surg_schema_find(r->domain, name, surg_schema_newest(r->domain)))
    return bad(r, "operator '%.80s' of this domain is known", name);
  if (r->c->list.count >= SURG_LIMIT_SCHEMA_OPS) return bad(r, "too many operators");
  r->op = surg__arena_zalloc(&r->c->arena, sizeof *r->op);
  if (!r->op) return oom(r);
  r->op->domain = r->domain;
  r->op->op = name;
  return true;
}

static bool domain(reader *r) {
  if (!finish(r)) return false;
  r->domain = word(r, true, "a domain");
  if (r->domain && strcmp(r->domain, "ai.onnx") == 0)
    return bad(r, "the operators of ai.onnx are known");
  return r->domain != NULL;
}

static bool line(reader *r) {
  if (!peek(r)) return true;
  const char *key = word(r, false, "a word such as op or input");
  if (!key) return false;
  bool ok;
  if (strcmp(key, "domain") == 0) {
    ok = domain(r);
  } else if (strcmp(key, "op") == 0) {
    ok = op(r);
  } else if (strcmp(key, "input") && strcmp(key, "output") && strcmp(key, "attr") &&
             strcmp(key, "type")) {
    return bad(r, "'%.80s' is none of domain, op, type, input, output, attr", key);
  } else if (!r->op) {
    return bad(r, "a line 'op NAME' should come first");
  } else if (strcmp(key, "attr") == 0) {
    ok = attr(r);
  } else if (strcmp(key, "type") == 0) {
    ok = type(r);
  } else {
    ok = param(r, key[0] == 'o');
  }
  return ok && (!peek(r) || bad(r, "the line should end here"));
}

surg_status surg__customs_parse(struct surg__customs *c, const char *text, size_t n,
                                const char *name) {
  reader r = {.c = c, .name = name, .p = text, .line_start = text, .end = text + n, .line = 1};
  bool ok = true;
  while (ok && r.p < r.end) {
    r.depth = 0;
    ok = line(&r);
    while (ok && r.p < r.end && *r.p != '\n') r.p++;
    if (ok && r.p < r.end) r.p++;
    if (!ok) break;
    r.line++;
    r.line_start = r.p;
  }
  if (ok) ok = finish(&r);
  surg__vec_free(c->ctx, &r.inputs);
  surg__vec_free(c->ctx, &r.outputs);
  surg__vec_free(c->ctx, &r.attrs);
  surg__vec_free(c->ctx, &r.types);
  surg__vec_free(c->ctx, &r.steps);
  return ok ? SURG_OK : r.status;
}
