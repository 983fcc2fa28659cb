// SPDX-License-Identifier: Apache-2.0
// ort_says.cjs PACKAGE: reads lines {models: [BASE64...]} from standard input and answers each with
// {why: [TEXT...]}: what ONNX Runtime says on loading each model, "" where it takes it.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };

async function load(bytes) {
  try {
    const session = await ort.InferenceSession.create(bytes, SETTINGS);
    await session.release();
    return '';
  } catch (error) {
    return String(error.message);
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const why = [];
    for (const text of JSON.parse(line).models) why.push(await load(Buffer.from(text, 'base64')));
    process.stdout.write(JSON.stringify({ why }) + '\n');
  }
})();
