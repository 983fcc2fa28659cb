#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_opencv.py [FILE...]: whether OpenCV's DNN module reads a model. Answers as import_js.cjs."""
import json
import os
import sys

import cv2


def ask(path):
    """"" where it is taken, else the message."""
    try:
        cv2.dnn.readNetFromONNX(path)
        return ""
    except cv2.error as e:  # errors stand in errors: the innermost says what it is
        return " ".join(str(e).split()).rsplit(" error: ", 1)[-1] or "refused"
    except Exception as e:  # a message that is no text, say
        return " ".join(repr(e).split())


def main():
    # The module itself prints to both; answers go where they went before.
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    taken = True
    for path in sys.argv[1:]:
        why = ask(path)
        taken = taken and not why
        answers.write("%s\t%s\n" % (path, why or "ok"))
        answers.flush()
    if len(sys.argv) > 1:
        return 0 if taken else 1
    for line in sys.stdin:
        why = ask(line.rstrip("\n"))
        answers.write(json.dumps({"accepts": not why, "why": why}) + "\n")
        answers.flush()
    return 0


sys.exit(main())
