/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of ONNX text: value lists, nodes, graphs, functions and the model. */
#include "io/text/codec.h"
#include "io/text/attr.h"

#define MODEL &onnx__model_proto__descriptor
#define GRAPH &onnx__graph_proto__descriptor
#define NODE &onnx__node_proto__descriptor
#define FUNCTION &onnx__function_proto__descriptor
#define VALUE_INFO &onnx__value_info_proto__descriptor
#define IMPORT &onnx__operator_set_id_proto__descriptor

static bool at_type(surg__tparse *t) {
  surg_str s;
  return surg__lex_peek_ident(t, &s) && surg__text_is_type_word(s.p, s.n);
}

/* Parses the input or output names of a node; an empty entry before a comma is an absent value. */
static bool names(surg__tparse *t, uint32_t number) {
  surg_str s;
  do {
    char c = surg__lex_peek(t);
    if (c == ',') {
      surg__emit_str(t, number, (surg_str){"", 0});
      continue;
    }
    if (t->literals && number == 1 && surg__at_literal(t)) {
      if (!surg__parse_literal(t)) return false;
      continue;
    }
    if (c != '"' && !surg__text_ident_char(c, true)) break;
    if (!surg__lex_quotable(t, &s, "a name")) return false;
    surg__emit_str(t, number, s);
  } while (surg__lex_match(t, ','));
  return !t->out->failed;
}

/* --- values --- */

static bool initializer(surg__tparse *t, uint32_t number, surg_str name) {
  size_t at;
  if (!surg__emit_open(t, number, &at)) return false;
  surg__emit_str(t, 8, name);
  if (!surg__parse_tensor_data(t, at)) return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses `[type] name`; the name is in *name until the next string is read. */
static bool value_info(surg__tparse *t, surg_str *name) {
  size_t at;
  t->dtype = 0;
  t->tensor_word = false;
  if (at_type(t)) {
    if (!surg__emit_open(t, 2, &at) || !surg__parse_type(t)) return false;
    surg__emit_close(t, at);
  }
  if (!surg__lex_quotable(t, name, "a name")) return false;
  surg__emit_str(t, 1, *name);
  return !t->out->failed;
}

/* Parses an entry of a graph's inputs; `= values` adds a default, which is an initializer. */
static bool input(surg__tparse *t) {
  size_t at;
  surg_str name;
  if (!surg__emit_open(t, 11, &at) || !value_info(t, &name)) return false;
  if (surg__lex_match(t, '=')) {
    surg__emit_close(t, at);
    return initializer(t, 5, name);
  }
  if (!surg__parse_suffix(t, VALUE_INFO, at)) return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses an entry of the `<...>` list of a graph or function: an initializer or a value_info. */
static bool declared(surg__tparse *t, uint32_t initializers, uint32_t infos) {
  size_t at, mark = t->out->n;
  surg_str name;
  if (!surg__emit_open(t, infos, &at) || !value_info(t, &name)) return false;
  if (initializers && surg__lex_match(t, '=')) {
    t->out->n = mark; /* it is not a value_info: discard it; name and type are kept in t */
    t->depth--;
    return initializer(t, initializers, name);
  }
  if (!surg__parse_suffix(t, VALUE_INFO, at)) return false;
  surg__emit_close(t, at);
  return true;
}

static bool declarations(surg__tparse *t, uint32_t initializers, uint32_t infos) {
  if (!surg__lex_match(t, '<')) return true;
  if (surg__lex_match(t, '>')) return true;
  do {
    if (!declared(t, initializers, infos)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, '>');
}

static bool inputs(surg__tparse *t) {
  if (!surg__lex_expect(t, '(')) return false;
  if (surg__lex_match(t, ')')) return true;
  do {
    if (!input(t)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ')');
}

static bool outputs(surg__tparse *t) {
  size_t at;
  surg_str name;
  if (!surg__lex_expect(t, '(')) return false;
  if (surg__lex_match(t, ')')) return true;
  do {
    if (!surg__emit_open(t, 12, &at) || !value_info(t, &name) ||
        !surg__parse_suffix(t, VALUE_INFO, at))
      return false;
    surg__emit_close(t, at);
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ')');
}

/* --- nodes --- */

/* Parses `domain.op:overload`. */
static bool operation(surg__tparse *t) {
  surg_str s;
  size_t dot = SIZE_MAX;
  t->t.n = 0;
  if (surg__lex_peek(t) == '.') { /* the domain is present and empty */
    t->p++;
    surg__emit_str(t, 7, (surg_str){"", 0});
  }
  for (;;) {
    if (!surg__lex_quotable(t, &s, "an operator")) return false;
    surg__buf_put(&t->t, s.p, s.n);
    if (!surg__lex_match(t, '.')) break;
    dot = t->t.n;
    surg__buf_putc(&t->t, '.');
  }
  if (t->t.failed) return false;
  /* The last part is the operator; a quoted one may contain dots. */
  size_t op = dot == SIZE_MAX ? 0 : dot + 1;
  if (dot != SIZE_MAX) surg__emit_str(t, 7, (surg_str){t->t.p, dot});
  surg__emit_str(t, 4, (surg_str){t->t.p ? t->t.p + op : "", t->t.n - op});
  if (!surg__lex_match(t, ':')) return true;
  if (!surg__lex_quotable(t, &s, "an overload")) return false;
  surg__emit_str(t, 8, s);
  return true;
}

static bool node(surg__tparse *t, uint32_t number) {
  size_t at;
  surg_str s;
  if (!surg__emit_open(t, number, &at)) return false;
  if (surg__lex_match(t, '[')) {
    s = (surg_str){"", 0};
    if (surg__lex_peek(t) != ']' && !surg__lex_quotable(t, &s, "the name of a node")) return false;
    surg__emit_str(t, 3, s);
    if (!surg__lex_expect(t, ']')) return false;
  }
  if (!names(t, 2) || !surg__lex_expect(t, '=') || !operation(t)) return false;
  bool before = surg__lex_peek(t) == '<';
  if (!surg__parse_attrs(t, 5) || !surg__lex_expect(t, '(') || !names(t, 1) ||
      !surg__lex_expect(t, ')'))
    return false;
  if (!before && !surg__parse_attrs(t, 5)) return false;
  if (!surg__parse_suffix(t, NODE, at)) return false;
  surg__emit_close(t, at);
  return !t->out->failed;
}

static bool nodes(surg__tparse *t, uint32_t number) {
  if (!surg__lex_expect(t, '{')) return false;
  while (!surg__lex_match(t, '}'))
    if (!node(t, number)) return false;
  return true;
}

bool surg__parse_nodes_only(surg__tparse *t, uint32_t number) {
  while (surg__lex_peek(t), t->p < t->end)
    if (!node(t, number)) return false;
  return true;
}

/* --- graphs --- */

bool surg__parse_graph_named(surg__tparse *t, surg_str name) {
  size_t start = t->out->n;
  surg__emit_str(t, 2, name);
  return inputs(t) && surg__lex_arrow(t) && outputs(t) && declarations(t, 5, 13) && nodes(t, 1) &&
         surg__parse_suffix(t, GRAPH, start);
}

bool surg__parse_graph(surg__tparse *t) {
  surg_str name;
  return surg__lex_quotable(t, &name, "the name of a graph") && surg__parse_graph_named(t, name);
}

/* --- functions and the model --- */

static bool imports(surg__tparse *t, uint32_t number) {
  size_t at;
  surg_str s;
  int64_t v;
  if (!surg__lex_expect(t, '[')) return false;
  if (surg__lex_match(t, ']')) return true;
  do {
    if (!surg__emit_open(t, number, &at) || !surg__lex_string(t, &s)) return false;
    surg__emit_str(t, 1, s);
    if (!surg__lex_expect(t, ':') || !surg__lex_i64(t, &v)) return false;
    surg__emit_int(t, 2, v);
    if (!surg__parse_suffix(t, IMPORT, at)) return false;
    surg__emit_close(t, at);
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ']');
}

/* Parses one `keyword: value` of a header. `allowed` are the fields that may appear there. */
static bool header_entry(surg__tparse *t, const surg__desc *d, uint64_t allowed) {
  surg_str s;
  int64_t v;
  const surg__fdesc *fd = NULL;
  if (!surg__lex_ident(t, &s)) return false;
  for (unsigned i = 0; i < d->n_fields; i++)
    if ((allowed & SURG__BIT(d->fields[i].id)) && surg__text_word(s.p, s.n, d->fields[i].name))
      fd = &d->fields[i];
  if (!fd) return surg__lex_error(t, s.p, "%s is not allowed here", surg__qn(t->ctx, s.p, s.n));
  if (!surg__lex_expect(t, ':')) return false;
  if (fd->type == PROTOBUF_C_TYPE_INT64) {
    if (!surg__lex_i64(t, &v)) return false;
    surg__emit_int(t, fd->id, v);
    return true;
  }
  if (fd->type == PROTOBUF_C_TYPE_STRING) {
    if (!surg__lex_string(t, &s)) return false;
    surg__emit_str(t, fd->id, s);
    return true;
  }
  if (fd->descriptor == IMPORT) return imports(t, fd->id);
  return surg__parse_pairs(t, fd->id);
}

static bool header(surg__tparse *t, const surg__desc *d, uint64_t allowed) {
  if (!surg__lex_match(t, '<') || surg__lex_match(t, '>')) return !t->status;
  do {
    if (!header_entry(t, d, allowed)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, '>');
}

/* Parses inputs or outputs of a function: names, with a type if one is declared. */
static bool function_names(surg__tparse *t, uint32_t number) {
  size_t at;
  surg_str name;
  if (!surg__lex_expect(t, '(')) return false;
  if (surg__lex_match(t, ')')) return true;
  do {
    if (at_type(t)) {
      if (!surg__emit_open(t, 12, &at) || !value_info(t, &name)) return false;
      surg__emit_close(t, at);
    } else if (!surg__lex_quotable(t, &name, "a name")) {
      return false;
    }
    surg__emit_str(t, number, name);
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ')');
}

static bool function(surg__tparse *t) {
  size_t at;
  surg_str name;
  uint64_t allowed = SURG__BIT(8) | SURG__BIT(9) | SURG__BIT(10) | SURG__BIT(13);
  if (!surg__emit_open(t, 25, &at) || !header(t, FUNCTION, allowed)) return false;
  if (!surg__lex_quotable(t, &name, "the name of a function")) return false;
  surg__emit_str(t, 1, name);
  if (!surg__parse_function_attrs(t, 6, 11) || !function_names(t, 4) || !surg__lex_arrow(t) ||
      !function_names(t, 5) || !declarations(t, 0, 12) || !nodes(t, 7) ||
      !surg__parse_suffix(t, FUNCTION, at))
    return false;
  surg__emit_close(t, at);
  return true;
}

static bool model(surg__tparse *t) {
  size_t at;
  uint64_t allowed = SURG__BIT(1) | SURG__BIT(2) | SURG__BIT(3) | SURG__BIT(4) | SURG__BIT(5) |
                     SURG__BIT(6) | SURG__BIT(8) | SURG__BIT(14);
  bool headed = surg__lex_peek(t) == '<';
  if (headed && (!header(t, MODEL, allowed) || !surg__parse_suffix(t, MODEL, 0))) return false;
  (void)surg__lex_peek(t);
  if (headed && t->p == t->end) return true; /* a model without a graph */
  if (!surg__emit_open(t, 7, &at) || !surg__parse_graph(t)) return false;
  surg__emit_close(t, at);
  while (surg__lex_peek(t), t->p < t->end)
    if (!function(t)) return false;
  return true;
}

surg_status surg__text_parse(surg_context *ctx, const char *text, size_t n, const char *name,
                             surg__buf *wire) {
  surg__tparse t = {.ctx = ctx, .name = name, .start = text, .p = text, .end = text + n,
                    .out = wire, .depth = 1};
  surg__buf_init(&t.s, ctx);
  surg__buf_init(&t.t, ctx);
  bool ok = model(&t);
  if (!t.status && (!ok || wire->failed)) t.status = surg__oom(ctx, name);
  surg__buf_free(&t.s);
  surg__buf_free(&t.t);
  surg__vec_free(ctx, &t.dims);
  return t.status;
}
