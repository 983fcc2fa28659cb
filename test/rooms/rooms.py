#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which, and what a public header owes its readers.

Prints a table of the rooms (folders of lib/, passes/, tools/): lines, headers of <onnxsurg/...>
included, headers of other rooms included. Fails for

- an include edge between rooms that EDGES does not list, and a listed edge that nothing uses;
- a pass that includes anything but <onnxsurg/...>, system headers and headers of passes/;
- an include of a header of lib/ or passes/ in tools/, except lib/base/os/*.h;
- an include of a POSIX header, or a call of a POSIX function, outside of lib/base/os;
- a call of surg_tensor_new or surg_tensor_read with numbers of C, whose bytes are not those of files
  on every machine;
- a public function without a comment above it, past the number in UNDOCUMENTED;
- a header of include/onnxsurg that is not installed.
"""
import collections
import os
import re
import sys

# Room: the rooms whose headers it may include. Its own are always allowed.
EDGES = {
    'base': '',
    'check': 'base infer io ir schema',
    'diagnose': 'base check io repair target',
    'diff': 'base io ir schema weights',
    'edit': 'base io ir rewrite',
    'eval': 'base io ir schema',
    'infer': 'base io ir schema sym',
    'io': 'base ir schema',
    'ir': 'base schema sym',
    'measure': 'base infer ir schema sym',
    'opset': 'base infer ir measure rewrite schema',
    'pass': 'base io ir run schema sym',
    'probe': 'base infer schema target',
    'passes': 'pass',  # builtin.c, which registers them
    'reduce': 'base pass',
    'repair': 'base check io pass probe target',
    'rewrite': 'base eval infer io ir pass schema',
    'run': 'base eval io ir schema',
    'schema': 'base',
    'split': 'base ir run',
    'sym': 'ir',
    'target': 'base check eval infer io ir measure schema',
    'view': 'base ir schema',
    'weights': 'base io run',
}

# Files of passes/ that are no passes: they fill in a table that the library declares.
TABLES = {'passes/builtin.c': {'pass/pass.h'}}

# Headers of systems, and functions that some systems lack, all wrapped by lib/base/os. Three POSIX
# headers are everywhere that this builds: getopt.h, strings.h and regex.h (doc/installing.md).
SYSTEM_HEADERS = re.compile(
    r'(unistd|fcntl|dlfcn|poll|pthread|termios|dirent|spawn|pwd|ftw|glob|fnmatch|libgen|sched|'
    r'semaphore|utime|langinfo|locale|execinfo|netdb|windows|io|process|(sys|linux|arpa|net\w*)/.*)\.h$')
SYSTEM_CALLS = re.compile(
    r'(?<![\w.>])(fopen|fdopen|popen|system|fork|exec[lv]\w*|waitpid|kill|mkdir|mkdtemp|mkstemp|rmdir|'
    r'unlink|rename|remove|access|realpath|readlink|opendir|readdir|isatty|open|close|read|write|'
    r'pread|pwrite|lseek|ftruncate|fsync|dup2?|pipe|l?stat|fstat|mmap|munmap|sigaction|setitimer|'
    r'alarm|signal|nanosleep|usleep|sleep|clock_gettime|gettimeofday|getpid|getcwd|chdir|dlopen|dlsym|'
    r'_?exit|newlocale|uselocale|open_memstream|fmemopen|getline|pthread_\w+)\(')

# Public functions without a comment of their own.
UNDOCUMENTED = 0

INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
GENERATED = re.compile(r'.*\.(pb-c|gen)\.h$')


def sources(root, top):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith(('.c', '.h')):
                yield os.path.relpath(os.path.join(folder, name), root)


def room_of(path):
    parts = path.split('/')
    return parts[1] if parts[0] == 'lib' else parts[0]


def resolve(root, path, name):
    """The file that an include in quotes means; None: there is none."""
    for base in ('lib', 'tools', 'tools/commands', os.path.dirname(path)):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.exists(os.path.join(root, found)):
            return found
    return None


def of_system(path):
    return os.path.dirname(path) == 'lib/base/os'


COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def check_system(root):
    """The operating system is called in lib/base/os alone, so that a port is those files."""
    faults = []
    for top in ('lib', 'passes', 'tools'):
        for path in sources(root, top):
            if of_system(path):
                continue
            with open(os.path.join(root, path), encoding='utf-8') as f:
                text = f.read()
            for line in text.splitlines():
                m = INCLUDE.match(line)
                if m and m.group(1) == '<' and SYSTEM_HEADERS.match(m.group(2)):
                    faults.append(f'{path}: includes <{m.group(2)}>; call lib/base/os/*.h instead')
            code = COMMENT_OR_STRING.sub(lambda m: '\n' * m.group(0).count('\n'), text)
            for i, line in enumerate(code.splitlines(), 1):
                # A declaration or definition of a function with such a name is no call.
                m = SYSTEM_CALLS.search(line)
                if m and not line.startswith('static ') and not defines(code, m.group(1)):
                    faults.append(f'{path}:{i}: calls {m.group(1)}; call lib/base/os/*.h instead')
    return faults


def defines(code, name):
    return re.search(r'^static [^;(]*\b' + re.escape(name) + r'\(', code, re.M) is not None


class Room:
    def __init__(self):
        self.lines = self.public = self.private = 0
        self.edges = collections.Counter()


def scan(root):
    rooms, seen, faults = collections.defaultdict(Room), {}, []
    for top in ('lib', 'passes', 'tools'):
        for path in sources(root, top):
            room = rooms[room_of(path)]
            with open(os.path.join(root, path), encoding='utf-8') as f:
                lines = f.readlines()
            room.lines += len(lines)
            for line in lines:
                m = INCLUDE.match(line)
                if not m:
                    continue
                if m.group(1) == '<':
                    room.public += m.group(2).startswith('onnxsurg/')
                    continue
                target = resolve(root, path, m.group(2))
                if target is None:
                    if not GENERATED.match(m.group(2)):
                        faults.append(f'{path}: includes "{m.group(2)}", which is not in the project')
                    continue
                if room_of(target) != room_of(path):
                    room.private += 1
                    room.edges[room_of(target)] += 1
                    seen.setdefault(path, set()).add(m.group(2))
    return rooms, seen, faults


def check_edges(rooms):
    faults = []
    for name, room in sorted(rooms.items()):
        if name == 'tools':
            continue
        allowed = set(EDGES.get(name, '').split())
        faults += [f'{name} includes {to}: not an edge of EDGES' for to in sorted(room.edges)
                   if to not in allowed]
        faults += [f'{name} does not include {to} any more: take the edge out of EDGES'
                   for to in sorted(allowed) if to not in room.edges]
    faults += [f'EDGES lists {name}, which is no room' for name in EDGES if name not in rooms]
    return faults


def check_passes(seen):
    return [f'{path}: a pass includes "{header}"; passes include <onnxsurg/...> and passes/ alone'
            for path, headers in sorted(seen.items()) if path.startswith('passes/')
            for header in sorted(headers - TABLES.get(path, set()))]


def check_tools(seen):
    """The program embeds the library as others do, so all that it does is public."""
    return [f'{path}: includes "{header}"; tools/ includes <onnxsurg/...>, base/os/*.h and tools/'
            for path, headers in sorted(seen.items()) if path.startswith('tools/')
            for header in sorted(headers) if not header.startswith('base/os/')]


ARGUMENTS = r'((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)'
RAW = re.compile(r'\bsurg_tensor_(new|read)\(' + ARGUMENTS + r'\)')


def check_numbers(root):
    """Elements of more than a byte are given and read by surg_tensor_new_numbers and
    surg_tensor_read_numbers; sizeof, or such a size in bytes, shows that they are not."""
    faults = []
    for top in ('lib', 'passes', 'tools', 'examples'):
        for path in sources(root, top):
            with open(os.path.join(root, path), encoding='utf-8') as f:
                code = COMMENT_OR_STRING.sub(lambda m: '\n' * m.group(0).count('\n'), f.read())
            for m in RAW.finditer(code):
                if 'sizeof' in m.group(2) or re.search(r',\s*(2|4|8)$', m.group(2)):
                    line = code.count('\n', 0, m.start()) + 1
                    faults.append(f'{path}:{line}: calls surg_tensor_{m.group(1)} with numbers of C; '
                                  f'call surg_tensor_{m.group(1)}_numbers')
    return faults


DECLARATION = re.compile(r'(SURG_FN|SURG_PROC)\(|SURG_EXPORT ')


def undocumented(root):
    """(file, line) of each public function that no comment precedes or ends."""
    folder, out = os.path.join(root, 'include/onnxsurg'), []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(('.h', '.def')):
            continue
        with open(os.path.join(folder, name), encoding='utf-8') as f:
            lines = f.read().splitlines()
        for i, line in enumerate(lines):
            if not DECLARATION.match(line):
                continue
            end = i
            while end + 1 < len(lines) and not lines[end].rstrip().endswith((')', ';', '*/')):
                end += 1
            above = lines[i - 1].rstrip() if i else ''
            if not above.endswith('*/') or DECLARATION.match(above):
                if '/*' not in ' '.join(lines[i:end + 1]):
                    out.append((name, i + 1))
    return out


def check_public(root):
    faults, bare = [], undocumented(root)
    if len(bare) > UNDOCUMENTED:
        faults.append(f'{len(bare)} public functions have no comment, {UNDOCUMENTED} are allowed: ' +
                      ', '.join(f'{name}:{line}' for name, line in bare))
    if len(bare) < UNDOCUMENTED:
        print(f'{len(bare)} public functions have no comment: UNDOCUMENTED can be that')
    with open(os.path.join(root, 'meson.build'), encoding='utf-8') as f:
        build = f.read()
    for name in sorted(os.listdir(os.path.join(root, 'include/onnxsurg'))):
        if name.endswith(('.h', '.def')) and f'include/onnxsurg/{name}' not in build:
            faults.append(f'include/onnxsurg/{name} is not installed')
    return faults


def print_table(rooms):
    print(f'{"room":10} {"lines":>7} {"public":>7} {"private":>8}  includes')
    for name, room in sorted(rooms.items()):
        edges = ' '.join(f'{to}:{n}' for to, n in sorted(room.edges.items()))
        print(f'{name:10} {room.lines:7} {room.public:7} {room.private:8}  {edges}')


def main():
    root = sys.argv[1]
    rooms, seen, faults = scan(root)
    print_table(rooms)
    faults += check_edges(rooms) + check_passes(seen) + check_tools(seen) + check_public(root)
    faults += check_system(root) + check_numbers(root)
    for fault in faults:
        print('error:', fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
