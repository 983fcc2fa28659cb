# SPDX-License-Identifier: Apache-2.0
"""Folders of models that tests go through."""
import os

LARGE = 20e6


def models(folders, every=1):
    """Every *.onnx below the folders, or of files that are named; every N: one in N, none LARGE."""
    found = [top for top in folders if os.path.isfile(top)]
    for top in folders:
        for folder, _, names in sorted(os.walk(top)):
            found += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".onnx")]
    if every == 1:
        return found
    return [path for path in found[::every] if os.path.getsize(path) < LARGE]


def folders(named):
    """Those that are named and those in ONNXSURG_CORPUS (colon separated)."""
    return named + [f for f in os.environ.get("ONNXSURG_CORPUS", "").split(":") if f]


def data_of(model):
    """The folder of inputs and outputs that comes with a model of ONNX's suite, or None."""
    folder = os.path.join(os.path.dirname(os.path.abspath(model)), "test_data_set_0")
    return folder if os.path.isdir(folder) else None
