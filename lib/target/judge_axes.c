/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a node against limits on the axes that it reduces or pads, and on the program that wrote
 * the model. */
#include <string.h>

#include "base/counted.h"
#include "ir/ir.h"
#include "schema/schema.h"
#include "target/judge.h"

#define AXES_MOST 64 /* axes of a node that are read, at most */

/* Reads integers that are an attribute, or since a later version a constant input. Returns their
 * number; 0: neither is given; -1: unknown. */
static int64_t read_list(const surg__judge *j, const char *attr, const char *input,
                         int64_t out[AXES_MOST]) {
  const surg_attr *a = surg_node_attr(j->n, attr);
  const surg_value *v = surg__judge_formal(j, input, false);
  size_t n = 0;
  if (!a && !v) return 0;
  if (!a) {
    const surg_tensor *t = surg__judge_elements(j, v);
    return t ? surg__read_ints(t, out, AXES_MOST) : -1;
  }
  if (surg_attr_ref(a) || surg_attr_get_kind(a) != SURG_ATTR_INTS) return -1;
  const int64_t *list = surg_attr_ints(a, &n);
  if (n > AXES_MOST || (n && !list)) return -1;
  if (n) memcpy(out, list, n * sizeof *list);
  return (int64_t)n;
}

/* The rank of the first input; -1: unknown. */
static int64_t rank_of(const surg__judge *j) {
  const surg_value *v = surg_node_input(j->n, 0);
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const bool known = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return known ? (int64_t)surg_type_rank(t) : -1;
}

static bool out_of(surg__judge *j, const surg__tspan *want, int64_t have, const char *what) {
  if (have >= want->low && have <= want->high) return false;
  return surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                            "it %s %lld ax%ss; the %s is %lld", what, (long long)have,
                            have == 1 ? "i" : "e", have > want->high ? "most" : "least",
                            (long long)(have > want->high ? want->high : want->low));
}

enum { REDUCED, KEPT, PADDED, FOLDED, FROM_END };

int surg__judge_axis_limit(const char *name) {
  static const char *const names[] = {[REDUCED] = "reduced",
                                      [KEPT] = "kept",
                                      [PADDED] = "padded",
                                      [FOLDED] = "folded",
                                      [FROM_END] = "from_end"};
  for (size_t i = 0; i < SURG_COUNT(names); i++)
    if (!strcmp(names[i], name)) return (int)i;
  return -1;
}

/* Checks how many axes a reduction lists, without the first, or how many it leaves. */
static bool fits_reduced(surg__judge *j, const surg__tspan *want, int kind) {
  const int64_t rank = rank_of(j);
  int64_t axes[AXES_MOST];
  const int64_t n = read_list(j, "axes", "axes", axes);
  if (rank < 0 || n < 0) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL, "which axes it reduces is not known");
    return true;
  }
  bool first = false;
  for (int64_t i = 0; i < n; i++) first |= axes[i] == 0 || axes[i] == -rank;
  if (!n) return true;
  return kind == KEPT ? !out_of(j, want, rank - n, "keeps")
                      : !out_of(j, want, n - first, "reduces, without the first,");
}

/* Checks that no pad is negative, and that only these axes are padded. */
static bool fits_padded(surg__judge *j, const surg__tspan *want) {
  int64_t pads[AXES_MOST];
  const bool axes = surg__judge_formal(j, "axes", false) != NULL;
  const int64_t n = axes ? -1 : read_list(j, "pads", "pads", pads);
  if (n < 0 || n % 2) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL, "which axes it pads is not known");
    return true;
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t axis = i % (n / 2);
    if (pads[i] == 0 || (pads[i] > 0 && axis >= want->low && axis <= want->high)) continue;
    return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                               pads[i] < 0 ? "it pads axis %lld by a negative number"
                                           : "it pads axis %lld, which is not supported",
                               (long long)axis);
  }
  return true;
}

/* Checks how many elements it makes one of. An open size counts as more than one. */
static bool fits_folded(surg__judge *j, const surg__tspan *want) {
  const int64_t rank = rank_of(j);
  int64_t axes[AXES_MOST], n = read_list(j, "axes", "axes", axes);
  if (rank < 0 || n < 0) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL, "which axes it reduces is not known");
    return true;
  }
  const surg_type *t = surg_value_type(surg_node_input(j->n, 0));
  const int64_t count = n ? n : rank;
  for (int64_t i = 0; i < count; i++) {
    const int64_t axis = !n ? i : axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || surg_type_dim(t, (size_t)axis)->value != 1) return true;
  }
  return want->low <= 1 || !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                                               "all axes that it reduces have size 1");
}

/* Checks how many axes are counted from the end. */
static bool fits_from_end(surg__judge *j, const surg__tspan *want) {
  int64_t axes[AXES_MOST], found = 0;
  const int64_t n = read_list(j, "axes", "axes", axes);
  for (int64_t i = 0; i < n; i++) found += axes[i] < 0;
  if (n < 0)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL, "which axes it reduces is not known");
  return n < 0 || !out_of(j, want, found, "counts from the end");
}

static bool fits_axes(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_axes; i++) {
    const surg__tspan *want = &j->f->axes[i];
    const int kind = surg__judge_axis_limit(want->name);
    if (!(kind == PADDED     ? fits_padded(j, want)
          : kind == FOLDED   ? fits_folded(j, want)
          : kind == FROM_END ? fits_from_end(j, want)
                             : fits_reduced(j, want, kind)))
      return false;
  }
  return true;
}

/* Element i of a list with one element for each spatial axis; `absent` where it is not given. -1:
 * it has another length, or is beyond 32 bits. */
static int64_t of_axis(const surg__judge *j, const char *attr, size_t i, size_t axes,
                       int64_t absent) {
  int64_t list[AXES_MOST];
  const int64_t n = read_list(j, attr, "", list);
  if (!n) return absent;
  return n == (int64_t)axes && list[i] >= 0 && list[i] <= INT32_MAX ? list[i] : -1;
}

/* The zeros that auto_pad adds beside spatial axis i of the result of ConvTranspose, before and
 * after together; -1: unknown. */
static int64_t turned_pads(const surg__judge *j, const surg_type *w, size_t i, size_t axes) {
  const int64_t kernel = of_axis(j, "kernel_shape", i, axes, surg_type_dim(w, i + 2)->value),
                stride = of_axis(j, "strides", i, axes, 1),
                dilation = of_axis(j, "dilations", i, axes, 1),
                beyond = of_axis(j, "output_padding", i, axes, 0);
  if (kernel < 1 || kernel > INT32_MAX || stride < 1 || dilation < 1 || beyond < 0) return -1;
  const int64_t all = (kernel - 1) * dilation + 1 - stride + beyond;
  return all > 0 ? all : 0;
}

/* Checks that auto_pad makes as many pads before as after: engines differ in which of them gets one
 * more. */
static bool fits_pads(surg__judge *j) {
  const surg_str how = surg_node_string(j->n, "auto_pad", "NOTSET");
  if (!j->f->even_pads || how.n < 4 || memcmp(how.p, "SAME", 4) != 0) return true;
  const surg_value *v = surg_node_input(j->n, 1);
  const surg_type *w = v ? surg_value_type(v) : NULL;
  const bool known = w && surg_type_get_kind(w) == SURG_TYPE_TENSOR && surg_type_has_rank(w) &&
                     surg_type_rank(w) > 2 && !surg_node_attr(j->n, "output_shape");
  const size_t axes = known ? surg_type_rank(w) - 2 : 0;
  bool unknown = !known;
  for (size_t i = 0; i < axes; i++) {
    const int64_t all = turned_pads(j, w, i, axes);
    unknown |= all < 0;
    if (all > 0 && all % 2)
      return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                                 "auto_pad makes unequal pads before and after axis %zu", i + 2);
  }
  if (unknown)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL,
                       "whether auto_pad makes equal pads is not known");
  return true;
}

static bool lists(const surg__tlist *l, const char *name) {
  for (size_t i = 0; i < l->n; i++)
    if (!strcmp(l->items[i], name)) return true;
  return false;
}

/* Checks the producer_name of the model, by which importers guess what an exporter meant. */
static bool fits_producer(surg__judge *j) {
  if (!j->f->producers.n && !j->f->not_producers.n) return true;
  const char *text = surg_model_text(surg_graph_model(surg_node_graph(j->n)), SURG_MODEL_PRODUCER);
  const char *name = text ? text : "";
  if (!lists(&j->f->not_producers, name) && (!j->f->producers.n || lists(&j->f->producers, name)))
    return true;
  return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                             "the importer reads it differently in a model with %s%s%s",
                             name[0] ? "producer_name \"" : "no producer_name", name,
                             name[0] ? "\"" : "");
}

/* Checks that no pad is larger than the axis: edges are copied from inside. */
static bool fits_pads_within(surg__judge *j) {
  int64_t pads[AXES_MOST];
  const int64_t rank = rank_of(j);
  const bool known = j->f->pads_within && rank >= 0 && !surg__judge_formal(j, "axes", false);
  const int64_t n = known ? read_list(j, "pads", "pads", pads) : 0;
  for (int64_t i = 0; i < n && n == 2 * rank; i++) {
    const surg_type *t = surg_value_type(surg_node_input(j->n, 0));
    const int64_t size = surg_type_dim(t, (size_t)(i % rank))->value;
    if (pads[i] <= (size < 0 ? 1 : size)) continue;
    const bool no = size >= 0;
    surg__judge_object(j, no ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_RANGE, NULL,
                       no ? "it pads axis %lld by more than its size"
                          : "whether it pads axis %lld by more than its size is not known",
                       (long long)(i % rank));
    if (no) return false;
  }
  return true;
}

/* Checks that Tile repeats no axis after one of more than one element that it does not repeat. */
static bool fits_tiled(surg__judge *j) {
  int64_t repeats[AXES_MOST];
  const int64_t rank = rank_of(j), n = j->f->tiled_first ? read_list(j, "", "repeats", repeats) : 0;
  int64_t kept = -1;
  bool open = n < 0 || (j->f->tiled_first && rank < 0);
  for (int64_t i = 0; i < n && n == rank; i++) {
    const int64_t size = surg_type_dim(surg_value_type(surg_node_input(j->n, 0)), (size_t)i)->value;
    if (repeats[i] == 1 && size != 1 && kept < 0) kept = i, open = size < 0;
    if (repeats[i] == 1 || kept < 0 || open) continue;
    return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                               "it repeats axis %lld, but not axis %lld before it", (long long)i,
                               (long long)kept);
  }
  if (open)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL,
                       "whether it repeats an axis after one that it does not is unknown");
  return true;
}

/* Checks that the attribute or input `axis` is the last axis, and that none is before it if it is
 * counted from the end of a vector. */
static bool fits_axis_last(surg__judge *j) {
  const surg_value *v = j->f->axis_last ? surg__judge_formal(j, "axis", false) : NULL;
  const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
  const int64_t rank = rank_of(j);
  int64_t axis = surg_node_int(j->n, "axis", 0);
  if (!j->f->axis_last) return true;
  if (rank < 0 || (v && (!c || surg__read_ints(c, &axis, 1) != 1))) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, NULL,
                       "whether axis is the last one is not known");
    return true;
  }
  return axis == rank - 1 || (axis == -1 && rank > 1) ||
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL, "axis is %lld, not the last",
                             (long long)axis);
}

bool surg__judge_axes(surg__judge *j) {
  return fits_producer(j) && fits_axes(j) && fits_pads(j) && fits_pads_within(j) && fits_tiled(j) &&
         fits_axis_last(j);
}
