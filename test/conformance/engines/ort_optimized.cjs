// SPDX-License-Identifier: Apache-2.0
// ort_optimized.cjs PACKAGE: reads lines "IN<TAB>OUT" or "IN<TAB>OUT<TAB>LEVEL" from standard input,
// lets ONNX Runtime optimize model IN (level extended, for its CPU) and write what it made of it to
// OUT; answers each line with one JSON line {ok, why}.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

const input = readline.createInterface({ input: process.stdin });
(async () => {
  for await (const line of input) {
    const [from, to, level] = line.split('\t');
    try {
      const session = await ort.InferenceSession.create(from, {
        logSeverityLevel: 4, graphOptimizationLevel: level || 'extended', intraOpNumThreads: 1,
        optimizedModelFilePath: to,
      });
      await session.release();
      console.log(JSON.stringify({ ok: true }));
    } catch (e) {
      console.log(JSON.stringify({ ok: false, why: String(e.message).split('\n')[0] }));
    }
  }
})();
