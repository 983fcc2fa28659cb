/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as text:
 *
 *   pipeline = [item {"," item}]
 *   item     = name [options] | ("repeat" | "guard" | "allow") [options] "(" pipeline ")"
 *   options  = "{" [name ["=" word {"+" word}] {"," name [...]}] "}"
 *   word     = bare | "quoted" | 'quoted'
 *
 * A guard undoes its pipeline if the model has more nodes afterwards; guard{size} also if its file
 * would grow. guard{saved} keeps its pipeline if fewer nodes remain and the file is
 * no larger than at the start of the run; inside guard{size} it does nothing. allow{CLASS}(...)
 * limits the exactness class of the rewrites in it, and is consent to them if the run has no
 * --allow.
 *
 * A preset is replaced by its pipeline. Blanks, line breaks and comments from '#' to the end of the
 * line are allowed between tokens. Bare words end at blanks and at , { } ( ) = + " ' and \; quoted
 * words have the escapes \\ \" \' \n \t \xNN. */
#include <stdarg.h>
#include <stdio.h>

#include "pass/internal.h"

#define MAX_DEPTH 16 /* nesting of repeats, guards and presets */
#define DEFAULT_ROUNDS 32

typedef struct parser {
  surg_context *ctx;
  surg_registry *registry;
  surg__arena *arena;
  const char *text, *p;
  const char *where;
  const char *preset; /* the preset whose text is parsed, or NULL */
  unsigned depth;
} parser;

static surg_status bad_at(const parser *ps, const char *at, const char *text) {
  size_t line = 1, column = 1;
  for (const char *s = ps->text; s < at; s++, column++)
    if (*s == '\n') line++, column = 0;
  char place[64] = "";
  if (line > 1)
    snprintf(place, sizeof place, "line %zu column %zu", line, column);
  else
    snprintf(place, sizeof place, "column %zu", column);
  if (ps->preset)
    return surg__error(ps->ctx, SURG_EUSAGE, ps->where, "in preset %s: %s: %s",
                       surg__q(ps->ctx, ps->preset), place, text);
  return surg__error(ps->ctx, SURG_EUSAGE, ps->where, "%s: %s", place, text);
}

static surg_status bad(const parser *ps, const char *at, const char *fmt, ...) SURG_PRINTF(3, 4);
static surg_status bad(const parser *ps, const char *at, const char *fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return bad_at(ps, at, text);
}

static surg_status no_memory(const parser *ps) {
  return surg__oom(ps->ctx, ps->where);
}

/* ---- tokens -------------------------------------------------------------------------------- */

static bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool special(char c) {
  return strchr(",{}()=+\"'\\", c) != NULL; /* also true for NUL */
}

static void skip(parser *ps) {
  for (;;) {
    while (blank(*ps->p)) ps->p++;
    if (*ps->p != '#') return;
    while (*ps->p && *ps->p != '\n') ps->p++;
  }
}

static bool take(parser *ps, char c) {
  skip(ps);
  if (*ps->p != c) return false;
  ps->p++;
  return true;
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads one escape; p is after its backslash. Returns the end of it, or NULL: unknown escape. */
static const char *unescape(const char *p, char *out) {
  switch (*p) {
    case '\\':
    case '"':
    case '\'':
      *out = *p;
      return p + 1;
    case 'n':
      *out = '\n';
      return p + 1;
    case 't':
      *out = '\t';
      return p + 1;
    case 'x':
      break;
    default:
      return NULL;
  }
  int hi = hex(p[1]), lo = hi < 0 ? -1 : hex(p[2]);
  if (lo < 0 || (hi == 0 && lo == 0)) return NULL;
  *out = (char)(hi << 4 | lo);
  return p + 3;
}

static surg_status quoted(parser *ps, surg__word *out) {
  const char *open = ps->p, *p = open + 1, *end = p;
  while (*end && *end != *open) end += *end == '\\' && end[1] ? 2 : 1;
  char *to = surg__arena_alloc(ps->arena, (size_t)(end - open)); /* escapes only shorten it */
  if (!to) return no_memory(ps);
  *out = (surg__word){to, true};
  while (*p && *p != *open) {
    if (*p != '\\') {
      *to++ = *p++;
      continue;
    }
    const char *next = unescape(p + 1, to++);
    if (!next) return bad(ps, p, "no such escape; there are \\\\ \\\" \\' \\n \\t and \\xNN");
    p = next;
  }
  if (!*p) return bad(ps, open, "the quote is not closed");
  *to = 0;
  ps->p = p + 1;
  return SURG_OK;
}

static surg_status word(parser *ps, surg__word *out, const char *what) {
  skip(ps);
  if (*ps->p == '"' || *ps->p == '\'') return quoted(ps, out);
  const char *start = ps->p;
  while (!special(*ps->p) && !blank(*ps->p)) ps->p++;
  if (*ps->p == '\\') return bad(ps, ps->p, "a backslash must be in quotes");
  if (ps->p == start) {
    if (!*start) return bad(ps, start, "unexpected end of text: expected %s", what);
    return bad(ps, start, "expected %s, found %s", what, surg__qn(ps->ctx, start, 1));
  }
  *out = (surg__word){surg__arena_strn(ps->arena, start, (size_t)(ps->p - start)), false};
  return out->s ? SURG_OK : no_memory(ps);
}

/* ---- names --------------------------------------------------------------------------------- */

/* Words that are followed by a pipeline in parentheses. */
static const char *const groups[] = {"repeat", "guard", "allow"};

static const char *pass_or_preset(const void *list, size_t i) {
  const surg_registry *r = list;
  size_t n = surg__pass_count(r);
  if (i < n) return surg__pass_at(r, i)->name;
  i -= n;
  n = surg__preset_count(r);
  return i < n ? surg__preset_at(r, i)->name : groups[i - n];
}

static const char *option_name(const void *list, size_t i) {
  return ((const surg_pass *)list)->options[i].name;
}

/* Reports an unknown name; `owner` is the pass whose option it would be, or "". */
static surg_status unknown(parser *ps, const char *at, const char *what, const char *owner,
                           const char *name, const char *near) {
  if (near)
    return bad(ps, at, "unknown %s%s %s; did you mean %s?", what, owner, surg__q(ps->ctx, name),
               surg__q(ps->ctx, near));
  return bad(ps, at, "unknown %s%s %s; see `onnxsurg passes%s%s`", what, owner,
             surg__q(ps->ctx, name), *owner ? " " : "", owner);
}

static surg_status unknown_pass(parser *ps, const char *at, const char *name) {
  size_t n = surg__pass_count(ps->registry) + surg__preset_count(ps->registry) + SURG_COUNT(groups);
  return unknown(ps, at, "pass", "", name, surg__nearest(name, ps->registry, n, pass_or_preset));
}

/* ---- options ------------------------------------------------------------------------------- */

typedef SURG_VEC(surg__word) words;

/* Parses the words after '='; none if there is no '='. */
static surg_status values(parser *ps, words *list) {
  if (!take(ps, '=')) return SURG_OK;
  do {
    surg__word w;
    surg_status s = word(ps, &w, "a value");
    if (s) return s;
    if (!surg__vec_push(ps->ctx, list, w)) return no_memory(ps);
  } while (take(ps, '+'));
  return SURG_OK;
}

static const char *words_to_option(parser *ps, const surg_option *declared, const char *name,
                                   const words *list, surg__optval *out) {
  if (declared->kind == SURG_OPTION_PAIRS)
    return surg__option_pair(ps->arena, name, list->items, list->count, out);
  return surg__option_parse(ps->arena, declared, list->items, list->count, out);
}

/* Whether an option that is not of kind PAIRS has this name. */
static bool plain_option(const surg_option *declared, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (declared[i].kind != SURG_OPTION_PAIRS && strcmp(declared[i].name, name) == 0) return true;
  return false;
}

/* The name of a pair: `attribute.to` means `to` if the PAIRS option is `attribute` and `to` is also
 * an option; else the name itself. */
static const char *pair_name(const surg_option *declared, size_t count, size_t any,
                             const char *name) {
  const size_t n = strlen(declared[any].name);
  const bool prefixed = strncmp(name, declared[any].name, n) == 0 && name[n] == '.';
  return prefixed && plain_option(declared, count, name + n + 1) ? name + n + 1 : name;
}

/* The index of the option with this name, else of the PAIRS option, which accepts any name, else
 * `count`. */
static size_t find_option(const surg_option *declared, size_t count, const char *name) {
  size_t any = count;
  for (size_t i = 0; i < count; i++) {
    if (declared[i].kind == SURG_OPTION_PAIRS)
      any = i;
    else if (strcmp(declared[i].name, name) == 0)
      return i;
  }
  return any;
}

static surg_status option(parser *ps, const surg_option *declared, size_t count, const char *owner,
                          const surg_pass *pass, surg__optval *out) {
  surg__word name;
  skip(ps);
  const char *at = ps->p;
  surg_status s = word(ps, &name, "an option");
  if (s) return s;
  size_t i = find_option(declared, count, name.s);
  if (i == count) {
    if (!count) return bad(ps, at, "%s has no options", surg__q(ps->ctx, owner));
    return unknown(ps, at, "option of ", owner, name.s,
                   pass ? surg__nearest(name.s, pass, count, option_name) : declared[0].name);
  }
  bool pairs = declared[i].kind == SURG_OPTION_PAIRS;
  if (pairs) name.s = pair_name(declared, count, i, name.s);
  const char *shown = pairs ? surg__q(ps->ctx, name.s) : declared[i].name;
  if (out[i].given && !pairs)
    return bad(ps, at, "option %s is given twice", surg__q(ps->ctx, name.s));
  words list = {0};
  s = values(ps, &list);
  if (!s) {
    const char *fault = words_to_option(ps, &declared[i], name.s, &list, &out[i]);
    if (fault == surg__opt_nomem)
      s = no_memory(ps);
    else if (fault)
      s = list.count == 1 && !pairs ? bad(ps, at, "option %s: %s %s", shown,
                                          surg__q(ps->ctx, list.items[0].s), fault)
                                    : bad(ps, at, "option %s %s", shown, fault);
  }
  surg__vec_free(ps->ctx, &list);
  return s;
}

static surg_status options(parser *ps, const surg_option *declared, size_t count, const char *owner,
                           const surg_pass *pass, surg__optval *out) {
  if (!take(ps, '{') || take(ps, '}')) return SURG_OK;
  do {
    surg_status s = option(ps, declared, count, owner, pass, out);
    if (s) return s;
  } while (take(ps, ','));
  if (take(ps, '}')) return SURG_OK;
  return *ps->p
             ? bad(ps, ps->p, "expected ',' or '}', found %s", surg__qn(ps->ctx, ps->p, 1))
             : bad(ps, ps->p, "'{' is not closed");
}

/* ---- items --------------------------------------------------------------------------------- */

static surg_status items(parser *ps, surg__pipeline_step **head);

/* Parses the parenthesized pipeline after `word`. */
static surg_status group(parser *ps, const char *at, const char *word, surg__pipeline_step *step) {
  if (!take(ps, '(')) return bad(ps, ps->p, "%s needs a pipeline in parentheses", word);
  if (ps->depth == MAX_DEPTH) return bad(ps, at, "repeats and presets nest too deep");
  ps->depth++;
  const surg_status s = items(ps, &step->body);
  ps->depth--;
  if (s || take(ps, ')')) return s;
  return bad(ps, at, "the '(' of %s is not closed", word);
}

static surg_status repeat(parser *ps, const char *at, surg__pipeline_step *step) {
  static const surg_option max = SURG_OPTION(INT, "max", NULL, "most rounds");
  surg__optval value = {.i = DEFAULT_ROUNDS};
  surg_status s = options(ps, &max, 1, "repeat", NULL, &value);
  if (s) return s;
  if (value.i < 1) return bad(ps, at, "repeat needs max=1 or more");
  step->max = value.i;
  return group(ps, at, "repeat", step);
}

static surg_status guard(parser *ps, const char *at, surg__pipeline_step *step) {
  static const surg_option declared[] = {
      SURG_OPTION(BOOL, "size", NULL, "judge the file's size, too"),
      SURG_OPTION(BOOL, "saved", NULL, "spend no more bytes than the run has saved")};
  surg__optval values[SURG_COUNT(declared)] = {{0}};
  surg_status s = options(ps, declared, SURG_COUNT(declared), "guard", NULL, values);
  step->size = values[0].i != 0;
  step->saved = values[1].i != 0;
  if (!s && step->size && step->saved) return bad(ps, at, "guard has size or saved, not both");
  return s ? s : group(ps, at, "guard", step);
}

static surg_status allow(parser *ps, const char *at, surg__pipeline_step *step) {
  surg_option classes[SURG_LOSSY + 1];
  surg__optval given[SURG_COUNT(classes)] = {{0}};
  size_t n = 0;
  for (int e = SURG_EXACT; e <= SURG_LOSSY; e++)
    classes[e] = (surg_option)SURG_OPTION(BOOL, surg__exactness_name((surg_exactness)e), NULL, "");
  surg_status s = options(ps, classes, SURG_COUNT(classes), "allow", NULL, given);
  for (int e = SURG_EXACT; e <= SURG_LOSSY; e++) {
    if (!given[e].i) continue;
    n++;
    step->allow = (surg_exactness)e;
  }
  if (!s && n != 1)
    s = bad(ps, at, "allow needs one class: exact, ulp, rounding, approx or lossy");
  step->allows = true;
  return s ? s : group(ps, at, "allow", step);
}

/* Whether an extension applies to a preset that is expanded. One of every built-in preset applies
 * to the outermost, as presets contain others. */
static bool applies(const parser *ps, const surg__extension *e, const surg__preset *preset) {
  if (e->preset) return strcmp(e->preset, preset->name) == 0;
  return !ps->preset && !surg__preset_owned(ps->registry, preset);
}

/* Parses the pipeline of an extension and inserts it at *at, before the steps that are there. */
static surg_status insert(const parser *outer, const surg__extension *e, surg__pipeline_step **at) {
  parser own = *outer;
  surg__pipeline_step *first = NULL, *rest = *at;
  own.text = own.p = e->pipeline;
  surg_status s = items(&own, &first);
  if (!s && *own.p) s = bad(&own, own.p, "the text should end here");
  if (s || !first) return s;
  *at = first;
  while (first->next) first = first->next;
  first->next = rest;
  return SURG_OK;
}

/* Inserts an extension at its point among the steps, also inside of groups, whose nesting the
 * parser bounds. */
static surg_status extend(const parser *ps, const surg__extension *e, surg__pipeline_step **head) {
  surg__pipeline_step **at = head;
  surg_status s = SURG_OK;
  if (e->at == SURG__AT_FIRST) return insert(ps, e, head);
  while (*at && !s) {
    surg__pipeline_step *step = *at, *next = step->next;
    const bool here = e->pass && step->pass && strcmp(step->pass->name, e->pass) == 0;
    if (e->pass && step->body) s = extend(ps, e, &step->body);
    if (!s && here) s = insert(ps, e, e->at == SURG__AT_BEFORE ? at : &step->next);
    for (at = &step->next; *at != next;) at = &(*at)->next;
  }
  return !s && e->at == SURG__AT_LAST ? insert(ps, e, at) : s;
}

static surg_status expand(parser *ps, const char *at, const surg__preset *preset,
                          surg__pipeline_step **head) {
  if (ps->depth == MAX_DEPTH) return bad(ps, at, "repeats and presets nest too deep");
  if (take(ps, '{')) return bad(ps, at, "%s is a preset and has no options", preset->name);
  parser inner = *ps;
  inner.text = inner.p = preset->pipeline;
  inner.preset = preset->name;
  inner.depth++;
  surg_status s = items(&inner, head);
  if (!s && *inner.p) s = bad(&inner, inner.p, "the text should end here");
  for (size_t i = 0; i < ps->registry->extensions.count && !s; i++) {
    const surg__extension *e = &ps->registry->extensions.items[i];
    if (applies(ps, e, preset)) s = extend(&inner, e, head);
  }
  return s;
}

static surg_status scheduled(parser *ps, const surg_pass *pass, surg__pipeline_step *step) {
  step->pass = pass;
  if (pass->option_count) {
    step->options = surg__arena_array(ps->arena, pass->option_count, sizeof *step->options);
    if (!step->options) return no_memory(ps);
  }
  for (size_t i = 0; i < pass->option_count; i++)
    if (surg__option_fallback(ps->arena, &pass->options[i], &step->options[i]))
      return no_memory(ps); /* registration checked the default, so only memory can be missing */
  return options(ps, pass->options, pass->option_count, pass->name, pass, step->options);
}

/* Parses one item. *head is the first of its steps; NULL: an empty preset. */
static surg_status item(parser *ps, surg__pipeline_step **head) {
  surg__word name;
  skip(ps);
  const char *at = ps->p;
  surg_status s = word(ps, &name, "a pass");
  if (s) return s;
  for (size_t i = 0; i < surg__preset_count(ps->registry); i++) {
    const surg__preset *preset = surg__preset_at(ps->registry, i);
    if (strcmp(preset->name, name.s) == 0) return expand(ps, at, preset, head);
  }
  const surg_pass *pass = surg__pass_find(ps->registry, name.s);
  if (pass && strcmp(pass->name, name.s) != 0)
    surg__note(ps->ctx, ps->where, "pass '%s' is now named '%s'", name.s, pass->name);
  size_t which = 0;
  while (which < SURG_COUNT(groups) && strcmp(name.s, groups[which]) != 0) which++;
  if (!pass && which == SURG_COUNT(groups)) return unknown_pass(ps, at, name.s);
  surg__pipeline_step *step = *head = surg__arena_zalloc(ps->arena, sizeof *step);
  if (!step) return no_memory(ps);
  if (pass) return scheduled(ps, pass, step);
  static surg_status (*const of[])(parser *, const char *, surg__pipeline_step *) = {repeat, guard,
                                                                                     allow};
  return of[which](ps, at, step);
}

static surg_status items(parser *ps, surg__pipeline_step **head) {
  surg__pipeline_step **tail = head;
  *head = NULL;
  skip(ps);
  if (!*ps->p || *ps->p == ')') return SURG_OK;
  do {
    surg_status s = item(ps, tail);
    if (s) return s;
    while (*tail) tail = &(*tail)->next;
  } while (take(ps, ','));
  skip(ps);
  return SURG_OK;
}

surg_status surg__pipeline_parse(surg_context *ctx, const char *text, const char *where,
                                 surg__pipeline **out) {
  assert(ctx && text && out);
  *out = NULL;
  surg_registry *registry = surg__registry(ctx);
  surg__pipeline *p = registry ? surg__calloc(ctx, 1, sizeof *p) : NULL;
  if (!p) return surg__oom(ctx, where);
  p->ctx = ctx;
  surg__arena_init(&p->arena, ctx);
  parser ps = {ctx, registry, &p->arena, text, text, where, NULL, 0};
  surg_status s = items(&ps, &p->first);
  if (!s && *ps.p) s = bad(&ps, ps.p, "expected ',', found %s", surg__qn(ctx, ps.p, 1));
  if (s) {
    surg__pipeline_free(p);
    return s;
  }
  *out = p;
  return SURG_OK;
}

void surg__pipeline_free(surg__pipeline *p) {
  if (!p) return;
  surg__arena_free(&p->arena);
  surg__free(p->ctx, p);
}

/* ---- back to text -------------------------------------------------------------------------- */

void surg__pipeline_quote(surg__buf *out, const char *s) {
  bool bare = *s && *s != '#';
  for (const char *c = s; *c && bare; c++)
    bare = !special(*c) && !blank(*c) && (unsigned char)*c >= 0x20 && *c != 0x7f;
  if (bare) {
    surg__buf_puts(out, s);
    return;
  }
  surg__buf_putc(out, '"');
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      surg__buf_printf(out, "\\%c", *s);
    else if (*s == '\n')
      surg__buf_puts(out, "\\n");
    else if (*s == '\t')
      surg__buf_puts(out, "\\t");
    else if ((unsigned char)*s < 0x20 || *s == 0x7f)
      surg__buf_printf(out, "\\x%02x", (unsigned)*s);
    else
      surg__buf_putc(out, *s);
  }
  surg__buf_putc(out, '"');
}

static void print_list(const char *const *list, size_t n, surg__buf *out) {
  for (size_t k = 0; k < n; k++) {
    if (k) surg__buf_putc(out, '+');
    surg__pipeline_quote(out, list[k]);
  }
}

void surg__pipeline_put_pair_name(surg__buf *out, const surg_pass *pass, const char *option,
                                  const char *name) {
  if (plain_option(pass->options, pass->option_count, name)) surg__buf_printf(out, "%s.", option);
  surg__pipeline_quote(out, name);
}

static void print_pairs(const surg_pass *pass, const char *option, const surg__optval *v,
                        surg__buf *out) {
  for (size_t i = 0; i < v->n_pairs; i++) {
    if (i) surg__buf_putc(out, ',');
    surg__pipeline_put_pair_name(out, pass, option, v->pairs[i].name);
    surg__buf_putc(out, '=');
    print_list(v->pairs[i].list, v->pairs[i].n, out);
  }
}

static void print_options(const surg__pipeline_step *step, surg__buf *out) {
  char open = '{';
  for (size_t i = 0; i < step->pass->option_count; i++) {
    const surg__optval *v = &step->options[i];
    if (!v->given) continue;
    surg__buf_putc(out, open);
    open = ',';
    if (v->n_pairs) {
      print_pairs(step->pass, step->pass->options[i].name, v, out);
      continue;
    }
    surg__buf_printf(out, "%s=", step->pass->options[i].name);
    if (v->text) surg__pipeline_quote(out, v->text);
    print_list(v->list, v->n, out);
  }
  if (open == ',') surg__buf_putc(out, '}');
}

static void print_steps(const surg__pipeline_step *step, surg__buf *out) {
  for (bool first = true; step; step = step->next, first = false) {
    if (!first) surg__buf_putc(out, ',');
    if (step->pass) {
      surg__buf_puts(out, step->pass->name);
      print_options(step, out);
      continue;
    }
    if (step->allows)
      surg__buf_printf(out, "allow{%s}", surg__exactness_name(step->allow));
    else
      surg__buf_puts(out, step->max     ? "repeat"
                          : step->size  ? "guard{size}"
                          : step->saved ? "guard{saved}"
                                        : "guard");
    if (step->max == INT64_MAX)
      surg__buf_puts(out, "{max=inf}");
    else if (step->max && step->max != DEFAULT_ROUNDS)
      surg__buf_printf(out, "{max=%lld}", (long long)step->max);
    surg__buf_putc(out, '(');
    print_steps(step->body, out); /* depth at most MAX_DEPTH */
    surg__buf_putc(out, ')');
  }
}

void surg__pipeline_print(const surg__pipeline *p, surg__buf *out) {
  print_steps(p->first, out);
}

static bool scheduled_in(const surg__pipeline_step *step, const char *name) {
  for (; step; step = step->next) {
    if (step->pass ? strcmp(step->pass->name, name) == 0 : scheduled_in(step->body, name))
      return true;
  }
  return false;
}

static bool spends(const surg__pipeline_step *step) {
  for (; step; step = step->next)
    if (step->saved || (!step->pass && spends(step->body))) return true;
  return false;
}

bool surg__pipeline_spends(const surg__pipeline *p) {
  return spends(p->first);
}

bool surg__pipeline_has(const surg__pipeline *p, const char *pass) {
  return scheduled_in(p->first, pass);
}

static bool named(const surg_registry *r, const char *const *names, size_t n,
                  const surg_pass *pass) {
  for (size_t i = 0; i < n; i++)
    if (surg__pass_find(r, names[i]) == pass) return true;
  return false;
}

/* Removes the named passes, and groups that are empty then. Depth at most MAX_DEPTH. */
static void leave_out(const surg_registry *r, surg__pipeline_step **at, const char *const *names,
                      size_t n) {
  while (*at) {
    surg__pipeline_step *step = *at;
    if (!step->pass) leave_out(r, &step->body, names, n);
    if (step->pass ? named(r, names, n, step->pass) : !step->body)
      *at = step->next;
    else
      at = &step->next;
  }
}

surg_status surg__pipeline_leave_out(surg__pipeline *p, const char *where, const char *const *names,
                                     size_t n) {
  const surg_registry *r = surg__registry(p->ctx);
  const surg_status s = surg__check_pass_names(r, where, names, n, NULL);
  if (s == SURG_OK) leave_out(r, &p->first, names, n);
  return s;
}
