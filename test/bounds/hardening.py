# SPDX-License-Identifier: Apache-2.0
"""hardening.py PROGRAM LIBRARY: what the build promises about binaries is true of them.

Reads the ELF headers itself: position independent, read-only relocations resolved at start, no
executable stack, no segment that is writable and executable, no search path, no text relocations,
stack protector and checked functions of the C library; the library exports its own prefix only."""
import struct
import sys

PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO, PT_LOAD = 2, 0x6474E551, 0x6474E552, 1
DT_TEXTREL, DT_RPATH, DT_FLAGS, DT_RUNPATH, DT_FLAGS_1 = 22, 15, 30, 29, 0x6FFFFFFB
SHT_DYNSYM = 11


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        d = self.data
        if d[:4] != b"\x7fELF":
            print("no ELF file: nothing to test here")
            sys.exit(77)
        self.wide = d[4] == 2
        self.order = "<" if d[5] == 1 else ">"
        self.kind, = self.unpack("H", 16)
        at = self.unpack("QQ", 32) if self.wide else self.unpack("II", 28)
        sizes = self.unpack("6H", 52 if self.wide else 40)
        self.segments = [self.segment(at[0] + i * sizes[1]) for i in range(sizes[2])]
        self.sections = [self.section(at[1] + i * sizes[3]) for i in range(sizes[4])]

    def unpack(self, form, at):
        return struct.unpack_from(self.order + form, self.data, at)

    def segment(self, at):
        """(type, flags, offset, size in the file)"""
        if self.wide:
            kind, flags, offset, _, _, size = self.unpack("IIQQQQ", at)
        else:
            kind, offset, _, _, size, _, flags = self.unpack("7I", at)
        return kind, flags, offset, size

    def section(self, at):
        """(type, offset, size, link)"""
        if self.wide:
            _, kind, _, _, offset, size, link = self.unpack("IIQQQQI", at)
        else:
            _, kind, _, _, offset, size, link = self.unpack("7I", at)
        return kind, offset, size, link

    def dynamic(self):
        entry = "qQ" if self.wide else "iI"
        size = struct.calcsize("<" + entry)
        for kind, _, offset, length in self.segments:
            if kind == PT_DYNAMIC:
                for at in range(offset, offset + length, size):
                    yield self.unpack(entry, at)

    def symbols(self):
        """(name, defined)"""
        for kind, offset, size, link in self.sections:
            if kind != SHT_DYNSYM:
                continue
            names = self.sections[link][1]
            step = 24 if self.wide else 16
            for at in range(offset + step, offset + size, step):
                name, = self.unpack("I", at)
                section, = self.unpack("H", at + (6 if self.wide else 14))
                end = self.data.index(b"\0", names + name)
                yield self.data[names + name:end].decode(), section != 0


def faults(path, library):
    e = Elf(path)
    entries = dict(e.dynamic())
    kinds = {s[0] for s in e.segments}
    flags, flags_1 = entries.get(DT_FLAGS, 0), entries.get(DT_FLAGS_1, 0)
    if e.kind != 3:
        yield "has a fixed address"
    if PT_GNU_RELRO not in kinds or not (flags & 8 or flags_1 & 1):
        yield "relocations stay writable (relro, now)"
    if any(k == PT_GNU_STACK and f & 1 for k, f, _, _ in e.segments) or PT_GNU_STACK not in kinds:
        yield "the stack is executable"
    if any(k == PT_LOAD and f & 3 == 3 for k, f, _, _ in e.segments):
        yield "a segment is writable and executable"
    if DT_TEXTREL in entries or flags & 4:
        yield "code is relocated"
    if DT_RPATH in entries or (DT_RUNPATH in entries and not library):
        yield "has a search path of its own"
    symbols = list(e.symbols())
    names = {n for n, _ in symbols}
    if "__stack_chk_fail" not in names:
        yield "has no stack protector"
    if "--fortified" in sys.argv and not any(n.endswith("_chk") and n != "__stack_chk_fail" for n in names):
        yield "calls no checked functions (_FORTIFY_SOURCE)"
    if library:
        other = sorted(n for n, defined in symbols
                       if defined and not n.startswith(("surg_", "SURG_", "_init", "_fini")))
        if other:
            yield f"exports {other[:5]}"


def main():
    program, library = [a for a in sys.argv[1:] if not a.startswith("--")]
    bad = [f"{p}: {f}" for p in (program, library) for f in faults(p, p == library)]
    for line in bad:
        print("FAIL", line)
    print(f"2 binaries, {len(bad)} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
