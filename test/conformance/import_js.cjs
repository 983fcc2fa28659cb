// SPDX-License-Identifier: Apache-2.0
// import_js.cjs PACKAGE [FILE...]: whether an engine of npm (onnxruntime-node, onnxruntime-web with its
// WebAssembly provider, or onnxjs, installed in the folder PACKAGE) makes a session of a model. With
// FILEs, a line `FILE<TAB>ok` or
// `FILE<TAB>MESSAGE` each, exit code 1 unless all are taken; without, paths come from standard input,
// one a line, and each is answered with one JSON line {accepts, why}. A line FILE<TAB>FOLDER asks, too,
// whether it computes what FOLDER expects of it (input_K.pb, output_K.pb): `right` is true, false or
// null (nothing to compare, or no tensors), `wrong` says what is.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { TOLERANCE, near } = require('./ort_near.cjs');
const { readAll } = require('./tensor_pb.cjs');

const folder = path.resolve(process.argv[2], 'node_modules');

const settings = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };

function native() {
  const ort = require(path.join(folder, 'onnxruntime-node'));
  return runtime(ort, file => ort.InferenceSession.create(file, settings));
}

function web() {
  delete globalThis.fetch;  // versions before 1.14 would fetch the path of their .wasm file
  for (const name of ['warn', 'error']) console[name] = () => {};
  const ort = require(path.join(folder, 'onnxruntime-web'));
  ort.env.wasm.numThreads = 1;
  return runtime(ort, file => ort.InferenceSession.create(
    new Uint8Array(fs.readFileSync(file)), { ...settings, executionProviders: ['wasm'] }));
}

function runtime(ort, open) {
  return async (file, data) => {
    const session = await open(file);
    const found = data ? await judge(session, data) : {};
    if (session.release) await session.release();  // not in old versions
    return found;
  };

  async function judge(session, data) {
    const given = readAll(ort.Tensor, data, 'input', session.inputNames.length);
    const expected = readAll(ort.Tensor, data, 'output', session.outputNames.length);
    if (!given || !expected) return { right: null };
    try {
      const got = await session.run(Object.fromEntries(session.inputNames.map((n, i) => [n, given[i]])));
      const wrong = session.outputNames.map((n, i) => unlike(expected[i], got[n])).find(w => w) || '';
      return { right: !wrong, wrong };
    } catch (error) {
      return { right: false, wrong: String(error.message) };
    }
  }
}

function onnxjs() {
  for (const name of ['log', 'info', 'warn', 'error']) console[name] = () => {};
  require(path.join(folder, 'onnxjs'));
  return async file => {
    const session = new global.onnx.InferenceSession({ backendHint: 'cpu' });
    await session.loadModel(new Uint8Array(fs.readFileSync(file)));
  };
}

function unlike(a, b) {
  if (!b || a.type !== b.type) return `type ${a.type} expected`;
  if (String(a.dims) !== String(b.dims)) return `shape ${b.dims}, expected ${a.dims}`;
  return near(a, b, TOLERANCE[a.type]);
}

const KINDS = { 'onnxjs': onnxjs, 'onnxruntime-web': web, 'onnxruntime-node': native };
const load = KINDS[Object.keys(KINDS).find(name => fs.existsSync(path.join(folder, name)))]();

async function ask(line) {
  const [file, data] = line.split('\t');
  try {
    return { accepts: true, why: '', ...await load(file, data) };
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
