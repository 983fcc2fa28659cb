#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs into an empty folder and builds the example programs against what is there.

    install.py --build FOLDER --source TREE --meson MESON --cc CC...
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command, **more):
    r = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    if r.returncode:
        sys.exit('%s: exit code %d\n%s%s' % (command, r.returncode, r.stdout, r.stderr))
    return r.stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ('build', 'source', 'meson'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--cc', nargs=argparse.REMAINDER, required=True)
    args = parser.parse_args()
    if not shutil.which('pkg-config'):
        sys.exit(77)
    source = pathlib.Path(args.source)
    with tempfile.TemporaryDirectory() as temp:
        root = pathlib.Path(temp)
        run(*args.meson.split(), 'install', '-C', args.build, '--no-rebuild', '--destdir', temp,
            '--quiet')
        pc = next(root.rglob('onnxsurg.pc'))
        libs = pc.parent.parent
        env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=temp,
                   LD_LIBRARY_PATH=str(libs))
        flags = run('pkg-config', '--cflags', '--libs', 'onnxsurg', env=env).split()
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'embed'),
            str(source / 'examples/embed/embed.c'), *flags)
        model, out = source / 'examples/models/tiny_cnn.onnxtxt', root / 'out.onnx'
        said = run(str(root / 'embed'), str(model), str(out), env=env)
        assert said == '6 nodes, 1 of them MatMul\n', said

        # What an engine supports, and a repair, with the public headers alone.
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'repair'),
            str(source / 'examples/embed/repair.c'), *flags)
        fixed = root / 'fixed.onnx'
        said = run(str(root / 'repair'), 'onnxruntime-1.4',
                   str(source / 'examples/models/if_constant.onnxtxt'), str(fixed), env=env)
        assert 'as it is: unsupported by onnxruntime-1.4\n' in said, said
        assert said.endswith("after repair: supported by 'opset{to=12}' (exact)\n"), said
        assert fixed.stat().st_size > 0

        # Runs and comparisons: a model and what --pass fold,prune makes of it; another model.
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'compare'),
            str(source / 'examples/embed/compare.c'), *flags)
        said = run(str(root / 'compare'), str(model), str(out), env=env)
        assert 'runs compared: same\n' in said and ': float[' in said, said
        other = root / 'other.onnxtxt'
        other.write_text(model.read_text().replace('Relu', 'Neg'))
        r = subprocess.run([str(root / 'compare'), str(model), str(other)], env=env,
                           capture_output=True, text=True)
        assert r.returncode == 1 and 'not the same\n' in r.stdout, r.stdout + r.stderr

        # A diagnosis.
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'doctor'),
            str(source / 'examples/embed/doctor.c'), *flags)
        said = run(str(root / 'doctor'), 'onnxruntime-1.4',
                   str(source / 'examples/models/if_constant.onnxtxt'), env=env)
        assert 'valid: ok\n' in said, said
        assert re.search(r'repair: ir\{to=7\},(\S+,)?opset\{to=12\}\n$', said), said

        # A model that is built from nothing is valid, and is written.
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'build'),
            str(source / 'examples/embed/build.c'), *flags)
        said = run(str(root / 'build'), str(root / 'built.onnx'), env=env)
        assert said == '3 nodes, 0 warnings\n', said
        run(str(next(root.rglob('bin/onnxsurg'))), 'check', str(root / 'built.onnx'), env=env)

        # A pass of the program itself, as doc/embedding.md shows it.
        own = (source / 'examples/embed/own_pass.c').read_text()
        block = next(b for b in re.findall(r'```c\n(.*?)```', (source / 'doc/embedding.md').read_text(), re.S)
                     if 'drop-debug' in b)
        for line in block.splitlines():
            assert line.strip() == '...' or line.split(' /*')[0].strip(' {;') in own, line
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'own_pass'),
            str(source / 'examples/embed/own_pass.c'), *flags)
        run(str(root / 'own_pass'), str(source / 'examples/models/tiny_cnn.onnxtxt'), str(root / 'own.onnx'), env=env)
        said = run(str(next(root.rglob('bin/onnxsurg'))), 'nodes', str(root / 'own.onnx'), env=env)
        assert 'conv' in said and 'debug' not in said, said

        # The program of doc/embedding.md does what the page says.
        page = (source / 'doc/embedding.md').read_text()
        code, output = re.search(r'```c\n(.*?)```.*?```\n(.*?)```', page, re.S).groups()
        (root / 'page.c').write_text(code)
        run(*args.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', str(root / 'page'),
            str(root / 'page.c'), *flags)
        said = run(str(root / 'page'), str(source / 'examples/models/if_constant.onnxtxt'),
                   str(root / 'page.onnx'), env=env)
        assert said == output, (said, output)

        # The installed program finds the library's passes, and does the same.
        tool = next(p for p in root.rglob('bin/onnxsurg'))
        run(str(tool), '--pass', 'fold,prune', str(model), str(root / 'same.onnx'), env=env)
        assert out.read_bytes() == (root / 'same.onnx').read_bytes()

        run(*args.cc, '-shared', '-fPIC', '-o', str(root / 'forward.so'),
            str(source / 'examples/plugin/forward.c'), *[f for f in flags if f[:2] == '-I'])
        run(str(tool), '--plugin', str(root / 'forward.so'), '--pass', 'forward{op=Identity}',
            str(model), str(root / 'plugin.onnx'), env=env)

        # Nothing of the inside is exported: every name is the API's.
        lib = next(libs.glob('libonnxsurg.so.*'))
        names = [x.split()[-1] for x in run('nm', '-D', '--defined-only', str(lib)).splitlines()]
        odd = [n for n in names if not n.startswith('surg_') or n.startswith('surg__')]
        assert 'surg_model_run' in names and not odd, odd


main()
