/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a regular expression by simulating all states of the automaton together, one character
 * at a time (Thompson's construction). The cost is at most states x characters. */
#include "eval/text/regex.h"

#include "eval/text/regex_program.h"
#include "eval/text/unicode.h"

/* A set of states that is cleared in constant time: state s is a member only if `where[s]` is
 * the index of an entry that refers back to s. */
typedef struct states {
  uint32_t n, *list, *where;
} states;

struct surg__regex {
  surg__regex_program program;
  states now, next;
  uint32_t *stack;
};

static bool add(states *s, uint32_t pc) {
  uint32_t at = s->where[pc];
  if (at < s->n && s->list[at] == pc) return false;
  s->where[pc] = s->n;
  s->list[s->n++] = pc;
  return true;
}

static bool is_word(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* A position in the text: the characters before and after it, SURG__NO_CHAR at the ends of the
 * text. */
typedef struct place {
  bool start, end;
  uint32_t before, after;
} place;

static bool holds(int kind, const place *p) {
  bool edge = (!p->start && is_word(p->before)) != (!p->end && is_word(p->after));
  switch (kind) {
    case SURG__RE_TEXT_START:
      return p->start;
    case SURG__RE_TEXT_END:
      return p->end;
    case SURG__RE_LINE_START:
      return p->start || p->before == '\n';
    case SURG__RE_LINE_END:
      return p->end || p->after == '\n';
    case SURG__RE_WORD_EDGE:
      return edge;
    default:
      return !edge;
  }
}

/* Adds a state and all states reachable from it without reading a character. */
static void follow(surg__regex *re, states *to, uint32_t start, const place *p) {
  uint32_t depth = 0;
  re->stack[depth++] = start;
  while (depth > 0) {
    uint32_t pc = re->stack[--depth];
    if (!add(to, pc)) continue;
    const surg__regex_step *s = &re->program.steps[pc];
    if (s->kind == SURG__RE_SPLIT) re->stack[depth++] = s->other;
    if (s->kind == SURG__RE_SPLIT || s->kind == SURG__RE_JUMP ||
        (s->kind >= SURG__RE_TEXT_START && holds(s->kind, p))) {
      re->stack[depth++] = s->next;
    }
  }
}

static bool in_ranges(const surg__regex_set *set, uint32_t c) {
  for (uint32_t i = 0; i < set->n; ++i) {
    if (c >= set->ranges[i].first && c <= set->ranges[i].last) return true;
  }
  return false;
}

static bool accepts(const surg__regex_set *set, uint32_t c) {
  if (c == SURG__NO_CHAR) return false;
  bool in = in_ranges(set, c);
  if (!in && set->fold) {
    in = in_ranges(set, surg__char_lower(c)) || in_ranges(set, surg__char_upper(c)) ||
         in_ranges(set, surg__char_upper(surg__char_lower(c)));
  }
  return in != set->negated;
}

static void swap(surg__regex *re) {
  states s = re->now;
  re->now = re->next;
  re->next = s;
  re->next.n = 0;
}

static uint32_t char_at(surg_str text, size_t at, size_t *length) {
  *length = 0;
  return at < text.n ? surg__utf8_get(text.p + at, text.n - at, length) : SURG__NO_CHAR;
}

surg__kstatus surg__regex_full(surg_kctx *k, surg__regex *re, surg_str text, bool *out) {
  uint64_t work;
  if (!surg__mul_u64(text.n + 1, re->program.work, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  size_t length, ahead;
  place p = {true, text.n == 0, SURG__NO_CHAR, char_at(text, 0, &length)};
  re->now.n = 0;
  follow(re, &re->now, 0, &p);
  for (size_t at = 0; at < text.n && re->now.n > 0; at += length, length = ahead) {
    uint32_t c = p.after;
    p = (place){false, at + length == text.n, c, char_at(text, at + length, &ahead)};
    for (uint32_t i = 0; i < re->now.n; ++i) {
      const surg__regex_step *s = &re->program.steps[re->now.list[i]];
      if (s->kind == SURG__RE_CHAR && accepts(&s->set, c)) follow(re, &re->next, s->next, &p);
    }
    swap(re);
  }
  *out = false;
  for (uint32_t i = 0; i < re->now.n && !*out; ++i) {
    *out = re->program.steps[re->now.list[i]].kind == SURG__RE_MATCH;
  }
  return SURG__K_OK;
}

surg__kstatus surg__regex_compile(surg_kctx *k, surg_str pattern, surg__regex **out) {
  surg__regex *re = surg__k_scratch(k, 1, sizeof *re);
  if (!re) return SURG__K_NOMEM;
  SURG__K_TRY(surg__regex_parse(k, pattern, &re->program));
  size_t n = re->program.n;
  states *sets[] = {&re->now, &re->next};
  for (int i = 0; i < 2; ++i) {
    sets[i]->n = 0;
    sets[i]->list = surg__k_scratch(k, n, sizeof(uint32_t));
    sets[i]->where = surg__k_scratch(k, n, sizeof(uint32_t));
    if (!sets[i]->list || !sets[i]->where) return SURG__K_NOMEM;
    memset(sets[i]->where, 0, n * sizeof(uint32_t));
  }
  /* A state has at most two successors, so 2 * n + 1 entries suffice. */
  re->stack = surg__k_scratch(k, 2 * n + 1, sizeof(uint32_t));
  if (!re->stack) return SURG__K_NOMEM;
  *out = re;
  return SURG__K_OK;
}
