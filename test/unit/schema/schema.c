/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table as the library sees it: look-ups, arities, defaults, flags. That the table
 * itself is complete is the matter of schema_facts.py. */
#include "schema/schema.h"
#include "../unit.h"

#include <onnxsurg/precision.h>

#include <stdlib.h>

START_TEST(finds_the_version_in_force) {
  ck_assert_ptr_null(surg_schema_find("", "Add", 0));
  ck_assert_int_eq(surg_schema_since(surg_schema_find("", "Add", 1)), 1);
  ck_assert_int_eq(surg_schema_since(surg_schema_find("", "Add", 6)), 6);
  ck_assert_int_eq(surg_schema_since(surg_schema_find("", "Add", 12)), 7);
  ck_assert_int_eq(surg_schema_since(surg_schema_find("", "Add", 13)), 13);
  ck_assert_ptr_null(surg_schema_find("", "Add", surg_schema_newest("") + 1));
  ck_assert_ptr_null(surg_schema_find("", "Add", INT64_MAX));
  ck_assert_ptr_null(surg_schema_find("", "Add", -1));
  ck_assert_ptr_null(surg_schema_find("", "Trilu", 13));
  ck_assert_ptr_nonnull(surg_schema_find("", "Trilu", 14));
}
END_TEST

START_TEST(knows_domains) {
  ck_assert_ptr_eq(surg_schema_find("ai.onnx", "Relu", 14), surg_schema_find("", "Relu", 14));
  ck_assert_ptr_eq(surg_schema_find(NULL, "Relu", 14), surg_schema_find("", "Relu", 14));
  ck_assert_ptr_null(surg_schema_find("ai.onnx.ml", "Relu", 14));
  ck_assert_ptr_null(surg_schema_find("", "TreeEnsemble", 28));
  const surg_schema *s = surg_schema_find("ai.onnx.ml", "TreeEnsemble", 5);
  ck_assert_ptr_nonnull(s);
  ck_assert_str_eq(surg_schema_domain(s), "ai.onnx.ml");
  ck_assert_int_eq(surg_schema_op(s), SURG_OP_ml_TreeEnsemble);
  ck_assert_int_eq(surg_schema_newest(""), 28);
  ck_assert_int_eq(surg_schema_newest("ai.onnx"), 28);
  ck_assert_int_eq(surg_schema_newest("ai.onnx.ml"), 5);
  ck_assert_int_eq(surg_schema_newest("com.microsoft"), 1);
  ck_assert_int_eq(surg_schema_newest("com.example"), 0);
  ck_assert_ptr_null(surg_schema_find("", "", 28));
  ck_assert_ptr_null(surg_schema_find("", "relu", 28));
  ck_assert_ptr_null(surg_schema_find("", NULL, 28));
}
END_TEST

/* Every row is found by its own name at its own version, so the slots hold every operator. */
START_TEST(finds_every_row) {
  int versions = 0;
  for (size_t i = 0; i < surg__schema_count; i++) {
    const surg_schema *s = &surg__schemas[i];
    ck_assert_ptr_eq(surg_schema_find(s->domain, s->name, s->since), s);
    ck_assert_str_eq(surg__op_name(s->op), s->name);
    ck_assert_uint_le(s->min_in, s->max_in);
    ck_assert_uint_le(s->min_out, s->max_out);
    ck_assert_int_gt(s->op, SURG_OP_UNKNOWN);
    ck_assert_int_lt(s->op, SURG_OP_COUNT);
    versions++;
  }
  ck_assert_int_eq(versions, 642 + 87);
  ck_assert_ptr_null(surg__op_name(SURG_OP_UNKNOWN));
  ck_assert_ptr_null(surg__op_name(SURG_OP_COUNT));
  ck_assert_ptr_null(surg__op_name(-1));
}
END_TEST

START_TEST(says_arities) {
  const surg_schema *s = surg_schema_find("", "Concat", 13);
  ck_assert_uint_eq(surg_schema_min_inputs(s), 1);
  ck_assert_uint_eq(surg_schema_max_inputs(s), SIZE_MAX);
  ck_assert(s->flags & SURG__OP_VARIADIC_IN);
  ck_assert(!(s->flags & SURG__OP_VARIADIC_OUT));
  s = surg_schema_find("", "Loop", 11);
  ck_assert_uint_eq(surg_schema_min_inputs(s), 2);
  ck_assert(!s->inputs[2].homogeneous);
  s = surg_schema_find("", "LSTM", 14);
  ck_assert_uint_eq(surg_schema_min_inputs(s), 3);
  ck_assert_uint_eq(surg_schema_max_inputs(s), 8);
  ck_assert_uint_eq(surg_schema_min_outputs(s), 0);
  ck_assert_uint_eq(surg_schema_max_outputs(s), 3);
  ck_assert_int_eq(s->inputs[3].option, SURG__OPTIONAL);
  ck_assert_str_eq(s->inputs[4].type, "T1");
}
END_TEST

START_TEST(says_attributes) {
  const surg_schema *s = surg_schema_find("", "Gemm", 13);
  const surg__attr_def *a = surg__schema_attr(s, "alpha");
  ck_assert_ptr_nonnull(a);
  ck_assert_int_eq(a->kind, SURG_ATTR_FLOAT);
  ck_assert(a->has_default);
  ck_assert_float_eq(a->f, 1.0f);
  ck_assert_ptr_null(surg__schema_attr(s, "broadcast"));
  ck_assert_ptr_nonnull(surg__schema_attr(surg_schema_find("", "Gemm", 6), "broadcast"));
  a = surg__schema_attr(surg_schema_find("", "Concat", 13), "axis");
  ck_assert(a->required);
  ck_assert(!a->has_default);
  a = surg__schema_attr(surg_schema_find("", "Clip", 6), "max");
  ck_assert_float_eq(a->f, 3.402823466e+38f);
  a = surg__schema_attr(surg_schema_find("", "Conv", 11), "auto_pad");
  ck_assert_str_eq(a->s, "NOTSET");
  a = surg__schema_attr(surg_schema_find("", "MeanVarianceNormalization", 13), "axes");
  ck_assert_uint_eq(a->n, 3);
  ck_assert_int_eq(a->ints[2], 3);
  a = surg__schema_attr(surg_schema_find("", "RNN", 14), "activations");
  ck_assert_uint_eq(a->n, 2);
  ck_assert_str_eq(a->strings[1], "Tanh");
  ck_assert_ptr_null(surg__schema_attr(NULL, "axis"));
}
END_TEST

START_TEST(says_types) {
  const surg_schema *s = surg_schema_find("", "Abs", 6);
  ck_assert_uint_eq(s->n_params, 1);
  ck_assert_str_eq(s->params[0].name, "T");
  ck_assert_uint_eq(s->params[0].tensor_mask >> SURG_INT8 & 1, 1);
  ck_assert_uint_eq(s->params[0].tensor_mask >> SURG_BFLOAT16 & 1, 0);
  ck_assert_uint_eq(s->params[0].tensor_mask >> SURG_STRING & 1, 0);
  ck_assert_str_eq(s->params[0].types[0], "tensor(float)");
  s = surg_schema_find("", "ArgMax", 13);
  ck_assert_str_eq(s->outputs[0].type, "tensor(int64)");
}
END_TEST

START_TEST(says_flags) {
  ck_assert(surg_schema_find("", "Add", 7)->flags & SURG__OP_COMMUTATIVE);
  ck_assert(!(surg_schema_find("", "Add", 6)->flags & SURG__OP_COMMUTATIVE));
  ck_assert(!(surg_schema_find("", "Sub", 14)->flags & SURG__OP_COMMUTATIVE));
  ck_assert(surg_schema_find("", "If", 11)->flags & SURG__OP_CONTROL_FLOW);
  ck_assert(!(surg_schema_find("", "If", 11)->flags & SURG__OP_NONDETERMINISTIC));
  ck_assert(surg_schema_find("", "RandomNormal", 1)->flags & SURG__OP_NONDETERMINISTIC);
  ck_assert(surg_schema_find("", "Dropout", 12)->flags & SURG__OP_TRAINING_MODE);
  ck_assert(!(surg_schema_find("", "Dropout", 7)->flags & SURG__OP_TRAINING_MODE));
  ck_assert(surg_schema_find("", "Transpose", 1)->flags & SURG__OP_DATA_MOVER);
  ck_assert(surg_schema_deprecated(surg_schema_find("", "Upsample", 10)));
  ck_assert(!surg_schema_deprecated(surg_schema_find("", "Upsample", 9)));
  ck_assert(surg_schema_find("", "Celu", 12)->flags & SURG__OP_HAS_BODY);
}
END_TEST

START_TEST(says_what_narrows) {
  surg_context *ctx = surg_context_new(NULL);
  surg_model *m = surg_model_new(ctx, 8, 17);
  const surg_type *t = surg_type_tensor_unranked(m, SURG_FLOAT);
  const surg_type *seq = surg_type_wrap(m, SURG_TYPE_SEQUENCE, t);
  const surg_schema *nms = surg_schema_find("", "NonMaxSuppression", 11);
  ck_assert_int_eq(surg_schema_narrow(surg_schema_find("", "MatMul", 13)), SURG_NARROW_GAIN);
  ck_assert_int_eq(surg_schema_narrow(surg_schema_find("", "Softmax", 13)), SURG_NARROW_WIDE);
  ck_assert_int_eq(surg_schema_narrow(surg_schema_find("", "Relu", 13)), SURG_NARROW_ANY);
  ck_assert_int_eq(surg_schema_narrow(NULL), SURG_NARROW_ANY);
  ck_assert(surg_schema_fits_word(surg_schema_find("", "Add", 14)));
  ck_assert(surg_schema_fits_word(surg_schema_find("", "Range", 11)));
  ck_assert(surg_schema_fits_word(surg_schema_find("", "Gather", 13)));
  ck_assert(!surg_schema_fits_word(surg_schema_find("", "ReduceMean", 13)));
  ck_assert(!surg_schema_fits_word(surg_schema_find("", "ReduceMax", 13)));
  ck_assert_int_eq(surg_schema_narrow(surg_schema_find("", "Range", 11)), SURG_NARROW_WIDE);
  ck_assert_int_eq(surg_schema_narrow(surg_schema_find("", "EyeLike", 22)), SURG_NARROW_RARE);
  ck_assert(surg_schema_clamps(surg_schema_find("", "Slice", 13), 2));
  ck_assert(!surg_schema_clamps(surg_schema_find("", "Slice", 13), 0));
  ck_assert(surg_schema_accepts(nms, false, 0, t, SURG_FLOAT));
  ck_assert(!surg_schema_accepts(nms, false, 0, t, SURG_FLOAT16));
  ck_assert(!surg_schema_accepts(nms, false, 9, t, SURG_FLOAT));
  const surg_schema *at = surg_schema_find("", "SequenceAt", 11);
  ck_assert(surg_schema_accepts(at, false, 0, seq, SURG_FLOAT16));
  ck_assert(!surg_schema_accepts(at, false, 0, t, SURG_FLOAT16));
  ck_assert(!surg_schema_accepts(at, false, 0, seq, SURG_BFLOAT16));
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* Ids are part of the ABI; the ends and a middle of the list pin its order. */
START_TEST(ids_stay) {
  ck_assert_int_eq(SURG_OP_Abs, 1);
  ck_assert_int_eq(SURG_OP_If, 80);
  ck_assert_int_eq(SURG_OP_Xor, 203);
  ck_assert_int_eq(SURG_OP_ml_ZipMap, 222);
  ck_assert_int_eq(SURG_OP_training_Momentum, 227);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schema");
  TCase *c = tcase_create("table");
  tcase_add_test(c, finds_the_version_in_force);
  tcase_add_test(c, knows_domains);
  tcase_add_test(c, finds_every_row);
  tcase_add_test(c, says_arities);
  tcase_add_test(c, says_attributes);
  tcase_add_test(c, says_types);
  tcase_add_test(c, says_flags);
  tcase_add_test(c, says_what_narrows);
  tcase_add_test(c, ids_stay);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
