// SPDX-License-Identifier: Apache-2.0
// import_js.cjs PACKAGE [FILE...]: whether an engine of npm (onnxruntime-node or onnxjs, installed in
// the folder PACKAGE) makes a session of a model. With FILEs, a line `FILE<TAB>ok` or
// `FILE<TAB>MESSAGE` each, exit code 1 unless all are taken; without, paths come from standard input,
// one a line, and each is answered with one JSON line {accepts, why}.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const folder = path.resolve(process.argv[2], 'node_modules');

function runtime() {
  const ort = require(path.join(folder, 'onnxruntime-node'));
  const settings = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
  return async file => {
    const session = await ort.InferenceSession.create(file, settings);
    if (session.release) await session.release();  // not in old versions
  };
}

function onnxjs() {
  for (const name of ['log', 'info', 'warn', 'error']) console[name] = () => {};
  require(path.join(folder, 'onnxjs'));
  return async file => {
    const session = new global.onnx.InferenceSession({ backendHint: 'cpu' });
    await session.loadModel(new Uint8Array(fs.readFileSync(file)));
  };
}

const load = fs.existsSync(path.join(folder, 'onnxjs')) ? onnxjs() : runtime();

async function ask(file) {
  try {
    await load(file);
    return { accepts: true, why: '' };
  } catch (error) {
    return { accepts: false, why: String((error && error.message) || error) };
  }
}

async function answerFiles(files) {
  let all = true;
  for (const file of files) {
    const { accepts, why } = await ask(file);
    all = all && accepts;
    const line = accepts ? 'ok' : why.replace(/\s+/g, ' ') || 'refused';
    fs.writeSync(1, file + '\t' + line + '\n');
  }
  process.exit(all ? 0 : 1);
}

async function answerLines() {
  for await (const line of readline.createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(await ask(line)).replace(/\\n/g, ' ') + '\n');
}

if (process.argv.length > 3) answerFiles(process.argv.slice(3));
else answerLines();
