#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel with the library and the program inside, without network.

    make_wheel.py [--build FOLDER] [--out FOLDER]

It is also a build backend (PEP 517): `pip wheel ./python`, `python3 -m build --no-isolation -w
python`. Needs meson, ninja and a C compiler, as the program does. protobuf-c, xxHash and zlib are
linked statically, so the distribution has to offer their static libraries (Debian's -dev packages
do); Jansson's shared library is put beside ours. The platform tag states the glibc that the result
needs."""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
LIBRARY, PROGRAM = 'libonnxsurg.so.0', 'tools/onnxsurg'
# What every Linux with glibc has; everything else is put into the wheel.
SYSTEM = re.compile(r'(libc|libm|libdl|libpthread|librt)\.so\.\d+|ld-linux.*\.so\.\d+|linux-vdso.*')
MACHINES = {62: 'x86_64', 183: 'aarch64'}
STATIC = {'libprotobuf-c-dev': 'protobuf-c', 'libjansson-dev': 'Jansson',
          'libxxhash-dev': 'xxHash', 'zlib1g-dev': 'zlib'}
EPOCH = (1980, 1, 1, 0, 0, 0)  # so that equal content is an equal file


# ---- ELF -----------------------------------------------------------------------------------------

class Elf:
    """The dynamic section of a 64-bit little-endian ELF file: what it needs of other libraries."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        if self.data[:6] != b'\x7fELF\x02\x01':
            sys.exit('%s is no 64-bit ELF file' % path)
        self.machine, = struct.unpack_from('<H', self.data, 18)
        self.needed, self.versions = [], {}
        sections = self.sections()
        for kind, offset, size, link in sections:
            names = sections[link][1] if link < len(sections) else 0
            if kind == 6:  # SHT_DYNAMIC
                self.read_dynamic(offset, size, names)
            elif kind == 0x6ffffffe:  # SHT_GNU_verneed
                self.read_versions(offset, names)

    def sections(self):
        start, = struct.unpack_from('<Q', self.data, 40)
        size, count = struct.unpack_from('<HH', self.data, 58)
        out = []
        for i in range(count):
            _, kind, _, _, offset, length, link = struct.unpack_from('<IIQQQQI', self.data,
                                                                     start + i * size)
            out.append((kind, offset, length, link))
        return out

    def text(self, at):
        return self.data[at:self.data.index(b'\0', at)].decode()

    def read_dynamic(self, offset, size, names):
        for at in range(offset, offset + size, 16):
            tag, value = struct.unpack_from('<qQ', self.data, at)
            if tag == 1:  # DT_NEEDED
                self.needed.append(self.text(names + value))

    def read_versions(self, offset, names):
        while True:
            _, count, file, first, following = struct.unpack_from('<HHIII', self.data, offset)
            at = offset + first
            for _ in range(count):
                _, _, _, name, after = struct.unpack_from('<IHHII', self.data, at)
                needed = self.versions.setdefault(self.text(names + file), [])
                needed.append(self.text(names + name))
                at += after
            if not following:
                return
            offset += following


def beside(paths):
    """The shared libraries that binaries need and that are not part of every system, as paths."""
    found, queue = {}, list(paths)
    while queue:
        elf = Elf(queue.pop())
        for name in elf.needed:
            if SYSTEM.fullmatch(name) or name in found or name == LIBRARY:
                continue
            path = subprocess.run(['cc', '-print-file-name=' + name], check=True, text=True,
                                  capture_output=True).stdout.strip()
            if '/' not in path:
                sys.exit('the shared library %s is not found' % name)
            found[name] = pathlib.Path(path)
            queue.append(found[name])
    return found


def platform_tag(paths):
    """The platform tag of binaries, such as manylinux_2_34_x86_64."""
    newest, machines = (2, 17), set()
    for path in paths:
        elf = Elf(path)
        machines.add(MACHINES.get(elf.machine))
        for versions in elf.versions.values():
            for v in versions:
                m = re.fullmatch(r'GLIBC_(\d+)\.(\d+)(\.\d+)?', v)
                if m:
                    newest = max(newest, (int(m.group(1)), int(m.group(2))))
    if len(machines) != 1 or None in machines:
        sys.exit('the binaries are for a machine without a platform tag')
    return 'manylinux_%d_%d_%s' % (newest + (machines.pop(),))


# ---- the build -----------------------------------------------------------------------------------

def build(folder):
    """Builds library, program and package; sets the folder up if it does not exist."""
    if not (folder / 'build.ninja').exists():
        subprocess.run(['meson', 'setup', str(folder), str(SOURCE), '-Dtests=false',
                        '-Dprefer_static=true'], check=True, stdout=sys.stderr)
    package = folder / 'python/onnxsurg'
    modules = [str(p.relative_to(HERE)) for p in (HERE / 'onnxsurg').rglob('*')
               if p.suffix in ('.py', '.typed') and '__pycache__' not in p.parts]
    targets = ['python/' + m for m in modules] + ['python/onnxsurg/_c.py']
    targets += ['python/' + m + 'i' for m in modules if m.endswith('.py')]
    subprocess.run(['ninja', '-C', str(folder), LIBRARY, PROGRAM] + targets, check=True,
                   stdout=sys.stderr)
    return package


def version():
    """The version of the project, from meson.build."""
    return re.search(r"version:\s*'([^']+)'", (SOURCE / 'meson.build').read_text()).group(1)


def stripped(path, folder):
    """A copy without debug information, as bytes."""
    copy = folder / path.name
    shutil.copyfile(path, copy)
    strip = os.environ.get('STRIP', 'strip')  # another machine's needs its own
    if shutil.which(strip):
        subprocess.run([strip, '--strip-unneeded', str(copy)], check=True)
    return copy.read_bytes()


def licenses():
    """(name, bytes) of the licenses of what is inside."""
    yield 'LICENSE', (SOURCE / 'LICENSE').read_bytes()
    for package, name in STATIC.items():
        text = pathlib.Path('/usr/share/doc', package, 'copyright')
        if text.exists():
            yield 'LICENSE.' + name, text.read_bytes()
        else:
            print('no license text of %s (%s)' % (name, text), file=sys.stderr)


METADATA = '''Metadata-Version: 2.1
Name: onnxsurg
Version: %s
Summary: Edits ONNX models, proves that nothing was lost, and repairs models that engines refuse
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.8
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: onnx
Requires-Dist: onnx; extra == "onnx"
Description-Content-Type: text/markdown

'''
WHEEL = '''Wheel-Version: 1.0
Generator: onnxsurg make_wheel
Root-Is-Purelib: false
Tag: py3-none-%s
'''
ENTRIES = '[console_scripts]\nonnxsurg = onnxsurg.__main__:main\n'


def content(folder, package, shared, tag):
    """{path in the wheel: (bytes, whether it is executable)}."""
    files = {}
    for path in sorted(package.rglob('*')):
        if path.suffix in ('.py', '.pyi', '.typed') and '__pycache__' not in path.parts:
            files['onnxsurg/%s' % path.relative_to(package)] = (path.read_bytes(), False)
    with tempfile.TemporaryDirectory() as temp:
        for path, name in ((LIBRARY, LIBRARY), (PROGRAM, 'bin/onnxsurg')):
            files['onnxsurg/' + name] = (stripped(folder / path, pathlib.Path(temp)), True)
        for name, path in shared.items():
            files['onnxsurg/' + name] = (stripped(path, pathlib.Path(temp)), True)
    info = 'onnxsurg-%s.dist-info/' % version()
    readme = (SOURCE / 'doc/python.md').read_bytes()
    files[info + 'METADATA'] = ((METADATA % version()).encode() + readme, False)
    files[info + 'WHEEL'] = ((WHEEL % tag).encode(), False)
    files[info + 'entry_points.txt'] = (ENTRIES.encode(), False)
    for name, text in licenses():
        files[info + 'licenses/' + name] = (text, False)
    return info, files


def write(path, info, files):
    """Writes the wheel; equal content gives an equal file."""
    record = ''
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as z:
        for name, (data, executable) in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
            record += '%s,sha256=%s,%d\n' % (name, digest, len(data))
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
        entry = zipfile.ZipInfo(info + 'RECORD', EPOCH)
        entry.external_attr = 0o100644 << 16
        z.writestr(entry, record + info + 'RECORD,,\n')


def make(folder, out, built=False):
    """Makes the wheel; returns its path. built: everything in the folder is up to date."""
    package = folder / 'python/onnxsurg' if built else build(folder)
    binaries = [folder / LIBRARY, folder / PROGRAM]
    shared = beside(binaries)
    tag = platform_tag(binaries + list(shared.values()))
    info, files = content(folder, package, shared, tag)
    out.mkdir(parents=True, exist_ok=True)
    path = out / ('onnxsurg-%s-py3-none-%s.whl' % (version(), tag))
    write(path, info, files)
    return path


# ---- PEP 517 -------------------------------------------------------------------------------------

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = (config_settings or {}).get('build') or SOURCE / 'build-wheel'
    return make(pathlib.Path(folder).resolve(), pathlib.Path(wheel_directory)).name


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit('onnxsurg: the source of the wheel is the whole repository; use build_wheel')


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('--build', type=pathlib.Path, default=SOURCE / 'build-wheel')
    arguments.add_argument('--out', type=pathlib.Path, default=SOURCE / 'build-wheel/dist')
    arguments.add_argument('--built', action='store_true', help='the build is up to date')
    a = arguments.parse_args()
    print(make(a.build.resolve(), a.out, a.built))


if __name__ == '__main__':
    main()
