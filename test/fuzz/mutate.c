/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations of models in ONNX text, for libFuzzer. Random bytes mostly make a text that does not
 * parse, and the passes after the parser see nothing new. These mutations work on tokens and lines:
 * operators, names, numbers, element types, nodes and attributes are exchanged or added, so that
 * most results parse, and many load. Bytes that are not ONNX text, and one text in eight, get the
 * mutations of libFuzzer. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "schema/schema.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb,
                                 uint8_t *out, size_t max, unsigned seed);

enum { TOKENS = 4096, NAME = 64, STATEMENT = 512, BYTES_EVERY = 8, EDITS = 4 };

typedef enum kind { WORD, NUMBER, STRING, PUNCTUATION } kind;

typedef struct token {
  size_t off, len;
  kind kind;
} token;

typedef struct text {
  char *p;
  size_t n, max;
  uint32_t random;
  size_t n_tokens;
  token tokens[TOKENS];
} text;

static uint32_t next(text *t, size_t below) {
  t->random ^= t->random << 13;
  t->random ^= t->random >> 17;
  t->random ^= t->random << 5;
  return below ? t->random % (uint32_t)below : 0;
}

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static size_t string_end(const text *t, size_t at) {
  for (at++; at < t->n && t->p[at] != '"'; at++)
    if (t->p[at] == '\\') at++;
  return at < t->n ? at + 1 : t->n;
}

static void tokenize(text *t) {
  t->n_tokens = 0;
  for (size_t i = 0, end; i < t->n && t->n_tokens < TOKENS; i = end) {
    const char c = t->p[i];
    end = i + 1;
    if (isspace((unsigned char)c)) continue;
    kind k = PUNCTUATION;
    if (c == '"') {
      end = string_end(t, i);
      k = STRING;
    } else if (in_word(c) || c == '-') {
      while (end < t->n && in_word(t->p[end])) end++;
      k = c == '-' || isdigit((unsigned char)c) ? NUMBER : WORD;
    }
    t->tokens[t->n_tokens++] = (token){i, end - i, k};
  }
}

/* A random token of a kind, from a random place on; NULL: there is none. */
static token *pick(text *t, kind k) {
  if (t->n_tokens == 0) return NULL;
  const size_t first = next(t, t->n_tokens);
  for (size_t i = 0; i < t->n_tokens; i++) {
    token *at = &t->tokens[(first + i) % t->n_tokens];
    if (at->kind == k) return at;
  }
  return NULL;
}

/* Replaces n bytes at `off`; nothing if the result is too long. Tokens are stale afterwards. */
static void splice(text *t, size_t off, size_t n, const char *with, size_t m) {
  if (t->n - n + m > t->max) return;
  memmove(t->p + off + m, t->p + off + n, t->n - off - n);
  memcpy(t->p + off, with, m);
  t->n = t->n - n + m;
}

static void put(text *t, const token *at, const char *with) {
  splice(t, at->off, at->len, with, strlen(with));
}

static char at(const text *t, const token *k) {
  return k < t->tokens + t->n_tokens ? t->p[k->off] : 0;
}

/* --- pieces --- */
static const char *number(text *t) {
  static const char *const numbers[] = {
      "0",    "1",     "-1",    "2",          "3",          "4",   "5",    "6",
      "7",    "8",     "9",     "10",         "11",         "12",  "13",   "14",
      "16",   "17",    "18",    "19",         "20",         "21",  "22",   "23",
      "24",   "-2",    "-3",    "-5",         "64",         "127", "255",  "65536",
      "0.5",  "-1.5",  "1e-30", "3e38",       "2147483647", "inf", "-inf", "nan",
      "1e-5", "32767", "-128",  "-2147483648", "4294967296", "9223372036854775807",
      "-9223372036854775808"};
  return numbers[next(t, sizeof numbers / sizeof *numbers)];
}

static const char *type(text *t) {
  static const char *const types[] = {"float", "double", "float16", "bfloat16", "int64", "int32",
                                      "int16", "int8",   "uint64",  "uint32",   "uint8", "bool",
                                      "string", "int4",  "uint4",   "float8e4m3fn"};
  return types[next(t, sizeof types / sizeof *types)];
}

static bool is_type(const text *t, const token *k) {
  static const char *const starts[] = {"float", "double", "int", "uint", "bool", "bfloat", "string"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (k->len >= strlen(starts[i]) && memcmp(t->p + k->off, starts[i], strlen(starts[i])) == 0)
      return true;
  return false;
}

/* The name of a random word of the text, mostly of a value. */
static void word(text *t, char name[NAME]) {
  const token *k = pick(t, WORD);
  for (int i = 0; k && i < 4 && is_type(t, k); i++) k = pick(t, WORD);
  snprintf(name, NAME, "%.*s", k ? (int)k->len : 1, k ? t->p + k->off : "x");
}

static const surg_schema *schema(text *t) {
  return &surg__schemas[next(t, surg__schema_count)];
}

/* Writes an attribute of an operator; returns its length, 0: the operator has none. */
static size_t attribute(text *t, const surg_schema *s, char *out, size_t room) {
  if (s->n_attrs == 0) return 0;
  const surg__attr_def *a = &s->attrs[next(t, s->n_attrs)];
  const char *x = number(t), *y = number(t);
  char name[NAME];
  word(t, name);
  int n = 0;
  switch (a->kind) {
    case SURG_ATTR_INT:
    case SURG_ATTR_FLOAT: n = snprintf(out, room, "%s = %s", a->name, x); break;
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS: n = snprintf(out, room, "%s = [%s, %s]", a->name, x, y); break;
    case SURG_ATTR_STRING:
      n = snprintf(out, room, "%s = \"%s\"", a->name, a->s && next(t, 2) ? a->s : name);
      break;
    case SURG_ATTR_TENSOR:
      n = snprintf(out, room, "%s = %s[2] {%s, %s}", a->name, type(t), x, y);
      break;
    case SURG_ATTR_GRAPH:
      n = snprintf(out, room, "%s = g () => (%s) { %s = Identity (%s) }", a->name, name, name, name);
      break;
    default: break;
  }
  return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Writes a node with inputs of the text; returns its length. Its output may hide another one. */
static size_t statement(text *t, char *out, size_t room) {
  const surg_schema *s = schema(t);
  char name[NAME];
  word(t, name);
  size_t n = (size_t)snprintf(out, room, "  %s%s = %s%s%s ", name, next(t, 4) ? "_" : "", s->domain,
                              *s->domain ? "." : "", s->name);
  char attr[STATEMENT / 2];
  const size_t m = next(t, 2) ? attribute(t, s, attr, sizeof attr) : 0;
  if (m) n += (size_t)snprintf(out + n, room - n, "<%s> ", attr);
  const size_t most = s->max_in > 3 ? 3 : s->max_in;
  size_t inputs = s->min_in + next(t, most > s->min_in ? most - s->min_in + 1 : 1);
  if (inputs > 5) inputs = 5;
  for (size_t i = 0; i < inputs && n + NAME + 4 < room; i++) {
    word(t, name);
    n += (size_t)snprintf(out + n, room - n, "%s%s", i ? ", " : "(", name);
  }
  if (n + 3 < room) n += (size_t)snprintf(out + n, room - n, inputs ? ")\n" : "()\n");
  return n;
}

/* --- edits --- */
/* The line around a random token. */
static void line(text *t, size_t *from, size_t *to) {
  *from = *to = t->n_tokens ? t->tokens[next(t, t->n_tokens)].off : 0;
  while (*from > 0 && t->p[*from - 1] != '\n') --*from;
  while (*to < t->n && t->p[*to] != '\n') ++*to;
  if (*to < t->n) ++*to;
}

static void edit_operator(text *t) {
  for (int i = 0; i < 16; i++) {
    token *k = pick(t, WORD);
    if (!k || (at(t, k + 1) != '(' && at(t, k + 1) != '<') || k == t->tokens) continue;
    if (at(t, k - 1) != '=') continue;
    char name[NAME];
    const surg_schema *s = schema(t);
    snprintf(name, sizeof name, "%s%s%s", s->domain, *s->domain ? "." : "", s->name);
    put(t, k, name);
    return;
  }
}

static void edit_attribute(text *t) {
  char attr[STATEMENT / 2], all[STATEMENT];
  for (int i = 0; i < 16; i++) {
    token *k = pick(t, WORD);
    if (!k || k == t->tokens || at(t, k - 1) != '=' || at(t, k + 1) != '(') continue;
    for (size_t v = 0; v < surg__schema_count; v++) {
      const surg_schema *s = &surg__schemas[v];
      if (strlen(s->name) != k->len || memcmp(s->name, t->p + k->off, k->len) != 0) continue;
      if (!attribute(t, s, attr, sizeof attr)) break;
      snprintf(all, sizeof all, " <%s>", attr);
      splice(t, k->off + k->len, 0, all, strlen(all));
      return;
    }
  }
}

static void edit_line(text *t, unsigned how) {
  char copy[STATEMENT];
  size_t from, to, other, end;
  line(t, &from, &to);
  if (to - from > sizeof copy) return;
  memcpy(copy, t->p + from, to - from);
  line(t, &other, &end);
  if (how == 0) {
    splice(t, from, to - from, "", 0);
  } else if (how == 1) {
    splice(t, other, 0, copy, to - from);
  } else if (other > to) { /* moved down */
    splice(t, other, 0, copy, to - from);
    splice(t, from, to - from, "", 0);
  } else {
    splice(t, other, end - other, copy, to - from);
  }
}

static void edit_statement(text *t) {
  char made[STATEMENT];
  size_t from, to;
  const size_t n = statement(t, made, sizeof made);
  line(t, &from, &to);
  if (n < sizeof made) splice(t, to, 0, made, n);
}

static void edit_word(text *t) {
  char name[NAME];
  word(t, name);
  token *k = pick(t, WORD);
  if (k) put(t, k, is_type(t, k) ? type(t) : name);
}

static void edit_number(text *t) {
  token *k = pick(t, NUMBER);
  if (k) put(t, k, number(t));
}

/* A list loses an entry, or an argument becomes absent. */
static void edit_entry(text *t) {
  for (int i = 0; i < 16; i++) {
    token *k = pick(t, next(t, 2) ? WORD : NUMBER);
    if (!k || k == t->tokens) continue;
    if (at(t, k + 1) == ',' && next(t, 2)) {
      splice(t, k->off, k[1].off + 1 - k->off, "", 0);
      return;
    }
    if (at(t, k - 1) == ',' || at(t, k - 1) == '(') {
      put(t, k, "\"\"");
      return;
    }
  }
}

static void edit(text *t) {
  tokenize(t);
  switch (next(t, 10)) {
    case 0: edit_operator(t); break;
    case 1: edit_attribute(t); break;
    case 2: edit_statement(t); break;
    case 3:
    case 4: edit_word(t); break;
    case 5:
    case 6: edit_number(t); break;
    case 7: edit_entry(t); break;
    default: edit_line(t, next(t, 3));
  }
}

static bool is_text(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n && i < 256; i++)
    if (p[i] == 0 || p[i] > 126) return false;
  return n > 0;
}

static text scratch;

static void begin(text *t, unsigned seed) {
  t->random = (uint32_t)seed * 2654435761u | 1;
  next(t, 0);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
  text *t = &scratch;
  begin(t, seed);
  if (!is_text(data, size) || next(t, BYTES_EVERY) == 0) return LLVMFuzzerMutate(data, size, max);
  t->p = (char *)data;
  t->n = size;
  t->max = max;
  for (size_t i = 1 + next(t, EDITS); i > 0 && t->n > 0; i--) edit(t);
  return t->n ? t->n : size;
}

/* The first text with some lines of the second. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb,
                                 uint8_t *out, size_t max, unsigned seed) {
  static char other[1 << 16];
  text *t = &scratch;
  begin(t, seed);
  if (na > max || nb > sizeof other || nb == 0) return 0;
  memcpy(other, b, nb);
  t->p = other;
  t->n = nb;
  t->max = sizeof other;
  tokenize(t);
  size_t from, to;
  line(t, &from, &to);
  for (size_t more = next(t, 3); more > 0 && to < nb; more--) {
    while (to < nb && other[to] != '\n') to++;
    if (to < nb) to++;
  }
  memcpy(out, a, na);
  t->p = (char *)out;
  t->n = na;
  t->max = max;
  tokenize(t);
  size_t start, end;
  line(t, &start, &end);
  splice(t, end, 0, other + from, to - from);
  return t->n;
}
