// SPDX-License-Identifier: Apache-2.0
// Files in memory for one run of the program. Input is not copied: it is read where it is, also
// from a Blob (in a worker, which alone may read one synchronously). Output is kept in pieces.
import { O, fail } from './host.js';

const PIECE = 1 << 22; // bytes of a piece of a written file
const WINDOW = 1 << 18; // bytes read at once from a Blob; twice as many if reading goes on there
const WIDEST = 1 << 24;

let inodes = 16;

// Contents that are given and not changed: a Uint8Array.
class Given {
  constructor(bytes) {
    this.bytes = bytes;
    this.size = bytes.length;
  }
  read(into, at) {
    const part = this.bytes.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  }
}

// Contents of a Blob, through one window that is read ahead.
class GivenBlob {
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
    this.start = 0;
    this.window = new Uint8Array(0);
  }
  load(at, n) {
    const part = this.blob.slice(at, at + n);
    try {
      return new Uint8Array(new FileReaderSync().readAsArrayBuffer(part));
    } catch {
      return fail('IO'); // the file changed or is gone
    }
  }
  read(into, at) {
    const n = Math.min(into.length, this.size - at);
    if (n <= 0) return 0;
    let end = this.start + this.window.length;
    if (at < this.start || at >= end) {
      const wide = at === end ? Math.min(2 * this.window.length, WIDEST) : 0;
      this.window = this.load(at, Math.max(n, wide, WINDOW));
      this.start = at;
      end = at + this.window.length;
    }
    const got = Math.min(n, end - at);
    into.set(this.window.subarray(at - this.start, at - this.start + got));
    return got;
  }
}

// Contents that the program writes: pieces of PIECE bytes.
class Written {
  constructor() {
    this.pieces = [];
    this.size = 0;
  }
  each(n, at, use) {
    for (let done = 0; done < n;) {
      const index = Math.floor((at + done) / PIECE), inside = (at + done) % PIECE;
      const length = Math.min(n - done, PIECE - inside);
      use(index, inside, done, length);
      done += length;
    }
  }
  read(into, at) {
    const n = Math.max(0, Math.min(into.length, this.size - at));
    this.each(n, at, (index, inside, done, length) => {
      const piece = this.pieces[index];
      if (piece) into.set(piece.subarray(inside, inside + length), done);
      else into.fill(0, done, done + length);
    });
    return n;
  }
  write(from, at) {
    try {
      this.each(from.length, at, (index, inside, done, length) => {
        this.pieces[index] ??= new Uint8Array(PIECE);
        this.pieces[index].set(from.subarray(done, done + length), inside);
      });
    } catch (e) {
      if (e instanceof RangeError) fail('NOSPC');
      throw e;
    }
    this.size = Math.max(this.size, at + from.length);
    return from.length;
  }
  truncate(size) {
    if (size < this.size) {
      this.pieces.length = Math.ceil(size / PIECE);
      const inside = size % PIECE;
      if (inside) this.pieces[this.pieces.length - 1]?.fill(0, inside);
    }
    this.size = size;
  }
  // The contents as a list of parts of a Blob.
  parts() {
    const out = [];
    this.each(this.size, 0, (index, inside, done, length) =>
      out.push((this.pieces[index] ?? new Uint8Array(PIECE)).subarray(inside, inside + length)));
    return out;
  }
  bytes() {
    const out = new Uint8Array(this.size);
    this.read(out, 0);
    return out;
  }
}

class Node {
  constructor(kind, content) {
    this.kind = kind;
    this.content = content;
    this.ino = inodes++;
    this.mode = kind === 'folder' ? 0o755 : 0o644;
    this.entries = kind === 'folder' ? new Map() : null;
    this.given = !(content instanceof Written);
  }
  stat() {
    const size = this.content?.size ?? 0;
    return { kind: this.kind, size, ino: this.ino, nlink: 1, mode: this.mode };
  }
  chmod(mode) {
    this.mode = mode;
  }
  close() {}
  sync() {}
}
class FileNode extends Node {
  read(into, at) {
    return this.content.read(into, at);
  }
  writable() {
    if (!this.content.write) {
      const all = this.content, copy = new Written(), part = new Uint8Array(PIECE);
      for (let at = 0; at < all.size; at += PIECE)
        copy.write(part.subarray(0, all.read(part, at)), at);
      this.content = copy;
    }
    this.given = false;
    return this.content;
  }
  write(from, at) {
    return this.writable().write(from, at);
  }
  truncate(size) {
    this.writable().truncate(size);
  }
}
class NullNode extends Node {
  read() {
    return 0;
  }
  write(from) {
    return from.length;
  }
}

export const contents = (data) => {
  if (typeof data === 'string') return new Given(new TextEncoder().encode(data));
  if (data instanceof Uint8Array) return new Given(data);
  if (ArrayBuffer.isView(data))
    return new Given(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  if (data instanceof ArrayBuffer) return new Given(new Uint8Array(data));
  if (typeof Blob !== 'undefined' && data instanceof Blob) {
    if (typeof FileReaderSync === 'undefined')
      throw new TypeError('a Blob can be read in a worker only; give its bytes instead');
    return new GivenBlob(data);
  }
  throw new TypeError('a file must be a Uint8Array, ArrayBuffer, Blob or string');
};

export class MemoryFiles {
  constructor(files = {}) {
    this.root = new Node('folder');
    this.mkdir('/tmp');
    this.mkdir('/dev');
    this.folder('/dev').entries.set('null', new NullNode('device'));
    for (const [name, data] of Object.entries(files)) {
      const words = MemoryFiles.words(name), last = words.pop();
      if (last === undefined) throw new TypeError(`not a file name: ${name}`);
      let at = this.root;
      for (const w of words) {
        if (!at.entries.has(w)) at.entries.set(w, new Node('folder'));
        at = at.entries.get(w);
        if (!at.entries) throw new TypeError(`${w} is a file and a folder`);
      }
      at.entries.set(last, new FileNode('file', contents(data)));
    }
  }
  static words(path) {
    const out = [];
    for (const w of path.split('/')) {
      if (w === '..') out.pop();
      else if (w && w !== '.') out.push(w);
    }
    return out;
  }
  find(path) {
    let at = this.root;
    for (const w of MemoryFiles.words(path)) {
      if (!at.entries) fail('NOTDIR');
      at = at.entries.get(w) ?? fail('NOENT');
    }
    if (path.endsWith('/') && !at.entries) fail('NOTDIR');
    return at;
  }
  folder(path) {
    const at = this.find(path);
    return at.entries ? at : fail('NOTDIR');
  }
  // The folder of a path and its last word.
  parent(path) {
    const words = MemoryFiles.words(path), last = words.pop() ?? fail('EXIST');
    return [this.folder(`/${words.join('/')}`), last];
  }
  open(path, flags) {
    let node = null;
    if (flags & O.CREAT) {
      const [folder, name] = this.parent(path);
      node = folder.entries.get(name);
      if (node && flags & O.EXCL) fail('EXIST');
      if (!node) folder.entries.set(name, (node = new FileNode('file', new Written())));
    }
    node ??= this.find(path);
    if (flags & O.DIRECTORY && !node.entries) fail('NOTDIR');
    if (node.entries && flags & O.ACCMODE) fail('ISDIR');
    if (flags & O.TRUNC && flags & O.ACCMODE) node.truncate?.(0);
    return node;
  }
  stat(path) {
    return this.find(path).stat();
  }
  access(path) {
    this.find(path);
  }
  chmod(path, mode) {
    this.find(path).chmod(mode);
  }
  readlink(path) {
    this.find(path);
    return fail('INVAL');
  }
  readdir(path) {
    return [...this.folder(path).entries].map(([name, n]) => ({ name, kind: n.kind }));
  }
  mkdir(path) {
    const [folder, name] = this.parent(path);
    if (folder.entries.has(name)) fail('EXIST');
    folder.entries.set(name, new Node('folder'));
  }
  rmdir(path) {
    const [folder, name] = this.parent(path);
    const node = folder.entries.get(name) ?? fail('NOENT');
    if (!node.entries) fail('NOTDIR');
    if (node.entries.size) fail('NOTEMPTY');
    folder.entries.delete(name);
  }
  unlink(path) {
    const [folder, name] = this.parent(path);
    const node = folder.entries.get(name) ?? fail('NOENT');
    if (node.entries) fail('ISDIR');
    folder.entries.delete(name);
  }
  rename(from, to) {
    const [a, old] = this.parent(from), [b, name] = this.parent(to);
    const node = a.entries.get(old) ?? fail('NOENT');
    if (b.entries.get(name)?.entries) fail('ISDIR');
    a.entries.delete(old);
    b.entries.set(name, node);
  }
  // The files that the program wrote: [[name, {bytes(), parts(), size}]].
  written() {
    const out = [], walk = (folder, prefix) => {
      for (const [name, n] of folder.entries) {
        const path = prefix + name;
        if (n.entries && path !== 'tmp' && path !== 'dev') walk(n, `${path}/`);
        else if (n.kind === 'file' && !n.given) out.push([path, n.content]);
      }
    };
    walk(this.root, '');
    return out;
  }
}
