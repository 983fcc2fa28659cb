/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of ONNX text: attributes. */
#include "io/text/attr.h"

#define ATTR &onnx__attribute_proto__descriptor

static bool is_list(unsigned kind) {
  return (kind >= SURG_ATTR_FLOATS && kind <= SURG_ATTR_GRAPHS) ||
         kind == SURG_ATTR_SPARSE_TENSORS || kind == SURG_ATTR_TYPE_PROTOS;
}

static unsigned single_of(unsigned kind) {
  if (kind >= SURG_ATTR_FLOATS && kind <= SURG_ATTR_GRAPHS) return kind - 5;
  return kind == SURG_ATTR_SPARSE_TENSORS || kind == SURG_ATTR_TYPE_PROTOS ? kind - 1 : kind;
}

static unsigned list_of(unsigned kind) {
  if (kind >= SURG_ATTR_FLOAT && kind <= SURG_ATTR_GRAPH) return kind + 5;
  return kind == SURG_ATTR_SPARSE_TENSOR || kind == SURG_ATTR_TYPE_PROTO ? kind + 1 : kind;
}

static bool mismatch(surg__tparse *t, const char *at, unsigned kind) {
  return surg__lex_error(t, at, "the value is not of type %s", surg__text_attr_kind(kind));
}

/* Opens the field of a value that is a message: the list field of its kind if `list`. */
static bool open_value(surg__tparse *t, unsigned kind, bool list, size_t *at) {
  return surg__emit_open(t, surg__text_attr_field(list ? list_of(kind) : kind), at);
}

/* Parses a value that starts with a type: a tensor, or the type itself. */
static bool type_or_tensor(surg__tparse *t, unsigned *kind, bool list) {
  size_t at, mark = t->out->n;
  const char *from = t->p;
  if (!open_value(t, SURG_ATTR_TYPE_PROTO, list, &at) || !surg__parse_type(t)) return false;
  char c = surg__lex_peek(t);
  bool tensor = t->tensor_word || c == '{' || c == '=' || c == '"' || c == '[' ||
                surg__text_ident_char(c, true) || surg__lex_at_hex(t);
  unsigned found = tensor ? SURG_ATTR_TENSOR : SURG_ATTR_TYPE_PROTO;
  if (*kind && *kind != found) return mismatch(t, from, *kind);
  *kind = found;
  if (tensor) {
    t->out->n = mark;
    t->depth--;
    if (!open_value(t, found, list, &at) || !surg__parse_tensor_tail(t, at)) return false;
  }
  surg__emit_close(t, at);
  return true;
}

static bool graph_named(surg__tparse *t, surg_str name, bool list) {
  size_t at;
  if (!open_value(t, SURG_ATTR_GRAPH, list, &at) || !surg__parse_graph_named(t, name))
    return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses a value that starts with a quote: a string, or a graph with a quoted name. */
static bool string_or_graph(surg__tparse *t, unsigned *kind, bool list) {
  surg_str s;
  const char *from = t->p;
  if (!surg__lex_string(t, &s)) return false;
  unsigned found = surg__lex_peek(t) == '(' ? SURG_ATTR_GRAPH : SURG_ATTR_STRING;
  if (*kind && *kind != found) return mismatch(t, from, *kind);
  *kind = found;
  if (found == SURG_ATTR_GRAPH) return graph_named(t, s, list);
  surg__emit_str(t, surg__text_attr_field(list ? SURG_ATTR_STRINGS : found), s);
  return true;
}

static bool sparse(surg__tparse *t, unsigned kind, bool list) {
  size_t at;
  if (kind != SURG_ATTR_SPARSE_TENSOR)
    return surg__lex_error(t, NULL, "a value in braces needs the type sparse_tensor");
  if (!open_value(t, kind, list, &at) ||
      !surg__parse_block(t, &onnx__sparse_tensor_proto__descriptor, at))
    return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses one value that is not a number. *kind: the required kind or 0; set to the kind found. */
static bool other_value(surg__tparse *t, unsigned *kind, bool list) {
  surg_str s;
  const char *from = t->p;
  if (surg__lex_peek(t) == '"') return string_or_graph(t, kind, list);
  if (surg__lex_peek(t) == '{') return sparse(t, *kind, list);
  if (!surg__lex_peek_ident(t, &s)) return surg__lex_error(t, NULL, "expected a value");
  if (surg__text_is_type_word(s.p, s.n)) return type_or_tensor(t, kind, list);
  if (*kind && *kind != SURG_ATTR_GRAPH) return mismatch(t, from, *kind);
  *kind = SURG_ATTR_GRAPH;
  t->p += s.n;
  return graph_named(t, s, list);
}

static bool emit_number(surg__tparse *t, const surg__num *v, unsigned kind, bool list) {
  uint32_t bits;
  int64_t i;
  uint32_t field = surg__text_attr_field(list ? list_of(kind) : kind);
  if (kind == SURG_ATTR_FLOAT) {
    if (!surg__num_float(t, v, &bits)) return false;
    surg__emit_tag(t, field, SURG__WIRE_32);
    surg__emit_fixed32(t, bits);
    return true;
  }
  if (kind != SURG_ATTR_INT) return mismatch(t, v->at, kind);
  if (!surg__num_i64(t, v, &i)) return false;
  surg__emit_int(t, field, i);
  return true;
}

/* Whether a number list without a type contains a float; otherwise its kind is ints. */
static bool list_has_float(surg__tparse *t, bool *found) {
  const char *from = t->p;
  surg__num v;
  *found = false;
  do {
    if (!surg__lex_at_number(t)) break;
    if (!surg__lex_number(t, &v)) return false;
    *found |= v.kind != SURG__NUM_INT;
  } while (surg__lex_match(t, ','));
  t->p = from;
  return true;
}

/* Parses a list after the '['. *kind: the kind of one value, or 0. */
static bool list_values(surg__tparse *t, unsigned *kind) {
  surg__num v;
  bool floats;
  if (surg__lex_match(t, ']')) {
    if (*kind) return true;
    return surg__lex_error(t, NULL, "an empty list needs a type: name: ints = []");
  }
  if (!*kind && surg__lex_at_number(t)) {
    if (!list_has_float(t, &floats)) return false;
    *kind = floats ? SURG_ATTR_FLOAT : SURG_ATTR_INT;
  }
  do {
    if (!surg__lex_at_number(t)) {
      if (!other_value(t, kind, true)) return false;
      continue;
    }
    if (!surg__lex_number(t, &v) || !emit_number(t, &v, *kind, true)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ']');
}

static bool value(surg__tparse *t, unsigned *kind) {
  surg__num v;
  surg_str s;
  const char *from = t->p;
  if (surg__lex_match(t, '[')) {
    if (*kind && !is_list(*kind)) return mismatch(t, from, *kind);
    unsigned one = single_of(*kind);
    if (!list_values(t, &one)) return false;
    *kind = list_of(one);
    return true;
  }
  if (surg__lex_match(t, '@')) {
    if (!surg__lex_quotable(t, &s, "the name of an attribute")) return false;
    surg__emit_str(t, 21, s);
    return true;
  }
  if (is_list(*kind)) return mismatch(t, from, *kind);
  if (!surg__lex_at_number(t)) return other_value(t, kind, false);
  if (!surg__lex_number(t, &v)) return false;
  if (!*kind) *kind = v.kind == SURG__NUM_INT ? SURG_ATTR_INT : SURG_ATTR_FLOAT;
  return emit_number(t, &v, *kind, false);
}

/* Parses the rest of an attribute, after its name was emitted. */
static bool attr_rest(surg__tparse *t, size_t start) {
  unsigned kind = 0;
  surg_str s;
  if (surg__lex_match(t, ':')) {
    if (!surg__lex_ident(t, &s)) return false;
    kind = surg__text_attr_kind_of(s.p, s.n);
    if (!kind)
      return surg__lex_error(t, s.p, "%s is not a type of attributes", surg__qn(t->ctx, s.p, s.n));
  }
  if (kind || surg__lex_peek(t) != '@') {
    if (!surg__lex_expect(t, '=') || (surg__lex_peek(t), !value(t, &kind))) return false;
    if (kind) surg__emit_int(t, 20, kind);
  }
  return surg__parse_suffix(t, ATTR, start);
}

static bool attr(surg__tparse *t, uint32_t number) {
  size_t at;
  surg_str s;
  if (!surg__emit_open(t, number, &at)) return false;
  if (!surg__lex_quotable(t, &s, "the name of an attribute")) return false;
  surg__emit_str(t, 1, s);
  if (!attr_rest(t, at)) return false;
  surg__emit_close(t, at);
  return !t->out->failed;
}

bool surg__parse_attrs(surg__tparse *t, uint32_t number) {
  if (!surg__lex_match(t, '<')) return true;
  if (surg__lex_match(t, '>')) return true;
  do {
    if (!attr(t, number)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, '>');
}

bool surg__parse_function_attrs(surg__tparse *t, uint32_t names, uint32_t protos) {
  surg_str s;
  if (!surg__lex_match(t, '<')) return true;
  if (surg__lex_match(t, '>')) return true;
  do {
    const char *from = t->p;
    if (!surg__lex_quotable(t, &s, "the name of an attribute")) return false;
    char c = surg__lex_peek(t);
    if (c == ',' || c == '>') {
      surg__emit_str(t, names, s);
      continue;
    }
    t->p = from;
    if (!attr(t, protos)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, '>');
}
