/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of operators that a schema file describes. A symbol is bound to the first input
 * dimension that is known; outputs are computed from symbols and attributes. */
#include "schema/custom.h"

#include "infer/rules.h"

typedef struct bound {
  const char *name;
  surg_dim dim;
} bound;

typedef struct env {
  surg__infer *c;
  const surg__custom *s;
  bound bounds[SURG_LIMIT_SCHEMA_SYMBOLS];
  size_t n;
  uint32_t masks[SURG_LIMIT_SCHEMA_PARAMS]; /* possible types of each type parameter */
} env;

static bound *find(env *e, const char *name) {
  for (size_t i = 0; i < e->n; i++)
    if (strcmp(e->bounds[i].name, name) == 0) return &e->bounds[i];
  return NULL;
}

/* Binds the symbol that is dimension `d` of an input to the value's dimension `has`, or compares
 * it. Expressions of several terms are ignored. */
static void meet(env *e, const surg__custom_dim *d, surg_dim has) {
  if (d->count != 1) return;
  surg_dim both;
  if (d->steps->code == SURG__C_NUM) {
    if (has.value >= 0 && has.value != d->steps->n) surg__infer_bad(e->c);
  } else if (d->steps->code == SURG__C_NAME && !surg__custom_attr_find(e->s, d->steps->name)) {
    bound *b = find(e, d->steps->name);
    if (b && surg__dim_unify(b->dim, has, &both))
      b->dim = both;
    else if (b)
      surg__infer_bad(e->c);
    else if (e->n < SURG_LIMIT_SCHEMA_SYMBOLS)
      e->bounds[e->n++] = (bound){d->steps->name, has};
  }
}

static void bind_input(env *e, const surg__custom_param *p, size_t i) {
  const surg__fact f = surg__infer_in(e->c, i);
  if (f.kind == SURG_TYPE_UNKNOWN) return;
  if (f.kind != SURG_TYPE_TENSOR) {
    if (strcmp(p->type, "any") != 0) surg__infer_bad(e->c);
    return;
  }
  const uint32_t bit = f.dtype ? UINT32_C(1) << f.dtype : UINT32_MAX;
  if (!(surg__custom_mask(e->s, p->type) & bit)) surg__infer_bad(e->c);
  for (uint32_t t = 0; t < e->s->n_types; t++) {
    if (strcmp(e->s->types[t].name, p->type) != 0) continue;
    e->masks[t] &= bit;
    if (!e->masks[t]) surg__infer_bad(e->c);
  }
  if (p->shape != SURG__SHAPE_DIMS || !f.ranked) return;
  if (f.rank != p->rank) {
    surg__infer_bad(e->c);
    return;
  }
  for (uint32_t k = 0; k < p->rank; k++) meet(e, &p->dims[k], f.dims[k]);
}

/* An element of an integer attribute or of its default. */
static const surg_expr *attr_item(const env *e, const char *name, int64_t i) {
  const surg_attr *a = surg_node_attr(e->c->n, name);
  const surg__custom_attr *d = surg__custom_attr_find(e->s, name);
  size_t n = 0;
  if (a && surg_attr_ref(a)) return NULL;
  if (a && surg_attr_get_kind(a) == SURG_ATTR_INT)
    return i == 0 ? surg__expr_num(e->c->m, surg_attr_int(a)) : NULL;
  const int64_t *list = a ? surg_attr_ints(a, &n) : NULL;
  if (!a && d) {
    list = d->ints;
    n = d->n;
  }
  return list && (uint64_t)i < n ? surg__expr_num(e->c->m, list[i]) : NULL;
}

static const surg_expr *load(env *e, const surg__custom_step *s) {
  if (s->code == SURG__C_NUM) return surg__expr_num(e->c->m, s->n);
  if (s->code == SURG__C_ITEM) return attr_item(e, s->name, s->n);
  const bound *b = find(e, s->name);
  return b ? surg__dim_as_expr(e->c, b->dim) : attr_item(e, s->name, 0);
}

static const surg_expr *divide(const surg_expr *a, const surg_expr *b, bool up) {
  if (!surg__expr_at_least_num(b, 1)) return NULL;
  return surg__expr_div(up ? surg__expr_add_num(surg__expr_add(a, b), -1) : a, b);
}

static const surg_expr *apply(const surg__custom_step *s, const surg_expr *a, const surg_expr *b) {
  if (!a || !b) return NULL;
  switch (s->code) {
    case SURG__C_ADD:
      return surg__expr_add(a, b);
    case SURG__C_SUB:
      return surg__expr_sub(a, b);
    case SURG__C_MUL:
      return surg__expr_mul(a, b);
    case SURG__C_DIV:
      return divide(a, b, s->n != 0);
    case SURG__C_MOD:
      return surg__expr_at_least_num(b, 1) ? surg__expr_mod(a, b) : NULL;
    case SURG__C_MIN:
      return surg__expr_min(a, b);
    default:
      return surg__expr_max(a, b);
  }
}

static surg_dim compute(env *e, const surg__custom_dim *d) {
  const surg_expr *stack[SURG_LIMIT_SCHEMA_STEPS];
  size_t n = 0;
  for (uint32_t i = 0; i < d->count; i++) {
    const surg__custom_step *s = &d->steps[i];
    assert(s->code < SURG__C_ADD ? n < SURG_COUNT(stack) : n >= 2); /* ensured by the parser */
    if (s->code < SURG__C_ADD) {
      stack[n++] = load(e, s);
    } else {
      stack[n - 2] = apply(s, stack[n - 2], stack[n - 1]);
      n--;
    }
  }
  return n == 1 && stack[0] ? surg__expr_dim(stack[0]) : surg__dim_unknown();
}

/* The only element type that an output may have, or 0. */
static int dtype_of(const env *e, const surg__custom_param *p) {
  uint32_t mask = surg__custom_mask(e->s, p->type);
  for (uint32_t t = 0; t < e->s->n_types; t++)
    if (strcmp(e->s->types[t].name, p->type) == 0) mask = e->masks[t];
  return mask && !(mask & (mask - 1)) ? __builtin_ctz(mask) : 0;
}

static void state(env *e, const surg__custom_param *p, size_t k) {
  surg_dim dims[SURG_LIMIT_RANK];
  const int dtype = dtype_of(e, p);
  if (!dtype) return;
  assert(dtype < SURG_DTYPE_COUNT && p->rank <= SURG_LIMIT_RANK);
  if (p->shape == SURG__SHAPE_LIKE) {
    const surg__fact f = surg__infer_in(e->c, p->like);
    if (f.kind == SURG_TYPE_TENSOR)
      surg__infer_put_like(e->c, k, dtype, &f);
    else
      surg__infer_put_unranked(e->c, k, dtype);
  } else if (p->shape == SURG__SHAPE_DIMS) {
    for (uint32_t i = 0; i < p->rank; i++) dims[i] = compute(e, &p->dims[i]);
    surg__infer_put(e->c, k, dtype, dims, p->rank);
  } else {
    surg__infer_put_unranked(e->c, k, dtype);
  }
}

bool surg__infer_custom(surg__infer *c, const surg_node *n) {
  const surg__custom *s = surg__custom_find(c->m->ctx, n->domain, n->op_type);
  if (!s) return false;
  env e = {.c = c, .s = s};
  c->n = n;
  c->schema = NULL;
  c->bad = false;
  for (uint32_t t = 0; t < s->n_types; t++) e.masks[t] = s->types[t].mask;
  for (uint32_t i = 0; i < n->n_in && !c->bad; i++) {
    const surg__custom_param *p = surg__custom_formal(s->inputs, s->n_inputs, i);
    if (p && surg__infer_has(c, i)) bind_input(&e, p, i);
  }
  for (uint32_t k = 0; k < n->n_out && !c->bad; k++) {
    const surg__custom_param *p = surg__custom_formal(s->outputs, s->n_outputs, k);
    if (p && n->out[k]) state(&e, p, k);
  }
  return true;
}
