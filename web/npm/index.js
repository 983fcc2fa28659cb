// SPDX-License-Identifier: Apache-2.0
// onnxsurg for JavaScript. Every function runs a command of the program on files in memory and
// returns its report; index.d.ts describes each.
import { Input, Output, run } from './host.js';
import { MemoryFiles, contents } from './memory.js';

let compiled = null, random;

async function bytesOfProgram() {
  const url = new URL('./onnxsurg.wasm', import.meta.url);
  if (typeof process === 'object' && process.versions?.node && url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: ${response.status}`);
  return response.arrayBuffer();
}

// Node 18 has no global Crypto object.
async function findRandom() {
  random ??= globalThis.crypto ?? (await import('node:crypto')).webcrypto;
}

export function init(wasm) {
  if (wasm === undefined && compiled) return compiled.then(() => {});
  const module = wasm instanceof WebAssembly.Module ? Promise.resolve(wasm)
    : Promise.resolve(wasm ?? bytesOfProgram()).then((b) => WebAssembly.compile(b));
  compiled = module;
  module.catch(() => (compiled === module ? (compiled = null) : null)); // the next call tries again
  return module.then(() => {});
}

export class OnnxsurgError extends Error {
  constructor(result, args) {
    const lines = result.stderr.trim();
    super(lines || `onnxsurg ${args[0] ?? ''} ended with exit code ${result.code}`);
    this.name = 'OnnxsurgError';
    this.code = result.code;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
  }
}

async function execute(args, files, { stdin, memory } = {}) {
  await Promise.all([init(), findRandom()]);
  const folder = new MemoryFiles(files), out = new Output(), err = new Output();
  const input = contents(stdin ?? new Uint8Array(0));
  const bytes = new Uint8Array(input.size);
  input.read(bytes, 0);
  const code = run(await compiled, {
    args: args.map(String), files: folder, streams: [new Input(bytes), out, err], most: memory,
    random,
  });
  return { code, out, stderr: err.text(), folder };
}

export async function command(args, files = {}, options = {}) {
  const { code, out, stderr, folder } = await execute(args, files, options);
  return {
    code,
    stdout: out.text(),
    stdoutBytes: out.bytes(),
    stderr,
    files: Object.fromEntries(folder.written().map(([name, f]) => [name, f.bytes()])),
  };
}

// {keepWeights: true, dim: ['N=1', 'H=2'], opset: 13} as options of the command line. An object is
// a list of NAME=VALUE.
function optionsOf(given = {}) {
  const out = [];
  for (const [key, value] of Object.entries(given)) {
    const name = `--${key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
    if (value === undefined || value === null || value === false) continue;
    const pairs = typeof value === 'object' && !Array.isArray(value);
    const list = pairs ? Object.entries(value).map(([k, v]) => `${k}=${v}`)
      : Array.isArray(value) ? value : [value];
    for (const v of list) out.push(v === true ? name : `${name}=${v}`);
  }
  return out;
}

// Runs a command that prints JSON. `accept` lists the exit codes that are results.
async function report(args, files, accept) {
  const r = await execute(args, files);
  const stdout = r.out.text();
  let parsed = null;
  try {
    parsed = JSON.parse(stdout);
  } catch {
    // the program printed no report; the exit code or standard error says why
  }
  if (!accept.includes(r.code) || parsed === null)
    throw new OnnxsurgError({ code: r.code, stdout, stderr: r.stderr }, args);
  return { ...r, report: parsed, messages: r.stderr.trim() };
}

export class Model {
  #info;
  constructor(name, bytes, data) {
    this.name = name;
    this.bytes = bytes;
    this.data = data;
  }
  get files() {
    return { ...this.data, [this.name]: this.bytes };
  }
  static async load(bytes, { name = 'model.onnx', data = {} } = {}) {
    const model = new Model(name, bytes, data);
    await model.info();
    return model;
  }
  // Info and findings are those of the file; they are computed once for each set of options.
  async info(options) {
    if (!options && this.#info) return this.#info;
    const { report: info } = await report(['info', '--json', ...optionsOf(options), this.name],
      this.files, [0]);
    if (!options) this.#info = info;
    return info;
  }
  async check(options) {
    const { report: all } = await report(['check', '--json', ...optionsOf(options), this.name],
      this.files, [0, 1, 3, 6]);
    return all.files[0];
  }
  async text() {
    const { report: r } = await report(['cat', '--json', this.name], this.files, [0]);
    return r.text;
  }
  async verify(other, options) {
    const prefixed = (folder, files) =>
      Object.fromEntries(Object.entries(files).map(([n, f]) => [`${folder}/${n}`, f]));
    const { report: r } = await report(
      ['verify', '--json', ...optionsOf(options), `a/${this.name}`, `b/${other.name}`],
      { ...prefixed('a', this.files), ...prefixed('b', other.files) }, [0, 1]);
    return r;
  }
  // The result replaces the model in its folder, so that data files stay where they are.
  async #edit(args, accept) {
    const r = await report([...args, '--no-fsync', this.name, this.name], this.files, accept);
    const { [this.name]: bytes, ...data } =
      Object.fromEntries(r.folder.written().map(([n, f]) => [n, f.bytes()]));
    const unsupported = r.code === 1;
    const model = unsupported && !bytes ? null
      : new Model(this.name, bytes ?? this.bytes, { ...this.data, ...data });
    return { model, report: r.report, messages: r.messages };
  }
  simplify(options) {
    return this.#edit(['simplify', '--json', ...optionsOf(options)], [0]);
  }
  apply(pipeline, options) {
    return this.#edit(['--pass', pipeline, '--json', ...optionsOf(options)], [0]);
  }
  convert(opset, options) {
    return this.#edit(['opset', '--to', opset, '--json', ...optionsOf(options)], [0]);
  }
  repair(target, options) {
    return this.#edit(['repair', '--json', ...(target ? ['--target', target] : []),
      ...optionsOf(options)], [0, 1, 6]);
  }
}

export const load = (bytes, options) => Model.load(bytes, options);
export const simplify = async (bytes, options) => (await load(bytes)).simplify(options);
export const repair = async (bytes, target, options) => (await load(bytes)).repair(target, options);
export const check = async (bytes, options) => new Model('model.onnx', bytes, {}).check(options);
export const info = async (bytes, options) => new Model('model.onnx', bytes, {}).info(options);
export const verify = async (a, b, options) => (await load(a)).verify(await load(b), options);

export async function targets() {
  return (await report(['targets', '--json'], {}, [0])).report.targets;
}
export async function version() {
  return (await command(['--version'])).stdout.trim().split(' ').pop();
}
