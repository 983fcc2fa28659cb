/* SPDX-License-Identifier: Apache-2.0 */
/* Text for type sets, defaults and conditions. */
#include "schema/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"

#define BIT(d) (UINT32_C(1) << SURG_##d)
#define SIGNED (BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64))
#define UNSIGNED (BIT(UINT8) | BIT(UINT16) | BIT(UINT32) | BIT(UINT64))

/* Larger groups first: types that one group prints are not printed again. */
const surg__type_group surg__type_groups[] = {
    {"floats", BIT(FLOAT) | BIT(FLOAT16) | BIT(BFLOAT16) | BIT(DOUBLE)},
    {"integers", SIGNED | UNSIGNED},
    {"signed integers", SIGNED},
    {"unsigned integers", UNSIGNED},
    {"float8", BIT(FLOAT8E4M3FN) | BIT(FLOAT8E4M3FNUZ) | BIT(FLOAT8E5M2) | BIT(FLOAT8E5M2FNUZ)},
    {"complex", BIT(COMPLEX64) | BIT(COMPLEX128)},
};
const size_t surg__type_group_count = SURG_COUNT(surg__type_groups);

/* The wrappers for surg__type_set.mask; a type string ends with `closing` brackets. */
static const struct {
  const char *open, *words;
  size_t closing;
} wraps[] = {
    {"tensor(", "", 1},
    {"seq(tensor(", "sequences of ", 2},
    {"optional(tensor(", "optional ", 2},
    {"optional(seq(tensor(", "optional sequences of ", 3},
};

static void add_type(surg__type_set *t, const char *type) {
  const size_t n = strlen(type);
  for (size_t i = 0; i < SURG_COUNT(wraps); i++) {
    const size_t open = strlen(wraps[i].open);
    if (strncmp(type, wraps[i].open, open) || n < open + wraps[i].closing) continue;
    const int d = surg__dtype_from_name(type + open, n - open - wraps[i].closing);
    if (d <= 0) break;
    t->mask[i] |= UINT32_C(1) << d;
    return;
  }
  assert(t->n_others < SURG__TYPE_OTHERS);
  t->others[t->n_others++] = type;
}

void surg__type_set_of(const surg_schema *s, const surg__param *p, surg__type_set *out) {
  *out = (surg__type_set){0};
  const surg__type_param *t = surg__schema_type_param(s, p);
  if (!t) {
    add_type(out, p->type);
    return;
  }
  for (size_t i = 0; t->types[i]; i++) add_type(out, t->types[i]);
}

bool surg__type_set_within(const surg__type_set *a, const surg__type_set *b) {
  for (size_t i = 0; i < SURG_COUNT(a->mask); i++)
    if (a->mask[i] & ~b->mask[i]) return false;
  for (size_t i = 0; i < a->n_others; i++) {
    size_t k = 0;
    while (k < b->n_others && strcmp(a->others[i], b->others[k]) != 0) k++;
    if (k == b->n_others) return false;
  }
  return true;
}

static void put_item(surg__buf *b, bool *first, const char *name) {
  surg__buf_printf(b, "%s%s", *first ? "" : ", ", name);
  *first = false;
}

static size_t put_mask(surg__buf *b, uint32_t mask, uint32_t *groups) {
  bool first = true;
  size_t n = 0;
  for (size_t g = 0; g < surg__type_group_count; g++) {
    if ((mask & surg__type_groups[g].mask) != surg__type_groups[g].mask) continue;
    mask &= ~surg__type_groups[g].mask;
    if (groups) *groups |= UINT32_C(1) << g;
    put_item(b, &first, surg__type_groups[g].name);
    n++;
  }
  for (int d = 1; d < SURG_DTYPE_COUNT; d++) {
    if (!(mask >> d & 1)) continue;
    put_item(b, &first, surg__dtype_name(d));
    n++;
  }
  return n;
}

void surg__put_type_set(surg__buf *b, const surg__type_set *t, uint32_t *groups) {
  bool first = true;
  if (t->mask[0]) {
    put_mask(b, t->mask[0], groups);
    first = false;
  }
  for (size_t i = 1; i < SURG_COUNT(t->mask); i++) {
    if (!t->mask[i]) continue;
    put_item(b, &first, wraps[i].words);
    if (t->mask[i] == t->mask[0]) {
      surg__buf_puts(b, "these");
      continue;
    }
    surg__buf one;
    surg__buf_init(&one, b->ctx);
    const bool many = put_mask(&one, t->mask[i], groups) > 1;
    surg__buf_putc(&one, 0);
    surg__buf_printf(b, many ? "(%s)" : "%s", one.failed ? "?" : one.p);
    surg__buf_free(&one);
  }
  for (size_t i = 0; i < t->n_others; i++) put_item(b, &first, t->others[i]);
}

const char *surg__attr_kind_name(surg_attr_kind kind) {
  static const char *const names[] = {
      [SURG_ATTR_UNDEFINED] = "undefined",
      [SURG_ATTR_FLOAT] = "float",
      [SURG_ATTR_INT] = "int",
      [SURG_ATTR_STRING] = "string",
      [SURG_ATTR_TENSOR] = "tensor",
      [SURG_ATTR_GRAPH] = "graph",
      [SURG_ATTR_FLOATS] = "floats",
      [SURG_ATTR_INTS] = "ints",
      [SURG_ATTR_STRINGS] = "strings",
      [SURG_ATTR_TENSORS] = "tensors",
      [SURG_ATTR_GRAPHS] = "graphs",
      [SURG_ATTR_SPARSE_TENSOR] = "sparse_tensor",
      [SURG_ATTR_SPARSE_TENSORS] = "sparse_tensors",
      [SURG_ATTR_TYPE_PROTO] = "type_proto",
      [SURG_ATTR_TYPE_PROTOS] = "type_protos"};
  _Static_assert(SURG_COUNT(names) == SURG_ATTR_TYPE_PROTOS + 1, "a name for each kind");
  return (size_t)kind < SURG_COUNT(names) ? names[kind] : "?";
}

void surg__put_float(surg__buf *b, float f) {
  char text[32];
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)f);
    if (strtof(text, NULL) == f) break;
  }
  surg__buf_puts(b, text);
}

static void put_string(surg__buf *b, const char *s) {
  surg__buf_putc(b, '"');
  surg__buf_escape(b, s, strlen(s), 0);
  surg__buf_putc(b, '"');
}

static void put_list(surg__buf *b, const surg__attr_def *a) {
  surg__buf_putc(b, '[');
  for (uint32_t i = 0; i < a->n; i++) {
    if (i) surg__buf_puts(b, ", ");
    if (a->kind == SURG_ATTR_INTS)
      surg__buf_printf(b, "%lld", (long long)a->ints[i]);
    else if (a->kind == SURG_ATTR_FLOATS)
      surg__put_float(b, a->floats[i]);
    else
      put_string(b, a->strings[i]);
  }
  surg__buf_putc(b, ']');
}

void surg__put_default(surg__buf *b, const surg__attr_def *a) {
  if (!a->has_default) return;
  if (a->kind == SURG_ATTR_INT)
    surg__buf_printf(b, "%lld", (long long)a->i);
  else if (a->kind == SURG_ATTR_FLOAT)
    surg__put_float(b, a->f);
  else if (a->kind == SURG_ATTR_STRING)
    put_string(b, a->s);
  else
    put_list(b, a);
}

void surg__put_condition(surg__buf *b, const surg__condition *c) {
  const long long n = (long long)c->n;
  switch (c->kind) {
    case SURG__IF_IS:
    case SURG__IF_ISNT:
      surg__buf_printf(b, "%s is %s", c->attr, c->kind == SURG__IF_ISNT ? "not " : "");
      if (c->value)
        surg__buf_puts(b, c->value);
      else
        surg__buf_printf(b, "%lld", n);
      return;
    case SURG__IF_LEAST:
      surg__buf_printf(b, "%s >= %lld", c->attr, n);
      return;
    case SURG__IF_DROP:
      return;
    case SURG__IF_LAST:
      surg__buf_printf(b, "%s is the last axis", c->attr);
      return;
    case SURG__IF_GIVEN:
      surg__buf_printf(b, "input %lld is given", n);
      return;
    case SURG__IF_ABSENT:
      surg__buf_printf(b, "input %lld is left out", n);
      return;
    case SURG__IF_UNUSED:
      surg__buf_printf(b, "output %lld is not used", n);
      return;
    case SURG__IF_INDICES:
      surg__buf_printf(b, "input %lld is a constant >= 0", n);
      return;
    case SURG__IF_SCALAR:
      surg__buf_printf(b, "input %lld is a scalar", n);
      return;
    case SURG__IF_ONE:
      surg__buf_printf(b, "input %lld has one element", n);
      return;
    case SURG__IF_RANK:
      surg__buf_printf(b, "input %lld has rank %lld", n, (long long)c->m);
      return;
    case SURG__IF_ONE_OF:
      surg__buf_printf(b, "input %lld or %lld is absent or an empty constant", n, (long long)c->m);
      return;
    case SURG__IF_INSIDE:
      surg__buf_puts(b, "none does, as with ceil_mode 0, or strides + end pads <= kernel");
      return;
    case SURG__IF_SAME_SHAPES:
      surg__buf_puts(b, "all inputs have one shape");
      return;
    case SURG__IF_SAME_BRANCHES:
      surg__buf_puts(b, "all branches give the same shapes");
      return;
    case SURG__IF_SAME_CARRIED:
      surg__buf_puts(b, "what is carried is known to keep its shape");
      return;
  }
}

void surg__put_conditions(surg__buf *b, const surg__step_side *side) {
  const size_t start = b->n;
  for (uint32_t i = 0; i < side->count; i++) {
    if (side->conditions[i].kind == SURG__IF_DROP) continue;
    if (b->n > start) surg__buf_puts(b, " and ");
    surg__put_condition(b, &side->conditions[i]);
  }
}
