# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime computes: shapes of all values of a model, at two bindings of its symbols."""
import glob
import json
import os
import shutil
import sys

import infer_expr
import ort

sys.path.insert(0, os.path.join(ort.HERE, ".."))
import onnx_wire

TYPES = {"float": "float32", "double": "float64"}
BACK = {v: k for k, v in TYPES.items()}
PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
# Of images: into smaller ones the windows of pools do not fit, and then runtimes differ.
SIDES = [131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191]
SIDE = 100  # added to the axis where a symbol is the side of an image
SEEDS = 3


def symbol_of(value, axis):
    text = value["dims"][axis]
    return text and infer_expr.only_symbol(text) or (value["name"], axis)


def symbols(inputs):
    """Every symbol a binding has to choose, and the axis where it stands first (plus SIDE)."""
    out = {}
    for v in inputs:
        for axis, d in enumerate(v.get("dims", [])):
            if not isinstance(d, int):
                side = SIDE if axis >= 2 and len(v["dims"]) >= 4 else 0
                out.setdefault(symbol_of(v, axis), axis + side)
    return out


def bindings(keys):
    """Sizes to try, the telling ones first: all different and coprime, then what models demand:
    an image's sides, one batch, everything alike."""
    names = sorted(keys, key=str)
    if not names:
        return [{}]
    wide = len(PRIMES)
    out = [{k: (SIDES if keys[k] >= SIDE else PRIMES)[(i + s) % wide] for i, k in enumerate(names)}
           for s in (0, 3)]
    for side, step in ((16, 16), (64, 32), (32, 32), (128, 64), (224, 32), (8, 8)):
        out.append({k: 2 if keys[k] == 0 else side + step * (i % 3) for i, k in enumerate(names)})
        out.append({k: 3 if keys[k] == 0 else side + step for k in names})
    for batch, side in ((1, 64), (1, 96), (1, 224), (1, 32), (1, 256), (1, 320), (1, 640)):
        out.append({k: batch if keys[k] == 0 else side for k in names})
    small = (2, 3, 1, 4, 8) if max(keys.values()) < SIDE else ()
    out += [{k: size for k in names} for size in small + (16, 32)]
    return out


def feeds_of(inputs, binding, seed):
    feeds = {}
    for v in inputs:
        if v.get("kind") != 1 or "dims" not in v:
            return None
        dims = [d if isinstance(d, int) else binding[symbol_of(v, axis)]
                for axis, d in enumerate(v["dims"])]
        feeds[v["name"]] = {"type": TYPES.get(v["dtype"], v["dtype"]), "dims": dims}
    return {"key": str(binding) if binding else str(seed), "seed": seed, "feeds": feeds}


def given(inputs, data):
    """Runs on test data: [(run, sizes of symbols)], and what the data says of outputs."""
    if len(data["inputs"]) != len(inputs) or None in data["inputs"]:
        return None
    feeds, binding = {}, {}
    for v, t in zip(inputs, data["inputs"]):
        feeds[v["name"]] = dict(t, type=TYPES.get(t["dtype"], t["dtype"]))
        for axis, d in enumerate(v.get("dims", [])):
            if not isinstance(d, int) and axis < len(t["dims"]):
                binding[symbol_of(v, axis)] = t["dims"][axis]
    return {"key": str(binding), "seed": 1, "feeds": feeds}, binding


def with_outputs(path, names, folder):
    """The model with more outputs: what is appended to a message is merged into it."""
    out = os.path.join(folder, "model.onnx")
    shutil.copyfile(path, out)
    with open(out, "ab") as f:
        f.write(onnx_wire.sub(7, *(onnx_wire.sub(12, onnx_wire.sub(1, n)) for n in names)))
    here = os.path.dirname(path)
    for name in os.listdir(here):
        whole = os.path.join(here, name)
        if os.path.isfile(whole) and not name.endswith((".onnx", ".pb")):
            shutil.copyfile(whole, os.path.join(folder, name))
    return out


class Truth:
    """of(path, dump, outputs, folder) -> ([{"env": sizes, "got": {name: [dtype, dims]}}], why)."""

    def __init__(self, onnx_child):
        self.runtime = ort.Child(ort.script("ort_shapes.cjs"))
        self.onnx = onnx_child

    def stored(self, path, inputs):
        """Test data beside the model: runs to try and facts."""
        runs = []
        for folder in sorted(glob.glob(os.path.join(os.path.dirname(path), "test_data_set_*"))):
            data = self.onnx.ask(json.dumps({"data": folder})) if self.onnx else {}
            run = given(inputs, data) if isinstance(data, dict) and "inputs" in data else None
            if run:
                runs.append(run)
        return runs

    def of(self, path, dump, folder):
        inputs, names = dump["inputs"], [v["name"] for v in dump["values"]]
        keys = symbols(inputs)
        tries = self.stored(path, inputs)
        seeds = range(1, SEEDS + 1) if not keys else (1,)
        for b in bindings(keys):
            for seed in seeds:
                run = feeds_of(inputs, b, seed)
                if run:
                    tries.append((run, b))
        model, why = with_outputs(path, names, folder), ""
        for candidate in (model, path):
            request = {"model": candidate, "want": 2, "runs": [t[0] for t in tries]}
            answer = self.runtime.ask(json.dumps(request))
            if isinstance(answer, str):
                why = answer
                continue
            why = answer.get("why", "")
            if answer["runs"]:
                break
        else:
            return [], why
        out = []
        for r in answer["runs"]:
            got = {n: [BACK.get(t, t), dims] for n, (t, dims) in r["outputs"].items()}
            out.append({"env": tries[r["run"]][1], "got": got})
        return out, why

    def close(self):
        self.runtime.close()
