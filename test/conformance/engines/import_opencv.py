#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_opencv.py [FILE...]: whether OpenCV's DNN module reads a model. Answers as import_js.cjs. A line
FILE<TAB>FOLDER asks, too, whether it computes what FOLDER expects of it (input_K.pb, output_K.pb):
`right` is true, false or null (nothing to compare, or types numpy does not have), `wrong` says what is."""
import json
import os
import sys

import cv2
import numpy

NEAR = 1e-3  # relative; sums are in float whatever the model says
SMALL = 1e-5


class Mat(numpy.ndarray):
    """An array of which no axis is taken for channels."""

    wrap_channels = False


cv2._registerMatType(Mat)


def message(error):
    """Errors stand in errors: the innermost says what it is."""
    text = " ".join((str(error) if isinstance(error, cv2.error) else repr(error)).split())
    return text.rsplit(" error: ", 1)[-1] or "refused"


def ask(path):
    """(net, "") where it is taken, else (None, message)."""
    try:
        return cv2.dnn.readNetFromONNX(path), ""
    except Exception as e:  # a message that is no text, say
        return None, message(e)


def tensor(path):
    import onnx
    import onnx.numpy_helper

    found = onnx.TensorProto()
    with open(path, "rb") as f:
        found.ParseFromString(f.read())
    return onnx.numpy_helper.to_array(found)


def wrong(net, path, folder):
    """None where nothing can be compared, "" where all is as expected, else what is not."""
    try:
        import onnx

        graph = onnx.load(path, load_external_data=False).graph
        weights = {t.name for t in graph.initializer}
        given = {v.name: tensor(os.path.join(folder, "input_%d.pb" % k)) for k, v in enumerate(graph.input)
                 if v.name not in weights}
        expected = [tensor(os.path.join(folder, "output_%d.pb" % k)) for k in range(len(graph.output))]
        given = {name: a.astype(numpy.float32) for name, a in given.items()}
    except Exception:
        return None
    try:
        for name, a in given.items():
            net.setInput(numpy.ascontiguousarray(a).view(Mat), name)
        found = net.forward([v.name for v in graph.output])
    except Exception as e:
        return message(e)
    return next((why for why in map(differs, graph.output, found, expected) if why), "")


def differs(value, found, expected):
    """A Mat has two axes at least: of fewer only how many elements there are is compared."""
    if expected.size != found.size or (expected.ndim > 1 and expected.shape != found.shape):
        return "%s: shape %s, expected %s" % (value.name, list(found.shape), list(expected.shape))
    pair = found.astype(numpy.float64).ravel(), expected.astype(numpy.float64).ravel()
    same = numpy.isclose(*pair, rtol=NEAR, atol=SMALL, equal_nan=True)
    if same.all():
        return ""
    at = int(numpy.argmin(same))
    return "%s: element %d is %g, expected %g" % (value.name, at, pair[0][at], pair[1][at])


def answer(line):
    path, _, folder = line.partition("\t")
    net, why = ask(path)
    found = {"accepts": not why, "why": why}
    if folder:
        off = wrong(net, path, folder) if net is not None else None
        found.update(right=None if off is None else not off, wrong=off or "")
    return found


def main():
    # The module itself prints to both; answers go where they went before.
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    taken = True
    for path in sys.argv[1:]:
        why = ask(path)[1]
        taken = taken and not why
        answers.write("%s\t%s\n" % (path, why or "ok"))
        answers.flush()
    if len(sys.argv) > 1:
        return 0 if taken else 1
    for line in sys.stdin:
        answers.write(json.dumps(answer(line.rstrip("\n"))) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
