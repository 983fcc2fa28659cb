// SPDX-License-Identifier: Apache-2.0
// ort_precision.cjs PACKAGE: reads lines "A<TAB>B[<TAB>FOLDER]" from standard input and runs both models in
// ONNX Runtime on equal inputs: those of FOLDER (input_K.pb), else drawn ones. Answers each line with one
// JSON line {verdict, why, error, sqnr, finite, same}. Verdicts: ran, refused-before, refused-after, not-run (the
// first runs on no input we make), interface (names, types or shapes of inputs or outputs differ), fails
// (the second does not run). error: the most that an output differs, relative to its largest element;
// sqnr: the least ratio of squares of an output to those of its errors, in decibels, if there are errors;
// "save<TAB>A<TAB>FOLDER[<TAB>DATA]" writes such inputs of A to the folder. finite: B gives NaN and infinities only where A
// does, on inputs of 0, too; same: outputs that are no floats are equal.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { both } = require('./ort_both.cjs');
const { generator, fromHalf, makeTensor } = require('./ort_inputs.cjs');
const { message, readAll } = require('./tensor_pb.cjs');

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const SIZES = [2, 3, 1, 4, 8, 16, 32, 64, 128, 256];
const FLOATS = new Set(['float32', 'float64', 'float16']);

const faces = session => [session.inputMetadata, session.outputMetadata];

// Names and types; sizes where ONNX Runtime states a shape of the same rank. It drops declared shapes that
// contradict its inference, which depends on the operators.
function agree(a, b) {
  return a.every((list, k) => list.length === b[k].length && list.every((m, i) => {
    const n = b[k][i];
    if (m.name !== n.name || m.isTensor !== n.isTensor || (m.isTensor && m.type !== n.type)) return false;
    return !m.isTensor || m.shape.length !== n.shape.length || String(m.shape) === String(n.shape);
  }));
}

function draw(session, size) {
  const random = generator(1000 + size), feed = {};
  for (const m of session.inputMetadata) {
    if (!m.isTensor) throw new Error('input type');
    const dims = m.shape.map(d => (typeof d === 'number' && d >= 0 ? d : size));
    feed[m.name] = makeTensor(ort.Tensor, m.type, dims, random);
  }
  return feed;
}

function given(session, folder) {
  const list = folder ? readAll(ort.Tensor, folder, 'input', session.inputNames.length) : null;
  return list && list.length ? Object.fromEntries(list.map((t, i) => [session.inputNames[i], t])) : null;
}

function* feeds(session, folder) {
  try {
    const feed = given(session, folder);
    if (feed) yield feed;
  } catch (error) { /* drawn ones then */ }
  for (const size of SIZES) yield draw(session, size);
}

// What one output adds to the answer.
function compare(a, b, answer) {
  if (!a.type) return;
  if (a.type !== b.type || a.dims.length !== b.dims.length) {
    answer.same = false;
    return;
  }
  if (String(a.dims) !== String(b.dims) || !FLOATS.has(a.type)) {
    answer.same = answer.same && String(a.dims) === String(b.dims) &&
                  a.data.every((v, i) => v === b.data[i]);
    return;
  }
  const value = a.data instanceof Uint16Array ? fromHalf : v => v;
  let largest = 0, most = 0, signal = 0, noise = 0;
  for (let i = 0; i < a.data.length; i++) {
    const p = value(a.data[i]), q = value(b.data[i]);
    if (!Number.isFinite(p)) continue;
    if (!Number.isFinite(q)) answer.finite = false;
    largest = Math.max(largest, Math.abs(p));
    most = Math.max(most, Math.abs(p - q));
    signal += p * p;
    noise += (p - q) * (p - q);
  }
  if (noise > 0) answer.sqnr = Math.min(answer.sqnr ?? Infinity, 10 * Math.log10(signal / noise));
  if (most > 0) answer.error = Math.max(answer.error, largest > 0 ? most / largest : most);
}

async function judge(before, after, folder) {
  if (!agree(faces(before), faces(after))) {
    return { verdict: 'interface', why: JSON.stringify(faces(after)) };
  }
  let why = '';
  for (const feed of feeds(before, folder)) {
    let expected;
    try {
      expected = await before.run(feed);
    } catch (error) {
      why = String(error.message);
      continue;
    }
    const answer = { verdict: 'ran', error: 0, finite: true, same: true };
    try {
      const got = await after.run(feed);
      for (const name of before.outputNames) compare(expected[name], got[name], answer);
    } catch (error) {
      return { verdict: 'fails', why: String(error.message) };
    }
    return atZero(before, after, feed, answer);
  }
  return { verdict: 'not-run', why };
}

// The same with floats of 0, as padding has: what keeps a divisor from 0 shows only there. Infinities and NaN
// are judged, not the error.
async function atZero(before, after, feed, answer) {
  const zeros = Object.fromEntries(Object.entries(feed).map(([name, t]) => [
    name, FLOATS.has(t.type) ? new ort.Tensor(t.type, new t.data.constructor(t.data.length), t.dims) : t]));
  const only = { error: 0, finite: true, same: true };
  let expected;
  try {
    expected = await before.run(zeros);
  } catch (error) {
    return answer;
  }
  try {
    const got = await after.run(zeros);
    for (const name of before.outputNames) compare(expected[name], got[name], only);
  } catch (error) {
    return { verdict: 'fails', why: String(error.message) };
  }
  answer.finite = answer.finite && only.finite;
  return answer;
}

// Writes the inputs that a model runs on to a folder; the verdict is "saved".
async function save(before, folder, data) {
  let why = '';
  for (const feed of feeds(before, data)) {
    try {
      await before.run(feed);
    } catch (error) {
      why = String(error.message);
      continue;
    }
    before.inputNames.forEach((name, i) =>
      fs.writeFileSync(path.join(folder, `input_${i}.pb`), message(feed[name])));
    return { verdict: 'saved' };
  }
  return { verdict: 'not-run', why };
}

function answer(a, b, folder, data) {
  if (a === 'save') {
    return both(ort, SETTINGS, b, b, before => save(before, folder, data))
      .catch(error => ({ verdict: 'not-run', why: String(error.message) }));
  }
  const failed = (error) => ({ verdict: 'not-run', why: String(error.message) });
  return both(ort, SETTINGS, a, b, (before, after) => judge(before, after, folder).catch(failed));
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [a, b, folder, data] = line.split('\t');
    process.stdout.write(JSON.stringify(await answer(a, b, folder, data)).replace(/\\n/g, ' ') + '\n');
  }
})();
