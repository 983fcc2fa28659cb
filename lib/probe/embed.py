#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C string of a text file: embed.py OUT.c NAME IN"""
import pathlib
import sys


def main():
    out, name, source = sys.argv[1:]
    lines = [line.replace('\\', '\\\\').replace('"', '\\"')
             for line in pathlib.Path(source).read_text(encoding='utf-8').splitlines()]
    body = '\n'.join('    "%s\\n"' % line for line in lines)
    pathlib.Path(out).write_text('/* Made by embed.py. */\n#include "probe/importer.h"\n\n'
                                 'const char %s[] =\n%s;\n' % (name, body), encoding='utf-8')


main()
