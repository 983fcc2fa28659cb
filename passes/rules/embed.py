#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of files of rules: embed.py OUT.c IN.rules..."""
import pathlib
import re
import sys

RULE = re.compile(r'^rule\s+([\w-]+)(?:\s+for\s+\w+\s+in\s+\(([^)]*)\))?', re.M)


def names(text):
    """Of its rules, as the reader makes them."""
    for name, ops in RULE.findall(text):
        yield from ('%s-%s' % (name, op.strip()) for op in ops.split(',')) if ops else (name,)


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
    seen = {}
    for file in files:
        path = pathlib.Path(file)
        for name in names(path.read_text()):
            if seen.setdefault(name, file) != file or list(names(path.read_text())).count(name) > 1:
                sys.exit('%s: there is a rule %s already, in %s' % (file, name, seen[name]))
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
