/* SPDX-License-Identifier: Apache-2.0 */
/* Reads targets from JSON. Unknown keys are errors. A target that inherits is read after its base
 * and overrides its values. */
#include <jansson.h>
#include <stdio.h>

#include "base/context.h"
#include "base/dtype.h"
#include "base/limits.h"
#include "check/check.h"
#include "target/judge.h"
#include "target/names.h"

typedef struct reader {
  surg__target *t;
  surg_context *ctx;
  const char *file;
  const char *source; /* of the facts being read */
  int op;             /* the id of their operator; 0: it has no schema */
  unsigned depth;     /* of inheritance */
  bool is_host;       /* reads the host of another target */
  bool failed;
} reader;

static bool fail(reader *r, const char *where, const char *what) {
  if (!r->failed) surg__error(r->ctx, SURG_EINVALID, r->file, "%s: %s", where, what);
  r->failed = true;
  return false;
}

static void *room(reader *r, size_t n, size_t size) {
  void *p = surg__arena_array(&r->t->arena, n + 1, size);
  if (!p && !r->failed) surg__oom(r->ctx, r->file);
  r->failed |= !p;
  if (p) memset(p, 0, (n + 1) * size);
  return p;
}

static const char *copy(reader *r, const char *s) {
  const size_t n = strlen(s);
  char *p = room(r, n, 1);
  if (p) memcpy(p, s, n + 1);
  return p;
}

static const char *text_of(reader *r, const json_t *j, const char *where) {
  if (!json_is_string(j)) {
    fail(r, where, "must be a string");
    return NULL;
  }
  return copy(r, json_string_value(j));
}

/* --- the parts of a fact --- */

/* Fails if no version of the operator has a part of this name, as it would never match. */
static bool check_part(reader *r, const char *where, unsigned kinds, const char *name) {
  char what[200];
  if (surg__target_part(r->op, kinds, name)) return true;
  snprintf(what, sizeof what, "no version of the operator has %s %.80s",
           kinds & SURG__N_ATTR    ? "an attribute"
           : kinds & SURG__N_TYPE  ? "a type parameter, input or output"
           : kinds & SURG__N_INPUT ? "an input"
                                   : "an output",
           surg__q(r->ctx, name));
  return fail(r, where, what);
}

static bool read_list(reader *r, const json_t *j, const char *where, surg__tlist *out) {
  if (!json_is_array(j)) return fail(r, where, "must be a list");
  out->n = json_array_size(j);
  out->items = room(r, out->n, sizeof *out->items);
  for (size_t i = 0; out->items && i < out->n; i++) {
    const json_t *e = json_array_get(j, i);
    char number[40];
    if (json_is_integer(e)) {
      snprintf(number, sizeof number, "%lld", (long long)json_integer_value(e));
      out->items[i] = copy(r, number);
    } else if (json_is_boolean(e)) {
      out->items[i] = json_is_true(e) ? "1" : "0";
    } else {
      out->items[i] = text_of(r, e, where);
    }
    if (!out->items[i]) return false;
  }
  return out->items != NULL;
}

/* Reads a bound of a span: a number, or null for no limit (`open`). */
static bool read_end(const json_t *j, int64_t open, int64_t *out) {
  *out = json_is_integer(j) ? (int64_t)json_integer_value(j) : open;
  return json_is_integer(j) || json_is_null(j);
}

static bool read_span(reader *r, const json_t *j, const char *where, surg__tspan *out) {
  if (!json_is_array(j) || json_array_size(j) != 2 ||
      !read_end(json_array_get(j, 0), INT64_MIN, &out->low) ||
      !read_end(json_array_get(j, 1), INT64_MAX, &out->high))
    return fail(r, where, "must be [low, high], either of them a number or null");
  return true;
}

static bool read_spans(reader *r, const json_t *j, const char *where, const surg__tspan **out,
                       size_t *n) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, where, "must be an object of [low, high]");
  surg__tspan *list = room(r, json_object_size(j), sizeof *list);
  *n = 0;
  *out = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!list || !(list[*n].name = copy(r, key)) || !read_span(r, v, where, &list[*n]))
      return false;
    ++*n;
  }
  return list != NULL;
}

/* Reads supported versions: "7-10,13,16+". */
static bool read_versions(reader *r, const json_t *j, const char *where, const surg__tspan **out,
                          size_t *n) {
  const char *s = json_string_value(j);
  if (!s) return fail(r, where, "versions must be text such as \"7-10,13\"");
  surg__tspan *list = room(r, strlen(s), sizeof *list);
  if (!list) return false;
  while (*s) {
    char *end;
    surg__tspan *v = &list[(*n)++];
    v->low = strtol(s, &end, 10);
    v->high = v->low;
    if (end == s || v->low < 1) return fail(r, where, "versions must be such as \"7-10,13,16+\"");
    s = end;
    if (*s == '+') {
      v->high = INT64_MAX;
      s++;
    } else if (*s == '-') {
      v->high = strtol(s + 1, &end, 10);
      if (end == s + 1 || v->high < v->low) return fail(r, where, "a range of versions is empty");
      s = end;
    }
    if (*s == ',')
      s++;
    else if (*s)
      return fail(r, where, "versions must be such as \"7-10,13,16+\"");
  }
  *out = list;
  return true;
}

static bool read_mask(reader *r, const json_t *j, const char *where, uint32_t *mask) {
  size_t i;
  json_t *v;
  if (!json_is_array(j)) return fail(r, where, "must be a list of element types");
  json_array_foreach((json_t *)(uintptr_t)j, i, v) {
    const int dtype = json_is_string(v) ? surg_dtype_from_name(json_string_value(v)) : 0;
    if (dtype <= 0 || dtype >= SURG__DTYPES) return fail(r, where, "there is no such element type");
    *mask |= UINT32_C(1) << dtype;
  }
  return true;
}

static bool read_types(reader *r, const json_t *j, const char *where, const surg__type_facts **out,
                       size_t *n) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, where, "types must be an object of lists");
  surg__type_facts *list = room(r, json_object_size(j), sizeof *list);
  *out = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!check_part(r, where, SURG__N_TYPE | SURG__N_INPUT | SURG__N_OUTPUT, key)) return false;
    if (!list || !(list[*n].name = copy(r, key)) || !read_mask(r, v, where, &list[*n].mask))
      return false;
    ++*n;
  }
  return list != NULL;
}

static bool read_attrs(reader *r, const json_t *j, const char *where, surg__tfact *f) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, where, "attrs must be an object of lists");
  surg__tattr *list = room(r, json_object_size(j), sizeof *list);
  f->attrs = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!check_part(r, where, SURG__N_ATTR, key)) return false;
    if (!list || !(list[f->n_attrs].name = copy(r, key)) ||
        !read_list(r, v, where, &list[f->n_attrs].values))
      return false;
    f->n_attrs++;
  }
  return list != NULL;
}

static bool read_spreads(reader *r, const json_t *j, const char *where, surg__tfact *f) {
  static const char *const names[] = {
      [SURG__S_LAST] = "last",     [SURG__S_CHANNEL] = "channel", [SURG__S_FRONT] = "front",
      [SURG__S_SINGLE] = "single", [SURG__S_ONCE] = "once",       [SURG__S_EARLY] = "early",
      [SURG__S_PLANES] = "planes", [SURG__S_GAP] = "gap"};
  _Static_assert(SURG_COUNT(names) == SURG__S_GAP + 1, "a word for each way to repeat");
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, where, "must be an object of words");
  surg__tspreads *list = room(r, json_object_size(j), sizeof *list);
  f->spreads = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const char *word = json_string_value(v);
    size_t how = 0;
    while (word && how < SURG_COUNT(names) && strcmp(names[how], word) != 0) how++;
    if (!word || how == SURG_COUNT(names))
      return fail(r, where, "must be a way to repeat that is known (doc/targets.md lists them)");
    if (!check_part(r, where, SURG__N_INPUT, key)) return false;
    if (!list || !(list[f->n_spreads].name = copy(r, key))) return false;
    list[f->n_spreads++].how = (surg__tspread)how;
  }
  return list != NULL;
}

/* Reads a key whose value is a list of names, or an object of spans by name. *mine: the key is one
 * of these. */
static bool read_named(reader *r, const char *key, const json_t *j, const char *where,
                       surg__tfact *f, bool *mine) {
  const struct {
    const char *key;
    unsigned kinds;
    surg__tlist *to;
  } lists[] = {{"const", SURG__N_INPUT, &f->constants},
               {"absent", SURG__N_INPUT | SURG__N_OUTPUT, &f->absent},
               {"shaped", SURG__N_INPUT, &f->shaped},
               {"row", SURG__N_INPUT, &f->row},
               {"stored", SURG__N_INPUT, &f->stored},
               {"layers", SURG__N_INPUT, &f->layers},
               {"unshared", SURG__N_INPUT, &f->unshared},
               {"nodes", SURG__N_INPUT, &f->nodes},
               {"initializers", SURG__N_INPUT, &f->initializers},
               {"given", SURG__N_INPUT | SURG__N_OUTPUT, &f->given},
               {"producers", 0, &f->producers},
               {"not_producers", 0, &f->not_producers},
               {"no_attrs", SURG__N_ATTR, &f->no_attrs},
               {"written", SURG__N_ATTR, &f->written},
               {"unwritten", SURG__N_ATTR, &f->unwritten},
               {"iota", SURG__N_ATTR, &f->iota},
               {"halves", SURG__N_ATTR, &f->halves},
               {"odd", SURG__N_ATTR, &f->odd}};
  const struct {
    const char *key;
    unsigned kinds;
    const surg__tspan **to;
    size_t *n;
  } spans[] = {{"rank", SURG__N_INPUT | SURG__N_OUTPUT, &f->ranks, &f->n_ranks},
               {"size", SURG__N_INPUT, &f->sizes, &f->n_sizes},
               {"values", SURG__N_INPUT, &f->values, &f->n_values},
               {"known", SURG__N_INPUT, &f->known, &f->n_known},
               {"each", SURG__N_ATTR, &f->each, &f->n_each},
               {"axes", 0, &f->axes, &f->n_axes}, /* what judge_axes.c counts */
               {"counts", SURG__N_ATTR, &f->counts, &f->n_counts}};
  *mine = true;
  for (size_t i = 0; i < SURG_COUNT(lists); i++) {
    if (strcmp(lists[i].key, key) != 0) continue;
    if (!read_list(r, j, where, lists[i].to)) return false;
    for (size_t k = 0; k < lists[i].to->n && lists[i].kinds; k++)
      if (!check_part(r, where, lists[i].kinds, lists[i].to->items[k])) return false;
    return true;
  }
  for (size_t i = 0; i < SURG_COUNT(spans); i++) {
    if (strcmp(spans[i].key, key) != 0) continue;
    if (!read_spans(r, j, where, spans[i].to, spans[i].n)) return false;
    for (size_t k = 0; k < *spans[i].n; k++)
      if (spans[i].kinds ? !check_part(r, where, spans[i].kinds, (*spans[i].to)[k].name)
                         : surg__judge_axis_limit((*spans[i].to)[k].name) < 0)
        return fail(r, where, "must limit what a part of the node has, or what its axes are");
    return true;
  }
  *mine = false;
  return true;
}

/* Reads sizes of axes: {"X.1": [low, high], "X.-1": ...}. */
static bool read_dims(reader *r, const json_t *j, const char *where, surg__tfact *f) {
  if (!read_spans(r, j, where, &f->dims, &f->n_dims)) return false;
  for (size_t i = 0; i < f->n_dims; i++) {
    char name[80];
    const char *dot = strrchr(f->dims[i].name, '.');
    char *end = NULL;
    if (dot) strtol(dot + 1, &end, 10);
    if (!dot || end == dot + 1 || *end ||
        (size_t)snprintf(name, sizeof name, "%.*s", (int)(dot - f->dims[i].name),
                         f->dims[i].name) >= sizeof name)
      return fail(r, where, "must name an input or output and an axis, such as \"X.1\"");
    if (!check_part(r, where, SURG__N_INPUT | SURG__N_OUTPUT, name)) return false;
  }
  return true;
}

static bool read_branches(reader *r, const json_t *j, const char *where, surg__tfact *f) {
  const char *word = json_string_value(j);
  f->branch_ranks = word && !strcmp(word, "rank");
  f->branch_spread = word && !strcmp(word, "broadcast");
  return f->branch_ranks || f->branch_spread || fail(r, where, "must be \"rank\" or \"broadcast\"");
}

/* Reads a list of operators of the tables, or of those that the target names as its own; a form
 * of it may follow, such as "/const". */
static bool read_operators(reader *r, const json_t *j, const char *where, surg__tlist *to) {
  char why[200];
  int op;
  if (!read_list(r, j, where, to)) return false;
  for (size_t i = 0; i < to->n; i++) {
    char name[256];
    const char *how = strchr(to->items[i], '/');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(to->items[i], "/"), to->items[i]);
    if (how && !surg__judge_form(how + 1)) return fail(r, where, "no operator has such a form");
    if (!surg__target_knows(r->t, name, &op, why, sizeof why)) return fail(r, where, why);
  }
  return true;
}

static bool read_part(reader *r, const char *key, const json_t *j, const char *where,
                      surg__tfact *f) {
  bool mine;
  if (!read_named(r, key, j, where, f, &mine)) return false;
  if (mine) return true;
  if (!strcmp(key, "versions")) return read_versions(r, j, where, &f->versions, &f->n_versions);
  if (!strcmp(key, "opsets")) return read_versions(r, j, where, &f->opsets, &f->n_opsets);
  if (!strcmp(key, "types")) return read_types(r, j, where, &f->types, &f->n_types);
  if (!strcmp(key, "not_types")) return read_types(r, j, where, &f->not_types, &f->n_not_types);
  if (!strcmp(key, "attrs")) return read_attrs(r, j, where, f);
  if (!strcmp(key, "spread")) return read_spreads(r, j, where, f);
  if (!strcmp(key, "dims")) return read_dims(r, j, where, f);
  if (!strcmp(key, "branches")) return read_branches(r, j, where, f);
  if (!strcmp(key, "not_before")) return read_operators(r, j, where, &f->not_before);
  if (!strcmp(key, "only_before")) return read_operators(r, j, where, &f->only_before);
  if (!strcmp(key, "not_after")) return read_operators(r, j, where, &f->not_after);
  if (!strcmp(key, "says")) return (f->says = text_of(r, j, where)) != NULL;
  if (!strcmp(key, "source")) return (f->source = text_of(r, j, where)) != NULL;
  if (!strcmp(key, "batch")) {
    f->batch = json_integer_value(j);
    return f->batch > 0 || fail(r, where, "batch must be a number from 1 on");
  }
  if (!strcmp(key, "static") && json_is_string(j)) {
    f->fixed = f->open_first = !strcmp(json_string_value(j), "batch");
    return f->fixed || fail(r, where, "must be true, false or \"batch\"");
  }
  if (!strcmp(key, "same") && json_is_string(j)) {
    f->same = f->but_two = !strcmp(json_string_value(j), "batch");
    return f->same || fail(r, where, "must be true, false or \"batch\"");
  }
  if (!strcmp(key, "fed") && json_is_array(j)) return read_list(r, j, where, &f->variable);
  const struct {
    const char *key;
    bool *to;
  } flags[] = {{"refused", &f->refused}, {"misread", &f->misread},
               {"static", &f->fixed},    {"fed", &f->fed},
               {"same", &f->same},       {"whole", &f->whole},
               {"folds", &f->folds},     {"distinct", &f->distinct},
               {"still", &f->still},     {"plain_equation", &f->plain_equation},
               {"inner", &f->inner},     {"settled", &f->settled},
               {"agree", &f->agree}};
  for (size_t i = 0; i < SURG_COUNT(flags); i++) {
    if (strcmp(flags[i].key, key) != 0) continue;
    *flags[i].to = json_is_true(j);
    return json_is_boolean(j) || fail(r, where, "must be true or false");
  }
  return fail(r, where, "has a key that no fact has (doc/targets.md lists them)");
}

static bool read_fact(reader *r, const json_t *j, const char *op, surg__tfact *f) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, op, "must be an object of facts, or a list of such");
  f->source = r->source;
  f->bare = json_object_size(j) == 0;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    char where[200];
    snprintf(where, sizeof where, "ops: %.80s: %.80s", op, key);
    if (!read_part(r, key, v, surg__q(r->ctx, where), f)) return false;
  }
  return true;
}

/* --- a target --- */

static size_t find_op(const surg__target *t, const char *name) {
  for (size_t i = 0; i < t->ops.count; i++)
    if (!strcmp(t->ops.items[i].name, name)) return i;
  return t->ops.count;
}

/* Reads the facts of an operator; null removes inherited ones. `base` is the number of inherited
 * operators: only these may be replaced. */
static bool read_op(reader *r, const char *key, const json_t *j, size_t base) {
  surg__target *t = r->t;
  char name[256], where[200], why[200];
  snprintf(where, sizeof where, "ops: %.80s", key);
  if (!surg__target_name(key, name, sizeof name))
    return fail(r, surg__q(r->ctx, where), "must be the name of an operator");
  if (!surg__target_knows(t, name, &r->op, why, sizeof why))
    return fail(r, surg__q(r->ctx, where), why);
  const size_t same = find_op(t, name), at = base ? same : t->ops.count;
  if (same >= base && same < t->ops.count)
    return fail(r, surg__q(r->ctx, where), "the operator is listed twice");
  if (json_is_null(j)) {
    if (at < t->ops.count) t->ops.items[at] = t->ops.items[--t->ops.count];
    return true;
  }
  const size_t n = json_is_array(j) ? json_array_size(j) : 1;
  surg__tfact *facts = room(r, n, sizeof *facts);
  const surg__op_facts op = {copy(r, name), facts, n};
  if (!facts || !op.name) return false;
  for (size_t i = 0; i < n; i++)
    if (!read_fact(r, json_is_array(j) ? json_array_get(j, i) : j, op.name, &facts[i]))
      return false;
  if (at < t->ops.count)
    t->ops.items[at] = op;
  else if (!surg__vec_push(r->ctx, &t->ops, op))
    return fail(r, name, "out of memory");
  return true;
}

static bool read_ops(reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  const size_t base = r->t->ops.count;
  if (!json_is_object(j)) return fail(r, "ops", "must be an object");
  if (base + json_object_size(j) > SURG_LIMIT_TARGET_OPS) return fail(r, "ops", "too many");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) if (!read_op(r, key, v, base)) return false;
  return true;
}

static bool read_tri(reader *r, const json_t *j, const char *key, surg__tri *out) {
  *out = json_is_true(j) ? SURG__YES : json_is_false(j) ? SURG__NO : SURG__UNSAID;
  return json_is_boolean(j) || json_is_null(j) || fail(r, key, "must be true, false or null");
}

/* A number of at least 1; null: not stated. */
static bool read_count(reader *r, const json_t *j, const char *key, int64_t *out) {
  *out = json_is_integer(j) ? json_integer_value(j) : 0;
  return json_is_null(j) || *out > 0 || fail(r, key, "must be a number above 0, or null");
}

/* As read_tri, or "misread": imported, and computed differently. */
static bool read_how(reader *r, const json_t *j, const char *key, surg__tri *out) {
  const char *s = json_string_value(j);
  if (!s) return read_tri(r, j, key, out);
  *out = SURG__MISREAD;
  return !strcmp(s, "misread") || fail(r, key, "must be true, false, null or \"misread\"");
}

static bool read_dynamic(reader *r, const json_t *j) {
  const char *s = json_string_value(j);
  surg__tdynamic *d = &r->t->dynamic;
  *d = json_is_true(j) ? SURG__D_ALL : json_is_false(j) ? SURG__D_NONE : SURG__D_UNSAID;
  if (s && !strcmp(s, "batch")) *d = SURG__D_BATCH;
  return json_is_boolean(j) || json_is_null(j) || *d == SURG__D_BATCH ||
         fail(r, "dynamic", "must be true, false, \"batch\" or null");
}

static bool read_as(reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, "types_as", "must be an object of element types");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const int from = surg_dtype_from_name(key);
    const int to = json_is_string(v) ? surg_dtype_from_name(json_string_value(v)) : 0;
    if (from <= 0 || from >= SURG__DTYPES || to <= 0 || to >= SURG__DTYPES)
      return fail(r, "types_as", "there is no such element type");
    r->t->as[from] = (uint8_t)to;
  }
  return true;
}

/* Reads exceptions from types_as: {"Relu": "14+"}; "" removes an inherited one. */
static bool read_apart(reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, "types_as_not", "must be an object of operators");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    surg__tapart one = {.name = copy(r, key)};
    const char *text = json_string_value(v);
    if (!one.name) return false;
    int op;
    char why[160];
    if (!surg__target_knows(r->t, key, &op, why, sizeof why)) return fail(r, "types_as_not", why);
    if (!(text && !*text) && !read_versions(r, v, "types_as_not", &one.opsets, &one.n))
      return false;
    size_t i = 0;
    while (i < r->t->apart.count && strcmp(r->t->apart.items[i].name, key) != 0) i++;
    if (i < r->t->apart.count)
      r->t->apart.items[i] = one;
    else if (!surg__vec_push(r->ctx, &r->t->apart, one))
      return fail(r, "types_as_not", "out of memory");
  }
  return true;
}

static bool read_within(reader *r, const json_t *j) {
  const surg__tspan *list;
  size_t n;
  memset(r->t->within, 0, sizeof r->t->within); /* removes inherited values */
  if (json_is_null(j)) return true;
  if (!read_spans(r, j, "weight_values", &list, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    const int d = surg_dtype_from_name(list[i].name);
    if (d <= 0 || d >= SURG__DTYPES)
      return fail(r, "weight_values", "there is no such element type");
    r->t->within[d] = list[i];
  }
  return true;
}

static bool read_opsets(reader *r, const json_t *j) {
  const surg__tspan *list;
  size_t n;
  surg__target *t = r->t;
  t->opsets.count = 0;
  if (!read_spans(r, j, "opset", &list, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    surg__tspan one = list[i];
    if (!strcmp(one.name, "ai.onnx")) one.name = "";
    if (!surg__vec_push(r->ctx, &t->opsets, one)) return fail(r, "opset", "out of memory");
  }
  return true;
}

/* Reads `own`, which extends the inherited list. */
static bool read_own(reader *r, const json_t *j) {
  surg__tlist list = {0};
  if (!read_list(r, j, "own", &list)) return false;
  for (size_t i = 0; i < list.n; i++)
    if (!surg__vec_push(r->ctx, &r->t->own, list.items[i])) return fail(r, "own", "out of memory");
  return true;
}

static bool read_text(reader *r, const char *text, size_t n);

static bool read_inherit(reader *r, const json_t *j) {
  const char *name = json_string_value(j);
  if (!name) return fail(r, "inherit", "must be the name of a target");
  if (++r->depth > SURG_LIMIT_TARGET_DEPTH)
    return fail(r, "inherit", "targets inherit in a circle");
  for (size_t i = 0; i < surg__target_count; i++) {
    const surg__target_text *base = &surg__target_texts[i];
    if (strcmp(base->name, name) != 0) continue;
    const char *file = r->file;
    r->file = base->name;
    const bool done = read_text(r, base->text, strlen(base->text));
    r->file = file;
    return done;
  }
  return fail(r, "inherit", "there is no built-in target of that name");
}

static surg__target *read_whole(reader *r, const char *text, size_t n, const char *name);

/* Reads the host of a target. A host has no host itself. */
static bool read_host(reader *r, const json_t *j) {
  const char *name = json_string_value(j);
  surg__target_free(r->t->host); /* removes an inherited host */
  r->t->host = NULL;
  if (json_is_null(j)) return true;
  if (!name || r->is_host) return fail(r, "fallback", "must be the name of a target without one");
  for (size_t i = 0; i < surg__target_count; i++) {
    const surg__target_text *text = &surg__target_texts[i];
    reader host = {.ctx = r->ctx, .file = r->file, .is_host = true};
    if (strcmp(text->name, name) != 0) continue;
    r->t->host = read_whole(&host, text->text, strlen(text->text), text->name);
    r->failed |= !r->t->host;
    return r->t->host != NULL;
  }
  return fail(r, "fallback", "there is no built-in target of that name");
}

static surg__taccept *accept_of(surg__target *t, const char *code) {
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0) return &t->accepts.items[i];
  return NULL;
}

/* Reads `{"E113": false}`; null removes an inherited value. */
static bool read_accepts(reader *r, const json_t *j) {
  const char *code;
  json_t *v;
  if (!json_is_object(j)) return fail(r, "accepts", "must be an object of codes of check");
  json_object_foreach((json_t *)(uintptr_t)j, code, v) {
    surg__taccept *a = accept_of(r->t, code), made = {.accepted = json_is_true(v)};
    if (strcmp(surg__check_rule(code)->code, code) != 0)
      return fail(r, "accepts", "has a code that check does not have (doc/check.md)");
    if (!json_is_boolean(v) && !json_is_null(v))
      return fail(r, "accepts", "values must be true, false or null");
    snprintf(made.code, sizeof made.code, "%s", code);
    if (a && json_is_null(v)) {
      *a = r->t->accepts.items[--r->t->accepts.count];
    } else if (a) {
      a->accepted = made.accepted;
    } else if (!json_is_null(v) && !surg__vec_push(r->ctx, &r->t->accepts, made)) {
      r->failed = true;
      return false;
    }
  }
  return true;
}

/* A key whose value is true, false, or null for "not known". */
static bool read_flag(reader *r, const char *key, const json_t *j, bool *found) {
  surg__target *t = r->t;
  const struct {
    const char *key;
    surg__tri *to;
  } tris[] = {{"functions", &t->functions},
              {"custom", &t->custom},
              {"nested_calls", &t->nested},
              {"unused_inputs", &t->unused},
              {"idle_constants", &t->idle},
              {"function_graphs", &t->bodied},
              {"passed_inputs", &t->passed},
              {"function_opsets", &t->windows},
              {"spelled_functions", &t->spelled},
              {"repeated_calls", &t->repeats},
              {"unimported_calls", &t->outside},
              {"optional_ends", &t->optional},
              {"bare_outputs", &t->bare},
              {"external_data", &t->external},
              {"missing_files", &t->missing_files},
              {"short_files", &t->short_files},
              {"sparse", &t->sparse},
              {"empty_lists", &t->empty_lists},
              {"spec_bodies", &t->bodies}};
  const struct {
    const char *key;
    bool *to;
  } flags[] = {{"folds", &t->folds},
               {"declared", &t->declared},
               {"defaults", &t->defaults},
               {"closed", &t->closed},
               {"names_only", &t->names_only},
               {"last_import", &t->last_import},
               {"lax_attributes", &t->lax_attributes},
               {"inlined", &t->inlined},
               {"short_domain", &t->short_domain},
               {"drops_bare", &t->drops_bare},
               {"import_calls", &t->import_calls},
               {"same_references", &t->same_references},
               {"absent_operands", &t->absent_operands},
               {"unchecked", &t->unchecked},
               {"needs_value", &t->needs_value},
               {"shapes_inside", &t->shapes_inside},
               {"strict_shapes", &t->strict_shapes},
               {"half_any", &t->half_any}};
  *found = true;
  for (size_t i = 0; i < SURG_COUNT(tris); i++)
    if (!strcmp(tris[i].key, key)) return read_tri(r, j, key, tris[i].to);
  for (size_t i = 0; i < SURG_COUNT(flags); i++) {
    if (strcmp(flags[i].key, key) != 0) continue;
    *flags[i].to = json_is_true(j);
    return json_is_boolean(j) || fail(r, key, "must be true or false");
  }
  *found = false;
  return true;
}

/* A set of element types; null: all. It replaces the one that is inherited. */
static bool read_type_set(reader *r, const char *key, const json_t *j, uint32_t *to) {
  *to = 0;
  return json_is_null(j) || read_mask(r, j, key, to);
}

static bool read_date(reader *r, const json_t *j) {
  static const char form[] = "0000-00-00";
  const char *text = r->t->date = text_of(r, j, "date");
  if (!text) return false;
  bool good = strlen(text) == sizeof form - 1;
  for (size_t i = 0; good && form[i]; i++)
    good = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  return good || fail(r, "date", "must be written as YYYY-MM-DD");
}

static bool read_key(reader *r, const char *key, const json_t *j) {
  surg__target *t = r->t;
  bool found;
  const bool flag = read_flag(r, key, j, &found);
  if (found) return flag;
  if (!strcmp(key, "inherit") || !strcmp(key, "source") || !strcmp(key, "own"))
    return true; /* already read by read_target */
  if (!strcmp(key, "schema"))
    return json_integer_value(j) == 1 || fail(r, key, "only schema 1 is known");
  if (!strcmp(key, "name")) return (t->name = text_of(r, j, key)) != NULL;
  if (!strcmp(key, "says") && json_is_null(j)) return (t->says = NULL) == NULL;
  if (!strcmp(key, "says")) return (t->says = text_of(r, j, key)) != NULL;
  if (!strcmp(key, "date")) return read_date(r, j);
  if (!strcmp(key, "title")) return (t->title = text_of(r, j, key)) != NULL;
  if (!strcmp(key, "opset")) return read_opsets(r, j);
  if (!strcmp(key, "ir")) return json_is_null(j) || read_span(r, j, key, &t->ir);
  if (!strcmp(key, "ends")) return read_type_set(r, key, j, &t->ends);
  if (!strcmp(key, "weights")) return read_type_set(r, key, j, &t->weights);
  if (!strcmp(key, "elements")) return read_type_set(r, key, j, &t->elements);
  if (!strcmp(key, "nesting")) return read_count(r, j, key, &t->nesting);
  if (!strcmp(key, "weight_rank")) return read_count(r, j, key, &t->weight_rank);
  if (!strcmp(key, "weight_values")) return read_within(r, j);
  if (!strcmp(key, "constant_outputs")) return read_how(r, j, key, &t->fixed);
  if (!strcmp(key, "empty_inputs")) return read_how(r, j, key, &t->empty);
  if (!strcmp(key, "unsorted")) {
    t->unsorted_main = json_is_string(j) && !strcmp(json_string_value(j), "main");
    if (t->unsorted_main) t->unsorted = SURG__YES;
    return t->unsorted_main || read_tri(r, j, key, &t->unsorted);
  }
  if (!strcmp(key, "external_keys")) return read_list(r, j, key, &t->external_keys);
  if (!strcmp(key, "checked_bodies")) return read_list(r, j, key, &t->checked_bodies);
  if (!strcmp(key, "late")) return read_list(r, j, key, &t->late);
  if (!strcmp(key, "shapes_outside")) return read_list(r, j, key, &t->shapes_outside);
  if (!strcmp(key, "half")) return read_list(r, j, key, &t->half);
  if (!strcmp(key, "accepts")) return read_accepts(r, j);
  if (!strcmp(key, "early")) return read_spans(r, j, key, &t->early, &t->n_early);
  if (!strcmp(key, "dynamic")) return read_dynamic(r, j);
  if (!strcmp(key, "fallback")) return read_host(r, j);
  if (!strcmp(key, "types_as")) return read_as(r, j);
  if (!strcmp(key, "types_as_not")) return read_apart(r, j);
  if (!strcmp(key, "notes")) return json_is_null(j) || read_list(r, j, key, &t->notes);
  if (!strcmp(key, "rest")) {
    const char *s = json_string_value(j);
    t->rest_refused = s && !strcmp(s, "refused");
    return t->rest_refused || (s && !strcmp(s, "unknown")) ||
           fail(r, key, "must be \"refused\" or \"unknown\"");
  }
  if (!strcmp(key, "ops")) return read_ops(r, j);
  return fail(r, surg__q(r->ctx, key), "no target has such a key (doc/targets.md lists them)");
}

static bool read_target(reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return fail(r, "target", "must be an object");
  const json_t *base = json_object_get(j, "inherit"), *source = json_object_get(j, "source"),
               *own = json_object_get(j, "own");
  if (base && !read_inherit(r, base)) return false;
  if (own && !read_own(r, own)) return false;
  r->source = source ? text_of(r, source, "source") : "not stated";
  r->t->source = r->source;
  r->t->date = NULL; /* what is inherited has a day of its own */
  if (!r->source) return false;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) if (!read_key(r, key, v)) return false;
  return true;
}

static bool read_text(reader *r, const char *text, size_t n) {
  json_error_t e;
  json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
  if (!j) {
    char what[JSON_ERROR_TEXT_LENGTH + 40];
    snprintf(what, sizeof what, "line %d column %d", e.line, e.column);
    return fail(r, what, surg__q(r->ctx, e.text));
  }
  const bool done = read_target(r, j);
  json_decref(j);
  return done;
}

static int by_name(const void *x, const void *y) {
  const surg__op_facts *a = x, *b = y;
  return strcmp(a->name, b->name);
}

/* Reads a target with its base and host. The caller sets the context and file of `r`. */
static surg__target *read_whole(reader *r, const char *text, size_t n, const char *name) {
  surg__target *t = surg__calloc(r->ctx, 1, sizeof *t);
  if (!t) {
    surg__oom(r->ctx, name);
    return NULL;
  }
  t->ctx = r->ctx;
  t->ir = (surg__tspan){NULL, INT64_MIN, INT64_MAX};
  surg__arena_init(&t->arena, r->ctx);
  r->t = t;
  bool good = read_text(r, text, n);
  if (good && !t->name) good = fail(r, "name", "is missing");
  if (!good) {
    surg__target_free(t);
    return NULL;
  }
  if (t->ops.count) qsort(t->ops.items, t->ops.count, sizeof *t->ops.items, by_name);
  return t;
}

surg__target *surg__target_read(surg_context *ctx, const char *text, size_t n, const char *name) {
  reader r = {.ctx = ctx, .file = name};
  if (n > SURG_LIMIT_TARGET_BYTES) {
    surg__error(ctx, SURG_ELIMIT, name, "more than %u bytes of a target", SURG_LIMIT_TARGET_BYTES);
    return NULL;
  }
  return read_whole(&r, text, n, name);
}

void surg__target_free(surg__target *t) {
  if (!t) return;
  surg_context *ctx = t->ctx;
  surg__target_free(t->host); /* a host has no host itself */
  surg__vec_free(ctx, &t->opsets);
  surg__vec_free(ctx, &t->own);
  surg__vec_free(ctx, &t->ops);
  surg__vec_free(ctx, &t->accepts);
  surg__vec_free(ctx, &t->apart);
  surg__arena_free(&t->arena);
  surg__free(ctx, t);
}
