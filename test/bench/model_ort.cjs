// SPDX-License-Identifier: Apache-2.0
// model_ort.cjs PACKAGE MODEL [ROUNDS]: milliseconds of the best round of a model in ONNX Runtime with
// one thread, on inputs made up; an open dimension is 1.
'use strict';
const path = require('path');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

function makeUp(meta) {
  const dims = meta.shape.map(d => (typeof d === 'number' && d >= 0 ? d : 1));
  const count = dims.reduce((a, b) => a * b, 1);
  if (meta.type !== 'float32') return new ort.Tensor(meta.type, new BigInt64Array(count), dims);
  return new ort.Tensor('float32', Float32Array.from({ length: count }, Math.random), dims);
}

async function main() {
  const session = await ort.InferenceSession.create(process.argv[3],
    { logSeverityLevel: 4, intraOpNumThreads: 1, interOpNumThreads: 1 });
  const feed = {};
  for (const meta of session.inputMetadata) feed[meta.name] = makeUp(meta);
  let best = Infinity;
  for (let i = 0; i < Number(process.argv[4] || 5); i++) {
    const start = process.cpuUsage();
    await session.run(feed);
    const used = process.cpuUsage(start);
    best = Math.min(best, (used.user + used.system) / 1000);
  }
  console.log(best.toFixed(2));
}

main().catch(error => { console.error(error.message); process.exit(1); });
