#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of JSON files, or of the lines of one file: embed.py OUT.c target|message|probe IN..."""
import pathlib
import sys


def literal(text):
    """C string literals, a line of text each; what only pleases the eye is left out."""
    lines = []
    for line in text.splitlines():
        quoted = line.strip().replace('\\', '\\\\').replace('"', '\\"')
        lines.append('    "%s\\n"' % quoted)
    return '\n'.join(lines)


def lines(path):
    """Without comments: an array of them."""
    found = [line for line in pathlib.Path(path).read_text().splitlines()
             if line and not line.startswith('#')]
    return ['/* Made by embed.py. */', '#include "target/target.h"', '',
            'const char *const surg__probe_models[] = {',
            ',\n'.join(literal(line).removesuffix('\\n"') + '"' for line in found),
            '};\nconst size_t surg__probe_model_count = %d;\n' % len(found)]


def main():
    out, what, *files = sys.argv[1:]
    if what == 'probe':
        pathlib.Path(out).write_text('\n'.join(lines(files[0])))
        return
    parts = ['/* Made by embed.py. */', '#include "target/messages.h"', '',
             'const surg__target_text surg__%s_texts[] = {' % what]
    for file in sorted(files):
        path = pathlib.Path(file)
        parts.append('  {"%s",\n%s},' % (path.stem, literal(path.read_text())))
    parts.append('};\nconst size_t surg__%s_count = %d;\n' % (what, len(files)))
    pathlib.Path(out).write_text('\n'.join(parts))


main()
