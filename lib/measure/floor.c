/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest operator version that a node is valid for. The search walks back from version to
 * version as long as the older one accepts the node's attributes, inputs, outputs and types, and
 * lib/schema/steps.table has the same meaning for both. */
#include <onnxsurg/onnxsurg.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "measure/measure.h"
#include "schema/text.h"

typedef struct fit {
  const surg_node *n;
  const surg_schema *from, *to; /* versions of one operator; the node is one of `from` */
  const surg__step_side *side;
  surg__buf *why; /* receives the reason; or NULL */
} fit;

#define SAY(f, ...) ((f)->why ? surg__buf_printf((f)->why, __VA_ARGS__) : (void)0)

/* --- facts about the node --- */

/* Only proven ranks and dimensions count: they decide what a node means, and declarations are often
 * stale. Engines warn at most, and use the shapes that they compute. */
static const surg_type *ranked_input(const surg_node *n, int64_t i) {
  const surg_value *v = surg_node_input(n, (size_t)i);
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_has_rank(t) ? t : NULL;
}

/* The element type of a value. The declared type counts where nothing is proven, after unknown
 * operators: engines reject a model that declares a wrong element type, and the question here is
 * only which versions accept the type. */
static const surg_type *element_type_of(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return t ? t : surg_value_declared_type(v);
}

/* The attribute or its default; false: there is neither, or it refers to a function's attribute. */
static bool int_of(const fit *f, const char *name, int64_t *out) {
  const surg_attr *a = surg_node_attr(f->n, name);
  const surg__attr_def *d = surg__schema_attr(f->from, name);
  if (a) {
    *out = surg_attr_int(a);
    return !surg_attr_ref(a) && surg_attr_get_kind(a) == SURG_ATTR_INT;
  }
  if (!d || !d->has_default || d->kind != SURG_ATTR_INT) return false;
  *out = d->i;
  return true;
}

/* 1: the condition is true; 0: false; -1: unknown. */
static int attr_is(const fit *f, const surg__condition *c) {
  const surg_attr *a = surg_node_attr(f->n, c->attr);
  const surg__attr_def *d = surg__schema_attr(f->from, c->attr);
  int64_t i;
  if (a && surg_attr_ref(a)) return -1;
  if (!c->value) return int_of(f, c->attr, &i) && i == c->n;
  surg_str s = {NULL, 0};
  if (a)
    s = surg_attr_string(a);
  else if (d && d->has_default && d->kind == SURG_ATTR_STRING)
    s = (surg_str){d->s, strlen(d->s)};
  return s.p && s.n == strlen(c->value) && memcmp(s.p, c->value, s.n) == 0;
}

static bool attr_at_least(const fit *f, const char *name, int64_t least) {
  const surg_attr *a = surg_node_attr(f->n, name);
  int64_t i;
  if (!a || surg_attr_get_kind(a) == SURG_ATTR_INT) return int_of(f, name, &i) ? i >= least : !a;
  if (surg_attr_ref(a)) return false;
  size_t n;
  const int64_t *ints = surg_attr_ints(a, &n);
  for (size_t k = 0; ints && k < n; k++)
    if (ints[k] < least) return false;
  return true;
}

static bool last_axis(const fit *f, const char *name) {
  const surg_type *t = ranked_input(f->n, 0);
  int64_t axis;
  if (!int_of(f, name, &axis)) return false;
  return axis == -1 || (t && axis >= 0 && (uint64_t)axis + 1 == surg_type_rank(t));
}

static bool plain_indices(const surg_node *n, int64_t i) {
  const surg_value *v = surg_node_input(n, (size_t)i);
  if (!v) return true;
  const surg_tensor *t = surg_value_constant(v);
  int64_t values[SURG_LIMIT_FLOOR_INDICES];
  if (!t || surg_tensor_count(t) > SURG_LIMIT_FLOOR_INDICES) return false;
  const int64_t count = surg__read_ints(t, values, SURG_LIMIT_FLOOR_INDICES);
  for (int64_t k = 0; k < count; k++)
    if (values[k] < 0) return false;
  return count >= 0;
}

/* Whether an input is absent, or a constant without elements. */
static bool left_out(const surg_node *n, int64_t i) {
  const surg_value *v = surg_node_input(n, (size_t)i);
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  return !v || (t && surg_tensor_count(t) == 0);
}

static bool one_element(const surg_node *n, int64_t i) {
  const surg_type *t = ranked_input(n, i);
  uint64_t count;
  return t && surg_type_rank(t) <= 1 && surg_type_static(t, &count) && count == 1;
}

static bool same_shape(const surg_type *a, const surg_type *b) {
  if (!a || !b || surg_type_get_kind(a) != SURG_TYPE_TENSOR ||
      surg_type_get_kind(b) != SURG_TYPE_TENSOR)
    return false;
  if (!surg_type_has_rank(a) || !surg_type_has_rank(b)) return false;
  if (surg_type_rank(a) != surg_type_rank(b)) return false;
  for (size_t k = 0; k < surg_type_rank(a); k++)
    if (!surg_dim_equal(surg_type_dim(a, k), surg_type_dim(b, k))) return false;
  return true;
}

static bool same_shapes(const surg_node *n) {
  const surg_type *first = ranked_input(n, 0);
  if (!first) return false;
  for (size_t i = 1; i < surg_node_input_count(n); i++)
    if (!same_shape(first, ranked_input(n, (int64_t)i))) return false;
  return true;
}

static bool same_branches(const surg_node *n) {
  const surg_graph *first = surg_node_subgraph(n, 0);
  if (!first) return false;
  for (size_t k = 1; surg_node_subgraph(n, k); k++) {
    const surg_graph *g = surg_node_subgraph(n, k);
    if (surg_graph_output_count(g) != surg_graph_output_count(first)) return false;
    for (size_t i = 0; i < surg_graph_output_count(g); i++)
      if (!same_shape(surg_value_type(surg_graph_output(first, i)),
                      surg_value_type(surg_graph_output(g, i))))
        return false;
  }
  return true;
}

/* Whether each loop-carried value has the same shape before the loop and after every iteration. */
static bool same_carried(const surg_node *n) {
  const surg_graph *body = surg_node_subgraph(n, 0);
  const size_t inputs = surg_node_input_count(n);
  if (!body || surg_graph_output_count(body) + 1 < inputs) return false;
  for (size_t i = 2; i < inputs; i++)
    if (!same_shape(ranked_input(n, (int64_t)i), surg_value_type(surg_graph_output(body, i - 1))))
      return false;
  return true;
}

/* Element i of an attribute that is a list, or what it is where it is left out. Larger numbers than
 * WINDOW_MOST, and negative ones, are not judged: -1. */
#define WINDOW_MOST INT32_MAX

static int64_t window_int(const surg_node *n, const char *name, size_t i, int64_t otherwise) {
  const surg_attr *a = surg_node_attr(n, name);
  size_t count = 0;
  const int64_t *list = a ? surg_attr_ints(a, &count) : NULL;
  const int64_t is = !a ? otherwise : list && i < count ? list[i] : -1;
  return is <= WINDOW_MOST ? is : -1;
}

/* Whether no window of an axis starts in the padding at the end. ceil_mode adds a window where
 * less than a stride is left over; it starts in the input or the padding in front wherever
 * stride + end pad <= kernel, for any size; else the size tells. */
static bool window_inside(const fit *f, size_t axis, size_t axes) {
  const surg_type *t = ranked_input(f->n, 0);
  const int64_t kernel = window_int(f->n, "kernel_shape", axis, -1);
  const int64_t stride = window_int(f->n, "strides", axis, 1);
  const int64_t apart = window_int(f->n, "dilations", axis, 1);
  const int64_t front = window_int(f->n, "pads", axis, 0);
  const int64_t back = window_int(f->n, "pads", axis + axes, 0);
  const bool sized = t && surg_type_rank(t) == axes + 2;
  const int64_t size = sized ? surg_type_dim(t, axis + 2)->value : -1;
  if (kernel < 1 || stride < 1 || apart < 1 || front < 0 || back < 0) return false;
  const int64_t span = (kernel - 1) * apart + 1;
  if (stride + back <= span) return true;
  const int64_t room = front + size + back - span;
  if (size < 0 || size > WINDOW_MOST || room < 0) return false;
  return (room + stride - 1) / stride * stride < front + size;
}

static bool windows_inside(const fit *f) {
  const surg_attr *kernel = surg_node_attr(f->n, "kernel_shape");
  const surg_attr *mode = surg_node_attr(f->n, "auto_pad");
  int64_t ceiled;
  if (int_of(f, "ceil_mode", &ceiled) && !ceiled) return true;
  if (!kernel || (mode && !surg__attr_says_default(mode, surg__schema_attr(f->from, "auto_pad"))))
    return false;
  size_t axes;
  surg_attr_ints(kernel, &axes);
  for (size_t i = 0; i < axes; i++)
    if (!window_inside(f, i, axes)) return false;
  return axes > 0;
}

static bool holds(const fit *f, const surg__condition *c) {
  const surg_type *t;
  switch (c->kind) {
    case SURG__IF_IS:
      return attr_is(f, c) == 1;
    case SURG__IF_ISNT:
      return attr_is(f, c) == 0;
    case SURG__IF_LEAST:
      return attr_at_least(f, c->attr, c->n);
    case SURG__IF_DROP:
      return true;
    case SURG__IF_LAST:
      return last_axis(f, c->attr);
    case SURG__IF_GIVEN:
      return surg_node_input(f->n, (size_t)c->n) != NULL;
    case SURG__IF_ABSENT:
      return surg_node_input(f->n, (size_t)c->n) == NULL;
    case SURG__IF_UNUSED:
      return surg_value_use_count(surg_node_output(f->n, (size_t)c->n), 1) == 0;
    case SURG__IF_INDICES:
      return plain_indices(f->n, c->n);
    case SURG__IF_SCALAR:
      t = ranked_input(f->n, c->n);
      return t && surg_type_rank(t) == 0;
    case SURG__IF_ONE:
      return one_element(f->n, c->n);
    case SURG__IF_RANK:
      t = ranked_input(f->n, c->n);
      return t && surg_type_rank(t) == (size_t)c->m;
    case SURG__IF_ONE_OF:
      return left_out(f->n, c->n) || left_out(f->n, c->m);
    case SURG__IF_INSIDE:
      return windows_inside(f);
    case SURG__IF_SAME_SHAPES:
      return same_shapes(f->n);
    case SURG__IF_SAME_BRANCHES:
      return same_branches(f->n);
    case SURG__IF_SAME_CARRIED:
      return same_carried(f->n);
  }
  return false;
}

static bool meaning_fits(const fit *f, const surg__opset_step *step) {
  const char *note = step->note ? step->note : "it meant another thing before";
  if (!f->side->possible) {
    SAY(f, "%s", note);
    return false;
  }
  for (uint32_t i = 0; i < f->side->count; i++) {
    const surg__condition *c = &f->side->conditions[i];
    if (holds(f, c)) continue;
    SAY(f, "%s; the same only where ", note);
    if (f->why) surg__put_condition(f->why, c);
    return false;
  }
  return true;
}

/* --- attributes --- */

bool surg__attr_says_default(const surg_attr *a, const surg__attr_def *d) {
  if (!d || !d->has_default || surg_attr_ref(a) || surg_attr_get_kind(a) != d->kind) return false;
  const float x = surg_attr_float(a);
  const surg_str s = surg_attr_string(a);
  size_t n;
  const int64_t *ints = surg_attr_ints(a, &n);
  switch (d->kind) {
    case SURG_ATTR_INT:
      return surg_attr_int(a) == d->i;
    case SURG_ATTR_FLOAT:
      return memcmp(&x, &d->f, sizeof x) == 0;
    case SURG_ATTR_STRING:
      return s.n == strlen(d->s) && memcmp(s.p, d->s, s.n) == 0;
    case SURG_ATTR_INTS:
      return n == d->n && (!n || memcmp(ints, d->ints, n * sizeof *ints) == 0);
    default:
      return false;
  }
}

bool surg_schema_attr_has_default(const surg_schema *s, size_t i) {
  return s && i < s->n_attrs && s->attrs[i].has_default &&
         (s->attrs[i].kind == SURG_ATTR_INT || s->attrs[i].kind == SURG_ATTR_FLOAT ||
          s->attrs[i].kind == SURG_ATTR_STRING || s->attrs[i].kind == SURG_ATTR_INTS);
}

bool surg_node_says_default(const surg_node *n, const char *name) {
  const surg_attr *a = n && name ? surg_node_attr(n, name) : NULL;
  const surg_schema *s = a ? surg_node_schema(n) : NULL;
  return s && surg__attr_says_default(a, surg__schema_attr(s, name));
}

surg_status surg_node_spell_default(surg_node *n, const char *name) {
  const surg_schema *s = n && name ? surg_node_schema(n) : NULL;
  const surg__attr_def *d = s ? surg__schema_attr(s, name) : NULL;
  if (!d || !d->has_default || surg_node_attr(n, name)) return SURG_ENOTFOUND;
  switch (d->kind) {
    case SURG_ATTR_INT:
      return surg_node_set_int(n, name, d->i);
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(n, name, d->f);
    case SURG_ATTR_STRING:
      return surg_node_set_string(n, name, d->s);
    case SURG_ATTR_INTS:
      return surg_node_set_ints(n, name, d->ints, d->n);
    default:
      return SURG_ENOTFOUND;
  }
}

/* Whether a condition of the step mentions the attribute: then the step decides whether it may be
 * dropped. */
static bool is_dealt_with(const fit *f, const char *name) {
  for (uint32_t i = 0; i < f->side->count; i++) {
    const surg__condition *c = &f->side->conditions[i];
    if ((c->kind == SURG__IF_IS || c->kind == SURG__IF_DROP) && strcmp(c->attr, name) == 0)
      return true;
  }
  /* An obsolete hint about in-place computation, without effect on the result. */
  return strcmp(name, "consumed_inputs") == 0;
}

static bool attrs_fit(const fit *f) {
  for (size_t i = 0; i < surg_node_attr_count(f->n); i++) {
    const surg_attr *a = surg_node_attr_at(f->n, i);
    const char *name = surg_attr_name(a);
    const surg__attr_def *to = surg__schema_attr(f->to, name);
    const surg__attr_def *from = surg__schema_attr(f->from, name);
    if (!from && to && !surg__attr_says_default(a, to)) {
      SAY(f, "attribute %s has no meaning in opset %d, and would get one", name, f->from->since);
      return false;
    }
    if (!from) continue; /* no attribute of the operator at all: reported elsewhere */
    if (!to && !surg__attr_says_default(a, from) && !is_dealt_with(f, name)) {
      SAY(f, "attribute %s is new", name);
      return false;
    }
    if (to && to->kind != surg_attr_get_kind(a)) {
      SAY(f, "attribute %s as %s is new", name, surg__attr_kind_name(from->kind));
      return false;
    }
  }
  for (uint32_t i = 0; i < f->to->n_attrs; i++) {
    const surg__attr_def *to = &f->to->attrs[i], *from = surg__schema_attr(f->from, to->name);
    if (surg_node_attr(f->n, to->name)) continue;
    if (to->required) {
      SAY(f, "attribute %s had to be given", to->name);
      return false;
    }
    if (from && (from->has_default || to->has_default) && !surg__attr_default_same(from, to)) {
      SAY(f, "the default of attribute %s is new", to->name);
      return false;
    }
  }
  return true;
}

/* --- inputs, outputs and their types --- */

static const surg_value *at(const fit *f, bool output, size_t i) {
  return output ? surg_node_output(f->n, i) : surg_node_input(f->n, i);
}

static bool places_fit(const fit *f, bool output) {
  size_t n = output ? surg_node_output_count(f->n) : surg_node_input_count(f->n);
  const char *what = output ? "output" : "input";
  while (n && !at(f, output, n - 1)) n--;
  const uint32_t least = output ? f->to->min_out : f->to->min_in;
  const uint32_t most = output ? f->to->max_out : f->to->max_in;
  if (n > most) {
    SAY(f, "%s %u is new", what, most);
    return false;
  }
  for (size_t i = 0; i < n || i < least; i++) {
    const surg__param *p = surg__schema_formal(f->to, output, i);
    if (!p || (i < n && at(f, output, i)) || (i < n && p->option != SURG__SINGLE)) continue;
    SAY(f, "%s %s had to be given", what, p->name);
    return false;
  }
  return true;
}

/* The type string of a sequence, an optional or an optional sequence of tensors, as a set of
 * one. */
static bool one_type(const surg_type *t, surg__type_set *out) {
  *out = (surg__type_set){0};
  size_t way = 0;
  if (t && surg_type_get_kind(t) == SURG_TYPE_OPTIONAL) {
    way = 2;
    t = surg_type_elem(t);
  }
  if (t && surg_type_get_kind(t) == SURG_TYPE_SEQUENCE) {
    way++;
    t = surg_type_elem(t);
  }
  if (!way || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return false;
  const int dtype = surg_type_dtype(t);
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return false;
  out->mask[way] = UINT32_C(1) << dtype;
  return true;
}

/* For other values, and for unknown types, `to` must allow every type that `from` allows. */
static bool set_fits(const fit *f, const surg_type *t, const surg__param *from,
                     const surg__param *to) {
  const surg__type_param *a = surg__schema_type_param(f->from, from);
  const surg__type_param *b = surg__schema_type_param(f->to, to);
  if (a && b && a->types == b->types) return true;
  surg__type_set x, y;
  if (!one_type(t, &x)) surg__type_set_of(f->from, from, &x);
  surg__type_set_of(f->to, to, &y);
  return surg__type_set_within(&x, &y);
}

static bool dtype_fits(const surg_schema *s, const surg__param *p, int dtype) {
  const surg__type_param *t = surg__schema_type_param(s, p);
  if (t) return t->tensor_mask >> dtype & 1;
  surg__type_set set;
  surg__type_set_of(s, p, &set);
  return set.mask[0] >> dtype & 1;
}

#define MOST_BOUND 16u

static bool type_fits(const fit *f, bool output, size_t i, uint8_t bound[MOST_BOUND]) {
  const surg_value *v = at(f, output, i);
  const surg__param *from = surg__schema_formal(f->from, output, i);
  const surg__param *to = surg__schema_formal(f->to, output, i);
  if (!v || !from || !to) return true;
  const surg_type *t = element_type_of(v);
  const int dtype = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) {
    surg__type_set one;
    if (set_fits(f, t, from, to)) return true;
    if (one_type(t, &one))
      SAY(f, "%s as %s is new", to->name,
          surg_type_get_kind(t) == SURG_TYPE_OPTIONAL ? "an optional" : "a sequence");
    else
      SAY(f, "the type of %s is unknown, and only some types are accepted", to->name);
    return false;
  }
  if (!dtype_fits(f->to, to, dtype)) {
    SAY(f, "element type %s of %s is new", surg__dtype_name(dtype), from->name);
    return false;
  }
  const surg__type_param *param = surg__schema_type_param(f->to, to);
  const size_t k = param ? (size_t)(param - f->to->params) : MOST_BOUND;
  if (k >= MOST_BOUND || (to->option == SURG__VARIADIC && !to->homogeneous)) return true;
  if (bound[k] && bound[k] != dtype) {
    SAY(f, "a separate type for %s is new", from->name);
    return false;
  }
  bound[k] = (uint8_t)dtype;
  return true;
}

static bool types_fit(const fit *f) {
  uint8_t bound[MOST_BOUND] = {0};
  for (size_t i = 0; i < surg_node_input_count(f->n); i++)
    if (!type_fits(f, false, i, bound)) return false;
  for (size_t i = 0; i < surg_node_output_count(f->n); i++)
    if (!type_fits(f, true, i, bound)) return false;
  return true;
}

/* --- */

static bool start(fit *f, const surg_node *n, const surg_schema *from, const surg_schema *to,
                  const surg__opset_step **step, surg__buf *why) {
  const surg_schema *newer = from->since > to->since ? from : to;
  *step = surg__step_find(from->op, newer->since);
  if (!*step) return false;
  const surg__step_side *side = newer == from ? &(*step)->down : &(*step)->up;
  *f = (fit){.n = n, .from = from, .to = to, .side = side, .why = why};
  return true;
}

static bool form_fits(const fit *f) {
  return places_fit(f, false) && places_fit(f, true) && attrs_fit(f);
}

bool surg__node_fits(const surg_node *n, const surg_schema *from, const surg_schema *to,
                     surg__buf *why) {
  const surg__opset_step *step;
  fit f;
  return start(&f, n, from, to, &step, why) && form_fits(&f) && types_fit(&f) &&
         meaning_fits(&f, step);
}

bool surg__node_fits_in_form(const surg_node *n, const surg_schema *from, const surg_schema *to,
                             surg__buf *why) {
  const surg__opset_step *step;
  fit f;
  return start(&f, n, from, to, &step, why) && form_fits(&f) && meaning_fits(&f, step);
}

const surg_schema *surg__node_oldest(const surg_node *n, surg__buf *why) {
  const surg_schema *s = surg_node_schema(n);
  size_t count;
  const surg_schema *first = s ? surg__schema_versions(s->op, &count) : NULL;
  if (!first) return NULL;
  while (s > first) {
    if (!surg__node_fits(n, s, s - 1, why)) return s;
    s--;
  }
  if (why) surg__buf_printf(why, "the operator is new");
  return s;
}

int64_t surg_node_floor(const surg_node *n) {
  const surg_schema *s = n ? surg__node_oldest(n, NULL) : NULL;
  return s ? s->since : 0;
}

bool surg_node_fits(const surg_node *n, int64_t opset) {
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  const surg_schema *to = s ? surg_schema_find(s->domain, s->name, opset) : NULL;
  if (!to || to->op != s->op) return false;
  while (s != to) {
    const surg_schema *next = s < to ? s + 1 : s - 1;
    if (!surg__node_fits(n, s, next, NULL)) return false;
    s = next;
  }
  return true;
}
