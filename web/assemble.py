#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the npm package and the page together: assemble.py TOP OUT NOTICE.

With --stamp TOP, prints a hash of all sources, by which tests see that the result is current.

The package is web/npm with the program and the licenses. The page is one file: web/page.html with
its style, its scripts and the compressed program inside.
"""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def version(top):
    return re.search(r"version: '([^']+)'", read(top, "meson.build")).group(1)


def package(top, out, notice):
    to = os.path.join(out, "npm")
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(os.path.join(top, "web", "npm"), to)
    wasm = os.path.join(out, "meson", "tools", "onnxsurg.wasm")
    shutil.copyfile(wasm, os.path.join(to, "onnxsurg.wasm"))
    shutil.copyfile(os.path.join(top, "LICENSE"), os.path.join(to, "LICENSE"))
    shutil.copyfile(notice, os.path.join(to, "NOTICE"))
    described = json.loads(read(to, "package.json"))
    described["version"] = version(top)
    with open(os.path.join(to, "package.json"), "w", encoding="utf-8") as f:
        json.dump(described, f, indent=2)
        f.write("\n")


def as_script(*path):
    """A module as part of one script: without its imports and exports."""
    text = re.sub(r"(?ms)^import\b.*?;\n", "", read(*path))
    return re.sub(r"(?m)^export (default )?", "", text)


def page(top, out):
    web = os.path.join(top, "web")
    worker = "".join(as_script(web, *p.split("/"))
                     for p in ("npm/host.js", "npm/memory.js", "worker.js"))
    with open(os.path.join(out, "npm", "onnxsurg.wasm"), "rb") as f:
        wasm = base64.b64encode(gzip.compress(f.read(), 9, mtime=0)).decode()
    parts = {
        "STYLE": read(web, "page.css"),
        "WORKER": worker.replace("</", "<\\/"),
        "PAGE": read(web, "page.js").replace("</", "<\\/"),
        "WASM": wasm,
        "VERSION": version(top),
    }
    html = re.sub(r"@([A-Z]+)@", lambda m: parts[m.group(1)], read(web, "page.html"))
    with open(os.path.join(out, "onnxsurg.html"), "w", encoding="utf-8") as f:
        f.write(html)


def stamp(top):
    """A hash of the names and contents of all sources."""
    total = hashlib.sha256()
    for part in ("include", "lib", "passes", "proto", "tools", "web"):
        for folder, folders, files in os.walk(os.path.join(top, part)):
            folders.sort()
            for name in sorted(f for f in files if not f.endswith(".pyc")):
                path = os.path.join(folder, name)
                total.update(os.path.relpath(path, top).encode() + b"\0")
                with open(path, "rb") as f:
                    total.update(hashlib.sha256(f.read()).digest())
    return total.hexdigest()


def main():
    if sys.argv[1:2] == ["--stamp"]:
        print(stamp(sys.argv[2]))
        return
    top, out, notice = sys.argv[1:]
    package(top, out, notice)
    page(top, out)


main()
