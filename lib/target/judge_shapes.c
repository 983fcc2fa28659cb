/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a node against limits on ranks, sizes, shapes and values. Unknown sizes are never
 * rejected. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/context.h"
#include "base/counted.h"
#include "ir/ir.h"
#include "target/judge.h"

#define SPAN_ELEMENTS 4096u /* most elements of a constant that are compared with bounds */

static const surg_type *tensor_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* The input or output of that name. */
static const surg_value *either(const surg__judge *j, const char *name) {
  const surg_value *in = surg__judge_formal(j, name, false);
  return in ? in : surg__judge_formal(j, name, true);
}

static bool fits_rank(surg__judge *j, const surg__tspan *want, const surg_value *v) {
  const surg_tensor *c = v ? surg_value_constant(v) : NULL;
  const surg_type *t = tensor_of(v);
  if (!v) return true;
  if (!t && !c) {
    if (!j->f->when_known)
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v, "the rank of %s is not known",
                         surg__judge_name(j, v));
    return true;
  }
  const int64_t rank = (int64_t)(c ? surg_tensor_rank(c) : surg_type_rank(t));
  if (rank >= want->low && rank <= want->high) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s has rank %lld; the %s is %lld",
                     surg__judge_name(j, v), (long long)rank, rank > want->high ? "most" : "least",
                     (long long)(rank > want->high ? want->high : want->low));
  return false;
}

/* The index of the first input of a variadic parameter of that name, to which all inputs after it
 * belong; otherwise the number of inputs. */
static size_t variadic(const surg__judge *j, const char *name) {
  const size_t n = surg_node_input_count(j->n);
  for (size_t i = 0; j->s && i < j->s->n_inputs; i++)
    if (j->s->inputs[i].option == SURG__VARIADIC && !strcmp(j->s->inputs[i].name, name)) return i;
  return n;
}

static bool fits_ranks(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_ranks; i++) {
    const surg__tspan *want = &j->f->ranks[i];
    if (!fits_rank(j, want, either(j, want->name))) return false;
    for (size_t k = variadic(j, want->name) + 1; k < surg_node_input_count(j->n); k++)
      if (!fits_rank(j, want, surg_node_input(j->n, k))) return false;
  }
  return true;
}

/* Checks numbers of elements. A size that is not fixed may be any, so only fixed ones can be
 * rejected. */
static bool fits_sizes(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_sizes; i++) {
    const surg__tspan *want = &j->f->sizes[i];
    const surg_value *v = either(j, want->name);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    const surg_type *t = v && !c ? tensor_of(v) : NULL;
    uint64_t n = c ? surg_tensor_count(c) : 0;
    if (!c && (!t || !surg_type_static(t, &n))) continue;
    const int64_t have = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    if (have >= want->low && have <= want->high) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s has %lld element%s; the %s is %lld",
                       surg__judge_name(j, v), (long long)have, have == 1 ? "" : "s",
                       have > want->high ? "most" : "least",
                       (long long)(have > want->high ? want->high : want->low));
    return false;
  }
  return true;
}

/* Reads the value that an older version of the operator has as an attribute (k of TopK). Returns 1,
 * or -1: there is none. */
static int64_t value_attr(const surg__judge *j, const char *name, int64_t *out) {
  for (size_t i = 0; i < surg_node_attr_count(j->n); i++) {
    const surg_attr *a = surg_node_attr_at(j->n, i);
    if (strcasecmp(surg_attr_name(a), name) != 0 || surg_attr_get_kind(a) != SURG_ATTR_INT)
      continue;
    *out = surg_attr_int(a);
    return 1;
  }
  return -1;
}

/* Checks that the elements of constants are consecutive: 2, 3, 4 passes, 2, 4 does not. */
static bool fits_rows(surg__judge *j) {
  for (size_t i = 0; i < j->f->row.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->row.items[i], false);
    const surg_tensor *c = v ? surg_value_constant(v) : NULL;
    int64_t items[64];
    const int64_t n = c ? surg__read_ints(c, items, SURG_COUNT(items)) : -1;
    if (c && n < 0)
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v, "the elements of %s are unknown",
                         surg__judge_name(j, v));
    for (int64_t k = 1; k < n; k++) {
      if (items[k - 1] < INT64_MAX && items[k] == items[k - 1] + 1) continue;
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s are not consecutive",
                         surg__judge_name(j, v));
      return false;
    }
  }
  return true;
}

/* Reads the elements of a constant, or those that inference knows. Returns their number; -1: some
 * are unknown, or there are more than `cap`. */
static int64_t elements_of(const surg__judge *j, const surg_value *v, int64_t *out, size_t cap) {
  surg_elem elems[64];
  const surg_tensor *c = surg__judge_elements(j, v);
  if (c) return surg__read_ints(c, out, cap);
  const int64_t n = surg__known_elements(v, elems, SURG_COUNT(elems));
  for (int64_t i = 0; i < n; i++) {
    if (!elems[i].known || (size_t)i >= cap) return -1;
    out[i] = elems[i].value;
  }
  return n;
}

static bool fits_values(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_values; i++) {
    const surg__tspan *want = &j->f->values[i];
    const surg_value *v = surg__judge_formal(j, want->name, false);
    int64_t items[SPAN_ELEMENTS];
    const int64_t n =
        v ? elements_of(j, v, items, SURG_COUNT(items)) : value_attr(j, want->name, items);
    if (v && n < 0)
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v, "the value of %s is not known",
                         surg__judge_name(j, v));
    for (int64_t k = 0; k < n; k++) {
      if (items[k] >= want->low && items[k] <= want->high) continue;
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s is %lld; the %s is %lld",
                         want->name, (long long)items[k], items[k] > want->high ? "most" : "least",
                         (long long)(items[k] > want->high ? want->high : want->low));
      return false;
    }
  }
  return true;
}

/* Checks the elements of constant inputs; computed inputs are not judged. */
static bool fits_known(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_known; i++) {
    const surg__tspan *want = &j->f->known[i];
    const surg_value *v = surg__judge_formal(j, want->name, false);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    int64_t items[SPAN_ELEMENTS];
    const int64_t n = c ? surg__read_ints(c, items, SURG_COUNT(items)) : 0;
    if (n < 0)
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v, "the elements of %s are unknown",
                         surg__judge_name(j, v));
    for (int64_t k = 0; k < n; k++) {
      if (items[k] >= want->low && items[k] <= want->high) continue;
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v,
                                 "%s has the element %lld; the %s is %lld", surg__judge_name(j, v),
                                 (long long)items[k], items[k] > want->high ? "most" : "least",
                                 (long long)(items[k] > want->high ? want->high : want->low));
    }
  }
  return true;
}

/* Checks sizes of axes ("X.1"). An axis that does not exist meets every limit. */
static bool fits_axes(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_dims; i++) {
    const surg__tspan *want = &j->f->dims[i];
    const char *dot = strrchr(want->name, '.');
    char name[80];
    if (!dot || (size_t)snprintf(name, sizeof name, "%.*s", (int)(dot - want->name), want->name) >=
                    sizeof name)
      continue;
    const surg_value *in = surg__judge_formal(j, name, false);
    const surg_value *v = in ? in : surg__judge_formal(j, name, true);
    const surg_type *t = tensor_of(v);
    const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0;
    int64_t axis = strtol(dot + 1, NULL, 10);
    if (axis < 0) axis += rank;
    if (!v || (t && (axis < 0 || axis >= rank))) continue;
    int64_t low = 0, high = INT64_MAX;
    if (t) surg_dim_range(surg_type_dim(t, (size_t)axis), &low, &high);
    if (t && surg_type_dim(t, (size_t)axis)->value >= 0)
      low = high = surg_type_dim(t, (size_t)axis)->value;
    if (low >= want->low && high <= want->high) continue;
    const bool never = high < want->low || low > want->high;
    if (!never && j->f->when_known) continue;
    surg__judge_object(j, never ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_RANGE, v,
                       never ? "the size of axis %lld of %s is %lld, which is not supported"
                             : "whether the size of axis %lld of %s is supported is not known",
                       (long long)axis, surg__judge_name(j, v), (long long)low);
    if (never) return false;
  }
  return true;
}

/* Whether two shapes are equal, except their last `rest` dimensions. Unknown dimensions are not
 * equal. */
static bool same_shape(const surg_type *a, const surg_type *b, size_t rest) {
  if (surg_type_rank(a) != surg_type_rank(b)) return false;
  for (size_t i = 0; i + rest < surg_type_rank(a); i++) {
    const surg_dim x = *surg_type_dim(a, i), y = *surg_type_dim(b, i);
    const bool symbols = x.value < 0 && y.value < 0 && x.param && y.param;
    if (symbols ? strcmp(x.param, y.param) != 0 : x.value < 0 || x.value != y.value) return false;
  }
  return true;
}

static bool fits_same(surg__judge *j) {
  const surg_value *first = NULL;
  for (size_t i = 0; j->f->same && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *a = tensor_of(first), *b = tensor_of(v);
    if (!v || v == first) continue;
    if (first && a && b && !same_shape(a, b, j->f->but_two ? 2 : 0))
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s has another shape than %s",
                                 surg__judge_name(j, v), surg__judge_name(j, first));
    if (first && (!a || !b))
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v,
                         "whether %s has the shape of %s is not known", surg__judge_name(j, v),
                         surg__judge_name(j, first));
    if (!first) first = v;
  }
  return true;
}

#define NO_AXIS SIZE_MAX

/* Whether ranks or fixed sizes of two shapes differ, except along axis `but`. */
static bool other_shape(const surg_type *a, const surg_type *b, size_t but) {
  if (surg_type_rank(a) != surg_type_rank(b)) return true;
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const int64_t x = surg_type_dim(a, i)->value, y = surg_type_dim(b, i)->value;
    if (i != but && x >= 0 && y >= 0 && x != y) return true;
  }
  return false;
}

/* Whether a fixed size of `a` is above that of `b`, or their ranks differ. */
static bool is_larger(const surg_type *a, const surg_type *b) {
  if (surg_type_rank(a) != surg_type_rank(b)) return true;
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const int64_t x = surg_type_dim(a, i)->value, y = surg_type_dim(b, i)->value;
    if (y >= 0 && x > y) return true;
  }
  return false;
}

/* Checks outputs that must have one shape: some engines make equal parts, whatever remains. */
static bool fits_even(surg__judge *j) {
  const surg_value *first = NULL;
  for (size_t i = 0; j->f->even && i < surg_node_output_count(j->n); i++) {
    const surg_value *v = surg_node_output(j->n, i);
    const surg_type *a = tensor_of(first), *b = tensor_of(v);
    if (v && first && a && b && other_shape(a, b, NO_AXIS))
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s has another shape than %s",
                                 surg__judge_name(j, v), surg__judge_name(j, first));
    if (v && first && (!a || !b || !same_shape(a, b, 0)))
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v,
                         "whether %s has the shape of %s is not known", surg__judge_name(j, v),
                         surg__judge_name(j, first));
    if (!first) first = v;
  }
  return true;
}

/* The attribute `axis`, counted from the first axis. */
static size_t axis_of(const surg_node *n, size_t rank) {
  const int64_t axis = surg_node_int(n, "axis", 0);
  return (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
}

/* The first input of a list whose shape does not fit that of the first output; NULL: none. */
static const surg_value *misshapen(const surg__judge *j, const surg__tlist *list, size_t but,
                                   bool may_be_smaller) {
  const surg_type *y = surg_node_output_count(j->n) ? tensor_of(surg_node_output(j->n, 0)) : NULL;
  for (size_t i = 0; i < list->n && y; i++) {
    const surg_value *v = surg__judge_formal(j, list->items[i], false);
    const surg_type *x = tensor_of(v);
    if (x && (may_be_smaller ? is_larger(x, y) : other_shape(x, y, but))) return v;
  }
  return NULL;
}

/* Checks inputs that must be square matrices: an engine that forgets to transpose them imports
 * no others. */
static bool fits_square(surg__judge *j) {
  for (size_t i = 0; i < j->f->square.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->square.items[i], false);
    const surg_type *t = tensor_of(v);
    if (!v || !t) continue;
    if (surg_type_rank(t) == 2 && surg_type_dim(t, 0)->value == surg_type_dim(t, 1)->value)
      continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s is not a square matrix",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* The number of elements from axis on; -1: unknown. */
static int64_t count_from(const surg_type *t, size_t axis) {
  int64_t count = 1;
  for (size_t i = axis; i < surg_type_rank(t); i++) {
    const int64_t size = surg_type_dim(t, i)->value;
    if (size < 0 || !surg__mul_i64(count, size, &count)) return -1;
  }
  return count;
}

/* Checks inputs that some engines multiply as one row with the elements that are normalized, those
 * from the attribute `axis` on. */
static bool fits_normalized(surg__judge *j) {
  const surg_type *x = tensor_of(surg_node_input(j->n, 0));
  if (!j->f->normalized.n || !x) return true;
  const int64_t rank = (int64_t)surg_type_rank(x), given = surg_node_int(j->n, "axis", -1);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) {
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL, "axis %lld does not exist",
                       (long long)given);
    return false;
  }
  const int64_t want = count_from(x, (size_t)axis);
  for (size_t i = 0; i < j->f->normalized.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->normalized.items[i], false);
    const surg_type *t = tensor_of(v);
    const int64_t found = t ? count_from(t, 0) : -1;
    if (want < 0 || found < 0 || want == 1 || found == 1 || want == found) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v,
                       "%s has %lld elements, and %lld are normalized together",
                       surg__judge_name(j, v), (long long)found, (long long)want);
    return false;
  }
  return true;
}

/* Checks inputs that must have the output's shape: some engines size the result after one operand
 * and ignore the other. Likewise those that may differ along `axis`, or be smaller. */
static bool fits_shaped(surg__judge *j) {
  const surg_type *y = surg_node_output_count(j->n) ? tensor_of(surg_node_output(j->n, 0)) : NULL;
  const size_t axis = y ? axis_of(j->n, surg_type_rank(y)) : NO_AXIS;
  const char *why = "%s has another shape than the result";
  const surg_value *v = misshapen(j, &j->f->shaped, NO_AXIS, false);
  if (!v && (v = misshapen(j, &j->f->beside_axis, axis, false)))
    why = "%s has another shape than the result, not only along the axis of the node";
  if (!v && (v = misshapen(j, &j->f->within, NO_AXIS, true)))
    why = "%s is larger than the result along an axis";
  if (!v) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, why, surg__judge_name(j, v));
  return false;
}

/* The dimension of `t` at axis i after it is padded to `rank` axes with leading ones. */
static int64_t padded(const surg_type *t, size_t rank, size_t i) {
  const size_t first = rank - surg_type_rank(t);
  return i < first ? 1 : surg_type_dim(t, i - first)->value;
}

/* Whether `b`, from axis i on, equals `y` up to some axis and has size 1 after it. Unknown sizes
 * match. */
static bool equal_then_ones(const surg_type *b, const surg_type *y, size_t i) {
  const size_t rank = surg_type_rank(y);
  bool ones = false;
  for (; i < rank; i++) {
    const int64_t have = padded(b, rank, i), want = surg_type_dim(y, i)->value;
    if (have < 0 || (!ones && (want < 0 || have == want))) continue;
    if (have != 1) return false;
    ones = true;
  }
  return true;
}

/* The number of axes of `y` along which `b` is repeated, with the first and the last of them. */
static size_t repeated(const surg_type *b, const surg_type *y, size_t *first, size_t *last) {
  const size_t rank = surg_type_rank(y);
  size_t n = 0;
  for (size_t i = 0; i < rank; i++) {
    if (padded(b, rank, i) != 1 || surg_type_dim(y, i)->value <= 1) continue;
    if (!n++) *first = i;
    *last = i;
  }
  return n;
}

/* Whether an axis of size 1 is added in front: where the value is not constant, it is left out, and
 * later nodes find another rank. */
static bool adds_one(const surg_type *b, const surg_type *y) {
  return surg_type_rank(b) < surg_type_rank(y) && surg_type_dim(y, 0)->value == 1;
}

static bool repeats(const surg_type *b, const surg_type *y, surg__tspread how) {
  const size_t rank = surg_type_rank(y);
  if (how != SURG__S_ONCE && adds_one(b, y)) return false;
  size_t first = 0, last = 0;
  const size_t n = repeated(b, y, &first, &last);
  if (how != SURG__S_PLANES) return n == 0 || (n == 1 && (how == SURG__S_ONCE || first <= 1));
  return rank >= 4 && n == 2 && first == rank - 2 && surg_type_dim(y, 0)->value <= 1;
}

/* Whether `b` is repeated along one axis at most between its first and its last axis of a size
 * other than 1. */
static bool has_one_gap(const surg_type *b, const surg_type *y) {
  const size_t rank = surg_type_rank(y);
  size_t inside = 0, gaps = 0;
  bool any = false;
  for (size_t i = 0; i < rank; i++) {
    if (padded(b, rank, i) == 1) {
      inside += any && surg_type_dim(y, i)->value > 1;
      continue;
    }
    any = true;
    gaps += inside;
    inside = 0;
  }
  return gaps <= 1;
}

static bool spreads(const surg_type *b, const surg_type *y, surg__tspread how) {
  const size_t rank = surg_type_rank(y);
  if (surg_type_rank(b) > rank) return false;
  if (how == SURG__S_INNER && adds_one(b, y)) return false;
  if (how >= SURG__S_GAP) return has_one_gap(b, y);
  if (how >= SURG__S_ONCE) return repeats(b, y, how);
  if (how == SURG__S_LAST) return equal_then_ones(b, y, rank - surg_type_rank(b));
  if (rank == 0) return true;
  const int64_t front = padded(b, rank, 0), want = surg_type_dim(y, 0)->value;
  if (how == SURG__S_SINGLE) {
    for (size_t i = 2; i < surg_type_rank(b); i++)
      if (surg_type_dim(b, i)->value > 1) return false;
    return true;
  }
  if (how == SURG__S_CHANNEL) return front <= 1 && equal_then_ones(b, y, 1);
  return (front == want || front < 0 || want < 0) && equal_then_ones(b, y, 0);
}

const char *surg__target_spread(surg__tspread how) {
  static const char *const texts[] = {
      [SURG__S_LAST] = "equal in shape to the result from its own first axis on, then of size 1",
      [SURG__S_CHANNEL] = "equal in shape to the result from axis 1 on, then of size 1",
      [SURG__S_FRONT] = "equal in shape to the result from axis 0 on, then of size 1",
      [SURG__S_SINGLE] = "of size 1 after axis 1",
      [SURG__S_ONCE] = "repeated along at most one axis",
      [SURG__S_EARLY] = "repeated only along axis 0 or 1",
      [SURG__S_PLANES] = "repeated only along the last two of four axes, with a batch of 1",
      [SURG__S_GAP] =
          "repeated along at most one axis between its first and its last axis of a "
          "size above 1",
      [SURG__S_INNER] =
          "repeated along at most one axis between its first and its last axis of a "
          "size above 1, with no axis of size 1 added in front"};
  _Static_assert(SURG_COUNT(texts) == SURG__S_INNER + 1, "a text for each way to repeat");
  assert((size_t)how < SURG_COUNT(texts));
  return texts[how];
}

static bool fits_spreads(surg__judge *j) {
  const surg_type *y = surg_node_output_count(j->n) ? tensor_of(surg_node_output(j->n, 0)) : NULL;
  for (size_t i = 0; i < j->f->n_spreads && y; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->spreads[i].name, false);
    const surg_type *b = tensor_of(v);
    if (!b || spreads(b, y, j->f->spreads[i].how)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v, "%s must be %s", surg__judge_name(j, v),
                       surg__target_spread(j->f->spreads[i].how));
    return false;
  }
  return true;
}

static bool first_alone_open(const surg_type *t) {
  for (size_t i = 1; i < surg_type_rank(t); i++)
    if (surg_type_dim(t, i)->value < 0) return false;
  return true;
}

static bool fits_dims(surg__judge *j) {
  if (j->f->fixed)
    for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
      const surg_value *v = surg_node_input(j->n, i);
      if (!v || surg_value_constant(v)) continue;
      const surg_type *t = tensor_of(v);
      if (t && (surg_type_static(t, NULL) || (j->f->open_first && first_alone_open(t)))) continue;
      surg__judge_object(j, t ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                         "%s has no fixed size", surg__judge_name(j, v));
      if (t) return false;
    }
  const surg_value *v =
      j->f->batch && surg_node_input_count(j->n) ? surg_node_input(j->n, 0) : NULL;
  const surg_type *t = tensor_of(v);
  if (!v || (t && surg_type_rank(t) < 2)) return true; /* a vector has no batch dimension */
  const int64_t have = t ? surg_type_dim(t, 0)->value : -1;
  if (have == j->f->batch) return true;
  surg__judge_object(
      j, have >= 0 ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_RANGE, v,
      have >= 0 ? "the batch of %s is not %lld" : "whether the batch of %s is %lld is not known",
      surg__judge_name(j, v), (long long)j->f->batch);
  return have < 0;
}

bool surg__judge_shapes(surg__judge *j) {
  return fits_ranks(j) && fits_same(j) && fits_even(j) && fits_sizes(j) && fits_shaped(j) &&
         fits_square(j) && fits_normalized(j) && fits_spreads(j) && fits_rows(j) &&
         fits_values(j) && fits_known(j) && fits_axes(j) && fits_dims(j) && surg__judge_axes(j) &&
         surg__judge_picked(j) && surg__judge_vectors(j) && surg__judge_samples(j) &&
         surg__judge_tracked(j);
}
