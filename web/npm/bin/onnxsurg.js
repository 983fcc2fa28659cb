#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The command line of onnxsurg on the files of this computer.
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';

import { DiskFile, DiskFiles } from '../disk.js';
import { Input, run } from '../host.js';

// A stream that the caller closed is empty, as /dev/null is.
function stream(fd) {
  try {
    return new DiskFile(fd, null, true);
  } catch {
    return new Input(new Uint8Array(0));
  }
}

const module = new WebAssembly.Module(readFileSync(new URL('../onnxsurg.wasm', import.meta.url)));
process.exitCode = run(module, {
  args: process.argv.slice(2),
  files: new DiskFiles(),
  streams: [0, 1, 2].map(stream),
  tty: [0, 1, 2].map((fd) => isatty(fd)),
  env: process.env,
  cwd: process.cwd(),
  random: webcrypto,
});
