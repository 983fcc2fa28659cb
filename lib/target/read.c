/* SPDX-License-Identifier: Apache-2.0 */
/* Reads targets from JSON. Unknown keys are errors. A target that inherits is read after its base
 * and overrides its values. */
#include <stdio.h>

#include "base/context.h"
#include "base/dtype.h"
#include "base/json.h"
#include "base/limits.h"
#include "check/check.h"
#include "target/names.h"
#include "target/read.h"

/* --- a target --- */

static size_t find_op(const surg__target *t, const char *name) {
  for (size_t i = 0; i < t->ops.count; i++)
    if (!strcmp(t->ops.items[i].name, name)) return i;
  return t->ops.count;
}

/* Reads the facts of an operator; null removes inherited ones. `base` is the number of inherited
 * operators: only these may be replaced. */
static bool read_op(surg__reader *r, const char *key, const json_t *j, size_t base) {
  surg__target *t = r->t;
  char name[256], where[200], why[200];
  snprintf(where, sizeof where, "ops: %.80s", key);
  if (!surg__target_name(key, name, sizeof name))
    return surg__read_fail(r, surg__q(r->ctx, where), "must be the name of an operator");
  if (!surg__target_knows(t, name, &r->op, why, sizeof why))
    return surg__read_fail(r, surg__q(r->ctx, where), why);
  const size_t same = find_op(t, name), at = base ? same : t->ops.count;
  if (same >= base && same < t->ops.count)
    return surg__read_fail(r, surg__q(r->ctx, where), "the operator is listed twice");
  if (json_is_null(j)) {
    if (at < t->ops.count) t->ops.items[at] = t->ops.items[--t->ops.count];
    return true;
  }
  const size_t n = json_is_array(j) ? json_array_size(j) : 1;
  surg__tfact *facts = surg__read_room(r, n, sizeof *facts);
  const surg__op_facts op = {surg__read_copy(r, name), facts, n};
  if (!facts || !op.name) return false;
  for (size_t i = 0; i < n; i++)
    if (!surg__read_fact(r, json_is_array(j) ? json_array_get(j, i) : j, op.name, &facts[i]))
      return false;
  if (at < t->ops.count)
    t->ops.items[at] = op;
  else if (!surg__vec_push(r->ctx, &t->ops, op))
    return surg__read_fail(r, name, "out of memory");
  return true;
}

static bool read_ops(surg__reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  const size_t base = r->t->ops.count;
  if (!json_is_object(j)) return surg__read_fail(r, "ops", "must be an object");
  if (base + json_object_size(j) > SURG_LIMIT_TARGET_OPS)
    return surg__read_fail(r, "ops", "too many");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) if (!read_op(r, key, v, base)) return false;
  return true;
}

static bool read_tri(surg__reader *r, const json_t *j, const char *key, surg__tri *out) {
  *out = json_is_true(j) ? SURG__YES : json_is_false(j) ? SURG__NO : SURG__UNSAID;
  return json_is_boolean(j) || json_is_null(j) ||
         surg__read_fail(r, key, "must be true, false or null");
}

/* A number of at least 1; null: not stated. */
static bool read_count(surg__reader *r, const json_t *j, const char *key, int64_t *out) {
  *out = json_is_integer(j) ? json_integer_value(j) : 0;
  return json_is_null(j) || *out > 0 ||
         surg__read_fail(r, key, "must be a number above 0, or null");
}

/* As read_tri, or "misread": imported, and computed differently. */
static bool read_how(surg__reader *r, const json_t *j, const char *key, surg__tri *out) {
  const char *s = json_string_value(j);
  if (!s) return read_tri(r, j, key, out);
  *out = SURG__MISREAD;
  return !strcmp(s, "misread") ||
         surg__read_fail(r, key, "must be true, false, null or \"misread\"");
}

static bool read_dynamic(surg__reader *r, const json_t *j) {
  const char *s = json_string_value(j);
  surg__tdynamic *d = &r->t->dynamic;
  *d = json_is_true(j) ? SURG__D_ALL : json_is_false(j) ? SURG__D_NONE : SURG__D_UNSAID;
  if (s && !strcmp(s, "batch")) *d = SURG__D_BATCH;
  return json_is_boolean(j) || json_is_null(j) || *d == SURG__D_BATCH ||
         surg__read_fail(r, "dynamic", "must be true, false, \"batch\" or null");
}

static bool read_as(surg__reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j))
    return surg__read_fail(r, "types_as", "must be an object of element types");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    const int from = surg_dtype_from_name(key);
    const int to = json_is_string(v) ? surg_dtype_from_name(json_string_value(v)) : 0;
    if (from <= 0 || from >= SURG__DTYPES || to <= 0 || to >= SURG__DTYPES)
      return surg__read_fail(r, "types_as", "there is no such element type");
    r->t->as[from] = (uint8_t)to;
  }
  return true;
}

/* Reads exceptions from types_as: {"Relu": "14+"}; "" removes an inherited one. */
static bool read_apart(surg__reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j))
    return surg__read_fail(r, "types_as_not", "must be an object of operators");
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    surg__tapart one = {.name = surg__read_copy(r, key)};
    const char *text = json_string_value(v);
    if (!one.name) return false;
    int op;
    char why[160];
    if (!surg__target_knows(r->t, key, &op, why, sizeof why))
      return surg__read_fail(r, "types_as_not", why);
    if (!(text && !*text) && !surg__read_versions(r, v, "types_as_not", &one.opsets, &one.n))
      return false;
    size_t i = 0;
    while (i < r->t->apart.count && strcmp(r->t->apart.items[i].name, key) != 0) i++;
    if (i < r->t->apart.count)
      r->t->apart.items[i] = one;
    else if (!surg__vec_push(r->ctx, &r->t->apart, one))
      return surg__read_fail(r, "types_as_not", "out of memory");
  }
  return true;
}

static bool read_within(surg__reader *r, const json_t *j) {
  const surg__tspan *list;
  size_t n;
  memset(r->t->within, 0, sizeof r->t->within); /* removes inherited values */
  if (json_is_null(j)) return true;
  if (!surg__read_spans(r, j, "weight_values", &list, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    const int d = surg_dtype_from_name(list[i].name);
    if (d <= 0 || d >= SURG__DTYPES)
      return surg__read_fail(r, "weight_values", "there is no such element type");
    r->t->within[d] = list[i];
  }
  return true;
}

static bool read_opsets(surg__reader *r, const json_t *j) {
  const surg__tspan *list;
  size_t n;
  surg__target *t = r->t;
  t->opsets.count = 0;
  if (!surg__read_spans(r, j, "opset", &list, &n)) return false;
  for (size_t i = 0; i < n; i++) {
    surg__tspan one = list[i];
    if (!strcmp(one.name, "ai.onnx")) one.name = "";
    if (!surg__vec_push(r->ctx, &t->opsets, one))
      return surg__read_fail(r, "opset", "out of memory");
  }
  return true;
}

/* Reads `own`, which extends the inherited list. */
static bool read_own(surg__reader *r, const json_t *j) {
  surg__tlist list = {0};
  if (!surg__read_list(r, j, "own", &list)) return false;
  for (size_t i = 0; i < list.n; i++)
    if (!surg__vec_push(r->ctx, &r->t->own, list.items[i]))
      return surg__read_fail(r, "own", "out of memory");
  return true;
}

static bool read_text(surg__reader *r, const char *text, size_t n);

static bool read_inherit(surg__reader *r, const json_t *j) {
  const char *name = json_string_value(j);
  if (!name) return surg__read_fail(r, "inherit", "must be the name of a target");
  if (++r->depth > SURG_LIMIT_TARGET_DEPTH)
    return surg__read_fail(r, "inherit", "targets inherit in a circle");
  for (size_t i = 0; i < surg__target_count; i++) {
    const surg__target_text *base = &surg__target_texts[i];
    if (strcmp(base->name, name) != 0) continue;
    const char *file = r->file;
    r->file = base->name;
    const bool done = read_text(r, base->text, strlen(base->text));
    r->file = file;
    return done;
  }
  return surg__read_fail(r, "inherit", "there is no built-in target of that name");
}

static surg__target *read_whole(surg__reader *r, const char *text, size_t n, const char *name);

/* Reads the host of a target. A host has no host itself. */
static bool read_host(surg__reader *r, const json_t *j) {
  const char *name = json_string_value(j);
  surg__target_free(r->t->host); /* removes an inherited host */
  r->t->host = NULL;
  if (json_is_null(j)) return true;
  if (!name || r->is_host)
    return surg__read_fail(r, "fallback", "must be the name of a target without one");
  for (size_t i = 0; i < surg__target_count; i++) {
    const surg__target_text *text = &surg__target_texts[i];
    surg__reader host = {.ctx = r->ctx, .file = r->file, .is_host = true};
    if (strcmp(text->name, name) != 0) continue;
    r->t->host = read_whole(&host, text->text, strlen(text->text), text->name);
    r->failed |= !r->t->host;
    return r->t->host != NULL;
  }
  return surg__read_fail(r, "fallback", "there is no built-in target of that name");
}

static surg__taccept *accept_of(surg__target *t, const char *code) {
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0) return &t->accepts.items[i];
  return NULL;
}

/* Reads `{"E113": false}`; null removes an inherited value. */
static bool read_accepts(surg__reader *r, const json_t *j) {
  const char *code;
  json_t *v;
  if (!json_is_object(j))
    return surg__read_fail(r, "accepts", "must be an object of codes of check");
  json_object_foreach((json_t *)(uintptr_t)j, code, v) {
    surg__taccept *a = accept_of(r->t, code), made = {.accepted = json_is_true(v)};
    if (strcmp(surg__check_rule(code)->code, code) != 0)
      return surg__read_fail(r, "accepts", "has a code that check does not have (doc/check.md)");
    if (!json_is_boolean(v) && !json_is_null(v))
      return surg__read_fail(r, "accepts", "values must be true, false or null");
    snprintf(made.code, sizeof made.code, "%s", code);
    if (a && json_is_null(v)) {
      *a = r->t->accepts.items[--r->t->accepts.count];
    } else if (a) {
      a->accepted = made.accepted;
    } else if (!json_is_null(v) && !surg__vec_push(r->ctx, &r->t->accepts, made)) {
      return surg__read_fail(r, "accepts", "out of memory");
    }
  }
  return true;
}

/* A key whose value is true, false, or null for "not known". */
static bool read_flag(surg__reader *r, const char *key, const json_t *j, bool *found) {
  surg__target *t = r->t;
  const struct {
    const char *key;
    surg__tri *to;
  } tris[] = {{"functions", &t->functions},
              {"custom", &t->custom},
              {"nested_calls", &t->nested},
              {"unused_inputs", &t->unused},
              {"absent_results", &t->absent_results},
              {"idle_constants", &t->idle},
              {"function_graphs", &t->bodied},
              {"passed_inputs", &t->passed},
              {"function_opsets", &t->windows},
              {"spelled_functions", &t->spelled},
              {"repeated_calls", &t->repeats},
              {"unimported_calls", &t->outside},
              {"overloads", &t->overloads},
              {"optional_ends", &t->optional},
              {"bare_outputs", &t->bare},
              {"external_data", &t->external},
              {"missing_files", &t->missing_files},
              {"short_files", &t->short_files},
              {"sparse", &t->sparse},
              {"empty_lists", &t->empty_lists},
              {"absent_arguments", &t->absent_arguments},
              {"repeated_inputs", &t->repeated_inputs},
              {"function_absent", &t->function_absent},
              {"function_variadic", &t->function_variadic},
              {"spec_bodies", &t->bodies}};
  const struct {
    const char *key;
    bool *to;
  } flags[] = {{"folds", &t->folds},
               {"declared", &t->declared},
               {"defaults", &t->defaults},
               {"closed", &t->closed},
               {"names_only", &t->names_only},
               {"saturates", &t->saturates},
               {"last_import", &t->last_import},
               {"last_function", &t->last_function},
               {"operators_first", &t->operators_first},
               {"typed_tensors", &t->typed_tensors},
               {"lax_attributes", &t->lax_attributes},
               {"onnx_inference", &t->onnx_inference},
               {"merges_declared", &t->merges_declared},
               {"inlined", &t->inlined},
               {"typed_weights", &t->typed_weights},
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
    return json_is_boolean(j) || surg__read_fail(r, key, "must be true or false");
  }
  *found = false;
  return true;
}

/* A set of element types; null: all. It replaces the one that is inherited. */
static bool read_type_set(surg__reader *r, const char *key, const json_t *j, uint32_t *to) {
  *to = 0;
  return json_is_null(j) || surg__read_mask(r, j, key, to);
}

static bool read_date(surg__reader *r, const json_t *j) {
  static const char form[] = "0000-00-00";
  const char *text = r->t->date = surg__read_text_of(r, j, "date");
  if (!text) return false;
  bool good = strlen(text) == sizeof form - 1;
  for (size_t i = 0; good && form[i]; i++)
    good = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  return good || surg__read_fail(r, "date", "must be written as YYYY-MM-DD");
}

static bool read_rest(surg__reader *r, const char *key, const json_t *j) {
  const char *s = json_string_value(j);
  r->t->rest_refused = s && !strcmp(s, "refused");
  if (s && (r->t->rest_refused || !strcmp(s, "unknown"))) return true;
  return surg__read_fail(r, key, "must be \"refused\" or \"unknown\"");
}

static bool read_unsorted(surg__reader *r, const char *key, const json_t *j) {
  surg__target *t = r->t;
  const char *s = json_string_value(j);
  t->unsorted_functions = s && !strcmp(s, "functions");
  t->unsorted_main = t->unsorted_functions || (s && !strcmp(s, "main"));
  if (t->unsorted_main) t->unsorted = SURG__YES;
  return t->unsorted_main || read_tri(r, j, key, &t->unsorted);
}

/* Lists of findings, of keys, and of operators and attributes. */
static surg__tlist *list_of(surg__target *t, const char *key, surg__name_form *form, bool *named) {
  const struct {
    const char *key;
    surg__tlist *to;
    bool named;
    surg__name_form form;
  } lists[] = {{"external_keys", &t->external_keys, false, 0},
               {"checked_bodies", &t->checked_bodies, false, 0},
               {"checked_functions", &t->checked_functions, false, 0},
               {"rejects_some", &t->rejects_some, false, 0},
               {"accepts_some", &t->accepts_some, false, 0},
               {"attribute_order", &t->attribute_order, false, 0},
               {"list_attributes", &t->list_attributes, false, 0},
               {"operator_domains", &t->operator_domains, false, 0},
               {"spare_inputs", &t->spare_inputs, true, SURG__NAME_OP},
               {"unnamed_layers", &t->unnamed_layers, true, SURG__NAME_OP},
               {"late", &t->late, true, SURG__NAME_OP},
               {"inferred_bodies", &t->inferred_bodies, true, SURG__NAME_OP},
               {"kept", &t->kept, true, SURG__NAME_OP},
               {"unimported", &t->unimported, false, 0}, /* layers of the engine, too */
               {"shapes_outside", &t->shapes_outside, true, SURG__NAME_OP},
               {"half", &t->half, true, SURG__NAME_OP},
               {"lax_values", &t->lax_values, true, SURG__NAME_OP_OR_ATTR},
               {"undefined_types", &t->undefined_types, true, SURG__NAME_ATTR},
               {"flags", &t->flags, true, SURG__NAME_ATTR}};
  for (size_t i = 0; i < SURG_COUNT(lists); i++) {
    if (strcmp(lists[i].key, key) != 0) continue;
    *form = lists[i].form;
    *named = lists[i].named;
    return lists[i].to;
  }
  return NULL;
}

static bool read_named(surg__reader *r, const char *key, const json_t *j, surg__tlist *list,
                       surg__name_form form) {
  char where[200], why[200];
  if (!surg__read_list(r, j, key, list)) return false;
  for (size_t i = 0; i < list->n; i++) {
    if (surg__target_names(r->t, list->items[i], form, why, sizeof why)) continue;
    snprintf(where, sizeof where, "%s: %.80s", key, list->items[i]);
    return surg__read_fail(r, surg__q(r->ctx, where), why);
  }
  return true;
}

static bool read_key(surg__reader *r, const char *key, const json_t *j) {
  surg__target *t = r->t;
  bool found;
  const bool flag = read_flag(r, key, j, &found);
  if (found) return flag;
  if (!strcmp(key, "inherit") || !strcmp(key, "source") || !strcmp(key, "own"))
    return true; /* already read by read_target */
  if (!strcmp(key, "schema"))
    return json_integer_value(j) == 1 || surg__read_fail(r, key, "only schema 1 is known");
  if (!strcmp(key, "name")) return (t->name = surg__read_text_of(r, j, key)) != NULL;
  if (!strcmp(key, "says"))
    return (t->says = json_is_null(j) ? NULL : surg__read_text_of(r, j, key)) || json_is_null(j);
  if (!strcmp(key, "date")) return read_date(r, j);
  if (!strcmp(key, "title")) return (t->title = surg__read_text_of(r, j, key)) != NULL;
  if (!strcmp(key, "opset")) return read_opsets(r, j);
  if (!strcmp(key, "ir")) return json_is_null(j) || surg__read_span(r, j, key, &t->ir);
  if (!strcmp(key, "ends")) return read_type_set(r, key, j, &t->ends);
  if (!strcmp(key, "weights")) return read_type_set(r, key, j, &t->weights);
  if (!strcmp(key, "elements")) return read_type_set(r, key, j, &t->elements);
  if (!strcmp(key, "nesting")) return read_count(r, j, key, &t->nesting);
  if (!strcmp(key, "onnx_level")) return read_count(r, j, key, &t->onnx_level);
  if (!strcmp(key, "quick_levels")) return read_count(r, j, key, &t->quick_levels);
  if (!strcmp(key, "weight_rank")) return read_count(r, j, key, &t->weight_rank);
  if (!strcmp(key, "weight_values")) return read_within(r, j);
  if (!strcmp(key, "constant_outputs")) return read_how(r, j, key, &t->fixed);
  if (!strcmp(key, "empty_inputs")) return read_how(r, j, key, &t->empty);
  if (!strcmp(key, "unread_inputs")) return read_how(r, j, key, &t->unread);
  if (!strcmp(key, "unsorted")) return read_unsorted(r, key, j);
  surg__name_form form;
  bool named;
  surg__tlist *list = list_of(t, key, &form, &named);
  if (list && named) return read_named(r, key, j, list, form);
  if (list) return surg__read_list(r, j, key, list);
  if (!strcmp(key, "accepts")) return read_accepts(r, j);
  if (!strcmp(key, "early")) return surg__read_spans(r, j, key, &t->early, &t->n_early);
  if (!strcmp(key, "dynamic")) return read_dynamic(r, j);
  if (!strcmp(key, "fallback")) return read_host(r, j);
  if (!strcmp(key, "types_as")) return read_as(r, j);
  if (!strcmp(key, "types_as_not")) return read_apart(r, j);
  if (!strcmp(key, "notes")) return json_is_null(j) || surg__read_list(r, j, key, &t->notes);
  if (!strcmp(key, "rest")) return read_rest(r, key, j);
  if (!strcmp(key, "ops")) return read_ops(r, j);
  return surg__read_fail(r, surg__q(r->ctx, key),
                         "no target has such a key (doc/targets.md lists them)");
}

static bool read_target(surg__reader *r, const json_t *j) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return surg__read_fail(r, "target", "must be an object");
  const json_t *base = json_object_get(j, "inherit"), *source = json_object_get(j, "source"),
               *own = json_object_get(j, "own");
  if (base && !read_inherit(r, base)) return false;
  if (own && !read_own(r, own)) return false;
  r->source = source ? surg__read_text_of(r, source, "source") : "not stated";
  r->t->source = r->source;
  r->t->date = NULL; /* what is inherited has a day of its own */
  if (!r->source) return false;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) if (!read_key(r, key, v)) return false;
  return true;
}

static bool read_text(surg__reader *r, const char *text, size_t n) {
  json_error_t e;
  surg__json_doc doc;
  if (surg__json_read(r->ctx, r->file, text, n, JSON_REJECT_DUPLICATES, &e, &doc) != SURG_OK) {
    r->failed = true;
    return false;
  }
  if (!doc.value) {
    char what[JSON_ERROR_TEXT_LENGTH + 40];
    snprintf(what, sizeof what, "line %d column %d", e.line, e.column);
    return surg__read_fail(r, what, surg__q(r->ctx, e.text));
  }
  const bool done = read_target(r, doc.value);
  surg__json_drop(r->ctx, &doc);
  return done;
}

static int by_name(const void *x, const void *y) {
  const surg__op_facts *a = x, *b = y;
  return strcmp(a->name, b->name);
}

/* Reads a target with its base and host. The caller sets the context and file of `r`. */
static surg__target *read_whole(surg__reader *r, const char *text, size_t n, const char *name) {
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
  if (good && !t->name) good = surg__read_fail(r, "name", "is missing");
  if (!good) {
    surg__target_free(t);
    return NULL;
  }
  if (t->ops.count) qsort(t->ops.items, t->ops.count, sizeof *t->ops.items, by_name);
  return t;
}

surg__target *surg__target_read(surg_context *ctx, const char *text, size_t n, const char *name) {
  surg__reader r = {.ctx = ctx, .file = name};
  if (n > SURG_LIMIT_TARGET_BYTES) {
    surg__error(ctx, SURG_ELIMIT, name, "more than %u bytes of a target", SURG_LIMIT_TARGET_BYTES);
    return NULL;
  }
  return read_whole(&r, text, n, name);
}

void surg__target_free(surg__target *t) {
  if (!t) return;
  surg_context *ctx = t->ctx;
  surg__target_free(t->host);  /* a host has no host itself */
  surg__target_free(t->newer); /* nor a newer version a newer one */
  surg__vec_free(ctx, &t->opsets);
  surg__vec_free(ctx, &t->own);
  surg__vec_free(ctx, &t->ops);
  surg__vec_free(ctx, &t->accepts);
  surg__vec_free(ctx, &t->apart);
  surg__arena_free(&t->arena);
  surg__free(ctx, t);
}
