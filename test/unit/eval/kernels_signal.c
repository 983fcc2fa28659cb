/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of signals, selection, text counts, random numbers and training, against results worked
 * out by hand. */
#include "base/base.h"
#include "kernel_rows.h"

#define TRAINING "ai.onnx.preview.training:"

static const kernel_row signal_rows[] = {
    {"DFT", 20, "", "float[1,4,1]: 1 2 3 4", "~float[1,4,2]: 10 0 -2 2 -2 0 -2 -2"},
    {"DFT", 20, "", "double[3,1]: 1 2 3",
     "~double[3,2]: 6 0 -1.5 0.8660254037844386 -1.5 -0.8660254037844386"},
    {"DFT", 17, "axis=0", "float[2,1,1]: 1 2 | -", "float[2,1,2]: 3 0 -1 0"},
    {"DFT", 17, "", "float[1,1,1]: 5", "float[1,1,2]: 5 0"},
    {"DFT", 17, "onesided=1", "float[1,4,1]: 1 2 3 4", "~float[1,3,2]: 10 0 -2 2 -2 0"},
    {"DFT", 17, "onesided=1", "float[1,4,2]: 1 0 2 0 3 0 4 0", "invalid"},
    {"DFT", 20, "inverse=1", "float[1,2,2]: 3 0 -1 0", "float[1,2,2]: 1 0 2 0"},
    {"DFT", 20, "inverse=1; onesided=1", "float[1,3,2]: 10 0 -2 2 -2 0",
     "~float[1,4,1]: 1 2 3 4"},
    {"DFT", 20, "inverse=1; onesided=1", "float[1,2,2]: 6 0 -1.5 0.8660254 | int64[]: 3",
     "~float[1,3,1]: 1 2 3"},
    {"DFT", 20, "inverse=1; onesided=1", "float[1,1,2]: 6 0", "invalid"},
    {"DFT", 20, "", "float[1,2,1]: 1 2 | int32[]: 4", "~float[1,4,2]: 3 0 1 -2 -1 0 1 2"},
    {"DFT", 20, "", "float[1,3,1]: 1 2 9 | int64[]: 2", "float[1,2,2]: 3 0 -1 0"},
    {"DFT", 20, "", "float[2,2,1]: 1 2 3 4 | - | int64[]: 0", "float[2,2,2]: 4 0 6 0 -2 0 -2 0"},
    {"DFT", 20, "", "float[2,2,1]: 1 2 3 4 | - | int64[]: 2", "invalid"},
    {"DFT", 20, "", "float[1,2,3]: 1 2 3 4 5 6", "invalid"},
    {"DFT", 20, "", "float[1,2,1]: 1 2 | int64[]: 0", "invalid"},
    {"DFT", 20, "", "float[1,2,1]: 1 2 | int64[]: 1099511627777", "limit"},
    {"DFT", 20, "", "float[0,2,1]:", "float[0,2,2]:"},
    {"DFT", 20, "", "float16[1,2,1]: 1 inf", "float16[1,2,2]: inf nan -inf nan"},
    {"STFT", 17, "", "float[1,4,1]: 1 2 3 4 | int64[]: 2 | - | int64[]: 2",
     "float[1,2,2,2]: 3 0 -1 0 7 0 -1 0"},
    {"STFT", 17, "onesided=0", "float[1,3]: 1 2 3 | int64[]: 1 | float[2]: 1 2",
     "float[1,2,2,2]: 5 0 -3 0 8 0 -4 0"},
    {"STFT", 17, "", "float[1,3]: 1 2 3 | int64[]: 5 | - | int64[]: 3",
     "~float[1,1,2,2]: 6 0 -1.5 0.8660254"},
    {"STFT", 17, "", "float[1,3]: 1 2 3 | int64[]: 0 | - | int64[]: 2", "invalid"},
    {"STFT", 17, "", "float[1,3]: 1 2 3 | int64[]: 1 | - | int64[]: 4", "invalid"},
    {"STFT", 17, "", "float[1,3]: 1 2 3 | int64[]: 1 | float[2]: 1 1 | int64[]: 3", "invalid"},
    {"STFT", 17, "", "float[1,2,2]: 1 2 3 4 | int64[]: 1 | - | int64[]: 2", "invalid"},
    {"STFT", 17, "onesided=0", "float[1,2,2]: 0 1 0 1 | int64[]: 1 | - | int64[]: 2",
     "float[1,1,2,2]: 0 2 0 0"},
    {"MelWeightMatrix", 17, "",
     "int64[]: 2 | int64[]: 8 | int64[]: 8000 | float[]: 0 | float[]: 4000",
     "float[5,2]: 1 0 0 1 0 0 0 0 0 0"},
    {"MelWeightMatrix", 17, "output_datatype=7",
     "int64[]: 2 | int32[]: 16 | int64[]: 8000 | float[]: 0 | double[]: 4000", "invalid"},
    {"MelWeightMatrix", 17, "output_datatype=7",
     "int64[]: 2 | int64[]: 16 | int64[]: 8000 | float[]: 0 | float[]: 4000",
     "int64[9,2]: 1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0"},
    {"MelWeightMatrix", 17, "",
     "int64[]: 2 | int64[]: 16 | int64[]: 8000 | float[]: 0 | float[]: 4000",
     "float[9,2]: 1 0 0.5 0.5 0 1 0 0.5 0 0 0 0 0 0 0 0 0 0"},
    {"MelWeightMatrix", 17, "",
     "int64[]: 0 | int64[]: 8 | int64[]: 8000 | float[]: 0 | float[]: 4000", "invalid"},
    {"MelWeightMatrix", 17, "",
     "int64[]: 2 | int64[]: 8 | int64[]: 8 | float[]: 0 | float[]: 4000", "invalid"},
    {"HannWindow", 17, "", "int64[]: 0", "float[0]:"},
    {"HannWindow", 17, "", "int32[]: 4", "~float[4]: 0 0.5 1 0.5"},
    {"HannWindow", 17, "periodic=0", "int64[]: 3", "~float[3]: 0 1 0"},
    {"HannWindow", 17, "", "int64[]: -1", "invalid"},
};

static const kernel_row nms_rows[] = {
    {"NonMaxSuppression", 11, "",
     "float[1,3,4]: 0 0 1 1 0 0.1 1 1.1 0 10 1 11 | float[1,1,3]: 0.9 0.75 0.6 | int64[]: 3 |"
     " float[]: 0.5 | float[]: 0",
     "int64[2,3]: 0 0 0 0 0 2"},
    {"NonMaxSuppression", 10, "", "float[1,1,4]: 0 0 1 1 | float[1,1,1]: 0.9", "int64[0,3]:"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 1 1 0 0 | float[1,1,2]: 0.5 0.5 | int64[1]: 9 | float[]: 0.9",
     "int64[1,3]: 0 0 0"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 0 0 1 1 | float[1,1,2]: 0.5 0.5 | int64[1]: 9 | float[]: 1",
     "int64[2,3]: 0 0 0 0 0 1"},
    {"NonMaxSuppression", 11, "center_point_box=1",
     "float[1,2,4]: 1 1 2 2 3 1 2 2 | float[1,1,2]: 0.5 0.7 | int64[1]: 9 | float[]: 0",
     "int64[2,3]: 0 0 1 0 0 0"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 5 5 6 6 | float[1,1,2]: 0.5 0.7 | int64[1]: 9 | - | float[]: 0.5",
     "int64[1,3]: 0 0 1"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 5 5 6 6 | float[1,1,2]: -inf 0.7 | int64[1]: 9",
     "int64[2,3]: 0 0 1 0 0 0"},
    {"NonMaxSuppression", 11, "",
     "float[1,1,4]: 0 0 1 1 | float[1,1,1]: nan | int64[1]: 9", "unsupported"},
    {"NonMaxSuppression", 11, "", "float[1,0,4]: | float[1,2,0]: | int64[1]: 9", "int64[0,3]:"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 0 0 1 1 | float[1,1,1]: 1 | int64[1]: 9", "invalid"},
    {"NonMaxSuppression", 11, "",
     "float[1,1,4]: 0 0 1 1 | float[1,1,1]: 1 | int64[1]: 9 | float[]: 1.5", "invalid"},
};

#define GRAMS "max_gram_length=2; max_skip_count=1; ngram_counts=[0,2]; ngram_indexes=[0,1,2]; "
static const kernel_row tfidf_rows[] = {
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=1; pool_int64s=[1,2,1,2]",
     "int64[5]: 1 2 3 1 2", "float[3]: 2 2 2"},
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=2; pool_int64s=[1,2,1,2]",
     "int32[2,3]: 1 2 2 2 1 2", "float[2,3]: 0 0 2 0 0 1"},
    {"TfIdfVectorizer", 9,
     GRAMS "mode=TFIDF; min_gram_length=1; pool_int64s=[1,2,1,2]; weights=[0.5,2.,3.]",
     "int64[3]: 1 1 2", "float[3]: 1 2 6"},
    {"TfIdfVectorizer", 9,
     GRAMS "mode=IDF; min_gram_length=1; pool_int64s=[1,2,1,2]; weights=[0.5,2.,3.]",
     "int64[3]: 1 1 7", "float[3]: 0.5 0 0"},
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=1; pool_strings=[a,b,a,b]",
     "string[3]: a b ab", "float[3]: 1 1 1"},
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=1; pool_int64s=[1,2,1,2]",
     "string[1]: a", "invalid"},
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=1; pool_int64s=[1,1,1,2]",
     "int64[1]: 1", "invalid"},
    {"TfIdfVectorizer", 9, GRAMS "mode=TF; min_gram_length=1; pool_int64s=[1,2,1,2]",
     "int64[0]:", "float[3]: 0 0 0"},
    {"TfIdfVectorizer", 9, GRAMS "mode=XX; min_gram_length=1; pool_int64s=[1,2,1,2]",
     "int64[1]: 1", "invalid"},
    {"TfIdfVectorizer", 9, GRAMS "mode=IDF; min_gram_length=1; pool_int64s=[1,2,1,2]; weights=[1.]",
     "int64[1]: 1", "invalid"},
};

/* The first numbers of seed 0 are those everybody knows from that generator. */
static const kernel_row random_rows[] = {
    {"RandomUniform", 1, "shape=[3]; seed=0.0", "", "~float[3]: 0.5488135 0.71518937 0.60276338"},
    {"RandomUniform", 22, "shape=[2]; seed=0.0; low=1.0; high=3.0; dtype=11", "",
     "~double[2]: 2.0976270078546495 2.430378732744839"},
    {"RandomUniform", 22, "shape=[0]; seed=1.0", "", "float[0]:"},
    {"RandomUniform", 22, "shape=[1]", "", "unsupported"},
    {"RandomUniform", 22, "shape=[-1]; seed=1.0", "", "invalid"},
    {"RandomUniform", 22, "shape=[1]; seed=1.0; dtype=7", "", "invalid"},
    {"RandomUniformLike", 22, "seed=0.0; dtype=1", "int64[2]: 7 8",
     "~float[2]: 0.5488135 0.71518937"},
    {"RandomUniformLike", 22, "seed=0.0", "int64[2]: 7 8", "invalid"},
    {"RandomNormal", 1, "shape=[3]; seed=0.0", "", "~float[3]: 1.76405235 0.40015721 0.97873798"},
    {"RandomNormalLike", 22, "seed=0.0; mean=1.0; scale=2.0", "float[1]: 7",
     "~float[1]: 4.5281047"},
    {"Bernoulli", 15, "seed=0.0", "float[4]: 0.5 0.8 0 1", "float[4]: 0 1 0 1"},
    {"Bernoulli", 22, "seed=0.0; dtype=9", "double[2]: 0.55 0.7", "bool[2]: 1 0"},
    {"Bernoulli", 22, "seed=0.0", "float[1]: 1.5", "invalid"},
    {"Bernoulli", 22, "seed=0.0", "float[1]: nan", "invalid"},
    {"Bernoulli", 22, "", "float[1]: 0.5", "unsupported"},
    {"Multinomial", 7, "seed=0.0; sample_size=3", "float[1,2]: 0 0", "int32[1,3]: 1 1 1"},
    {"Multinomial", 22, "seed=0.0; sample_size=2; dtype=7",
     "float16[2,3]: -inf 1 -inf 5 -inf -inf", "int64[2,2]: 1 1 0 0"},
    {"Multinomial", 7, "seed=0.0", "float[1,2]: -inf -inf", "invalid"},
    {"Multinomial", 7, "seed=0.0", "float[1,1]: nan", "invalid"},
    {"Multinomial", 7, "seed=0.0; sample_size=0", "float[1,1]: 1", "int32[1,0]:"},
    {"Dropout", 22, "seed=0", "float[3]: 1 2 3 | float[]: 0.6 | bool[]: 1",
     "~float[3]: 0 5 7.5 | bool[3]: 0 1 1"},
    {"Dropout", 13, "", "float[2]: 1 2 | float[]: 0 | bool[]: 1", "float[2]: 1 2 | bool[2]: 1 1"},
    {"Dropout", 13, "", "float[2]: 1 2 | float[]: 0.5 | bool[]: 1", "unsupported"},
    {"Dropout", 13, "seed=1", "float[2]: 1 2 | float[]: 1 | bool[]: 1", "invalid"},
    {"Dropout", 6, "", "float[2]: 1 2", "unsupported"},
};

/* What a fold leaves alone and a run computes. */
static const kernel_row disputed_rows[] = {
    {"ArgMax", 13, "axis=0", "float[4]: 1 nan 5 nan", "!int64[1]: 1"},
    {"ArgMin", 13, "axis=0", "float[3]: 1 2 nan", "!int64[1]: 2"},
    {"TopK", 11, "", "float[3]: 1 nan 5 | int64[1]: 2", "!float[2]: nan 5 | int64[2]: 1 2"},
    {"Hardmax", 13, "", "float[3]: 1 nan 5", "!float[3]: 0 1 0"},
    {"MaxPool", 12, "kernel_shape=[2]", "float[1,1,3]: 1 nan 5", "!float[1,1,2]: nan nan"},
    {"GlobalMaxPool", 1, "", "float[1,1,3]: 1 nan 5", "!float[1,1,1]: nan"},
    {"Clip", 13, "", "float[2]: 1 9 | float[]: nan | float[]: 5", "!float[2]: 1 5"},
    {"ReduceMean", 18, "", "float[0]:", "!float[1]: nan"},
    {"ReduceMax", 13, "", "float[0]:", "!float[1]: -inf"},
    {"ReduceL1", 18, "noop_with_empty_axes=1", "float[2]: -1 2", "!float[2]: -1 2"},
    {"DynamicQuantizeLinear", 11, "", "float[2]: 0 0",
     "!uint8[2]: 0 0 | float[]: 1 | uint8[]: 0"},
    {"QuantizeLinear", 13, "", "float[3]: nan 1 -1 | float[]: 0 | int8[]: 3",
     "!int8[3]: -128 127 -128"},
    {"QLinearConv", 10, "",
     "uint8[1,1,2]: 1 0 | float[]: 1 | uint8[]: 0 | int8[1,1,1]: 1 | float[]: 1 | int8[]: 0 |"
     " float[]: 0 | uint8[]: 7",
     "!uint8[1,1,2]: 255 0"},
    {"NonMaxSuppression", 11, "",
     "float[1,2,4]: 0 0 1 1 0 0 1 1 | float[1,1,2]: nan 1 | int64[]: 5", "!int64[1,3]: 0 0 1"},
    {"Dropout", 7, "", "float[2]: 1 2", "!float[2]: 1 2 | float[2]: 0 0"},
    {"Dropout", 10, "", "float[2]: 1 2", "!float[2]: 1 2 | bool[2]: 0 0"},
};

static const kernel_row training_rows[] = {
    {TRAINING "Momentum", 1, "alpha=0.5; beta=2.0; mode=standard; norm_coefficient=0.0",
     "float[]: 0.5 | int64[]: 1 | float[2]: 1 2 | float[2]: 1 -1 | float[2]: 2 4",
     "float[2]: -0.5 2 | float[2]: 3 0"},
    {TRAINING "Momentum", 1, "alpha=0.5; beta=2.0; mode=nesterov; norm_coefficient=1.0",
     "double[]: 1 | int64[]: 0 | float[1]: 1 | float[1]: 1 | float[1]: 2",
     "float[1]: -2.5 | float[1]: 3"},
    {TRAINING "Momentum", 1, "alpha=0.5; beta=2.0; mode=standard; norm_coefficient=0.0",
     "float[]: 1 | int64[]: 1 | float[1]: 1 | float[1]: 2 | double[2]: 1 2 | double[2]: 0 0 |"
     " float[1]: 0 | double[2]: 0 0",
     "invalid4"},
    {TRAINING "Momentum", 1, "alpha=0.5; beta=2.0; mode=odd; norm_coefficient=0.0",
     "float[]: 1 | int64[]: 1 | float[1]: 1 | float[1]: 1 | float[1]: 2", "invalid2"},
    {TRAINING "Adagrad", 1, "decay_factor=1.0; epsilon=1.0",
     "float[]: 2 | int64[]: 1 | float[1]: 1 | float[1]: 2 | float[1]: 5",
     "float[1]: 0.5 | float[1]: 9"},
    {TRAINING "Adam", 1, "alpha=0.5; beta=0.5; epsilon=0.0",
     "float[]: 1 | int64[]: 0 | float[1]: 1 | float[1]: 2 | float[1]: 0 | float[1]: 4",
     "float[1]: 0.5 | float[1]: 1 | float[1]: 4"},
    {TRAINING "Adam", 1, "",
     "float[]: 1 | int64[]: 0 | float[0]: | float[0]: | float[0]: | float[0]:",
     "float[0]: | float[0]: | float[0]:"},
    {TRAINING "Adam", 1, "", "float[]: 1 | int64[]: 0 | float[1]: 1 | float[1]: 2 | float[1]: 0",
     "invalid3"},
    {"BatchNormalization", 15, "training_mode=1; epsilon=0.0; momentum=0.5",
     "float[2,1,2]: 1 3 1 3 | float[1]: 2 | float[1]: 10 | float[1]: 0 | float[1]: 3",
     "float[2,1,2]: 8 12 8 12 | float[1]: 1 | float[1]: 2"},
    {"BatchNormalization", 14, "training_mode=1; epsilon=1.0",
     "float16[2]: 4 4 | float16[1]: 2 | float16[1]: 10 | float[1]: 0 | float[1]: 1",
     "~float16[2]: 10 10 | float[1]: 0.4 | float[1]: 0.9"},
    {"BatchNormalization", 15, "training_mode=1",
     "float[0,1,2]: | float[1]: 2 | float[1]: 10 | float[1]: 0 | float[1]: 3", "unsupported3"},
    {"BatchNormalization", 15, "",
     "float[0,1,2]: | float[1]: 2 | float[1]: 1 | float[1]: 0 | float[1]: 3",
     "float[0,1,2]:"},
};

KERNEL_TEST(signal)
KERNEL_TEST(nms)
KERNEL_TEST(tfidf)
KERNEL_TEST(random)
KERNEL_TEST(training)
KERNEL_TEST(disputed)

/* A random node is run, but never made a constant. */
START_TEST(never_folded) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 22);
  surg_node *n = surg_graph_add_node(surg_model_graph(m), NULL, "", "RandomUniform", 1);
  surg_node_set_ints(n, "shape", (const int64_t[]){1}, 1);
  surg_node_set_float(n, "seed", 1);
  surg_tensor *t = NULL;
  const char *why = NULL;
  ck_assert_int_eq(surg_node_evaluate(n, 99, 99, &t, 1, &why), SURG_EUNSUPPORTED);
  ck_assert_str_eq(why, "the operator is not deterministic");
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_signal");
  TCase *c = kernel_case();
  KERNEL_ADD(c, signal);
  KERNEL_ADD(c, nms);
  KERNEL_ADD(c, tfidf);
  KERNEL_ADD(c, random);
  KERNEL_ADD(c, training);
  KERNEL_ADD(c, disputed);
  tcase_add_test(c, never_folded);
  suite_add_tcase(s, c);
  return unit_run(s);
}
