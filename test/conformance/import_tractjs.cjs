// SPDX-License-Identifier: Apache-2.0
// import_tractjs.cjs PACKAGE [FILE...]: whether tract, compiled to WebAssembly (npm tractjs, installed
// in the folder PACKAGE), reads a model and makes a plan of it. Answers as import_js.cjs; it computes
// nothing.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const vm = require('vm');

// The worker of the package, which has the module inside. It expects the globals of a web worker.
const source = new vm.Script(fs.readFileSync(
  path.join(path.resolve(process.argv[2]), 'node_modules/tractjs/dist/worker.js'), 'utf8'));

// A module that panicked is in no defined state: each model that was rejected costs a new one.
function start() {
  const worker = { said: '', answer: null };
  const own = {
    addEventListener: (kind, take) => { worker.take = take; },
    postMessage: message => worker.answer(message),
    process: { versions: { node: process.version } },
    console: { ...console, error: (...words) => { worker.said += words.join(' '); }, log() {}, warn() {} },
    Buffer, WebAssembly, TextDecoder, TextEncoder, setTimeout, clearTimeout,
  };
  own.self = own.globalThis = own;
  source.runInNewContext(own);
  return worker;
}

let worker = null;

function message(error) {
  const text = String(worker.said || (error && error.message) || error);
  return text.split(/Stack:|\n\n/)[0].replace(/\s+/g, ' ').trim() || 'refused';
}

async function ask(file) {
  worker = worker || start();
  worker.said = '';
  const done = new Promise(resolve => { worker.answer = resolve; });
  worker.take({ data: { type: 'load', uid: 0, body: {
    data: new Uint8Array(fs.readFileSync(file)),
    options: { format: 'onnx', optimize: true, inputFacts: {} } } } });
  const { type, body } = await done;
  if (type !== 'error') {
    worker.take({ data: { type: 'destroy', uid: 1, body: { modelId: body } } });
    return { accepts: true, why: '' };
  }
  const why = message(body);
  worker = null;
  return { accepts: false, why };
}

async function main() {
  const files = process.argv.slice(3);
  let all = true;
  for (const file of files) {
    const { accepts, why } = await ask(file);
    all = all && accepts;
    fs.writeSync(1, file + '\t' + (accepts ? 'ok' : why) + '\n');
  }
  if (files.length) process.exit(all ? 0 : 1);
  for await (const line of readline.createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(await ask(line.split('\t')[0])) + '\n');
}

main();
