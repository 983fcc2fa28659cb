/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints of operators on their attributes and inputs beyond element types, which runtimes
 * enforce when they load a model. Each applies from the operator version whose shape inference
 * in ONNX defines it; only known ranks, sizes and constants are checked. */
#include "check/forms.h"
#include "base/counted.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/dtype.h"

#define TEXT 256
#define AXES_MAX 64 /* most axes of a list that are compared with each other */

void surg__check_wrong(surg__checker *c, const surg_node *n, const char *fmt, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  surg__check_found(c, surg__check_computed(n) ? "W206" : "E203",
                    surg__check_has_text(c) ? surg__locate_node(n) : NULL, "%s", text);
}

/* --- shared by many operators --- */

static const char *plural(int64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

bool surg__rank_is(surg__checker *c, const surg_node *n, size_t i, uint32_t want) {
  const surg_type *t = surg__check_ranked(n, i);
  if (!t || t->rank == want) return true;
  surg__check_wrong(c, n, "input %zu has rank %" PRIu32 ", %s-%d expects rank %" PRIu32, i, t->rank,
                    n->schema->name, n->schema->since, want);
  return false;
}

bool surg__rank_from(surg__checker *c, const surg_node *n, size_t i, uint32_t least) {
  const surg_type *t = surg__check_ranked(n, i);
  if (!t || t->rank >= least) return true;
  surg__check_wrong(c, n, "input %zu has rank %" PRIu32 ", %s-%d expects rank %" PRIu32 " or more",
                    i, t->rank, n->schema->name, n->schema->since, least);
  return false;
}

bool surg__list_is(surg__checker *c, const surg_node *n, size_t i, int64_t want) {
  const surg_type *t = surg__check_ranked(n, i);
  const int64_t found = surg__check_dim(t, 0);
  if (!t || !surg__rank_is(c, n, i, 1)) return !t;
  if (want < 0 || found < 0 || found == want) return true;
  surg__check_wrong(c, n, "input %zu has %" PRId64 " %s, %s-%d expects %" PRId64, i, found,
                    plural(found, "element", "elements"), n->schema->name, n->schema->since, want);
  return false;
}

/* Whether input i is a scalar, if it is constant: else its rank is not compared before it is read,
 * and a list of one element is as good. */
static bool scalar(surg__checker *c, const surg_node *n, size_t i) {
  const surg_value *v = surg_node_input(n, i);
  const surg_type *t = surg__check_ranked(n, i);
  uint64_t count;
  if (v && !surg_value_constant(v)) {
    if (!t || !surg_type_static(t, &count) || count == 1) return true;
    c->since = (surg__since){UINT8_MAX, UINT8_MAX};
  }
  return surg__rank_is(c, n, i, 0);
}

bool surg__entries_are(surg__checker *c, const surg_node *n, const char *name, int64_t want) {
  const surg_attr *a = surg__check_ints(n, name);
  if (!a || want < 0 || (int64_t)a->count == want) return true;
  surg__check_wrong(c, n, "attribute \"%s\" has %" PRIu32 " %s, expected %" PRId64, name, a->count,
                    plural(a->count, "entry", "entries"), want);
  return false;
}

static bool not_negative(surg__checker *c, const surg_node *n, const char *name) {
  const surg_attr *a = surg__check_ints(n, name);
  for (uint32_t i = 0; a && i < a->count; i++)
    if (a->u.ints[i] < 0) {
      c->since = surg__check_since(n);
      surg__check_wrong(c, n, "attribute \"%s\" has the negative entry %" PRId64, name,
                        a->u.ints[i]);
      return false;
    }
  return true;
}

void surg__check_bad_int(surg__checker *c, const surg_node *n, const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  surg__check_bad_value(c, n, name, text);
}

static bool has(const surg_node *n, size_t i) {
  return surg_node_input(n, i) != NULL;
}

/* --- windows --- */

/* Whether auto_pad requests anything but explicit pads. An empty word is NOTSET, except for the
 * transposed convolution since version 11. */
static bool automatic(const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "auto_pad");
  const bool empty = surg_node_op(n) != SURG_OP_ConvTranspose || n->schema->since < 11;
  return a && !a->ref && a->kind == SURG_ATTR_STRING && (a->u.s.n || !empty) &&
         !(a->u.s.n == 6 && memcmp(a->u.s.p, "NOTSET", 6) == 0);
}

/* Whether input 0 has an axis that a window slides over, if its rank is known. Newer releases of
 * ONNX require one; runtimes of older ones compute a convolution without as a product of
 * matrices. */
static bool spatial_axes(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (!x || x->rank != 2) return true;
  surg__check_found(c, "E210", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                    "input 0 is of rank 2, %s expects an axis after batch and channels",
                    n->op_type);
  return false;
}

static void pool(surg__checker *c, const surg_node *n) {
  if (!spatial_axes(c, n)) return;
  if (not_negative(c, n, "pads")) surg__check_pool(c, n);
}

static void conv(surg__checker *c, const surg_node *n) {
  if (!spatial_axes(c, n) || !not_negative(c, n, "pads")) return;
  if (automatic(n) && surg__check_ints(n, "pads"))
    surg__check_wrong(c, n, "attributes \"pads\" and \"auto_pad\" are both set");
}

static void conv_kernel(surg__checker *c, const surg_node *n) {
  const size_t before = c->count;
  conv(c, n);
  if (c->count == before) surg__check_kernel(c, n);
}

static void deform_conv(surg__checker *c, const surg_node *n) {
  (void)not_negative(c, n, "pads");
}

static void conv_transpose(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const size_t before = c->count;
  conv(c, n);
  if (c->count != before || !not_negative(c, n, "output_shape")) return;
  const bool shaped = surg_node_attr(n, "output_shape") != NULL;
  const int64_t axes = x && x->rank >= 2 ? (int64_t)x->rank - 2 : -1;
  c->since = surg__check_since(n);
  const bool fits = surg__entries_are(c, n, "output_shape", axes);
  c->since = (surg__since){0};
  if (fits && !shaped) surg__check_kernel(c, n);
}

/* Reports inputs whose shapes are known to differ where every run requires equal ones. */
static void equal_shapes(surg__checker *c, const surg_node *n, uint32_t i, uint32_t k) {
  const surg_type *x = surg__check_ranked(n, i), *y = surg__check_ranked(n, k);
  bool differ = x && y && x->rank != y->rank;
  for (size_t d = 0; x && y && !differ && d < x->rank; d++) {
    const int64_t a = surg__check_dim(x, d), b = surg__check_dim(y, d);
    differ = a >= 0 && b >= 0 && a != b;
  }
  if (!differ) return;
  c->since = (surg__since){UINT8_MAX, UINT8_MAX};
  surg__check_found(c, "W206", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                    "inputs %" PRIu32 " and %" PRIu32 " have different shapes", i, k);
}

static void scatter_elements(surg__checker *c, const surg_node *n) {
  equal_shapes(c, n, 1, 2);
}

static void max_unpool(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t spatial = x && x->rank >= 2 ? (int64_t)x->rank - 2 : -1;
  if (!surg__rank_from(c, n, 0, 2) || !surg__entries_are(c, n, "kernel_shape", spatial)) return;
  if (!surg__entries_are(c, n, "strides", spatial)) return;
  if (!surg__entries_are(c, n, "pads", spatial < 0 ? -1 : 2 * spatial)) return;
  if (surg__list_is(c, n, 2, x ? (int64_t)x->rank : -1)) equal_shapes(c, n, 0, 1);
}

/* --- normalization --- */

static void softmax(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (!x || !surg__rank_from(c, n, 0, 1)) return;
  const int64_t axis = surg_node_int(n, "axis", n->schema->since >= 13 ? -1 : 1);
  if (axis < -(int64_t)x->rank || axis >= (int64_t)x->rank)
    surg__check_wrong(c, n, "axis %" PRId64 " is out of range for input 0 of rank %" PRIu32, axis,
                      x->rank);
}

static void batch_norm(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t channels = x && x->rank < 2 ? 1 : surg__check_dim(x, 1);
  for (size_t i = 1; i < 5; i++)
    if (!surg__list_is(c, n, i, channels)) return;
}

static void lrn(surg__checker *c, const surg_node *n) {
  const int64_t size = surg_node_int(n, "size", 1);
  if (size < 1) surg__check_bad_int(c, n, "size", size);
}

static void lp_norm(surg__checker *c, const surg_node *n) {
  const int64_t p = surg_node_int(n, "p", 2);
  if (p != 1 && p != 2) surg__check_bad_int(c, n, "p", p);
}

static void dropout(surg__checker *c, const surg_node *n) {
  if (surg__rank_is(c, n, 1, 0)) (void)surg__rank_is(c, n, 2, 0);
}

/* --- signals --- */

static void mel_weights(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < 5; i++)
    if (!scalar(c, n, i)) return;
}

static void window(surg__checker *c, const surg_node *n) {
  int64_t size;
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 0));
  if (scalar(c, n, 0) && t && surg__read_ints(t, &size, 1) == 1 && size == 0)
    surg__check_wrong(c, n, "input 0 (size) is 0, expected 1 or more");
}

static void dft(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_tensor *given = surg_value_constant(surg_node_input(n, 2));
  int64_t axis = n->schema->since < 20 ? surg_node_int(n, "axis", 1) : -2;
  if (!scalar(c, n, 1) || !scalar(c, n, 2) || !x) return;
  const bool known = !has(n, 2) || (given && surg__read_ints(given, &axis, 1) == 1);
  if (known && axis < 0) axis += x->rank;
  if (known && axis == (int64_t)x->rank - 1) {
    surg__check_wrong(c, n, "the axis is the last one, which contains real and imaginary parts");
    return;
  }
  const int64_t last = x->rank ? surg__check_dim(x, x->rank - 1u) : -1;
  const bool inverse = surg_node_int(n, "inverse", 0) != 0;
  if (!surg_node_int(n, "onesided", 0) || last < 0) return;
  if (last == (inverse ? 2 : 1)) return;
  if (!inverse) c->since = (surg__since){25, 26};
  surg__check_wrong(c, n, "a one-sided %s expects a last dimension of %d, found %" PRId64,
                    inverse ? "inverse transform" : "transform", inverse ? 2 : 1, last);
}

/* Checks that a constant step between frames is positive: the number of frames divides by it. */
static void stft(surg__checker *c, const surg_node *n) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  int64_t step = 1;
  if (!scalar(c, n, 1) || !t || surg__read_ints(t, &step, 1) != 1 || step > 0) return;
  surg__check_wrong(c, n, "input 1 (frame_step) is %" PRId64 ", expected 1 or more", step);
}

/* --- quantization --- */

static void quantize(surg__checker *c, const surg_node *n) {
  const surg_type *zero = surg_value_type(surg_node_input(n, 2));
  const int64_t to = surg_node_int(n, "output_dtype", 0), block = surg_node_int(n, "block_size", 0);
  if (block < 0) {
    surg__check_bad_int(c, n, "block_size", block);
  } else if (to &&
             (to < 0 || to >= SURG_DTYPE_COUNT ||
              !surg__check_allowed(n->schema, surg__schema_formal(n->schema, true, 0), (int)to))) {
    surg__check_bad_int(c, n, "output_dtype", to);
  } else if (to > 0 && to < SURG_DTYPE_COUNT && n->schema->op == SURG_OP_QuantizeLinear && zero &&
             zero->dtype && zero->dtype != (int)to) {
    surg__check_wrong(c, n, "output_dtype is %s, the zero point is %s", surg__dtype_name((int)to),
                      surg__dtype_name(zero->dtype));
  }
}

/* Checks that a list of scales matches the size of its axis: QuantizeLinear and DequantizeLinear
 * without blocks. Runtimes check this only during a run. */
static void scales(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *s = surg__check_ranked(n, 1);
  const size_t before = c->count;
  quantize(c, n);
  if (c->count != before || !x || !s || s->rank != 1 || surg_node_int(n, "block_size", 0)) return;
  int64_t axis = surg_node_int(n, "axis", 1);
  if (axis < 0) axis += x->rank;
  const int64_t size = axis < 0 ? -1 : surg__check_dim(x, (size_t)axis),
                found = surg__check_dim(s, 0);
  if (found > 1) equal_shapes(c, n, 1, 2);
  if (size < 0 || found < 2 || found == size || c->count != before) return;
  c->since = (surg__since){UINT8_MAX, UINT8_MAX};
  surg__check_found(c, "W206", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                    "%" PRId64 " scales, but %" PRId64 " along axis %" PRId64 " of input 0", found,
                    size, axis);
}

/* --- indices, splits --- */

static void one_hot(surg__checker *c, const surg_node *n) {
  const surg_type *depth = surg__check_ranked(n, 1);
  uint64_t count;
  if (depth && (depth->rank > 1 || (surg_type_static(depth, &count) && count != 1)))
    surg__check_wrong(c, n, "input 1 (depth) expects one element");
  else
    (void)surg__list_is(c, n, 2, 2);
}

static void col2im(surg__checker *c, const surg_node *n) {
  const surg_type *image = surg__check_ranked(n, 1);
  const int64_t axes = image && image->rank == 1 ? surg__check_dim(image, 0) : -1;
  if (surg__entries_are(c, n, "pads", axes < 0 ? -1 : 2 * axes) &&
      surg__entries_are(c, n, "strides", axes))
    (void)surg__entries_are(c, n, "dilations", axes);
}

/* K that is not constant is compared when the node runs. */
static void top_k(surg__checker *c, const surg_node *n) {
  const surg_type *k = surg__check_ranked(n, 1);
  const int64_t count = surg__check_dim(k, 0);
  if (!k || (k->rank == 1 && (count < 0 || count == 1))) return;
  if (!surg_value_constant(surg_node_input(n, 1))) c->since = (surg__since){UINT8_MAX, UINT8_MAX};
  (void)surg__list_is(c, n, 1, 1);
}

static void split(surg__checker *c, const surg_node *n) {
  const bool number = surg_node_attr(n, "num_outputs") != NULL;
  if (number == has(n, 1))
    surg__check_wrong(c, n,
                      number ? "both input 1 (split) and attribute \"num_outputs\" are given"
                             : "neither input 1 (split) nor attribute \"num_outputs\" is given");
}

static void square(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (!x || !surg__rank_from(c, n, 0, 2) || n->schema->op != SURG_OP_Det) return;
  const int64_t h = surg__check_dim(x, x->rank - 2u), w = surg__check_dim(x, x->rank - 1u);
  if (h >= 0 && w >= 0 && h != w)
    surg__check_wrong(
        c, n, "the last two dimensions are %" PRId64 " and %" PRId64 ", expected a square", h, w);
}

static void eye_like(surg__checker *c, const surg_node *n) {
  (void)surg__rank_is(c, n, 0, 2);
}

/* Whether no axis is listed twice; one that is is reported. Makes the axes positive. */
static bool axes_differ(surg__checker *c, const surg_node *n, int64_t rank, int64_t *axes,
                        size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (axes[i] < 0) axes[i] += rank;
    for (size_t k = 0; k < i; k++) {
      if (axes[i] != axes[k]) continue;
      surg__check_wrong(c, n, "axis %" PRId64 " is listed twice", axes[i]);
      return false;
    }
  }
  return true;
}

static void pad(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 3));
  int64_t axes[AXES_MAX];
  const int64_t count = t ? surg__read_ints(t, axes, AXES_MAX) : 0;
  const bool listed = x && count > 0 && count <= AXES_MAX;
  if (!listed || axes_differ(c, n, x->rank, axes, (size_t)count)) surg__check_padded(c, n);
}

/* Slice below opset 10: starts, ends and axes are attributes of one length. */
static void slice_attrs(surg__checker *c, const surg_node *n) {
  static const char *const names[] = {"ends", "axes"};
  const surg_attr *starts = surg__check_ints(n, "starts");
  for (size_t i = 0; starts && i < SURG_COUNT(names); i++) {
    const surg_attr *other = surg__check_ints(n, names[i]);
    if (!other || other->count == starts->count) continue;
    surg__check_wrong(c, n, "starts has %" PRIu32 " %s, %s has %" PRIu32, starts->count,
                      plural(starts->count, "element", "elements"), names[i], other->count);
    return;
  }
}

static void slice(surg__checker *c, const surg_node *n) {
  if (n->schema->since < 10) {
    slice_attrs(c, n);
    return;
  }
  const surg_tensor *starts = surg_value_constant(surg_node_input(n, 1));
  const surg_tensor *ends = surg_value_constant(surg_node_input(n, 2));
  const int64_t a = starts ? surg__check_dim(surg__check_ranked(n, 1), 0) : -1;
  const int64_t b = ends ? surg__check_dim(surg__check_ranked(n, 2), 0) : -1;
  if (a >= 0 && b >= 0 && a != b)
    surg__check_wrong(c, n, "starts has %" PRId64 " %s, ends has %" PRId64, a,
                      plural(a, "element", "elements"), b);
}

static void reverse_sequence(surg__checker *c, const surg_node *n) {
  if (!surg__rank_from(c, n, 0, 2) || !surg__rank_is(c, n, 1, 1)) return;
  const int64_t batch = surg_node_int(n, "batch_axis", 1), time = surg_node_int(n, "time_axis", 0);
  if (batch == time) {
    surg__check_wrong(c, n, "batch_axis and time_axis are both %" PRId64, batch);
    return;
  }
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  int64_t v[AXES_MAX];
  const int64_t count = t ? surg__read_ints(t, v, AXES_MAX) : 0;
  const int64_t size = time < 0 ? -1 : surg__check_dim(surg__check_ranked(n, 0), (size_t)time);
  for (int64_t i = 0; size >= 0 && i < count && i < AXES_MAX; i++) {
    if (v[i] <= size) continue;
    surg__check_found(c, "W206", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                      "sequence %" PRId64 " has %" PRId64 " elements, the time axis %" PRId64, i,
                      v[i], size);
    return;
  }
}

static void split_to_sequence(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *s = surg__check_ranked(n, 1);
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  int64_t v[AXES_MAX], sum = 0, axis = surg_node_int(n, "axis", 0);
  if (!x || !s || s->rank != 1 || !t) return;
  const int64_t count = surg__read_ints(t, v, AXES_MAX);
  if (axis < 0) axis += x->rank;
  const int64_t size = axis < 0 ? -1 : surg__check_dim(x, (size_t)axis);
  if (count < 1 || count > AXES_MAX || size < 0) return;
  for (int64_t i = 0; i < count; i++)
    if (!surg__add_i64(sum, v[i], &sum)) return;
  if (sum != size)
    surg__check_wrong(c, n,
                      "the parts are %" PRId64 " long together, axis %" PRId64 " has %" PRId64, sum,
                      axis, size);
}

static void constant_of_shape(surg__checker *c, const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "value");
  if (!a || a->ref || a->kind != SURG_ATTR_TENSOR) return;
  const uint64_t count = surg_tensor_count(a->u.tensors[0]);
  const size_t rank = surg_tensor_rank(a->u.tensors[0]);
  if (count != 1)
    surg__check_wrong(c, n, "attribute \"value\" has %" PRIu64 " elements, expected one", count);
  else if (rank != 1)
    surg__check_wrong(c, n, "attribute \"value\" has rank %zu, expected 1", rank);
}

/* --- images --- */

static void roi_align(surg__checker *c, const surg_node *n) {
  const surg_type *rois = surg__check_ranked(n, 1);
  (void)surg__list_is(c, n, 2, surg__check_dim(rois, 0));
}

static void grid_sample(surg__checker *c, const surg_node *n) {
  const surg_type *grid = surg__check_ranked(n, 1);
  if (!grid || grid->rank < 3) return;
  const int64_t last = surg__check_dim(grid, grid->rank - 1u);
  if (last < 0 || last == (int64_t)grid->rank - 2) return;
  c->since = (surg__since){19, 20};
  surg__check_wrong(c, n, "the last dimension of the grid is %" PRId64 ", expected %" PRIu32, last,
                    grid->rank - 2u);
}

/* Whether an input is present and is not an empty list, which means absent. */
static bool given(const surg_node *n, size_t i) {
  return has(n, i) && surg__check_dim(surg__check_ranked(n, i), 0) != 0;
}

static bool keeps_aspect(const surg_node *n) {
  const surg_str s = surg_node_string(n, "keep_aspect_ratio_policy", "stretch");
  return s.n != 7 || memcmp(s.p, "stretch", 7) != 0;
}

static void resize(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const bool sizes = n->schema->since >= 11;
  const size_t first = sizes ? 2 : 1;
  if (n->schema->since >= 13 && given(n, 2) == given(n, 3)) {
    /* Scales that are an empty list are seen only if they are constant. */
    if (has(n, 2) && !given(n, 2) && !surg_value_constant(surg_node_input(n, 2)))
      c->since = (surg__since){UINT8_MAX, UINT8_MAX};
    surg__check_wrong(
        c, n,
        given(n, 2) ? "both scales and sizes are given" : "neither scales nor sizes are given");
    return;
  }
  if (has(n, 2) && keeps_aspect(n)) {
    c->since = (surg__since){0, 21};
    surg__check_wrong(c, n, "scales are given, and a keep_aspect_ratio_policy other than stretch");
  }
  const surg_attr *axes = surg_node_attr(n, "axes");
  if (!x || (axes && !surg__check_ints(n, "axes"))) return;
  const int64_t want = axes ? (int64_t)axes->count : (int64_t)x->rank;
  for (size_t i = first; i < (sizes ? 4u : 2u); i++) {
    const surg_type *list = given(n, i) ? surg__check_ranked(n, i) : NULL;
    const int64_t count = list && list->rank == 1 ? surg__check_dim(list, 0) : -1;
    if (!list || (list->rank == 1 && (count < 0 || count == want))) continue;
    /* Scales that are not constant are compared when the node runs. */
    if (!surg_value_constant(surg_node_input(n, i)))
      c->since = i == 3 ? (surg__since){17, 18} : (surg__since){UINT8_MAX, UINT8_MAX};
    if (axes && !axes->count) c->since = (surg__since){UINT8_MAX, UINT8_MAX};
    const bool seen = !c->since.from;
    (void)surg__list_is(c, n, i, want);
    if (seen) return;
    break;
  }
  int64_t list[AXES_MAX];
  if (!axes || axes->count > AXES_MAX) return;
  memcpy(list, axes->u.ints, axes->count * sizeof *list);
  if (given(n, 2)) c->since = (surg__since){18, 21};
  if (axes_differ(c, n, x->rank, list, axes->count)) c->since = (surg__since){0};
}

/* Upper bound of sizes: 2^63, exact as a double. */
#define SIZES_END 9223372036854775808.0

/* Checks the constant scales for input 0. */
static void check_scales(surg__checker *c, const surg_node *n, const float *v, uint64_t count) {
  const surg_type *x = surg__check_ranked(n, 0);
  const bool up = n->schema->op == SURG_OP_Upsample;
  const bool all = x && x->rank == count && !surg_node_attr(n, "axes");
  for (uint64_t k = 0; k < count; k++) {
    if (!(v[k] > 0) || (up && v[k] < 1)) {
      surg__check_wrong(c, n, "scale %g, expected %s", (double)v[k],
                        up ? "1 or more" : "more than 0");
      return;
    }
    if (all && (double)surg__check_dim(x, k) * (double)v[k] >= SIZES_END) {
      surg__check_wrong(c, n, "the size of axis %" PRIu64 " of the output exceeds 64 bits", k);
      return;
    }
  }
}

static void scaled(surg__checker *c, const surg_node *n) {
  const bool up = n->schema->op == SURG_OP_Upsample;
  const size_t i = up || n->schema->since < 11 ? 1 : 2, before = c->count;
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  const surg_attr *a = surg_node_attr(n, "scales");
  float v[AXES_MAX];
  if (!up) resize(c, n);
  if (c->count != before) return;
  if (a && !a->ref && a->kind == SURG_ATTR_FLOATS) check_scales(c, n, a->u.floats, a->count);
  const uint64_t count = t && surg_tensor_dtype(t) == SURG_FLOAT ? surg_tensor_count(t) : 0;
  if (count && count <= AXES_MAX && surg_tensor_read_numbers(t, 0, v, (size_t)count) == SURG_OK)
    check_scales(c, n, v, count);
}

/* Nothing else states the element type of an empty optional. */
static void optional(surg__checker *c, const surg_node *n) {
  if (!has(n, 0) && !surg_node_attr(n, "type"))
    surg__check_wrong(c, n, "neither an input nor the attribute 'type' is given");
}

/* --- recurrent layers, losses --- */

static bool activation(surg_str s) {
  static const char *const words[] = {
      "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
      "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
  for (size_t i = 0; i < SURG_COUNT(words); i++)
    if (strlen(words[i]) == s.n && strncasecmp(words[i], s.p, s.n) == 0) return true;
  return false;
}

/* Checks a recurrent operator: one list of known activations per direction, and a positive
 * hidden size. */
static void recurrent(surg__checker *c, const surg_node *n) {
  const surg_attr *size = surg_node_attr(n, "hidden_size");
  const bool simple = n->schema->op == SURG_OP_RNN;
  if (size && !size->ref && size->kind == SURG_ATTR_INT && size->u.i <= 0) {
    if (simple) c->since = (surg__since){UINT8_MAX, UINT8_MAX}; /* its kernel does not compare it */
    surg__check_bad_int(c, n, "hidden_size", size->u.i);
  }
  const surg_attr *a = surg_node_attr(n, "activations");
  const surg_str way = surg_node_string(n, "direction", "forward");
  if (!a || a->ref || a->kind != SURG_ATTR_STRINGS || (!a->count && !simple)) return;
  const uint32_t each = n->schema->op == SURG_OP_LSTM ? 3 : n->schema->op == SURG_OP_GRU ? 2 : 1;
  const uint32_t want = each * (way.n && way.p[0] == 'b' ? 2 : 1);
  if (a->count != want)
    surg__check_wrong(c, n, "attribute \"activations\" has %" PRIu32 " %s, expected %" PRIu32,
                      a->count, plural(a->count, "entry", "entries"), want);
  for (uint32_t i = 0; i < a->count; i++)
    if (!activation(a->u.strings[i])) {
      surg__check_bad_value(c, n, "activations",
                            surg__qn(c->ctx, a->u.strings[i].p, a->u.strings[i].n));
      return;
    }
}

static void loss(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *target = surg__check_ranked(n, 1);
  if (!surg__rank_from(c, n, 0, 2) || !x || !target) return;
  /* Releases that do not compare them infer the nodes that define SoftmaxCrossEntropyLoss, which
   * may not be possible with a scalar or an empty input. */
  const surg_type *weights = surg__check_ranked(n, 2);
  bool plain = target->rank && (!has(n, 2) || (weights && weights->rank));
  for (uint32_t i = 0; i < x->rank; i++) plain = plain && surg__check_dim(x, i) > 0;
  surg__since since = {0};
  if (n->schema->op == SURG_OP_SoftmaxCrossEntropyLoss) since = (surg__since){plain ? 22 : 0, 25};
  if (target->rank != x->rank - 1u) {
    c->since = since;
    (void)surg__rank_is(c, n, 1, x->rank - 1u);
    return;
  }
  for (uint32_t i = 0; i < target->rank; i++) {
    const int64_t a = surg__check_dim(x, i ? i + 1u : 0), b = surg__check_dim(target, i);
    if (a >= 0 && b >= 0 && a != b) {
      c->since = since;
      surg__check_wrong(
          c, n, "dimension %" PRIu32 " of the target is %" PRId64 ", expected %" PRId64, i, b, a);
      return;
    }
  }
}

/* --- sizes that overflow 64 bits --- */

static void concat(surg__checker *c, const surg_node *n) {
  int64_t sum = 0, axis = surg_node_int(n, "axis", 0);
  for (size_t i = 0; i < n->n_in; i++) {
    const surg_type *x = surg__check_ranked(n, i);
    const int64_t at = x && axis < 0 ? axis + x->rank : axis;
    const int64_t size = x && at >= 0 ? surg__check_dim(x, (size_t)at) : -1;
    if (size < 0 || surg__add_i64(sum, size, &sum)) continue;
    surg__check_wrong(c, n, "the size of axis %" PRId64 " of the output exceeds 64 bits", axis);
    return;
  }
}

static void expand(surg__checker *c, const surg_node *n) {
  surg__check_requested(c, n, 1);
}

/* Whether size i of the target of a Reshape is 0. */
static bool is_zero(const surg_node *n, const surg_type *x, const surg_elem *e, uint32_t i) {
  if (!e->known || e->value) return false;
  return surg_node_int(n, "allowzero", 0) || surg__check_dim(x, i) == 0;
}

/* Reports a -1 in the target beside a size of 0: every number would fit. */
static void open_size(surg__checker *c, const surg_node *n, const surg_type *x) {
  surg_elem e[SURG_LIMIT_RANK];
  const int64_t count = surg__known_elements(n->in[1].value, e, SURG_LIMIT_RANK);
  bool open = false, zero = false;
  for (int64_t i = 0; i < count; i++) {
    open = open || (e[i].known && e[i].value == -1);
    zero = zero || is_zero(n, x, &e[i], (uint32_t)i);
  }
  if (open && zero) surg__check_wrong(c, n, "the target shape has -1 beside a size of 0");
}

static void reshape(surg__checker *c, const surg_node *n) {
  surg__check_requested(c, n, 1);
  const surg_type *x = surg__check_ranked(n, 0);
  int64_t count = 1;
  open_size(c, n, x);
  for (uint32_t i = 0; x && i < x->rank; i++)
    if (x->dims[i].value <= 0) return;
  for (uint32_t i = 0; x && i < x->rank; i++) {
    if (surg__mul_i64(count, x->dims[i].value, &count)) continue;
    surg__check_wrong(c, n, "the number of elements of input 0 exceeds 64 bits");
    return;
  }
}

/* --- table of checks by operator and first version --- */

static const struct form {
  int op, since;
  void (*check)(surg__checker *c, const surg_node *n);
} forms[] = {{SURG_OP_Conv, 1, conv_kernel},
             {SURG_OP_ConvInteger, 1, conv_kernel},
             {SURG_OP_QLinearConv, 1, conv_kernel},
             {SURG_OP_ConvTranspose, 1, conv_transpose},
             {SURG_OP_DeformConv, 19, deform_conv},
             {SURG_OP_MaxPool, 1, pool},
             {SURG_OP_AveragePool, 1, pool},
             {SURG_OP_LpPool, 1, pool},
             {SURG_OP_MaxUnpool, 9, max_unpool},
             {SURG_OP_ScatterElements, 11, scatter_elements},
             {SURG_OP_Softmax, 11, softmax},
             {SURG_OP_LogSoftmax, 11, softmax},
             {SURG_OP_Hardmax, 11, softmax},
             {SURG_OP_BatchNormalization, 14, batch_norm},
             {SURG_OP_LRN, 1, lrn},
             {SURG_OP_LpNormalization, 1, lp_norm},
             {SURG_OP_Dropout, 12, dropout},
             {SURG_OP_HannWindow, 17, window},
             {SURG_OP_HammingWindow, 17, window},
             {SURG_OP_BlackmanWindow, 17, window},
             {SURG_OP_DFT, 17, dft},
             {SURG_OP_STFT, 17, stft},
             {SURG_OP_MelWeightMatrix, 17, mel_weights},
             {SURG_OP_QuantizeLinear, 10, scales},
             {SURG_OP_DequantizeLinear, 10, scales},
             {SURG_OP_Loop, 1, surg__check_loop},
             {SURG_OP_Scan, 9, surg__check_scan},
             {SURG_OP_SequenceMap, 17, surg__check_sequence_map},
             {SURG_OP_Scan, 8, surg__check_scan_8},
             {SURG_OP_If, 1, surg__check_branches},
             {SURG_OP_OneHot, 9, one_hot},
             {SURG_OP_TopK, 10, top_k},
             {SURG_OP_Col2Im, 18, col2im},
             {SURG_OP_Split, 18, split},
             {SURG_OP_Trilu, 14, square},
             {SURG_OP_Det, 11, square},
             {SURG_OP_EyeLike, 9, eye_like},
             {SURG_OP_Pad, 11, pad},
             {SURG_OP_Tile, 6, surg__check_tile},
             {SURG_OP_Expand, 8, expand},
             {SURG_OP_Slice, 1, slice},
             {SURG_OP_ReverseSequence, 10, reverse_sequence},
             {SURG_OP_SplitToSequence, 11, split_to_sequence},
             {SURG_OP_ConstantOfShape, 9, constant_of_shape},
             {SURG_OP_RoiAlign, 10, roi_align},
             {SURG_OP_GridSample, 16, grid_sample},
             {SURG_OP_Resize, 10, scaled},
             {SURG_OP_Upsample, 7, scaled},
             {SURG_OP_Optional, 15, optional},
             {SURG_OP_RNN, 7, recurrent},
             {SURG_OP_GRU, 7, recurrent},
             {SURG_OP_LSTM, 7, recurrent},
             {SURG_OP_NegativeLogLikelihoodLoss, 12, loss},
             {SURG_OP_SoftmaxCrossEntropyLoss, 12, loss},
             {SURG_OP_Concat, 4, concat},
             {SURG_OP_Reshape, 5, reshape}};

void surg__check_forms(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(forms); i++)
    if (forms[i].op == n->schema->op && n->schema->since >= forms[i].since) {
      forms[i].check(c, n);
      return;
    }
  if (n->schema->flags & SURG__OP_CONTRIB)
    surg__check_forms_contrib(c, n);
  else
    surg__check_forms_ml(c, n);
}
