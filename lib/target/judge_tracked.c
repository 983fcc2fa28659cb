/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of engines that compute shapes themselves during import, differently from ONNX: OpenCV
 * stores a vector that it computes as a column of a matrix. It also makes one layer of some chains
 * of nodes, and loses attributes there. */
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "ir/ir.h"
#include "schema/text.h"
#include "target/judge.h"

const surg_type *surg__judge_shape(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether the importer knows the rank of a constant: of one that the model has. Cast and Concat
 * keep that of their first input. */
static bool keeps_rank(const surg__judge *j, const surg_value *v) {
  while (v && !surg__judge_elements(j, v)) {
    const surg_node *n = surg_value_producer(v, NULL);
    const bool keeps = n && (surg_node_op(n) == SURG_OP_Cast || surg_node_op(n) == SURG_OP_Concat);
    v = keeps ? surg_node_input(n, 0) : NULL;
  }
  return v != NULL;
}

/* Checks inputs that must not be vectors computed from constants. */
static bool fits_stored(surg__judge *j) {
  for (size_t i = 0; i < j->f->stored.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->stored.items[i], false);
    const surg_type *t = surg__judge_shape(v);
    if (!v || keeps_rank(j, v)) continue;
    if (surg__judge_constant(j, v) == SURG__NO) continue;
    if (t && (surg_type_rank(t) != 1 || surg_type_dim(t, 0)->value == 1)) continue;
    surg__judge_object(j, t ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_CONSTANT, v,
                       "%s is a vector computed from constants; it must be a constant of the model",
                       surg__judge_name(j, v));
    if (t) return false;
  }
  return true;
}

/* Checks constants of which the importer must know the rank. */
static bool fits_ranked(surg__judge *j) {
  for (size_t i = 0; i < j->f->ranked.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->ranked.items[i], false);
    if (!v || surg__judge_constant(j, v) != SURG__YES || keeps_rank(j, v)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "%s is computed from constants; it must be a constant of the model",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* How many inputs of the node that hold v become a layer named after it. */
static size_t layers_of(const surg__judge *j, const surg__tfact *f, const surg_value *v) {
  size_t found = 0;
  for (size_t i = 0; i < f->layers.n; i++) {
    const char *name = f->layers.items[i];
    if (strcmp(name, "*") != 0) {
      found += surg__judge_formal(j, name, false) == v;
      continue;
    }
    for (size_t k = 0; k < surg_node_input_count(j->n); k++) found += surg_node_input(j->n, k) == v;
  }
  return found;
}

/* The same for a node that is not judged now: by the first fact of its operator with layers. */
static size_t layers_elsewhere(const surg__judge *j, const surg_node *n, const surg_value *v) {
  const surg__op_facts *op = surg__target_op(j->t, surg_node_domain(n), surg_node_op_type(n));
  surg__judge other = *j;
  other.n = n;
  other.s = surg_node_schema(n);
  for (size_t i = 0; op && i < op->n; i++)
    if (op->facts[i].layers.n) return layers_of(&other, &op->facts[i], v);
  return 0;
}

/* Checks that no constant of the node becomes a layer twice: the importer rejects the second name.
 */
static bool fits_layers(surg__judge *j) {
  for (size_t i = 0; j->f->layers.n && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (!v || !surg__judge_elements(j, v)) continue;
    size_t layers = layers_of(j, j->f, v);
    for (const surg_use *u = layers ? v->uses : NULL; u && layers < 2; u = u->next)
      if (u->kind == SURG_USE_NODE && u->user.node != j->n)
        layers += layers_elsewhere(j, u->user.node, v);
    if (layers < 2) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "the importer makes a layer of the constant %s, once only; it is read in "
                       "another such place",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Checks inputs that must not come from a Constant node. */
static bool fits_initializers(surg__judge *j) {
  for (size_t i = 0; i < j->f->initializers.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->initializers.items[i], false);
    if (!v || !surg_value_producer(v, NULL) || surg__judge_constant(j, v) != SURG__YES) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       surg__judge_elements(j, v)
                           ? "%s is a Constant node; it must be an initializer"
                           : "%s is computed from constants; it must be an initializer",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Checks constant inputs that must come from a Constant node. */
static bool fits_nodes(surg__judge *j) {
  for (size_t i = 0; i < j->f->nodes.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->nodes.items[i], false);
    if (!v || surg_value_producer(v, NULL) || surg__judge_constant(j, v) != SURG__YES) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "%s is an initializer; it must be a Constant node", surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* The only node that reads the first output, once; NULL: none, or several. The output may also be
 * one of the model. */
static const surg_node *only_reader(const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  const surg_node *found = NULL;
  for (const surg_use *u = v ? v->uses : NULL; u; u = u->next) {
    if (u->kind != SURG_USE_NODE) continue;
    if (found) return NULL;
    found = u->user.node;
  }
  return found;
}

/* Whether a constant of more than one element is repeated otherwise than along axis 1 of `to`. */
static bool is_wide(const surg_tensor *c, const surg_value *to) {
  const surg_type *t = surg__judge_shape(to);
  const size_t rank = surg_tensor_rank(c);
  const int64_t *dims = surg_tensor_dims(c);
  for (size_t i = 0; i < rank; i++)
    if (dims[i] != 1 && (!t || surg_type_rank(t) + i != rank + 1)) return true;
  return false;
}

bool surg__judge_fused(const surg_node *n) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  return surg_node_op(n) == SURG_OP_Add && from && surg_node_op(from) == SURG_OP_MatMul;
}

/* Whether a constant is an operand of another element-wise node, which makes a layer of it. A sum
 * with a product of MatMul does not count: the importer adds it in the layer of the product. */
static bool is_shared(const surg_value *c, const surg_node *n) {
  for (const surg_use *u = c->uses; u; u = u->next) {
    if (u->kind != SURG_USE_NODE || u->user.node == n) continue;
    switch (surg_node_op(u->user.node)) {
      case SURG_OP_Add:
        if (surg__judge_fused(u->user.node)) break;
        const surg_value *v = surg_node_input(u->user.node, 1);
        const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
        if (from && surg_node_op(from) == SURG_OP_MatMul) break;
        return true;
      case SURG_OP_Sub:
      case SURG_OP_Mul:
      case SURG_OP_Div:
      case SURG_OP_Pow:
      case SURG_OP_Max:
      case SURG_OP_Min:
        return true;
      default:
        break;
    }
  }
  return false;
}

/* Checks constants that no element-wise node may read, too. */
static bool fits_unshared(surg__judge *j) {
  for (size_t i = 0; i < j->f->unshared.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->unshared.items[i], false);
    if (!v || !surg__judge_elements(j, v) || !is_shared(v, j->n)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "the importer makes a layer of the constant %s, which an element-wise node "
                       "reads, too",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Whether three nodes Slice read the first output, as where attention splits its operands. */
static bool is_in_thirds(const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  size_t slices = 0;
  for (const surg_use *u = v ? v->uses : NULL; u && slices < 3; u = u->next)
    slices += u->kind == SURG_USE_NODE && surg_node_op(u->user.node) == SURG_OP_Slice;
  return slices == 3;
}

bool surg__judge_form(const char *how) {
  static const char *const forms[] = {"const",  "many", "flat", "wide", "thirds", "joined",
                                      "shared", "mish", "celu", "log",  "norm"};
  for (size_t i = 0; i < SURG_COUNT(forms); i++)
    if (!strcmp(how, forms[i])) return true;
  return false;
}

static const surg_node *made_by(const surg_node *n, size_t i, int op) {
  const surg_value *v = n ? surg_node_input(n, i) : NULL;
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  return from && surg_node_op(from) == op ? from : NULL;
}

/* Whether the node is the Tanh of Mish and the product is not with the input of its Softplus, which
 * may be written as a logarithm. */
static bool is_other_mish(const surg_node *n, const surg_node *product) {
  const surg_node *from = made_by(n, 0, SURG_OP_Softplus);
  for (size_t i = 0; !from && i < 2; i++)
    from = made_by(made_by(made_by(n, 0, SURG_OP_Log), 0, SURG_OP_Add), i, SURG_OP_Exp);
  for (size_t i = 0; from && i < surg_node_input_count(product); i++) {
    const surg_value *v = surg_node_input(product, i);
    if (v != surg_node_output(n, 0) && v != surg_node_input(from, 0)) return true;
  }
  return false;
}

/* Whether the sum is of a constant other than 1, and only a logarithm reads it: not Softplus. */
static bool is_other_softplus(const surg__judge *j, const surg_node *sum) {
  const surg_node *next = only_reader(sum);
  if (!next || surg_node_op(next) != SURG_OP_Log) return false;
  for (size_t i = 0; i < surg_node_input_count(sum); i++) {
    const surg_value *v = surg_node_input(sum, i);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    double one = 1;
    if (c && (surg_tensor_count(c) != 1 || !surg__tensor_reals(c, &one) || one != 1)) return true;
  }
  return false;
}

/* Whether a constant is a vector of the size of the last axis of v. */
static bool is_row_of(const surg__judge *j, const surg_value *c, const surg_value *v) {
  const surg_tensor *t = c ? surg__judge_elements(j, c) : NULL;
  const surg_type *of = surg__judge_shape(v);
  const size_t rank = of ? surg_type_rank(of) : 0;
  return t && rank && surg_tensor_rank(t) == 1 &&
         surg_tensor_dims(t)[0] == surg_type_dim(of, rank - 1)->value;
}

/* Whether the node divides by the root of a mean, with axes as an attribute, as LayerNormalization
 * does, and the product and the sum that follow are not with constant vectors, in this order. */
static bool is_other_norm(const surg__judge *j, const surg_node *n, const surg_node *product) {
  const surg_node *sum = only_reader(product);
  const surg_node *shifted = made_by(made_by(n, 1, SURG_OP_Sqrt), 0, SURG_OP_Add);
  const surg_node *mean = made_by(shifted, 0, SURG_OP_ReduceMean);
  if (!mean) mean = made_by(shifted, 1, SURG_OP_ReduceMean);
  if (!mean || surg_node_input(mean, 1) || !sum || surg_node_op(sum) != SURG_OP_Add) return false;
  const surg_value *y = surg_node_output(n, 0), *bias = surg_node_input(sum, 1);
  if (bias == surg_node_output(product, 0)) bias = surg_node_input(sum, 0);
  return surg_node_input(product, 0) != y || !is_row_of(j, surg_node_input(product, 1), y) ||
         !is_row_of(j, bias, y);
}

/* Whether the reader is of the form that `how` names: "const", it has a constant operand; "many",
 * one of more than one element; "flat", such a one and a result of at most three axes; "wide", such
 * a one that is not repeated along axis 1 alone; "thirds", three nodes Slice read it; "joined", a
 * Reshape alone does; "shared", it has a constant that an element-wise node reads, too; "mish",
 * "celu", "log", "norm": with it and other nodes the importer makes one layer of an activation or
 * normalization that they are not; "": any. */
static bool is_merged(const surg__judge *j, const surg_node *reader, const char *how) {
  if (!how[0]) return true;
  if (!strcmp(how, "thirds")) return is_in_thirds(reader);
  if (!strcmp(how, "mish")) return is_other_mish(j->n, reader);
  if (!strcmp(how, "celu")) return made_by(j->n, 0, SURG_OP_Div) != NULL;
  if (!strcmp(how, "log")) return is_other_softplus(j, reader);
  if (!strcmp(how, "norm")) return is_other_norm(j, j->n, reader);
  if (!strcmp(how, "joined")) {
    const surg_node *next = only_reader(reader);
    return next && surg_node_op(next) == SURG_OP_Reshape;
  }
  for (size_t i = 0; i < surg_node_input_count(reader); i++) {
    const surg_value *v = surg_node_input(reader, i);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    if (c && !strcmp(how, "shared") && is_shared(v, reader)) return true;
    if (!c || !strcmp(how, "shared")) continue;
    if (strcmp(how, "const") != 0 && surg_tensor_count(c) == 1) continue;
    const bool flat = !strcmp(how, "flat");
    const surg_type *t = flat ? surg__judge_shape(surg_node_output(reader, 0)) : NULL;
    if (t && surg_type_rank(t) > 3) continue;
    if (strcmp(how, "wide") != 0 || is_wide(c, surg_node_output(reader, 0))) return true;
  }
  return false;
}

/* Checks that the first input does not come from an operator with which the importer makes one
 * layer of the node. */
static bool fits_after(surg__judge *j) {
  const surg_value *v = j->f->not_after.n ? surg_node_input(j->n, 0) : NULL;
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  for (size_t i = 0; from && i < j->f->not_after.n; i++) {
    const char *name = j->f->not_after.items[i];
    const bool any = !strcmp(name, "*");
    if (!any && (surg_node_domain(from)[0] || strcmp(surg_node_op_type(from), name) != 0)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       any ? "%s is not an input of the model, and may be overwritten"
                           : "the importer makes one layer of the node and the %s before it",
                       any ? surg__judge_name(j, v) : name);
    return false;
  }
  return true;
}

/* The operator of the list that alone reads the first output, in the form that the list names;
 * NULL: none. */
static const char *listed_reader(const surg__judge *j, const surg__tlist *list) {
  const surg_node *reader = list->n ? only_reader(j->n) : NULL;
  for (size_t i = 0; reader && i < list->n; i++) {
    const char *name = list->items[i], *domain = surg_node_domain(reader);
    const char *type = surg_node_op_type(reader);
    const size_t n = strlen(domain);
    if (n && (strncmp(name, domain, n) != 0 || name[n] != '.')) continue;
    const char *at = name + (n ? n + 1 : 0);
    if (strncmp(at, type, strlen(type)) != 0) continue;
    const char *how = at + strlen(type);
    if ((!how[0] || how[0] == '/') && is_merged(j, reader, how + (how[0] == '/'))) return type;
  }
  return NULL;
}

/* Checks that no operator alone reads the first output with which the importer makes one layer of
 * the node, and that one does that makes up for what it computes otherwise. */
static bool fits_before(surg__judge *j) {
  const char *type = listed_reader(j, &j->f->not_before);
  const bool lone = j->f->only_before.n && !listed_reader(j, &j->f->only_before);
  if (!type && !lone) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, surg_node_output(j->n, 0),
                     type ? "the importer makes one layer of the node and the %s that reads it"
                          : "%s alone must read the result",
                     type ? type : j->f->only_before.items[0]);
  return false;
}

static bool is_of_constants(const surg__judge *j, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && surg__judge_constant(j, v) != SURG__YES) return false;
  }
  return true;
}

/* A node of constants alone that reads the value, or what Casts make of it; NULL: none. */
static const surg_node *folded_reader(const surg__judge *j, const surg_value *v, int deep) {
  for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_node(u);
    if (!n || surg_use_get_kind(u) != SURG_USE_NODE || !is_of_constants(j, n)) continue;
    if (surg_node_op(n) != SURG_OP_Cast || !deep) return n;
    n = folded_reader(j, surg_node_output(n, 0), deep - 1);
    if (n) return n;
  }
  return NULL;
}

/* Checks constants that the importer computes, and that it must not use for computing others. */
static bool fits_live(surg__judge *j) {
  const surg_node *n = j->f->live && is_of_constants(j, j->n)
                           ? folded_reader(j, surg_node_output(j->n, 0), 4)
                           : NULL;
  return !n ||
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_FED, surg_node_output(j->n, 0),
                             "%s is computed from constants, and %s reads no others",
                             surg__judge_name(j, surg_node_output(j->n, 0)), surg_node_op_type(n));
}

/* The node of an operator that reads v; NULL: none. */
static const surg_node *reader_of(const surg_value *v, int op) {
  for (const surg_use *u = v ? v->uses : NULL; u; u = u->next)
    if (u->kind == SURG_USE_NODE && surg_node_op(u->user.node) == op) return u->user.node;
  return NULL;
}

/* Whether anything but these two nodes reads v; the second may be NULL. */
static bool is_read_beside(const surg_value *v, const surg_node *a, const surg_node *b) {
  for (const surg_use *u = v->uses; u; u = u->next)
    if (u->kind != SURG_USE_NODE || (u->user.node != a && u->user.node != b)) return true;
  return false;
}

/* A result inside a chain that the importer makes one layer of, though it is read elsewhere: of
 * x / ReduceL2(x), of Exp(x) / ReduceSum(Exp(x)), of x * Tanh(Softplus(x)). NULL: none. */
static const surg_value *shared_in_chain(const surg_node *n) {
  const surg_value *x = surg_node_input(n, 0), *y = surg_node_output(n, 0);
  const surg_node *div = reader_of(y, SURG_OP_Div), *sum = reader_of(y, SURG_OP_ReduceSum);
  const surg_node *mul = reader_of(y, SURG_OP_Mul), *soft = made_by(n, 0, SURG_OP_Softplus);
  switch (surg_node_op(n)) {
    case SURG_OP_ReduceL2:
      if (!div || surg_node_input(div, 0) != x || surg_node_input(div, 1) != y) return NULL;
      return is_read_beside(y, div, NULL) ? y : NULL;
    case SURG_OP_Exp: {
      const surg_value *s = sum && !surg_node_input(sum, 1) ? surg_node_output(sum, 0) : NULL;
      if (!s || !div || surg_node_input(div, 0) != y || surg_node_input(div, 1) != s) return NULL;
      return is_read_beside(y, sum, div) ? y : is_read_beside(s, div, NULL) ? s : NULL;
    }
    case SURG_OP_Tanh:
      if (!soft || !mul ||
          !(surg_node_input(mul, 0) == surg_node_input(soft, 0) ||
            surg_node_input(mul, 1) == surg_node_input(soft, 0)))
        return NULL;
      return is_read_beside(y, mul, NULL) ? y : is_read_beside(x, n, NULL) ? x : NULL;
    default:
      return NULL;
  }
}

static bool fits_chain(surg__judge *j) {
  const surg_value *v = j->f->lone_chain ? shared_in_chain(j->n) : NULL;
  if (!v) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                     "the importer makes one layer of a chain of nodes, inside of which %s is read "
                     "elsewhere, too",
                     surg__judge_name(j, v));
  return false;
}

/* How often nodes read inputs of the model, up to 2. Shapes of fixed size are constants. */
static size_t input_uses(const surg__judge *j, const surg_graph *g) {
  size_t found = 0;
  for (size_t i = 0; i < surg_graph_input_count(g) && found < 2; i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (surg__judge_elements(j, v)) continue;
    for (const surg_use *u = v->uses; u && found < 2; u = u->next)
      found += u->kind == SURG_USE_NODE && surg_node_op(u->user.node) != SURG_OP_Shape &&
               surg_node_op(u->user.node) != SURG_OP_Size;
  }
  return found;
}

/* Whether an input of the model is an operand, and all others are constant. */
static const surg_value *lone_input(const surg__judge *j) {
  const surg_value *found = NULL;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (!v || surg__judge_constant(j, v) == SURG__YES) continue;
    if (found || surg_value_producer(v, NULL)) return NULL;
    found = v;
  }
  return surg_node_input_count(j->n) > 1 ? found : NULL;
}

/* Checks a Concat of an input of the model and constants, which the importer has write to the
 * result: the input, if nothing else reads inputs, is lost there. It does so if one block is after
 * the other in memory. */
static bool fits_lone_input(surg__judge *j) {
  const surg_graph *g = surg_node_graph(j->n);
  const surg_value *v = j->f->no_lone_input && g->kind == SURG_GRAPH_MAIN ? lone_input(j) : NULL;
  const surg_type *t = v ? surg__judge_shape(v) : NULL;
  if (!t || input_uses(j, g) != 1) return true;
  const int64_t rank = (int64_t)surg_type_rank(t), given = surg_node_int(j->n, "axis", 1);
  bool open = false;
  for (int64_t i = 0; i < (given < 0 ? given + rank : given) && i < rank; i++) {
    const int64_t size = surg_type_dim(t, (size_t)i)->value;
    if (size > 1) return true;
    open |= size < 0;
  }
  surg__judge_object(j, open ? SURG__UNKNOWN : SURG__ILLEGAL, SURG__C_PLACE, v,
                     "input %s is read by this node alone, beside constants",
                     surg__judge_name(j, v));
  return open;
}

#define COLUMN_NODES 16 /* element-wise nodes that a result is followed through, at most */

/* A node that uses the shape of v: one that is not element-wise and reads v, or what element-wise
 * nodes make of it. Follows the first such reader of each; NULL: none. */
static const surg_node *shape_user(const surg_value *v) {
  for (size_t left = COLUMN_NODES; v && left; left--) {
    const surg_value *next = NULL;
    for (const surg_use *u = v->uses; u; u = u->next) {
      const surg_node *n = u->kind == SURG_USE_NODE ? u->user.node : NULL;
      const surg_schema *s = n ? surg_node_schema(n) : NULL;
      if (n && (!s || !(s->flags & SURG__OP_ELEMENTWISE))) return n;
      if (n && !next) next = surg_node_output(n, 0);
    }
    v = next;
  }
  return NULL;
}

/* Notes results of one axis of a constant: the importer computes the shape of a matrix. */
static void judge_columns(surg__judge *j) {
  const surg_value *y = surg_node_output(j->n, 0);
  const surg_type *t = surg__judge_shape(y);
  bool column = false, other = false;
  if (!j->f->columns || !t || surg_type_rank(t) != 1) return;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    const surg_type *of = surg__judge_shape(v);
    if (c)
      column |= surg_tensor_rank(c) <= 1;
    else
      other |= of && (surg_type_rank(of) == 0 ||
                      (surg_type_rank(of) == 1 && surg_type_dim(of, 0)->value != 1));
  }
  const surg_node *user = column && other ? shape_user(y) : NULL;
  if (user)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, y,
                       "the importer may read %s as a matrix, and %s uses its shape",
                       surg__judge_name(j, y), surg_node_op_type(user));
}

bool surg__judge_tracked(surg__judge *j) {
  if (!fits_initializers(j) || !fits_nodes(j) || !fits_before(j) || !fits_after(j)) return false;
  if (!fits_unshared(j) || !fits_live(j) || !fits_chain(j)) return false;
  if (!fits_lone_input(j)) return false;
  if (!fits_stored(j) || !fits_ranked(j) || !fits_layers(j)) return false;
  judge_columns(j);
  return surg__judge_open(j);
}
