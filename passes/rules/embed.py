#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of files of rules: embed.py OUT.c IN.rules..."""
import pathlib
import sys


def literal(text):
    """One C string literal a line."""
    lines = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith('#'):
            line = ''  # comments stay in the source; the line keeps its number
        quoted = line.replace('\\', '\\\\').replace('"', '\\"')
        lines.append('    "%s\\n"' % quoted)
    return '\n'.join(lines) if lines else '    ""'


def main():
    out, *files = sys.argv[1:]
    parts = ['/* Made by embed.py. */', '#include "rewrite/rule.h"', '']
    parts.append('static const struct {\n  const char *name, *text;\n} files[] = {')
    for file in files:
        path = pathlib.Path(file)
        parts.append('  {"passes/rules/%s",\n%s},' % (path.name, literal(path.read_text())))
    parts.append('''};

surg_status surg__register_builtin_rules(surg__rules *r) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < SURG_COUNT(files) && !s; i++)
    s = surg__rules_parse(r, files[i].text, strlen(files[i].text), files[i].name);
  return s;
}
''')
    pathlib.Path(out).write_text('\n'.join(parts))


main()
