/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as text, without a graph around them, whose inputs may be literals:
 * `y = Div (x, 255.0)`, `z = Reshape (y, [1, -1])`, `w = Add (z, float16[2] {1, 2})`. */
#include <stdio.h>

#include "io/io.h"
#include "io/text/codec.h"

#define TENSOR_DIMS 1
#define TENSOR_TYPE 2
#define TENSOR_INT64 7
#define TENSOR_NAME 8
#define TENSOR_DOUBLE 10
#define GRAPH_INITIALIZER 5

typedef struct list {
  SURG_VEC(surg__num) items;
  bool real, list;
} list;

bool surg__at_literal(surg__tparse *t) {
  surg_str s;
  const char c = surg__lex_peek(t);
  if ((c >= '0' && c <= '9') || c == '-' || c == '[' || c == '{') return true;
  return surg__lex_peek_ident(t, &s) && surg__text_is_type_word(s.p, s.n);
}

static bool number(surg__tparse *t, list *l) {
  surg__num v;
  int64_t i;
  if (!surg__lex_number(t, &v)) return false;
  if (v.kind != SURG__NUM_INT)
    l->real = true;
  else if (!surg__num_i64(t, &v, &i))
    return false;
  if (surg__vec_push(t->ctx, &l->items, v)) return true;
  t->status = surg__oom(t->ctx, t->name);
  return false;
}

/* Parses `1`, `[1, 2]` or `{1, 2}`. */
static bool numbers(surg__tparse *t, list *l) {
  const char end = surg__lex_match(t, '[') ? ']' : surg__lex_match(t, '{') ? '}' : 0;
  if (!end) return number(t, l);
  l->list = true;
  if (surg__lex_match(t, end)) return true;
  do {
    if (!number(t, l)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, end);
}

static bool put_number(surg__tparse *t, const list *l, const surg__num *v) {
  int64_t i;
  uint64_t bits;
  if (l->real) {
    if (!surg__num_double(t, v, &bits)) return false;
    surg__emit_fixed64(t, bits);
    return true;
  }
  if (!surg__num_i64(t, v, &i)) return false;
  surg__emit_varint(t, (uint64_t)i);
  return true;
}

/* A literal without an element type. */
static bool open_literal(surg__tparse *t) {
  list l = {0};
  bool ok = numbers(t, &l);
  if (ok && l.list) surg__emit_int(t, TENSOR_DIMS, (int64_t)l.items.count);
  if (ok) surg__emit_int(t, TENSOR_TYPE, l.real ? SURG_DOUBLE : SURG_INT64);
  const size_t at = surg__emit_open_bytes(t, l.real ? TENSOR_DOUBLE : TENSOR_INT64);
  for (size_t i = 0; i < l.items.count && ok; i++) ok = put_number(t, &l, &l.items.items[i]);
  surg__emit_close_bytes(t, at);
  surg__vec_free(t->ctx, &l.items);
  return ok;
}

bool surg__parse_literal(surg__tparse *t) {
  char name[32];
  surg_str s;
  surg__buf *out = t->out;
  const bool typed = surg__lex_peek_ident(t, &s);
  const int n = snprintf(name, sizeof name, "%s%u",
                         typed ? SURG__LITERAL_TYPED : SURG__LITERAL_OPEN, t->n_literals++);
  size_t at;
  t->out = t->literals;
  bool ok = surg__emit_open(t, GRAPH_INITIALIZER, &at);
  ok = ok && (typed ? surg__parse_tensor(t) : open_literal(t));
  if (ok) surg__emit_str(t, TENSOR_NAME, (surg_str){name, (size_t)n});
  if (ok) surg__emit_close(t, at);
  t->out = out;
  if (ok) surg__emit_str(t, 1, (surg_str){name, (size_t)n});
  return ok;
}

surg_status surg__text_parse_fragment(surg_context *ctx, const char *text, size_t n,
                                      const char *name, const surg__buf *head, surg__buf *wire) {
  surg__buf literals;
  surg__buf_init(&literals, ctx);
  surg__tparse t = {.ctx = ctx,
                    .name = name,
                    .start = text,
                    .p = text,
                    .end = text + n,
                    .out = wire,
                    .depth = 1,
                    .literals = &literals};
  surg__buf_init(&t.s, ctx);
  surg__buf_init(&t.t, ctx);
  size_t at = 0;
  surg__buf_put(wire, head->p, head->n);
  bool ok = surg__emit_open(&t, 7, &at);
  if (ok) surg__emit_str(&t, 2, (surg_str){"text", 4});
  ok = ok && surg__parse_nodes_only(&t, 1);
  if (ok) surg__buf_put(wire, literals.p, literals.n);
  if (ok) surg__emit_close(&t, at);
  if (!t.status && (!ok || wire->failed || literals.failed)) t.status = surg__oom(ctx, name);
  surg__buf_free(&literals);
  surg__buf_free(&t.s);
  surg__buf_free(&t.t);
  surg__vec_free(ctx, &t.dims);
  return t.status;
}
