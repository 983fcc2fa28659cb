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
const { engines } = require('../../../lib/probe/npm.cjs');

const folder = path.resolve(process.argv[2], 'node_modules');

const NAMES = ['onnxjs', 'onnxruntime-web', 'onnxruntime-node'];
const engine = engines[NAMES.find(name => fs.existsSync(path.join(folder, name)))](folder);

// Accepts the file, or throws; with data, says whether it computes what is expected, too.
async function load(file, data) {
  if (!data || !engine.open) return engine.accept(file);
  const session = await engine.open(file);
  const found = await judge(engine.ort, session, data);
  if (session.release) await session.release();
  return found;
}

async function judge(ort, session, data) {
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

function unlike(a, b) {
  if (!b || a.type !== b.type) return `type ${a.type} expected`;
  if (String(a.dims) !== String(b.dims)) return `shape ${b.dims}, expected ${a.dims}`;
  return near(a, b, TOLERANCE[a.type]);
}

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
