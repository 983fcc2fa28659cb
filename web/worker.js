// SPDX-License-Identifier: Apache-2.0
// The worker of the page: runs command lines, one after another. The first message is the program.
// Files come and go as Blobs: the worker reads what the program asks for, and copies nothing else.
import { Input, Output, run } from './npm/host.js';
import { MemoryFiles } from './npm/memory.js';

let program = null;

const inflated = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')))
    .arrayBuffer();

self.onmessage = async ({ data }) => {
  if (data.program) {
    program = inflated(data.program).then((wasm) => WebAssembly.compile(wasm));
    program.then(() => self.postMessage({ ready: true }),
      (e) => self.postMessage({ ready: false, why: String(e) }));
    return;
  }
  const { id, args, files } = data;
  try {
    const folder = new MemoryFiles(files), out = new Output(), err = new Output();
    const streams = [new Input(new Uint8Array(0)), out, err];
    const code = run(await program, { args, files: folder, streams });
    const written = Object.fromEntries(
      folder.written().map(([name, f]) => [name, new Blob(f.parts())]));
    self.postMessage({ id, code, stdout: out.text(), stderr: err.text(), files: written });
  } catch (e) {
    self.postMessage({ id, code: 5, stdout: '', stderr: `onnxsurg: error: ${e}`, files: {} });
  }
};
