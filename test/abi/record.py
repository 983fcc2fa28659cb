#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the binary interface with the recorded one (record.txt): the slots of api.def, the
layout of every public struct, the numbers of enumerations, and the exported functions of the other
headers.

Until interface version 1.0 every difference fails; --update records the present interface, and the
difference is read. From 1.0 on the recorded interface must be a part of the present one: slots and
numbers stay, structs grow at their end, and --update refuses anything else.

    record.py --source DIR --build DIR [--library FILE] [--update] --cc CC..."""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
RECORD = HERE / 'record.txt'
FIXED = {'surg_str', 'surg_dim', 'surg_elem', 'surg_range'}
ROW = re.compile(r'^SURG_(FN|PROC)\((\d+), (.*?\))\)\n', re.M | re.S)
ENUM = re.compile(r'typedef enum (\w+) \{(.*?)\} \1;', re.S)
EXPORT = re.compile(r'^SURG_EXPORT ([^;]*?\b(surg_\w+)\([^;]*\));', re.M | re.S)
# Names that the headers of Windows define as macros without arguments.
WINDOWS = {'interface', 'near', 'far', 'small', 'hyper', 'IN', 'OUT', 'OPTIONAL', 'ERROR', 'CONST',
           'DELETE', 'STRICT', 'VOID', 'pascal', 'cdecl'}


def bare(text):
    return re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)


def one_line(text):
    return re.sub(r'\s+', ' ', text).strip()


def headers(options):
    folder = pathlib.Path(options.source) / 'include' / 'onnxsurg'
    return sorted(p for p in folder.glob('*.h'))


def slots(options):
    text = bare((pathlib.Path(options.source) / 'include/onnxsurg/api.def').read_text())
    rows = {}
    for kind, slot, rest in ROW.findall(text):
        rest = one_line(rest)
        depth = 0
        for at in range(len(rest) - 1, -1, -1):  # without the list of arguments
            depth += (rest[at] == ')') - (rest[at] == '(')
            if depth == 0:
                break
        declaration = rest[:at].rstrip(', ')
        rows[int(slot)] = ('void, ' if kind == 'PROC' else '') + declaration
    return ['slot %d: %s' % (n, rows[n]) for n in sorted(rows)]


def layouts(options, abi):
    """Sizes and offsets as the compiler sees them, and the numbers of enumerators."""
    program = ['#include <onnxsurg/onnxsurg.h>', '#include <stdio.h>']
    body = []
    for path in headers(options):
        text = path.read_text()
        if path.name != 'plugin.h':
            program.append('#include <onnxsurg/%s>' % path.name)
        for name, members in abi.structs(text):
            if name in ('surg_plugin_info', 'surg_api'):
                continue
            body.append('printf("struct %s: size %%zu", sizeof(%s));' % (name, name))
            for m in members:
                body.append('printf(", %s %%zu", offsetof(%s, %s));' % (m, name, m))
            body.append('puts("");')
        for name, text in ENUM.findall(bare(text)):
            body.append('printf("enum %s:");' % name)
            for word in re.findall(r'(\w+)\s*(?:=[^,]*)?(?:,|$)', text.strip()):
                body.append('printf(" %s %%d", (int)%s);' % (word, word))
            body.append('puts("");')
    program += ['int main(void) {'] + body + ['return 0;', '}', '']
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / 'layout.c'
        source.write_text('\n'.join(program))
        subprocess.run(options.cc + ['-std=gnu11', '-Wno-deprecated-declarations', '-o',
                                     folder + '/layout', str(source)] + includes(options),
                       check=True)
        out = subprocess.run([folder + '/layout'], check=True, capture_output=True, text=True)
    return out.stdout.splitlines()


def includes(options):
    return ['-I' + os.path.join(options.source, 'include'),
            '-I' + os.path.join(options.build, 'include')]


def exports(options):
    found = []
    for path in headers(options):
        for declaration, name in EXPORT.findall(bare(path.read_text())):
            found.append('export %s: %s' % (name, one_line(declaration)))
    return sorted(found)


def version(options):
    text = (pathlib.Path(options.source) / 'include/onnxsurg/types.h').read_text()
    return tuple(int(re.search(r'#define SURG_ABI_%s (\d+)' % part, text).group(1))
                 for part in ('MAJOR', 'MINOR'))


def bare_enums(options):
    """Members of structs whose type is an enumeration, and names that Windows defines."""
    faults, enums = [], set()
    texts = [(p.name, bare(p.read_text())) for p in headers(options)]
    for _, text in texts:
        enums |= {name for name, _ in ENUM.findall(text)}
    for name, text in texts:
        for struct, body in re.findall(r'typedef struct (\w+) \{(.*?)\} \1;', text, re.S):
            for member in body.split(';'):
                words = re.findall(r'\w+', member)
                if words and words[0] in enums and '(' not in member:
                    faults.append('%s: %s has a member of type %s; use int32_t'
                                  % (name, struct, words[0]))
        for word in sorted(WINDOWS & set(re.findall(r'\b\w+\b', re.sub(r'"[^"]*"', '', text)))):
            faults.append('%s: %s is a macro on Windows' % (name, word))
    return faults


def grown(old, new):
    """Whether a line of the record may become another one from 1.0 on."""
    if old == new:
        return True
    kind, name = re.match(r'(\w+) (\w+):', old).groups()
    if kind == 'struct' and name not in FIXED and ' size 0' in old:
        o, n = (re.findall(r'(\w+) (\d+)', line.split(':', 1)[1]) for line in (old, new))
        return int(n[0][1]) >= int(o[0][1]) and n[1:len(o)] == o[1:]
    if kind == 'enum':
        return new.startswith(old + ' ')
    return False


def broken(old, new):
    """The lines of the record that the present interface contradicts."""
    now = {line.split(':')[0]: line for line in new}
    return [line for line in old
            if not line.startswith('version')
            and not grown(line, now.get(line.split(':')[0], ''))]


def self_test():
    """The comparison from 1.0 on, on small interfaces."""
    old = ['version 1.0', 'slot 0: void, f, (int a)', 'struct surg_a: size 16, size 0, x 8',
           'struct surg_dim: size 24, value 0, param 8, expr 16', 'enum e: A 0 B 1']
    cases = [([], []), (['slot 1: void, g, (int a)'], []),
             ({1: 'slot 0: void, f, (long a)'}, [1]), ({1: ''}, [1]),
             ({2: 'struct surg_a: size 24, size 0, x 8, y 16'}, []),
             ({2: 'struct surg_a: size 16, size 0, x 12'}, [2]),
             ({2: 'struct surg_a: size 8, size 0'}, [2]),
             ({3: 'struct surg_dim: size 32, value 0, param 8, expr 16, more 24'}, [3]),
             ({4: 'enum e: A 0 B 1 C 2'}, []), ({4: 'enum e: A 0 B 2'}, [4])]
    for change, lost in cases:
        new = ([change.get(i, line) for i, line in enumerate(old)] if isinstance(change, dict)
               else old + change)
        assert broken(old, new) == [old[i] for i in lost], (change, broken(old, new))


def check_library(options, lines):
    """Every declared function is exported by the shared library, and nothing else of ours."""
    out = subprocess.run(['nm', '-D', '--defined-only', options.library], check=True,
                         capture_output=True, text=True).stdout
    have = {line.split()[-1] for line in out.splitlines()}
    want = {re.match(r'export (\w+)', s).group(1) for s in lines if s.startswith('export')}
    want |= {re.search(r'\b(surg_\w+)\s*,?\s*\(', s.split(':', 1)[1]).group(1)
             for s in lines if s.startswith('slot')}
    have = {s for s in have if not s.startswith('surg__') and s.startswith('surg_')}
    return (['declared, not exported: ' + s for s in sorted(want - have)] +
            ['exported, not declared: ' + s for s in sorted(have - want)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--source', required=True)
    parser.add_argument('--build', required=True)
    parser.add_argument('--library')
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--cc', required=True, nargs='+')
    options = parser.parse_args()
    self_test()
    sys.path.insert(0, os.path.join(options.source, 'include', 'onnxsurg'))
    sys.dont_write_bytecode = True
    import abi  # pylint: disable=import-outside-toplevel,import-error
    now = version(options)
    lines = (['version %d.%d' % now] + slots(options) + sorted(layouts(options, abi)) +
             exports(options))
    old = RECORD.read_text().splitlines() if RECORD.exists() else []
    faults = bare_enums(options)
    if options.library:
        faults += check_library(options, lines)
    lost = broken(old, lines) if now[0] > 0 else []
    faults += ['not a part of the present interface: ' + line for line in lost]
    for fault in faults:
        print('FAIL', fault)
    if options.update and not lost:
        RECORD.write_text('\n'.join(lines) + '\n')
        old = lines
    if lines != old:
        print('\n'.join(difflib.unified_diff(old, lines, 'recorded', 'present', lineterm='', n=0)))
        print('FAIL the interface differs from test/abi/record.txt. If that is intended, run\n'
              '  python3 test/abi/record.py --source . --build build --cc cc --update\n'
              'read the difference, and commit it. Plugins must be rebuilt.')
    return 1 if faults or lines != old else 0


if __name__ == '__main__':
    sys.exit(main())
