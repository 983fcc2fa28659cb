# SPDX-License-Identifier: Apache-2.0
"""The generated module: it agrees with the compiler, and the generator rejects what it does not
understand."""
import ctypes
import ctypes.util
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from onnxsurg import _c, _lib

from common import SOURCE, main

spec = importlib.util.spec_from_file_location('gen', SOURCE / 'python/gen.py')
gen = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gen)


class Layout(unittest.TestCase):
    def test_structs_are_those_of_the_compiler(self):
        out = subprocess.run([os.environ['ONNXSURG_LAYOUT']], capture_output=True, text=True,
                             check=True).stdout
        rows = [line.split() for line in out.splitlines()]
        seen = 0
        for name, number in rows:
            struct, _, field = name.partition('.')
            kind = getattr(_c, struct)
            found = getattr(kind, field).offset if field else ctypes.sizeof(kind)
            self.assertEqual(found, int(number), name)
            seen += 1
        self.assertGreater(seen, 200)
        self.assertEqual({r[0] for r in rows if '.' not in r[0]},
                         {s.__name__ for s in _c.STRUCTS})

    def test_every_function_is_bound(self):
        self.assertGreater(len(_c.FUNCTIONS), 300)
        for name in _c.FUNCTIONS:
            self.assertTrue(hasattr(_lib.lib, name), name)

    def test_slow_functions_exist(self):
        self.assertEqual(_lib.LONG - set(_c.FUNCTIONS), frozenset())

    def test_stub_parses_and_names_the_same(self):
        import ast
        stub = pathlib.Path(_c.__file__).with_suffix('.pyi').read_text()
        classes = {n.name for n in ast.parse(stub).body if isinstance(n, ast.ClassDef)}
        self.assertLessEqual({s.__name__ for s in _c.STRUCTS}, classes)

    def test_enumerations_have_the_numbers_of_the_header(self):
        self.assertEqual(_c.surg_status.EUNSUPPORTED, -10)
        self.assertEqual(_c.surg_dtype.BFLOAT16, 16)
        self.assertEqual(_c.SURG_FACT_TYPES, 2)

    def test_a_library_of_another_version_is_an_import_error(self):
        code = 'import onnxsurg'
        env = dict(os.environ, ONNXSURG_LIBRARY=ctypes.util.find_library('c') or 'libc.so.6')
        r = subprocess.run([sys.executable, '-c', code], env=env, capture_output=True, text=True)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn('ImportError', r.stderr)
        self.assertIn('is of another version', r.stderr)
        env['ONNXSURG_LIBRARY'] = '/nowhere.so'
        r = subprocess.run([sys.executable, '-c', code], env=env, capture_output=True, text=True)
        self.assertIn('set ONNXSURG_LIBRARY', r.stderr)


class Generator(unittest.TestCase):
    def read(self, header, table=''):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'a.h')
            path.write_text(header)
            api = gen.Api()
            api.read_header(path)
            pathlib.Path(folder, 'api.def').write_text(table)
            api.read_table(pathlib.Path(folder, 'api.def'))
            list(api.module())
            return api

    def refuses(self, header, text, table=''):
        with self.assertRaises(gen.Unknown) as e:
            self.read(header, table)
        self.assertIn(text, str(e.exception))

    def test_reads_the_forms_of_the_headers(self):
        api = self.read('''
            #ifndef A_H
            #define A_H
            #define A_FLAG (1u << 3) /* a comment; with a semicolon */
            #ifdef __cplusplus
            extern "C" {
            #endif
            typedef struct a_thing a_thing;
            typedef enum a_kind { A_ONE = 1, A_TWO } a_kind;
            typedef bool (*a_fn)(void *user, const a_thing *t);
            typedef struct a_options {
              uint32_t size;
              double low, high;
              const char *const *names;
              char text[16];
              a_kind kind;
              a_fn fn;
              void (*progress)(void *user, size_t n);
            } a_options;
            SURG_EXPORT const char *a_name(const a_thing *t, size_t *n);
            SURG_EXPORT a_thing *a_new(void);
            #ifdef __cplusplus
            }
            #endif
            #endif
            ''', 'SURG_FN(0, int, a_first, (a_thing *t, int *out), (t, out))\n'
                 'SURG_PROC(1, a_second, (a_thing *t), (t))\n')
        self.assertEqual(api.numbers['A_FLAG'], 8)
        self.assertEqual(api.enums['a_kind'], [('A_ONE', 1), ('A_TWO', 2)])
        self.assertEqual([n for n, _ in api.structs['a_options']],
                         ['size', 'low', 'high', 'names', 'text', 'kind', 'fn', 'progress'])
        self.assertEqual(api.slots, {'a_first': 0, 'a_second': 1})
        self.assertEqual(api.ctype(api.functions['a_name'][0]), 'C.c_char_p')
        self.assertEqual(api.ctype(api.functions['a_new'][0]), 'C.c_void_p')

    def test_text_with_a_length_has_no_end(self):
        self.assertIs(dict(_c.surg_str._fields_)['p'], ctypes.c_void_p)

    def test_rejects_what_it_does_not_understand(self):
        self.refuses('struct x { int a; };', 'declaration')
        self.refuses('SURG_EXPORT foo_t f(void);', 'type foo_t is unknown')
        self.refuses('typedef struct x { int a : 3; } x;', 'bit field')
        self.refuses('typedef struct x x;\ntypedef struct x x;', 'declared twice')
        self.refuses('#if FOO > 2\n#endif', 'condition')
        self.refuses('#define X sizeof(int)', 'sizeof')
        self.refuses('SURG_EXPORT int f(int);', 'without a name')
        self.refuses('int x', 'without an end')
        self.refuses('', 'macro SURG_NEW', 'SURG_NEW(int, f, (void), ())')
        self.refuses('', 'SURG_FN', 'SURG_FN(int, f, (void))')
        self.refuses('', 'used twice',
                     'SURG_FN(1, int, f, (void), ()) SURG_FN(1, int, g, (void), ())')
        self.refuses('', 'stray', 'SURG_FN(int, f, (void), ()) stray SURG_FN(int, g, (void), ())')


if __name__ == '__main__':
    main()
