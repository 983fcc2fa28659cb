// SPDX-License-Identifier: Apache-2.0
// ort_pairs.cjs PACKAGE: reads lines "A<TAB>B" from standard input and runs both models in ONNX
// Runtime on equal seeded inputs, or, if the line ends in "<TAB>FOLDER", on those of that folder
// (input_K.pb), if both take them; answers each line with one JSON line {verdict, why}. Verdicts:
// equal, differs, refused-before, refused-after, not-run (the original runs on no input we make), misfit
// (it runs, but not with the sizes that the other one fixed). Outputs that differ are equal, with a reason, if the
// original differs from itself as much when its inputs change in their last bit: a normalization of numbers
// that are almost equal, say.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { generator, fromHalf, makeTensor } = require('./ort_inputs.cjs');
const { both } = require('./ort_both.cjs');
const { TOLERANCE, farthest, near } = require('./ort_near.cjs');
const { readAll } = require('./tensor_pb.cjs');

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const SIZES = [2, 3, 1, 4, 8, 16, 32, 64, 128, 256];
// Milliseconds: what took longer is not run at more sizes; twice that where none fits.
const PATIENCE = Number(process.env.PAIRS_PATIENCE) || 4000;

// How many times as far as inputs that differ in their last bit move an output rounding may: sums of other orders.
const STEPS = 8;

const isFixed = d => typeof d === 'number' && d >= 0;

// Sizes that are open are those the other model fixed, if it did.
function inputDims(meta, other, size) {
  const fixed = other && other.shape.length === meta.shape.length ? other.shape : meta.shape;
  return meta.shape.map((d, i) => (isFixed(d) ? d : isFixed(fixed[i]) ? fixed[i] : size));
}

// How many runs are enough: where no size is open, others draw other numbers and that is all.
function enough(before, other) {
  const at = size => String(before.inputMetadata.map(m => inputDims(m, other[m.name], size)));
  return at(SIZES[0]) === at(SIZES[1]) ? 2 : 4;
}

// What a model takes or gives where the other one has a narrower type.
const WIDER = { float16: 'float32', float64: 'float32' };

// With PAIRS_CAST the caller casts: what a model takes becomes the type that the other one takes, and
// what that one gives the type of the first. What float16 is made from, and strings, are left out.
const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
  uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};

function cast(t, type) {
  if (!process.env.PAIRS_CAST || t.type === type || !ARRAYS[t.type] || !ARRAYS[type]) return t;
  const big = type === 'int64' || type === 'uint64';
  const from = value => {
    if (type === 'bool') return Number(value) !== 0 ? 1 : 0;
    if (typeof value === 'bigint') return big ? value : /^u?int/.test(type) ? Number(BigInt.asIntN(32, value)) : Number(value);
    const whole = /^u?int/.test(type) ? Math.trunc(value) : value;
    return big ? BigInt(Number.isFinite(whole) ? whole : 0) : whole;
  };
  return new ort.Tensor(type, ARRAYS[type].from(Array.from(t.data, from)), t.dims);
}

function widened(t, type) {
  if (t.type === type || WIDER[t.type] !== type) return t;
  const values = t.type === 'float16' ? Float32Array.from(t.data, fromHalf) : Float32Array.from(t.data);
  return new ort.Tensor(type, values, t.dims);
}

function difference(a, b, slack) {
  if (a.type !== b.type && WIDER[a.type] === b.type) {
    const tolerance = TOLERANCE[a.type === 'float16' ? 'float16' : 'float32'];
    return String(a.dims) === String(b.dims) ? near(widened(a, b.type), b, tolerance)
                                             : `shape ${a.dims} became ${b.dims}`;
  }
  if (a.type !== b.type) return `type ${a.type} became ${b.type}`;
  if (String(a.dims) !== String(b.dims)) return `shape ${a.dims} became ${b.dims}`;
  return near(a, b, TOLERANCE[a.type], slack);
}

// The inputs, with elements of float32 changed by one unit in the last place, up or down.
function nudged(feed) {
  const random = generator(7);
  return Object.fromEntries(Object.entries(feed).map(([name, t]) => {
    if (t.type !== 'float32') return [name, t];
    const data = Float32Array.from(t.data);
    const bits = new Int32Array(data.buffer);
    data.forEach((v, i) => { if (v && Number.isFinite(v)) bits[i] += random() < 0.5 ? 1 : -1; });
    return [name, new ort.Tensor(t.type, data, t.dims)];
  }));
}

// How far the outputs of the original are from `expected` when its inputs change in their last bit: {name: distance}.
// Outputs that also change without that are left out.
async function sensitivity(before, feed, expected) {
  const again = await before.run(feed), got = await before.run(nudged(feed));
  return Object.fromEntries(
    before.outputNames.filter(n => expected[n].type === 'float32' && !farthest(expected[n], again[n]))
      .map(n => [n, farthest(expected[n], got[n])]));
}

// Whether sizes that are open before are fixed after.
function fixesMore(before, other) {
  return before.inputMetadata.some(
    m => String(inputDims(m, other[m.name], 'open')) !== String(inputDims(m, null, 'open')));
}

function madeUp(before, other, size, seed) {
  const random = generator(seed * 1000 + size);
  return () => before.inputMetadata.map(
    meta => makeTensor(ort.Tensor, meta.type, inputDims(meta, other[meta.name], size), random));
}

// `inputs` gives tensors, in order.
async function compareOn(before, after, other, inputs) {
  const feed = {};
  let expected;
  try {
    inputs().forEach((tensor, i) => { feed[before.inputNames[i]] = tensor; });
    expected = await before.run(feed);
  } catch (error) {
    return { ran: false, why: String(error.message) };
  }
  let slack = null, loose = '';
  try {
    const kept = Object.fromEntries(
      after.inputNames.map(n => [n, feed[n] && other[n] ? cast(widened(feed[n], other[n].type), other[n].type)
                                                        : feed[n]]));
    const got = await after.run(kept);
    for (const name of before.outputNames) {
      if (!got[name]) return { ran: true, bad: `output ${name} is gone` };
      if (!expected[name].type) continue;
      const widens = WIDER[expected[name].type] === got[name].type;
      const output = widens ? got[name] : cast(got[name], expected[name].type);
      const bad = difference(expected[name], output);
      if (!bad) continue;
      slack = slack || await sensitivity(before, feed, expected);
      if (!slack[name] || difference(expected[name], output, STEPS * slack[name]))
        return { ran: true, bad: `${name}: ${bad}` };
      loose = `${name}: ${bad}, as inputs that differ in the last bit do`;
    }
  } catch (error) {
    return { ran: true, bad: 'fails: ' + error.message };
  }
  return { ran: true, loose };
}

// The inputs of a folder, where sizes that one of the models fixed are theirs; else null.
function givenInputs(before, other, folder) {
  const given = folder ? readAll(ort.Tensor, folder, 'input', before.inputNames.length) : null;
  const fits = given && given.every((tensor, i) => {
    const meta = other[before.inputNames[i]];
    return !meta || (meta.shape.length === tensor.dims.length &&
                     meta.shape.every((d, k) => !isFixed(d) || d === tensor.dims[k]));
  });
  return fits && given.length ? given : null;
}

async function compareSessions(before, after, folder) {
  const other = Object.fromEntries(after.inputMetadata.map(m => [m.name, m]));
  const given = givenInputs(before, other, folder);
  let ran = 0, why = '', loose = '';
  if (given) {
    const r = await compareOn(before, after, other, () => given);
    if (r.ran) return r.bad ? { verdict: 'differs', why: r.bad } : { verdict: 'equal', why: r.loose };
  }
  const start = Date.now(), late = () => Date.now() - start > (ran ? PATIENCE : 2 * PATIENCE);
  const most = enough(before, other);
  for (const size of SIZES) {
    for (const seed of [1, 2]) {
      const r = await compareOn(before, after, other, madeUp(before, other, size, seed));
      if (r.bad) return { verdict: 'differs', why: r.bad };
      if (!r.ran) {
        why = r.why;
        break;
      }
      ran++;
      loose = loose || r.loose;
      if (late()) break;
    }
    if (ran >= most || late()) break;
  }
  for (const size of ran || !fixesMore(before, other) ? [] : SIZES)
    if ((await compareOn(before, before, {}, madeUp(before, {}, size, 1))).ran)
      return { verdict: 'misfit', why: 'the sizes that were fixed: ' + why };
  return ran ? { verdict: 'equal', why: loose } : { verdict: 'not-run', why };
}

function compare(a, b, folder) {
  return both(ort, SETTINGS, a, b, (before, after) => compareSessions(before, after, folder));
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [a, b, folder] = line.split('\t');
    const answer = await compare(a, b, folder);
    process.stdout.write(JSON.stringify(answer).replace(/\\n/g, ' ') + '\n');
  }
})();
