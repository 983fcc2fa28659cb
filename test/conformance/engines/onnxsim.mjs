// SPDX-License-Identifier: Apache-2.0
// onnxsim.mjs FOLDER IN OUT: simplifies a model by the npm package onnxsim of FOLDER; the last line
// is what it took, as JSON.
import { readFile, writeFile } from "node:fs/promises";

const [folder, from, to] = process.argv.slice(2);
const { simplify } = await import(folder + "/node_modules/onnxsim/index.mjs");
const start = performance.now();
const { model } = await simplify(await readFile(from));
await writeFile(to, model);
console.log(JSON.stringify({ seconds: (performance.now() - start) / 1000 }));
process.exit(0);
