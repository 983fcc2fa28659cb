/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a model that a rule may match: the pattern's own nodes, with types that their versions
 * take, shapes from shapes.c, attributes and constants from the guards or from what the operator
 * means. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "infer/ranges.h"

/* --- values --- */

static item *item_at(drawer *w, int i) {
  return i < 0 ? NULL : &w->c->items[i];
}

static int new_item(drawer *w, const char *name) {
  if (w->c->n_items == CASE_ITEMS) {
    w->failed = true;
    return 0;
  }
  item *it = &w->c->items[w->c->n_items];
  snprintf(it->name, sizeof it->name, "%s_%u", name, w->c->n_items);
  return (int)w->c->n_items++;
}

static int item_of(drawer *w, uint16_t var) {
  if (!w->of_var[var]) w->of_var[var] = new_item(w, w->rule->vars[var].name) + 1;
  return w->of_var[var] - 1;
}

static int64_t size(drawer *w) {
  if (w->d->tiny) return chance(w->d, 90) ? 1 : 2;
  static const uint8_t sizes[] = {1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 2, 3, 1, 2, 3};
  return chance(w->d, 5) ? 0 : sizes[roll(w->d, SURG_COUNT(sizes))];
}

static void count_elements(drawer *w, item *it) {
  uint64_t n;
  if (!surg__dims_product(it->dims, it->rank, &n) || n > CASE_ELEMENTS) {
    w->failed = true;
    n = 0;
  }
  it->count = n;
}

static int64_t *need_ints(drawer *w, item *it) {
  it->fixed = true;
  it->ints = surg__arena_array(w->arena, (size_t)it->count + 1, sizeof *it->ints);
  it->reals = surg__arena_array(w->arena, (size_t)it->count + 1, sizeof *it->reals);
  if (!it->ints || !it->reals) w->failed = true, it->count = 0;
  return it->ints;
}

/* --- shapes --- */

int64_t draw_letter(drawer *w, char c) {
  if (c == 'R') return w->first ? (int64_t)w->first->rank : 0;
  if (c == 'N') return w->outs;
  if (c == 'X') {
    if (!w->first || w->axis < 0 || w->axis >= (int64_t)w->first->rank) return 1;
    return w->first->dims[w->axis];
  }
  int64_t *at = &w->letters[c - 'A'];
  if (*at >= 0) return *at;
  *at = c == 'D' ? 1 + (int64_t)roll(w->d, 2) : c == 'G' ? 1 + (int64_t)roll(w->d, 2) : size(w);
  if (c == 'V')
    *at = draw_letter(w, 'R') ? 1 + (int64_t)roll(w->d, (unsigned)draw_letter(w, 'R')) : 0;
  if (c == 'Y') *at = roll(w->d, 4);
  return *at;
}

/* "2AB": a product of a number and letters. */
int64_t draw_product(drawer *w, const char **p) {
  int64_t v = 1;
  if (isdigit((unsigned char)**p)) v = strtol(*p, (char **)(uintptr_t)p, 10);
  while (isupper((unsigned char)**p)) v *= draw_letter(w, *(*p)++);
  return v;
}

static void base_shape(drawer *w, item *it, unsigned low, unsigned high) {
  if (w->base_rank == UINT32_MAX) {
    w->base_rank = low + roll(w->d, high - low + 1);
    for (unsigned i = 0; i < w->base_rank; i++) w->base[i] = size(w);
  }
  if (w->base_rank < low || w->base_rank > high) w->failed = true;
  it->rank = w->base_rank;
  memcpy(it->dims, w->base, sizeof w->base);
}

static void broadcast_shape(drawer *w, item *it) {
  if (w->base_rank == UINT32_MAX) base_shape(w, it, 0, 4);
  const unsigned cut = chance(w->d, 60) ? 0 : roll(w->d, w->base_rank + 1);
  it->rank = w->base_rank - cut;
  for (unsigned i = 0; i < it->rank; i++) it->dims[i] = chance(w->d, 25) ? 1 : w->base[cut + i];
}

static void window_shape(drawer *w, item *it) {
  if (!w->first) return;
  it->rank = w->first->rank;
  for (unsigned i = 0; i < it->rank; i++) {
    if (w->window[i] < 0)
      w->window[i] = w->first->dims[i] ? 1 + roll(w->d, (unsigned)w->first->dims[i]) : 0;
    it->dims[i] = w->window[i];
  }
}

static void letters_shape(drawer *w, item *it, const char *p) {
  it->rank = 0;
  while (*p && *p != '=' && *p != ';' && it->rank < CASE_RANK) {
    it->dims[it->rank++] = draw_product(w, &p);
    if (*p == ',') p++;
  }
}

static void shape(drawer *w, item *it, const char *p, int forced) {
  const unsigned low =
      isdigit((unsigned char)p[0] ? (unsigned char)p[1] : 0) ? (unsigned)(p[1] - '0') : 0;
  static const char *const bias[] = {"C", "1,C", "A,C", "A,1", "-"};
  if (*p == '~' && p[1] == '2') p = bias[roll(w->d, SURG_COUNT(bias))];
  switch (*p) {
    case '*':
      if (forced >= 0 && w->base_rank == UINT32_MAX)
        base_shape(w, it, (unsigned)forced, (unsigned)forced);
      else
        base_shape(w, it, low, low && p[2] != '+' ? low : low > 4 ? low : 4);
      break;
    case '~':
      broadcast_shape(w, it);
      break;
    case '-':
      it->rank = 0;
      break;
    case 'T':
      if (w->first && w->axis >= 0 && w->axis <= (int64_t)w->first->rank) {
        it->rank = w->first->rank - (unsigned)w->axis;
        memcpy(it->dims, w->first->dims + w->axis, it->rank * sizeof *it->dims);
      }
      break;
    case 'U':
      window_shape(w, it);
      break;
    default:
      letters_shape(w, it, p);
  }
  it->set = true;
  count_elements(w, it);
}

/* --- elements --- */

/* `count` axes of `rank`, none twice, some counted from the back. */
static void distinct_axes(drawer *w, int64_t *out, int64_t count, int64_t rank) {
  int64_t all[16];
  if (rank > 16 || count > rank) {
    w->failed = true;
    return;
  }
  for (int64_t i = 0; i < rank; i++) all[i] = i;
  for (int64_t i = 0; i < count; i++) {
    const int64_t k = i + roll(w->d, (unsigned)(rank - i)), t = all[k];
    all[k] = all[i];
    out[i] = w->c->from >= 11 && chance(w->d, 30) ? t - rank : t;
    all[i] = t;
  }
}

int64_t draw_index(drawer *w, int64_t n) {
  if (n <= 0) {
    w->failed = true;
    return 0;
  }
  const int64_t i = roll(w->d, (unsigned)n);
  return w->c->from >= 11 && chance(w->d, 30) ? i - n : i;
}

static int64_t along(const item *it, int64_t axis, uint64_t i) {
  uint64_t inner = 1;
  for (unsigned k = it->rank; k-- > (unsigned)axis + 1;) inner *= (uint64_t)it->dims[k];
  return inner ? (int64_t)(i / inner) % it->dims[axis] : 0;
}

static void fill_target(drawer *w, int64_t *out, uint64_t n) {
  uint64_t total = w->first ? w->first->count : 1;
  unsigned one = 0;
  while (w->first && one < w->first->rank && w->first->dims[one] != 1) one++;
  if (w->first && one < w->first->rank && w->first->rank == n + 1 && chance(w->d, 60)) {
    for (uint64_t i = 0; i < n; i++) out[i] = w->first->dims[i + (i >= one)];
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    const unsigned how = roll(w->d, 5);
    if (how == 0 && w->first && i < w->first->rank) {
      out[i] = 0;
      if (w->first->dims[i] && total % (uint64_t)w->first->dims[i] == 0)
        total /= (uint64_t)w->first->dims[i];
    } else if (i + 1 == n) {
      out[i] = chance(w->d, 50) ? -1 : (int64_t)total;
    } else {
      out[i] = PICK(w, 1, 2, 3, 1);
      if (out[i] && total % (uint64_t)out[i] == 0)
        total /= (uint64_t)out[i];
      else
        out[i] = 1;
    }
  }
}

/* Targets of the Reshapes of a channel shuffle of two groups. */
static void fill_groups(drawer *w, int64_t *out, uint64_t n) {
  const int64_t batch = draw_letter(w, 'A'), channels = draw_letter(w, 'C');
  const int64_t height = draw_letter(w, 'H'), width = draw_letter(w, 'W');
  const int64_t grouped[] = {batch * channels, 2, height * width};
  const int64_t restored[] = {2, batch, channels, height, width};
  for (uint64_t i = 0; i < n && i < 5; i++) out[i] = n == 3 ? grouped[i] : restored[i];
}

static void fill_parts(drawer *w, int64_t *out, uint64_t n) {
  int64_t left = draw_letter(w, 'X');
  for (uint64_t i = 0; i < n; i++) {
    out[i] = i + 1 == n ? left : (int64_t)roll(w->d, (unsigned)left + 1);
    left -= out[i];
  }
}

static void fill_axes(drawer *w, int64_t *out, uint64_t n, const char *word) {
  int64_t rank = draw_letter(w, 'R');
  if (!strcmp(word, "newaxes")) rank += (int64_t)n;
  distinct_axes(w, out, (int64_t)n, rank);
  if (w->failed || strcmp(word, "ones")) return;
  for (uint64_t i = 0; i < n; i++) w->first->dims[out[i] < 0 ? out[i] + rank : out[i]] = 1;
  count_elements(w, w->first);
}

static int64_t one_int(drawer *w, const char *word, const item *it, uint64_t i) {
  static const char *const small[] = {"small", "from", "zero", "false",
                                      "few",   "four", "reps", "two",   "one"};
  static const int8_t low[] = {-3, -3, 0, 0, 0, 1, 0, 2, 1}, high[] = {3, 3, 0, 0, 4, 4, 2, 2, 1};
  for (size_t k = 0; k < SURG_COUNT(small); k++)
    if (!strcmp(word, small[k]))
      return low[k] + (int64_t)roll(w->d, (unsigned)(high[k] - low[k] + 1));
  if (isdigit((unsigned char)word[0])) return strtol(word, NULL, 10);
  if (!strncmp(word, "below", 5)) return roll(w->d, (unsigned)(word[5] - '0'));
  if (!strcmp(word, "to")) return PICK(w, -5, -1, 0, 1, 3, 4, 7, 8);
  if (!strcmp(word, "last")) return INT32_MAX;
  if (!strcmp(word, "step") || !strcmp(word, "steps")) return PICK(w, 1, 1, 1, 2, 2, 3, -1, -2, -3);
  if (!strcmp(word, "pads")) return PICK(w, 0, 0, 1, 1, 2, 3, 0, -1);
  if (!strcmp(word, "rim")) return i % 4 < 2 ? 0 : PICK(w, 0, 1, 1, 2); /* of images */
  if (!strcmp(word, "starts")) return PICK(w, 0, 0, 1, 2, -1, -2, -4, 5, INT64_MAX, INT64_MIN);
  if (!strcmp(word, "ends"))
    return PICK(w, 0, 1, 2, 3, 4, -1, -2, -5, INT64_MAX, INT32_MAX, INT64_MIN);
  if (!strcmp(word, "axis0") || !strcmp(word, "axis1")) return draw_index(w, draw_letter(w, 'R'));
  if (!strcmp(word, "index")) return draw_index(w, draw_letter(w, 'X'));
  if (!strcmp(word, "k")) return roll(w->d, (unsigned)draw_letter(w, 'X') + 1);
  if (!strcmp(word, "lengths"))
    return roll(w->d, (unsigned)draw_letter(w, 'S') + 1);
  if (!strcmp(word, "sizes")) return size(w);
  if (!strcmp(word, "image")) {
    if (it->count == 4 && i < 2) return draw_letter(w, i ? 'C' : 'A');
    return it->count == 2 ? 5 : 1 + roll(w->d, 6);
  }
  if (!strcmp(word, "expand")) {
    const int64_t have = w->first && i < w->first->rank ? w->first->dims[i] : 1;
    return have != 1 || chance(w->d, 40) ? have : 1 + roll(w->d, 3);
  }
  if (!strcmp(word, "tuples")) {
    const int64_t k = it->rank ? (int64_t)(i % (uint64_t)it->dims[it->rank - 1]) : 0;
    return draw_index(w, w->first && k < (int64_t)w->first->rank ? w->first->dims[k] : 1);
  }
  if (!strcmp(word, "distinct"))
    return (along(it, w->axis, i) + w->window[0]) % (draw_letter(w, 'X') ? draw_letter(w, 'X') : 1);
  if (!strcmp(word, "windows")) return 5 * (int64_t)(i / 2) + (int64_t)(i % 2) * 2;
  w->failed = true;
  fprintf(stderr, "no word %s\n", word);
  return 0;
}

void draw_fill(drawer *w, item *it, const char *word) {
  if (!*word || !strcmp(word, "any")) return;
  if (!strcmp(word, "pos") || !strcmp(word, "boxes")) {
    it->range = 'p';
    return;
  }
  if (!strcmp(word, "unit") || !strcmp(word, "finite") || !strcmp(word, "number")) {
    it->range = *word;
    return;
  }
  if (it->made) return;
  int64_t *out = need_ints(w, it);
  static const double scales[] = {0.5, 1, 1.5, 2, 3, 0.7}, few[] = {0, 0.5, 1, 2, 3, -1};
  for (uint64_t i = 0; i < it->count; i++) it->reals[i] = few[roll(w->d, SURG_COUNT(few))];
  if (!strcmp(word, "half") || !strcmp(word, "ratio")) return;
  if (!strcmp(word, "scales") || !strcmp(word, "grow")) {
    for (uint64_t i = 0; i < it->count; i++)
      it->reals[i] = i + 2 < it->count || it->count < 3 ? 1 + (i == it->count - 1)
                     : *word == 'g' || w->c->from < 11
                         ? 1 + roll(w->d, 3) /* smaller: not said then */
                         : scales[roll(w->d, SURG_COUNT(scales))];
    return;
  }
  if (!strcmp(word, "axes") || !strcmp(word, "ones") || !strcmp(word, "newaxes")) {
    fill_axes(w, out, it->count, word);
    return;
  }
  if (!strcmp(word, "perm")) {
    const int64_t from = w->c->from;
    w->c->from = 0; /* none counted from the back */
    distinct_axes(w, out, (int64_t)it->count, (int64_t)it->count);
    w->c->from = from;
    return;
  }
  if (!strcmp(word, "parts")) {
    fill_parts(w, out, it->count);
    return;
  }
  if (!strcmp(word, "groups")) {
    fill_groups(w, out, it->count);
    return;
  }
  if (!strcmp(word, "target")) {
    fill_target(w, out, it->count);
    return;
  }
  for (uint64_t i = 0; i < it->count && !w->failed; i++) {
    out[i] = one_int(w, word, it, i);
    if (it->dtype == SURG_BOOL) out[i] &= 1;
    if (surg__dtype_is_float(it->dtype) && strcmp(word, "few")) it->reals[i] = (double)out[i];
  }
}

/* A constant whose elements are of no importance, or those that the guard asks for. */
static void fill_constant(drawer *w, item *it, const surg__rvalue *want) {
  static const double pool[] = {0, 1, -1, 0.5, 2, 3, -2.5, 6, 0.1, 100, -0.0, 1e-3};
  /* What rounds to integers, cancels, overflows, underflows. */
  static const double harsh[] = {8388608, -8388608, 16777216, -16777216, 12582912, -12582912, 1e30,
                                 -1e30,   1e-30,    -1e-30,   1e-40,     1e4,      1e-4,      1e38,
                                 3e38,    1e-37,    1e15,     1024,      0.0009765625};
  static const double harsh_half[] = {1024, -1024, 2048, 1536, -1536, 60000, 1e-4, 6e-8, 100};
  if (it->fixed) return;
  int64_t *out = need_ints(w, it);
  for (uint64_t i = 0; i < it->count; i++) {
    const bool half = it->dtype == SURG_FLOAT16;
    const double p = w->c->harsh && chance(w->d, 50)
                         ? half ? harsh_half[roll(w->d, SURG_COUNT(harsh_half))]
                                : harsh[roll(w->d, SURG_COUNT(harsh))]
                         : pool[roll(w->d, SURG_COUNT(pool))];
    it->reals[i] = it->range == 'p'   ? (p < 0    ? -p
                                         : p == 0 ? 0.25
                                                  : p)
                   : it->range == 'u' ? (p > 4 ? 1 : p / 4)
                                      : p;
    out[i] = PICK(w, 0, 1, 2, 3, -1, 5, -7, 100, 8);
    if (surg__dtype_is_unsigned_int(it->dtype) && out[i] < 0) out[i] = -out[i];
    if (it->dtype == SURG_BOOL) out[i] &= 1;
    if (!want) continue;
    it->reals[i] = want->kind == SURG__R_FLOAT ? want->one.f : (double)want->one.i;
    const bool large = want->kind == SURG__R_FLOAT && !(fabs((double)want->one.f) < 0x1p62);
    out[i] = large ? 0 : want->kind == SURG__R_FLOAT ? (int64_t)want->one.f : want->one.i;
  }
}

/* --- types --- */

static int literal_type(const char *type) {
  const size_t n = strlen(type);
  return n > 8 && !strncmp(type, "tensor(", 7) ? surg__dtype_from_name(type + 7, n - 8) : 0;
}

static int draw_dtype(drawer *w, const surg__type_param *p, int var) {
  static const int common[] = {SURG_FLOAT,   SURG_FLOAT,    SURG_FLOAT,  SURG_INT64,
                               SURG_FLOAT16, SURG_INT32,    SURG_DOUBLE, SURG_UINT8,
                               SURG_INT8,    SURG_BOOL,     SURG_INT16,  SURG_UINT16,
                               SURG_UINT32,  SURG_BFLOAT16, SURG_UINT64, SURG_STRING};
  static const int few_bits[] = {SURG_BOOL, SURG_UINT8, SURG_INT8, SURG_FLOAT16};
  for (int i = 0; w->d->tiny && p && i < 20; i++) {
    const int t = few_bits[roll(w->d, SURG_COUNT(few_bits))];
    if (p->tensor_mask >> t & 1) return t;
  }
  if (var >= 0 && w->h->n_dtypes[var] && chance(w->d, 85)) {
    const int t = w->h->dtypes[var][roll(w->d, w->h->n_dtypes[var])];
    if (!p || (p->tensor_mask >> t & 1)) return t;
  }
  for (int i = 0; p && i < 60; i++) {
    const int t = common[roll(w->d, SURG_COUNT(common))];
    if (p->tensor_mask >> t & 1) return t;
  }
  return SURG_FLOAT;
}

/* The type of a formal parameter; one is chosen where its type parameter is still free. */
static int formal_dtype(drawer *w, int *bound, const surg__param *formal, int var) {
  if (!formal) return SURG_FLOAT;
  const surg__type_param *p = surg__schema_type_param(w->schema, formal);
  if (!p) {
    const int t = literal_type(formal->type);
    return t ? t : SURG_FLOAT;
  }
  if (formal->option == SURG__VARIADIC && !formal->homogeneous) return draw_dtype(w, p, var);
  int *at = &bound[p - w->schema->params];
  if (!*at) *at = draw_dtype(w, p, var);
  return *at;
}

/* Type parameters that values drawn before settle; then those that a guard names. */
static void bind_types(drawer *w, int *bound) {
  const surg__rstmt *s = w->s;
  for (int round = 0; round < 2; round++)
    for (uint16_t i = 0; i < s->n_in + s->n_out; i++) {
      const surg__rarg *a = i < s->n_in ? &s->in[i] : &s->out[i - s->n_in];
      const surg__param *f =
          surg__schema_formal(w->schema, i >= s->n_in, i < s->n_in ? i : i - s->n_in);
      const surg__type_param *p = f ? surg__schema_type_param(w->schema, f) : NULL;
      if (a->kind != SURG__A_VALUE || !p || bound[p - w->schema->params]) continue;
      if (f->option == SURG__VARIADIC && !f->homogeneous) continue;
      const item *it = w->of_var[a->var] ? item_at(w, w->of_var[a->var] - 1) : NULL;
      if (!round && it && it->dtype) bound[p - w->schema->params] = it->dtype;
      if (round && w->h->n_dtypes[a->var]) bound[p - w->schema->params] = draw_dtype(w, p, a->var);
    }
}

/* --- nodes --- */

static const char *row_input(const shape_row *row, unsigned k, char *out, size_t room, char *word) {
  const char *p = row ? row->inputs : "*", *last = "*";
  for (unsigned i = 0;; i++) {
    while (*p == ' ') p++;
    if (!strncmp(p, "...", 3))
      p = last; /* the input before, again and again */
    else
      last = p;
    const char *end = p + strcspn(p, ";");
    if (i == k || (p == last && i + 1 > k)) {
      snprintf(out, room, "%.*s", (int)(end - p), p);
      break;
    }
    if (!*end) {
      if (row && strstr(row->inputs, "...")) {
        p = last;
        continue;
      }
      snprintf(out, room, row ? "*" : "~");
      break;
    }
    p = end + 1;
  }
  char *eq = strchr(out, '=');
  word[0] = 0;
  if (eq) {
    *eq = 0;
    snprintf(word, 20, "%s", eq + 1);
  }
  return out;
}

static void draw_input(drawer *w, unsigned k, item *it, int var) {
  char text[40], word[20];
  row_input(w->row, k, text, sizeof text, word);
  if (!it->set) shape(w, it, text, var >= 0 ? w->h->ranks[var] : -1);
  if (k == 0) w->first = it;
  if (!it->made && k > 0) draw_fill(w, it, word);
  if (k == 0 && *word) draw_fill(w, it, word);
}

static bool leaves_out(drawer *w, const surg__rarg *a) {
  if (a->kind == SURG__A_ABSENT) return true;
  if (!a->optional) return false;
  if (w->h->absent[a->var] && chance(w->d, 90)) return true;
  if (w->h->present[a->var] && chance(w->d, 95)) return false;
  return chance(w->d, 40);
}

static void settle_constant(drawer *w, item *it, int var) {
  if (it->made || it->constant) return;
  const bool asked = var >= 0 && w->h->constant[var];
  if (!chance(w->d, asked ? 85 : it->fixed ? 40 : 8)) return;
  const bool hinted = var >= 0 && w->h->n_values[var] && !it->fixed && chance(w->d, 70);
  fill_constant(w, it, hinted ? &w->h->values[var][roll(w->d, w->h->n_values[var])] : NULL);
  it->constant = true;
}

static void add_input(drawer *w, int i) {
  if (w->n->n_in < CASE_ARGS) w->n->in[w->n->n_in++] = i;
}

static void number_input(drawer *w, item *it, double number) {
  it->rank = 0;
  it->count = 1;
  it->set = it->constant = true;
  int64_t *ints = need_ints(w, it);
  if (ints) ints[0] = (int64_t)number, it->reals[0] = number;
}

/* Types first, then the first input, attributes, and what depends on them. */
static void draw_inputs(drawer *w, surg__match *m, int *bound) {
  const surg__rstmt *s = w->s;
  unsigned extra = 0;
  if (s->more_in && w->schema) {
    const uint32_t most = surg_schema_max_inputs(w->schema);
    const unsigned room = most == UINT32_MAX ? 3 : most > s->n_in ? (unsigned)(most - s->n_in) : 0;
    const unsigned least = w->schema->min_in > s->n_in ? w->schema->min_in - s->n_in : 0;
    extra = room > least ? least + roll(w->d, room - least + 1) : least;
  }
  for (unsigned k = 0; k < s->n_in + extra && !w->failed; k++) {
    const surg__rarg *a = k < s->n_in ? &s->in[k] : NULL;
    const surg__param *formal = w->schema ? surg__schema_formal(w->schema, false, k) : NULL;
    char text[40], word[20];
    row_input(w->row, k, text, sizeof text, word);
    if (a && !*text && a->kind == SURG__A_VALUE && !a->optional) w->failed = true;
    if (a && (!*text || leaves_out(w, a))) {
      add_input(w, -1);
      if (k == 0) draw_attrs(w, m);
      continue;
    }
    const int var = a && a->kind == SURG__A_VALUE ? a->var : -1;
    const int i = var >= 0 ? item_of(w, (uint16_t)var) : new_item(w, "more");
    item *it = item_at(w, i);
    if (!it->dtype)
      it->dtype = w->schema ? formal_dtype(w, bound, formal, var) : draw_dtype(w, NULL, var);
    if (a && a->kind == SURG__A_CONST)
      number_input(w, it, a->number);
    else
      draw_input(w, k, it, var);
    add_input(w, i);
    if (k == 0) draw_attrs(w, m);
    if (!a || a->kind == SURG__A_VALUE) settle_constant(w, it, var);
  }
  if (!s->n_in && !extra) draw_attrs(w, m);
  while (w->n->n_in && w->n->in[w->n->n_in - 1] < 0) w->n->n_in--;
}

static void draw_outputs(drawer *w, int *bound) {
  const surg__rstmt *s = w->s;
  for (unsigned k = 0; k < s->n_out + (s->more_out ? w->outs : 0); k++) {
    const surg__rarg *a = k < s->n_out ? &s->out[k] : NULL;
    if (a && (a->kind == SURG__A_ABSENT || (a->optional && k && chance(w->d, 40)))) {
      w->n->out[w->n->n_out++] = -1;
      continue;
    }
    const int i = a ? item_of(w, a->var) : new_item(w, "out");
    item *it = item_at(w, i);
    it->made = true;
    const surg__param *formal = w->schema ? surg__schema_formal(w->schema, true, k) : NULL;
    if (!it->dtype)
      it->dtype = w->schema ? formal_dtype(w, bound, formal, a ? a->var : -1) : SURG_FLOAT;
    if (w->first && w->schema && w->schema->flags & SURG__OP_ELEMENTWISE) {
      it->set = true;
      base_shape(w, it, 0, CASE_RANK);
      count_elements(w, it);
    }
    w->n->out[w->n->n_out++] = i;
  }
  while (w->n->n_out && w->n->out[w->n->n_out - 1] < 0) w->n->n_out--;
  if (!w->n->n_out) w->failed = true;
}

static void draw_node(drawer *w, surg__match *m, const surg__rstmt *s) {
  int bound[64] = {0};
  size_t rows = 0;
  if (w->c->n_nodes == CASE_NODES) {
    w->failed = true;
    return;
  }
  w->s = s;
  w->n = &w->c->nodes[w->c->n_nodes++];
  w->n->domain = s->domain;
  w->n->op_type = s->op_type;
  w->schema = surg_schema_find(s->domain, s->op_type,
                               s->domain[0] ? surg_schema_newest(s->domain) : w->c->from);
  if (surg_schema_newest(s->domain) && !w->schema) w->failed = true;
  if (w->failed) return;
  /* A row of the rule's own, by what the node makes, or one of the operator. */
  const char *made =
      s->n_out && s->out[0].kind == SURG__A_VALUE ? w->rule->vars[s->out[0].var].name : "";
  const bool own = shape_row_of(w->rule->name, made, 0);
  const char *domain = own ? w->rule->name : s->domain, *name = own ? made : s->op_type;
  while (shape_row_of(domain, name, rows)) rows++;
  w->row = rows ? shape_row_of(domain, name, roll(w->d, (unsigned)rows)) : NULL;
  w->first = NULL;
  for (unsigned i = 0; i < CASE_RANK; i++) w->window[i] = -1;
  w->outs = s->more_out ? 1 + roll(w->d, 3) : s->n_out;
  if (w->schema) bind_types(w, bound);
  draw_inputs(w, m, bound);
  draw_outputs(w, bound);
}

/* --- the case --- */

/* Where rules are used: within one opset (`replace`, `rewrite`), and for a step to the next one or
 * the one before where the operator changes or is not there. */
static bool meets(const drawer *w, int64_t from, int64_t to) {
  const surg__rstmt *s = &w->rule->match.stmts[w->rule->anchor];
  if (to < w->target->lo || to > w->target->hi || to < 1 || to > surg_schema_newest(""))
    return false;
  if (to == from) return strcmp(w->rule->group, "opset") != 0;
  if (*s->domain || (strcmp(w->rule->group, "opset") && strcmp(w->rule->group, "substitute")))
    return false;
  return surg_schema_find("", s->op_type, from) != surg_schema_find("", s->op_type, to);
}

static void draw_versions(drawer *w) {
  const surg_rule *r = w->rule;
  int64_t newest = surg_schema_newest(""), pairs[256][2];
  unsigned n = 0;
  for (int64_t v = r->match.lo; v <= r->match.hi && v <= newest; v++)
    for (int64_t to = v - 1; to <= v + 1; to++) {
      if (!meets(w, v, to) || n == SURG_COUNT(pairs)) continue;
      pairs[n][0] = v;
      pairs[n++][1] = to;
    }
  if (!n) {
    w->failed = true;
    return;
  }
  const unsigned how = roll(w->d, 4), k = how == 0 ? 0 : how == 1 ? n - 1 : roll(w->d, n);
  w->c->from = pairs[k][0];
  w->c->to = pairs[k][1];
}

/* What the emission makes anew is given out, and now and then what it does not. */
static void draw_graph_outputs(drawer *w) {
  rule_case *c = w->c;
  const surg__rblock *b = w->target;
  for (unsigned k = 0; k < c->n_items; k++) {
    if (!c->items[k].made) continue;
    bool made = false, read = false;
    for (uint16_t v = 0; v < b->bound; v++)
      for (uint16_t i = 0; i < b->n && w->of_var[v] == (int)k + 1; i++)
        for (uint16_t j = 0; b->stmts[i].kind != SURG__S_LET && j < b->stmts[i].n_out; j++)
          made |= b->stmts[i].out[j].kind == SURG__A_VALUE && b->stmts[i].out[j].var == v;
    for (unsigned i = 0; i < c->n_nodes; i++)
      for (unsigned j = 0; j < c->nodes[i].n_in; j++) read |= c->nodes[i].in[j] == (int)k;
    if ((made || !read) && c->n_outputs < CASE_ARGS && chance(w->d, made && read ? 50 : 100))
      c->outputs[c->n_outputs++] = (int)k;
  }
}

/* What is said of inputs, where a guard asks for ranges: ends that types and casts have, too. */
static void draw_ranges(drawer *w) {
  static const double ends[][2] = {
      {0, 0},        {1, 1},         {0, 1},          {1, 2},          {-2, -1},
      {0, 4},        {-1, 0},        {-1, 1},         {3, 9},          {2, 6},
      {0, 255},      {0, 256},       {-128, 127},     {-129, 127},     {-128, 128},
      {0, 65535},    {0, 65536},     {-32768, 32767}, {-32769, 32767}, {-32768, 32768},
      {0, 0x1p32},   {0, 0x1p32 - 1}, {-0x1p31, 0x1p31 - 1}, {-0x1p31 - 1, 0}, {0, 0x1p31},
      {0, 0x1p24},   {0, 0x1p24 + 1}, {-0x1p24 - 1, 0}, {0, 0x1p53}, {-0x1p54, 0}};
  for (unsigned i = 0; i < w->c->n_items; i++) {
    item *it = &w->c->items[i];
    if (it->made || it->constant || !it->set || it->dtype == SURG_STRING || chance(w->d, 10))
      continue;
    const bool whole = surg__dtype_is_int(it->dtype);
    const double *e = ends[roll(w->d, it->dtype == SURG_BOOL          ? 3
                                      : whole && chance(w->d, 60) ? SURG_COUNT(ends)
                                                                  : 10)];
    surg_range all;
    it->said = surg__range_of_dtype(it->dtype, &all);
    it->low = fmax(e[0], all.low);
    it->high = fmin(e[1], all.high);
    it->said = it->said && it->low <= it->high;
  }
}

rule_case *case_draw(surg_context *ctx, surg__arena *arena, const surg_rule *r, unsigned target,
                     dice *d) {
  static hints h;
  static surg__match m;
  drawer w = {.ctx = ctx, .arena = arena, .rule = r, .target = &r->emits[target], .d = d, .h = &h};
  rule_case *c = w.c = surg__arena_zalloc(arena, sizeof *c);
  if (!c) return NULL;
  c->items = surg__arena_array(arena, CASE_ITEMS, sizeof *c->items);
  c->nodes = surg__arena_array(arena, CASE_NODES, sizeof *c->nodes);
  if (!c->items || !c->nodes) return NULL;
  memset(&m, 0, sizeof m);
  m.ctx = ctx;
  m.arena = arena;
  m.rule = r;
  hints_of(&h, &m, r, w.target);
  c->target = target;
  c->harsh = d->harsh && chance(d, d->harsh);
  c->seed = d->state;
  draw_versions(&w);
  c->style = chance(d, 65) ? 0 : 1 + roll(d, 4);
  w.base_rank = UINT32_MAX;
  for (unsigned i = 0; i < LETTERS; i++) w.letters[i] = -1;
  for (uint16_t k = 0; k < r->match.n && !w.failed; k++)
    if (r->match.stmts[k].kind == SURG__S_NODE) draw_node(&w, &m, &r->match.stmts[k]);
  if (!w.failed && h.ranges) draw_ranges(&w);
  if (!w.failed) draw_graph_outputs(&w);
  return w.failed || !c->n_outputs ? NULL : c;
}
