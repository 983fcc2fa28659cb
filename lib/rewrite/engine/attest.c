/* SPDX-License-Identifier: Apache-2.0 */
/* What a certificate states about the application of a rule: the rule and the hash of its text,
 * what the match binds, and the facts that its guard used. */
#include "base/sha256.h"
#include "pass/certificate.h"
#include "rewrite/lang/rule.h"

#define DIGESTED_BYTES 65536u /* larger constants are stated by name, without reading them */

static json_t *text_digest(surg_str text) {
  char digest[SURG__SHA256_TEXT];
  surg__sha256 s;
  surg__sha256_init(&s);
  surg__sha256_add(&s, text.p, text.n);
  surg__sha256_text(&s, digest);
  return json_string(digest);
}

/* The dimensions of a type: numbers, texts of expressions, or null. */
static json_t *dims_of(surg_model *m, const surg_type *t) {
  json_t *dims = json_array();
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim *d = surg_type_dim(t, i);
    if (d->value >= 0)
      json_array_append_new(dims, json_integer(d->value));
    else if (d->expr)
      json_array_append_new(dims, surg__json_text(surg_model_context(m), surg_dim_text(m, d)));
    else
      json_array_append_new(dims, json_null());
  }
  return dims;
}

/* What is known of a value: its type, the node that the type was inferred through, and the digest
 * of a constant. */
static json_t *fact(surg__certificate *c, surg_model *m, const surg_value *v) {
  json_t *j = json_object();
  const surg_type *t = surg_value_type(v);
  const surg_tensor *constant = surg_value_settled(v);
  if (t && surg_type_get_kind(t) == SURG_TYPE_TENSOR) {
    json_object_set_new(j, "dtype", json_integer(surg_type_dtype(t)));
    if (surg_type_has_rank(t)) json_object_set_new(j, "dims", dims_of(m, t));
  }
  surg_node *through = surg_value_producer(v, NULL);
  if (through) json_object_set_new(j, "through", surg__certificate_node(c, through));
  if (constant && surg_tensor_bytes(constant) <= DIGESTED_BYTES)
    json_object_set_new(j, "constant", surg__certificate_tensor(c, constant));
  else if (constant)
    json_object_set_new(j, "constant", json_string("by reference"));
  return j;
}

static json_t *ranges(surg__certificate *c, const surg__match *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < SURG_COUNT(m->asked) && m->asked[i].v; i++) {
    const surg__asked *a = &m->asked[i];
    json_t *one = json_object();
    json_object_set_new(one, "value", surg__certificate_value(c, a->v));
    json_object_set_new(one, "low", json_real(a->r.low)); /* NULL where infinite: left out */
    json_object_set_new(one, "high", json_real(a->r.high));
    json_object_set_new(one, "nan", json_boolean(a->r.nan));
    json_object_set_new(one, "assumed", json_boolean(a->r.assumed));
    json_array_append_new(list, one);
  }
  return list;
}

static json_t *attest(surg__certificate *c, const surg__match *m) {
  const surg_rule *r = m->rule;
  json_t *j = json_object(), *nodes = json_array(), *values = json_object();
  json_t *facts = json_object(), *before = json_object();
  surg__certificate_step(c, NULL); /* what was edited before is a step of its own */
  for (uint16_t k = 0; k < r->match.n; k++) {
    surg_node *n = m->nodes[k];
    json_t *name = surg__certificate_node(c, n);
    if (n && json_is_string(name))
      json_object_set_new(before, json_string_value(name), surg__certificate_content(c, n));
    json_array_append_new(nodes, name);
  }
  for (uint16_t i = 0; i < r->n_vars; i++) {
    if (!r->vars[i].value || !m->bound[i]) continue;
    json_t *name = surg__certificate_value(c, m->values[i]);
    if (m->values[i] && json_is_string(name))
      json_object_set_new(facts, json_string_value(name), fact(c, m->m, m->values[i]));
    json_object_set_new(values, r->vars[i].name, name);
  }
  surg__json_set(m->ctx, j, "rule", r->name);
  json_object_set_new(j, "hash", text_digest(r->text));
  if (r->each_op.n) json_object_set_new(j, "for", json_stringn(r->each_op.p, r->each_op.n));
  json_object_set_new(j, "emit", json_integer((json_int_t)(m->emit - r->emits)));
  json_object_set_new(j, "opset", json_integer(m->opset));
  json_object_set_new(j, "match", nodes);
  json_object_set_new(j, "values", values);
  json_object_set_new(j, "facts", facts);
  if (m->asked[0].v) json_object_set_new(j, "ranges", ranges(c, m));
  json_object_set_new(j, "before", surg__certificate_digest(before));
  json_decref(before);
  return j;
}

surg_status surg__emit_stated(const surg_pass_ctx *pass, surg__match *m, surg__made *made) {
  surg__certificate *c = surg__certificate_of(pass);
  if (!c) return surg__emit_any(m, made);
  json_t *label = attest(c, m);
  const surg_status s = surg__emit_any(m, made);
  json_object_set_new(label, "emit", json_integer((json_int_t)(m->emit - m->rule->emits)));
  if (s)
    json_decref(label);
  else
    surg__certificate_step(c, label);
  return s;
}

void surg__state_step(const surg_pass_ctx *pass) {
  surg__certificate_step(surg__certificate_of(pass), NULL);
}
