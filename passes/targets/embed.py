#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of files of targets: embed.py OUT.c IN.target..."""
import pathlib
import sys


def literal(text):
    """C string literals, a line of text each; what only pleases the eye is left out."""
    lines = []
    for line in text.splitlines():
        quoted = line.strip().replace('\\', '\\\\').replace('"', '\\"')
        lines.append('    "%s\\n"' % quoted)
    return '\n'.join(lines)


def main():
    out, *files = sys.argv[1:]
    parts = ['/* Made by embed.py. */', '#include "target/target.h"', '',
             'const surg__target_text surg__target_texts[] = {']
    for file in sorted(files):
        path = pathlib.Path(file)
        parts.append('  {"%s",\n%s},' % (path.stem, literal(path.read_text())))
    parts.append('};\nconst size_t surg__target_count = %d;\n' % len(files))
    pathlib.Path(out).write_text('\n'.join(parts))


main()
