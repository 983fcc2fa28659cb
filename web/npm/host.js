// SPDX-License-Identifier: Apache-2.0
// The operating system of the WebAssembly program: the imports of onnxsurg.wasm, which are the
// system calls of Emscripten's C library (structures and numbers as in its headers), on files of
// `memory.js` or `disk.js`. Every run is a new instance: a run leaves nothing behind.

// Error numbers of Emscripten's C library, which are those of WASI.
export const E = {
  '2BIG': 1, ACCES: 2, AGAIN: 6, BADF: 8, BUSY: 10, DQUOT: 19, EXIST: 20, FBIG: 22, INVAL: 28,
  IO: 29, ISDIR: 31, LOOP: 32, MFILE: 33, MLINK: 34, NAMETOOLONG: 37, NFILE: 41, NOENT: 44,
  NOMEM: 48, NOSPC: 51, NOSYS: 52, NOTDIR: 54, NOTEMPTY: 55, NOTSUP: 58, NOTTY: 59, OVERFLOW: 61,
  PERM: 63, PIPE: 64, ROFS: 69, SPIPE: 70, TXTBSY: 74, XDEV: 75,
};
export const O = {
  WRONLY: 1, RDWR: 2, ACCMODE: 3, CREAT: 0o100, EXCL: 0o200, TRUNC: 0o1000, APPEND: 0o2000,
  DIRECTORY: 0o200000, NOFOLLOW: 0o400000,
};
const AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100;
const MODE = { file: 0o100000, folder: 0o40000, device: 0o20000, pipe: 0o10000, link: 0o120000 };
const KIND = { file: 8, folder: 4, device: 2, pipe: 1, link: 10 }; // d_type
const DIRENT = 280, STAT = 88, POLLFD = 8, PAGE = 65536;
const MOST_PAGES = 65536; // 4 GiB

// A system call that failed; `number` is one of E.
export class SystemError extends Error {
  constructor(number) {
    super(`error ${number}`);
    this.number = number;
  }
}
export const fail = (name) => {
  throw new SystemError(E[name]);
};

class Exit {
  constructor(code) {
    this.code = code;
  }
}

// Standard input, output and error of a run.
class Stream {
  constructor(kind, source) {
    this.kind = kind;
    this.source = source;
  }
  stat() {
    return { kind: this.kind, size: 0, ino: 1, nlink: 1, mode: 0o600 };
  }
  close() {}
  sync() {}
}
export class Input extends Stream {
  constructor(bytes) {
    super('pipe');
    this.bytes = bytes;
    this.at = 0;
  }
  read(into) {
    const part = this.bytes.subarray(this.at, this.at + into.length);
    into.set(part);
    this.at += part.length;
    return part.length;
  }
}
export class Output extends Stream {
  constructor() {
    super('pipe');
    this.pieces = [];
  }
  write(from) {
    this.pieces.push(from.slice());
    return from.length;
  }
  bytes() {
    const out = new Uint8Array(this.pieces.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of this.pieces) out.set(p, at), (at += p.length);
    return out;
  }
  text() {
    return new TextDecoder().decode(this.bytes());
  }
}

// Runs the program. `files` gives open, stat, readdir, readlink, access, mkdir, rmdir, unlink,
// rename and chmod; `streams` are the open files 0, 1 and 2; `most` limits the memory in bytes;
// `random` is the Crypto object where it is no global (Node 18). Returns the exit code.
export function run(module, { args, files, streams, env = {}, cwd = '/', tty = [],
  most = MOST_PAGES * PAGE, random = globalThis.crypto }) {
  let memory, u8, view;
  const utf8 = new TextEncoder(), text = new TextDecoder();
  const open = streams.map((file, i) => ({ file, at: 0, path: null, tty: !!tty[i], flags: 2 }));
  const environment = Object.entries(env).map(([k, v]) => utf8.encode(`${k}=${v}\0`));

  const refresh = () => {
    if (view && view.buffer === memory.buffer) return;
    u8 = new Uint8Array(memory.buffer);
    view = new DataView(memory.buffer);
  };
  const put32 = (p, v) => view.setUint32(p >>> 0, v, true);
  const put64 = (p, v) => view.setBigUint64(p >>> 0, BigInt(v), true);
  const get32 = (p) => view.getUint32(p >>> 0, true);
  const string = (p) => {
    p >>>= 0;
    return text.decode(u8.subarray(p, u8.indexOf(0, p)));
  };
  const bytesAt = (p, n) => u8.subarray(p >>> 0, (p >>> 0) + (n >>> 0));

  const descriptor = (fd) => open[fd] ?? fail('BADF');
  const pathAt = (dirfd, p) => {
    const path = string(p);
    if (!path) fail('NOENT');
    if (dirfd === AT_FDCWD || path.startsWith('/')) return path;
    const d = descriptor(dirfd);
    if (d.path === null || d.file.kind !== 'folder') fail('NOTDIR');
    return `${d.file.path ?? d.path}/${path}`;
  };
  const openPath = (path, flags, mode) => {
    let fd = open.findIndex((d) => !d);
    if (fd < 0) fd = open.length;
    const file = files.open(path, flags, mode);
    open[fd] = { file, at: 0, path, flags };
    return fd;
  };
  const putStat = (p, s) => {
    p >>>= 0;
    u8.fill(0, p, p + STAT);
    put32(p, s.dev ?? 1);
    put32(p + 8, Number(BigInt.asUintN(32, BigInt(s.ino))));
    put32(p + 12, MODE[s.kind] | (s.mode & 0o7777));
    put32(p + 16, s.nlink);
    put64(p + 40, s.size);
    put32(p + 48, 4096);
    put32(p + 52, Math.ceil(s.size / 512));
    put64(p + 80, BigInt.asUintN(64, BigInt(s.ino)));
    return 0;
  };

  // Calls operation(piece, position) for each buffer of the list until one is incomplete.
  const transfer = (fd, list, count, position, done, operation) => {
    const d = descriptor(fd);
    if (!d.file[operation]) fail(d.file.kind === 'folder' ? 'ISDIR' : 'BADF');
    let total = 0, at = position ?? d.at;
    for (let i = 0; i < count; i++) {
      const from = get32(list + 8 * i), n = get32(list + 8 * i + 4);
      if (!n) continue;
      const moved = d.file[operation](bytesAt(from, n), at, position === null);
      total += moved;
      at += moved;
      if (moved < n) break;
    }
    if (position === null) d.at = at;
    put32(done, total);
    return 0;
  };
  const offset = (v) => (v < 0n || v > BigInt(Number.MAX_SAFE_INTEGER) ? fail('INVAL') : Number(v));
  const time = (clock) => {
    const ms = clock === 0 ? Date.now() : performance.now();
    return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)];
  };
  const clock = (id, p) => {
    const [s, ns] = time(id);
    put32(p, s);
    put32(p + 4, ns);
    return 0;
  };

  // System calls: a negative result is an error number.
  const calls = {
    __syscall_open: (p, flags, rest) => openPath(pathAt(AT_FDCWD, p), flags, rest && get32(rest)),
    __syscall_openat: (dir, p, flags, rest) =>
      openPath(pathAt(dir, p), flags, rest && get32(rest)),
    __syscall_faccessat: (dir, p, mode) => files.access(pathAt(dir, p), mode) ?? 0,
    __syscall_fchmod: (fd, mode) => descriptor(fd).file.chmod?.(mode & 0o7777) ?? 0,
    __syscall_chmod: (p, mode) => files.chmod(pathAt(AT_FDCWD, p), mode & 0o7777) ?? 0,
    __syscall_fcntl64: (fd, command, rest) => {
      const d = descriptor(fd);
      if (command === 1 || command === 2 || command === 4) return 0; // F_GETFD, F_SETFD, F_SETFL
      if (command === 3) return d.flags; // F_GETFL
      if (command !== 0 && command !== 1030) fail('INVAL'); // F_DUPFD
      let to = get32(rest);
      while (open[to]) to++;
      open[to] = d;
      return to;
    },
    __syscall_ioctl: (fd, request, rest) => {
      if (!descriptor(fd).tty) fail('NOTTY');
      if (request !== 0x5413) fail('INVAL'); // TIOCGWINSZ
      put32(get32(rest), 24 | (80 << 16));
      put32(get32(rest) + 4, 0);
      return 0;
    },
    __syscall_fstat64: (fd, p) => putStat(p, descriptor(fd).file.stat()),
    __syscall_stat64: (path, p) => putStat(p, files.stat(pathAt(AT_FDCWD, path), true)),
    __syscall_lstat64: (path, p) => putStat(p, files.stat(pathAt(AT_FDCWD, path), false)),
    __syscall_fstatat64: (dir, path, p, flags) =>
      putStat(p, files.stat(pathAt(dir, path), !(flags & AT_SYMLINK_NOFOLLOW))),
    __syscall_ftruncate64: (fd, low, high) => {
      const size = typeof low === 'bigint' ? low : BigInt(low >>> 0) | (BigInt(high >>> 0) << 32n);
      return (descriptor(fd).file.truncate ?? (() => fail('INVAL'))).call(
        descriptor(fd).file, offset(size)) ?? 0;
    },
    __syscall_linkat: () => fail('MLINK'),
    __syscall_mkdir: (p, mode) => files.mkdir(pathAt(AT_FDCWD, p), mode) ?? 0,
    __syscall_rmdir: (p) => files.rmdir(pathAt(AT_FDCWD, p)) ?? 0,
    __syscall_unlink: (p) => files.unlink(pathAt(AT_FDCWD, p)) ?? 0,
    __syscall_rename: (from, to) =>
      files.rename(pathAt(AT_FDCWD, from), pathAt(AT_FDCWD, to)) ?? 0,
    __syscall_readlink: (p, to, n) => putLink(files.readlink(pathAt(AT_FDCWD, p)), to, n),
    __syscall_readlinkat: (dir, p, to, n) => putLink(files.readlink(pathAt(dir, p)), to, n),
    __syscall_getcwd: (p, n) => {
      const path = utf8.encode(`${cwd}\0`);
      if (path.length > n >>> 0) return -68; // ERANGE
      u8.set(path, p >>> 0);
      return path.length;
    },
    __syscall_getdents64: (fd, p, n) => {
      const d = descriptor(fd);
      if (d.file.kind !== 'folder') fail('NOTDIR');
      d.list ??= files.readdir(d.file.path ?? d.path);
      let used = 0;
      for (; d.at < d.list.length && used + DIRENT <= n; d.at++, used += DIRENT) {
        const entry = d.list[d.at], to = (p >>> 0) + used, name = utf8.encode(entry.name);
        if (name.length > 255) continue;
        put64(to, d.at + 1);
        put64(to + 8, d.at + 1);
        view.setUint16(to + 16, DIRENT, true);
        u8[to + 18] = KIND[entry.kind];
        u8.set(name, to + 19);
        u8[to + 19 + name.length] = 0;
      }
      return used;
    },
    __syscall_poll: (p, n) => {
      let ready = 0;
      for (let i = 0; i < n; i++) {
        const at = (p >>> 0) + POLLFD * i;
        // Files and pipes never make a reader or writer wait here.
        const events = open[get32(at) | 0] ? view.getInt16(at + 4, true) & 5 : 0x20;
        view.setInt16(at + 6, events, true);
        ready += events ? 1 : 0;
      }
      return ready;
    },
    _munmap_js: () => -E.NOSYS,
    _mmap_js: () => -E.NOSYS,
  };
  const putLink = (target, to, n) => {
    const bytes = utf8.encode(target).subarray(0, n >>> 0);
    u8.set(bytes, to >>> 0);
    return bytes.length;
  };

  // Functions of WASI: the result is an error number.
  const wasi = {
    fd_read: (fd, list, n, done) => transfer(fd, list, n, null, done, 'read'),
    fd_write: (fd, list, n, done) => transfer(fd, list, n, null, done, 'write'),
    fd_pread: (fd, list, n, at, done) => transfer(fd, list, n, offset(at), done, 'read'),
    fd_pwrite: (fd, list, n, at, done) => transfer(fd, list, n, offset(at), done, 'write'),
    fd_close: (fd) => {
      const d = descriptor(fd);
      open[fd] = undefined;
      if (!open.includes(d)) d.file.close();
      return 0;
    },
    fd_sync: (fd) => descriptor(fd).file.sync() ?? 0,
    fd_seek: (fd, by, whence, result) => {
      const d = descriptor(fd);
      if (d.file.kind !== 'file') return E.SPIPE;
      const base = whence === 0 ? 0 : whence === 1 ? d.at : d.file.stat().size;
      d.at = offset(BigInt(base) + by);
      put64(result, d.at);
      return 0;
    },
    fd_fdstat_get: (fd, p) => {
      const d = descriptor(fd);
      u8.fill(0, p >>> 0, (p >>> 0) + 24);
      u8[p >>> 0] = d.tty ? 2 : d.file.kind === 'folder' ? 3 : 4;
      return 0;
    },
    environ_sizes_get: (count, size) => {
      put32(count, environment.length);
      put32(size, environment.reduce((n, e) => n + e.length, 0));
      return 0;
    },
    environ_get: (list, to) => {
      for (const e of environment) {
        put32(list, to);
        u8.set(e, to >>> 0);
        list += 4;
        to += e.length;
      }
      return 0;
    },
    proc_exit: (code) => {
      throw new Exit(code);
    },
  };

  const other = {
    __assert_fail: (what, file, line) => {
      const message = `${string(file)}:${line}: assertion failed: ${string(what)}\n`;
      open[2]?.file.write(utf8.encode(message), 0);
      throw new Exit(134);
    },
    abort: () => {
      throw new Exit(134);
    },
    getentropy: (p, n) => {
      random.getRandomValues(bytesAt(p, n));
      return 0;
    },
    clock_gettime: clock,
    __clock_gettime: clock,
    gettimeofday: (p) => {
      const [s, ns] = time(0);
      put32(p, s);
      put32(p + 4, Math.floor(ns / 1000));
      return 0;
    },
    emscripten_memcpy_big: (to, from, n) => {
      u8.copyWithin(to >>> 0, from >>> 0, (from >>> 0) + (n >>> 0));
    },
    // Grows by a quarter more than needed, so that a large model does not grow it page by page.
    emscripten_resize_heap: (size) => {
      const have = memory.buffer.byteLength / PAGE, need = Math.ceil((size >>> 0) / PAGE);
      const pages = Math.min(MOST_PAGES, Math.floor(most / PAGE));
      if (need > pages) return 0;
      for (const want of [Math.min(pages, need + (have >> 2)), need]) {
        try {
          memory.grow(want - have);
          refresh();
          return 1;
        } catch {
          // less is tried, then malloc returns NULL
        }
      }
      return 0;
    },
  };

  // Turns SystemError into a number: negative for system calls, positive for WASI.
  const guard = (f, sign) => (...a) => {
    refresh();
    try {
      return f(...a);
    } catch (e) {
      if (e instanceof SystemError) return sign * e.number;
      throw e;
    }
  };
  const guarded = (set, sign) =>
    Object.fromEntries(Object.entries(set).map(([k, f]) => [k, guard(f, sign)]));
  const imports = {
    env: { ...guarded(calls, -1), ...guarded(other, -1) },
    wasi_snapshot_preview1: guarded(wasi, 1),
  };

  const { exports } = new WebAssembly.Instance(module, imports);
  memory = exports.memory;
  refresh();
  try {
    exports.__wasm_call_ctors();
    const words = ['onnxsurg', ...args].map((a) => utf8.encode(`${a}\0`));
    const list = exports.stackAlloc(4 * (words.length + 1)) >>> 0;
    words.forEach((w, i) => {
      const p = exports.stackAlloc(w.length) >>> 0;
      u8.set(w, p);
      put32(list + 4 * i, p);
    });
    put32(list + 4 * words.length, 0);
    const code = exports.main(words.length, list);
    exports.__funcs_on_exit();
    exports.__stdio_exit();
    return code;
  } catch (e) {
    if (e instanceof Exit) return e.code;
    const why = e instanceof RangeError ? 'the stack of the JavaScript engine is too small'
      : e instanceof WebAssembly.RuntimeError ? `internal fault; please report it (${e.message})`
        : null;
    if (!why) throw e;
    open[2]?.file.write(utf8.encode(`onnxsurg: error: ${why}\n`), 0);
    return e instanceof RangeError ? 4 : 5;
  } finally {
    for (const d of new Set(open)) if (d && !streams.includes(d.file)) d.file.close();
  }
}
