/* SPDX-License-Identifier: Apache-2.0 */
/* Removes changes that a repair does not need: the search is greedy, so a later cure may make an
 * earlier one unnecessary, and a cure of the interface changes all inputs and outputs that it can.
 * Tries, on copies of the model before the search, the changes without some of them: first whole
 * changes, then single sizes of `freeze`, then single inputs and outputs of `drop-io-casts` and
 * `freeze-inputs`. A trial stays if the target has no more objections and no more consent is
 * required. */
#include <assert.h>
#include <string.h>

#include "pass/pass.h"
#include "repair/repair.h"

#define MINIMAL_NODES 400000u /* most nodes of models tried, times changes */
#define MINIMAL_UNITS 64u     /* most changes of which some are removed */
#define MINIMAL_NAMES 256u    /* most sizes, inputs or outputs of one change that are considered */

/* A change: passes of the pipeline that belong together, as text. */
typedef struct unit {
  char *text;
} unit;

/* What a change is made of, such as the sizes of a `freeze`. The text is head, the parts that are
 * not dropped (or, with `is_except`, those dropped), tail. */
typedef struct parts {
  SURG_VEC(char *) items;
  char *head, *tail;
  bool is_except;
} parts;

typedef struct shortening {
  surg__repair *r;
  surg_context *ctx;
  SURG_VEC(unit) units;
  bool drop[MINIMAL_NAMES]; /* of units or parts, in a trial */
  surg__repair_counts most; /* objections that the result may have */
  size_t contradictions;    /* errors of `check` that the result may have */
  surg__consent used;       /* consent that the result may require */
  uint64_t work;
  bool failed;
} shortening;

/* --- text --- */

/* The end of the word or group that starts at `p`: the next comma, or closing brace, outside of
 * quotes, braces and parentheses. */
static const char *end_of(const char *p) {
  size_t depth = 0;
  bool quoted = false;
  for (; *p; p++) {
    if (quoted) {
      if (*p == '\\' && p[1])
        p++;
      else if (*p == '"')
        quoted = false;
    } else if (*p == '"') {
      quoted = true;
    } else if (*p == '{' || *p == '(') {
      depth++;
    } else if (*p == '}' || *p == ')') {
      if (!depth) return p;
      depth--;
    } else if (*p == ',' && !depth) {
      return p;
    }
  }
  return p;
}

static char *copy_of(shortening *s, const char *p, size_t n) {
  char *text = surg__alloc(s->ctx, n + 1);
  s->failed |= !text;
  if (!text) return NULL;
  memcpy(text, p, n);
  text[n] = 0;
  return text;
}

static bool starts_with(const char *text, const char *word) {
  return !strncmp(text, word, strlen(word));
}

/* Whether the pass only cleans up after the one before it. */
static bool cleans(const char *pass) {
  return starts_with(pass, "fold") || starts_with(pass, "prune") ||
         starts_with(pass, "rewrite{rule=nop-cast}") ||
         starts_with(pass, "rewrite{group=simplify}");
}

/* Reads the pipeline of the search as changes. A change starts where a cure started (`starts`), and
 * at every pass of it that does not clean up. */
static bool read_units(shortening *s, const char *text, const surg__repair *r) {
  const char *first = text;
  size_t next = 0;
  for (const char *p = text; *p && !s->failed;) {
    const char *end = end_of(p);
    const char *after = *end == ',' ? end + 1 : end;
    const size_t at = r->first_step + (size_t)(after - text);
    while (next < r->starts.count && r->starts.items[next] < at) next++;
    const bool cure = next < r->starts.count && r->starts.items[next] == at;
    if (!*after || cure || !cleans(after)) {
      const unit u = {copy_of(s, first, (size_t)(end - first))};
      if (!u.text || s->units.count == MINIMAL_UNITS || !surg__vec_push(s->ctx, &s->units, u)) {
        surg__free(s->ctx, u.text);
        return false;
      }
      first = after;
    }
    if (*end && *end != ',') return false;
    p = after;
  }
  return !s->failed;
}

/* --- trials --- */

/* Runs all changes that are not dropped (`drops`: those of s->drop), unit `at` with the text
 * `other`, on a copy of the model before the search. The search adopts the result if it is as good.
 * */
static bool adopt(shortening *s, bool drops, size_t at, const char *other) {
  surg__repair *r = s->r;
  surg__repair_counts now = {0};
  surg__consent all = r->used_before;
  surg_model *m = NULL;
  s->work += (surg_graph_node_count(surg_model_graph(r->original)) + 1) * s->units.count;
  if (s->failed || s->work > MINIMAL_NODES || !(m = surg_model_clone(r->original))) return false;
  surg_status done = SURG_OK;
  for (size_t i = 0; i < s->units.count && done == SURG_OK; i++) {
    surg__consent needed = {SURG_EXACT, false};
    if (drops && s->drop[i]) continue;
    done = surg__repair_run(s->ctx, &m, other && i == at ? other : s->units.items[i].text, r->given,
                            r->verify_each, &needed);
    if (needed.most > all.most) all.most = needed.most;
    all.interface |= needed.interface;
  }
  bool good = done == SURG_OK && surg__repair_covers(s->used, all) &&
              surg__repair_count(r->t, m, &now, NULL) == SURG_OK;
  good = good && now.all <= s->most.all && now.unknown <= s->most.unknown &&
         now.misread <= s->most.misread && surg__repair_contradictions(m) <= s->contradictions;
  if (!good) {
    if (m) surg_model_free(m);
    return false;
  }
  surg_model_free(r->m);
  surg__repair_put(r, m);
  s->used = all;
  s->most = now;
  return true;
}

typedef bool (*adopt_fn)(shortening *s, void *user);

/* Drops as many of n things as the trial allows: halves, then quarters, and so on, then single
 * ones, from the last, or from the first. At most 2 n trials. */
static bool drop_most(shortening *s, size_t n, bool from_first, adopt_fn trial, void *user) {
  bool any = false;
  size_t size = 1;
  assert(n <= MINIMAL_NAMES);
  memset(s->drop, 0, sizeof s->drop);
  while (size * 2 <= n) size *= 2;
  for (; size; size /= 2)
    for (size_t k = 0; k < n; k += size) {
      bool old[MINIMAL_NAMES];
      size_t fresh = 0;
      memcpy(old, s->drop, sizeof old);
      for (size_t i = k; i < k + size && i < n; i++) {
        bool *one = &s->drop[from_first ? i : n - 1 - i];
        fresh += !*one;
        *one = true;
      }
      if (fresh && trial(s, user))
        any = true;
      else
        memcpy(s->drop, old, sizeof old);
    }
  return any;
}

static bool adopt_units(shortening *s, void *user) {
  (void)user;
  return adopt(s, true, 0, NULL);
}

static void drop_units(shortening *s) {
  size_t left = 0;
  if (s->units.count < 2 || !drop_most(s, s->units.count, false, adopt_units, NULL)) return;
  for (size_t i = 0; i < s->units.count; i++) {
    if (s->drop[i])
      surg__free(s->ctx, s->units.items[i].text);
    else
      s->units.items[left++] = s->units.items[i];
  }
  s->units.count = left;
}

/* --- parts of a change --- */

static void free_parts(shortening *s, parts *p) {
  for (size_t i = 0; i < p->items.count; i++) surg__free(s->ctx, p->items.items[i]);
  surg__vec_free(s->ctx, &p->items);
  surg__free(s->ctx, p->head);
  surg__free(s->ctx, p->tail);
  *p = (parts){.head = NULL};
}

static bool add_part(shortening *s, parts *p, const char *text, size_t n) {
  char *copy = p->items.count < MINIMAL_NAMES ? copy_of(s, text, n) : NULL;
  if (copy && surg__vec_push(s->ctx, &p->items, copy)) return true;
  surg__free(s->ctx, copy);
  return false;
}

/* The sizes of `freeze{N=1,x.2=224},...`. */
static bool read_sizes(shortening *s, const char *text, parts *p) {
  static const char head[] = "freeze{";
  const char *at = text + sizeof head - 1;
  p->head = copy_of(s, head, sizeof head - 1);
  for (const char *end; *at; at = end + 1) {
    end = end_of(at);
    if (!add_part(s, p, at, (size_t)(end - at))) return false;
    if (*end != ',') {
      p->tail = copy_of(s, end, strlen(end));
      break;
    }
  }
  return p->head && p->tail && p->items.count > 1;
}

/* Whether an interface has a line that starts with these bytes. */
static bool has_line(const char *lines, const char *head, size_t n) {
  for (const char *at = lines; at && *at; at = strchr(at, '\n'), at += at != NULL)
    if (!strncmp(at, head, n)) return true;
  return false;
}

/* The inputs and outputs that the search changed (`removes`: the inputs that it removed):
 * `drop-io-casts,...`, or with `{except=a+b}`. */
static bool read_names(shortening *s, const char *text, const char *pass, bool removes, parts *p) {
  surg__buf lines[2], word;
  const char *rest = text + strlen(pass);
  surg_model *const models[] = {s->r->original, s->r->m};
  bool good = !starts_with(rest, "{") || starts_with(rest, "{except=");
  p->is_except = true;
  surg__buf_init(&word, s->ctx);
  surg__buf_printf(&word, "%s{except=", pass);
  if (*rest == '{') {
    const char *end = end_of(rest + 1);
    surg__buf_put(&word, rest + 8, (size_t)(end - rest - 8));
    surg__buf_putc(&word, '+');
    rest = *end ? end + 1 : end;
  }
  p->head = word.failed ? NULL : copy_of(s, word.p, word.n);
  p->tail = copy_of(s, rest, strlen(rest));
  for (size_t i = 0; i < 2; i++) {
    surg__buf_init(&lines[i], s->ctx);
    good = good && surg__repair_put_interface(models[i], &lines[i]) == SURG_OK;
    surg__buf_putc(&lines[i], 0);
    good = good && !lines[i].failed;
  }
  for (const char *at = lines[0].p, *end; good && *at; at = end) {
    size_t n = 0;
    const char *name = at + 1;
    while (*name >= '0' && *name <= '9') n = n * 10 + (size_t)(*name++ - '0');
    name++;
    end = strchr(name + n, '\n') + 1;
    if (has_line(lines[1].p, at, (size_t)(end - at)) ||
        has_line(lines[1].p, at, (size_t)(name + n + 1 - at)) == removes)
      continue;
    char *bare = copy_of(s, name, n);
    word.n = 0;
    if (bare) surg__pipeline_quote(&word, bare);
    surg__free(s->ctx, bare);
    good = !word.failed && add_part(s, p, word.p, word.n);
  }
  surg__buf_free(&lines[0]);
  surg__buf_free(&lines[1]);
  surg__buf_free(&word);
  return good && p->head && p->tail && p->items.count > 1;
}

/* A change and its parts. */
typedef struct narrowing {
  parts *p;
  size_t at;
  char *text; /* of the last trial that was adopted */
} narrowing;

static void put_parts(const shortening *s, const parts *p, surg__buf *out) {
  size_t n = 0;
  surg__buf_puts(out, p->head);
  for (size_t i = 0; i < p->items.count; i++) {
    if (s->drop[i] != p->is_except) continue;
    surg__buf_printf(out, "%s%s", n++ ? p->is_except ? "+" : "," : "", p->items.items[i]);
  }
  surg__buf_printf(out, "%s%s", p->is_except ? "}" : "", p->tail);
  surg__buf_putc(out, 0);
}

static bool adopt_parts(shortening *s, void *user) {
  narrowing *w = user;
  surg__buf text;
  size_t left = 0;
  bool good = false;
  for (size_t i = 0; i < w->p->items.count; i++) left += !s->drop[i];
  surg__buf_init(&text, s->ctx);
  if (left) put_parts(s, w->p, &text);
  if (left && !text.failed && adopt(s, false, w->at, text.p)) {
    char *copy = copy_of(s, text.p, text.n - 1);
    good = copy;
    if (copy) {
      surg__free(s->ctx, w->text);
      w->text = copy;
    }
  }
  surg__buf_free(&text);
  return good;
}

/* Narrows a change of the interface to what is required. */
static void narrow(shortening *s, size_t at) {
  static const struct {
    const char *pass;
    bool removes;
  } excepting[] = {{"drop-io-casts", false}, {"freeze-inputs", true}};
  const char *text = s->units.items[at].text;
  parts p = {.head = NULL};
  narrowing w = {&p, at, NULL};
  bool found = starts_with(text, "freeze{") && read_sizes(s, text, &p);
  for (size_t i = 0; i < SURG_COUNT(excepting) && !found; i++)
    found = starts_with(text, excepting[i].pass) &&
            read_names(s, text, excepting[i].pass, excepting[i].removes, &p);
  if (found && drop_most(s, p.items.count, true, adopt_parts, &w)) {
    surg__free(s->ctx, s->units.items[at].text);
    s->units.items[at].text = w.text;
  }
  free_parts(s, &p);
}

/* --- the result --- */

/* Writes the changes that are left after the first `first_step` bytes of the pipeline. */
static void write_units(shortening *s) {
  surg__repair *r = s->r;
  r->pipeline.n = r->first_step;
  while (r->pipeline.n && r->pipeline.p[r->pipeline.n - 1] == ',') r->pipeline.n--;
  for (size_t i = 0; i < s->units.count; i++)
    surg__buf_printf(&r->pipeline, "%s%s", r->pipeline.n ? "," : "", s->units.items[i].text);
  if (r->t->lenient) s->used.most = r->used.most; /* misread nodes remain */
  r->used = s->used;
}

surg_status surg__repair_shorten(surg__repair *r, surg__repair_counts *after) {
  shortening s = {.r = r, .ctx = r->ctx, .most = *after, .used = r->used};
  surg__buf text;
  if (!r->original || after->all || r->pipeline.n <= r->first_step) return SURG_OK;
  surg__buf_init(&text, r->ctx);
  surg__buf_put(&text, r->pipeline.p + r->first_step, r->pipeline.n - r->first_step);
  surg__buf_putc(&text, 0);
  if (!text.failed && read_units(&s, text.p, r)) {
    s.contradictions = surg__repair_contradictions(r->m);
    drop_units(&s);
    for (size_t i = 0; i < s.units.count; i++) narrow(&s, i);
    write_units(&s);
    *after = s.most;
  }
  surg__buf_free(&text);
  for (size_t i = 0; i < s.units.count; i++) surg__free(s.ctx, s.units.items[i].text);
  surg__vec_free(s.ctx, &s.units);
  return s.failed ? surg__alloc_status(s.ctx) : SURG_OK;
}
