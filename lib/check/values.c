/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints of operators on their attributes and shapes beyond what inference needs for output
 * types. Only facts that are certain are checked; a shape that fails only during a run is a
 * warning, as other checkers and runtimes accept it. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "check/check.h"
#include "check/forms.h"
#include "infer/infer.h"

/* --- enumerated strings --- */

typedef struct words {
  int op, since, until; /* versions with these words */
  const char *attr;
  const char *const *allowed; /* NULL-terminated */
} words;

static const char *const auto_pad[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "", NULL};
static const char *const rnn[] = {"forward", "reverse", "bidirectional", NULL};
static const char *const shift[] = {"LEFT", "RIGHT", NULL};
static const char *const depth[] = {"DCR", "CRD", NULL};
static const char *const pad[] = {"constant", "reflect", "edge", "wrap", NULL};
static const char *const resize[] = {"nearest", "linear", "cubic", NULL};
static const char *const upsample_1[] = {"nearest", "linear", "bilinear", NULL};
static const char *const coordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
static const char *const nearest[] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "", NULL};
static const char *const aspect[] = {"stretch", "not_larger", "not_smaller", NULL};
static const char *const tfidf[] = {"TF", "IDF", "TFIDF", NULL};
static const char *const grid[] = {"bilinear", "nearest", "bicubic", "linear", "cubic", NULL};
static const char *const border[] = {"zeros", "border", "reflection", NULL};
static const char *const contrib_grid[] = {"bilinear", "nearest", "bicubic", NULL};
static const char *const distance[] = {"euclidean", "sqeuclidean", NULL};
static const char *const experts[] = {"relu", "gelu", "silu", "swiglu", "identity", NULL};
static const char *const scatter[] = {"none", "add", "mul", "max", "min", NULL};
static const char *const roi[] = {"avg", "max", NULL};
static const char *const gelu[] = {"none", "tanh", NULL};
static const char *const rounding[] = {"up", "down", "nearest", NULL};
static const char *const cache[] = {"linear", "circular", NULL};
static const char *const transform[] = {"NONE",         "SOFTMAX", "LOGISTIC",
                                        "SOFTMAX_ZERO", "PROBIT",  NULL};
static const char *const aggregate[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
static const char *const cast_to[] = {"TO_FLOAT", "TO_STRING", "TO_INT64", NULL};
static const char *const map_form[] = {"DENSE", "SPARSE", NULL};

static const words table[] = {
    {SURG_OP_Conv, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_ConvTranspose, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_ConvInteger, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_QLinearConv, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_MaxPool, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_AveragePool, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_LpPool, 1, INT_MAX, "auto_pad", auto_pad},
    {SURG_OP_RNN, 1, INT_MAX, "direction", rnn},
    {SURG_OP_GRU, 1, INT_MAX, "direction", rnn},
    {SURG_OP_LSTM, 1, INT_MAX, "direction", rnn},
    {SURG_OP_BitShift, 1, INT_MAX, "direction", shift},
    {SURG_OP_DepthToSpace, 1, INT_MAX, "mode", depth},
    {SURG_OP_Pad, 1, INT_MAX, "mode", pad},
    {SURG_OP_Resize, 1, INT_MAX, "mode", resize},
    {SURG_OP_Resize, 1, INT_MAX, "coordinate_transformation_mode", coordinates},
    {SURG_OP_Resize, 1, INT_MAX, "nearest_mode", nearest},
    {SURG_OP_Resize, 18, INT_MAX, "keep_aspect_ratio_policy", aspect},
    {SURG_OP_TfIdfVectorizer, 1, INT_MAX, "mode", tfidf},
    {SURG_OP_Upsample, 1, 1, "mode", upsample_1},
    {SURG_OP_Upsample, 7, INT_MAX, "mode", resize},
    {SURG_OP_GridSample, 1, INT_MAX, "mode", grid},
    {SURG_OP_GridSample, 1, INT_MAX, "padding_mode", border},
    {SURG_OP_ScatterElements, 1, INT_MAX, "reduction", scatter},
    {SURG_OP_RoiAlign, 1, INT_MAX, "mode", roi},
    {SURG_OP_Gelu, 1, INT_MAX, "approximate", gelu},
    {SURG_OP_Cast, 24, INT_MAX, "round_mode", rounding},
    {SURG_OP_TensorScatter, 1, INT_MAX, "mode", cache},
    {SURG_OP_ms_GridSample, 1, INT_MAX, "mode", contrib_grid},
    {SURG_OP_ms_GridSample, 1, INT_MAX, "padding_mode", border},
    {SURG_OP_ms_Pad, 1, INT_MAX, "mode", pad},
    {SURG_OP_ms_MoE, 1, INT_MAX, "activation_type", experts},
    {SURG_OP_ms_QMoE, 1, INT_MAX, "activation_type", experts},
    {SURG_OP_ms_CDist, 1, INT_MAX, "metric", distance},
    {SURG_OP_ml_LinearClassifier, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_LinearRegressor, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_SVMClassifier, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_SVMRegressor, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_TreeEnsembleClassifier, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_TreeEnsembleRegressor, 1, INT_MAX, "post_transform", transform},
    {SURG_OP_ml_TreeEnsembleRegressor, 1, INT_MAX, "aggregate_function", aggregate},
    {SURG_OP_ml_CastMap, 1, INT_MAX, "cast_to", cast_to},
    {SURG_OP_ml_CastMap, 1, INT_MAX, "map_form", map_form},
};

void surg__check_bad_value(surg__checker *c, const surg_node *n, const char *attr,
                           const char *value) {
  const bool described = surg__check_has_text(c);
  c->attr = attr;
  surg__check_found(c, "E206", described ? surg__locate_node(n) : NULL,
                    "attribute \"%s\" is %s, which %s-%d does not accept", attr,
                    described ? value : "", n->schema->name, n->schema->since);
}

/* Whether nothing reads the attribute: nearest_mode of a Resize of another mode. */
static bool is_unused(const surg_node *n, const char *const *allowed) {
  const surg_attr *a = allowed == nearest ? surg_node_attr(n, "mode") : NULL;
  return a && !a->ref && a->kind == SURG_ATTR_STRING &&
         !(a->u.s.n == 7 && memcmp(a->u.s.p, "nearest", 7) == 0);
}

static void check_words(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(table); i++) {
    if (table[i].op != n->schema->op) continue;
    if (n->schema->since < table[i].since || n->schema->since > table[i].until) continue;
    const surg_attr *a = surg_node_attr(n, table[i].attr);
    if (!a || a->ref || a->kind != SURG_ATTR_STRING || is_unused(n, table[i].allowed)) continue;
    const char *const *w = table[i].allowed;
    while (*w && !(strlen(*w) == a->u.s.n && memcmp(*w, a->u.s.p, a->u.s.n) == 0)) w++;
    if (!*w) surg__check_bad_value(c, n, table[i].attr, surg__qn(c->ctx, a->u.s.p, a->u.s.n));
  }
}

/* Checks the element type in an attribute of Cast and similar operators. */
static void check_to(surg__checker *c, const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  if (!a || a->ref || a->kind != SURG_ATTR_INT) return;
  const surg__param *p = surg__schema_formal(n->schema, true, 0);
  const bool exists = a->u.i > 0 && a->u.i < SURG_DTYPE_COUNT;
  /* The output of SequenceEmpty is no tensor: its constraint is on sequences. */
  if (exists && (!p || n->schema->op == SURG_OP_SequenceEmpty ||
                 surg__check_allowed(n->schema, p, (int)a->u.i)))
    return;
  char text[64];
  snprintf(text, sizeof text, "%lld%s%s", (long long)a->u.i, exists ? ", " : "",
           exists ? surg__dtype_name((int)a->u.i) : "");
  surg__check_bad_value(c, n, name, text);
}

/* Checks that GroupNormalization computes in a floating-point type. */
static void check_stash(surg__checker *c, const surg_node *n) {
  const int64_t type = surg_node_int(n, "stash_type", SURG_FLOAT);
  char text[32];
  if (type == SURG_FLOAT || type == SURG_FLOAT16 || type == SURG_DOUBLE || type == SURG_BFLOAT16)
    return;
  snprintf(text, sizeof text, "%lld", (long long)type);
  surg__check_bad_value(c, n, "stash_type", text);
}

/* Checks the lengths of n-grams. */
static void check_grams(surg__checker *c, const surg_node *n) {
  const int64_t least = surg_node_int(n, "min_gram_length", 1);
  const int64_t most = surg_node_int(n, "max_gram_length", least);
  char text[64];
  if (least > 0 && most >= least) return;
  snprintf(text, sizeof text, "%lld, %lld", (long long)least, (long long)most);
  surg__check_bad_value(c, n, "min_gram_length, max_gram_length", text);
}

/* --- shapes --- */

static const surg_type *ranked(const surg_node *n, size_t i) {
  const surg_type *t = surg_value_type(surg_node_input(n, i));
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank ? t : NULL;
}

static int64_t dim(const surg_type *t, size_t i) {
  return t && i < t->rank ? t->dims[i].value : -1;
}

/* What no release compares before the node runs. */
static const surg__since unseen = {UINT8_MAX, UINT8_MAX};

static void contradicts(surg__checker *c, const surg_node *n, const char *fmt, ...)
    SURG_PRINTF(3, 4);
static void contradicts(surg__checker *c, const surg_node *n, const char *fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  surg__check_found(c, "W206", surg__check_has_text(c) ? surg__locate_node(n) : NULL, "%s", text);
}

/* Checks that `axis` is within the rank of input 0. */
static void check_axis(surg__checker *c, const surg_node *n, int64_t axis) {
  const surg_type *t = ranked(n, 0);
  if (t && t->rank && (axis < -(int64_t)t->rank || axis >= (int64_t)t->rank))
    contradicts(c, n, "axis %lld is none of input 0, which is of rank %u", (long long)axis,
                t->rank);
}

/* Releases compare it when the node runs. */
static void check_axis_attr(surg__checker *c, const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "axis");
  c->since = unseen;
  if (a && !a->ref && a->kind == SURG_ATTR_INT) check_axis(c, n, a->u.i);
  c->since = (surg__since){0};
}

static void check_axis_input(surg__checker *c, const surg_node *n) {
  int64_t axis;
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  if (t && surg__read_ints(t, &axis, 1) == 1) check_axis(c, n, axis);
}

static void same_rank(surg__checker *c, const surg_node *n, size_t a, size_t b) {
  const surg_type *x = ranked(n, a), *y = ranked(n, b);
  if (!x || !y || x->rank == y->rank) return;
  c->since = unseen;
  contradicts(c, n, "inputs %zu and %zu have ranks %u and %u; %s expects equal ranks", a, b,
              x->rank, y->rank, n->schema->name);
}

/* Checks that input i is a list of `want` elements. */
static void check_length(surg__checker *c, const surg_node *n, size_t i, int64_t want,
                         const char *of) {
  const surg_type *t = ranked(n, i);
  if (!t || want < 0) return;
  if (t->rank != 1 || (dim(t, 0) >= 0 && dim(t, 0) != want))
    contradicts(c, n, "input %zu has another size than the %lld %s", i, (long long)want, of);
}

static void check_one(surg__checker *c, const surg_node *n, size_t i) {
  const surg_type *t = surg_value_type(surg_node_input(n, i));
  uint64_t count;
  if (t && t->kind == SURG_TYPE_TENSOR && surg_type_static(t, &count) && count != 1)
    contradicts(c, n, "input %zu has %llu elements; %s expects one", i, (unsigned long long)count,
                n->schema->name);
}

/* Checks for a scalar. A one-element tensor is computed all the same, but runtimes that read the
 * constant reject it (W224). */
static void check_scalar(surg__checker *c, const surg_node *n, size_t i) {
  const surg_type *t = ranked(n, i);
  const size_t before = c->count;
  if (!surg_value_constant(surg_node_input(n, i))) c->since = unseen;
  check_one(c, n, i);
  c->since = (surg__since){0};
  if (!t || t->rank == 0 || c->count != before || !surg_value_constant(surg_node_input(n, i)))
    return;
  const bool described = surg__check_has_text(c);
  surg__check_found(c, "W224", described ? surg__locate_node(n) : NULL,
                    "input %zu of %s-%d is a scalar; this one has rank %u", i, n->schema->name,
                    n->schema->since, t->rank);
}

/* Checks a Range, of which inference reads constants if all inputs are constant. */
static void check_range(surg__checker *c, const surg_node *n) {
  bool fixed = n->n_in > 0;
  for (size_t i = 0; i < n->n_in; i++)
    fixed = fixed && surg_value_constant(surg_node_input(n, i));
  for (size_t i = 0; i < n->n_in; i++) {
    const surg_tensor *t = fixed ? surg_value_constant(surg_node_input(n, i)) : NULL;
    if (t && surg_tensor_count(t) != 1)
      surg__check_wrong(c, n, "input %zu has %llu elements; Range expects one", i,
                        (unsigned long long)surg_tensor_count(t));
    else
      check_scalar(c, n, i);
  }
}

/* The releases that compare the rank of a list that is not constant. */
static surg__since rank_since(const surg_node *n, size_t i) {
  if (surg_value_constant(surg_node_input(n, i)))
    return n->schema->op == SURG_OP_ConstantOfShape ? unseen : (surg__since){0};
  switch (n->schema->op) {
    case SURG_OP_Expand:
      return (surg__since){15, 17};
    case SURG_OP_Reshape:
    case SURG_OP_ConstantOfShape:
      return (surg__since){0, 26};
    case SURG_OP_Tile:
    case SURG_OP_TopK:
      return unseen;
    default:
      return (surg__since){0};
  }
}

static void check_rank(surg__checker *c, const surg_node *n, size_t i, uint32_t rank) {
  const surg_type *t = ranked(n, i);
  if (!t || t->rank == rank) return;
  c->since = rank_since(n, i);
  contradicts(c, n, "input %zu has rank %u; %s expects rank %u", i, t->rank, n->schema->name, rank);
}

/* The shape of ConstantOfShape: ONNX's own inference rejects the model if it is no list, except a
 * constant, of which it reads the elements alone. */
static void check_shape_input(surg__checker *c, const surg_node *n) {
  const surg_type *t = ranked(n, 0);
  const surg_node *from = surg_value_producer(surg_node_input(n, 0), NULL);
  const bool fixed = surg_value_constant(surg_node_input(n, 0)) != NULL;
  if (t && t->rank != 1 && !fixed && !(from && surg__check_computed(from)))
    surg__check_found(c, "E203", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                      "input 0 has rank %u; ConstantOfShape expects rank 1", t->rank);
  else
    check_rank(c, n, 0, 1);
}

/* Checks that the inputs from index 2 on are `groups` lists of equal length. */
static void check_groups(surg__checker *c, const surg_node *n, uint32_t groups) {
  if (n->n_in < 2 + groups || (n->n_in - 2) % groups)
    contradicts(c, n, "has %u inputs: 2 and %u for each tensor", n->n_in, groups);
}

static void bad_weights(surg__checker *c, const surg_node *n, uint32_t rank) {
  c->since = (surg__since){0, 1};
  contradicts(c, n, "the weights are of rank %u where they are a list", rank);
}

static void check_loss(surg__checker *c, const surg_node *n) {
  const surg_type *x = ranked(n, 0), *target = ranked(n, 1);
  if (x && x->rank < 2)
    contradicts(c, n, "input 0 has rank %u; %s expects at least 2", x->rank, n->schema->name);
  else if (ranked(n, 2) && ranked(n, 2)->rank != 1)
    bad_weights(c, n, ranked(n, 2)->rank);
  else if (!c->overlooked && x && target && target->rank + 1 != x->rank)
    contradicts(c, n, "inputs 0 and 1 are of ranks %u and %u: the second is one less", x->rank,
                target->rank);
}

static void check_norm(surg__checker *c, const surg_node *n, size_t inputs) {
  const int64_t channels = dim(ranked(n, 0), 1);
  const size_t before = c->count; /* report at most one per node */
  if (n->schema->op == SURG_OP_InstanceNormalization) c->since = unseen;
  for (size_t i = 1; i < inputs && c->count == before; i++)
    check_length(c, n, i, channels, "channels of input 0");
  c->since = (surg__since){0};
}

static void check_conv(surg__checker *c, const surg_node *n) {
  const surg_type *w = ranked(n, 1);
  const surg_attr *k = surg_node_attr(n, "kernel_shape");
  if (w && k && !k->ref && k->kind == SURG_ATTR_INTS && k->count + 2 == w->rank)
    for (uint32_t i = 0; i < k->count; i++)
      if (dim(w, i + 2) >= 0 && dim(w, i + 2) != k->u.ints[i]) {
        c->since = unseen;
        contradicts(c, n, "kernel_shape[%u] is %lld where the weights have %lld", i,
                    (long long)k->u.ints[i], (long long)dim(w, i + 2));
        break;
      }
  if (n->schema->op == SURG_OP_Conv) {
    c->since = unseen;
    check_length(c, n, 2, dim(w, 0), "maps of the weights");
    c->since = (surg__since){0};
    return;
  }
  const int64_t channels = dim(ranked(n, 0), 1);
  if (channels < 0 || dim(w, 0) < 0 || channels == dim(w, 0)) return;
  c->since = unseen;
  contradicts(c, n, "input 0 has %lld channels where the weights have %lld", (long long)channels,
                (long long)dim(w, 0));
}

static void check_slice(surg__checker *c, const surg_node *n) {
  const int64_t starts = dim(ranked(n, 1), 0);
  for (size_t i = 2; i < n->n_in && i < 5; i++) {
    const int64_t other = dim(ranked(n, i), 0);
    if (starts < 0 || other < 0 || starts == other) continue;
    c->since = surg__check_since(n);
    contradicts(c, n, "input %zu has %lld elements where starts has %lld", i, (long long)other,
                (long long)starts);
    return;
  }
}

/* Checks the sizes of the updates of ScatterND: those of the indices but the last, then those of
 * the axes of the data that an index does not name. */
static void check_updates(surg__checker *c, const surg_node *n) {
  const surg_type *x = ranked(n, 0), *at = ranked(n, 1), *u = ranked(n, 2);
  const int64_t named = at && at->rank ? dim(at, at->rank - 1) : -1;
  if (!x || !at || !u || !at->rank) return;
  for (uint32_t i = 0; i < u->rank; i++) {
    const bool front = i + 1 < at->rank;
    if (!front && (named < 0 || named > x->rank)) return;
    const int64_t want = front ? dim(at, i) : dim(x, i + 1 - at->rank + (size_t)named);
    if (want < 0 || dim(u, i) < 0 || want == dim(u, i)) continue;
    c->since = unseen;
    contradicts(c, n, "axis %u of the updates has %lld elements where %s has %lld", i,
                (long long)dim(u, i), front ? "that of the indices" : "the data", (long long)want);
    return;
  }
}

#define INDICES 64 /* most indices that are compared */

/* Checks the known indices into an axis of input 0. */
static void check_indices(surg__checker *c, const surg_node *n, int64_t axis) {
  const surg_type *x = ranked(n, 0);
  surg_elem list[INDICES];
  if (!x || axis < -(int64_t)x->rank || axis >= (int64_t)x->rank) return;
  const int64_t size = dim(x, (size_t)(axis < 0 ? axis + x->rank : axis));
  size_t count = 0;
  if (size < 0 || surg_value_elements(surg_node_input(n, 1), list, INDICES, &count) != SURG_OK)
    return;
  for (size_t i = 0; i < count; i++) {
    const int64_t index = list[i].value;
    if (!list[i].known || (index >= -size && index < size)) continue;
    /* Engines notice it when the node runs, or where they follow the elements of both inputs. */
    const bool computed =
        !surg_value_constant(surg_node_input(n, 1)) &&
        surg_value_elements(surg_node_input(n, 0), list, INDICES, NULL) == SURG_OK;
    c->since = (surg__since){computed ? 0 : UINT8_MAX, UINT8_MAX};
    contradicts(c, n, "index %lld is out of range of axis %lld, of size %lld", (long long)index,
                (long long)axis, (long long)size);
    return;
  }
}

static void check_resize(surg__checker *c, const surg_node *n) {
  const surg_type *x = ranked(n, 0);
  if (!surg_node_input(n, 2) && !surg_node_input(n, 3))
    contradicts(c, n, "has neither scales nor sizes");
  if (!x || surg_node_attr(n, "axes")) return;
  for (size_t i = 2; i < 4; i++) {
    const int64_t given = dim(ranked(n, i), 0);
    if (given <= 0 || given == x->rank || c->overlooked) continue;
    if (!surg_value_constant(surg_node_input(n, i)))
      c->since = i == 3 ? (surg__since){17, 18} : unseen;
    contradicts(c, n, "input %zu has %lld elements where input 0 is of rank %u", i,
                (long long)given, x->rank);
  }
}

static const surg_graph *branch(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  return a && a->kind == SURG_ATTR_GRAPH && !a->ref && a->count == 1 ? a->u.graphs[0] : NULL;
}

/* Checks that the branches produce outputs of the same element type. */
static void check_if(surg__checker *c, const surg_node *n) {
  const surg_graph *a = branch(n, "then_branch"), *b = branch(n, "else_branch");
  check_one(c, n, 0);
  for (size_t i = 0; a && b && i < a->n_out && i < b->n_out; i++) {
    const surg_type *x = surg_value_type(a->out[i]->use.value);
    const surg_type *y = surg_value_type(b->out[i]->use.value);
    if (!x || !y || x->kind != SURG_TYPE_TENSOR || y->kind != SURG_TYPE_TENSOR) continue;
    if (!x->dtype || !y->dtype || x->dtype == y->dtype) continue;
    contradicts(c, n, "output %zu is %s of one branch and %s of the other", i,
                surg__dtype_name(x->dtype), surg__dtype_name(y->dtype));
  }
}

static void check_ranks(surg__checker *c, const surg_node *n) {
  switch (n->schema->op) {
    case SURG_OP_Flatten:
      c->since = (surg__since){0, 1};
      if (n->schema->since < 11 && surg_node_int(n, "axis", 1) < 0)
        contradicts(c, n, "axis is negative, which Flatten accepts since opset 11");
      c->since = (surg__since){0};
      break;
    case SURG_OP_Expand:
      check_rank(c, n, 1, 1);
      break;
    case SURG_OP_Reshape:
      if (n->schema->since >= 5) check_rank(c, n, 1, 1);
      break;
    case SURG_OP_Tile:
      if (n->schema->since >= 6) check_rank(c, n, 1, 1);
      break;
    case SURG_OP_ConstantOfShape:
      check_shape_input(c, n);
      break;
    case SURG_OP_MaxUnpool:
      check_rank(c, n, 2, 1);
      break;
    case SURG_OP_TopK:
      if (n->schema->since >= 10) check_rank(c, n, 1, 1);
      break;
    case SURG_OP_GridSample:
      if (n->schema->since < 20) check_rank(c, n, 0, 4);
      break;
    case SURG_OP_NegativeLogLikelihoodLoss:
    case SURG_OP_SoftmaxCrossEntropyLoss:
      check_loss(c, n);
      break;
    case SURG_OP_training_Adagrad:
    case SURG_OP_training_Momentum:
      check_groups(c, n, 3);
      break;
    case SURG_OP_training_Adam:
      check_groups(c, n, 4);
      break;
    default:
      break;
  }
}

/* The index of the first zero in a constant of integers; -1: none, or it cannot be read. */
static int64_t zero_at(const surg_tensor *t) {
  static const unsigned char zeros[8];
  unsigned char part[4096];
  const uint64_t count = t ? surg_tensor_count(t) : 0, bytes = t ? surg_tensor_bytes(t) : 0;
  const size_t width = count ? (size_t)(bytes / count) : 0;
  if (!width || width > sizeof zeros || bytes % width || surg_tensor_is_sparse(t)) return -1;
  for (uint64_t at = 0; at < bytes; at += sizeof part) {
    const size_t n = bytes - at < sizeof part ? (size_t)(bytes - at) : sizeof part;
    if (surg_tensor_read(t, at, part, n) != SURG_OK) return -1;
    for (size_t i = 0; i < n; i += width)
      if (!memcmp(part + i, zeros, width)) return (int64_t)((at + i) / width);
  }
  return -1;
}

static void check_divisor(surg__checker *c, const surg_node *n) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  const int64_t at = t && surg__dtype_is_int(surg_tensor_dtype(t)) ? zero_at(t) : -1;
  if (at < 0) return;
  const bool described = surg__check_has_text(c);
  surg__check_found(c, "W225", described ? surg__locate_node(n) : NULL,
                    "integers are divided by 0, element %lld of input 1", (long long)at);
}

/* Checks the weights of MatMulNBits: N rows of blocks along K, packed into bytes. ONNX Runtime
 * compares constant ones, from 1.30 on. */
static void check_blocks(surg__checker *c, const surg_node *n) {
  const int64_t rows = surg_node_int(n, "N", 0), k = surg_node_int(n, "K", 0),
                bits = surg_node_int(n, "bits", 4), size = surg_node_int(n, "block_size", 0);
  const surg_type *t = surg_value_type(surg_node_input(n, 1));
  const bool sane = rows > 0 && k > 0 && size > 0 && bits > 0 && bits <= 8 && rows < INT32_MAX &&
                    k < INT32_MAX && size < INT32_MAX / 8;
  uint64_t count;
  if (!sane || !t || t->kind != SURG_TYPE_TENSOR || !surg_type_static(t, &count)) return;
  const uint64_t blocks = ((uint64_t)k + (uint64_t)size - 1) / (uint64_t)size;
  const uint64_t bytes = ((uint64_t)size * (uint64_t)bits + 7) / 8;
  if (blocks > UINT64_MAX / bytes / (uint64_t)rows || count == (uint64_t)rows * blocks * bytes)
    return;
  c->since = surg_value_constant(surg_node_input(n, 1)) ? (surg__since){26, 27}
                                                        : (surg__since){UINT8_MAX, UINT8_MAX};
  contradicts(c, n, "input 1 has %llu elements where N, K, bits and block_size make it %llu",
              (unsigned long long)count, (unsigned long long)((uint64_t)rows * blocks * bytes));
}

/* Scale and bias of GroupNormalization have an element for each group, from version 21 on for each
 * channel. */
static void check_groups_norm(surg__checker *c, const surg_node *n) {
  const bool channels = n->schema->since >= 21;
  const int64_t want = channels ? dim(ranked(n, 0), 1) : surg_node_int(n, "num_groups", -1);
  for (size_t i = 1; i < 3; i++) {
    if (channels && dim(ranked(n, i), 0) != 1) c->since = (surg__since){0, 21}; /* 1 broadcasts */
    check_length(c, n, i, want, channels ? "channels" : "groups");
    c->since = (surg__since){0};
  }
}

/* The axes of MeanVarianceNormalization, by default those of an image. */
static void check_mean_axes(surg__checker *c, const surg_node *n) {
  const surg_type *x = ranked(n, 0);
  const surg_attr *a = surg__check_ints(n, "axes");
  static const int64_t usual[] = {0, 2, 3};
  const size_t count = a ? a->count : surg_node_attr(n, "axes") ? 0 : SURG_COUNT(usual);
  const int64_t *axes = a ? a->u.ints : usual;
  for (size_t i = 0; x && i < count; i++) {
    if (axes[i] >= -(int64_t)x->rank && axes[i] < (int64_t)x->rank) continue;
    contradicts(c, n, "axis %lld is none of input 0, which is of rank %u", (long long)axes[i],
                x->rank);
    return;
  }
}

/* Inputs of one element after the first; those of Clip are compared when it runs. */
static void check_scalars(surg__checker *c, const surg_node *n) {
  for (size_t i = 1; i < n->n_in; i++) {
    if (n->schema->op == SURG_OP_Clip) c->since = unseen;
    check_one(c, n, i);
    c->since = (surg__since){0};
  }
}

static void check_shapes(surg__checker *c, const surg_node *n) {
  switch (n->schema->op) {
    case SURG_OP_Softmax:
    case SURG_OP_LogSoftmax:
    case SURG_OP_Hardmax:
    case SURG_OP_LpNormalization:
      check_axis_attr(c, n);
      break;
    case SURG_OP_ms_MatMulNBits:
      check_blocks(c, n);
      break;
    case SURG_OP_Div:
    case SURG_OP_Mod:
      check_divisor(c, n);
      break;
    case SURG_OP_CumSum:
      check_axis_input(c, n);
      break;
    case SURG_OP_Gather:
      check_indices(c, n, surg_node_int(n, "axis", 0));
      break;
    case SURG_OP_GatherElements:
    case SURG_OP_ScatterElements:
      check_axis_attr(c, n);
      same_rank(c, n, 0, 1);
      check_indices(c, n, surg_node_int(n, "axis", 0));
      break;
    case SURG_OP_GroupNormalization:
      check_groups_norm(c, n);
      break;
    case SURG_OP_MeanVarianceNormalization:
      check_mean_axes(c, n);
      break;
    case SURG_OP_BatchNormalization:
      check_norm(c, n, 5);
      break;
    case SURG_OP_InstanceNormalization:
      check_norm(c, n, 3);
      break;
    case SURG_OP_Conv:
    case SURG_OP_ConvTranspose:
      check_conv(c, n);
      break;
    case SURG_OP_Slice:
      if (n->schema->since >= 10) check_slice(c, n);
      break;
    case SURG_OP_ScatterND:
      check_updates(c, n);
      break;
    case SURG_OP_Resize:
      if (n->schema->since >= 11) check_resize(c, n);
      break;
    case SURG_OP_Dropout:
    case SURG_OP_Clip:
      check_scalars(c, n);
      break;
    case SURG_OP_Range:
      check_range(c, n);
      break;
    case SURG_OP_If:
      check_if(c, n);
      break;
    default:
      check_ranks(c, n);
      break;
  }
}

void surg__check_values(surg__checker *c, const surg_node *n) {
  check_words(c, n);
  switch (n->schema->op) {
    case SURG_OP_Cast:
    case SURG_OP_BitCast:
      if (n->schema->since >= 6) check_to(c, n, "to");
      break;
    case SURG_OP_TfIdfVectorizer:
      check_grams(c, n);
      break;
    case SURG_OP_HannWindow:
    case SURG_OP_HammingWindow:
    case SURG_OP_BlackmanWindow:
    case SURG_OP_MelWeightMatrix:
      check_to(c, n, "output_datatype");
      break;
    case SURG_OP_SequenceEmpty:
    case SURG_OP_EyeLike:
    case SURG_OP_RandomNormal:
    case SURG_OP_RandomUniform:
    case SURG_OP_RandomNormalLike:
    case SURG_OP_RandomUniformLike:
    case SURG_OP_Multinomial:
    case SURG_OP_Bernoulli:
      check_to(c, n, "dtype");
      break;
    case SURG_OP_GroupNormalization:
      check_stash(c, n);
      check_shapes(c, n);
      break;
    default:
      check_shapes(c, n);
      break;
  }
}
