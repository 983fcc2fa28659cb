/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the model as the slots decided: weights, attributes, Casts, declared types. */
#include <assert.h>
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/give.h"
#include "precision.h"

#define NODE_BYTES 40 /* of a Cast in the file, without names: tags, lengths, attribute */

static bool moves(prec *c, uint32_t slot) {
  return c->slots[prec_root(c, slot)].moves;
}

static int type_of(const prec *c, const prec_value *x, bool moved) {
  if (moved) return c->kind->to;
  return x->dtype == c->kind->to ? c->wide : x->dtype;
}

int prec_final(prec *c, const prec_value *x, uint32_t slot) {
  return type_of(c, x, moves(c, slot));
}

/* Bytes of an element of the types of these passes. */
static size_t size_of(int dtype) {
  if (dtype == SURG_DOUBLE || dtype == SURG_INT64) return 8;
  return dtype == SURG_FLOAT || dtype == SURG_INT32 ? 4 : 2;
}

/* --- Casts --- */

static const char *stem_of(prec *c, const surg_value *v, int dtype) {
  const char *name = surg_value_name(v), *type = surg_dtype_name(dtype);
  const size_t n = strlen(name) + strlen(type) + 2;
  char *stem = surg_pass_alloc(c->p, n);
  if (stem) snprintf(stem, n, "%s_%s", name, type);
  return stem;
}

/* Names the output of a new node after the value it is made of. */
static bool name_after(prec *c, surg_value *made, const surg_value *v, int dtype) {
  const char *stem = stem_of(c, v, dtype);
  const char *name = stem ? surg_graph_fresh_name(surg_value_graph(made), stem) : NULL;
  return name && surg_value_rename(made, name) == SURG_OK;
}

static surg_node *after(const surg_value *v) {
  surg_node *by = surg_value_producer(v, NULL);
  return by ? surg_node_next(by) : surg_graph_first_node(surg_value_graph(v));
}

static surg_node *add_cast(prec *c, const surg_value *v, int dtype) {
  surg_graph *g = surg_value_graph(v);
  surg_node *n = surg_graph_add_node(g, after(v), "", "Cast", 1);
  const char *stem = n ? stem_of(c, v, dtype) : NULL;
  char *text = stem ? surg_pass_alloc(c->p, strlen(stem) + sizeof "_Cast") : NULL;
  if (!text) return NULL;
  sprintf(text, "%s_Cast", stem);
  const char *name = surg_graph_fresh_name(g, text);
  c->added++;
  return name && !surg_node_set_name(n, name) && !surg_node_set_int(n, "to", dtype) ? n : NULL;
}

static bool declare(prec *c, surg_value *v, int dtype);

/* An output keeps the declaration of its former value, with another element type. */
static bool reread(prec *c, const prec_read *r, int dtype, surg_value *by) {
  if (r->n) return surg_node_set_input(r->n, r->index, by) == SURG_OK;
  return surg_graph_set_output(r->g, r->index, by) == SURG_OK && declare(c, by, dtype);
}

/* Readers of the type `dtype` read `by`. */
static bool reread_all(prec *c, const prec_value *x, int dtype, surg_value *by) {
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    if (prec_final(c, x, c->reads[r].slot) == dtype && !reread(c, &c->reads[r], dtype, by))
      return false;
  return true;
}

/* Whether an output of its own graph reads the value as `dtype`: outputs keep their names. */
static bool output_of_type(prec *c, const prec_value *x, int dtype) {
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    if (c->reads[r].g == surg_value_graph(x->v) && prec_final(c, x, c->reads[r].slot) == dtype)
      return true;
  return false;
}

/* The value keeps its name and place as the result of the Cast; its producer gets a new output of
 * the type `made`, which the readers of that type read. */
static bool cast_after_producer(prec *c, prec_value *x, int made, int dtype) {
  size_t index;
  surg_node *by = surg_value_producer(x->v, &index);
  surg_node *n = add_cast(c, x->v, dtype);
  if (!n || surg_node_take_output(n, 0, x->v)) return false;
  surg_value *w = surg_node_add_output(by, index);
  return w && name_after(c, w, x->v, made) && !surg_node_set_input(n, 0, w) &&
         reread_all(c, x, made, w) && declare(c, x->v, dtype);
}

static bool cast_for_readers(prec *c, prec_value *x, int made, int dtype) {
  surg_node *n = add_cast(c, x->v, dtype);
  return n && !surg_node_set_input(n, 0, x->v) &&
         name_after(c, surg_node_output(n, 0), x->v, dtype) &&
         reread_all(c, x, dtype, surg_node_output(n, 0)) && declare(c, x->v, made);
}

/* Declares the type where one is declared: of inputs, outputs and value_info. */
static bool declare(prec *c, surg_value *v, int dtype) {
  const surg_type *t = declared_type(v);
  if (!t || prec_dtype(t) == dtype || prec_dtype(t) == 0) return true;
  t = prec_retyped(c, t, dtype);
  return t && surg_value_set_declared_type(v, t) == SURG_OK;
}

/* --- constants --- */

static surg_tensor *converted(prec *c, const surg_tensor *t, int dtype) {
  bool clamped = false;
  surg_tensor *made =
      c->saturate ? surg_tensor_narrow(c->m, t, dtype, &clamped) : surg_tensor_cast(c->m, t, dtype);
  if (clamped) c->clamped++;
  c->converted++;
  return made;
}

/* Replaces the elements of a constant. */
static bool convert_constant(prec *c, surg_value *v, int dtype) {
  surg_tensor *made = converted(c, surg_value_constant(v), dtype);
  surg_node *n = surg_value_producer(v, NULL);
  if (!made) return false;
  if (!n) return surg_value_set_initializer(v, made) == SURG_OK && declare(c, v, dtype);
  while (surg_node_attr_count(n) > 0)
    if (surg_node_remove_attr(n, surg_attr_name(surg_node_attr_at(n, 0)))) return false;
  return surg_node_set_tensor(n, "value", made) == SURG_OK && declare(c, v, dtype);
}

/* A second constant, or a Cast of the first: what is smaller in the file. */
static bool split_constant(prec *c, prec_value *x, int dtype) {
  const surg_tensor *t = surg_value_constant(x->v);
  const uint64_t bytes = surg_tensor_count(t) * size_of(dtype);
  if (x->movable && bytes > NODE_BYTES) return cast_for_readers(c, x, x->dtype, dtype);
  surg_tensor *made = converted(c, t, dtype);
  const char *stem = made ? stem_of(c, x->v, dtype) : NULL;
  surg_value *w =
      stem ? surg_graph_constant(surg_value_graph(x->v), after(x->v), stem, made) : NULL;
  c->copied++;
  return w && reread_all(c, x, dtype, w);
}

/* A constant that cannot be converted here, beside values of the other type. */
static bool cast_absent(prec *c, prec_value *x) {
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
    const int dtype = prec_final(c, x, c->reads[r].slot);
    if (dtype != x->dtype) return !x->movable || cast_for_readers(c, x, x->dtype, dtype);
  }
  return true;
}

static bool apply_constant(prec *c, prec_value *x) {
  const int now = x->dtype;
  const int to = type_of(c, x, true), wide = type_of(c, x, false);
  bool moved = false, stays = false;
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
    if (moves(c, c->reads[r].slot))
      moved = true;
    else
      stays = true;
  }
  if (x->absent) return cast_absent(c, x);
  if (moved && stays) return split_constant(c, x, now == to ? wide : to);
  if (!moved && !stays) return true;
  const int dtype = moved ? to : wide;
  return dtype == now ? declare(c, x->v, dtype) : convert_constant(c, x->v, dtype);
}

/* --- values --- */

static bool apply_value(prec *c, prec_value *x) {
  const int made = prec_final(c, x, x->made);
  int other = 0;
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
    const int d = prec_final(c, x, c->reads[r].slot);
    if (d != made) other = d;
  }
  if (!other) return declare(c, x->v, made);
  if (surg_value_producer(x->v, NULL) && output_of_type(c, x, other))
    return cast_after_producer(c, x, made, other);
  return cast_for_readers(c, x, made, other);
}

/* An input of the model that moves takes its default along. */
static bool apply_default(prec *c, prec_value *x) {
  surg_tensor *t = surg_value_initializer(x->v);
  if (!t || surg_value_constant(x->v)) return true;
  const int dtype = prec_final(c, x, x->made);
  if (surg_tensor_dtype(t) == dtype) return true;
  surg_tensor *made = converted(c, t, dtype);
  return made && surg_value_set_initializer(x->v, made) == SURG_OK;
}

/* --- attributes --- */

static bool set_tensor(prec *c, const prec_setter *s, int dtype) {
  const surg_attr *a = surg_node_attr(s->n, "value");
  const surg_tensor *t = surg_attr_tensor(a, 0);
  const int64_t one = 1;
  const uint8_t zero[8] = {0};
  const size_t bytes = size_of(dtype);
  if (t && surg_tensor_dtype(t) == dtype) return true;
  surg_tensor *made =
      t ? converted(c, t, dtype) : surg_tensor_new(c->m, dtype, &one, 1, zero, bytes);
  return made && surg_node_set_tensor(s->n, "value", made) == SURG_OK;
}

static bool apply_setter(prec *c, const prec_setter *s) {
  const int dtype = prec_final(c, s->made, s->slot);
  if (s->made->dtype == dtype) return true;
  if (!s->attr) return set_tensor(c, s, dtype);
  return surg_node_set_int(s->n, s->attr, dtype) == SURG_OK;
}

/* Raises or clamps a number that the new type cannot express. */
static double expressible(const prec *c, double v) {
  const double size = v < 0 ? -v : v, top = c->limits.top;
  const double to = size > top ? top : size > 0 && size <= c->limits.zero ? c->limits.normal : size;
  return v < 0 ? -to : to;
}

static bool raise_attrs(prec *c, surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    if (surg_attr_get_kind(a) != SURG_ATTR_FLOAT || surg_attr_ref(a)) continue;
    const double v = (double)surg_attr_float(a), to = expressible(c, v);
    if (!(v - to > 0) && !(to - v > 0)) continue;
    char line[PREC_TEXT];
    snprintf(line, sizeof line, "%.60s: %g is now %g", surg_attr_name(a), v, to);
    if (!c->trial) surg_pass_note(c->p, n, line);
    c->clamped++;
    if (surg_node_set_float(n, surg_attr_name(a), (float)to)) return false;
  }
  return true;
}

static bool apply_saturation(prec *c) {
  const surg_node *last = NULL;
  for (uint32_t i = 0; c->saturate && i < c->n_slots; i++) {
    const prec_slot *s = &c->slots[i];
    if (!s->n || s->n == last || !moves(c, i)) continue;
    last = s->n;
    if (!raise_attrs(c, s->n)) return false;
  }
  return true;
}

/* --- existing Casts --- */

/* Whether the conversion made the types on both sides equal. A Cast between equal types that was
 * there before stays: it may declare something. */
static bool redundant(prec *c, const prec_cast *x) {
  if (!x->from || !x->made || surg_pass_keeps_node(c->p, x->n)) return false;
  const int now = prec_final(c, x->from, x->in);
  return now == prec_final(c, x->made, x->out) &&
         (x->from->dtype != x->made->dtype || x->from->dtype != now);
}

/* ONNX Runtime fails on some Casts from float16 to float16. */
static bool become_identity(surg_node *n) {
  while (surg_node_attr_count(n) > 0)
    if (surg_node_remove_attr(n, surg_attr_name(surg_node_attr_at(n, 0)))) return false;
  if (surg_node_trim_inputs(n, 1)) return false; /* of a CastLike */
  return surg_node_set_op(n, surg_node_domain(n), "Identity") == SURG_OK;
}

/* Removes redundant Casts. One that alone can have the name of its result becomes an Identity. */
static bool drop_casts(prec *c) {
  for (prec_cast *x = c->casts; x; x = x->next) {
    surg_value *in = surg_node_input(x->n, 0), *out = surg_node_output(x->n, 0);
    if (!redundant(c, x)) continue;
    const surg_replace how = surg_value_can_replace(out, in);
    const bool named = how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(c->p, in);
    if (named || (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL)) {
      if (give_builtin(surg_node_graph(x->n), "Identity") && !become_identity(x->n)) return false;
      continue;
    }
    if (surg_value_replace(out, in) || surg_node_erase(x->n)) return false;
    c->removed++;
  }
  return true;
}

bool prec_apply(prec *c) {
  bool ok = true;
  for (prec_setter *s = c->setters; s && ok; s = s->next) ok = apply_setter(c, s);
  ok = ok && apply_saturation(c);
  for (uint32_t i = 0; i < c->n_values && ok; i++) {
    prec_value *x = &c->values[i];
    if (x->made == PREC_NONE)
      ok = apply_constant(c, x);
    else
      ok = apply_default(c, x) && apply_value(c, x);
  }
  return ok && drop_casts(c) && surg_model_status(c->m) == SURG_OK;
}
