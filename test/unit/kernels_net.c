/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of recurrent layers, attention, losses and images. Rows of round numbers were worked out
 * by hand; in those of many digits two implementations agree. */
#include <check.h>

#include "base/base.h"
#include "kernel_rows.h"

/* Activations that change nothing, for one function and for the three of an LSTM. */
#define ID1 "activations=[Affine]; activation_alpha=[1.0]; activation_beta=[0.0];"
#define ID3                                                              \
  "activations=[Affine,Affine,Affine]; activation_alpha=[1.0,1.0,1.0]; " \
  "activation_beta=[0.0,0.0,0.0];"
#define HEADS "q_num_heads=1; kv_num_heads=1"
#define ONES "float[1,1,1,1]: 1 | float[1,1,1,1]: 1 | float[1,1,1,1]: 1"
#define ZEROS "float[1,1,3,1]: 0 0 0 | float[1,1,3,1]: 0 0 0 | float[1,1,3,1]: 1 2 4"

static const kernel_row recurrent_rows[] = {
    /* Identity as the activation makes sums visible. */
    {"RNN", 7, ID1, "float[2,1,1]: 1 2 | float[1,1,1]: 0.5 | float[1,1,1]: 1",
     "float[2,1,1,1]: 0.5 1.5 | float[1,1,1]: 1.5"},
    {"RNN", 22, ID1, "float16[2,1,1]: 1 2 | float16[1,1,1]: 0.5 | float16[1,1,1]: 1",
     "float16[2,1,1,1]: 0.5 1.5 | float16[1,1,1]: 1.5"},
    {"RNN", 22, ID1, "bfloat16[1,1,1]: 3 | bfloat16[1,1,1]: 0.5 | bfloat16[1,1,1]: 1",
     "bfloat16[1,1,1,1]: 1.5"},
    {"RNN", 14, ID1, "bfloat16[1,1,1]: 3 | bfloat16[1,1,1]: 0.5 | bfloat16[1,1,1]: 1", "invalid"},
    {"RNN", 14, ID1 "layout=1; direction=reverse",
     "double[1,2,1]: 1 2 | double[1,1,1]: 0.5 | double[1,1,1]: 1",
     "double[1,2,1,1]: 1.5 1 | double[1,1,1]: 1.5"},
    {"RNN", 7, ID1 "layout=1", "float[1,2,1]: 1 2 | float[1,1,1]: 0.5 | float[1,1,1]: 1",
     "unsupported"},
    {"RNN", 1, ID1, "float[1,1,1]: 1 | float[1,1,1]: 2 | float[1,1,1]: 1 | float[1,2]: 3 4",
     "- | float[1,1,1]: 9"},
    {"RNN", 7, "", "float[1,1,1]: nan | float[1,1,1]: 1 | float[1,1,1]: 1", "float[1,1,1,1]: nan"},
    {"RNN", 7, "activations=[relu]", "float[1,1,1]: -5 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "float[1,1,1,1]: 0"},
    {"RNN", 7, "activations=[Relu,Tanh]", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "invalid"},
    {"RNN", 7, "activations=[Cosine]", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "unsupported"},
    {"RNN", 7, "activations=[ScaledTanh]", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "unsupported"},
    {"RNN", 7, "activations=[Affine]; activation_alpha=[1.0]",
     "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 1", "unsupported"},
    {"RNN", 7, "activation_alpha=[1.0]", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "unsupported"},
    {"RNN", 7, "activations=[ThresholdedRelu]",
     "float[2,1,1]: 1 2 | float[1,1,1]: 1 | float[1,1,1]: 1", "!float[2,1,1,1]: 0 2"},
    {"RNN", 7, ID1 "clip=0.5", "float[1,1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "float[1,1,1,1]: 0.5"},
    {"RNN", 7, ID1 "clip=-0.5", "float[1,1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "unsupported"},
    {"RNN", 7, "direction=up", "float[1,1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1", "invalid"},
    {"RNN", 7, "hidden_size=2", "float[1,1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1", "invalid"},
    {"RNN", 7, "", "float[1,1,1]: 7 | float[1,2,1]: 1 1 | float[1,1,1]: 1", "invalid"},
    {"RNN", 7, "direction=bidirectional", "float[1,1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1",
     "invalid"},
    {"RNN", 7, "", "float[1,1]: 7 | float[1,1,1]: 1 | float[1,1,1]: 1", "invalid"},
    {"RNN", 7, "", "float[0,1,1]: | float[1,1,1]: 1 | float[1,1,1]: 1", "float[0,1,1,1]:"},
    {"RNN", 7, "", "float[0,1,1]: | float[1,1,1]: 1 | float[1,1,1]: 1",
     "!float[0,1,1,1]: | float[1,1,1]: 0"},
    {"RNN", 7, "", "float[2,0,1]: | float[1,1,1]: 1 | float[1,1,1]: 1",
     "float[2,1,0,1]: | float[1,0,1]:"},
    {"RNN", 7, ID1, "float[1,1,0]: | float[1,1,0]: | float[1,1,1]: 1", "float[1,1,1,1]: 0"},
    {"RNN", 7, ID1, "float[2,2,1]: 1 2 3 4 | float[1,1,1]: 1 | float[1,1,1]: 0 | - | int32[2]: 0 1",
     "float[2,1,2,1]: 0 2 0 0"},
    {"RNN", 7, ID1,
     "float[2,2,1]: 1 2 3 4 | float[1,1,1]: 1 | float[1,1,1]: 0 | - | int32[2]: 0 1 | "
     "float[1,2,1]: 7 7",
     "!float[2,1,2,1]: 0 2 0 0 | float[1,2,1]: 0 2"},
    {"RNN", 7, "", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 0 | - | int32[1]: 2",
     "invalid"},
    {"RNN", 7, "", "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 0 | - | int32[1]: -1",
     "invalid"},
    /* Half the state stays, half is new. */
    {"GRU", 1, "activations=[Sigmoid,Relu]",
     "float[1,1,1]: 4 | float[1,3,1]: 0 0 1 | float[1,3,1]: 0 0 0 | - | - | float[1,1,1]: 2",
     "- | float[1,1,1]: 3"},
    {"GRU", 3, "activations=[Sigmoid,Relu]; linear_before_reset=1",
     "float[1,1,1]: 4 | float[1,3,1]: 0 0 1 | float[1,3,1]: 0 0 1 | float[1,6]: 0 0 0 0 0 2",
     "float[1,1,1,1]: 2.5"},
    /* Gates i, o, f, c as they come: the state is 2 * 2, the hidden one is clipped before o. */
    {"LSTM", 7, ID3 "clip=2.0", "float[1,1,1]: 1 | float[1,4,1]: 2 1 0 3 | float[1,4,1]: 0 0 0 0",
     "!float[1,1,1,1]: 2 | float[1,1,1]: 2 | float[1,1,1]: 4"},
    {"LSTM", 7, ID3,
     "float[1,1,1]: 1 | float[1,4,1]: 2 1 3 3 | float[1,4,1]: 0 0 0 0 | - | - | - | "
     "float[1,1,1]: 5",
     "float[1,1,1,1]: 21 | float[1,1,1]: 21 | float[1,1,1]: 21"},
    {"LSTM", 7, ID3 "input_forget=1",
     "float[1,1,1]: 1 | float[1,4,1]: 2 1 3 3 | float[1,4,1]: 0 0 0 0 | - | - | - | float[1,1,1]: "
     "5",
     "- | - | float[1,1,1]: 1"},
    {"LSTM", 7, ID3,
     "float[1,1,1]: 1 | float[1,4,1]: 2 1 3 3 | float[1,4,1]: 0 0 0 0 | - | - | - | "
     "float[1,1,1]: 1 | float[1,3]: 1 10 0",
     "float[1,1,1,1]: 1452 | - | float[1,1,1]: 12"},
    {"LSTM", 7, "",
     "float[1,1,1]: 1 | float[1,4,1]: 2 1 3 3 | float[1,4,1]: 0 0 0 0 | - | - | - | "
     "- | float[1,2]: 1 1",
     "invalid"},
    {"RNN", 7, "hidden_size=2; direction=reverse",
     "float[3,2,1]: 0 1.4 1.2 -0.5 -0.3 -0.5 | float[1,2,1]: 0.6 -0.1 | float[1,2,2]: 0.7 -1.8 "
     "1.6 -0.1 | float[1,4]: 0.7 -0.1 -0.4 0.5 | int32[2]: 1 3 | float[1,2,2]: 0.8 -0.2 -0.2 0.7",
     "~float[3,1,2,2]: 0.83965415 0.93540907 0.96768636 -0.5780876 0 0 -0.6216051 -0.7498251 0 0 "
     "-0.88535166 0.059928093 | float[1,2,2]: 0.83965415 0.93540907 0.96768636 -0.5780876"},
    {"RNN", 14,
     "hidden_size=1; direction=bidirectional; activations=[HardSigmoid,Relu]; "
     "activation_alpha=[0.5]; activation_beta=[0.25]",
     "float[2,1,2]: -0.9 -1.5 0.4 -0.7 | float[2,1,2]: -1.9 -0.8 -0.5 -1.2 | float[2,1,1]: -1.5 0",
     "~float[2,2,1,1]: 1 2.25 0 0.64000005 | float[2,1,1]: 0 2.25"},
    {"GRU", 7, "hidden_size=2; direction=reverse",
     "float[3,2,1]: 0.9 -0.2 -0.7 0.4 0.7 -0.3 | float[1,6,1]: 0.5 1 -0.2 -0.8 0.3 0.2 | "
     "float[1,6,2]: 1.1 -1.3 -0.7 -0.8 -1.7 0.1 0.5 -0.7 1.4 0.8 0.6 0.4 | float[1,12]: 1 -1.3 "
     "0.6 0.6 -1.8 0.3 -0.3 0.8 -0.4 0 0.3 -0.9 | int32[2]: 1 3 | float[1,2,2]: 0.6 -0.1 0.5 -0.5",
     "~float[3,1,2,2]: 0.4263443 -0.21308178 -0.05969688 -0.6135569 0 0 0.1409555 -0.5636941 0 0 "
     "0.28802937 -0.57860917 | float[1,2,2]: 0.4263443 -0.21308178 -0.05969688 -0.6135569"},
    {"GRU", 14,
     "hidden_size=1; direction=bidirectional; activations=[Sigmoid,Elu,LeakyRelu,Softsign]; "
     "activation_alpha=[0.5,0.25]",
     "float[2,1,2]: 1.1 0.6 -0.2 0.6 | float[2,3,2]: 1.3 1.8 -1.6 0.9 0.5 -0.1 -1 1.3 -1.3 0.6 "
     "1.3 -1.6 | float[2,3,1]: -0.3 -1.3 0.2 1.5 2 -1.8",
     "~float[2,2,1,1]: 0.036828455 0.34482884 0.0033741994 -0.010990988 | float[2,1,1]: "
     "0.0033741994 0.34482884"},
    {"LSTM", 7, "hidden_size=2; direction=reverse",
     "float[3,2,1]: -0.6 0.7 1.6 0.4 -0.7 0.3 | float[1,8,1]: 0 -0.2 -0.7 0.4 0.3 -0.1 -0.2 -1.3 "
     "| float[1,8,2]: -0.5 1.2 -0.2 -1.4 1.3 0.5 2.1 0.1 -0.5 -1.4 1.3 2.6 -0.8 -0.6 0.6 -0.8 | "
     "float[1,16]: -0.3 -0.3 0.2 1.1 0 0.9 -0.4 0.3 -2.1 -1.4 0.8 -0.6 0.6 0.5 1.3 0.8 | "
     "int32[2]: 1 3 | float[1,2,2]: 1 -0.1 -0.7 -0.7",
     "~float[3,1,2,2]: 0.011875326 0.14531156 0.07228814 0.1664063 0 0 0.06121093 0.17177585 0 0 "
     "0.019198097 0.066726565 | float[1,2,2]: 0.011875326 0.14531156 0.07228814 0.1664063"},
    {"LSTM", 14,
     "hidden_size=1; direction=bidirectional; "
     "activations=[Sigmoid,Affine,Tanh,HardSigmoid,Softplus,Relu]; activation_alpha=[0.5,0.25]; "
     "activation_beta=[0.5,0.25]",
     "float[2,1,2]: -0.5 -1.1 -0.5 -0.1 | float[2,4,2]: 0.3 -0.3 -1.9 -0.1 0.2 1.1 0.6 -0.6 -0.7 "
     "2 0.8 1.8 2.1 -0.8 0.4 0.5 | float[2,4,1]: 0.6 0.5 0.2 0.2 -1.5 -0.2 -0.7 0.1",
     "~float[2,2,1,1]: 0.2632425 0 0.27007696 0.01738617 | float[2,1,1]: 0.27007696 0 | "
     "float[2,1,1]: 0.37772965 0.033854593"},
    {"GRU", 7, "hidden_size=1; linear_before_reset=1; clip=0.5",
     "float[2,1,1]: -0.5 0.6 | float[1,3,1]: 0.8 0.3 0.3 | float[1,3,1]: 0.1 -0.4 -0.2 | "
     "float[1,6]: -0.5 0.4 0 0.6 -1.3 0.9",
     "~float[2,1,1,1]: 0.107731126 0.24152626 | float[1,1,1]: 0.24152626"},
    {"RNN", 7, "hidden_size=1; clip=0.25",
     "float[2,1,1]: -0.8 -0.7 | float[1,1,1]: -0.2 | float[1,1,1]: -0.6 | float[1,2]: 0.3 -0.6",
     "~float[2,1,1,1]: -0.13909246 -0.07639539 | float[1,1,1]: -0.07639539"},
    {"LSTM", 7, "hidden_size=1; input_forget=1",
     "float[2,1,1]: -1.1 -0.8 | float[1,4,1]: 1.3 0 -1.2 0 | float[1,4,1]: -1.6 1.8 -1.5 0.5 | "
     "float[1,8]: 0.5 -1.5 0.3 1 0.5 0.3 0.9 0.2 | - | float[1,1,1]: 0.3 | float[1,1,1]: -0.1 | "
     "float[1,3]: 0.6 -0.9 0.8",
     "~float[2,1,1,1]: 0.051134568 0.08045401 | float[1,1,1]: 0.08045401 | float[1,1,1]: "
     "0.50095457"},
};

static const kernel_row attention_rows[] = {
    {"Attention", 23, "", "float16[1,1,1,1]: 1 | float16[1,1,1,1]: 2 | float16[1,1,1,1]: 3",
     "float16[1,1,1,1]: 3"},
    {"Attention", 23, "", "bfloat16[1,1,1,1]: 1 | bfloat16[1,1,1,1]: 2 | double[1,1,1,1]: 3",
     "bfloat16[1,1,1,1]: 3 | bfloat16[1,1,1,1]: 2 | double[1,1,1,1]: 3"},
    {"Attention", 23, "", "float[1,1,1,1]: 1 | float[1,1,0,1]: | float[1,1,0,1]:", "unsupported"},
    {"Attention", 23, "", "float[0,1,1,1]: | float[0,1,2,1]: | float[0,1,2,1]:", "float[0,1,1,1]:"},
    {"Attention", 23, "", "float[1,1,1,1]: nan | float[1,1,1,1]: 2 | float[1,1,1,1]: 3",
     "float[1,1,1,1]: nan"},
    {"Attention", 23, "",
     "float[1,1,1,1]: 0 | float[1,1,3,1]: 0 0 0 | float[1,1,3,1]: 1 2 3 | "
     "int64[1,3]: 0 0 -10000",
     "~float[1,1,1,1]: 1.5"},
    {"Attention", 23, "", "float[1,3,1,1]: 0 0 0 | float[1,2,1,1]: 0 0 | float[1,2,1,1]: 1 2",
     "invalid"},
    {"Attention", 23, "", "float[1,1,2]: 0 0 | float[1,1,2]: 0 0 | float[1,1,2]: 0 0", "invalid"},
    {"Attention", 23, "q_num_heads=3; kv_num_heads=3",
     "float[1,1,2]: 0 0 | float[1,1,2]: 0 0 | float[1,1,2]: 0 0", "invalid"},
    {"Attention", 23, "softmax_precision=7", ONES, "invalid"},
    {"Attention", 23, "qk_matmul_output_mode=4", ONES, "invalid"},
    {"Attention", 23, "scale=-1.0", ONES, "unsupported"},
    {"Attention", 23, "left_window_size=1", ONES, "unsupported"},
    {"Attention", 25, "left_window_size=-2", ONES, "invalid"},
    {"Attention", 25, "left_window_size=0; right_window_size=0", ZEROS, "float[1,1,3,1]: 1 2 4"},
    {"Attention", 25, "left_window_size=1; right_window_size=0", ZEROS, "float[1,1,3,1]: 1 1.5 3"},
    {"Attention", 25, "right_window_size=1; is_causal=1; left_window_size=9223372036854775807",
     ZEROS, "~float[1,1,3,1]: 1 1.5 2.33333333"},
    {"Attention", 25, "right_window_size=0; left_window_size=0",
     ZEROS " | bool[3,3]: 1 1 1 1 0 1 1 1 1", "float[1,1,3,1]: 1 0 4"},
    {"Attention", 25, "left_window_size=0", ZEROS " | - | float[1,1,1,1]: 0 | float[1,1,1,1]: 8",
     "float[1,1,3,1]: 2.3333333 3 4"},
    {"Attention", 24, "", ZEROS " | bool[1,2]: 1 1", "float[1,1,3,1]: 1.5 1.5 1.5"},
    {"Attention", 23, "", ZEROS " | bool[1,2]: 1 1", "invalid"},
    {"Attention", 24, "", ZEROS " | bool[1,1]: 1", "unsupported"},
    {"Attention", 24, "", ZEROS " | bool[2,3]: 1 1 1 1 1 1", "invalid"},
    {"Attention", 24, "", ZEROS " | float[3]: 0 0 -inf", "float[1,1,3,1]: 1.5 1.5 1.5"},
    {"Attention", 24, "", ZEROS " | - | float[1,1,1,1]: 0", "invalid"},
    {"Attention", 24, "", ZEROS " | - | - | - | int64[1]: 2", "float[1,1,3,1]: 1.5 1.5 1.5"},
    {"Attention", 24, "", ZEROS " | - | - | - | int64[1]: 0", "float[1,1,3,1]: 0 0 0"},
    {"Attention", 24, "", ZEROS " | - | - | - | int64[1]: 4", "invalid"},
    {"Attention", 24, "", ZEROS " | - | float[1,1,1,1]: 0 | float[1,1,1,1]: 0 | int64[1]: 2",
     "unsupported"},
    {"Attention", 23, "is_causal=1",
     "float[1,1,1,1]: 0 | float[1,1,2,1]: 0 0 | float[1,1,2,1]: 1 3 | - | float[1,1,1,1]: 0 | "
     "float[1,1,1,1]: 5",
     "!float[1,1,1,1]: 3"},
    {"Attention", 23, "qk_matmul_output_mode=2",
     "float[1,1,1,1]: 0 | float[1,1,2,1]: 0 0 | float[1,1,2,1]: 1 3 | bool[1,2]: 1 0",
     "!float[1,1,1,1]: 1 | - | - | float[1,1,1,2]: 0 -inf"},
    {"ai.onnx.preview:FlexAttention", 1, "",
     "float[1,2,1,1]: 0 0 | float[1,1,2,1]: 0 0 | float[1,1,2,1]: 1 3", "float[1,2,1,1]: 2 2"},
    {"ai.onnx.preview:FlexAttention", 1, "softmax_precision=7", ONES, "invalid"},
    {"ai.onnx.preview:FlexAttention", 1, "",
     "float[1,3,1,1]: 0 0 0 | float[1,2,1,1]: 0 0 | float[1,2,1,1]: 1 3", "invalid"},
    {"LinearAttention", 27, "update_rule=linear; scale=1.0;" HEADS,
     "float[1,2,1]: 1 1 | float[1,2,1]: 1 2 | float[1,2,1]: 3 4",
     "float[1,2,1]: 3 11 | float[1,1,1,1]: 11"},
    {"LinearAttention", 27, "update_rule=delta;" HEADS,
     "float[1,2,1]: 1 1 | float[1,2,1]: 1 2 | float[1,2,1]: 3 4 | - | - | float[1,2,1]: 1 1",
     "float[1,2,1]: 3 -1 | float[1,1,1,1]: -1"},
    {"LinearAttention", 27, HEADS,
     "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 3 | float16[1,1,1,1]: 8 | float[1,1,1]: 0 "
     "| "
     "float[1,1,1]: 0.5",
     "float[1,1,1]: 5.5 | float16[1,1,1,1]: 5.5"},
    {"LinearAttention", 27, "update_rule=linear; q_num_heads=2; kv_num_heads=1",
     "float[1,1,2]: 1 2 | float[1,1,1]: 1 | float[1,1,1]: 3",
     "float[1,1,2]: 3 6 | float[1,1,1,1]: 3"},
    {"LinearAttention", 27, "update_rule=linear;" HEADS,
     "float[1,0,1]: | float[1,0,1]: | float[1,0,1]: | float[1,1,1,1]: 7",
     "float[1,0,1]: | float[1,1,1,1]: 7"},
    {"LinearAttention", 27, "update_rule=linear;" HEADS,
     "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 3 | - | float[1,1,1]: 0", "invalid"},
    {"LinearAttention", 27, "update_rule=gated;" HEADS,
     "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 3", "invalid"},
    {"LinearAttention", 27, "update_rule=other;" HEADS,
     "float[1,1,1]: 1 | float[1,1,1]: 1 | float[1,1,1]: 3", "invalid"},
    {"CausalConvWithState", 27, "", "float[1,1,3]: 1 2 3 | float[1,1,2]: 10 1",
     "float[1,1,3]: 1 12 23 | float[1,1,1]: 3"},
    {"CausalConvWithState", 27, "",
     "float16[1,1,3]: 1 2 3 | float16[1,1,2]: 10 1 | float16[1]: 100 | float16[1,1,1]: 5",
     "float16[1,1,3]: 151 112 123 | float16[1,1,1]: 3"},
    {"CausalConvWithState", 27, "", "float[1,1,1]: 1 | float[1,1,3]: 1 1 1 | - | float[1,1,2]: 7 8",
     "float[1,1,1]: 16 | float[1,1,2]: 8 1"},
    {"CausalConvWithState", 27, "", "float[1,1,0]: | float[1,1,2]: 1 1 | - | float[1,1,1]: 7",
     "float[1,1,0]: | float[1,1,1]: 7"},
    {"CausalConvWithState", 27, "activation=swish", "float[1,1,2]: 0 -inf | float[1,1,1]: 1",
     "float[1,1,2]: 0 nan | float[1,1,0]:"},
    {"CausalConvWithState", 27, "activation=relu", "float[1,1,1]: 1 | float[1,1,1]: 1", "invalid"},
    {"CausalConvWithState", 27, "", "float[1,1,1]: 1 | float[1,1,2]: 1 1 | - | float[1,1,2]: 7 8",
     "invalid"},
    {"RotaryEmbedding", 23, "",
     "float[1,1,1,2]: 1 2 | float[2,1]: 0 0 | float[2,1]: 1 1 | "
     "int64[1,1]: 2",
     "invalid"},
    {"RotaryEmbedding", 23, "", "float16[1,1,1,2]: 1 2 | float16[1,1,1]: 0 | float16[1,1,1]: 1",
     "float16[1,1,1,2]: -2 1"},
    {"RotaryEmbedding", 23, "", "float[1,1,1,3]: 1 2 3 | float[1,1,1]: 0 | float[1,1,1]: 1",
     "invalid"},
    {"RotaryEmbedding", 23, "", "float[1,1,2]: 1 2 | float[1,1,1]: 0 | float[1,1,1]: 1", "invalid"},
    {"RotaryEmbedding", 23, "",
     "float[1,1,0,2]: | float[1,0,1]: | float[1,0,1]:", "float[1,1,0,2]:"},
    {"TensorScatter", 24, "", "string[1,3,1]: a b c | string[1,2,1]: x y | int64[1]: 1",
     "string[1,3,1]: a x y"},
    {"TensorScatter", 24, "mode=circular", "int4[1,3,1]: 1 2 3 | int4[1,2,1]: -8 7 | int64[1]: 2",
     "int4[1,3,1]: 7 2 -8"},
    {"TensorScatter", 24, "axis=1", "float[2,2]: 1 2 3 4 | float[2,1]: 8 9 | int64[2]: 0 1",
     "float[2,2]: 8 2 3 9"},
    {"TensorScatter", 24, "", "float[1,2,1]: 1 2 | float[1,0,1]:", "float[1,2,1]: 1 2"},
    {"TensorScatter", 24, "", "float[1,2,1]: 1 2 | float[1,1,1]: 3 | int64[1]: 2", "invalid"},
    {"TensorScatter", 24, "", "float[1,2,1]: 1 2 | float[1,3,1]: 3 4 5", "invalid"},
    {"TensorScatter", 24, "axis=0", "float[2,1]: 1 2 | float[1,1]: 3", "invalid"},
    {"SwiGLU", 28, "alpha=0.0", "float[2]: 1 2 | float[1]: 4", "float[2]: 2 4"},
    {"SwiGLU", 28, "", "float[2]: inf -inf | float[2]: 1 1", "float[2]: inf nan"},
    {"SwiGLU", 28, "", "bfloat16[0]: | bfloat16[0]:", "bfloat16[0]:"},
    {"Attention", 23, "is_causal=1; softcap=1.5",
     "float[1,2,2,2]: -0.5 -1.1 0.4 1.7 1 -0.5 0.7 -0.5 | float[1,1,3,2]: -0.1 0.1 -2.3 0.2 -1 "
     "-0.7 | float[1,1,3,1]: 1 2 4",
     "~float[1,2,2,1]: 1 1.3794206 1 1.2856942"},
    {"Attention", 23, "scale=0.5; qk_matmul_output_mode=3",
     "float[1,2,2,2]: -0.5 -1.1 0.4 1.7 1 -0.5 0.7 -0.5 | float[1,1,3,2]: -0.1 0.1 -2.3 0.2 -1 "
     "-0.7 | float[1,1,3,1]: 1 2 4 | bool[2,3]: 1 1 0 0 1 1",
     "~float[1,2,2,1]: 1.6212837 2.7527328 1.245085 3.3274775 | float[1,1,3,2]: -0.1 0.1 -2.3 0.2 "
     "-1 -0.7 | float[1,1,3,1]: 1 2 4 | float[1,2,2,3]: 0.3787164 0.6212836 0 0 0.6236336 "
     "0.37636638 0.754915 0.24508502 0 0 0.3362613 0.66373867"},
    {"Attention", 24, "is_causal=1",
     "float[2,1,2,1]: -1.5 -1.5 -0.9 0.8 | float[2,1,3,1]: 1.7 0 1.1 -0.3 -1.9 0.1 | "
     "float[2,1,3,1]: 0.4 -0.4 0.3 0.6 -0.9 -1.5 | - | - | - | int64[2]: 1 3",
     "~float[2,1,2,1]: 0 0.4 -0.6126819 -0.6462593"},
    {"Attention", 24, "q_num_heads=2; kv_num_heads=1",
     "float[1,2,4]: -0.2 -0.2 -0.4 1 1.7 -0.4 0.7 0.9 | float[1,1,2]: 0.7 1 | float[1,1,2]: -0.4 "
     "0.7 | float[2,3]: 2 0.8 -0.6 0.6 1.3 0.4 | float[1,1,2,2]: -0.6 1.5 -1.2 0.5 | "
     "float[1,1,2,2]: 0 -1.2 1.2 0.3",
     "~float[1,2,4]: 0.29548207 -0.7204065 0.16230671 -0.9256213 -0.03548811 0.3441359 0.16984239 "
     "-0.057781015 | float[1,1,3,2]: -0.6 1.5 -1.2 0.5 0.7 1 | float[1,1,3,2]: 0 -1.2 1.2 0.3 "
     "-0.4 0.7"},
    {"Attention", 23, "",
     "float[1,1,2,1]: -1.2 0.6 | float[1,1,2,1]: -0.4 -1.9 | float[1,1,2,1]: -0.7 0.3 | "
     "bool[2,2]: 0 0 1 1",
     "~float[1,1,2,1]: 0 -0.4109495"},
    {"RotaryEmbedding", 23, "interleaved=1; rotary_embedding_dim=2; num_heads=1",
     "float[1,2,3]: 0.6 0.2 0 0.5 -0.2 1.2 | float[4,1]: 0.1 0.3 0.5 -1.1 | float[4,1]: -0.7 1.5 "
     "0.3 -0.3 | int64[1,2]: 3 0",
     "~float[1,2,3]: -0.6 -0.40000004 0 -0.089999996 -0.37 1.2"},
    {"RotaryEmbedding", 23, "",
     "float[1,1,2,4]: 0.3 -0.5 0.3 -0.7 0.3 -1.6 1.3 -0.5 | float[1,2,2]: -1.6 -0.2 -0.4 0.2 | "
     "float[1,2,2]: -1.1 0.4 3.6 -1.3",
     "~float[1,1,2,4]: -0.15 0.38 -0.81000006 -0.060000002 -4.7999997 -0.96999997 0.56 1.9799999"},
};

static const kernel_row loss_rows[] = {
    {"NegativeLogLikelihoodLoss", 22, "", "bfloat16[1,2]: 1 3 | int64[1]: 1", "bfloat16[]: -3"},
    {"NegativeLogLikelihoodLoss", 13, "ignore_index=1", "float[1,2]: 1 3 | int64[1]: 1",
     "!float[]: nan"},
    {"NegativeLogLikelihoodLoss", 13, "reduction=sum", "float[0,2]: | int64[0]:", "float[]: 0"},
    {"NegativeLogLikelihoodLoss", 13, "reduction=none", "float[0,2]: | int64[0]:", "float[0]:"},
    {"NegativeLogLikelihoodLoss", 13, "", "float[1,2]: 1 3 | int64[1]: 2", "invalid"},
    {"NegativeLogLikelihoodLoss", 13, "", "float[1,2]: 1 3 | int64[1]: -1", "invalid"},
    {"NegativeLogLikelihoodLoss", 13, "", "float[1,2]: 1 3 | int64[1,1]: 1", "invalid"},
    {"NegativeLogLikelihoodLoss", 13, "reduction=max", "float[1,2]: 1 3 | int64[1]: 1", "invalid"},
    {"NegativeLogLikelihoodLoss", 13, "", "float[1,2]: 1 3 | int64[1]: 1 | float[1]: 1", "invalid"},
    {"SoftmaxCrossEntropyLoss", 13, "reduction=none", "float16[1,2]: 5 5 | int32[1]: 0",
     "~float16[1]: 0.6931 | float16[1,2]: -0.6931 -0.6931"},
    {"SoftmaxCrossEntropyLoss", 13, "", "float[1,2]: inf 0 | int64[1]: 0", "float[]: nan"},
    {"SoftmaxCrossEntropyLoss", 13, "reduction=none",
     "float[1,1,2]: 3 4 | int64[1,2]: 0 0 | float[1]: 2", "float[1,2]: -0 -0"},
    {"NegativeLogLikelihoodLoss", 13, "reduction=none; ignore_index=7",
     "float[2,3,2]: 0.3 -0.3 0.2 -1.8 -1.2 0.5 0 1.6 -0.7 0.2 2.9 -0.8 | int64[2,2]: 0 7 2 1 | "
     "float[3]: 1 0.5 2",
     "~float[2,2]: -0.3 0 -5.8 -0.1"},
    {"NegativeLogLikelihoodLoss", 12, "",
     "float[2,3]: -0.9 0 0 0.8 0.1 -0.8 | int32[2]: 0 2 | float[3]: 1 0.5 2",
     "~float[]: 0.8333333"},
    {"SoftmaxCrossEntropyLoss", 13, "reduction=sum",
     "float[2,3]: 0.2 2.6 1.3 -2.8 -0.1 -0.9 | int64[2]: 0 2",
     "~float[]: 3.926299 | float[2,3]: -2.7098713 -0.30987138 -1.6098714 -3.1164277 -0.4164278 "
     "-1.2164278"},
    {"SoftmaxCrossEntropyLoss", 12, "ignore_index=-1",
     "float[3,2]: 0.6 -0.2 1.9 0.9 0.9 0.2 | int64[3]: 0 -1 1 | float[2]: 2 0.5",
     "~float[]: 0.51751775"},
};

static const kernel_row image_rows[] = {
    {"GridSample", 16, "mode=nearest", "int64[1,1,1,2]: 8 9 | float[1,1,1,2]: 0.5 0",
     "int64[1,1,1,1]: 9"},
    {"GridSample", 16, "mode=nearest", "string[1,1,1,2]: a b | double[1,1,1,2]: 0.5 0",
     "string[1,1,1,1]: b"},
    {"GridSample", 16, "mode=nearest", "string[1,1,1,2]: a b | double[1,1,1,2]: 5 0",
     "unsupported"},
    {"GridSample", 16, "mode=nearest", "bool[1,1,1,2]: 1 1 | float[1,1,1,2]: 5 0",
     "bool[1,1,1,1]: 0"},
    {"GridSample", 16, "", "int32[1,1,1,2]: 8 9 | float[1,1,1,2]: 0 0", "unsupported"},
    {"GridSample", 16, "", "float[1,1,1,2]: 8 9 | float[1,1,2,2]: nan 0 0 -inf",
     "!float[1,1,1,2]: 4 4.25"},
    {"GridSample", 16, "", "float[1,1,1,2]: 8 9 | float[1,0,1,2]:", "float[1,1,0,1]:"},
    {"GridSample", 16, "", "float[1,1,0,2]: | float[1,1,1,2]: 0 0", "unsupported"},
    {"GridSample", 16, "mode=linear", "float[1,1,1,2]: 8 9 | float[1,1,1,2]: 0 0", "invalid"},
    {"GridSample", 20, "mode=bilinear", "float[1,1,1,2]: 8 9 | float[1,1,1,2]: 0 0", "invalid"},
    {"GridSample", 20, "padding_mode=none", "float[1,1,1,2]: 8 9 | float[1,1,1,2]: 0 0", "invalid"},
    {"GridSample", 16, "", "float[1,1,1,1,1]: 1 | float[1,1,1,1,3]: 0 0 0", "invalid"},
    {"GridSample", 20, "", "float[1,1,1,2]: 8 9 | float[1,1,1,3]: 0 0 0", "invalid"},
    {"GridSample", 22, "", "float16[1,1,2]: 1 3 | bfloat16[1,1,1]: 0", "float16[1,1,1]: 2"},
    {"GridSample", 20, "padding_mode=reflection; align_corners=1",
     "float[1,1,1]: 6 | float[1,2,1]: 0.5 -7", "float[1,1,2]: 6 6"},
    {"GridSample", 20, "", "float[1,1,2]: 1 3 | float[1,2,1]: 1e30 -1e30", "float[1,1,2]: 0 0"},
    {"GridSample", 20, "padding_mode=border", "float[1,1,2]: 1 3 | float[1,2,1]: 1e30 -1e30",
     "float[1,1,2]: 3 1"},
    {"AffineGrid", 20, "", "float16[1,2,3]: 1 0 0 0 1 0 | int64[4]: 1 1 1 2",
     "float16[1,1,2,2]: -0.5 0 0.5 0"},
    {"AffineGrid", 20, "", "double[1,3,4]: 1 0 0 4 0 1 0 5 0 0 1 6 | int64[5]: 1 9 1 1 1",
     "double[1,1,1,1,3]: 4 5 6"},
    {"AffineGrid", 20, "align_corners=1", "float[1,2,3]: 1 0 0 0 1 0 | int64[4]: 1 1 1 2",
     "!float[1,1,2,2]: -1 -1 1 -1"},
    {"AffineGrid", 20, "", "float[1,2,3]: 1 0 0 0 1 0 | int64[4]: 1 1 0 2", "float[1,0,2,2]:"},
    {"AffineGrid", 20, "", "float[1,2,3]: 1 0 0 0 1 0 | int64[4]: 1 1 -1 2", "invalid"},
    {"AffineGrid", 20, "", "float[1,2,3]: 1 0 0 0 1 0 | int64[4]: 2 1 1 2", "invalid"},
    {"AffineGrid", 20, "", "float[1,2,3]: 1 0 0 0 1 0 | int64[3]: 1 1 2", "invalid"},
    {"AffineGrid", 20, "", "float[1,2,3]: 1 0 0 0 1 0 | int64[4]: 1 1 9000000000 90000000000",
     "limit"},
    {"DeformConv", 22, "",
     "bfloat16[1,1,1,2]: 1 3 | bfloat16[1,1,1,1]: 2 | "
     "bfloat16[1,2,1,2]: 0 0 0.5 0.5",
     "bfloat16[1,1,1,2]: 4 3"},
    {"DeformConv", 19, "", "float[1,1,3]: 1 3 5 | float[1,1,1]: 2 | float[1,1,3]: 0 0.5 9",
     "float[1,1,3]: 2 8 0"},
    {"DeformConv", 19, "", "float[1,1,1,2]: 1 3 | float[1,1,1,1]: 2 | float[1,2,1,2]: 0 0 nan 0",
     "!float[1,1,1,2]: 0 6"},
    {"DeformConv", 19, "", "float[1,1,1,2]: 1 3 | float[1,1,1,1]: 2 | float[1,1,1,2]: 0 0",
     "invalid"},
    {"DeformConv", 19, "offset_group=2",
     "float[1,1,1,2]: 1 3 | float[1,1,1,1]: 2 | "
     "float[1,4,1,2]: 0 0 0 0 0 0 0 0",
     "invalid"},
    {"DeformConv", 19, "",
     "float[0,1,1,2]: | float[1,1,1,1]: 2 | float[0,2,1,2]:", "float[0,1,1,2]:"},
    {"RoiAlign", 22, "sampling_ratio=1",
     "bfloat16[1,1,1,1]: 3 | bfloat16[1,4]: 0 0 1 1 | int64[1]: 0", "bfloat16[1,1,1,1]: 3"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[0,4]: | int64[0]:", "float[0,1,1,1]:"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 9 9 12 12 | int64[1]: 0",
     "float[1,1,1,1]: 0"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 5 5 2 2 | int64[1]: 0",
     "float[1,1,1,1]: 0"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 0 0 1 1 | int64[1]: 1", "invalid"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 0 0 1 1 | int64[2]: 0 0", "invalid"},
    {"RoiAlign", 16, "mode=min", "float[1,1,1,1]: 3 | float[1,4]: 0 0 1 1 | int64[1]: 0",
     "invalid"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 0 0 nan 1 | int64[1]: 0", "unsupported"},
    {"RoiAlign", 16, "", "float[1,1,1,1]: 3 | float[1,4]: 0 0 1e9 1 | int64[1]: 0", "unsupported"},
    {"RoiAlign", 16, "sampling_ratio=60000",
     "float[1,1,1,1]: 3 | float[1,4]: 0 0 1 1 | int64[1]: 0", "limit"},
    {"RoiAlign", 16, "output_height=0", "float[1,1,1,1]: 3 | float[1,4]: 0 0 1 1 | int64[1]: 0",
     "invalid"},
    {"MaxRoiPool", 22, "pooled_shape=[1,2]", "float16[1,1,1,2]: 3 5 | float16[1,5]: 0 0 0 5 0",
     "float16[1,1,1,2]: 5 0"},
    {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[1,1,1,2]: 3 nan | float[1,5]: 0 0 0 5 0",
     "unsupported"},
    {"MaxRoiPool", 1, "pooled_shape=[1,1]", "float[1,1,1,2]: 3 5 | float[1,5]: 1 0 0 5 0",
     "invalid"},
    {"MaxRoiPool", 1, "pooled_shape=[1]", "float[1,1,1,2]: 3 5 | float[1,5]: 0 0 0 5 0", "invalid"},
    {"Col2Im", 18, "", "uint8[1,2,2]: 200 100 100 3 | int64[1]: 3 | int64[1]: 2",
     "uint8[1,1,3]: 200 200 3"},
    {"Col2Im", 18, "dilations=[2]", "float[1,2,1]: 3 5 | int64[1]: 3 | int64[1]: 2",
     "!float[1,1,3]: 3 0 5"},
    {"Col2Im", 18, "", "bfloat16[0,2,2]: | int64[1]: 3 | int64[1]: 2", "bfloat16[0,1,3]:"},
    {"Col2Im", 18, "", "float[1,2,2]: 1 2 3 4 | int64[1]: 4 | int64[1]: 2", "invalid"},
    {"Col2Im", 18, "", "float[1,3,2]: 1 2 3 4 5 6 | int64[1]: 3 | int64[1]: 2", "invalid"},
    {"Col2Im", 18, "", "bool[1,2,2]: 1 1 1 1 | int64[1]: 3 | int64[1]: 2", "unsupported"},
    {"CenterCropPad", 18, "", "int32[4]: 1 2 3 4 | int64[1]: 3", "int32[3]: 1 2 3"},
    {"CenterCropPad", 18, "", "float[2]: 1 2 | int32[1]: 5", "float[5]: 0 1 2 0 0"},
    {"CenterCropPad", 18, "axes=[-1]", "float[2,3]: 1 2 3 4 5 6 | int64[1]: 1", "float[2,1]: 2 5"},
    {"CenterCropPad", 18, "", "float[2,3]: 1 2 3 4 5 6 | int64[2]: 3 1", "float[3,1]: 2 5 0"},
    {"CenterCropPad", 18, "", "string[3]: a b c | int64[1]: 1", "string[1]: b"},
    {"CenterCropPad", 18, "", "string[1]: a | int64[1]: 3", "unsupported"},
    {"CenterCropPad", 18, "", "float[]: 5 | int64[0]:", "float[]: 5"},
    {"CenterCropPad", 18, "", "bool[0]: | int64[1]: 2", "bool[2]: 0 0"},
    {"CenterCropPad", 18, "", "float[2]: 1 2 | int64[1]: -1", "invalid"},
    {"CenterCropPad", 18, "axes=[0,-1]", "float[2]: 1 2 | int64[2]: 1 1", "invalid"},
    {"CenterCropPad", 18, "", "float[2]: 1 2 | int64[2]: 1 1", "invalid"},
    {"MaxUnpool", 9, "kernel_shape=[2]; strides=[2]", "double[1,1,2]: 5 6 | int64[1,1,2]: 1 2",
     "double[1,1,4]: 0 5 6 0"},
    {"MaxUnpool", 11, "kernel_shape=[2,2]; strides=[2,2]",
     "float[1,1,1,1]: 7 | int64[1,1,1,1]: 3 | int64[4]: 1 1 3 3",
     "!float[1,1,3,3]: 0 0 0 0 7 0 0 0 0"},
    {"MaxUnpool", 22, "kernel_shape=[2]", "float16[1,1,1]: nan | int64[1,1,1]: 0 | int64[3]: 1 1 2",
     "float16[1,1,2]: nan 0"},
    {"MaxUnpool", 9, "kernel_shape=[2]", "float[1,1,1]: 5 | int64[1,1,1]: 2", "invalid"},
    {"MaxUnpool", 9, "kernel_shape=[2]", "float[1,1,1]: 5 | int64[1,1,1]: -1", "invalid"},
    {"MaxUnpool", 9, "kernel_shape=[2]", "float[1,1,1]: 5 | int64[1,1,1]: 0 | int64[3]: 1 1 1",
     "invalid"},
    {"MaxUnpool", 9, "kernel_shape=[2]", "float[1,1,1]: 5 | int64[1,1]: 0", "invalid"},
    {"Det", 22, "", "bfloat16[2,2]: 1 2 3 4", "bfloat16[]: -2"},
    {"Det", 11, "", "float16[1,1]: -3", "float16[]: -3"},
    {"Det", 11, "", "float[2,2]: 1 2 2 4", "float[]: 0"},
    {"Det", 11, "", "double[2,2]: 0 1 1 0", "double[]: -1"},
    {"Det", 11, "", "float[2,0,0]:", "float[2]: 1 1"},
    {"Det", 11, "", "float[0,2,2]:", "float[0]:"},
    {"Det", 11, "", "float[2,2]: nan 1 1 0", "float[]: nan"},
    {"Det", 11, "", "float[1,2]: 1 2", "invalid"},
    {"Det", 11, "", "float[2]: 1 2", "invalid"},
    {"MeanVarianceNormalization", 9, "", "float[1,2,1,1]: 3 5", "float[1,2,1,1]: 0 0"},
    {"MeanVarianceNormalization", 9, "", "float[2]: 3 5", "invalid"},
    {"MeanVarianceNormalization", 13, "axes=[0]", "bfloat16[2]: 3 5", "bfloat16[2]: -1 1"},
    {"MeanVarianceNormalization", 13, "axes=[0]", "float[0]:", "float[0]:"},
    {"MeanVarianceNormalization", 13, "axes=[0]", "float[2]: 3 inf", "float[2]: nan nan"},
    {"LpNormalization", 22, "", "float[2,2]: 0 0 3 4", "~float[2,2]: 0 0 0.6 0.8"},
    {"Upsample", 1, "height_scale=1.0; width_scale=2.0", "int32[1,1,1,2]: 3 5",
     "int32[1,1,1,4]: 3 3 5 5"},
    {"Upsample", 1, "height_scale=1.0; width_scale=2.0; mode=bilinear", "float[1,1,1,2]: 3 5",
     "float[1,1,1,4]: 3 4 5 5"},
    {"Upsample", 1, "height_scale=1.0; width_scale=2.0; mode=linear", "float[1,1,1,2]: 3 5",
     "unsupported"},
    {"Upsample", 1, "height_scale=1.0; width_scale=2.0", "float[1,1,2]: 3 5", "invalid"},
    {"Resize", 10, "", "int32[6]: 1 2 3 4 5 6 | float[1]: 0.75", "!int32[4]: 1 3 4 5"},
    {"Resize", 10, "mode=linear", "float[4]: 1 2 3 4 | float[1]: 0.5", "!float[2]: 1 3"},
    {"Upsample", 9, "", "float[2]: 1 2 | float[1]: 0.5", "unsupported"},
    {"Resize", 19, "mode=linear; coordinate_transformation_mode=align_corners",
     "float[4]: 0 10 20 30 | - | float[1]: 0.6", "!~float[2]: 0 21.42857"},
    {"GridSample", 16, "mode=bilinear; padding_mode=zeros; align_corners=0",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 0.25 4.3599997 0"},
    {"GridSample", 16, "mode=bilinear; padding_mode=border; align_corners=0",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5.45 3.9"},
    {"GridSample", 16, "mode=bilinear; padding_mode=reflection; align_corners=0",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5.45 3.8000002"},
    {"GridSample", 16, "mode=nearest; padding_mode=zeros; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5 3"},
    {"GridSample", 16, "mode=nearest; padding_mode=border; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5 3"},
    {"GridSample", 16, "mode=nearest; padding_mode=reflection; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5 3"},
    {"GridSample", 16, "mode=bicubic; padding_mode=zeros; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5.76898 3.1384795"},
    {"GridSample", 16, "mode=bicubic; padding_mode=border; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5.0061874 4.272"},
    {"GridSample", 16, "mode=bicubic; padding_mode=reflection; align_corners=1",
     "float[1,1,2,3]: 1 2 3 4 5 6 | float[1,1,3,2]: -1 -1 0.3 0.7 1.4 -0.2",
     "~float[1,1,1,3]: 1 5.25425 3.848"},
    {"GridSample", 20, "mode=linear",
     "float[1,1,2,2,2]: 0 1 2 3 4 5 6 7 | float[1,1,1,1,3]: 0.5 -0.5 0.25", "~float[1,1,1,1,1]: 4"},
    {"RoiAlign", 10, "output_height=2; output_width=1",
     "float[1,1,4,4]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | float[2,4]: 0 0 3 3 1 0.5 1.5 4 | "
     "int64[2]: 0 0",
     "~float[2,1,2,1]: 4.5 10.5 7 12.875"},
    {"RoiAlign", 16, "output_height=2; output_width=1; sampling_ratio=2",
     "float[1,1,4,4]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | float[2,4]: 0 0 3 3 1 0.5 1.5 4 | "
     "int64[2]: 0 0",
     "~float[2,1,2,1]: 2.25 8 4.25 11.125"},
    {"RoiAlign", 16,
     "mode=max; coordinate_transformation_mode=output_half_pixel; spatial_scale=0.5",
     "float[1,1,4,4]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | float[2,4]: 0 0 3 3 1 0.5 1.5 4 | "
     "int64[2]: 0 0",
     "~float[2,1,1,1]: 3.828125 5.0625"},
    {"MaxRoiPool", 1, "pooled_shape=[2,2]",
     "float[1,1,4,4]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | float[2,5]: 0 0 0 3 2 0 2 2 9 9",
     "~float[2,1,2,2]: 5 7 9 11 15 0 0 0"},
    {"DeformConv", 19, "pads=[1,0,0,0]",
     "float[1,1,2,2]: 0 0.3 1.3 0.5 | float[1,1,2,1]: -0.4 1.3 | float[1,4,2,2]: 0.2 -0.1 -0.8 "
     "-0.6 -0.6 -2.8 1 0.6 -0.2 1 0.4 0.4 -2.5 -0.2 0.5 1.6 | float[1]: 1.8 | float[1,2,2,2]: 1.4 "
     "-1.2 -2.2 0.6 0 1 -0.1 0.2",
     "~float[1,1,2,2]: 1.8 2.658 1.7825999 1.7884799"},
    {"Col2Im", 18, "pads=[0,1,0,1]; strides=[1,2]",
     "float[1,4,4]: -1.5 0.4 -0.4 0.3 0.5 -0.1 0.3 0 0.8 0.5 -0.5 -0.6 1.7 -0.1 1 0.4 | int64[2]: "
     "3 3 | int64[2]: 2 2",
     "~float[1,1,3,3]: 0.5 0.4 -0.1 2 0.8 -0.1 1 -0.6 0.4"},
    {"AffineGrid", 20, "align_corners=1",
     "float[1,2,3]: -0.6 -0.7 0.1 0.3 0.6 -1.3 | int64[4]: 1 1 2 2",
     "~float[1,2,2,2]: 1.4 -2.2 0.19999996 -1.5999999 3.7252903e-08 -0.99999994 -1.2 -0.39999992"},
    {"Det", 11, "",
     "float[2,3,3]: -0.6 -0.1 1.6 -2.4 0.4 -0.5 0.4 -0.5 0.4 1.6 0.4 0.4 0.4 -0.8 0.5 -0.2 -0.8 0",
     "~float[2]: 1.6420001 0.40800002"},
    {"MeanVarianceNormalization", 13, "axes=[-1,0]", "float[2,2,2]: -0.2 0.8 0 -0.5 1.5 1 1.3 0.6",
     "~float[2,2,2]: -1.5777711 0.040455684 -0.52030593 -1.2636001 1.1732144 0.36410102 1.4122589 "
     "0.37164712"},
};

static surg_context *ctx;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
}
static void teardown(void) {
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
  surg_context_free(ctx);
}

/* contrib.c: worked out by hand; a fold leaves all of them alone. */
#define MS "com.microsoft:"
static const kernel_row contrib_rows[] = {
    {MS "FastGelu", 1, "", "float[2]: 1 -1", "!~float[2]: 0.841191991 -0.158808009"},
    {MS "FastGelu", 1, "", "float[1,2]: 0 -2 | float[2]: 1 1",
     "!~float[1,2]: 0.841191991 -0.158808009"},
    {MS "BiasGelu", 1, "", "float[1,2]: 0 -2 | float[2]: 1 1",
     "!~float[1,2]: 0.841344746 -0.158655254"},
    {MS "Gelu", 1, "", "double[2]: 1 -1", "!~double[2]: 0.841344746068543 -0.158655253931457"},
    {MS "BiasGelu", 1, "", "float[2]: 0 -2 | float[3]: 1 1 1", "invalid"},
    {MS "SkipLayerNormalization", 1, "",
     "float[1,1,2]: 1 2 | float[1,1,2]: 0 1 | float[2]: 2 3 | float[2]: 1 1",
     "!~float[1,1,2]: -1 4 | float[1,1,1]: 2 | float[1,1,1]: 1 | float[1,1,2]: 1 3"},
    {MS "SkipLayerNormalization", 1, "",
     "float[2,1,2]: 1 2 0 0 | float[1,1,2]: 0 1 | float[2]: 2 3 | - | float[2]: 10 10",
     "!~float[2,1,2]: -2 3 -2 3 | - | - | float[2,1,2]: 11 13 10 11"},
    {MS "SkipLayerNormalization", 1, "", /* the sum is one of floats */
     "float[1,2]: 100000000 100000000 | float[1,2]: 3 0 | float[2]: 1 1",
     "!~float[1,2]: 0 0 | float[1,1]: 100000000 | float[1,1]: 1000000 | float[1,2]: 100000000 "
     "100000000"},
    {MS "SkipSimplifiedLayerNormalization", 1, "epsilon=0.0",
     "float[1,2]: 3 3 | float[1,2]: 0 1 | float[2]: 1 2", "!~float[1,2]: 0.848528137 2.2627417"},
    {"SimplifiedLayerNormalization", 17, "axis=-1; epsilon=0.0", "float[1,2]: 3 4 | float[2]: 1 2",
     "!~float[1,2]: 0.848528137 2.2627417 | float[1,1]: 0.282842712"},
    {MS "SkipLayerNormalization", 1, "", "float[1,2]: 1 2 | float[1,2]: 0 1 | float[3]: 2 3 4",
     "invalid"},
    {MS "FusedMatMul", 1, "alpha=2.0; transA=1", "float[2,2]: 1 2 3 4 | float[2,2]: 1 0 0 1",
     "!float[2,2]: 2 6 4 8"},
    {MS "FusedMatMul", 1, "transB=1", "float[1,2]: 1 2 | float[3,2]: 1 2 3 4 5 6",
     "!float[1,3]: 5 11 17"},
    {MS "FusedMatMul", 1, "transA=1; transB=1",
     "float[2,2,1]: 1 2 3 4 | float[1,2]: 10 100", "!float[2,1,1]: 210 430"},
    {MS "TransposeMatMul", 1, "transA=1", "float[2,1]: 1 2 | float[2,2,1]: 1 1 1 2",
     "!float[2,1,1]: 3 5"},
    {MS "FusedMatMul", 1, "", "float[1,2]: 1 2 | float[3,1]: 1 2 3", "!invalid"},
    {MS "FusedMatMul", 1, "transBatchA=1", "float[1,2]: 1 2 | float[2,1]: 1 2", "!unsupported"},
    {MS "FusedConv", 1, "activation=Relu", "float[1,1,3]: 1 -2 3 | float[1,1,1]: 2",
     "!float[1,1,3]: 2 0 6"},
    {MS "FusedConv", 1, "activation=Clip; activation_params=[-3.0,5.0]",
     "float[1,1,3]: 1 -2 3 | float[1,1,1]: 2 | float[1]: 1 | float[1,1,3]: 0 0 -1",
     "!float[1,1,3]: 3 -3 5"},
    {MS "FusedConv", 1, "activation=Clip", "float[1,1,1]: 1 | float[1,1,1]: 2", "!unsupported"},
    {MS "FusedConv", 1, "activation=Nonsense", "float[1,1,1]: 1 | float[1,1,1]: 2", "!unsupported"},
    {MS "FusedGemm", 1, "activation=LeakyRelu; activation_alpha=0.5",
     "float[1,1]: 1 | float[1,2]: -3 3 | float[]: 1", "!float[1,2]: -1 4"},
    {MS "QLinearAdd", 1, "",
     "uint8[2]: 10 255 | float[]: 0.5 | uint8[]: 0 | uint8[1]: 20 | float[]: 0.25 | uint8[]: 4 | "
     "float[]: 0.5 | uint8[]: 1",
     "!uint8[2]: 19 255"},
    {MS "QLinearMul", 1, "",
     "int8[2]: 10 -10 | float[]: 0.5 | - | int8[1]: 4 | float[]: 1 | - | float[]: 8 | int8[]: 1",
     "!int8[2]: 3 -1"},
    {MS "QLinearAdd", 1, "",
     "int8[2]: 1 2 | float[2]: 1 1 | - | int8[1]: 4 | float[]: 1 | - | float[]: 8 | -", "!invalid"},
    {MS "DequantizeLinear", 1, "axis=0", "int8[2]: 4 -4 | float[2]: 0.5 2 | int8[2]: 0 1",
     "!float[2]: 2 -10"},
    {MS "QuantizeLinear", 1, "", "float[2]: 2 -10 | float[]: 0.5 | int8[]: 1", "!int8[2]: 5 -19"},
};

#define ROW_TEST(name)                       \
  START_TEST(name) {                         \
    kernel_row_check(ctx, &name##_rows[_i]); \
  }                                          \
  END_TEST

ROW_TEST(recurrent)
ROW_TEST(attention)
ROW_TEST(loss)
ROW_TEST(image)
ROW_TEST(contrib)

int main(void) {
  Suite *s = suite_create("kernels_net");
  TCase *c = tcase_create("rows");
  tcase_add_checked_fixture(c, setup, teardown);
#define ADD(name) tcase_add_loop_test(c, name, 0, (int)SURG_COUNT(name##_rows))
  ADD(recurrent);
  ADD(attention);
  ADD(loss);
  ADD(image);
  ADD(contrib);
  suite_add_tcase(s, c);
  SRunner *runner = srunner_create(s);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
