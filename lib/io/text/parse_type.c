/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of ONNX text: types and tensors. */
#include "io/text/codec.h"

#define TENSOR &onnx__tensor_proto__descriptor

/* --- types --- */

static bool dim(surg__tparse *t) {
  size_t at;
  int64_t v = 0;
  surg_str s;
  if (!surg__emit_open(t, 1, &at)) return false;
  if (surg__lex_match(t, '?')) {
    t->numeric = false;
  } else if (surg__lex_at_ident(t) || surg__lex_peek(t) == '"') {
    t->numeric = false;
    if (!surg__lex_quotable(t, &s, "a dimension")) return false;
    surg__emit_str(t, 2, s);
  } else {
    if (!surg__lex_i64(t, &v)) return false;
    surg__emit_int(t, 1, v);
    if (!surg__vec_push(t->ctx, &t->dims, v)) return false;
  }
  if (!surg__parse_suffix(t, &onnx__tensor_shape_proto__dimension__descriptor, at)) return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses `[dims]` after the element type; emits the content of TypeProto.Tensor. */
static bool tensor_type(surg__tparse *t, int dtype) {
  size_t at;
  t->dims.count = 0;
  t->shaped = t->numeric = true;
  t->tensor_word = false;
  surg__emit_int(t, 1, dtype);
  if (surg__lex_peek(t) == '[') {
    const char *open = t->p++;
    if (surg__lex_match(t, ']')) {
      t->shaped = false;
      return true;
    }
    t->p = open;
  }
  if (!surg__emit_open(t, 2, &at)) return false;
  if (surg__lex_match(t, '[')) {
    do {
      if (!dim(t)) return false;
    } while (surg__lex_match(t, ','));
    if (!surg__lex_expect(t, ']')) return false;
  }
  surg__emit_close(t, at);
  return true;
}

static bool element(surg__tparse *t, int *dtype) {
  surg_str s;
  if (!surg__lex_ident(t, &s)) return false;
  *dtype = surg__dtype_from_name(s.p, s.n);
  if (*dtype) return true;
  return surg__lex_error(t, s.p, "%s is not an element type", surg__qn(t->ctx, s.p, s.n));
}

static bool inner_type(surg__tparse *t, uint32_t number) {
  size_t at;
  if (!surg__emit_open(t, number, &at) || !surg__parse_type(t)) return false;
  surg__emit_close(t, at);
  return true;
}

/* Parses a dotted name into t->t. */
static bool qualified(surg__tparse *t) {
  surg_str s;
  t->t.n = 0;
  do {
    if (t->t.n) surg__buf_putc(&t->t, '.');
    if (!surg__lex_quotable(t, &s, "a name")) return false;
    surg__buf_put(&t->t, s.p, s.n);
  } while (surg__lex_match(t, '.'));
  return !t->t.failed;
}

static bool opaque(surg__tparse *t) {
  surg_str s;
  if (surg__lex_peek(t) == ')') return true;
  if (!qualified(t)) return false;
  bool two = surg__lex_match(t, ',');
  surg__emit_str(t, two ? 1 : 2, (surg_str){t->t.p, t->t.n});
  if (!two) return true;
  if (!surg__lex_quotable(t, &s, "a name")) return false;
  surg__emit_str(t, 2, s);
  return true;
}

/* Parses the part in parentheses of a type; emits the content of the member. */
static bool in_parens(surg__tparse *t, uint32_t number) {
  int dtype;
  switch (number) {
    case 8:
      return element(t, &dtype) && tensor_type(t, dtype);
    case 5:
      if (!element(t, &dtype)) return false;
      surg__emit_int(t, 1, dtype);
      return surg__lex_expect(t, ',') && inner_type(t, 2);
    case 7:
      return opaque(t);
    default:
      return inner_type(t, 1);
  }
}

static bool member(surg__tparse *t, uint32_t number) {
  size_t at;
  if (!surg__lex_expect(t, '(') || !surg__emit_open(t, number, &at)) return false;
  if (!in_parens(t, number) || !surg__lex_expect(t, ')')) return false;
  surg__emit_close(t, at);
  return true;
}

bool surg__parse_type(surg__tparse *t) {
  static const struct {
    const char *word;
    uint32_t number;
  } members[] = {{"seq", 4}, {"map", 5}, {"optional", 9}, {"sparse_tensor", 8}, {"opaque", 7}};
  size_t start = t->out->n, at;
  surg_str s;
  if (!surg__lex_ident(t, &s)) return false;
  int dtype = surg__dtype_from_name(s.p, s.n);
  bool word = surg__text_word(s.p, s.n, "tensor_proto");
  uint32_t number = 0;
  for (size_t i = 0; i < SURG_COUNT(members); i++)
    if (surg__text_word(s.p, s.n, members[i].word)) number = members[i].number;
  if (dtype) {
    if (!surg__emit_open(t, 1, &at) || !tensor_type(t, dtype)) return false;
    surg__emit_close(t, at);
  } else if (number) {
    if (!member(t, number)) return false;
  } else if (!word && !surg__text_word(s.p, s.n, "type_proto")) {
    return surg__lex_error(t, s.p, "%s is not a type", surg__qn(t->ctx, s.p, s.n));
  }
  if (surg__lex_peek(t) == '@') dtype = 0; /* a type before '@' is not the type of a tensor */
  if (!word && !surg__parse_suffix(t, &onnx__type_proto__descriptor, start)) return false;
  t->dtype = dtype;
  t->tensor_word = word;
  if (word) t->dims.count = 0;
  return true;
}

/* --- tensors --- */

/* Parses one element of a typed list; emits it without a tag. */
static bool typed_element(surg__tparse *t, int dtype, uint32_t list) {
  surg__num n;
  uint32_t f;
  uint64_t u;
  int64_t i;
  if (!surg__lex_number(t, &n)) return false;
  switch (list) {
    case 4:
      if (!surg__num_float(t, &n, &f)) return false;
      surg__emit_fixed32(t, f);
      return true;
    case 10:
      if (!surg__num_double(t, &n, &u)) return false;
      surg__emit_fixed64(t, u);
      return true;
    case 11:
      if (!surg__num_u64(t, &n, &u)) return false;
      surg__emit_varint(t, u);
      return true;
    default:
      if (!surg__num_i64(t, &n, &i)) return false;
      if (list == 5 && (i < INT32_MIN || i > INT32_MAX))
        return surg__lex_error(t, n.at, "out of range of %s", surg__dtype_name(dtype));
      surg__emit_varint(t, (uint64_t)i);
      return true;
  }
}

static bool typed_values(surg__tparse *t, int dtype) {
  uint32_t list = surg__text_list_field(dtype);
  size_t at = 0;
  surg_str s;
  if (surg__lex_match(t, '}')) return true;
  if (!list) return surg__lex_error(t, NULL, "values need an element type");
  if (dtype != SURG_STRING) at = surg__emit_open_bytes(t, list);
  do {
    if (dtype != SURG_STRING) {
      if (!typed_element(t, dtype, list)) return false;
      continue;
    }
    if (!surg__lex_string(t, &s)) return false;
    surg__emit_str(t, list, s);
  } while (surg__lex_match(t, ','));
  if (dtype != SURG_STRING) surg__emit_close_bytes(t, at);
  return surg__lex_expect(t, '}');
}

static bool raw_element(surg__tparse *t, int dtype) {
  surg__num n;
  uint32_t f;
  uint64_t u;
  int64_t i;
  unsigned bits = surg__dtype_bits(dtype);
  if (!surg__lex_number(t, &n)) return false;
  if (dtype == SURG_FLOAT) {
    if (!surg__num_float(t, &n, &f)) return false;
    u = f;
  } else if (dtype == SURG_DOUBLE || dtype == SURG_UINT64) {
    if (!(dtype == SURG_DOUBLE ? surg__num_double(t, &n, &u) : surg__num_u64(t, &n, &u)))
      return false;
  } else {
    if (!surg__num_i64(t, &n, &i)) return false;
    bool is_signed = surg__dtype_is_signed_int(dtype);
    if (bits < 64 && (i < (is_signed ? -(INT64_C(1) << (bits - 1)) : 0) ||
                      i >= INT64_C(1) << (is_signed ? bits - 1 : bits)))
      return surg__lex_error(t, n.at, "out of range of %s", surg__dtype_name(dtype));
    u = (uint64_t)i;
  }
  for (unsigned b = 0; b < bits; b += 8) surg__buf_putc(t->out, (char)(u >> b));
  return true;
}

static bool raw_values(surg__tparse *t, int dtype) {
  bool small_float = surg__dtype_is_float(dtype) && dtype != SURG_FLOAT && dtype != SURG_DOUBLE;
  unsigned bits = surg__dtype_bits(dtype);
  size_t at = surg__emit_open_bytes(t, 9);
  if (!surg__lex_expect(t, '{')) return false;
  if (!surg__lex_match(t, '}')) {
    if (bits < 8 || bits > 64 || small_float || dtype == SURG_COMPLEX64)
      return surg__lex_error(t, NULL, "raw values of this element type are written 0x...");
    do {
      if (!raw_element(t, dtype)) return false;
    } while (surg__lex_match(t, ','));
    if (!surg__lex_expect(t, '}')) return false;
  }
  surg__emit_close_bytes(t, at);
  return true;
}

static bool data(surg__tparse *t, int dtype) {
  surg_str s;
  if (surg__lex_match(t, '{')) return typed_values(t, dtype);
  if (surg__lex_peek(t) == '[') {
    if (!surg__parse_pairs(t, 13)) return false;
    surg__emit_int(t, 14, 1);
    return true;
  }
  if (surg__lex_at_hex(t)) {
    size_t at = surg__emit_open_bytes(t, 9);
    if (!surg__lex_hex(t, t->out)) return false;
    surg__emit_close_bytes(t, at);
    return true;
  }
  if (surg__lex_peek_ident(t, &s) && surg__text_word(s.p, s.n, "raw")) {
    t->p += s.n;
    return raw_values(t, dtype);
  }
  return surg__lex_error(t, NULL, "expected the values of a tensor");
}

bool surg__parse_tensor_data(surg__tparse *t, size_t start) {
  int dtype = t->dtype;
  if (!t->tensor_word) {
    if (!dtype) return surg__lex_error(t, NULL, "a tensor needs the type of a tensor");
    if (!t->shaped || !t->numeric)
      return surg__lex_error(t, NULL, "a tensor needs a shape of numbers");
    for (size_t i = 0; i < t->dims.count; i++) surg__emit_int(t, 1, t->dims.items[i]);
    surg__emit_int(t, 2, dtype);
  }
  return data(t, dtype) && surg__parse_suffix(t, TENSOR, start);
}

bool surg__parse_tensor_tail(surg__tparse *t, size_t start) {
  surg_str s;
  if (surg__lex_at_ident(t) || surg__lex_peek(t) == '"') {
    if (!surg__lex_quotable(t, &s, "a name")) return false;
    surg__emit_str(t, 8, s);
  }
  (void)surg__lex_match(t, '=');
  return surg__parse_tensor_data(t, start);
}

bool surg__parse_tensor(surg__tparse *t) {
  size_t start = t->out->n;
  if (!surg__parse_type(t)) return false;
  t->out->n = start; /* only the element type and dims of the TypeProto are needed */
  return surg__parse_tensor_tail(t, start);
}
