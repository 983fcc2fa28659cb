#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the low-level module of the Python package from the public headers.

    gen.py INCLUDE_DIR --module _c.py [--stub _c.pyi] [--layout layout.c] [--depfile FILE]

Reads api.def and every plain header of INCLUDE_DIR. What the generator does not understand is an
error with file and line: nothing is skipped silently. --layout writes a C program that prints the
size of every struct and the offset of every field, so that a test can compare them with ctypes."""
import argparse
import ctypes
import keyword
import pathlib
import re
import sys

SKIPPED = ('onnxsurg.h', 'plugin.h', 'ops.h')  # they include api.def, or repeat it
SCALARS = {
    'void': 'None', 'char': 'C.c_char', 'bool': 'C.c_bool', 'int': 'C.c_int',
    'unsigned': 'C.c_uint', 'float': 'C.c_float', 'double': 'C.c_double', 'size_t': 'C.c_size_t',
    'int8_t': 'C.c_int8', 'uint8_t': 'C.c_uint8', 'int16_t': 'C.c_int16', 'uint16_t': 'C.c_uint16',
    'int32_t': 'C.c_int32', 'uint32_t': 'C.c_uint32', 'int64_t': 'C.c_int64',
    'uint64_t': 'C.c_uint64', 'uintptr_t': 'C.c_size_t',
}
HINTS = {'C.c_bool': 'bool', 'C.c_float': 'float', 'C.c_double': 'float', 'None': 'None',
         'C.c_char_p': 'Optional[bytes]', 'C.c_void_p': 'Optional[int]'}
TOKEN = re.compile(r'\s+|([A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d+\w*|<<|>>|\.\.\.|"[^"\n]*"|.)')
FALSE = ('__cplusplus', '_WIN32', 'SURG_PLUGIN', '__EMSCRIPTEN__')
TRUE = ('__GNUC__',)


class Unknown(Exception):
    """A construct that the generator does not understand."""


def uncommented(text):
    """The text without comments; newlines stay, so that line numbers do."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m.group(0))
    text = re.sub(r'/\*.*?\*/', blank, text, flags=re.DOTALL)
    return re.sub(r'//[^\n]*', blank, text)


def number(words, known):
    """The value of an integer constant expression of C."""
    out = []
    for w in words:
        m = re.fullmatch(r'(0[xX][0-9a-fA-F]+|\d+)[uUlL]*', w)
        if m:
            out.append(m.group(1))
        elif w == 'SIZE_MAX':
            out.append(str(ctypes.c_size_t(-1).value))
        elif w in known:
            out.append(str(known[w]))
        elif w in ('(', ')', '+', '-', '*', '|', '<<', '>>', '~'):
            out.append(w)
        else:
            raise Unknown('"%s" in an integer expression' % w)
    return int(eval(' '.join(out)))  # digits and operators only


def words_of(text):
    return [m.group(1) for m in TOKEN.finditer(text) if m.group(1)]


def condition(line, name):
    """Whether the branch of a preprocessor condition is read."""
    m = re.fullmatch(r'#\s*(ifdef|ifndef)\s+(\w+)\s*', line)
    if m:
        defined = m.group(2) in TRUE
        if m.group(2) not in TRUE + FALSE and not m.group(2).endswith('_H'):
            raise Unknown('condition on %s' % m.group(2))
        return defined if m.group(1) == 'ifdef' else not defined
    m = re.fullmatch(r'#\s*if\s+(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\s*', line)
    if m and m.group(2) in TRUE + FALSE:
        return (m.group(2) in TRUE) != bool(m.group(1))
    raise Unknown('condition "%s" of %s' % (line, name))


class Api:
    def __init__(self):
        self.opaque, self.enums, self.structs, self.callbacks = [], {}, {}, {}
        self.functions, self.numbers, self.where = {}, {}, {}
        self.slots = {}

    # ---- reading ----

    def read_header(self, path):
        text = self.preprocess(path.name, uncommented(path.read_text()))
        for start, declaration in self.declarations(path.name, text):
            try:
                self.declare(declaration)
            except Unknown as e:
                raise Unknown('%s:%d: %s' % (path.name, start, e)) from None

    def preprocess(self, name, text):
        """The text without directives; integers that are defined are kept."""
        lines, active, joined = [], [True], ''
        for at, line in enumerate(text.split('\n'), 1):
            if joined or line.lstrip().startswith('#'):
                joined += line.strip().rstrip('\\') + ' '
                lines.append('')
                if line.rstrip().endswith('\\'):
                    continue
                try:
                    self.directive(joined.strip(), name, active)
                except Unknown as e:
                    raise Unknown('%s:%d: %s' % (name, at, e)) from None
                joined = ''
            else:
                lines.append(line if all(active) else '')
        return '\n'.join(lines)

    def directive(self, line, name, active):
        word = re.match(r'#\s*(\w+)', line).group(1)
        if word in ('ifdef', 'ifndef', 'if'):
            active.append(condition(line, name))
        elif word == 'else':
            active[-1] = not active[-1]
        elif word == 'endif':
            active.pop()
        elif word == 'define' and all(active):
            m = re.fullmatch(r'#\s*define\s+(\w+)(\([^)]*\))?\s*(.*)', line)
            if m.group(2) is None and m.group(3) and not m.group(1).startswith('SURG_EXPORT'):
                self.numbers[m.group(1)] = number(words_of(m.group(3)), self.numbers)
        elif word not in ('include', 'define', 'undef', 'error'):
            raise Unknown('directive #%s' % word)

    @staticmethod
    def declarations(name, text):
        """(line, text) of each declaration that ends with ; outside of braces."""
        start, depth, first = 0, 0, None
        for i, c in enumerate(text):
            if first is None and not c.isspace():
                first = text.count('\n', 0, i) + 1
            depth += (c == '{') - (c == '}')
            if c == ';' and depth == 0:
                yield first, text[start:i]
                start, first = i + 1, None
        if text[start:].strip():
            raise Unknown('%s:%d: text without an end' % (name, first))

    def read_table(self, path):
        """Reads the invocations of SURG_FN and SURG_PROC, with or without a slot number."""
        text = uncommented(path.read_text())
        text = re.sub(r'^[ \t]*#[^\n]*', '', text, flags=re.MULTILINE)
        i = 0
        for m in re.finditer(r'\b(SURG_\w+)\s*\(', text):
            if m.start() < i:
                continue
            line = text.count('\n', 0, m.start()) + 1
            if text[i:m.start()].strip():
                raise Unknown('api.def:%d: "%s"' % (line, text[i:m.start()].strip()))
            parts, i = split_arguments(text, m.end())
            try:
                self.table_entry(m.group(1), parts)
            except Unknown as e:
                raise Unknown('api.def:%d: %s' % (line, e)) from None
        if text[i:].strip():
            raise Unknown('api.def: text at the end: "%s"' % text[i:].strip()[:60])

    def table_entry(self, macro, parts):
        if macro not in ('SURG_FN', 'SURG_PROC'):
            raise Unknown('macro %s' % macro)
        slot = int(parts.pop(0)) if re.fullmatch(r'\d+', parts[0]) else None
        if macro == 'SURG_PROC':
            parts.insert(0, 'void')
        if len(parts) != 4 or not parts[2].startswith('(') or not parts[3].startswith('('):
            raise Unknown('%s(%s)' % (macro, ', '.join(parts)))
        self.declare('SURG_EXPORT %s %s %s' % (parts[0], parts[1], parts[2]))
        if slot is not None:
            if slot in self.slots.values():
                raise Unknown('slot %d is used twice' % slot)
            self.slots[parts[1]] = slot

    # ---- declarations ----

    def declare(self, text):
        words = words_of(text)
        if words[0] == 'typedef':
            self.typedef(words[1:])
        elif words[0] == 'SURG_EXPORT':
            self.function(words[1:])
        else:
            raise Unknown('declaration "%s"' % ' '.join(text.split())[:80])

    def typedef(self, words):
        if words[0] in ('struct', 'enum') and '{' in words:
            opening, closing = words.index('{'), len(words) - 1 - words[::-1].index('}')
            name, body = words[-1], words[opening + 1:closing]
            if words[closing + 1:] != [name] or words[1:opening] not in ([name], []):
                raise Unknown('typedef of %s' % name)
            self.once(name)
            if words[0] == 'enum':
                self.enums[name] = self.enumerators(body)
            else:
                self.structs[name] = [f for part in split(body, ';') if part
                                      for f in self.fields(part)]
        elif words[0] == 'struct' and len(words) == 3 and words[1] == words[2]:
            self.once(words[1])
            self.opaque.append(words[1])
        elif words[-1] == ')':
            name, callback = self.declarator(words)
            self.once(name)
            self.callbacks[name] = callback
        else:
            raise Unknown('typedef %s' % ' '.join(words))

    def once(self, name):
        if name in self.where:
            raise Unknown('%s is declared twice' % name)
        self.where[name] = True

    def enumerators(self, words):
        out, value = [], -1
        for part in split(words, ','):
            if not part:
                continue
            value = number(part[2:], self.numbers) if len(part) > 1 else value + 1
            if len(part) > 1 and part[1] != '=':
                raise Unknown('enumerator %s' % ' '.join(part))
            self.numbers[part[0]] = value
            out.append((part[0], value))
        return out

    def fields(self, words):
        """The fields of one declaration of a struct: `double low, high`."""
        if '(' in words:
            return [self.declarator(words)]
        if ':' in words:
            raise Unknown('bit field %s' % ' '.join(words))
        parts = split(words, ',')
        name, kind = self.declarator(parts[0])
        base = [w for w in parts[0][:-1] if w != '*'] if parts[1:] else None
        return [(name, kind)] + [self.declarator(base + part) for part in parts[1:]]

    def function(self, words):
        opening = words.index('(') if '(' in words else 0
        if not opening or words[-1] != ')':
            raise Unknown('function %s' % ' '.join(words))
        name = words[opening - 1]
        self.once(name)
        self.functions[name] = (self.kind(words[:opening - 1]),
                                self.parameters(words[opening + 1:-1]))

    def parameters(self, words):
        if words == ['void'] or not words:
            return []
        return [self.declarator(part) for part in split(words, ',')]

    def declarator(self, words):
        """(name, kind) of a declaration; the kind is a tuple, see `kind`."""
        if '(' in words:
            opening = words.index('(')
            if words[opening + 1] != '*' or words[opening + 3] != ')' or \
                    words[opening + 4] != '(' or words[-1] != ')':
                raise Unknown('declaration %s' % ' '.join(words))
            return words[opening + 2], ('call', self.kind(words[:opening]),
                                        self.parameters(words[opening + 5:-1]))
        if words[-1] == ']':
            opening = words.index('[')
            name, kind = self.declarator(words[:opening])
            return name, ('array', kind, number(words[opening + 1:-1], self.numbers))
        if not re.fullmatch(r'[A-Za-z_]\w*', words[-1]) or len(words) < 2:
            raise Unknown('declaration without a name: %s' % ' '.join(words))
        return words[-1], self.kind(words[:-1])

    @staticmethod
    def kind(words):
        """('name', base) or ('pointer', kind), without const."""
        words = [w for w in words if w not in ('const', 'struct', 'enum')]
        if words[:2] == ['unsigned', 'int']:
            words = ['unsigned'] + words[2:]
        out = ('name', words[0])
        for w in words[1:]:
            if w != '*':
                raise Unknown('type %s' % ' '.join(words))
            out = ('pointer', out)
        return out

    # ---- writing ----

    def ctype(self, kind):
        """The expression of a type of ctypes."""
        if kind[0] == 'array':
            return '%s * %d' % (self.ctype(kind[1]), kind[2])
        if kind[0] == 'call':
            return 'C.CFUNCTYPE(%s)' % ', '.join(
                [self.ctype(kind[1])] + [self.ctype(k) for _, k in kind[2]])
        if kind[0] == 'pointer':
            if kind[1] == ('name', 'char'):
                return 'C.c_char_p'
            if kind[1] == ('pointer', ('name', 'char')):
                return 'C.POINTER(C.c_char_p)'
            if kind[1] == ('name', 'void') or kind[1][0] == 'name' and kind[1][1] in self.opaque \
                    and kind[1][1] not in self.structs:
                return 'C.c_void_p'
            return 'C.POINTER(%s)' % self.ctype(kind[1])
        name = kind[1]
        if name in SCALARS:
            return SCALARS[name]
        if name in self.enums:
            return 'C.c_int'
        if name in self.structs or name in self.callbacks:
            return name
        raise Unknown('type %s is unknown' % name)

    def ordered(self):
        """Structs and callbacks, each after those that it needs as values."""
        out, state = [], {}

        def needs(kind):
            if kind[0] == 'name':
                return [kind[1]] if kind[1] in self.structs or kind[1] in self.callbacks else []
            if kind[0] == 'call':
                return needs(kind[1]) + [n for _, k in kind[2] for n in needs(k)]
            return needs(kind[1])

        def visit(name):
            if state.get(name) == 'done':
                return
            if state.get(name):
                raise Unknown('%s contains itself' % name)
            state[name] = 'open'
            inner = self.structs.get(name)
            kinds = [k for _, k in inner] if inner is not None else [self.callbacks[name]]
            for kind in kinds:
                for n in needs(kind):
                    visit(n)
            state[name] = 'done'
            out.append(name)

        for name in list(self.structs) + list(self.callbacks):
            visit(name)
        return out

    def module(self):
        yield '# Generated by python/gen.py from the public headers; do not edit.'
        yield '"""The C interface of onnxsurg, as ctypes: see the headers for the documentation."""'
        yield 'import ctypes as C'
        yield 'import enum'
        for name, items in self.enums.items():
            stem = common_stem(name, [n for n, _ in items])
            yield '\n\nclass %s(enum.IntEnum):' % name
            for n, v in items:
                yield '    %s = %d' % (safe(n[len(stem):]), v)
        yield '\n'
        for n, v in self.numbers.items():
            yield '%s = %d' % (n, v)
        for name in self.ordered():
            if name in self.structs:
                yield '\n\nclass %s(C.Structure):' % name
                yield '    _fields_ = ['
                counted = [n for n, _ in self.structs[name]] == ['p', 'n']
                for n, k in self.structs[name]:
                    # Text with its length has no NUL: c_char_p would read past its end.
                    kind = 'C.c_void_p' if counted and n == 'p' else self.ctype(k)
                    yield '        (%r, %s),' % (n, kind)
                yield '    ]'
            else:
                yield '\n\n%s = %s' % (name, self.ctype(self.callbacks[name]))
        yield '\n\n# name: (result, (type of each argument, ...))'
        yield 'FUNCTIONS = {'
        for name, (result, params) in self.functions.items():
            yield '    %r: (%s, (%s)),' % (
                name, self.ctype(result), ''.join('%s, ' % self.ctype(k) for _, k in params))
        yield '}'
        yield 'SLOTS = {'
        for name, slot in self.slots.items():
            yield '    %r: %d,' % (name, slot)
        yield '}'
        yield 'STRUCTS = (%s)' % ''.join('%s, ' % n for n in self.structs)

    def stub(self):
        """Type hints of the functions as the loader binds them (onnxsurg/_lib.py)."""
        yield '# Generated by python/gen.py from the public headers; do not edit.'
        yield 'import ctypes as C'
        yield 'import enum'
        yield 'from typing import Any, Dict, Optional, Tuple'
        for name, items in self.enums.items():
            stem = common_stem(name, [n for n, _ in items])
            yield '\nclass %s(enum.IntEnum):' % name
            for n, _ in items:
                yield '    %s: int' % safe(n[len(stem):])
        for n in self.numbers:
            yield '%s: int' % n
        for name in self.structs:
            yield '\nclass %s(C.Structure):' % name
            for n, k in self.structs[name]:
                if not keyword.iskeyword(n):  # such a field is reached by getattr
                    yield '    %s: %s' % (n, HINTS.get(self.ctype(k), 'Any'))
        for name in self.callbacks:
            yield '%s: Any' % name
        yield 'FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]]'
        yield 'SLOTS: Dict[str, int]'
        yield 'STRUCTS: Tuple[type, ...]'

    def layout(self, headers):
        yield '/* Generated by python/gen.py; do not edit. Prints sizes and offsets of structs. */'
        yield '#include <onnxsurg/onnxsurg.h>'
        for h in headers:
            yield '#include <onnxsurg/%s>' % h
        yield '#include <stdio.h>\n\nint main(void) {'
        for name, fields in self.structs.items():
            yield '  printf("%s %%zu\\n", sizeof(%s));' % (name, name)
            for n, _ in fields:
                yield '  printf("%s.%s %%zu\\n", offsetof(%s, %s));' % (name, n, name, n)
        yield '  return 0;\n}'


def split(words, by):
    """Parts of a list of words between `by`, outside of parentheses and braces."""
    out, depth = [[]], 0
    for w in words:
        depth += (w in '({[') - (w in ')}]') if len(w) == 1 else 0
        if w == by and depth == 0:
            out.append([])
        else:
            out[-1].append(w)
    return out


def split_arguments(text, i):
    """The arguments of a macro invocation from its opening parenthesis on, and the place after."""
    parts, depth, start = [], 1, i
    while depth:
        if i >= len(text):
            raise Unknown('api.def: a parenthesis is not closed')
        c = text[i]
        depth += (c == '(') - (c == ')')
        if depth == 0 or c == ',' and depth == 1:
            parts.append(' '.join(text[start:i].split()))
            start = i + 1
        i += 1
    return parts, i


def common_stem(name, names):
    """The prefix that the enumerators of an enum share: SURG_ATTR_ of SURG_ATTR_INT."""
    stem = names[0]
    for n in names:
        while not n.startswith(stem):
            stem = stem[:-1]
    stem = stem[:stem.rfind('_') + 1]
    if len(names) == 1 or not stem:
        stem = 'SURG_'
    return stem


def safe(name):
    return name + '_' if keyword.iskeyword(name) or name[0].isdigit() else name


def write(path, lines):
    text = '\n'.join(lines) + '\n'
    path = pathlib.Path(path)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('include')
    for name in ('--module', '--stub', '--layout', '--depfile'):
        arguments.add_argument(name)
    a = arguments.parse_args()
    folder = pathlib.Path(a.include)
    headers = sorted(p for p in folder.glob('*.h') if p.name not in SKIPPED)
    # types.h first: others use its types.
    headers.sort(key=lambda p: p.name != 'types.h')
    api = Api()
    try:
        for path in headers:
            api.read_header(path)
        api.read_table(folder / 'api.def')
        if a.module:
            write(a.module, api.module())
        if a.stub:
            write(a.stub, api.stub())
        if a.layout:
            write(a.layout, api.layout([p.name for p in headers]))
    except Unknown as e:
        sys.exit('gen.py: error: %s' % e)
    if a.depfile:
        inputs = [folder, folder / 'api.def'] + headers
        pathlib.Path(a.depfile).write_text('%s: %s\n' % (a.module, ' '.join(map(str, inputs))))


if __name__ == '__main__':
    main()
