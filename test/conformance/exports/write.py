#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""write.py [--seed N] [--count N] [--broken N] [--family NAME] [--highest OPSET] [--engine ort-1.30.0] DIR: writes small models as
exporters write them, drawn at random: recurrent nets, pipelines of ai.onnx.ml, quantized and fused transformers,
functions, nested bodies, sequences, text, losses, shape arithmetic, of opsets 7 to 24 and IR versions 3 to 11.

--count: models that ENGINE imports; those that it rejects are written, too, below DIR/rejected. --broken N: so many
changed copies of each, below DIR/broken. `verdicts`, `repair` and `mutants` (in the folder above) judge them."""
import argparse
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import ort

ort.need_onnx()
import breaks
import others
import plain


def save(model, folder, name):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as f:
        f.write(model.SerializeToString())
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--family")
    parser.add_argument("--highest", type=int, default=24)
    parser.add_argument("--engine", default="ort-1.30.0")
    parser.add_argument("folder")
    args = parser.parse_args()
    command = ort.importer(args.engine)
    if not command:
        print("skipped: no %s" % args.engine)
        return 77
    engine, rng, good, bad = ort.Child(command), random.Random(args.seed), 0, 0
    plain.HIGHEST[0] = args.highest
    families = [f for f in plain.FAMILIES + others.FAMILIES if args.family in (None, f.__name__)]
    while good < args.count and bad < 10 * args.count:
        family = families[(good + bad) % len(families)]
        name = "%s_%d_%d" % (family.__name__, args.seed, good + bad)
        model = family(random.Random(rng.random()))
        path = save(model, os.path.join(args.folder, "valid"), name)
        answer = engine.ask(path)
        if not (isinstance(answer, dict) and answer["accepts"]):
            os.makedirs(os.path.join(args.folder, "rejected"), exist_ok=True)
            os.rename(path, os.path.join(args.folder, "rejected", name + ".onnx"))
            bad += 1
            continue
        good += 1
        for k in range(args.broken):
            changed = breaks.broken(rng, model)
            if changed:
                save(changed[1], os.path.join(args.folder, "broken"), "%s_%d_%s" % (name, k, changed[0]))
    engine.close()
    print("%d models that %s imports, %d that it rejects" % (good, args.engine, bad))
    return 0


if __name__ == "__main__":
    sys.exit(main())
