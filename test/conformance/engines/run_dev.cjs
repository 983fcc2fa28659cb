// SPDX-License-Identifier: Apache-2.0
// run_dev.cjs PACKAGE: reads lines "MODEL<TAB>FOLDER", runs the model in ONNX Runtime on seeded inputs,
// at the first size of symbolic dims at which it runs, and writes what went in and came out as
// input_K.pb and output_K.pb. Answers each line with one of JSON: {verdict: ran, size, half, inputs} (half:
// some output is of half floats; inputs: their names in order) or {verdict: refused | not-run, why}.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { generator, makeTensor } = require('./ort_inputs.cjs');
const { message } = require('./tensor_pb.cjs');

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const SIZES = [2, 3, 1, 4, 8, 16, 32, 64, 128, 256];

async function runAt(session, size, folder) {
  const random = generator(1000 + size), feed = {};
  for (const meta of session.inputMetadata) {
    const dims = meta.shape.map(d => (typeof d === 'number' && d >= 0 ? d : size));
    feed[meta.name] = makeTensor(ort.Tensor, meta.type, dims, random);
  }
  const got = await session.run(feed);
  session.inputNames.forEach((name, i) => {
    fs.writeFileSync(path.join(folder, `input_${i}.pb`), message(feed[name]));
  });
  session.outputNames.forEach((name, i) => {
    fs.writeFileSync(path.join(folder, `output_${i}.pb`), message(got[name]));
  });
  return session.outputNames.some(name => got[name].type === 'float16');
}

async function run(model, folder) {
  let session, why;
  try {
    session = await ort.InferenceSession.create(model, SETTINGS);
  } catch (error) {
    return { verdict: 'refused', why: error.message };
  }
  for (const size of SIZES) {
    try {
      const half = await runAt(session, size, folder);
      return { verdict: 'ran', size, half, inputs: session.inputNames };
    } catch (error) {
      why = why || String(error.message);
    }
  }
  return { verdict: 'not-run', why };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [model, folder] = line.split('\t');
    const answer = await run(model, folder);
    process.stdout.write(JSON.stringify(answer).replace(/\\n/g, ' ') + '\n');
  }
})();
