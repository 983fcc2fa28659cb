/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a node against limits on attribute elements, Einsum equations and subgraphs. An absent
 * attribute has its default; an absent attribute without a default meets every limit. */
#include <stdlib.h>

#include "base/context.h"
#include "ir/ir.h"
#include "schema/schema.h"
#include "target/judge.h"

/* Finds the elements of an INT or INTS attribute, or of its default; none if it has neither. False:
 * unknown, or of another kind. `one` is the storage for an INT. */
static bool ints_of(const surg__judge *j, const char *name, const int64_t **out, size_t *n,
                    int64_t *one) {
  const surg_attr *a = surg_node_attr(j->n, name);
  const surg__attr_def *d = j->s && !a ? surg__schema_attr(j->s, name) : NULL;
  *out = one;
  *n = 0;
  if (!a && (!d || !d->has_default)) return true;
  if (a && surg_attr_ref(a)) return false;
  switch (a ? surg_attr_get_kind(a) : d->kind) {
    case SURG_ATTR_INT:
      *one = a ? surg_attr_int(a) : d->i;
      *n = 1;
      return true;
    case SURG_ATTR_INTS:
      *n = d ? d->n : 0;
      *out = a ? surg_attr_ints(a, n) : d->ints;
      if (*n == 0 || *out) return true;
      *n = 0;
      return false;
    default:
      return false;
  }
}

static void not_known(surg__judge *j, const char *name) {
  surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL, "the value of %s is unknown", name);
}

static bool fits_each(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_each; i++) {
    const surg__tspan *want = &j->f->each[i];
    const int64_t *list;
    int64_t one;
    size_t n;
    if (!ints_of(j, want->name, &list, &n, &one)) not_known(j, want->name);
    for (size_t k = 0; k < n; k++) {
      if (list[k] >= want->low && list[k] <= want->high) continue;
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                 "%s has the element %lld; the %s is %lld", want->name,
                                 (long long)list[k], list[k] > want->high ? "most" : "least",
                                 (long long)(list[k] > want->high ? want->high : want->low));
    }
  }
  return true;
}

/* Checks the numbers of elements of attributes that are lists. */
static bool fits_counts(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_counts; i++) {
    const surg__tspan *want = &j->f->counts[i];
    const surg_attr *a = surg_node_attr(j->n, want->name);
    if (!a) continue;
    if (surg_attr_ref(a)) {
      not_known(j, want->name);
      continue;
    }
    const int64_t n = a->count;
    if (n >= want->low && n <= want->high) continue;
    return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                               "%s has %lld element%s; the %s is %lld", want->name, (long long)n,
                               n == 1 ? "" : "s", n > want->high ? "most" : "least",
                               (long long)(n > want->high ? want->high : want->low));
  }
  return true;
}

static bool fits_iota(surg__judge *j) {
  for (size_t i = 0; i < j->f->iota.n; i++) {
    const char *name = j->f->iota.items[i];
    const int64_t *list;
    int64_t one;
    size_t n;
    if (!ints_of(j, name, &list, &n, &one)) not_known(j, name);
    for (size_t k = 0; k < n; k++)
      if (list[k] != (int64_t)k)
        return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                   "%s must be 0, 1, 2, ... and has %lld at %zu", name,
                                   (long long)list[k], k);
  }
  return true;
}

static bool fits_odd(surg__judge *j) {
  for (size_t i = 0; i < j->f->odd.n; i++) {
    const char *name = j->f->odd.items[i];
    const int64_t *list;
    int64_t one;
    size_t n;
    if (!ints_of(j, name, &list, &n, &one)) not_known(j, name);
    for (size_t k = 0; k < n; k++)
      if (list[k] % 2 == 0)
        return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                   "%s must be odd and is %lld", name, (long long)list[k]);
  }
  return true;
}

/* Checks attributes with two halves: values for the start and end of each axis (pads), or for the
 * two directions of an RNN, must be equal. */
static bool fits_halves(surg__judge *j) {
  for (size_t i = 0; i < j->f->halves.n; i++) {
    const char *name = j->f->halves.items[i];
    const surg_attr *a = surg_node_attr(j->n, name);
    bool same = true;
    size_t n = 0;
    if (!a) continue;
    if (surg_attr_ref(a)) {
      not_known(j, name);
      continue;
    }
    if (surg_attr_get_kind(a) == SURG_ATTR_STRINGS) {
      const surg_str *s = surg_attr_strings(a, &n);
      for (size_t k = 0; s && k < n / 2; k++)
        same &= s[k].n == s[n / 2 + k].n && !memcmp(s[k].p, s[n / 2 + k].p, s[k].n);
    } else {
      const int64_t *list = surg_attr_ints(a, &n);
      for (size_t k = 0; list && k < n / 2; k++) same &= list[k] == list[n / 2 + k];
    }
    if (!same)
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                 "the two halves of %s differ", name);
  }
  return true;
}

/* Checks that each label over which an Einsum of several operands sums is in two of them. */
static bool fits_pairs(surg__judge *j) {
  const surg_attr *a = j->f->paired_labels ? surg_node_attr(j->n, "equation") : NULL;
  uint8_t found[256] = {0};
  if (!a) return true;
  if (surg_attr_ref(a) || surg_attr_get_kind(a) != SURG_ATTR_STRING) {
    not_known(j, "equation");
    return true;
  }
  const surg_str s = surg_attr_string(a);
  size_t i = 0, operand = 1;
  /* 1 + the operand that has the label; UINT8_MAX: two have it, or the result does. */
  for (; i < s.n && s.p[i] != '-'; i++) {
    const unsigned char c = (unsigned char)s.p[i];
    operand += c == ',' && operand < UINT8_MAX - 1;
    if (found[c] != operand) found[c] = found[c] ? UINT8_MAX : (uint8_t)operand;
  }
  if (i == s.n || operand < 2) return true; /* without a result, labels of one operand are kept */
  for (; i < s.n; i++) found[(unsigned char)s.p[i]] = UINT8_MAX;
  for (int c = 'A'; c <= 'z'; c++)
    if (found[c] && found[c] != UINT8_MAX)
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                 "equation sums over the label %c of one operand alone", c);
  return true;
}

/* Checks that an Einsum equation has no "..." and repeats no label within an operand (a
 * diagonal). */
static bool fits_equation(surg__judge *j) {
  const surg_attr *a = j->f->plain_equation ? surg_node_attr(j->n, "equation") : NULL;
  bool used[256] = {false};
  if (!a) return true;
  if (surg_attr_ref(a) || surg_attr_get_kind(a) != SURG_ATTR_STRING) {
    not_known(j, "equation");
    return true;
  }
  const surg_str s = surg_attr_string(a);
  for (size_t i = 0; i < s.n; i++) {
    const unsigned char c = (unsigned char)s.p[i];
    if (c == '-') break; /* labels of the output are not repeated */
    if (c == ',') memset(used, 0, sizeof used);
    if (c == ',' || c == ' ') continue;
    if (c == '.' || used[c])
      return !surg__judge_object(
          j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
          c == '.' ? "equation has an ellipsis" : "equation repeats a label in one operand");
    used[c] = true;
  }
  return true;
}

static const surg_type *ranked(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* NO: two fixed sizes differ and neither is 1; UNSAID: a size is unknown. */
static surg__tri broadcasts(const surg_type *a, const surg_type *b) {
  const size_t n = surg_type_rank(a), m = surg_type_rank(b);
  surg__tri all = SURG__YES;
  for (size_t i = 1; i <= n && i <= m; i++) {
    const int64_t x = surg_type_dim(a, n - i)->value, y = surg_type_dim(b, m - i)->value;
    if (x == 1 || y == 1 || surg_dim_equal(surg_type_dim(a, n - i), surg_type_dim(b, m - i)))
      continue;
    if (x >= 0 && y >= 0 && x != y) return SURG__NO;
    all = SURG__UNSAID;
  }
  return all;
}

/* Compares output i of both branches of an If. */
static surg__tri branches_fit(const surg__judge *j, const surg_graph *x, const surg_graph *y,
                              size_t i) {
  const surg_type *a = ranked(surg_value_type(surg_graph_output(x, i)));
  const surg_type *b = ranked(surg_value_type(surg_graph_output(y, i)));
  if (!a || !b) return SURG__UNSAID;
  if (j->f->branch_ranks) return surg_type_rank(a) == surg_type_rank(b) ? SURG__YES : SURG__NO;
  return broadcasts(a, b);
}

static bool fits_distinct(surg__judge *j) {
  if (!j->f->distinct) return true;
  const surg_graph *x = surg_node_subgraph(j->n, 0), *y = surg_node_subgraph(j->n, 1);
  for (size_t i = 0; x && y && i < surg_graph_output_count(x); i++) {
    if (i >= surg_graph_output_count(y)) break;
    const char *a = surg_value_name(surg_graph_output(x, i));
    const char *b = surg_value_name(surg_graph_output(y, i));
    if (a && b && a[0] && !strcmp(a, b))
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, surg_node_output(j->n, i),
                                 "output %zu of both branches is named %s", i,
                                 surg__judge_name(j, surg_graph_output(x, i)));
  }
  return true;
}

/* YES: the shapes are equal in every run; NO: ranks or fixed sizes differ; UNSAID: unknown. */
static surg__tri same_shape(const surg_type *a, const surg_type *b) {
  if (!a || !b) return SURG__UNSAID;
  if (surg_type_rank(a) != surg_type_rank(b)) return SURG__NO;
  surg__tri all = SURG__YES;
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const surg_dim x = *surg_type_dim(a, i), y = *surg_type_dim(b, i);
    if (surg_dim_equal(&x, &y)) continue;
    if (x.value >= 0 && y.value >= 0) return SURG__NO;
    all = SURG__UNSAID;
  }
  return all;
}

/* Checks that a Loop keeps the shapes of carried values and has scan outputs of fixed size. The
 * body's inputs 0 and 1 are the iteration count and the condition, its output 0 is the
 * condition. */
static bool fits_still(surg__judge *j) {
  const surg_graph *body = j->f->still ? surg_node_subgraph(j->n, 0) : NULL;
  const size_t inputs = body ? surg_graph_input_count(body) : 0;
  for (size_t i = 1; body && i < surg_graph_output_count(body); i++) {
    const surg_value *v = surg_graph_output(body, i);
    const surg_type *t = ranked(surg_value_type(v));
    const bool carried = i + 1 < inputs;
    surg__tri fits = t && surg_type_static(t, NULL) ? SURG__YES : SURG__UNSAID;
    if (carried) fits = same_shape(t, ranked(surg_value_type(surg_graph_input(body, i + 1))));
    if (fits == SURG__YES) continue;
    surg__judge_object(j, fits == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       carried ? fits == SURG__NO
                                     ? "carried value %s changes its shape"
                                     : "whether carried value %s keeps its shape is not known"
                               : "whether scan output %s is of fixed size is not known",
                       surg__judge_name(j, v));
    if (fits == SURG__NO) return false;
  }
  return true;
}

static bool fits_branches(surg__judge *j) {
  if (!j->f->branch_ranks && !j->f->branch_spread) return true;
  const surg_graph *x = surg_node_subgraph(j->n, 0), *y = surg_node_subgraph(j->n, 1);
  const char *what = j->f->branch_ranks ? "the same rank" : "shapes that broadcast";
  for (size_t i = 0; x && y && i < surg_node_output_count(j->n); i++) {
    if (i >= surg_graph_output_count(x) || i >= surg_graph_output_count(y)) break;
    const surg__tri fits = branches_fit(j, x, y, i);
    if (fits == SURG__YES) continue;
    surg__judge_object(j, fits == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_RANGE,
                       surg_node_output(j->n, i),
                       fits == SURG__NO ? "output %zu of the branches must have %s"
                                        : "whether output %zu of the branches has %s is not known",
                       i, what);
    if (fits == SURG__NO) return false;
  }
  return true;
}

bool surg__judge_forms(surg__judge *j) {
  return fits_each(j) && fits_counts(j) && fits_iota(j) && fits_odd(j) && fits_halves(j) &&
         fits_equation(j) && fits_pairs(j) && fits_branches(j) && fits_distinct(j) && fits_still(j);
}
