/* SPDX-License-Identifier: Apache-2.0 */
/* Checks nodes against the schema files of their operators: number of inputs and outputs,
 * attributes, element types, ranks and dims. */
#include "schema/custom.h"

#include "base/context.h"
#include "check/check.h"
#include "ir/ir.h"
#include "schema/text.h"

#define FOUND(c, n, ...) surg__check_found(c, "E207", surg__locate_node(n), __VA_ARGS__)

static size_t required(const surg__custom_param *list, uint32_t n) {
  size_t least = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!list[i].optional && !list[i].variadic) least = i + 1;
  return least;
}

static void check_count(surg__checker *c, const surg_node *n, const char *what, size_t has,
                        const surg__custom_param *list, uint32_t count) {
  const size_t least = required(list, count);
  const bool open = count && list[count - 1].variadic;
  if (has < least)
    FOUND(c, n, "has %zu %s%s where its schema requires %zu", has, what, has == 1 ? "" : "s",
          least);
  else if (has > count && !open)
    FOUND(c, n, "has %zu %s%s where its schema has %u", has, what, has == 1 ? "" : "s", count);
}

static void check_present(surg__checker *c, const surg_node *n, const surg__custom *s) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    const surg__custom_param *p = surg__custom_formal(s->inputs, s->n_inputs, i);
    if (p && !p->optional && !p->variadic && !n->in[i].value)
      FOUND(c, n, "lacks input %u %s", i, surg__q(c->ctx, p->name));
  }
}

static void check_attrs(surg__checker *c, const surg_node *n, const surg__custom *s) {
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i];
    const surg__custom_attr *d = surg__custom_attr_find(s, a->name);
    if (!d)
      FOUND(c, n, "has an attribute %s that its schema does not have", surg__q(c->ctx, a->name));
    else if (d->kind != SURG_ATTR_UNDEFINED && d->kind != a->kind)
      FOUND(c, n, "attribute %s is of kind %s where its schema has %s", surg__q(c->ctx, a->name),
            surg__attr_kind_name(a->kind), surg__attr_kind_name(d->kind));
  }
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (s->attrs[i].required && !surg_node_attr(n, s->attrs[i].name))
      FOUND(c, n, "lacks attribute %s", surg__q(c->ctx, s->attrs[i].name));
}

/* A symbolic dimension of the schema and the size it had where it occurred first. */
typedef struct seen {
  const char *name;
  int64_t size;
} seen;

static void check_dims(surg__checker *c, const surg_node *n, const surg__custom_param *p,
                       uint32_t i, const surg_type *t, seen *list, size_t *count) {
  for (uint32_t k = 0; k < p->rank; k++) {
    const int64_t size = t->dims[k].value;
    const surg__custom_dim *d = &p->dims[k];
    if (size < 0 || d->count != 1) continue;
    if (d->steps->code == SURG__C_NUM && d->steps->n != size)
      FOUND(c, n, "input %u %s has size %lld on axis %u where its schema has %lld", i,
            surg__q(c->ctx, p->name), (long long)size, k, (long long)d->steps->n);
    if (d->steps->code != SURG__C_NAME) continue;
    size_t at = 0;
    while (at < *count && strcmp(list[at].name, d->steps->name) != 0) at++;
    if (at == *count && *count < SURG_LIMIT_SCHEMA_SYMBOLS)
      list[(*count)++] = (seen){d->steps->name, size};
    else if (at < *count && list[at].size != size)
      FOUND(c, n, "input %u %s has size %lld on axis %u, and %s is %lld elsewhere", i,
            surg__q(c->ctx, p->name), (long long)size, k, d->steps->name, (long long)list[at].size);
  }
}

static void check_inputs(surg__checker *c, const surg_node *n, const surg__custom *s) {
  uint32_t masks[SURG_LIMIT_SCHEMA_PARAMS];
  seen list[SURG_LIMIT_SCHEMA_SYMBOLS];
  size_t count = 0;
  for (uint32_t t = 0; t < s->n_types; t++) masks[t] = s->types[t].mask;
  for (uint32_t i = 0; i < n->n_in; i++) {
    const surg__custom_param *p = surg__custom_formal(s->inputs, s->n_inputs, i);
    const surg_type *t = p && n->in[i].value ? surg_value_type(n->in[i].value) : NULL;
    if (!t || t->kind != SURG_TYPE_TENSOR) continue;
    const uint32_t bit = t->dtype ? UINT32_C(1) << t->dtype : UINT32_MAX;
    if (!(surg__custom_mask(s, p->type) & bit)) {
      FOUND(c, n, "input %u %s is of %s, which its schema does not allow", i,
            surg__q(c->ctx, p->name), surg_dtype_name(t->dtype));
      continue;
    }
    for (uint32_t k = 0; k < s->n_types; k++) {
      if (strcmp(s->types[k].name, p->type) != 0) continue;
      if (!(masks[k] & bit))
        FOUND(c, n, "input %u %s is of %s, and another input of type %s is not", i,
              surg__q(c->ctx, p->name), surg_dtype_name(t->dtype), p->type);
      masks[k] &= bit;
    }
    if (p->shape != SURG__SHAPE_DIMS || !t->has_rank) continue;
    if (t->rank != p->rank)
      FOUND(c, n, "input %u %s is of rank %u where its schema has %u", i, surg__q(c->ctx, p->name),
            t->rank, p->rank);
    else
      check_dims(c, n, p, i, t, list, &count);
  }
}

void surg__check_custom(surg__checker *c) {
  if (!c->ctx->customs) return;
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (const surg_node *n = g->first; n; n = n->next) {
      if (n->faulty || surg_node_class(n) != SURG_OP_CLASS_CUSTOM) continue;
      const surg__custom *s = surg__custom_find(c->ctx, n->domain, n->op_type);
      if (!s) continue;
      check_count(c, n, "input", n->n_in, s->inputs, s->n_inputs);
      check_count(c, n, "output", n->n_out, s->outputs, s->n_outputs);
      check_present(c, n, s);
      check_attrs(c, n, s);
      check_inputs(c, n, s);
    }
}
