/* SPDX-License-Identifier: Apache-2.0 */
/* Finds forms of operators of which the learned facts say otherwise than the importer, so that they
 * get rows of their own. */
#include <stdio.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/hush.h"
#include "probe/probe.h"

/* --- which forms --- */

/* Whether the target says of the model of an accepted case what the importer does. */
static bool is_described(surg__probe *p, const surg__target *t, const surg__probe_case *c) {
  surg__objection o = {0};
  surg_model *m = surg__probe_model(p, c);
  if (!m) return true;
  const surg__verdict v = surg__target_node(t, surg__probe_node(m), NULL, &o);
  surg_model_free(m);
  return c->differs ? v == SURG__ILLEGAL && o.misread : v == SURG__LEGAL;
}

/* Whether the version got a base in this round. */
static bool has_fresh(const surg__probe *p, const surg_schema *s) {
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->schema == s && c->base && !c->formed) return true;
  }
  return false;
}

/* Marks the bases, of cases that are computed correctly or of the others. */
static bool mark(surg__probe *p, const surg__target *t, bool differs) {
  bool more = false;
  for (size_t i = 0; i < p->cases.count; i++) {
    surg__probe_case *c = &p->cases.items[i];
    if (c->what != SURG__PROBE_BASE || !c->taken || c->base || c->differs != differs) continue;
    if (has_fresh(p, c->schema) || is_described(p, t, c)) continue;
    c->base = c->narrow = more = true;
  }
  return more;
}

surg_status surg__probe_cover(surg__probe *p, bool *more) {
  surg__buf text;
  *more = false;
  surg__buf_init(&text, p->ctx);
  const surg__hush hush = surg__hush_begin(p->ctx);
  json_t *learned = surg__probe_learn(p, "probe");
  if (learned && p->inherit) json_object_del(learned, "inherit");
  if (learned) surg__probe_put(&text, learned);
  json_decref(learned);
  surg__target *t = text.failed ? NULL : surg__target_read(p->ctx, text.p, text.n, "probe.target");
  if (t) {
    *more = mark(p, t, false);
    *more |= mark(p, t, true);
  }
  surg__hush_end(p->ctx, hush);
  surg__target_free(t);
  const bool failed = text.failed || !learned;
  surg__buf_free(&text);
  return failed ? surg__oom(p->ctx, NULL) : SURG_OK;
}

/* --- what their rows require --- */

/* Whether a question about the place or attribute `name` was answered for the base. */
static bool is_varied(const surg__probe *p, size_t root, surg__probe_what what, const char *name) {
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->what == what && c->root == root && c->asked && c->schema && !c->base &&
        (!c->name[0] || !strcmp(c->name, name)))
      return true;
  }
  return false;
}

static json_t *member(json_t *facts, const char *key, bool list) {
  json_t *found = json_object_get(facts, key);
  if (found && (list ? json_is_array(found) : json_is_object(found))) return found;
  json_object_set_new(facts, key, list ? json_array() : json_object());
  return json_object_get(facts, key);
}

static void pin_inputs(const surg__probe *p, const surg__probe_case *base, size_t root,
                       const surg_node *n, json_t *facts) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg__param *f = surg__schema_formal(base->schema, false, i);
    if (!v || !f || f->option == SURG__VARIADIC) continue;
    const int64_t rank = surg__probe_rank(v);
    if (rank >= 0 && !is_varied(p, root, SURG__PROBE_RANK, f->name) &&
        !json_object_get(member(facts, "rank", false), f->name))
      json_object_set_new(member(facts, "rank", false), f->name,
                          json_pack("[I,I]", (json_int_t)rank, (json_int_t)rank));
    if (surg_value_constant(v) && !is_varied(p, root, SURG__PROBE_INPUT, f->name))
      json_array_append_new(member(facts, "const", true), json_string(f->name));
    if (f->option == SURG__OPTIONAL)
      json_array_append_new(member(facts, "given", true), json_string(f->name));
  }
  if (!json_object_size(member(facts, "rank", false))) json_object_del(facts, "rank");
}

/* Pins an attribute: a number or a string to its value, a list to its length, axes to their values.
 */
static void pin_attr(surg_context *ctx, const char *name, const surg_attr *a, json_t *facts) {
  size_t n = 0;
  const int64_t *ints = surg_attr_ints(a, &n);
  json_t *value = NULL;
  const int kind = surg_attr_get_kind(a);
  surg__buf b;
  surg__buf_init(&b, ctx);
  if (kind == SURG_ATTR_INT) value = json_integer(surg_attr_int(a));
  if (kind == SURG_ATTR_STRING) value = json_stringn(surg_attr_string(a).p, surg_attr_string(a).n);
  if (kind == SURG_ATTR_INTS && !strcmp(name, "axes")) {
    for (size_t i = 0; i < n; i++) surg__buf_printf(&b, i ? ",%lld" : "%lld", (long long)ints[i]);
    value = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
  } else if (kind == SURG_ATTR_INTS) {
    json_object_set_new(member(facts, "counts", false), name,
                        json_pack("[I,I]", (json_int_t)n, (json_int_t)n));
  }
  if (value) json_object_set_new(member(facts, "attrs", false), name, json_pack("[o]", value));
  surg__buf_free(&b);
}

static void pin_attrs(const surg__probe *p, const surg__probe_case *base, size_t root,
                      const surg_node *n, json_t *facts) {
  for (uint32_t i = 0; i < base->schema->n_attrs; i++) {
    const char *name = base->schema->attrs[i].name;
    const surg_attr *a = surg_node_attr(n, name);
    const json_t *known = json_object_get(facts, "attrs");
    if (!a || is_varied(p, root, SURG__PROBE_VALUE, name) ||
        is_varied(p, root, SURG__PROBE_SET, name) || json_object_get(known, name))
      continue;
    pin_attr(p->ctx, name, a, facts);
  }
}

void surg__probe_pin(const surg__probe *p, const surg__probe_case *base, size_t root,
                     json_t *facts) {
  surg_model *m = surg__probe_model((surg__probe *)(uintptr_t)p, base);
  const surg_node *n = m ? surg__probe_node(m) : NULL;
  if (n) {
    pin_inputs(p, base, root, n, facts);
    pin_attrs(p, base, root, n, facts);
  }
  if (m) surg_model_free(m);
}
