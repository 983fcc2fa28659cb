/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the answers of an importer to a target (doc/targets.md). */
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "probe/probe.h"

#define SAID_MAX 120 /* most bytes of a message in a target */

/* --- the engine --- */

void surg__probe_learn_windows(surg__probe *p) {
  p->opsets.count = 0;
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->schema || !c->taken) continue;
    if (c->what == SURG__PROBE_IR) {
      if (!p->ir_low || c->number < p->ir_low) p->ir_low = c->number;
      if (c->number > p->ir_high) p->ir_high = c->number;
    }
    if (c->what != SURG__PROBE_OPSET) continue;
    size_t at = 0;
    while (at < p->opsets.count && strcmp(p->opsets.items[at].name, c->name) != 0) at++;
    if (at == p->opsets.count) {
      const surg__tspan span = {c->name, c->number, c->number};
      if (!surg__vec_push(p->ctx, &p->opsets, span)) {
        p->failure = surg__alloc_status(p->ctx);
        return;
      }
    }
    surg__tspan *s = &p->opsets.items[at];
    if (c->number < s->low) s->low = c->number;
    if (c->number > s->high) s->high = c->number;
  }
}

/* The answer to a question about the engine; UNSAID: it was not asked. */
static surg__tri engine_answer(const surg__probe *p, surg__probe_what what, int64_t number) {
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->schema || c->what != what || c->number != number) continue;
    return !c->asked ? SURG__UNSAID : c->taken ? SURG__YES : SURG__NO;
  }
  return SURG__UNSAID;
}

static json_t *answer_json(surg__tri answer) {
  return answer == SURG__UNSAID ? json_null() : json_boolean(answer == SURG__YES);
}

static json_t *dynamic_json(const surg__probe *p) {
  const surg__tri all = engine_answer(p, SURG__PROBE_DYNAMIC, 2),
                  batch = engine_answer(p, SURG__PROBE_DYNAMIC, 1);
  if (all == SURG__YES || batch == SURG__UNSAID) return answer_json(all);
  return batch == SURG__YES ? json_string("batch") : json_false();
}

static bool is_stopped(const surg__probe *p) {
  for (size_t i = 0; i < p->cases.count; i++)
    if (surg__probe_left(p, i)) return true;
  return false;
}

/* A range as JSON. Its end is open if it is the newest known version: newer ones were not
 * tested. */
static json_t *span_json(const surg__tspan *s, int64_t newest) {
  return json_pack("[I,o]", (json_int_t)s->low,
                   s->high >= newest ? json_null() : json_integer(s->high));
}

/* --- one version of an operator --- */

typedef struct row {
  const surg__probe *p;
  const surg__probe_case *base;
  size_t root;       /* index of the base */
  size_t first, end; /* indexes of the cases to examine */
  bool loose;        /* models count as accepted, too, that are imported and computed differently */
} row;

static bool is_form(const row *r, const surg__probe_case *c, surg__probe_what what) {
  return c->schema == r->base->schema && c->what == what && c->root == r->root &&
         (c->asked || c->impossible);
}

/* Whether the importer accepts the model of a case, in the sense of the row. */
static bool is_good(const row *r, const surg__probe_case *c) {
  return c->taken && (r->loose || !c->differs);
}

static void put_types(const row *r, json_t *out) {
  const surg_schema *s = r->base->schema;
  json_t *types = json_object();
  for (uint32_t i = 0; i < s->n_params; i++) {
    uint32_t taken = 0, refused = 0;
    for (size_t k = r->first; k < r->end; k++) {
      const surg__probe_case *c = &r->p->cases.items[k];
      const bool together = is_form(r, c, SURG__PROBE_TYPES) && is_good(r, c);
      if ((!is_form(r, c, SURG__PROBE_TYPE) && !together) ||
          strcmp(c->name, s->params[i].name) != 0)
        continue;
      *(is_good(r, c) ? &taken : &refused) |= UINT32_C(1) << c->number;
    }
    /* No type accepted: another limit of the operator rejects these models. */
    if (!(refused & ~taken) || !taken) continue;
    json_t *list = json_array();
    for (int d = 1; d < SURG__DTYPES; d++)
      if (taken >> d & 1) json_array_append_new(list, json_string(surg__dtype_name(d)));
    json_object_set_new(types, s->params[i].name, list);
  }
  if (json_object_size(types)) json_object_set(out, "types", types);
  json_decref(types);
}

static bool has_name(const json_t *list, const char *name) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!strcmp(json_string_value(json_array_get(list, i)), name)) return true;
  return false;
}

/* Writes the names of the rejected cases of a kind. */
static void put_names(const row *r, surg__probe_what what, const char *key, json_t *out) {
  json_t *list = json_array();
  for (size_t k = r->first; k < r->end; k++) {
    const surg__probe_case *c = &r->p->cases.items[k];
    if (is_form(r, c, what) && !is_good(r, c) && !has_name(list, c->name))
      json_array_append_new(list, json_string(c->name));
  }
  if (json_array_size(list)) json_object_set(out, key, list);
  json_decref(list);
}

static void put_attr(const row *r, const char *name, json_t *attrs) {
  json_t *list = json_array();
  bool refused = false;
  for (size_t k = r->first; k < r->end; k++) {
    const surg__probe_case *c = &r->p->cases.items[k];
    if (!is_form(r, c, SURG__PROBE_VALUE) || strcmp(c->name, name) != 0) continue;
    refused |= !is_good(r, c);
    if (is_good(r, c))
      json_array_append_new(list, c->value ? json_string(c->value) : json_integer(c->number));
  }
  if (refused && json_array_size(list)) json_object_set(attrs, name, list);
  json_decref(list);
}

static void put_attrs(const row *r, json_t *out) {
  json_t *attrs = json_object();
  for (uint32_t i = 0; i < r->base->schema->n_attrs; i++)
    put_attr(r, r->base->schema->attrs[i].name, attrs);
  if (json_object_size(attrs)) json_object_set(out, "attrs", attrs);
  json_decref(attrs);
}

/* The accepted ranks of an input around that of the base, without an end if all tried ranks on that
 * side are accepted; NULL: no limit. */
static json_t *ranks_of(const row *r, size_t place, int64_t base) {
  const char *name = r->base->schema->inputs[place].name;
  int64_t low = base, high = base, below = INT64_MIN, above = INT64_MAX;
  for (int pass = 0; pass < 2; pass++)
    for (size_t k = r->first; k < r->end; k++) {
      const surg__probe_case *c = &r->p->cases.items[k];
      if (!is_form(r, c, SURG__PROBE_RANK) ||
          strcmp(c->name[0] ? c->name : r->base->schema->inputs[0].name, name))
        continue;
      if (!pass && is_good(r, c)) {
        if (c->number < low) low = c->number;
        if (c->number > high) high = c->number;
      } else if (pass && !is_good(r, c)) {
        if (c->number < low && c->number > below) below = c->number;
        if (c->number > high && c->number < above) above = c->number;
      }
    }
  if (below == INT64_MIN && above == INT64_MAX) return NULL;
  return json_pack("[o,o]", below == INT64_MIN ? json_null() : json_integer(low),
                   above == INT64_MAX ? json_null() : json_integer(high));
}

static void put_ranks(const row *r, json_t *out) {
  surg_model *m = surg__probe_model((surg__probe *)(uintptr_t)r->p, r->base);
  const surg_node *n = m ? surg__probe_node(m) : NULL;
  json_t *ranks = json_object();
  for (uint32_t i = 0; n && i < r->base->schema->n_inputs && i < surg_node_input_count(n); i++) {
    const int64_t base = surg__probe_rank(surg_node_input(n, i));
    json_t *span = base < 0 ? NULL : ranks_of(r, i, base);
    if (span) json_object_set_new(ranks, r->base->schema->inputs[i].name, span);
  }
  if (json_object_size(ranks)) json_object_set(out, "rank", ranks);
  json_decref(ranks);
  if (m) surg_model_free(m);
}

/* Writes which sizes must be fixed: none, all, or all but the first of each input. */
static void put_open(const row *r, json_t *out) {
  bool refused[3] = {false, false, false};
  for (size_t k = r->first; k < r->end; k++) {
    const surg__probe_case *c = &r->p->cases.items[k];
    if (is_form(r, c, SURG__PROBE_OPEN)) refused[c->number] = !is_good(r, c);
  }
  if (refused[1])
    json_object_set_new(out, "static", json_true());
  else if (refused[2])
    json_object_set_new(out, "static", json_string("batch"));
}

/* Writes whether nodes with only constant inputs are rejected, if the engine accepts any such
 * node. Their results are constant outputs of the model: what is computed does not count. */
static void put_fed(const row *r, json_t *out) {
  bool refused = false, any = false;
  for (size_t k = 0; k < r->end && !any; k++) {
    const surg__probe_case *c = &r->p->cases.items[k];
    any = c->what == SURG__PROBE_FED && c->taken;
  }
  for (size_t k = r->first; k < r->end; k++) {
    const surg__probe_case *c = &r->p->cases.items[k];
    if (is_form(r, c, SURG__PROBE_FED) && c->asked) refused = !c->taken;
  }
  if (any && refused && !json_object_get(out, "fed")) json_object_set_new(out, "fed", json_true());
}

static json_t *facts_of(const row *r) {
  json_t *out = json_object();
  put_types(r, out);
  put_names(r, SURG__PROBE_INPUT, "const", out);
  put_names(r, SURG__PROBE_GIVEN, "absent", out);
  put_attrs(r, out);
  put_names(r, SURG__PROBE_LEFT, "written", out);
  put_names(r, SURG__PROBE_SET, "no_attrs", out);
  put_ranks(r, out);
  put_open(r, out);
  put_names(r, SURG__PROBE_CONST, "fed", out);
  put_fed(r, out);
  if (r->base->narrow) surg__probe_pin(r->p, r->base, r->root, out);
  return out;
}

static json_t *refused_row(const char *why) {
  size_t n = strlen(why);
  if (n > SAID_MAX) n = SAID_MAX;
  while (n && (why[n] & 0xC0) == 0x80) n--;
  char text[SAID_MAX + 1];
  memcpy(text, why, n);
  text[n] = 0;
  json_t *said = json_string(text);
  return json_pack("{s:b,s:o}", "refused", 1, "says", said ? said : json_string("refused"));
}

/* --- an operator --- */

/* Adds a limit in words, so that support is unknown. */
static json_t *limited(json_t *fact, const char *text) {
  json_object_set_new(fact, "says", json_string(text));
  return fact;
}

/* Adds a row to a list that has none like it. */
static void add_row(json_t *rows, json_t *next) {
  size_t i;
  json_t *e;
  bool known = false;
  json_array_foreach(rows, i, e) known = known || json_equal(e, next);
  if (!known) json_array_append(rows, next);
  json_decref(next);
}

/* Adds the rows of the bases of a version: what is computed correctly, or what is only imported. */
static void add_rows(const surg__probe *p, const surg_schema *s, bool misread, json_t *rows) {
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->schema != s || !c->base || (c->differs && !misread)) continue;
    row r = {.p = p, .base = c, .root = i, .end = p->cases.count};
    json_t *facts = facts_of(&r);
    if (misread) {
      r.loose = true;
      json_t *loose = facts_of(&r);
      const bool same = !c->differs && json_equal(facts, loose);
      json_decref(facts);
      facts = loose;
      if (same) {
        json_decref(loose);
        continue;
      }
      json_object_set_new(facts, "misread", json_true());
    }
    add_row(rows, facts);
  }
}

/* The rows of a version, without "versions". */
static json_t *rows_of(const surg__probe *p, const surg_schema *s) {
  const char *why = NULL;
  bool left = false, base = false;
  json_t *rows = json_array(), *e;
  size_t i;
  for (i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (c->schema != s) continue;
    left = left || surg__probe_left(p, i);
    base = base || c->base;
    if (c->asked && c->what == SURG__PROBE_BASE && !c->taken && !why) why = c->why;
  }
  add_rows(p, s, false, rows);
  add_rows(p, s, true, rows);
  json_array_foreach(rows, i, e) if (left) limited(e, "not all forms were probed");
  if (!base) add_row(rows, why && !left ? refused_row(why) : limited(json_object(), "not probed"));
  return rows;
}

/* Adds the rows of versions low to high to those of the operator. */
static void close_span(json_t *all, const json_t *rows, int64_t low, int64_t high) {
  char text[64];
  size_t i;
  json_t *e;
  snprintf(text, sizeof text, low == high ? "%lld" : "%lld-%lld", (long long)low, (long long)high);
  json_array_foreach((json_t *)(uintptr_t)rows, i, e) {
    json_t *said = json_pack("{s:s}", "versions", text);
    json_object_update(said, e);
    json_array_append_new(all, said);
  }
}

/* Whether the engine's opsets have a version of an operator. */
static bool has_version(const surg__probe *p, const surg_schema *s) {
  bool known = !(s->flags & SURG__OP_DEPRECATED);
  for (size_t k = 0; known && k < p->opsets.count; k++)
    if (!strcmp(p->opsets.items[k].name, s->domain)) known = s->since <= p->opsets.items[k].high;
  return known;
}

/* The facts of all versions of an operator; consecutive versions with equal facts share rows. */
static json_t *op_json(const surg__probe *p, int op) {
  json_t *rows = json_array();
  size_t count;
  const surg_schema *all = surg__schema_versions(op, &count);
  json_t *last = NULL;
  int64_t low = 0, high = 0;
  for (size_t i = 0; i <= count; i++) {
    json_t *next = i < count && has_version(p, &all[i]) ? rows_of(p, &all[i]) : NULL;
    if (last && (!next || !json_equal(last, next))) {
      close_span(rows, last, low, high);
      json_decref(last);
      last = NULL;
    }
    if (last && next) json_decref(next);
    if (next && !last) {
      last = next;
      low = all[i].since;
    }
    if (next) high = all[i].since;
  }
  if (json_array_size(rows) != 1) return rows;
  json_t *one = json_incref(json_array_get(rows, 0));
  json_decref(rows);
  return one;
}

/* Whether the inherited target predicted all answers about the operator. */
static bool is_forecast(const surg__probe *p, int op) {
  if (!p->inherit) return false;
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    if (!c->schema || c->schema->op != op || !c->asked) continue;
    const bool right = c->taken && !c->differs;
    if (right ? c->forecast != SURG__LEGAL : c->forecast != SURG__ILLEGAL) return false;
  }
  return true;
}

static json_t *ops_json(const surg__probe *p) {
  json_t *ops = json_object();
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg_schema *s = p->cases.items[i].schema;
    if (!s || !p->cases.items[i].asked) continue;
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", s->domain, s->domain[0] ? "." : "", s->name);
    if (!json_object_get(ops, name) && !is_forecast(p, s->op))
      json_object_set_new(ops, name, op_json(p, s->op));
  }
  return ops;
}

json_t *surg__probe_learn(const surg__probe *p, const char *name) {
  json_t *t = json_object(), *opsets = json_object();
  char source[200];
  size_t asked = 0;
  for (size_t i = 0; i < p->cases.count; i++) asked += p->cases.items[i].asked;
  snprintf(source, sizeof source, "asked of the importer itself: onnxsurg probe, %zu models",
           asked);
  for (size_t i = 0; i < p->opsets.count; i++)
    json_object_set_new(
        opsets, p->opsets.items[i].name,
        span_json(&p->opsets.items[i], surg_schema_newest(p->opsets.items[i].name)));
  json_object_set_new(t, "schema", json_integer(1));
  json_object_set_new(t, "name", json_string(name));
  json_object_set_new(t, "source", json_string(source));
  if (p->inherit) json_object_set_new(t, "inherit", json_string(p->inherit->name));
  json_object_set_new(t, "opset", opsets);
  const surg__tspan ir = {NULL, p->ir_low <= 3 ? 1 : p->ir_low, p->ir_high};
  json_object_set_new(t, "ir", span_json(&ir, surg_dtype_ir_version(SURG_DTYPE_COUNT - 1)));
  json_object_set_new(t, "dynamic", dynamic_json(p));
  json_object_set_new(t, "unsorted", answer_json(engine_answer(p, SURG__PROBE_ORDER, 0)));
  json_object_set_new(t, "functions", answer_json(engine_answer(p, SURG__PROBE_FUNCTION, 0)));
  /* An engine that rejects an operator that does not exist rejects all operators it does not
   * support. */
  const bool stops = engine_answer(p, SURG__PROBE_FUNCTION, 1) == SURG__NO;
  if (!p->inherit && stops) json_object_set_new(t, "custom", json_false());
  if (!p->inherit)
    json_object_set_new(t, "rest",
                        json_string(stops && !p->only && !is_stopped(p) ? "refused" : "unknown"));
  json_object_set_new(t, "ops", ops_json(p));
  return t;
}

/* --- writing: one line for each operator, or for each row if it has several --- */

static void put_flat(surg__buf *f, const json_t *j) {
  char *text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
  /* Blanks after , and : outside of strings, as in handwritten files. */
  bool quoted = false;
  for (const char *c = text; c && *c; c++) {
    if (*c == '\\' && quoted) {
      surg__buf_putc(f, *c++);
    } else if (*c == '"') {
      quoted = !quoted;
    }
    surg__buf_putc(f, *c);
    if (!quoted && (*c == ',' || *c == ':')) surg__buf_putc(f, ' ');
  }
  free(text);
}

static void put_value(surg__buf *f, const json_t *j) {
  size_t i;
  json_t *e;
  if (!json_is_array(j)) {
    put_flat(f, j);
    return;
  }
  json_array_foreach((json_t *)(uintptr_t)j, i, e) {
    surg__buf_puts(f, i ? ",\n      " : "[\n      ");
    put_flat(f, e);
  }
  surg__buf_putc(f, ']');
}

void surg__probe_put(surg__buf *f, const json_t *target) {
  const char *key, *op;
  json_t *v, *o;
  const char *comma = "{\n";
  json_object_foreach((json_t *)(uintptr_t)target, key, v) {
    surg__buf_printf(f, "%s  \"%s\": ", comma, key);
    comma = ",\n";
    if (strcmp(key, "ops") != 0) {
      put_flat(f, v);
      continue;
    }
    const char *between = "{\n";
    json_object_foreach(v, op, o) {
      surg__buf_printf(f, "%s    \"%s\": ", between, op);
      between = ",\n";
      put_value(f, o);
    }
    surg__buf_puts(f, json_object_size(v) ? "\n  }" : "{}");
  }
  surg__buf_puts(f, "\n}\n");
}
