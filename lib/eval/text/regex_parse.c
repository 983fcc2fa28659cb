/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a regular expression in RE2 syntax and compiles it to a program. The parser recurses
 * only for groups, whose nesting depth is limited. */
#include "eval/text/regex_program.h"
#include "eval/text/unicode.h"

#define FIRST_RANGES 8 /* allocated at first, then doubled */
#define FIRST_STEPS 64

enum { EMPTY, SET, ASSERT, JOIN, CHOICE, REPEAT };

/* A node of the syntax tree. The children of JOIN and CHOICE are a list. */
typedef struct part {
  int kind;
  int assertion;
  surg__regex_set set;
  int64_t least, most; /* counts of REPEAT; most < 0: unlimited */
  struct part *first, *next;
} part;

typedef struct parser {
  surg_kctx *k;
  const char *p, *end;
  bool fold, dot_all, lines; /* flags (?i) (?s) (?m) */
  bool quoted;               /* between \Q and \E */
  unsigned depth;
  surg__regex_range *ranges; /* ranges of the current class */
  uint32_t n_ranges, room;
} parser;

static surg__kstatus parse_choice(parser *x, part **out);

static surg__kstatus invalid(parser *x) {
  return surg__k_invalid(x->k, "the pattern is not a regular expression");
}

static surg__kstatus new_part(parser *x, int kind, part **out) {
  *out = surg__k_scratch(x->k, 1, sizeof **out);
  if (!*out) return SURG__K_NOMEM;
  **out = (part){.kind = kind};
  return surg__k_work(x->k, 1);
}

static bool next_is(const parser *x, const char *what) {
  size_t n = strlen(what);
  return (size_t)(x->end - x->p) >= n && memcmp(x->p, what, n) == 0;
}

static bool skip(parser *x, const char *what) {
  if (!next_is(x, what)) return false;
  x->p += strlen(what);
  return true;
}

/* Reads the next character; the pattern must be UTF-8. */
static surg__kstatus take(parser *x, uint32_t *c) {
  size_t length;
  if (x->p == x->end) return invalid(x);
  *c = surg__utf8_get(x->p, (size_t)(x->end - x->p), &length);
  if (*c == SURG__NO_CHAR) return invalid(x);
  x->p += length;
  return SURG__K_OK;
}

/* An array of n elements of `size` bytes with room for one more; *room is its length, `least` the
 * first. NULL: out of memory. */
static void *with_room(surg_kctx *k, void *items, uint32_t n, size_t size, uint32_t least,
                       uint32_t *room) {
  if (n < *room) return items;
  const uint32_t more = *room ? 2 * *room : least;
  void *grown = surg__k_scratch(k, more, size);
  if (!grown) return NULL;
  if (n > 0) memcpy(grown, items, n * size);
  *room = more;
  return grown;
}

/* --- character classes --- */

static surg__kstatus add_range(parser *x, uint32_t first, uint32_t last) {
  surg__regex_range *ranges =
      with_room(x->k, x->ranges, x->n_ranges, sizeof *ranges, FIRST_RANGES, &x->room);
  if (!ranges) return SURG__K_NOMEM;
  x->ranges = ranges;
  x->ranges[x->n_ranges++] = (surg__regex_range){first, last};
  return surg__k_work(x->k, 1);
}

/* Adds a named class, a list of pairs of first and last character, or its complement if
 * `negated`. */
static surg__kstatus add_pairs(parser *x, const char *pairs, bool negated) {
  uint32_t from = 0;
  for (; *pairs; pairs += 2) {
    uint32_t first = (uint8_t)pairs[0], last = (uint8_t)pairs[1];
    if (negated && first > from) SURG__K_TRY(add_range(x, from, first - 1));
    if (!negated) SURG__K_TRY(add_range(x, first, last));
    from = last + 1;
  }
  return negated ? add_range(x, from, 0x10ffff) : SURG__K_OK;
}

/* The pairs, in ascending order, of \d \s \w and their complements. False: another escape. */
static bool perl_class(char c, const char **pairs, bool *negated) {
  static const struct {
    char name;
    const char *pairs;
  } classes[] = {{'d', "09"}, {'s', "\t\n\f\r  "}, {'w', "09AZ__az"}};
  for (size_t i = 0; i < SURG_COUNT(classes); ++i) {
    if ((c | 0x20) != classes[i].name) continue;
    *pairs = classes[i].pairs;
    *negated = c != classes[i].name;
    return true;
  }
  return false;
}

/* Parses [:alpha:] and similar inside a class. *found is false if there is none at this
 * position. */
static surg__kstatus posix_class(parser *x, bool *found) {
  static const struct {
    const char *name, *pairs;
  } classes[] = {{"alnum", "09AZaz"},
                 {"alpha", "AZaz"},
                 {"ascii", "\x01\x7f"},
                 {"blank", "\t\t  "},
                 {"cntrl", "\x01\x1f\x7f\x7f"},
                 {"digit", "09"},
                 {"graph", "!~"},
                 {"lower", "az"},
                 {"print", " ~"},
                 {"punct", "!/:@[`{~"},
                 {"space", "\t\r  "},
                 {"upper", "AZ"},
                 {"word", "09AZ__az"},
                 {"xdigit", "09AFaf"}};
  const char *from = x->p;
  *found = false;
  if (!skip(x, "[:")) return SURG__K_OK;
  bool negated = skip(x, "^");
  for (size_t i = 0; i < SURG_COUNT(classes); ++i) {
    const char *start = x->p;
    if (skip(x, classes[i].name) && skip(x, ":]")) {
      *found = true;
      /* NUL would end the string of pairs, so it is added separately. */
      bool nul = strcmp(classes[i].name, "ascii") == 0 || strcmp(classes[i].name, "cntrl") == 0;
      if (nul && !negated) SURG__K_TRY(add_range(x, 0, 0));
      if (!nul || !negated) return add_pairs(x, classes[i].pairs, negated);
      return surg__k_cannot(x->k, "a class of characters that is not known here");
    }
    x->p = start;
  }
  x->p = from;
  return x->p + 2 < x->end && memmem(x->p + 2, (size_t)(x->end - x->p) - 2, ":]", 2) ? invalid(x)
                                                                                     : SURG__K_OK;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses the rest of \x7f or \x{10ffff}, after the x. */
static surg__kstatus hex_escape(parser *x, uint32_t *c) {
  bool braces = skip(x, "{");
  int digits = 0;
  *c = 0;
  for (; x->p < x->end && hex_digit(*x->p) >= 0 && (braces || digits < 2); ++digits, ++x->p) {
    *c = *c * 16 + (uint32_t)hex_digit(*x->p);
    if (*c > 0x10ffff) return invalid(x);
  }
  bool whole = braces ? digits > 0 && skip(x, "}") : digits == 2;
  return whole ? SURG__K_OK : invalid(x);
}

/* Parses an escape for a single character, after the backslash. */
static surg__kstatus char_escape(parser *x, uint32_t *c) {
  static const char names[] = "aftnrv", values[] = "\a\f\t\n\r\v";
  SURG__K_TRY(take(x, c));
  if (*c >= 0x80) return invalid(x);
  const char *name = strchr(names, (int)*c);
  if (*c != 0 && name) {
    *c = (uint8_t)values[name - names];
    return SURG__K_OK;
  }
  if (*c == 'x') return hex_escape(x, c);
  if (*c >= '0' && *c <= '7') {
    bool more = x->p < x->end && *x->p >= '0' && *x->p <= '7';
    if (*c != '0' && !more) return invalid(x); /* a backreference */
    *c -= '0';
    for (int i = 0; i < 2 && x->p < x->end && *x->p >= '0' && *x->p <= '7'; ++i, ++x->p) {
      *c = *c * 8 + (uint32_t)(*x->p - '0');
    }
    return SURG__K_OK;
  }
  if (*c == 'p' || *c == 'P' || *c == 'C') {
    return surg__k_cannot(x->k, "a class of characters that is not known here");
  }
  bool letter = (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';
  return letter || (*c >= '0' && *c <= '9') || *c == '_' ? invalid(x) : SURG__K_OK;
}

static surg__kstatus class_char(parser *x, uint32_t *c) {
  return skip(x, "\\") ? char_escape(x, c) : take(x, c);
}

/* Parses one item of [...]: a named class, a character or a range. */
static surg__kstatus class_item(parser *x) {
  const char *pairs;
  bool found, negated;
  uint32_t first, last;
  SURG__K_TRY(posix_class(x, &found));
  if (found) return SURG__K_OK;
  if (next_is(x, "\\") && x->p + 1 < x->end && perl_class(x->p[1], &pairs, &negated)) {
    x->p += 2;
    return add_pairs(x, pairs, negated);
  }
  SURG__K_TRY(class_char(x, &first));
  last = first;
  if (next_is(x, "-") && x->p + 1 < x->end && x->p[1] != ']') {
    ++x->p;
    SURG__K_TRY(class_char(x, &last));
    if (last < first) return invalid(x);
  }
  return add_range(x, first, last);
}

static surg__kstatus make_set(parser *x, bool negated, part **out) {
  SURG__K_TRY(new_part(x, SET, out));
  (*out)->set = (surg__regex_set){x->ranges, x->n_ranges, negated, x->fold};
  return SURG__K_OK;
}

static void start_set(parser *x) {
  x->ranges = NULL;
  x->n_ranges = x->room = 0;
}

/* Parses a class after its opening bracket. */
static surg__kstatus parse_class(parser *x, part **out) {
  start_set(x);
  bool negated = skip(x, "^"), first = true;
  while (first || !next_is(x, "]")) {
    if (x->p == x->end) return invalid(x);
    SURG__K_TRY(class_item(x));
    first = false;
  }
  ++x->p;
  return make_set(x, negated, out);
}

static surg__kstatus literal(parser *x, uint32_t c, part **out) {
  start_set(x);
  SURG__K_TRY(add_range(x, c, c));
  return make_set(x, false, out);
}

/* --- atoms --- */

static surg__kstatus assertion(parser *x, int kind, part **out) {
  SURG__K_TRY(new_part(x, ASSERT, out));
  (*out)->assertion = kind;
  return SURG__K_OK;
}

static surg__kstatus append(part *list, part **last, part *p) {
  if (*last)
    (*last)->next = p;
  else
    list->first = p;
  *last = p;
  return SURG__K_OK;
}

static surg__kstatus parse_escape(parser *x, part **out) {
  static const char names[] = "Azb";
  static const int kinds[] = {SURG__RE_TEXT_START, SURG__RE_TEXT_END, SURG__RE_WORD_EDGE};
  const char *pairs;
  bool negated;
  uint32_t c;
  if (x->p == x->end) return invalid(x);
  const char *name = *x->p ? strchr(names, *x->p) : NULL;
  if (name) {
    ++x->p;
    return assertion(x, kinds[name - names], out);
  }
  if (skip(x, "B")) return assertion(x, SURG__RE_NO_WORD_EDGE, out);
  if (skip(x, "Q")) {
    x->quoted = !skip(x, "\\E");
    return new_part(x, EMPTY, out);
  }
  if (perl_class(*x->p, &pairs, &negated)) {
    ++x->p;
    start_set(x);
    SURG__K_TRY(add_pairs(x, pairs, negated));
    return make_set(x, false, out);
  }
  SURG__K_TRY(char_escape(x, &c));
  return literal(x, c, out);
}

/* Parses flags or a group name after "(?". *group is false if the flags apply to the rest of the
 * enclosing group. */
static surg__kstatus parse_flags(parser *x, bool *group) {
  bool on = true, any = false;
  *group = true;
  if (skip(x, "P<") || skip(x, "<")) {
    const char *start = x->p;
    while (x->p < x->end && *x->p != '>') ++x->p;
    return x->p > start && skip(x, ">") ? SURG__K_OK : invalid(x);
  }
  for (;; any = true) {
    if (skip(x, ":")) return on || any ? SURG__K_OK : invalid(x);
    if (skip(x, ")")) {
      *group = false;
      return any ? SURG__K_OK : invalid(x);
    }
    if (on && skip(x, "-"))
      on = false;
    else if (skip(x, "i"))
      x->fold = on;
    else if (skip(x, "s"))
      x->dot_all = on;
    else if (skip(x, "m"))
      x->lines = on;
    else if (!skip(x, "U"))
      return invalid(x);
  }
}

/* Parses a group after its opening parenthesis. */
static surg__kstatus parse_group(parser *x, part **out) {
  bool group = true, fold = x->fold, dot_all = x->dot_all, lines = x->lines;
  if (x->depth == SURG_LIMIT_REGEX_DEPTH) return SURG__K_BUDGET;
  if (skip(x, "?")) SURG__K_TRY(parse_flags(x, &group));
  if (!group) return new_part(x, EMPTY, out);
  ++x->depth;
  SURG__K_TRY(parse_choice(x, out));
  --x->depth;
  x->fold = fold;
  x->dot_all = dot_all;
  x->lines = lines;
  return skip(x, ")") ? SURG__K_OK : invalid(x);
}

static surg__kstatus parse_atom(parser *x, part **out) {
  uint32_t c;
  if (x->quoted) {
    SURG__K_TRY(take(x, &c));
    x->quoted = !skip(x, "\\E");
    return literal(x, c, out);
  }
  if (skip(x, "(")) return parse_group(x, out);
  if (skip(x, "[")) return parse_class(x, out);
  if (skip(x, "\\")) return parse_escape(x, out);
  if (skip(x, "^")) {
    return assertion(x, x->lines ? SURG__RE_LINE_START : SURG__RE_TEXT_START, out);
  }
  if (skip(x, "$")) return assertion(x, x->lines ? SURG__RE_LINE_END : SURG__RE_TEXT_END, out);
  if (skip(x, ".")) {
    start_set(x);
    if (!x->dot_all) SURG__K_TRY(add_range(x, '\n', '\n'));
    return make_set(x, true, out);
  }
  if (next_is(x, "*") || next_is(x, "+") || next_is(x, "?")) return invalid(x);
  SURG__K_TRY(take(x, &c));
  return literal(x, c, out);
}

/* --- repetition, concatenation, alternatives --- */

static bool count(parser *x, int64_t *out) {
  const char *start = x->p;
  for (*out = 0; x->p < x->end && *x->p >= '0' && *x->p <= '9'; ++x->p) {
    if (*out <= SURG_LIMIT_REGEX_REPEAT) *out = *out * 10 + (*x->p - '0');
  }
  return x->p > start;
}

/* Parses {n}, {n,} or {n,m}. Returns false, and consumes nothing, for other text, which is
 * literal. */
static bool braces(parser *x, int64_t *least, int64_t *most) {
  const char *start = x->p;
  if (skip(x, "{") && count(x, least)) {
    *most = *least;
    if (skip(x, ",") && !count(x, most)) *most = -1;
    if (skip(x, "}")) return true;
  }
  x->p = start;
  return false;
}

static bool repetition(parser *x, int64_t *least, int64_t *most) {
  *least = next_is(x, "+");
  *most = next_is(x, "?") ? 1 : -1;
  if (skip(x, "*") || skip(x, "+") || skip(x, "?")) return true;
  return braces(x, least, most);
}

static surg__kstatus parse_repeat(parser *x, part **out) {
  int64_t least, most, ignored;
  SURG__K_TRY(parse_atom(x, out));
  const char *at = x->p;
  if (x->quoted || !repetition(x, &least, &most)) return SURG__K_OK;
  if (least > SURG_LIMIT_REGEX_REPEAT || most > SURG_LIMIT_REGEX_REPEAT ||
      (most >= 0 && most < least)) {
    return invalid(x);
  }
  skip(x, "?"); /* lazy: no difference for full matches */
  at = x->p;
  if (repetition(x, &ignored, &ignored)) return invalid(x);
  x->p = at;
  part *p;
  SURG__K_TRY(new_part(x, REPEAT, &p));
  p->first = *out;
  p->least = least;
  p->most = most;
  *out = p;
  return SURG__K_OK;
}

static surg__kstatus parse_join(parser *x, part **out) {
  part *last = NULL, *one;
  SURG__K_TRY(new_part(x, JOIN, out));
  while (x->p < x->end && (x->quoted || (*x->p != '|' && *x->p != ')'))) {
    SURG__K_TRY(parse_repeat(x, &one));
    SURG__K_TRY(append(*out, &last, one));
  }
  return SURG__K_OK;
}

static surg__kstatus parse_choice(parser *x, part **out) {
  part *last = NULL, *one;
  SURG__K_TRY(new_part(x, CHOICE, out));
  do {
    SURG__K_TRY(parse_join(x, &one));
    SURG__K_TRY(append(*out, &last, one));
  } while (skip(x, "|"));
  return SURG__K_OK;
}

/* --- code generation --- */

typedef struct writer {
  surg_kctx *k;
  surg__regex_program *out;
  uint32_t room, visits; /* visits: parts written, also empty ones */
} writer;

static surg__kstatus emit(writer *w, surg__regex_step step, uint32_t *at) {
  surg__regex_program *p = w->out;
  if (p->n == SURG_LIMIT_REGEX_STEPS) return SURG__K_BUDGET;
  surg__regex_step *steps = with_room(w->k, p->steps, p->n, sizeof *steps, FIRST_STEPS, &w->room);
  if (!steps) return SURG__K_NOMEM;
  p->steps = steps;
  p->work += 1 + step.set.n;
  if (at) *at = p->n;
  p->steps[p->n++] = step;
  return surg__k_work(w->k, 1);
}

static surg__kstatus write_part(writer *w, const part *p);

/* Writes alternatives. Each one ends in a jump past the last one. The jumps are linked through
 * `next` until their target is known. */
static surg__kstatus write_choice(writer *w, const part *p) {
  uint32_t jumps = UINT32_MAX, split, jump;
  for (const part *way = p->first; way; way = way->next) {
    if (!way->next) {
      SURG__K_TRY(write_part(w, way));
      break;
    }
    SURG__K_TRY(emit(w, (surg__regex_step){.kind = SURG__RE_SPLIT, .next = w->out->n + 1}, &split));
    SURG__K_TRY(write_part(w, way));
    SURG__K_TRY(emit(w, (surg__regex_step){.kind = SURG__RE_JUMP, .next = jumps}, &jump));
    jumps = jump;
    w->out->steps[split].other = w->out->n;
  }
  while (jumps != UINT32_MAX) {
    uint32_t before = w->out->steps[jumps].next;
    w->out->steps[jumps].next = w->out->n;
    jumps = before;
  }
  return SURG__K_OK;
}

static surg__kstatus write_repeat(writer *w, const part *p) {
  uint32_t split;
  for (int64_t i = 0; i < p->least; ++i) SURG__K_TRY(write_part(w, p->first));
  if (p->most < 0) {
    SURG__K_TRY(emit(w, (surg__regex_step){.kind = SURG__RE_SPLIT, .next = w->out->n + 1}, &split));
    SURG__K_TRY(write_part(w, p->first));
    SURG__K_TRY(emit(w, (surg__regex_step){.kind = SURG__RE_JUMP, .next = split}, NULL));
    w->out->steps[split].other = w->out->n;
    return SURG__K_OK;
  }
  /* Each optional copy can skip to the next copy's split, and so to the end. */
  for (int64_t i = p->least; i < p->most; ++i) {
    SURG__K_TRY(emit(w, (surg__regex_step){.kind = SURG__RE_SPLIT, .next = w->out->n + 1}, &split));
    SURG__K_TRY(write_part(w, p->first));
    w->out->steps[split].other = w->out->n;
  }
  return SURG__K_OK;
}

static surg__kstatus write_part(writer *w, const part *p) {
  surg__regex_step step = {.next = w->out->n + 1};
  if (++w->visits > 8 * SURG_LIMIT_REGEX_STEPS) return SURG__K_BUDGET;
  switch (p->kind) {
    case SET:
      step.kind = SURG__RE_CHAR;
      step.set = p->set;
      return emit(w, step, NULL);
    case ASSERT:
      step.kind = p->assertion;
      return emit(w, step, NULL);
    case JOIN:
      for (const part *one = p->first; one; one = one->next) SURG__K_TRY(write_part(w, one));
      return SURG__K_OK;
    case CHOICE:
      return write_choice(w, p);
    case REPEAT:
      return write_repeat(w, p);
    default:
      return SURG__K_OK;
  }
}

surg__kstatus surg__regex_parse(surg_kctx *k, surg_str pattern, surg__regex_program *out) {
  parser x = {.k = k, .p = pattern.p ? pattern.p : "", .end = NULL};
  x.end = x.p + pattern.n;
  writer w = {.k = k, .out = out};
  part *all;
  *out = (surg__regex_program){0};
  SURG__K_TRY(parse_choice(&x, &all));
  if (x.p != x.end) return invalid(&x);
  SURG__K_TRY(write_part(&w, all));
  return emit(&w, (surg__regex_step){.kind = SURG__RE_MATCH}, NULL);
}
