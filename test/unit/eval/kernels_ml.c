/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of ai.onnx.ml. Scores of classifiers agree with ONNX Runtime where the standard is vague.
 */
#include <stdlib.h>

#include "interpret_rows.h"
#include "../unit.h"

#define ML(n) "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : " #n "]>"

static const interpret_row features[] = {
    {"Scaler: by column and for all",
     "g () => (float[N,M] y, float[N,M] z)"
     "<float[2,2] x = {1, 2, 3, 4}, int64[3] i = {1, 2, 3}> {"
     "y = ai.onnx.ml.Scaler<offset=[1.0, 0.0], scale=[2.0, 0.5]>(x)"
     "z = ai.onnx.ml.Scaler<offset=[1.0], scale=[2.0]>(i) }",
     "float[2,2]: 0 1 4 2\nfloat[3]: 0 2 4"},
    {"Scaler: lists of another length",
     "g () => (float[N] y) <float[3] x = {1, 2, 3}> {"
     "y = ai.onnx.ml.Scaler<offset=[1.0, 0.0], scale=[1.0]>(x) }",
     "!invalid model: a list has neither one entry nor one for each feature"},
    {"Normalizer",
     "g () => (float[N,M] a, float[N,M] b, float[N,M] c)"
     "<float[2,2] x = {3, 4, 0, 0}, float[1,2] y = {1, -3}> {"
     "a = ai.onnx.ml.Normalizer<norm=\"L2\">(x) b = ai.onnx.ml.Normalizer<norm=\"L1\">(y)"
     "c = ai.onnx.ml.Normalizer<norm=\"MAX\">(x) }",
     "float[2,2]: 0.6 0.8 0 0\nfloat[1,2]: 0.25 -0.75\nfloat[2,2]: 0.75 1 0 0"},
    {"Binarizer",
     "g () => (float[N] y, int64[N] z) <float[3] x = {0.5, 0.6, -1}, int64[2] i = {0, 1}> {"
     "y = ai.onnx.ml.Binarizer<threshold=0.5>(x) z = ai.onnx.ml.Binarizer<threshold=0.5>(i) }",
     "float[3]: 0 1 0\nint64[2]: 0 1"},
    {"Imputer: numbers",
     "g () => (float[N,M] y, int64[N] z)"
     "<float[2,2] x = {1, 7, 7, 2}, int64[3] i = {0, 7, 1}> {"
     "y = ai.onnx.ml.Imputer<imputed_value_floats=[-1.0, -2.0], replaced_value_float=7.0>(x)"
     "z = ai.onnx.ml.Imputer<imputed_value_int64s=[9], replaced_value_int64=7>(i) }",
     "float[2,2]: 1 -2 -1 2\nint64[3]: 0 9 1"},
    {"Imputer: NaN",
     "g () => (float[N] y) { a = Constant<value=float[2] {0.0, 1.0}>()"
     "z = Constant<value=float {0.0}>() q = Div(a, z) n = Sub(q, q)"
     "o = Constant<value=float[2] {1.0, 2.0}>() c = Constant<value=bool[2] {1, 0}>()"
     "x = Where(c, o, n)"
     "y = ai.onnx.ml.Imputer<imputed_value_floats=[5.0], replaced_value_float=nan>(x) }",
     "float[2]: 1 5"},
    {"OneHotEncoder",
     "g () => (float[N,M] y, float[N,M] z) <int64[3] x = {2, 5, 1}> {"
     "y = ai.onnx.ml.OneHotEncoder<cats_int64s=[1, 2]>(x)"
     "s = Constant<value_strings=[\"b\", \"\"]>()"
     "z = ai.onnx.ml.OneHotEncoder<cats_strings=[\"a\", \"b\"]>(s) }",
     "float[3,2]: 0 1 0 0 1 0\nfloat[2,2]: 0 1 0 0"},
    {"OneHotEncoder: an unknown category",
     "g () => (float[N,M] y) <int64[1] x = {5}> {"
     "y = ai.onnx.ml.OneHotEncoder<cats_int64s=[1, 2], zeros=0>(x) }",
     "!invalid model: an element is in no category"},
    {"ArrayFeatureExtractor",
     "g () => (int64[N,M] y, string[N,M] z)"
     "<int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64[2] i = {2, 0}> {"
     "y = ai.onnx.ml.ArrayFeatureExtractor(x, i) s = Constant<value_strings=[\"a\", \"b\", "
     "\"c\"]>()"
     "z = ai.onnx.ml.ArrayFeatureExtractor(s, i) }",
     "int64[2,2]: 3 1 6 4\nstring[1,2]: \"c\" \"a\""},
    {"ArrayFeatureExtractor: out of range",
     "g () => (int64[N,M] y)"
     "<int64[1,3] x = {1, 2, 3}, int64[1] i = {3}> { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }",
     "!invalid model: an index is out of range"},
    {"FeatureVectorizer cuts and fills",
     "g () => (float[N,M] y)"
     "<float[2,3] a = {1, 2, 3, 4, 5, 6}, float[2,1] b = {7, 8}> {"
     "y = ai.onnx.ml.FeatureVectorizer<inputdimensions=[2, 2]>(a, b) }",
     "float[2,4]: 1 2 7 0 4 5 8 0"},
};

static const interpret_row labels[] = {
    {"LabelEncoder-1",
     ML(1) "g () => (int64[N] y, string[N] z) <int64[2] i = {1, 9}> {"
           "s = Constant<value_strings=[\"b\", \"x\"]>()"
           "y = ai.onnx.ml.LabelEncoder<classes_strings=[\"a\", \"b\"]>(s)"
           "z = ai.onnx.ml.LabelEncoder<classes_strings=[\"a\", \"b\"], default_string=\"?\">(i) }",
     "int64[2]: 1 -1\nstring[2]: \"b\" \"?\""},
    {"LabelEncoder-2: of equal keys the first",
     ML(2) "g () => (float[N] y) <int64[3] i = {3, 1, 2}> {"
           "y = ai.onnx.ml.LabelEncoder<keys_int64s=[3, 1, 3], values_floats=[0.5, 1.5, 2.5],"
           "default_float=9.0>(i) }",
     "float[3]: 0.5 1.5 9"},
    {"LabelEncoder-4: tensors, NaN is a key",
     "g () => (double[N] y) <double[2] x = {1, 2}> {"
     "z = Constant<value=double[2] {0.0, 1.0}>() q = Sub(x, x) n = Div(q, q)"
     "c = Constant<value=bool[2] {1, 0}>() v = Where(c, n, x)"
     "y = ai.onnx.ml.LabelEncoder<keys_tensor=double[2] {2.0, nan},"
     "values_tensor=double[2] {20.0, 30.0}, default_tensor=double[1] {-1.0}>(v) }",
     "double[2]: 30 20"},
    {"LabelEncoder: keys without values",
     "g () => (int64[N] y) <int64[1] i = {3}> {"
     "y = ai.onnx.ml.LabelEncoder<keys_int64s=[3, 1], values_int64s=[1]>(i) }",
     "!invalid model: there is not one value for each key"},
    {"CategoryMapper",
     "g () => (string[N] y, int64[N] z) <int64[2] i = {7, 8}> {"
     "y = ai.onnx.ml.CategoryMapper<cats_int64s=[7], cats_strings=[\"x\"]>(i)"
     "z = ai.onnx.ml.CategoryMapper<cats_int64s=[7], cats_strings=[\"x\"], default_int64=0>(y) }",
     "string[2]: \"x\" \"_Unused\"\nint64[2]: 7 0"},
    {"ZipMap",
     "g () => (seq(map(int64, float)) y, seq(map(string, float)) z) "
     "<float[2,2] x = {1, 2, 3, 4}, float[2] v = {5, 6}> {"
     "y = ai.onnx.ml.ZipMap<classlabels_int64s=[10, 20]>(x)"
     "z = ai.onnx.ml.ZipMap<classlabels_strings=[\"a\", \"b\"]>(v) }",
     "[{int64[2]: 10 20; float[2]: 1 2}; {int64[2]: 10 20; float[2]: 3 4}]\n"
     "[{string[2]: \"a\" \"b\"; float[2]: 5 6}]"},
    {"ZipMap: another number of labels",
     "g () => (seq(map(int64, float)) y) <float[1,3] x = {1,2,3}>"
     "{ y = ai.onnx.ml.ZipMap<classlabels_int64s=[10, 20]>(x) }",
     "!invalid model: there is not one label for each column"},
};

#define BINARY "coefficients=[1.0, -1.0], intercepts=[0.5], classlabels_ints=[3, 4]"
#define SVC \
  "kernel_type=\"RBF\", kernel_params=[0.5, 0.0, 0.0], support_vectors=[0.0, 0.0, 1.0, 1.0]"

static const interpret_row linear[] = {
    {"LinearRegressor",
     "g () => (float[N,M] y, float[N,M] z) <float[2,2] x = {1, 2, 0, 0}> {"
     "y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 0.0, -1.0], intercepts=[0.5, 0.0],"
     "targets=2>(x) z = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 1.0]>(x) }",
     "float[2,2]: 5.5 -2 0.5 0\nfloat[2,1]: 3 0"},
    {"LinearRegressor: coefficients that do not fit",
     "g () => (float[N,M] y) <float[1,2] x = {1, 2}>"
     "{ y = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0, 3.0]>(x) }",
     "!invalid model: the coefficients do not fit the input"},
    {"LinearClassifier: one score of two classes",
     "g () => (int64[N] y, float[N,M] z)"
     "<float[2,2] x = {1, 1, 0, 2}> { y, z = ai.onnx.ml.LinearClassifier<" BINARY ">(x) }",
     "int64[2]: 4 3\nfloat[2,2]: 0.5 0.5 2.5 -1.5"},
    {"LinearClassifier: logistic of one score",
     "g () => (int64[N] y, float[N,M] z)"
     "<float[1,2] x = {0, 2}> {"
     "y, z = ai.onnx.ml.LinearClassifier<" BINARY ", post_transform=\"LOGISTIC\">(x) }",
     "int64[1]: 3\nfloat[1,2]: 0.817575 0.182426"},
    {"LinearClassifier: the first of equal ones",
     "g () => (string[N] y, float[N,M] z)"
     "<float[2] x = {1, 1}> { y, z = ai.onnx.ml.LinearClassifier<coefficients=[1.0, 0.0, 0.0, 1.0],"
     "classlabels_strings=[\"a\", \"b\"], post_transform=\"SOFTMAX\">(x) }",
     "string[1]: \"a\"\nfloat[1,2]: 0.5 0.5"},
    {"SVMRegressor",
     "g () => (float[N,M] y, float[N,M] z) <float[2,2] x = {0, 0, 1, 1}> {"
     "y = ai.onnx.ml.SVMRegressor<" SVC ", coefficients=[1.0, -2.0], rho=[0.5], n_supports=2>(x)"
     "z = ai.onnx.ml.SVMRegressor<coefficients=[1.0, -2.0], rho=[0.5], one_class=1>(x) }",
     "float[2,1]: 0.764241 -1.13212\nfloat[2,1]: 1 -1"},
    {"SVMClassifier: two classes",
     "g () => (int64[N] y, float[N,M] z) <float[2,2] x = {0, 0, 1, 1}>"
     "{ y, z = ai.onnx.ml.SVMClassifier<" SVC ", coefficients=[1.0, -1.0], rho=[0.0],"
     "vectors_per_class=[1, 1], classlabels_ints=[5, 6]>(x) }",
     "int64[2]: 5 6\nfloat[2,2]: -0.632121 0.632121 0.632121 -0.632121"},
    {"SVMClassifier: lists that do not fit",
     "g () => (int64[N] y, float[N,M] z) <float[1,2] x = {0, 0}>"
     "{ y, z = ai.onnx.ml.SVMClassifier<" SVC ", coefficients=[1.0], rho=[0.0],"
     "vectors_per_class=[1, 1], classlabels_ints=[5, 6]>(x) }",
     "!invalid model: the lists of the classifier do not fit each other"},
    {"SVMClassifier: vectors_per_class out of range",
     "g () => (int64[N] y, float[N,M] z) <float[1,2] x = {0, 0}>"
     "{ y, z = ai.onnx.ml.SVMClassifier<" SVC ", coefficients=[1.0], rho=[0.0],"
     "vectors_per_class=[-1, 9223372036854775807], classlabels_ints=[5, 6]>(x) }",
     "!invalid model: vectors_per_class is out of range"},
};

/* One tree: feature 0 against 1, then feature 1 against 2 on the false side. */
#define TREE(mode)                                                                      \
  "nodes_treeids=[0,0,0,0,0], nodes_nodeids=[0,1,2,3,4], nodes_featureids=[0,0,1,0,0]," \
  "nodes_values=[1.0, 0.0, 2.0, 0.0, 0.0], nodes_modes=[\"BRANCH_" mode                 \
  "\", \"LEAF\", \"BRANCH_" mode                                                        \
  "\", \"LEAF\", \"LEAF\"],"                                                            \
  "nodes_truenodeids=[1,0,3,0,0], nodes_falsenodeids=[2,0,4,0,0],"
#define TARGETS                                                         \
  "target_treeids=[0,0,0], target_nodeids=[1,3,4], target_ids=[0,0,0]," \
  "target_weights=[10.0, 20.0, 30.0]"
#define X "<float[3,2] x = {1, 0, 2, 2, 2, 3}>"

static const interpret_row trees[] = {
    {"TreeEnsembleRegressor",
     ML(1) "g () => (float[N,M] y, float[N,M] z)" X "{"
           "y = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LEQ") TARGETS
     ", n_targets=1>(x)"
     "z = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LT") TARGETS ", base_values=[0.5]>(x) }",
     "float[3,1]: 10 20 30\nfloat[3,1]: 20.5 30.5 30.5"},
    {"TreeEnsembleRegressor: other tests",
     ML(3) "g () => (float[N,M] a, float[N,M] b, float[N,M] c)" X
           "{ a = ai.onnx.ml.TreeEnsembleRegressor<" TREE("GTE") TARGETS
     ">(x)"
     "b = ai.onnx.ml.TreeEnsembleRegressor<" TREE("EQ") TARGETS
     ">(x)"
     "c = ai.onnx.ml.TreeEnsembleRegressor<" TREE("NEQ") TARGETS ">(x) }",
     "float[3,1]: 10 10 10\nfloat[3,1]: 10 20 30\nfloat[3,1]: 20 10 10"},
    {"NaN goes to the false side, or where missing values go",
     ML(3) "g () => (float[N,M] y, float[N,M] z) <float[1,2] o = {0, 0}> { n = Div(o, o)"
           "y = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LEQ") TARGETS
     ">(n)"
     "z = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LEQ") TARGETS
     ", nodes_missing_value_tracks_true=[1,0,0,0,0]>(n) }",
     "float[1,1]: 30\nfloat[1,1]: 10"},
    {"a branch that leads nowhere",
     ML(3) "g () => (float[N,M] y) <float[1,1] x = {1}> {"
           "y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids=[0,0], nodes_nodeids=[0,1],"
           "nodes_featureids=[0,0], nodes_values=[1.0,0.0], nodes_modes=[\"BRANCH_LEQ\",\"LEAF\"],"
           "nodes_truenodeids=[1,0], nodes_falsenodeids=[7,0], target_treeids=[0], "
           "target_nodeids=[1],"
           "target_ids=[0], target_weights=[1.0]>(x) }",
     "!invalid model: a branch leads nowhere"},
    {"a tree without a leaf",
     ML(3) "g () => (float[N,M] y) <float[1,1] x = {1}> {"
           "y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2],"
           "nodes_featureids=[0,0,0], nodes_values=[1.0,0.0,0.0],"
           "nodes_modes=[\"BRANCH_LEQ\",\"BRANCH_LEQ\",\"BRANCH_LEQ\"],"
           "nodes_truenodeids=[1,2,1], nodes_falsenodeids=[1,2,1], target_treeids=[0],"
           "target_nodeids=[1], target_ids=[0], target_weights=[1.0]>(x) }",
     "!invalid model: a tree has no end"},
    {"a feature the input has not",
     ML(3) "g () => (float[N,M] y) <float[1,1] x = {1}> {"
           "y = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LEQ") TARGETS ">(x) }",
     "!invalid model: a node looks at a feature the input has not"},
    {"a target out of range",
     ML(3) "g () => (float[N,M] y)" X "{"
           "y = ai.onnx.ml.TreeEnsembleRegressor<" TREE(
               "LEQ") "target_treeids=[0], target_nodeids=[1],"
                      "target_ids=[1], target_weights=[1.0]>(x) }",
     "!invalid model: a weight belongs to no target"},
    {"a node that stands twice",
     ML(3) "g () => (float[N,M] y)" X "{"
           "y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids=[0,0], nodes_nodeids=[1,1],"
           "nodes_featureids=[0,0], nodes_values=[1.0,0.0], nodes_modes=[\"LEAF\",\"LEAF\"],"
           "nodes_truenodeids=[0,0], nodes_falsenodeids=[0,0], " TARGETS ">(x) }",
     "!invalid model: a node is repeated"},
    {"TreeEnsembleClassifier: three classes",
     ML(1) "g () => (string[N] y, float[N,M] z)" X "{"
           "y, z = ai.onnx.ml.TreeEnsembleClassifier<" TREE(
               "LEQ") "class_treeids=[0,0,0], class_nodeids=[1,3,4], class_ids=[0,1,2],"
                      "class_weights=[1.0, 1.0, 1.0], classlabels_strings=[\"a\",\"b\",\"c\"],"
                      "base_values=[0.0, 0.0, 2.0]>(x) }",
     "string[3]: \"c\" \"c\" \"c\"\nfloat[3,3]: 1 0 2 0 1 2 0 0 3"},
    {"TreeEnsembleClassifier: weights of one of two classes",
     ML(1) "g () => (int64[N] y, float[N,M] z)" X "{"
           "y, z = ai.onnx.ml.TreeEnsembleClassifier<" TREE(
               "LEQ") "class_treeids=[0,0,0], class_nodeids=[1,3,4], class_ids=[0,0,0],"
                      "class_weights=[0.25, 0.5, 0.75], classlabels_int64s=[0, 1]>(x) }",
     "int64[3]: 0 0 1\nfloat[3,2]: 0.75 0.25 0.5 0.5 0.25 0.75"},
    {"TreeEnsembleClassifier: weights below zero",
     ML(1) "g () => (int64[N] y, float[N,M] z)" X "{"
           "y, z = ai.onnx.ml.TreeEnsembleClassifier<" TREE(
               "LEQ") "class_treeids=[0,0,0], class_nodeids=[1,3,4], class_ids=[0,0,0],"
                      "class_weights=[-1.0, 0.0, 1.0], classlabels_int64s=[0, 1], "
                      "post_transform=\"LOGISTIC\">(x) }",
     "int64[3]: 0 0 1\nfloat[3,2]: 0.731059 0.268941 0.5 0.5 0.268941 0.731059"},
    {"TreeEnsembleClassifier: a single class", ML(1) "g () => (int64[N] y, float[N,M] z)" X
     "{ y, z = ai.onnx.ml.TreeEnsembleClassifier<" TREE("LEQ")
     "class_treeids=[0], class_nodeids=[1], class_ids=[0], class_weights=[1.0],"
     "classlabels_int64s=[7]>(x) }",
     "int64[3]: 7 7 7\nfloat[3,1]: 1 0 0"},
    {"TreeEnsemble: sets and leaves",
     "g () => (double[N,M] y) <double[3,1] x = {1, 4, 5}> {"
     "y = ai.onnx.ml.TreeEnsemble<n_targets=2, tree_roots=[0], nodes_modes=uint8[2] {6, 0},"
     "nodes_featureids=[0, 0], nodes_splits=double[2] {0.0, 4.5},"
     "membership_values=double[3] {1.0, 2.0, nan},"
     "nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1], nodes_falsenodeids=[1, 2],"
     "nodes_falseleafs=[0, 1], leaf_targetids=[0, 1, 1], leaf_weights=double[3] {1.5, 2.5, 3.5}>(x)"
     "}",
     "double[3,2]: 1.5 0 0 2.5 0 3.5"},
    {"TreeEnsemble: a set that is missing",
     "g () => (double[N,M] y) <double[1,1] x = {1}> {"
     "y = ai.onnx.ml.TreeEnsemble<tree_roots=[0], nodes_modes=uint8[1] {6},"
     "nodes_featureids=[0], nodes_splits=double[1] {0.0}, nodes_truenodeids=[0],"
     "nodes_trueleafs=[1], nodes_falsenodeids=[0], nodes_falseleafs=[1],"
     "leaf_targetids=[0], leaf_weights=double[1] {1.5}>(x) }",
     "!invalid model: a node has no set of members"},
    {"no rows",
     ML(1) "g () => (float[N,M] y) <float[0,2] x = {}> {"
           "y = ai.onnx.ml.TreeEnsembleRegressor<" TREE("LEQ") TARGETS ">(x) }",
     "float[0,1]:"},
};

START_TEST(test_features) {
  INTERPRET_CHECK(features);
}
END_TEST

START_TEST(test_labels) {
  INTERPRET_CHECK(labels);
}
END_TEST

START_TEST(test_linear) {
  INTERPRET_CHECK(linear);
}
END_TEST

START_TEST(test_trees) {
  INTERPRET_CHECK(trees);
}
END_TEST

START_TEST(test_starved) {
  INTERPRET_STARVE(features);
  INTERPRET_STARVE(labels);
  INTERPRET_STARVE(linear);
  INTERPRET_STARVE(trees);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_ml");
  TCase *c = tcase_create("all");
  tcase_add_test(c, test_features);
  tcase_add_test(c, test_labels);
  tcase_add_test(c, test_linear);
  tcase_add_test(c, test_trees);
  tcase_add_test(c, test_starved);
  suite_add_tcase(s, c);
  return unit_run(s);
}
