// SPDX-License-Identifier: Apache-2.0
// The files of the computer, for runs in Node: bytes go between a file and the memory of the
// program without a copy.
import * as fs from 'node:fs';

import { E, O, SystemError } from './host.js';

const FLAGS = [
  [O.WRONLY, fs.constants.O_WRONLY], [O.RDWR, fs.constants.O_RDWR],
  [O.CREAT, fs.constants.O_CREAT], [O.EXCL, fs.constants.O_EXCL],
  [O.TRUNC, fs.constants.O_TRUNC], [O.APPEND, fs.constants.O_APPEND],
  [O.DIRECTORY, fs.constants.O_DIRECTORY ?? 0], [O.NOFOLLOW, fs.constants.O_NOFOLLOW ?? 0],
  [0o4000, fs.constants.O_NONBLOCK ?? 0], [0o400, fs.constants.O_NOCTTY ?? 0],
];
const MOST = 1 << 30; // bytes that one call moves

// Does the work and turns an error of Node into one of the program.
function attempt(work) {
  try {
    return work();
  } catch (e) {
    if (typeof e.code !== 'string' || typeof e.syscall !== 'string') throw e;
    throw new SystemError(E[e.code.replace(/^E/, '')] ?? E.IO);
  }
}

const kindOf = (s) => (s.isDirectory() ? 'folder' : s.isSymbolicLink() ? 'link'
  : s.isFIFO() || s.isSocket() ? 'pipe' : s.isFile() ? 'file' : 'device');
const describe = (s) => ({
  kind: kindOf(s),
  size: Number(s.size),
  ino: s.ino,
  dev: Number(BigInt.asUintN(32, s.dev)),
  nlink: Number(s.nlink),
  mode: Number(s.mode) & 0o7777,
});

export class DiskFile {
  // A file that another program opened has a position of its own.
  constructor(fd, path, inherited = false) {
    this.fd = fd;
    this.inherited = inherited;
    this.state = attempt(() => fs.fstatSync(fd, { bigint: true }));
    this.kind = describe(this.state).kind;
    // A folder of Linux keeps its meaning if it is renamed while it is open.
    if (this.kind === 'folder')
      this.path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
  }
  stat() {
    return attempt(() => describe(fs.fstatSync(this.fd, { bigint: true })));
  }
  position(at, next) {
    return this.kind !== 'file' || (this.inherited && next) ? null : at;
  }
  read(into, at, next) {
    for (;;) {
      try {
        return fs.readSync(this.fd, into, 0, Math.min(into.length, MOST), this.position(at, next));
      } catch (e) {
        if (e.code === 'EOF') return 0; // the end of a pipe of Windows
        if (e.code !== 'EAGAIN') return attempt(() => { throw e; });
        pause();
      }
    }
  }
  write(from, at, next) {
    for (;;) {
      try {
        return fs.writeSync(this.fd, from, 0, Math.min(from.length, MOST), this.position(at, next));
      } catch (e) {
        if (e.code !== 'EAGAIN') return attempt(() => { throw e; });
        pause();
      }
    }
  }
  truncate(size) {
    attempt(() => fs.ftruncateSync(this.fd, size));
  }
  chmod(mode) {
    attempt(() => fs.fchmodSync(this.fd, mode));
  }
  sync() {
    attempt(() => fs.fsyncSync(this.fd));
  }
  close() {
    if (this.fd > 2) attempt(() => fs.closeSync(this.fd));
  }
}

// Waits a moment for a pipe that is full or empty.
function pause() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}

export class DiskFiles {
  open(path, flags, mode) {
    let how = fs.constants.O_RDONLY;
    for (const [ours, theirs] of FLAGS) if ((flags & ours) === ours) how |= theirs;
    if (path === '/dev/null') path = process.platform === 'win32' ? '\\\\.\\nul' : path;
    return attempt(() => new DiskFile(fs.openSync(path, how, mode), path));
  }
  stat(path, follow) {
    return attempt(() => describe((follow ? fs.statSync : fs.lstatSync)(path, { bigint: true })));
  }
  access(path, mode) {
    attempt(() => fs.accessSync(path, mode));
  }
  chmod(path, mode) {
    attempt(() => fs.chmodSync(path, mode));
  }
  readlink(path) {
    return attempt(() => fs.readlinkSync(path));
  }
  readdir(path) {
    return attempt(() => fs.readdirSync(path, { withFileTypes: true }))
      .map((e) => ({ name: e.name, kind: kindOf(e) }));
  }
  mkdir(path, mode) {
    attempt(() => fs.mkdirSync(path, mode));
  }
  rmdir(path) {
    attempt(() => fs.rmdirSync(path));
  }
  unlink(path) {
    attempt(() => fs.unlinkSync(path));
  }
  rename(from, to) {
    attempt(() => fs.renameSync(from, to));
  }
}
