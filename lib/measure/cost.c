/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of one run of a node, from the inferred shapes of what it reads and makes. */
#include "measure/measure.h"

#include "base/dtype.h"
#include "ir/ir.h"

/* What is counted: `macs` are multiplications whose products are summed up, `flops` is all
 * arithmetic, so that each of them counts two. */
typedef struct cost {
  const surg_node *n;
  uint64_t macs, flops;
} cost;

typedef enum basis {
  NO_RULE = 0,
  NOTHING,    /* moves, makes or looks at elements */
  PER_RESULT, /* `factor` for each element of output 0 */
  PER_INPUT,  /* of input 0 */
  SPECIAL
} basis;

typedef bool (*special)(cost *c);
typedef struct rule {
  basis basis;
  uint16_t factor;
  special fn;
} rule;

/* --- shapes; false is not known --- */

static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}
static const surg_type *input(const cost *c, size_t i) {
  return ranked(surg_node_input(c->n, i));
}

static bool count_of(const surg_type *t, uint64_t *out) {
  return t && surg_type_static(t, out);
}

/* Dim i of a type, from the end where i is negative. */
static bool dim(const surg_type *t, int i, uint64_t *out) {
  const int rank = t ? (int)surg_type_rank(t) : 0;
  const int at = i < 0 ? i + rank : i;
  if (at < 0 || at >= rank) return false;
  const int64_t v = surg_type_dim(t, (size_t)at).value;
  if (v < 0) return false;
  *out = (uint64_t)v;
  return true;
}

/* The first output that is there: all that are have a size known from the same things. */
static bool result(const cost *c, uint64_t *out) {
  for (size_t i = 0; i < surg_node_output_count(c->n); i++)
    if (surg_node_output(c->n, i)) return count_of(ranked(surg_node_output(c->n, i)), out);
  return false;
}

/* --- sums --- */

static bool add_flops(cost *c, uint64_t n) {
  return surg__add_u64(c->flops, n, &c->flops);
}

/* a * b multiplications that are summed up. */
static bool add_macs(cost *c, uint64_t a, uint64_t b) {
  uint64_t n, twice;
  return surg__mul_u64(a, b, &n) && surg__mul_u64(n, 2, &twice) &&
         surg__add_u64(c->macs, n, &c->macs) && add_flops(c, twice);
}

static bool add_times(cost *c, uint64_t n, uint64_t factor) {
  uint64_t product;
  return surg__mul_u64(n, factor, &product) && add_flops(c, product);
}

/* --- products --- */

/* Elements of the weights, `w`, that make one element of the result: all but axis 0. */
static bool window(const surg_type *w, uint64_t *out) {
  uint64_t d;
  *out = 1;
  if (!w || surg_type_rank(w) < 2) return false;
  for (size_t i = 1; i < surg_type_rank(w); i++)
    if (!dim(w, (int)i, &d) || !surg__mul_u64(*out, d, out)) return false;
  return true;
}

static bool conv_of(cost *c, size_t weights, size_t bias) {
  uint64_t each, out;
  if (!window(input(c, weights), &each) || !result(c, &out) || !add_macs(c, out, each))
    return false;
  return !surg_node_input(c->n, bias) || add_flops(c, out);
}
static bool conv(cost *c) {
  return conv_of(c, 1, 2);
}
static bool conv_integer(cost *c) {
  return conv_of(c, 1, SIZE_MAX);
}
static bool qlinear_conv(cost *c) {
  return conv_of(c, 3, 8);
}
static bool deform_conv(cost *c) {
  return conv_of(c, 1, 3);
}

static bool conv_transpose(cost *c) {
  uint64_t each, in, out;
  if (!window(input(c, 1), &each) || !count_of(input(c, 0), &in) || !add_macs(c, in, each))
    return false;
  return !surg_node_input(c->n, 2) || (result(c, &out) && add_flops(c, out));
}

static bool gemm(cost *c) {
  uint64_t k, out;
  const bool turned = surg_node_int(c->n, "transA", 0) != 0;
  if (!dim(input(c, 0), turned ? 0 : 1, &k) || !result(c, &out) || !add_macs(c, out, k))
    return false;
  return !surg_node_input(c->n, 2) || add_flops(c, out);
}

static bool matmul(cost *c) {
  uint64_t k, out;
  return dim(input(c, 0), -1, &k) && result(c, &out) && add_macs(c, out, k);
}

/* X of [steps, batch, features] in either layout; W and R hold one weight for each product. */
static bool recurrent(cost *c) {
  uint64_t a, b, w, r, runs;
  return dim(input(c, 0), 0, &a) && dim(input(c, 0), 1, &b) && count_of(input(c, 1), &w) &&
         count_of(input(c, 2), &r) && surg__mul_u64(a, b, &runs) && add_macs(c, runs, w) &&
         add_macs(c, runs, r);
}

/* Each element of Q meets every key, each element of Y sums over every one. Heads stand in an axis
 * of their own or in the last; either way they drop out. */
static bool attention(cost *c) {
  uint64_t keys, past = 0, q, y, scores;
  const surg_type *k = input(c, 1), *before = input(c, 4);
  if (!k || !dim(k, surg_type_rank(k) == 3 ? 1 : 2, &keys)) return false;
  if (surg_node_input(c->n, 4) && !dim(before, 2, &past)) return false;
  if (!surg__add_u64(keys, past, &keys) || !count_of(input(c, 0), &q) || !result(c, &y) ||
      !add_macs(c, q, keys) || !add_macs(c, y, keys))
    return false;
  /* Scores: one for each head, query and key; softmax and scaling count as five. */
  const surg_type *qt = input(c, 0);
  uint64_t batch, heads, queries;
  if (surg_type_rank(qt) == 4) {
    if (!dim(qt, 1, &heads) || !dim(qt, 2, &queries)) return false;
  } else {
    const int64_t n = surg_node_int(c->n, "q_num_heads", 0);
    if (n < 1 || !dim(qt, 1, &queries)) return false;
    heads = (uint64_t)n;
  }
  return dim(qt, 0, &batch) && surg__mul_u64(batch, heads, &scores) &&
         surg__mul_u64(scores, queries, &scores) && surg__mul_u64(scores, keys, &scores) &&
         add_times(c, scores, 5);
}

/* Sizes by label; the axes that "..." stands for are counted from the last one. */
typedef struct labels {
  uint64_t size[256];
  uint64_t dots[SURG_LIMIT_RANK];
} labels;

static bool merge_size(uint64_t *held, uint64_t size) {
  if (*held == UINT64_MAX || *held == 1) *held = size;
  return size == 1 || *held == size;
}

/* The term of one operand, which ends at a comma, an arrow or the end. */
static bool einsum_term(labels *l, const char **at, const char *end, const surg_type *t) {
  const char *p = *at;
  size_t letters = 0, axis = 0;
  if (!t) return false;
  for (const char *q = p; q < end && *q != ',' && *q != '-'; q++) letters += *q != '.' && *q != ' ';
  const size_t rank = surg_type_rank(t);
  if (letters > rank || rank - letters > SURG_COUNT(l->dots)) return false;
  bool dotted = false;
  for (; p < end && *p != ',' && *p != '-'; p++) {
    uint64_t size;
    if (*p == ' ' || (*p == '.' && dotted)) continue;
    if (*p == '.') {
      dotted = true;
      for (size_t left = rank - letters; left; left--, axis++)
        if (!dim(t, (int)axis, &size) || !merge_size(&l->dots[left - 1], size)) return false;
      continue;
    }
    if (!dim(t, (int)axis++, &size) || !merge_size(&l->size[(unsigned char)*p], size)) return false;
  }
  *at = p;
  return axis == rank;
}

/* One product of all operands for each choice of indices. */
static bool einsum(cost *c) {
  const surg_str equation = surg_node_string(c->n, "equation", "");
  labels l;
  memset(&l, 0xff, sizeof l);
  const char *p = equation.p, *end = p ? p + equation.n : p;
  const size_t n = surg_node_input_count(c->n);
  for (size_t i = 0; i < n; i++) {
    if (!einsum_term(&l, &p, end, input(c, i))) return false;
    if (p < end && *p == ',') p++;
  }
  uint64_t all = 1;
  for (size_t i = 0; i < SURG_COUNT(l.size); i++)
    if (l.size[i] != UINT64_MAX && !surg__mul_u64(all, l.size[i], &all)) return false;
  for (size_t i = 0; i < SURG_COUNT(l.dots); i++)
    if (l.dots[i] != UINT64_MAX && !surg__mul_u64(all, l.dots[i], &all)) return false;
  return n < 2 ? add_flops(c, all) : add_macs(c, all, n - 1);
}

/* --- windows and images --- */

static bool pool(cost *c) {
  size_t n;
  uint64_t each = 1, out;
  const int64_t *kernel = surg_node_ints(c->n, "kernel_shape", &n);
  for (size_t i = 0; kernel && i < n; i++)
    if (kernel[i] < 0 || !surg__mul_u64(each, (uint64_t)kernel[i], &each)) return false;
  return kernel && result(c, &out) && add_times(c, out, each);
}

static bool mode_is(const surg_node *n, const char *mode) {
  const surg_str s = surg_node_string(n, "mode", "");
  return s.n == strlen(mode) && memcmp(s.p, mode, s.n) == 0;
}

/* 2 or 4 neighbours along each axis that is resized. */
static bool resize(cost *c) {
  if (mode_is(c->n, "nearest")) return true;
  const uint64_t near = mode_is(c->n, "cubic") ? 4 : 2;
  const surg_type *x = input(c, 0), *y = ranked(surg_node_output(c->n, 0));
  uint64_t each = 1, a, b, out;
  if (!x || !y || surg_type_rank(x) != surg_type_rank(y)) return false;
  for (size_t i = 0; i < surg_type_rank(x); i++) {
    if (!dim(x, (int)i, &a) || !dim(y, (int)i, &b)) return false;
    if (a != b && !surg__mul_u64(each, near, &each)) return false;
  }
  return result(c, &out) && add_macs(c, out, each);
}

static bool grid_sample(cost *c) {
  const surg_type *x = input(c, 0);
  uint64_t each = 1, out;
  if (!x || surg_type_rank(x) < 3 || !result(c, &out)) return false;
  if (mode_is(c->n, "nearest")) return true;
  const bool cubic = mode_is(c->n, "cubic") || mode_is(c->n, "bicubic");
  for (size_t i = 2; i < surg_type_rank(x); i++)
    if (!surg__mul_u64(each, cubic ? 4 : 2, &each)) return false;
  return add_macs(c, out, each);
}

/* As many terms as inputs: one operation less for each element. */
static bool variadic(cost *c) {
  uint64_t out;
  const size_t n = surg_node_input_count(c->n);
  return result(c, &out) && add_times(c, out, n > 1 ? n - 1 : 0);
}

static bool lrn(cost *c) {
  uint64_t out;
  const int64_t size = surg_node_int(c->n, "size", 0);
  return size > 0 && size < (1 << 30) && result(c, &out) &&
         add_times(c, out, 2 * (uint64_t)size + 3);
}

/* --- the table (doc/info.md) --- */

#define OP(name) [SURG_OP_##name]
static const rule rules[SURG_OP_COUNT] = {
    OP(Conv) = {SPECIAL, 0, conv},
    OP(ConvInteger) = {SPECIAL, 0, conv_integer},
    OP(QLinearConv) = {SPECIAL, 0, qlinear_conv},
    OP(DeformConv) = {SPECIAL, 0, deform_conv},
    OP(ConvTranspose) = {SPECIAL, 0, conv_transpose},
    OP(Gemm) = {SPECIAL, 0, gemm},
    OP(MatMul) = {SPECIAL, 0, matmul},
    OP(MatMulInteger) = {SPECIAL, 0, matmul},
    OP(QLinearMatMul) = {SPECIAL, 0, matmul},
    OP(RNN) = {SPECIAL, 0, recurrent},
    OP(GRU) = {SPECIAL, 0, recurrent},
    OP(LSTM) = {SPECIAL, 0, recurrent},
    OP(Attention) = {SPECIAL, 0, attention},
    OP(Einsum) = {SPECIAL, 0, einsum},
    OP(AveragePool) = {SPECIAL, 0, pool},
    OP(MaxPool) = {SPECIAL, 0, pool},
    OP(LpPool) = {SPECIAL, 0, pool},
    OP(Resize) = {SPECIAL, 0, resize},
    OP(Upsample) = {SPECIAL, 0, resize},
    OP(GridSample) = {SPECIAL, 0, grid_sample},
    OP(LRN) = {SPECIAL, 0, lrn},
    OP(Sum) = {SPECIAL, 0, variadic},
    OP(Mean) = {SPECIAL, 0, variadic},
    OP(Max) = {SPECIAL, 0, variadic},
    OP(Min) = {SPECIAL, 0, variadic},
    OP(GlobalAveragePool) = {PER_INPUT, 1, NULL},
    OP(GlobalMaxPool) = {PER_INPUT, 1, NULL},
    OP(GlobalLpPool) = {PER_INPUT, 2, NULL},
    OP(ReduceSum) = {PER_INPUT, 1, NULL},
    OP(ReduceMean) = {PER_INPUT, 1, NULL},
    OP(ReduceMax) = {PER_INPUT, 1, NULL},
    OP(ReduceMin) = {PER_INPUT, 1, NULL},
    OP(ReduceProd) = {PER_INPUT, 1, NULL},
    OP(ReduceL1) = {PER_INPUT, 2, NULL},
    OP(ReduceL2) = {PER_INPUT, 2, NULL},
    OP(ReduceSumSquare) = {PER_INPUT, 2, NULL},
    OP(ReduceLogSum) = {PER_INPUT, 1, NULL},
    OP(ReduceLogSumExp) = {PER_INPUT, 2, NULL},
    OP(ArgMax) = {PER_INPUT, 1, NULL},
    OP(ArgMin) = {PER_INPUT, 1, NULL},
    OP(TopK) = {PER_INPUT, 1, NULL},
    OP(CumSum) = {PER_INPUT, 1, NULL},
    OP(CumProd) = {PER_INPUT, 1, NULL},
    OP(Softmax) = {PER_RESULT, 5, NULL},
    OP(LogSoftmax) = {PER_RESULT, 5, NULL},
    OP(Hardmax) = {PER_RESULT, 2, NULL},
    OP(BatchNormalization) = {PER_RESULT, 2, NULL},
    OP(InstanceNormalization) = {PER_RESULT, 7, NULL},
    OP(GroupNormalization) = {PER_RESULT, 7, NULL},
    OP(LayerNormalization) = {PER_RESULT, 7, NULL},
    OP(RMSNormalization) = {PER_RESULT, 4, NULL},
    OP(MeanVarianceNormalization) = {PER_RESULT, 5, NULL},
    OP(LpNormalization) = {PER_RESULT, 3, NULL},
    OP(RotaryEmbedding) = {PER_RESULT, 3, NULL},
    OP(QuantizeLinear) = {PER_RESULT, 2, NULL},
    OP(DequantizeLinear) = {PER_RESULT, 2, NULL},
    OP(DynamicQuantizeLinear) = {PER_RESULT, 4, NULL},
    OP(ml_Scaler) = {PER_RESULT, 2, NULL},
    OP(ml_Normalizer) = {PER_RESULT, 3, NULL},
    OP(ml_Binarizer) = {PER_RESULT, 1, NULL},
    OP(Cast) = {NOTHING, 0, NULL},
    OP(CastLike) = {NOTHING, 0, NULL},
    OP(BitCast) = {NOTHING, 0, NULL},
    OP(Dropout) = {NOTHING, 0, NULL},
    OP(Constant) = {NOTHING, 0, NULL},
    OP(ConstantOfShape) = {NOTHING, 0, NULL},
    OP(EyeLike) = {NOTHING, 0, NULL},
    OP(Range) = {NOTHING, 0, NULL},
    OP(Shape) = {NOTHING, 0, NULL},
    OP(Size) = {NOTHING, 0, NULL},
    OP(Pad) = {NOTHING, 0, NULL},
    OP(CenterCropPad) = {NOTHING, 0, NULL},
    OP(Trilu) = {NOTHING, 0, NULL},
    OP(OneHot) = {NOTHING, 0, NULL},
    OP(NonZero) = {NOTHING, 0, NULL},
    OP(Scatter) = {NOTHING, 0, NULL},
    OP(ScatterElements) = {NOTHING, 0, NULL},
    OP(ScatterND) = {NOTHING, 0, NULL},
    OP(TensorScatter) = {NOTHING, 0, NULL},
    OP(MaxUnpool) = {NOTHING, 0, NULL},
    OP(StringConcat) = {NOTHING, 0, NULL},
    OP(Optional) = {NOTHING, 0, NULL},
    OP(OptionalGetElement) = {NOTHING, 0, NULL},
    OP(OptionalHasElement) = {NOTHING, 0, NULL},
    OP(SequenceAt) = {NOTHING, 0, NULL},
    OP(SequenceConstruct) = {NOTHING, 0, NULL},
    OP(SequenceEmpty) = {NOTHING, 0, NULL},
    OP(SequenceErase) = {NOTHING, 0, NULL},
    OP(SequenceInsert) = {NOTHING, 0, NULL},
    OP(SequenceLength) = {NOTHING, 0, NULL},
    OP(SplitToSequence) = {NOTHING, 0, NULL},
    OP(ConcatFromSequence) = {NOTHING, 0, NULL},
    OP(ml_ArrayFeatureExtractor) = {NOTHING, 0, NULL},
    OP(ml_FeatureVectorizer) = {NOTHING, 0, NULL},
    OP(ml_ZipMap) = {NOTHING, 0, NULL},
};

static rule rule_of(const surg_schema *s) {
  const rule r = rules[s->op];
  if (r.basis != NO_RULE) return r;
  if (s->flags & (SURG__OP_DATA_MOVER | SURG__OP_CONTROL_FLOW)) return (rule){NOTHING, 0, NULL};
  if (s->flags & SURG__OP_ELEMENTWISE) return (rule){PER_RESULT, 1, NULL};
  /* Versions with an attribute `broadcast` are not flagged, and cost the same. */
  size_t n;
  const surg_schema *newest = surg__schema_versions(s->op, &n) + n - 1;
  if (newest->flags & SURG__OP_ELEMENTWISE) return (rule){PER_RESULT, 1, NULL};
  return r;
}

surg_status surg_node_cost(const surg_node *n, uint64_t *macs, uint64_t *flops) {
  if (!n) return SURG_EUSAGE;
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) {
    *macs = *flops = 0; /* the nodes of its body count */
    return SURG_OK;
  }
  const surg_schema *s = surg_node_schema(n);
  const rule r = s ? rule_of(s) : (rule){NO_RULE, 0, NULL};
  cost c = {.n = n};
  uint64_t count;
  bool known = true;
  switch (r.basis) {
    case NO_RULE:
      return SURG_EUNSUPPORTED;
    case NOTHING:
      break;
    case PER_RESULT:
      known = result(&c, &count) && add_times(&c, count, r.factor);
      break;
    case PER_INPUT:
      known = count_of(input(&c, 0), &count) && add_times(&c, count, r.factor);
      break;
    case SPECIAL:
      known = r.fn(&c);
      break;
  }
  if (!known) return SURG_ENOTFOUND;
  *macs = c.macs;
  *flops = c.flops;
  return SURG_OK;
}
