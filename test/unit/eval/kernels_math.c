/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that compute, against results worked out by hand. */
#include "base/base.h"
#include "kernel_rows.h"

static const kernel_row binary_rows[] = {
    {"Add", 14, "", "float[2]: 1 2 | float[2]: 10 20", "float[2]: 11 22"},
    {"Add", 14, "", "float[2,1]: 1 2 | float[3]: 10 20 30", "float[2,3]: 11 21 31 12 22 32"},
    {"Add", 14, "", "float[]: 1 | float[]: 2", "float[]: 3"},
    {"Add", 14, "", "float[0,2]: | float[2]: 1 2", "float[0,2]:"},
    {"Add", 14, "", "float[2]: 1 2 | float[3]: 1 2 3", "invalid"},
    {"Add", 14, "", "float[1]: 1 | double[1]: 1", "invalid"},
    {"Add", 14, "", "string[1]: a | string[1]: b", "invalid"},
    {"Add", 13, "", "int8[1]: 1 | int8[1]: 1", "invalid"},
    {"Add", 14, "", "float[1]: 1", "invalid"},
    {"Add", 14, "", "float[1]: 1 | -", "invalid"},
    {"Add", 14, "", "int8[2]: 127 -128 | int8[2]: 1 -1", "int8[2]: -128 127"},
    {"Add", 7, "", "int64[1]: 9223372036854775807 | int64[1]: 1", "int64[1]: -9223372036854775808"},
    {"Add", 7, "", "int64[1]: 9007199254740993 | int64[1]: 2", "int64[1]: 9007199254740995"},
    {"Add", 14, "", "float[1]: inf | float[1]: -inf", "float[1]: nan"},
    {"Add", 14, "", "float[1]: -0 | float[1]: -0", "float[1]: -0"},
    {"Add", 14, "", "float16[2]: 1 65504 | float16[2]: 0.00048828125 65504", "float16[2]: 1 inf"},
    {"Add", 14, "", "bfloat16[1]: 256 | bfloat16[1]: 1", "bfloat16[1]: 256"},
    {"Add", 1, "", "float[2]: 1 2 | float[2]: 3 4", "float[2]: 4 6"},
    {"Add", 1, "", "float[2]: 1 2 | float[1]: 3", "invalid"},
    {"Add", 6, "broadcast=1", "float[2,2]: 1 2 3 4 | float[2]: 10 20", "float[2,2]: 11 22 13 24"},
    {"Add", 6, "broadcast=1; axis=0", "float[2,2]: 1 2 3 4 | float[2]: 10 20",
     "float[2,2]: 11 12 23 24"},
    {"Add", 6, "broadcast=1; axis=1", "float[1,2,2]: 1 2 3 4 | float[2]: 10 20",
     "float[1,2,2]: 11 12 23 24"},
    {"Add", 6, "broadcast=1; axis=2", "float[2,2]: 1 2 3 4 | float[2]: 10 20", "invalid"},
    {"Add", 6, "broadcast=1", "float[2]: 1 2 | float[2,2]: 1 2 3 4", "invalid"},
    {"Add", 6, "broadcast=1", "float[2]: 1 2 | float[]: 5", "float[2]: 6 7"},
    {"Sub", 14, "", "uint8[1]: 1 | uint8[1]: 2", "uint8[1]: 255"},
    {"Sub", 7, "", "float[2]: 1 2 | float[1]: 3", "float[2]: -2 -1"},
    {"Mul", 14, "", "uint16[1]: 65535 | uint16[1]: 65535", "uint16[1]: 1"},
    {"Mul", 14, "", "int32[1]: 65536 | int32[1]: 65537", "int32[1]: 65536"},
    {"Mul", 7, "", "int64[1]: 3037000501 | int64[1]: 3037000501", "int64[1]: -9223372030635300615"},
    {"Div", 14, "", "int32[4]: 7 -7 7 -7 | int32[4]: 2 2 -2 -2", "int32[4]: 3 -3 -3 3"},
    {"Div", 14, "", "int32[1]: 1 | int32[1]: 0", "unsupported"},
    {"Div", 14, "", "int8[1]: -128 | int8[1]: -1", "unsupported"},
    {"Div", 7, "", "int64[1]: -9223372036854775808 | int64[1]: -1", "unsupported"},
    {"Div", 14, "", "uint64[1]: 18446744073709551615 | uint64[1]: 2",
     "uint64[1]: 9223372036854775807"},
    {"Div", 14, "", "float[3]: 1 -1 0 | float[3]: 0 0 0", "float[3]: inf -inf nan"},
    {"Mod", 13, "", "int32[4]: 7 -7 7 -7 | int32[4]: 3 3 -3 -3", "int32[4]: 1 2 -2 -1"},
    {"Mod", 13, "fmod=1", "int32[4]: 7 -7 7 -7 | int32[4]: 3 3 -3 -3", "int32[4]: 1 -1 1 -1"},
    {"Mod", 13, "fmod=1", "float[2]: 7.5 -7.5 | float[1]: 2", "float[2]: 1.5 -1.5"},
    {"Mod", 13, "", "float[1]: 7.5 | float[1]: 2", "invalid"},
    {"Mod", 13, "", "int32[1]: 1 | int32[1]: 0", "unsupported"},
    {"Mod", 10, "", "uint8[1]: 255 | uint8[1]: 16", "uint8[1]: 15"},
    {"PRelu", 9, "", "float[2,2]: -1 2 -3 4 | float[2]: 0.5 0.25", "float[2,2]: -0.5 2 -1.5 4"},
    {"PRelu", 6, "", "float[1,2,2]: -1 -2 -3 4 | float[2]: 2 3", "float[1,2,2]: -2 -4 -9 4"},
    {"PRelu", 9, "", "float[2]: -1 2 | float[2,1]: 1 2", "invalid"},
    {"PRelu", 9, "", "float[2]: -1 2 | float[1,1,1]: 3", "invalid"},
    {"PRelu", 9, "", "int32[2]: -2 2 | int32[1]: 3", "int32[2]: -6 2"},
    {"BitShift", 11, "direction=LEFT", "uint8[2]: 255 1 | uint8[2]: 4 7", "uint8[2]: 240 128"},
    {"BitShift", 11, "direction=RIGHT", "uint64[1]: 18446744073709551615 | uint64[1]: 63",
     "uint64[1]: 1"},
    {"BitShift", 11, "direction=LEFT", "uint8[1]: 1 | uint8[1]: 8", "unsupported"},
    {"BitShift", 11, "direction=UP", "uint8[1]: 1 | uint8[1]: 1", "invalid"},
    {"BitwiseAnd", 18, "", "int16[1]: -1 | int16[1]: 255", "int16[1]: 255"},
    {"BitwiseOr", 18, "", "uint8[2]: 1 2 | uint8[1]: 4", "uint8[2]: 5 6"},
    {"BitwiseXor", 18, "", "int32[1]: -1 | int32[1]: 5", "int32[1]: -6"},
    {"Pow", 15, "", "float[3]: 2 9 -2 | float[3]: 3 0.5 3", "float[3]: 8 3 -8"},
    {"Pow", 7, "", "float[2]: 2 3 | float[]: 2", "float[2]: 4 9"},
    {"Pow", 1, "broadcast=1", "float[2,2]: 1 2 3 4 | float[2]: 2 0", "float[2,2]: 1 1 9 1"},
    {"Pow", 12, "", "int64[1]: 3 | int64[1]: 39", "!int64[1]: 4052555153018976267"},
    {"Pow", 12, "", "int32[1]: 2 | int32[1]: 32", "!int32[1]: 0"},
    {"Pow", 12, "", "int32[1]: -2 | float[1]: 3", "int32[1]: -8"},
    {"Pow", 12, "", "int32[1]: 2 | float[1]: 0.5", "unsupported"},
    {"Pow", 12, "", "int32[1]: 2 | int8[1]: -1", "unsupported"},
    {"Pow", 12, "", "int64[1]: 1 | int64[1]: 9223372036854775807", "int64[1]: 1"},
    {"Pow", 12, "", "double[1]: 2 | uint64[1]: 18446744073709551615", "unsupported"},
    {"Pow", 12, "", "float[2]: 2 2 | int64[2]: -2 10", "float[2]: 0.25 1024"},
    {"Pow", 13, "", "bfloat16[1]: 3 | int32[1]: 2", "bfloat16[1]: 9"},
};

static const kernel_row many_rows[] = {
    {"Min", 13, "", "float[2]: 1 5 | float[2]: 3 4 | float[1]: 2", "float[2]: 1 2"},
    {"Max", 13, "", "float[2]: 1 nan | float[1]: 3", "float[2]: 3 nan"},
    {"Max", 13, "", "float[1]: 3 | float[2]: 1 nan", "float[2]: 3 nan"},
    {"Max", 13, "", "float[1]: nan", "float[1]: nan"},
    {"Min", 12, "", "uint64[1]: 18446744073709551615 | uint64[1]: 1", "uint64[1]: 1"},
    {"Max", 12, "", "int8[1]: -1 | int8[1]: -128", "int8[1]: -1"},
    {"Max", 8, "", "float[2,1]: 1 2 | float[2]: 0 3", "float[2,2]: 1 3 2 3"},
    {"Max", 6, "", "float[2]: 1 2 | float[1]: 3", "invalid"},
    {"Max", 6, "", "float[1]: 1 | float[1]: 3", "float[1]: 3"},
    {"Max", 13, "", "float16[1]: 1 | float16[1]: -inf", "float16[1]: 1"},
    {"Sum", 13, "", "float[2]: 1 2 | float[1]: 10 | float[]: 100", "float[2]: 111 112"},
    {"Sum", 13, "", "float[1]: -0", "float[1]: -0"},
    /* Added in double: in float the ones would be lost. */
    {"Sum", 13, "", "float[1]: 16777216 | float[1]: 1 | float[1]: 1", "float[1]: 16777218"},
    {"Mean", 13, "", "float[2]: 1 2 | float[2]: 2 4", "float[2]: 1.5 3"},
    {"Mean", 13, "", "bfloat16[1]: 256 | bfloat16[1]: 258 | bfloat16[1]: 260", "bfloat16[1]: 258"},
    {"Sum", 13, "", "int32[1]: 1", "invalid"},
    {"Sum", 13, "", "float[2]: 1 2 | float[3]: 1 2 3", "invalid"},
};

static const kernel_row compare_rows[] = {
    {"Equal", 13, "", "float[3]: 1 nan -0 | float[3]: 1 nan 0", "bool[3]: 1 0 1"},
    {"Equal", 19, "", "string[3]: a b ab | string[1]: ab", "bool[3]: 0 0 1"},
    {"Equal", 13, "", "string[1]: a | string[1]: a", "invalid"},
    {"Equal", 1, "", "bool[2]: 1 0 | bool[2]: 1 1", "bool[2]: 1 0"},
    {"Equal", 7, "", "int64[1]: 9007199254740993 | int64[1]: 9007199254740992", "bool[1]: 0"},
    {"Equal", 6, "broadcast=1; axis=0", "int32[2,1]: 1 2 | int32[2]: 1 1", "bool[2,1]: 1 0"},
    {"Less", 13, "", "int8[2]: -1 1 | int8[1]: 0", "bool[2]: 1 0"},
    {"Less", 13, "", "uint8[1]: 255 | uint8[1]: 1", "bool[1]: 0"},
    {"Greater", 13, "", "uint64[1]: 18446744073709551615 | uint64[1]: 1", "bool[1]: 1"},
    {"Greater", 9, "", "float[2,1]: 1 2 | float[2]: 1 1", "bool[2,2]: 0 0 1 1"},
    {"LessOrEqual", 16, "", "float[3]: 1 2 nan | float[3]: 1 1 1", "bool[3]: 1 0 0"},
    {"GreaterOrEqual", 12, "", "int64[2]: -1 0 | int64[1]: 0", "bool[2]: 0 1"},
    {"And", 7, "", "bool[2,1]: 1 0 | bool[2]: 1 0", "bool[2,2]: 1 0 0 0"},
    {"Or", 7, "", "bool[2]: 1 0 | bool[1]: 0", "bool[2]: 1 0"},
    {"Xor", 7, "", "bool[2]: 1 0 | bool[1]: 1", "bool[2]: 0 1"},
    {"Xor", 1, "broadcast=1", "bool[1,2]: 1 0 | bool[2]: 1 1", "bool[1,2]: 0 1"},
    {"And", 7, "", "int32[1]: 1 | int32[1]: 1", "invalid"},
    {"Not", 1, "", "bool[2]: 1 0", "bool[2]: 0 1"},
    {"Where", 9, "", "bool[2]: 1 0 | float[2,1]: 1 2 | float[]: 9", "float[2,2]: 1 9 2 9"},
    {"Where", 9, "", "bool[2]: 1 0 | string[1]: yes | string[1]: no", "string[2]: yes no"},
    {"Where", 9, "", "bool[1]: 0 | complex64[1]: 1 | complex64[1]: 2", "complex64[1]: 2"},
    {"Where", 16, "", "bool[1]: 1 | bfloat16[1]: 1 | bfloat16[1]: 2", "bfloat16[1]: 1"},
    {"Where", 9, "", "bool[1]: 1 | float[1]: 1 | int32[1]: 2", "invalid"},
    {"IsNaN", 13, "", "float[3]: nan 1 inf", "bool[3]: 1 0 0"},
    {"IsNaN", 20, "", "float8e4m3fn[2]: nan 1", "bool[2]: 1 0"},
    {"IsInf", 10, "", "float[4]: inf -inf 1 nan", "bool[4]: 1 1 0 0"},
    {"IsInf", 10, "detect_negative=0", "float[2]: inf -inf", "bool[2]: 1 0"},
    {"IsInf", 20, "detect_positive=0", "float16[2]: inf -inf", "bool[2]: 0 1"},
    {"IsInf", 20, "", "float8e5m2[2]: inf 1", "bool[2]: 1 0"},
};

static const kernel_row unary_rows[] = {
    {"Neg", 13, "", "float[3]: 1 -0 nan", "float[3]: -1 0 nan"},
    {"Neg", 13, "", "int8[2]: -128 5", "int8[2]: -128 -5"},
    {"Neg", 1, "", "int32[1]: 1", "invalid"},
    {"Abs", 13, "", "int64[1]: -9223372036854775808", "int64[1]: -9223372036854775808"},
    {"Abs", 13, "", "uint64[1]: 18446744073709551615", "uint64[1]: 18446744073709551615"},
    {"Abs", 6, "", "float16[2]: -1.5 -0", "float16[2]: 1.5 0"},
    {"Sign", 13, "", "float[4]: -2 0 3 nan", "float[4]: -1 0 1 nan"},
    {"Sign", 9, "", "int8[3]: -7 0 7", "int8[3]: -1 0 1"},
    {"Sign", 9, "", "uint8[2]: 0 200", "uint8[2]: 0 1"},
    {"Relu", 14, "", "int32[2]: -1 2", "int32[2]: 0 2"},
    {"Relu", 13, "", "float[3]: -1 2 nan", "float[3]: 0 2 nan"},
    {"BitwiseNot", 18, "", "uint8[1]: 1", "uint8[1]: 254"},
    {"Sqrt", 13, "", "float[3]: 4 2 -1", "float[3]: 2 1.41421354 nan"},
    {"Exp", 13, "", "float[2]: 0 -inf", "float[2]: 1 0"},
    {"Log", 13, "", "float[3]: 1 0 -1", "float[3]: 0 -inf nan"},
    {"Floor", 13, "", "float[2]: -1.5 1.5", "float[2]: -2 1"},
    {"Ceil", 13, "", "float[2]: -1.5 1.5", "float[2]: -1 2"},
    {"Round", 11, "", "float[6]: 0.5 1.5 2.5 -0.5 -1.5 0.49999997", "float[6]: 0 2 2 -0 -2 0"},
    {"Round", 22, "", "bfloat16[1]: 2.5", "bfloat16[1]: 2"},
    {"Reciprocal", 13, "", "float[2]: 4 -0", "float[2]: 0.25 -inf"},
    {"Erf", 13, "", "float[2]: 0 0.5", "~float[2]: 0 0.5204998778"},
    {"Erf", 9, "", "int32[1]: 0", "unsupported"},
    {"Tanh", 13, "", "double[1]: 0.5", "~double[1]: 0.46211715726"},
    {"Sigmoid", 13, "", "float[3]: 0 -1000 1000", "float[3]: 0.5 0 1"},
    {"Sigmoid", 13, "", "float[1]: 2", "~float[1]: 0.880797078"},
    {"LeakyRelu", 16, "", "float[2]: -1 1", "float[2]: -0.01 1"},
    {"LeakyRelu", 6, "alpha=0.5", "float[2]: -1 1", "float[2]: -0.5 1"},
    {"Elu", 6, "alpha=2.0", "float[2]: -1 1", "~float[2]: -1.264241118 1"},
    {"Selu", 6, "", "float[2]: -1 1", "~float[2]: -1.111330738 1.05070099"},
    {"Celu", 12, "alpha=2.0", "float[2]: -1 1", "~float[2]: -0.786938681 1"},
    {"ThresholdedRelu", 10, "alpha=1.5", "float[3]: 1.5 2 -3", "float[3]: 0 2 0"},
    {"HardSigmoid", 6, "", "float[3]: -9 0 9", "float[3]: 0 0.5 1"},
    {"HardSwish", 14, "", "float[3]: -4 3 1", "~float[3]: -0 3 0.666666667"},
    {"Softplus", 1, "", "float[3]: 0 100 -1000", "~float[3]: 0.693147181 100 0"},
    {"Softsign", 1, "", "float[2]: -1 3", "float[2]: -0.5 0.75"},
    {"Mish", 18, "", "float[1]: 1", "~float[1]: 0.865098388"},
    {"Gelu", 20, "", "float[1]: 1", "~float[1]: 0.841344746"},
    {"Gelu", 20, "approximate=tanh", "float[1]: 1", "~float[1]: 0.841191990"},
    {"Gelu", 20, "approximate=no", "float[1]: 1", "invalid"},
    {"Swish", 24, "", "float[1]: 1", "~float[1]: 0.731058579"},
    {"Sin", 7, "", "float[2]: 0 1", "~float[2]: 0 0.841470985"},
    {"Atanh", 9, "", "float[2]: 1 2", "float[2]: inf nan"},
    {"Clip", 13, "", "float[3]: -5 0 5 | float[]: -1 | float[]: 1", "float[3]: -1 0 1"},
    {"Clip", 13, "", "float[3]: -5 nan 5 | - | float[]: 1", "float[3]: -5 nan 1"},
    {"Clip", 13, "", "float[1]: 0 | float[]: 2 | float[]: 1", "float[1]: 1"},
    {"Clip", 12, "", "int8[3]: -5 0 5 | int8[]: -1", "int8[3]: -1 0 5"},
    {"Clip", 12, "", "uint64[1]: 18446744073709551615 | - | uint64[]: 3", "uint64[1]: 3"},
    {"Clip", 13, "", "float[1]: 0 | float[2]: 2 3", "invalid"},
    {"Clip", 6, "min=-1.0; max=1.0", "float[3]: -5 0 5", "float[3]: -1 0 1"},
    {"Clip", 1, "max=1.0", "float[2]: -5 5", "float[2]: -5 1"},
    {"Clip", 13, "", "float[]: inf", "float[]: 3.40282347e+38"},
};

static const kernel_row cast_rows[] = {
    {"Cast", 13, "to=7", "float[3]: 1.9 -1.9 0", "int64[3]: 1 -1 0"},
    {"Cast", 13, "to=6", "float[1]: nan", "unsupported"},
    {"Cast", 13, "to=6", "float[1]: 2147483648", "unsupported"},
    {"Cast", 13, "to=6", "float[1]: -2147483648", "int32[1]: -2147483648"},
    {"Cast", 13, "to=2", "float[1]: -0.9", "uint8[1]: 0"},
    {"Cast", 13, "to=2", "float[1]: -1", "unsupported"},
    {"Cast", 13, "to=7", "double[1]: 9223372036854775808", "unsupported"},
    {"Cast", 13, "to=13", "double[1]: 18446744073709549568", "uint64[1]: 18446744073709549568"},
    {"Cast", 13, "to=3", "int16[2]: 200 -300", "int8[2]: -56 -44"},
    {"Cast", 13, "to=13", "int8[1]: -1", "uint64[1]: 18446744073709551615"},
    {"Cast", 13, "to=7", "uint64[1]: 18446744073709551615", "int64[1]: -1"},
    {"Cast", 13, "to=9", "float[4]: 0 -0 0.1 nan", "bool[4]: 0 0 1 1"},
    {"Cast", 13, "to=1", "bool[2]: 0 1", "float[2]: 0 1"},
    {"Cast", 13, "to=1", "int64[1]: 9007199791611905", "float[1]: 9007200328482816"},
    {"Cast", 13, "to=11", "int64[1]: 9007199254740993", "double[1]: 9007199254740992"},
    {"Cast", 13, "to=1", "uint64[1]: 18446744073709551615", "float[1]: 18446744073709551616"},
    /* 2^62 + 2^54 + 1: a tie for bfloat16 but for the last bit, which double would lose. */
    {"Cast", 13, "to=16", "int64[1]: 4629700416936869889", "bfloat16[1]: 4647714815446351872"},
    {"Cast", 13, "to=16", "int64[1]: 4629700416936869888", "bfloat16[1]: 4611686018427387904"},
    {"Cast", 13, "to=10", "int32[2]: 2049 200000", "float16[2]: 2048 inf"},
    {"Cast", 13, "to=10", "double[1]: 1.0004882812509095", "float16[1]: 1.0009765625"},
    {"Cast", 13, "to=1", "float[1]: nan", "float[1]: nan"},
    {"Cast", 1, "to=DOUBLE", "float[1]: 1.5", "double[1]: 1.5"},
    {"Cast", 1, "to=DOUBT", "float[1]: 1.5", "invalid"},
    {"Cast", 13, "to=99", "float[1]: 1.5", "invalid"},
    {"Cast", 13, "", "float[1]: 1.5", "invalid"},
    {"Cast", 6, "to=22", "float[1]: 1", "invalid"},
    {"Cast", 13, "to=1", "string[6]: 1.5 -2e3 INF -inf NaN +1",
     "float[6]: 1.5 -2000 inf -inf nan 1"},
    {"Cast", 13, "to=1", "string[1]: 0x10", "unsupported"},
    {"Cast", 13, "to=1", "string[1]: 1.5x", "unsupported"},
    {"Cast", 13, "to=1", "string[1]: \"\"", "unsupported"},
    {"Cast", 13, "to=1", "string[1]: infinity", "unsupported"},
    {"Cast", 13, "to=7", "string[2]: -9223372036854775808 12", "int64[2]: -9223372036854775808 12"},
    {"Cast", 13, "to=7", "string[1]: 9223372036854775808", "unsupported"},
    {"Cast", 13, "to=2", "string[1]: 256", "unsupported"},
    {"Cast", 13, "to=2", "string[1]: -1", "unsupported"},
    {"Cast", 13, "to=7", "string[1]: 1.5", "unsupported"},
    {"Cast", 13, "to=9", "string[1]: 1", "unsupported"},
    {"Cast", 13, "to=8", "int64[2]: -9223372036854775808 5", "string[2]: -9223372036854775808 5"},
    {"Cast", 13, "to=8", "uint64[1]: 18446744073709551615", "string[1]: 18446744073709551615"},
    {"Cast", 13, "to=8", "float[4]: 0.1 -1.5 nan -inf", "string[4]: 0.1 -1.5 NaN -INF"},
    {"Cast", 13, "to=8", "float[1]: 1", "unsupported"},
    {"Cast", 13, "to=8", "float16[1]: 0.1", "string[1]: 0.1"},
    {"Cast", 13, "to=8", "double[1]: 0.1", "string[1]: 0.1"},
    {"Cast", 13, "to=8", "bool[1]: 1", "unsupported"},
    {"Cast", 19, "to=17", "float[4]: 449 -1000 inf 0.001",
     "float8e4m3fn[4]: 448 -448 448 0.001953125"},
    {"Cast", 19, "to=17; saturate=0", "float[2]: 1000 inf", "float8e4m3fn[2]: nan nan"},
    {"Cast", 19, "to=19; saturate=0", "float[1]: 1e9", "float8e5m2[1]: inf"},
    {"Cast", 19, "to=1", "float8e5m2fnuz[3]: 1.75 nan 0", "float[3]: 1.75 nan 0"},
    {"Cast", 21, "to=22", "float[3]: -8 8 -9", "int4[3]: -8 -8 7"},
    {"Cast", 21, "to=22", "float[1]: 7.9", "unsupported"},
    {"Cast", 21, "to=21", "float[1]: inf", "unsupported"},
    {"Cast", 21, "to=22", "int32[2]: 8 -9", "int4[2]: -8 7"},
    {"Cast", 21, "to=1", "uint4[3]: 0 9 15", "float[3]: 0 9 15"},
    {"Cast", 23, "to=23", "float[4]: 0.3 5 -100 inf", "float4e2m1[4]: 0.5 4 -6 6"},
    {"Cast", 23, "to=23", "float[1]: nan", "unsupported"},
    {"Cast", 25, "to=26", "int8[3]: -2 1 2", "int2[3]: -2 1 -2"},
    {"Cast", 24, "to=24", "float[4]: 1 3 0.75 0", "float8e8m0[4]: 1 4 1 0"},
    {"Cast", 24, "to=24; round_mode=down", "float[2]: 3 0.75", "float8e8m0[2]: 2 0.5"},
    {"Cast", 24, "to=24; round_mode=nearest", "float[2]: 2.9 3.1", "float8e8m0[2]: 2 4"},
    {"Cast", 24, "to=24", "float[1]: -1", "unsupported"},
    {"Cast", 13, "to=1", "complex64[1]: 1", "invalid"},
    {"CastLike", 15, "", "float[2]: 1.5 2.5 | int32[0]:", "int32[2]: 1 2"},
};

static const kernel_row reduce_rows[] = {
    {"ReduceSum", 13, "", "float[2,2]: 1 2 3 4 | int64[1]: 0", "float[1,2]: 4 6"},
    {"ReduceSum", 13, "keepdims=0", "float[2,2]: 1 2 3 4 | int64[1]: -1", "float[2]: 3 7"},
    {"ReduceSum", 13, "", "float[2,2]: 1 2 3 4", "float[1,1]: 10"},
    {"ReduceSum", 13, "", "float[2,2]: 1 2 3 4 | int64[0]:", "float[1,1]: 10"},
    {"ReduceSum", 13, "noop_with_empty_axes=1", "float[2]: 1 2 | int64[0]:", "float[2]: 1 2"},
    {"ReduceSum", 13, "keepdims=0", "float[2,3,2]: 1 2 3 4 5 6 7 8 9 10 11 12 | int64[2]: 0 2",
     "float[3]: 18 26 34"},
    {"ReduceSum", 11, "axes=[0,2]; keepdims=0", "float[2,3,2]: 1 2 3 4 5 6 7 8 9 10 11 12",
     "float[3]: 18 26 34"},
    {"ReduceSum", 13, "", "float[2]: 1 2 | int64[1]: 1", "invalid"},
    {"ReduceSum", 13, "", "float[2,1]: 1 2 | int64[2]: 0 -2", "invalid"},
    {"ReduceSum", 13, "keepdims=0", "float[2,0]: | int64[1]: 1", "float[2]: 0 0"},
    {"ReduceSum", 13, "keepdims=0", "float[0,2]: | int64[1]: 1", "float[0]:"},
    {"ReduceSum", 13, "", "int32[2]: 2147483647 1 | int64[1]: 0", "!int32[1]: -2147483648"},
    {"ReduceSum", 13, "", "float[]: 5", "float[]: 5"},
    {"ReduceSum", 13, "", "float16[4]: 2048 1 1 1 | int64[1]: 0", "float16[1]: 2052"},
    {"ReduceMean", 18, "", "float[4]: 1 2 3 4 | int64[1]: 0", "float[1]: 2.5"},
    {"ReduceMean", 1, "axes=[0]", "int32[2]: -1 -2", "int32[1]: -1"},
    {"ReduceMean", 13, "axes=[0]", "int32[2]: 2147483647 2147483647", "unsupported"},
    {"ReduceMean", 13, "axes=[0]", "int64[3]: 5 -7 -5", "int64[1]: -2"},
    {"ReduceMean", 13, "axes=[0]", "int64[2]: -9223372036854775807 -2", "unsupported"},
    {"ReduceMean", 13, "axes=[0]", "uint64[2]: 18446744073709551615 1", "unsupported"},
    {"ReduceMean", 13, "axes=[0]", "float[0]:", "unsupported"},
    {"ReduceProd", 18, "", "int64[3]: 2 3 -4", "int64[1]: -24"},
    {"ReduceProd", 18, "keepdims=0", "float[0]:", "float[]: 1"},
    {"ReduceMax", 20, "", "bool[2]: 0 1", "bool[1]: 1"},
    {"ReduceMin", 20, "keepdims=0", "bool[0]:", "bool[]: 1"},
    {"ReduceMax", 18, "keepdims=0", "float[0]:", "float[]: -inf"},
    {"ReduceMax", 18, "keepdims=0", "int8[0]:", "int8[]: -128"},
    {"ReduceMin", 18, "keepdims=0", "uint64[0]:", "uint64[]: 18446744073709551615"},
    {"ReduceMax", 13, "", "float[0]:", "unsupported"},
    {"ReduceMax", 13, "axes=[1]", "int64[2,2]: -1 -2 5 9223372036854775807",
     "int64[2,1]: -1 9223372036854775807"},
    {"ReduceMin", 13, "", "uint8[3]: 200 100 150", "uint8[1]: 100"},
    {"ReduceMax", 13, "", "float[3]: 1 nan 2", "!float[1]: nan"},
    {"ReduceMax", 13, "", "float[3]: -0 0 -1", "!float[1]: 0"},
    {"ReduceMin", 13, "axes=[0]", "float16[2,2]: 0 1 -0 nan", "!float16[1,2]: -0 nan"},
    {"ReduceMin", 13, "", "double[2]: 0 -0", "!double[1]: -0"},
    {"ReduceMax", 13, "", "bfloat16[3]: -inf -2 -3", "bfloat16[1]: -2"},
    {"ReduceMax", 20, "keepdims=0", "bool[0]:", "bool[]: 0"},
    {"ReduceL1", 18, "", "float[2]: -3 4", "float[1]: 7"},
    {"ReduceL1", 1, "", "int32[2]: -3 4", "int32[1]: 7"},
    {"ReduceL2", 13, "", "float[2]: -3 4", "float[1]: 5"},
    {"ReduceL2", 13, "", "int32[2]: -3 4", "unsupported"},
    {"ReduceSumSquare", 18, "", "int32[2]: -3 4", "int32[1]: 25"},
    {"ReduceSumSquare", 18, "noop_with_empty_axes=1", "float[2]: 2 3", "unsupported"},
    {"ReduceLogSum", 18, "", "float[2]: 0.25 0.75", "float[1]: 0"},
    {"ReduceLogSum", 18, "keepdims=0", "float[0]:", "float[]: -inf"},
    {"ReduceLogSumExp", 18, "", "float[2]: 1000 1000", "~float[1]: 1000.693147"},
    {"ReduceLogSumExp", 18, "", "float[2]: -inf -inf", "float[1]: -inf"},
    {"ArgMax", 13, "", "float[2,2]: 1 5 3 2", "int64[1,2]: 1 0"},
    {"ArgMax", 13, "axis=-1; keepdims=0", "int8[2,3]: 1 5 5 -2 -3 -2", "int64[2]: 1 0"},
    {"ArgMax", 13, "axis=-1; keepdims=0; select_last_index=1", "int8[2,3]: 1 5 5 -2 -3 -2",
     "int64[2]: 2 2"},
    {"ArgMin", 13, "axis=1", "uint64[1,2]: 18446744073709551615 1", "int64[1,1]: 1"},
    {"ArgMax", 13, "", "float[2]: 1 nan", "unsupported"},
    {"ArgMax", 13, "axis=1", "float[2,0]:", "invalid"},
    {"ArgMax", 13, "axis=0; keepdims=0", "float[2,0]:", "int64[0]:"},
    {"ArgMax", 13, "axis=1", "float[2]: 1 2", "invalid"},
    {"CumSum", 14, "", "float[3]: 1 2 3 | int64[]: 0", "float[3]: 1 3 6"},
    {"CumSum", 14, "exclusive=1", "float[3]: 1 2 3 | int32[]: 0", "float[3]: 0 1 3"},
    {"CumSum", 14, "reverse=1", "int32[3]: 1 2 3 | int64[]: -1", "int32[3]: 6 5 3"},
    {"CumSum", 11, "exclusive=1; reverse=1", "double[3]: 1 2 3 | int64[]: 0", "double[3]: 5 3 0"},
    {"CumSum", 14, "", "float[2,2]: 1 2 3 4 | int64[]: 0", "float[2,2]: 1 2 4 6"},
    {"CumSum", 14, "", "float[2]: 1 2 | int64[]: 1", "invalid"},
    {"CumProd", 26, "", "int32[3]: 2 3 4 | int64[]: 0", "int32[3]: 2 6 24"},
};

static const kernel_row product_rows[] = {
    {"MatMul", 13, "", "float[2,2]: 1 2 3 4 | float[2,2]: 5 6 7 8", "float[2,2]: 19 22 43 50"},
    {"MatMul", 13, "", "float[2]: 1 2 | float[2]: 3 4", "float[]: 11"},
    {"MatMul", 13, "", "float[2]: 1 2 | float[2,1]: 3 4", "float[1]: 11"},
    {"MatMul", 13, "", "float[1,2]: 1 2 | float[2]: 3 4", "float[1]: 11"},
    {"MatMul", 13, "", "float[2,1,2]: 1 2 3 4 | float[2,1]: 1 1", "float[2,1,1]: 3 7"},
    {"MatMul", 13, "", "float[2,1,1,1]: 2 3 | float[2,1,1]: 5 7", "float[2,2,1,1]: 10 14 15 21"},
    {"MatMul", 13, "", "float[2,0]: | float[0,1]:", "float[2,1]: 0 0"},
    {"MatMul", 13, "", "float[0,2]: | float[2,1]: 1 2", "float[0,1]:"},
    {"MatMul", 13, "", "float[2,2]: 1 2 3 4 | float[3,1]: 1 2 3", "invalid"},
    {"MatMul", 13, "", "float[]: 1 | float[1]: 1", "invalid"},
    {"MatMul", 9, "", "int32[1,2]: 65536 1 | int32[2,1]: 65536 7", "int32[1,1]: 7"},
    {"MatMul", 13, "", "float[1,3]: 16777216 1 1 | float[3,1]: 1 1 1", "float[1,1]: 16777218"},
    {"MatMul", 13, "", "bfloat16[1,2]: 1 2 | bfloat16[2,1]: 3 4", "bfloat16[1,1]: 11"},
    {"Gemm", 13, "", "float[1,2]: 1 2 | float[2,1]: 3 4 | float[1]: 10", "float[1,1]: 21"},
    {"Gemm", 13, "transA=1; transB=1; alpha=2.0; beta=0.5",
     "float[2,1]: 1 2 | float[2,2]: 3 4 5 6 | float[2]: 10 20", "float[1,2]: 27 44"},
    {"Gemm", 13, "", "float[2,1]: 1 2 | float[1,2]: 3 4 | float[2,1]: 10 20",
     "float[2,2]: 13 14 26 28"},
    {"Gemm", 11, "", "float[1,1]: 2 | float[1,1]: 3", "float[1,1]: 6"},
    {"Gemm", 6, "", "float[1,2]: 1 2 | float[2,1]: 3 4 | float[1]: 10", "invalid"},
    {"Gemm", 6, "broadcast=1", "float[1,2]: 1 2 | float[2,1]: 3 4 | float[1]: 10",
     "float[1,1]: 21"},
    {"Gemm", 13, "", "int32[1,1]: 2 | int32[1,1]: 3 | int32[]: 4", "int32[1,1]: 10"},
    {"Gemm", 13, "alpha=0.5", "int32[1,1]: 2 | int32[1,1]: 3", "unsupported"},
    {"Gemm", 13, "", "float[1,1,1]: 2 | float[1,1]: 3", "invalid"},
    {"Gemm", 13, "", "float[1,2]: 1 2 | float[2,1]: 3 4 | float[2]: 1 2", "invalid"},
    {"Gemm", 13, "", "float[2,0]: | float[0,1]: | float[1]: 3", "float[2,1]: 3 3"},
    {"Softmax", 13, "", "float[2,2]: 0 0 1 1", "float[2,2]: 0.5 0.5 0.5 0.5"},
    {"Softmax", 13, "axis=0", "float[2,2]: 0 5 0 5", "float[2,2]: 0.5 0.5 0.5 0.5"},
    {"Softmax", 11, "", "float[1,2,2]: 3 3 3 3", "float[1,2,2]: 0.25 0.25 0.25 0.25"},
    {"Softmax", 1, "axis=0", "float[2]: 7 7", "float[2]: 0.5 0.5"},
    {"Softmax", 13, "", "float[2]: 1000 -1000", "float[2]: 1 0"},
    {"Softmax", 13, "", "float[0,2]:", "float[0,2]:"},
    {"Softmax", 13, "axis=2", "float[2]: 1 2", "invalid"},
    {"LogSoftmax", 13, "", "float[2]: 1000 1000", "~float[2]: -0.693147181 -0.693147181"},
    {"Hardmax", 13, "", "float[2,3]: 1 3 3 2 1 0", "float[2,3]: 0 1 0 1 0 0"},
    {"Hardmax", 11, "axis=0", "float[2,2]: 1 3 3 2", "float[2,2]: 0 1 0 0"},
    {"Hardmax", 13, "", "float[1]: nan", "unsupported"},
};

/* a, its scale and zero point, b, its scale and zero point, scale and zero point of the result */
static const kernel_row qlinear_rows[] = {
    {"QLinearMatMul", 10, "",
     "uint8[1,2]: 2 4 | float[]: 0.5 | uint8[]: 2 | int8[2,1]: 3 5 | float[]: 1 | int8[]: 1 |"
     " float[]: 2 | uint8[]: 10",
     "uint8[1,1]: 12"},
    /* 2.5 and 3.5 round to even before the zero point is added */
    {"QLinearMatMul", 10, "",
     "uint8[1,1]: 1 | float[]: 0.5 | uint8[]: 0 | uint8[1,3]: 5 7 255 | float[]: 1 | uint8[]: 0 |"
     " float[]: 1 | int8[]: 1",
     "int8[1,3]: 3 5 127"},
    {"QLinearMatMul", 21, "",
     "int8[2,1]: 1 2 | float16[2]: 1 0.5 | int8[2]: 0 1 | int8[1,2]: 10 20 | float16[2]: 1 2 |"
     " int8[2]: 0 10 | float16[]: 1 | int8[]: 0",
     "int8[2,2]: 10 20 5 10"},
    {"QLinearMatMul", 21, "",
     "int8[2,1,1]: 1 2 | float[2,1,1]: 1 3 | int8[2,1,1]: 0 1 | int8[1,1]: 10 | float[]: 1 |"
     " int8[]: 0 | float[]: 1 | int8[]: 0",
     "int8[2,1,1]: 10 30"},
    {"QLinearMatMul", 21, "",
     "float8e4m3fn[1,2]: 1.5 2 | float[]: 1 | float8e4m3fn[]: 0 | float8e4m3fn[2]: 2 448 |"
     " float[]: 1 | float8e4m3fn[]: 0 | float[]: 1 | float8e4m3fn[]: 0",
     "float8e4m3fn[1]: 448"},
    {"QLinearMatMul", 10, "",
     "uint8[1,1]: 1 | float[]: 0 | uint8[]: 0 | uint8[1,1]: 5 | float[]: 1 | uint8[]: 0 |"
     " float[]: 1 | int8[]: 1",
     "unsupported"},
    {"QLinearMatMul", 10, "",
     "uint8[2,1]: 1 2 | float[3]: 1 1 1 | uint8[]: 0 | uint8[1,1]: 5 | float[]: 1 | uint8[]: 0 |"
     " float[]: 1 | int8[]: 1",
     "invalid"},
    {"QLinearMatMul", 10, "",
     "uint8[0,1]: | float[]: 1 | uint8[]: 0 | uint8[1,1]: 5 | float[]: 1 | uint8[]: 0 |"
     " float[]: 1 | int8[]: 1",
     "int8[0,1]:"},
    {"QLinearConv", 10, "",
     "uint8[1,1,3]: 1 2 3 | float[]: 1 | uint8[]: 1 | int8[1,1,2]: 1 2 | float[]: 0.5 | int8[]: 0 |"
     " float[]: 1 | uint8[]: 0",
     "uint8[1,1,2]: 1 2"},
    {"QLinearConv", 10, "pads=[0,1]",
     "uint8[1,1,3]: 1 2 3 | float[]: 1 | uint8[]: 1 | int8[1,1,2]: 1 2 | float[1]: 0.5 |"
     " int8[1]: 0 | float[]: 1 | uint8[]: 7 | int32[1]: 1",
     "uint8[1,1,3]: 9 10 9"},
    {"QLinearConv", 10, "group=2",
     "uint8[1,2,1]: 10 20 | float[]: 1 | uint8[]: 0 | int8[2,1,1]: 1 1 | float[2]: 1 0.5 |"
     " int8[2]: 0 -1 | float[]: 1 | int8[]: 0",
     "int8[1,2,1]: 10 20"},
    {"QLinearConv", 10, "",
     "uint8[1,1,1]: 1 | float[]: 1 | uint8[]: 0 | int8[1,1,1]: 1 | float[]: 0 | int8[]: 0 |"
     " float[]: 1 | uint8[]: 0",
     "unsupported"},
    {"QLinearConv", 10, "",
     "uint8[1,1,1]: 1 | float[]: 1 | uint8[]: 0 | int8[1,1,1]: 1 | float[2]: 1 1 | int8[]: 0 |"
     " float[]: 1 | uint8[]: 0",
     "invalid"},
    {"MatMulInteger", 10, "",
     "uint8[2,1,2]: 1 2 3 4 | int8[2,1]: 1 -1 | uint8[2,1,1]: 1 2 | int8[1]: 1",
     "int32[2,1,1]: -2 -4"},
    {"ConvInteger", 10, "pads=[1,0]", "uint8[1,1,2]: 5 6 | uint8[1,1,2]: 2 3 | uint8[]: 5",
     "int32[1,1,2]: 0 3"},
    {"ConvInteger", 10, "", "uint8[1,1,2]: 5 6 | uint8[2,1,1]: 2 3 | uint8[]: 5 | uint8[2]: 1 2",
     "int32[1,2,2]: 0 1 0 1"},
    {"Conv", 22, "pads=[1,0]", "float[1,1,1]: 2 | float[1,1,2]: inf 3", "float[1,1,1]: nan"},
    {"Conv", 22, "group=2; pads=[1,0]",
     "float[1,2,1]: 2 2 | float[2,1,2]: inf 3 4 5 | float[2]: 1 2", "float[1,2,1]: nan 12"},
    {"Conv", 22, "group=2", "float[2,2,1]: 1 2 3 4 | float[2,1,1]: 2 3 | float[2]: 10 20",
     "float[2,2,1]: 12 26 16 32"},
    {"Conv", 22, "", "float[1,0,2]: | float[1,0,1]: | float[1]: 3", "float[1,1,2]: 3 3"},
    {"Conv", 22, "", "float[0,1,2]: | float[1,1,1]: 1", "float[0,1,2]:"},
};

static const kernel_row quantize_rows[] = {
    {"QuantizeLinear", 10, "", "float[6]: 0 2 3 1000 -254 -1000 | float[]: 2 | uint8[]: 128",
     "uint8[6]: 128 129 130 255 1 0"},
    {"QuantizeLinear", 10, "", "float[2]: 1 3 | float[]: 2", "uint8[2]: 0 2"},
    {"QuantizeLinear", 13, "axis=0", "float[2,1]: 4 4 | float[2]: 2 4 | int8[2]: 0 1",
     "int8[2,1]: 2 2"},
    {"QuantizeLinear", 13, "", "float[2,2]: 4 4 8 8 | float[2]: 2 4 | int8[2]: 0 1",
     "int8[2,2]: 2 2 4 3"},
    {"QuantizeLinear", 13, "", "float[2,2]: 4 4 8 8 | float[3]: 2 4 5", "invalid"},
    {"QuantizeLinear", 13, "", "float[1]: nan | float[]: 2", "unsupported"},
    {"QuantizeLinear", 13, "", "float[1]: 1 | float[]: 0", "unsupported"},
    {"QuantizeLinear", 13, "", "float[2]: inf -inf | float[]: 1 | int8[]: 0", "int8[2]: 127 -128"},
    {"QuantizeLinear", 13, "", "int32[2]: 5 7 | float[]: 2", "uint8[2]: 2 4"},
    {"QuantizeLinear", 19, "", "float[2]: 1000 3 | float[]: 1 | float8e4m3fn[]: 0",
     "float8e4m3fn[2]: 448 3"},
    {"QuantizeLinear", 21, "output_dtype=22", "float[3]: 100 -100 3 | float[]: 2",
     "int4[3]: 7 -8 2"},
    {"QuantizeLinear", 21, "output_dtype=22", "float[1]: 1 | float[]: 2 | uint4[]: 1", "invalid"},
    {"QuantizeLinear", 21, "axis=1; block_size=2; output_dtype=3",
     "float[1,3]: 2 4 9 | float[1,2]: 2 3", "int8[1,3]: 1 2 3"},
    {"QuantizeLinear", 21, "axis=1; block_size=2", "float[1,3]: 2 4 9 | float[1,3]: 2 3 1",
     "invalid"},
    {"QuantizeLinear", 25, "output_dtype=26", "float[3]: -9 1 9 | float[]: 1", "int2[3]: -2 1 1"},
    {"QuantizeLinear", 23, "output_dtype=23", "float[2]: 2.4 -9 | float[]: 1",
     "float4e2m1[2]: 2 -6"},
    {"DequantizeLinear", 10, "", "uint8[3]: 0 128 255 | float[]: 2 | uint8[]: 128",
     "float[3]: -256 0 254"},
    {"DequantizeLinear", 13, "axis=0", "int8[2,1]: 4 4 | float[2]: 2 0.5", "float[2,1]: 8 2"},
    {"DequantizeLinear", 10, "", "int32[1]: -3 | float[]: 0.5", "float[1]: -1.5"},
    {"DequantizeLinear", 19, "", "float8e5m2[2]: 3 -0 | float16[]: 2", "float16[2]: 6 -0"},
    {"DequantizeLinear", 21, "", "int4[2]: -8 7 | float[]: 1 | int4[]: 1", "float[2]: -9 6"},
    {"DequantizeLinear", 21, "axis=0; block_size=2",
     "uint4[4,2]: 1 2 3 4 5 6 7 8 | float[2,2]: 1 10 100 1000",
     "float[4,2]: 1 20 3 40 500 6000 700 8000"},
    {"DequantizeLinear", 23, "output_dtype=10", "uint8[1]: 3 | float[]: 0.5", "float16[1]: 1.5"},
    {"DequantizeLinear", 24, "output_dtype=1", "float4e2m1[1]: 6 | float8e8m0[]: 4",
     "float[1]: 24"},
    {"DequantizeLinear", 24, "", "float4e2m1[1]: 6 | float8e8m0[]: 4", "invalid"},
    {"DequantizeLinear", 10, "", "int8[2]: 1 2 | float[2]: 1 2", "invalid"},
};

static const kernel_row window_rows[] = {
    {"Conv", 11, "", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "float[1,1,2]: 21 32"},
    {"Conv", 11, "pads=[1,1]", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10 | float[1]: 100",
     "float[1,1,3]: 110 121 102"},
    {"Conv", 1, "auto_pad=SAME_UPPER; strides=[2]", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10",
     "float[1,1,2]: 21 3"},
    {"Conv", 1, "auto_pad=SAME_LOWER", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10",
     "float[1,1,2]: 10 21"},
    {"Conv", 11, "auto_pad=VALID; pads=[5,5]", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10",
     "float[1,1,1]: 21"},
    {"Conv", 11, "dilations=[2]", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "float[1,1,1]: 31"},
    {"Conv", 11, "group=2", "float[1,2,1]: 2 3 | float[2,1,1]: 5 7", "float[1,2,1]: 10 21"},
    {"Conv", 11, "", "float[1,2,1]: 2 3 | float[1,2,1]: 5 7", "float[1,1,1]: 31"},
    {"Conv", 11, "", "float[2,1,1]: 2 3 | float[2,1,1]: 5 7 | float[2]: 0 1",
     "float[2,2,1]: 10 15 15 22"},
    {"Conv", 11, "", "float[1,1,2,2]: 1 2 3 4 | float[1,1,2,1]: 1 10", "float[1,1,1,2]: 31 42"},
    {"Conv", 11, "", "float[0,1,3]: | float[1,1,2]: 1 10", "float[0,1,2]:"},
    {"Conv", 11, "", "float[1,0,2]: | float[1,0,1]: | float[1]: 3", "float[1,1,2]: 3 3"},
    {"Conv", 11, "", "float[1,1,1]: 1 | float[1,1,2]: 1 10", "invalid"},
    {"Conv", 11, "kernel_shape=[3]", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "invalid"},
    {"Conv", 11, "strides=[0]", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "invalid"},
    {"Conv", 11, "group=0", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "invalid"},
    {"Conv", 11, "auto_pad=ANY", "float[1,1,3]: 1 2 3 | float[1,1,2]: 1 10", "invalid"},
    {"Conv", 11, "pads=[1000000000,1000000000]", "float[1,1,1]: 1 | float[1,1,1]: 1", "limit"},
    {"ConvInteger", 10, "", "uint8[1,1,2]: 200 3 | uint8[1,1,1]: 255 | uint8[]: 100 | uint8[]: 254",
     "int32[1,1,2]: 100 -97"},
    {"ConvTranspose", 11, "", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10", "float[1,1,3]: 1 12 20"},
    {"ConvTranspose", 11, "strides=[2]", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10 | float[1]: 5",
     "float[1,1,4]: 6 15 7 25"},
    {"ConvTranspose", 11, "strides=[2]; output_padding=[1]", "float[1,1,2]: 1 2 | float[1,1,1]: 1",
     "float[1,1,4]: 1 0 2 0"},
    {"ConvTranspose", 11, "pads=[1,0]", "float[1,1,2]: 1 2 | float[1,1,2]: 1 10",
     "float[1,1,2]: 12 20"},
    {"MaxPool", 12, "kernel_shape=[2]", "float[1,1,3]: 1 5 3",
     "float[1,1,2]: 5 5 | int64[1,1,2]: 1 1"},
    {"MaxPool", 12, "kernel_shape=[2,2]; storage_order=1", "float[1,1,2,2]: 1 9 3 4",
     "float[1,1,1,1]: 9 | int64[1,1,1,1]: 2"},
    {"MaxPool", 12, "kernel_shape=[2]; strides=[2]; ceil_mode=1", "float[1,1,3]: 1 5 3",
     "float[1,1,2]: 5 3"},
    {"MaxPool", 12, "kernel_shape=[2]; dilations=[2]", "int8[1,1,4]: -1 -5 -3 -9",
     "int8[1,1,2]: -1 -5"},
    {"MaxPool", 12, "kernel_shape=[1]; pads=[1,0]", "float[1,1,1]: 1", "unsupported"},
    {"MaxPool", 12, "kernel_shape=[2]", "float[1,1,2]: 1 nan", "unsupported"},
    {"MaxPool", 12, "", "float[1,1,2]: 1 2", "invalid"},
    {"AveragePool", 11, "kernel_shape=[2]; pads=[1,0]", "float[1,1,2]: 2 4", "float[1,1,2]: 2 3"},
    {"AveragePool", 11, "kernel_shape=[2]; pads=[1,0]; count_include_pad=1", "float[1,1,2]: 2 4",
     "float[1,1,2]: 1 3"},
    {"LpPool", 11, "kernel_shape=[2]", "float[1,1,2]: 3 4", "float[1,1,1]: 5"},
    {"LpPool", 1, "kernel_shape=[2]; p=1.0", "float[1,1,2]: -3 4", "float[1,1,1]: 7"},
    {"GlobalAveragePool", 1, "", "float[1,2,2]: 1 2 3 5", "float[1,2,1]: 1.5 4"},
    {"GlobalMaxPool", 1, "", "float[1,2,2]: 1 2 3 5", "float[1,2,1]: 2 5"},
    {"GlobalMaxPool", 1, "", "float[1,2,0]:", "unsupported"},
};

static const kernel_row norm_rows[] = {
    {"BatchNormalization", 15, "epsilon=0.0",
     "float[1,2,1]: 3 8 | float[2]: 1 2 | float[2]: 0 1 | float[2]: 1 2 | float[2]: 4 9",
     "float[1,2,1]: 1 5"},
    {"BatchNormalization", 6, "epsilon=0.0",
     "float[1,1]: 3 | float[1]: 1 | float[1]: 0 | float[1]: 1 | float[1]: 4", "float[1,1]: nan"},
    {"BatchNormalization", 6, "epsilon=0.0; is_test=1",
     "float[1,1]: 3 | float[1]: 1 | float[1]: 0 | float[1]: 1 | float[1]: 4", "float[1,1]: 1"},
    {"BatchNormalization", 9, "",
     "float[1,1]: 3 | float[1]: 1 | float[1]: 0 | float[2]: 1 1 | float[1]: 4", "invalid"},
    {"InstanceNormalization", 6, "epsilon=0.0", "float[1,1,2]: 1 3 | float[1]: 2 | float[1]: 10",
     "float[1,1,2]: 8 12"},
    {"GroupNormalization", 21, "num_groups=1; epsilon=0.0",
     "float[1,2,1]: 1 3 | float[2]: 1 2 | float[2]: 0 10", "float[1,2,1]: -1 12"},
    {"GroupNormalization", 18, "num_groups=1; epsilon=0.0",
     "float[1,2,1]: 1 3 | float[1]: 2 | float[1]: 0", "float[1,2,1]: -2 2"},
    {"LayerNormalization", 17, "epsilon=0.0",
     "float[2,2]: 1 3 5 9 | float[2]: 1 2 | float[2]: 0 10",
     "float[2,2]: -1 12 -1 12 | float[2,1]: 2 7 | float[2,1]: 1 0.5"},
    {"LayerNormalization", 17, "axis=0; epsilon=0.0", "float[2]: 1 3 | float[]: 1",
     "float[2]: -1 1"},
    {"LayerNormalization", 17, "axis=1", "float[2]: 1 3 | float[]: 1", "invalid"},
    {"RMSNormalization", 23, "epsilon=0.0", "float[1,2]: 1 7 | float[2]: 5 5", "float[1,2]: 1 7"},
    {"LpNormalization", 1, "", "float[2]: 3 4", "~float[2]: 0.6 0.8"},
    {"LpNormalization", 1, "p=1; axis=0", "float[2,2]: 1 2 3 6", "float[2,2]: 0.25 0.25 0.75 0.75"},
    {"LRN", 13, "size=3; alpha=3.0; beta=1.0; bias=0.0", "float[1,3]: 1 1 1",
     "float[1,3]: 0.5 0.3333333433 0.5"},
    {"Dropout", 13, "", "float[2]: 1 2", "float[2]: 1 2 | bool[2]: 1 1"},
    {"Dropout", 7, "", "float[2]: 1 2", "float[2]: 1 2"},
    {"Dropout", 6, "", "float[2]: 1 2", "unsupported"},
    {"Dropout", 6, "is_test=1", "float[2]: 1 2", "float[2]: 1 2"},
    {"Dropout", 13, "", "float[2]: 1 2 | - | bool[]: 1", "unsupported"},
    {"Shrink", 9, "lambd=1.5; bias=1.0", "float[3]: -2 1 2", "float[3]: -1 0 1"},
    {"BitCast", 26, "to=6", "float[2]: 1 -0", "int32[2]: 1065353216 -2147483648"},
    {"BitCast", 26, "to=22", "uint4[3]: 15 7 8", "int4[3]: -1 7 -8"},
    {"BitCast", 26, "to=7", "float[2]: 1 -0", "invalid"},
    {"BitCast", 26, "to=9", "uint8[1]: 2", "unsupported"},
    {"DynamicQuantizeLinear", 11, "", "float[3]: 0 51 255",
     "uint8[3]: 0 51 255 | float[]: 1 | uint8[]: 0"},
    {"DynamicQuantizeLinear", 11, "", "float[2]: -255 -1", "uint8[2]: 0 254 | - | uint8[]: 255"},
    {"DynamicQuantizeLinear", 11, "", "float[1]: 0", "unsupported3"},
    {"MatMulInteger", 10, "", "uint8[1,2]: 3 5 | int8[2,1]: -1 2 | uint8[]: 1 | int8[]: 1",
     "int32[1,1]: 0"},
    {"MatMulInteger", 10, "", "uint8[2,1]: 3 5 | uint8[1,2]: 1 2 | uint8[2]: 1 2 | uint8[2]: 0 1",
     "int32[2,2]: 2 2 3 3"},
    {"Relu", 14, "alpha=1.0", "float[1]: 1", "unsupported"},
    {"Softmax", 13, "axis=1.0", "float[1]: 1", "invalid"},
};

static const kernel_row einsum_rows[] = {
    {"Einsum", 12, "equation=ij,jk->ik", "float[2,2]: 1 2 3 4 | float[2,1]: 1 10",
     "float[2,1]: 21 43"},
    {"Einsum", 12, "equation=ij,jk", "float[2,2]: 1 2 3 4 | float[2,1]: 1 10", "float[2,1]: 21 43"},
    {"Einsum", 12, "equation=ba", "int32[2,3]: 1 2 3 4 5 6", "int32[3,2]: 1 4 2 5 3 6"},
    {"Einsum", 12, "equation=ii->i", "int32[2,2]: 1 2 3 4", "int32[2]: 1 4"},
    {"Einsum", 12, "equation=ii", "int32[2,2]: 1 2 3 4", "int32[]: 5"},
    {"Einsum", 12, "equation=i->", "float[3]: 1 2 3", "float[]: 6"},
    {"Einsum", 12, "equation=...i,...i->...", "float[2,2]: 1 2 3 4 | float[2]: 1 10",
     "float[2]: 21 43"},
    {"Einsum", 12, "equation=b...->...b", "float[1,2]: 3 4", "float[2,1]: 3 4"},
    {"Einsum", 12, "equation=i,j,k->", "int8[1]: 2 | int8[2]: 1 2 | int8[1]: 5", "int8[]: 30"},
    {"Einsum", 12, "equation=ij->i", "float[2,0]:", "float[2]: 0 0"},
    {"Einsum", 12, "equation=->", "float[]: 3", "float[]: 3"},
    {"Einsum", 12, "equation=ij,jk->ik", "float[2,2]: 1 2 3 4 | float[1,2]: 1 10", "invalid"},
    {"Einsum", 12, "equation=ij->ij", "float[2]: 1 2", "invalid"},
    {"Einsum", 12, "equation=i->j", "float[2]: 1 2", "invalid"},
    {"Einsum", 12, "equation=i->ii", "float[2]: 1 2", "invalid"},
    {"Einsum", 12, "equation=i,i->i", "float[2]: 1 2", "invalid"},
    {"Einsum", 12, "equation=i..", "float[2]: 1 2", "invalid"},
    {"Einsum", 12, "equation=i...->i", "float[2,2]: 1 2 3 4", "invalid"},
    {"HannWindow", 17, "", "int64[]: 4", "~float[4]: 0 0.5 1 0.5"},
    {"HammingWindow", 17, "periodic=0; output_datatype=11", "int32[]: 3",
     "~double[3]: 0.08695652 1 0.08695652"},
    {"HannWindow", 17, "", "int64[]: 0", "float[0]:"},
    {"HannWindow", 17, "", "int64[]: -1", "invalid"},
    {"HannWindow", 17, "", "int64[]: 1099511627776", "limit"},
    {"HannWindow", 17, "periodic=0", "int64[]: 1", "unsupported"},
};

static const kernel_row resize_rows[] = {
    {"Resize", 13, "", "int8[2]: 1 2 | - | float[1]: 2", "int8[4]: 1 1 2 2"},
    {"Resize", 13, "mode=linear", "float[2]: 0 4 | - | float[1]: 2", "float[4]: 0 1 3 4"},
    {"Resize", 13, "mode=linear; coordinate_transformation_mode=align_corners",
     "float[2]: 0 4 | - | - | int64[1]: 3", "float[3]: 0 2 4"},
    {"Resize", 13, "mode=linear; coordinate_transformation_mode=asymmetric",
     "float[2]: 0 4 | - | float[1]: 2", "float[4]: 0 2 4 4"},
    {"Resize", 18, "mode=linear; axes=[1]", "float[1,2]: 0 4 | - | float[1]: 2",
     "float[1,4]: 0 1 3 4"},
    {"Resize", 18, "mode=linear; antialias=1", "float[4]: 0 0 8 8 | - | float[1]: 0.5",
     "float[2]: 1 7"},
    {"Resize", 18, "keep_aspect_ratio_policy=not_larger", "float[2,1]: 1 2 | - | - | int64[2]: 4 9",
     "float[4,2]: 1 1 1 1 2 2 2 2"},
    {"Resize", 13, "", "float[0,2]: | - | - | int64[2]: 0 3", "float[0,3]:"},
    {"Resize", 13, "", "float[0,2]: | - | - | int64[2]: 1 2", "invalid"},
    {"Resize", 13, "", "float[0,2]: | - | - | int64[2]: 0 0", "invalid"},
    {"Resize", 18, "keep_aspect_ratio_policy=not_larger", "float[0,2]: | - | - | int64[2]: 0 6",
     "float[0,6]:"},
    {"Resize", 13, "coordinate_transformation_mode=tf_crop_and_resize; extrapolation_value=9.0",
     "float[2]: 1 2 | float[2]: 0 2 | - | int64[1]: 3", "float[3]: 1 2 9"},
    {"Resize", 10, "", "float[2]: 1 2 | float[1]: 1.5", "float[3]: 1 1 2"},
    {"Resize", 10, "", "float[2]: 1 2 | float[1]: 0.5", "unsupported"},
    {"Resize", 13, "mode=linear", "int32[2]: 1 2 | - | float[1]: 2", "unsupported"},
    {"Resize", 13, "", "float[2]: 1 2 | - | float[1]: 2 | int64[1]: 4", "invalid"},
    {"Resize", 13, "", "float[2]: 1 2 | - | -", "invalid"},
    {"Resize", 13, "", "float[2]: 1 2 | - | float[1]: 0", "invalid"},
    {"Resize", 13, "", "float[2]: 1 2 | - | float[1]: nan", "invalid"},
    {"Resize", 13, "", "float[2]: 1 2 | - | float[2]: 2 2", "invalid"},
    {"Resize", 13, "", "float[2]: 1 2 | - | float[1]: 1e10", "limit"},
    {"Upsample", 9, "", "string[1]: a | float[1]: 2", "string[2]: a a"},
    {"Upsample", 9, "mode=linear", "float[2]: 0 4 | float[1]: 2", "float[4]: 0 2 4 4"},
};

KERNEL_TEST(binary)
KERNEL_TEST(many)
KERNEL_TEST(compare)
KERNEL_TEST(unary)
KERNEL_TEST(cast)
KERNEL_TEST(reduce)
KERNEL_TEST(product)
KERNEL_TEST(quantize)
KERNEL_TEST(qlinear)
KERNEL_TEST(window)
KERNEL_TEST(norm)
KERNEL_TEST(einsum)
KERNEL_TEST(resize)

static surg_value *constant(surg_model *m, int dtype, int64_t n, const void *data, size_t bytes) {
  surg_tensor *t = surg_tensor_new(m, dtype, &n, 1, data, bytes);
  ck_assert_ptr_nonnull(t);
  surg_value *v = surg_graph_constant(surg_model_graph(m), NULL, NULL, t);
  ck_assert_ptr_nonnull(v);
  return v;
}

/* A budget is met exactly, and one less is refused, for bytes and for work. */
START_TEST(budgets) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 14);
  float data[8] = {0};
  surg_value *v = constant(m, SURG_FLOAT, 8, data, sizeof data);
  surg_node *n = surg_graph_add_node(surg_model_graph(m), NULL, "", "Add", 1);
  surg_node_set_input(n, 0, v);
  surg_node_set_input(n, 1, v);
  surg_tensor *t = NULL;
  const char *why = NULL;
  ck_assert_int_eq(surg_node_evaluate(n, 32, 8, &t, 1, &why), SURG_OK);
  ck_assert_int_eq(surg_node_evaluate(n, 31, 8, &t, 1, &why), SURG_ELIMIT);
  ck_assert_ptr_null(t);
  ck_assert_int_eq(surg_node_evaluate(n, 32, 7, &t, 1, &why), SURG_ELIMIT);
  surg_model_free(m);
}
END_TEST

/* What must never be computed: unknown operators, random ones, inputs that are not constant. */
START_TEST(refusals) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 14);
  surg_graph *g = surg_model_graph(m);
  float data[2] = {1, 2};
  surg_value *v = constant(m, SURG_FLOAT, 2, data, sizeof data);
  surg_tensor *t = NULL;
  const char *why = NULL;
  surg_node *unknown = surg_graph_add_node(g, NULL, "my.domain", "Relu", 1);
  surg_node_set_input(unknown, 0, v);
  ck_assert_int_eq(surg_node_evaluate(unknown, 99, 99, &t, 1, &why), SURG_EUNSUPPORTED);
  surg_node *chance = surg_graph_add_node(g, NULL, "", "RandomNormalLike", 1);
  surg_node_set_input(chance, 0, v);
  ck_assert_int_eq(surg_node_evaluate(chance, 99, 99, &t, 1, &why), SURG_EUNSUPPORTED);
  surg_value *in = surg_graph_add_input(g, "x", surg_type_tensor(m, SURG_FLOAT, NULL, 0));
  surg_node *open = surg_graph_add_node(g, NULL, "", "Relu", 1);
  surg_node_set_input(open, 0, in);
  ck_assert_int_eq(surg_node_evaluate(open, 99, 99, &t, 1, &why), SURG_EUNSUPPORTED);
  ck_assert_str_eq(why, "an input is not constant");
  ck_assert_int_eq(surg_node_evaluate(NULL, 99, 99, &t, 1, &why), SURG_EUSAGE);
  surg_node_set_input(open, 0, v);
  ck_assert_int_eq(surg_node_evaluate(open, 99, 99, NULL, 0, &why), SURG_EUSAGE);
  ck_assert_int_eq(surg_node_evaluate(open, 99, 99, &t, 1, NULL), SURG_OK);
  ck_assert_ptr_nonnull(t);
  surg_model_free(m);
}
END_TEST

/* A node with very many inputs costs as much as they do. */
START_TEST(many_inputs) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 14);
  float one = 1;
  surg_value *v = constant(m, SURG_FLOAT, 1, &one, sizeof one);
  surg_node *n = surg_graph_add_node(surg_model_graph(m), NULL, "", "Sum", 1);
  const size_t count = 20000;
  for (size_t i = 0; i < count; i++) ck_assert_int_eq(surg_node_set_input(n, i, v), SURG_OK);
  surg_tensor *t = NULL;
  ck_assert_int_eq(surg_node_evaluate(n, 4, count, &t, 1, NULL), SURG_OK);
  float sum = 0;
  ck_assert_int_eq(surg_tensor_read(t, 0, &sum, sizeof sum), SURG_OK);
  ck_assert(sum == (float)count);
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_math");
  TCase *c = kernel_case();
  KERNEL_ADD(c, binary);
  KERNEL_ADD(c, many);
  KERNEL_ADD(c, compare);
  KERNEL_ADD(c, unary);
  KERNEL_ADD(c, cast);
  KERNEL_ADD(c, reduce);
  KERNEL_ADD(c, product);
  KERNEL_ADD(c, quantize);
  KERNEL_ADD(c, qlinear);
  KERNEL_ADD(c, window);
  KERNEL_ADD(c, norm);
  KERNEL_ADD(c, einsum);
  KERNEL_ADD(c, resize);
  tcase_add_test(c, budgets);
  tcase_add_test(c, refusals);
  tcase_add_test(c, many_inputs);
  suite_add_tcase(s, c);
  return unit_run(s);
}
