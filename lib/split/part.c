/* SPDX-License-Identifier: Apache-2.0 */
/* One part of a split as a model: a copy of the model whose other nodes are erased. */
#include "base/base.h"
#include "base/diag.h"
#include "ir/edit.h"
#include "split/split.h"

typedef struct parting {
  const surg_split *s;
  size_t k;
  surg_model *m;
  surg_graph *g;
  surg_node **nodes;          /* of the main graph */
  SURG_VEC(surg_value *) out; /* values that are outputs of the part */
} parting;

static size_t part_of(const parting *x, const surg_node *n) {
  return x->s->part[(uintptr_t)n->work - 1];
}

/* --- what crosses --- */

/* Whether a part reads the value, by a node of the main graph or in a graph of it. */
static bool read_by(const parting *x, const surg_value *v, bool here) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *user = surg__split_user(u, x->g);
    if (user && (part_of(x, user) == x->k) == here) return true;
  }
  return false;
}

/* Whether a later part reads the value of this one. Constant nodes are copied instead. */
static bool leaves(const parting *x, const surg_node *n, const surg_value *v) {
  return !surg__split_constant(n) && read_by(x, v, false);
}

/* An output of the model is one of the part that computes it. One that is an input or a weight is
 * one of the last part. */
static bool gives(const parting *x, const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  return n && surg_value_graph(v) == x->g ? part_of(x, n) == x->k : x->k + 1 == x->s->n_parts;
}

/* --- types --- */

#define NESTING 8 /* deepest nesting of sequences and optionals */

/* The type without expressions over dimensions, which may refer to values of other parts. */
static const surg_type *plain(surg_model *m, const surg_type *t) {
  surg_type_kind kinds[NESTING];
  size_t depth = 0;
  const surg_type *whole = t;
  surg_type_kind kind;
  while (((kind = surg_type_get_kind(t)) == SURG_TYPE_SEQUENCE || kind == SURG_TYPE_OPTIONAL) &&
         depth < NESTING) {
    kinds[depth++] = kind;
    t = surg_type_elem(t);
  }
  if (kind == SURG_TYPE_UNKNOWN) return NULL;
  if (kind != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return whole;
  const size_t rank = surg_type_rank(t);
  surg_dim *dims = surg__array(m, rank + 1, sizeof *dims);
  if (!dims) return NULL;
  for (size_t i = 0; i < rank; i++) {
    const surg_dim *d = surg_type_dim(t, i);
    dims[i] = (surg_dim){.value = d->value, .param = d->param};
  }
  t = surg_type_tensor(m, surg_type_dtype(t), dims, rank);
  while (t && depth > 0) t = surg_type_wrap(m, kinds[--depth], t);
  return t;
}

static const surg_type *type_of(const parting *x, const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) t = surg_value_declared_type(v);
  t = plain(x->m, t);
  if (!t && surg_model_status(x->m) == SURG_OK)
    surg__error(x->s->ctx, SURG_EUNSUPPORTED, surg_model_path(x->m),
                "the type of %s, which one part passes to another, is unknown; state it with "
                "`onnxsurg set --value NAME --type`",
                surg__q(x->s->ctx, surg_value_name(v)));
  return t;
}

/* --- outputs --- */

static bool is_output(const surg_graph *g, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT && surg_use_graph(u) == g) return true;
  return false;
}

/* Outputs of the model that other parts compute are removed, values that leave are added. */
static surg_status set_outputs(parting *x) {
  surg_status s = SURG_OK;
  for (size_t i = surg_graph_output_count(x->g); s == SURG_OK && i-- > 0;)
    if (!gives(x, surg_graph_output(x->g, i))) s = surg_graph_remove_output(x->g, i);
  for (size_t i = 0; s == SURG_OK && i < x->s->n_nodes; i++) {
    surg_node *n = x->nodes[i];
    if (part_of(x, n) != x->k) continue;
    for (size_t j = 0; s == SURG_OK && j < surg_node_output_count(n); j++) {
      surg_value *v = surg_node_output(n, j);
      if (!v || is_output(x->g, v) || !leaves(x, n, v)) continue;
      const surg_type *t = type_of(x, v);
      const bool idle = surg_value_has_info(v);
      if (!t)
        return surg_model_status(x->m) != SURG_OK ? surg_model_status(x->m) : SURG_EUNSUPPORTED;
      s = surg_graph_add_output(x->g, v, t);
      if (s == SURG_OK && idle) s = surg_value_drop_info(v);
    }
  }
  return s;
}

/* --- inputs --- */

/* Makes the value of another part an input. Its producer keeps the old value under a new name until
 * it is erased. */
static surg_status take_in(parting *x, surg_value *old) {
  const surg_type *type = type_of(x, old);
  surg_str name;
  if (!type)
    return surg_model_status(x->m) != SURG_OK ? surg_model_status(x->m) : SURG_EUNSUPPORTED;
  if (!surg__copy_str(x->m, (surg_str){surg_value_name(old), strlen(surg_value_name(old))}, &name))
    return surg_model_status(x->m);
  if (surg_value_is_pinned(old))
    return surg__error(x->s->ctx, SURG_EUNSUPPORTED, surg_model_path(x->m),
                       "training refers to %s, which would be in two parts",
                       surg__q(x->s->ctx, name.p));
  const char *fresh = surg_graph_fresh_name(x->g, name.p);
  surg_status s = fresh ? surg_value_rename(old, fresh) : surg_model_status(x->m);
  surg_value *in = s == SURG_OK ? surg_graph_add_input(x->g, name.p, type) : NULL;
  if (!in) return s != SURG_OK ? s : surg_model_status(x->m);
  return surg_value_replace(old, in);
}

static surg_status set_inputs(parting *x) {
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < x->s->n_nodes; i++) {
    surg_node *n = x->nodes[i];
    if (part_of(x, n) == x->k || surg__split_constant(n)) continue;
    for (size_t j = 0; s == SURG_OK && j < surg_node_output_count(n); j++) {
      surg_value *v = surg_node_output(n, j);
      if (v && read_by(x, v, true)) s = take_in(x, v);
    }
  }
  return s;
}

/* --- removing the rest --- */

static bool stays(const parting *x, const surg_node *n) {
  if (part_of(x, n) == x->k) return true;
  const surg_value *v = surg_node_output(n, 0);
  return surg__split_constant(n) && v && surg_value_use_count(v, 1) > 0;
}

/* What nothing of the whole model reads stays in the first part. */
static surg_status drop_inputs(parting *x, const bool *idle) {
  surg_status s = SURG_OK;
  for (size_t i = surg_graph_input_count(x->g); s == SURG_OK && i-- > 0;) {
    surg_value *v = surg_graph_input(x->g, i);
    const bool weight = surg_value_is_initializer(v);
    if (surg_value_first_use(v) || (idle[i] && x->k == 0)) continue;
    s = surg_graph_remove_input(x->g, i);
    if (s == SURG_OK && weight && !surg_value_erased(v) && surg_value_is_initializer(v))
      s = surg_value_erase_initializer(v);
  }
  return s;
}

static bool describes_other(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_SOFT && surg_use_index(u) == 1) return true;
  return false;
}

static surg_status drop_weights(parting *x, const surg_graph *whole) {
  surg_status s = SURG_OK;
  surg_value *next;
  for (surg_value *v = surg_graph_next_initializer(x->g, NULL); v && s == SURG_OK; v = next) {
    next = surg_graph_next_initializer(x->g, v);
    if (surg_value_use_count(v, 1) > 0 || surg_value_is_pinned(v) || describes_other(v)) continue;
    if (surg_value_is_input(v)) continue;
    const surg_value *before = surg_graph_find_value(whole, surg_value_name(v));
    if (x->k == 0 && before && surg_value_use_count(before, 1) == 0) continue;
    s = surg_value_erase_initializer(v);
  }
  return s;
}

/* Marks the functions that the main graph reaches. Rounds are as many as calls are nested. */
static bool *reached(surg_context *ctx, const surg_model *m) {
  const size_t n = surg_model_function_count(m);
  bool *r = surg__calloc(ctx, n + 1, sizeof *r), more = r != NULL;
  for (size_t i = 0; r && i < n; i++) surg_function_graph(surg_model_function(m, i))->work = NULL;
  while (more) {
    more = false;
    for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
      const surg_function *of = surg_graph_function(g);
      if (of && !surg_function_graph(of)->work) continue;
      for (surg_node *c = surg_graph_first_node(g); c; c = surg_node_next(c)) {
        const surg_function *f = surg_node_function(c);
        if (!f || surg_function_graph(f)->work) continue;
        surg_function_graph(f)->work = surg_function_graph(f);
        more = true;
      }
    }
  }
  for (size_t i = 0; r && i < n; i++) {
    surg_graph *body = surg_function_graph(surg_model_function(m, i));
    r[i] = body->work != NULL;
    body->work = NULL;
  }
  return r;
}

static surg_status drop_functions(parting *x) {
  const size_t n = surg_model_function_count(x->m);
  if (!n) return SURG_OK;
  bool *here = reached(x->s->ctx, x->m), *all = reached(x->s->ctx, x->s->m);
  surg_status s = here && all ? SURG_OK : surg__alloc_status(x->s->ctx);
  for (size_t i = n; s == SURG_OK && i-- > 0;)
    if (!here[i] && (all[i] || x->k))
      s = surg_model_remove_function(x->m, surg_model_function(x->m, i));
  surg__free(x->s->ctx, here);
  surg__free(x->s->ctx, all);
  return s;
}

static surg_status build(parting *x, const bool *idle) {
  surg_status s = set_outputs(x);
  if (s == SURG_OK) s = set_inputs(x);
  for (size_t i = x->s->n_nodes; s == SURG_OK && i-- > 0;)
    if (!stays(x, x->nodes[i])) s = surg_node_erase(x->nodes[i]);
  for (size_t i = 0; i < x->s->n_nodes; i++) x->nodes[i]->work = NULL;
  if (s == SURG_OK) s = drop_inputs(x, idle);
  if (s == SURG_OK) s = drop_weights(x, surg_model_graph(x->s->m));
  if (s == SURG_OK) s = drop_functions(x);
  if (s != SURG_OK) return s;
  return surg_model_status(x->m);
}

/* What was erased is freed with its model only, and is most of the whole model: a part is a copy
 * without it, so that all parts together are as large as the model. */
static surg_status give_small(parting *x, surg_model **out) {
  *out = surg_model_clone(x->m);
  if (!*out) return surg__alloc_status(x->s->ctx);
  surg_model_free(x->m);
  x->m = NULL;
  return SURG_OK;
}

surg_status surg_split_part(const surg_split *s, size_t k, surg_model **out) {
  if (out) *out = NULL;
  if (!s || !out || k >= s->n_parts) return SURG_EUSAGE;
  parting x = {.s = s, .k = k, .m = surg_model_clone(s->m)};
  if (!x.m) return surg__alloc_status(s->ctx);
  x.g = surg_model_graph(x.m);
  const size_t n_in = surg_graph_input_count(x.g);
  x.nodes = surg__calloc(s->ctx, s->n_nodes + 1, sizeof *x.nodes);
  bool *idle = surg__calloc(s->ctx, n_in + 1, sizeof *idle);
  surg_status r = x.nodes && idle ? surg_model_infer(x.m) : surg__alloc_status(s->ctx);
  if (r == SURG_OK) {
    uintptr_t i = 0;
    for (surg_node *n = surg_graph_first_node(x.g); n; n = surg_node_next(n)) {
      x.nodes[i] = n;
      n->work = (void *)++i;
    }
    for (size_t j = 0; j < n_in; j++) idle[j] = !surg_value_first_use(surg_graph_input(x.g, j));
    r = build(&x, idle);
  }
  surg__free(s->ctx, idle);
  surg__free(s->ctx, x.nodes);
  if (r == SURG_OK) r = give_small(&x, out);
  if (r == SURG_OK) return r;
  if (!surg_context_error(s->ctx))
    surg__error(s->ctx, r, surg_model_path(s->m), "part %zu cannot be made: %s", k + 1,
                surg_status_name(r));
  surg_model_free(x.m);
  return r;
}
