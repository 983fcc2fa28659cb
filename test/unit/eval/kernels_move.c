/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move elements, against results worked out by hand. */
#include "base/base.h"
#include "kernel_rows.h"

static const kernel_row shape_rows[] = {
    {"Identity", 13, "", "string[2]: a bc", "string[2]: a bc"},
    {"Identity", 21, "", "int4[3]: -8 7 1", "int4[3]: -8 7 1"},
    {"Reshape", 1, "shape=[3,-1]", "float[2,3]: 1 2 3 4 5 6", "float[3,2]: 1 2 3 4 5 6"},
    {"Reshape", 13, "", "int64[2,3]: 1 2 3 4 5 6 | int64[3]: 0 1 -1", "int64[2,1,3]: 1 2 3 4 5 6"},
    {"Reshape", 14, "", "int64[1]: 9 | int64[0]:", "int64[]: 9"},
    {"Reshape", 14, "allowzero=1", "float[0,3]: | int64[2]: 3 0", "float[3,0]:"},
    {"Reshape", 14, "", "float[0,3]: | int64[2]: 0 3", "float[0,3]:"},
    {"Reshape", 14, "", "float[0,3]: | int64[2]: 0 -1", "unsupported"},
    {"Reshape", 14, "", "float[2]: 1 2 | int64[2]: -1 -1", "invalid"},
    {"Reshape", 14, "", "float[2]: 1 2 | int64[1]: -2", "invalid"},
    {"Reshape", 14, "", "float[2]: 1 2 | int64[1]: 3", "invalid"},
    {"Reshape", 14, "", "float[2]: 1 2 | int64[2]: 2 0", "invalid"},
    {"Reshape", 14, "", "float[3]: 1 2 3 | int64[2]: -1 2", "invalid"},
    {"Reshape", 14, "", "float[1]: 1 | int64[2]: 4294967296 4294967296", "invalid"},
    {"Flatten", 9, "", "float[2,1,2]: 1 2 3 4", "float[2,2]: 1 2 3 4"},
    {"Flatten", 13, "axis=0", "float[]: 7", "float[1,1]: 7"},
    {"Flatten", 13, "axis=-1", "float[2,1,2]: 1 2 3 4", "float[2,2]: 1 2 3 4"},
    {"Flatten", 13, "axis=3", "float[2,1,2]: 1 2 3 4", "float[4,1]: 1 2 3 4"},
    {"Flatten", 13, "axis=4", "float[2,1,2]: 1 2 3 4", "invalid"},
    {"Flatten", 9, "axis=-1", "float[2]: 1 2", "unsupported"},
    {"Squeeze", 11, "axes=[-1]", "float[1,2,1]: 1 2", "float[1,2]: 1 2"},
    {"Squeeze", 1, "", "float[1,2,1]: 1 2", "float[2]: 1 2"},
    {"Squeeze", 13, "", "float[1,2,1]: 1 2 | int64[1]: 0", "float[2,1]: 1 2"},
    {"Squeeze", 13, "", "float[1,2,1]: 1 2 | -", "float[2]: 1 2"},
    {"Squeeze", 13, "", "float[1,2,1]: 1 2 | int64[1]: 1", "invalid"},
    {"Squeeze", 13, "", "float[1]: 1 | int64[0]:", "unsupported"},
    {"Squeeze", 13, "", "float[2]: 1 2 | int64[0]:", "float[2]: 1 2"},
    {"Unsqueeze", 11, "axes=[0,-1]", "float[2]: 1 2", "float[1,2,1]: 1 2"},
    {"Unsqueeze", 1, "axes=[-1]", "float[2]: 1 2", "unsupported"},
    {"Unsqueeze", 13, "", "bool[]: 1 | int64[1]: 0", "bool[1]: 1"},
    {"Unsqueeze", 13, "", "float[2]: 1 2 | int64[2]: 1 1", "invalid"},
    {"Unsqueeze", 13, "", "float[2]: 1 2 | int64[1]: 2", "invalid"},
    {"Shape", 13, "", "float[2,3]: 1 2 3 4 5 6", "int64[2]: 2 3"},
    {"Shape", 15, "start=1; end=-1", "float[2,1,3]: 1 2 3 4 5 6", "int64[1]: 1"},
    {"Shape", 15, "start=-9; end=9", "float[2,1]: 1 2", "int64[2]: 2 1"},
    {"Shape", 15, "start=2; end=1", "float[2,1]: 1 2", "int64[0]:"},
    {"Shape", 1, "", "float[]: 1", "int64[0]:"},
    {"Size", 13, "", "float[2,0]:", "int64[]: 0"},
    {"Size", 1, "", "float[]: 3", "int64[]: 1"},
    {"ConstantOfShape", 9, "", "int64[2]: 2 1", "float[2,1]: 0 0"},
    {"ConstantOfShape", 9, "value=int64[1]: 7", "int64[1]: 3", "int64[3]: 7 7 7"},
    {"ConstantOfShape", 9, "value=int32[1]: 7", "int64[0]:", "int32[]: 7"},
    {"ConstantOfShape", 9, "", "int64[1]: 0", "float[0]:"},
    {"ConstantOfShape", 9, "", "int64[1]: -1", "invalid"},
    {"ConstantOfShape", 9, "value=int32[2]: 7 8", "int64[1]: 2", "invalid"},
    {"ConstantOfShape", 9, "", "int64[2]: 1099511627776 1099511627776", "limit"},
    {"ConstantOfShape", 9, "", "int64[1]: 1099511627776", "limit"},
    {"Constant", 13, "value_ints=[3,4]", "", "int64[2]: 3 4"},
    {"Constant", 13, "value_int=5", "", "int64[]: 5"},
    {"Constant", 13, "value_string=abc", "", "string[]: abc"},
    {"Constant", 9, "value=double[2]: 1 nan", "", "double[2]: 1 nan"},
};

static const kernel_row copy_rows[] = {
    {"Transpose", 13, "", "float[2,3]: 1 2 3 4 5 6", "float[3,2]: 1 4 2 5 3 6"},
    {"Transpose", 13, "perm=[1,0]", "string[2,2]: a b c d", "string[2,2]: a c b d"},
    {"Transpose", 13, "perm=[2,0,1]", "int16[1,2,3]: 1 2 3 4 5 6", "int16[3,1,2]: 1 4 2 5 3 6"},
    {"Transpose", 21, "perm=[1,0]", "int4[2,3]: 1 2 3 -4 -5 -6", "int4[3,2]: 1 -4 2 -5 3 -6"},
    {"Transpose", 13, "perm=[1,0,2]", "uint8[2,1,2]: 1 2 3 4", "uint8[1,2,2]: 1 2 3 4"},
    {"Transpose", 13, "", "float[]: 3", "float[]: 3"},
    {"Transpose", 13, "", "float[0,3]:", "float[3,0]:"},
    {"Transpose", 13, "perm=[0,0]", "float[2,2]: 1 2 3 4", "invalid"},
    {"Transpose", 13, "perm=[0]", "float[2,2]: 1 2 3 4", "invalid"},
    {"DepthToSpace", 11, "blocksize=2", "float[1,8,1,1]: 0 1 2 3 4 5 6 7",
     "float[1,2,2,2]: 0 2 4 6 1 3 5 7"},
    {"DepthToSpace", 11, "blocksize=2; mode=CRD", "float[1,8,1,1]: 0 1 2 3 4 5 6 7",
     "float[1,2,2,2]: 0 1 2 3 4 5 6 7"},
    {"DepthToSpace", 11, "blocksize=2", "float[1,2,1,1]: 0 1", "invalid"},
    {"SpaceToDepth", 13, "blocksize=2", "float[1,2,2,2]: 0 2 4 6 1 3 5 7",
     "float[1,8,1,1]: 0 1 2 3 4 5 6 7"},
    {"SpaceToDepth", 13, "blocksize=0", "float[1,1,1,1]: 0", "invalid"},
    {"Concat", 1, "", "float[1,1]: 1 | float[1,2]: 2 3", "float[1,3]: 1 2 3"},
    {"Concat", 13, "axis=0", "float[1]: 1 | float[0]: | float[2]: 2 3", "float[3]: 1 2 3"},
    {"Concat", 13, "axis=-1", "int8[2,1]: 1 2 | int8[2,2]: 3 4 5 6", "int8[2,3]: 1 3 4 2 5 6"},
    {"Concat", 13, "axis=0", "string[1]: a | string[1]: b", "string[2]: a b"},
    {"Concat", 13, "", "float[1]: 1 | float[1]: 2", "invalid"},
    {"Concat", 4, "axis=-1", "float[1]: 1 | float[1]: 2", "unsupported"},
    {"Concat", 13, "axis=0", "float[1]: 1 | float[]: 2", "invalid"},
    {"Concat", 13, "axis=1", "float[1,1]: 1 | float[2,1]: 2 3", "invalid"},
    {"Split", 2, "split=[1,2]", "float[3]: 1 2 3", "float[1]: 1 | float[2]: 2 3"},
    {"Split", 2, "axis=1", "float[2,2]: 1 2 3 4", "float[2,1]: 1 3 | float[2,1]: 2 4"},
    {"Split", 1, "axis=0", "float[3]: 1 2 3 | float[2]: 2 1", "invalid"},
    {"Split", 13, "", "float[3]: 1 2 3 | int64[2]: 0 3", "float[0]: | float[3]: 1 2 3"},
    {"Split", 13, "", "float[3]: 1 2 3 | int64[2]: 2 1", "- | float[1]: 3"},
    {"Split", 13, "", "float[3]: 1 2 3 | int64[2]: 2 2", "invalid2"},
    {"Split", 13, "", "float[3]: 1 2 3 | int64[2]: 4 -1", "invalid2"},
    {"Split", 13, "", "float[3]: 1 2 3 | -", "invalid2"},
    {"Split", 18, "num_outputs=2", "float[3]: 1 2 3 | -", "float[2]: 1 2 | float[1]: 3"},
    {"Split", 18, "num_outputs=3", "float[4]: 1 2 3 4",
     "float[2]: 1 2 | float[2]: 3 4 | float[0]:"},
    {"Split", 18, "num_outputs=2", "float[0]:", "float[0]: | float[0]:"},
    {"Split", 18, "", "float[2]: 1 2", "unsupported2"},
    {"Slice", 1, "starts=[1]; ends=[100]", "float[3]: 1 2 3", "float[2]: 2 3"},
    {"Slice", 9, "axes=[1]; starts=[-1]; ends=[9]", "float[2,2]: 1 2 3 4", "float[2,1]: 2 4"},
    {"Slice", 10, "", "float[3]: 1 2 3 | int64[1]: 0 | int64[1]: 3 | - | int64[1]: 2",
     "float[2]: 1 3"},
    {"Slice", 13, "", "int32[4]: 0 1 2 3 | int64[1]: 9 | int64[1]: -9 | int64[1]: 0 | int64[1]: -1",
     "int32[4]: 3 2 1 0"},
    {"Slice", 13, "",
     "int32[4]: 0 1 2 3 | int64[1]: -1 | int64[1]: -4 | int64[1]: 0 | int64[1]: -2",
     "int32[2]: 3 1"},
    {"Slice", 13, "",
     "int32[3]: 0 1 2 | int64[1]: 9223372036854775807 | int64[1]: -9223372036854775808 | "
     "int64[1]: -1 | int64[1]: -9223372036854775808",
     "int32[1]: 2"},
    {"Slice", 13, "",
     "int32[3]: 0 1 2 | int64[1]: -9223372036854775808 | int64[1]: 9223372036854775807 | - | "
     "int64[1]: 9223372036854775807",
     "int32[1]: 0"},
    {"Slice", 13, "", "int8[2,3]: 0 1 2 3 4 5 | int32[2]: 0 1 | int32[2]: 2 3",
     "int8[2,2]: 1 2 4 5"},
    {"Slice", 13, "", "string[3]: a b c | int64[1]: 1 | int64[1]: 2", "string[1]: b"},
    {"Slice", 13, "", "int8[2]: 0 1 | int64[1]: 1 | int64[1]: 0", "int8[0]:"},
    {"Slice", 13, "", "int8[2]: 0 1 | int64[1]: 0 | int64[1]: 9 | - | int64[1]: 0", "invalid"},
    {"Slice", 13, "", "int8[2]: 0 1 | int64[1]: 0 | int64[1]: 9 | int64[1]: 1", "invalid"},
    {"Slice", 13, "", "int8[2]: 0 1 | int64[2]: 0 0 | int64[2]: 1 1 | int64[2]: 0 -1", "invalid"},
    {"Slice", 13, "", "float[0]: | int64[1]: 0 | int64[1]: -1 | - | int64[1]: -1", "float[0]:"},
    {"Expand", 13, "", "float[2,1]: 1 2 | int64[2]: 1 3", "float[2,3]: 1 1 1 2 2 2"},
    {"Expand", 13, "", "float[3]: 1 2 3 | int64[2]: 2 1", "float[2,3]: 1 2 3 1 2 3"},
    {"Expand", 8, "", "float[]: 4 | int64[1]: 0", "float[0]:"},
    {"Expand", 13, "", "float[2]: 1 2 | int64[1]: 3", "invalid"},
    {"Expand", 13, "", "float[1]: 1 | int64[1]: -1", "invalid"},
    {"Tile", 13, "", "int8[2,2]: 1 2 3 4 | int64[2]: 2 1", "int8[4,2]: 1 2 3 4 1 2 3 4"},
    {"Tile", 6, "", "int8[2,1]: 1 2 | int64[2]: 1 3", "int8[2,3]: 1 1 1 2 2 2"},
    {"Tile", 13, "", "int8[2]: 1 2 | int64[1]: 0", "int8[0]:"},
    {"Tile", 13, "", "int8[2]: 1 2 | int64[1]: 4611686018427387904", "limit"},
    {"Tile", 13, "", "int8[2]: 1 2 | int64[2]: 1 1", "invalid"},
    {"Tile", 1, "", "float[1,2]: 1 2 | float[1]: 2 | float[1]: 1", "float[1,4]: 1 2 1 2"},
    {"Tile", 1, "", "float[2]: 1 2 | float[1]: 1.5 | float[1]: 0", "invalid"},
};

static const kernel_row pad_rows[] = {
    {"Pad", 1, "paddings=[1,0]; value=2.5", "float[2]: 1 2", "float[3]: 2.5 1 2"},
    {"Pad", 2, "pads=[0,1,0,0]", "float[2,1]: 1 2", "float[2,2]: 0 1 0 2"},
    {"Pad", 2, "pads=[-1,1]", "double[2]: 1 2", "double[2]: 2 0"},
    {"Pad", 13, "", "int32[2]: 1 2 | int64[2]: 1 2 | int32[]: 9", "int32[5]: 9 1 2 9 9"},
    {"Pad", 13, "", "string[1]: a | int64[2]: 1 0", "string[2]: \"\" a"},
    {"Pad", 13, "", "float[0]: | int64[2]: 1 1", "float[2]: 0 0"},
    {"Pad", 13, "", "float[2,2]: 1 2 3 4 | int64[4]: 1 0 0 0", "float[3,2]: 0 0 1 2 3 4"},
    {"Pad", 13, "mode=reflect", "float[3]: 1 2 3 | int64[2]: 2 1", "float[6]: 3 2 1 2 3 2"},
    {"Pad", 13, "mode=edge", "float[2,2]: 1 2 3 4 | int64[4]: 0 1 1 0",
     "float[3,3]: 1 1 2 3 3 4 3 3 4"},
    {"Pad", 19, "mode=wrap", "float[3]: 1 2 3 | int64[2]: 2 1", "float[6]: 2 3 1 2 3 1"},
    {"Pad", 18, "", "float[1,2]: 1 2 | int64[2]: 1 0 | - | int64[1]: -1", "float[1,3]: 0 1 2"},
    {"Pad", 18, "", "float[1]: 1 | int64[4]: 1 0 1 0 | - | int64[2]: 0 0", "invalid"},
    {"Pad", 13, "mode=wrap", "float[1]: 1 | int64[2]: 1 0", "invalid"},
    {"Pad", 13, "mode=reflect", "float[2]: 1 2 | int64[2]: 2 0", "invalid"},
    {"Pad", 13, "", "float[2]: 1 2 | int64[2]: -2 -1", "invalid"},
    {"Pad", 13, "", "float[2]: 1 2 | int64[1]: 0", "invalid"},
    {"Pad", 13, "", "float[1]: 1 | int64[2]: 9223372036854775807 9223372036854775807", "limit"},
};

static const kernel_row gather_rows[] = {
    {"Gather", 13, "", "float[3]: 1 2 3 | int64[2]: -1 0", "float[2]: 3 1"},
    {"Gather", 1, "axis=1", "float[2,2]: 1 2 3 4 | int32[]: 1", "float[2]: 2 4"},
    {"Gather", 11, "axis=-1", "string[2,2]: a b c d | int64[1,1]: 0", "string[2,1,1]: a c"},
    {"Gather", 13, "", "float[2,0]: | int64[1]: 1", "float[1,0]:"},
    {"Gather", 1, "", "float[3]: 1 2 3 | int64[1]: -1", "unsupported"},
    {"Gather", 13, "", "float[3]: 1 2 3 | int64[1]: 3", "invalid"},
    {"Gather", 13, "", "float[3]: 1 2 3 | int64[1]: -4", "invalid"},
    {"Gather", 13, "", "float[]: 1 | int64[1]: 0", "invalid"},
    {"GatherElements", 13, "axis=1", "float[2,2]: 1 2 3 4 | int64[2,2]: 0 0 1 -2",
     "float[2,2]: 1 1 4 3"},
    {"GatherElements", 13, "", "float[3,2]: 1 2 3 4 5 6 | int32[1,2]: 2 0", "float[1,2]: 5 2"},
    {"GatherElements", 13, "", "float[2]: 1 2 | int64[1,1]: 0", "invalid"},
    {"GatherND", 11, "", "int32[2,2]: 0 1 2 3 | int64[2,2]: 0 0 1 -1", "int32[2]: 0 3"},
    {"GatherND", 13, "", "int32[2,2]: 0 1 2 3 | int64[2,1]: 1 0", "int32[2,2]: 2 3 0 1"},
    {"GatherND", 12, "batch_dims=1", "int32[2,2]: 0 1 2 3 | int64[2,1]: 1 0", "int32[2]: 1 2"},
    {"GatherND", 13, "", "int32[2]: 0 1 | int64[1,1]: 2", "invalid"},
    {"GatherND", 13, "", "int32[2]: 0 1 | int64[1,2]: 0 0", "invalid"},
    {"Compress", 11, "axis=0", "float[3,2]: 1 2 3 4 5 6 | bool[3]: 0 1 1", "float[2,2]: 3 4 5 6"},
    {"Compress", 11, "axis=-1", "float[2,2]: 1 2 3 4 | bool[2]: 0 1", "float[2,1]: 2 4"},
    {"Compress", 9, "", "float[2,2]: 1 2 3 4 | bool[3]: 1 0 1", "float[2]: 1 3"},
    {"Compress", 11, "axis=0", "float[1]: 1 | bool[2]: 1 1", "invalid"},
    {"ReverseSequence", 10, "", "float[3,2]: 0 1 2 3 4 5 | int64[2]: 3 2",
     "float[3,2]: 4 3 2 1 0 5"},
    {"ReverseSequence", 10, "batch_axis=0; time_axis=1", "float[2,2]: 0 1 2 3 | int64[2]: 1 2",
     "float[2,2]: 0 1 3 2"},
    {"ReverseSequence", 10, "", "float[1,1]: 0 | int64[1]: 2", "invalid"},
    {"Scatter", 9, "", "float[3]: 1 2 3 | int64[1]: 1 | float[1]: 9", "float[3]: 1 9 3"},
    {"ScatterElements", 11, "axis=1", "float[1,5]: 1 2 3 4 5 | int64[1,2]: 1 -1 | float[1,2]: 8 9",
     "float[1,5]: 1 8 3 4 9"},
    {"ScatterElements", 13, "", "float[2]: 1 2 | int64[2]: 0 0 | float[2]: 8 9", "unsupported"},
    {"ScatterElements", 13, "", "float[2]: 1 2 | int64[1]: 2 | float[1]: 8", "invalid"},
    {"ScatterElements", 13, "", "string[2]: a b | int32[1]: 1 | string[1]: c", "string[2]: a c"},
    {"ScatterElements", 16, "reduction=add", "float[2]: 1 2 | int64[2]: 0 0 | float[2]: 8 9",
     "float[2]: 18 2"},
    {"ScatterElements", 18, "reduction=mul", "int8[2]: 100 2 | int64[1]: 0 | int8[1]: 3",
     "int8[2]: 44 2"},
    {"ScatterElements", 18, "reduction=max", "uint8[2]: 200 2 | int64[2]: 0 1 | uint8[2]: 100 3",
     "uint8[2]: 200 3"},
    {"ScatterElements", 18, "reduction=min", "float[2]: 1 nan | int64[1]: 0 | float[1]: -1",
     "float[2]: -1 nan"},
    {"ScatterElements", 18, "reduction=min", "float[2]: 1 nan | int64[1]: 1 | float[1]: -1",
     "unsupported"},
    {"ScatterElements", 16, "reduction=max", "float[1]: 1 | int64[1]: 0 | float[1]: -1", "invalid"},
    {"ScatterElements", 18, "reduction=add", "float16[1]: 1 | int64[1]: 0 | float16[1]: 2",
     "float16[1]: 3"},
    {"ScatterElements", 18, "reduction=add", "float16[1]: 1 | int64[2]: 0 0 | float16[2]: 2 2",
     "unsupported"},
    {"ScatterND", 11, "", "float[4]: 1 2 3 4 | int64[2,1]: 3 -4 | float[2]: 8 9",
     "float[4]: 9 2 3 8"},
    {"ScatterND", 13, "", "int32[2,2]: 1 2 3 4 | int64[1,1]: 1 | int32[1,2]: 8 9",
     "int32[2,2]: 1 2 8 9"},
    {"ScatterND", 16, "reduction=add", "int64[2]: 1 2 | int64[2,1]: 1 1 | int64[2]: 8 9",
     "int64[2]: 1 19"},
    {"ScatterND", 13, "", "float[2]: 1 2 | int64[2,1]: 1 1 | float[2]: 8 9", "unsupported"},
    {"ScatterND", 13, "", "float[2]: 1 2 | int64[1,1]: 2 | float[1]: 8", "invalid"},
    {"ScatterND", 13, "", "float[2]: 1 2 | int64[1,1]: 0 | float[2]: 8 9", "invalid"},
};

static const kernel_row make_rows[] = {
    {"Range", 11, "", "int64[]: 1 | int64[]: 8 | int64[]: 3", "int64[3]: 1 4 7"},
    {"Range", 11, "", "int32[]: 5 | int32[]: -1 | int32[]: -3", "int32[2]: 5 2"},
    {"Range", 11, "", "int64[]: 1 | int64[]: 1 | int64[]: 3", "int64[0]:"},
    {"Range", 11, "", "int64[]: 1 | int64[]: 5 | int64[]: -3", "int64[0]:"},
    {"Range", 11, "", "int64[]: 1 | int64[]: 5 | int64[]: 0", "invalid"},
    {"Range", 11, "", "int64[]: 0 | int64[]: 9223372036854775807 | int64[]: 1", "limit"},
    {"Range", 11, "", "int64[]: -2 | int64[]: 9223372036854775807 | int64[]: 1", "limit"},
    {"Range", 11, "", "float[]: 1 | float[]: 2 | float[]: 0.5", "float[2]: 1 1.5"},
    {"Range", 11, "", "float[]: 0 | float[]: 1 | float[]: 0.1", "unsupported"},
    {"Range", 11, "", "float[]: 0 | float[]: nan | float[]: 1", "unsupported"},
    {"Range", 27, "", "float16[]: 0 | float16[]: 3 | float16[]: 1", "float16[3]: 0 1 2"},
    {"OneHot", 11, "", "int64[2]: 0 -1 | int64[]: 3 | float[2]: 0 5", "float[2,3]: 5 0 0 0 0 5"},
    {"OneHot", 9, "", "int64[2]: 1 -1 | int64[1]: 2 | int32[2]: 7 8", "int32[2,2]: 7 8 7 7"},
    {"OneHot", 11, "axis=0", "float[2]: 0 1 | float[]: 2 | int64[2]: 0 1", "int64[2,2]: 1 0 0 1"},
    {"OneHot", 11, "", "int64[1]: 9 | int64[]: 2 | int64[2]: 3 4", "int64[1,2]: 3 3"},
    {"OneHot", 11, "", "float[1]: 0.5 | int64[]: 2 | int64[2]: 0 1", "unsupported"},
    {"OneHot", 11, "", "int64[1]: 0 | int64[]: -2 | int64[2]: 0 1", "invalid"},
    {"EyeLike", 9, "", "float[2,3]: 9 9 9 9 9 9", "float[2,3]: 1 0 0 0 1 0"},
    {"EyeLike", 9, "k=-1; dtype=7", "int32[2,2]: 9 9 9 9", "int64[2,2]: 0 0 1 0"},
    {"EyeLike", 9, "k=9223372036854775807; dtype=9", "float[1,2]: 1 2", "bool[1,2]: 0 0"},
    {"EyeLike", 9, "", "float[2]: 1 2", "invalid"},
    {"Trilu", 14, "", "int64[2,3]: 1 2 3 4 5 6", "int64[2,3]: 1 2 3 0 5 6"},
    {"Trilu", 14, "upper=0", "int64[2,3]: 1 2 3 4 5 6 | int64[]: 1", "int64[2,3]: 1 2 0 4 5 6"},
    {"Trilu", 14, "upper=0", "int8[2,2,2]: 1 2 3 4 5 6 7 8", "int8[2,2,2]: 1 0 3 4 5 0 7 8"},
    {"Trilu", 14, "", "int8[2,2]: 1 2 3 4 | int64[]: -9223372036854775808", "int8[2,2]: 1 2 3 4"},
    {"Trilu", 14, "upper=0", "int8[2,2]: 1 2 3 4 | int64[]: -9223372036854775808",
     "int8[2,2]: 0 0 0 0"},
    {"Trilu", 14, "", "int8[2,2]: 1 2 3 4 | int64[]: 9223372036854775807", "int8[2,2]: 0 0 0 0"},
    {"NonZero", 13, "", "bool[2,2]: 1 0 1 1", "int64[2,3]: 0 1 1 0 0 1"},
    {"NonZero", 13, "", "float[3]: 0 -0 nan", "int64[1,1]: 2"},
    {"NonZero", 13, "", "int8[2,0]:", "int64[2,0]:"},
    {"NonZero", 13, "", "float[]: 1", "unsupported"},
};

static const kernel_row order_rows[] = {
    {"TopK", 1, "k=2", "float[3]: 1 3 2", "float[2]: 3 2 | int64[2]: 1 2"},
    {"TopK", 10, "axis=0", "float[2,2]: 1 4 3 2 | int64[1]: 1",
     "float[1,2]: 3 4 | int64[1,2]: 1 0"},
    {"TopK", 11, "largest=0", "int64[4]: 5 -1 5 -1 | int64[1]: 3",
     "int64[3]: -1 -1 5 | int64[3]: 1 3 0"},
    {"TopK", 11, "", "float[3]: 2 2 2 | int64[1]: 2", "float[2]: 2 2 | int64[2]: 0 1"},
    {"TopK", 11, "", "float[2]: -0 0 | int64[1]: 1", "float[1]: -0 | int64[1]: 0"},
    {"TopK", 11, "", "uint64[2]: 1 18446744073709551615 | int64[1]: 1", "- | int64[1]: 1"},
    {"TopK", 11, "", "float[2]: 1 2 | int64[1]: 0", "float[0]: | int64[0]:"},
    {"TopK", 11, "", "float[2]: 1 nan | int64[1]: 1", "unsupported2"},
    {"TopK", 11, "", "float[2]: 1 2 | int64[1]: 3", "invalid2"},
    {"TopK", 11, "", "float[2]: 1 2 | int64[1]: -1", "invalid2"},
    {"Unique", 11, "", "float[5]: 2 1 1 3 2",
     "float[3]: 1 2 3 | int64[3]: 1 0 3 | int64[5]: 1 0 0 2 1 | int64[3]: 2 2 1"},
    {"Unique", 11, "sorted=0", "float[5]: 2 1 1 3 2",
     "float[3]: 2 1 3 | int64[3]: 0 1 3 | int64[5]: 0 1 1 2 0 | int64[3]: 2 2 1"},
    {"Unique", 11, "axis=0", "int64[3,2]: 1 0 0 9 1 0",
     "int64[2,2]: 0 9 1 0 | int64[2]: 1 0 | int64[3]: 1 0 1 | int64[2]: 1 2"},
    {"Unique", 11, "axis=1", "int64[2,2]: 1 1 0 0", "int64[2,1]: 1 0"},
    {"Unique", 11, "", "string[3]: b a b", "string[2]: a b"},
    {"Unique", 11, "", "float[0]:", "float[0]: | int64[0]: | int64[0]: | int64[0]:"},
};

KERNEL_TEST(shape)
KERNEL_TEST(copy)
KERNEL_TEST(pad)
KERNEL_TEST(gather)
KERNEL_TEST(make)
KERNEL_TEST(order)

/* Large enough for every path of the strided copy: rows, merged axes, and a block copy. */
START_TEST(transpose_twice) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 21);
  surg_graph *g = surg_model_graph(m);
  static uint16_t data[7 * 5 * 3 * 4];
  for (size_t i = 0; i < SURG_COUNT(data); i++) data[i] = (uint16_t)(i * 31 + 7);
  static const int64_t dims[4] = {7, 5, 3, 4};
  static const int64_t perms[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 2, 3},
                                     {2, 3, 0, 1}, {0, 2, 1, 3}, {3, 0, 1, 2}};
  for (size_t i = 0; i < SURG_COUNT(perms); i++) {
    surg_value *v = surg_graph_constant(
        g, NULL, NULL, surg_tensor_new(m, SURG_UINT16, dims, 4, data, sizeof data));
    int64_t back[4];
    for (int64_t d = 0; d < 4; d++) back[perms[i][d]] = d;
    for (int round = 0; round < 2; round++) {
      surg_node *n = surg_graph_add_node(g, NULL, "", "Transpose", 1);
      surg_node_set_input(n, 0, v);
      surg_node_set_ints(n, "perm", round ? back : perms[i], 4);
      surg_tensor *t = NULL;
      ck_assert_int_eq(surg_node_evaluate(n, 1 << 20, 1 << 20, &t, 1, NULL), SURG_OK);
      v = surg_graph_constant(g, NULL, NULL, t);
    }
    uint16_t out[SURG_COUNT(data)];
    surg_tensor *t = surg_value_constant(v);
    ck_assert_int_eq(surg_tensor_read(t, 0, out, sizeof out), SURG_OK);
    ck_assert_mem_eq(out, data, sizeof data);
  }
  surg_model_free(m);
}
END_TEST

/* The work of a sort is asked for before it is done. */
START_TEST(work_is_bounded) {
  surg_model *m = surg_model_new(kernel_ctx, 10, 21);
  surg_graph *g = surg_model_graph(m);
  float data[64] = {0};
  int64_t dim = 64, one = 1, k = 1;
  surg_node *n = surg_graph_add_node(g, NULL, "", "TopK", 2);
  surg_node_set_input(
      n, 0, surg_graph_constant(g, n, NULL, surg_tensor_new(m, SURG_FLOAT, &dim, 1, data, 256)));
  surg_node_set_input(
      n, 1, surg_graph_constant(g, n, NULL, surg_tensor_new(m, SURG_INT64, &one, 1, &k, 8)));
  surg_tensor *t[2];
  ck_assert_int_eq(surg_node_evaluate(n, 1 << 20, 64 * 6, t, 2, NULL), SURG_ELIMIT);
  ck_assert_int_eq(surg_node_evaluate(n, 1 << 20, 64 * 7, t, 2, NULL), SURG_OK);
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_move");
  TCase *c = kernel_case();
  KERNEL_ADD(c, shape);
  KERNEL_ADD(c, copy);
  KERNEL_ADD(c, pad);
  KERNEL_ADD(c, gather);
  KERNEL_ADD(c, make);
  KERNEL_ADD(c, order);
  tcase_add_test(c, transpose_twice);
  tcase_add_test(c, work_is_bounded);
  suite_add_tcase(s, c);
  return unit_run(s);
}
