# SPDX-License-Identifier: Apache-2.0
"""What onnx's own inference says, and what test data holds; needs the package onnx. Reads requests,
a line of JSON each, from standard input, and answers each with one:
  {"infer": MODEL}  {NAME: [DTYPE, DIMS or null]}, from the types of inputs alone; a dim is a number,
                    a text or null
  {"data": FOLDER}  {"inputs": [T...], "outputs": [T...]} of its input_k.pb and output_k.pb; a T is
                    {"dtype", "dims", "data"}, or null where it is no tensor
"""
import base64
import glob
import json
import os
import sys

import onnx
from onnx import numpy_helper

DTYPES = onnx.TensorProto.DataType


def quoted(name):
    """The symbol as infer_expr.py reads it."""
    return '"%s"' % name.replace("\\", "\\\\").replace('"', '\\"')


def dims_of(tensor):
    if not tensor.HasField("shape"):
        return None
    out = []
    for d in tensor.shape.dim:
        if d.HasField("dim_value"):
            out.append(d.dim_value)
        else:
            out.append(quoted(d.dim_param) if d.dim_param else None)
    return out


def infer(path):
    model = onnx.load(path, load_external_data=False)
    del model.graph.value_info[:]
    for v in model.graph.output:
        v.ClearField("type")
    done = onnx.shape_inference.infer_shapes(model, data_prop=True)
    out = {}
    for v in list(done.graph.value_info) + list(done.graph.output):
        t = v.type.tensor_type
        if v.type.HasField("tensor_type") and t.elem_type:
            out[v.name] = [DTYPES.Name(t.elem_type).lower(), dims_of(t)]
    return out


def tensor_of(path):
    t = onnx.TensorProto()
    try:
        with open(path, "rb") as f:
            t.ParseFromString(f.read())
        dtype = DTYPES.Name(t.data_type).lower()
        array = numpy_helper.to_array(t)
    except Exception:  # a sequence, or a type this version does not know
        return None
    if array.dtype == object:
        data = [s.decode() if isinstance(s, bytes) else str(s) for s in array.flatten()]
    else:
        data = base64.b64encode(array.tobytes()).decode()
    return {"dtype": dtype, "dims": list(t.dims), "data": data}


def data(folder):
    out = {}
    for kind in ("input", "output"):
        files = glob.glob(os.path.join(folder, kind + "_*.pb"))
        files.sort(key=lambda f: int(f.rsplit("_", 1)[1][:-3]))
        out[kind + "s"] = [tensor_of(f) for f in files]
    return out


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = infer(request["infer"]) if "infer" in request else data(request["data"])
        except Exception as error:
            answer = {"error": str(error)[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
