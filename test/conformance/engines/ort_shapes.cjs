// SPDX-License-Identifier: Apache-2.0
// ort_shapes.cjs PACKAGE: reads requests, a line of JSON each, from standard input:
//   {model, want, runs: [{key, seed, feeds: {NAME: {type, dims, data}}}]}
// Runs the model in ONNX Runtime until `want` runs of different keys succeed, and answers with a line
// {runs: [{run, outputs: {NAME: [TYPE, DIMS]}}], why}: `run` is an index into the request. Elements
// that are not given are drawn. Outputs that the runtime cannot hand over are left out.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { generator, makeTensor, givenTensor } = require('./ort_inputs.cjs');

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const PIECES_MAX = 48, MILLISECONDS = 60000;

function makeFeeds(run) {
  const random = generator(run.seed), feeds = {};
  for (const [name, f] of Object.entries(run.feeds)) {
    feeds[name] = f.data === undefined ? makeTensor(ort.Tensor, f.type, f.dims, random)
      : givenTensor(ort.Tensor, f.type, f.dims, f.data);
  }
  return feeds;
}

// All outputs in `into`; where they do not come together, in halves. False: none came.
async function fetchAll(session, feeds, names, into) {
  const todo = [names];
  let pieces = 0, why = '';
  while (todo.length && pieces++ < PIECES_MAX) {
    const now = todo.pop();
    try {
      const got = await session.run(feeds, now);
      for (const name of now) {
        if (got[name] && got[name].type) into[name] = [got[name].type, Array.from(got[name].dims)];
      }
    } catch (error) {
      why = String(error.message);
      // An operator that fails is no matter of which outputs are asked for.
      if (/returned while running|Invalid Feed|dimension|rank/i.test(why)) break;
      if (now.length > 1) {
        todo.push(now.slice(now.length >> 1), now.slice(0, now.length >> 1));
      }
    }
  }
  return why;
}

async function answer(request) {
  const began = Date.now(), runs = [], keys = new Set();
  let session, why = '';
  try {
    session = await ort.InferenceSession.create(request.model, SETTINGS);
  } catch (error) {
    return { runs, refused: true, why: error.message };
  }
  const names = session.outputMetadata.filter(m => m.isTensor).map(m => m.name);
  for (let i = 0; i < request.runs.length && runs.length < request.want; i++) {
    const run = request.runs[i], outputs = {};
    if (keys.has(run.key)) continue;
    if (Date.now() - began > MILLISECONDS) break;
    try {
      why = await fetchAll(session, makeFeeds(run), names, outputs) || why;
    } catch (error) {
      why = String(error.message);
    }
    if (!Object.keys(outputs).length && names.length) continue;
    runs.push({ run: i, outputs });
    keys.add(run.key);
  }
  await session.release();
  return { runs, why };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n');
  }
})();
