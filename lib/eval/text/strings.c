/* SPDX-License-Identifier: Apache-2.0 */
/* StringConcat, StringSplit, StringNormalizer, RegexFullMatch. Strings are bytes; operations on
 * characters decode UTF-8. Nothing depends on the locale. */
#include "eval/text/strings.h"

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/move/move.h"
#include "eval/text/regex.h"
#include "eval/text/unicode.h"

bool surg__str_equal(surg_str a, surg_str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool surg__str_is(surg_str s, const char *word) {
  return surg__str_equal(s, (surg_str){word, strlen(word)});
}

bool surg__str_ascii(surg_str s) {
  for (size_t i = 0; i < s.n; ++i) {
    if ((uint8_t)s.p[i] >= 0x80) return false;
  }
  return true;
}

surg__kstatus surg__k_text(surg_kctx *k, size_t n, char **out) {
  uint64_t bytes;
  if (!surg__add_u64(k->bytes, n, &bytes) || bytes > k->max_bytes) return SURG__K_BUDGET;
  k->bytes = bytes;
  *out = surg__k_scratch(k, n, 1);
  return *out ? SURG__K_OK : SURG__K_NOMEM;
}

/* --- StringConcat --- */

static surg__kstatus join(surg_kctx *k, surg_str a, surg_str b, surg_str *out) {
  char *text;
  if (a.n == 0 || b.n == 0) {
    *out = a.n == 0 ? b : a;
    return SURG__K_OK;
  }
  size_t n;
  if (!surg__add(a.n, b.n, &n)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_text(k, n, &text));
  memcpy(text, a.p, a.n);
  memcpy(text + a.n, b.p, b.n);
  *out = (surg_str){text, n};
  return SURG__K_OK;
}

surg__kstatus surg__k_string_concat(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, SURG_STRING, &l));
  const surg_str *a = k->in[0].data, *b = k->in[1].data;
  surg_str *out = k->out[0].data;
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t i = 0; i < l.inner; ++i) {
      SURG__K_TRY(
          join(k, a[l.at[1] + i * l.step[1]], b[l.at[2] + i * l.step[2]], &out[l.at[0] + i]));
    }
  }
  return SURG__K_OK;
}

/* --- StringSplit --- */

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

typedef struct splitter {
  surg_str delimiter; /* n = 0: split at runs of white space */
  int64_t most;       /* most splits; negative: unlimited */
} splitter;

static size_t find(surg_str s, size_t from, surg_str what) {
  const char *p = from < s.n ? memmem(s.p + from, s.n - from, what.p, what.n) : NULL;
  return p ? (size_t)(p - s.p) : s.n;
}

/* Splits s into *out (NULL: only count). Returns the number of pieces. Pieces between delimiters
 * may be empty; pieces between white space are not. */
static int64_t split(const splitter *sp, surg_str s, surg_str *out) {
  int64_t n = 0;
  size_t at = 0;
  bool spaces = sp->delimiter.n == 0;
  for (;;) {
    while (spaces && at < s.n && is_space(s.p[at])) ++at;
    if (spaces && at == s.n) return n;
    size_t end = at;
    if (n == sp->most) {
      end = s.n;
    } else if (spaces) {
      while (end < s.n && !is_space(s.p[end])) ++end;
    } else {
      end = find(s, at, sp->delimiter);
    }
    if (out) out[n] = (surg_str){s.p ? s.p + at : NULL, end - at};
    ++n;
    if (end == s.n) return n;
    at = end + sp->delimiter.n;
  }
}

surg__kstatus surg__k_string_split(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *x = &k->in[0];
  const surg_str *in = x->data;
  splitter sp = {surg_node_string(k->node, "delimiter", ""), -1};
  if (surg_node_attr(k->node, "maxsplit")) sp.most = surg_node_int(k->node, "maxsplit", -1);
  int64_t dims[SURG_LIMIT_RANK + 1], most = 0;
  uint64_t work = x->count;
  for (uint64_t i = 0; i < x->count; ++i) {
    if (!surg__add_u64(work, in[i].n, &work)) return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  for (uint64_t i = 0; i < x->count; ++i) {
    if (!k->running && sp.delimiter.n == 0 && !surg__str_ascii(in[i])) {
      return surg__k_cannot(k, "runtimes differ on what white space is");
    }
    int64_t n = split(&sp, in[i], NULL);
    if (n > most) most = n;
  }
  if (x->rank > 0) memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[x->rank] = most;
  SURG__K_TRY(surg__k_out(k, 0, SURG_STRING, dims, x->rank + 1));
  SURG__K_TRY(surg__k_out(k, 1, SURG_INT64, dims, x->rank));
  surg_str *pieces = k->out[0].data;
  int64_t *counts = k->n_out > 1 ? k->out[1].data : NULL;
  if (pieces) {
    SURG__K_TRY(surg__k_work(k, k->out[0].count));
    memset(pieces, 0, (size_t)k->out[0].count * sizeof *pieces);
  }
  for (uint64_t i = 0; i < x->count; ++i) {
    int64_t n = split(&sp, in[i], pieces ? pieces + i * (uint64_t)most : NULL);
    if (counts) counts[i] = n;
  }
  return SURG__K_OK;
}

/* --- StringNormalizer --- */

typedef uint32_t (*case_map)(uint32_t c);

/* Converts a text to one case. */
static surg__kstatus map_case(surg_kctx *k, surg_str s, case_map map, surg_str *out) {
  char *text;
  if (!k->running && !surg__str_ascii(s)) {
    return surg__k_cannot(k, "the case of letters beyond ASCII depends on the locale");
  }
  size_t room, n = 0, length;
  if (!surg__mul(s.n, 2, &room)) return SURG__K_BUDGET; /* 2 bytes become 3 at most */
  SURG__K_TRY(surg__k_text(k, room, &text));
  for (size_t i = 0; i < s.n; i += length) {
    uint32_t c = surg__utf8_get(s.p + i, s.n - i, &length);
    if (c == SURG__NO_CHAR)
      text[n++] = s.p[i];
    else
      n += surg__utf8_put(text + n, map(c));
  }
  *out = (surg_str){text, n};
  return SURG__K_OK;
}

static const case_map maps[] = {NULL, surg__char_lower, surg__char_upper};

/* Whether the word is a stop word. If case is ignored, `stop` is lower-case. */
static surg__kstatus stopped(surg_kctx *k, surg_str word, const surg_str *stop, size_t n,
                             bool sensitive, bool *out) {
  *out = false;
  if (n == 0) return SURG__K_OK;
  SURG__K_TRY(surg__k_work(k, n));
  if (!sensitive) SURG__K_TRY(map_case(k, word, surg__char_lower, &word));
  for (size_t i = 0; i < n && !*out; ++i) *out = surg__str_equal(word, stop[i]);
  return SURG__K_OK;
}

/* Reads the stop words, in lower case if case is ignored. */
static surg__kstatus stop_words(surg_kctx *k, bool sensitive, const surg_str **out, size_t *n) {
  const surg_str *given = surg_attr_strings(surg_node_attr(k->node, "stopwords"), n);
  *out = given;
  if (!given) *n = 0;
  if (!given || sensitive) return SURG__K_OK;
  surg_str *low = surg__k_scratch(k, *n, sizeof *low);
  if (!low) return SURG__K_NOMEM;
  for (size_t i = 0; i < *n; ++i) SURG__K_TRY(map_case(k, given[i], surg__char_lower, &low[i]));
  *out = low;
  return SURG__K_OK;
}

surg__kstatus surg__k_string_normalizer(surg_kctx *k) {
  static const char *const actions[] = {"NONE", "LOWER", "UPPER"};
  const surg__array *x = &k->in[0];
  const surg_str *in = x->data, *stop;
  size_t n_stop;
  int which = surg__k_word(k, "case_change_action", "NONE", actions, 3);
  bool sensitive = surg_node_int(k->node, "is_case_sensitive", 0) != 0;
  if (which == 3) return surg__k_invalid(k, "there is no such change of case");
  if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1)) {
    return surg__k_invalid(k, "the input is not a list of strings");
  }
  SURG__K_TRY(surg__k_work(k, x->count));
  SURG__K_TRY(stop_words(k, sensitive, &stop, &n_stop));
  surg_str *kept = surg__k_scratch(k, (size_t)x->count, sizeof *kept);
  if (!kept) return SURG__K_NOMEM;
  uint64_t n = 0;
  for (uint64_t i = 0; i < x->count; ++i) {
    bool drop;
    SURG__K_TRY(stopped(k, in[i], stop, n_stop, sensitive, &drop));
    if (drop) continue;
    kept[n] = in[i];
    if (maps[which]) SURG__K_TRY(map_case(k, in[i], maps[which], &kept[n]));
    ++n;
  }
  /* If no string is left, the output is one empty string. */
  int64_t dims[2] = {1, (int64_t)(n > 0 ? n : 1)};
  SURG__K_TRY(surg__k_out(k, 0, SURG_STRING, dims + (2 - x->rank), x->rank));
  surg_str *out = k->out[0].data;
  if (out && n == 0) out[0] = (surg_str){NULL, 0};
  if (out && n > 0) memcpy(out, kept, (size_t)n * sizeof *out);
  return SURG__K_OK;
}

/* --- RegexFullMatch --- */

surg__kstatus surg__k_regex(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  surg__regex *re;
  SURG__K_TRY(surg__regex_compile(k, surg_node_string(k->node, "pattern", ""), &re));
  SURG__K_TRY(surg__k_out(k, 0, SURG_BOOL, x->dims, x->rank));
  uint8_t *out = k->out[0].data;
  for (uint64_t i = 0; out && i < x->count; ++i) {
    bool yes;
    SURG__K_TRY(surg__regex_full(k, re, ((const surg_str *)x->data)[i], &yes));
    out[i] = yes;
  }
  return SURG__K_OK;
}
