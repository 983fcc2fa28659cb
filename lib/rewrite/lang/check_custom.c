/* SPDX-License-Identifier: Apache-2.0 */
/* Checks rules against schema files (doc/schema-files.md), for the operators these describe:
 * numbers of inputs and outputs, optional inputs, attributes. */
#include "rewrite/lang/rule.h"
#include "schema/custom.h"

/* The largest number of inputs or outputs; SIZE_MAX: variadic. */
static size_t most(const surg__custom_param *list, uint32_t n) {
  return n && list[n - 1].variadic ? SIZE_MAX : n;
}

static size_t least(const surg__custom_param *list, uint32_t n) {
  size_t need = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!list[i].optional && !list[i].variadic) need = i + 1;
  return need;
}

static bool has_attr(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return true;
  return false;
}

static bool attrs_hold(const surg__custom *d, const surg__rstmt *s, bool emitted, surg__buf *why) {
  for (uint16_t i = 0; i < s->n_attrs; i++) {
    if (surg__custom_attr_find(d, s->attrs[i].name)) continue;
    surg__buf_printf(why, "%s is described without an attribute %s", s->op_type, s->attrs[i].name);
    return false;
  }
  for (uint32_t i = 0; emitted && !s->more_attrs && i < d->n_attrs; i++) {
    if (!d->attrs[i].required || has_attr(s, d->attrs[i].name)) continue;
    surg__buf_printf(why, "%s needs the attribute %s", s->op_type, d->attrs[i].name);
    return false;
  }
  return true;
}

static bool inputs_hold(const surg__custom *d, const surg__rstmt *s, surg__buf *why) {
  if (!s->more_in && s->n_in < least(d->inputs, d->n_inputs)) {
    surg__buf_printf(why, "%s is described with more than %u inputs", s->op_type, s->n_in);
    return false;
  }
  for (uint16_t i = 0; i < s->n_in; i++) {
    const surg__custom_param *p = surg__custom_formal(d->inputs, d->n_inputs, i);
    if (!p || p->optional || (s->in[i].kind != SURG__A_ABSENT && !s->in[i].optional)) continue;
    surg__buf_printf(why, "input %u of %s may not be absent", i, s->op_type);
    return false;
  }
  return true;
}

bool surg__rule_check_custom(surg_context *ctx, const surg__rstmt *s, bool emitted,
                             surg__buf *why) {
  const surg__custom *d = surg__custom_find(ctx, s->domain, s->op_type);
  if (!d) return true;
  if (s->n_in > most(d->inputs, d->n_inputs)) {
    surg__buf_printf(why, "%s is described with fewer than %u inputs", s->op_type, s->n_in);
    return false;
  }
  if (s->n_out > most(d->outputs, d->n_outputs)) {
    surg__buf_printf(why, "%s is described with fewer than %u outputs", s->op_type, s->n_out);
    return false;
  }
  return attrs_hold(d, s, emitted, why) && (!emitted || inputs_hold(d, s, why));
}

surg__rvalue surg__rvalue_of_custom(surg__match *m, const surg_node *n, const char *name) {
  surg__rvalue v = {.kind = SURG__R_UNKNOWN};
  const surg__custom *d = surg_node_class(n) == SURG_OP_CLASS_CUSTOM
                              ? surg__custom_find(m->ctx, surg_node_domain(n), surg_node_op_type(n))
                              : NULL;
  const surg__custom_attr *a = d ? surg__custom_attr_find(d, name) : NULL;
  if (!a || a->n == 0) return v;
  surg__rnum *items = surg__arena_array(m->arena, a->n, sizeof *items);
  if (!items) return v;
  for (uint32_t i = 0; i < a->n; i++) items[i] = (surg__rnum){.known = true, .i = a->ints[i]};
  if (a->kind == SURG_ATTR_INT) return (surg__rvalue){.kind = SURG__R_INT, .one = items[0]};
  if (a->kind == SURG_ATTR_INTS)
    return (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = a->n};
  return v;
}
