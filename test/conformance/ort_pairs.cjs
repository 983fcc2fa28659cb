// SPDX-License-Identifier: Apache-2.0
// ort_pairs.cjs PACKAGE: reads lines "A<TAB>B" from standard input and runs both models in ONNX
// Runtime on equal seeded inputs; answers each line with one JSON line {verdict, why}. Verdicts:
// equal, differs, refused-before, refused-after, not-run (the original runs on no input we make).
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

const SETTINGS = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const SIZES = [2, 3, 1, 4, 8, 16, 32, 64, 128, 256];
const ELEMENTS_MAX = 2e7;

function generator(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function toHalf(value) {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0];
  const exponent = ((bits >>> 23) & 255) - 112;
  const sign = (bits >>> 16) & 0x8000;
  if (exponent <= 0) return sign;
  return exponent > 30 ? sign | 0x7c00 : sign | (exponent << 10) | ((bits >>> 13) & 1023);
}

function fromHalf(half) {
  const exponent = (half >> 10) & 31, fraction = half & 1023, sign = half & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

const ARRAYS = {
  float32: [Float32Array, r => r() * 3 - 1.5], float64: [Float64Array, r => r() * 3 - 1.5],
  float16: [Uint16Array, r => toHalf(r() * 3 - 1.5)],
  int64: [BigInt64Array, r => BigInt(Math.floor(r() * 3))],
  uint64: [BigUint64Array, r => BigInt(Math.floor(r() * 3))],
  int32: [Int32Array, r => Math.floor(r() * 3)], uint32: [Uint32Array, r => Math.floor(r() * 3)],
  int16: [Int16Array, r => Math.floor(r() * 3)], uint16: [Uint16Array, r => Math.floor(r() * 3)],
  int8: [Int8Array, r => Math.floor(r() * 7) - 3], uint8: [Uint8Array, r => Math.floor(r() * 7)],
  bool: [Uint8Array, r => (r() < 0.5 ? 0 : 1)],
};

function makeInput(meta, size, random) {
  const dims = meta.shape.map(d => (typeof d === 'number' && d >= 0 ? d : size));
  const count = dims.reduce((a, b) => a * b, 1);
  if (count > ELEMENTS_MAX) throw new Error('input too large');
  if (meta.type === 'string') {
    const words = Array.from({ length: count }, () => ['a', 'bc', 'def'][Math.floor(random() * 3)]);
    return new ort.Tensor('string', words, dims);
  }
  if (!ARRAYS[meta.type]) throw new Error('input type ' + meta.type);
  const [Kind, draw] = ARRAYS[meta.type];
  return new ort.Tensor(meta.type, Kind.from({ length: count }, () => draw(random)), dims);
}

// Relative and absolute tolerance: folding sums in another order than a runtime does.
const TOLERANCE = { float16: [2e-2, 2e-3], float32: [2e-3, 2e-5], float64: [1e-7, 1e-10] };

function difference(a, b) {
  if (a.type !== b.type) return `type ${a.type} became ${b.type}`;
  if (String(a.dims) !== String(b.dims)) return `shape ${a.dims} became ${b.dims}`;
  const tolerance = TOLERANCE[a.type];
  for (let i = 0; i < a.data.length; i++) {
    let p = a.data[i], q = b.data[i];
    if (p === q) continue;
    if (!tolerance) return `element ${i}: ${p} became ${q}`;
    if (a.data instanceof Uint16Array) [p, q] = [fromHalf(p), fromHalf(q)];
    if (Number.isNaN(p) && Number.isNaN(q)) continue;
    if (!(Math.abs(p - q) <= tolerance[1] + tolerance[0] * Math.abs(p))) {
      return `element ${i}: ${p} became ${q}`;
    }
  }
  return null;
}

async function compareOn(before, after, size, seed) {
  const random = generator(seed * 1000 + size), feed = {};
  let expected;
  try {
    for (const meta of before.inputMetadata) feed[meta.name] = makeInput(meta, size, random);
    expected = await before.run(feed);
  } catch (error) {
    return { ran: false, why: String(error.message) };
  }
  try {
    const kept = Object.fromEntries(after.inputNames.map(n => [n, feed[n]]));
    const got = await after.run(kept);
    for (const name of before.outputNames) {
      if (!got[name]) return { ran: true, bad: `output ${name} is gone` };
      if (!expected[name].type) continue;
      const bad = difference(expected[name], got[name]);
      if (bad) return { ran: true, bad: `${name}: ${bad}` };
    }
  } catch (error) {
    return { ran: true, bad: 'fails: ' + error.message };
  }
  return { ran: true };
}

async function compare(a, b) {
  let before, after, ran = 0, why = '';
  try {
    before = await ort.InferenceSession.create(a, SETTINGS);
  } catch (error) {
    return { verdict: 'refused-before', why: error.message };
  }
  try {
    after = await ort.InferenceSession.create(b, SETTINGS);
  } catch (error) {
    return { verdict: 'refused-after', why: error.message };
  }
  for (const size of SIZES) {
    for (const seed of [1, 2]) {
      const r = await compareOn(before, after, size, seed);
      if (r.bad) return { verdict: 'differs', why: r.bad };
      if (!r.ran) {
        why = r.why;
        break;
      }
      ran++;
    }
    if (ran >= 4) break;
  }
  await before.release();
  await after.release();
  return ran ? { verdict: 'equal' } : { verdict: 'not-run', why };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [a, b] = line.split('\t');
    const answer = await compare(a, b);
    process.stdout.write(JSON.stringify(answer).replace(/\\n/g, ' ') + '\n');
  }
})();
