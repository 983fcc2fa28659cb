/* SPDX-License-Identifier: Apache-2.0 */
/* Explains messages of importers: finds the entries that match a text and expands their
 * templates. */
#include "target/messages.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/context.h"
#include "base/limits.h"

#define GROUPS 10
#define LINE_TOLD 240u /* most bytes of a line that are reported */

typedef struct search {
  const surg__messages *all;
  surg_context *ctx;
  const char *engine; /* or NULL */
  surg__explanations *out;
  bool general;       /* which entries are matched now */
  SURG_VEC(surg__explained) lenders; /* general entries; their strings are in the arena of `out` */
  const char *line;   /* the current one; NUL-terminated, without colours and control characters */
  size_t number;
  regmatch_t caught[GROUPS];
  surg_status failed;
} search;

/* How text of the message is quoted in an expanded template. */
typedef enum quoting { Q_NONE, Q_SHELL, Q_PIPELINE } quoting;

static bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         strchr("_./:-@+", c);
}

static void put_quoted(surg__buf *b, const char *p, size_t n, quoting how) {
  size_t i = 0;
  while (i < n && p[i] && plain(p[i])) i++;
  if (how == Q_NONE || (i == n && n > 0)) {
    surg__buf_put(b, p, n);
    return;
  }
  surg__buf_putc(b, how == Q_SHELL ? '\'' : '"');
  if (how == Q_PIPELINE) surg__buf_escape(b, p, n, 0);
  for (i = 0; how == Q_SHELL && i < n; i++)
    if (p[i] == '\'')
      surg__buf_puts(b, "'\\''");
    else
      surg__buf_putc(b, p[i]);
  surg__buf_putc(b, how == Q_SHELL ? '\'' : '"');
}

/* The value of the variable "$..." at p; *skip is the length of the variable. NULL: no such
 * variable, the text is kept. */
static const char *variable(const search *s, const surg__explained *e, const char *p, size_t *skip,
                            size_t *n) {
  if (p[1] >= '1' && p[1] <= '9') {
    const regmatch_t *m = &s->caught[p[1] - '0'];
    *skip = 2;
    *n = m->rm_so < 0 ? 0 : (size_t)(m->rm_eo - m->rm_so);
    return m->rm_so < 0 ? "" : s->line + m->rm_so;
  }
  const struct {
    const char *name, *is;
  } names[] = {{"$op", e->op}, {"$node", e->node}, {"$value", e->value}};
  for (size_t i = 0; i < SURG_COUNT(names); i++) {
    *skip = strlen(names[i].name);
    if (strncmp(p, names[i].name, *skip) != 0) continue;
    *n = names[i].is ? strlen(names[i].is) : 0;
    return names[i].is ? names[i].is : "";
  }
  return NULL;
}

/* The expanded template, in the arena of the result; NULL for NULL or out of memory. */
static const char *fill(search *s, const surg__explained *e, const char *text, quoting how) {
  if (!text || s->failed) return NULL;
  surg__buf b;
  surg__buf_init(&b, s->ctx);
  for (const char *p = text; *p;) {
    size_t skip, n;
    const char *is = *p == '$' ? variable(s, e, p, &skip, &n) : NULL;
    if (is) {
      put_quoted(&b, is, n, how);
      p += skip;
    } else {
      surg__buf_putc(&b, *p++);
    }
  }
  const char *r = b.failed ? NULL : surg__arena_strn(&s->out->arena, b.n ? b.p : "", b.n);
  surg__buf_free(&b);
  if (!r) s->failed = surg__oom(s->ctx, "messages");
  return r;
}

/* The expanded template; NULL if it is empty. */
static const char *fill_name(search *s, const surg__explained *e, const char *text) {
  const char *r = fill(s, e, text, Q_NONE);
  return r && r[0] ? r : NULL;
}

/* The ONNX name of an operator in a message: importers print "onnx_hardsigmoid", "Slice@ai.onnx",
 * "ai.onnx.Conv". */
static const char *spelling(search *s, const char *said) {
  if (!said) return NULL;
  const char *p = said;
  if (!strncmp(p, "onnx_", 5) || !strncmp(p, "onnx::", 6)) p += p[4] == '_' ? 5 : 6;
  if (!strncmp(p, "ai.onnx.", 8) && !strchr(p + 8, '.')) p += 8;
  size_t n = strcspn(p, "@");
  while (n > 0 && strchr(".,;:!?'\"`)]", p[n - 1])) n--; /* punctuation of the sentence */
  const char *word = surg__arena_strn(&s->out->arena, p, n);
  if (!word) {
    s->failed = surg__oom(s->ctx, "messages");
    return NULL;
  }
  if (surg_schema_find("", word, surg_schema_newest(""))) return word;
  for (size_t i = 0; i < surg__schema_count; i++) {
    const surg_schema *v = &surg__schemas[i];
    if (!surg_schema_domain(v)[0] && !strcasecmp(surg_schema_name(v), word))
      return surg_schema_name(v);
  }
  return word;
}

/* --- the target that describes a message --- */

/* The number that group 1 caught, for "#1". */
static json_t *number_of(const search *s, const char *text) {
  const regmatch_t *m = &s->caught[text[1] - '0'];
  return m->rm_so < 0 ? NULL : json_integer(strtoll(s->line + m->rm_so, NULL, 10));
}

static json_t *filled_json(search *s, const surg__explained *e, const json_t *j);

static json_t *filled_object(search *s, const surg__explained *e, const json_t *j) {
  json_t *r = json_object(), *v;
  const char *key;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const char *name = fill(s, e, key, Q_NONE);
    if (name) json_object_set_new(r, name, filled_json(s, e, v));
  }
  return r;
}

/* A copy of the JSON with its templates expanded; NULL if a part cannot be. The depth is bounded by
 * that of the entry. */
static json_t *filled_json(search *s, const surg__explained *e, const json_t *j) {
  if (json_is_object(j)) return filled_object(s, e, j);
  if (json_is_array(j)) {
    json_t *r = json_array();
    for (size_t i = 0; i < json_array_size(j); i++)
      json_array_append_new(r, filled_json(s, e, json_array_get(j, i)));
    return r;
  }
  if (!json_is_string(j)) return json_deep_copy(j);
  const char *text = json_string_value(j);
  if (text[0] == '#' && text[1] >= '1' && text[1] <= '9' && !text[2]) return number_of(s, text);
  text = fill(s, e, text, Q_NONE);
  return text ? json_string(text) : NULL;
}

static const char *fill_means(search *s, const surg__explained *e) {
  if (!e->message->means) return NULL;
  json_t *j = json_loads(e->message->means, 0, NULL);
  json_t *full = j ? filled_json(s, e, j) : NULL;
  json_object_set_new(full, "schema", json_integer(1));
  json_object_set_new(full, "name", json_string(e->message->id));
  json_object_set_new(full, "source", json_string("the message"));
  /* engines print names of all kinds of operators */
  json_object_set_new(full, "own", json_pack("[s]", "*"));
  char *text = full ? json_dumps(full, JSON_COMPACT) : NULL;
  const char *r = text ? surg__arena_strn(&s->out->arena, text, strlen(text)) : NULL;
  if (!r) s->failed = surg__oom(s->ctx, "messages");
  free(text);
  json_decref(full);
  json_decref(j);
  return r;
}

surg__target *surg__explained_target(surg_context *ctx, const surg__explained *e) {
  return e->means ? surg__target_read(ctx, e->means, strlen(e->means), e->message->id) : NULL;
}

/* --- one line --- */

/* Whether a message of `engine` may come from the engine the user names ("tensorrt-8.6", "trt").
 * Messages of the ONNX checker and the torch exporter may come from any. */
static bool may_be(const char *user, const char *engine) {
  const size_t n = strlen(engine);
  if (!user || !strcmp(engine, "onnx") || !strcmp(engine, "torch") || !strcmp(engine, "any"))
    return true;
  return !strncmp(user, engine, n) && (!user[n] || user[n] == '-');
}

static bool same(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool known_already(const search *s, const surg__explained *e) {
  const size_t n = s->general ? s->lenders.count : s->out->items.count;
  for (size_t i = 0; i < n; i++) {
    const surg__explained *o = s->general ? &s->lenders.items[i] : &s->out->items.items[i];
    if (o->message == e->message && same(o->op, e->op) && same(o->node, e->node) &&
        same(o->value, e->value) && same(o->cause, e->cause))
      return true;
  }
  return false;
}

/* The nearest general entry before the current line, or the first one after it; NULL: none. */
static const surg__explained *lender(const search *s) {
  const surg__explained *best = NULL;
  for (size_t i = 0; i < s->lenders.count && !s->general; i++)
    if (!best || s->lenders.items[i].number <= s->number) best = &s->lenders.items[i];
  return best;
}

int64_t surg__schema_first(const char *op) {
  int64_t first = 0;
  for (int64_t v = op ? surg_schema_newest("") : 0; v > 0; v--) {
    const surg_schema *schema = surg_schema_find("", op, v);
    if (!schema) continue;
    first = v = surg_schema_since(schema);
  }
  return first;
}

/* Replaces the cure if ONNX adds the operator in a later opset than the message names: the model
 * must be converted to that opset. */
static void note_newer(search *s, const surg__message *m, surg__explained *e) {
  const char *opset = fill(s, e, m->opset, Q_NONE);
  const int64_t first = opset && *opset ? surg__schema_first(e->op) : 0;
  char text[200], *end;
  if (first <= (opset ? strtoll(opset, &end, 10) : 0)) return;
  snprintf(text, sizeof text, "opset %.20s has no operator %.100s: ONNX has it from opset %lld on",
           opset, e->op, (long long)first);
  e->cause = fill(s, e, text, Q_NONE);
  snprintf(text, sizeof text, "onnxsurg --opset %lld $in $out", (long long)first);
  e->cure = fill(s, e, text, Q_SHELL);
  snprintf(text, sizeof text, "opset{to=%lld}", (long long)first);
  e->passes.n = 1;
  e->passes.items = surg__arena_array(&s->out->arena, 1, sizeof *e->passes.items);
  if (e->passes.items) e->passes.items[0] = fill(s, e, text, Q_PIPELINE);
}

static void add(search *s, const surg__message *m) {
  surg__explained e = {.message = m, .number = s->number};
  const surg__explained *from = lender(s);
  e.op = m->op || !from ? spelling(s, fill_name(s, &e, m->op)) : from->op;
  e.node = m->node || !from ? fill_name(s, &e, m->node) : from->node;
  e.value = m->value || !from ? fill_name(s, &e, m->value) : from->value;
  e.cause = fill(s, &e, m->cause, Q_NONE);
  if (s->failed || known_already(s, &e)) return;
  const size_t n = strlen(s->line);
  e.line = surg__arena_strn(&s->out->arena, s->line, n < LINE_TOLD ? n : LINE_TOLD);
  e.cure = fill(s, &e, m->cure, Q_SHELL);
  e.means = fill_means(s, &e);
  e.passes.n = m->passes.n;
  e.passes.items = surg__arena_array(&s->out->arena, m->passes.n + 1, sizeof *e.passes.items);
  for (size_t i = 0; e.passes.items && i < m->passes.n; i++)
    e.passes.items[i] = fill(s, &e, m->passes.items[i], Q_PIPELINE);
  if (m->opset) note_newer(s, m, &e);
  if (s->failed) return;
  if (!e.line || !e.passes.items ||
      !(s->general ? surg__vec_push(s->ctx, &s->lenders, e)
                   : surg__vec_push(s->ctx, &s->out->items, e)))
    s->failed = surg__oom(s->ctx, "messages");
}

static void explain_line(search *s) {
  for (size_t i = 0; i < s->all->items.count; i++) {
    const surg__message *m = s->all->items.items[i];
    if (m->general != s->general || !may_be(s->engine, m->engine)) continue;
    if (regexec(&m->regex, s->line, GROUPS, s->caught, 0) != 0) continue;
    add(s, m);
    return;
  }
}

/* --- a text --- */

/* Copies a line without terminal colour sequences; other control characters become blanks. Returns
 * its length, at most SURG_LIMIT_MESSAGE_LINE. */
static size_t clean(char *to, const char *p, size_t n) {
  size_t k = 0;
  for (size_t i = 0; i < n && k < SURG_LIMIT_MESSAGE_LINE; i++) {
    if (p[i] == '\x1b' && i + 1 < n && p[i + 1] == '[') {
      for (i += 2; i < n && (p[i] < '@' || p[i] > '~');) i++;
      continue;
    }
    to[k++] = (unsigned char)p[i] < ' ' || p[i] == 0x7f ? ' ' : p[i];
  }
  to[k] = 0;
  return k;
}

static void explain_lines(search *s, char *line, const char *text, size_t n) {
  s->number = 0;
  for (size_t at = 0; at < n && !s->failed; ) {
    const char *end = memchr(text + at, '\n', n - at);
    const size_t length = end ? (size_t)(end - text) - at : n - at;
    s->number++;
    if (clean(line, text + at, length) && s->lenders.count < SURG_LIMIT_EXPLAINED &&
        s->out->items.count < SURG_LIMIT_EXPLAINED)
      explain_line(s);
    at += length + 1;
  }
}

surg_status surg__messages_explain(const surg__messages *all, const char *text, size_t n,
                                   const char *engine, surg__explanations *out) {
  search s = {.all = all, .ctx = all->ctx, .engine = engine, .out = out, .general = true};
  char *line = surg__alloc(all->ctx, SURG_LIMIT_MESSAGE_LINE + 1);
  *out = (surg__explanations){0};
  surg__arena_init(&out->arena, all->ctx);
  if (!line) return surg__oom(all->ctx, "messages");
  if (n > SURG_LIMIT_MESSAGE_TEXT) n = SURG_LIMIT_MESSAGE_TEXT;
  s.line = line;
  explain_lines(&s, line, text, n);
  s.general = false;
  explain_lines(&s, line, text, n);
  if (!out->items.count && engine && !s.failed) { /* engines share parsers and messages */
    s.engine = NULL;
    explain_lines(&s, line, text, n);
  }
  if (!out->items.count && !s.failed && n) { /* a message may be wrapped at the width of a
                                              * terminal */
    s.number = 1;
    clean(line, text, n);
    explain_line(&s);
  }
  for (size_t i = 0; i < s.lenders.count && !s.failed && out->items.count == i; i++)
    if (!surg__vec_push(s.ctx, &out->items, s.lenders.items[i]))
      s.failed = surg__oom(s.ctx, "messages");
  surg__vec_free(s.ctx, &s.lenders);
  surg__free(all->ctx, line);
  return s.failed;
}

void surg__explanations_free(surg__explanations *e) {
  if (!e->arena.ctx) return;
  surg__vec_free(e->arena.ctx, &e->items);
  surg__arena_free(&e->arena);
}
