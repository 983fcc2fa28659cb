# SPDX-License-Identifier: Apache-2.0
"""write.py DIR: every model of every family, as DIR/FAMILY/NAME.onnxtxt."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import language
import small
import sound
import vision

FAMILIES = {
    "detector": vision.DETECTOR, "segmentation": vision.SEGMENTATION, "ocr": vision.OCR, "speech": sound.SPEECH,
    "encoder": language.ENCODER, "decoder": language.DECODER, "diffusion": language.DIFFUSION,
    "quantised": small.QUANTISED, "tabular": small.TABULAR, "policy": small.POLICY,
}


def write(folder):
    """[(family, name, path)], in order."""
    made = []
    for family, models in FAMILIES.items():
        os.makedirs(os.path.join(folder, family), exist_ok=True)
        for name, make in models.items():
            made.append((family, name, os.path.join(folder, family, name + ".onnxtxt")))
            with open(made[-1][2], "w", encoding="utf-8") as f:
                f.write(make())
    return made


if __name__ == "__main__":
    write(sys.argv[1])
