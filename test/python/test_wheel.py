# SPDX-License-Identifier: Apache-2.0
"""The wheel: its files, and what works after it is unpacked into an empty folder."""
import base64
import hashlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

from common import MODELS, SOURCE, Case, main

spec = importlib.util.spec_from_file_location('make_wheel', SOURCE / 'python/make_wheel.py')
make_wheel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_wheel)
BUILD = pathlib.Path(os.environ['ONNXSURG_LIBRARY']).resolve().parent


@unittest.skipUnless(sys.platform == 'linux', 'wheels are made for Linux')
class Wheel(Case):
    @classmethod
    def setUpClass(cls):
        cls.dist = tempfile.TemporaryDirectory()
        cls.wheel = make_wheel.make(BUILD, pathlib.Path(cls.dist.name), built=True)

    @classmethod
    def tearDownClass(cls):
        cls.dist.cleanup()

    def test_equal_content_is_an_equal_file(self):
        files = {'a': (b'text', False), 'b/c': (b'more', True)}
        for name in ('one', 'two'):
            make_wheel.write(self.folder / name, 'i/', files)
        self.assertEqual((self.folder / 'one').read_bytes(), (self.folder / 'two').read_bytes())

    def test_content(self):
        path = self.wheel
        self.assertRegex(path.name, r'^onnxsurg-[\d.]+-py3-none-manylinux_2_\d+_(x86_64|aarch64)'
                                    r'\.whl$')
        with zipfile.ZipFile(path) as z:
            names = set(z.namelist())
            record = next(n for n in names if n.endswith('.dist-info/RECORD'))
            seen = set()
            for line in z.read(record).decode().splitlines():
                name, digest, size = line.rsplit(',', 2)
                seen.add(name)
                if name != record:
                    data = z.read(name)
                    self.assertEqual(int(size), len(data))
                    self.assertEqual(digest, 'sha256=' + base64.urlsafe_b64encode(
                        hashlib.sha256(data).digest()).rstrip(b'=').decode())
            self.assertEqual(seen, names)
            tag = re.search(r'py3-none-\w+', path.name).group(0)
            self.assertIn('Tag: %s\n' % tag, z.read(record.replace('RECORD', 'WHEEL')).decode())
            self.assertIn('Name: onnxsurg\n', z.read(record.replace('RECORD', 'METADATA')).decode())
            for name in ('onnxsurg/__init__.py', 'onnxsurg/_c.py', 'onnxsurg/_c.pyi',
                         'onnxsurg/py.typed', 'onnxsurg/compat/onnxsim.py',
                         'onnxsurg/libonnxsurg.so.0', 'onnxsurg/bin/onnxsurg'):
                self.assertIn(name, names)
            self.assertTrue(any(n.endswith('licenses/LICENSE') for n in names))
            self.assertFalse([n for n in names if 'layout' in n or '__pycache__' in n])

    def test_after_unpacking(self):
        with zipfile.ZipFile(self.wheel) as z:
            z.extractall(self.folder / 'site')
        for name in ('bin/onnxsurg',):
            os.chmod(self.folder / 'site/onnxsurg' / name, 0o755)
        env = {k: v for k, v in os.environ.items() if not k.startswith('ONNXSURG')}
        env['PYTHONPATH'] = str(self.folder / 'site')
        code = '''if True:
            import os, sys, onnxsurg
            from onnxsurg._lib import lib
            assert os.path.dirname(lib.path) == os.path.dirname(onnxsurg.__file__), lib.path
            onnxsurg.repair(sys.argv[1], 'onnxruntime-1.10').save(sys.argv[2])
            assert onnxsurg.check(sys.argv[2], 'onnxruntime-1.10')
            print(onnxsurg.__version__)'''
        out = self.folder / 'o.onnx'
        r = subprocess.run([sys.executable, '-c', code, str(MODELS / 'layer_norm.onnxtxt'),
                            str(out)], env=env, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stdout.strip(), make_wheel.version())
        r = subprocess.run([sys.executable, '-m', 'onnxsurg', 'check', '--target',
                            'onnxruntime-1.10', str(out)], env=env, capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_platform_tags(self):
        library = BUILD / 'libonnxsurg.so.0'
        elf = make_wheel.Elf(library)
        self.assertIn('libc.so.6', elf.needed)
        expected = subprocess.run(['readelf', '-V', str(library)], capture_output=True, text=True)
        if expected.returncode == 0:
            names = set(re.findall(r'Name: (GLIBC_[\d.]+)', expected.stdout))
            self.assertEqual({v for f in elf.versions.values() for v in f if v.startswith('GLIBC')},
                             names)
        with self.assertRaises(SystemExit):
            make_wheel.Elf(__file__)


if __name__ == '__main__':
    main()
