/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutions that the rule language cannot express: any number of outputs, optional parts, pads
 * computed from sizes. */
#include "base/counted.h"
#include "io/text/codec.h"
#include "rewrite/lower/native.h"

static surg_node *matched(const surg__builder *b) {
  return b->m->nodes[b->m->rule->anchor];
}

static surg_status done(surg__builder *b, surg_status s) {
  if (s && !b->status) b->status = s;
  return b->status;
}

/* --- Split --- */

/* Reads the sizes of the parts; false: not known. */
static bool parts_of(const surg_node *n, int64_t size, int64_t *parts, size_t count) {
  const surg_value *in = surg_node_input(n, 1);
  const surg_tensor *t = in ? surg_value_constant(in) : NULL;
  size_t given = 0;
  const int64_t *listed = surg_node_ints(n, "split", &given);
  if (in)
    return t && surg_tensor_count(t) == count && surg__read_ints(t, parts, count) == (int64_t)count;
  if (listed && given) {
    if (given == count) memcpy(parts, listed, count * sizeof *parts);
    return given == count;
  }
  if (size < 0) return false;
  const int64_t whole = (size + (int64_t)count - 1) / (int64_t)count;
  for (size_t i = 0; i < count; i++) parts[i] = whole;
  /* Without num_outputs the size must be a multiple of the number of parts. */
  if (whole * (int64_t)count != size && !surg_node_attr(n, "num_outputs")) return false;
  parts[count - 1] = size - whole * (int64_t)(count - 1);
  return parts[count - 1] >= 0;
}

static surg_status split_slices(surg__builder *b) {
  surg_node *n = matched(b);
  const size_t count = surg_node_output_count(n);
  const surg__rvalue axis = surg__b_data(b, "a");
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  int64_t *parts = surg__arena_array(b->m->arena, count + 1, sizeof *parts), at = 0;
  if (!parts) return SURG_ENOMEM;
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, surg_type_get_kind(t) != SURG_TYPE_TENSOR,
                  "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_has_rank(t), "the rank of an input is unknown") ||
      surg__b_bad(b, !axis.one.known, "an attribute is unknown"))
    return SURG_EUNSUPPORTED;
  const int64_t rank = (int64_t)surg_type_rank(t);
  const int64_t a = axis.one.i < 0 ? axis.one.i + rank : axis.one.i;
  const int64_t whole = a < 0 || a >= rank ? -1 : surg_type_dim(t, (size_t)a)->value;
  if (surg__b_bad(b, a < 0, "the axis is out of range") ||
      surg__b_bad(b, a >= rank, "the axis is out of range") ||
      surg__b_bad(b, !parts_of(n, whole, parts, count),
                  "the sizes of the parts are unknown or unequal"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < count; i++)
    if (surg__b_bad(b, parts[i] < 0, "the size of a part is negative") ||
        surg__b_bad(b, !surg__add_i64(at, parts[i], &at), "the sizes of the parts overflow"))
      return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, whole >= 0 && at != whole, "the sizes of the parts do not fit"))
    return SURG_EUNSUPPORTED; /* a Slice would not report this error */
  at = 0;
  for (size_t i = 0; i < count && !b->status; at += parts[i++]) {
    surg_value *old = surg_node_output(n, i);
    const int64_t end = at + parts[i];
    if (!old) continue;
    surg_value *from = surg__b_ints(b, &at, 1), *to = surg__b_ints(b, &end, 1);
    surg_value *const in[4] = {surg_node_input(n, 0), from, to, surg__b_ints(b, &a, 1)};
    surg_value *v = surg__b_node(b, "Slice", in, 4);
    if (v) done(b, surg_node_take_output(surg_value_producer(v, NULL), 0, old));
  }
  return b->status;
}

/* --- Gemm --- */

static surg_value *transposed(surg__builder *b, surg_value *v, bool really) {
  if (!really) return v;
  const int64_t perm[2] = {1, 0};
  surg_value *t = surg__b_unary(b, "Transpose", v);
  if (t) surg__b_set_ints(b, t, "perm", perm, 2);
  return t;
}

static surg_value *times(surg__builder *b, surg_value *v, int dtype, double factor) {
  if (factor == 1) return v;
  return surg__b_binary(b, "Mul", v, surg__b_scalar(b, dtype, factor));
}

static surg_status gemm_parts(surg__builder *b) {
  surg_value *x = surg__b_get(b, "a"), *w = surg__b_get(b, "b"), *c = surg__b_get(b, "c");
  const surg__rvalue alpha = surg__b_data(b, "alpha"), beta = surg__b_data(b, "beta");
  const surg__rvalue ta = surg__b_data(b, "ta"), tb = surg__b_data(b, "tb");
  const surg_type *t = surg_value_type(x);
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, alpha.kind != SURG__R_FLOAT, "an attribute is unknown") ||
      surg__b_bad(b, beta.kind != SURG__R_FLOAT, "an attribute is unknown") ||
      surg__b_bad(b, ta.kind != SURG__R_INT, "an attribute is unknown") ||
      surg__b_bad(b, tb.kind != SURG__R_INT, "an attribute is unknown") ||
      surg__b_bad(b, !ta.one.known, "an attribute is unknown") ||
      surg__b_bad(b, !tb.one.known, "an attribute is unknown"))
    return SURG_EUNSUPPORTED;
  /* MatMul does not support bfloat16 before opset 13; it supports the other types of Gemm. */
  const int dtype = surg_type_dtype(t);
  if (surg__b_bad(b, dtype == SURG_BFLOAT16 && b->m->opset < 13, "the rewrite requires opset 13"))
    return SURG_EUNSUPPORTED;
  /* A product of halves may overflow where alpha times it, plus beta times c, does not. */
  const bool wide = dtype == SURG_FLOAT16 && (c || alpha.one.f != 1);
  const int in = wide ? SURG_FLOAT : dtype;
  if (wide) {
    x = surg__b_cast(b, x, in);
    w = surg__b_cast(b, w, in);
    if (c) c = surg__b_cast(b, c, in);
  }
  x = transposed(b, x, ta.one.i != 0);
  w = transposed(b, w, tb.one.i != 0);
  surg_value *y = times(b, surg__b_binary(b, "MatMul", x, w), in, alpha.one.f);
  if (c) y = surg__b_binary(b, "Add", y, times(b, c, in, beta.one.f));
  if (wide) y = surg__b_cast(b, y, dtype);
  if (!b->status) surg__b_result(b, "y", y);
  return b->status;
}

/* --- auto_pad --- */

typedef struct window {
  int64_t kernel[SURG__BT_RANK], stride[SURG__BT_RANK], dilation[SURG__BT_RANK];
  size_t n;
} window;

static bool read_list(const surg_node *n, const char *name, int64_t *out, size_t count) {
  size_t given = 0;
  const int64_t *list = surg_node_ints(n, name, &given);
  for (size_t i = 0; i < count; i++) out[i] = 1;
  if (!list || !given) return true;
  if (given != count) return false;
  memcpy(out, list, count * sizeof *out);
  for (size_t i = 0; i < count; i++)
    if (out[i] < 1 || out[i] > INT32_MAX) return false;
  return true;
}

/* Reads the kernel size from the attribute, or from the shape of the weights. */
static bool kernel_of(const surg_node *n, window *w) {
  size_t given = 0;
  (void)surg_node_ints(n, "kernel_shape", &given);
  if (given) return read_list(n, "kernel_shape", w->kernel, w->n);
  const surg_value *v = surg_node_input(n, 1);
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t) ||
      surg_type_rank(t) != w->n + 2)
    return false;
  for (size_t i = 0; i < w->n; i++) {
    w->kernel[i] = surg_type_dim(t, i + 2)->value;
    if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX) return false;
  }
  return true;
}

/* The pads for which the output size is the input size divided by the stride, rounded up. */
static bool same_pads(const surg_type *t, const window *w, bool upper, int64_t *pads) {
  for (size_t i = 0; i < w->n; i++) {
    const int64_t in = surg_type_dim(t, i + 2)->value;
    if (in < 1 || in > INT32_MAX) return false;
    const int64_t out = (in + w->stride[i] - 1) / w->stride[i];
    int64_t all = (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - in;
    if (all < 0) all = 0;
    pads[i] = upper ? all / 2 : all - all / 2;
    pads[i + w->n] = all - pads[i];
  }
  return true;
}

/* The same for ConvTranspose, whose output size is the input size times the stride. Rejects kernels
 * smaller than the stride, for which runtimes differ. */
static bool same_pads_turned(const surg_node *n, const window *w, bool upper, int64_t *pads) {
  size_t more = 0;
  const int64_t *at_end = surg_node_ints(n, "output_padding", &more);
  if (surg_node_attr(n, "output_shape") || (more && more != w->n)) return false;
  for (size_t i = 0; i < w->n; i++) {
    const int64_t beyond = more ? at_end[i] : 0;
    const int64_t all = (w->kernel[i] - 1) * w->dilation[i] + 1 - w->stride[i] + beyond;
    if (beyond < 0 || beyond > INT32_MAX || all < 0) return false;
    pads[i] = upper ? all / 2 : all - all / 2;
    pads[i + w->n] = all - pads[i];
  }
  return true;
}

/* Whether the node without auto_pad has the same meaning in the opset of the emission. */
static bool same_meaning(const surg__builder *b, const surg_node *n, const surg_type *t) {
  const surg_schema *to = surg_schema_find("", surg_node_op_type(n), b->m->opset);
  if (to == surg_node_schema(n)) return true;
  /* Newer versions of ConvTranspose only change auto_pad and add bfloat16. */
  return to && surg_node_op(n) == SURG_OP_ConvTranspose && surg_type_dtype(t) != SURG_BFLOAT16;
}

/* Creates a copy of the node without auto_pad, ceil_mode and the attribute `but`, with input x. */
static surg_status copy_with_pads(surg__builder *b, surg_node *n, surg_value *x, const char *but,
                                  const int64_t *pads, size_t count) {
  surg__match *m = b->m;
  surg_node *made = surg_graph_add_node(m->g, m->last, "", surg_node_op_type(n), 0);
  const char *name = made ? surg__rname(m, surg_node_op_type(n)) : NULL;
  surg_status s = name ? surg_node_set_name(made, name) : SURG_ENOMEM;
  for (size_t i = 0; i < surg_node_attr_count(n) && !s; i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const char *is = surg_attr_name(a);
    if (strcmp(is, "auto_pad") && strcmp(is, "pads") && strcmp(is, "ceil_mode") && strcmp(is, but))
      s = surg_node_copy_attr(made, a);
  }
  if (!s && count) s = surg_node_set_ints(made, "pads", pads, count);
  for (size_t i = 0; i < surg_node_input_count(n) && !s; i++)
    if (surg_node_input(n, i)) s = surg_node_set_input(made, i, i ? surg_node_input(n, i) : x);
  /* Zeros added by a Pad count in the average. */
  if (!s && x != surg_node_input(n, 0) && surg_node_op(n) == SURG_OP_AveragePool)
    s = surg_node_set_int(made, "count_include_pad", 1);
  for (size_t i = surg_node_output_count(n); i-- > 0 && !s;)
    if (surg_node_output(n, i)) s = surg_node_take_output(made, i, surg_node_output(n, i));
  if (!s && b->made && !surg__vec_push(m->ctx, b->made, made)) s = SURG_ENOMEM;
  return done(b, s);
}

/* Whether a window can slide over a value of this type: batch, channels, and axes. */
static bool slides_over(surg__builder *b, const surg_type *t) {
  const bool ranked = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return !surg__b_bad(b, !ranked, "the rank of an input is unknown") &&
         !surg__b_bad(b, surg_type_rank(t) < 3, "x: expected rank 3 or more") &&
         !surg__b_bad(b, surg_type_rank(t) > SURG__BT_RANK, "x: the rank is above the limit");
}

static surg_status with_pads(surg__builder *b, surg_node *n, surg_value *x, const int64_t *pads,
                             size_t count) {
  return copy_with_pads(b, n, x, "", pads, count);
}

/* The pads after which the output has the size `out` along an axis: half of what is cut off at each
 * end. Where that is odd, versions of ONNX and runtimes differ on the end that loses more. */
static bool pads_of_size(const window *w, size_t i, int64_t in, int64_t beyond, int64_t out,
                         int64_t *pads) {
  if (in < 1 || in > INT32_MAX || beyond < 0 || beyond > INT32_MAX || out < 1) return false;
  const int64_t full = (in - 1) * w->stride[i] + beyond + (w->kernel[i] - 1) * w->dilation[i] + 1;
  if (full < out || (full - out) % 2) return false;
  pads[i] = pads[i + w->n] = (full - out) / 2;
  return true;
}

/* Reads the window of a node that slides one over input 0; false, with the reason: it cannot be
 * emitted with other pads. */
static bool read_window(surg__builder *b, surg_node *n, const surg_type *t, window *w) {
  if (!slides_over(b, t) ||
      surg__b_bad(b, !same_meaning(b, n, t),
                  "the operator may have another meaning in the other version"))
    return false;
  w->n = surg_type_rank(t) - 2;
  return read_list(n, "strides", w->stride, w->n) && read_list(n, "dilations", w->dilation, w->n) &&
         !surg__b_bad(b, !kernel_of(n, w), "the size of the kernel is unknown");
}

/* ConvTranspose with the attribute output_shape. */
static surg_status pads_of_shape(surg__builder *b) {
  surg_node *n = matched(b);
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  int64_t pads[2 * SURG__BT_RANK];
  size_t count = 0, more = 0;
  const int64_t *out = surg_node_ints(n, "output_shape", &count);
  const int64_t *at_end = surg_node_ints(n, "output_padding", &more);
  window w;
  if (!read_window(b, n, t, &w) ||
      surg__b_bad(b, count != w.n || (more && more != w.n), "output_shape: one size for each axis"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < w.n; i++)
    if (surg__b_bad(b,
                    !pads_of_size(&w, i, surg_type_dim(t, i + 2)->value, more ? at_end[i] : 0,
                                  out[i], pads),
                    "the pads are unknown, or runtimes differ on them"))
      return SURG_EUNSUPPORTED;
  return copy_with_pads(b, n, surg_node_input(n, 0), "output_shape", pads, 2 * w.n);
}

static surg_status explicit_pads(surg__builder *b) {
  surg_node *n = matched(b);
  const surg_str how = surg_node_string(n, "auto_pad", "NOTSET");
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  int64_t pads[2 * SURG__BT_RANK];
  window w;
  if (!read_window(b, n, t, &w)) return SURG_EUNSUPPORTED;
  const bool upper = surg__text_word(how.p, how.n, "SAME_UPPER");
  /* Runtimes differ on ceil_mode without padding, so it is rejected. */
  if (surg__text_word(how.p, how.n, "VALID"))
    return surg_node_int(n, "ceil_mode", 0) ? SURG_EUNSUPPORTED
                                            : with_pads(b, n, surg_node_input(n, 0), NULL, 0);
  if (surg__b_bad(b, !upper && !surg__text_word(how.p, how.n, "SAME_LOWER"),
                  "auto_pad is unsupported"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b,
                  surg_node_op(n) == SURG_OP_ConvTranspose ? !same_pads_turned(n, &w, upper, pads)
                                                           : !same_pads(t, &w, upper, pads),
                  "the pads depend on sizes that are unknown"))
    return SURG_EUNSUPPORTED;
  return with_pads(b, n, surg_node_input(n, 0), pads, 2 * w.n);
}

/* --- Pad --- */

/* Adds the pads of the Pad to the node's own; false: it pads batch or channels, crops, or the node
 * does not support such pads. */
static bool pads_together(const surg_node *n, const surg__rvalue *q, const window *w,
                          int64_t *pads) {
  const int op = surg_node_op(n);
  const bool pool = op != SURG_OP_Conv && op != SURG_OP_ConvInteger;
  const size_t rank = w->n + 2;
  size_t given = 0;
  const int64_t *own = surg_node_ints(n, "pads", &given);
  if (q->kind != SURG__R_INTS || q->n != 2 * rank || (given && given != 2 * w->n)) return false;
  for (size_t i = 0; i < 2 * rank; i++) {
    const size_t axis = i % rank, k = axis - 2 + (i < rank ? 0 : w->n);
    const int64_t more = q->items[i].i;
    if (!q->items[i].known || more < 0 || more > INT32_MAX || (axis < 2 && more)) return false;
    if (axis < 2) continue;
    if (given && (own[k] < 0 || own[k] > INT32_MAX)) return false;
    pads[k] = more + (given ? own[k] : 0);
    /* Each window of a pool must overlap the input. */
    if (pool && (pads[k] >= w->kernel[axis - 2] || w->dilation[axis - 2] != 1)) return false;
  }
  return true;
}

static bool own_pads_count(const surg_node *n) {
  size_t given = 0;
  const int64_t *own = surg_node_ints(n, "pads", &given);
  if (surg_node_op(n) != SURG_OP_AveragePool || surg_node_int(n, "count_include_pad", 0))
    return true;
  for (size_t i = 0; i < given; i++)
    if (own[i]) return false;
  return true;
}

/* t = Pad (x, q), y = Conv (t, ...): merges padding with zeros into the node. */
static surg_status pad_taken_in(surg__builder *b) {
  surg_node *n = matched(b);
  surg_value *x = surg__b_get(b, "x");
  const surg__rvalue q = surg__b_data(b, "q");
  const surg_type *t = surg_value_type(x);
  int64_t pads[2 * SURG__BT_RANK];
  window w;
  if (!slides_over(b, t) || !surg__b_attrs_known(b)) return SURG_EUNSUPPORTED;
  w.n = surg_type_rank(t) - 2;
  const surg_str how = surg_node_string(n, "auto_pad", "NOTSET");
  if (surg__b_bad(b, surg_node_int(n, "ceil_mode", 0), "ceil_mode is unsupported") ||
      surg__b_bad(b, !surg__text_word(how.p, how.n, "NOTSET") && surg_node_attr(n, "pads"),
                  "auto_pad and pads are given") ||
      surg__b_bad(b, !own_pads_count(n), "the average does not count the pads") ||
      surg__b_bad(b, !kernel_of(n, &w), "the size of the kernel is unknown") ||
      !read_list(n, "dilations", w.dilation, w.n) ||
      surg__b_bad(b, !pads_together(n, &q, &w, pads),
                  "the pads are unknown, negative or of other axes"))
    return SURG_EUNSUPPORTED;
  return with_pads(b, n, x, pads, 2 * w.n);
}

const surg__native surg__natives_sub[] = {
    {"split_slices", split_slices, "each part of a Split of known sizes as a Slice"},
    {"gemm_parts", gemm_parts, "Gemm as Transpose, MatMul, Mul and Add, those that do something"},
    {"pad_taken_in", pad_taken_in, "zeros of a Pad as pads of what reads them"},
    {"explicit_pads", explicit_pads, "auto_pad as pads"},
    {"pads_of_shape", pads_of_shape, "output_shape as pads"},
    {NULL, NULL, NULL},
};
