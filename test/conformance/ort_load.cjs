// SPDX-License-Identifier: Apache-2.0
// ort_load.cjs PACKAGE: reads paths of models, one a line, and answers each with one JSON line
// {accepts, why}: whether ONNX Runtime makes a session of it.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };

async function load(file) {
  try {
    const session = await ort.InferenceSession.create(file, SETTINGS);
    if (session.release) await session.release();  // not in old versions
    return { accepts: true, why: '' };
  } catch (error) {
    return { accepts: false, why: String(error.message) };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await load(line)).replace(/\\n/g, ' ') + '\n');
  }
})();
