/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts of operators from JSON. Unknown keys are errors, and so are names of inputs and
 * attributes that no version of the operator has: such a fact would never apply. */
#include <stddef.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "target/fact_keys.h"
#include "target/judge.h"
#include "target/names.h"
#include "target/read.h"

/* Fails if no version of the operator has a part of this name, as it would never match. */
static bool check_part(surg__reader *r, const char *where, unsigned kinds, const char *name) {
  char what[200];
  if (surg__target_part(r->op, kinds, name)) return true;
  snprintf(what, sizeof what, "no version of the operator has %s %.80s",
           kinds & SURG__N_ATTR    ? "an attribute"
           : kinds & SURG__N_TYPE  ? "a type parameter, input or output"
           : kinds & SURG__N_INPUT ? "an input"
                                   : "an output",
           surg__q(r->ctx, name));
  return surg__read_fail(r, where, what);
}

static bool read_types(surg__reader *r, const json_t *j, const char *where,
                       const surg__type_facts **out, size_t *n) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return surg__read_fail(r, where, "types must be an object of lists");
  surg__type_facts *list = surg__read_room(r, json_object_size(j), sizeof *list);
  *out = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!check_part(r, where, SURG__N_TYPE | SURG__N_INPUT | SURG__N_OUTPUT, key)) return false;
    if (!list || !(list[*n].name = surg__read_copy(r, key)) ||
        !surg__read_mask(r, v, where, &list[*n].mask))
      return false;
    ++*n;
  }
  return list != NULL;
}

static bool read_attrs(surg__reader *r, const json_t *j, const char *where, surg__tfact *f) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return surg__read_fail(r, where, "attrs must be an object of lists");
  surg__tattr *list = surg__read_room(r, json_object_size(j), sizeof *list);
  f->attrs = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!check_part(r, where, SURG__N_ATTR, key)) return false;
    if (!list || !(list[f->n_attrs].name = surg__read_copy(r, key)) ||
        !surg__read_list(r, v, where, &list[f->n_attrs].values))
      return false;
    f->n_attrs++;
  }
  return list != NULL;
}

static bool read_spreads(surg__reader *r, const json_t *j, const char *where, surg__tfact *f) {
  static const char *const names[] = {
      [SURG__S_LAST] = "last",     [SURG__S_CHANNEL] = "channel", [SURG__S_FRONT] = "front",
      [SURG__S_SINGLE] = "single", [SURG__S_ONCE] = "once",       [SURG__S_EARLY] = "early",
      [SURG__S_PLANES] = "planes", [SURG__S_GAP] = "gap",
      [SURG__S_INNER] = "inner"};
  _Static_assert(SURG_COUNT(names) == SURG__S_INNER + 1, "a word for each way to repeat");
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return surg__read_fail(r, where, "must be an object of words");
  surg__tspreads *list = surg__read_room(r, json_object_size(j), sizeof *list);
  f->spreads = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const char *word = json_string_value(v);
    size_t how = 0;
    while (word && how < SURG_COUNT(names) && strcmp(names[how], word) != 0) how++;
    if (!word || how == SURG_COUNT(names))
      return surg__read_fail(r, where,
                             "must be a way to repeat that is known (doc/targets.md lists them)");
    if (!check_part(r, where, SURG__N_INPUT, key)) return false;
    if (!list || !(list[f->n_spreads].name = surg__read_copy(r, key))) return false;
    list[f->n_spreads++].how = (surg__tspread)how;
  }
  return list != NULL;
}

/* Whether an operator is one of the tables, or of those that the target names as its own; a form of
 * it may follow, such as "/const". */
static bool check_operator(surg__reader *r, const char *where, const char *text) {
  char why[200], name[256];
  int op;
  const char *how = strchr(text, '/');
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "/"), text);
  if (how && !surg__judge_form(how + 1))
    return surg__read_fail(r, where, "no operator has such a form");
  return surg__target_knows(r->t, name, &op, why, sizeof why) || surg__read_fail(r, where, why);
}

/* Whether all names of a list are of the kinds that its key takes. An operator may have a form,
 * such as "Mul/const". */
static bool check_names(surg__reader *r, const char *where, const surg__list_key *k,
                        const surg__tlist *list) {
  for (size_t i = 0; i < list->n; i++) {
    const char *name = list->items[i];
    if (!strcmp(k->key, "samples") && !surg__judge_sample_words(name))
      return surg__read_fail(r, where, "must be a coordinate mode, for nearest with a rounding");
    if (k->at == offsetof(surg__tfact, not_after) && !strcmp(name, "*")) continue;
    if (k->kinds == SURG__N_OPERATOR ? !check_operator(r, where, name)
                                     : k->kinds && !check_part(r, where, k->kinds, name))
      return false;
  }
  return true;
}

/* Whether all names of ranges are of the kinds that their key takes. */
static bool check_spans(surg__reader *r, const char *where, const surg__spans_key *k,
                        const surg__tspan *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (k->kinds ? !check_part(r, where, k->kinds, list[i].name)
                 : surg__judge_axis_limit(list[i].name) < 0)
      return surg__read_fail(r, where,
                             "must limit what a part of the node has, or what its axes are");
  return true;
}

/* Reads a key of the tables (fact_keys.c). *mine: it is one of these. */
static bool read_tabled(surg__reader *r, const char *key, const json_t *j, const char *where,
                        surg__tfact *f, bool *mine) {
  char *fact = (char *)f;
  *mine = true;
  for (size_t i = 0; i < surg__list_key_count; i++) {
    const surg__list_key *k = &surg__list_keys[i];
    surg__tlist *list = (surg__tlist *)(void *)(fact + k->at);
    if (!strcmp(k->key, key))
      return surg__read_list(r, j, where, list) && check_names(r, where, k, list);
  }
  for (size_t i = 0; i < surg__spans_key_count; i++) {
    const surg__spans_key *k = &surg__spans_keys[i];
    const surg__tspan **list = (const surg__tspan **)(void *)(fact + k->at);
    size_t *n = (size_t *)(void *)(fact + k->count);
    if (!strcmp(k->key, key))
      return surg__read_spans(r, j, where, list, n) && check_spans(r, where, k, *list, *n);
  }
  for (size_t i = 0; i < surg__flag_key_count; i++) {
    if (strcmp(surg__flag_keys[i].key, key) != 0) continue;
    *(bool *)(fact + surg__flag_keys[i].at) = json_is_true(j);
    return json_is_boolean(j) || surg__read_fail(r, where, "must be true or false");
  }
  *mine = false;
  return true;
}

/* Reads sizes of axes: {"X.1": [low, high], "X.-1": ...}. */
static bool read_dims(surg__reader *r, const json_t *j, const char *where, surg__tfact *f) {
  if (!surg__read_spans(r, j, where, &f->dims, &f->n_dims)) return false;
  for (size_t i = 0; i < f->n_dims; i++) {
    char name[80];
    const char *dot = strrchr(f->dims[i].name, '.');
    char *end = NULL;
    if (dot) strtol(dot + 1, &end, 10);
    if (!dot || end == dot + 1 || *end ||
        (size_t)snprintf(name, sizeof name, "%.*s", (int)(dot - f->dims[i].name),
                         f->dims[i].name) >= sizeof name)
      return surg__read_fail(r, where, "must name an input or output and an axis, such as \"X.1\"");
    if (!check_part(r, where, SURG__N_INPUT | SURG__N_OUTPUT, name)) return false;
  }
  return true;
}

static bool read_branches(surg__reader *r, const json_t *j, const char *where, surg__tfact *f) {
  const char *word = json_string_value(j);
  f->branch_ranks = word && !strcmp(word, "rank");
  f->branch_spread = word && !strcmp(word, "broadcast");
  return f->branch_ranks || f->branch_spread ||
         surg__read_fail(r, where, "must be \"rank\" or \"broadcast\"");
}

static bool read_part(surg__reader *r, const char *key, const json_t *j, const char *where,
                      surg__tfact *f) {
  if (!strcmp(key, "versions"))
    return surg__read_versions(r, j, where, &f->versions, &f->n_versions);
  if (!strcmp(key, "opsets")) return surg__read_versions(r, j, where, &f->opsets, &f->n_opsets);
  if (!strcmp(key, "types")) return read_types(r, j, where, &f->types, &f->n_types);
  if (!strcmp(key, "not_types")) return read_types(r, j, where, &f->not_types, &f->n_not_types);
  if (!strcmp(key, "attrs")) return read_attrs(r, j, where, f);
  if (!strcmp(key, "spread")) return read_spreads(r, j, where, f);
  if (!strcmp(key, "dims")) return read_dims(r, j, where, f);
  if (!strcmp(key, "branches")) return read_branches(r, j, where, f);
  if (!strcmp(key, "says")) return (f->says = surg__read_text_of(r, j, where)) != NULL;
  if (!strcmp(key, "source")) return (f->source = surg__read_text_of(r, j, where)) != NULL;
  if (!strcmp(key, "batch")) {
    f->batch = json_integer_value(j);
    return f->batch > 0 || surg__read_fail(r, where, "batch must be a number from 1 on");
  }
  if (!strcmp(key, "static") && json_is_string(j)) {
    f->fixed = f->open_first = !strcmp(json_string_value(j), "batch");
    return f->fixed || surg__read_fail(r, where, "must be true, false or \"batch\"");
  }
  if (!strcmp(key, "same") && json_is_string(j)) {
    f->same = f->but_two = !strcmp(json_string_value(j), "batch");
    return f->same || surg__read_fail(r, where, "must be true, false or \"batch\"");
  }
  if (!strcmp(key, "fed") && json_is_array(j)) return surg__read_list(r, j, where, &f->variable);
  bool mine;
  if (!read_tabled(r, key, j, where, f, &mine)) return false;
  return mine ||
         surg__read_fail(r, where, "has a key that no fact has (doc/targets.md lists them)");
}

bool surg__read_fact(surg__reader *r, const json_t *j, const char *op, surg__tfact *f) {
  const char *key;
  json_t *v;
  if (!json_is_object(j))
    return surg__read_fail(r, op, "must be an object of facts, or a list of such");
  f->source = r->source;
  f->bare = json_object_size(j) == 0;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    char where[200];
    snprintf(where, sizeof where, "ops: %.80s: %.80s", op, key);
    if (!read_part(r, key, v, surg__q(r->ctx, where), f)) return false;
  }
  return true;
}
