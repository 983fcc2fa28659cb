// SPDX-License-Identifier: Apache-2.0

/** Contents of a file. A Blob can be read in a worker of the browser only. */
export type Contents = Uint8Array | ArrayBuffer | ArrayBufferView | Blob | string;
/** Files by name; a name may contain folders: `weights/a.bin`. */
export type Files = Record<string, Contents>;

/**
 * Options of the command line, without `--` and in camel case: `{ keepWeights: true }` is
 * `--keep-weights`. An array repeats the option; an object is a list of NAME=VALUE:
 * `{ dim: { batch: 1 } }` is `--dim batch=1`. `command(['simplify', '--help'])` lists them.
 */
export type Options = Record<
  string,
  boolean | number | string | Array<string | number> | Record<string, string | number>
  | null | undefined
>;

export interface Result {
  /** The exit code of the program; see `command(['--help'])`. */
  code: number;
  stdout: string;
  stdoutBytes: Uint8Array;
  stderr: string;
  /** Every file that the command wrote. */
  files: Record<string, Uint8Array>;
}

export interface Finding {
  severity: 'error' | 'warning' | 'note';
  code: string;
  where: string;
  text: string;
  hint: string | null;
  /** The pass that cures it. */
  pass: string | null;
  node: { index: number; name: string | null; op: string } | null;
}

export interface Check {
  findings: Finding[];
  errors: number;
  warnings: number;
  notes: number;
  verdict: string;
  /** With the option `target`. */
  target?: {
    name: string;
    verdict: 'supported' | 'unsupported' | 'unknown';
    repair: string;
    consent: string;
    pipeline: string;
    remain: number;
  };
  [key: string]: unknown;
}

export interface Info {
  ir_version: number;
  opset_imports: Record<string, number>;
  inputs: Array<{ name: string; type: string; default: boolean }>;
  outputs: Array<{ name: string; type: string }>;
  nodes: number;
  ops: Record<string, number>;
  parameters: number;
  bytes: number;
  [key: string]: unknown;
}

export interface Edited {
  before: { nodes: number; bytes: number; [key: string]: unknown };
  after: { nodes: number; bytes: number; [key: string]: unknown };
  run: {
    changed: boolean;
    /** How exact the result is: of the rewrites, the worst class. */
    exactness: 'exact' | 'ulp' | 'rounding' | 'approx' | 'lossy';
    rewrites: number;
    passes: Array<{ name: string; rewrites: number; notes: unknown[]; [key: string]: unknown }>;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

export interface Repaired {
  target?: string;
  verdict: 'supported' | 'unsupported' | 'unknown';
  /** The passes that were run: `model.apply(pipeline)` runs them again. */
  pipeline: string;
  exactness: 'exact' | 'ulp' | 'rounding' | 'approx' | 'lossy';
  /** If something remains unsupported: what, and the pipeline that would help with consent. */
  remain?: Array<{ where: string; text: string }>;
  would_help?: string;
  consent?: string;
  /** Objections of the target before and after. */
  before: number;
  after: number;
  [key: string]: unknown;
}

export interface Verified {
  same: boolean;
  /** Runs that were compared, and runs that were not. */
  checked: number;
  skipped: number;
  outputs: Array<{ name: string; max_abs: number; max_ulp: number; [key: string]: unknown }>;
  [key: string]: unknown;
}

export interface Change<R, M = Model> {
  model: M;
  report: R;
  /** What the program printed on standard error: notes and warnings. */
  messages: string;
}

/** A model in memory. Editing returns a new one; this one never changes. */
export class Model {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** External data files. */
  readonly data: Files;
  readonly files: Files;
  info(options?: Options): Promise<Info>;
  /** Findings; with `{ target }` also whether that engine supports the model. */
  check(options?: Options): Promise<Check>;
  /** The model as ONNX text. */
  text(): Promise<string>;
  /** Runs both models on the same inputs and compares their outputs. */
  verify(other: Model, options?: Options): Promise<Verified>;
  simplify(options?: Options): Promise<Change<Edited>>;
  /** Runs a pipeline of passes: `fold,prune`. */
  apply(pipeline: string, options?: Options): Promise<Change<Edited>>;
  /** Converts the model to another opset. */
  convert(opset: number, options?: Options): Promise<Change<Edited>>;
  /**
   * Makes an engine support the model, or without a target mends an invalid model. If something
   * unsupported remains, `model` is null and `remain` of the report lists what.
   */
  repair(target?: string | null, options?: Options): Promise<Change<Repaired, Model | null>>;
}

/** An error of the program; its message is what the program printed on standard error. */
export class OnnxsurgError extends Error {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView;

/**
 * Compiles the program, which the first call of another function does otherwise. `wasm` replaces
 * the file `onnxsurg.wasm` of this package: its bytes, or a compiled module.
 */
export function init(wasm?: BufferSource | Promise<BufferSource> | WebAssembly.Module): Promise<void>;
/** Reads a model; an unreadable one is an error. `data` contains its external data files. */
export function load(bytes: Bytes, options?: { name?: string; data?: Files }): Promise<Model>;
export function info(bytes: Bytes, options?: Options): Promise<Info>;
export function check(bytes: Bytes, options?: Options): Promise<Check>;
export function simplify(bytes: Bytes, options?: Options): Promise<Change<Edited>>;
export function repair(bytes: Bytes, target?: string | null, options?: Options):
  Promise<Change<Repaired, Model | null>>;
export function verify(a: Bytes, b: Bytes, options?: Options): Promise<Verified>;
/** The names of the engines that `repair` and `check` know. */
export function targets(): Promise<string[]>;
export function version(): Promise<string>;
/**
 * Runs any command line on files in memory: `command(['simplify', 'a.onnx', 'b.onnx'],
 * { 'a.onnx': bytes })`. An exit code other than 0 is no exception. `memory` limits the memory of
 * the program, in bytes (4 GiB).
 */
export function command(
  args: string[], files?: Files, options?: { stdin?: Contents; memory?: number },
): Promise<Result>;
