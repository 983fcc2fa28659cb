/* SPDX-License-Identifier: Apache-2.0 */
/* Reads known messages from JSON (doc/messages.md). Unknown keys are errors, and each pattern must
 * match its sample messages (`seen`). */
#include <stdio.h>

#include "base/context.h"
#include "base/json.h"
#include "base/limits.h"
#include "target/messages.h"

typedef struct reader {
  surg__messages *all;
  surg_context *ctx;
  const char *file;
} reader;

static surg_status bad(const reader *r, const char *where, const char *what) {
  return surg__error(r->ctx, SURG_EINVALID, r->file, "%s: %s", surg__q(r->ctx, where), what);
}

static surg_status copy(const reader *r, const json_t *j, const char *where, const char **out) {
  if (!json_is_string(j)) return bad(r, where, "must be a string");
  *out = surg__arena_strn(&r->all->arena, json_string_value(j), json_string_length(j));
  return *out ? SURG_OK : surg__oom(r->ctx, r->file);
}

static surg_status copy_list(const reader *r, const json_t *j, const char *where,
                             surg__tlist *out) {
  if (!json_is_array(j)) return bad(r, where, "must be a list");
  out->n = json_array_size(j);
  out->items = surg__arena_array(&r->all->arena, out->n + 1, sizeof *out->items);
  if (!out->items) return surg__oom(r->ctx, r->file);
  for (size_t i = 0; i < out->n; i++) {
    const surg_status s = copy(r, json_array_get(j, i), where, &out->items[i]);
    if (s) return s;
  }
  return SURG_OK;
}

static surg_status copy_means(const reader *r, const json_t *j, const char **out) {
  if (!json_is_object(j)) return bad(r, "means", "must be an object");
  char *text = json_dumps(j, JSON_COMPACT);
  *out = text ? surg__arena_strn(&r->all->arena, text, strlen(text)) : NULL;
  free(text);
  return *out ? SURG_OK : surg__oom(r->ctx, r->file);
}

static bool is_one_of(const char *s, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(s, words[i])) return true;
  return false;
}

static surg_status read_key(const reader *r, const char *key, const json_t *j, surg__message *m) {
  static const char *const whens[] = {"import", "export", "run"};
  static const char *const consents[] = {"approx", "lossy", "interface"};
  const struct {
    const char *key;
    const char **to;
  } texts[] = {{"id", &m->id},       {"engine", &m->engine}, {"versions", &m->versions},
               {"when", &m->when},   {"pattern", &m->pattern}, {"op", &m->op},
               {"node", &m->node},   {"value", &m->value},   {"cause", &m->cause},
               {"opset", &m->opset},
               {"cure", &m->cure},   {"allow", &m->allow},   {"target", &m->target},
               {"refs", &m->refs}};
  surg_status s = SURG_OK;
  for (size_t i = 0; i < SURG_COUNT(texts); i++) {
    if (strcmp(texts[i].key, key) != 0) continue;
    s = copy(r, j, key, texts[i].to);
    if (!s && texts[i].to == &m->when && !is_one_of(m->when, whens, SURG_COUNT(whens)))
      return bad(r, key, "must be import, export or run");
    if (!s && texts[i].to == &m->allow && !is_one_of(m->allow, consents, SURG_COUNT(consents)))
      return bad(r, key, "must be approx, lossy or interface");
    return s;
  }
  if (!strcmp(key, "passes")) return copy_list(r, j, key, &m->passes);
  if (!strcmp(key, "checks")) return copy_list(r, j, key, &m->checks);
  if (!strcmp(key, "seen")) return copy_list(r, j, key, &m->seen);
  if (!strcmp(key, "means")) return copy_means(r, j, &m->means);
  if (!strcmp(key, "general")) {
    m->general = json_is_true(j);
    return json_is_boolean(j) ? SURG_OK : bad(r, key, "must be true or false");
  }
  return bad(r, key, "no message has such a key (doc/messages.md lists them)");
}

/* Whether a pattern has back references ("\1"), which make matching exponential. */
static bool refers_back(const char *pattern) {
  for (const char *p = pattern; *p; p++)
    if (*p == '\\' && *++p >= '1' && *p <= '9') return true;
  return false;
}

/* Whether a pattern has more than one count, or one above 99: regcomp expands counts ("x{1,200}"),
 * and nested ones multiply. */
static bool counts_much(const char *pattern) {
  unsigned counts = 0;
  bool inside = false; /* of a bracket expression */
  for (const char *p = pattern; *p; p++) {
    if (*p == '\\' && p[1] && !inside) {
      p++;
    } else if (inside ? *p == ']' : *p == '[') {
      inside = !inside;
    } else if (*p == '{' && !inside) {
      counts++;
      for (const char *d = p + 1; *d && *d != '}'; d++)
        if (*d >= '0' && *d <= '9' && d - p >= 3 && d[-1] >= '0' && d[-1] <= '9' &&
            d[-2] >= '0' && d[-2] <= '9')
          return true;
    }
  }
  return counts > 1;
}

static surg_status compile(const reader *r, surg__message *m) {
  if (strlen(m->pattern) > SURG_LIMIT_PATTERN) return bad(r, m->id, "the pattern is too long");
  if (counts_much(m->pattern))
    return bad(r, m->id, "the pattern may contain {n} once, with n up to 99");
  if (refers_back(m->pattern)) return bad(r, m->id, "the pattern must not refer back (\\1)");
  const int code = regcomp(&m->regex, m->pattern, REG_EXTENDED);
  m->compiled = code == 0;
  if (code == REG_ESPACE) return surg__oom(r->ctx, r->file);
  if (code == 0 && m->regex.re_nsub > 9) return bad(r, m->id, "the pattern has more than 9 groups");
  if (code == 0) return SURG_OK;
  char what[160], text[200];
  regerror(code, &m->regex, what, sizeof what);
  snprintf(text, sizeof text, "the pattern is invalid: %s", what);
  return bad(r, m->id, text);
}

static surg_status read_message(const reader *r, const json_t *j) {
  surg__message *m = surg__arena_zalloc(&r->all->arena, sizeof *m);
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return bad(r, "messages", "must be a list of objects");
  if (!m || !surg__vec_push(r->ctx, &r->all->items, m)) return surg__oom(r->ctx, r->file);
  m->when = "import";
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const surg_status s = read_key(r, key, v, m);
    if (s) return s;
  }
  if (!m->id) return bad(r, "messages", "an entry lacks id");
  if (!m->engine || !m->pattern || !m->cause)
    return bad(r, m->id, "lacks engine, pattern or cause");
  if (!m->seen.n) return bad(r, m->id, "lacks seen: a message it was made from");
  const surg_status s = compile(r, m);
  if (s) return s;
  for (size_t i = 0; i < m->seen.n; i++)
    if (regexec(&m->regex, m->seen.items[i], 0, NULL, 0) != 0)
      return bad(r, m->id, "the pattern does not match a message of seen");
  return SURG_OK;
}

static surg_status read_file(const reader *r, const json_t *j) {
  const json_t *list = json_object_get(j, "messages");
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return bad(r, "file", "must be an object");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!strcmp(key, "schema") && json_integer_value(v) != 1)
      return bad(r, key, "only schema 1 is known");
    if (strcmp(key, "schema") != 0 && strcmp(key, "messages") != 0 && strcmp(key, "source") != 0)
      return bad(r, key, "no such key (doc/messages.md lists them)");
  }
  if (!json_is_array(list)) return bad(r, "messages", "must be a list");
  if (json_array_size(list) + r->all->items.count > SURG_LIMIT_MESSAGES)
    return surg__error(r->ctx, SURG_ELIMIT, r->file, "more than %u messages", SURG_LIMIT_MESSAGES);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const surg_status s = read_message(r, json_array_get(list, i));
    if (s) return s;
  }
  return SURG_OK;
}

surg_status surg__messages_read(surg__messages *all, const char *text, size_t n, const char *name) {
  const size_t before = all->items.count;
  if (n > SURG_LIMIT_TARGET_BYTES)
    return surg__error(all->ctx, SURG_ELIMIT, name, "more than %u bytes", SURG_LIMIT_TARGET_BYTES);
  json_error_t e;
  surg__json_doc doc;
  surg_status s = surg__json_read(all->ctx, name, text, n, JSON_REJECT_DUPLICATES, &e, &doc);
  if (s != SURG_OK) return s;
  if (!doc.value)
    return surg__error(all->ctx, SURG_EINVALID, name, "line %d column %d: %s", e.line, e.column,
                       surg__q(all->ctx, e.text));
  s = read_file(&(reader){.all = all, .ctx = all->ctx, .file = name}, doc.value);
  surg__json_drop(all->ctx, &doc);
  while (s && all->items.count > before)
    if (all->items.items[--all->items.count]->compiled)
      regfree(&all->items.items[all->items.count]->regex);
  return s;
}

surg__messages *surg__messages_new(surg_context *ctx) {
  surg__messages *all = surg__calloc(ctx, 1, sizeof *all);
  if (!all) {
    surg__oom(ctx, "messages");
    return NULL;
  }
  all->ctx = ctx;
  surg__arena_init(&all->arena, ctx);
  return all;
}

surg_status surg__messages_read_builtin(surg__messages *all) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < surg__message_count && s == SURG_OK; i++) {
    const surg__target_text *t = &surg__message_texts[i];
    s = surg__messages_read(all, t->text, strlen(t->text), t->name);
  }
  return s;
}

void surg__messages_free(surg__messages *all) {
  if (!all) return;
  surg_context *ctx = all->ctx;
  for (size_t i = 0; i < all->items.count; i++)
    if (all->items.items[i]->compiled) regfree(&all->items.items[i]->regex);
  surg__vec_free(ctx, &all->items);
  surg__arena_free(&all->arena);
  surg__free(ctx, all);
}
